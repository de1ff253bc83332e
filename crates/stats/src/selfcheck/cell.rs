//! One cell of the check repeats the same simulated comparison, each time with another seed.

use super::conduct::{Conducted, one_after_the_other};
use super::kinds::NoiseSource;
use crate::judge::JudgedRatio;
use crate::noise::Noise;
use crate::pilot::Design;
use crate::stop::StopSpec;
use crate::{Refusal, Verdict, family};
use std::ops::ControlFlow;

/// Zone within which "no difference" may be said, as a fraction: iotax's own default.
const ZONE: f64 = 0.02;

/// A simulated comparison and its conditions.
#[derive(Clone)]
pub struct SimulatedCell {
    /// Noise that the comparison runs under.
    pub source: NoiseSource,
    /// Costs of the stacks as fractions, the baseline's first.
    pub costs: Vec<f64>,
    /// Rule that ends the measurement.
    pub stop: StopSpec,
    /// Seconds that each stack runs when the stacks are also measured one after the other, for
    /// comparison; `None` if they are not.
    pub naive_s: Option<f64>,
}

/// Outcome of one repetition, with each stack compared to the baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Repetition {
    /// One conclusion per comparison.
    pub comparisons: Vec<Concluded>,
    /// Machine time of the repetition, in seconds.
    pub took_s: f64,
    /// Part of that time before the first round (warm-up and pilot), in seconds.
    pub pilot_s: f64,
    /// Design that the pilot chose.
    pub design: Design,
    /// Share of the windows' time that ran at a limit.
    pub limited: f64,
    /// ln of the ratio that measuring one after the other found, over the truth; `None` if that was
    /// not done.
    pub naive_error: Option<f64>,
}

/// One comparison of a repetition.
#[derive(Clone, Debug, PartialEq)]
pub struct Concluded {
    /// Verdict that was stated.
    pub said: StatedVerdict,
    /// True if the interval covers the truth; `None` without an interval.
    pub covered: Option<bool>,
    /// ln of the estimate over the truth; `None` without an estimate.
    pub error: Option<f64>,
    /// Half-width of the interval of ln R; `None` without an interval.
    pub half_width: Option<f64>,
    /// p value under the hypothesis of no difference; 1 without an estimate.
    pub p: f64,
    /// Word of the refusal that withheld the verdict; `None` if the interval was merely too wide.
    pub refused: Option<&'static str>,
    /// Estimated time added to each I/O, against the truth; `None` unless one I/O is in flight at a
    /// time.
    pub added: Option<AddedTime>,
}

/// Estimate of the time added to each I/O, compared with the truth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AddedTime {
    /// Estimate minus truth, in seconds.
    pub off_s: f64,
    /// Half-width of its interval, in seconds.
    pub half_width_s: f64,
}

impl AddedTime {
    /// Returns true if the interval covers the truth.
    pub fn is_covered(&self) -> bool {
        self.off_s.abs() <= self.half_width_s
    }
}

/// A verdict without its figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatedVerdict {
    /// The stack costs something.
    Costs,
    /// The stack gains something.
    Gains,
    /// There is no difference.
    None,
    /// The comparison stays unresolved.
    Unresolved,
}

impl Concluded {
    fn from_judged(judged: &JudgedRatio, truth: f64) -> Concluded {
        let found = judged.ratio.as_ref().ok();
        Concluded {
            said: stated_verdict(&judged.verdict),
            covered: found.map(|found| found.low <= truth && truth <= found.high),
            error: found.map(|found| (found.ratio / truth).ln()),
            half_width: found.map(|found| (found.high / found.low).ln() / 2.0),
            p: found.map_or(1.0, |found| found.log().p_zero()),
            refused: refusal_word(&judged.verdict),
            added: None,
        }
    }

    /// Returns true if the verdict is wrong: it concludes something and its interval misses
    /// `truth`, the true ratio, or it says no difference and `truth` is beyond the zone.
    pub fn is_wrong(&self, truth: f64) -> bool {
        match self.said {
            StatedVerdict::Costs | StatedVerdict::Gains => self.covered == Some(false),
            StatedVerdict::None => self.covered == Some(false) || (truth - 1.0).abs() > ZONE,
            StatedVerdict::Unresolved => false,
        }
    }
}

fn stated_verdict(verdict: &Verdict) -> StatedVerdict {
    match verdict {
        Verdict::Costs { .. } => StatedVerdict::Costs,
        Verdict::Gains { .. } => StatedVerdict::Gains,
        Verdict::NoDifference { .. } => StatedVerdict::None,
        Verdict::Unresolved { .. } => StatedVerdict::Unresolved,
    }
}

/// Returns the refusal's word, if there is one. An interval that is too wide is an answer; a
/// refusal says that no interval can be trusted.
fn refusal_word(verdict: &Verdict) -> Option<&'static str> {
    match verdict {
        Verdict::Unresolved { reason: Refusal::TooWide { .. }, .. } => None,
        Verdict::Unresolved { reason, .. } => Some(reason.word()),
        _ => None,
    }
}

impl Repetition {
    /// Returns true if any comparison of all these outcomes shows a cost or gain at the
    /// simultaneous level: a false one, if none of the stacks costs anything.
    pub fn any_false(outcomes: &[&Repetition]) -> bool {
        let all: Vec<&Concluded> =
            outcomes.iter().flat_map(|outcome| &outcome.comparisons).collect();
        let significant = family::significant(&all.iter().map(|one| one.p).collect::<Vec<_>>());
        all.iter().zip(significant).any(|(one, sure)| {
            sure && matches!(one.said, StatedVerdict::Costs | StatedVerdict::Gains)
        })
    }
}

impl SimulatedCell {
    /// Runs one repetition. The same seed gives the same result.
    pub fn once(&self, seed: u64) -> Repetition {
        let mut noise = Noise::new(seed);
        let (machine, order) = (noise.fork(), noise.bits());
        let done = self.source.conduct(&self.costs, &self.stop, ZONE, machine.clone(), order);
        let truth = |stack: usize| self.source.truth(self.costs[stack]);
        let Conducted { judged, took_s, pilot_s, limited, design, added, lone_s } = done;
        let naive = |each_s| {
            one_after_the_other(&mut self.source.machine(&self.costs, machine.clone()), each_s)
        };
        Repetition {
            comparisons: judged
                .iter()
                .enumerate()
                .map(|(at, one)| Concluded {
                    added: added.get(at).copied().flatten().map(|found| AddedTime {
                        off_s: found.value - lone_s * (1.0 / truth(at + 1) - 1.0),
                        half_width_s: found.half_width,
                    }),
                    ..Concluded::from_judged(one, truth(at + 1))
                })
                .collect(),
            took_s,
            pilot_s,
            design,
            limited,
            naive_error: self.naive_s.map(|each_s| (naive(each_s) / truth(1)).ln()),
        }
    }
}

/// Runs all repetitions of all cells, spread over the machine's cores, and returns those of each
/// cell. The result does not depend on the number of cores. `go_on` is called before each
/// repetition and may end the whole run, which then returns `None`.
pub fn repeat(
    cells: &[SimulatedCell],
    reps: u64,
    seed: u64,
    go_on: &(dyn Fn() -> ControlFlow<()> + Sync),
) -> Option<Vec<Vec<Repetition>>> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u64;
    // Small seeds differ in few bits, and so do repetitions: without mixing, one seed's repetitions
    // are another's.
    let base = Noise::new(seed).bits();
    let seed_of = |cell: usize, rep: u64| Noise::new(base ^ (cell as u64) << 40 ^ rep).bits();
    let share = |thread: u64| -> Option<Vec<Vec<Repetition>>> {
        let of = |(at, cell): (usize, &SimulatedCell)| {
            let ours = (thread..reps).step_by(threads as usize);
            let one = |rep| go_on().is_continue().then(|| cell.once(seed_of(at, rep)));
            ours.map(one).collect()
        };
        cells.iter().enumerate().map(of).collect()
    };
    let shares: Option<Vec<Vec<Vec<Repetition>>>> = std::thread::scope(|scope| {
        let running: Vec<_> =
            (0..threads).map(|thread| scope.spawn(move || share(thread))).collect();
        // A panic in a simulation is a bug and propagates as one.
        running
            .into_iter()
            .map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    Some(interleaved(shares?, cells.len()))
}

/// Puts the shares of the threads back in the order of the repetitions.
fn interleaved(shares: Vec<Vec<Vec<Repetition>>>, cells: usize) -> Vec<Vec<Repetition>> {
    let mut all: Vec<Vec<Repetition>> = vec![Vec::new(); cells];
    let mut shares: Vec<Vec<_>> =
        shares.into_iter().map(|share| share.into_iter().map(Vec::into_iter).collect()).collect();
    for (at, cell) in all.iter_mut().enumerate() {
        loop {
            let before = cell.len();
            cell.extend(shares.iter_mut().filter_map(|share| share[at].next()));
            if cell.len() == before {
                break;
            }
        }
    }
    all
}
