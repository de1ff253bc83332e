//! Exit codes, documented constants, and the error that carries one to `main`.

/// Done.
pub const DONE: u8 = 0;
/// A finding or a regression.
pub const FINDING: u8 = 1;
/// Bad input: command line, scenario, job file, target.
pub const BAD_INPUT: u8 = 2;
/// A need of this machine is unmet.
pub const UNMET_NEED: u8 = 3;
/// A measurement failed, or was interrupted.
pub const MEASUREMENT_FAILED: u8 = 4;
/// An undo is incomplete: something of a run is still there.
pub const UNDO_INCOMPLETE: u8 = 5;

/// An error with the exit code it leads to. Found again in an `anyhow` chain by `code_of`.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failed {
    /// One of the constants above.
    pub code: u8,
    /// Lower-case fragment: the object, the cause, `hint: ...`.
    pub message: String,
}

impl Failed {
    /// Bad input (2).
    pub fn input(message: impl Into<String>) -> Self {
        Failed { code: BAD_INPUT, message: message.into() }
    }

    /// Unmet need (3).
    pub fn need(message: impl Into<String>) -> Self {
        Failed { code: UNMET_NEED, message: message.into() }
    }

    /// Failed measurement (4).
    pub fn measurement(message: impl Into<String>) -> Self {
        Failed { code: MEASUREMENT_FAILED, message: message.into() }
    }
}

/// The exit code of an error: that of the outermost `Failed` in its chain, else 4.
pub fn code_of(error: &anyhow::Error) -> u8 {
    error
        .chain()
        .find_map(|cause| cause.downcast_ref::<Failed>())
        .map_or(MEASUREMENT_FAILED, |failed| failed.code)
}
/// Why the system refused to have a file read, where it is one of the two usual causes.
pub fn unreadable(error: &std::io::Error) -> Option<&'static str> {
    match error.kind() {
        std::io::ErrorKind::NotFound => Some("there is no such file"),
        std::io::ErrorKind::PermissionDenied => Some("it may not be read"),
        _ => None,
    }
}
