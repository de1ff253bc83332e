//! Simulations after docs/decisions/short-slices.md: a cost that drifts, lengths of a series, the
//! least time, what a slice discards. `cargo run --release -p iotax-stats --example short_slices
//! [REPETITIONS]`.

use iotax_stats::noise::Noise;
use iotax_stats::rounds::{RoundKind, RoundPart, SliceValue};
use iotax_stats::selfcheck::short::kinds::{ALL, ShortSource};
use iotax_stats::selfcheck::short::machine::SlowStart;
use iotax_stats::selfcheck::short::{PLAN, SeriesPlan, SeriesRun, run_series};
use iotax_stats::stop::StopSpec;
use iotax_stats::visits;
use iotax_units::median;

const COST: f64 = 0.02;
const ZONE: f64 = 0.02;
const STOP: StopSpec = StopSpec { precision: 0.01, min_time_s: 6.0, budget_s: 30.0 };
/// Ends a run after four seconds of load.
const FOUR: StopSpec = StopSpec { precision: 0.0, min_time_s: 4.0, budget_s: 4.0 };

/// Results of repetitions: ln of each estimate over the truth, in how many the interval covers it,
/// the half-width of each, the machine time of all together, and the number of refusals.
#[derive(Default)]
struct Tally {
    errors: Vec<f64>,
    covered: usize,
    half_widths: Vec<f64>,
    took_s: f64,
    refused: usize,
}

impl Tally {
    fn add(&mut self, log_error: f64, half_width: f64, covered: bool) {
        self.errors.push(log_error);
        self.covered += usize::from(covered);
        self.half_widths.push(half_width);
    }

    fn row(&self) -> String {
        let n = self.errors.len() as f64;
        let mean = self.errors.iter().sum::<f64>() / n;
        let deviation =
            (self.errors.iter().map(|error| (error - mean).powi(2)).sum::<f64>() / n).sqrt();
        format!(
            "{:.1} % | {:+.2} | {:.2} | {:.2} | {:.1} s | {:.1} %",
            100.0 * self.covered as f64 / n,
            100.0 * mean,
            100.0 * deviation,
            100.0 * median(self.half_widths.iter().copied()),
            self.took_s / n,
            100.0 * self.refused as f64 / n
        )
    }
}

fn source(name: &str) -> ShortSource {
    let kind = ALL.iter().find(|kind| kind.name == name).unwrap_or(&ALL[0]);
    ShortSource::MadeUp(kind)
}

/// Runs repetitions; `read` adds each run, with the true ratio, to the tally.
fn repeat(
    reps: u64,
    (source, start, cost): (&ShortSource, Option<SlowStart>, f64),
    (plan, stop): (&SeriesPlan, &StopSpec),
    read: impl Fn(&SeriesRun, f64, &mut Tally),
) -> Tally {
    let mut tally = Tally::default();
    for rep in 0..reps {
        let mut noise = Noise::new(1000 + rep);
        let seed = noise.bits();
        let mut machine = source.machine(&[0.0, cost], noise);
        machine.start = start.or(machine.start);
        let run = run_series(&mut machine, plan, stop, seed);
        tally.took_s += run.took_s;
        read(&run, source.truth(cost), &mut tally);
    }
    tally
}

/// Adds a run by the interval over its rounds, as real runs have it.
fn by_rounds(run: &SeriesRun, truth: f64, tally: &mut Tally) {
    let judged = run.judge_stack(1, &STOP, ZONE);
    tally.refused +=
        usize::from(judged.verdict.reason().is_some_and(|reason| reason.word() != "too_wide"));
    if let Ok(found) = judged.ratio {
        let covered = found.low <= truth && truth <= found.high;
        tally.add((found.ratio / truth).ln(), found.half_width(), covered);
    }
}

/// Adds a run by an interval with the blocks between rests as units, as visits have it.
fn by_blocks(run: &SeriesRun, truth: f64, tally: &mut Tally) {
    let rate = |visit: u32, stack: usize| {
        let rounds =
            run.rounds.iter().filter(|one| one.visit == visit && one.kind == RoundKind::Plain);
        let parts: Vec<&RoundPart> =
            rounds.flat_map(|round| &round.parts).filter(|part| part.stack == stack).collect();
        let sum = |of: fn(&RoundPart) -> f64| parts.iter().map(|part| of(part)).sum::<f64>();
        SliceValue::Rate.of_totals(sum(|part| part.amount), sum(|part| part.seconds))
    };
    let visits = 0..run.rounds.last().map_or(0, |last| last.visit + 1);
    let pairs: Vec<(f64, f64)> = visits.map(|visit| (rate(visit, 0), rate(visit, 1))).collect();
    if let Ok(found) = visits::of_at_least(visits::LEAST, &pairs) {
        let covered = found.low <= truth && truth <= found.high;
        tally.add((found.ratio / truth).ln(), (found.high / found.low).ln() / 2.0, covered);
    }
}

const HEAD: &str = "covers | bias, points | sd | median half-width | machine time | refused";

fn drifts(reps: u64) {
    println!("A cost that drifts, 4 s of load | interval over | {HEAD}");
    for (name, pause_s) in [
        ("memory 20 ms", 0.0),
        ("drift of B, 10 s", 0.0),
        ("drift of B, 10 s", 7.5),
        ("drift of B, 10 s", 30.0),
        ("drift of B, 60 s", 0.0),
        ("drift of B, 60 s", 7.5),
        ("drift of B, 60 s", 30.0),
        ("drift of B, 60 s", 150.0),
    ] {
        let plan = SeriesPlan { rests: Some((0.49, pause_s)), ..PLAN };
        let what = (&source(name), None, COST);
        println!(
            "{name}, rests of {pause_s} s | rounds | {}",
            repeat(reps, what, (&plan, &FOUR), by_rounds).row()
        );
        println!(
            "{name}, rests of {pause_s} s | blocks | {}",
            repeat(reps, what, (&plan, &FOUR), by_blocks).row()
        );
    }
}

fn lengths(reps: u64) {
    println!("\nA series of | noise | {HEAD}");
    for name in ["memory 20 ms", "memory 1 s of B", "stalls of B", "depth 32"] {
        for series_s in [0.06, 0.125, 0.25] {
            let plan = SeriesPlan { series_s, ..PLAN };
            let found = repeat(reps, (&source(name), None, COST), (&plan, &STOP), by_rounds);
            println!("{:.0} ms | {name} | {}", 1000.0 * series_s, found.row());
        }
    }
}

fn least_times(reps: u64) {
    println!("\nAt least | noise | {HEAD}");
    for name in ["memory 1 s of B", "stalls of B"] {
        for min_time_s in [6.0, 10.0, 20.0] {
            let stop = StopSpec { min_time_s, ..STOP };
            let found = repeat(reps, (&source(name), None, COST), (&PLAN, &stop), by_rounds);
            println!("{min_time_s} s | {name} | {}", found.row());
        }
    }
}

fn discards(reps: u64) {
    println!("\nDiscarded turns | start of B | {HEAD}");
    let slow = |amplitude, time_s| Some(SlowStart { amplitude, time_s });
    for (name, start, cost) in [
        ("memory 20 ms", slow(0.5, 0.03e-3), COST),
        ("memory 20 ms", slow(1.0, 0.1e-3), COST),
        ("memory 20 ms", slow(0.2, 0.5e-3), COST),
        ("memory 20 ms", slow(0.05, 2e-3), COST),
        ("depth 32", None, COST),
        ("depth 32", None, 0.2),
    ] {
        for discarded_turns in [0.0, 1.0, 3.0, 6.0] {
            let plan = SeriesPlan { discarded_turns, ..PLAN };
            let found = repeat(reps, (&source(name), start, cost), (&plan, &STOP), by_rounds);
            let start = start.map_or("waves".to_owned(), |slow| {
                format!("{:.0} %, {:.2} ms", 100.0 * slow.amplitude, 1000.0 * slow.time_s)
            });
            println!(
                "{discarded_turns} | {name}, cost {:.0} %, {start} | {}",
                100.0 * cost,
                found.row()
            );
        }
    }
}

fn main() {
    let reps = std::env::args().nth(1).and_then(|reps| reps.parse().ok()).unwrap_or(400);
    discards(reps);
    lengths(reps);
    least_times(reps);
    drifts(reps);
}
