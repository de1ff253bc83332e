//! Resident worker: prepare, run a slice, rest, run a slice, end. On several targets it runs the
//! jobs on all of them at once. Jobs that make no sense or do not fit a target are refused before
//! any thread starts.

use crate::buffer::BufferNeeds;
use crate::crew::{self, JoinedLanes, LoadCrew};
use crate::engine::choose::choose;
use crate::engine::trial::EngineTrial;
use crate::gate::{BeginTime, StartGate};
use crate::lane::{FlushResult, LaneResult, Setup, SliceOrder, SliceStop};
use crate::offsets::{Cursor, CursorShare};
use crate::pace::{self, Pace, Schedule};
use crate::seat::Seat;
use crate::source::share_out;
use crate::spec::{LoadError, SliceBound, SliceResult, SliceSpec, TargetSpec};
use crate::stamps::Stamps;
use crate::target::LoadTarget;
use crate::transient::Transient;
use crate::verify::{self, BackOrder, Ledger, VerifiedBlocks, VerifiedWorker};
use crate::{Chosen, EngineName, Hold, Job, Stamping, clock};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

const MAX_THREADS: u64 = 4096;

/// Maximum number of I/Os in flight that a job may ask of a thread: as many as one ring can be made
/// for.
pub const MAX_DEPTH: u32 = 32_768;

/// Largest block size in bytes: one system call moves a little less than 2 GiB.
const MAX_BS: u64 = 1 << 30;

/// Longest fixed hold: far above any layer, far below what would look like a dead target.
const MAX_HOLD_NS: u64 = 60_000_000_000;

/// Threads, memory and queue that stay resident on one target or several. Dropping a worker frees
/// its memory, and ends its threads unless another worker shares them. If an I/O does not come
/// back, its thread and memory stay until it does.
pub struct Worker {
    chosen: Chosen,
    /// Threads, shared with workers that were prepared beside this one.
    crew: Arc<Mutex<LoadCrew>>,
    /// Number by which the threads of the crew find this worker's lanes.
    lane: u32,
    /// Targets in the order in which the threads are assigned to them: thread i works on target i
    /// modulo their number.
    targets: Vec<LoadTarget>,
    block_sizes: Vec<u64>,
    /// For each thread, the ledger of its job's blocks if the job verifies.
    ledgers: Vec<Option<Arc<Ledger>>>,
    /// True if the page cache is between a job that verifies and its target.
    cached: bool,
    end_fsync: bool,
    /// True if a job has a rate.
    paced: bool,
    last_drain_ns: u64,
}

impl Worker {
    /// Opens the targets, allocates buffers, starts the threads and leaves them waiting. Every
    /// target gets every job: numjobs threads with iodepth I/Os in flight each. On each target one
    /// block per job is read, and a few more where io_uring is tried; nothing is written. One
    /// engine serves all targets.
    ///
    /// # Errors
    /// [`LoadError::Unfit`] when there is no target or job, two targets are the same, a job makes
    /// no sense, all jobs need too many threads or too much memory, or a job does not fit a target,
    /// the engine or the machine; [`LoadError::System`] when a target cannot be opened or read, or
    /// memory, threads or the ring cannot be had.
    pub fn prepare(
        targets: &[TargetSpec],
        jobs: &[Job],
        engine: Option<EngineName>,
    ) -> Result<Worker, LoadError> {
        Worker::prepare_beside(None, targets, jobs, engine)
    }

    /// Prepares a worker as [`Worker::prepare`] does, but in the threads of `other` if its own may
    /// run on the same processors with the same I/O priority. Slices of both may then follow each
    /// other in a series without a thread being woken. A stuck thread of either worker ends both.
    ///
    /// # Errors
    /// The errors of [`Worker::prepare`].
    pub fn prepare_beside(
        other: Option<&Worker>,
        targets: &[TargetSpec],
        jobs: &[Job],
        engine: Option<EngineName>,
    ) -> Result<Worker, LoadError> {
        check_jobs(jobs)?;
        check_memory(jobs, targets.len())?;
        let inspected = inspect(targets)?;
        let fitted = fit(&inspected, jobs)?;
        let mut chosen = choose(engine, &fitted)?;
        chosen.why += &stamped(jobs);
        jobs.iter().try_for_each(Seat::check_seats)?;
        check_threads(jobs, inspected.len(), chosen.name)?;
        let setups = setups(&fitted, &verify::ledgers(&fitted, chosen.name)?, chosen.name)?;
        let ledgers = setups.iter().map(|setup| setup.ledger.clone()).collect();
        let block_sizes = setups.iter().map(|setup| setup.job.bs).collect();
        let shared = other.map(|other| &other.crew).filter(|crew| crew::lock(crew).suits(&setups));
        let crew = shared.map_or_else(|| Arc::new(Mutex::new(LoadCrew::new())), Arc::clone);
        let JoinedLanes { lane, lacks } =
            crew::lock(&crew).join(chosen.name.kind(), setups).map_err(|(thread, error)| {
                inspected[thread % inspected.len()].system("start load threads on", error)
            })?;
        if !lacks.is_empty() {
            let lacks: Vec<&str> = lacks.into_iter().collect();
            chosen.why += &format!("; without {}", lacks.join(", without "));
        }
        Ok(Worker {
            chosen,
            crew,
            lane,
            targets: inspected,
            block_sizes,
            ledgers,
            cached: jobs.iter().any(|job| job.verify && !job.direct),
            end_fsync: jobs.iter().any(|job| job.end_fsync && job.rw.writes()),
            paced: jobs.iter().any(|job| job.rate_iops.is_some()),
            last_drain_ns: 0,
        })
    }

    /// Returns the engine, which was chosen once for all jobs and targets when the worker was made,
    /// and why.
    pub fn engine(&self) -> &Chosen {
        &self.chosen
    }

    /// Returns the number of load threads of all targets.
    pub fn threads(&self) -> usize {
        self.block_sizes.len()
    }

    /// Returns true if a job has a rate.
    pub(crate) fn is_paced(&self) -> bool {
        self.paced
    }

    /// Returns true if a job asks for a flush when a slice ends (`end_fsync`).
    pub(crate) fn flushes_at_end(&self) -> bool {
        self.end_fsync
    }

    pub(crate) fn crew(&self) -> &Arc<Mutex<LoadCrew>> {
        &self.crew
    }

    pub(crate) fn lane(&self) -> u32 {
        self.lane
    }

    pub(crate) fn begin_series(&self, bin_ns: u64) -> Result<(), LoadError> {
        crew::lock(&self.crew).begin_series(self.lane, self.threads(), bin_ns)
    }

    pub(crate) fn end_series(&self) -> Result<(SliceResult, Transient), LoadError> {
        let lanes = crew::lock(&self.crew).end_series(self.lane, self.threads())?;
        let (mut sum, mut transient) = (SliceResult::default(), Transient::default());
        for (thread, (mut measured, of_thread)) in lanes.into_iter().enumerate() {
            measured.first_error = measured.first_error.map(|words| self.said_by(thread, &words));
            self.add_thread(&mut sum, thread, &measured);
            transient.merge(&of_thread);
        }
        Ok((sum, transient))
    }

    /// Adds the results of a thread to the sum and to its target.
    fn add_thread(&self, sum: &mut SliceResult, thread: usize, measured: &SliceResult) {
        sum.add(measured);
        if self.targets.len() > 1 {
            sum.targets.resize(self.targets.len(), (0, 0));
            let (ios, bytes) = &mut sum.targets[thread % self.targets.len()];
            for direction in measured.directions() {
                (*ios, *bytes) = (*ios + direction.ios, *bytes + direction.bytes);
            }
        }
    }

    /// Runs one slice and leaves the queue empty.
    ///
    /// # Errors
    /// [`LoadError::Thread`] when a load thread died, is stuck, or its engine failed,
    /// [`LoadError::Failing`] when the target did nothing but fail, [`LoadError::Unfit`] for a
    /// slice of no length. Other I/O errors are counted, not returned.
    pub fn measure_slice(&mut self, spec: &SliceSpec) -> Result<SliceResult, LoadError> {
        let discard_ns = spec.min_discard_ns.max(self.last_drain_ns.saturating_mul(2));
        let late_ns = self.most_late_ns(spec.bound, discard_ns);
        let begin = spec
            .begin_ns
            .map(|at_ns| BeginTime { at_ns, latest_ns: at_ns.saturating_add(late_ns) });
        let orders = self.orders(spec.bound, discard_ns, begin)?;
        let mut lanes = crew::lock(&self.crew).run_crew_slice(self.lane, orders)?;
        let mut result = SliceResult::default();
        for (thread, lane) in lanes.iter_mut().enumerate() {
            let words = lane.measured.first_error.take();
            lane.measured.first_error = words.map(|words| self.said_by(thread, &words));
            self.add_thread(&mut result, thread, &lane.measured);
        }
        if lanes.iter().any(|lane| lane.aborted) {
            let (errors, first) = (result.errors, result.first_error.unwrap_or_default());
            return Err(LoadError::Failing { errors, first });
        }
        match spec.bound {
            SliceBound::Time { ns } => self.set_timed_window(&mut result, &lanes, discard_ns, ns),
            SliceBound::Bytes { .. } => set_whole_window(&mut result, &lanes),
        }
        if spec.flush || self.end_fsync {
            self.flush_all(&mut result)?;
        }
        Ok(result)
    }

    /// Returns true if a job of this worker verifies.
    pub fn verifies(&self) -> bool {
        self.ledgers.iter().any(Option::is_some)
    }

    /// Reads back every block that was written by jobs with `verify`. The threads that wrote the
    /// blocks read them in the way of their jobs: with O_DIRECT, or after an fsync that empties the
    /// page cache. `watch_share` gets the share of the blocks that is done, from 0 to 1, several
    /// times a second, and ends the reading if it breaks. With `read` false, or after a break, the
    /// blocks that are left are not read. The result also has what the load's own reads have shown
    /// since the last call.
    ///
    /// # Errors
    /// [`LoadError::Thread`] when a load thread died, is stuck, or has no memory for the reads;
    /// [`LoadError::System`] when fsync fails. What is wrong with blocks is in the result.
    pub fn verify(
        &mut self,
        read: bool,
        watch_share: &mut dyn FnMut(f64) -> ControlFlow<()>,
    ) -> Result<VerifiedWorker, LoadError> {
        let begin_ns = clock::monotonic_ns();
        if read && self.cached {
            let settled = crew::lock(&self.crew).settle_lanes(self.lane, self.targets.len())?;
            for (target, result) in self.targets.iter().zip(settled) {
                result.map_err(|error| target.system("write the page cache of", error))?;
            }
        }
        let stop = Arc::new(AtomicBool::new(!read));
        let (orders, total) = self.back_orders(&stop);
        let done = orders.first().map(|order| Arc::clone(&order.done)).unwrap_or_default();
        let share = || done.load(Ordering::Relaxed) as f64 / total.max(1) as f64;
        let mut watch = || {
            if watch_share(share()).is_break() {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let parts = crew::lock(&self.crew).read_back(self.lane, orders, &mut watch)?;
        let whole = done.load(Ordering::Relaxed) == total;
        let (load, back) = parts
            .into_iter()
            .fold((VerifiedBlocks::default(), VerifiedBlocks::default()), |(load, back), part| {
                (load.and(part.load), back.and(part.back))
            });
        let mut sizes: Vec<u64> = self.ledgers.iter().flatten().map(|ledger| ledger.bs).collect();
        sizes.sort_unstable();
        sizes.dedup();
        Ok(VerifiedWorker { load, back, whole, sizes, took_ns: clock::monotonic_ns() - begin_ns })
    }

    /// Returns an order for each thread, and the number of blocks of all ledgers. Threads that
    /// share a ledger divide its blocks as they go.
    fn back_orders(&self, stop: &Arc<AtomicBool>) -> (Vec<BackOrder>, u64) {
        let (done, mut total) = (Arc::<AtomicU64>::default(), 0);
        let mut orders: Vec<BackOrder> = Vec::new();
        for (thread, ledger) in self.ledgers.iter().enumerate() {
            let same = |other: &Option<Arc<Ledger>>| match (other, ledger) {
                (Some(other), Some(ledger)) => Arc::ptr_eq(other, ledger),
                _ => false,
            };
            let next = match self.ledgers[..thread].iter().position(same) {
                Some(first) => Arc::clone(&orders[first].next),
                None => {
                    total += ledger.as_ref().map_or(0, |ledger| ledger.blocks());
                    Arc::default()
                }
            };
            orders.push(BackOrder { next, done: Arc::clone(&done), stop: Arc::clone(stop) });
        }
        (orders, total)
    }

    /// Returns how late a worker may be, in nanoseconds, and still begin as if it were on time:
    /// half of the discarded start, or with a rate a fifth, since the I/Os that became due
    /// meanwhile must be caught up. 0 in a slice by bytes.
    fn most_late_ns(&self, bound: SliceBound, discard_ns: u64) -> u64 {
        match bound {
            SliceBound::Time { .. } if self.paced => discard_ns / 5,
            SliceBound::Time { .. } => discard_ns / 2,
            SliceBound::Bytes { .. } => 0,
        }
    }

    /// Returns `words`, with several targets after the path of the thread's target.
    fn said_by(&self, thread: usize, words: &str) -> String {
        match self.targets.as_slice() {
            [_] => words.to_owned(),
            several => format!("{}: {words}", several[thread % several.len()].path().display()),
        }
    }

    fn orders(
        &self,
        bound: SliceBound,
        discard_ns: u64,
        begin: Option<BeginTime>,
    ) -> Result<Vec<SliceOrder>, LoadError> {
        let threads = self.block_sizes.len();
        let stops = match bound {
            SliceBound::Time { ns: 0 } | SliceBound::Bytes { bytes: 0 } => {
                return Err(LoadError::Unfit("a slice of no length measures nothing".into()));
            }
            SliceBound::Time { ns: window_ns } => {
                vec![SliceStop::Time { discard_ns, window_ns }; threads]
            }
            SliceBound::Bytes { bytes } => {
                let shares = share_out(bytes, &self.block_sizes);
                shares.into_iter().map(SliceStop::Blocks).collect()
            }
        };
        let gate = Arc::new(StartGate::new(threads, begin));
        let order = |stop| SliceOrder { stop, gate: gate.clone() };
        Ok(stops.into_iter().map(order).collect())
    }

    fn set_timed_window(
        &mut self,
        result: &mut SliceResult,
        lanes: &[LaneResult],
        discard_ns: u64,
        window_ns: u64,
    ) {
        let start_ns = lanes.first().map_or(0, |lane| lane.start_ns);
        let end_ns = start_ns.saturating_add(discard_ns).saturating_add(window_ns);
        let drained_ns = lanes.iter().map(|lane| lane.drained_ns).max();
        result.window_start_ns = start_ns.saturating_add(discard_ns);
        result.window_ns = window_ns;
        result.discarded_ns = discard_ns;
        result.drain_ns = drained_ns.unwrap_or(end_ns).saturating_sub(end_ns);
        self.last_drain_ns = result.drain_ns;
    }

    pub(crate) fn flush_all(&self, result: &mut SliceResult) -> Result<(), LoadError> {
        let flushed = crew::lock(&self.crew).flush_lanes(self.lane, self.targets.len())?;
        for (thread, one) in flushed.iter().enumerate() {
            result.cpu_user_ns += one.cpu.user_ns;
            result.cpu_system_ns += one.cpu.system_ns;
            if let Err(error) = &one.end_ns {
                result.errors += 1;
                let words = || self.said_by(thread, &format!("final fsync: {error}"));
                result.first_error.get_or_insert_with(words);
            }
        }
        result.flush_ns = time_of(&flushed);
        Ok(())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        crew::lock(&self.crew).leave(self.lane, self.threads());
    }
}

/// Returns a clause on the clock of the latencies, and on how often it is read.
fn stamped(jobs: &[Job]) -> String {
    let clock = Stamps::new().source();
    let mut kinds: Vec<Stamping> = jobs.iter().map(|job| job.stamps).collect();
    kinds.dedup();
    match kinds.as_slice() {
        [Stamping::Each] => format!("; times by {clock}, read for each I/O"),
        [Stamping::Batch] => format!("; times by {clock}, read for each batch"),
        [Stamping::Off] => "; no latencies are recorded".to_string(),
        _ => format!("; times by {clock}, read as each job asks"),
    }
}

/// Returns the time in nanoseconds from the beginning of the first flush to the end of the last;
/// `None` when one failed.
fn time_of(flushed: &[FlushResult]) -> Option<u64> {
    let ends = flushed
        .iter()
        .map(|one| one.end_ns.as_ref().ok().copied())
        .collect::<Option<Vec<u64>>>()?;
    let begin_ns = flushed.iter().map(|one| one.begin_ns).min()?;
    Some(ends.into_iter().max()?.saturating_sub(begin_ns))
}

/// Sets the window of a slice by bytes: from the first submission to the last acknowledgement.
fn set_whole_window(result: &mut SliceResult, lanes: &[LaneResult]) {
    let first_ns = lanes.iter().filter_map(|lane| lane.first_submit_ns).min();
    let last_ns = lanes.iter().filter_map(|lane| lane.last_release_ns).max();
    if let (Some(first_ns), Some(last_ns)) = (first_ns, last_ns) {
        result.window_start_ns = first_ns;
        result.window_ns = last_ns.saturating_sub(first_ns);
    }
}

/// Inspects every target. Refuses an empty list, a target that is named twice, and a hold of more
/// than [`MAX_HOLD_NS`].
fn inspect(specs: &[TargetSpec]) -> Result<Vec<LoadTarget>, LoadError> {
    if specs.is_empty() {
        return Err(LoadError::Unfit("there is no target".into()));
    }
    specs.iter().try_for_each(|spec| check_hold(spec.hold))?;
    let targets = specs.iter().map(LoadTarget::inspect).collect::<Result<Vec<_>, _>>()?;
    for (at, target) in targets.iter().enumerate() {
        if let Some(twin) = targets[..at].iter().find(|twin| twin.is_same(target)) {
            return Err(LoadError::Unfit(format!(
                "{} and {} are the same file or device; hint: name each member once",
                twin.path().display(),
                target.path().display()
            )));
        }
    }
    Ok(targets)
}

/// Checks every job on each target, and opens the target for it. Returns an entry for each job,
/// with one trial for each target.
fn fit<'a>(
    targets: &'a [LoadTarget],
    jobs: &'a [Job],
) -> Result<Vec<Vec<EngineTrial<'a>>>, LoadError> {
    let fit_one = |job: &'a Job, target: &'a LoadTarget| {
        let regions = target.regions(job)?;
        let file = target.open_for_job(job)?;
        target.probe(job, &file, regions[0])?;
        if job.rw.trims() {
            regions.iter().try_for_each(|region| target.check_trim(job, &file, *region))?;
        }
        Ok(EngineTrial { job, target, file, regions })
    };
    jobs.iter().map(|job| targets.iter().map(|target| fit_one(job, target)).collect()).collect()
}

/// Makes a set-up for each thread. Each thread opens its target again, as fio's threads do: the
/// kernel keeps read-ahead per open file. Targets take turns, so the first threads are one of each
/// target, and what does not divide evenly among threads differs by at most a block between
/// targets.
fn setups(
    fitted: &[Vec<EngineTrial>],
    ledgers: &[Vec<Option<Arc<Ledger>>>],
    engine: EngineName,
) -> Result<Vec<Setup>, LoadError> {
    let mut setups = Vec::new();
    let mut walks = 0..;
    for (on_targets, ledgers) in fitted.iter().zip(ledgers) {
        let job = on_targets[0].job;
        let split = split(job, engine);
        for thread in 0..job.numjobs {
            let shared: Vec<(CursorShare, Schedule)> = on_targets
                .iter()
                .zip(&mut walks)
                .map(|(_, walk)| (Cursor::shared(walk), Schedule::default()))
                .collect();
            for _ in 0..split {
                for ((fitted, (shared, schedule)), ledger) in
                    on_targets.iter().zip(&shared).zip(ledgers)
                {
                    let stream = setups.len() as u64;
                    let setup = setup(fitted, shared, schedule, thread, split, stream)?;
                    setups.push(Setup { ledger: ledger.clone(), ..setup });
                }
            }
        }
    }
    Ok(setups)
}

/// Makes the set-up of one of the threads that together make up one fio thread on a target;
/// `thread` is the index of that fio thread among numjobs. The threads go through its region once
/// together, and keep one schedule.
fn setup(
    fitted: &EngineTrial,
    shared: &CursorShare,
    schedule: &Schedule,
    thread: u32,
    split: u32,
    stream: u64,
) -> Result<Setup, LoadError> {
    let job = fitted.job;
    let pace = |rate| Pace::new(rate, schedule.clone());
    Ok(Setup {
        job: job.clone(),
        file: fitted.target.open_for_job(job)?,
        region: fitted.region_of(thread),
        cursor: if split == 1 {
            Cursor::start_own(shared.walk)
        } else {
            Cursor::Shared(shared.clone())
        },
        pace: job.rate_iops.map(pace),
        hold: fitted.target.hold(),
        seat: Seat::from_job(job, shared.walk),
        ledger: None,
        depth: job.iodepth / split,
        stream,
        beat_ns: Arc::default(),
    })
}

fn check_hold(hold: Hold) -> Result<(), LoadError> {
    if hold.ns > MAX_HOLD_NS {
        return Err(LoadError::Unfit(format!("a delay of {} ns is longer than a minute", hold.ns)));
    }
    Ok(())
}

fn check_jobs(jobs: &[Job]) -> Result<(), LoadError> {
    if jobs.is_empty() {
        return Err(LoadError::Unfit("there is no job".into()));
    }
    for job in jobs {
        let refuse = |reason| LoadError::Unfit(format!("job \"{}\": {reason}", job.name));
        oddity(job).map_or(Ok(()), |reason| Err(refuse(reason)))?;
    }
    Ok(())
}

/// Refuses jobs that need more than [`MAX_THREADS`] threads in all, before any is started.
fn check_threads(jobs: &[Job], targets: usize, engine: EngineName) -> Result<(), LoadError> {
    let threads = jobs.iter().map(|job| u64::from(job.numjobs) * u64::from(split(job, engine)));
    let threads = threads.fold(0, u64::saturating_add).saturating_mul(targets as u64);
    if threads > MAX_THREADS {
        return Err(LoadError::Unfit(format!(
            "the jobs need {threads} threads with engine {engine}, more than {MAX_THREADS}; hint: lower iodepth or numjobs"
        )));
    }
    Ok(())
}

/// Refuses jobs whose buffers take more than half of the machine's memory in all, before any is
/// allocated: if memory is promised and not there, the kernel kills some process.
fn check_memory(jobs: &[Job], targets: usize) -> Result<(), LoadError> {
    let of_one = |job: &Job| {
        BufferNeeds::from_job(job, job.iodepth).mapped().map_or(u64::MAX, |bytes| bytes as u64)
    };
    let buffers = |job: &Job| of_one(job).saturating_mul(u64::from(job.numjobs));
    let bytes =
        jobs.iter().map(buffers).fold(0, u64::saturating_add).saturating_mul(targets as u64);
    let memory = rustix::system::sysinfo();
    let half = memory.totalram as u64 * u64::from(memory.mem_unit) / 2;
    if bytes > half {
        return Err(LoadError::Unfit(format!(
            "the jobs need {bytes} bytes of buffers, more than half of this machine's memory; hint: lower bs, iodepth or numjobs"
        )));
    }
    Ok(())
}

/// Returns the number of load threads that make up one fio thread: more than one if a single thread
/// of the engine does not reach the job's depth.
fn split(job: &Job, engine: EngineName) -> u32 {
    job.iodepth.div_ceil(engine.kind().depth.unwrap_or(job.iodepth))
}

/// Returns the reason why a job makes no sense on any target.
fn oddity(job: &Job) -> Option<String> {
    let rate = job.rate_iops.unwrap_or(1);
    let checks = [
        (job.bs == 0 || job.bs > MAX_BS, format!("bs={} is not 1 ..= {MAX_BS} bytes", job.bs)),
        (
            job.iodepth == 0 || job.iodepth > MAX_DEPTH,
            format!("iodepth={} is not 1 ..= {MAX_DEPTH}", job.iodepth),
        ),
        (job.numjobs == 0, "numjobs=0 issues nothing".into()),
        (
            !job.fio_options.is_empty(),
            format!(
                "{} is only fio's; hint: engine fio, or leave it out",
                job.fio_options.join(" ")
            ),
        ),
        (
            job.bs > 0
                && job.stride.is_some_and(|stride| {
                    stride.zone == 0 || stride.zone % job.bs != 0 || stride.skip % job.bs != 0
                }),
            "zonesize and zoneskip are multiples of bs, and zonesize is above 0".into(),
        ),
        (job.rwmixread > 100, format!("rwmixread={} is above 100", job.rwmixread)),
        (
            job.percentage_random > 100,
            format!("percentage_random={} is above 100", job.percentage_random),
        ),
        (
            !job.random_distribution.is_random() && !job.rw.random(),
            format!(
                "random_distribution={} and rw={}, which is sequential; hint: a random rw",
                job.random_distribution,
                job.rw.word()
            ),
        ),
        (
            job.random_map && (!job.rw.random() || !job.random_distribution.is_random()),
            "a random map is of a random rw that hits every block alike; hint: norandommap=1"
                .into(),
        ),
        (
            job.buffer_compress_percentage > 100,
            format!("buffer_compress_percentage={} is above 100", job.buffer_compress_percentage),
        ),
        (
            job.dedupe_percentage > 100,
            format!("dedupe_percentage={} is above 100", job.dedupe_percentage),
        ),
        (
            job.prioclass.is_some_and(|class| class > 3) || job.prio.is_some_and(|level| level > 7),
            "prioclass is 0 ..= 3 and prio 0 ..= 7".into(),
        ),
        (
            rate == 0 || rate > pace::MAX_RATE,
            format!("rate_iops={rate} is not 1 ..= {}", pace::MAX_RATE),
        ),
    ];
    checks.into_iter().find(|(odd, _)| *odd).map(|(_, reason)| reason)
}
