//! Runs courses of load on one stack and records how much had come through at each time, from the
//! first I/O on, so that a limit shows (`iotax_stats::bucket`). A course of I/O is made of
//! consecutive short slices. Each shows exactly how much had come through when its queue was empty
//! again. A limiter whose bucket is empty takes no notice of so short a pause, since what it lets
//! through depends on time alone. A course of a network is one slice, whose receiving end records
//! what arrives: buckets of networks hold milliseconds, and a pause would fill them.

use super::network_peer;
use super::observer::RunEvent;
use super::places::Places;
use super::session::{PlannedVisit, RunOutcome, Session};
use super::under_load::{LoadedMember, PREPARE_LIMIT, StackUnderLoad};
use anyhow::{Context, Result, ensure};
use iotax_facts::place::Place;
use iotax_host::limits::{LimitUnit, SetLimit, processors};
use iotax_host::probe::Probe;
use iotax_load::{Job, Rw, SliceBound, SliceResult, SliceSpec};
use iotax_model::record::RunRecord;
use iotax_model::record::course::{
    CourseDirection, CourseFrame, CourseLoad, LimitCourse, PathLimits,
};
use iotax_model::scenario::LimitSearch;
use iotax_plan::sets::SetLayout;
use iotax_probe::ProbeSpec;
use iotax_qemu::qmp::Qmp;
use iotax_qemu::throttle;
use iotax_stats::bucket::{Bucket, CourseShape, SAME_RATE, Unfit, find_bucket};
use iotax_units::exit::Failed;
use iotax_wire::message::{Response, WireRequest, slice_limit};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Length of the first slice of a course, short enough to see a small burst while it lasts.
const FIRST_SLICE_NS: u64 = 1_000_000;
/// Factor by which each slice of a course is longer than the one before.
const GROWTH: f64 = 1.15;
const LONGEST_SLICE_NS: u64 = 10_000_000;
/// Longest time to empty the queue for which slices end on time. If it takes longer, slices end on
/// I/Os, since a slice that ends on time drains for as long again.
const LONG_DRAIN_S: f64 = 0.005;
/// Least number of points of a course, unless single I/Os take longer.
const LEAST_POINTS: f64 = 200.0;
/// Seconds between two analyses of a course that goes on.
const LOOKS_EVERY_S: f64 = 0.5;
/// Least number of blocks in a burst. With fewer, the burst is known to worse than 5 %: a limiter
/// may let the block pass that overflows its bucket.
const FEW_BLOCKS: f64 = 20.0;
/// Largest relative standard errors of rate and burst with which a course may end early.
const SURE: [f64; 2] = [0.002, 0.01];
/// Least seconds that a course must show the rate after the burst before it may end early.
const LEAST_TAIL_S: f64 = 2.0;
/// Shortest interval, in seconds, at which arrivals over a network are recorded.
const NETWORK_STEP_S: f64 = 0.01;
/// Most such intervals in a course.
const NETWORK_STEPS: f64 = 1000.0;
/// Longest course of a network, in seconds.
const LONGEST_NETWORK_S: f64 = 590.0;
/// Discarded start of a network's course: the threads at both ends have this long to wake up.
const NETWORK_DISCARD_NS: u64 = 200_000_000;
const LONGEST_REST_S: f64 = 120.0;
/// Time limit for QEMU, which answers at once or not at all.
const QMP_LIMIT: Duration = Duration::from_secs(5);

type CourseKind = (CourseDirection, CourseLoad);

const OF_DEVICE: [CourseKind; 4] = [
    (CourseDirection::Read, CourseLoad::SmallBlocks),
    (CourseDirection::Read, CourseLoad::LargeBlocks),
    (CourseDirection::Write, CourseLoad::SmallBlocks),
    (CourseDirection::Write, CourseLoad::LargeBlocks),
];

const OF_NETWORK: [CourseKind; 4] = [
    (CourseDirection::Send, CourseLoad::Streams),
    (CourseDirection::Receive, CourseLoad::Streams),
    (CourseDirection::Send, CourseLoad::Datagrams),
    (CourseDirection::Receive, CourseLoad::Datagrams),
];

/// Target and load of a course.
#[derive(Clone, Copy)]
struct CourseAim<'a> {
    search: &'a LimitSearch,
    ready: &'a StackUnderLoad,
    /// The only place of the load.
    member: &'a LoadedMember,
    kind: CourseKind,
    /// Seconds that the largest bucket found so far takes to be full again.
    refill_s: f64,
}

fn probe_spec((direction, load): CourseKind, step_ns: u64) -> Result<ProbeSpec> {
    let text = match (load, direction.is_outward()) {
        (CourseLoad::Streams, true) => "tcp(send)",
        (CourseLoad::Streams, false) => "tcp(receive)",
        (_, true) => "udp(small-send)",
        (_, false) => "udp(small-receive)",
    };
    let spec = ProbeSpec::parse(text).map_err(Failed::input)?;
    Ok(ProbeSpec { numjobs: load.depth(), course_ns: Some(step_ns), ..spec })
}

fn job((direction, load): CourseKind) -> Job {
    let rw = match (direction.is_outward(), load == CourseLoad::SmallBlocks) {
        (false, true) => Rw::RandRead,
        (false, false) => Rw::Read,
        (true, true) => Rw::RandWrite,
        (true, false) => Rw::Write,
    };
    let (bs, iodepth) = (load.block_bytes(), load.depth());
    Job { name: rw.word().into(), rw, bs, iodepth, ..Job::default() }
}

/// Returns the token bucket that a course shows, if any.
fn bucket(course: &LimitCourse) -> Option<Bucket> {
    match find_bucket(&course.points) {
        Ok(CourseShape::Bucket(bucket)) => Some(bucket),
        _ => None,
    }
}

/// Returns true if too few blocks came through, in the course or in the burst, to determine the
/// burst.
fn is_coarse(course: &LimitCourse) -> bool {
    if course.load != CourseLoad::LargeBlocks {
        return false;
    }
    match find_bucket(&course.points) {
        Ok(CourseShape::Bucket(bucket)) => {
            bucket.burst.value < FEW_BLOCKS * course.load.block_bytes() as f64
        }
        Ok(_) => false,
        Err(why) => matches!(why, Unfit::Short(_)),
    }
}

/// Returns true if a course of finer blocks confirms the coarse one: it shows the same limit, or a
/// clear shape where the coarse course shows no bucket.
fn is_shown_by(coarse: &LimitCourse, finer: &LimitCourse) -> bool {
    match (bucket(coarse), bucket(finer)) {
        (Some(own), Some(other)) => (other.rate.value / own.rate.value - 1.0).abs() <= SAME_RATE,
        (None, _) => find_bucket(&finer.points).is_ok(),
        (Some(_), None) => false,
    }
}

/// What the consecutive slices of a course have shown so far.
struct Tape {
    block: u64,
    depth: u64,
    by_bytes: bool,
    seconds: f64,
    slice_ns: f64,
    began_ns: Option<u64>,
    /// I/Os per second in the last slice.
    rate: Option<f64>,
    ios: u64,
    points: Vec<(f64, f64)>,
}

impl Tape {
    fn for_load(load: CourseLoad, seconds: f64) -> Tape {
        Tape {
            block: load.block_bytes(),
            depth: load.depth().into(),
            by_bytes: load.counts_bytes(),
            seconds,
            slice_ns: FIRST_SLICE_NS as f64,
            began_ns: None,
            rate: None,
            ios: 0,
            points: Vec::new(),
        }
    }

    /// Returns the bound of the next slice. `left` is the number of bytes that may still be
    /// written; `None` if that is not limited.
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
        match find_bucket(&self.points) {
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
    pub(super) fn find_limits(
        &mut self,
        search: &LimitSearch,
        layout: &SetLayout,
        places: &mut Places,
        region: u64,
    ) -> Result<RunOutcome> {
        let by_hand = self.scenario.stacks.iter().any(|stack| !stack.by_hand.is_empty());
        ensure!(
            !by_hand,
            Failed::input(
                "limits are not searched on disks that a person makes; hint: search them on the disk itself"
            )
        );
        let mark = self.executor.mark();
        let planned = PlannedVisit { number: 0, set: 0 };
        let up = self.bring_up(layout, places, planned)?;
        let ready = self.stacks_under_load(places, &up, region)?;
        self.write_first(places, planned, &up, &ready, region)?;
        let outcome = self.all_courses(search, places, &ready[0])?;
        self.leave_set(places, &up, mark, Vec::new())?;
        Ok(outcome)
    }

    fn all_courses(
        &mut self,
        search: &LimitSearch,
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
        let limits = path_limits(search, places, ready, member)?;
        self.store.append(&RunRecord::PathLimits(limits))?;
        let kinds = if ready.far_end.is_some() { OF_NETWORK } else { OF_DEVICE };
        let is_asked =
            |(direction, _): &CourseKind| *direction != CourseDirection::Write || search.writes;
        let mut refill_s: f64 = 0.0;
        for kind in kinds.into_iter().filter(is_asked) {
            let aim = CourseAim { search, ready, member, kind, refill_s };
            let Some(course) = self.course(places, aim)? else {
                return Ok(RunOutcome::Interrupted);
            };
            // Reads and writes, I/Os and bytes may share one bucket.
            refill_s = refill_s.max(refill(&course));
            if !is_coarse(&course) {
                self.store.append(&RunRecord::Course(course))?;
                continue;
            }
            // A bucket that is not known yet is full again after as long as it was drawn from.
            let drawn_s = if bucket(&course).is_some() { 0.0 } else { course.seconds() };
            let kind = (kind.0, CourseLoad::FineBlocks);
            let aim = CourseAim { kind, refill_s: refill_s.max(drawn_s), ..aim };
            let finer = self.course(places, aim)?;
            let is_cut_short = finer.is_none();
            let better = finer.filter(|finer| is_shown_by(&course, finer)).unwrap_or(course);
            self.store.append(&RunRecord::Course(better))?;
            if is_cut_short {
                return Ok(RunOutcome::Interrupted);
            }
        }
        self.store.sync()?;
        Ok(RunOutcome::Complete)
    }

    /// Runs one course; `None` if it was interrupted.
    fn course(&mut self, places: &mut Places, aim: CourseAim) -> Result<Option<LimitCourse>> {
        match aim.kind.1.is_of_network() {
            true => self.network_course(places, aim),
            false => self.device_course(places, aim),
        }
    }

    /// Runs a course of a network: one slice, whose receiving end records what arrives. `None` if
    /// it was interrupted.
    fn network_course(
        &mut self,
        places: &mut Places,
        aim: CourseAim,
    ) -> Result<Option<LimitCourse>> {
        let CourseAim { search, ready, member, kind, refill_s } = aim;
        let (direction, load) = kind;
        let seconds = search.seconds.min(LONGEST_NETWORK_S);
        let step_s = NETWORK_STEP_S.max(seconds / NETWORK_STEPS);
        let probe = probe_spec(kind, (step_s * 1e9) as u64)?;
        let specs = network_peer::listen_at_far_end(places, ready, 0, &probe)?;
        let [others @ .., last] = specs.as_slice() else {
            return Err(Failed::measurement("the other end has no address").into());
        };
        let peer = &mut places.get(&member.place)?.peer;
        network_peer::prepare_first_probe(peer, 0, others, last).map_err(Failed::from)?;
        let Some(rested_s) = self.rest(search.rest_s, refill_s) else { return Ok(None) };
        let what = format!("{}, {seconds} s", load.phrase(direction));
        self.observer.notify(RunEvent::Phase { what });
        let bound = SliceBound::Time { ns: (seconds * 1e9) as u64 };
        let slice = SliceSpec::starting_now(bound, NETWORK_DISCARD_NS, false);
        let ran = peer.slice(0, &slice, slice_limit(&slice)).map_err(Failed::from)?;
        peer.end_worker(0).map_err(Failed::from)?;
        if let Some(end) = &ready.far_end {
            places.get(&end.place)?.peer.unlisten(0).map_err(Failed::from)?;
        }
        let exchange = ran.exchange.context("the network probe reported no exchange")?;
        let way = if direction.is_outward() { &exchange.to_peer } else { &exchange.from_peer };
        let steps = way.as_ref().map(|way| way.course.as_slice()).unwrap_or_default();
        let mut amount = 0;
        let point = |(at, more): (usize, &u64)| {
            amount += more;
            ((at + 1) as f64 * step_s, amount as f64)
        };
        let points: Vec<(f64, f64)> = steps.iter().enumerate().map(point).collect();
        let payload = exchange.datagram_bytes.unwrap_or(exchange.mss);
        let (ios, bytes) = match load.counts_bytes() {
            true => (0, amount),
            false => (amount, amount * u64::from(payload)),
        };
        let frame = Some(CourseFrame { payload, headers: exchange.header_bytes });
        Ok(Some(LimitCourse { direction, load, rested_s, ios, bytes, frame, points }))
    }

    /// Runs a course of I/O: consecutive slices. `None` if it was interrupted.
    fn device_course(
        &mut self,
        places: &mut Places,
        aim: CourseAim,
    ) -> Result<Option<LimitCourse>> {
        let CourseAim { search, ready, member, kind, refill_s } = aim;
        let (direction, load) = kind;
        let peer = &mut places.get(&member.place)?.peer;
        peer.prepare(0, &member.targets, &[job(kind)], None, PREPARE_LIMIT)
            .map_err(Failed::from)?;
        // The rest comes after preparing, which reads some blocks to try the engine.
        let Some(rested_s) = self.rest(search.rest_s, refill_s) else { return Ok(None) };
        let what = format!("{}, at most {} s", load.phrase(direction), search.seconds);
        self.observer.notify(RunEvent::Phase { what });
        let mut tape = Tape::for_load(load, search.seconds);
        let mut looked_s = 0.0;
        while tape.lasted_s() < tape.seconds {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            let left = self.allowance.filter(|_| direction.is_outward());
            if left.is_some_and(|left| left < tape.block) {
                break;
            }
            let bound = tape.next(left);
            let slice = SliceSpec::starting_now(bound, 0, false);
            let ran = peer.slice(0, &slice, slice_limit(&slice)).map_err(Failed::from)?;
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
            let written = (tape.ios - before) * tape.block * u64::from(direction.is_outward());
            self.allowance = self.allowance.map(|left| left.saturating_sub(written));
            if tape.lasted_s() - looked_s >= LOOKS_EVERY_S {
                looked_s = tape.lasted_s();
                if tape.is_sure() {
                    break;
                }
            }
        }
        peer.end_worker(0).map_err(Failed::from)?;
        let (ios, bytes) = (tape.ios, tape.ios * tape.block);
        let points = tape.points;
        Ok(Some(LimitCourse { direction, load, rested_s, ios, bytes, frame: None, points }))
    }

    /// Waits until buckets are full again: 1.1 times `refill_s`, at least `least_s`, at most 120 s.
    /// Returns the seconds of the wait; `None` if it was interrupted.
    fn rest(&mut self, least_s: f64, refill_s: f64) -> Option<f64> {
        let seconds = least_s.max(1.1 * refill_s).min(LONGEST_REST_S);
        let why = match refill_s > 0.0 {
            true => format!("the bucket found takes {refill_s:.1} s to fill"),
            false => "set-up or other work may have emptied a bucket".to_owned(),
        };
        self.observer.notify(RunEvent::Phase { what: format!("rest of {seconds:.1} s: {why}") });
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

/// Returns the seconds that the bucket of a course takes to be full again; 0 if it shows no bucket.
fn refill(course: &LimitCourse) -> f64 {
    bucket(course).map_or(0.0, |bucket| bucket.refill_s())
}

/// Reads the limits that are set by a QEMU whose socket is given, where the load of a stack runs,
/// on this host, and at the other end of a network, as far as they can be read.
fn path_limits(
    search: &LimitSearch,
    places: &mut Places,
    ready: &StackUnderLoad,
    member: &LoadedMember,
) -> Result<PathLimits> {
    let mut near = search.qmp.as_deref().map(qemu_limits).transpose()?.unwrap_or_default();
    let targets = member.targets.iter().map(|target| target.path.clone()).collect();
    near.extend(limits_in(places, &member.place, targets)?);
    if !member.place.is_host() && places.is_reached(&Place::Host) {
        near.extend(limits_in(places, &Place::Host, ready.owed.clone())?);
    }
    let mut far = match &ready.far_end {
        Some(end) => limits_in(places, &end.place, Vec::new())?,
        None => Vec::new(),
    };
    far.retain(|set| set.of == LimitUnit::Sent);
    let probe = Probe::of_files(Path::new("/"));
    Ok(PathLimits { near, far, processors: processors(&probe).map(|(list, _)| list) })
}

/// Reads the throttling of its disks that a QEMU process reports.
///
/// # Errors
/// Bad input: nothing that speaks QMP is at the socket.
pub fn qemu_limits(socket: &Path) -> Result<Vec<SetLimit>, Failed> {
    let failed = |error| Failed::input(format!("--qmp {}: {error}", socket.display()));
    let mut qmp = Qmp::connect(socket, QMP_LIMIT).map_err(failed)?;
    throttle::limits(&mut qmp, &socket.display().to_string()).map_err(failed)
}

/// Returns the limits that are set in a place, including those on the devices at and below
/// `devices`.
fn limits_in(places: &mut Places, place: &Place, devices: Vec<PathBuf>) -> Result<Vec<SetLimit>> {
    let place = places.get(place)?;
    match place.send_request(WireRequest::Facts { devices, programs: Vec::new() }, PREPARE_LIMIT)? {
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
    fn limited(load: CourseLoad, (burst, rate, drive): (f64, f64, f64), seconds: f64) -> Tape {
        let mut tape = Tape::for_load(load, seconds);
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
            let load = if bytes { CourseLoad::LargeBlocks } else { CourseLoad::SmallBlocks };
            let tape = limited(load, (burst, rate, if bytes { 2000.0 } else { 60_000.0 }), 10.0);
            let unit = if bytes { tape.block as f64 } else { 1.0 };
            let Ok(CourseShape::Bucket(found)) = find_bucket(&tape.points) else {
                panic!("{burst} {rate}: {:?}", find_bucket(&tape.points))
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
        let course = |load, all: (f64, f64, f64)| {
            let Tape { points, ios, .. } = limited(load, all, 10.0);
            let direction = CourseDirection::Read;
            LimitCourse { direction, load, rested_s: 5.0, ios, bytes: 0, frame: None, points }
        };
        let (large, fine) = (CourseLoad::LargeBlocks, CourseLoad::FineBlocks);
        let coarse = course(large, (2.0, 20.0, 2000.0));
        assert!(is_coarse(&coarse) && !is_coarse(&course(large, (60.0, 20.0, 2000.0))));
        let finer = course(fine, (32.0, 320.0, 32_000.0));
        assert!(is_shown_by(&coarse, &finer) && !is_coarse(&finer));
        let burst = bucket(&finer).unwrap().burst.value;
        assert!((burst / f64::from(2 << 20) - 1.0).abs() < 0.05, "{burst}");
        let of_ios = course(fine, (32.0, 200.0, 32_000.0));
        assert!(!is_shown_by(&coarse, &of_ios), "a limit on I/Os, which small blocks meet first");
        let short = course(large, (2.0, 4.0, 2000.0));
        assert!(
            find_bucket(&short.points).is_err() && is_coarse(&short) && is_shown_by(&short, &finer)
        );
    }

    #[test]
    fn what_may_be_written_bounds_every_slice() {
        let mut tape = Tape::for_load(CourseLoad::LargeBlocks, 10.0);
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
}
