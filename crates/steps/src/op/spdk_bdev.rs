//! Makes a bdev of a running SPDK target over files or devices of this host: a bdev for each
//! member, and an array and a logical volume over them if requested. Also splits a bdev into equal
//! parts. All of them are in the target, under names that carry the run's id.

use super::spdk::rpc_py;
use crate::operation::{Operation, Own, Undoing};
use crate::resource::ManagedResource;
use anyhow::{Context, Result};
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::settings::ThingSettings;
use iotax_drivers::spdk;
use iotax_drivers::spdk::join::{JoinSpdk, SplitSpdk};
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_drivers::threads::ServingThread;
use iotax_facts::array::ArrayState;

impl Operation for JoinSpdk {
    fn describe(&self) -> String {
        let members: Vec<String> = self.members.iter().map(ToString::to_string).collect();
        let part = self.mib.map(|mib| format!(" ({mib} MiB of each)")).unwrap_or_default();
        let mode = if self.read_only { ", read-only" } else { "" };
        let raid = self.raid.as_ref().map(|raid| {
            let strip =
                raid.strip_kib.map(|kib| format!(" strip_size_kb={kib}")).unwrap_or_default();
            format!(", bdev_raid_create {} {}{strip}", self.joined_bdev(), raid.level)
        });
        let lvol = self.lvol.as_ref().map(|lvol| {
            let thin = if lvol.thin { " thin_provision" } else { "" };
            format!(
                ", bdev_lvol_create_lvstore {} cluster_sz={}, bdev_lvol_create lvol of {} MiB{thin}",
                self.store(),
                lvol.cluster,
                lvol.mib
            )
        });
        format!(
            "{} {} over {}{part}{mode}{}{} in the SPDK target at {}",
            self.kind().create,
            self.name,
            members.join(", "),
            raid.unwrap_or_default(),
            lvol.unwrap_or_default(),
            self.rpc.display()
        )
    }

    fn irreversible_effect(&self) -> Option<String> {
        self.lvol.as_ref().map(|_| "what was below the store of logical volumes is lost".to_owned())
    }

    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        self.members.iter_mut().collect()
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        vec![Own::Named(&self.name)]
    }

    fn undo_summary(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        Some(Undoing::new(
            "removed",
            format!("{} from the SPDK target at {}", self.bdev(), self.rpc.display()),
        ))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        let mut calls = Vec::new();
        let mut call = |method: &str, rest: &[&str]| calls.push(rpc_py(&self.rpc, method, rest));
        if self.lvol.is_some() {
            call("bdev_lvol_delete", &[&self.bdev()]);
            call("bdev_lvol_delete_lvstore", &["-l", &self.store()]);
        }
        if self.raid.is_some() {
            call("bdev_raid_delete", &[&self.joined_bdev()]);
        }
        for at in 0..self.members.len() {
            if self.mib.is_some() {
                call("bdev_split_delete", &[&self.member(at)]);
            }
            call(self.kind().delete, &[&self.member(at)]);
        }
        Some(calls.join("; "))
    }
}

impl ManagedResource for JoinSpdk {
    /// Returns true if there is a store of logical volumes, which is on the members themselves.
    fn outlives_reboot(&self) -> bool {
        self.lvol.is_some()
    }

    fn make_resource(&self, _: &mut RealSystem, tag: &RunTag) -> Result<StepOutput> {
        spdk::join::make_joined_bdev(self, tag)?;
        Ok(StepOutput::default())
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        Ok(spdk::join::is_there(self)?.then(StepOutput::default))
    }

    fn remove_resource(&self, _: &mut RealSystem, _: &RunTag, _: &StepOutput) -> Result<()> {
        spdk::join::unmake_joined_bdev(self)
    }

    fn resource_state(&self, _: &StepOutput) -> Result<Option<ArrayState>> {
        self.array_state()
    }

    fn io_threads(&self, _: &StepOutput) -> Result<Vec<ServingThread>> {
        spdk::threads(&self.rpc)
    }

    fn actual_settings(&self, _: &StepOutput) -> Result<ThingSettings> {
        self.array_settings()
    }
}

impl Operation for SplitSpdk {
    fn describe(&self) -> String {
        format!("bdev_split_create {} in {} parts of {} MiB", self.name(), self.parts, self.mib)
    }

    fn undo_summary(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        Some(Undoing::new("removed", format!("the parts of {}", self.name())))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        let (rpc, base) = self.bdev.bdev().ok()?;
        Some(rpc_py(rpc, "bdev_split_delete", &[base]))
    }
}

impl ManagedResource for SplitSpdk {
    fn make_resource(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        spdk::join::split(self).with_context(|| format!("cannot split {}", self.name()))?;
        Ok(StepOutput::default())
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        Ok(spdk::join::is_split(self)?.then(StepOutput::default))
    }

    fn remove_resource(&self, _: &mut RealSystem, _: &RunTag, _: &StepOutput) -> Result<()> {
        spdk::join::unsplit(self)
    }
}
