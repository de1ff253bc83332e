//! PID 1 of a guest: mounts, loads modules, hands the agent its port, reaps, and powers off when the agent
//! ends or the host goes away, however hard it dies. It guards a child that does the work, so that a crash of the agent
//! leaves last words on the console instead of a kernel panic. Refuses to act outside a guest: see [`is_init`].

use super::initramfs::MODULES_LIST;
use anyhow::{Context, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mount::{MountFlags, mount};
use rustix::process::{Pid, WaitOptions, wait};
use rustix::system::{RebootCommand, finit_module, reboot};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

/// Name of the virtio-serial port between host and agent.
pub const PORT_NAME: &str = "iotax.0";

/// Every line on the console begins so.
const PREFIX: &str = "iotax-init: ";

/// Set for the child that serves the port, which it has as standard input: a socket to PID 1.
const SERVE_VARIABLE: &str = "IOTAX_INIT_SERVES";

/// The driver offers the port some milliseconds after its module is loaded; far more under an emulator.
const PORT_LIMIT: Duration = Duration::from_secs(20);

/// A guest that nobody connects to powers off: its host died between start and connect.
const ORPHAN_LIMIT: Duration = Duration::from_secs(180);

/// For the agent's last words to reach the host.
const DRAIN_LIMIT: Duration = Duration::from_secs(2);

/// Whether this process is PID 1 of a guest made by [`super::initramfs`], or the child that serves it.
pub fn is_init() -> bool {
    let first = std::process::id() == 1 && std::env::args_os().next().is_some_and(|name| name == "/init");
    first && Path::new("/").join(MODULES_LIST).exists() || is_serving_child()
}

fn is_serving_child() -> bool {
    std::env::var_os(SERVE_VARIABLE).is_some() && std::os::unix::process::parent_id() == 1
}

/// The life of a guest, called first thing in `main` when [`is_init`]. `serve` gets the port, readable and
/// writable, and returns when the host says goodbye. PID 1 never returns: it powers off. In
/// the child the exit code of `serve` is returned.
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

fn be_first_process() -> Result<()> {
    say("started");
    mount_all()?;
    let modules = load_modules()?;
    let port_path = find_port(PORT_LIMIT)?;
    say(&format!("{modules} modules loaded, port {PORT_NAME} is {}", port_path.display()));
    let port = File::options().read(true).write(true).open(&port_path);
    let port = port.with_context(|| format!("cannot open {}", port_path.display()))?;
    await_host(&port)?;
    let (socket, drained) = relay(port)?;
    let agent = spawn_agent(socket)?;
    say("agent started");
    say(&reap_until(agent)?);
    // A program that the agent left behind may hold its end open.
    let _ = drained.recv_timeout(DRAIN_LIMIT);
    rustix::fs::sync();
    Ok(())
}

fn say(line: &str) {
    // A console that takes nothing is no reason to stop.
    let _ = writeln!(std::io::stdout(), "{PREFIX}{line}");
}

fn power_off() -> ! {
    say("power off");
    let error = match reboot(RebootCommand::PowerOff) {
        Ok(()) => "it returned".to_owned(),
        Err(error) => error.to_string(),
    };
    say(&format!("cannot power off: {error}"));
    // The end of PID 1 is a kernel panic, which with panic=-1 and QEMU's -no-reboot ends the guest too.
    std::process::exit(1)
}

/// (type, place): what the agent and the programs that it starts expect. /dev/shm is for fio.
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

/// Loads the modules in the order of their list; how many there are. One that is loaded already counts.
fn load_modules() -> Result<usize> {
    let path = Path::new("/").join(MODULES_LIST);
    let list = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
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

fn find_port(limit: Duration) -> Result<PathBuf> {
    let begin = Instant::now();
    loop {
        if let Some(path) = port_named(Path::new("/sys/class/virtio-ports"), PORT_NAME) {
            return Ok(Path::new("/dev").join(path));
        }
        if begin.elapsed() > limit {
            bail!("no virtio-serial port named {PORT_NAME} appeared within {limit:?}");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The device name (vport0p1) of the port with that name.
fn port_named(class: &Path, name: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(class).ok()?;
    let mut ports = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let port =
        ports.find(|port| std::fs::read_to_string(port.join("name")).is_ok_and(|own| own.trim() == name))?;
    port.file_name().map(PathBuf::from)
}

/// Until the host has connected, reading gives end-of-file and poll gives a hang-up at once: there is
/// nothing to wait on, so it is asked again and again.
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

/// Whether nobody is on the other side now.
fn hung_up(port: &File) -> Result<bool> {
    let mut polled = [PollFd::new(port, PollFlags::empty())];
    loop {
        match poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
            Ok(_) => {
                return Ok(polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL));
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error).context("cannot look at the port"),
        }
    }
}

/// What passes on the agent's last answers; it sends when there are no more.
type Drained = Receiver<()>;

/// The agent gets a socket, and two threads here pass on what comes and goes. The one that reads sees the host go,
/// even when the agent is stuck, and powers off; nothing is synced then, as what the guest wrote
/// died with the run. The port itself must have one reader only: a second thread in poll() on it takes a fresh buffer out of
/// the queue, the interrupt then finds nothing new, and the reader is not woken (virtio_console in
/// Linux 6.1; about one in 10,000 messages was left lying until the next one).
fn relay(port: File) -> Result<(UnixStream, Drained)> {
    let (ours, agents) = UnixStream::pair().context("cannot make a socket for the agent")?;
    let (mut from_agent, mut to_host) = (ours.try_clone()?, port.try_clone()?);
    let thread = |name: &str| std::thread::Builder::new().name(name.into());
    thread("from-host").spawn(move || pass_on_from_host(port, ours)).context("cannot start a thread")?;
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

/// The same program again with its end of the relay as standard input; standard output stays the console.
fn spawn_agent(socket: UnixStream) -> Result<Pid> {
    let child = Command::new("/proc/self/exe")
        .arg0("/init")
        .args(std::env::args_os().skip(1))
        .env(SERVE_VARIABLE, "1")
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .stdin(Stdio::from(OwnedFd::from(socket)))
        .spawn()
        .context("cannot start the agent")?;
    Pid::from_raw(i32::try_from(child.id())?).context("the agent has no process id")
}

/// Reaps whatever was orphaned until the agent itself ends; says how.
fn reap_until(agent: Pid) -> Result<String> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == agent => {
                let signal =
                    status.terminating_signal().map(|signal| format!("agent killed by signal {signal}"));
                let code = status.exit_status().unwrap_or_default();
                return Ok(signal.unwrap_or_else(|| format!("agent ended with exit code {code}")));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
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
