//! Noise series of one's own machine: their folder, reading and recording them. A damaged series is
//! refused with file and line, and none is overwritten.

use crate::cli::output::say_aside;
use crate::cli::progress::Recording;
use crate::cli::stop;
use anyhow::{Context, Result};
use iotax_measure::noise;
use iotax_stats::selfcheck::kinds::NoiseSource;
use iotax_stats::selfcheck::series;
use iotax_store::Store;
use iotax_sys::regular::read_text;
use iotax_units::exit::Failed;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Folder within that of the runs; no run can have this name, and `list` skips it.
const FOLDER: &str = ".noise";
const ENDING: &str = "csv";

/// Returns all recorded series by name.
///
/// # Errors
/// When the folder cannot be read, or a series in it is damaged.
pub fn stored(runs: &Path) -> Result<Vec<NoiseSource>> {
    let folder = runs.join(FOLDER);
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read {}", folder.display()));
        }
    };
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>();
    let mut paths = paths.with_context(|| format!("cannot read {}", folder.display()))?;
    paths.retain(|path| path.extension().is_some_and(|ending| ending == ENDING));
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

pub fn read(file: &Path) -> Result<NoiseSource> {
    let text = read_text(file)
        .map_err(|error| Failed::input(format!("cannot read {}: {error}", file.display())))?;
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let hint = "hint: remove the file, or record it again with --record";
    NoiseSource::parse(&name, &text)
        .map_err(|why| Failed::input(format!("{}: {why}; {hint}", file.display())).into())
}

/// Records a series of a target and stores it; returns its file.
///
/// # Errors
/// When the target may not be read, cannot be, or the series not be stored.
pub fn record(
    target: &str,
    seconds: u32,
    iodepth: u32,
    runs: &Path,
    stop: &AtomicBool,
) -> Result<PathBuf> {
    let quarry = noise::quarry("--record", target)?;
    quarry.warnings.iter().for_each(|warning| say_aside(&format!("warning: {warning}")));
    let folder = Store::open(&runs.join(FOLDER)).map_err(Failed::from)?.runs_dir().to_owned();
    let now = jiff::Timestamp::now();
    let file = folder.join(file_name(&quarry.path, &now.strftime("%Y%m%d-%H%M%S").to_string()));
    let rows = {
        let shown = Recording::new(&quarry.text);
        let seconds = f64::from(seconds);
        let mut on_progress = |done_s| {
            shown.show_progress(done_s, seconds);
            stop::asked(stop)
        };
        noise::record(&quarry, seconds, iodepth, &mut on_progress)?
    };
    let date = now.strftime("%Y-%m-%d %H:%M UTC");
    let what = format!("4k random reads at depth {iodepth} of {}, recorded {date}", quarry.text);
    let text = series::text(&what, &rows);
    // A series that later checks would refuse is not kept.
    series::parse(&file_name(&quarry.path, ""), &text).map_err(|why| {
        // A tenth more than the time at the observed pace.
        let enough =
            1.1 * f64::from(seconds) * series::LEAST_ROWS as f64 / rows.len().max(1) as f64;
        let hint = format!("hint: --seconds {:.0}, or a smaller --iodepth", enough.ceil());
        Failed::input(format!("nothing is stored of {}: {why}; {hint}", quarry.text))
    })?;
    keep(&file, &text)?;
    say_aside(&format!("recorded {} slices into {}", rows.len(), file.display()));
    Ok(file)
}

/// Makes a name from the last part of the target's path: letters, digits and dashes stay.
fn file_name(path: &Path, date: &str) -> String {
    let last = path.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let word: String = last.chars().take(40).map(plain).collect();
    format!("{}-{date}.{ENDING}", word.trim_matches('-'))
}

fn keep(file: &Path, text: &str) -> Result<()> {
    let new = File::options().write(true).create_new(true).open(file);
    let written =
        new.and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()));
    written.with_context(|| format!("cannot store the series in {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_stats::selfcheck::series::SeriesRow;

    fn series(rows: u64) -> String {
        let row =
            |i| SeriesRow { stack: 0, start_us: i * 60_000, length_us: 50_000, ios: 100 + i % 7 };
        series::text("a disk", &(0..rows).map(row).collect::<Vec<_>>())
    }

    #[test]
    fn stored_series_are_found_and_no_run() {
        let runs = tempfile::tempdir().unwrap();
        assert!(stored(runs.path()).unwrap().is_empty());
        let folder = runs.path().join(FOLDER);
        std::fs::create_dir(&folder).unwrap();
        keep(&folder.join("b-20260102-030405.csv"), &series(300)).unwrap();
        keep(&folder.join("a-20260102-030405.csv"), &series(200)).unwrap();
        std::fs::write(folder.join("notes.txt"), "not a series").unwrap();
        let names: Vec<String> =
            stored(runs.path()).unwrap().iter().map(NoiseSource::name).collect();
        assert_eq!(names, ["replay a-20260102-030405", "replay b-20260102-030405"]);
        assert!(iotax_store::list(runs.path()).unwrap().is_empty(), "no run");
    }

    #[test]
    fn nothing_is_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.csv");
        keep(&file, "one").unwrap();
        assert!(format!("{:#}", keep(&file, "two").unwrap_err()).contains("x.csv"));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "one");
    }

    #[test]
    fn a_damaged_series_is_named_with_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.csv");
        std::fs::write(&file, series(300).replace("\n0,600000,", "\n0,sixty,")).unwrap();
        let said = format!("{:#}", read(&file).err().unwrap());
        assert!(said.contains("x.csv: line 13") && said.contains("hint"), "{said}");
        std::fs::write(&file, series(10)).unwrap();
        assert!(format!("{:#}", read(&file).err().unwrap()).contains("10 slices"));
        let missing = format!("{:#}", read(&folder.path().join("none.csv")).err().unwrap());
        assert!(missing.contains("none.csv"), "{missing}");
    }

    #[test]
    fn names_come_from_the_target() {
        assert_eq!(
            file_name(Path::new("/srv/My disk.img"), "20260102-030405"),
            "My-disk-img-20260102-030405.csv"
        );
        assert_eq!(file_name(Path::new("/dev/nvme0n1"), "x"), "nvme0n1-x.csv");
    }
}
