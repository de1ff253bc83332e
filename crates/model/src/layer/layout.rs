//! Layout of data over the drives that a layer joins.

use crate::stack::LayerSpec;

/// Drives that an I/O affects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LayoutSpread {
    /// Every block is on one drive; the drives take turns.
    Striped {
        /// Number of drives that are written in turns.
        over: u64,
    },
    /// One drive after the other.
    Linear {
        /// Largest number of bytes after which the next drive has its turn; `None`: when a drive is
        /// full.
        chunk: Option<u64>,
    },
    /// Every block is on several drives.
    Mirrored {
        copies: u64,
        /// True if the drives form groups of `copies` drives that all hold the same data; false if
        /// the copies of one drive's data are on several drives.
        groups: bool,
    },
    /// Stripes of chunks with parity, updated in place; a small write changes both.
    Parity {
        /// Number of parity chunks per stripe.
        parity: u64,
        /// Size of a chunk in bytes.
        chunk: u64,
        /// True if only whole stripes can be written.
        whole: bool,
    },
    /// Every block with its parity is spread separately, over as many drives as it has sectors.
    Raidz {
        /// Number of parity sectors per row.
        parity: u64,
        /// Size of a block in bytes.
        block: u64,
        /// Size of a sector in bytes.
        sector: u64,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Joined {
    pub spread: LayoutSpread,
    pub name: String,
    /// Bytes on one drive before the next one's turn, with the option that sets them; `None` if
    /// there are no turns.
    pub unit: Option<(&'static str, u64)>,
}

/// Function that joins that many drives for a layer.
pub type Join = fn(&LayerSpec, u64) -> Result<Joined, String>;

impl LayoutSpread {
    pub const ONE_BY_ONE: LayoutSpread = LayoutSpread::Linear { chunk: None };

    /// Returns the layout with parity in place on that many drives.
    ///
    /// # Errors
    /// There are too few drives.
    pub fn parity(
        drives: u64,
        parity: u64,
        chunk: u64,
        whole: bool,
    ) -> Result<LayoutSpread, String> {
        enough(drives, parity).map(|()| LayoutSpread::Parity { parity, chunk, whole })
    }

    pub fn join_as(self, name: impl Into<String>) -> Joined {
        Joined { spread: self, name: name.into(), unit: None }
    }
}

impl Joined {
    /// Sets turns of that many bytes, which `option` sets.
    pub fn in_turns(self, option: &'static str, bytes: u64) -> Joined {
        Joined { unit: Some((option, bytes)), ..self }
    }
}

/// Checks that drives are left for data beside the parity.
///
/// # Errors
/// No drive is left for data.
pub fn enough(drives: u64, parity: u64) -> Result<(), String> {
    match drives > parity {
        true => Ok(()),
        false => Err(format!("{drives} drives are too few for {parity} of parity")),
    }
}
