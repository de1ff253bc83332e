//! Layout of data over the drives that a layer joins.

use crate::stack::LayerSpec;

/// How a layer spreads data over its drives, and thus how many drives an I/O affects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LayoutSpread {
    /// Every block is on one drive; consecutive units of blocks are on the drives in turn.
    Striped {
        /// Number of drives that take turns.
        over: u64,
    },
    /// Drives are used one after the other.
    Linear {
        /// Most bytes on one drive before the next drive follows; `None`: a drive is filled first.
        chunk: Option<u64>,
    },
    /// Every block is on several drives.
    Mirrored {
        copies: u64,
        /// True if the drives form groups of `copies` drives that all hold the same data; false if
        /// the copies of one drive's data are on several drives.
        groups: bool,
    },
    /// Stripes of data and parity chunks, updated in place: a small write changes a data chunk and
    /// the parity.
    Parity {
        /// Number of parity chunks per stripe.
        parity: u64,
        /// Size of a chunk in bytes.
        chunk: u64,
        /// True if only whole stripes can be written, as by SPDK's raid5f.
        whole: bool,
    },
    /// Each block is a stripe of its own with its own parity, over as many drives as it needs
    /// sectors.
    Raidz {
        /// Number of parity sectors per row of sectors, one on each drive.
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
    /// Option that sets how many bytes are on one drive before the next drive has its turn, and
    /// that number of bytes. `None` if drives do not take turns.
    pub unit: Option<(&'static str, u64)>,
}

/// Function that returns the layout of a layer over a number of drives. Its error is a clause that
/// says why there is none or it is unknown.
pub type Join = fn(&LayerSpec, u64) -> Result<Joined, String>;

impl LayoutSpread {
    pub const ONE_BY_ONE: LayoutSpread = LayoutSpread::Linear { chunk: None };

    /// Returns [`LayoutSpread::Parity`] over `drives` drives.
    ///
    /// # Errors
    /// There are no more drives than parity chunks per stripe.
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
    /// Sets [`Joined::unit`]: drives take turns after `bytes`, which the layer's `option` sets.
    pub fn in_turns(self, option: &'static str, bytes: u64) -> Joined {
        Joined { unit: Some((option, bytes)), ..self }
    }
}

/// Checks that there are more drives than parity, so that some are left for data.
///
/// # Errors
/// No drive is left for data.
pub fn enough(drives: u64, parity: u64) -> Result<(), String> {
    match drives > parity {
        true => Ok(()),
        false => Err(format!("{drives} drives are too few for {parity} of parity")),
    }
}
