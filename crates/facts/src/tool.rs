//! The commands of an engine that iotax does not know, as a scenario writes them and a journal
//! keeps them: lists of arguments with placeholders, never a line for a shell.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A program and its arguments, with placeholders in them.
pub type Argv = Vec<String>;

/// What an engine's program is asked for, and what comes of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCommands {
    /// Make it, one command after the other.
    pub make: Vec<Argv>,
    /// Take it away, one after the other; each names it or a member.
    pub undo: Vec<Argv>,
    /// Print its name where it, or a part of it, is there.
    pub find: Vec<Argv>,
    /// Exit codes by which `find` says that nothing is there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<i32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fail: Vec<Argv>,
    /// One that failed comes back, and is rebuilt.
    #[serde(default, rename = "return", skip_serializing_if = "Vec::is_empty")]
    pub bring_back: Vec<Argv>,
    /// In which state it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<StateQuery>,
    /// How it really is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<SettingsQuery>,
    /// What the engine calls a member, with placeholders; `None`: by its path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// What separates members that are one argument; `None`: each is a separate argument, and
    /// within a word a comma separates them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub separator: Option<String>,
    /// What it gives to the layer above.
    pub gives: EngineGives,
    pub path: MadePath,
    /// Seconds that each command may take.
    pub limit: u64,
    /// The same of those of `make` and `return`, and for a rebuild.
    pub long_limit: u64,
    /// Whether it, or a part of it, is there after a reboot.
    pub survives: bool,
    /// Whether `make` leaves a process that names it and goes on: that is not waited for.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub daemon: bool,
}

/// What an engine gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineGives {
    Block,
    /// A file in the run's folder.
    File,
    /// A socket by which a guest has it as a disk of vhost-user-blk.
    VhostUser,
}

/// Where what was made is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MadePath {
    Fixed(String),
    /// Where the last `find` says: a pointer into its JSON, with placeholders.
    Pointer(String),
}

/// What tells a state, and by which words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateQuery {
    pub command: Argv,
    /// Where in its JSON the state is; `None`: anywhere in what it prints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// Words of one that is whole.
    pub healthy: Vec<String>,
    /// Words of one that lacks members.
    pub degraded: Vec<String>,
    /// Words of one that is rebuilt.
    pub rebuilding: Vec<String>,
    /// Words of one that is initialised.
    pub syncing: Vec<String>,
    /// Where in its JSON the share of a rebuild is, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// Where in its JSON the number of members that are missing is; without it one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingsQuery {
    pub command: Argv,
    /// Name of a setting, and where in its JSON that is; empty: it prints lines of KEY=VALUE.
    pub pointers: BTreeMap<String, String>,
}

/// What a placeholder stands for: a name, and where it is a size the unit after a colon.
pub type PlaceholderSlots = BTreeMap<String, String>;

/// A stretch of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WordPiece<'a> {
    Text(String),
    Slot(&'a str),
}

/// The placeholder of all members, as the engine calls them.
pub const MEMBERS: &str = "members";
/// The placeholder of one member, as the engine calls it.
pub const MEMBER: &str = "member";
/// The placeholder of its number among the members, from 0.
pub const NUMBER: &str = "number";
/// The placeholder of its path on this host.
pub const DEVICE: &str = "device";
/// The placeholder of its PCI address.
pub const PCI: &str = "pci";
/// The placeholder of the number of a part, from 0.
pub const PART: &str = "part";
/// The option that says how many parts there are.
pub const PARTS: &str = "parts";
/// The placeholder of the name that carries the run's id.
pub const NAME: &str = "name";
/// The placeholder of the run's folder.
pub const RUN: &str = "run";

/// A word in its pieces; `{{` and `}}` are braces.
///
/// # Errors
/// A brace without its other, in words.
pub fn pieces(word: &str) -> Result<Vec<WordPiece<'_>>, String> {
    let (mut all, mut text, mut rest) = (Vec::new(), String::new(), word);
    while let Some(at) = rest.find(['{', '}']) {
        text.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        let behind = &rest[at + 1..];
        if let Some(after) = behind.strip_prefix(brace) {
            text.push_str(brace);
            rest = after;
            continue;
        }
        let slot = behind.split_once('}').filter(|_| brace == "{");
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

/// A word with what its placeholders stand for; `None`: one of them stands for nothing.
pub fn filled(word: &str, slots: &PlaceholderSlots) -> Option<String> {
    let fill = |piece: WordPiece<'_>| match piece {
        WordPiece::Text(text) => Some(text),
        WordPiece::Slot(name) => slots.get(name).cloned(),
    };
    // What is refused as it is read never comes here.
    pieces(word).ok()?.into_iter().map(fill).collect()
}

/// What a command is run once for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandScope {
    All,
    /// A member, which it names.
    Member,
    /// A part, which it names.
    Part,
}

impl CommandScope {
    /// What that command is run once for.
    pub fn in_argv(argv: &[String]) -> CommandScope {
        match argv {
            _ if has_slot(argv, &[MEMBER, NUMBER, DEVICE, PCI]) => CommandScope::Member,
            _ if has_slot(argv, &[PART]) => CommandScope::Part,
            _ => CommandScope::All,
        }
    }
}

/// Whether one of these placeholders is in any of the words.
pub fn has_slot(words: &[String], names: &[&str]) -> bool {
    let all = words.iter().flat_map(|word| pieces(word).unwrap_or_default());
    all.into_iter().any(|piece| matches!(piece, WordPiece::Slot(slot) if names.contains(&slot)))
}

/// A command as it is run. An argument whose placeholder stands for nothing is left out: an option
/// that was not written.
pub fn command(
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
        false => filled(word, &slots).into_iter().collect(),
    };
    argv.iter().flat_map(word).collect()
}

impl ToolCommands {
    pub fn all(&self) -> impl Iterator<Item = &Argv> {
        let lists = [&self.make, &self.undo, &self.find, &self.fail, &self.bring_back];
        let asked = self.state.iter().map(|state| &state.command);
        let settings = self.settings.iter().map(|settings| &settings.command);
        lists.into_iter().flatten().chain(asked).chain(settings)
    }

    /// Whether the engine gets PCI addresses.
    pub fn names_pci(&self) -> bool {
        let member =
            self.member.iter().any(|member| has_slot(std::slice::from_ref(member), &[PCI]));
        member || self.all().any(|argv| has_slot(argv, &[PCI]))
    }

    /// The programs, each once.
    pub fn programs(&self) -> Vec<&str> {
        let mut programs: Vec<&str> =
            self.all().filter_map(|argv| argv.first()).map(String::as_str).collect();
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
        let words = command(&argv, &slots(&[("name", "iotax-r-tool0")]), &members, None);
        let wanted =
            ["make", "-n", "iotax-r-tool0", "-d", "/dev/a", "/dev/b", "--all=/dev/a,/dev/b", "{x}"];
        assert_eq!(words, wanted, "an option that was not written is left out with its argument");
        let listed = command(&argv[3..6], &slots(&[]), &members, Some(" "));
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
        let words = command(
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
