//! Requesting end: a control connection, and a resident thread for each flow.

use super::control::{self, ControlRequest, Reply};
use super::flow::{Flow, FlowOrder, FlowShare, FlowStop, LONGEST_DATAGRAM, PATIENCE_NS, Socket};
use super::hello::{
    ANSWER, ConnectionRole, Hello, HelloAnswer, HelloVerdict, Token, VERSION, readable_bytes,
    version,
};
use super::lane::Lane;
use crate::{Exchange, ExchangeDirection, Probe, ProbeError, ProbeSpec};
use iotax_load::{SliceBound, SliceResult, SliceSpec, clock};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time limit for connecting, and for an answer: if connecting takes longer, a firewall is the
/// usual cause.
const REACH: Duration = Duration::from_secs(5);
const MOST_STREAMS: u32 = 64;
/// Size in bytes of a small datagram, without the headers of IP and UDP.
pub(crate) const SMALL_DATAGRAM: u32 = 64;
/// Time from the order to the beginning of a slice, besides two round trips: both ends wake their
/// threads.
const LEAD_NS: u64 = 500_000;
/// Maximum number of attempts at a slice, which is repeated if threads woke late.
const TRIES: u32 = 4;
/// Maximum number of clock comparisons before a slice; none begins after [`LOOKS_NS`].
const LOOKS: u32 = 5;
const LOOKS_NS: u64 = 5_000_000;
/// Number of round trips after which a TCP stream has usually reached its rate.
const ROUND_TRIPS_TO_GROW: u64 = 10;
/// Maximum time that is discarded because of the path, if the slice itself does not ask for more.
const MOST_DISCARDED_NS: u64 = 2_000_000_000;

#[derive(Clone, Copy)]
struct Plan {
    is_tcp: bool,
    roles: &'static [ConnectionRole],
    is_small: bool,
}

fn plan_flows(spec: &ProbeSpec) -> Result<Plan, ProbeError> {
    let large = |is_tcp, roles| Plan { is_tcp, roles, is_small: false };
    let small = |roles| Plan { is_tcp: false, roles, is_small: true };
    let word = spec.argument.as_deref().unwrap_or_default();
    let is_tcp = spec.name == "tcp";
    Ok(match (spec.name.as_str(), word) {
        ("tcp" | "udp", "" | "send") => large(is_tcp, &[ConnectionRole::Send]),
        ("tcp" | "udp", "receive") => large(is_tcp, &[ConnectionRole::Receive]),
        ("tcp" | "udp", "both") => large(is_tcp, &[ConnectionRole::Send, ConnectionRole::Receive]),
        ("udp", "small-send") => small(&[ConnectionRole::Send]),
        ("udp", "small-receive") => small(&[ConnectionRole::Receive]),
        ("rr", "" | "tcp") => large(true, &[ConnectionRole::Ask]),
        ("rr", "udp") => large(false, &[ConnectionRole::Ask]),
        _ => return Err(ProbeError::Unfit(format!("this version of iotax has no probe {spec}"))),
    })
}

/// Returns the nanoseconds to discard after `tries` failed attempts: first the requested time, then
/// at least 20, 80, 320 ms.
fn longer_ns(asked_ns: u64, tries: u32) -> u64 {
    match tries {
        0 => asked_ns,
        _ => asked_ns.max(5_000_000 << (2 * tries)),
    }
}

/// Connects, and starts the threads of all flows.
///
/// # Errors
/// When a parameter does not fit the probe, a thread cannot be started, or the other end cannot be
/// reached or refuses us; each error says why and what to do.
pub(super) fn prepare(spec: &ProbeSpec) -> Result<Box<dyn Probe>, ProbeError> {
    Ok(Box::new(Client::connect(spec)?))
}

struct Client {
    spec: ProbeSpec,
    plan: Plan,
    peer: SocketAddr,
    control: TcpStream,
    session: u64,
    lanes: Vec<(ConnectionRole, Lane)>,
    abort: Arc<AtomicBool>,
    mss: u32,
    slice: u32,
    /// Times that the last two slices took to drain, the last one first.
    drains_ns: [u64; 2],
    /// Reason why no more slices can run.
    broken: Option<String>,
    exchange: Option<Exchange>,
}

struct Clocks {
    ahead_ns: i64,
    round_trip_ns: u64,
}

impl Client {
    fn connect(spec: &ProbeSpec) -> Result<Client, ProbeError> {
        let plan = plan_flows(spec)?;
        let unfit = |why: &str| ProbeError::Unfit(format!("probe {spec}: {why}"));
        let peer = spec.peer.ok_or_else(|| unfit("no other end is named"))?;
        let token =
            spec.token.as_deref().ok_or_else(|| unfit("the token of the other end is missing"))?;
        let token: Token = token.parse()?;
        if spec.numjobs > MOST_STREAMS {
            return Err(unfit(&format!(
                "at most {MOST_STREAMS} streams per direction, but numjobs is {}",
                spec.numjobs
            )));
        }
        if spec.rate.is_some() && (plan.is_tcp || plan.roles == [ConnectionRole::Ask]) {
            return Err(unfit("a rate is for udp only; hint: leave it out"));
        }
        let control = dial(peer)?;
        let hello = Hello { role: ConnectionRole::Control, token, session: 0, index: 0 };
        let session = introduce(&control, peer, &hello)?;
        let set = control
            .set_nodelay(true)
            .and_then(|()| control.set_read_timeout(Some(REACH)))
            .and_then(|()| control.set_write_timeout(Some(REACH)));
        set.map_err(|source| system("set up the control connection", source))?;
        let mss = iotax_sys::tcp::info(&control).map_or(0, |info| info.send_mss);
        let mut client = Client {
            spec: spec.clone(),
            plan,
            peer,
            control,
            session,
            lanes: Vec::new(),
            abort: Arc::new(AtomicBool::new(false)),
            mss,
            slice: 0,
            drains_ns: [0; 2],
            broken: None,
            exchange: None,
        };
        for _ in 0..spec.numjobs.max(1) {
            for role in plan.roles {
                client.open(*role, token)?;
            }
        }
        Ok(client)
    }

    fn open(&mut self, role: ConnectionRole, token: Token) -> Result<(), ProbeError> {
        let index = self.lanes.len() as u32;
        let hello = Hello { role, token, session: self.session, index };
        let socket = match self.plan.is_tcp {
            true => {
                let stream = dial(self.peer)?;
                introduce(&stream, self.peer, &hello)?;
                Socket::Stream(stream)
            }
            false => Socket::Datagram(self.open_datagrams(&hello)?),
        };
        let cpus = &self.spec.cpus_allowed;
        let cpu = cpus.get(self.lanes.len() % cpus.len().max(1)).copied();
        let lane = Flow::new(socket, role, false, self.session, self.abort.clone())
            .and_then(|flow| Lane::start(index, flow, cpu));
        let lane = lane.map_err(|error| match error.kind() {
            ErrorKind::InvalidInput => ProbeError::Unfit(format!("probe {}: {error}", self.spec)),
            _ => system("start a thread of a network probe", error),
        })?;
        self.lanes.push((role, lane));
        Ok(())
    }

    /// Opens a socket for datagrams, and sends the hello until the other end reports the flow, for
    /// at most [`REACH`].
    fn open_datagrams(&mut self, hello: &Hello) -> Result<UdpSocket, ProbeError> {
        let local =
            self.control.local_addr().map_err(|error| system("read the own address", error))?;
        let socket = UdpSocket::bind((local.ip(), 0))
            .and_then(|socket| socket.connect(self.peer).map(|()| socket))
            .map_err(|error| system("make a socket for datagrams", error))?;
        let since = Instant::now();
        while since.elapsed() < REACH {
            // The refusal of an earlier datagram may arrive here; only the other end's reply
            // counts.
            let _ = socket.send(&hello.encode());
            for wait_ms in [0, 2, 10, 50] {
                std::thread::sleep(Duration::from_millis(wait_ms));
                match self.ask_server(&ControlRequest::Flows)? {
                    Reply::Flows { indices } if indices.contains(&hello.index) => {
                        return Ok(socket);
                    }
                    Reply::Flows { .. } => {}
                    other => return Err(self.odd(&other)),
                }
            }
        }
        Err(ProbeError::Failed(format!(
            "TCP reaches {0}, but UDP did not within {1} s: a firewall lets only TCP pass, or {0} has no room for more flows; hint: open \
             UDP port {2} there too",
            self.peer,
            REACH.as_secs(),
            self.peer.port()
        )))
    }

    fn ask_server(&mut self, request: &ControlRequest) -> Result<Reply, ProbeError> {
        self.say(request)?;
        control::read_frame(&self.control).map_err(|error| self.lost_connection_error(&error))
    }

    fn say(&mut self, request: &ControlRequest) -> Result<(), ProbeError> {
        control::write_frame(&self.control, request)
            .map_err(|error| self.lost_connection_error(&error))
    }

    fn lost_connection_error(&self, error: &io::Error) -> ProbeError {
        let peer = self.peer;
        ProbeError::Failed(match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                format!(
                    "{peer} no longer answers; hint: check that its machine and the network are up"
                )
            }
            ErrorKind::InvalidData => {
                format!(
                    "{peer} sent an answer that this version of iotax does not understand: {error}"
                )
            }
            _ => gone_words(peer),
        })
    }

    fn odd(&self, reply: &Reply) -> ProbeError {
        ProbeError::Failed(match reply {
            Reply::Refused { why } => format!("{} refused the request: {why}", self.peer),
            _ => format!("{} sent the wrong answer", self.peer),
        })
    }

    /// Compares the other end's clock with ours. Of several comparisons the one with the shortest
    /// round trip counts.
    fn clocks(&mut self) -> Result<Clocks, ProbeError> {
        let (since_ns, mut best) = (clock::monotonic_ns(), None::<Clocks>);
        for _ in 0..LOOKS {
            let asked_ns = clock::monotonic_ns();
            let now_ns = match self.ask_server(&ControlRequest::Clock)? {
                Reply::Clock { now_ns } => now_ns,
                other => return Err(self.odd(&other)),
            };
            let heard_ns = clock::monotonic_ns();
            let round_trip_ns = heard_ns - asked_ns;
            let ahead_ns = now_ns.wrapping_sub(asked_ns + round_trip_ns / 2) as i64;
            if best.as_ref().is_none_or(|best| round_trip_ns < best.round_trip_ns) {
                best = Some(Clocks { ahead_ns, round_trip_ns });
            }
            if heard_ns > since_ns + LOOKS_NS {
                break;
            }
        }
        best.ok_or_else(|| ProbeError::Failed(format!("{} did not report its clock", self.peer)))
    }

    fn discard_ns(&self, spec: &SliceSpec, round_trip_ns: u64) -> u64 {
        let grown = if self.plan.is_tcp && self.plan.roles != [ConnectionRole::Ask] {
            ROUND_TRIPS_TO_GROW
        } else {
            1
        };
        // The shorter of two: a queue of the path shows in both, a stall of a thread in one.
        let drain_ns = self.drains_ns[0].min(self.drains_ns[1]);
        let path_ns =
            (grown * round_trip_ns).max(drain_ns.saturating_mul(2)).min(MOST_DISCARDED_NS);
        spec.min_discard_ns.max(path_ns)
    }

    fn datagram_bytes(&self) -> u32 {
        match (self.plan.is_small, self.mss) {
            (true, _) => SMALL_DATAGRAM,
            // A segment's headers are longer than a datagram's, so a datagram of this size fits
            // too.
            (false, mss @ 100..) => mss.min(LONGEST_DATAGRAM),
            (false, _) => LONGEST_DATAGRAM,
        }
    }

    /// Returns the header bytes of a packet: Ethernet's 14 octets, IP's, and those of UDP, or of
    /// TCP with its time stamps; 0 if the load consists of single messages.
    fn header_bytes(&self) -> u32 {
        let ip = if self.peer.is_ipv4() { 20 } else { 40 };
        match (self.plan.roles, self.plan.is_tcp) {
            ([ConnectionRole::Ask], _) => 0,
            (_, true) => 14 + ip + 32,
            (_, false) => 14 + ip + 8,
        }
    }

    /// Runs a slice; `None` if a thread of one end began only after the discarded start.
    fn attempt(
        &mut self,
        spec: &SliceSpec,
        window_ns: u64,
    ) -> Result<Option<SliceResult>, ProbeError> {
        let clocks = self.clocks()?;
        let discard_ns = self.discard_ns(spec, clocks.round_trip_ns);
        let soon_ns = clock::monotonic_ns() + LEAD_NS + 2 * clocks.round_trip_ns;
        let begin_ns = spec
            .begin_ns
            .filter(|begin_ns| soon_ns <= begin_ns + discard_ns / 2)
            .unwrap_or(soon_ns);
        let from_ns = begin_ns + discard_ns;
        self.slice = self.slice.wrapping_add(1);
        let senders = u64::from(self.spec.numjobs.max(1));
        let here = FlowOrder {
            slice: self.slice,
            begin_ns,
            from_ns,
            to_ns: from_ns + window_ns,
            datagram_bytes: self.datagram_bytes(),
            rate: self.spec.rate.map(|rate| (rate / senders).max(1)),
            round_trip_ns: clocks.round_trip_ns,
            course_ns: self.spec.course_ns,
        };
        let shifted = |ns: u64| ns.wrapping_add_signed(clocks.ahead_ns);
        let (begin, from, to) =
            (shifted(here.begin_ns), shifted(here.from_ns), shifted(here.to_ns));
        let there = FlowOrder { begin_ns: begin, from_ns: from, to_ns: to, ..here };
        self.say(&ControlRequest::Slice(there))?;
        self.lanes.iter().for_each(|(_, lane)| lane.order(here));
        let own = self.own_shares(&here)?;
        let rest_ns = here.to_ns.saturating_sub(clock::monotonic_ns()) + 3 * PATIENCE_NS;
        let patient = |client: &Client, time| {
            let set = client.control.set_read_timeout(Some(time));
            set.map_err(|error| system("set the time limit of the other end", error))
        };
        patient(self, Duration::from_nanos(rest_ns))?;
        let reply = self.ask_server(&ControlRequest::Collect)?;
        patient(self, REACH)?;
        let Reply::Shares { shares } = reply else { return Err(self.odd(&reply)) };
        let theirs: Option<Vec<FlowShare>> = (0..own.len() as u32)
            .map(|index| {
                shares.iter().find(|(known, _)| *known == index).map(|(_, share)| share.clone())
            })
            .collect();
        let theirs = theirs
            .ok_or_else(|| ProbeError::Failed(format!("{} did not report all flows", self.peer)))?;
        if !theirs.iter().all(FlowShare::is_possible) {
            return Err(ProbeError::Failed(format!("{} reported impossible counts", self.peer)));
        }
        if let Some(why) = theirs.iter().find_map(|share| share.failed.as_ref()) {
            return Err(ProbeError::Failed(format!(
                "{} could not finish the slice: {why}",
                self.peer
            )));
        }
        let drain = |shares: &[FlowShare], to_ns| {
            shares.iter().map(|share| share.ended_ns.saturating_sub(to_ns)).max().unwrap_or(0)
        };
        let drain_ns = drain(&own, here.to_ns).max(drain(&theirs, there.to_ns));
        self.drains_ns = [drain_ns, self.drains_ns[0]];
        let is_late =
            |shares: &[FlowShare], from_ns| shares.iter().any(|share| share.began_ns > from_ns);
        if is_late(&own, here.from_ns) || is_late(&theirs, there.from_ns) {
            return Ok(None);
        }
        self.combine(&here, &clocks, &own, &theirs).map(Some)
    }

    fn own_shares(&mut self, order: &FlowOrder) -> Result<Vec<FlowShare>, ProbeError> {
        let until_ns = order.to_ns + 2 * PATIENCE_NS;
        let mut shares = Vec::new();
        for (_, lane) in &self.lanes {
            let share = lane.wait_for_share(Duration::from_nanos(
                until_ns.saturating_sub(clock::monotonic_ns()),
            ));
            let peer = self.peer;
            shares.push(match share {
                Some(Ok(share)) => share,
                Some(Err(FlowStop::Closed)) => return Err(ProbeError::Failed(gone_words(peer))),
                Some(Err(stop @ FlowStop::System(..))) => {
                    return Err(ProbeError::Failed(format!("probe {} with {peer}: {stop}", self.spec)));
                }
                Some(Err(stop)) => {
                    return Err(ProbeError::Failed(format!(
                        "{peer} went silent during a slice: {stop}; hint: check that its machine and the network are up"
                    )));
                }
                None => return Err(ProbeError::Failed("a thread of the probe did not finish in time".into())),
            });
        }
        Ok(shares)
    }

    fn combine(
        &mut self,
        order: &FlowOrder,
        clocks: &Clocks,
        own: &[FlowShare],
        theirs: &[FlowShare],
    ) -> Result<SliceResult, ProbeError> {
        let window_ns = order.to_ns - order.from_ns;
        let mut result = SliceResult {
            window_start_ns: order.from_ns,
            window_ns,
            discarded_ns: order.from_ns - order.begin_ns,
            drain_ns: self.drains_ns[0],
            ..SliceResult::default()
        };
        let mut exchange = Exchange {
            round_trip_ns: clocks.round_trip_ns,
            mss: self.mss,
            datagram_bytes: (!self.plan.is_tcp && self.plan.roles != [ConnectionRole::Ask])
                .then_some(order.datagram_bytes),
            header_bytes: self.header_bytes(),
            ..Exchange::default()
        };
        // Arrivals in the whole slice, each way.
        let mut whole = [0_u64; 2];
        for (number, (role, _)) in self.lanes.iter().enumerate() {
            let (near, far) = (&own[number], &theirs[number]);
            result.cpu_user_ns += near.cpu_user_ns;
            result.cpu_system_ns += near.cpu_system_ns;
            exchange.peer_cpu_user_ns += far.cpu_user_ns;
            exchange.peer_cpu_system_ns += far.cpu_system_ns;
            let (sender, receiver) =
                if *role == ConnectionRole::Receive { (far, near) } else { (near, far) };
            if *role == ConnectionRole::Ask {
                result.read.ios += near.units;
                result.read.bytes += near.bytes;
                result.read.latency.merge(&near.latency);
                result.in_flight_ns += near.in_flight_ns;
                result.served_ns += near.served_ns;
                result.discarded_ios += near.outside;
                exchange.unanswered += near.unanswered;
                whole[0] += near.units + near.outside;
                continue;
            }
            result.discarded_ios += receiver.outside;
            // The exchange has what was sent.
            let arrived =
                if *role == ConnectionRole::Send { &mut result.write } else { &mut result.read };
            arrived.ios += receiver.units;
            arrived.bytes += receiver.bytes;
            let way = if *role == ConnectionRole::Send {
                &mut exchange.to_peer
            } else {
                &mut exchange.from_peer
            };
            let way = way.get_or_insert_with(ExchangeDirection::default);
            way.sent += sender.marked;
            way.lost += sender.marked.saturating_sub(receiver.marked);
            way.reordered += receiver.reordered;
            way.duplicates += receiver.duplicates;
            way.retransmits += sender.retransmits;
            way.bytes += receiver.bytes;
            way.course.resize(receiver.course.len().max(way.course.len()), 0);
            way.course.iter_mut().zip(&receiver.course).for_each(|(sum, more)| *sum += more);
            whole[usize::from(*role == ConnectionRole::Receive)] +=
                receiver.units + receiver.outside;
        }
        let is_asked = |way: usize| {
            self.lanes.iter().any(|(role, _)| usize::from(*role == ConnectionRole::Receive) == way)
        };
        // A window in which nothing arrived is a stall, and counts as it is. A slice without
        // arrivals is not a measurement.
        if (0..2).any(|way| is_asked(way) && whole[way] == 0) {
            return Err(ProbeError::Unfit(format!(
                "probe {} with {}: nothing arrived in a slice of {:.0} ms; hint: use a longer slice, or look for a firewall or \
                 limiter between the ends",
                self.spec,
                self.peer,
                (order.to_ns - order.begin_ns) as f64 / 1e6
            )));
        }
        self.exchange = Some(exchange);
        Ok(result)
    }
}

impl Probe for Client {
    fn name(&self) -> String {
        self.spec.to_string()
    }

    fn run_probe_slice(&mut self, spec: &SliceSpec) -> Result<SliceResult, ProbeError> {
        if let Some(why) = &self.broken {
            return Err(ProbeError::Failed(why.clone()));
        }
        let SliceBound::Time { ns } = spec.bound else {
            return Err(ProbeError::Unfit(format!(
                "probe {} supports slices by time only",
                self.spec
            )));
        };
        self.exchange = None;
        let bytes = self.datagram_bytes();
        if self.spec.rate.is_some_and(|rate| {
            u128::from(rate) * u128::from(ns) < u128::from(bytes) * 1_000_000_000
        }) {
            return Err(ProbeError::Unfit(format!(
                "probe {}: its rate sends no datagram of {bytes} bytes in a window of {:.0} ms; hint: use a higher rate or a longer slice",
                self.spec,
                ns as f64 / 1e6
            )));
        }
        for tries in 0..TRIES {
            // After a late wake-up the next attempt allows more time.
            let spec = SliceSpec { min_discard_ns: longer_ns(spec.min_discard_ns, tries), ..*spec };
            match self.attempt(&spec, ns) {
                Ok(Some(result)) => return Ok(result),
                Ok(None) => {}
                Err(error @ ProbeError::Unfit(_)) => return Err(error),
                Err(error) => {
                    self.broken = Some(error.to_string());
                    self.abort.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        Err(ProbeError::Unfit(format!(
            "probe {} with {}: threads woke after the discarded start of the slice, {TRIES} times; hint: stop other load at both ends",
            self.spec, self.peer
        )))
    }

    fn last_exchange(&self) -> Option<Exchange> {
        self.exchange.clone()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.abort.store(true, Ordering::Relaxed);
    }
}

fn dial(peer: SocketAddr) -> Result<TcpStream, ProbeError> {
    TcpStream::connect_timeout(&peer, REACH).map_err(|error| {
        let (port, limit) = (peer.port(), REACH.as_secs());
        ProbeError::Failed(match error.kind() {
            ErrorKind::TimedOut => format!(
                "cannot reach {peer} within {limit} s: a firewall, or no route between the ends? hint: open TCP and UDP port {port} there, or use \
                 a port that is open"
            ),
            ErrorKind::ConnectionRefused => format!(
                "{peer} refuses connections: nothing listens there any more, or a firewall rejects them; hint: ss -ltnp there shows what listens"
            ),
            ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable => format!(
                "there is no route to {peer}: {error}; hint: ip route shows the routes of this machine"
            ),
            _ => format!("cannot connect to {peer}: {error}"),
        })
    })
}

/// Sends the hello, waits for the answer, and returns the number of the session. Errors say what
/// the other end seems to be instead.
fn introduce(mut stream: &TcpStream, peer: SocketAddr, hello: &Hello) -> Result<u64, ProbeError> {
    let failed = |why: String| Err(ProbeError::Failed(why));
    let mut bytes = [0; ANSWER];
    let mut filled = 0;
    let heard = stream
        .set_read_timeout(Some(REACH))
        .and_then(|()| stream.write_all(&hello.encode()))
        .and_then(|()| {
            while filled < ANSWER {
                match stream.read(&mut bytes[filled..]) {
                    Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                    Ok(more) => filled += more,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        });
    let first = &bytes[..filled];
    if filled > 0 && version(first).is_none() {
        return failed(format!(
            "{peer} is not iotax: it answered \"{}\"; hint: another program has that port",
            readable_bytes(first)
        ));
    }
    if let Some(other) = version(first).filter(|other| *other != VERSION) {
        return failed(format!(
            "{peer} speaks version {other} of the protocol, this iotax version {VERSION}; hint: use the same iotax at both ends"
        ));
    }
    match (heard, HelloAnswer::decode(&bytes)) {
        (Err(error), _) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            failed(format!(
                "{peer} accepts connections but does not answer within {} s; hint: check that iotax listens there",
                REACH.as_secs()
            ))
        }
        (Err(error), _) => failed(format!(
            "{peer} closed the connection without an answer ({error}); hint: check that iotax listens there, not another program"
        )),
        (Ok(()), Some(HelloAnswer { verdict: HelloVerdict::Welcome, session })) => Ok(session),
        (Ok(()), Some(HelloAnswer { verdict: HelloVerdict::WrongToken, .. })) => failed(format!(
            "{peer} does not accept the token: it was restarted, or it is not yours; hint: use the token that it shows"
        )),
        (Ok(()), Some(HelloAnswer { verdict: HelloVerdict::Full, .. })) => failed(format!(
            "{peer} has no room for more clients or flows; hint: use fewer streams, or end its other clients"
        )),
        (Ok(()), _) => failed(format!(
            "{peer} does not understand the request; hint: use the same iotax at both ends"
        )),
    }
}

fn gone_words(peer: SocketAddr) -> String {
    format!("{peer} closed the connection; hint: check that iotax still runs there")
}

fn system(action: &str, source: io::Error) -> ProbeError {
    ProbeError::System { action: action.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_whose_threads_were_late_has_a_longer_start_each_time() {
        let starts =
            |asked_ns| (0..TRIES).map(|tries| longer_ns(asked_ns, tries)).collect::<Vec<_>>();
        assert_eq!(starts(1_000_000), [1_000_000, 20_000_000, 80_000_000, 320_000_000]);
        assert_eq!(starts(100_000_000), [100_000_000, 100_000_000, 100_000_000, 320_000_000]);
    }
}
