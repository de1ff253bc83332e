//! `iotax fleet report`: which host differs, and by how much.

use super::super::output::{page, say_aside};
use super::super::report::{self, Destination, NamedForm};
use super::host_lines::typed_fleet;
use super::input::{earlier_fleet, folder_input};
use super::run::OpenFleet;
use anyhow::Result;
use iotax_analysis::fleet::{FleetInput, fleet_findings};
use iotax_export::fleet::{self as export, read_fleet_parquet};
use iotax_fleet::plan::{PLAN, find_fleet};
use iotax_report::ReportPlaces;
use iotax_report::fleet::{ALL, brief, by_name};
use iotax_units::exit::{DONE, Failed};
use iotax_units::harmless::lines;
use std::path::Path;

pub const EXAMPLES: &str = "Examples:
  iotax fleet report                          the newest fleet, in brief
  iotax fleet report last -o fleet.html       one page, to send to others
  iotax fleet report results/                 a folder of packed runs, HOST.iotax";

/// Page in the folder of a fleet.
const PAGE: &str = "report.html";

#[derive(clap::Args)]
pub struct ReportArgs {
    /// The fleet: its id or a part of it, its folder, `last`, a folder of packed runs, or a Parquet
    /// file of a fleet
    #[arg(default_value = "last")]
    fleet: String,
    /// Earlier fleet to compare with, or `none` [default: the newest with the same scenario and at
    /// least half of the hosts]
    #[arg(long, value_name = "FLEET")]
    against: Option<String>,
    /// terminal, markdown, html, json, csv, xlsx, parquet or sqlite [default: by the extension of
    /// the output file, else terminal]
    #[arg(long, value_parser = known_format)]
    format: Option<String>,
    /// On a terminal: every figure and host; without it the answer, at most 25 lines
    #[arg(long, short)]
    verbose: bool,
    #[command(flatten)]
    to: Destination,
}

fn forms() -> Vec<NamedForm> {
    let reports = ALL.iter().map(|renderer| (renderer.name, renderer.endings));
    reports.chain(export::ALL.iter().map(|exporter| (exporter.name, exporter.endings))).collect()
}

fn known_format(word: &str) -> Result<String, String> {
    report::known_word(word, forms().into_iter().map(|(name, _)| name))
}

/// Prints the report of a fleet.
///
/// # Errors
/// Bad input: there is no such fleet, or no host has a result.
pub fn run(args: &ReportArgs, fleets: &Path) -> Result<u8> {
    let forms = forms();
    args.to.check_among(args.format.as_deref(), &forms)?;
    let input = read_input(&args.fleet, args.against.as_deref(), fleets)?;
    let found = fleet_findings(&input);
    let form =
        args.format.as_deref().or_else(|| args.to.format_among(&forms)).unwrap_or("terminal");
    if form == "terminal" && !args.verbose && args.to.file().is_none() {
        args.to.write_text(&brief(
            &found,
            &ReportPlaces { command: &format!("iotax fleet report {}", args.fleet), page: None },
            &page(),
        ))?;
        return Ok(DONE);
    }
    if let Some(exporter) = export::by_name(form) {
        args.to.write_bytes(&|out| (exporter.write)(&input, &found, out))?;
        return Ok(DONE);
    }
    let renderer =
        by_name(form).ok_or_else(|| Failed::input(format!("a fleet has no form \"{form}\"")))?;
    args.to.write_text(&(renderer.render)(&found, &page()))?;
    Ok(DONE)
}

/// Returns the results that a word means, with those of an earlier fleet.
///
/// # Errors
/// Bad input.
fn read_input(word: &str, against: Option<&str>, fleets: &Path) -> Result<FleetInput> {
    if word.ends_with(".parquet") {
        let input = read_fleet_parquet(Path::new(word));
        return Ok(input.map_err(|error| Failed::input(format!("{word}: {error}")))?);
    }
    let path = find_fleet(fleets, word)?;
    if !path.join(PLAN).exists() {
        let mut input = folder_input(&path)?;
        if let Some(earlier) = against.filter(|word| *word != "none") {
            input.earlier = Some(Box::new(read_input(earlier, Some("none"), fleets)?));
        }
        return Ok(input);
    }
    let opened = OpenFleet::find(fleets, word)?;
    let reports = opened.folder.reports(&opened.plan).map_err(Failed::from)?;
    let mut input = opened.input(&reports)?;
    input.earlier = match against {
        Some("none") => None,
        Some(word) if find_fleet(fleets, word)? == path => {
            let why = "--against names the same fleet; hint: iotax fleet status lists the fleets";
            return Err(Failed::input(why).into());
        }
        Some(word) => Some(Box::new(read_input(word, Some("none"), fleets)?)),
        None => earlier_fleet(fleets, &opened.plan)
            .map(|earlier| {
                let reports = earlier.folder.reports(&earlier.plan).map_err(Failed::from)?;
                earlier.input(&reports).map(Box::new)
            })
            .transpose()?,
    };
    Ok(input)
}

/// Prints the answer of a fleet that has just ended, and leaves the page in its folder.
///
/// # Errors
/// The results cannot be read.
pub fn print_answer(opened: &OpenFleet, fleets: &Path) -> Result<()> {
    let word = opened.folder.path().display().to_string();
    let found = fleet_findings(&read_input(&word, None, fleets)?);
    let file = opened.folder.path().join(PAGE);
    let page_text =
        by_name("html").map(|renderer| (renderer.render)(&found, &page())).unwrap_or_default();
    if let Err(error) = std::fs::write(&file, lines(&page_text).as_bytes()) {
        say_aside(&format!("iotax: cannot write the page {}: {error}", file.display()));
    }
    let all = typed_fleet("report", opened.folder.path());
    let text = brief(&found, &ReportPlaces { command: &all, page: Some(&file) }, &page());
    super::super::output::say_in_colour(&text)
}
