//! Measures the baseline alone: in some rounds all other stacks that can be stopped (guests, by
//! QMP) are stopped. The baseline then gains what the others take from it merely by being up, which
//! would be hidden in every cost.

use super::progress::{VisitEnd, WorkloadProgress};
use super::rounds::Visit;
use super::slice_outcome::SlicePosition;
use anyhow::Result;
use iotax_facts::place::Place;
use iotax_model::record::Purpose;
use iotax_stats::alone::{Decision, decide};
use iotax_stats::schedule::Schedule;
use iotax_stats::spread::BATCHES;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Most rounds with the baseline alone. A disturbance that they do not show is small or noisy.
const MOST_ROUNDS: usize = 2 * BATCHES;
/// Largest part of the budget for rounds with the baseline alone.
pub const PART: f64 = 0.1;
/// Time that a guest needs to catch up with its timers after it continues; slices wait for that.
const SETTLES: Duration = Duration::from_millis(20);

/// Result of measuring the baseline alone.
pub enum Interference {
    Fine,
    /// The baseline's rate while the others are up, as a share of its rate alone.
    Disturbed(f64),
    Ended(VisitEnd),
}

impl Visit<'_> {
    /// Measures the baseline alone and next to the others in rounds until it is clear whether they
    /// disturb it. There are no such rounds if no other place can be stopped.
    ///
    /// # Errors
    /// When a guest cannot be stopped or does not continue, and as any slice.
    pub(super) fn measure_baseline_alone(
        &mut self,
        progress: &mut WorkloadProgress,
    ) -> Result<Interference> {
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
        self.announce_phase(format!("the baseline alone: {} stopped in turn", names.join(", ")));
        let mut schedule = Schedule::new(self.measure.seed, !self.stream);
        let mut rounds = Vec::new();
        let (began_s, most_s) = (self.bench.spent_s, PART * self.measure.budget_ns as f64 / 1e9);
        while rounds.len() < MOST_ROUNDS && self.bench.spent_s - began_s < most_s {
            match self.alone_round(progress, worker, &others, &mut schedule)? {
                ControlFlow::Continue(round) => rounds.push(round),
                ControlFlow::Break(ended) => return Ok(Interference::Ended(ended)),
            }
            match decide(&rounds, self.measure.precision) {
                Decision::Disturbed { found } => return Ok(Interference::Disturbed(found.ratio)),
                Decision::Fine => return Ok(Interference::Fine),
                Decision::Undecided => {}
            }
        }
        Ok(Interference::Fine)
    }

    /// Returns the baseline's work per second alone and next to the others. Each is from two
    /// slices, in random order and its mirror image.
    fn alone_round(
        &mut self,
        progress: &mut WorkloadProgress,
        worker: usize,
        others: &[Place],
        schedule: &mut Schedule,
    ) -> Result<ControlFlow<VisitEnd, (f64, f64)>> {
        let bound = self.bound(progress, 1);
        if self.bench.would_exceed(bound, 4) {
            return Ok(ControlFlow::Break(VisitEnd::MaxWritten));
        }
        let mut sums = [(0.0, 0.0); 2];
        for (position, beside) in schedule.round(2).into_iter().enumerate() {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(ControlFlow::Break(VisitEnd::Interrupted));
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
                // The guests continue whatever the slice returned: a stopped guest answers nothing.
                self.bench.places.go_on(others)?;
                // A clock that stood still does not show how fast it runs.
                self.bench.clocks.clear();
            }
            let part = done?.part(0, self.workload.writes());
            sums[beside].0 += part.amount;
            sums[beside].1 += part.seconds;
        }
        progress.next_round += 1;
        let rate = |(amount, seconds): (f64, f64)| amount / seconds;
        Ok(ControlFlow::Continue((rate(sums[0]), rate(sums[1]))))
    }
}
