//! Storage media.

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Medium {
    Hdd,
    Qlc,
    Tlc,
    Mlc,
    Slc,
    #[serde(rename = "Optane")]
    Optane,
}
