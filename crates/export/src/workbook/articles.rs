//! Sheets of tables in the form of an article, one for each: numbers in the units of the article,
//! and below them every figure with its interval.

use super::cells::{BookCell, BookTable, CellForm, REMARKS, RowCells};
use super::pen::SheetPen;
use iotax_analysis::findings::article::{ArticleCell, ArticleFindings};
use rust_xlsxwriter::{Worksheet, XlsxError};

pub const ABOUT: &str = "a table of the scenario, in the units of its article, with all intervals";

/// Longest name of a sheet in characters.
const LONGEST_NAME: usize = 31;

/// Returns a sheet for each table, named like it and unlike the sheets that are `taken`.
pub fn sheets(
    tables: &[&ArticleFindings],
    mut taken: Vec<String>,
) -> Result<Vec<Worksheet>, XlsxError> {
    let mut all = Vec::new();
    for table in tables {
        let name = sheet_name(&table.name, &taken);
        let mut sheet = draw(table)?;
        sheet.set_name(&name)?;
        taken.push(name);
        all.push(sheet);
    }
    Ok(all)
}

/// Returns a name that a sheet may have, without the signs that are refused there.
fn sheet_name(name: &str, taken: &[String]) -> String {
    let is_plain = |c: &char| c.is_alphanumeric() || " -_.".contains(*c);
    let plain: String = name.chars().map(|c| if is_plain(&c) { c } else { '_' }).collect();
    let plain = match plain.trim() {
        "" => "Table",
        // Excel keeps this name for itself.
        word if word.eq_ignore_ascii_case("history") => "Table of history",
        word => word,
    };
    let is_taken = |word: &str| taken.iter().any(|one| one.to_lowercase() == word.to_lowercase());
    let numbered = |number: usize| {
        let tail = if number > 1 { format!(" {number}") } else { String::new() };
        let room = LONGEST_NAME - tail.chars().count();
        format!("{}{tail}", plain.chars().take(room).collect::<String>())
    };
    (1..).map(numbered).find(|word| !is_taken(word)).unwrap_or_default()
}

fn draw(table: &ArticleFindings) -> Result<Worksheet, XlsxError> {
    let mut pen = SheetPen::new("Table", &table.title)?;
    pen.row += 1;
    pen.table(&grid(table))?;
    for note in &table.notes {
        pen.note(note)?;
    }
    pen.title("Every figure with its interval")?;
    pen.table(&figures(table))?;
    pen.finish((3, 1))
}

fn grid(table: &ArticleFindings) -> BookTable {
    let mut book = BookTable::default();
    book.column(&table.corner, CellForm::Text);
    for column in &table.columns {
        book.column(column, CellForm::Plain);
    }
    for row in &table.rows {
        let name = BookCell::text(row.name.as_str());
        book.rows.push(std::iter::once(name).chain(row.cells.iter().map(number_cell)).collect());
    }
    book
}

/// Returns the number in the unit of the article, which its format shows.
fn number_cell(cell: &ArticleCell) -> BookCell {
    let Some(value) = cell.figure.value() else { return BookCell::Empty };
    let decimals = match cell.decimals {
        0 => String::new(),
        many => format!(".{}", "0".repeat(many)),
    };
    match cell.unit.as_str() {
        "%" => BookCell::Formed(value, format!("0{decimals}%")),
        unit => {
            let unit: String = unit.chars().filter(|c| c.is_alphanumeric() || *c == '/').collect();
            BookCell::Formed(value / cell.factor, format!("#,##0{decimals}\" {unit}\""))
        }
    }
}

fn figures(table: &ArticleFindings) -> BookTable {
    let mut book = BookTable::default();
    for name in ["row", "column", "as printed", "unit"] {
        book.column(name, CellForm::Text);
    }
    book.figure_columns("figure", CellForm::Plain).column(REMARKS, CellForm::Text);
    for row in &table.rows {
        for (cell, column) in row.cells.iter().zip(&table.columns) {
            let mut cells = RowCells::default();
            for text in [row.name.as_str(), column, &cell.text, &cell.unit] {
                cells.text(text);
            }
            let figure = cell.figure.clone().map("", |value| value / cell.factor);
            cells.figure("figure", Some(&figure), CellForm::Plain);
            cell.masked.iter().for_each(|words| cells.remark(words.clone()));
            cell.emulated.iter().for_each(|words| cells.remark(words.clone()));
            book.rows.push(cells.with_remarks());
        }
    }
    book
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_sheets_are_what_excel_takes() {
        let taken = ["Summary".to_owned(), "e0".to_owned()];
        for (name, sheet) in [
            ("iSER", "iSER"),
            ("E0", "E0 2"),
            ("a/b:c*d?[e]", "a_b_c_d__e_"),
            ("", "Table"),
            ("'summary'", "_summary_"),
            ("summary", "summary 2"),
            ("History", "Table of history"),
            ("a table whose name is far too long for a sheet", "a table whose name is far too l"),
        ] {
            assert_eq!(sheet_name(name, &taken), sheet);
        }
    }
}
