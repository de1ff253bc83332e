//! Rates, bandwidths and totals of one way of a job: printed from the same counters, so they agree to the digit.

use super::{Agreement, Run, agrees, as_printed, runs};
use crate::finding::{Finding, Severity, Slip};
use crate::import::Way;
use crate::import::fio::num2str::{self, Era};
use crate::import::fio::{Fio, Form, Job, MOST_JOBS, Status};
use crate::number::{Figure, Interval};
use crate::page::{Page, Spot};
use crate::rule::{Evidence, Rule, Sink};

/// N2, F1: the rate is what was issued over the time.
pub const ISSUED_RATE: Rule = Rule {
    id: "F1",
    name: "IOPS are the I/Os issued over the runtime",
    severity: Severity::WrongFigure,
    holds: "IOPS = 1000 * issued / runtime in ms, to the printed digits; a lost carry of fio 2.20 to 3.25 is told as N2",
    silent: "where I/Os were short or dropped, the job failed, ways are reported mixed, or nothing issued is printed",
    check: issued_rate,
};

/// F2: the bandwidth is what was issued times its size over the time.
pub const ISSUED_BANDWIDTH: Rule = Rule {
    id: "F2",
    name: "bandwidth is I/Os issued times their size over the runtime",
    severity: Severity::WrongFigure,
    holds: "BW = 1000 * issued * bs / runtime in ms, to the printed digits, of 1024 and of 1000; the run status has the sum",
    silent: "where the bandwidth is what was moved (io=) over the runtime, block sizes vary or are not told, I/Os were short or dropped, \
             the job failed, or of trims",
    check: issued_bandwidth,
};

/// F3: the total is what was issued times its size.
pub const ISSUED_TOTAL: Rule = Rule {
    id: "F3",
    name: "the total is I/Os issued times their size",
    severity: Severity::Cosmetic,
    holds: "io = issued * bs, to the printed digits, of 1024 and of 1000",
    silent: "as F2",
    check: issued_total,
};

/// F4: rate times size is the bandwidth.
pub const RATE_TIMES_SIZE: Rule = Rule {
    id: "F4",
    name: "IOPS times block size is the bandwidth",
    severity: Severity::WrongFigure,
    holds: "the intervals of IOPS * bs and BW meet",
    silent: "where F1 and F2 have what was issued, block sizes vary or are not told, I/Os were short or dropped, the job failed, of trims, \
             and where each of both is what was counted over the runtime",
    check: rate_times_size,
};

/// N3: a lost carry, inferred without the issued count.
pub const INFERRED_CARRY: Rule = Rule {
    id: "N3",
    name: "a lost carry shows in IOPS against bandwidth",
    severity: Severity::WrongFigure,
    holds: "IOPS printed X.0k and BW / bs in [X.95k, X+1 k): what was printed is one unit low",
    silent: "where fio's version has no such bug, or the block size is neither told nor the only power of two that fits",
    check: inferred_carry,
};

/// F5: the total over the time is the bandwidth.
pub const TOTAL_OVER_TIME: Rule = Rule {
    id: "F5",
    name: "the total over the runtime is the bandwidth",
    severity: Severity::WrongFigure,
    holds: "the intervals of io / runtime and BW meet",
    silent: "where one of the three is not printed",
    check: total_over_time,
};

/// F6: both bases of a bandwidth are the same.
pub const BOTH_BASES: Rule = Rule {
    id: "F6",
    name: "a bandwidth of 1024 and of 1000 is the same",
    severity: Severity::Cosmetic,
    holds: "the intervals of `BW=102MiB/s` and `(107MB/s)` meet, and of totals likewise",
    silent: "where only one of them is printed",
    check: both_bases,
};

/// A lost carry as a finding; what is meant is corrected for the rules behind.
fn lost_carry(
    (page, fio): (&Page, &Fio),
    figure: &Figure,
    meant: Interval,
    severity: Severity,
    sink: &mut Sink,
) -> Finding {
    let printed = page.quote(figure.spot);
    let sound = as_printed(printed, meant.middle());
    let version =
        fio.version.map_or("fio".to_owned(), |version| format!("fio {}.{}", version.major, version.minor));
    let about = if meant.low == meant.high { "" } else { "about " };
    let message = format!(
        "\"{printed}\" is how {version} shows {about}{:.0}: it loses the carry of the last digit, {sound} is meant",
        meant.middle()
    );
    sink.corrects(figure.spot, meant, sound.clone());
    Finding::new("N2", severity, figure.spot, message).recomputed(sound).slip(Slip::FioCarry)
}

/// A figure against what others give for it.
struct Check<'a> {
    rule: &'static str,
    of: (&'a Page, &'a Fio),
    figure: &'a Figure,
    what: &'static str,
    recomputed: Interval,
    by: String,
    operands: Vec<Spot>,
    /// Whether what is recomputed is more exact than what is printed: of what was issued, not of other printed figures.
    refines: bool,
    /// Whether something else bears the figure out.
    excused: bool,
}

impl<'a> Check<'a> {
    fn new(
        rule: &'static str,
        of: (&'a Page, &'a Fio),
        figure: &'a Figure,
        recomputed: Interval,
        by: String,
    ) -> Check<'a> {
        let what = match rule {
            "F1" | "F4" => "a rate",
            "F3" => "a total",
            _ => "a bandwidth",
        };
        Check { rule, of, figure, what, recomputed, by, operands: Vec::new(), refines: false, excused: false }
    }

    fn hold(self, sink: &mut Sink) {
        let (page, fio) = self.of;
        let severity = if self.rule == "F3" { Severity::Cosmetic } else { Severity::WrongFigure };
        match agrees(page, self.figure, self.recomputed, Era::of(fio.version)) {
            Agreement::Agrees => {
                sink.holds(self.rule, self.figure);
                if self.refines {
                    sink.refines(self.figure.spot, self.recomputed);
                }
            }
            Agreement::Carried(meant) => {
                let finding = lost_carry(self.of, self.figure, meant, severity, sink);
                sink.finds(finding.by(self.by).against(self.operands));
            }
            Agreement::Disagrees if self.excused => sink.plausible(self.rule, self.figure),
            Agreement::Disagrees => {
                let printed = page.quote(self.figure.spot);
                let recomputed = as_printed(printed, self.recomputed.middle());
                sink.corrects(self.figure.spot, self.recomputed, recomputed.clone());
                let message =
                    format!("{} is printed as {printed}, but it is {recomputed} by {}", self.what, self.by);
                let mut finding = Finding::new(self.rule, severity, self.figure.spot, message)
                    .recomputed(recomputed)
                    .by(self.by)
                    .against(self.operands);
                finding.slip = crate::rule::slip::of(self.figure.interval(), self.recomputed);
                sink.finds(finding);
            }
        }
    }
}

/// Whether a bandwidth is what was moved over the time: fio computes it of the bytes that it moved, whatever it issued.
fn is_moved(page: &Page, io: &[Option<Figure>; 2], runtime: Option<f64>, rate: &Figure, era: Era) -> bool {
    let Some(runtime) = runtime.filter(|runtime| *runtime > 0.0) else { return false };
    let over = |bytes: Interval| {
        // fio cuts the rate to a whole number of bytes, of KiB before 2.20.
        let cut = if era == Era::Remainder { 1024.0 } else { 1.0 };
        let per_second = bytes.scaled(1000.0 / runtime);
        let wide = Interval { low: per_second.low - cut, high: per_second.high + cut };
        agrees(page, rate, wide, era) != Agreement::Disagrees
    };
    io.iter().flatten().any(|io| {
        let meant = num2str::carried(page.quote(io.spot), io, era);
        over(io.interval()) || meant.is_some_and(over)
    })
}

impl Run<'_> {
    fn io(&self) -> [Option<Figure>; 2] {
        [self.direction.io, self.direction.io_decimal]
    }

    fn is_moved(&self, io: &[Option<Figure>; 2], rate: &Figure) -> bool {
        is_moved(self.page, io, self.runtime_ms(), rate, self.era())
    }
}

fn issued_rate(evidence: &Evidence, sink: &mut Sink) {
    for run in runs(evidence).filter(Run::is_text) {
        let (Some(iops), Some(issued), Some(runtime)) = (&run.direction.iops, run.issued(), run.runtime_ms())
        else {
            continue;
        };
        let rate = (1000.0 * issued.value / runtime).floor();
        let by = format!("{} issued / {} s = {rate:.0}", issued.value, runtime / 1e3);
        let check = Check::new("F1", (run.page, run.fio), iops, Interval::exact(rate), by);
        Check { operands: operands(&run, &issued), refines: true, ..check }.hold(sink);
    }
}

fn operands(run: &Run, issued: &Figure) -> Vec<Spot> {
    [Some(issued.spot), run.direction.runtime_ms.map(|runtime| runtime.spot)].into_iter().flatten().collect()
}

/// I/Os issued and their size; all that a job wrote or read, to a block of each job that may be shorter at the end of a file,
/// and to what was in flight when a ramp ended, which is counted once.
fn issued_bytes(run: &Run) -> Option<(Interval, f64, Figure)> {
    let issued = run.issued()?;
    let size = run.block_size().filter(|_| run.direction.way != Way::Trim)?;
    let bytes = issued.value * size;
    let jobs = run.job.jobs.unwrap_or(1) as f64;
    let most = bytes + size * run.most_in_flight();
    Some((Interval { low: (bytes - size * jobs).max(0.0), high: most }, size, issued))
}

fn issued_bandwidth(evidence: &Evidence, sink: &mut Sink) {
    for run in runs(evidence).filter(Run::is_text) {
        let (Some((bytes, size, issued)), Some(runtime)) = (issued_bytes(&run), run.runtime_ms()) else {
            continue;
        };
        let rate =
            Interval { low: (1000.0 * bytes.low / runtime).floor(), high: 1000.0 * bytes.high / runtime };
        for figure in [&run.direction.bandwidth, &run.direction.bandwidth_decimal].into_iter().flatten() {
            let seconds = runtime / 1e3;
            let by = format!("{} issued * {size} B / {seconds} s = {:.0} B/s", issued.value, rate.high);
            let check = Check::new("F2", (run.page, run.fio), figure, rate, by);
            let (operands, excused) = (operands(&run, &issued), run.is_moved(&run.io(), figure));
            Check { operands, excused, refines: true, ..check }.hold(sink);
        }
    }
    for (page, fio, status, jobs) in statuses(evidence) {
        status_bandwidth((page, fio), status, &jobs, sink);
    }
}

/// Each status line with the jobs of its group.
fn statuses<'a>(
    evidence: &Evidence<'a>,
) -> impl Iterator<Item = (&'a Page, &'a Fio, &'a Status, Vec<&'a Job>)> {
    let page = evidence.page;
    evidence.fio().filter(|fio| fio.form == Form::Text).flat_map(move |fio| {
        fio.statuses.iter().take(MOST_JOBS).map(move |status| {
            let of_group =
                |job: &&Job| job.group.is_none() || status.group.is_none() || job.group == status.group;
            (page, fio, status, fio.jobs.iter().filter(of_group).collect())
        })
    })
}

/// What the jobs of a group moved one way.
fn moved(page: &Page, fio: &Fio, status: &Status, jobs: &[&Job]) -> Option<Interval> {
    let mut sum = Interval::exact(0.0);
    for job in jobs {
        let Some(direction) = job.directions.iter().find(|direction| direction.way == status.way) else {
            continue;
        };
        sum = sum.plus(issued_bytes(&Run { page, fio, job, direction })?.0);
    }
    (sum.high > 0.0).then_some(sum)
}

fn status_bandwidth(of: (&Page, &Fio), status: &Status, jobs: &[&Job], sink: &mut Sink) {
    let (page, fio) = of;
    let (Some(bytes), Some(longest)) = (moved(page, fio, status, jobs), status.runtime_ms[1]) else { return };
    let alone = jobs.len() == 1;
    let ends = status.slowest.iter().chain(&status.fastest).filter(|_| alone);
    for figure in status.bandwidth.iter().chain(ends).flatten() {
        // To 2.19 a group's bandwidth is a whole number of KiB a second, cut off; `KB` is of those versions.
        let old = Era::of(fio.version) == Era::Remainder || page.quote(figure.spot).contains("KB");
        let cut = if old { 1024.0 } else { 0.0 };
        let rate = Interval {
            low: (1000.0 * bytes.low / longest.value - cut).floor(),
            high: 1000.0 * bytes.high / longest.value,
        };
        let by = format!("{:.0} B in {} s", bytes.high, longest.value / 1e3);
        let excused = is_moved(page, &status.io, Some(longest.value), figure, Era::of(fio.version));
        let check = Check::new("F2", of, figure, rate, by);
        let (what, operands) = ("a group's bandwidth", vec![longest.spot]);
        Check { what, operands, excused, refines: true, ..check }.hold(sink);
    }
}

fn issued_total(evidence: &Evidence, sink: &mut Sink) {
    let check = |of: (&Page, &Fio), figure: &Figure, bytes: Interval, excused: bool, sink: &mut Sink| {
        let by = format!("{:.0} B were moved", bytes.middle());
        Check { excused, ..Check::new("F3", of, figure, bytes, by) }.hold(sink);
    };
    for run in runs(evidence).filter(Run::is_text) {
        let Some((bytes, ..)) = issued_bytes(&run) else { continue };
        for figure in run.io().into_iter().flatten() {
            let moved =
                run.direction.bandwidth.is_some_and(|rate| run.is_moved(&[Some(figure), None], &rate));
            check((run.page, run.fio), &figure, bytes, moved, sink);
        }
    }
    for (page, fio, status, jobs) in statuses(evidence) {
        let Some(bytes) = moved(page, fio, status, &jobs) else { continue };
        let longest = status.runtime_ms[1].map(|longest| longest.value);
        for figure in status.io.into_iter().flatten() {
            let era = Era::of(fio.version);
            let moved = status.bandwidth[0]
                .is_some_and(|rate| is_moved(page, &[Some(figure), None], longest, &rate, era));
            check((page, fio), &figure, bytes, moved, sink);
        }
    }
}

fn rate_times_size(evidence: &Evidence, sink: &mut Sink) {
    for run in runs(evidence).filter(|run| run.is_whole() && run.direction.way != Way::Trim) {
        let counted = run.is_text() && issued_bytes(&run).is_some();
        let (Some(iops), Some(size), Some(bandwidth), false) =
            (&run.direction.iops, run.block_size(), run.direction.bandwidth, counted)
        else {
            continue;
        };
        let rate = bandwidth.interval().scaled(1.0 / size);
        // A short last block, a rate that was cut to a whole number, what was in flight when a ramp ended.
        let in_flight = run.runtime_ms().map_or(0.0, |runtime| 1e3 * run.most_in_flight() / runtime);
        let slack = 1.0 + rate.high * 1e-6 + in_flight;
        // Blocks that were cut short are in the bytes and in the count as they are.
        let borne_out = run.issued().zip(run.runtime_ms()).is_some_and(|(issued, runtime)| {
            Interval::around(1e3 * issued.value / runtime, 1.0).meets(iops.interval())
                && run.is_moved(&run.io(), &bandwidth)
        });
        let rate = Interval { low: rate.low - slack, high: rate.high + slack };
        let by = format!("{} / {size} B", run.page.quote(bandwidth.spot));
        let check = Check::new("F4", (run.page, run.fio), iops, rate, by);
        Check { operands: vec![bandwidth.spot], excused: borne_out, ..check }.hold(sink);
    }
}

fn inferred_carry(evidence: &Evidence, sink: &mut Sink) {
    // Pasted lines do not say their version; the page's other outputs do.
    let mut eras: Vec<Era> = evidence.fio().filter_map(|fio| Some(Era::of(Some(fio.version?)))).collect();
    eras.dedup();
    for run in runs(evidence).filter(|run| run.fio.form == Form::Excerpt) {
        let era = match (run.fio.version, eras.as_slice()) {
            (Some(version), _) => Era::of(Some(version)),
            (None, [era]) => *era,
            _ => Era::LostCarry,
        };
        let (Some(iops), Some(bandwidth)) = (&run.direction.iops, &run.direction.bandwidth) else { continue };
        // Block sizes that people use: 512 B to 4 MiB.
        let fits = |rate: Interval| {
            let mut sizes = (9..=22).map(|power| 2f64.powi(power));
            sizes.find(|size| rate.scaled(*size).meets(bandwidth.interval()))
        };
        if fits(iops.interval()).is_some() {
            sink.plausible("N3", iops);
            continue;
        }
        let Some(meant) = num2str::carried(run.page.quote(iops.spot), iops, era) else { continue };
        let Some(size) = fits(meant) else { continue };
        let rate = bandwidth.interval().scaled(1.0 / size);
        let meant = Interval { low: meant.low.max(rate.low), high: meant.high.min(rate.high) };
        let finding = lost_carry((run.page, run.fio), iops, meant, Severity::WrongFigure, sink);
        let by =
            format!("{} / {size} B = {:.0} to {:.0}", run.page.quote(bandwidth.spot), rate.low, rate.high);
        sink.finds(Finding { rule: "N3", ..finding }.by(by).against([bandwidth.spot]));
    }
}

fn total_over_time(evidence: &Evidence, sink: &mut Sink) {
    for run in runs(evidence) {
        let (Some(io), Some(runtime), Some(bandwidth)) =
            (&run.direction.io, &run.direction.runtime_ms, &run.direction.bandwidth)
        else {
            continue;
        };
        let over = |bytes: Interval| bytes.scaled(1000.0).over(runtime.interval());
        let Some(rate) = over(io.interval()) else { continue };
        // A total whose carry was lost is F3's to tell. Of an output without its first lines nobody knows the version.
        let era = if run.fio.version.is_none() { Era::LostCarry } else { run.era() };
        let meant = num2str::carried(run.page.quote(io.spot), io, era).and_then(over);
        if meant.is_some_and(|rate| rate.meets(bandwidth.interval())) {
            continue;
        }
        // A whole number of bytes a second.
        let rate = Interval { low: rate.low - 1.0, high: rate.high + 1.0 };
        let by = format!("{} in {} s", run.page.quote(io.spot), runtime.value / 1e3);
        let check = Check::new("F5", (run.page, run.fio), bandwidth, rate, by);
        Check { operands: vec![io.spot, runtime.spot], ..check }.hold(sink);
    }
}

fn both_bases(evidence: &Evidence, sink: &mut Sink) {
    let of_runs = runs(evidence).flat_map(|Run { page, fio, direction, .. }| {
        let rates = [direction.bandwidth, direction.bandwidth_decimal];
        [rates, [direction.io, direction.io_decimal]].map(|pair| (page, fio, pair))
    });
    let of_statuses = statuses(evidence).flat_map(|(page, fio, status, _)| {
        [status.bandwidth, status.slowest, status.fastest, status.io].map(|pair| (page, fio, pair))
    });
    for (page, fio, pair) in of_runs.chain(of_statuses) {
        let [Some(binary), Some(decimal)] = pair else { continue };
        let era = Era::of(fio.version);
        // Either may have lost its carry, which N2 tells.
        let meant = |figure: &Figure| {
            let carried = num2str::carried(page.quote(figure.spot), figure, era);
            [Some(figure.interval()), carried].into_iter().flatten()
        };
        if meant(&binary).any(|left| meant(&decimal).any(|right| left.meets(right))) {
            sink.holds("F6", &decimal);
            continue;
        }
        let recomputed = as_printed(page.quote(decimal.spot), binary.value);
        let message = format!(
            "{} and {} are the same figure, but {recomputed} is what the first gives",
            page.quote(binary.spot),
            page.quote(decimal.spot)
        );
        let finding = Finding::new("F6", Severity::Cosmetic, decimal.spot, message).recomputed(recomputed);
        sink.finds(finding.against([binary.spot]));
    }
}
