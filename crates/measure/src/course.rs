//! Runs courses of load on one stack and records what came through by when, from the first I/O on,
//! so that a limit shows (`iotax_stats::bucket`). A course of I/O is made of consecutive short
//! slices. Each shows exactly how much had come through when its queue was empty again. A limiter
//! whose bucket is empty takes no notice of so short a pause, since what it lets through depends on
//! time alone. A course of a network is one slice, whose receiving end records what arrives:
//! buckets of networks hold milliseconds, and a pause would fill them.

use super::network_peer;
use super::observer::RunEvent;
use super::places::Places;
use super::session::{PlannedVisit, RunOutcome, Session};
use super::sets::SetLayout;
use super::visit_workers::{LoadedMember, PREPARE_LIMIT, StackUnderLoad};
use anyhow::{Context, Result, ensure};
use iotax_engines::serving::Allowed;
use iotax_facts::place::Place;
use iotax_host::limits::{LimitUnit, SetLimit};
use iotax_load::{Job, Rw, SliceBound, SliceResult, SliceSpec};
use iotax_probe::ProbeSpec;
use iotax_stats::bucket::{Bucket, CourseShape, Unfit, find};
use iotax_units::exit::Failed;
use iotax_wire::message::{Response, WireRequest, slice_limit};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Length of the first slice, so that a small burst is seen while it lasts ...
const FIRST_SLICE_NS: u64 = 1_000_000;
/// ... the growth of each later slice ...
const GROWTH: f64 = 1.15;
/// ... and the longest slice.
const LONGEST_SLICE_NS: u64 = 10_000_000;
/// Longest time to empty the queue for which slices end on time. If it takes longer, slices end on
/// I/Os, since a slice that ends on time drains for as long again.
const LONG_DRAIN_S: f64 = 0.005;
/// Least number of points of a course, unless single I/Os take longer.
const LEAST_POINTS: f64 = 200.0;
/// Interval at which the result so far is analysed while a course goes on.
const LOOKS_EVERY_S: f64 = 0.5;
/// Least number of blocks in a burst. With fewer, the burst is known to worse than 5 %: a limiter
/// may let the block pass that overflows its bucket.
const FEW_BLOCKS: f64 = 20.0;
/// Largest difference between rates of one limit.
const SAME_RATE: f64 = 0.03;
/// Standard errors of rate and burst at which a course ends early ...
const SURE: [f64; 2] = [0.002, 0.01];
/// ... if the rate has been seen for at least this long.
const LEAST_TAIL_S: f64 = 2.0;
/// Shortest interval at which arrivals over a network are recorded, most such steps, and longest
/// slice.
const NETWORK_STEP_S: f64 = 0.01;
const NETWORK_STEPS: f64 = 1000.0;
const LONGEST_NETWORK_S: f64 = 590.0;
/// Discarded start of a network's course: its ends' threads have this long to wake up.
const NETWORK_DISCARD_NS: u64 = 200_000_000;
/// Number of TCP streams of a course: one alone may be bounded by its window.
const STREAMS: u32 = 4;
/// Longest rest between two courses.
const LONGEST_REST_S: f64 = 120.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CourseSpec {
    /// True if writes have courses, too.
    pub writes: bool,
    /// Longest duration of a course, in seconds.
    pub seconds: f64,
    /// Least rest before each course, in seconds.
    pub rest_s: f64,
}

/// Courses that a run is made for, with their results.
#[derive(Clone, Debug)]
pub struct Courses {
    pub spec: CourseSpec,
    /// Courses that were run, in order.
    pub done: Vec<LimitCourse>,
    /// Limits that are set in the place of the load, and on this host below a guest.
    pub settings: Vec<SetLimit>,
    /// Limits that are set at the other end of a network.
    pub far_settings: Vec<SetLimit>,
}

impl Courses {
    pub fn from_spec(spec: CourseSpec) -> Courses {
        Courses { spec, done: Vec::new(), settings: Vec::new(), far_settings: Vec::new() }
    }
}

/// Kind of load of a course.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CourseKind {
    /// True for a network, false for a device or file.
    pub network: bool,
    /// True for writes or traffic to the other end, false for reads or traffic from it.
    pub writes: bool,
    /// True for large sequential blocks or streams, which a limit on bytes stops first. False for
    /// small random blocks or small datagrams, which a limit on I/Os or packets stops first.
    pub bytes: bool,
    /// True for blocks of 64 KiB instead of 1 MiB, of which too few came through to find a burst.
    pub fine: bool,
}

impl CourseKind {
    const ALL: [CourseKind; 4] = [
        CourseKind { network: false, writes: false, bytes: false, fine: false },
        CourseKind { network: false, writes: false, bytes: true, fine: false },
        CourseKind { network: false, writes: true, bytes: false, fine: false },
        CourseKind { network: false, writes: true, bytes: true, fine: false },
    ];

    const OF_NETWORK: [CourseKind; 4] = [
        CourseKind { network: true, writes: true, bytes: true, fine: false },
        CourseKind { network: true, writes: false, bytes: true, fine: false },
        CourseKind { network: true, writes: true, bytes: false, fine: false },
        CourseKind { network: true, writes: false, bytes: false, fine: false },
    ];

    /// Returns the load of a network.
    fn probe(self, step_ns: u64) -> Result<ProbeSpec> {
        let (text, numjobs) = match (self.bytes, self.writes) {
            (true, true) => ("tcp(send)", STREAMS),
            (true, false) => ("tcp(receive)", STREAMS),
            (false, true) => ("udp(small-send)", 1),
            (false, false) => ("udp(small-receive)", 1),
        };
        let spec = ProbeSpec::parse(text).map_err(Failed::input)?;
        Ok(ProbeSpec { numjobs, course_ns: Some(step_ns), ..spec })
    }

    /// Returns the load of a device or file.
    pub fn job(self) -> Job {
        let (large, depth) = if self.fine { (1 << 16, 32) } else { (1 << 20, 8) };
        let (rw, bs, iodepth) = match (self.writes, self.bytes) {
            (false, false) => (Rw::RandRead, 4096, 32),
            (false, true) => (Rw::Read, large, depth),
            (true, false) => (Rw::RandWrite, 4096, 32),
            (true, true) => (Rw::Write, large, depth),
        };
        Job { name: rw.word().into(), rw, bs, iodepth, ..Job::default() }
    }

    /// Describes the load: `4k random reads at iodepth 32`.
    pub fn words(self) -> String {
        if self.network {
            let what = if self.bytes {
                format!("{STREAMS} TCP streams")
            } else {
                "datagrams of 64 bytes".into()
            };
            return format!("{what} {} the other end", if self.writes { "to" } else { "from" });
        }
        let job = self.job();
        let (what, order) = match (self.bytes, self.fine) {
            (true, true) => ("64k", "sequential"),
            (true, false) => ("1M", "sequential"),
            (false, _) => ("4k", "random"),
        };
        format!(
            "{what} {order} {} at iodepth {}",
            if self.writes { "writes" } else { "reads" },
            job.iodepth
        )
    }
}

/// A course of load, with its result.
#[derive(Clone, Debug)]
pub struct LimitCourse {
    pub kind: CourseKind,
    /// Rest before the course, in seconds.
    pub rested_s: f64,
    /// Seconds since the load began, and the I/Os or bytes that came through by then.
    pub points: Vec<(f64, f64)>,
    /// Total I/Os and bytes; for a network, datagrams and bytes without headers.
    pub ios: u64,
    pub bytes: u64,
    pub frame: Option<CourseFrame>,
    pub found: Result<CourseShape, Unfit>,
}

/// Load and headers in an Ethernet frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CourseFrame {
    /// Bytes of the load.
    pub payload: u32,
    pub headers: u32,
}

impl LimitCourse {
    /// Returns the frames and bytes a second on the wire of a network whose course has that rate.
    pub fn on_wire(&self, rate: f64) -> Option<[f64; 2]> {
        let CourseFrame { payload, headers } = self.frame?;
        let frames = if self.kind.bytes { rate / f64::from(payload.max(1)) } else { rate };
        Some([frames, frames * f64::from(payload + headers)])
    }

    pub fn bucket(&self) -> Option<&Bucket> {
        match &self.found {
            Ok(CourseShape::Bucket(bucket)) => Some(bucket),
            _ => None,
        }
    }

    fn lasted_s(&self) -> f64 {
        self.points.last().map_or(0.0, |point| point.0)
    }

    /// Returns true if too few blocks came through, in the course or in the burst, to determine the
    /// burst.
    fn is_coarse(&self) -> bool {
        let CourseKind { network: false, bytes: true, fine: false, .. } = self.kind else {
            return false;
        };
        match &self.found {
            Ok(CourseShape::Bucket(bucket)) => {
                bucket.burst.value < FEW_BLOCKS * self.kind.job().bs as f64
            }
            Ok(_) => false,
            Err(why) => matches!(why, Unfit::Short(_)),
        }
    }

    /// Returns true if a course of finer blocks shows the same limit, or shows one where this
    /// course shows none.
    fn is_shown_by(&self, finer: &LimitCourse) -> bool {
        match (self.bucket(), finer.bucket()) {
            (Some(own), Some(other)) => {
                (other.rate.value / own.rate.value - 1.0).abs() <= SAME_RATE
            }
            (None, _) => finer.found.is_ok(),
            (Some(_), None) => false,
        }
    }

    /// Returns the seconds that the bucket takes to be full again; 0 without one.
    pub fn refill_s(&self) -> f64 {
        self.bucket().map_or(0.0, |bucket| bucket.burst.value / bucket.rate.value)
    }

    /// Returns true if the rest before the course may have been too short for its bucket to be
    /// full.
    pub fn may_have_begun_empty(&self) -> bool {
        self.refill_s() > 0.9 * self.rested_s
    }
}

/// Consecutive slices of a course.
struct Tape {
    block: u64,
    depth: u64,
    by_bytes: bool,
    seconds: f64,
    slice_ns: f64,
    began_ns: Option<u64>,
    /// I/Os a second in the last slice.
    rate: Option<f64>,
    ios: u64,
    points: Vec<(f64, f64)>,
}

impl Tape {
    fn for_kind(kind: CourseKind, seconds: f64) -> Tape {
        let job = kind.job();
        Tape {
            block: job.bs,
            depth: job.iodepth.into(),
            by_bytes: kind.bytes,
            seconds,
            slice_ns: FIRST_SLICE_NS as f64,
            began_ns: None,
            rate: None,
            ios: 0,
            points: Vec::new(),
        }
    }

    /// Returns the bound of the next slice; `left`: bytes that may still be written.
    fn next(&self, left: Option<u64>) -> SliceBound {
        let rate = self.rate.unwrap_or(f64::INFINITY);
        let drains = self.depth as f64 / rate > LONG_DRAIN_S;
        if !drains && left.is_none() {
            return SliceBound::Time { ns: self.slice_ns as u64 };
        }
        let finest = (rate * self.seconds / LEAST_POINTS).clamp(1.0, self.depth as f64);
        // A limit on written bytes needs slices that end on bytes.
        let blocks = if drains {
            finest
        } else {
            (self.slice_ns / 1e9 * rate.min(1e9)).clamp(1.0, 4.0 * self.depth as f64)
        };
        // A rest smaller than a block would be issued as a whole one.
        let most = left.map_or(u64::MAX, |left| left / self.block * self.block);
        SliceBound::Bytes { bytes: (blocks as u64 * self.block).min(most) }
    }

    fn add(&mut self, bound: SliceBound, result: &SliceResult) {
        let (from_ns, to_ns) = match bound {
            SliceBound::Time { .. } => (
                result.window_start_ns.saturating_sub(result.discarded_ns),
                result.window_start_ns + result.window_ns + result.drain_ns,
            ),
            SliceBound::Bytes { .. } => {
                (result.window_start_ns, result.window_start_ns + result.window_ns)
            }
        };
        let ios = result.directions().iter().map(|one| one.ios).sum::<u64>() + result.discarded_ios;
        let began_ns = *self.began_ns.get_or_insert(from_ns);
        self.ios += ios;
        self.rate = Some(ios as f64 / (to_ns.saturating_sub(from_ns).max(1) as f64 / 1e9));
        self.slice_ns = (self.slice_ns * GROWTH).min(LONGEST_SLICE_NS as f64);
        let amount = if self.by_bytes { self.ios * self.block } else { self.ios };
        let point = (to_ns.saturating_sub(began_ns) as f64 / 1e9, amount as f64);
        // A clock that does not advance between two slices has one point.
        match self.points.last_mut() {
            Some(last) if last.0 >= point.0 => last.1 = point.1,
            _ => self.points.push(point),
        }
    }

    fn lasted_s(&self) -> f64 {
        self.points.last().map_or(0.0, |point| point.0)
    }

    /// Returns true if the result is sure enough to end the course early. In the first half it is
    /// not: the first bucket found may be the one for short bursts, before one for long ones.
    fn is_sure(&self) -> bool {
        if self.lasted_s() < self.seconds / 2.0 {
            return false;
        }
        match find(&self.points) {
            Ok(CourseShape::Bucket(Bucket { rate, burst, tail_s, .. })) => {
                tail_s >= LEAST_TAIL_S
                    && rate.error <= SURE[0] * rate.value
                    && burst.error <= SURE[1] * burst.value
            }
            _ => false,
        }
    }
}

impl Session<'_> {
    /// Brings up the only stack, runs its courses, and removes it.
    ///
    /// # Errors
    /// Bad input if the load is not generated by this program or is in several places; a failed
    /// I/O; as any run.
    pub(super) fn courses(
        &mut self,
        courses: &mut Courses,
        layout: &SetLayout,
        places: &mut Places,
        region: u64,
    ) -> Result<RunOutcome> {
        let mark = self.executor.mark();
        let planned = PlannedVisit { number: 0, set: 0 };
        let up = self.bring_up(layout, places, planned)?;
        let ready = self.ready(places, &up, region)?;
        self.write_first(places, planned, &up, &ready, region)?;
        let outcome = self.all_courses(courses, places, &ready[0])?;
        self.leave_restarted(places, &up.steps);
        self.executor.undo_to(mark + up.in_guests)?;
        for guest in &up.guests {
            places.leave(&guest.place);
        }
        for place in places.all() {
            places.get(&place)?.allow(&Allowed::default())?;
        }
        self.take_down(mark)?;
        Ok(outcome)
    }

    fn all_courses(
        &mut self,
        courses: &mut Courses,
        places: &mut Places,
        ready: &StackUnderLoad,
    ) -> Result<RunOutcome> {
        let [member] = ready.members.as_slice() else {
            let why =
                "iotax finds limits in one place at a time, and this stack is loaded in several";
            return Err(Failed::input(format!("{}: {why}", ready.stack)).into());
        };
        ensure!(
            ready.engine.is_none(),
            Failed::input(format!(
                "{}: iotax finds limits with its own load, and another program loads this stack",
                ready.stack
            ))
        );
        self.read_settings(courses, places, ready, member)?;
        let kinds = if ready.far_end.is_some() { CourseKind::OF_NETWORK } else { CourseKind::ALL };
        let is_asked = |kind: &CourseKind| kind.network || courses.spec.writes || !kind.writes;
        let mut refill_s: f64 = 0.0;
        for kind in kinds.into_iter().filter(is_asked) {
            let spec = courses.spec;
            let course = match kind.network {
                true => self.of_network(spec, refill_s, places, (ready, member), kind)?,
                false => self.of_device(spec, refill_s, places, (ready, member), kind)?,
            };
            let Some(course) = course else { return Ok(RunOutcome::Interrupted) };
            // Reads and writes, I/Os and bytes may share one bucket.
            refill_s = refill_s.max(course.refill_s());
            if !course.is_coarse() {
                courses.done.push(course);
                continue;
            }
            let kind = CourseKind { fine: true, ..kind };
            // A bucket that is not known yet is full again after as long as it was drawn from.
            let rest_s =
                if course.bucket().is_some() { refill_s } else { refill_s.max(course.lasted_s()) };
            let finer = self.of_device(spec, rest_s, places, (ready, member), kind)?;
            let Some(finer) = finer else { return Ok(RunOutcome::Interrupted) };
            courses.done.push(if course.is_shown_by(&finer) { finer } else { course });
        }
        Ok(RunOutcome::Complete)
    }

    /// Reads the limits that are set at the ends, as far as they can be read.
    fn read_settings(
        &mut self,
        courses: &mut Courses,
        places: &mut Places,
        ready: &StackUnderLoad,
        member: &LoadedMember,
    ) -> Result<()> {
        let targets = member.targets.iter().map(|target| target.path.clone()).collect();
        courses.settings = limits_in(places, &member.place, targets)?;
        if !member.place.is_host() && places.has(&Place::Host) {
            courses.settings.extend(limits_in(places, &Place::Host, ready.owed.clone())?);
        }
        if let Some(end) = &ready.far_end {
            courses.far_settings = limits_in(places, &end.place, Vec::new())?;
        }
        courses.far_settings.retain(|set| set.of == LimitUnit::Sent);
        Ok(())
    }

    /// Runs one slice, whose receiving end records what arrives; `None` if it was interrupted.
    fn of_network(
        &mut self,
        spec: CourseSpec,
        refill_s: f64,
        places: &mut Places,
        (ready, member): (&StackUnderLoad, &LoadedMember),
        kind: CourseKind,
    ) -> Result<Option<LimitCourse>> {
        let seconds = spec.seconds.min(LONGEST_NETWORK_S);
        let step_s = NETWORK_STEP_S.max(seconds / NETWORK_STEPS);
        let specs = network_peer::listening(places, ready, 0, &kind.probe((step_s * 1e9) as u64)?)?;
        let [others @ .., last] = specs.as_slice() else {
            return Err(Failed::measurement("the other end has no address").into());
        };
        let peer = &mut places.get(&member.place)?.peer;
        network_peer::prepare(peer, 0, (others, last)).map_err(Failed::from)?;
        let Some(rested_s) = self.rest(spec.rest_s, refill_s) else { return Ok(None) };
        self.observer.tell(RunEvent::Phase { what: format!("{}, {seconds} s", kind.words()) });
        let bound = SliceBound::Time { ns: (seconds * 1e9) as u64 };
        let slice = SliceSpec::now(bound, NETWORK_DISCARD_NS, false);
        let ran = peer.slice(0, &slice, slice_limit(&slice)).map_err(Failed::from)?;
        peer.end(0).map_err(Failed::from)?;
        if let Some(end) = &ready.far_end {
            places.get(&end.place)?.peer.unlisten(0).map_err(Failed::from)?;
        }
        let exchange = ran.exchange.context("the network probe reported no exchange")?;
        let way = if kind.writes { &exchange.to_peer } else { &exchange.from_peer };
        let steps = way.as_ref().map(|way| way.course.as_slice()).unwrap_or_default();
        let mut amount = 0;
        let point = |(at, more): (usize, &u64)| {
            amount += more;
            ((at + 1) as f64 * step_s, amount as f64)
        };
        let points: Vec<(f64, f64)> = steps.iter().enumerate().map(point).collect();
        let payload = exchange.datagram_bytes.unwrap_or(exchange.mss);
        let (ios, bytes) =
            if kind.bytes { (0, amount) } else { (amount, amount * u64::from(payload)) };
        let frame = Some(CourseFrame { payload, headers: exchange.header_bytes });
        Ok(Some(LimitCourse { kind, rested_s, found: find(&points), points, ios, bytes, frame }))
    }

    /// Runs consecutive slices; `None` if they were interrupted.
    fn of_device(
        &mut self,
        spec: CourseSpec,
        refill_s: f64,
        places: &mut Places,
        (ready, member): (&StackUnderLoad, &LoadedMember),
        kind: CourseKind,
    ) -> Result<Option<LimitCourse>> {
        let peer = &mut places.get(&member.place)?.peer;
        peer.prepare(0, &member.targets, &[kind.job()], None, PREPARE_LIMIT)
            .map_err(Failed::from)?;
        // The rest comes after preparing, which reads some blocks to try the engine.
        let Some(rested_s) = self.rest(spec.rest_s, refill_s) else { return Ok(None) };
        let what = format!("{}, at most {} s", kind.words(), spec.seconds);
        self.observer.tell(RunEvent::Phase { what });
        let mut tape = Tape::for_kind(kind, spec.seconds);
        let mut looked_s = 0.0;
        while tape.lasted_s() < tape.seconds {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let left = self.allowance.filter(|_| kind.writes);
            if left.is_some_and(|left| left < tape.block) {
                break;
            }
            let bound = tape.next(left);
            let spec = SliceSpec::now(bound, 0, false);
            let ran = peer.slice(0, &spec, slice_limit(&spec)).map_err(Failed::from)?;
            let first = ran.result.first_error.as_deref().unwrap_or("no message");
            let errors = ran.result.errors;
            ensure!(
                errors == 0,
                Failed::measurement(format!(
                    "{}: {errors} I/Os failed or came back short; the first: {first}",
                    ready.stack
                ))
            );
            let before = tape.ios;
            tape.add(bound, &ran.result);
            let written = (tape.ios - before) * tape.block;
            self.allowance =
                self.allowance.map(|left| left.saturating_sub(written * u64::from(kind.writes)));
            if tape.lasted_s() - looked_s >= LOOKS_EVERY_S {
                looked_s = tape.lasted_s();
                if tape.is_sure() {
                    break;
                }
            }
        }
        peer.end(0).map_err(Failed::from)?;
        let (ios, bytes) = (tape.ios, tape.ios * tape.block);
        let found = find(&tape.points);
        Ok(Some(LimitCourse {
            kind,
            rested_s,
            found,
            points: tape.points,
            ios,
            bytes,
            frame: None,
        }))
    }

    /// Waits for buckets to fill again, at least `least_s`. Returns the seconds that it took;
    /// `None` if it was interrupted.
    fn rest(&mut self, least_s: f64, refill_s: f64) -> Option<f64> {
        let seconds = least_s.max(1.1 * refill_s).min(LONGEST_REST_S);
        let why = match refill_s > 0.0 {
            true => format!("the bucket found takes {refill_s:.1} s to fill"),
            false => "set-up or other work may have emptied a bucket".to_owned(),
        };
        self.observer.tell(RunEvent::Phase { what: format!("rest of {seconds:.1} s: {why}") });
        let began = Instant::now();
        while began.elapsed().as_secs_f64() < seconds {
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            std::thread::sleep(
                Duration::from_secs_f64(seconds)
                    .saturating_sub(began.elapsed())
                    .min(Duration::from_millis(50)),
            );
        }
        Some(seconds)
    }
}

/// Returns the limits that are set in a place, including those on what is below these files and
/// devices.
fn limits_in(places: &mut Places, place: &Place, devices: Vec<PathBuf>) -> Result<Vec<SetLimit>> {
    let place = places.get(place)?;
    match place.ask(WireRequest::Facts { devices, programs: Vec::new() }, PREPARE_LIMIT)? {
        Response::Facts { facts } => Ok(facts.limits),
        other => Err(Failed::from(place.peer.unexpected("facts", &other)).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_load::Direction;

    /// Returns the result of a slice on a limiter or a drive: `ios` had come through by `end_s`.
    fn slice(bound: SliceBound, begin_s: f64, end_s: f64, ios: u64) -> SliceResult {
        let ns = |seconds: f64| (seconds * 1e9) as u64;
        let read = Direction { ios, ..Direction::default() };
        match bound {
            SliceBound::Time { ns: window_ns } => SliceResult {
                read: Direction { ios: ios / 2, ..Direction::default() },
                discarded_ios: ios - ios / 2,
                window_start_ns: ns(begin_s),
                window_ns,
                drain_ns: ns(end_s - begin_s).saturating_sub(window_ns),
                ..SliceResult::default()
            },
            SliceBound::Bytes { .. } => SliceResult {
                read,
                window_start_ns: ns(begin_s),
                window_ns: ns(end_s - begin_s),
                ..SliceResult::default()
            },
        }
    }

    /// Returns the course of a limiter that lets `burst + rate x t` through, on a drive of `drive`
    /// I/Os a second.
    fn limited(kind: CourseKind, (burst, rate, drive): (f64, f64, f64), seconds: f64) -> Tape {
        let mut tape = Tape::for_kind(kind, seconds);
        let mut now = 100.0;
        let mut looked = 0.0;
        while tape.lasted_s() < seconds {
            let bound = tape.next(None);
            let through = tape.ios as f64;
            let when = |ios: f64| (now + (ios - through) / drive).max(100.0 + (ios - burst) / rate);
            let (ios, end) = match bound {
                SliceBound::Bytes { bytes } => {
                    ((bytes / tape.block) as f64, when(through + (bytes / tape.block) as f64))
                }
                SliceBound::Time { ns } => {
                    let stop = now + ns as f64 / 1e9;
                    let in_time = ((stop - now) * drive)
                        .min(burst + rate * (stop - 100.0) - through)
                        .max(0.0)
                        .floor();
                    let ios = in_time + tape.depth as f64;
                    (ios, when(through + ios).max(stop))
                }
            };
            tape.add(bound, &slice(bound, now, end, ios as u64));
            now = end + 50e-6;
            if tape.lasted_s() - looked > LOOKS_EVERY_S {
                looked = tape.lasted_s();
                if tape.is_sure() {
                    break;
                }
            }
        }
        tape
    }

    #[test]
    fn slices_on_end_show_known_buckets() {
        for (bytes, burst, rate) in [
            (false, 100.0, 1000.0),
            (false, 5000.0, 1000.0),
            (false, 12_000.0, 2000.0),
            (false, 2000.0, 500.0),
            (true, 200.0, 50.0),
            (true, 20.0, 10.0),
        ] {
            let kind = CourseKind { network: false, writes: false, bytes, fine: false };
            let tape = limited(kind, (burst, rate, if bytes { 2000.0 } else { 60_000.0 }), 10.0);
            let unit = if bytes { tape.block as f64 } else { 1.0 };
            let Ok(CourseShape::Bucket(found)) = find(&tape.points) else {
                panic!("{burst} {rate}: {:?}", find(&tape.points))
            };
            let off = |found: f64, set: f64| (found / unit / set - 1.0).abs();
            assert!(
                off(found.rate.value, rate) < 0.02 && off(found.burst.value, burst) < 0.05,
                "{burst} {rate}: {found:?}"
            );
            assert!(
                tape.lasted_s() < 9.0 || bytes,
                "it ends as soon as it is sure: {}",
                tape.lasted_s()
            );
        }
    }

    #[test]
    fn small_bursts_of_bytes_are_looked_for_in_finer_blocks() {
        let course = |fine, all: (f64, f64, f64)| {
            let kind = CourseKind { network: false, writes: false, bytes: true, fine };
            let Tape { points, ios, .. } = limited(kind, all, 10.0);
            LimitCourse {
                kind,
                rested_s: 5.0,
                found: find(&points),
                points,
                ios,
                bytes: 0,
                frame: None,
            }
        };
        let coarse = course(false, (2.0, 20.0, 2000.0));
        assert!(coarse.is_coarse() && !course(false, (60.0, 20.0, 2000.0)).is_coarse());
        let fine = course(true, (32.0, 320.0, 32_000.0));
        assert!(coarse.is_shown_by(&fine) && !fine.is_coarse());
        let burst = fine.bucket().unwrap().burst.value;
        assert!((burst / f64::from(2 << 20) - 1.0).abs() < 0.05, "{burst}");
        let of_ios = course(true, (32.0, 200.0, 32_000.0));
        assert!(!coarse.is_shown_by(&of_ios), "a limit on I/Os, which small blocks meet first");
        let short = course(false, (2.0, 4.0, 2000.0));
        assert!(short.found.is_err() && short.is_coarse() && short.is_shown_by(&fine));
    }

    #[test]
    fn what_may_be_written_bounds_every_slice() {
        let mut tape = Tape::for_kind(
            CourseKind { network: false, writes: true, bytes: true, fine: false },
            10.0,
        );
        assert_eq!(tape.next(None), SliceBound::Time { ns: FIRST_SLICE_NS });
        let SliceBound::Bytes { bytes } = tape.next(Some(1 << 30)) else { panic!() };
        assert!(bytes <= 32 << 20);
        assert_eq!(tape.next(Some(3 << 20)), SliceBound::Bytes { bytes: 3 << 20 });
        assert_eq!(
            tape.next(Some((3 << 20) - 4096)),
            SliceBound::Bytes { bytes: 2 << 20 },
            "whole blocks"
        );
        tape.rate = Some(10.0);
        assert_eq!(
            tape.next(None),
            SliceBound::Bytes { bytes: 1 << 20 },
            "at 10 blocks a second one at a time"
        );
    }

    #[test]
    fn a_rest_that_was_too_short_is_known() {
        let tape = limited(CourseKind::ALL[0], (5000.0, 1000.0, 60_000.0), 10.0);
        let course = |rested_s| LimitCourse {
            kind: CourseKind::ALL[0],
            rested_s,
            found: find(&tape.points),
            points: tape.points.clone(),
            ios: tape.ios,
            bytes: 0,
            frame: None,
        };
        assert!((course(1.0).refill_s() - 5.0).abs() < 0.2);
        assert!(course(2.0).may_have_begun_empty() && !course(10.0).may_have_begun_empty());
    }
}
