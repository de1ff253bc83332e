//! PID 1 of a guest. It mounts file systems, loads modules, connects the agent to its port, reaps
//! processes, and powers off when the agent ends or the host disappears. The agent is a child
//! process, so that its crash leaves a message on the console instead of a kernel panic. Does
//! nothing outside a guest: see [`is_init`]. In a guest with its own system ([`supervise`]) a
//! process that the seed starts does the same.

use super::initramfs::MODULES_LIST;
use super::root;
use crate::root::PATH;
use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mount::{MountFlags, mount};
use rustix::process::{Pid, WaitOptions, wait};
use rustix::system::{RebootCommand, finit_module, reboot};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Name of the virtio-serial port between host and agent.
pub const PORT_NAME: &str = "iotax.0";

/// Name of the virtio-serial port of the agent that performs steps. Only a lab has this second
/// port, so that a long step does not delay the load.
pub const STEPS_PORT_NAME: &str = "iotax.1";

const PREFIX: &str = "iotax-init: ";

/// Environment variable that marks the child process that runs the agent. The child's standard
/// input is a socket to PID 1, which relays it to the port.
const SERVE_VARIABLE: &str = "IOTAX_INIT_SERVES";

/// Time limit for the port to appear: normally some milliseconds after its driver is loaded, far
/// later under an emulator.
const PORT_LIMIT: Duration = Duration::from_secs(20);

/// Time after which a guest that nobody connects to powers off: its host died between start and
/// connect.
const ORPHAN_LIMIT: Duration = Duration::from_secs(180);

/// Time limit for the agent's last output to reach the host.
const DRAIN_LIMIT: Duration = Duration::from_secs(2);

/// Returns true if this process is PID 1 of a guest made by [`super::initramfs`], or PID 1's child
/// that runs the agent.
pub fn is_init() -> bool {
    let first =
        std::process::id() == 1 && std::env::args_os().next().is_some_and(|name| name == "/init");
    first && Path::new("/").join(MODULES_LIST).exists() || is_serving_child()
}

fn is_serving_child() -> bool {
    std::env::var_os(SERVE_VARIABLE).is_some() && std::os::unix::process::parent_id() == 1
}

/// Runs PID 1 of a guest or, in its child, the agent. `main` calls it first of all if [`is_init`].
/// PID 1 never returns: it powers the guest off. The child calls `serve` with the connection to the
/// host, readable and writable, and returns success if `serve` does.
pub fn run(serve: fn(File) -> Result<()>) -> ExitCode {
    if is_serving_child() {
        return serve_port(serve);
    }
    if let Err(error) = be_first_process() {
        say(&format!("failed: {error:#}"));
    }
    power_off()
}

fn serve_port(serve: fn(File) -> Result<()>) -> ExitCode {
    let port = rustix::io::dup(std::io::stdin()).map(File::from);
    match port.context("cannot take over the port").and_then(serve) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("agent failed: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs the agent in a guest with its own system, where the seed starts this process as root. Waits
/// until that system has started, for `patience` at most (which must be less than the host waits),
/// then does what PID 1 of iotax's own guests does. Never returns on success: it powers the guest
/// off.
///
/// # Errors
/// No port for the agent appears within 20 s. Then this is no guest of iotax, and is left running.
pub fn supervise(patience: Duration) -> Result<std::convert::Infallible> {
    // A module that the system loads only when it finds the port is there by then.
    find_port(PORT_NAME, PORT_LIMIT)?;
    // A session of its own, so that the end of what started this process does not end it too.
    let _ = rustix::process::setsid();
    say("started by the seed");
    await_system(patience);
    if let Err(error) = serve_in_system() {
        say(&format!("failed: {error:#}"));
    }
    power_off()
}

/// Waits until systemd has started the system, for `patience` at most: services that still start
/// would use processors during the measurement. Returns at once without systemd.
fn await_system(patience: Duration) {
    let begin = Instant::now();
    let mut question = Command::new("systemctl");
    question.args(["is-system-running", "--wait"]).stdin(Stdio::null()).stdout(Stdio::null());
    match ends_within(question.stderr(Stdio::null()), patience) {
        // Without systemd nobody says when it is over.
        None => {}
        Some(true) => {
            say(&format!(
                "the guest's system had started after {:.1} s more",
                begin.elapsed().as_secs_f64()
            ));
        }
        Some(false) => {
            say(&format!(
                "the guest's system still starts after {patience:?}, and is not waited for"
            ));
        }
    }
}

/// Runs a program and returns true if it ends within the limit. Otherwise kills it and returns
/// false. `None` if it cannot be started.
fn ends_within(program: &mut Command, limit: Duration) -> Option<bool> {
    let begin = Instant::now();
    let mut asked = program.spawn().ok()?;
    while matches!(asked.try_wait(), Ok(None)) {
        if begin.elapsed() > limit {
            let _ = asked.kill();
            let _ = asked.wait();
            return Some(false);
        }
        std::thread::sleep(Duration::from_millis(100).min(limit));
    }
    Some(true)
}

fn serve_in_system() -> Result<()> {
    serve_host(find_port(PORT_NAME, PORT_LIMIT)?, &Agents::default(), |socket| {
        let output = socket.try_clone().context("cannot share the agent's socket")?;
        let mut agent = Command::new("/proc/self/exe");
        agent.args(["agent", "--stdio"]).stdout(Stdio::from(OwnedFd::from(output)));
        spawn_agent(agent, socket)
    })
}

fn be_first_process() -> Result<()> {
    say("started");
    mount_all()?;
    let modules = load_modules()?;
    let port_path = find_port(PORT_NAME, PORT_LIMIT)?;
    say(&format!("{modules} modules loaded, port {PORT_NAME} is {}", port_path.display()));
    let agents = Arc::new(Agents::default());
    if let Some(serial) = root::wanted(&read_command_line()?) {
        root::enter(&serial)?;
        let steps = find_port(STEPS_PORT_NAME, PORT_LIMIT)?;
        say(&format!("root is the disk {serial}, port {STEPS_PORT_NAME} is {}", steps.display()));
        serve_steps(steps, Arc::clone(&agents))?;
    }
    serve_host(port_path, &agents, own_agent)
}

fn read_command_line() -> Result<String> {
    std::fs::read_to_string("/proc/cmdline").context("cannot read the kernel's command line")
}

/// Starts this program again as the agent. Its standard output stays the console.
fn own_agent(socket: UnixStream) -> Result<Pid> {
    let mut agent = Command::new("/proc/self/exe");
    agent.arg0("/init").args(std::env::args_os().skip(1)).env(SERVE_VARIABLE, "1");
    spawn_agent(agent, socket)
}

/// Agents that PID 1 watches. The lock is held while one is started, so that its end is not noticed
/// before its process id is recorded.
#[derive(Default)]
struct Agents(Mutex<Vec<GuestAgent>>);

struct GuestAgent {
    pid: Pid,
    name: &'static str,
    drained: Drained,
}

impl Agents {
    fn start(
        &self,
        name: &'static str,
        port: File,
        start: impl FnOnce(UnixStream) -> Result<Pid>,
    ) -> Result<()> {
        let mut agents = self.locked();
        let (socket, drained) = relay(port)?;
        agents.push(GuestAgent { pid: start(socket)?, name, drained });
        say(&format!("{name} started"));
        Ok(())
    }

    fn take_agent(&self, pid: Pid) -> Option<GuestAgent> {
        let mut agents = self.locked();
        let at = agents.iter().position(|agent| agent.pid == pid)?;
        Some(agents.swap_remove(at))
    }

    fn locked(&self) -> MutexGuard<'_, Vec<GuestAgent>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts a thread that waits for the host to connect to the port for steps, then starts the agent
/// there. There is no time limit: a host that never connects is noticed at the first port. If the
/// agent cannot be started, the guest powers off.
fn serve_steps(path: PathBuf, agents: Arc<Agents>) -> Result<()> {
    let serve = move || {
        let port = open_port(&path)?;
        while hung_up(&port)? {
            std::thread::sleep(Duration::from_millis(20));
        }
        agents.start("agent of steps", port, own_agent)
    };
    let watched = move || {
        if let Err(error) = serve() {
            say(&format!("failed: port {STEPS_PORT_NAME}: {error:#}"));
            power_off();
        }
    };
    std::thread::Builder::new()
        .name("steps".into())
        .spawn(watched)
        .context("cannot start a thread")?;
    Ok(())
}

fn open_port(path: &Path) -> Result<File> {
    let port = File::options().read(true).write(true).open(path);
    port.with_context(|| format!("cannot open {}", path.display()))
}

/// Waits for the host to connect, starts the agent with a socket that is relayed to the port, and
/// returns when an agent (this or another one) has ended.
fn serve_host(
    port_path: PathBuf,
    agents: &Agents,
    start: impl FnOnce(UnixStream) -> Result<Pid>,
) -> Result<()> {
    let port = open_port(&port_path)?;
    await_host(&port)?;
    agents.start("agent", port, start)?;
    let ended = reap_until_end_of_one(agents)?;
    // A program that the agent left running may hold its end open.
    let _ = ended.drained.recv_timeout(DRAIN_LIMIT);
    rustix::fs::sync();
    Ok(())
}

fn say(line: &str) {
    // A console that takes nothing is no reason to stop.
    let _ = match serial_line() {
        Some(mut serial) => writeln!(serial, "{PREFIX}{line}"),
        None => writeln!(std::io::stdout(), "{PREFIX}{line}"),
    };
}

/// Opens the serial line, in a guest with its own system. It is opened for each message, because a
/// login on it closes it for all others. `None` for PID 1 of iotax's own guests.
fn serial_line() -> Option<File> {
    let flags = i32::try_from(rustix::fs::OFlags::NOCTTY.bits()).ok()?;
    let open = || File::options().write(true).custom_flags(flags).open("/dev/ttyS0").ok();
    (!is_init()).then(open).flatten()
}

fn power_off() -> ! {
    say("power off");
    let error = match reboot(RebootCommand::PowerOff) {
        Ok(()) => "it returned".to_owned(),
        Err(error) => error.to_string(),
    };
    say(&format!("cannot power off: {error}"));
    // The end of PID 1 is a kernel panic, which with panic=-1 and QEMU's -no-reboot ends the guest
    // too.
    std::process::exit(1)
}

/// File system types and mount points that the agent and its programs expect. /dev/shm is for fio.
const MOUNTS: &[(&str, &str)] = &[
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("tmpfs", "/dev/shm"),
    ("tmpfs", "/tmp"),
    ("tmpfs", "/run"),
];

fn mount_all() -> Result<()> {
    for (kind, place) in MOUNTS {
        std::fs::create_dir_all(place).with_context(|| format!("cannot create {place}"))?;
        mount(*kind, *place, *kind, MountFlags::NOSUID, None)
            .with_context(|| format!("cannot mount {place}"))?;
    }
    Ok(())
}

/// Loads the modules in the order of their list. Returns their number, including those that were
/// already loaded.
fn load_modules() -> Result<usize> {
    let path = Path::new("/").join(MODULES_LIST);
    let list = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    for module in list.lines() {
        load(module).with_context(|| format!("cannot load {module}"))?;
    }
    Ok(list.lines().count())
}

fn load(path: &str) -> Result<()> {
    let file = File::open(path)?;
    match finit_module(&file, c"", 0) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn find_port(name: &str, limit: Duration) -> Result<PathBuf> {
    let begin = Instant::now();
    loop {
        if let Some(path) = port_named(Path::new("/sys/class/virtio-ports"), name) {
            return Ok(Path::new("/dev").join(path));
        }
        if begin.elapsed() > limit {
            bail!("no virtio-serial port named {name} appeared within {limit:?}");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn port_named(class: &Path, name: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(class).ok()?;
    let mut ports = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let port = ports.find(|port| {
        std::fs::read_to_string(port.join("name")).is_ok_and(|own| own.trim() == name)
    })?;
    port.file_name().map(PathBuf::from)
}

/// Waits until the host has connected, with a time limit. Until then a read returns end of file and
/// poll a hang-up, both at once. So nothing can block for it, and it is polled.
fn await_host(port: &File) -> Result<()> {
    let begin = Instant::now();
    while hung_up(port)? {
        if begin.elapsed() > ORPHAN_LIMIT {
            bail!("nobody connected within {ORPHAN_LIMIT:?}");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

fn hung_up(port: &File) -> Result<bool> {
    let mut polled = [PollFd::new(port, PollFlags::empty())];
    loop {
        match poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
            Ok(_) => {
                return Ok(polled[0]
                    .revents()
                    .intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL));
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).context("cannot look at the port"),
        }
    }
}

/// Receives one message when all of the agent's answers have been passed on to the host.
type Drained = Receiver<()>;

/// Returns a socket for the agent, which two threads relay to and from the port. The thread that
/// reads the port notices when the host disappears, even if the agent hangs, and powers off. It
/// syncs nothing, since what the guest wrote is lost with the run. Only one thread may read the
/// port: a second one in poll() takes a fresh buffer out of the queue, the interrupt then finds
/// nothing new, and the reader is not woken (virtio_console in Linux 6.1; about one in 10,000
/// messages was delayed until the next one).
fn relay(port: File) -> Result<(UnixStream, Drained)> {
    let (ours, agents) = UnixStream::pair().context("cannot make a socket for the agent")?;
    let (mut from_agent, mut to_host) = (ours.try_clone()?, port.try_clone()?);
    let thread = |name: &str| std::thread::Builder::new().name(name.into());
    thread("from-host")
        .spawn(move || pass_on_from_host(port, ours))
        .context("cannot start a thread")?;
    let (sender, drained) = mpsc::channel();
    let to_host = move || {
        // An error is the host's end or the agent's, and both are seen elsewhere.
        let _ = std::io::copy(&mut from_agent, &mut to_host);
        let _ = sender.send(());
    };
    thread("to-host").spawn(to_host).context("cannot start a thread")?;
    Ok((agents, drained))
}

fn pass_on_from_host(mut port: File, mut agent: UnixStream) {
    let mut buffer = [0; 16 << 10];
    let why = loop {
        match port.read(&mut buffer) {
            Ok(0) => break "the host has gone".to_owned(),
            // The agent's end is seen where it is reaped.
            Ok(bytes) => drop(agent.write_all(&buffer[..bytes])),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => break format!("cannot read the port: {error}"),
        }
    };
    say(&why);
    power_off();
}

fn spawn_agent(mut agent: Command, socket: UnixStream) -> Result<Pid> {
    let child = agent
        .env("PATH", PATH)
        .stdin(Stdio::from(OwnedFd::from(socket)))
        .spawn()
        .context("cannot start the agent")?;
    Pid::from_raw(i32::try_from(child.id())?).context("the agent has no process id")
}

/// Reaps orphaned processes until an agent ends, and returns that agent.
fn reap_until_end_of_one(agents: &Agents) -> Result<GuestAgent> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => {
                let Some(agent) = agents.take_agent(pid) else { continue };
                match status.terminating_signal() {
                    Some(signal) => say(&format!("{} killed by signal {signal}", agent.name)),
                    None => {
                        let code = status.exit_status().unwrap_or_default();
                        say(&format!("{} ended with exit code {code}", agent.name));
                    }
                }
                return Ok(agent);
            }
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).context("cannot wait for the agent"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_test_is_no_init() {
        assert!(!is_init());
    }

    #[test]
    fn what_does_not_end_in_time_is_not_waited_for() {
        let (soon, late) = (Duration::from_millis(50), Duration::from_secs(60));
        assert_eq!(ends_within(&mut Command::new("true"), late), Some(true));
        let begin = Instant::now();
        assert_eq!(ends_within(Command::new("sleep").arg("60"), soon), Some(false));
        assert!(begin.elapsed() < late);
        assert_eq!(ends_within(&mut Command::new("no-such-program-here"), soon), None);
    }

    #[test]
    fn ports_are_found_by_name() {
        let class = tempfile::tempdir().unwrap();
        for (port, name) in [("vport0p1", "org.qemu.guest_agent.0\n"), ("vport0p2", "iotax.0\n")] {
            std::fs::create_dir(class.path().join(port)).unwrap();
            std::fs::write(class.path().join(port).join("name"), name).unwrap();
        }
        assert_eq!(port_named(class.path(), PORT_NAME), Some("vport0p2".into()));
        assert_eq!(port_named(class.path(), "other"), None);
        assert_eq!(port_named(&class.path().join("none"), PORT_NAME), None);
    }

    #[test]
    fn a_hang_up_is_seen() {
        let (mine, yours) = std::os::unix::net::UnixStream::pair().unwrap();
        let mine = File::from(std::os::fd::OwnedFd::from(mine));
        assert!(!hung_up(&mine).unwrap());
        drop(yours);
        assert!(hung_up(&mine).unwrap());
    }
}
