//! Decides which files are read, and which systems their results belong to. Without `--system` it
//! keeps the paths, from which `systems` makes names. `folder` walks the folders.

use crate::folder::{self, FolderEntryKind};
use anyhow::Result;
use iotax_units::exit::Failed;
use iotax_units::harmless::escape_line;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Standard input as a page.
pub const STDIN: &str = "-";
pub const STANDARD_INPUT: &str = "standard input";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedSource {
    pub system: String,
    /// A file or folder.
    pub path: PathBuf,
    /// Lines of a file, from 1, both ends included.
    pub lines: Option<(u32, u32)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultOwner {
    /// A single system for all results, however many there are.
    One(String),
    /// System named by its path: the folders below the folder that all files share, and the file's
    /// name.
    Path(Vec<String>),
    /// Systems by ranges of lines, both ends included.
    Lines(Vec<(String, u32, u32)>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    pub path: Option<PathBuf>,
    /// Path as shown to a person.
    pub shown: String,
    pub whose: ResultOwner,
    /// True if it was found in a folder: a file without results is then not an error.
    pub found: bool,
}

/// Parses `--system NAME=PATH[:FROM-TO]`.
///
/// # Errors
/// Fails if the name or the path is empty, or for lines from 0 or from a later line to an earlier
/// one. The message is for the parser of the command line.
pub fn parse_named(word: &str) -> Result<NamedSource, String> {
    const FORM: &str = "write NAME=PATH, or NAME=PATH:FROM-TO for lines of a file";
    let Some((system, path)) =
        word.split_once('=').filter(|(name, path)| !name.is_empty() && !path.is_empty())
    else {
        return Err(format!("\"{}\" names no system; hint: {FORM}", word.escape_debug()));
    };
    let system = escape_line(system);
    let whole = || NamedSource { system: system.clone(), path: path.into(), lines: None };
    let Some((file, range)) = path.rsplit_once(':').filter(|_| !Path::new(path).exists()) else {
        return Ok(whole());
    };
    let Some((from, to)) = range.split_once('-') else { return Ok(whole()) };
    match (from.parse(), to.parse()) {
        (Ok(from), Ok(to)) if 1 <= from && from <= to => {
            Ok(NamedSource { system: system.clone(), path: file.into(), lines: Some((from, to)) })
        }
        (Ok(_), Ok(_)) => Err(format!("lines {range} are none: they count from 1; hint: {FORM}")),
        _ => Ok(whole()),
    }
}

#[derive(Debug)]
pub struct Sources {
    /// All files, each once.
    pub all: Vec<SourceFile>,
    /// Entries of folders that are not files: `results/pipe: why`.
    pub passed: Vec<String>,
}

/// Returns all files that the arguments name.
///
/// # Errors
/// Fails on a path that cannot be read or is neither a file nor a folder, a folder without files,
/// standard input twice, and a file that `named` holds twice, unless the lines differ.
pub fn sources(pages: &[String], named: &[NamedSource]) -> Result<Sources> {
    let mut all: Vec<SourceFile> = Vec::new();
    let mut passed: Vec<String> = Vec::new();
    let mut known: HashMap<PathBuf, usize> = HashMap::new();
    // One file may be spelled in several ways; a single argument holds each of its files once.
    let several = pages.len() + named.len() > 1;
    let identity = |path: &Path| match several {
        true => path.canonicalize().unwrap_or_else(|_| path.to_owned()),
        false => path.to_owned(),
    };
    for one in named {
        for path in files_of(&one.path, &mut passed)? {
            match known.get(&identity(&path)) {
                Some(at) => add_lines(&mut all[*at], one)?,
                None => {
                    known.insert(identity(&path), all.len());
                    all.push(source_of(one, path));
                }
            }
        }
    }
    let mut taken: HashSet<PathBuf> = known.into_keys().collect();
    let mut given: Vec<SourceWord> = Vec::new();
    for page in pages {
        match page.as_str() {
            STDIN if given.iter().any(|one| one.root.is_none()) => {
                return Err(Failed::input("standard input is named twice").into());
            }
            STDIN => given.push(SourceWord { root: None, files: Vec::new() }),
            path => {
                let root = PathBuf::from(path);
                let files = files_of(&root, &mut passed)?;
                let files = files.into_iter().filter(|file| taken.insert(identity(file))).collect();
                given.push(SourceWord { root: Some(root), files });
            }
        }
    }
    all.extend(by_path(given));
    Ok(Sources { all, passed })
}

/// Returns a path for messages and reports, with control characters escaped, since its names may be
/// those of somebody else's archive.
fn called(path: &Path) -> String {
    escape_line(&path.display().to_string())
}

/// Files named by one word of the command line.
struct SourceWord {
    root: Option<PathBuf>,
    files: Vec<PathBuf>,
}

fn source_of(one: &NamedSource, path: PathBuf) -> SourceFile {
    let whose = match one.lines {
        Some((from, to)) => ResultOwner::Lines(vec![(one.system.clone(), from, to)]),
        None => ResultOwner::One(one.system.clone()),
    };
    SourceFile { shown: called(&path), path: Some(path), whose, found: one.path.is_dir() }
}

/// Adds the lines of a file that is named again. Fails if one of the two has no lines, or if they
/// overlap.
fn add_lines(source: &mut SourceFile, one: &NamedSource) -> Result<()> {
    let (ResultOwner::Lines(ranges), Some((from, to))) = (&mut source.whose, one.lines) else {
        let why = format!(
            "{} is named twice by --system; hint: name lines: --system NAME=PATH:FROM-TO",
            source.shown
        );
        return Err(Failed::input(why).into());
    };
    if let Some((other, ..)) = ranges.iter().find(|(_, a, b)| from <= *b && *a <= to) {
        let why =
            format!("lines {from}-{to} of {} are of {} and of {other}", source.shown, one.system);
        return Err(Failed::input(why).into());
    }
    ranges.push((one.system.clone(), from, to));
    Ok(())
}

/// Returns the files with their paths below the folder that all arguments of the command line
/// share.
fn by_path(given: Vec<SourceWord>) -> Vec<SourceFile> {
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    // The file itself may be a link, so only its folder is resolved.
    let folder_of = |root: &Path| match root.is_dir() {
        true => whole(root),
        false => whole(
            root.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")),
        ),
    };
    let roots: Vec<Option<PathBuf>> =
        given.iter().map(|one| one.root.as_deref().map(folder_of)).collect();
    let shared = roots.iter().flatten().cloned().reduce(|shared, root| {
        let both =
            shared.components().zip(root.components()).take_while(|(one, other)| one == other);
        both.map(|(one, _)| one).collect()
    });
    let shared = shared.unwrap_or_default();
    let mut all = Vec::new();
    for (one, folder) in given.into_iter().zip(roots) {
        let (Some(root), Some(folder)) = (one.root, folder) else {
            let whose = ResultOwner::Path(vec![STANDARD_INPUT.to_owned()]);
            all.push(SourceFile {
                path: None,
                shown: STANDARD_INPUT.to_owned(),
                whose,
                found: false,
            });
            continue;
        };
        let is_folder = root.is_dir();
        let below = folder.strip_prefix(&shared).unwrap_or(&folder).to_owned();
        for path in one.files {
            let inner = if is_folder {
                path.strip_prefix(&root).ok()
            } else {
                path.file_name().map(Path::new)
            };
            let place = below.join(inner.unwrap_or(&path));
            let names = place.iter().map(|name| name.to_string_lossy().into_owned()).collect();
            let shown = called(&path);
            all.push(SourceFile {
                path: Some(path),
                shown,
                whose: ResultOwner::Path(names),
                found: is_folder,
            });
        }
    }
    all
}

/// Returns a file itself; for a folder all files, in the order of their names.
fn files_of(path: &Path, passed: &mut Vec<String>) -> Result<Vec<PathBuf>> {
    let meta = std::fs::metadata(path).map_err(|error| {
        Failed::input(format!("cannot read {}: {}", path.display(), crate::reason(&error)))
    })?;
    if meta.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    if !meta.is_dir() {
        return Err(Failed::input(format!(
            "{} is no file; hint: write - for standard input",
            path.display()
        ))
        .into());
    }
    files_below(path, passed)
}

/// Returns the files below a folder; other entries go to `passed`.
fn files_below(top: &Path, passed: &mut Vec<String>) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for (path, kind) in folder::walk_below(top) {
        match kind {
            FolderEntryKind::File => files.push(path),
            FolderEntryKind::Passed(why) => passed.push(format!("{}: {why}", called(&path))),
            FolderEntryKind::Unreadable(error) => {
                let reason = crate::reason(&error);
                return Err(
                    Failed::input(format!("cannot read {}: {reason}", path.display())).into()
                );
            }
        }
    }
    if files.is_empty() {
        return Err(Failed::input(format!("the folder {} holds no file", top.display())).into());
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for file in files {
            let path = dir.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        dir
    }

    /// Returns the files and the systems that they belong to, as text.
    fn told(dir: &Path, pages: &[&str], named: &[&str]) -> Vec<String> {
        let at = |page: &&str| dir.join(page).display().to_string();
        let pages: Vec<String> = pages.iter().map(at).collect();
        let named: Vec<NamedSource> = named
            .iter()
            .map(|word| {
                let (name, path) = word.split_once('=').unwrap();
                parse_named(&format!("{name}={}", at(&path))).unwrap()
            })
            .collect();
        let Sources { all, .. } = sources(&pages, &named).unwrap();
        let line = |source: &SourceFile| {
            let path =
                source.path.as_ref().unwrap().strip_prefix(dir).unwrap().display().to_string();
            match &source.whose {
                ResultOwner::One(name) => format!("{path}: {name}"),
                ResultOwner::Path(names) => format!("{path}: {}", names.join(" ")),
                ResultOwner::Lines(ranges) => format!("{path}: {ranges:?}"),
            }
        };
        all.iter().map(line).collect()
    }

    #[test]
    fn a_file_is_read_once_however_it_is_spelled() {
        let dir = tree(&["flat/host.txt", "flat/vm.txt"]);
        let spelled = ["flat/host.txt", "flat/../flat/host.txt", "flat/vm.txt", "flat"];
        assert_eq!(
            told(dir.path(), &spelled, &[]),
            ["flat/host.txt: host.txt", "flat/vm.txt: vm.txt"]
        );
        let named =
            told(dir.path(), &["flat/../flat/host.txt", "flat/vm.txt"], &["a=flat/host.txt"]);
        assert_eq!(named, ["flat/host.txt: a", "flat/vm.txt: vm.txt"]);
    }

    #[test]
    fn what_lies_in_a_folder_and_is_no_file_is_told() {
        let dir = tree(&["r/host.txt"]);
        std::os::unix::fs::symlink("nowhere", dir.path().join("r/vm.txt")).unwrap();
        let found = sources(&[dir.path().join("r").display().to_string()], &[]).unwrap();
        assert_eq!(found.all.len(), 1);
        let [passed] = found.passed.as_slice() else { panic!("{:?}", found.passed) };
        assert!(passed.ends_with("r/vm.txt: a link that leads nowhere"), "{passed}");
    }

    #[test]
    fn a_file_is_told_by_its_path_below_what_all_share() {
        let dir = tree(&["r/host/a.json", "r/vm/deep/b.json", "r/.git/x"]);
        let dir = dir.path();
        let all = ["r/host/a.json: host a.json", "r/vm/deep/b.json: vm deep b.json"];
        assert_eq!(told(dir, &["r"], &[]), all);
        assert_eq!(told(dir, &["r/host", "r/vm"], &[]), all);
        assert_eq!(told(dir, &["r/host/a.json", "r/vm"], &[]), all);
        assert_eq!(told(dir, &["r/vm/deep/b.json"], &[]), ["r/vm/deep/b.json: b.json"]);
        assert_eq!(
            told(dir, &["r/vm/deep", "r/host"], &[]),
            ["r/vm/deep/b.json: vm deep b.json", all[0]]
        );
    }

    #[test]
    fn what_is_named_is_of_that_name_and_read_once() {
        let dir = tree(&["a.txt", "b.txt"]);
        let dir = dir.path();
        let all = told(dir, &["a.txt"], &["host=a.txt:1-10", "vm=a.txt:11-20", "other=b.txt"]);
        assert_eq!(all, ["a.txt: [(\"host\", 1, 10), (\"vm\", 11, 20)]", "b.txt: other"]);
        let named = |words: &[&str]| {
            let named: Vec<NamedSource> = words
                .iter()
                .map(|word| parse_named(&word.replace('@', &dir.display().to_string())).unwrap())
                .collect();
            sources(&[], &named).unwrap_err().to_string()
        };
        assert!(named(&["a=@/a.txt", "b=@/a.txt"]).contains("named twice"));
        assert!(named(&["a=@/a.txt:1-5", "b=@/a.txt:5-9"]).contains("are of b and of a"));
        assert!(named(&["a=@/none"]).contains("cannot read"));
        for bad in ["x", "=y", "x=", "x=y:9-3", "x=y:0-3"] {
            assert!(parse_named(bad).is_err(), "{bad}");
        }
    }
}
