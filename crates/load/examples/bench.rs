//! What the generator itself costs: rates on the null engine and on a page-cached file.
//! `cargo run --release -p iotax-load --example bench [FILE]`; without a file a temporary one of
//! 64 MiB is made.

use iotax_load::{Bound, EngineName, Hold, Job, SliceResult, SliceSpec, TargetSpec, Worker, clock};
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
    println!("clock: {:.1} ns a reading", clock::read_cost_ns());
    for (engine, iodepth) in [
        (EngineName::Null, 1),
        (EngineName::Null, 32),
        (EngineName::Sync, 1),
        (EngineName::Uring, 1),
        (EngineName::Uring, 32),
        (EngineName::Uring, 128),
    ] {
        print_row(engine, iodepth, &measure(&path, engine, iodepth)?);
    }
    Ok(())
}

fn measure(
    path: &Path,
    engine: EngineName,
    iodepth: u32,
) -> Result<SliceResult, iotax_load::LoadError> {
    let target = TargetSpec {
        path: path.into(),
        bytes: None,
        writable: false,
        hold: Hold::default(),
    };
    let job = Job {
        iodepth,
        direct: false,
        ..Job::default()
    };
    let mut worker = Worker::prepare(&target, &[job], Some(engine))?;
    worker.slice(&SliceSpec {
        bound: Bound::Time { ns: 1_000_000_000 },
        min_discard_ns: 50_000_000,
        flush: false,
    })
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
