//! What the kernel counted of the disk, against what fio issued.

use super::{Run, each};
use crate::finding::{Finding, Severity};
use crate::import::Way;
use crate::import::fio::{Disk, index_of};
use crate::number::{Figure, Interval, show_ns};
use crate::rule::{Rule, Sink};

pub const SERVED: Rule = Rule {
    id: "F19",
    name: "the disk served what was issued",
    severity: Severity::Ambiguous,
    holds: "ios / issued in 0.99..1.02, and lower by half a second of the run, which the counters miss",
    silent: "with several disks or jobs, blocks above 128 KiB, runs under 10 s",
    check: |evidence, sink| each(evidence, sink, served),
};

pub const DEVICE_TIME: Rule = Rule {
    id: "F20",
    name: "the time of an I/O is spent in the device",
    severity: Severity::Ambiguous,
    holds: "ticks / ios is at least 0.75 of the mean completion latency",
    silent: "unless F19 holds for the disk, and below 1,000 I/Os",
    check: |evidence, sink| each(evidence, sink, device_time),
};

/// The only disk that a run's I/Os went to, of outputs with one job; the I/Os that it served, and their share of those issued.
fn share<'a>(run: &Run<'a>) -> Option<(&'a Disk, Figure, f64)> {
    let mut lowest = run.fio.disks.iter().filter(|disk| !disk.aggregates);
    let disk = lowest.next().filter(|_| lowest.next().is_none() && run.fio.jobs.len() == 1)?;
    let issued = run.issued().filter(|issued| issued.value >= 1000.0 && run.direction.way != Way::Trim)?;
    let ios = disk.ios[index_of(run.direction.way)]?;
    Some((disk, ios, ios.value / issued.value))
}

fn served(run: &Run, sink: &mut Sink) -> Option<()> {
    let small = run.block_size()? <= 131_072.0;
    let runtime = run.runtime_ms().filter(|runtime| small && *runtime >= 10e3)?;
    let (disk, ios, share) = share(run)?;
    // The counters are read a while before the end.
    if (Interval { low: 0.99 - 500.0 / runtime, high: 1.02 }).has(share) {
        sink.holds("F19", &ios);
        return None;
    }
    let why = match share {
        _ if share < 0.5 => "the rest was merged, or a cache answered",
        _ if share < 1.0 => "some were merged, or a cache answered",
        _ => "others used the disk too, or I/Os were split",
    };
    let message = format!("{} served {:.0} % of the I/Os that were issued: {why}", disk.name, 100.0 * share);
    sink.finds(Finding::new("F19", Severity::Ambiguous, ios.spot, message));
    Some(())
}

fn device_time(run: &Run, sink: &mut Sink) -> Option<()> {
    let (disk, ios, share) = share(run)?;
    let (ticks, clat) = (disk.ticks[index_of(run.direction.way)]?, run.direction.clat?.mean);
    if !(0.9..1.1).contains(&share) || ticks.value < 1000.0 {
        return None;
    }
    let each = 1e6 * ticks.value / ios.value;
    if each >= 0.75 * clat.value {
        sink.plausible("F20", &ticks);
        return None;
    }
    let (all, own, name) = (show_ns(clat.value), show_ns(each), &disk.name);
    let message = format!(
        "an I/O took {all} to complete, and {own} of that in {name}: the rest is spent outside the device"
    );
    let by = format!("{} ms / {} I/Os", ticks.value, ios.value);
    sink.finds(Finding::new("F20", Severity::Ambiguous, ticks.spot, message).by(by).against([clat.spot]));
    Some(())
}
