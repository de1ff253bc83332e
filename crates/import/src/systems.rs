//! Names systems by the paths of files. Different paths are different systems, unless they differ
//! only in the name of a load, which the outputs themselves show, or in one of the clear words for
//! a run.

use iotax_units::harmless::escape_line;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

/// The content of a file that decides whether two files may belong to one system.
#[derive(Clone, Debug, Default)]
pub(super) struct FileContent {
    /// Names of the folders below the folder that all files share, and the file's own name.
    pub(super) path: Vec<String>,
    /// For each result, a key of its load and the number of its run.
    pub(super) results: Vec<(u64, u32)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SystemName {
    pub(super) name: String,
    /// True if the file's own name is part of `name`. Only then may several runs of one load in the
    /// file be of several systems; those in a folder are repeats.
    pub(super) by_file: bool,
}

/// Words that name only a load or an output, with or without a number.
const NO_SYSTEM: &str = "read write randread randwrite randrw rw readwrite trim randtrim seq seqread seqwrite rand random \
                         sequential mix mixed libaio uring iouring psync sync fio vdbench iperf3 sysbench run runs output out \
                         log logs logfile summary totals result results report bs qd iodepth depth jobs numjobs nj threads";
/// Words that name a run if a number is attached to them: `r3`, `pass2`.
const OF_RUNS: &str = "r iter iteration rep repeat repetition round pass try trial attempt take";

/// Returns the system of each file, in the order of the files.
pub(super) fn name_systems(files: &[FileContent]) -> Vec<SystemName> {
    let reduced: Vec<Vec<PathPart>> =
        files.iter().map(|file| path_parts(&file.path, distinct_words, distinct_file)).collect();
    let found = SystemSplit { files, parts: &reduced }.system_names();
    // Names of runs are ignored if other parts distinguish the systems, or if a folder names the
    // only system.
    let names: BTreeSet<&String> = found.iter().map(|one| &one.name).collect();
    let distinguishes = reduced.iter().any(|parts| parts.iter().any(|part| !part.is_ending));
    if distinguishes
        && (files.len() == 1 || names.len() > 1 || found.iter().all(|one| !one.by_file))
    {
        return found;
    }
    let all = |name: &str| Some(name.to_owned());
    let whole: Vec<Vec<PathPart>> =
        files.iter().map(|file| path_parts(&file.path, all, all)).collect();
    SystemSplit { files, parts: &whole }.system_names()
}

/// A part of a path that may distinguish systems.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct PathPart {
    text: String,
    is_file: bool,
    is_ending: bool,
}

/// Returns the parts of a path that may distinguish systems. `folder` and `file` return what
/// remains of the name of a folder or of the file; `None` if nothing does.
fn path_parts(
    path: &[String],
    folder: impl Fn(&str) -> Option<String>,
    file: impl Fn(&str) -> Option<String>,
) -> Vec<PathPart> {
    let Some((last, folders)) = path.split_last() else { return Vec::new() };
    let part = |text, is_file, is_ending| PathPart { text, is_file, is_ending };
    let name = Path::new(last);
    let stem = name.file_stem().map_or(last.clone(), |stem| stem.to_string_lossy().into_owned());
    let folders =
        folders.iter().filter_map(|name| folder(name)).map(|text| part(text, false, false));
    let ending =
        name.extension().map(|ending| part(ending.to_string_lossy().into_owned(), true, true));
    folders.chain(file(&stem).map(|text| part(text, true, false))).chain(ending).collect()
}

/// Does the same as [`distinct_words`] for the name of a file; returns `None` also for a letter
/// with a number (`a1`), which names a run.
fn distinct_file(name: &str) -> Option<String> {
    let number = name.strip_prefix(|first: char| first.is_ascii_alphabetic()).unwrap_or("x");
    let is_run = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    distinct_words(name).filter(|_| !is_run)
}

/// Returns a name without its words for loads, runs and times; `None` if nothing is left.
fn distinct_words(name: &str) -> Option<String> {
    let words: Vec<&str> = name
        .split(|letter: char| "-_ ,+()".contains(letter))
        .filter(|word| !word.is_empty())
        .collect();
    let mut left: Vec<&str> = Vec::new();
    let mut passed = true;
    for (at, word) in words.iter().enumerate() {
        let lower = word.to_ascii_lowercase();
        // A number belongs to the word before it: it is dropped in `randread-16`, but kept in
        // `vm-1`.
        let number = lower.starts_with(|first: char| first.is_ascii_digit());
        passed = is_passed(&lower)
            || is_year(&words, at)
            || (number && passed && lower.bytes().all(|byte| byte.is_ascii_digit()));
        left.extend((!passed).then_some(*word));
    }
    match left.len() {
        0 => None,
        all if all == words.len() => Some(name.to_owned()),
        _ => Some(left.join("-")),
    }
}

/// Returns true if a word begins a date: a year before a month, as in `2026-01-02` and not in
/// `win-2022`.
fn is_year(words: &[&str], at: usize) -> bool {
    let is_number = |word: &&str, most: usize| {
        word.len() <= most && !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
    };
    let year = words[at].len() == 4 && (words[at].starts_with("19") || words[at].starts_with("20"));
    year && is_number(&words[at], 4) && words.get(at + 1).is_some_and(|next| is_number(next, 2))
}

/// Returns true if a word names a load (`randread`, `4k`, `qd32`), a run (`run3`) or a time
/// (`20260101T1200Z`).
fn is_passed(word: &str) -> bool {
    let bare = word.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let size = word.trim_end_matches(['b', 'i']).strip_suffix(['k', 'm']);
    // Block sizes are powers of two: `sas-15k` is a drive.
    let is_size =
        size.and_then(|digits| digits.parse::<u64>().ok()).is_some_and(u64::is_power_of_two);
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let is_time = match digits {
        8.. => word.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b't' | b'z' | b':')),
        _ => false,
    };
    let of_list =
        |list: &str| !bare.is_empty() && list.split_whitespace().any(|known| known == bare);
    is_size || is_time || of_list(NO_SYSTEM) || (bare.len() < word.len() && of_list(OF_RUNS))
}

/// Splits files into groups, until no group has several runs of one load under different names.
struct SystemSplit<'a> {
    files: &'a [FileContent],
    parts: &'a [Vec<PathPart>],
}

impl SystemSplit<'_> {
    fn system_names(&self) -> Vec<SystemName> {
        let mut names = vec![SystemName::default(); self.files.len()];
        self.split((0..self.files.len()).collect(), 0, &SystemName::default(), &mut names);
        names
    }

    fn split(&self, group: Vec<usize>, depth: usize, own: &SystemName, names: &mut [SystemName]) {
        let over = group.iter().all(|at| self.parts[*at].len() <= depth);
        if depth > 0 && (over || !self.is_divided(&group, depth)) {
            return group.iter().for_each(|at| names[*at] = own.clone());
        }
        let mut buckets: Vec<(Option<&PathPart>, Vec<usize>)> = Vec::new();
        for at in group {
            let part = self.parts[at].get(depth).filter(|part| depth > 0 || !part.is_ending);
            if depth == 0 && part.is_none() {
                names[at] = SystemName { name: self.path_without_extension(at), by_file: true };
                continue;
            }
            match buckets.iter_mut().find(|(known, _)| *known == part) {
                Some((_, files)) => files.push(at),
                None => buckets.push((part, vec![at])),
            }
        }
        let several = buckets.len() > 1 || depth == 0;
        for (part, files) in buckets {
            let next = match part {
                Some(part) if several => {
                    let sign = if own.name.is_empty() {
                        ""
                    } else if part.is_ending {
                        "."
                    } else {
                        "/"
                    };
                    SystemName {
                        name: format!("{}{sign}{}", own.name, escape_line(&part.text)),
                        by_file: part.is_file,
                    }
                }
                _ => own.clone(),
            };
            self.split(files, depth + 1, &next, names);
        }
    }

    fn path_without_extension(&self, file: usize) -> String {
        let path = self.files[file].path.join("/");
        escape_line(&Path::new(&path).with_extension("").to_string_lossy())
    }

    /// Returns true if files with different remaining path parts hold runs of one load: these may
    /// belong to several systems.
    fn is_divided(&self, group: &[usize], depth: usize) -> bool {
        let mut runs: HashSet<u32> = HashSet::new();
        let mut first: HashMap<u64, &[PathPart]> = HashMap::new();
        group.iter().any(|at| {
            let left = self.parts[*at].get(depth..).unwrap_or_default();
            let results = &self.files[*at].results;
            results
                .iter()
                .any(|(load, run)| runs.insert(*run) && *first.entry(*load).or_insert(left) != left)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names files that each hold one run of the same load; a path that ends with `=LOAD` has that
    /// load instead.
    fn named(paths: &[&str]) -> Vec<String> {
        let file = |(run, path): (usize, &&str)| {
            let (path, load) = path.split_once('=').unwrap_or((path, "0"));
            let path = path.split('/').map(str::to_owned).collect();
            FileContent { path, results: vec![(load.parse().unwrap(), run as u32)] }
        };
        let files: Vec<FileContent> = paths.iter().enumerate().map(file).collect();
        name_systems(&files).into_iter().map(|one| one.name).collect()
    }

    #[test]
    fn what_tells_paths_apart_names_the_system() {
        for (paths, names) in [
            (
                &["host/nvme0n1/4k/randread-1-1.json", "vm/nvme0n1/4k/randread-1-1.json"][..],
                &["host", "vm"][..],
            ),
            (
                &["host/out1/summary.html", "host/out2/summary.html", "vm/out1/summary.html"],
                &["host", "host", "vm"],
            ),
            (
                &["2026-01-01/host/a.json", "2026-01-02/host/a.json", "2026-01-01/vm/a.json"],
                &["host", "host", "vm"],
            ),
            (
                &["host-randread-1.json", "host-randread-2.json=1", "vm-randread-1.json"],
                &["host", "host", "vm"],
            ),
            (
                &["host/0.txt", "host/1.txt", "host/read.json=1", "vm/a1.txt", "vm/b2.txt"],
                &["host", "host", "host", "vm", "vm"],
            ),
            (&["host.json", "vm.json=1"], &["host", "vm"]),
            (
                &["host/seqtest.json", "host/mixtest.json=1", "vm/seqtest.json"],
                &["host", "host", "vm"],
            ),
            // These may be runs, drives or days.
            (
                &["host/nvme0n1/r1.json", "host/nvme1n1/r1.json", "vm/r1.json"],
                &["host/nvme0n1", "host/nvme1n1", "vm"],
            ),
            (
                &["host/monday.json", "host/friday.json", "vm/x.json"],
                &["host/monday", "host/friday", "vm"],
            ),
            (&["vm-1/a.json", "vm-2/a.json", "vm1/a.json"], &["vm-1", "vm-2", "vm1"]),
            // Only names of runs: nothing names the systems.
            (&["r1.json", "r2.json"], &["r1", "r2"]),
            (&["run1/result.json", "run2/result.json"], &["run1", "run2"]),
            (&["run1/x.json", "run2/x.json"], &["run1", "run2"]),
            (&["a.txt", "a.json", "b.txt"], &["a.txt", "a.json", "b"]),
            (&["pass/a.json", "virt/a.json"], &["pass", "virt"]),
            (
                &["lab/10.0.0.1/a.json", "lab/10.0.0.2/a.json", "x/a.json"],
                &["lab/10.0.0.1", "lab/10.0.0.2", "x"],
            ),
            (&["only.json"], &["only"]),
        ] {
            assert_eq!(named(paths), names, "{paths:?}");
        }
    }

    #[test]
    fn a_folder_without_a_rival_names_its_runs() {
        assert_eq!(named(&["host/r1.json", "host/r2.json"]), ["host", "host"]);
    }

    #[test]
    fn copies_of_a_run_do_not_make_two_systems() {
        let file = |path: &str| FileContent {
            path: path.split('/').map(str::to_owned).collect(),
            results: vec![(0, 7)],
        };
        let names = name_systems(&[file("host/a.html"), file("host/b.html"), file("vm/a.html")]);
        assert_eq!(
            names.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(),
            ["host", "host", "vm"]
        );
    }
}
