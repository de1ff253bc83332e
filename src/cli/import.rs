//! `iotax import`: stores other tools' output, from files, folders or standard input, as a run. It
//! says which systems were recognised, which lines could not be read, and how to read the run. Only
//! the id goes to standard output.

use super::output::{say, say_aside, typed};
use super::stop;
use anyhow::Result;
use iotax_import::{
    ImportRequest, ImportedRun, NamedSource, STDIN, import, parse_named, some_names,
};
use iotax_store::run_id_of;
use iotax_units::count_noun;
use iotax_units::exit::{DONE, Failed};
use iotax_units::harmless::escape_line;
use std::io::IsTerminal;
use std::path::Path;

/// Arguments of `import`.
#[derive(clap::Args)]
pub struct Args {
    /// Files and folders with outputs of tools, or - for standard input, which is read alone where
    /// something is piped in; folders are walked
    #[arg(value_name = "PAGE")]
    page: Vec<String>,
    /// Results of this file or folder are of that system; of a file also lines: NAME=PATH:FROM-TO
    #[arg(long, value_name = "NAME=PATH", value_parser = parse_named)]
    system: Vec<NamedSource>,
    /// The system that others are compared with [default: the first with a result]
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    /// What the run is called in lists and reports
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
}

/// Largest number of lines of each kind that are shown; the report has all.
const MOST_TOLD: usize = 20;

/// Stores the pages as a run and prints its id. Returns the exit code.
///
/// # Errors
/// Bad input: no page is named, standard input is named twice, or a page cannot be read or has no
/// result.
pub fn run(args: &Args, runs: &Path) -> Result<u8> {
    if args.page.iter().filter(|page| *page == STDIN).count() > 1 {
        return Err(Failed::input("standard input is named twice").into());
    }
    let asked = ImportRequest {
        pages: pages(args, std::io::stdin().is_terminal())?,
        named: args.system.clone(),
        baseline: args.baseline.clone(),
        name: args.name.clone(),
        argv: std::env::args().collect(),
    };
    let stop = stop::flag()?;
    let done = import(&asked, runs, &stop)?;
    report_imported(&done);
    say(&format!("{}\n", run_id_of(&done.folder)))?;
    say_aside(&format!("to read it: {}", typed("report", &done.folder)));
    Ok(DONE)
}

/// Returns the named pages, or standard input if neither a page nor a system is named. Then
/// standard input that is a terminal (`typed`) is refused.
fn pages(args: &Args, typed: bool) -> Result<Vec<String>> {
    match (args.page.is_empty() && args.system.is_empty(), typed) {
        (true, true) => Err(Failed::input(
            "import: no PAGE is named; hint: iotax import FILE, or pipe one in: fio job.fio | iotax import",
        )
        .into()),
        (true, false) => Ok(vec![STDIN.to_owned()]),
        (false, _) => Ok(args.page.clone()),
    }
}

fn report_imported(done: &ImportedRun) {
    let by = if done.by_path { "by their paths" } else { "as they were named" };
    let systems =
        done.systems.iter().map(|(name, count)| format!("{name} ({count})")).collect::<Vec<_>>();
    say_aside(&format!(
        "imported: {} of {}; systems {by}: {}",
        count_noun(done.results as u64, "result", "results"),
        count_noun(done.files as u64, "file", "files"),
        some_names(systems.iter().map(String::as_str))
    ));
    if done.by_path {
        say_aside(
            "hint: to name them yourself: --system NAME=PATH for each path, or NAME=PATH:FROM-TO for lines of a page",
        );
    }
    if let Some(page) = &done.guessed {
        say_aside(&format!(
            "{page} holds several results of one load: each is a system of its own, named by its line, as nothing says whether they are \
             repeats; hint: --system NAME={page} if they are"
        ));
    }
    for (lines, what) in [
        (
            &done.repeats,
            "taken for repeats, because their names differ only in words for runs or in numbers",
        ),
        (&done.failed, "the run failed and does not count"),
        (&done.again, "the same run again, not counted"),
        (&done.slips, "a slip"),
        (&done.unread, "not read"),
        (&done.empty, "no result in"),
        (&done.passed, "passed over"),
        (&done.strays, "in nobody's lines"),
        (&done.beyond, "lines beyond the end"),
        (&done.copied, "the same file, byte by byte, under two systems"),
        (
            &done.snapshots,
            "printed before the run had ended (status-interval), not counted as a run",
        ),
    ] {
        lines
            .iter()
            .take(MOST_TOLD)
            .for_each(|line| say_aside(&format!("{what}: {}", escape_line(line))));
        if lines.len() > MOST_TOLD {
            say_aside(&format!("{what}: {} more", lines.len() - MOST_TOLD));
        }
    }
}
