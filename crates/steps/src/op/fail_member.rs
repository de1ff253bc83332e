//! Marks a member of an array as failed and removes it, as the kernel does when a drive dies. It is
//! undone with the array.

use crate::operation::Operation;
use crate::resource::ResourceChange;
use anyhow::Result;
use iotax_drivers::md;
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::system::RealSystem;
use iotax_units::shell;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailMember {
    pub array: PathRef,
    pub member: PathRef,
}

impl ResourceChange for FailMember {
    fn apply_change(&self, _: &mut RealSystem) -> Result<()> {
        md::fail(self.array.resolved_path()?, self.member.resolved_path()?)
    }
}

impl Operation for FailMember {
    fn describe(&self) -> String {
        format!("mdadm {} --fail {} --remove", self.array, self.member)
    }

    fn commands_by_hand(&self, _: &str) -> Vec<String> {
        let (array, member) = (self.array.to_string(), self.member.to_string());
        vec![shell::quote_line(["mdadm", &array, "--fail", &member, "--remove", &member])]
    }

    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        vec![&mut self.array, &mut self.member]
    }
}
