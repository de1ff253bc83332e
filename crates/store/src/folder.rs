//! The folder of runs, and new runs in it.

use super::{StoreError, Writer, check_own_folder, is_id};
use iotax_journal::check_links;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct Store {
    runs_dir: PathBuf,
}

impl Store {
    /// Makes the folder of runs if needed (0700) and checks it and all folders above it.
    ///
    /// # Errors
    /// [`StoreError::Unsafe`], [`StoreError::NoFolder`] if it cannot be made,
    /// [`StoreError::System`].
    pub fn open(runs_dir: &Path) -> Result<Store, StoreError> {
        let runs_dir = std::path::absolute(runs_dir)
            .map_err(|error| StoreError::system("resolve", runs_dir, error))?;
        check_links(&runs_dir)?;
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder
            .create(&runs_dir)
            .map_err(|source| StoreError::NoFolder { path: runs_dir.clone(), source })?;
        Ok(Store { runs_dir: check_own_folder(&runs_dir)? })
    }

    /// Makes the run's folder (new, 0700) and opens it for writing.
    ///
    /// # Errors
    /// As [`Store::open`]; [`StoreError::NoRun`] if `id` is no id; [`StoreError::System`] if a
    /// folder of that name exists; [`StoreError::Full`].
    pub fn create(runs_dir: &Path, id: &str) -> Result<Writer, StoreError> {
        let store = Store::open(runs_dir)?;
        let folder = store.runs_dir.join(id);
        if !is_id(id) {
            let why = Some("an id is letters, digits and dashes".to_owned());
            return Err(StoreError::NoRun { what: format!("\"{}\"", id.escape_debug()), why });
        }
        DirBuilder::new()
            .mode(0o700)
            .create(&folder)
            .map_err(|error| StoreError::system("make", &folder, error))?;
        Writer::open(&folder)
    }

    /// Opens an existing run to continue it.
    ///
    /// # Errors
    /// [`StoreError::Busy`] while another process writes the run; [`StoreError::Unsafe`] for the
    /// owner or mode of its folder; [`StoreError::Full`], [`StoreError::System`].
    pub fn append(folder: &Path) -> Result<Writer, StoreError> {
        Writer::open(&check_own_folder(folder)?)
    }

    pub fn runs_dir(&self) -> &Path {
        &self.runs_dir
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_journal::new_id;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt, symlink};

    fn chmod(path: &Path, mode: u32) {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }

    #[test]
    fn folders_are_private_and_new() {
        let dir = tempfile::tempdir().unwrap();
        let runs = dir.path().join("a/b/runs");
        let id = new_id();
        let writer = Store::create(&runs, &id).unwrap();
        for folder in [&runs, &runs.join(&id)] {
            assert_eq!(std::fs::metadata(folder).unwrap().mode() & 0o777, 0o700);
        }
        drop(writer);
        assert!(Store::create(&runs, &id).unwrap_err().to_string().contains("exists"));
        for bad in ["", "../x", "-x", "a/b", "a\nb"] {
            assert!(matches!(Store::create(&runs, bad), Err(StoreError::NoRun { .. })), "{bad:?}");
        }
    }

    #[test]
    fn what_others_can_write_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let runs = dir.path().join("runs");
        std::fs::create_dir(&runs).unwrap();
        for mode in [0o777, 0o770, 0o1777] {
            chmod(&runs, mode);
            let error = Store::open(&runs).unwrap_err();
            assert!(error.to_string().contains("others may write"), "{mode:o}: {error}");
        }
        chmod(&runs, 0o755);
        Store::open(&runs).unwrap();
        chmod(dir.path(), 0o777);
        assert!(
            matches!(Store::open(&runs), Err(StoreError::Unsafe { path, .. }) if path == dir.path())
        );
        chmod(dir.path(), 0o1777);
        Store::open(&runs).unwrap();
    }

    #[test]
    fn links_and_folders_of_others_are_refused() {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: needs root to make another user's link");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let [real, link, theirs] = ["real", "link", "theirs"].map(|name| dir.path().join(name));
        std::fs::create_dir(&real).unwrap();
        symlink(&real, &link).unwrap();
        assert_eq!(Store::open(&link).unwrap().runs_dir(), real.canonicalize().unwrap());
        std::os::unix::fs::lchown(&link, Some(4242), None).unwrap();
        assert!(
            Store::open(&link.join("runs")).unwrap_err().to_string().contains("link of user 4242")
        );
        std::fs::create_dir(&theirs).unwrap();
        std::os::unix::fs::chown(&theirs, Some(4242), None).unwrap();
        assert!(Store::open(&theirs).unwrap_err().to_string().contains("belongs to user 4242"));
        assert!(
            Store::open(&theirs.join("runs"))
                .unwrap_err()
                .to_string()
                .contains("belongs to user 4242")
        );
    }
}
