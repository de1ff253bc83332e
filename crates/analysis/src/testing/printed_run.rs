//! A run that measured exactly what somebody published, for tests of tables that print it again.

use super::*;

const ROUNDS: u32 = 12;

/// Returns a run of the scenario in which every stack reached its published figures in every round.
/// A figure that was not published in one unit follows from that in the other; of a bound, and of
/// what was not published, nothing is measured.
pub fn of_published(scenario: Scenario) -> RunData {
    let first: Vec<TwinStack> = Vec::new();
    let start = RunStart { scenario, ..start(1, &first) };
    let mut run = RunData { outcome: Some("complete".into()), ..RunData::begun(start) };
    let scenario = run.start.scenario.clone();
    for round in 0..ROUNDS {
        for load in &scenario.workloads {
            for (at, stack) in scenario.stacks.iter().enumerate() {
                let samples = samples_of(&scenario, load, &stack.name);
                let number = (at as u32, round);
                run.slices.extend(samples.map(|all| slice_of(load, &stack.name, number, all)));
            }
        }
    }
    run
}

fn slice_of(
    load: &Workload,
    stack: &str,
    (slice, round): (u32, u32),
    samples: Vec<SliceSample>,
) -> Slice {
    Slice {
        short_slices: 0,
        set: 0,
        visit: 0,
        round,
        slice,
        purpose: Purpose::Plain,
        other_cpu: None,
        state: None,
        rebuilt: None,
        host_cpu: None,
        stack: stack.to_owned(),
        workload: load.name.clone(),
        start_ns: u64::from(round) * 100_000_000_000 + u64::from(slice) * 1_100_000_000,
        clock_offset_ns: 0,
        window_ns: 1_000_000_000,
        discarded_ns: 0,
        discarded_ios: 0,
        drain_ns: 0,
        errors: 0,
        cpu: None,
        gate: None,
        device_read_bytes: None,
        targets: Vec::new(),
        late: None,
        run_again: 0,
        together: None,
        parts: Vec::new(),
        samples,
    }
}

/// Returns what one second of a load counts; `None` if nothing was published of it.
fn samples_of(scenario: &Scenario, load: &Workload, stack: &str) -> Option<Vec<SliceSample>> {
    let published = scenario.published.as_ref()?;
    let figure = |words: [&str; 2]| {
        let ours = |one: &&PublishedFigure| {
            let is_plain = !one.share && !one.is_bound();
            is_plain
                && (one.workload.as_str(), one.stack.as_str()) == (load.name.as_str(), stack)
                && words.contains(&one.metric.to_string().as_str())
        };
        published.figures.iter().find(ours).map(|one| one.value)
    };
    let job = load.jobs.first();
    let bs = job.map_or(4096.0, |job| job.bs as f64);
    let both = |ios: Option<f64>, bytes: Option<f64>| match (ios, bytes) {
        (Some(ios), bytes) => Some((ios, bytes.unwrap_or(ios * bs))),
        (None, bytes) => bytes.map(|bytes| (bytes / bs, bytes)),
    };
    let (reads, writes) = job.map_or((true, false), |job| (job.rw.reads(), job.rw.writes()));
    let whole = || {
        let (ios, bytes) = (["iops", "durable iops"], ["throughput", "durable throughput"]);
        both(figure(ios), figure(bytes))
    };
    let one_way = |way: &str| {
        let metrics = [format!("{way} iops"), format!("{way} throughput")];
        let [ios, bytes] = [0, 1].map(|at| figure([metrics[at].as_str(); 2]));
        both(ios, bytes)
    };
    let read_share = job.map_or(1.0, |job| f64::from(job.rwmixread) / 100.0);
    let part =
        |way, share: f64| one_way(way).or(whole().map(|(ios, bytes)| (share * ios, share * bytes)));
    let ways = match (reads, writes) {
        (true, true) => {
            vec![("read", part("read", read_share)?), ("write", part("write", 1.0 - read_share)?)]
        }
        (_, true) => vec![("write", whole()?)],
        _ => vec![("read", whole()?)],
    };
    let value = |metric: String, unit: &str, value| SliceSample {
        metric,
        unit: unit.into(),
        better: Better::Higher,
        value: SampleValue::Value(value),
    };
    let mut samples = Vec::new();
    for (way, (ios, bytes)) in ways {
        samples.push(value(format!("{way}.ios"), "1", ios));
        samples.push(value(format!("{way}.bytes"), "B", bytes));
    }
    samples.extend(writes.then(|| value("flush".into(), "ns", 0.0)));
    Some(samples)
}
