//! `iotax chart`: one chart of a stored run as an SVG or PNG file.

use super::output::say_aside;
use super::report::{Destination, NamedForm, known_word};
use anyhow::Result;
use iotax_chart::{ALL, ChartKind, ChartQuantity, ChartRequest, ChartTheme, chart, kinds_of_run};
use iotax_store as store;
use iotax_units::exit::{DONE, Failed};
use std::io::IsTerminal;
use std::path::Path;

/// Arguments of `chart`.
#[derive(clap::Args)]
pub struct Args {
    /// The run: its id or a part of it, its name, its folder, a packed file (x.iotax), `last` or
    /// `last~1`
    #[arg(value_name = "RUN", default_value = "last")]
    run: String,
    #[arg(long, value_parser = known_kind, help = kinds_in_brief(), long_help = kinds_in_full())]
    kind: Option<String>,
    /// What a bill and verdicts are of: rate, us (mean latency) or cpu (CPU time per I/O)
    #[arg(
        long = "in",
        value_name = "FIGURE",
        value_enum,
        default_value = "rate",
        hide_possible_values = true
    )]
    quantity: QuantityWord,
    /// Number of the load, from 1; of the sweep, course or table where the chart is of those
    /// [default: the first that has data, or all in one chart]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    load: Option<u32>,
    /// light or dark [default: what the reader's browser prefers; light for PNG]
    #[arg(long, value_enum, hide_possible_values = true)]
    theme: Option<ThemeWord>,
    /// svg or png [default: by the extension of the output file, else svg]
    #[arg(long, value_parser = known_format)]
    format: Option<String>,
    #[command(flatten)]
    to: Destination,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum QuantityWord {
    Rate,
    Us,
    Cpu,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum ThemeWord {
    Light,
    Dark,
}

const FORMS: [NamedForm; 2] = [("svg", &["svg"]), ("png", &["png"])];

fn known_format(word: &str) -> Result<String, String> {
    known_word(word, FORMS.iter().map(|(name, _)| *name))
}

fn known_kind(word: &str) -> Result<String, String> {
    known_word(word, ALL.iter().map(|kind| kind.name))
}

fn names_of_kinds(kinds: &[&ChartKind]) -> String {
    kinds.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ")
}

fn kinds_in_brief() -> String {
    format!("{} [default: the best one for the run]", names_of_kinds(ALL))
}

fn kinds_in_full() -> String {
    let lines = ALL.iter().map(|kind| format!("\n{:<9} {}", kind.name, kind.about));
    format!("What to draw; without it the best one for the run:{}", lines.collect::<String>())
}

/// Draws a chart of a stored run. Returns the exit code.
///
/// # Errors
/// Bad input: the run does not exist or has no data for the chart, or the output file has another
/// extension. Or the machine has no font for a PNG, or the output cannot be written.
pub fn run(args: &Args, runs: &Path) -> Result<u8> {
    args.to.check_among(args.format.as_deref(), &FORMS)?;
    let format = args.format.as_deref().or_else(|| args.to.format_among(&FORMS)).unwrap_or("svg");
    if format == "png" && args.to.file().is_none() && std::io::stdout().is_terminal() {
        let why = "a PNG is no text for a terminal; hint: -o x.png, or SVG: --format svg";
        return Err(Failed::input(why).into());
    }
    let opened = store::open_run(runs, &args.run).map_err(Failed::from)?;
    let data = store::load_run(opened.folder()).map_err(Failed::from)?;
    let findings = iotax_analysis::findings(&data);
    let request = ChartRequest {
        run: &data,
        findings: &findings,
        load: args.load.map(|load| load as usize),
        quantity: args.quantity(),
    };
    let (kind, drawing) =
        chart(&request, args.kind.as_deref()).map_err(|error| Failed::input(error.to_string()))?;
    if args.kind.is_none() {
        let others: Vec<&ChartKind> =
            kinds_of_run(&request).into_iter().filter(|one| one.name != kind.name).collect();
        let more = match others.as_slice() {
            [] => String::new(),
            others => format!("; this run also has {}: --kind NAME", names_of_kinds(others)),
        };
        say_aside(&format!("{}: {}{more}", kind.name, kind.about));
    }
    let svg = drawing.to_svg(args.theme(format));
    let bytes = match format {
        "png" => iotax_chart::render_png(&svg).map_err(|error| Failed::need(error.to_string()))?,
        _ => svg.into_bytes(),
    };
    args.to.write_bytes(&|out| out.write_all(&bytes))?;
    Ok(DONE)
}

impl Args {
    fn quantity(&self) -> ChartQuantity {
        match self.quantity {
            QuantityWord::Rate => ChartQuantity::Rate,
            QuantityWord::Us => ChartQuantity::Latency,
            QuantityWord::Cpu => ChartQuantity::Cpu,
        }
    }

    /// Returns the colours. Only a browser can choose them by itself.
    fn theme(&self, format: &str) -> ChartTheme {
        match (self.theme, format) {
            (Some(ThemeWord::Dark), _) => ChartTheme::Dark,
            (None, "svg") => ChartTheme::Auto,
            _ => ChartTheme::Light,
        }
    }
}
