//! From a loaded run to what it found. Takes values and gives values: a partial run is read like a whole one
//! and says so; what is missing or failed keeps its reason.

pub mod against;
mod arc;
mod baseline;
mod ceiling;
mod charges;
mod compare;
mod confounders;
mod course;
mod crowd;
mod doubts;
pub mod durability;
mod efficiency;
pub mod findings;
mod found_data;
mod gather;
mod generator;
mod headline;
mod imported;
mod knee;
mod layers;
mod limits;
mod lines;
mod neighbours;
pub mod precondition;
mod published;
mod ratios;
mod reading;
mod rebuild;
mod resized;
mod rows;
mod states;
mod steady;
mod subject;
mod sweep;
#[cfg(test)]
mod tests;
mod timeline;
#[cfg(test)]
pub(crate) mod twin;
mod verdicts;
mod verification;
mod warnings;

pub use crate::store::RunData;
pub use findings::Findings;

use crate::scenario::MeasureSpec;
use crate::shell;
use crate::stats::alike;
use crate::store::record::state::RunState;
use crate::units::show_names;
use compare::Estimated;
use findings::{Charges, Comparison, PlaceReport, RunIdentity, WorkloadFindings};
use reading::Reading;

/// A name with the mark of what is emulated; the banner says once why.
fn marked(name: &str, emulated: bool) -> String {
    format!("{name}{}", if emulated { " ~" } else { "" })
}

/// Whom a sentence of a comparison is about.
pub fn who(stack: &str, against: &str, emulated: bool) -> String {
    marked(&format!("{stack} against {against}"), emulated)
}

/// Everything that can be said about a run.
pub fn findings(run: &RunData) -> Findings {
    let readings: Vec<Reading> =
        run.start.scenario.workloads.iter().map(|workload| Reading::of(run, workload)).collect();
    let mut workloads = Vec::new();
    let mut behind = Vec::new();
    for reading in &readings {
        let (found, estimates) = of_workload(reading);
        workloads.push(found);
        behind.push(estimates);
    }
    settle(&run.start.scenario.measure, &mut workloads, behind);
    for (at, workload) in workloads.iter_mut().enumerate() {
        workload.efficiency = efficiency::of(&readings, at, &workload.rows);
    }
    let durability = durability::durability(run);
    let compared = headline::headline(&workloads);
    let said = match &durability {
        Some(found) => durability::headline(found),
        None => compared.as_ref().map(|one| one.sentence.clone()).map_err(Clone::clone),
    };
    let verification = verification::verification(run);
    let imported = imported::imported(run);
    let said = match &imported {
        Some(found) => Err(imported::no_headline(found)),
        None => said,
    };
    let (headline, no_headline) = match (said, verification.as_ref().and_then(|found| found.alarm())) {
        // What a stack costs that gives back something else comes second.
        (Ok(sentence), Some(alarm)) => (Some(format!("{alarm}. {sentence}")), None),
        (Err(_), Some(alarm)) => (Some(alarm), None),
        (Ok(sentence), None) => (Some(sentence), None),
        (Err(reason), None) => (None, Some(reason)),
    };
    Findings {
        run: identity(run),
        headline,
        no_headline,
        headline_of: compared.ok().map(|one| (one.stack, one.quantity)),
        ruler: headline::ruler(&workloads),
        emulated: emulated(run),
        not_excluded: match (&durability, &imported) {
            (Some(found), _) => durability::not_shown(run, found),
            (_, Some(found)) => imported::not_excluded(found),
            _ => limits::not_excluded(&readings, &workloads),
        },
        imported,
        durability,
        verification,
        warnings: warnings::warnings(run, &readings, &workloads),
        joint_bills: lines::joint(&run.start.scenario.workloads, &workloads),
        apart: run.apart.clone(),
        preconditioned: precondition::reports(run),
        places: run.places.iter().map(place).collect(),
        layers: layers::layers(run),
        sweeps: sweep::sweeps(&readings, &workloads),
        published: published::published(run, &readings, &workloads),
        tables: ratios::tables(run, &readings, &workloads),
        workloads,
    }
}

fn identity(run: &RunData) -> RunIdentity {
    let start = &run.start;
    RunIdentity {
        id: start.id.clone(),
        name: start.scenario.name.clone(),
        at: start.at.clone(),
        iotax: start.iotax.clone(),
        command: shell::line(&start.argv),
        source: start.scenario.source.clone(),
        seed: start.scenario.measure.seed,
        zone: start.scenario.measure.equivalence,
        state: run.state().word(),
        failure: run.outcome.clone().filter(|_| run.state() == RunState::Failed),
        torn: run.torn,
        imported: start.imported.is_some(),
    }
}

fn place(facts: &crate::store::record::PlaceFacts) -> PlaceReport {
    PlaceReport {
        place: facts.place.clone(),
        emulated: facts.emulated.clone(),
        // A value that can be stored can be printed; the error would be a failing Serialize of our own.
        facts: serde_json::to_value(&facts.facts).unwrap_or_else(|error| error.to_string().into()),
        commands: facts.commands.iter().map(shell::line).collect(),
        disks: facts.disks.clone(),
    }
}

fn emulated(run: &RunData) -> Vec<String> {
    // Every visit has guests of its own, of the same names.
    let found: Vec<(&str, &str)> = run
        .places
        .iter()
        .filter_map(|place| Some((place.place.as_str(), place.emulated.as_deref()?)))
        .collect();
    let reasons: Vec<&str> = found.iter().map(|(_, reason)| *reason).collect();
    let sentence = |group: Vec<usize>| {
        let mut places: Vec<&str> = Vec::new();
        group.iter().for_each(|at| {
            if !places.contains(&found[*at].0) {
                places.push(found[*at].0);
            }
        });
        let reason = alike::merged(&group.iter().map(|at| reasons[*at]).collect::<Vec<_>>());
        let places = show_names(places);
        // As it is recorded, with what it says of all of them.
        match reason.strip_prefix("emulated: ") {
            Some(why) => format!("figures of {places} are {why}"),
            None => format!("figures of {places} are emulated and not representative: {reason}"),
        }
    };
    alike::grouped(&reasons).into_iter().map(sentence).collect()
}

/// The estimates behind what was found of a workload; `None` where there was nothing to estimate. Those of states against
/// the healthy one follow those of stacks against the baseline.
#[derive(Default)]
struct Behind {
    comparisons: Vec<Option<Estimated>>,
    bill_lines: Vec<Option<Estimated>>,
    latency: Vec<Option<Estimated>>,
    cpu: Vec<Option<Estimated>>,
}

/// Holds the verdicts of all workloads against each other, figure by figure.
fn settle(measure: &MeasureSpec, workloads: &mut [WorkloadFindings], behind: Vec<Behind>) {
    let (mut comparisons, mut lines) = (Vec::new(), Vec::new());
    let (mut latency, mut cpu) = (Vec::new(), Vec::new());
    for one in behind {
        comparisons.push(one.comparisons);
        lines.push(one.bill_lines);
        latency.extend(one.latency);
        cpu.extend(one.cpu);
    }
    verdicts::settle(measure, workloads, &comparisons, &lines);
    verdicts::settle_charges(workloads, &latency, |charges| &mut charges.latency);
    verdicts::settle_charges(workloads, &cpu, |charges| &mut charges.cpu);
    workloads.iter_mut().flat_map(|workload| &mut workload.arrays).for_each(states::reword);
}

fn of_workload(reading: &Reading) -> (WorkloadFindings, Behind) {
    let scenario = &reading.run.start.scenario;
    let others = || (0..scenario.stacks.len()).filter(|at| *at != scenario.baseline);
    let ended = reading.run.ends.iter().rfind(|(workload, _)| *workload == reading.workload.name);
    let mut judged = Judged::default();
    others().for_each(|at| judged.add(reading, [scenario.baseline, at]));
    let Judged { comparisons, charges, mut behind } = judged;
    let arrays = states::of(reading, &mut behind);
    let bill = (scenario.bill && scenario.stacks.len() > 1).then(|| lines::bill(reading));
    let bill = bill.map(|(bill, lines)| {
        behind.bill_lines = lines;
        bill
    });
    let found = WorkloadFindings {
        name: reading.workload.name.clone(),
        subject: reading.workload.subject(),
        rate_unit: subject::rate_unit(reading.workload),
        sweep: reading.workload.sweep.clone(),
        ended: ended.map(|(_, reason)| reason.clone()),
        writes: reading.writes.findings(),
        design: baseline::design(reading),
        reached_bytes: reading.reached().map(|(least, _)| least),
        most_reached_bytes: reading.reached().filter(|(least, most)| most > least).map(|(_, most)| most),
        measured_s: reading.sides.iter().map(|side| side.load_s).sum(),
        rows: (0..scenario.stacks.len()).map(|at| rows::row(reading, at)).collect(),
        on_baseline: generator::on_baseline(reading, &comparisons),
        comparisons,
        charges,
        arrays,
        matched: charges::matched(reading),
        beside: baseline::beside(reading),
        crowds: crowd::crowds(reading),
        efficiency: Vec::new(),
        bill,
    };
    (found, behind)
}

/// The three figures of pairs of stacks, with the estimates behind them.
#[derive(Default)]
struct Judged {
    comparisons: Vec<Comparison>,
    charges: Vec<Charges>,
    behind: Behind,
}

impl Behind {
    fn add(&mut self, more: Behind) {
        self.comparisons.extend(more.comparisons);
        self.bill_lines.extend(more.bill_lines);
        self.latency.extend(more.latency);
        self.cpu.extend(more.cpu);
    }
}

impl Judged {
    /// The second of a pair against the first.
    fn add(&mut self, reading: &Reading, pair: [usize; 2]) {
        // A ruler is no member of the families that verdicts are held against.
        let judged = reading.run.start.scenario.ruler() != Some(pair[1]);
        let compared = verdicts::of_pair(reading, pair);
        // The first is the acknowledged figure, whose slices the CPU times are of.
        let throughput = compared.first().map(|one| &one.comparison.verdict);
        let charged = charges::of_pair(reading, pair, throughput);
        self.behind.latency.push(charged.latency.filter(|_| judged));
        self.behind.cpu.push(charged.cpu.filter(|_| judged));
        self.charges.push(charged.charges);
        for one in compared {
            self.behind.comparisons.push(one.estimated.filter(|_| judged));
            self.comparisons.push(one.comparison);
        }
    }
}
