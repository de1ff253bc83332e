//! The knee: where power, throughput over mean latency, is greatest (Kleinrock 1979). Below it more
//! load buys throughput, above it latency. There is no knee for too few points, and none at the
//! edge of the sweep.

use crate::compare::simultaneous::SimultaneousFigure;
use crate::findings::sweep::{Knee, KneePosition, SweepValue};

/// Number of points with an interval that a knee needs.
pub const LEAST: usize = 3;

pub struct UnnamedKnee {
    place: KneePosition,
    words: String,
}

impl UnnamedKnee {
    pub fn said_of(self, name: &str) -> Knee {
        Knee { place: self.place, sentence: format!("{name}: {}", self.words) }
    }
}

/// Finds the knee of powers, which are in the order of the values of `axis`; `None` is a power
/// without an interval.
pub fn find_knee(powers: &[(SweepValue, Option<SimultaneousFigure>)], axis: &str) -> UnnamedKnee {
    let known: Vec<(&SweepValue, SimultaneousFigure)> =
        powers.iter().filter_map(|(at, sure)| Some((at, (*sure)?))).collect();
    let best = (0..known.len()).max_by(|a, b| known[*a].1.value.total_cmp(&known[*b].1.value));
    let Some(best) = best.filter(|_| known.len() >= LEAST) else {
        let remedy = if powers.len() < LEAST { "sweep over more values" } else { "raise --budget" };
        return refused_knee(too_few(powers.len(), known.len()), remedy);
    };
    let near: Vec<SweepValue> = (0..known.len())
        .filter(|at| *at != best && !known[*at].1.is_apart_from(&known[best].1))
        .map(|at| known[at].0.clone())
        .collect();
    if near.len() + 1 == known.len() {
        let reason = format!("the powers of the {} points are not told apart", known.len());
        return refused_knee(reason, "raise --budget, or sweep over a wider range");
    }
    let found = KneeEstimate { axis, known: &known, best, near, silent: silent(powers) };
    found.unnamed()
}

fn refused_knee(reason: String, remedy: &str) -> UnnamedKnee {
    UnnamedKnee {
        words: format!("no knee: {reason}; to settle it: {remedy}"),
        place: KneePosition::None { reason },
    }
}

fn too_few(points: usize, known: usize) -> String {
    match points == known {
        true => format!("{points} points, and a knee needs {LEAST}"),
        false => format!("{known} of {points} points have an interval, and a knee needs {LEAST}"),
    }
}

fn silent(powers: &[(SweepValue, Option<SimultaneousFigure>)]) -> Vec<SweepValue> {
    powers.iter().filter(|(_, sure)| sure.is_none()).map(|(at, _)| at.clone()).collect()
}

struct KneeEstimate<'a> {
    axis: &'a str,
    known: &'a [(&'a SweepValue, SimultaneousFigure)],
    best: usize,
    near: Vec<SweepValue>,
    silent: Vec<SweepValue>,
}

impl KneeEstimate<'_> {
    fn unnamed(self) -> UnnamedKnee {
        let words = format!("{}{}{}", self.claim(), self.reserve(), self.settle_advice());
        let at = self.known[self.best].0.clone();
        let (not_told_apart, no_interval) = (self.near, self.silent);
        let inside = self.best > 0 && self.best + 1 < self.known.len();
        let place = match inside {
            true => KneePosition::Inside { at, not_told_apart, no_interval },
            false => KneePosition::Edge { at, not_told_apart, no_interval },
        };
        UnnamedKnee { place, words }
    }

    fn claim(&self) -> String {
        let last = self.known.len() - 1;
        let at = &self.known[self.best].0.shown;
        let range = format!("{}..{}", self.known[0].0.shown, self.known[last].0.shown);
        // Only a neighbour that is clearly different shows which way power goes.
        let neighbour = if self.best == 0 { 1 } else { self.best - 1 };
        let sure = !self.near.contains(self.known[neighbour].0);
        match self.best {
            best if best > 0 && best < last => format!("knee at {} {at}", self.axis),
            0 if sure => format!("no knee within {range}: falling from {at} on"),
            _ if sure => format!("no knee within {range}: still rising at {at}"),
            _ => format!("no sure knee within {range}: the greatest power is at its edge, {at}"),
        }
    }

    /// Returns advice on what would settle the knee. Power may be greater beyond the upper edge;
    /// below the lower one there is often nothing to offer.
    fn settle_advice(&self) -> String {
        let at = &self.known[self.best].0.shown;
        match self.best + 1 == self.known.len() {
            true => format!("; to settle it: sweep {} beyond {at} too", self.axis),
            false => String::new(),
        }
    }

    fn reserve(&self) -> String {
        let list = |spots: &[SweepValue]| {
            spots.iter().map(|at| at.shown.as_str()).collect::<Vec<_>>().join(" and ")
        };
        let mut parts = Vec::new();
        if !self.near.is_empty() {
            parts.push(format!("{} not told apart", list(&self.near)));
        }
        if !self.silent.is_empty() {
            parts.push(format!("no interval at {}", list(&self.silent)));
        }
        if parts.is_empty() { String::new() } else { format!(" ({})", parts.join("; ")) }
    }
}
