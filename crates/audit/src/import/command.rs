//! Command lines of the tools that measure and of those that set up what is measured: behind a prompt, after `sudo`, going on
//! over lines; fio's also in the middle of a line. A sentence that begins with a tool's name is none.

use super::fio::Asked;
use super::fio::job_file::{self, Entry, Options};
use super::{Format, Found, Said};
use crate::page::{Page, Spot};
use memchr::memmem::Finder;
use std::sync::LazyLock;

/// The format's entry in the family.
pub const FORMAT: Format = Format {
    name: "command",
    help: "command lines of fio, dd, iperf3, mdadm, LVM, ZFS, mkfs, nvme, SPDK, sysbench, QEMU and others",
    example: "[root@vm ~]# sudo fio --name=test --rw=randread \\\n    --bs=4k --iodepth=32 /tmp/x.fio\n",
    begins,
    read,
};

/// A command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// Index of its first line.
    pub line: usize,
    /// The tool, without its folder: `fio`.
    pub program: String,
    /// Where that stands.
    pub spot: Spot,
    /// What stands behind it, without quotes.
    pub words: Vec<Word>,
    /// fio's options in their order: `--key=value`, `-key=value`, `--key value`.
    pub options: Vec<Entry>,
    /// What stands before it: `[root@host ~]#`.
    pub(crate) prompt: Option<String>,
    /// Commands of known tools behind it on the same line.
    pub more: Vec<Command>,
}

/// A word of a command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Word {
    /// Without quotes.
    pub text: String,
    /// Where it stands, with them.
    pub spot: Spot,
}

impl Command {
    /// The value of fio's option, the last of several.
    pub(crate) fn option(&self, key: &str) -> Option<&str> {
        let known = self.options.iter().rev().find(|entry| entry.key == key)?;
        Some(known.value.as_deref().unwrap_or("1"))
    }

    /// What a command line of fio asks of its jobs: each `--name` begins one, and takes what `--name=global` before it says. What
    /// stands before the first name is of its job.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        let mut jobs: Vec<(String, usize, Options)> = vec![(String::new(), self.line, Options::new())];
        for (key, value) in self.options.iter().map(Entry::plain) {
            match (key.as_str(), jobs.as_mut_slice()) {
                ("name", [(first, ..)]) if first.is_empty() => *first = value,
                ("name", _) => jobs.push((value, self.line, Options::new())),
                (_, [.., (_, _, options)]) => options.push((key, value)),
                _ => {}
            }
        }
        let told = jobs.iter().filter(|(name, _, options)| !name.is_empty() && !options.is_empty());
        job_file::with_globals(told.map(|(name, line, options)| (name.as_str(), *line, options.clone())))
    }
}

/// Whether the words behind a tool's name are a command's.
type Fits = fn(&[Word]) -> bool;

/// The tools, and what must stand behind their names.
const PROGRAMS: &[(&str, Fits)] = &[
    ("fio", |words| fio_options(words).is_some()),
    ("dd", |words| words.iter().any(|word| word.text.starts_with("if=") || word.text.starts_with("of="))),
    ("iperf3", first_is_option),
    ("iperf", first_is_option),
    ("mdadm", first_is_option),
    ("lvcreate", first_is_option),
    ("vgcreate", |words| first_is_option(words) || is_path(words.get(1))),
    ("pvcreate", |words| first_is_option(words) || is_path(words.first())),
    ("zpool", |words| verb(words, "create add attach set import get list status iostat trim")),
    ("zfs", |words| verb(words, "create set get list snapshot send receive mount inherit")),
    ("nvme", |words| verb(words, NVME)),
    ("targetcli", |words| is_path(words.first()) && words.len() > 1),
    ("sysbench", |words| any_option(words) && words.iter().any(|word| is(word, "run prepare cleanup"))),
    ("mbw", |words| first_is_option(words) || words.first().is_some_and(|word| digits(&word.text))),
    ("diskspd", first_is_option),
    ("elbencho", any_option),
    ("vdbench", first_is_option),
    ("ioping", first_is_option),
    ("rados", |words| any_option(words) && words.iter().any(|word| is(word, "bench"))),
    ("rbd", |words| verb(words, "create bench map import resize feature info bench-write")),
    ("blockdev", first_is_option),
    ("esxcli", esxcli),
    ("rpc.py", |words| first_is_option(words) || words.first().is_some_and(|word| word.text.contains('_'))),
    // UnixBench has a name of its own only with its folder.
    ("Run", |words| words.is_empty() || first_is_option(words)),
];

const NVME: &str = "connect connect-all discover format list id-ctrl id-ns create-ns attach-ns delete-ns smart-log \
                    get-feature set-feature sanitize disconnect list-subsys error-log";

const MKFS: Fits = |words| first_is_option(words) || is_path(words.first());
const QEMU: Fits = first_is_option;

/// Whether a word is one of a list.
fn is(word: &Word, texts: &str) -> bool {
    texts.split(' ').any(|text| text == word.text)
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A verb alone, or with a word behind it that no sentence has.
fn verb(words: &[Word], verbs: &str) -> bool {
    let technical = |word: &Word| option_name(&word.text).is_some() || word.text.contains(['/', '=']);
    words.first().is_some_and(|word| is(word, verbs))
        && (words.len() == 1 || words[1..].iter().any(technical))
}

fn first_is_option(words: &[Word]) -> bool {
    any_option(words.get(..1).unwrap_or_default())
}

fn any_option(words: &[Word]) -> bool {
    words.iter().any(|word| option_name(&word.text).is_some())
}

fn is_path(word: Option<&Word>) -> bool {
    word.is_some_and(|word| word.text.starts_with('/'))
}

/// `esxcli rdma iser add`: names in names, and what is done.
fn esxcli(words: &[Word]) -> bool {
    const NAMES: &str = "system network storage rdma nvme iscsi hardware software vm vsan";
    const DONE: &str = "add list get set remove enable disable create connect";
    let done = words.iter().any(|word| is(word, DONE));
    words.first().is_some_and(|word| is(word, NAMES)) && words.len() >= 3 && (done || any_option(words))
}

/// An option without its dashes, which printing may have made longer (`–direct=1`).
fn option_name(text: &str) -> Option<&str> {
    let bare = text.trim_start_matches(['-', '\u{2013}', '\u{2014}', '\u{2212}']);
    (bare.len() < text.len() && bare.starts_with(|letter: char| letter.is_ascii_alphabetic())).then_some(bare)
}

/// The tool that a word names.
fn program(word: &str) -> Option<(&str, Fits)> {
    let base = word.rsplit(['/', '\\']).next()?;
    let base = base.strip_suffix(".exe").unwrap_or(base);
    let known = match base.as_bytes().first()? {
        b'm' if base.starts_with("mkfs.") => Some((base, MKFS)),
        b'q' if base.starts_with("qemu-system-") => Some((base, QEMU)),
        b'R' if base.len() == word.len() => None,
        _ => PROGRAMS.iter().find(|(name, _)| *name == base).copied(),
    };
    known.map(|(_, fits)| (base, fits))
}

static FIO: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("fio"));

fn begins(line: &str) -> bool {
    behind_prompt(line) > 0 || first_program(line).is_some() || FIO.find(line.as_bytes()).is_some()
}

/// What may stand before a tool's name, and how many words of its own each takes.
const WRAPPERS: &[&str] =
    &["sudo", "time", "nohup", "env", "exec", "numactl", "taskset", "nice", "ionice", "chrt", "stdbuf"];

/// Whether the first words of a text name a tool: after `sudo -E`, `VAR=x`, `taskset -c 0`.
fn first_program(text: &str) -> Option<(&str, Fits)> {
    let mut words = text.split_ascii_whitespace();
    let first = words.next()?.trim_start_matches('`');
    if let Some(known) = program(first) {
        return Some(known);
    }
    if !wraps(first) {
        return None;
    }
    let mut before = first;
    for word in words.take(8) {
        if let Some(known) = program(word) {
            return Some(known);
        }
        if !wrapped(before, word) {
            return None;
        }
        before = word;
    }
    None
}

fn wraps(word: &str) -> bool {
    WRAPPERS.contains(&word) || assignment(word)
}

/// `LD_LIBRARY_PATH=/opt/lib`.
fn assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    })
}

/// Whether a word goes on with what stands before a tool: another wrapper, its option, its option's value.
fn wrapped(before: &str, word: &str) -> bool {
    wraps(word) || word.starts_with('-') || before.starts_with('-') || matches!(before, "taskset" | "chrt")
}

/// Longest prompt.
const PROMPT: usize = 120;

/// Bytes of a prompt and of blanks before a line's first word.
fn behind_prompt(line: &str) -> usize {
    let blank = line.len() - line.trim_start().len();
    let text = &line[blank..];
    let end = match text.as_bytes() {
        [b'$' | b'#' | b'%', b' ', ..] => Some(1),
        [b'[', ..] => ["]# ", "]$ "].iter().filter_map(|sign| before(text, sign)).min().map(|at| at + 2),
        _ => {
            let first = text.find(' ').unwrap_or(text.len());
            match &text.as_bytes()[..first] {
                [_, .., b'$' | b'#'] if text[..first].contains(['@', '-']) => Some(first),
                [_, .., b'>'] if text[..first].contains(":\\") => Some(first),
                _ => None,
            }
        }
    };
    match end.filter(|end| *end <= PROMPT) {
        Some(end) => blank + end + (text[end..].len() - text[end..].trim_start().len()),
        None => 0,
    }
}

/// Where a sign stands in a prompt that names somebody.
fn before(text: &str, sign: &str) -> Option<usize> {
    let mut end = text.len().min(PROMPT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].find(sign).filter(|at| text[..*at].contains('@'))
}

fn read(page: &Page, line: usize) -> Option<Found> {
    let (bare, prefix) = page.bare(line);
    let start = behind_prompt(bare);
    let prompt = (start > 0).then(|| bare[..start].trim().to_owned());
    let at_start = prompt.is_some() || first_program(bare).is_some();
    let found = if at_start { at(page, line, prefix + start, prompt.is_some()) } else { None };
    let (mut commands, end) = match found {
        Some(found) => found,
        None => within(page, line)?,
    };
    let mut first = commands.remove(0);
    first.prompt = prompt;
    first.more = commands;
    Some(Found { said: Said::Command(Box::new(first)), end, unread: Vec::new() })
}

/// Places in one line that are tried.
const TRIES: usize = 4;

/// fio's command in the middle of a line, with two options at least. Rows of tables are left to the tables.
fn within(page: &Page, line: usize) -> Option<(Vec<Command>, usize)> {
    let (bare, prefix) = page.bare(line);
    if bare.contains('\t') || bare.trim_start().starts_with(['|', '│', '┃', '+']) {
        return None;
    }
    let boundary = |at: usize| {
        let before = bare[..at].chars().next_back();
        before.is_none_or(|letter| !letter.is_ascii_alphanumeric() && !matches!(letter, '-' | '_' | '.'))
    };
    let dashes = |at: usize| {
        let rest = &bare[at + 3..];
        rest.starts_with(' ') && option_name(rest.trim_start()).is_some()
    };
    let places = FIO.find_iter(bare.as_bytes()).filter(|at| boundary(*at) && dashes(*at));
    for place in places.take(TRIES) {
        let found = at(page, line, prefix + place, false);
        if let Some(found) = found.filter(|(commands, _)| commands[0].options.len() >= 2) {
            return Some(found);
        }
    }
    None
}

/// Commands of known tools that begin at a byte of a line, and the line behind them.
fn at(page: &Page, line: usize, start: usize, prompted: bool) -> Option<(Vec<Command>, usize)> {
    let (tokens, end) = Tokens::read(page, line, start);
    let mut commands: Vec<Command> = Vec::new();
    for (number, segment) in tokens.segments.iter().enumerate() {
        let known = commands_of(segment, line, prompted);
        if number == 0 && known.is_empty() && !prompted {
            return None;
        }
        commands.extend(known);
    }
    // A sentence quotes a tool's name as well as a command of it: what has options is the latter.
    let quoted =
        tokens.within_sentence && !prompted && commands.iter().all(|command| command.options.len() < 2);
    (!commands.is_empty() && !quoted).then_some((commands, end))
}

/// The command of one segment, and those that follow it where lines were joined (`zpool create ... zfs create ...`).
fn commands_of(words: &[Word], line: usize, prompted: bool) -> Vec<Command> {
    let mut made = Vec::new();
    let mut from = behind_wrappers(words);
    while let Some(name) = words.get(from).filter(|_| made.len() < MOST_COMMANDS) {
        let Some((program, fits)) = program(&name.text) else { break };
        let named =
            |at: &usize| option_name(&words[*at - 1].text).is_none().then(|| self::program(&words[*at].text));
        let others = (from + 2..words.len()).filter_map(|at| Some((at, named(&at)??.1)));
        let next = others.take(TRIES).find(|(at, fits)| at + 2 < words.len() && fits(&words[at + 1..]));
        let next = next.map(|(at, _)| at);
        let end = next.unwrap_or(words.len());
        let own = without_prose(&words[from + 1..end]);
        if !fits(own) || !(prompted || sound(own)) {
            break;
        }
        let options = if program == "fio" { fio_options(own).unwrap_or_default() } else { Vec::new() };
        let own = if program == "fio" { fio_words(own) } else { own };
        made.push(Command {
            line: name.spot.index().max(line),
            program: program.to_owned(),
            spot: name.spot,
            words: own.to_vec(),
            options,
            prompt: None,
            more: Vec::new(),
        });
        let Some(next) = next else { break };
        from = next;
    }
    made
}

fn behind_wrappers(words: &[Word]) -> usize {
    let mut from = 0;
    while let Some(word) = words.get(from) {
        let before = from.checked_sub(1).map_or("", |at| words[at].text.as_str());
        if program(&word.text).is_some() || !(wraps(&word.text) || (from > 0 && wrapped(before, &word.text)))
        {
            break;
        }
        from += 1;
    }
    from
}

/// Words up to the first that is no part of a command: of another script, or between brackets behind it.
fn without_prose(words: &[Word]) -> &[Word] {
    let prose = |word: &Word| {
        let first = word.text.chars().next().unwrap_or(' ');
        let dash = option_name(&word.text).is_some();
        (!first.is_ascii() && !dash) || (first == '(' && word.text.len() > 1)
    };
    words.iter().position(prose).map_or(words, |end| &words[..end])
}

/// Whether words are a command rather than a sentence: none ends with a sentence's sign.
fn sound(words: &[Word]) -> bool {
    let stop = |word: &Word| word.text.len() > 1 && word.text.ends_with('.') && !word.text.contains('/');
    !words.iter().any(|word| word.text.len() > 1 && word.text.ends_with([',', ':', '?', '!']))
        && !words.last().is_some_and(stop)
}

/// fio's options among words; `None` where they are no command: a bare word that is no file, without two options before it.
fn fio_options(words: &[Word]) -> Option<Vec<Entry>> {
    let (options, files, prose) = fio_parts(words);
    let enough = if prose.is_some() { options.len() >= 2 } else { !options.is_empty() || files > 0 };
    enough.then_some(options)
}

fn fio_words(words: &[Word]) -> &[Word] {
    fio_parts(words).2.map_or(words, |end| &words[..end])
}

/// Options, how many job files are named, and the first word that is neither.
fn fio_parts(words: &[Word]) -> (Vec<Entry>, usize, Option<usize>) {
    let (mut options, mut files) = (Vec::new(), 0);
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let Some(name) = option_name(&word.text) else {
            if !is_job_file(&word.text) {
                return (options, files, Some(at));
            }
            files += 1;
            at += 1;
            continue;
        };
        let (key, value) = match name.split_once('=') {
            Some((key, value)) => (key, Some(value)),
            None => (name, None),
        };
        if !key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')) {
            return (options, files, Some(at));
        }
        let mut entry = Entry { key: key.to_owned(), value: value.map(str::to_owned), spot: word.spot };
        // `--bs 4k`: the value is the word behind it.
        let is_value = |next: &&Word| option_name(&next.text).is_none() && next.spot.line == word.spot.line;
        let wants_value = value.is_none() && !job_file::is_flag(key);
        if let Some(next) = words.get(at + 1).filter(|next| wants_value && is_value(next)) {
            entry.value = Some(next.text.clone());
            entry.spot.end = next.spot.end;
            at += 1;
        }
        options.push(entry);
        at += 1;
    }
    (options, files, None)
}

fn is_job_file(text: &str) -> bool {
    let name = text.rsplit('/').next().unwrap_or(text);
    let known = |end: &str| name.len() > end.len() && name.ends_with(end);
    [".fio", ".job", ".ini", ".cfg", ".conf", ".txt", ".fio.in"].iter().any(|end| known(end))
        || (text.contains('/') && text.len() > 2 && !text.ends_with('/'))
}

/// Splits a command line into segments of words.
struct Tokens {
    segments: Vec<Vec<Word>>,
    /// Whether the next word is where output goes.
    redirected: bool,
    /// Whether a closing backtick ended it with a sentence going on behind.
    within_sentence: bool,
}

/// Longer commands are cut: nobody types them.
const MOST_LINES: usize = 200;
const MOST_WORDS: usize = 4000;
const MOST_COMMANDS: usize = 16;

impl Tokens {
    /// The tokens from a byte of a line on, and the line behind them.
    fn read(page: &Page, line: usize, start: usize) -> (Tokens, usize) {
        let mut tokens = Tokens { segments: vec![Vec::new()], redirected: false, within_sentence: false };
        let (mut at, mut from, mut count) = (line, start, 0);
        loop {
            let text = page.line(at);
            let (goes_on, words) = tokens.line(at, text, from, MOST_WORDS - count);
            count += words;
            at += 1;
            if !goes_on || at >= page.len() || at - line >= MOST_LINES || count >= MOST_WORDS {
                return (tokens, at);
            }
            from = page.bare(at).1;
        }
    }

    /// The words of a line from a byte on; whether it goes on in the next, and how many they were.
    fn line(&mut self, line: usize, text: &str, from: usize, most: usize) -> (bool, usize) {
        let bytes = text.as_bytes();
        let (mut at, mut count) = (from, 0);
        let end = text.trim_end().len();
        while at < end && count < most {
            match bytes[at] {
                b' ' | b'\t' => at += 1,
                b'`' if count == 0 => at += 1,
                b'`' => {
                    self.within_sentence =
                        text[at..end].bytes().any(|byte| byte.is_ascii_alphabetic() || byte >= 0x80);
                    break;
                }
                b'\\' if at + 1 == end => return (true, count),
                b'#' => break,
                b';' | b'|' | b'&' => {
                    self.segments.push(Vec::new());
                    at += 1;
                }
                b'>' | b'<' => {
                    self.redirected = true;
                    at += 1;
                }
                _ => {
                    let (word, behind) = word(line, text, at);
                    // The number before `2>&1`.
                    let descriptor = digits(&word.text) && bytes.get(behind) == Some(&b'>');
                    let is_said = !std::mem::take(&mut self.redirected) && !descriptor;
                    if let Some(segment) = self.segments.last_mut().filter(|_| is_said) {
                        segment.push(word);
                    }
                    count += 1;
                    at = behind;
                }
            }
        }
        (false, count)
    }
}

/// The word that begins at a byte, and the byte behind it.
fn word(line: usize, text: &str, start: usize) -> (Word, usize) {
    let bytes = text.as_bytes();
    let mut made = String::new();
    let mut at = start;
    let mut quote: Option<u8> = None;
    let mut plain = start;
    while at < bytes.len() {
        let byte = bytes[at];
        match quote {
            Some(open) if byte == open => {
                made.push_str(&text[plain..at]);
                (quote, plain) = (None, at + 1);
            }
            Some(_) => {}
            None if byte == b'\'' || byte == b'"' => {
                // A quote that nothing closes is an apostrophe, or the end of a quoted command.
                if memchr::memchr(byte, &bytes[at + 1..]).is_none() {
                    break;
                }
                made.push_str(&text[plain..at]);
                (quote, plain) = (Some(byte), at + 1);
            }
            None if matches!(byte, b' ' | b'\t' | b'`' | b';' | b'|' | b'&' | b'>' | b'<') => break,
            None if byte >= 0xe2 && text.is_char_boundary(at) && sign_of_prose(&text[at..]) => break,
            None => {}
        }
        at += 1;
    }
    made.push_str(text.get(plain..at).unwrap_or(""));
    // At least the sign that ended it, so that a lone quote is passed.
    let sign = text[start..].chars().next().map_or(1, char::len_utf8);
    let end = if at == start { start + sign } else { at };
    (Word { text: made, spot: Spot::new(line, start..end) }, end)
}

/// Signs that a sentence around a command has and no command.
fn sign_of_prose(text: &str) -> bool {
    text.starts_with(['，', '。', '、', '（', '）', '：', '；', '“', '”', '」', '»', '！', '？'])
}

#[cfg(test)]
mod tests;
