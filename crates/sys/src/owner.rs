//! Checks of files that decide what is run or destroyed: only root and this user may have written
//! them.

use rustix::process::geteuid;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{Metadata, symlink_metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf, absolute};

/// Maximum number of links that the kernel follows in one path.
const MOST_LINKS: usize = 40;

/// Describes how another user could change which file a path leads to, or this file's content: the
/// file, a folder on its path or a link belongs to somebody else, or others may write to it.
/// Returns `None` if nobody else can.
///
/// # Errors
/// The path cannot be followed to its end.
pub fn other_writer(path: &Path) -> io::Result<Option<String>> {
    let mut rest: VecDeque<OsString> = absolute(path)?.iter().map(OsString::from).collect();
    let (mut walked, mut links) = (PathBuf::new(), 0);
    while let Some(part) = rest.pop_front() {
        if part == ".." {
            walked.pop();
            continue;
        }
        let next = walked.join(part);
        let meta = symlink_metadata(&next)?;
        if let Some(why) = fault(&meta, rest.is_empty()) {
            return Ok(Some(format!("{}: {why}", next.display())));
        }
        if !meta.is_symlink() {
            walked = next;
            continue;
        }
        links += 1;
        if links > MOST_LINKS {
            return Err(io::Error::other("too many links on the way"));
        }
        for part in std::fs::read_link(&next)?.iter().rev() {
            rest.push_front(part.to_owned());
        }
    }
    Ok(None)
}

fn fault(meta: &Metadata, is_last: bool) -> Option<String> {
    let (uid, mode) = (meta.uid(), meta.mode());
    // Nobody can write to a link, and write permission on a socket only allows connections. In a
    // sticky folder only the owner of a name can change it.
    let is_closed = mode & 0o022 == 0 || meta.is_symlink() || meta.file_type().is_socket();
    let is_sticky = !is_last && meta.is_dir() && mode & 0o1000 != 0;
    let is_ours = uid == 0 || uid == geteuid().as_raw();
    let caller = if is_caller_of_sudo(uid) { " (you, but sudo runs this as root)" } else { "" };
    (!(is_ours && (is_closed || is_sticky)))
        .then(|| format!("owner {uid}{caller}, mode {:04o}", mode & 0o7777))
}

/// Returns true if sudo started this program for that user. It explains a refusal and decides
/// nothing: anybody can set the variable.
fn is_caller_of_sudo(uid: u32) -> bool {
    geteuid().is_root() && std::env::var("SUDO_UID").is_ok_and(|caller| caller == uid.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn a_file_is_ours_alone_if_every_folder_and_link_on_the_way_is() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mode =
            |name: &str, mode| fs::set_permissions(at(name), Permissions::from_mode(mode)).unwrap();
        for name in ["own", "open", "sticky"] {
            fs::create_dir(at(name)).unwrap();
            fs::write(at(name).join("file"), "").unwrap();
            mode(&format!("{name}/file"), 0o644);
        }
        symlink(at("own/file"), at("open/link")).unwrap();
        symlink("../open/../own/file", at("own/around")).unwrap();
        symlink(at("own/loop"), at("own/loop")).unwrap();
        mode("open", 0o777);
        mode("sticky", 0o1777);
        let told = |name: &str| other_writer(&at(name)).unwrap();
        assert_eq!(
            (told("own/file"), told("sticky/file"), told("own/../own/file")),
            (None, None, None)
        );
        for name in ["open/file", "open/link", "own/around"] {
            let why = told(name).unwrap();
            assert!(why.contains("/open: owner ") && why.ends_with("mode 0777"), "{name}: {why}");
        }
        mode("own/file", 0o664);
        assert!(told("own/file").unwrap().ends_with("mode 0664"));
        assert!(other_writer(&at("own/none")).is_err() && other_writer(&at("own/loop")).is_err());
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::lchown(at("own/around"), Some(65534), None).unwrap();
            assert!(told("own/around").unwrap().contains("around: owner 65534"));
        } else {
            println!("skipped: a file of another user takes root");
        }
    }
}
