//! `[tool.NAME]`: the description of an engine that iotax does not know, and the checks of it. Its
//! commands are checked before anything is created: a command that could not be undone or found
//! again is refused here.

use super::error::{Fault, nearest};
use crate::layer::tool::{KINDS, SIZE};
use crate::layer::{self, OptionKind};
use crate::tool_spec::{Capacity, MemberShare, Tool, ToolOption};
use ::toml::Spanned;
use iotax_facts::tool::{
    Argv, CommandScope, DEVICE, EngineGives, MEMBER, MEMBERS, MadePath, NAME, NUMBER, PART, PARTS,
    PCI, RUN, SettingsQuery, StateQuery, ToolCommands, WordPiece, has_slot, pieces,
};
use iotax_units as units;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;

/// Shells, which are refused as a command's program.
const SHELLS: &[&str] =
    &["sh", "bash", "dash", "ash", "zsh", "ksh", "csh", "tcsh", "fish", "busybox"];
/// Placeholders that every command may have.
const OWN: &[&str] = &[MEMBERS, NAME, RUN];
/// Placeholders that make a command run once for each member.
const OF_MEMBER: &[&str] = &[MEMBER, NUMBER, DEVICE, PCI];
/// Placeholders that make a command run once for each member or part.
const SEVERAL: &[&str] = &[MEMBER, NUMBER, DEVICE, PCI, PART];
/// Units in which a command may write an option that is a size (`{size:MiB}`), each with its bytes.
pub const UNITS: &[(&str, u64)] =
    &[("B", 1), ("KiB", units::KIB), ("MiB", units::MIB), ("GiB", units::GIB)];
const LIMIT: u64 = 120;
const LONG_LIMIT: u64 = 4 * 3600;

/// A file that contains only tools.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileWire {
    pub(super) tool: BTreeMap<String, Spanned<ToolWire>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolWire {
    note: Option<String>,
    members: Option<Spanned<String>>,
    gives: Option<Spanned<String>>,
    member: Option<Spanned<String>>,
    separator: Option<String>,
    path: Option<Spanned<String>>,
    path_pointer: Option<Spanned<String>>,
    capacity: Option<Spanned<String>>,
    capacity_by: Option<Spanned<BTreeMap<String, Spanned<String>>>>,
    reserve: Option<Spanned<String>>,
    unwritten: Option<bool>,
    files: Option<bool>,
    short_names: Option<bool>,
    survives: Option<bool>,
    daemon: Option<bool>,
    limit: Option<Spanned<String>>,
    long_limit: Option<Spanned<String>>,
    make: Spanned<Vec<Argv>>,
    undo: Spanned<Vec<Argv>>,
    find: Spanned<Vec<Argv>>,
    absent: Option<Spanned<Vec<i32>>>,
    fail: Option<Spanned<Vec<Argv>>>,
    #[serde(rename = "return")]
    bring_back: Option<Spanned<Vec<Argv>>>,
    state: Option<Spanned<StateWire>>,
    settings: Option<Spanned<SettingsWire>>,
    #[serde(default)]
    options: BTreeMap<String, Spanned<OptionWire>>,
    positional: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StateWire {
    command: Spanned<Argv>,
    pointer: Option<Spanned<String>>,
    healthy: Vec<String>,
    #[serde(default)]
    degraded: Vec<String>,
    #[serde(default)]
    rebuilding: Vec<String>,
    #[serde(default)]
    syncing: Vec<String>,
    progress: Option<Spanned<String>>,
    missing: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SettingsWire {
    command: Spanned<Argv>,
    #[serde(default)]
    pointers: BTreeMap<String, Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OptionWire {
    kind: Spanned<String>,
    #[serde(default)]
    values: Vec<String>,
    default: Option<Spanned<String>>,
}

/// Result whose error is a fault and the byte range, in the file, of the value that it is about.
type At<T> = Result<T, (Range<usize>, Fault)>;

fn hint<T>(span: Range<usize>, why: impl Into<String>, hint: impl Into<String>) -> At<T> {
    Err((span, Fault::hint(why, hint)))
}

struct Slots<'a> {
    options: &'a [ToolOption],
}

/// Returns the tool that a table describes.
///
/// # Errors
/// Returns the first fault with its position.
pub(super) fn tool_of(name: &str, wire: &Spanned<ToolWire>) -> At<Tool> {
    let (span, wire) = (wire.span(), wire.get_ref());
    if layer::find_layer(name).is_some() {
        return hint(
            span,
            format!("\"{name}\" is a layer of iotax"),
            "choose another name for the tool",
        );
    }
    let options =
        wire.options.iter().map(|(name, wire)| option_of(name, wire)).collect::<At<Vec<_>>>()?;
    let slots = Slots { options: &options };
    let commands = commands_of(&span, wire, &slots)?;
    let positional = wire.positional.as_ref().map(|word| {
        let known: Vec<&str> = options.iter().map(|option| option.name.as_str()).collect();
        match known.contains(&word.get_ref().as_str()) {
            true => Ok(word.get_ref().clone()),
            false => Err((word.span(), Fault::unknown("option", word.get_ref(), &known))),
        }
    });
    Ok(Tool {
        name: name.to_owned(),
        note: wire.note.clone(),
        positional: positional.transpose()?,
        members: wire.members.as_ref().map_or(Ok((1, 1)), members_of)?,
        capacity: capacity_of(wire, &options)?,
        reserve: wire.reserve.as_ref().map_or(Ok(0), size_of)?,
        unwritten: wire.unwritten.unwrap_or(true),
        files: wire.files.unwrap_or(false),
        short_names: wire.short_names.unwrap_or(false),
        commands,
        options,
        made: None,
    })
}

fn size_of(word: &Spanned<String>) -> At<u64> {
    units::parse_bytes(word.get_ref()).map_err(|clause| (word.span(), Fault::from_clause(&clause)))
}

fn seconds_of(word: &Spanned<String>) -> At<u64> {
    let limit = units::parse_duration(word.get_ref());
    match limit.map_err(|clause| (word.span(), Fault::from_clause(&clause)))?.as_secs() {
        0 => hint(word.span(), "a limit is at least 1 s", "write a time such as \"2min\""),
        seconds => Ok(seconds),
    }
}

fn members_of(word: &Spanned<String>) -> At<(usize, usize)> {
    let text = word.get_ref();
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    match (least.parse(), most.parse()) {
        (Ok(least @ 1..), Ok(most)) if least <= most => Ok((least, most)),
        _ => hint(
            word.span(),
            format!("\"{text}\" is not a member count or range"),
            "write \"1\", or a range such as \"4-32\"",
        ),
    }
}

fn option_of(name: &str, wire: &Spanned<OptionWire>) -> At<ToolOption> {
    let (span, wire) = (wire.span(), wire.get_ref());
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    if OWN.contains(&name) || OF_MEMBER.contains(&name) || name == PART || !plain || name.is_empty()
    {
        let (own, of_member) = (OWN.join(", "), OF_MEMBER.join(", "));
        return hint(
            span,
            format!("no option can be called \"{name}\""),
            format!(
                "use letters, digits, \"-\", \"_\" and \".\"; {own}, {of_member} and {PART} are reserved"
            ),
        );
    }
    let kind = wire.kind.get_ref();
    if !KINDS.contains(&kind.as_str()) {
        let near = nearest(kind, KINDS)
            .map(|near| format!("did you mean \"{near}\"? "))
            .unwrap_or_default();
        let known = format!("{near}known are {}", KINDS.join(", "));
        return hint(wire.kind.span(), format!("unknown kind of option \"{kind}\""), known);
    }
    if (kind == "word") == wire.values.is_empty() {
        return hint(
            wire.kind.span(),
            "kind = \"word\" requires \"values\", and no other kind allows them",
            "write kind = \"word\" and values = [\"A\", \"B\"], or remove values",
        );
    }
    let option = ToolOption {
        name: name.to_owned(),
        kind: kind.clone(),
        values: wire.values.clone(),
        default: wire.default.as_ref().map(|word| word.get_ref().clone()),
    };
    if let Some(default) = &wire.default {
        option.def().check_value(default.get_ref()).map_err(|fault| (default.span(), fault))?;
    }
    if name == SIZE && (kind != "size" || option.default.is_some()) {
        return hint(
            span,
            "the option \"size\" sets the size of the new volume",
            "use kind = \"size\" and no default (without it the whole capacity is used)",
        );
    }
    if name == PARTS && (kind != "count" || option.default.is_none()) {
        return hint(
            span,
            "the option \"parts\" sets the number of parts",
            "write kind = \"count\" and default = \"1\"",
        );
    }
    Ok(option)
}

fn share_of(word: &Spanned<String>) -> At<MemberShare> {
    MemberShare::parse(word.get_ref()).map_or_else(
        || {
            hint(
                word.span(),
                format!("\"{}\" is not a capacity", word.get_ref()),
                "write \"sum\", \"sum-1\" or \"sum-2\" (all members but one or two), \"half\" or \"smallest\" (one \
                 member)",
            )
        },
        Ok,
    )
}

fn capacity_of(wire: &ToolWire, options: &[ToolOption]) -> At<Capacity> {
    let by = match (&wire.capacity, &wire.capacity_by) {
        (Some(_), Some(by)) => {
            return hint(
                by.span(),
                "\"capacity\" and \"capacity_by\" are both set",
                "remove one of them",
            );
        }
        (Some(word), None) => return Ok(Capacity::Fixed(share_of(word)?)),
        (None, None) => return Ok(Capacity::Fixed(MemberShare::AllBut(0))),
        (None, Some(by)) => by,
    };
    let (span, by) = (by.span(), by.get_ref());
    let Some(of) = by.get("of") else {
        return hint(
            span,
            "\"capacity_by\" without \"of\"",
            "write of = \"OPTION\", and a capacity for each value",
        );
    };
    let Some(option) = options.iter().find(|option| option.name == *of.get_ref()) else {
        let known: Vec<&str> = options.iter().map(|option| option.name.as_str()).collect();
        return Err((of.span(), Fault::unknown("option", of.get_ref(), &known)));
    };
    if option.default.is_none() || option.values.is_empty() {
        let why = format!(
            "option \"{}\" needs a default and a list of values before capacity_by can use it",
            option.name
        );
        return hint(of.span(), why, "name an option of the kind \"word\" with a default");
    }
    if let Some(value) = option.values.iter().find(|value| !by.contains_key(*value)) {
        let why = format!("capacity_by has no entry for {}={value}", option.name);
        return hint(span, why, format!("add \"{value}\" = \"sum-1\" (or the right capacity)"));
    }
    let shares = by.iter().filter(|(value, _)| *value != "of");
    let shares =
        shares.map(|(value, word)| Ok((value.clone(), share_of(word)?))).collect::<At<_>>()?;
    Ok(Capacity::By { option: option.name.clone(), shares })
}

fn commands_of(span: &Range<usize>, wire: &ToolWire, slots: &Slots) -> At<ToolCommands> {
    let list = |list: &Option<Spanned<Vec<Argv>>>, also: &[&str]| match list {
        Some(list) => slots.commands(list, also),
        None => Ok(Vec::new()),
    };
    let gives = wire.gives.as_ref().map_or(Ok(EngineGives::Block), |word| {
        match word.get_ref().as_str() {
            "block" => Ok(EngineGives::Block),
            "file" => Ok(EngineGives::File),
            "vhost-user" => Ok(EngineGives::VhostUser),
            other => hint(
                word.span(),
                format!("gives = \"{other}\" is not supported"),
                "write \"block\", \"file\" or \"vhost-user\"",
            ),
        }
    })?;
    let path = match (&wire.path, &wire.path_pointer) {
        (Some(path), None) => {
            slots.check_placeholders(path.get_ref(), &[PART], &path.span())?;
            let (must, starts, is_there) = match gives {
                EngineGives::Block => {
                    ("start with \"/dev/\"", "/dev/", path.get_ref().starts_with("/dev/"))
                }
                EngineGives::File => {
                    ("start with \"{run}/\"", "{run}/", path.get_ref().starts_with("{run}/"))
                }
                EngineGives::VhostUser => {
                    ("contain {name}", "{run}/", path.get_ref().contains("{name}"))
                }
            };
            if !is_there {
                let why = format!("with this \"gives\", path must {must}");
                return hint(path.span(), why, format!("write for example \"{starts}{{name}}\""));
            }
            if slots.has_parts() && !has_slot(std::slice::from_ref(path.get_ref()), &[PART]) {
                return hint(path.span(), "all parts have the same path", "write {part} in it");
            }
            MadePath::Fixed(path.get_ref().clone())
        }
        (None, Some(pointer)) if slots.has_parts() => {
            return hint(
                pointer.span(),
                "with parts, only \"path\" works",
                "write path = \"{run}/{name}.{part}\"",
            );
        }
        (None, Some(pointer)) => MadePath::Pointer(slots.pointer(pointer)?),
        _ => {
            return hint(
                span.clone(),
                "a tool has either \"path\" or \"path_pointer\"",
                "write path = \"/dev/ENGINE/{name}\", or path_pointer = \"/0/device\": its place in the JSON that \
                 find prints",
            );
        }
    };
    let commands = ToolCommands {
        make: slots.commands(&wire.make, SEVERAL)?,
        undo: slots.commands(&wire.undo, SEVERAL)?,
        find: slots.commands(&wire.find, SEVERAL)?,
        member: wire.member.as_ref().map(|word| slots.member(word)).transpose()?,
        separator: wire.separator.clone(),
        absent: wire.absent.as_ref().map_or_else(Vec::new, |codes| codes.get_ref().clone()),
        fail: list(&wire.fail, OF_MEMBER)?,
        bring_back: list(&wire.bring_back, OF_MEMBER)?,
        state: wire.state.as_ref().map(|state| slots.state_query(state)).transpose()?,
        settings: wire
            .settings
            .as_ref()
            .map(|settings| slots.settings_query(settings.get_ref()))
            .transpose()?,
        gives,
        path,
        limit: wire.limit.as_ref().map_or(Ok(LIMIT), seconds_of)?,
        long_limit: wire.long_limit.as_ref().map_or(Ok(LONG_LIMIT), seconds_of)?,
        survives: wire.survives.unwrap_or(true),
        daemon: wire.daemon.unwrap_or(false),
    };
    check_sense(span, wire, &commands)?;
    Ok(commands)
}

/// Refuses a tool whose volumes could not be found again, undone or brought into a state.
fn check_sense(span: &Range<usize>, wire: &ToolWire, commands: &ToolCommands) -> At<()> {
    // The engine's name for a member may contain it, too.
    let named_by_member = commands
        .member
        .as_ref()
        .is_some_and(|member| has_slot(std::slice::from_ref(member), &[NAME]));
    let lacks = |argv: &&Argv| {
        !(has_slot(argv, &[NAME]) || named_by_member && has_slot(argv, &[MEMBER, MEMBERS]))
    };
    // A member belongs to the run: no member is used without consent.
    if let Some(argv) = commands
        .undo
        .iter()
        .find(|argv| lacks(argv) && CommandScope::in_argv(argv) != CommandScope::Member)
    {
        let why = format!("{:?} does not contain {{name}}", argv.join(" "));
        return hint(
            wire.undo.span(),
            why,
            "every undo command needs {name} or a placeholder of a member, so that iotax never removes anything that \
             another run made",
        );
    }
    if commands.make.iter().all(|argv| lacks(&argv)) {
        return hint(
            wire.make.span(),
            "no make command contains {name}",
            "write {name} where the program takes its name",
        );
    }
    for list in [&wire.fail, &wire.bring_back].into_iter().flatten() {
        if list.get_ref().iter().all(|argv| CommandScope::in_argv(argv) != CommandScope::Member) {
            return hint(
                list.span(),
                "no command contains {member} or {number}",
                "write {member}, its path, or {number}, counted from 0",
            );
        }
    }
    if let Some(codes) =
        wire.absent.as_ref().filter(|codes| codes.get_ref().iter().any(|code| *code < 1))
    {
        return hint(
            codes.span(),
            "absent cannot contain 0, which means success",
            "write exit codes from 1 on",
        );
    }
    let moves =
        (!commands.fail.is_empty(), !commands.bring_back.is_empty(), commands.state.is_some());
    if (moves.0 || moves.1) && moves != (true, true, true) {
        return hint(
            span.clone(),
            "\"fail\", \"return\" and [tool.NAME.state] must be set together",
            "write all three, or neither fail nor return",
        );
    }
    Ok(())
}

impl Slots<'_> {
    fn commands(&self, list: &Spanned<Vec<Argv>>, also: &[&str]) -> At<Vec<Argv>> {
        if list.get_ref().is_empty() {
            return hint(
                list.span(),
                "the list has no command",
                "write [[\"PROGRAM\", \"ARGUMENT\"]]",
            );
        }
        list.get_ref().iter().try_for_each(|argv| self.command(argv, also, &list.span()))?;
        Ok(list.get_ref().clone())
    }

    fn has_parts(&self) -> bool {
        self.options.iter().any(|option| option.name == PARTS)
    }

    fn member(&self, word: &Spanned<String>) -> At<String> {
        self.check_placeholders(word.get_ref(), &[NUMBER, DEVICE, PCI], &word.span())?;
        let words = std::slice::from_ref(word.get_ref());
        if has_slot(words, &[MEMBERS]) || CommandScope::in_argv(words) != CommandScope::Member {
            return hint(
                word.span(),
                "all members have the same name",
                "write {number}, {device} or {pci} in it",
            );
        }
        Ok(word.get_ref().clone())
    }

    fn command(&self, argv: &Argv, also: &[&str], span: &Range<usize>) -> At<()> {
        let Some(program) = argv.first().filter(|program| !program.is_empty()) else {
            return hint(
                span.clone(),
                "a command without a program",
                "write [[\"PROGRAM\", \"ARGUMENT\"]]",
            );
        };
        let base = program.rsplit('/').next().unwrap_or_default();
        if SHELLS.contains(&base) {
            return hint(
                span.clone(),
                format!("\"{program}\" is a shell; iotax runs programs without a shell"),
                "write the program and its arguments, or your own program that does all of it",
            );
        }
        if program.contains(['{', '}', ' ']) || (program.contains('/') && !program.starts_with('/'))
        {
            return hint(
                span.clone(),
                format!("\"{program}\" is not a program name or absolute path"),
                "write each argument as a separate text",
            );
        }
        if CommandScope::in_argv(argv) == CommandScope::Member && has_slot(argv, &[PART]) {
            return hint(
                span.clone(),
                "a command is about a member or a part, not both",
                "write two commands",
            );
        }
        argv[1..].iter().try_for_each(|word| self.check_placeholders(word, also, span))
    }

    fn check_placeholders(&self, word: &str, also: &[&str], span: &Range<usize>) -> At<()> {
        let all = pieces(word).map_err(|clause| (span.clone(), Fault::from_clause(&clause)))?;
        for piece in all {
            let WordPiece::Slot(slot) = piece else { continue };
            let (name, unit) =
                slot.split_once(':').map_or((slot, None), |(name, unit)| (name, Some(unit)));
            let option = self.options.iter().find(|option| option.name == name);
            let is_size = option.is_some_and(|option| option.def().kind == OptionKind::Size);
            let is_ours =
                OWN.contains(&name) || (also.contains(&name) && (name != PART || self.has_parts()));
            match unit {
                Some(unit) if is_size && UNITS.iter().any(|(known, _)| known == &unit) => {}
                None if is_ours || option.is_some() => {}
                Some(_) if option.is_some() || is_ours => {
                    let why =
                        format!("{{{slot}}}: only size options take a unit ({})", units_list());
                    return hint(
                        span.clone(),
                        why,
                        format!("write {{{name}}}, or {{OPTION:KiB}} of a size"),
                    );
                }
                None if name == PART && also.contains(&PART) => {
                    let write = "declare [tool.NAME.options.parts] with kind = \"count\" and default = \"1\"";
                    return hint(span.clone(), "{part} without the option \"parts\"", write);
                }
                _ => {
                    let also = also.iter().filter(|slot| **slot != PART || self.has_parts());
                    let own = self.options.iter().map(|option| option.name.as_str());
                    let known: Vec<&str> = OWN.iter().chain(also).copied().chain(own).collect();
                    return Err((span.clone(), Fault::unknown("placeholder", name, &known)));
                }
            }
        }
        Ok(())
    }

    fn pointer(&self, word: &Spanned<String>) -> At<String> {
        if !word.get_ref().starts_with('/') {
            let why = format!("\"{}\" is not a JSON pointer", word.get_ref());
            return hint(word.span(), why, "write one such as \"/0/device\"");
        }
        self.check_placeholders(word.get_ref(), &[], &word.span())?;
        Ok(word.get_ref().clone())
    }

    fn state_query(&self, wire: &Spanned<StateWire>) -> At<StateQuery> {
        let (span, wire) = (wire.span(), wire.get_ref());
        self.command(wire.command.get_ref(), &[], &wire.command.span())?;
        let pointer = |word: &Option<Spanned<String>>| {
            word.as_ref().map(|word| self.pointer(word)).transpose()
        };
        if wire.healthy.is_empty() {
            return hint(
                span,
                "[tool.NAME.state] lists no words for healthy",
                "write healthy = [\"online\"], or what it prints",
            );
        }
        Ok(StateQuery {
            command: wire.command.get_ref().clone(),
            pointer: pointer(&wire.pointer)?,
            healthy: wire.healthy.clone(),
            degraded: wire.degraded.clone(),
            rebuilding: wire.rebuilding.clone(),
            syncing: wire.syncing.clone(),
            progress: pointer(&wire.progress)?,
            missing: pointer(&wire.missing)?,
        })
    }

    fn settings_query(&self, wire: &SettingsWire) -> At<SettingsQuery> {
        self.command(wire.command.get_ref(), &[], &wire.command.span())?;
        let pointers =
            wire.pointers.iter().map(|(name, word)| Ok((name.clone(), self.pointer(word)?)));
        Ok(SettingsQuery {
            command: wire.command.get_ref().clone(),
            pointers: pointers.collect::<At<_>>()?,
        })
    }
}

fn units_list() -> String {
    UNITS.iter().map(|(unit, _)| *unit).collect::<Vec<_>>().join(", ")
}
