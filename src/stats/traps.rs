//! The traps that a comparison falls into, as seeded simulations with bounds: each test shows that the
//! obvious method fails where ours holds. A few hundred runs each; `selfcheck stats` does the long ones.

use super::noise::Noise;
use super::ratio::estimate;
use super::schedule::Schedule;
use super::spread::mean;
use super::stop::{Decision, StopSpec, decide};
use super::{Ratio, Verdict, sequence, t975};

type Rounds = Vec<(f64, f64)>;

/// Share of `runs` simulations for which `test` is true; each gets a seed of its own.
fn share(runs: u64, mut test: impl FnMut(&mut Noise) -> bool) -> f64 {
    (0..runs).filter(|run| test(&mut Noise::new(1_000 + run))).count() as f64 / runs as f64
}

fn covers(found: &Ratio, truth: f64) -> bool {
    found.low <= truth && truth <= found.high
}

/// The naive interval: mean of log ratios, Student's t as if rounds were independent.
fn naive(rounds: &[(f64, f64)]) -> (f64, f64) {
    let logs: Vec<f64> = rounds.iter().map(|(a, b)| (b / a).ln()).collect();
    let (centre, n) = (mean(&logs), logs.len() as f64);
    let variance = logs.iter().map(|log| (log - centre).powi(2)).sum::<f64>() / (n - 1.0);
    let half_width = t975(logs.len() - 1) * (variance / n).sqrt();
    ((centre - half_width).exp(), (centre + half_width).exp())
}

fn naive_covers(rounds: &[(f64, f64)], truth: f64) -> bool {
    let (low, high) = naive(rounds);
    low <= truth && truth <= high
}

fn independent(noise: &mut Noise, n: usize, truth: f64) -> Rounds {
    (0..n).map(|_| (1.0 + 0.05 * noise.normal(), truth * (1.0 + 0.05 * noise.normal()))).collect()
}

/// One round in twelve of B runs at a twentieth.
fn dips(noise: &mut Noise, n: usize) -> (Rounds, f64) {
    let rounds = (0..n)
        .map(|_| {
            let level = if noise.uniform() < 1.0 / 12.0 { 0.05 } else { 1.0 };
            (1.0 + 0.05 * noise.normal(), level * (1.0 + 0.05 * noise.normal()))
        })
        .collect();
    (rounds, 1.0 - 0.95 / 12.0)
}

/// B alone falls to 60 % for episodes that last a second (5 rounds of 0.2 s), a third of the time.
fn episodes(noise: &mut Noise, n: usize, mean_length: f64) -> (Rounds, f64) {
    let (leave, enter) = (1.0 / mean_length, 0.5 / mean_length);
    let mut slow = noise.uniform() < 1.0 / 3.0;
    let rounds = (0..n)
        .map(|_| {
            slow = if slow { noise.uniform() >= leave } else { noise.uniform() < enter };
            let level = if slow { 0.6 } else { 1.0 };
            (1.0 + 0.02 * noise.normal(), level * (1.0 + 0.02 * noise.normal()))
        })
        .collect();
    (rounds, 1.0 - 0.4 / 3.0)
}

#[test]
fn independent_noise_is_covered_at_any_truth() {
    for truth in [1.0, 0.98, 0.95, 0.8] {
        let coverage = share(500, |noise| covers(&estimate(&independent(noise, 60, truth)).unwrap(), truth));
        assert!((0.925..=0.985).contains(&coverage), "{truth}: {coverage}");
    }
}

#[test]
fn dips_of_b_bias_the_mean_of_logs_not_the_ratio_of_totals() {
    let ours = share(400, |noise| {
        let (rounds, truth) = dips(noise, 120);
        covers(&estimate(&rounds).unwrap(), truth)
    });
    let logs = share(400, |noise| {
        let (rounds, truth) = dips(noise, 120);
        naive_covers(&rounds, truth)
    });
    assert!(ours >= 0.92, "ratio of totals covers {ours}");
    assert!(logs <= 0.80, "mean of logs covers {logs}");
}

#[test]
fn episodes_of_b_need_batches() {
    let ours = share(400, |noise| {
        let (rounds, truth) = episodes(noise, 160, 5.0);
        covers(&estimate(&rounds).unwrap(), truth)
    });
    let independent = share(400, |noise| {
        let (rounds, truth) = episodes(noise, 160, 5.0);
        let found = estimate(&rounds).unwrap();
        let residuals = super::ratio::residuals(&rounds, found.ratio);
        let variance = residuals.iter().map(|e| e * e).sum::<f64>() / (rounds.len() - 1) as f64;
        let half_width = t975(rounds.len() - 1) * (variance / rounds.len() as f64).sqrt();
        (found.ratio / truth).ln().abs() <= half_width
    });
    assert!(ours >= 0.88, "batch means cover {ours}");
    assert!(independent <= 0.75, "independent t covers {independent}");
}

/// 0.2 s a round, at most `budget_s`; A against A.
fn run_until_decided(noise: &mut Noise, spec: &StopSpec) -> Rounds {
    let mut rounds = Rounds::new();
    loop {
        rounds.extend(independent(noise, 1, 1.0));
        if let Decision::Stop(_) = decide(&[&rounds], 0.2 * rounds.len() as f64, spec) {
            return rounds;
        }
    }
}

#[test]
fn peeking_for_significance_finds_costs_that_are_not_there() {
    let peeking = share(300, |noise| {
        let rounds = independent(noise, 600, 1.0);
        (16..=600).any(|n| !naive_covers(&rounds[..n], 1.0))
    });
    let spec = StopSpec { precision: 0.01, min_time_s: 10.0, budget_s: 120.0 };
    let ours = share(300, |noise| {
        let found = estimate(&run_until_decided(noise, &spec));
        matches!(Verdict::of_rounds(&found, 0.02), Verdict::Costs { .. } | Verdict::Gains { .. })
    });
    assert!(peeking >= 0.35, "peeking is wrong in {peeking}");
    assert!(ours <= 0.085, "stopping on precision is wrong in {ours}");
}

#[test]
fn the_sequence_holds_at_all_looks_together() {
    let missed = share(300, |noise| {
        let rounds = independent(noise, 400, 1.0);
        (sequence::LEAST..=400).any(|n| {
            let found = estimate(&rounds[..n]).unwrap();
            found.ratio.ln().abs() > sequence::half_width(&found).unwrap()
        })
    });
    assert!(missed <= 0.06, "missed in {missed}");
}

/// Levels of consecutive slices measured in the given orders of A (0) and B (1), averaged a round.
fn sliced(
    orders: impl Iterator<Item = Vec<usize>>,
    mut level: impl FnMut(usize) -> f64,
    truth: f64,
) -> Rounds {
    let mut at = 0;
    orders
        .map(|order| {
            let mut sums = [0.0; 2];
            for stack in order {
                sums[stack] += level(at) * if stack == 1 { truth } else { 1.0 };
                at += 1;
            }
            (sums[0] / 2.0, sums[1] / 2.0)
        })
        .collect()
}

#[test]
fn periodic_noise_fools_a_fixed_order_not_a_drawn_one() {
    let stall = |phase: usize, noise: &mut Noise| {
        let jitter: Vec<f64> = (0..400).map(|_| 0.01 * noise.normal()).collect();
        move |at: usize| if at % 4 == phase { 0.7 } else { 1.0 } + jitter[at]
    };
    let costs = |rounds: &Rounds| !covers(&estimate(rounds).unwrap(), 1.0);
    let fixed = share(200, |noise| costs(&sliced((0..100).map(|_| vec![0, 1, 1, 0]), stall(1, noise), 1.0)));
    let drawn = share(200, |noise| {
        let mut schedule = Schedule::new(noise.bits(), 0);
        costs(&sliced((0..100).map(|_| schedule.round(2)), stall(1, noise), 1.0))
    });
    assert!(fixed >= 0.9, "fixed ABBA is wrong in {fixed}");
    assert!(drawn <= 0.09, "drawn order is wrong in {drawn}");
}

/// AR(1) noise common to both, strongly correlated from slice to slice.
fn drifting(noise: &mut Noise) -> impl FnMut(usize) -> f64 {
    let mut inner = Noise::new(noise.bits());
    let mut state = 0.0;
    move |_| {
        state = 0.99 * state + 0.02 * inner.normal();
        f64::exp(state)
    }
}

#[test]
fn shared_drift_cancels() {
    let covered = share(400, |noise| {
        let mut schedule = Schedule::new(noise.bits(), 0);
        let rounds = sliced((0..80).map(|_| schedule.round(2)), drifting(noise), 0.95);
        covers(&estimate(&rounds).unwrap(), 0.95)
    });
    assert!(covered >= 0.92, "covers {covered}");
    // One after the other, the same machine time: the drift is taken for a cost.
    let off = share(400, |noise| {
        let mut level = drifting(noise);
        let halves: Vec<f64> = (0..2).map(|_| (0..160).map(&mut level).sum::<f64>()).collect();
        (halves[1] / halves[0] - 1.0).abs() > 0.02
    });
    assert!(off >= 0.6, "one after the other is off by more than 2 % in {off}");
}

#[test]
fn a_burst_credit_fools_one_after_the_other() {
    // Full speed until the credit is used up, then half.
    let bucket = |at: usize| if at < 120 { 1.0 } else { 0.5 };
    let half = |from: usize| (from..from + 200).map(bucket).sum::<f64>();
    let claimed = 1.0 - 0.98 * half(200) / half(0);
    assert!(claimed > 0.25, "one after the other claims {claimed} for a true 0.02");
    let found = {
        let mut schedule = Schedule::new(5, 0);
        estimate(&sliced((0..100).map(|_| schedule.round(2)), bucket, 0.98)).unwrap()
    };
    assert!((found.ratio - 0.98).abs() < 0.01, "{found:?}");
}

#[test]
fn rare_stalls_of_b_need_time() {
    // One stall in ten seconds, each empties a round of 0.2 s: the true cost is 2 %.
    let wrong_after = |seconds: f64| {
        let n = (seconds / 0.2) as usize;
        share(1000, |noise| {
            let rounds: Rounds = (0..n)
                .map(|_| {
                    let alive = if noise.uniform() < 0.02 { 0.0 } else { 1.0 };
                    (1.0 + 0.01 * noise.normal(), alive * (1.0 + 0.01 * noise.normal()))
                })
                .collect();
            match Verdict::of_rounds(&estimate(&rounds), 0.02) {
                Verdict::NoDifference { above } => above < 0.02,
                Verdict::Gains { .. } => true,
                Verdict::Costs { cost, half_width } => (cost - 0.02).abs() > half_width,
                Verdict::Unresolved { .. } => false,
            }
        })
    };
    let (early, late) = (wrong_after(10.0), wrong_after(60.0));
    assert!(early >= 0.2, "after 10 s wrong in {early}");
    // A twentieth is the interval's own right; six stalls are few for a normal law.
    assert!(late <= 0.08, "after 60 s wrong in {late}");
}
