//! Converts the findings of a page into records: each result with its system, its load, its
//! position, and its figures with the intervals that their printed digits imply. Nothing is made
//! up: figures that were not printed are missing. Names are others' text. They are stored as they
//! can be shown, since every report, list and sheet takes them from here.

use super::rates;
use super::sources::ResultOwner;
use iotax_audit::import::fio::snapshots;
use iotax_audit::import::format::{ToolOutput, ToolReport};
use iotax_audit::import::workload::{OtherToolResult, ResultDirection, ToolResult};
use iotax_audit::page::AuditedPage;
use iotax_hardware::number::PrintedNumber;
use iotax_load::Histogram;
use iotax_model::record::Better;
use iotax_model::record::imported::{
    ImportedDirection, ImportedPart, ImportedResult, ImportedSample, PrintedPercentile,
    ReportedLoad, Uncounted,
};
use iotax_units::harmless::escape_line;
use std::collections::HashMap;
use std::path::Path;

/// Reason for a missing figure that every tool could print.
const NOT_PRINTED: &str = "the output does not report it";
/// Reason why a latency printed as `0.00` has no value.
const BELOW_DIGITS: &str = "printed as 0: it is less than the printed digits can show";
/// Relative width below which an interval is not stored.
const EXACT: f64 = 1e-9;
/// Largest relative difference between the I/Os of a complete histogram and their printed number.
/// I/Os in flight when a ramp ended may be in only one of the two.
const WHOLE: f64 = 0.01;

#[derive(Debug)]
pub(super) struct FoundResult {
    pub(super) result: ImportedResult,
    pub(super) histogram: Option<Histogram>,
    /// Identity of its run, the same in every output that prints the run.
    pub(super) run: Option<String>,
    /// Line on which its output begins.
    pub(super) output: u32,
}

#[derive(Debug, Default)]
pub(super) struct PageResults {
    pub(super) found: Vec<FoundResult>,
    /// Number of results in lines that belong to no system.
    pub(super) strays: usize,
    /// Number of outputs that a run printed before it had ended; they are not runs of their own.
    pub(super) snapshots: u32,
    /// Number of the last line.
    pub(super) last: u32,
}

/// Returns the results on a page of the file with number `file`. Systems that the user did not name
/// are named later.
pub(super) fn page_results(
    page: &AuditedPage,
    outputs: &[ToolOutput],
    whose: &ResultOwner,
    file: u32,
) -> PageResults {
    let interim = snapshots::superseded(outputs);
    let last = outputs.iter().zip(&interim).filter(|(_, interim)| !**interim);
    let mut found: Vec<FoundResult> =
        last.flat_map(|(output, _)| of_output(page, output, file)).collect();
    let mut strays = 0;
    if let ResultOwner::Lines(ranges) = whose {
        let before = found.len();
        found.retain_mut(|FoundResult { result, .. }| {
            let range = ranges.iter().find(|(_, from, to)| (*from..=*to).contains(&result.line));
            range.map(|(name, ..)| result.system.clone_from(name)).is_some()
        });
        strays = before - found.len();
    } else {
        name_unknown(&mut found, page);
    }
    if let ResultOwner::One(name) = whose {
        found.iter_mut().for_each(|found| found.result.system.clone_from(name));
    }
    PageResults {
        found,
        strays,
        last: page.line_number(page.len().saturating_sub(1)),
        snapshots: interim.iter().map(|interim| u32::from(*interim)).sum(),
    }
}

/// Names a load about which nothing is known (result lines alone) by the file's name.
fn name_unknown(found: &mut [FoundResult], page: &AuditedPage) {
    let name = Path::new(&page.name).file_stem().map(|stem| escape_line(&stem.to_string_lossy()));
    for FoundResult { result, .. } in
        found.iter_mut().filter(|found| found.result.load == ReportedLoad::default())
    {
        result.load.name.clone_from(&name);
    }
}

/// Returns a key of a result's load, direction and names: results with the same key are runs of the
/// same load.
pub(super) fn key(result: &ImportedResult) -> String {
    let names = result.others.iter().map(|other| other.metric.as_str()).collect::<Vec<_>>();
    format!("{}{:?}{:?}{names:?}", result.load.identity(), result.way, result.part)
}

fn of_output(page: &AuditedPage, output: &ToolOutput, file: u32) -> Vec<FoundResult> {
    let OutputOrigin { tool, version, ended } = OutputOrigin::from_output(output);
    let readings = output.said.readings();
    let mut found: Vec<FoundResult> = readings
        .into_iter()
        .filter_map(|reading| {
            let histogram = histogram(&reading);
            let (reading, slips) =
                rates::recount_rates(page, reading, matches!(output.said, ToolReport::Fio(_)));
            let samples = samples(&reading, histogram.is_some());
            let others: Vec<ImportedSample> = reading.others.iter().map(other).collect();
            let result = ImportedResult {
                system: String::new(),
                load: load(&reading),
                way: direction_of(reading.way),
                part: None,
                file,
                line: page.line_number(reading.line),
                tool: tool.clone(),
                version: version.clone(),
                ended: ended.clone(),
                samples,
                percentiles: percentiles(&reading.percentiles_ns),
                others,
                slips,
                uncounted: reading.failed.map(|why| Uncounted::Failed(escape_line(&why))),
            };
            let output = page.line_number(output.lines.start);
            let any = !result.samples.is_empty() || !result.others.is_empty();
            any.then_some(FoundResult { result, histogram, run: reading.run, output })
        })
        .collect();
    number_parts(&mut found);
    found
}

/// Numbers the jobs of one output that ran the same load, as parts of this load.
fn number_parts(found: &mut [FoundResult]) {
    let mut names: HashMap<(String, &str), u32> = HashMap::new();
    for FoundResult { result, .. } in found.iter() {
        for other in &result.others {
            *names.entry((result.load.identity(), &other.metric)).or_default() += 1;
        }
    }
    // Results that are not I/O are parts if they share a name: both directions of a network report
    // resends.
    let shares = |result: &ImportedResult| {
        let count = |other: &ImportedSample| {
            names.get(&(result.load.identity(), other.metric.as_str())).copied()
        };
        result.others.iter().any(|other| count(other) > Some(1))
    };
    let keys: Vec<String> = found
        .iter()
        .map(|FoundResult { result, .. }| match shares(result) {
            true => format!("{} others", result.load.identity()),
            false => key(result),
        })
        .collect();
    let mut counts: HashMap<&str, (u32, u32)> = HashMap::new();
    for key in &keys {
        counts.entry(key).or_default().1 += 1;
    }
    for (FoundResult { result, .. }, key) in found.iter_mut().zip(&keys) {
        if let Some((part, of)) = counts.get_mut(key.as_str()).filter(|(_, of)| *of > 1) {
            *part += 1;
            result.part = Some(ImportedPart { part: *part, of: *of });
        }
    }
}

/// Tool that printed an output, its version, and when the run ended, as far as the output shows.
struct OutputOrigin {
    tool: String,
    version: Option<String>,
    ended: Option<String>,
}

impl OutputOrigin {
    fn from_output(output: &ToolOutput) -> OutputOrigin {
        let plain = |tool: &str| OutputOrigin { tool: tool.to_owned(), version: None, ended: None };
        match &output.said {
            ToolReport::Fio(fio) => OutputOrigin {
                tool: with_form("fio", output.format),
                version: fio.version.map(|version| format!("{}.{}", version.major, version.minor)),
                ended: fio.jobs.iter().rev().find_map(|job| {
                    Some(snapshots::printed_time(job.ended.as_deref()?)?.to_string())
                }),
            },
            ToolReport::Iperf3(iperf3) => OutputOrigin {
                version: iperf3
                    .tests
                    .iter()
                    .find_map(|test| test.version.as_deref().map(escape_line)),
                ..plain(&with_form("iperf3", output.format))
            },
            _ => plain(output.format),
        }
    }
}

/// Returns `fio JSON`: the tool with its format, or the format alone if it begins with the tool.
fn with_form(tool: &str, format: &str) -> String {
    if format.starts_with(tool) { format.to_owned() } else { format!("{tool} {format}") }
}

fn load(reading: &ToolResult) -> ReportedLoad {
    let workload = &reading.workload;
    ReportedLoad {
        rw: workload.rw.as_deref().map(escape_line),
        bs: workload.bs,
        iodepth: workload.iodepth,
        numjobs: workload.numjobs,
        ioengine: workload.ioengine.as_deref().map(escape_line),
        rwmixread: workload.rwmixread,
        name: workload.name.as_deref().map(escape_line),
        caps: reading.caps.iter().map(|cap| escape_line(cap)).collect(),
        settings: reading
            .settings
            .as_ref()
            .map(|all| all.iter().map(|one| escape_line(one)).collect()),
    }
}

fn direction_of(way: ResultDirection) -> ImportedDirection {
    match way {
        ResultDirection::Read => ImportedDirection::Read,
        ResultDirection::Write => ImportedDirection::Write,
        ResultDirection::Trim => ImportedDirection::Trim,
        ResultDirection::Both => ImportedDirection::Both,
    }
}

fn samples(reading: &ToolResult, has_histogram: bool) -> Vec<ImportedSample> {
    let known =
        [reading.iops, reading.bytes_per_second, reading.mean_ns, reading.ios, reading.bytes];
    // Bytes alone are the data that a network moved.
    let counts = if reading.others.is_empty() { known.len() } else { 3 };
    if known[..counts].iter().all(Option::is_none)
        && reading.percentiles_ns.is_empty()
        && !has_histogram
    {
        return Vec::new();
    }
    let main = [
        ("iops", "1/s", Better::Higher, reading.iops),
        ("bandwidth", "B/s", Better::Higher, reading.bytes_per_second),
        ("latency.mean", "ns", Better::Lower, reading.mean_ns),
    ];
    let mut samples: Vec<ImportedSample> = main
        .into_iter()
        .map(|(metric, unit, better, figure)| match figure {
            Some(figure) if better == Better::Lower && is_below_digits(&figure) => ImportedSample {
                missing: Some(BELOW_DIGITS.to_owned()),
                ..empty_sample(metric, unit, better)
            },
            Some(figure) => known_sample(metric, unit, better, figure),
            None => ImportedSample {
                missing: Some(NOT_PRINTED.to_owned()),
                ..empty_sample(metric, unit, better)
            },
        })
        .collect();
    let counts = [("ios", "1", reading.ios), ("bytes", "B", reading.bytes)];
    samples.extend(counts.into_iter().filter_map(|(metric, unit, figure)| {
        Some(known_sample(metric, unit, Better::Higher, figure?))
    }));
    if let Some(seconds) = reading.workload.runtime_s {
        let value = Some(seconds * 1e9);
        samples.push(ImportedSample { value, ..empty_sample("runtime", "ns", Better::Lower) });
    }
    samples
}

/// Returns true if a printed 0 may be any value up to half of its last digit.
fn is_below_digits(figure: &PrintedNumber) -> bool {
    figure.value == 0.0 && figure.high > 0.0
}

fn percentiles(printed: &[(f64, PrintedNumber)]) -> Vec<PrintedPercentile> {
    let of = |(percent, figure): &(f64, PrintedNumber)| {
        if is_below_digits(figure) {
            return None;
        }
        let PrintedNumber { value: ns, low, high, .. } = *figure;
        let one = PrintedPercentile { percent: *percent, ns, low, high };
        [ns, low, high].iter().all(|end| end.is_finite()).then_some(one)
    };
    printed.iter().filter_map(of).collect()
}

fn other(other: &OtherToolResult) -> ImportedSample {
    let better = if other.more_is_better { Better::Higher } else { Better::Lower };
    known_sample(&escape_line(&other.name), &escape_line(&other.unit), better, other.figure)
}

fn empty_sample(metric: &str, unit: &str, better: Better) -> ImportedSample {
    ImportedSample {
        metric: metric.to_owned(),
        unit: unit.to_owned(),
        better,
        value: None,
        low: None,
        high: None,
        histogram: None,
        missing: None,
    }
}

fn known_sample(metric: &str, unit: &str, better: Better, figure: PrintedNumber) -> ImportedSample {
    let plain = empty_sample(metric, unit, better);
    if !(figure.value.is_finite() && figure.low.is_finite() && figure.high.is_finite()) {
        return ImportedSample { missing: Some("no finite number".to_owned()), ..plain };
    }
    let is_exact = figure.high - figure.low <= EXACT * figure.value.abs();
    let end = |end: f64| (!is_exact).then_some(end);
    ImportedSample {
        value: Some(figure.value),
        low: end(figure.low),
        high: end(figure.high),
        ..plain
    }
}

/// Returns a sample that points to the histogram of a result, at `offset` in the run's histograms.
pub(super) fn histogram_sample(offset: u64) -> ImportedSample {
    ImportedSample { histogram: Some(offset), ..empty_sample("latency", "ns", Better::Lower) }
}

/// Converts fio's bins into a histogram. fio names bins by their middles and makes them 1/64 of
/// their value wide, so that values are within 1.6 %. Returns `None` if the bins hold another
/// number of I/Os than the output reports, as in one that is cut off: the remaining bins would give
/// other percentiles.
fn histogram(reading: &ToolResult) -> Option<Histogram> {
    let (bins, ios) = (&reading.histogram_ns, reading.ios?.value);
    let count = bins.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(*count)) as f64;
    if count < 1.0 || (count - ios).abs() > WHOLE * ios {
        return None;
    }
    let mut histogram = Histogram::new();
    bins.iter().for_each(|(ns, count)| histogram.record_many(*ns, *count));
    Some(histogram)
}
