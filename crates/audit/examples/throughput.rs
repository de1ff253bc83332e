//! How fast pages are read: `cargo run --release -p iotax-audit --example throughput -- MEGABYTES PAGE...` reads (import) and
//! audits each page so often that it makes so many megabytes: as that many pages, as a folder of results is, and glued into
//! one large page. Medians of five.

use iotax_audit::{audit, container, import};
use std::time::Instant;

const REPEATS: usize = 5;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let megabytes: usize =
        arguments.next().and_then(|text| text.parse().ok()).expect("megabytes, then pages");
    println!("{:>25} {:>25}", "many pages, MB/s", "one page, MB/s");
    println!("{0:>12} {1:>12} {0:>12} {1:>12}  page", "import", "audit");
    for name in arguments {
        let once = std::fs::read(&name).expect("a readable file");
        let count = (megabytes * 1_000_000 / once.len().max(1)).max(1);
        let glued: Vec<u8> = once.iter().copied().cycle().take(once.len() * count).collect();
        let size = glued.len() as f64 / 1e6;
        let [many_read, many_audited] = rates(&name, &once, count, size);
        let [read, audited] = rates(&name, &glued, 1, size);
        println!("{many_read:12.0} {many_audited:12.0} {read:12.0} {audited:12.0}  {name}");
    }
}

/// Megabytes a second of import and of audit, of `count` pages that have `size` together.
fn rates(name: &str, bytes: &[u8], count: usize, size: f64) -> [f64; 2] {
    let import = median(|| {
        for _ in 0..count {
            let pages = container::pages(name, bytes.to_vec());
            let outputs: usize = pages.iter().map(|page| import::scan(page).outputs.len()).sum();
            assert!(outputs > 0, "nothing was found in {name}");
        }
    });
    let audit = median(|| {
        for _ in 0..count {
            for page in container::pages(name, bytes.to_vec()) {
                std::hint::black_box(audit::audit(page).claims.len());
            }
        }
    });
    [size / import, size / audit]
}

/// Seconds.
fn median(mut run: impl FnMut()) -> f64 {
    let time = |_| {
        let started = Instant::now();
        run();
        started.elapsed().as_secs_f64()
    };
    let mut times: Vec<f64> = (0..REPEATS).map(time).collect();
    times.sort_by(f64::total_cmp);
    times[REPEATS / 2]
}
