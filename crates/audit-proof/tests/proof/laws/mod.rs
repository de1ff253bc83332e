//! What holds of any bytes whatever, sound or hostile: nothing panics, spots lie within the page, a
//! figure is what is at its spot, what could not be read is listed with lines that are there.
//! They stand in one place: fuzzers (`crates/audit-proof/fuzz`) try them on what they make up, a
//! test on the corpus that those left, other tests on damaged outputs.
//!
//! A [`Target`] takes bytes and holds the laws of one reader. Importers, formats of JSON and
//! containers have one each by standing in the tables of their families; the others are in
//! [`OTHERS`].

mod bytes;
mod damage;
mod outputs;
mod swollen;
mod text;

use iotax_audit::container;
use iotax_audit::import::{self, json_formats};

pub use damage::{Damage, damaged};
pub use outputs::figures_stand_where_they_say;
pub use text::tables_hold;

/// What must hold of any bytes.
type Law = dyn Fn(&[u8]) + Send + Sync;

/// What is fuzzed by itself.
pub struct Target {
    /// `fio-text`: also the name of its folder in the corpus.
    pub name: String,
    laws: Box<Law>,
}

/// A name and what holds the laws.
type Other = (&'static str, fn(&[u8]));

/// Targets that are in no table of a family.
const OTHERS: &[Other] = &[
    ("json", bytes::json),
    ("numbers", bytes::numbers),
    ("tables", text::tables),
    ("prose", text::prose),
    ("ratings", bytes::ratings),
    ("audit", bytes::audit),
    ("swollen", swollen::audit),
];

pub fn targets() -> Vec<Target> {
    let mut targets = Vec::new();
    let mut add = |name: &str, laws| {
        targets.push(Target { name: name.to_lowercase().replace(' ', "-"), laws });
    };
    // The entry that all formats of JSON share is held with the word for each.
    for format in import::ALL.iter().filter(|format| format.name != json_formats::FORMAT.name) {
        add(format.name, Box::new(|bytes| outputs::importer(format, bytes)));
    }
    for format in json_formats::ALL {
        add(format.name, Box::new(|bytes| outputs::json(format, bytes)));
    }
    for (name, read) in container::ALL {
        add(name, Box::new(move |bytes| bytes::container(read, bytes)));
    }
    OTHERS.iter().for_each(|(name, holds)| add(name, Box::new(holds)));
    targets
}

impl Target {
    /// Holds the laws of what is made of the bytes.
    ///
    /// # Panics
    /// Where one is broken, or the reader panics.
    pub fn hold(&self, bytes: &[u8]) {
        (self.laws)(bytes);
    }
}
