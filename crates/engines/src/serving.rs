//! The agent's end of the wire: keeps resident workers and answers one request after the other. A
//! request that is unknown, garbled inside, fails or panics is answered with an error and the agent
//! goes on; a stream that ends or is garbled ends all workers. It writes nothing it was not
//! permitted to.

use crate::durability::disk::DirectDisk;
use crate::durability::verifier::{self, Verified};
use crate::durability::writer;
use crate::kinds as engine;
use crate::load_engine::{EngineError, LoadEngine};
use anyhow::{Context, Result, anyhow};
use iotax_drivers::disk_key::DiskKey;
use iotax_facts::slice::{CpuTimes, DeviceReading, QuiesceGate, ThreadId};
use iotax_facts::{Consent, Engine};
use iotax_host::facts::Facts;
use iotax_host::guard::admit::Admitted;
use iotax_load::{
    Job, ReadMachine, SeriesResult, SeriesSpec, ShortSlice, SliceBound, SliceResult, SliceSpec,
    TargetSpec, Transient, Worker, clock, run_series,
};
use iotax_probe::{OtherEnd, ProbeSpec, net};
use iotax_units::exit::Failed;
use iotax_wire::frame::{self, FrameError, FrameKind, PREAMBLE, PROTOCOL, WireFrame};
use iotax_wire::message::{
    AgentInfo, Envelope, Listening, Prepared, Ran, Response, WireProgress, WireRequest, enclose,
    pack, pack_series,
};
use iotax_wire::peer::{Peer, PeerLink};
use iotax_wire::trial::TrialSpec;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// What may be written in a place. The host sends it before the first worker is prepared there.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Allowed {
    /// Drives given up by `--destroy`, by serial or WWN.
    pub consent: Vec<Consent>,
    /// Paths that the run itself made, under its journal: loop devices, disks of our guests.
    pub made: Vec<PathBuf>,
    /// Devices that the guard has let the run write in this place.
    #[serde(default)]
    pub admitted: Admitted,
}

pub const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// Time before a common start, in nanoseconds, at which CPU times and device counts are read.
/// Reading takes a tenth of it, even in an emulated guest.
pub const READY_BEFORE_NS: u64 = 3_000_000;

/// CPU times are read around each slice of a series only if the shortest window is at least this
/// many times as long as a reading.
const MOST_READING: u64 = 20;

/// Link from the code that performs a long request to the host. It passes on the progress, and
/// shows whether the host still wants the answer.
#[derive(Clone, Default)]
pub struct ProgressLine {
    far: Arc<Mutex<Option<serde_json::Value>>>,
    from_host: Option<Arc<OwnedFd>>,
}

impl ProgressLine {
    fn from_reader(reader: &impl AsFd) -> Result<ProgressLine> {
        let from_host =
            reader.as_fd().try_clone_to_owned().context("cannot watch the host's end")?;
        Ok(ProgressLine { far: Arc::default(), from_host: Some(Arc::new(from_host)) })
    }

    /// Passes progress to the host, in the next progress frame. Returns `Break` if the host has
    /// asked to stop, or is gone.
    pub fn report(&self, far: serde_json::Value) -> ControlFlow<()> {
        *hold(&self.far) = Some(far);
        match self.host_speaks() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    /// Returns true if the host has sent something or hung up. While a request is under way, both
    /// mean that it no longer wants the answer.
    fn host_speaks(&self) -> bool {
        let Some(from_host) = &self.from_host else { return false };
        let mut wanted = [PollFd::new(from_host.as_ref(), PollFlags::IN)];
        poll(&mut wanted, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
    }
}

/// What an agent can do in its place besides running workers: gather facts, perform steps, guard
/// what is written, and read counters.
pub trait Handler {
    /// Receives, before all requests, the link by which a step reports its progress.
    fn attach_progress_line(&mut self, _line: ProgressLine) {}
    /// Gathers the facts of this place.
    ///
    /// # Errors
    /// What failed, as for all methods here. A [`Failed`] among the causes carries the exit code.
    fn gather_facts(&mut self, devices: &[PathBuf], programs: &[String]) -> Result<Facts>;
    fn handle_step(&mut self, payload: serde_json::Value) -> Result<serde_json::Value>;
    fn inspect_path(&mut self, path: &Path) -> Result<serde_json::Value>;
    fn ask_guard(&mut self, payload: serde_json::Value) -> Result<serde_json::Value>;
    /// Checks that a target may be written, just before a worker or a trial that writes to it.
    ///
    /// # Errors
    /// Why the target must not be written.
    fn permit_write(&mut self, target: &TargetSpec) -> Result<()>;
    /// Finds the block device with this serial or PCI address.
    ///
    /// # Errors
    /// If there is no such device, or there are several.
    fn find_block_device(&mut self, key: &DiskKey) -> Result<PathBuf>;
    /// Waits until no data for the paths is dirty in memory and no I/O is in flight on the devices
    /// below them, at most `limit`. The result says if it gave up.
    ///
    /// # Errors
    /// What could not be read.
    fn await_quiet(&mut self, paths: &[PathBuf], limit: Duration) -> Result<QuiesceGate>;
    fn cpu_times(&mut self) -> Result<CpuTimes>;
    /// Returns the CPU time of each thread since its start, in nanoseconds; `None` if the thread
    /// has ended or the kernel does not report it.
    fn thread_times(&mut self, threads: &[ThreadId]) -> Vec<Option<u64>> {
        vec![None; threads.len()]
    }
    /// Reads CLOCK_MONOTONIC in nanoseconds. Tests replace it.
    fn clock_ns(&mut self) -> u64 {
        clock::monotonic_ns()
    }
    /// Returns how many bytes of a file before `end` are holes or unwritten extents; `None` if that
    /// is not known.
    fn unwritten_bytes(&mut self, _path: &Path, _end: u64) -> Option<u64> {
        None
    }
    /// Returns what the devices below these paths have completed since boot; empty if none reports.
    fn device_reading(&mut self, _paths: &[PathBuf]) -> DeviceReading {
        DeviceReading::default()
    }
    /// Prepares a worker that issues load; `beside` is an existing one, whose threads it may share.
    /// Tests replace it.
    ///
    /// # Errors
    /// Why the job cannot run there.
    fn prepare_load_worker(
        &mut self,
        targets: &[TargetSpec],
        jobs: &[Job],
        engine: Option<Engine>,
        beside: Option<&Worker>,
    ) -> Result<Box<dyn LoadEngine>> {
        Ok(engine::prepare(targets, jobs, engine, beside).map_err(Failed::from)?)
    }
    /// Returns a reader of CPU times since boot that works in any thread, or `None` without one.
    /// Called before each series.
    fn machine_reader(&mut self) -> Option<ReadMachine> {
        None
    }
    /// Prepares a worker that is a probe of this place.
    ///
    /// # Errors
    /// Why it cannot run here.
    fn prepare_probe_worker(&mut self, probe: &ProbeSpec) -> Result<Box<dyn LoadEngine>> {
        Ok(crate::probe::prepare(probe).map_err(Failed::from)?)
    }
}

/// Serves until `bye` or the end of the stream, then ends all workers.
///
/// # Errors
/// When the stream is garbled or fails; its mere end is no error.
pub fn serve(
    mut reader: impl Read + AsFd,
    mut writer: impl Write + Send,
    handler: &mut dyn Handler,
) -> Result<()> {
    let line = ProgressLine::from_reader(&reader)?;
    handler.attach_progress_line(line.clone());
    writer.write_all(PREAMBLE).and_then(|()| writer.flush()).context("cannot greet the host")?;
    let (writer, under_way) = (Mutex::new(writer), Mutex::new(None));
    let (workers, paths, servers) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut agent =
        ServingAgent { workers, paths, servers, reading_ns: None, handler, line: line.clone() };
    thread::scope(|scope| {
        let (served, ended): (Sender<()>, _) = channel();
        scope.spawn(|| report_progress(&writer, &under_way, &line, ended));
        let result = answer_all(&mut reader, &writer, &under_way, &line, &mut agent);
        drop(served);
        result
    })
}

/// Request under way: its number, and the time at which it began.
type UnderWay = Mutex<Option<(u64, Instant)>>;

fn answer_all<W: Write>(
    reader: &mut impl Read,
    writer: &Mutex<W>,
    under_way: &UnderWay,
    line: &ProgressLine,
    agent: &mut ServingAgent,
) -> Result<()> {
    loop {
        let frame = match frame::read_frame(reader) {
            Ok(frame) => frame,
            Err(FrameError::Eof) => return Ok(()),
            Err(error) => return Err(error).context("cannot read the host's request"),
        };
        if frame.kind == FrameKind::Stop {
            // The request that the stop was about has been answered, and saw the stop itself.
            continue;
        }
        let id = serde_json::from_slice::<Envelope>(&frame.json).map_or(0, |envelope| envelope.id);
        let began = Instant::now();
        *hold(&line.far) = None;
        *hold(under_way) = Some((id, began));
        let mut report = |acknowledged| match progress(writer, id, began, Some(acknowledged), None)
        {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        };
        let answer = agent.answer(&frame, &mut report);
        // Stop reporting progress of this request from here on: it would come after its answer.
        *hold(under_way) = None;
        let bye = matches!(answer.0, Response::Bye);
        send(writer, FrameKind::Response, id, &answer.0, answer.1)
            .context("cannot answer the host")?;
        if bye {
            return Ok(());
        }
    }
}

/// Sends a progress frame each half second, as long as a request is under way for at least that
/// time. One thread does so for all requests: to start one for each took an emulated guest longer
/// than everything else that it does for a slice.
fn report_progress<W: Write>(
    writer: &Mutex<W>,
    under_way: &UnderWay,
    line: &ProgressLine,
    ended: Receiver<()>,
) {
    // Half of the interval: a request that began after a look is then reported in time, too.
    while ended.recv_timeout(PROGRESS_EVERY / 2) == Err(RecvTimeoutError::Timeout) {
        let request = hold(under_way);
        let late = request.filter(|(_, began)| began.elapsed() >= PROGRESS_EVERY / 2);
        let far = hold(&line.far).clone();
        if late.is_some_and(|(id, began)| progress(writer, id, began, None, far).is_err()) {
            return;
        }
    }
}

fn progress<W: Write>(
    writer: &Mutex<W>,
    id: u64,
    began: Instant,
    acknowledged: Option<u64>,
    far: Option<serde_json::Value>,
) -> Result<(), FrameError> {
    let body = WireProgress { running_ms: began.elapsed().as_millis() as u64, acknowledged, far };
    send(writer, FrameKind::Progress, id, &body, Vec::new())
}

/// Serves on stdin and stdout, then removes the binary and its folder if ssh transport put them
/// there.
///
/// # Errors
/// As [`serve`].
pub fn serve_stdio(handler: &mut dyn Handler) -> Result<()> {
    let served = stdio()
        .context("cannot use stdin and stdout")
        .and_then(|(reader, writer)| serve(reader, writer, handler));
    iotax_drivers::agent_copy::remove_self();
    served
}

/// Returns standard input and output without std's buffers: a line-buffered stdout would cut frames
/// at each newline byte.
fn stdio() -> std::io::Result<(std::fs::File, std::fs::File)> {
    let reader = std::io::stdin().as_fd().try_clone_to_owned()?;
    let writer = std::io::stdout().as_fd().try_clone_to_owned()?;
    Ok((reader.into(), writer.into()))
}

type AgentAnswer = (Response, Vec<u8>);

/// Sends the number of the last acknowledged write to the host. Returns `Break` if the host is
/// gone.
type AckReporter<'a> = &'a mut dyn FnMut(u64) -> ControlFlow<()>;

struct ServingAgent<'h> {
    workers: BTreeMap<u32, Box<dyn LoadEngine>>,
    paths: BTreeMap<u32, Vec<PathBuf>>,
    /// Other ends of network probes in other places, by the number of the probe's worker there.
    servers: BTreeMap<u32, OtherEnd>,
    /// Time that a reading of the CPU times takes, in nanoseconds; `None` if it was not measured
    /// yet.
    reading_ns: Option<u64>,
    handler: &'h mut dyn Handler,
    line: ProgressLine,
}

impl ServingAgent<'_> {
    fn answer(&mut self, frame: &WireFrame, report: AckReporter) -> AgentAnswer {
        let asked = parse(frame);
        let worked = asked.and_then(|request| {
            let name = request.name();
            catch_unwind(AssertUnwindSafe(|| self.perform(request, report))).unwrap_or_else(
                |panic| Err(anyhow!("the agent panicked in \"{name}\": {}", panic_words(&*panic))),
            )
        });
        worked.unwrap_or_else(|error| (error_response(&error), Vec::new()))
    }

    fn perform(&mut self, request: WireRequest, report: AckReporter) -> Result<AgentAnswer> {
        let response = match request {
            WireRequest::Hello { protocol, iotax, .. } => hello(protocol, &iotax)?,
            WireRequest::Facts { devices, programs } => {
                Response::Facts { facts: self.handler.gather_facts(&devices, &programs)? }
            }
            WireRequest::Clock => Response::Clock { monotonic_ns: self.handler.clock_ns() },
            WireRequest::Prepare { worker, targets, jobs, engine, probe } => {
                self.prepare(worker, &targets, &jobs, engine, probe.as_ref())?
            }
            WireRequest::Listen { worker, probe, bind, port } => {
                self.listen(worker, &probe, bind, port)?
            }
            WireRequest::Unlisten { worker } => {
                self.servers.remove(&worker);
                Response::Unlistened
            }
            WireRequest::Address(card) => {
                let interface = net::give_address(&card.mac, card.address, card.prefix);
                let interface =
                    interface.map_err(|error| Failed::from(EngineError::from(error)))?;
                Response::Addressed { interface }
            }
            WireRequest::Slice { worker, spec } => {
                let (scalars, blob) = pack(&self.slice(worker, &spec)?);
                return Ok((Response::Slice(scalars), blob));
            }
            WireRequest::Series { workers, spec } => {
                let (scalars, blob) = pack_series(&self.series(&workers, &spec)?);
                return Ok((Response::Series(scalars), blob));
            }
            WireRequest::Verify { worker, read } => {
                let line = self.line.clone();
                let mut progress = |share: f64| line.report(json!({ "read_back": share }));
                let found = self
                    .worker(worker)?
                    .verify_writes(read, &mut progress)
                    .map_err(Failed::from)?;
                Response::Verified { found }
            }
            WireRequest::End { worker } => {
                self.worker(worker)?;
                self.workers.remove(&worker);
                Response::Ended
            }
            WireRequest::EndAll => {
                self.workers.clear();
                self.servers.clear();
                Response::Ended
            }
            WireRequest::DurableWrite { target, spec } => {
                self.durable_write(&target, &spec, report)?
            }
            WireRequest::DurableVerify { target, spec, acknowledged, unreadable } => {
                let disk = DirectDisk::open(&target.path, false)?;
                let Verified { found, unreadable } =
                    verifier::verify(&disk, &spec, acknowledged, &unreadable);
                Response::DurableVerified { found, unreadable }
            }
            WireRequest::Step { payload } => {
                Response::Step { payload: self.handler.handle_step(payload)? }
            }
            WireRequest::Inspect { path } => {
                Response::Inspect { payload: self.handler.inspect_path(&path)? }
            }
            WireRequest::Judge { payload } => {
                Response::Judge { payload: self.handler.ask_guard(payload)? }
            }
            WireRequest::DiskAtPci { address } => {
                Response::Disk { path: self.handler.find_block_device(&DiskKey::Pci(address))? }
            }
            WireRequest::DiskBySerial { serial } => {
                Response::Disk { path: self.handler.find_block_device(&DiskKey::Serial(serial))? }
            }
            WireRequest::Gate { paths, limit_ns } => {
                Response::Gate(self.handler.await_quiet(&paths, Duration::from_nanos(limit_ns))?)
            }
            WireRequest::UnwrittenBytes { path, end } => {
                Response::UnwrittenBytes { bytes: self.handler.unwritten_bytes(&path, end) }
            }
            WireRequest::DeviceCounts { paths } => {
                Response::DeviceCounts(self.handler.device_reading(&paths))
            }
            WireRequest::ThreadTimes { threads } => Response::ThreadTimes {
                at_ns: self.handler.clock_ns(),
                ns: self.handler.thread_times(&threads),
            },
            WireRequest::CpuTimes => Response::CpuTimes(self.handler.cpu_times()?),
            WireRequest::Bye => {
                self.workers.clear();
                Response::Bye
            }
        };
        Ok((response, Vec::new()))
    }

    fn prepare(
        &mut self,
        number: u32,
        targets: &[TargetSpec],
        jobs: &[Job],
        engine: Option<Engine>,
        probe: Option<&ProbeSpec>,
    ) -> Result<Response> {
        if self.workers.contains_key(&number) {
            return Err(Failed::input(format!("worker {number} exists already")).into());
        }
        if jobs.iter().any(|job| job.rw.writes()) {
            targets.iter().try_for_each(|target| self.handler.permit_write(target))?;
        }
        let worker = match probe {
            Some(probe) => self.handler.prepare_probe_worker(probe)?,
            None => {
                let beside = self.workers.values().find_map(|other| other.own_worker());
                self.handler.prepare_load_worker(targets, jobs, engine, beside)?
            }
        };
        let prepared = Prepared {
            engine: worker.name(),
            why: worker.choice_reason(),
            command: worker.slice_command(),
        };
        self.workers.insert(number, worker);
        self.paths.insert(number, targets.iter().map(|target| target.path.clone()).collect());
        Ok(Response::Prepared(prepared))
    }

    fn listen(
        &mut self,
        number: u32,
        probe: &ProbeSpec,
        bind: Option<IpAddr>,
        port: Option<u16>,
    ) -> Result<Response> {
        let server = OtherEnd::listen(probe, bind.unwrap_or(Ipv4Addr::UNSPECIFIED.into()), port);
        let server = server.map_err(|error| Failed::from(EngineError::from(error)))?;
        let (port, token) = (server.address().port(), server.token());
        self.servers.insert(number, server);
        let addresses = bind.map_or_else(net::addresses, |bind| vec![bind]);
        Ok(Response::Listening(Listening { port, token, addresses }))
    }

    fn durable_write(
        &mut self,
        target: &TargetSpec,
        spec: &TrialSpec,
        report: AckReporter,
    ) -> Result<Response> {
        self.handler.permit_write(target)?;
        let disk = DirectDisk::open(&target.path, true)?;
        Ok(Response::DurableWritten { acknowledged: writer::write(&disk, spec, report)? })
    }

    /// Runs a slice, and reads CPU times and device counts just before and after it. The host would
    /// read them too early, before the wait for a common start, and too late, after others have
    /// answered.
    fn slice(&mut self, worker: u32, spec: &SliceSpec) -> Result<Ran> {
        self.worker(worker)?;
        if let Some(begin_ns) = spec.begin_ns {
            thread::sleep(Duration::from_nanos(
                begin_ns.saturating_sub(clock::monotonic_ns() + READY_BEFORE_NS),
            ));
        }
        let paths = self.paths.get(&worker).cloned().unwrap_or_default();
        let devices_before = self.handler.device_reading(&paths);
        // A place without /proc/stat has none, and the record says so.
        let before = self.handler.cpu_times().ok();
        let result = self.worker(worker)?.run_slice(spec).map_err(Failed::from)?;
        let cpu =
            before.zip(self.handler.cpu_times().ok()).map(|(from, to)| to.elapsed_since(from));
        let devices = [devices_before, self.handler.device_reading(&paths)];
        let exchange = self.worker(worker)?.probe_exchange();
        Ok(Ran { result, cpu, exchange, devices })
    }

    fn series(&mut self, numbers: &[u32], spec: &SeriesSpec) -> Result<SeriesResult> {
        let shortest_ns = spec.lengths.iter().map(|length| length.window_ns).min().unwrap_or(0);
        // Reading between windows costs time only.
        let read = self.handler.machine_reader().filter(|read| {
            let took_ns = *self.reading_ns.get_or_insert_with(|| timed(read));
            took_ns * MOST_READING <= shortest_ns
        });
        let mut native = Vec::with_capacity(numbers.len());
        for number in numbers {
            native.push(self.worker(*number)?.own_worker().is_some());
        }
        if native.iter().all(|native| *native) {
            let workers: Vec<&Worker> = numbers
                .iter()
                .filter_map(|number| self.workers.get(number)?.own_worker())
                .collect();
            return Ok(run_series(&workers, spec, read.as_ref())
                .map_err(EngineError::from)
                .map_err(Failed::from)?);
        }
        self.series_of_slices(numbers, spec)
    }

    /// Runs a series slice by slice, for workers that are not all of our own load generator.
    /// Ignores `begins_ns`; transients and machine readings stay empty.
    fn series_of_slices(&mut self, numbers: &[u32], spec: &SeriesSpec) -> Result<SeriesResult> {
        let mut result = SeriesResult {
            sums: vec![SliceResult::default(); numbers.len()],
            transients: vec![Transient::default(); numbers.len()],
            machine: vec![None; numbers.len()],
            slices: Vec::new(),
        };
        for (position, at) in spec.order.iter().enumerate() {
            let (number, length) =
                numbers.get(*at).zip(spec.lengths.get(*at)).context("the order names no worker")?;
            let is_last = !spec.order[position + 1..].contains(at);
            let bound = SliceBound::Time { ns: length.window_ns };
            let asked = SliceSpec::starting_now(bound, length.discard_ns, spec.flush && is_last);
            let slice = self.worker(*number)?.run_slice(&asked).map_err(Failed::from)?;
            let (discarded_ns, window_ns) = (slice.discarded_ns, slice.window_ns);
            result.slices.push(ShortSlice {
                worker: *at,
                start_ns: slice.window_start_ns.saturating_sub(discarded_ns),
                window_ns,
                ios: slice.directions().iter().map(|one| one.ios).sum(),
                took_ns: discarded_ns + window_ns + slice.drain_ns,
            });
            let sum = &mut result.sums[*at];
            (sum.window_ns, sum.discarded_ns) =
                (sum.window_ns + window_ns, sum.discarded_ns + discarded_ns);
            let (discarded, drained) = (sum.discarded_ns, sum.drain_ns + slice.drain_ns);
            sum.add(&slice);
            (sum.discarded_ns, sum.drain_ns) = (discarded, drained);
            sum.flush_ns = slice.flush_ns.map(|ns| sum.share_of_windows(ns));
        }
        Ok(result)
    }

    fn worker(&mut self, number: u32) -> Result<&mut Box<dyn LoadEngine>> {
        self.workers
            .get_mut(&number)
            .ok_or_else(|| Failed::input(format!("there is no worker {number}")).into())
    }
}

/// Reads five times and returns how long the quickest reading took, in nanoseconds.
fn timed(read: &ReadMachine) -> u64 {
    let once = || {
        let began_ns = clock::monotonic_ns();
        let _ = read();
        clock::monotonic_ns() - began_ns
    };
    (0..5).map(|_| once()).min().unwrap_or(u64::MAX)
}

fn parse(frame: &WireFrame) -> Result<WireRequest> {
    if frame.kind != FrameKind::Request {
        return Err(anyhow!("a {:?} frame is no request", frame.kind));
    }
    let envelope: Envelope =
        serde_json::from_slice(&frame.json).context("cannot parse the request's envelope")?;
    serde_json::from_str(envelope.body.get()).with_context(|| {
        format!("cannot understand the request {}", frame::escaped(envelope.body.get().as_bytes()))
    })
}

fn hello(protocol: u16, iotax: &str) -> Result<Response> {
    if protocol != PROTOCOL {
        return Err(anyhow!(
            "the host (iotax {iotax}) speaks wire protocol {protocol}, this agent {PROTOCOL}"
        ));
    }
    let system = rustix::system::uname();
    Ok(Response::Hello(AgentInfo {
        protocol: PROTOCOL,
        iotax: env!("CARGO_PKG_VERSION").to_owned(),
        hostname: system.nodename().to_string_lossy().into_owned(),
        arch: system.machine().to_string_lossy().into_owned(),
        kernel: system.release().to_string_lossy().into_owned(),
        pid: std::process::id(),
    }))
}

fn error_response(error: &anyhow::Error) -> Response {
    Response::Error { message: format!("{error:#}"), code: iotax_units::exit::code_of(error) }
}

fn panic_words(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without words".into())
}

/// Starts an agent in a thread of this process, and returns a peer that is connected to it by a
/// socket pair, as any other agent is by its stream.
///
/// # Errors
/// If no socket pair can be made.
pub fn in_process(
    name: impl Into<String>,
    mut handler: Box<dyn Handler + Send>,
) -> std::io::Result<Peer> {
    let (ours, theirs) = UnixStream::pair()?;
    let theirs_writer = theirs.try_clone()?;
    let (working, ended) = channel::<()>();
    thread::spawn(move || {
        // A stream that broke is seen at its other end.
        let _ = serve(theirs, theirs_writer, &mut *handler);
        drop(handler);
        drop(working);
    });
    let link = PeerLink::of_socket(ours)?;
    Ok(Peer::new(name, link, Box::new(String::new)).with_end(ended))
}

/// Sends an answer. One that cannot be framed (too large, a path without JSON form) becomes an
/// error answer.
fn send<W: Write>(
    writer: &Mutex<W>,
    kind: FrameKind,
    id: u64,
    body: &impl Serialize,
    blob: Vec<u8>,
) -> Result<(), FrameError> {
    let bytes = enclose(id, body).map_err(|error| error.to_string()).and_then(|json| {
        frame::encode(&WireFrame { kind, json, blob }).map_err(|error| error.to_string())
    });
    let bytes = match bytes {
        Ok(bytes) => bytes,
        Err(message) => unframable(id, &message)?,
    };
    let mut writer = hold(writer);
    writer.write_all(&bytes)?;
    Ok(writer.flush()?)
}

fn unframable(id: u64, cause: &str) -> Result<Vec<u8>, FrameError> {
    let error = anyhow!("the answer cannot be sent: {cause}");
    let json =
        enclose(id, &error_response(&error)).map_err(|error| FrameError::Io(error.into()))?;
    frame::encode(&WireFrame { kind: FrameKind::Response, json, blob: Vec::new() })
}

fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "serving_tests.rs"]
mod tests;
