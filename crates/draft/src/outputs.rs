//! Figures of outputs of tools. A heading above an output names its system.

use super::PageLimits;
use super::figures::{DraftKind, FigurePlace, PageFigure, PageWay, counted_rate, printed_text};
use super::headings::HeadingList;
use super::labels::PageMetric;
use super::loads::{LoadList, PageLoad};
use iotax_audit::audit::Audited;
use iotax_audit::import::fio::snapshots;
use iotax_audit::import::format::{ToolOutput, ToolReport};
use iotax_audit::import::workload::{ResultDirection, ToolResult};
use iotax_audit::number::{NumberUnit, PrintedNumber};
use std::collections::{BTreeMap, HashSet};

/// Percentiles of an output that a draft has.
const PERCENTILES: [f64; 3] = [50.0, 99.0, 99.9];

#[derive(Default)]
pub(super) struct OutputFigures {
    pub figures: Vec<PageFigure>,
    pub unused: Vec<String>,
    /// Versions of fio: `fio 3.16`.
    pub versions: Vec<String>,
    /// Loads of which the audit found printed IOPS wrong.
    recounted: HashSet<usize>,
}

/// Reads fio's outputs and those of other tools with rates of I/O, in the order of the page.
pub(super) fn read_outputs(
    audited: &Audited,
    headings: &HeadingList,
    limits: &mut PageLimits,
    loads: &mut LoadList,
) -> OutputFigures {
    let mut read = OutputFigures::default();
    // Figures that the audit found wrong: their counts say what they should be.
    let findings = audited.findings.iter().filter(|finding| !finding.recomputed.is_empty());
    let wrong = findings.map(|finding| finding.spot).collect();
    let superseded = snapshots::superseded(&audited.outputs);
    let mut reader = OutputReader { audited, headings, limits, loads, wrong, read: &mut read };
    for (output, _) in audited.outputs.iter().zip(superseded).filter(|(_, old)| !old) {
        if reader.limits.is_over() {
            break;
        }
        reader.read_output(output);
    }
    let recounted = std::mem::take(&mut read.recounted);
    let is_needed = |figure: &PageFigure| {
        figure.place != FigurePlace::Counted || recounted.contains(&figure.load)
    };
    read.figures.retain(is_needed);
    read
}

struct OutputReader<'a> {
    audited: &'a Audited,
    headings: &'a HeadingList,
    limits: &'a mut PageLimits,
    loads: &'a mut LoadList,
    wrong: HashSet<iotax_audit::page::TextSpan>,
    read: &'a mut OutputFigures,
}

/// I/Os of a mix, the time, and the directions that the I/Os are of.
type MixTotal = (f64, PrintedNumber, Vec<PageWay>, ResultOrigin);

/// System, load and direction of all figures of one result.
struct ResultOrigin {
    system: String,
    load: usize,
    way: Option<PageWay>,
    line: u32,
}

impl OutputReader<'_> {
    fn read_output(&mut self, output: &ToolOutput) {
        if let ToolReport::Fio(fio) = &output.said {
            let version = fio.version.map(|one| format!("fio {}.{}", one.major, one.minor));
            if let Some(version) = version.filter(|version| !self.read.versions.contains(version)) {
                if self.read.versions.len() < 8 {
                    self.read.versions.push(version);
                }
            }
        }
        let results = output.said.readings();
        if results.is_empty() {
            return;
        }
        let line = self.audited.page.line_number(output.lines.start);
        let ways = results.iter().fold((false, false), |(read, write), result| match result.way {
            ResultDirection::Read => (true, write),
            ResultDirection::Write => (read, true),
            _ => (read, write),
        });
        let is_io =
            |result: &&ToolResult| result.iops.is_some() || result.bytes_per_second.is_some();
        if !results.iter().any(|result| is_io(&result)) {
            let why = format!("line {line}: output of {}: no I/O of a load", output.format);
            return self.read.unused.push(why);
        }
        let system = self.name_above(output.lines.start);
        // I/Os of both directions of a mix, and their time.
        let mut totals: BTreeMap<usize, MixTotal> = BTreeMap::new();
        for result in results.iter().filter(is_io) {
            let Some(origin) = self.read_result(result, &system, ways) else { continue };
            if let (Some(way), Some(ios), Some(time)) = (origin.way, result.ios, result.runtime_ns)
            {
                let total = totals.entry(origin.load).or_insert((0.0, time, Vec::new(), origin));
                total.0 += ios.value;
                total.2.push(way);
            }
        }
        for (ios, runtime, ways, origin) in totals.into_values() {
            if ways == [PageWay::Read, PageWay::Write] {
                let ios = PrintedNumber { value: ios, ..runtime };
                self.add_counted(&ResultOrigin { way: None, ..origin }, &ios, &runtime);
            }
        }
    }

    /// Adds the figures of a result. Returns `None` if it has none.
    fn read_result(
        &mut self,
        result: &ToolResult,
        system: &str,
        ways: (bool, bool),
    ) -> Option<ResultOrigin> {
        let line = self.audited.page.line_number(result.line);
        if let Some(why) = &result.failed {
            self.read.unused.push(format!("line {line}: the job failed: {why}"));
            return None;
        }
        let load = PageLoad::from_workload(&result.workload, ways, line);
        let way = match result.way {
            ResultDirection::Read => Some(PageWay::Read),
            ResultDirection::Write => Some(PageWay::Write),
            _ => None,
        };
        let alone = load.is_direction_alone().then(|| self.loads.only_mix(&load)).flatten();
        let found = match alone {
            Some(mix) => mix,
            None if !load.is_named() || result.way == ResultDirection::Trim => {
                self.read.unused.push(format!("line {line}: its load is not said"));
                return None;
            }
            None if !self.limits.has_room_for_loads(self.loads.all.len()) => return None,
            None => self.loads.find_or_add(&load),
        };
        let way = way.filter(|_| self.loads.all[found].is_mix());
        let origin = ResultOrigin { system: system.to_owned(), load: found, way, line };
        let unit = NumberUnit::Nanoseconds;
        self.add(&origin, PageMetric::Iops, result.iops, NumberUnit::PerSecond);
        let rate = result.bytes_per_second;
        self.add(&origin, PageMetric::Throughput, rate, NumberUnit::BytesPerSecond);
        self.add(&origin, PageMetric::Mean, result.mean_ns, unit);
        let points = result.percentiles_ns.iter();
        for (percent, figure) in points.filter(|(percent, _)| PERCENTILES.contains(percent)) {
            self.add(&origin, PageMetric::Percentile(*percent), Some(*figure), unit);
        }
        if let (Some(ios), Some(runtime)) = (result.ios, result.runtime_ns) {
            self.add_counted(&origin, &ios, &runtime);
        }
        if result.iops.is_some_and(|iops| self.wrong.contains(&iops.spot)) {
            self.read.recounted.insert(found);
        }
        Some(origin)
    }

    fn add(
        &mut self,
        origin: &ResultOrigin,
        metric: PageMetric,
        figure: Option<PrintedNumber>,
        unit: NumberUnit,
    ) {
        let Some(figure) = figure else { return };
        if let Some(text) = printed_text(&figure, unit, self.audited.page.quote(figure.spot)) {
            self.push(origin, metric, FigurePlace::Output, text, [figure.low, figure.high]);
        }
    }

    fn add_counted(&mut self, origin: &ResultOrigin, ios: &PrintedNumber, runtime: &PrintedNumber) {
        if let Some(rate) = counted_rate(ios, runtime) {
            let ends = [rate - 0.5, rate + 0.5];
            self.push(origin, PageMetric::Iops, FigurePlace::Counted, format!("{rate:.0}"), ends);
        }
    }

    fn push(
        &mut self,
        origin: &ResultOrigin,
        metric: PageMetric,
        place: FigurePlace,
        text: String,
        [low, high]: [f64; 2],
    ) {
        if !self.limits.has_room_for_figures(self.read.figures.len()) {
            return;
        }
        let ResultOrigin { system, load, way, line } = origin;
        let note = (place == FigurePlace::Counted).then_some("from its counts of I/Os");
        self.read.figures.push(PageFigure {
            system: system.clone(),
            load: *load,
            metric,
            way: *way,
            kind: DraftKind::Storage,
            place,
            text,
            low,
            high,
            line: *line,
            spot: None,
            note,
        });
    }

    /// Returns the name in the nearest heading above a line that has more than words of a load.
    fn name_above(&self, line: usize) -> String {
        let above = self.headings.near(line).chain(self.headings.above(line));
        let mut names = above.map(|heading| heading.meaning().name.as_str());
        names.find(|name| !name.is_empty()).unwrap_or_default().to_owned()
    }
}
