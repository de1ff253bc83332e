//! Whether writes have come past the caches. A burst goes into whatever takes it; a verdict on
//! steady writes may rest only on rounds behind the largest known cache on the path, or behind the
//! change of pace at which the drive showed its own. Where neither was reached nothing is said.
//! Every visit begins again: before it there was a pause, in which a cache may have emptied.

use super::Refusal;
use super::level::best_break;
use super::rounds::Round;
use super::spread::mean;
use serde::Serialize;
use std::ops::Range;

/// A change of pace is a fall to at most this of the pace before it.
const FALLEN: f64 = 0.9;
/// Stretches that are held against each other, as the five rounds of SNIA's measurement window.
const STRETCHES: usize = 5;
/// SNIA's bounds on a steady window, fractions of its mean: the largest minus the smallest value
/// ...
const RANGE: f64 = 0.2;
/// ... and how far the best straight line goes within it (Solid State Storage Performance Test
/// Specification).
const SLOPE: f64 = 0.1;

/// What is known before the first write.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SteadySpec {
    /// The largest cache of writes that is known on the path, in bytes.
    pub known_cache: Option<f64>,
    /// `reaches[a][b]`: of a byte written through stack b, how much comes to each drive below stack
    /// a.
    pub reaches: Vec<Vec<f64>>,
}

/// What one stack wrote in one round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wrote {
    /// Which stack.
    pub stack: usize,
    /// Bytes.
    pub bytes: f64,
    /// Seconds until the last of them was acknowledged.
    pub seconds: f64,
    /// Seconds with the flush after it, where there was one: the drive's own pace, whatever a
    /// cache above it says.
    pub durable_s: Option<f64>,
}

/// One round, of any kind: all that is written fills the caches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WrittenRound {
    /// The set-up that it belongs to.
    pub visit: u32,
    /// Stack by stack.
    pub stacks: Vec<Wrote>,
    /// It preconditioned the drives: it is before the rounds of its visit, and no verdict rests
    /// on it.
    pub preconditions: bool,
}

impl WrittenRound {
    /// Of a round whose amounts are bytes, flushes apart.
    pub fn from_round(round: &Round) -> WrittenRound {
        let mut stacks: Vec<usize> = round.parts.iter().map(|part| part.stack).collect();
        stacks.sort_unstable();
        stacks.dedup();
        let wrote = |stack| {
            let ours = round.parts.iter().filter(|part| part.stack == stack);
            let (bytes, seconds) = ours.fold((0.0, 0.0), |(bytes, seconds), part| {
                (bytes + part.amount, seconds + part.seconds)
            });
            Wrote { stack, bytes, seconds, durable_s: None }
        };
        WrittenRound {
            visit: round.visit,
            stacks: stacks.into_iter().map(wrote).collect(),
            preconditions: false,
        }
    }

    /// Whether both are of one set-up: no pause between them, and the same stacks up.
    fn goes_on(&self, next: &WrittenRound) -> bool {
        let stacks = |writes: &WrittenRound| {
            writes.stacks.iter().map(|wrote| wrote.stack).collect::<Vec<_>>()
        };
        self.visit == next.visit && stacks(self) == stacks(next)
    }

    fn stack(&self, stack: usize) -> Option<&Wrote> {
        self.stacks.iter().find(|wrote| wrote.stack == stack)
    }
}

/// Where a stack's pace fell and stayed down.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LastingFall {
    /// Which stack.
    pub stack: usize,
    /// First round after it, among those of its visit.
    pub at: usize,
    /// Bytes that its drive had got in the visit by then.
    pub written: f64,
    /// Bytes a second before.
    pub before: f64,
    /// Bytes a second after it.
    pub after: f64,
}

/// By what steady was reached.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Why {
    /// It was not.
    NotReached,
    /// More was written than the largest known cache holds, of so many bytes.
    PastCache {
        /// Its bytes.
        cache: f64,
    },
    /// The pace fell after so many bytes, and as many again have been written since.
    PastChange {
        /// Bytes written until then.
        written: f64,
    },
    /// The load ran before the rounds of the visit until its pace was level, and no cache is known.
    Preconditioned {
        /// For so many rounds.
        rounds: usize,
    },
}

/// What the rounds of one visit show.
#[derive(Clone, Debug, PartialEq)]
pub struct Steady {
    /// Whether every stack has come past the caches.
    pub reached: bool,
    /// The first round that a verdict on steady writes may rest on; of the visit's rounds, from 0.
    pub from_round: usize,
    /// By what, of the stack that came last.
    pub why: Why,
    /// Bytes that the least written drive got.
    pub written: f64,
    /// The last change of pace of each stack that had one.
    pub changes: Vec<LastingFall>,
}

/// The visits of a run in order of time: the rounds of each, and what they show.
pub fn by_visit(rounds: &[WrittenRound], spec: &SteadySpec) -> Vec<(Range<usize>, Steady)> {
    let mut start = 0;
    let visit = |rounds: &[WrittenRound]| {
        let range = start..start + rounds.len();
        start = range.end;
        (range, of_visit(rounds, spec))
    };
    rounds.chunk_by(WrittenRound::goes_on).map(visit).collect()
}

/// What the visit shows that the last round belongs to.
pub fn at_the_end(rounds: &[WrittenRound], spec: &SteadySpec) -> Option<Steady> {
    Some(of_visit(rounds.chunk_by(WrittenRound::goes_on).last()?, spec))
}

/// Which rounds a verdict on steady writes may rest on.
///
/// # Errors
/// [`Refusal::SteadyNotShown`] when no visit came so far.
pub fn judged(rounds: &[WrittenRound], spec: &SteadySpec) -> Result<Vec<bool>, Refusal> {
    let visits = by_visit(rounds, spec);
    if !visits.iter().any(|(_, steady)| steady.reached) {
        return Err(not_shown(&visits, spec));
    }
    let of = |(range, steady): &(Range<usize>, Steady)| {
        let (reached, from) = (steady.reached, steady.from_round);
        (0..range.len()).map(move |at| reached && at >= from)
    };
    Ok(visits.iter().flat_map(of).collect())
}

/// The refusal, of the visit that wrote most.
fn not_shown(visits: &[(Range<usize>, Steady)], spec: &SteadySpec) -> Refusal {
    let written = visits.iter().map(|(_, steady)| steady.written).fold(0.0, f64::max);
    Refusal::SteadyNotShown {
        written: written as u64,
        known_cache: spec.known_cache.map(|cache| cache as u64),
    }
}

/// What the rounds of one visit show.
pub fn of_visit(rounds: &[WrittenRound], spec: &SteadySpec) -> Steady {
    let mut stacks: Vec<usize> =
        rounds.iter().flat_map(|round| &round.stacks).map(|wrote| wrote.stack).collect();
    stacks.sort_unstable();
    stacks.dedup();
    let courses: Vec<StackCourse> =
        stacks.iter().map(|stack| StackCourse::from_rounds(rounds, *stack, spec)).collect();
    let reached = courses.iter().map(|course| course.reached(spec)).collect::<Option<Vec<_>>>();
    let last = reached.and_then(|all| all.into_iter().max_by_key(|(from, _)| *from));
    let (from_round, why) = last.unwrap_or((rounds.len(), Why::NotReached));
    let least = courses.iter().map(StackCourse::in_all).fold(f64::INFINITY, f64::min);
    Steady {
        reached: why != Why::NotReached,
        from_round,
        why,
        written: if least.is_finite() { least } else { 0.0 },
        changes: courses.into_iter().filter_map(|course| course.change).collect(),
    }
}

/// How level the last rounds of preconditioning of a stack are; `None` of fewer than make a window.
/// Of writes that end with a flush the durable pace counts, which is the drive's own.
pub fn preconditioned(rounds: &[WrittenRound], stack: usize) -> Option<Window> {
    let ours =
        rounds.iter().filter(|round| round.preconditions).filter_map(|round| round.stack(stack));
    let paces: Vec<f64> =
        ours.map(|wrote| wrote.bytes / wrote.durable_s.unwrap_or(wrote.seconds)).collect();
    Window::from_paces(&paces[paces.len().checked_sub(STRETCHES)?..])
}

/// One stack in the course of a visit.
struct StackCourse {
    /// Bytes that each drive below it has got at the end of each round of the visit, from whichever
    /// stack.
    got: Vec<f64>,
    change: Option<LastingFall>,
    /// The first rounds of the visit, if they preconditioned the stack until it was level.
    preconditioned: Option<usize>,
}

impl StackCourse {
    fn from_rounds(rounds: &[WrittenRound], stack: usize, spec: &SteadySpec) -> StackCourse {
        let mut sum = 0.0;
        let mut add = |round: &WrittenRound| {
            sum += round
                .stacks
                .iter()
                .map(|wrote| wrote.bytes * spec.reach(stack, wrote.stack))
                .sum::<f64>();
            sum
        };
        let got: Vec<f64> = rounds.iter().map(&mut add).collect();
        let change = change(rounds, stack, &got);
        let level = preconditioned(rounds, stack).is_some_and(|window| window.is_level());
        let before = rounds.iter().filter(|round| round.preconditions).count();
        StackCourse { got, change, preconditioned: level.then_some(before) }
    }

    fn in_all(&self) -> f64 {
        self.got.last().copied().unwrap_or(0.0)
    }

    /// First round of the steady regime, and why.
    ///
    /// Behind a known cache it is reached at once, and from a later change of pace on only: then
    /// the drive had a larger one. Without a known cache as much again must follow on the change as
    /// went before it: the first half of such a run was one regime, so a second one that ends no
    /// sooner has had the time to show. What was preconditioned until it was level has shown it,
    /// unless the pace falls behind that.
    fn reached(&self, spec: &SteadySpec) -> Option<(usize, Why)> {
        // The round at the change may have slices on both sides of it.
        let behind_change = self.change.map(|change| (change.at + 1, change.written));
        let past_cache = spec.known_cache.filter(|cache| self.in_all() > *cache);
        match (past_cache, behind_change) {
            (Some(cache), behind) => {
                let behind_cache = 1 + self.got.iter().position(|got| *got > cache)?;
                let later = behind.filter(|(at, _)| *at > behind_cache);
                let fell = later.map(|(at, written)| (at, Why::PastChange { written }));
                Some(fell.unwrap_or((behind_cache, Why::PastCache { cache })))
            }
            (None, behind) => {
                let fell = behind.filter(|(_, written)| self.in_all() >= 2.0 * written);
                let level =
                    self.preconditioned.filter(|_| spec.known_cache.is_none() && behind.is_none());
                let level = level.map(|rounds| (rounds, Why::Preconditioned { rounds }));
                level.or(fell.map(|(at, written)| (at, Why::PastChange { written })))
            }
        }
    }
}

impl SteadySpec {
    /// Of stacks that nothing is said about, each has a drive to itself.
    fn reach(&self, below: usize, through: usize) -> f64 {
        let said = self.reaches.get(below).and_then(|row| row.get(through)).copied();
        said.unwrap_or(if below == through { 1.0 } else { 0.0 })
    }
}

/// The last change of a stack's pace, by either of its two figures. Rounds that precondition have
/// longer slices, whose pace is another with fewer flushes: it is not held against that of the
/// others.
fn change(rounds: &[WrittenRound], stack: usize, got: &[f64]) -> Option<LastingFall> {
    let judged = rounds.iter().enumerate().filter(|(_, round)| !round.preconditions);
    let wrote: Vec<(usize, &Wrote)> =
        judged.filter_map(|(at, round)| Some((at, round.stack(stack)?))).collect();
    let acknowledged: Vec<f64> =
        wrote.iter().map(|(_, wrote)| wrote.bytes / wrote.seconds).collect();
    let durable: Option<Vec<f64>> =
        wrote.iter().map(|(_, wrote)| Some(wrote.bytes / wrote.durable_s?)).collect();
    let found = |paces: &Vec<f64>| {
        let fall = last_fall(paces)?;
        let at = wrote[fall.at].0;
        Some(LastingFall {
            stack,
            at,
            written: if at == 0 { 0.0 } else { got[at - 1] },
            before: fall.before,
            after: fall.after,
        })
    };
    // Of two at the same place the durable one is the drive's.
    [Some(acknowledged), durable].iter().flatten().filter_map(found).max_by_key(|change| change.at)
}

/// A fall in a series of paces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fall {
    /// First value after it.
    pub at: usize,
    /// Mean of what lies between it and the break before it.
    pub before: f64,
    /// Mean from it on.
    pub after: f64,
}

/// The last fall of a series that lasts to its end: a drive may change its pace more than once. A
/// break upwards, a dip that passes and a slope are none.
pub fn last_fall(paces: &[f64]) -> Option<Fall> {
    if paces.iter().any(|pace| !pace.is_finite()) {
        return None;
    }
    let (mut start, mut found) = (0, None);
    while let Some(step) = best_break(&paces[start..]) {
        let (one, two) = paces[start..].split_at(step);
        let end = &two[two.len() / 2..];
        if mean(two) <= FALLEN * mean(one) && mean(end) <= FALLEN * mean(one) && is_a_step(one, two)
        {
            found = Some(Fall { at: start + step, before: mean(one), after: mean(two) });
        }
        start += step;
    }
    found
}

/// Whether two levels fit better than one straight line.
fn is_a_step(one: &[f64], two: &[f64]) -> bool {
    let around = |side: &[f64]| side.iter().map(|value| (value - mean(side)).powi(2)).sum::<f64>();
    let whole = [one, two].concat();
    let line = FittedLine::fit(&whole);
    let off = |(at, value): (usize, &f64)| (value - line.value_at(at)).powi(2);
    around(one) + around(two) < whole.iter().enumerate().map(off).sum()
}

/// The best straight line through values at equal distances.
struct FittedLine {
    middle: f64,
    mean: f64,
    slope: f64,
}

impl FittedLine {
    fn fit(values: &[f64]) -> FittedLine {
        let (middle, mean) = ((values.len() as f64 - 1.0) / 2.0, mean(values));
        let (mut together, mut alone) = (0.0, 0.0);
        for (at, value) in values.iter().enumerate() {
            let x = at as f64 - middle;
            together += x * (value - mean);
            alone += x * x;
        }
        FittedLine { middle, mean, slope: if alone > 0.0 { together / alone } else { 0.0 } }
    }

    fn value_at(&self, at: usize) -> f64 {
        self.mean + self.slope * (at as f64 - self.middle)
    }
}

/// How level a window is, by SNIA's two measures; fractions of its mean. A warning, never a reason
/// to refuse: ratios of neighbouring slices do not care.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Window {
    /// Largest minus smallest of five stretches.
    pub range: f64,
    /// How far the best straight line through them goes, first to last.
    pub slope: f64,
}

impl Window {
    /// Of the paces of the rounds that a verdict rests on, in five stretches; `None` of fewer.
    pub fn from_paces(paces: &[f64]) -> Option<Window> {
        let n = paces.len();
        if n < STRETCHES || mean(paces) <= 0.0 {
            return None;
        }
        let stretch = |k: usize| mean(&paces[k * n / STRETCHES..(k + 1) * n / STRETCHES]);
        let means: Vec<f64> = (0..STRETCHES).map(stretch).collect();
        let (low, high) = means
            .iter()
            .fold((f64::INFINITY, 0.0_f64), |(low, high), one| (low.min(*one), high.max(*one)));
        let goes = FittedLine::fit(&means).slope.abs() * (STRETCHES - 1) as f64;
        Some(Window { range: (high - low) / mean(&means), slope: goes / mean(&means) })
    }

    /// `range 31 % of the mean (20 % is allowed), slope 8 % (10 % is allowed)`
    pub fn to_sentence(&self) -> String {
        format!(
            "range {:.0} % of the mean ({:.0} % is allowed), slope {:.0} % ({:.0} % is allowed)",
            100.0 * self.range,
            100.0 * RANGE,
            100.0 * self.slope,
            100.0 * SLOPE
        )
    }

    /// Whether SNIA would call it steady.
    pub fn is_level(&self) -> bool {
        self.range <= RANGE && self.slope <= SLOPE
    }
}

#[cfg(test)]
#[path = "steady_tests.rs"]
mod tests;
