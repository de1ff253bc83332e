//! The family of renderers for two runs against each other: the same numbers, tables and words as a report has.
//! Nothing is computed here but positions and digits.

mod json;
mod markdown;
mod sheet;
mod terminal;
#[cfg(test)]
mod tests;

use super::PageContext;
use iotax_analysis::findings::against::Against;

/// A form of comparison.
pub struct ComparisonRenderer {
    /// `--format NAME`.
    pub name: &'static str,
    /// Makes the text.
    pub render: fn(&Against, &PageContext) -> String,
}

/// All of them.
pub const ALL: &[&ComparisonRenderer] = &[&terminal::RENDERER, &markdown::RENDERER, &json::RENDERER];

/// The renderer of that name.
pub fn by_name(name: &str) -> Option<&'static ComparisonRenderer> {
    ALL.iter().copied().find(|renderer| renderer.name == name)
}
