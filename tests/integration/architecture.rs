//! Holds what ARCHITECTURE.md says of the crates, and their tidiness.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Crates that take values and give values.
const VALUES: [&str; 9] = [
    "units",
    "histogram",
    "hardware",
    "stats",
    "audit",
    "analysis",
    "report",
    "report-audit",
    "draft",
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn folder(name: &str) -> PathBuf {
    if name == "iotax" { root().to_owned() } else { root().join("crates").join(name) }
}

/// The crates of ours that a crate is built of, without what only its tests use.
fn uses(name: &str) -> BTreeSet<String> {
    let manifest = fs::read_to_string(folder(name).join("Cargo.toml")).unwrap();
    let dependencies = manifest.split("\n[dependencies]\n").nth(1).unwrap_or_default();
    let dependencies = dependencies.split("\n[").next().unwrap_or_default();
    let ours = dependencies
        .lines()
        .filter_map(|line| line.strip_prefix("iotax-")?.split([' ', '.']).next());
    ours.map(str::to_owned).collect()
}

pub(crate) fn files_below(folder: &Path, endings: &[&str], into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let ending = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        match path.is_dir() {
            true => files_below(&path, endings, into),
            false if endings.contains(&ending.as_str()) => into.push(path),
            false => {}
        }
    }
}

/// Source files of a crate with their text.
fn sources(name: &str) -> Vec<(PathBuf, String)> {
    let (mut files, source) = (Vec::new(), folder(name).join("src"));
    // A crate may be tests alone.
    if source.exists() {
        files_below(&source, &["rs"], &mut files);
    }
    files.into_iter().map(|path| (path.clone(), fs::read_to_string(&path).unwrap())).collect()
}

fn is_test(path: &Path) -> bool {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    matches!(name.as_ref(), "tests" | "testing" | "fake" | "docs")
        || name.ends_with("_tests")
        || path
            .components()
            .any(|part| ["tests", "testing"].map(Some).contains(&part.as_os_str().to_str()))
}

/// Names of all crates, that of the program last. Each uses only crates before it, as Cargo allows
/// no circle.
pub(crate) fn crate_names() -> Vec<String> {
    let folders = fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap());
    let mut left: BTreeSet<String> = folders
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let mut names: Vec<String> = Vec::new();
    while !left.is_empty() {
        let is_next = |name: &&String| uses(name).iter().all(|used| names.contains(used));
        let row: Vec<String> = left.iter().filter(is_next).cloned().collect();
        assert!(!row.is_empty(), "{left:?} use each other");
        left.retain(|name| !row.contains(name));
        names.extend(row);
    }
    names.push("iotax".to_owned());
    names
}

/// The first words of a crate's description, and what it uses: a row of crates/README.md.
fn row_of(name: &str) -> String {
    let manifest = fs::read_to_string(folder(name).join("Cargo.toml")).unwrap();
    let description = manifest.lines().find_map(|line| line.strip_prefix("description = "));
    let description = description.unwrap_or_else(|| panic!("{name} has no description"));
    let uses: Vec<String> = uses(name).into_iter().collect();
    let uses = if uses.is_empty() { "-".to_owned() } else { uses.join(" ") };
    format!("| `{name}` | {} | {uses} |", description.trim_matches('"'))
}

/// The program that is copied into guests has no scenario, no layer, no statistics. Its identity is
/// a hash over the crates that `build.rs` lists.
#[test]
fn the_agent_is_made_of_its_crates_alone() {
    let (mut closure, mut new) = (BTreeSet::new(), uses("agent"));
    while let Some(name) = new.pop_first() {
        new.extend(uses(&name));
        closure.insert(name);
        new.retain(|name| !closure.contains(name));
    }
    let build = fs::read_to_string(folder("steps").join("build.rs")).unwrap();
    let list = build.split("] = [").nth(1).unwrap().split("];").next().unwrap();
    let listed: BTreeSet<String> = list.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    assert_eq!(closure, listed);
    assert_eq!(closure.len(), 14, "another crate is in the agent: {closure:?}");
    for other in ["model", "layers", "stats"] {
        assert!(!closure.contains(other), "the agent is built of {other}");
    }
}

/// The table in crates/README.md is made from the manifests: IOTAX_WRITE_PAGES=1 writes it.
#[test]
fn the_list_of_crates_is_true() {
    const HEAD: &str = "| crate | its job | uses |\n|---|---|---|\n";
    let page = root().join("crates/README.md");
    let text = fs::read_to_string(&page).unwrap();
    let (above, _) = text.split_once(HEAD).unwrap();
    let names = crate_names();
    let rows: Vec<String> =
        names.iter().filter(|name| *name != "iotax").map(|name| row_of(name)).collect();
    let made = format!("{above}{HEAD}{}\n", rows.join("\n"));
    if std::env::var_os("IOTAX_WRITE_PAGES").is_some() {
        fs::write(&page, &made).unwrap();
    }
    assert_eq!(fs::read_to_string(&page).unwrap(), made, "set IOTAX_WRITE_PAGES=1 to write it");
    let drawing = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let drawing = drawing.split("```").nth(1).unwrap().to_owned();
    for name in names {
        let is_drawn = drawing.lines().any(|line| line.split("  ").any(|word| word == name));
        assert!(is_drawn, "ARCHITECTURE.md does not draw {name}");
    }
}

#[test]
fn values_in_values_out() {
    const FORBIDDEN: &[&str] = &[
        "std::time::Instant",
        "SystemTime",
        "std::process::Command",
        "std::fs",
        "std::net",
        "println!",
    ];
    for name in VALUES {
        for (path, text) in sources(name).iter().filter(|(path, _)| !is_test(path)) {
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
            for word in FORBIDDEN {
                assert!(!code.contains(word), "{} has {word}", path.display());
            }
        }
    }
}

/// Output of a child or a peer, and files of another person, may be endless: `iotax_sys` has the
/// readers with a limit.
#[test]
fn what_others_write_is_read_with_a_limit() {
    const UNBOUNDED: [&str; 4] =
        [".output()", "wait_with_output(", ".read_to_end(", ".read_to_string("];
    const READERS: [&str; 2] = ["sys/src/child.rs", "sys/src/regular.rs"];
    /// Crates that read files named by people. A read of a kernel file has its path in the line.
    const NAMED: [&str; 3] = ["model", "import", "iotax"];
    let names = crate_names();
    let shipped = names.iter().map(String::as_str).filter(|name| *name != "audit-proof");
    for name in shipped {
        for (path, text) in sources(name).iter().filter(|(path, _)| !is_test(path)) {
            if READERS.iter().any(|reader| path.ends_with(reader)) {
                continue;
            }
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text);
            let lines: Vec<&str> = code.lines().collect();
            for (at, line) in lines.iter().enumerate() {
                let bounded =
                    lines[at.saturating_sub(1)..=at].iter().any(|line| line.contains(".take("));
                let reads = UNBOUNDED.iter().any(|word| line.contains(word)) && !bounded;
                let reads_whole =
                    ["fs::read(", "fs::read_to_string("].iter().any(|word| line.contains(word));
                let reads_named =
                    NAMED.contains(&name) && reads_whole && !line.contains("\"/proc/");
                assert!(
                    !reads && !reads_named,
                    "{}:{} reads without a limit: {line}",
                    path.display(),
                    at + 1
                );
            }
        }
    }
}

#[test]
fn every_file_says_what_it_is_for_and_unsafe_has_its_crates() {
    for name in &crate_names() {
        for (path, text) in sources(name).iter().filter(|(path, _)| !is_test(path)) {
            assert!(text.starts_with("//!"), "{} does not open with its purpose", path.display());
        }
        if !matches!(name.as_str(), "load" | "sys") {
            let main = ["lib.rs", "main.rs"].map(|file| folder(name).join("src").join(file));
            // A crate may be tests alone.
            let Some(main) = main.iter().find(|file| file.is_file()) else { continue };
            let forbids = fs::read_to_string(main).unwrap().contains("#![forbid(unsafe_code)]");
            let manifest = fs::read_to_string(folder(name).join("Cargo.toml")).unwrap();
            assert!(
                forbids || manifest.contains("unsafe_code = \"forbid\""),
                "{name} allows unsafe code"
            );
        }
    }
}

/// Lines of a condition that goes on with `&&` after a `let`: rustfmt puts each part on a line of
/// its own, one step further in.
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
        let starts =
            ["if let ", "} else if let ", "while let "].iter().any(|word| line.starts_with(word));
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
    ["src", "tests"].iter().for_each(|folder| files_below(&root.join(folder), &["rs"], &mut files));
    for part in fs::read_dir(root.join("crates")).unwrap() {
        let part = part.unwrap().path();
        let folders = ["src", "tests", "examples", "benches"].map(|folder| part.join(folder));
        folders
            .iter()
            .filter(|folder| folder.is_dir())
            .for_each(|folder| files_below(folder, &["rs"], &mut files));
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
    assert!(
        wrong.is_empty(),
        "these need Rust 1.88, rust-version says less:\n{}",
        wrong.join("\n")
    );
}

/// The pages of the published experiments say how many of an article's elements can be repeated;
/// nobody counts them by hand.
#[test]
fn the_pages_of_the_experiments_count_their_elements() {
    const STATES: [&str; 6] =
        ["run here", "built", "planned", "imported", "missing", "not possible"];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/experiments");
    let overview = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let pages: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let pages = pages.iter().filter(|path| !path.ends_with("README.md"));
    for path in pages.clone() {
        let text = std::fs::read_to_string(path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy();
        let (_, table) = text.split_once("| element of the article |").unwrap();
        let rows: Vec<&str> =
            table.lines().skip(2).take_while(|line| line.starts_with('|')).collect();
        let state = |row: &str| row.trim_end_matches(" |").rsplit(" | ").next().unwrap().to_owned();
        let counts = STATES.map(|word| {
            let is_so =
                |row: &&&str| state(row) == word || state(row).starts_with(&format!("{word}: "));
            rows.iter().filter(is_so).count()
        });
        assert_eq!(
            counts.iter().sum::<usize>(),
            rows.len(),
            "{name}: a state is none of {STATES:?}"
        );
        let some = STATES.iter().zip(counts).filter(|(_, count)| *count > 0);
        let said: Vec<String> = some.map(|(word, count)| format!("{count} {word}")).collect();
        let line = format!("\n{} elements: {}.\n", rows.len(), said.join(", "));
        assert!(text.contains(&line), "{name} lacks the line: {line}");
        let cells = counts.map(|count| count.to_string()).join(" | ");
        let row = overview.lines().find(|row| row.contains(&format!("({name})")));
        let row = row.unwrap_or_else(|| panic!("README.md lacks {name}"));
        assert!(
            row.ends_with(&format!("| {} | {cells} |", rows.len())),
            "README.md, {name}: {cells}"
        );
    }
    assert_eq!(pages.count(), 5);
}

/// Returns the string literals of a source, without those of its tests.
fn texts_of(source: &str) -> Vec<String> {
    let shipped = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = shipped.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code = lines
        .collect::<Vec<_>>()
        .join("\n")
        .replace("\\\"", "'")
        .replace("'\"'", "")
        .replace("\\n", " - ");
    let texts = code.split('"').skip(1).step_by(2);
    // A backslash at the end of a line removes the next line's indent.
    texts.map(|text| text.split("\\\n").map(str::trim_start).collect::<String>()).collect()
}

#[test]
fn no_sentence_has_two_blanks_in_a_row() {
    let gap = |text: &String| {
        let words: Vec<&str> = text.split("  ").collect();
        let is_word =
            |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || ",;.:".contains(c));
        words.windows(2).any(|pair| {
            is_word(pair[0].chars().next_back())
                && pair[1].trim_start().starts_with(|c: char| c.is_ascii_alphabetic())
        })
    };
    assert_eq!(texts_of("f(\"a  b\"); // \"\n").iter().filter(|text| gap(text)).count(), 1);
    assert_eq!(texts_of("f(\"a \\\n      b\");").iter().filter(|text| gap(text)).count(), 0);
    let mut files = Vec::new();
    for folder in ["src", "crates"] {
        files_below(&root().join(folder), &["rs"], &mut files);
    }
    // Examples print columns and are not shipped.
    let is_example = |path: &Path| path.components().any(|part| part.as_os_str() == "examples");
    let is_shipped = |path: &&PathBuf| !is_test(path) && !is_example(path);
    let sources = files.iter().filter(is_shipped);
    let found: Vec<String> =
        sources.flat_map(|path| texts_of(&fs::read_to_string(path).unwrap())).filter(gap).collect();
    assert_eq!(found, Vec::<String>::new());
}

/// Paths in backticks of pages and comments: from the root, below `crates/`, or below the crate of
/// the file (of a page on the audit, below that crate).
#[test]
fn paths_in_pages_and_comments_exist() {
    let (mut files, mut gone) = (Vec::new(), Vec::new());
    for name in ["src", "crates", "tests", "docs"] {
        files_below(&root().join(name), &["rs", "md"], &mut files);
    }
    files.extend(["README.md", "METHOD.md", "ARCHITECTURE.md"].map(|name| root().join(name)));
    for file in files {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let is_code = file.extension().is_some_and(|ending| ending == "rs");
        let lines = text.lines().filter(|line| !is_code || line.trim_start().starts_with("//"));
        for path in lines.flat_map(|line| line.split('`').skip(1).step_by(2)) {
            let is_path = path.contains("/src/")
                || ["crates/", "src/", "tests/", "docs/", "tools/", "scenarios/"]
                    .iter()
                    .any(|start| path.starts_with(start));
            let is_plain = path.chars().all(|c| c.is_alphanumeric() || "/._-".contains(c));
            if !is_path || !is_plain || path.starts_with('/') {
                continue;
            }
            let parts: Vec<_> = file.strip_prefix(root()).unwrap().iter().collect();
            let own = parts.get(1).filter(|_| parts[0] == "crates");
            let own = own.map_or("audit".into(), |own| own.to_string_lossy().into_owned());
            let below = [root().to_owned(), root().join("crates"), root().join("crates").join(own)];
            if !below.iter().any(|folder| folder.join(path).exists()) {
                gone.push(format!("{}: {path}", file.display()));
            }
        }
    }
    assert!(gone.is_empty(), "no such files: {gone:#?}");
}

/// Pages for contributors name a function or a type and the file that it is in.
#[test]
fn names_in_pages_are_where_the_pages_say() {
    let mut pages = vec![root().join("ARCHITECTURE.md"), root().join("CONTRIBUTING.md")];
    files_below(&root().join("docs"), &["md"], &mut pages);
    let (mut seen, mut gone) = (0, Vec::new());
    for page in pages {
        let text =
            fs::read_to_string(&page).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        let parts: Vec<&str> = text.split('`').collect();
        for at in (1..parts.len()).step_by(2) {
            // Names may be listed before their file: "`one`, `other` in `file.rs`".
            let listed = |next: &usize| matches!(parts[*next - 1].trim(), "," | "and" | ", and");
            let last = (at + 2..parts.len()).step_by(2).take_while(listed).last().unwrap_or(at);
            let Some([between, path]) = parts.get(last + 1..last + 3) else { continue };
            let is_name = |c: char| c.is_alphanumeric() || "_:".contains(c);
            if !matches!(between.trim(), "in" | "of")
                || !path.ends_with(".rs")
                || !parts[at].chars().all(is_name)
            {
                continue;
            }
            let file = [root().join(path), root().join("crates").join(path)];
            let Some(code) = file.iter().find_map(|file| fs::read_to_string(file).ok()) else {
                continue;
            };
            let name = parts[at].rsplit("::").next().unwrap();
            let kinds = ["fn", "const", "static", "struct", "enum", "trait", "mod", "macro_rules!"];
            let words: Vec<&str> = code.split(|c: char| !(is_name(c) || c == '!')).collect();
            let is_declared =
                |pair: &[&str]| kinds.contains(&pair[0]) && pair[1].trim_matches(':') == name;
            seen += 1;
            if !words.windows(2).any(is_declared) {
                gone.push(format!("{}: {} in {path}", page.display(), parts[at]));
            }
        }
    }
    assert!(gone.is_empty(), "not there: {gone:#?}");
    assert!(seen > 30, "{seen}");
}

#[test]
fn no_page_has_the_marks_of_a_merge() {
    let mut folders = vec![root().to_owned()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && name != "target" && !name.starts_with('.') {
                folders.push(path);
            } else if name.ends_with(".md") {
                let text = fs::read_to_string(&path).unwrap();
                let marked = text
                    .lines()
                    .find(|line| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> "));
                assert_eq!(marked, None, "{}", path.display());
            }
        }
    }
}

/// Words that say nothing of a type by themselves.
const VAGUE_TYPES: [&str; 26] = [
    "Asked", "Behind", "Beside", "Change", "Course", "Done", "Ended", "Entry", "Found", "Kind",
    "Line", "Of", "Order", "Part", "Place", "Reading", "Row", "Said", "Served", "Shape", "Share",
    "Source", "Spot", "Target", "Told", "Way",
];
/// A word of the product.
const SAID_ANYWAY: [&str; 1] = ["Place"];
/// Words that say nothing of a function.
const VAGUE_FUNCTIONS: [&str; 12] =
    ["at", "behind", "beside", "here", "it", "of", "one", "own", "said", "there", "told", "way"];
/// Derived by clap for each command, and what each module calls its own error.
const IN_EACH_MODULE: [&str; 2] = ["Args", "Error"];

/// The name that a line defines, of one of these kinds; types within functions and traits are
/// indented.
fn defined<'a>(line: &'a str, kinds: &[&str]) -> Option<&'a str> {
    let words = line.split(|sign: char| !sign.is_alphanumeric() && sign != '_' && sign != '(');
    let mut words = words.filter(|word| !word.is_empty()).peekable();
    while words.peek().is_some_and(|word| {
        word.starts_with("pub")
            || ["crate", "super", "const", "async", "unsafe", "in"].contains(word)
    }) {
        words.next();
    }
    let kind = words.next()?;
    kinds.contains(&kind).then(|| words.next())?.map(|name| name.split('(').next().unwrap_or(name))
}

#[test]
fn names_can_be_searched_for() {
    let types = ["struct", "enum", "trait", "union", "type"];
    let mut known: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in &crate_names() {
        for (path, text) in sources(name).iter().filter(|(path, _)| !is_test(path)) {
            let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
            for (at, line) in text.lines().enumerate() {
                let here = format!("{}:{}", path.display(), at + 1);
                let trimmed = line.trim_start();
                if let Some(function) = defined(trimmed, &["fn"]) {
                    assert!(
                        !VAGUE_FUNCTIONS.contains(&function),
                        "{here}: fn {function} says nothing"
                    );
                }
                if let Some(found) = defined(line, &types).filter(|_| trimmed == line) {
                    let vague = VAGUE_TYPES.contains(&found) && !SAID_ANYWAY.contains(&found);
                    assert!(!vague, "{here}: {found} says nothing of the type");
                    known.entry(found.to_owned()).or_default().push(here);
                }
            }
        }
    }
    let often = known
        .iter()
        .filter(|(name, places)| places.len() > 2 && !IN_EACH_MODULE.contains(&name.as_str()));
    let often: Vec<_> = often.collect();
    assert!(often.is_empty(), "types that share a name with two others or more: {often:#?}");
}
