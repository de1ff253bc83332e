//! Translates the options of `vm(...)` into a guest and its disk, as QEMU gets them. Refuses what
//! the installed QEMU is too old for, with the option and the version that has it.

use super::parts::GuestParts;
use crate::guest::network::CardWish;
use crate::guest::system_image::{self, SystemImage};
use crate::{ExposedDevice, flag, required_number, required_word};
use anyhow::{Context, Result, anyhow};
use iotax_drivers::path_ref::PathRef;
use iotax_host::pci::PciDrive;
use iotax_model::layer::vm::{NET, SOCKET, TAP};
use iotax_model::stack::LayerSpec;
use iotax_qemu::attach;
use iotax_qemu::attach::way::AttachWay;
use iotax_qemu::command_line::{Firmware, MOST_NET_QUEUES, MachineType, Memory};
use iotax_qemu::disk::{Aio, Backend, Cache, DetectZeroes, DiskServer, DiskSpec, Spdk};
use iotax_qemu::pin::Wanted;
use iotax_qemu::version::Version;
use iotax_units as units;
use iotax_units::exit::Failed;
use std::path::{Path, PathBuf};

/// Properties that a stack asks of its guest. Stacks that ask for the same ones share one guest,
/// with a disk each.
#[derive(Clone, Debug, PartialEq)]
pub struct GuestWish {
    pub vcpus: u32,
    /// Memory of the guest, shared with the process that serves a disk of it, if it is not QEMU.
    pub memory: Memory,
    pub machine: MachineType,
    pub firmware: Option<Firmware>,
    /// The image that the guest boots from, if its system is not ours.
    pub image: Option<SystemImage>,
    pub cpus: Option<Wanted>,
    /// Index of the stack that wants a guest of its own.
    pub own: Option<usize>,
    /// Index among several guests side by side, from 0.
    pub copy: u32,
    /// The image of a lab as the guest's root, if something is set up in the guest.
    pub root: Option<PathBuf>,
    pub card: Option<CardWish>,
    pub name: Option<String>,
}

/// Returns the guest that a stack asks for. `own` is the stack's index if it wants a guest of its
/// own.
///
/// # Errors
/// An option has an unknown or unfit value, or means nothing beside the others.
pub fn wish(spec: &LayerSpec, own: Option<usize>, parts: &GuestParts) -> Result<GuestWish> {
    let memory = Memory {
        shared: attach_way(spec)?.shares_memory(),
        huge_page: spec.option("hugepages").map(|_| size(spec, "hugepages")).transpose()?,
        node: spec.option("numa").map(|_| required_number(spec, "numa")).transpose()?,
        ..Memory::plain_memory(size(spec, "memory")?)
    };
    let firmware =
        wants_firmware(spec).then(|| parts.firmware.clone().unwrap_or_else(Firmware::usual));
    Ok(GuestWish {
        vcpus: required_number(spec, "vcpus")?,
        memory,
        machine: word_of(spec, "machine", MachineType::ALL)?,
        firmware,
        image: system_image::wanted(spec).map(|path| known_image(path, parts)).transpose()?,
        own,
        cpus: spec.option("cpus").map(|word| cpus(spec, word)).transpose()?,
        copy: 0,
        root: None,
        card: card(spec)?,
        name: None,
    })
}

fn has_card(spec: &LayerSpec) -> bool {
    spec.option(NET) == Some(TAP)
}

pub const NETWORK_NEEDS: [&str; 3] = ["root", "ip", "tun"];

pub fn needs_of_card(spec: &LayerSpec) -> Vec<&'static str> {
    let vhost = (spec.option("vhost") == Some("on")).then_some("vhost_net");
    let needs = NETWORK_NEEDS.into_iter().chain(vhost);
    needs.filter(|_| has_card(spec)).collect()
}

fn card(spec: &LayerSpec) -> Result<Option<CardWish>> {
    if !has_card(spec) {
        return Ok(None);
    }
    let refuse = |why: &str, hint: &str| {
        Err(Failed::input(format!("{}: {why}; hint: {hint}", spec.origin)).into())
    };
    if system_image::wanted(spec).is_some() {
        return refuse(
            "net=tap is for guests of iotax's own, and image= has a system that knows nothing of it",
            "leave net=tap out, or measure a guest that is up as ssh:HOST",
        );
    }
    let queues = required_number(spec, "net-queues")?;
    match queues <= MOST_NET_QUEUES {
        true => Ok(Some(CardWish { vhost: required_word(spec, "vhost")? == "on", queues })),
        false => refuse(
            &format!("net-queues={queues} is more than QEMU has for a tap device"),
            &format!("net-queues={MOST_NET_QUEUES} at most"),
        ),
    }
}

fn known_image(path: &Path, parts: &GuestParts) -> Result<SystemImage> {
    parts
        .images
        .get(path)
        .cloned()
        .with_context(|| format!("nobody looked at the image {}", path.display()))
}

fn cpus(spec: &LayerSpec, word: &str) -> Result<Wanted> {
    match word {
        "auto" => Ok(Wanted::Auto),
        list => iotax_load::cpu_list(list)
            .map(Wanted::These)
            .map_err(|why| anyhow!("{}: cpus: {why}", spec.origin)),
    }
}

/// Returns the disk that a stack asks for, without path and serial: the guest that gets it sets
/// these.
///
/// # Errors
/// An option has an unfit value, or is one that the attach type or the installed QEMU does not
/// have; the drive cannot be given to a guest; or a system that is not ours could write to a disk
/// that is only read.
pub fn disk_spec(
    spec: &LayerSpec,
    below: &ExposedDevice,
    writable: bool,
    parts: &GuestParts,
) -> Result<DiskSpec> {
    let way = attach_way(spec)?;
    if let Some(option) =
        way.lacking_options().iter().find(|option| spec.options.contains_key(**option))
    {
        let why = format!(
            "{}: attach={} has no {option}: QEMU's block layer is not in the way",
            spec.origin,
            way.name()
        );
        return Err(Failed::input(why).into());
    }
    let num_queues =
        spec.option("num-queues").map(|_| required_number(spec, "num-queues")).transpose()?;
    // A separate process does not know the number of vCPUs, and QEMU asks it for one queue per
    // vCPU.
    let of_vcpus = || way.shares_memory().then(|| required_number(spec, "vcpus")).transpose();
    let disk = DiskSpec {
        way,
        path: PathBuf::new(),
        rbd: None,
        backend: if below.block { Backend::HostDevice } else { Backend::File },
        offset: 0,
        bytes: Some(below.bytes),
        qcow2: None,
        cache: cache(spec)?,
        aio: aio(spec)?,
        discard: required_word(spec, "discard")? == "unmap",
        detect_zeroes: word_of(spec, "detect-zeroes", DetectZeroes::ALL)?,
        snapshot: has_overlay(spec),
        iothreads: iothreads(spec, way)?,
        num_queues: num_queues.map_or_else(of_vcpus, |queues| Ok(Some(queues)))?,
        queue_size: spec
            .option("queue-size")
            .map(|_| required_number(spec, "queue-size"))
            .transpose()?,
        serial: String::new(),
        read_only: !writable,
        share_read: !writable,
        // The layer sets this: it knows how many guests share the disk.
        shared_out: false,
        server: match spdk_socket(spec) {
            Some(rpc) => {
                let cpumask = spec.option("cpumask").map(str::to_owned);
                DiskServer::Spdk(Spdk { rpc: rpc.to_owned(), cpumask, ..Spdk::default() })
            }
            None if way.takes_drive() => {
                DiskServer::Drive(Box::new(passthrough_drive(spec, below, parts)?))
            }
            None => DiskServer::Qemu,
        },
    };
    keeps_stranger_out(spec, &disk)?;
    if let Some(qemu) = parts.qemu {
        not_too_old(&disk, qemu).map_err(|why| Failed::input(format!("{}: {why}", spec.origin)))?;
    }
    Ok(disk)
}

/// Returns the drive that is passed through to a guest. Refuses what is no NVMe drive of its own,
/// and a drive that this host cannot give away.
fn passthrough_drive(
    spec: &LayerSpec,
    below: &ExposedDevice,
    parts: &GuestParts,
) -> Result<PciDrive> {
    let refuse =
        |why: String| Err(Failed::input(format!("{}: attach=vfio: {why}", spec.origin)).into());
    let path = match below.only_path(spec)? {
        PathRef::Path(path) if below.block => path,
        _ => {
            // The message has no name: nobody wrote the name of an equal file.
            let what = if below.block { "a device that is made here" } else { "a file" };
            return refuse(format!(
                "a guest is given an NVMe drive as it is, and what is below is {what}; hint: /dev/nvme1n1 | vm(attach=vfio)"
            ));
        }
    };
    if spec.copies > 1 {
        return refuse(format!("{} cannot be given to {} guests", path.display(), spec.copies));
    }
    let Some(drive) = parts.drives.iter().find(|drive| drive.paths.contains(path)) else {
        return refuse(format!("{} is no drive with a PCI address of its own", path.display()));
    };
    if drive.driver.as_deref() != Some("nvme") {
        let driver = drive.driver.as_deref().unwrap_or("no driver");
        return refuse(format!(
            "{} hangs on {}, which {driver} drives, and only NVMe drives are given to guests",
            path.display(),
            drive.address
        ));
    }
    if !drive.siblings.is_empty() {
        return refuse(format!(
            "with {} the guest would also get {}: they are namespaces of one drive",
            path.display(),
            drive.siblings.join(", ")
        ));
    }
    if !drive.obstacles.is_empty() {
        return refuse(format!(
            "{} cannot be taken: {}; hint: another slot, or unbind what is in its way",
            path.display(),
            drive.obstacles.join("; ")
        ));
    }
    Ok(drive.clone())
}

/// First version of QEMU, 9.0, that has `iothread-vq-mapping` of virtio-blk.
const SEVERAL_IOTHREADS: Version = Version::new(9, 0);

/// Checks that the QEMU has everything that the disk asks for.
///
/// # Errors
/// The option, and the version that has it.
fn not_too_old(disk: &DiskSpec, qemu: Version) -> Result<(), String> {
    match disk.iothreads {
        0 | 1 => Ok(()),
        _ if qemu >= SEVERAL_IOTHREADS => Ok(()),
        many => {
            Err(format!("iothreads={many} needs QEMU {SEVERAL_IOTHREADS}, and {qemu} is installed"))
        }
    }
}

fn iothreads(spec: &LayerSpec, way: &dyn AttachWay) -> Result<u16> {
    match (spec.option("iothreads"), spec.option("iothread")) {
        (Some(_), Some("false")) => Err(anyhow!(
            "{}: iothreads without iothread; hint: leave iothread=false out",
            spec.origin
        )),
        (Some(_), _) => required_number(spec, "iothreads"),
        (None, Some(_)) => Ok(u16::from(flag(spec, "iothread"))),
        (None, None) => Ok(u16::from(way.takes_iothread())),
    }
}

/// Returns true if the guest has UEFI firmware (`firmware=ovmf`).
pub fn wants_firmware(spec: &LayerSpec) -> bool {
    spec.option("firmware") == Some("ovmf")
}

/// Returns true if a guest with a system that is not ours gets the drive itself, or a disk that
/// another process serves. Nothing keeps such a system from writing to it.
pub fn gives_drive_to_stranger(spec: &LayerSpec) -> bool {
    let open = |way: &dyn AttachWay| way.takes_drive() || stands_on_socket(spec);
    system_image::wanted(spec).is_some() && attach_way(spec).is_ok_and(open)
}

/// Refuses a disk that a system that is not ours could write to although the load only reads. Such
/// a system may start to use any disk that it finds.
fn keeps_stranger_out(spec: &LayerSpec, disk: &DiskSpec) -> Result<()> {
    let open = disk.read_only
        && !gives_drive_to_stranger(spec)
        && !disk.way.keeps_writes_out(disk.backend);
    if system_image::wanted(spec).is_none() || !open {
        return Ok(());
    }
    Err(Failed::input(format!(
        "{}: attach={} cannot serve a file read-only, and the system in the image may write to it though the load only \
         reads; hint: a loop device between, as in | loop | vm(...)",
        spec.origin,
        disk.way.name()
    ))
    .into())
}

/// Returns true if writes go to a temporary overlay (`snapshot=on`).
pub fn has_overlay(spec: &LayerSpec) -> bool {
    spec.option("snapshot") == Some("on")
}

/// Returns the JSON-RPC socket of the SPDK target that is to serve the disk, if there is one.
pub fn spdk_socket(spec: &LayerSpec) -> Option<&Path> {
    spec.option("spdk").map(Path::new)
}

/// Returns true if the disk is one that another process serves already, at the socket that the
/// stack names.
pub fn stands_on_socket(spec: &LayerSpec) -> bool {
    spec.option(SOCKET).is_some()
}

/// Returns the attach type of the disk.
///
/// # Errors
/// Bad input: an unknown attach type, or an option of SPDK where no SPDK target serves the disk.
pub fn attach_way(spec: &LayerSpec) -> Result<&'static dyn AttachWay> {
    let name = required_word(spec, "attach")?;
    let way = attach::by_name(name)
        .ok_or_else(|| anyhow!("{}: attach={name} is unknown", spec.origin))?;
    let refuse = |why: &str| Err(Failed::input(format!("{}: {why}", spec.origin)).into());
    match (spdk_socket(spec), spec.option("cpumask")) {
        (None, None) if stands_on_socket(spec) => Ok(attach::SOCKET),
        (Some(_), _) if name == "vhost-user-blk" => Ok(attach::SPDK),
        (Some(_), _) => {
            refuse("an SPDK target serves disks by vhost-user-blk; hint: attach=vhost-user-blk")
        }
        (None, Some(_)) => refuse(
            "cpumask is of an SPDK target's reactors; hint: spdk=SOCKET beside it, or cpus=LIST for the guest's own processors",
        ),
        (None, None) => Ok(way),
    }
}

/// Returns the cache mode.
///
/// # Errors
/// An unknown word.
pub fn cache(spec: &LayerSpec) -> Result<Cache> {
    word_of(spec, "cache", Cache::ALL)
}

/// Returns the AIO mode. `aio=native` needs O_DIRECT; without it, the default is threads, as in
/// QEMU itself.
///
/// # Errors
/// An unknown word.
pub fn aio(spec: &LayerSpec) -> Result<Aio> {
    match (spec.option("aio"), cache(spec)?.direct()) {
        (Some(_), _) => word_of(spec, "aio", Aio::ALL),
        (None, true) => Ok(Aio::Native),
        (None, false) => Ok(Aio::Threads),
    }
}

fn size(spec: &LayerSpec, name: &str) -> Result<u64> {
    units::parse_bytes(required_word(spec, name)?)
        .map_err(|why| anyhow!("{}: {name}: {why}", spec.origin))
}

fn word_of<T: Copy>(spec: &LayerSpec, name: &str, all: &[(&str, T)]) -> Result<T> {
    let word = required_word(spec, name)?;
    let found = all.iter().find(|(known, _)| *known == word).map(|(_, value)| *value);
    found.ok_or_else(|| anyhow!("{}: {name}={word} is unknown", spec.origin))
}

#[cfg(test)]
mod tests {
    use super::super::tests::vm;
    use super::*;

    #[test]
    fn a_card_has_its_needs_and_what_it_cannot_have_is_refused() {
        assert_eq!((card(&vm(&[])).unwrap(), needs_of_card(&vm(&[]))), (None, Vec::new()));
        let all = vm(&[("net", "tap"), ("vhost", "on"), ("net-queues", "4")]);
        assert_eq!(card(&all).unwrap(), Some(CardWish { vhost: true, queues: 4 }));
        assert_eq!(needs_of_card(&all), ["root", "ip", "tun", "vhost_net"]);
        let refused = |words: &[(&str, &str)]| {
            let error = card(&vm(&[words, &[("net", "tap")]].concat())).unwrap_err();
            assert_eq!(iotax_units::exit::code_of(&error), iotax_units::exit::BAD_INPUT);
            error.to_string()
        };
        assert!(refused(&[("image", "/srv/x.qcow2")]).contains("hint: leave net=tap out"));
        assert!(refused(&[("net-queues", "257")]).contains("hint: net-queues=256 at most"));
    }

    #[test]
    fn a_qemu_that_is_too_old_is_told_with_the_option_and_the_version() {
        let disk = |words: &[(&str, &str)]| {
            let below = ExposedDevice {
                paths: Vec::new(),
                bytes: 1 << 30,
                block: false,
                place: "host".into(),
                copies: Vec::new(),
                overlaid: false,
                apart: true,
                hold: Default::default(),
                writable: false,
                unwritten: None,
                split: false,
                uneven: false,
                engine: None,
                arrays: Vec::new(),
                write_unit: None,
                read_back: Vec::new(),
            };
            disk_spec(
                &vm(words),
                &below,
                false,
                &GuestParts { qemu: Some(Version::new(7, 2)), ..GuestParts::made_up() },
            )
        };
        let error = disk(&[("iothreads", "2")]).unwrap_err();
        assert_eq!(error.to_string(), "here: iothreads=2 needs QEMU 9.0.0, and 7.2.0 is installed");
        assert_eq!(iotax_units::exit::code_of(&error), iotax_units::exit::BAD_INPUT);
        assert_eq!(disk(&[]).unwrap().iothreads, 1);
        assert_eq!(disk(&[("attach", "nvme")]).unwrap().iothreads, 0);
        let queues = |way| disk(&[("attach", way), ("vcpus", "3")]).unwrap().num_queues;
        assert_eq!((queues("virtio-blk"), queues("vhost-user-blk")), (None, Some(3)));
    }
}
