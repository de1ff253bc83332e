//! What the generator itself costs: rates on the null engine and on a page-cached file.
//! `cargo run --release -p iotax-load --example bench [FILE]`; without a file a temporary one of
//! 64 MiB is made.

use iotax_load::{
    EngineName, Hold, Job, LoadError, SliceBound, SliceResult, SliceSpec, TargetSpec, Worker, clock,
};
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let given = std::env::args().nth(1).map(PathBuf::from);
    let made = tempfile::NamedTempFile::new()?;
    let path = given.unwrap_or_else(|| made.path().to_path_buf());
    if path == made.path() {
        std::fs::write(&path, vec![1; 64 << 20])?;
    }
    // Page-cached means: read just before.
    std::io::copy(&mut std::fs::File::open(&path)?, &mut std::io::sink())?;
    println!("clock: {:.1} ns a reading", read_cost_ns());
    for (engine, iodepth) in [
        (EngineName::Null, 1),
        (EngineName::Null, 32),
        (EngineName::Sync, 1),
        (EngineName::Aio, 1),
        (EngineName::Aio, 32),
        (EngineName::Uring, 1),
        (EngineName::Uring, 32),
        (EngineName::Uring, 128),
    ] {
        let mut worker = worker(&path, Some(engine), iodepth, Hold::default())?;
        print_row(engine, iodepth, &worker.measure_slice(&slice(1_000))?);
    }
    for (iodepth, share_ppm) in [(1, 0), (1, 20_000), (1, 100_000), (32, 100_000)] {
        print_known_cost(&path, iodepth, share_ppm)?;
    }
    let chosen = worker(&path, None, 32, Hold::default())?;
    println!("iodepth 32 by itself: {} ({})", chosen.engine().name, chosen.engine().why);
    Ok(())
}

fn worker(
    path: &Path,
    engine: Option<EngineName>,
    iodepth: u32,
    hold: Hold,
) -> Result<Worker, LoadError> {
    let target = TargetSpec { path: path.into(), offset: 0, bytes: None, writable: false, hold };
    let job = Job { iodepth, direct: false, ..Job::default() };
    Worker::prepare(&[target], &[job], engine)
}

fn slice(window_ms: u64) -> SliceSpec {
    SliceSpec {
        bound: SliceBound::Time { ns: window_ms * 1_000_000 },
        min_discard_ns: 5_000_000,
        flush: false,
        begin_ns: None,
    }
}

/// Runs slices of 50 ms in turn (ABBA), with and without the hold, and prints how much of the
/// hold's known cost is found.
fn print_known_cost(path: &Path, iodepth: u32, share_ppm: u32) -> Result<(), LoadError> {
    let engine = Some(if iodepth == 1 { EngineName::Sync } else { EngineName::Uring });
    let hold = Hold { ns: 0, share_ppm };
    let mut plain = worker(path, engine, iodepth, Hold::default())?;
    let mut held = worker(path, engine, iodepth, hold)?;
    let (mut plain_ios, mut held_ios) = (0, 0);
    for round in 0..80 {
        for turn in 0..2 {
            if turn == round % 2 {
                plain_ios += plain.measure_slice(&slice(50))?.read.ios;
            } else {
                held_ios += held.measure_slice(&slice(50))?.read.ios;
            }
        }
    }
    let share = f64::from(share_ppm) / 1e6;
    println!(
        "iodepth {iodepth:<2} held back {:4.1} %: costs {:5.2} %, should be {:5.2} % (at depth 1)",
        share * 100.0,
        (1.0 - held_ios as f64 / plain_ios as f64) * 100.0,
        share / (1.0 + share) * 100.0,
    );
    Ok(())
}

fn print_row(engine: EngineName, iodepth: u32, result: &SliceResult) {
    let ios = result.read.ios as f64;
    let all = ios + result.discarded_ios as f64;
    let percentile = |q| result.read.latency.percentile(q).unwrap_or_default();
    println!(
        "{engine:>5} iodepth {iodepth:<3} {:8.0} k IOPS  {:7.1} ns an I/O  user {:6.1} ns  kernel {:6.1} ns  p50 {} ns  p99 {} ns",
        ios / result.window_ns as f64 * 1e6,
        result.window_ns as f64 / ios,
        result.cpu_user_ns as f64 / all,
        result.cpu_system_ns as f64 / all,
        percentile(0.5),
        percentile(0.99),
    );
}

/// Returns the nanoseconds that one reading of the clock takes: the mean of a thousand.
fn read_cost_ns() -> f64 {
    let begin = clock::monotonic_ns();
    let last = (0..1000).fold(begin, |_, _| std::hint::black_box(clock::monotonic_ns()));
    (last - begin) as f64 / 1000.0
}
