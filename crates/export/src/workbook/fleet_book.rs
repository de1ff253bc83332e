//! The workbook of a fleet: the answer, the figures over all hosts, a matrix of hosts and figures
//! with live deviations from the median, the hosts, and their facts.

use super::cells::{BookCell, BookTable, CellForm};
use super::pen::{SheetPen, TableSpot};
use crate::fleet::fleet_exporter::{FleetExporter, outlier_word};
use iotax_analysis::findings::MeasuredFigure;
use iotax_analysis::findings::fleet::{FleetFigure, FleetFindings};
use iotax_analysis::fleet::FleetInput;
use iotax_units::median;
use rust_xlsxwriter::utility::{cell_range_absolute, row_col_to_cell, row_col_to_cell_absolute};
use rust_xlsxwriter::{DocProperties, ExcelDateTime, Format, Workbook, Worksheet, XlsxError};
use std::io::{Error, Result, Write};

pub const EXPORTER: FleetExporter = FleetExporter { name: "xlsx", endings: &["xlsx"], write };

fn write(fleet: &FleetInput, found: &FleetFindings, out: &mut dyn Write) -> Result<()> {
    out.write_all(&book_bytes(fleet, found).map_err(Error::other)?)
}

fn book_bytes(
    fleet: &FleetInput,
    found: &FleetFindings,
) -> std::result::Result<Vec<u8>, XlsxError> {
    let mut book = Workbook::new();
    book.push_worksheet(answer_sheet(found)?);
    book.push_worksheet(figure_sheet(found)?);
    book.push_worksheet(matrix_sheet(found)?);
    book.push_worksheet(host_sheet(fleet)?);
    book.push_worksheet(fact_sheet(fleet)?);
    // The same fleet makes the same file.
    let at = fleet.figures().next().and_then(|(_, one)| one.at.get(..19)).unwrap_or_default();
    let at = ExcelDateTime::parse_from_str(at).or_else(|_| ExcelDateTime::from_timestamp(0))?;
    book.set_properties(&DocProperties::new().set_creation_datetime(&at));
    book.save_to_buffer()
}

fn answer_sheet(found: &FleetFindings) -> std::result::Result<Worksheet, XlsxError> {
    let mut pen = SheetPen::new("Answer", "iotax: one scenario on many hosts")?;
    pen.note(&format!("fleet {} of {}", found.fleet, found.source))?;
    pen.note(&found.counted)?;
    pen.title("Answer")?;
    let plain = Format::new();
    let causes = found.causes.iter().take(20).map(|one| {
        format!(
            "{}: {}; others with it: {} of {}",
            one.hosts.join(", "),
            one.to_words(),
            one.shared_by,
            one.others
        )
    });
    let drift = found.drift.iter().map(|one| format!("since {}: {}", one.earlier, one.sentence));
    let lines = std::iter::once(found.answer.sentence.clone()).chain(causes).chain(drift);
    for line in lines.chain(found.alarms.iter().cloned()) {
        pen.write_text(pen.row, 0, &line, &plain)?;
        pen.row += 1;
    }
    pen.title("How to read the sheets")?;
    for line in [
        "Figures: mean, spread and prediction over all hosts.",
        "Matrix: each host's own figures, live against the median of all hosts, and the deviation \
         from the mean of the others with its 95 % interval.",
        "worse, better: an outlier at a false-discovery rate of 1 % over all hosts and figures.",
        "Hosts without figures are in the sheet Hosts; they are in no figure.",
    ]
    .into_iter()
    .chain(found.not_excluded.iter().map(String::as_str))
    {
        pen.note(line)?;
    }
    pen.sheet.set_column_width(0, 24)?;
    pen.finish((1, 0))
}

fn figure_sheet(found: &FleetFindings) -> std::result::Result<Worksheet, XlsxError> {
    let mut pen = SheetPen::new("Figures", "Figures over all hosts")?;
    let mut table = BookTable::default();
    for name in ["load", "figure", "unit"] {
        table.column(name, CellForm::Text);
    }
    table.column("hosts", CellForm::Count).column("outliers", CellForm::Count);
    table.figure_columns("mean", CellForm::Plain);
    table.figure_columns("spread", CellForm::Share);
    table.column("next host low", CellForm::Plain).column("next host high", CellForm::Plain);
    for one in &found.figures {
        let form = CellForm::from_unit(one.unit);
        let numbers = |figure: &MeasuredFigure, scale: f64| {
            let (low, high) = figure.bounds().unzip();
            [figure.value(), low, high].map(|value| BookCell::number(value.map(|one| one * scale)))
        };
        let hosts = match &one.mean {
            MeasuredFigure::Known { n, .. } => Some(*n as f64),
            _ => None,
        };
        let mut row = vec![
            BookCell::text(one.subject.as_str()),
            BookCell::text(one.key.to_words(one.unit)),
            BookCell::text(if one.unit == "1" { "ratio" } else { form.unit() }),
            BookCell::number(hosts),
            BookCell::Number(one.outliers as f64),
        ];
        row.extend(numbers(&one.mean, form.scale()));
        row.extend(numbers(&one.spread, 1.0));
        let [_, low, high] = numbers(&one.next_host, form.scale());
        row.extend([low, high]);
        table.rows.push(row);
    }
    pen.table(&table)?;
    pen.finish((2, 2))
}

/// Columns of a figure: its value, live against the median, and what the analysis found.
const PER_FIGURE: u16 = 6;

/// Most figures of the matrix: a sheet has 16,384 columns.
const MOST_FIGURES: usize = 2_730;

fn matrix_sheet(found: &FleetFindings) -> std::result::Result<Worksheet, XlsxError> {
    let mut pen = SheetPen::new("Matrix", "Hosts by figures, outliers first")?;
    pen.note("against the median: live, from the values in this sheet; it has no interval")?;
    if found.figures.len() > MOST_FIGURES {
        pen.note(&format!("the first {MOST_FIGURES} of {} figures", found.figures.len()))?;
    }
    let (mut medians, mut matrix) = (BookTable::default(), BookTable::default());
    medians.column("", CellForm::Text);
    matrix.column("host", CellForm::Text);
    // The matrix begins a row below the medians, which take one.
    let median_row = pen.row + 1;
    let spot = TableSpot::below_head(median_row + 2, found.hosts.len());
    let mut median_cells = vec![BookCell::text("median of hosts")];
    let mut middles = Vec::new();
    for (at, figure) in found.figures.iter().enumerate().take(MOST_FIGURES) {
        let (name, form) = (figure_head(figure), CellForm::from_unit(figure.unit));
        let values =
            found.hosts.iter().filter_map(|host| Some(host.deviations[at].as_ref()?.value));
        let middle = median(values.map(|value| value * form.scale()));
        let column = 1 + PER_FIGURE * at as u16;
        let range = cell_range_absolute(spot.first, column, spot.last, column);
        median_cells.push(BookCell::Formula(format!("=MEDIAN({range})"), Some(middle)));
        median_cells.extend(vec![BookCell::Empty; usize::from(PER_FIGURE) - 1]);
        medians.column(&name, form);
        for _ in 1..PER_FIGURE {
            medians.column("", CellForm::Text);
        }
        matrix.column(&name, form).column("against the median", CellForm::Share);
        matrix.figure_columns("against the others", CellForm::Share);
        matrix.column("outlier", CellForm::Text);
        middles.push((column, middle, row_col_to_cell_absolute(median_row, column)));
    }
    medians.rows.push(median_cells);
    for (row, host) in (spot.first..).zip(&found.hosts) {
        let mut cells = vec![BookCell::text(host.host.as_str())];
        for ((figure, one), (column, middle, median_cell)) in
            found.figures.iter().zip(&host.deviations).zip(&middles)
        {
            let Some(one) = one else {
                cells.extend(vec![BookCell::Empty; usize::from(PER_FIGURE)]);
                continue;
            };
            let value = one.value * CellForm::from_unit(figure.unit).scale();
            let formula = format!("={}/{median_cell}-1", row_col_to_cell(row, *column));
            let change = |ratio: Option<f64>| BookCell::number(ratio.map(|ratio| ratio - 1.0));
            let (low, high) = one.of_others.bounds().unzip();
            cells.push(BookCell::Number(value));
            cells.push(BookCell::Formula(formula, Some(value / middle - 1.0)));
            cells.extend([one.of_others.value(), low, high].map(change));
            cells.push(BookCell::text(outlier_word(Some(one))));
        }
        matrix.rows.push(cells);
    }
    pen.table(&medians)?;
    pen.table(&matrix)?;
    pen.finish((spot.first, 1))
}

fn figure_head(figure: &FleetFigure) -> String {
    format!("{}: {}", figure.key.workload, figure.key.to_words(figure.unit))
}

fn host_sheet(fleet: &FleetInput) -> std::result::Result<Worksheet, XlsxError> {
    let mut pen = SheetPen::new("Hosts", "Hosts of the fleet")?;
    let mut table = BookTable::default();
    for name in ["host", "state", "why", "next", "groups", "run", "started", "iotax", "scenario"] {
        table.column(name, CellForm::Text);
    }
    table.column("clock ahead", CellForm::Seconds);
    let text = |text: Option<&str>| text.map_or(BookCell::Empty, BookCell::text);
    for host in &fleet.hosts {
        let own = host.figures.as_ref();
        let groups = host.groups.join(", ");
        table.rows.push(vec![
            BookCell::text(host.host.as_str()),
            BookCell::text(host.state.as_str()),
            text(host.why.as_deref()),
            text(host.next.as_deref()),
            text(Some(&groups)),
            text(own.map(|one| one.run.as_str())),
            text(own.map(|one| one.at.as_str())),
            text(own.map(|one| one.iotax.as_str())),
            text(own.and_then(|one| one.scenario_sha256.get(..16))),
            BookCell::number(host.clock_ahead_s),
        ]);
    }
    pen.table(&table)?;
    pen.finish((2, 1))
}

fn fact_sheet(fleet: &FleetInput) -> std::result::Result<Worksheet, XlsxError> {
    let mut pen = SheetPen::new("Facts", "Facts of the hosts")?;
    let mut table = BookTable::default();
    for name in ["host", "of", "fact", "value"] {
        table.column(name, CellForm::Text);
    }
    let facts =
        fleet.figures().flat_map(|(host, own)| own.facts.iter().map(move |one| (host, one)));
    for (host, fact) in facts.take(MOST_FACTS) {
        let texts = [&host.host, &fact.subject, &fact.key, &fact.value];
        table.rows.push(texts.map(|text| BookCell::text(text.as_str())).into());
    }
    pen.table(&table)?;
    pen.finish((2, 1))
}

/// Most rows of facts: a sheet has 1,048,576 rows. SQLite and Parquet have all.
const MOST_FACTS: usize = 500_000;
