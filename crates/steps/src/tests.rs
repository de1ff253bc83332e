//! The laws of undoing, on the simulated twin: from any prefix of a plan, with or without the
//! done record, after a failure, after a reboot.

use super::clean::{Cleaned, undo_all};
use super::executor::Executor;
use super::journal::{self, Journal, JournalEntry};
use super::op::{
    AttachLoop, AwaitResilver, AwaitSync, BuildInitramfs, BuildSeed, ChangeByTool, ChangeMachine,
    ConnectNbd, ExportIscsi, ExportLibrbd, ExportNbd, FailMember, FillFile, ForgetFill, LimitArc,
    LvmVolume, MakeBcache, MakeBridge, MakeByTool, MakeDirectory, MakeFile, MakeFileAfar,
    MakeFilesystem, MakeFioTarget, MakeLvm, MakeRbdImage, MakeTap, MakeZpool, MapRbd, Mount,
    NbdServer, Op, RdmaOn, Rebuild, RemoteAgent, SetReadAhead, SoftRdma, Spawn, StartIscsid,
    ToolChange, Vdev, WipeSignatures, ZfsContent, ZpoolOffline, ZpoolReplace,
};
use super::place_executor::{Lacking, PlaceExecutor, PlaceExecutors};
use super::simulated::SimulatedSystem;
use crate::operation::Operation;
use crate::step::Step;
use anyhow::Result;
use iotax_drivers::ceph::cluster::{CephChange, ChangeCeph, MakeCeph};
use iotax_drivers::disk_key::DiskKey;
use iotax_drivers::dm::{MakeLinear, Stretch};
use iotax_drivers::drives::Drives;
use iotax_drivers::iscsi::ConnectIscsi;
use iotax_drivers::lio::ExportVhostScsi;
use iotax_drivers::loops::{self, LoopOf};
use iotax_drivers::md::{CreateArray, StripeSettings, SyncBounds};
use iotax_drivers::nvmet::ExportNvmf;
use iotax_drivers::nvmf::ConnectNvmf;
use iotax_drivers::partition::MakePartition;
use iotax_drivers::path_ref::{PathRef, StepId};
use iotax_drivers::process::ProcessId;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::settings::ThingSettings;
use iotax_drivers::spdk::export::ExportSpdk;
use iotax_drivers::spdk::join::{JoinSpdk, SpdkLvol, SpdkRaid, SplitSpdk};
use iotax_drivers::spdk::nvmf::ExportSpdkNvmf;
use iotax_drivers::spdk::raid::{ChangeSpdkArray, SpdkChange};
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_drivers::threads::ServingThread;
use iotax_drivers::vfio::PassThrough;
use iotax_drivers::zfs::ArcLimit;
use iotax_engines::fio::{Client, PoolPart};
use iotax_facts::array::ArrayState;
use iotax_facts::place::Place;
use iotax_facts::tool::{EngineGives, MadePath, StateQuery, ToolCommands};
use iotax_facts::vm::{Manager, Vm};
use iotax_host::guard::rig;
use iotax_host::needs::AskedNeed;
use iotax_load::DataKind;
use iotax_qemu::image::MakeImage;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// A machine that outlives the executor that worked on it, as a real one does.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<SimulatedSystem>>);

macro_rules! forward {
    ($($name:ident($($arg:ident: $kind:ty),*) -> $out:ty;)*) => {
        impl PlaceExecutor for Shared {
            $(fn $name(&mut self $(, $arg: $kind)*) -> $out { self.0.lock().unwrap().$name($($arg),*) })*
        }
    };
}
forward! {
    boot_id() -> Result<String>;
    locate_disk(key: &DiskKey) -> Result<PathBuf>;
    with_observations(op: Op) -> Result<Op>;
    perform_operation(op: &Op, tag: &RunTag) -> Result<StepOutput>;
    find_interrupted(op: &Op, tag: &RunTag, others: &[StepOutput]) -> Result<Option<StepOutput>>;
    undo_operation(op: &Op, tag: &RunTag, made: &StepOutput) -> Result<()>;
    read_array_state(op: &Op, made: &StepOutput) -> Result<Option<ArrayState>>;
    read_thing_settings(op: &Op, made: &StepOutput) -> Result<ThingSettings>;
    list_serving_threads(op: &Op, made: &StepOutput) -> Result<Vec<ServingThread>>;
    take_remarks() -> Vec<String>;
    lacking_needs(asked: &[AskedNeed]) -> Result<Lacking>;
}

/// Both ends of every fabric, over the device of step 2.
fn fabrics() -> Vec<Op> {
    let address = "169.254.9.1".parse().unwrap();
    let (nqn, host_nqn) = ("nqn.x:r-nvmf0".to_owned(), "nqn.x:host".to_owned());
    let (iqn, initiator) = ("iqn.x:r-iscsi0".to_owned(), "iqn.x:r-initiator".to_owned());
    let (name, socket) = ("iotax-r-nbd0".to_owned(), PathBuf::from("/run/r/nbd0.sock"));
    let server = NbdServer::Unix(socket.clone());
    vec![
        Op::SoftRdma(SoftRdma { short: "0123abcd".into(), on: RdmaOn::Own(address, 30) }),
        Op::ExportNvmf(ExportNvmf {
            device: PathRef::Yield(2),
            nqn: nqn.clone(),
            host_nqns: vec![host_nqn.clone()],
            hosts_before: Vec::new(),
            port_id: 10_001,
            transport: "rdma".into(),
            at: Some((address, 4420)),
            inline_data_size: None,
        }),
        Op::ConnectNvmf(ConnectNvmf {
            nqn,
            transport: "rdma".into(),
            at: Some((address, 4420)),
            host_nqn,
            host_id: "1-2".into(),
            options: Vec::new(),
        }),
        Op::ExportIscsi(ExportIscsi {
            backing: PathRef::Yield(2),
            block: true,
            bytes: 1 << 30,
            read_only: true,
            name: "iotax-r-iscsi0".into(),
            serial: "iotax-r-iscsi0".into(),
            attributes: Vec::new(),
            iqn: iqn.clone(),
            initiators: vec![initiator.clone()],
            portal: (address, 3260).into(),
            iser: true,
        }),
        Op::StartIscsid(StartIscsid { directory: "/run/r".into(), iser: true }),
        Op::ConnectIscsi(ConnectIscsi {
            iqn,
            portal: (address, 3260).into(),
            iface: "iotax-r-iscsi0".into(),
            initiator,
            iser: true,
            settings: Vec::new(),
        }),
        Op::ExportNbd(ExportNbd {
            spawn: Spawn {
                what: "qemu-nbd nbd0".into(),
                argv: vec!["qemu-nbd".into(), "--export-name=iotax-r-nbd0".into()],
                belows: vec![PathRef::Yield(2)],
                tag: "--export-name=iotax-r-nbd0".into(),
                log: "/run/r/nbd0.log".into(),
                makes: vec![socket.clone()],
                ready: Some(socket),
            },
            backing: PathRef::Yield(2),
            name: name.clone(),
            server: server.clone(),
        }),
        Op::ConnectNbd(ConnectNbd { name, server, connections: 1 }),
    ]
}

/// The step of [`plan`] that makes a volume group.
const ON_LVM: StepId = 10;
/// Partition, part of a device, the array of both, and what becomes of it, one after the other.
const ON_PARTS: StepId = ON_LVM + 9;

/// file | loop | fs with its file, lvm | zfs mounted, a guest with an image beside it, and fabrics.
fn plan() -> Vec<Step> {
    let path = |text: &str| PathRef::Path(text.into());
    let bdev = |name: &str| PathRef::Bdev { rpc: "/var/tmp/spdk.sock".into(), name: name.into() };
    let mut ops = vec![
        Op::MakeFile(MakeFile {
            path: "/srv/x.img".into(),
            bytes: 1 << 30,
            keep: false,
            inside_mount: false,
        }),
        Op::FillFile(FillFile {
            file: path("/srv/x.img"),
            bytes: 1 << 30,
            seed: 1,
            data: DataKind::default(),
            trimmed: true,
        }),
        Op::AttachLoop(AttachLoop {
            backing: path("/srv/x.img"),
            bytes: 1 << 30,
            direct_io: true,
            read_only: false,
            file: None,
        }),
        Op::MakeFilesystem(MakeFilesystem {
            kind: "xfs".into(),
            device: PathRef::Yield(2),
            others: Vec::new(),
            label: "iotax".into(),
            options: Vec::new(),
        }),
        Op::MakeDirectory(MakeDirectory { path: "/run/r/fs0".into() }),
        Op::Mount(Mount::without_atime(PathRef::Yield(2), "/run/r/fs0".into(), "xfs")),
        Op::MakeFile(MakeFile {
            path: "/run/r/fs0/data".into(),
            bytes: 1 << 29,
            keep: false,
            inside_mount: true,
        }),
        Op::PassThrough(PassThrough {
            address: "0000:01:00.0".into(),
            driver: "nvme".into(),
            disk: "/dev/nvme1n1".into(),
            isolation: None,
            queue: ThingSettings::new(),
        }),
        Op::ExportVhostScsi(ExportVhostScsi {
            backing: PathRef::Yield(2),
            block: true,
            bytes: 1 << 30,
            read_only: false,
            name: "iotax-r-disk".into(),
            wwn: "naa.5001405000000001".into(),
            serial: "iotax-vm0-1".into(),
        }),
        Op::ExportSpdk(ExportSpdk {
            rpc: "/var/tmp/spdk.sock".into(),
            backing: PathRef::Yield(2),
            uring: false,
            read_only: false,
            part: None,
            cpumask: None,
            name: "iotax-r-spdk".into(),
        }),
        Op::MakeLvm(MakeLvm {
            name: "iotax-r-lvm0".into(),
            members: vec![path("/dev/nvme2n1"), path("/dev/nvme3n1")],
            member_bytes: 1 << 30,
            volume: LvmVolume::Linear { extents: 500 },
            drives: Drives::default(),
        }),
        Op::LimitArc(LimitArc { bytes: 1 << 28, was: ArcLimit::default() }),
        Op::MakeZpool(MakeZpool {
            name: "iotax-r-zfs0".into(),
            members: vec![PathRef::Yield(ON_LVM)],
            vdev: Vdev::Stripe,
            ashift: 12,
            properties: Vec::new(),
            content: ZfsContent::Dataset { recordsize: 1 << 17 },
            dedup_bytes: None,
            drives: Drives::default(),
        }),
        Op::MakeDirectory(MakeDirectory { path: "/run/r/zfs0".into() }),
        Op::Mount(Mount::without_atime(PathRef::Yield(ON_LVM + 2), "/run/r/zfs0".into(), "zfs")),
        Op::ZpoolOffline(ZpoolOffline {
            content: PathRef::Yield(ON_LVM + 2),
            member: PathRef::Yield(ON_LVM),
        }),
        Op::ZpoolReplace(ZpoolReplace {
            content: PathRef::Yield(ON_LVM + 2),
            member: PathRef::Yield(ON_LVM),
            bytes: 0,
        }),
        Op::AwaitResilver(AwaitResilver { content: PathRef::Yield(ON_LVM + 2) }),
        Op::BuildSeed(BuildSeed { path: "/run/r/vm0.seed".into(), patience_s: 150 }),
        // From ON_PARTS on.
        Op::MakePartition(MakePartition {
            device: PathRef::Yield(2),
            table: "gpt".into(),
            id: "7C4E".into(),
            name: "iotax-r-part0".into(),
            start: 1 << 20,
            bytes: 1 << 29,
            drives: Drives::default(),
        }),
        Op::MakeLinear(MakeLinear {
            name: "iotax-r-dm0".into(),
            stretches: vec![Stretch { device: PathRef::Yield(2), offset: 0, bytes: 1 << 29 }],
            read_only: false,
        }),
        Op::CreateArray(array(&[ON_PARTS, ON_PARTS + 1])),
        Op::FailMember(FailMember {
            array: PathRef::Yield(ON_PARTS + 2),
            member: PathRef::Yield(ON_PARTS + 1),
        }),
        Op::Rebuild(Rebuild {
            array: PathRef::Yield(ON_PARTS + 2),
            member: PathRef::Yield(ON_PARTS + 1),
            bytes: 0,
        }),
        Op::AwaitSync(AwaitSync { array: PathRef::Yield(ON_PARTS + 2) }),
        Op::MakeImage(MakeImage {
            on: path("/srv/x.img"),
            block: false,
            offset: 0,
            room: 1 << 30,
            bytes: 1 << 29,
            cluster: 1 << 16,
            mapped: false,
            lazy_refcounts: false,
        }),
        Op::JoinSpdk(JoinSpdk {
            rpc: "/var/tmp/spdk.sock".into(),
            members: vec![PathRef::Yield(2), path("/srv/x.img")],
            uring: false,
            read_only: false,
            mib: None,
            raid: Some(SpdkRaid { level: "raid1".into(), strip_kib: None }),
            lvol: Some(SpdkLvol { thin: true, cluster: 1 << 20, mib: 16 }),
            name: "iotax-r-bdev".into(),
        }),
        Op::ChangeSpdkArray(ChangeSpdkArray {
            made: bdev("iotax-r-bdev-lvs/lvol"),
            change: SpdkChange::Leaves(1),
            bytes: 0,
        }),
        Op::SplitSpdk(SplitSpdk { bdev: bdev("iotax-r-bdev-lvs/lvol"), parts: 2, mib: 8 }),
        Op::ExportSpdk(ExportSpdk {
            rpc: "/var/tmp/spdk.sock".into(),
            backing: bdev("iotax-r-bdev-lvs/lvolp0"),
            uring: false,
            read_only: false,
            part: None,
            cpumask: None,
            name: "iotax-r-part0".into(),
        }),
        Op::ExportSpdkNvmf(ExportSpdkNvmf {
            bdev: bdev("iotax-r-bdev-lvs/lvolp1"),
            nqn: "nqn.2026-01.io.iotax:r-nvmf0".into(),
            serial: "iotax-nvmf0".into(),
            hosts: vec!["nqn.2026-01.io.iotax:r-host".into()],
            transport: "TCP".into(),
            at: ("127.0.0.1".parse().unwrap(), 4499),
            has_transport: Some(false),
        }),
        Op::WipeSignatures(WipeSignatures {
            device: PathRef::Yield(ON_PARTS + 2),
            names: vec!["ext4".into()],
        }),
        Op::MakeBcache(MakeBcache {
            name: "iotax-r-bcache0".into(),
            slow: path("/dev/nvme4n1"),
            fast: path("/dev/nvme5n1"),
            drive: None,
            mode: "writeback".into(),
            block: 4 << 10,
            bucket: 512 << 10,
            sequential_cutoff: 4 << 20,
            congested_us: [2000, 20_000],
            drives: Drives::default(),
        }),
        Op::MakeCeph(MakeCeph {
            name: "iotax-r-ceph0".into(),
            directory: "/run/r/ceph0".into(),
            members: vec![PathRef::Yield(2), path("/dev/nvme6n1")],
            size: 2,
            min_size: 1,
            pg: 16,
            memory: 1 << 30,
            cache_policy: "writearound".into(),
            order: 22,
            drives: Drives::default(),
        }),
        Op::MakeRbdImage(MakeRbdImage {
            conf: path("/run/r/ceph0/ceph.conf"),
            pool: "iotax-r-ceph0".into(),
            image: "vol0".into(),
            bytes: 1 << 28,
            run: "r".into(),
        }),
        Op::MakeFioTarget(MakeFioTarget {
            file: "/run/r/rados0.fio-target".into(),
            conf: "/run/r/ceph0/ceph.conf".into(),
            client: Client {
                conf: "/run/r/ceph0/ceph.conf".into(),
                pool: "iotax-r-ceph0".into(),
                of: PoolPart::Objects { name: "rados0".into(), object_bytes: 4 << 20 },
                bytes: 1 << 28,
            },
            cache: None,
            fill: true,
        }),
        Op::ExportLibrbd(ExportLibrbd {
            spawn: Spawn {
                what: "the qemu-storage-daemon of librbd0".into(),
                argv: vec!["qemu-storage-daemon".into(), "/run/r/librbd0.pid".into()],
                belows: Vec::new(),
                tag: "/run/r/librbd0.pid".into(),
                log: "/run/r/librbd0.log".into(),
                makes: vec!["/run/r/librbd0.pid".into()],
                ready: None,
            },
            file: "/run/r/librbd0.img".into(),
            conf: "/run/r/ceph0/ceph.conf".into(),
            pool: "iotax-r-ceph0".into(),
            image: "vol0".into(),
        }),
        Op::MapRbd(MapRbd {
            conf: "/run/r/ceph0/ceph.conf".into(),
            pool: "iotax-r-ceph0".into(),
            image: "vol1".into(),
            read_only: false,
            queue_depth: 128,
            read_from_replica: "no".into(),
            ms_mode: "prefer-crc".into(),
            before: None,
        }),
        Op::ChangeCeph(ChangeCeph {
            made: path("/run/r/ceph0/ceph.conf"),
            change: CephChange::Ends(1),
            bytes: 0,
        }),
        Op::ForgetFill(ForgetFill { file: path("/srv/x.img") }),
        Op::ChangeMachine(ChangeMachine {
            vm: Vm { manager: Manager::Libvirt, name: "db1".into(), on: Place::Host, uri: None },
            disk: Some("vdb".into()),
            settings: [("cache".to_owned(), "none".to_owned())].into(),
            force: false,
            host: Some("db1".into()),
            before: None,
        }),
        Op::MakeByTool(by_tool()),
        Op::ChangeByTool(ChangeByTool { of: by_tool(), change: ToolChange::Fails(1), bytes: 0 }),
        Op::SetReadAhead(SetReadAhead { device: path("/dev/nvme8n1"), kib: 4096, was_kib: None }),
        Op::MakeBridge(MakeBridge {
            name: "ixn-r".into(),
            address: "198.18.0.1".parse().unwrap(),
            prefix: 24,
        }),
        Op::MakeTap(MakeTap { name: "ix0-r".into(), bridge: "ixn-r".into(), multi_queue: false }),
        Op::Spawn(Spawn {
            what: "guest vm1".into(),
            argv: [
                "qemu",
                "iotax-r-vm0",
                "0000:01:00.0",
                "naa.5001405000000001",
                "iotax-r-spdk",
                "ix0-r",
            ]
            .map(str::to_owned)
            .into(),
            tag: "iotax-r-vm0".into(),
            log: "/run/r/vm0.log".into(),
            belows: Vec::new(),
            makes: vec!["/run/r/vm0.qmp".into()],
            ready: None,
        }),
    ];
    // The guest stays the last: it has what other steps made.
    let guest = ops.len() - 1;
    ops.splice(guest..guest, fabrics());
    steps(ops)
}

/// What a program makes that iotax does not know.
fn by_tool() -> MakeByTool {
    let argv =
        |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    MakeByTool {
        tool: "array".into(),
        name: "iotax-r-tool0".into(),
        members: ["/dev/nvme6n1", "/dev/nvme7n1"].map(|path| PathRef::Path(path.into())).into(),
        pci: Vec::new(),
        slots: [("level".to_owned(), "5".to_owned())].into(),
        bytes: 1 << 30,
        commands: Box::new(ToolCommands {
            make: vec![argv(&["arrayctl", "create", "{name}", "--level={level}", "{members}"])],
            undo: vec![argv(&["arrayctl", "delete", "{name}"])],
            find: vec![argv(&["arrayctl", "show", "{name}"])],
            absent: vec![1],
            fail: vec![argv(&["arrayctl", "fail", "{name}", "{member}"])],
            bring_back: vec![argv(&["arrayctl", "return", "{name}", "{member}"])],
            state: Some(StateQuery {
                command: argv(&["arrayctl", "show", "{name}"]),
                ..StateQuery::default()
            }),
            settings: None,
            member: None,
            separator: None,
            gives: EngineGives::Block,
            path: MadePath::Fixed("/dev/array/{name}".into()),
            limit: 60,
            long_limit: 600,
            survives: true,
            daemon: false,
        }),
    }
}

/// RAID 1 over what these steps give.
fn array(members: &[StepId]) -> CreateArray {
    CreateArray {
        members: members.iter().map(|step| PathRef::Yield(*step)).collect(),
        name: "iotax-r-md0".into(),
        level: 1,
        chunk: None,
        layout: None,
        metadata: "1.2".into(),
        bitmap: false,
        size: Some(1 << 28),
        data_offset: Some(1 << 20),
        uneven: false,
        assume_clean: false,
        sync_speed: SyncBounds::default(),
        stripes: StripeSettings::default(),
        bytes: 1 << 28,
        drives: Drives::default(),
    }
}

fn steps(ops: impl IntoIterator<Item = Op>) -> Vec<Step> {
    ops.into_iter()
        .enumerate()
        .map(|(id, op)| Step { id: id as u32, place: Place::Host, why: "do it".into(), op })
        .collect()
}

/// Of a run whose folder on the simulated machine is `/run/r`, wherever its journal lies on the
/// real one.
fn tag(_: &Path) -> RunTag {
    RunTag { run_id: "r".into(), run_dir: "/run/r".into() }
}

fn clean_in(journal: &Path, places: &mut PlaceExecutors) -> Result<Cleaned> {
    undo_all(journal, &tag(journal), places)
}

/// Others' things that must be the same afterwards.
fn nowhere(key: &DiskKey) -> Result<PathBuf> {
    anyhow::bail!("no disk here has {key}")
}

fn here(machine: &Shared) -> PlaceExecutors {
    PlaceExecutors::with_host(Box::new(machine.clone()))
}

fn machine() -> Shared {
    let mut system = SimulatedSystem::default();
    system.put("file /srv/theirs.img", "/srv/theirs.img", &[]);
    system.resources[0].survives = true;
    system.put("loop /srv/theirs.img", "/dev/loop0", &["/srv/theirs.img"]);
    system.put("process theirs", "/proc/7", &[]);
    system.settings.insert("zfs_arc_max".into(), "1073741824".into());
    Shared(Arc::new(Mutex::new(system)))
}

fn state(machine: &Shared) -> SimulatedSystem {
    machine.0.lock().unwrap().contents()
}

/// What iotax does up to the moment it is killed: `done` steps whole, then one whose done record
/// is not written, performed or not.
fn killed_after(machine: &Shared, run_dir: &Path, done: usize, performed: bool) {
    killed_in(&plan(), &mut machine.clone(), run_dir, done, performed);
}

/// All steps, and what they made.
fn killed_whole(
    plan: &[Step],
    system: &mut dyn PlaceExecutor,
    run_dir: &Path,
) -> BTreeMap<StepId, StepOutput> {
    killed_in(plan, system, run_dir, plan.len(), true)
}

fn killed_in(
    plan: &[Step],
    system: &mut dyn PlaceExecutor,
    run_dir: &Path,
    done: usize,
    performed: bool,
) -> BTreeMap<StepId, StepOutput> {
    let mut journal = Journal::open(run_dir).unwrap();
    let mut yields = BTreeMap::new();
    for (number, step) in plan.iter().take(done + 1).enumerate() {
        let op =
            system.with_observations(step.op.resolved(&yields, &mut nowhere).unwrap()).unwrap();
        let resolved = Step { op, ..step.clone() };
        let seq = journal.append_intent(&system.boot_id().unwrap(), &resolved).unwrap();
        if number == done && !performed {
            break;
        }
        let made = system.perform_operation(&resolved.op, &tag(run_dir)).unwrap();
        if number < done {
            journal.append_done(seq, &made).unwrap();
            yields.insert(step.id, made);
        }
    }
    yields
}

/// Every kill of every step, not a sample: the guest that has what other steps made is the last.
#[test]
fn clean_restores_the_machine_from_any_kill() {
    let flags = [(false, false), (false, true), (true, false), (true, true)];
    for done in 0..plan().len() {
        for (performed, reboot) in flags {
            let what = format!("step {done}, performed {performed}, reboot {reboot}");
            let (folder, machine) = (tempfile::tempdir().unwrap(), machine());
            let before = state(&machine);
            killed_after(&machine, folder.path(), done, performed);
            let mut expected = before.clone();
            if reboot {
                machine.0.lock().unwrap().reboot();
                expected.reboot();
            }
            let cleaned = clean_in(folder.path(), &mut here(&machine)).unwrap();
            assert!(cleaned.left.is_empty(), "{what}: {:?}", cleaned.left);
            assert_eq!(state(&machine), expected.contents(), "{what}");
            assert!(
                journal::open_steps(&journal::read_journal(folder.path()).unwrap().entries)
                    .is_empty(),
                "{what}"
            );
            let again = clean_in(folder.path(), &mut here(&machine)).unwrap();
            assert!(again.undone.is_empty(), "{what}: a second cleaning finds nothing to do");
        }
    }
}

#[test]
fn what_clean_took_away_is_told_in_a_few_words() {
    let (folder, machine) = (tempfile::tempdir().unwrap(), machine());
    killed_after(&machine, folder.path(), plan().len() - 1, true);
    let cleaned = clean_in(folder.path(), &mut here(&machine)).unwrap();
    let told: Vec<String> = cleaned.undone.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn what_a_reboot_took_and_what_was_there_before_is_told_as_such() {
    let told = |reboot: bool| {
        let (folder, machine) = (tempfile::tempdir().unwrap(), machine());
        killed_after(&machine, folder.path(), 2, true);
        if reboot {
            machine.0.lock().unwrap().reboot();
        }
        let cleaned = clean_in(folder.path(), &mut here(&machine)).unwrap();
        cleaned.undone.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(told(false)[1..], ["removed /srv/x.img"]);
    assert!(told(false)[0].starts_with("detached /dev/loop"), "{:?}", told(false));
    assert_eq!(
        told(true),
        ["gone since the reboot: the loop device over /srv/x.img", "removed /srv/x.img"]
    );
    let file = |keep| MakeFile { path: "/srv/x.img".into(), bytes: 1, keep, inside_mount: false };
    let words = |file: MakeFile, reused| {
        let made = StepOutput { reused, ..StepOutput::default() };
        file.undo_summary(Some(&made)).unwrap().to_string()
    };
    assert_eq!(words(file(false), false), "removed /srv/x.img");
    assert_eq!(
        (words(file(true), false), words(file(false), true)),
        ("kept /srv/x.img".into(), "kept /srv/x.img".into())
    );
}

#[test]
fn a_failing_step_is_taken_back_with_all_before_it() {
    for fail_at in 0..plan().len() as u32 {
        let (folder, machine) = (tempfile::tempdir().unwrap(), machine());
        let before = state(&machine);
        machine.0.lock().unwrap().fail_at = Some(fail_at);
        let journal = Journal::open(folder.path()).unwrap();
        let mut executor = Executor::new(
            PlaceExecutors::with_host(Box::new(machine.clone())),
            journal,
            tag(folder.path()),
        );
        let failed = plan().iter().find_map(|step| executor.perform_step(step).err());
        let message = format!("{:#}", failed.expect("one step fails"));
        assert!(message.contains(&format!("simulated failure of change {fail_at}")), "{message}");
        executor.undo_to(0).unwrap();
        assert_eq!(state(&machine), before, "{fail_at}");
    }
}

/// Layers whose members can fail are asked for their state by the step that made them.
#[test]
fn arrays_and_pools_tell_their_state_through_their_operations() {
    let (folder, machine) = (tempfile::tempdir().unwrap(), machine());
    let plan = plan();
    let made = killed_whole(&plan, &mut machine.clone(), folder.path());
    let has_state = |step: &&Step| matches!(step.op, Op::CreateArray(_) | Op::MakeZpool(_));
    let states: Vec<_> = plan
        .iter()
        .filter(has_state)
        .map(|step| machine.clone().read_array_state(&step.op, &made[&step.id]).unwrap())
        .collect();
    assert_eq!(states, vec![Some(ArrayState::Healthy); 2]);
}

/// What the laws above rest on: the twin refuses a wrong order, as a real machine would.
#[test]
fn nothing_that_a_guest_has_can_be_taken_from_under_it() {
    for which in ["passes through", "exports", "has by SPDK"] {
        let (folder, machine) = (tempfile::tempdir().unwrap(), machine());
        let plan = plan();
        let made = killed_whole(&plan, &mut machine.clone(), folder.path());
        let of = |step: &&Step| match step.op {
            Op::PassThrough(_) => which == "passes through",
            Op::ExportVhostScsi(_) => which == "exports",
            Op::ExportSpdk(_) => which == "has by SPDK",
            _ => false,
        };
        let step = plan.iter().find(of).unwrap();
        let op = step.op.resolved(&made, &mut nowhere).unwrap();
        let tag = tag(folder.path());
        let undone = machine.clone().undo_operation(&op, &tag, &made[&step.id]);
        let refused = format!("{:#}", undone.unwrap_err());
        assert!(refused.contains("is in use by process iotax-r-vm0"), "{which}: {refused}");
        let guest = plan.last().unwrap();
        machine.clone().undo_operation(&guest.op, &tag, &made[&guest.id]).unwrap();
        machine.clone().undo_operation(&op, &tag, &made[&step.id]).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_torn_journal_loses_its_last_line_only(cut in 1usize..200) {
        let (folder, machine) = (tempfile::tempdir().unwrap(), machine());
        killed_after(&machine, folder.path(), 3, true);
        let path = folder.path().join(journal::FILE);
        let whole = std::fs::read(&path).unwrap();
        let lines = journal::read_journal(folder.path()).unwrap().entries.len();
        let last = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
        let keep = (whole.len() - 1).saturating_sub(cut).max(last);
        std::fs::write(&path, &whole[..keep]).unwrap();
        prop_assert_eq!(journal::read_journal(folder.path()).unwrap().entries.len(), lines - 1);
        Journal::open(folder.path()).unwrap().append_undone(0).unwrap();
        prop_assert_eq!(journal::read_journal(folder.path()).unwrap().entries.len(), lines);
    }
}

#[test]
fn what_cannot_be_undone_is_named_with_the_command_left_to_run() {
    let (folder, machine) = (tempfile::tempdir().unwrap(), machine());
    killed_after(&machine, folder.path(), 3, true);
    // Somebody mounted our loop device meanwhile.
    machine.0.lock().unwrap().put("mount /mnt", "/mnt", &["/dev/loop1"]);
    let cleaned = clean_in(folder.path(), &mut here(&machine)).unwrap();
    let left: Vec<_> = cleaned.left.iter().map(|left| left.by_hand.clone().unwrap()).collect();
    assert_eq!(left, ["losetup --detach /dev/loop1", "rm /srv/x.img"]);
    let error = super::executor::report_left(&cleaned.left).unwrap_err();
    assert_eq!(iotax_units::exit::code_of(&error), iotax_units::exit::UNDO_INCOMPLETE);
    // Once it is free, cleaning again finishes.
    machine.0.lock().unwrap().resources.retain(|there| there.key != "mount /mnt");
    assert!(clean_in(folder.path(), &mut here(&machine)).unwrap().left.is_empty());
    assert_eq!(state(&machine), state(&self::machine()));
}

#[test]
fn a_drive_gets_the_settings_of_its_queue_back() {
    gets_its_queue_back(|op| matches!(op, Op::PassThrough(_)), ("scheduler", "mq-deadline"));
    gets_its_queue_back(|op| matches!(op, Op::SetReadAhead(_)), ("read_ahead_kb", "641"));
}

fn gets_its_queue_back(is_it: fn(&Op) -> bool, (name, value): (&str, &str)) {
    let (folder, machine) = (tempfile::tempdir().unwrap(), machine());
    machine.0.lock().unwrap().settings.insert(name.into(), value.into());
    let before = state(&machine);
    let take = || plan().into_iter().filter(|step| is_it(&step.op)).collect::<Vec<_>>();
    let journal = Journal::open(folder.path()).unwrap();
    let mut executor = Executor::new(
        PlaceExecutors::with_host(Box::new(machine.clone())),
        journal,
        tag(folder.path()),
    );
    executor.perform_step(&take()[0]).unwrap();
    assert_ne!(state(&machine), before);
    drop(executor);
    // Killed before it could say that it was done: the intent knows them.
    let file = folder.path().join(journal::FILE);
    let text = std::fs::read_to_string(&file).unwrap();
    let intent = text.lines().next().unwrap();
    assert!(intent.contains(value), "{intent}");
    std::fs::write(&file, format!("{intent}\n")).unwrap();
    assert!(clean_in(folder.path(), &mut here(&machine)).unwrap().left.is_empty());
    assert_eq!(state(&machine), before);
}

#[test]
fn the_journal_says_which_drives_the_members_are() {
    let (folder, machine) = (tempfile::tempdir().unwrap(), machine());
    let journal = Journal::open(folder.path()).unwrap();
    let mut executor =
        Executor::new(PlaceExecutors::with_host(Box::new(machine)), journal, tag(folder.path()));
    let step = plan().into_iter().find(|step| matches!(step.op, Op::MakeLvm(_))).unwrap();
    executor.perform_step(&step).unwrap();
    let text = std::fs::read_to_string(folder.path().join(journal::FILE)).unwrap();
    let intent = text.lines().next().unwrap();
    assert!(
        intent.contains(r#""drives":[{"serial":"S-nvme2n1"},{"serial":"S-nvme3n1"}]"#),
        "{intent}"
    );
    // A journal of before says nothing of it, and is read.
    let before = serde_json::to_string(&step).unwrap();
    assert!(!before.contains("drives"), "{before}");
    assert_eq!(serde_json::from_str::<Step>(&before).unwrap(), step);
}

#[test]
fn a_command_left_to_be_typed_after_a_reboot_warns_of_names_that_changed() {
    for reboot in [false, true] {
        let (folder, machine) = (tempfile::tempdir().unwrap(), machine());
        let lvm = plan().into_iter().find(|step| matches!(step.op, Op::MakeLvm(_))).unwrap();
        killed_in(std::slice::from_ref(&lvm), &mut machine.clone(), folder.path(), 0, true);
        if reboot {
            machine.0.lock().unwrap().reboot();
        }
        let made =
            machine.clone().find_interrupted(&lvm.op, &tag(folder.path()), &[]).unwrap().unwrap();
        machine.0.lock().unwrap().put(
            "mount /mnt",
            "/mnt",
            &[made.path.unwrap().to_str().unwrap()],
        );
        let cleaned = clean_in(folder.path(), &mut here(&machine)).unwrap();
        let command = cleaned.left[0].by_hand.clone().unwrap();
        let warned = command.ends_with(" # names of devices may be other drives' since the reboot");
        assert!(
            command.starts_with("vgremove -ff iotax-r-lvm0; pvremove ") && warned == reboot,
            "{command}"
        );
    }
}

#[test]
fn what_was_refused_before_it_changed_anything_is_not_taken_from_whoever_has_it() {
    let (folder, machine) = (tempfile::tempdir().unwrap(), machine());
    machine.0.lock().unwrap().put("drive 0000:01:00.0", "/dev/vfio/14", &[]);
    let before = state(&machine);
    let journal = Journal::open(folder.path()).unwrap();
    let mut executor = Executor::new(
        PlaceExecutors::with_host(Box::new(machine.clone())),
        journal,
        tag(folder.path()),
    );
    let step = plan().into_iter().find(|step| matches!(step.op, Op::PassThrough(_))).unwrap();
    let error = executor.perform_step(&step).unwrap_err();
    assert_eq!(
        format!("{error:#}"),
        "cannot do it: nothing was changed: drive 0000:01:00.0 is there"
    );
    executor.undo_to(0).unwrap();
    assert_eq!(state(&machine), before, "it is still somebody else's");
    // Nothing is left for `clean` either, which would find it taken.
    assert!(journal::open_steps(&journal::read_journal(folder.path()).unwrap().entries).is_empty());
}

/// What is on another thing is taken away first, and a change needs the thing that it is of.
#[test]
fn things_are_taken_away_from_the_top() {
    let (folder, machine) = (tempfile::tempdir().unwrap(), machine());
    let plan = plan();
    let made = killed_whole(&plan, &mut machine.clone(), folder.path());
    let tag = tag(folder.path());
    let undo = |step: StepId| {
        let op = plan[step as usize].op.resolved(&made, &mut nowhere).unwrap();
        machine.clone().undo_operation(&op, &tag, &made[&step])
    };
    let [partition, part, array_at, fail] = [0, 1, 2, 3].map(|at| ON_PARTS + at);
    for below in [partition, part] {
        assert!(format!("{:#}", undo(below).unwrap_err()).contains("is in use"), "{below}");
    }
    let array = plan[array_at as usize].op.resolved(&made, &mut nowhere).unwrap();
    let state = || machine.clone().read_array_state(&array, &made[&array_at]).unwrap();
    assert_eq!(state(), Some(ArrayState::Healthy));
    undo(array_at).unwrap();
    assert_eq!(state(), None);
    let fail = plan[fail as usize].op.resolved(&made, &mut nowhere).unwrap();
    assert!(machine.clone().perform_operation(&fail, &tag).is_err());
    undo(part).unwrap();
    undo(partition).unwrap();
}

/// A file and two loop devices on it, as stacks that share nothing have.
fn two_loops_on(file: &Path) -> Vec<Step> {
    let bytes = 1 << 20;
    let attach = || {
        let backing = PathRef::Path(file.to_owned());
        Op::AttachLoop(AttachLoop {
            backing,
            bytes,
            direct_io: false,
            read_only: false,
            file: None,
        })
    };
    let made = MakeFile { path: file.to_owned(), bytes, keep: false, inside_mount: false };
    steps([Op::MakeFile(made), attach(), attach()])
}

#[test]
fn a_loop_device_without_its_done_record_is_told_from_its_sibling() {
    let (folder, machine) = (tempfile::tempdir().unwrap(), machine());
    let before = state(&machine);
    let plan = two_loops_on(Path::new("/srv/x.img"));
    killed_in(&plan, &mut machine.clone(), folder.path(), 2, true);
    assert_eq!(state(&machine).resources.len(), before.resources.len() + 3);
    let cleaned = clean_in(folder.path(), &mut here(&machine)).unwrap();
    assert!(cleaned.left.is_empty(), "{:?}", cleaned.left);
    assert_eq!(state(&machine), before);
}

#[test]
fn a_real_loop_device_without_its_done_record_is_told_from_its_sibling() {
    let losetup = iotax_host::probe::program_path("losetup");
    if losetup.is_none() || !Path::new("/dev/loop-control").exists() {
        return rig::skip("losetup and loop devices");
    }
    if !rig::root() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.img");
    let of = LoopOf { backing: &file, file: None, bytes: 1 << 20 };
    let mut killed = RealSystem::default();
    killed_in(&two_loops_on(&file), &mut killed, folder.path(), 2, true);
    let devices = loops::attached(&of).unwrap();
    // In whatever order the kernel lists them.
    let made = |device: &PathBuf| StepOutput::found_at(device.clone());
    let found = |other: &PathBuf| {
        let attach = two_loops_on(&file).remove(2).op;
        RealSystem::default()
            .find_interrupted(&attach, &tag(folder.path()), &[made(other)])
            .unwrap()
    };
    let told_apart = devices.len() == 2
        && found(&devices[0]) == Some(made(&devices[1]))
        && found(&devices[1]) == Some(made(&devices[0]));
    // Its locks go with a killed process.
    drop(killed);
    let cleaned =
        clean_in(folder.path(), &mut PlaceExecutors::with_host(Box::new(RealSystem::default())))
            .unwrap();
    let still = loops::attached(&of).unwrap();
    still.iter().for_each(|device| loops::detach(device, &of).unwrap());
    assert!(cleaned.left.is_empty(), "{:?}", cleaned.left);
    assert!(told_apart, "{devices:?}");
    assert_eq!((still.len(), file.exists()), (0, false));
}

/// A small file system with one page of room, and the file that fills the rest.
fn one_page() -> Option<(rig::Tmpfs, PathBuf)> {
    let disk = rig::Tmpfs::with_size(64 << 10)?;
    let ballast = disk.path().join("ballast");
    std::fs::write(&ballast, vec![1; (64 << 10) - PAGE]).unwrap();
    Some((disk, ballast))
}

const PAGE: usize = 4096;

#[test]
fn a_record_that_a_full_disk_cut_off_swallows_no_other() {
    let Some((disk, ballast)) = one_page() else { return };
    let mut journal = Journal::open(disk.path()).unwrap();
    let written = (0..).find(|seq| journal.append_undone(*seq).is_err()).unwrap();
    assert_ne!(
        std::fs::read(disk.path().join(journal::FILE)).unwrap().len(),
        PAGE,
        "a record was cut off"
    );
    std::fs::remove_file(ballast).unwrap();
    journal.append_undone(written).unwrap();
    let entries = journal::read_journal(disk.path()).unwrap().entries;
    assert!(written > 10 && entries.len() as u64 == written + 1, "{written} {}", entries.len());
}

/// An iotax that calls the run itself newer must still find what is to be undone.
#[test]
fn a_journal_stays_readable_where_the_record_is_newer() {
    let folder = tempfile::tempdir().unwrap();
    Journal::open(folder.path()).unwrap().append_undone(0).unwrap();
    let text = std::fs::read(folder.path().join(journal::FILE)).unwrap();
    let version = iotax_journal::line::open(&text).unwrap().version;
    assert_eq!(version, 2, "what iotax of the record's format 2 reads");
    assert!(version < iotax_journal::FORMAT);
    assert_eq!(journal::read_journal(folder.path()).unwrap().entries.len(), 1);
}

#[test]
fn what_the_journal_could_not_take_is_undone_from_memory() {
    let Some((disk, ballast)) = one_page() else { return };
    let machine = machine();
    let mut step = two_loops_on(Path::new("/srv/theirs.img")).remove(1);
    // Their loop device on the same file would be found first.
    let before = state(&machine);
    let boot_id = machine.clone().boot_id().unwrap();
    let intent = JournalEntry::Intent { seq: 0, boot_id, step: Box::new(step.clone()) };
    let room = PAGE - iotax_journal::line::encode(&intent).unwrap().len();
    // Room for the intent alone: each letter of it, and one more digit of its length.
    step.why += &"x".repeat(room - 1);
    let journal = Journal::open(disk.path()).unwrap();
    let mut executor = Executor::new(
        PlaceExecutors::with_host(Box::new(machine.clone())),
        journal,
        tag(disk.path()),
    );
    let error = format!("{:#}", executor.perform_step(&step).unwrap_err());
    assert!(
        error.contains("cannot write the journal") && error.contains("No space left"),
        "{error}"
    );
    assert_eq!(
        journal::read_journal(disk.path()).unwrap().entries.len(),
        1,
        "the intent is there, the yield is not"
    );
    assert_eq!(state(&machine).resources.len(), before.resources.len() + 1);
    std::fs::remove_file(ballast).unwrap();
    executor.undo_to(0).unwrap();
    assert_eq!(state(&machine), before);
}

#[test]
fn an_agents_copy_left_behind_is_named_and_no_other_runs() {
    let folder = tempfile::tempdir().unwrap();
    // No ssh destination has a space in it, so that none is tried.
    let plan = steps([Op::RemoteAgent(RemoteAgent { host: "no host".into(), for_steps: false })]);
    killed_in(&plan, &mut RealSystem::default(), folder.path(), 0, true);
    let cleaned =
        clean_in(folder.path(), &mut PlaceExecutors::with_host(Box::new(RealSystem::default())))
            .unwrap();
    let by_hand: Vec<_> = cleaned.left.iter().map(|left| left.by_hand.as_deref()).collect();
    assert_eq!(by_hand, [Some("ssh 'no host' 'rm -rf /tmp/iotax-r ~/.cache/iotax-r'")]);
}

#[test]
fn a_reused_or_kept_file_stays() {
    let (folder, machine) = (tempfile::tempdir().unwrap(), machine());
    machine.0.lock().unwrap().put("file /srv/x.img", "/srv/x.img", &[]);
    machine.0.lock().unwrap().resources.last_mut().unwrap().run = Some("an earlier run".into());
    let before = state(&machine);
    let journal = Journal::open(folder.path()).unwrap();
    let mut executor = Executor::new(
        PlaceExecutors::with_host(Box::new(machine.clone())),
        journal,
        tag(folder.path()),
    );
    executor.perform_step(&plan()[0]).unwrap();
    executor.undo_to(0).unwrap();
    assert_eq!(state(&machine), before);
}

/// A journal that says what its run cannot have made is not believed, whoever wrote it.
#[test]
fn nothing_is_undone_that_the_run_cannot_have_made() {
    let forged = [
        Op::MakeDirectory(MakeDirectory { path: "/srv/theirs".into() }),
        Op::MakeDirectory(MakeDirectory { path: "/run/r/../theirs".into() }),
        Op::BuildSeed(BuildSeed { path: "/etc/passwd".into(), patience_s: 0 }),
        Op::Mount(Mount::without_atime(PathRef::Path("/dev/sda1".into()), "/home".into(), "ext4")),
        Op::CreateArray(CreateArray { name: "data".into(), ..array(&[]) }),
        Op::MakeLinear(MakeLinear { name: "home".into(), stretches: Vec::new(), read_only: false }),
        Op::MakeLinear(MakeLinear {
            name: "r/../home".into(),
            stretches: Vec::new(),
            read_only: false,
        }),
        Op::BuildSeed(BuildSeed { path: "/run/r/journal.jsonl".into(), patience_s: 0 }),
        Op::SoftRdma(SoftRdma {
            short: "a/b".into(),
            on: RdmaOn::At("127.0.0.1".parse().unwrap()),
        }),
        Op::PassThrough(PassThrough {
            address: "/etc".into(),
            driver: "nvme".into(),
            disk: "/dev/nvme1n1".into(),
            isolation: None,
            queue: ThingSettings::new(),
        }),
        Op::PassThrough(PassThrough {
            address: "0000:01:00.0".into(),
            driver: "nvme".into(),
            disk: "/dev/nvme1n1".into(),
            isolation: None,
            queue: [("/etc/passwd".to_owned(), "x".to_owned())].into(),
        }),
    ];
    for op in forged {
        let error = op.check_own_names(&tag(Path::new("")), &StepOutput::default()).unwrap_err();
        assert!(error.is::<iotax_drivers::refusal::NotOurs>(), "{op:?}: {error:#}");
    }
    for step in plan() {
        step.op.check_own_names(&tag(Path::new("")), &StepOutput::default()).unwrap();
    }
}

#[test]
fn a_process_of_this_user_is_ended_only_by_a_word_of_its_command_line() {
    let mut child = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    let process = iotax_drivers::process::process_id(child.id()).unwrap();
    let made = StepOutput { process: Some(process.clone()), ..StepOutput::default() };
    let Op::Spawn(guest) = plan().pop().unwrap().op else { panic!("the guest is the last") };
    let undo = |carries: &str| {
        let spawn = Op::Spawn(Spawn { tag: carries.into(), makes: Vec::new(), ..guest.clone() });
        RealSystem::default().undo_operation(&spawn, &tag(Path::new("")), &made)
    };
    let refused = undo("iotax-r-vm0").unwrap_err();
    assert!(refused.is::<iotax_drivers::refusal::NotOurs>(), "{refused:#}");
    assert!(iotax_drivers::process::runs(&process));
    let reaper = std::thread::spawn(move || child.wait());
    undo("600").unwrap();
    reaper.join().unwrap().unwrap();
}

/// Reads the entries around a damaged line of a journal, whatever it has become, and reports the
/// damage.
#[test]
fn a_damaged_line_is_told_unless_a_kill_tore_the_last() {
    let (folder, machine) = (tempfile::tempdir().unwrap(), machine());
    killed_after(&machine, folder.path(), 3, true);
    let path = folder.path().join(journal::FILE);
    let whole = std::fs::read(&path).unwrap();
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    let read = |text: &[u8]| {
        std::fs::write(&path, text).unwrap();
        journal::read_journal(folder.path()).unwrap()
    };
    assert!(read(&whole).damage.is_empty());
    for at in 0..lines.len() {
        let with = |line: &[u8]| {
            let before = lines[..at].concat();
            [before.as_slice(), line, &lines[at + 1..].concat()].concat()
        };
        let mut flipped = lines[at].to_vec();
        flipped[60] ^= 1;
        let log = read(&with(&flipped));
        assert_eq!(log.entries.len(), lines.len() - 1, "{at}");
        assert!(
            log.damage.iter().any(|told| told.starts_with(&format!("line {}: ", at + 1))),
            "{at}: {:?}",
            log.damage
        );
        let cut = [&lines[at][..30], b"\n"].concat();
        assert!(
            !read(&with(&cut)).damage.is_empty(),
            "{at}: with an end of line it is no torn last line"
        );
        // Without its line an intent is missed, unless it is the last of all.
        let is_intent = String::from_utf8_lossy(lines[at]).contains("intent");
        let gone = read(&with(b""));
        assert_eq!(
            !gone.damage.is_empty(),
            is_intent && at + 1 < lines.len(),
            "{at}: {:?}",
            gone.damage
        );
    }
    // A power cut may leave a file of its length with nothing in it: no entry can begin so.
    assert!(!read(&vec![0; whole.len()]).damage.is_empty());
    assert!(!read(&[whole.as_slice(), &[0; 50]].concat()).damage.is_empty());
    assert!(read(&b"\n".repeat(100_000)).damage.len() <= 11, "they are counted, and not kept");
    let torn = read(&whole[..whole.len() - 20]);
    assert!(torn.damage.is_empty() && torn.entries.len() == lines.len() - 1);
    // It is taken away, so that it is no damaged line in the middle afterwards.
    Journal::open(folder.path()).unwrap().append_undone(0).unwrap();
    assert!(journal::read_journal(folder.path()).unwrap().damage.is_empty());
    let mut newer = String::from_utf8(whole.clone()).unwrap();
    newer = newer.replacen("{\"v\":2", "{\"v\":99", 1);
    assert!(read(newer.as_bytes()).damage[0].contains("format 99"));
}

/// What a shell would take apart, run and write over.
const STRANGE: &str = "a b; $(reboot) 'x\"`reboot`|&>y*?~\u{1b}\u{202e}\n\\z";

/// An operation with that in each of its texts that may be any.
fn strange(op: &Op) -> Op {
    fn leaves(value: &serde_json::Value, at: &str, into: &mut Vec<String>) {
        match value {
            serde_json::Value::String(_) => into.push(at.to_owned()),
            serde_json::Value::Array(all) => {
                all.iter().enumerate().for_each(|(n, one)| leaves(one, &format!("{at}/{n}"), into));
            }
            serde_json::Value::Object(all) => {
                all.iter().for_each(|(key, one)| leaves(one, &format!("{at}/{key}"), into));
            }
            _ => {}
        }
    }
    let mut made = serde_json::to_value(op).unwrap();
    let mut all = Vec::new();
    leaves(&made, "", &mut all);
    for at in all {
        let mut tried = made.clone();
        let text = tried.pointer_mut(&at).unwrap();
        *text = format!("{}{STRANGE}", text.as_str().unwrap()).into();
        if serde_json::from_value::<Op>(tried.clone()).is_ok() {
            made = tried;
        }
    }
    serde_json::from_value(made).unwrap()
}

/// The words that a shell gives to the programs of a line, whatever they are, and what of it is run
/// that should not be.
fn heard(folder: &Path, line: &str) -> Vec<String> {
    use std::os::unix::fs::{PermissionsExt, symlink};
    const PROGRAMS: [&str; 23] = [
        "dmsetup",
        "ip",
        "iscsiadm",
        "losetup",
        "lsblk",
        "mdadm",
        "nbd-client",
        "nvme",
        "pkill",
        "pvremove",
        "rbd",
        "rdma",
        "reboot",
        "rm",
        "rmdir",
        "rpc.py",
        "ssh",
        "umount",
        "vgremove",
        "wipefs",
        "zpool",
        "del",
        "virsh",
    ];
    for program in PROGRAMS {
        let path = folder.join(program);
        // What is said to ssh is for a shell again.
        let script = if program == "ssh" { "eval \"$2\"" } else { ":" };
        let all = format!("#!/bin/sh\nprintf '%s\\001' \"$0\" \"$@\" >&3\n{script}\n");
        std::fs::write(&path, all).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let _ = symlink(iotax_host::probe::program_path("awk").unwrap(), folder.join("awk"));
    // Nothing is written anywhere, and where to is a word too.
    let line = line.replace(" > ", " to ");
    let heard = "() { printf '%s\\001' \"$@\" >&3; }";
    let script = format!("exec 3>&1; cd{heard}; echo{heard}; kill{heard}\n{line}");
    let shell = std::process::Command::new("/bin/sh")
        .args(["-c", &script])
        .env_clear()
        .env("PATH", folder)
        .output();
    let output = shell.unwrap();
    assert!(output.stderr.is_empty(), "{line}\n{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.split('\u{1}').map(str::to_owned).collect()
}

#[test]
fn commands_to_type_give_a_shell_every_name_whole() {
    let folder = tempfile::tempdir().unwrap();
    let mut ops: Vec<Op> = plan().into_iter().map(|step| step.op).collect();
    ops.extend([
        Op::RemoteAgent(RemoteAgent { host: "me@db1".into(), for_steps: false }),
        Op::MakeFileAfar(MakeFileAfar { host: "db1".into(), path: "/srv/x.img".into(), bytes: 1 }),
        Op::BuildInitramfs(BuildInitramfs {
            path: "/run/i".into(),
            modules: "/m".into(),
            more: Vec::new(),
        }),
    ]);
    let made = StepOutput {
        path: Some(format!("/dev/x{STRANGE}").into()),
        process: Some(ProcessId { pid: 7, start_time: 1 }),
        ..StepOutput::default()
    };
    let yields: BTreeMap<StepId, StepOutput> =
        (0..ops.len() as u32).map(|id| (id, made.clone())).collect();
    let tag = RunTag { run_id: format!("r{STRANGE}"), run_dir: format!("/runs/{STRANGE}").into() };
    let mut quoted = 0;
    for op in &ops {
        let mut op = strange(op).resolved(&yields, &mut nowhere).unwrap();
        if let Op::MakeByTool(by_tool) = &mut op {
            // Its program is named in a journal, and must be one that the shell finds here.
            by_tool.commands.undo[0][0] = "del".into();
        }
        let Some(command) = op.operation().undo_by_hand(&tag, &made) else { continue };
        assert!(
            !command.contains(['\u{1b}', '\u{202e}', '\n']),
            "a terminal shows all of it: {command:?}"
        );
        let words = heard(folder.path(), &command);
        let whole =
            |word: &String| word.matches("reboot").count() == 2 * word.matches(STRANGE).count();
        assert!(
            words.iter().all(|word| word.starts_with("rm ") || whole(word)),
            "{command}\n{words:#?}"
        );
        quoted += usize::from(words.iter().any(|word| word.contains(STRANGE)));
    }
    assert!(quoted >= 25, "{quoted} commands with a name in them");
}

/// In the run's own folder, too, no link is followed.
#[test]
fn nothing_is_undone_through_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let theirs = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(theirs.path(), folder.path().join("link")).unwrap();
    let tag = RunTag { run_id: "r".into(), run_dir: folder.path().to_owned() };
    let made = |path: &str| Op::MakeDirectory(MakeDirectory { path: folder.path().join(path) });
    for path in ["link", "link/x"] {
        let refused = made(path).check_own_names(&tag, &StepOutput::default()).unwrap_err();
        assert!(refused.to_string().contains("reached through a link"), "{refused:#}");
    }
    made("x/y").check_own_names(&tag, &StepOutput::default()).unwrap();
}

#[test]
fn a_journal_of_many_steps_is_read_in_a_pass() {
    let step = plan().remove(0);
    let mut entries = Vec::new();
    for seq in 0..50_000 {
        entries.push(JournalEntry::Intent {
            seq,
            boot_id: "b".into(),
            step: Box::new(step.clone()),
        });
        entries.push(JournalEntry::Done { seq, made: StepOutput::default() });
        if seq % 2 == 0 {
            entries.push(JournalEntry::Undone { seq });
        }
    }
    let open = journal::open_steps(&entries);
    assert_eq!(open.len(), 25_000);
    assert!(open.iter().all(|open| open.seq % 2 == 1 && open.made.is_some()));
}

/// By the time that a mkfs or losetup opens what it was given, that may be another's: whoever looks
/// what a killed run left waits for it.
#[test]
fn what_goes_on_behind_a_killed_run_is_waited_for_before_what_is_below_is_let_go() {
    use std::os::unix::process::CommandExt;
    let device = format!("/dev/iotax-test-{}", std::process::id());
    let below = || PathRef::Path(device.clone().into());
    let filesystem = MakeFilesystem {
        kind: "xfs".into(),
        device: below(),
        others: Vec::new(),
        label: "iotax".into(),
        options: Vec::new(),
    };
    let attach =
        AttachLoop { backing: below(), bytes: 1, direct_io: false, read_only: false, file: None };
    let run_id = format!("behind-{}", std::process::id());
    let tag = RunTag { run_id: run_id.clone(), run_dir: PathBuf::new() };
    for op in [Op::MakeFilesystem(filesystem), Op::AttachLoop(attach)] {
        let mut left = std::process::Command::new("sleep")
            .arg("1")
            .process_group(0)
            .stdin(iotax_drivers::leftover::input_of(&run_id, "").unwrap())
            .spawn()
            .unwrap();
        let process = iotax_drivers::process::process_id(left.id()).unwrap();
        let reaper = std::thread::spawn(move || left.wait());
        assert_eq!(RealSystem::default().find_interrupted(&op, &tag, &[]).unwrap(), None);
        assert!(!iotax_drivers::process::runs(&process), "it still runs");
        reaper.join().unwrap().unwrap();
    }
}
