//! Short slices: where all stacks are loaded in one place, they take turns there in series of some hundred. The noise of a machine
//! has a memory of some 20 ms; slices of a millisecond lie within it, so that neighbours see the same machine. A series is one
//! round of the statistics, whose units are then as far apart as they were with long slices.

use super::bench::{Bench, Done, MOST_STOPS, Offered, Spot, overdue_after, served_apart};
use super::matched;
use super::observer::{Event, Observer};
use super::rounds::{Ended, Progress, Until, Visit};
use super::states::Keeper;
use anyhow::{Context, Result};
use iotax_load::{Bound, SeriesResult, SeriesSpec, ShortLength, ShortSlice};
use iotax_model::record::{CpuTimes, Purpose, Record, SeriesDesign, SeriesUp, TransientUp};
use iotax_model::scenario::Engine;
use iotax_stats::length::is_chosen;
use iotax_stats::rounds::{Part, Round, RoundKind};
use iotax_stats::trial::Trial;
use iotax_steps::Place;
use iotax_steps::wire::peer::{SLICE_GRACE, series_length};
use iotax_units::exit::Failed;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// The shortest window, nanoseconds.
const LEAST_WINDOW_NS: f64 = 1e6;
/// Longer windows gain little by a series: slices are then asked for one by one.
const LONGEST_WINDOW_NS: f64 = 20e6;
/// Whoever asks for longer slices than this wants them one by one.
const LONGEST_ASKED_NS: u64 = 5_000_000;
/// A drained queue that is filled again works in waves for some turns of it; measured in docs/decisions/short-slices.md.
const DISCARDED_TURNS: f64 = 3.0;
/// The discarded start is at least so long, nanoseconds: two I/Os of a fast drive.
const LEAST_DISCARD_NS: f64 = 100e3;
/// A window is so many times as long as what is discarded before it.
const WINDOW_OF_DISCARD: f64 = 4.0;
/// A series takes about so long, nanoseconds: several times the memory of the noise, and short enough for Ctrl-C.
const SERIES_NS: f64 = 125e6;
/// How many times as long the slices of a long series are.
const LONG_TIMES: u64 = 8;
/// One of so many series, at random, has long slices.
const LONG_ONE_OF: u32 = 8;
/// Length of a slice of one stack by itself, nanoseconds.
const ALONE_NS: u64 = 100_000_000;
/// Bins of a transient that a slice of the usual length fills.
const BINS_OF_SLICE: u64 = 48;

/// A series as a round of the statistics, and what each stack (by its number in the scenario) did in it.
pub type SeriesRound = (Round, Vec<(usize, Done)>);

impl Bench<'_> {
    /// Whether all stacks can take turns: closed loops of reads by our own generator, loaded in one place.
    pub fn can_take_turns(&self) -> bool {
        let reads = !self.workload.writes()
            && self.workload.jobs.iter().all(|job| !job.rw.trims() && job.rate_iops.is_none() && !job.verify);
        let place = self.ready.first().and_then(|first| first.members.first()).map(|member| &member.place);
        let in_place = self.ready.iter().all(|ready| {
            ready.members.len() == 1
                && place == ready.members.first().map(|member| &member.place)
                && ready.others.is_empty()
                && ready.far_end.is_none()
                && self.engine_of(ready) != Some(Engine::Fio)
        });
        // Of a guest the CPU time of its host counts too, which nobody reads between short slices.
        let suits = place.is_some_and(|place| !place.is_guest() && self.places.has_agent(place));
        self.ready.len() >= 2
            && reads
            && in_place
            && suits
            && self.workload.probe.is_none()
            && self.keeper.as_ref().is_none_or(Keeper::watches_none)
            && self.clusters.is_empty()
    }

    /// I/Os that one stack has in flight.
    pub(super) fn in_flight(&self) -> f64 {
        let of_jobs: u64 =
            self.jobs(1).iter().map(|job| u64::from(job.iodepth) * u64::from(job.numjobs)).sum();
        let targets = self.ready.iter().map(|ready| ready.targets().count() as u64).max().unwrap_or(1);
        (of_jobs * targets) as f64
    }

    /// Runs a series into the record; `order` has numbers of workers.
    ///
    /// # Errors
    /// When a peer is lost, an I/O failed or the record cannot be written.
    pub fn series(
        &mut self,
        order: Vec<usize>,
        length: ShortLength,
        bin_ns: u64,
        spot: Spot,
        observer: &mut dyn Observer,
    ) -> Result<SeriesRound> {
        self.store.present()?;
        // Devices below count for all stacks together.
        self.traffic.interrupt();
        let place = self
            .ready
            .first()
            .and_then(|first| first.members.first())
            .context("no stack is up")?
            .place
            .clone();
        let spec = SeriesSpec { order, lengths: vec![length; self.ready.len()], bin_ns };
        for _ in 0..MOST_STOPS {
            let began = Instant::now();
            let (result, engine) =
                self.despite_losses(|bench| bench.ask_for_series(&place, &spec, observer))?;
            if let Some(stop) = (self.stops)(began) {
                self.leave_out(spec.order[0], spot, stop)?;
                continue;
            }
            self.spent_s += began
                .elapsed()
                .as_secs_f64()
                .max(result.slices.iter().map(|slice| slice.took_ns as f64 / 1e9).sum());
            return self.store_series(result, &engine, &place, spot);
        }
        Err(self.never_left_alone(spec.order[0]).into())
    }

    fn ask_for_series(
        &mut self,
        place: &Place,
        spec: &SeriesSpec,
        observer: &mut dyn Observer,
    ) -> Result<(SeriesResult, Vec<Option<f64>>)> {
        for worker in 0..self.ready.len() {
            self.prepare_worker(worker)?;
        }
        let numbers: Vec<u32> = (0..self.ready.len() as u32).collect();
        let before = self.serving_of_all()?;
        let length = series_length(spec);
        let mut overdue = overdue_after("stacks in turn", length, length + SLICE_GRACE, observer);
        let result =
            self.places.get(place)?.peer.series(&numbers, spec, &mut overdue).map_err(Failed::from)?;
        let after = self.serving_of_all()?;
        let lasted = result.sums.iter().map(|sum| sum.window_ns + sum.discarded_ns + sum.drain_ns);
        let served = served_apart(&before, &after, &lasted.collect::<Vec<_>>());
        Ok((result, served))
    }

    /// Each worker's slices as one record, and the slices themselves.
    fn store_series(
        &mut self,
        result: SeriesResult,
        engine_ns: &[Option<f64>],
        place: &Place,
        spot: Spot,
    ) -> Result<SeriesRound> {
        let clock_offset_ns = self.places.get(place)?.clock_offset_ns;
        let on_host = |start_ns: u64| start_ns.saturating_add_signed(-clock_offset_ns);
        let slices: Vec<_> = result
            .slices
            .iter()
            .map(|slice| ShortSlice { start_ns: on_host(slice.start_ns), ..*slice })
            .collect();
        let at = self.store.short_slices(&slices)?;
        let stacks = self.ready.iter().map(|ready| ready.stack.clone()).collect();
        let workload = self.workload.name.clone();
        let (visit, set, round, purpose) = (self.visit, self.set, spot.round, spot.purpose);
        self.store.append(&Record::Series(SeriesUp { visit, set, round, purpose, workload, stacks, at }))?;
        let part = |slice: &ShortSlice| Part {
            stack: self.ready[slice.worker].index,
            amount: slice.ios as f64,
            seconds: slice.window_ns as f64 / 1e9,
        };
        let parts = result.slices.iter().map(part).collect();
        let mut all = Vec::new();
        for (worker, (sum, machine)) in result.sums.into_iter().zip(result.machine).enumerate() {
            let short_slices = result.slices.iter().filter(|slice| slice.worker == worker).count() as u32;
            if short_slices == 0 {
                continue;
            }
            let engine_ns = engine_ns.get(worker).copied().flatten();
            let done = Done::of_series(sum, machine.map(CpuTimes::from), engine_ns, short_slices);
            self.store_slice(worker, &done, Spot { position: worker, ..spot }, None)?;
            self.check(worker, &done.result)?;
            let transient = &result.transients[worker];
            self.transients.entry(worker).or_default().merge(transient);
            all.push((self.ready[worker].index, done));
        }
        let kind = if purpose == Purpose::Long { RoundKind::Long } else { RoundKind::Plain };
        Ok((Round { kind, visit, in_series: true, parts, ..Round::default() }, all))
    }

    /// What the series of a visit have shown of how rates begin.
    ///
    /// # Errors
    /// When the record cannot be written.
    pub(super) fn record_transients(&mut self) -> Result<()> {
        while let Some((worker, transient)) = self.transients.pop_first() {
            let (visit, set, workload) = (self.visit, self.set, self.workload.name.clone());
            let stack = self.ready[worker].stack.clone();
            let one_at_a_time = matches!(self.offered, Offered::OneAtATime);
            let up = TransientUp { visit, set, workload, stack, one_at_a_time, transient };
            self.store.append(&Record::Transient(up))?;
        }
        Ok(())
    }
}

impl Visit<'_> {
    /// Length of windows and how stacks take turns at the stated depth, where they do; `slowest` is the rate of the slowest of them.
    pub(super) fn series_design(&self, slowest: f64) -> Option<(u64, SeriesDesign)> {
        let asked_ns = self.measure.slice_ns;
        if !self.bench.can_take_turns() || asked_ns.is_some_and(|asked_ns| asked_ns > LONGEST_ASKED_NS) {
            return None;
        }
        self.in_turn(slowest, asked_ns)
    }

    /// The shortest windows in which a refilled queue settles, or those asked for; `None`: they would be too long.
    fn in_turn(&self, slowest: f64, asked_ns: Option<u64>) -> Option<(u64, SeriesDesign)> {
        // By Little's law: the time in which a queue is turned over once.
        let turn_ns = self.bench.in_flight() / slowest.max(f64::MIN_POSITIVE) * 1e9;
        let discard_ns = (DISCARDED_TURNS * turn_ns).max(LEAST_DISCARD_NS);
        let settled_ns = LEAST_WINDOW_NS.max(WINDOW_OF_DISCARD * discard_ns);
        let window_ns = asked_ns.map_or(settled_ns, |asked_ns| asked_ns as f64);
        if window_ns > LONGEST_WINDOW_NS {
            return None;
        }
        let round_ns = 2.0 * self.bench.ready.len() as f64 * (window_ns + discard_ns);
        let rounds = (SERIES_NS / round_ns).ceil().max(1.0) as u32;
        Some((window_ns as u64, SeriesDesign { discard_ns: discard_ns as u64, rounds }))
    }

    /// A slice of each stack by itself, and the rate of the slowest. Block devices below count all stacks of a series together, so that
    /// what each stack reads is held against them here, and in the slices that warm up.
    pub(super) fn each_by_itself(&mut self, progress: &mut Progress) -> Result<f64> {
        let mut slowest = f64::INFINITY;
        for worker in 0..self.bench.ready.len() {
            let spot = Spot { round: progress.next_round, position: worker, purpose: Purpose::WarmUp };
            let done = self.bench.record(worker, Bound::Time { ns: ALONE_NS }, spot, self.observer)?;
            slowest = slowest.min(done.rate());
        }
        progress.next_round += 1;
        Ok(slowest)
    }

    /// The next series, as one round; those of `Purpose::Plain` are now and then long.
    pub(super) fn series_round(
        &mut self,
        progress: &mut Progress,
        (window_ns, series): (u64, SeriesDesign),
        purpose: Purpose,
        trial: &mut Trial,
    ) -> Result<Result<SeriesRound, Ended>> {
        if self.stop.load(Ordering::Relaxed) {
            return Ok(Err(Ended::Interrupted));
        }
        let number = progress.next_round;
        let long =
            purpose == Purpose::Plain && is_chosen(self.measure.seed ^ self.stream, number, LONG_ONE_OF);
        let (purpose, times) = if long { (Purpose::Long, LONG_TIMES) } else { (purpose, 1) };
        let rounds = (u64::from(series.rounds) / times).max(1);
        let order: Vec<usize> = (0..rounds).flat_map(|_| trial.plan().order).collect();
        let order = order.into_iter().map(|stack| self.worker_of(stack)).collect();
        let bin_ns = ((window_ns + series.discard_ns) / BINS_OF_SLICE).max(1);
        let length = ShortLength { discard_ns: series.discard_ns, window_ns: window_ns * times };
        let spot = Spot { round: number, position: 0, purpose };
        let round = self.bench.series(order, length, bin_ns, spot, self.observer)?;
        progress.next_round += 1;
        Ok(Ok(round))
    }

    /// Whether latencies are compared one I/O at a time: stacks take turns, and nobody asked for a rate.
    pub(super) fn compares_one_at_a_time(&self, progress: &Progress) -> bool {
        progress.series.is_some() && !self.measure.matched_rate_given && self.workload.jobs.len() == 1
    }

    /// One I/O at a time on every stack, in turn: what each adds to its latency.
    pub(super) fn one_at_a_time(&mut self, progress: &mut Progress, until: Until) -> Result<Ended> {
        let until = matched::until(self.soon_enough(progress, until), progress.elapsed_s);
        let most = until.most_s(progress.matched_s).map(|most_s| format!(" (at most {most_s:.0} s)"));
        let what = format!("latency of one I/O at a time{}", most.unwrap_or_default());
        self.observer.tell(Event::LongPhase { what });
        self.bench.prepare(Offered::OneAtATime)?;
        let slowest = self.each_by_itself(progress)?;
        let ended = match self.in_turn(slowest, None) {
            Some(design) => self.matched_rounds(progress, until, Some(design)),
            // Slower than a series is made for: as the stated depth, it would have been measured in other slices.
            None => Ok(Ended::Visit),
        };
        self.bench.end()?;
        ended
    }
}
