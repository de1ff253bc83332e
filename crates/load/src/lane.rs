//! One load thread's part of a worker: its engine, memory and counts, and the loop that runs a
//! slice. The loop neither allocates nor locks. It reads the clock when it looks at its queue,
//! which ends the I/Os that came back. It reads the clock again for each I/O that it issues, unless
//! the I/O begins with that look: if the job asks for it ([`Stamping`]), or at depth 1 with no data
//! to make.

use crate::buffer::{BufferNeeds, Buffers};
use crate::clock;
use crate::cpu::ThreadCpu;
use crate::engine::io::{Completion, Engine, Io, Op};
use crate::gate::StartGate;
use crate::hold::Holder;
use crate::offsets::{Cursor, Offsets, Region};
use crate::pace::Pace;
use crate::random::Random;
use crate::seat::Seat;
use crate::source::IoSource;
use crate::spec::{Direction, MachineTimes, ReadMachine, ShortLength, SliceResult};
use crate::stamps::Stamps;
use crate::tally::{CompletedIo, Tally};
use crate::transient::Transient;
use crate::verify::{BackOrder, Ledger, ReadBackPass, VerifyChecks};
use crate::{Hold, Job, Stamping};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Time that a sync may take before the thread counts as stuck: it may have to write the whole page
/// cache.
const SYNC_PATIENCE_NS: u64 = 1_800_000_000_000;

/// Everything a load thread needs to prepare itself.
pub(crate) struct Setup {
    pub(crate) job: Job,
    pub(crate) file: File,
    pub(crate) region: Region,
    pub(crate) cursor: Cursor,
    pub(crate) pace: Option<Pace>,
    pub(crate) hold: Hold,
    pub(crate) seat: Seat,
    pub(crate) ledger: Option<Arc<Ledger>>,
    /// I/Os in flight in this thread.
    pub(crate) depth: u32,
    /// Index of this thread's stream of random numbers in the worker.
    pub(crate) stream: u64,
    /// Time at which this thread last did something, or is expected to.
    pub(crate) beat_ns: Arc<AtomicU64>,
}

/// Lane of a prepared thread, whatever its engine.
pub(crate) trait Resident {
    /// Runs one slice and leaves the queue empty.
    ///
    /// # Errors
    /// When the engine itself fails; the lane is then of no more use.
    fn run_lane_slice(&mut self, order: &SliceOrder) -> io::Result<LaneResult>;

    /// Clears the counts for a new series, whose transient has bins of `bin_ns`.
    fn begin_series(&mut self, bin_ns: u64);

    /// Runs one slice of a series and leaves the queue empty. All other counts are kept for
    /// [`Resident::end_series`].
    ///
    /// # Errors
    /// The errors of [`Resident::run_lane_slice`].
    fn short_slice(&mut self, order: &ShortOrder) -> io::Result<LaneShort>;

    /// Returns the counts of all slices since [`Resident::begin_series`], except windows and
    /// flushes, and the rate at the beginning of these slices.
    fn end_series(&mut self) -> (SliceResult, Transient);

    /// Returns the features that its engine has to do without, in words.
    fn engine_lacks(&self) -> Vec<&'static str>;

    /// Calls fsync on the file.
    fn flush_file(&mut self) -> FlushResult;

    /// Calls fsync on the file, and then drops its pages from the page cache.
    ///
    /// # Errors
    /// The error of fsync, or of dropping the pages.
    fn flush_and_drop_cache(&mut self) -> io::Result<()>;

    /// Reads back this thread's part of the written blocks, and returns its faults and those that
    /// the load's reads have shown since the last call. Both are empty if the job does not verify.
    ///
    /// # Errors
    /// When there is no memory for it.
    fn read_back(&mut self, order: &BackOrder) -> io::Result<ReadBackPass>;
}

/// Condition that ends a slice, for one thread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SliceStop {
    /// Ends after a window of `window_ns`, which begins `discard_ns` after the start; then nothing
    /// is submitted.
    Time { discard_ns: u64, window_ns: u64 },
    /// Ends after this number of blocks was issued.
    Blocks(u64),
}

pub(crate) struct SliceOrder {
    pub(crate) stop: SliceStop,
    pub(crate) gate: Arc<StartGate>,
}

pub(crate) struct ShortOrder {
    pub(crate) length: ShortLength,
    pub(crate) gate: Arc<StartGate>,
    pub(crate) read_machine: Option<ReadMachine>,
}

#[derive(Debug)]
pub(crate) struct LaneShort {
    pub(crate) start_ns: u64,
    /// Times at which the window begins and ends: two looks at the queue that found completions.
    pub(crate) window_ns: Range<u64>,
    pub(crate) ios: u64,
    /// Time at which the queue was empty.
    pub(crate) drained_ns: u64,
    pub(crate) aborted: bool,
    /// Growth of the machine's times in the slice, if this thread read them.
    pub(crate) machine: Option<MachineTimes>,
}

#[derive(Debug)]
pub(crate) struct LaneResult {
    pub(crate) start_ns: u64,
    /// Results of the slice, except windows and flushes.
    pub(crate) measured: SliceResult,
    pub(crate) first_submit_ns: Option<u64>,
    pub(crate) last_release_ns: Option<u64>,
    pub(crate) drained_ns: u64,
    /// True if the slice ended early, because a thread found that the target only fails, or its
    /// engine failed.
    pub(crate) aborted: bool,
}

/// Window of a slice of a series. It begins and ends with I/Os that complete. If the clock ended
/// it, it would always hold a part of an I/O too few, since it begins with an I/O: at depth 1 that
/// is a tenth of a short slice. Ended by a completion, the ratio of all I/Os to all windows is that
/// of a renewal process stopped at a completion (Wald's identity).
struct ShortWindow {
    start_ns: u64,
    length: ShortLength,
    begun_ns: Option<u64>,
    ended_ns: Option<u64>,
}

impl ShortWindow {
    /// Opens or closes the window after a look that found completions.
    fn note_completions(&mut self, now_ns: u64, tally: &mut Tally) {
        let ShortLength { discard_ns, window_ns } = self.length;
        match self.begun_ns {
            None if now_ns >= self.start_ns.saturating_add(discard_ns) => {
                self.begun_ns = Some(now_ns);
                tally.open_window(self.start_ns, now_ns);
            }
            Some(begun_ns) if now_ns >= begun_ns.saturating_add(window_ns) => {
                self.ended_ns = Some(now_ns);
                tally.close_window(now_ns);
            }
            _ => {}
        }
    }
}

#[derive(Debug)]
pub(crate) struct FlushResult {
    pub(crate) begin_ns: u64,
    pub(crate) end_ns: io::Result<u64>,
    pub(crate) cpu: ThreadCpu,
}

#[derive(Clone, Copy)]
struct IoSlot {
    io: CompletedIo,
    /// Time at which the cycle of [`Hold::share_ppm`] began: that of the look before the I/O was
    /// issued, in a closed loop the slot's last release.
    cycle_from_ns: u64,
}

pub(crate) struct Lane<E: Engine> {
    // Dropped in this order: the engine releases the memory first.
    engine: E,
    buffers: Buffers,
    file: File,
    bs: u32,
    /// True with more than one I/O in flight: a completion may then lie in the queue while others
    /// are issued.
    deep: bool,
    stamps_each: bool,
    /// True if an I/O begins with the look that ended the I/O before. This needs depth 1 and no
    /// work in between: neither making data nor checks.
    look_is_stamp: bool,
    source: IoSource,
    pace: Option<Pace>,
    holder: Holder,
    slots: Vec<IoSlot>,
    ready: Vec<u32>,
    done: Vec<Completion>,
    in_flight: u32,
    syncs_in_flight: u32,
    first_submit_ns: Option<u64>,
    tally: Tally,
    transient: Transient,
    series_cpu: ThreadCpu,
    stamps: Stamps,
    checks: Option<VerifyChecks>,
    beat_ns: Arc<AtomicU64>,
}

impl<E: Engine + 'static> Lane<E> {
    /// Prepares a lane; `make` creates its engine from the file and the buffers (start and length
    /// in bytes).
    ///
    /// # Errors
    /// When there is no memory, the file cannot be duplicated, or `make` fails.
    pub(crate) fn boxed(
        setup: Setup,
        make: impl FnOnce(File, (*mut u8, usize)) -> io::Result<E>,
    ) -> io::Result<Box<dyn Resident>> {
        Ok(Box::new(Lane::new(setup, make)?))
    }

    fn new(
        setup: Setup,
        make: impl FnOnce(File, (*mut u8, usize)) -> io::Result<E>,
    ) -> io::Result<Lane<E>> {
        let job = &setup.job;
        let random = |part| Random::new(job.randseed, setup.stream * 2 + part);
        let buffers = Buffers::new(BufferNeeds::from_job(job, setup.depth), random(0))?;
        let file = setup.file.try_clone()?;
        let offsets = Offsets::new(job, setup.region, setup.cursor);
        Ok(Lane {
            engine: make(setup.file, buffers.extent())?,
            buffers,
            file,
            bs: job.bs as u32,
            deep: setup.depth > 1,
            stamps_each: job.stamps == Stamping::Each,
            look_is_stamp: setup.depth == 1 && !job.rw.writes_data() && !job.verify,
            source: IoSource::new(job, offsets, random(1)),
            pace: setup.pace,
            holder: Holder::new(setup.hold, setup.depth),
            slots: vec![idle_slot(); setup.depth as usize],
            ready: (0..setup.depth).rev().collect(),
            done: Vec::with_capacity(setup.depth as usize),
            in_flight: 0,
            syncs_in_flight: 0,
            first_submit_ns: None,
            tally: Tally::new(&setup.job),
            transient: Transient::default(),
            series_cpu: ThreadCpu::default(),
            stamps: Stamps::new(),
            checks: setup.ledger.map(|ledger| VerifyChecks::new(ledger, setup.depth)),
            beat_ns: setup.beat_ns,
        })
    }

    /// Issues I/Os until `end_ns`, in a series until the window has ended, or until the gate aborts
    /// or the slice's blocks are used up; then runs until the queue is empty, and returns the time
    /// of that.
    fn run_until_drained(
        &mut self,
        end_ns: u64,
        mut window: Option<&mut ShortWindow>,
        gate: &StartGate,
    ) -> io::Result<u64> {
        let mut now_ns = self.stamps.read_ns();
        loop {
            let ended =
                window.as_ref().map_or(now_ns >= end_ns, |window| window.ended_ns.is_some());
            let open = !ended && !gate.abort.load(Ordering::Relaxed);
            let next_start_ns = if open { self.issue(now_ns) } else { None };
            let until_ns =
                earliest(next_start_ns.map(|at| at.min(end_ns)), self.holder.next_due_ns());
            if self.in_flight == 0 && until_ns.is_none() {
                return Ok(now_ns);
            }
            self.beat(until_ns.unwrap_or(0).max(now_ns));
            self.wait(until_ns)?;
            let looked_ns = self.stamps.read_ns();
            let busy = self.slots.len() - self.ready.len() - self.syncs_in_flight as usize;
            self.tally.looked(now_ns..looked_ns, busy as u64, self.deep && !self.done.is_empty());
            now_ns = looked_ns;
            match &mut window {
                None => self.collect(now_ns),
                Some(window) => self.collect_in_series(now_ns, window),
            }
            self.stamps.anchor_in_time(now_ns);
            if self.tally.only_fails() {
                gate.abort.store(true, Ordering::Relaxed);
            }
        }
    }

    /// Submits the I/Os that may start now. Returns the time when the next one may, if that is
    /// later and a slot is free for it.
    #[inline]
    fn issue(&mut self, now_ns: u64) -> Option<u64> {
        while let Some(slot) = self.ready.last().copied() {
            let mut start_ns = None;
            if let Some(pace) = &mut self.pace {
                // A sync that is due follows its write at once.
                if self.source.sync_owed().is_none() {
                    let intended_ns = pace.intended_ns();
                    if intended_ns > now_ns {
                        return self.source.has_more().then_some(intended_ns);
                    }
                    pace.advance();
                    start_ns = Some(intended_ns);
                }
            }
            let (op, offset) = self.source.next()?;
            self.ready.pop();
            self.start_io(slot, op, offset, start_ns, now_ns);
        }
        None
    }

    #[inline]
    fn start_io(&mut self, slot: u32, op: Op, offset: u64, intended_ns: Option<u64>, now_ns: u64) {
        let (len, buffer) = match op {
            Op::Read => {
                self.checks.iter_mut().for_each(|checks| checks.reads(slot, offset));
                (self.bs, self.buffers.read_buffer(slot))
            }
            Op::Write => (self.bs, self.data_of(slot, offset)),
            Op::Trim => (self.bs, std::ptr::null_mut()),
            Op::Fsync | Op::Fdatasync => (0, std::ptr::null_mut()),
        };
        // The I/O begins after making its data and after checking what came back before.
        let ready_ns =
            if self.stamps_each && !self.look_is_stamp { self.stamps.read_ns() } else { now_ns };
        self.slots[slot as usize] = IoSlot {
            io: CompletedIo {
                op,
                offset,
                len,
                result: 0,
                start_ns: intended_ns.unwrap_or(ready_ns),
                issued_ns: ready_ns,
            },
            cycle_from_ns: now_ns,
        };
        self.first_submit_ns = self.first_submit_ns.or(Some(ready_ns));
        self.in_flight += 1;
        if op.is_sync() {
            self.syncs_in_flight += 1;
            self.beat(now_ns);
        } else {
            self.tally.issued_late(ready_ns.saturating_sub(now_ns));
        }
        let io = Io { op, slot, len, offset, buffer };
        // SAFETY: the buffer is the slot's own, of `bs` bytes; the slot came from `ready` and goes
        // back there when its completion was reaped; the buffers outlive the engine, and are
        // abandoned if anything is in flight when the lane ends.
        unsafe { self.engine.submit_io(&io) };
    }

    #[inline]
    fn data_of(&mut self, slot: u32, offset: u64) -> *mut u8 {
        let data = self.buffers.write_buffer(slot);
        if let Some(checks) = &mut self.checks {
            checks.writes(offset, self.buffers.pending_write(slot));
        }
        data
    }

    #[inline]
    fn wait(&mut self, until_ns: Option<u64>) -> io::Result<()> {
        match until_ns {
            Some(until_ns) if self.in_flight == 0 => {
                clock::wait_until(until_ns);
                Ok(())
            }
            _ => self.engine.reap_completions(until_ns, &mut self.done),
        }
    }

    /// Takes the completions that were reaped. Each is counted and its slot is free again, at once
    /// or when its hold is over.
    #[inline]
    fn collect(&mut self, now_ns: u64) {
        self.in_flight -= self.done.len() as u32;
        let holds = !self.holder.is_none();
        for Completion { slot, result } in self.done.drain(..) {
            let ended = &mut self.slots[slot as usize];
            ended.io.result = result;
            self.syncs_in_flight -= u32::from(ended.io.op.is_sync());
            if let Some(checks) = self.checks.as_mut().filter(|_| result == ended.io.len as i32) {
                // The check comes after the time stamp of the I/O's end.
                checks.ended(ended.io.op, slot, ended.io.offset, self.buffers.read_data(slot));
            }
            if holds {
                self.holder.admit(slot, ended.cycle_from_ns, now_ns);
            } else {
                self.tally.count_io(&ended.io, now_ns);
                self.ready.push(slot);
            }
        }
        while let Some(slot) = self.holder.release(now_ns) {
            self.tally.count_io(&self.slots[slot as usize].io, now_ns);
            self.ready.push(slot);
        }
    }

    /// Takes the completions in a slice of a series, whose window may begin or end with them.
    #[inline]
    fn collect_in_series(&mut self, now_ns: u64, window: &mut ShortWindow) {
        let before = self.tally.completed();
        self.collect(now_ns);
        let ios = self.tally.completed() - before;
        if ios > 0 && window.ended_ns.is_none() {
            self.transient.add(now_ns.saturating_sub(window.start_ns), ios);
            window.note_completions(now_ns, &mut self.tally);
        }
    }

    #[inline]
    fn beat(&self, at_ns: u64) {
        let patience_ns = if self.syncs_in_flight > 0 { SYNC_PATIENCE_NS } else { 0 };
        self.beat_ns.store(at_ns.saturating_add(patience_ns), Ordering::Relaxed);
    }

    /// Clears the counts of the last slice, and sets the number of blocks of the next, before the
    /// common start of all threads.
    fn rewind(&mut self, stop: SliceStop) {
        let blocks = match stop {
            SliceStop::Time { .. } => u64::MAX,
            SliceStop::Blocks(blocks) => blocks,
        };
        self.source.restart(blocks);
        self.pace.iter_mut().for_each(Pace::rewind);
        self.tally.clear();
        self.first_submit_ns = None;
    }

    fn begin(&mut self, start_ns: u64, stop: SliceStop) {
        self.pace.iter_mut().for_each(|pace| pace.begin_schedule(start_ns));
        self.tally.begin_window(start_ns, window(start_ns, stop));
    }

    /// Records the I/Os of an open loop that were to start within the slice and could not.
    fn count_overtaken(&mut self, end_ns: u64, drained_ns: u64) {
        let (source, tally) = (&mut self.source, &mut self.tally);
        self.pace.iter_mut().for_each(|pace| {
            pace.take_overtaken(end_ns, |intended_ns, number| {
                tally.record_overtaken(source.like_next(), intended_ns, number, drained_ns);
            });
        });
    }

    fn lane_result(
        &mut self,
        start_ns: u64,
        drained_ns: u64,
        aborted: bool,
        cpu: ThreadCpu,
    ) -> LaneResult {
        let measured = self.take_measured(cpu);
        let (first_submit_ns, last_release_ns) = (self.first_submit_ns, self.tally.last_release_ns);
        LaneResult { start_ns, measured, first_submit_ns, last_release_ns, drained_ns, aborted }
    }

    /// Returns everything counted since the tally was last cleared, except windows and flushes,
    /// with this CPU time.
    fn take_measured(&mut self, cpu: ThreadCpu) -> SliceResult {
        let tally = &mut self.tally;
        SliceResult {
            read: trimmed(&tally.read),
            write: trimmed(&tally.write),
            trim: trimmed(&tally.trim),
            sync_latency: tally.sync_latency.trimmed(),
            reap_gap: tally.reap_gap.trimmed(),
            in_flight_ns: tally.in_flight_ns,
            served_ns: tally.served_ns,
            service: tally.service.trimmed(),
            discarded_ios: tally.discarded_ios,
            cpu_user_ns: cpu.user_ns,
            cpu_system_ns: cpu.system_ns,
            errors: tally.errors,
            first_error: tally.first_error.take(),
            ..SliceResult::default()
        }
    }
}

impl<E: Engine + 'static> Resident for Lane<E> {
    fn run_lane_slice(&mut self, order: &SliceOrder) -> io::Result<LaneResult> {
        let before = ThreadCpu::of_thread().plus(self.engine.helpers_cpu());
        self.stamps.anchor();
        self.rewind(order.stop);
        let start_ns = order.gate.pass();
        self.begin(start_ns, order.stop);
        let end_ns = match order.stop {
            SliceStop::Time { .. } => window(start_ns, order.stop).end,
            SliceStop::Blocks(_) => u64::MAX,
        };
        let ran = self.run_until_drained(end_ns, None, &order.gate);
        if ran.is_err() {
            order.gate.abort.store(true, Ordering::Relaxed);
        }
        let drained_ns = ran?;
        let cpu = ThreadCpu::of_thread().plus(self.engine.helpers_cpu()).since(before);
        let aborted = order.gate.abort.load(Ordering::Relaxed);
        if matches!(order.stop, SliceStop::Time { .. }) {
            self.count_overtaken(end_ns, drained_ns);
        }
        Ok(self.lane_result(start_ns, drained_ns, aborted, cpu))
    }

    fn begin_series(&mut self, bin_ns: u64) {
        self.tally.clear();
        self.transient = Transient::new(bin_ns);
        self.series_cpu = ThreadCpu::default();
    }

    fn short_slice(&mut self, order: &ShortOrder) -> io::Result<LaneShort> {
        let read_machine = || order.read_machine.as_ref().and_then(|read| read());
        order.gate.approach();
        let machine_before = read_machine();
        let before = ThreadCpu::of_thread().plus(self.engine.helpers_cpu());
        self.source.restart(u64::MAX);
        let ios = self.tally.ios();
        let start_ns = order.gate.pass();
        self.tally.shut_window();
        self.transient.begin();
        let mut window =
            ShortWindow { start_ns, length: order.length, begun_ns: None, ended_ns: None };
        let ran = self.run_until_drained(u64::MAX, Some(&mut window), &order.gate);
        if ran.is_err() {
            order.gate.abort.store(true, Ordering::Relaxed);
        }
        let drained_ns = ran?;
        self.series_cpu = self
            .series_cpu
            .plus(ThreadCpu::of_thread().plus(self.engine.helpers_cpu()).since(before));
        // A target that only fails has no window.
        let window_ns =
            window.begun_ns.unwrap_or(drained_ns)..window.ended_ns.unwrap_or(drained_ns);
        Ok(LaneShort {
            start_ns,
            window_ns,
            ios: self.tally.ios() - ios,
            drained_ns,
            aborted: order.gate.abort.load(Ordering::Relaxed),
            machine: machine_before.zip(read_machine()).map(grown),
        })
    }

    fn end_series(&mut self) -> (SliceResult, Transient) {
        let cpu = self.series_cpu;
        (self.take_measured(cpu), std::mem::take(&mut self.transient))
    }

    fn engine_lacks(&self) -> Vec<&'static str> {
        self.engine.missing_features()
    }

    fn flush_file(&mut self) -> FlushResult {
        let before = ThreadCpu::of_thread();
        let begin_ns = clock::monotonic_ns();
        self.beat_ns.store(begin_ns + SYNC_PATIENCE_NS, Ordering::Relaxed);
        let flushed = self.file.sync_all();
        let end_ns = flushed.map(|()| clock::monotonic_ns());
        FlushResult { begin_ns, end_ns, cpu: ThreadCpu::of_thread().since(before) }
    }

    fn flush_and_drop_cache(&mut self) -> io::Result<()> {
        self.beat_ns.store(clock::monotonic_ns() + SYNC_PATIENCE_NS, Ordering::Relaxed);
        self.file.sync_all()?;
        Ok(rustix::fs::fadvise(&self.file, 0, None, rustix::fs::Advice::DontNeed)?)
    }

    fn read_back(&mut self, order: &BackOrder) -> io::Result<ReadBackPass> {
        let Some(checks) = &mut self.checks else { return Ok(ReadBackPass::default()) };
        let beat = || self.beat_ns.store(clock::monotonic_ns(), Ordering::Relaxed);
        let load = std::mem::take(&mut checks.found);
        Ok(ReadBackPass { load, back: checks.ledger.read_back(&self.file, order, &beat)? })
    }
}

impl<E: Engine> Drop for Lane<E> {
    fn drop(&mut self) {
        if self.in_flight > 0 {
            self.buffers.abandon();
        }
    }
}

fn window(start_ns: u64, stop: SliceStop) -> Range<u64> {
    match stop {
        SliceStop::Time { discard_ns, window_ns } => {
            let begin_ns = start_ns.saturating_add(discard_ns);
            begin_ns..begin_ns.saturating_add(window_ns)
        }
        SliceStop::Blocks(_) => 0..u64::MAX,
    }
}

fn grown((before, after): (MachineTimes, MachineTimes)) -> MachineTimes {
    std::array::from_fn(|kind| after[kind].saturating_sub(before[kind]))
}

fn earliest(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

fn trimmed(direction: &Direction) -> Direction {
    Direction { ios: direction.ios, bytes: direction.bytes, latency: direction.latency.trimmed() }
}

fn idle_slot() -> IoSlot {
    IoSlot {
        io: CompletedIo { op: Op::Read, offset: 0, len: 0, result: 0, start_ns: 0, issued_ns: 0 },
        cycle_from_ns: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Histogram;
    use crate::Rw;
    use crate::pace::Schedule;

    /// Answers at once, but stalls once, at its n-th I/O.
    struct Stalling {
        left: u32,
        stall_ns: u64,
        done: Vec<Completion>,
    }

    impl Engine for Stalling {
        unsafe fn submit_io(&mut self, io: &Io) {
            let (slot, result) = (io.slot, io.len as i32);
            self.done.push(Completion { slot, result });
        }

        fn reap_completions(
            &mut self,
            _: Option<u64>,
            done: &mut Vec<Completion>,
        ) -> io::Result<()> {
            self.left = self.left.wrapping_sub(1);
            if self.left == 0 {
                clock::wait_until(clock::monotonic_ns() + self.stall_ns);
            }
            done.append(&mut self.done);
            Ok(())
        }
    }

    /// Answers each I/O after a fixed time, in whatever order they came.
    struct Device {
        service_ns: u64,
        busy: Vec<(u64, Completion)>,
    }

    impl Engine for Device {
        unsafe fn submit_io(&mut self, io: &Io) {
            let (slot, result) = (io.slot, io.len as i32);
            let due_ns = clock::monotonic_ns() + self.service_ns;
            self.busy.push((due_ns, Completion { slot, result }));
        }

        fn reap_completions(
            &mut self,
            until_ns: Option<u64>,
            done: &mut Vec<Completion>,
        ) -> io::Result<()> {
            while done.is_empty() {
                let now_ns = clock::monotonic_ns();
                self.busy.retain(|(due_ns, completion)| {
                    let over = *due_ns <= now_ns;
                    if over {
                        done.push(*completion);
                    }
                    !over
                });
                if until_ns.is_some_and(|until_ns| until_ns <= now_ns) {
                    break;
                }
            }
            Ok(())
        }
    }

    fn setup(job: Job, hold: Hold) -> Setup {
        let region = Region { offset: 0, bs: job.bs, blocks: 1000 };
        Setup {
            pace: job.rate_iops.map(|rate| Pace::new(rate, Schedule::default())),
            depth: job.iodepth,
            job,
            file: tempfile::tempfile().unwrap(),
            region,
            cursor: Cursor::start_own(0),
            hold,
            seat: Seat::default(),
            ledger: None,
            stream: 0,
            beat_ns: Arc::default(),
        }
    }

    fn run<E: Engine + 'static>(setup: Setup, engine: E, stop: SliceStop) -> LaneResult {
        let mut lane = Lane::new(setup, |_, _| Ok(engine)).unwrap();
        let gate = Arc::new(StartGate::new(1, None));
        lane.run_lane_slice(&SliceOrder { stop, gate }).unwrap()
    }

    fn device(service_ns: u64) -> Device {
        Device { service_ns, busy: Vec::new() }
    }

    #[test]
    fn a_stall_shows_in_every_io_that_it_delayed() {
        let job = Job { rate_iops: Some(10_000), ..Job::default() };
        let engine = Stalling { left: 50, stall_ns: 100_000_000, done: Vec::with_capacity(1) };
        let stop = SliceStop::Time { discard_ns: 0, window_ns: 300_000_000 };
        let result = run(setup(job, Hold::default()), engine, stop);
        let latency = &result.measured.read.latency;
        // Meant to start in the first half of the stall: at least 50 ms late, 500 of them.
        let late =
            |(bucket, _): &(u32, u64)| crate::histogram::bounds(*bucket as usize).1 >= 50_000_000;
        let late: u64 = latency.sparse().filter(late).map(|(_, count)| count).sum();
        assert!(late >= 490, "{late}");
        assert!(result.measured.read.ios <= 3000, "never faster than the rate");
    }

    #[test]
    fn a_stall_that_the_end_of_the_slice_cuts_shows_as_any_other() {
        // From 5 ms on for 300 ms, in a slice of 201: on a busy machine too the 50th I/O is issued
        // before the slice ends.
        let stop = SliceStop::Time { discard_ns: 1_000_000, window_ns: 200_000_000 };
        let engine = Stalling { left: 50, stall_ns: 300_000_000, done: Vec::with_capacity(1) };
        let job = Job { rate_iops: Some(10_000), ..Job::default() };
        let measured = run(setup(job, Hold::default()), engine, stop).measured;
        assert_eq!(measured.read.ios + measured.discarded_ios, 50, "issued");
        // The last of those, and all that were never issued, had waited for 104 ms and more.
        let latency = &measured.read.latency;
        let late =
            |(bucket, _): &(u32, u64)| crate::histogram::bounds(*bucket as usize).1 >= 100_000_000;
        let late: u64 = latency.sparse().filter(late).map(|(_, count)| count).sum();
        assert!(late >= 1961, "{late}");
        // Each of the 2000 that were due in the window counts once: it ended there, or was long and
        // began there. So does one of the ten of the discarded start that a busy machine made end
        // late, if it took no longer than that start: such latencies count where they end. If none
        // did, all ten ended before the window, and only the 50th after it.
        let ended_late = 11 - measured.discarded_ios;
        assert!(
            (2000..=2000 + ended_late).contains(&latency.count()),
            "{} {ended_late}",
            latency.count()
        );
        // Without a schedule it is the one I/O. It began after the discarded start, as all but the
        // first few do.
        let job = Job { iodepth: 2, ..Job::default() };
        let stop = SliceStop::Time { discard_ns: 0, window_ns: 200_000_000 };
        let result = run(setup(job, Hold::default()), device(300_000_000), stop);
        assert_eq!((result.measured.read.ios, result.measured.read.latency.count()), (0, 2));
    }

    #[test]
    fn the_rate_is_kept_and_a_slice_by_blocks_ends() {
        let job = Job { rate_iops: Some(20_000), iodepth: 4, ..Job::default() };
        let result = run(setup(job, Hold::default()), device(10_000), SliceStop::Blocks(201));
        assert_eq!(result.measured.read.ios, 201);
        // The 201st is meant to start at 200 / 20,000 s.
        let lasted_ns = result.last_release_ns.unwrap() - result.start_ns;
        assert!(lasted_ns >= 10_000_000, "{lasted_ns}");
    }

    #[test]
    fn a_share_held_back_costs_exactly_its_share() {
        let hold = Hold { ns: 0, share_ppm: 250_000 };
        let job = Job::default();
        let result = run(setup(job, hold), device(50_000), SliceStop::Blocks(400));
        assert_eq!(result.measured.read.ios, 400);
        // 5/4 of service times that are at least 50 us.
        let lasted_ns = (result.last_release_ns.unwrap() - result.first_submit_ns.unwrap()) as f64;
        assert!(lasted_ns >= 400.0 * 62_500.0 - 400.0, "{lasted_ns}");
    }

    #[test]
    fn held_completions_do_not_keep_others_from_being_reaped() {
        let hold = Hold { ns: 20_000_000, share_ppm: 0 };
        let job = Job { iodepth: 8, ..Job::default() };
        let result = run(setup(job, hold), device(1_000_000), SliceStop::Blocks(80));
        assert_eq!(result.measured.read.ios, 80);
        // A hold that was released late gives back up to a quarter of the next one.
        assert!(result.measured.read.latency.min().unwrap() >= 15_900_000);
        // One after the other, each would wait for the holds of seven others: 150 ms and more.
        assert!(result.measured.read.latency.percentile(0.5).unwrap() < 80_000_000);
    }

    #[test]
    fn littles_law_holds_with_and_without_a_schedule() {
        for rate_iops in [None, Some(20_000)] {
            for stamps in [Stamping::Batch, Stamping::Each] {
                let job = Job { iodepth: 4, rate_iops, stamps, ..Job::default() };
                // In a slice by blocks no latency lies across an end of the window.
                let result =
                    run(setup(job, Hold::default()), device(100_000), SliceStop::Blocks(2000));
                let error =
                    result.measured.served_ns as f64 / result.measured.in_flight_ns as f64 - 1.0;
                assert!(error.abs() < 0.001, "{error} {rate_iops:?} {stamps:?}");
                assert!(result.measured.reap_gap.count() > 0);
                assert_eq!(
                    result.measured.service.count(),
                    rate_iops.map_or(0, |_| result.measured.read.ios)
                );
            }
        }
    }

    #[test]
    fn the_latency_of_a_schedule_is_not_that_of_the_service() {
        let job = Job { rate_iops: Some(10_000), ..Job::default() };
        let engine = Stalling { left: 50, stall_ns: 100_000_000, done: Vec::with_capacity(1) };
        let result = run(
            setup(job, Hold::default()),
            engine,
            SliceStop::Time { discard_ns: 0, window_ns: 300_000_000 },
        );
        let slow = |histogram: &Histogram| {
            let late = |(bucket, _): &(u32, u64)| {
                crate::histogram::bounds(*bucket as usize).0 >= 10_000_000
            };
            histogram.sparse().filter(late).map(|(_, count)| count).sum::<u64>()
        };
        assert!(slow(&result.measured.read.latency) >= 800);
        assert!(
            slow(&result.measured.service) <= 10,
            "one was stalled, the others waited to be issued"
        );
    }

    #[test]
    fn syncs_take_slots_and_are_counted_apart() {
        let job = Job { rw: Rw::Write, fsync: 3, iodepth: 2, ..Job::default() };
        let result = run(setup(job, Hold::default()), device(1_000), SliceStop::Blocks(12));
        assert_eq!(result.measured.write.ios, 12);
        assert_eq!(result.measured.sync_latency.count(), 4);
    }
}
