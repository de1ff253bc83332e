//! Format of a file of ratings, with errors that name line and key.

use super::{DriveRatings, RatedDrive, RatedWrites, Size, name};
use crate::HardwareLink;
use crate::media::Medium;
use crate::number::{NumberUnit, quantities};
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Range;
use toml::{Spanned, Value};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub line: usize,
    /// Key in the file; empty if no single key is at fault.
    pub key: String,
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
type Values = BTreeMap<String, Spanned<Value>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    drive: Vec<Spanned<RatingEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RatingEntry {
    name: Text,
    models: Vec<Text>,
    interface: Text,
    media: Medium,
    rpm: Option<u32>,
    writes: RatedWrites,
    source: Text,
    sizes: Vec<Spanned<Values>>,
}

/// Returns an example of what to write for a key.
fn hint(key: &str) -> &'static str {
    match key {
        "name" => "write for example name = \"Samsung 980 PRO\"",
        "models" => "write for example [\"980 PRO\", \"MZ-V8P*\"]",
        "interface" => "write PCIe 4.0 x4, SATA 6 Gb/s or SAS 12 Gb/s",
        "media" => "write QLC, TLC, MLC, SLC, Optane or HDD",
        "writes" => "write burst where the figures are of a cache of SLC, else sustained",
        "sizes" => "write [{ capacity = \"1TB\", read = \"7000MB/s\" }]",
        _ => "write which data sheet, its revision or date",
    }
}

pub(super) fn drives(text: &str) -> Result<Vec<RatedDrive>, Fault> {
    let read = RatingReader(text);
    let file: File = toml::from_str(text).map_err(|error| read.toml_fault(&error))?;
    let mut drives: Vec<RatedDrive> = Vec::new();
    let mut names: HashMap<String, String> = HashMap::new();
    for entry in &file.drive {
        let drive = read.drive(entry)?;
        if drives.iter().any(|other| other.name == drive.name) {
            let why = format!(
                "\"{}\" is listed twice; write one entry with all of its sizes",
                drive.name
            );
            return Err(read.fault(entry.span(), "name", why));
        }
        for model in drive.models.iter().chain(drive.sizes.iter().flat_map(|size| &size.parts)) {
            let words: Vec<String> =
                name::words_with_spans(model).into_iter().map(|(word, _)| word).collect();
            let owner = names.entry(words.join(" ")).or_insert_with(|| drive.name.clone());
            if *owner != drive.name {
                let why = format!(
                    "\"{model}\" is a name of \"{owner}\" already; leave it to one of them"
                );
                return Err(read.fault(entry.span(), "models", why));
            }
        }
        drives.push(drive);
    }
    Ok(drives)
}

/// Text of a file of ratings, in which faults are located.
struct RatingReader<'a>(&'a str);

impl RatingReader<'_> {
    fn fault(&self, span: Range<usize>, key: &str, why: impl Into<String>) -> Fault {
        let before = &self.0.as_bytes()[..span.start.min(self.0.len())];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        Fault { line, key: key.to_owned(), why: why.into() }
    }

    /// Returns the fault for text that is not TOML, an unknown or missing key, or a value of the
    /// wrong type.
    fn toml_fault(&self, error: &toml::de::Error) -> Fault {
        let (message, span) = (error.message(), error.span().unwrap_or_default());
        let named = message.split('`').nth(1).unwrap_or("");
        let known = message.split_once(", expected ").map_or("", |(_, known)| known);
        let known = known.trim_start_matches("one of ").replace('`', "");
        let line = self.0[..span.start.min(self.0.len())].rsplit('\n').next().unwrap_or("");
        let own = line.split('=').next().unwrap_or("").trim();
        let (key, why) = match message.split(" `").next() {
            Some("unknown field") => (named, format!("is not known; known are {known}")),
            Some("unknown variant") => (own, format!("is not a known value; {}", hint(own))),
            Some("missing field") => (named, format!("is missing; {}", hint(named))),
            _ => ("", message.to_owned()),
        };
        self.fault(span, key, why)
    }

    fn drive(&self, entry: &Spanned<RatingEntry>) -> Result<RatedDrive, Fault> {
        let RatingEntry { media, rpm, writes, .. } = *entry.get_ref();
        let own = entry.get_ref();
        let interface = HardwareLink::parse_link_name(own.interface.get_ref())
            .filter(|link| !link.is_network());
        let (interface, name, source) = (
            interface.ok_or_else(|| {
                self.unfit("interface", "is not a known value", own.interface.span())
            })?,
            self.non_empty_text("name", &own.name)?,
            self.non_empty_text("source", &own.source)?,
        );
        let models = |text: &Text| self.model("models", text.span(), text.get_ref());
        let models: Vec<String> = own.models.iter().map(models).collect::<Result<_, _>>()?;
        let sizes: Vec<Size> =
            own.sizes.iter().map(|size| self.size(size, interface)).collect::<Result<_, _>>()?;
        let several = sizes.len() > 1 && sizes.iter().any(|size| size.capacity.is_none());
        if models.is_empty() {
            return Err(self.unfit("models", "is empty", entry.span()));
        }
        if several || sizes.is_empty() {
            return Err(self.unfit("sizes", "is no list of capacities", entry.span()));
        }
        if !matches!((media == Medium::Hdd, rpm), (true, Some(3600..=15_000)) | (false, None)) {
            let why =
                "belongs to media = \"HDD\", from 3600 to 15000, and only there; write rpm = 7200";
            return Err(self.fault(entry.span(), "rpm", why));
        }
        Ok(RatedDrive { name, models, media, rpm, writes, source, sizes })
    }

    fn unfit(&self, key: &str, why: &str, span: Range<usize>) -> Fault {
        self.fault(span, key, format!("{why}; {}", hint(key)))
    }

    /// Returns the text without spaces around it; refuses an empty one.
    fn non_empty_text(&self, key: &str, value: &Text) -> Result<String, Fault> {
        match value.get_ref().trim() {
            "" => Err(self.unfit(key, "is empty", value.span())),
            text => Ok(text.to_owned()),
        }
    }

    fn size(&self, entry: &Spanned<Values>, interface: HardwareLink) -> Result<Size, Fault> {
        let mut size = Size::default();
        for (key, value) in entry.get_ref() {
            let rated =
                DriveRatings::ALL.into_iter().find(|(_, own)| own == key).map(|(rated, _)| rated);
            let unit = match (key.as_str(), rated) {
                ("parts", _) => {
                    let why = "is no list of names; write for example [\"MZ-V8P1T0*\"]";
                    let listed = value.get_ref().as_array();
                    let listed = listed.ok_or_else(|| self.fault(value.span(), key, why))?;
                    let part =
                        |one: &Value| self.model(key, value.span(), one.as_str().unwrap_or(""));
                    size.parts = listed.iter().map(part).collect::<Result<_, _>>()?;
                    continue;
                }
                (_, Some(rated)) => rated.unit(),
                // The last three are compared with nothing.
                ("capacity" | "slc_cache" | "endurance", _) => NumberUnit::Bytes,
                ("sustained_write", _) => NumberUnit::BytesPerSecond,
                _ => {
                    let why =
                        "is not known; write capacity, parts, or what a [rating] of a scenario has";
                    return Err(self.fault(value.span(), key, why));
                }
            };
            let (figure, most) = (self.figure(key, value, unit)?, interface.rate().most);
            if unit == NumberUnit::BytesPerSecond && figure > most {
                let why =
                    format!("is above what {} carries: {:.0} MB/s", interface.name(), most / 1e6);
                return Err(self.fault(value.span(), key, why));
            }
            match rated {
                Some(rated) => size.figures[rated as usize] = Some(figure),
                None if key == "capacity" => size.capacity = Some(figure),
                None => {}
            }
        }
        let none = size.figures.iter().all(Option::is_none);
        let why = "has no figure; write for example read = \"7000MB/s\"";
        if none { Err(self.fault(entry.span(), "sizes", why)) } else { Ok(size) }
    }

    /// Returns the name if other words are hardly mistaken for it: at least four letters and
    /// digits, with a digit if there are fewer than seven. Refuses what is not ASCII, and a `*`
    /// before the end.
    fn model(&self, key: &str, span: Range<usize>, text: &str) -> Result<String, Fault> {
        let body = text.strip_suffix('*').unwrap_or(text);
        let letters = body.bytes().filter(u8::is_ascii_alphanumeric).count();
        let why = if letters < 4 || (letters < 7 && !body.bytes().any(|byte| byte.is_ascii_digit()))
        {
            "has fewer than four letters and digits, or no digit: other words would be taken for it; write the maker before it, or the part number"
        } else if body.contains('*') || !body.is_ascii() {
            "has something that is no ASCII letter, digit or mark, or a * before its end; write letters and digits, and a * at the end for what may follow"
        } else {
            return Ok(text.to_owned());
        };
        Err(self.fault(span, key, format!("\"{text}\" {why}")))
    }

    fn figure(&self, key: &str, value: &Spanned<Value>, unit: NumberUnit) -> Result<f64, Fault> {
        let text = value.get_ref().as_str().unwrap_or("");
        let read = quantities(0, text);
        let fits = read.first().filter(|one| {
            let spot = one.figure.spot;
            let whole = spot.start == 0 && spot.end as usize == text.trim_end().len();
            let bare = unit == NumberUnit::PerSecond && one.unit == NumberUnit::Bare;
            whole && (one.unit == unit || bare) && one.figure.value > 0.0
        });
        let example = match unit {
            NumberUnit::PerSecond => "1000k",
            NumberUnit::BytesPerSecond => "7000MB/s",
            NumberUnit::Bytes => "1.92TB",
            _ => "80us",
        };
        let why = || format!("\"{text}\" is not read; write for example \"{example}\"");
        fits.map(|one| one.figure.value).ok_or_else(|| self.fault(value.span(), key, why()))
    }
}
