//! Guests that boot for real, in the translator so that they do so anywhere. This test program
//! itself is their /init: the kernel hands it the words after `--`, by which it runs [`inside`]
//! alone.

use super::boot::{self, BootError, BootFailure, BootLimits, BootedGuest};
use super::{attach, init, initramfs, kernel, pin};
use crate::accel::Accel;
use crate::command_line::{self as qemu, GuestSpec, GuestStart, MachineType, Memory};
use crate::disk::{Aio, Cache, DiskSpec};
use crate::guest_files::GuestFiles;
use crate::testing::made_up_disk;
use iotax_drivers::disk_key as disk;
use iotax_drivers::process::{ProcessId, process_id};
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The guest's half. An ignored test, as it has a meaning in a guest only.
#[test]
#[ignore = "runs in the guests that the other tests boot"]
fn inside() {
    assert!(init::is_init(), "this test is the /init of a guest");
    init::run(|port| {
        let mut answers = port.try_clone()?;
        for request in BufReader::new(port).lines() {
            let request = request?;
            match request.split_once(' ').unwrap_or((&request, "")) {
                ("bye", _) => return Ok(()),
                ("crash", _) => std::process::abort(),
                ("flood", _) => loop {
                    answers.write_all(&[b'x'; 4096])?;
                },
                ("head", serial) => writeln!(answers, "{}", head(serial))?,
                _ => writeln!(answers, "what is {request}?")?,
            }
        }
        Ok(())
    });
}

fn head(serial: &str) -> String {
    let Some(path) = disk::disk_with_key(&disk::DiskKey::Serial(serial.into())) else {
        return format!("no disk {serial}");
    };
    let mut first = [0; 16];
    match File::open(&path).and_then(|mut file| file.read_exact(&mut first)) {
        Ok(()) => format!("{} {}", path.display(), String::from_utf8_lossy(&first)),
        Err(error) => error.to_string(),
    }
}

/// One at a time: several at once would measure each other.
static ONE: Mutex<()> = Mutex::new(());

/// A guest's process and directory, gone when it goes.
struct Lab {
    directory: tempfile::TempDir,
    spec: GuestSpec,
    child: Option<Child>,
    _alone: MutexGuard<'static, ()>,
}

impl Lab {
    /// `None`, said aloud, where there is no QEMU or no kernel.
    fn new() -> Option<Lab> {
        let alone = ONE.lock().unwrap_or_else(|poison| poison.into_inner());
        let installed = crate::version::installed_version(OsStr::new(qemu::PROGRAM)).map(drop);
        if let Err(why) = installed.and_then(|()| kernel::find_kernel_source().map(drop)) {
            println!("skipped: needs a guest: {why}");
            return None;
        }
        let kernel = kernel::obtain().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let initrd = directory.path().join("initrd");
        let modules: Vec<String> = attach::ALL
            .iter()
            .flat_map(|way| way.guest_modules())
            .map(|name| (*name).to_owned())
            .collect();
        std::fs::write(
            &initrd,
            initramfs::build(&std::env::current_exe().unwrap(), &kernel, &modules).unwrap(),
        )
        .unwrap();
        let spec = GuestSpec {
            name: "vm".into(),
            run_tag: "test".into(),
            vcpus: 2,
            memory: Memory::plain_memory(256 << 20),
            machine: MachineType::Q35,
            firmware: None,
            accel: Accel::Tcg,
            tsc_khz: iotax_sys::tsc::khz(),
            disks: vec![],
            card: None,
            start: GuestStart::Kernel {
                kernel: kernel::bootable(&kernel, Accel::Tcg),
                initrd,
                root: None,
            },
            directory: directory.path().to_owned(),
        };
        Some(Lab { directory, spec, child: None, _alone: alone })
    }

    fn disk(&mut self, content: &str) -> &mut DiskSpec {
        let serial = format!("iotax-{}", self.spec.disks.len());
        let path = self.directory.path().join(&serial);
        let file = File::create(&path).unwrap();
        file.set_len(8 << 20).unwrap();
        (&file).write_all(content.as_bytes()).unwrap();
        self.spec.disks.push(DiskSpec {
            path,
            serial,
            aio: Aio::Threads,
            iothreads: 0,
            ..made_up_disk()
        });
        self.spec.disks.last_mut().unwrap()
    }

    fn files(&self) -> GuestFiles {
        GuestFiles::new(self.directory.path(), &self.spec.name).unwrap()
    }

    /// The product's command line, and after it the words by which the kernel starts this test
    /// program as its agent.
    fn arguments(&self) -> Vec<OsString> {
        let mut arguments = qemu::command_line(&self.spec).unwrap();
        let append = arguments.iter().position(|word| word == "-append").unwrap();
        arguments[append + 1].push(" -- --exact tests::inside --ignored --nocapture");
        arguments
    }

    fn start(&mut self, more: &[&str]) -> ProcessId {
        let mut arguments = self.arguments();
        arguments.extend(more.iter().map(OsString::from));
        let child = qemu_as_child(&arguments, &self.files());
        let process = process_id(child.id()).unwrap();
        self.child = Some(child);
        process
    }

    fn connect(&self, process: &ProcessId, limits: BootLimits) -> Result<BootedGuest, BootError> {
        self.connect_unless(process, limits, &AtomicBool::new(false))
    }

    fn connect_unless(
        &self,
        process: &ProcessId,
        limits: BootLimits,
        stop: &AtomicBool,
    ) -> Result<BootedGuest, BootError> {
        boot::connect(None, &self.files(), process, self.spec.accel, limits, stop)
    }

    fn boot(&mut self) -> BootedGuest {
        let process = self.start(&[]);
        self.connect(&process, BootLimits::for_guest(Accel::Tcg, false, false)).unwrap()
    }

    fn console(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.files().console).unwrap()).into_owned()
    }

    /// How long QEMU takes to end by itself.
    fn ends_within(&mut self, limit: Duration) -> Duration {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.child.as_mut().unwrap().try_wait().unwrap() {
                assert!(status.success(), "{status}: {}", boot::last_words(&self.files()));
                return begin.elapsed();
            }
            assert!(
                begin.elapsed() < limit,
                "QEMU still runs after {limit:?}: {}",
                boot::last_words(&self.files())
            );
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Far longer than a busy machine delays an answer: what takes longer never comes.
const STALL: Option<Duration> = Some(Duration::from_secs(150));

fn ask(guest: &mut BootedGuest, request: &str) -> String {
    guest.port.set_read_timeout(STALL).unwrap();
    guest.port.set_write_timeout(STALL).unwrap();
    writeln!(guest.port, "{request}").unwrap();
    let mut answer = String::new();
    let heard = BufReader::new(&guest.port).read_line(&mut answer);
    heard.unwrap_or_else(|error| panic!("no answer to {request:?}, only {answer:?}: {error}"));
    answer.trim_end().to_owned()
}

const SOON: Duration = Duration::from_secs(20);

#[test]
fn a_guest_answers_finds_its_disks_and_powers_off() {
    let Some(mut lab) = Lab::new() else {
        return;
    };
    lab.disk("the first disk is this one");
    let second = lab.disk("the second disk: this one");
    (second.cache, second.iothreads, second.num_queues) = (Cache::Directsync, 1, Some(1));
    (second.read_only, second.share_read, second.bytes) = (true, true, Some(1 << 20));
    let mut guest = lab.boot();
    assert_eq!(ask(&mut guest, "head iotax-0").split_once(' ').unwrap().1, "the first disk i");
    assert_eq!(ask(&mut guest, "head iotax-1").split_once(' ').unwrap().1, "the second disk:");
    assert_eq!(ask(&mut guest, "head iotax-2"), "no disk iotax-2");
    check_nodes(&guest.qmp.execute("query-named-block-nodes", Value::Null).unwrap());
    put_on_one_processor(&mut guest, lab.child.as_ref().unwrap().id());
    writeln!(guest.port, "bye").unwrap();
    println!("power off after {:?}", lab.ends_within(SOON));
    let console = lab.console();
    assert!(
        console.contains("iotax-init: agent ended with exit code 0")
            || console.contains("iotax-init: the host has gone"),
        "{console}"
    );
    assert!(console.contains("iotax-init: power off"), "{console}");
}

/// All threads of a running QEMU are where they were put.
fn put_on_one_processor(guest: &mut BootedGuest, process: u32) {
    let allowed = |status: &str| {
        status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:\t")).map(String::from)
    };
    let own = std::fs::read_to_string("/proc/self/status").unwrap();
    let first = iotax_load::cpu_list(&allowed(&own).unwrap()).unwrap()[0];
    let pin = pin::Pin { vcpus: vec![vec![first]; 2], others: vec![first] };
    pin::apply(&pin, &mut guest.qmp, process, &[]).unwrap();
    let threads: Vec<_> =
        std::fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten().collect();
    assert!(threads.len() >= 3, "two vCPUs and the main loop: {threads:?}");
    for thread in threads {
        let status = std::fs::read_to_string(thread.path().join("status")).unwrap();
        assert_eq!(allowed(&status), Some(first.to_string()), "{status}");
    }
    let three = pin::Pin { vcpus: vec![vec![first]; 3], ..pin };
    assert!(pin::apply(&three, &mut guest.qmp, process, &[]).is_err(), "it has two vCPUs");
}

/// What the command line asked for is what QEMU does, in the nodes of the files too.
fn check_nodes(nodes: &Value) {
    let nodes = nodes.as_array().unwrap();
    let of = |name: &str, driver: &str| {
        let ours =
            |node: &&Value| node["file"].as_str().unwrap().contains(name) && node["drv"] == driver;
        nodes.iter().find(ours).unwrap_or_else(|| panic!("no {driver} node for {name}: {nodes:#?}"))
    };
    for (name, read_only) in [("iotax-0", false), ("iotax-1", true)] {
        for driver in ["raw", "file"] {
            let node = of(name, driver);
            assert_eq!(
                (&node["cache"]["direct"], &node["ro"]),
                (&Value::Bool(true), &Value::Bool(read_only)),
                "{node:#}"
            );
        }
    }
    assert_eq!(of("iotax-1", "raw")["image"]["virtual-size"], 1 << 20);
}

#[test]
fn a_guest_whose_host_goes_powers_off() {
    let Some(mut lab) = Lab::new() else { return };
    let mut guest = lab.boot();
    // A host that goes in the very moment of connecting is only missed after the orphan's 180 s.
    writeln!(guest.port, "hello").unwrap();
    guest.port.set_read_timeout(Some(SOON)).unwrap();
    guest.port.read_exact(&mut [0; 4]).unwrap();
    drop(guest);
    println!("idle agent: QEMU ended {:?} after the port was closed", lab.ends_within(SOON));
    let mut guest = lab.boot();
    writeln!(guest.port, "flood").unwrap();
    guest.port.set_read_timeout(Some(SOON)).unwrap();
    guest.port.read_exact(&mut [0; 4096]).unwrap();
    std::thread::sleep(Duration::from_millis(500));
    drop(guest);
    println!(
        "agent stuck in a write: QEMU ended {:?} after the port was closed",
        lab.ends_within(SOON)
    );
    assert!(lab.console().contains("iotax-init: the host has gone"));
}

#[test]
fn a_crash_of_the_agent_is_told_and_ends_the_guest() {
    let Some(mut lab) = Lab::new() else { return };
    let mut guest = lab.boot();
    writeln!(guest.port, "crash").unwrap();
    lab.ends_within(SOON);
    assert!(lab.console().contains("iotax-init: agent killed by signal 6"), "{}", lab.console());
    assert!(boot::last_words(&lab.files()).contains("agent killed by signal 6"));
}

/// QEMU as a child of the test, its words in the file where the last words are looked for.
fn qemu_as_child(arguments: &[OsString], files: &GuestFiles) -> Child {
    let words = File::create(&files.stderr).unwrap();
    let both = words.try_clone().unwrap();
    Command::new(qemu::PROGRAM)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(words)
        .stderr(both)
        .spawn()
        .unwrap()
}

fn quick(life: u64, ready: u64) -> BootLimits {
    BootLimits {
        life: Duration::from_secs(life),
        ready: Duration::from_secs(ready),
        answer: Duration::from_secs(10),
        idle: None,
    }
}

#[test]
fn qemu_that_dies_is_told_with_its_last_words() {
    let Some(mut lab) = Lab::new() else { return };
    let process = lab.start(&["-device", "none-such"]);
    let failure = lab.connect(&process, quick(10, 10)).unwrap_err();
    assert!(matches!(failure.failure, BootFailure::Died), "{failure}");
    assert!(failure.to_string().contains(": QEMU has ended (exit status: 1)\n"), "{failure}");
    assert!(
        failure.to_string().contains("'none-such' is not a valid device model name"),
        "{failure}"
    );
    let process = lab.start(&[]);
    let mut child = lab.child.take().unwrap();
    let killer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(600));
        child.kill().unwrap();
        child.wait().unwrap();
    });
    let failure = lab.connect(&process, quick(60, 60)).unwrap_err();
    killer.join().unwrap();
    assert!(matches!(failure.failure, BootFailure::Died), "{failure}");
    assert!(
        failure.to_string().starts_with("guest did not boot with accel=tcg: QEMU "),
        "{failure}"
    );
}

#[test]
fn a_guest_without_init_ends_at_once_with_the_kernels_words() {
    let Some(mut lab) = Lab::new() else { return };
    let GuestStart::Kernel { initrd, .. } = &lab.spec.start else { unreachable!() };
    std::fs::write(initrd, initramfs::Archive::default().finish().unwrap()).unwrap();
    let process = lab.start(&[]);
    let failure =
        lab.connect(&process, BootLimits::for_guest(Accel::Tcg, false, false)).unwrap_err();
    assert!(matches!(failure.failure, BootFailure::Died) && failure.alive, "{failure}");
    assert!(failure.to_string().contains("Kernel panic"), "{failure}");
    assert!(!failure.blames_kvm());
}

#[test]
fn a_guest_that_stays_silent_or_hangs_is_given_up() {
    let Some(mut lab) = Lab::new() else { return };
    let process = lab.start(&["-S"]);
    let begin = Instant::now();
    let failure = lab.connect(&process, quick(1, 30)).unwrap_err();
    assert!(matches!(failure.failure, BootFailure::Silent(_)) && !failure.alive, "{failure}");
    assert!(begin.elapsed() < Duration::from_secs(5));
    // Ctrl-C does not wait for the limits.
    let failure =
        lab.connect_unless(&process, quick(3600, 3600), &AtomicBool::new(true)).unwrap_err();
    assert!(matches!(failure.failure, BootFailure::Interrupted), "{failure}");
    let mut child = lab.child.take().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    // Without its port, the agent's end of it can never open: PID 1 waits for it and says so.
    let words = lab.arguments();
    let port =
        words.iter().position(|word| word.to_string_lossy().starts_with("virtserialport")).unwrap();
    let words = [&words[..port - 1], &words[port + 1..]].concat();
    lab.child = Some(qemu_as_child(&words, &lab.files()));
    let process = process_id(lab.child.as_ref().unwrap().id()).unwrap();
    let failure = lab.connect(&process, quick(60, 15)).unwrap_err();
    assert!(matches!(failure.failure, BootFailure::NotReady(_)) && failure.alive, "{failure}");
    assert!(failure.to_string().contains("iotax-init: started"), "{failure}");
}

/// Where KVM is an emulator this is the watchdog's own case; where it is real, a boot.
#[test]
fn kvm_boots_or_is_blamed() {
    if !Path::new("/dev/kvm").exists() {
        println!("skipped: needs /dev/kvm");
        return;
    }
    let Some(mut lab) = Lab::new() else { return };
    lab.spec.accel = Accel::Kvm;
    if let GuestStart::Kernel { kernel, .. } = &mut lab.spec.start {
        *kernel = kernel::obtain().unwrap().image;
    }
    let process = lab.start(&[]);
    let real = matches!(iotax_sys::kvm::probe_kvm(), iotax_sys::kvm::KvmProbe::Works { .. });
    match lab.connect(&process, quick(5, 30)) {
        Ok(_) => println!("KVM boots"),
        Err(failure) if !real => {
            println!("{failure}");
            assert!(failure.blames_kvm(), "{failure:?}");
        }
        Err(failure) => panic!("{failure}"),
    }
}

/// A guest that answers once may still lose an interrupt of its port later: then one answer never
/// comes. Rounds and not seconds bound it, and a round may take minutes, so that a busy machine
/// only makes it slower. Lines that do not fit into the port's buffers are among them.
#[test]
#[ignore = "boots a guest for thousands of round trips: ./check --lab runs it by name"]
fn stress() {
    let Some(mut lab) = Lab::new() else { return };
    let mut guest = lab.boot();
    let mut worst = Duration::ZERO;
    for round in 0..ROUNDS {
        let payload = "data ".repeat(if round % 50 == 0 { 13_000 } else { round % 7 });
        let request = format!("round {round} {payload}.");
        let begin = Instant::now();
        let answer = ask(&mut guest, &request);
        worst = worst.max(begin.elapsed());
        assert!(
            answer == format!("what is {request}?"),
            "round {round}: {} bytes came",
            answer.len()
        );
    }
    println!("{ROUNDS} round trips, the longest {worst:?}");
    writeln!(guest.port, "bye").unwrap();
    lab.ends_within(SOON);
}

const ROUNDS: usize = 10_000;
