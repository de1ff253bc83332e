//! How cells are written, and the notes below a table.

use super::chosen::ChosenFigure;
use super::shares::FigureShare;
use crate::findings::MeasuredFigure;
use crate::findings::article::{ArticleCell, ArticleRow};
use iotax_model::scenario::article::{CellChoice, CellDigits, TableUnit};
use iotax_units::distinct;

/// Returns the cell of a figure, with its share behind it if there is one.
pub fn figure_cell(
    choice: &CellChoice,
    own: ChosenFigure,
    share: Option<(MeasuredFigure, &CellChoice)>,
) -> ArticleCell {
    let base = match &own.figure {
        MeasuredFigure::Known { unit, .. } => unit,
        _ => "1/s",
    };
    let unit = choice.unit_of(base);
    let text = own.figure.value().map_or_else(String::new, |value| match own.printed {
        Some(printed) => printed.to_owned(),
        None => figure_text(choice, value, &unit, &own.figure),
    });
    let second = match (&choice.also, share) {
        (Some(_), Some((share, style))) => share.value().map(|share| {
            let usual = CellChoice { digits: SHARE_DIGITS, tight: Some(true), ..style.clone() };
            let digits = style.or_else(&usual);
            digits.figure_text(share, &digits.unit_of("1"))
        }),
        (Some(unit), None) => own.figure.value().map(|value| choice.figure_text(value, unit)),
        (None, _) => None,
    };
    let text = match second.filter(|_| !text.is_empty()) {
        Some(second) => format!("{text} ({second})"),
        None => text,
    };
    let reading = own.measured.map(|spot| spot.reading.emulated(spot.stack));
    ArticleCell {
        text: in_brackets(choice, text),
        unit: unit.written.clone(),
        factor: unit.factor,
        decimals: choice.decimals(&unit),
        origin: own.origin,
        verdict: None,
        masked: None,
        emulated: reading.flatten(),
        figure: own.figure,
    }
}

/// Digits of a share behind a figure.
const SHARE_DIGITS: Option<CellDigits> = Some(CellDigits::Decimals(0));

fn figure_text(
    choice: &CellChoice,
    value: f64,
    unit: &TableUnit,
    figure: &MeasuredFigure,
) -> String {
    let text = choice.figure_text(value, unit);
    match figure.bounds().filter(|_| choice.intervals.unwrap_or(false)) {
        Some((low, high)) => {
            let [low, high] = [low, high].map(|end| choice.figure_text(end, unit));
            format!("{text} [{low} to {high}]")
        }
        None => text,
    }
}

pub fn share_cell(style: &CellChoice, shared: FigureShare, own: &ChosenFigure) -> ArticleCell {
    let unit = style.unit_of("1");
    let value = shared.figure.value();
    let text = value.map(|share| figure_text(style, share, &unit, &shared.figure));
    let emulated = own.measured.and_then(|spot| spot.reading.emulated(spot.stack));
    ArticleCell {
        text: in_brackets(style, text.unwrap_or_default()),
        unit: unit.written.clone(),
        factor: unit.factor,
        decimals: style.decimals(&unit),
        figure: shared.figure,
        origin: shared.origin,
        verdict: shared.verdict,
        masked: shared.masked,
        emulated,
    }
}

fn in_brackets(choice: &CellChoice, text: String) -> String {
    let is_in_brackets = choice.brackets.unwrap_or(false) && !text.is_empty();
    if is_in_brackets { format!("({text})") } else { text }
}

/// Returns why cells are empty, each reason once, then limits and emulation.
pub fn notes(rows: &[ArticleRow], columns: &[String]) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    let mut add = |reason: String, row: &str, column: &str| {
        let spot = format!("{row} / {column}");
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, spots)) => spots.push(spot),
            None => reasons.push((reason, vec![spot])),
        }
    };
    for row in rows {
        for (cell, column) in row.cells.iter().zip(columns) {
            match &cell.figure {
                MeasuredFigure::Missing { reason } => {
                    add(format!("empty: {reason}"), &row.name, column);
                }
                MeasuredFigure::Failed { reason } => {
                    add(format!("failed: {reason}"), &row.name, column);
                }
                MeasuredFigure::Known { .. } => {
                    let masked = cell.masked.iter().filter(|_| cell.is_unresolved());
                    masked.for_each(|words| add(words.clone(), &row.name, column));
                }
            }
        }
    }
    let said = |(reason, spots): &(String, Vec<String>)| match spots.len() {
        many if many > MOST_SPOTS => {
            format!("{reason} ({}, and {} more)", spots[0], many - 1)
        }
        _ => format!("{reason} ({})", spots.join("; ")),
    };
    let cells = rows.iter().flat_map(|row| &row.cells);
    let emulated = distinct(cells.filter_map(|cell| cell.emulated.clone()));
    reasons.iter().map(said).chain(emulated).collect()
}

/// Number of cells that a note names.
const MOST_SPOTS: usize = 6;
