//! The family of renderers: findings in, text out. A new one is a file and its entry in [`ALL`].
//! Renderers compute only layout and rounding; all report the same findings.
//!
//! Modules: a file for each form (`terminal`, `brief`, `markdown`, `html/`, `json`, `csv`), a file
//! for each section that the forms share (`verdicts`, `sweep`, `states`, ...), `table` and `number`
//! layout and digits, `ink` the only colours; `against/` two runs.
#![forbid(unsafe_code)]

pub mod against;
pub mod brief;
mod crowd;
pub mod csv;
mod disks;
mod durability;
mod efficiency;
mod generator;
mod grouped;
#[cfg(test)]
mod hostile_tests;
pub mod html;
mod imported;
pub mod ink;
pub mod json;
mod limits;
mod markdown;
mod matrix;
mod number;
mod probes;
mod published;
mod ratios;
mod sheet;
mod states;
mod sweep;
pub mod table;
pub mod terminal;
#[cfg(test)]
mod tests;
mod verdicts;
mod verification;

pub use brief::{LINES, brief};
pub use table::wrapped;

use iotax_analysis::Findings;

/// Properties of the destination that a renderer may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageContext {
    /// Columns of the terminal; at least 40 are used.
    pub width: usize,
}

impl Default for PageContext {
    fn default() -> Self {
        PageContext { width: 80 }
    }
}

pub struct ReportRenderer {
    pub name: &'static str,
    /// Endings of the files it is written to, without a dot and in small letters; the usual one
    /// first.
    pub endings: &'static [&'static str],
    /// Makes the text of one run or of several, in the order given.
    pub render: fn(&[Findings], &PageContext) -> String,
}

pub const ALL: &[&ReportRenderer] =
    &[&terminal::RENDERER, &markdown::RENDERER, &html::RENDERER, &json::RENDERER, &csv::RENDERER];

/// Returns the text with a capital, as at the start of a sentence.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Returns the renderer of this name.
pub fn by_name(name: &str) -> Option<&'static ReportRenderer> {
    ALL.iter().copied().find(|renderer| renderer.name == name)
}
