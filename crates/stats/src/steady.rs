//! Decides from which round on writes are steady, that is, past the caches. A verdict on steady
//! writes may rest only on rounds after the largest known cache on the path is full, after a fall
//! of the pace that shows the drive's own cache, or after preconditioning that ended with a level
//! pace. Without any of these, no verdict is given. Every visit begins anew, since caches may have
//! emptied in the pause before it.

use super::Refusal;
use super::level::best_break;
use super::rounds::Round;
use super::spread::mean;
use serde::Serialize;
use std::ops::Range;

/// Largest pace after a fall that counts, as a fraction of the pace before it.
const FALLEN: f64 = 0.9;
/// Number of equal stretches that a window is divided into, as SNIA's measurement window has five
/// rounds.
const STRETCHES: usize = 5;
/// SNIA's bound on the range of a steady window, as a fraction of its mean: the largest minus the
/// smallest value (Solid State Storage Performance Test Specification).
const RANGE: f64 = 0.2;
/// SNIA's bound on the slope of a steady window, as a fraction of its mean: the rise or fall of the
/// best straight line within it (same specification).
const SLOPE: f64 = 0.1;

/// Facts about the write path that are known before the first write.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SteadySpec {
    /// Size of the largest known write cache on the path, in bytes; `None` if no cache is known.
    pub known_cache: Option<f64>,
    /// `reaches[a][b]` is the number of bytes that reach each drive below stack a for each byte
    /// written through stack b.
    pub reaches: Vec<Vec<f64>>,
}

/// Amount that one stack wrote in one round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wrote {
    /// Index of the stack.
    pub stack: usize,
    /// Number of bytes written.
    pub bytes: f64,
    /// Seconds that its slices took, until the last write was acknowledged.
    pub seconds: f64,
    /// `seconds` plus the time of the flush that followed; `None` without a flush. It gives the
    /// drive's own pace, whatever a cache above it acknowledges.
    pub durable_s: Option<f64>,
}

/// Writes of one round. Rounds of every kind count, since everything that is written fills the
/// caches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WrittenRound {
    /// Number of the set-up, a visit or an attach, that the round belongs to.
    pub visit: u32,
    /// Amounts written, one per stack.
    pub stacks: Vec<Wrote>,
    /// True if the round preconditioned the drives. Such a round comes before the rounds of its
    /// visit, and no verdict rests on it.
    pub preconditions: bool,
}

impl WrittenRound {
    /// Sums up a round, whose amounts must be bytes, by stack. Flushes are not in it:
    /// [`Wrote::durable_s`] is `None`.
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

    /// Returns true if `next` belongs to the same set-up: it is of the same visit and writes to the
    /// same stacks.
    fn goes_on(&self, next: &WrittenRound) -> bool {
        let stacks = |writes: &WrittenRound| {
            writes.stacks.iter().map(|wrote| wrote.stack).collect::<Vec<_>>()
        };
        self.visit == next.visit && stacks(self) == stacks(next)
    }

    fn stack_write(&self, stack: usize) -> Option<&Wrote> {
        self.stacks.iter().find(|wrote| wrote.stack == stack)
    }
}

/// Point at which a stack's pace fell and stayed down.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LastingFall {
    /// Index of the stack.
    pub stack: usize,
    /// Index of the first round after the fall, from 0 within the visit.
    pub at: usize,
    /// Bytes that each drive below the stack had received in the visit before that round.
    pub written: f64,
    /// Pace before the fall, in bytes per second.
    pub before: f64,
    /// Pace after the fall, in bytes per second.
    pub after: f64,
}

/// Reason why the steady regime counts as reached or not.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Why {
    /// The steady regime was not reached.
    NotReached,
    /// More was written than the largest known cache holds.
    PastCache {
        /// Size of the cache, in bytes.
        cache: f64,
    },
    /// The pace fell and stayed low: after the known cache was full, or, if none was filled, until
    /// as many bytes had been written after the fall as before it.
    PastChange {
        /// Bytes that each drive below the stack had received at the fall.
        written: f64,
    },
    /// Preconditioning before the rounds of the visit ended with a level pace, which did not fall
    /// later, and no cache is known.
    Preconditioned {
        /// Number of preconditioning rounds.
        rounds: usize,
    },
}

/// Findings from the rounds of one visit.
#[derive(Clone, Debug, PartialEq)]
pub struct Steady {
    /// True if every stack has come past the caches.
    pub reached: bool,
    /// Index of the first round that a verdict on steady writes may rest on, from 0 within the
    /// visit; the number of rounds if there is none yet.
    pub from_round: usize,
    /// Reason for the stack that became steady last.
    pub why: Why,
    /// Bytes that the least written drive received in the visit.
    pub written: f64,
    /// Last lasting fall of the pace of each stack that had one.
    pub changes: Vec<LastingFall>,
}

/// Returns the visits of a run in order of time: for each the range of its rounds, and the findings
/// from these.
pub fn by_visit(rounds: &[WrittenRound], spec: &SteadySpec) -> Vec<(Range<usize>, Steady)> {
    let mut start = 0;
    let visit = |rounds: &[WrittenRound]| {
        let range = start..start + rounds.len();
        start = range.end;
        (range, of_visit(rounds, spec))
    };
    rounds.chunk_by(WrittenRound::goes_on).map(visit).collect()
}

/// Returns the findings from the visit that the last round belongs to; `None` if there are no
/// rounds.
pub fn at_the_end(rounds: &[WrittenRound], spec: &SteadySpec) -> Option<Steady> {
    Some(of_visit(rounds.chunk_by(WrittenRound::goes_on).last()?, spec))
}

/// Returns for each round whether a verdict on steady writes may rest on it.
///
/// # Errors
/// [`Refusal::SteadyNotShown`] if no visit became steady.
pub fn mark_judged(rounds: &[WrittenRound], spec: &SteadySpec) -> Result<Vec<bool>, Refusal> {
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

/// Builds the refusal from the visit that wrote most.
fn not_shown(visits: &[(Range<usize>, Steady)], spec: &SteadySpec) -> Refusal {
    let written = visits.iter().map(|(_, steady)| steady.written).fold(0.0, f64::max);
    Refusal::SteadyNotShown {
        written: written as u64,
        known_cache: spec.known_cache.map(|cache| cache as u64),
    }
}

/// Returns the findings from the rounds of one visit.
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

/// Measures how level the pace of a stack's last five preconditioning rounds is; `None` if there
/// are fewer. If the writes end with a flush, the pace includes it and is the drive's own.
pub fn preconditioned(rounds: &[WrittenRound], stack: usize) -> Option<Window> {
    let ours = rounds
        .iter()
        .filter(|round| round.preconditions)
        .filter_map(|round| round.stack_write(stack));
    let paces: Vec<f64> =
        ours.map(|wrote| wrote.bytes / wrote.durable_s.unwrap_or(wrote.seconds)).collect();
    Window::from_paces(&paces[paces.len().checked_sub(STRETCHES)?..])
}

/// Findings about one stack from the rounds of a visit.
struct StackCourse {
    /// Bytes that each drive below the stack had received, through any stack, by the end of each
    /// round of the visit.
    got: Vec<f64>,
    change: Option<LastingFall>,
    /// Number of preconditioning rounds at the start of the visit, if the stack was level after
    /// them.
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
        let change = last_change(rounds, stack, &got);
        let level = preconditioned(rounds, stack).is_some_and(|window| window.is_level());
        let before = rounds.iter().filter(|round| round.preconditions).count();
        StackCourse { got, change, preconditioned: level.then_some(before) }
    }

    fn in_all(&self) -> f64 {
        self.got.last().copied().unwrap_or(0.0)
    }

    /// Returns the index of the first steady round, and the reason; `None` if there is none yet.
    ///
    /// Once a known cache is full, writes are steady. A later fall of the pace postpones this to
    /// the fall: the drive then had a larger cache. Without a full cache, as much must be written
    /// after a fall as before it: a further regime that is no longer than the first would then have
    /// shown. If no cache is known, preconditioning that ended with a level pace is enough, unless
    /// the pace falls later.
    fn reached(&self, spec: &SteadySpec) -> Option<(usize, Why)> {
        // The round at the change may have slices on both sides of it.
        let after_fall = self.change.map(|change| (change.at + 1, change.written));
        let past_cache = spec.known_cache.filter(|cache| self.in_all() > *cache);
        match (past_cache, after_fall) {
            (Some(cache), fall) => {
                let after_cache = 1 + self.got.iter().position(|got| *got > cache)?;
                let later = fall.filter(|(at, _)| *at > after_cache);
                let fell = later.map(|(at, written)| (at, Why::PastChange { written }));
                Some(fell.unwrap_or((after_cache, Why::PastCache { cache })))
            }
            (None, fall) => {
                let fell = fall.filter(|(_, written)| self.in_all() >= 2.0 * written);
                let level =
                    self.preconditioned.filter(|_| spec.known_cache.is_none() && fall.is_none());
                let level = level.map(|rounds| (rounds, Why::Preconditioned { rounds }));
                level.or(fell.map(|(at, written)| (at, Why::PastChange { written })))
            }
        }
    }
}

impl SteadySpec {
    /// Returns the bytes that reach each drive below the stack `below` for each byte written
    /// through the stack `through`. Stacks that `reaches` does not mention have a drive each.
    fn reach(&self, below: usize, through: usize) -> f64 {
        let said = self.reaches.get(below).and_then(|row| row.get(through)).copied();
        said.unwrap_or(if below == through { 1.0 } else { 0.0 })
    }
}

/// Finds the last lasting fall of a stack's pace: the acknowledged pace or, if all rounds have one,
/// the durable pace, whichever fell later. `got` holds the bytes that its drive had received by the
/// end of each round. Preconditioning rounds are left out, since their longer slices have fewer
/// flushes and so another pace.
fn last_change(rounds: &[WrittenRound], stack: usize, got: &[f64]) -> Option<LastingFall> {
    let judged = rounds.iter().enumerate().filter(|(_, round)| !round.preconditions);
    let wrote: Vec<(usize, &Wrote)> =
        judged.filter_map(|(at, round)| Some((at, round.stack_write(stack)?))).collect();
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
    // Of two changes at the same round, the durable one is the drive's.
    [Some(acknowledged), durable].iter().flatten().filter_map(found).max_by_key(|change| change.at)
}

/// A fall in a series of paces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fall {
    /// Index of the first value after the fall.
    pub at: usize,
    /// Mean of the values between the previous break and the fall.
    pub before: f64,
    /// Mean of all values from the fall on.
    pub after: f64,
}

/// Finds the last fall in a series of paces that lasts to its end: a drive may change its pace more
/// than once. A rise, a passing dip and a slope do not count. `None` if there is no such fall or a
/// pace is not finite.
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

/// Returns true if two constant levels, one for each part, fit the values better than one straight
/// line through both.
fn is_a_step(one: &[f64], two: &[f64]) -> bool {
    let around = |side: &[f64]| side.iter().map(|value| (value - mean(side)).powi(2)).sum::<f64>();
    let whole = [one, two].concat();
    let line = FittedLine::fit(&whole);
    let off = |(at, value): (usize, &f64)| (value - line.value_at(at)).powi(2);
    around(one) + around(two) < whole.iter().enumerate().map(off).sum()
}

/// Least-squares line through equally spaced values.
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

/// Steadiness of the paces of a window of rounds, by SNIA's two measures, as fractions of the mean
/// pace. For rounds that are compared it is only a warning: ratios of neighbouring slices are not
/// affected.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Window {
    /// Largest minus smallest mean pace of five stretches.
    pub range: f64,
    /// Rise or fall of the best straight line through the five means, from the first to the last.
    pub slope: f64,
}

impl Window {
    /// Computes both measures from the pace of each round in order of time. Returns `None` below
    /// five rounds, or if the mean pace is not positive.
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

    /// Returns both measures as text: `range 31 % of the mean (20 % is allowed), slope 8 % (10 % is
    /// allowed)`
    pub fn to_sentence(&self) -> String {
        format!(
            "range {:.0} % of the mean ({:.0} % is allowed), slope {:.0} % ({:.0} % is allowed)",
            100.0 * self.range,
            100.0 * RANGE,
            100.0 * self.slope,
            100.0 * SLOPE
        )
    }

    /// Returns true if both measures are within SNIA's bounds.
    pub fn is_level(&self) -> bool {
        self.range <= RANGE && self.slope <= SLOPE
    }
}

#[cfg(test)]
#[path = "steady_tests.rs"]
mod tests;
