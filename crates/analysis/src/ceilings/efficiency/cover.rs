//! Part of concatenated drives that a load reaches. Its region is as large as the smallest of the
//! compared stacks, and may be on the first drive alone.

use super::layout::{Layout, LayoutSpread};

/// Part of concatenated drives that the region of a load is on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CoveredPart {
    /// Number of drives that the region is worth: the rate of I/Os at random places is this many
    /// times that of the drive with most of the region.
    pub worth: f64,
    /// Number of drives with more than [`WORTH_A_WORD`] of the fullest drive's part.
    pub drives: u64,
}

/// Region of a load: one stretch of `bytes` in each of `parts` equal parts of the device, such as
/// one per guest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadRegion {
    /// Byte within its part at which each stretch begins.
    pub offset: u64,
    pub bytes: u64,
    /// Number of equal parts of the device.
    pub parts: u64,
}

/// Smallest part of the region on a drive that counts, as a share of the fullest drive's. Less
/// comes from LVM's own extent, or from rounding.
const WORTH_A_WORD: f64 = 0.02;
/// Smallest number of chunks that btrfs makes of a file system, which limits their size.
const CHUNKS_AT_LEAST: u64 = 10;

impl CoveredPart {
    /// Returns the covered part of drives with `member` bytes each. `None` if the region is empty,
    /// and for a layout that alternates between drives all the time: every region is on all of
    /// them.
    pub fn by_region(layout: &Layout, member: u64, region: &LoadRegion) -> Option<CoveredPart> {
        let LayoutSpread::Linear { chunk } = layout.spread else { return None };
        let whole = layout.drives * member;
        let unit = chunk.map_or(member, |chunk| chunk.min(whole / CHUNKS_AT_LEAST)).max(1);
        let mut of_drive = vec![0u64; layout.drives as usize];
        for part in 0..region.parts.max(1) {
            let mut from = part * (whole / region.parts.max(1)) + region.offset;
            let end = from + region.bytes;
            while from < end {
                let to = end.min((from / unit + 1) * unit);
                of_drive[((from / unit) % layout.drives) as usize] += to - from;
                from = to;
            }
        }
        let (most, all) =
            (of_drive.iter().copied().max()? as f64, of_drive.iter().sum::<u64>() as f64);
        let counts = |bytes: &&u64| **bytes as f64 > WORTH_A_WORD * most;
        let drives = of_drive.iter().filter(counts).count() as u64;
        (most > 0.0).then(|| CoveredPart { worth: all / most, drives })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    fn covered(chunk: Option<u64>, region: LoadRegion) -> (f64, u64) {
        let layout = Layout {
            spread: LayoutSpread::Linear { chunk },
            name: "linear".into(),
            ..Layout::without_join(4)
        };
        let found = CoveredPart::by_region(&layout, 100 * GIB, &region).unwrap();
        ((found.worth * 100.0).round() / 100.0, found.drives)
    }

    #[test]
    fn a_region_of_one_drives_size_is_on_the_first_drive() {
        let region = |offset: u64, bytes: u64, parts: u64| LoadRegion { offset, bytes, parts };
        assert_eq!(covered(None, region(0, 100 * GIB, 1)), (1.0, 1));
        assert_eq!(covered(None, region(0, 400 * GIB, 1)), (4.0, 4));
        assert_eq!(covered(None, region(0, 150 * GIB, 1)), (1.5, 2), "two thirds are on the first");
        assert_eq!(covered(None, region(50 * GIB, 100 * GIB, 1)), (2.0, 2));
        // LVM keeps a part of the first drive for itself.
        assert_eq!(covered(None, region(0, 100 * GIB + (4 << 20), 1)), (1.0, 1));
        // A quarter of the whole for each of four guests.
        assert_eq!(covered(None, region(0, 10 * GIB, 4)), (4.0, 4));
        assert_eq!(covered(None, region(0, 10 * GIB, 8)), (4.0, 4), "two on each");
        // btrfs has turns of a chunk.
        assert_eq!(covered(Some(GIB), region(0, 8 * GIB, 1)), (4.0, 4));
        assert_eq!(covered(Some(GIB), region(0, 2 * GIB, 1)), (2.0, 2));
        assert_eq!(covered(Some(GIB), region(0, GIB / 2, 1)), (1.0, 1));
    }

    #[test]
    fn what_turns_all_the_time_is_on_all_drives() {
        assert_eq!(
            CoveredPart::by_region(
                &Layout::without_join(4),
                GIB,
                &LoadRegion { offset: 0, bytes: 1, parts: 1 }
            ),
            None
        );
    }
}
