//! What holds of any bytes whatever, sound or hostile: nothing panics, spots lie within the page, a figure is what stands at its spot,
//! what could not be read is listed with lines that are there. They stand in one place: fuzzers (`crates/audit-proof/fuzz`) try them on what
//! they make up, a test on the corpus that those left, other tests on damaged outputs.
//!
//! A [`Target`] takes bytes and holds the laws of one reader. Importers, formats of JSON and containers have one each by standing in
//! the tables of their families; the others are in [`OTHERS`].

mod bytes;
mod damage;
mod outputs;
mod swollen;
mod text;

use iotax_audit::container::{self, Container};
use iotax_audit::import::json_formats::{self, JsonFormat};
use iotax_audit::import::{self, Format};

pub use damage::{Damage, damaged};
pub use outputs::figures_stand_where_they_say;
pub use text::tables_hold;

/// What is fuzzed by itself.
pub struct Target {
    /// `fio-text`: also the name of its folder in the corpus.
    pub name: String,
    laws: Laws,
}

enum Laws {
    Importer(&'static Format),
    Json(&'static JsonFormat),
    Container(&'static Container),
    Other(fn(&[u8])),
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

/// All of them.
pub fn targets() -> Vec<Target> {
    let named = |name: &str, laws| Target { name: name.to_lowercase().replace(' ', "-"), laws };
    // The entry that all formats of JSON share is held with the word for each.
    let importers = import::ALL.iter().filter(|format| format.name != json_formats::FORMAT.name);
    importers
        .map(|format| named(format.name, Laws::Importer(format)))
        .chain(json_formats::ALL.iter().map(|format| named(format.name, Laws::Json(format))))
        .chain(container::ALL.iter().map(|container| named(container.name, Laws::Container(container))))
        .chain(OTHERS.iter().map(|(name, holds)| named(name, Laws::Other(*holds))))
        .collect()
}

impl Target {
    /// Holds the laws of what is made of the bytes.
    ///
    /// # Panics
    /// Where one is broken, or the reader panics.
    pub fn hold(&self, bytes: &[u8]) {
        match self.laws {
            Laws::Importer(format) => outputs::importer(format, bytes),
            Laws::Json(format) => outputs::json(format, bytes),
            Laws::Container(container) => bytes::container(container, bytes),
            Laws::Other(holds) => holds(bytes),
        }
    }
}
