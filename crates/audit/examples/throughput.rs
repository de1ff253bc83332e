//! How fast pages are read: `cargo run --release -p iotax-audit --example throughput -- MEGABYTES PAGE...` repeats each page
//! until it has that size, then reads (import) and audits it five times; medians.

use iotax_audit::{audit, container, import};
use std::time::Instant;

const REPEATS: usize = 5;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let megabytes: usize =
        arguments.next().and_then(|text| text.parse().ok()).expect("megabytes, then pages");
    println!("{:>8} {:>12} {:>12}  page", "MB", "import MB/s", "audit MB/s");
    for name in arguments {
        let once = std::fs::read(&name).expect("a readable file");
        let count = (megabytes * 1_000_000 / once.len().max(1)).max(1);
        let bytes: Vec<u8> = once.iter().copied().cycle().take(once.len() * count).collect();
        let size = bytes.len() as f64 / 1e6;
        let import = median(|| {
            let started = Instant::now();
            let outputs: usize = container::pages(&name, bytes.clone())
                .iter()
                .map(|page| import::scan(page).outputs.len())
                .sum();
            assert!(outputs > 0, "nothing was found in {name}");
            started.elapsed().as_secs_f64()
        });
        let audit = median(|| {
            let started = Instant::now();
            for page in container::pages(&name, bytes.clone()) {
                std::hint::black_box(audit::audit(page).claims.len());
            }
            started.elapsed().as_secs_f64()
        });
        println!("{size:8.1} {:12.0} {:12.0}  {name}", size / import, size / audit);
    }
}

fn median(mut run: impl FnMut() -> f64) -> f64 {
    let mut times: Vec<f64> = (0..REPEATS).map(|_| run()).collect();
    times.sort_by(f64::total_cmp);
    times[REPEATS / 2]
}
