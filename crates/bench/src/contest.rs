//! Compares load generators on targets where the generator itself is what is measured: iotax, the
//! installed fio with its defaults and tuned, and fio's own t/io_uring if it was built. Nothing is
//! written to any target but the scratch made here, which is gone with the process.

pub mod goals;
mod honesty;
mod ours;
mod peers;
mod processor;
mod spots;
mod zram;

pub use honesty::{Slices, Stopped, littles_law_error};
pub use ours::{engine, memory_of_a_job, shot as our_shot};
pub use peers::{Peer, fio_version};
pub use processor::{Anywhere, keep_to};
pub use spots::{ContestTarget, Spots, TargetKind};

use goals::{Contest, GoalFigure, GoalLine, Ours};
use iotax_load::{EngineName, Histogram, Iomem, Job, Random, Rw, Stamping};
use iotax_units::median;
use std::ops::ControlFlow;
use std::path::Path;

/// Folder within the folder of runs that holds notes of compressed disks while they exist; no run
/// can have this name.
pub const NOTES: &str = ".zram";

/// Load that every contender runs.
#[derive(Clone, Debug, PartialEq)]
pub struct ContestLoad {
    pub rw: Rw,
    pub bs: u64,
    /// I/Os in flight per thread.
    pub iodepth: u32,
    pub numjobs: u32,
    pub direct: bool,
    /// Engine of iotax. If `None`, iotax chooses by the target, and the others get its choice.
    pub engine: Option<EngineName>,
    /// Pages of the buffers.
    pub iomem: Iomem,
    pub rate_iops: Option<u64>,
}

impl ContestLoad {
    fn job(&self, stamps: Stamping) -> Job {
        Job {
            rw: self.rw,
            bs: self.bs,
            iodepth: self.iodepth,
            numjobs: self.numjobs,
            direct: self.direct,
            iomem: self.iomem,
            rate_iops: self.rate_iops,
            stamps,
            percentage_random: if self.rw.random() { 100 } else { 0 },
            ..Job::default()
        }
    }
}

/// Result of one run of one contender.
#[derive(Clone, Debug, Default)]
pub struct Shot {
    pub iops: f64,
    /// CPU time in user mode per I/O, ns.
    pub user_ns: f64,
    pub kernel_ns: f64,
    /// Latency of every I/O; empty if none was recorded.
    pub latency: Histogram,
    /// Time between looks at the queue, for iotax only.
    pub reap_gap: Histogram,
    /// Mean latency times rate against the mean in flight, as a relative difference; for iotax
    /// only.
    pub littles_law_error: Option<f64>,
    pub errors: u64,
    /// Engine that ran, and why.
    pub engine: String,
    /// Job file that fio got; `None` for others.
    pub job_file: Option<String>,
}

impl Shot {
    fn figure_of(&self, of: GoalFigure) -> f64 {
        match of {
            GoalFigure::Iops => self.iops,
            GoalFigure::UserNs => self.user_ns,
            GoalFigure::CpuNs => self.user_ns + self.kernel_ns,
            GoalFigure::KernelShare => self.kernel_ns / (self.user_ns + self.kernel_ns),
            GoalFigure::NsAnIo => 1e9 / self.iops,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
    Ours(Ours),
    Peer(Peer),
}

/// Shots of one contender in the order of the rounds, or why there are none.
#[derive(Debug)]
pub struct ContenderShots {
    pub who: Contender,
    pub shots: Result<Vec<Shot>, String>,
}

/// Length and number of the runs.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Seconds of a run.
    pub seconds: f64,
    /// Runs of each contender.
    pub runs: u32,
    /// Seed of the random order.
    pub seed: u64,
}

#[derive(Clone, Debug)]
pub struct LineOfTable {
    pub line: &'static GoalLine,
    /// Value over all rounds, computed from the medians.
    pub found: Result<ContestFigure, String>,
}

/// A figure or a ratio of two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContestFigure {
    /// Ratio of two medians, or a median by itself.
    pub value: f64,
    /// Lowest value of the rounds.
    pub lowest: f64,
    /// Highest value of the rounds.
    pub highest: f64,
    /// Median of iotax.
    pub ours: f64,
    /// Median of the other; `None` if the value is compared with a bound alone.
    pub theirs: Option<f64>,
}

/// Runs a contest: every contender once per round, in random order, all on one core.
///
/// # Errors
/// Fails if it was asked to stop.
pub fn run(
    contest: &'static Contest,
    spots: &Spots,
    effort: Effort,
    t_io_uring: Option<&Path>,
    go_on: &mut dyn FnMut(Contender) -> ControlFlow<()>,
) -> Result<Vec<ContenderShots>, ContestStopped> {
    let mut entries: Vec<ContenderShots> = contest
        .contenders()
        .into_iter()
        .map(|who| ContenderShots { who, shots: Ok(Vec::new()) })
        .collect();
    let mut random = Random::new(effort.seed, 0);
    let load = contest.load();
    for _ in 0..effort.runs {
        for at in order(entries.len(), &mut random) {
            let entry = &mut entries[at];
            let Ok(shots) = &mut entry.shots else { continue };
            if go_on(entry.who).is_break() {
                return Err(ContestStopped);
            }
            let one = spots.ready(contest.spot).and_then(|place| match entry.who {
                Contender::Ours(ours) => {
                    ours::shot(&place, &load, ours, effort.seconds).map_err(|e| e.to_string())
                }
                Contender::Peer(peer) => peer
                    .shot(&place, &load, contest.engine, effort.seconds, t_io_uring)
                    .map_err(|e| e.to_string()),
            });
            match one {
                Ok(shot) if shot.errors > 0 => {
                    entry.shots = Err(format!("{} I/Os failed", shot.errors))
                }
                Ok(shot) => shots.push(shot),
                Err(why) => entry.shots = Err(why),
            }
        }
    }
    Ok(entries)
}

#[derive(Debug)]
pub struct ContestStopped;

fn order(number: usize, random: &mut Random) -> Vec<usize> {
    let mut all: Vec<usize> = (0..number).collect();
    for at in (1..number).rev() {
        all.swap(at, random.below(at as u64 + 1) as usize);
    }
    all
}

/// Computes the result of each line of a contest from the contenders' runs.
pub fn outcomes(contest: &'static Contest, entries: &[ContenderShots]) -> Vec<LineOfTable> {
    contest.lines.iter().map(|line| LineOfTable { line, found: found(line, entries) }).collect()
}

fn found(line: &GoalLine, entries: &[ContenderShots]) -> Result<ContestFigure, String> {
    let of = |who: Contender| {
        let entry = entries.iter().find(|entry| entry.who == who).ok_or("it did not run")?;
        let shots = entry.shots.as_ref().map_err(Clone::clone)?;
        let figures: Vec<f64> = shots.iter().map(|shot| shot.figure_of(line.of)).collect();
        if figures.is_empty() { Err("it did not run".to_owned()) } else { Ok(figures) }
    };
    let ours = of(Contender::Ours(line.ours))?;
    let Some(against) = line.against else {
        let value = median(ours.iter().copied());
        return Ok(ContestFigure {
            value,
            lowest: least(&ours),
            highest: most(&ours),
            ours: value,
            theirs: None,
        });
    };
    let theirs = of(against)?;
    let rounds: Vec<f64> = ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect();
    let (ours, theirs) = (median(ours.iter().copied()), median(theirs.iter().copied()));
    Ok(ContestFigure {
        value: ours / theirs,
        lowest: least(&rounds),
        highest: most(&rounds),
        ours,
        theirs: Some(theirs),
    })
}

fn least(figures: &[f64]) -> f64 {
    figures.iter().copied().fold(f64::INFINITY, f64::min)
}

fn most(figures: &[f64]) -> f64 {
    figures.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contender_runs_once_a_round() {
        let mut random = Random::new(1, 0);
        let orders: Vec<Vec<usize>> = (0..50).map(|_| order(4, &mut random)).collect();
        for order in &orders {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3]);
        }
        assert!((0..4).all(|first| orders.iter().any(|order| order[0] == first)));
    }

    #[test]
    fn a_ratio_is_of_medians_and_tells_its_rounds() {
        let line = goals::ALL
            .iter()
            .flat_map(|contest| contest.lines)
            .find(|line| line.against.is_some())
            .unwrap();
        let shots = |iops: [f64; 3]| Ok(iops.map(|iops| Shot { iops, ..Shot::default() }).to_vec());
        let entries = [
            ContenderShots { who: Contender::Ours(line.ours), shots: shots([20.0, 30.0, 40.0]) },
            ContenderShots { who: line.against.unwrap(), shots: shots([10.0, 20.0, 10.0]) },
        ];
        let found = found(line, &entries).unwrap();
        assert_eq!((found.value, found.lowest, found.highest), (3.0, 1.5, 4.0));
        let lacking = [ContenderShots {
            who: Contender::Ours(line.ours),
            shots: Err("no such engine".into()),
        }];
        assert_eq!(super::found(line, &lacking), Err("no such engine".into()));
    }
}
