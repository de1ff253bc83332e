//! Records how many I/Os complete in each millisecond of a load (half of one at a larger depth),
//! for the replays of `selfcheck stats`: `fine_series TARGET DEPTH SECONDS WHAT > NAME.fine`. It
//! only reads.

use iotax_load::{Job, Rw, SeriesSpec, ShortLength, TargetSpec, Worker, run_series};
use iotax_stats::selfcheck::short::fine;
use std::error::Error;

/// Bins of a slice that are kept; the first ones may hold a queue that fills.
const KEPT: std::ops::Range<usize> = 4..60;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [target, depth, seconds, what] = words.as_slice() else {
        return Err("usage: fine_series TARGET DEPTH SECONDS WHAT".into());
    };
    let (depth, seconds): (u32, f64) = (depth.parse()?, seconds.parse()?);
    let bin_us: u64 = if depth == 1 { 1000 } else { 500 };
    let target =
        TargetSpec { path: target.into(), bytes: None, writable: false, hold: Default::default() };
    let job = Job { rw: Rw::RandRead, bs: 4096, iodepth: depth, ..Job::default() };
    let worker = Worker::prepare(&[target], &[job], None)?;
    let window_ns = KEPT.end as u64 * bin_us * 1000;
    // A series of one slice counts completions by time since its start.
    let spec = SeriesSpec {
        order: vec![0],
        lengths: vec![ShortLength { discard_ns: 0, window_ns }],
        begins_ns: Vec::new(),
        bin_ns: bin_us * 1000,
        flush: false,
    };
    let mut counts: Vec<u64> = Vec::new();
    while (counts.len() as u64 * bin_us) as f64 / 1e6 < seconds {
        let found = run_series(&[&worker], &spec, None)?;
        counts.extend(&found.transients[0].ios[KEPT]);
    }
    print!("{}", fine::text(what, depth, bin_us, &counts));
    Ok(())
}
