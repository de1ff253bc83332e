//! Command lines that rules ask about, of fio and dd: after a prompt or `sudo`, going on over lines. A sentence that begins with a tool's name is not one.

use super::fio::Asked;
use super::fio::job_file::{self, Entry, Options};
use super::{Format, Found, Said};
use crate::page::{Page, Spot};

pub(crate) const FORMAT: Format = Format {
    name: "command",
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
    /// What a command line of fio asks of its jobs: each `--name` begins one, and takes what `--name=global` before it says. What
    /// stands before the first name is of its job.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        let mut jobs: Vec<(&str, usize, Options)> = vec![("", self.line, Options::new())];
        for entry in &self.options {
            let (name, plain) = (entry.value.as_deref().unwrap_or("1"), entry.plain());
            match jobs.last_mut() {
                Some((_, _, options)) if entry.key != "name" => options.push(plain),
                Some((first @ "", ..)) => *first = name,
                _ => jobs.push((name, self.line, Options::new())),
            }
        }
        jobs.retain(|(name, _, options)| !name.is_empty() && !options.is_empty());
        job_file::with_globals(jobs.into_iter())
    }
}

type Fits = fn(&[Word]) -> bool;

const PROGRAMS: &[(&str, Fits)] = &[
    ("fio", |words| fio_options(words).is_some()),
    ("dd", |words| words.iter().any(|word| word.text.starts_with("if=") || word.text.starts_with("of="))),
];

/// An option without its dashes, which printing may have made longer (`–direct=1`).
fn option_name(text: &str) -> Option<&str> {
    let bare = text.trim_start_matches(['-', '\u{2013}', '\u{2014}', '\u{2212}']);
    (bare.len() < text.len() && bare.starts_with(|letter: char| letter.is_ascii_alphabetic())).then_some(bare)
}

fn program(word: &str) -> Option<(&'static str, Fits)> {
    let base = word.rsplit('/').next()?;
    PROGRAMS.iter().find(|(name, _)| *name == base).copied()
}

fn begins(line: &str) -> bool {
    behind_prompt(line) > 0 || begins_with_tool(line)
}

fn begins_with_tool(line: &str) -> bool {
    tool(line.trim_start_matches([' ', '\t', '`']).split_ascii_whitespace()).is_some()
}

const WRAPPERS: &str = "sudo time nohup env exec numactl taskset nice ionice chrt stdbuf";

/// Words before the tool's name: `sudo -E`, `VAR=x`, `taskset -c 0`.
const MOST_BEFORE: usize = 8;

fn tool<'a>(words: impl Iterator<Item = &'a str>) -> Option<usize> {
    let mut before = "";
    for (at, word) in words.take(1 + MOST_BEFORE).enumerate() {
        if program(word).is_some() {
            return Some(at);
        }
        let of_wrapper = at > 0
            && (word.starts_with('-') || before.starts_with('-') || matches!(before, "taskset" | "chrt"));
        if !of_wrapper && !WRAPPERS.split(' ').any(|one| one == word) && !assignment(word) {
            return None;
        }
        before = word;
    }
    None
}

/// `LD_LIBRARY_PATH=/opt/lib`.
fn assignment(word: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && name.bytes().all(letter))
}

const PROMPT: usize = 120;

/// Bytes of a prompt (`$`, `[root@host ~]#`, `user@host:~$`, `C:\>`) and of blanks before a line's first word.
fn behind_prompt(line: &str) -> usize {
    let text = line.trim_start();
    let is_prompt = |(at, sign): &(usize, &str)| {
        let head = &text[..*at];
        let names_somebody = match *sign {
            ">" => head.contains(":\\") && !head.contains(' '),
            _ if head.starts_with('[') => head.ends_with(']') && head.contains('@'),
            _ => head.is_empty() || (head.contains(['@', '-']) && !head.contains(' ')),
        };
        names_somebody && text[at + 1..].starts_with(' ')
    };
    let mut signs = text.match_indices(['$', '#', '%', '>']).take_while(|(at, _)| *at < PROMPT);
    signs.find(is_prompt).map_or(0, |(at, _)| line.len() - text[at + 1..].trim_start().len())
}

fn read(page: &Page, line: usize) -> Option<Found> {
    let (bare, prefix) = page.bare(line);
    let start = behind_prompt(bare);
    let at_start = start > 0 || begins_with_tool(bare);
    let found = at_start.then(|| at(page, line, prefix + start, start > 0)).flatten();
    let (mut commands, end) = found?;
    let mut first = commands.remove(0);
    first.more = commands;
    Some(Found::whole(Said::Command(Box::new(first)), end))
}

/// Commands of known tools that begin at a byte of a line, and the line behind them.
fn at(page: &Page, line: usize, start: usize, prompted: bool) -> Option<(Vec<Command>, usize)> {
    let (tokens, end) = Tokens::read(page, line, start);
    let mut commands: Vec<Command> = Vec::new();
    for (number, segment) in tokens.segments.iter().enumerate() {
        let known = command_of(segment, line, prompted);
        if number == 0 && known.is_none() && !prompted {
            return None;
        }
        commands.extend(known.filter(|_| commands.len() < MOST_COMMANDS));
    }
    // A sentence quotes a tool's name as well as a command of it: what has options is the latter.
    let quoted =
        tokens.within_sentence && !prompted && commands.iter().all(|command| command.options.len() < 2);
    (!commands.is_empty() && !quoted).then_some((commands, end))
}

/// The command of one segment.
fn command_of(words: &[Word], line: usize, prompted: bool) -> Option<Command> {
    let from = tool(words.iter().map(|word| word.text.as_str()))?;
    let (program, fits) = program(&words[from].text)?;
    let mut own = without_prose(&words[from + 1..]);
    (fits(own) && (prompted || sound(own))).then_some(())?;
    let mut options = Vec::new();
    if let Some((told, end)) = fio_options(own).filter(|_| program == "fio") {
        (options, own) = (told, &own[..end]);
    }
    Some(Command {
        line: words[from].spot.index().max(line),
        program: program.to_owned(),
        spot: words[from].spot,
        words: own.to_vec(),
        options,
        more: Vec::new(),
    })
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

/// fio's options, and the word at which they end; `None` where they are no command: a bare word that is no file, without two
/// options before it.
fn fio_options(words: &[Word]) -> Option<(Vec<Entry>, usize)> {
    let (mut options, mut files, mut at) = (Vec::new(), 0, 0);
    while let Some(word) = words.get(at) {
        let Some(name) = option_name(&word.text) else {
            if !is_job_file(&word.text) {
                break;
            }
            (files, at) = (files + 1, at + 1);
            continue;
        };
        let (key, value) = name.split_once('=').map_or((name, None), |(key, value)| (key, Some(value)));
        let letter = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        if !key.bytes().all(letter) {
            break;
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
    let whole = at == words.len() && options.len() + files > 0;
    (whole || options.len() >= 2).then_some((options, at))
}

fn is_job_file(text: &str) -> bool {
    let name = text.rsplit('/').next().unwrap_or(text);
    let known = |end: &str| name.len() > end.len() && name.ends_with(end);
    [".fio", ".job", ".ini", ".cfg", ".conf", ".txt", ".fio.in"].iter().any(|end| known(end))
        || (text.contains('/') && text.len() > 2 && !text.ends_with('/'))
}

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
        while tokens.line(at, page.line(at), from, &mut count) && count < MOST_WORDS {
            at += 1;
            if at >= page.len() || at - line >= MOST_LINES {
                return (tokens, at);
            }
            from = page.bare(at).1;
        }
        (tokens, at + 1)
    }

    /// The words of a line from a byte on; whether it goes on in the next.
    fn line(&mut self, line: usize, text: &str, from: usize, count: &mut usize) -> bool {
        let bytes = text.as_bytes();
        let (mut at, mut first) = (from, true);
        let end = text.trim_end().len();
        while at < end && *count < MOST_WORDS {
            match bytes[at] {
                b' ' | b'\t' => at += 1,
                b'`' if first => at += 1,
                b'`' => {
                    let prose = |byte: u8| byte.is_ascii_alphabetic() || byte >= 0x80;
                    self.within_sentence = text[at..end].bytes().any(prose);
                    break;
                }
                b'\\' if at + 1 == end => return true,
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
                    let number = word.text.bytes().all(|byte| byte.is_ascii_digit());
                    let descriptor = number && bytes.get(behind) == Some(&b'>');
                    let is_said = !std::mem::take(&mut self.redirected) && !descriptor;
                    if let Some(segment) = self.segments.last_mut().filter(|_| is_said) {
                        segment.push(word);
                    }
                    *count += 1;
                    (at, first) = (behind, false);
                }
            }
        }
        false
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
