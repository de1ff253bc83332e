//! A storage engine that iotax does not know, described in a scenario by the commands of its own
//! program: `[tool.NAME]`. It is not in [`super::ALL`], because its name is the user's: its
//! [`LayerHelp`] is derived from the description.

use super::option::{OptionDef, OptionKind};
use super::{LayerHelp, States};
use crate::stack::Face;
use crate::stack::LayerSpec;
use crate::tool_spec::{Capacity, MemberShare, Tool, ToolOption};
use iotax_facts::tool::{EngineGives, PARTS};
use iotax_units::MIB;
use std::sync::{Mutex, PoisonError};

/// Name under which all tools share one implementation.
pub const KIND: &str = "tool";
/// Option that requests a smaller volume than the whole capacity, if a tool declares it.
pub const SIZE: &str = "size";
pub const KINDS: &[&str] = &["size", "count", "number", "flag", "path", "cpumask", "word"];

impl Tool {
    /// Returns how much of its members the tool gives with these options. `None`: the option that
    /// decides is not written, or its value is not in the table.
    fn member_share(&self, spec: &LayerSpec) -> Option<MemberShare> {
        match &self.capacity {
            Capacity::Fixed(share) => Some(*share),
            Capacity::By { option, shares } => shares.get(spec.option(option)?).copied(),
        }
    }

    /// Returns the size in bytes of the tool's volume over `members` members of `each` bytes. Of
    /// each member the reserve is subtracted, and the rest rounded down to whole MiB. 0 if the
    /// share is unknown.
    pub fn volume_bytes(&self, spec: &LayerSpec, members: usize, each: u64) -> u64 {
        let each = each.saturating_sub(self.reserve) / MIB * MIB;
        match self.member_share(spec) {
            Some(MemberShare::One) => each,
            Some(MemberShare::Half) => each * (members as u64 / 2),
            Some(MemberShare::AllBut(failed)) => {
                each * (members as u64).saturating_sub(u64::from(failed))
            }
            None => 0,
        }
    }

    /// Returns the layer's entry. Like those of all layers it is static: the entry of each
    /// description is made once and kept until the process ends.
    pub fn tool_help(&self) -> &'static LayerHelp {
        static ALL: Mutex<Vec<(Tool, &'static LayerHelp)>> = Mutex::new(Vec::new());
        let described = Tool { made: None, ..self.clone() };
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, help)) = all.iter().find(|(tool, _)| *tool == described) {
            return help;
        }
        let help = Box::leak(Box::new(self.new_help()));
        all.push((described, help));
        help
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
            redundancy: tool_redundancy,
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

fn tool_redundancy(spec: &LayerSpec, members: usize) -> u32 {
    match spec.tool.as_ref().and_then(|tool| tool.member_share(spec)) {
        Some(MemberShare::One) => (members as u32).saturating_sub(1),
        Some(MemberShare::Half) => 1,
        Some(MemberShare::AllBut(failed)) => failed,
        None => 0,
    }
}

impl ToolOption {
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
