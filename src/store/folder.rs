//! Where runs lie, and their folders. Refuses a place where another user could put files or links.

use super::{StoreError, Writer, private};
use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

/// The folder of runs.
#[derive(Clone, Debug)]
pub struct Store {
    runs_dir: PathBuf,
}

impl Store {
    /// Makes the folder of runs where needed (0700) and checks it and all above it.
    ///
    /// # Errors
    /// [`StoreError::Unsafe`], [`StoreError::System`].
    pub fn open(runs_dir: &Path) -> Result<Store, StoreError> {
        let runs_dir =
            std::path::absolute(runs_dir).map_err(|error| StoreError::system("resolve", runs_dir, error))?;
        check_links(&runs_dir)?;
        let mut builder = DirBuilder::new();
        builder.recursive(true).mode(0o700);
        builder.create(&runs_dir).map_err(|error| StoreError::system("make", &runs_dir, error))?;
        Ok(Store { runs_dir: ours(&runs_dir)? })
    }

    /// Makes the run's folder (new, 0700) and opens it for writing.
    ///
    /// # Errors
    /// As [`Store::open`]; a folder of that name that exists.
    pub fn create(runs_dir: &Path, id: &str) -> Result<Writer, StoreError> {
        let store = Store::open(runs_dir)?;
        let folder = store.runs_dir.join(id);
        if !is_id(id) {
            let why = Some("an id is letters, digits and dashes".to_owned());
            return Err(StoreError::NoRun { what: format!("\"{}\"", id.escape_debug()), why });
        }
        DirBuilder::new()
            .mode(0o700)
            .create(&folder)
            .map_err(|error| StoreError::system("make", &folder, error))?;
        Writer::open(&folder)
    }

    /// Opens an existing run to go on with it.
    ///
    /// # Errors
    /// [`StoreError::Busy`] while another process writes it; the folder's owner or mode.
    pub fn append(folder: &Path) -> Result<Writer, StoreError> {
        Writer::open(&ours(folder)?)
    }

    /// The folder of runs, without links.
    pub fn runs_dir(&self) -> &Path {
        &self.runs_dir
    }
}

/// A folder whose files may be acted on, without links: it is ours alone to write, and nobody else can put another in its place.
/// A folder of runs, or of one run.
///
/// # Errors
/// [`StoreError::Unsafe`] with whose it is, [`StoreError::System`].
pub fn ours(folder: &Path) -> Result<PathBuf, StoreError> {
    let absolute =
        std::path::absolute(folder).map_err(|error| StoreError::system("resolve", folder, error))?;
    check_links(&absolute)?;
    let real = absolute.canonicalize().map_err(|error| StoreError::system("resolve", &absolute, error))?;
    for above in real.ancestors() {
        check_folder(above, above == real)?;
    }
    Ok(real)
}

/// $IOTAX_RUNS, else $XDG_STATE_HOME/iotax/runs, else ~/.local/state/iotax/runs.
///
/// # Errors
/// [`StoreError::Unsafe`] when none of the three is set.
pub fn default_runs_dir() -> Result<PathBuf, StoreError> {
    runs_dir_from(|name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from))
}

fn runs_dir_from(variable: impl Fn(&str) -> Option<PathBuf>) -> Result<PathBuf, StoreError> {
    let state = || variable("XDG_STATE_HOME").filter(|path| path.is_absolute());
    let home = || variable("HOME").map(|home| home.join(".local/state"));
    let found =
        variable("IOTAX_RUNS").or_else(|| state().or_else(home).map(|state| state.join("iotax/runs")));
    found.ok_or_else(|| StoreError::Unsafe {
        path: "the folder of runs".into(),
        why: "neither IOTAX_RUNS nor XDG_STATE_HOME nor HOME is set".into(),
        hint: "set IOTAX_RUNS".into(),
    })
}

/// `YYYYMMDD-HHMMSS-xxxx`: time of day in UTC and four random hex digits.
pub fn new_id() -> String {
    let mut random = [0u8; 2];
    // The clock's nanoseconds are random enough where the kernel has no random bytes yet.
    if rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::NONBLOCK).is_err() {
        random = (jiff::Timestamp::now().subsec_nanosecond() as u16).to_le_bytes();
    }
    format!("{}-{:04x}", jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S"), u16::from_le_bytes(random))
}

/// Whether it is an id that [`new_id`] gives: names of what a run makes carry it.
pub fn is_new_id(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let fits = |part: &str, length: usize, digit: fn(&u8) -> bool| {
        part.len() == length && part.as_bytes().iter().all(digit)
    };
    matches!(parts.as_slice(), [date, time, random] if fits(date, 8, u8::is_ascii_digit)
        && fits(time, 6, u8::is_ascii_digit) && fits(random, 4, u8::is_ascii_hexdigit))
}

/// Whether it can be the name of a run: no path, no option.
pub fn is_id(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    (1..=64).contains(&text.len()) && text.chars().all(plain) && !text.starts_with('-')
}

/// A link on the way may be ours or root's: another's can be turned elsewhere at any time.
fn check_links(path: &Path) -> Result<(), StoreError> {
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
            return Err(refuse(&walked, format!("it is a link of user {}", meta.uid())));
        }
    }
    Ok(())
}

/// The folder itself must be ours alone to write; those above may be root's or sticky.
fn check_folder(path: &Path, ours: bool) -> Result<(), StoreError> {
    let meta = std::fs::symlink_metadata(path).map_err(|error| StoreError::system("look at", path, error))?;
    if !meta.is_dir() {
        return Err(refuse(path, "it is not a folder".into()));
    }
    if ours {
        return private::is_ours_alone(meta.uid(), meta.mode()).map_err(|why| refuse(path, why));
    }
    if !trusted(meta.uid()) {
        return Err(refuse(path, format!("it belongs to user {}", meta.uid())));
    }
    let sticky = meta.mode() & 0o1000 != 0;
    if meta.mode() & 0o002 != 0 && !sticky {
        return Err(refuse(path, format!("others may write to it (mode {:04o})", meta.mode() & 0o7777)));
    }
    Ok(())
}

fn trusted(uid: u32) -> bool {
    uid == 0 || uid == rustix::process::geteuid().as_raw()
}

pub(super) fn refuse(path: &Path, why: String) -> StoreError {
    StoreError::Unsafe {
        path: path.to_owned(),
        why,
        hint: "chmod 700 a folder of your own, and set IOTAX_RUNS to it".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn chmod(path: &Path, mode: u32) {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    }

    #[test]
    fn folders_are_private_and_new() {
        let dir = tempfile::tempdir().unwrap();
        let runs = dir.path().join("a/b/runs");
        let id = new_id();
        let writer = Store::create(&runs, &id).unwrap();
        for folder in [&runs, &runs.join(&id)] {
            assert_eq!(std::fs::metadata(folder).unwrap().mode() & 0o777, 0o700);
        }
        drop(writer);
        assert!(Store::create(&runs, &id).unwrap_err().to_string().contains("exists"));
        for bad in ["", "../x", "-x", "a/b", "a\nb"] {
            assert!(matches!(Store::create(&runs, bad), Err(StoreError::NoRun { .. })), "{bad:?}");
        }
    }

    #[test]
    fn an_id_tells_its_time() {
        let id = new_id();
        assert!(is_id(&id) && id.len() == 20, "{id}");
        let digits = |range: std::ops::Range<usize>| id[range].chars().all(|c| c.is_ascii_digit());
        assert!(digits(0..8) && digits(9..15) && id[16..].chars().all(|c| c.is_ascii_hexdigit()), "{id}");
    }

    #[test]
    fn what_others_can_write_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let runs = dir.path().join("runs");
        std::fs::create_dir(&runs).unwrap();
        for mode in [0o777, 0o770, 0o1777] {
            chmod(&runs, mode);
            let error = Store::open(&runs).unwrap_err();
            assert!(error.to_string().contains("others may write"), "{mode:o}: {error}");
        }
        chmod(&runs, 0o755);
        Store::open(&runs).unwrap();
        chmod(dir.path(), 0o777);
        assert!(matches!(Store::open(&runs), Err(StoreError::Unsafe { path, .. }) if path == dir.path()));
        chmod(dir.path(), 0o1777);
        Store::open(&runs).unwrap();
    }

    #[test]
    fn links_and_folders_of_others_are_refused() {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: needs root to make another user's link");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let [real, link, theirs] = ["real", "link", "theirs"].map(|name| dir.path().join(name));
        std::fs::create_dir(&real).unwrap();
        symlink(&real, &link).unwrap();
        assert_eq!(Store::open(&link).unwrap().runs_dir(), real.canonicalize().unwrap());
        std::os::unix::fs::lchown(&link, Some(4242), None).unwrap();
        assert!(Store::open(&link.join("runs")).unwrap_err().to_string().contains("link of user 4242"));
        std::fs::create_dir(&theirs).unwrap();
        std::os::unix::fs::chown(&theirs, Some(4242), None).unwrap();
        assert!(Store::open(&theirs).unwrap_err().to_string().contains("belongs to user 4242"));
        assert!(Store::open(&theirs.join("runs")).unwrap_err().to_string().contains("belongs to user 4242"));
    }

    #[test]
    fn the_default_follows_the_environment() {
        let with = |set: &[(&str, &str)]| {
            let set: Vec<(String, PathBuf)> =
                set.iter().map(|(name, value)| ((*name).into(), value.into())).collect();
            runs_dir_from(|name| set.iter().find(|(key, _)| key == name).map(|(_, value)| value.clone())).ok()
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
