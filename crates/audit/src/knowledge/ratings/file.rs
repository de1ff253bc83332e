//! The form of a file of ratings, with errors that name line and key.

use super::{Drive, Rated, Size, Writes, name};
use crate::knowledge::Link;
use crate::knowledge::media::Medium;
use crate::knowledge::pcie::Pcie;
use crate::knowledge::sata_sas::Cable;
use crate::number::{Unit, quantities};
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Range;
use toml::{Spanned, Value};

/// What is wrong in a file of ratings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Line, from 1.
    pub line: usize,
    /// Key, as it stands there; empty where it is the file's form.
    pub key: String,
    /// What is wrong and what to do.
    pub why: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = if self.key.is_empty() { String::new() } else { format!("{}: ", self.key) };
        write!(out, "line {}: {key}{}", self.line, self.why)
    }
}

impl std::error::Error for Fault {}

type Text = Spanned<String>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    drive: Vec<Spanned<Entry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: Option<Text>,
    #[serde(default)]
    models: Vec<Text>,
    interface: Option<Text>,
    media: Option<Text>,
    rpm: Option<Spanned<u32>>,
    writes: Option<Text>,
    source: Option<Text>,
    #[serde(default)]
    sizes: Vec<Spanned<BTreeMap<String, Spanned<Value>>>>,
}

/// What of a size is read and held against nothing, besides its capacity and what [`Rated`] has.
const OTHERS: [(&str, Unit); 3] =
    [("slc_cache", Unit::Bytes), ("sustained_write", Unit::BytesPerSecond), ("endurance", Unit::Bytes)];

pub(super) fn drives(text: &str) -> Result<Vec<Drive>, Fault> {
    let read = Reader(text);
    let file: File = toml::from_str(text).map_err(|error| read.refused(&error))?;
    let mut drives: Vec<Drive> = Vec::new();
    let mut names: HashMap<String, String> = HashMap::new();
    for entry in &file.drive {
        let drive = read.drive(entry)?;
        if drives.iter().any(|other| other.name == drive.name) {
            let why = format!("\"{}\" stands twice; write one entry with all of its sizes", drive.name);
            return Err(read.fault(entry.span(), "name", why));
        }
        for model in drive.models.iter().chain(drive.sizes.iter().flat_map(|size| &size.parts)) {
            let words: Vec<String> = name::words(model).into_iter().map(|(word, _)| word).collect();
            let owner = names.entry(words.join(" ")).or_insert_with(|| drive.name.clone());
            if *owner != drive.name {
                let why = format!("\"{model}\" is a name of \"{owner}\" already; leave it to one of them");
                return Err(read.fault(entry.span(), "models", why));
            }
        }
        drives.push(drive);
    }
    Ok(drives)
}

/// The text of a file, for where things stand in it.
struct Reader<'a>(&'a str);

impl Reader<'_> {
    fn fault(&self, span: Range<usize>, key: &str, why: impl Into<String>) -> Fault {
        let before = &self.0.as_bytes()[..span.start.min(self.0.len())];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        Fault { line, key: key.to_owned(), why: why.into() }
    }

    /// What is no TOML, has a key that is not known, or a value of another type.
    fn refused(&self, error: &toml::de::Error) -> Fault {
        let unknown = error.message().strip_prefix("unknown field `");
        let (key, why) = match unknown.and_then(|rest| rest.split_once("`, expected ")) {
            Some((key, known)) => {
                let known = known.trim_start_matches("one of ").replace('`', "");
                (key, format!("is not known; known are {known}"))
            }
            None => ("", error.message().to_owned()),
        };
        self.fault(error.span().unwrap_or_default(), key, why)
    }

    fn drive(&self, entry: &Spanned<Entry>) -> Result<Drive, Fault> {
        let own = entry.get_ref();
        let missing = |key: &str, hint: &str| self.fault(entry.span(), key, format!("is missing; {hint}"));
        let text = |key: &str, value: &Option<Text>, hint: &str| match value {
            None => Err(missing(key, hint)),
            Some(text) if text.get_ref().trim().is_empty() => {
                Err(self.fault(text.span(), key, format!("is empty; {hint}")))
            }
            Some(text) => Ok((text.get_ref().trim().to_owned(), text.span())),
        };
        let (name, _) = text("name", &own.name, "write for example name = \"Samsung 980 PRO\"")?;
        if own.models.is_empty() {
            let hint = "write what the kernel or a page calls it: [\"980 PRO\", \"MZ-V8P*\"]";
            return Err(missing("models", hint));
        }
        const LINKS: &str = "write PCIe 4.0 x4, SATA 6 Gb/s or SAS 12 Gb/s";
        let (interface, at) = text("interface", &own.interface, LINKS)?;
        let unknown =
            |at, key: &str, hint: &str| self.fault(at, key, format!("is none that is known; {hint}"));
        let interface = interface_of(&interface).ok_or_else(|| unknown(at, "interface", LINKS))?;
        const MEDIA: &str = "write QLC, TLC, MLC, SLC, Optane or HDD";
        let (media, at) = text("media", &own.media, MEDIA)?;
        let media = Medium::ALL.iter().find(|(_, name)| *name == media).map(|(medium, _)| *medium);
        let media = media.ok_or_else(|| unknown(at, "media", MEDIA))?;
        let rpm = own.rpm.as_ref().map(|rpm| *rpm.get_ref());
        if (media == Medium::Hdd) != rpm.is_some_and(|rpm| (3600..=15_000).contains(&rpm)) {
            let at = own.rpm.as_ref().map_or(entry.span(), Spanned::span);
            let why =
                "belongs to media = \"HDD\", from 3600 to 15000; write rpm = 7200 for a disk, nothing else";
            return Err(self.fault(at, "rpm", why));
        }
        const WRITES: &str = "write burst where the figures are of a cache of SLC, else sustained";
        let (writes, at) = text("writes", &own.writes, WRITES)?;
        let writes = match writes.as_str() {
            "burst" => Writes::Burst,
            "sustained" => Writes::Sustained,
            _ => return Err(self.fault(at, "writes", format!("is neither; {WRITES}"))),
        };
        let (source, _) = text("source", &own.source, "write which data sheet, its revision or date")?;
        let models = |text: &Text| self.model("models", text.span(), text.get_ref());
        let models = own.models.iter().map(models).collect::<Result<_, _>>()?;
        let sizes: Vec<Size> =
            own.sizes.iter().map(|size| self.size(size, interface)).collect::<Result<_, _>>()?;
        if sizes.is_empty() || (sizes.len() > 1 && sizes.iter().any(|size| size.capacity.is_none())) {
            let hint = "write sizes = [{ capacity = \"1TB\", read = \"7000MB/s\" }], of several each with its capacity";
            return Err(missing("sizes", hint));
        }
        Ok(Drive { name, models, media, rpm, writes, source, sizes })
    }

    fn size(
        &self,
        entry: &Spanned<BTreeMap<String, Spanned<Value>>>,
        interface: Link,
    ) -> Result<Size, Fault> {
        let mut size = Size::default();
        for (key, value) in entry.get_ref() {
            let rated = Rated::ALL.into_iter().find(|(_, own)| own == key).map(|(rated, _)| rated);
            let other = OTHERS.iter().find(|(own, _)| own == key).map(|(_, unit)| *unit);
            match (key.as_str(), rated, other) {
                ("parts", ..) => {
                    let listed = value.get_ref().as_array().into_iter().flatten();
                    let part = |one: &Value| self.model(key, value.span(), one.as_str().unwrap_or(""));
                    size.parts = listed.map(part).collect::<Result<_, _>>()?;
                }
                ("capacity", ..) => size.capacity = Some(self.figure(key, value, Unit::Bytes)?),
                (_, Some(rated), _) => {
                    let (figure, most) = (self.figure(key, value, rated.unit())?, interface.rate().most);
                    if rated.unit() == Unit::BytesPerSecond && figure > most {
                        let why =
                            format!("is above what {} carries: {:.0} MB/s", interface.name(), most / 1e6);
                        return Err(self.fault(value.span(), key, why));
                    }
                    size.figures[rated as usize] = Some(figure);
                }
                (_, _, Some(unit)) => self.figure(key, value, unit).map(drop)?,
                _ => {
                    let why = "is not known; write capacity, parts, or what a [rating] of a scenario has";
                    return Err(self.fault(value.span(), key, why));
                }
            }
        }
        let none = size.figures.iter().all(Option::is_none);
        let why = "has no figure; write for example read = \"7000MB/s\"";
        if none { Err(self.fault(entry.span(), "sizes", why)) } else { Ok(size) }
    }

    /// A name that other words are hardly taken for: four letters and digits, a digit among fewer than seven.
    fn model(&self, key: &str, span: Range<usize>, text: &str) -> Result<String, Fault> {
        let body = text.strip_suffix('*').unwrap_or(text);
        let letters = body.bytes().filter(u8::is_ascii_alphanumeric).count();
        let why = if letters < 4 || (letters < 7 && !body.bytes().any(|byte| byte.is_ascii_digit())) {
            "has fewer than four letters and digits, or no digit: other words would be taken for it; write the maker before it, or the part number"
        } else if body.contains('*') || !body.is_ascii() {
            "has something that is no ASCII letter, digit or mark, or a * before its end; write letters and digits, and a * at the end for what may follow"
        } else {
            return Ok(text.to_owned());
        };
        Err(self.fault(span, key, format!("\"{text}\" {why}")))
    }

    fn figure(&self, key: &str, value: &Spanned<Value>, unit: Unit) -> Result<f64, Fault> {
        let text = value.get_ref().as_str().unwrap_or("");
        let read = quantities(0, text);
        let fits = read.first().filter(|one| {
            let spot = one.figure.spot;
            let whole = spot.start == 0 && spot.end as usize == text.trim_end().len();
            let bare = unit == Unit::PerSecond && one.unit == Unit::Bare;
            whole && (one.unit == unit || bare) && one.figure.value > 0.0
        });
        let example = match unit {
            Unit::PerSecond => "1000k",
            Unit::BytesPerSecond => "7000MB/s",
            Unit::Bytes => "1.92TB",
            _ => "80us",
        };
        let why = || format!("\"{text}\" is not read; write for example \"{example}\"");
        fits.map(|one| one.figure.value).ok_or_else(|| self.fault(value.span(), key, why()))
    }
}

/// `PCIe 4.0 x4`, `SATA 6 Gb/s`, `SAS 12 Gb/s`.
fn interface_of(text: &str) -> Option<Link> {
    if let Some(rest) = text.strip_prefix("PCIe ") {
        let (generation, lanes) = rest.split_once(".0 x")?;
        return Some(Link::Pcie(Pcie::new(generation.parse().ok()?, lanes.parse().ok()?)?));
    }
    Cable::all().find(|cable| cable.name() == text).map(Link::Cable)
}
