//! What fuzzers found worth keeping is read again, file by file: the laws of
//! `iotax_audit_proof::laws` hold of it. A panic shows the file in the test's output.

use iotax_audit_proof::laws::targets;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// All files together: it is cloned by everybody.
const MOST_BYTES: u64 = 1_500_000;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus")
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let read = std::fs::read_dir(folder).unwrap_or_else(|error| {
        panic!(
            "{}: {error}; hint: a new target needs a corpus: tools/fuzz NAME 60, then tools/fuzz --keep NAME",
            folder.display()
        )
    });
    let mut entries: Vec<PathBuf> =
        read.map(|entry| entry.expect("a readable folder").path()).collect();
    entries.sort();
    entries
}

#[test]
fn every_target_has_a_corpus_and_holds_its_laws_on_it() {
    for target in targets() {
        let files = entries(&corpus().join(&target.name));
        assert!(!files.is_empty(), "{} has no corpus", target.name);
        for file in files {
            println!("{}", file.display());
            target.hold(&std::fs::read(&file).expect("a readable file"));
        }
    }
}

#[test]
fn every_folder_of_the_corpus_is_of_a_target_and_all_are_small() {
    let names: BTreeSet<String> = targets().into_iter().map(|target| target.name).collect();
    assert_eq!(names.len(), targets().len(), "two targets of one name");
    let folders = entries(&corpus());
    let of = |folder: &PathBuf| folder.file_name().expect("a name").to_string_lossy().into_owned();
    assert_eq!(folders.iter().map(of).collect::<BTreeSet<_>>(), names);
    let files = folders.iter().flat_map(|folder| entries(folder));
    let bytes: u64 = files.map(|file| file.metadata().expect("a file").len()).sum();
    assert!(bytes < MOST_BYTES, "{bytes} bytes");
}
