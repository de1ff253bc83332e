//! Declares a member of an array failed and takes it out, as a dead drive would make the kernel do.
//! The end of the array undoes it.

use crate::md;
use crate::operation::Operation;
use crate::path_ref::PathRef;
use crate::resource::ResourceChange;
use crate::system::RealSystem;
use anyhow::Result;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailMember {
    pub array: PathRef,
    pub member: PathRef,
}

impl ResourceChange for FailMember {
    fn make(&self, _: &mut RealSystem) -> Result<()> {
        md::fail(self.array.path()?, self.member.path()?)
    }
}

impl Operation for FailMember {
    fn describe(&self) -> String {
        format!("mdadm {} --fail {} --remove", self.array, self.member)
    }

    fn inputs(&mut self) -> Vec<&mut PathRef> {
        vec![&mut self.array, &mut self.member]
    }
}
