//! Other end of a tool: its server, started for a probe in the place that answers, and ended with
//! the probe. A port that is taken is refused before anything starts, and only the started process
//! is ended.

use super::visit::{find_program, last_words_of};
use crate::net::free_port;
use crate::{ProbeError, ProbeSpec};
use iotax_sys::child::{ended_within, ends_with_us, last_words};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Time limit for a server to listen: it usually does at once, on a busy machine a little later.
const LISTENS_WITHIN: Duration = Duration::from_secs(5);
/// Interval at which it is checked whether a server listens.
const LOOK: Duration = Duration::from_millis(10);

/// Least time from one start of a server that serves once to the next.
const AGAIN_AFTER: Duration = Duration::from_millis(500);

/// Pause before a server that serves one run is started again.
const PAUSE: Duration = Duration::from_millis(50);

/// Server of a tool, which listens until it is dropped.
pub struct ServedTool {
    child: Arc<Mutex<Child>>,
    address: SocketAddr,
    keeper: Option<ServerKeeper>,
}

/// Thread that starts a server again when it has served its one run.
struct ServerKeeper {
    ends: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl ServedTool {
    /// Starts the server of a tool at an address of this place; without a port, at a free one. The
    /// kernel ends the program when the thread that called this ends, in whatever way.
    ///
    /// # Errors
    /// When the probe has no server, the address or port cannot be had, or the program is missing,
    /// ends or does not listen.
    pub fn start(
        spec: &ProbeSpec,
        bind: IpAddr,
        port: Option<u16>,
    ) -> Result<ServedTool, ProbeError> {
        let address = free_port(bind, port).map_err(|error| match error {
            ProbeError::Unfit(why) => ProbeError::Unfit(format!("the server of {spec}: {why}")),
            other => other,
        })?;
        let words = super::server(spec, address).ok_or_else(|| {
            ProbeError::Unfit(format!("the probe {spec} has no server of its own"))
        })?;
        super::check_server(spec)?;
        let (name, arguments) =
            words.split_first().map_or(("", &[][..]), |(name, rest)| (name.as_str(), rest));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let package = spec.definition()?.program.map_or(name, |(_, package)| package);
        let missing = || ProbeError::Missing {
            program: format!("{name} (whose server is to listen at {address})"),
            package: package.to_owned(),
        };
        let mut command = Command::new(find_program(name, &path).ok_or_else(missing)?);
        command.args(arguments).env("LC_ALL", "C").current_dir(std::env::temp_dir());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let shown = words.join(" ");
        let child = ends_with_us(command.process_group(0)).spawn();
        let child = child
            .map_err(|source| ProbeError::System { action: format!("run {shown}"), source })?;
        let mut served = ServedTool { child: Arc::new(Mutex::new(child)), address, keeper: None };
        served.wait(&shown)?;
        if super::serves_once(spec) {
            command.stderr(Stdio::null());
            served.keeper = Some(ServerKeeper::start(Arc::clone(&served.child), command));
        }
        Ok(served)
    }

    fn child(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    fn wait(&self, shown: &str) -> Result<(), ProbeError> {
        let start = Instant::now();
        let mut child = self.child();
        while !listens(child.id(), self.address.port()) {
            let failed = |why: String| ProbeError::Failed(format!("{shown} {why}"));
            match ended_within(&mut child, LOOK) {
                Ok(Some(status)) => {
                    return Err(failed(format!("ended ({status}): {}", words_of(&mut child))));
                }
                Ok(None) if start.elapsed() < LISTENS_WITHIN => {}
                Ok(None) => {
                    return Err(failed(format!(
                        "does not listen after {} s",
                        LISTENS_WITHIN.as_secs()
                    )));
                }
                Err(source) => {
                    return Err(ProbeError::System { action: format!("wait for {shown}"), source });
                }
            }
        }
        // Later complaints are the concern of the measuring end; a full pipe would stop the server.
        if let Some(mut stderr) = child.stderr.take() {
            thread::spawn(move || io::copy(&mut stderr, &mut io::sink()));
        }
        Ok(())
    }
}

fn words_of(child: &mut Child) -> String {
    last_words_of(&child.stderr.take().map(last_words).unwrap_or_default(), "")
}

impl ServerKeeper {
    fn start(child: Arc<Mutex<Child>>, mut command: Command) -> ServerKeeper {
        let ends = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&ends);
        // The kernel ends what this thread starts when the thread ends.
        let thread = thread::spawn(move || {
            let mut begun = Instant::now();
            while !is_over.load(Ordering::Relaxed) {
                thread::sleep(PAUSE);
                // A server that cannot stay is not started again and again.
                if begun.elapsed() < AGAIN_AFTER {
                    continue;
                }
                let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
                let has_ended = !matches!(child.try_wait(), Ok(None));
                if has_ended && !is_over.load(Ordering::Relaxed) {
                    // If it fails, the next run says that nobody answers.
                    if let Ok(next) = command.spawn() {
                        *child = next;
                    }
                    begun = Instant::now();
                }
            }
        });
        ServerKeeper { ends, thread }
    }
}

impl Drop for ServedTool {
    fn drop(&mut self) {
        let keeper = self.keeper.take();
        if let Some(keeper) = &keeper {
            keeper.ends.store(true, Ordering::Relaxed);
        }
        {
            let mut child = self.child();
            // It fails if the program has ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
        // It only fails if the thread panicked, and then nothing is left to wait for.
        let _ = keeper.map(|keeper| keeper.thread.join());
    }
}

/// Device by which a program listens for connections of RDMA, whose ports the kernel does not list.
const RDMA: &str = "/dev/infiniband/rdma_cm";

/// Returns true if the process has a socket that listens at that port by TCP, or waits for
/// datagrams there, or if it is about to listen by RDMA.
fn listens(pid: u32, port: u16) -> bool {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let links = files
        .filter_map(|file| fs::read_link(file.path()).ok()?.into_os_string().into_string().ok());
    let (own, others): (BTreeSet<String>, BTreeSet<String>) =
        links.partition(|link| link.starts_with("socket:["));
    if others.contains(RDMA) {
        return true;
    }
    ["tcp", "tcp6", "udp", "udp6"].iter().any(|table| {
        let sockets = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        sockets
            .lines()
            .skip(1)
            .any(|line| waits_at(line, port).is_some_and(|inode| own.contains(&inode)))
    })
}

/// Parses a line of `/proc/PID/net/tcp` or `udp`, and returns `socket:[INODE]` if its socket waits
/// at that port.
fn waits_at(line: &str, port: u16) -> Option<String> {
    /// States of sockets by the kernel's numbers: TCP that listens, and UDP without another end.
    const WAITS: [&str; 2] = ["0A", "07"];
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (_, local) = fields.get(1)?.rsplit_once(':')?;
    let is_it = u16::from_str_radix(local, 16) == Ok(port) && WAITS.contains(fields.get(3)?);
    is_it.then_some(format!("socket:[{}]", fields.get(9)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener};

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn is_alive(pid: u32) -> bool {
        fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
    }

    /// `None`, with a word about it: the tool is not installed here.
    fn started(probe: &str) -> Option<ServedTool> {
        match ServedTool::start(&ProbeSpec::parse(probe).unwrap(), HERE, None) {
            Err(ProbeError::Missing { program, .. }) => {
                println!("skipped: {program} is not installed");
                None
            }
            served => Some(served.unwrap()),
        }
    }

    #[test]
    fn servers_listen_and_end_when_they_are_dropped() {
        for probe in ["iperf3(udp)", "sockperf(udp)", "sockperf(tcp)"] {
            let Some(served) = started(probe) else { continue };
            let (pid, port) = (served.child().id(), served.address().port());
            assert!(
                listens(pid, port) && !listens(pid, port ^ 1) && !listens(std::process::id(), port)
            );
            drop(served);
            assert!(!is_alive(pid), "{probe}");
        }
    }

    #[test]
    fn a_server_ends_with_the_thread_that_started_it() {
        let start = || {
            started("iperf3(tcp)").map(|served| std::mem::ManuallyDrop::new(served).child().id())
        };
        let Some(pid) = thread::spawn(start).join().unwrap() else { return };
        let since = Instant::now();
        while is_alive(pid) && since.elapsed() < Duration::from_secs(10) {
            thread::sleep(LOOK);
        }
        assert!(!is_alive(pid));
    }

    #[test]
    fn a_taken_port_is_refused_before_anything_is_started() {
        let taken = TcpListener::bind((HERE, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        let spec = ProbeSpec::parse("sockperf(udp)").unwrap();
        let why = ServedTool::start(&spec, HERE, Some(port)).err().unwrap().to_string();
        let expected = format!(
            "the server of sockperf(udp): cannot listen at 127.0.0.1:{port}: the port is taken"
        );
        assert!(why.starts_with(&expected), "{why}");
    }

    #[test]
    fn a_server_that_ends_at_once_is_an_error_with_its_words() {
        let Some(served) = started("iperf3(tcp)") else { return };
        served.child().kill().unwrap();
        served.child().wait().unwrap();
        let why = served.wait("iperf3 -s").err();
        assert!(why.is_some_and(|why| why.to_string().contains("iperf3 -s ended (signal: 9")));
    }

    #[test]
    fn a_server_of_one_run_is_started_again_until_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        let script = "echo >>runs; [ $(wc -l <runs) -ge 3 ] && exec sleep 100";
        command.args(["-c", script]).current_dir(folder.path());
        let child = Arc::new(Mutex::new(command.spawn().unwrap()));
        let address = (HERE, 1).into();
        let keeper = Some(ServerKeeper::start(Arc::clone(&child), command));
        let served = ServedTool { child, address, keeper };
        let runs = || fs::read_to_string(folder.path().join("runs")).unwrap_or_default().len();
        let since = Instant::now();
        while runs() < 3 && since.elapsed() < Duration::from_secs(10) {
            thread::sleep(LOOK);
        }
        let pid = served.child().id();
        assert!(runs() == 3 && is_alive(pid));
        drop(served);
        assert!(!is_alive(pid));
        thread::sleep(3 * PAUSE);
        assert_eq!(runs(), 3, "nothing is started after its end");
    }

    #[test]
    fn the_kernels_lines_are_read() {
        let of = |local: &str, state: &str| {
            format!(
                "  0: {local} 00000000:0000 {state} 00000000:00000000 00:00000000 00000000  0  0 4711 1 0"
            )
        };
        assert_eq!(waits_at(&of("0100007F:1451", "0A"), 5201).as_deref(), Some("socket:[4711]"));
        assert_eq!(
            waits_at(&of("00000000000000000000000000000000:1451", "07"), 5201).as_deref(),
            Some("socket:[4711]")
        );
        assert_eq!(waits_at(&of("0100007F:1451", "01"), 5201), None, "a connection");
        assert_eq!(waits_at(&of("0100007F:1450", "0A"), 5201), None);
    }
}
