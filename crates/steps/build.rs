//! Gives the agent an identity: a hash of the sources that it is built of, as `IOTAX_AGENT_BUILD`.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// Crates of which the agent is made.
const CRATES: [&str; 14] = [
    "drivers",
    "engines",
    "facts",
    "histogram",
    "host",
    "journal",
    "load",
    "probe",
    "qemu",
    "remote",
    "steps",
    "sys",
    "units",
    "wire",
];

fn main() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the folder of crates");
    let mut files = Vec::new();
    for name in CRATES {
        let folder = crates.join(name).join("src");
        println!("cargo::rerun-if-changed={}", folder.display());
        collect(&folder, &mut files);
    }
    files.sort();
    let mut hash = DefaultHasher::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|ending| ending == "rs")) {
        std::fs::read(file).expect("a source file").hash(&mut hash);
    }
    println!("cargo::rustc-env=IOTAX_AGENT_BUILD={:016x}", hash.finish());
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources").flatten() {
        let path = entry.path();
        if path.is_dir() { collect(&path, files) } else { files.push(path) }
    }
}
