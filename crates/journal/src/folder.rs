//! Where runs are, and checks of their folders. Refuses a place where another user could put files
//! or links.

use crate::{StoreError, private};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Resolves the links of a folder, that of all runs or of one, and checks that its files may be
/// acted on: only we may write to it. Folders above it must be ours or root's, and not writable by
/// everybody unless sticky.
///
/// # Errors
/// [`StoreError::Unsafe`] with the owner or mode that is wrong, [`StoreError::System`].
pub fn check_own_folder(folder: &Path) -> Result<PathBuf, StoreError> {
    let absolute = std::path::absolute(folder)
        .map_err(|error| StoreError::system("resolve", folder, error))?;
    check_links(&absolute)?;
    let real =
        absolute.canonicalize().map_err(|error| StoreError::system("resolve", &absolute, error))?;
    for above in real.ancestors() {
        check_folder(above, above == real)?;
    }
    Ok(real)
}

/// Returns $IOTAX_RUNS, else $XDG_STATE_HOME/iotax/runs (if absolute), else
/// $HOME/.local/state/iotax/runs.
///
/// # Errors
/// [`StoreError::Unsafe`] if none of the three is set.
pub fn default_runs_dir() -> Result<PathBuf, StoreError> {
    runs_dir_from(|name| {
        std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
    })
}

fn runs_dir_from(variable: impl Fn(&str) -> Option<PathBuf>) -> Result<PathBuf, StoreError> {
    let state = || variable("XDG_STATE_HOME").filter(|path| path.is_absolute());
    let home = || variable("HOME").map(|home| home.join(".local/state"));
    let found = variable("IOTAX_RUNS")
        .or_else(|| state().or_else(home).map(|state| state.join("iotax/runs")));
    found.ok_or_else(|| StoreError::Unsafe {
        path: "the folder of runs".into(),
        why: "neither IOTAX_RUNS nor XDG_STATE_HOME nor HOME is set".into(),
        hint: "set IOTAX_RUNS".into(),
    })
}

/// Returns `YYYYMMDD-HHMMSS-xxxx`: the time in UTC and four random hex digits.
pub fn new_id() -> String {
    let mut random = [0u8; 2];
    // The clock's nanoseconds are random enough if the kernel has no random bytes yet.
    if rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::NONBLOCK).is_err() {
        random = (jiff::Timestamp::now().subsec_nanosecond() as u16).to_le_bytes();
    }
    format!(
        "{}-{:04x}",
        jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S"),
        u16::from_le_bytes(random)
    )
}

/// Returns true if the text has the form of an id of [`new_id`]. Names of what a run makes contain
/// it.
pub fn is_new_id(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let fits = |part: &str, length: usize, digit: fn(&u8) -> bool| {
        part.len() == length && part.as_bytes().iter().all(digit)
    };
    matches!(parts.as_slice(), [date, time, random] if fits(date, 8, u8::is_ascii_digit)
        && fits(time, 6, u8::is_ascii_digit) && fits(random, 4, u8::is_ascii_hexdigit))
}

/// Returns true if the text can be the name of a run: no path, no option.
pub fn is_id(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    (1..=64).contains(&text.len()) && text.chars().all(plain) && !text.starts_with('-')
}

/// Checks the links of a path: each must be ours or root's, since another user can redirect theirs
/// at any time. A path that does not exist is checked as far as it does.
pub fn check_links(path: &Path) -> Result<(), StoreError> {
    let mut walked = PathBuf::new();
    for component in path.components() {
        walked.push(component);
        if component == Component::ParentDir {
            continue;
        }
        let Ok(meta) = std::fs::symlink_metadata(&walked) else {
            return Ok(());
        };
        if meta.is_symlink() && !trusted(meta.uid()) {
            return Err(StoreError::refuse(
                &walked,
                format!("it is a link of user {}", meta.uid()),
            ));
        }
    }
    Ok(())
}

/// Checks a folder. If it is the one to be used (`ours`), only we may write to it. Those above may
/// also be root's, and writable by everybody if they are sticky.
fn check_folder(path: &Path, ours: bool) -> Result<(), StoreError> {
    let meta = std::fs::symlink_metadata(path)
        .map_err(|error| StoreError::system("look at", path, error))?;
    if !meta.is_dir() {
        return Err(StoreError::refuse(path, "it is not a folder".into()));
    }
    if ours {
        return private::is_ours_alone(meta.uid(), meta.mode())
            .map_err(|why| StoreError::refuse(path, why));
    }
    if !trusted(meta.uid()) {
        return Err(StoreError::refuse(path, format!("it belongs to user {}", meta.uid())));
    }
    let sticky = meta.mode() & 0o1000 != 0;
    if meta.mode() & 0o002 != 0 && !sticky {
        return Err(StoreError::refuse(
            path,
            format!("others may write to it (mode {:04o})", meta.mode() & 0o7777),
        ));
    }
    Ok(())
}

fn trusted(uid: u32) -> bool {
    uid == 0 || uid == rustix::process::geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_tells_its_time() {
        let id = new_id();
        assert!(is_id(&id) && id.len() == 20, "{id}");
        let digits = |range: std::ops::Range<usize>| id[range].chars().all(|c| c.is_ascii_digit());
        assert!(
            digits(0..8) && digits(9..15) && id[16..].chars().all(|c| c.is_ascii_hexdigit()),
            "{id}"
        );
    }

    #[test]
    fn the_default_follows_the_environment() {
        let with = |set: &[(&str, &str)]| {
            let set: Vec<(String, PathBuf)> =
                set.iter().map(|(name, value)| ((*name).into(), value.into())).collect();
            runs_dir_from(|name| {
                set.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())
            })
            .ok()
        };
        let all = [("IOTAX_RUNS", "/r"), ("XDG_STATE_HOME", "/s"), ("HOME", "/h")];
        assert_eq!(with(&all), Some("/r".into()));
        assert_eq!(with(&all[1..]), Some("/s/iotax/runs".into()));
        assert_eq!(with(&all[2..]), Some("/h/.local/state/iotax/runs".into()));
        assert_eq!(
            with(&[("XDG_STATE_HOME", "relative"), ("HOME", "/h")]),
            Some("/h/.local/state/iotax/runs".into())
        );
        assert_eq!(with(&[]), None);
    }
}
