//! Brings back a member that was taken out of an array as if it were a new drive: all of it is
//! rebuilt, whatever the bitmap says. Does not wait for the rebuild. It is undone with the array.

use crate::operation::Operation;
use crate::resource::ResourceChange;
use anyhow::Result;
use iotax_drivers::md;
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::system::RealSystem;
use iotax_units::shell;
use serde::{Deserialize, Serialize};

/// Runs `mdadm --zero-superblock` and `mdadm --add`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rebuild {
    pub array: PathRef,
    /// Former member of the array.
    pub member: PathRef,
    /// Bytes that the rebuild writes to the member; 0 if unknown.
    #[serde(default)]
    pub bytes: u64,
}

impl ResourceChange for Rebuild {
    fn apply_change(&self, _: &mut RealSystem) -> Result<()> {
        md::rebuild(self.array.resolved_path()?, self.member.resolved_path()?)
    }
}

impl Operation for Rebuild {
    fn describe(&self) -> String {
        format!(
            "mdadm --zero-superblock {member}; mdadm {} --add {member}",
            self.array,
            member = self.member
        )
    }

    fn commands_by_hand(&self, _: &str) -> Vec<String> {
        let (array, member) = (self.array.to_string(), self.member.to_string());
        vec![
            shell::quote_line(["mdadm", "--zero-superblock", &member]),
            shell::quote_line(["mdadm", &array, "--add", &member]),
        ]
    }

    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        vec![&mut self.array, &mut self.member]
    }
}
