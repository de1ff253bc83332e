//! What is done to the members of a pool that stands: one is taken offline, one comes back as a new
//! drive, a resilver is waited for. The pool's end undoes all of it.

use super::{Operation, PathRef, RealSystem, ResourceChange};
use crate::zfs::state;
use anyhow::Result;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZpoolOffline {
    /// What is in the pool: a volume's device, or a file system's name.
    pub content: PathRef,
    /// One of its members.
    pub member: PathRef,
}

/// `zpool labelclear`, `zpool replace`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZpoolReplace {
    /// What is in the pool.
    pub content: PathRef,
    /// What was a member of it.
    pub member: PathRef,
    /// Bytes that are written to it before it is whole; 0: not known.
    #[serde(default)]
    pub bytes: u64,
}

/// `zpool wait -t resilver`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AwaitResilver {
    /// What is in the pool.
    pub content: PathRef,
}

impl ResourceChange for ZpoolOffline {
    fn make(&self, _: &mut RealSystem) -> Result<()> {
        state::offline(self.content.path()?, self.member.path()?)
    }
}

impl ResourceChange for ZpoolReplace {
    fn make(&self, _: &mut RealSystem) -> Result<()> {
        state::replace(self.content.path()?, self.member.path()?)
    }
}

impl ResourceChange for AwaitResilver {
    fn make(&self, system: &mut RealSystem) -> Result<()> {
        state::await_resilver(self.content.path()?, &mut system.synced())
    }
}

impl Operation for ZpoolOffline {
    fn describe(&self) -> String {
        format!("zpool offline (the pool of {}) {}", self.content, self.member)
    }

    fn inputs(&mut self) -> Vec<&mut PathRef> {
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

    fn inputs(&mut self) -> Vec<&mut PathRef> {
        vec![&mut self.content, &mut self.member]
    }
}

impl Operation for AwaitResilver {
    fn describe(&self) -> String {
        format!("wait until all members of the pool of {} are whole", self.content)
    }

    fn inputs(&mut self) -> Vec<&mut PathRef> {
        vec![&mut self.content]
    }
}
