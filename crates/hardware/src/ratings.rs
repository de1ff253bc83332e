//! Ratings of drives: `ratings.toml` of this crate, and what users add to it. A drive is recognised
//! by a sequence of words in its name from the kernel, a tool or a page; the longest such name
//! wins.

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
pub use name::words_with_spans;

/// Values that data sheets rate. A scenario's `[rating]` has the same ones, under the same names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriveRatings {
    /// Random reads of 4 KiB per second.
    RandreadIops,
    /// Random writes of 4 KiB per second; in a scenario's `[rating]` the sustained ones.
    RandwriteIops,
    /// Bytes per second of sequential reads.
    Read,
    /// Bytes per second of sequential writes.
    Write,
    /// Latency of a random read of 4 KiB, one at a time, in nanoseconds.
    RandreadLatency,
    /// Latency of a random write of 4 KiB, one at a time, in nanoseconds.
    RandwriteLatency,
}

impl DriveRatings {
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

/// Part of the drive that write figures describe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RatedWrites {
    /// An SLC cache: the figures hold until it is full.
    Burst,
    /// The drive in its steady state.
    Sustained,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RatedDrive {
    pub name: String,
    /// Names of the drive. A `*` at the end of one stands for any further letters of its last word.
    pub models: Vec<String>,
    pub media: Medium,
    pub rpm: Option<u32>,
    pub writes: RatedWrites,
    pub source: String,
    pub sizes: Vec<Size>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Size {
    /// In bytes. `None` if the figures are the maximum of a whole family.
    pub capacity: Option<f64>,
    pub parts: Vec<String>,
    /// Rated figures in I/Os per second, bytes per second and nanoseconds, in the order of
    /// [`DriveRatings::ALL`]. `None` if not rated.
    figures: [Option<f64>; 6],
}

/// A recognised drive, with the capacities that it may have.
#[derive(Clone, Debug)]
pub struct DriveMatch<'a> {
    pub drive: &'a RatedDrive,
    /// One size if the capacity is known, otherwise all.
    pub sizes: Vec<&'a Size>,
}

impl DriveMatch<'_> {
    /// Returns the largest rating of the possible capacities; `None` if one of them is not rated,
    /// since it may have more.
    pub fn most(&self, rated: DriveRatings) -> Option<f64> {
        self.over_sizes(rated, f64::max)
    }

    pub fn least(&self, rated: DriveRatings) -> Option<f64> {
        self.over_sizes(rated, f64::min)
    }

    fn over_sizes(&self, rated: DriveRatings, pick: fn(f64, f64) -> f64) -> Option<f64> {
        let values: Option<Vec<f64>> =
            self.sizes.iter().map(|size| size.figures[rated as usize]).collect();
        values?.into_iter().reduce(pick)
    }
}

/// Ratings of drives: those of users' files first, then the built-in ones. Clones share the data.
#[derive(Clone, Debug, Default)]
pub struct Ratings {
    drives: Arc<[RatedDrive]>,
    names: Arc<name::DriveNames>,
    /// Number of drives from users' files, which come first.
    own: usize,
}

pub fn builtin_ratings() -> &'static Ratings {
    static KNOWN: OnceLock<Ratings> = OnceLock::new();
    KNOWN.get_or_init(|| Ratings::read(include_str!("ratings.toml")).unwrap_or_default())
}

/// Factor by which a figure must exceed a rating to contradict it: data sheets round, and drives of
/// one model differ.
pub const ABOVE_RATING: f64 = 1.1;
/// Share of a rated latency below which a latency contradicts the rating: the rated latency is a
/// typical one, and an SLC cache answers sooner.
pub const BELOW_RATED_LATENCY: f64 = 0.75;

/// Relative difference below which capacities count as equal, such as 1000 GB and 1024 GB.
const SAME_CAPACITY: f64 = 0.05;

impl Ratings {
    /// Reads the text of a file of ratings.
    ///
    /// # Errors
    /// Names the line and usually the key of a fault: text that is not TOML, an unknown or missing
    /// key, an impossible value, or a name that two drives have.
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

    /// Returns these ratings with those of a user's file added. An entry replaces an old one of the
    /// same `name`. Where models of several drives match equally many words of a text, a user's
    /// drive wins.
    ///
    /// # Errors
    /// Fails like [`Ratings::read`].
    pub fn with_user_file(&self, text: &str) -> Result<Ratings, Fault> {
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

    /// Returns the drive that a model string names (as the kernel or a page prints it: `Samsung SSD
    /// 980 PRO 1TB`, `INTEL SSDPE2KX010T8`). The capacity is the given one in bytes, otherwise the
    /// one that the string names, otherwise all that exist. `None` if no drive or more than one is
    /// named, or the drive is not rated in that capacity.
    pub fn rating_of(&self, model: &str, capacity: Option<f64>) -> Option<DriveMatch<'_>> {
        let found = self.find_drives(model);
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

    /// Returns the drive with this index of [`Ratings::drives`], with the size of this capacity in
    /// bytes, or with all sizes if that is `None`. Returns `None` if there is no such drive or
    /// size.
    pub fn match_of(&self, drive: usize, capacity: Option<f64>) -> Option<DriveMatch<'_>> {
        let found = self.drives.get(drive)?;
        let sizes = match capacity {
            Some(bytes) => vec![&found.sizes[self.sized(drive, bytes)?]],
            None => found.sizes.iter().collect(),
        };
        Some(DriveMatch { drive: found, sizes })
    }

    /// Returns the index of a drive's size that is within 5 % of this capacity in bytes, else of
    /// the entry for its whole family. `None` if the drive has neither.
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

    pub fn find_drives(&self, text: &str) -> Vec<NamedDrive> {
        self.names.find(text)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedDrive {
    /// Index of the drive in [`Ratings::drives`].
    pub drive: usize,
    /// Index of the size, if a part number gives it.
    pub size: Option<usize>,
    /// Byte range of the name in the text.
    pub bytes: Range<usize>,
    /// Number of drives, if it is attached to the name: 6 for `6xPM9A3`.
    pub count: Option<u32>,
}
