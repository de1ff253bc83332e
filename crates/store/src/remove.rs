//! Removes stored runs. Nothing is removed that another user wrote, that is a mount point, or that
//! is reached by a link.

use super::appender::sync_folder;
use super::staged::{BEFORE, BEHIND};
use super::{INDEX, JOURNAL, RunLock, StoreError, check_own_folder, is_id, run_id_of};
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Returns the size in bytes of a run that may be removed.
///
/// # Errors
/// [`StoreError::NoRun`] if the folder is no run's, [`StoreError::Unsafe`] if another user could
/// have written to it or if anything in it must stay, [`StoreError::System`].
pub fn removable_bytes(folder: &Path) -> Result<u64, StoreError> {
    let top = metadata(folder)?;
    let id = run_id_of(folder);
    let holds = |name: &str| folder.join(name).symlink_metadata().is_ok_and(|meta| meta.is_file());
    if !top.is_dir() || !is_id(&id) || !(holds(INDEX) || holds(JOURNAL)) {
        let why = Some("only the folder of a run is removed, never a link to it".to_owned());
        return Err(StoreError::NoRun { what: folder.display().to_string(), why });
    }
    check_own_folder(folder)?;
    bytes_below(folder, &top)
}

/// Removes a run; `lock` shows that it is not going. A run that is half removed when this is killed
/// is no run, and the next import removes the rest.
///
/// # Errors
/// As [`removable_bytes`].
pub fn remove_run(folder: &Path, lock: RunLock) -> Result<(), StoreError> {
    removable_bytes(folder)?;
    let going = folder.with_file_name(format!("{BEFORE}{}{BEHIND}", run_id_of(folder)));
    std::fs::rename(folder, &going).map_err(|error| StoreError::system("remove", folder, error))?;
    if let Some(runs) = folder.parent() {
        sync_folder(runs)?;
    }
    std::fs::remove_dir_all(&going).map_err(|error| StoreError::system("remove", &going, error))?;
    drop(lock);
    Ok(())
}

fn metadata(path: &Path) -> Result<Metadata, StoreError> {
    path.symlink_metadata().map_err(|error| StoreError::system("look at", path, error))
}

/// Adds up what is in a folder. Refuses mount points and what belongs to others.
fn bytes_below(folder: &Path, top: &Metadata) -> Result<u64, StoreError> {
    let failed = |error| StoreError::system("read", folder, error);
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let meta = metadata(&path)?;
        let why = match () {
            () if meta.dev() != top.dev() => Some("something is mounted there".to_owned()),
            () if meta.uid() != top.uid() => Some(format!("it belongs to user {}", meta.uid())),
            () => None,
        };
        if let Some(why) = why {
            let hint = "look at it, remove it yourself, then the run".to_owned();
            return Err(StoreError::Unsafe { path, why, hint });
        }
        bytes += if meta.is_dir() { bytes_below(&path, top)? } else { meta.len() };
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format_tests::start;
    use crate::{Store, list_runs};
    use iotax_model::record::RunRecord;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;

    fn stored(runs: &Path, id: &str) -> PathBuf {
        let mut writer = Store::create(runs, id).unwrap();
        writer.append(&RunRecord::Run(start())).unwrap();
        writer.folder().to_owned()
    }

    fn take(folder: &Path) -> RunLock {
        RunLock::take(folder).unwrap().unwrap()
    }

    #[test]
    fn a_run_goes_whole_and_what_a_link_leads_to_stays() {
        let dir = tempfile::tempdir().unwrap();
        let [gone, stays] = ["gone", "stays"].map(|id| stored(dir.path(), id));
        let kept = dir.path().join("kept");
        std::fs::create_dir(&kept).unwrap();
        std::fs::write(kept.join("x"), "x").unwrap();
        symlink(&kept, gone.join("link")).unwrap();
        std::fs::create_dir(gone.join("logs")).unwrap();
        std::fs::write(gone.join("logs/console"), "12345").unwrap();
        let without = removable_bytes(&stays).unwrap();
        assert!(removable_bytes(&gone).unwrap() >= without + 5);
        remove_run(&gone, take(&gone)).unwrap();
        let left: Vec<String> =
            list_runs(dir.path()).unwrap().into_iter().map(|run| run.id).collect();
        assert!(left == ["stays"] && kept.join("x").exists());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "nothing half removed");
    }

    #[test]
    fn links_and_other_folders_are_never_removed() {
        let dir = tempfile::tempdir().unwrap();
        let run = stored(dir.path(), "run");
        let [link, other] = ["link", "other"].map(|name| dir.path().join(name));
        symlink(&run, &link).unwrap();
        std::fs::create_dir(&other).unwrap();
        std::fs::write(other.join("data"), "x").unwrap();
        let lock = || take(&run);
        for wrong in [&link, &other, dir.path()] {
            let error = remove_run(wrong, lock()).unwrap_err();
            assert!(matches!(error, StoreError::NoRun { .. }), "{error}");
        }
        assert!(run.join(INDEX).exists() && link.exists() && other.join("data").exists());
    }

    #[test]
    fn what_another_user_wrote_stays() {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: needs root to give a file to another user");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let run = stored(dir.path(), "run");
        std::fs::write(run.join("theirs"), "x").unwrap();
        std::os::unix::fs::chown(run.join("theirs"), Some(4242), None).unwrap();
        let error = remove_run(&run, take(&run)).unwrap_err().to_string();
        assert!(error.contains("it belongs to user 4242"), "{error}");
        std::fs::remove_file(run.join("theirs")).unwrap();
        std::os::unix::fs::chown(&run, Some(4242), None).unwrap();
        assert!(matches!(removable_bytes(&run), Err(StoreError::Unsafe { .. })));
        assert!(run.join(INDEX).exists());
    }
}
