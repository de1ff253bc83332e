//! Looks for a periodic disturbance on the machine in a series of equally long slices. It is used
//! to choose an order of slices in which the disturbance cancels.

use super::spread::mean;

/// Probability of finding any line in pure noise.
const ALPHA: f64 = 0.01;
/// Number of frequencies on each side from which the noise around one is estimated.
const NEIGHBOURS: usize = 8;
/// Smallest number of cycles over the series. Fewer are not a line but drift, which the mirror
/// image within a round cancels.
const LEAST_CYCLES: usize = 5;
/// Number of values below which no spectrum is computed.
const LEAST: usize = 32;

/// A periodic disturbance: a line of the spectrum that exceeds the noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpectralLine {
    /// Period, in values of the series.
    pub period: f64,
    /// Power of the line over that of the frequencies around it.
    pub over_noise: f64,
}

/// Returns the line that exceeds the noise most; `None` if none does significantly, or below 32
/// values. Noise with memory has more power at low frequencies. The part of each value that follows
/// from the one before is therefore removed first. A line is then compared with its neighbours,
/// whose power is exponentially distributed under noise.
pub fn find_line(values: &[f64]) -> Option<SpectralLine> {
    if values.len() < LEAST {
        return None;
    }
    let power = periodogram(&whitened(values));
    let over = |at: usize| power[at] / noise_around(&power, at);
    let best =
        (LEAST_CYCLES - 1..power.len()).max_by(|one, two| over(*one).total_cmp(&over(*two)))?;
    let bound = (power.len() as f64 / ALPHA).ln();
    let found = SpectralLine {
        period: (values.len() - 1) as f64 / (best + 1) as f64,
        over_noise: over(best),
    };
    (found.over_noise > bound).then_some(found)
}

/// Removes mean and trend, and the correlation of neighbours (Box, Jenkins: prewhitening by a
/// fitted AR(1)). At any one frequency a line and the noise around it are reduced alike.
fn whitened(values: &[f64]) -> Vec<f64> {
    let flat = without_trend(values);
    let squares: f64 = flat.iter().map(|value| value * value).sum();
    let products: f64 = flat.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let kept = if squares > 0.0 { (products / squares).max(0.0) } else { 0.0 };
    flat.windows(2).map(|pair| pair[1] - kept * pair[0]).collect()
}

/// Returns the power at 1, 2, ... cycles over the series.
fn periodogram(values: &[f64]) -> Vec<f64> {
    (1..values.len() / 2).map(|cycles| power_at(values, cycles)).collect()
}

fn power_at(values: &[f64], cycles: usize) -> f64 {
    let step = std::f64::consts::TAU * cycles as f64 / values.len() as f64;
    let at = |(i, value): (usize, &f64)| {
        let (sin, cos) = (step * i as f64).sin_cos();
        (value * cos, value * sin)
    };
    let sum = values
        .iter()
        .enumerate()
        .map(at)
        .fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    sum.0 * sum.0 + sum.1 * sum.1
}

fn without_trend(values: &[f64]) -> Vec<f64> {
    let centre = (values.len() - 1) as f64 / 2.0;
    let level = mean(values);
    let moment = |of: &dyn Fn(usize, f64) -> f64| {
        values.iter().enumerate().map(|(i, v)| of(i, *v)).sum::<f64>()
    };
    let slope = moment(&|i, v| (i as f64 - centre) * (v - level))
        / moment(&|i, _| (i as f64 - centre).powi(2));
    values
        .iter()
        .enumerate()
        .map(|(i, value)| value - level - slope * (i as f64 - centre))
        .collect()
}

/// Returns the mean power of the noise around a frequency, from the median of its neighbours, which
/// a line next to it hardly moves. The median of an exponential distribution is ln 2 of its mean.
fn noise_around(power: &[f64], at: usize) -> f64 {
    let from = at.saturating_sub(NEIGHBOURS);
    let to = (at + NEIGHBOURS + 1).min(power.len());
    let around = (from..to).filter(|other| *other != at).map(|other| power[other]);
    (iotax_units::median(around) / std::f64::consts::LN_2).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::Noise;

    fn series(seed: u64, memory: f64, tone: impl Fn(usize) -> f64) -> Vec<f64> {
        let mut noise = Noise::new(seed);
        let mut state = 0.0;
        (0..100)
            .map(|i| {
                state = memory * state + noise.normal();
                100.0 + state + tone(i)
            })
            .collect()
    }

    #[test]
    fn a_tone_is_found_at_its_period() {
        let found =
            find_line(&series(1, 0.0, |i| 2.5 * (std::f64::consts::TAU * i as f64 / 4.3).sin()))
                .unwrap();
        assert!((found.period - 4.3).abs() < 0.2, "{found:?}");
    }

    #[test]
    fn noise_has_no_lines_with_or_without_memory() {
        for memory in [0.0, 0.5, 0.9, 0.99] {
            let lines = (0..200)
                .filter(|seed| find_line(&series(*seed, memory, |_| 0.0)).is_some())
                .count();
            assert!(lines <= 20, "{memory}: {lines} of 200");
            // Memory under white noise is no AR(1), and is not whitened by one.
            let mut white = Noise::new(77);
            let mut mixed = |seed| -> Vec<f64> {
                series(seed, memory, |_| 0.0).iter().map(|value| value + white.normal()).collect()
            };
            let lines = (0..200).filter(|seed| find_line(&mixed(*seed)).is_some()).count();
            assert!(lines <= 26, "{memory} and white: {lines} of 200");
        }
        assert_eq!(find_line(&[1.0; 31]), None);
        assert_eq!(find_line(&[1.0; 64]), None, "nothing at all stands out of nothing");
    }

    #[test]
    fn memory_hides_no_tone() {
        for memory in [0.0, 0.9] {
            let tone = |i: usize| (std::f64::consts::TAU * i as f64 / 4.3).sin();
            let at_its_period = |line: SpectralLine| (line.period - 4.3).abs() < 0.3;
            let found = (0..200)
                .filter(|seed| find_line(&series(*seed, memory, tone)).is_some_and(at_its_period))
                .count();
            assert!(found >= 190, "{memory}: {found} of 200");
        }
    }
}
