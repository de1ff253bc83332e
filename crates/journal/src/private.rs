//! The only way to open files of a run, whoever wrote them: regular files of the owner of their
//! folder, by their name in the opened folder, never through a link. Files of a run say what to
//! remove and which process to end, so it matters who may have written them.

use super::StoreError;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;
use std::fs::{File, Metadata};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The files are only shown: the run may be another user's.
    Show,
    /// What the files say is done, or they are written: they must be ours alone.
    Act,
}

/// Opens a file of a run's folder for reading; `None` if the file or the folder does not exist.
///
/// # Errors
/// [`StoreError::Unsafe`] if the file or the folder is not what it should be,
/// [`StoreError::System`].
pub fn open(folder: &Path, name: &str, purpose: Purpose) -> Result<Option<File>, StoreError> {
    match opened(folder, name, OFlags::RDONLY, purpose) {
        Err(StoreError::System { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            Ok(None)
        }
        other => other.map(Some),
    }
}

/// Opens a file in a folder of ours for reading and writing; the file is private, and made if
/// needed.
///
/// # Errors
/// [`StoreError::Unsafe`] if the file or the folder is not what it should be,
/// [`StoreError::System`] also if the folder does not exist.
pub fn open_to_write(folder: &Path, name: &str) -> Result<File, StoreError> {
    opened(folder, name, OFlags::RDWR | OFlags::CREATE, Purpose::Act)
}

fn opened(folder: &Path, name: &str, how: OFlags, purpose: Purpose) -> Result<File, StoreError> {
    let path = folder.join(name);
    // The user may name the folder of a run that is only shown by a link.
    let no_link = if purpose == Purpose::Act { OFlags::NOFOLLOW } else { OFlags::empty() };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | no_link;
    let folder = openat(
        CWD,
        if folder == Path::new("") { Path::new(".") } else { folder },
        flags,
        Mode::empty(),
    )
    .map_err(|error| StoreError::system("open", folder, error.into()))?;
    let stat =
        fstat(&folder).map_err(|error| StoreError::system("look at", &path, error.into()))?;
    let owner = stat.st_uid;
    if purpose == Purpose::Act {
        is_ours_alone(owner, stat.st_mode)
            .map_err(|why| StoreError::refuse(path.parent().unwrap_or(&path), why))?;
    }
    // NONBLOCK: a FIFO of that name must not make us wait for its writer.
    let how = how | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(beneath(&folder, name, how).map_err(|error| match error {
        Errno::LOOP => StoreError::refuse(&path, "it is a symbolic link".into()),
        error => StoreError::system("open", &path, error.into()),
    })?);
    let meta = file.metadata().map_err(|error| StoreError::system("look at", &path, error))?;
    check_private(&meta, owner, purpose).map_err(|why| StoreError::refuse(&path, why))?;
    Ok(file)
}

/// Opens a file by its name in a folder, without following links. Kernels before 5.6, and
/// containers without openat2, have only the flag against a link at the end of the path, but a name
/// has no folder in it.
fn beneath(folder: &OwnedFd, name: &str, how: OFlags) -> Result<OwnedFd, Errno> {
    let mode = if how.contains(OFlags::CREATE) { Mode::RUSR | Mode::WUSR } else { Mode::empty() };
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match openat2(folder.as_fd(), name, how, mode, within) {
        Err(Errno::NOSYS | Errno::PERM) => openat(folder, name, how, mode),
        other => other,
    }
}

fn check_private(meta: &Metadata, owner: u32, purpose: Purpose) -> Result<(), String> {
    if !meta.is_file() {
        return Err("it is not a regular file".into());
    }
    if meta.uid() != owner {
        return Err(format!("it belongs to user {}, and its folder to user {owner}", meta.uid()));
    }
    if purpose == Purpose::Show {
        return Ok(());
    }
    is_ours_alone(meta.uid(), meta.mode())?;
    if meta.nlink() > 1 { Err("it has a second name (a hard link)".into()) } else { Ok(()) }
}

/// Checks that a file or folder with this owner and mode is ours alone to write; the error is the
/// reason.
pub(crate) fn is_ours_alone(owner: u32, mode: u32) -> Result<(), String> {
    let own = rustix::process::geteuid().as_raw();
    match () {
        () if owner != own => Err(format!("it belongs to user {owner}, not to you ({own})")),
        () if mode & 0o022 != 0 => {
            Err(format!("others may write to it (mode {:04o})", mode & 0o7777))
        }
        () => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn refused(folder: &Path, name: &str, purpose: Purpose) -> String {
        match open(folder, name, purpose).unwrap_err() {
            StoreError::Unsafe { why, .. } => why,
            other => panic!("{other}"),
        }
    }

    #[test]
    fn only_regular_files_of_ones_own_are_opened() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        assert!(open(dir.path(), "none", Purpose::Act).unwrap().is_none());
        std::fs::write(at("plain"), "x").unwrap();
        std::fs::set_permissions(at("plain"), PermissionsExt::from_mode(0o600)).unwrap();
        assert!(open(dir.path(), "plain", Purpose::Act).unwrap().is_some());
        symlink(at("plain"), at("link")).unwrap();
        symlink("/dev/zero", at("endless")).unwrap();
        rustix::fs::mknodat(CWD, at("fifo"), rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        for purpose in [Purpose::Show, Purpose::Act] {
            assert_eq!(refused(dir.path(), "link", purpose), "it is a symbolic link");
            assert_eq!(refused(dir.path(), "endless", purpose), "it is a symbolic link");
            assert_eq!(refused(dir.path(), "fifo", purpose), "it is not a regular file");
            assert_eq!(refused(dir.path(), "folder", purpose), "it is not a regular file");
        }
        std::fs::set_permissions(at("plain"), PermissionsExt::from_mode(0o620)).unwrap();
        assert!(refused(dir.path(), "plain", Purpose::Act).contains("others may write"));
        assert!(open(dir.path(), "plain", Purpose::Show).unwrap().is_some(), "it is only shown");
        std::fs::set_permissions(at("plain"), PermissionsExt::from_mode(0o600)).unwrap();
        std::fs::hard_link(at("plain"), at("second")).unwrap();
        assert!(refused(dir.path(), "plain", Purpose::Act).contains("second name"));
    }

    #[test]
    fn a_file_to_write_is_never_made_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("target");
        symlink(&target, dir.path().join("lock")).unwrap();
        assert!(matches!(open_to_write(dir.path(), "lock"), Err(StoreError::Unsafe { .. })));
        assert!(!target.exists());
        let made = open_to_write(dir.path(), "new").unwrap();
        assert_eq!(made.metadata().unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn what_is_anothers_is_shown_and_never_acted_on() {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: needs root to give a file to another user");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("x"), "x").unwrap();
        let chown = |path: &Path| std::os::unix::fs::chown(path, Some(1234), None).unwrap();
        chown(&dir.path().join("x"));
        assert!(refused(dir.path(), "x", Purpose::Show).contains("its folder to user 0"));
        chown(dir.path());
        assert!(open(dir.path(), "x", Purpose::Show).unwrap().is_some());
        assert_eq!(
            refused(dir.path(), "x", Purpose::Act),
            "it belongs to user 1234, not to you (0)"
        );
    }
}
