//! Stacks that ran at a limit: one that is set and recorded with the machine, a quota of CPU time
//! that held their threads back, or a token bucket that their own rounds show. Two stacks at one
//! limit have the same rate whatever they cost; a single stack at a limit is compared with a
//! setting. Neither gets a verdict.

use crate::gather::reading::WorkloadView;
use crate::gather::rounds::{IoDirection, RoundTotal};
use iotax_facts::limit::{LimitUnit, SetLimit};
use iotax_model::record::{ON_WIRE, Purpose, SampleValue, Slice};
use iotax_probe::ProbeUnit;
use iotax_stats::bucket::{CourseShape, find_bucket};
use iotax_stats::{Concludes, RatioChange, Refusal, Verdict};
use iotax_units::{count_noun, grouped, show_bytes, show_ns};
use std::collections::BTreeMap;

/// Slices of each round, by its number and by whether its slices are long.
type RoundsOfLimit<'a> = BTreeMap<(u32, bool), Vec<&'a Slice>>;

/// Fraction around a set limit within which a rate is at the limit.
const AT: f64 = 0.03;

/// Fraction below a limit on what an end of a network sends within which what arrives is at the
/// limit: what TCP sends again counts against the limit, and does not arrive.
const BELOW_SENT: f64 = 0.06;

/// Returns the verdict on stack `pair[1]` against stack `pair[0]`, or a refusal with `change` if
/// one of them ran at a limit. A verdict that is refused for another reason than noise keeps that
/// reason.
pub fn withheld_at_limit(
    reading: &WorkloadView,
    pair: [usize; 2],
    verdict: Verdict,
    change: Option<RatioChange>,
) -> Verdict {
    // A limit makes intervals wide and noise persistent.
    let by_noise =
        |reason| matches!(reason, &Refusal::TooWide { .. } | &Refusal::DependentBatches { .. });
    let refused = verdict.reason().is_some_and(|reason| !by_noise(reason));
    // A load at an offered rate does not show what could be reached.
    if refused || reading.has_schedule() {
        return verdict;
    }
    let [base, stack] = pair.map(|at| {
        let set = || set_limit_reached(reading, at).or_else(|| network(reading, at));
        processors(reading, at).or_else(set).or_else(|| detect_token_bucket(reading, at))
    });
    let (of_baseline, also) = (base.is_some(), base.is_some() && stack.is_some());
    let also = if also { "; the stack ran at a limit too" } else { "" };
    let found = base.or(stack).map(|limit| Refusal::AtLimit { of_baseline, limit: limit + also });
    match (found, change) {
        (None, _) => verdict,
        (Some(reason), Some(change)) => Verdict::unresolved(change, reason),
        (Some(reason), None) => Verdict::from_refusal(reason),
    }
}

/// Returns the limits that are set where stack `at` is loaded, and on this host.
fn recorded<'a>(reading: &WorkloadView<'a>, at: usize) -> impl Iterator<Item = &'a SetLimit> {
    let host = reading.run.places.iter().filter(|known| known.place.is_host());
    reading.place_of(at).into_iter().chain(host).flat_map(|place| &place.facts.limits)
}

/// Describes the quota of CPU time that held threads back for a larger share of the time than the
/// equivalence zone or, for a probe, the allowed processors that are fewer than its threads. `None`
/// if there is neither.
fn processors(reading: &WorkloadView, at: usize) -> Option<String> {
    let rounds = reading.sides[at].rounds.values();
    let (held_s, seconds) = rounds.fold((0.0, 0.0), |(held_s, seconds), round| {
        (held_s + round.throttled_s, seconds + round.window_s + round.discarded_s)
    });
    if held_s > reading.zone() * seconds {
        let quotas = recorded(reading, at).filter(|set| set.of == LimitUnit::Processors);
        let least = quotas.min_by(|a, b| a.rate.total_cmp(&b.rate));
        let named = least.map_or_else(|| "a quota of CPU time".to_owned(), ToString::to_string);
        let many = count_noun(reading.sides[at].rounds.len() as u64, "round", "rounds");
        return Some(format!(
            "{named}; it held threads back for {} in {many}",
            show_ns(held_s * 1e9)
        ));
    }
    let threads = reading.threads_of_probe()?;
    let few = recorded(reading, at)
        .find(|set| set.of == LimitUnit::Allowed && f64::from(threads) > set.rate)?;
    Some(format!("{few}; {threads} threads share them"))
}

/// Describes the limit, set where the stack is loaded or on this host, that its rate reached.
fn set_limit_reached(reading: &WorkloadView, at: usize) -> Option<String> {
    // A probe's units are no I/Os.
    if reading.workload.probe.is_some() {
        return None;
    }
    let rounds: Vec<&RoundTotal> = reading.sides[at].rounds.values().collect();
    let seconds: f64 = rounds.iter().map(|round| round.window_s).sum();
    let rate = |set: &SetLimit| -> f64 {
        let of = |way: IoDirection, bytes: bool| -> f64 {
            let one = |round: &&RoundTotal| {
                if bytes {
                    round.direction_total(way).bytes
                } else {
                    round.direction_total(way).ios
                }
            };
            rounds.iter().map(one).sum::<f64>() / seconds
        };
        let ways = [(IoDirection::Read, false), (IoDirection::Write, true)];
        let counted = |bytes: bool| {
            let held = ways.iter().filter(|(_, writes)| set.of.holds_for(*writes, bytes));
            held.map(|(way, _)| of(*way, bytes)).sum::<f64>()
        };
        counted(false) + counted(true)
    };
    let met = recorded(reading, at).find(|set| (rate(set) / set.rate - 1.0).abs() <= AT)?;
    Some(of_it(met, rate(met)))
}

fn of_it(set: &SetLimit, rate: f64) -> String {
    format!("{set}; it reached {:.1} % of that", 100.0 * rate / set.rate)
}

/// Describes the limit on what an end of a network sends that the probe's load reached, headers
/// included.
fn network(reading: &WorkloadView, at: usize) -> Option<String> {
    let run = reading.run;
    let far_end = run.start.scenario.stacks[at].medium.far_end()?;
    let far = run.places.iter().rfind(|known| known.place == *far_end);
    let on_wire = reading.slices(at).find_map(|slice| slice.figure(ON_WIRE))?;
    let rounds = || reading.sides[at].rounds.values();
    let seconds: f64 = rounds().map(|round| round.window_s).sum();
    [(reading.place_of(at), IoDirection::Write), (far, IoDirection::Read)].into_iter().find_map(
        |(place, way)| {
            let rate = rounds().map(|round| round.direction_total(way).bytes).sum::<f64>()
                * on_wire
                / seconds;
            let mut sent = place?.facts.limits.iter().filter(|set| set.of == LimitUnit::Sent);
            let met = sent.find(|set| (-BELOW_SENT..=AT).contains(&(rate / set.rate - 1.0)))?;
            Some(of_it(met, rate))
        },
    )
}

/// Describes the token bucket that the rounds of the stack show, or those of all stacks together,
/// which may be on one drive. A point is the end of a round, in the host's time: the turns of
/// slices within a round would look like a limiter's regularity.
fn detect_token_bucket(reading: &WorkloadView, at: usize) -> Option<String> {
    let name = reading.name(at);
    let unit = reading.workload.probe_unit();
    let bytes = reading.workload.writes() || unit == Some(ProbeUnit::Bytes);
    let named = match unit {
        Some(ProbeUnit::Count(name)) => name,
        Some(ProbeUnit::Bytes) | None => "I/Os",
        // A probe that measures times runs one after the other, whatever each takes.
        Some(ProbeUnit::Time(_)) => return None,
    };
    let counts = |slice: &&Slice| {
        slice.workload == reading.workload.name
            && matches!(slice.purpose, Purpose::Plain | Purpose::Long)
    };
    let mut visits: BTreeMap<(u32, u32), RoundsOfLimit> = BTreeMap::new();
    for slice in reading.run.slices.iter().filter(counts) {
        let rounds = visits.entry((slice.visit, slice.set)).or_default();
        rounds.entry((slice.round, slice.purpose == Purpose::Long)).or_default().push(slice);
    }
    visits.values().find_map(|rounds| {
        let mut rounds: Vec<&Vec<&Slice>> = rounds.values().collect();
        rounds.sort_by_key(|slices| slices.iter().map(|slice| begin(slice)).min());
        let bucket = |course: &[(f64, f64)]| {
            let Ok(CourseShape::Bucket(found)) = find_bucket(course) else { return None };
            let words = |amount: f64| match bytes {
                true => show_bytes(amount.round() as u64),
                false => format!("{} {named}", grouped(amount)),
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

/// Returns, for the end of each round, the seconds since the first slice began, and the I/Os or
/// `bytes` until then of the slices that count, with what they discard.
fn course(
    rounds: &[&Vec<&Slice>],
    bytes: bool,
    counts: impl Fn(&Slice) -> bool,
) -> Vec<(f64, f64)> {
    let start =
        rounds.iter().flat_map(|slices| slices.iter()).map(|slice| begin(slice)).min().unwrap_or(0);
    let mut amount = 0.0;
    let point = |slices: &&Vec<&Slice>| {
        amount += slices
            .iter()
            .filter(|slice| counts(slice))
            .map(|slice| through(slice, bytes))
            .sum::<f64>();
        let end =
            slices.iter().map(|slice| slice.start_ns + slice.window_ns + slice.drain_ns).max();
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
        of.map(|sample| if let SampleValue::Value(value) = sample.value { value } else { 0.0 })
            .sum()
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
    use iotax_facts::limit::LimitUnit;
    use iotax_facts::machine::Facts;

    fn reason(run: &RunData) -> Option<Refusal> {
        findings(run).workloads[0].comparisons[0].rate.verdict.reason().cloned()
    }

    /// Returns the run on a machine with a limit on reads: this share of the rate that the first
    /// stack reached.
    fn with_a_limit(share: f64) -> RunData {
        let mut run = twin::a_against_a();
        let (mut ios, mut seconds) = (0.0, 0.0);
        for slice in run
            .slices
            .iter()
            .filter(|slice| slice.purpose == Purpose::Plain && slice.stack == "file")
        {
            let of = slice.samples.iter().find(|sample| sample.metric == "read.ios").unwrap();
            let SampleValue::Value(value) = of.value else { panic!() };
            (ios, seconds) = (ios + value, seconds + slice.window_ns as f64 / 1e9);
        }
        let limit = SetLimit {
            of: LimitUnit::ReadIos,
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
        assert!(
            !matches!(reason(&with_a_limit(1.2)), Some(Refusal::AtLimit { .. })),
            "it is far below it"
        );
        let Some(Refusal::AtLimit { of_baseline: true, limit }) = reason(&with_a_limit(1.01))
        else {
            panic!()
        };
        assert!(
            limit.starts_with("sda: ") && limit.contains("(/sys/fs/cgroup/x/io.max); it reached 9"),
            "{limit}"
        );
        let run = with_a_limit(1.0);
        let sentence = &findings(&run).workloads[0].comparisons[0].rate.sentence;
        assert!(
            sentence.contains("ran at a limit") && sentence.contains("lift the limit"),
            "{sentence}"
        );
    }

    fn on_processors(of: LimitUnit, rate: f64, throttled_ns: u64) -> RunData {
        held_back(twin::a_against_a(), of, rate, throttled_ns)
    }

    /// All stacks but the first, which is called file.
    fn held_back(mut run: RunData, of: LimitUnit, rate: f64, throttled_ns: u64) -> RunData {
        let set_in = "/sys/fs/cgroup/x/cpu.max".into();
        let limit = SetLimit { of, rate, burst: None, on: "cpu".into(), set_in };
        let place = run.places.iter_mut().find(|place| place.place.is_host()).expect("the host");
        place.facts = Facts { limits: vec![limit], ..place.facts.clone() };
        for slice in run.slices.iter_mut().filter(|slice| slice.stack != "file") {
            slice.cpu.as_mut().expect("its CPU times").throttled_ns = throttled_ns;
        }
        run
    }

    #[test]
    fn a_quota_that_held_one_side_back_leaves_no_verdict_and_its_file_is_named() {
        let limit = match reason(&on_processors(LimitUnit::Processors, 0.9, 10_000_000)) {
            Some(Refusal::AtLimit { of_baseline: false, limit }) => limit,
            other => panic!("{other:?}"),
        };
        assert!(
            limit.starts_with("cpu: 0.9 processors (/sys/fs/cgroup/x/cpu.max); it held"),
            "{limit}"
        );
        let of_two = held_back(twin::faster(), LimitUnit::Processors, 0.9, 10_000_000);
        let headline = findings(&of_two).no_headline.unwrap();
        assert!(
            headline.starts_with("a limit hides the cost of ") && headline.contains(": cpu: 0.9"),
            "{headline}"
        );
        let below = reason(&on_processors(LimitUnit::Processors, 0.9, 10_000));
        assert!(
            !matches!(below, Some(Refusal::AtLimit { .. })),
            "one thousandth of the time: {below:?}"
        );
    }

    #[test]
    fn a_probe_with_more_threads_than_processors_has_no_verdict() {
        let mut run = on_processors(LimitUnit::Allowed, 2.0, 0);
        let with = |run: &mut RunData, text: &str, numjobs| {
            let probe = iotax_probe::ProbeSpec::parse(text).unwrap();
            run.start.scenario.workloads[0].probe =
                Some(iotax_probe::ProbeSpec { numjobs, ..probe });
            reason(run)
        };
        let Some(Refusal::AtLimit { of_baseline: true, limit }) = with(&mut run, "integer", 3)
        else {
            panic!()
        };
        assert!(
            limit.contains("2 processors allowed") && limit.contains("3 threads share them"),
            "{limit}"
        );
        assert!(limit.ends_with("the stack ran at a limit too"), "{limit}");
        for (text, numjobs) in [("integer", 2), ("tcp", 9)] {
            let found = with(&mut run, text, numjobs);
            assert!(!matches!(found, Some(Refusal::AtLimit { .. })), "{text} {numjobs}: {found:?}");
        }
    }

    /// Content that is received at the rate of the first stack's reads; at one end a limit of
    /// `share` of what that is on the wire.
    fn over_a_network(end: usize, share: f64) -> RunData {
        let mut run = twin::a_against_a();
        let to = iotax_model::record::Place::Ssh("b".into());
        let far = iotax_model::record::PlaceFacts { place: to.clone(), ..run.places[0].clone() };
        run.places.push(far);
        let net =
            iotax_model::stack::Medium::Net { place: "host".into(), to, address: None, port: None };
        run.start.scenario.stacks.iter_mut().for_each(|stack| stack.medium = net.clone());
        let probe = iotax_probe::ProbeSpec::parse("tcp(receive)").unwrap();
        run.start.scenario.workloads[0].probe = Some(probe);
        let counts = |slice: &&Slice| slice.purpose == Purpose::Plain && slice.stack == "file";
        let (bytes, ns) = run.slices.iter().filter(counts).fold((0.0, 0), |(bytes, ns), slice| {
            (bytes + slice.figure("read.bytes").unwrap(), ns + slice.window_ns)
        });
        let like = run.slices[0].samples[0].clone();
        for slice in &mut run.slices {
            let value = SampleValue::Value(1.0456);
            slice.samples.push(iotax_model::record::SliceSample {
                metric: ON_WIRE.into(),
                value,
                ..like.clone()
            });
        }
        let rate = share * 1.0456 * bytes / (ns as f64 / 1e9);
        let tbf = SetLimit {
            of: LimitUnit::Sent,
            rate,
            burst: None,
            on: "eth0".into(),
            set_in: "tbf".into(),
        };
        run.places[end].facts.limits = vec![tbf];
        run
    }

    #[test]
    fn a_network_at_what_tc_sets_at_the_end_that_sends_has_no_verdict() {
        let Some(Refusal::AtLimit { limit, .. }) = reason(&over_a_network(1, 1.05)) else {
            panic!()
        };
        assert!(
            limit.starts_with("eth0: ") && limit.contains("sent a second (tbf); it reached 95.2"),
            "{limit}"
        );
        let near = reason(&over_a_network(0, 1.05));
        assert!(!matches!(near, Some(Refusal::AtLimit { .. })), "nothing is sent there: {near:?}");
        let below = reason(&over_a_network(1, 1.08));
        assert!(!matches!(below, Some(Refusal::AtLimit { .. })), "{below:?}");
    }

    /// Rounds of two stacks after one bucket of tokens for both: 20,000 I/Os a second until it is
    /// empty.
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
                    "read.ios" => sample.value = SampleValue::Value(ios),
                    "read.bytes" => sample.value = SampleValue::Value(ios * 4096.0),
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
        assert!(
            matches!(found, Some(Refusal::AtLimit { .. } | Refusal::RateLimited { .. })),
            "{found:?}"
        );
        let reading =
            crate::gather::reading::WorkloadView::from_run(&run, &run.start.scenario.workloads[0]);
        let said = detect_token_bucket(&reading, 0).expect("a bucket");
        // Half of what both get together.
        assert!(said.contains("2,500 I/Os a second after a burst of "), "{said}");
        assert!(
            said.contains(" in its own slices, 5,000 I/Os a second after a burst of "),
            "{said}"
        );
    }

    #[test]
    fn runs_without_a_limit_show_no_bucket() {
        for run in [
            twin::a_against_a(),
            twin::bill(),
            twin::writes(),
            twin::mixed(),
            twin::visits(),
            twin::guest(),
        ] {
            for workload in &run.start.scenario.workloads {
                let reading = crate::gather::reading::WorkloadView::from_run(&run, workload);
                for at in 0..reading.sides.len() {
                    assert_eq!(detect_token_bucket(&reading, at), None, "{} {at}", workload.name);
                }
            }
        }
    }
}
