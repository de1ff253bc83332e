//! Comparison of two runs, at least one of them imported: the same loads on the same systems, new
//! over old, without a baseline. The spread of a few imported runs is unknown, so they get no
//! verdict.

use super::changes::{self, ChangeEstimate};
use super::{
    ChargeLimit, OnlyIn, RateChange, RegressionLimits, RunChange, RunComparison, RunMismatch,
    StackChange, VerdictBasis, WORDS, WorkloadChange,
};
use crate::compare::standing;
use crate::compare::standing::{FigureKind, LevelOfRun};
use crate::findings::{MeasuredFigure, SampleUnit, WarningReport};
use crate::gather::reading::WorkloadView;
use crate::gather::rounds::StackSide;
use crate::gather::subject;
use crate::gather::subject::Quantity;
use crate::results::identity;
use crate::results::imported::group::{LoadResults, SystemRuns, loads, separation};
use crate::results::imported::others::kinds;
use crate::results::imported::remedy;
use crate::results::imported::settings;
use crate::results::imported::words;
use crate::results::warnings;
use iotax_model::record::imported::{ImportedDirection, ImportedPart, ReportedLoad};
use iotax_model::scenario::Workload;
use iotax_stats::visits::LEAST;
use iotax_stats::{Concludes, Refusal, Verdict, unpaired};
use iotax_store::RunData;
use iotax_units::count_noun;
use std::collections::HashMap;

pub(super) fn any_imported(runs: [&RunData; 2]) -> bool {
    runs.iter().any(|run| run.start.imported.is_some())
}

/// What was measured: a load that an output reports, a workload that iotax ran, or a figure of
/// another kind, by its name and unit.
#[derive(Clone)]
enum ItemKind<'a> {
    Load(&'a ReportedLoad, ImportedDirection, Option<ImportedPart>),
    Workload(&'a Workload),
    Other(String, &'a str),
}

enum SystemFigures<'a> {
    Printed(SystemRuns<'a>),
    Measured(&'a StackSide),
}

struct ImportedLoad<'a> {
    what: ItemKind<'a>,
    subject: String,
    quantity: String,
    systems: Vec<(&'a str, SystemFigures<'a>, Option<SystemFigures<'a>>)>,
}

/// Compares two runs of which at least one was imported, the old one first.
///
/// # Errors
/// [`RunMismatch::NothingInCommon`], if no load or no system is in both runs.
pub(super) fn compare_imported(
    runs: [&RunData; 2],
    readings: &[Vec<WorkloadView>; 2],
    limits: RegressionLimits,
) -> Result<RunComparison, RunMismatch> {
    let items = [0, 1].map(|run| items(runs[run], &readings[run]));
    let pairs = pairs(&items)?;
    let systems = SystemPairs::from_items(&items)?;
    let mut workloads = Vec::new();
    for [old, new] in &pairs {
        let sides = [&items[0][*old], &items[1][*new]];
        let zone = runs.map(|run| run.start.scenario.measure.equivalence);
        let zone = zone[0].min(zone[1]);
        let stacks: Vec<StackChange> = systems
            .pairs
            .iter()
            .filter_map(|names| system_change(sides, names, zone, limits))
            .collect();
        if !stacks.is_empty() {
            let (name, subject) = (sides[1].subject.clone(), sides[1].subject.clone());
            workloads.push(WorkloadChange { name, subject, of: SampleUnit::Runs, stacks });
        }
    }
    let mut warnings: Vec<WarningReport> = WORDS.into_iter().zip(runs).filter_map(origin).collect();
    warnings.extend(systems.warning);
    warnings.extend(
        pairs.iter().filter_map(|[old, new]| load_differences(&items[0][*old], &items[1][*new])),
    );
    for (word, run) in WORDS.into_iter().zip(runs) {
        let own = warnings::warnings(run, &[], &[]);
        let named = |one: WarningReport| WarningReport {
            subject: format!("{word} run, {}", one.subject),
            ..one
        };
        warnings.extend(own.into_iter().filter(|one| one.kind != "note").map(named));
    }
    let mut found = RunComparison {
        old: identity::identity(runs[0]),
        new: identity::identity(runs[1]),
        apart_s: None,
        emulated: super::emulated(runs),
        workloads,
        courses: Vec::new(),
        only: unmatched_loads(&items, &pairs).chain(systems.only).collect(),
        limits,
        result: None,
        warnings,
        not_excluded: Vec::new(),
    };
    found.result = super::result(&found);
    found.not_excluded = not_excluded(&found);
    Ok(found)
}

fn items<'a>(run: &'a RunData, readings: &'a [WorkloadView<'a>]) -> Vec<ImportedLoad<'a>> {
    if run.start.imported.is_none() {
        return readings.iter().map(load_of_workload).collect();
    }
    let of_loads = loads(&run.imported).into_iter().map(printed_load);
    let of_others = kinds(&run.imported).into_iter().map(|kind| ImportedLoad {
        what: ItemKind::Other(kind.name(), &kind.sample.unit),
        subject: kind.name(),
        quantity: kind.name(),
        systems: kind
            .systems
            .into_iter()
            .map(|(name, runs, _)| (name, SystemFigures::Printed(runs), None))
            .collect(),
    });
    of_loads.chain(of_others).collect()
}

fn printed_load(loaded: LoadResults<'_>) -> ImportedLoad<'_> {
    // All systems by the same metric, since a rate and a bandwidth have no ratio.
    let is_printed = |metric: &str| {
        loaded.systems.iter().all(|group| SystemRuns::from_group(group, metric).len() > 0)
    };
    let (metric, word) =
        if is_printed("iops") { ("iops", "IOPS") } else { ("bandwidth", "bandwidth") };
    ImportedLoad {
        what: ItemKind::Load(loaded.load, loaded.way, loaded.part),
        subject: words::subject(loaded.load, loaded.way, loaded.part),
        quantity: words::quantity(loaded.load, loaded.way, word),
        systems: loaded
            .systems
            .iter()
            .map(|group| {
                let latency = SystemRuns::from_group(group, "latency.mean");
                let latency = (latency.len() > 0).then_some(SystemFigures::Printed(latency));
                (
                    group.system,
                    SystemFigures::Printed(SystemRuns::from_group(group, metric)),
                    latency,
                )
            })
            .collect(),
    }
}

fn load_of_workload<'a>(reading: &'a WorkloadView<'a>) -> ImportedLoad<'a> {
    let stacks = &reading.run.start.scenario.stacks;
    let system = |(at, side): (usize, &'a StackSide)| {
        let name = stacks.get(at)?.name.as_str();
        (!side.rounds.is_empty()).then_some((
            name,
            SystemFigures::Measured(side),
            Some(SystemFigures::Measured(side)),
        ))
    };
    ImportedLoad {
        what: ItemKind::Workload(reading.workload),
        subject: reading.workload.subject(),
        quantity: subject::quantity(reading.workload, Quantity::Acknowledged, None, None),
        systems: reading.sides.iter().enumerate().filter_map(system).collect(),
    }
}

impl ItemKind<'_> {
    /// Returns true if both are the same load or figure. If `strict`, two reported loads must also
    /// have the same engine.
    fn is_same_load(&self, other: &ItemKind, strict: bool) -> bool {
        match (self, other) {
            (ItemKind::Load(a, way_a, part_a), ItemKind::Load(b, way_b, part_b)) => {
                let bare = |load: &ReportedLoad| match strict {
                    true => load.identity(),
                    false => ReportedLoad { ioengine: None, ..load.clone() }.identity(),
                };
                (way_a, part_a) == (way_b, part_b) && bare(a) == bare(b)
            }
            (ItemKind::Load(load, way, None), ItemKind::Workload(workload))
            | (ItemKind::Workload(workload), ItemKind::Load(load, way, None)) => {
                is_load(workload, load, *way)
            }
            (ItemKind::Other(a, unit_a), ItemKind::Other(b, unit_b)) => (a, unit_a) == (b, unit_b),
            _ => false,
        }
    }
}

/// Returns true if an output reports this measured load: a single job of the one direction `way`,
/// the same pattern, block size, and, if reported, depth and jobs, and in neither a limit of the
/// rate.
fn is_load(workload: &Workload, load: &ReportedLoad, way: ImportedDirection) -> bool {
    let [job] = workload.jobs.as_slice() else { return false };
    let one_way = match way {
        ImportedDirection::Read => !job.rw.writes(),
        ImportedDirection::Write => job.rw.writes_data() && !job.rw.reads() && !job.rw.trims(),
        ImportedDirection::Trim => job.rw.trims() && !job.rw.writes_data(),
        ImportedDirection::Both => false,
    };
    let agrees = |reported: Option<u64>, known: u32| {
        reported.is_none_or(|reported| reported == u64::from(known))
    };
    one_way
        && load.rw.as_deref() == Some(job.rw.word())
        && load.bs == Some(job.bs)
        && agrees(load.iodepth, job.iodepth)
        && agrees(load.numjobs, job.numjobs)
        && job.rate_iops.is_none()
        && load.caps.is_empty()
        && (job.fsync, job.fdatasync) == (0, 0)
}

/// Returns the loads that are the same in both runs, by their indices in the old run and in the new
/// one. Pairs with the same engine take precedence. Fails if there are none.
fn pairs(items: &[Vec<ImportedLoad>; 2]) -> Result<Vec<[usize; 2]>, RunMismatch> {
    let mut pairs: Vec<[usize; 2]> = Vec::new();
    let mut taken = [vec![false; items[0].len()], vec![false; items[1].len()]];
    for strict in [true, false] {
        for (b, new) in items[1].iter().enumerate() {
            let same =
                |a: &usize| !taken[0][*a] && items[0][*a].what.is_same_load(&new.what, strict);
            if let Some(a) = (0..items[0].len()).find(|a| !taken[1][b] && same(a)) {
                (taken[0][a], taken[1][b]) = (true, true);
                pairs.push([a, b]);
            }
        }
    }
    pairs.sort_by_key(|pair| pair[1]);
    if pairs.is_empty() {
        let [old, new] = [0, 1].map(|run| super::names(&items[run], |item| &item.subject));
        let hint = "loads are the same when rw, block size, depth and jobs are, as far as the outputs report them";
        return Err(RunMismatch::NothingInCommon { what: "workload", old, new, hint });
    }
    Ok(pairs)
}

struct SystemPairs<'a> {
    pairs: Vec<[&'a str; 2]>,
    only: Vec<OnlyIn>,
    warning: Option<WarningReport>,
}

impl<'a> SystemPairs<'a> {
    /// Pairs systems by name; if each run has only one, these form the pair. Fails if there is no
    /// pair.
    fn from_items(items: &[Vec<ImportedLoad<'a>>; 2]) -> Result<SystemPairs<'a>, RunMismatch> {
        let names = |run: usize| {
            let mut names: Vec<&str> = Vec::new();
            let mut known: HashMap<&str, ()> = HashMap::new();
            for (name, ..) in items[run].iter().flat_map(|item| &item.systems) {
                if known.insert(name, ()).is_none() {
                    names.push(name);
                }
            }
            names
        };
        let (old, new) = (names(0), names(1));
        if let ([a], [b]) = (old.as_slice(), new.as_slice()) {
            let text = format!("it is called {a} in the old run: each has one system only");
            let warning = WarningReport { kind: "system".into(), subject: (*b).to_owned(), text };
            return Ok(SystemPairs {
                pairs: vec![[a, b]],
                only: Vec::new(),
                warning: (a != b).then_some(warning),
            });
        }
        let pairs: Vec<[&str; 2]> =
            new.iter().filter(|name| old.contains(name)).map(|name| [*name, *name]).collect();
        if pairs.is_empty() {
            let [old, new] = [old, new].map(|names| super::names(&names, |name| name));
            let hint = "name them alike: iotax import --system NAME=PATH";
            return Err(RunMismatch::NothingInCommon { what: "system", old, new, hint });
        }
        let alone = |run: usize, names: &[&str]| {
            let one = |name: &&&str| pairs.iter().all(|pair| pair[run] != **name);
            let said = |name: &&str| OnlyIn {
                run: WORDS[run],
                what: "system",
                name: (*name).to_owned(),
                detail: "the other run has none of this name".to_owned(),
            };
            names.iter().filter(one).map(said).collect::<Vec<_>>()
        };
        let only = alone(0, &old).into_iter().chain(alone(1, &new)).collect();
        Ok(SystemPairs { pairs, only, warning: None })
    }
}

fn unmatched_loads(
    items: &[Vec<ImportedLoad>; 2],
    pairs: &[[usize; 2]],
) -> impl Iterator<Item = OnlyIn> {
    let of = |run: usize| {
        let alone =
            (0..items[run].len()).filter(move |at| pairs.iter().all(|pair| pair[run] != *at));
        let said = move |at: usize| OnlyIn {
            run: WORDS[run],
            what: "workload",
            name: items[run][at].subject.clone(),
            detail: "the other run has no such load".to_owned(),
        };
        alone.map(said).collect::<Vec<_>>()
    };
    of(0).into_iter().chain(of(1))
}

fn origin((word, run): (&str, &RunData)) -> Option<WarningReport> {
    let import = run.start.imported.as_ref()?;
    let files = count_noun(u64::from(import.files), "file", "files");
    let text = format!("its figures were imported from {files}: others measured them");
    Some(WarningReport { kind: "imported".into(), subject: format!("{word} run"), text })
}

/// Returns a warning of what differs, or is not known, between two loads that count as the same.
fn load_differences(old: &ImportedLoad, new: &ImportedLoad) -> Option<WarningReport> {
    let text = match (&old.what, &new.what) {
        (ItemKind::Load(a, ..), ItemKind::Load(b, ..)) => {
            let word = |load: &ReportedLoad| load.ioengine.clone().unwrap_or_else(|| "not reported".to_owned());
            let engine = (a.ioengine != b.ioengine)
                .then(|| format!("the engine was {} in the old run, is {} in the new one", word(a), word(b)));
            let others = settings::differ([&[a], &[b]])
                .map(|[old, new]| format!("{old} in the old run, {new} in the new one"));
            let all: Vec<String> = engine.into_iter().chain(others).collect();
            (!all.is_empty()).then(|| all.join("; "))?
        }
        (ItemKind::Workload(_), ItemKind::Load(..)) | (ItemKind::Load(..), ItemKind::Workload(_)) => {
            "the same as far as the output reports it: its region, direct I/O and distribution are not known"
                .to_owned()
        }
        _ => return None,
    };
    Some(WarningReport { kind: "load".into(), subject: new.subject.clone(), text })
}

fn system_change(
    sides: [&ImportedLoad; 2],
    names: &[&str; 2],
    zone: f64,
    limits: RegressionLimits,
) -> Option<StackChange> {
    let find = |run: usize| sides[run].systems.iter().find(|(name, ..)| *name == names[run]);
    let (old, new) = (find(0)?, find(1)?);
    let rate = estimate_change([&old.1, &new.1], FigureKind::Rate(Quantity::Acknowledged, None));
    let latency = match (&old.2, &new.2) {
        (Some(old), Some(new)) => estimate_change([old, new], FigureKind::Latency(None)),
        _ => ChangeEstimate::from_refusal(Refusal::NotMeasured {
            reason: "one of the runs does not report it".into(),
        }),
    };
    let none =
        || MeasuredFigure::missing("an imported run has no baseline measured in turns with it");
    let cpu = || MeasuredFigure::missing("imported results do not report it");
    Some(StackChange {
        stack: names[1].to_owned(),
        text: names[1].to_owned(),
        baseline: false,
        emulated: None,
        rounds: (old.1.run_count(), new.1.run_count()),
        rates: vec![judged_rate_change(
            names[1],
            &sides[1].quantity,
            &rate,
            none(),
            zone,
            limits.rate,
        )],
        directions: Vec::new(),
        latency: RunChange { direct: latency.change_figure(), against_own_baseline: none() },
        cpu: RunChange { direct: cpu(), against_own_baseline: cpu() },
        charges: limits
            .latency
            .map(|limit| charge(names[1], &latency, limit))
            .into_iter()
            .collect(),
        slo: Vec::new(),
    })
}

fn charge(system: &str, latency: &ChangeEstimate, limit: f64) -> ChargeLimit {
    let (figure, judged) = ("mean latency", VerdictBasis::Direct);
    ChargeLimit {
        figure,
        judged,
        sentence: changes::charge_sentence(system, figure, latency, ""),
        limit: changes::judge_rise(&latency.change, judged, limit),
    }
}

fn judged_rate_change(
    system: &str,
    quantity: &str,
    rate: &ChangeEstimate,
    none: MeasuredFigure,
    zone: f64,
    limit: Option<f64>,
) -> RateChange {
    let verdict = match &rate.change {
        Ok(found) => found.verdict(zone),
        Err(reason) => Verdict::from_refusal(reason.clone()),
    };
    let settle = remedy(&verdict);
    RateChange {
        sentence: format!("{system}, new against old: {}{settle}", verdict.sentence(quantity)),
        why: "by its direct change, with the drift between the runs in the interval: others' figures have no baseline in turns".into(),
        drift_could_explain: rate.change.as_ref().is_ok_and(unpaired::UnpairedChange::drift_could_explain),
        limit: limit.map(|limit| changes::judge(&rate.change, VerdictBasis::Direct, limit)),
        change: RunChange { direct: rate.change_figure(), against_own_baseline: none },
        judged: VerdictBasis::Direct,
        quantity: quantity.to_owned(),
        verdict,
    }
}

impl SystemFigures<'_> {
    fn run_count(&self) -> u64 {
        match self {
            SystemFigures::Printed(runs) => runs.len() as u64,
            SystemFigures::Measured(side) => side.rounds.len() as u64,
        }
    }

    fn standing(&self, of: FigureKind) -> LevelOfRun {
        match self {
            SystemFigures::Measured(side) => standing::stack_level(side, of, false),
            SystemFigures::Printed(runs) => LevelOfRun {
                level: runs.plain_level(),
                log: runs.mean().filter(|mean| *mean > 0.0).map(f64::ln),
                unit: SampleUnit::Runs,
            },
        }
    }

    fn slack(&self) -> (f64, f64) {
        match self {
            SystemFigures::Printed(runs) => runs.slack().unwrap_or((0.0, f64::INFINITY)),
            SystemFigures::Measured(_) => (1.0, 1.0),
        }
    }
}

/// Estimates the change of a figure, new over old. The rounding of printed digits widens the
/// interval.
fn estimate_change([old, new]: [&SystemFigures; 2], of: FigureKind) -> ChangeEstimate {
    let apart = match (old, new) {
        (SystemFigures::Printed(old), SystemFigures::Printed(new)) => separation(old, new),
        _ => crate::results::imported::group::UNKNOWN_APART,
    };
    let mut found = ChangeEstimate::from_old(old.standing(of), new.standing(of), apart);
    let ((below_old, above_old), (below_new, above_new)) = (old.slack(), new.slack());
    if let Ok(change) = &mut found.change {
        change.low *= below_new / above_old;
        change.high *= above_new / below_old;
    }
    if let Some(reason) = no_spread(old, new) {
        found.change = Err(reason);
    }
    found
}

/// Returns the refusal if either side was imported and has fewer than [`LEAST`] runs.
fn no_spread(old: &SystemFigures, new: &SystemFigures) -> Option<Refusal> {
    match (old, new) {
        (SystemFigures::Printed(old), SystemFigures::Printed(new)) => {
            let (baseline, other) = (old.len(), new.len());
            (baseline < LEAST || other < LEAST).then_some(Refusal::NoSpread { baseline, other })
        }
        (SystemFigures::Printed(runs), SystemFigures::Measured(_))
        | (SystemFigures::Measured(_), SystemFigures::Printed(runs)) => {
            let runs = runs.len();
            (runs < LEAST).then(|| Refusal::NotMeasured {
                reason: match runs {
                    1 => "one imported run: no spread of it is known".to_owned(),
                    runs => format!(
                        "{runs} imported runs: their spread is not known, an interval needs 4"
                    ),
                },
            })
        }
        (SystemFigures::Measured(_), SystemFigures::Measured(_)) => None,
    }
}

fn not_excluded(found: &RunComparison) -> Vec<String> {
    let mut lines = vec![
        "what the outputs do not report: the machines and their settings, what else ran, whether the load had become steady".to_owned(),
        "slips of those who ran and copied the outputs: `iotax audit` recomputes the figures".to_owned(),
        "what changed between the runs besides what is compared".to_owned(),
    ];
    let count = found.rates().count();
    if count > 1 {
        lines.push(format!(
            "chance over all {count} comparisons together: each interval holds by itself in 95 of 100 pairs of runs"
        ));
    }
    lines
}
