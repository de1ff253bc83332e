//! `iotax compare`: compares two stored runs, from their records alone. The exit code is 1 if a
//! figure is surely worse by more than was allowed, or if a service level that was kept is now
//! broken, so that a pipeline can act on it.

use super::output::page;
use super::report;
use anyhow::Result;
use iotax_analysis::against::{RunMismatch, compare_runs};
use iotax_analysis::findings::against::RegressionLimits;
use iotax_export as export;
use iotax_report::against::{ALL, ComparisonRenderer};
use iotax_store as store;
use iotax_units as units;
use iotax_units::exit::{DONE, FINDING, Failed};
use std::path::Path;

/// Arguments of `compare`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The earlier run: its id or a part of it, its name, its folder, a packed file, `last~1`
    #[arg(value_name = "OLD")]
    old: String,
    /// The later run, for example `last`
    #[arg(value_name = "NEW")]
    new: String,
    /// Exit with code 1 when a figure is surely worse by more than this, its whole 95 % interval
    /// beyond: 5% is of the rate, latency=10% of the mean latency, cpu=10% of the CPU time per I/O.
    /// Repeat, or separate by commas
    #[arg(
        long,
        value_name = "[FIGURE=]PERCENT",
        allow_hyphen_values = true,
        value_delimiter = ',',
        value_parser = limit_of
    )]
    fail_above: Vec<(LimitedFigure, f64)>,
    /// terminal, markdown, html, json or junit [default: by the extension of the output file, else
    /// terminal]
    #[arg(long, value_parser = known_format)]
    format: Option<String>,
    #[command(flatten)]
    to: report::Destination,
}

const EXAMPLES: &str = "\
Examples:
  iotax compare last~1 last
  iotax compare carried/old.iotax last --fail-above 5% -o gate.junit.xml";

/// Figure for which `--fail-above` can limit how much worse it becomes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum LimitedFigure {
    Rate,
    Latency,
    Cpu,
}

fn limit_of(text: &str) -> Result<(LimitedFigure, f64), String> {
    let (figure, percent) = match text.split_once('=') {
        None => (LimitedFigure::Rate, text),
        Some((word, percent)) => {
            let figure = match word.trim() {
                "rate" => LimitedFigure::Rate,
                "latency" => LimitedFigure::Latency,
                "cpu" => LimitedFigure::Cpu,
                other => {
                    return Err(format!(
                        "unknown figure \"{other}\"; known are rate, latency, cpu"
                    ));
                }
            };
            (figure, percent.trim())
        }
    };
    let limit = match figure {
        LimitedFigure::Rate => units::parse_percent(percent)?,
        // A rising figure may more than double.
        LimitedFigure::Latency | LimitedFigure::Cpu => percent
            .strip_suffix('%')
            .and_then(|number| number.trim().parse::<f64>().ok())
            .filter(|percent| (0.0..1e9).contains(percent))
            .map(|percent| percent / 100.0)
            .ok_or_else(|| format!("\"{percent}\" is not a percentage; write latency=10%"))?,
    };
    Ok((figure, limit))
}

/// Returns the limits of `--fail-above`. Refuses two limits for one figure.
fn limits(given: &[(LimitedFigure, f64)]) -> Result<RegressionLimits, Failed> {
    let mut limits = RegressionLimits::default();
    for (figure, limit) in given {
        let (slot, word) = match figure {
            LimitedFigure::Rate => (&mut limits.rate, "the rate"),
            LimitedFigure::Latency => (&mut limits.latency, "latency"),
            LimitedFigure::Cpu => (&mut limits.cpu, "cpu"),
        };
        if slot.replace(*limit).is_some() {
            return Err(Failed::input(format!(
                "--fail-above: {word} has two limits; hint: leave one"
            )));
        }
    }
    Ok(limits)
}

fn known_format(word: &str) -> Result<String, String> {
    report::known_word(word, renderers().map(|renderer| renderer.name))
}

fn renderers() -> impl Iterator<Item = &'static ComparisonRenderer> {
    ALL.iter().chain(export::COMPARISONS).copied()
}

/// Compares the two runs and prints the result. Returns the exit code.
///
/// # Errors
/// Bad input: a run does not exist or cannot be read, the two have nothing to compare, a figure has
/// two limits, or the format or the output file does not fit.
pub fn run(args: &Args, runs: &Path) -> Result<u8> {
    args.to.check_for_report(args.format.as_deref())?;
    let load = |name: &str| -> Result<_> {
        let run = store::open_run(runs, name).map_err(Failed::from)?;
        let data = store::load_run(run.folder()).map_err(Failed::from)?;
        Ok((run, data))
    };
    // Both stay open: histograms are read when they are needed.
    let ((_old, old), (_new, new)) = (load(&args.old)?, load(&args.new)?);
    let found = compare_runs(&old, &new, limits(&args.fail_above)?).map_err(mismatch_error)?;
    let named = args.format.as_deref().or_else(|| args.to.format()).unwrap_or("terminal");
    let renderer = renderers().find(|renderer| renderer.name == named).ok_or_else(|| {
        Failed::input(format!(
            "a comparison has no form \"{named}\"; hint: --format markdown, html, json or junit"
        ))
    })?;
    args.to.write_text(&(renderer.render)(&found, &page()))?;
    Ok(if found.fails() { FINDING } else { DONE })
}

fn mismatch_error(mismatch: RunMismatch) -> Failed {
    Failed::input(mismatch.to_string())
}
