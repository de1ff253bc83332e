//! A run that exists completely or not at all. It is written under another name next to the runs,
//! which no reader takes for a run, and gets its own name at the end. A run that was given up is
//! removed, and the next one removes what a kill left.

use super::appender::{Appender, sync_folder};
use super::is_id;
use super::writer::lock;
use super::{INDEX, Store, StoreError, Writer, index};
use iotax_model::record::RunRecord;
use rustix::fs::FlockOperation;
use std::fs::{DirBuilder, File};
use std::io::Read;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Name of the index with its first record, until it replaces the index without it.
const WHOLE: &str = "index.whole";
pub(super) const BEFORE: &str = ".";
pub(super) const BEHIND: &str = ".part";

/// Run that is being written and does not count yet.
#[derive(Debug)]
pub struct Staged {
    folder: PathBuf,
    run: PathBuf,
    writer: Option<Writer>,
}

impl Staged {
    pub fn begin(runs_dir: &Path, id: &str) -> Result<Staged, StoreError> {
        let store = Store::open(runs_dir)?;
        let run = store.runs_dir().join(id);
        if !is_id(id) || run.exists() {
            let why = Some("it exists, or is no id".to_owned());
            return Err(StoreError::NoRun { what: format!("\"{}\"", id.escape_debug()), why });
        }
        remove_left_over(store.runs_dir());
        let folder = store.runs_dir().join(format!("{BEFORE}{id}{BEHIND}"));
        DirBuilder::new()
            .mode(0o700)
            .create(&folder)
            .map_err(|error| StoreError::system("make", &folder, error))?;
        let mut staged = Staged { run, writer: None, folder };
        staged.writer = Some(Writer::open(&staged.folder)?);
        Ok(staged)
    }

    /// Returns the writer, which exists until the run is kept.
    pub fn writer(&mut self) -> Option<&mut Writer> {
        self.writer.as_mut()
    }

    /// Turns this into a run on the disk whose first record is `start`, and returns its folder.
    /// `start` may contain facts that only the other records showed.
    ///
    /// # Errors
    /// [`StoreError::Full`], [`StoreError::System`] and other errors of [`Writer`]; what was
    /// written is then removed, unless only the last sync failed.
    pub fn keep(mut self, start: &RunRecord) -> Result<PathBuf, StoreError> {
        let rest = self.writer.take();
        // Its lock is held until it has its name: others remove runs that nobody holds.
        let mut index = Appender::open(&self.folder, WHOLE)?;
        lock(&index, &self.folder)?;
        index.append(&index::encode(start)?)?;
        copy(&self.folder.join(INDEX), &mut index)?;
        index.sync()?;
        if let Some(mut rest) = rest {
            rest.sync()?;
        }
        let old = self.folder.join(INDEX);
        std::fs::rename(self.folder.join(WHOLE), &old)
            .map_err(|error| StoreError::system("rename", &old, error))?;
        sync_folder(&self.folder)?;
        std::fs::rename(&self.folder, &self.run)
            .map_err(|error| StoreError::system("rename", &self.folder, error))?;
        if let Some(runs) = self.run.parent() {
            sync_folder(runs)?;
        }
        Ok(self.run.clone())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // A kept run has another name by now. Otherwise there is nobody left to report to, and the
        // next import tries again.
        self.writer = None;
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn copy(from: &Path, to: &mut Appender) -> Result<(), StoreError> {
    let failed = |error| StoreError::system("read", from, error);
    let mut file = File::open(from).map_err(failed)?;
    let mut piece = vec![0u8; PIECE];
    loop {
        match file.read(&mut piece).map_err(failed)? {
            0 => return Ok(()),
            read => to.append(&piece[..read]).map(drop)?,
        }
    }
}

const PIECE: usize = 1 << 20;

/// Removes what processes left that are gone: nobody holds the lock of its index.
fn remove_left_over(runs_dir: &Path) {
    for entry in std::fs::read_dir(runs_dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let id = name
            .to_str()
            .and_then(|name| name.strip_prefix(BEFORE))
            .and_then(|name| name.strip_suffix(BEHIND));
        if id.is_some_and(is_id) && is_nobodys(&entry.path()) {
            // A folder that cannot be removed does no harm.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

fn is_nobodys(folder: &Path) -> bool {
    let Ok(index) = Appender::open(folder, INDEX) else { return false };
    rustix::fs::flock(index.file(), FlockOperation::NonBlockingLockExclusive).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format_tests::start;
    use crate::{find_run, list_runs, load_run};

    const ID: &str = "20260102-030405-a1b2";

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn it_is_no_run_before_it_is_kept_and_nothing_when_it_is_given_up() {
        let dir = tempfile::tempdir().unwrap();
        let mut staged = Staged::begin(dir.path(), ID).unwrap();
        staged.writer().unwrap().append(&RunRecord::Run(start())).unwrap();
        assert!(list_runs(dir.path()).unwrap().is_empty() && find_run(dir.path(), ID).is_err());
        drop(staged);
        assert!(names(dir.path()).is_empty());

        let mut staged = Staged::begin(dir.path(), ID).unwrap();
        staged.writer().unwrap().append(&RunRecord::Resumed { at: "behind".into() }).unwrap();
        let run = staged.keep(&RunRecord::Run(start())).unwrap();
        assert_eq!((names(dir.path()), run.file_name()), (vec![ID.to_owned()], Some(ID.as_ref())));
        assert_eq!(names(&run), ["histograms.seg", INDEX]);
        let read = load_run(&run).unwrap();
        assert_eq!(
            (read.start.id.as_str(), read.resumed, read.torn),
            (ID, vec!["behind".to_owned()], 0)
        );
        assert!(Staged::begin(dir.path(), ID).is_err(), "an id is one run");
    }

    #[test]
    fn what_a_kill_left_is_removed_and_what_is_being_written_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let going = Staged::begin(dir.path(), ID).unwrap();
        let left = dir.path().join(".20260102-030405-dead.part");
        std::fs::create_dir(&left).unwrap();
        std::fs::write(left.join(INDEX), "").unwrap();
        let foreign = dir.path().join(".foreign");
        std::fs::create_dir(&foreign).unwrap();
        let another = Staged::begin(dir.path(), "20260102-030406-a1b2").unwrap();
        assert!(
            !left.exists() && going.folder.exists() && another.folder.exists() && foreign.exists()
        );
    }
}
