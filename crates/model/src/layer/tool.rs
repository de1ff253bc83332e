//! An engine that iotax does not know, described in a scenario by the commands of its own program:
//! `[tool.NAME]`. It has no fixed name, so it is in no catalog. Its words are derived from its
//! description.

use super::option::{OptionDef, OptionKind};
use super::{Face, LayerHelp, States};
use crate::scenario::LayerSpec;
use iotax_facts::tool::{EngineGives, PARTS, ToolCommands};
use iotax_units::MIB;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Common name of all tools if none is named.
pub const KIND: &str = "tool";
/// Option that requests a smaller volume than the whole capacity, if a tool declares it.
pub const SIZE: &str = "size";
/// Kinds of options by their words.
pub const KINDS: &[&str] = &["size", "count", "number", "flag", "path", "cpumask", "word"];

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// Name of the tool in stacks.
    pub name: String,
    /// Remark that a reader of a report must know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(default)]
    pub options: Vec<ToolOption>,
    /// Option that a lone word sets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positional: Option<String>,
    /// Smallest and largest number of members.
    pub members: (usize, usize),
    /// Share of the members' bytes that the tool gives.
    pub capacity: Capacity,
    /// Bytes of each member that the tool keeps for itself.
    pub reserve: u64,
    /// True if the tool gives blocks that were never written.
    pub unwritten: bool,
    /// True if the members may be files.
    #[serde(default)]
    pub files: bool,
    /// True if the names of its volumes must be short.
    pub short_names: bool,
    /// Commands of the tool's program.
    pub commands: ToolCommands,
    /// Name of what a plan makes with the tool; set only for the layer in that plan.
    #[serde(skip)]
    pub made: Option<String>,
}

/// An option of a tool.
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

/// Share of the members' bytes that a tool gives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capacity {
    Fixed(MemberShare),
    /// The value of an option decides.
    By {
        option: String,
        shares: BTreeMap<String, MemberShare>,
    },
}

/// Share of the bytes of members of equal size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberShare {
    /// The bytes of all members but this many, which may fail.
    AllBut(u32),
    /// The bytes of half the members: each has a copy, which the tool knows.
    Half,
    /// The bytes of one member: all have the same data.
    One,
}

impl MemberShare {
    /// Parses `sum`, `sum-1`, `half`, `smallest`.
    pub fn parse(word: &str) -> Option<MemberShare> {
        match word {
            "smallest" => Some(MemberShare::One),
            "half" => Some(MemberShare::Half),
            "sum" => Some(MemberShare::AllBut(0)),
            _ => word.strip_prefix("sum-")?.parse().ok().map(MemberShare::AllBut),
        }
    }
}

impl Tool {
    /// Returns the share with these options; `None`: the option's value is not in the table.
    fn share(&self, spec: &LayerSpec) -> Option<MemberShare> {
        match &self.capacity {
            Capacity::Fixed(share) => Some(*share),
            Capacity::By { option, shares } => shares.get(spec.option(option)?).copied(),
        }
    }

    /// Returns the bytes that the tool gives of that many members of `each` bytes, in whole MiB.
    pub fn bytes(&self, spec: &LayerSpec, members: usize, each: u64) -> u64 {
        let each = each.saturating_sub(self.reserve) / MIB * MIB;
        match self.share(spec) {
            Some(MemberShare::One) => each,
            Some(MemberShare::Half) => each * (members as u64 / 2),
            Some(MemberShare::AllBut(failed)) => {
                each * (members as u64).saturating_sub(u64::from(failed))
            }
            None => 0,
        }
    }

    /// Returns the layer's words. A description lives as long as the process, because a layer's
    /// words do.
    pub fn help(&self) -> &'static LayerHelp {
        static ALL: Mutex<BTreeMap<String, &'static LayerHelp>> = Mutex::new(BTreeMap::new());
        let key = format!("{:?}", Tool { made: None, ..self.clone() });
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(key).or_insert_with(|| Box::leak(Box::new(self.new_help())))
    }

    fn new_help(&self) -> LayerHelp {
        let leaked = |text: &String| -> &'static str { text.clone().leak() };
        let options: Vec<OptionDef> = self.options.iter().map(ToolOption::def).collect();
        let name = leaked(&self.name);
        let has_states = self.commands.state.is_some() && !self.commands.fail.is_empty();
        let notes = self.note.iter().map(|note| ("", "", leaked(note))).collect::<Vec<_>>();
        LayerHelp {
            name,
            example: format!("[/dev/A,/dev/B] | {name}").leak(),
            options: options.leak(),
            positional: self.positional.as_ref().map(leaked),
            gives: match self.commands.gives {
                EngineGives::Block => Face::Block,
                EngineGives::File => Face::File,
                EngineGives::VhostUser => Face::VhostUser,
            },
            joins: self.members.1 > 1,
            splits: self.options.iter().any(|option| option.name == PARTS).then_some(PARTS),
            redundancy,
            states: has_states.then(|| States {
                source: format!("its command \"state\" ({name})").leak(),
                of: "all",
                out: false,
            }),
            notes: notes.leak(),
            ..LayerHelp::PLAIN
        }
    }
}

fn redundancy(spec: &LayerSpec, members: usize) -> u32 {
    match spec.tool.as_ref().and_then(|tool| tool.share(spec)) {
        Some(MemberShare::One) => (members as u32).saturating_sub(1),
        Some(MemberShare::Half) => 1,
        Some(MemberShare::AllBut(failed)) => failed,
        None => 0,
    }
}

impl ToolOption {
    /// Returns the option as that of a layer.
    pub fn def(&self) -> OptionDef {
        let values = || -> &'static [&'static str] {
            let values = self.values.iter().map(|value| -> &'static str { value.clone().leak() });
            values.collect::<Vec<_>>().leak()
        };
        let kind = match self.kind.as_str() {
            "size" => OptionKind::Size,
            "count" => OptionKind::Count,
            "number" => OptionKind::Number,
            "flag" => OptionKind::Flag,
            "path" => OptionKind::Path,
            "cpumask" => OptionKind::CpuMask,
            _ => OptionKind::Word(values()),
        };
        let default = self.default.clone().map(|value| -> &'static str { value.leak() });
        OptionDef { name: self.name.clone().leak(), aliases: &[], kind, default, only_with: None }
    }
}
