//! `states = ["healthy", "failed(1)", "rebuilding", "healthy"]`: stacks that can lose a member are
//! measured in all of these states, one after the other, each as a separate stack. The others are
//! measured as they are.

use super::error::Fault;
use crate::layer;
use crate::stack::{InState, Stack};
use crate::state::AskedState;

/// Parses `healthy,failed(1),rebuilding`.
///
/// # Errors
/// A word is not a state.
pub fn parse(words: &str) -> Result<Vec<AskedState>, Fault> {
    words
        .split(',')
        .map(|word| word.trim().parse::<AskedState>().map_err(|why| Fault::from_clause(&why)))
        .collect()
}

/// Replaces each stack that can lose members by one for every state.
///
/// # Errors
/// The states cannot follow each other, a stack survives fewer failures or cannot take members out,
/// or no stack has states.
pub(super) fn expand(stacks: Vec<Stack>, states: &[AskedState]) -> Result<Vec<Stack>, Fault> {
    if states.is_empty() {
        return Ok(stacks);
    }
    check_order(states)?;
    let away = |state: &&AskedState| match state {
        AskedState::Failed(count) | AskedState::Out(count) => *count,
        AskedState::Healthy | AskedState::Rebuilding => 0,
    };
    let most = states.iter().max_by_key(away);
    let goes_out = states.iter().find(|state| matches!(state, AskedState::Out(_)));
    let mut all: Vec<Stack> = Vec::new();
    let mut any = false;
    for stack in stacks {
        let bears = spares(&stack);
        if bears == 0 {
            all.push(stack);
            continue;
        }
        if let Some(most) = most.filter(|most| away(most) > bears) {
            let why = format!("{}: {most} is more than it survives ({bears})", stack.text);
            return Err(Fault::hint(why, "use another level, or fewer failures"));
        }
        if let Some(out) = goes_out.filter(|_| !stated_by(&stack).is_some_and(|states| states.out))
        {
            let why = format!(
                "{}: its members cannot be taken out, so {out} is not possible",
                stack.text
            );
            return Err(Fault::hint(
                why,
                "write failed(1), or use a separate run for the stack that has this state",
            ));
        }
        any = true;
        let of = all.len();
        all.extend(
            states
                .iter()
                .enumerate()
                .map(|(position, state)| in_state(&stack, of, position, states, *state)),
        );
    }
    match any {
        true => Ok(all),
        false => Err(Fault::hint(
            "no stack has a layer that can lose a member",
            format!("states are those of {}", layer::with_states()),
        )),
    }
}

/// Returns the number of members that the stack can lose without losing data.
pub fn spares(stack: &Stack) -> u32 {
    stack
        .layers_with_members()
        .map(|(layer, members)| layer.survivable_failures(members))
        .max()
        .unwrap_or(0)
}

/// Returns where the state of a stack's array is read, such as `zpool status`; empty if no layer
/// has states.
pub fn state_source(stack: &Stack) -> &'static str {
    stated_by(stack).map_or("", |states| states.source)
}

/// Returns the states of a stack's array: those of the layer with the most redundancy.
fn stated_by(stack: &Stack) -> Option<layer::States> {
    let most = stack
        .layers_with_members()
        .max_by_key(|(layer, members)| layer.survivable_failures(*members));
    most.and_then(|(layer, _)| layer.catalog_entry()).and_then(|help| help.states)
}

fn in_state(
    stack: &Stack,
    of: usize,
    position: usize,
    states: &[AskedState],
    state: AskedState,
) -> Stack {
    let word = match states[..position].iter().filter(|before| **before == state).count() {
        0 => state.to_string(),
        1 => format!("{state} again"),
        many => format!("{state} again {many}"),
    };
    let (name, text) = match position {
        0 => (stack.name.clone(), stack.text.clone()),
        _ => (format!("{} {word}", stack.name), format!("{}, {word}", stack.text)),
    };
    Stack { name, text, state: Some(InState { position, state, of }), ..stack.clone() }
}

fn check_order(states: &[AskedState]) -> Result<(), Fault> {
    if states[0] != AskedState::Healthy {
        return Err(Fault::hint(
            format!("the first state is {}, and a stack is set up healthy", states[0]),
            "write healthy first",
        ));
    }
    for pair in states.windows(2) {
        let follows = match (pair[0], pair[1]) {
            (AskedState::Healthy, AskedState::Failed(_))
            | (AskedState::Rebuilding, AskedState::Healthy) => true,
            (AskedState::Failed(before), AskedState::Failed(after)) => before < after,
            (AskedState::Failed(_), AskedState::Rebuilding) => true,
            (AskedState::Healthy, AskedState::Out(_))
            | (AskedState::Out(_), AskedState::Healthy) => true,
            (AskedState::Out(before), AskedState::Out(after)) => before < after,
            _ => false,
        };
        if !follows {
            return Err(Fault::hint(
                format!("{} cannot follow {}", pair[1], pair[0]),
                "an array fails, is rebuilt and is healthy again: healthy, failed(1), rebuilding, healthy",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::LayerSpec;

    #[test]
    fn states_follow_each_other_as_arrays_live() {
        let ok = |words: &str| check_order(&parse(words).unwrap()).map_err(|fault| fault.why);
        for words in [
            "healthy",
            "healthy,failed(1),rebuilding,healthy",
            "healthy, failed(1), failed(2), rebuilding",
            "healthy,out(1),healthy,failed(1)",
        ] {
            assert_eq!(ok(words), Ok(()), "{words}");
        }
        assert!(ok("failed(1)").unwrap_err().contains("set up healthy"));
        assert!(ok("healthy,rebuilding").unwrap_err().contains("rebuilding cannot follow healthy"));
        assert!(ok("healthy,failed(2),failed(1)").is_err());
        assert!(
            ok("healthy,failed(1),out(1)").unwrap_err().contains("out(1) cannot follow failed(1)")
        );
        let degraded = parse("healthy,degraded").unwrap_err();
        assert_eq!(degraded.why, "\"degraded\" is not a state");
        assert_eq!(
            degraded.hint.as_deref(),
            Some("states are healthy, failed(1), out(1), rebuilding")
        );
    }

    #[test]
    fn out_is_a_state_of_layers_whose_members_serve_on() {
        use crate::testing::{drives, layer, stack};
        let mut stack = stack("file:/srv/x.img,size=1GiB");
        stack.medium = drives(3);
        let mut expanded = |spec: LayerSpec, words: &str| {
            stack.layers = vec![spec];
            expand(vec![stack.clone()], &parse(words).unwrap()).map_err(|fault| fault.why)
        };
        let names = expanded(layer("ceph", &[]), "healthy,out(1),healthy").unwrap();
        assert!(
            names[1].name.ends_with(" out(1)")
                && names[1].state.as_ref().unwrap().lost_members().is_none()
        );
        let raid = expanded(layer("mdraid", &[("level", "5")]), "healthy,out(1)").unwrap_err();
        assert!(
            raid.ends_with("its members cannot be taken out, so out(1) is not possible"),
            "{raid}"
        );
        let many = expanded(layer("ceph", &[]), "healthy,out(2)").unwrap_err();
        assert!(many.ends_with("out(2) is more than it survives (1)"), "{many}");
    }

    #[test]
    fn every_state_of_several_cycles_has_a_name_of_its_own() {
        use crate::testing::{drives, layer, stack};
        let mut stack = stack("file:/srv/x.img,size=1GiB");
        (stack.name, stack.medium) = ("raid5".into(), drives(4));
        stack.layers = vec![layer("mdraid", &[("level", "5")])];
        let cycle = "failed(1),rebuilding,healthy";
        let states = parse(&format!("healthy,{cycle},{cycle},{cycle}")).unwrap();
        let all = expand(vec![stack], &states).unwrap();
        let names: Vec<&str> = all.iter().map(|stack| stack.name.as_str()).collect();
        assert_eq!(
            names[3..6],
            ["raid5 healthy again", "raid5 failed(1) again", "raid5 rebuilding again"]
        );
        assert_eq!(names[9], "raid5 healthy again 3");
        let of = |part: fn(&Stack) -> &String| {
            all.iter().map(part).collect::<std::collections::BTreeSet<_>>()
        };
        assert_eq!((of(|stack| &stack.name).len(), of(|stack| &stack.text).len()), (10, 10));
    }

    #[test]
    fn the_layer_that_bears_most_tells_the_state() {
        use crate::testing::{drives, layer, stack};
        let mut stack = stack("file:/srv/x.img,size=1GiB");
        stack.medium = drives(4);
        let mut told = |layers: Vec<LayerSpec>| {
            stack.layers = layers;
            (spares(&stack), state_source(&stack))
        };
        let (raid5, fs) = (|| layer("mdraid", &[("level", "5")]), || layer("fs", &[]));
        let zfs = |vdev| layer("zfs", &[("vdev", vdev)]);
        assert_eq!(told(vec![raid5(), fs()]), (1, "sysfs"));
        assert_eq!(
            told(vec![raid5(), zfs("stripe"), fs()]),
            (1, "sysfs"),
            "the pool above has nothing to spare"
        );
        assert_eq!(told(vec![zfs("raidz2")]), (2, "zpool status"));
        let parts = |number| layer("split", &[("parts", number)]);
        let mirror = || layer("mdraid", &[("level", "1")]);
        assert_eq!(
            told(vec![raid5(), parts("3"), mirror()]),
            (2, "sysfs"),
            "it has three members, not four"
        );
        assert_eq!(told(vec![layer("spdk", &[("raid", "raid1")])]), (3, "bdev_raid_get_bdevs"));
    }
}
