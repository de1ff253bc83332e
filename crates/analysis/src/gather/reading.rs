//! One workload of a run: the sides of its stacks, and answers that several findings need.

use crate::findings::MeasuredFigure;
use crate::gather::pairing;
use crate::gather::pairing::{PairedUnits, RoundBasis};
use crate::gather::rounds;
use crate::gather::rounds::{IoDirection, StackSide};
use crate::gather::steady::WriteCourse;
use crate::gather::subject::Quantity;
use crate::gather::timeline::Timeline;
use crate::validity::conservation;
use iotax_load::{EngineName, Rw};
use iotax_model::record::{
    Generator, IO_ERRORS, Place, PlaceFacts, Purpose, Slice, Warning, WorkerUp, ended_as_asked,
};
use iotax_model::scenario::Workload;
use iotax_model::stack::Stack;
use iotax_stats::Refusal;
use iotax_store::RunData;
use iotax_units::grouped;
use std::collections::{BTreeMap, BTreeSet, HashMap};

pub struct WorkloadView<'a> {
    pub run: &'a RunData,
    pub workload: &'a Workload,
    pub sides: Vec<StackSide>,
    /// Number of slices of stacks that the scenario does not name.
    pub unknown: u64,
    /// Regime of the writes; `sides` have only the rounds that it allows.
    pub writes: WriteCourse,
    pub timeline: Timeline,
    /// Sides of the slices under the matched load.
    matched: Vec<StackSide>,
    emulated: Vec<Option<String>>,
}

/// Load that is the same on all stacks.
pub struct CommonLoad<'a> {
    own: bool,
    /// Offered I/Os per second; `None` for a closed loop of one I/O at a time.
    rate: Option<f64>,
    origin: String,
    sides: &'a [StackSide],
}

impl CommonLoad<'_> {
    pub fn offered_rate(&self) -> Option<f64> {
        self.rate
    }

    /// Returns true if this load is the workload itself.
    pub fn is_own(&self) -> bool {
        self.own
    }

    pub fn origin(&self) -> &str {
        &self.origin
    }

    pub fn sides(&self) -> &[StackSide] {
        self.sides
    }
}

fn lacking(reason: impl Into<String>) -> Refusal {
    Refusal::NotMeasured { reason: reason.into() }
}

impl<'a> WorkloadView<'a> {
    pub fn all_of_run(run: &'a RunData) -> Vec<WorkloadView<'a>> {
        let scenario = &run.start.scenario;
        // A search for limits has a load for its target alone; its results are courses.
        let is_comparison = scenario.limits.is_none();
        let workloads = scenario.workloads.iter().filter(|_| is_comparison);
        workloads.map(|workload| WorkloadView::from_run(run, workload)).collect()
    }

    pub fn from_run(run: &'a RunData, workload: &'a Workload) -> WorkloadView<'a> {
        let (mut sides, unknown) = rounds::sides(run, workload, Purpose::Plain);
        let writes = WriteCourse::settle_regime(run, workload, &mut sides);
        let (matched, _) = rounds::sides(run, workload, Purpose::Matched);
        let timeline = Timeline::from_run(run, workload);
        WorkloadView {
            run,
            workload,
            sides,
            unknown,
            writes,
            timeline,
            matched,
            emulated: emulated_reason(run),
        }
    }

    /// Returns the load under which latencies are compared: slices at a matched rate or with one
    /// I/O at a time, or the workload itself if it is such a load.
    ///
    /// # Errors
    /// [`Refusal`], if no such load was measured or the stacks were not offered the same rate.
    pub fn matched_load(&self) -> Result<CommonLoad<'_>, Refusal> {
        let record =
            self.run.matched.iter().rfind(|matched| matched.workload == self.workload.name);
        let reached = self.matched.iter().any(|side| !side.rounds.is_empty());
        match (record, self.offered_to_all()) {
            (Some(record), _) if reached && record.rate_iops.is_none_or(|rate| rate > 0.0) => {
                Ok(CommonLoad {
                    own: false,
                    rate: record.rate_iops,
                    origin: match (record.rate_iops, record.slowest.as_str()) {
                        (None, _) => "a closed loop of one I/O at a time".to_owned(),
                        // Records from before 2026-11-24 name no stack if it was not up when the
                        // rate was fixed.
                        (_, "") => "taken from the slowest stack".to_owned(),
                        (_, name) => format!("taken from {name}, the slowest"),
                    },
                    sides: &self.matched,
                })
            }
            (_, Some(rate)) if rate > 0.0 => {
                let origin = "the workload's own rate".into();
                Ok(CommonLoad { own: true, rate: Some(rate), origin, sides: &self.sides })
            }
            (None, _) if self.is_one_at_a_time() => {
                let origin = "the workload itself: one I/O at a time".into();
                Ok(CommonLoad { own: true, rate: None, origin, sides: &self.sides })
            }
            _ if self.offered(0).is_some() => Err(lacking(
                "each member of a stack is offered the workload's rate, and the stacks do not have as many",
            )),
            (Some(_), _) => Err(lacking("no whole round at the matched rate was recorded")),
            (None, _) => Err(lacking("the run has no slices at a matched rate")),
        }
    }

    /// Returns true if the workload itself is a closed loop of one I/O at a time on every stack,
    /// measured in series.
    fn is_one_at_a_time(&self) -> bool {
        let one =
            |job: &iotax_load::Job| job.iodepth == 1 && job.numjobs == 1 && job.rate_iops.is_none();
        let in_series = self.run.designs.iter().rfind(|one| one.workload == self.workload.name);
        in_series.is_some_and(|design| design.series.is_some())
            && matches!(self.workload.jobs.as_slice(), [job] if one(job))
            && (0..self.sides.len()).all(|at| self.members(at) == 1)
    }

    /// Returns the I/Os per second that the workload itself offers a stack, by all threads on all
    /// of its members together; `None` if a job has no rate.
    pub fn offered(&self, at: usize) -> Option<f64> {
        let rate = |job: &iotax_load::Job| Some(job.rate_iops? as f64 * f64::from(job.numjobs));
        let jobs = Some(&self.workload.jobs).filter(|jobs| !jobs.is_empty())?;
        let each: Option<f64> = jobs.iter().map(rate).sum();
        each.map(|each| each * self.members(at) as f64)
    }

    /// Returns the rate that the workload offers every stack. `None` if it offers none, or if some
    /// stacks have more members, each of which is offered the rate.
    fn offered_to_all(&self) -> Option<f64> {
        let first = self.offered(0)?;
        (1..self.sides.len()).all(|at| self.offered(at) == Some(first)).then_some(first)
    }

    /// Returns the reason why the rates of two stacks cannot be compared: one has no whole round,
    /// they were offered different rates, or reads of one did not reach the devices.
    pub fn incomparable(&self, pair: [usize; 2]) -> Option<Refusal> {
        let absent = pair.into_iter().find(|at| self.sides[*at].rounds.is_empty());
        let absent = absent.map(|at| self.not_measured(at)).or_else(|| self.offered_apart(pair));
        absent.or_else(|| conservation::refusal(self, pair))
    }

    /// Returns the reason not to compare two stacks that an open loop offers different rates. Each
    /// member of a stack is offered the workload's rate, so stacks with different numbers of
    /// members differ.
    pub fn offered_apart(&self, [a, b]: [usize; 2]) -> Option<Refusal> {
        let [of_a, of_b] = [self.offered(a)?, self.offered(b)?];
        (of_a != of_b).then(|| {
            lacking(format!(
                "{} is offered {} I/Os a second and {} {}, as each of its members gets the workload's rate: the ratio is of what was offered",
                self.name(b),
                grouped(of_b),
                self.name(a),
                grouped(of_a)
            ))
        })
    }

    /// Returns the number of targets of a stack that are loaded at the same time, in all places
    /// together.
    pub fn members(&self, at: usize) -> usize {
        let clients = self.run.start.scenario.stacks[at].clients() as usize;
        clients * self.worker(at).map_or(1, |worker| worker.others.len() + 1)
    }

    /// Returns the number of schedules of an open loop on a stack: each job keeps one on each
    /// member.
    pub fn schedules(&self, at: usize) -> f64 {
        let jobs = self.workload.jobs.iter().map(|job| f64::from(job.numjobs)).sum::<f64>();
        jobs * self.members(at) as f64
    }

    /// Returns true if each job of the workload issues I/Os on a schedule of its own.
    pub fn is_scheduled(&self) -> bool {
        self.workload.jobs.iter().all(|job| job.rate_iops.is_some())
    }

    /// Returns true if any job of the workload issues I/Os on a schedule.
    pub fn has_schedule(&self) -> bool {
        self.workload.jobs.iter().any(|job| job.rate_iops.is_some())
    }

    /// Returns true if fio loads the stack; `None` if nothing does.
    pub fn by_fio(&self, at: usize) -> Option<bool> {
        self.worker(at).map(|worker| matches!(worker.engine, Generator::Fio(_)))
    }

    /// Returns the reason not to compare latencies of these two stacks under a schedule: ours are
    /// counted from when an I/O was due, those of fio from when it issues it.
    pub fn unlike_clocks(&self, [a, b]: [usize; 2]) -> Option<Refusal> {
        let (fio, ours) = match (self.by_fio(a)?, self.by_fio(b)?) {
            (true, false) => (a, b),
            (false, true) => (b, a),
            _ => return None,
        };
        let [fio, ours] = [fio, ours].map(|at| self.name(at));
        Some(lacking(format!(
            "latencies of {fio} begin when fio issues an I/O, those of {ours} when it was due"
        )))
    }

    /// Returns the refusal of [`WorkloadView::unlike_clocks`] for the workload's own load (not the
    /// matched one): only if one of its jobs has a schedule.
    pub fn own_clocks_unlike(&self, pair: [usize; 2]) -> Option<Refusal> {
        self.unlike_clocks(pair).filter(|_| self.has_schedule())
    }

    /// Returns true if more than one I/O is to be in flight on a target.
    pub fn is_deep(&self) -> bool {
        self.workload.jobs.iter().map(|job| job.iodepth.saturating_mul(job.numjobs)).sum::<u32>()
            > 1
    }

    /// Returns the I/Os that are to be in flight on a stack; `None` where a schedule says when each
    /// begins.
    pub fn depth(&self, at: usize) -> Option<f64> {
        let jobs = &self.workload.jobs;
        let of = |job: &iotax_load::Job| f64::from(job.numjobs) * f64::from(job.iodepth);
        let closed = !jobs.is_empty() && jobs.iter().all(|job| job.rate_iops.is_none());
        closed.then(|| jobs.iter().map(of).sum::<f64>() * self.members(at) as f64)
    }

    /// Returns the number of threads of the generator on a stack. Threads of the engine sync have
    /// one I/O in flight each. Those of posixaio have a helper each, whose CPU time is counted with
    /// theirs.
    pub fn threads(&self, at: usize) -> f64 {
        let engine = self.worker(at).map(|worker| &worker.engine);
        let of = |job: &iotax_load::Job| {
            let each = match engine {
                Some(Generator::Native(EngineName::Sync)) => f64::from(job.iodepth),
                Some(Generator::Native(EngineName::PosixAio)) => 2.0,
                _ => 1.0,
            };
            f64::from(job.numjobs) * each
        };
        // The sum of an empty iterator is -0.
        self.workload.jobs.iter().map(of).fold(0.0, |sum, threads| sum + threads)
            * self.members(at) as f64
    }

    /// Returns the number of threads of a probe of processors, memory or the kernel; `None` for
    /// other workloads.
    pub fn threads_of_probe(&self) -> Option<u32> {
        self.workload
            .probe
            .as_ref()
            .filter(|_| !self.workload.needs_peer())
            .map(|probe| probe.numjobs)
    }

    /// Returns the reason why CPU times of these two stacks are incomplete: a guest's own time
    /// leaves out what its host does for it.
    pub fn cpu_lacking(&self, pair: [usize; 2]) -> Option<Refusal> {
        let in_guest = |at: &usize| self.worker(*at).is_some_and(|worker| worker.place.is_guest());
        let alone = |at: &usize| in_guest(at) && self.sides[*at].usage.host.is_none();
        let at = pair.into_iter().find(alone)?;
        Some(lacking(format!(
            "what this host computed for the guest of {} was not recorded",
            self.name(at)
        )))
    }

    /// Returns the places that have no part in the figures of these stacks, in words: ` without
    /// ssh:b, which was lost`; empty if there are none.
    pub fn without_lost_places(sides: &[StackSide], pair: [usize; 2]) -> String {
        let places: BTreeSet<&Place> = pair.iter().flat_map(|at| &sides[*at].left_out).collect();
        let names: Vec<String> = places.iter().map(ToString::to_string).collect();
        match names.len() {
            0 => String::new(),
            1 => format!(" without {}, which was lost", names[0]),
            _ => format!(" without {}, which were lost", names.join(", ")),
        }
    }

    /// Returns the refusal for a stack without a whole round.
    pub fn not_measured(&self, at: usize) -> Refusal {
        let name = self.name(at);
        lacking(match self.absence(at) {
            MeasuredFigure::Failed { reason } => format!("{name} failed: {reason}"),
            MeasuredFigure::Missing { reason } => format!("{name}: {reason}"),
            MeasuredFigure::Known { .. } => format!("{name} was not measured"),
        })
    }

    pub fn pair(&self, a: &StackSide, b: &StackSide) -> PairedUnits {
        pairing::pair_over(a, b, self.run.start.scenario.measure.attaches)
    }

    /// Returns the largest negligible difference, as a fraction.
    pub fn zone(&self) -> f64 {
        self.run.start.scenario.measure.equivalence
    }

    pub fn name(&self, at: usize) -> &'a str {
        &self.run.start.scenario.stacks[at].name
    }

    pub fn slices(&self, at: usize) -> impl Iterator<Item = &'a Slice> + use<'a> {
        let (stack, workload) = (self.name(at), &self.workload.name);
        self.run
            .slices
            .iter()
            .filter(move |slice| slice.stack == stack && slice.workload == *workload)
    }

    /// Returns the worker that loaded a stack, the first of several.
    pub fn worker(&self, at: usize) -> Option<&'a WorkerUp> {
        let ours = |worker: &&WorkerUp| {
            worker.stack == self.name(at) && worker.workload == self.workload.name
        };
        self.run.workers.iter().find(ours)
    }

    /// Returns the facts of the place where a stack's load ran, as last recorded. Guests of
    /// different sets share a name; this picks the one with a disk of the stack.
    pub fn place_of(&self, at: usize) -> Option<&'a PlaceFacts> {
        let (place, stack) = (&self.worker(at)?.place, self.name(at));
        let named = || self.run.places.iter().filter(|known| known.place == *place);
        let has_it = |known: &&PlaceFacts| known.disks.iter().any(|disk| disk.stack == stack);
        named().rfind(has_it).or_else(|| named().next_back())
    }

    /// Returns the bytes that the load reached on the stack with the least and on that with the
    /// most, all members and guests of a stack together. `None` if nothing was loaded.
    pub fn reached(&self) -> Option<(u64, u64)> {
        let of_each = || (0..self.sides.len()).filter_map(|at| self.reached_of(at));
        Some((of_each().min()?, of_each().max()?))
    }

    /// Returns the bytes reached on one stack, in the first visit that loaded it.
    fn reached_of(&self, at: usize) -> Option<u64> {
        let first = self.worker(at)?;
        let beside = |worker: &&WorkerUp| {
            (&worker.stack, &worker.workload, worker.visit)
                == (&first.stack, &first.workload, first.visit)
        };
        // A target is prepared again for rounds with another rate.
        let all = self.run.workers.iter().filter(beside);
        let places: BTreeMap<_, _> =
            all.map(|worker| ((&worker.place, &worker.target), worker)).collect();
        let bytes =
            |worker: &&WorkerUp| self.job_bytes(worker.bytes) * (1 + worker.others.len() as u64);
        Some(places.values().map(bytes).sum())
    }

    /// Returns the bytes that the largest job uses of a target with `target` bytes.
    pub fn job_bytes(&self, target: u64) -> u64 {
        let jobs = self.workload.jobs.iter();
        jobs.map(|job| job.size.map_or(target, |size| size.min(target))).max().unwrap_or(target)
    }

    /// Returns the directions of a load that both reads and writes; empty for any other load.
    pub fn mix_directions(&self) -> &'static [IoDirection] {
        let has = |of: fn(Rw) -> bool| self.workload.jobs.iter().any(|job| of(job.rw));
        if has(Rw::reads) && has(Rw::writes_data) {
            &[IoDirection::Read, IoDirection::Write]
        } else {
            &[]
        }
    }

    /// Returns the basis of acknowledged rates: bytes for loads that write, else I/Os.
    pub fn basis(&self) -> RoundBasis {
        RoundBasis { quantity: Quantity::Acknowledged, by_bytes: self.workload.writes() }
    }

    pub fn absence(&self, at: usize) -> MeasuredFigure {
        let side = &self.sides[at];
        let stack = &self.run.start.scenario.stacks[at];
        if !self.workload.is_for(stack, &self.run.start.scenario.stacks) {
            let lacking = if self.workload.needs_peer() { "other end" } else { "device" };
            return MeasuredFigure::missing(format!(
                "it has no {lacking}, and is not measured under this"
            ));
        }
        let name = &stack.name;
        let failure = side.failed.clone().or_else(|| self.failure_of(name));
        match failure {
            Some(reason) => MeasuredFigure::Failed { reason },
            None if !side.rounds.is_empty() => {
                MeasuredFigure::missing("too few rounds beside the others")
            }
            None if side.dropped > 0 => MeasuredFigure::missing("no whole round was measured"),
            None if self.run.outcome.is_none() => MeasuredFigure::missing("not measured yet"),
            None => MeasuredFigure::missing("no slice was recorded"),
        }
    }

    /// Returns what was recorded about a stack that failed: its I/O errors, or the reason for which
    /// the workload ended. `None` if there is neither.
    fn failure_of(&self, stack: &str) -> Option<String> {
        let failed = |warning: &&Warning| warning.subject == stack && warning.kind == IO_ERRORS;
        let warning = self.run.warnings.iter().find(failed);
        warning.map(|warning| warning.text.clone()).or_else(|| {
            let mut ends =
                self.run.ends.iter().filter(|(workload, _)| *workload == self.workload.name);
            ends.find(|(_, reason)| !is_ordinary(reason)).map(|(_, reason)| reason.clone())
        })
    }

    /// Returns the reason why the figures of a stack are not representative; `None` if it is not
    /// emulated.
    pub fn emulated(&self, at: usize) -> Option<String> {
        self.emulated[at].clone()
    }

    /// Returns the reason why a comparison is not representative; one emulated side is enough.
    pub fn emulated_pair(&self, a: usize, b: usize) -> Option<String> {
        self.emulated(b).or_else(|| self.emulated(a))
    }
}

/// Returns true if a workload that ended for this reason did not fail.
pub fn is_ordinary(reason: &str) -> bool {
    ended_as_asked(reason) || ["interrupted", "complete"].contains(&reason)
}

/// Returns by stack the reason why it is emulated. A stack is emulated if any of its workers runs
/// in an emulated place, or if the other end of its network is one.
fn emulated_reason(run: &RunData) -> Vec<Option<String>> {
    let places: HashMap<&Place, &String> = run
        .places
        .iter()
        .filter_map(|place| Some((&place.place, place.emulated.as_ref()?)))
        .collect();
    let of = |stack: &Stack| {
        let workers = run.workers.iter().filter(|worker| worker.stack == stack.name);
        let mut ends = workers.map(|worker| &worker.place).chain(stack.medium.far_end());
        ends.find_map(|place| places.get(place)).map(|reason| (*reason).clone())
    };
    run.start.scenario.stacks.iter().map(of).collect()
}
