//! `iotax report`: stored runs in any form; made from the record alone, so also of a run that is
//! going, was killed, or was measured elsewhere.

use super::{columns, say};
use crate::bill::{self, Findings};
use crate::exit::{DONE, Failed};
use crate::report::{self, Page};
use crate::store;
use anyhow::{Context, Result};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Arguments of `report`.
#[derive(clap::Args)]
pub struct Args {
    /// Runs: their ids, folders, or `last`
    #[arg(value_name = "RUN", default_value = "last")]
    run: Vec<String>,
    #[command(flatten)]
    output: Output,
}

/// In which form, and where to.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Output {
    /// terminal, markdown, html, json or csv
    #[arg(long, default_value = "terminal", value_parser = known_format)]
    format: String,
    /// Write to this file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

fn known_format(word: &str) -> Result<String, String> {
    let names: Vec<&str> = report::ALL.iter().map(|renderer| renderer.name).collect();
    match report::by_name(word) {
        Some(renderer) => Ok(renderer.name.to_owned()),
        None => Err(format!("known are {}", names.join(", "))),
    }
}

/// Runs the command.
///
/// # Errors
/// When a run does not exist or cannot be read.
pub fn run(args: &Args, runs: &Path) -> Result<u8> {
    let dirs: Vec<PathBuf> = args
        .run
        .iter()
        .map(|name| Ok(store::find(runs, name).map_err(Failed::from)?))
        .collect::<Result<_>>()?;
    print(&dirs, &args.output, columns())?;
    Ok(DONE)
}

/// Prints runs, or writes them to the file that was named.
///
/// # Errors
/// When a run cannot be read or the file not be written.
pub fn print(dirs: &[PathBuf], output: &Output, width: usize) -> Result<()> {
    let text = render(dirs, &output.format, width)?;
    match &output.output {
        None => say(&text),
        Some(path) => write_whole(path, &text),
    }
}

/// The findings of a stored run.
///
/// # Errors
/// When it cannot be read.
pub fn findings(dir: &Path) -> Result<Findings> {
    Ok(bill::findings(&store::load(dir).map_err(Failed::from)?))
}

/// Runs in one form.
///
/// # Errors
/// When one cannot be read.
pub fn render(dirs: &[PathBuf], format: &str, width: usize) -> Result<String> {
    let renderer =
        report::by_name(format).ok_or_else(|| Failed::input(format!("unknown format \"{format}\"")))?;
    let findings: Vec<Findings> = dirs.iter().map(|dir| findings(dir)).collect::<Result<_>>()?;
    Ok((renderer.render)(&findings, &Page { width }))
}

/// The whole file or none: a full disk leaves no half page behind.
fn write_whole(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let write = || -> std::io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(text.as_bytes())?;
        file.as_file().sync_all()?;
        file.persist(path).map(drop).map_err(|error| error.error)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}
