//! Fills guests with disks: stacks that ask for the same guest share one, with a disk each, so that
//! many variants cost one boot. When all disks have their seats, the steps are added: first those
//! that serve disks outside QEMU, then the initramfs, then QEMU itself.

use super::options::{self, GuestWish};
use super::parts::GuestParts;
use crate::PlanContext;
use crate::guest::lab;
use crate::guest::network::GuestNetwork;
use anyhow::{Context, Result, anyhow};
use iotax_drivers::path_ref::{PathRef, StepId};
use iotax_drivers::process::{ProcessId, started_process};
use iotax_drivers::vhost_user;
use iotax_facts::guest::MOST_DISKS;
use iotax_facts::place::Place;
use iotax_host::probe::Probe;
use iotax_model::stack::LayerSpec;
use iotax_qemu::accel::Accel;
use iotax_qemu::attach;
use iotax_qemu::attach::way::{Beforehand, DaemonFiles};
pub use iotax_qemu::below_placeholder;
use iotax_qemu::boot::{self, BootError, BootFailure, BootLimits, BootedGuest};
use iotax_qemu::command_line::{self as qemu, Card, GuestSpec, GuestStart, Memory};
use iotax_qemu::disk::{DiskServer, DiskSpec, Spdk};
use iotax_qemu::guest_files::GuestFiles;
use iotax_qemu::pin::{self, Pin};
use iotax_qemu::qmp::Qmp;
use iotax_steps::op::{BuildInitramfs, BuildSeed, Op, Spawn};
use iotax_units::exit::Failed;
use iotax_wire::message::CardAddress;
use iotax_wire::peer::{Peer, PeerLink};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// A guest to which stacks still add disks, before its steps are planned.
#[derive(Clone, Debug)]
pub struct GuestDraft {
    name: String,
    origin: String,
    wish: GuestWish,
    parts: GuestParts,
    disks: Vec<DiskSeat>,
}

#[derive(Clone, Debug)]
struct DiskSeat {
    disk: DiskSpec,
    below: PathRef,
    path: PathRef,
    /// The NUMA node of the drives that the disk is on.
    node: Option<u32>,
}

/// A guest that the steps of a plan start.
#[derive(Clone, Debug)]
pub struct GuestPlan {
    /// Name of the guest as a place.
    pub place: Place,
    /// Where the scenario first asks for the guest.
    pub origin: String,
    pub files: GuestFiles,
    /// Argument that no other process has in its command line.
    pub tag: String,
    /// The whole command line, with `@below0@` where only a step knows the device.
    pub command: Vec<String>,
    pub belows: Vec<PathRef>,
    /// Processes that serve the guest's disks outside QEMU.
    pub daemons: Vec<Daemon>,
    /// Steps of the guest in order. The last one starts it.
    pub steps: Vec<StepId>,
    pub disks: Vec<DiskSpec>,
    /// Device or file that each disk is on.
    pub below: Vec<PathRef>,
    /// Path of each disk in the guest.
    pub paths: Vec<PathRef>,
    /// Image with a system of its own that the guest boots from.
    pub image: Option<PathBuf>,
    pub uefi: bool,
    pub vcpus: u32,
    pub memory: Memory,
    /// Processors that the guest's threads are pinned to, if that was asked for.
    pub pin: Option<Pin>,
    pub accel: Accel,
    pub emulated: Option<String>,
    /// Guests of the set per processor of this host, rounded up: all of them boot at the same time.
    pub crowd: u32,
    /// Network card of the guest, and the address that its agent gives it.
    pub address: Option<CardAddress>,
}

#[cfg(any(test, feature = "testing"))]
impl GuestPlan {
    /// Makes a guest without disks that has two vCPUs.
    pub fn made_up(place: &str, memory: Memory) -> GuestPlan {
        GuestPlan {
            place: place.into(),
            origin: "here".into(),
            files: GuestFiles::new(Path::new("/run"), place).unwrap(),
            tag: place.into(),
            command: Vec::new(),
            belows: Vec::new(),
            daemons: Vec::new(),
            steps: Vec::new(),
            disks: Vec::new(),
            below: Vec::new(),
            paths: Vec::new(),
            image: None,
            uefi: false,
            vcpus: 2,
            memory,
            pin: None,
            accel: Accel::Kvm,
            emulated: None,
            crowd: 1,
            address: None,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Daemon {
    pub disk: usize,
    pub command: Vec<String>,
    /// Devices that only steps know; the command line has `@below0@` and so on for them.
    pub belows: Vec<PathRef>,
    /// Argument that no other process has in its command line.
    pub tag: String,
    pub control: PathBuf,
}

/// Adds a disk to a guest that matches the wish. Returns the guest as a place, and how the disk is
/// found in it.
pub fn seat(
    context: &mut PlanContext,
    parts: GuestParts,
    wish: GuestWish,
    disk: DiskSpec,
    below: &PathRef,
    node: Option<u32>,
    origin: &str,
) -> (Place, PathRef) {
    let draft = draft(context, parts, wish, origin);
    let number = draft.disks.len();
    let serial = format!("iotax-{}-{number}", draft.name);
    let path = match (&disk.server, disk.way.shows_serial()) {
        (DiskServer::Drive(drive), _) if drive.serial.is_some() => {
            PathRef::Serial(drive.serial.clone().unwrap_or_default())
        }
        (DiskServer::Qemu, true) => PathRef::Serial(serial.clone()),
        _ => PathRef::Pci(format!("0000:00:{:02x}.0", attach::way::slot(number))),
    };
    let place = Place::Guest(draft.name.clone());
    draft.disks.push(DiskSeat {
        disk: DiskSpec { serial, ..disk },
        below: below.clone(),
        path: path.clone(),
        node,
    });
    (place, path)
}

/// Returns the draft of a guest that matches the wish and has room for a disk. Adds a new draft if
/// no guest does.
fn draft<'c>(
    context: &'c mut PlanContext,
    parts: GuestParts,
    wish: GuestWish,
    origin: &str,
) -> &'c mut GuestDraft {
    let has_room = |draft: &GuestDraft| draft.wish == wish && draft.disks.len() < MOST_DISKS;
    let at = match context.drafts.iter().position(has_room) {
        Some(at) => at,
        None => {
            let name = wish.name.clone().unwrap_or_else(|| context.instance("vm"));
            context.drafts.push(GuestDraft {
                name,
                origin: origin.to_owned(),
                wish,
                parts,
                disks: Vec::new(),
            });
            context.drafts.len() - 1
        }
    };
    &mut context.drafts[at]
}

/// Returns a guest that matches the wish as a place, for a use that needs no disk.
pub fn without_disk(
    context: &mut PlanContext,
    parts: GuestParts,
    wish: GuestWish,
    origin: &str,
) -> Place {
    Place::Guest(draft(context, parts, wish, origin).name.clone())
}

/// Drafts a guest that needs no disk and has a name in the scenario.
///
/// # Errors
/// Bad input: a value that does not fit.
pub fn draft_named_guest(context: &mut PlanContext, name: &str, spec: &LayerSpec) -> Result<()> {
    let parts = context.guest_parts.clone();
    let parts = parts.with_context(|| format!("{}: no parts for a guest", spec.origin))?;
    let wish = GuestWish { name: Some(name.to_owned()), ..options::wish(spec, None, &parts)? };
    draft(context, parts, wish, &spec.origin);
    Ok(())
}

/// Adds the steps of all guests that were drafted.
///
/// # Errors
/// Bad input: QEMU would not take a guest, lists leave no processors to other guests, or too many
/// guests have a network card. An unmet need: no network is left for guests.
pub fn finish(context: &mut PlanContext) -> Result<()> {
    let mut drafts = std::mem::take(&mut context.drafts);
    context.place = Place::Host;
    let mut pins = pins(&mut drafts)?.into_iter();
    let processors =
        drafts.first().and_then(|draft| draft.parts.room.processors).unwrap_or(drafts.len());
    let crowd = drafts.len().div_ceil(processors.max(1)) as u32;
    let carded = drafts.iter().find(|draft| draft.wish.card.is_some());
    let mut network = match carded {
        Some(draft) => {
            Some(GuestNetwork::plan_network(&draft.parts.routes, &draft.origin, context)?)
        }
        None => None,
    };
    for draft in drafts {
        let pin = draft.wish.cpus.as_ref().and_then(|_| pins.next());
        draft.steps(context, network.as_mut(), pin, crowd)?;
    }
    Ok(())
}

/// Chooses processors for the guests that asked for some. Memory goes to the node of these
/// processors. If memory is bound to a node, the processors are chosen on that node.
fn pins(drafts: &mut [GuestDraft]) -> Result<Vec<Pin>> {
    let groups = drafts.first().map(|draft| draft.parts.room.groups.clone()).unwrap_or_default();
    let asking = |draft: &'_ GuestDraft| draft.wish.cpus.is_some();
    let near = |draft: &'_ GuestDraft| draft.wish.memory.node.or(draft.node_of_drives());
    let guest =
        |draft: &'_ GuestDraft| Some((draft.wish.cpus.clone()?, draft.wish.vcpus, near(draft)));
    let asked: Vec<_> = drafts.iter().filter_map(guest).collect();
    let guests: Vec<pin::Guest> = asked
        .iter()
        .map(|(wanted, vcpus, near)| pin::Guest { wanted, vcpus: *vcpus, near: *near })
        .collect();
    let planned = pin::plan_pins(&guests, &groups)
        .map_err(|why| Failed::input(format!("cpus=auto: {why}")))?;
    for (draft, (_, node)) in drafts.iter_mut().filter(|draft| asking(draft)).zip(&planned) {
        draft.wish.memory.node = draft.wish.memory.node.or(*node);
    }
    Ok(planned.into_iter().map(|(pin, _)| pin).collect())
}

/// Devices in a command line whose paths only steps know, in the order of their placeholders.
#[derive(Default)]
struct PathsBelow(Vec<PathRef>);

impl PathsBelow {
    fn placeholder_path(&mut self, of: &PathRef) -> PathBuf {
        match of {
            PathRef::Path(path) => path.clone(),
            // QEMU never opens the bdev: its SPDK target does, and the target's socket represents
            // it.
            PathRef::Bdev { rpc, .. } => rpc.clone(),
            // An image of Ceph is reached through the configuration of its cluster.
            PathRef::RbdPool { conf, .. } => conf.clone(),
            PathRef::Rbd(rbd) => rbd.conf.clone(),
            later => {
                self.0.push(later.clone());
                below_placeholder(self.0.len() - 1).into()
            }
        }
    }
}

impl GuestDraft {
    /// Returns the NUMA node of the first drive that is passed through to the guest, else the node
    /// on which the drives below all of its disks are. `None`: there is no such node.
    fn node_of_drives(&self) -> Option<u32> {
        let given = self.disks.iter().find_map(|seat| match &seat.disk.server {
            DiskServer::Drive(drive) => u32::try_from(drive.numa_node?).ok(),
            _ => None,
        });
        let below = self.disks.first()?.node;
        given.or(below.filter(|_| self.disks.iter().all(|seat| seat.node == below)))
    }

    fn steps(
        self,
        context: &mut PlanContext,
        network: Option<&mut GuestNetwork>,
        pin: Option<Pin>,
        crowd: u32,
    ) -> Result<()> {
        let directory = context.tag.run_dir.clone();
        let mut belows = PathsBelow::default();
        let (mut disks, mut daemons, mut steps) = (Vec::new(), Vec::new(), Vec::new());
        for (at, seat) in self.disks.iter().enumerate() {
            let files = DaemonFiles::new(&directory, &format!("{}-disk{at}", self.name));
            match self.daemon(at, seat, &files)? {
                Some((spawn, disk)) => {
                    daemons.push(Daemon {
                        disk: at,
                        command: spawn.argv.clone(),
                        belows: spawn.belows.clone(),
                        tag: spawn.tag.clone(),
                        control: files.control.clone(),
                    });
                    steps.push(context.add_step("serve the guest's disk", Op::Spawn(spawn)));
                    disks.push(disk);
                }
                None => disks.push(self.own_disk(seat, &mut belows, context)),
            }
        }
        let card = network
            .zip(self.wish.card)
            .map(|(network, wish)| network.card(wish, &self.name, &self.origin, context));
        let (card, address) = match card.transpose()? {
            Some((step, card, address)) => {
                steps.push(step);
                (Some(card), Some(address))
            }
            None => (None, None),
        };
        let guest = self.spec(disks, card, context);
        let (why, op) = self.scratch(&guest, crowd);
        steps.push(context.add_step(why, op));
        let files = guest.files()?;
        let spawn = spawn(&guest, &files, belows.0)?;
        let (tag, command, belows) = (spawn.tag.clone(), spawn.argv.clone(), spawn.belows.clone());
        steps.push(context.add_step("start the guest", Op::Spawn(spawn)));
        context.guests.push(GuestPlan {
            place: Place::Guest(self.name),
            origin: self.origin,
            files,
            tag,
            command,
            belows,
            daemons,
            steps,
            below: self.disks.iter().map(|seat| seat.below.clone()).collect(),
            paths: self.disks.iter().map(|seat| seat.path.clone()).collect(),
            disks: guest.disks,
            image: self.wish.image.map(|image| image.path),
            uefi: guest.firmware.is_some(),
            vcpus: guest.vcpus,
            memory: guest.memory,
            pin,
            accel: self.parts.accel,
            emulated: self.parts.emulated.clone(),
            crowd,
            address,
        });
        Ok(())
    }

    /// Returns purpose and operation of the step that makes the file which brings our program into
    /// the guest: an initramfs, or a seed for somebody else's image.
    fn scratch(&self, guest: &GuestSpec, crowd: u32) -> (&'static str, Op) {
        let initrd = match &guest.start {
            GuestStart::Image { seed, .. } => {
                let patience_s = limits(self.parts.accel, true, crowd).for_the_system().as_secs();
                let build = BuildSeed { path: seed.clone(), patience_s };
                return ("write the guest's seed", Op::BuildSeed(build));
            }
            GuestStart::Kernel { initrd, .. } => initrd,
        };
        let modules = guest.disks.iter().flat_map(|disk| disk.way.guest_modules());
        let of_root = self.wish.root.iter().flat_map(|_| lab::modules(&self.parts));
        let of_card = guest.card.iter().map(|_| qemu::CARD_MODULE.to_owned());
        let mut more: Vec<String> =
            modules.map(|name| (*name).to_owned()).chain(of_root).chain(of_card).collect();
        more.sort();
        more.dedup();
        let build = BuildInitramfs {
            path: initrd.clone(),
            modules: self.parts.kernel.modules.clone(),
            more,
        };
        ("write the guest's initramfs", Op::BuildInitramfs(build))
    }

    /// Returns a disk that no daemon serves. Adds the step that its attach type takes beforehand,
    /// if any.
    fn own_disk(
        &self,
        seat: &DiskSeat,
        belows: &mut PathsBelow,
        context: &mut PlanContext,
    ) -> DiskSpec {
        let mut disk = DiskSpec { path: belows.placeholder_path(&seat.below), ..seat.disk.clone() };
        if let Some(Beforehand { why, act, server }) =
            disk.way.step_beforehand(&disk, &seat.below, &context.tag)
        {
            let step = context.add_step(why, act.into());
            disk.server = match server {
                DiskServer::Spdk(spdk) => DiskServer::Spdk(Spdk {
                    socket: belows.placeholder_path(&PathRef::Yield(step)),
                    ..spdk
                }),
                known => known,
            };
        }
        disk
    }

    /// Returns the process that serves a disk instead of QEMU, if the disk's attach type has one,
    /// and the disk as that process knows it.
    fn daemon(
        &self,
        at: usize,
        seat: &DiskSeat,
        files: &DaemonFiles,
    ) -> Result<Option<(Spawn, DiskSpec)>> {
        let mut belows = PathsBelow::default();
        let server = DiskServer::Daemon(files.socket.clone());
        let disk =
            DiskSpec { path: belows.placeholder_path(&seat.below), server, ..seat.disk.clone() };
        let Some(words) = disk.way.daemon_command_line(&disk, files) else { return Ok(None) };
        files.check()?;
        disk.check_disk_spec()
            .map_err(|why| Failed::input(format!("guest \"{}\": {why}", self.name)))?;
        let path = |path: &Path| {
            path.to_str().map(str::to_owned).context("a run directory that is not UTF-8")
        };
        let spawn = Spawn {
            what: format!("the server of disk {at} of guest {}", self.name),
            argv: texts(words)?,
            tag: path(&files.pid)?,
            belows: belows.0,
            log: files.log.clone(),
            makes: vec![files.socket.clone(), files.control.clone(), files.pid.clone()],
            ready: Some(files.socket.clone()),
        };
        Ok(Some((spawn, disk)))
    }

    fn spec(&self, disks: Vec<DiskSpec>, card: Option<Card>, context: &PlanContext) -> GuestSpec {
        GuestSpec {
            name: self.name.clone(),
            run_tag: context.tag.run_id.clone(),
            vcpus: self.wish.vcpus,
            memory: self.wish.memory,
            machine: self.wish.machine,
            firmware: self.wish.firmware.clone(),
            accel: self.parts.accel,
            tsc_khz: self.parts.tsc_khz,
            disks,
            card,
            start: self.guest_start(&context.tag.run_dir),
            directory: context.tag.run_dir.clone(),
        }
    }

    fn guest_start(&self, directory: &Path) -> GuestStart {
        let file = |ending: &str| directory.join(format!("{}.{ending}", self.name));
        if let Some(image) = &self.wish.image {
            return GuestStart::Image { image: image.clone(), seed: file("seed") };
        }
        // UEFI starts an image with an EFI stub, and an unpacked kernel has none.
        let kernel = match self.wish.firmware {
            Some(_) => self.parts.kernel.image.clone(),
            None => self.parts.image.clone(),
        };
        GuestStart::Kernel { kernel, initrd: file("initramfs"), root: self.wish.root.clone() }
    }
}

/// Returns the operation that starts QEMU. The command line has `@below0@` and so on for what
/// `belows` holds.
///
/// # Errors
/// Bad input: QEMU would not take the guest.
pub fn spawn(guest: &GuestSpec, files: &GuestFiles, belows: Vec<PathRef>) -> Result<Spawn> {
    let mut argv = vec![qemu::PROGRAM.to_owned()];
    argv.extend(texts(qemu::command_line(guest)?)?);
    Ok(Spawn {
        what: format!("guest {}", guest.name),
        tag: guest_word(&argv)?,
        argv,
        belows,
        log: files.stderr.clone(),
        makes: files.sockets(),
        ready: None,
    })
}

fn texts(words: Vec<OsString>) -> Result<Vec<String>> {
    let text = |word: OsString| {
        word.into_string().map_err(|word| anyhow!("{} is not UTF-8", word.to_string_lossy()))
    };
    words.into_iter().map(text).collect()
}

/// Returns the argument of `-name`, which has the run's id and the guest's name.
fn guest_word(argv: &[String]) -> Result<String> {
    let at = argv.iter().position(|word| word == "-name").context("a guest without a name")?;
    argv.get(at + 1).cloned().context("a guest without a name")
}

/// Pins a running guest's threads to the guest's own processors, if it has any.
///
/// # Errors
/// When QEMU does not report its threads, a process is gone, or the kernel refuses a processor.
pub fn put_on_processors(plan: &GuestPlan, qemu: &mut Qmp) -> Result<()> {
    let Some(pin) = &plan.pin else { return Ok(()) };
    let process = |tag: &str| -> Result<u32> {
        Ok(started_process(tag)?
            .with_context(|| format!("a process of guest {} is gone", plan.place))?
            .pid)
    };
    let daemons =
        plan.daemons.iter().map(|daemon| process(&daemon.tag)).collect::<Result<Vec<_>>>()?;
    pin::apply(pin, qemu, process(&plan.tag)?, &daemons)
        .with_context(|| format!("guest {}: cpus", plan.place))
}

/// Waits for a guest that was started a moment ago, or reset in a QEMU that runs already (`earlier`
/// is the connection to it), and connects to its agent; `stop` (Ctrl-C) ends the wait. Returns the
/// agent, why figures of the guest are not representative (`None`: they are), and the connection to
/// QEMU.
///
/// # Errors
/// QEMU has ended; or [`BootError`] with the tail of the guest's console and QEMU's last words.
pub fn reach(
    plan: &GuestPlan,
    earlier: Option<Qmp>,
    stop: &AtomicBool,
) -> Result<(Peer, Option<String>, Qmp)> {
    let ended = || {
        let when = if earlier.is_some() { "with its guest" } else { "at once" };
        let words = boot::last_words(&plan.files);
        Failed::measurement(format!("QEMU of guest {} ended {when}{words}", plan.place))
    };
    let process = started_process(&plan.tag)?.ok_or_else(ended)?;
    let limits = limits(plan.accel, plan.image.is_some(), plan.crowd);
    let booted = boot::connect(earlier, &plan.files, &process, plan.accel, limits, stop);
    let booted = booted.map_err(|error| advise(plan, error))?;
    speak(plan, process, booted)
}

fn limits(accel: Accel, own_system: bool, crowd: u32) -> BootLimits {
    BootLimits::for_guest(accel, boot::is_translated(&Probe::of_files(Path::new("/"))), own_system)
        .of_crowd(crowd)
}

/// Adds advice to the error of an image that does not boot: its guest could not report why.
fn advise(plan: &GuestPlan, error: BootError) -> anyhow::Error {
    let Some(image) = &plan.image else { return error.into() };
    let image = image.display();
    let context = match &error.failure {
        BootFailure::NeverStarts(sign) => {
            format!("the image {image} does not start; hint: {}", sign.hint(plan.uefi))
        }
        _ => format!(
            "no agent in the guest from {image}; hint: does the image start with {}, is cloud-init in it and enabled, has \
             its kernel virtio-blk, virtio-console and vfat, is its console ttyS0?",
            if plan.uefi { "UEFI" } else { "BIOS (firmware=ovmf is UEFI)" },
        ),
    };
    anyhow::Error::new(error).context(context)
}

fn speak(
    plan: &GuestPlan,
    process: ProcessId,
    booted: BootedGuest,
) -> Result<(Peer, Option<String>, Qmp)> {
    let (files, watched) = (plan.files.clone(), vhost_user::watched(&process));
    let link = PeerLink::of_socket(booted.port).context("cannot use the guest's port")?;
    let peer = Peer::new(
        format!("guest {}", plan.place),
        link,
        Box::new(move || boot::last_words(&files)),
    )
    .with_fate(Box::new(move || {
        boot::fate(&process).or_else(|| vhost_user::describe_lost_sockets(&watched))
    }));
    Ok((peer, plan.emulated.clone(), booted.qmp))
}
