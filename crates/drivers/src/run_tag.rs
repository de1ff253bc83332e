//! The run whose steps are performed: every name that a step makes carries its id.

use iotax_facts::place::Place;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct RunTag {
    /// The run's id; every name that a step makes carries it.
    pub run_id: String,
    pub run_dir: PathBuf,
}

impl RunTag {
    pub fn directory_in(&self, place: &Place) -> PathBuf {
        match place {
            Place::Host => self.run_dir.clone(),
            _ => Path::new("/run").join(format!("iotax-{}", self.run_id)),
        }
    }

    /// Returns true if a name has the end of the run's id ([`short_id`]) in it. Ignores case, as
    /// names of iSCSI and NVMe are in small letters.
    pub fn is_in(&self, name: &str) -> bool {
        name.to_ascii_lowercase().contains(&short_id(&self.run_id).to_ascii_lowercase())
    }

    pub fn in_place(&self, place: &Place) -> RunTag {
        RunTag { run_id: self.run_id.clone(), run_dir: self.directory_in(place) }
    }

    /// Creates the tag of a run that is only planned, with placeholders for the run's id and
    /// folder.
    pub fn of_none() -> RunTag {
        RunTag { run_id: "RUN".into(), run_dir: "/RUN-DIRECTORY".into() }
    }
}

/// Returns the end of a run's id, which is enough to distinguish runs: at most 11 letters, for
/// names that may not be long.
pub fn short_id(run_id: &str) -> &str {
    let from = run_id.char_indices().rev().nth(10).map_or(0, |(at, _)| at);
    run_id[from..].trim_start_matches('-')
}
