//! Tests the commands for Linux and its relatives, run by this machine's sh as a login shell would,
//! and the jobs of fio for both families.

use super::posix::Posix;
use super::site::AgentlessHost as AfarSite;
use super::windows::Windows;
use super::*;
use iotax_engines::fio::{Filename, Fio, Site};
use iotax_engines::load_engine::EngineError;
use iotax_host::guard::judge::{Intent, judge};
use iotax_host::guard::marker::{self, Marker};
use iotax_host::guard::rig::consent;
use iotax_load::{Hold, Job, Rw, SliceBound, SliceSpec, TargetSpec};
use std::process::{Child, Command};
use std::time::Instant;

/// Runs a request without the connection that would be between us and the login shell.
fn spawn(ask: &ShellRequest) -> Child {
    let mut command = Command::new("sh");
    command
        .args(["-c", &ask.command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.as_mut().unwrap().write_all(&ask.input).unwrap();
    child
}

fn said(ask: &ShellRequest) -> Vec<u8> {
    let mut child = spawn(ask);
    let held = child.stdin.take().filter(|_| ask.held);
    let output = child.wait_with_output().unwrap();
    drop(held);
    assert!(output.status.success(), "{}", last_words(&output));
    output.stdout
}

fn script(ask: &ShellRequest) -> String {
    assert_eq!(ask.command, "exec sh -c 'IFS= read -r s; eval \"$s\"'");
    String::from_utf8_lossy(&ask.input).into_owned()
}

#[test]
fn the_scripts_of_sh() {
    let path = Path::new("/srv/it's a/x.img");
    let marker = [0x55; 3];
    let all = [
        Posix.look_request(&[path.into()]),
        Posix.inspect_request(path),
        Posix.blocks_request(path, &[(0, 272), (300, 1)]).unwrap(),
        Posix.fio_request(&["--output-format=json+".into(), "-".into()], "[global]\n[job0]\n"),
        Posix.flush_request(&[path, Path::new("/dev/vdb")]),
        Posix.create_request(path),
        Posix.mark_request(path, 64 << 20, &marker),
        Posix.fill_request(path, 64 << 20),
        Posix.remove_request(path, 7),
    ];
    insta::assert_snapshot!(all.iter().map(script).collect::<Vec<_>>().join("\n\n"));
    for ask in &all {
        let line = ask.input.split(|byte| *byte == b'\n').next().unwrap();
        assert!(line.starts_with(b"export LC_ALL=C"), "a script is one line, data follow");
    }
}

/// Host that nobody speaks to: the test only wants its command lines.
struct Mute(AfarSite);

impl Site for Mute {
    fn fio_version(&self) -> Result<String, EngineError> {
        Ok("fio 3.33".into())
    }
    fn ioengines(&self) -> Ioengines {
        self.0.ioengines()
    }
    fn reason_and_place(&self) -> (String, &'static str) {
        self.0.reason_and_place()
    }
    fn target_size(&self, _: &Path) -> Result<u64, EngineError> {
        Ok(1 << 30)
    }
    fn fio_filename(&self, path: &Path) -> Result<Filename, EngineError> {
        self.0.fio_filename(path)
    }
    fn fio_command(&self, options: &[String]) -> Vec<String> {
        self.0.fio_command(options)
    }
    fn run_fio(&self, _: &[String], _: &str, _: Duration) -> Result<Output, EngineError> {
        Err(EngineError::Unfit("mute".into()))
    }
    fn flush_targets(&self, _: &[&Path]) -> Result<u64, EngineError> {
        Ok(0)
    }
    fn window_start(&self, _: u64, _: u64) -> u64 {
        0
    }
    fn ends_by_itself(&self) -> bool {
        self.0.ends_by_itself()
    }
}

fn site(path: &Path) -> AfarSite {
    AfarSite(Host::new("vm7", path, SshOptions::default()))
}

fn target(path: &Path, writable: bool) -> TargetSpec {
    TargetSpec {
        path: path.into(),
        offset: 0,
        bytes: Some(64 << 20),
        writable,
        hold: Hold::default(),
    }
}

#[test]
fn the_jobs_of_fio_on_both_systems() {
    let mut all = Vec::new();
    for path in ["/srv/a:b.img", r"C:\iotax\x.img", r"\\.\PhysicalDrive1"].map(Path::new) {
        let job = Job { rw: Rw::RandWrite, fsync: 32, ..Job::default() };
        let fio = Fio::prepare(Box::new(Mute(site(path))), &[target(path, true)], &[job]).unwrap();
        let bound = SliceBound::Bytes { bytes: 8 << 20 };
        let spec = SliceSpec { bound, min_discard_ns: 0, flush: true, begin_ns: None };
        let text = fio.job_file(&spec);
        let command = iotax_engines::load_engine::LoadEngine::slice_command(&fio).unwrap();
        all.push(format!(
            "{}\n# {}\n{text}",
            command[..5].join(" "),
            iotax_engines::load_engine::LoadEngine::choice_reason(&fio)
        ));
    }
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn names_that_fio_would_read_otherwise_are_refused() {
    for path in
        ["/srv/a$b", "/srv/a#b", "/srv/a;b", "/srv/a ", "/srv/a\nb", "/srv/\"a\""].map(Path::new)
    {
        let error = site(path).fio_filename(path).err().unwrap();
        assert_eq!(error.code(), iotax_units::exit::BAD_INPUT, "{error}");
    }
    assert_eq!(
        site(Path::new("/x")).fio_filename(Path::new("/srv/ä b(1).img")).unwrap().text,
        "/srv/ä b(1).img"
    );
}

fn file_in(folder: &Path) -> PathBuf {
    folder.join("it's $(touch x) `y` \"z\".img")
}

#[test]
fn a_file_is_made_marked_filled_flushed_and_removed_by_sh() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = file_in(folder.path());
    assert_eq!(Posix.parse_inspection(&path, &said(&Posix.inspect_request(&path))).unwrap(), None);
    let made = Posix.parse_created(&said(&Posix.create_request(&path))).unwrap();
    let meta = std::fs::metadata(&path).unwrap();
    assert!(
        std::os::unix::fs::MetadataExt::ino(&meta) == made.inode
            && made.free < made.total
            && made.free > 0
    );
    let again = spawn(&Posix.create_request(&path)).wait_with_output().unwrap();
    assert!(
        !again.status.success() && last_words(&again).contains("exist"),
        "{}",
        last_words(&again)
    );
    let marker = Marker {
        run_id: "r1".into(),
        inode: made.inode,
        device: 0,
        born_ns: None,
        bytes: 3 << 20,
        filled: false,
    };
    said(&Posix.mark_request(&path, 3 << 20, &marker::trailer(&marker)));
    let inspect =
        || Posix.parse_inspection(&path, &said(&Posix.inspect_request(&path))).unwrap().unwrap();
    assert_eq!((inspect().marker, inspect().bytes), (Some(marker.clone()), 3 << 20));
    let filled = Marker { filled: true, ..marker.clone() };
    said(&Posix.fill_request(&path, 3 << 20));
    assert_eq!(inspect().marker, Some(marker), "behind the data");
    said(&Posix.mark_request(&path, 3 << 20, &marker::trailer(&filled)));
    let content = std::fs::read(&path).unwrap();
    assert_eq!(content.len(), (3 << 20) + 4096);
    assert!(
        content[..3 << 20].chunks(4096).all(|block| block.iter().any(|byte| *byte != 0)),
        "filled to its end"
    );
    assert_eq!(
        marker::read_marker(&path).unwrap(),
        Some(filled.clone()),
        "as our own code finds it"
    );
    let ns = Posix
        .flushed_ns(&said(&Posix.flush_request(&[&path])))
        .unwrap()
        .expect("date of this machine has nanoseconds");
    assert!(ns > 0 && ns < 20_000_000_000, "{ns}");
    assert_eq!(std::fs::read(&path).unwrap(), content, "a flush writes nothing");
    let other = spawn(&Posix.remove_request(&path, made.inode + 1)).wait_with_output().unwrap();
    assert!(last_words(&other).contains("another file now") && path.exists());
    let held = std::fs::File::open(&path).unwrap();
    let uses = inspect().occupied;
    assert!(
        uses.iter().any(|found| found
            .text
            .starts_with(&format!("open in process {} (", std::process::id()))),
        "{uses:?}"
    );
    drop(held);
    said(&Posix.remove_request(&path, made.inode));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing else was made");
    let gone = spawn(&Posix.flush_request(&[&path])).wait_with_output().unwrap();
    assert!(!gone.status.success() && last_words(&gone).contains("is gone"));
    assert!(!path.exists(), "a flush makes no file");
}

#[test]
fn the_machine_is_seen_as_our_own_code_sees_it() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let paths = [folder.path().join("not-yet.img")];
    let seen = Posix.parse_look(&said(&Posix.look_request(&paths)), &paths).unwrap();
    let own = iotax_host::facts::gather(&paths, &["fio".to_owned()]);
    let (theirs, ours) = (&seen.facts, &own);
    assert_eq!(
        (
            &theirs.hostname,
            &theirs.os,
            &theirs.kernel,
            &theirs.kernel_build,
            &theirs.boot_id,
            theirs.memory_bytes
        ),
        (
            &ours.hostname,
            &ours.os,
            &ours.kernel,
            &ours.kernel_build,
            &ours.boot_id,
            ours.memory_bytes
        )
    );
    assert_eq!((theirs.cpu.threads, &theirs.cpu.model), (ours.cpu.threads, &ours.cpu.model));
    assert_eq!(theirs.cpu.mitigations, ours.cpu.mitigations);
    let system = |facts: &Facts| {
        facts.targets[0].file_system.clone().map(|system| (system.kind, system.point))
    };
    assert_eq!(system(theirs), system(ours));
    assert_eq!(theirs.tools.get("fio"), ours.tools.get("fio"));
}

#[test]
fn another_systems_words_are_not_taken_for_answers() {
    let text = |said: &[u8]| format!("{:#}", Posix.parse_look(said, &[]).unwrap_err());
    assert!(
        text(b"'exec' is not recognized as an internal or external command")
            .contains("C:\\FOLDER\\FILE")
    );
    let evil =
        b"IOTAX-SSH [ system\nLinux\nIOTAX-SSH ]\nIOTAX-SSH [ /../../tmp/x\nboo\nIOTAX-SSH ]\n";
    assert!(text(evil).contains("it reports a file \"/../../tmp/x\""));
}

#[test]
fn a_clock_of_seconds_times_no_flush() {
    let told = |times: &str| Posix.flushed_ns(&answer(&[("flushed", times)])).unwrap();
    assert_eq!(told("1763829600000000007 1763829600000000049"), Some(42));
    assert_eq!(told("1763829600 1763829601"), None);
    assert_eq!(told("1763829600N 1763829601N"), None);
    assert!(Posix.flushed_ns(b"dd: permission denied").is_err());
}

#[test]
fn blocks_are_read_with_perl_and_without() {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = file_in(folder.path());
    let content: Vec<u8> = (0..10 * 4096 - 96).map(|at| (at / 4096) as u8 + 1).collect();
    std::fs::write(&path, &content).unwrap();
    let ask = Posix.blocks_request(&path, &[(0, 2), (4, 1), (8, 2)]).unwrap();
    let mut without = ask.clone();
    without.input = [b"perl() { return 127; }; ", &ask.input[..]].concat();
    let wanted =
        [&content[..2 * 4096], &content[4 * 4096..5 * 4096], &content[8 * 4096..]].concat();
    for ask in [ask, without] {
        let mut child = spawn(&ask);
        drop(child.stdin.take());
        assert!(child.wait_with_output().unwrap().stdout == wanted);
    }
}

fn fio_is_here() -> bool {
    let here = Command::new("fio").arg("--version").output().is_ok();
    if !here {
        println!("skipped: needs fio");
    }
    here
}

fn job(path: &Path, seconds: u32) -> String {
    format!(
        "[j]\nioengine=psync\nfilename={}\nrw=randread\nsize=1m\nthread=1\nallow_file_create=0\ntime_based=1\nruntime={seconds}s\n",
        path.display()
    )
}

fn options() -> Vec<String> {
    ["--output-format=json+", "--readonly", "-"].map(str::to_owned).into()
}

/// Counts the fio processes that have the folder open. A job is on standard input, so the folder
/// identifies them among all processes.
fn fios_in(folder: &Path) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let has_it_open = |process: std::fs::DirEntry| {
        let name = std::fs::read_to_string(process.path().join("comm")).unwrap_or_default();
        let files = std::fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten();
        name.trim() == "fio"
            && files
                .flat_map(|fd| std::fs::read_link(fd.path()))
                .any(|path| path.starts_with(folder))
    };
    processes.map(has_it_open).filter(|has| *has).count()
}

#[test]
fn fio_ends_when_its_connection_does() {
    if !fio_is_here() {
        return;
    }
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let path = folder.path().join("x");
    std::fs::write(&path, vec![7; 1 << 20]).unwrap();
    let mut whole = spawn(&Posix.fio_request(&options(), &job(&path, 1)));
    let held = whole.stdin.take();
    let output = whole.wait_with_output().unwrap();
    drop(held);
    assert!(
        output.status.success() && String::from_utf8_lossy(&output.stdout).contains("\"jobs\"")
    );
    let mut cut = spawn(&Posix.fio_request(&options(), &job(&path, 60)));
    let start = Instant::now();
    while fios_in(folder.path()) == 0 {
        assert!(start.elapsed() < Duration::from_secs(20), "fio did not begin");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(cut.stdin.take());
    let ended = cut.wait_with_output().unwrap();
    assert!(start.elapsed() < Duration::from_secs(40), "it ran to its end");
    assert!(!ended.status.success() || fios_in(folder.path()) == 0);
    assert_eq!(fios_in(folder.path()), 0);
}

/// Returns an answer to `inspect` as it is written there.
fn answer(sections: &[(&str, &str)]) -> Vec<u8> {
    let section =
        |(name, text): &(&str, &str)| format!("\nIOTAX-SSH [ {name}\n{text}\nIOTAX-SSH ]\n");
    format!("Welcome!\n{}", sections.iter().map(section).collect::<String>()).into_bytes()
}

const PLAIN: &str = r#"{"blockdevices":[{"name":"nvme1n1","path":"/dev/nvme1n1","maj:min":"259:3","type":"disk","size":1024209543168,"ro":false,
"mountpoint":null,"fstype":null,"pttype":null,"serial":"S4EV","wwn":"eui.0025","model":"Example SSD","pkname":null}]}"#;
const PARTED: &str = r#"{"blockdevices":[{"name":"sdb","path":"/dev/sdb","maj:min":"8:16","type":"disk","size":"1000204886016","ro":"0",
"mountpoint":null,"fstype":null,"pttype":"gpt","serial":"WD1","wwn":null,"model":"Disk","pkname":null,"children":[
{"name":"sdb1","maj:min":"8:17","type":"part","size":"1","ro":"0","mountpoint":"/srv","fstype":"ext4","pttype":"gpt","serial":null,"wwn":null,"model":null,"pkname":"sdb"},
{"name":"sdb2","maj:min":"8:18","type":"part","size":"1","ro":"0","mountpoint":"[SWAP]","fstype":"swap","pttype":"gpt","serial":null,"wwn":null,"model":null,"pkname":"sdb","children":[
{"name":"md0","maj:min":"9:0","type":"raid1","size":"1","ro":"0","mountpoint":null,"fstype":"xfs","pttype":null,"serial":null,"wwn":null,"model":null,"pkname":"sdb2"}]}]}]}"#;

fn device(lsblk: &str, more: &[(&str, &str)]) -> Inspection {
    let common = [("kind", "block"), ("user", "0"), ("system", "Linux"), ("lsblk", lsblk)];
    let free = [("exclusive", "free")];
    let said = answer(
        &[
            &common[..],
            more,
            if more.iter().any(|(name, _)| *name == "exclusive") { &[] } else { &free },
        ]
        .concat(),
    );
    Posix.parse_inspection(Path::new("/dev/x"), &said).unwrap().unwrap()
}

fn write(found: &Inspection, destroy: &str) -> Result<(), String> {
    let mut sampled = found.clone();
    sampled.sample =
        Some(iotax_host::guard::sample::BlockSample { blocks: 1000, ..Default::default() });
    judge(&sampled, Intent::Write, &[consent(destroy)])
        .map(drop)
        .map_err(|refusal| refusal.to_string())
}

#[test]
fn devices_over_ssh_case_by_case() {
    let serials = r#"{"blockdevices":[{"name":"nvme1n1","serial":"S4EV"},{"name":"nvme1n2","serial":"S4EV "}]}"#;
    let parted = "serial=WD1,wipe=gpt,wipe=ext4,wipe=swap,wipe=xfs";
    let cases: &[(&str, Inspection, &str, Option<&str>)] = &[
        ("consented", device(PLAIN, &[]), "serial=S4EV", None),
        (
            "not consented",
            device(PLAIN, &[]),
            "serial=S5",
            Some("hint: --destroy serial=S4EV (all"),
        ),
        (
            "shared",
            device(PLAIN, &[("serials", serials)]),
            "serial=S4EV",
            Some("nvme1n2 has it, too"),
        ),
        ("shared, by WWN", device(PLAIN, &[("serials", serials)]), "serial=eui.0025", None),
        (
            "open",
            device(
                PLAIN,
                &[("open", "/proc/77/fd/3 qemu-system-x86\n/proc/77/fd/4 qemu-system-x86")],
            ),
            "serial=S4EV",
            Some("open in process 77 (qemu-system-x86)"),
        ),
        (
            "another namespace's mount",
            device(PLAIN, &[("mounts", "/mnt/x")]),
            "serial=S4EV",
            Some("mounted at /mnt/x"),
        ),
        ("held", device(PLAIN, &[("exclusive", "16")]), "serial=S4EV", Some("held exclusively")),
        (
            "not root",
            device(PLAIN, &[("exclusive", "13")]),
            "serial=S4EV",
            Some("unseen=exclusive"),
        ),
        (
            "not root, consented",
            device(PLAIN, &[("exclusive", "13")]),
            "serial=S4EV,unseen=exclusive",
            None,
        ),
        ("mounted", device(PARTED, &[]), parted, Some("sdb1 is mounted at /srv")),
        ("swap", device(PARTED, &[]), parted, Some("sdb2 is swap space")),
        ("holder", device(PARTED, &[]), parted, Some("md0 (raid1) is on it")),
        (
            "read-only",
            device(&PLAIN.replace("\"ro\":false", "\"ro\":true"), &[]),
            "serial=S4EV",
            Some("read-only"),
        ),
        (
            "signature",
            device(&PLAIN.replace("\"fstype\":null", "\"fstype\":\"zfs_member\""), &[]),
            "serial=S4EV",
            Some("it carries zfs_member (by lsblk)"),
        ),
        (
            "no serial",
            device(
                &PLAIN.replace("\"S4EV\"", "null").replace("\"eui.0025\"", "null"),
                &[("boot", "1a2b3c4d-0-0"), ("sequence", "9")],
            ),
            "serial=boot-1a2b3c4d-diskseq-9",
            None,
        ),
        (
            "nothing names it",
            device(&PLAIN.replace("\"S4EV\"", "null").replace("\"eui.0025\"", "null"), &[]),
            "serial=S4EV",
            Some("nothing but its path"),
        ),
    ];
    for (name, found, destroy, expected) in cases {
        match (write(found, destroy), expected) {
            (Ok(()), None) => {}
            (Err(text), Some(part)) => assert!(text.contains(part), "{name}: {text}"),
            (got, wanted) => panic!("{name}: {got:?}, not {wanted:?}"),
        }
    }
    let names: Vec<_> = device(PARTED, &[]).signatures.into_iter().map(|one| one.name).collect();
    assert_eq!(names, ["gpt", "ext4", "swap", "xfs"], "each once");
    assert_eq!(device(PARTED, &[]).bytes, 1_000_204_886_016);
    let unsampled = judge(&device(PLAIN, &[]), Intent::Write, &[consent("serial=S4EV")]);
    assert!(unsampled.unwrap_err().to_string().contains("not sampled"), "never written unseen");
    assert!(
        judge(&device(PARTED, &[]), Intent::Read, &[]).unwrap().warnings.len() >= 3,
        "reading is only disturbed"
    );
}

#[test]
fn a_partition_over_ssh_takes_a_word_for_its_disk() {
    let part =
        PLAIN.replace("\"disk\"", "\"part\"").replace("\"pkname\":null", "\"pkname\":\"nvme1\"");
    let found = device(&part, &[]);
    assert_eq!(found.kind, iotax_host::guard::found::InspectedKind::Partition("nvme1".into()));
    assert!(write(&found, "serial=S4EV").unwrap_err().contains("unseen=open"));
    assert!(write(&found, "serial=S4EV,unseen=open").is_ok());
}

#[test]
fn what_is_no_file_and_no_device_is_refused() {
    let found = Posix
        .parse_inspection(Path::new("/srv"), &said(&Posix.inspect_request(Path::new("/srv"))))
        .unwrap()
        .unwrap();
    assert!(judge(&found, Intent::Read, &[]).unwrap_err().to_string().contains("it is a folder"));
    let text =
        format!("{:#}", Posix.parse_inspection(Path::new("/x"), b"nothing of ours").unwrap_err());
    assert!(text.contains("does not say what is there"), "{text}");
    let old =
        Posix.parse_inspection(Path::new("/dev/x"), &answer(&[("kind", "block")])).unwrap_err();
    assert!(format!("{old:#}").contains("there is no lsblk"), "{old:#}");
}

#[test]
fn hints_name_the_package_manager() {
    for (os, hint) in [
        (Some("Debian GNU/Linux 12 (bookworm)"), "apt-get install fio"),
        (Some("Rocky Linux 9.3"), "dnf install fio"),
        (Some("FreeBSD 14.0-RELEASE"), "pkg install fio"),
        (None, "install the package fio there"),
    ] {
        assert_eq!(Posix.how_to_get_fio(os), hint);
    }
    assert!(Windows.how_to_get_fio(None).contains("PATH"));
}
