//! Level of a stack's rate, latency or CPU time in a run: by itself, or over the baseline of that
//! run.

use crate::compare::ratio::time;
use crate::findings::SampleUnit;
use crate::gather::pairing::{PairedUnits, pair};
use crate::gather::rounds::{IoDirection, RoundTotal, StackSide};
use crate::gather::subject::Quantity;
use iotax_stats::ratio::Total;
use iotax_stats::unpaired::Level;
use iotax_stats::{Refusal, visits};

/// Figure that is compared, for all I/Os or for one direction.
#[derive(Clone, Copy)]
pub enum FigureKind {
    Rate(Quantity, Option<IoDirection>),
    Latency(Option<IoDirection>),
    Cpu,
}

impl FigureKind {
    fn total(self, round: &RoundTotal, by_bytes: bool) -> Result<Total, Refusal> {
        let unknown = || Refusal::NotMeasured { reason: "not recorded".into() };
        match self {
            FigureKind::Rate(quantity, way) => {
                let (ios, bytes) = round.amounts(way);
                Ok(Total { sum: if by_bytes { bytes } else { ios }, items: time(round, quantity)? })
            }
            FigureKind::Latency(way) => {
                Ok(way.map_or(round.latency, |way| round.direction_total(way).latency))
            }
            FigureKind::Cpu => {
                Ok(Total { sum: round.cpu_place_ns.ok_or_else(unknown)?, items: round.all_ios })
            }
        }
    }
}

/// Level of a figure in one run, and the logarithm of its plain mean, which short runs have too.
pub struct LevelOfRun {
    pub level: Result<Level, Refusal>,
    pub log: Option<f64>,
    pub unit: SampleUnit,
}

/// Returns the logarithm of the mean per item over all totals; `None` if nothing was counted.
fn pooled_log_mean(totals: impl Iterator<Item = Total>) -> Option<f64> {
    let all = totals.fold(Total::default(), Total::plus);
    (all.sum > 0.0 && all.items > 0.0).then(|| (all.sum / all.items).ln())
}

fn visit(side: &StackSide, visit: u32, of: FigureKind, by_bytes: bool) -> Result<Total, Refusal> {
    side.visit_total(visit, |round| of.total(round, by_bytes))
}

/// Returns the level of a stack's figure by itself; a rate is in bytes if `by_bytes`. If there are
/// enough visits, these are the unit; otherwise rounds.
pub fn stack_level(side: &StackSide, of: FigureKind, by_bytes: bool) -> LevelOfRun {
    let mut ids: Vec<u32> = side.rounds.keys().map(|id| id.0).collect();
    ids.dedup();
    let (unit, totals): (_, Result<Vec<Total>, Refusal>) = match ids.len() >= visits::LEAST {
        true => {
            (SampleUnit::Visits, ids.into_iter().map(|id| visit(side, id, of, by_bytes)).collect())
        }
        false => (
            SampleUnit::Rounds,
            side.rounds.values().map(|round| of.total(round, by_bytes)).collect(),
        ),
    };
    let log = totals.as_ref().ok().and_then(|totals| pooled_log_mean(totals.iter().copied()));
    let level = totals.and_then(|totals| match unit {
        SampleUnit::Visits => Level::of_visits(&totals),
        _ => Level::of_rounds(&totals),
    });
    LevelOfRun { level, log, unit }
}

/// Returns the level of a stack's acknowledged rate in I/Os per second, for all I/Os or for one
/// direction.
///
/// # Errors
/// [`Refusal`]: too few rounds or visits, or no I/O.
pub fn rate_level(side: &StackSide, way: Option<IoDirection>) -> Result<Level, Refusal> {
    stack_level(side, FigureKind::Rate(Quantity::Acknowledged, way), false).level
}

/// Returns the level of stack `b` over its baseline `a` within one run, paired by rounds or visits;
/// a rate is in bytes if `by_bytes`.
pub fn over_baseline(a: &StackSide, b: &StackSide, of: FigureKind, by_bytes: bool) -> LevelOfRun {
    let paired = pair(a, b);
    let (unit, totals): (_, Result<Vec<(Total, Total)>, Refusal>) = match &paired {
        PairedUnits::Rounds(ids) => {
            let both = ids.iter().filter_map(|id| a.rounds.get(id).zip(b.rounds.get(id)));
            let one = |(a, b)| Ok((of.total(a, by_bytes)?, of.total(b, by_bytes)?));
            (SampleUnit::Rounds, both.map(one).collect())
        }
        PairedUnits::Visits(ids, _) => {
            let one = |id: &u32| Ok((visit(a, *id, of, by_bytes)?, visit(b, *id, of, by_bytes)?));
            (SampleUnit::Visits, ids.iter().map(one).collect())
        }
    };
    let log = totals.as_ref().ok().and_then(|totals| {
        let side = |pick: fn(&(Total, Total)) -> Total| pooled_log_mean(totals.iter().map(pick));
        Some(side(|pair| pair.1)? - side(|pair| pair.0)?)
    });
    let level = totals.and_then(|totals| match paired {
        PairedUnits::Visits(..) => Level::of_paired_visits(&totals),
        PairedUnits::Rounds(_) => Level::of_paired_rounds(&totals),
    });
    LevelOfRun { level, log, unit }
}
