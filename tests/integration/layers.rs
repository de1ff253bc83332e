//! Holds that each layer is in one place: nobody else knows it by its name.

use crate::architecture::{crate_names, files_below};
use iotax_model::layer as catalog;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Crates that know of no layer and have such words for other things; the program itself is read
/// apart.
const WITHOUT_LAYERS: &[&str] = &["audit", "audit-proof", "iotax", "load", "stats"];

/// Where a layer's own files are: its words, its set-up, its operations, their drivers.
const HOMES: &[&str] = &["layer", "layers", "steps", "drivers", "qemu"];

/// A layer's own files and folders are called like it, or so.
const ALSO: &[(&str, &str)] = &[
    ("loop", "loopdev"),
    ("loop", "loops"),
    ("split", "linear"),
    ("vm", "guest"),
    ("vm", "qemu"),
    ("delay", "known"),
    ("null", "known"),
    ("engine", "known"),
    ("zfs", "zpool"),
    ("rados", "fio_client"),
    ("fio-rbd", "fio_rbd"),
    ("fio-rbd", "fio_client"),
];

/// Words that are no layer there: the word, what it is, and the ends of the paths of the files that
/// have it.
const OTHER_MEANINGS: &[(&str, &str, &[&str])] = &[
    (
        "engine",
        "a key of scenarios, records and sheets: what loads a workload",
        &[
            "against/differences.rs",
            "analysis/src/history.rs",
            "draft/src/toml_text.rs",
            "report/src/sheet.rs",
            "scenario/check.rs",
            "scenario/toml.rs",
            "scenario/values.rs",
            "scenario/words.rs",
        ],
    ),
    (
        "loop",
        "a kind of device of the kernel",
        &["efficiency/hardware.rs", "analysis/src/validity/neighbours.rs", "guard/kernel_users.rs"],
    ),
    ("loop", "a transport of NVMe over fabrics", &["layer/nvmf.rs", "fabric/nvmf.rs"]),
    ("nbd", "a kind of device of the kernel", &["analysis/src/validity/neighbours.rs"]),
    ("domain", "a part of a PCI address in libvirt's XML", &["hypervisor/libvirt.rs"]),
    (
        "bcache",
        "a kind of device of the kernel, and a signature",
        &["analysis/src/validity/neighbours.rs", "guard/judge.rs", "guard/signature.rs"],
    ),
    (
        "partition",
        "a file of sysfs",
        &["host/src/block.rs", "host/src/facts.rs", "agentless/posix.rs", "drivers/src/zfs/mod.rs"],
    ),
    ("partition", "a partition of Slurm", &["engine/slurm.rs"]),
    ("loop", "how the kernel names its devices", &["fleet/host_facts.rs"]),
    ("lvm", "the program", &["host/src/probe.rs", "drivers/src/tool.rs"]),
    (
        "zfs",
        "the program, or the module",
        &["lab/build.rs", "drivers/src/tool.rs", "draft/src/headings.rs"],
    ),
    ("zfs", "a value that people try", &["layer/fs.rs"]),
    ("linear", "a kind of volume of LVM", &["layer/lvm.rs", "volume/lvm.rs", "op/lvm.rs"]),
    (
        "spdk",
        "a running target: the need, and the option that names its socket",
        &[
            "host/src/needs.rs",
            "layer/nvmf.rs",
            "layer/vm.rs",
            "fabric/nvmf.rs",
            "guest/vm/mod.rs",
            "guest/vm/options.rs",
        ],
    ),
    (
        "null",
        "a load engine, ours and fio's",
        &[
            "scenario/fio_job.rs",
            "scenario/fio_section.rs",
            "scenario/values.rs",
            "scenario/verify.rs",
        ],
    ),
    ("vm", "how stacks are named after what pages call a guest", &["draft/src/stacks.rs"]),
    ("rados", "an engine of fio", &["engines/src/fio/client.rs"]),
    ("split", "a policy of fio", &["scenario/values.rs", "engines/src/fio/mod.rs"]),
    ("split", "a kind of bdev of SPDK", &["spdk/look.rs"]),
];

fn parts(path: &Path) -> Vec<String> {
    let name = |part: std::path::Component| {
        part.as_os_str().to_string_lossy().trim_end_matches(".rs").to_owned()
    };
    path.components().map(name).collect()
}

fn is_test(path: &Path) -> bool {
    let helper = |part: &String| {
        matches!(part.as_str(), "tests" | "testing" | "fake" | "docs") || part.ends_with("_tests")
    };
    parts(path).iter().any(helper)
}

fn is_own(path: &Path, layer: &str) -> bool {
    let parts = parts(path);
    let also = ALSO.iter().filter(|(of, _)| *of == layer).map(|(_, name)| *name);
    let mut names = also.chain([layer]);
    parts.iter().any(|part| HOMES.contains(&part.as_str()))
        && names.any(|name| parts.iter().any(|part| part == name))
}

/// Lines of code that are shipped.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let shipped = text.split("#[cfg(test)]\nmod ").next().unwrap_or(text);
    shipped.lines().filter(|line| !line.trim_start().starts_with("//"))
}

#[test]
fn no_layer_is_known_by_its_name_outside_its_own_entry() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    files_below(&root.join("src"), &["rs"], &mut files);
    let asks = |name: &&String| !WITHOUT_LAYERS.contains(&name.as_str());
    for name in crate_names().iter().filter(asks) {
        files_below(&root.join("crates").join(name).join("src"), &["rs"], &mut files);
    }
    let mut found: BTreeSet<(String, &str)> = BTreeSet::new();
    for path in files.iter().filter(|path| !is_test(path)) {
        let text = fs::read_to_string(path).unwrap();
        let shown = path.strip_prefix(root).unwrap();
        for layer in catalog::layer_names().into_iter().filter(|layer| !is_own(shown, layer)) {
            let literal = format!("\"{layer}\"");
            if code(&text).any(|line| line.contains(&literal)) {
                found.insert((shown.display().to_string(), layer));
            }
        }
    }
    assert!(files.len() > 300, "{}", files.len());
    let excused = |file: &str, layer: &str| {
        OTHER_MEANINGS
            .iter()
            .any(|(word, _, ends)| *word == layer && ends.iter().any(|end| file.ends_with(end)))
    };
    let wrong: Vec<_> = found.iter().filter(|(file, layer)| !excused(file, layer)).collect();
    assert!(wrong.is_empty(), "ask the catalog what the layer is: {wrong:#?}");
    for (word, meaning, ends) in OTHER_MEANINGS {
        for end in *ends {
            let still = found.iter().any(|(file, layer)| layer == word && file.ends_with(end));
            assert!(still, "{end} has no \"{word}\" ({meaning}) any more: take it off the list");
        }
    }
}
