//! ZFS, as far as one pool of a run goes: here it is made, found and taken away, `state` has what becomes of its members, `arc`
//! the limit of ZFS's cache. The pool is in nobody's cache file, so that no other
//! boot imports it, and carries the run's id as a property. Of a whole disk zpool makes a partition table first: that is taken
//! away with the labels, so that the member is free again.

mod arc;
pub mod state;

pub use arc::{ArcLimit, check_ddt};

use super::system::{NotOurs, NothingMade, run, wait_until};
use super::tool::{await_orphans, load_modules, settle, tool};
use anyhow::{Context, Result, anyhow};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The pool's property with the run's id.
pub const PROPERTY: &str = "iotax:run";
/// Type of the partition that zpool makes of a whole disk.
const PARTITION_TYPE: &str = "6a898cc3-1dd2-11b2-99a6-080020736631";

/// A pool and its members.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool<'a> {
    /// The run.
    pub run_id: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Devices as they were named.
    pub members: Vec<&'a Path>,
}

/// What is seen of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Trace {
    /// The member.
    device: PathBuf,
    /// It or its partition, where a label of ours is.
    labelled: Vec<PathBuf>,
    /// It has a partition table as zpool makes them, with a label of ours in it or none.
    partitioned: bool,
}

impl Pool<'_> {
    /// Makes the pool and what is in it by these commands, and gives the volume's device, if it is one.
    ///
    /// # Errors
    /// What zpool or zfs says. A name that is taken is somebody else's: then nothing was made.
    pub fn make(&self, commands: &[Vec<String>], volume: Option<&str>) -> Result<Option<PathBuf>> {
        load()?;
        if self.is_imported()? {
            return Err(anyhow!("there is a pool {} already", self.name).context(NothingMade));
        }
        for words in commands {
            let [program, rest @ ..] = words.as_slice() else { continue };
            run(&mut tool(program, rest))?;
        }
        volume.map(|volume| self.device(volume)).transpose()
    }

    /// udev makes the link some time after the device.
    fn device(&self, volume: &str) -> Result<PathBuf> {
        let link = self.link(volume);
        // Where there is no udev there will be no link either, which is what is told.
        settle();
        wait_until(Duration::from_secs(10), || link.exists())
            .with_context(|| format!("{} does not appear; hint: udev makes it", link.display()))?;
        link.canonicalize().with_context(|| format!("cannot look at {}", link.display()))
    }

    fn link(&self, volume: &str) -> PathBuf {
        Path::new("/dev/zvol").join(self.name).join(volume)
    }

    /// Whether anything of it is there, with the volume's device if it has come to that.
    ///
    /// # Errors
    /// When zpool cannot be asked.
    pub fn find(&self, volume: Option<&str>) -> Result<Option<Option<PathBuf>>> {
        await_orphans(&["zpool", "zfs"], &[self.name])?;
        let there = self.is_imported()? || self.traces().iter().any(|trace| trace.is_ours());
        Ok(there.then(|| volume.and_then(|volume| self.link(volume).canonicalize().ok())))
    }

    /// Destroys it, and takes what is left of it off the members; what is gone is fine.
    ///
    /// # Errors
    /// [`NotOurs`] when a pool of that name is not of this run; what zpool says, when something is in use.
    pub fn unmake(&self) -> Result<()> {
        await_orphans(&["zpool", "zfs"], &[self.name])?;
        if self.is_imported()? {
            self.must_be_ours()?;
            let mut last = None;
            // Whoever looks at new devices (udev) may have one open for a moment.
            let destroyed = wait_until(Duration::from_secs(10), || {
                last = run(&mut tool("zpool", ["destroy", self.name])).err();
                last.is_none()
            });
            destroyed
                .map_err(|_| last.unwrap_or_else(|| anyhow!("cannot destroy the pool {}", self.name)))?;
        }
        let traces: Vec<Trace> = self.traces().into_iter().filter(Trace::is_ours).collect();
        if traces.iter().any(|trace| !trace.labelled.is_empty()) {
            load()?;
        }
        traces.iter().try_for_each(Trace::wipe)
    }

    /// A pool that a name finds may have been made by somebody who took it.
    fn must_be_ours(&self) -> Result<()> {
        let told = run(&mut tool("zfs", ["get", "-H", "-o", "value", PROPERTY, self.name]))?;
        match told.trim() == self.run_id {
            true => Ok(()),
            false => Err(NotOurs(format!(
                "the pool {} is not of the run {}: it says {}; left alone",
                self.name,
                self.run_id,
                told.trim()
            ))
            .into()),
        }
    }

    /// Without its module ZFS has no pool.
    fn is_imported(&self) -> Result<bool> {
        if !Path::new("/sys/module/zfs").exists() {
            return Ok(false);
        }
        let names = run(&mut tool("zpool", ["list", "-H", "-o", "name"]))?;
        Ok(names.lines().any(|name| name == self.name))
    }

    /// Of members that are there: after a reboot a loop device is not, and takes all of ours along.
    fn traces(&self) -> Vec<Trace> {
        self.members
            .iter()
            .filter_map(|member| member.canonicalize().ok())
            .map(|real| self.trace(real))
            .collect()
    }

    fn trace(&self, device: PathBuf) -> Trace {
        let first = first_partition(&device).filter(|part| is_zpools(&said_by_blkid(part)));
        let at = first.clone().unwrap_or_else(|| device.clone());
        let label = label_of(&at);
        let ours = label.as_deref() == Some(self.name);
        Trace {
            labelled: ours.then_some(at).into_iter().collect(),
            partitioned: first.is_some() && (ours || label.is_none()),
            device,
        }
    }
}

impl Trace {
    fn is_ours(&self) -> bool {
        self.partitioned || !self.labelled.is_empty()
    }

    fn wipe(&self) -> Result<()> {
        for device in &self.labelled {
            run(tool("zpool", ["labelclear", "-f"]).arg(device))?;
        }
        if self.partitioned {
            run(tool("wipefs", ["--all", "--quiet", "--types", "gpt,PMBR"]).arg(&self.device))?;
        }
        Ok(())
    }
}

/// Loads the module, which zpool does by itself not everywhere.
fn load() -> Result<()> {
    load_modules(&["zfs"])?;
    wait_until(Duration::from_secs(10), || Path::new("/dev/zfs").exists()).context("/dev/zfs does not appear")
}

/// The partition with the number 1 of a disk, where it has one.
fn first_partition(device: &Path) -> Option<PathBuf> {
    let name = device.file_name()?;
    let parts = fs::read_dir(Path::new("/sys/class/block").join(name)).ok()?.flatten();
    let is_first = |part: &fs::DirEntry| {
        fs::read_to_string(part.path().join("partition")).is_ok_and(|number| number.trim() == "1")
    };
    let mut first = parts.filter(is_first);
    first.next().map(|part| Path::new("/dev").join(part.file_name()))
}

fn said_by_blkid(part: &Path) -> String {
    // What it does not know it has no words for, and ends with 2.
    run(tool("blkid", ["-p", "-o", "export"]).arg(part)).unwrap_or_default()
}

/// Whether a partition is one that zpool makes of a whole disk.
fn is_zpools(blkid: &str) -> bool {
    let has = |wanted: &str| blkid.lines().any(|line| line.to_ascii_lowercase().starts_with(wanted));
    has("part_entry_name=zfs-") && has(&format!("part_entry_type={PARTITION_TYPE}"))
}

/// The pool whose label is there. `zdb` reads it past the kernel, and ends with 2 where there is none.
fn label_of(device: &Path) -> Option<String> {
    let told = run(tool("zdb", ["-l"]).arg(device)).ok()?;
    pool_of_label(&told)
}

/// `    name: 'tank'`
fn pool_of_label(text: &str) -> Option<String> {
    let name = text.lines().find_map(|line| line.trim().strip_prefix("name: '")?.strip_suffix('\''));
    name.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As blkid 2.38 told of a partition of a pool's member, after its label was cleared.
    const PARTITION: &str = "DEVNAME=/dev/nvme0n1p1\nPART_ENTRY_SCHEME=gpt\nPART_ENTRY_NAME=zfs-616c279aa4584a9b\n\
                             PART_ENTRY_UUID=2c576a51-66a5-9a42-837b-b4511118772e\n\
                             PART_ENTRY_TYPE=6a898cc3-1dd2-11b2-99a6-080020736631\nPART_ENTRY_NUMBER=1\n";

    #[test]
    fn the_partition_of_a_whole_disk_is_known_by_its_name_and_type() {
        assert!(is_zpools(PARTITION));
        assert!(!is_zpools(&PARTITION.replace("NAME=zfs-", "NAME=home")));
        assert!(!is_zpools(&PARTITION.replace("6a898cc3", "0fc63daf")));
        assert!(!is_zpools(""));
    }

    /// As zdb 2.1 told of a pool that was destroyed.
    #[test]
    fn a_label_names_its_pool() {
        let label = "------------------------------------\nLABEL 0 \n------------------------------------\n    version: 5000\n    \
                     name: 'iotax-r-zfs0'\n    state: 2\n    txg: 50\n    hostname: '(none)'\n";
        assert_eq!(pool_of_label(label).as_deref(), Some("iotax-r-zfs0"));
        assert_eq!(pool_of_label("failed to unpack label 0\n"), None);
    }

    #[test]
    fn a_pool_of_members_that_are_gone_is_gone() {
        if Path::new("/sys/module/zfs").exists() {
            return crate::guard::rig::skip("a machine without ZFS");
        }
        let pool = Pool { run_id: "r", name: "iotax-r-zfs0", members: vec![Path::new("/dev/no-such")] };
        assert_eq!(pool.find(Some("vol")).unwrap(), None);
        pool.unmake().unwrap();
    }
}
