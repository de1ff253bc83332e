//! Somebody else's guest: a disk image with its own kernel and operating system. The image is only
//! read, as QEMU writes into a temporary overlay. An image that no firmware could start, or that is
//! itself under test, is refused before anything starts.

pub use iotax_qemu::system_image::{Format, SystemImage};

use anyhow::Result;
use iotax_host::block::devnum;
use iotax_model::scenario::Scenario;
use iotax_model::stack::{LayerSpec, Medium};
use iotax_units::exit::Failed;
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub type Images = BTreeMap<PathBuf, SystemImage>;

/// Returns the disk image that a guest boots from (`image=`); `None` if its system is ours.
pub fn wanted(spec: &LayerSpec) -> Option<&Path> {
    spec.option("image").map(Path::new)
}

/// Returns all images that guests of a scenario boot from, by path, after checking them.
///
/// # Errors
/// Bad input: an image that is not there, cannot be read or started, or is under test itself.
pub fn inspect_images(scenario: &Scenario) -> Result<Images> {
    let mut images = Images::new();
    for spec in scenario.stacks.iter().flat_map(|stack| &stack.layers) {
        let Some(path) = wanted(spec) else { continue };
        let refuse = |why: String| {
            Failed::input(format!("{}: image {}: {why}", spec.origin, path.display()))
        };
        let image = inspect_image(path).map_err(refuse)?;
        let mut media = scenario.stacks.iter().flat_map(|stack| stack.medium.members());
        if let Some(medium) = media.find(|medium| is_under_test(path, medium)) {
            let why = format!(
                "it is under test itself, as {}; hint: measure another file",
                medium.medium_text()
            );
            return Err(refuse(why).into());
        }
        images.insert(path.to_owned(), image);
    }
    Ok(images)
}

/// First bytes and names of image formats that are refused.
const MAGICS: &[(&[u8], &str)] = &[
    (b"KDMV", "VMDK"),
    (b"vhdxfile", "VHDX"),
    (b"conectix", "VHD"),
    (b"<<< ", "VDI"),
    (b"QED\0", "QED"),
];

/// Size of a sector in bytes.
const SECTOR: usize = 512;
/// Last two bytes of the first sector of a disk with a boot sector or a partition table (MBR or
/// GPT).
const SECTOR_END: [u8; 2] = [0x55, 0xaa];

fn inspect_image(path: &Path) -> Result<SystemImage, String> {
    const HINT: &str = "hint: name the file of a disk, raw or qcow2";
    let is = std::fs::metadata(path).map_err(|error| format!("{error}; {HINT}"))?;
    if !is.is_file() {
        let what = if is.is_dir() { "a directory" } else { "no file" };
        return Err(format!("it is {what}; {HINT}"));
    }
    let mut first = Vec::with_capacity(SECTOR);
    let read = File::open(path).and_then(|file| file.take(SECTOR as u64).read_to_end(&mut first));
    read.map_err(|error| format!("cannot read it: {error}"))?;
    Ok(SystemImage { path: path.to_owned(), format: format_of(&first)? })
}

fn format_of(first: &[u8]) -> Result<Format, String> {
    if first.starts_with(b"QFI\xfb") {
        return Ok(Format::Qcow2);
    }
    if let Some((_, name)) = MAGICS.iter().find(|(magic, _)| first.starts_with(magic)) {
        return Err(format!(
            "it is a {name} image; hint: qemu-img convert -O qcow2 makes one that fits"
        ));
    }
    match first.get(SECTOR - 2..SECTOR) {
        Some(end) if end == SECTOR_END => Ok(Format::Raw),
        _ => Err("it is neither qcow2 nor a disk that can be started: its first sector is no boot sector \
                  and no partition table"
            .into()),
    }
}

fn is_under_test(image: &Path, medium: &Medium) -> bool {
    let (Medium::File { path, .. } | Medium::Device { path }) = medium else { return false };
    let (Ok(image_is), Ok(medium_is)) = (std::fs::metadata(image), std::fs::metadata(path)) else {
        return false;
    };
    let same = (image_is.dev(), image_is.ino()) == (medium_is.dev(), medium_is.ino());
    same || is_loop_over(&medium_is, image)
}

/// Returns true if a device is a loop device over that file, or a partition of one.
fn is_loop_over(device: &Metadata, file: &Path) -> bool {
    let folder = Path::new("/sys/dev/block").join(devnum(device.rdev()));
    let backing = ["loop/backing_file", "../loop/backing_file"].map(|name| folder.join(name));
    let path = backing.iter().find_map(|name| std::fs::read_to_string(name).ok());
    path.is_some_and(|path| {
        file.canonicalize().is_ok_and(|own| own == Path::new(path.trim_end_matches('\n')))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_model::scenario::check::{ScenarioRequest, from_arguments};

    fn boot_sector() -> Vec<u8> {
        let mut sector = vec![0; SECTOR - 2];
        sector.extend(SECTOR_END);
        sector
    }

    #[test]
    fn the_format_is_what_the_first_bytes_say() {
        assert_eq!(format_of(&boot_sector()), Ok(Format::Raw));
        assert_eq!(format_of(b"QFI\xfb\0\0\0\x03"), Ok(Format::Qcow2));
        assert!(format_of(b"KDMV\x01").unwrap_err().contains("VMDK image; hint: qemu-img convert"));
        assert!(format_of(&[0; SECTOR]).unwrap_err().contains("no boot sector"));
        assert!(format_of(b"short").is_err());
    }

    #[test]
    fn what_cannot_be_booted_or_is_under_test_is_told_with_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        std::fs::write(at("disk"), boot_sector()).unwrap();
        std::os::unix::fs::symlink(at("disk"), at("link")).unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        let refused = |file: &str, image: &str| {
            let stack = format!("file:{},size=1MiB | vm(image={})", at(file), at(image));
            let scenario = from_arguments(&[stack], &ScenarioRequest::default()).unwrap();
            inspect_images(&scenario).map_err(|error| {
                assert_eq!(iotax_units::exit::code_of(&error), iotax_units::exit::BAD_INPUT);
                error.to_string().replace(folder.path().to_str().unwrap(), "")
            })
        };
        let images = refused("x", "disk").unwrap();
        assert_eq!(images[Path::new(&at("disk"))].format, Format::Raw);
        insta::assert_snapshot!(
            [("x", "none"), ("x", "folder"), ("disk", "disk"), ("link", "disk")]
                .map(|(file, image)| refused(file, image).unwrap_err())
                .join("\n")
        );
    }
}
