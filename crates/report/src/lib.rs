//! The family of renderers: findings in, text out. A new one is a file and its entry in [`ALL`].
//! Renderers compute only layout and rounding; all report the same findings.
//!
//! Modules: a file for each form (`terminal`, `brief`, `markdown`, `html/`, `json`, `csv`) and for
//! each section that the forms share (`verdicts`, `sweep`, `states`, ...). `table` does the layout,
//! `number` the digits, `ink` the only colours; `against/` compares two runs, `history/` follows a stack over many.
#![forbid(unsafe_code)]

pub mod against;
mod answer;
pub mod brief;
mod crowd;
pub mod csv;
mod disks;
mod durability;
mod efficiency;
mod generator;
mod grouped;
pub mod history;
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
mod renderer;
mod sheet;
mod states;
mod sweep;
pub mod table;
pub mod terminal;
#[cfg(test)]
mod tests;
mod verdicts;
mod verification;

pub use answer::{RunAnswer, VERDICTS, run_answer};
pub use brief::{LINES, brief};
pub use renderer::{PageContext, ReportRenderer};
pub use table::wrap_words;

pub const ALL: &[&ReportRenderer] =
    &[&terminal::RENDERER, &markdown::RENDERER, &html::RENDERER, &json::RENDERER, &csv::RENDERER];

pub fn by_name(name: &str) -> Option<&'static ReportRenderer> {
    ALL.iter().copied().find(|renderer| renderer.name == name)
}
