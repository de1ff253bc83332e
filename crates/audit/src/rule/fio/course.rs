//! How a run went: whether its end is like its mean, whether it had one regime or two, what fio's sampler saw every 500 ms.

use super::Run;
use crate::evidence::Sink;
use crate::finding::{Finding, Severity};
use crate::import::Way;
use crate::import::fio::{Samples, index_of};
use crate::number::{Figure, show_ns};

fn samples(run: &Run) -> Option<Samples> {
    run.direction.bandwidth_samples.or(run.direction.iops_samples)
}

/// Whether deviations of several jobs are summed, as from 3.13 on; `None` where no version tells.
fn sums(run: &Run) -> Option<bool> {
    Some(run.fio.version?.is_from(3, 13))
}

pub(super) fn steady(run: &Run) -> Option<(f64, Finding)> {
    let Samples { deviation, mean, count, .. } = samples(run)?;
    let jobs = run.job.jobs.unwrap_or(1) as f64;
    let (deviation, enough) = (deviation?, count?.value >= 20.0 * jobs);
    let variation = deviation.value / mean.value;
    let observed = jobs == 1.0 || sums(run) == Some(false);
    if !enough || !observed || variation <= 0.1 || !variation.is_finite() {
        return None;
    }
    let share = 100.0 * variation;
    let message = format!("the rate varies by {share:.0} % of its mean between samples: it is not steady");
    let by = format!("stdev {} / avg {}", deviation.value, mean.value);
    let finding = Finding::new("F27", Severity::Ambiguous, deviation.spot, message);
    Some((variation, finding.by(by).against([mean.spot])))
}

/// The bandwidth of the last line of progress, where that is of the end of a run that is long enough.
fn last(run: &Run) -> Option<Figure> {
    let eta = run.fio.eta.as_ref()?;
    let long = run.runtime_ms()? >= 30e3 && eta.done.is_some_and(|done| done >= 95.0);
    // Progress is of all jobs together.
    let only = run.fio.jobs.len() == 1 && run.direction.way != Way::Both;
    eta.bytes_per_second[index_of(run.direction.way)].filter(|figure| long && only && figure.value > 0.0)
}

pub(super) fn end(run: &Run, sink: &mut Sink) -> Option<()> {
    let (last, mean) = (last(run)?, run.direction.bandwidth?);
    let off = last.value / mean.value - 1.0;
    if off.abs() <= 0.1 {
        sink.plausible("F28", &last);
        return None;
    }
    let message = format!(
        "the run ended at {}, {:+.0} % from its mean of {}: no steady state, the mean depends on when it was stopped",
        run.page.quote(last.spot),
        100.0 * off,
        run.page.quote(mean.spot)
    );
    sink.finds(Finding::new("F28", Severity::Ambiguous, mean.spot, message).against([last.spot]));
    Some(())
}

pub(super) fn regimes(run: &Run) -> Option<(f64, Finding)> {
    let points = run.direction.percentiles.as_ref()?.points.iter();
    let points: Vec<&(f64, Figure)> = points.filter(|(percent, _)| (5.0..=95.0).contains(percent)).collect();
    let pairs = points.windows(2).filter(|pair| points.len() >= 5 && pair[0].1.value >= 10e3);
    let jump = pairs.map(|pair| (pair[1].1.low / pair[0].1.high.max(1.0), pair[0], pair[1]));
    let (times, before, after) =
        jump.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(times, ..)| *times >= 1.6)?;
    let message = format!(
        "between the {}th and the {}th percentile latency goes from {} to {}: two regimes, and the mean describes neither",
        before.0,
        after.0,
        show_ns(before.1.value),
        show_ns(after.1.value)
    );
    let finding =
        Finding::new("F29", Severity::Ambiguous, after.1.spot, message).by(format!("{times:.1} times"));
    Some((times, finding.against([before.1.spot])))
}

#[cfg(test)]
mod tests {
    use crate::rule::testing::found;

    #[test]
    fn unsteady_runs_are_told_once_however_many_jobs_they_have() {
        let header = "w: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, \
                      ioengine=libaio, iodepth=1\nfio-3.33\n";
        let job = |pid: u32| {
            format!(
                "w: (groupid=0, jobs=1): err= 0: pid={pid}: Fri Apr 12 13:55:32 2024\n  read: IOPS=1000, \
                 BW=4000KiB/s (4096kB/s)(117MiB/30000msec)\n   bw (  KiB/s): min= 1000, max= 9000, \
                 per=100.00%, avg=4000.00, stdev=2000.00, samples=60\n"
            )
        };
        let page = format!("{header}{}{}{}", job(1), job(2), job(3));
        assert_eq!(found(&page, "F27").len(), 1);
        assert_eq!(
            found(&format!("{page}\n{header}{}", job(4).replace("2000.00", "3000.00")), "F27").len(),
            2
        );
    }
}
