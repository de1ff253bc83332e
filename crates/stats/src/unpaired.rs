//! Compares two runs at different times. Nothing pairs their rounds, so the machine's drift between
//! them does not cancel and is a part of the interval. The size of the drift is estimated from the
//! way a level wanders inside its own run, taken as 1/f noise. METHOD.md derives it;
//! docs/decisions/unpaired-runs.md has the measurements.

use super::ratio::{Total, ratio_of_totals, residuals};
use super::spread::{MeanSpread, mean};
use super::visits::LEAST;
use super::{Concludes, Refusal, Uncertain, Verdict, t975};

/// Degrees of freedom of a drift estimated from one run: those of the variance of a Brownian path
/// about its own mean, `2 (1/6)^2 / (1/45)`. Noise with a shorter memory has more.
const DRIFT_FREEDOM: f64 = 2.5;

/// Separation from which [`growth`] returns its asymptote, which differs by one in a million and
/// loses no digits.
const FAR: f64 = 1_000.0;

/// A variance with its degrees of freedom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VariancePart {
    /// Variance of the logarithm.
    pub variance: f64,
    /// Degrees of freedom of the variance.
    pub freedom: f64,
}

/// Level of a quantity in one run: a rate, a mean latency, or the ratio of two stacks' rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// Natural logarithm of the quantity.
    pub log: f64,
    /// Squared standard error of `log` from the run's own noise.
    pub error: VariancePart,
    /// Variance by which drift alone would shift `log` in another run of the same length right
    /// after this one.
    pub drift: VariancePart,
    /// Number of rounds or visits in the estimate.
    pub units: usize,
}

impl Level {
    /// Returns the 95 % interval of the quantity within its own run.
    pub fn interval(&self) -> (f64, f64) {
        let half_width = half_width(&[self.error]);
        ((self.log - half_width).exp(), (self.log + half_width).exp())
    }

    /// Estimates the level from whole rounds in order of time, as sum over items: I/Os over
    /// seconds, or nanoseconds over I/Os.
    ///
    /// # Errors
    /// [`Refusal`] below 16 rounds, if the items or the sum are zero over all rounds, or for a
    /// value that is negative or not finite.
    pub fn of_rounds(rounds: &[Total]) -> Result<Level, Refusal> {
        let (log, residuals) = mean_of_units(rounds)?;
        of_rounds(log, &residuals)
    }

    /// Estimates the level from the totals of visits, as sum over items. The variance between
    /// visits is also the drift, since another run has other set-ups.
    ///
    /// # Errors
    /// [`Refusal`] below 4 visits, if the items or the sum are zero over all visits, or for a value
    /// that is negative or not finite.
    pub fn of_visits(visits: &[Total]) -> Result<Level, Refusal> {
        let (log, residuals) = mean_of_units(visits)?;
        of_visits(log, &residuals)
    }

    /// Estimates the ratio of a stack's mean per item to its baseline's, from the rounds
    /// `(baseline, stack)` of one run. Noise that affects both alike cancels in the residuals; the
    /// drift is estimated from the rest.
    ///
    /// # Errors
    /// As [`Level::of_rounds`], for either side; the refusal says which side has no items or no
    /// sum.
    pub fn of_paired_rounds(rounds: &[(Total, Total)]) -> Result<Level, Refusal> {
        let (log, residuals) = paired(rounds)?;
        of_rounds(log, &residuals)
    }

    /// Estimates the ratio of a stack's mean per item to its baseline's, from the visits
    /// `(baseline, stack)` of one run.
    ///
    /// # Errors
    /// As [`Level::of_visits`], for either side; the refusal says which side has no items or no
    /// sum.
    pub fn of_paired_visits(visits: &[(Total, Total)]) -> Result<Level, Refusal> {
        let (log, residuals) = paired(visits)?;
        of_visits(log, &residuals)
    }
}

/// Returns the logarithm of the mean per item, and the relative residual of each unit (round or
/// visit).
fn mean_of_units(units: &[Total]) -> Result<(f64, Vec<f64>), Refusal> {
    let pairs: Vec<(f64, f64)> = units.iter().map(|total| (total.items, total.sum)).collect();
    let mean = ratio_of_totals(&pairs).map_err(|refusal| match refusal {
        Refusal::IdleBaseline => Refusal::IdleStack,
        other => other,
    })?;
    Ok((mean.ln(), residuals(&pairs, mean)))
}

fn paired(units: &[(Total, Total)]) -> Result<(f64, Vec<f64>), Refusal> {
    let (a, b): (Vec<Total>, Vec<Total>) = units.iter().copied().unzip();
    let (log_a, off_a) = mean_of_units(&a).map_err(|refusal| match refusal {
        Refusal::IdleStack => Refusal::IdleBaseline,
        other => other,
    })?;
    let (log_b, off_b) = mean_of_units(&b)?;
    Ok((log_b - log_a, off_b.iter().zip(&off_a).map(|(b, a)| b - a).collect()))
}

fn of_rounds(log: f64, residuals: &[f64]) -> Result<Level, Refusal> {
    let spread = MeanSpread::from_residuals(residuals)?;
    let means: Vec<f64> = residuals.chunks_exact(spread.batch).map(mean).collect();
    // The degrees of freedom are those of the batches. A memory so long that it leaves the spread
    // fewer is represented by the drift.
    Ok(Level {
        log,
        error: VariancePart {
            variance: spread.variance / spread.n as f64,
            freedom: (spread.batches - 1) as f64,
        },
        drift: VariancePart { variance: flicker(&means), freedom: DRIFT_FREEDOM },
        units: spread.n,
    })
}

fn of_visits(log: f64, residuals: &[f64]) -> Result<Level, Refusal> {
    let k = residuals.len();
    if k < LEAST {
        return Err(Refusal::TooFewVisits { have: k });
    }
    let variance = residuals.iter().map(|e| e * e).sum::<f64>() / (k - 1) as f64;
    let freedom = (k - 1) as f64;
    Ok(Level {
        log,
        error: VariancePart { variance: variance / k as f64, freedom },
        drift: VariancePart { variance, freedom },
        units: k,
    })
}

/// Returns the Allan variance of the 1/f noise in batch means: half the mean squared difference of
/// adjacent stretches. For 1/f noise it is the same for stretches of every length, hence also for
/// whole runs.
///
/// Independent noise adds as much to `s2`, the variance of the `m` batch means, as to `a`, half the
/// mean squared difference of neighbours. 1/f noise adds `m ln m / (2 (m - 1) ln 2)` times as much
/// to `s2` as to `a` (Barnes, "Tables of bias functions", NBS Technical Note 375, 1969: B1). So
/// their difference is free of independent noise. The standard deviation that it has among
/// independent batches is added (von Neumann 1941), since 16 batches that show no drift do not
/// prove that there is none.
fn flicker(means: &[f64]) -> f64 {
    let m = means.len() as f64;
    let centre = mean(means);
    let s2 = means.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / (m - 1.0);
    let a =
        means.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum::<f64>() / (2.0 * (m - 1.0));
    let chance = s2 * ((m - 2.0) / (m * m - 1.0)).sqrt();
    let excess = m * m.ln() / (2.0 * (m - 1.0) * std::f64::consts::LN_2) - 1.0;
    (s2 - a + chance).max(0.0) / excess
}

/// Returns the factor by which the mean squared difference of two stretches of 1/f noise grows if
/// their starts lie `separation` times their length apart, instead of adjoining (1). It grows with
/// the logarithm of `separation` (Barnes, B2); less than 1 counts as 1.
pub fn growth(separation: f64) -> f64 {
    let r = separation.max(1.0);
    if r >= FAR {
        return (2.0 * r.ln() + 3.0) / (4.0 * std::f64::consts::LN_2);
    }
    let term = |x: f64| if x > 0.0 { x * x * x.ln() } else { 0.0 };
    (term(r + 1.0) + term(r - 1.0) - 2.0 * term(r)) / (4.0 * std::f64::consts::LN_2)
}

/// Ratio of the new run to the old, with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnpairedChange {
    /// Estimated ratio, new over old.
    pub ratio: f64,
    /// Lower bound of the interval.
    pub low: f64,
    /// Upper bound of the interval.
    pub high: f64,
    /// Half-width of the logarithm's interval if there were no drift, only the runs' own noise.
    pub noise: f64,
    /// Half-width of the logarithm's interval if there were only drift, as with endless runs.
    pub drift: f64,
    /// Number of rounds or visits of the shorter run.
    pub units: usize,
}

/// Compares two runs whose starts lie `separation` times their length apart: Student's t on the
/// difference of the logarithms, with the variances of noise and drift of both, and Welch's degrees
/// of freedom.
pub fn compare_levels(old: &Level, new: &Level, separation: f64) -> UnpairedChange {
    let grown =
        |part: VariancePart| VariancePart { variance: part.variance * growth(separation), ..part };
    let noise = [old.error, new.error];
    let drift = [grown(old.drift), grown(new.drift)];
    let log = new.log - old.log;
    let half_width = half_width(&[noise, drift].concat());
    UnpairedChange {
        ratio: log.exp(),
        low: (log - half_width).exp(),
        high: (log + half_width).exp(),
        noise: self::half_width(&noise),
        drift: self::half_width(&drift),
        units: old.units.min(new.units),
    }
}

impl UnpairedChange {
    /// Returns true if the runs differ by more than their own noise, but not by more than drift may
    /// have caused.
    pub fn drift_could_explain(&self) -> bool {
        let log = self.ratio.ln().abs();
        log > self.noise && self.low <= 1.0 && 1.0 <= self.high
    }

    /// Concludes a verdict from the change of a rate, of which more is better. `zone` is the
    /// fraction within which "no difference" may be said. [`Refusal::Drift`] is the reason if drift
    /// could explain an unresolved change.
    pub fn verdict(&self, zone: f64) -> Verdict {
        match Verdict::of_interval(self.ratio, self.low, self.high, zone) {
            Verdict::Unresolved { half_width, change, .. } if self.drift_could_explain() => {
                Verdict::Unresolved { half_width, change, reason: Refusal::Drift }
            }
            other => other,
        }
    }

    /// Returns the factor by which both runs must be longer for the interval to end `distance` (of
    /// the logarithm) away from its estimate. Returns `None` if no length suffices, since drift
    /// does not shrink with length.
    pub fn longer(&self, distance: f64) -> Option<f64> {
        let left = distance * distance - self.drift * self.drift;
        (left > 0.0).then(|| (self.noise * self.noise / left).max(1.0))
    }
}

/// Returns the half-width of a 95 % interval: Student's t times the root of the variances' sum,
/// with degrees of freedom by Welch and Satterthwaite.
fn half_width(parts: &[VariancePart]) -> f64 {
    let uncertain = |part: &VariancePart| Uncertain {
        value: 0.0,
        error: part.variance.sqrt(),
        freedom: part.freedom,
    };
    let whole = parts.iter().map(uncertain).reduce(Uncertain::minus);
    // Degrees of freedom are rounded down to whole ones: those of a drift are few and themselves a
    // guess. A tiny amount is added for the precision that squaring loses.
    whole.map_or(0.0, |whole| t975((whole.freedom + 1e-9) as usize) * whole.error)
}

/// Outcome of comparing the change of a rate with the limit, the largest loss that is accepted. A
/// larger loss is beyond the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitOutcome {
    /// The whole interval lies beyond the limit.
    Fails,
    /// The whole interval lies within the limit.
    Passes,
    /// The estimate lies beyond the limit, but the interval reaches back.
    PerhapsBeyond,
    /// The estimate lies within the limit, but the interval reaches beyond.
    PerhapsWithin,
}

impl LimitOutcome {
    /// Compares the ratio of two rates and its bounds with the limit: a fraction (0.05 accepts a
    /// loss of 5 %).
    pub fn against_limit(ratio: f64, low: f64, high: f64, limit: f64) -> LimitOutcome {
        let least = 1.0 - limit;
        match () {
            () if high < least => LimitOutcome::Fails,
            () if low >= least => LimitOutcome::Passes,
            () if ratio < least => LimitOutcome::PerhapsBeyond,
            () => LimitOutcome::PerhapsWithin,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;
    use proptest::prelude::*;

    const RUNS: u64 = 250;
    const ROUNDS: usize = 96;

    /// Kind of noise in a level, round by round; lengths of memory are in runs.
    #[derive(Clone, Copy, Debug)]
    enum Kind {
        White,
        Ar(f64),
        Flicker,
        Walk,
    }

    /// A part of the level that decays: the share of it that stays from round to round, its step,
    /// its state.
    struct Memory {
        stays: f64,
        step: f64,
        state: f64,
    }

    impl Memory {
        /// Builds a memory with a deviation of 3 % at any time that decays over so many rounds.
        fn of(rounds: f64, noise: &mut Noise) -> Memory {
            let stays = (-1.0 / rounds).exp();
            Memory {
                stays,
                step: 0.03 * (1.0 - stays * stays).sqrt(),
                state: 0.03 * noise.normal(),
            }
        }
    }

    impl Kind {
        fn memories(self, noise: &mut Noise) -> Vec<Memory> {
            match self {
                Kind::White => Vec::new(),
                Kind::Ar(runs) => vec![Memory::of(runs * ROUNDS as f64, noise)],
                // Equal parts of every scale are 1/f.
                Kind::Flicker => (0..9).map(|power| Memory::of(3f64.powi(power), noise)).collect(),
                Kind::Walk => vec![Memory { stays: 1.0, step: 0.005, state: 0.0 }],
            }
        }

        /// Rates around 1 with 3 % of independent noise beside the level's.
        fn series(self, noise: &mut Noise, rounds: usize) -> Vec<f64> {
            let mut memories = self.memories(noise);
            let mut next = || {
                for memory in &mut memories {
                    memory.state = memory.stays * memory.state + memory.step * noise.normal();
                }
                let level: f64 = memories.iter().map(|memory| memory.state).sum();
                (level + 0.03 * noise.normal()).exp()
            };
            (0..rounds).map(|_| next()).collect()
        }
    }

    fn totals(rates: &[f64]) -> Vec<Total> {
        rates.iter().map(|rate| Total { sum: *rate, items: 1.0 }).collect()
    }

    /// Returns the coverage of 1 by the whole interval and by the runs' own noise, and the mean
    /// half-width. Nothing changes between two runs that start `separation` lengths apart.
    fn coverage(kind: Kind, separation: usize) -> (f64, f64, f64) {
        let (mut ours, mut naive, mut width) = (0, 0, 0.0);
        for run in 0..RUNS {
            let mut noise = Noise::new(4_000 + run);
            let series = kind.series(&mut noise, ROUNDS * (separation + 1));
            let at = |from: usize| Level::of_rounds(&totals(&series[from..from + ROUNDS])).unwrap();
            let found = compare_levels(&at(0), &at(ROUNDS * separation), separation as f64);
            ours += u64::from(found.low <= 1.0 && 1.0 <= found.high);
            naive += u64::from(found.ratio.ln().abs() <= found.noise);
            width += (found.high / found.low).ln() / 2.0 / RUNS as f64;
        }
        (ours as f64 / RUNS as f64, naive as f64 / RUNS as f64, width)
    }

    #[test]
    fn nothing_changed_is_covered_whatever_the_noise_remembers() {
        let cases = [
            (Kind::White, 1),
            (Kind::Ar(0.05), 1),
            (Kind::Ar(0.3), 4),
            (Kind::Ar(1.0), 4),
            (Kind::Flicker, 1),
            (Kind::Flicker, 8),
        ];
        for (kind, separation) in cases {
            let (ours, _, width) = coverage(kind, separation);
            assert!(ours >= 0.92, "{kind:?} {separation}: covers {ours}, +- {width}");
        }
        // A walk has no level to return to; only adjoining runs can be distinguished.
        let (walk, _, width) = coverage(Kind::Walk, 1);
        assert!(walk >= 0.86, "a random walk is covered in {walk}, +- {width}");
    }

    #[test]
    fn the_runs_own_noise_alone_is_far_too_narrow() {
        // The run's own noise reflects memory only as far as the run is long enough to show it.
        for (kind, separation, most) in [(Kind::Ar(0.3), 4, 0.8), (Kind::Flicker, 8, 0.7)] {
            let (_, naive, _) = coverage(kind, separation);
            assert!(naive <= most, "{kind:?}: {naive}");
        }
    }

    #[test]
    fn without_drift_the_price_is_bounded() {
        // Independent rounds of 3 %: the smallest width that an interval of this many can have.
        let least = 1.96 * 0.03 * (2.0 / ROUNDS as f64).sqrt();
        let (_, _, width) = coverage(Kind::White, 1);
        assert!(width < 4.5 * least, "{width} against {least}");
    }

    #[test]
    fn drift_that_both_stacks_meet_leaves_the_ratio_of_ratios() {
        let (mut covered, mut width, mut apart) = (0, 0.0, 0.0);
        for run in 0..RUNS {
            let mut noise = Noise::new(9_000 + run);
            let series = Kind::Flicker.series(&mut noise, ROUNDS * 9);
            let mut level = |from: usize, truth: f64| {
                let rounds: Vec<(Total, Total)> = series[from..from + ROUNDS]
                    .iter()
                    .map(|rate| {
                        let own = 1.0 + 0.01 * noise.normal();
                        (
                            Total { sum: *rate, items: 1.0 },
                            Total { sum: truth * rate * own, items: 1.0 },
                        )
                    })
                    .collect();
                let stacks: Vec<Total> = rounds.iter().map(|round| round.1).collect();
                (Level::of_paired_rounds(&rounds).unwrap(), Level::of_rounds(&stacks).unwrap())
            };
            let (old, new) = (level(0, 0.9), level(8 * ROUNDS, 0.85));
            let found = compare_levels(&old.0, &new.0, 8.0);
            let alone = compare_levels(&old.1, &new.1, 8.0);
            let truth = 0.85 / 0.9;
            covered += u64::from(found.low <= truth && truth <= found.high);
            width += (found.high / found.low).ln() / 2.0 / RUNS as f64;
            apart += (alone.high / alone.low).ln() / 2.0 / RUNS as f64;
        }
        assert!(covered as f64 >= 0.93 * RUNS as f64, "{covered}");
        assert!(width < 0.02 && apart > 5.0 * width, "{width} {apart}");
    }

    #[test]
    fn growth_is_that_of_the_tables() {
        // Barnes 1969, B2 at mu = 0: 1 where the two adjoin; both forms meet.
        assert!((growth(1.0) - 1.0).abs() < 1e-12);
        assert!((growth(0.0) - 1.0).abs() < 1e-12, "runs cannot overlap");
        let two = (9.0 * 3f64.ln() - 8.0 * 2f64.ln()) / (4.0 * 2f64.ln());
        assert!((growth(2.0) - two).abs() < 1e-12);
        assert!((growth(999.999) / growth(1_000.0) - 1.0).abs() < 1e-5);
        assert!((growth(60_480.0) - 9.03).abs() < 0.01, "a week of runs of ten seconds");
    }

    #[test]
    fn worked_by_hand() {
        // See-sawing rounds: s2 = 0.01 * 16/15, a = 4 * 0.01 / 2; the excess is below zero even
        // with chance.
        let rates: Vec<f64> = (0..16).map(|i| if i % 2 == 0 { 1.1 } else { 0.9 }).collect();
        let old = Level::of_rounds(&totals(&rates)).unwrap();
        assert!(old.log.abs() < 1e-12 && old.drift.variance == 0.0);
        assert!((old.error.variance - 0.01 / 15.0).abs() < 1e-12);
        let new = Level { log: 0.5f64.ln(), ..old };
        let found = compare_levels(&old, &new, 5.0);
        let expected = t975(30) * (0.02f64 / 15.0).sqrt();
        assert!((found.noise - expected).abs() < 1e-12 && found.drift == 0.0, "{found:?}");
        assert!((found.high.ln() - 0.5f64.ln() - expected).abs() < 1e-12);
        // A step of 0.2 in the middle: s2 = 0.01 * 16/15, a = 0.04 / 30.
        let step: Vec<f64> = (0..16).map(|i| if i < 8 { 1.1 } else { 0.9 }).collect();
        let stepped = Level::of_rounds(&totals(&step)).unwrap();
        let (s2, a) = (0.16 / 15.0, 0.04 / 30.0);
        let excess = 16.0 * 4.0 / 30.0 - 1.0;
        let by_hand = (s2 - a + s2 * (14.0f64 / 255.0).sqrt()) / excess;
        assert!((stepped.drift.variance - by_hand).abs() < 1e-12, "{stepped:?}");
    }

    #[test]
    fn visits_are_their_own_drift() {
        let level = Level::of_visits(&totals(&[1.1, 0.9, 1.1, 0.9])).unwrap();
        assert!((level.drift.variance - 0.04 / 3.0).abs() < 1e-12);
        assert!((level.error.variance - 0.01 / 3.0).abs() < 1e-12);
        assert_eq!((level.units, level.drift.freedom), (4, 3.0));
        assert_eq!(Level::of_visits(&totals(&[1.0; 3])), Err(Refusal::TooFewVisits { have: 3 }));
    }

    #[test]
    fn too_little_and_nothing_are_refused() {
        assert_eq!(Level::of_rounds(&totals(&[1.0; 15])), Err(Refusal::TooFewRounds { have: 15 }));
        assert_eq!(Level::of_rounds(&[]), Err(Refusal::TooFewRounds { have: 0 }));
        assert_eq!(Level::of_rounds(&totals(&[0.0; 20])), Err(Refusal::IdleStack));
        assert_eq!(Level::of_rounds(&[Total::default(); 20]), Err(Refusal::IdleStack));
        let one = Total { sum: 1.0, items: 1.0 };
        let idle = Total { sum: 0.0, items: 1.0 };
        assert_eq!(Level::of_paired_rounds(&[(idle, one); 20]), Err(Refusal::IdleBaseline));
        assert_eq!(Level::of_paired_rounds(&[(one, idle); 20]), Err(Refusal::IdleStack));
    }

    #[test]
    fn drift_is_named_where_it_could_explain() {
        let found = |ratio: f64, noise: f64, half: f64| UnpairedChange {
            ratio,
            low: ratio * (-half).exp(),
            high: ratio * half.exp(),
            noise,
            drift: half,
            units: 40,
        };
        let drifted = found(0.93, 0.03, 0.12);
        assert!(drifted.drift_could_explain());
        assert!(matches!(
            drifted.verdict(0.02),
            Verdict::Unresolved { reason: Refusal::Drift, .. }
        ));
        let noisy = found(0.99, 0.03, 0.12);
        assert!(!noisy.drift_could_explain());
        assert!(matches!(
            noisy.verdict(0.02),
            Verdict::Unresolved { reason: Refusal::TooWide { .. }, .. }
        ));
        assert!(matches!(found(0.8, 0.03, 0.12).verdict(0.02), Verdict::Costs { .. }));
        assert!(matches!(found(0.999, 0.001, 0.01).verdict(0.02), Verdict::NoDifference { .. }));
        let shorter = UnpairedChange { drift: 0.02, ..found(0.93, 0.04, 0.05) };
        assert!((shorter.longer(0.03).unwrap() - 0.0016 / 0.0005).abs() < 1e-9);
        assert_eq!(shorter.longer(0.02), None, "no length overcomes drift");
        assert_eq!(shorter.longer(1.0), Some(1.0));
    }

    #[test]
    fn outcomes() {
        assert_eq!(LimitOutcome::against_limit(0.90, 0.86, 0.949, 0.05), LimitOutcome::Fails);
        assert_eq!(LimitOutcome::against_limit(0.96, 0.95, 0.97, 0.05), LimitOutcome::Passes);
        assert_eq!(
            LimitOutcome::against_limit(0.94, 0.92, 0.96, 0.05),
            LimitOutcome::PerhapsBeyond
        );
        assert_eq!(
            LimitOutcome::against_limit(0.96, 0.94, 0.98, 0.05),
            LimitOutcome::PerhapsWithin
        );
        assert_eq!(
            LimitOutcome::against_limit(0.99, 0.98, 0.999, 0.0),
            LimitOutcome::Fails,
            "no loss at all is accepted"
        );
    }

    proptest! {
        #[test]
        fn swapping_the_runs_inverts_the_change(
            old in prop::collection::vec(0.1..10f64, 16..80),
            new in prop::collection::vec(0.1..10f64, 16..80),
            separation in 0.0..1e6f64,
        ) {
            let (old, new) = (Level::of_rounds(&totals(&old)).unwrap(), Level::of_rounds(&totals(&new)).unwrap());
            let (one, other) = (compare_levels(&old, &new, separation), compare_levels(&new, &old, separation));
            prop_assert!((one.ratio * other.ratio - 1.0).abs() < 1e-9);
            prop_assert!((one.low * other.high - 1.0).abs() < 1e-9);
            prop_assert!(one.low <= one.ratio && one.ratio <= one.high);
            prop_assert!(one.noise >= 0.0 && one.drift >= 0.0);
        }

        #[test]
        fn growth_never_shrinks(a in 1.0..1e7f64, b in 1.0..1e7f64) {
            prop_assert!(growth(a.min(b)) <= growth(a.max(b)) * (1.0 + 1e-6));
        }
    }
}
