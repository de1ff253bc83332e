//! How a layer lays data over the drives that it joins.

use crate::scenario::LayerSpec;

/// What an I/O meets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LayoutSpread {
    /// Every block on one drive, in turns over so many of them.
    Striped {
        /// Drives that are written in turns.
        over: u64,
    },
    /// One drive after the other.
    Linear {
        /// Bytes at most after which the next drive has its turn; `None`: when one is full.
        chunk: Option<u64>,
    },
    /// Every block on so many drives.
    Mirrored {
        copies: u64,
        /// Drives are in groups of so many, all of which hold the same; else what is on one has its
        /// copies on several.
        groups: bool,
    },
    /// Stripes of chunks with parity in place; a small write changes both.
    Parity {
        /// Chunks of parity a stripe.
        parity: u64,
        /// Bytes of a chunk.
        chunk: u64,
        /// It takes whole stripes only.
        whole: bool,
    },
    /// A block of its own with its parity over as many drives as it has sectors.
    Raidz {
        /// Sectors of parity a row.
        parity: u64,
        /// Bytes of a block.
        block: u64,
        /// Bytes of a sector.
        sector: u64,
    },
}

/// Drives that a layer has joined.
#[derive(Clone, Debug, PartialEq)]
pub struct Joined {
    pub spread: LayoutSpread,
    pub name: String,
    /// Bytes on one drive before the next one's turn, with the option that says so; `None` where
    /// there is no turn.
    pub unit: Option<(&'static str, u64)>,
}

/// How a layer joins so many drives.
pub type Join = fn(&LayerSpec, u64) -> Result<Joined, String>;

impl LayoutSpread {
    /// One drive is full before the next begins.
    pub const ONE_BY_ONE: LayoutSpread = LayoutSpread::Linear { chunk: None };

    /// With parity in place on so many drives.
    ///
    /// # Errors
    /// They are too few.
    pub fn parity(
        drives: u64,
        parity: u64,
        chunk: u64,
        whole: bool,
    ) -> Result<LayoutSpread, String> {
        enough(drives, parity).map(|()| LayoutSpread::Parity { parity, chunk, whole })
    }

    pub fn named(self, name: impl Into<String>) -> Joined {
        Joined { spread: self, name: name.into(), unit: None }
    }
}

impl Joined {
    /// With turns of so many bytes, which an option says.
    pub fn in_turns(self, option: &'static str, bytes: u64) -> Joined {
        Joined { unit: Some((option, bytes)), ..self }
    }
}

/// Whether data are left beside so much of parity.
///
/// # Errors
/// None are.
pub fn enough(drives: u64, parity: u64) -> Result<(), String> {
    match drives > parity {
        true => Ok(()),
        false => Err(format!("{drives} drives are too few for {parity} of parity")),
    }
}
