//! Initramfs of a guest: a cpio archive in the kernel's "newc" format with this program as /init,
//! the modules in loading order and the directories that are mount points. It contains nothing else
//! from the host, and needs no cpio program.

use super::elf;
use super::kernel::{Kernel, Origin};
use super::modules::{BOOT, Tree};
use anyhow::{Context, Result, ensure};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// File in the guest that lists the modules' paths in loading order, one per line.
pub const MODULES_LIST: &str = "etc/iotax-modules";

/// Builds the initramfs of a guest: `program` (statically linked, since there are no libraries) as
/// /init, and the modules that every guest needs, those named in `more`, and those that they depend
/// on.
///
/// # Errors
/// The program or a module cannot be read or is not of the expected format; the kernel does not
/// have a module.
pub fn build(program: &Path, kernel: &Kernel, more: &[String]) -> Result<Vec<u8>> {
    let mut archive = Archive::default();
    for directory in ["proc", "sys", "dev", "tmp", "run", "etc", "lib", "lib/modules", "mnt"] {
        archive.directory(directory)?;
    }
    // Standard input and output of PID 1, opened by the kernel before anything is mounted.
    archive.character_device("dev/console", 5, 1)?;
    let init =
        std::fs::read(program).with_context(|| format!("cannot read {}", program.display()))?;
    let init = elf::loadable(&init)
        .with_context(|| format!("cannot use {} as /init", program.display()))?;
    archive.file("init", 0o755, &init)?;
    add_modules(&mut archive, kernel, more)?;
    archive.finish()
}

fn add_modules(archive: &mut Archive, kernel: &Kernel, more: &[String]) -> Result<()> {
    let mut list = String::new();
    let wanted: Vec<&str> = BOOT.iter().copied().chain(more.iter().map(String::as_str)).collect();
    for module in Tree::open(&kernel.modules)?.load_order(&wanted)? {
        let path = format!("lib/modules/{}.ko", module.name);
        writeln!(list, "/{path}")?;
        archive.file(&path, 0o644, &module.image)?;
    }
    archive.file(MODULES_LIST, 0o644, list.as_bytes())
}

/// A newc archive under construction. Names are relative; a directory must be added before its
/// contents.
#[derive(Default)]
pub struct Archive {
    bytes: Vec<u8>,
    inodes: u32,
}

struct ArchiveEntry<'a> {
    name: &'a str,
    mode: u32,
    device: (u32, u32),
    content: &'a [u8],
}

impl Archive {
    pub fn directory(&mut self, name: &str) -> Result<()> {
        self.add(&ArchiveEntry { name, mode: 0o040_755, device: (0, 0), content: &[] })
    }

    /// Adds a character device with mode 0600.
    ///
    /// # Errors
    /// Fails like [`Archive::file`].
    pub fn character_device(&mut self, name: &str, major: u32, minor: u32) -> Result<()> {
        self.add(&ArchiveEntry { name, mode: 0o020_600, device: (major, minor), content: &[] })
    }

    /// Adds a file owned by root.
    ///
    /// # Errors
    /// The name is absolute, empty or contains a NUL; the content is 4 GiB or larger.
    pub fn file(&mut self, name: &str, permissions: u32, content: &[u8]) -> Result<()> {
        self.add(&ArchiveEntry { name, mode: 0o100_000 | permissions, device: (0, 0), content })
    }

    pub fn finish(mut self) -> Result<Vec<u8>> {
        self.add(&ArchiveEntry { name: "TRAILER!!!", mode: 0, device: (0, 0), content: &[] })?;
        Ok(self.bytes)
    }

    fn add(&mut self, entry: &ArchiveEntry) -> Result<()> {
        let name = entry.name;
        ensure!(
            !name.is_empty() && !name.starts_with('/') && !name.contains('\0'),
            "bad name {name:?} in an initramfs"
        );
        let size = u32::try_from(entry.content.len())
            .ok()
            .with_context(|| format!("{name} is 4 GiB or larger"))?;
        self.inodes += 1;
        let links = if entry.mode & 0o170_000 == 0o040_000 { 2 } else { 1 };
        let name_bytes = u32::try_from(name.len() + 1)?;
        let (major, minor) = entry.device;
        // Inode, mode, uid, gid, links, mtime, size, device of the file system, device, name,
        // checksum.
        let fields =
            [self.inodes, entry.mode, 0, 0, links, 0, size, 0, 0, major, minor, name_bytes, 0];
        self.bytes.extend_from_slice(b"070701");
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08X}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(entry.content);
        self.pad();
        Ok(())
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

/// Builds the initramfs of a guest from a kernel's folder of modules. `more` names modules in
/// addition to those of every guest.
///
/// # Errors
/// Fails like [`build`].
pub fn initramfs_for(agent: &Path, modules: &Path, more: &[String]) -> Result<Vec<u8>> {
    let kernel = Kernel {
        version: modules.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        image: PathBuf::new(),
        modules: modules.to_owned(),
        origin: Origin::Installed,
    };
    build(agent, &kernel, more)
}

#[cfg(test)]
mod tests {
    use super::super::kernel::Origin;
    use super::super::modules::tests::fake_tree;
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, PartialEq)]
    struct Read {
        name: String,
        mode: u32,
        device: (u32, u32),
        content: Vec<u8>,
    }

    /// A reader of its own, after the kernel's
    /// Documentation/driver-api/early-userspace/buffer-format.
    fn read(mut archive: &[u8]) -> Vec<Read> {
        let total = archive.len();
        let mut entries = Vec::new();
        loop {
            assert_eq!(&archive[..6], b"070701");
            let field = |index: usize| {
                let at = 6 + index * 8;
                u32::from_str_radix(std::str::from_utf8(&archive[at..at + 8]).unwrap(), 16).unwrap()
            };
            let (size, name_bytes) = (field(6) as usize, field(11) as usize);
            let name = String::from_utf8(archive[110..110 + name_bytes - 1].to_vec()).unwrap();
            assert_eq!(archive[110 + name_bytes - 1], 0);
            let content_at = (110 + name_bytes).next_multiple_of(4);
            let content = archive[content_at..content_at + size].to_vec();
            let entry = Read { name, mode: field(1), device: (field(9), field(10)), content };
            archive = &archive[(content_at + size).next_multiple_of(4)..];
            assert_eq!((total - archive.len()) % 4, 0);
            if entry.name == "TRAILER!!!" {
                assert!(archive.is_empty());
                return entries;
            }
            entries.push(entry);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(files in proptest::collection::vec(
            ("[a-z][a-z0-9/._-]{0,40}", 0u32..0o1000, proptest::collection::vec(any::<u8>(), 0..50)), 0..8)) {
            let mut archive = Archive::default();
            for (name, permissions, content) in &files {
                archive.file(name, *permissions, content).unwrap();
            }
            let expected: Vec<Read> = files.into_iter()
                .map(|(name, permissions, content)| Read { name, mode: 0o100_000 | permissions, device: (0, 0), content })
                .collect();
            prop_assert_eq!(read(&archive.finish().unwrap()), expected);
        }
    }

    #[test]
    fn bad_names_are_refused() {
        for name in ["", "/init", "a\0b"] {
            assert!(
                Archive::default().directory(name).unwrap_err().to_string().contains("bad name")
            );
        }
    }

    #[test]
    fn a_guest_gets_its_program_its_console_and_its_modules() {
        let directory = tempfile::tempdir().unwrap();
        let modules = [
            ("kernel/virtio_pci.ko", "depends=virtio\0"),
            ("kernel/virtio.ko", "depends=\0"),
            ("kernel/virtio_blk.ko", "depends=virtio\0"),
            ("kernel/xfs.ko", "depends=virtio\0"),
        ];
        fake_tree(directory.path(), "kernel/virtio_console.ko\n", &modules);
        let kernel = Kernel {
            version: "6.1-test".into(),
            image: directory.path().join("none"),
            modules: directory.path().into(),
            origin: Origin::Installed,
        };
        let program = std::env::current_exe().unwrap();
        let entries = read(&build(&program, &kernel, &[]).unwrap());
        let entry = |name: &str| entries.iter().find(|entry| entry.name == name).unwrap();
        assert_eq!((entry("dev/console").mode, entry("dev/console").device), (0o020_600, (5, 1)));
        assert_eq!(entry("init").mode, 0o100_755);
        assert!(entry("init").content.starts_with(b"\x7fELF"));
        assert_eq!(entries.iter().filter(|entry| entry.name == "lib/modules/virtio.ko").count(), 1);
        insta::assert_snapshot!(String::from_utf8_lossy(&entry(MODULES_LIST).content), @r"
        /lib/modules/virtio.ko
        /lib/modules/virtio_pci.ko
        /lib/modules/virtio_blk.ko
        ");
        let script = directory.path().join("script");
        std::fs::write(&script, "#!/bin/sh\n").unwrap();
        assert!(
            format!("{:#}", build(&script, &kernel, &[]).unwrap_err()).contains("not a 64-bit")
        );
    }
}
