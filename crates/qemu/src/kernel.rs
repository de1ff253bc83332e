//! The kernel that a guest boots: this machine's own when it is readable and has its modules, else
//! the distribution's package, downloaded and unpacked into a cache and never installed. Refuses
//! kernels whose modules cannot reach a virtio disk and the port to the agent.

use super::modules::Tree;
use super::{elf, packing};
use crate::accel::Accel;
use anyhow::{Context, Result, bail, ensure};
use iotax_sys::child::{ANSWERS_WITHIN, output_of};
use iotax_units::exit::Failed;
use rustix::fs::{FlockOperation, flock};
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Release, as `uname -r` prints it.
    pub version: String,
    pub image: PathBuf,
    pub modules: PathBuf,
    pub origin: Origin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// /boot and /lib/modules of this machine.
    Installed,
    /// A package in iotax's cache.
    Cached,
}

/// Kernel that guests can boot, or the packages that contain one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelSource {
    Ready(Kernel),
    /// Packages with a kernel: some 70 MB to download, some 400 MB while they are unpacked.
    Packages(Vec<String>),
}

/// Finds a kernel for guests: the running one, else the newest installed one with which a guest can
/// boot, else the newest in iotax's cache, else the distribution's packages. Downloads nothing.
///
/// # Errors
/// Says why there is no kernel.
pub fn find_kernel_source() -> Result<KernelSource, String> {
    let running = rustix::system::uname();
    let own = installed(Path::new("/"), &running.release().to_string_lossy());
    if let Some(kernel) = own.or_else(|| cached(&cache_directory()?)) {
        return Ok(KernelSource::Ready(kernel));
    }
    packages().map(KernelSource::Packages)
}

/// Returns the kernel that [`find_kernel_source`] finds, downloaded if it has to be. Another
/// process that does the same is waited for.
///
/// # Errors
/// An unmet need (exit code 3) if there is neither a kernel nor a package with one; or why
/// downloading or unpacking failed.
pub fn obtain() -> Result<Kernel> {
    match find_kernel_source() {
        Ok(KernelSource::Ready(kernel)) => Ok(kernel),
        Ok(KernelSource::Packages(packages)) => {
            let cache = cache_directory()
                .context("no place for a kernel: neither XDG_CACHE_HOME nor HOME is set")?;
            download(&packages, &cache)
        }
        Err(why) => {
            Err(Failed::need(format!("{why}; hint: iotax doctor says what supplies one")).into())
        }
    }
}

/// Returns the kernel image to give to QEMU. Under KVM that is the kernel's own. Under TCG,
/// decompressing it takes half of the boot, so it is decompressed here, once, into the cache. If
/// that fails (no PVH entry, unknown compression, no room), it is the kernel's own, which boots
/// more slowly.
pub fn bootable(kernel: &Kernel, accel: Accel) -> PathBuf {
    let unpacked = (accel == Accel::Tcg)
        .then(|| cache_directory().and_then(|cache| unpacked_image(kernel, &cache).ok()));
    unpacked.flatten().unwrap_or_else(|| kernel.image.clone())
}

fn unpacked_image(kernel: &Kernel, cache: &Path) -> Result<PathBuf> {
    let image = std::fs::read(&kernel.image)?;
    let directory = cache.join(".unpacked");
    // Named by content: an update may keep the version.
    let path =
        directory.join(format!("vmlinux-{}-{:08x}", kernel.version, crc32fast::hash(&image)));
    if path.exists() {
        return Ok(path);
    }
    std::fs::create_dir_all(&directory)?;
    let file = tempfile::NamedTempFile::new_in(&directory)?;
    std::fs::write(file.path(), unpack_image(&image)?)?;
    file.persist(&path)?;
    Ok(path)
}

/// Type of the ELF note with the entry point that QEMU jumps to: XEN_ELFNOTE_PHYS32_ENTRY.
const PVH_ENTRY: u32 = 18;

/// Returns the ELF file inside a bzImage, packed by xz or zstd, without its debug information. The
/// header of x86's boot protocol says where it is (since version 2.08, Linux 2.6.26). Refuses a
/// kernel without PVH entry.
fn unpack_image(image: &[u8]) -> Result<Vec<u8>> {
    let number =
        |at: usize| Some(u32::from_le_bytes(image.get(at..at + 4)?.try_into().ok()?) as usize);
    ensure!(image.get(0x202..0x206) == Some(b"HdrS"), "not a bzImage");
    let (offset, bytes) = number(0x248).zip(number(0x24c)).context("its header is cut off")?;
    let setup_sectors = if image[0x1f1] == 0 { 4 } else { usize::from(image[0x1f1]) };
    let begin = (setup_sectors + 1) * 512 + offset;
    let payload = image.get(begin..begin + bytes).context("its payload is cut off")?;
    let unpacked = match payload {
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => packing::unpack_xz(payload)?,
        [0x28, 0xb5, 0x2f, 0xfd, ..] => packing::unpack_zst(payload)?,
        _ => bail!("packed in a way that is not understood"),
    };
    ensure!(elf::has_note(&unpacked, ".notes", "Xen", PVH_ENTRY)?, "no PVH entry");
    elf::loadable(&unpacked)
}

/// Returns $XDG_CACHE_HOME/iotax/kernels, or ~/.cache/iotax/kernels. `None` if neither
/// XDG_CACHE_HOME nor HOME is an absolute path.
pub fn cache_directory() -> Option<PathBuf> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(cache.join("iotax/kernels"))
}

/// Returns the kernel with the release `running` below `root`, else the newest one there with which
/// a guest can boot. Images are in boot/ or beside their modules (Fedora, Arch).
pub fn installed(root: &Path, running: &str) -> Option<Kernel> {
    let found = kernels_below(root, Origin::Installed);
    let newest = || found.iter().max_by(|a, b| compare_versions(&a.version, &b.version));
    found.iter().find(|kernel| kernel.version == running).or_else(newest).cloned()
}

pub fn cached(cache: &Path) -> Option<Kernel> {
    let kernels = entries(cache).into_iter().filter(|path| !is_hidden(path));
    kernels
        .flat_map(|path| kernels_below(&path, Origin::Cached))
        .max_by(|a, b| compare_versions(&a.version, &b.version))
}

/// Directories below a root that may contain modules: packages for a merged /usr have usr/lib.
const MODULES: &[&str] = &["lib/modules", "usr/lib/modules"];

/// Returns the kernels below `root` whose image can be read and whose modules suffice for a guest
/// to boot, one for each version.
fn kernels_below(root: &Path, origin: Origin) -> Vec<Kernel> {
    let mut kernels: Vec<Kernel> = Vec::new();
    for modules in MODULES.iter().flat_map(|part| entries(&root.join(part))) {
        let Some(version) = modules.file_name().and_then(|name| name.to_str()).map(str::to_owned)
        else {
            continue;
        };
        let images = [root.join(format!("boot/vmlinuz-{version}")), modules.join("vmlinuz")];
        // Ubuntu's images are readable by root only: opened, not merely looked for.
        let Some(image) = images.into_iter().find(|image| File::open(image).is_ok()) else {
            continue;
        };
        let known = kernels.iter().any(|kernel| kernel.version == version);
        if !known && Tree::open(&modules).is_ok_and(|tree| tree.can_boot()) {
            kernels.push(Kernel { version, image, modules, origin });
        }
    }
    kernels
}

/// Returns the paths of a folder's entries; empty if it cannot be read.
pub fn entries(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

pub fn is_hidden(path: &Path) -> bool {
    path.file_name().is_none_or(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Compares versions, numbers by value and the rest by letter: 6.1.0-9 is older than 6.1.0-56.
fn compare_versions(a: &str, b: &str) -> Ordering {
    let parts = |version: &str| -> Vec<(u64, String)> {
        let mut parts = vec![(0_u64, String::new())];
        for c in version.chars() {
            match (c.to_digit(10), parts.last_mut()) {
                (Some(digit), Some((number, text))) if text.is_empty() => {
                    *number = number.saturating_mul(10).saturating_add(u64::from(digit));
                }
                (Some(digit), _) => parts.push((u64::from(digit), String::new())),
                (None, Some((_, text))) => text.push(c),
                (None, None) => {}
            }
        }
        parts
    };
    parts(a).cmp(&parts(b))
}

/// Packages that depend on a kernel's package: Debian's, then Ubuntu's from the smallest.
const METAPACKAGES: &[&str] = &["linux-image-amd64", "linux-image-virtual", "linux-image-generic"];

/// Time limit to download a package of some 80 MB over a slow network, or to unpack it onto a slow
/// disk.
const FETCHES_WITHIN: Duration = Duration::from_secs(3600);

fn packages() -> Result<Vec<String>, String> {
    let lacks =
        |program: &str| output_of(Command::new(program).arg("--version"), ANSWERS_WITHIN).is_err();
    let none = "no kernel to boot a guest: none in /boot or beside its modules can be read and has virtio's";
    if lacks("apt-get") || lacks("dpkg-deb") {
        return Err(format!("{none}, and there is no apt-get to fetch one"));
    }
    let resolved =
        METAPACKAGES.iter().map(|meta| resolve(meta, &depends)).find(|found| !found.is_empty());
    // apt knows no package at all on a fresh system whose lists were never fetched.
    resolved.ok_or_else(|| format!("{none}, and apt knows no package with one"))
}

fn depends(package: &str) -> Vec<String> {
    let mut apt = Command::new("apt-cache");
    let output = output_of(apt.env("LC_ALL", "C").args(["depends", package]), ANSWERS_WITHIN);
    output.map(|output| parse_depends(&String::from_utf8_lossy(&output.stdout))).unwrap_or_default()
}

/// Returns the names in the lines `  Depends: NAME` and ` |Depends: NAME` (an alternative) of
/// apt-cache's output.
fn parse_depends(text: &str) -> Vec<String> {
    let names = text
        .lines()
        .filter_map(|line| line.trim_start().trim_start_matches('|').strip_prefix("Depends: "));
    names.map(str::to_owned).collect()
}

/// Returns the versioned packages on which a metapackage depends: of the image and, if they are
/// split off, of the modules. Empty if apt does not know it.
fn resolve(meta: &str, depends: &dyn Fn(&str) -> Vec<String>) -> Vec<String> {
    let (mut found, mut open) = (BTreeSet::new(), vec![meta.to_owned()]);
    while let Some(package) = open.pop() {
        for name in depends(&package) {
            if versioned(&name) && found.insert(name.clone()) {
                open.push(name);
            }
        }
    }
    found.into_iter().collect()
}

fn versioned(package: &str) -> bool {
    ["linux-image-", "linux-modules-", "linux-binary-"].iter().any(|prefix| {
        let version = package.strip_prefix(prefix).map(|rest| rest.trim_start_matches("unsigned-"));
        version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
    })
}

fn download(packages: &[String], cache: &Path) -> Result<Kernel> {
    std::fs::create_dir_all(cache).with_context(|| format!("cannot create {}", cache.display()))?;
    let lock_path = cache.join(".lock");
    let lock = File::create(&lock_path)
        .with_context(|| format!("cannot create {}", lock_path.display()))?;
    flock(&lock, FlockOperation::LockExclusive)
        .with_context(|| format!("cannot lock {}", lock_path.display()))?;
    if let Some(kernel) = cached(cache) {
        return Ok(kernel); // another process was here while we waited
    }
    remove_leftovers(cache);
    let fresh = tempfile::Builder::new()
        .prefix(".new-")
        .tempdir_in(cache)
        .with_context(|| format!("cannot create a directory in {}", cache.display()))?;
    fetch(packages, fresh.path())?;
    let root = fresh.path().join("root");
    unpack(fresh.path(), &root)?;
    let Some(kernel) = kernels_below(&root, Origin::Cached).pop() else {
        bail!("{} hold no kernel with virtio modules", packages.join(" and "));
    };
    prune(&root);
    let target = cache.join(&kernel.version);
    std::fs::rename(&root, &target)
        .with_context(|| format!("cannot move a kernel to {}", target.display()))?;
    cached(cache).with_context(|| format!("the kernel in {} vanished", target.display()))
}

/// Removes the unfinished folders (`.new-*`) of killed processes from a cache. The caller holds its
/// lock, so none is in use.
pub fn remove_leftovers(cache: &Path) {
    for path in entries(cache) {
        if path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".new-")) {
            // What cannot be removed is only in the way of space, not of us.
            let _ = std::fs::remove_dir_all(path);
        }
    }
}

fn fetch(packages: &[String], directory: &Path) -> Result<()> {
    // As root apt would give the directory to its own user _apt, and warn that it cannot. The time
    // limits make a dead mirror an error instead of a hang.
    let options = [
        "-oAPT::Sandbox::User=root",
        "-oAcquire::Retries=1",
        "-oAcquire::http::Timeout=30",
        "-oAcquire::https::Timeout=30",
    ];
    let mut apt = Command::new("apt-get");
    apt.args(["-q", "download"]).args(options).args(packages);
    run_packager(apt.current_dir(directory), "download the kernel package")
        .context("hint: if the package lists are old, apt-get update")
}

fn unpack(directory: &Path, root: &Path) -> Result<()> {
    let debs = entries(directory)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == "deb"));
    for deb in debs {
        run_packager(
            Command::new("dpkg-deb").arg("-x").arg(&deb).arg(root),
            "unpack the kernel package",
        )?;
    }
    Ok(())
}

fn run_packager(command: &mut Command, what: &str) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = output_of(command.env("LC_ALL", "C"), FETCHES_WITHIN)
        .with_context(|| format!("cannot {what}: cannot run {program}"))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    bail!(
        "cannot {what}: {program} ended with {}: {}",
        output.status,
        words.trim().replace('\n', "; ")
    )
}

/// Folders in a kernel's package with drivers for devices that no guest has: nearly half of the
/// package.
pub const PRUNED: &[&str] = &[
    "sound",
    "drivers/gpu",
    "drivers/media",
    "drivers/net/wireless",
    "drivers/iio",
    "drivers/staging",
    "drivers/hwmon",
    "drivers/hid",
];

fn prune(root: &Path) {
    // Whatever stays only takes space.
    for kernel in MODULES.iter().flat_map(|part| entries(&root.join(part))) {
        for part in PRUNED {
            let _ = std::fs::remove_dir_all(kernel.join("kernel").join(part));
        }
    }
    let _ = std::fs::remove_dir_all(root.join("usr/share"));
}

#[cfg(test)]
mod tests {
    use super::super::modules::tests::fake_tree;
    use super::*;

    const ALL: &str = "virtio_pci.ko\nvirtio_blk.ko\nvirtio_console.ko\n";

    fn kernel(root: &Path, version: &str, builtin: &str, image: &str) {
        fake_tree(&root.join("lib/modules").join(version), builtin, &[]);
        let image = root.join(image.replace('V', version));
        std::fs::create_dir_all(image.parent().unwrap()).unwrap();
        std::fs::write(image, "image").unwrap();
    }

    #[test]
    fn the_running_kernel_then_the_newest() {
        let root = tempfile::tempdir().unwrap();
        let version = |running| installed(root.path(), running).map(|kernel| kernel.version);
        assert_eq!(version("6.1.0-9"), None);
        kernel(root.path(), "6.1.0-9", ALL, "boot/vmlinuz-V");
        kernel(root.path(), "6.1.0-56", ALL, "boot/vmlinuz-V");
        assert_eq!(version("6.1.0-9").as_deref(), Some("6.1.0-9"));
        assert_eq!(version("5.10").as_deref(), Some("6.1.0-56"));
    }

    #[test]
    fn kernels_without_image_or_virtio_are_passed_over() {
        let root = tempfile::tempdir().unwrap();
        fake_tree(&root.path().join("lib/modules/6.9"), ALL, &[]);
        kernel(root.path(), "6.8", "virtio_pci.ko\n", "boot/vmlinuz-V");
        kernel(root.path(), "6.7", ALL, "lib/modules/V/vmlinuz");
        let found = installed(root.path(), "6.9").unwrap();
        assert_eq!(found.version, "6.7");
        assert_eq!(found.image, root.path().join("lib/modules/6.7/vmlinuz"));
    }

    #[test]
    fn the_cache_holds_roots_by_version_and_ignores_unfinished_ones() {
        let cache = tempfile::tempdir().unwrap();
        kernel(&cache.path().join(".new-x/root"), "9.9", ALL, "boot/vmlinuz-V");
        kernel(&cache.path().join(".new-x"), "9.8", ALL, "boot/vmlinuz-V");
        assert_eq!(cached(cache.path()), None);
        kernel(&cache.path().join("6.1"), "6.1", ALL, "boot/vmlinuz-V");
        let found = cached(cache.path()).unwrap();
        assert_eq!((found.version.as_str(), found.origin), ("6.1", Origin::Cached));
        remove_leftovers(cache.path());
        assert!(!cache.path().join(".new-x").exists());
        assert!(cached(cache.path()).is_some());
    }

    #[test]
    fn versions_compare_by_number() {
        assert_eq!(compare_versions("6.1.0-56-amd64", "6.1.0-9-amd64"), Ordering::Greater);
        assert_eq!(compare_versions("6.10.1", "6.9"), Ordering::Greater);
        assert_eq!(compare_versions("6.1", "6.1"), Ordering::Equal);
        assert_eq!(compare_versions("6.1-rc1", "6.1-rc2"), Ordering::Less);
        assert_eq!(compare_versions("", "99999999999999999999999.1"), Ordering::Less);
    }

    #[test]
    fn an_image_that_cannot_be_unpacked_boots_as_it_is() {
        let mut image = vec![0; 0x2000];
        assert_eq!(unpack_image(&image).unwrap_err().to_string(), "not a bzImage");
        assert_eq!(unpack_image(b"").unwrap_err().to_string(), "not a bzImage");
        image[0x202..0x206].copy_from_slice(b"HdrS");
        assert!(unpack_image(&image).unwrap_err().to_string().contains("not understood"));
        image[0x24c..0x250].fill(0xff);
        assert_eq!(unpack_image(&image).unwrap_err().to_string(), "its payload is cut off");
        let kernel = Kernel {
            version: "6".into(),
            image: "/none".into(),
            modules: "/none".into(),
            origin: Origin::Installed,
        };
        assert_eq!(bootable(&kernel, Accel::Tcg), kernel.image);
        assert_eq!(bootable(&kernel, Accel::Kvm), kernel.image);
    }

    #[test]
    fn metapackages_lead_to_image_and_modules() {
        let apt = |package: &str| {
            parse_depends(match package {
                "linux-image-amd64" => "linux-image-amd64\n  Depends: linux-image-6.1.0-56-amd64\n",
                "linux-image-6.1.0-56-amd64" => {
                    " |Depends: initramfs-tools\n  Depends: <linux-initramfs-tool>\n    dracut\n  Recommends: apparmor\n"
                }
                "linux-image-virtual" => {
                    "  Depends: linux-image-6.8.0-31-generic\n  Depends: linux-firmware\n"
                }
                "linux-image-6.8.0-31-generic" => {
                    "  Depends: kmod\n  Depends: linux-modules-6.8.0-31-generic\n"
                }
                _ => "",
            })
        };
        assert_eq!(resolve("linux-image-amd64", &apt), ["linux-image-6.1.0-56-amd64"]);
        assert_eq!(
            resolve("linux-image-virtual", &apt),
            ["linux-image-6.8.0-31-generic", "linux-modules-6.8.0-31-generic"]
        );
        assert!(resolve("linux-image-generic", &apt).is_empty());
    }

    #[test]
    fn a_package_that_does_not_exist_is_told_with_apts_words() {
        if Command::new("apt-get").arg("--version").output().is_err() {
            println!("skipped: needs apt-get");
            return;
        }
        let cache = tempfile::tempdir().unwrap();
        let failure =
            format!("{:#}", download(&["linux-image-0.0-none".into()], cache.path()).unwrap_err());
        assert!(
            failure.contains("Unable to locate package") && failure.contains("hint: "),
            "{failure}"
        );
        assert!(
            entries(cache.path()).iter().all(|path| path.ends_with(".lock")),
            "nothing is left behind"
        );
    }
}
