//! Durability trials: the keys of `[durability]`, which are also those of `--durability=`. Trials
//! that could show nothing are refused, such as those of a stack with nothing to kill.

use super::error::Fault;
use crate::stack::LayerRole;
use crate::stack::{LayerSpec, Stack};
pub use iotax_facts::trial::Kill;
use iotax_units as units;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DurabilitySpec {
    pub trials: u32,
    /// What is killed; empty: everything of a stack that can be killed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kills: Vec<Kill>,
    /// Shortest time from the first acknowledgement to the kill, in nanoseconds.
    pub least_ns: u64,
    /// Longest time from the first acknowledgement to the kill, in nanoseconds.
    pub most_ns: u64,
    /// Number of 4 KiB writes between two flushes.
    pub batch: u32,
    pub in_flight: u32,
}

impl Default for DurabilitySpec {
    fn default() -> DurabilitySpec {
        DurabilitySpec {
            trials: 20,
            kills: Vec::new(),
            least_ns: 500_000_000,
            most_ns: 2_500_000_000,
            batch: 16,
            in_flight: 4,
        }
    }
}

pub struct KeyDef {
    pub name: &'static str,
    set: fn(&mut DurabilitySpec, &str) -> Result<(), Fault>,
}

/// All keys, in the order of the docs.
pub const KEYS: &[KeyDef] = &[
    KeyDef {
        name: "trials",
        set: |spec, word| parse_trial_number(word, 100_000).map(|trials| spec.trials = trials),
    },
    KeyDef { name: "kill", set: add_kill },
    KeyDef { name: "min_load", set: |spec, word| time(word).map(|ns| spec.least_ns = ns) },
    KeyDef { name: "max_load", set: |spec, word| time(word).map(|ns| spec.most_ns = ns) },
    KeyDef {
        name: "batch",
        set: |spec, word| parse_trial_number(word, 256).map(|batch| spec.batch = batch),
    },
    KeyDef {
        name: "in_flight",
        set: |spec, word| parse_trial_number(word, 64).map(|in_flight| spec.in_flight = in_flight),
    },
];

pub fn durability_keys() -> Vec<&'static str> {
    KEYS.iter().map(|key| key.name).collect()
}

/// Sets one key; `kill` may be set several times.
///
/// # Errors
/// The key is unknown, or does not accept the value.
pub fn set_durability_key(spec: &mut DurabilitySpec, key: &str, word: &str) -> Result<(), Fault> {
    match KEYS.iter().find(|known| known.name == key) {
        Some(known) => (known.set)(spec, word),
        None => Err(Fault::unknown("key of durability", key, &durability_keys())),
    }
}

/// Parses `trials=5,kill=qemu`, as on the command line; an empty text keeps the defaults.
///
/// # Errors
/// A part is not key=value, or [`set_durability_key`] refuses it.
pub fn parse(text: &str) -> Result<DurabilitySpec, Fault> {
    let mut spec = DurabilitySpec::default();
    for part in text.split(',').filter(|part| !part.trim().is_empty()) {
        let Some((key, value)) = part.trim().split_once('=') else {
            return Err(Fault::hint(
                format!("\"{part}\" is not key=value"),
                "write trials=5,kill=qemu",
            ));
        };
        set_durability_key(&mut spec, key, value)?;
    }
    Ok(spec)
}

/// Returns true if trials use this key of `[measure]`. All others are about slices, rounds and
/// verdicts, which trials do not have.
pub fn heeds(key: &str) -> bool {
    key == "seed"
}

/// Checks the keys together with the stacks.
///
/// # Errors
/// `min_load` is longer than `max_load`, or a stack has no single guest on top whose kill could
/// show something.
pub fn check_trials(spec: &DurabilitySpec, stacks: &[Stack]) -> Result<(), Fault> {
    if spec.least_ns > spec.most_ns {
        let why = format!(
            "min_load {} is longer than max_load {}",
            units::show_ns(spec.least_ns as f64),
            units::show_ns(spec.most_ns as f64)
        );
        return Err(Fault::new(why));
    }
    stacks.iter().try_for_each(|stack| has_a_guest(stack, &spec.kills))
}

fn has_a_guest(stack: &Stack, kills: &[Kill]) -> Result<(), Fault> {
    let refuse = |why: &str, hint: &str| Err(Fault::hint(format!("{}: {why}", stack.text), hint));
    let Some(top) = stack.layers.last().filter(|layer| layer.has_role(LayerRole::Guest)) else {
        return refuse(
            "there is no guest on top that could be killed, and what a killed process of this host wrote is in the \
             host's kernel, which lives on: nothing would be shown",
            "put vm on top of it, or leave the stack out",
        );
    };
    if top.copies > 1 {
        return refuse("durability is tried on one guest at a time", "leave xN out");
    }
    if top.option("attach") == Some("vfio") {
        return refuse(
            "the guest has the drive itself, which keeps its power and its cache through every kill: nothing would be shown",
            "another attach puts something of this host in between that can be killed; only a power cut shows what the drive itself keeps",
        );
    }
    if kills.contains(&Kill::Daemon) && !is_served_beside(top) {
        return refuse(
            "kill=daemon, and nothing beside QEMU serves its disk",
            "kill=qemu, or vm(attach=vhost-user-blk)",
        );
    }
    Ok(())
}

fn is_served_beside(guest: &LayerSpec) -> bool {
    guest.option("attach").is_some_and(|way| way.starts_with("vhost-user"))
}

fn add_kill(spec: &mut DurabilitySpec, word: &str) -> Result<(), Fault> {
    let Some(kill) = Kill::ALL.into_iter().find(|kill| kill.kill_word() == word) else {
        return Err(Fault::unknown("kill", word, &Kill::ALL.map(Kill::kill_word)));
    };
    if !spec.kills.contains(&kill) {
        spec.kills.push(kill);
        spec.kills.sort();
    }
    Ok(())
}

fn parse_trial_number(word: &str, most: u32) -> Result<u32, Fault> {
    match word.parse() {
        Ok(number) if (1..=most).contains(&number) => Ok(number),
        _ => Err(Fault::new(format!("\"{word}\" is not a whole number from 1 to {most}"))),
    }
}

const LONGEST_NS: u64 = 600_000_000_000;

fn time(word: &str) -> Result<u64, Fault> {
    let time = units::parse_duration(word).map_err(|clause| Fault::from_clause(&clause))?;
    match u64::try_from(time.as_nanos()) {
        Ok(ns) if ns <= LONGEST_NS => Ok(ns),
        _ => Err(Fault::new(format!("time \"{word}\" is longer than 10 min"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::check::{ScenarioRequest, from_arguments};

    fn asked(stacks: &[&str], durability: &str) -> Result<DurabilitySpec, String> {
        let stacks: Vec<String> = stacks.iter().map(|text| (*text).to_owned()).collect();
        let request = ScenarioRequest {
            durability: Some(durability.to_owned()),
            ..ScenarioRequest::default()
        };
        let scenario = from_arguments(&stacks, &request).map_err(|error| error.to_string())?;
        assert!(scenario.workloads.is_empty() && scenario.writes());
        Ok(*scenario.durability.unwrap())
    }

    const GUEST: &str = "file:/srv/x.img,size=1GiB | vm";

    #[test]
    fn words_of_the_command_line() {
        assert_eq!(asked(&[GUEST], ""), Ok(DurabilitySpec::default()));
        let spec = asked(
            &[GUEST],
            "trials=3,kill=qemu,kill=guest,max_load=4s,min_load=1s,batch=8,in_flight=2",
        );
        let expected = DurabilitySpec {
            trials: 3,
            kills: vec![Kill::Guest, Kill::Qemu],
            least_ns: 1_000_000_000,
            most_ns: 4_000_000_000,
            batch: 8,
            in_flight: 2,
        };
        assert_eq!(spec, Ok(expected));
    }

    #[test]
    fn what_could_show_nothing_is_refused() {
        let said = |stacks: &[&str], words: &str| asked(stacks, words).unwrap_err();
        let bare = said(&["file:/srv/x.img,size=1GiB"], "");
        assert!(bare.contains("no guest on top") && bare.contains("hint: put vm on top"), "{bare}");
        assert!(
            said(&["file:/srv/x.img,size=1GiB | vm | delay(us=5)"], "").contains("no guest on top")
        );
        assert!(said(&["file:/srv/x.img,size=1GiB | vm x2"], "").contains("one guest at a time"));
        assert!(said(&[GUEST], "kill=daemon").contains("nothing beside QEMU serves its disk"));
        let drive = said(&["/dev/nvme1n1 | vm(attach=vfio)"], "");
        assert!(drive.contains("keeps its power and its cache through every kill"), "{drive}");
        asked(&["file:/srv/x.img,size=1GiB | vm(attach=vhost-user-blk)"], "kill=daemon").unwrap();
        assert!(said(&[GUEST], "min_load=3s").contains("longer than max_load"));
        assert!(said(&[GUEST], "kill=power").contains("unknown kill \"power\""));
        assert!(said(&[GUEST], "trials=0").contains("whole number from 1"));
        assert!(said(&[GUEST], "trails=5").contains("did you mean \"trials\""));
        assert!(said(&[GUEST], "qemu").contains("is not key=value"));
    }

    #[test]
    fn a_key_that_trials_do_not_go_by_is_refused() {
        let with = |key: &str, word: &str| {
            let measure = vec![(key.to_owned(), word.to_owned())];
            let request = ScenarioRequest {
                durability: Some(String::new()),
                measure,
                ..ScenarioRequest::default()
            };
            from_arguments(&[GUEST.to_owned()], &request).map_err(|error| error.to_string())
        };
        assert_eq!(with("seed", "7").unwrap().measure.seed, 7);
        let error = with("budget", "30s").unwrap_err();
        assert!(
            error.contains("\"budget\": has no effect on durability trials; hint: "),
            "{error}"
        );
        let values = [
            ("precision", "1%"),
            ("visits", "4"),
            ("attaches", "3"),
            ("min_time", "1s"),
            ("slice", "auto"),
        ];
        for (key, word) in
            values.into_iter().chain([("equivalence", "2%"), ("matched_rate", "off")])
        {
            assert!(with(key, word).unwrap_err().contains("no effect"), "{key}");
        }
    }

    #[test]
    fn a_load_beside_the_trials_is_refused() {
        let words = vec![("rw".to_owned(), "randread".to_owned())];
        let request = ScenarioRequest {
            durability: Some(String::new()),
            words,
            ..ScenarioRequest::default()
        };
        let error = from_arguments(&[GUEST.to_owned()], &request).unwrap_err().to_string();
        assert!(error.contains("have a load of their own"), "{error}");
        let request = ScenarioRequest {
            durability: Some(String::new()),
            bill: true,
            ..ScenarioRequest::default()
        };
        assert!(
            from_arguments(&[GUEST.to_owned()], &request).unwrap_err().to_string().contains("bill")
        );
    }
}
