//! Waits for a condition, within a time limit.

use anyhow::{Result, bail};
use std::time::{Duration, Instant};

pub fn wait_until(limit: Duration, mut done: impl FnMut() -> bool) -> Result<()> {
    let start = Instant::now();
    while !done() {
        if start.elapsed() > limit {
            bail!("waited {} s", limit.as_secs());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}
