//! Ratings of drives: `ratings.toml` of this crate, and what users lay over it. A drive is known by
//! words in a row in what the kernel, a tool or a page calls it; the longest such name wins.

use super::media::Medium;
use crate::number::{NumberUnit, quantities};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

mod file;
mod name;
#[cfg(test)]
mod tests;

pub use file::Fault;
pub use name::words;

/// What data sheets rate, in the words of a scenario's `[rating]`, which is of these too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriveRatings {
    /// Random reads of 4 KiB a second.
    RandreadIops,
    /// Random writes of 4 KiB a second; in a scenario's `[rating]` those that are sustained.
    RandwriteIops,
    /// Bytes a second read in order.
    Read,
    /// Bytes a second written in order.
    Write,
    /// Nanoseconds of a random read of 4 KiB, one at a time.
    RandreadLatency,
    /// Nanoseconds of a random write of 4 KiB, one at a time.
    RandwriteLatency,
}

impl DriveRatings {
    /// Each with its key.
    pub const ALL: [(DriveRatings, &'static str); 6] = [
        (DriveRatings::RandreadIops, "randread_iops"),
        (DriveRatings::RandwriteIops, "randwrite_iops"),
        (DriveRatings::Read, "read"),
        (DriveRatings::Write, "write"),
        (DriveRatings::RandreadLatency, "randread_latency"),
        (DriveRatings::RandwriteLatency, "randwrite_latency"),
    ];

    fn unit(self) -> NumberUnit {
        match self {
            DriveRatings::RandreadIops | DriveRatings::RandwriteIops => NumberUnit::PerSecond,
            DriveRatings::Read | DriveRatings::Write => NumberUnit::BytesPerSecond,
            DriveRatings::RandreadLatency | DriveRatings::RandwriteLatency => {
                NumberUnit::Nanoseconds
            }
        }
    }
}

/// Whether write figures are of a part of the drive or of all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RatedWrites {
    /// Of a cache of SLC: true until it is full.
    Burst,
    /// Of the drive in its steady state.
    Sustained,
}

/// A drive of one name.
#[derive(Clone, Debug, PartialEq)]
pub struct RatedDrive {
    pub name: String,
    /// What it is called; the words of each, the last of them perhaps with more after it.
    pub models: Vec<String>,
    /// What data lie on.
    pub media: Medium,
    /// Turns a minute, of hard disks.
    pub rpm: Option<u32>,
    /// What its write figures are of.
    pub writes: RatedWrites,
    pub source: String,
    pub sizes: Vec<Size>,
}

/// One capacity of a drive.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Size {
    /// Bytes; `None` of the most of a family.
    pub capacity: Option<f64>,
    /// Part numbers of this capacity.
    pub parts: Vec<String>,
    /// I/Os a second, bytes a second, nanoseconds, in the order of [`DriveRatings::ALL`].
    figures: [Option<f64>; 6],
}

/// A drive that was recognised, with the capacities that it may have.
#[derive(Clone, Debug)]
pub struct DriveMatch<'a> {
    pub drive: &'a RatedDrive,
    /// One where the capacity is known, else all.
    pub sizes: Vec<&'a Size>,
}

impl DriveMatch<'_> {
    /// The most that any of its possible capacities has; `None` where one of them is not rated,
    /// which may have more.
    pub fn most(&self, rated: DriveRatings) -> Option<f64> {
        self.over(rated, f64::max)
    }

    pub fn least(&self, rated: DriveRatings) -> Option<f64> {
        self.over(rated, f64::min)
    }

    fn over(&self, rated: DriveRatings, pick: fn(f64, f64) -> f64) -> Option<f64> {
        let values: Option<Vec<f64>> =
            self.sizes.iter().map(|size| size.figures[rated as usize]).collect();
        values?.into_iter().reduce(pick)
    }
}

/// All drives that are known; a copy shares them.
#[derive(Clone, Debug, Default)]
pub struct Ratings {
    drives: Arc<[RatedDrive]>,
    names: Arc<name::DriveNames>,
    /// How many of the drives, the first, are of users' files.
    own: usize,
}

/// The ratings of this crate.
pub fn known() -> &'static Ratings {
    static KNOWN: OnceLock<Ratings> = OnceLock::new();
    KNOWN.get_or_init(|| Ratings::read(include_str!("ratings.toml")).unwrap_or_default())
}

/// So much above a rating is no scatter: data sheets round, and drives of one model differ.
pub const ABOVE_RATING: f64 = 1.1;
/// And so much below a rated latency: what is rated is a typical one, and a cache of SLC answers
/// sooner.
pub const BELOW_RATED_LATENCY: f64 = 0.75;

/// Capacities that differ by less are one: 1000 GB and 1024 GB.
const SAME_CAPACITY: f64 = 0.05;

impl Ratings {
    /// Reads a file of ratings.
    ///
    /// # Errors
    /// The first line and key at fault: what no drive can have, an unknown key, no source, a name
    /// that is twice.
    pub fn read(text: &str) -> Result<Ratings, Fault> {
        Ok(Ratings::from_drives(file::drives(text)?, 0))
    }

    fn from_drives(drives: Vec<RatedDrive>, own: usize) -> Ratings {
        Ratings {
            names: Arc::new(name::DriveNames::from_drives(&drives, own)),
            drives: drives.into(),
            own,
        }
    }

    /// These with those of a user's file over them: an entry of the same name replaces, others are
    /// added and win over entries that have a name of theirs, or more letters of the same words.
    ///
    /// # Errors
    /// As [`Ratings::read`].
    pub fn with(&self, text: &str) -> Result<Ratings, Fault> {
        let mut drives = file::drives(text)?;
        let kept = |old: &RatedDrive| drives.iter().all(|new| new.name != old.name);
        let own = drives.len() + self.drives[..self.own].iter().filter(|old| kept(old)).count();
        let old: Vec<RatedDrive> = self.drives.iter().filter(|old| kept(old)).cloned().collect();
        drives.extend(old);
        Ok(Ratings::from_drives(drives, own))
    }

    pub fn drives(&self) -> &[RatedDrive] {
        &self.drives
    }

    /// The drive that a model string names (as the kernel or a page prints it: `Samsung SSD 980 PRO
    /// 1TB`, `INTEL SSDPE2KX010T8`), of a capacity in bytes where it is known; else of that which
    /// the string names, else of all that there are. `None` where nothing or more than one drive is
    /// named, or the drive is not rated in that capacity.
    pub fn rating_of(&self, model: &str, capacity: Option<f64>) -> Option<DriveMatch<'_>> {
        let found = self.find(model);
        let first = found.first()?;
        if found.iter().any(|other| other.drive != first.drive) {
            return None;
        }
        let part =
            || self.drives[first.drive].sizes[found.iter().find_map(|found| found.size)?].capacity;
        let printed = || {
            let mut bytes =
                quantities(0, model).into_iter().filter(|one| one.unit == NumberUnit::Bytes);
            bytes
                .find(|one| self.sized(first.drive, one.figure.value).is_some())
                .map(|one| one.figure.value)
        };
        self.match_of(first.drive, capacity.or_else(part).or_else(printed))
    }

    /// A drive by its index, in a capacity if one is known.
    pub fn match_of(&self, drive: usize, capacity: Option<f64>) -> Option<DriveMatch<'_>> {
        let found = self.drives.get(drive)?;
        let sizes = match capacity {
            Some(bytes) => vec![&found.sizes[self.sized(drive, bytes)?]],
            None => found.sizes.iter().collect(),
        };
        Some(DriveMatch { drive: found, sizes })
    }

    /// Index of the size of a capacity; that of the whole family has any.
    pub fn sized(&self, drive: usize, bytes: f64) -> Option<usize> {
        let sizes = &self.drives.get(drive)?.sizes;
        let near = |size: &Size| {
            size.capacity.is_some_and(|own| (own / bytes - 1.0).abs() < SAME_CAPACITY)
        };
        sizes
            .iter()
            .position(near)
            .or_else(|| sizes.iter().position(|size| size.capacity.is_none()))
    }

    /// Every drive that a text names, in order.
    pub fn find(&self, text: &str) -> Vec<NamedDrive> {
        self.names.find(text)
    }
}

/// A drive that a text names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedDrive {
    /// Index of the drive in [`Ratings::drives`].
    pub drive: usize,
    /// Index of its size, where a part number says it.
    pub size: Option<usize>,
    /// Bytes of the text.
    pub bytes: Range<usize>,
    /// How many of it, where that is against the name: 6 of `6xPM9A3`.
    pub count: Option<u32>,
}
