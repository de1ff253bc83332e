//! The trace of a run: levels of the rate over time, where it fell, and whether the last level is
//! steady.

use crate::findings::trace::{TraceFinding, TraceLevel};
use crate::findings::{Interval, MeasuredFigure, SampleUnit};
use crate::gather::subject;
use iotax_model::record::{Purpose, Slice};
use iotax_model::scenario::Workload;
use iotax_stats::level::stretches;
use iotax_stats::spread::MeanSpread;
use iotax_stats::steady::Window;
use iotax_store::RunData;
use iotax_units::{grouped, show_bytes, show_ns};
use std::ops::Range;

/// Levels that a sentence names; of more, the first and the last.
const NAMED: usize = 3;

/// Returns the trace of a load; `None` if the run has none, or nothing of it yet.
pub fn trace(run: &RunData, workload: &Workload) -> Option<TraceFinding> {
    run.start.scenario.measure.trace_ns?;
    let stack = run.start.scenario.stacks.first()?;
    let is_ours = |slice: &&Slice| {
        slice.workload == workload.name && slice.purpose == Purpose::Plain && slice.window_ns > 0
    };
    let mut slices: Vec<&Slice> = run.slices.iter().filter(is_ours).collect();
    slices.sort_by_key(|slice| slice.start_ns);
    let begin_ns = slices.first()?.start_ns;
    let unit = subject::rate_unit(workload);
    let ending = if unit == "B/s" { ".bytes" } else { ".ios" };
    let seconds = |slice: &Slice| slice.window_ns as f64 / 1e9;
    let end_s = |slice: &Slice| (slice.start_ns - begin_ns + slice.window_ns) as f64 / 1e9;
    let rates: Vec<f64> = slices.iter().map(|slice| slice.total(ending) / seconds(slice)).collect();
    let level = |range: Range<usize>| TraceLevel {
        from_s: if range.start == 0 { 0.0 } else { end_s(slices[range.start - 1]) },
        to_s: end_s(slices[range.end - 1]),
        after_bytes: slices[..range.start].iter().map(|slice| slice.total(".bytes")).sum(),
        rate: level_rate(&rates[range], unit),
    };
    let ranges = stretches(&rates);
    let last = ranges.last()?.clone();
    let is_steady = Window::from_paces(&rates[last]).is_some_and(|window| window.is_level());
    let mut found = TraceFinding {
        stack: stack.name.clone(),
        unit,
        levels: ranges.into_iter().map(level).collect(),
        is_steady,
        sentence: String::new(),
    };
    found.sentence = format!("{}: {}", found.stack, found.course_phrase());
    Some(found)
}

/// Returns the mean of the rates of equal slices, with the interval of values that may depend on
/// their neighbours.
fn level_rate(rates: &[f64], unit: &'static str) -> MeasuredFigure {
    let value = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
    let residuals: Vec<f64> = rates.iter().map(|rate| rate - value).collect();
    let counted = (rates.len() as u64, SampleUnit::Points);
    match MeanSpread::from_residuals(&residuals) {
        Ok(spread) => {
            let (below, above) = spread.reach(0.95);
            let interval = Interval::from_bounds(value - below, value + above);
            MeasuredFigure::known_value(value, unit, counted, interval)
        }
        Err(reason) => MeasuredFigure::bare(value, unit, counted, reason),
    }
}

impl TraceFinding {
    /// Returns a rate in the unit of the trace: `12,300 IOPS`, `450 MiB/s`.
    pub fn rate_phrase(&self, rate: f64) -> String {
        match self.unit {
            "B/s" => format!("{}/s", show_bytes(rate.round() as u64)),
            _ => format!("{} IOPS", grouped(rate)),
        }
    }

    /// Returns the levels in words: `2.10 GiB/s for 6.00 s (12.6 GiB), then 450 MiB/s, steady`.
    fn course_phrase(&self) -> String {
        let rate = |level: &TraceLevel| self.rate_phrase(level.rate.value().unwrap_or_default());
        let stretch = |at: usize| {
            let (level, next) = (&self.levels[at], &self.levels[at + 1]);
            let bytes = show_bytes((next.after_bytes - level.after_bytes).round() as u64);
            let seconds = show_ns((level.to_s - level.from_s) * 1e9);
            format!("{} for {seconds} ({bytes})", rate(level))
        };
        let last = self.levels.len() - 1;
        let mut parts: Vec<String> = match last < NAMED {
            true => (0..last).map(stretch).collect(),
            false => {
                let between = format!("{} further levels", last - 1);
                vec![stretch(0), between]
            }
        };
        parts.push(rate(&self.levels[last]));
        let end = match (self.is_steady, last) {
            (true, 0) => ", steady from the start",
            (true, _) => ", steady",
            (false, _) => ", not steady at the end: a longer trace would show more",
        };
        parts.join(", then ") + end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::twin;

    #[test]
    fn a_cliff_and_the_level_after_it_are_found() {
        let run = twin::trace();
        let found = trace(&run, &run.start.scenario.workloads[0]).unwrap();
        let [fast, slow] = found.levels.as_slice() else { panic!("{found:?}") };
        let counted = |level: &TraceLevel| match level.rate {
            MeasuredFigure::Known { n, .. } => n,
            _ => 0,
        };
        let near = |value: f64, truth: f64| (value / truth - 1.0).abs() < 0.02;
        assert!(near(fast.rate.value().unwrap(), 9_920.0), "{found:?}");
        assert!(near(slow.rate.value().unwrap(), 5_000.0), "{found:?}");
        let (low, high) = slow.rate.bounds().unwrap();
        // The twin completes whole I/Os: up to one in 500 fewer.
        assert!(low > 4_980.0 && high < 5_005.0, "{low} to {high}");
        assert_eq!(slow.from_s, fast.to_s);
        assert!(near(slow.after_bytes, 40.0 * 992.0 * 4096.0), "{found:?}");
        assert!(found.is_steady);
        assert_eq!(counted(fast) + counted(slow), 120);
    }

    #[test]
    fn a_rate_that_still_falls_is_not_steady() {
        let mut run = twin::trace();
        run.slices.truncate(46);
        let found = trace(&run, &run.start.scenario.workloads[0]).unwrap();
        assert!(!found.is_steady && found.sentence.contains("longer trace"), "{found:?}");
        run.slices.clear();
        assert_eq!(trace(&run, &run.start.scenario.workloads[0]), None);
    }
}
