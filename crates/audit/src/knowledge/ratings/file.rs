//! The form of a file of ratings, with errors that name line and key.

use super::{Drive, Fault, Kind, Rated, Size, Writes, name};
use crate::knowledge::Link;
use crate::knowledge::media::Medium;
use crate::knowledge::pcie::Pcie;
use crate::knowledge::sata_sas::Cable;
use crate::number::{self, Unit};
use crate::user_file::{Entry, File, parsed};
use std::collections::HashMap;
use toml::Spanned;
use toml::de::DeValue;

const KEYS: [&str; 8] = ["name", "models", "interface", "media", "rpm", "writes", "source", "sizes"];
/// What of a size is read, and held against nothing yet.
const OTHERS: [(&str, Kind); 3] =
    [("slc_cache", Kind::Bytes), ("sustained_write", Kind::BytesPerSecond), ("endurance", Kind::Bytes)];

pub(super) fn drives(text: &str) -> Result<Vec<Drive>, Fault> {
    let file = File { text };
    let parsed = parsed(&file)?;
    let mut drives: Vec<Drive> = Vec::new();
    let mut names: HashMap<String, String> = HashMap::new();
    for (key, value) in parsed.get_ref() {
        let ("drive", DeValue::Array(entries)) = (key.get_ref().as_ref(), value.get_ref()) else {
            return Err(file.fault(&key.span(), key.get_ref(), "is not known here; write [[drive]] entries"));
        };
        for entry in entries {
            let drive = file.drive(entry)?;
            if drives.iter().any(|other| other.name == drive.name) {
                let why = format!("\"{}\" stands twice; write one entry with all of its sizes", drive.name);
                return Err(file.fault(&entry.span(), "name", why));
            }
            for model in drive.models.iter().chain(drive.sizes.iter().flat_map(|size| &size.parts)) {
                let words: Vec<String> = name::words(model).into_iter().map(|(word, _)| word).collect();
                let owner = names.entry(words.join(" ")).or_insert_with(|| drive.name.clone());
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
        let name = own.text_or("name", "write for example name = \"Samsung 980 PRO\"")?;
        let models = own.models("models")?;
        if models.is_empty() {
            let why = "is missing; write what the kernel or a page calls it: [\"980 PRO\", \"MZ-V8P*\"]";
            return Err(own.wrong("models", why));
        }
        let interface = own.text_or("interface", "write for example interface = \"PCIe 4.0 x4\"")?;
        let interface = interface_of(&interface).ok_or_else(|| {
            own.wrong("interface", "is none that is known; write PCIe 4.0 x4, SATA 6 Gb/s or SAS 12 Gb/s")
        })?;
        let media = own.text_or("media", "write media = \"TLC\", or QLC, MLC, SLC, Optane, HDD")?;
        let media = Medium::ALL.iter().find(|(_, name)| *name == media).map(|(medium, _)| *medium);
        let media = media.ok_or_else(|| {
            own.wrong("media", "is none that is known; write QLC, TLC, MLC, SLC, Optane or HDD")
        })?;
        let rpm = own.rpm()?;
        if rpm.is_some() != (media == Medium::Hdd) {
            let why = "belongs to media = \"HDD\", and only there; write rpm = 7200 for a disk, nothing else";
            return Err(own.wrong("rpm", why));
        }
        const WRITES: &str = "write burst where the figures are of a cache of SLC, else sustained";
        let writes = match own.text_or("writes", WRITES)?.as_str() {
            "burst" => Writes::Burst,
            "sustained" => Writes::Sustained,
            _ => return Err(own.wrong("writes", format!("is neither; {WRITES}"))),
        };
        let source = own.text_or("source", "write which data sheet, its revision or date")?;
        let sizes = own.sizes(interface)?;
        Ok(Drive { name, models, interface, media, rpm, writes, source, sizes })
    }

    fn size(&self, value: &Spanned<DeValue>, interface: Link) -> Result<Size, Fault> {
        let DeValue::Table(table) = value.get_ref() else {
            let why = "is no list of { capacity = \"1TB\", read = \"7000MB/s\" }";
            return Err(self.fault(&value.span(), "sizes", why));
        };
        let others = OTHERS.map(|(key, _)| key);
        let rated = Rated::ALL.map(|(_, key)| key);
        let known: Vec<&str> = ["capacity", "parts"].into_iter().chain(others).chain(rated).collect();
        self.only(table, &known)?;
        let own = Entry { file: self, table, span: value.span() };
        OTHERS.iter().try_for_each(|(key, kind)| own.figure(key, *kind).map(drop))?;
        let mut size = Size {
            capacity: own.figure("capacity", Kind::Bytes)?,
            parts: own.models("parts")?,
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
        match size.figures.iter().all(Option::is_none) {
            true => Err(own.fault("has no figure; write for example read = \"7000MB/s\"")),
            false => Ok(size),
        }
    }
}

impl Entry<'_> {
    /// What is wrong with a size as a whole.
    fn fault(&self, why: &str) -> Fault {
        self.file.fault(&self.span, "sizes", why)
    }

    fn rpm(&self) -> Result<Option<u32>, Fault> {
        let rpm = match self.table.get("rpm").map(Spanned::get_ref) {
            None => return Ok(None),
            Some(DeValue::Integer(number)) => number.as_str().parse().ok(),
            Some(_) => None,
        };
        let known = rpm.filter(|rpm| (3600..=15_000).contains(rpm));
        known.map(Some).ok_or_else(|| self.wrong("rpm", "is not from 3600 to 15000; write for example 7200"))
    }

    /// A list of names; empty where the key is absent.
    fn models(&self, key: &str) -> Result<Vec<String>, Fault> {
        match self.table.get(key).map(Spanned::get_ref) {
            Some(DeValue::Array(listed)) => listed.iter().map(|one| self.model(key, one)).collect(),
            None => Ok(Vec::new()),
            Some(_) => {
                Err(self.wrong(key, "is no list of names; write for example [\"980 PRO\", \"MZ-V8P*\"]"))
            }
        }
    }

    /// A name that other words are hardly taken for: four letters and digits, a digit among fewer than seven.
    fn model(&self, key: &str, one: &Spanned<DeValue>) -> Result<String, Fault> {
        let DeValue::String(text) = one.get_ref() else {
            let why = "has something that is no text in quotes; write for example [\"980 PRO\"]";
            return Err(self.file.fault(&one.span(), key, why));
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
        let (units, example): (&[Unit], &str) = match kind {
            Kind::PerSecond => (&[Unit::Bare, Unit::PerSecond], "1000k"),
            Kind::BytesPerSecond => (&[Unit::BytesPerSecond], "7000MB/s"),
            Kind::Bytes => (&[Unit::Bytes], "1.92TB"),
            Kind::Time => (&[Unit::Nanoseconds], "80us"),
        };
        let read = number::quantities(0, text);
        let [one] = read.as_slice() else { return Err(self.unread(key, text, example)) };
        let spot = one.figure.spot;
        let whole = spot.start == 0 && spot.end as usize == text.trim_end().len();
        match whole && units.contains(&one.unit) && one.figure.value > 0.0 {
            true => Ok(Some(one.figure.value)),
            false => Err(self.unread(key, text, example)),
        }
    }

    fn unread(&self, key: &str, text: &str, example: &str) -> Fault {
        self.wrong(key, format!("\"{text}\" is not read; write for example \"{example}\""))
    }

    fn sizes(&self, interface: Link) -> Result<Vec<Size>, Fault> {
        let missing = "is missing; write sizes = [{ capacity = \"1TB\", read = \"7000MB/s\" }]";
        let Some(DeValue::Array(listed)) = self.table.get("sizes").map(Spanned::get_ref) else {
            return Err(self.wrong("sizes", missing));
        };
        let sizes: Vec<Size> =
            listed.iter().map(|one| self.file.size(one, interface)).collect::<Result<_, _>>()?;
        let without = sizes.iter().any(|size| size.capacity.is_none());
        match sizes.len() {
            0 => Err(self.wrong("sizes", missing)),
            2.. if without => {
                let why = "one of several has no capacity; write for example capacity = \"1TB\" in each";
                Err(self.wrong("sizes", why))
            }
            _ => Ok(sizes),
        }
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
