//! The name that a person gives to a stored run. It is a file beside the record, so the record
//! stays as it was written, and an older iotax reads it all the same.

use super::private::{self, Purpose};
use super::{NAME, StoreError, is_new_id};
use iotax_model::record::RunStart;
use std::io::{Read, Write};
use std::path::Path;

/// Longest name in bytes.
const LONGEST: usize = 200;

/// Checks a new name of a run and returns it without the spaces around it.
///
/// # Errors
/// Says what is wrong with the name.
pub fn check_name(text: &str) -> Result<String, String> {
    let name = text.trim();
    let why = match name {
        "" => "a name has at least one letter",
        _ if name.len() > LONGEST => "a name has at most 200 bytes",
        _ if name.chars().any(char::is_control) => "a name is one line of text",
        _ if name == "last" || name.starts_with("last~") || is_new_id(name) => {
            "it already means a run; choose another name"
        }
        _ => return Ok(name.to_owned()),
    };
    Err(format!("\"{}\" is no name for a run: {why}", name.escape_debug()))
}

/// Gives a stored run another name; the folder must be ours alone. The name is one that
/// [`check_name`] returned.
///
/// # Errors
/// [`StoreError::Unsafe`] if another user could have written to the folder,
/// [`StoreError::System`].
pub fn rename_run(folder: &Path, name: &str) -> Result<(), StoreError> {
    private::open(folder, NAME, Purpose::Act)?;
    let path = folder.join(NAME);
    let write = || {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        writeln!(file, "{name}")?;
        file.as_file().sync_all()?;
        file.persist(&path).map_err(|error| error.error)
    };
    write().map(drop).map_err(|error| StoreError::system("write", &path, error))
}

/// Puts the name that a person gave to the run in place of the scenario's. A name that cannot be
/// read counts as not given.
pub(super) fn apply_given_name(folder: &Path, start: &mut RunStart) {
    if let Some(name) = given_name(folder) {
        start.scenario.name = Some(name);
    }
}

fn given_name(folder: &Path) -> Option<String> {
    let file = private::open(folder, NAME, Purpose::Show).ok()??;
    let mut text = String::new();
    file.take(LONGEST as u64 + 1).read_to_string(&mut text).ok()?;
    check_name(text.lines().next()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format_tests::start;
    use crate::{INDEX, Store, list_runs, load_run};
    use iotax_model::record::RunRecord;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_new_name_replaces_the_scenarios_and_leaves_the_record() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = Store::create(dir.path(), "a").unwrap();
        let own = RunStart {
            scenario: iotax_model::scenario::Scenario {
                name: Some("of the scenario".into()),
                ..start().scenario
            },
            ..start()
        };
        writer.append(&RunRecord::Run(own)).unwrap();
        let folder = writer.folder().to_owned();
        let record = || std::fs::read(folder.join(INDEX)).unwrap();
        let name = || {
            let listed = list_runs(dir.path()).unwrap()[0].start.clone().unwrap().scenario.name;
            assert_eq!(load_run(&folder).unwrap().start.scenario.name, listed);
            listed.unwrap()
        };
        let before = record();
        assert_eq!(name(), "of the scenario");
        for new in ["nightly build 7", "änderung"] {
            rename_run(&folder, &check_name(&format!(" {new} ")).unwrap()).unwrap();
            assert_eq!(name(), new);
        }
        assert_eq!(record(), before);
        // A name that a hostile folder brings is no name.
        for text in ["\u{1b}[2J", "last", &"x".repeat(300), "", "\n"] {
            std::fs::write(folder.join(NAME), text).unwrap();
            assert_eq!(name(), "of the scenario", "{text:?}");
        }
        std::fs::remove_file(folder.join(NAME)).unwrap();
        symlink("/etc/hostname", folder.join(NAME)).unwrap();
        assert_eq!(name(), "of the scenario");
        assert!(matches!(rename_run(&folder, "x"), Err(StoreError::Unsafe { .. })));
    }

    #[test]
    fn names_that_mean_a_run_or_act_are_refused() {
        for bad in ["", "  ", "a\nb", "last", "last~2", "20260102-030405-a1b2", &"x".repeat(201)] {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
        assert_eq!(check_name(" raid 5/6 ").unwrap(), "raid 5/6");
    }
}
