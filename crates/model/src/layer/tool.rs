//! An engine that iotax does not know, described in a scenario by the commands of its own program:
//! `[tool.NAME]`. It has no fixed name, so it is in no catalog: its words are made of its
//! description.

use super::option::{OptionDef, OptionKind};
use super::{Face, LayerHelp, States};
use crate::scenario::LayerSpec;
use iotax_facts::tool::{EngineGives, PARTS, ToolCommands};
use iotax_units::MIB;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// What all of them are called where none has a name.
pub const KIND: &str = "tool";
/// The option by which a smaller volume than all that there is may be asked for, where a tool
/// declares it.
pub const SIZE: &str = "size";
/// Kinds of options by their words.
pub const KINDS: &[&str] = &["size", "count", "number", "flag", "path", "cpumask", "word"];

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name in stacks.
    pub name: String,
    /// What a reader of a report must know of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(default)]
    pub options: Vec<ToolOption>,
    /// The option that a lone word sets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positional: Option<String>,
    /// How few and how many members it takes.
    pub members: (usize, usize),
    /// What it gives of its members' bytes.
    pub capacity: Capacity,
    /// Bytes of each member that it keeps for itself.
    pub reserve: u64,
    /// Whether it gives blocks that were never written.
    pub unwritten: bool,
    /// Whether its members may be files.
    #[serde(default)]
    pub files: bool,
    /// Whether its names must be short.
    pub short_names: bool,
    /// What its program is asked for.
    pub commands: ToolCommands,
    /// The name of what a plan makes by it: of the layer in that plan only.
    #[serde(skip)]
    pub made: Option<String>,
}

/// An option of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolOption {
    pub name: String,
    pub kind: String,
    /// Of a `word`, which.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// What holds when it is not written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
}

/// What a tool gives of its members' bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capacity {
    Fixed(MemberShare),
    /// By the value of an option.
    By {
        option: String,
        shares: BTreeMap<String, MemberShare>,
    },
}

/// Of members of equal size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberShare {
    /// The bytes of all but so many, which may fail.
    AllBut(u32),
    /// The bytes of half of them: each has a copy, which the tool knows.
    Half,
    /// The bytes of one: all have the same data.
    One,
}

impl MemberShare {
    /// `sum`, `sum-1`, `half`, `smallest`.
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
    /// What holds with these options; `None`: the option's value is not in the table.
    fn share(&self, spec: &LayerSpec) -> Option<MemberShare> {
        match &self.capacity {
            Capacity::Fixed(share) => Some(*share),
            Capacity::By { option, shares } => shares.get(spec.option(option)?).copied(),
        }
    }

    /// Bytes that it gives of so many members of that many bytes each, in whole MiB.
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

    /// Its words. A description lives as long as the process, since a layer's words do.
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
    /// The option as a layer's.
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
