//! Handles Ctrl-C: the first one ends a command in an orderly way.

use super::output::say_aside;
use anyhow::Result;
use iotax_units::exit::{Failed, UNDO_INCOMPLETE};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Returns the flag that the first Ctrl-C (or SIGTERM, or a hang-up) sets.
///
/// # Errors
/// Signals cannot be watched.
pub fn flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|error| Failed::measurement(format!("cannot watch for Ctrl-C: {error}")))?;
    }
    Ok(stop)
}

/// Returns the stop flag of a command that undoes steps. The first Ctrl-C sets it, which ends a
/// wait; the second ends the program with the exit code for an incomplete undo.
///
/// # Errors
/// Signals cannot be watched.
pub fn flag_of_wait() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register_conditional_shutdown(
            signal,
            UNDO_INCOMPLETE.into(),
            Arc::clone(&stop),
        )
        .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
        .map_err(|error| Failed::measurement(format!("cannot watch for Ctrl-C: {error}")))?;
    }
    let seen = Arc::clone(&stop);
    std::thread::spawn(move || {
        while !seen.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(100));
        }
        say_aside(
            "stopping; press Ctrl-C again to end at once; a later `iotax clean` undoes the rest",
        );
    });
    Ok(stop)
}

/// Returns `Break` if a stop was requested.
pub fn break_if_stopped(stop: &AtomicBool) -> ControlFlow<()> {
    if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}
