//! Lists that are stored as one value if there is only one, as earlier versions stored it. For
//! `#[serde(with = "one_or_more")]`.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Writes the only value, or the list.
///
/// # Errors
/// As the serializer.
pub fn serialize<T: Serialize, S: Serializer>(
    list: &[T],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match list {
        [one] => one.serialize(serializer),
        list => list.serialize(serializer),
    }
}

/// Reads a value, or a list of them.
///
/// # Errors
/// If what is there is neither.
pub fn deserialize<'de, T, D>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMore<T> {
        One(T),
        More(Vec<T>),
    }
    Ok(match OneOrMore::deserialize(deserializer)? {
        OneOrMore::One(one) => vec![one],
        OneOrMore::More(list) => list,
    })
}
