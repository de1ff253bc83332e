//! The answer of a run for the summary page of a CI job: its conclusion as a heading, and what a
//! terminal shows in a block of code.

use crate::exporter::{ExportedRun, Exporter};
use iotax_report::table::escape_markdown;
use iotax_report::{PageContext, ReportPlaces, brief, short_answer};
use iotax_units::harmless::escape_line;
use std::io::{Result, Write};

pub const EXPORTER: Exporter = Exporter { name: "ci-summary", endings: &["summary.md"], write };

/// Columns of the block: GitHub and GitLab show so many without scrolling.
const WIDTH: usize = 100;

fn write(runs: &[ExportedRun], out: &mut dyn Write) -> Result<()> {
    for run in runs {
        let id = escape_line(&run.findings.run.id);
        let heading = short_answer(&run.findings).unwrap_or_else(|| format!("iotax run {id}"));
        let command = format!("iotax report {id}");
        let places = ReportPlaces { command: &command, page: None };
        let text = brief(&run.findings, &places, &PageContext::of_width(WIDTH));
        // Four backticks, since a name may hold three.
        writeln!(
            out,
            "### {}\n\n````text\n{}\n````\n",
            escape_markdown(&heading),
            text.trim_end()
        )?;
    }
    Ok(())
}
