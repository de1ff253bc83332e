//! Ratings of the drives by their maker, as the data sheet prints them, which a report compares
//! with what was measured. A figure without a source is refused: nobody could look it up.

use super::error::Fault;
use iotax_units::{self as units, Counted, PrintedValue};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

pub use iotax_hardware::ratings::DriveRatings;

/// `[rating]`: what the maker states for one drive of the model that the stacks are on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rating {
    /// Data sheet: title, revision or date, and where to find it.
    pub source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub figures: BTreeMap<DriveRatings, RatedFigure>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RatedFigure {
    /// Figure as it was printed: `1000k`.
    pub printed: String,
    /// Value in I/Os per second, bytes per second or nanoseconds, as the rating requires.
    pub value: f64,
}

fn counted_unit(rated: DriveRatings) -> Counted {
    match rated {
        DriveRatings::RandreadIops | DriveRatings::RandwriteIops => Counted::PerSecond,
        DriveRatings::Read | DriveRatings::Write => Counted::BytesPerSecond,
        DriveRatings::RandreadLatency | DriveRatings::RandwriteLatency => Counted::Time,
    }
}

pub fn rating_keys() -> Vec<&'static str> {
    ["source", "model"].into_iter().chain(DriveRatings::ALL.map(|(_, key)| key)).collect()
}

/// Sets one key.
///
/// # Errors
/// The key is unknown, or the text is empty, has no number or another unit, or is only a bound.
pub fn set_rating_key(rating: &mut Rating, key: &str, text: &str) -> Result<(), Fault> {
    let said = || match text.trim() {
        "" => Err(Fault::new("is empty")),
        text => Ok(text.to_owned()),
    };
    match (key, DriveRatings::ALL.into_iter().find(|(_, name)| *name == key)) {
        ("source", _) => rating.source = said()?,
        ("model", _) => rating.model = Some(said()?),
        (_, Some((rated, _))) => {
            let read = units::parse_printed(text, counted_unit(rated))
                .map_err(|clause| Fault::from_clause(&clause))?;
            let PrintedValue { value, low, .. } = read;
            if low == 0.0 {
                return Err(Fault::hint("a bound is no rating", "write the figure without \"<\""));
            }
            rating.figures.insert(rated, RatedFigure { printed: text.to_owned(), value });
        }
        _ => return Err(Fault::unknown("key", key, &rating_keys())),
    }
    Ok(())
}

/// Checks that a rating is complete.
///
/// # Errors
/// There is no source, or no figure.
pub fn check_rating(rating: &Rating) -> Result<(), (&'static str, Fault)> {
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
    /// Returns the rated value in I/Os per second, bytes per second or nanoseconds; `None`: it is
    /// not rated.
    pub fn rated_value(&self, rated: DriveRatings) -> Option<f64> {
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
            set_rating_key(&mut rating, key, text).unwrap();
        }
        assert_eq!(check_rating(&rating), Ok(()));
        let read = [DriveRatings::RandreadIops, DriveRatings::Read, DriveRatings::RandreadLatency]
            .map(|one| rating.rated_value(one));
        assert_eq!(read, [Some(1e6), Some(7e9), Some(70_000.0)]);
        assert_eq!(rating.rated_value(DriveRatings::Write), None);
    }

    #[test]
    fn every_key_has_the_name_under_which_it_is_recorded() {
        for (rated, key) in DriveRatings::ALL {
            assert_eq!(serde_json::to_value(rated).unwrap(), key);
        }
    }
}
