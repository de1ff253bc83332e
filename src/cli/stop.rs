//! Ctrl-C: the first one ends a command in order.

use anyhow::Result;
use iotax_units::exit::Failed;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set by the first Ctrl-C (or a hang-up, or SIGTERM).
///
/// # Errors
/// When signals cannot be watched.
pub fn flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|error| Failed::measurement(format!("cannot watch for Ctrl-C: {error}")))?;
    }
    Ok(stop)
}

/// Whether to go on.
pub fn asked(stop: &AtomicBool) -> ControlFlow<()> {
    if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
