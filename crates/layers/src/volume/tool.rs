//! Sets up the device that an engine unknown to iotax makes of its members, by the commands that a
//! scenario has for it. The engine writes the members, so the user must consent to each.

use super::array_of;
use crate::state::StateMove;
use crate::{Claim, ExposedDevice, FirstWrites, Layer, NamedProgram, PlanContext, optional_bytes};
use anyhow::{Context, Result, ensure};
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::run_tag::short_id;
use iotax_facts::tool::{EngineGives, PARTS, PlaceholderSlots, RUN, WordPiece, pieces};
use iotax_host::Missing;
use iotax_host::pci::PciDrive;
use iotax_host::probe::program_path;
use iotax_model::layer::tool::{KIND, SIZE};
use iotax_model::layer::{LayerHelp, OptionKind};
use iotax_model::scenario::tools::UNITS;
use iotax_model::stack::LayerSpec;
use iotax_model::tool_spec::Tool;
use iotax_steps::op::{ChangeByTool, MakeByTool, Op, ToolChange};
use iotax_units::{MIB, count_noun, parse_bytes, show_bytes};
use std::path::Path;

pub struct ByTool;

/// Help for an engine of which no description is at hand.
const HELP: LayerHelp = LayerHelp { name: KIND, joins: true, ..LayerHelp::PLAIN };

impl Layer for ByTool {
    fn help(&self) -> &'static LayerHelp {
        &HELP
    }

    fn named_programs(&self, spec: &LayerSpec) -> Vec<NamedProgram> {
        let Some(tool) = &spec.tool else { return Vec::new() };
        let one = |program: &str| NamedProgram {
            program: program.to_owned(),
            why: format!("for [tool.{}], which runs it", tool.name),
            command: format!(
                "install the package that contains {program}, or write its absolute path in [tool.{}]",
                tool.name
            ),
        };
        tool.commands.programs().into_iter().map(one).collect()
    }

    fn missing_on_host(&self, spec: &LayerSpec) -> Vec<Missing> {
        let is_there = |program: &str| match program.starts_with('/') {
            true => Path::new(program).is_file(),
            false => program_path(program).is_some(),
        };
        let lacking =
            self.named_programs(spec).into_iter().filter(|named| !is_there(&named.program));
        lacking
            .map(|named| named.as_missing(format!("{} is not installed", named.program)))
            .collect()
    }

    fn claim(&self, _: &LayerSpec) -> Claim {
        Claim::Takes
    }

    fn writes_below(&self, _: &LayerSpec) -> bool {
        true
    }

    fn gives_unwritten(&self, spec: &LayerSpec) -> bool {
        spec.tool.as_ref().is_some_and(|tool| tool.unwritten)
    }

    fn reader_name<'a>(&self, op: &'a Op) -> &'a str {
        match op {
            Op::MakeByTool(made) => &made.tool,
            _ => KIND,
        }
    }

    fn reads_back(&self, op: &Op) -> Option<&'static str> {
        matches!(op, Op::MakeByTool(_)).then_some("")
    }

    fn state_move_op(
        &self,
        spec: &LayerSpec,
        _: &PathRef,
        members: &[PathRef],
        step: StateMove,
    ) -> Result<Op> {
        let tool = tool_of_layer(spec)?;
        let name = tool
            .made
            .clone()
            .with_context(|| format!("{}: what is not made has no members", spec.origin))?;
        let change = match step {
            StateMove::Fail(at) => ToolChange::Fails(at),
            StateMove::Return(at) => ToolChange::Returns(at),
            StateMove::Await => ToolChange::AwaitWhole,
        };
        let made = Op::ChangeByTool(ChangeByTool {
            of: made(spec, tool, name, members)?,
            change,
            bytes: 0,
        });
        Ok(made)
    }

    fn plan(
        &self,
        spec: &LayerSpec,
        below: &ExposedDevice,
        context: &mut PlanContext,
    ) -> Result<ExposedDevice> {
        let (tool, members) = (tool_of_layer(spec)?, below.paths.len());
        check_members(spec, tool, below)?;
        let most = tool.volume_bytes(spec, members, below.bytes);
        ensure!(
            most > 0,
            "{}: {} of {} are too few: {} of each are kept for \"{}\" itself",
            spec.origin,
            count_noun(members as u64, "member", "members"),
            show_bytes(below.bytes),
            show_bytes(tool.reserve),
            tool.name
        );
        let bytes = optional_bytes(spec, SIZE)?.unwrap_or(most);
        ensure!(
            bytes <= most,
            "{}: size={} is more than its members have room for: {}",
            spec.origin,
            show_bytes(bytes),
            show_bytes(most)
        );
        let instance = context.instance(KIND);
        let run = &context.tag.run_id;
        let name = match tool.short_names {
            true => format!("io{}{}", short_id(run), instance.replace(KIND, "t")),
            false => format!("iotax-{run}-{instance}"),
        };
        let parts = spec.option_number(PARTS).unwrap_or(1).max(1);
        let bytes = if parts == 1 { bytes } else { bytes / parts / MIB * MIB };
        let mut op = MakeByTool { bytes, ..made(spec, tool, name.clone(), &below.paths)? };
        op.slots.insert(RUN.to_owned(), context.directory().display().to_string());
        if tool.commands.names_pci() {
            op.pci = pci_addresses(spec, below, context)?;
        }
        let paths = (0..parts as usize).map(|part| op.path_of(part)).collect::<Option<Vec<_>>>();
        let syncs = tool.commands.state.as_ref().is_some_and(|state| !state.syncing.is_empty());
        let first_sync = ChangeByTool { of: op.clone(), change: ToolChange::AwaitWhole, bytes: 0 };
        let step = context
            .add_step(format!("create a volume with [tool.{}]", tool.name), Op::MakeByTool(op));
        if syncs {
            context.add_step("wait for its first sync", Op::ChangeByTool(first_sync));
        }
        let made = LayerSpec {
            tool: Some(Box::new(Tool { made: Some(name), ..tool.clone() })),
            ..spec.clone()
        };
        Ok(ExposedDevice {
            paths: match paths.filter(|_| parts > 1) {
                Some(paths) => paths.into_iter().map(PathRef::Path).collect(),
                None => vec![PathRef::Yield(step)],
            },
            bytes,
            block: tool.commands.gives != EngineGives::File,
            writable: context.writable,
            unwritten: below.unwritten.or(tool.unwritten.then_some(FirstWrites::InOrder)),
            arrays: array_of(&made, below, step, PathRef::Yield(step), below.bytes),
            split: parts > 1,
            uneven: false,
            ..below.clone()
        })
    }
}

fn tool_of_layer(spec: &LayerSpec) -> Result<&Tool> {
    spec.tool
        .as_deref()
        .with_context(|| format!("{}: {} without a description", spec.origin, spec.name))
}

/// Returns the operation by which an engine makes a device of members. Its size is not set yet.
fn made(spec: &LayerSpec, tool: &Tool, name: String, members: &[PathRef]) -> Result<MakeByTool> {
    let (slots, commands) = (slots(spec, tool)?, Box::new(tool.commands.clone()));
    let (tool, members) = (tool.name.clone(), members.to_vec());
    Ok(MakeByTool { tool, name, members, pci: Vec::new(), slots, bytes: 0, commands })
}

/// Returns the PCI addresses of all members. They are looked up before an engine takes the members
/// from the kernel. Refuses a member that is no NVMe drive: the address of another is that of a
/// controller, which may serve disks of somebody else.
fn pci_addresses(
    spec: &LayerSpec,
    below: &ExposedDevice,
    context: &PlanContext,
) -> Result<Vec<String>> {
    let drives =
        context.guest_parts.as_ref().map(|parts| parts.drives.as_slice()).unwrap_or_default();
    let address = |member: &PathRef| {
        let is_it =
            |drive: &&PciDrive| matches!(member, PathRef::Path(path) if drive.paths.contains(path));
        let is_alone = |drive: &&PciDrive| {
            drive.driver.as_deref() == Some("nvme") && drive.siblings.is_empty()
        };
        let drive = drives.iter().find(is_it).filter(is_alone).with_context(|| {
            format!(
                "{}: {} requires NVMe drives with a PCI address of their own, and {member} is none",
                spec.origin, spec.name
            )
        })?;
        Ok(drive.address.clone())
    };
    below.paths.iter().map(address).collect()
}

fn check_members(spec: &LayerSpec, tool: &Tool, below: &ExposedDevice) -> Result<()> {
    let (count, (least, most)) = (below.paths.len(), tool.members);
    ensure!(
        (least..=most).contains(&count),
        "{}: {} takes {}, and there {} {count}; hint: [/dev/A,/dev/B,...] | {}, or members in [tool.{}]",
        spec.origin,
        tool.name,
        if least == most {
            count_noun(least as u64, "member", "members")
        } else {
            format!("{least} to {most} members")
        },
        if count == 1 { "is" } else { "are" },
        tool.name,
        tool.name
    );
    let no_path = below.paths.iter().find(|path| matches!(path, PathRef::Bdev { .. }));
    ensure!(
        (below.block || tool.files) && no_path.is_none(),
        "{}: {} requires block devices; hint: use drives, or loop devices (losetup --find --show FILE), or set files = true in its [tool.NAME] if the engine takes files",
        spec.origin,
        tool.name
    );
    Ok(())
}

/// Returns the values of the placeholders in a tool's commands that stand for options, in the unit
/// of each. Options without a value are left out.
fn slots(spec: &LayerSpec, tool: &Tool) -> Result<PlaceholderSlots> {
    let mut slots = PlaceholderSlots::new();
    for option in &tool.options {
        if let Some(value) = spec.option(&option.name) {
            let is_size = option.def().kind == OptionKind::Size;
            slots.insert(
                option.name.clone(),
                if is_size { in_unit(spec, &option.name, value, 1)? } else { value.into() },
            );
        }
    }
    let words =
        tool.commands.all_commands().flatten().flat_map(|word| pieces(word).unwrap_or_default());
    for piece in words {
        let WordPiece::Slot(slot) = piece else { continue };
        let Some((name, unit)) = slot.split_once(':') else { continue };
        let (Some(value), Some((_, unit))) =
            (spec.option(name), UNITS.iter().find(|(word, _)| *word == unit))
        else {
            continue;
        };
        slots.insert(slot.to_owned(), in_unit(spec, name, value, *unit)?);
    }
    Ok(slots)
}

fn in_unit(spec: &LayerSpec, name: &str, value: &str, unit: u64) -> Result<String> {
    let bytes =
        parse_bytes(value).map_err(|why| anyhow::anyhow!("{}: {name}: {why}", spec.origin))?;
    ensure!(
        bytes % unit == 0,
        "{}: {name}={value} is no whole number of {}, which {} takes",
        spec.origin,
        show_bytes(unit),
        spec.name
    );
    Ok((bytes / unit).to_string())
}

#[cfg(test)]
#[path = "tool_tests.rs"]
mod tests;
