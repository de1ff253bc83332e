//! Places where load runs: this host, a guest, a host over SSH.

use serde::{Deserialize, Serialize, Serializer};
use std::cmp::Ordering;
use std::fmt;
use std::path::Path;

/// Place in which load runs or a step is performed. It is written, stored and ordered as a string:
/// `host`, `ssh:HOST`, or the name of a guest.
#[derive(Clone, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(from = "String")]
pub enum Place {
    #[default]
    Host,
    /// A host over SSH, by the destination that ssh gets.
    Ssh(String),
    /// A guest of the run, by name. A lab is such a guest; its name comes from the scenario, those
    /// of other guests from the plan (`vm0`).
    Guest(String),
}

impl Place {
    pub fn is_host(&self) -> bool {
        *self == Place::Host
    }

    pub fn is_ssh(&self) -> bool {
        matches!(self, Place::Ssh(_))
    }

    pub fn is_guest(&self) -> bool {
        matches!(self, Place::Guest(_))
    }

    pub fn ssh_host(&self) -> Option<&str> {
        match self {
            Place::Ssh(host) => Some(host),
            _ => None,
        }
    }

    /// Returns the written form in two parts, prefix and name; one of them may be empty.
    fn prefix_and_name(&self) -> [&str; 2] {
        match self {
            Place::Host => [HOST, ""],
            Place::Ssh(host) => [SSH, host],
            Place::Guest(name) => ["", name],
        }
    }

    fn written_bytes(&self) -> impl Iterator<Item = u8> {
        self.prefix_and_name().into_iter().flat_map(str::bytes)
    }
}

const HOST: &str = "host";
const SSH: &str = "ssh:";

impl From<String> for Place {
    fn from(text: String) -> Place {
        match text.strip_prefix(SSH) {
            Some(host) => Place::Ssh(host.to_owned()),
            None if text == HOST => Place::Host,
            None => Place::Guest(text),
        }
    }
}

impl From<&str> for Place {
    fn from(text: &str) -> Place {
        Place::from(text.to_owned())
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.prefix_and_name().into_iter().try_for_each(|part| f.write_str(part))
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_string(), f)
    }
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Ord for Place {
    fn cmp(&self, other: &Place) -> Ordering {
        self.written_bytes().cmp(other.written_bytes())
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Place) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Returns true if the path begins with /proc or /sys, whatever is mounted there.
pub fn is_of_the_kernel(path: &Path) -> bool {
    path.starts_with("/proc") || path.starts_with("/sys")
}

/// Returns true for a Windows path; paths of all other systems begin with a slash.
pub fn is_of_windows(path: &Path) -> bool {
    !path.to_string_lossy().starts_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_written_read_and_ordered_as_its_string() {
        let mut texts = ["vm0", "ssh:root@s1", "host", "hosts", "lab", "ssh", "ssh:", "hos", "ssi"];
        let mut places = texts.map(Place::from);
        for (place, text) in places.iter().zip(texts) {
            let json = serde_json::to_string(place).unwrap();
            assert_eq!((place.to_string(), &json), (text.to_owned(), &format!("\"{text}\"")));
            assert_eq!(serde_json::from_str::<Place>(&json).unwrap(), *place);
        }
        let keyed = std::collections::BTreeMap::from(places.clone().map(|place| (place, 1)));
        let json = serde_json::to_string(&keyed).unwrap();
        assert!(json.starts_with(r#"{"hos":1,"host":1,"hosts":1"#), "{json}");
        assert_eq!(
            serde_json::from_str::<std::collections::BTreeMap<Place, u32>>(&json).unwrap(),
            keyed
        );
        places.sort();
        texts.sort_unstable();
        assert_eq!(places.map(|place| place.to_string()), texts);
        assert_eq!(Place::from("ssh:root@s1").ssh_host(), Some("root@s1"));
        assert_eq!(
            (Place::from("host"), Place::from("lab")),
            (Place::Host, Place::Guest("lab".into()))
        );
    }
}
