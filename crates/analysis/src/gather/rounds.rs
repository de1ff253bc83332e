//! From slices to rounds: one pass over the record of a workload for each purpose. Only whole
//! rounds count, since a kill in the middle of a round leaves it lopsided. A slice that failed to
//! count its I/Os or bytes spoils its round for that stack.

use crate::findings::WritebackWait;
use iotax_model::record::{
    CpuTimes, LOST_PLACE, OnTarget, Place, Purpose, SampleValue, Slice, SlicePart, Warning,
    worse_known,
};
use iotax_model::scenario::Workload;
use iotax_stats::Refusal;
use iotax_stats::exceedance::RoundHistograms;
use iotax_stats::quantile;
use iotax_stats::ratio::Total;
use iotax_stats::refusal::KEPT_UP;
use iotax_store::RunData;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Add;

pub type RoundId = (u32, u32);

/// Grouping of visits into strata of rounds. Visits to the same one of the equal files form one
/// stratum: a file's advantage for one stack cancels with the next file's for another only if all
/// files weigh alike, however often a run was resumed. Each visit is a stratum of its own if the
/// user asked for several attaches, or if the record does not name the files.
#[derive(Clone, Copy, Debug, Default)]
pub struct VisitStrata {
    siblings: Option<u32>,
}

impl VisitStrata {
    pub fn from_run(run: &RunData) -> VisitStrata {
        let whole = run.start.siblings > 0 && run.start.scenario.measure.attaches <= 1;
        VisitStrata { siblings: whole.then_some(run.start.siblings) }
    }

    pub fn of_visit(self, visit: u32) -> u32 {
        self.siblings.map_or(visit, |siblings| visit % siblings)
    }

    /// Splits rounds by stratum, in order of time within each.
    pub fn split(self, rounds: &[RoundId]) -> Vec<Vec<RoundId>> {
        let mut strata: BTreeMap<u32, Vec<RoundId>> = BTreeMap::new();
        for id in rounds {
            strata.entry(self.of_visit(id.0)).or_default().push(*id);
        }
        strata.into_values().collect()
    }
}

#[derive(Clone, Debug, Default)]
pub struct RoundTotal {
    slices: u32,
    spoiled: bool,
    /// Number of I/Os completed in the windows.
    pub ios: f64,
    /// Number of I/Os completed, including discarded ones; CPU times are divided by it.
    pub all_ios: f64,
    /// Discarded time at the start of the slices.
    pub discarded_s: f64,
    pub bytes: f64,
    pub window_s: f64,
    /// Time of the final flushes, if every slice had one.
    pub flush_s: Option<f64>,
    /// CPU time of the generator itself in user mode, if every slice reports it.
    pub cpu_user_ns: Option<f64>,
    pub cpu_kernel_ns: Option<f64>,
    /// User and system time of the place, if every slice reports it.
    pub cpu_place_ns: Option<f64>,
    /// User and system time of this host if the place is a guest on it, else of the place. A
    /// guest's time is part of its host's.
    pub cpu_ns: Option<f64>,
    /// Seconds for which limits on CPU time held threads back, on all processors together.
    pub throttled_s: f64,
    /// CPU time of the threads that serve the I/O apart from the load, if every slice reports it.
    pub engine_ns: Option<f64>,
    /// Totals that a network probe saw in addition to its result, if every slice reports them.
    pub exchanged: Option<NetworkTotals>,
    pub latency: Total,
    /// I/Os, bytes and latencies of each direction, in the order of [`IoDirection::ALL`].
    directions: [DirectionTotal; 3],
    /// Sums for each place, if the load runs in several.
    pub parts: BTreeMap<Place, PartTotal>,
    /// I/Os and window seconds of each target, if a place has several (disks of a guest).
    pub targets: BTreeMap<(Place, usize), (f64, f64)>,
    /// Number of slices whose load ran in several places.
    pub with_parts: u32,
    /// Sum over slices in several places of the share of the window in which all places ran.
    pub together: f64,
    /// Sum over slices in several places that end on equal bytes of the share of the window that
    /// had passed when the last place began.
    pub late: f64,
    /// Number of times that slices in several places were run again.
    pub run_again: u32,
}

/// Totals that a network probe saw in addition to its result, both ways together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NetworkTotals {
    /// Datagrams that were sent in the windows.
    pub sent: f64,
    /// Lost datagrams, or requests without an answer.
    pub lost: f64,
    /// TCP segments that were retransmitted in the whole slices.
    pub sent_again: f64,
    /// CPU time of the other end in the whole slices.
    pub peer_ns: f64,
}

impl Add for NetworkTotals {
    type Output = NetworkTotals;

    fn add(self, more: NetworkTotals) -> NetworkTotals {
        NetworkTotals {
            sent: self.sent + more.sent,
            lost: self.lost + more.lost,
            sent_again: self.sent_again + more.sent_again,
            peer_ns: self.peer_ns + more.peer_ns,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct PartTotal {
    pub ios: f64,
    pub bytes: f64,
    pub reads: f64,
    pub writes: f64,
    pub seconds: f64,
}

impl PartTotal {
    pub fn add_part(&mut self, other: &PartTotal) {
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.reads += other.reads;
        self.writes += other.writes;
        self.seconds += other.seconds;
    }

    /// Returns the number of I/Os in one direction or, for `None`, in all; trims are not counted
    /// separately.
    pub fn amount(&self, way: Option<IoDirection>) -> f64 {
        match way {
            None => self.ios,
            Some(IoDirection::Read) => self.reads,
            Some(IoDirection::Write) => self.writes,
            Some(IoDirection::Trim) => 0.0,
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct DirectionTotal {
    pub ios: f64,
    pub bytes: f64,
    pub latency: Total,
}

impl DirectionTotal {
    pub fn latency_total(&self) -> Option<Total> {
        (self.latency.items > 0.0 || self.ios == 0.0).then_some(self.latency)
    }
}

impl RoundTotal {
    pub fn direction_total(&self, way: IoDirection) -> &DirectionTotal {
        &self.directions[way as usize]
    }

    fn add_targets(&mut self, place: &Place, targets: &[OnTarget], window_ns: u64) {
        for (at, target) in targets.iter().enumerate() {
            let sum = self.targets.entry((place.clone(), at)).or_default();
            (sum.0, sum.1) = (sum.0 + target.ios as f64, sum.1 + window_ns as f64 / 1e9);
        }
    }

    /// Returns the I/Os and bytes in one direction or, for `None`, in all.
    pub fn amounts(&self, way: Option<IoDirection>) -> (f64, f64) {
        way.map_or((self.ios, self.bytes), |way| {
            (self.direction_total(way).ios, self.direction_total(way).bytes)
        })
    }

    /// Returns the sum of the latencies in ns and their number, 0 in a round in which nothing
    /// completed. `None` if I/Os completed whose latencies are lost.
    pub fn latency_total(&self) -> Option<Total> {
        (self.latency.items > 0.0 || self.ios == 0.0).then_some(self.latency)
    }
}

#[derive(Debug, Default)]
pub struct StackSide {
    pub rounds: BTreeMap<RoundId, RoundTotal>,
    /// Number of rounds that are not whole.
    pub dropped: u64,
    /// Lost places that loaded the stack in other rounds than those kept.
    pub left_out: BTreeSet<Place>,
    /// Number of whole rounds that were dropped because other places took part: they belong to
    /// another load.
    pub of_other_places: u64,
    pub read: RoundHistograms,
    pub write: RoundHistograms,
    pub trim: RoundHistograms,
    /// Latencies of fsync and fdatasync, where the load calls them.
    pub flush: RoundHistograms,
    /// Latencies from issue to completion, if `read` and the others begin when an I/O was due.
    pub service: RoundHistograms,
    /// Times between two checks of a generator's thread for completions.
    pub reap_gap: RoundHistograms,
    pub errors: u64,
    /// Error of the first failed sample, in words.
    pub failed: Option<String>,
    /// Number of histograms whose frame is torn.
    pub torn: u64,
    pub debt: WritebackWait,
    /// Seconds of load in whole rounds.
    pub load_s: f64,
    pub usage: CeilingUsage,
    pub strata: VisitStrata,
    frames: Vec<HistogramFrame>,
    /// Offset of the histogram frame of each place and round; empty unless several places load the
    /// stack.
    place_frames: Vec<(Place, RoundId, u64)>,
}

/// Sums over the slices of a stack that show whether it reached a ceiling.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CeilingUsage {
    /// CPU time of the generator's threads.
    pub generator_ns: f64,
    /// Part of that time in user mode.
    pub user_ns: f64,
    /// Time that one thread had for computing.
    pub thread_ns: f64,
    /// CPU time of the place, in slices that also report that of the generator's threads.
    cpu_use: HostCpuUse,
    /// Idle CPU time and all CPU time of the place.
    pub place: (f64, f64),
    /// Idle and all CPU time of this host if the place is a guest on it.
    pub host: Option<(f64, f64)>,
    /// Time in flight of the I/Os by the queue's own count, over the windows that report it.
    /// `served_ns` has the service times of those that completed in these.
    pub in_flight_ns: f64,
    /// Length of the windows that report I/Os in flight.
    pub in_flight_windows_ns: f64,
    pub served_ns: f64,
    slices: f64,
    rates: f64,
    squares: f64,
}

/// CPU time of a place under load, of all but the generator's threads (`other_ns`) and in all, and
/// the length of the slices.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct HostCpuUse {
    other_ns: f64,
    all_ns: f64,
    lasted_ns: f64,
}

/// Returns the CPU times of all places that work for a stack; a guest's are part of its host's.
/// `None` if they were not recorded.
fn of_all_places(slice: &Slice) -> Option<CpuTimes> {
    let cpu = slice.host_cpu.or(slice.cpu)?;
    Some(slice.other_cpu.map_or(cpu, |other| cpu.sum_times(other)))
}

impl CeilingUsage {
    fn count_slice(&mut self, slice: &Slice, found: &SampleSums, rate: f64) {
        if let Some((user_ns, kernel_ns)) = found.cpu_user_ns.zip(found.cpu_kernel_ns) {
            self.generator_ns += user_ns + kernel_ns;
            self.user_ns += user_ns;
            self.thread_ns += generator_span(slice);
            if let Some(cpu) = slice.cpu {
                let all_ns = cpu.user_ns as f64 + cpu.system_ns as f64;
                self.cpu_use.other_ns += all_ns - user_ns - kernel_ns;
                self.cpu_use.all_ns += all_ns;
                self.cpu_use.lasted_ns += busy_s(slice) * 1e9;
            }
        }
        if let Some((in_flight_ns, served_ns)) = found.in_flight_ns.zip(found.served_ns) {
            self.in_flight_ns += in_flight_ns;
            self.in_flight_windows_ns += slice.window_ns as f64;
            self.served_ns += served_ns;
        }
        if let Some(cpu) = slice.cpu {
            self.place = add_cpu_times(self.place, cpu);
        }
        if let Some(cpu) = slice.host_cpu {
            let host = self.host.unwrap_or_default();
            // In short slices this is what the guest takes, and nothing shows how much the host had
            // to give.
            self.host = Some(if slice.short_slices > 0 { host } else { add_cpu_times(host, cpu) });
        }
        self.slices += 1.0;
        self.rates += rate;
        self.squares += rate * rate;
    }

    /// Returns the mean number of the place's processors that computed for others than the
    /// generator's threads, and their share of all that the place computed. `None`: it is not
    /// recorded, or nothing was computed.
    pub fn others(&self) -> Option<(f64, f64)> {
        let HostCpuUse { other_ns, all_ns, lasted_ns } = self.cpu_use;
        (all_ns > 0.0 && lasted_ns > 0.0).then(|| (other_ns / lasted_ns, other_ns / all_ns))
    }

    pub fn slices(&self) -> f64 {
        self.slices
    }

    /// Returns the standard deviation of the slices' rates over their mean; `None` below 16 slices.
    pub fn variation(&self) -> Option<f64> {
        let mean = self.rates / self.slices;
        let variance = (self.squares - self.slices * mean * mean).max(0.0) / (self.slices - 1.0);
        (self.slices >= 16.0 && mean > 0.0).then(|| variance.sqrt() / mean)
    }
}

fn add_cpu_times((idle, all): (f64, f64), cpu: CpuTimes) -> (f64, f64) {
    let busy = cpu.user_ns as f64 + cpu.system_ns as f64 + cpu.steal_ns as f64;
    (idle + cpu.idle_ns as f64, all + busy + cpu.idle_ns as f64)
}

/// Returns the time, in ns, over which the slice's generator CPU time was taken, for one thread:
/// start, window and drain; for fio only the window, since its start and drain are not known.
fn generator_span(slice: &Slice) -> f64 {
    let around = if slice.drain_ns == 0 && slice.discarded_ios == 0 {
        0
    } else {
        slice.discarded_ns.saturating_add(slice.drain_ns)
    };
    slice.window_ns as f64 + around as f64
}

#[derive(Clone, Copy, Debug)]
struct HistogramFrame {
    round: RoundId,
    of: LatencySource,
    offset: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LatencySource {
    Ios(IoDirection),
    Flush,
    Service,
    ReapGap,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoDirection {
    Read,
    Write,
    Trim,
}

impl IoDirection {
    /// All directions, in the order of reports.
    pub const ALL: [IoDirection; 3] = [IoDirection::Read, IoDirection::Write, IoDirection::Trim];

    /// Returns the reason why figures of this direction are missing: `no read was recorded`.
    pub fn none_recorded(self) -> String {
        format!("no {} was recorded", self.word())
    }

    /// Returns the word that the names of samples use.
    pub fn word(self) -> &'static str {
        match self {
            IoDirection::Read => "read",
            IoDirection::Write => "write",
            IoDirection::Trim => "trim",
        }
    }
}

pub fn index(run: &RunData) -> HashMap<&str, usize> {
    let stacks = run.start.scenario.stacks.iter().enumerate();
    stacks.map(|(at, stack)| (stack.name.as_str(), at)).collect()
}

/// Returns the sides of all stacks from the slices with this purpose, in the order of the scenario,
/// and the number of slices of unknown stacks.
pub fn sides(run: &RunData, workload: &Workload, purpose: Purpose) -> (Vec<StackSide>, u64) {
    let index = index(run);
    let strata = VisitStrata::from_run(run);
    let mut sides: Vec<StackSide> = run
        .start
        .scenario
        .stacks
        .iter()
        .map(|_| StackSide { strata, ..StackSide::default() })
        .collect();
    let mut unknown = 0;
    let crowded = match purpose {
        Purpose::Alone | Purpose::Beside => BTreeSet::new(),
        _ => crowded(run, workload),
    };
    let wrongly_timed = run.wrongly_timed(&workload.name);
    let ours = |slice: &&Slice| {
        slice.workload == workload.name
            && slice.purpose == purpose
            && !crowded.contains(&(slice.visit, slice.set))
            && !wrongly_timed.contains(&(slice.visit, slice.set))
    };
    for slice in run.slices.iter().filter(ours) {
        match index.get(slice.stack.as_str()) {
            Some(at) => sides[*at].add_slice(slice, workload.writes()),
            None => unknown += 1,
        }
    }
    let expected = sides
        .iter()
        .flat_map(|side| side.rounds.values().map(|round| round.slices))
        .max()
        .unwrap_or(0);
    for side in &mut sides {
        side.keep_whole(expected);
    }
    let lost = |place: &Place| {
        let named =
            |warning: &Warning| warning.kind == LOST_PLACE && warning.subject == place.to_string();
        run.warnings.iter().any(named)
    };
    for (stack, side) in run.start.scenario.stacks.iter().zip(&mut sides) {
        let ours =
            run.workers.iter().filter(|worker| worker.stack == stack.name && lost(&worker.place));
        side.keep_one_set_of_places(&ours.map(|worker| worker.place.clone()).collect());
        side.read_latencies(run);
    }
    (sides, unknown)
}

/// Returns the visits, each with its set, in which several stacks disturbed each other, if they
/// were then measured apart. Slices of these visits do not count.
fn crowded(run: &RunData, workload: &Workload) -> BTreeSet<(u32, u32)> {
    // Sets number their visits by themselves.
    let mut stacks: BTreeMap<(u32, u32), BTreeSet<&str>> = BTreeMap::new();
    let plain = |slice: &&Slice| slice.workload == workload.name && slice.purpose == Purpose::Plain;
    for slice in run.slices.iter().filter(plain).filter(|_| run.apart.is_some()) {
        stacks.entry((slice.visit, slice.set)).or_default().insert(&slice.stack);
    }
    let any_apart = stacks.values().any(|names| names.len() == 1);
    stacks
        .into_iter()
        .filter(|(_, names)| any_apart && names.len() > 1)
        .map(|(visit, _)| visit)
        .collect()
}

impl StackSide {
    fn add_slice(&mut self, slice: &Slice, by_bytes: bool) {
        let id = (slice.visit, slice.round);
        let found = SampleSums::from_slice(slice);
        let amount = if by_bytes { found.bytes } else { found.ios };
        self.usage.count_slice(slice, &found, amount / (slice.window_ns.max(1) as f64 / 1e9));
        self.errors = self.errors.saturating_add(slice.errors);
        self.add_debt(slice);
        self.failed = self.failed.take().or(found.failed.clone());
        let frame = |(of, offset): &(LatencySource, u64)| HistogramFrame {
            round: id,
            of: *of,
            offset: *offset,
        };
        self.frames.extend(found.frames.iter().map(frame));
        let round = self.rounds.entry(id).or_default();
        let first = round.slices == 0;
        round.slices += 1;
        round.spoiled |= found.failed.is_some() || slice.window_ns == 0;
        for (sum, (ios, bytes)) in round.directions.iter_mut().zip(found.amounts) {
            (sum.ios, sum.bytes) = (sum.ios + ios, sum.bytes + bytes);
        }
        round.ios += found.ios;
        round.all_ios += found.ios + slice.discarded_ios as f64;
        round.discarded_s += slice.discarded_ns as f64 / 1e9;
        round.bytes += found.bytes;
        round.window_s += slice.window_ns as f64 / 1e9;
        round.flush_s = add_if_both(first, round.flush_s, found.flush_ns.map(|ns| ns / 1e9));
        round.cpu_user_ns = add_if_both(first, round.cpu_user_ns, found.cpu_user_ns);
        round.cpu_kernel_ns = add_if_both(first, round.cpu_kernel_ns, found.cpu_kernel_ns);
        let used = |cpu: CpuTimes| (cpu.user_ns + cpu.system_ns) as f64;
        round.cpu_place_ns = add_if_both(first, round.cpu_place_ns, slice.cpu.map(used));
        // By their own clocks threads are known to the nanosecond. A guest's threads are in its
        // host's QEMU.
        let by_clock = found.threads_ns.filter(|_| slice.host_cpu.is_none());
        round.cpu_ns =
            add_if_both(first, round.cpu_ns, by_clock.or_else(|| of_all_places(slice).map(used)));
        round.throttled_s += of_all_places(slice).map_or(0.0, |cpu| cpu.throttled_ns as f64 / 1e9);
        round.engine_ns = add_if_both(first, round.engine_ns, found.engine_ns);
        round.exchanged = add_if_both(first, round.exchanged, found.exchanged);
        let joined_in = |part: &SlicePart| round.parts.contains_key(&part.place);
        round.spoiled |= !first
            && (slice.parts.len() != round.parts.len() || !slice.parts.iter().all(joined_in));
        for part in &slice.parts {
            let of_slice = PartTotal {
                ios: part.ios as f64,
                bytes: part.bytes as f64,
                reads: part.reads as f64,
                writes: part.writes as f64,
                seconds: part.window_ns as f64 / 1e9,
            };
            round.parts.entry(part.place.clone()).or_default().add_part(&of_slice);
            self.place_frames.extend(part.latency.map(|offset| (part.place.clone(), id, offset)));
            round.add_targets(&part.place, &part.targets, part.window_ns);
        }
        // The worker's record says which place this is.
        round.add_targets(&Place::Host, &slice.targets, slice.window_ns);
        if let Some(share) = slice.together {
            round.with_parts += 1;
            round.together += share;
            round.late += slice.late.unwrap_or(0.0);
            round.run_again += slice.run_again;
        }
    }

    fn add_debt(&mut self, slice: &Slice) {
        if let Some(gate) = slice.gate {
            self.debt.waited_s += gate.waited_ns as f64 / 1e9;
            self.debt.slices += 1;
            self.debt.busy_s += busy_s(slice);
            self.debt.gave_up += u64::from(gate.gave_up);
            self.debt.dirty_bytes = self.debt.dirty_bytes.max(gate.dirty_bytes);
            self.debt.in_flight = worse_known(self.debt.in_flight, gate.in_flight);
        }
    }

    fn keep_whole(&mut self, expected: u32) {
        let before = self.rounds.len();
        self.rounds.retain(|_, round| round.slices == expected && !round.spoiled);
        self.dropped = (before - self.rounds.len()) as u64;
        self.sum_load();
    }

    /// Keeps the rounds of the set of places with the most rounds, the larger set on a tie. Rounds
    /// differ in their places after one was lost; `lost` are the lost places of the stack.
    fn keep_one_set_of_places(&mut self, lost: &BTreeSet<Place>) {
        let set = |round: &RoundTotal| round.parts.keys().cloned().collect::<BTreeSet<Place>>();
        let mut counts: BTreeMap<BTreeSet<Place>, usize> = BTreeMap::new();
        self.rounds.values().for_each(|round| *counts.entry(set(round)).or_default() += 1);
        let most = counts.into_iter().max_by_key(|(places, rounds)| (*rounds, places.len()));
        let Some((places, _)) = most.filter(|(places, _)| !places.is_empty()) else { return };
        let before = self.rounds.len();
        self.rounds.retain(|_, round| set(round) == places);
        self.of_other_places = (before - self.rounds.len()) as u64;
        self.left_out = lost.difference(&places).cloned().collect();
        self.sum_load();
    }

    /// Keeps only the rounds for which `kept` is true, with their latencies.
    pub fn keep(&mut self, run: &RunData, kept: impl Fn(&RoundId) -> bool) {
        self.rounds.retain(|id, _| kept(id));
        for round in self.rounds.values_mut() {
            round.latency = Total::default();
            round.directions.iter_mut().for_each(|one| one.latency = Total::default());
        }
        self.torn = 0;
        self.sum_load();
        self.read_latencies(run);
    }

    fn sum_load(&mut self) {
        let lasted =
            self.rounds.values().map(|round| round.window_s + round.flush_s.unwrap_or(0.0));
        // Not `sum`: it gives -0.0 for an empty iterator, which is printed so.
        self.load_s = lasted.fold(0.0, |sum, seconds| sum + seconds);
    }

    fn read_latencies(&mut self, run: &RunData) {
        let position: HashMap<RoundId, usize> =
            self.rounds.keys().enumerate().map(|(at, id)| (*id, at)).collect();
        let ios = [&mut self.read, &mut self.write, &mut self.trim];
        for rounds in
            ios.into_iter().chain([&mut self.flush, &mut self.service, &mut self.reap_gap])
        {
            *rounds = RoundHistograms::new(position.len());
        }
        for frame in &self.frames {
            let Some(at) = position.get(&frame.round) else {
                continue;
            };
            let Some(histogram) = run.histograms.read_at(frame.offset) else {
                self.torn += 1;
                continue;
            };
            let rounds = match frame.of {
                LatencySource::Ios(IoDirection::Read) => &mut self.read,
                LatencySource::Ios(IoDirection::Write) => &mut self.write,
                LatencySource::Ios(IoDirection::Trim) => &mut self.trim,
                LatencySource::Flush => &mut self.flush,
                LatencySource::Service => &mut self.service,
                LatencySource::ReapGap => &mut self.reap_gap,
            };
            rounds.add(*at, &histogram);
            let LatencySource::Ios(way) = frame.of else { continue };
            let (sum, items) = quantile::total(&histogram);
            if let Some(round) = self.rounds.get_mut(&frame.round) {
                let of_way = &mut round.directions[way as usize].latency;
                for total in [of_way, &mut round.latency] {
                    *total = total.plus(Total { sum, items });
                }
            }
        }
    }

    pub fn of_way(&self, way: IoDirection) -> &RoundHistograms {
        match way {
            IoDirection::Read => &self.read,
            IoDirection::Write => &self.write,
            IoDirection::Trim => &self.trim,
        }
    }

    /// Returns the achieved share of an offered rate; `None` without a whole round.
    pub fn achieved(&self, offered: f64) -> Option<f64> {
        let sum = |of: fn(&RoundTotal) -> f64| self.rounds.values().map(of).sum::<f64>();
        let (ios, seconds) = (sum(|round| round.ios), sum(|round| round.window_s));
        (seconds > 0.0).then(|| ios / seconds / offered)
    }

    /// Returns true if the stack kept up with a rate that this number of schedules offered
    /// together; `None` without a whole round. All schedules begin with the slice, so a window that
    /// holds no whole number of their I/Os lacks the same part of an I/O in every slice. Less than
    /// one I/O per schedule and slice is therefore no shortfall, however few I/Os there are.
    pub fn kept_up(&self, offered: f64, schedules: f64) -> Option<bool> {
        let sum = |of: fn(&RoundTotal) -> f64| self.rounds.values().map(of).sum::<f64>();
        let lacking = offered * sum(|round| round.window_s) - sum(|round| round.ios);
        let slices = sum(|round| f64::from(round.slices));
        Some(self.achieved(offered)? >= KEPT_UP || lacking < slices * schedules)
    }

    pub fn rounds_of(&self, visit: u32) -> Vec<RoundId> {
        self.rounds.range((visit, 0)..=(visit, u32::MAX)).map(|(id, _)| *id).collect()
    }

    /// Sums `of` over the rounds of a visit.
    ///
    /// # Errors
    /// Returns the first error of `of`.
    pub fn visit_total(
        &self,
        visit: u32,
        of: impl Fn(&RoundTotal) -> Result<Total, Refusal>,
    ) -> Result<Total, Refusal> {
        let mut rounds = self.rounds.range((visit, 0)..=(visit, u32::MAX));
        rounds.try_fold(Total::default(), |all, (_, round)| Ok(all.plus(of(round)?)))
    }

    pub fn latencies_in(&self, run: &RunData, place: &Place) -> RoundHistograms {
        let position: HashMap<RoundId, usize> =
            self.rounds.keys().enumerate().map(|(at, id)| (*id, at)).collect();
        let mut found = RoundHistograms::new(position.len());
        for (_, round, offset) in self.place_frames.iter().filter(|(of, ..)| of == place) {
            if let Some((at, histogram)) = position.get(round).zip(run.histograms.read_at(*offset))
            {
                found.add(*at, &histogram);
            }
        }
        found
    }

    /// Returns the latencies of one direction in these rounds alone, for a comparison with a stack
    /// that lacks others.
    pub fn latencies_of(
        &self,
        run: &RunData,
        rounds: &[RoundId],
        way: IoDirection,
    ) -> RoundHistograms {
        let position: HashMap<RoundId, usize> =
            rounds.iter().enumerate().map(|(at, id)| (*id, at)).collect();
        let mut found = RoundHistograms::new(rounds.len());
        for frame in self.frames.iter().filter(|frame| frame.of == LatencySource::Ios(way)) {
            let at = position.get(&frame.round);
            if let Some((at, histogram)) = at.zip(run.histograms.read_at(frame.offset)) {
                found.add(*at, &histogram);
            }
        }
        found
    }
}

/// Returns the seconds from a slice's first I/O until everything it wrote was durable.
fn busy_s(slice: &Slice) -> f64 {
    let flush = slice.figure("flush");
    (slice.discarded_ns as f64
        + slice.window_ns as f64
        + slice.drain_ns as f64
        + flush.unwrap_or(0.0))
        / 1e9
}

/// Adds a part to a sum, which is `None` once a part is missing. If it is the `first`, it is the
/// sum.
fn add_if_both<T: Add<Output = T>>(first: bool, sum: Option<T>, part: Option<T>) -> Option<T> {
    if first { part } else { Some(sum? + part?) }
}

/// Sums of a slice's samples, and the offsets of its histograms.
#[derive(Default)]
pub(crate) struct SampleSums {
    pub(crate) ios: f64,
    pub(crate) bytes: f64,
    /// I/Os and bytes of each direction, in the order of [`IoDirection::ALL`].
    amounts: [(f64, f64); 3],
    pub(crate) flush_ns: Option<f64>,
    cpu_user_ns: Option<f64>,
    cpu_kernel_ns: Option<f64>,
    engine_ns: Option<f64>,
    threads_ns: Option<f64>,
    in_flight_ns: Option<f64>,
    served_ns: Option<f64>,
    exchanged: Option<NetworkTotals>,
    frames: Vec<(LatencySource, u64)>,
    pub(crate) failed: Option<String>,
}

impl SampleSums {
    pub(crate) fn from_slice(slice: &Slice) -> SampleSums {
        let mut found = SampleSums::default();
        for sample in &slice.samples {
            match &sample.value {
                SampleValue::Value(value) => found.add_number(&sample.metric, *value),
                SampleValue::Histogram(offset) => found.frame(&sample.metric, *offset),
                SampleValue::Failed(reason) => found.fail(&sample.metric, reason),
                SampleValue::Missing(_) => {}
            }
        }
        found
    }

    fn add_number(&mut self, metric: &str, value: f64) {
        let way = IoDirection::ALL
            .into_iter()
            .find_map(|way| Some((way, metric.strip_prefix(way.word())?)));
        if let Some((way, of)) = way {
            let (ios, bytes) = &mut self.amounts[way as usize];
            for sum in match of {
                ".ios" => [ios, &mut self.ios],
                ".bytes" => [bytes, &mut self.bytes],
                _ => return,
            } {
                *sum += value;
            }
        }
        match metric {
            "flush" => self.flush_ns = Some(value),
            "cpu.user" => self.cpu_user_ns = Some(value),
            "cpu.system" => self.cpu_kernel_ns = Some(value),
            "engine.cpu" => self.engine_ns = Some(value),
            "threads.cpu" => self.threads_ns = Some(value),
            "in_flight" => self.in_flight_ns = Some(value),
            "served" => self.served_ns = Some(value),
            "net.sent" => self.exchanged.get_or_insert_default().sent = value,
            "net.lost" => self.exchanged.get_or_insert_default().lost = value,
            "net.retransmits" => self.exchanged.get_or_insert_default().sent_again = value,
            "net.peer_cpu" => self.exchanged.get_or_insert_default().peer_ns = value,
            _ => {}
        }
    }

    fn frame(&mut self, metric: &str, offset: u64) {
        let of = match metric {
            "read.latency" => LatencySource::Ios(IoDirection::Read),
            "write.latency" => LatencySource::Ios(IoDirection::Write),
            "trim.latency" => LatencySource::Ios(IoDirection::Trim),
            "sync.latency" => LatencySource::Flush,
            "service.latency" => LatencySource::Service,
            "reap_gap" => LatencySource::ReapGap,
            _ => return,
        };
        self.frames.push((of, offset));
    }

    /// Records a failed sample. It spoils the round only if rates are computed from it; a lost CPU
    /// time does not.
    fn fail(&mut self, metric: &str, reason: &str) {
        if metric.ends_with(".ios") || metric.ends_with(".bytes") {
            self.failed.get_or_insert_with(|| format!("{metric}: {reason}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of two slices of 100 ms with so many I/Os each.
    fn side(ios: f64) -> StackSide {
        let round =
            RoundTotal { slices: 2, ios: 2.0 * ios, window_s: 0.2, ..RoundTotal::default() };
        StackSide {
            rounds: (0..10).map(|at| ((0, at), round.clone())).collect(),
            ..StackSide::default()
        }
    }

    #[test]
    fn less_than_one_io_of_a_slice_is_no_shortfall() {
        // 65 a second are 6.5 a slice, of which a window holds six.
        assert_eq!(side(6.0).kept_up(65.0, 1.0), Some(true));
        assert_eq!(
            side(5.4).kept_up(65.0, 1.0),
            Some(false),
            "more than one of each slice is lacking"
        );
        assert_eq!(
            side(5.4).kept_up(65.0, 2.0),
            Some(true),
            "two jobs, and each lacks a part of one"
        );
        assert_eq!(side(4.4).kept_up(65.0, 2.0), Some(false));
        // In a slice with many I/Os, 2 % are more than one.
        assert_eq!(side(981.0).kept_up(10_000.0, 1.0), Some(true));
        assert_eq!(side(979.0).kept_up(10_000.0, 1.0), Some(false));
        assert_eq!(StackSide::default().kept_up(65.0, 1.0), None);
    }
}
