//! How long and how finely: the keys of `[measure]`, the same on the command line.
//! It refuses figures that could never give a verdict.

use super::MeasureSpec;
use super::error::Fault;
use crate::units;

/// One key of `[measure]`, and the option of the same name.
pub struct KeyDef {
    /// The key; the option has dashes.
    pub name: &'static str,
    /// What its value is.
    pub value: &'static str,
    /// One line.
    pub help: &'static str,
    set: fn(&mut MeasureSpec, &str) -> Result<(), Fault>,
}

/// All keys, in the order of the docs.
pub const KEYS: &[KeyDef] = &[
    KeyDef {
        name: "slice",
        value: "TIME",
        help: "Length of a slice",
        set: |spec, word| duration(word, 1_000_000, 60_000_000_000).map(|ns| spec.slice_ns = ns),
    },
    KeyDef {
        name: "precision",
        value: "PERCENT",
        help: "Wished half-width of the interval",
        set: |spec, word| percent(word).map(|fraction| spec.precision = fraction),
    },
    KeyDef {
        name: "equivalence",
        value: "PERCENT",
        help: "Largest difference that may be called none",
        set: |spec, word| percent(word).map(|fraction| spec.equivalence = fraction),
    },
    KeyDef {
        name: "min_time",
        value: "TIME",
        help: "Measure a workload at least this long",
        set: |spec, word| duration(word, 0, WEEK_NS).map(|ns| spec.min_time_ns = ns),
    },
    KeyDef {
        name: "budget",
        value: "TIME",
        help: "Measure a workload no longer than this",
        set: |spec, word| duration(word, 1_000_000, WEEK_NS).map(|ns| spec.budget_ns = ns),
    },
    KeyDef {
        name: "visits",
        value: "N",
        help: "Visits where stacks cannot be up together",
        set: |spec, word| visits(word).map(|visits| spec.visits = visits),
    },
    KeyDef {
        name: "attaches",
        value: "N",
        help: "Set-ups over which stacks are compared; from 3 on the interval is over set-ups",
        set: |spec, word| attaches(word).map(|attaches| spec.attaches = attaches),
    },
    KeyDef {
        name: "seed",
        value: "N",
        help: "Seed of every random choice",
        set: |spec, word| seed(word).map(|seed| spec.seed = seed),
    },
];

/// Names of all keys.
pub fn names() -> Vec<&'static str> {
    KEYS.iter().map(|key| key.name).collect()
}

/// Sets one key.
///
/// # Errors
/// An unknown key, or a value without its unit or out of bounds.
pub fn set(spec: &mut MeasureSpec, key: &str, word: &str) -> Result<(), Fault> {
    match KEYS.iter().find(|known| known.name == key) {
        Some(known) => (known.set)(spec, word),
        None => Err(Fault::unknown("key of [measure]", key, &names())),
    }
}

/// What the keys say together.
///
/// # Errors
/// The key at fault, and why.
pub fn check(spec: &MeasureSpec) -> Result<(), (&'static str, Fault)> {
    let show = |ns: u64| units::show_ns(ns as f64);
    if spec.min_time_ns > spec.budget_ns {
        let why =
            format!("min_time {} is longer than budget {}", show(spec.min_time_ns), show(spec.budget_ns));
        return Err(("min_time", Fault::hint(why, "raise budget or lower min_time")));
    }
    if spec.slice_ns.saturating_mul(4) > spec.budget_ns {
        let why = format!(
            "budget {} holds fewer than four slices of {}",
            show(spec.budget_ns),
            show(spec.slice_ns)
        );
        return Err(("budget", Fault::hint(why, "raise budget or lower slice")));
    }
    Ok(())
}

/// Fewer visits than this carry no verdict.
pub const VISITS_FOR_A_VERDICT: u32 = 4;

const WEEK_NS: u64 = 7 * 24 * 3_600_000_000_000;

fn duration(word: &str, least: u64, most: u64) -> Result<u64, Fault> {
    let time = units::parse_duration(word).map_err(|clause| Fault::from_clause(&clause))?;
    match u64::try_from(time.as_nanos()) {
        Ok(ns) if (least..=most).contains(&ns) => Ok(ns),
        _ => Err(Fault::new(format!(
            "time \"{word}\" is not between {} and {}",
            units::show_ns(least as f64),
            units::show_ns(most as f64)
        ))),
    }
}

fn percent(word: &str) -> Result<f64, Fault> {
    match units::parse_percent(word) {
        Ok(fraction) if fraction > 0.0 && fraction < 1.0 => Ok(fraction),
        Ok(_) => Err(Fault::new(format!("\"{word}\" is not between 0 % and 100 %"))),
        Err(clause) => Err(Fault::from_clause(&clause)),
    }
}

fn seed(word: &str) -> Result<u64, Fault> {
    word.parse().map_err(|_| Fault::new(format!("\"{word}\" is not a whole number")))
}

fn attaches(word: &str) -> Result<u32, Fault> {
    match word.parse() {
        Ok(attaches @ 1..=100) => Ok(attaches),
        _ => Err(Fault::new(format!("\"{word}\" is not a whole number from 1 to 100"))),
    }
}

fn visits(word: &str) -> Result<u32, Fault> {
    match word.parse() {
        Ok(visits @ 1..=1000) => Ok(visits),
        _ => Err(Fault::new(format!("\"{word}\" is not a whole number from 1 to 1000"))),
    }
}
