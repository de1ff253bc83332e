//! What the kernel counted of the disk, against what fio issued.

use super::{Run, runs};
use crate::finding::{Finding, Severity};
use crate::import::Way;
use crate::import::fio::{Disk, Fio, index_of};
use crate::number::{Interval, show_ns};
use crate::rule::{Evidence, Rule, Sink};

/// F19: the disk served what was issued.
pub const SERVED: Rule = Rule {
    id: "F19",
    name: "the disk served what was issued",
    severity: Severity::Ambiguous,
    holds: "ios / issued in 0.99..1.02, and lower by half a second of the run, which the counters miss",
    silent: "with several disks or jobs, blocks above 128 KiB, runs under 10 s",
    check: served,
};

/// F20: the time is the device's.
pub const DEVICE_TIME: Rule = Rule {
    id: "F20",
    name: "the time of an I/O is spent in the device",
    severity: Severity::Ambiguous,
    holds: "ticks / ios is at least 0.75 of the mean completion latency",
    silent: "unless F19 holds for the disk, and below 1,000 I/Os",
    check: device_time,
};

/// F21: the kernel's queue statistic.
pub const QUEUE_TIME: Rule = Rule {
    id: "F21",
    name: "in_queue is the sum of the ticks",
    severity: Severity::Cosmetic,
    holds: "in_queue is at least the ticks of reads and writes, to 2 % (flushes and discards add to it)",
    silent: "below 100 ms of ticks; told once a page",
    check: queue_time,
};

/// F22: the device was busy.
pub const BUSY: Rule = Rule {
    id: "F22",
    name: "the device was busy all the time",
    severity: Severity::Ambiguous,
    holds: "util is at least 95 %",
    silent: "of runs under 20 s, with several disks, and where the disk did not serve what was issued",
    check: busy,
};

/// The only disk that a run's I/Os went to, of outputs with one job.
fn disk_of(fio: &Fio) -> Option<&Disk> {
    let mut lowest = fio.disks.iter().filter(|disk| !disk.aggregates);
    match (lowest.next(), lowest.next()) {
        (Some(only), None) if fio.jobs.len() == 1 => Some(only),
        _ => None,
    }
}

/// Share of a run's I/Os that its disk served.
fn share(run: &Run, disk: &Disk) -> Option<(f64, crate::number::Figure)> {
    let issued = run.issued().filter(|issued| issued.value >= 1000.0)?;
    let ios = disk.ios[index_of(run.direction.way).min(1)]?;
    (run.direction.way != Way::Trim).then_some((ios.value / issued.value, ios))
}

/// What of a run the counters may miss: they are read a while before the end.
fn missed(run: &Run) -> f64 {
    run.runtime_ms().map_or(1.0, |runtime| 500.0 / runtime)
}

fn served(evidence: &Evidence, sink: &mut Sink) {
    for run in runs(evidence) {
        let Some(disk) = disk_of(run.fio) else { continue };
        let small = run.block_size().is_some_and(|size| size <= 131_072.0);
        let long = run.runtime_ms().is_some_and(|runtime| runtime >= 10e3);
        let Some((share, ios)) = share(&run, disk).filter(|_| small && long) else { continue };
        if (Interval { low: 0.99 - missed(&run), high: 1.02 }).has(share) {
            sink.holds("F19", &ios);
            continue;
        }
        let why = if share < 0.5 {
            "the rest was merged, or a cache answered"
        } else if share < 1.0 {
            "some were merged, or a cache answered"
        } else {
            "others used the disk too, or I/Os were split"
        };
        let message =
            format!("{} served {:.0} % of the I/Os that were issued: {why}", disk.name, 100.0 * share);
        sink.finds(Finding::new("F19", Severity::Ambiguous, ios.spot, message));
    }
}

fn device_time(evidence: &Evidence, sink: &mut Sink) {
    for run in runs(evidence) {
        let Some(disk) = disk_of(run.fio) else { continue };
        let at = index_of(run.direction.way).min(1);
        let Some((share, ios)) = share(&run, disk) else { continue };
        let (Some(ticks), Some(clat)) = (disk.ticks[at], run.direction.clat) else { continue };
        if !(0.9..1.1).contains(&share) || ticks.value < 1000.0 {
            continue;
        }
        let each = 1e6 * ticks.value / ios.value;
        let of_clat = each / clat.mean.value;
        if of_clat >= 0.75 {
            sink.plausible("F20", &ticks);
            continue;
        }
        let message = format!(
            "an I/O took {} to complete, and {} of that in {}: the rest is spent outside the device",
            show_ns(clat.mean.value),
            show_ns(each),
            disk.name
        );
        sink.finds(
            Finding::new("F20", Severity::Ambiguous, ticks.spot, message)
                .by(format!("{} ms / {} I/Os", ticks.value, ios.value))
                .against([clat.mean.spot]),
        );
    }
}

fn queue_time(evidence: &Evidence, sink: &mut Sink) {
    let wrong = |disk: &&Disk| {
        let sum: f64 = disk.ticks.iter().flatten().map(|ticks| ticks.value).sum();
        disk.in_queue.is_some_and(|queue| sum >= 100.0 && queue.value < 0.98 * sum)
    };
    let found: Vec<&Disk> = evidence.fio().flat_map(|fio| &fio.disks).filter(wrong).collect();
    let Some(first) = found.first() else { return };
    let Some(queue) = first.in_queue else { return };
    let more = match found.len() {
        1 => String::new(),
        count => format!(" ({} more such lines)", count - 1),
    };
    let message =
        format!("in_queue is not what the ticks add up to: the statistic of this kernel is not usable{more}");
    sink.finds(Finding::new("F21", Severity::Cosmetic, queue.spot, message));
}

fn busy(evidence: &Evidence, sink: &mut Sink) {
    for run in runs(evidence) {
        let Some(disk) = disk_of(run.fio) else { continue };
        let Some(util) = disk.util.filter(|_| run.runtime_ms().is_some_and(|runtime| runtime >= 20e3)) else {
            continue;
        };
        if share(&run, disk).is_none_or(|(share, _)| share < 0.9) || util.value >= 95.0 {
            continue;
        }
        let message = format!(
            "{} was idle for {:.0} % of the run: something else limits the rate",
            disk.name,
            100.0 - util.value
        );
        sink.finds(Finding::new("F22", Severity::Ambiguous, util.spot, message));
        break;
    }
}

#[cfg(test)]
mod tests;
