//! Duration and precision of measurements: the keys of `[measure]`, which are also options of the
//! command line. Values that could never lead to a verdict are refused.

use super::error::Fault;
use super::media::size_of;
use super::precondition;
use super::slo;
use super::{MeasureSpec, Precondition, Regime, SteadyLimit};
use iotax_units as units;

/// One key of `[measure]`, which is also an option of that name.
pub struct KeyDef {
    /// The key; the option has dashes.
    pub name: &'static str,
    pub value: &'static str,
    pub help: &'static str,
    set: fn(&mut MeasureSpec, &str) -> Result<(), Fault>,
}

/// All keys of `[measure]`, in the order of the docs.
pub const KEYS: &[KeyDef] = &[
    KeyDef {
        name: "slice",
        value: "TIME|auto",
        help: "Length of one measured slice; auto: a short test run chooses",
        set: |spec, word| slice(word).map(|ns| spec.slice_ns = ns),
    },
    KeyDef {
        name: "precision",
        value: "PERCENT",
        help: "Stop when every comparison is known to within this: its interval of 95 % is at most +- this wide",
        set: |spec, word| percent(word).map(|fraction| spec.precision = fraction),
    },
    KeyDef {
        name: "equivalence",
        value: "PERCENT",
        help: "Differences below this count as no difference",
        set: |spec, word| percent(word).map(|fraction| spec.equivalence = fraction),
    },
    KeyDef {
        name: "min_time",
        value: "TIME",
        help: "Measure a workload at least this long",
        set: |spec, word| {
            duration(word, 0, WEEK_NS)
                .map(|ns| (spec.min_time_ns, spec.min_time_given) = (ns, true))
        },
    },
    KeyDef {
        name: "budget",
        value: "TIME",
        help: "Longest measuring time of the whole run, shared by the loads (in a scenario file: per load) [default: 5min per load]",
        set: |spec, word| duration(word, 1_000_000, WEEK_NS).map(|ns| spec.budget_ns = ns),
    },
    KeyDef {
        name: TRACE,
        value: "TIME",
        help: "Instead of comparing: load one stack for this long without a pause, and show its rate over time",
        set: |spec, word| duration(word, 1_000_000_000, WEEK_NS).map(|ns| spec.trace_ns = Some(ns)),
    },
    KeyDef {
        name: "visits",
        value: "N",
        help: "How often each stack is set up and measured, if stacks must take turns",
        set: |spec, word| visits(word).map(|visits| spec.visits = visits),
    },
    KeyDef {
        name: "matched_rate",
        value: "PERCENT|off",
        help: "Compare latencies also while all stacks run at one rate: this percentage of the slowest stack's",
        set: |spec, word| {
            matched_rate(word)
                .map(|part| (spec.matched_rate, spec.matched_rate_given) = (part, true))
        },
    },
    KeyDef {
        name: "attaches",
        value: "N",
        help: "Repeat set-up and measurement N times; with 3 or more the interval includes set-up variation",
        set: |spec, word| attaches(word).map(|attaches| spec.attaches = attaches),
    },
    KeyDef {
        name: "seed",
        value: "N",
        help: "Seed of every random choice",
        set: |spec, word| seed(word).map(|seed| spec.seed = seed),
    },
    KeyDef {
        name: "regime",
        value: "burst|steady",
        help: "Which writes count: all as they come, or those after the write caches are full",
        set: |spec, word| regime(word).map(|regime| spec.regime = regime),
    },
    KeyDef {
        name: "write_cache",
        value: "SIZE",
        help: "Size of the largest write cache on the path, such as a drive's",
        set: |spec, word| size_of(word).map(|bytes| spec.write_cache = Some(bytes)),
    },
    KeyDef {
        name: "precondition",
        value: "off|Nx|steady|Nx,steady",
        help: "Before measuring: write all of each drive N times in order, run each load that writes until it is steady",
        set: |spec, word| spec.precondition.set_from_word(word),
    },
    KeyDef {
        name: "steady_round",
        value: "TIME",
        help: "Length of a round of preconditioning to steady [default: 1min]",
        set: |spec, word| {
            duration(word, 100_000_000, 3_600_000_000_000).map(|ns| spec.precondition.round_ns = ns)
        },
    },
    KeyDef {
        name: "steady_limit",
        value: "ROUNDS|TIME",
        help: "Rounds, or time, after which preconditioning to steady stops [default: 25]",
        set: |spec, word| {
            let time = |word: &str| duration(word, 1_000_000, WEEK_NS);
            precondition::limit(word, time).map(|limit| spec.precondition.limit = limit)
        },
    },
    KeyDef {
        name: "fio_on_baseline",
        value: "true|false",
        help: "Run the installed fio on the baseline too, in the same rounds, to show how the generators differ \
            (slices of 1 s)",
        set: |spec, word| flag(word).map(|flag| spec.fio_on_baseline = flag),
    },
    KeyDef {
        name: PERCENTILES,
        value: "P,...",
        help: "Latency percentiles that reports show in addition to p50, p99 and p99.9: p99.95,p90",
        set: |spec, word| percentiles(word).map(|all| spec.percentiles = all),
    },
    KeyDef {
        name: slo::KEY,
        value: "LEVEL",
        help: "Latency that every stack must keep: \"p99 < 500us\", \"fdatasync p99 < 10ms\". Repeat for more. \
            Exit code 1 when one is broken",
        set: |spec, word| slo::parse_list(word).map(|all| spec.slo = all),
    },
];

/// Key of a run that shows the rate of one stack over time.
pub const TRACE: &str = "trace";

/// Key that a report of a stored run also accepts.
pub const PERCENTILES: &str = "percentiles";

/// Percentiles that every report shows.
const SHOWN_PERCENTILES: [f64; 3] = [50.0, 99.0, 99.9];

pub fn measure_keys() -> Vec<&'static str> {
    KEYS.iter().map(|key| key.name).collect()
}

/// Sets one key.
///
/// # Errors
/// The key is unknown, or does not accept the value.
pub fn set_measure_key(spec: &mut MeasureSpec, key: &str, word: &str) -> Result<(), Fault> {
    match KEYS.iter().find(|known| known.name == key) {
        Some(known) => (known.set)(spec, word),
        None => Err(Fault::unknown("key of [measure]", key, &measure_keys())),
    }
}

/// Checks the keys against each other. `spec.budget_ns` is the part of the budget that each of
/// `loads` gets if they share one.
///
/// # Errors
/// Returns the key at fault, with the reason.
pub fn check_measure_keys(spec: &MeasureSpec, loads: u64) -> Result<(), (&'static str, Fault)> {
    let show = |ns: u64| units::show_ns(ns as f64);
    if spec.min_time_ns > spec.budget_ns {
        let why = format!(
            "min_time {} is longer than budget {}",
            show(spec.min_time_ns),
            show(spec.budget_ns)
        );
        return Err(("min_time", Fault::hint(why, "raise budget or lower min_time")));
    }
    let Precondition { limit, round_ns, .. } = spec.precondition;
    let least_ns = round_ns.saturating_mul(precondition::LEAST_ROUNDS.into());
    match limit {
        SteadyLimit::TimeNs(limit_ns) if limit_ns < least_ns => {
            let why = format!(
                "steady_limit {} holds fewer than {} rounds of {}",
                show(limit_ns),
                precondition::LEAST_ROUNDS,
                show(round_ns)
            );
            return Err((
                "steady_limit",
                Fault::hint(why, "raise steady_limit or lower steady_round"),
            ));
        }
        _ => {}
    }
    if let Some(slice_ns) = spec.slice_ns.filter(|ns| ns.saturating_mul(4) > spec.budget_ns) {
        let share = match loads {
            1 => String::new(),
            _ => format!(", of which each of {loads} loads has {},", show(spec.budget_ns)),
        };
        let budget = show(spec.budget_ns * loads);
        let why =
            format!("budget {budget}{share} holds fewer than four slices of {}", show(slice_ns));
        return Err(("budget", Fault::hint(why, "raise budget or lower slice")));
    }
    Ok(())
}

/// Returns a note on keys that have no effect: those about writes if nothing writes, and those
/// about steady rounds if none are asked for. `given` returns true for a key that the user wrote.
///
/// # Errors
/// The regime is steady and nothing writes, so no verdict could ever be given.
pub fn check_writes(
    spec: &MeasureSpec,
    writes: bool,
    given: impl Fn(&str) -> bool,
) -> Result<Option<String>, (&'static str, Fault)> {
    if writes {
        let idle =
            idle(&["steady_round", "steady_limit"], &given).filter(|_| !spec.precondition.steady);
        return Ok(idle
            .map(|keys| format!("{keys}: without effect, since precondition has no \"steady\"")));
    }
    if spec.regime == Regime::Steady {
        let why = "regime \"steady\" is one of writes, and no workload writes";
        return Err((
            "regime",
            Fault::hint(why, "add a workload that does, such as rw = \"randwrite\""),
        ));
    }
    let steady = spec.precondition.steady.then_some(match spec.precondition.passes {
        0 => "precondition = \"steady\"",
        _ => "\"steady\" of precondition",
    });
    let keys = idle(&["regime", "write_cache", "steady_round", "steady_limit"], &given);
    let keys: Vec<&str> = keys.iter().map(String::as_str).chain(steady).collect();
    let note = || format!("{}: without effect, since no workload writes", keys.join(", "));
    Ok((!keys.is_empty()).then(note))
}

/// Returns those of `keys` that the user wrote, as a list for a message; `None` if there are none.
fn idle(keys: &[&str], given: impl Fn(&str) -> bool) -> Option<String> {
    let idle: Vec<&str> = keys.iter().copied().filter(|key| given(key)).collect();
    (!idle.is_empty()).then(|| idle.join(", "))
}

/// Smallest number of visits that can carry a verdict.
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

fn slice(word: &str) -> Result<Option<u64>, Fault> {
    match word {
        "auto" => Ok(None),
        _ => duration(word, 1_000_000, 60_000_000_000).map(Some),
    }
}

fn matched_rate(word: &str) -> Result<f64, Fault> {
    match word {
        "off" => Ok(0.0),
        _ => percent(word),
    }
}

fn percent(word: &str) -> Result<f64, Fault> {
    match units::parse_percent(word) {
        Ok(fraction) if fraction > 0.0 && fraction < 1.0 => Ok(fraction),
        Ok(_) => Err(Fault::new(format!("\"{word}\" is not above 0 % and below 100 %"))),
        Err(clause) => Err(Fault::from_clause(&clause)),
    }
}

fn seed(word: &str) -> Result<u64, Fault> {
    word.parse().map_err(|_| Fault::new(format!("\"{word}\" is not a whole number")))
}

fn flag(word: &str) -> Result<bool, Fault> {
    match word {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(Fault::new(format!("\"{word}\" is not true or false"))),
    }
}

/// Parses percentiles and returns them in ascending order, without those that are always shown.
fn percentiles(list: &str) -> Result<Vec<f64>, Fault> {
    let mut all = Vec::new();
    for word in list.split(',').map(str::trim) {
        let percent: Option<f64> = word.strip_prefix('p').unwrap_or(word).parse().ok();
        let Some(percent) = percent.filter(|percent| *percent > 0.0 && *percent < 100.0) else {
            let why = format!("\"{word}\" is not a percentile: it is above p0 and below p100");
            return Err(Fault::hint(why, "write them as p99.95,p99.99"));
        };
        all.push(percent);
    }
    all.retain(|percent| !SHOWN_PERCENTILES.contains(percent));
    all.sort_by(f64::total_cmp);
    all.dedup();
    Ok(all)
}

fn regime(word: &str) -> Result<Regime, Fault> {
    let known = Regime::ALL.map(Regime::regime_word);
    let found = Regime::ALL.into_iter().find(|regime| regime.regime_word() == word);
    found.ok_or_else(|| Fault::unknown("regime", word, &known))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_in_order_and_without_those_that_are_shown_anyway() {
        assert_eq!(percentiles("p99.99, 99.95,p90,p99.90,p99.95").unwrap(), [90.0, 99.95, 99.99]);
        for wrong in ["p0", "100", "p", "", "p99.95,", "pNaN", "-5", "q99"] {
            let fault = percentiles(wrong).unwrap_err();
            assert!(fault.why.contains("is not a percentile"), "{wrong}: {}", fault.why);
        }
    }
}
