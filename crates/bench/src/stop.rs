//! Handles Ctrl-C: the first one ends a table in an orderly way, and one load on one target at
//! once.

use crate::saying::say_aside;
use anyhow::Result;
use iotax_units::exit::{Failed, MEASUREMENT_FAILED};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Returns the flag that the first Ctrl-C sets.
pub(super) fn flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(unwatched)?;
    }
    Ok(stop)
}

/// Returns `Break` if a stop was requested.
pub(super) fn asked(stop: &AtomicBool) -> ControlFlow<()> {
    if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// Makes the first Ctrl-C end this process, as an interrupted measurement.
pub(super) fn at_once() -> Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM]).map_err(unwatched)?;
    let watch = move || {
        if signals.forever().next().is_some() {
            say_aside("iotax-bench: interrupted: nothing is concluded");
            std::process::exit(i32::from(MEASUREMENT_FAILED));
        }
    };
    std::thread::Builder::new().name("bench-stop".into()).spawn(watch).map_err(unwatched)?;
    Ok(())
}

fn unwatched(error: std::io::Error) -> Failed {
    Failed::measurement(format!("cannot watch for Ctrl-C: {error}"))
}
