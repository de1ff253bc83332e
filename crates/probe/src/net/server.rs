//! Listening end: one thread watches the port, one serves the control connection of each session,
//! and one serves each flow.
//!
//! Nothing that arrives is trusted before its hello was checked. A stranger, a connection without a
//! checked hello, has two seconds and 64 bytes. If more wait than there is room for, the one that
//! waits longest is dropped, since a client sends its hello at once. Only a client with the token
//! costs threads and memory, and these are limited too.

use super::control::{self, ControlRequest, Reply};
use super::flow::{BLOCK, Flow, FlowOrder, FlowShare, PATIENCE_NS, Socket};
use super::hello::{
    ConnectionRole, FOREWORD, HELLO, Hello, HelloAnswer, HelloVerdict, Token, random, version,
};
use super::lane::Lane;
use crate::ProbeError;
use iotax_load::clock;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Maximum number of connections whose hello was not checked yet.
const MOST_STRANGERS: usize = 64;
/// Time limit for the hello of a connection.
const STRANGER_NS: u64 = 2_000_000_000;
const MOST_SESSIONS: usize = 64;
/// Maximum number of flows of all sessions at once. Each has a thread and a block of memory, 32 MiB
/// in all.
const MOST_FLOWS: usize = (32 << 20) / BLOCK;
/// Maximum interval at which ended sessions and connections are looked for.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };
/// Time without data after which the kernel asks whether a client's machine still answers. If it
/// does not for as long again, the session ends.
const KEEPALIVE: Duration = Duration::from_secs(30);
/// Maximum number of ports tried until one is free for TCP and for UDP.
const TRIES: usize = 16;

/// Server of network probes, which listens until it is dropped. Dropping it ends all its threads
/// and connections.
pub struct ProbeServer {
    address: SocketAddr,
    token: Token,
    stop: Arc<ServerStop>,
    thread: Option<JoinHandle<()>>,
}

struct ServerStop {
    asked: AtomicBool,
    wake: OwnedFd,
}

impl ProbeServer {
    /// Listens at an address of this place, TCP and UDP at the same port; without a port, at a free
    /// one.
    ///
    /// # Errors
    /// When the port is taken, the address is not one of this place, or the system refuses a thread
    /// or random numbers.
    pub fn listen(bind: IpAddr, port: Option<u16>) -> Result<ProbeServer, ProbeError> {
        let (tcp, udp) = sockets(bind, port)?;
        let system = |action: &str| {
            let action = action.to_owned();
            move |source: io::Error| ProbeError::System { action, source }
        };
        let address = tcp.local_addr().map_err(system("read the listening address"))?;
        let token = Token::random()?;
        let wake = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|error| system("make an event")(error.into()))?;
        let stop = Arc::new(ServerStop { asked: AtomicBool::new(false), wake });
        let mut door = Door {
            tcp,
            udp,
            token,
            stop: stop.clone(),
            strangers: Vec::new(),
            sessions: BTreeMap::new(),
        };
        let thread = std::thread::Builder::new()
            .name("probe-net-door".into())
            .spawn(move || door.keep())
            .map_err(system("start a thread"))?;
        Ok(ProbeServer { address, token, stop, thread: Some(thread) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the token that a client needs: 32 hexadecimal digits, different in every server.
    pub fn token(&self) -> String {
        self.token.to_string()
    }
}

impl Drop for ProbeServer {
    fn drop(&mut self) {
        self.stop.asked.store(true, Ordering::Release);
        // The write fails only if so many wake-ups wait that one more changes nothing.
        let _ = rustix::io::write(&self.stop.wake, &1_u64.to_ne_bytes());
        // A thread that panicked has reported that.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Returns the address with a port that is free for TCP and for UDP, or with the requested one if
/// that is free.
///
/// # Errors
/// When the port is taken, or the address is not one of this place.
pub(crate) fn free_port(bind: IpAddr, port: Option<u16>) -> Result<SocketAddr, ProbeError> {
    let (tcp, _) = sockets(bind, port)?;
    tcp.local_addr()
        .map_err(|source| ProbeError::System { action: "find a free port".to_owned(), source })
}

/// Opens a TCP and a UDP socket at the same port, a free one if none is given.
fn sockets(bind: IpAddr, port: Option<u16>) -> Result<(TcpListener, UdpSocket), ProbeError> {
    let mut last = None;
    for _ in 0..TRIES {
        let both = || {
            let tcp = TcpListener::bind((bind, port.unwrap_or(0)))?;
            let udp = datagrams(tcp.local_addr()?)?;
            tcp.set_nonblocking(true)?;
            udp.set_nonblocking(true)?;
            Ok((tcp, udp))
        };
        match both() {
            Ok(both) => return Ok(both),
            Err(error) => last = Some(error),
        }
        if port.is_some() {
            break;
        }
    }
    let error: io::Error = last.unwrap_or_else(|| io::Error::from(ErrorKind::AddrInUse));
    let at = SocketAddr::new(bind, port.unwrap_or(0));
    Err(ProbeError::Unfit(match error.kind() {
        ErrorKind::AddrInUse => format!(
            "cannot listen at {at}: the port is taken by another program; hint: name another port, or none to get a free one (ss -lntup shows the program)"
        ),
        ErrorKind::AddrNotAvailable => {
            format!(
                "cannot listen at {bind}: it is not an address of this machine; hint: ip addr lists them"
            )
        }
        ErrorKind::PermissionDenied => {
            format!(
                "cannot listen at {at}: {error}; hint: ports below 1024 require root; use a higher one"
            )
        }
        _ => format!("cannot listen at {at}: {error}"),
    }))
}

/// Opens a UDP socket at an address that other sockets of this process may share.
fn datagrams(at: SocketAddr) -> io::Result<UdpSocket> {
    let family = if at.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = rustix::net::socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_reuseport(&socket, true)?;
    rustix::net::bind(&socket, &at)?;
    Ok(UdpSocket::from(socket))
}

struct Stranger {
    stream: TcpStream,
    since_ns: u64,
    bytes: [u8; HELLO],
    filled: usize,
    /// True if it has its answer, and only has to close. Closing it with unread bytes could lose
    /// the answer.
    is_answered: bool,
}

/// Session, as the thread that watches the port knows it.
struct Session {
    lanes: Sender<Lane>,
    flows: Vec<u32>,
    control: TcpStream,
    abort: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// State of the thread that watches the port.
struct Door {
    tcp: TcpListener,
    udp: UdpSocket,
    token: Token,
    stop: Arc<ServerStop>,
    strangers: Vec<Stranger>,
    sessions: BTreeMap<u64, Session>,
}

impl Door {
    fn keep(&mut self) {
        while !self.stop.asked.load(Ordering::Acquire) {
            self.sleep();
            self.release_ended();
            self.accept();
            self.hear_strangers();
            self.hear_datagrams();
        }
        for session in self.sessions.values() {
            session.end_session();
        }
        for (_, session) in std::mem::take(&mut self.sessions) {
            drop(session.lanes);
            // A thread that panicked has reported that.
            let _ = session.thread.join();
        }
    }

    fn sleep(&self) {
        let fds = [self.stop.wake.as_fd(), self.tcp.as_fd(), self.udp.as_fd()];
        let all = fds.into_iter().chain(self.strangers.iter().map(|one| one.stream.as_fd()));
        let mut polled: Vec<PollFd> =
            all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        if poll(&mut polled, Some(&LOOK)).is_err() {
            // A lack of memory or a signal must not lead to a busy loop.
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Removes sessions that have ended, and strangers whose time is over.
    fn release_ended(&mut self) {
        let ended: Vec<u64> = self
            .sessions
            .iter()
            .filter(|(_, one)| one.thread.is_finished())
            .map(|(id, _)| *id)
            .collect();
        for id in ended {
            let _ = self.sessions.remove(&id).map(|session| session.thread.join());
        }
        let now_ns = clock::monotonic_ns();
        self.strangers.retain(|one| now_ns.saturating_sub(one.since_ns) < STRANGER_NS);
    }

    fn accept(&mut self) {
        // The number at a time is limited, so that waiting strangers are heard too.
        for _ in 0..MOST_STRANGERS {
            match self.tcp.accept() {
                Ok((stream, _)) if stream.set_nonblocking(true).is_ok() => {
                    if self.strangers.len() >= MOST_STRANGERS {
                        self.strangers.remove(0);
                    }
                    let (since_ns, bytes) = (clock::monotonic_ns(), [0; HELLO]);
                    self.strangers.push(Stranger {
                        stream,
                        since_ns,
                        bytes,
                        filled: 0,
                        is_answered: false,
                    });
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    // Usually no descriptors are left; this must not lead to a busy loop.
                    return std::thread::sleep(Duration::from_millis(10));
                }
            }
        }
    }

    fn hear_strangers(&mut self) {
        for mut stranger in std::mem::take(&mut self.strangers) {
            match stranger.hear() {
                Heard::Nothing => self.strangers.push(stranger),
                Heard::End => {}
                Heard::Hello => {
                    let hello = Hello::decode(&stranger.bytes, &self.token);
                    match hello.and_then(|hello| self.admit(hello, &stranger.stream)) {
                        Ok(()) => {}
                        Err(verdict) if stranger.refuse(verdict) => self.strangers.push(stranger),
                        Err(_) => {}
                    }
                }
            }
        }
    }

    fn admit(&mut self, hello: Hello, stream: &TcpStream) -> Result<(), HelloVerdict> {
        // Any failure below is a lack of descriptors, memory or threads.
        let full = |_| HelloVerdict::Full;
        let own = stream.try_clone().map_err(full)?;
        match hello.role {
            ConnectionRole::Control => {
                let id = u64::from_be_bytes(random().map_err(|_| HelloVerdict::Full)?);
                if self.sessions.len() >= MOST_SESSIONS {
                    return Err(HelloVerdict::Full);
                }
                own.set_nonblocking(false).map_err(full)?;
                let session = Session::start(own).map_err(full)?;
                self.sessions.insert(id, session);
                self.answer(stream, id);
            }
            role => {
                let abort = self.room(hello.session, hello.index)?;
                let id = hello.session;
                let flow = Flow::new(Socket::Stream(own), role, true, id, abort).map_err(full)?;
                self.add_flow(id, Lane::start(hello.index, flow, None).map_err(full)?);
                // Last: the client may order a slice of it at once.
                self.answer(stream, id);
            }
        }
        Ok(())
    }

    fn answer(&self, mut stream: &TcpStream, session: u64) {
        // 32 bytes into an empty buffer; a client that is gone ends its session by that.
        let _ = stream.write_all(&HelloAnswer { verdict: HelloVerdict::Welcome, session }.encode());
    }

    /// Checks that there is room for a new flow of a session, and returns the session's abort flag.
    fn room(&self, id: u64, index: u32) -> Result<Arc<AtomicBool>, HelloVerdict> {
        let session = self.sessions.get(&id).ok_or(HelloVerdict::Unknown)?;
        let flows: usize = self.sessions.values().map(|session| session.flows.len()).sum();
        match session.flows.contains(&index) {
            true => Err(HelloVerdict::Unknown),
            false if flows >= MOST_FLOWS => Err(HelloVerdict::Full),
            false => Ok(session.abort.clone()),
        }
    }

    fn add_flow(&mut self, id: u64, lane: Lane) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.flows.push(lane.index);
            // A session that has just ended drops the lane.
            let _ = session.lanes.send(lane);
        }
    }

    fn hear_datagrams(&mut self) {
        let mut bytes = [0; HELLO + 1];
        for _ in 0..MOST_STRANGERS {
            match self.udp.recv_from(&mut bytes) {
                Ok((HELLO, from)) => {
                    let mut hello = [0; HELLO];
                    hello.copy_from_slice(&bytes[..HELLO]);
                    if let Ok(hello) = Hello::decode(&hello, &self.token) {
                        // The client asks over the control connection whether it was admitted.
                        let _ = self.admit_datagrams(hello, from);
                    }
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {}
            }
        }
    }

    fn admit_datagrams(&mut self, hello: Hello, from: SocketAddr) -> io::Result<()> {
        let refused = |verdict| io::Error::other(format!("{verdict:?}"));
        if hello.role == ConnectionRole::Control {
            return Err(refused(HelloVerdict::Unknown));
        }
        let abort = self.room(hello.session, hello.index).map_err(refused)?;
        let Some(session) = self.sessions.get(&hello.session) else { return Ok(()) };
        // The socket has the address that the client reaches, from which it expects the answers.
        let socket = datagrams(session.control.local_addr()?)?;
        socket.connect(from)?;
        let flow = Flow::new(Socket::Datagram(socket), hello.role, true, hello.session, abort)?;
        self.add_flow(hello.session, Lane::start(hello.index, flow, None)?);
        Ok(())
    }
}

enum Heard {
    Nothing,
    /// The connection has ended, or is to end.
    End,
    Hello,
}

impl Stranger {
    fn hear(&mut self) -> Heard {
        if self.is_answered {
            return match self.stream.read(&mut self.bytes) {
                Ok(0) => Heard::End,
                Ok(_) => Heard::Nothing,
                Err(error) if error.kind() == ErrorKind::WouldBlock => Heard::Nothing,
                Err(_) => Heard::End,
            };
        }
        match self.stream.read(&mut self.bytes[self.filled..]) {
            Ok(0) => return Heard::End,
            Ok(bytes) => self.filled += bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Heard::Nothing,
            Err(_) => return Heard::End,
        }
        match version(&self.bytes[..self.filled]) {
            // This is not a client of any version; it gets no answer.
            None if self.filled >= FOREWORD => Heard::End,
            Some(super::hello::VERSION) if self.filled == HELLO => Heard::Hello,
            // A client of another version may have a shorter hello.
            Some(other) if other != super::hello::VERSION => Heard::Hello,
            _ => Heard::Nothing,
        }
    }

    /// Sends a refusal; returns true if the stranger must be read until it closes.
    fn refuse(&mut self, verdict: HelloVerdict) -> bool {
        let answer = HelloAnswer { verdict, session: 0 }.encode();
        self.is_answered = true;
        self.stream.set_nonblocking(true).is_ok()
            && self.stream.write_all(&answer).is_ok()
            && self.stream.shutdown(Shutdown::Write).is_ok()
    }
}

impl Session {
    fn start(control: TcpStream) -> io::Result<Session> {
        control.set_nodelay(true)?;
        control.set_write_timeout(Some(Duration::from_nanos(PATIENCE_NS)))?;
        sockopt::set_socket_keepalive(&control, true)?;
        sockopt::set_tcp_keepidle(&control, KEEPALIVE)?;
        sockopt::set_tcp_keepintvl(&control, KEEPALIVE / 3)?;
        sockopt::set_tcp_keepcnt(&control, 3)?;
        let (lanes, come) = channel();
        let abort = Arc::new(AtomicBool::new(false));
        let (own, aborted) = (control.try_clone()?, abort.clone());
        let body = move || {
            let mut served = Vec::new();
            // Whatever ended it, the client is gone.
            let _ = serve(&own, &come, &mut served);
            aborted.store(true, Ordering::Relaxed);
            let _ = own.shutdown(Shutdown::Both);
        };
        let thread = std::thread::Builder::new().name("probe-net-session".into()).spawn(body)?;
        Ok(Session { lanes, flows: Vec::new(), control, abort, thread })
    }

    fn end_session(&self) {
        self.abort.store(true, Ordering::Relaxed);
        // The connection may have ended already.
        let _ = self.control.shutdown(Shutdown::Both);
    }
}

/// Answers the requests of a client until it disconnects or sends an invalid one.
fn serve(control: &TcpStream, come: &Receiver<Lane>, lanes: &mut Vec<Lane>) -> io::Result<()> {
    let mut ordered: Option<Result<FlowOrder, &'static str>> = None;
    loop {
        let request = control::read_frame(control)?;
        lanes.extend(come.try_iter());
        let reply = match request {
            ControlRequest::Clock => Reply::Clock { now_ns: clock::monotonic_ns() },
            ControlRequest::Flows => {
                Reply::Flows { indices: lanes.iter().map(|lane| lane.index).collect() }
            }
            ControlRequest::Slice(_) if ordered.is_some() => {
                return Err(io::Error::new(ErrorKind::InvalidData, "a slice in a slice"));
            }
            ControlRequest::Slice(order) => {
                let fits = order.unfit(clock::monotonic_ns()).map_or(Ok(order), Err);
                if fits.is_ok() {
                    lanes.iter().for_each(|lane| lane.order(order));
                }
                ordered = Some(fits);
                continue;
            }
            ControlRequest::Collect => match ordered.take() {
                None => Reply::Refused { why: "no slice was ordered".into() },
                Some(Err(why)) => Reply::Refused { why: why.into() },
                Some(Ok(order)) => Reply::Shares { shares: collect(lanes, &order) },
            },
        };
        control::write_frame(control, &reply)?;
    }
}

fn collect(lanes: &[Lane], order: &FlowOrder) -> Vec<(u32, FlowShare)> {
    // Each flow gives up by itself before this time.
    let until_ns = order.to_ns + 2 * PATIENCE_NS;
    let share = |lane: &Lane| {
        let within = Duration::from_nanos(until_ns.saturating_sub(clock::monotonic_ns()));
        let failed = |why: String| FlowShare { failed: Some(why), ..FlowShare::default() };
        let share = match lane.wait_for_share(within) {
            Some(Ok(share)) => share,
            Some(Err(stop)) => failed(stop.to_string()),
            None => failed("it did not finish in time".into()),
        };
        (lane.index, share)
    };
    lanes.iter().map(share).collect()
}
