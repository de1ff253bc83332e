//! The baseline alone: in some rounds all other stacks that can be stopped (guests, by QMP) are.
//! What the baseline then gains is what their being up takes from it, and would be hidden in every
//! cost.

use super::rounds::{Visit, VisitEnd, WorkloadProgress};
use super::visit_workers::SlicePosition;
use anyhow::Result;
use iotax_model::record::Purpose;
use iotax_stats::alone::{Decision, decide};
use iotax_stats::schedule::Schedule;
use iotax_stats::spread::BATCHES;
use iotax_steps::Place;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// More of these rounds than this are not made: what they cannot tell then is small or noisy.
const MOST_ROUNDS: usize = 2 * BATCHES;
/// Nor do they take more of the budget than this part.
pub const PART: f64 = 0.1;
/// A guest that goes on has timers to catch up with; slices beside it wait for that.
const SETTLES: Duration = Duration::from_millis(20);

/// What came of it.
pub enum Interference {
    Fine,
    /// The baseline runs at this share of its rate beside the others.
    Disturbed(f64),
    /// It was cut short.
    Ended(VisitEnd),
}

impl Visit<'_> {
    /// Measures the baseline alone and beside the others, where there are others that can be
    /// stopped.
    ///
    /// # Errors
    /// When a guest cannot be stopped or does not go on, and as any slice.
    pub(super) fn alone(&mut self, progress: &mut WorkloadProgress) -> Result<Interference> {
        let ready = self.bench.ready;
        let Some(worker) = ready.iter().position(|ready| ready.index == self.baseline) else {
            return Ok(Interference::Fine);
        };
        let others = self.bench.places.stoppable();
        let others: Vec<Place> =
            others.into_iter().filter(|place| !ready[worker].is_in(place)).collect();
        if others.is_empty() {
            return Ok(Interference::Fine);
        }
        let names: Vec<String> = others.iter().map(Place::to_string).collect();
        self.say(format!("the baseline alone: {} stopped in turn", names.join(", ")));
        let mut schedule = Schedule::new(self.measure.seed, !self.stream);
        let mut rounds = Vec::new();
        let (began_s, most_s) = (self.bench.spent_s, PART * self.measure.budget_ns as f64 / 1e9);
        while rounds.len() < MOST_ROUNDS && self.bench.spent_s - began_s < most_s {
            match self.alone_round(progress, worker, &others, &mut schedule)? {
                Ok(round) => rounds.push(round),
                Err(ended) => return Ok(Interference::Ended(ended)),
            }
            match decide(&rounds, self.measure.precision) {
                Decision::Disturbed { found } => return Ok(Interference::Disturbed(found.ratio)),
                Decision::Fine => return Ok(Interference::Fine),
                Decision::Undecided => {}
            }
        }
        Ok(Interference::Fine)
    }

    /// Work a second alone and beside the others, of two slices each in random order and its
    /// mirror.
    fn alone_round(
        &mut self,
        progress: &mut WorkloadProgress,
        worker: usize,
        others: &[Place],
        schedule: &mut Schedule,
    ) -> Result<Result<(f64, f64), VisitEnd>> {
        let bound = self.bound(progress, 1);
        if self.bench.would_exceed(bound, 4) {
            return Ok(Err(VisitEnd::MaxWritten));
        }
        let mut sums = [(0.0, 0.0); 2];
        for (position, beside) in schedule.round(2).into_iter().enumerate() {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(Err(VisitEnd::Interrupted));
            }
            let purpose = if beside == 1 { Purpose::Beside } else { Purpose::Alone };
            let spot = SlicePosition { round: progress.next_round, position, purpose };
            if purpose == Purpose::Alone {
                self.bench.places.stop_running(others)?;
            } else {
                std::thread::sleep(SETTLES);
            }
            let done = self.bench.record(worker, bound, spot, self.observer);
            if purpose == Purpose::Alone {
                // They go on whatever came of the slice: what is stopped answers nothing.
                self.bench.places.go_on(others)?;
                // A clock that stood still does not tell how fast it runs.
                self.bench.clocks.clear();
            }
            let part = done?.part(0, self.workload.writes());
            sums[beside].0 += part.amount;
            sums[beside].1 += part.seconds;
        }
        progress.next_round += 1;
        let rate = |(amount, seconds): (f64, f64)| amount / seconds;
        Ok(Ok((rate(sums[0]), rate(sums[1]))))
    }
}
