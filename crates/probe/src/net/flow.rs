//! Work of a thread with its socket in a slice: send, receive, ask, echo; over a stream or by
//! datagrams. Both ends use it.
//!
//! Only arrivals in the window count, by the clock of the end at which they arrive. The content of
//! a stream is bytes below 0x80, and a last byte of 0xff ends the slice. So the receiver looks at
//! one byte per call, and the stream is quiet until the next slice. A datagram begins with a
//! [`Header`].

use super::hello::{ConnectionRole, array_at};
use super::sequence::Sequence;
use iotax_load::cpu::ThreadCpu;
use iotax_load::{Histogram, clock};
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Bytes of one write or read of a stream, as in iperf3.
pub(super) const BLOCK: usize = 128 << 10;
/// Bytes of a request, and of its response.
pub(super) const MESSAGE: usize = 64;
/// Largest datagram in bytes, without the headers of IP and UDP.
pub(crate) const LONGEST_DATAGRAM: u32 = 1400;
/// Maximum time that a call blocks, before the thread checks whether it is to end.
const TICK: Duration = Duration::from_millis(20);
/// Time that a receiver of datagrams waits for the end of a slice, besides two round trips.
const QUIET_NS: u64 = 250_000_000;
/// Time after which an end gives up if it hears nothing when there should be something.
pub(super) const PATIENCE_NS: u64 = 10_000_000_000;
/// Byte that ends a slice of a stream.
const END: u8 = 0xff;
/// Maximum number of steps of a course, so that those of all flows fit a frame.
pub(super) const MOST_STEPS: usize = 1024;
/// Minimum time that a request by datagram waits for its answer.
const SHORTEST_WAIT_NS: u64 = 200_000_000;

/// Order to run a slice. Its times are by the clock of the end that runs it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FlowOrder {
    /// Number of the slice in the session.
    pub(super) slice: u32,
    /// Time at which the load begins.
    pub(super) begin_ns: u64,
    /// Time at which the window begins.
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    pub(super) datagram_bytes: u32,
    /// Bytes per second of each flow that sends datagrams; `None` means as fast as possible.
    pub(super) rate: Option<u64>,
    /// Round-trip time of the quiet path.
    pub(super) round_trip_ns: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) course_ns: Option<u64>,
}

impl FlowOrder {
    /// Returns true if a time is within the window.
    fn holds(&self, ns: u64) -> bool {
        (self.from_ns..self.to_ns).contains(&ns)
    }

    /// Returns the number of steps of the course, from the beginning of the load to the end of the
    /// window.
    fn steps(&self) -> usize {
        self.course_ns.map_or(0, |step| (self.to_ns - self.begin_ns) / step.max(1)) as usize
    }

    /// Returns the time of silence after which no more datagrams will come, not even the one that
    /// ends the slice: longer than a busy machine delays a datagram.
    fn quiet_ns(&self) -> u64 {
        QUIET_NS + 2 * self.round_trip_ns
    }

    /// Returns the reason why a server refuses the order; `None` if it accepts it.
    pub(super) fn unfit(&self, now_ns: u64) -> Option<&'static str> {
        const MOST_NS: u64 = 600_000_000_000;
        let in_order = self.begin_ns <= self.from_ns && self.from_ns < self.to_ns;
        match self {
            _ if !in_order => Some("the times of the slice are not in order"),
            _ if self.to_ns > now_ns.saturating_add(MOST_NS) => {
                Some("the slice ends in more than ten minutes")
            }
            _ if self.round_trip_ns > PATIENCE_NS => {
                Some("the round trip is longer than ten seconds")
            }
            _ if !(Header::BYTES as u32..=LONGEST_DATAGRAM).contains(&self.datagram_bytes) => {
                Some("the size of datagrams is not 24 to 1400 bytes")
            }
            _ if self.steps() > MOST_STEPS => Some("a course of more than 1024 steps"),
            _ => None,
        }
    }
}

/// Results of one end of a flow in a slice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct FlowShare {
    /// Time at which the thread was awake for the slice, by its clock.
    pub(super) began_ns: u64,
    /// Time at which it was done: when nothing was in flight, or when a sender of datagrams had
    /// sent all of its slice.
    pub(super) ended_ns: u64,
    /// Number of blocks, datagrams or round trips in the window.
    pub(super) units: u64,
    pub(super) bytes: u64,
    pub(super) outside: u64,
    /// At the sender, datagrams that it sent in its window; at the receiver, those of them that
    /// arrived at any time.
    pub(super) marked: u64,
    pub(super) reordered: u64,
    pub(super) duplicates: u64,
    pub(super) retransmits: u64,
    pub(super) unanswered: u64,
    /// CPU time of the thread over the slice.
    pub(super) cpu_user_ns: u64,
    pub(super) cpu_system_ns: u64,
    /// Bytes of a stream, or datagrams, that arrived in each step.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) course: Vec<u64>,
    pub(super) failed: Option<String>,
    #[serde(skip)]
    pub(super) latency: Histogram,
    /// Round trips in flight, summed over the window.
    #[serde(skip)]
    pub(super) in_flight_ns: u64,
    /// Sum of the times of round trips that ended in the window.
    #[serde(skip)]
    pub(super) served_ns: u64,
}

impl FlowShare {
    /// Returns true if all counts that are summed are below 2^50, and the course has at most
    /// [`MOST_STEPS`]: they come from another machine, which may report anything.
    pub(super) fn is_possible(&self) -> bool {
        let counts = [
            self.units,
            self.bytes,
            self.outside,
            self.marked,
            self.reordered,
            self.duplicates,
            self.retransmits,
            self.cpu_user_ns,
            self.cpu_system_ns,
        ];
        let all = counts.iter().chain(&self.course).all(|count| *count < 1 << 50);
        all && self.course.len() <= MOST_STEPS
    }

    fn for_order(order: &FlowOrder) -> FlowShare {
        FlowShare { course: vec![0; order.steps()], ..FlowShare::default() }
    }

    fn arrived(&mut self, order: &FlowOrder, now_ns: u64, amount: u64) {
        let step =
            now_ns.saturating_sub(order.begin_ns) / order.course_ns.unwrap_or(u64::MAX).max(1);
        if let Some(sum) = self.course.get_mut(step as usize) {
            *sum += amount;
        }
    }

    fn count_unit(&mut self, order: &FlowOrder, now_ns: u64, bytes: usize) {
        match order.holds(now_ns) {
            true => {
                self.units += 1;
                self.bytes += bytes as u64;
            }
            false => self.outside += 1,
        }
    }

    /// Counts a round trip as the generator counts an I/O: as a unit if it ended in the window. Its
    /// time is recorded if it is no longer than the discarded start and ended in the window, or if
    /// it is longer and began in the window.
    fn round_trip(&mut self, order: &FlowOrder, asked_ns: u64, now_ns: u64) {
        let took_ns = now_ns - asked_ns;
        self.count_unit(order, now_ns, MESSAGE);
        if order.holds(now_ns) {
            self.served_ns += took_ns;
        }
        self.in_flight_ns += now_ns.min(order.to_ns).saturating_sub(asked_ns.max(order.from_ns));
        let is_short = took_ns <= order.from_ns - order.begin_ns;
        if order.holds(if is_short { now_ns } else { asked_ns }) {
            self.latency.record(took_ns);
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(super) enum FlowStop {
    #[error("it closed the connection")]
    Closed,
    /// This end gave up the slice.
    #[error("the slice was given up")]
    Aborted,
    #[error("nothing came from it for {} s", PATIENCE_NS / 1_000_000_000)]
    Silent,
    #[error("cannot {0}: {1}")]
    System(&'static str, io::Error),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    session: u64,
    slice: u32,
    kind: FlowKind,
    number: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FlowKind {
    /// Datagram sent outside the window.
    Outside,
    Marked,
    /// Last datagram of a slice; its number is the number of datagrams sent.
    End,
}

const KINDS: [FlowKind; 3] = [FlowKind::Outside, FlowKind::Marked, FlowKind::End];

impl Header {
    const BYTES: usize = 24;

    fn encode_header(&self, into: &mut [u8]) {
        into[..8].copy_from_slice(&self.session.to_be_bytes());
        into[8..12].copy_from_slice(&self.slice.to_be_bytes());
        into[12..16].copy_from_slice(&(self.kind as u32).to_be_bytes());
        into[16..24].copy_from_slice(&self.number.to_be_bytes());
    }

    fn decode_header(bytes: &[u8]) -> Option<Header> {
        if bytes.len() < Header::BYTES {
            return None;
        }
        Some(Header {
            session: u64::from_be_bytes(array_at(bytes, 0)),
            slice: u32::from_be_bytes(array_at(bytes, 8)),
            kind: *KINDS.get(u32::from_be_bytes(array_at(bytes, 12)) as usize)?,
            number: u64::from_be_bytes(array_at(bytes, 16)),
        })
    }
}

pub(super) enum Socket {
    Stream(TcpStream),
    Datagram(UdpSocket),
}

pub(super) struct Flow {
    socket: Socket,
    role: ConnectionRole,
    is_server: bool,
    session: u64,
    abort: Arc<AtomicBool>,
    /// Data to send, or memory to receive into.
    buffer: Vec<u8>,
}

impl Flow {
    /// Sets up one end of a flow over a socket; `role` is that of the client's end.
    ///
    /// # Errors
    /// When the socket cannot be set up.
    pub(super) fn new(
        socket: Socket,
        role: ConnectionRole,
        is_server: bool,
        session: u64,
        abort: Arc<AtomicBool>,
    ) -> io::Result<Flow> {
        match &socket {
            Socket::Stream(stream) => {
                stream.set_nonblocking(false)?;
                stream.set_read_timeout(Some(TICK))?;
                stream.set_write_timeout(Some(TICK))?;
                stream.set_nodelay(role == ConnectionRole::Ask)?;
            }
            Socket::Datagram(socket) => {
                socket.set_read_timeout(Some(TICK))?;
                socket.set_write_timeout(Some(TICK))?;
            }
        }
        // Not all bytes are equal: a tunnel that compresses would carry them for nothing.
        let mut random = iotax_load::Random::new(session, 0);
        let buffer = (0..BLOCK).map(|_| (random.next() >> 57) as u8).collect();
        Ok(Flow { socket, role, is_server, session, abort, buffer })
    }

    /// Does this end's part of a slice.
    ///
    /// # Errors
    /// The reason why the slice did not finish.
    pub(super) fn run_order(&mut self, order: &FlowOrder) -> Result<FlowShare, FlowStop> {
        let (began_ns, cpu) = (clock::monotonic_ns(), ThreadCpu::of_thread());
        let mut share = match (&self.socket, self.role, self.is_server) {
            (Socket::Stream(stream), ConnectionRole::Send, false)
            | (Socket::Stream(stream), ConnectionRole::Receive, true) => {
                self.send_stream(stream, order)
            }
            (Socket::Stream(stream), ConnectionRole::Ask, false) => self.ask_stream(stream, order),
            (Socket::Stream(stream), ConnectionRole::Ask, true) => self.echo_stream(stream, order),
            (Socket::Datagram(socket), ConnectionRole::Send, false)
            | (Socket::Datagram(socket), ConnectionRole::Receive, true) => {
                send_datagrams(socket, order, &self.abort, self.session, &mut self.buffer)
            }
            (Socket::Datagram(socket), ConnectionRole::Ask, false) => {
                self.ask_datagrams(socket, order)
            }
            (Socket::Datagram(socket), ConnectionRole::Ask, true) => {
                self.echo_datagrams(socket, order)
            }
            (Socket::Stream(stream), ..) => {
                receive_stream(stream, order, &self.abort, &mut self.buffer)
            }
            (Socket::Datagram(socket), ..) => {
                receive_datagrams(socket, order, &self.abort, self.session, &mut self.buffer)
            }
        }?;
        let cpu = ThreadCpu::of_thread().since(cpu);
        (share.cpu_user_ns, share.cpu_system_ns) = (cpu.user_ns, cpu.system_ns);
        if share.began_ns == 0 {
            share.began_ns = began_ns;
        }
        if share.ended_ns == 0 {
            share.ended_ns = clock::monotonic_ns();
        }
        Ok(share)
    }

    /// Sends blocks one after the other until the end of the window, and then the byte that ends
    /// the slice.
    fn send_stream(
        &self,
        mut stream: &TcpStream,
        order: &FlowOrder,
    ) -> Result<FlowShare, FlowStop> {
        let again =
            |stream: &TcpStream| iotax_sys::tcp::info(stream).map_or(0, |info| info.retransmits);
        let (mut share, before) = (FlowShare::default(), again(stream));
        share.began_ns = wait(order.begin_ns, &self.abort)?;
        while clock::monotonic_ns() < order.to_ns {
            check_abort(&self.abort)?;
            match stream.write(&self.buffer) {
                Ok(bytes) => share.count_unit(order, clock::monotonic_ns(), bytes),
                Err(error) => pass("send", error)?,
            }
        }
        // Without Nagle's delay even a partial segment is sent at once.
        let nodelay =
            |on| stream.set_nodelay(on).map_err(|error| FlowStop::System("set TCP_NODELAY", error));
        nodelay(true)?;
        send_bytes(stream, &[END], order.to_ns + PATIENCE_NS, &self.abort)?;
        nodelay(false)?;
        share.retransmits = u64::from(again(stream).saturating_sub(before));
        Ok(share)
    }

    fn ask_stream(&self, stream: &TcpStream, order: &FlowOrder) -> Result<FlowShare, FlowStop> {
        let (mut share, mut message) = (FlowShare::default(), [0; MESSAGE]);
        share.began_ns = wait(order.begin_ns, &self.abort)?;
        loop {
            let asked_ns = clock::monotonic_ns();
            let is_last = asked_ns >= order.to_ns;
            message[MESSAGE - 1] = if is_last { END } else { 0 };
            send_bytes(stream, &message, asked_ns + PATIENCE_NS, &self.abort)?;
            fill(stream, &mut message, asked_ns + PATIENCE_NS, &self.abort)?;
            if is_last {
                return Ok(share);
            }
            share.round_trip(order, asked_ns, clock::monotonic_ns());
        }
    }

    fn echo_stream(&self, stream: &TcpStream, order: &FlowOrder) -> Result<FlowShare, FlowStop> {
        let (mut share, mut message) = (FlowShare::default(), [0; MESSAGE]);
        let give_up_ns = order.to_ns + PATIENCE_NS;
        while message[MESSAGE - 1] != END {
            fill(stream, &mut message, give_up_ns, &self.abort)?;
            send_bytes(stream, &message, give_up_ns, &self.abort)?;
            share.count_unit(order, clock::monotonic_ns(), MESSAGE);
        }
        Ok(share)
    }

    fn ask_datagrams(&self, socket: &UdpSocket, order: &FlowOrder) -> Result<FlowShare, FlowStop> {
        let mut share = FlowShare::default();
        let (mut message, mut answer) = ([0; MESSAGE], [0; MESSAGE]);
        let mut header =
            Header { session: self.session, slice: order.slice, kind: FlowKind::Marked, number: 0 };
        let wait_ns = SHORTEST_WAIT_NS.max(4 * order.round_trip_ns);
        share.began_ns = wait(order.begin_ns, &self.abort)?;
        loop {
            let asked_ns = clock::monotonic_ns();
            if asked_ns >= order.to_ns {
                break;
            }
            header.number += 1;
            header.encode_header(&mut message);
            send_one(socket, &message)?;
            loop {
                check_abort(&self.abort)?;
                let given = receive_one(socket, &mut answer)?;
                let now_ns = clock::monotonic_ns();
                if given
                    .is_some_and(|bytes| Header::decode_header(&answer[..bytes]) == Some(header))
                {
                    share.round_trip(order, asked_ns, now_ns);
                    break;
                }
                if now_ns > asked_ns + wait_ns {
                    share.unanswered += 1;
                    break;
                }
            }
        }
        share.ended_ns = clock::monotonic_ns();
        send_end(socket, header, &mut message)?;
        Ok(share)
    }

    fn echo_datagrams(&self, socket: &UdpSocket, order: &FlowOrder) -> Result<FlowShare, FlowStop> {
        let (mut share, mut message) = (FlowShare::default(), [0; MESSAGE]);
        let until_ns = order.to_ns + order.quiet_ns();
        loop {
            check_abort(&self.abort)?;
            let bytes = receive_one(socket, &mut message)?.unwrap_or(0);
            match Header::decode_header(&message[..bytes])
                .filter(|header| header.is_of(self.session, order))
            {
                Some(Header { kind: FlowKind::End, .. }) => return Ok(share),
                Some(_) => {
                    send_one(socket, &message[..bytes])?;
                    share.count_unit(order, clock::monotonic_ns(), bytes);
                }
                None if clock::monotonic_ns() > until_ns => return Ok(share),
                None => {}
            }
        }
    }
}

impl Header {
    fn is_of(&self, session: u64, order: &FlowOrder) -> bool {
        self.session == session && self.slice == order.slice
    }
}

fn receive_stream(
    mut stream: &TcpStream,
    order: &FlowOrder,
    abort: &AtomicBool,
    buffer: &mut [u8],
) -> Result<FlowShare, FlowStop> {
    let (mut share, mut all) = (FlowShare::for_order(order), 0);
    let mut give_up_ns = order.to_ns + PATIENCE_NS;
    loop {
        check_abort(abort)?;
        match stream.read(buffer) {
            Ok(0) => return Err(FlowStop::Closed),
            Ok(bytes) => {
                let now_ns = clock::monotonic_ns();
                share.count_unit(order, now_ns, bytes);
                share.arrived(order, now_ns, bytes as u64);
                all += bytes as u64;
                if buffer[bytes - 1] == END {
                    // Bytes are counted as whole blocks: how the kernel cuts what arrives means
                    // nothing.
                    share.units = share.bytes.div_ceil(BLOCK as u64);
                    share.outside = (all - share.bytes).div_ceil(BLOCK as u64);
                    return Ok(share);
                }
                give_up_ns = give_up_ns.max(now_ns + PATIENCE_NS);
            }
            Err(error) => {
                pass("receive", error)?;
                if clock::monotonic_ns() > give_up_ns {
                    return Err(FlowStop::Silent);
                }
            }
        }
    }
}

fn send_datagrams(
    socket: &UdpSocket,
    order: &FlowOrder,
    abort: &AtomicBool,
    session: u64,
    buffer: &mut [u8],
) -> Result<FlowShare, FlowStop> {
    let mut share = FlowShare::default();
    let datagram = &mut buffer[..order.datagram_bytes as usize];
    let interval_ns = order.rate.map(|rate| order.datagram_bytes as f64 * 1e9 / rate.max(1) as f64);
    let mut header = Header { session, slice: order.slice, kind: FlowKind::Outside, number: 0 };
    share.began_ns = wait(order.begin_ns, abort)?;
    loop {
        check_abort(abort)?;
        let due_ns = interval_ns
            .map_or(0, |interval| order.begin_ns + (header.number as f64 * interval) as u64);
        if due_ns >= order.to_ns {
            wait(order.to_ns, abort)?;
        } else if clock::monotonic_ns() < due_ns {
            // The thread wakes some tens of microseconds late, and sends what is due by then.
            clock::sleep_until(due_ns.min(clock::monotonic_ns() + TICK.as_nanos() as u64));
            continue;
        }
        let now_ns = clock::monotonic_ns();
        if now_ns >= order.to_ns {
            break;
        }
        header.kind = if order.holds(now_ns) { FlowKind::Marked } else { FlowKind::Outside };
        header.encode_header(datagram);
        if send_one(socket, datagram)? {
            header.number += 1;
            share.count_unit(order, now_ns, datagram.len());
            share.marked += u64::from(header.kind == FlowKind::Marked);
        }
    }
    share.ended_ns = clock::monotonic_ns();
    send_end(socket, header, datagram)?;
    Ok(share)
}

fn receive_datagrams(
    socket: &UdpSocket,
    order: &FlowOrder,
    abort: &AtomicBool,
    session: u64,
    buffer: &mut [u8],
) -> Result<FlowShare, FlowStop> {
    let (mut share, mut seen) = (FlowShare::for_order(order), Sequence::new());
    let (mut last_ns, mut sent) = (order.to_ns, None);
    loop {
        check_abort(abort)?;
        let given = receive_one(socket, buffer)?;
        let now_ns = clock::monotonic_ns();
        match given
            .and_then(|bytes| Header::decode_header(&buffer[..bytes]))
            .filter(|one| one.is_of(session, order))
        {
            Some(Header { kind: FlowKind::End, number, .. }) => sent = Some(number),
            Some(Header { kind, number, .. }) => {
                last_ns = last_ns.max(now_ns);
                if seen.note_arrival(number) {
                    share.count_unit(order, now_ns, given.unwrap_or(0));
                    share.arrived(order, now_ns, 1);
                    share.marked += u64::from(kind == FlowKind::Marked);
                }
            }
            None => {}
        }
        let is_whole = sent == Some(seen.distinct);
        // After the sender's last datagram some may arrive that were overtaken.
        let is_quiet = given.is_none() && (sent.is_some() || now_ns > last_ns + order.quiet_ns());
        if is_whole || is_quiet || now_ns > order.to_ns + PATIENCE_NS {
            (share.reordered, share.duplicates) = (seen.reordered, seen.duplicates);
            return Ok(share);
        }
    }
}

/// Reports the end of the slice several times, because a full queue drops datagrams.
fn send_end(socket: &UdpSocket, header: Header, datagram: &mut [u8]) -> Result<(), FlowStop> {
    Header { kind: FlowKind::End, ..header }.encode_header(datagram);
    for wait_ms in [0, 1, 2, 4] {
        std::thread::sleep(Duration::from_millis(wait_ms));
        send_one(socket, &datagram[..Header::BYTES])?;
    }
    Ok(())
}

/// Sends a datagram; returns false if a queue of this end is full, so that it was not sent.
fn send_one(socket: &UdpSocket, datagram: &[u8]) -> Result<bool, FlowStop> {
    match socket.send(datagram) {
        Ok(_) => Ok(true),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::NOBUFS.raw_os_error()) => {
            Ok(false)
        }
        Err(error) => pass("send a datagram", error).map(|()| false),
    }
}

/// Receives a datagram and returns its size; `None` if none came within [`TICK`].
fn receive_one(socket: &UdpSocket, into: &mut [u8]) -> Result<Option<usize>, FlowStop> {
    match socket.recv(into) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) => pass("receive a datagram", error).map(|()| None),
    }
}

fn check_abort(abort: &AtomicBool) -> Result<(), FlowStop> {
    if abort.load(Ordering::Relaxed) { Err(FlowStop::Aborted) } else { Ok(()) }
}

/// Waits until a time, but ends early with an error if the slice is given up. Returns the time of
/// the wake-up.
fn wait(until_ns: u64, abort: &AtomicBool) -> Result<u64, FlowStop> {
    let tick_ns = TICK.as_nanos() as u64;
    while clock::monotonic_ns() + 2 * tick_ns < until_ns {
        check_abort(abort)?;
        std::thread::sleep(TICK);
    }
    clock::wait_until(until_ns);
    Ok(clock::monotonic_ns())
}

/// Ignores an error that only means that a call reached its time limit or met a signal. Returns any
/// other as the reason why the slice ends.
fn pass(action: &'static str, error: io::Error) -> Result<(), FlowStop> {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => Ok(()),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::ConnectionAborted => {
            Err(FlowStop::Closed)
        }
        // For datagrams, the other end's machine reports that nobody receives them any more.
        ErrorKind::ConnectionRefused => Err(FlowStop::Closed),
        _ => Err(FlowStop::System(action, error)),
    }
}

fn send_bytes(
    mut stream: &TcpStream,
    mut bytes: &[u8],
    give_up_ns: u64,
    abort: &AtomicBool,
) -> Result<(), FlowStop> {
    while !bytes.is_empty() {
        check_abort(abort)?;
        match stream.write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) => pass("send", error)?,
        }
        if !bytes.is_empty() && clock::monotonic_ns() > give_up_ns {
            return Err(FlowStop::Silent);
        }
    }
    Ok(())
}

fn fill(
    mut stream: &TcpStream,
    into: &mut [u8],
    give_up_ns: u64,
    abort: &AtomicBool,
) -> Result<(), FlowStop> {
    let mut filled = 0;
    while filled < into.len() {
        check_abort(abort)?;
        match stream.read(&mut into[filled..]) {
            Ok(0) => return Err(FlowStop::Closed),
            Ok(bytes) => filled += bytes,
            Err(error) => {
                pass("receive", error)?;
                if clock::monotonic_ns() > give_up_ns {
                    return Err(FlowStop::Silent);
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn headers_are_read_back_and_no_bytes_are_too_odd(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Some(header) = Header::decode_header(&bytes) {
                let mut again = bytes.clone();
                header.encode_header(&mut again);
                prop_assert_eq!(again, bytes);
            }
        }
    }

    #[test]
    fn a_round_trip_is_kept_by_its_end_if_it_is_short_and_by_its_beginning_if_it_is_long() {
        let order = FlowOrder { begin_ns: 100, from_ns: 200, to_ns: 300, ..FlowOrder::default() };
        let kept = |asked_ns, now_ns| {
            let mut share = FlowShare::default();
            share.round_trip(&order, asked_ns, now_ns);
            (share.units, share.latency.count(), share.in_flight_ns)
        };
        assert_eq!(kept(150, 199), (0, 0, 0));
        assert_eq!(kept(150, 210), (1, 1, 10));
        assert_eq!(kept(250, 310), (0, 0, 50));
        assert_eq!(kept(190, 299), (1, 0, 99), "long, and began before the window");
        assert_eq!(kept(250, 900), (0, 1, 50), "long, and began in it");
        assert_eq!(kept(110, 900), (0, 0, 100));
    }
}
