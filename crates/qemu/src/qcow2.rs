//! qcow2 images of a disk, and their sizes. The whole chain of images lies in the disk's part of a
//! file or device, one after the other. Metadata is sized by the format (docs/interop/qcow2.txt of
//! QEMU) for the case that every cluster is written, so that no image outgrows its space. The rest
//! limits the size of the disk.

use crate::disk::{Aio, Backend, DiskSpec};
use crate::option_value::{OptionValue, on_off};
use iotax_units::MIB;

pub const SMALLEST_CLUSTER: u64 = 512;
pub const LARGEST_CLUSTER: u64 = 2 * MIB;
/// QEMU's default size of a cluster in bytes, for tests.
#[cfg(any(test, feature = "testing"))]
pub const USUAL_CLUSTER: u64 = 64 << 10;

/// Size in bytes of an entry of the L1, L2 and refcount tables.
const ENTRY: u64 = 8;
const REFCOUNT: u64 = 2;

/// Bytes of L2 tables that QEMU caches for an image by default, on Linux.
const USUAL_L2_CACHE: u64 = 32 * MIB;
/// Clusters of refcount blocks that QEMU caches for each image.
const REFCOUNT_CLUSTERS: u64 = 4;

/// Range of a file or device, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub offset: u64,
    pub bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qcow2 {
    /// Range of each image in the file or device: the base first, the one that the guest writes
    /// last.
    pub spans: Vec<Span>,
    /// Size of the disk in bytes, the same for all images.
    pub bytes: u64,
    /// Size of a cluster in bytes.
    pub cluster: u64,
    pub lazy_refcounts: bool,
    /// Bytes of L2 tables that QEMU caches for each image; `None` for QEMU's default.
    pub l2_cache: Option<u64>,
}

impl Qcow2 {
    /// Returns the number of images below the one that the guest writes.
    pub fn backing(&self) -> usize {
        self.spans.len().saturating_sub(1)
    }

    /// Returns the most bytes of tables that QEMU caches for all images together
    /// (docs/qcow2-cache.txt of QEMU). For each image these are its L2 tables, up to 32 MiB or
    /// `l2_cache`, and four clusters of refcounts.
    pub fn table_cache(&self) -> u64 {
        let tables = l2_tables(self.bytes, self.cluster) * self.cluster;
        let each =
            tables.min(self.l2_cache.unwrap_or(USUAL_L2_CACHE)) + REFCOUNT_CLUSTERS * self.cluster;
        self.spans.len() as u64 * each
    }

    /// Adds to `value` the block node of the top image, with those below it nested in it. Only the
    /// top image is locked, since the images are in one file and the others are only read.
    pub(super) fn node(&self, disk: &DiskSpec, value: OptionValue) -> OptionValue {
        let below = |image: usize| "backing.".repeat(image);
        self.spans.iter().rev().enumerate().fold(value, |value, (image, span)| {
            let own = |key: &str| format!("{}{key}", below(image));
            let value = match image {
                0 => value,
                _ => value.set(&own("driver"), "qcow2"),
            };
            let locked = image == 0 && disk.is_locked();
            let value = value.maybe(&own("l2-cache-size"), self.l2_cache);
            stretch(value, &own("file."), &disk.path, disk.backend, *span, disk.aio)
                .maybe(&own("file.file.locking"), (!locked).then_some("off"))
        })
    }
}

/// Returns the block node, for QEMU's storage daemon, of the range in which an image is made. The
/// node refuses access beyond the range.
pub fn room_node(name: &str, path: &std::path::Path, backend: Backend, span: Span) -> OptionValue {
    stretch(OptionValue::new("node-name", name), "", path, backend, span, Aio::Threads)
        .set("cache.direct", on_off(false))
}

/// Adds to `value` a raw block node that shows only this range of the file or device. Its keys
/// begin with `prefix`.
fn stretch(
    value: OptionValue,
    prefix: &str,
    path: &std::path::Path,
    backend: Backend,
    span: Span,
    aio: Aio,
) -> OptionValue {
    let key = |name: &str| format!("{prefix}{name}");
    value
        .set(&key("driver"), "raw")
        .set(&key("offset"), span.offset.to_string())
        .set(&key("size"), span.bytes.to_string())
        .set(&key("file.driver"), backend.driver())
        .set(&key("file.filename"), path)
        .set(&key("file.aio"), aio.word())
}

/// Lays out the images of a disk within `part`: a base that contains the data, then `backing` empty
/// images over it, the last with room for all data if it is `written`. Returns the range of each
/// image and the size of the disk in bytes, as large as `part` allows. `None` if there is no room
/// for a disk of 1 MiB.
pub fn lay_out(
    part: Span,
    cluster: u64,
    backing: usize,
    written: bool,
) -> Option<(Vec<Span>, u64)> {
    let rooms = |mib: u64| -> Vec<u64> {
        let bytes = mib * MIB;
        let whole = whole_room(bytes, cluster);
        let empty = empty_room(bytes, cluster);
        let top = if written { whole } else { empty };
        let mut rooms = vec![whole];
        rooms.extend((0..backing).map(|at| if at + 1 == backing { top } else { empty }));
        rooms
    };
    let fits = |mib: u64| rooms(mib).iter().sum::<u64>() <= part.bytes;
    let (mut most, mut too_much) = (0, part.bytes / MIB + 1);
    while too_much - most > 1 {
        let middle = most + (too_much - most) / 2;
        if fits(middle) { most = middle } else { too_much = middle }
    }
    if most == 0 {
        return None;
    }
    let mut offset = part.offset;
    let spans = rooms(most).into_iter().map(|bytes| {
        let span = Span { offset, bytes };
        offset += bytes;
        span
    });
    Some((spans.collect(), most * MIB))
}

/// Returns the size of an image for a disk of `bytes`, if every cluster is written.
fn whole_room(bytes: u64, cluster: u64) -> u64 {
    room(bytes.div_ceil(cluster) + tables(bytes, cluster), cluster)
}

/// Returns the size of an image for a disk of `bytes`, if nothing is ever written to it: no data
/// and no L2 tables.
fn empty_room(bytes: u64, cluster: u64) -> u64 {
    room(l1_clusters(bytes, cluster) + 1, cluster)
}

/// Returns the number of clusters of L2 and L1 tables for a disk of `bytes`. L2 tables have an
/// entry for each cluster of data, the L1 table one for each L2 table.
fn tables(bytes: u64, cluster: u64) -> u64 {
    l2_tables(bytes, cluster) + l1_clusters(bytes, cluster)
}

fn l2_tables(bytes: u64, cluster: u64) -> u64 {
    (bytes.div_ceil(cluster) * ENTRY).div_ceil(cluster)
}

fn l1_clusters(bytes: u64, cluster: u64) -> u64 {
    (l2_tables(bytes, cluster) * ENTRY).div_ceil(cluster)
}

/// Returns the size in bytes, in whole MiB, of a header cluster, `clusters` further ones of size
/// `cluster`, and the refcounts of all of these. A refcount table that outgrows its first cluster
/// moves, with its blocks, before the old one is freed; then there is room for both.
fn room(clusters: u64, cluster: u64) -> u64 {
    let (blocks, table) = refcounts(clusters + 1, cluster);
    let moving = if table > 1 { 2 * (blocks + table) + 16 } else { 0 };
    ((clusters + 1 + blocks + table + moving) * cluster).next_multiple_of(MIB)
}

/// Returns how many clusters the refcount blocks and the refcount table take. They count `clusters`
/// other clusters and themselves.
fn refcounts(clusters: u64, cluster: u64) -> (u64, u64) {
    let (mut blocks, mut table) = (0, 0);
    loop {
        let more = ((clusters + blocks + table) * REFCOUNT).div_ceil(cluster);
        let larger = (more * ENTRY).div_ceil(cluster);
        if (more, larger) == (blocks, table) {
            return (blocks, table);
        }
        (blocks, table) = (more, larger);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const GIB: u64 = 1 << 30;

    #[test]
    fn every_image_of_a_chain_keeps_tables_in_memory() {
        let span = Span { offset: 0, bytes: 0 };
        let chain = |bytes: u64, cluster: u64, images: usize, l2_cache| {
            let spans = vec![span; images];
            Qcow2 { spans, bytes, cluster, lazy_refcounts: false, l2_cache }.table_cache()
        };
        let gib = 1 << 30;
        // 8 bytes for each 64 KiB, and 256 KiB of refcounts.
        assert_eq!(chain(gib, USUAL_CLUSTER, 1, None), (128 + 256) << 10);
        assert_eq!(chain(256 * gib, USUAL_CLUSTER, 1, None), (32 << 20) + (256 << 10));
        assert_eq!(
            chain(1024 * gib, USUAL_CLUSTER, 3, None),
            3 * ((32 << 20) + (256 << 10)),
            "no more than that"
        );
        assert_eq!(
            chain(1024 * gib, USUAL_CLUSTER, 2, Some(4 << 20)),
            2 * ((4 << 20) + (256 << 10))
        );
        assert_eq!(
            chain(gib, USUAL_CLUSTER, 1, Some(64 << 20)),
            (128 + 256) << 10,
            "no more than there is"
        );
        // A table takes a whole cluster.
        assert_eq!(chain(1280 << 20, USUAL_CLUSTER, 1, None), (192 + 256) << 10);
    }

    #[test]
    fn a_chain_fits_its_part_and_no_disk_is_longer() {
        for cluster in [512, 4096, 64 << 10, 2 << 20] {
            for (backing, written) in [(0, true), (1, true), (1, false), (8, true), (8, false)] {
                let part = Span { offset: 3 * GIB, bytes: GIB };
                let (spans, bytes) = lay_out(part, cluster, backing, written).unwrap();
                assert_eq!(spans.len(), backing + 1);
                let ends = spans.iter().map(|span| span.offset + span.bytes);
                assert!(
                    ends.eq(spans[1..].iter().map(|span| span.offset).chain([spans
                        .iter()
                        .map(|span| span.bytes)
                        .sum::<u64>()
                        + part.offset]))
                );
                assert!(spans.iter().map(|span| span.bytes).sum::<u64>() <= part.bytes);
                let holders = if backing > 0 && written { 2 } else { 1 };
                assert!(
                    bytes * holders <= part.bytes
                        && bytes * holders > part.bytes / 10 * 9 - 40 * MIB
                );
            }
        }
        assert_eq!(lay_out(Span { offset: 0, bytes: MIB }, USUAL_CLUSTER, 0, true), None);
    }

    /// QEMU's own reckoning of an image that is allocated in full.
    fn measured(bytes: u64, cluster: u64) -> Option<u64> {
        let output = Command::new("qemu-img")
            .args([
                "measure",
                "--output=json",
                "-O",
                "qcow2",
                "-o",
                &format!("cluster_size={cluster}"),
            ])
            .args(["--size", &bytes.to_string()])
            .output()
            .ok()?;
        let told: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
        told["fully-allocated"].as_u64()
    }

    #[test]
    fn room_is_what_qemu_measures() {
        for cluster in [512, 4096, 64 << 10, 2 << 20] {
            for bytes in [MIB, 100 * MIB, GIB, 37 * GIB + 5 * MIB, 1 << 40] {
                let Some(told) = measured(bytes, cluster) else {
                    println!(
                        "skipped: needs qemu-img, or one that measures {bytes} in clusters of {cluster}"
                    );
                    continue;
                };
                let clusters = bytes.div_ceil(cluster) + tables(bytes, cluster) + 1;
                let (blocks, table) = refcounts(clusters, cluster);
                assert_eq!(
                    (clusters + blocks + table) * cluster,
                    told,
                    "{bytes} bytes in clusters of {cluster}"
                );
                assert!(whole_room(bytes, cluster) >= told);
            }
        }
    }
}
