//! The initramfs of a guest, a scratch file of the run directory.

use super::{Operation, RunTag, System, Yield};
use crate::layer::guest;
use anyhow::Result;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Our binary as /init, and the modules that the guest needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BuildInitramfs {
    /// Where it is written, within the run directory.
    pub path: PathBuf,
    /// The kernel's modules: `/lib/modules/VERSION` or the same in our cache.
    pub modules: PathBuf,
    /// Modules that it needs beyond those of every guest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<String>,
}

impl Operation for BuildInitramfs {
    fn describe(&self) -> String {
        format!("write {} from {}", self.path.display(), self.modules.display())
    }

    fn perform(&self, system: &mut dyn System, _: &RunTag) -> Result<Yield> {
        system.write_file(&self.path, &mut || guest::initramfs_for(&self.modules, &self.more))?;
        Ok(Yield { path: Some(self.path.clone()), ..Yield::default() })
    }

    fn find(&self, system: &dyn System, _: &RunTag, _: &[Yield]) -> Result<Option<Yield>> {
        Ok(system.exists(&self.path).then(|| Yield { path: Some(self.path.clone()), ..Yield::default() }))
    }

    fn undo(&self, system: &mut dyn System, _: &RunTag, _: &Yield) -> Result<()> {
        system.remove_plain(&self.path)
    }

    fn undo_by_hand(&self, _: &RunTag, _: &Yield) -> Option<String> {
        Some(format!("rm {}", self.path.display()))
    }

    fn survives_reboot(&self) -> bool {
        true
    }
}
