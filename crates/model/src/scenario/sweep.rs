//! Sweeps: a list in place of one value makes an ordinary workload of every value, and two lists
//! make a grid. Words that cannot be swept, duplicate values and too many points are refused.

use super::draft::{WorkloadDraft, name_of, name_without};
use super::error::{Fault, InputError, Origin};
use super::values::Dialect;
use super::words::{JobWords, Written};
use super::{Engine, Workload, block_size_word, job_subject};
use iotax_load::Job;
use serde::{Deserialize, Serialize};

/// Largest number of points in a sweep.
const MOST_POINTS: usize = 64;

/// Largest number of keys that a workload is swept over: one along the axis of a plot, one with a
/// curve for each value.
pub const MOST_WORDS: usize = 2;

pub struct SweptDef {
    pub word: &'static str,
    /// True if fio reads `A,B` as one value for reads and one for writes.
    pub directional: bool,
    /// Function that returns the value in a job; `None`: the job does not have it.
    pub of: fn(&Job) -> Option<u64>,
    /// Function that formats a value as it is written.
    pub show: fn(u64) -> String,
    pub unit: &'static str,
}

pub const SWEPT: &[SweptDef] = &[
    SweptDef {
        word: "iodepth",
        directional: false,
        of: |job| Some(u64::from(job.iodepth)),
        show: |value| value.to_string(),
        unit: "1",
    },
    SweptDef {
        word: "numjobs",
        directional: false,
        of: |job| Some(u64::from(job.numjobs)),
        show: |value| value.to_string(),
        unit: "1",
    },
    SweptDef {
        word: "bs",
        directional: true,
        of: |job| Some(job.bs),
        show: block_size_word,
        unit: "B",
    },
    SweptDef {
        word: "rate_iops",
        directional: true,
        of: |job| job.rate_iops,
        show: |value| value.to_string(),
        unit: "1/s",
    },
];

fn def_of(word: &str) -> Option<&'static SweptDef> {
    SWEPT.iter().find(|def| def.word == word)
}

/// Sweep of which a workload is a point, with its position in the sweep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SweepPoint {
    /// Name of the sweep, equal for all of its points, and used by no other.
    pub sweep: String,
    /// Value of each swept key: first that along the axis, then that of the curve.
    pub at: Vec<Coordinate>,
}

/// A swept word and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coordinate {
    /// `iodepth`, `numjobs`, `bs` or `rate_iops`.
    pub word: String,
    /// Value as in the job: bytes for `bs`, I/Os per second per thread for `rate_iops`.
    pub value: u64,
}

impl Coordinate {
    /// Returns the value as it is written: `4k`, `64`.
    pub fn written_value(&self) -> String {
        def_of(&self.word).map_or_else(|| self.value.to_string(), |def| (def.show)(self.value))
    }

    pub fn unit(&self) -> &'static str {
        def_of(&self.word).map_or("1", |def| def.unit)
    }
}

impl Workload {
    /// Returns the subject that all points of the workload's sweep share: `4k random reads over
    /// iodepth`.
    pub fn sweep_subject(&self) -> String {
        let at = self.sweep.iter().flat_map(|sweep| &sweep.at);
        let swept: Vec<&str> = at.map(|coordinate| coordinate.word.as_str()).collect();
        let jobs: Vec<String> = self.jobs.iter().map(|job| job_subject(job, &swept)).collect();
        format!("{} over {}", jobs.join(" with "), swept.join(" and "))
    }
}

/// Returns the workloads of one job: one, or the points of a sweep, with the first list varying
/// fastest. `name` is the name of the workload or sweep; without one, the job's values make it up.
///
/// # Errors
/// A word or value has no meaning, a list is not allowed there, a point is listed twice, or there
/// are too many points.
pub(super) fn drafts(
    words: &JobWords,
    name: Option<&str>,
    engine: Option<Engine>,
) -> Result<Vec<WorkloadDraft>, InputError> {
    let mut axes = axes(words)?;
    let mut words = words.clone();
    for fixed in axes.iter().filter(|axis| axis.items.len() == 1) {
        words = words.with_item(fixed.word, &fixed.items[0]);
    }
    axes.retain(|axis| axis.items.len() > 1);
    check_extent(&axes)?;
    let points = axes.iter().rev().fold(vec![words], |points, axis| axis.across(&points));
    let drafts = points
        .iter()
        .map(|words| draft(words, name, engine, &axes))
        .collect::<Result<Vec<_>, _>>()?;
    check_twins(&axes, &drafts)?;
    Ok(drafts)
}

/// One value of a list, with its position.
#[derive(Clone, Debug)]
pub(super) struct SweepItem {
    pub(super) text: String,
    pub(super) origin: Origin,
}

struct Axis {
    word: &'static str,
    key: String,
    origin: Origin,
    items: Vec<SweepItem>,
}

impl Axis {
    /// Returns each point once for each value of the axis, with the values varying fastest.
    fn across(&self, points: &[JobWords]) -> Vec<JobWords> {
        points
            .iter()
            .flat_map(|words| self.items.iter().map(|item| words.with_item(self.word, item)))
            .collect()
    }
}

fn axes(words: &JobWords) -> Result<Vec<Axis>, InputError> {
    let mut axes = Vec::new();
    for (word, written) in words.in_order() {
        let listed = listed_values(word, written)
            .map_err(|fault| written.origin.error_at_key(&written.key, fault))?;
        if let Some(items) = listed {
            let (key, origin) = (written.key.clone(), written.origin.clone());
            axes.push(Axis { word, key, origin, items });
        }
    }
    Ok(axes)
}

/// Returns the values of a list; `None`: there is a single value.
fn listed_values(word: &str, written: &Written) -> Result<Option<Vec<SweepItem>>, Fault> {
    let items = match &written.list {
        Some(items) => Some(items.clone()),
        None => texts(word, &written.value)?.map(|texts| {
            let item =
                |text: &str| SweepItem { text: text.to_owned(), origin: written.origin.clone() };
            texts.into_iter().map(item).collect()
        }),
    };
    let Some(items) = items else { return Ok(None) };
    if def_of(word).is_none() {
        let known: Vec<&str> = SWEPT.iter().map(|def| def.word).collect();
        let why = format!("a list, and only {} can be swept", known.join(", "));
        return Err(Fault::hint(why, "write one value, or a workload for each in a scenario file"));
    }
    match items.iter().any(|item| item.text.is_empty()) || items.is_empty() {
        true => {
            Err(Fault::hint("a list with nothing in it, or between two commas", "write [1,4,16]"))
        }
        false => Ok(Some(items)),
    }
}

/// Splits `[1,4,16]`, and `1,4,16` if commas have no other meaning in fio. `None`: it is no list.
fn texts<'a>(word: &str, text: &'a str) -> Result<Option<Vec<&'a str>>, Fault> {
    let split = |text: &'a str| Some(text.split(',').map(str::trim).collect());
    match (text.strip_prefix('['), def_of(word)) {
        (Some(rest), _) => match rest.strip_suffix(']') {
            Some(inner) => Ok(split(inner)),
            None => Err(Fault::hint(format!("\"{text}\" has no \"]\""), "write [1,4,16]")),
        },
        (None, Some(def)) if text.contains(',') && def.directional => Err(Fault::hint(
            format!("\"{text}\" could be a sweep, or fio's values for reads and for writes"),
            format!("write [{text}] to sweep, or one value; fio's form belongs in a job file"),
        )),
        (None, Some(_)) if text.contains(',') => Ok(split(text)),
        _ => Ok(None),
    }
}

/// Refuses a list in a job file. fio has no lists, so it would be read as something else or not at
/// all.
///
/// # Errors
/// The value is a list.
pub(super) fn refuse_in_job_file(word: &str, text: &str) -> Result<(), Fault> {
    let def = def_of(word);
    let commas = text.contains(',') && def.is_some_and(|def| !def.directional);
    if !commas && !text.starts_with('[') {
        return Ok(());
    }
    Err(Fault::hint(
        format!("\"{text}\" is a list, and fio's job files have none"),
        format!("sweep over {word} in a scenario file or with --{word} on the command line"),
    ))
}

fn check_extent(axes: &[Axis]) -> Result<(), InputError> {
    if let Some(third) = axes.get(MOST_WORDS) {
        let words: Vec<&str> = axes.iter().map(|axis| axis.word).collect();
        let why = format!("a sweep over {} words: {}", words.len(), words.join(", "));
        let fault =
            Fault::hint(why, format!("sweep over at most {MOST_WORDS}, and write more workloads"));
        return Err(third.origin.error_at_key(&third.key, fault));
    }
    let points: usize = axes.iter().map(|axis| axis.items.len()).product();
    match axes.last() {
        Some(last) if points > MOST_POINTS => {
            let why = format!("a sweep of {points} points; {MOST_POINTS} are the most");
            let fault =
                Fault::hint(why, "leave values out: each point takes its own budget of time");
            Err(last.origin.error_at_key(&last.key, fault))
        }
        _ => Ok(()),
    }
}

fn draft(
    words: &JobWords,
    name: Option<&str>,
    engine: Option<Engine>,
    axes: &[Axis],
) -> Result<WorkloadDraft, InputError> {
    let mut job = words.draft(Dialect::Ours)?;
    job.job.name = name_of(&job.job);
    let at = axes.iter().map(|axis| coordinate(axis, &job.job)).collect::<Result<Vec<_>, _>>()?;
    let suffix: String =
        at.iter().map(|at| format!(" {}={}", at.word, at.written_value())).collect();
    let point_name = name.map_or_else(|| job.job.name.clone(), |name| format!("{name}{suffix}"));
    let swept: Vec<&str> = axes.iter().map(|axis| axis.word).collect();
    let made_up = || format!("{}-over-{}", name_without(&job.job, &swept), swept.join("-"));
    let sweep = name.map_or_else(made_up, str::to_owned);
    let sweep = (!at.is_empty()).then_some(SweepPoint { sweep, at });
    Ok(WorkloadDraft { name: point_name, jobs: vec![job], probe: None, engine, sweep })
}

fn coordinate(axis: &Axis, job: &Job) -> Result<Coordinate, InputError> {
    match def_of(axis.word).and_then(|def| (def.of)(job)) {
        Some(value) => Ok(Coordinate { word: axis.word.to_owned(), value }),
        None => {
            let fault = Fault::hint("0 means no rate at all", "sweep over rates from 1 on");
            Err(axis.origin.error_at_key(&axis.key, fault))
        }
    }
}

/// Refuses a point that is listed twice, even if its values are written differently: one point
/// would have two results.
fn check_twins(axes: &[Axis], drafts: &[WorkloadDraft]) -> Result<(), InputError> {
    let points: Vec<&SweepPoint> = drafts.iter().filter_map(|draft| draft.sweep.as_ref()).collect();
    for (number, point) in points.iter().enumerate() {
        let Some(twin) = points[..number].iter().find(|twin| twin.at == point.at) else { continue };
        // Values differ along the axis first, so the first point that occurs again shows which list
        // is at fault.
        let axis = axes.iter().zip(&twin.at).find(|(axis, at)| repeats(axis, at, drafts));
        if let Some((axis, at)) = axis {
            let fault =
                Fault::hint(format!("{} is in the list twice", at.written_value()), "remove one");
            return Err(axis.origin.error_at_key(&axis.key, fault));
        }
    }
    Ok(())
}

/// Returns true if more points have this value than its equal share, because the axis lists it
/// twice.
fn repeats(axis: &Axis, at: &Coordinate, drafts: &[WorkloadDraft]) -> bool {
    let holds =
        |draft: &&WorkloadDraft| draft.sweep.as_ref().is_some_and(|sweep| sweep.at.contains(at));
    drafts.iter().filter(holds).count() > drafts.len() / axis.items.len()
}

#[cfg(test)]
#[path = "sweep_tests.rs"]
mod tests;
