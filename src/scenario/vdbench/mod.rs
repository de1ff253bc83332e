//! vdbench parameter files of raw I/O as vdbench 5.04 reads them: general keys, then `hd=`, `sd=`, `wd=` and `rd=`
//! definitions, each with defaults for those behind it. Each rd is a workload, and its wds are the jobs that run at
//! once. File-system workloads, replay and data validation are refused.

mod keys;
mod lines;
mod points;
mod runs;
mod values;

use super::error::{Fault, InputError, Origin};
use super::jobfile::{Format, Given, JobFile, Notes};
use keys::{Full, GENERAL, HD, OTHER_KINDS, Part, RD, SD, WD};
use lines::Param;
use std::path::Path;

/// The format's entry in the family.
pub const FORMAT: Format = Format {
    endings: &["vdb", "parm", "vdbench"],
    begins: |line| {
        let (key, rest) = line.split_once('=').unwrap_or_default();
        let definition = [&HD, &SD, &WD, &RD].iter().any(|part| part.name == key)
            || OTHER_KINDS.iter().any(|(other, _)| *other == key);
        let general = GENERAL.full(key).is_some_and(|full| full.word == key);
        !rest.is_empty() && (definition || general || key == "include")
    },
    read,
};

/// Reads a parameter file and what it includes.
///
/// # Errors
/// A file that cannot be read, or the first parameter that cannot be honoured.
pub fn read(path: &Path) -> Result<JobFile, InputError> {
    let mut notes = Notes::default();
    let mut file = Parameters::default();
    for param in lines::params(path, &mut notes)? {
        file.take(param, &mut notes)?;
    }
    if file.rds.entries.is_empty() {
        let fault = Fault::hint("no run (rd)", "write one, such as rd=run1,wd=wd1,iorate=max");
        return Err(InputError::new(path.display().to_string(), fault));
    }
    let mut drafts = Vec::new();
    for rd in &file.rds.entries {
        drafts.extend(runs::drafts(&file, rd, &mut notes)?);
    }
    Ok(JobFile { drafts, notes: notes.sentences })
}

/// A key that is honoured, with what it was written as.
#[derive(Clone, Debug)]
struct Setting {
    full: Full,
    param: Param,
}

/// A definition, its defaults included.
#[derive(Clone, Debug, Default)]
struct Entry {
    name: String,
    origin: Option<Origin>,
    settings: Vec<Setting>,
}

impl Entry {
    /// A later one takes the place of an earlier one, but stands where it was written: loops of an rd nest so.
    fn set(&mut self, setting: Setting) {
        self.settings.retain(|other| other.full.slot != setting.full.slot);
        self.settings.push(setting);
    }

    fn get(&self, slot: &str) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.full.slot == slot)
    }

    fn param(&self, slot: &str) -> Option<&Param> {
        self.get(slot).map(|setting| &setting.param)
    }

    fn origin(&self) -> Origin {
        self.origin.clone().unwrap_or_else(Origin::command_line)
    }
}

/// All definitions of one kind.
#[derive(Default)]
struct Kind {
    /// What those that follow begin with.
    default: Entry,
    entries: Vec<Entry>,
    /// `NAME=default` was read last, so that more keys are defaults.
    at_default: bool,
}

impl Kind {
    fn begin(&mut self, param: &Param) -> Result<(), InputError> {
        let name = param.one()?;
        self.at_default = name == "default";
        if self.at_default {
            return Ok(());
        }
        if self.entries.iter().any(|entry| entry.name == name) {
            let why = format!("a second {}={name}", param.key);
            return Err(param.error(Fault::hint(why, "give each a name of its own")));
        }
        let (name, origin) = (name.to_owned(), Some(param.origin.clone()));
        self.entries.push(Entry { name, origin, settings: self.default.settings.clone() });
        Ok(())
    }

    fn last(&mut self) -> &mut Entry {
        match self.entries.last_mut() {
            Some(entry) if !self.at_default => entry,
            _ => &mut self.default,
        }
    }
}

/// What a parameter file says, as far as it is read.
struct Parameters {
    /// Where the next parameter belongs: lines have no meaning to vdbench, only the order of parameters has.
    part: &'static Part,
    general: Entry,
    sds: Kind,
    wds: Kind,
    rds: Kind,
}

impl Default for Parameters {
    fn default() -> Self {
        Parameters {
            part: &GENERAL,
            general: Entry::default(),
            sds: Kind::default(),
            wds: Kind::default(),
            rds: Kind::default(),
        }
    }
}

impl Parameters {
    fn take(&mut self, param: Param, notes: &mut Notes) -> Result<(), InputError> {
        if let Some(part) = self.begins(&param.key) {
            self.part = part;
            return match self.kind() {
                Some(kind) => kind.begin(&param),
                None => {
                    notes.add(format!(
                        "{}: \"{}\": the load runs where the stack is",
                        param.origin.line(),
                        param.text()
                    ));
                    Ok(())
                }
            };
        }
        if let Some((_, why)) = OTHER_KINDS.iter().find(|(other, _)| *other == param.key) {
            let fault = Fault::hint(format!("cannot be honoured: {why}"), "write sd=, wd= and rd=");
            return Err(param.error(fault));
        }
        let part = self.part;
        let full = part.full(&param.key).ok_or_else(|| param.error(part.unknown(&param.key)))?;
        let (value, origin) = (Some(param.value.as_str()), &param.origin);
        let given = Given { key: full.word, written: &param.key, value, origin };
        if part.unused.place(&given, notes)? {
            return Ok(());
        }
        self.set(Setting { full, param })
    }

    /// The kind of definition that a key begins here: behind the first wd, `sd=` says which SDs it is for.
    fn begins(&self, key: &str) -> Option<&'static Part> {
        let host = [GENERAL.name, HD.name].contains(&self.part.name);
        let kinds: &[&'static Part] = match self.part.name {
            "rd" => &[&RD],
            "wd" => &[&WD, &RD],
            _ => &[&SD, &WD, &RD],
        };
        let kind = kinds.iter().copied().find(|part| part.name == key);
        kind.or_else(|| (host && ["hd", "host"].contains(&key)).then_some(&HD))
    }

    fn kind(&mut self) -> Option<&mut Kind> {
        match self.part.name {
            "sd" => Some(&mut self.sds),
            "wd" => Some(&mut self.wds),
            "rd" => Some(&mut self.rds),
            _ => None,
        }
    }

    fn set(&mut self, setting: Setting) -> Result<(), InputError> {
        let rd = self.part.name == RD.name;
        let entry = match self.kind() {
            Some(kind) => kind.last(),
            None => &mut self.general,
        };
        if rd && setting.full.slot == "wd" && entry.get("wd").is_some() {
            let hint = "write all of them in one list: wd=(wd1,wd2)";
            return Err(setting.param.error(Fault::hint("a second wd= of one rd", hint)));
        }
        entry.set(setting);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
