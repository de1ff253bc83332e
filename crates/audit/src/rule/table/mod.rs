//! Rules on tables: ratios against their operands, rates against bandwidths, cells against the outputs that they were copied
//! from, replicas against each other.

pub mod copies;
pub mod heads;
pub mod means;
pub mod ratios;
pub mod replicas;

use crate::number::Quantity;

/// A value in the unit and digits of a printed figure: `94.1 %`, `26.0k`.
pub fn like(printed: &str, quantity: &Quantity, value: f64) -> String {
    let decimals = usize::from(quantity.decimals);
    let number = format!("{:.decimals$}", value / quantity.scale);
    let digits = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | ',' | '-');
    let head: String = printed.chars().take_while(|letter| !digits(*letter)).collect();
    let tail: String =
        printed.chars().skip(head.chars().count()).skip_while(|letter| digits(*letter)).collect();
    let number =
        if printed.contains(',') && !printed.contains('.') { number.replace('.', ",") } else { number };
    format!("{head}{number}{tail}")
}
