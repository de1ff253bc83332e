//! How the layers of a stack lay data over its drives: which of them joins them, by which level, with how much of redundancy.
//! It refuses a layout from which nothing follows for what the drives allow, and says why.

use crate::scenario::{InState, LayerSpec, Medium, Stack};
use crate::units::parse_bytes;

/// Data over so many drives.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Drives of the medium.
    pub drives: u64,
    /// How.
    pub spread: Spread,
    /// Drives that are lost; none as it is set up.
    pub failed: u64,
    /// `RAID5`, `LVM stripe`; empty of drives that nothing joins.
    pub name: String,
}

/// What an I/O meets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// Every block on one drive, in turns over so many of them.
    Striped {
        /// Drives that are written in turns.
        over: u64,
    },
    /// One drive behind the other.
    Linear {
        /// Bytes at most after which the next drive has its turn; `None`: when one is full.
        chunk: Option<u64>,
    },
    /// Every block on so many drives.
    Mirrored {
        /// How many.
        copies: u64,
        /// Drives are in groups of so many, all of which hold the same; else what is on one has its copies on several.
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

/// How a layer joins so many drives.
type Join = fn(&LayerSpec, u64) -> Result<(Spread, String), String>;

/// Layers that join drives, by name.
const JOINS: &[(&str, Join)] =
    &[("mdraid", mdraid), ("linear", linear), ("lvm", lvm), ("zfs", zfs), ("fs", btrfs), ("spdk", spdk)];

const KIB: u64 = 1 << 10;

impl Layout {
    /// Of a stack; where nothing joins its drives, every I/O is one of a drive.
    ///
    /// # Errors
    /// Why nothing is known of it.
    pub fn of(stack: &Stack) -> Result<Layout, String> {
        let drives = drives(&stack.medium)?;
        let Some((layer, join)) = known_join(stack) else {
            let plain =
                Layout { drives, spread: Spread::Striped { over: drives }, failed: 0, name: String::new() };
            let unknown = || "it is not known how its layers lay data over the drives".to_owned();
            return is_joined(stack).then(unknown).map_or(Ok(plain), Err);
        };
        let again = stack.layers_with_members().filter(|(layer, members)| *members > 1 && joins(layer));
        if again.count() > 1 {
            return Err(
                "what a layer asks that joins parts of what another has joined is not reckoned".to_owned()
            );
        }
        let (spread, name) = join(layer, drives)?;
        Ok(Layout { drives, spread, failed: lost(stack)?, name })
    }

    /// `RAID5`, `RAID5 with 1 drive lost`.
    pub fn said(&self) -> String {
        match self.failed {
            0 => self.name.clone(),
            1 => format!("{} with 1 drive lost", self.name),
            many => format!("{} with {many} drives lost", self.name),
        }
    }
}

/// Whether a layer makes one of several drives.
pub fn is_joined(stack: &Stack) -> bool {
    known_join(stack).is_some() || (is_of_many(stack) && stack.loaded_at_once().is_none())
}

/// The layer that does, where it is one that is known.
pub fn joining(stack: &Stack) -> Option<&LayerSpec> {
    known_join(stack).map(|(layer, _)| layer)
}

fn joins(layer: &LayerSpec) -> bool {
    JOINS.iter().any(|(name, _)| *name == layer.name)
}

fn known_join(stack: &Stack) -> Option<(&LayerSpec, Join)> {
    let join = |layer| JOINS.iter().find(|(name, _)| *name == layer).map(|(_, join)| *join);
    let found = stack.layers.iter().find_map(|layer| Some((layer, join(layer.name.as_str())?)));
    found.filter(|_| is_of_many(stack))
}

fn is_of_many(stack: &Stack) -> bool {
    matches!(stack.medium, Medium::Many { .. })
}

/// Drives that an array does without while it is measured.
fn lost(stack: &Stack) -> Result<u64, String> {
    let lost = stack.state.as_ref().map_or(Some(0), InState::lost);
    lost.map(u64::from).ok_or_else(|| "what a rebuild takes of its drives is not known".to_owned())
}

/// Files of several members may lie on one drive; nobody says.
fn drives(medium: &Medium) -> Result<u64, String> {
    let is_file = |member: &Medium| matches!(member, Medium::File { .. });
    match medium {
        Medium::Many { members } if members.iter().any(is_file) => {
            Err("members that are files may lie on one drive".to_owned())
        }
        medium => Ok(medium.members().len() as u64),
    }
}

/// A whole number; `None` where none is written and the layer has no default.
pub fn number(layer: &LayerSpec, option: &str) -> Option<u64> {
    layer.option(option)?.parse().ok()
}

/// A size, or what the program takes where none is written.
pub fn size(layer: &LayerSpec, option: &str, usual: u64) -> u64 {
    layer.option(option).and_then(|text| parse_bytes(text).ok()).unwrap_or(usual)
}

/// What mdadm takes for a chunk.
pub const MD_CHUNK: u64 = 512 * KIB;
/// What lvcreate takes for a stripe.
pub const LVM_STRIPE: u64 = 64 * KIB;
/// What zfs takes for a record of a file system, and for a block of a volume.
pub const ZFS_RECORD: u64 = 128 * KIB;
pub const ZFS_VOLBLOCK: u64 = 16 * KIB;
/// btrfs allocates data in chunks of at most so many bytes, each on the drive that has most room left.
const BTRFS_CHUNK: u64 = 1 << 30;
/// One drive is full before the next begins.
const ONE_BY_ONE: Spread = Spread::Linear { chunk: None };
/// What SPDK has no default for; 64 KiB in all of its examples.
pub const SPDK_STRIP: u64 = 64 * KIB;

fn mdraid(layer: &LayerSpec, drives: u64) -> Result<(Spread, String), String> {
    let level = layer.option("level").unwrap_or_default();
    let chunk = size(layer, "chunk", MD_CHUNK);
    let spread = match level {
        "0" => Spread::Striped { over: drives },
        "1" => Spread::Mirrored { copies: drives, groups: true },
        "10" => {
            let (copies, is_near) =
                (copies(layer), layer.option("layout").is_none_or(|word| word.starts_with('n')));
            Spread::Mirrored { copies, groups: is_near && drives % copies == 0 }
        }
        "5" => parity(drives, 1, chunk, false)?,
        "6" => parity(drives, 2, chunk, false)?,
        other => return Err(format!("what RAID level {other} asks of its drives is not known")),
    };
    Ok((spread, format!("RAID{level}")))
}

/// `n3` keeps three copies; two are mdadm's own choice.
fn copies(layer: &LayerSpec) -> u64 {
    let written =
        layer.option("layout").and_then(|layout| layout.strip_prefix(['n', 'f', 'o'])?.parse().ok());
    written.unwrap_or(2)
}

fn linear(_: &LayerSpec, _: u64) -> Result<(Spread, String), String> {
    Ok((ONE_BY_ONE, "linear".to_owned()))
}

/// Of file systems only btrfs takes several devices.
fn btrfs(layer: &LayerSpec, drives: u64) -> Result<(Spread, String), String> {
    let profile = layer.option("data").unwrap_or("single");
    let spread = match profile {
        "single" => Spread::Linear { chunk: Some(BTRFS_CHUNK) },
        "raid0" => Spread::Striped { over: drives },
        "raid1" | "raid10" => Spread::Mirrored { copies: 2, groups: false },
        other => return Err(format!("what btrfs's {other} asks of its drives is not known")),
    };
    Ok((spread, format!("btrfs {profile}")))
}

fn parity(drives: u64, parity: u64, chunk: u64, whole: bool) -> Result<Spread, String> {
    match drives > parity {
        true => Ok(Spread::Parity { parity, chunk, whole }),
        false => Err(format!("{drives} drives are too few for {parity} of parity")),
    }
}

fn lvm(layer: &LayerSpec, drives: u64) -> Result<(Spread, String), String> {
    let stripes = number(layer, "stripes").map(|stripes| stripes.min(drives));
    match (layer.option("type").unwrap_or("linear"), stripes) {
        ("striped", stripes) => {
            let over = stripes.unwrap_or(drives);
            Ok((Spread::Striped { over }, "LVM stripe".to_owned()))
        }
        ("thin", Some(over)) if over > 1 => {
            Ok((Spread::Striped { over }, "striped LVM thin pool".to_owned()))
        }
        ("thin", _) => Ok((ONE_BY_ONE, "LVM thin pool".to_owned())),
        ("linear", _) => Ok((ONE_BY_ONE, "linear LVM".to_owned())),
        ("cache", _) => Err("which of its drives answers is for the cache to choose".to_owned()),
        (other, _) => Err(format!("what LVM's type {other} asks of its drives is not known")),
    }
}

fn zfs(layer: &LayerSpec, drives: u64) -> Result<(Spread, String), String> {
    let sector = 1 << number(layer, "ashift").filter(|shift| (9..=16).contains(shift)).unwrap_or(12);
    let raidz = |parity: u64| match drives > parity {
        true => Ok(Spread::Raidz { parity, block: zfs_block(layer), sector }),
        false => Err(format!("{drives} drives are too few for {parity} of parity")),
    };
    Ok(match layer.option("vdev").unwrap_or("stripe") {
        "stripe" => (Spread::Striped { over: drives }, "ZFS stripe".to_owned()),
        // Mirrors of two, and a stripe of these.
        "mirror" => (Spread::Mirrored { copies: 2, groups: true }, "ZFS mirrors".to_owned()),
        "raidz" | "raidz1" => (raidz(1)?, "raidz".to_owned()),
        "raidz2" => (raidz(2)?, "raidz2".to_owned()),
        "raidz3" => (raidz(3)?, "raidz3".to_owned()),
        other => return Err(format!("what a vdev of type {other} asks of its drives is not known")),
    })
}

/// Bytes of what ZFS writes as one.
pub fn zfs_block(layer: &LayerSpec) -> u64 {
    match layer.option("kind") {
        Some("dataset") => size(layer, "recordsize", ZFS_RECORD),
        _ => size(layer, "volblocksize", ZFS_VOLBLOCK),
    }
}

fn spdk(layer: &LayerSpec, drives: u64) -> Result<(Spread, String), String> {
    let strip = size(layer, "strip-size", SPDK_STRIP);
    let level = layer.option("raid").unwrap_or_default();
    let spread = match level {
        "raid0" => Spread::Striped { over: drives },
        "raid1" => Spread::Mirrored { copies: drives, groups: true },
        "concat" => ONE_BY_ONE,
        "raid5f" => parity(drives, 1, strip, true)?,
        other => return Err(format!("what SPDK's {other} asks of its drives is not known")),
    };
    Ok((spread, format!("SPDK {level}")))
}
