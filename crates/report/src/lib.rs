//! The family of renderers: findings in, text out. A new one is a file and its entry in [`ALL`].
//! Renderers compute only layout and rounding; all report the same findings.
//!
//! Modules: `document/` says what a report has, and a file for each form (`terminal`, `markdown`,
//! `html/`) how it looks; `answer/` is the short one of a terminal; `json` and `csv` are for programs.
//! A file for each kind of section (`verdicts`, `sweep`, `states`, ...) makes its tables and words.
//! `table` does the layout, `number` the digits, `look` and `ink` signs and colours; `against/`
//! compares two runs, `article/` writes tables by name, `history/` follows a stack over many runs,
//! `fleet/` compares many hosts.
#![forbid(unsafe_code)]

pub mod against;
pub mod answer;
pub mod article;
mod crowd;
pub mod csv;
mod disks;
mod document;
mod drives;
mod durability;
mod efficiency;
pub mod fleet;
mod generator;
mod grouped;
mod headline;
pub mod history;
#[cfg(test)]
mod hostile_tests;
pub mod html;
mod imported;
pub mod ink;
pub mod json;
mod limits;
mod look;
mod markdown;
mod matrix;
mod number;
mod probes;
mod published;
mod ratios;
mod renderer;
mod run_answer;
mod sheet;
mod states;
mod sweep;
pub mod table;
pub mod terminal;
#[cfg(test)]
mod tests;
mod trace;
mod typography;
mod verdicts;
mod verification;

pub use answer::{LINES, ReportPlaces, brief};
pub use look::TerminalLook;
pub use renderer::{PageContext, ReportRenderer};
pub use run_answer::{RunAnswer, VERDICTS, run_answer};
pub use table::wrap_words;

pub const ALL: &[&ReportRenderer] =
    &[&terminal::RENDERER, &markdown::RENDERER, &html::RENDERER, &json::RENDERER, &csv::RENDERER];

/// Returns the answer in about a dozen words; `None` if nothing is resolved.
pub fn short_answer(findings: &iotax_analysis::Findings) -> Option<String> {
    headline::short_headline(findings).map(|answer| answer.text)
}

pub fn by_name(name: &str) -> Option<&'static ReportRenderer> {
    ALL.iter().copied().find(|renderer| renderer.name == name)
}
