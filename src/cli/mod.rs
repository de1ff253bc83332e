//! The command line: one file per command. Parsing and dispatch are here; the library does the
//! work.

mod agent;
mod asked;
mod audit;
mod chart;
mod clean;
mod compare;
mod demo;
mod doctor;
mod examples;
mod fleet;
mod history;
mod host_vs_guest;
mod import;
mod lab;
mod limits;
mod list;
mod missing;
mod name;
mod network;
mod output;
mod plan;
mod progress;
mod ratings;
mod report;
mod report_table;
mod resume;
mod rm;
mod run;
mod run_filter;
mod run_folder;
mod run_table;
mod selfcheck;
mod stop;
mod welcome;

use anyhow::Result;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};
use iotax_layers::guest;
use iotax_model::layer as catalog;
use iotax_sys::ulimit;
use iotax_units::exit::{self, DONE, Failed};
use iotax_units::harmless::acts;
use output::{columns, fit_text, say_aside};
use std::io::IsTerminal;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "iotax", version, about = "Measures what each layer of a storage stack costs", after_help = EXIT_CODES)]
struct Cli {
    /// Folder of the runs [default: $IOTAX_RUNS, else ~/.local/state/iotax/runs]
    #[arg(long, global = true, value_name = "DIR")]
    runs: Option<PathBuf>,
    /// Colours: auto (on a terminal, unless NO_COLOR is set), always or never
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        hide_default_value = true
    )]
    color: output::ColourChoice,
    #[command(subcommand)]
    command: Option<Command>,
}

const EXIT_CODES: &str = "Exit codes: 0 done, whatever the verdicts say; 1 a change beyond `compare --fail-above`, a service level that is broken (--slo), a finding of `audit` at or above `--fail-on`, a line of `selfcheck` that fails, durability trials that lost something, or wrong data read back (verify); 2 bad input; 3 this machine lacks a requirement; \
     4 a measurement failed or was interrupted; 5 an undo is incomplete.";

#[derive(Subcommand)]
enum Command {
    /// Measure stacks against each other: a scenario, a job file, or stacks on the command line
    #[command(after_help = examples::RUN)]
    Run(run::Args),
    /// Say what `run` would do, and touch nothing
    #[command(after_help = examples::PLAN)]
    Plan(plan::Args),
    /// Compare a guest with its host, or two hosts, in about 5 minutes: disk, processors, memory,
    /// kernel, wake-ups, network
    #[command(after_help = examples::HOST_VS_GUEST)]
    HostVsGuest(host_vs_guest::Args),
    /// Measure the network between every two places: throughput and round trips, as a matrix
    #[command(after_help = examples::NETWORK)]
    Network(network::Args),
    /// Resume a run after a kill or a reboot
    #[command(after_help = examples::RESUME)]
    Resume(resume::Args),
    /// Remove what a killed run left
    #[command(after_help = examples::CLEAN)]
    Clean(clean::Args),
    /// Print a stored run: terminal, Markdown, JSON, CSV or one HTML page
    #[command(after_help = examples::REPORT)]
    Report(report::Args),
    /// Draw one chart of a stored run: SVG or PNG
    #[command(after_help = examples::CHART)]
    Chart(chart::Args),
    /// Compare two stored runs, of last week and of today: what changed, and whether drift could
    /// explain it
    #[command(after_help = examples::COMPARE)]
    Compare(compare::Args),
    /// Show one stack over all stored runs, and where it surely changed
    History(history::Args),
    /// Recompute the figures that others publish: fio's and other tools' outputs, tables,
    /// sentences; say what does not hold
    #[command(after_help = examples::AUDIT)]
    Audit(audit::Args),
    /// Store what others published, or other tools printed, as a run that report, compare and list
    /// read
    #[command(after_help = examples::IMPORT)]
    Import(import::Args),
    /// List the stored runs with their answers, by stack, load, machine, verdict, time and state
    #[command(after_help = examples::LIST)]
    List(list::Args),
    /// Give a stored run a name
    Name(name::Args),
    /// Remove stored runs
    Rm(rm::Args),
    /// Find the rate limits of a file, device or stack and their bursts, in I/Os and in bytes
    #[command(after_help = examples::LIMITS)]
    Limits(limits::Args),
    /// Show what this machine can measure, and the command that supplies what is missing
    #[command(after_help = examples::DOCTOR)]
    Doctor(doctor::Options),
    /// Build, show or remove the image of the lab guest (emulated drives for RAID, volumes and
    /// fabrics)
    #[command(after_help = examples::LAB)]
    Lab(lab::Args),
    /// Test iotax itself: its statistics by simulation
    #[command(after_help = examples::SELFCHECK)]
    Selfcheck(selfcheck::Args),
    /// The main job on what this machine has, in five short parts
    #[command(after_help = examples::DEMO)]
    Demo(demo::Args),
    /// Run a scenario on each host of a fleet (ssh, Slurm, Kubernetes): which host differs, and by
    /// how much
    #[command(after_help = examples::FLEET)]
    Fleet(fleet::Args),
    /// The end of the wire in a guest or on another host; not for people
    #[command(hide = true)]
    Agent(agent::Args),
}

/// Parses the command line, runs the command, and turns its error into an exit code.
pub fn main() -> ExitCode {
    if let Some(code) = iotax_steps::agent::init_if_pid_1() {
        return code;
    }
    let cli =
        Cli::try_parse().unwrap_or_else(|error| refuse(&with_example(drop_value_advice(error))));
    // If the system refuses a thread, Rust's standard library panics.
    let done = catch_unwind(AssertUnwindSafe(|| dispatch(cli))).unwrap_or_else(|_| {
        let why = "stopped by the panic above: the system refused a thread (ulimit -u), or this is a bug in iotax; hint: \
                   iotax clean removes what is left";
        Err(Failed::measurement(why).into())
    });
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let code = exit::code_of(&error);
            // A reader that has gone away needs no more messages.
            if code != DONE {
                complain(&error);
            }
            ExitCode::from(code)
        }
    }
}

/// Prints help or an error of the command line, and ends the program. clap repeats arguments as
/// they were typed, or as a shell found them in a folder: if they could act on the terminal, its
/// colours are dropped.
fn refuse(error: &clap::Error) -> ! {
    if !std::env::args_os().any(|argument| argument.to_string_lossy().contains(acts)) {
        error.exit();
    }
    say_aside(error.render().to_string().trim_end());
    std::process::exit(error.exit_code());
}

/// Removes clap's advice to pass an unknown option as a value, which no command here means. If
/// layers have such an option, says so.
fn drop_value_advice(mut error: clap::Error) -> clap::Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    error.remove(ContextKind::Suggested);
    let written = error.get(ContextKind::InvalidArg).map(ToString::to_string).unwrap_or_default();
    if let Some(tip) = tip_of_layer(&written) {
        // Both are about the option with the most similar spelling.
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::Usage);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Adds an example to the error of a command that was called without what it requires.
fn with_example(mut error: clap::Error) -> clap::Error {
    if error.kind() != ErrorKind::MissingRequiredArgument {
        return error;
    }
    let usage = error.get(ContextKind::Usage).map(ToString::to_string).unwrap_or_default();
    let mut command = <Cli as clap::CommandFactory>::command();
    command.build();
    // The examples of the innermost command that has some: `fleet run` before `fleet`.
    let words = usage.split_whitespace().skip_while(|word| *word != command.get_name()).skip(1);
    let called = words.scan(&command, |within, word| {
        *within = within.find_subcommand(word)?;
        Some(*within)
    });
    let Some(examples) = called.filter_map(clap::Command::get_after_help).last() else {
        return error;
    };
    let first = examples
        .to_string()
        .lines()
        .find(|line| line.starts_with("  iotax "))
        .map(str::trim)
        .unwrap_or_default()
        .to_owned();
    let tip = format!("for example: {first}");
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    error
}

/// Returns a hint that names the layers that have the option `written`; `None` if none has it.
fn tip_of_layer(written: &str) -> Option<String> {
    let word = written.trim_start_matches('-').split('=').next()?;
    let having = catalog::ALL.iter().filter(|layer| layer.option(word).is_some());
    let names: Vec<&str> = having.map(|layer| layer.name).collect();
    let (first, several) =
        (names.first()?, if names.len() > 1 { "one of the layers" } else { "the layer" });
    Some(format!(
        "it is an option of {several} {}, written in the stack: \"... | {first}({word}=...)\"",
        names.join(", ")
    ))
}

fn dispatch(cli: Cli) -> Result<u8> {
    ulimit::respect(exit::MEASUREMENT_FAILED).map_err(Failed::need)?;
    output::choose_colours(cli.color);
    // Guests, agents and a resumed run elsewhere in the tree do not know the folder of this call.
    let runs = || -> Result<PathBuf> {
        match &cli.runs {
            Some(runs) => Ok(std::path::absolute(runs)?),
            None => Ok(iotax_store::default_runs_dir().map_err(exit::Failed::from)?),
        }
    };
    let Some(command) = cli.command else { return welcome::run(&runs()?) };
    match command {
        Command::Run(args) => run::run(&args, &runs()?),
        Command::Plan(args) => plan::run(&args),
        Command::Network(args) => network::run(&args, &runs()?),
        Command::HostVsGuest(args) => host_vs_guest::run(&args, &runs()?),
        Command::Resume(args) => resume::run(&args, &runs()?),
        Command::Clean(args) => clean::run(&args, &runs()?),
        Command::Report(args) => report::run(&args, &runs()?),
        Command::Chart(args) => chart::run(&args, &runs()?),
        Command::Compare(args) => compare::run(&args, &runs()?),
        Command::History(args) => history::run(&args, &runs()?),
        Command::Audit(args) => audit::run(&args),
        Command::Import(args) => import::run(&args, &runs()?),
        Command::List(args) => list::run(&args, &runs()?),
        Command::Name(args) => name::run(&args, &runs()?),
        Command::Rm(args) => rm::run(&args, &runs()?),
        Command::Limits(args) => limits::run(&args, &runs()?),
        Command::Doctor(args) => doctor::run(&args, guest::FINDINGS),
        Command::Lab(args) => lab::run(&args),
        Command::Selfcheck(args) => selfcheck::run(&args),
        Command::Demo(args) => demo::run(&args, &runs()?),
        Command::Fleet(args) => fleet::run(&args),
        Command::Agent(args) => agent::run(&args).map(|()| DONE),
    }
}

/// Prints an error with its causes on standard error, as one sentence.
fn complain(error: &anyhow::Error) {
    let text = format!("iotax: {error:#}");
    match std::io::stderr().is_terminal() {
        true => say_aside(&fit_text(&text, columns())),
        false => say_aside(&text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// Words of a command as a shell takes them; a comment ends it.
    fn shell_words(line: &str) -> Vec<String> {
        let (mut words, mut quote, mut open) = (Vec::new(), None, None::<String>);
        for c in line.chars() {
            match (quote, c) {
                (Some(mark), c) if c == mark => quote = None,
                (None, '"' | '\'') => {
                    quote = Some(c);
                    open.get_or_insert_default();
                }
                (None, '#') if open.is_none() => break,
                (None, ' ') => words.extend(open.take()),
                (_, c) => open.get_or_insert_default().push(c),
            }
        }
        words.extend(open);
        words
    }

    /// Commands of iotax in the blocks of a page that a shell would run.
    fn commands(page: &str) -> Vec<Vec<String>> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(page);
        let text = std::fs::read_to_string(path).unwrap().replace("\\\n", "");
        let blocks = text.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
        let words = blocks.flat_map(str::lines).map(shell_words);
        words
            .filter_map(|words| {
                Some(words[words.iter().position(|word| word == "iotax")?..].to_vec())
            })
            .collect()
    }

    #[test]
    fn every_command_of_readme_and_cookbook_is_taken() {
        for (page, least) in [("README.md", 3), ("docs/cookbook.md", 40)] {
            let all = commands(page);
            assert!(all.len() >= least, "{page}: {}", all.len());
            for words in all {
                let cli = Cli::try_parse_from(&words)
                    .unwrap_or_else(|error| panic!("{words:?}: {error}"));
                // That of a plan is read by the same code.
                if let Some(Command::Run(args)) = cli.command {
                    args.measure_args()
                        .scenario()
                        .unwrap_or_else(|error| panic!("{words:?}: {error:#}"));
                }
            }
        }
    }

    #[test]
    fn every_example_of_the_help_is_taken_and_every_command_has_some() {
        for examples in examples::ALL {
            let lines = examples.lines().filter(|line| line.starts_with("  iotax "));
            // What follows several blanks says what the command does.
            let commands: Vec<&str> =
                lines.filter_map(|line| line.trim().split("   ").next()).collect();
            assert!((2..=3).contains(&commands.len()), "{examples}");
            for line in commands {
                let cli = Cli::try_parse_from(shell_words(line))
                    .unwrap_or_else(|error| panic!("{line}: {error}"));
                if let Some(Command::Run(args)) = cli.command {
                    let scenario = args.measure_args().scenario();
                    scenario.unwrap_or_else(|error| panic!("{line}: {error:#}"));
                }
            }
        }
        let mut command = <Cli as clap::CommandFactory>::command();
        command.build();
        for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
            let name = command.get_name();
            let has_examples = command.get_after_help().is_some();
            assert!(has_examples || name == "help", "{name} has no examples");
        }
    }

    #[test]
    fn the_short_help_of_run_is_a_screen_and_the_long_one_has_every_option() {
        let mut command = <Cli as clap::CommandFactory>::command().term_width(80);
        command.build();
        let run = command.find_subcommand_mut("run").unwrap();
        let (short, long) = (run.render_help().to_string(), run.render_long_help().to_string());
        assert!(short.lines().count() <= 75, "{} lines\n{short}", short.lines().count());
        for option in run.get_arguments().filter_map(clap::Arg::get_long) {
            assert!(long.contains(&format!("--{option}")), "{option}");
        }
    }

    #[test]
    fn the_readme_is_short_and_pages_have_a_width() {
        for (page, most) in [("README.md", 120), ("docs/cookbook.md", usize::MAX)] {
            let text =
                std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(page)).unwrap();
            assert!(text.lines().count() <= most, "{page}: {}", text.lines().count());
            let wide = |line: &&str| line.chars().count() > 100 && !line.starts_with('|');
            assert_eq!(text.lines().find(wide), None, "{page}");
        }
    }

    #[test]
    fn an_option_of_a_layer_is_told_to_stand_in_the_stack() {
        let complaint = |option: &str| {
            let parsed = Cli::try_parse_from(["iotax", "run", "/dev/x", option]);
            drop_value_advice(parsed.err().unwrap()).render().to_string()
        };
        let cache = complaint("--cache=none");
        assert!(
            cache.contains("one of the layers vm, librbd") && cache.contains("vm(cache=...)"),
            "{cache}"
        );
        assert!(!cache.contains("attaches"), "{cache}");
        assert!(complaint("--budgett=1s").contains("--budget"), "what is alike is still told");
    }
}
