//! Figures of tables: heads and labels say which system, which load and which metric a cell has.

use super::figures::{DraftKind, FigurePlace, PageFigure, PageWay, printed_text};
use super::headings::HeadingList;
use super::labels::{LabelMeaning, PageMetric, read_label};
use super::loads::{LoadList, PageLoad};
use super::{MOST_UNUSED, PageLimits};
use iotax_audit::audit::Audited;
use iotax_audit::number::{NumberUnit, PrintedNumber, Quantity};
use iotax_audit::page::AuditedPage;
use iotax_audit::table::PageTable;

/// A figure of a data sheet.
pub(super) struct QuotedRating {
    pub load: usize,
    pub metric: PageMetric,
    pub text: String,
    /// Head of the column: `PM9A1 rated`.
    pub head: String,
}

/// Results of the tables of a page.
#[derive(Default)]
pub(super) struct TableFigures {
    pub figures: Vec<PageFigure>,
    pub rated: Vec<QuotedRating>,
    /// Cells that no load, no metric or no unit of a scenario fits, in words with their lines.
    pub unused: Vec<String>,
}

/// Reads the tables in the order of the page, and adds their loads.
pub(super) fn read_tables(
    audited: &Audited,
    headings: &HeadingList,
    limits: &mut PageLimits,
    loads: &mut LoadList,
) -> TableFigures {
    let mut read = TableFigures::default();
    for (index, table) in audited.tables.iter().enumerate() {
        if limits.is_over() {
            break;
        }
        let surroundings = TableSurroundings::of_table(table, headings);
        TableReader {
            page: &audited.page,
            table,
            index,
            surroundings,
            limits,
            loads,
            read: &mut read,
        }
        .read_cells();
    }
    read
}

/// Meanings of a table's corner, title and headings, the nearest first.
struct TableSurroundings {
    all: Vec<LabelMeaning>,
}

impl TableSurroundings {
    fn of_table(table: &PageTable, headings: &HeadingList) -> TableSurroundings {
        let own = [Some(table.corner.as_str()), table.title.as_deref()];
        let above = headings.above(table.lines.start).map(|heading| heading.meaning().clone());
        let all = own.into_iter().flatten().map(read_label).chain(above).collect();
        TableSurroundings { all }
    }

    /// Returns the first name; a table whose heads and labels name no system is of one.
    fn name(&self) -> Option<&str> {
        self.all.iter().map(|meaning| meaning.name.as_str()).find(|name| !name.is_empty())
    }

    fn load(&self) -> Option<&PageLoad> {
        self.all.iter().map(|meaning| &meaning.load).find(|load| load.is_named())
    }

    fn metric(&self) -> Option<PageMetric> {
        self.all.iter().take(2).find_map(|meaning| meaning.metric)
    }
}

struct TableReader<'a> {
    page: &'a AuditedPage,
    table: &'a PageTable,
    index: usize,
    surroundings: TableSurroundings,
    limits: &'a mut PageLimits,
    loads: &'a mut LoadList,
    read: &'a mut TableFigures,
}

impl TableReader<'_> {
    fn read_cells(&mut self) {
        let table = self.table;
        let heads: Vec<LabelMeaning> = table.heads.iter().map(|head| read_label(head)).collect();
        for row in &table.rows {
            let label = read_label(&row.label);
            for ((cell, head), text) in row.cells.iter().zip(&heads).zip(&table.heads) {
                let quantity = cell.as_ref().and_then(|cell| cell.figure);
                let Some(quantity) = quantity.filter(|one| is_result(one.unit)) else { continue };
                if self.limits.is_over() {
                    return;
                }
                self.read_figure(&label, head, text, &quantity);
            }
        }
    }

    fn read_figure(
        &mut self,
        label: &LabelMeaning,
        head: &LabelMeaning,
        text: &str,
        quantity: &Quantity,
    ) {
        let line = self.page.line_number(quantity.figure.spot.index());
        let quote = self.page.quote(quantity.figure.spot).trim();
        let (load, metric) = self.load_and_metric(label, head, quantity);
        let is_unixbench = load
            .as_ref()
            .and_then(|load| load.probe)
            .is_some_and(|probe| probe.starts_with("unixbench"));
        let quantity = &match is_unixbench && quote.ends_with("KBps") {
            true => in_kib(quantity),
            false => *quantity,
        };
        let is_network = load.is_none() && quantity.unit == NumberUnit::BitsPerSecond;
        let load = if is_network { Some(PageLoad { line, ..network_load() }) } else { load };
        let Some(metric) = metric else {
            return self.leave_out(line, quote, "its unit is not said");
        };
        let Some(text_of) = printed_text(&quantity.figure, quantity.unit, quote) else {
            return self.leave_out(line, quote, "no unit of a scenario");
        };
        let found = match load {
            Some(load) => self.find_load(&load),
            // A page of one load need not name it.
            None => self.loads.only().map(|only| (only, None)),
        };
        let Some((load, way)) = found else {
            return self.leave_out(line, quote, "no load is said that iotax has");
        };
        if head.is_rated || label.is_rated {
            let head = if head.is_rated { text } else { &self.table.corner };
            let rated = QuotedRating { load, metric, text: text_of, head: head.to_owned() };
            return self.read.rated.push(rated);
        }
        if !self.limits.has_room_for_figures(self.read.figures.len()) {
            return;
        }
        let probe = self.loads.all[load].probe;
        let kind = match probe {
            _ if is_network => DraftKind::Network,
            Some(_) => DraftKind::Machine,
            None => DraftKind::Storage,
        };
        let arrow = if is_network { " to " } else { " " };
        self.read.figures.push(PageFigure {
            system: self.system_name(label, head, arrow),
            load,
            metric,
            way,
            kind,
            place: FigurePlace::Table(self.index),
            text: text_of,
            low: quantity.figure.low,
            high: quantity.figure.high,
            line,
            spot: Some(quantity.figure.spot),
            note: None,
        });
    }

    /// Joins what label and head leave of names; without any, what surrounds the table.
    fn system_name(&self, label: &LabelMeaning, head: &LabelMeaning, between: &str) -> String {
        let names = [label, head].map(|meaning| meaning.name.as_str());
        let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
        match names.is_empty() {
            true => self.surroundings.name().unwrap_or_default().to_owned(),
            false => names.join(between),
        }
    }

    fn load_and_metric(
        &self,
        label: &LabelMeaning,
        head: &LabelMeaning,
        quantity: &Quantity,
    ) -> (Option<PageLoad>, Option<PageMetric>) {
        let mut load = label.load.clone();
        load.learn(&head.load);
        let mut load = load.settle();
        if let Some(around) = self.surroundings.load().filter(|_| !load.is_named()) {
            load.learn(around);
        }
        load.line = self.page.line_number(quantity.figure.spot.index());
        let said = [head, label].into_iter().find_map(|meaning| meaning.metric);
        let said = said.or_else(|| self.surroundings.metric());
        let is_time =
            |metric: &PageMetric| matches!(metric, PageMetric::Mean | PageMetric::Percentile(_));
        let metric = match quantity.unit {
            NumberUnit::PerSecond | NumberUnit::Mwips => Some(PageMetric::Iops),
            NumberUnit::BytesPerSecond | NumberUnit::BitsPerSecond => Some(PageMetric::Throughput),
            NumberUnit::Nanoseconds => said.filter(is_time).or(Some(PageMetric::Mean)),
            // `26.0k` without a unit counts I/Os; a plain number only where a head says so.
            _ => said.filter(|metric| *metric == PageMetric::Iops).or_else(|| {
                (said.is_none() && quantity.scale > 1.0 && load.is_named())
                    .then_some(PageMetric::Iops)
            }),
        };
        (load.is_named().then_some(load), metric)
    }

    /// Returns the index of a load, and the direction if it is that of a mix.
    fn find_load(&mut self, load: &PageLoad) -> Option<(usize, Option<PageWay>)> {
        if load.is_direction_alone() {
            if let Some(mix) = self.loads.only_mix(load) {
                return Some((mix, Some(if load.read { PageWay::Read } else { PageWay::Write })));
            }
        }
        let has_room = self.limits.has_room_for_loads(self.loads.all.len());
        has_room.then(|| (self.loads.find_or_add(load), None))
    }

    fn leave_out(&mut self, line: u32, quote: &str, why: &str) {
        if self.read.unused.len() < MOST_UNUSED {
            self.read.unused.push(format!("line {line}: {quote}: {why}"));
        }
    }
}

/// Returns a rate that was read as kB/s, and is in KiB/s: UnixBench's programs print these as KBps.
fn in_kib(quantity: &Quantity) -> Quantity {
    let mut rate = *quantity;
    let PrintedNumber { value, low, high, .. } = &mut rate.figure;
    [value, low, high].into_iter().for_each(|end| *end *= 1.024);
    rate
}

/// Returns the load of a network test: one stream.
pub(super) fn network_load() -> PageLoad {
    PageLoad { probe: Some("tcp(send)"), ..PageLoad::default() }
}

/// Returns true if a cell's figure may be a measured result. Ratios follow from others.
fn is_result(unit: NumberUnit) -> bool {
    matches!(
        unit,
        NumberUnit::Bare
            | NumberUnit::PerSecond
            | NumberUnit::BytesPerSecond
            | NumberUnit::BitsPerSecond
            | NumberUnit::Nanoseconds
            | NumberUnit::Mwips
    )
}
