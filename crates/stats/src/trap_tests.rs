//! Traps that a comparison may fall into, as seeded simulations with bounds. Each test shows that
//! the obvious method fails where ours holds. They run a few hundred times each; `selfcheck stats`
//! does the long runs.

use super::exceedance::RoundHistograms;
use super::noise::Noise;
use super::ratio::estimate;
use super::schedule::Schedule;
use super::spread::mean;
use super::stop::{Decision, StopSpec, decide};
use super::{Concludes, Ratio, Verdict, family, length, quantile, sequence, t975};
use crate::judge::{JudgedRatio, Question, judge};
use crate::rounds::{Round, RoundKind, RoundPart, SliceValue, pairs};
use iotax_histogram::Histogram;

type TrapRounds = Vec<(f64, f64)>;

/// Returns the share of `runs` simulations for which `test` is true; each gets a seed of its own.
fn share(runs: u64, mut test: impl FnMut(&mut Noise) -> bool) -> f64 {
    (0..runs).filter(|run| test(&mut Noise::new(1_000 + run))).count() as f64 / runs as f64
}

fn covers(found: &Ratio, truth: f64) -> bool {
    found.low <= truth && truth <= found.high
}

/// Returns the naive interval: mean of log ratios, Student's t as if rounds were independent.
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

fn independent(noise: &mut Noise, n: usize, truth: f64) -> TrapRounds {
    (0..n).map(|_| (1.0 + 0.05 * noise.normal(), truth * (1.0 + 0.05 * noise.normal()))).collect()
}

/// One round in twelve of B runs at a twentieth.
fn dips(noise: &mut Noise, n: usize) -> (TrapRounds, f64) {
    let rounds = (0..n)
        .map(|_| {
            let level = if noise.uniform() < 1.0 / 12.0 { 0.05 } else { 1.0 };
            (1.0 + 0.05 * noise.normal(), level * (1.0 + 0.05 * noise.normal()))
        })
        .collect();
    (rounds, 1.0 - 0.95 / 12.0)
}

/// B alone falls to 60 % for episodes that last a second (5 rounds of 0.2 s), a third of the time.
fn episodes(noise: &mut Noise, n: usize, mean_length: f64) -> (TrapRounds, f64) {
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
        let coverage =
            share(500, |noise| covers(&estimate(&independent(noise, 60, truth)).unwrap(), truth));
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

/// Runs A against A until the decision, with 0.2 s per round and at most `budget_s`.
fn run_until_decided(noise: &mut Noise, spec: &StopSpec) -> TrapRounds {
    let mut rounds = TrapRounds::new();
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

/// Returns the levels of consecutive slices measured in the given orders of A (0) and B (1),
/// averaged per round.
fn sliced(
    orders: impl Iterator<Item = Vec<usize>>,
    mut level: impl FnMut(usize) -> f64,
    truth: f64,
) -> TrapRounds {
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
    let costs = |rounds: &TrapRounds| !covers(&estimate(rounds).unwrap(), 1.0);
    let fixed = share(200, |noise| {
        costs(&sliced((0..100).map(|_| vec![0, 1, 1, 0]), stall(1, noise), 1.0))
    });
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
            let rounds: TrapRounds = (0..n)
                .map(|_| {
                    let alive = if noise.uniform() < 0.02 { 0.0 } else { 1.0 };
                    (1.0 + 0.01 * noise.normal(), alive * (1.0 + 0.01 * noise.normal()))
                })
                .collect();
            match Verdict::of_rounds(&estimate(&rounds), 0.02) {
                Verdict::NoDifference { above } => above < 0.02,
                Verdict::Gains { .. } => true,
                Verdict::Costs { cost, half_width, .. } => (cost - 0.02).abs() > half_width,
                Verdict::Unresolved { .. } => false,
            }
        })
    };
    let (early, late) = (wrong_after(10.0), wrong_after(60.0));
    assert!(early >= 0.2, "after 10 s wrong in {early}");
    // A twentieth is the interval's own right; six stalls are few for a normal distribution.
    assert!(late <= 0.08, "after 60 s wrong in {late}");
}

/// Returns the p values that a run of `many` null comparisons would give.
fn null_p_values(noise: &mut Noise, many: usize) -> Vec<f64> {
    (0..many).map(|_| estimate(&independent(noise, 40, 1.0)).unwrap().log().p_zero()).collect()
}

#[test]
fn of_many_comparisons_some_cost_by_chance() {
    let one_by_one = share(200, |noise| null_p_values(noise, 24).iter().any(|p| *p < 0.05));
    let together =
        share(200, |noise| family::significant(&null_p_values(noise, 24)).contains(&true));
    assert!(one_by_one >= 0.6, "one by one a false cost is in {one_by_one} of the matrices");
    assert!(together <= 0.09, "together in {together}");
}

/// Simulates slices in rounds of a drawn order. `rate` receives the round, the stack and the stack
/// before.
fn drawn(
    noise: &mut Noise,
    n: usize,
    mut rate: impl FnMut(usize, usize, usize, &mut Noise) -> f64,
) -> Vec<Round> {
    let mut schedule = Schedule::new(noise.bits(), 0);
    let mut before = 0;
    let mut round = |number| {
        let part = |stack| {
            let amount = rate(number, stack, before, noise);
            before = stack;
            RoundPart { stack, amount, seconds: 1.0 }
        };
        let parts = schedule.round(2).into_iter().map(part).collect();
        Round { kind: RoundKind::Plain, visit: 0, parts, ..Round::default() }
    };
    (0..n).map(&mut round).collect()
}

fn judged(rounds: &[Round]) -> JudgedRatio {
    judge(rounds, &Question { a: 0, b: 1, value: SliceValue::Rate, zone: 0.02, precision: 0.01 })
}

#[test]
fn a_level_that_splits_has_no_one_cost() {
    // Half of the run costs 2 %, the other half, at another level, 12 %: their mean is the cost of
    // neither.
    let regimes = |noise: &mut Noise| {
        drawn(noise, 120, |number, stack, _, noise| {
            let (level, ratio) = if number < 60 { (100.0, 0.98) } else { (70.0, 0.88) };
            level * if stack == 1 { ratio } else { 1.0 } * (1.0 + 0.02 * noise.normal())
        })
    };
    let sure = share(100, |noise| {
        let (low, high) = naive(&pairs(&regimes(noise), RoundKind::Plain, 0, 1, SliceValue::Rate));
        0.88 < low && high < 0.98
    });
    let refused = share(100, |noise| reason(&judged(&regimes(noise))) == "regimes");
    assert!(sure >= 0.95, "an ordinary interval holds neither in {sure}");
    assert!(refused >= 0.9, "refused in {refused}");
}

#[test]
fn a_plateau_hides_the_cost() {
    let limited = |noise: &mut Noise| {
        drawn(noise, 120, |number, stack, _, noise| match number < 50 {
            true => 100.0 * if stack == 1 { 0.9 } else { 1.0 } * (1.0 + 0.03 * noise.normal()),
            false => 60.0 * (1.0 + 0.0005 * noise.normal()),
        })
    };
    let low = share(100, |noise| judged(&limited(noise)).ratio.unwrap().ratio > 0.92);
    let refused = share(100, |noise| reason(&judged(&limited(noise))) == "rate_limited");
    assert!(low >= 0.95, "the mean tells less than the true cost in {low}");
    assert!(refused >= 0.95, "refused in {refused}");
}

#[test]
fn a_slice_that_pays_for_the_one_before_is_no_cost_of_its_stack() {
    // No stack costs anything, but B runs at 90 % after A: half of its slices, 5 % in all.
    let carried = |noise: &mut Noise| {
        drawn(noise, 150, |_, stack, before, noise| {
            let lost = if stack == 1 && before == 0 { 0.9 } else { 1.0 };
            100.0 * lost * (1.0 + 0.02 * noise.normal())
        })
    };
    let looks_sure = share(100, |noise| judged(&carried(noise)).ratio.unwrap().high < 1.0);
    let refused = share(100, |noise| reason(&judged(&carried(noise))) == "carry_over");
    assert!(looks_sure >= 0.95, "by its interval alone it costs in {looks_sure}");
    assert!(refused >= 0.95, "refused in {refused}");
}

#[test]
fn short_slices_that_pay_for_their_start_are_caught_by_long_ones() {
    // A start of 5 % of a short slice is lost to B: of a slice four times as long, 1.25 %.
    let measured = |noise: &mut Noise| {
        let round = |number: u32, noise: &mut Noise| {
            let kind = if length::is_long(9, number) { RoundKind::Long } else { RoundKind::Plain };
            let seconds = if kind == RoundKind::Long { 4.0 } else { 1.0 };
            let mut part = |stack: usize| {
                let started = if stack == 1 { seconds - 0.05 } else { seconds };
                RoundPart {
                    stack,
                    amount: 100.0 * started * (1.0 + 0.01 * noise.normal()),
                    seconds,
                }
            };
            Round { kind, parts: vec![part(0), part(1), part(1), part(0)], ..Round::default() }
        };
        judged(&(0..512).map(|number| round(number, noise)).collect::<Vec<Round>>())
    };
    let looks_sure = share(60, |noise| measured(noise).ratio.unwrap().high < 0.97);
    let refused = share(60, |noise| reason(&measured(noise)) == "length_matters");
    assert!(looks_sure >= 0.95, "by its interval alone it costs in {looks_sure}");
    assert!(refused >= 0.9, "refused in {refused}");
}

/// Returns the word of the refusal, or an empty one if there is a verdict.
fn reason(judged: &JudgedRatio) -> &'static str {
    match &judged.verdict {
        Verdict::Unresolved { reason, .. } => reason.word(),
        _ => "",
    }
}

#[test]
fn a_percentile_on_the_edge_between_two_modes_moves() {
    // A tenth of the I/Os takes ten times as long, now a little more, now a little less: the 90th
    // percentile is either.
    let side = |noise: &mut Noise, slow: f64| {
        let mut side = RoundHistograms::new(64);
        for round in 0..64 {
            let share = slow + 0.03 * (noise.uniform() - 0.5);
            let mut slice = Histogram::new();
            for _ in 0..400 {
                let mode = if noise.uniform() < share { 1e6 } else { 1e5 };
                slice.record((mode * (0.02 * noise.normal()).exp()) as u64);
            }
            side.add(round, &slice);
        }
        side
    };
    let apart = |estimate: quantile::Estimate| (estimate.high / estimate.low).ln() / 2.0;
    let edge = share(40, |noise| apart(quantile::of_one(&side(noise, 0.1), 0.9).unwrap()) > 0.2);
    let inside = share(40, |noise| apart(quantile::of_one(&side(noise, 0.3), 0.9).unwrap()) > 0.2);
    // The pooled value alone states one of two figures ten times apart, as if it were certain.
    let slow = share(40, |noise| quantile::pooled_of_one(&side(noise, 0.1), 0.9).unwrap() > 3e5);
    assert!(edge >= 0.95 && inside == 0.0, "wide on the edge in {edge}, elsewhere in {inside}");
    assert!((0.1..=0.9).contains(&slow), "the slow mode is said in {slow}");
}

/// A disk that is busy with writes that were acknowledged long ago.
#[derive(Default)]
struct BusyDisk {
    owed_s: f64,
}

impl BusyDisk {
    /// Writes a slice's bytes: a second of the disk's time for A, after all that is owed. B takes
    /// them in a tenth of one, and owes two. Returns the seconds until all is acknowledged and no
    /// I/O is in flight.
    fn write(&mut self, stack: usize) -> f64 {
        if stack == 1 {
            self.owed_s += 2.0;
            return 0.1;
        }
        self.flush() + 1.0
    }

    fn flush(&mut self) -> f64 {
        std::mem::take(&mut self.owed_s)
    }

    /// Returns the time of B over that of A, over rounds of a drawn order.
    fn ratio(mut slice: impl FnMut(usize) -> f64) -> f64 {
        let mut schedule = Schedule::new(3, 0);
        let mut times = [0.0; 2];
        for stack in (0..40).flat_map(|_| schedule.round(2)) {
            times[stack] += slice(stack);
        }
        times[1] / times[0]
    }
}

#[test]
fn an_empty_queue_is_no_clean_stack() {
    let mut disk = BusyDisk::default();
    let naive = BusyDisk::ratio(|stack| disk.write(stack));
    let mut disk = BusyDisk::default();
    let durable = BusyDisk::ratio(|stack| disk.write(stack) + disk.flush());
    assert!(naive < 0.1, "acknowledged, the next slice pays: B takes {naive} of A's time");
    assert!((durable - 2.1).abs() < 1e-9, "equal bytes until they are durable: {durable}");
}
