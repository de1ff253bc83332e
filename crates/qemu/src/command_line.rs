//! QEMU's command line, made from the checked description of a guest: no process is started and no
//! file touched. Refuses combinations that QEMU would silently weaken (aio=native without O_DIRECT)
//! or that could destroy an image opened by two processes.

use super::system_image::SystemImage;
use super::{init, root};
use crate::accel::Accel;
use crate::disk::DiskSpec;
use crate::guest_files::GuestFiles;
use crate::option_value::{CommandLine, OptionValue, is_plain, on_off, socket};
use iotax_facts::guest::{MOST_DISKS, SMALLEST_MEMORY};
use iotax_units::exit::Failed;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Name of QEMU's program on Debian, Ubuntu, Fedora and Arch.
pub const PROGRAM: &str = "qemu-system-x86_64";

/// Name of QEMU's storage daemon: its block layer as a separate process.
pub const STORAGE_DAEMON: &str = "qemu-storage-daemon";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineType {
    Q35,
    Pc,
}

impl MachineType {
    pub const ALL: &[(&str, MachineType)] = &[("q35", MachineType::Q35), ("pc", MachineType::Pc)];

    /// Returns the value of `-machine`: the board, with devices that no guest of iotax uses turned
    /// off.
    fn options(self) -> &'static str {
        match self {
            MachineType::Q35 => "q35,sata=off,smbus=off,smm=off,vmport=off,hpet=off",
            MachineType::Pc => "pc,smm=off,vmport=off,hpet=off",
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Size in bytes: whole MiB, at least 128.
    pub bytes: u64,
    /// True if another process accesses the memory.
    pub shared: bool,
    /// Size of the huge pages in bytes; `None` for ordinary pages.
    pub huge_page: Option<u64>,
    /// NUMA node of the host that the memory is bound to; `None` for any.
    pub node: Option<u32>,
}

impl Memory {
    pub fn plain_memory(bytes: u64) -> Memory {
        Memory { bytes, ..Memory::default() }
    }

    fn is_plain(&self) -> bool {
        *self == Memory::plain_memory(self.bytes)
    }
}

/// Files of OVMF, the UEFI firmware for guests. What a guest writes to the variables is lost when
/// it ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Firmware {
    pub code: PathBuf,
    pub variables: PathBuf,
}

#[derive(Clone, Debug, PartialEq)]
pub enum GuestStart {
    Kernel {
        kernel: PathBuf,
        initrd: PathBuf,
        /// Root image of a lab, which is only read; `None` if the guest stays in its initramfs.
        root: Option<PathBuf>,
    },
    Image {
        image: SystemImage,
        seed: PathBuf,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct GuestSpec {
    /// Unique within the run: letters, digits, `-`, `_`.
    pub name: String,
    /// Tag of the run, by which its processes are found in /proc. Same characters as in `name`.
    pub run_tag: String,
    pub vcpus: u32,
    pub memory: Memory,
    pub machine: MachineType,
    /// UEFI firmware; `None` for QEMU's default BIOS.
    pub firmware: Option<Firmware>,
    pub accel: Accel,
    /// Rate of the guest's time-stamp counter in kHz, for guests that cannot measure it reliably;
    /// `None` for others.
    pub tsc_khz: Option<u32>,
    pub disks: Vec<DiskSpec>,
    pub card: Option<Card>,
    pub start: GuestStart,
    /// Directory of the sockets and logs of [`GuestFiles`]: the run's, mode 0700.
    pub directory: PathBuf,
}

/// A virtio-net card on a tap device of this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    pub tap: String,
    /// The card's hardware address: `52:54:00:0a:0b:0c`.
    pub mac: String,
    /// True if this host's kernel serves the card (vhost-net) instead of QEMU.
    pub vhost: bool,
    /// Pairs of queues, 1 or more.
    pub queues: u16,
}

/// Largest number of queue pairs that QEMU gives a tap device.
pub const MOST_NET_QUEUES: u16 = 256;

pub const CARD_MODULE: &str = "virtio_net";

/// The id of the agent's character device, as QMP's query-chardev shows it.
pub const PORT_CHARDEV: &str = "agent";
/// The id of the agent's port, as QMP's VSERPORT_CHANGE event shows it.
pub const PORT_DEVICE: &str = "agent-port";

const STEPS_CHARDEV: &str = "steps";
const STEPS_DEVICE: &str = "steps-port";

/// Id of the disk from which a guest boots its own system, as QMP's query-blockstats shows it.
pub const SYSTEM_DRIVE: &str = "system";

impl GuestSpec {
    fn root(&self) -> Option<&Path> {
        match &self.start {
            GuestStart::Kernel { root, .. } => root.as_deref(),
            GuestStart::Image { .. } => None,
        }
    }

    pub fn files(&self) -> Result<GuestFiles, Failed> {
        match self.root() {
            Some(_) => GuestFiles::of_lab(&self.directory, &self.name),
            None => GuestFiles::new(&self.directory, &self.name),
        }
    }
}

/// Returns the words of the command line after [`PROGRAM`].
///
/// # Errors
/// Bad input: names the guest, and what is wrong with it or one of its disks; or the path of a
/// socket is too long.
pub fn command_line(spec: &GuestSpec) -> Result<Vec<OsString>, Failed> {
    check_guest(spec)?;
    let files = spec.files()?;
    let mut line = CommandLine::default();
    let name = format!("iotax-{}-{}", spec.run_tag, spec.name);
    // Name the threads too, to distinguish a vCPU's time from an iothread's.
    line.option(
        "-name",
        OptionValue::new("guest", &name).set("process", &name).set("debug-threads", "on"),
    );
    line.add_words("-nodefaults -no-user-config");
    if let GuestStart::Kernel { .. } = spec.start {
        // A system that is not ours may start once more before it is what it should be.
        line.add_words("-no-reboot");
    }
    line.add_words("-display none");
    machine(&mut line, spec);
    if let GuestStart::Kernel { kernel, initrd, .. } = &spec.start {
        line.add_word("-kernel").add_word(kernel).add_word("-initrd").add_word(initrd);
        line.add_word("-append").add_word(kernel_command_line(spec));
    }
    line.option(
        "-chardev",
        OptionValue::beginning_with("file").set("id", "console").set("path", &files.console),
    );
    line.add_words("-serial chardev:console");
    line.option("-chardev", socket("control", &files.qmp));
    line.add_words("-mon chardev=control,mode=control");
    ports(&mut line, &files);
    if let Some(own) = &spec.card {
        card(&mut line, own);
    }
    if let Some(root) = spec.root() {
        root_disk(&mut line, root);
    }
    if let GuestStart::Image { image, seed } = &spec.start {
        system_disks(&mut line, image, seed);
    }
    for (index, disk) in spec.disks.iter().enumerate() {
        disk.way.add_device(&mut line, index, disk);
    }
    Ok(line.into_words())
}

/// Adds the agents' virtio-serial ports. Port 0, which is reserved for a console, is not used.
fn ports(line: &mut CommandLine, files: &GuestFiles) {
    let first = (PORT_CHARDEV, PORT_DEVICE, init::PORT_NAME, &files.port);
    let second =
        files.steps.as_ref().map(|path| (STEPS_CHARDEV, STEPS_DEVICE, init::STEPS_PORT_NAME, path));
    let ports: Vec<_> = std::iter::once(first).chain(second).collect();
    for (chardev, _, _, path) in &ports {
        line.option("-chardev", socket(chardev, path));
    }
    line.add_word("-device")
        .add_word(format!("virtio-serial-pci,id=serial,max_ports={}", ports.len() + 1));
    for (chardev, device, name, _) in ports {
        let port =
            OptionValue::beginning_with("virtserialport").set("id", device).set("bus", "serial.0");
        line.option("-device", port.set("chardev", chardev).set("name", name));
    }
}

/// Adds the network card. QEMU runs no script: the tap exists and is a port of its bridge. The card
/// has no ROM, which would boot from the network.
fn card(line: &mut CommandLine, card: &Card) {
    let many = (card.queues > 1).then_some(card.queues);
    let tap = OptionValue::beginning_with("tap")
        .set("id", "net")
        .set("ifname", &card.tap)
        .set("script", "no");
    let tap = tap.set("downscript", "no").set("vhost", on_off(card.vhost));
    line.option("-netdev", tap.maybe("queues", many));
    let device = OptionValue::beginning_with("virtio-net-pci")
        .set("id", "net-device")
        .set("netdev", "net")
        .set("mac", &card.mac);
    // A vector for each queue, one for its control, one for changes of its configuration.
    let vectors = many.map(|queues| u32::from(queues) * 2 + 2);
    line.option(
        "-device",
        device.set("romfile", "").maybe("mq", many.map(|_| "on")).maybe("vectors", vectors),
    );
}

/// Adds the root disk of a lab. Its image is opened read-only and with QEMU's locks, under a
/// temporary overlay, so that several labs can share it and each finds it as it was built.
fn root_disk(line: &mut CommandLine, root: &Path) {
    let drive =
        OptionValue::new("if", "none").set("id", "root").set("snapshot", "on").set("driver", "raw");
    line.option("-drive", drive.set("file.driver", "file").set("file.filename", root));
    let device =
        OptionValue::beginning_with("virtio-blk-pci").set("id", "root-device").set("drive", "root");
    line.option("-device", device.set("serial", root::SERIAL));
}

/// Adds the disk of a guest's own system, its seed, and a network card that leads nowhere. The
/// image is opened read-only and with QEMU's locks: several guests can use it, but not while a
/// process writes it. What the guest writes goes to a temporary overlay (qcow2, in TMPDIR or
/// /var/tmp, unlinked at once). With `strict=on` the guest never boots from a disk under test.
fn system_disks(line: &mut CommandLine, image: &SystemImage, seed: &Path) {
    let file = |value: OptionValue, path: &Path| {
        value.set("file.driver", "file").set("file.filename", path)
    };
    let drive = OptionValue::new("if", "none").set("id", SYSTEM_DRIVE).set("snapshot", "on");
    line.option("-drive", file(drive.set("driver", image.format.driver()), &image.path));
    let device = OptionValue::beginning_with("virtio-blk-pci")
        .set("id", "system-device")
        .set("drive", SYSTEM_DRIVE);
    line.option("-device", device.set("bootindex", "0"));
    line.add_words("-boot strict=on");
    let node = OptionValue::new("driver", "raw").set("node-name", "seed").set("read-only", "on");
    line.option("-blockdev", file(node, seed));
    let device =
        OptionValue::beginning_with("virtio-blk-pci").set("id", "seed-device").set("drive", "seed");
    line.option("-device", device.set("serial", super::seed::SERIAL));
    // A hub with one port leads nowhere; the seed says what the card is for.
    line.option(
        "-netdev",
        OptionValue::beginning_with("hubport").set("id", "nowhere").set("hubid", "0"),
    );
    let card = OptionValue::beginning_with("virtio-net-pci")
        .set("netdev", "nowhere")
        .set("mac", super::seed::MAC);
    line.option("-device", card.set("romfile", ""));
}

fn machine(line: &mut CommandLine, spec: &GuestSpec) {
    let memory = if spec.memory.is_plain() { "" } else { ",memory-backend=ram" };
    let console = match spec.start {
        GuestStart::Kernel { .. } => "",
        // The firmware's own words go to the serial line too: the first sign of life.
        GuestStart::Image { .. } => ",graphics=off",
    };
    line.add_word("-machine").add_word(format!("{}{console}{memory}", spec.machine.options()));
    match spec.accel {
        Accel::Kvm => line.add_words("-accel kvm -cpu host"),
        Accel::Tcg => line.add_words("-accel tcg,thread=multi -cpu max"),
    }
    let vcpus = spec.vcpus.to_string();
    line.option(
        "-smp",
        OptionValue::new("cpus", &vcpus)
            .set("sockets", "1")
            .set("cores", &vcpus)
            .set("threads", "1"),
    );
    line.add_word("-m").add_word(format!("{}M", spec.memory.bytes >> 20));
    if !spec.memory.is_plain() {
        line.option("-object", memory_backend(&spec.memory));
    }
    if let Some(firmware) = &spec.firmware {
        let flash =
            |unit: &str| OptionValue::new("if", "pflash").set("unit", unit).set("format", "raw");
        line.option("-drive", flash("0").set("readonly", "on").set("file", &firmware.code));
        // What the guest writes goes to a temporary file of QEMU's.
        line.option("-drive", flash("1").set("snapshot", "on").set("file", &firmware.variables));
    }
}

fn memory_backend(memory: &Memory) -> OptionValue {
    OptionValue::beginning_with("memory-backend-memfd")
        .set("id", "ram")
        .set("size", format!("{}M", memory.bytes >> 20))
        .set("share", on_off(memory.shared))
        .maybe("hugetlb", memory.huge_page.map(|_| "on"))
        .maybe("hugetlbsize", memory.huge_page.map(|bytes| format!("{}M", bytes >> 20)))
        .maybe("host-nodes", memory.node)
        .maybe("policy", memory.node.map(|_| "bind"))
        // Touch all pages now: a page that is missing shows at the start, and none is fetched in
        // the middle of a slice.
        .set("prealloc", on_off(memory.huge_page.is_some()))
}

/// Returns the kernel's command line. With `panic=-1` and -no-reboot, a kernel that panics ends
/// QEMU at once instead of hanging. Options that shorten the boot are set only under TCG: under KVM
/// the guest keeps its defaults, mitigations above all. When TCG gets no processor for a moment, a
/// kernel may take its timer for dead and panic, and may measure the time-stamp counter as several
/// times too slow, so that its clock runs too fast.
fn kernel_command_line(spec: &GuestSpec) -> String {
    let mut words = vec!["console=ttyS0", "quiet", "panic=-1"];
    if spec.accel == Accel::Tcg {
        words.extend(["tsc=nowatchdog", "no_timer_check", "mitigations=off", "cryptomgr.notests"]);
    }
    let tsc = spec.tsc_khz.map(|khz| format!("tsc_early_khz={khz}"));
    let root = spec.root().map(|_| format!("{}={}", root::WORD, root::SERIAL));
    words.into_iter().map(str::to_owned).chain(tsc).chain(root).collect::<Vec<_>>().join(" ")
}

fn check_guest(spec: &GuestSpec) -> Result<(), Failed> {
    let refuse = |why: String| Err(Failed::input(format!("guest \"{}\": {why}", spec.name)));
    if !is_plain(&spec.name) || !is_plain(&spec.run_tag) {
        return refuse(format!(
            "its name and the run's tag \"{}\" may have letters, digits, - and _ only",
            spec.run_tag
        ));
    }
    if spec.vcpus == 0 || spec.vcpus > 255 {
        return refuse(format!("vcpus = {} is not between 1 and 255", spec.vcpus));
    }
    if spec.memory.bytes % (1 << 20) != 0 || spec.memory.bytes < SMALLEST_MEMORY {
        let shown = iotax_units::show_bytes(spec.memory.bytes);
        return refuse(format!(
            "memory = {shown} is not a whole number of MiB of at least {} MiB",
            SMALLEST_MEMORY >> 20
        ));
    }
    if let Some(page) = spec.memory.huge_page.filter(|page| spec.memory.bytes % page != 0) {
        let (memory, page) =
            (iotax_units::show_bytes(spec.memory.bytes), iotax_units::show_bytes(page));
        return refuse(format!("memory = {memory} is not a whole number of huge pages of {page}"));
    }
    if spec.disks.len() > MOST_DISKS {
        return refuse(format!(
            "{} disks, and a guest has room for {MOST_DISKS}",
            spec.disks.len()
        ));
    }
    for (index, disk) in spec.disks.iter().enumerate() {
        if let Err(why) = disk.check_disk_spec() {
            return refuse(format!("disk {}: {why}", disk.path.display()));
        }
        if spec.disks[..index].iter().any(|other| other.serial == disk.serial) {
            return refuse(format!("two disks have the serial \"{}\"", disk.serial));
        }
        if spec.root().is_some() && disk.serial == root::SERIAL {
            return refuse(format!(
                "no disk can have the serial \"{}\", which its root has",
                disk.serial
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accel::Accel;
    use crate::attach::way::{AttachWay, DaemonFiles};
    use crate::attach::{ALL, SPDK, by_name};
    use crate::disk::{Aio, Backend, Cache, DetectZeroes, DiskServer, DiskSpec, Spdk};
    use crate::qcow2::{Qcow2, Span, USUAL_CLUSTER, room_node};
    use crate::testing::made_up_disk;
    use crate::version::{
        EMPTY_DAEMON, EMPTY_QEMU, OLDEST, Version, installed_version, io_uring_works,
    };
    use iotax_host::pci::PciDrive;
    use std::ffi::OsStr;
    use std::os::unix::fs::PermissionsExt;

    fn disk() -> DiskSpec {
        made_up_disk()
    }

    fn guest(disks: Vec<DiskSpec>) -> GuestSpec {
        GuestSpec {
            name: "vm".into(),
            run_tag: "r1a2b3c".into(),
            vcpus: 2,
            memory: Memory::plain_memory(512 << 20),
            machine: MachineType::Q35,
            firmware: None,
            accel: Accel::Kvm,
            tsc_khz: None,
            disks,
            card: None,
            start: GuestStart::Kernel {
                kernel: "/boot/vmlinuz".into(),
                initrd: "/run/iotax/initrd".into(),
                root: None,
            },
            directory: "/run/iotax".into(),
        }
    }

    /// One option with its value a line.
    fn shown(spec: &GuestSpec) -> String {
        let words = command_line(spec).unwrap();
        let words: Vec<_> = words.iter().map(|word| word.to_str().unwrap()).collect();
        words.join(" ").replace(" -", "\n-")
    }

    #[test]
    fn a_guest_on_the_processor() {
        insta::assert_snapshot!(shown(&guest(vec![disk()])));
    }

    #[test]
    fn a_guest_on_the_translator_with_every_option() {
        let full = DiskSpec {
            path: "/dev/disk/by-id/odd,name".into(),
            backend: Backend::HostDevice,
            offset: 1 << 30,
            bytes: Some(4 << 30),
            cache: Cache::Directsync,
            aio: Aio::IoUring,
            discard: true,
            detect_zeroes: DetectZeroes::Unmap,
            iothreads: 0,
            num_queues: Some(4),
            queue_size: Some(128),
            serial: "iotax-2".into(),
            read_only: true,
            share_read: true,
            ..disk()
        };
        let mut spec = guest(vec![disk(), full]);
        spec.accel = Accel::Tcg;
        spec.tsc_khz = Some(2_596_100);
        insta::assert_snapshot!(shown(&spec));
    }

    #[test]
    fn a_chain_of_images_in_the_part_of_a_device() {
        let span = |mib: u64, bytes: u64| Span { offset: mib << 20, bytes: bytes << 20 };
        let images = Qcow2 {
            spans: vec![span(64, 40), span(104, 1), span(105, 23)],
            bytes: 32 << 20,
            cluster: USUAL_CLUSTER,
            lazy_refcounts: true,
            l2_cache: Some(1 << 20),
        };
        let chain = DiskSpec {
            path: "/dev/loop3".into(),
            backend: Backend::HostDevice,
            offset: 64 << 20,
            bytes: Some(64 << 20),
            qcow2: Some(images.clone()),
            ..disk()
        };
        let single =
            Qcow2 { spans: vec![span(0, 64)], lazy_refcounts: false, l2_cache: None, ..images };
        let single = DiskSpec {
            serial: "iotax-2".into(),
            read_only: true,
            share_read: true,
            qcow2: Some(single),
            ..disk()
        };
        let line = shown(&guest(vec![chain, single]));
        let nodes: Vec<&str> =
            line.split('\n').filter(|word| word.starts_with("-blockdev")).collect();
        insta::assert_snapshot!(nodes.join("\n").replace(",backing", "\n  ,backing"));
        let room = room_node("room", Path::new("/srv/x,y.img"), Backend::File, span(64, 40));
        insta::assert_snapshot!(room.into_word().into_string().unwrap(), @"node-name=room,driver=raw,offset=67108864,size=41943040,file.driver=file,file.filename=/srv/x,,y.img,file.aio=threads,cache.direct=off");
    }

    fn server_of(way: &dyn AttachWay, files: &DaemonFiles) -> DiskServer {
        let drive = PciDrive {
            address: "0000:01:00.0".into(),
            driver: Some("nvme".into()),
            ..PciDrive::default()
        };
        match way.name() {
            "vfio" => DiskServer::Drive(Box::new(drive)),
            "vhost-scsi" => DiskServer::Kernel("naa.5001405000000001".into()),
            "vhost-user-blk with spdk" => DiskServer::Spdk(Spdk {
                socket: "/var/tmp/iotax-r-vm0-0".into(),
                ..Spdk::default()
            }),
            _ => DiskServer::Daemon(files.socket.clone()),
        }
    }

    #[test]
    fn every_way_with_its_daemon() {
        let of = |way: &&'static dyn AttachWay| {
            let mut spec = guest(Vec::new());
            let plain = DiskSpec { way: *way, num_queues: Some(2), ..disk() };
            let iothreads = u16::from(way.takes_iothread());
            let files = DaemonFiles::new(Path::new("/run/iotax"), "vm-disk0");
            let full = DiskSpec { iothreads, server: server_of(*way, &files), ..plain };
            let daemon = way.daemon_command_line(&full, &files).map(|words| {
                let words: Vec<String> =
                    words.into_iter().map(|word| word.into_string().unwrap()).collect();
                format!("\n{}", words.join(" ").replace(" --", "\n--"))
            });
            spec.disks = vec![full];
            let line = shown(&spec);
            let devices: Vec<&str> =
                line.split('\n').skip_while(|word| !word.contains("virtserialport")).collect();
            format!(
                "== {}\n{}{}\n",
                way.name(),
                devices[1..].join("\n"),
                daemon.unwrap_or_default()
            )
        };
        insta::assert_snapshot!(ALL.iter().chain([&SPDK]).map(of).collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn an_image_with_its_own_system_boots_from_an_overlay() {
        let format = super::super::system_image::Format::Qcow2;
        let image = SystemImage { path: "/srv/odd,name.qcow2".into(), format };
        let start = GuestStart::Image { image, seed: "/run/iotax/vm.seed".into() };
        insta::assert_snapshot!(shown(&GuestSpec { start, ..guest(vec![disk()]) }));
    }

    #[test]
    fn memory_boards_firmware_and_threads() {
        let mut spec = guest(vec![DiskSpec { iothreads: 2, num_queues: Some(4), ..disk() }]);
        spec.machine = MachineType::Pc;
        spec.memory =
            Memory { bytes: 1 << 30, shared: true, huge_page: Some(2 << 20), node: Some(1) };
        spec.firmware =
            Some(Firmware { code: "/fw/code.fd".into(), variables: "/fw/vars.fd".into() });
        insta::assert_snapshot!(shown(&spec));
    }

    #[test]
    fn a_card_is_on_a_tap_that_is_there() {
        let card = Card {
            tap: "ix0-101112-a1b2".into(),
            mac: "52:54:00:0a:0b:0c".into(),
            vhost: false,
            queues: 1,
        };
        let words = |card: Card| {
            let line = shown(&GuestSpec { card: Some(card), ..guest(Vec::new()) });
            let own: Vec<&str> = line.split('\n').filter(|word| word.contains("net")).collect();
            own.join("\n")
        };
        insta::assert_snapshot!(words(card.clone()), @r"
        -netdev tap,id=net,ifname=ix0-101112-a1b2,script=no,downscript=no,vhost=off
        -device virtio-net-pci,id=net-device,netdev=net,mac=52:54:00:0a:0b:0c,romfile=
        ");
        insta::assert_snapshot!(words(Card { vhost: true, queues: 4, ..card }), @r"
        -netdev tap,id=net,ifname=ix0-101112-a1b2,script=no,downscript=no,vhost=on,queues=4
        -device virtio-net-pci,id=net-device,netdev=net,mac=52:54:00:0a:0b:0c,romfile=,mq=on,vectors=10
        ");
    }

    fn thin() -> Qcow2 {
        let spans = vec![Span { offset: 0, bytes: 8 << 20 }];
        Qcow2 {
            spans,
            bytes: 4 << 20,
            cluster: USUAL_CLUSTER,
            lazy_refcounts: false,
            l2_cache: None,
        }
    }

    #[test]
    fn what_a_way_does_not_take_is_refused() {
        let refused = |way: &str, change: &dyn Fn(&mut DiskSpec)| {
            let mut disk = DiskSpec { way: by_name(way).unwrap(), iothreads: 0, ..disk() };
            change(&mut disk);
            disk.check_disk_spec().unwrap_err()
        };
        insta::assert_snapshot!(
            [
                refused("nvme", &|disk| disk.iothreads = 1),
                refused("nvme", &|disk| disk.queue_size = Some(128)),
                refused("virtio-scsi", &|disk| disk.iothreads = 2),
                refused("vhost-user-blk", &|_| {}),
                refused("vfio", &|_| {}),
                refused("vhost-scsi", &|_| {}),
                refused("vhost-scsi", &|disk| {
                    (disk.offset, disk.server) = (1 << 20, DiskServer::Kernel("naa.5".into()));
                }),
                // LIO would serve the container as if it were the disk.
                refused("vhost-scsi", &|disk| {
                    (disk.qcow2, disk.server) = (Some(thin()), DiskServer::Kernel("naa.5".into()));
                }),
                refused("vhost-scsi", &|disk| {
                    (disk.snapshot, disk.server) = (true, DiskServer::Kernel("naa.5".into()));
                }),
                refused("vhost-user-blk", &|disk| {
                    (disk.cache, disk.server) =
                        (Cache::Directsync, DiskServer::Daemon("/run/x".into()));
                }),
            ]
            .join("\n")
        );
    }

    #[test]
    fn cache_modes_are_qemus() {
        let settings = |(name, cache): &(&str, Cache)| {
            let disk = DiskSpec { cache: *cache, aio: Aio::Threads, ..disk() };
            let line = shown(&guest(vec![disk]));
            let of = |key: &str| {
                line.split(key).nth(1).unwrap().split([',', '\n']).next().unwrap().to_owned()
            };
            format!(
                "{name}: direct {} no-flush {} write-cache {}",
                of("cache.direct="),
                of("cache.no-flush="),
                of("write-cache=")
            )
        };
        insta::assert_snapshot!(Cache::ALL.iter().map(settings).collect::<Vec<_>>().join("\n"), @r"
        none: direct on no-flush off write-cache on
        writeback: direct off no-flush off write-cache on
        writethrough: direct off no-flush off write-cache off
        directsync: direct on no-flush off write-cache off
        unsafe: direct off no-flush on write-cache on
        ");
    }

    #[test]
    fn what_would_mislead_or_destroy_is_refused() {
        let refused = |change: &dyn Fn(&mut GuestSpec)| {
            let mut spec = guest(vec![disk()]);
            change(&mut spec);
            command_line(&spec).unwrap_err().message
        };
        insta::assert_snapshot!(
            [
                refused(&|spec| spec.disks[0].cache = Cache::Writeback),
                refused(&|spec| spec.disks[0].share_read = true),
                refused(&|spec| spec.disks[0].shared_out = true),
                refused(&|spec| spec.disks[0].bytes = Some(1000)),
                refused(&|spec| spec.disks[0].serial = "a,b".into()),
                refused(&|spec| spec.disks[0].serial = "x".repeat(21)),
                refused(&|spec| spec.disks[0].num_queues = Some(0)),
                refused(&|spec| spec.disks[0].path = "x.img".into()),
                refused(&|spec| spec.disks.push(disk())),
                refused(&|spec| spec.vcpus = 0),
                refused(&|spec| spec.memory.bytes = 64 << 20),
                refused(&|spec| spec.memory.huge_page = Some(1 << 30)),
                refused(&|spec| spec.disks[0].detect_zeroes = DetectZeroes::Unmap),
                refused(&|spec| spec.disks[0].queue_size = Some(100)),
                refused(&|spec| spec.name = "a b".into()),
                refused(&|spec| spec.directory = format!("/{}", "d".repeat(120)).into()),
            ]
            .join("\n")
            .replace(&"d".repeat(120), "ddd...")
        );
    }

    #[test]
    fn versions_are_read() {
        let version = |text| Version::parse(text).map(|version| version.to_string());
        assert_eq!(
            version("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)").as_deref(),
            Some("7.2.22")
        );
        assert_eq!(version("QEMU emulator version 10.0.2").as_deref(), Some("10.0.2"));
        assert_eq!(version("QEMU emulator version 9.1.50rc1-dirty").as_deref(), Some("9.1.50"));
        assert_eq!(version("QEMU emulator version ?"), None);
        assert_eq!(version(""), None);
        assert!(Version::parse("QEMU emulator version 5.2.0").unwrap() < OLDEST);
    }

    /// A program that says it is this QEMU.
    fn pretender(folder: &Path, version: &str) -> PathBuf {
        let path = folder.join(version);
        std::fs::write(&path, format!("#!/bin/sh\necho QEMU emulator version {version}\n"))
            .unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn a_missing_foreign_or_old_program_will_not_do() {
        let told = |program: &OsStr| installed_version(program).unwrap_err();
        assert_eq!(
            told(OsStr::new("qemu-system-none")),
            "qemu-system-none (6.0.0 or newer) is not installed"
        );
        assert!(told(OsStr::new("true")).contains("reports no version"));
        let folder = tempfile::tempdir().unwrap();
        let old = told(pretender(folder.path(), "5.2.0").as_os_str());
        assert!(old.ends_with("is 5.2.0, which is older than 6.0.0"), "{old}");
        let new = installed_version(pretender(folder.path(), "6.0.1").as_os_str()).unwrap();
        assert_eq!(new.to_string(), "6.0.1");
    }

    #[test]
    fn io_uring_is_tried() {
        for (program, empty) in [(PROGRAM, EMPTY_QEMU), (STORAGE_DAEMON, EMPTY_DAEMON)] {
            if installed_version(OsStr::new(program)).is_err() {
                println!("skipped: needs {program}");
                continue;
            }
            // Whether it can or not: it is the program that says so, not one that would not start.
            let told = io_uring_works(OsStr::new(program), empty);
            println!("{program}: {told:?}");
            assert!(told.is_ok() || told.unwrap_err().contains("refused blockdev-add"));
        }
        let none = io_uring_works(OsStr::new("qemu-system-none"), EMPTY_QEMU);
        assert!(none.unwrap_err().contains("cannot run"));
        assert!(io_uring_works(OsStr::new("true"), EMPTY_QEMU).is_err());
    }
}
