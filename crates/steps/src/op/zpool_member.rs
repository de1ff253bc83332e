//! Changes members of an existing pool: takes one offline, brings one back as a new drive, or waits
//! for a resilver. The end of the pool undoes all of it.

use crate::operation::Operation;
use crate::resource::ResourceChange;
use anyhow::Result;
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::system::RealSystem;
use iotax_drivers::zfs::state;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZpoolOffline {
    /// What is in the pool: a volume's device, or a file system's name.
    pub content: PathRef,
    pub member: PathRef,
}

/// Runs `zpool labelclear` and `zpool replace`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZpoolReplace {
    pub content: PathRef,
    /// Former member of the pool.
    pub member: PathRef,
    /// Bytes that the resilver writes to the member; 0 if unknown.
    #[serde(default)]
    pub bytes: u64,
}

/// Waits until no member is missing and no resilver runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwaitResilver {
    pub content: PathRef,
}

impl ResourceChange for ZpoolOffline {
    fn apply_change(&self, _: &mut RealSystem) -> Result<()> {
        state::offline(self.content.resolved_path()?, self.member.resolved_path()?)
    }
}

impl ResourceChange for ZpoolReplace {
    fn apply_change(&self, _: &mut RealSystem) -> Result<()> {
        state::replace(self.content.resolved_path()?, self.member.resolved_path()?)
    }
}

impl ResourceChange for AwaitResilver {
    fn apply_change(&self, system: &mut RealSystem) -> Result<()> {
        state::await_resilver(self.content.resolved_path()?, &mut system.synced())
    }
}

impl Operation for ZpoolOffline {
    fn describe(&self) -> String {
        format!("zpool offline (the pool of {}) {}", self.content, self.member)
    }

    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        vec![&mut self.content, &mut self.member]
    }
}

impl Operation for ZpoolReplace {
    fn describe(&self) -> String {
        let member = &self.member;
        format!(
            "zpool labelclear -f {member}; zpool replace -f (the pool of {}) {member}",
            self.content
        )
    }

    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        vec![&mut self.content, &mut self.member]
    }
}

impl Operation for AwaitResilver {
    fn describe(&self) -> String {
        format!("wait until all members of the pool of {} are whole", self.content)
    }

    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        vec![&mut self.content]
    }
}
