//! The form of a file of pins, with errors that name line and key.

use super::{FORMAT, Is, Pin, Place, VERSION, Whose};
use crate::rule;
use crate::user_file::{Entry, Fault, File, parsed};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

const PLACE: [&str; 3] = ["line", "figure", "column"];
const OWN: [&str; 6] = ["is", "of", "system", "workload", "set_aside", "reason"];
/// More are no work of a reader.
const MOST: usize = 1000;
/// Parts of one figure.
const PARTS: usize = 100;
/// Bytes of what stands somewhere.
const LONGEST: usize = 200;

pub(super) fn pins(text: &str) -> Result<Vec<Pin>, Fault> {
    let file = File { text };
    let parsed = parsed(&file)?;
    let table = parsed.get_ref();
    file.only(table, &["format", "version", "pin"])?;
    let whole = Entry { file: &file, table, span: 0..0 };
    if whole.text_or("format", &format!("write format = \"{FORMAT}\""))? != FORMAT {
        return Err(whole.wrong("format", format!("is another; write format = \"{FORMAT}\"")));
    }
    match whole.number("version")? {
        Some(VERSION) => {}
        Some(other) => {
            return Err(whole.wrong("version", format!("{other} is not known; this iotax reads {VERSION}")));
        }
        None => return Err(whole.wrong("version", format!("is missing; write version = {VERSION}"))),
    }
    let entries = match table.get("pin").map(Spanned::get_ref) {
        None => return Ok(Vec::new()),
        Some(DeValue::Array(entries)) if entries.len() <= MOST => entries,
        Some(DeValue::Array(_)) => return Err(whole.wrong("pin", format!("there are more than {MOST}"))),
        Some(_) => return Err(whole.wrong("pin", "is no list; write [[pin]] entries")),
    };
    entries.iter().map(|entry| pin(&file, entry)).collect()
}

fn pin(file: &File, entry: &Spanned<DeValue>) -> Result<Pin, Fault> {
    let DeValue::Table(table) = entry.get_ref() else {
        return Err(file.fault(&entry.span(), "pin", "is no table; write [[pin]]"));
    };
    let known: Vec<&str> = PLACE.into_iter().chain(OWN).collect();
    file.only(table, &known)?;
    let own = Entry { file, table, span: entry.span() };
    let place = own.place()?;
    let is = own.is(&place)?;
    let (system, workload) = (own.optional_text("system")?, own.optional_text("workload")?);
    let aside = own.set_aside()?;
    if is.is_none() && system.is_none() && workload.is_none() && aside.is_none() {
        let why = "says nothing of its figure; write is and of, system, workload, or set_aside and reason";
        return Err(file.fault(&entry.span(), "pin", why));
    }
    Ok(Pin { place, is, system, workload, aside })
}

impl Entry<'_> {
    /// A whole number, where the key is there.
    fn number(&self, key: &str) -> Result<Option<i64>, Fault> {
        match self.table.get(key).map(Spanned::get_ref) {
            None => Ok(None),
            Some(DeValue::Integer(number)) if number.radix() == 10 => {
                let read = number.as_str().parse().map_err(|_| self.wrong(key, "is too large"));
                read.map(Some)
            }
            Some(_) => Err(self.wrong(key, "is no whole number")),
        }
    }

    /// A number from 1.
    fn count(&self, key: &str) -> Result<Option<u32>, Fault> {
        let number = self.number(key)?;
        let counted = number.map(|number| u32::try_from(number).ok().filter(|number| *number > 0));
        counted.map(|counted| counted.ok_or_else(|| self.wrong(key, "is no number from 1 on"))).transpose()
    }

    fn place(&self) -> Result<Place, Fault> {
        let line = self.count("line")?;
        let line =
            line.ok_or_else(|| self.wrong("line", "is missing; write the figure's line of the page"))?;
        let text = self.text_or("figure", "write what stands there: figure = \"18.4 %\"")?;
        if text.len() > LONGEST {
            return Err(self.wrong("figure", format!("is longer than {LONGEST} bytes")));
        }
        let column = self.count("column")?.map(|column| column as usize);
        Ok(Place { at: self.file.line(self.span.start), line, text, column })
    }

    /// What the figure is of others.
    fn is(&self, place: &Place) -> Result<Option<(Is, Vec<Place>)>, Fault> {
        let Some(word) = self.optional_text("is")? else {
            return match self.table.get("of") {
                Some(_) => Err(self.wrong("is", "is missing, of what is told in of")),
                None => Ok(None),
            };
        };
        let known: Vec<&str> = Is::all().map(Is::word).collect();
        let is = Is::all().find(|is| is.word() == word);
        let is = is.ok_or_else(|| {
            self.wrong("is", format!("\"{word}\" is not known; known are {}", known.join(", ")))
        })?;
        let listed = match self.table.get("of").map(Spanned::get_ref) {
            Some(DeValue::Array(listed)) => listed,
            Some(_) => return Err(self.wrong("of", "is no list of { line = 5, figure = \"20.4k\" }")),
            None => {
                let why = "is missing; write of = [{ line = 5, figure = \"20.4k\" }, ...]";
                return Err(self.file.fault(&self.span, "of", why));
            }
        };
        let of: Vec<Place> = listed.iter().map(|one| self.operand(one)).collect::<Result<_, _>>()?;
        let (least, most, said) = match is {
            Is::Ratio(form) => {
                (2, 2, format!("needs two figures: {} is {}", word, form.words("the first", "the second")))
            }
            Is::Made(_) => (2, PARTS, format!("needs its parts, 2 to {PARTS} figures")),
            Is::Same => (1, 1, "needs the one other figure".to_owned()),
        };
        match (least..=most).contains(&of.len()) {
            true => Ok(Some((is, of))),
            false => {
                Err(Fault { line: place.at.max(self.wrong("of", "").line), key: "of".to_owned(), why: said })
            }
        }
    }

    fn operand(&self, one: &Spanned<DeValue>) -> Result<Place, Fault> {
        let DeValue::Table(table) = one.get_ref() else {
            return Err(self.file.fault(
                &one.span(),
                "of",
                "has something that is no { line = 5, figure = \"20.4k\" }",
            ));
        };
        let table: &DeTable = table;
        self.file.only(table, &PLACE)?;
        Entry { file: self.file, table, span: one.span() }.place()
    }

    fn set_aside(&self) -> Result<Option<(Whose, String)>, Fault> {
        let Some(words) = self.optional_text("set_aside")? else {
            return match self.table.get("reason") {
                Some(_) => Err(self.wrong("reason", "belongs to set_aside = \"RULE\"")),
                None => Ok(None),
            };
        };
        let reason = self.text_or("reason", "write why the finding is no fault of the page")?;
        if words == "all" {
            return Ok(Some((Whose::All, reason)));
        }
        let id = |word: &str| {
            let found = rule::ALL.iter().map(|rule| rule.id).find(|id| id.eq_ignore_ascii_case(word.trim()));
            found.ok_or_else(|| {
                let why = format!(
                    "\"{}\" is no rule; write one as findings have it (T1), several (T1,F4), or all",
                    word.trim()
                );
                self.wrong("set_aside", why)
            })
        };
        let rules = words.split(',').map(id).collect::<Result<_, _>>()?;
        Ok(Some((Whose::Rules(rules), reason)))
    }
}
