//! Signatures on a target, by the magic bytes that file systems, volume managers and partition
//! tables leave at known places (offsets as in libblkid), and by blkid when it is installed. Reads
//! only; a part that cannot be read is reported, not taken for empty.

use super::found::{AMBIVALENT, Signature};
use crate::probe::program_path;
use anyhow::{Context, Result, bail};
use iotax_sys::child::{ANSWERS_WITHIN, output_of};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

/// A signature that is recognised by a magic at a fixed position.
#[derive(Clone, Copy, Debug)]
pub struct SignatureKind {
    /// libblkid's name where it has one.
    pub name: &'static str,
    pub at: SignaturePlace,
    pub magic: &'static [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignaturePlace {
    /// Offset from the start, in bytes.
    Start(u64),
    /// Distance from the end, in bytes.
    End(u64),
}

const fn magic_at_start(name: &'static str, at: u64, magic: &'static [u8]) -> SignatureKind {
    SignatureKind { name, at: SignaturePlace::Start(at), magic }
}

const fn magic_before_end(name: &'static str, before: u64, magic: &'static [u8]) -> SignatureKind {
    SignatureKind { name, at: SignaturePlace::End(before), magic }
}

const MD: &[u8] = b"\xfc\x4e\x2b\xa9";
/// Little-endian 0x00bab10c, an uberblock of ZFS.
const ZFS_UBERBLOCK: &[u8] = b"\x0c\xb1\xba\x00\x00\x00\x00\x00";

/// Magics at a fixed position; [`COMPUTED`] has those whose position or name must be computed.
pub const ALL: &[SignatureKind] = &[
    magic_at_start("xfs", 0, b"XFSB"),
    magic_at_start("btrfs", 0x1_0040, b"_BHRfS_M"),
    magic_at_start("f2fs", 1024, b"\x10\x20\xf5\xf2"),
    magic_at_start("vfat", 54, b"FAT12   "),
    magic_at_start("vfat", 54, b"FAT16   "),
    magic_at_start("vfat", 82, b"FAT32   "),
    magic_at_start("ntfs", 3, b"NTFS    "),
    magic_at_start("exfat", 3, b"EXFAT   "),
    magic_at_start("BitLocker", 3, b"-FVE-FS-"),
    magic_at_start("iso9660", 0x8001, b"CD001"),
    magic_at_start("udf", 0x8001, b"BEA01"),
    magic_at_start("squashfs", 0, b"hsqs"),
    magic_at_start("cramfs", 0, b"\x45\x3d\xcd\x28"),
    magic_at_start("romfs", 0, b"-rom1fs-"),
    magic_at_start("erofs", 1024, b"\xe2\xe1\xf5\xe0"),
    magic_at_start("zonefs", 0, b"SFOZ"),
    magic_at_start("reiserfs", 0x1_0034, b"ReIsErFs"),
    magic_at_start("reiserfs", 0x1_0034, b"ReIsEr2Fs"),
    magic_at_start("jfs", 0x8000, b"JFS1"),
    magic_at_start("gfs2", 0x1_0000, b"\x01\x16\x19\x70"),
    magic_at_start("ocfs2", 1024, b"OCFSV2"),
    magic_at_start("ocfs2", 2048, b"OCFSV2"),
    magic_at_start("ocfs2", 4096, b"OCFSV2"),
    magic_at_start("ocfs2", 8192, b"OCFSV2"),
    magic_at_start("apfs", 32, b"NXSB"),
    magic_at_start("hfsplus", 1024, b"H+\x00\x04"),
    magic_at_start("hfsplus", 1024, b"HX\x00\x05"),
    magic_at_start("VMFS_volume_member", 0x10_0000, b"\x0d\xd0\x01\xc0"),
    magic_at_start("VMFS", 0x20_0000, b"\x5e\xf1\xab\x2f"),
    magic_at_start(
        "bcachefs",
        4120,
        b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef",
    ),
    magic_at_start(
        "bcache",
        4120,
        b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81",
    ),
    magic_at_start("ceph_bluestore", 0, b"bluestore block device"),
    magic_at_start("stratis", 516, b"!Stra0tis\x86\xff\x02^\x41rh"),
    magic_at_start("vdo", 0, b"dmvdo001"),
    // The type within the label of one of the first four sectors: wipefs takes that and leaves
    // LABELONE before it.
    magic_at_start("LVM2_member", 24, b"LVM2 001"),
    magic_at_start("LVM2_member", 536, b"LVM2 001"),
    magic_at_start("LVM2_member", 1048, b"LVM2 001"),
    magic_at_start("LVM2_member", 1560, b"LVM2 001"),
    magic_at_start("crypto_LUKS", 0, b"LUKS\xba\xbe"),
    // The second header of LUKS2 survives a wipe of the first; its place depends on the metadata's
    // size.
    magic_at_start("crypto_LUKS", 0x4000, b"SKUL\xba\xbe"),
    magic_at_start("crypto_LUKS", 0x8000, b"SKUL\xba\xbe"),
    magic_at_start("crypto_LUKS", 0x1_0000, b"SKUL\xba\xbe"),
    magic_at_start("linux_raid_member", 0, MD),
    magic_at_start("linux_raid_member", 4096, MD),
    // Swap's magic ends the first page: of 4, 8, 16, 32 or 64 KiB.
    magic_at_start("swap", 0x0ff6, b"SWAPSPACE2"),
    magic_at_start("swap", 0x1ff6, b"SWAPSPACE2"),
    magic_at_start("swap", 0x3ff6, b"SWAPSPACE2"),
    magic_at_start("swap", 0x7ff6, b"SWAPSPACE2"),
    magic_at_start("swap", 0xfff6, b"SWAPSPACE2"),
    magic_at_start("swap", 0x0ff6, b"SWAP-SPACE"),
    magic_at_start("swsuspend", 0x0ff6, b"S1SUSPEND"),
    magic_at_start("swsuspend", 0x0ff6, b"S2SUSPEND"),
    magic_at_start("swsuspend", 0x0ff6, b"LINHIB0001"),
    magic_at_start("qcow2", 0, b"QFI\xfb"),
    magic_at_start("vmdk", 0, b"KDMV"),
    magic_at_start("vhdx", 0, b"vhdxfile"),
    magic_at_start("vdi", 64, b"\x7f\x10\xda\xbe"),
    magic_before_end("ddf_raid_member", 512, b"\xde\x11\xde\x11"),
    magic_before_end("isw_raid_member", 1024, b"Intel Raid ISM Cfg Sig. "),
];

/// Function that finds a signature whose position or name must be computed; returns its name and
/// its position in bytes.
type ComputedSignature = fn(&Area) -> Option<(&'static str, u64)>;

/// Signatures whose position depends on the size, or whose name depends on further bytes.
const COMPUTED: &[ComputedSignature] = &[ext, gpt_first, gpt_last, dos, md_0_90, md_1_0, zfs, drbd];

/// The start and the end of a target, read once.
struct Area {
    bytes: u64,
    block: u64,
    head: Vec<u8>,
    tail: Vec<u8>,
}

/// Bytes read at the start. The magic farthest from the start is at 2 MiB (VMFS), from the end at
/// 512 KiB (ZFS).
pub const HEAD: u64 = (2 << 20) + (64 << 10);
/// Bytes read at the end.
pub const TAIL: u64 = 1 << 20;
const PIECE: u64 = 64 << 10;

/// Finds signatures in the region of `bytes` bytes that starts at `base`. `block` is the size of a
/// logical block, and `place` precedes each position in words. The second part says which pieces
/// could not be read; `None` if all could.
pub fn scan(
    file: &File,
    base: u64,
    bytes: u64,
    block: u64,
    place: &str,
) -> (Vec<Signature>, Option<String>) {
    let mut failures = Vec::new();
    let mut read = |from: u64, length: u64| read_pieces(file, base + from, length, &mut failures);
    let head = read(0, HEAD.min(bytes));
    let tail = read(bytes - TAIL.min(bytes), TAIL.min(bytes));
    // Leaves the page cache as it was, for the sake of what is measured next. Advice may be
    // ignored.
    let _ = rustix::fs::fadvise(file, base, None, rustix::fs::Advice::DontNeed);
    let area = Area { bytes, block, head, tail };
    let fixed = ALL
        .iter()
        .filter_map(|kind| area.magic_position(kind.at, kind.magic).map(|at| (kind.name, at)));
    let computed = COMPUTED.iter().filter_map(|find| find(&area));
    let signatures = fixed
        .chain(computed)
        .map(|(name, at)| Signature { name: name.into(), place: format!("{place}at byte {at}") })
        .collect();
    let trouble = failures.first().map(|first| {
        format!("{place}{} pieces of 64 KiB unreadable, first {first}", failures.len())
    });
    (signatures, trouble)
}

/// Reads a range in pieces, so that a bad sector hides only its neighbours. A piece that cannot be
/// read is all zeros, and its error is added to `failures`.
fn read_pieces(file: &File, from: u64, length: u64, failures: &mut Vec<String>) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
    for (index, piece) in bytes.chunks_mut(PIECE as usize).enumerate() {
        let at = from + index as u64 * PIECE;
        if let Err(error) = file.read_exact_at(piece, at) {
            failures.push(format!("at byte {at}: {error}"));
        }
    }
    bytes
}

impl Area {
    /// Returns the bytes at a position, if they were read.
    fn bytes_at(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let tail_start = self.bytes - self.tail.len() as u64;
        let (part, from) = match offset < self.head.len() as u64 {
            true => (&self.head, offset),
            false => (&self.tail, offset.checked_sub(tail_start)?),
        };
        let from = usize::try_from(from).ok()?;
        part.get(from..from.checked_add(length)?)
    }

    fn read_u32(&self, offset: u64) -> Option<u32> {
        Some(u32::from_le_bytes(self.bytes_at(offset, 4)?.try_into().ok()?))
    }

    /// Returns the position in bytes of a magic; `None` if it is not at `at`.
    fn magic_position(&self, at: SignaturePlace, magic: &[u8]) -> Option<u64> {
        let offset = match at {
            SignaturePlace::Start(offset) => offset,
            SignaturePlace::End(before) => self.bytes.checked_sub(before)?,
        };
        (self.bytes_at(offset, magic.len())? == magic).then_some(offset)
    }
}

/// Distinguishes ext2, ext3, ext4 and their separate journals, which share a magic, by their
/// features (libblkid, superblocks/ext.c).
fn ext(area: &Area) -> Option<(&'static str, u64)> {
    const EXT3_INCOMPAT: u32 = 0x02 | 0x04 | 0x10;
    const EXT3_RO_COMPAT: u32 = 0x01 | 0x02 | 0x04;
    let at = area.magic_position(SignaturePlace::Start(1080), b"\x53\xef")?;
    let (compat, incompat, ro_compat) =
        (area.read_u32(1024 + 92)?, area.read_u32(1024 + 96)?, area.read_u32(1024 + 100)?);
    let name = match () {
        () if incompat & 0x08 != 0 => "jbd",
        () if incompat & !EXT3_INCOMPAT != 0 || ro_compat & !EXT3_RO_COMPAT != 0 => "ext4",
        () if compat & 0x04 != 0 => "ext3",
        () => "ext2",
    };
    Some((name, at))
}

const GPT: &[u8] = b"EFI PART";

/// Finds the first GPT in block 1; a disk that was once used with another block size has it
/// elsewhere.
fn gpt_first(area: &Area) -> Option<(&'static str, u64)> {
    [area.block, 512, 4096]
        .into_iter()
        .find_map(|block| Some(("gpt", area.magic_position(SignaturePlace::Start(block), GPT)?)))
}

/// Finds the copy of the GPT in the last block, which survives a wipe of the first.
fn gpt_last(area: &Area) -> Option<(&'static str, u64)> {
    [area.block, 512, 4096]
        .into_iter()
        .find_map(|block| Some(("gpt", area.magic_position(SignaturePlace::End(block), GPT)?)))
}

/// Finds an MBR partition table. 55 AA also ends the boot sectors of FAT and NTFS; a partition
/// table has four entries whose first byte is 0 or 0x80. The protective table of a GPT (type EE)
/// does not count.
fn dos(area: &Area) -> Option<(&'static str, u64)> {
    area.magic_position(SignaturePlace::Start(510), b"\x55\xaa")?;
    let boot_sector = ["vfat", "ntfs", "exfat", "BitLocker"];
    if ALL.iter().any(|kind| {
        boot_sector.contains(&kind.name) && area.magic_position(kind.at, kind.magic).is_some()
    }) {
        return None;
    }
    let entries: Vec<&[u8]> = area.bytes_at(446, 64)?.chunks(16).collect();
    let is_table = entries.iter().all(|entry| entry[0] & 0x7f == 0);
    let protective = entries.iter().any(|entry| entry[4] == 0xee);
    (is_table && !protective).then_some(("dos", 510))
}

/// Finds the superblock of md 0.90: 64 KiB before the end of the device, which is rounded down to
/// 64 KiB first.
fn md_0_90(area: &Area) -> Option<(&'static str, u64)> {
    let at = (area.bytes & !0xffff).checked_sub(0x1_0000)?;
    Some(("linux_raid_member", area.magic_position(SignaturePlace::Start(at), MD)?))
}

/// Finds the superblock of md 1.0: at least 8 KiB before the end, on a multiple of 4 KiB.
fn md_1_0(area: &Area) -> Option<(&'static str, u64)> {
    let at = ((area.bytes / 512).checked_sub(16)? & !7) * 512;
    Some(("linux_raid_member", area.magic_position(SignaturePlace::Start(at), MD)?))
}

/// Finds DRBD's internal metadata: the last whole block of 4 KiB. Its magic shows the format (8.4
/// or 9) and whether it was left unclean.
fn drbd(area: &Area) -> Option<(&'static str, u64)> {
    let at = (area.bytes & !0xfff).checked_sub(4096)? + 60;
    let word = area.bytes_at(at, 4)?;
    (word[..3] == *b"\x83\x74\x02" && matches!(word[3], 0x6b..=0x6d)).then_some(("drbd", at))
}

/// Finds ZFS: four labels of 256 KiB, two at either end; the second half of each is a ring of
/// uberblocks.
fn zfs(area: &Area) -> Option<(&'static str, u64)> {
    uberblocks(area.bytes).flat_map(|ring| ring.step_by(1 << 10)).find_map(|at| {
        Some(("zfs_member", area.magic_position(SignaturePlace::Start(at), ZFS_UBERBLOCK)?))
    })
}

/// Returns the byte ranges of the rings of uberblocks on a device with this number of bytes.
pub fn uberblocks(bytes: u64) -> impl Iterator<Item = Range<u64>> {
    const LABEL: u64 = 256 << 10;
    let whole = bytes & !(LABEL - 1);
    let labels = [Some(0), Some(LABEL), whole.checked_sub(2 * LABEL), whole.checked_sub(LABEL)];
    labels.into_iter().flatten().map(|label| label + LABEL / 2..label + LABEL)
}

/// Returns the names of signatures on a file or whole device, each once, without those in its
/// partitions.
///
/// # Errors
/// The file cannot be opened, or a part of it cannot be read.
pub fn names_on(path: &Path) -> Result<Vec<String>> {
    let mut file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let bytes = file.seek(SeekFrom::End(0))?;
    let (found, trouble) = scan(&file, 0, bytes, 512, "");
    if let Some(trouble) = trouble {
        bail!("{}: {trouble}", path.display());
    }
    let names: BTreeSet<String> = found.into_iter().map(|signature| signature.name).collect();
    Ok(names.into_iter().collect())
}

/// Returns the signatures that `blkid -p` finds, if it is installed. The second part says why it
/// could not be started.
pub fn ask_blkid(path: &Path) -> (Vec<Signature>, Option<String>) {
    let Some(blkid) = program_path("blkid") else {
        return (Vec::new(), None);
    };
    let mut command = Command::new(blkid);
    command.args(["-p", "-o", "export", "--"]).arg(path).env_clear();
    match output_of(&mut command, ANSWERS_WITHIN) {
        Err(error) => (Vec::new(), Some(format!("blkid does not start: {error}"))),
        // 2: nothing found, also when it cannot read, which our own scan reports. 8: contradictory.
        Ok(output) if output.status.code() == Some(8) => {
            let place = "by blkid, which finds contradictory signatures".to_owned();
            (vec![Signature { name: AMBIVALENT.into(), place }], None)
        }
        Ok(output) => (blkid_names(&String::from_utf8_lossy(&output.stdout)), None),
    }
}

fn blkid_names(text: &str) -> Vec<Signature> {
    text.lines()
        .filter_map(|line| line.strip_prefix("TYPE=").or_else(|| line.strip_prefix("PTTYPE=")))
        .map(|name| Signature { name: name.to_owned(), place: "by blkid".into() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A region of zeros with these bytes in it.
    fn names(bytes: u64, parts: &[(u64, &[u8])]) -> Vec<String> {
        let file = tempfile::tempfile().expect("temporary file");
        file.set_len(bytes).expect("size");
        for (at, part) in parts {
            file.write_all_at(part, *at).expect("write");
        }
        let (found, trouble) = scan(&file, 0, bytes, 512, "");
        assert_eq!(trouble, None);
        found.into_iter().map(|signature| signature.name).collect()
    }

    #[test]
    fn every_magic_of_the_table_is_found_where_it_stands() {
        let bytes = 16 << 20;
        for kind in ALL {
            let at = match kind.at {
                SignaturePlace::Start(at) => at,
                SignaturePlace::End(before) => bytes - before,
            };
            let found: BTreeSet<String> = names(bytes, &[(at, kind.magic)]).into_iter().collect();
            assert!(found.contains(kind.name), "{kind:?}: {found:?}");
        }
    }

    #[test]
    fn zeros_and_tiny_regions_hold_nothing() {
        for bytes in [0, 1, 511, 512, 4096, 65536, 3 << 20] {
            assert_eq!(names(bytes, &[]), Vec::<String>::new(), "{bytes}");
        }
    }

    #[test]
    fn places_that_are_computed() {
        let bytes = (16 << 20) + 12288;
        let one = |at, magic| names(bytes, &[(at, magic)]);
        assert_eq!(one(512, GPT), ["gpt"]);
        assert_eq!(one(4096, GPT), ["gpt"]);
        assert_eq!(one(bytes - 512, GPT), ["gpt"]);
        assert_eq!(one((bytes & !0xffff) - 65536, MD), ["linux_raid_member"]);
        assert_eq!(one(bytes - 8192, MD), ["linux_raid_member"]);
        assert_eq!(one((128 << 10) + 4096, ZFS_UBERBLOCK), ["zfs_member"]);
        assert_eq!(one((bytes & !0x3_ffff) - (128 << 10), ZFS_UBERBLOCK), ["zfs_member"]);
    }

    /// What make-bcache 1.0.8 (a backing device), drbdmeta 9.22.0 (formats 8.4 and 9, on a drive
    /// whose size is no multiple of 4 KiB) and ceph-osd 16.2.15 wrote to loop devices here.
    #[test]
    fn what_tools_wrote() {
        const BCACHE: &[u8] = b"\xd1\xba\xd4\x20\x04\x8c\x4a\x1d\x08\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\
            \xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81\x61\x32\xc4\x52\x1f\xce\x47\x99";
        const BLUESTORE: &[u8] =
            b"bluestore block device\n21111111-2222-3333-4444-555555555555\n\x02\x01\xeb\x01\0\0";
        let drbd = |kind: u8| {
            let mut block = vec![0; 64];
            block[15] = 4;
            block[56..].copy_from_slice(&[0, 0, 0, 0x80, 0x83, 0x74, 0x02, kind]);
            block
        };
        let bytes = (64 << 20) + 5 * 512;
        assert_eq!(names(bytes, &[(4096, BCACHE)]), ["bcache"]);
        assert_eq!(names(bytes, &[(0, BLUESTORE)]), ["ceph_bluestore"]);
        assert_eq!(names(bytes, &[(67_104_768, &drbd(0x6d))]), ["drbd"]);
        assert_eq!(names(64 << 20, &[(67_104_768, &drbd(0x6b))]), ["drbd"]);
        assert_eq!(names(64 << 20, &[(67_104_768, &drbd(0x67))]), [""; 0]);
    }

    /// No tool here writes VMFS or VDO: the numbers of libblkid (superblocks/vmfs.c, vdo.c), which
    /// is asked too where it is there.
    #[test]
    fn what_libblkid_knows_too() {
        let known: [(&str, u64, &[u8]); 3] = [
            ("VMFS_volume_member", 1 << 20, b"\x0d\xd0\x01\xc0"),
            ("VMFS", 2 << 20, b"\x5e\xf1\xab\x2f"),
            ("vdo", 0, b"dmvdo001"),
        ];
        for (name, at, magic) in known {
            assert_eq!(names(16 << 20, &[(at, magic)]), [name]);
            let file = tempfile::NamedTempFile::new().expect("temporary file");
            file.as_file().set_len(16 << 20).expect("size");
            file.as_file().write_all_at(magic, at).expect("write");
            match (program_path("blkid"), ask_blkid(file.path()).0.as_slice()) {
                (None, _) => println!("skipped: needs blkid"),
                // The checks of some versions ask for more than the magic.
                (Some(_), []) => {
                    println!("skipped: needs a blkid that takes a bare magic for {name}")
                }
                (Some(_), found) => assert_eq!(found[0].name, name),
            }
        }
    }

    #[test]
    fn a_partition_table_is_told_from_a_boot_sector() {
        let boot: (u64, &[u8]) = (510, b"\x55\xaa");
        assert_eq!(names(1 << 20, &[boot]), ["dos"]);
        assert_eq!(names(1 << 20, &[boot, (82, b"FAT32   ")]), ["vfat"]);
        assert_eq!(names(1 << 20, &[boot, (450, b"\xee"), (512, GPT)]), ["gpt"]);
        assert_eq!(names(1 << 20, &[boot, (446, b"\x33")]), Vec::<String>::new());
    }

    #[test]
    fn ext_by_its_features() {
        let with = |compat: u8, incompat: u8| {
            let features = [compat, 0, 0, 0, incompat, 0, 0, 0];
            names(1 << 20, &[(1080, b"\x53\xef"), (1024 + 92, &features)])
        };
        assert_eq!(with(0, 2), ["ext2"]);
        assert_eq!(with(4, 2), ["ext3"]);
        assert_eq!(with(4, 0x42), ["ext4"]);
        assert_eq!(with(0, 8), ["jbd"]);
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        let file = tempfile::tempfile().expect("temporary file");
        file.set_len(1 << 20).expect("size");
        let (_, trouble) = scan(&file, 0, 2 << 20, 512, "");
        assert!(trouble.expect("short").contains("unreadable"));
    }

    #[test]
    fn blkid_output() {
        let found =
            blkid_names("DEVNAME=/dev/x\nPTUUID=1\nPTTYPE=gpt\nTYPE=ext4\nUSAGE=filesystem\n");
        assert_eq!(found.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["gpt", "ext4"]);
    }
}
