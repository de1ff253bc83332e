//! QEMU's command line, made of a checked description and of nothing else: no process is started and no file
//! touched here but to ask an installed QEMU for its version. Refuses combinations that QEMU would
//! silently weaken (aio=native without O_DIRECT) or that could destroy an image opened by two.

use super::qmp::Qmp;
use crate::exit::Failed;
use serde_json::json;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The program, as Debian, Fedora, Arch and Ubuntu name it.
pub const PROGRAM: &str = "qemu-system-x86_64";

/// What is written here was tried with 7.2 and reads as documented since this one (JSON-free -blockdev, `server=on`,
/// io_uring).
pub const OLDEST: Version = Version { major: 6, minor: 0, patch: 0 };

/// Who executes the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accel {
    /// The processor.
    Kvm,
    /// QEMU's translator. Its figures are not representative.
    Tcg,
}

impl Accel {
    /// QEMU's word.
    pub fn word(self) -> &'static str {
        match self {
            Accel::Kvm => "kvm",
            Accel::Tcg => "tcg",
        }
    }
}

/// QEMU's cache modes. What each means, in QEMU's own settings:
///
/// | mode | O_DIRECT on the host (`cache.direct`) | guest's flushes ignored (`cache.no-flush`) | guest sees a volatile cache (`write-cache`) |
/// |---|---|---|---|
/// | none | on | off | on |
/// | writeback | off | off | on |
/// | writethrough | off | off | off: each write is flushed |
/// | directsync | on | off | off: each write is flushed |
/// | unsafe | off | on | on |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// Past the host's page cache.
    None,
    /// Through the host's page cache.
    Writeback,
    /// Through it, and flushed at each write.
    Writethrough,
    /// Past it, and flushed at each write.
    Directsync,
    /// Through it, never flushed: a crash of the host loses data.
    Unsafe,
}

impl Cache {
    /// All modes with QEMU's names.
    pub const ALL: &[(&str, Cache)] = &[
        ("none", Cache::None),
        ("writeback", Cache::Writeback),
        ("writethrough", Cache::Writethrough),
        ("directsync", Cache::Directsync),
        ("unsafe", Cache::Unsafe),
    ];

    /// `cache.direct`.
    pub fn direct(self) -> bool {
        matches!(self, Cache::None | Cache::Directsync)
    }

    /// `cache.no-flush`.
    pub fn no_flush(self) -> bool {
        self == Cache::Unsafe
    }

    /// `write-cache` of the device.
    pub fn write_cache(self) -> bool {
        !matches!(self, Cache::Writethrough | Cache::Directsync)
    }
}

/// How QEMU issues the host's I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aio {
    /// A pool of threads.
    Threads,
    /// Linux AIO; needs `cache.direct`.
    Native,
    /// io_uring; needs a QEMU built with it and a kernel that allows it, see [`io_uring_works`].
    IoUring,
}

impl Aio {
    /// All with QEMU's names.
    pub const ALL: &[(&str, Aio)] =
        &[("threads", Aio::Threads), ("native", Aio::Native), ("io_uring", Aio::IoUring)];

    fn word(self) -> &'static str {
        match self {
            Aio::Threads => "threads",
            Aio::Native => "native",
            Aio::IoUring => "io_uring",
        }
    }
}

/// What kind of thing a path is to QEMU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// A regular file.
    File,
    /// A block device.
    HostDevice,
}

impl Backend {
    fn driver(self) -> &'static str {
        match self {
            Backend::File => "file",
            Backend::HostDevice => "host_device",
        }
    }
}

/// A virtio-blk disk of a guest. The guest's discards are ignored (QEMU's default), so that a mkfs in the guest punches
/// no holes in what is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskSpec {
    /// What is below, an absolute path; raw.
    pub path: PathBuf,
    /// File or block device.
    pub backend: Backend,
    /// Only so many bytes of it are shown to the guest; `None`: all.
    pub bytes: Option<u64>,
    /// Cache mode.
    pub cache: Cache,
    /// How the host's I/O is issued.
    pub aio: Aio,
    /// Whether the disk has a thread of its own instead of QEMU's main loop.
    pub iothread: bool,
    /// Queues; `None`: QEMU's default, one a vCPU.
    pub num_queues: Option<u16>,
    /// By which the guest finds it: 1 to 20 letters, digits, `-`, `_`. Virtio cuts longer ones.
    pub serial: String,
    /// The guest cannot write.
    pub read_only: bool,
    /// The image is opened by others too, without QEMU's locks. Only with `read_only`.
    pub share_read: bool,
}

/// A guest. Everything that QEMU is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestSpec {
    /// Unique within the run: letters, digits, `-`, `_`.
    pub name: String,
    /// The run's tag, found again in the process's command line: same letters.
    pub run_tag: String,
    /// At least 1.
    pub vcpus: u32,
    /// Whole MiB, at least 128.
    pub memory_bytes: u64,
    /// Who executes.
    pub accel: Accel,
    /// Disks in order.
    pub disks: Vec<DiskSpec>,
    /// Kernel image.
    pub kernel: PathBuf,
    /// Initramfs, see [`super::initramfs::build`].
    pub initrd: PathBuf,
    /// Sockets and logs, see [`GuestFiles`]: the run's directory, mode 0700.
    pub directory: PathBuf,
}

/// The files of a running guest, by name in the run's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestFiles {
    /// QMP's socket.
    pub qmp: PathBuf,
    /// The socket of the agent's port.
    pub port: PathBuf,
    /// What the guest wrote on its console.
    pub console: PathBuf,
    /// What QEMU itself wrote.
    pub stderr: PathBuf,
}

/// sun_path has 108 bytes, one for the final NUL.
const LONGEST_SOCKET_PATH: usize = 107;

impl GuestFiles {
    /// Names them.
    ///
    /// # Errors
    /// Bad input: a path that no Unix socket can have.
    pub fn new(directory: &Path, guest: &str) -> Result<GuestFiles, Failed> {
        let file = |ending: &str| directory.join(format!("{guest}.{ending}"));
        let files = GuestFiles {
            qmp: file("qmp"),
            port: file("port"),
            console: file("console.log"),
            stderr: file("qemu.log"),
        };
        let longest = files.qmp.as_os_str().len().max(files.port.as_os_str().len());
        if longest > LONGEST_SOCKET_PATH {
            return Err(Failed::input(format!(
                "the path of a guest's socket, {}, has {longest} bytes, and Linux takes {LONGEST_SOCKET_PATH}; \
                 hint: choose a run directory with a shorter path",
                files.port.display()
            )));
        }
        Ok(files)
    }
}

/// The id of the agent's character device, as QMP's query-chardev shows it.
pub const PORT_CHARDEV: &str = "agent";
/// The id of the agent's port, as QMP's VSERPORT_CHANGE event shows it.
pub const PORT_DEVICE: &str = "agent-port";

/// What follows [`PROGRAM`] on the command line.
///
/// # Errors
/// Bad input: the guest or the disk, and what is wrong with it.
pub fn command_line(spec: &GuestSpec) -> Result<Vec<OsString>, Failed> {
    check(spec)?;
    let files = GuestFiles::new(&spec.directory, &spec.name)?;
    let mut line = Line::default();
    let name = format!("iotax-{}-{}", spec.run_tag, spec.name);
    // Threads are named too, so that a vCPU's time is told from an iothread's.
    line.option("-name", Value::new("guest", &name).set("process", &name).set("debug-threads", "on"));
    line.words("-nodefaults -no-user-config -no-reboot -display none");
    machine(&mut line, spec);
    line.word("-kernel").word(&spec.kernel).word("-initrd").word(&spec.initrd);
    line.word("-append").word(kernel_command_line(spec));
    line.option("-chardev", Value::of("file").set("id", "console").set("path", &files.console));
    line.words("-serial chardev:console");
    line.option("-chardev", socket("control", &files.qmp));
    line.words("-mon chardev=control,mode=control");
    line.option("-chardev", socket(PORT_CHARDEV, &files.port));
    line.words("-device virtio-serial-pci,id=serial,max_ports=2");
    let port = Value::of("virtserialport").set("id", PORT_DEVICE).set("bus", "serial.0");
    line.option("-device", port.set("chardev", PORT_CHARDEV).set("name", super::init::PORT_NAME));
    for (index, disk) in spec.disks.iter().enumerate() {
        add_disk(&mut line, index, disk);
    }
    Ok(line.0)
}

fn machine(line: &mut Line, spec: &GuestSpec) {
    line.words("-machine q35,sata=off,smbus=off,smm=off,vmport=off,hpet=off");
    match spec.accel {
        Accel::Kvm => line.words("-accel kvm -cpu host"),
        Accel::Tcg => line.words("-accel tcg,thread=multi -cpu max"),
    }
    let vcpus = spec.vcpus.to_string();
    line.option(
        "-smp",
        Value::new("cpus", &vcpus).set("sockets", "1").set("cores", &vcpus).set("threads", "1"),
    );
    line.word("-m").word(format!("{}M", spec.memory_bytes >> 20));
}

/// `panic=-1` with -no-reboot: a kernel that panics ends QEMU at once instead of waiting to be missed. What only
/// shortens the boot is left to the translator: on a processor the guest keeps its own defaults, mitigations above all.
fn kernel_command_line(spec: &GuestSpec) -> String {
    let mut words = vec!["console=ttyS0", "quiet", "panic=-1"];
    if spec.accel == Accel::Tcg {
        words.extend(["tsc=nowatchdog", "mitigations=off", "cryptomgr.notests"]);
    }
    words.join(" ")
}

fn socket(id: &str, path: &Path) -> Value {
    Value::of("socket").set("id", id).set("path", path).set("server", "on").set("wait", "off")
}

fn add_disk(line: &mut Line, index: usize, disk: &DiskSpec) {
    let (node, thread) = (format!("disk{index}"), format!("iothread{index}"));
    // The file's node inherits the cache settings and read-only from the raw node around it.
    let node_options = Value::new("driver", "raw")
        .set("node-name", &node)
        .maybe("size", disk.bytes)
        .set("cache.direct", on_off(disk.cache.direct()))
        .set("cache.no-flush", on_off(disk.cache.no_flush()))
        .set("read-only", on_off(disk.read_only))
        .set("file.driver", disk.backend.driver())
        .set("file.filename", &disk.path)
        .set("file.aio", disk.aio.word())
        .maybe("file.locking", disk.share_read.then_some("off"));
    line.option("-blockdev", node_options);
    if disk.iothread {
        line.option("-object", Value::of("iothread").set("id", &thread));
    }
    let device = Value::of("virtio-blk-pci")
        .set("id", format!("{node}-device"))
        .set("drive", &node)
        .set("serial", &disk.serial)
        .set("write-cache", on_off(disk.cache.write_cache()))
        .maybe("num-queues", disk.num_queues)
        .maybe("iothread", disk.iothread.then_some(&thread));
    line.option("-device", device);
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// The value of an option as QEMU reads it: `word,key=value,key=value`. A comma in a value is doubled.
struct Value(OsString);

impl Value {
    fn of(word: &str) -> Value {
        Value(word.into())
    }

    fn new(key: &str, value: &str) -> Value {
        let mut first = Value(OsString::new());
        first.append(key, OsStr::new(value));
        first
    }

    fn set(mut self, key: &str, value: impl AsRef<OsStr>) -> Value {
        self.0.push(",");
        self.append(key, value.as_ref());
        self
    }

    fn maybe(self, key: &str, value: Option<impl ToString>) -> Value {
        match value {
            Some(value) => self.set(key, value.to_string()),
            None => self,
        }
    }

    fn append(&mut self, key: &str, value: &OsStr) {
        self.0.push(format!("{key}="));
        let doubled = value
            .as_bytes()
            .iter()
            .flat_map(|&byte| std::iter::repeat_n(byte, if byte == b',' { 2 } else { 1 }));
        self.0.push(OsString::from_vec(doubled.collect()));
    }
}

#[derive(Default)]
struct Line(Vec<OsString>);

impl Line {
    fn word(&mut self, word: impl Into<OsString>) -> &mut Line {
        self.0.push(word.into());
        self
    }

    fn words(&mut self, words: &str) {
        self.0.extend(words.split(' ').map(OsString::from));
    }

    fn option(&mut self, name: &str, value: Value) {
        self.word(name).word(value.0);
    }
}

fn check(spec: &GuestSpec) -> Result<(), Failed> {
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
    if spec.memory_bytes % (1 << 20) != 0 || spec.memory_bytes < SMALLEST_MEMORY {
        let shown = crate::units::show_bytes(spec.memory_bytes);
        return refuse(format!(
            "memory = {shown} is not a whole number of MiB of at least {} MiB",
            SMALLEST_MEMORY >> 20
        ));
    }
    for (index, disk) in spec.disks.iter().enumerate() {
        if let Err(why) = check_disk(disk) {
            return refuse(format!("disk {}: {why}", disk.path.display()));
        }
        if spec.disks[..index].iter().any(|other| other.serial == disk.serial) {
            return refuse(format!("two disks have the serial \"{}\"", disk.serial));
        }
    }
    Ok(())
}

/// Below it Debian's kernel does not unpack an initramfs with this program.
const SMALLEST_MEMORY: u64 = 128 << 20;

/// VIRTIO_BLK_ID_BYTES.
const LONGEST_SERIAL: usize = 20;

fn check_disk(disk: &DiskSpec) -> Result<(), String> {
    if !disk.path.is_absolute() {
        return Err("its path is not absolute".into());
    }
    if !is_plain(&disk.serial) || disk.serial.len() > LONGEST_SERIAL {
        return Err(format!(
            "serial \"{}\" is not 1 to {LONGEST_SERIAL} letters, digits, - and _",
            disk.serial
        ));
    }
    if disk.aio == Aio::Native && !disk.cache.direct() {
        return Err(
            "aio=native works only past the host's page cache; hint: cache=none, or aio=threads".into()
        );
    }
    if disk.share_read && !disk.read_only {
        return Err("an image opened by two must be read-only".into());
    }
    if disk.bytes.is_some_and(|bytes| bytes == 0 || bytes % 512 != 0) {
        return Err("its size is not a whole number of sectors of 512 bytes".into());
    }
    if disk.num_queues.is_some_and(|queues| queues == 0 || queues > 1024) {
        return Err("num-queues is not between 1 and 1024".into());
    }
    Ok(())
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// QEMU's version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// 7 in 7.2.22.
    pub major: u32,
    /// 2 in 7.2.22.
    pub minor: u32,
    /// 22 in 7.2.22.
    pub patch: u32,
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl Version {
    /// Reads `QEMU emulator version 7.2.22 (Debian ...)`.
    pub fn parse(text: &str) -> Option<Version> {
        let number = text.split("version ").nth(1)?.split_whitespace().next()?;
        let mut parts = number.split('.').map(|part| {
            let digits = part.find(|c: char| !c.is_ascii_digit()).map_or(part, |end| &part[..end]);
            digits.parse::<u32>().ok()
        });
        let (major, minor) = (parts.next()??, parts.next()??);
        Some(Version { major, minor, patch: parts.next().flatten().unwrap_or(0) })
    }
}

/// The installed QEMU's version.
///
/// # Errors
/// There is none, or none that is new enough: which, in words.
pub fn installed_version(program: &OsStr) -> Result<Version, String> {
    let name = program.to_string_lossy();
    let Ok(output) = Command::new(program).arg("--version").stdin(Stdio::null()).output() else {
        return Err(format!("{name} ({OLDEST} or newer) is not installed"));
    };
    let text = String::from_utf8_lossy(&output.stdout);
    match Version::parse(&text) {
        Some(version) if version >= OLDEST => Ok(version),
        Some(version) => Err(format!("{name} is {version}, which is older than {OLDEST}")),
        None => Err(format!("{name} tells no version that is known (it said \"{}\")", text.trim())),
    }
}

/// Whether this QEMU on this kernel opens a file with aio=io_uring: it may have been built without it, and
/// kernel.io_uring_disabled or a seccomp filter may forbid it. Asked by doing it, with an empty QEMU.
///
/// # Errors
/// QEMU's own words.
pub fn io_uring_works(program: &OsStr) -> Result<(), String> {
    let limit = Duration::from_secs(10);
    let file = tempfile::NamedTempFile::new().map_err(|error| format!("cannot create a file: {error}"))?;
    let (ours, theirs) = UnixStream::pair().map_err(|error| error.to_string())?;
    let input = theirs.try_clone().map_err(|error| error.to_string())?;
    let mut child = Command::new(program)
        .args(["-machine", "none", "-nodefaults", "-no-user-config", "-display", "none", "-qmp", "stdio"])
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(input)))
        .stdout(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("cannot run {}: {error}", program.to_string_lossy()))?;
    let node = json!({"driver": "file", "node-name": "probe", "filename": file.path(), "aio": "io_uring"});
    let answer = Qmp::greet(ours, limit).and_then(|mut qmp| qmp.execute("blockdev-add", node));
    // It has no guest and no data; an error means that it has ended already.
    let _ = child.kill();
    let _ = child.wait();
    answer.map(drop).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn disk() -> DiskSpec {
        DiskSpec {
            path: "/srv/x.img".into(),
            backend: Backend::File,
            bytes: None,
            cache: Cache::None,
            aio: Aio::Native,
            iothread: true,
            num_queues: None,
            serial: "iotax-1".into(),
            read_only: false,
            share_read: false,
        }
    }

    fn guest(disks: Vec<DiskSpec>) -> GuestSpec {
        GuestSpec {
            name: "vm".into(),
            run_tag: "r1a2b3c".into(),
            vcpus: 2,
            memory_bytes: 512 << 20,
            accel: Accel::Kvm,
            disks,
            kernel: "/boot/vmlinuz".into(),
            initrd: "/run/iotax/initrd".into(),
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
            bytes: Some(4 << 30),
            cache: Cache::Directsync,
            aio: Aio::IoUring,
            iothread: false,
            num_queues: Some(4),
            serial: "iotax-2".into(),
            read_only: true,
            share_read: true,
        };
        let mut spec = guest(vec![disk(), full]);
        spec.accel = Accel::Tcg;
        insta::assert_snapshot!(shown(&spec));
    }

    #[test]
    fn cache_modes_are_qemus() {
        let settings = |(name, cache): &(&str, Cache)| {
            let disk = DiskSpec { cache: *cache, aio: Aio::Threads, ..disk() };
            let line = shown(&guest(vec![disk]));
            let of =
                |key: &str| line.split(key).nth(1).unwrap().split([',', '\n']).next().unwrap().to_owned();
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
                refused(&|spec| spec.disks[0].bytes = Some(1000)),
                refused(&|spec| spec.disks[0].serial = "a,b".into()),
                refused(&|spec| spec.disks[0].serial = "x".repeat(21)),
                refused(&|spec| spec.disks[0].num_queues = Some(0)),
                refused(&|spec| spec.disks[0].path = "x.img".into()),
                refused(&|spec| spec.disks.push(disk())),
                refused(&|spec| spec.vcpus = 0),
                refused(&|spec| spec.memory_bytes = 64 << 20),
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
        std::fs::write(&path, format!("#!/bin/sh\necho QEMU emulator version {version}\n")).unwrap();
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
        assert!(told(OsStr::new("true")).contains("tells no version"));
        let folder = tempfile::tempdir().unwrap();
        let old = told(pretender(folder.path(), "5.2.0").as_os_str());
        assert!(old.ends_with("is 5.2.0, which is older than 6.0.0"), "{old}");
        let new = installed_version(pretender(folder.path(), "6.0.1").as_os_str()).unwrap();
        assert_eq!(new.to_string(), "6.0.1");
    }

    #[test]
    fn io_uring_is_tried() {
        if installed_version(OsStr::new(PROGRAM)).is_err() {
            println!("skipped: needs {PROGRAM}");
            return;
        }
        println!("io_uring: {:?}", io_uring_works(OsStr::new(PROGRAM)));
        assert!(io_uring_works(OsStr::new("qemu-system-none")).unwrap_err().contains("cannot run"));
        assert!(io_uring_works(OsStr::new("true")).is_err());
    }
}
