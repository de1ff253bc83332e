//! From slices to rounds: one pass over the record of a workload. Only whole rounds count (a kill in the
//! middle of a round leaves it lopsided); a slice with a failed sample spoils its round for that stack.

use super::findings::Debt;
use super::run::RunData;
use crate::scenario::Workload;
use crate::stats::quantile::{self, Batches};
use crate::stats::ratio::Total;
use crate::store::record::{Purpose, Slice, Value, worse_known};
use std::collections::{BTreeMap, HashMap};

/// Visit and round.
pub type RoundId = (u32, u32);

/// Sums of one stack over one round.
#[derive(Clone, Debug, Default)]
pub struct RoundTotal {
    slices: u32,
    spoiled: bool,
    /// Completions in the windows.
    pub ios: f64,
    /// Completions, discarded ones too: what the CPU times are divided by.
    pub all_ios: f64,
    /// Bytes in the windows.
    pub bytes: f64,
    /// Acknowledged time.
    pub window_s: f64,
    /// Time of the final flushes, if every slice had one.
    pub flush_s: Option<f64>,
    /// The generator's own CPU time, if every slice says it.
    pub cpu_generator_ns: Option<f64>,
    /// User and system time of the place, if every slice says it.
    pub cpu_place_ns: Option<f64>,
    /// Latencies of both directions.
    pub latency: Total,
}

/// One stack under one workload.
#[derive(Debug, Default)]
pub struct Side {
    /// Whole rounds.
    pub rounds: BTreeMap<RoundId, RoundTotal>,
    /// Rounds that are not whole.
    pub dropped: u64,
    /// Latencies of reads.
    pub read: Batches,
    /// Latencies of writes.
    pub write: Batches,
    /// I/Os that failed or came back short.
    pub errors: u64,
    /// First failed sample, in words.
    pub failed: Option<String>,
    /// Histograms whose frame is torn.
    pub torn: u64,
    /// Of writes.
    pub debt: Debt,
    /// Seconds of load in whole rounds.
    pub load_s: f64,
    frames: Vec<Frame>,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    round: RoundId,
    writes: bool,
    offset: u64,
}

/// The sides of all stacks, in the order of the scenario, and the number of slices of unknown stacks.
pub fn sides(run: &RunData, workload: &Workload) -> (Vec<Side>, u64) {
    let stacks = &run.start.scenario.stacks;
    let index: HashMap<&str, usize> =
        stacks.iter().enumerate().map(|(at, stack)| (stack.name.as_str(), at)).collect();
    let mut sides: Vec<Side> = stacks.iter().map(|_| Side::default()).collect();
    let mut unknown = 0;
    let ours = |slice: &&Slice| slice.workload == workload.name && slice.purpose == Purpose::Plain;
    for slice in run.slices.iter().filter(ours) {
        match index.get(slice.stack.as_str()) {
            Some(at) => sides[*at].add(slice),
            None => unknown += 1,
        }
    }
    let expected =
        sides.iter().flat_map(|side| side.rounds.values().map(|round| round.slices)).max().unwrap_or(0);
    for side in &mut sides {
        side.keep_whole(expected);
        side.read_latencies(run);
    }
    (sides, unknown)
}

impl Side {
    fn add(&mut self, slice: &Slice) {
        let id = (slice.visit, slice.round);
        let found = Samples::of(slice);
        self.errors += slice.errors;
        self.add_debt(slice);
        self.failed = self.failed.take().or(found.failed.clone());
        self.frames.extend(found.frames.iter().map(|(writes, offset)| Frame {
            round: id,
            writes: *writes,
            offset: *offset,
        }));
        let round = self.rounds.entry(id).or_default();
        let first = round.slices == 0;
        round.slices += 1;
        round.spoiled |= found.failed.is_some() || slice.window_ns == 0;
        round.ios += found.ios;
        round.all_ios += found.ios + slice.discarded_ios as f64;
        round.bytes += found.bytes;
        round.window_s += slice.window_ns as f64 / 1e9;
        round.flush_s = joined(first, round.flush_s, found.flush_ns.map(|ns| ns / 1e9));
        round.cpu_generator_ns = joined(first, round.cpu_generator_ns, found.cpu_ns);
        let place = slice.cpu.map(|cpu| (cpu.user_ns + cpu.system_ns) as f64);
        round.cpu_place_ns = joined(first, round.cpu_place_ns, place);
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

    /// Leaves those rounds only, with their latencies.
    pub fn keep(&mut self, run: &RunData, kept: impl Fn(&RoundId) -> bool) {
        self.rounds.retain(|id, _| kept(id));
        self.rounds.values_mut().for_each(|round| round.latency = Total::default());
        self.torn = 0;
        self.sum_load();
        self.read_latencies(run);
    }

    fn sum_load(&mut self) {
        let lasted = self.rounds.values().map(|round| round.window_s + round.flush_s.unwrap_or(0.0));
        // Not `sum`: of nothing it gives -0.0, which is printed so.
        self.load_s = lasted.fold(0.0, |sum, seconds| sum + seconds);
    }

    fn read_latencies(&mut self, run: &RunData) {
        let position: HashMap<RoundId, usize> =
            self.rounds.keys().enumerate().map(|(at, id)| (*id, at)).collect();
        self.read = Batches::new(position.len());
        self.write = Batches::new(position.len());
        for frame in &self.frames {
            let Some(at) = position.get(&frame.round) else {
                continue;
            };
            let Some(histogram) = run.histograms.histogram(frame.offset) else {
                self.torn += 1;
                continue;
            };
            let (sum, items) = quantile::total(&histogram);
            if let Some(round) = self.rounds.get_mut(&frame.round) {
                round.latency.sum += sum;
                round.latency.items += items;
            }
            if frame.writes { self.write.add(*at, &histogram) } else { self.read.add(*at, &histogram) }
        }
    }

    /// Latencies of the given rounds only, for a comparison with a stack that lacks some.
    pub fn latencies_of(&self, run: &RunData, rounds: &[RoundId], writes: bool) -> Batches {
        let position: HashMap<RoundId, usize> = rounds.iter().enumerate().map(|(at, id)| (*id, at)).collect();
        let mut batches = Batches::new(rounds.len());
        for frame in self.frames.iter().filter(|frame| frame.writes == writes) {
            let at = position.get(&frame.round);
            if let Some((at, histogram)) = at.zip(run.histograms.histogram(frame.offset)) {
                batches.add(*at, &histogram);
            }
        }
        batches
    }
}

/// Seconds from a slice's first I/O until all it wrote was durable.
fn busy_s(slice: &Slice) -> f64 {
    let flush = slice.samples.iter().find_map(|sample| match (sample.metric.as_str(), &sample.value) {
        ("flush", Value::Value(ns)) => Some(*ns),
        _ => None,
    });
    ((slice.discarded_ns + slice.window_ns + slice.drain_ns) as f64 + flush.unwrap_or(0.0)) / 1e9
}

/// A sum that is there only if every part is.
fn joined(first: bool, sum: Option<f64>, part: Option<f64>) -> Option<f64> {
    if first { part } else { Some(sum? + part?) }
}

/// The samples of a slice by meaning.
#[derive(Default)]
struct Samples {
    ios: f64,
    bytes: f64,
    flush_ns: Option<f64>,
    cpu_ns: Option<f64>,
    frames: Vec<(bool, u64)>,
    failed: Option<String>,
}

impl Samples {
    fn of(slice: &Slice) -> Samples {
        let mut found = Samples::default();
        for sample in &slice.samples {
            match &sample.value {
                Value::Value(value) => found.number(&sample.metric, *value),
                Value::Histogram(offset) => found.frame(&sample.metric, *offset),
                Value::Failed(reason) => found.fail(&sample.metric, reason),
                Value::Missing(_) => {}
            }
        }
        found
    }

    fn number(&mut self, metric: &str, value: f64) {
        match metric {
            "read.ios" | "write.ios" => self.ios += value,
            "read.bytes" | "write.bytes" => self.bytes += value,
            "flush" => self.flush_ns = Some(value),
            "cpu.user" | "cpu.system" => self.cpu_ns = Some(self.cpu_ns.unwrap_or(0.0) + value),
            _ => {}
        }
    }

    fn frame(&mut self, metric: &str, offset: u64) {
        match metric {
            "read.latency" => self.frames.push((false, offset)),
            "write.latency" => self.frames.push((true, offset)),
            _ => {}
        }
    }

    /// Only what rates are made of spoils a round; a lost CPU time does not.
    fn fail(&mut self, metric: &str, reason: &str) {
        if metric.ends_with(".ios") || metric.ends_with(".bytes") {
            self.failed.get_or_insert_with(|| format!("{metric}: {reason}"));
        }
    }
}
