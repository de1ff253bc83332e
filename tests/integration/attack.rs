//! What others can write is never obeyed: journals, locks and folders of runs that are not ours,
//! and journals that are damaged.

use crate::rig::{self, Rig, can, can_loop, can_run, is_root, traces, words};
use crate::sshd::Sshd;
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::process::ProcessId;
use iotax_drivers::step_output::StepOutput;
use iotax_facts::place::Place;
use iotax_steps::journal::JournalEntry;
use iotax_steps::op::{BuildSeed, MakeDirectory, Mount, Op, Spawn};
use iotax_steps::step::Step;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const ID: &str = "20260102-030405-a1b2";
const ANOTHER_USER: u32 = 4321;

/// What a forged journal is after.
struct Victims {
    file: PathBuf,
    folder: PathBuf,
    process: Child,
}

impl Victims {
    fn of(rig: &Rig) -> Victims {
        let (file, folder) = (rig.path("precious"), rig.path("empty"));
        std::fs::write(&file, "precious").unwrap();
        std::fs::create_dir(&folder).unwrap();
        let process = Command::new("sleep").arg("600").spawn().unwrap();
        Victims { file, folder, process }
    }

    /// The journal that would have root remove all of them: its checksums are right.
    fn journal(&self) -> Vec<u8> {
        let boot_id =
            std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap().trim().to_owned();
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id())).unwrap();
        let start_time =
            stat.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap().parse().unwrap();
        let process = ProcessId { pid: self.process.id(), start_time };
        let spawn = Spawn {
            what: "guest vm0".into(),
            argv: vec!["sleep".into(), "600".into()],
            belows: Vec::new(),
            tag: "600".into(),
            log: "/dev/null".into(),
            makes: vec![self.file.clone()],
            ready: None,
        };
        let device = PathRef::Path("/dev/null".into());
        let steps = [
            (Op::MakeDirectory(MakeDirectory { path: self.folder.clone() }), StepOutput::default()),
            (
                Op::BuildSeed(BuildSeed { path: self.file.clone(), patience_s: 0 }),
                StepOutput::default(),
            ),
            (
                Op::Mount(Mount::without_atime(device, "/proc".into(), "proc")),
                StepOutput::default(),
            ),
            (Op::Spawn(spawn), StepOutput { process: Some(process), ..StepOutput::default() }),
        ];
        let mut text = Vec::new();
        for (seq, (op, made)) in (0u64..).zip(steps) {
            let step = Step { id: seq as u32, place: Place::Host, why: "attack".into(), op };
            let intent =
                JournalEntry::Intent { seq, boot_id: boot_id.clone(), step: Box::new(step) };
            text.extend(iotax_store::line::encode_as(2, &intent).unwrap());
            text.extend(
                iotax_store::line::encode_as(2, &JournalEntry::Done { seq, made }).unwrap(),
            );
        }
        text
    }

    fn are_untouched(&mut self, case: &str) {
        assert_eq!(std::fs::read_to_string(&self.file).unwrap(), "precious", "{case}");
        assert!(self.folder.is_dir(), "{case}");
        assert!(self.process.try_wait().unwrap().is_none(), "{case}: the process was ended");
        assert!(Path::new("/proc/self/stat").exists(), "{case}");
    }
}

impl Drop for Victims {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A folder of runs with one run in it that has that journal.
fn forged(rig: &Rig, journal: &[u8]) -> PathBuf {
    let _ = std::fs::remove_dir_all(rig.runs());
    let run = rig.runs().join(ID);
    std::fs::create_dir_all(&run).unwrap();
    for folder in [rig.runs(), run.clone()] {
        std::fs::set_permissions(folder, PermissionsExt::from_mode(0o700)).unwrap();
    }
    for (name, content) in [("journal.jsonl", journal), ("index.jsonl", b"{}\n".as_slice())] {
        std::fs::write(run.join(name), content).unwrap();
        std::fs::set_permissions(run.join(name), PermissionsExt::from_mode(0o600)).unwrap();
    }
    run
}

/// Runs it with an end: a journal that never ends must not hang it.
fn bounded(rig: &Rig, args: &[&str]) -> Output {
    let mut child = rig.spawn(args);
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("iotax {args:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().unwrap()
}

type Forgery = (&'static str, fn(&Rig, &Path), i32, &'static str);

/// How each is forged, how `clean` ends and what it says.
const FORGERIES: [Forgery; 12] = [
    (
        "the whole folder is another user's",
        |rig, run| own_all(&rig.runs(), run),
        2,
        "belongs to user 4321",
    ),
    ("the run is another user's", |_, run| own_all(run, run), 5, "belongs to user 4321"),
    (
        "others may write to the folder of runs",
        |rig, _| mode(&rig.runs(), 0o777),
        2,
        "others may write to it",
    ),
    ("others may write to the run", |_, run| mode(run, 0o770), 5, "others may write to it"),
    (
        "the journal is another user's",
        |_, run| own(&run.join("journal.jsonl")),
        5,
        "belongs to user 4321",
    ),
    (
        "others may write to the journal",
        |_, run| mode(&run.join("journal.jsonl"), 0o666),
        5,
        "others may write to it",
    ),
    (
        "the journal is a link",
        |rig, run| link(run, "journal.jsonl", &rig.path("forged")),
        5,
        "symbolic link",
    ),
    (
        "the journal never ends",
        |_, run| link(run, "journal.jsonl", Path::new("/dev/zero")),
        5,
        "symbolic link",
    ),
    ("the journal is a FIFO", |_, run| fifo(&run.join("journal.jsonl")), 5, "not a regular file"),
    ("the journal has a second name", |rig, run| second_name(rig, run), 5, "second name"),
    (
        "the lock is a link",
        |rig, run| link(run, "lock", &rig.path("made-by-root")),
        5,
        "symbolic link",
    ),
    ("all of it is ours", |_, _| {}, 5, "left alone"),
];

fn own(path: &Path) {
    chown(path, Some(ANOTHER_USER), Some(ANOTHER_USER)).unwrap();
}

fn own_all(folder: &Path, run: &Path) {
    [folder, run, &run.join("journal.jsonl"), &run.join("index.jsonl")].into_iter().for_each(own);
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

fn link(run: &Path, name: &str, to: &Path) {
    let at = run.join(name);
    if at.exists() && to.parent().is_some_and(|folder| folder != Path::new("/dev")) {
        std::fs::copy(&at, to).unwrap();
    }
    let _ = std::fs::remove_file(&at);
    symlink(to, at).unwrap();
}

fn fifo(path: &Path) {
    std::fs::remove_file(path).unwrap();
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

fn second_name(rig: &Rig, run: &Path) {
    let _ = std::fs::remove_file(rig.path("second"));
    std::fs::hard_link(run.join("journal.jsonl"), rig.path("second")).unwrap();
}

#[test]
fn root_obeys_no_journal_that_another_could_have_written() {
    if !can("root", is_root()) {
        return;
    }
    let rig = Rig::new();
    let mut victims = Victims::of(&rig);
    let journal = victims.journal();
    for (case, forge, code, told) in FORGERIES {
        let run = forged(&rig, &journal);
        forge(&rig, &run);
        let output = bounded(&rig, &["clean"]);
        assert_eq!(output.status.code(), Some(code), "{case}: {}", words(&output));
        assert!(words(&output).contains(told), "{case}: {}", words(&output));
        victims.are_untouched(case);
        assert!(!rig.path("made-by-root").exists(), "{case}");
        for read in [&["list"][..], &["report", ID], &["compare", ID, ID]] {
            assert!(!words(&bounded(&rig, read)).contains("panicked"), "{case}: {read:?}");
        }
        let resumed = bounded(&rig, &["resume", ID]);
        assert_ne!(resumed.status.code(), Some(0), "{case}: {}", words(&resumed));
        victims.are_untouched(case);
    }
    // A name of which everything has a part would make everything the run's.
    let run = forged(&rig, &journal);
    std::fs::rename(&run, rig.runs().join("e")).unwrap();
    let odd = rig.iotax(&["clean", "e"]);
    assert_eq!(odd.status.code(), Some(2), "{}", words(&odd));
    victims.are_untouched("an odd id");
    // Of a copy of a run that left nothing, nothing is to be refused.
    std::fs::write(rig.runs().join("e/journal.jsonl"), "").unwrap();
    rig.expect(0, &["clean"]);
    // What is refused is named, also where nothing is done.
    let run = forged(&rig, &journal);
    let dry = rig.iotax(&["clean", "--dry-run"]);
    for what in [&victims.folder, &victims.file, &PathBuf::from("/proc")] {
        assert!(words(&dry).contains(what.to_str().unwrap()), "{}", words(&dry));
    }
    assert!(words(&dry).contains("guest vm0 would not be ended"), "{}", words(&dry));
    assert!(run.join("journal.jsonl").exists());
}

#[test]
fn no_command_is_held_up_by_what_lies_in_a_run() {
    let rig = Rig::new();
    for name in ["index.jsonl", "histograms.seg"] {
        rig.expect(0, &[&["run", &rig.file("x.img", 64)], QUICK].concat());
        let run = rig.run_dirs().pop().unwrap();
        let id = rig.last_id();
        for bad in ["fifo", "/dev/zero"] {
            let _ = std::fs::remove_file(run.join(name));
            match bad {
                "fifo" => {
                    assert!(Command::new("mkfifo").arg(run.join(name)).status().unwrap().success())
                }
                link => symlink(link, run.join(name)).unwrap(),
            }
            for command in [&["report", &id][..], &["list"], &["compare", &id, &id]] {
                let output = bounded(&rig, command);
                assert!(!words(&output).contains("panicked"), "{name} {bad}: {}", words(&output));
                let is_told = words(&output).contains("regular file")
                    || words(&output).contains("symbolic link");
                assert!(
                    is_told || command == ["list"],
                    "{name} {bad} {command:?}: {}",
                    words(&output)
                );
            }
        }
        std::fs::remove_dir_all(rig.runs()).unwrap();
    }
}

const QUICK: &[&str] = &["--slice", "20ms", "--min-time", "100ms", "--budget", "500ms"];

/// A run of a file below a loop device, killed when both are there.
fn killed_with_a_loop(rig: &Rig, file: &str) -> Option<PathBuf> {
    if !can_loop() {
        return None;
    }
    let stack = format!("{file} | loop");
    // Intent and done of the file, its filling and the loop device.
    rig.killed_at("5:after", &[&["run", file, &stack], QUICK].concat());
    assert_eq!(loops(rig).len(), 1, "{:?}", traces(&rig.path("")));
    rig.run_dirs().pop()
}

fn loops(rig: &Rig) -> Vec<String> {
    rig::loops(&rig.path(""))
}

fn clean_takes_the_loop_device_away(rig: &Rig) {
    let output = rig.iotax(&["clean"]);
    let left = loops(rig);
    detach(rig);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    assert_eq!(left, Vec::<String>::new(), "{}", words(&output));
}

fn detach(rig: &Rig) {
    for device in loops(rig) {
        let device = format!("/dev/{}", device.split(' ').next().unwrap());
        assert!(Command::new("losetup").args(["--detach", &device]).status().unwrap().success());
    }
}

#[test]
fn a_damaged_journal_is_reported_and_nothing_is_pulled_from_under_what_it_no_longer_names() {
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let Some(run) = killed_with_a_loop(&rig, &file) else { return };
    let journal = run.join("journal.jsonl");
    let whole = std::fs::read_to_string(&journal).unwrap();
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let of_loop = lines.iter().position(|line| line.contains("attach_loop")).unwrap();
    let without_intent = |line: &str| {
        lines
            .iter()
            .map(|kept| if *kept == lines[of_loop] { line } else { kept })
            .collect::<String>()
    };
    let flipped = lines[of_loop].replace("attach_loop", "attach_l00p");
    let cut = format!("{}\n", &lines[of_loop][..40]);
    for (case, damaged) in [
        ("flipped", without_intent(&flipped)),
        ("cut", without_intent(&cut)),
        ("gone", without_intent("")),
    ] {
        std::fs::write(&journal, damaged).unwrap();
        for _ in 0..2 {
            let output = rig.iotax(&["clean"]);
            assert_eq!(output.status.code(), Some(5), "{case}: {}", words(&output));
            let told = words(&output);
            assert!(
                told.contains("the journal is damaged") && told.contains("losetup --list"),
                "{case}: {told}"
            );
            assert!(
                rig.path("x.img").exists(),
                "{case}: the file was removed below its loop device: {told}"
            );
        }
        assert_eq!(loops(&rig).len(), 1, "{case}");
    }
    std::fs::write(&journal, &whole).unwrap();
    rig.expect(0, &["clean"]);
    assert_eq!(traces(&rig.path("")), Vec::<String>::new());
    // What a power cut may leave of a file.
    std::fs::write(&journal, vec![0; whole.len()]).unwrap();
    let empty = rig.iotax(&["clean"]);
    assert_eq!(empty.status.code(), Some(5), "{}", words(&empty));
    // A line that a kill tore is the last: nothing had been done yet.
    std::fs::write(&journal, format!("{whole}{}", &lines[of_loop][..40])).unwrap();
    let torn = rig.iotax(&["clean"]);
    // Another test may have the number of the loop device by now.
    let anothers = words(&torn).contains("is now on");
    assert!(torn.status.success() || anothers, "{}", words(&torn));
    assert!(anothers || rig.expect(0, &["clean"]).contains("nothing to clean"));
    detach(&rig);
}

#[test]
fn a_run_whose_record_is_gone_is_cleaned_by_its_journal() {
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let Some(run) = killed_with_a_loop(&rig, &file) else { return };
    std::fs::remove_file(run.join("index.jsonl")).unwrap();
    clean_takes_the_loop_device_away(&rig);
}

#[test]
fn a_file_that_a_person_removed_below_its_loop_device_is_cleaned() {
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let Some(_) = killed_with_a_loop(&rig, &file) else { return };
    std::fs::remove_file(rig.path("x.img")).unwrap();
    assert!(loops(&rig)[0].contains("(deleted)"), "{:?}", loops(&rig));
    clean_takes_the_loop_device_away(&rig);
    assert!(rig.expect(0, &["clean"]).contains("nothing to clean"));
}

#[test]
fn a_name_that_no_file_can_have_does_not_stop_clean() {
    let rig = Rig::new();
    let file = format!("file:{},size=64MiB", rig.path(&"x".repeat(300)).display());
    let stack = format!("{file} | null");
    let args = [&["run", &file, &stack], QUICK].concat();
    let output = rig.command(&args).env("IOTAX_CRASH_AT", "0:after").output().unwrap();
    if output.status.code().is_some() {
        // It was refused before anything was written down, which is as good.
        assert!(words(&output).contains("name"), "{}", words(&output));
    }
    let cleaned = rig.iotax(&["clean"]);
    assert_eq!(cleaned.status.code(), Some(0), "{}", words(&cleaned));
}

/// Passes on what one client says until that was so many bytes, hangs up, and listens to nobody any
/// more.
fn cut_after(bytes: usize, server: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        drop(listener);
        let mut server = TcpStream::connect(("127.0.0.1", server)).unwrap();
        let (mut back, mut to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        std::thread::spawn(move || drop(std::io::copy(&mut back, &mut to_client)));
        let (mut passed, mut piece) = (0, [0u8; 16 << 10]);
        while let Ok(read @ 1..) = client.read(&mut piece) {
            passed += read;
            if passed > bytes || server.write_all(&piece[..read]).is_err() {
                break;
            }
        }
        let _ = server.shutdown(std::net::Shutdown::Both);
        let _ = client.shutdown(std::net::Shutdown::Both);
    });
    port
}

#[test]
fn a_connection_lost_while_the_agent_is_copied_leaves_what_clean_removes() {
    let rig = Rig::new();
    let Some(sshd) = Sshd::start(&rig, None) else { return };
    let config = std::fs::read_to_string(&sshd.config).unwrap();
    let port = |text: &str| {
        text.lines()
            .find_map(|line| line.trim().strip_prefix("Port ")?.parse::<u16>().ok())
            .unwrap()
    };
    let real = port(&config);
    let cut = rig.path("cut");
    let through = cut_after(1 << 20, real);
    let by_name = format!(" HostKeyAlias [127.0.0.1]:{real}\n");
    std::fs::write(
        &cut,
        config.replace(&format!("Port {real}"), &format!("Port {through}")) + &by_name,
    )
    .unwrap();
    std::fs::write(rig.path("there.img"), vec![7; 4 << 20]).unwrap();
    let there = format!("ssh:elsewhere:{}", rig.path("there.img").display());
    let here = rig.file("x.img", 64);
    let args = [&["run", &here, &there], QUICK].concat();
    let output =
        rig.command(&args).env("IOTAX_SSH_CONFIG", &cut).stdin(Stdio::null()).output().unwrap();
    let folder = PathBuf::from(format!("/tmp/iotax-{}", rig.last_id()));
    assert_ne!(output.status.code(), Some(0), "{}", words(&output));
    assert!(folder.is_dir(), "the copy was cut short: {}", words(&output));
    let cleaned = rig
        .command(&["clean"])
        .env("IOTAX_SSH_CONFIG", &sshd.config)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let is_left = folder.exists();
    let _ = std::fs::remove_dir_all(&folder);
    assert_eq!(cleaned.status.code(), Some(0), "{}", words(&cleaned));
    assert!(!is_left, "{}", words(&cleaned));
    assert_eq!(
        output.status.code(),
        Some(5),
        "something was left, and that was said: {}",
        words(&output)
    );
}

#[test]
fn a_host_that_never_answers_leaves_nothing_to_clean() {
    let rig = Rig::new();
    let config = rig.path("config");
    // Nobody listens there: the port is free a moment later.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    std::fs::write(&config, format!("Host elsewhere\n HostName 127.0.0.1\n Port {port}\n"))
        .unwrap();
    if !can_run(&["ssh"]) {
        return;
    }
    let here = rig.file("x.img", 64);
    let args = [&["run", &here, "ssh:elsewhere:/x"], QUICK].concat();
    let output =
        rig.command(&args).env("IOTAX_SSH_CONFIG", &config).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", words(&output));
    let said = "ssh:elsewhere: cannot connect: ssh: connect to host 127.0.0.1 port ";
    assert!(
        words(&output).contains(said) && words(&output).contains("hint: start sshd there"),
        "{}",
        words(&output)
    );
    assert!(rig.expect(0, &["clean"]).contains("nothing to clean"));
}

#[test]
fn a_run_of_ours_is_private() {
    let rig = Rig::new();
    rig.expect(0, &[&["run", &rig.file("x.img", 64)], QUICK].concat());
    let run = rig.run_dirs().pop().unwrap();
    for entry in std::fs::read_dir(&run).unwrap().flatten() {
        assert_eq!(entry.metadata().unwrap().mode() & 0o077, 0, "{}", entry.path().display());
    }
}

#[test]
fn a_consent_in_a_file_of_the_user_who_calls_sudo_is_refused_with_the_reason() {
    if !can("root", is_root()) {
        return;
    }
    let rig = Rig::new();
    let scenario = rig.path("x.toml");
    std::fs::write(&scenario, "destroy = [\"serial=x\"]\n[stack.a]\ntext = \"null\"\n").unwrap();
    chown(&scenario, Some(ANOTHER_USER), None).unwrap();
    let plan = |caller: u32| {
        let output = rig
            .command(&["plan", scenario.to_str().unwrap()])
            .env("SUDO_UID", caller.to_string())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2));
        words(&output).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let refused = plan(ANOTHER_USER);
    let owner = format!("owner {ANOTHER_USER} (you, but sudo runs this as root)");
    assert!(refused.contains(&owner) && refused.contains("--destroy serial=x"), "{refused}");
    assert!(!plan(ANOTHER_USER + 1).contains("sudo runs this"));
}
