//! The host's end of the wire: one peer, one request at a time, each within a time limit even if the
//! peer's stream blocks. A peer that failed once is poisoned: later calls fail at once, because a
//! late answer would be taken for another one's.

use super::agent::{Handler, monotonic_ns, serve};
use super::frame::{self, Frame, FrameError, Kind, PROTOCOL};
use super::message::{AgentInfo, Envelope, Prepared, Progress, Request, Response, enclose, unpack};
use crate::exit::Failed;
use crate::scenario::Engine;
use iotax_load::{Bound, Job, SliceResult, SliceSpec, TargetSpec};
use std::io::{Read, Write};
use std::net::Shutdown;
use std::ops::ControlFlow;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// A peer that sends nothing for so long while it works is dead; it should say something each second.
pub const SILENCE_LIMIT: Duration = Duration::from_secs(15);
/// Time limit of requests that only ask.
pub const QUICK_LIMIT: Duration = Duration::from_secs(20);
/// Beyond its own length a slice may take so long: to drain, to flush a slow disk, to cross the wire.
pub const SLICE_GRACE: Duration = Duration::from_secs(120);
/// A slice of so many bytes has no length of its own: that of the longest slice there is.
const BYTES_LENGTH: Duration = Duration::from_secs(60);
const PINGS: usize = 8;
/// How often whoever watches a request is asked whether it should go on.
const WATCHED_EVERY: Duration = Duration::from_millis(5);

/// Gives the end of a guest's console or of ssh's stderr.
pub type LastWords = Box<dyn Fn() -> String + Send>;

/// The two ends of a stream, and how it is torn down.
pub struct Link {
    /// From the peer.
    pub reader: Box<dyn Read + Send>,
    /// To the peer.
    pub writer: Box<dyn Write + Send>,
    /// Makes pending reads and writes return; called once, when the peer is done with or failed.
    pub hang_up: Box<dyn FnOnce() + Send>,
}

/// What went wrong with which peer, and what it said last.
#[derive(Debug, thiserror::Error)]
#[error("{peer}: {fault}{}", show_last_words(last_words))]
pub struct WireError {
    /// Its name.
    pub peer: String,
    /// What went wrong.
    pub fault: WireFault,
    /// Console or stderr; may be empty.
    pub last_words: String,
    /// The exit code it leads to.
    pub code: u8,
}

impl From<WireError> for Failed {
    fn from(error: WireError) -> Failed {
        Failed { code: error.code, message: error.to_string() }
    }
}

/// What can go wrong.
#[derive(Debug, thiserror::Error)]
pub enum WireFault {
    /// The stream.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// No answer within the request's limit, though the peer showed signs of life.
    #[error("no answer to \"{request}\" within {limit:?}")]
    Timeout {
        /// Tag of the request.
        request: &'static str,
        /// The limit.
        limit: Duration,
    },
    /// No sign of life.
    #[error("silent for {0:?} while it should answer \"{1}\"")]
    Silent(Duration, &'static str),
    /// The agent answered, but not to what was asked, or nonsense.
    #[error("garbled answer to \"{request}\": {what}")]
    Garbled {
        /// Tag of the request.
        request: &'static str,
        /// What is wrong with it.
        what: String,
    },
    /// The agent says why it could not; the peer stays usable.
    #[error("{message}")]
    Remote {
        /// Its words.
        message: String,
        /// Its exit code.
        code: u8,
    },
    /// It could not be reached.
    #[error("{0}")]
    Unreachable(String),
    /// An earlier call failed.
    #[error("given up after an earlier failure: {0}")]
    Poisoned(String),
}

/// How long the host waits for a slice. Engines must give up before.
pub fn slice_limit(bound: Bound) -> Duration {
    let length = match bound {
        Bound::Time { ns } => Duration::from_nanos(ns),
        Bound::Bytes { .. } => BYTES_LENGTH,
    };
    length + SLICE_GRACE
}

fn show_last_words(words: &str) -> String {
    if words.trim().is_empty() { String::new() } else { format!("; its last words:\n{}", words.trim_end()) }
}

impl WireError {
    /// An error of a peer; a refusal keeps the agent's exit code, the rest is a failed measurement.
    pub fn new(peer: &str, fault: WireFault, last_words: String) -> WireError {
        let code = match fault {
            WireFault::Remote { code, .. } => code,
            _ => crate::exit::MEASUREMENT_FAILED,
        };
        WireError { peer: peer.to_owned(), fault, last_words, code }
    }
}

/// Clock of a place against the host's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockOffset {
    /// Place minus host, nanoseconds.
    pub offset_ns: i64,
    /// Shortest round trip seen: half of it bounds the error.
    pub round_trip_ns: u64,
}

/// An agent somewhere.
pub struct Peer {
    name: String,
    last_words: LastWords,
    silence: Duration,
    outgoing: Option<Sender<Vec<u8>>>,
    incoming: Receiver<Result<Frame, FrameError>>,
    hang_up: Option<Box<dyn FnOnce() + Send>>,
    next_id: u64,
    poison: Option<String>,
}

impl Peer {
    /// A peer at the other end of `link`. Nothing is sent yet.
    pub fn new(name: impl Into<String>, link: Link, last_words: LastWords) -> Peer {
        let (outgoing, to_write) = channel();
        let (read, incoming) = sync_channel(16);
        // Detached: they end when the link is hung up; joining could wait for a peer that blocks.
        thread::spawn(move || write_all(link.writer, &to_write));
        thread::spawn(move || read_all(link.reader, &read));
        Peer {
            name: name.into(),
            last_words,
            silence: SILENCE_LIMIT,
            outgoing: Some(outgoing),
            incoming,
            hang_up: Some(link.hang_up),
            next_id: 1,
            poison: None,
        }
    }

    /// An agent in a thread of this process, behind a socket pair: the same path as any other.
    ///
    /// # Errors
    /// When no socket pair can be made.
    pub fn in_process(
        name: impl Into<String>,
        mut handler: Box<dyn Handler + Send>,
    ) -> std::io::Result<Peer> {
        let (ours, theirs) = UnixStream::pair()?;
        let theirs_writer = theirs.try_clone()?;
        thread::spawn(move || serve(theirs, theirs_writer, &mut *handler));
        Ok(Peer::new(name, Link::of_socket(ours)?, Box::new(String::new)))
    }

    /// Another limit of silence (an emulated guest under load is slow to speak).
    #[must_use]
    pub fn with_silence_limit(mut self, limit: Duration) -> Peer {
        self.silence = limit;
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether calls can still succeed.
    pub fn is_usable(&self) -> bool {
        self.poison.is_none()
    }

    /// The first call; waits for the preamble too.
    ///
    /// # Errors
    /// See [`WireFault`]; [`FrameError::Version`] for another protocol.
    pub fn hello(&mut self, run_id: &str, limit: Duration) -> Result<AgentInfo, WireError> {
        let iotax = env!("CARGO_PKG_VERSION").to_owned();
        let request = Request::Hello { protocol: PROTOCOL, iotax, run_id: run_id.to_owned() };
        // Until the agent runs nothing can be said each second: the limit alone counts.
        let silence = std::mem::replace(&mut self.silence, limit);
        let answer = self.call(request, limit);
        self.silence = silence;
        match answer? {
            Response::Hello(info) => Ok(info),
            other => Err(self.unexpected("hello", &other)),
        }
    }

    /// Asks and waits for the answer, at most `limit`.
    ///
    /// # Errors
    /// See [`WireFault`]. All but [`WireFault::Remote`] poison the peer and hang up.
    pub fn call(&mut self, request: Request, limit: Duration) -> Result<Response, WireError> {
        Ok(self.call_with_blob(request, limit)?.0)
    }

    /// Prepares a worker on one target, or on several at once.
    ///
    /// # Errors
    /// As [`Peer::call`].
    pub fn prepare(
        &mut self,
        worker: u32,
        targets: &[TargetSpec],
        jobs: &[Job],
        engine: Option<Engine>,
        limit: Duration,
    ) -> Result<Prepared, WireError> {
        let request = Request::Prepare { worker, targets: targets.to_vec(), jobs: jobs.to_vec(), engine };
        match self.call(request, limit)? {
            Response::Prepared(prepared) => Ok(prepared),
            other => Err(self.unexpected("prepare", &other)),
        }
    }

    /// Runs one slice.
    ///
    /// # Errors
    /// As [`Peer::call`].
    pub fn slice(
        &mut self,
        worker: u32,
        spec: &SliceSpec,
        limit: Duration,
    ) -> Result<SliceResult, WireError> {
        match self.call_with_blob(Request::Slice { worker, spec: *spec }, limit)? {
            (Response::Slice(scalars), blob) => unpack(scalars, &blob)
                .map_err(|what| self.fail(WireFault::Garbled { request: "slice", what })),
            (other, _) => Err(self.unexpected("slice", &other)),
        }
    }

    /// Ends a worker.
    ///
    /// # Errors
    /// As [`Peer::call`].
    pub fn end(&mut self, worker: u32) -> Result<(), WireError> {
        match self.call(Request::End { worker }, QUICK_LIMIT)? {
            Response::Ended => Ok(()),
            other => Err(self.unexpected("end", &other)),
        }
    }

    /// Estimates the clock's offset from the shortest of 8 round trips.
    ///
    /// # Errors
    /// As [`Peer::call`].
    pub fn clock_offset(&mut self) -> Result<ClockOffset, WireError> {
        let mut best = self.ping()?;
        for _ in 1..PINGS {
            let ping = self.ping()?;
            if ping.round_trip_ns < best.round_trip_ns {
                best = ping;
            }
        }
        Ok(best)
    }

    /// The same of one round trip.
    ///
    /// # Errors
    /// As [`Peer::call`].
    pub fn clock_offset_now(&mut self) -> Result<ClockOffset, WireError> {
        self.ping()
    }

    /// Ends the agent in order.
    ///
    /// # Errors
    /// As [`Peer::call`].
    pub fn bye(mut self) -> Result<(), WireError> {
        match self.call(Request::Bye, QUICK_LIMIT)? {
            Response::Bye => Ok(()),
            other => Err(self.unexpected("bye", &other)),
        }
    }

    fn ping(&mut self) -> Result<ClockOffset, WireError> {
        let before = monotonic_ns();
        let answer = self.call(Request::Clock, QUICK_LIMIT)?;
        let after = monotonic_ns();
        match answer {
            Response::Clock { monotonic_ns } => {
                let middle = before + (after - before) / 2;
                Ok(ClockOffset {
                    offset_ns: monotonic_ns.wrapping_sub(middle) as i64,
                    round_trip_ns: after - before,
                })
            }
            other => Err(self.unexpected("clock", &other)),
        }
    }

    /// Asks, and gives `told` each acknowledgement that comes before the answer, and `None` now and then. When it says
    /// break there is no answer, and as the request is still under way the peer can only be drained.
    ///
    /// # Errors
    /// As [`Peer::call`].
    pub fn watch(
        &mut self,
        request: Request,
        told: &mut dyn FnMut(Option<u64>) -> ControlFlow<()>,
    ) -> Result<Option<Response>, WireError> {
        let (id, name) = self.send(&request)?;
        let mut heard = Instant::now();
        loop {
            let acknowledged = match self.incoming.recv_timeout(WATCHED_EVERY) {
                Ok(frame) => {
                    heard = Instant::now();
                    match frame.map_err(WireFault::from).and_then(|frame| said(&frame, id, name)) {
                        Ok(Said::Answer(response)) => return self.unless_refused(*response).map(Some),
                        Ok(Said::Progress(progress)) => progress.acknowledged,
                        Err(fault) => return Err(self.fail(fault)),
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.fail(FrameError::Eof.into())),
                Err(RecvTimeoutError::Timeout) if heard.elapsed() > self.silence => {
                    return Err(self.fail(WireFault::Silent(self.silence, name)));
                }
                Err(RecvTimeoutError::Timeout) => None,
            };
            if told(acknowledged).is_break() {
                return Ok(None);
            }
        }
    }

    /// The end of a peer that was killed while it was watched: the last acknowledgement that was still on its way. Gives
    /// up when the stream ends, or when nothing comes for so long; then hangs up.
    pub fn drained(self, quiet: Duration) -> Option<u64> {
        let mut last = None;
        while let Ok(Ok(frame)) = self.incoming.recv_timeout(quiet) {
            let progress = serde_json::from_slice::<Envelope>(&frame.json)
                .ok()
                .and_then(|envelope| serde_json::from_str::<Progress>(envelope.body.get()).ok());
            last = last.max(progress.and_then(|progress| progress.acknowledged));
        }
        last
    }

    fn call_with_blob(
        &mut self,
        request: Request,
        limit: Duration,
    ) -> Result<(Response, Vec<u8>), WireError> {
        let (id, name) = self.send(&request)?;
        let (response, blob) = self.wait(id, name, limit).map_err(|fault| self.fail(fault))?;
        Ok((self.unless_refused(response)?, blob))
    }

    fn unless_refused(&self, response: Response) -> Result<Response, WireError> {
        match response {
            Response::Error { message, code } => {
                // The agent's own words say it all; the console's would only distract.
                Err(WireError::new(&self.name, WireFault::Remote { message, code }, String::new()))
            }
            other => Ok(other),
        }
    }

    /// Sends a request under a new number.
    fn send(&mut self, request: &Request) -> Result<(u64, &'static str), WireError> {
        if let Some(cause) = &self.poison {
            return Err(self.error(WireFault::Poisoned(cause.clone())));
        }
        let id = self.next_id;
        self.next_id += 1;
        let bytes = enclose(id, request)
            .map_err(|error| FrameError::Io(error.into()))
            .and_then(|json| frame::encode(&Frame { kind: Kind::Request, json, blob: Vec::new() }))
            .map_err(|error| self.error(WireFault::Frame(error)))?;
        let name = request.name();
        // A closed channel means that the writer saw an error; the reader's error says more.
        let _ = self.outgoing.as_ref().map(|outgoing| outgoing.send(bytes));
        Ok((id, name))
    }

    fn wait(
        &self,
        id: u64,
        request: &'static str,
        limit: Duration,
    ) -> Result<(Response, Vec<u8>), WireFault> {
        let deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let frame = match self.incoming.recv_timeout(left.min(self.silence)) {
                Ok(frame) => frame?,
                Err(RecvTimeoutError::Disconnected) => return Err(FrameError::Eof.into()),
                Err(RecvTimeoutError::Timeout) if left <= self.silence => {
                    return Err(WireFault::Timeout { request, limit });
                }
                Err(RecvTimeoutError::Timeout) => {
                    return Err(WireFault::Silent(self.silence, request));
                }
            };
            match said(&frame, id, request)? {
                Said::Progress(_) if Instant::now() >= deadline => {
                    return Err(WireFault::Timeout { request, limit });
                }
                Said::Progress(_) => {}
                Said::Answer(response) => return Ok((*response, frame.blob)),
            }
        }
    }

    /// An answer of the wrong kind is as bad as garbage.
    pub fn unexpected(&mut self, request: &'static str, response: &Response) -> WireError {
        let what = format!("unexpected {}", frame::escaped(format!("{response:?}").as_bytes()));
        self.fail(WireFault::Garbled { request, what })
    }

    fn fail(&mut self, fault: WireFault) -> WireError {
        // ssh or QEMU may just be writing why it goes away.
        thread::sleep(Duration::from_millis(50));
        self.poison = Some(fault.to_string());
        let error = self.error(fault);
        self.tear_down();
        error
    }

    fn error(&self, fault: WireFault) -> WireError {
        WireError::new(&self.name, fault, (self.last_words)())
    }

    fn tear_down(&mut self) {
        self.outgoing = None;
        if let Some(hang_up) = self.hang_up.take() {
            hang_up();
        }
    }
}

/// What an agent says while a request is under way.
enum Said {
    Progress(Progress),
    Answer(Box<Response>),
}

/// A frame that must be about that request.
fn said(frame: &Frame, id: u64, request: &'static str) -> Result<Said, WireFault> {
    let garbled = |what: String| WireFault::Garbled { request, what };
    let envelope: Envelope =
        serde_json::from_slice(&frame.json).map_err(|error| garbled(error.to_string()))?;
    if envelope.id != id {
        return Err(garbled(format!("it bears number {}, expected was {id}", envelope.id)));
    }
    let body = envelope.body.get();
    let parsed = match frame.kind {
        Kind::Progress => serde_json::from_str(body).map(Said::Progress),
        Kind::Response => serde_json::from_str(body).map(|response| Said::Answer(Box::new(response))),
        Kind::Request => return Err(garbled("the agent asks instead of answering".into())),
    };
    parsed.map_err(|error| garbled(error.to_string()))
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.tear_down();
    }
}

impl Link {
    /// Over a connected Unix socket.
    ///
    /// # Errors
    /// When the socket cannot be duplicated.
    pub fn of_socket(socket: UnixStream) -> std::io::Result<Link> {
        let (reader, writer) = (socket.try_clone()?, socket.try_clone()?);
        let hang_up = move || {
            // Already gone is as good.
            let _ = socket.shutdown(Shutdown::Both);
        };
        Ok(Link { reader: Box::new(reader), writer: Box::new(writer), hang_up: Box::new(hang_up) })
    }
}

fn write_all(mut writer: Box<dyn Write + Send>, to_write: &Receiver<Vec<u8>>) {
    for bytes in to_write {
        if writer.write_all(&bytes).and_then(|()| writer.flush()).is_err() {
            return;
        }
    }
}

fn read_all(mut reader: Box<dyn Read + Send>, read: &SyncSender<Result<Frame, FrameError>>) {
    if let Err(error) = frame::skip_to_preamble(&mut reader) {
        let _ = read.send(Err(error));
        return;
    }
    loop {
        let frame = frame::read(&mut reader);
        let last = frame.is_err();
        if read.send(frame).is_err() || last {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake::{FakeHandler, spec, target};
    use super::super::frame::{NOISE_LIMIT, PREAMBLE};
    use super::*;
    use iotax_load::{EngineName, Rw};
    use std::sync::atomic::Ordering;

    const SHORT: Duration = Duration::from_millis(300);

    fn step(payload: serde_json::Value) -> Request {
        Request::Step { payload }
    }

    fn fake_peer() -> Peer {
        let mut peer = Peer::in_process("here", Box::new(FakeHandler::default())).unwrap();
        peer.hello("r1", QUICK_LIMIT).unwrap();
        peer
    }

    /// A peer whose far end is in the hands of the test.
    fn by_hand() -> (Peer, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let words: LastWords = Box::new(|| "[  1.2] Kernel panic - not syncing".into());
        (Peer::new("guest1", Link::of_socket(ours).unwrap(), words), theirs)
    }

    fn answer(id: u64, kind: Kind, body: &impl serde::Serialize) -> Vec<u8> {
        frame::encode(&Frame { kind, json: enclose(id, body).unwrap(), blob: Vec::new() }).unwrap()
    }

    #[test]
    fn a_whole_conversation() {
        let handler = FakeHandler::default();
        let alive = handler.alive.clone();
        let mut peer = Peer::in_process("here", Box::new(handler)).unwrap();
        assert_eq!(peer.hello("r1", QUICK_LIMIT).unwrap().pid, std::process::id());
        for worker in [1, 2, 70] {
            let prepared =
                peer.prepare(worker, &[target(false)], &[Job::default()], None, QUICK_LIMIT).unwrap();
            assert_eq!(prepared.engine, "fake");
        }
        assert_eq!(alive.load(Ordering::SeqCst), 3);
        let result = peer.slice(70, &spec(), QUICK_LIMIT).unwrap();
        assert_eq!(
            (result.window_ns, result.read.latency.count(), result.flush_ns),
            (10_000_000, 100, Some(5))
        );
        peer.end(2).unwrap();
        assert_eq!(alive.load(Ordering::SeqCst), 2);
        let again = peer.slice(2, &spec(), QUICK_LIMIT).unwrap_err();
        assert!(again.to_string().contains("there is no worker 2"), "{again}");
        let doubled = peer
            .prepare(1, &[target(false)], &[], Some(Engine::Native(EngineName::Sync)), QUICK_LIMIT)
            .unwrap_err();
        assert!(doubled.to_string().contains("worker 1 exists already"), "{doubled}");
        peer.bye().unwrap();
        assert_eq!(alive.load(Ordering::SeqCst), 0);
    }

    #[test]
    fn the_end_of_the_stream_ends_workers() {
        let handler = FakeHandler::default();
        let alive = handler.alive.clone();
        let mut peer = Peer::in_process("here", Box::new(handler)).unwrap();
        peer.prepare(1, &[target(false)], &[Job::default()], None, QUICK_LIMIT).unwrap();
        drop(peer);
        let deadline = Instant::now() + Duration::from_secs(5);
        while alive.load(Ordering::SeqCst) > 0 {
            assert!(Instant::now() < deadline, "the worker still lives");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_writing_job_is_permitted_first() {
        let mut peer = fake_peer();
        let jobs = [Job { rw: Rw::Write, ..Job::default() }];
        let refused = peer.prepare(1, &[target(false)], &jobs, None, QUICK_LIMIT).unwrap_err();
        assert_eq!((refused.code, refused.to_string().as_str()), (2, "here: no consent for it"));
        peer.prepare(1, &[target(true)], &jobs, None, QUICK_LIMIT).unwrap();
    }

    #[test]
    fn one_member_without_consent_refuses_all_before_a_worker_is_made() {
        let handler = FakeHandler::default();
        let (alive, permitted) = (handler.alive.clone(), handler.permitted.clone());
        let mut peer = Peer::in_process("here", Box::new(handler)).unwrap();
        let jobs = [Job { rw: Rw::Write, ..Job::default() }];
        let asked = |peer: &mut Peer, writable: [bool; 3]| {
            peer.prepare(1, &writable.map(target), &jobs, None, QUICK_LIMIT).map(drop)
        };
        let refused = asked(&mut peer, [true, true, false]).unwrap_err();
        assert_eq!((refused.code, refused.to_string().as_str()), (2, "here: no consent for it"));
        assert_eq!(alive.load(Ordering::SeqCst), 0);
        permitted.store(0, Ordering::SeqCst);
        asked(&mut peer, [true; 3]).unwrap();
        assert_eq!((permitted.load(Ordering::SeqCst), alive.load(Ordering::SeqCst)), (3, 1));
    }

    #[test]
    fn panics_failures_and_unknown_requests_are_answers() {
        let mut peer = fake_peer();
        let panicked = peer.call(step(serde_json::json!({"panic": "index 7"})), QUICK_LIMIT).unwrap_err();
        assert!(panicked.to_string().contains("panicked in \"step\": index 7"), "{panicked}");
        let failed = peer.call(step(serde_json::json!({"fail": "lacks mdadm"})), QUICK_LIMIT).unwrap_err();
        assert_eq!((failed.code, crate::exit::Failed::from(failed).code), (3, 3));
        let large = peer.call(step(serde_json::json!({"bytes": 5 << 20})), QUICK_LIMIT).unwrap_err();
        assert!(large.to_string().contains("cannot be sent"), "{large}");
        assert!(peer.call(Request::CpuTimes, QUICK_LIMIT).is_ok());
    }

    #[test]
    fn an_unknown_request_is_answered_under_its_number() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let mut asked = ours.try_clone().unwrap();
        let agent =
            thread::spawn(move || serve(theirs.try_clone().unwrap(), theirs, &mut FakeHandler::default()));
        asked.write_all(&answer(9, Kind::Request, &serde_json::json!({"request": "make_coffee"}))).unwrap();
        asked
            .write_all(
                &frame::encode(&Frame { kind: Kind::Request, json: b"}{".to_vec(), blob: vec![] }).unwrap(),
            )
            .unwrap();
        ours.shutdown(Shutdown::Write).unwrap();
        let mut from_agent = ours;
        frame::skip_to_preamble(&mut from_agent).unwrap();
        for (id, words) in [(9, "make_coffee"), (0, "cannot parse")] {
            let frame = frame::read(&mut from_agent).unwrap();
            let envelope: Envelope = serde_json::from_slice(&frame.json).unwrap();
            assert_eq!(envelope.id, id);
            assert!(envelope.body.get().contains(words), "{}", envelope.body);
        }
        agent.join().unwrap().unwrap();
    }

    #[test]
    fn a_garbled_request_ends_the_agent_with_an_error() {
        let bytes = b"GET / HTTP/1.0\r\n\r\n";
        let error = serve(&bytes[..], Vec::new(), &mut FakeHandler::default()).unwrap_err();
        assert!(format!("{error:#}").contains("GET / HTTP"), "{error:#}");
    }

    #[test]
    fn progress_keeps_a_slow_request_alive() {
        let mut peer = fake_peer().with_silence_limit(Duration::from_millis(1500));
        peer.call(step(serde_json::json!({"sleep_ms": 2500})), Duration::from_secs(10)).unwrap();
    }

    #[test]
    fn a_trial_is_watched_and_read_back() {
        use crate::measure::durability::TrialSpec;
        let file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
        file.as_file().set_len(8 << 20).unwrap();
        let spec = TrialSpec { trial: 1, seed: 2, blocks: 2048, batch: 8, in_flight: 2, most_batches: 10 };
        let target = |writable| TargetSpec { path: file.path().into(), ..target(writable) };
        let request = |writable| Request::DurableWrite { target: target(writable), spec: spec.clone() };
        let mut peer = fake_peer();
        let refused = peer.watch(request(false), &mut |_| ControlFlow::Continue(())).unwrap_err();
        assert_eq!(refused.to_string(), "here: no consent for it");
        let mut told = Vec::new();
        let answer = peer.watch(request(true), &mut |acknowledged| {
            told.extend(acknowledged);
            ControlFlow::Continue(())
        });
        assert_eq!(answer.unwrap(), Some(Response::DurableWritten { acknowledged: 80 }));
        assert_eq!(told, (1..=10).map(|batch| batch * 8).collect::<Vec<u64>>());
        let verify = Request::DurableVerify { target: target(false), spec: spec.clone(), acknowledged: 80 };
        let Response::DurableVerified { found } = peer.call(verify, QUICK_LIMIT).unwrap() else {
            panic!("another answer")
        };
        assert!(found.broken() == 0 && found.kept == found.blocks && found.blocks >= 60, "{found:?}");
        // Whoever watches may stop; what is still on its way counts.
        let answer = peer.watch(request(true), &mut |_| ControlFlow::Break(()));
        assert_eq!(answer.unwrap(), None);
        assert_eq!(peer.drained(QUICK_LIMIT.min(Duration::from_secs(1))), Some(80));
    }

    #[test]
    fn a_slow_request_times_out_and_poisons() {
        let mut peer = fake_peer();
        let start = Instant::now();
        let late = peer.call(step(serde_json::json!({"sleep_ms": 3000})), SHORT).unwrap_err();
        assert!(matches!(late.fault, WireFault::Timeout { request: "step", .. }), "{late}");
        let next = peer.call(Request::Clock, Duration::from_secs(9)).unwrap_err();
        assert!(
            matches!(&next.fault, WireFault::Poisoned(cause) if cause.contains("no answer to \"step\"")),
            "{next}"
        );
        assert!(start.elapsed() < Duration::from_secs(2));
        assert!(!peer.is_usable());
    }

    #[test]
    fn a_silent_peer_is_dead_and_its_last_words_are_shown() {
        let (peer, mut theirs) = by_hand();
        theirs.write_all(PREAMBLE).unwrap();
        let mut peer = peer.with_silence_limit(SHORT);
        let dead = peer.call(Request::Clock, Duration::from_secs(60)).unwrap_err();
        assert!(matches!(dead.fault, WireFault::Silent(..)));
        assert_eq!(
            dead.to_string(),
            "guest1: silent for 300ms while it should answer \"clock\"; its last words:\n[  1.2] Kernel panic - not syncing"
        );
    }

    #[test]
    fn a_peer_that_does_not_even_read_times_out() {
        let (mut peer, theirs) = by_hand();
        let payload = serde_json::Value::String("x".repeat(3 << 20));
        let stuck = peer.call(step(payload), SHORT).unwrap_err();
        assert!(matches!(stuck.fault, WireFault::Timeout { .. }), "{stuck}");
        drop(theirs);
    }

    #[test]
    fn foreign_peers_are_named() {
        let said = |bytes: &[u8]| {
            let (mut peer, mut theirs) = by_hand();
            theirs.write_all(bytes).unwrap();
            theirs.shutdown(Shutdown::Write).unwrap();
            peer.hello("r1", QUICK_LIMIT).unwrap_err()
        };
        let after_preamble = |bytes: &[u8]| said(&[&PREAMBLE[..], bytes].concat());
        assert!(matches!(said(b"").fault, WireFault::Frame(FrameError::Eof)));
        assert!(said(b"login: ").to_string().contains("not an iotax agent: it wrote \"login: \""));
        assert!(matches!(
            said(&[b'y'; NOISE_LIMIT + 100]).fault,
            WireFault::Frame(FrameError::NoPreamble { .. })
        ));
        let garbage = after_preamble(b"[ 2.0] usb 1-1: new device");
        assert!(
            garbage.to_string().contains("garbled stream") && garbage.to_string().contains("[ 2.0] usb"),
            "{garbage}"
        );
        let mut other = answer(1, Kind::Response, &Response::Bye);
        other[4] = 7;
        let version = after_preamble(&other);
        let words = format!("speaks wire protocol 7, this iotax speaks {PROTOCOL}");
        assert!(version.to_string().contains(&words), "{version}");
        let wrong_number = after_preamble(&answer(5, Kind::Response, &Response::Bye));
        assert!(wrong_number.to_string().contains("bears number 5, expected was 1"), "{wrong_number}");
        let wrong_kind = after_preamble(&answer(1, Kind::Response, &Response::Bye));
        assert!(wrong_kind.to_string().contains("unexpected \"Bye\""), "{wrong_kind}");
        let asks = after_preamble(&answer(1, Kind::Request, &Request::Bye));
        assert!(asks.to_string().contains("asks instead of answering"), "{asks}");
    }

    #[test]
    fn a_peer_of_another_protocol_is_refused_by_the_agent() {
        let mut peer = Peer::in_process("here", Box::new(FakeHandler::default())).unwrap();
        let hello = Request::Hello { protocol: PROTOCOL + 1, iotax: "9.9".into(), run_id: "r".into() };
        let refused = peer.call(hello, QUICK_LIMIT).unwrap_err();
        assert!(
            refused.to_string().contains(&format!(
                "(iotax 9.9) speaks wire protocol {}, this agent {PROTOCOL}",
                PROTOCOL + 1
            )),
            "{refused}"
        );
    }

    #[test]
    fn one_clock_has_no_offset() {
        let offset = fake_peer().clock_offset().unwrap();
        assert!(offset.offset_ns.unsigned_abs() <= offset.round_trip_ns, "{offset:?}");
    }
}
