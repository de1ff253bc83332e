//! Kernel modules for a guest: found below /lib/modules/VERSION, decompressed, and sorted into
//! loading order. Dependencies are read from each module (`depends=` and `softdep=` in its .modinfo
//! section), not from modules.dep: depmod writes that file when a package is installed, and iotax
//! only unpacks packages.

use super::{elf, packing};
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Modules that every guest needs to boot: PCI transport, disk, and the port to the agent. Their
/// dependencies are read from the modules.
pub const BOOT: &[&str] = &["virtio_pci", "virtio_blk", "virtio_console"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Name with underscores, as the kernel shows it.
    pub name: String,
    pub image: Vec<u8>,
}

/// Modules of one kernel, below its /lib/modules/VERSION.
pub struct Tree {
    files: BTreeMap<String, PathBuf>,
    builtin: BTreeSet<String>,
    root: PathBuf,
}

impl Tree {
    /// Lists the modules' files and reads modules.builtin. A missing folder of modules counts as
    /// empty.
    ///
    /// # Errors
    /// A folder or modules.builtin cannot be read.
    pub fn open(root: &Path) -> Result<Tree> {
        let mut files = BTreeMap::new();
        // updates/ comes last, as it replaces modules of the same name (depmod's default search
        // order).
        for part in ["kernel", "extra", "updates"] {
            list(&root.join(part), &mut files)
                .with_context(|| format!("cannot list modules in {}", root.display()))?;
        }
        let builtin = std::fs::read_to_string(root.join("modules.builtin"))
            .with_context(|| format!("cannot read modules.builtin in {}", root.display()))?;
        let builtin = builtin.lines().filter_map(|line| module_name(Path::new(line))).collect();
        Ok(Tree { files, builtin, root: root.to_owned() })
    }

    /// Returns true if the kernel has the module, as a file or built in.
    pub fn has_module(&self, name: &str) -> bool {
        self.builtin.contains(name) || self.files.contains_key(name)
    }

    pub fn can_boot(&self) -> bool {
        BOOT.iter().all(|name| self.has_module(name))
    }

    /// Returns these modules and those that they depend on, in loading order, without those that
    /// are built in. A soft dependency that the kernel does not have is left out.
    ///
    /// # Errors
    /// The kernel does not have another module, or a module's file cannot be read or decompressed
    /// or is not a module.
    pub fn load_order(&self, names: &[&str]) -> Result<Vec<Module>> {
        let mut order = ModuleOrder { tree: self, done: BTreeSet::new(), modules: Vec::new() };
        for name in names {
            order.add(name)?;
        }
        Ok(order.modules)
    }
}

struct ModuleOrder<'a> {
    tree: &'a Tree,
    done: BTreeSet<String>,
    modules: Vec<Module>,
}

impl ModuleOrder<'_> {
    fn add(&mut self, name: &str) -> Result<()> {
        if !self.done.insert(name.to_owned()) || self.tree.builtin.contains(name) {
            return Ok(());
        }
        let Some(path) = self.tree.files.get(name) else {
            bail!("kernel module {name} is neither built in nor in {}", self.tree.root.display());
        };
        let image = unpack(path)?;
        let needs = Needs::from_image(&image)
            .with_context(|| format!("kernel module {}", path.display()))?;
        // A wished module may be missing or have another name in this kernel: modprobe goes on
        // then, too.
        for wish in needs.soft.iter().filter(|wish| self.tree.has_module(wish)) {
            self.add(wish)?;
        }
        for need in &needs.hard {
            self.add(need)?;
        }
        self.modules.push(Module { name: name.to_owned(), image });
        Ok(())
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Needs {
    hard: Vec<String>,
    soft: Vec<String>,
}

impl Needs {
    fn from_image(image: &[u8]) -> Result<Needs> {
        let modinfo =
            elf::section(image, ".modinfo")?.context("no .modinfo section: not a kernel module")?;
        let mut needs = Needs::default();
        for entry in
            modinfo.split(|byte| *byte == 0).filter_map(|entry| std::str::from_utf8(entry).ok())
        {
            if let Some(names) = entry.strip_prefix("depends=") {
                needs
                    .hard
                    .extend(names.split(',').filter(|name| !name.is_empty()).map(underscores));
            } else if let Some(words) = entry.strip_prefix("softdep=") {
                needs.soft.extend(pre_dependencies(words).map(underscores));
            }
        }
        Ok(needs)
    }
}

/// Returns the modules to load before this one, from the words of a `softdep=`: a and b in `pre: a
/// b post: c`. Those to load after it (c) do not matter for a disk.
fn pre_dependencies(words: &str) -> impl Iterator<Item = &str> {
    let mut pre = false;
    words.split_whitespace().filter(move |word| {
        if word.ends_with(':') {
            pre = *word == "pre:";
            return false;
        }
        pre
    })
}

fn list(directory: &Path, files: &mut BTreeMap<String, PathBuf>) -> std::io::Result<()> {
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            list(&entry.path(), files)?;
        } else if let Some(name) = module_name(&entry.path()) {
            files.insert(name, entry.path());
        }
    }
    Ok(())
}

fn module_name(path: &Path) -> Option<String> {
    let file = path.file_name()?.to_str()?;
    let (name, packing) = file.split_once(".ko")?;
    matches!(packing, "" | ".xz" | ".zst" | ".gz").then(|| underscores(name))
}

fn underscores(name: &str) -> String {
    name.replace('-', "_")
}

fn unpack(path: &Path) -> Result<Vec<u8>> {
    let packed = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let unpacked = match path.extension().and_then(|extension| extension.to_str()) {
        Some("ko") => Ok(packed),
        Some("xz") => packing::unpack_xz(&packed),
        Some("zst") => packing::unpack_zst(&packed),
        _ => bail!(
            "{} is packed in a way that is not understood; hint: .ko, .ko.xz and .ko.zst are",
            path.display()
        ),
    };
    unpacked.with_context(|| format!("cannot unpack {}", path.display()))
}

#[cfg(test)]
/// Made-up trees of modules, for tests of the guest.
pub mod tests {
    use super::*;

    /// The smallest ELF file with a .modinfo section.
    pub fn fake_module(modinfo: &str) -> Vec<u8> {
        let names = b"\0.modinfo\0";
        let mut file = vec![0u8; 64];
        file[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        file[20] = 1;
        file.extend_from_slice(names);
        let modinfo_at = file.len() as u64;
        file.extend_from_slice(modinfo.as_bytes());
        let table_at = file.len() as u64;
        let sections = [
            (0u32, 0u64, 0u64),
            (0, 64, names.len() as u64),
            (1, modinfo_at, modinfo.len() as u64),
        ];
        for (name, offset, bytes) in sections {
            let mut entry = [0u8; 64];
            entry[..4].copy_from_slice(&name.to_le_bytes());
            entry[24..32].copy_from_slice(&offset.to_le_bytes());
            entry[32..40].copy_from_slice(&bytes.to_le_bytes());
            file.extend_from_slice(&entry);
        }
        file[40..48].copy_from_slice(&table_at.to_le_bytes());
        for (at, value) in [(58, 64u16), (60, 3), (62, 1)] {
            file[at..at + 2].copy_from_slice(&value.to_le_bytes());
        }
        file
    }

    /// A /lib/modules/VERSION as a package lays it out.
    pub fn fake_tree(root: &Path, builtin: &str, modules: &[(&str, &str)]) {
        std::fs::create_dir_all(root).unwrap();
        std::fs::write(root.join("modules.builtin"), builtin).unwrap();
        for (path, modinfo) in modules {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, fake_module(modinfo)).unwrap();
        }
    }

    const PACKED: &[(&str, &str)] = &[
        (
            "kernel/drivers/virtio/virtio_pci.ko",
            "name=virtio_pci\0depends=virtio_ring,virtio-modern\0",
        ),
        ("kernel/drivers/virtio/virtio-modern.ko", "depends=\0"),
        ("kernel/drivers/virtio/virtio_ring.ko", "depends=virtio\0"),
        ("kernel/drivers/block/virtio_blk.ko", "depends=virtio_ring,virtio\0"),
    ];

    fn names(modules: &[Module]) -> Vec<&str> {
        modules.iter().map(|module| module.name.as_str()).collect()
    }

    #[test]
    fn what_a_module_needs_comes_before_it_and_once() {
        let directory = tempfile::tempdir().unwrap();
        fake_tree(
            directory.path(),
            "kernel/drivers/virtio/virtio.ko\nkernel/drivers/char/virtio_console.ko\n",
            PACKED,
        );
        let tree = Tree::open(directory.path()).unwrap();
        assert!(tree.can_boot());
        let order = tree.load_order(BOOT).unwrap();
        assert_eq!(names(&order), ["virtio_ring", "virtio_modern", "virtio_pci", "virtio_blk"]);
    }

    #[test]
    fn a_lacking_module_is_named() {
        let directory = tempfile::tempdir().unwrap();
        fake_tree(directory.path(), "", PACKED);
        let tree = Tree::open(directory.path()).unwrap();
        assert!(!tree.can_boot());
        let failure = tree.load_order(BOOT).unwrap_err().to_string();
        assert!(
            failure.starts_with("kernel module virtio is neither built in nor in"),
            "{failure}"
        );
    }

    #[test]
    fn wishes_are_loaded_where_they_exist_and_circles_end() {
        let directory = tempfile::tempdir().unwrap();
        let modules = [
            (
                "kernel/fs/xfs/xfs.ko",
                "softdep=pre: crc32c-generic nonesuch post: later\0depends=libcrc32c\0",
            ),
            ("kernel/lib/libcrc32c.ko", "softdep=pre: crc32c-generic\0depends=xfs\0"),
            ("kernel/crypto/crc32c_generic.ko", "depends=\0"),
            ("kernel/lib/later.ko", "depends=\0"),
        ];
        fake_tree(directory.path(), "", &modules);
        let order = Tree::open(directory.path()).unwrap().load_order(&["xfs"]).unwrap();
        assert_eq!(names(&order), ["crc32c_generic", "libcrc32c", "xfs"]);
    }

    #[test]
    fn updates_win_over_the_kernels_own() {
        let directory = tempfile::tempdir().unwrap();
        fake_tree(
            directory.path(),
            "",
            &[
                ("updates/dkms/nvme.ko", "version=2\0depends=\0"),
                ("kernel/drivers/nvme/nvme.ko", "depends=\0"),
            ],
        );
        let order = Tree::open(directory.path()).unwrap().load_order(&["nvme"]).unwrap();
        assert_eq!(order[0].image, fake_module("version=2\0depends=\0"));
    }

    /// Packed by the real tools, as distributions do it, then by size classes of the module.
    #[test]
    fn packed_modules_are_unpacked() {
        let directory = tempfile::tempdir().unwrap();
        let plain =
            [fake_module("depends=\0"), (0..300_000u32).flat_map(u32::to_le_bytes).collect()]
                .concat();
        for (program, arguments, file) in [
            ("xz", vec!["--check=crc32", "--lzma2=dict=1MiB"], "m.ko.xz"),
            ("xz", vec!["-9e"], "m.ko.xz"),
            ("zstd", vec!["-q", "--rm", "-19"], "m.ko.zst"),
        ] {
            std::fs::write(directory.path().join("m.ko"), &plain).unwrap();
            let packed = std::process::Command::new(program)
                .args(&arguments)
                .arg("m.ko")
                .current_dir(&directory)
                .status();
            if !packed.is_ok_and(|status| status.success()) {
                println!("skipped: needs {program}");
                continue;
            }
            let path = directory.path().join(file);
            assert_eq!(unpack(&path).unwrap(), plain, "{program} {arguments:?}");
            let mut torn = std::fs::read(&path).unwrap();
            torn.truncate(torn.len() / 2);
            std::fs::write(&path, torn).unwrap();
            assert!(
                unpack(&path).unwrap_err().to_string().starts_with("cannot unpack"),
                "{program} {arguments:?}"
            );
            std::fs::remove_file(&path).unwrap();
        }
    }

    #[test]
    fn unknown_packing_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("m.ko.gz");
        std::fs::write(&path, b"x").unwrap();
        assert!(unpack(&path).unwrap_err().to_string().contains("hint: .ko, .ko.xz and .ko.zst"));
    }
}
