//! A whole visit on simulated places: workers that answer at once with windows as long as they were
//! asked for, and a guest whose CPUs can be stopped.

use super::*;
use crate::places::Places;
use crate::under_load::LoadedMember;
use crate::visit_workers::OfferedLoad;
use iotax_drivers::disk_key::DiskKey;
use iotax_engines::load_engine::{EngineError, LoadEngine};
use iotax_engines::serving;
use iotax_engines::serving::{Handler, serve};
use iotax_facts::place::Place;
use iotax_host::facts::Facts;
use iotax_load::{Hold, Job, Rw, SliceResult, SliceSpec, TargetSpec};
use iotax_model::record::precondition::Preconditioned;
use iotax_model::record::{CpuTimes, LOST_PLACE, QuiesceGate, STOPPED, Slice, Warning};
use iotax_model::scenario::{Regime, SteadyLimit};
use iotax_qemu::qmp::Qmp;
use iotax_stats::noise::Noise;
use iotax_store::Store;
use iotax_units::exit::Failed;
use iotax_wire::peer::{Peer, PeerLink};
use iotax_wire::stops::ProcessStop;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// State that all simulated places share.
struct Machine {
    noise: Noise,
    /// True while the guest's CPUs run.
    guest_runs: bool,
    /// Part of the host's rate that is left while the guest runs.
    beside: f64,
    /// Commands that QEMU got.
    commands: Vec<String>,
    /// Speed of the guest's clock.
    clock_speed: f64,
    /// Time that the guest's clock has stood still.
    stood_ns: u64,
    /// Time at which both clocks were the same.
    since_ns: u64,
    /// Slices until the guest's clock stands still for a second.
    stands_in: Option<u32>,
    /// Part by which the pace falls with every slice, and the number of slices in which it does.
    falls: (f64, u32),
    /// I/Os that fail in each slice of the host's.
    failures: u64,
    /// Number of tries of slices in several places in which one place begins half a second late.
    late: u32,
    /// Seeds of every worker that was prepared.
    seeds: Vec<u64>,
}

struct Simulated {
    machine: Arc<Mutex<Machine>>,
    is_guest: bool,
    dies: Option<Dies>,
}

/// A place whose stream breaks in the middle of a slice, after a number of slices.
#[derive(Clone)]
struct Dies {
    after: u32,
    stream: Arc<UnixStream>,
}

struct Worker {
    machine: Arc<Mutex<Machine>>,
    rate: f64,
    in_guest: bool,
    open_loop: Option<f64>,
    dies: Option<Dies>,
}

impl LoadEngine for Worker {
    fn name(&self) -> String {
        "simulated".into()
    }

    fn choice_reason(&self) -> String {
        "a test".into()
    }

    fn run_slice(&mut self, spec: &SliceSpec) -> Result<SliceResult, EngineError> {
        if let Some(dies) = &mut self.dies {
            if dies.after == 0 {
                dies.stream.shutdown(std::net::Shutdown::Both).unwrap();
            }
            dies.after = dies.after.saturating_sub(1);
        }
        let mut machine = self.machine.lock().unwrap();
        assert!(machine.guest_runs || !self.in_guest, "a stopped guest answers nothing");
        let beside = if machine.guest_runs { machine.beside } else { 1.0 };
        machine.stands_in = machine.stands_in.map(|slices| slices.wrapping_sub(1));
        machine.stood_ns += if machine.stands_in == Some(0) { 1_000_000_000 } else { 0 };
        let (part, slices) = machine.falls;
        let fallen = 1.0 + part * f64::from(slices);
        machine.falls.1 = slices.saturating_sub(1);
        let rate = self.rate * fallen * beside * (1.0 + 0.01 * machine.noise.normal());
        let done = self.open_loop.map_or(rate, |offered| offered.min(rate));
        let window_s = match spec.bound {
            SliceBound::Time { ns } => ns as f64 / 1e9,
            SliceBound::Bytes { bytes } => bytes as f64 / 4096.0 / done,
        };
        let ios = (done * window_s).round() as u64;
        let mut result = SliceResult {
            window_ns: (window_s * 1e9) as u64,
            discarded_ns: if matches!(spec.bound, SliceBound::Time { .. }) {
                spec.min_discard_ns
            } else {
                0
            },
            ..SliceResult::default()
        };
        if spec.begin_ns.is_some() && self.rate == LATECOMERS_RATE && machine.late > 0 {
            machine.late -= 1;
            result.window_start_ns = 500_000_000;
        }
        let direction = if spec.flush { &mut result.write } else { &mut result.read };
        (direction.ios, direction.bytes) = (ios, ios * 4096);
        (0..ios.min(100)).for_each(|_| direction.latency.record((1e9 / rate) as u64));
        result.flush_ns = spec.flush.then_some(1000);
        if machine.failures > 0 && !self.in_guest {
            result.errors = machine.failures;
            result.first_error =
                Some("read of 4096 bytes at 8192: Input/output error (os error 5)".into());
        }
        Ok(result)
    }
}

impl Handler for Simulated {
    fn gather_facts(&mut self, _: &[PathBuf], _: &[String]) -> Result<Facts> {
        Ok(Facts::default())
    }

    fn handle_step(&mut self, _: serde_json::Value) -> Result<serde_json::Value> {
        Err(Failed::input("no steps here").into())
    }

    fn inspect_path(&mut self, _: &Path) -> Result<serde_json::Value> {
        Err(Failed::input("nothing to inspect").into())
    }

    fn ask_guard(&mut self, payload: serde_json::Value) -> Result<serde_json::Value> {
        Ok(payload)
    }

    fn permit_write(&mut self, _: &TargetSpec) -> Result<()> {
        Ok(())
    }

    fn find_block_device(&mut self, key: &DiskKey) -> Result<PathBuf> {
        Ok(Path::new("/dev").join(key.value()))
    }

    fn await_quiet(&mut self, _: &[PathBuf], _: Duration) -> Result<QuiesceGate> {
        Ok(QuiesceGate::NOTHING_OWED)
    }

    fn cpu_times(&mut self) -> Result<CpuTimes> {
        Ok(CpuTimes::default())
    }

    fn clock_ns(&mut self) -> u64 {
        let (now, machine) = (iotax_load::clock::monotonic_ns(), self.machine.lock().unwrap());
        let passed = (now - machine.since_ns) as f64;
        let in_guest = machine.since_ns + (passed * machine.clock_speed) as u64 - machine.stood_ns;
        if self.is_guest { in_guest } else { now }
    }

    fn prepare_load_worker(
        &mut self,
        targets: &[TargetSpec],
        jobs: &[Job],
        _: Option<Engine>,
        _: Option<&iotax_load::Worker>,
    ) -> Result<Box<dyn LoadEngine>> {
        self.machine.lock().unwrap().seeds.push(jobs[0].randseed);
        // A path is named for its rate: /80000, or /guest/40000.
        let path = &targets[0].path;
        let rate = path.file_name().unwrap().to_str().unwrap().parse().unwrap();
        Ok(Box::new(Worker {
            machine: self.machine.clone(),
            rate,
            in_guest: path.starts_with("/guest"),
            open_loop: jobs[0].rate_iops.map(|rate| rate as f64),
            dies: self.dies.clone(),
        }))
    }
}

/// QEMU's side of QMP: takes every command, and stops and starts the guest.
fn qemu(machine: Arc<Mutex<Machine>>) -> Qmp {
    let (ours, theirs) = UnixStream::pair().unwrap();
    std::thread::spawn(move || {
        let mut out = theirs.try_clone().unwrap();
        writeln!(out, r#"{{"QMP":{{"version":{{}},"capabilities":[]}}}}"#).unwrap();
        for line in BufReader::new(theirs).lines().map_while(Result::ok) {
            let request: serde_json::Value = serde_json::from_str(&line).unwrap();
            let command = request["execute"].as_str().unwrap().to_owned();
            let mut machine = machine.lock().unwrap();
            match command.as_str() {
                "stop" => machine.guest_runs = false,
                "cont" => {
                    machine.guest_runs = true;
                    // A simulated stop takes no time; a real one lasts a slice.
                    machine.stood_ns += 50_000_000;
                }
                _ => {}
            }
            machine.commands.push(command);
            // The reader may be gone.
            drop(writeln!(out, "{}", serde_json::json!({ "return": {}, "id": request["id"] })));
        }
    });
    Qmp::greet(ours, Duration::from_secs(5)).unwrap()
}

#[derive(Default)]
struct Told(Vec<RunEvent>);

impl Observer for Told {
    fn notify(&mut self, event: RunEvent) {
        self.0.push(event);
    }
}

struct Rig {
    machine: Arc<Mutex<Machine>>,
    ready: Vec<StackUnderLoad>,
    workload: Workload,
    measure: MeasureSpec,
    allowance: Option<u64>,
    stop: AtomicBool,
    precondition: Option<Precondition>,
    /// Tries of slices in which iotax is stopped, of all tries from 0.
    stopped_in: std::ops::Range<usize>,
    /// Hosts over SSH, with the number of slices of a worker after which each is lost.
    hosts: Vec<(&'static str, Option<u32>)>,
    slices: Vec<Slice>,
    records: Vec<RunRecord>,
    told: Told,
}

fn ready(index: usize, place: &str, path: &str) -> StackUnderLoad {
    let target = TargetSpec {
        path: path.into(),
        offset: 0,
        bytes: Some(1 << 30),
        writable: true,
        hold: Hold::default(),
    };
    StackUnderLoad {
        index,
        stack: format!("stack{index}"),
        members: vec![LoadedMember { place: place.into(), targets: vec![target] }],
        engine: None,
        owed: Vec::new(),
        others: Vec::new(),
        media: Vec::new(),
        far_end: None,
        serving: Default::default(),
    }
}

/// A stack in a guest whose disk the host serves, so that its slices are asked for one by one.
fn served(path: &str) -> StackUnderLoad {
    StackUnderLoad { others: vec![Place::Host], ..ready(1, "vm0", path) }
}

impl Rig {
    fn new(beside: f64) -> Rig {
        let machine = Machine {
            noise: Noise::new(1),
            guest_runs: true,
            beside,
            commands: Vec::new(),
            clock_speed: 1.0,
            stood_ns: 0,
            since_ns: iotax_load::clock::monotonic_ns(),
            stands_in: None,
            falls: (0.0, 0),
            failures: 0,
            late: 0,
            seeds: Vec::new(),
        };
        Rig {
            machine: Arc::new(Mutex::new(machine)),
            ready: vec![ready(0, "host", "/80000"), served("/guest/40000")],
            workload: Workload {
                name: "w".into(),
                jobs: vec![Job::default()],
                probe: None,
                engine: None,
                sweep: None,
            },
            measure: MeasureSpec::default(),
            allowance: None,
            stop: AtomicBool::new(false),
            precondition: None,
            stopped_in: 0..0,
            hosts: Vec::new(),
            slices: Vec::new(),
            records: Vec::new(),
            told: Told::default(),
        }
    }

    fn measure(&mut self, progress: &mut WorkloadProgress, until: VisitLimit) -> VisitEnd {
        self.try_measure(progress, until).unwrap()
    }

    fn try_measure(
        &mut self,
        progress: &mut WorkloadProgress,
        until: VisitLimit,
    ) -> Result<VisitEnd> {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::create(folder.path(), "run").unwrap();
        let mut places = Places::default();
        for (name, control) in [("host", None), ("vm0", Some(qemu(self.machine.clone())))] {
            let place = Simulated {
                machine: self.machine.clone(),
                is_guest: control.is_some(),
                dies: None,
            };
            let peer = serving::in_process(name, Box::new(place)).unwrap();
            let place = Place::from(name);
            places.simulated(&place, peer, control);
            places.get(&place).unwrap().peer.hello("test", Duration::from_secs(5)).unwrap();
        }
        for (name, lost_after) in &self.hosts {
            let (ours, theirs) = UnixStream::pair().unwrap();
            let stream = Arc::new(ours.try_clone().unwrap());
            let dies = lost_after.map(|after| Dies { after, stream });
            let mut place = Simulated { machine: self.machine.clone(), is_guest: false, dies };
            let writer = theirs.try_clone().unwrap();
            // A stream that breaks ends it.
            std::thread::spawn(move || drop(serve(theirs, writer, &mut place)));
            let peer = Peer::new(*name, PeerLink::of_socket(ours).unwrap(), Box::new(String::new));
            let place = Place::from(*name);
            places.simulated(&place, peer, None);
            places.get(&place).unwrap().peer.hello("test", Duration::from_secs(5)).unwrap();
        }
        let tries = std::cell::Cell::new(0);
        let (stopped_in, stop) = (self.stopped_in.clone(), Duration::from_secs(1000));
        let stops = |_| {
            tries.set(tries.get() + 1);
            stopped_in
                .contains(&(tries.get() - 1))
                .then_some(ProcessStop { counted: stop, whole: stop })
        };
        let mut visit = Visit {
            bench: Bench {
                visit: 0,
                set: 0,
                ready: &self.ready,
                workload: &self.workload,
                allowance: &mut self.allowance,
                places: &mut places,
                store: &mut store,
                spent_s: 0.0,
                starts: Default::default(),
                clocks: Default::default(),
                prepared: Default::default(),
                offered: OfferedLoad::Jobs(Vec::new()),
                keeper: None,
                clusters: Vec::new(),
                failing: Default::default(),
                traffic: Default::default(),
                transients: Default::default(),
                turns: Default::default(),
                placed: 0,
                recorded: Vec::new(),
                stops: &stops,
                is_uninterrupted: false,
            },
            write_caches: &[],
            baseline: 0,
            names: &["stack0", "stack1"],
            members: &[1; 2],
            ruler: None,
            workload: &self.workload,
            measure: &self.measure,
            steady: None,
            precondition: self.precondition,
            stream: 0,
            observer: &mut self.told,
            stop: &self.stop,
        };
        let ended = visit.measure(progress, until);
        iotax_store::stream_records(&folder.path().join("run"), |record| match record {
            RunRecord::Slice(slice) => self.slices.push(slice),
            other => self.records.push(other),
        })
        .unwrap();
        ended
    }

    fn count(&self, purpose: Purpose) -> usize {
        self.slices.iter().filter(|slice| slice.purpose == purpose).count()
    }
}

/// The rate of the place that is late, if there is one.
const LATECOMERS_RATE: f64 = 30_001.0;

/// Returns three hosts that load together against one of them alone. `lost` is gone after `after`
/// slices.
fn three_hosts(lost: &'static str, after: u32) -> Rig {
    let mut rig = Rig::new(1.0);
    rig.hosts =
        ["ssh:a", "ssh:b", "ssh:c"].map(|name| (name, (name == lost).then_some(after))).into();
    let mut all = ready(1, "ssh:a", "/30000");
    all.members.extend(["ssh:b", "ssh:c"].map(|name| ready(1, name, "/30000").members.remove(0)));
    rig.ready = vec![ready(0, "ssh:a", "/30000"), all];
    // The load is simulated, but its begin is not: of a long slice a late begin is a small part.
    rig.measure = MeasureSpec { slice_ns: Some(500_000_000), ..MeasureSpec::default() };
    rig
}

#[test]
fn a_start_that_was_learned_is_bounded_told_and_unlearned() {
    let mut rig = three_hosts("none", 0);
    rig.ready[1].members[2] = ready(1, "ssh:c", "/30001").members.remove(0);
    rig.measure.matched_rate = 0.0;
    rig.machine.lock().unwrap().late = 8;
    assert_eq!(
        rig.measure(&mut WorkloadProgress::default(), VisitLimit::Time(120.0)),
        VisitEnd::Visit
    );
    let together: Vec<&Slice> = rig.slices.iter().filter(|slice| slice.stack == "stack1").collect();
    assert_eq!((together[0].run_again, together[0].discarded_ns), (8, 1_000_000_000));
    assert!(together.iter().all(|slice| slice.discarded_ns <= 1_000_000_000));
    // Other work on the machine may make more of them late.
    let in_time: Vec<_> =
        together.windows(2).filter(|pair| pair.iter().all(|slice| slice.run_again == 0)).collect();
    assert!(in_time.len() > 10, "{} of {}", in_time.len(), together.len());
    for pair in in_time {
        let shorter_ns = pair[0].discarded_ns - pair[0].discarded_ns / 32;
        assert_eq!(pair[1].discarded_ns, shorter_ns.max(5_000_000));
    }
    let told = rig.told.0.iter().filter_map(|event| match event {
        RunEvent::Phase { what } if what.contains("run again") => Some(what.as_str()),
        _ => None,
    });
    let told: Vec<&str> = told.collect();
    assert!(told.len() >= 7, "{told:?}");
    // It is late by half a second, which is not measured to the millisecond.
    let first = "stack1: ssh:c started ";
    assert!(
        told[0].starts_with(first) && told[0].contains("(try 3 of 9, with a longer start)"),
        "{told:?}"
    );
}

#[test]
fn a_host_that_is_lost_is_left_out_by_name_and_the_others_go_on() {
    let mut rig = three_hosts("ssh:b", 40);
    let mut progress = WorkloadProgress::default();
    assert_eq!(rig.measure(&mut progress, VisitLimit::Time(120.0)), VisitEnd::Visit);
    let together: Vec<_> = rig.slices.iter().filter(|slice| slice.stack == "stack1").collect();
    let names = |slice: &&Slice| {
        slice.parts.iter().map(|part| part.place.to_string()).collect::<Vec<_>>().join(" ")
    };
    let first_without = together.iter().position(|slice| names(slice) == "ssh:a ssh:c");
    let first_without = first_without
        .unwrap_or_else(|| panic!("{:?}", together.iter().map(names).collect::<Vec<_>>()));
    // A slice that did not run together takes one more.
    assert!((30..=40).contains(&first_without), "{first_without}");
    let (before, behind) = together.split_at(first_without);
    assert!(before.iter().all(|slice| names(slice) == "ssh:a ssh:b ssh:c"));
    assert!(behind.iter().all(|slice| names(slice) == "ssh:a ssh:c"));
    let lost: Vec<&Warning> = rig
        .records
        .iter()
        .filter_map(|record| match record {
            RunRecord::Warning(warning) if warning.kind == LOST_PLACE => Some(warning),
            _ => None,
        })
        .collect();
    let [warning] = lost.as_slice() else { panic!("{lost:?}") };
    assert!(warning.subject == "ssh:b" && warning.text.contains("it is left out"), "{warning:?}");
    assert_eq!(progress.lost, [Place::from("ssh:b")].into());
    // Rounds of three hosts do not count for two: the comparison has twice the rate of one.
    let rate = |stack| {
        let parts = progress
            .rounds
            .iter()
            .flat_map(|round| &round.parts)
            .filter(|part| part.stack == stack);
        let (ios, seconds) =
            parts.fold((0.0, 0.0), |sum, part| (sum.0 + part.amount, sum.1 + part.seconds));
        ios / seconds
    };
    assert!((rate(1) / rate(0) - 2.0).abs() < 0.05, "{} {}", rate(1), rate(0));
    // The remaining hosts share the rate that is offered.
    let matched = progress.matched.as_ref().unwrap().rate_iops.unwrap();
    let offered = |slice: &Slice| slice.figure("read.ios").unwrap() / slice.window_ns as f64 * 1e9;
    for slice in rig.slices.iter().filter(|slice| slice.purpose == Purpose::Matched) {
        assert!((offered(slice) / matched - 1.0).abs() < 0.05, "{} {matched}", offered(slice));
    }
}

#[test]
fn the_cost_of_each_direction_is_that_of_its_totals() {
    let mut progress = WorkloadProgress::default();
    progress.add_by_direction(vec![
        (0, [100.0, 50.0, 1.0]),
        (1, [80.0, 55.0, 1.0]),
        (0, [100.0, 50.0, 1.0]),
    ]);
    let [reads, writes] = progress.cost_by_direction([0, 1]).unwrap();
    assert!((reads - 0.2).abs() < 1e-9 && (writes + 0.1).abs() < 1e-9, "{reads} {writes}");
    progress.add_by_direction(vec![(2, [80.0, 0.0, 1.0])]);
    assert_eq!(progress.cost_by_direction([2, 1]), None, "the baseline does not write");
}

#[test]
fn a_stack_whose_only_host_is_lost_ends_the_run() {
    let mut rig = three_hosts("ssh:a", 10);
    let why = format!(
        "{:#}",
        rig.try_measure(&mut WorkloadProgress::default(), VisitLimit::Time(120.0)).unwrap_err()
    );
    assert!(why.starts_with("ssh:a is lost (it cannot be reached again)"), "{why}");
}

fn precise() -> VisitLimit {
    VisitLimit::Precise(StopSpec { precision: 0.01, min_time_s: 10.0, budget_s: 200.0 })
}

#[test]
fn failed_ios_end_a_run_unless_it_goes_on_without_them() {
    let mut rig = Rig::new(1.0);
    rig.machine.lock().unwrap().failures = 3;
    let words = rig
        .try_measure(&mut WorkloadProgress::default(), VisitLimit::Time(1.0))
        .unwrap_err()
        .to_string();
    assert!(
        words.starts_with(
            "3 I/Os failed or came back short on stack0; the first: read of 4096 bytes at 8192"
        ),
        "{words}"
    );
    rig.workload.jobs[0].continue_on_error = true;
    rig.records.clear();
    assert_eq!(
        rig.measure(&mut WorkloadProgress::default(), VisitLimit::Time(1.0)),
        VisitEnd::Visit
    );
    let told: Vec<_> = rig
        .records
        .iter()
        .filter_map(|record| match record {
            RunRecord::Warning(warning) => Some((warning.subject.as_str(), warning.text.as_str())),
            _ => None,
        })
        .collect();
    let [(subject, text)] = told.as_slice() else { panic!("{told:?}") };
    assert!(
        *subject == "stack0" && text.ends_with("; the run goes on (continue_on_error)"),
        "{text}"
    );
    let failed = rig.slices.iter().filter(|slice| slice.stack == "stack0");
    assert!(
        failed.clone().count() > 3 && failed.into_iter().all(|slice| slice.errors == 3),
        "all are counted"
    );
}

/// Returns a load that writes, preconditioned in rounds of two slices of each stack, on drives
/// whose pace falls in the first `slices` slices.
fn writes_preconditioned(slices: u32, limit: SteadyLimit) -> Rig {
    let mut rig = Rig::new(1.0);
    rig.workload.jobs[0].rw = Rw::RandWrite;
    rig.machine.lock().unwrap().falls = (0.05, slices);
    rig.precondition = Some(Precondition {
        steady: true,
        round_ns: 2_000_000_000,
        limit,
        ..Precondition::default()
    });
    rig
}

fn preconditioned(rig: &Rig) -> &Preconditioned {
    let mut found = rig.records.iter().filter_map(|record| match record {
        RunRecord::Preconditioned(found) => Some(found),
        _ => None,
    });
    let one = found.next().unwrap();
    assert!(found.next().is_none(), "once a visit");
    one
}

#[test]
fn a_load_runs_before_all_else_until_its_pace_is_steady() {
    let mut rig = writes_preconditioned(30, SteadyLimit::Rounds(25));
    let mut progress = WorkloadProgress::default();
    assert_eq!(rig.measure(&mut progress, VisitLimit::Time(1.0)), VisitEnd::Visit);
    let found = preconditioned(&rig).clone();
    // A round has four slices: the fall ends in the eighth, and the last five are level soon after
    // it.
    assert!((9..=13).contains(&found.rounds) && found.ended == "steady", "{found:?}");
    assert_eq!(rig.count(Purpose::Precondition), 4 * found.rounds as usize);
    let last = rig.slices.iter().rposition(|slice| slice.purpose == Purpose::Precondition).unwrap();
    let first = rig.slices.iter().position(|slice| slice.purpose != Purpose::Precondition).unwrap();
    assert!(last < first, "before all else");
    assert!(
        found.stacks.iter().all(|one| one.steady && one.range.unwrap() <= 0.2 && one.written > 0)
    );
    assert_eq!(progress.preconditioned.len(), found.rounds as usize);
    assert!(progress.rounds.iter().all(|round| round.parts.len() == 4), "no part of any figure");
    assert!(found.took_ns >= u64::from(found.rounds) * 4_000_000_000);
}

#[test]
fn a_load_at_a_rate_is_preconditioned_without_it() {
    let mut rig = writes_preconditioned(30, SteadyLimit::Rounds(25));
    rig.workload.jobs[0].rate_iops = Some(1000);
    assert_eq!(
        rig.measure(&mut WorkloadProgress::default(), VisitLimit::Time(1.0)),
        VisitEnd::Visit
    );
    let found = preconditioned(&rig).clone();
    assert!((9..=13).contains(&found.rounds) && found.without_rate, "{found:?}");
    let ios = |purpose: Purpose| {
        let slice = rig.slices.iter().find(|slice| slice.purpose == purpose).unwrap();
        let iotax_model::record::SampleValue::Value(ios) = slice.samples[0].value else {
            panic!("{slice:?}")
        };
        ios / slice.window_ns as f64 * 1e9
    };
    assert!(ios(Purpose::Precondition) > 10_000.0, "{}", ios(Purpose::Precondition));
    assert!(ios(Purpose::Plain) < 1_100.0, "{}", ios(Purpose::Plain));
}

#[test]
fn what_does_not_become_steady_is_measured_all_the_same_and_said_to_be_so() {
    for (limit, ended, rounds) in
        [(SteadyLimit::Rounds(6), "rounds", 6), (SteadyLimit::TimeNs(29_000_000_000), "time", 7)]
    {
        let mut rig = writes_preconditioned(40, limit);
        rig.machine.lock().unwrap().falls.0 = 1.0;
        assert_eq!(
            rig.measure(&mut WorkloadProgress::default(), VisitLimit::Time(1.0)),
            VisitEnd::Visit
        );
        let found = preconditioned(&rig);
        assert_eq!((found.ended.as_str(), found.rounds), (ended, rounds), "{found:?}");
        assert!(found.stacks.iter().all(|one| !one.steady && one.slope.unwrap() > 0.0));
        assert!(rig.count(Purpose::Plain) > 0);
    }
}

#[test]
fn preconditioning_keeps_what_may_be_written_and_ends_with_ctrl_c() {
    let mut rig = writes_preconditioned(0, SteadyLimit::Rounds(25));
    rig.allowance = Some(200 << 20);
    assert_eq!(
        rig.measure(&mut WorkloadProgress::default(), VisitLimit::Time(1.0)),
        VisitEnd::MaxWritten
    );
    assert_eq!(preconditioned(&rig).ended, "max_written");
    assert!(rig.allowance.is_some_and(|left| left < 200 << 20));
    let mut rig = writes_preconditioned(0, SteadyLimit::Rounds(25));
    rig.stop = AtomicBool::new(true);
    assert_eq!(
        rig.measure(&mut WorkloadProgress::default(), VisitLimit::Time(1.0)),
        VisitEnd::Interrupted
    );
    assert_eq!(
        (preconditioned(&rig).ended.as_str(), preconditioned(&rig).rounds),
        ("interrupted", 0)
    );
}

#[test]
fn the_slowest_stack_is_named_though_another_set_is_up() {
    let mut rig = Rig::new(1.0);
    let mut progress = WorkloadProgress::default();
    let both = rig.ready.clone();
    for index in [1, 0] {
        rig.ready = vec![both[index].clone()];
        rig.measure(&mut progress, VisitLimit::Time(2.0));
    }
    assert_eq!(progress.matched.as_ref().map(|matched| matched.slowest.as_str()), Some("stack1"));
}

#[test]
fn pilot_then_the_baseline_alone_then_rounds_then_latencies() {
    let mut rig = Rig::new(1.0);
    let mut progress = WorkloadProgress::default();
    assert_eq!(rig.measure(&mut progress, precise()), VisitEnd::Precision);
    let order: Vec<Purpose> = rig.slices.iter().map(|slice| slice.purpose).collect();
    let first = |purpose| order.iter().position(|one| *one == purpose).unwrap();
    let phases =
        [Purpose::WarmUp, Purpose::Pilot, Purpose::Beside, Purpose::Plain, Purpose::Matched]
            .map(first);
    assert!(phases.is_sorted() && phases[0] == 0, "{phases:?}");
    assert!(
        (72..=182).contains(&rig.count(Purpose::Pilot)),
        "4 to 10 s of 50 ms, 5 ms discarded before each"
    );
    assert!(
        rig.count(Purpose::Alone) >= 32 && rig.count(Purpose::Alone) == rig.count(Purpose::Beside)
    );
    // The ratio is 0.5, of which a tenth of the logarithm is enough; but 10 s are measured at
    // least.
    assert!(progress.elapsed_s >= 10.0 && progress.elapsed_s < 20.0, "{}", progress.elapsed_s);
    let machine = rig.machine.lock().unwrap();
    assert!(machine.guest_runs, "it goes on");
    let count = |word: &str| machine.commands.iter().filter(|command| *command == word).count();
    assert_eq!(
        (count("stop"), count("cont")),
        (rig.count(Purpose::Alone), rig.count(Purpose::Alone))
    );
    let matched = progress.matched.as_ref().unwrap();
    let rate = matched.rate_iops.unwrap();
    assert_eq!((rate.round(), matched.slowest.as_str()), (rate, "stack1"));
    assert!((27_000.0..29_000.0).contains(&rate), "70 % of 40,000: {rate}");
    let discarded = |purpose| {
        let of = rig.slices.iter().filter(|slice| slice.purpose == purpose);
        of.map(|slice| slice.discarded_ns / 1_000_000).collect::<BTreeSet<u64>>()
    };
    assert_eq!(discarded(Purpose::Plain), [5].into());
    assert_eq!(
        discarded(Purpose::Matched),
        [25].into(),
        "a schedule does not wait for who wakes late"
    );
    let names: Vec<&str> = rig
        .records
        .iter()
        .filter_map(|record| match record {
            RunRecord::Design(_) => Some("design"),
            RunRecord::Matched(_) => Some("matched"),
            _ => None,
        })
        .collect();
    assert_eq!(names, ["design", "matched"]);
}

#[test]
fn one_slice_that_was_held_up_does_not_decide_that_there_is_no_pilot() {
    let mut rig = Rig::new(1.0);
    rig.machine.lock().unwrap().falls = (-0.99, 1);
    rig.measure(&mut WorkloadProgress::default(), VisitLimit::Time(1.0));
    assert_eq!(rig.count(Purpose::WarmUp), 3, "the baseline's again, and longer");
    assert!(rig.count(Purpose::Pilot) > 10);
    // A stack that is as slow for a second counts as slow.
    let mut rig = Rig::new(1.0);
    rig.ready[1] = served("/guest/1000");
    rig.measure(&mut WorkloadProgress::default(), VisitLimit::Time(1.0));
    assert_eq!((rig.count(Purpose::WarmUp), rig.count(Purpose::Pilot)), (3, 0));
}

#[test]
fn a_guest_that_slows_the_baseline_by_being_up_is_found_before_the_first_round() {
    let mut rig = Rig::new(0.9);
    let ended = rig.measure(&mut WorkloadProgress::default(), precise());
    let VisitEnd::Disturbed { share } = ended else { panic!("{ended:?}") };
    assert!((share - 0.9).abs() < 0.01, "{share}");
    assert_eq!(rig.count(Purpose::Plain), 0);
    assert!(rig.machine.lock().unwrap().guest_runs);
}

#[test]
fn a_guest_whose_clock_runs_apart_ends_the_visit() {
    let mut rig = Rig::new(1.0);
    rig.machine.lock().unwrap().clock_speed = 6.9;
    let why = rig.try_measure(&mut WorkloadProgress::default(), precise()).unwrap_err().to_string();
    assert!(why.starts_with("the clock of vm0 ran ") && why.contains("while it boots"), "{why}");
    assert_eq!(rig.count(Purpose::Plain), 0, "found behind the baseline alone");
}

#[test]
fn a_clock_that_stands_still_between_slices_is_in_the_record_before_the_visit_fails() {
    let mut rig = Rig::new(1.0);
    let mut progress = WorkloadProgress::default();
    rig.measure(&mut progress, precise());
    rig.machine.lock().unwrap().stands_in = Some(4);
    rig.records.clear();
    let why = rig
        .try_measure(&mut progress, VisitLimit::AsBefore { rounds: 5, matched: 3 })
        .unwrap_err()
        .to_string();
    assert!(why.starts_with("the clock of vm0 ran "), "{why}");
    let clocks = rig.records.iter().filter_map(|record| match record {
        RunRecord::Clocks(clocks) => Some(clocks),
        _ => None,
    });
    let [found] = clocks.collect::<Vec<_>>()[..] else { panic!("{:?}", rig.records) };
    assert!(found.to.too_far_apart_since(&found.from).is_some(), "{found:?}");
}

#[test]
fn a_later_visit_keeps_design_and_rate() {
    let mut rig = Rig::new(1.0);
    let mut progress = WorkloadProgress::default();
    rig.measure(&mut progress, precise());
    let (pilots, rounds, design) =
        (rig.count(Purpose::Pilot), progress.rounds.len(), progress.design);
    let ended = rig.measure(&mut progress, VisitLimit::AsBefore { rounds: 5, matched: 3 });
    assert_eq!(
        (ended, rig.count(Purpose::Pilot), progress.design),
        (VisitEnd::Visit, pilots, design)
    );
    let plain =
        progress.rounds[rounds..].iter().filter(|round| round.kind == RoundKind::Plain).count();
    assert_eq!(plain, 5);
    assert_eq!(
        rig.records.iter().filter(|record| matches!(record, RunRecord::Matched(_))).count(),
        1
    );
}

#[test]
fn a_length_that_was_asked_for_needs_no_pilot_and_latencies_can_be_left_out() {
    let mut rig = Rig::new(1.0);
    rig.measure =
        MeasureSpec { slice_ns: Some(20_000_000), matched_rate: 0.0, ..MeasureSpec::default() };
    let mut progress = WorkloadProgress::default();
    rig.measure(&mut progress, VisitLimit::Time(2.0));
    assert_eq!((rig.count(Purpose::Pilot), rig.count(Purpose::Matched)), (0, 0));
    let plain = rig.slices.iter().filter(|slice| slice.purpose == Purpose::Plain);
    assert!(
        plain.clone().count() >= 64 && plain.clone().all(|slice| slice.window_ns == 20_000_000)
    );
}

#[test]
fn writes_end_on_equal_bytes_and_stop_before_too_many() {
    let mut rig = Rig::new(1.0);
    rig.workload.jobs[0].rw = Rw::RandWrite;
    rig.allowance = Some(400 << 20);
    let mut progress = WorkloadProgress::default();
    assert_eq!(rig.measure(&mut progress, precise()), VisitEnd::MaxWritten);
    let bytes = |slice: &Slice| {
        let written = slice.samples.iter().find(|sample| sample.metric == "write.bytes").unwrap();
        match written.value {
            iotax_model::record::SampleValue::Value(bytes) => bytes,
            ref other => panic!("{other:?}"),
        }
    };
    let plain: Vec<f64> =
        rig.slices.iter().filter(|slice| slice.purpose == Purpose::Plain).map(bytes).collect();
    assert!(plain.len() >= 4 && plain.iter().all(|one| *one == plain[0]), "{plain:?}");
    assert!(rig.slices.iter().map(bytes).sum::<f64>() <= f64::from(400 << 20));
    assert_eq!(rig.count(Purpose::Pilot), 0, "where bytes are scarce");
}

#[test]
fn ctrl_c_ends_every_phase() {
    let rig = &mut Rig::new(1.0);
    rig.stop.store(true, Ordering::Relaxed);
    assert_eq!(rig.measure(&mut WorkloadProgress::default(), precise()), VisitEnd::Interrupted);
    assert!(rig.slices.is_empty());
}

#[test]
fn slices_that_an_engine_makes_longer_are_not_called_as_asked_for() {
    let design = |engine: Option<Engine>, slice_ns: Option<u64>| {
        let mut rig = Rig::new(1.0);
        rig.ready[1].engine = engine;
        rig.measure = MeasureSpec { slice_ns, matched_rate: 0.0, ..MeasureSpec::default() };
        rig.measure(&mut WorkloadProgress::default(), VisitLimit::Time(5.0));
        let found = rig.records.into_iter().find_map(|record| match record {
            RunRecord::Design(design) => Some((design.slice_ns, design.why)),
            _ => None,
        });
        found.unwrap()
    };
    let (fio, least) = (Some(Engine::Fio), "the least that fio's clock and start-up allow");
    let asked = |ns: u64, why: &str| (ns, why.to_owned());
    assert_eq!(design(None, Some(300_000_000)), asked(300_000_000, "as asked for"));
    assert_eq!(
        design(fio, Some(300_000_000)),
        asked(1_000_000_000, &format!("{least}, where 300 ms were asked for"))
    );
    assert_eq!(design(fio, Some(2_000_000_000)), asked(2_000_000_000, "as asked for"));
    assert_eq!(design(fio, None), asked(1_000_000_000, least));
    assert_eq!(
        design(None, Some(200_000)),
        asked(1_000_000, "the least that the engines allow, where 200 us were asked for")
    );
}

#[test]
fn a_slice_that_a_stop_of_iotax_overlaps_is_named_left_out_and_run_again() {
    let rig = &mut Rig::new(1.0);
    rig.measure =
        MeasureSpec { slice_ns: Some(50_000_000), matched_rate: 0.0, ..MeasureSpec::default() };
    rig.stopped_in = 40..43;
    let mut progress = WorkloadProgress::default();
    assert_eq!(rig.measure(&mut progress, VisitLimit::Time(5.0)), VisitEnd::Visit);
    assert!((5.0..10.0).contains(&progress.elapsed_s), "{}: no stop counts", progress.elapsed_s);
    let warnings = rig.records.iter().filter_map(|record| match record {
        RunRecord::Warning(warning) if warning.kind == STOPPED => Some(warning),
        _ => None,
    });
    let warnings: Vec<_> = warnings.collect();
    // It is the same slice three times: the next two tries of it were stopped as well.
    let again = &rig.slices[40];
    let named =
        format!("slice {} of round {} of visit 0 under w is left out", again.slice, again.round);
    assert_eq!(warnings.len(), 3);
    for warning in warnings {
        assert_eq!(warning.subject, again.stack);
        assert!(warning.text.contains(&named), "{}", warning.text);
        assert!(warning.text.contains("stopped for 1000"), "{}", warning.text);
    }
    let plain = rig.slices.iter().filter(|slice| slice.purpose == Purpose::Plain);
    let spots: Vec<_> = plain.map(|slice| (slice.round, slice.slice)).collect();
    assert_eq!(spots.len(), spots.iter().collect::<BTreeSet<_>>().len(), "each is there once");
}

#[test]
fn an_iotax_that_is_stopped_in_every_try_gives_up() {
    let mut rig = Rig::new(1.0);
    rig.stopped_in = 3..1000;
    let error = rig
        .try_measure(&mut WorkloadProgress::default(), VisitLimit::Time(5.0))
        .unwrap_err()
        .to_string();
    assert!(error.contains("stopped during each of 20 tries of one slice"), "{error}");
    assert_eq!(rig.slices.len(), 3);
}

/// Returns two stacks on the host, which take turns.
fn in_turn() -> Rig {
    let mut rig = Rig::new(1.0);
    rig.ready = vec![ready(0, "host", "/80000"), ready(1, "host", "/76000")];
    rig.measure.matched_rate = 0.0;
    rig
}

#[test]
fn stacks_in_one_place_take_turns_in_series_of_short_slices() {
    let mut rig = in_turn();
    let mut progress = WorkloadProgress::default();
    let spec = StopSpec { precision: 0.01, min_time_s: 10.0, budget_s: 225.0 };
    assert_eq!(rig.measure(&mut progress, VisitLimit::Precise(spec)), VisitEnd::Precision);
    assert!((6.0..10.0).contains(&progress.elapsed_s), "{}", progress.elapsed_s);
    let design = progress.series.unwrap();
    // One I/O in flight at 76,000 a second is a turn of 13 us.
    assert_eq!((design.discard_ns, progress.design.unwrap().slice_s), (100_000, 0.001));
    let plain: Vec<&Slice> =
        rig.slices.iter().filter(|slice| slice.purpose == Purpose::Plain).collect();
    assert!(plain.iter().all(|slice| slice.short_slices == 2 * design.rounds), "{design:?}");
    assert!(
        plain.iter().all(|slice| slice.discarded_ns == u64::from(slice.short_slices) * 100_000)
    );
    let series = rig.records.iter().filter_map(|record| match record {
        RunRecord::Series(series) => Some(series),
        _ => None,
    });
    let series: Vec<_> = series.collect();
    assert_eq!(2 * series.len(), rig.slices.iter().filter(|slice| slice.short_slices > 0).count());
    assert!(series.iter().all(|one| one.stacks == ["stack0", "stack1"]));
    let long: Vec<&Slice> =
        rig.slices.iter().filter(|slice| slice.purpose == Purpose::Long).collect();
    assert!(!long.is_empty() && long.len() < plain.len() / 3, "{} {}", long.len(), plain.len());
    assert!(long.iter().all(|slice| slice.window_ns == u64::from(slice.short_slices) * 8_000_000));
    // Amounts are those of all slices, in their order.
    let round = progress.rounds.iter().find(|round| round.kind == RoundKind::Plain).unwrap();
    assert!(round.in_series && round.parts.len() == 4 * design.rounds as usize);
    let ratio = round.stack_value(1, SliceValue::Rate).unwrap()
        / round.stack_value(0, SliceValue::Rate).unwrap();
    assert!((ratio - 0.95).abs() < 0.02, "{ratio}");
    let transients =
        rig.records.iter().filter(|record| matches!(record, RunRecord::Transient(_))).count();
    assert_eq!(transients, 2);
}

#[test]
fn workers_are_placed_anew_and_no_two_draw_the_same_blocks() {
    let seeds = |random_map: bool| {
        let mut rig = in_turn();
        rig.workload.jobs[0].random_map = random_map;
        rig.measure(&mut WorkloadProgress::default(), VisitLimit::Time(2.0));
        let workers =
            rig.records.iter().filter(|record| matches!(record, RunRecord::Worker(_))).count();
        assert_eq!(workers, 2, "one record of each");
        let seeds = rig.machine.lock().unwrap().seeds.clone();
        assert_eq!(seeds.iter().collect::<BTreeSet<_>>().len(), seeds.len(), "{seeds:?}");
        seeds.len()
    };
    assert!(seeds(false) > 6);
    assert_eq!(seeds(true), 2, "a map of what was read is not begun anew");
}

#[test]
fn a_series_that_a_stop_overlaps_is_measured_again() {
    let mut rig = in_turn();
    // The stops come after two slices of warm-up.
    rig.stopped_in = 4..6;
    assert_eq!(
        rig.measure(&mut WorkloadProgress::default(), VisitLimit::Time(2.0)),
        VisitEnd::Visit
    );
    let left_out = rig
        .records
        .iter()
        .filter(|record| matches!(record, RunRecord::Warning(warning) if warning.kind == STOPPED));
    assert_eq!(left_out.count(), 2);
    let rounds: Vec<u32> = rig.slices.iter().map(|slice| slice.round).collect();
    assert!(
        rounds.is_sorted() && rounds.windows(2).all(|pair| pair[1] - pair[0] <= 1),
        "{rounds:?}"
    );
}

#[test]
fn what_cannot_be_measured_in_turn_is_not() {
    let is_in_turn = |change: &dyn Fn(&mut Rig)| {
        let mut rig = in_turn();
        change(&mut rig);
        let mut progress = WorkloadProgress::default();
        rig.measure(&mut progress, VisitLimit::Time(1.0));
        progress.series.is_some()
    };
    assert!(is_in_turn(&|_| ()));
    assert!(is_in_turn(&|rig| rig.measure.slice_ns = Some(2_000_000)));
    assert!(
        !is_in_turn(&|rig| rig.measure.slice_ns = Some(50_000_000)),
        "long slices are asked for"
    );
    assert!(
        is_in_turn(&|rig| rig.ready[1] = ready(1, "vm0", "/guest/40000")),
        "two places, by the clock"
    );
    assert!(
        !is_in_turn(&|rig| rig.ready[1] = served("/guest/40000")),
        "another place works for it"
    );
    let writes = |rig: &mut Rig| rig.workload.jobs[0].rw = Rw::RandWrite;
    assert!(is_in_turn(&writes), "no cache is known");
    let steady = |rig: &mut Rig| {
        (rig.workload.jobs[0].rw, rig.measure.regime) = (Rw::RandWrite, Regime::Steady)
    };
    assert!(!is_in_turn(&steady), "equal bytes for all");
    assert!(
        !is_in_turn(&|rig| rig.allowance = Some(1 << 40)),
        "what a series writes is known behind it"
    );
    assert!(!is_in_turn(&|rig| rig.workload.jobs[0].rate_iops = Some(1000)), "a rate");
    assert!(
        !is_in_turn(&|rig| rig.workload.engine = Some(Engine::Fio)),
        "fio's start takes longer"
    );
    assert!(!is_in_turn(&|rig| rig.ready[1] = ready(1, "host", "/100")), "a disk that seeks");
}
