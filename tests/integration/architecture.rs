//! Holds the direction of dependencies that ARCHITECTURE.md states, and the tidiness of the rooms.

use std::fs;
use std::path::{Path, PathBuf};

/// room: the rooms of this crate that it may use.
const MAY_USE: &[(&str, &[&str])] = &[
    ("stats", &["units"]),
    ("selfcheck", &["stats", "units"]),
    (
        "bill",
        &[
            "host::caches",
            "host::facts",
            "layer::catalog",
            "scenario",
            "shell",
            "stats",
            "store::record",
            "units",
        ],
    ),
    ("report", &["bill", "stats", "units"]),
    ("import", &["exit", "folder", "import", "scenario", "store"]),
    ("folder", &[]),
    ("shell", &[]),
    ("units", &[]),
    ("exit", &[]),
    ("scenario", &["exit", "layer::catalog", "layer::state", "step", "units"]),
    ("host", &["exit", "layer::catalog", "store::record", "units"]),
    ("guard", &["exit", "host", "scenario", "shell", "units"]),
    ("lab", &["exit", "host::mounts", "layer::guest"]),
    ("store", &["bill::run", "exit", "host", "scenario", "stats::pilot", "units"]),
];

fn rust_files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => rust_files(&path, into),
            false if path.extension().is_some_and(|ending| ending == "rs") => into.push(path),
            false => {}
        }
    }
}

fn sources() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&root, &mut files);
    files
        .into_iter()
        .map(|path| (path.strip_prefix(&root).unwrap().to_owned(), fs::read_to_string(&path).unwrap()))
        .collect()
}

fn room(path: &Path) -> String {
    let first = path.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
    first.trim_end_matches(".rs").to_owned()
}

/// What stands behind every `crate::` outside tests.
fn uses(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines
        .flat_map(|line| line.split("crate::").skip(1).map(str::to_owned).collect::<Vec<_>>())
        .map(|rest| rest.chars().take_while(|c| c.is_alphanumeric() || matches!(c, '_' | ':')).collect())
        .collect()
}

fn is_test(path: &Path) -> bool {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    matches!(name.as_ref(), "tests" | "twin" | "fake" | "rig" | "traps" | "docs" | "fixtures")
        || path.components().any(|part| part.as_os_str() == "tests")
}

#[test]
fn rooms_use_only_what_they_may() {
    let mut wrong = Vec::new();
    for (path, text) in sources().iter().filter(|(path, _)| !is_test(path)) {
        let own = room(path);
        let Some((_, allowed)) = MAY_USE.iter().find(|(name, _)| *name == own) else { continue };
        for used in uses(text) {
            let fine = used.starts_with(&own) || allowed.iter().any(|allowed| used.starts_with(allowed));
            if !fine {
                wrong.push(format!("{} uses {used}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn values_in_values_out() {
    const FORBIDDEN: &[&str] =
        &["std::time::Instant", "SystemTime", "std::process::Command", "std::fs", "std::net", "println!"];
    for (path, text) in sources().iter().filter(|(path, _)| !is_test(path)) {
        if matches!(room(path).as_str(), "stats" | "selfcheck" | "bill" | "report") {
            for word in FORBIDDEN {
                assert!(!text.contains(word), "{} has {word}", path.display());
            }
        }
    }
}

#[test]
fn every_file_says_what_it_is_for() {
    for (path, text) in sources() {
        assert!(text.starts_with("//!"), "{} does not open with its purpose", path.display());
    }
}

/// Lines of a condition that goes on with `&&` behind a `let`: rustfmt puts each part on a line of its own, one step further in.
fn chained_lets(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let goes_on = |at: usize| {
        let own = indent(lines[at]);
        let rest = lines[at + 1..].iter().take_while(|line| indent(line) > own);
        rest.take(12).any(|line| indent(line) == own + 4 && line.trim_start().starts_with("&& "))
    };
    let is_chain = |at: &usize| {
        let line = lines[*at].trim_start();
        let conditional = ["if ", "} else if ", "while "].iter().any(|word| line.starts_with(word));
        let starts = ["if let ", "} else if let ", "while let "].iter().any(|word| line.starts_with(word));
        (conditional && line.contains("&& let "))
            || line.starts_with("&& let ")
            || (starts && !line.ends_with('{') && goes_on(*at))
    };
    (0..lines.len()).filter(is_chain).map(|at| at + 1).collect()
}

#[test]
fn conditions_chain_no_lets_which_the_rust_that_debian_packages_does_not_know() {
    let chain = "fn f() {\n    if let Some(x) = a\n        && x > 1\n    {\n    }\n    if b && let Some(x) = a {}\n}\n";
    assert_eq!(chained_lets(chain), [2, 6]);
    let plain = "fn f() {\n    if let Some(x) = a.filter(|x| {\n        *x > 1\n            && *x < 9\n    }) {\n    }\n}\n";
    assert!(chained_lets(plain).is_empty());
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    ["src", "tests"].iter().for_each(|folder| rust_files(&root.join(folder), &mut files));
    for part in fs::read_dir(root.join("crates")).unwrap() {
        let part = part.unwrap().path();
        let folders = ["src", "tests", "examples", "benches"].map(|folder| part.join(folder));
        folders.iter().filter(|folder| folder.is_dir()).for_each(|folder| rust_files(folder, &mut files));
    }
    let own = root.join(file!());
    let wrong: Vec<String> = files
        .iter()
        .filter(|path| **path != own)
        .flat_map(|path| {
            let text = fs::read_to_string(path).unwrap();
            chained_lets(&text).into_iter().map(move |line| format!("{}:{line}", path.display()))
        })
        .collect();
    assert!(wrong.is_empty(), "these need Rust 1.88, rust-version says less:\n{}", wrong.join("\n"));
}
