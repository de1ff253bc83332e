//! Simulated runs for tests: stacks with known costs under drifting noise, from a seed. Each case
//! that a report must handle has one: a bill, A/A, an emulated guest, a killed run, writes, visits,
//! a failure.

use iotax_facts::machine::Facts;
use iotax_load::{EngineName, Histogram, Job, Rw};
use iotax_model::record::{
    Better, CpuTimes, DesignUp, Generator, GuestDisk, Matched, Place, PlaceFacts, Purpose,
    QuiesceGate, RunStart, SampleValue, Slice, SlicePart, SliceSample, Warning, WorkerUp,
};
use iotax_model::scenario::sweep::SWEPT;
use iotax_model::scenario::{
    Coordinate, MeasureSpec, Published, PublishedFigure, Scenario, SweepPoint, Workload,
};
use iotax_model::stack::{LayerSpec, Medium, Stack};
use iotax_stats::noise::Noise;
use iotax_stats::pilot::Pattern;
use iotax_stats::schedule::Schedule;
use iotax_store::RunData;
use std::collections::BTreeMap;

mod fixtures;
mod printed_run;

pub use fixtures::*;
pub use iotax_model::testing::{drives, layer};
pub use printed_run::of_published;

/// Simulated stack with known costs.
pub struct TwinStack {
    name: &'static str,
    text: &'static str,
    place: &'static str,
    /// Median latency of one I/O at depth 1.
    latency_ns: f64,
    /// Latency of a mix's writes over that of its reads.
    write_factor: f64,
    /// Share of reads among a mix's I/Os, over the share that is asked for.
    read_factor: f64,
    /// Number of rounds after which the stack's worker dies.
    lives: u32,
    /// Number of I/Os that it works on at once: its latency is flat below that and rises with the
    /// load above.
    servers: Option<f64>,
    /// CPU time of this host per I/O in addition to its own, where the load runs in a guest.
    host_cpu_ns: Option<f64>,
    /// Number of guests; each completes one part more than the one before it.
    parts: u32,
}

/// Simulated run with known results.
pub struct Twin {
    stacks: Vec<TwinStack>,
    jobs: Vec<Job>,
    /// Names of the settings over which the jobs are swept.
    swept: &'static [&'static str],
    slice_ns: f64,
    /// I/Os of a slice of writes, which ends on equal bytes.
    writes: f64,
    rounds: u32,
    /// Number of visits in which each stack is up alone.
    apart: Option<u32>,
    /// Number of times that all stacks are set up.
    attaches: u32,
    /// Number of rounds at the matched rate, and that rate in I/Os per second.
    matched: Option<(u32, f64)>,
    /// Number of rounds with slices four times as long.
    long: u32,
    /// Number of rounds of the baseline alone and along with the others, and the share of its rate
    /// that it then keeps.
    alone: Option<(u32, f64)>,
    /// Limit in I/Os per second that all stacks share, and the round from which it holds.
    limit: Option<(u32, f64)>,
    /// Standard deviation of the noise that all stacks share, and of each slice's own.
    noise_of: (f64, f64),
    bill: bool,
    data: RunData,
    histograms: BTreeMap<u64, Histogram>,
    noise: Noise,
    level: f64,
    clock_ns: u64,
}

const SLICE_NS: f64 = 1e8;
const FILE: &str = "file:/srv/iotax.img,size=4GiB";

fn stack(name: &'static str, text: &'static str, latency_ns: f64) -> TwinStack {
    TwinStack {
        name,
        text,
        place: "host",
        latency_ns,
        write_factor: 1.0,
        read_factor: 1.0,
        lives: u32::MAX,
        servers: None,
        host_cpu_ns: None,
        parts: 1,
    }
}

fn parts(parts: u32, ios: f64, window_ns: f64, samples: &[SliceSample]) -> Vec<SlicePart> {
    let all = f64::from(parts * (parts + 1) / 2);
    let read = samples.iter().find(|sample| sample.metric == "read.latency");
    let latency = read.and_then(|sample| match sample.value {
        SampleValue::Histogram(at) => Some(at),
        _ => None,
    });
    let part = |at: u32| SlicePart {
        place: Place::Guest(format!("vm{at}")),
        ios: (ios * f64::from(at + 1) / all) as u64,
        bytes: (4096.0 * ios * f64::from(at + 1) / all) as u64,
        reads: 0,
        writes: 0,
        window_ns: window_ns as u64,
        latency,
        targets: Vec::new(),
    };
    if parts > 1 { (0..parts).map(part).collect() } else { Vec::new() }
}

fn facts(hostname: &str) -> Facts {
    #[allow(clippy::needless_update)] // other facts are the host module's business
    Facts { hostname: Some(hostname.to_owned()), ..Facts::default() }
}

impl Twin {
    fn new(seed: u64, stacks: Vec<TwinStack>) -> Twin {
        let data = RunData {
            places: vec![PlaceFacts {
                place: "host".into(),
                facts: facts("lab"),
                emulated: None,
                commands: Vec::new(),
                disks: Vec::new(),
                spdk: Vec::new(),
            }],
            outcome: Some("complete".into()),
            ..RunData::begun(start(seed, &stacks))
        };
        let mut twin = Twin {
            stacks,
            jobs: Vec::new(),
            swept: &[],
            slice_ns: SLICE_NS,
            writes: 4096.0,
            rounds: 48,
            apart: None,
            attaches: 1,
            matched: None,
            long: 0,
            alone: None,
            limit: None,
            noise_of: (0.03, 0.01),
            bill: false,
            data,
            histograms: BTreeMap::new(),
            noise: Noise::new(seed),
            level: 0.0,
            clock_ns: 1_000_000_000,
        };
        twin = twin.jobs([1]);
        twin
    }

    fn bill(mut self) -> Twin {
        self.bill = true;
        self
    }

    fn jobs<const N: usize>(mut self, depths: [u32; N]) -> Twin {
        self.jobs = depths.map(|iodepth| Job { iodepth, ..Job::default() }).to_vec();
        self
    }

    fn over(mut self, swept: &'static [&'static str], jobs: Vec<Job>) -> Twin {
        self.swept = swept;
        self.jobs = jobs;
        self
    }

    fn measured(mut self) -> RunData {
        self.data.start.scenario.workloads =
            self.jobs.iter().map(|job| self.workload(job)).collect();
        self.data.start.scenario.bill = self.bill;
        for (at, workload) in self.data.start.scenario.workloads.clone().iter().enumerate() {
            self.workers(workload);
            self.measure_alone(workload);
            match self.apart {
                Some(visits) => self.measure_apart(workload, visits),
                None => self.measure_together(workload, Schedule::new(1, at as u64)),
            }
            self.measure_matched(workload);
            self.data.ends.push((workload.name.clone(), "precision".into()));
        }
        let histograms = self.histograms;
        self.data.histograms =
            iotax_store::SegmentSource::new(move |offset| histograms.get(&offset).cloned());
        self.data
    }

    fn workload(&self, job: &Job) -> Workload {
        let at: Vec<Coordinate> = SWEPT
            .iter()
            .filter(|def| self.swept.contains(&def.word))
            .filter_map(|def| Some(Coordinate { word: def.word.into(), value: (def.of)(job)? }))
            .collect();
        let place: String =
            at.iter().map(|at| format!(" {}={}", at.word, at.written_value())).collect();
        let name = match at.is_empty() {
            true => format!("4k-{}-qd{}", job.rw.word(), job.iodepth),
            false => format!("twin{place}"),
        };
        let sweep = (!at.is_empty()).then(|| SweepPoint { sweep: "twin".into(), at });
        Workload { name, jobs: vec![job.clone()], probe: None, engine: None, sweep }
    }

    fn workers(&mut self, workload: &Workload) {
        for stack in self.stacks.iter().filter(|stack| stack.lives > 0) {
            self.data.workers.push(WorkerUp {
                visit: 0,
                stack: stack.name.into(),
                workload: workload.name.clone(),
                place: stack.place.into(),
                target: "/srv/iotax.img".into(),
                others: Vec::new(),
                bytes: 4 << 30,
                engine: Generator::Native(EngineName::Uring),
                why: "io_uring works here".into(),
                command: None,
            });
        }
    }

    fn measure_together(&mut self, workload: &Workload, mut schedule: Schedule) {
        for visit in 0..self.attaches {
            // A set-up affects all its rounds alike: 2 % of each stack's latency, drawn again each
            // time.
            let lucks = self.lucks();
            for round in 0..self.rounds {
                let number = visit * self.rounds + round;
                let order = schedule.round(self.stacks.len());
                self.round(workload, &order, (visit, number), Purpose::Plain, &lucks);
                if round < self.long {
                    self.round(workload, &order, (visit, number), Purpose::Long, &lucks);
                }
            }
        }
    }

    fn lucks(&mut self) -> Vec<f64> {
        let luck =
            |noise: &mut Noise| if self.attaches > 1 { (0.02 * noise.normal()).exp() } else { 1.0 };
        (0..self.stacks.len()).map(|_| luck(&mut self.noise)).collect()
    }

    fn round(
        &mut self,
        workload: &Workload,
        order: &[usize],
        id: (u32, u32),
        purpose: Purpose,
        lucks: &[f64],
    ) {
        for (at, stack) in order.iter().enumerate() {
            if id.1 < self.stacks[*stack].lives {
                let how = How { purpose, factor: lucks[*stack], ..How::default() };
                self.slice(workload, *stack, (id.0, id.1, at as u32), how);
            }
        }
    }

    fn measure_apart(&mut self, workload: &Workload, visits: u32) {
        let order = Schedule::new(1, 0)
            .visits(&(0..self.stacks.len()).collect::<Vec<_>>(), visits as usize);
        // Each set numbers its visits by itself, and rounds go on counting, as in a session.
        let mut made = vec![0; self.stacks.len()];
        for (number, stack) in order.into_iter().enumerate() {
            let before = self.data.slices.len();
            for slice in 0..16 {
                let round = 8 * number as u32 + slice / 2;
                self.slice(workload, stack, (made[stack], round, slice % 2), How::default());
            }
            self.data.slices[before..].iter_mut().for_each(|slice| slice.set = stack as u32);
            made[stack] += 1;
        }
    }

    /// Measures rounds of the baseline alone and along with the others, in ABBA, all in the first
    /// visit.
    fn measure_alone(&mut self, workload: &Workload) {
        let Some((rounds, kept)) = self.alone else { return };
        for round in 0..rounds {
            for (at, purpose) in [Purpose::Alone, Purpose::Beside, Purpose::Beside, Purpose::Alone]
                .into_iter()
                .enumerate()
            {
                let factor = if purpose == Purpose::Beside { 1.0 / kept } else { 1.0 };
                let how = How { purpose, factor, ..How::default() };
                self.slice(workload, 0, (0, round, at as u32), how);
            }
        }
    }

    /// Measures an open loop at the rate of the record, all stacks in turn.
    fn measure_matched(&mut self, workload: &Workload) {
        let Some((rounds, rate)) = self.matched else { return };
        let slowest = self.stacks.iter().max_by(|a, b| a.latency_ns.total_cmp(&b.latency_ns));
        self.data.matched.push(Matched {
            workload: workload.name.clone(),
            rate_iops: Some(rate),
            slowest: slowest.map_or("", |stack| stack.name).into(),
        });
        let mut schedule = Schedule::new(2, 0);
        for round in 0..rounds {
            for (at, stack) in schedule.round(self.stacks.len()).into_iter().enumerate() {
                let how = How { purpose: Purpose::Matched, rate: Some(rate), ..How::default() };
                self.slice(workload, stack, (0, round, at as u32), how);
            }
        }
    }

    fn slice(
        &mut self,
        workload: &Workload,
        stack: usize,
        (visit, round, position): (u32, u32, u32),
        how: How,
    ) {
        let mut job = workload.jobs[0].clone();
        if let Some(rate) = how.rate {
            job.rate_iops = Some(rate as u64);
        }
        let job = &job;
        // All stacks share noise that persists: 0.9 from slice to slice.
        let (shared, own) = self.noise_of;
        self.level = 0.9 * self.level + shared * self.noise.normal();
        let noise = self.level.exp() * (1.0 + own * self.noise.normal());
        let median = self.stacks[stack].latency_ns * how.factor * noise;
        let load = f64::from(job.iodepth * job.numjobs);
        let queued = queued(median, self.stacks[stack].servers, job);
        let capacity =
            self.stacks[stack].servers.map_or(f64::INFINITY, |servers| servers * 1e9 / median);
        let pace = job.rate_iops.map_or(f64::INFINITY, |rate| capacity.min(rate as f64));
        let limit = match self.limit.filter(|(from, _)| round >= *from) {
            Some((_, rate)) => rate * (1.0 + 0.001 * self.noise.normal()),
            None => f64::INFINITY,
        };
        let slice_ns =
            if how.purpose == Purpose::Long { 4.0 * self.slice_ns } else { self.slice_ns };
        let ios = if job.rw.writes() {
            self.writes
        } else {
            (slice_ns * (load / (queued * 1.12)).min(pace / 1e9).min(limit / 1e9)).floor()
        };
        let directions = self.directions(job, stack, queued, ios);
        let window_ns = match (job.rw.writes(), how.rate) {
            (false, _) => slice_ns,
            (true, Some(rate)) if job.rw.reads() => 1e9 * ios / rate,
            (true, _) => directions.iter().map(|(_, ios, queued)| ios * queued * 1.12 / load).sum(),
        };
        let latency = directions
            .into_iter()
            .map(|(way, ios, queued)| (way, ios, self.histogram(queued, ios)));
        let histograms = Histograms {
            latency: latency.collect(),
            reap_gap: (job.iodepth > 1).then(|| self.gaps(queued / f64::from(job.iodepth), ios)),
            service: job.rate_iops.map(|_| self.gaps(median, ios)),
        };
        let used = (ios * 1_000.0, ios * (2_000.0 + queued / 50.0));
        let samples = samples(job, (ios, used.1), &histograms, window_ns);
        self.data.slices.push(Slice {
            short_slices: 0,
            set: 0,
            visit,
            round,
            slice: position,
            purpose: how.purpose,
            other_cpu: None,
            state: None,
            rebuilt: None,
            host_cpu: self.stacks[stack]
                .host_cpu_ns
                .map(|more| cpu_times((used.0 + ios * more, used.1), window_ns)),
            stack: self.stacks[stack].name.into(),
            workload: workload.name.clone(),
            start_ns: self.clock_ns,
            clock_offset_ns: 0,
            window_ns: window_ns as u64,
            discarded_ns: 5_000_000,
            discarded_ios: 50,
            drain_ns: 300_000,
            errors: 0,
            cpu: Some(cpu_times(used, window_ns)),
            gate: job.rw.writes().then_some(QuiesceGate {
                waited_ns: 4_000_000,
                dirty_bytes: 65_536,
                in_flight: Some(0),
                gave_up: false,
            }),
            device_read_bytes: None,
            targets: Vec::new(),
            late: None,
            run_again: 0,
            together: (self.stacks[stack].parts > 1).then_some(0.98),
            parts: parts(self.stacks[stack].parts, ios, window_ns, &samples),
            samples,
        });
        self.clock_ns += window_ns as u64 + 6_000_000;
    }

    /// Returns the number and median latency of a slice's I/Os by direction. Each I/O of a mix is a
    /// read by chance.
    fn directions(
        &mut self,
        job: &Job,
        stack: usize,
        queued: f64,
        ios: f64,
    ) -> Vec<(&'static str, f64, f64)> {
        let TwinStack { write_factor, read_factor, .. } = self.stacks[stack];
        match (job.rw.reads(), job.rw.writes()) {
            (true, true) => {
                let share = read_factor * f64::from(job.rwmixread) / 100.0;
                let reads = (0..ios as u64).filter(|_| self.noise.uniform() < share).count() as f64;
                vec![("read", reads, queued), ("write", ios - reads, write_factor * queued)]
            }
            (_, true) => vec![("write", ios, queued)],
            _ => vec![("read", ios, queued)],
        }
    }

    /// Stores a log-normal distribution of latencies with a tail (one in 200 takes eight times as
    /// long), and returns its offset.
    fn histogram(&mut self, median: f64, ios: f64) -> u64 {
        let mut histogram = Histogram::new();
        for _ in 0..ios as u64 {
            let tail = if self.noise.uniform() < 0.005 { 8.0 } else { 1.0 };
            histogram.record((median * tail * (0.4 * self.noise.normal()).exp()) as u64);
        }
        self.kept(histogram)
    }

    /// Stores gaps without chance, of which one in a hundred is four times as long, and returns
    /// their offset.
    fn gaps(&mut self, usual: f64, ios: f64) -> u64 {
        let mut histogram = Histogram::new();
        for at in 0..(ios as u64 / 4).max(1) {
            histogram.record(if at % 100 == 7 { 4.0 * usual } else { usual } as u64);
        }
        self.kept(histogram)
    }

    fn kept(&mut self, histogram: Histogram) -> u64 {
        let offset = self.histograms.len() as u64 * 64;
        self.histograms.insert(offset, histogram);
        offset
    }
}

/// Histograms of one slice.
struct Histograms {
    /// Direction, number of I/Os, and offset of the histogram of their latencies.
    latency: Vec<(&'static str, f64, u64)>,
    reap_gap: Option<u64>,
    service: Option<u64>,
}

/// Differences of a slice from an ordinary one.
#[derive(Clone, Copy)]
struct How {
    purpose: Purpose,
    factor: f64,
    /// Offered I/Os per second.
    rate: Option<f64>,
}

impl Default for How {
    fn default() -> How {
        How { purpose: Purpose::Plain, factor: 1.0, rate: None }
    }
}

/// Returns the CPU times of a place with eight CPUs.
fn cpu_times((user, system): (f64, f64), window_ns: f64) -> CpuTimes {
    let idle = (8.0 * window_ns - user - system).max(0.0);
    CpuTimes {
        user_ns: user as u64,
        system_ns: system as u64,
        idle_ns: idle as u64,
        ..CpuTimes::default()
    }
}

/// Returns the latency under load. With servers it is flat until they are all busy, and bends so
/// that throughput over latency is greatest where there are as many I/Os as servers. Twice the
/// block size takes a quarter more.
fn queued(median: f64, servers: Option<f64>, job: &Job) -> f64 {
    let load = f64::from(job.iodepth * job.numjobs);
    let Some(servers) = servers else { return median * load.powf(0.6) };
    let median = median * (job.bs as f64 / 4096.0).powf(0.32);
    match job.rate_iops {
        None => median * (1.0 + (load / servers).powi(4)).powf(0.25),
        // An open loop, modelled as one queue: near the capacity, latency grows without end.
        Some(rate) => median / (1.0 - (rate as f64 * median / 1e9 / servers).min(0.98)),
    }
}

/// Builds the samples of a slice. `kernel_ns` is what the place computed in the kernel, all but a
/// little of it for the generator's threads.
fn samples(
    job: &Job,
    (ios, kernel_ns): (f64, f64),
    histograms: &Histograms,
    window_ns: f64,
) -> Vec<SliceSample> {
    let sample = |metric: String, unit: &str, better, value| SliceSample {
        metric,
        unit: unit.into(),
        better,
        value,
    };
    let mut all = Vec::new();
    for (way, ios, latency) in &histograms.latency {
        all.extend([
            sample(format!("{way}.ios"), "1", Better::Higher, SampleValue::Value(*ios)),
            sample(
                format!("{way}.bytes"),
                "B",
                Better::Higher,
                SampleValue::Value(ios * job.bs as f64),
            ),
            sample(format!("{way}.latency"), "ns", Better::Lower, SampleValue::Histogram(*latency)),
        ]);
    }
    all.extend([
        sample("cpu.user".into(), "ns", Better::Lower, SampleValue::Value(ios * 40.0)),
        sample(
            "cpu.system".into(),
            "ns",
            Better::Lower,
            SampleValue::Value(kernel_ns - ios * 100.0),
        ),
    ]);
    let in_flight = f64::from(job.iodepth * job.numjobs) * window_ns;
    all.push(sample("in_flight".into(), "ns", Better::Higher, SampleValue::Value(in_flight)));
    all.push(sample("served".into(), "ns", Better::Lower, SampleValue::Value(1.001 * in_flight)));
    for (name, offset) in
        [("reap_gap", histograms.reap_gap), ("service.latency", histograms.service)]
    {
        all.extend(
            offset.map(|at| sample(name.into(), "ns", Better::Lower, SampleValue::Histogram(at))),
        );
    }
    if job.rw.writes() {
        all.push(sample("flush".into(), "ns", Better::Lower, SampleValue::Value(0.3 * window_ns)));
    }
    all
}

fn start(seed: u64, stacks: &[TwinStack]) -> RunStart {
    let layer = |text: &str| LayerSpec {
        name: text.into(),
        options: BTreeMap::new(),
        place: None,
        far: Vec::new(),
        copies: 1,
        tool: None,
        origin: "command line".into(),
    };
    let checked = |stack: &TwinStack| Stack {
        name: stack.name.into(),
        text: stack.text.into(),
        medium: Medium::File { path: "/srv/iotax.img".into(), size: Some(4 << 30), keep: false },
        layers: stack.text.split(" | ").skip(1).map(layer).collect(),
        by_hand: Vec::new(),
        own: false,
        state: None,
    };
    RunStart {
        id: format!("20260101-120000-{seed:04}"),
        at: "2026-01-01T12:00:00Z".into(),
        iotax: "0.1.0".into(),
        argv: ["iotax", "run", stacks.last().map_or("", |stack| stack.text)]
            .map(String::from)
            .to_vec(),
        scenario: Scenario {
            stacks: stacks.iter().map(checked).collect(),
            measure: MeasureSpec { seed, ..MeasureSpec::default() },
            ..Scenario::of_nothing("command line", None)
        },
        boot_id: "00000000-0000-0000-0000-000000000000".into(),
        siblings: 1,
        write_caches: Vec::new(),
        imported: None,
        ratings: Vec::new(),
    }
}
