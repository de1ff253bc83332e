//! Stacks that ran at a limit: one that is set and recorded with the machine, or a token bucket that their own rounds show. Two that
//! run at one have the same rate whatever they cost, and one that does is compared with a setting, so there is no verdict.

use super::gather::{RoundTotal, Way};
use super::reading::WorkloadView;
use iotax_facts::limit::SetLimit;
use iotax_model::record::{Purpose, Slice, Value};
use iotax_stats::bucket::{Shape, find};
use iotax_stats::{Change, Concludes, Refusal, Verdict};
use iotax_units::{grouped, show_bytes};
use std::collections::BTreeMap;

/// Slices of each round; long rounds apart.
type Rounds<'a> = BTreeMap<(u32, bool), Vec<&'a Slice>>;

/// Within this share of a limit that is set a rate is at it.
const AT: f64 = 0.03;

/// The verdict on stack `pair[1]` against stack `pair[0]`, unless one of them ran at a limit. A verdict that is refused already has
/// its reason.
pub fn withheld(
    reading: &WorkloadView,
    pair: [usize; 2],
    verdict: Verdict,
    change: Option<Change>,
) -> Verdict {
    let refused = !matches!(verdict.reason(), None | Some(Refusal::TooWide { .. }));
    // What is offered at a rate says nothing of what could be reached.
    if refused || reading.has_schedule() {
        return verdict;
    }
    let found = [0, 1].into_iter().find_map(|which| {
        let limit = set(reading, pair[which]).or_else(|| shown(reading, pair[which]))?;
        Some(Refusal::AtLimit { of_baseline: which == 0, limit })
    });
    match (found, change) {
        (None, _) => verdict,
        (Some(reason), Some(change)) => Verdict::unresolved(change, reason),
        (Some(reason), None) => Verdict::refused(reason),
    }
}

/// A limit of the place of the load, or of this host, that the stack reached.
fn set(reading: &WorkloadView, at: usize) -> Option<String> {
    let rounds: Vec<&RoundTotal> = reading.sides[at].rounds.values().collect();
    let seconds: f64 = rounds.iter().map(|round| round.window_s).sum();
    let rate = |set: &SetLimit| -> f64 {
        let of = |way: Way, bytes: bool| -> f64 {
            let one = |round: &&RoundTotal| if bytes { round.of(way).bytes } else { round.of(way).ios };
            rounds.iter().map(one).sum::<f64>() / seconds
        };
        let ways = [(Way::Read, false), (Way::Write, true)];
        let counted = |bytes: bool| {
            let held = ways.iter().filter(|(_, writes)| set.of.holds_for(*writes, bytes));
            held.map(|(way, _)| of(*way, bytes)).sum::<f64>()
        };
        counted(false) + counted(true)
    };
    let host = reading.run.places.iter().filter(|known| known.place.is_host());
    let places = reading.place_of(at).into_iter().chain(host);
    let mut limits = places.flat_map(|place| &place.facts.limits);
    let met = limits.find(|set| (rate(set) / set.rate - 1.0).abs() <= AT)?;
    Some(format!("{met}; it reached {:.1} % of that", 100.0 * rate(met) / met.rate))
}

/// A token bucket in the rounds of the stack, or in those of all stacks together, which may lie on one drive. Points are the ends of
/// whole rounds, in the host's time: slices take turns within a round, which looks like a limiter's regularity.
fn shown(reading: &WorkloadView, at: usize) -> Option<String> {
    let name = reading.name(at);
    let bytes = reading.workload.writes();
    let counts = |slice: &&Slice| {
        slice.workload == reading.workload.name && matches!(slice.purpose, Purpose::Plain | Purpose::Long)
    };
    let mut visits: BTreeMap<(u32, u32), Rounds> = BTreeMap::new();
    for slice in reading.run.slices.iter().filter(counts) {
        let rounds = visits.entry((slice.visit, slice.set)).or_default();
        rounds.entry((slice.round, slice.purpose == Purpose::Long)).or_default().push(slice);
    }
    visits.values().find_map(|rounds| {
        let mut rounds: Vec<&Vec<&Slice>> = rounds.values().collect();
        rounds.sort_by_key(|slices| slices.iter().map(|slice| begin(slice)).min());
        let bucket = |course: &[(f64, f64)]| {
            let Ok(Shape::Bucket(found)) = find(course) else { return None };
            let words = |amount: f64| match bytes {
                true => show_bytes(amount.round() as u64),
                false => format!("{} I/Os", grouped(amount)),
            };
            Some(format!(
                "{} a second after a burst of {}",
                words(found.rate.value),
                words(found.burst.value)
            ))
        };
        let own = bucket(&course(&rounds, bytes, |slice| slice.stack == name));
        let all = bucket(&course(&rounds, bytes, |_| true));
        let shown = match (own, all) {
            (None, None) => return None,
            (Some(own), None) => format!("{own} in its own slices"),
            (None, Some(all)) => format!("{all} in all slices"),
            (Some(own), Some(all)) => format!("{own} in its own slices, {all} in all slices"),
        };
        Some(format!("the rounds show a token bucket, {shown}; the setting is not recorded"))
    })
}

/// What had come through at the end of each round, with what slices discard.
fn course(rounds: &[&Vec<&Slice>], bytes: bool, counts: impl Fn(&Slice) -> bool) -> Vec<(f64, f64)> {
    let start = rounds.iter().flat_map(|slices| slices.iter()).map(|slice| begin(slice)).min().unwrap_or(0);
    let mut amount = 0.0;
    let point = |slices: &&Vec<&Slice>| {
        amount += slices.iter().filter(|slice| counts(slice)).map(|slice| through(slice, bytes)).sum::<f64>();
        let end = slices.iter().map(|slice| slice.start_ns + slice.window_ns + slice.drain_ns).max();
        (end.unwrap_or(start).saturating_sub(start) as f64 / 1e9, amount)
    };
    rounds.iter().map(point).collect()
}

fn begin(slice: &Slice) -> u64 {
    slice.start_ns.saturating_sub(slice.discarded_ns)
}

fn through(slice: &Slice, bytes: bool) -> f64 {
    let sum = |unit: &str| -> f64 {
        let of = slice.samples.iter().filter(|sample| sample.metric.ends_with(unit));
        of.map(|sample| if let Value::Value(value) = sample.value { value } else { 0.0 }).sum()
    };
    let (ios, all_bytes) = (sum(".ios"), sum(".bytes"));
    let discarded = slice.discarded_ios as f64;
    match bytes {
        true if ios > 0.0 => all_bytes * (ios + discarded) / ios,
        true => all_bytes,
        false => ios + discarded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RunData, findings, twin};
    use iotax_facts::limit::Limited;
    use iotax_facts::machine::Facts;

    fn reason(run: &RunData) -> Option<Refusal> {
        findings(run).workloads[0].comparisons[0].rate.verdict.reason().cloned()
    }

    /// The same run on a machine with a limit on reads, of so much of the rate that the first stack reached.
    fn with_a_limit(share: f64) -> RunData {
        let mut run = twin::a_against_a();
        let (mut ios, mut seconds) = (0.0, 0.0);
        for slice in
            run.slices.iter().filter(|slice| slice.purpose == Purpose::Plain && slice.stack == "file")
        {
            let of = slice.samples.iter().find(|sample| sample.metric == "read.ios").unwrap();
            let Value::Value(value) = of.value else { panic!() };
            (ios, seconds) = (ios + value, seconds + slice.window_ns as f64 / 1e9);
        }
        let limit = SetLimit {
            of: Limited::ReadIos,
            rate: (share * ios / seconds).round(),
            burst: None,
            on: "sda".into(),
            set_in: "/sys/fs/cgroup/x/io.max".into(),
        };
        let place = run.places.iter_mut().find(|place| place.place.is_host()).expect("the host");
        place.facts = Facts { limits: vec![limit], ..place.facts.clone() };
        run
    }

    #[test]
    fn at_a_limit_that_is_set_there_is_no_verdict_and_its_place_is_named() {
        assert!(!matches!(reason(&twin::a_against_a()), Some(Refusal::AtLimit { .. })));
        assert!(!matches!(reason(&with_a_limit(1.2)), Some(Refusal::AtLimit { .. })), "it is far below it");
        let Some(Refusal::AtLimit { of_baseline: true, limit }) = reason(&with_a_limit(1.01)) else {
            panic!()
        };
        assert!(
            limit.starts_with("sda: ") && limit.contains("(/sys/fs/cgroup/x/io.max); it reached 9"),
            "{limit}"
        );
        let run = with_a_limit(1.0);
        let sentence = &findings(&run).workloads[0].comparisons[0].rate.sentence;
        assert!(sentence.contains("ran at a limit") && sentence.contains("lift the limit"), "{sentence}");
    }

    /// Rounds of two stacks behind one bucket of tokens for both: 20,000 I/Os a second until it is empty.
    fn behind_a_bucket(burst: f64, rate: f64) -> RunData {
        let mut run = twin::rate_limited();
        let (mut now, mut passed) = (0.0, 0.0);
        let begin_ns = run.slices[0].start_ns;
        let plain = |slice: &&mut Slice| matches!(slice.purpose, Purpose::Plain | Purpose::Long);
        let mut jitter: u32 = 1;
        for slice in run.slices.iter_mut().filter(plain) {
            let seconds = slice.window_ns as f64 / 1e9;
            jitter = jitter.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let could = 20_000.0 * seconds * (0.95 + 0.1 * f64::from(jitter >> 16) / 65536.0);
            let ios = f64::min(could, burst + rate * (now + seconds) - passed).floor().max(1.0);
            (slice.start_ns, slice.discarded_ns) = (begin_ns + (now * 1e9) as u64, 0);
            (slice.discarded_ios, slice.drain_ns) = (0, 0);
            (now, passed) = (now + seconds, passed + ios);
            for sample in &mut slice.samples {
                match sample.metric.as_str() {
                    "read.ios" => sample.value = Value::Value(ios),
                    "read.bytes" => sample.value = Value::Value(ios * 4096.0),
                    _ => {}
                }
            }
        }
        run
    }

    #[test]
    fn a_bucket_that_the_rounds_show_leaves_no_verdict() {
        let run = behind_a_bucket(20_000.0, 5_000.0);
        let found = reason(&run);
        assert!(matches!(found, Some(Refusal::AtLimit { .. } | Refusal::RateLimited { .. })), "{found:?}");
        let reading = crate::reading::WorkloadView::of(&run, &run.start.scenario.workloads[0]);
        let said = shown(&reading, 0).expect("a bucket");
        // Half of what both get together.
        assert!(said.contains("2,500 I/Os a second after a burst of "), "{said}");
        assert!(said.contains(" in its own slices, 5,000 I/Os a second after a burst of "), "{said}");
    }

    #[test]
    fn runs_without_a_limit_show_no_bucket() {
        for run in
            [twin::a_against_a(), twin::bill(), twin::writes(), twin::mixed(), twin::visits(), twin::guest()]
        {
            for workload in &run.start.scenario.workloads {
                let reading = crate::reading::WorkloadView::of(&run, workload);
                for at in 0..reading.sides.len() {
                    assert_eq!(shown(&reading, at), None, "{} {at}", workload.name);
                }
            }
        }
    }
}
