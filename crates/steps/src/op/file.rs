//! Files of ours: made new with our marker behind their data, filled with incompressible data.
//! Another's file is never written or removed (guard::marker).

use super::{Operation, PathRef, RunTag, System, Undoing, Yield};
use crate::shell;
use anyhow::Result;
use iotax_load::DataKind;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A preallocated file with our marker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeFile {
    /// Its path.
    pub path: PathBuf,
    /// Bytes of data; the marker lies behind them.
    pub bytes: u64,
    /// Left in place after the run, for the next one.
    pub keep: bool,
    /// It lies on a file system that the run mounts, and goes with it.
    pub inside_mount: bool,
}

impl Operation for MakeFile {
    fn describe(&self) -> String {
        let keep = if self.keep { ", kept after the run" } else { "" };
        format!("create {} ({}{keep})", self.path.display(), crate::units::show_size(self.bytes))
    }

    fn perform(&self, system: &mut dyn System, tag: &RunTag) -> Result<Yield> {
        system.make_file(&self.path, self.bytes, &tag.run_id)
    }

    fn find(&self, system: &dyn System, tag: &RunTag, _: &[Yield]) -> Result<Option<Yield>> {
        system.find_file(&self.path, &tag.run_id)
    }

    fn undo(&self, system: &mut dyn System, tag: &RunTag, made: &Yield) -> Result<()> {
        if self.keep || made.reused {
            return Ok(());
        }
        system.remove_file(&self.path, made, &tag.run_id)
    }

    fn undoing(&self, made: Option<&Yield>) -> Option<Undoing> {
        let stays = self.keep || made.is_some_and(|made| made.reused);
        Some(Undoing::of_file(self.path.display(), stays))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &Yield) -> Option<String> {
        Some(format!("rm {}", shell::path(&self.path)))
    }

    fn survives_reboot(&self) -> bool {
        !self.inside_mount
    }
}

/// Data into a file of ours, so that no layer can serve holes or zeroes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FillFile {
    /// The file.
    pub file: PathRef,
    /// Bytes, for the plan.
    pub bytes: u64,
    /// Seed of the data.
    pub seed: u64,
    /// What they are like: incompressible unless the load says otherwise.
    #[serde(default, skip_serializing_if = "DataKind::is_unique")]
    pub data: DataKind,
    /// The load will trim it: whoever uses it next fills it anew.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trimmed: bool,
}

impl Operation for FillFile {
    fn describe(&self) -> String {
        format!("fill {} with {} of {}", self.file, crate::units::show_size(self.bytes), self.data)
    }

    fn inputs(&mut self) -> Vec<&mut PathRef> {
        vec![&mut self.file]
    }

    fn perform(&self, system: &mut dyn System, _: &RunTag) -> Result<Yield> {
        system.fill_file(self.file.path()?, self.seed, self.data)?;
        if self.trimmed {
            system.forget_fill(self.file.path()?)?;
        }
        Ok(Yield::default())
    }

    fn survives_reboot(&self) -> bool {
        false
    }
}

/// A file of ours that was filled is about to be trimmed: its marker says so first, whatever becomes of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgetFill {
    /// The file.
    pub file: PathRef,
}

impl Operation for ForgetFill {
    fn describe(&self) -> String {
        format!("say in the marker of {} that it is not filled, as it is trimmed", self.file)
    }

    fn inputs(&mut self) -> Vec<&mut PathRef> {
        vec![&mut self.file]
    }

    fn perform(&self, system: &mut dyn System, _: &RunTag) -> Result<Yield> {
        system.forget_fill(self.file.path()?)?;
        Ok(Yield::default())
    }

    fn survives_reboot(&self) -> bool {
        false
    }
}
