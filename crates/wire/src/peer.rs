//! The host's end of the wire: one peer, one request at a time, each within a time limit even if
//! the peer's stream blocks. A peer that failed once is poisoned: later calls fail at once, because
//! a late answer would be taken for another one's.

use super::frame::{self, FrameError, FrameKind, PROTOCOL, WireFrame};
use super::message::{
    AgentInfo, CardAddress, Envelope, Listening, Prepared, Ran, Response, WireProgress,
    WireRequest, enclose, series_ns, unpack, unpack_series,
};
use crate::message::SLICE_GRACE;
use crate::stops;
use iotax_facts::Engine;
use iotax_load::{Job, SeriesResult, SeriesSpec, SliceSpec, TargetSpec, VerifiedWorker, clock};
use iotax_probe::ProbeSpec;
use iotax_units::exit::Failed;
use serde::Serialize;
use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown};
use std::ops::ControlFlow;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// Time after which a peer that sends nothing while it works counts as dead. It should send a frame
/// each second.
pub const SILENCE_LIMIT: Duration = Duration::from_secs(15);
pub const QUICK_LIMIT: Duration = Duration::from_secs(20);
/// Longest wait, when a peer is dropped, for an agent in a thread of this process to end what it
/// keeps.
const END_GRACE: Duration = Duration::from_secs(3);
const PINGS: usize = 8;
/// Interval at which the callback of a watched request is asked whether to go on.
const WATCHED_EVERY: Duration = Duration::from_millis(5);

/// Function that returns the last output of a guest's console or of ssh's stderr.
pub type LastWords = Box<dyn Fn() -> String + Send>;
/// Function that describes how the process that serves the stream ended; `None` while it lives.
pub type Fate = Box<dyn Fn() -> Option<String> + Send>;

/// The two ends of a stream, and how it is torn down.
pub struct PeerLink {
    pub reader: Box<dyn Read + Send>,
    pub writer: Box<dyn Write + Send>,
    /// Makes pending reads and writes return; called once, when the peer is done with or has
    /// failed.
    pub hang_up: Box<dyn FnOnce() + Send>,
}

#[derive(Debug, thiserror::Error)]
#[error("{peer}: {fault}{}{}", show_fate(fate.as_deref()), show_last_words(last_words))]
pub struct WireError {
    pub peer: String,
    pub fault: WireFault,
    /// How the process that serves the stream ended, or something that it requires; `None` if
    /// neither is known to have ended.
    pub fate: Option<String>,
    /// Last output of the console or of stderr; may be empty.
    pub last_words: String,
    pub code: u8,
}

impl From<WireError> for Failed {
    fn from(error: WireError) -> Failed {
        Failed { code: error.code, message: error.to_string() }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum WireFault {
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// No answer came within the request's limit, though the peer showed signs of life.
    #[error("no answer to \"{request}\" within {limit:?}")]
    Timeout { request: &'static str, limit: Duration },
    #[error("silent for {0:?} while it should answer \"{1}\"")]
    Silent(Duration, &'static str),
    /// Something that the request requires is gone; [`WireError::fate`] says what.
    #[error("it cannot answer \"{0}\"")]
    Hopeless(&'static str),
    #[error("garbled answer to \"{request}\": {what}")]
    Garbled { request: &'static str, what: String },
    /// The agent answered with an error. The peer stays usable.
    #[error("{message}")]
    Remote { message: String, code: u8 },
    /// The peer could not be reached. Nothing was done there.
    #[error("{0}")]
    Unreachable(String),
    /// A shell answered there, and the agent did not start. Something of it may be left.
    #[error("{0}")]
    NotStarted(String),
    /// The copy of our binary for that run is there already.
    #[error("{0}")]
    Occupied(String),
    #[error("given up after an earlier failure: {0}")]
    Poisoned(String),
}

pub fn series_length(spec: &SeriesSpec) -> Duration {
    Duration::from_nanos(series_ns(spec))
}

fn show_fate(fate: Option<&str>) -> String {
    fate.map_or_else(String::new, |fate| format!(": {fate}"))
}

fn show_last_words(words: &str) -> String {
    if words.trim().is_empty() {
        String::new()
    } else {
        format!("; its last words:\n{}", words.trim_end())
    }
}

impl WireError {
    /// Creates an error of a peer. It has the exit code of the agent's error, or that of a failed
    /// measurement for any other fault.
    pub fn new(peer: &str, fault: WireFault, last_words: String) -> WireError {
        let code = match fault {
            WireFault::Remote { code, .. } => code,
            _ => iotax_units::exit::MEASUREMENT_FAILED,
        };
        WireError { peer: peer.to_owned(), fault, fate: None, last_words, code }
    }
}

/// Offset of a place's clock from the host's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockOffset {
    /// Clock of the place minus that of the host, in nanoseconds.
    pub offset_ns: i64,
    /// Shortest round trip of a request, in nanoseconds. Half of it bounds the error of the offset.
    pub round_trip_ns: u64,
}

pub struct Peer {
    name: String,
    last_words: LastWords,
    fate: Fate,
    silence: Duration,
    outgoing: Option<Sender<Vec<u8>>>,
    incoming: Receiver<Result<WireFrame, FrameError>>,
    hang_up: Option<Box<dyn FnOnce() + Send>>,
    next_id: u64,
    poison: Option<String>,
    /// Channel from an agent in a thread of this process, which closes when the agent has ended.
    ended: Option<Receiver<()>>,
}

impl Peer {
    /// Creates a peer at the other end of `link`. Nothing is sent yet.
    pub fn new(name: impl Into<String>, link: PeerLink, last_words: LastWords) -> Peer {
        let (outgoing, to_write) = channel();
        // A frame may have 20 MiB, so only a few are queued.
        let (read, incoming) = sync_channel(2);
        // Detached: they end when the link is hung up; joining could wait for a peer that blocks.
        thread::spawn(move || write_all(link.writer, &to_write));
        thread::spawn(move || read_all(link.reader, &read));
        Peer {
            name: name.into(),
            last_words,
            fate: Box::new(|| None),
            silence: SILENCE_LIMIT,
            outgoing: Some(outgoing),
            incoming,
            hang_up: Some(link.hang_up),
            next_id: 1,
            poison: None,
            ended: None,
        }
    }

    /// Makes the peer wait, when it is dropped, until `ended` shows that the agent in a thread of
    /// this process has ended.
    #[must_use]
    pub fn with_end(mut self, ended: Receiver<()>) -> Peer {
        self.ended = Some(ended);
        self
    }

    /// Sets the time without a sign of life after which the peer counts as dead.
    #[must_use]
    pub fn with_silence(mut self, silence: Duration) -> Peer {
        self.silence = silence;
        self
    }

    /// Sets the function that is asked for the end of the stream's process when the peer fails.
    #[must_use]
    pub fn with_fate(mut self, fate: Fate) -> Peer {
        self.fate = fate;
        self
    }

    /// Returns how the process that serves the stream ended, or something that it requires. `None`
    /// if it lives, or nothing is known.
    pub fn fate(&self) -> Option<String> {
        (self.fate)()
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn is_usable(&self) -> bool {
        self.poison.is_none()
    }

    /// Makes the first call. `limit` includes the wait for the agent's preamble.
    ///
    /// # Errors
    /// As [`Peer::call`]; [`FrameError::Version`] if the agent speaks another protocol.
    pub fn hello(&mut self, run_id: &str, limit: Duration) -> Result<AgentInfo, WireError> {
        let iotax = env!("CARGO_PKG_VERSION").to_owned();
        let request = WireRequest::Hello { protocol: PROTOCOL, iotax, run_id: run_id.to_owned() };
        // Until the agent runs nothing can be said each second: the limit alone counts.
        let silence = std::mem::replace(&mut self.silence, limit);
        let answer = self.call(request, limit);
        self.silence = silence;
        match answer? {
            Response::Hello(info) => Ok(info),
            other => Err(self.unexpected("hello", &other)),
        }
    }

    /// Sends a request and waits for its answer, at most `limit`.
    ///
    /// # Errors
    /// See [`WireFault`]. All but [`WireFault::Remote`] poison the peer and hang up.
    pub fn call(&mut self, request: WireRequest, limit: Duration) -> Result<Response, WireError> {
        Ok(self.call_with_blob(request, limit)?.0)
    }

    pub fn prepare(
        &mut self,
        worker: u32,
        targets: &[TargetSpec],
        jobs: &[Job],
        engine: Option<Engine>,
        limit: Duration,
    ) -> Result<Prepared, WireError> {
        let (targets, jobs) = (targets.to_vec(), jobs.to_vec());
        self.prepared(WireRequest::Prepare { worker, targets, jobs, engine, probe: None }, limit)
    }

    pub fn prepare_probe(
        &mut self,
        worker: u32,
        probe: &ProbeSpec,
        limit: Duration,
    ) -> Result<Prepared, WireError> {
        let probe = Some(probe.clone());
        let (targets, jobs) = (Vec::new(), Vec::new());
        self.prepared(WireRequest::Prepare { worker, targets, jobs, engine: None, probe }, limit)
    }

    /// Starts the other end of the probe that is worker `worker` in another place, at this address
    /// and port or at any.
    ///
    /// # Errors
    /// As [`Peer::call`].
    pub fn listen_for(
        &mut self,
        worker: u32,
        probe: &ProbeSpec,
        bind: Option<IpAddr>,
        port: Option<u16>,
        limit: Duration,
    ) -> Result<Listening, WireError> {
        match self.call(WireRequest::Listen { worker, probe: probe.clone(), bind, port }, limit)? {
            Response::Listening(listening) => Ok(listening),
            other => Err(self.unexpected("listen", &other)),
        }
    }

    pub fn unlisten(&mut self, worker: u32) -> Result<(), WireError> {
        match self.call(WireRequest::Unlisten { worker }, QUICK_LIMIT)? {
            Response::Unlistened => Ok(()),
            other => Err(self.unexpected("unlisten", &other)),
        }
    }

    /// Gives a network card in the place its address, and returns the name of the card's interface.
    ///
    /// # Errors
    /// As [`Peer::call`].
    pub fn give_address(
        &mut self,
        card: &CardAddress,
        limit: Duration,
    ) -> Result<String, WireError> {
        match self.call(WireRequest::Address(card.clone()), limit)? {
            Response::Addressed { interface } => Ok(interface),
            other => Err(self.unexpected("address", &other)),
        }
    }

    fn prepared(&mut self, request: WireRequest, limit: Duration) -> Result<Prepared, WireError> {
        match self.call(request, limit)? {
            Response::Prepared(prepared) => Ok(prepared),
            other => Err(self.unexpected("prepare", &other)),
        }
    }

    pub fn slice(
        &mut self,
        worker: u32,
        spec: &SliceSpec,
        limit: Duration,
    ) -> Result<Ran, WireError> {
        self.slice_watched(worker, spec, limit, &mut |_| {})
    }

    /// Runs one slice as [`Peer::slice`] does. On each progress frame, `under_way` gets the time
    /// for which it has been under way.
    ///
    /// # Errors
    /// As [`Peer::call`].
    pub fn slice_watched(
        &mut self,
        worker: u32,
        spec: &SliceSpec,
        limit: Duration,
        under_way: &mut dyn FnMut(Duration),
    ) -> Result<Ran, WireError> {
        let (id, name) = self.send(&WireRequest::Slice { worker, spec: *spec })?;
        let (response, blob) =
            self.wait(id, name, limit, under_way).map_err(|fault| self.fail(fault))?;
        match (self.unless_refused(response)?, blob) {
            (Response::Slice(scalars), blob) => unpack(scalars, &blob, spec)
                .map_err(|what| self.fail(WireFault::Garbled { request: "slice", what })),
            (other, _) => Err(self.unexpected("slice", &other)),
        }
    }

    /// Runs a series of short slices of these workers. On each progress frame, `under_way` gets the
    /// time for which it has been under way.
    ///
    /// # Errors
    /// As [`Peer::call`].
    pub fn series(
        &mut self,
        workers: &[u32],
        spec: &SeriesSpec,
        under_way: &mut dyn FnMut(Duration),
    ) -> Result<SeriesResult, WireError> {
        let limit = series_length(spec) + SLICE_GRACE;
        let request = WireRequest::Series { workers: workers.to_vec(), spec: spec.clone() };
        let (id, name) = self.send(&request)?;
        let (response, blob) =
            self.wait(id, name, limit, under_way).map_err(|fault| self.fail(fault))?;
        match (self.unless_refused(response)?, blob) {
            (Response::Series(scalars), blob) => unpack_series(scalars, &blob, spec)
                .map_err(|what| self.fail(WireFault::Garbled { request: "series", what })),
            (other, _) => Err(self.unexpected("series", &other)),
        }
    }

    /// Asks a worker what it found of what it wrote, if `read` after reading all of it back.
    /// `report` is used as by [`Peer::call_long`].
    ///
    /// # Errors
    /// As [`Peer::call`].
    pub fn verify(
        &mut self,
        worker: u32,
        read: bool,
        report: &mut dyn FnMut(serde_json::Value) -> ControlFlow<()>,
    ) -> Result<VerifiedWorker, WireError> {
        match self.call_long(WireRequest::Verify { worker, read }, report)? {
            Response::Verified { found } => Ok(found),
            other => Err(self.unexpected("verify", &other)),
        }
    }

    pub fn end_worker(&mut self, worker: u32) -> Result<(), WireError> {
        match self.call(WireRequest::End { worker }, QUICK_LIMIT)? {
            Response::Ended => Ok(()),
            other => Err(self.unexpected("end", &other)),
        }
    }

    /// Estimates the offset of the place's clock from the shortest of 8 round trips.
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

    pub fn clock_offset_now(&mut self) -> Result<ClockOffset, WireError> {
        self.ping()
    }

    pub fn bye(mut self) -> Result<(), WireError> {
        match self.call(WireRequest::Bye, QUICK_LIMIT)? {
            Response::Bye => Ok(()),
            other => Err(self.unexpected("bye", &other)),
        }
    }

    fn ping(&mut self) -> Result<ClockOffset, WireError> {
        let before = clock::monotonic_ns();
        let answer = self.call(WireRequest::Clock, QUICK_LIMIT)?;
        let after = clock::monotonic_ns();
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

    /// Sends a request and returns the answer, or `None` if `report` says break before it comes.
    /// `report` gets each acknowledgement, and `None` every few milliseconds. After a break the
    /// request is still under way, so the peer can only be [`Peer::drained`].
    ///
    /// # Errors
    /// As [`Peer::call`].
    pub fn watch(
        &mut self,
        request: WireRequest,
        report: &mut dyn FnMut(Option<u64>) -> ControlFlow<()>,
    ) -> Result<Option<Response>, WireError> {
        let (id, name) = self.send(&request)?;
        self.listen(id, name, &mut |progress| {
            report(progress.and_then(|progress| progress.acknowledged))
        })
    }

    /// Sends a request that may take long and passes its progress to `report`. If that says break,
    /// the agent is asked to stop, and the answer shows what it has done by then.
    ///
    /// # Errors
    /// As [`Peer::call`].
    pub fn call_long(
        &mut self,
        request: WireRequest,
        report: &mut dyn FnMut(serde_json::Value) -> ControlFlow<()>,
    ) -> Result<Response, WireError> {
        let (id, name) = self.send(&request)?;
        let mut heard =
            |progress: Option<WireProgress>| match progress.and_then(|progress| progress.far) {
                Some(far) => report(far),
                None => ControlFlow::Continue(()),
            };
        match self.listen(id, name, &mut heard)? {
            Some(response) => Ok(response),
            None => {
                self.send_frame(FrameKind::Stop, id, &())?;
                // One that has just ended by itself answers all the same; one that cannot stop goes
                // on.
                let answer = self.listen(id, name, &mut |_| ControlFlow::Continue(()))?;
                answer.ok_or_else(|| {
                    self.error(WireFault::Poisoned("it was not asked to its end".into()))
                })
            }
        }
    }

    /// Waits for the answer to a request that was sent; `None` if `report` says break first.
    fn listen(
        &mut self,
        id: u64,
        name: &'static str,
        report: &mut dyn FnMut(Option<WireProgress>) -> ControlFlow<()>,
    ) -> Result<Option<Response>, WireError> {
        let mut heard = Instant::now();
        loop {
            let progress = match self.incoming.recv_timeout(WATCHED_EVERY) {
                Ok(frame) => {
                    heard = Instant::now();
                    match frame
                        .map_err(WireFault::from)
                        .and_then(|frame| parse_message(&frame, id, name))
                    {
                        Ok(AgentMessage::Answer(response)) => {
                            return self.unless_refused(*response).map(Some);
                        }
                        Ok(AgentMessage::Progress(progress)) => Some(progress),
                        Err(fault) => return Err(self.fail(fault)),
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.fail(FrameError::Eof.into()));
                }
                Err(RecvTimeoutError::Timeout) if heard.elapsed() > self.silence => {
                    if stops::stopped_since(heard).is_none() {
                        return Err(self.fail(WireFault::Silent(self.silence, name)));
                    }
                    heard = Instant::now();
                    None
                }
                Err(RecvTimeoutError::Timeout) => None,
            };
            if report(progress).is_break() {
                return Ok(None);
            }
        }
    }

    /// Reads the remaining frames of a peer that was killed while it was watched, and returns the
    /// largest acknowledgement in them. Ends at the end of the stream, or if nothing comes for
    /// `quiet`; then hangs up.
    pub fn drained(self, quiet: Duration) -> Option<u64> {
        let mut last = None;
        while let Ok(Ok(frame)) = self.incoming.recv_timeout(quiet) {
            let progress =
                serde_json::from_slice::<Envelope>(&frame.json).ok().and_then(|envelope| {
                    serde_json::from_str::<WireProgress>(envelope.body.get()).ok()
                });
            last = last.max(progress.and_then(|progress| progress.acknowledged));
        }
        last
    }

    fn call_with_blob(
        &mut self,
        request: WireRequest,
        limit: Duration,
    ) -> Result<(Response, Vec<u8>), WireError> {
        let (id, name) = self.send(&request)?;
        let (response, blob) =
            self.wait(id, name, limit, &mut |_| {}).map_err(|fault| self.fail(fault))?;
        Ok((self.unless_refused(response)?, blob))
    }

    fn unless_refused(&self, response: Response) -> Result<Response, WireError> {
        match response {
            Response::Error { message, code } => {
                // The agent's own words say it all; the console's would only distract.
                let error =
                    WireError::new(&self.name, WireFault::Remote { message, code }, String::new());
                Err(WireError { fate: self.fate(), ..error })
            }
            other => Ok(other),
        }
    }

    fn send(&mut self, request: &WireRequest) -> Result<(u64, &'static str), WireError> {
        if let Some(cause) = &self.poison {
            return Err(self.error(WireFault::Poisoned(cause.clone())));
        }
        let id = self.next_id;
        self.next_id += 1;
        self.send_frame(FrameKind::Request, id, request)?;
        Ok((id, request.name()))
    }

    fn send_frame(&self, kind: FrameKind, id: u64, body: &impl Serialize) -> Result<(), WireError> {
        let bytes = enclose(id, body)
            .map_err(|error| FrameError::Io(error.into()))
            .and_then(|json| frame::encode(&WireFrame { kind, json, blob: Vec::new() }))
            .map_err(|error| self.error(WireFault::Frame(error)))?;
        // A closed channel means that the writer saw an error; the reader's error says more.
        let _ = self.outgoing.as_ref().map(|outgoing| outgoing.send(bytes));
        Ok(())
    }

    fn wait(
        &self,
        id: u64,
        request: &'static str,
        limit: Duration,
        under_way: &mut dyn FnMut(Duration),
    ) -> Result<(Response, Vec<u8>), WireFault> {
        let asked = Instant::now();
        let mut deadline = asked + limit;
        loop {
            let began = Instant::now();
            let left = deadline.saturating_duration_since(began);
            let frame = match self.incoming.recv_timeout(left.min(self.silence)) {
                Ok(frame) => frame?,
                Err(RecvTimeoutError::Disconnected) => return Err(FrameError::Eof.into()),
                Err(RecvTimeoutError::Timeout) => match stops::stopped_since(began) {
                    // While this process was stopped nobody could be heard.
                    Some(stop) => {
                        deadline += stop.counted.max(self.silence);
                        continue;
                    }
                    None if left <= self.silence => {
                        return Err(WireFault::Timeout { request, limit });
                    }
                    None => return Err(WireFault::Silent(self.silence, request)),
                },
            };
            match parse_message(&frame, id, request)? {
                AgentMessage::Progress(_) if Instant::now() >= deadline => {
                    return Err(WireFault::Timeout { request, limit });
                }
                AgentMessage::Progress(_) if self.fate().is_some() => {
                    return Err(WireFault::Hopeless(request));
                }
                AgentMessage::Progress(_) => under_way(asked.elapsed()),
                AgentMessage::Answer(response) => return Ok((*response, frame.blob)),
            }
        }
    }

    /// Fails the peer for an answer of the wrong kind, which is as bad as garbage.
    pub fn unexpected(&mut self, request: &'static str, response: &Response) -> WireError {
        let what = format!("unexpected {}", frame::escaped(format!("{response:?}").as_bytes()));
        self.fail(WireFault::Garbled { request, what })
    }

    fn fail(&mut self, fault: WireFault) -> WireError {
        // ssh or QEMU may just be writing why it goes away.
        thread::sleep(Duration::from_millis(50));
        self.poison = Some(fault.to_string());
        let error = WireError { fate: self.fate(), ..self.error(fault) };
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

enum AgentMessage {
    Progress(WireProgress),
    Answer(Box<Response>),
}

/// Parses a frame, which must be about the request `id`.
fn parse_message(
    frame: &WireFrame,
    id: u64,
    request: &'static str,
) -> Result<AgentMessage, WireFault> {
    let garbled = |what: String| WireFault::Garbled { request, what };
    let envelope: Envelope =
        serde_json::from_slice(&frame.json).map_err(|error| garbled(error.to_string()))?;
    if envelope.id != id {
        return Err(garbled(format!("it bears number {}, expected was {id}", envelope.id)));
    }
    let body = envelope.body.get();
    let parsed = match frame.kind {
        // A progress frame is short, because it may come often.
        FrameKind::Progress if !frame.blob.is_empty() => {
            return Err(garbled("it sends data with its progress".into()));
        }
        FrameKind::Progress => serde_json::from_str(body).map(AgentMessage::Progress),
        FrameKind::Response => match serde_json::from_str::<Response>(body) {
            Ok(response) => match response.fault() {
                Some(fault) => return Err(garbled(format!("it reports {fault}"))),
                None => Ok(AgentMessage::Answer(Box::new(response))),
            },
            Err(error) => Err(error),
        },
        FrameKind::Request | FrameKind::Stop => {
            return Err(garbled("the agent asks instead of answering".into()));
        }
    };
    parsed.map_err(|error| garbled(error.to_string()))
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.tear_down();
        // What the agent keeps (a shared connection, a tool) ends before the program does, and
        // cleans up itself. One that is amid a slice is not waited for to its end.
        if let Some(ended) = &self.ended {
            let _ = ended.recv_timeout(END_GRACE);
        }
    }
}

impl PeerLink {
    pub fn of_socket(socket: UnixStream) -> std::io::Result<PeerLink> {
        let (reader, writer) = (socket.try_clone()?, socket.try_clone()?);
        let hang_up = move || {
            // Already gone is as good.
            let _ = socket.shutdown(Shutdown::Both);
        };
        Ok(PeerLink {
            reader: Box::new(reader),
            writer: Box::new(writer),
            hang_up: Box::new(hang_up),
        })
    }
}

fn write_all(mut writer: Box<dyn Write + Send>, to_write: &Receiver<Vec<u8>>) {
    for bytes in to_write {
        if writer.write_all(&bytes).and_then(|()| writer.flush()).is_err() {
            return;
        }
    }
}

fn read_all(mut reader: Box<dyn Read + Send>, read: &SyncSender<Result<WireFrame, FrameError>>) {
    if let Err(error) = frame::skip_to_preamble(&mut reader) {
        let _ = read.send(Err(error));
        return;
    }
    loop {
        let frame = frame::read_frame(&mut reader);
        let last = frame.is_err();
        if read.send(frame).is_err() || last {
            return;
        }
    }
}

#[cfg(test)]
#[path = "peer_tests.rs"]
mod tests;
