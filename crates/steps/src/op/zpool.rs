//! Makes a ZFS pool over several devices, and in it a volume, or a file system that another step
//! mounts.

use super::members::{about_to_write, today};
use crate::observer::Observer;
use crate::operation::{Operation, Own, Undoing};
use crate::resource::ManagedResource;
use anyhow::Result;
use iotax_drivers::drives::{Drives, left_on};
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::settings::ThingSettings;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_drivers::zfs::{self, PROPERTY, Pool};
use iotax_facts::array::ArrayState;
use iotax_units::{shell, size_word};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

const VOLUME: &str = "vol";
const DATASET: &str = "data";

/// Runs `zpool create` and `zfs create`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeZpool {
    pub name: String,
    pub members: Vec<PathRef>,
    pub vdev: Vdev,
    /// Base-2 logarithm of the smallest write to a member, in bytes.
    pub ashift: u32,
    /// Properties for all that is in the pool, such as `compression=lz4`.
    pub properties: Vec<String>,
    pub content: ZfsContent,
    /// Bytes of data whose deduplication table must fit in memory; `None` without deduplication.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dedup_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Drives::is_empty")]
    pub drives: Drives,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Vdev {
    Stripe,
    /// Mirrors of two members each. Blocks go to all mirrors in turn.
    Mirror,
    /// One group of all members, with the parity of one.
    Raidz,
    Raidz2,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ZfsContent {
    Zvol {
        bytes: u64,
        volblocksize: u64,
        /// True if no space in the pool is reserved for it.
        thin: bool,
    },
    /// File system, which this does not mount.
    Dataset { recordsize: u64 },
}

impl MakeZpool {
    fn pool<'a>(&'a self, tag: &'a RunTag) -> Result<Pool<'a>> {
        let members =
            self.members.iter().map(PathRef::resolved_path).collect::<Result<Vec<_>>>()?;
        Ok(Pool { run_id: &tag.run_id, name: &self.name, members })
    }

    fn volume(&self) -> Option<&'static str> {
        matches!(self.content, ZfsContent::Zvol { .. }).then_some(VOLUME)
    }

    /// Returns the name by which the file system is mounted, if the content is one.
    fn dataset(&self) -> PathBuf {
        Path::new(&self.name).join(DATASET)
    }

    fn commands(&self, run_id: &str, names: &[String]) -> Vec<Vec<String>> {
        // The guard has judged what the members carry.
        let mut pool = to_strings(&["zpool", "create", "-f", "-o"]);
        pool.extend([format!("ashift={}", self.ashift)]);
        // By default, a pool whose members fail would wait for ever, and so would its destruction.
        // This changes nothing about a healthy pool.
        pool.extend(to_strings(&[
            "-o",
            "cachefile=none",
            "-o",
            "failmode=continue",
            "-O",
            "mountpoint=none",
        ]));
        let tag = format!("{PROPERTY}={run_id}");
        pool.extend(
            self.properties
                .iter()
                .chain([&tag])
                .flat_map(|property| ["-O", property].map(str::to_owned)),
        );
        pool.push(self.name.clone());
        match self.vdev {
            Vdev::Stripe => pool.extend(names.iter().cloned()),
            Vdev::Mirror => {
                pool.extend(
                    names.chunks(2).flat_map(|pair| [&to_strings(&["mirror"]), pair].concat()),
                );
            }
            Vdev::Raidz => pool.extend([&to_strings(&["raidz1"]), names].concat()),
            Vdev::Raidz2 => pool.extend([&to_strings(&["raidz2"]), names].concat()),
        }
        vec![pool, self.create()]
    }

    fn create(&self) -> Vec<String> {
        let mut create = to_strings(&["zfs", "create"]);
        match &self.content {
            ZfsContent::Zvol { bytes, volblocksize, thin } => {
                create.extend(thin.then(|| "-s".to_owned()));
                create.extend(to_strings(&[
                    "-V",
                    &size_word(*bytes, bytes),
                    "-o",
                    &format!("volblocksize={volblocksize}"),
                ]));
                create.push(format!("{}/{VOLUME}", self.name));
            }
            ZfsContent::Dataset { recordsize } => {
                create.extend(to_strings(&[
                    "-o",
                    "mountpoint=legacy",
                    "-o",
                    &format!("recordsize={recordsize}"),
                ]));
                create.push(format!("{}/{DATASET}", self.name));
            }
        }
        create
    }

    fn names(&self) -> Vec<String> {
        self.members.iter().map(ToString::to_string).collect()
    }

    /// Returns the bytes of a block of the volume or of the dataset's records.
    pub fn block(&self) -> u64 {
        match self.content {
            ZfsContent::Zvol { volblocksize, .. } => volblocksize,
            ZfsContent::Dataset { recordsize } => recordsize,
        }
    }
}

fn to_strings(all: &[&str]) -> Vec<String> {
    all.iter().map(|word| (*word).to_owned()).collect()
}

impl Operation for MakeZpool {
    fn describe(&self) -> String {
        let commands = self.commands("RUN", &self.names());
        commands.iter().map(|words| words.join(" ")).collect::<Vec<_>>().join("; ")
    }

    fn commands_by_hand(&self, out: &str) -> Vec<String> {
        let mut lines: Vec<String> =
            self.commands("RUN", &self.names()).iter().map(shell::quote_line).collect();
        let made = self.dataset();
        let made = self
            .volume()
            .map_or(made, |volume| Path::new("/dev/zvol").join(&self.name).join(volume));
        lines.push(format!("{out}={}", shell::path(made)));
        lines
    }

    fn irreversible_effect(&self) -> Option<String> {
        Some(format!("all data on {} is lost", self.names().join(", ")))
    }

    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        self.members.iter_mut().collect()
    }

    fn observe(&mut self, machine: &dyn Observer) {
        self.drives = about_to_write(machine, &self.input_paths());
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        vec![Own::Named(&self.name)]
    }

    fn undo_summary(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        Some(Undoing::new("destroyed", format!("the pool {}", self.name)))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        Some(format!(
            "zpool destroy {}; for d in {}; do for p in $(lsblk -lnpo NAME,TYPE \"$d\" | awk '$2 == \"part\" {{ print $1 }}') \"$d\"; \
             do zpool labelclear -f \"$p\"; done; wipefs --all \"$d\"; done",
            shell::quote_word(&self.name),
            shell::quote_line(self.names())
        ))
    }
}

impl ManagedResource for MakeZpool {
    fn outlives_reboot(&self) -> bool {
        true
    }

    fn make_resource(&self, _: &mut RealSystem, tag: &RunTag) -> Result<StepOutput> {
        let pool = self.pool(tag)?;
        if let Some(bytes) = self.dedup_bytes {
            zfs::check_dedup_table(bytes, self.block(), zfs::arc_limit_here())?;
        }
        let name = |member: &&Path| member.canonicalize().map(|real| real.display().to_string());
        let names = pool.members.iter().map(name).collect::<std::io::Result<Vec<_>>>()?;
        let device = pool.create_pool(&self.commands(&tag.run_id, &names), self.volume())?;
        Ok(StepOutput::found_at(device.unwrap_or_else(|| self.dataset())))
    }

    fn find_resource(&self, tag: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        let found = today(self, &self.drives).0.pool(tag)?.find_pool(self.volume())?;
        let path = |device: Option<PathBuf>| match self.volume() {
            Some(_) => device,
            None => Some(self.dataset()),
        };
        Ok(found.map(|device| StepOutput { path: path(device), ..StepOutput::default() }))
    }

    fn remove_resource(&self, _: &mut RealSystem, tag: &RunTag, _: &StepOutput) -> Result<()> {
        let (today, others) = today(self, &self.drives);
        today.pool(tag)?.destroy_pool()?;
        left_on(&others)
    }

    fn resource_state(&self, _: &StepOutput) -> Result<Option<ArrayState>> {
        zfs::state::state_of(&self.name)
    }

    fn actual_settings(&self, _: &StepOutput) -> Result<ThingSettings> {
        let content = self.volume().unwrap_or(DATASET);
        zfs::state::settings_of(&self.name, &format!("{}/{content}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(vdev: Vdev, content: ZfsContent) -> String {
        let members = ["/dev/a", "/dev/b", "/dev/c", "/dev/d"]
            .map(|path| PathRef::Path(path.into()))
            .to_vec();
        let properties = to_strings(&["compression=lz4", "atime=off", "dedup=on"]);
        let name = "iotax-r-zfs0".to_owned();
        let make = MakeZpool {
            name,
            members,
            vdev,
            ashift: 12,
            properties,
            content,
            dedup_bytes: Some(1),
            drives: Drives::default(),
        };
        make.describe().replace("; ", "\n")
    }

    #[test]
    fn the_commands_of_every_kind_of_pool() {
        let zvol = |thin| ZfsContent::Zvol { bytes: 1 << 30, volblocksize: 16 << 10, thin };
        let all = [
            shown(Vdev::Stripe, zvol(true)),
            shown(Vdev::Mirror, zvol(false)),
            shown(Vdev::Raidz, ZfsContent::Dataset { recordsize: 128 << 10 }),
            shown(Vdev::Raidz2, zvol(true)),
        ];
        insta::assert_snapshot!(all.join("\n\n"));
    }
}
