//! What the maker of the drives rates them at, as the data sheet prints it, so that a report can hold what was measured
//! against it. It refuses a figure without a source: nobody could look it up.

use super::error::Fault;
use crate::units::{self, Counted, Printed};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `[rating]`: one drive of the model that the stacks stand on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rating {
    /// Which data sheet: title, revision or date, where.
    pub source: String,
    /// The model that it is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What is printed there.
    pub figures: BTreeMap<Rated, RatedFigure>,
}

/// One printed figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RatedFigure {
    /// As it was printed: `1000k`.
    pub printed: String,
    /// I/Os a second, bytes a second or nanoseconds.
    pub value: f64,
}

/// What data sheets rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rated {
    /// Random reads of 4 KiB a second.
    RandreadIops,
    /// Random writes of 4 KiB a second, sustained.
    RandwriteIops,
    /// Bytes a second read in order.
    Read,
    /// Bytes a second written in order.
    Write,
    /// Time of a random read of 4 KiB, one at a time.
    RandreadLatency,
    /// Time of a random write of 4 KiB, one at a time.
    RandwriteLatency,
}

/// Each with its key and what it counts, in the order of the docs.
const RATED: [(Rated, &str, Counted); 6] = [
    (Rated::RandreadIops, "randread_iops", Counted::PerSecond),
    (Rated::RandwriteIops, "randwrite_iops", Counted::PerSecond),
    (Rated::Read, "read", Counted::BytesPerSecond),
    (Rated::Write, "write", Counted::BytesPerSecond),
    (Rated::RandreadLatency, "randread_latency", Counted::Time),
    (Rated::RandwriteLatency, "randwrite_latency", Counted::Time),
];

/// Keys of `[rating]`.
pub fn names() -> Vec<&'static str> {
    ["source", "model"].into_iter().chain(RATED.map(|(_, key, _)| key)).collect()
}

/// Sets one key.
///
/// # Errors
/// A text that is empty, without a number, with another unit, or only a bound.
pub fn set(rating: &mut Rating, key: &str, text: &str) -> Result<(), Fault> {
    let said = || match text.trim() {
        "" => Err(Fault::new("is empty")),
        text => Ok(text.to_owned()),
    };
    match (key, RATED.into_iter().find(|(_, name, _)| *name == key)) {
        ("source", _) => rating.source = said()?,
        ("model", _) => rating.model = Some(said()?),
        (_, Some((rated, _, counted))) => {
            let read = units::parse_printed(text, counted).map_err(|clause| Fault::from_clause(&clause))?;
            let Printed { value, low, .. } = read;
            if low == 0.0 {
                return Err(Fault::hint("a bound is no rating", "write the figure without \"<\""));
            }
            rating.figures.insert(rated, RatedFigure { printed: text.to_owned(), value });
        }
        _ => return Err(Fault::unknown("key", key, &names())),
    }
    Ok(())
}

/// What makes a rating one.
///
/// # Errors
/// No source, or no figure.
pub fn check(rating: &Rating) -> Result<(), (&'static str, Fault)> {
    if rating.source.is_empty() {
        let hint = "write source = \"the data sheet: its title, revision or date\"";
        return Err(("source", Fault::hint("a rating without a source cannot be looked up", hint)));
    }
    if rating.figures.is_empty() {
        let hint = "write for example randread_iops = \"1000k\" and read = \"7000MB/s\"";
        return Err(("rating", Fault::hint("there is no figure", hint)));
    }
    Ok(())
}

impl Rating {
    /// A figure, in I/Os a second, bytes a second or nanoseconds.
    pub fn value(&self, rated: Rated) -> Option<f64> {
        self.figures.get(&rated).map(|figure| figure.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rating_is_read_as_it_is_printed() {
        let mut rating = Rating::default();
        let printed = [
            ("source", "data sheet, 2021"),
            ("randread_iops", "1000k"),
            ("read", "7000MB/s"),
            ("randread_latency", "70us"),
        ];
        for (key, text) in printed {
            set(&mut rating, key, text).unwrap();
        }
        assert_eq!(check(&rating), Ok(()));
        let read = [Rated::RandreadIops, Rated::Read, Rated::RandreadLatency].map(|one| rating.value(one));
        assert_eq!(read, [Some(1e6), Some(7e9), Some(70_000.0)]);
        assert_eq!(rating.value(Rated::Write), None);
    }

    #[test]
    fn every_key_has_the_name_under_which_it_is_recorded() {
        for (rated, key, _) in RATED {
            assert_eq!(serde_json::to_value(rated).unwrap(), key);
        }
    }
}
