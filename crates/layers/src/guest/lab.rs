//! The lab: a guest of ours with a root image (crate::lab builds it) and emulated NVMe drives, in
//! which RAID, volume managers and fabrics can be tried. It has two agents, one for loads and one
//! for steps. Its figures are never headline: the drives are files behind an emulated controller.

use super::attach;
use super::boot;
use super::modules::Tree;
use super::qemu::{
    Aio, Backend, Cache, DetectZeroes, DiskServer, DiskSpec, GuestSpec, GuestStart, MachineType,
    Memory,
};
use super::root;
use super::vm::{GuestParts, GuestPlan, spawn};
use crate::PlanContext;
use anyhow::{Context, Result};
use iotax_steps::op::{BuildInitramfs, MakeFile, Op};
use iotax_steps::process::started_process;
use iotax_steps::wire::{Peer, PeerLink};
use iotax_steps::{PathRef, Place, StepId};
use iotax_units::exit::Failed;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// A drive of a lab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabDrive {
    /// Its serial: 1 to 20 letters, digits, `-`, `_`.
    pub name: String,
    /// The file that it is, absolute.
    pub file: PathBuf,
    /// Its bytes, a multiple of 4 KiB.
    pub bytes: u64,
}

impl LabDrive {
    /// Where it is found in the lab, whatever the kernel calls it: udev makes this link of QEMU's
    /// model and the serial.
    pub fn link(&self) -> PathBuf {
        link_of(&self.name)
    }
}

/// Where the drive of that name is found in its lab.
pub fn link_of(name: &str) -> PathBuf {
    Path::new("/dev/disk/by-id").join(format!("nvme-QEMU_NVMe_Ctrl_{name}"))
}

/// What a lab is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabWish {
    /// Its name as a place: letters, digits, `-`, `_`.
    pub place: Place,
    /// Where it is asked for, for messages.
    pub origin: String,
    /// Its drives in order.
    pub drives: Vec<LabDrive>,
    pub vcpus: u32,
    pub memory: Memory,
    pub root_image: PathBuf,
}

/// The note on the figures of a lab, whoever executes it.
const EMULATED: &str = "emulated: the drives of a lab are files behind QEMU's NVMe controller";

/// Adds the steps that make the drives, the initramfs and QEMU, and tells what they start. It is in
/// no list of the context's guests: who asks for it decides how long it lives.
///
/// # Errors
/// Bad input: what QEMU would not take, with where it was asked for.
pub fn plan(context: &mut PlanContext, parts: &GuestParts, wish: &LabWish) -> Result<GuestPlan> {
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
        disks: wish.drives.iter().map(disk).collect::<Result<_>>()?,
        card: None,
        start: GuestStart::Kernel {
            kernel: parts.image.clone(),
            initrd: initrd.clone(),
            root: Some(wish.root_image.clone()),
        },
        directory,
    };
    let files = guest.files()?;
    // Before any step is added: what QEMU would not take is told as bad input.
    let spawn = spawn(&guest, &files, Vec::new()).with_context(|| wish.origin.clone())?;
    let (tag, command) = (spawn.tag.clone(), spawn.argv.clone());
    let mut steps: Vec<_> = wish.drives.iter().flat_map(|drive| make(drive, context)).collect();
    let build = BuildInitramfs {
        path: initrd,
        modules: parts.kernel.modules.clone(),
        more: modules(parts),
    };
    steps.push(context.add("write the lab's initramfs", Op::BuildInitramfs(build)));
    steps.push(context.add("start the lab", Op::Spawn(spawn)));
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
        address: None,
    })
}

/// A drive is full from the start: a read of what was never written would reach no disk, here or
/// below a volume on it.
fn make(drive: &LabDrive, context: &mut PlanContext) -> [StepId; 2] {
    let (path, bytes) = (drive.file.clone(), drive.bytes);
    let fill = context.fill_of(&Place::Host, &path, bytes);
    let file = MakeFile { path, bytes, keep: false, inside_mount: false };
    [
        context.add("make a drive of the lab", Op::MakeFile(file)),
        context.add("fill a drive of the lab", Op::FillFile(fill)),
    ]
}

fn disk(drive: &LabDrive) -> Result<DiskSpec> {
    let way = attach::by_name("nvme").context("no way nvme")?;
    // Past the host's page cache where its file system can: a drive's time is then a disk's.
    let direct = takes_direct(&drive.file);
    Ok(DiskSpec {
        way,
        path: drive.file.clone(),
        rbd: None,
        backend: Backend::File,
        offset: 0,
        // Without the marker after them.
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

/// Whether a file in that folder can be opened with O_DIRECT, asked with one that has no name and
/// is gone at once. Where that cannot be asked, QEMU will tell.
fn takes_direct(file: &Path) -> bool {
    let Some(folder) = file.ancestors().skip(1).find(|folder| folder.is_dir()) else { return true };
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let can = |flags| rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR);
    can(flags).is_err() || !matches!(can(flags | OFlags::DIRECT), Err(Errno::INVAL))
}

/// Of the initramfs: those that the image is mounted with.
pub(super) fn modules(parts: &GuestParts) -> Vec<String> {
    // Of a kernel that is still to be fetched nothing is known.
    let tree = Tree::open(&parts.kernel.modules).ok();
    let there = |name: &&&str| tree.as_ref().is_some_and(|tree| tree.has(name));
    let wished = root::MODULES_IF_THERE.iter().filter(there);
    root::MODULES.iter().chain(wished).map(|name| (*name).to_owned()).collect()
}

/// The agent that performs steps in a running lab, beside the one for loads that [`super::reach`]
/// gives. Its connection is the lab's life, too: when either is closed the lab powers off.
///
/// # Errors
/// A guest that is no lab; a failed measurement: its QEMU is gone, or does not take the connection.
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
    use iotax_steps::RunTag;

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
            memory: Memory::plain(1 << 30),
            root_image: "/cache/lab/1/root.ext4".into(),
        }
    }

    fn planned(wish: &LabWish) -> Result<(PlanContext, GuestPlan)> {
        let parts = GuestParts::made_up();
        let mut context = PlanContext::new(RunTag::of_none(), Some(parts.clone()), 1);
        let guest = plan(&mut context, &parts, wish)?;
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
            let error = plan(&mut context, &parts, &wish(drives)).unwrap_err();
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
        let plan = GuestPlan::made_up("vm0", Memory::plain(1 << 30));
        let error = reach_steps(&plan).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some("guest vm0 has one agent only"));
    }
}
