//! The workers of a visit: prepared in their places for the stacks of a set under one workload.
//! `slice_runs` runs their slices, `slice_outcome` records them, and `rounds` decides the order.

use super::clusters::WatchedCluster;
use super::places::{Places, runs_apart};
use super::slice_runs::CommonStart;
use super::states::StateKeeper;
use super::traffic::Traffic;
use super::turns::ClockTurns;
use super::under_load::{FarEnd, LoadedMember, PREPARE_LIMIT, StackUnderLoad};
use super::{matched_rate, network_peer, together};
use anyhow::Result;
use iotax_engines::kinds as engine;
use iotax_facts::place::Place;
use iotax_load::{Job, SliceBound, Transient};
use iotax_model::record::{ClockReading, Clocks, RunRecord, WorkerUp};
use iotax_model::scenario::{Engine, Workload};
use iotax_probe::ProbeSpec;
use iotax_probe::tool::with_named_folder;
use iotax_store::Writer;
use iotax_units::exit::Failed;
use iotax_wire::stops::ProcessStop;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

pub struct Bench<'a> {
    pub visit: u32,
    pub set: u32,
    /// The stacks that are up; the number of a worker is the index of its stack here.
    pub ready: &'a [StackUnderLoad],
    pub workload: &'a Workload,
    /// Bytes that all stacks together may still write (`max_written`). `None`: no limit.
    pub allowance: &'a mut Option<u64>,
    pub places: &'a mut Places,
    pub store: &'a mut Writer,
    /// Seconds of all slices so far, including the discarded start, the drain and the wait before
    /// each.
    pub spent_s: f64,
    pub starts: BTreeMap<usize, CommonStart>,
    pub clocks: BTreeMap<Place, ClockReading>,
    pub prepared: BTreeSet<usize>,
    pub offered: OfferedLoad,
    pub keeper: Option<StateKeeper<'a>>,
    pub clusters: Vec<WatchedCluster>,
    /// Workers whose I/Os have failed in this visit and have been reported: the run goes on with
    /// them.
    pub failing: BTreeSet<usize>,
    /// I/O counted by the devices below the load, next to the I/O that the load issued.
    pub traffic: Traffic,
    /// Course of each worker's rate at the beginning of short slices.
    pub transients: BTreeMap<usize, Transient>,
    pub turns: ClockTurns,
    /// Number of times that all workers were replaced, which draws the placement of threads and
    /// memory again.
    pub placed: u64,
    /// Workers that were recorded since the present load was offered.
    pub recorded: Vec<WorkerUp>,
    /// Returns the time that iotax itself was stopped since an instant.
    pub stops: &'a dyn Fn(Instant) -> Option<ProcessStop>,
    /// True if slices follow each other without a wait for earlier writes and without a flush.
    pub is_uninterrupted: bool,
}

#[derive(Clone, Debug)]
pub enum OfferedLoad {
    Jobs(Vec<Job>),
    /// The workload's jobs at this number of I/Os per second, all members together.
    Rate(f64),
    OneAtATime,
}

impl Bench<'_> {
    /// Makes a worker for every stack and records it.
    ///
    /// # Errors
    /// When one cannot be made, a peer is lost, or a clock ran too far apart since the last
    /// comparison.
    pub fn prepare(&mut self, offered: OfferedLoad) -> Result<()> {
        self.offered = offered;
        self.recorded.clear();
        self.despite_losses(|bench| {
            bench.compare_clocks()?;
            (0..bench.ready.len()).try_for_each(|worker| bench.prepare_worker(worker))
        })
    }

    /// Returns the jobs as one of `members` equal targets of a stack gets them. A rate is divided
    /// among the targets.
    pub(super) fn jobs(&self, members: usize) -> Vec<Job> {
        match &self.offered {
            OfferedLoad::Jobs(jobs) => jobs.clone(),
            OfferedLoad::Rate(rate) => {
                matched_rate::jobs(self.workload, rate / members.max(1) as f64)
            }
            OfferedLoad::OneAtATime => {
                let one = |job: &Job| Job { iodepth: 1, numjobs: 1, ..job.clone() };
                self.workload.jobs.iter().map(one).collect()
            }
        }
    }

    /// Gives the jobs random seeds of their own. A worker that came after another to the same
    /// blocks would find them in the caches below.
    fn own_jobs(&self, worker: usize, jobs: Vec<Job>) -> Vec<Job> {
        let number = (u64::from(self.visit) << 40) + ((worker as u64) << 32) + self.placed;
        let own = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        jobs.into_iter()
            .map(|job| Job { randseed: job.randseed.wrapping_add(own), ..job })
            .collect()
    }

    /// Prepares a worker, unless it is prepared already.
    pub(super) fn prepare_worker(&mut self, worker: usize) -> Result<()> {
        if self.prepared.contains(&worker) {
            return Ok(());
        }
        let ready = &self.ready[worker];
        let (number, engine) = (worker as u32, self.engine_of(ready));
        let probes = self.probes(worker)?;
        let members: Vec<LoadedMember> = self.members(worker).cloned().collect();
        let all: Vec<&Place> = members.iter().map(|member| &member.place).collect();
        let jobs = |member: &LoadedMember| {
            self.own_jobs(worker, self.jobs(member.targets.len() * all.len()))
        };
        let share = members.iter().map(jobs);
        let share: Vec<Vec<Job>> = share.collect();
        // Places are asked in parallel: opening files and allocating takes time.
        let prepared: Vec<_> = std::thread::scope(|scope| {
            let reached = self.places.get_several(&all)?.into_iter().zip(&members).zip(share);
            let asked: Vec<_> = reached
                .map(|((place, member), jobs)| {
                    let probes = &probes;
                    scope.spawn(move || match probes.as_slice() {
                        [] => place.peer.prepare(
                            number,
                            &member.targets,
                            &jobs,
                            engine,
                            PREPARE_LIMIT,
                        ),
                        [others @ .., last] => {
                            network_peer::prepare_first_probe(&mut place.peer, number, others, last)
                        }
                    })
                })
                .collect();
            anyhow::Ok(asked.into_iter().map(together::join_thread).collect())
        })?;
        let prepared = prepared.into_iter().collect::<Result<Vec<_>, _>>().map_err(Failed::from)?;
        for (member, prepared) in members.iter().zip(prepared) {
            let targets = &member.targets;
            let up = WorkerUp {
                visit: self.visit,
                stack: ready.stack.clone(),
                workload: self.workload.name.clone(),
                place: member.place.clone(),
                target: match self.workload.needs_peer() {
                    true => FarEnd::of_ready(ready).place.to_string(),
                    false => member.path(0),
                },
                others: (1..targets.len()).map(|at| member.path(at)).collect(),
                bytes: targets.first().and_then(|target| target.bytes).unwrap_or(0),
                engine: prepared.engine.into(),
                why: prepared.why,
                command: prepared.command,
            };
            // A worker that is placed again is like the one before.
            if !self.recorded.contains(&up) {
                self.store.append(&RunRecord::Worker(up.clone()))?;
                self.recorded.push(up);
            }
        }
        self.prepared.insert(worker);
        Ok(())
    }

    /// Returns the probe of a worker, once for each address at which the other end may be reached.
    /// The result is empty if the worker is a load.
    fn probes(&mut self, worker: usize) -> Result<Vec<ProbeSpec>> {
        let Some(probe) = &self.workload.probe else { return Ok(Vec::new()) };
        match self.workload.needs_peer() {
            true => network_peer::listen_at_far_end(
                self.places,
                &self.ready[worker],
                worker as u32,
                probe,
            ),
            false => Ok(vec![with_named_folder(probe)]),
        }
    }

    /// Iterates over the places of a worker with their targets, without places that are lost.
    pub(super) fn members(&self, worker: usize) -> impl Iterator<Item = &LoadedMember> {
        self.ready[worker].members.iter().filter(|member| !self.places.is_lost(&member.place))
    }

    /// Records clocks, traffic and transients, then ends all workers.
    ///
    /// # Errors
    /// When a peer is lost, or a clock ran too far apart meanwhile.
    pub fn end(&mut self) -> Result<()> {
        let mut wrong = None;
        self.despite_losses(|bench| bench.record_clocks(&mut wrong))?;
        // All clocks are recorded first: the record then shows that the visit's slices do not
        // count.
        if let Some(failed) = wrong {
            return Err(failed.into());
        }
        self.record_traffic()?;
        self.record_transients()?;
        self.despite_losses(Bench::end_workers)
    }

    /// Returns true if new workers can go on where others ended, because they draw each block
    /// independently from the whole region.
    fn can_place_anew(&self) -> bool {
        let by_itself =
            |job: &Job| job.rw.random() && !job.random_map && job.random_distribution.is_random();
        self.workload.jobs.iter().all(by_itself)
    }

    /// Ends the workers, if new ones can go on where they ended, so that the placement of threads
    /// and memory is drawn again for the next slices.
    ///
    /// # Errors
    /// When a peer is lost.
    pub(super) fn place_anew(&mut self) -> Result<()> {
        if self.can_place_anew() {
            self.placed += 1;
            self.despite_losses(Bench::end_workers)?;
        }
        Ok(())
    }

    fn end_workers(&mut self) -> Result<()> {
        while let Some(worker) = self.prepared.first().copied() {
            let places: Vec<Place> =
                self.members(worker).map(|member| member.place.clone()).collect();
            for place in places {
                self.places.get(&place)?.peer.end_worker(worker as u32).map_err(Failed::from)?;
            }
            if self.workload.needs_peer() {
                let end = FarEnd::of_ready(&self.ready[worker]).place;
                self.places.get(&end)?.peer.unlisten(worker as u32).map_err(Failed::from)?;
            }
            self.prepared.remove(&worker);
        }
        Ok(())
    }

    /// Compares the clocks of all loaded places with this host's. Clocks drift; two comparisons
    /// with no stop of a guest in between show how fast.
    ///
    /// # Errors
    /// When a peer is lost, or a clock has drifted too far.
    pub fn compare_clocks(&mut self) -> Result<()> {
        for place in self.loaded() {
            let reading = self.places.get(&place)?.compare_clock(&place)?;
            self.clocks.insert(place, reading);
        }
        Ok(())
    }

    /// Compares the clocks again, and records both readings. `wrong` is set if a clock has drifted
    /// too far.
    fn record_clocks(&mut self, wrong: &mut Option<Failed>) -> Result<()> {
        let (visit, set) = (self.visit, self.set);
        while let Some((place, from)) = self.clocks.pop_first() {
            if self.places.is_lost(&place) {
                continue;
            }
            let (to, apart) = self.places.get(&place)?.read_clock()?;
            *wrong = wrong.take().or(apart.map(|apart| runs_apart(&place, apart)));
            if !place.is_host() {
                let workload = Some(self.workload.name.clone());
                self.store.append(&RunRecord::Clocks(Clocks {
                    visit,
                    set,
                    workload,
                    place,
                    from,
                    to,
                }))?;
            }
        }
        Ok(())
    }

    /// Returns all places of the stacks that are up, without those that are lost.
    pub(super) fn loaded(&self) -> BTreeSet<Place> {
        let members = (0..self.ready.len()).flat_map(|worker| self.members(worker));
        members.map(|member| member.place.clone()).collect()
    }

    pub(super) fn engine_of(&self, ready: &StackUnderLoad) -> Option<Engine> {
        ready.engine.or(self.workload.engine)
    }

    /// Returns the length in nanoseconds of the shortest slice that all engines and the probe can
    /// run.
    pub fn shortest_slice_ns(&self) -> u64 {
        let shortest =
            |ready: &StackUnderLoad| engine::kind_of(self.engine_of(ready)).shortest_slice_ns;
        let of_probe = self.workload.probe.as_ref().and_then(|probe| probe.definition().ok());
        let of_probe = of_probe.map_or(0, |found| found.shortest_slice_ns);
        self.ready.iter().map(shortest).max().unwrap_or(0).max(of_probe)
    }

    /// Returns the bytes of one block of every thread, on every target of the stack that has most
    /// targets.
    pub fn unit(&self) -> u64 {
        let members =
            self.ready.iter().map(|ready| ready.targets().count() as u64).max().unwrap_or(1);
        members * self.workload.jobs.iter().map(|job| job.bs * u64::from(job.numjobs)).sum::<u64>()
    }

    /// Returns true if `slices` slices would write more than the user allows. Slices that write are
    /// bounded in bytes.
    pub fn would_exceed(&self, bound: SliceBound, slices: u64) -> bool {
        let bytes = match bound {
            SliceBound::Bytes { bytes } if self.workload.writes() => bytes.saturating_mul(slices),
            _ => 0,
        };
        self.allowance.is_some_and(|left| bytes > left)
    }
}
