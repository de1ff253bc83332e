//! Rules on tables: ratios against their operands, cells against the outputs that they were copied from, replicas against each
//! other.

pub mod copies;
pub mod ratios;
pub mod replicas;

use crate::number::Quantity;

/// A value in the unit and digits of a printed figure: `94.1 %`, `26.0k`.
pub fn like(printed: &str, quantity: &Quantity, value: f64) -> String {
    let decimals = usize::from(quantity.decimals);
    let number = format!("{:.decimals$}", value / quantity.scale);
    let number =
        if printed.contains(',') && !printed.contains('.') { number.replace('.', ",") } else { number };
    let digits = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | ',' | '-');
    let start = printed.find(digits).unwrap_or(printed.len());
    format!("{}{number}{}", &printed[..start], printed[start..].trim_start_matches(digits))
}
