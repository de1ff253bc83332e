//! Sets and restores the limit of ZFS's cache in memory (ARC), which holds for the whole machine,
//! and checks that the table of a pool with deduplication fits into it.

use super::load;
use crate::plain_file::write_sysfs;
use anyhow::{Result, bail, ensure};
use iotax_units::{MIB, show_bytes};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;

/// Bytes of memory for each block in the table of a pool with deduplication.
const DDT_ENTRY: u64 = 320;
const LEAST_ARC: u64 = 64 * MIB;
const PARAMETER: &str = "/sys/module/zfs/parameters/zfs_arc_max";

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArcLimit {
    /// Module parameter in bytes; 0 if ZFS decides.
    pub parameter: u64,
    /// Limit in effect, in bytes; 0 if the module is not loaded.
    pub limit: u64,
}

impl ArcLimit {
    pub fn current_limit() -> ArcLimit {
        let parameter =
            fs::read_to_string(PARAMETER).ok().and_then(|text| text.trim().parse().ok());
        let stats = fs::read_to_string("/proc/spl/kstat/zfs/arcstats").unwrap_or_default();
        ArcLimit { parameter: parameter.unwrap_or(0), limit: c_max(&stats).unwrap_or(0) }
    }

    pub fn set(bytes: u64) -> Result<()> {
        load()?;
        write_sysfs(Path::new(PARAMETER), &bytes.to_string())?;
        let now = ArcLimit::current_limit().limit;
        ensure!(
            now == bytes,
            "ZFS keeps its ARC at {} and does not take {}; hint: at least {}, and less than the memory there ({})",
            show_bytes(now),
            show_bytes(bytes),
            show_bytes(LEAST_ARC),
            show_bytes(memory())
        );
        Ok(())
    }

    /// Restores the limit if it is still the one that this run has `written`, in bytes. Otherwise
    /// leaves it and returns a message that says so. ZFS accepts a parameter of 0 without changing
    /// the limit in effect, so that limit is written first.
    ///
    /// # Errors
    /// If the kernel does not take it.
    pub fn restore(self, written: u64) -> Result<Option<String>> {
        if !Path::new(PARAMETER).exists() {
            return Ok(None);
        }
        let limit = if self.limit == 0 { usual_limit(memory()) } else { self.limit };
        match whose(ArcLimit::current_limit().parameter, [written, limit], self.parameter) {
            ParameterOwner::Ours => {
                write_sysfs(Path::new(PARAMETER), &limit.to_string())?;
                write_sysfs(Path::new(PARAMETER), &self.parameter.to_string())?;
                Ok(None)
            }
            ParameterOwner::Restored => Ok(None),
            ParameterOwner::Anothers(now) => Ok(Some(format!(
                "zfs_arc_max is {now} and not the {written} that this run wrote: somebody has set it since, so it was left"
            ))),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum ParameterOwner {
    /// Value that this run wrote, also if it is only partly restored.
    Ours,
    Restored,
    Anothers(u64),
}

fn whose(now: u64, ours: [u64; 2], was: u64) -> ParameterOwner {
    match now {
        now if ours.contains(&now) => ParameterOwner::Ours,
        now if now == was => ParameterOwner::Restored,
        now => ParameterOwner::Anothers(now),
    }
}

fn c_max(arcstats: &str) -> Option<u64> {
    let line = arcstats.lines().find(|line| line.starts_with("c_max "))?;
    line.split_whitespace().nth(2)?.parse().ok()
}

/// Returns the limit that ZFS uses on Linux by default: half of the memory.
pub fn usual_limit(memory: u64) -> u64 {
    memory / 2
}

fn memory() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib =
        text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB"));
    kib.and_then(|kib| kib.trim().parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// Returns the largest size of this machine's ARC.
pub fn arc_limit_here() -> u64 {
    let here = ArcLimit::current_limit().limit;
    if here == 0 { usual_limit(memory()) } else { here }
}

/// Checks that the deduplication table of a volume of `bytes`, in blocks of `block` bytes, fits
/// into an ARC of `limit` bytes.
///
/// # Errors
/// If it does not fit: then every write would wait for reads of the table, which measures neither
/// ZFS nor the drives.
pub fn check_dedup_table(bytes: u64, block: u64, limit: u64) -> Result<()> {
    let blocks = bytes.div_ceil(block);
    let table = blocks.saturating_mul(DDT_ENTRY);
    if table > limit {
        bail!(
            "dedup=on: the table of {blocks} blocks of {} takes {} of memory ({DDT_ENTRY} bytes a block), and the ARC may hold {}; \
             hint: a smaller size=, larger blocks (volblocksize, recordsize), or more memory (arc-max)",
            show_bytes(block),
            show_bytes(table),
            show_bytes(limit)
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_units::GIB;

    #[test]
    fn the_limit_of_the_arc_is_what_holds() {
        let stats = "c                               4    1030117376\nc_min                           4    64382336\n\
                     c_max                           4    1030117376\n";
        assert_eq!(c_max(stats), Some(1_030_117_376));
        assert_eq!(c_max(""), None);
    }

    #[test]
    fn a_limit_that_somebody_has_set_meanwhile_stays() {
        assert_eq!(whose(GIB, [GIB, 8 * GIB], 0), ParameterOwner::Ours);
        // A kill between both writes of putting it back.
        assert_eq!(whose(8 * GIB, [GIB, 8 * GIB], 0), ParameterOwner::Ours);
        assert_eq!(whose(0, [GIB, 8 * GIB], 0), ParameterOwner::Restored);
        assert_eq!(whose(2 * GIB, [GIB, 8 * GIB], 0), ParameterOwner::Anothers(2 * GIB));
    }

    #[test]
    fn a_table_that_the_memory_has_no_room_for_is_refused() {
        assert!(check_dedup_table(800 * GIB, 16 << 10, 64 * GIB).is_ok());
        let error = check_dedup_table(10 << 40, 16 << 10, 64 * GIB).unwrap_err().to_string();
        assert_eq!(
            error,
            "dedup=on: the table of 671088640 blocks of 16 KiB takes 200 GiB of memory (320 bytes a block), and the ARC may \
             hold 64 GiB; hint: a smaller size=, larger blocks (volblocksize, recordsize), or more memory (arc-max)"
        );
    }
}
