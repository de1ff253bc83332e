//! Probes in slices, one line each: `probe SLICE_MS SLICES PROBE...`; without a probe all of iotax's own. Rate of the median slice, the
//! standard deviation of log between slices, and times of units.

use iotax_load::{Bound, SliceSpec};
use iotax_probe::{ProbeSpec, Unit, own, prepare};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let slice_ms: u64 = words.next().unwrap_or("50".into()).parse()?;
    let slices: usize = words.next().unwrap_or("40".into()).parse()?;
    let mut texts: Vec<String> = words.collect();
    if texts.is_empty() {
        texts = own::ALL.iter().map(|one| one.name.to_owned()).collect();
    }
    for text in texts {
        let spec = ProbeSpec::parse(&text)?;
        let mut probe = prepare(&spec)?;
        let order = SliceSpec::now(Bound::Time { ns: slice_ms * 1_000_000 }, 5_000_000, false);
        let (mut rates, mut times) = (Vec::new(), iotax_load::Histogram::new());
        for _ in 0..slices {
            let done = probe.slice(&order)?;
            rates.push(done.read.ios as f64 * 1e9 / done.window_ns as f64);
            times.merge(&done.read.latency);
        }
        let logs: Vec<f64> = rates.iter().map(|rate| rate.ln()).collect();
        let mean = logs.iter().sum::<f64>() / slices as f64;
        let spread =
            (logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (slices as f64 - 1.0)).sqrt();
        rates.sort_by(f64::total_cmp);
        let (unit, by) = match spec.definition()?.unit {
            Unit::Bytes => ("MiB/s", spec.amount().unwrap_or(1) as f64 / (1 << 20) as f64),
            Unit::Count(what) | Unit::Time(what) => (what, 1.0),
        };
        let at = |q| times.percentile(q).unwrap_or(0) as f64 / 1e3;
        println!(
            "{:<16} median {:>14.1} {unit:<18} noise {:>5.2} %  p50 {:>8.2} us p99 {:>8.2} us max {:>9.1} us",
            spec.to_string(),
            rates[slices / 2] * by,
            100.0 * spread,
            at(0.5),
            at(0.99),
            times.max().unwrap_or(0) as f64 / 1e3
        );
    }
    Ok(())
}
