//! Runs one slice in several places at once. All begin at the same time, which each place gets in
//! its own clock. The results are merged into one, with the share of the window in which all places
//! ran.

use super::places::{Places, ReachedPlace};
use super::under_load::LoadedMember;
use anyhow::{Context, Result};
use iotax_engines::serving::READY_BEFORE_NS;
use iotax_facts::place::Place;
use iotax_load::{Histogram, SliceBound, SliceResult, SliceSpec};
use iotax_model::record::{CpuTimes, DeviceReading, OnTarget, SlicePart};
use iotax_units::exit::Failed;
use iotax_units::show_ns;
use iotax_wire::message::{Ran, slice_limit};
use iotax_wire::message::{Response, WireRequest};
use iotax_wire::peer::QUICK_LIMIT;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

/// Least time between asking the first place and the common start. The last place must have been
/// asked by then.
const LEAST_LEAD_NS: u64 = 3_000_000;
/// Further lead time for each place, since asking takes time, too.
const LEAD_EACH_NS: u64 = 500_000;
/// Least share of the whole window in which all places run. The rest may pass before the last has
/// begun or after the first has ended its time. What some do alone is not what all do together; the
/// rest must stay small against the differences that are reported.
const LEAST_SHARE: f64 = 0.99;
/// Largest late start, as a share of the window, where slices end on equal bytes. Nobody can begin
/// in the middle and catch up there, so a rate is low by at most this. A place that stays later is
/// reported as such: a longer start does not help it.
const MOST_LATE: f64 = 0.05;
/// Number of tries of a slice by time. Each try doubles the discarded start, and doubles the lead
/// up to [`MOST_DOUBLINGS`] times. Six were too few for 16 guests on two processors that had just
/// booted. More tries cost nothing where they are not needed.
const TRIES: u32 = 9;
/// Most doublings of the lead. With more of them all places would only wait longer: those that are
/// late get no processor.
const MOST_DOUBLINGS: u32 = 4;
/// Number of tries of a slice by bytes, all of which write.
const TRIES_BY_BYTES: u32 = 2;
/// Interval of the reports that places are still working.
pub(super) const WATCHED_EVERY: Duration = Duration::from_secs(1);

pub fn tries(bound: SliceBound) -> u32 {
    if matches!(bound, SliceBound::Bytes { .. }) { TRIES_BY_BYTES } else { TRIES }
}

/// A request for a slice that several places run together.
pub(super) struct CommonSlice {
    pub worker: u32,
    pub spec: SliceSpec,
    /// Number of earlier tries: each further try has a longer lead.
    pub attempt: u32,
    /// True if this host is not among the places but some of its guests are, so that its CPU time
    /// is read.
    pub on_host: bool,
    /// True for a probe whose units are durations, so that the window of each place is their sum.
    pub of_times: bool,
}

/// Timing of one slice that several places ran.
#[derive(Clone, Debug, PartialEq)]
pub struct CommonSliceParts {
    /// Share of the whole window in which all places ran.
    pub share: f64,
    pub parts: Vec<SlicePart>,
    pub latencies: Vec<Histogram>,
    /// Share of the whole window that had passed when the last place began.
    late: f64,
    /// The place that began first, and the one that began last.
    ends: [Place; 2],
    apart_ns: u64,
    bound: SliceBound,
}

/// Slices of one or several places that were asked to run together.
pub(super) struct PlaceSlices {
    pub ran: Ran,
    /// CPU time of this host during the slice, and of other hosts that load with it, if guests on
    /// this host are among the places.
    pub host_cpu: Option<CpuTimes>,
    pub together: Option<CommonSliceParts>,
    /// Readings of the devices below the targets of each place, before and after the slice.
    pub devices: Vec<[DeviceReading; 2]>,
}

/// A place's result, and its clock minus that of the host.
type PlaceAnswer = (Ran, i64);

impl CommonSliceParts {
    /// Returns the share of the window that had passed when the last place began; `None` for a
    /// slice by time.
    pub fn late_share(&self) -> Option<f64> {
        matches!(self.bound, SliceBound::Bytes { .. }).then_some(self.late)
    }

    /// Returns true if the record shows what is wrong with the slice, so that it may count after
    /// the last try.
    pub fn is_explained(&self) -> bool {
        self.late_share().is_some()
    }

    /// Returns true if the slice counts as one of all places together. A slice by bytes lasts until
    /// the last place has ended, however fast the others were, so only the common start matters
    /// there.
    pub fn is_enough(&self) -> bool {
        match self.bound {
            SliceBound::Bytes { .. } => self.late <= MOST_LATE,
            SliceBound::Time { .. } => self.share >= LEAST_SHARE,
        }
    }

    pub fn why_again(&self, tried: u32) -> String {
        let CommonSliceParts { ends: [first, last], .. } = self;
        format!(
            "{last} started {} after {first}, so the slice is run again (try {} of {}, with a longer start)",
            show_ns(self.apart_ns as f64),
            tried + 1,
            tries(self.bound)
        )
    }

    /// Returns the error for places that ran too little of the slice together in the last of all
    /// tries.
    pub fn gave_up(&self) -> Failed {
        let CommonSliceParts { share, ends: [first, last], .. } = self;
        Failed::measurement(format!(
            "{} hosts or guests cannot run a slice at the same time: in the last of {} tries {last} started {} after \
             {first}, and only {:.0} % of the slice overlapped; hint: use longer slices (--slice), fewer guests or \
             hosts, or idle machines",
            self.parts.len(),
            tries(self.bound),
            show_ns(self.apart_ns as f64),
            100.0 * share
        ))
    }
}

/// Runs a slice in all places at the same time. If one of them fails, `in_vain` is set to the bytes
/// that the others wrote. Every second `under_way` is called with the time that the slice has taken
/// so far.
///
/// # Errors
/// When a peer is lost or refuses.
pub(super) fn run_common_slice(
    places: &mut Places,
    members: &[LoadedMember],
    asked: &CommonSlice,
    in_vain: &mut u64,
    under_way: &mut dyn FnMut(Duration),
) -> Result<PlaceSlices> {
    let loaded: Vec<&Place> = members.iter().map(|member| &member.place).collect();
    let spec = SliceSpec { bound: shared_out(asked.spec.bound, loaded.len() as u64), ..asked.spec };
    let asked = CommonSlice { spec, ..*asked };
    let all: Vec<&Place> =
        loaded.iter().copied().chain(asked.on_host.then_some(&Place::Host)).collect();
    let mut reached = places.get_several(&all)?;
    let host = if asked.on_host { reached.pop() } else { None };
    let on_this_host = loaded.iter().filter(|place| !place.is_ssh()).count();
    let (answers, host_cpu) = ask_all(&mut reached, host, &asked, turns(on_this_host), under_way)?;
    *in_vain = answers.iter().flatten().map(|(ran, _)| ran.result.write.bytes).sum();
    let answers = answers.into_iter().collect::<Result<Vec<PlaceAnswer>>>()?;
    *in_vain = 0;
    let (ran, together) =
        merge_places(&loaded, &answers, spec.bound, asked.of_times).context("no places")?;
    let host_cpu = of_machines(&loaded, &answers, host_cpu);
    let devices = answers.into_iter().map(|(ran, _)| ran.devices).collect();
    Ok(PlaceSlices { ran, host_cpu, together: Some(together), devices })
}

/// Returns the CPU time of all machines that run a load with guests of this host in it. `None`:
/// there is no guest, or one machine does not report it. A guest's CPU time is part of its host's,
/// which is one of the places or `host`.
fn of_machines(
    places: &[&Place],
    answers: &[PlaceAnswer],
    host: Option<CpuTimes>,
) -> Option<CpuTimes> {
    if !places.iter().any(|place| place.is_guest()) {
        return None;
    }
    let here = if places.contains(&&Place::Host) { CpuTimes::default() } else { host? };
    let machines = places.iter().zip(answers).filter(|(place, _)| !place.is_guest());
    machines.map(|(_, (ran, _))| ran.cpu).try_fold(here, |sum, one| Some(sum.sum_times(one?)))
}

pub(super) fn on_targets(result: &SliceResult) -> Vec<OnTarget> {
    result.targets.iter().map(|(ios, bytes)| OnTarget { ios: *ios, bytes: *bytes }).collect()
}

/// Gives each place the whole time, or an equal part of the bytes.
fn shared_out(bound: SliceBound, places: u64) -> SliceBound {
    match bound {
        SliceBound::Time { .. } => bound,
        SliceBound::Bytes { bytes } => SliceBound::Bytes { bytes: bytes.div_ceil(places) },
    }
}

fn ask_all(
    places: &mut [&mut ReachedPlace],
    host: Option<&mut ReachedPlace>,
    asked: &CommonSlice,
    turns: u64,
    under_way: &mut dyn FnMut(Duration),
) -> Result<(Vec<Result<PlaceAnswer>>, Option<CpuTimes>)> {
    let mut slowest_ns = 0;
    for place in places.iter_mut() {
        // Clocks run apart; one exchange is as exact as its round trip is short.
        let clock = place.peer.clock_offset_now().map_err(Failed::from)?;
        place.clock_offset_ns = clock.offset_ns;
        slowest_ns = slowest_ns.max(clock.round_trip_ns);
    }
    let asked_ns = iotax_load::clock::monotonic_ns();
    let begin_ns =
        asked_ns + (lead_ns(places.len(), turns, slowest_ns) << asked.attempt.min(MOST_DOUBLINGS));
    let ask = |place: &mut ReachedPlace, _answers: Sender<()>| {
        let begin_ns = Some(begin_ns.saturating_add_signed(place.clock_offset_ns));
        let spec = SliceSpec { begin_ns, ..asked.spec };
        let ran =
            place.peer.slice(asked.worker, &spec, slice_limit(&spec)).map_err(Failed::from)?;
        Ok((ran, place.clock_offset_ns))
    };
    std::thread::scope(|scope| {
        let (answers, answered) = channel();
        let ask = &ask;
        let places = places.iter_mut().map(|place| (place, answers.clone()));
        let asked: Vec<_> =
            places.map(|(place, answers)| scope.spawn(move || ask(place, answers))).collect();
        drop(answers);
        // Nobody works between the asking and the common start, so that time is in no CPU time.
        let wait_ns = begin_ns.saturating_sub(iotax_load::clock::monotonic_ns() + READY_BEFORE_NS);
        std::thread::sleep(Duration::from_nanos(wait_ns));
        let mut host = Host(host);
        let before = host.cpu_times()?;
        while answered.recv_timeout(WATCHED_EVERY) == Err(RecvTimeoutError::Timeout) {
            under_way(Duration::from_nanos(iotax_load::clock::monotonic_ns() - asked_ns));
        }
        let answers = asked.into_iter().map(join_thread).collect();
        let host_cpu = before.zip(host.cpu_times()?).map(|(from, to)| to.elapsed_since(from));
        Ok((answers, host_cpu))
    })
}

/// Returns the answer of a place that was asked in parallel with others. A panic while asking is a
/// bug and is resumed.
pub(super) fn join_thread<T>(asked: ScopedJoinHandle<'_, T>) -> T {
    asked.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Returns the CPU times of a place since its boot. A place without /proc/stat has none, and the
/// record says so.
pub(super) fn cpu_times(place: &mut ReachedPlace) -> Result<Option<CpuTimes>> {
    match place.peer.call(WireRequest::CpuTimes, QUICK_LIMIT) {
        Ok(Response::CpuTimes(times)) => Ok(Some(times)),
        Ok(other) => Err(Failed::from(place.peer.unexpected("cpu_times", &other)).into()),
        Err(_) if place.peer.is_usable() => Ok(None),
        Err(error) => Err(Failed::from(error).into()),
    }
}

/// This host, if its CPU times are wanted.
struct Host<'a>(Option<&'a mut ReachedPlace>);

impl Host<'_> {
    fn cpu_times(&mut self) -> Result<Option<CpuTimes>> {
        self.0.as_deref_mut().map_or(Ok(None), cpu_times)
    }
}

/// Returns the number of turns in which the guests of this host hear of a slice. With more guests
/// than processors, each hears of it when its turn comes. Other hosts have processors of their own.
pub(super) fn turns(on_this_host: usize) -> u64 {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    on_this_host.div_ceil(processors).max(1) as u64
}

pub(super) fn lead_ns(places: usize, turns: u64, slowest_ns: u64) -> u64 {
    (LEAST_LEAD_NS + places as u64 * LEAD_EACH_NS) * turns + 2 * slowest_ns
}

/// Merges the results of all places into one, with its window in the host's time. Windows of slices
/// by time are practically simultaneous and equally long (those of probes except for a fraction of
/// a unit). The window of a slice by bytes goes from the first submission to the last
/// acknowledgement.
fn merge_places(
    places: &[&Place],
    answers: &[PlaceAnswer],
    bound: SliceBound,
    of_times: bool,
) -> Option<(Ran, CommonSliceParts)> {
    let start =
        |(ran, offset): &PlaceAnswer| ran.result.window_start_ns.saturating_add_signed(-offset);
    let end = |answer: &PlaceAnswer| start(answer) + planned_ns(&answer.0.result, bound, of_times);
    let flushed = |answer: &PlaceAnswer| Some(end(answer) + answer.0.result.flush_ns?);
    let starts = || places.iter().zip(answers.iter().map(start));
    let (&first_place, first) = starts().min_by_key(|(_, at)| *at)?;
    let (&last_place, latest) = starts().max_by_key(|(_, at)| *at)?;
    let last = answers.iter().map(end).max()?;
    let shared = answers.iter().map(end).min()?.saturating_sub(latest);
    let window_ns = match bound {
        SliceBound::Time { .. } if of_times => {
            answers.iter().map(|(ran, _)| ran.result.window_ns).sum()
        }
        SliceBound::Time { .. } => mean_window(answers)?,
        SliceBound::Bytes { .. } => last - first,
    };
    let mut all = SliceResult { window_start_ns: first, window_ns, ..SliceResult::default() };
    let mut cpu = Some(CpuTimes::default());
    // A guest's CPU time on this host is part of this host's.
    let here = places.contains(&&Place::Host);
    for (place, (ran, _)) in places.iter().zip(answers) {
        all.add(&ran.result);
        if !(here && place.is_guest()) {
            cpu = cpu.zip(ran.cpu).map(|(sum, one)| sum.sum_times(one));
        }
    }
    // Each place flushes right after its own end: all data is on the disk when the last flush has
    // ended.
    let flushes: Option<Vec<u64>> = answers.iter().map(flushed).collect();
    all.flush_ns = flushes.and_then(|ends| ends.into_iter().max()).map(|through| through - last);
    let part = |(place, (ran, _)): (&&Place, &PlaceAnswer)| SlicePart {
        place: (*place).clone(),
        ios: units(&ran.result),
        bytes: ran.result.directions().iter().map(|one| one.bytes).sum(),
        reads: ran.result.read.ios,
        writes: ran.result.write.ios,
        window_ns: ran.result.window_ns,
        latency: None,
        targets: on_targets(&ran.result),
    };
    let latencies = |(ran, _): &PlaceAnswer| {
        let mut all = Histogram::new();
        ran.result.directions().iter().for_each(|one| all.merge(&one.latency));
        all
    };
    let whole = (last - first).max(1) as f64;
    let together = CommonSliceParts {
        share: shared as f64 / whole,
        parts: places.iter().zip(answers).map(part).collect(),
        latencies: answers.iter().map(latencies).collect(),
        late: (latest - first) as f64 / whole,
        ends: [first_place, last_place].map(Place::clone),
        apart_ns: latest - first,
        bound,
    };
    Some((Ran { result: all, cpu, ..Ran::default() }, together))
}

/// Returns the planned length of a window if its actual length differs only because of times or
/// whole units of work. Otherwise returns the actual length.
fn planned_ns(result: &SliceResult, bound: SliceBound, of_times: bool) -> u64 {
    let is_within_a_unit =
        |ns: u64| ns.abs_diff(result.window_ns) <= result.window_ns / units(result).max(1);
    match bound {
        SliceBound::Time { ns } if of_times || is_within_a_unit(ns) => ns,
        _ => result.window_ns,
    }
}

/// Returns the window in which all units would be done at the sum of the rates of all places.
fn mean_window(answers: &[PlaceAnswer]) -> Option<u64> {
    let first_ns = answers.first()?.0.result.window_ns;
    let of = |(ran, _): &PlaceAnswer| {
        let units = units(&ran.result) as f64;
        [units, units / ran.result.window_ns.max(1) as f64]
    };
    let [units, rate] =
        answers.iter().map(of).fold([0.0, 0.0], |sum, one| [sum[0] + one[0], sum[1] + one[1]]);
    Some(if rate > 0.0 { (units / rate).round() as u64 } else { first_ns })
}

fn units(result: &SliceResult) -> u64 {
    result.directions().iter().map(|one| one.ios).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(start_ns: u64, window_ns: u64, ios: u64, offset: i64) -> PlaceAnswer {
        let mut result =
            SliceResult { window_start_ns: start_ns, window_ns, ..SliceResult::default() };
        (result.read.ios, result.read.bytes, result.flush_ns) = (ios, ios * 4096, Some(ios));
        for _ in 0..ios {
            result.read.latency.record(window_ns / ios);
        }
        let cpu = Some(CpuTimes { user_ns: window_ns, idle_ns: 1, ..CpuTimes::default() });
        (Ran { result, cpu, ..Ran::default() }, offset)
    }

    /// Each of the answers has 1000 ns of user time.
    #[test]
    fn cpu_time_of_a_guest_is_counted_once_with_its_hosts() {
        let host = Some(CpuTimes { user_ns: 5000, ..CpuTimes::default() });
        let of = |places: [Place; 2], host| {
            let answers = [answer(0, 1000, 10, 0), answer(0, 1000, 10, 0)];
            let places = places.each_ref();
            let cpu = merge_places(&places, &answers, SliceBound::Time { ns: 1000 }, false)
                .unwrap()
                .0
                .cpu;
            let ns = |cpu: Option<CpuTimes>| cpu.map(|cpu| cpu.user_ns);
            (ns(cpu), ns(of_machines(&places, &answers, host)))
        };
        let (ssh, lab) = (Place::Ssh("a".into()), Place::Guest("lab".into()));
        assert_eq!(of([ssh.clone(), Place::Host], None), (Some(2000), None));
        assert_eq!(
            of([lab.clone(), Place::Host], None),
            (Some(1000), Some(1000)),
            "the lab runs on this host"
        );
        assert_eq!(
            of([lab.clone(), ssh.clone()], host),
            (Some(2000), Some(6000)),
            "this host's, and the other's"
        );
        assert_eq!(of([lab.clone(), "vm1".into()], host), (Some(2000), Some(5000)));
        assert_eq!(of([lab, ssh], None), (Some(2000), None));
    }

    fn merged_of(
        places: [&str; 2],
        answers: &[PlaceAnswer],
        bound: SliceBound,
    ) -> Option<(Ran, CommonSliceParts)> {
        merge_places(&places.map(Place::from).each_ref(), answers, bound, false)
    }

    #[test]
    fn windows_in_several_clocks_are_one() {
        let bound = SliceBound::Time { ns: 1000 };
        // The second place's clock is 500 ahead of the host's: both windows begin at 10,000.
        let answers = [answer(10_000, 1000, 10, 0), answer(10_500, 1000, 30, 500)];
        let (Ran { result, cpu, .. }, together) =
            merged_of(["vm0", "vm1"], &answers, bound).unwrap();
        assert_eq!((result.window_start_ns, result.window_ns, result.read.ios), (10_000, 1000, 40));
        assert_eq!((result.read.latency.count(), result.flush_ns), (40, Some(30)));
        assert_eq!(cpu, Some(CpuTimes { user_ns: 2000, idle_ns: 2, ..CpuTimes::default() }));
        assert!(together.share == 1.0 && together.is_enough());
        let ios: Vec<_> =
            together.parts.iter().map(|part| (part.place.to_string(), part.ios)).collect();
        assert_eq!(ios, [("vm0".to_owned(), 10), ("vm1".to_owned(), 30)]);
        let shifted = [answer(10_000, 1000, 10, 0), answer(10_250, 1000, 30, 0)];
        let late = merged_of(["a", "b"], &shifted, bound).unwrap().1;
        assert!(late.share == 0.6 && !late.is_enough());
        let apart = [answer(10_000, 1000, 10, 0), answer(20_000, 1000, 30, 0)];
        let apart = merged_of(["a", "b"], &apart, bound).unwrap().1;
        assert_eq!(apart.share, 0.0);
        let words = apart.gave_up().message;
        assert!(
            words.contains(
                "2 hosts or guests cannot run a slice at the same time: in the last of 9 tries b \
            started 10.0 us after a, and only 0 %"
            ),
            "{words}"
        );
    }

    /// Whole units take a different time in each place: 19 units take 20.9 ms, and 4 units 17.5 ms.
    #[test]
    fn windows_of_whole_units_are_at_one_time_if_they_begin_so() {
        let bound = SliceBound::Time { ns: 20_000_000 };
        let answers = [answer(10_000, 20_900_000, 19, 0), answer(10_000, 17_500_000, 4, 0)];
        let (Ran { result, .. }, together) = merged_of(["vm0", "vm1"], &answers, bound).unwrap();
        assert!(together.share == 1.0 && together.is_enough(), "{together:?}");
        let rate = 19.0_f64 / 20_900_000.0 + 4.0 / 17_500_000.0;
        assert_eq!(
            (result.read.ios, result.window_ns),
            (23, (23.0 / rate).round() as u64),
            "the sum of both rates"
        );
        assert_eq!((together.parts[1].ios, together.parts[1].window_ns), (4, 17_500_000));
        // A window that is short by more than one unit does not count as the planned one.
        let other = [answer(10_000, 20_000_000, 20, 0), answer(10_000, 14_000_000, 14, 0)];
        assert!(!merged_of(["vm0", "vm1"], &other, bound).unwrap().1.is_enough());
    }

    /// Ten wake-ups that were 100 ns late each, and 30 that were 500 ns late.
    #[test]
    fn times_of_all_places_are_one_sum() {
        let answers = [answer(10_000, 1000, 10, 0), answer(10_000, 15_000, 30, 0)];
        let places = ["vm0", "vm1"].map(Place::from);
        let bound = SliceBound::Time { ns: 2_000_000 };
        let (Ran { result, .. }, together) =
            merge_places(&places.each_ref(), &answers, bound, true).unwrap();
        assert_eq!(
            (result.read.ios, result.window_ns, together.share),
            (40, 16_000, 1.0),
            "400 each"
        );
    }

    #[test]
    fn places_that_share_processors_are_told_earlier() {
        assert_eq!(lead_ns(4, 1, 1000), 5_002_000);
        assert_eq!(lead_ns(16, 8, 0), 8 * 11_000_000);
        assert_eq!(turns(0), 1, "other hosts have processors of their own");
    }

    #[test]
    fn slices_by_bytes_last_from_the_first_to_the_last() {
        let bound = SliceBound::Bytes { bytes: 1 };
        let answers = [answer(10_000, 1000, 10, 0), answer(10_100, 1900, 10, 0)];
        let (ran, together) = merged_of(["a", "b"], &answers, bound).unwrap();
        assert_eq!((ran.result.window_start_ns, ran.result.window_ns), (10_000, 2000));
        assert_eq!((together.share, together.is_enough()), (0.45, true));
        // Two slices in succession do not count as a common slice.
        let after = [answer(10_000, 1000, 10, 0), answer(10_900, 1900, 10, 0)];
        assert!(!merged_of(["a", "b"], &after, bound).unwrap().1.is_enough());
    }

    #[test]
    fn all_is_on_the_disk_when_the_last_flush_is_through() {
        let flushed = |window_ns, flush_ns| {
            let mut one = answer(10_000, window_ns, 10, 0);
            one.0.result.flush_ns = Some(flush_ns);
            one
        };
        let of = |answers: &[PlaceAnswer]| {
            merged_of(["a", "b"], answers, SliceBound::Bytes { bytes: 1 }).unwrap().0.result
        };
        // The first is through at 13,000, the second at 12,100: 1,000 after the last end.
        assert_eq!(of(&[flushed(1000, 2000), flushed(2000, 100)]).flush_ns, Some(1000));
        assert_eq!(of(&[flushed(1000, 500), flushed(2000, 100)]).flush_ns, Some(100));
        let mut none = answer(10_000, 1000, 10, 0);
        none.0.result.flush_ns = None;
        assert_eq!(of(&[flushed(1000, 2000), none]).flush_ns, None);
    }
}
