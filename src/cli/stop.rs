//! Ctrl-C: the first one ends a command in order.

use crate::exit::{Failed, MEASUREMENT_FAILED};
use anyhow::Result;
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

/// Ends this process at once at the first Ctrl-C, as an interrupted measurement: for what has nothing to take down and nothing to keep.
///
/// # Errors
/// When signals cannot be watched.
pub fn at_once() -> Result<()> {
    let failed = |error| Failed::measurement(format!("cannot watch for Ctrl-C: {error}"));
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(failed)?;
    let watch = move || {
        if signals.forever().next().is_some() {
            super::say_aside("iotax: interrupted: nothing is concluded");
            std::process::exit(i32::from(MEASUREMENT_FAILED));
        }
    };
    std::thread::Builder::new().name("iotax-stop".into()).spawn(watch).map_err(failed)?;
    Ok(())
}

/// Whether to go on.
pub fn asked(stop: &AtomicBool) -> ControlFlow<()> {
    if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
