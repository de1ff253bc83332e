//! Imported results, grouped by load and direction, and within these by system. Several results of
//! one system are separate runs, which count like visits. The spread of a single one is unknown.

use iotax_model::record::Better;
use iotax_model::record::imported::{
    ImportedDirection, ImportedPart, ImportedResult, ImportedSample, ReportedLoad,
};
use iotax_stats::Refusal;
use iotax_stats::ratio::Total;
use iotax_stats::unpaired::{self, Level, UnpairedChange};
use iotax_stats::visits::LEAST;
use std::collections::HashMap;

/// Assumed time between runs without recorded times, in lengths of a run. Drift grows only with its
/// logarithm.
pub(crate) const UNKNOWN_APART: f64 = 1e6;

pub(crate) struct LoadResults<'a> {
    pub(crate) load: &'a ReportedLoad,
    pub(crate) way: ImportedDirection,
    pub(crate) part: Option<ImportedPart>,
    /// Systems in the order in which they appear.
    pub(crate) systems: Vec<SystemGroup<'a>>,
}

pub(crate) struct SystemGroup<'a> {
    pub(crate) system: &'a str,
    pub(crate) results: Vec<&'a ImportedResult>,
}

type TableKey = (String, ImportedDirection, Option<ImportedPart>);
type TableIndices<'a> = (usize, HashMap<&'a str, usize>);

/// Groups results by load and direction, in their order. Results without figures of I/O, and those
/// that do not count as a run, are left out.
pub(crate) fn loads(results: &[ImportedResult]) -> Vec<LoadResults<'_>> {
    let mut all: Vec<LoadResults> = Vec::new();
    let mut known: HashMap<TableKey, TableIndices> = HashMap::new();
    for result in results.iter().filter(|one| !one.samples.is_empty() && one.uncounted.is_none()) {
        let key = (result.load.identity(), result.way, result.part);
        let (at, systems) = known.entry(key).or_insert_with(|| {
            let (load, way, part) = (&result.load, result.way, result.part);
            all.push(LoadResults { load, way, part, systems: Vec::new() });
            (all.len() - 1, HashMap::new())
        });
        let groups = &mut all[*at].systems;
        let group = *systems.entry(&result.system).or_insert_with(|| {
            groups.push(SystemGroup { system: &result.system, results: Vec::new() });
            groups.len() - 1
        });
        groups[group].results.push(result);
    }
    all
}

#[derive(Clone, Debug, Default)]
pub(crate) struct SystemRuns<'a> {
    pub(crate) samples: Vec<&'a ImportedSample>,
    results: Vec<&'a ImportedResult>,
}

impl<'a> SystemRuns<'a> {
    pub(crate) fn from_group(group: &SystemGroup<'a>, metric: &str) -> SystemRuns<'a> {
        let mut runs = SystemRuns::default();
        for result in &group.results {
            runs.add_result(result, result.sample(metric));
        }
        runs
    }

    pub(crate) fn add_result(
        &mut self,
        result: &'a ImportedResult,
        sample: Option<&'a ImportedSample>,
    ) {
        if let Some(sample) = sample.filter(|sample| sample.value.is_some()) {
            self.samples.push(sample);
            self.results.push(result);
        }
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        self.samples.iter().filter_map(|sample| sample.value)
    }

    pub(crate) fn len(&self) -> usize {
        self.samples.len()
    }

    pub(crate) fn mean(&self) -> Option<f64> {
        (self.len() > 0).then(|| self.values().sum::<f64>() / self.len() as f64)
    }

    /// Returns the range that the mean may have by the printed digits; `None` without runs.
    pub(crate) fn rounded(&self) -> Option<[f64; 2]> {
        let ends: Vec<[f64; 2]> =
            self.samples.iter().filter_map(|sample| sample.rounded()).collect();
        let mean = |end: usize| ends.iter().map(|one| one[end]).sum::<f64>() / ends.len() as f64;
        (!ends.is_empty()).then(|| [mean(0), mean(1)])
    }

    /// Returns the level of the values as printed, whether more or less is better.
    pub(crate) fn plain_level(&self) -> Result<Level, Refusal> {
        Level::of_visits(
            &self.values().map(|value| Total { sum: value, items: 1.0 }).collect::<Vec<_>>(),
        )
    }

    /// Returns the level such that more is better: a rate unchanged, a time as its inverse.
    pub(crate) fn level(&self) -> Result<Level, Refusal> {
        let total = |sample: &&ImportedSample| {
            let value = sample.value.unwrap_or(f64::NAN);
            match sample.better {
                Better::Higher => Total { sum: value, items: 1.0 },
                Better::Lower => Total { sum: 1.0, items: value },
            }
        };
        Level::of_visits(&self.samples.iter().map(total).collect::<Vec<_>>())
    }

    /// Returns the 95 % interval of the mean, widened by what rounding leaves open; `None` if the
    /// runs are too few.
    pub(crate) fn interval(&self) -> Option<(f64, f64)> {
        let (low, high) = self.level().ok()?.interval();
        let (below, above) = self.slack()?;
        let (low, high) = match self.is_time() {
            true => (1.0 / high, 1.0 / low),
            false => (low, high),
        };
        Some((low * below, high * above))
    }

    fn is_time(&self) -> bool {
        self.samples.first().is_some_and(|sample| sample.better == Better::Lower)
    }

    /// Returns the ends of the range that rounding leaves open, over the mean; `None` if a value is
    /// not positive.
    pub(crate) fn slack(&self) -> Option<(f64, f64)> {
        let (mean, [low, high]) = (self.mean()?, self.rounded()?);
        (mean > 0.0 && low > 0.0).then(|| (low / mean, high / mean))
    }

    /// Returns the mean time at which the runs ended, in seconds since 2000, and the seconds from
    /// the first start to the last end; `None` if a run does not report its end.
    fn run_times(&self) -> Option<(f64, f64)> {
        let ends: Vec<f64> =
            self.results.iter().map(|result| ended_s(result)).collect::<Option<_>>()?;
        let first = ends.iter().copied().fold(f64::INFINITY, f64::min);
        let last = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let runtime =
            self.results.first()?.sample("runtime").and_then(|sample| sample.value).unwrap_or(0.0)
                / 1e9;
        Some((ends.iter().sum::<f64>() / ends.len() as f64, last - first + runtime))
    }
}

/// Returns when a result ended, in seconds since 2000 by the calendar of its machine; `None` if it
/// does not say.
fn ended_s(result: &ImportedResult) -> Option<f64> {
    let time: jiff::civil::DateTime = result.ended.as_ref()?.parse().ok()?;
    let since = time.since(jiff::civil::date(2000, 1, 1).at(0, 0, 0, 0)).ok()?;
    since.total((jiff::Unit::Second, jiff::SpanRelativeTo::days_are_24_hours())).ok()
}

pub(crate) fn separation(a: &SystemRuns, b: &SystemRuns) -> f64 {
    let apart = || {
        let ((at_a, length_a), (at_b, length_b)) = (a.run_times()?, b.run_times()?);
        Some((at_a - at_b).abs() / length_a.min(length_b).max(1.0))
    };
    apart().unwrap_or(UNKNOWN_APART)
}

/// Returns the ratio of `other` to `base` (inverted for times, so that more is always better), and
/// its interval or why there is none. `None` if a system has no runs, the divisor's mean is not
/// positive or the other is negative.
pub(crate) fn system_ratio(
    base: &SystemRuns,
    other: &SystemRuns,
) -> Option<(f64, Result<UnpairedChange, Refusal>)> {
    let (a, b) = (base.mean()?, other.mean()?);
    let (a, b) = if base.is_time() { (b, a) } else { (a, b) };
    if !(a > 0.0 && b >= 0.0) {
        return None;
    }
    Some((b / a, unpaired_change(base, other)))
}

fn unpaired_change(base: &SystemRuns, other: &SystemRuns) -> Result<UnpairedChange, Refusal> {
    let (baseline, have) = (base.len(), other.len());
    if baseline < LEAST || have < LEAST {
        return Err(Refusal::NoSpread { baseline, other: have });
    }
    let found = unpaired::compare_levels(&base.level()?, &other.level()?, separation(base, other));
    let open = || Refusal::NotMeasured { reason: "rounding leaves all open".into() };
    let ((below_a, above_a), (below_b, above_b)) =
        (base.slack().ok_or_else(open)?, other.slack().ok_or_else(open)?);
    let (below, above) = match base.is_time() {
        true => (below_a / above_b, above_a / below_b),
        false => (below_b / above_a, above_b / below_a),
    };
    Ok(UnpairedChange { low: found.low * below, high: found.high * above, ..found })
}

/// Returns the least and the greatest ratio that the printed digits allow; `None` if one is not
/// finite or has no digits.
pub(crate) fn rounding(base: &SystemRuns, other: &SystemRuns) -> Option<[f64; 2]> {
    let ([a_low, a_high], [b_low, b_high]) = (base.rounded()?, other.rounded()?);
    let ends = match base.is_time() {
        true => [a_low / b_high, a_high / b_low],
        false => [b_low / a_high, b_high / a_low],
    };
    ends.iter().all(|end| end.is_finite()).then_some(ends)
}
