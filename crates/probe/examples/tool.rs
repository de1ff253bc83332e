//! Runs a probe by its text so many times: `tool 'mbw(memcpy)' [slices [seconds [host:port]]]`.
//! Prints the figure of each slice, then best, median and mean. `tool --all`: the probes that there
//! are.

use iotax_load::{SliceBound, SliceResult, SliceSpec};
use iotax_probe::tool::{RunSpread, server};
use iotax_probe::{Argument, ProbeSpec, ProbeUnit, all_definitions, prepare};

fn main() {
    if let Err(why) = run(&std::env::args().skip(1).collect::<Vec<_>>()) {
        eprintln!("error: {why}");
        std::process::exit(1);
    }
}

fn run(words: &[String]) -> Result<(), String> {
    let usage = "usage: tool PROBE [SLICES [SECONDS [ADDRESS:PORT]]]";
    let text = words.first().ok_or(usage)?;
    if text == "--all" {
        all_definitions().for_each(|one| println!("{:<10} {}", one.name, tests(one.argument)));
        return Ok(());
    }
    let number = |at: usize, default: f64| {
        words.get(at).map_or(Ok(default), |word| word.parse().map_err(|_| usage))
    };
    let (slices, seconds) = (number(1, 3.0)? as usize, number(2, 2.0)?);
    let mut spec = ProbeSpec::parse(text)?;
    let peer = words.get(3).map(|word| word.parse().map_err(|_| usage));
    spec.peer = peer.transpose()?;
    if let Some(command) = spec.peer.and_then(|peer| server(&spec, peer)) {
        println!("the other end: {}", command.join(" "));
    }
    let unit = spec.unit().map_err(|error| error.to_string())?;
    let mut probe = prepare(&spec).map_err(|error| error.to_string())?;
    let bound = SliceBound::Time { ns: (seconds * 1e9) as u64 };
    let mut figures = Vec::new();
    for slice in 0..slices {
        let result = probe
            .run_probe_slice(&SliceSpec::starting_now(bound, 0, false))
            .map_err(|error| error.to_string())?;
        let (here, other) = figures_of(unit, &result);
        let cpu = (result.cpu_user_ns + result.cpu_system_ns) as f64 / 1e9;
        let window = result.window_ns as f64 / 1e9;
        let other =
            other.map_or(String::new(), |other| format!(", the other way {}", shown(unit, other)));
        println!(
            "slice {slice}: {}{other}; window {window:.3} s, CPU {cpu:.2} s",
            shown(unit, here)
        );
        figures.push(here);
    }
    let command = probe.slice_command().unwrap_or_default().join(" ");
    println!("{} ({command})", probe.name());
    if let Some(RunSpread { best, median, mean }) = RunSpread::among_figures(unit, &figures) {
        let [best, median, mean] = [best, median, mean].map(|figure| shown(unit, figure));
        println!("best {best}, median {median}, mean {mean}");
    }
    Ok(())
}

fn tests(argument: Argument) -> String {
    match argument {
        Argument::Word(words) => words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(" "),
        Argument::Test(tests) => tests.iter().map(|(word, ..)| *word).collect::<Vec<_>>().join(" "),
        _ => String::new(),
    }
}

/// Returns the figure of a slice, and that of the other direction if anything moved there: the
/// median of times in nanoseconds, else units or bytes per second.
fn figures_of(unit: ProbeUnit, result: &SliceResult) -> (f64, Option<f64>) {
    let rate = |amount: u64| amount as f64 / (result.window_ns as f64 / 1e9);
    match unit {
        ProbeUnit::Time(_) => (result.read.latency.percentile(0.5).unwrap_or(0) as f64, None),
        ProbeUnit::Count(_) => {
            (rate(result.read.ios), Some(rate(result.write.ios)).filter(|rate| *rate > 0.0))
        }
        ProbeUnit::Bytes => {
            (rate(result.read.bytes), Some(rate(result.write.bytes)).filter(|rate| *rate > 0.0))
        }
    }
}

fn shown(unit: ProbeUnit, figure: f64) -> String {
    match unit {
        ProbeUnit::Time(_) => format!("{:.2} us", figure / 1e3),
        ProbeUnit::Count(name) => format!("{figure:.1} {name}/s"),
        ProbeUnit::Bytes => format!("{:.1} MiB/s", figure / 1_048_576.0),
    }
}
