//! Renderers of two runs against each other, with the same numbers, tables and words as a report.
//! Only positions and digits are computed here.

mod json;
mod markdown;
mod sheet;
mod terminal;
#[cfg(test)]
mod tests;

use super::PageContext;
use iotax_analysis::findings::against::RunComparison;

pub struct ComparisonRenderer {
    pub name: &'static str,
    pub render: fn(&RunComparison, &PageContext) -> String,
}

pub const ALL: &[&ComparisonRenderer] =
    &[&terminal::RENDERER, &markdown::RENDERER, &json::RENDERER];

pub fn by_name(name: &str) -> Option<&'static ComparisonRenderer> {
    ALL.iter().copied().find(|renderer| renderer.name == name)
}
