//! The lines of a parameter file as vdbench scans them: comments, lines that go on, quotes, lists, one file of
//! includes. What vdbench takes by accident (a list without an end, a blank in it) is refused.

use super::super::error::{Fault, InputError, Origin};
use super::super::jobfile::{Notes, Open};
use std::path::Path;

/// `key=value` or `key=(value,value)`, and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Param {
    /// In small letters; it may be short for the key.
    pub(super) key: String,
    /// Without quotes; of a list with its parentheses.
    pub(super) value: String,
    /// The values of a list.
    pub(super) list: Option<Vec<String>>,
    pub(super) origin: Origin,
}

impl Param {
    pub(super) fn error(&self, fault: Fault) -> InputError {
        self.origin.error(&self.key, fault)
    }

    /// As it was written, for notes.
    pub(super) fn text(&self) -> String {
        format!("{}={}", self.key, self.value)
    }

    /// The values of a list, or the one value.
    pub(super) fn values(&self) -> Vec<&str> {
        match &self.list {
            Some(list) => list.iter().map(String::as_str).collect(),
            None => vec![&self.value],
        }
    }

    /// The one value, which may stand in parentheses.
    pub(super) fn one(&self) -> Result<&str, InputError> {
        match self.values().as_slice() {
            [one] => Ok(one),
            many => {
                let why = format!("{} values, and one is read here", many.len());
                Err(self.error(Fault::hint(why, format!("write {}=VALUE", self.key))))
            }
        }
    }
}

/// All parameters of a file in their order.
pub(super) fn params(path: &Path, notes: &mut Notes) -> Result<Vec<Param>, InputError> {
    let lines = read_lines(path, None, &mut Open::default())?;
    let mut params = Vec::new();
    let mut whole = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        whole.extend(line.spots(notes)?);
        let goes_on = whole.last().is_some_and(|spot: &Spot| spot.is(','));
        if !goes_on || number + 1 == lines.len() {
            params.extend(split(std::mem::take(&mut whole))?);
        }
    }
    Ok(params)
}

/// A line that says something.
struct Line {
    text: String,
    /// Of its first letter.
    origin: Origin,
}

fn read_lines(path: &Path, from: Option<&Origin>, open: &mut Open) -> Result<Vec<Line>, InputError> {
    let text = open.enter(path, from)?;
    let file = path.display().to_string();
    let mut lines = Vec::new();
    for (index, whole) in text.lines().enumerate() {
        let line = whole.trim();
        if line.starts_with("eof") {
            break;
        }
        if line.is_empty() || line.starts_with(['*', '#', '/']) {
            continue;
        }
        let column = whole.chars().take_while(|c| c.is_whitespace()).count() + 1;
        let origin = Origin { file: file.clone(), at: Some((index + 1, column)) };
        match line.strip_prefix("include=") {
            None => lines.push(Line { text: line.to_owned(), origin }),
            Some(_) if from.is_some() => {
                let fault =
                    Fault::hint("an include in an included file", "vdbench takes none: include it above");
                return Err(origin.error("include", fault));
            }
            Some(name) => {
                let path = path.parent().unwrap_or(Path::new("")).join(name.trim());
                lines.extend(read_lines(&path, Some(&origin), open)?);
            }
        }
    }
    open.leave();
    Ok(lines)
}

/// A letter and where it stands.
struct Spot {
    letter: char,
    /// Between quotes nothing has a meaning.
    quoted: bool,
    origin: Origin,
}

impl Spot {
    fn is(&self, letter: char) -> bool {
        !self.quoted && self.letter == letter
    }
}

impl Line {
    /// The letters up to the first blank; vdbench takes what follows for a comment.
    fn spots(&self, notes: &mut Notes) -> Result<Vec<Spot>, InputError> {
        let mut spots = Vec::new();
        let mut opened = None;
        let mut letters = self.text.chars().enumerate();
        for (index, letter) in letters.by_ref() {
            let origin = self.origin_of(index);
            match letter {
                '"' => opened = if opened.is_some() { None } else { Some(origin) },
                ' ' | '\t' if opened.is_none() => break,
                letter => spots.push(Spot { letter, quoted: opened.is_some(), origin }),
            }
        }
        if let Some(origin) = opened {
            return Err(origin.here(Fault::hint("a quote that is not closed", "close it on the same line")));
        }
        let comment: String = letters.map(|(_, letter)| letter).collect();
        if looks_like_a_parameter(comment.trim()) {
            let (at, comment) = (self.origin.line(), comment.trim());
            notes.add(format!("{at}: \"{comment}\" stands behind a blank, where vdbench reads a comment"));
        }
        Ok(spots)
    }

    fn origin_of(&self, index: usize) -> Origin {
        let at = self.origin.at.map(|(line, column)| (line, column + index));
        Origin { file: self.origin.file.clone(), at }
    }
}

fn looks_like_a_parameter(comment: &str) -> bool {
    let word = comment.split_whitespace().next().unwrap_or_default();
    word.split_once('=').is_some_and(|(key, value)| key.len() > 1 && !value.is_empty())
}

/// The parameters of a line with all that it goes on in: commas part them, but for those of a list.
fn split(spots: Vec<Spot>) -> Result<Vec<Param>, InputError> {
    let mut params = Vec::new();
    let mut opened: Vec<Origin> = Vec::new();
    let mut part: Vec<Spot> = Vec::new();
    for spot in spots {
        if spot.is('(') {
            opened.push(spot.origin.clone());
        } else if spot.is(')') && opened.pop().is_none() {
            return Err(spot.origin.here(Fault::new("\")\" without \"(\"")));
        }
        if spot.is(',') && opened.is_empty() {
            if part.is_empty() {
                return Err(spot.origin.here(Fault::hint("nothing before a comma", "remove the comma")));
            }
            params.push(param(std::mem::take(&mut part))?);
        } else {
            part.push(spot);
        }
    }
    if let Some(origin) = opened.pop() {
        let hint = "close it; a blank ends what vdbench reads of a line, so write lists without blanks";
        return Err(origin.here(Fault::hint("\"(\" without \")\"", hint)));
    }
    if !part.is_empty() {
        params.push(param(part)?);
    }
    Ok(params)
}

fn param(spots: Vec<Spot>) -> Result<Param, InputError> {
    let origin = spots[0].origin.clone();
    let Some(sign) = spots.iter().position(|spot| spot.is('=')) else {
        let why = format!("\"{}\" is not key=value", text(&spots));
        return Err(origin.here(Fault::hint(why, "write key=value, and a blank before a comment")));
    };
    let (key, value) = (text(&spots[..sign]).to_lowercase(), &spots[sign + 1..]);
    if key.chars().count() < 2 {
        let why = format!("\"{key}\": vdbench takes keys of two letters and more");
        return Err(origin.here(Fault::new(why)));
    }
    if value.is_empty() {
        let fault = Fault::hint("a value is missing", format!("write {key}=VALUE"));
        return Err(origin.error(&key, fault));
    }
    let list = list(value).map_err(|fault| origin.error(&key, fault))?;
    let param = Param { key, value: text(value), list, origin };
    match param.value.split_once('$') {
        Some((_, behind)) if param.key != "lun" && behind.starts_with(|c: char| c.is_ascii_alphabetic()) => {
            let why = format!("\"{}\" is filled in from vdbench's command line", param.value);
            Err(param.error(Fault::hint(why, "write the value")))
        }
        _ => Ok(param),
    }
}

fn text(spots: &[Spot]) -> String {
    spots.iter().map(|spot| spot.letter).collect()
}

/// `(a,b)`; lists within lists are one list, as in vdbench.
fn list(spots: &[Spot]) -> Result<Option<Vec<String>>, Fault> {
    if !spots[0].is('(') {
        return Ok(None);
    }
    if !spots.last().is_some_and(|spot| spot.is(')')) {
        return Err(Fault::hint("something behind the end of a list", "end it with \")\""));
    }
    let parts = spots.split(|spot| ['(', ')', ','].iter().any(|sign| spot.is(*sign)));
    let list: Vec<String> = parts.map(text).filter(|part| !part.is_empty()).collect();
    if list.is_empty() {
        return Err(Fault::hint("a list with nothing in it", "write a value"));
    }
    Ok(Some(list))
}
