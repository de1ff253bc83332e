//! `iotax selfcheck stats`: the simulated comparisons and the table of what must hold.

use super::say;
use crate::exit::{DONE, FINDING};
use crate::selfcheck::cell::repeat;
use crate::selfcheck::kinds::Source;
use crate::selfcheck::lines::{Line, Plan};
use crate::selfcheck::series;
use anyhow::Result;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Arguments of `selfcheck`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Coverage, false positives, power, time and refusals of the statistics
    Stats(Stats),
}

#[derive(clap::Args)]
struct Stats {
    /// Repetitions of every simulated comparison
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u64).range(20..=1_000_000))]
    reps: u64,
    /// Seed of the simulations
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
/// When a series cannot be read, or standard output cannot be written.
pub fn run(args: &Args) -> Result<u8> {
    let What::Stats(stats) = &args.what;
    let shipped = series::SHIPPED.iter().map(|(name, text)| series::parse(name, text));
    let shipped: Vec<Source> = shipped
        .map(|one| one.map(|one| Source::Recorded(Arc::new(one))))
        .collect::<Result<_, _>>()
        .map_err(crate::exit::Failed::input)?;
    let plan = Plan::new(&shipped);
    let done = AtomicU64::new(0);
    let outcomes = repeat(&plan.cells, stats.reps, stats.seed, &done);
    let lines = plan.lines(&outcomes, stats.reps);
    for line in &lines {
        say(&format!(
            "{:50} {:22} {:8.4} {:8.4} {:?} {} {}\n",
            line.figure, line.of, line.value, line.error, line.bound, line.n, line.holds
        ))?;
    }
    for (cell, outs) in plan.cells.iter().zip(&outcomes) {
        let n = outs.len() as f64;
        let t = outs.iter().map(|o| o.took_s).sum::<f64>() / n;
        let hw = outs.iter().filter_map(|o| o.comparisons[0].half_width).sum::<f64>() / n;
        let bias = outs.iter().filter_map(|o| o.comparisons[0].error).sum::<f64>() / n;
        let mut refusals: std::collections::BTreeMap<&str, usize> = Default::default();
        outs.iter()
            .filter_map(|o| o.comparisons[0].refused)
            .for_each(|w| *refusals.entry(w).or_default() += 1);
        say(&format!(
            "# {:22} {:?} t {:.1} hw {:.4} bias {:+.5} costs {:.3} gains {:.3} none {:.3} {:?}\n",
            cell.source.name(),
            cell.costs.get(1),
            t,
            hw,
            bias,
            outs.iter().filter(|o| o.comparisons[0].said == crate::selfcheck::cell::Said::Costs).count()
                as f64
                / n,
            outs.iter().filter(|o| o.comparisons[0].said == crate::selfcheck::cell::Said::Gains).count()
                as f64
                / n,
            outs.iter().filter(|o| o.comparisons[0].said == crate::selfcheck::cell::Said::None).count()
                as f64
                / n,
            refusals
        ))?;
    }
    Ok(if lines.iter().all(|line: &Line| line.holds) { DONE } else { FINDING })
}
