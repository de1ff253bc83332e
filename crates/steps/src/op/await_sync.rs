//! Waits for the sync or rebuild of an array, as fast as its drives can: the bounds on the speed of
//! that array are raised meanwhile, and restored after it. Nothing is left to undo.

use crate::operation::Operation;
use crate::resource::ResourceChange;
use anyhow::Result;
use iotax_drivers::md;
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::system::RealSystem;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwaitSync {
    pub array: PathRef,
}

impl ResourceChange for AwaitSync {
    fn apply_change(&self, system: &mut RealSystem) -> Result<()> {
        md::await_sync(self.array.resolved_path()?, &mut system.synced())
    }
}

impl Operation for AwaitSync {
    fn describe(&self) -> String {
        format!(
            "wait until {} is in sync; sync_speed_min and sync_speed_max are raised until then",
            self.array
        )
    }

    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        vec![&mut self.array]
    }
}
