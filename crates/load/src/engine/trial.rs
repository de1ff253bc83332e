//! Job that was checked on a target and whose file is open: input for the choice of an engine and
//! the ledgers of `verify`.

use crate::Job;
use crate::offsets::Region;
use crate::target::LoadTarget;
use std::fs::File;

pub(crate) struct EngineTrial<'a> {
    pub(crate) job: &'a Job,
    pub(crate) target: &'a LoadTarget,
    pub(crate) file: File,
    /// Either one region for all threads of numjobs, or one for each.
    pub(crate) regions: Vec<Region>,
}

impl EngineTrial<'_> {
    /// Returns the region of a thread of numjobs, counted from 0.
    pub(crate) fn region_of(&self, thread: u32) -> Region {
        self.regions[thread as usize % self.regions.len()]
    }
}
