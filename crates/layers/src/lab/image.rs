//! Manages root images in the cache. Each has a folder with the image and the record of its
//! contents.

use super::recipe;
use anyhow::{Context, Result};
use iotax_host::mounts;
use iotax_qemu::kernel;
use iotax_sys::regular::{LONGEST_TEXT, read_regular};
use iotax_units::exit::Failed;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const IMAGE: &str = "root.ext4";
const RECORD: &str = "image.json";
/// Prefix of the names of folders that are being made.
pub(super) const UNFINISHED: &str = ".new-";

/// Record of how an image was built and what is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageRecord {
    /// Name derived from recipe, release and kernel; also the folder's name.
    pub name: String,
    pub built: String,
    pub iotax: String,
    pub suite: String,
    /// The kernel whose modules the image has.
    pub kernel: String,
    pub zfs: ZfsModules,
    pub packages: BTreeMap<String, String>,
    /// Seconds that building took.
    pub seconds: u64,
}

/// Origin of ZFS's modules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ZfsModules {
    /// Compiled from this version of the source package.
    Compiled {
        version: String,
    },
    /// Supplied with the kernel.
    OfKernel,
    Lacks {
        why: String,
    },
}

impl std::fmt::Display for ZfsModules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ZfsModules::Compiled { version } => write!(f, "{version}, compiled for this kernel"),
            ZfsModules::OfKernel => write!(f, "with the kernel"),
            ZfsModules::Lacks { why } => write!(f, "none: {why}"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    pub folder: PathBuf,
    pub record: ImageRecord,
}

impl Image {
    pub fn path(&self) -> PathBuf {
        self.folder.join(IMAGE)
    }

    /// Returns the bytes that the image takes on disk, where holes take none; `None` if it cannot
    /// be looked at.
    pub fn bytes_on_disk(&self) -> Option<u64> {
        Some(self.path().metadata().ok()?.blocks() * 512)
    }

    /// Returns true if this program would build the same image for its release and kernel.
    pub fn is_of_our_recipe(&self) -> bool {
        recipe::image_name(&self.record.suite, &self.record.kernel) == self.record.name
    }

    fn read(folder: &Path) -> Result<Image> {
        let path = folder.join(RECORD);
        let text = read_regular(&path, LONGEST_TEXT)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let record = serde_json::from_slice(&text).with_context(|| {
            format!("{} is not what an image of this iotax says", path.display())
        })?;
        let image = Image { folder: folder.to_owned(), record };
        image
            .path()
            .metadata()
            .with_context(|| format!("cannot look at {}", image.path().display()))?;
        Ok(image)
    }

    pub(super) fn write_record(folder: &Path, record: ImageRecord) -> Result<()> {
        let path = folder.join(RECORD);
        std::fs::write(&path, serde_json::to_vec_pretty(&record)?)
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

/// Returns $XDG_CACHE_HOME/iotax/lab, or the same in ~/.cache; `None` when neither variable is an
/// absolute path.
pub fn cache_directory() -> Option<PathBuf> {
    Some(kernel::cache_directory()?.with_file_name("lab"))
}

/// Returns the image for a release and a kernel, if it is built.
pub fn current(suite: &str, kernel: &str) -> Option<Image> {
    Image::read(&cache_directory()?.join(recipe::image_name(suite, kernel))).ok()
}

/// Returns the folder of each image in the cache, with the image or the reason why it cannot be
/// read; sorted by name.
pub fn all_images(cache: &Path) -> Vec<(PathBuf, Result<Image>)> {
    let mut folders = kernel::entries(cache);
    folders.retain(|path| path.is_dir() && !kernel::is_hidden(path));
    folders.sort();
    folders.into_iter().map(|folder| (folder.clone(), Image::read(&folder))).collect()
}

/// Removes all images of the cache except that in the folder `kept`, and everything that a killed
/// build left. Returns the removed folders. A lab that runs on one of them keeps its image until it
/// ends.
///
/// # Errors
/// A failed measurement: an image is being built, or something is mounted where a build was killed.
/// Also fails if the lock cannot be taken or a folder cannot be removed.
pub fn remove_others(cache: &Path, kept: Option<&Path>) -> Result<Vec<PathBuf>> {
    let Some(_lock) = lock(cache)? else {
        return Err(Failed::measurement("another iotax builds an image; hint: wait for it").into());
    };
    remove_leftovers(cache)?;
    let mut removed = Vec::new();
    for (folder, _) in
        all_images(cache).into_iter().filter(|(folder, _)| Some(folder.as_path()) != kept)
    {
        std::fs::remove_dir_all(&folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
        removed.push(folder);
    }
    Ok(removed)
}

/// Removes what a killed build left. The caller holds the lock, so no folder is in use. A mount
/// there, whatever made it, is not ours to remove.
///
/// # Errors
/// A failed measurement: something is mounted there. Also fails if the mounts cannot be read.
pub(super) fn remove_leftovers(cache: &Path) -> Result<()> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo")
        .context("cannot read /proc/self/mountinfo")?;
    if let Some(place) = mounted_below(&mounts, &cache.join(UNFINISHED)) {
        let place = place.display();
        let why = format!(
            "something is mounted at {place}, where a build was killed; hint: umount {place}"
        );
        return Err(Failed::measurement(why).into());
    }
    kernel::remove_leftovers(cache);
    Ok(())
}

/// Returns the mount point that begins with `prefix`, if there is one.
fn mounted_below(mounts: &str, prefix: &Path) -> Option<PathBuf> {
    let prefix = prefix.as_os_str().as_encoded_bytes();
    let points = mounts::parse(mounts).into_iter().map(|mount| mount.point);
    points.into_iter().find(|point| point.as_os_str().as_encoded_bytes().starts_with(prefix))
}

/// Lock on the cache, held while this value lives.
#[derive(Debug)]
pub(super) struct CacheLock(File);

impl Drop for CacheLock {
    fn drop(&mut self) {
        // A program that another thread starts at this moment has the file open until its own
        // begins: closing alone would not release the lock.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// Takes the lock that is held while an image is built; `None`: another process builds one.
///
/// # Errors
/// When the cache cannot be made or the kernel refuses.
pub(super) fn lock(cache: &Path) -> Result<Option<CacheLock>> {
    std::fs::create_dir_all(cache).with_context(|| format!("cannot create {}", cache.display()))?;
    let path = cache.join(".lock");
    let file = File::create(&path).with_context(|| format!("cannot create {}", path.display()))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(CacheLock(file))),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot lock {}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str) -> ImageRecord {
        ImageRecord {
            name: name.into(),
            built: "2026-11-23T01:00:00Z".into(),
            iotax: "0.1.0".into(),
            suite: "bookworm".into(),
            kernel: "6.1.0-56-amd64".into(),
            zfs: ZfsModules::Lacks { why: "no headers".into() },
            packages: BTreeMap::from([("mdadm".into(), "4.2-5".into())]),
            seconds: 300,
        }
    }

    #[test]
    fn only_a_whole_image_is_one() {
        let cache = tempfile::tempdir().unwrap();
        let name = recipe::image_name("bookworm", "6.1.0-56-amd64");
        let folder = |name: &str| {
            let folder = cache.path().join(name);
            std::fs::create_dir(&folder).unwrap();
            folder
        };
        let (good, torn) = (folder(&name), folder("torn"));
        Image::write_record(&good, record(&name)).unwrap();
        assert!(Image::read(&good).is_err(), "no image in it");
        std::fs::write(good.join(IMAGE), "x").unwrap();
        std::fs::write(torn.join(RECORD), "{}").unwrap();
        folder(".new-x");
        let found = all_images(cache.path());
        let told: Vec<_> =
            found.iter().map(|(_, image)| image.as_ref().ok().map(|image| &image.record)).collect();
        assert_eq!(told.len(), 2);
        assert!(told.contains(&Some(&record(&name))) && told.contains(&None), "{told:?}");
        let image = found.into_iter().find_map(|(_, image)| image.ok()).unwrap();
        assert!(image.is_of_our_recipe());
        let other = Image {
            record: ImageRecord { kernel: "6.1.0-57-amd64".into(), ..image.record.clone() },
            ..image
        };
        assert!(!other.is_of_our_recipe());
    }

    #[test]
    fn what_is_mounted_in_a_cache_with_a_blank_in_its_name_is_seen() {
        let line = r"36 35 0:9 / /home/a\040b/lab/.new-x/proc rw - proc proc rw";
        let found = |cache: &str| mounted_below(line, &Path::new(cache).join(UNFINISHED));
        assert_eq!(found("/home/a b/lab"), Some("/home/a b/lab/.new-x/proc".into()));
        assert_eq!(found("/home/a/lab"), None);
    }

    #[test]
    fn two_do_not_build_at_once() {
        let cache = tempfile::tempdir().unwrap();
        let held = lock(cache.path()).unwrap();
        assert!(held.is_some());
        assert!(lock(cache.path()).unwrap().is_none());
    }
}
