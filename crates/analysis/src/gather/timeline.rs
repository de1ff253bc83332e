//! Slices in the order of the record, from which verdicts are made: the order of the stacks shows
//! carry-over, and rounds of longer slices show whether the length matters.

use crate::gather::pairing::RoundBasis;
use crate::gather::rounds::{RoundId, SampleSums, VisitStrata, index};
use crate::gather::subject::Quantity;
use iotax_load::ShortSlice;
use iotax_model::record::{Purpose, SeriesUp, Slice};
use iotax_model::scenario::Workload;
use iotax_stats::Refusal;
use iotax_stats::rounds::{Round, RoundKind, RoundPart, SliceValue};
use iotax_store::RunData;
use std::collections::{BTreeSet, HashMap};

#[derive(Debug, Default)]
pub struct Timeline {
    rounds: Vec<TimedRound>,
    strata: VisitStrata,
    /// Number of slices of a stack in a whole long round.
    long_slices: usize,
}

#[derive(Debug)]
struct TimedRound {
    id: RoundId,
    kind: RoundKind,
    /// True if the slots are the short slices of a series.
    in_series: bool,
    slots: Vec<SliceSlot>,
}

#[derive(Debug)]
struct SliceSlot {
    stack: usize,
    ios: f64,
    bytes: f64,
    window_s: f64,
    flush_s: Option<f64>,
    spoiled: bool,
}

impl Timeline {
    pub fn from_run(run: &RunData, workload: &Workload) -> Timeline {
        let index = index(run);
        let kind = |slice: &Slice| match slice.purpose {
            Purpose::Plain => Some(RoundKind::Plain),
            Purpose::Long => Some(RoundKind::Long),
            _ => None,
        };
        let of_workload = run.series.iter().filter(|one| one.workload == workload.name);
        let series: HashMap<_, _> =
            of_workload.map(|one| ((one.visit, one.set, one.round), one)).collect();
        let mut rounds: Vec<TimedRound> = Vec::new();
        for slice in run.slices.iter().filter(|slice| slice.workload == workload.name) {
            let (Some(kind), Some(stack)) = (kind(slice), index.get(slice.stack.as_str())) else {
                continue;
            };
            let id = (slice.visit, slice.round);
            if rounds.last().is_none_or(|last| (last.id, last.kind) != (id, kind)) {
                // If the short slices of a series are missing, their sums are used.
                let series = series.get(&(slice.visit, slice.set, slice.round));
                let slots = series.map(|series| in_turn(run, series, &index)).unwrap_or_default();
                rounds.push(TimedRound { id, kind, in_series: !slots.is_empty(), slots });
            }
            let Some(last) = rounds.last_mut() else { continue };
            match last.in_series {
                true => last.share_out(&SliceSlot::from_slice(slice, *stack)),
                false => last.slots.push(SliceSlot::from_slice(slice, *stack)),
            }
        }
        let long_slices =
            rounds.iter().filter(|round| round.kind == RoundKind::Long).map(TimedRound::most).max();
        Timeline {
            rounds,
            strata: VisitStrata::from_run(run),
            long_slices: long_slices.unwrap_or(0),
        }
    }

    /// Returns the rounds by which two stacks are judged: the plain ones in `paired`, and the long
    /// ones between these that are whole on both sides.
    ///
    /// # Errors
    /// [`Refusal`], if a flush was not recorded for the durable quantity, or if a slice that is
    /// judged by bytes wrote nothing.
    pub fn rounds(
        &self,
        pair: [usize; 2],
        paired: &[RoundId],
        basis: RoundBasis,
    ) -> Result<Vec<Round>, Refusal> {
        let counted: BTreeSet<RoundId> = paired.iter().copied().collect();
        // Long rounds of another regime than the plain ones' (a burst before the steady state)
        // would disagree with them.
        let among = |id: &RoundId| {
            counted.range(..=id).next().is_some() && counted.range(id..).next().is_some()
        };
        let kept = |round: &&TimedRound| match round.kind {
            RoundKind::Plain => counted.contains(&round.id),
            RoundKind::Long => {
                among(&round.id)
                    && pair.iter().all(|stack| round.is_whole(*stack, self.long_slices))
            }
        };
        let judged =
            |round: &TimedRound| round.judged_round(self.strata.of_visit(round.id.0), pair, basis);
        self.rounds.iter().filter(kept).map(judged).collect()
    }
}

impl TimedRound {
    fn of_stack(&self, stack: usize) -> impl Iterator<Item = &SliceSlot> {
        self.slots.iter().filter(move |slot| slot.stack == stack)
    }

    fn most(&self) -> usize {
        self.slots.iter().map(|slot| self.of_stack(slot.stack).count()).max().unwrap_or(0)
    }

    fn is_whole(&self, stack: usize, slices: usize) -> bool {
        self.of_stack(stack).count() == slices && self.of_stack(stack).all(|slot| !slot.spoiled)
    }

    /// Distributes the sums of a stack over its short slices: bytes by their I/Os, the flush by
    /// their windows.
    fn share_out(&mut self, sum: &SliceSlot) {
        for slot in self.slots.iter_mut().filter(|slot| slot.stack == sum.stack) {
            slot.bytes = if sum.ios > 0.0 { sum.bytes * slot.ios / sum.ios } else { 0.0 };
            slot.flush_s = sum.flush_s.map(|flush_s| flush_s * slot.window_s / sum.window_s);
        }
    }

    fn judged_round(
        &self,
        stratum: u32,
        pair: [usize; 2],
        basis: RoundBasis,
    ) -> Result<Round, Refusal> {
        let parts = self.slots.iter().map(|slot| {
            let compared = pair.contains(&slot.stack);
            // Only the totals of a series count.
            if compared && basis.by_bytes && slot.bytes <= 0.0 && !self.in_series {
                return Err(wrote_nothing());
            }
            slot.round_part(compared, basis)
        });
        let (kind, in_series) = (self.kind, self.in_series);
        Ok(Round {
            kind,
            visit: self.id.0,
            stratum,
            in_series,
            parts: parts.collect::<Result<_, _>>()?,
        })
    }
}

/// Returns the short slices of a series; empty if they cannot be read.
fn in_turn(run: &RunData, series: &SeriesUp, index: &HashMap<&str, usize>) -> Vec<SliceSlot> {
    let stacks: Option<Vec<usize>> =
        series.stacks.iter().map(|name| index.get(name.as_str()).copied()).collect();
    let Some((stacks, slices)) = stacks.zip(run.short_slices.read_at(series.at)) else {
        return Vec::new();
    };
    let slot = |slice: &ShortSlice| {
        Some(SliceSlot {
            stack: *stacks.get(slice.worker)?,
            ios: slice.ios as f64,
            bytes: 0.0,
            window_s: slice.window_ns as f64 / 1e9,
            flush_s: None,
            spoiled: slice.window_ns == 0,
        })
    };
    slices.iter().map(slot).collect::<Option<_>>().unwrap_or_default()
}

impl SliceSlot {
    fn from_slice(slice: &Slice, stack: usize) -> SliceSlot {
        let found = SampleSums::from_slice(slice);
        SliceSlot {
            stack,
            ios: found.ios,
            bytes: found.bytes,
            window_s: slice.window_ns as f64 / 1e9,
            flush_s: found.flush_ns.map(|ns| ns / 1e9),
            spoiled: found.failed.is_some() || slice.window_ns == 0,
        }
    }

    /// Returns the slice as a part of its round. A stack that is not `compared` only shows which
    /// stack ran before, so a missing flush of it does not matter.
    fn round_part(&self, compared: bool, basis: RoundBasis) -> Result<RoundPart, Refusal> {
        let flush_s = match (basis.quantity, self.flush_s) {
            (Quantity::Durable, None) if compared => return Err(no_flush()),
            (Quantity::Durable, flush_s) => flush_s.unwrap_or(0.0),
            (Quantity::Acknowledged, _) => 0.0,
        };
        let amount = if basis.by_bytes { self.bytes } else { self.ios };
        Ok(RoundPart { stack: self.stack, amount, seconds: self.window_s + flush_s })
    }
}

/// Returns the kind of a slice's value: time per byte if it is judged by bytes, else a rate.
pub fn slice_value(basis: RoundBasis) -> SliceValue {
    if basis.by_bytes { SliceValue::Time } else { SliceValue::Rate }
}

/// Returns the refusal for a durable figure without a flush.
pub fn no_flush() -> Refusal {
    Refusal::NotMeasured { reason: "no flush was recorded".into() }
}

/// Returns the refusal for a time per byte of a slice without bytes.
pub fn wrote_nothing() -> Refusal {
    Refusal::NotMeasured { reason: "a slice that should end on equal bytes completed none".into() }
}
