//! The family of renderers for two runs against each other: the same numbers, tables and words as a
//! report has. Nothing is computed here but positions and digits.

mod json;
mod markdown;
mod sheet;
mod terminal;
#[cfg(test)]
mod tests;

use super::PageContext;
use iotax_analysis::findings::against::RunComparison;

/// A form of comparison.
pub struct ComparisonRenderer {
    pub name: &'static str,
    pub render: fn(&RunComparison, &PageContext) -> String,
}

pub const ALL: &[&ComparisonRenderer] =
    &[&terminal::RENDERER, &markdown::RENDERER, &json::RENDERER];

/// The renderer of that name.
pub fn by_name(name: &str) -> Option<&'static ComparisonRenderer> {
    ALL.iter().copied().find(|renderer| renderer.name == name)
}
