//! Lists the files below a folder for every reader of pages: in the order of names, without hidden
//! ones. The user did not name these entries, so a pipe is not waited for and a link to a folder is
//! not followed; each such entry is reported with the reason.

use std::fs::FileType;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub enum FolderEntryKind {
    /// A file, or a link to one.
    File,
    /// An entry that is not read: the reason, and what to do.
    Passed(&'static str),
    Unreadable(io::Error),
}

/// A walk over a folder. Folders give their entries, and themselves only if they cannot be read.
pub struct FolderWalk {
    /// Paths still to visit; the last comes first.
    left: Vec<PathBuf>,
    /// Named folder, which may be a link.
    top: Option<PathBuf>,
}

pub fn walk_below(top: &Path) -> FolderWalk {
    FolderWalk { left: Vec::new(), top: Some(top.to_owned()) }
}

impl Iterator for FolderWalk {
    type Item = (PathBuf, FolderEntryKind);

    fn next(&mut self) -> Option<(PathBuf, FolderEntryKind)> {
        if let Some(top) = self.top.take() {
            if let Err(error) = self.enter(&top) {
                return Some((top, FolderEntryKind::Unreadable(error)));
            }
        }
        while let Some(path) = self.left.pop() {
            let kind = match std::fs::symlink_metadata(&path) {
                Ok(meta) if meta.is_dir() => match self.enter(&path) {
                    Ok(()) => continue,
                    Err(error) => FolderEntryKind::Unreadable(error),
                },
                Ok(meta) => kind_of(&path, meta.file_type()),
                Err(error) => FolderEntryKind::Unreadable(error),
            };
            return Some((path, kind));
        }
        None
    }
}

impl FolderWalk {
    fn enter(&mut self, folder: &Path) -> io::Result<()> {
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            if !entry.file_name().as_encoded_bytes().starts_with(b".") {
                paths.push(entry.path());
            }
        }
        paths.sort_by(|one, other| other.cmp(one));
        self.left.extend(paths);
        Ok(())
    }
}

fn kind_of(path: &Path, kind: FileType) -> FolderEntryKind {
    let is_link = kind.is_symlink();
    let kind = match is_link.then(|| std::fs::metadata(path)) {
        None => kind,
        Some(Ok(meta)) => meta.file_type(),
        Some(Err(_)) => return FolderEntryKind::Passed("a link that leads nowhere"),
    };
    match kind {
        kind if kind.is_file() => FolderEntryKind::File,
        kind if kind.is_dir() => {
            FolderEntryKind::Passed("a link to a folder; hint: name the folder itself")
        }
        _ => FolderEntryKind::Passed("no regular file; hint: name it to have it read"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn files_come_in_the_order_of_names_and_what_is_none_with_why() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        for name in ["b/x", "b/a", "a", ".git/x", "b/.hidden", "b!"] {
            let path = top.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        symlink(top, top.join("d")).unwrap();
        symlink("nowhere", top.join("e")).unwrap();
        symlink("a", top.join("f")).unwrap();
        let _bound = std::os::unix::net::UnixListener::bind(top.join("g")).unwrap();
        symlink(top, top.join(".again")).unwrap();
        let told = |top: &Path| -> Vec<(String, &'static str)> {
            walk_below(top)
                .map(|(path, kind)| {
                    let why = match kind {
                        FolderEntryKind::File => "",
                        FolderEntryKind::Passed(why) => why.split(';').next().unwrap(),
                        FolderEntryKind::Unreadable(_) => "unreadable",
                    };
                    (path.strip_prefix(top).unwrap().display().to_string(), why)
                })
                .collect()
        };
        let all = [
            ("a", ""),
            ("b/a", ""),
            ("b/x", ""),
            ("b!", ""),
            ("d", "a link to a folder"),
            ("e", "a link that leads nowhere"),
            ("f", ""),
            ("g", "no regular file"),
        ];
        let all = all.map(|(name, why)| (name.to_owned(), why));
        assert_eq!(told(top), all);
        assert_eq!(told(&top.join(".again")), all, "a link that was named is followed");
        assert_eq!(told(&top.join("none")), [(String::new(), "unreadable")]);
    }
}
