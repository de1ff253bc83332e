//! The lab guest for real: its image, its drives and both of its agents. It is booted in the
//! translator where there is no better, so it is part of the long suite, which builds the image
//! before.

use crate::rig::{alone, can, can_run, program};
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_host::guard::found::{InspectedKind, Inspection};
use iotax_layers::PlanContext;
use iotax_layers::guest::lab::{LabDrive, LabWish, plan_lab, reach_steps};
use iotax_layers::guest::{GuestParts, GuestPlan, reach};
use iotax_layers::lab::root_image;
use iotax_model::scenario::check::{ScenarioRequest as Asked, from_arguments};
use iotax_qemu::boot::Requested;
use iotax_qemu::command_line::Memory;
use iotax_qemu::{initramfs, root};
use iotax_steps::op::{MakeDirectory, Op, Spawn};
use iotax_steps::place_executor::PlaceExecutor;
use iotax_steps::remote_executor::{RunOfStep, StepAnswer, StepRequest as StepAsked};
use iotax_steps::step::Step;
use iotax_wire::message::{Response, WireRequest};
use iotax_wire::peer::Peer;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

pub const MOMENT: Duration = Duration::from_secs(60);

/// Steps that were performed, undone at the end however the test ends.
pub struct Made {
    system: RealSystem,
    tag: RunTag,
    steps: Vec<(Step, StepOutput)>,
}

impl Made {
    fn perform(&mut self, step: Step, parts: &GuestParts) {
        let made = match &step.op {
            // This process is the test, and the guest's PID 1 is the program.
            Op::BuildInitramfs(build) => {
                let archive = initramfs::build(program(), &parts.kernel, &build.more).unwrap();
                std::fs::write(&build.path, archive).unwrap();
                StepOutput { path: Some(build.path.clone()), ..StepOutput::default() }
            }
            op => self.system.perform_operation(op, &self.tag).unwrap(),
        };
        self.steps.push((step, made));
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for (step, made) in self.steps.iter().rev() {
            let undone = self.system.undo_operation(&step.op, &self.tag, made);
            undone
                .unwrap_or_else(|error| eprintln!("{}: {error:#}", step.op.operation().describe()));
        }
    }
}

pub fn parts() -> GuestParts {
    let stack = "file:/var/tmp/none.img,size=1MiB | vm".to_owned();
    GuestParts::obtain(Requested::Auto, &from_arguments(&[stack], &Asked::default()).unwrap())
        .unwrap()
}

pub fn boot(
    parts: &GuestParts,
    root_image: PathBuf,
    folder: &Path,
    drive_bytes: u64,
) -> (Made, GuestPlan) {
    let drive = |name: &str| LabDrive {
        name: name.to_owned(),
        file: folder.join(format!("{name}.img")),
        bytes: drive_bytes,
    };
    let wish = LabWish {
        place: "lab".into(),
        origin: "the test".into(),
        drives: ["d0", "d1", "d2"].map(drive).into(),
        // With two, the translator's processors at times wait for each other in the kernel for ever
        // (soft lockups of udevd and a kworker while devices come and go).
        vcpus: 1,
        memory: Memory::plain_memory(2 << 30),
        root_image,
    };
    static LABS: AtomicU32 = AtomicU32::new(0);
    let run_id =
        format!("lab-test-{}-{}", std::process::id(), LABS.fetch_add(1, Ordering::Relaxed));
    let tag = RunTag { run_id, run_dir: folder.to_owned() };
    let mut context = PlanContext::new(tag.clone(), Some(parts.clone()), 1);
    let guest = plan_lab(&mut context, parts, &wish, None).unwrap();
    let mut made = Made { system: RealSystem::default(), tag, steps: Vec::new() };
    context.steps.into_iter().for_each(|step| made.perform(step, parts));
    (made, guest)
}

fn inspected(peer: &mut Peer, path: &Path) -> Inspection {
    match peer.call(WireRequest::Inspect { path: path.to_owned() }, MOMENT).unwrap() {
        Response::Inspect { payload } => serde_json::from_value(payload).unwrap(),
        other => panic!("{other:?}"),
    }
}

pub fn step(peer: &mut Peer, op: Op, undo: Option<StepOutput>) -> StepOutput {
    let run = RunOfStep { id: "r".into(), dir: "/run/iotax".into() };
    let asked = match undo {
        None => StepAsked::Perform { op, run },
        Some(made) => StepAsked::Undo { op, run, made },
    };
    let payload = serde_json::to_value(asked).unwrap();
    match peer.call(WireRequest::Step { payload }, MOMENT).unwrap() {
        Response::Step { payload } => match serde_json::from_value(payload).unwrap() {
            StepAnswer::Made { made } => made.unwrap_or_default(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

/// What every script begins with: it talks on the console, `$tool` is iotax and `$by` the drives'
/// names up to their `d0`.
const PRELUDE: &str = "exec > /dev/ttyS0 2>&1 < /dev/null
export HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin
by=/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_
tool=";

/// What a script of sh says in a lab with three drives until it says `end`; `None`: there can be no
/// lab here. Whoever calls holds the machine.
pub fn told_in_lab(script: &str, end: &str) -> Option<String> {
    let parts = can_run(&["qemu-system-x86_64"]).then(parts)?;
    let image = root_image(&parts.kernel).ok();
    can("the lab's image: iotax lab build", image.is_some());
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let (_made, guest) = boot(&parts, image?, folder.path(), 256 << 20);
    // Beside other work, QEMU's emulated drives keep the guest's ports waiting for long.
    let waits = Duration::from_secs(300);
    let (load, _, _qmp) = reach(&guest, None, &AtomicBool::new(false)).unwrap();
    let mut load = load.with_silence(waits);
    let mut steps = reach_steps(&guest).unwrap().with_silence(waits);
    load.hello("r", MOMENT).unwrap();
    steps.hello("r", MOMENT).unwrap();
    let script = format!("{PRELUDE}{}\n{script}", root::PROGRAM);
    let spawn = Spawn {
        what: "the script".into(),
        argv: vec!["/bin/sh".into(), "-c".into(), script, "iotax-script".into()],
        tag: "iotax-script".into(),
        belows: Vec::new(),
        log: "/run/script.log".into(),
        makes: Vec::new(),
        ready: None,
    };
    step(&mut steps, Op::Spawn(spawn), None);
    let begin = Instant::now();
    let mut told = String::new();
    while !told.contains(end) && begin.elapsed() < Duration::from_secs(3600) {
        // The agent that says nothing for long would be taken for dead.
        load.call(WireRequest::Clock, waits).unwrap();
        std::thread::sleep(Duration::from_secs(2));
        told = std::fs::read_to_string(&guest.files.console).unwrap_or_default();
    }
    println!("{:.0} s", begin.elapsed().as_secs_f64());
    assert!(told.contains(end), "{told}");
    Some(told)
}

#[test]
#[ignore = "boots an image that ./check --lab builds"]
fn a_lab_has_its_drives_and_two_agents() {
    let _alone = alone();
    if !can_run(&["qemu-system-x86_64"]) {
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let parts = parts();
    let image = root_image(&parts.kernel);
    if !can("the lab's image: iotax lab build", image.is_ok()) {
        return;
    }
    let image = image.unwrap();
    let begin = std::time::Instant::now();
    let (made, guest) = boot(&parts, image, folder.path(), 64 << 20);
    let (mut load, note, _qmp) = reach(&guest, None, &AtomicBool::new(false)).unwrap();
    let mut steps = reach_steps(&guest).unwrap();
    assert!(note.is_some_and(|note| note.starts_with("emulated")));

    let first = load.hello("r", MOMENT).unwrap();
    let second = steps.hello("r", MOMENT).unwrap();
    eprintln!("both agents answer after {:.1} s", begin.elapsed().as_secs_f64());
    assert_eq!((&first.hostname, &second.hostname), (&"lab".to_owned(), &"lab".to_owned()));
    assert_eq!(first.kernel, parts.kernel.version);
    assert_ne!(first.pid, second.pid, "a process each");

    let links: Vec<PathBuf> =
        guest.paths.iter().map(|path| path.resolved_path().unwrap().to_owned()).collect();
    assert_eq!(links[2], Path::new("/dev/disk/by-id/nvme-QEMU_NVMe_Ctrl_d2"));
    for (link, name) in links.iter().zip(["d0", "d1", "d2"]) {
        let found = inspected(&mut load, link);
        let serial = found.identity.serial.as_deref();
        assert_eq!(
            (&found.kind, found.bytes, serial),
            (&InspectedKind::Disk, 64 << 20, Some(name)),
            "{found:?}"
        );
    }
    let Response::Facts { facts } =
        load.call(WireRequest::Facts { devices: links, programs: Vec::new() }, MOMENT).unwrap()
    else {
        panic!("no facts");
    };
    assert_eq!(facts.kernel, Some(parts.kernel.version.clone()));
    assert!(facts.os.is_some(), "the image's own os-release");

    // What one agent makes the other sees.
    let make = Op::MakeDirectory(MakeDirectory { path: "/run/iotax/made".into() });
    let made_there = step(&mut steps, make.clone(), None);
    assert_eq!(made_there.path.as_deref(), Some(Path::new("/run/iotax/made")));
    assert!(std::matches!(load.call(WireRequest::Clock, MOMENT).unwrap(), Response::Clock { .. }));
    step(&mut steps, make, Some(made_there));

    // When one of them ends, the lab is at its end.
    assert_eq!(steps.call(WireRequest::Bye, MOMENT).unwrap(), Response::Bye);
    let begin = std::time::Instant::now();
    while load.fate().is_none() && begin.elapsed() < MOMENT {
        std::thread::sleep(Duration::from_millis(20));
    }
    let console = std::fs::read_to_string(&guest.files.console).unwrap();
    assert!(load.fate().is_some(), "QEMU still runs\n{console}");
    for words in ["agent of steps ended with exit code 0", "power off"] {
        assert!(console.contains(words), "no \"{words}\"\n{console}");
    }
    drop(made);
    let left: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().flatten().map(|file| file.path()).collect();
    assert!(
        left.iter().all(|path| path.extension().is_some_and(|ending| ending == "log")),
        "{left:?}"
    );
}
