//! Rows of `[published]`: a row for each load and metric, a figure for each system.

use super::figures::{DraftKind, FigurePlace, PageFigure, PageWay};
use super::labels::PageMetric;
use super::loads::PageLoad;
use super::systems::PageSystem;
use std::collections::{BTreeMap, HashMap};

#[derive(Debug)]
pub(super) struct PublishedRow {
    pub load: usize,
    pub metric: String,
    pub note: Option<&'static str>,
    /// A text per system; `None` where nothing was printed.
    pub cells: Vec<Option<String>>,
}

/// Order of rows: load, metric, direction, and which of several prints.
type RowKey = (usize, u8, u64, Option<PageWay>, u8);

const OTHER_PRINT: &str = "as the outputs of the tool print it";

/// Returns the rows for systems of one kind, and why figures were left out.
pub(super) fn rows_of(
    kind: DraftKind,
    systems: &[&PageSystem],
    loads: &[PageLoad],
    figures: &[PageFigure],
    unused: &mut Vec<String>,
) -> Vec<PublishedRow> {
    let columns: HashMap<&str, usize> =
        systems.iter().enumerate().map(|(at, system)| (system.text.as_str(), at)).collect();
    let of_kind: Vec<&PageFigure> = figures.iter().filter(|figure| figure.kind == kind).collect();
    let mut ways: HashMap<(&str, usize, String), Vec<&PageFigure>> = HashMap::new();
    for figure in of_kind.iter().filter(|figure| figure.way.is_some()) {
        let key =
            (figure.system.as_str(), figure.load, metric_word(figure, &loads[figure.load], None));
        ways.entry(key).or_default().push(figure);
    }
    let mut cells: BTreeMap<RowKey, Vec<Option<&PageFigure>>> = BTreeMap::new();
    // Figures of tables first: those of outputs only fill what tables leave.
    let (tabled, printed): (Vec<&PageFigure>, Vec<&PageFigure>) =
        of_kind.iter().copied().partition(|figure| figure.is_of_table());
    for figure in tabled.into_iter().chain(printed) {
        let load = &loads[figure.load];
        if load.is_mix() && figure.way.is_none() && figure.place != FigurePlace::Counted {
            // Beside the figures of both directions this is one of them, or no metric of a mix.
            let key = (figure.system.as_str(), figure.load, metric_word(figure, load, None));
            let is_copy =
                ways.get(&key).is_some_and(|ways| ways.iter().any(|one| one.agrees_with(figure)));
            let is_time = matches!(figure.metric, PageMetric::Mean | PageMetric::Percentile(_));
            if is_time && !is_copy {
                unused
                    .push(format!("line {}: {}: of reads or of writes?", figure.line, figure.text));
            }
            if is_time || is_copy {
                continue;
            }
        }
        let Some(column) = columns.get(figure.system.as_str()).copied() else { continue };
        let (metric, percent) = match figure.metric {
            PageMetric::Iops => (0, 0),
            PageMetric::Throughput => (1, 0),
            PageMetric::Mean => (2, 0),
            PageMetric::Percentile(percent) => (3, percent.to_bits()),
        };
        let key = |print: u8| (figure.load, metric, percent, figure.way, print);
        let empty = || vec![None; systems.len()];
        if figure.place == FigurePlace::Counted {
            cells.entry(key(2)).or_insert_with(empty)[column] = Some(figure);
            continue;
        }
        let first = &mut cells.entry(key(0)).or_insert_with(empty)[column];
        match first {
            None => *first = Some(figure),
            Some(known) if known.agrees_with(figure) => {}
            Some(known) if known.is_of_table() && !figure.is_of_table() => {
                cells.entry(key(1)).or_insert_with(empty)[column].get_or_insert(figure);
            }
            Some(known) => unused.push(format!(
                "line {}: {}: line {} has {} for the same",
                figure.line, figure.text, known.line, known.text
            )),
        }
    }
    let row = |(key, cells): (RowKey, Vec<Option<&PageFigure>>)| {
        let first = cells.iter().flatten().next()?;
        let other = (key.4 == 1).then_some(OTHER_PRINT);
        Some(PublishedRow {
            load: key.0,
            metric: metric_word(first, &loads[key.0], first.way),
            note: other.or(first.note),
            cells: cells.iter().map(|cell| cell.map(|figure| figure.text.clone())).collect(),
        })
    };
    cells.into_iter().filter_map(row).collect()
}

/// Returns the metric in the words of `[published]`. Writes that end with a flush are durable.
fn metric_word(figure: &PageFigure, load: &PageLoad, way: Option<PageWay>) -> String {
    let is_durable = load.end_fsync && load.write && way != Some(PageWay::Read);
    let durable = if is_durable { "durable " } else { "" };
    let way = match way {
        None => "",
        Some(PageWay::Read) => "read ",
        Some(PageWay::Write) => "write ",
    };
    match figure.metric {
        PageMetric::Iops => format!("{way}{durable}iops"),
        PageMetric::Throughput => format!("{way}{durable}throughput"),
        PageMetric::Mean => format!("{way}mean"),
        PageMetric::Percentile(percent) => format!("{way}p{percent}"),
    }
}
