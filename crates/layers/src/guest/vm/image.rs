//! Turns `vm(format=...)` into qcow2 images within what is below, and the steps that make them.
//! Refuses options that mean nothing for a raw disk, and preallocation where a backing chain
//! decides it.

use crate::{
    FirstWrites, PlanContext, flag, optional_bytes, required_bytes, required_number, required_word,
};
use anyhow::{Context, Result, bail, ensure};
use iotax_drivers::path_ref::PathRef;
use iotax_model::layer::vm::HELP;
use iotax_model::stack::LayerSpec;
use iotax_qemu::disk::{Backend, DiskSpec};
use iotax_qemu::image::MakeImage;
use iotax_qemu::qcow2::{LARGEST_CLUSTER, Qcow2, SMALLEST_CLUSTER, Span, lay_out};
use iotax_steps::op::Op;
use iotax_units::show_bytes;

/// Most backing images in a chain, not counting the top one.
const MOST_BACKING: usize = 8;

/// The qcow2 image, or the chain of them, that a stack asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageWish {
    cluster: u64,
    /// True if every cluster of the image with the data has its place from the start.
    mapped: bool,
    backing: usize,
    lazy_refcounts: bool,
    l2_cache: Option<u64>,
    unwritten: Option<FirstWrites>,
}

/// Returns true if the disk of a stack is a qcow2 image. An unknown format counts as no image.
pub fn is_image(spec: &LayerSpec) -> bool {
    spec.option("format") == Some("qcow2")
}

/// Returns the images of a stack; `None`: its disk is raw.
///
/// # Errors
/// An option that makes no sense next to the others, or a value that QEMU would refuse.
pub fn wish(spec: &LayerSpec) -> Result<Option<ImageWish>> {
    if !is_image(spec) {
        let of_images =
            HELP.options.iter().filter(|option| option.only_with == Some(("format", "qcow2")));
        let mut written =
            of_images.map(|option| option.name).filter(|word| spec.options.contains_key(*word));
        return match written.next() {
            Some(word) => {
                bail!(
                    "{}: {word} is of images, and the disk is raw; hint: add format=qcow2",
                    spec.origin
                )
            }
            None => Ok(None),
        };
    }
    let backing = spec.option("backing").map_or(Ok(0), |_| required_number(spec, "backing"))?;
    ensure!(
        backing <= MOST_BACKING,
        "{}: backing={backing} is more than {MOST_BACKING} images under the top one",
        spec.origin
    );
    let (mapped, unwritten) = contents(spec, backing)?;
    Ok(Some(ImageWish {
        cluster: cluster(spec)?,
        mapped,
        backing,
        lazy_refcounts: flag(spec, "lazy-refcounts"),
        l2_cache: optional_bytes(spec, "l2-cache-size")?,
        unwritten,
    }))
}

/// Returns whether every cluster has its place from the start, and the first writes without which
/// there is nothing to read (`None`: none are needed). Below an image everything is allocated in
/// full, so that `falloc` adds nothing to `metadata`; `full` writes it, too.
fn contents(spec: &LayerSpec, backing: usize) -> Result<(bool, Option<FirstWrites>)> {
    let order = match spec.option("first-writes") {
        Some("random") => FirstWrites::AtRandom { block: cluster(spec)?.max(4096) },
        _ => FirstWrites::InOrder,
    };
    let said =
        ["preallocation", "first-writes"].into_iter().find(|word| spec.options.contains_key(*word));
    if let (1.., Some(said)) = (backing, said) {
        bail!(
            "{}: {said} beside backing={backing}: the base of a chain has all of its clusters in order, and what lies on \
             it is empty; hint: leave {said} out",
            spec.origin
        );
    }
    let preallocation = required_word(spec, "preallocation")?;
    ensure!(
        preallocation == "off" || !spec.options.contains_key("first-writes"),
        "{}: first-writes beside preallocation={preallocation}: its clusters have their places before they are written; \
         hint: leave one of them out",
        spec.origin
    );
    Ok(match (backing, preallocation) {
        (1.., _) | (_, "metadata" | "falloc") => (true, None),
        (_, "full") => (true, Some(FirstWrites::InOrder)),
        _ => (false, Some(order)),
    })
}

fn cluster(spec: &LayerSpec) -> Result<u64> {
    let bytes = required_bytes(spec, "cluster-size")?;
    ensure!(
        bytes.is_power_of_two() && (SMALLEST_CLUSTER..=LARGEST_CLUSTER).contains(&bytes),
        "{}: cluster-size={} is not a power of two from 512 bytes to 2 MiB",
        spec.origin,
        required_word(spec, "cluster-size")?
    );
    Ok(bytes)
}

impl ImageWish {
    /// Returns the first writes that the disk needs, if part of it was never written.
    pub fn unwritten(&self) -> Option<FirstWrites> {
        self.unwritten
    }

    /// Plans the images of a disk within its part of what is below, and adds the steps that make
    /// them.
    ///
    /// # Errors
    /// The part is too small for a disk of 1 MiB.
    pub fn plan_images(
        &self,
        disk: &DiskSpec,
        below: &PathRef,
        spec: &LayerSpec,
        context: &mut PlanContext,
    ) -> Result<Qcow2> {
        let part = Span { offset: disk.offset, bytes: disk.bytes.unwrap_or(0) };
        let laid = lay_out(part, self.cluster, self.backing, context.writable);
        let (spans, bytes) = laid.with_context(|| {
            format!(
                "{}: {} are not enough for a disk of 1 MiB in {} of qcow2 with clusters of {}; hint: a larger file, or smaller clusters",
                spec.origin,
                show_bytes(part.bytes),
                if self.backing == 0 { "an image".to_owned() } else { format!("{} images", self.backing + 1) },
                show_bytes(self.cluster)
            )
        })?;
        for (at, span) in spans.iter().enumerate() {
            let why = match (at, self.backing) {
                (_, 0) => "make the image of the guest's disk",
                (0, _) => "make the base of the chain of images",
                _ => "make an empty image on the one before",
            };
            let make = MakeImage {
                on: below.clone(),
                block: disk.backend == Backend::HostDevice,
                offset: span.offset,
                room: span.bytes,
                bytes,
                cluster: self.cluster,
                mapped: self.mapped && at == 0,
                lazy_refcounts: self.lazy_refcounts,
            };
            context.add_step(why, Op::MakeImage(make));
        }
        Ok(Qcow2 {
            spans,
            bytes,
            cluster: self.cluster,
            lazy_refcounts: self.lazy_refcounts,
            l2_cache: self.l2_cache,
        })
    }
}
