//! From a loaded run to what it found. Takes values and gives values: a partial run is read like a whole one
//! and says so; what is missing or failed keeps its reason.

pub mod against;
mod compare;
pub mod course;
pub mod findings;
mod gather;
pub mod knee;
mod lines;
mod reading;
mod rows;
pub mod run;
pub mod steady;
mod subject;
pub mod sweep;
#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) mod twin;

pub use findings::Findings;
pub use run::{HistogramSource, RunData};

use crate::stats::quantile;
use crate::stats::round::rounded_up;
use crate::stats::{Refusal, Verdict};
use compare::{Basis, Found, Paired, of_estimate};
use findings::{Comparison, Figure, PlaceReport, RunIdentity, WarningReport, WorkloadFindings};
use reading::Reading;
use subject::Quantity;

/// Everything that can be said about a run.
pub fn findings(run: &RunData) -> Findings {
    let readings: Vec<Reading> =
        run.start.scenario.workloads.iter().map(|workload| Reading::of(run, workload)).collect();
    let workloads: Vec<WorkloadFindings> = readings.iter().map(of_workload).collect();
    let (headline, no_headline) = match headline(&workloads) {
        Ok(sentence) => (Some(sentence), None),
        Err(reason) => (None, Some(reason)),
    };
    Findings {
        run: identity(run),
        headline,
        no_headline,
        emulated: emulated(run),
        not_excluded: not_excluded(&readings, &workloads),
        warnings: warnings(run, &readings),
        places: run.places.iter().map(place).collect(),
        sweeps: sweep::sweeps(&readings, &workloads),
        workloads,
    }
}

fn identity(run: &RunData) -> RunIdentity {
    let start = &run.start;
    RunIdentity {
        id: start.id.clone(),
        at: start.at.clone(),
        iotax: start.iotax.clone(),
        command: subject::shell_line(&start.argv),
        source: start.scenario.source.clone(),
        seed: start.scenario.measure.seed,
        zone: start.scenario.measure.equivalence,
        state: run.outcome.clone().unwrap_or_else(|| "unfinished".to_owned()),
        torn: run.torn,
    }
}

fn place(facts: &crate::store::record::PlaceFacts) -> PlaceReport {
    PlaceReport {
        place: facts.place.clone(),
        emulated: facts.emulated.clone(),
        // A value that can be stored can be printed; the error would be a failing Serialize of our own.
        facts: serde_json::to_value(&facts.facts).unwrap_or_else(|error| error.to_string().into()),
        commands: facts.commands.iter().map(|words| subject::shell_line(words)).collect(),
    }
}

fn emulated(run: &RunData) -> Vec<String> {
    let sentence = |place: &str, reason: &str| {
        format!("figures of {place} are emulated and not representative: {reason}")
    };
    run.places.iter().filter_map(|place| Some(sentence(&place.place, place.emulated.as_ref()?))).collect()
}

fn of_workload(reading: &Reading) -> WorkloadFindings {
    let scenario = &reading.run.start.scenario;
    let others = (0..scenario.stacks.len()).filter(|at| *at != scenario.baseline);
    let ended = reading.run.ends.iter().rfind(|(workload, _)| *workload == reading.workload.name);
    WorkloadFindings {
        name: reading.workload.name.clone(),
        subject: reading.workload.subject(),
        sweep: reading.workload.sweep.clone(),
        ended: ended.map(|(_, reason)| reason.clone()),
        writes: reading.writes.findings(),
        measured_s: reading.sides.iter().map(|side| side.load_s).sum(),
        rows: (0..scenario.stacks.len()).map(|at| rows::row(reading, at)).collect(),
        comparisons: others.flat_map(|at| comparisons(reading, at)).collect(),
        bill: (scenario.bill && scenario.stacks.len() > 1).then(|| lines::bill(reading)),
    }
}

/// A stack against the baseline: reads have one quantity, writes two.
fn comparisons(reading: &Reading, at: usize) -> Vec<Comparison> {
    let quantities: &[Quantity] = match reading.workload.writes() {
        true => &[Quantity::Acknowledged, Quantity::Durable],
        false => &[Quantity::Acknowledged],
    };
    quantities.iter().map(|which| comparison(reading, at, *which)).collect()
}

fn comparison(reading: &Reading, at: usize, which: Quantity) -> Comparison {
    let scenario = &reading.run.start.scenario;
    let base = scenario.baseline;
    let (a, b) = (&reading.sides[base], &reading.sides[at]);
    let paired = compare::pair(a, b);
    let found = match [base, at].into_iter().find(|at| reading.sides[*at].rounds.is_empty()) {
        Some(absent) => Found::Rounds(Err(not_measured(reading, absent))),
        None => Found::of(a, b, &paired, Basis { quantity: which, ..reading.basis() }),
    };
    let (stack, against) = (scenario.stacks[at].name.clone(), scenario.stacks[base].name.clone());
    let quantity = subject::quantity(reading.workload, which, scenario.measure.regime);
    let verdict = reading.writes.verdict(found.verdict(scenario.measure.equivalence), which, [base, at]);
    let emulated = reading.emulated_pair(base, at);
    let label = if emulated.is_some() { " (emulated: not representative)" } else { "" };
    Comparison {
        sentence: format!("{stack} against {against}: {}{label}", verdict.sentence(&quantity)),
        ratio: found.figure(),
        measured_s: a.load_s + b.load_s,
        latency_ratios: latency_ratios(reading, base, at, &paired),
        stack,
        against,
        quantity,
        verdict,
        emulated,
    }
}

fn not_measured(reading: &Reading, at: usize) -> Refusal {
    let name = &reading.run.start.scenario.stacks[at].name;
    let reason = match reading.absence(at) {
        Figure::Failed { reason } => format!("{name} failed: {reason}"),
        Figure::Missing { reason } => format!("{name}: {reason}"),
        Figure::Known { .. } => format!("{name} was not measured"),
    };
    Refusal::NotMeasured { reason }
}

fn latency_ratios(
    reading: &Reading,
    a: usize,
    b: usize,
    paired: &Paired,
) -> Vec<(&'static str, f64, Figure)> {
    let mut ratios = Vec::new();
    for (direction, writes) in [("read", false), ("write", true)] {
        let sides = [a, b].map(|at| latencies(reading, at, paired, writes));
        if sides.iter().all(|side| side.count() > 0) {
            ratios.extend(
                [0.5, 0.99, 0.999]
                    .map(|q| (direction, q, of_estimate(quantile::of_ratio(&sides[0], &sides[1], q), "1"))),
            );
        }
    }
    ratios
}

/// All latencies of a side, or those of the paired rounds where the sides differ.
fn latencies(reading: &Reading, at: usize, paired: &Paired, writes: bool) -> quantile::Batches {
    let side = &reading.sides[at];
    match paired {
        Paired::Rounds(ids) if ids.len() != side.rounds.len() => side.latencies_of(reading.run, ids, writes),
        _ if writes => side.write.clone(),
        _ => side.read.clone(),
    }
}

/// The one sentence, or why there is none. Emulated comparisons never make one; "no difference" does not
/// either, since a ceiling that both share would look the same.
fn headline(workloads: &[WorkloadFindings]) -> Result<String, String> {
    let all: Vec<&Comparison> = workloads.iter().flat_map(|workload| &workload.comparisons).collect();
    let real: Vec<&Comparison> = all.iter().copied().filter(|one| one.emulated.is_none()).collect();
    let largest =
        real.iter().filter_map(|one| Some((effect(&one.verdict)?, *one))).max_by(|a, b| a.0.total_cmp(&b.0));
    match largest {
        Some((_, one)) if real.len() == 1 => Ok(one.sentence.clone()),
        Some((_, one)) => Ok(format!("{} (the largest of {} comparisons)", one.sentence, real.len())),
        None if all.is_empty() => Err("one stack only: nothing to compare".into()),
        None if real.is_empty() => Err("figures are emulated and not representative".into()),
        None if real.iter().any(|one| one.verdict.is_resolved()) => {
            Err("no difference was found, and a ceiling that both share would look the same".into())
        }
        None => Err("nothing is resolved".into()),
    }
}

/// Size of a resolved difference, as a logarithm so that costs and gains compare.
fn effect(verdict: &Verdict) -> Option<f64> {
    match verdict {
        Verdict::Costs { cost, .. } => Some((1.0 - cost).max(f64::MIN_POSITIVE).ln().abs()),
        Verdict::Gains { gain, .. } => Some((1.0 + gain).ln()),
        _ => None,
    }
}

fn not_excluded(readings: &[Reading], workloads: &[WorkloadFindings]) -> Vec<String> {
    let sweep = |reading: &Reading| reading.workload.sweep.as_ref().map(|sweep| sweep.sweep.clone());
    let groups = readings.chunk_by(|a, b| sweep(a).is_some() && sweep(a) == sweep(b));
    let mut lines: Vec<String> = groups.filter_map(stalls).collect();
    let comparisons: Vec<&Comparison> = workloads.iter().flat_map(|workload| &workload.comparisons).collect();
    if comparisons.iter().any(|one| matches!(one.ratio, Figure::Known { of: "rounds", .. })) {
        lines.push("another set-up: the figures hold for this attach, placement and boot only".into());
    }
    if comparisons.iter().any(|one| one.ratio.value().is_some()) {
        lines.push(
            "a ceiling that stacks share (link, drive, generator): it hides a cost in throughput, not in CPU time".into(),
        );
    }
    if comparisons.len() > 1 {
        lines.push(format!(
            "chance over all {} comparisons together: each interval holds by itself in 95 of 100 runs",
            comparisons.len()
        ));
    }
    lines.extend(steady::not_excluded(readings));
    lines
}

/// Of one workload, or of all points of a sweep together.
fn stalls(readings: &[Reading]) -> Option<String> {
    let sides = readings.iter().flat_map(|reading| &reading.sides);
    let shortest = sides.map(|side| side.load_s).filter(|seconds| *seconds > 0.0);
    let every = rounded_up(shortest.min_by(f64::total_cmp)? / 3.0, 1);
    let workload = readings.first()?.workload;
    let name = workload.sweep.as_ref().map_or(&workload.name, |sweep| &sweep.sweep);
    Some(format!("{name}: stalls of a stack that are rarer than one in {every} s"))
}

fn warnings(run: &RunData, readings: &[Reading]) -> Vec<WarningReport> {
    let recorded = run.warnings.iter().map(|warning| WarningReport {
        kind: warning.kind.clone(),
        subject: warning.subject.clone(),
        text: warning.text.clone(),
    });
    let notes = run.start.scenario.notes.iter().map(|note| warning("note", "", note.clone()));
    let mut all: Vec<WarningReport> = notes.chain(recorded).collect();
    if run.outcome.is_none() {
        all.push(warning(
            "unfinished",
            &run.start.id,
            "the run is still going or was killed; figures are of what it recorded".into(),
        ));
    }
    if run.torn > 0 {
        all.push(warning(
            "torn_frames",
            &run.start.id,
            format!(
                "absent because torn: {}",
                counted(run.torn, "frame of the record", "frames of the record")
            ),
        ));
    }
    let found: Vec<WarningReport> =
        readings.iter().flat_map(|reading| found_warnings(reading, &all)).collect();
    all.extend(found);
    all
}

fn warning(kind: &str, subject: &str, text: String) -> WarningReport {
    WarningReport { kind: kind.into(), subject: subject.into(), text }
}

/// `1 slice`, `2 slices`.
fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// What only shows when the slices are read.
fn found_warnings(reading: &Reading, known: &[WarningReport]) -> Vec<WarningReport> {
    let name = &reading.workload.name;
    let mut found = reading.writes.warnings(name);
    if reading.unknown > 0 {
        found.push(warning(
            "unknown_stack",
            name,
            format!(
                "of stacks that the scenario does not name: {}",
                counted(reading.unknown, "slice", "slices")
            ),
        ));
    }
    for (stack, side) in reading.run.start.scenario.stacks.iter().zip(&reading.sides) {
        let mut add = |kind: &str, text: String| found.push(warning(kind, &stack.name, text));
        if side.dropped > 0 {
            add(
                "partial_rounds",
                format!("{name}: not whole and not counted: {}", counted(side.dropped, "round", "rounds")),
            );
        }
        if side.torn > 0 {
            add(
                "torn_histograms",
                format!(
                    "{name}: absent because torn: {}; percentiles are of the others",
                    counted(side.torn, "histogram", "histograms")
                ),
            );
        }
        let told = known.iter().any(|one| one.kind == "io_errors" && one.subject == stack.name);
        if side.errors > 0 && !told {
            add(
                "io_errors",
                format!("{name}: failed or came back short: {}", counted(side.errors, "I/O", "I/Os")),
            );
        }
        if side.debt.gave_up > 0
            && !known.iter().any(|one| one.kind == "gate_gave_up" && one.subject == stack.name)
        {
            add(
                "gate_gave_up",
                format!(
                    "{name}: earlier writes were still being paid for before {}",
                    counted(side.debt.gave_up, "slice", "slices")
                ),
            );
        }
    }
    found
}
