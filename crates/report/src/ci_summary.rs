//! The answer of a run for the summary page of a CI job: its conclusion as a heading, and what a
//! terminal shows in a block of code.

use super::answer::{ReportPlaces, brief};
use super::document::Document;
use super::look::TerminalLook;
use super::table::escape_markdown;
use super::{PageContext, ReportRenderer};
use iotax_analysis::Findings;
use iotax_units::harmless::escape_line;

pub const RENDERER: ReportRenderer =
    ReportRenderer { name: "ci-summary", endings: &["summary.md"], render };

/// Columns of the block: GitHub and GitLab show so many without scrolling.
const WIDTH: usize = 100;

fn render(findings: &[Findings], page: &PageContext) -> String {
    let look = TerminalLook { colour: false, ..page.look };
    let page = PageContext { width: WIDTH, look };
    findings.iter().map(|one| one_run(one, &page)).collect::<Vec<_>>().join("\n")
}

fn one_run(findings: &Findings, page: &PageContext) -> String {
    let answer = Document::from_findings(findings).head.answer.map(|answer| answer.text);
    let heading = answer.unwrap_or_else(|| format!("iotax run {}", findings.run.id));
    let command = format!("iotax report {}", escape_line(&findings.run.id));
    let text = brief(findings, &ReportPlaces { command: &command, page: None }, page);
    // Four backticks, since a name may hold three.
    format!("### {}\n\n````text\n{}\n````\n", escape_markdown(&heading), text.trim_end())
}
