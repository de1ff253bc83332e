//! Boot of a guest until its agent answers: choice of the acceleration, time limits, connection to
//! QEMU and to the agent. A guest that does not boot is given up with the last lines of its console
//! and of QEMU's output.

use super::qmp::{Qmp, QmpError, QmpEvent};
use super::signs::{self, Sign, Signs, without_controls};
use crate::accel::Accel;
use crate::command_line::{PORT_CHARDEV, PORT_DEVICE, SYSTEM_DRIVE};
use crate::guest_files::GuestFiles;
use iotax_drivers::json_socket::SocketError;
use iotax_drivers::process::{ProcessId, end_of, runs};
use iotax_host::facts;
use iotax_host::probe::Probe;
use iotax_sys::kvm::KvmProbe;
use iotax_sys::regular;
use iotax_units::exit::Failed;
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Acceleration that the user asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requested {
    /// KVM if the processor itself virtualises; TCG if KVM is absent or emulated.
    Auto,
    Kvm,
    Tcg,
}

/// Chooses the acceleration of a guest. Also returns a note, to be shown with every result, if
/// results are not representative of KVM on a real processor.
///
/// # Errors
/// An unmet need: KVM was demanded and is absent.
pub fn choose_accel(
    requested: Requested,
    probe: &KvmProbe,
) -> Result<(Accel, Option<String>), Failed> {
    let note = |why: &str| Some(format!("emulated: not representative of KVM ({why})"));
    match (requested, probe) {
        (Requested::Auto | Requested::Kvm, KvmProbe::Works { .. }) => Ok((Accel::Kvm, None)),
        (Requested::Auto, KvmProbe::Emulated { why, .. } | KvmProbe::Absent { why }) => {
            Ok((Accel::Tcg, note(why)))
        }
        (Requested::Kvm, KvmProbe::Emulated { why, .. }) => Ok((Accel::Kvm, note(why))),
        (Requested::Kvm, KvmProbe::Absent { why }) => Err(Failed::need(format!(
            "accel=kvm cannot be had: {why}; hint: accel=tcg works anywhere, for figures that are not representative"
        ))),
        (Requested::Tcg, _) => Ok((Accel::Tcg, note("accel=tcg was asked for"))),
    }
}

/// Largest factor by which boot limits grow when several guests share a processor.
const MOST_TURNS: u32 = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BootLimits {
    /// Time limit for the first byte on the console.
    pub life: Duration,
    pub ready: Duration,
    pub answer: Duration,
    /// Time without console output or reads of the system's disk, before the boot loader is read,
    /// after which a guest with somebody else's system is given up. `None` for iotax's own guests.
    pub idle: Option<Duration>,
}

impl BootLimits {
    /// Returns the limits for one guest. `nested` is true if this host is itself emulated by TCG;
    /// `own_system` is true if the guest boots an image with a system of its own.
    ///
    /// Under KVM a kernel boots within a second, under TCG within some seconds. The rest of a limit
    /// is for loaded machines: a boot under TCG took 65 s beside ten builds on two processors.
    /// Limits are longest under TCG, since no other acceleration is left to try. TCG within TCG
    /// takes many times as long: such a guest's console was silent for more than two minutes.
    ///
    /// A system of its own starts other services before the agent, and may wait two minutes for a
    /// network. If it will never start, [`Signs`] mostly report it earlier. A firmware without a
    /// system to boot is done within seconds, even under TCG.
    pub fn for_guest(accel: Accel, nested: bool, own_system: bool) -> BootLimits {
        let limits = BootLimits::of_ours(accel, nested);
        match own_system {
            true => BootLimits {
                ready: limits.ready * 5,
                idle: Some(limits.life.max(KVM_IDLE * 2) / 2),
                ..limits
            },
            false => limits,
        }
    }

    /// Returns the limits when this many guests share one processor while they boot: multiplied by
    /// that number, but at most by 8, so that a guest that hangs is still given up.
    #[must_use]
    pub fn of_crowd(self, guests: u32) -> BootLimits {
        let times = guests.clamp(1, MOST_TURNS);
        let longer = |limit: Duration| limit * times;
        BootLimits {
            life: longer(self.life),
            ready: longer(self.ready),
            answer: longer(self.answer),
            idle: self.idle.map(longer),
        }
    }

    /// Returns how long the agent waits for a guest's own system to finish starting: half of the
    /// time that this host waits for the agent. The other half is for the boot before the agent
    /// starts.
    pub fn for_the_system(&self) -> Duration {
        self.ready / 2
    }

    fn of_ours(accel: Accel, nested: bool) -> BootLimits {
        let seconds = |life, ready| BootLimits {
            life: Duration::from_secs(life),
            ready: Duration::from_secs(ready),
            answer: Duration::from_secs(10),
            idle: None,
        };
        match (accel, nested) {
            (Accel::Kvm, _) => seconds(10, 60),
            (Accel::Tcg, false) => seconds(120, 300),
            (Accel::Tcg, true) => seconds(900, 1800),
        }
    }
}

/// Returns true if this machine is itself a guest that QEMU emulates by TCG, which shows in the
/// name of its processor.
pub fn is_translated(probe: &Probe) -> bool {
    facts::cpu(probe).model.is_some_and(|model| model.starts_with("QEMU TCG"))
}

/// A running guest whose agent has opened its port.
#[derive(Debug)]
pub struct BootedGuest {
    pub qmp: Qmp,
    /// Connection to the agent's port. The guest powers off when it is closed.
    pub port: UnixStream,
}

#[derive(Debug, thiserror::Error)]
#[error("guest did not boot with accel={}: {}{last_words}", accel.word(), fate.as_deref().unwrap_or(&failure.to_string()))]
pub struct BootError {
    pub failure: BootFailure,
    pub accel: Accel,
    /// True if the guest wrote anything to its console.
    pub alive: bool,
    pub fate: Option<Box<str>>,
    pub last_words: Box<str>,
}

#[derive(Debug, thiserror::Error)]
pub enum BootFailure {
    #[error("no sign of life on its console within {0:?}")]
    Silent(Duration),
    #[error("its agent was not there within {0:?}")]
    NotReady(Duration),
    #[error("{0}, and nothing comes after that")]
    NeverStarts(Sign),
    #[error("it was not waited for")]
    Interrupted,
    #[error("QEMU ended")]
    Died,
    #[error("QEMU stopped it with status {0}")]
    Stopped(String),
    #[error(transparent)]
    Control(QmpError),
    #[error("cannot connect to its agent's port: {0}")]
    Port(std::io::Error),
}

impl BootError {
    /// Returns true if the failure suggests that KVM cannot run guests here, so that TCG is worth a
    /// try: with KVM, the guest was silent, died or was stopped before it wrote to its console.
    pub fn blames_kvm(&self) -> bool {
        let kvm_like = matches!(
            self.failure,
            BootFailure::Silent(_) | BootFailure::Died | BootFailure::Stopped(_)
        );
        self.accel == Accel::Kvm && !self.alive && kvm_like
    }
}

/// Resets a running guest as abruptly as a crash of its kernel, and returns once QEMU has reset it.
/// QEMU, its caches and the servers of its disks keep running. The caller must then close the
/// agent's port before the new kernel is up.
///
/// # Errors
/// QEMU refuses, does not answer, or reports no reset within 20 s.
pub fn reset(qmp: &mut Qmp) -> Result<(), QmpError> {
    // An earlier reset, or that the port was opened then, must not be taken for one of now.
    while qmp.next_event(Duration::ZERO)?.is_some() {}
    // QEMU was started with -no-reboot, and would end.
    qmp.execute("set-action", json!({"reboot": "reset"}))?;
    qmp.execute("system_reset", Value::Null)?;
    let begin = Instant::now();
    while begin.elapsed() < RESET_LIMIT {
        if qmp.next_event(Duration::from_millis(100))?.is_some_and(|event| event.name == "RESET") {
            return Ok(());
        }
    }
    Err(QmpError::Socket {
        during: "system_reset".into(),
        cause: SocketError::TimedOut(RESET_LIMIT),
    })
}

/// Waits until the agent of a guest has opened its port. The guest was just started or, if
/// `earlier` is the connection to its QEMU, just [`reset`]. This host connects to the port first:
/// the guest waits for that, and powers off when the connection is lost.
///
/// # Errors
/// [`BootError`]. The caller must end QEMU's process if it still runs.
pub fn connect(
    earlier: Option<Qmp>,
    files: &GuestFiles,
    process: &ProcessId,
    accel: Accel,
    limits: BootLimits,
    stop: &AtomicBool,
) -> Result<BootedGuest, BootError> {
    let begin = Instant::now();
    let said = if earlier.is_some() { signs::length(&files.console) } else { 0 };
    let signs = limits.idle.map(|idle| Signs::new(said, idle));
    let mut boot = Boot { files, process, limits, stop, begin, alive: false, signs, looked: begin };
    let control = earlier.map_or_else(|| boot.control(), Ok);
    let outcome = control.and_then(|mut qmp| {
        let port = UnixStream::connect(&files.port).map_err(BootFailure::Port)?;
        boot.until_open(&mut qmp)?;
        // From here on a panic ends QEMU. Before, an image may be started again, and the firmware
        // may reset once more itself (SeaBIOS does, when it finds that it has run already).
        end_at_reboot(&mut qmp)?;
        Ok(BootedGuest { qmp, port })
    });
    outcome.map_err(|failure| boot.give_up(failure, accel))
}

const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// Time without progress after which a firmware under KVM is given up. It normally takes less than
/// two seconds.
const KVM_IDLE: Duration = Duration::from_secs(20);
/// Time limit of a reset, during which devices finish their I/O.
const RESET_LIMIT: Duration = Duration::from_secs(20);

struct Boot<'a> {
    files: &'a GuestFiles,
    process: &'a ProcessId,
    limits: BootLimits,
    stop: &'a AtomicBool,
    begin: Instant,
    alive: bool,
    signs: Option<Signs>,
    looked: Instant,
}

impl Boot<'_> {
    /// Connects to QEMU's control socket, which appears some milliseconds after the process starts.
    /// Fails if the process ends or a boot limit passes first.
    fn control(&mut self) -> Result<Qmp, BootFailure> {
        loop {
            match Qmp::connect(&self.files.qmp, self.limits.answer) {
                Err(QmpError::Socket { cause: SocketError::Io(source), .. })
                    if not_yet(&source) =>
                {
                    self.check_process()?;
                }
                other => return other.map_err(died_or),
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn until_open(&mut self, qmp: &mut Qmp) -> Result<(), BootFailure> {
        loop {
            let event = qmp.next_event(Duration::from_millis(100)).map_err(died_or)?;
            match event {
                Some(event) if opens_port(&event) => return Ok(()),
                Some(event) if event.name == "STOP" => stopped(qmp)?,
                Some(event) if event.name == "RESET" => self.started_over()?,
                Some(_) => {}
                // The event may have been before our time.
                None if port_is_open(qmp)? => return Ok(()),
                None => {
                    self.check_process()?;
                    self.look_for_signs(qmp)?;
                }
            }
        }
    }

    fn started_over(&mut self) -> Result<(), BootFailure> {
        let signs = self.signs.as_mut();
        signs.map_or(Ok(()), |signs| signs.reset().map_err(BootFailure::NeverStarts))
    }

    fn look_for_signs(&mut self, qmp: &mut Qmp) -> Result<(), BootFailure> {
        let Some(signs) = self.signs.as_mut().filter(|_| self.looked.elapsed() >= LOOK_INTERVAL)
        else {
            return Ok(());
        };
        self.looked = Instant::now();
        signs
            .check_console(&self.files.console, system_read(qmp)?)
            .map_err(BootFailure::NeverStarts)
    }

    fn check_process(&mut self) -> Result<(), BootFailure> {
        self.alive = self.alive || has_content(&self.files.console);
        let elapsed = self.begin.elapsed();
        if self.stop.load(Ordering::Relaxed) {
            return Err(BootFailure::Interrupted);
        }
        if !runs(self.process) {
            return Err(BootFailure::Died);
        }
        if !self.alive && elapsed > self.limits.life {
            return Err(BootFailure::Silent(self.limits.life));
        }
        if elapsed > self.limits.ready {
            return Err(BootFailure::NotReady(self.limits.ready));
        }
        Ok(())
    }

    fn give_up(mut self, failure: BootFailure, accel: Accel) -> BootError {
        let died = matches!(failure, BootFailure::Died);
        if died {
            self.await_end();
        }
        self.alive = self.alive || has_content(&self.files.console);
        let fate = if died { fate(self.process).map(Into::into) } else { None };
        BootError {
            failure,
            accel,
            alive: self.alive,
            fate,
            last_words: last_words(self.files).into(),
        }
    }

    /// Waits up to two seconds for the process to end: it closes its socket before it writes its
    /// last output.
    fn await_end(&self) {
        let begin = Instant::now();
        while runs(self.process) && begin.elapsed() < Duration::from_secs(2) {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Returns the number of bytes that the guest has read from the disk with its own system. `None` if
/// it has no such disk.
fn system_read(qmp: &mut Qmp) -> Result<Option<u64>, BootFailure> {
    let answer = qmp.execute("query-blockstats", Value::Null).map_err(died_or)?;
    let drives = answer.as_array().map(Vec::as_slice).unwrap_or_default();
    let system = drives.iter().find(|drive| drive["device"] == SYSTEM_DRIVE);
    Ok(system.and_then(|drive| drive["stats"]["rd_bytes"].as_u64()))
}

fn end_at_reboot(qmp: &mut Qmp) -> Result<(), BootFailure> {
    qmp.execute("set-action", json!({"reboot": "shutdown"})).map(drop).map_err(BootFailure::Control)
}

fn died_or(error: QmpError) -> BootFailure {
    if error.is_closed() { BootFailure::Died } else { BootFailure::Control(error) }
}

fn not_yet(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused)
}

fn opens_port(event: &QmpEvent) -> bool {
    event.name == "VSERPORT_CHANGE" && event.data["id"] == PORT_DEVICE && event.data["open"] == true
}

fn port_is_open(qmp: &mut Qmp) -> Result<bool, BootFailure> {
    let answer = qmp.execute("query-chardev", Value::Null).map_err(died_or)?;
    let devices = answer.as_array().map(Vec::as_slice).unwrap_or_default();
    Ok(devices
        .iter()
        .any(|device| device["label"] == PORT_CHARDEV && device["frontend-open"] == true))
}

/// Checks that the guest runs. If KVM meets something that it cannot run, it stops the guest
/// instead of ending QEMU.
fn stopped(qmp: &mut Qmp) -> Result<(), BootFailure> {
    let status = qmp.execute("query-status", Value::Null).map_err(BootFailure::Control)?;
    match status["status"].as_str() {
        Some("running") => Ok(()),
        word => Err(BootFailure::Stopped(word.unwrap_or("unknown").to_owned())),
    }
}

fn has_content(path: &Path) -> bool {
    signs::length(path) > 0
}

const LAST_LINES: usize = 20;

/// Returns the last 20 lines of QEMU's error output and of the console, each under a heading, to be
/// appended to an error. Empty if there is no output.
pub fn last_words(files: &GuestFiles) -> String {
    let mut text = String::new();
    for (heading, path) in
        [("QEMU said", &files.stderr), ("the end of its console", &files.console)]
    {
        let lines = tail(path);
        if !lines.is_empty() {
            text.push_str(&format!(
                "\n  {heading} ({}):\n    {}",
                path.display(),
                lines.join("\n    ")
            ));
        }
    }
    text
}

/// Returns how the guest's QEMU ended. `None` if it still runs.
pub fn fate(process: &ProcessId) -> Option<String> {
    let end = end_of(process)?;
    let hint = match end.contains("SIGKILL") {
        true => "; hint: `dmesg` shows whether the kernel killed it for want of memory",
        false => "",
    };
    Some(format!("QEMU has ended ({end}){hint}"))
}

fn tail(path: &Path) -> Vec<String> {
    let text = without_controls(&regular::tail(path, regular::LAST_WORDS));
    let lines: Vec<&str> =
        text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].iter().map(|line| (*line).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_stops_waiting_for_its_system_before_its_host_stops_waiting_for_it() {
        for (accel, nested, seconds) in [
            (Accel::Kvm, false, 150),
            (Accel::Kvm, true, 150),
            (Accel::Tcg, false, 750),
            (Accel::Tcg, true, 4500),
        ] {
            let limits = BootLimits::for_guest(accel, nested, true);
            assert_eq!(limits.for_the_system(), Duration::from_secs(seconds), "{accel:?}");
            assert!(limits.for_the_system() < limits.ready);
        }
    }

    #[test]
    fn many_guests_at_once_are_given_more_time() {
        let alone = BootLimits::for_guest(Accel::Tcg, false, true);
        let of = |guests| alone.of_crowd(guests);
        assert_eq!((of(0), of(1)), (alone, alone));
        let four = BootLimits {
            life: alone.life * 4,
            ready: alone.ready * 4,
            answer: alone.answer * 4,
            idle: alone.idle.map(|idle| idle * 4),
        };
        assert_eq!(of(4), four);
        assert_eq!(of(256), of(MOST_TURNS));
    }

    #[test]
    fn who_executes() {
        let works = KvmProbe::Works { loop_ns: 9_000 };
        let emulated = KvmProbe::Emulated { loop_ns: 20_000_000, why: "slow loop".into() };
        let absent = KvmProbe::Absent { why: "there is no /dev/kvm".into() };
        let chosen = |requested, probe| choose_accel(requested, probe).unwrap();
        assert_eq!(chosen(Requested::Auto, &works), (Accel::Kvm, None));
        assert_eq!(chosen(Requested::Kvm, &works), (Accel::Kvm, None));
        for probe in [&emulated, &absent] {
            let (accel, note) = chosen(Requested::Auto, probe);
            assert_eq!(accel, Accel::Tcg);
            assert!(note.unwrap().starts_with("emulated: not representative of KVM ("));
        }
        assert!(matches!(chosen(Requested::Kvm, &emulated), (Accel::Kvm, Some(_))));
        assert!(matches!(chosen(Requested::Tcg, &works), (Accel::Tcg, Some(_))));
        let refused = choose_accel(Requested::Kvm, &absent).unwrap_err();
        assert_eq!(refused.code, iotax_units::exit::UNMET_NEED);
        assert!(refused.message.contains("there is no /dev/kvm; hint: "), "{}", refused.message);
    }

    /// A QEMU that says these lines, each when a line has come in, the first at once.
    fn qemu(lines: [&'static str; 5]) -> Qmp {
        use std::io::{BufRead, BufReader, Write};
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        std::thread::spawn(move || {
            let mut heard = BufReader::new(theirs.try_clone().unwrap()).lines();
            for line in lines {
                writeln!(theirs, "{line}").unwrap();
                heard.next();
            }
        });
        Qmp::greet(ours, Duration::from_secs(20)).unwrap()
    }

    #[test]
    fn a_reset_is_over_when_qemu_says_so_and_not_by_what_was_before() {
        let mut qmp = qemu([
            r#"{"QMP": {}}"#,
            "{\"event\": \"RESET\"}\n{\"event\": \"VSERPORT_CHANGE\", \"data\": {\"open\": true}}\n{\"return\": {}, \"id\": 1}",
            r#"{"return": {}, "id": 2}"#,
            "{\"event\": \"VSERPORT_CHANGE\", \"data\": {\"open\": false}}\n{\"return\": {}, \"id\": 3}\n{\"event\": \"RESET\"}\n{\"event\": \"LATER\"}",
            "",
        ]);
        reset(&mut qmp).unwrap();
        let next = qmp.next_event(Duration::from_secs(20)).unwrap();
        assert_eq!(next.map(|event| event.name).as_deref(), Some("LATER"));
        let mut old = qemu([
            r#"{"QMP": {}}"#,
            r#"{"return": {}, "id": 1}"#,
            r#"{"id": 2, "error": {"class": "CommandNotFound", "desc": "set-action"}}"#,
            "",
            "",
        ]);
        assert!(matches!(reset(&mut old), Err(QmpError::Refused { .. })));
    }

    #[test]
    fn last_words_are_few_and_plain() {
        let directory = tempfile::tempdir().unwrap();
        let files = GuestFiles::new(directory.path(), "vm").unwrap();
        assert_eq!(last_words(&files), "");
        let console: String = (1..=50).map(|n| format!("\u{1b}[31mline {n}\r\n\r\n")).collect();
        std::fs::write(&files.console, console).unwrap();
        let words = last_words(&files);
        assert!(
            words.ends_with("    line 50")
                && words.contains("    line 31\n")
                && !words.contains("line 30\n"),
            "{words}"
        );
        assert!(!words.contains('\u{1b}') && !words.contains("QEMU said"));
    }
}
