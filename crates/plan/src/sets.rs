//! Determines which stacks can be up together. Stacks that would disturb each other on one file get
//! equal files instead (siblings), which they swap with every visit. On a device, or a file that
//! iotax does not make, they are measured in visits, one set after another. Stacks on several media
//! are connected with all stacks on these media, and all connected stacks swap the siblings of all
//! their files.

use super::conflict::{LoadKind, Meetings};
use super::prefixes::{PrefixAbove, Prefixes};
use iotax_model::scenario::{MeasureSpec, Scenario};
use iotax_model::stack::{Location, Medium, Stack};
use std::collections::{BTreeMap, HashMap};

/// Stacks that are up at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackSet {
    /// Indices into the scenario's stacks.
    pub stacks: Vec<usize>,
    /// Index of the set with the same stacks in the previous state, from which they are brought
    /// into this one; `None`: the stacks are as they are set up.
    pub after: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetLayout {
    /// Sets of stacks. With one set, everything is measured in rounds; with several, in visits.
    pub sets: Vec<StackSet>,
    /// For each stack, which of several equal files it is on; `None`: it has no equal files.
    pub sibling: Vec<Option<Sibling>>,
    /// For each stack and each depth, what is above that many layers in all stacks that begin with
    /// these layers.
    pub above: Vec<Vec<PrefixAbove>>,
}

/// Position of a stack among stacks that are on equal files in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sibling {
    /// Index of the file that the stack is on in the first visit, from 0.
    pub number: usize,
    /// Number of equal files.
    pub of: usize,
}

impl SetLayout {
    /// Returns the largest number of equal files that stacks are on in turn; 1 if there are none.
    pub fn siblings(&self) -> usize {
        self.sibling.iter().flatten().map(|sibling| sibling.of).max().unwrap_or(1)
    }

    /// Returns the index of the equal file that a stack is on in a visit; `None`: it has no equal
    /// files.
    pub fn sibling_in(&self, stack: usize, visit: u32) -> Option<usize> {
        self.sibling[stack].map(|sibling| (sibling.number + visit as usize) % sibling.of)
    }

    /// Returns the indices of all equal files that a stack is on in turn; a single `None` if it has
    /// none.
    pub fn siblings_of(&self, stack: usize) -> Vec<Option<usize>> {
        self.sibling[stack]
            .map_or_else(|| vec![None], |sibling| (0..sibling.of).map(Some).collect())
    }
}

impl SetLayout {
    /// Returns the layout with every stack in a set of its own, followed by its further states.
    pub fn split_apart(&self, stacks: &[Stack]) -> SetLayout {
        let alone = |stack: usize| StackSet { stacks: vec![stack], after: None };
        let in_first =
            |stack: &usize| stacks[*stack].state.as_ref().is_none_or(|state| state.position == 0);
        let sets = self
            .sets
            .iter()
            .flat_map(|set| &set.stacks)
            .copied()
            .filter(in_first)
            .map(alone)
            .collect();
        SetLayout { sets: with_states(sets, stacks), ..self.clone() }
    }

    /// Returns for each visit the indices of the sets that are measured in it: one set as it is set
    /// up, then the same stacks in their further states.
    pub fn chains(&self) -> Vec<Vec<usize>> {
        let first = (0..self.sets.len()).filter(|set| self.sets[*set].after.is_none());
        let after = self.sets.iter().enumerate().filter_map(|(set, at)| Some((at.after?, set)));
        let next: HashMap<usize, usize> = after.collect();
        first
            .map(|set| std::iter::successors(Some(set), |set| next.get(set).copied()).collect())
            .collect()
    }

    /// Returns how often each set is brought up: with one set, the number of equal files times the
    /// number of attaches; with several sets, which take turns, the requested number of visits.
    pub fn visits_of_a_set(&self, measure: &MeasureSpec) -> u32 {
        if self.sets.len() == 1 {
            self.siblings() as u32 * measure.attaches.max(1)
        } else {
            measure.visits
        }
    }
}

/// Returns why a run that was cut short cannot be resumed; `None` if it can.
pub fn not_resumable(scenario: &Scenario) -> Option<&'static str> {
    if scenario.durability.is_some() {
        return Some(
            "trials that were made are in its report, and the others are a run of their own",
        );
    }
    if scenario.limits.is_some() {
        return Some("its courses follow one another, each after a rest");
    }
    if layout(scenario).siblings() > 1 {
        return Some(
            "its stacks swap equal files, and a run that was cut short cannot make up for it",
        );
    }
    (scenario.measure.attaches > 1).then_some("its attaches must be of equal length")
}

/// Sorts the stacks of a scenario into sets. Durability trials take one stack after the other, each
/// on the same file.
pub fn layout(scenario: &Scenario) -> SetLayout {
    let stacks = &scenario.stacks;
    let prefixes = Prefixes::from_stacks(stacks);
    let above = prefixes.above(scenario);
    if scenario.durability.is_some() {
        let alone = |stack| StackSet { stacks: vec![stack], after: None };
        return SetLayout {
            sets: (0..stacks.len()).map(alone).collect(),
            sibling: vec![None; stacks.len()],
            above,
        };
    }
    let meetings = Meetings::from_stacks(stacks, &prefixes, LoadKind::from_scenario(scenario));
    let sibling = siblings(stacks, &meetings);
    let sets = sets(stacks, &sibling, &meetings, scenario.baseline);
    let sets = sets.into_iter().flat_map(|set| by_operator(set, scenario)).collect();
    SetLayout { sets: with_states(sets, stacks), sibling, above }
}

/// Gives every stack of a group that needs equal files one of its own, so that swapping is fair to
/// all.
fn siblings(stacks: &[Stack], meetings: &Meetings) -> Vec<Option<Sibling>> {
    let mut siblings = vec![None; stacks.len()];
    for group in groups(stacks) {
        if is_divided(stacks, &group, meetings) {
            for (number, stack) in group.iter().enumerate() {
                siblings[*stack] = Some(Sibling { number, of: group.len() });
            }
        }
    }
    siblings
}

/// Groups stacks that are connected by files or devices in common.
fn groups(stacks: &[Stack]) -> Vec<Vec<usize>> {
    let mut first_at: HashMap<Location<'_>, usize> = HashMap::new();
    // Each stack points to an earlier one of its group, the first to itself.
    let mut leads: Vec<usize> = (0..stacks.len()).collect();
    for (index, stack) in stacks.iter().enumerate() {
        for location in stack.medium.locations() {
            let other = *first_at.entry(location).or_insert(index);
            let (one, other) = (first_of(&mut leads, index), first_of(&mut leads, other));
            leads[one.max(other)] = one.min(other);
        }
    }
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for stack in 0..stacks.len() {
        groups.entry(first_of(&mut leads, stack)).or_default().push(stack);
    }
    groups.into_values().collect()
}

fn first_of(leads: &mut [usize], mut stack: usize) -> usize {
    while leads[stack] != stack {
        leads[stack] = leads[leads[stack]];
        stack = leads[stack];
    }
    stack
}

/// Returns true if a group needs equal files and can have them: some of its stacks would disturb
/// each other, and iotax makes all of its files.
fn is_divided(stacks: &[Stack], group: &[usize], meetings: &Meetings) -> bool {
    group.iter().all(|stack| stacks[*stack].medium.members().iter().all(is_made_file))
        && meetings.any_among(group)
}

/// Returns the sets, followed by those of the same stacks in their further states.
fn with_states(mut sets: Vec<StackSet>, stacks: &[Stack]) -> Vec<StackSet> {
    let mut states: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
    for (index, stack) in stacks.iter().enumerate() {
        if let Some(state) = &stack.state {
            states.entry((state.of, state.position)).or_default().push(index);
        }
    }
    for first in 0..sets.len() {
        let (mut after, own) = (first, sets[first].stacks.clone());
        for position in 1.. {
            let of = |stack: &usize| states.get(&(*stack, position)).into_iter().flatten().copied();
            let mut set: Vec<usize> = own.iter().flat_map(of).collect();
            if set.is_empty() {
                break;
            }
            set.sort_unstable();
            sets.push(StackSet { stacks: set, after: Some(after) });
            after = sets.len() - 1;
        }
    }
    sets
}

fn sets(
    stacks: &[Stack],
    sibling: &[Option<Sibling>],
    meetings: &Meetings,
    baseline: usize,
) -> Vec<StackSet> {
    let is_set_up =
        |index: &usize| stacks[*index].state.as_ref().is_none_or(|state| state.position == 0);
    let mut order: Vec<usize> = (0..stacks.len()).filter(is_set_up).collect();
    order.sort_by_key(|index| *index != baseline);
    let sorted = meetings.sorted(&order, |stack| sibling[stack].is_some());
    sorted.into_iter().map(|stacks| StackSet { stacks, after: None }).collect()
}

/// Splits a set by the actions of the operator: stacks before which a person does different things
/// are never up together.
fn by_operator(set: StackSet, scenario: &Scenario) -> Vec<StackSet> {
    let mut sets: Vec<StackSet> = Vec::new();
    let of = |stack: usize| scenario.operator_of(&scenario.stacks[stack]);
    // The disks that a person makes are those of one stack at a time.
    let is_made = |stack: usize| !scenario.stacks[stack].by_hand.is_empty();
    for stack in set.stacks {
        let same = |set: &&mut StackSet| !is_made(stack) && of(set.stacks[0]) == of(stack);
        match sets.iter_mut().find(same) {
            Some(same) => same.stacks.push(stack),
            None => sets.push(StackSet { stacks: vec![stack], after: None }),
        }
    }
    sets
}

/// Returns true if there can be several equal files in place of a medium: if iotax makes the file.
fn is_made_file(medium: &Medium) -> bool {
    matches!(medium, Medium::File { size: Some(_), .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_layers::state::AskedState;
    use iotax_load::{Job, Rw};
    use iotax_model::scenario::Workload;
    use iotax_model::stack::{InState, LayerSpec};

    fn file(name: &str) -> Medium {
        Medium::File { path: format!("/srv/{name}.img").into(), size: Some(1 << 30), keep: false }
    }

    fn device(name: &str) -> Medium {
        Medium::Device { path: format!("/dev/{name}").into() }
    }

    fn each(members: &[Medium]) -> Medium {
        Medium::Many { members: members.to_vec(), groups: 1 }
    }

    fn on(medium: Medium, layers: &[(&str, &str, &str)]) -> Stack {
        let layers = layers
            .iter()
            .map(|(name, key, value)| LayerSpec {
                name: (*name).into(),
                options: [((*key).to_owned(), (*value).to_owned())]
                    .into_iter()
                    .filter(|(key, _)| !key.is_empty())
                    .collect(),
                place: None,
                far: Vec::new(),
                copies: 1,
                tool: None,
                origin: "test".into(),
            })
            .collect();
        Stack {
            name: "s".into(),
            text: "s".into(),
            medium,
            layers,
            by_hand: Vec::new(),
            own: false,
            state: None,
        }
    }

    fn stack(layers: &[(&str, &str, &str)], is_file: bool) -> Stack {
        on(if is_file { file("x") } else { device("vdx") }, layers)
    }

    /// Returns each stack's file in the first visit, and the number of files.
    fn numbers(layout: &SetLayout) -> Vec<Option<(usize, usize)>> {
        layout
            .sibling
            .iter()
            .map(|sibling| sibling.map(|sibling| (sibling.number, sibling.of)))
            .collect()
    }

    fn scenario(stacks: Vec<Stack>, rw: Rw) -> Scenario {
        let workload = Workload {
            name: "w".into(),
            jobs: vec![Job { rw, ..Job::default() }],
            probe: None,
            engine: None,
            sweep: None,
        };
        Scenario { stacks, workloads: vec![workload], ..Scenario::of_nothing("test", None) }
    }

    const LOOP: (&str, &str, &str) = ("loop", "direct-io", "true");
    const FS: (&str, &str, &str) = ("fs", "type", "xfs");

    #[test]
    fn nothing_is_made_on_what_is_written_first_beside_it() {
        const MD: (&str, &str, &str) = ("mdraid", "level", "1");
        let drives = || each(&[device("vda"), device("vdb")]);
        let sets = |layers: &[(&str, &str, &str)]| {
            let stacks = vec![on(drives(), &[MD]), on(drives(), &[&[MD], layers].concat())];
            layout(&scenario(stacks, Rw::RandRead)).sets.len()
        };
        assert_eq!((sets(&[FS]), sets(&[("partition", "", "")])), (2, 2));
        assert_eq!((sets(&[LOOP]), sets(&[("delay", "us", "50")])), (1, 1));
        const IMAGE: (&str, &str, &str) = ("vm", "format", "qcow2");
        let guests = vec![on(device("vda"), &[IMAGE]), on(device("vda"), &[IMAGE, FS])];
        assert_eq!(
            layout(&scenario(guests, Rw::RandRead)).sets.len(),
            2,
            "an image is written first, too"
        );
        // A file that was filled before needs no first writes.
        assert_eq!(
            layout(&scenario(vec![stack(&[], false), stack(&[FS], false)], Rw::RandRead))
                .sets
                .len(),
            1
        );
    }

    #[test]
    fn durability_trials_take_one_stack_after_the_other_on_one_file() {
        let mut scenario = scenario(vec![stack(&[LOOP], true), stack(&[FS], true)], Rw::RandWrite);
        scenario.durability = Some(Box::default());
        let layout = layout(&scenario);
        assert_eq!(
            layout.sets,
            vec![
                StackSet { stacks: vec![0], after: None },
                StackSet { stacks: vec![1], after: None }
            ]
        );
        assert_eq!((layout.siblings_of(1), layout.sibling), (vec![None], vec![None, None]));
        assert!(not_resumable(&scenario).is_some());
    }

    #[test]
    fn states_of_a_stack_are_measured_in_one_visit_after_each_other() {
        let in_state = |position, of| Stack {
            state: Some(InState { position, state: AskedState::Healthy, of }),
            ..stack(&[LOOP], false)
        };
        // Two arrays on one device, with two further states each, and the bare device.
        let mut stacks = vec![stack(&[], false)];
        stacks.extend((0..3).map(|position| in_state(position, 1)));
        stacks.extend(
            (0..3).map(|position| Stack {
                layers: stack(&[FS], false).layers,
                ..in_state(position, 4)
            }),
        );
        let layout = layout(&scenario(stacks.clone(), Rw::RandWrite));
        let sets: Vec<_> = layout.sets.iter().map(|set| (set.stacks.clone(), set.after)).collect();
        let alone = |stack: usize, after| (vec![stack], after);
        assert_eq!(
            sets,
            [
                alone(0, None),
                alone(1, None),
                alone(4, None),
                alone(2, Some(1)),
                alone(3, Some(3)),
                alone(5, Some(2)),
                alone(6, Some(5))
            ]
        );
        assert_eq!(layout.chains(), [vec![0], vec![1, 3, 4], vec![2, 5, 6]]);
        assert_eq!(
            layout.split_apart(&stacks).chains(),
            layout.chains(),
            "each was by itself already"
        );
    }

    #[test]
    fn reading_prefixes_share_one_file() {
        let stacks = vec![stack(&[], true), stack(&[LOOP], true), stack(&[LOOP, FS], true)];
        let layout = layout(&scenario(stacks, Rw::RandRead));
        assert_eq!(layout.sets, vec![StackSet { stacks: vec![0, 1, 2], after: None }]);
        assert_eq!(layout.sibling, vec![None, None, None]);
    }

    #[test]
    fn writing_stacks_get_equal_siblings_of_a_file() {
        let stacks = vec![stack(&[], true), stack(&[LOOP], true)];
        let layout = layout(&scenario(stacks, Rw::RandWrite));
        assert_eq!(layout.sets.len(), 1);
        assert_eq!(numbers(&layout), [Some((0, 2)), Some((1, 2))]);
        assert_eq!(layout.siblings(), 2);
    }

    #[test]
    fn stacks_on_images_of_their_own_write_side_by_side_on_one_cluster() {
        const CEPH: (&str, &str, &str) = ("ceph", "size", "2");
        let on_cluster = |cache| on(each(&[file("a"), file("b")]), &[CEPH, ("vm", "cache", cache)]);
        let both = vec![on_cluster("none"), on_cluster("writeback")];
        let shared = layout(&scenario(both.clone(), Rw::RandWrite));
        assert_eq!((shared.sets.len(), numbers(&shared)), (1, vec![None, None]));
        assert_eq!(shared.above[0][1].ways, 2, "an image each");
        // The bare files cannot be measured while a cluster is on them.
        let bare = [both, vec![on(each(&[file("a"), file("b")]), &[])]].concat();
        assert_eq!(layout(&scenario(bare, Rw::RandRead)).siblings(), 3);
    }

    #[test]
    fn writing_stacks_on_one_device_are_visited_in_turn() {
        let stacks = vec![stack(&[], false), stack(&[LOOP], false)];
        let layout = layout(&scenario(stacks, Rw::RandWrite));
        assert_eq!(
            layout.sets,
            vec![
                StackSet { stacks: vec![0], after: None },
                StackSet { stacks: vec![1], after: None }
            ]
        );
    }

    #[test]
    fn a_caching_layer_shares_with_nobody() {
        let cached = ("loop", "direct-io", "false");
        let layout =
            layout(&scenario(vec![stack(&[], true), stack(&[cached], true)], Rw::RandRead));
        assert_eq!(numbers(&layout), [Some((0, 2)), Some((1, 2))]);
    }

    #[test]
    fn images_are_written_by_making_them() {
        let qcow2 = ("vm", "format", "qcow2");
        let raw = ("vm", "cache", "none");
        let layout_of = |is_file| {
            let stacks = [&[][..], &[raw], &[qcow2]].map(|layers| stack(layers, is_file));
            layout(&scenario(stacks.to_vec(), Rw::RandRead))
        };
        // Raw reads next to one image are fine.
        assert_eq!((layout_of(true).sets.len(), numbers(&layout_of(true))), (1, vec![None; 3]));
        let two = |is_file| {
            let mut other = stack(&[qcow2], is_file);
            other.layers[0].options.insert("backing".into(), "1".into());
            layout(&scenario(vec![stack(&[qcow2], is_file), other], Rw::RandRead))
        };
        assert_eq!(numbers(&two(true)), [Some((0, 2)), Some((1, 2))]);
        assert_eq!(two(false).sets.len(), 2);
    }

    #[test]
    fn a_drive_that_a_guest_takes_is_visited_by_everybody() {
        let vfio = ("vm", "attach", "vfio");
        let mut smaller = on(device("nvme1n1"), &[vfio]);
        smaller.layers[0].options.insert("vcpus".into(), "1".into());
        let stacks = vec![on(device("nvme1n1"), &[]), on(device("nvme1n1"), &[vfio]), smaller];
        let layout = layout(&scenario(stacks, Rw::RandRead));
        assert_eq!(layout.sets.len(), 3, "{:?}", layout.sets);
    }

    #[test]
    fn two_file_systems_do_not_share_a_file() {
        let ext4 = ("fs", "type", "ext4");
        let stacks = vec![stack(&[], true), stack(&[LOOP, FS], true), stack(&[LOOP, ext4], true)];
        let layout = layout(&scenario(stacks, Rw::RandRead));
        assert_eq!(numbers(&layout), [Some((0, 3)), Some((1, 3)), Some((2, 3))]);
    }

    #[test]
    fn a_delay_shares_its_prefix_even_for_writes() {
        let delay = ("delay", "us", "10");
        let stacks = vec![stack(&[LOOP], true), stack(&[LOOP, delay], true)];
        let layout = layout(&scenario(stacks, Rw::RandWrite));
        assert_eq!(layout.sibling, vec![None, None]);
    }

    #[test]
    fn what_is_read_back_is_on_files_of_its_own() {
        let delay = ("delay", "us", "10");
        let mut verified =
            scenario(vec![stack(&[LOOP], true), stack(&[LOOP, delay], true)], Rw::RandWrite);
        verified.workloads[0].jobs[0].verify = true;
        assert_eq!((layout(&verified).siblings(), layout(&verified).sets.len()), (2, 1));
        let drive = Medium::Device { path: "/dev/x".into() };
        verified.stacks = vec![on(drive.clone(), &[]), on(drive, &[delay])];
        assert_eq!(layout(&verified).sets.len(), 2, "a drive has no siblings: one after the other");
    }

    #[test]
    fn several_share_their_files_with_readers_of_one() {
        let all = each(&[file("a"), file("b")]);
        let stacks = vec![on(all.clone(), &[]), on(file("a"), &[]), on(file("b"), &[LOOP])];
        let reading = layout(&scenario(stacks, Rw::RandRead));
        assert_eq!((reading.sets.len(), numbers(&reading)), (1, vec![None; 3]));
        // Bare workers on one file take turns even if they write.
        let delay = ("delay", "us", "10");
        let stacks = vec![on(all.clone(), &[]), on(file("a"), &[]), on(all, &[delay])];
        let writing = layout(&scenario(stacks, Rw::RandWrite));
        assert_eq!((writing.sets.len(), numbers(&writing)), (1, vec![None; 3]));
    }

    #[test]
    fn a_conflict_on_one_member_divides_all_that_hang_together() {
        let stacks = vec![
            on(each(&[file("a"), file("b")]), &[]),
            on(file("a"), &[LOOP]),
            on(file("b"), &[]),
            on(file("c"), &[]),
        ];
        let layout = layout(&scenario(stacks, Rw::RandWrite));
        assert_eq!(layout.sets, vec![StackSet { stacks: vec![0, 1, 2, 3], after: None }]);
        assert_eq!(numbers(&layout), [Some((0, 3)), Some((1, 3)), Some((2, 3)), None]);
        for visit in 0..3 {
            let mut taken: Vec<_> = (0..3).map(|stack| layout.sibling_in(stack, visit)).collect();
            taken.sort();
            assert_eq!(taken, [Some(0), Some(1), Some(2)], "no two on one file in visit {visit}");
        }
        assert_eq!(layout.sibling_in(3, 1), None);
    }

    #[test]
    fn a_member_that_cannot_have_siblings_makes_it_visits() {
        let mixed = each(&[file("a"), device("vdb")]);
        for other in [on(file("a"), &[LOOP]), on(device("vdb"), &[LOOP])] {
            let layout = layout(&scenario(vec![on(mixed.clone(), &[]), other], Rw::RandWrite));
            assert_eq!(
                layout.sets,
                vec![
                    StackSet { stacks: vec![0], after: None },
                    StackSet { stacks: vec![1], after: None }
                ]
            );
            assert_eq!(layout.sibling, vec![None, None]);
        }
    }

    #[test]
    fn a_caching_layer_on_one_member_shares_with_nobody() {
        let cached = ("loop", "direct-io", "false");
        let stacks = vec![on(each(&[file("a"), file("b")]), &[]), on(file("b"), &[cached])];
        let layout = layout(&scenario(stacks, Rw::RandRead));
        assert_eq!(numbers(&layout), [Some((0, 2)), Some((1, 2))]);
    }
}
