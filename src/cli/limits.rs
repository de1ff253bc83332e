//! `iotax limits`: finds the limits of a target, and the bursts before they apply, by courses of
//! load. Limits that are set are shown too if they can be read.

use super::name::NewName;
use super::output::{say, say_aside};
use super::progress::ProgressPrinter;
use super::{report, run};
use anyhow::{Context, Result};
use iotax_analysis::results::limits::limits;
use iotax_measure::limit_courses::qemu_limits;
use iotax_measure::session::RunOutcome;
use iotax_model::scenario::check::{ScenarioRequest, from_arguments};
use iotax_model::scenario::{LimitSearch, Scenario};
use iotax_report::json;
use iotax_store as store;
use iotax_units::exit::{DONE, Failed, MEASUREMENT_FAILED};
use iotax_units::parse_duration;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Arguments of `limits`.
#[derive(clap::Args)]
pub struct Args {
    /// A file, a device, a network or any stack: /dev/sdb, file:/srv/x.img,size=4GiB, "net:ssh:b
    /// @ssh:a", "file:/srv/x.img,size=4GiB | loop"
    #[arg(value_name = "STACK")]
    stack: String,
    /// Longest time of each course of load; it may end in its second half, once a limit is known
    /// well
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0)]
    seconds: f64,
    /// Rest before each course, in which a bucket fills; longer if a larger bucket was found
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration)]
    rest: Duration,
    /// Find limits of writes too. All data on the target is lost; a device requires --destroy
    #[arg(long)]
    write: bool,
    /// Allow writing to one device, by serial or WWN: serial=S[,wipe=SIGNATURE]
    #[arg(long, value_name = "serial=S,wipe=W", requires = "write")]
    destroy: Vec<String>,
    /// Write at most this much
    #[arg(long, value_name = "SIZE", requires = "write")]
    max_written: Option<String>,
    /// Control socket of a QEMU on the path; its throttling is read as a setting
    #[arg(long, value_name = "SOCKET")]
    qmp: Option<PathBuf>,
    /// Print JSON of the limits alone, with every point of the courses
    #[arg(long, conflicts_with_all = ["format", "output", "verbose"])]
    json: bool,
    #[command(flatten)]
    name: NewName,
    #[command(flatten)]
    output: report::OutputArgs,
}

/// Searches for the limits in a new run, then prints its report or, with --json, the limits alone.
/// Returns the exit code.
///
/// # Errors
/// As for `iotax run`: bad input, unmet needs, a failed measurement, an incomplete undo.
pub fn run(args: &Args, runs: &Path) -> Result<u8> {
    args.output.check_destination()?;
    let mut scenario = scenario_of(args)?;
    args.name.put_into(&mut scenario);
    // A socket that nobody serves is an error before anything is set up.
    args.qmp.as_deref().map(qemu_limits).transpose()?;
    let (dir, result) = run::measure(&scenario, Vec::new(), runs, ProgressPrinter::new())?;
    if !args.json {
        return run::finish(&dir, result, &args.output);
    }
    if result? == RunOutcome::Interrupted {
        say_aside("interrupted; everything was removed");
        return Ok(MEASUREMENT_FAILED);
    }
    let data = store::load_run(&dir).map_err(Failed::from)?;
    let found = limits(&data).context("the run has no search for limits")?;
    say(&json::document_text(&found))?;
    Ok(DONE)
}

fn search_of(args: &Args) -> Result<LimitSearch, Failed> {
    let seconds = args.seconds;
    if !(1.0..=600.0).contains(&seconds) {
        return Err(Failed::input(format!(
            "--seconds {seconds} is not between 1 and 600; hint: --seconds 10"
        )));
    }
    let qmp = args.qmp.as_deref().map(std::path::absolute).transpose();
    let qmp = qmp.map_err(|error| Failed::input(format!("--qmp: {error}")))?;
    Ok(LimitSearch { writes: args.write, seconds, rest_s: args.rest.as_secs_f64(), qmp })
}

fn scenario_of(args: &Args) -> Result<Scenario> {
    let limits = Some(Box::new(search_of(args)?));
    if let Some(scenario) = of_network(&args.stack) {
        if args.write {
            let why =
                "--write: a network has no writes to allow: both of its directions are measured";
            return Err(Failed::input(format!("{why}; hint: leave it out")).into());
        }
        return Ok(Scenario { limits, ..scenario });
    }
    let rw = if args.write { "randrw" } else { "randread" };
    let request = ScenarioRequest {
        words: vec![("rw".to_owned(), rw.to_owned()), ("iodepth".to_owned(), "32".to_owned())],
        destroy: args.destroy.clone(),
        max_written: args.max_written.clone(),
        ..ScenarioRequest::default()
    };
    let scenario =
        from_arguments(std::slice::from_ref(&args.stack), &request).map_err(Failed::from)?;
    match scenario.stacks.as_slice() {
        [_] if scenario.is_of_command_line() => Ok(Scenario { limits, ..scenario }),
        _ => Err(Failed::input(format!(
            "\"{}\" is not one stack; hint: iotax limits /dev/sdb",
            args.stack
        ))
        .into()),
    }
}

/// Returns the scenario of a stack that is a network; `None` for any other.
fn of_network(stack: &str) -> Option<Scenario> {
    let scenario = from_arguments(&[stack.to_owned()], &ScenarioRequest::default()).ok()?;
    let is_network = matches!(scenario.stacks.as_slice(), [one] if one.medium.far_end().is_some());
    (is_network && scenario.is_of_command_line()).then_some(scenario)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn consent_is_for_writes_and_one_stack_is_taken() {
        let parse =
            |words: &[&str]| Cli::try_parse_from([&["limits"], words].concat()).map(|cli| cli.args);
        assert!(
            parse(&["/dev/x", "--destroy", "serial=S"]).is_err(),
            "nothing is written without --write"
        );
        let args = parse(&["/dev/x", "--write", "--destroy", "serial=S"]).unwrap();
        let scenario = scenario_of(&args).unwrap();
        assert!(scenario.writes() && scenario.consent[0].serial == "S");
        assert!(!scenario_of(&parse(&["/dev/x"]).unwrap()).unwrap().writes());
        assert!(search_of(&parse(&["/dev/x", "--seconds", "0.5"]).unwrap()).is_err());
        assert!(search_of(&parse(&["/dev/x", "--seconds", "NaN"]).unwrap()).is_err());
        assert_eq!(search_of(&parse(&["/dev/x", "--rest", "2s"]).unwrap()).unwrap().rest_s, 2.0);
        assert!(
            scenario_of(&parse(&["net:ssh:b @ssh:a"]).unwrap()).unwrap().stacks[0]
                .medium
                .far_end()
                .is_some()
        );
        let refused =
            scenario_of(&parse(&["net:ssh:b", "--write"]).unwrap()).unwrap_err().to_string();
        assert!(refused.starts_with("--write: a network has no writes"), "{refused}");
    }
}
