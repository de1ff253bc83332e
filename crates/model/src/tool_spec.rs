//! Description of an engine that iotax does not know, by the commands of its own program.

use iotax_facts::tool::ToolCommands;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(default)]
    pub options: Vec<ToolOption>,
    /// Option that a lone word sets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positional: Option<String>,
    /// Smallest and largest number of members.
    pub members: (usize, usize),
    pub capacity: Capacity,
    /// Bytes of each member that the tool keeps for itself.
    pub reserve: u64,
    /// True if blocks of a new volume were never written, so that they are written once before
    /// measuring.
    pub unwritten: bool,
    /// True if the members may be files.
    #[serde(default)]
    pub files: bool,
    /// True if the names of the tool's volumes must be short.
    pub short_names: bool,
    pub commands: ToolCommands,
    /// Name of the volume that a plan makes with the tool; `None` outside of a plan.
    #[serde(skip)]
    pub made: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolOption {
    pub name: String,
    pub kind: String,
    /// Allowed values of a `word`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// Value if the option is not written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// How many of its members' bytes the volume of a tool has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capacity {
    Fixed(MemberShare),
    /// The share for each value of an option.
    By {
        option: String,
        shares: BTreeMap<String, MemberShare>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberShare {
    /// The bytes of all members but this many, which may fail.
    AllBut(u32),
    /// The bytes of half the members: all data have two copies, whose places the tool knows.
    Half,
    /// The bytes of one member: all have the same data.
    One,
}

impl MemberShare {
    /// Parses `sum`, `sum-1`, `half` or `smallest`; `None`: another word.
    pub fn parse(word: &str) -> Option<MemberShare> {
        match word {
            "smallest" => Some(MemberShare::One),
            "half" => Some(MemberShare::Half),
            "sum" => Some(MemberShare::AllBut(0)),
            _ => word.strip_prefix("sum-")?.parse().ok().map(MemberShare::AllBut),
        }
    }
}
