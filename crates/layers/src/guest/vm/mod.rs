//! `vm(...)`: a guest with a disk over what is below. The options are QEMU's. The guest is QEMU
//! with a kernel found or fetched and this very binary as its PID 1, or an image with a system of
//! its own, which starts this binary. Stacks that ask for the same guest share it, with a disk
//! each.

mod image;
mod options;
mod parts;
mod seats;

pub use options::{NETWORK_NEEDS, gives_drive_to_stranger};
pub use parts::{FINDINGS, GuestParts, is_dead_kvm, requested};
pub(super) use seats::spawn;
pub use seats::{
    GuestDraft, GuestPlan, below_placeholder, draft_named_guest, finish, put_on_processors, reach,
};

use super::system_image;
use crate::volume::ceph;
use crate::{Claim, ExposedDevice, Layer, PlanContext, needs};
use anyhow::{Context, Result, anyhow, bail, ensure};
use image::ImageWish;
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::spdk;
use iotax_drivers::spdk::file::kind as spdk_kind;
use iotax_drivers::spdk::join::SplitSpdk;
use iotax_facts::guest::MOST_DISKS;
use iotax_host::Missing;
use iotax_host::pci::PciDrive;
use iotax_model::layer::LayerHelp;
use iotax_model::layer::vm::HELP;
use iotax_model::stack::LayerSpec;
use iotax_qemu::disk::{Aio, DiskSpec};
use iotax_steps::op::Op;
use iotax_units::exit::Failed;
use iotax_units::{MIB, show_bytes};
use options::GuestWish;
use std::path::PathBuf;

/// Returns the bytes of a device below that each of `guests` guests gets: equal parts in whole MiB.
/// A single guest gets all bytes, rounded down only if `whole_mib`. Refuses parts below 1 MiB.
fn part_bytes(bytes: u64, whole_mib: bool, guests: u32, spec: &LayerSpec) -> Result<u64> {
    if guests == 1 && !whole_mib {
        return Ok(bytes);
    }
    let part = bytes / u64::from(guests) / MIB * MIB;
    let below = show_bytes(bytes);
    ensure!(
        part > 0,
        "{}: {below} are not enough for {guests} guests, 1 MiB each; hint: a larger file",
        spec.origin,
    );
    Ok(part)
}

/// Returns the root image of a guest in which further layers are set up: the lab's, since a guest
/// of our own has only the kernel and iotax. Refuses somebody else's image, and several guests.
fn root_for_steps(spec: &LayerSpec, parts: &GuestParts) -> Result<PathBuf> {
    let refuse = |why: &str, hint: &str| {
        Err(Failed::input(format!("{}: layers inside of {why}; hint: {hint}", spec.origin)).into())
    };
    if system_image::wanted(spec).is_some() {
        return refuse(
            "an image with a system of its own",
            "leave image= out: the image of a lab has the programs",
        );
    }
    if spec.copies > 1 {
        return refuse(
            "several guests side by side",
            "one guest, or end the stack with the guests",
        );
    }
    let none = || {
        Failed::need(
            "there is no image of a lab, which guests boot in which layers are set up; hint: iotax lab build",
        )
    };
    Ok(parts.lab_image.clone().ok_or_else(none)?)
}

/// Refuses parts that begin within a write unit, since such a part could not be written.
fn whole_units(part: u64, below: &ExposedDevice, guests: u32, spec: &LayerSpec) -> Result<()> {
    let Some(unit) = below.write_unit.filter(|unit| guests > 1 && part % unit != 0) else {
        return Ok(());
    };
    bail!(
        "{}: {} guests would have {} each, and what is below takes writes of whole multiples of {} only; hint: one guest",
        spec.origin,
        guests,
        show_bytes(part),
        show_bytes(unit)
    )
}

/// Returns the device that each of the guests sharing one gets: all the same, or each a part of a
/// bdev, for which the step is added that splits it in the SPDK target.
fn shared_out(
    below: &PathRef,
    part: u64,
    guests: u32,
    context: &mut PlanContext,
) -> Result<Vec<PathRef>> {
    if guests == 1 || !matches!(below, PathRef::Bdev { .. }) {
        return Ok(vec![below.clone(); guests as usize]);
    }
    let split = SplitSpdk { bdev: below.clone(), parts: guests, mib: part / MIB };
    let parts = (0..guests).map(|at| split.part(at)).collect();
    context.add_step("share the bdev out among the guests", Op::SplitSpdk(split));
    parts
}

/// Returns the NUMA node on which all drives of one of the devices below are: the members of its
/// array, or the device itself. `None` if they are on several, or the node is not known.
fn node_of(below: &ExposedDevice, device: usize, parts: &GuestParts) -> Option<u32> {
    let array = below.arrays.get(device * below.arrays.len() / below.paths.len());
    let drives = array.map_or(&below.paths[device..=device], |array| &array.members);
    let node = |drive: &PathRef| {
        let is_it =
            |known: &&PciDrive| matches!(drive, PathRef::Path(path) if known.paths.contains(path));
        u32::try_from(parts.drives.iter().find(is_it)?.numa_node?).ok()
    };
    let first = node(drives.first()?);
    first.filter(|_| drives.iter().all(|drive| node(drive) == first))
}

/// Returns the number of disks that each guest has of the devices below, and the number of guests
/// that share one device. Refuses numbers that do not divide, and too many disks for a guest.
fn sharing(spec: &LayerSpec, below: &ExposedDevice) -> Result<(usize, u32)> {
    let (devices, guests) = (below.paths.len(), spec.copies as usize);
    ensure!(
        devices % guests == 0 || guests % devices == 0,
        "{}: {devices} devices below cannot be shared out evenly among {guests} of \"vm\"; hint: vm x{devices}",
        spec.origin
    );
    let disks = (devices / guests).max(1);
    ensure!(
        disks <= MOST_DISKS,
        "{}: each guest would have {disks} disks, and one has room for {MOST_DISKS}; hint: more guests",
        spec.origin
    );
    Ok((disks, (guests / devices).max(1) as u32))
}

pub struct VirtualMachine;

impl Layer for VirtualMachine {
    fn help(&self) -> &'static LayerHelp {
        &HELP
    }

    fn needs(&self, spec: &LayerSpec) -> Vec<&'static str> {
        let mut needs = vec!["qemu"];
        if system_image::wanted(spec).is_none() {
            needs.push("guest-kernel");
        }
        let of_way = options::attach_way(spec).map(|way| way.host_needs()).unwrap_or_default();
        // An SPDK target reports its own abilities (`missing_on_host`).
        let here = options::spdk_socket(spec).is_none();
        if here && options::aio(spec).is_ok_and(|aio| aio == Aio::IoUring) {
            // The need is that of the program that opens what is below. The program that makes
            // images uses threads.
            let served = of_way.contains(&"qemu-storage-daemon");
            needs.push(if served { "storage-daemon-io_uring" } else { "qemu-io_uring" });
        }
        if options::wants_firmware(spec) {
            needs.push("ovmf");
        }
        if image::is_image(spec) {
            needs.push("qemu-storage-daemon");
        }
        needs.extend(options::needs_of_card(spec));
        needs.extend(of_way);
        needs
    }

    fn missing_on_host(&self, spec: &LayerSpec) -> Vec<Missing> {
        let Some(socket) = options::spdk_socket(spec) else { return Vec::new() };
        let uring = options::aio(spec).is_ok_and(|aio| aio == Aio::IoUring);
        let what = spdk::answers(socket, &[spdk_kind(uring).create, spdk_kind(uring).delete]).err();
        what.and_then(|what| needs::need_as_missing("spdk", what)).into_iter().collect()
    }

    fn claim(&self, spec: &LayerSpec) -> Claim {
        if options::stands_on_socket(spec)
            || options::attach_way(spec).is_ok_and(|way| way.takes_drive())
        {
            return Claim::Takes;
        }
        match options::cache(spec) {
            Ok(cache) if !cache.direct() => Claim::Caches,
            _ if image::is_image(spec) => Claim::Writes,
            _ => Claim::SharedRead,
        }
    }

    fn writes_below(&self, spec: &LayerSpec) -> bool {
        image::is_image(spec) || options::gives_drive_to_stranger(spec)
    }

    fn gives_unwritten(&self, spec: &LayerSpec) -> bool {
        // An option that makes no sense is reported when the layer is planned.
        image::wish(spec).ok().flatten().is_some_and(|images| images.unwritten().is_some())
    }

    fn caches_writes(&self, spec: &LayerSpec) -> bool {
        // An overlay is opened through the page cache, whatever the cache mode.
        options::has_overlay(spec)
            || options::cache(spec).is_ok_and(|cache| !cache.direct() && cache.write_cache())
    }

    fn plan(
        &self,
        spec: &LayerSpec,
        below: &ExposedDevice,
        context: &mut PlanContext,
    ) -> Result<ExposedDevice> {
        ensure!(
            below.place.is_host(),
            "{}: a guest can run on this host only, not on {}",
            spec.origin,
            below.place
        );
        let parts = context
            .guest_parts
            .clone()
            .with_context(|| format!("{}: no parts for a guest", spec.origin))?;
        let below = &ceph::images(below, spec.copies, context);
        let mut wish = options::wish(spec, context.own, &parts)?;
        if context.set_up_above {
            wish.root = Some(root_for_steps(spec, &parts)?);
        }
        if below.paths == [PathRef::Nothing] {
            let guest = |copy| {
                let wish = GuestWish { copy, ..wish.clone() };
                seats::without_disk(context, parts.clone(), wish, &spec.origin)
            };
            let mut places = (0..spec.copies).map(guest);
            let place = places.next().context("a guest")?;
            let copies = places.map(|place| (place, PathRef::Nothing)).collect();
            return Ok(ExposedDevice { place, copies, ..below.clone() });
        }
        let images = image::wish(spec)?;
        ensure!(
            images.is_none() || !matches!(below.paths[..], [PathRef::Rbd(_), ..]),
            "{}: format=qcow2 lies in a file or on a device, and below is an image of Ceph, which needs none; hint: leave it out",
            spec.origin
        );
        let unwritten = images.as_ref().and_then(ImageWish::unwritten).or(below.unwritten);
        let disk =
            options::disk_spec(spec, below, context.writable || unwritten.is_some(), &parts)?;
        let (disks, guests) = sharing(spec, below)?;
        let whole_mib = options::attach_way(spec)?.shows_whole_mib() && !below.block;
        let part = part_bytes(below.bytes, whole_mib && !below.split, guests, spec)?;
        whole_units(part, below, guests, spec)?;
        let mut belows = Vec::new();
        for (number, device) in below.paths.iter().enumerate() {
            let (shared, node) =
                (shared_out(device, part, guests, context)?, node_of(below, number, &parts));
            belows.extend(
                shared.into_iter().enumerate().map(|(at, path)| (path, at as u64 * part, node)),
            );
        }
        let mut bytes = part;
        let mut seats = belows.iter().enumerate().map(|(at, (path, offset, node))| {
            let (copy, offset) = ((at / disks) as u32, *offset);
            let shared_out = guests > 1;
            let rbd = if let PathRef::Rbd(rbd) = path { Some(rbd.clone()) } else { None };
            let mut disk = DiskSpec { offset, bytes: Some(part), shared_out, rbd, ..disk.clone() };
            if let Some(images) = &images {
                let made = images.plan_images(&disk, path, spec, context)?;
                bytes = made.bytes;
                disk.qcow2 = Some(made);
            }
            disk.check_options().map_err(|why| anyhow!("{}: {why}", spec.origin))?;
            let wish = GuestWish { copy, ..wish.clone() };
            Ok(seats::seat(context, parts.clone(), wish, disk, path, *node, &spec.origin))
        });
        let all = seats.by_ref().collect::<Result<Vec<_>>>()?;
        drop(seats);
        let place = all.first().context("a guest")?.0.clone();
        for of_one in all.chunks(disks) {
            ensure!(
                of_one.iter().all(|(place, _)| *place == of_one[0].0),
                "{}: other stacks have disks in the same guest, and it has room for {MOST_DISKS}; hint: own = true",
                spec.origin
            );
        }
        let (own, copies) = all.split_at(disks);
        let paths = own.iter().map(|(_, path)| path.clone()).collect();
        let shown = ExposedDevice {
            paths,
            bytes,
            block: true,
            place,
            copies: copies.to_vec(),
            apart: false,
            ..below.clone()
        };
        Ok(ExposedDevice { writable: context.writable, unwritten, split: disks > 1, ..shown })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::required_number;
    use iotax_model::layer::OptionKind;
    use iotax_model::scenario::check::{ScenarioRequest, from_arguments};
    use iotax_qemu::attach;
    use iotax_qemu::boot::Requested;

    pub(super) fn vm(options: &[(&str, &str)]) -> LayerSpec {
        LayerSpec {
            name: "vm".into(),
            options: options.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect(),
            place: None,
            far: Vec::new(),
            copies: 1,
            tool: None,
            origin: "here".into(),
        }
    }

    #[test]
    fn qemu_knows_every_word_of_the_catalog() {
        let words = |name| match HELP.option(name).unwrap().kind {
            OptionKind::Word(words) => words,
            other => panic!("{name} is {other:?}"),
        };
        assert!(words("cache").iter().all(|word| options::cache(&vm(&[("cache", word)])).is_ok()));
        assert!(words("aio").iter().all(|word| options::aio(&vm(&[("aio", word)])).is_ok()));
        assert!(
            words("attach")
                .iter()
                .all(|word| options::attach_way(&vm(&[("attach", word)])).is_ok())
        );
        let ways: Vec<&str> = attach::ALL.iter().map(|way| way.name()).collect();
        assert_eq!(words("attach"), ways);
    }

    #[test]
    fn the_guests_of_a_scenario_share_one_accelerator() {
        let asked = |layers: &[&str]| {
            let stacks: Vec<String> =
                layers.iter().map(|layers| format!("file:/srv/x.img,size=1GiB{layers}")).collect();
            requested(&from_arguments(&stacks, &ScenarioRequest::default()).unwrap())
        };
        assert_eq!(asked(&["", " | loop"]).unwrap(), None);
        assert_eq!(asked(&[" | vm", " | vm(cache=unsafe)"]).unwrap(), Some(Requested::Auto));
        assert_eq!(asked(&["", " | vm(accel=tcg)"]).unwrap(), Some(Requested::Tcg));
        let error = asked(&[" | vm(accel=kvm)", "", " | vm"]).unwrap_err();
        assert!(error.to_string().contains("share one accelerator; hint: "), "{error}");
        assert_eq!(iotax_units::exit::code_of(&error), iotax_units::exit::BAD_INPUT);
    }

    #[test]
    fn aio_follows_the_cache_mode_unless_it_is_written() {
        assert_eq!(options::aio(&vm(&[])).unwrap(), Aio::Native);
        assert_eq!(options::aio(&vm(&[("cache", "writeback")])).unwrap(), Aio::Threads);
        assert_eq!(
            options::aio(&vm(&[("cache", "writeback"), ("aio", "native")])).unwrap(),
            Aio::Native
        );
        let wide: Result<u16> = required_number(&vm(&[("num-queues", "65537")]), "num-queues");
        assert!(wide.unwrap_err().to_string().contains("no number that fits"));
    }

    #[test]
    fn what_an_option_takes_is_a_need_of_that_option_alone() {
        assert_eq!(VirtualMachine.needs(&vm(&[])), ["qemu", "guest-kernel"]);
        let asked = VirtualMachine.needs(&vm(&[("aio", "io_uring"), ("firmware", "ovmf")]));
        assert_eq!(asked, ["qemu", "guest-kernel", "qemu-io_uring", "ovmf"]);
        assert_eq!(VirtualMachine.needs(&vm(&[("image", "/srv/debian.qcow2")])), ["qemu"]);
        let asked = VirtualMachine.needs(&vm(&[("attach", "vhost-user-blk")]));
        assert_eq!(asked, ["qemu", "guest-kernel", "qemu-storage-daemon"]);
        let asked = VirtualMachine.needs(&vm(&[("attach", "vhost-user-blk"), ("aio", "io_uring")]));
        assert_eq!(
            asked,
            ["qemu", "guest-kernel", "storage-daemon-io_uring", "qemu-storage-daemon"]
        );
        let spdk = [("attach", "vhost-user-blk"), ("spdk", "/run/spdk.sock"), ("aio", "io_uring")];
        assert!(VirtualMachine.needs(&vm(&spdk)).iter().all(|need| !need.ends_with("-io_uring")));
        let asked = VirtualMachine.needs(&vm(&[("format", "qcow2"), ("aio", "io_uring")]));
        assert_eq!(asked, ["qemu", "guest-kernel", "qemu-io_uring", "qemu-storage-daemon"]);
    }
}
