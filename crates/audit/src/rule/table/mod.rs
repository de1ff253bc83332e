//! Rules on tables: ratios against their operands, cells against the outputs that they were copied
//! from.

pub mod copies;
pub mod ratios;

use crate::number::{Interval, Quantity};

/// Formats a value in the unit and digits of a printed figure: `94.1 %`, `26.0k`; with more digits
/// if the value would vanish.
pub fn like(printed: &str, quantity: &Quantity, value: f64) -> String {
    let scaled = value / quantity.scale;
    let least =
        if scaled == 0.0 { 0 } else { (-scaled.abs().log10().floor()).clamp(0.0, 6.0) as usize };
    let lost = scaled.abs() < 10f64.powi(-i32::from(quantity.decimals));
    let decimals = if lost { least + 1 } else { usize::from(quantity.decimals) };
    let number = format!("{scaled:.decimals$}");
    let number = if printed.contains(',') && !printed.contains('.') {
        number.replace('.', ",")
    } else {
        number
    };
    let digits =
        |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | ',' | '-' | '−' | '–');
    let start = printed.find(digits).unwrap_or(printed.len());
    format!("{}{number}{}", &printed[..start], printed[start..].trim_start_matches(digits))
}

/// Returns the values that a printed figure may stand for, rounded or truncated: `76` also for
/// 76.7.
pub fn uncut(quantity: &Quantity) -> Interval {
    let Interval { low, high } = quantity.interval();
    Interval { low, high: high + 0.5 * (high - low) }
}
