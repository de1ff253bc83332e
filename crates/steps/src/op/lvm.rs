//! Makes an LVM volume group over several devices, and the volume in it: linear, striped, thin or
//! cached.

use super::members::{about_to_write, today};
use crate::observer::Observer;
use crate::operation::{Operation, Own, Undoing};
use crate::resource::ManagedResource;
use anyhow::Result;
use iotax_drivers::drives::{Drives, held_is_lost, left_on};
use iotax_drivers::lvm::{self, VOLUME, VolumeGroup};
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::settings::ThingSettings;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_units::{KIB, shell, size_word};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Bytes of an extent. Every size in LVM is a multiple of it.
pub const EXTENT: u64 = 4 << 20;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeLvm {
    pub name: String,
    /// Devices of the group. For a cache, the last one is the fast one.
    pub members: Vec<PathRef>,
    /// Bytes of each member that are used.
    pub member_bytes: u64,
    pub volume: LvmVolume,
    #[serde(default, skip_serializing_if = "Drives::is_empty")]
    pub drives: Drives,
}

/// Kind of volume. Lengths are in extents of 4 MiB.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum LvmVolume {
    Linear {
        extents: u64,
    },
    Striped {
        extents: u64,
        stripes: Stripes,
    },
    /// Thin volume in a pool for it alone.
    Thin {
        extents: u64,
        pool_extents: u64,
        metadata_extents: u64,
        /// Stripes of the pool's data over the members; `None` if the data are linear.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stripes: Option<Stripes>,
        /// Bytes of a chunk, which is allocated as a whole.
        chunk_size: u64,
        /// True if a chunk is zeroed when it is allocated.
        zero: bool,
    },
    /// Volume on all members but the last, with a cache on the last.
    Cache {
        extents: u64,
        /// Length of the cache, including its metadata.
        cache_extents: u64,
        mode: String,
        /// Bytes of a chunk, which is cached as a whole.
        chunk_size: u64,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stripes {
    pub count: u64,
    /// Bytes of a chunk.
    pub size: u64,
}

impl MakeLvm {
    fn group<'a>(&'a self, tag: &'a RunTag) -> Result<VolumeGroup<'a>> {
        let members =
            self.members.iter().map(PathRef::resolved_path).collect::<Result<Vec<_>>>()?;
        Ok(VolumeGroup { run_id: &tag.run_id, name: &self.name, members })
    }

    /// Returns the arguments of each `lvm` call that makes the volumes in the group. Only a cache
    /// uses `slow`, the members for its data, and `fast`, the member for the cache itself.
    fn commands(&self, slow: &[String], fast: &[String]) -> Vec<Vec<String>> {
        let group = self.name.as_str();
        let volume = |kind: &str, extents: u64, name: &str| {
            lvm_words(&["lvcreate", "--type", kind, "--wipesignatures", "n", "--zero", "y"])
                .with_args(&["--extents", &size_word(extents * EXTENT, extents), "--name", name])
        };
        match &self.volume {
            LvmVolume::Linear { extents } => {
                vec![volume("linear", *extents, VOLUME).with_args(&[group]).0]
            }
            LvmVolume::Striped { extents, stripes } => {
                vec![
                    volume("striped", *extents, VOLUME)
                        .with_args(&stripes.words())
                        .with_args(&[group])
                        .0,
                ]
            }
            LvmVolume::Thin {
                extents,
                pool_extents,
                metadata_extents,
                stripes,
                chunk_size,
                zero,
            } => {
                let pool =
                    lvm_words(&["lvcreate", "--type", "thin-pool", "--poolmetadataspare", "n"])
                        .with_args(&["--extents", &size_word(pool_extents * EXTENT, pool_extents)])
                        .with_args(&[
                            "--poolmetadatasize",
                            &format!("{}b", metadata_extents * EXTENT),
                        ])
                        .with_args(&[
                            "--chunksize",
                            &kib(*chunk_size),
                            "--zero",
                            if *zero { "y" } else { "n" },
                        ])
                        .with_args(&stripes.iter().flat_map(Stripes::words).collect::<Vec<_>>())
                        .with_args(&["--name", "pool", group]);
                let bytes = size_word(extents * EXTENT, format!("{}b", extents * EXTENT));
                let thin = lvm_words(&["lvcreate", "--type", "thin", "--virtualsize", &bytes])
                    .with_args(&["--thinpool", "pool", "--name", VOLUME, group]);
                vec![pool.0, thin.0]
            }
            LvmVolume::Cache { extents, cache_extents, mode, chunk_size } => {
                let origin = volume("linear", *extents, VOLUME).with_args(&[group]).with_args(slow);
                let cache =
                    volume("linear", *cache_extents, "fast").with_args(&[group]).with_args(fast);
                let join = lvm_words(&[
                    "lvconvert",
                    "--type",
                    "cache",
                    "--cachevol",
                    "fast",
                    "--cachemode",
                    mode,
                ])
                .with_args(&[
                    "--chunksize",
                    &kib(*chunk_size),
                    &format!("{group}/{VOLUME}"),
                ]);
                vec![origin.0, cache.0, join.0]
            }
        }
    }

    /// Returns the arguments of each `lvm` call that makes the volumes in the group, whose members
    /// have these names.
    fn commands_on(&self, names: &[String]) -> Vec<Vec<String>> {
        let (slow, fast) = names.split_at(names.len().saturating_sub(1));
        self.commands(slow, fast)
    }
}

impl Stripes {
    fn words(&self) -> Vec<String> {
        let all = ["--stripes", &self.count.to_string(), "--stripesize", &kib(self.size)];
        all.map(str::to_owned).to_vec()
    }
}

/// Formats bytes in LVM's unit `k`, which is 1024 bytes.
fn kib(bytes: u64) -> String {
    format!("{}k", bytes / KIB)
}

struct LvmWords(Vec<String>);

fn lvm_words(all: &[&str]) -> LvmWords {
    LvmWords(Vec::new()).with_args(all)
}

impl LvmWords {
    fn with_args(mut self, more: &[impl AsRef<str>]) -> LvmWords {
        self.0.extend(more.iter().map(|word| word.as_ref().to_owned()));
        self
    }
}

impl Operation for MakeLvm {
    fn describe(&self) -> String {
        let names: Vec<String> = self.members.iter().map(ToString::to_string).collect();
        let group = format!("pvcreate and vgcreate {} {}", self.name, names.join(" "));
        let commands = self.commands_on(&names);
        let lines = commands.iter().map(|words| words.join(" "));
        std::iter::once(group).chain(lines).collect::<Vec<_>>().join("; ")
    }

    fn commands_by_hand(&self, out: &str) -> Vec<String> {
        let names: Vec<String> = self.members.iter().map(ToString::to_string).collect();
        let size = size_word(self.member_bytes, format!("{}b", self.member_bytes));
        let members = shell::quote_line(&names);
        let extents = ["--setautoactivation", "n", "--physicalextentsize", "4m", &self.name];
        let mut lines = vec![
            format!(
                "pvcreate -ff -y --setphysicalvolumesize {} {members}",
                shell::quote_word(&size)
            ),
            format!("vgcreate {} {members}", shell::quote_line(extents)),
        ];
        lines.extend(self.commands_on(&names).iter().map(shell::quote_line));
        lines.push(format!("{out}={}", shell::quote_word(&format!("/dev/{}/{VOLUME}", self.name))));
        lines
    }

    fn irreversible_effect(&self) -> Option<String> {
        Some(held_is_lost(&self.members))
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
        Some(Undoing::new("removed", format!("the volume group {}", self.name)))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        let members = shell::quote_line(self.members.iter().map(PathRef::to_string));
        Some(format!("vgremove -ff {}; pvremove {members}", shell::quote_word(&self.name)))
    }
}

impl ManagedResource for MakeLvm {
    fn outlives_reboot(&self) -> bool {
        true
    }

    fn make_resource(&self, _: &mut RealSystem, tag: &RunTag) -> Result<StepOutput> {
        let group = self.group(tag)?;
        // LVM knows its physical volumes by the kernel's names.
        let name = |member: &&Path| member.canonicalize().map(|real| real.display().to_string());
        let names = group.members.iter().map(name).collect::<std::io::Result<Vec<_>>>()?;
        let device = group.make_group(self.member_bytes, &self.commands_on(&names))?;
        Ok(StepOutput::found_at(device))
    }

    fn find_resource(&self, tag: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        let (today, _) = today(self, &self.drives);
        Ok(today
            .group(tag)?
            .find_volume()?
            .map(|path| StepOutput { path, ..StepOutput::default() }))
    }

    fn actual_settings(&self, _: &StepOutput) -> Result<ThingSettings> {
        let members =
            self.members.iter().map(PathRef::resolved_path).collect::<Result<Vec<_>>>()?;
        lvm::settings_of(&self.name, &members)
    }

    fn remove_resource(&self, _: &mut RealSystem, tag: &RunTag, _: &StepOutput) -> Result<()> {
        let (today, others) = today(self, &self.drives);
        today.group(tag)?.remove_group()?;
        left_on(&others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(volume: LvmVolume) -> String {
        let members =
            ["/dev/a", "/dev/b", "/dev/c"].map(|path| PathRef::Path(path.into())).to_vec();
        let make = MakeLvm {
            name: "iotax-r-lvm0".into(),
            members,
            member_bytes: 1 << 27,
            volume,
            drives: Drives::default(),
        };
        make.describe().replace("; ", "\n")
    }

    #[test]
    fn the_commands_of_every_kind_of_volume() {
        let stripes = Stripes { count: 3, size: 64 << 10 };
        let thin = |stripes, zero| LvmVolume::Thin {
            extents: 88,
            pool_extents: 90,
            metadata_extents: 1,
            stripes,
            chunk_size: 128 << 10,
            zero,
        };
        let all = [
            LvmVolume::Linear { extents: 93 },
            LvmVolume::Striped { extents: 93, stripes: stripes.clone() },
            thin(None, true),
            thin(Some(stripes), false),
            LvmVolume::Cache {
                extents: 62,
                cache_extents: 31,
                mode: "writeback".into(),
                chunk_size: 64 << 10,
            },
        ];
        insta::assert_snapshot!(all.map(shown).join("\n\n"));
    }
}
