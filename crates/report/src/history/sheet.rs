//! Words and cells that the forms of a history share.

use super::super::number::{Shown, change_in_percent};
use iotax_analysis::findings::MeasuredFigure;
use iotax_analysis::findings::history::{HistoryChange, HistoryPoint, HistorySeries, StackHistory};
use iotax_stats::Verdict;
use iotax_units::{count_noun, distinct};

/// Returns `loop: 12 runs, 3 changes`.
pub fn history_title(history: &StackHistory) -> String {
    let points = || history.series.iter().flat_map(|series| &series.points);
    let runs = distinct(points().map(|point| &point.run.id)).len();
    let drifted = points().filter(|point| has_drifted(point)).count();
    let changes = match drifted {
        0 => "no change that is sure".to_owned(),
        many => count_noun(many as u64, "sure change", "sure changes"),
    };
    format!("{}: {}, {changes}", history.stack, count_noun(runs as u64, "run", "runs"))
}

fn has_drifted(point: &HistoryPoint) -> bool {
    point.change.as_ref().is_some_and(HistoryChange::has_drifted)
}

/// Returns the baseline that the ratios of a series are over: its name if all runs have the same,
/// else `the baseline`.
pub(crate) fn against(series: &HistorySeries) -> String {
    match distinct(series.points.iter().filter_map(|point| point.against.as_ref())).as_slice() {
        [one] => (*one).clone(),
        _ => "the baseline".to_owned(),
    }
}

pub(crate) fn rate_cell(point: &HistoryPoint) -> String {
    Shown::from_figure(&point.rate).cell()
}

pub(crate) fn change_cell(ratio: &MeasuredFigure) -> String {
    change_in_percent(ratio).cell()
}

/// Returns the marks of a run: `v` slower or `^` faster than the run before, for sure; `*` measured
/// on another machine, with other settings or another iotax.
pub(crate) fn marks(point: &HistoryPoint) -> String {
    let drift = match point.change.as_ref().and_then(|change| change.verdict.as_ref()) {
        Some(Verdict::Costs { .. }) => "v",
        Some(Verdict::Gains { .. }) => "^",
        _ => "",
    };
    format!("{drift}{}", if point.differs.is_empty() { "" } else { "*" })
}

/// Meaning of the marks that occur.
pub(crate) fn legend(series: &HistorySeries) -> Option<String> {
    let all: String = series.points.iter().map(marks).collect();
    let meanings = [
        ('v', "v slower than in the run before"),
        ('^', "^ faster than in the run before"),
        ('*', "* another machine, iotax or setting"),
    ];
    let used = meanings.into_iter().filter(|(mark, _)| all.contains(*mark)).map(|(_, text)| text);
    let used: Vec<&str> = used.collect();
    (!used.is_empty()).then(|| used.join("; "))
}

/// Returns a sentence for each sure change, with what else differs between the two runs.
pub fn drift_sentences(series: &HistorySeries) -> Vec<String> {
    let one = |point: &HistoryPoint| {
        let change = point.change.as_ref().filter(|change| change.has_drifted())?;
        let differs: Vec<String> = point.differs.iter().map(|one| one.to_sentence()).collect();
        let differs = match differs.is_empty() {
            true => String::new(),
            false => format!("; between the runs: {}", differs.join("; ")),
        };
        Some(format!("{}: {}{differs}", point.run.id, change.sentence))
    };
    series.points.iter().filter_map(one).collect()
}

/// Returns what differs between runs that did not drift apart, and why some are not compared.
pub(crate) fn other_sentences(series: &HistorySeries) -> Vec<String> {
    let one = |point: &HistoryPoint| {
        let differs = point.differs.iter().map(|one| one.to_sentence());
        let differs: Vec<String> = differs.filter(|_| !has_drifted(point)).collect();
        let refused = point.change.as_ref().filter(|change| change.verdict.is_none());
        let all: Vec<String> =
            refused.map(|change| change.sentence.clone()).into_iter().chain(differs).collect();
        (!all.is_empty()).then(|| format!("{}: {}", point.run.id, all.join("; ")))
    };
    series.points.iter().filter_map(one).collect()
}

/// Returns the reservation about many comparisons; `None` for one.
pub(crate) fn reserve(history: &StackHistory) -> Option<String> {
    let points = history.series.iter().flat_map(|series| &series.points);
    let count = points.filter_map(|point| point.change.as_ref()?.verdict.as_ref()).count();
    (count > 1).then(|| {
        format!(
            "not excluded: chance over all {count} comparisons together; each interval holds by itself in 95 of 100 pairs of runs"
        )
    })
}
