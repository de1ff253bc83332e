//! Finds a stored run by what a person types: `last`, `last~1`, an id or a part of it, a folder, or
//! a name. If several runs fit, the error lists them.

use super::reader::{RunSummary, list_runs, stream_records};
use super::{EXTENSION, INDEX, SEGMENT, StoreError, is_id};
use iotax_model::record::RunRecord;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Returns the folder of the run that `text` means: `last` (the newest that measured anything),
/// `last~N` (the N-th before it), an id, a folder, a name, or the beginning or end of one id.
///
/// # Errors
/// [`StoreError::NoRun`], [`StoreError::Ambiguous`] with the runs that fit, and
/// [`StoreError::System`] if the folder of runs cannot be read.
pub fn find_run(runs_dir: &Path, text: &str) -> Result<PathBuf, StoreError> {
    find(runs_dir, text, has_result)
}

/// Returns the folder of a run as [`find_run`] does, but counts every run for `last`: to resume,
/// remove or rename one, it need not have measured anything.
///
/// # Errors
/// As [`find_run`].
pub fn find_newest(runs_dir: &Path, text: &str) -> Result<PathBuf, StoreError> {
    find(runs_dir, text, |_| true)
}

fn find(
    runs_dir: &Path,
    text: &str,
    counts: fn(&RunSummary) -> bool,
) -> Result<PathBuf, StoreError> {
    if let Some(back) = parse_last(text) {
        return nth_newest(list_runs(runs_dir)?, back, counts).map_err(|why| no_run(text, why));
    }
    let is_path = text.contains('/');
    let folder = if is_path { PathBuf::from(text) } else { runs_dir.join(text) };
    if is_path || is_id(text) {
        match folder.join(INDEX).symlink_metadata() {
            // The folder is examined when it is opened.
            Ok(_) => return Ok(folder),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                let why = format!("{} is another user's: {}", folder.display(), error.kind());
                return Err(no_run(text, why));
            }
            Err(_) => {}
        }
    }
    let runs = list_runs(runs_dir)?;
    let named = runs.iter().filter(|run| name_of(run) == Some(text)).collect::<Vec<_>>();
    let parts = |run: &&RunSummary| run.id.starts_with(text) || run.id.ends_with(text);
    let found = match named.is_empty() && is_id(text) {
        true => runs.iter().filter(parts).collect(),
        false => named,
    };
    match found.as_slice() {
        [run] => Ok(run.folder.clone()),
        [] => Err(no_run(text, why_none(runs_dir, text, &runs))),
        several => {
            Err(StoreError::Ambiguous { what: quoted(text), candidates: candidates(several, "or") })
        }
    }
}

/// Returns how many runs before the newest `last` (0) or `last~N` means; `None` for another text.
fn parse_last(text: &str) -> Option<usize> {
    match text.strip_prefix("last")? {
        "" => Some(0),
        back => back.strip_prefix('~')?.parse().ok(),
    }
}

/// Returns the folder of the `back`-th run before the newest that counts. If none counts, all do.
///
/// # Errors
/// Says how many runs there are.
fn nth_newest(
    runs: Vec<RunSummary>,
    back: usize,
    counts: fn(&RunSummary) -> bool,
) -> Result<PathBuf, String> {
    if let Some(run) = runs.iter().rev().filter(|run| counts(run)).nth(back) {
        return Ok(run.folder.clone());
    }
    let counted = runs.iter().filter(|run| counts(run)).count();
    match runs.iter().rev().nth(back).filter(|_| counted == 0) {
        Some(run) => Ok(run.folder.clone()),
        None if runs.is_empty() => Err("no run is stored yet".to_owned()),
        None if counted == 1 => Err("there is one run".to_owned()),
        None => Err(format!("there are {} runs", counted.max(1))),
    }
}

fn name_of(run: &RunSummary) -> Option<&str> {
    run.start.as_ref().ok()?.scenario.name.as_deref()
}

/// Returns why nothing was found, with the newest runs as candidates.
fn why_none(runs_dir: &Path, text: &str, runs: &[RunSummary]) -> String {
    let path = Path::new(text);
    if path.extension().is_some_and(|end| end == EXTENSION) {
        return match path.exists() {
            true => "it is a packed run, which report, compare and list read".to_owned(),
            false => "there is no such file".to_owned(),
        };
    }
    if text.contains('/') {
        return "the folder holds none".to_owned();
    }
    let newest: Vec<&RunSummary> = runs.iter().collect();
    match newest.is_empty() {
        true => format!("{} has no runs", runs_dir.display()),
        false => format!(
            "not found under {}; there is {}",
            runs_dir.display(),
            candidates(&newest, "and")
        ),
    }
}

/// Number of runs that an error names.
const MOST_NAMED: usize = 5;

/// Returns the newest of these runs, each by its id and name; `last` is the word before the last.
fn candidates(runs: &[&RunSummary], last: &str) -> String {
    let shown = |run: &&RunSummary| match name_of(run) {
        Some(name) => format!("{} ({})", run.id, name.escape_debug()),
        None => run.id.clone(),
    };
    let older = runs.len().saturating_sub(MOST_NAMED);
    let mut names: Vec<String> = runs[older..].iter().map(shown).collect();
    if older > 0 {
        names.push(format!("{older} older"));
    }
    match names.split_last() {
        Some((end, [])) => end.clone(),
        Some((end, rest)) => format!("{} {last} {end}", rest.join(", ")),
        None => String::new(),
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.escape_debug())
}

fn no_run(text: &str, why: String) -> StoreError {
    StoreError::NoRun { what: quoted(text), why: Some(why) }
}

/// Returns true if the run measured anything: a run that was refused at its start hides no result.
fn has_result(run: &RunSummary) -> bool {
    measured_load(run) || is_imported(run) || is_search_or_trials(run)
}

fn measured_load(run: &RunSummary) -> bool {
    run.folder.join(SEGMENT).metadata().is_ok_and(|meta| meta.len() > 0)
}

/// Returns true for an imported run, which may have printed figures but no histograms.
fn is_imported(run: &RunSummary) -> bool {
    run.start.as_ref().is_ok_and(|start| start.imported.is_some())
}

/// Returns true for durability trials, and for a search for limits, with at least one result: these
/// have no latencies, and few records.
fn is_search_or_trials(run: &RunSummary) -> bool {
    let asked = run
        .start
        .as_ref()
        .is_ok_and(|start| start.scenario.durability.is_some() || start.scenario.limits.is_some());
    let mut found = 0;
    let read = asked.then(|| {
        stream_records(&run.folder, |record| {
            found += u32::from(matches!(record, RunRecord::Trial(_) | RunRecord::Course(_)));
        })
    });
    read.is_some_and(|read| read.is_ok()) && found > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format_tests::start;
    use crate::{Store, Writer, rename_run};

    const IDS: [&str; 4] =
        ["20260102-030405-a1b2", "20260102-030406-ffff", "20260203-000000-a1b2", "old"];

    /// Runs of these ids, of which those that `measured` names have results.
    fn stored(runs: &Path, measured: &[usize]) {
        for (at, id) in IDS.iter().enumerate() {
            let mut writer: Writer = Store::create(runs, id).unwrap();
            writer.append(&RunRecord::Run(start())).unwrap();
            if measured.contains(&at) {
                std::fs::write(writer.folder().join(SEGMENT), "latencies").unwrap();
            }
        }
    }

    #[test]
    fn every_way_to_name_a_run() {
        let dir = tempfile::tempdir().unwrap();
        stored(dir.path(), &[0, 1]);
        rename_run(&dir.path().join(IDS[1]), "raid 5/6 nightly").unwrap();
        rename_run(&dir.path().join(IDS[2]), "ffff").unwrap();
        let found = |text: &str| {
            let folder = find_run(dir.path(), text).unwrap_or_else(|error| panic!("{error}"));
            IDS.iter().position(|id| folder == dir.path().join(id)).unwrap()
        };
        for (text, at) in [
            ("last", 1),
            ("last~0", 1),
            ("last~1", 0),
            (IDS[0], 0),
            (dir.path().join(IDS[2]).to_str().unwrap(), 2),
            ("20260203", 2),
            ("raid 5/6 nightly", 1),
            ("ffff", 2),
            ("406-ffff", 1),
            ("old", 3),
        ] {
            assert_eq!(found(text), at, "{text}");
        }
        assert_eq!(find_newest(dir.path(), "last").unwrap(), dir.path().join("old"));
        assert_eq!(find_newest(dir.path(), "last~3").unwrap(), dir.path().join(IDS[0]));
    }

    #[test]
    fn unknown_and_ambiguous_names_list_candidates() {
        let dir = tempfile::tempdir().unwrap();
        let complaint = |text: &str| find_run(dir.path(), text).unwrap_err().to_string();
        assert!(complaint("last").contains("no run is stored yet"));
        assert!(complaint("x").contains("has no runs"));
        stored(dir.path(), &[0]);
        rename_run(&dir.path().join(IDS[1]), "twin").unwrap();
        rename_run(&dir.path().join(IDS[3]), "twin").unwrap();
        let expected = "\"20260102\" can be 20260102-030405-a1b2 or 20260102-030406-ffff (twin); \
                        hint: write more of the id";
        assert_eq!(complaint("20260102"), expected);
        assert!(complaint("a1b2").contains("20260102-030405-a1b2 or 20260203-000000-a1b2;"));
        assert!(complaint("twin").contains("20260102-030406-ffff (twin) or old (twin)"));
        let unknown = complaint("nothing");
        assert!(unknown.contains("there is ") && IDS.iter().all(|id| unknown.contains(id)));
        assert!(complaint("last~1").contains("there is one run"));
        assert!(complaint("last~x").contains("not found"));
        for none in ["-x", "../x", "", "last~", "last~-1", "a\u{1b}b"] {
            assert!(find_run(dir.path(), none).is_err(), "{none:?}");
        }
        assert!(!complaint("a\u{1b}b").contains('\u{1b}'));
    }

    #[test]
    fn without_any_result_the_newest_run_is_the_last() {
        let dir = tempfile::tempdir().unwrap();
        stored(dir.path(), &[]);
        assert_eq!(find_run(dir.path(), "last").unwrap(), dir.path().join("old"));
    }
}
