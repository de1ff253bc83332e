//! The form of a file of ratings, with errors that name line and key.

use super::{
    Cable, DeValue, Drive, Fault, Kind, Link, Medium, Pcie, Rated, Size, Spanned, Unit, Writes, name, number,
};
use crate::user_file::{Entry, File, parsed};
use std::collections::HashMap;

const KEYS: [&str; 8] = ["name", "models", "interface", "media", "rpm", "writes", "source", "sizes"];
const OWN_KEYS: [&str; 5] = ["capacity", "parts", "slc_cache", "sustained_write", "endurance"];

pub(super) fn drives(text: &str) -> Result<Vec<Drive>, Fault> {
    let file = File { text };
    let parsed = parsed(&file)?;
    let mut drives: Vec<Drive> = Vec::new();
    let mut names: HashMap<String, String> = HashMap::new();
    for (key, value) in parsed.get_ref() {
        let entries = match (key.get_ref().as_ref(), value.get_ref()) {
            ("drive", DeValue::Array(entries)) => entries,
            (other, _) => {
                return Err(file.fault(&key.span(), other, "is not known here; write [[drive]] entries"));
            }
        };
        for entry in entries {
            let drive = file.drive(entry)?;
            if drives.iter().any(|other| other.name == drive.name) {
                return Err(file.fault(
                    &entry.span(),
                    "name",
                    format!("\"{}\" stands twice; write one entry with all of its sizes", drive.name),
                ));
            }
            for model in drive.models.iter().chain(drive.sizes.iter().flat_map(|size| &size.parts)) {
                let spelled =
                    name::words(model).into_iter().map(|(word, _)| word).collect::<Vec<_>>().join(" ");
                let owner = names.entry(spelled).or_insert_with(|| drive.name.clone());
                if *owner != drive.name {
                    let why =
                        format!("\"{model}\" is a name of \"{owner}\" already; leave it to one of them");
                    return Err(file.fault(&entry.span(), "models", why));
                }
            }
            drives.push(drive);
        }
    }
    Ok(drives)
}

impl File<'_> {
    fn drive(&self, entry: &Spanned<DeValue>) -> Result<Drive, Fault> {
        let DeValue::Table(table) = entry.get_ref() else {
            return Err(self.fault(
                &entry.span(),
                "drive",
                "is no table; write [[drive]] and its keys below",
            ));
        };
        self.only(table, &KEYS)?;
        let own = Entry { file: self, table, span: entry.span() };
        let name = own.text("name")?;
        let models = own.models("models", true)?;
        let interface = own.text("interface")?;
        let interface = interface_of(&interface).ok_or_else(|| {
            own.wrong("interface", "is none that is known; write PCIe 4.0 x4, SATA 6 Gb/s or SAS 12 Gb/s")
        })?;
        let media = own.text("media")?;
        let media = Medium::ALL.iter().find(|(_, name)| *name == media).map(|(medium, _)| *medium);
        let media = media.ok_or_else(|| {
            own.wrong("media", "is none that is known; write QLC, TLC, MLC, SLC, Optane or HDD")
        })?;
        let rpm = own.rpm()?;
        if rpm.is_some() != (media == Medium::Hdd) {
            return Err(own.wrong(
                "rpm",
                "belongs to media = \"HDD\", and only there; write rpm = 7200 for a disk, nothing else",
            ));
        }
        let writes = match own.text("writes")?.as_str() {
            "burst" => Writes::Burst,
            "sustained" => Writes::Sustained,
            _ => {
                return Err(own.wrong(
                    "writes",
                    "is neither; write burst where the figures are of a cache of SLC, else sustained",
                ));
            }
        };
        let source = own.text("source")?;
        let sizes = own.sizes(interface)?;
        Ok(Drive { name, models, interface, media, rpm, writes, source, sizes })
    }

    fn size(&self, value: &Spanned<DeValue>, interface: Link) -> Result<Size, Fault> {
        let DeValue::Table(table) = value.get_ref() else {
            return Err(self.fault(
                &value.span(),
                "sizes",
                "is no list of { capacity = \"1TB\", read = \"7000MB/s\" }",
            ));
        };
        let known: Vec<&str> = OWN_KEYS.into_iter().chain(Rated::ALL.map(|(_, key)| key)).collect();
        self.only(table, &known)?;
        let own = Entry { file: self, table, span: value.span() };
        let mut size = Size {
            capacity: own.figure("capacity", Kind::Bytes)?,
            parts: own.models("parts", false)?,
            slc_cache: own.figure("slc_cache", Kind::Bytes)?,
            sustained_write: own.figure("sustained_write", Kind::BytesPerSecond)?,
            endurance: own.figure("endurance", Kind::Bytes)?,
            figures: [None; 6],
        };
        for (rated, key) in Rated::ALL {
            let figure = own.figure(key, rated.unit())?;
            let most = interface.rate().most;
            if rated.unit() == Kind::BytesPerSecond && figure.is_some_and(|rate| rate > most) {
                let why = format!("is above what {} carries: {:.0} MB/s", interface.name(), most / 1e6);
                return Err(own.wrong(key, why));
            }
            size.figures[rated as usize] = figure;
        }
        if size.figures.iter().all(Option::is_none) {
            return Err(self.fault(
                &value.span(),
                "sizes",
                "has no figure; write for example read = \"7000MB/s\"",
            ));
        }
        Ok(size)
    }
}

impl Entry<'_> {
    /// A text that must be there.
    fn text(&self, key: &str) -> Result<String, Fault> {
        self.text_or(key, expected(key))
    }

    fn rpm(&self) -> Result<Option<u32>, Fault> {
        match self.table.get("rpm").map(Spanned::get_ref) {
            None => Ok(None),
            Some(DeValue::Integer(number)) => match number.as_str().parse() {
                Ok(rpm) if (3600..=15_000).contains(&rpm) => Ok(Some(rpm)),
                _ => Err(self.wrong("rpm", "is not from 3600 to 15000; write for example 7200")),
            },
            Some(_) => Err(self.wrong("rpm", "is no whole number; write for example 7200")),
        }
    }

    fn models(&self, key: &str, needed: bool) -> Result<Vec<String>, Fault> {
        let listed: Vec<&Spanned<DeValue>> = match self.table.get(key).map(Spanned::get_ref) {
            Some(DeValue::Array(listed)) => listed.iter().collect(),
            Some(_) => {
                return Err(
                    self.wrong(key, "is no list of names; write for example [\"980 PRO\", \"MZ-V8P*\"]")
                );
            }
            None => Vec::new(),
        };
        if needed && listed.is_empty() {
            return Err(self.wrong(
                key,
                "is missing; write what the kernel or a page calls it: [\"980 PRO\", \"MZ-V8P*\"]",
            ));
        }
        listed.into_iter().map(|one| self.model(key, one)).collect()
    }

    /// A name that other words are hardly taken for: four letters and digits, a digit among fewer than seven.
    fn model(&self, key: &str, one: &Spanned<DeValue>) -> Result<String, Fault> {
        let DeValue::String(text) = one.get_ref() else {
            return Err(self.file.fault(
                &one.span(),
                key,
                "has something that is no text in quotes; write for example [\"980 PRO\"]",
            ));
        };
        let body = text.strip_suffix('*').unwrap_or(text);
        let letters = body.bytes().filter(u8::is_ascii_alphanumeric).count();
        let why = if letters < 4 || (letters < 7 && !body.bytes().any(|byte| byte.is_ascii_digit())) {
            "has fewer than four letters and digits, or no digit: other words would be taken for it; write the maker before it, or the part number"
        } else if body.contains('*') || !body.is_ascii() {
            "has something that is no ASCII letter, digit or mark, or a * before its end; write letters and digits, and a * at the end for what may follow"
        } else {
            return Ok(text.clone().into_owned());
        };
        Err(self.file.fault(&one.span(), key, format!("\"{text}\" {why}")))
    }

    fn figure(&self, key: &str, kind: Kind) -> Result<Option<f64>, Fault> {
        let text = match self.table.get(key).map(Spanned::get_ref) {
            None => return Ok(None),
            Some(DeValue::String(text)) => text,
            Some(_) => return Err(self.wrong(key, "is no text in quotes, with its unit")),
        };
        let read = number::quantities(0, text);
        let whole = |spot: crate::page::Spot| spot.start == 0 && spot.end as usize == text.trim_end().len();
        match read.as_slice() {
            [one] if whole(one.figure.spot) && fits(one.unit, kind) && one.figure.value > 0.0 => {
                Ok(Some(one.figure.value))
            }
            _ => {
                let example = match kind {
                    Kind::PerSecond => "1000k",
                    Kind::BytesPerSecond => "7000MB/s",
                    Kind::Bytes => "1.92TB",
                    Kind::Time => "80us",
                };
                Err(self.wrong(key, format!("\"{text}\" is not read; write for example \"{example}\"")))
            }
        }
    }

    fn sizes(&self, interface: Link) -> Result<Vec<Size>, Fault> {
        let listed = match self.table.get("sizes").map(Spanned::get_ref) {
            Some(DeValue::Array(listed)) if !listed.is_empty() => listed,
            _ => {
                return Err(self.wrong(
                    "sizes",
                    "is missing; write sizes = [{ capacity = \"1TB\", read = \"7000MB/s\" }]",
                ));
            }
        };
        let sizes: Vec<Size> =
            listed.iter().map(|one| self.file.size(one, interface)).collect::<Result<_, _>>()?;
        if sizes.len() > 1 && sizes.iter().any(|size| size.capacity.is_none()) {
            return Err(self.wrong(
                "sizes",
                "one of several has no capacity; write for example capacity = \"1TB\" in each",
            ));
        }
        Ok(sizes)
    }
}

/// What stands behind a key that must be there.
fn expected(key: &str) -> &'static str {
    match key {
        "name" => "write for example name = \"Samsung 980 PRO\"",
        "interface" => "write for example interface = \"PCIe 4.0 x4\"",
        "media" => "write media = \"TLC\", or QLC, MLC, SLC, Optane, HDD",
        "writes" => {
            "write writes = \"burst\" where its write figures are of a cache of SLC, else \"sustained\""
        }
        _ => "write which data sheet, its revision or date",
    }
}

fn fits(unit: Unit, kind: Kind) -> bool {
    match kind {
        Kind::PerSecond => matches!(unit, Unit::Bare | Unit::PerSecond),
        Kind::BytesPerSecond => unit == Unit::BytesPerSecond,
        Kind::Bytes => unit == Unit::Bytes,
        Kind::Time => unit == Unit::Nanoseconds,
    }
}

/// `PCIe 4.0 x4`, `SATA 6 Gb/s`, `SAS 12 Gb/s`.
fn interface_of(text: &str) -> Option<Link> {
    if let Some(rest) = text.strip_prefix("PCIe ") {
        let (generation, lanes) = rest.split_once(".0 x")?;
        return Some(Link::Pcie(Pcie::new(generation.parse().ok()?, lanes.parse().ok()?)?));
    }
    Cable::ALL.into_iter().find(|cable| cable.name() == text).map(Link::Cable)
}
