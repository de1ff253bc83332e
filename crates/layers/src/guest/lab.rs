//! Plans the lab: a guest of ours with a root image (crate::lab builds it) and emulated NVMe
//! drives, in which RAID, volume managers and fabrics can be tried. It has two agents, one for
//! loads and one for steps. Its figures are never headline: the drives are files, and their
//! controller is emulated.

use super::network::{CardWish, GuestNetwork};
use super::vm::{GuestParts, GuestPlan, spawn};
use crate::PlanContext;
use anyhow::{Context, Result};
use iotax_drivers::path_ref::{PathRef, StepId};
use iotax_drivers::process::started_process;
use iotax_facts::place::Place;
use iotax_qemu::command_line::{GuestSpec, GuestStart, MachineType, Memory};
use iotax_qemu::disk::{Aio, Backend, Cache, DetectZeroes, DiskServer, DiskSpec};
use iotax_qemu::modules::Tree;
use iotax_qemu::{attach, boot, root};
use iotax_steps::op::{BuildInitramfs, MakeFile, Op};
use iotax_units::exit::Failed;
use iotax_wire::peer::{Peer, PeerLink};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabDrive {
    /// Serial of the drive: 1 to 20 letters, digits, `-`, `_`.
    pub name: String,
    /// Absolute path of the file that holds the drive.
    pub file: PathBuf,
    /// Size in bytes, a multiple of 4 KiB.
    pub bytes: u64,
}

impl LabDrive {
    /// Returns the path of the drive in the lab, whatever the kernel calls it: udev makes this link
    /// from QEMU's model and the serial.
    pub fn link(&self) -> PathBuf {
        link_of(&self.name)
    }
}

pub fn link_of(name: &str) -> PathBuf {
    Path::new("/dev/disk/by-id").join(format!("nvme-QEMU_NVMe_Ctrl_{name}"))
}

/// Properties of a lab that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabWish {
    /// Name of the lab as a place: letters, digits, `-`, `_`.
    pub place: Place,
    pub origin: String,
    pub drives: Vec<LabDrive>,
    pub vcpus: u32,
    pub memory: Memory,
    pub root_image: PathBuf,
}

/// Card of a lab: served by QEMU, with one pair of queues.
const PLAIN_CARD: CardWish = CardWish { vhost: false, queues: 1 };

/// Note on the figures of a lab, whatever its accelerator.
const EMULATED: &str = "emulated: the drives of a lab are files behind QEMU's NVMe controller";

/// Adds the steps that make the drives, the initramfs and QEMU, and returns the guest that they
/// start. The guest is not in the context's list of guests: the caller decides how long it lives.
///
/// # Errors
/// Bad input: QEMU would not take the guest; the error says where it was asked for.
pub fn plan_lab(
    context: &mut PlanContext,
    parts: &GuestParts,
    wish: &LabWish,
    network: Option<&mut GuestNetwork>,
) -> Result<GuestPlan> {
    let card = network
        .map(|network| network.card(PLAIN_CARD, &wish.place.to_string(), &wish.origin, context));
    let (tap, card, address) = match card.transpose()? {
        Some((tap, card, address)) => (Some(tap), Some(card), Some(address)),
        None => (None, None, None),
    };
    let directory = context.tag.run_dir.clone();
    let initrd = directory.join(format!("{}.initramfs", wish.place));
    let guest = GuestSpec {
        name: wish.place.to_string(),
        run_tag: context.tag.run_id.clone(),
        vcpus: wish.vcpus,
        memory: wish.memory,
        machine: MachineType::Q35,
        firmware: None,
        accel: parts.accel,
        tsc_khz: parts.tsc_khz,
        disks: wish.drives.iter().map(lab_disk_spec).collect::<Result<_>>()?,
        card,
        start: GuestStart::Kernel {
            kernel: parts.image.clone(),
            initrd: initrd.clone(),
            root: Some(wish.root_image.clone()),
        },
        directory,
    };
    let files = guest.files()?;
    // This check comes before any step is added: it reports what QEMU would not take as bad input.
    let spawn = spawn(&guest, &files, Vec::new()).with_context(|| wish.origin.clone())?;
    let (tag, command) = (spawn.tag.clone(), spawn.argv.clone());
    let drives = wish.drives.iter().flat_map(|drive| make(drive, context));
    let mut steps: Vec<_> = tap.into_iter().chain(drives).collect();
    let build = BuildInitramfs {
        path: initrd,
        modules: parts.kernel.modules.clone(),
        more: modules(parts),
    };
    steps.push(context.add_step("write the lab's initramfs", Op::BuildInitramfs(build)));
    steps.push(context.add_step("start the lab", Op::Spawn(spawn)));
    Ok(GuestPlan {
        place: wish.place.clone(),
        origin: wish.origin.clone(),
        files,
        tag,
        command,
        belows: Vec::new(),
        daemons: Vec::new(),
        steps,
        disks: guest.disks,
        below: wish.drives.iter().map(|drive| PathRef::Path(drive.file.clone())).collect(),
        paths: wish.drives.iter().map(|drive| PathRef::Path(drive.link())).collect(),
        image: None,
        uefi: false,
        vcpus: guest.vcpus,
        memory: guest.memory,
        pin: None,
        accel: parts.accel,
        emulated: Some(parts.emulated.clone().unwrap_or_else(|| EMULATED.into())),
        crowd: 1,
        address,
    })
}

/// Adds the steps that make and fill the file of a drive. A read of blocks that were never written
/// would reach no disk, here or below a volume on the drive.
fn make(drive: &LabDrive, context: &mut PlanContext) -> [StepId; 2] {
    let (path, bytes) = (drive.file.clone(), drive.bytes);
    let fill = context.fill_of(&Place::Host, &path, bytes);
    let file = MakeFile { path, bytes, keep: false, inside_mount: false };
    [
        context.add_step("make a drive of the lab", Op::MakeFile(file)),
        context.add_step("fill a drive of the lab", Op::FillFile(fill)),
    ]
}

fn lab_disk_spec(drive: &LabDrive) -> Result<DiskSpec> {
    let way = attach::by_name("nvme").context("no way nvme")?;
    // I/O bypasses the host's page cache if its file system can do that: the latency of a drive is
    // then that of a disk.
    let direct = takes_direct(&drive.file);
    Ok(DiskSpec {
        way,
        path: drive.file.clone(),
        rbd: None,
        backend: Backend::File,
        offset: 0,
        // The size excludes the marker after the data.
        bytes: Some(drive.bytes),
        qcow2: None,
        cache: if direct { Cache::None } else { Cache::Writeback },
        aio: if direct { Aio::Native } else { Aio::Threads },
        discard: false,
        detect_zeroes: DetectZeroes::Off,
        snapshot: false,
        iothreads: 0,
        num_queues: None,
        queue_size: None,
        serial: drive.name.clone(),
        read_only: false,
        share_read: false,
        shared_out: false,
        server: DiskServer::Qemu,
    })
}

/// Returns true if a file in that folder can be opened with O_DIRECT. The check opens an unnamed
/// file, which is gone right away. Also returns true if the check is not possible: QEMU will then
/// report the failure.
fn takes_direct(file: &Path) -> bool {
    let Some(folder) = file.ancestors().skip(1).find(|folder| folder.is_dir()) else { return true };
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let can = |flags| rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR);
    can(flags).is_err() || !matches!(can(flags | OFlags::DIRECT), Err(Errno::INVAL))
}

/// Returns the kernel modules that the initramfs needs to mount the lab's image.
pub(super) fn modules(parts: &GuestParts) -> Vec<String> {
    // The modules of a kernel that is still to be fetched are not known.
    let tree = Tree::open(&parts.kernel.modules).ok();
    let there = |name: &&&str| tree.as_ref().is_some_and(|tree| tree.has_module(name));
    let wished = root::MODULES_IF_THERE.iter().filter(there);
    root::MODULES.iter().chain(wished).map(|name| (*name).to_owned()).collect()
}

/// Connects to the agent that performs steps in a running lab, which is not the one for loads from
/// [`super::reach`]. The lab lives as long as both connections: when either is closed, it powers
/// off.
///
/// # Errors
/// The guest has no agent for steps. A failed measurement: its QEMU is gone, or does not take the
/// connection.
pub fn reach_steps(plan: &GuestPlan) -> Result<Peer> {
    let path = plan
        .files
        .steps
        .as_ref()
        .with_context(|| format!("guest {} has one agent only", plan.place))?;
    let process = started_process(&plan.tag)?.ok_or_else(|| {
        Failed::measurement(format!(
            "QEMU of guest {} has ended{}",
            plan.place,
            boot::last_words(&plan.files)
        ))
    })?;
    let socket = UnixStream::connect(path).map_err(|error| {
        Failed::measurement(format!("guest {}: port for steps: {error}", plan.place))
    })?;
    let link = PeerLink::of_socket(socket).context("cannot use the guest's port for steps")?;
    let files = plan.files.clone();
    let name = format!("guest {} (steps)", plan.place);
    Ok(Peer::new(name, link, Box::new(move || boot::last_words(&files)))
        .with_fate(Box::new(move || boot::fate(&process))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_drivers::run_tag::RunTag;

    fn wish(drives: &[&str]) -> LabWish {
        let drive = |name: &&str| LabDrive {
            name: (*name).to_owned(),
            file: Path::new("/srv/lab").join(format!("{name}.img")),
            bytes: 1 << 30,
        };
        LabWish {
            place: "lab".into(),
            origin: "scenario x.toml, line 3".into(),
            drives: drives.iter().map(drive).collect(),
            vcpus: 2,
            memory: Memory::plain_memory(1 << 30),
            root_image: "/cache/lab/1/root.ext4".into(),
        }
    }

    fn planned(wish: &LabWish) -> Result<(PlanContext, GuestPlan)> {
        let parts = GuestParts::made_up();
        let mut context = PlanContext::new(RunTag::of_none(), Some(parts.clone()), 1);
        let guest = plan_lab(&mut context, &parts, wish, None)?;
        Ok((context, guest))
    }

    #[test]
    fn a_lab_is_drives_an_initramfs_and_qemu_with_two_ports() {
        let (context, guest) = planned(&wish(&["d0", "d1"])).unwrap();
        let steps =
            context.steps.iter().map(|step| step.op.operation().describe().replace(" -", "\n  -"));
        insta::assert_snapshot!(steps.collect::<Vec<_>>().join("\n"));
        assert_eq!(guest.steps, [0, 1, 2, 3, 4, 5]);
        assert_eq!(guest.paths[1], PathRef::Path("/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_d1".into()));
        assert!(
            guest.emulated.is_some_and(|note| note.starts_with("emulated")),
            "never a headline"
        );
        assert!(context.guests.is_empty(), "its life is not that of a set of stacks");
    }

    #[test]
    fn drives_that_qemu_would_not_take_are_refused_before_any_step() {
        for drives in [&["d0", "d0"][..], &["iotax-root"], &["a,b"], &["a-name-of-21-letters-"]] {
            let parts = GuestParts::made_up();
            let mut context = PlanContext::new(RunTag::of_none(), None, 1);
            let error = plan_lab(&mut context, &parts, &wish(drives), None).unwrap_err();
            assert!(
                format!("{error:#}").starts_with("scenario x.toml, line 3: guest \"lab\": "),
                "{error:#}"
            );
            assert_eq!(iotax_units::exit::code_of(&error), iotax_units::exit::BAD_INPUT);
            assert!(context.steps.is_empty());
        }
    }

    #[test]
    fn only_a_lab_has_an_agent_for_steps() {
        let plan = GuestPlan::made_up("vm0", Memory::plain_memory(1 << 30));
        let error = reach_steps(&plan).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some("guest vm0 has one agent only"));
    }
}
