//! One cell of the check: the same simulated comparison again and again, each time with another
//! seed.

use super::conduct::{Conducted, one_after_the_other};
use super::kinds::NoiseSource;
use crate::judge::JudgedRatio;
use crate::noise::Noise;
use crate::pilot::Design;
use crate::stop::StopSpec;
use crate::{Refusal, Verdict, family};
use std::ops::ControlFlow;

/// Zone within which "no difference" may be said, iotax's own default.
const ZONE: f64 = 0.02;

/// What is simulated.
#[derive(Clone)]
pub struct SimulatedCell {
    /// Under which noise.
    pub source: NoiseSource,
    /// Costs of the stacks, the baseline's first.
    pub costs: Vec<f64>,
    /// When measuring stops.
    pub stop: StopSpec,
    /// Also what one after the other says, so many seconds each.
    pub naive_s: Option<f64>,
}

/// What came of one repetition: each stack against the baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Repetition {
    /// A line a comparison.
    pub comparisons: Vec<Concluded>,
    /// Machine time, seconds.
    pub took_s: f64,
    /// Of that before the first round: warm-up and pilot, seconds.
    pub pilot_s: f64,
    /// What the pilot chose.
    pub design: Design,
    /// Share of the windows that ran at a limit.
    pub limited: f64,
    /// Relative error of one after the other, where asked for.
    pub naive_error: Option<f64>,
}

/// One comparison of a repetition.
#[derive(Clone, Debug, PartialEq)]
pub struct Concluded {
    /// What is said.
    pub said: StatedVerdict,
    /// Whether the interval holds the truth, where there is one.
    pub covered: Option<bool>,
    /// ln of the estimate over the truth.
    pub error: Option<f64>,
    /// Half-width of ln R.
    pub half_width: Option<f64>,
    /// p value of no difference.
    pub p: f64,
    /// Something else than the width withheld the verdict.
    pub refused: Option<&'static str>,
    /// What one I/O takes more, where one is in flight at a time.
    pub added: Option<AddedTime>,
}

/// Added time of one I/O against the truth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AddedTime {
    /// By how much the estimate is off, seconds.
    pub off_s: f64,
    /// Half-width of its interval, seconds.
    pub half_width_s: f64,
}

impl AddedTime {
    /// Whether the interval holds the truth.
    pub fn is_covered(&self) -> bool {
        self.off_s.abs() <= self.half_width_s
    }
}

/// A verdict without its figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatedVerdict {
    /// It costs.
    Costs,
    /// It gains.
    Gains,
    /// No difference.
    None,
    /// Unresolved.
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
            refused: refused(&judged.verdict),
            added: None,
        }
    }

    /// A statement that is not true.
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

/// An interval that is too wide is an answer; a refusal says that none can be trusted.
fn refused(verdict: &Verdict) -> Option<&'static str> {
    match verdict {
        Verdict::Unresolved { reason: Refusal::TooWide { .. }, .. } => None,
        Verdict::Unresolved { reason, .. } => Some(reason.word()),
        _ => None,
    }
}

impl Repetition {
    /// Whether any comparison shows a false cost or gain by its simultaneous interval (none of them
    /// costs anything).
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
    /// One repetition; the same seed gives the same.
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

/// All repetitions of all cells, spread over the machine's cores; the result does not depend on
/// how. `tell` hears of each repetition before it runs and may end it all: then there is nothing.
pub fn repeat(
    cells: &[SimulatedCell],
    reps: u64,
    seed: u64,
    tell: &(dyn Fn() -> ControlFlow<()> + Sync),
) -> Option<Vec<Vec<Repetition>>> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u64;
    // Small seeds differ in few bits, and so do repetitions: without mixing, one seed's repetitions
    // are another's.
    let base = Noise::new(seed).bits();
    let seed_of = |cell: usize, rep: u64| Noise::new(base ^ (cell as u64) << 40 ^ rep).bits();
    let share = |thread: u64| -> Option<Vec<Vec<Repetition>>> {
        let of = |(at, cell): (usize, &SimulatedCell)| {
            let ours = (thread..reps).step_by(threads as usize);
            let one = |rep| tell().is_continue().then(|| cell.once(seed_of(at, rep)));
            ours.map(one).collect()
        };
        cells.iter().enumerate().map(of).collect()
    };
    let shares: Option<Vec<Vec<Vec<Repetition>>>> = std::thread::scope(|scope| {
        let running: Vec<_> =
            (0..threads).map(|thread| scope.spawn(move || share(thread))).collect();
        // A panic of a simulation is a bug and goes on as one.
        running
            .into_iter()
            .map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    Some(interleaved(shares?, cells.len()))
}

/// Back in the order of the repetitions.
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
