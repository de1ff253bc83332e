//! Rates, bandwidths and totals of one direction of a job. fio prints them from the same counters,
//! so they agree to the digit.

use super::{Agreement, JobDirection, agrees, as_printed, both, check_each, job_directions};
use crate::evidence::{Evidence, EvidenceSink};
use crate::finding::{Finding, Severity, Slip};
use crate::import::fio::num2str::{self, DigitStyle};
use crate::import::fio::{Fio, FioForm, GroupStatus, MOST_JOBS};
use crate::import::workload::ResultDirection;
use crate::number::{Interval, PrintedNumber};
use crate::page::{AuditedPage, TextSpan};

pub(super) fn check(evidence: &Evidence, sink: &mut EvidenceSink) {
    let held = |look: for<'a> fn(&JobDirection<'a>) -> Option<RateCheck<'a>>| {
        job_directions(evidence).filter_map(move |run| look(&run))
    };
    held(issued_rate).for_each(|one| one.report_rate(sink));
    issued_bytes(evidence, sink);
    held(rate_times_size).for_each(|one| one.report_rate(sink));
    inferred_carry(evidence, sink);
    let of_groups = statuses(evidence).filter_map(|(of, one)| {
        // Versions up to 2.19 truncate it to whole KiB per second.
        over_time(of, one.io[0]?, one.runtime_ms[1]?, one.bandwidth[0]?, 1024.0)
    });
    for one in held(total_over_time).chain(of_groups) {
        // A wrong total proves nothing about other figures.
        if !one.operands.iter().any(|spot| sink.is_wrong(*spot)) {
            one.report_rate(sink);
        }
    }
    both_bases(evidence, sink);
}

/// Returns a lost carry as a finding, and sets the correct value for later rules.
fn lost_carry(
    page: &AuditedPage,
    fio: &Fio,
    figure: &PrintedNumber,
    meant: Interval,
    sink: &mut EvidenceSink,
) -> Finding {
    let printed = page.quote(figure.spot);
    let sound = as_printed(printed, meant.middle());
    let version =
        fio.version.map_or("fio".to_owned(), |one| format!("fio {}.{}", one.major, one.minor));
    let about = if meant.low == meant.high { "" } else { "about " };
    let message = format!(
        "\"{printed}\" should be {sound}: it is {about}{:.0}, and {version} loses the carry of the last digit",
        meant.middle()
    );
    sink.corrects(figure.spot, meant, sound.clone());
    let finding = Finding::new("N2", Severity::WrongFigure, figure.spot, message);
    finding.recomputed(sound).slip(Slip::FioCarry)
}

/// A printed figure, and the value that other figures give for it.
struct RateCheck<'a> {
    rule: &'static str,
    of: (&'a AuditedPage, &'a Fio),
    figure: PrintedNumber,
    recomputed: Interval,
    by: String,
    operands: Vec<TextSpan>,
    /// True if another value confirms the figure, so that a difference is not reported.
    excused: bool,
}

impl<'a> RateCheck<'a> {
    fn new(
        rule: &'static str,
        of: (&'a AuditedPage, &'a Fio),
        figure: PrintedNumber,
        recomputed: Interval,
        by: String,
    ) -> RateCheck<'a> {
        RateCheck { rule, of, figure, recomputed, by, operands: Vec::new(), excused: false }
    }

    /// Returns true if the figure is off by at most 2 %, as it is after short blocks or blocks
    /// counted twice.
    fn is_near(&self) -> bool {
        self.figure.interval().overlaps_with(self.recomputed.wider(0.02))
    }

    fn report_rate(self, sink: &mut EvidenceSink) {
        let (page, fio) = self.of;
        let spot = self.figure.spot;
        let (what, severity) = match self.rule {
            "F1" | "F4" => ("a rate", Severity::WrongFigure),
            "F3" => {
                ("a total", if self.is_near() { Severity::Cosmetic } else { Severity::WrongFigure })
            }
            _ => ("a bandwidth", Severity::WrongFigure),
        };
        let finding = match agrees(
            page,
            &self.figure,
            self.recomputed,
            DigitStyle::from_version(fio.version),
        ) {
            Agreement::Agrees => {
                sink.mark_holding(self.rule, &self.figure);
                // Issued I/Os are more exact than the printed figure.
                if matches!(self.rule, "F1" | "F2") {
                    sink.refines(spot, self.recomputed);
                }
                return;
            }
            Agreement::Disagrees if self.excused => {
                return sink.plausible(self.rule, &self.figure);
            }
            Agreement::Carried(meant) => {
                lost_carry(self.of.0, self.of.1, &self.figure, meant, sink)
            }
            Agreement::Disagrees => {
                let printed = page.quote(spot);
                let recomputed = as_printed(printed, self.recomputed.middle());
                sink.corrects(spot, self.recomputed, recomputed.clone());
                let message = format!(
                    "{what} is printed as {printed}, but it is {recomputed} by {}",
                    self.by
                );
                let slip = crate::slip::find_slip(self.figure.interval(), self.recomputed);
                Finding {
                    slip,
                    ..Finding::new(self.rule, severity, spot, message).recomputed(recomputed)
                }
            }
        };
        sink.add_finding(
            Finding { severity, ..finding }.with_arithmetic(self.by).against(self.operands),
        );
    }
}

/// Returns true if a bandwidth is the bytes moved divided by the time. fio computes it from these,
/// whatever it issued.
fn is_moved(
    of: (&AuditedPage, &Fio),
    io: &[Option<PrintedNumber>; 2],
    runtime_ms: f64,
    rate: &PrintedNumber,
) -> bool {
    let (page, era) = (of.0, DigitStyle::from_version(of.1.version));
    let over = |bytes: Interval| {
        // fio truncates the rate to whole bytes, before 2.20 to whole KiB.
        let cut = if era == DigitStyle::Remainder { 1024.0 } else { 1.0 };
        let per_second = bytes.scaled(1000.0 / runtime_ms);
        let wide = Interval { low: per_second.low - cut, high: per_second.high + cut };
        !matches!(agrees(page, rate, wide, era), Agreement::Disagrees)
    };
    io.iter().flatten().any(|io| {
        over(io.interval())
            || num2str::lost_carry_interval(page.quote(io.spot), io, era).is_some_and(over)
    })
}

fn issued_rate<'a>(run: &JobDirection<'a>) -> Option<RateCheck<'a>> {
    let (iops, issued, runtime) =
        (run.direction.iops.filter(|_| run.is_text())?, run.issued()?, run.runtime_ms()?);
    let rate = (1000.0 * issued.value / runtime).floor();
    let by = format!("{} issued / {} s = {rate:.0}", issued.value, runtime / 1e3);
    let operands = vec![issued.spot, run.direction.runtime_ms?.spot];
    let check = RateCheck::new("F1", run.page_and_fio(), iops, Interval::exact(rate), by);
    Some(RateCheck { operands, ..check })
}

impl<'a> JobDirection<'a> {
    fn page_and_fio(&self) -> (&'a AuditedPage, &'a Fio) {
        (self.page, self.fio)
    }

    fn io(&self) -> [Option<PrintedNumber>; 2] {
        [self.direction.io, self.direction.io_decimal]
    }

    /// Returns the least and the most bytes of all I/Os that a job issued in this direction. Each
    /// job may have one shorter block at the end of a file, and I/Os in flight at the end of a ramp
    /// count once.
    fn issued_bytes(&self) -> Option<Interval> {
        let size = self.block_size().filter(|_| self.direction.way != ResultDirection::Trim)?;
        let (bytes, jobs) = (self.issued()?.value * size, self.job.jobs.unwrap_or(1) as f64);
        let most = bytes + size * self.most_in_flight();
        Some(Interval { low: (bytes - size * jobs).max(0.0), high: most })
    }
}

/// I/Os that one or several jobs issued in one direction, with the printed bandwidths and totals.
struct IssuedByJob<'a> {
    of: (&'a AuditedPage, &'a Fio),
    bytes: Interval,
    /// Issued I/Os times the block size.
    product: f64,
    by: String,
    runtime_ms: f64,
    rates: Vec<PrintedNumber>,
    io: [Option<PrintedNumber>; 2],
    operands: Vec<TextSpan>,
    is_group: bool,
}

fn issued<'a>(evidence: &Evidence<'a>) -> impl Iterator<Item = IssuedByJob<'a>> {
    let of_groups =
        statuses(evidence).filter_map(|((page, fio), status)| of_group(page, fio, status));
    job_directions(evidence).filter(JobDirection::is_text).filter_map(of_run).chain(of_groups)
}

/// Returns the run status lines of groups of jobs, with their page and output; only normal text has
/// them.
fn statuses<'a>(
    evidence: &Evidence<'a>,
) -> impl Iterator<Item = ((&'a AuditedPage, &'a Fio), &'a GroupStatus)> {
    let page = evidence.page;
    let texts = evidence.fio().filter(|fio| fio.form == FioForm::Text);
    texts.flat_map(move |fio| {
        fio.statuses.iter().take(MOST_JOBS).map(move |status| ((page, fio), status))
    })
}

fn of_run(run: JobDirection) -> Option<IssuedByJob> {
    let (bytes, issued, runtime_ms) = (run.issued_bytes()?, run.issued()?, run.runtime_ms()?);
    let rates =
        [run.direction.bandwidth, run.direction.bandwidth_decimal].into_iter().flatten().collect();
    let size = run.block_size()?;
    let (product, by) = (issued.value * size, format!("{} issued * {size} B", issued.value));
    let operands = vec![issued.spot, run.direction.runtime_ms?.spot];
    let (of, io, is_group) = (run.page_and_fio(), run.io(), false);
    Some(IssuedByJob { of, bytes, product, by, runtime_ms, rates, io, operands, is_group })
}

fn of_group<'a>(
    page: &'a AuditedPage,
    fio: &'a Fio,
    status: &GroupStatus,
) -> Option<IssuedByJob<'a>> {
    let (mut bytes, mut product) = (Interval::exact(0.0), 0.0);
    let mine =
        |group: Option<u64>| group.is_none() || status.group.is_none() || group == status.group;
    let jobs = || fio.jobs.iter().filter(|job| mine(job.group));
    for job in jobs() {
        if let Some(direction) = job.directions.iter().find(|direction| direction.way == status.way)
        {
            let run = JobDirection { page, fio, job, direction };
            bytes = bytes.sum_with(run.issued_bytes()?);
            product += run.issued()?.value * run.block_size()?;
        }
    }
    let longest = status.runtime_ms[1].filter(|longest| longest.value > 0.0 && bytes.high > 0.0)?;
    let ends = status.slowest.iter().chain(&status.fastest).filter(|_| jobs().count() == 1);
    let rates = status.bandwidth.iter().chain(ends).flatten().copied().collect();
    let (by, operands) = ("all issued * their block sizes".to_owned(), vec![longest.spot]);
    let (runtime_ms, io) = (longest.value, status.io);
    let (of, is_group) = ((page, fio), true);
    Some(IssuedByJob { of, bytes, product, by, runtime_ms, rates, io, operands, is_group })
}

fn issued_bytes(evidence: &Evidence, sink: &mut EvidenceSink) {
    for IssuedByJob { of, bytes, product, by, runtime_ms, rates, io, operands, is_group } in
        issued(evidence)
    {
        let per_second = bytes.scaled(1000.0 / runtime_ms);
        for figure in rates.iter().copied() {
            // Up to 2.19 a group's bandwidth is a whole number of KiB per second, truncated; `KB`
            // shows these versions.
            let old = DigitStyle::from_version(of.1.version) == DigitStyle::Remainder
                || of.0.quote(figure.spot).contains("KB");
            let cut = if is_group && old { 1024.0 } else { 0.0 };
            let recomputed =
                Interval { low: (per_second.low - cut).floor(), high: per_second.high };
            let by =
                format!("{by} / {} s = {:.0} B/s", runtime_ms / 1e3, 1e3 * product / runtime_ms);
            let (operands, excused) = (operands.clone(), is_moved(of, &io, runtime_ms, &figure));
            let check = RateCheck::new("F2", of, figure, recomputed, by);
            RateCheck { operands, excused, ..check }.report_rate(sink);
        }
        for figure in io.into_iter().flatten() {
            let excused = rates
                .first()
                .is_some_and(|rate| is_moved(of, &[Some(figure), None], runtime_ms, rate));
            let by = format!("{by} = {product:.0} B");
            RateCheck { excused, ..RateCheck::new("F3", of, figure, bytes, by) }.report_rate(sink);
        }
    }
}

fn rate_times_size<'a>(run: &JobDirection<'a>) -> Option<RateCheck<'a>> {
    let (iops, bandwidth, size) =
        (run.direction.iops?, run.direction.bandwidth?, run.block_size()?);
    let held = run.is_text() && run.issued_bytes().is_some();
    if !run.is_whole() || run.direction.way == ResultDirection::Trim || held {
        return None;
    }
    let rate = bandwidth.interval().scaled(1.0 / size);
    // Allowances: a short last block, a rate truncated to a whole number, I/Os in flight when a
    // ramp ended.
    let in_flight = run.runtime_ms().map_or(0.0, |runtime| 1e3 * run.most_in_flight() / runtime);
    let slack = 1.0 + rate.high * 1e-6 + in_flight;
    // Blocks that were cut short are in both the bytes and the count.
    let excused = run.issued().zip(run.runtime_ms()).is_some_and(|(issued, runtime)| {
        Interval::around(1e3 * issued.value / runtime, 1.0).overlaps_with(iops.interval())
            && is_moved(run.page_and_fio(), &run.io(), runtime, &bandwidth)
    });
    let recomputed = Interval { low: rate.low - slack, high: rate.high + slack };
    let by = format!("{} / {size} B", run.page.quote(bandwidth.spot));
    let check = RateCheck::new("F4", run.page_and_fio(), iops, recomputed, by);
    Some(RateCheck { operands: vec![bandwidth.spot], excused, ..check })
}

fn inferred_carry(evidence: &Evidence, sink: &mut EvidenceSink) {
    // Pasted lines do not show their version; the page's other outputs do.
    let mut eras: Vec<DigitStyle> = evidence
        .fio()
        .filter_map(|fio| Some(DigitStyle::from_version(Some(fio.version?))))
        .collect();
    eras.dedup();
    let look = |run: &JobDirection, sink: &mut EvidenceSink| {
        let era = match (run.fio.version, eras.as_slice()) {
            (Some(version), _) => DigitStyle::from_version(Some(version)),
            (None, [era]) => *era,
            _ => DigitStyle::LostCarry,
        };
        let iops = run.direction.iops.filter(|_| run.fio.form == FioForm::Excerpt)?;
        let bandwidth = run.direction.bandwidth?;
        // Usual block sizes: 512 B to 4 MiB.
        let fits = |rate: Interval| {
            let mut sizes = (9..=22).map(|power| 2f64.powi(power));
            sizes.find(|size| rate.scaled(*size).overlaps_with(bandwidth.interval()))
        };
        if fits(iops.interval()).is_some() {
            sink.plausible("N3", &iops);
            return None;
        }
        let meant = num2str::lost_carry_interval(run.page.quote(iops.spot), &iops, era)?;
        let size = fits(meant)?;
        let rate = bandwidth.interval().scaled(1.0 / size);
        let finding = lost_carry(run.page, run.fio, &iops, both(meant, rate), sink);
        let by = format!(
            "{} / {size} B = {:.0} to {:.0}",
            run.page.quote(bandwidth.spot),
            rate.low,
            rate.high
        );
        sink.add_finding(
            Finding { rule: "N3", ..finding }.with_arithmetic(by).against([bandwidth.spot]),
        );
        Some(())
    };
    check_each(evidence, sink, look);
}

fn total_over_time<'a>(run: &JobDirection<'a>) -> Option<RateCheck<'a>> {
    let (io, runtime, figure) =
        (run.direction.io?, run.direction.runtime_ms?, run.direction.bandwidth?);
    over_time(run.page_and_fio(), io, runtime, figure, 1.0)
}

/// Returns the check of a bandwidth as a total divided by its time, truncated to a multiple of
/// `cut` bytes per second.
fn over_time<'a>(
    of: (&'a AuditedPage, &'a Fio),
    io: PrintedNumber,
    runtime: PrintedNumber,
    figure: PrintedNumber,
    cut: f64,
) -> Option<RateCheck<'a>> {
    let over = |bytes: Interval| bytes.scaled(1000.0).ratio_to(runtime.interval());
    let rate = over(io.interval())?;
    // F3 reports a total whose carry was lost. The version of an output without its first lines is
    // unknown.
    let era =
        of.1.version
            .map_or(DigitStyle::LostCarry, |version| DigitStyle::from_version(Some(version)));
    let meant = num2str::lost_carry_interval(of.0.quote(io.spot), &io, era).and_then(over);
    if meant.is_some_and(|rate| rate.overlaps_with(figure.interval())) {
        return None;
    }
    let recomputed = Interval { low: rate.low - cut, high: rate.high + cut };
    let by = format!("{} in {} s", of.0.quote(io.spot), runtime.value / 1e3);
    let check = RateCheck::new("F5", of, figure, recomputed, by);
    Some(RateCheck { operands: vec![io.spot, runtime.spot], ..check })
}

/// Checks totals and bandwidths that are printed both 1024-based and 1000-based.
fn both_bases(evidence: &Evidence, sink: &mut EvidenceSink) {
    let of_runs = job_directions(evidence).filter(JobDirection::is_text).flat_map(|run| {
        let one = run.direction;
        [[one.bandwidth, one.bandwidth_decimal], run.io()].map(|pair| (run.page_and_fio(), pair))
    });
    let of_groups = statuses(evidence).flat_map(|(of, one)| {
        [one.bandwidth, one.slowest, one.fastest, one.io].map(|pair| (of, pair))
    });
    for (of, pair) in of_runs.chain(of_groups) {
        let [Some(binary), Some(figure)] = pair else { continue };
        // Either may have lost its carry.
        let carried = num2str::lost_carry_interval(
            of.0.quote(binary.spot),
            &binary,
            DigitStyle::from_version(of.1.version),
        );
        let excused = carried.is_some_and(|meant| meant.overlaps_with(figure.interval()));
        if !sink.is_wrong(binary.spot) && !sink.is_wrong(figure.spot) {
            let (recomputed, by) = (sink.best_value(&binary), of.0.quote(binary.spot).to_owned());
            let check = RateCheck::new("F6", of, figure, recomputed, by);
            RateCheck { operands: vec![binary.spot], excused, ..check }.report_rate(sink);
        }
    }
}
