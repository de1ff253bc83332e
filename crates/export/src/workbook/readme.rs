//! The first sheet: what came out, the most important first, how to read the workbook, and how the
//! run was made.

use super::book_sheet::part_title;
use super::pen::{INPUT_COLOR, SheetPen};
use crate::exporter::ExportedRun;
use iotax_analysis::Findings;
use iotax_report::answer::verdict_sentences;
use rust_xlsxwriter::utility::quote_sheet_name;
use rust_xlsxwriter::{Format, FormatAlign, Url, Worksheet, XlsxError};

const LEGEND: [&str; 6] = [
    "A green cell is an input: change it, and the cells that depend on it follow.",
    "An empty cell has no figure; the column remarks has the reason. An empty cell is never zero.",
    "low and high are the ends of the 95 % interval. Verdicts and shares hold for all comparisons \
     of the run at once.",
    "costs, gains: the interval excludes no change. no difference above X: more is excluded. \
     unresolved: nothing follows.",
    "Shares of a baseline that you choose yourself are ratios of two figures and have no interval.",
    "MB/s is 1,000,000 bytes a second; µs is a millionth of a second.",
];
/// Width of the column of texts, in characters.
const TEXT_WIDTH: usize = 120;

pub fn draw(
    runs: &[ExportedRun],
    contents: &[(String, &'static str)],
) -> Result<Worksheet, XlsxError> {
    let mut pen = SheetPen::new("Read me", "iotax: results")?;
    for run in runs {
        add_run(&mut pen, &run.findings, &|title| part_title(runs, run, title))?;
    }
    pen.title("Sheets")?;
    for (name, about) in contents {
        let link = Url::new(format!("internal:{}!A1", quote_sheet_name(name))).set_text(name);
        pen.sheet.write_url(pen.row, 0, link)?;
        add_text(&mut pen, about)?;
    }
    pen.title("How to read them")?;
    let input = Format::new().set_background_color(INPUT_COLOR);
    pen.write_text(pen.row, 0, "input", &input)?;
    for text in LEGEND {
        add_text(&mut pen, text)?;
    }
    for run in runs {
        add_origin(&mut pen, &run.findings, &part_title(runs, run, "How it was measured"))?;
    }
    pen.sheet.set_column_width(0, 24)?.set_column_width(1, TEXT_WIDTH as f64)?;
    pen.finish((1, 0))
}

/// Adds a row with a text in the second column, which is high enough for all of its lines.
fn add_text(pen: &mut SheetPen, text: &str) -> Result<(), XlsxError> {
    let format = Format::new().set_text_wrap().set_align(FormatAlign::Top);
    pen.write_text(pen.row, 1, text, &format)?;
    let lines = text.chars().count().div_ceil(TEXT_WIDTH).max(1);
    pen.sheet.set_row_height(pen.row, 15.0 * lines as f64)?;
    pen.row += 1;
    Ok(())
}

fn add_named(pen: &mut SheetPen, name: &str, text: &str) -> Result<(), XlsxError> {
    let format = Format::new().set_align(FormatAlign::Top);
    pen.write_text(pen.row, 0, name, &format)?;
    add_text(pen, text)
}

fn add_run(
    pen: &mut SheetPen,
    findings: &Findings,
    titled: &dyn Fn(&str) -> String,
) -> Result<(), XlsxError> {
    pen.title(&titled("What came out"))?;
    let headline = findings.headline.as_deref().or(findings.no_headline.as_deref());
    let ruler = findings.ruler.iter().map(|ruler| ruler.sentence.clone());
    let verdicts = headline.map(str::to_owned).into_iter();
    for text in verdicts.chain(verdict_sentences(findings)).chain(ruler) {
        add_text(pen, &text)?;
    }
    if !findings.warnings.is_empty() {
        pen.title(&titled("Warnings"))?;
        for warning in &findings.warnings {
            add_text(pen, &warning.to_sentence())?;
        }
    }
    Ok(())
}

fn add_origin(pen: &mut SheetPen, findings: &Findings, title: &str) -> Result<(), XlsxError> {
    pen.title(title)?;
    let run = &findings.run;
    let state = run.state_said();
    let rows = [
        ("run", run.id.as_str()),
        ("name", run.name.as_deref().unwrap_or_default()),
        ("at", &run.at),
        ("state", &state),
        ("command", &run.command),
        ("iotax", &run.iotax),
    ];
    for (name, text) in rows.into_iter().filter(|(_, text)| !text.is_empty()) {
        add_named(pen, name, text)?;
    }
    for reason in &findings.not_excluded {
        add_named(pen, "not ruled out", reason)?;
    }
    Ok(())
}
