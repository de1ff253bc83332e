//! Output of most tools: figures after labels, as sheets. A sheet has the figures of one result, or
//! of a part of it such as an interval.

use super::cut::{UnnumberedLine, exact};
use super::workload::{OtherToolResult, OutputFigure, ResultDirection, ToolResult, Workload};
use crate::claim::Metric;
use crate::number::{NumberUnit, PrintedNumber};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// A figure with the name used in messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NamedFigure {
    pub(crate) name: &'static str,
    /// Unit as printed: `MB/s`.
    pub(crate) unit: &'static str,
    /// The figure in I/Os per second, bytes per second, bytes, nanoseconds, percent, or as a count.
    pub(crate) figure: PrintedNumber,
}

pub(crate) fn make_named_figure(
    name: &'static str,
    unit: &'static str,
    figure: PrintedNumber,
) -> NamedFigure {
    NamedFigure { name, unit, figure }
}

/// Names of figures that the importers of all tools use.
pub(crate) const IOPS: &str = "the IOPS";
pub(crate) const BANDWIDTH: &str = "the bandwidth";
pub(crate) const IOS: &str = "the I/Os";
pub(crate) const BYTES: &str = "the bytes";
pub(crate) const TIME: &str = "the time";
pub(crate) const MEAN: &str = "the mean latency";
pub(crate) const MOST: &str = "the greatest latency";

/// A figure of a line: its name, what it measures, its printed unit, and the factor from that to
/// the unit in which figures are stored.
pub(crate) type SheetField = (&'static str, Metric, &'static str, f64);

pub(super) const fn ms(name: &'static str) -> SheetField {
    (name, Metric::Latency, "ms", 1e6)
}

/// A line of `patterns.txt`.
pub(crate) struct Pattern {
    /// The line, as each version prints it ([`UnnumberedLine::fits`]).
    texts: Vec<&'static str>,
    /// The figures in order, each with how it is read: `asked` (a setting), `exact`, `cut`
    /// (truncated), `either` (truncated or rounded), or rounded if empty.
    places: Vec<(SheetField, &'static str)>,
    /// Further facts about the line: a direction, settings of the load (`bs=4096`), or `last` if
    /// the output ends with it.
    beside: Vec<&'static str>,
}

impl Pattern {
    fn parse_pattern(line: &'static str, kinds: &BTreeMap<&str, &'static str>) -> Option<Pattern> {
        let (line, beside) = line.split_once("; ").unwrap_or((line, ""));
        let (texts, places) = line.split_once(" -> ").unwrap_or((line, ""));
        let place = |text: &'static str| {
            let (name, kind) = text.strip_suffix(']')?.split_once(" [")?;
            let mut words = kinds.get(kind)?.split(' ');
            let metric = serde_json::from_str(&format!("\"{}\"", words.next()?)).ok()?;
            let unit = words.next().filter(|unit| *unit != "-").unwrap_or("");
            let scale = words.next()?.parse().ok()?;
            let rounding = if kind == "asked" { kind } else { words.next().unwrap_or("") };
            Some(((name, metric, unit, scale), rounding))
        };
        Some(Pattern {
            texts: texts.split(" | ").collect(),
            places: places
                .split(", ")
                .filter(|text| !text.is_empty())
                .map(place)
                .collect::<Option<_>>()?,
            beside: beside.split_whitespace().collect(),
        })
    }

    fn fits(&self, line: &UnnumberedLine) -> Option<Vec<PrintedNumber>> {
        self.texts.iter().find_map(|text| line.fits(text))
    }

    pub(super) fn has_figures(&self) -> bool {
        self.places.iter().any(|(_, rounding)| *rounding != "asked")
    }

    pub(super) fn first_name(&self) -> Option<&'static str> {
        self.places.first().map(|((name, ..), _)| *name)
    }

    pub(super) fn is_last(&self) -> bool {
        self.beside.contains(&"last")
    }
}

pub(super) fn patterns(tool: &str) -> &'static [Pattern] {
    static ALL: OnceLock<BTreeMap<&str, Vec<Pattern>>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let (mut kinds, mut all, mut tool) =
            (BTreeMap::new(), BTreeMap::<_, Vec<Pattern>>::new(), "");
        let lines = include_str!("patterns.txt").lines();
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with("// ")) {
            if let Some((name, kind)) =
                line.strip_prefix("kind ").and_then(|line| line.split_once(": "))
            {
                kinds.insert(name, kind);
            } else if let Some(name) = line.strip_prefix("= ") {
                tool = name;
            } else {
                all.entry(tool).or_default().extend(Pattern::parse_pattern(line, &kinds));
            }
        }
        all
    });
    all.get(tool).map_or(&[], Vec::as_slice)
}

/// Returns the first pattern that a line matches, and its figures.
pub(super) fn fitting<'p>(
    patterns: &'p [Pattern],
    line: &UnnumberedLine,
) -> Option<(&'p Pattern, Vec<PrintedNumber>)> {
    patterns.iter().find_map(|pattern| Some((pattern, pattern.fits(line)?)))
}

/// Part of a run that a sheet covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SheetSpan {
    #[default]
    Whole,
    Interval(u32),
    /// Average from the first to the last of these intervals.
    Average(u32, u32),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sheet {
    pub(crate) line: usize,
    pub(crate) workload: Workload,
    /// I/O direction of the result; `Both` also if it is not I/O. `None` if the sheet is not a
    /// result of its own, such as an interval.
    pub(crate) way: Option<ResultDirection>,
    pub(crate) figures: Vec<(Metric, NamedFigure)>,
    pub(crate) percentiles: Vec<(f64, PrintedNumber)>,
    pub(crate) others: Vec<OtherToolResult>,
    pub(crate) span: SheetSpan,
    /// Time of the run, if another sheet gives it.
    pub(crate) beside: Option<NamedFigure>,
    /// Number of sheets directly before this one that it sums.
    pub(crate) sums: usize,
    /// True if the figures repeat those of an earlier sheet.
    pub(crate) repeats: bool,
    pub(crate) failed: Option<String>,
    pub(crate) run: Option<String>,
}

impl Sheet {
    pub(crate) fn new(line: usize, way: Option<ResultDirection>) -> Sheet {
        Sheet { line, way, ..Sheet::default() }
    }

    pub(crate) fn get(&self, name: &str) -> Option<NamedFigure> {
        self.figures
            .iter()
            .map(|(_, named)| *named)
            .chain(self.beside)
            .find(|named| named.name == name)
    }

    pub(crate) fn figure_by_name(&self, name: &str) -> Option<PrintedNumber> {
        self.get(name).map(|named| named.figure)
    }

    /// Records a figure unless there is one of this name. Numbers of I/Os (`Metric::Issued`) become
    /// exact.
    pub(crate) fn add_sheet_figure(&mut self, metric: Metric, mut named: NamedFigure) {
        if metric == Metric::Issued {
            named.figure = exact(named.figure.spot, named.figure.value);
        }
        if self.get(named.name).is_none() {
            self.figures.push((metric, named));
        }
    }

    /// Records the figures of a line; returns true if the line matches a pattern.
    pub(super) fn take_line(&mut self, line: &UnnumberedLine, patterns: &[Pattern]) -> bool {
        fitting(patterns, line)
            .map(|(pattern, figures)| self.add_pattern_figures(pattern, figures))
            .is_some()
    }

    pub(super) fn add_pattern_figures(&mut self, pattern: &Pattern, figures: Vec<PrintedNumber>) {
        for (((name, metric, unit, scale), rounding), mut figure) in
            pattern.places.iter().zip(figures)
        {
            let width = figure.high - figure.low;
            match *rounding {
                "asked" => self.set_workload_value(name, figure.value as u64),
                "exact" => figure = exact(figure.spot, figure.value),
                "cut" => (figure.low, figure.high) = (figure.value, figure.value + width),
                "either" => figure.high = figure.value + width,
                _ => {}
            }
            if *rounding != "asked" {
                self.add_sheet_figure(
                    *metric,
                    make_named_figure(name, unit, figure.scaled(*scale)),
                );
            }
        }
        for word in &pattern.beside {
            match (word.split_once('='), *word) {
                (Some((name, value)), _) => {
                    self.set_workload_value(name, value.parse().unwrap_or(0))
                }
                (_, "read") => self.way = self.way.or(Some(ResultDirection::Read)),
                (_, "write") => self.way = self.way.or(Some(ResultDirection::Write)),
                (_, "both") => self.way = self.way.or(Some(ResultDirection::Both)),
                _ => {}
            }
        }
    }

    fn set_workload_value(&mut self, name: &str, value: u64) {
        let place = match name {
            "bs" => &mut self.workload.bs,
            "iodepth" => &mut self.workload.iodepth,
            _ => &mut self.workload.numjobs,
        };
        *place = Some(value);
    }

    /// Returns a result of one direction that repeats figures of this sheet. `names` holds the name
    /// of each here and there; figures that are missing here are left out.
    pub(crate) fn partial_sheet(
        &self,
        way: ResultDirection,
        names: &[(&str, &'static str)],
    ) -> Sheet {
        let renamed = |(from, to): &(&str, &'static str)| {
            Some((Metric::Other, NamedFigure { name: to, ..self.get(from)? }))
        };
        let figures = names.iter().filter_map(renamed).collect();
        Sheet {
            figures,
            workload: self.workload.clone(),
            repeats: true,
            ..Sheet::new(self.line, Some(way))
        }
    }

    pub(crate) fn figures_to(&self, add: &mut dyn FnMut(OutputFigure)) {
        if self.repeats {
            return;
        }
        for (metric, named) in &self.figures {
            add((*metric, unit(*metric, named.unit), named.figure));
        }
        self.percentiles
            .iter()
            .for_each(|(_, one)| add((Metric::Percentile, NumberUnit::Nanoseconds, *one)));
    }

    pub(crate) fn reading(&self) -> Option<ToolResult> {
        Some(ToolResult {
            iops: self.figure_by_name(IOPS),
            bytes_per_second: self.figure_by_name(BANDWIDTH),
            ios: self.figure_by_name(IOS),
            bytes: self.figure_by_name(BYTES),
            runtime_ns: self.figure_by_name(TIME),
            failed: self.failed.clone(),
            run: self.run.clone(),
            mean_ns: self.figure_by_name(MEAN),
            percentiles_ns: self.percentiles.clone(),
            others: self.others.clone(),
            ..ToolResult::new(self.line, self.workload.clone(), self.way?)
        })
    }
}

fn unit(metric: Metric, printed: &str) -> NumberUnit {
    match (metric, printed) {
        (_, "%") => NumberUnit::Percent,
        (_, "MWIPS") => NumberUnit::Mwips,
        (_, "/s") | (Metric::Iops, _) => NumberUnit::PerSecond,
        (Metric::Bandwidth, _) => NumberUnit::BytesPerSecond,
        (Metric::Total, _) => NumberUnit::Bytes,
        (Metric::Latency | Metric::Percentile | Metric::Runtime, _) => NumberUnit::Nanoseconds,
        (Metric::Score, _) => NumberUnit::Bare,
        _ => NumberUnit::Things,
    }
}
