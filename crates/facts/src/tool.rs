//! Commands of a storage engine that iotax does not know, as a scenario writes them and a journal
//! keeps them: lists of arguments with placeholders, never a line for a shell.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A program and its arguments, with placeholders in them.
pub type Argv = Vec<String>;

/// Commands of an engine's program, and properties of the volume that they make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCommands {
    /// Commands that make the volume, in order.
    pub make: Vec<Argv>,
    /// Commands that remove the volume, in order. Each one names the volume or a member.
    pub undo: Vec<Argv>,
    /// Commands that print the volume's name if it, or a part of it, exists.
    pub find: Vec<Argv>,
    /// Exit codes with which `find` reports that nothing is there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<i32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fail: Vec<Argv>,
    /// Commands that bring a failed member back, which is then rebuilt.
    #[serde(default, rename = "return", skip_serializing_if = "Vec::is_empty")]
    pub bring_back: Vec<Argv>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<StateQuery>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<SettingsQuery>,
    /// Name of a member in the engine, with placeholders; `None`: the member's path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// Separator of members where one argument has all of them. `None`: an argument `{members}`
    /// becomes an argument for each member; within a longer word, members are separated by commas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub separator: Option<String>,
    /// Interface that the volume offers to the layer above.
    pub gives: EngineGives,
    pub path: MadePath,
    /// Time limit of each command, in seconds.
    pub limit: u64,
    /// Time limit in seconds of each command of `make` and `return`, and of a rebuild.
    pub long_limit: u64,
    /// True if the volume, or a part of it, survives a reboot.
    pub survives: bool,
    /// True if `make` leaves a process that names the volume and goes on running. iotax does not
    /// wait for that process.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub daemon: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineGives {
    Block,
    /// A file in the run's folder.
    File,
    /// A socket that a guest uses as a vhost-user-blk disk.
    VhostUser,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MadePath {
    Fixed(String),
    /// JSON pointer, with placeholders, to the path in the output of the last command of `find`.
    Pointer(String),
}

/// Command that reports the state of a volume, and the words that it uses for each state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateQuery {
    pub command: Argv,
    /// JSON pointer to the state in the command's output; `None`: the words may be anywhere in the
    /// output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    pub healthy: Vec<String>,
    pub degraded: Vec<String>,
    pub rebuilding: Vec<String>,
    pub syncing: Vec<String>,
    /// JSON pointer to the progress of a rebuild in the command's output, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// JSON pointer to the number of missing members in the command's output; `None`: one member is
    /// missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingsQuery {
    pub command: Argv,
    /// JSON pointer of each setting in the command's output, by the setting's name; empty: the
    /// command prints lines of KEY=VALUE.
    pub pointers: BTreeMap<String, String>,
}

/// Values of placeholders, by name. A size in a unit other than bytes has the unit after a colon in
/// its name.
pub type PlaceholderSlots = BTreeMap<String, String>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WordPiece<'a> {
    Text(String),
    Slot(&'a str),
}

/// Placeholder for all members, as the engine names them.
pub const MEMBERS: &str = "members";
/// Placeholder for one member, as the engine names it.
pub const MEMBER: &str = "member";
/// Placeholder for the member's number, from 0.
pub const NUMBER: &str = "number";
/// Placeholder for the member's path on this host.
pub const DEVICE: &str = "device";
/// Placeholder for the member's PCI address.
pub const PCI: &str = "pci";
/// Placeholder for the number of a part, from 0.
pub const PART: &str = "part";
/// Option that sets the number of parts.
pub const PARTS: &str = "parts";
/// Placeholder for the name that carries the run's id.
pub const NAME: &str = "name";
/// Placeholder for the run's folder.
pub const RUN: &str = "run";

/// Splits a word into text and placeholders; `{{` and `}}` mean braces.
///
/// # Errors
/// Describes a brace that has no counterpart.
pub fn pieces(word: &str) -> Result<Vec<WordPiece<'_>>, String> {
    let (mut all, mut text, mut rest) = (Vec::new(), String::new(), word);
    while let Some(at) = rest.find(['{', '}']) {
        text.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        let following = &rest[at + 1..];
        if let Some(after) = following.strip_prefix(brace) {
            text.push_str(brace);
            rest = after;
            continue;
        }
        let slot = following.split_once('}').filter(|_| brace == "{");
        let Some((slot, after)) = slot.filter(|(slot, _)| !slot.contains('{')) else {
            return Err(format!(
                "\"{word}\" has a brace that is no placeholder; hint: write {brace}{brace}"
            ));
        };
        if !text.is_empty() {
            all.push(WordPiece::Text(std::mem::take(&mut text)));
        }
        all.push(WordPiece::Slot(slot));
        rest = after;
    }
    text.push_str(rest);
    if !text.is_empty() {
        all.push(WordPiece::Text(text));
    }
    Ok(all)
}

/// Returns a word with its placeholders replaced, or `None` if one of them has no value or the word
/// is not valid.
pub fn fill_slots(word: &str, slots: &PlaceholderSlots) -> Option<String> {
    let fill = |piece: WordPiece<'_>| match piece {
        WordPiece::Text(text) => Some(text),
        WordPiece::Slot(name) => slots.get(name).cloned(),
    };
    // Words that are refused when they are read never get here.
    pieces(word).ok()?.into_iter().map(fill).collect()
}

/// How often a command runs: once for the volume, for each member, or for each part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandScope {
    All,
    Member,
    Part,
}

impl CommandScope {
    /// Returns the scope of a command from its placeholders.
    pub fn in_argv(argv: &[String]) -> CommandScope {
        match argv {
            _ if has_slot(argv, &[MEMBER, NUMBER, DEVICE, PCI]) => CommandScope::Member,
            _ if has_slot(argv, &[PART]) => CommandScope::Part,
            _ => CommandScope::All,
        }
    }
}

pub fn has_slot(words: &[String], names: &[&str]) -> bool {
    let all = words.iter().flat_map(|word| pieces(word).unwrap_or_default());
    all.into_iter().any(|piece| matches!(piece, WordPiece::Slot(slot) if names.contains(&slot)))
}

/// Returns a command with its placeholders replaced, `{members}` as [`ToolCommands::separator`]
/// says. An argument whose placeholder has no value is omitted, since its option was not written.
pub fn expand_command(
    argv: &[String],
    slots: &PlaceholderSlots,
    members: &[String],
    separator: Option<&str>,
) -> Vec<String> {
    let whole = format!("{{{MEMBERS}}}");
    let mut slots = slots.clone();
    slots.insert(MEMBERS.to_owned(), members.join(separator.unwrap_or(",")));
    let word = |word: &String| match *word == whole && separator.is_none() {
        true => members.to_vec(),
        false => fill_slots(word, &slots).into_iter().collect(),
    };
    argv.iter().flat_map(word).collect()
}

impl ToolCommands {
    pub fn all_commands(&self) -> impl Iterator<Item = &Argv> {
        let lists = [&self.make, &self.undo, &self.find, &self.fail, &self.bring_back];
        let asked = self.state.iter().map(|state| &state.command);
        let settings = self.settings.iter().map(|settings| &settings.command);
        lists.into_iter().flatten().chain(asked).chain(settings)
    }

    /// Returns true if a command, or the name of a member, contains a PCI address.
    pub fn names_pci(&self) -> bool {
        let member =
            self.member.iter().any(|member| has_slot(std::slice::from_ref(member), &[PCI]));
        member || self.all_commands().any(|argv| has_slot(argv, &[PCI]))
    }

    pub fn programs(&self) -> Vec<&str> {
        let mut programs: Vec<&str> =
            self.all_commands().filter_map(|argv| argv.first()).map(String::as_str).collect();
        programs.sort_unstable();
        programs.dedup();
        programs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(pairs: &[(&str, &str)]) -> PlaceholderSlots {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn members_are_words_of_their_own_or_a_list_within_one() {
        let argv = [
            "make",
            "-n",
            "{name}",
            "-d",
            "{members}",
            "--all={members}",
            "--size={size:GiB}",
            "{{x}}",
        ];
        let argv = argv.map(str::to_owned);
        let members = ["/dev/a", "/dev/b"].map(str::to_owned);
        let words = expand_command(&argv, &slots(&[("name", "iotax-r-tool0")]), &members, None);
        let wanted =
            ["make", "-n", "iotax-r-tool0", "-d", "/dev/a", "/dev/b", "--all=/dev/a,/dev/b", "{x}"];
        assert_eq!(words, wanted, "an option that was not written is left out with its argument");
        let listed = expand_command(&argv[3..6], &slots(&[]), &members, Some(" "));
        assert_eq!(listed, ["-d", "/dev/a /dev/b", "--all=/dev/a /dev/b"]);
    }

    #[test]
    fn a_command_is_run_once_for_what_it_names() {
        let of = |word: &str| CommandScope::in_argv(&["make".to_owned(), word.to_owned()]);
        assert_eq!(of("--all={members}"), CommandScope::All);
        assert_eq!(
            (of("{device}"), of("{pci}n1"), of("x{number}")),
            (CommandScope::Member, CommandScope::Member, CommandScope::Member)
        );
        assert_eq!(of("{name}.{part}"), CommandScope::Part);
    }

    #[test]
    fn what_a_placeholder_stands_for_is_not_read_again() {
        let words = expand_command(
            &["{label}".to_owned()],
            &slots(&[("label", "{members} $(reboot)")]),
            &[],
            None,
        );
        assert_eq!(words, ["{members} $(reboot)"]);
    }

    #[test]
    fn a_brace_alone_is_refused() {
        for word in ["{name", "name}", "{na{me}", "{"] {
            assert!(pieces(word).unwrap_err().contains("no placeholder"), "{word}");
        }
        assert_eq!(pieces("a{name}b").unwrap().len(), 3);
    }
}
