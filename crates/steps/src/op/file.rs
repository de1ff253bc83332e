//! Makes files of ours, with our marker after their data, and fills them with data that no layer
//! can compress away. Another's file is never written or removed: the marker shows which are ours.

use crate::operation::{Operation, Undoing};
use crate::resource::{ManagedResource, ResourceChange};
use anyhow::{Context, Result, bail};
use iotax_drivers::loops;
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::refusal::NotOurs;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::{RealSystem, StepProgress};
use iotax_host::guard::fill::{self, FilledRange};
use iotax_host::guard::marker;
use iotax_load::DataKind;
use iotax_units::{shell, show_bytes};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::path::{Path, PathBuf};

/// File with room for its data and our marker, or one of ours from an earlier run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeFile {
    pub path: PathBuf,
    /// Bytes of data, which the marker follows.
    pub bytes: u64,
    /// True if the file is left in place after the run, for the next one.
    pub keep: bool,
    /// True if it is on a file system that the run makes, and disappears with it.
    pub inside_mount: bool,
}

impl Operation for MakeFile {
    fn describe(&self) -> String {
        let keep = if self.keep { ", kept after the run" } else { "" };
        format!("create {} ({}{keep})", self.path.display(), iotax_units::show_size(self.bytes))
    }

    fn commands_by_hand(&self, _: &str) -> Vec<String> {
        // iotax's own marker, which follows the data, is left out.
        vec![format!("truncate -s {} {}", self.bytes, shell::path(&self.path))]
    }

    fn undo_summary(&self, made: Option<&StepOutput>) -> Option<Undoing> {
        let stays = self.keep || made.is_some_and(|made| made.reused);
        Some(Undoing::of_file(self.path.display(), stays))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        Some(format!("rm {}", shell::path(&self.path)))
    }
}

impl ManagedResource for MakeFile {
    fn outlives_reboot(&self) -> bool {
        !self.inside_mount
    }

    fn stays_after_undo(&self, made: &StepOutput) -> bool {
        self.keep || made.reused
    }

    fn make_resource(&self, system: &mut RealSystem, tag: &RunTag) -> Result<StepOutput> {
        let made = match self.reusable()? {
            Some(marker) => StepOutput { reused: true, ..yield_of(&self.path, &marker) },
            None => yield_of(
                &self.path,
                &marker::create_marked_file(&self.path, self.bytes, &tag.run_id)?,
            ),
        };
        system.hold(&self.path, lock_for_run(&self.path)?);
        Ok(made)
    }

    fn find_resource(&self, tag: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        // A user who may not look into a folder has made nothing there.
        let looked = self.path.symlink_metadata();
        if looked.is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied) {
            return Ok(None);
        }
        let Some(marker) = marker::read_marker(&self.path)? else { return Ok(None) };
        Ok((marker.run_id == tag.run_id).then(|| yield_of(&self.path, &marker)))
    }

    fn remove_resource(
        &self,
        system: &mut RealSystem,
        tag: &RunTag,
        made: &StepOutput,
    ) -> Result<()> {
        let path = &self.path;
        let inode = made.inode.context("no inode was recorded")?;
        if let Some(device) = loops::any_on(path) {
            // Once the file's name is gone, nobody would find again what the device keeps of the
            // disk.
            bail!(
                "{} is attached to {}; hint: losetup --detach {0}",
                device.display(),
                path.display()
            );
        }
        // Our own hold would look like another run's.
        system.release(path);
        match marker::remove_if_ours(path, inode, &tag.run_id)? {
            marker::Removal::Refused(why) => {
                Err(NotOurs(format!("did not remove {}: {why}", path.display())).into())
            }
            _ => Ok(()),
        }
    }
}

impl MakeFile {
    /// Returns the marker of the file at the path, if it is one of ours and holds `bytes` bytes of
    /// data; `None` if there is no file.
    ///
    /// # Errors
    /// If a file that is not ours, or one of another size, is there, or the file cannot be read.
    pub fn reusable(&self) -> Result<Option<marker::Marker>> {
        let path = self.path.display();
        if self.path.symlink_metadata().is_err() {
            return Ok(None);
        }
        match marker::read_marker(&self.path)? {
            Some(marker) if marker.bytes == self.bytes => Ok(Some(marker)),
            Some(marker) => bail!(
                "{path} is ours but holds {}, not {}; hint: remove it, or name its size",
                show_bytes(marker.bytes),
                show_bytes(self.bytes)
            ),
            None => {
                bail!(
                    "{path} exists and is not a file of ours; hint: name a file that does not exist"
                )
            }
        }
    }
}

fn yield_of(path: &Path, marker: &marker::Marker) -> StepOutput {
    StepOutput {
        inode: Some(marker.inode),
        bytes: Some(marker.bytes),
        ..StepOutput::found_at(path)
    }
}

/// Locks a file until it is closed, so that no other run measures, formats or removes it.
fn lock_for_run(path: &Path) -> Result<File> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    match marker::lock(&file).with_context(|| format!("cannot lock {}", path.display()))? {
        true => Ok(file),
        false => bail!(
            "{} is in use by another run of iotax; hint: wait for it, or name another file",
            path.display()
        ),
    }
}

/// Fills a file of ours with data, so that no layer can serve holes or zeroes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FillFile {
    pub file: PathRef,
    /// Bytes that are filled, as the plan shows them.
    pub bytes: u64,
    pub seed: u64,
    /// Kind of data: incompressible unless the load says otherwise.
    #[serde(default, skip_serializing_if = "DataKind::is_unique")]
    pub data: DataKind,
    /// True if the load will trim the file. The marker then says that it is not filled, so that the
    /// next run fills it again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trimmed: bool,
}

impl Operation for FillFile {
    fn describe(&self) -> String {
        format!("fill {} with {} of {}", self.file, iotax_units::show_size(self.bytes), self.data)
    }

    fn commands_by_hand(&self, _: &str) -> Vec<String> {
        let file = shell::quote_word(&self.file.to_string());
        let bytes = self.bytes;
        let dd = "bs=1M iflag=fullblock conv=notrunc,fsync";
        vec![format!("head -c {bytes} /dev/urandom | dd of={file} {dd}")]
    }

    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        vec![&mut self.file]
    }
}

impl ResourceChange for FillFile {
    /// Fills the file. If the marker says that it is filled and the data are incompressible, only
    /// what was discarded since is rewritten. Compressible data are always rewritten, because the
    /// marker does not say which data the file holds.
    fn apply_change(&self, system: &mut RealSystem) -> Result<()> {
        let path = self.file.resolved_path()?;
        let Some(marker) = marker::read_marker(path)? else {
            bail!("{} is not a file of ours: it is not filled", path.display());
        };
        let mut report = |bytes| system.report_progress(StepProgress::Filled(bytes));
        let filled = match marker.filled && self.data.is_unique() {
            true => fill::restore(path, self.seed, &mut report)?,
            false => fill::fill(path, self.seed, self.data, &mut report)?,
        };
        if let FilledRange::Stopped(bytes) = filled {
            bail!("interrupted after {}", show_bytes(bytes));
        }
        if self.trimmed { marker::set_filled(path, false) } else { Ok(()) }
    }
}

/// Records in the marker of a file of ours that it is no longer filled. Done before the load trims
/// it, so that this holds even if the run is killed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgetFill {
    pub file: PathRef,
}

impl Operation for ForgetFill {
    fn describe(&self) -> String {
        format!("say in the marker of {} that it is not filled, as it is trimmed", self.file)
    }

    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        vec![&mut self.file]
    }
}

impl ResourceChange for ForgetFill {
    fn apply_change(&self, _: &mut RealSystem) -> Result<()> {
        marker::set_filled(self.file.resolved_path()?, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_held_by_this_run_is_removed_and_one_held_by_another_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.img");
        let (mut ours, mut cleaner) = (RealSystem::default(), RealSystem::default());
        let file =
            MakeFile { path: path.clone(), bytes: 1 << 20, keep: false, inside_mount: false };
        let tag = RunTag { run_id: "r".into(), run_dir: folder.path().to_owned() };
        let made = file.make_resource(&mut ours, &tag).unwrap();
        let refused = file.remove_resource(&mut cleaner, &tag, &made).unwrap_err();
        assert!(refused.downcast_ref::<NotOurs>().is_some(), "{refused}");
        assert!(refused.to_string().contains("in use by another run"), "{refused}");
        assert!(path.exists());
        file.remove_resource(&mut ours, &tag, &made).unwrap();
        assert!(!path.exists());
    }
}
