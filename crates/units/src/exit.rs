//! Exit codes of iotax, and the error that carries one to `main`.

/// Everything that was asked for was done.
pub const DONE: u8 = 0;
/// A finding or a regression.
pub const FINDING: u8 = 1;
/// Bad input: command line, scenario, job file, target.
pub const BAD_INPUT: u8 = 2;
/// Something that is needed is missing: a permission, a tool, consent.
pub const UNMET_NEED: u8 = 3;
/// A measurement failed, or was interrupted.
pub const MEASUREMENT_FAILED: u8 = 4;
/// An undo is incomplete: something that a run made is still there.
pub const UNDO_INCOMPLETE: u8 = 5;

/// An error with the exit code it leads to. [`code_of`] finds it again in an `anyhow` chain.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Failed {
    /// Exit code, one of the constants of this module.
    pub code: u8,
    /// What went wrong, as a lower-case fragment: the object, the cause, and, if there is a remedy,
    /// `; hint: ...`.
    pub message: String,
}

impl Failed {
    /// Builds an error of bad input (2).
    pub fn input(message: impl Into<String>) -> Self {
        Failed { code: BAD_INPUT, message: message.into() }
    }

    /// Builds an error of an unmet need (3).
    pub fn need(message: impl Into<String>) -> Self {
        Failed { code: UNMET_NEED, message: message.into() }
    }

    /// Builds an error of a failed measurement (4).
    pub fn measurement(message: impl Into<String>) -> Self {
        Failed { code: MEASUREMENT_FAILED, message: message.into() }
    }
}

/// Returns the exit code of an error: that of the outermost [`Failed`] in its chain, otherwise 4 (a
/// failed measurement).
pub fn code_of(error: &anyhow::Error) -> u8 {
    error
        .chain()
        .find_map(|cause| cause.downcast_ref::<Failed>())
        .map_or(MEASUREMENT_FAILED, |failed| failed.code)
}

/// Runs `work`, which reads one page (a text to audit or import), and catches its panic, so that a
/// bug of iotax that one page triggers does not lose the others.
///
/// # Errors
/// If `work` panics: a message for the user who named the page, with the text of the panic.
pub fn contained<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).map_err(|payload| {
        let said = payload.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("it said nothing");
        format!("iotax failed on this page, a fault of its own ({said}): nothing of it counts; hint: report it, with the page")
    })
}

/// The error number of a device that fails an I/O.
const EIO: i32 = 5;

/// Builds the error for a target that the user named and that cannot be opened or read. `message`
/// says what failed; the cause and, for the usual causes, a hint follow it. The code is 3 without
/// permission, 4 if the device fails (EIO), otherwise 2.
pub fn of_io(message: impl std::fmt::Display, error: &std::io::Error) -> Failed {
    let (code, hint) = match (error.kind(), error.raw_os_error()) {
        (std::io::ErrorKind::PermissionDenied, Some(1)) => (
            UNMET_NEED,
            "; hint: access is denied whatever the file mode is (chattr +i, a container, a security module): run as \
             root outside of it, or name another target",
        ),
        (std::io::ErrorKind::PermissionDenied, _) => {
            (UNMET_NEED, "; hint: run as root, or as a user who may open it")
        }
        (_, Some(EIO)) => {
            (MEASUREMENT_FAILED, "; hint: the device fails: look at the kernel log of that machine")
        }
        (std::io::ErrorKind::NotFound, _) => {
            (BAD_INPUT, "; hint: `iotax doctor` lists the devices")
        }
        _ => (BAD_INPUT, ""),
    };
    Failed { code, message: format!("{message}: {error}{hint}") }
}

/// Returns why a file cannot be read, for the two usual causes: it does not exist, or permission is
/// denied. `None` for any other.
pub fn unreadable(error: &std::io::Error) -> Option<&'static str> {
    match error.kind() {
        std::io::ErrorKind::NotFound => Some("there is no such file"),
        std::io::ErrorKind::PermissionDenied => Some("it may not be read"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_forbids_or_a_device_fails_to_do_is_no_bad_input() {
        let of =
            |number: i32| of_io("cannot open /dev/x", &std::io::Error::from_raw_os_error(number));
        let codes = [1, 13, EIO, 2, 22].map(|number| of(number).code);
        assert_eq!(codes, [UNMET_NEED, UNMET_NEED, MEASUREMENT_FAILED, BAD_INPUT, BAD_INPUT]);
        for number in [1, 13, EIO, 2] {
            let said = of(number).message;
            assert!(
                said.starts_with("cannot open /dev/x: ") && said.contains("; hint: "),
                "{said}"
            );
        }
    }

    #[test]
    fn a_fault_of_ours_is_told_in_words() {
        assert_eq!(contained(|| 7), Ok(7));
        let text = "。".to_owned();
        let why = contained(|| text[1..].len()).unwrap_err();
        assert!(why.contains("a fault of its own") && why.contains("char boundary"), "{why}");
        assert!(contained(|| panic!("plain")).map(|()| 0).unwrap_err().contains("(plain)"));
    }
}
