//! Wipes those signatures on a member that the user has named, before a layer is set up on it. The
//! tools for arrays, volume groups and pools refuse a member that carries one, and the next boot
//! could assemble an old array from it.

use crate::operation::Operation;
use crate::resource::ResourceChange;
use anyhow::{Context, Result, bail};
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::system::RealSystem;
use iotax_drivers::tool::{run_tool, settle, tool};
use iotax_host::block;
use iotax_host::guard::admit::claim_device;
use iotax_host::guard::signature::{self, uberblocks};
use iotax_host::probe::Probe;
use iotax_units::shell;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WipeSignatures {
    pub device: PathRef,
    pub names: Vec<String>,
}

impl WipeSignatures {
    /// Returns the types for wipefs. With a GPT, wipes its protective MBR (`PMBR`), too.
    fn types(&self) -> String {
        let more = self.names.iter().any(|name| name == "gpt").then_some("PMBR");
        self.names.iter().map(String::as_str).chain(more).collect::<Vec<_>>().join(",")
    }
}

impl ResourceChange for WipeSignatures {
    fn apply_change(&self, _: &mut RealSystem) -> Result<()> {
        let path = self.device.resolved_path()?;
        settle();
        // A signature within a partition would be found again in a new one at the same place.
        partitions(path)?.iter().try_for_each(|part| self.wipe(part))?;
        self.wipe(path)
    }
}

impl WipeSignatures {
    /// Wipes the signatures on one device and checks that they are gone. Fails while somebody uses
    /// the device, which wipefs opens exclusively.
    fn wipe(&self, path: &Path) -> Result<()> {
        run_tool(tool("wipefs", ["--all", "--quiet", "--types", &self.types()]).arg(path))?;
        if self.names.iter().any(|name| name == "zfs_member") {
            zero_uberblocks(path).with_context(|| format!("cannot wipe {}", path.display()))?;
        }
        settle();
        let left: Vec<String> = signature::names_on(path)?
            .into_iter()
            .filter(|name| self.names.iter().any(|given| given.eq_ignore_ascii_case(name)))
            .collect();
        if !left.is_empty() {
            bail!(
                "{} carries {} still, which wipefs does not know; hint: zero its first and last MiB by hand",
                path.display(),
                left.join(", ")
            );
        }
        Ok(())
    }
}

fn partitions(device: &Path) -> Result<Vec<PathBuf>> {
    let meta = std::fs::metadata(device)
        .with_context(|| format!("cannot look at {}", device.display()))?;
    let probe = Probe::of_files(Path::new("/"));
    let disk = block::node_by_number(&probe, meta.rdev());
    let parts = disk.iter().flat_map(|disk| block::partitions(&probe, disk));
    Ok(parts.map(|part| block::node_path(&part)).collect())
}

/// Zeroes the uberblocks of a ZFS label. wipefs leaves a few, from which `zpool import` still makes
/// a pool.
fn zero_uberblocks(path: &Path) -> Result<()> {
    let _hold = claim_device(path)?;
    let mut device = File::options().write(true).open(path)?;
    let bytes = device.seek(SeekFrom::End(0))?;
    for ring in uberblocks(bytes) {
        device.write_all_at(&vec![0; (ring.end - ring.start) as usize], ring.start)?;
    }
    device.sync_all().context("it does not keep what was written")
}

impl Operation for WipeSignatures {
    fn describe(&self) -> String {
        format!("wipefs --all --types {} {}, its partitions first", self.types(), self.device)
    }

    fn commands_by_hand(&self, _: &str) -> Vec<String> {
        let device = shell::quote_word(&self.device.to_string());
        vec![format!("wipefs --all --types {} {device}", shell::quote_word(&self.types()))]
    }

    fn irreversible_effect(&self) -> Option<String> {
        Some(format!("what {} has of {} is lost", self.device, self.names.join(", ")))
    }

    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        vec![&mut self.device]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_host::guard::rig::Loop;
    use std::process::Command;

    fn wipe(path: &Path, names: &[&str]) -> Result<()> {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        let wipe = WipeSignatures { device: PathRef::Path(path.to_owned()), names };
        wipe.apply_change(&mut RealSystem::default())
    }

    #[test]
    fn what_was_given_up_is_gone_and_what_was_not_stays() {
        let Some(device) = Loop::with_size(64 << 20) else {
            return;
        };
        let made = Command::new("mkfs.ext4").arg("-q").arg(&device.path).status().unwrap();
        assert!(made.success());
        wipe(&device.path, &["gpt", "linux_raid_member"]).unwrap();
        assert_eq!(signature::names_on(&device.path).unwrap(), ["ext4"]);
        wipe(&device.path, &["ext4"]).unwrap();
        assert_eq!(signature::names_on(&device.path).unwrap(), [""; 0]);
    }

    #[test]
    fn what_wipefs_does_not_know_is_told_and_left() {
        let Some(device) = Loop::with_size(4 << 20) else {
            return;
        };
        let mut image = b"QFI\xfb".to_vec();
        image.resize(4096, 0);
        std::fs::write(&device.path, image).unwrap();
        let error = wipe(&device.path, &["qcow2"]).unwrap_err().to_string();
        assert!(error.contains("carries qcow2 still"), "{error}");
    }
}
