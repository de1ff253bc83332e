//! `iotax-bench engine`: the load generator against its peers on targets where it shows, as the
//! table of goals; or one load on one target, ours and the installed fio in turn, or one of them
//! alone. For those who work on the generator; it is not shipped.

#![forbid(unsafe_code)]

mod contest;
mod saying;
mod single;
mod stop;
mod table;

use anyhow::Result;
use clap::{Parser, Subcommand};
use contest::goals::{self, Contest, GoalFigure};
use contest::{
    Anywhere, Contender, ContenderShots, Effort, LineOfTable, Slices, Spots, Stopped, TargetKind,
    keep_to,
};
use iotax_load::engine::ALL;
use iotax_units::exit::{Failed, code_of};
use iotax_units::{parse_bytes, parse_duration};
use saying::{Saying, say, say_aside};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use table::{BenchFigures, BenchRow, BenchTable};

#[derive(Parser)]
#[command(
    name = "iotax-bench",
    version,
    about = "Holds the load generator of iotax against other generators"
)]
struct Cli {
    /// Folder of the runs, beside which a zram device is noted while it exists [default: as iotax]
    #[arg(long, global = true, value_name = "DIR")]
    runs: Option<PathBuf>,
    #[command(subcommand)]
    what: BenchCommand,
}

#[derive(Subcommand)]
enum BenchCommand {
    /// The load generator against the installed fio: the table of its goals, or one load on a
    /// target that is only read
    Engine(Box<Args>),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let BenchCommand::Engine(args) = &cli.what;
    let runs = cli.runs.map_or_else(|| iotax_store::default_runs_dir().map_err(Failed::from), Ok);
    match runs.map_err(anyhow::Error::from).and_then(|runs| run(args, &runs)) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            say_aside(&format!("iotax-bench: {error:#}"));
            ExitCode::from(code_of(&error))
        }
    }
}

/// Goals that are looked at beside the contests.
const BESIDE: [u8; 3] = [12, 13, 14];

/// The start of a run is discarded, and figures of fio are of milliseconds.
const LEAST: std::time::Duration = std::time::Duration::from_millis(50);

/// What it takes of this machine.
const TAKES: &str = "The table writes 2.5 GiB of scratch below --dir (a page-cached file of 512 MiB and one of 2 GiB for the disk, as far as the goals \
     ask for them; without names, so they are gone with the process) and asks the kernel for a zram device of its own, which it takes away again \
     (root only; after a kill the next table does). With --target nothing is written. Exit code 1: a goal is missed; 3: nothing was measured, or no \
     line of a goal that --goal names.";

#[derive(clap::Args)]
#[command(after_help = TAKES)]
struct Args {
    /// Measure this target alone, which is read only: a file, a block device, /dev/zero
    #[arg(long, value_name = "PATH")]
    target: Option<PathBuf>,
    /// Bytes of it [default: all that it has]
    #[arg(long, value_name = "SIZE", requires = "target", value_parser = |word: &str| parse_bytes(word))]
    size: Option<u64>,
    #[arg(long, value_name = "NAME", requires = "target", help = help_of_engine())]
    engine: Option<String>,
    /// read or randread
    #[arg(long, value_name = "WORD", requires = "target")]
    rw: Option<String>,
    /// Block size
    #[arg(long, value_name = "SIZE", requires = "target")]
    bs: Option<String>,
    /// I/Os in flight a thread
    #[arg(long, value_name = "N", requires = "target")]
    iodepth: Option<String>,
    /// Threads
    #[arg(long, value_name = "N", requires = "target")]
    numjobs: Option<String>,
    /// O_DIRECT [default: 1 on files and block devices, 0 on /dev/zero]
    #[arg(long, value_name = "0|1", requires = "target")]
    direct: Option<String>,
    /// Open loop: so many I/Os a second a thread
    #[arg(long, value_name = "N", requires = "target")]
    rate_iops: Option<String>,
    /// When latencies of ours begin: each (a reading of the clock for every I/O), batch, off (none
    /// is recorded, nor by fio)
    #[arg(long, value_name = "WORD", requires = "target", default_value = "each", value_parser = ["each", "batch", "off"])]
    stamps: String,
    /// Memory of the I/Os, of both: malloc, mmaphuge (huge pages)
    #[arg(long, value_name = "WORD", requires = "target", default_value = "malloc", value_parser = ["malloc", "mmaphuge"])]
    iomem: String,
    /// One of them only
    #[arg(long, value_name = "WHO", requires = "target", value_parser = ["iotax", "fio"])]
    only: Option<String>,
    /// Seconds of a run
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = |word: &str| parse_duration(word))]
    time: std::time::Duration,
    /// Runs of each, in turn; medians count
    #[arg(long, value_name = "N", default_value_t = 5, conflicts_with = "only", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeats: u32,
    /// Keep everybody to this processor, but for the goals of several threads [default: the first
    /// one; with --target none]
    #[arg(long, value_name = "N")]
    cpu: Option<usize>,
    /// Goals to look at, of 1 to 14 [default: all]
    #[arg(long, value_name = "N", value_delimiter = ',', conflicts_with = "target", value_parser = clap::value_parser!(u8).range(1..=14))]
    goal: Vec<u8>,
    /// Folder of the scratch files, on the disk that goal 11 is about; not tmpfs or overlay
    /// [default: /var/tmp]
    #[arg(long, value_name = "DIR", conflicts_with = "target")]
    dir: Option<PathBuf>,
    /// t/io_uring of fio's sources, where it was built
    #[arg(long, value_name = "PROGRAM", conflicts_with = "target")]
    t_io_uring: Option<PathBuf>,
    /// Seed of the order in which they run
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "target")]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// All of the family, as they are named in scenario files.
fn help_of_engine() -> String {
    let words: Vec<&str> = ALL.iter().map(|kind| kind.word).collect();
    format!(
        "Engine of ours: {}; fio takes its nearest [default: chosen by the target]",
        words.join(", ")
    )
}

/// Bad input, a target that cannot be read, no fio where it is asked for, or Ctrl-C is an error.
fn run(args: &Args, runs: &Path) -> Result<u8> {
    if args.time < LEAST {
        let least = LEAST.as_millis();
        return Err(Failed::input(format!(
            "--time: a run of less than {least} ms measures nothing"
        ))
        .into());
    }
    if let Some(target) = &args.target {
        return single::run(args, target);
    }
    let stop = stop::flag()?;
    let found = against_all(args, runs, &stop)?;
    say(&if args.json { found.json() } else { found.text() })?;
    Ok(found.code())
}

impl Args {
    fn effort(&self) -> Effort {
        Effort { seconds: self.time.as_secs_f64(), runs: self.repeats, seed: self.seed }
    }

    fn looks_at(&self, goal: u8) -> bool {
        self.goal.is_empty() || self.goal.contains(&goal)
    }
}

fn interrupted() -> anyhow::Error {
    Failed::measurement("interrupted: nothing is concluded").into()
}

/// The table of goals.
fn against_all(args: &Args, runs: &Path, stop: &AtomicBool) -> Result<BenchTable> {
    let contests: Vec<&'static Contest> = goals::ALL
        .iter()
        .filter(|contest| contest.lines.iter().any(|line| args.looks_at(line.goal)))
        .collect();
    let anywhere = Anywhere::now().map_err(Failed::from)?;
    let cpu = args.cpu.unwrap_or_else(|| anywhere.first());
    // Before anything is written for it: there may be no such processor.
    keep_to(cpu).map_err(Failed::from)?;
    let saying = Saying::new();
    let mut wanted: Vec<TargetKind> = contests.iter().map(|contest| contest.spot).collect();
    wanted.extend(args.looks_at(13).then_some(TargetKind::PageCache));
    let folder = args.dir.clone().unwrap_or_else(|| "/var/tmp".into());
    let spots = Spots::make(&wanted, &folder, &runs.join(contest::NOTES), &mut |text| {
        saying.say(text);
        stop::asked(stop)
    });
    let mut table = BenchTable {
        effort: args.effort(),
        asked: args.goal.clone(),
        fio: contest::fio_version().map_err(|error| error.to_string()),
        rows: Vec::new(),
    };
    let mut worst_law: Option<f64> = None;
    for contest in contests {
        // Threads side by side are not asked to share one processor.
        let cpu = (contest.numjobs == 1).then_some(cpu);
        match cpu {
            Some(cpu) => keep_to(cpu).map_err(Failed::from)?,
            None => anywhere.again(),
        }
        let mut told = |who: Contender| {
            saying.say(&format!("{}: {}", contest.to_sentence(), table::name(who)));
            stop::asked(stop)
        };
        let entries =
            contest::run(contest, &spots, args.effort(), args.t_io_uring.as_deref(), &mut told)
                .map_err(|_| interrupted())?;
        worst_law = worst(worst_law, &entries);
        let outcomes = contest::outcomes(contest, &entries);
        let ours = outcomes.into_iter().filter(|outcome| args.looks_at(outcome.line.goal));
        table.rows.extend(ours.map(|outcome| row(contest, outcome, cpu)));
    }
    keep_to(cpu).map_err(Failed::from)?;
    for goal in BESIDE.into_iter().filter(|goal| args.looks_at(*goal)) {
        if stop::asked(stop).is_break() {
            return Err(interrupted());
        }
        saying.say(&format!("goal {goal}"));
        let rows = other_rows(goal, &spots, worst_law, args.effort());
        table.rows.extend(rows.into_iter().map(|row| BenchRow { cpu: Some(cpu), ..row }));
    }
    anywhere.again();
    // In the last of them too: what it gave may be cut short.
    if stop::asked(stop).is_break() {
        return Err(interrupted());
    }
    Ok(table)
}

fn row(contest: &Contest, outcome: LineOfTable, cpu: Option<usize>) -> BenchRow {
    let line = outcome.line;
    let unit = match (line.against, line.of) {
        (Some(_), _) => table::BenchUnit::Ratio,
        (None, GoalFigure::KernelShare) => table::BenchUnit::Share,
        (None, _) => table::BenchUnit::Ns,
    };
    let found = outcome.found.map(|found| BenchFigures {
        value: found.value,
        spread: Some((found.lowest, found.highest)),
        ours: found.ours,
        theirs: found.theirs,
    });
    let what = table::what(line.of, line.ours, line.against);
    BenchRow {
        goal: line.goal,
        under: contest.to_sentence(),
        cpu,
        what,
        unit,
        of: Some(line.of),
        found,
        bound: line.bound,
    }
}

/// What is no contest: honesty, slices, memory.
fn other_rows(goal: u8, spots: &Spots, worst_law: Option<f64>, effort: Effort) -> Vec<BenchRow> {
    use goals::GoalBound::{AtLeast, AtMost};
    let plain = |what: &str, unit, value: Result<f64, String>, bound| BenchRow {
        goal,
        under: "the generator by itself".into(),
        cpu: None,
        what: what.into(),
        unit,
        of: None,
        found: value.map(|value| BenchFigures { value, spread: None, ours: value, theirs: None }),
        bound,
    };
    match goal {
        12 => vec![
            plain(
                "largest error of Little's law in all runs",
                table::BenchUnit::Share,
                worst_law.map_or_else(|| law_alone(spots, effort), Ok),
                AtMost(0.02),
            ),
            plain(
                "p99 at 100k/s where all stands still for 200 ms of 2 s",
                table::BenchUnit::Ns,
                Stopped::p99_ns().map_err(|error| error.to_string()),
                AtLeast(Stopped::LEAST_NS),
            ),
        ],
        13 => {
            let slices = spots
                .ready(TargetKind::PageCache)
                .and_then(|place| Slices::measure(&place, 10.0).map_err(|error| error.to_string()));
            let of = |pick: fn(&Slices) -> f64| slices.as_ref().map(pick).map_err(Clone::clone);
            vec![
                plain(
                    "from one prepared worker's slice to another's, beyond the drain",
                    table::BenchUnit::Ns,
                    of(|slices| slices.switch_ns),
                    AtMost(Slices::MOST_SWITCH_NS),
                ),
                plain(
                    "rate of 50 ms slices off that of long ones by",
                    table::BenchUnit::Share,
                    of(|slices| (slices.ratio - 1.0).abs()),
                    AtMost(Slices::MOST_OFF),
                ),
            ]
        }
        _ => {
            let place = spots.ready(TargetKind::Zero);
            let bytes =
                place.and_then(|place| contest::memory_of_a_job(&place).map_err(|e| e.to_string()));
            let bytes = bytes.map(|bytes| bytes as f64);
            vec![plain(
                "memory of a job at depth 128 and 4 KiB",
                table::BenchUnit::Bytes,
                bytes,
                AtMost(4.0 * 1024.0 * 1024.0),
            )]
        }
    }
}

/// Where no contest ran.
fn law_alone(spots: &Spots, effort: Effort) -> Result<f64, String> {
    let place = spots.ready(TargetKind::Zero)?;
    contest::littles_law_error(&place, effort.seconds).map_err(|error| error.to_string())
}

/// The largest error of Little's law among ours.
fn worst(known: Option<f64>, entries: &[ContenderShots]) -> Option<f64> {
    let shots = entries.iter().filter_map(|entry| entry.shots.as_ref().ok()).flatten();
    let errors = shots.filter_map(|shot| shot.littles_law_error).map(f64::abs);
    errors.chain(known).max_by(f64::total_cmp)
}
