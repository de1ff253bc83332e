//! Shows a Ceph image as a file of this host: a qemu-storage-daemon with librbd exports it by FUSE
//! over a file of the run.

use crate::op::Spawn;
use crate::operation::{Operation, Own, Undoing};
use crate::resource::ManagedResource;
use anyhow::{Context, Result, bail};
use iotax_drivers::ceph;
use iotax_drivers::plain_file::{remove_file, write_file};
use iotax_drivers::process::process_of_tag;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::settings::ThingSettings;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_drivers::threads::{self, ServingThread};
use iotax_drivers::tool::{run_tool, tool};
use iotax_drivers::wait::wait_until;
use iotax_host::mounts;
use iotax_sys::regular::{LAST_WORDS, tail};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest wait for the daemon to reach the cluster and show the file.
const SHOWN_WITHIN: Duration = Duration::from_secs(60);

/// Process that exports the image, and the file over which the image is mounted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportLibrbd {
    pub spawn: Spawn,
    pub file: PathBuf,
    pub conf: PathBuf,
    pub pool: String,
    pub image: String,
}

impl Operation for ExportLibrbd {
    fn describe(&self) -> String {
        self.spawn.describe()
    }

    fn commands_by_hand(&self, out: &str) -> Vec<String> {
        self.spawn.commands_by_hand(out)
    }

    fn own_resources<'a>(&'a self, made: &'a StepOutput) -> Vec<Own<'a>> {
        [self.spawn.own_resources(made), vec![Own::InFolder(&self.file)]].concat()
    }

    fn undo_summary(&self, made: Option<&StepOutput>) -> Option<Undoing> {
        self.spawn.undo_summary(made)
    }

    fn undo_by_hand(&self, tag: &RunTag, made: &StepOutput) -> Option<String> {
        self.spawn.undo_by_hand(tag, made)
    }
}

impl ManagedResource for ExportLibrbd {
    fn outlives_reboot(&self) -> bool {
        true
    }

    fn make_resource(&self, system: &mut RealSystem, tag: &RunTag) -> Result<StepOutput> {
        write_file(&self.file, b"")?;
        let made = self.spawn.make_resource(system, tag)?;
        let runs = || process_of_tag(&self.spawn.tag).is_ok_and(|found| found.is_some());
        // If the daemon has ended, its own words are the reason.
        let _ = wait_until(SHOWN_WITHIN, || is_shown(&self.file) || !runs());
        if !is_shown(&self.file) {
            let words = tail(&self.spawn.log, LAST_WORDS);
            let how =
                if runs() { "is not shown within 60 s" } else { "is not shown: its daemon ended" };
            bail!("{}/{} {how}: {}", self.pool, self.image, words.trim());
        }
        Ok(StepOutput { path: Some(self.file.clone()), ..made })
    }

    fn find_resource(&self, tag: &RunTag, others: &[StepOutput]) -> Result<Option<StepOutput>> {
        self.spawn.find_resource(tag, others)
    }

    fn remove_resource(
        &self,
        system: &mut RealSystem,
        tag: &RunTag,
        made: &StepOutput,
    ) -> Result<()> {
        self.spawn.remove_resource(system, tag, made)?;
        // A daemon that was killed leaves its mount.
        if is_shown(&self.file) {
            run_tool(tool("umount", ["--lazy"]).arg(&self.file))?;
        }
        remove_file(&self.file)
    }

    fn io_threads(&self, made: &StepOutput) -> Result<Vec<ServingThread>> {
        Ok(made.process.as_ref().map_or_else(Vec::new, |process| threads::of_process(process.pid)))
    }

    fn actual_settings(&self, made: &StepOutput) -> Result<ThingSettings> {
        let process = made.process.as_ref().context("its daemon is gone")?;
        let mut settings = ceph::image_settings(&self.conf, &self.pool, &self.image)?;
        let cache = ceph::cache_reported(&self.conf, &self.pool, &self.image, process.pid);
        settings.insert("rbd_cache".to_owned(), cache);
        Ok(settings)
    }
}

/// Returns true if something is mounted over the file.
fn is_shown(file: &Path) -> bool {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    mounts::parse(&mounts).iter().any(|mount| mount.point == file)
}
