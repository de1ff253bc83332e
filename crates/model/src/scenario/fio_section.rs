//! Reads a section of a fio job file: which keys the generator of iotax honours, which are left to
//! the installed fio, and which have no effect. Refuses the others, each with its line.

use super::draft::JobDraft;
use super::error::{Fault, InputError};
use super::fio::{FioSection, Pair};
use super::fio_job::{FioEngine, FioJob};
use super::fio_keys::{NOTED, known_keys, refusal};
use super::jobfile::{Notes, unknown_key};
use super::sweep;
use super::values::{Dialect, Extent, parse_rw};
use super::words::{JobWords, canonical};
use iotax_load::{Job, MAX_RATE, Rw, Stride, WriteSync, fio_options};
use iotax_units::fio::fio_number;

/// Reads a section, and adds all that is wrong with it to `faults`. `None`: there is no job
/// without that.
pub(super) fn read_section(
    section: &FioSection,
    notes: &mut Notes,
    faults: &mut Vec<InputError>,
) -> Option<FioJob> {
    let mut reader = SectionReader::new(section, notes);
    for pair in &section.pairs {
        if let Err(error) = reader.take_pair(pair) {
            faults.push(error);
        }
    }
    let draft = reader.draft(faults)?;
    match reader.job(draft) {
        Ok(job) => Some(job),
        Err(error) => {
            faults.push(error);
            None
        }
    }
}

/// An option that the generator of iotax does not honour and fio does.
pub(super) struct FioWish {
    pub(super) key: &'static str,
    /// `key=value` as fio gets it.
    pub(super) option: String,
    pub(super) pair: Pair,
}

impl FioWish {
    fn from_pair(pair: &Pair) -> Result<FioWish, InputError> {
        let value = pair.value.as_deref().unwrap_or("1");
        fio_options::check_value(value).map_err(|why| {
            pair.error(Fault::hint(why, "write letters, digits and ./:,-_+% only"))
        })?;
        Ok(FioWish { key: pair.key, option: format!("{}={value}", pair.key), pair: pair.clone() })
    }

    fn value(&self) -> &str {
        self.option.split_once('=').map_or("", |(_, value)| value)
    }
}

/// A section while its lines are read.
struct SectionReader<'a> {
    section: &'a FioSection,
    notes: &'a mut Notes,
    words: JobWords,
    wishes: Vec<FioWish>,
    name: String,
    stonewall: bool,
    wait_for: Option<Pair>,
    engine: FioEngine,
    ioengine: Option<Pair>,
    rw: Rw,
    kb_base_1000: bool,
    filesize: Option<Pair>,
    rate: Option<Pair>,
}

impl<'a> SectionReader<'a> {
    fn new(section: &'a FioSection, notes: &'a mut Notes) -> SectionReader<'a> {
        let value = |key: &str| {
            let pair = section.pairs.iter().find(|pair| pair.key == key)?;
            pair.value.as_deref()
        };
        let base = value("rw").and_then(|rw| rw.split(':').next());
        let rw = base.and_then(|word| parse_rw(word, Dialect::Fio).ok()).unwrap_or(Rw::Read);
        let kb_base_1000 = value("kb_base") == Some("1000");
        SectionReader {
            section,
            notes,
            words: JobWords::default(),
            wishes: Vec::new(),
            name: section.name.clone(),
            stonewall: false,
            wait_for: None,
            engine: FioEngine::Sync,
            ioengine: None,
            rw,
            kb_base_1000,
            filesize: None,
            rate: None,
        }
    }

    fn take_pair(&mut self, pair: &Pair) -> Result<(), InputError> {
        let key = pair.key;
        match key {
            "stonewall" => self.stonewall = pair.flag()?,
            "wait_for" => self.wait_for = Some(pair.clone()),
            "name" => self.name = pair.required_value()?.to_owned(),
            // A flag of fio without a value.
            "norandommap" => self.set_word(key, if pair.flag()? { "1" } else { "0" }, pair),
            "do_verify" if pair.flag()? => {}
            "ioengine" => self.take_engine(pair)?,
            "cpumask" => self.set_word("cpus_allowed", &cpus_of_mask(pair)?, pair),
            "zero_buffers" if pair.flag()? => {
                self.set_word("buffer_compress_percentage", "100", pair);
            }
            "zero_buffers" => {}
            "filesize" => self.filesize = Some(pair.clone()),
            "rate" => self.rate = Some(pair.clone()),
            "kb_base" if matches!(pair.required_value()?, "1000" | "1024") => {}
            "kb_base" => return Err(pair.error(Fault::new("is neither 1000 nor 1024"))),
            "rw" if pair.required_value()?.contains(':') => {
                let base = pair.required_value()?.split(':').next().unwrap_or_default();
                self.set_word(key, base, pair);
                self.wishes.push(FioWish::from_pair(pair)?);
            }
            "?" => return Err(pair.error(unknown_key(&pair.written, &known_keys()))),
            _ => return self.take_other(pair),
        }
        Ok(())
    }

    /// Takes a key whose handling is in a table.
    fn take_other(&mut self, pair: &Pair) -> Result<(), InputError> {
        let (key, value) = (pair.key, pair.value.as_deref());
        if let Some((_, why)) = NOTED.iter().find(|(noted, _)| *noted == key) {
            let line = pair.origin.file_and_line();
            self.notes.add(format!("{line}: \"{}\" has no effect here: {why}", pair.text()));
            return Ok(());
        }
        if let Some(fault) = refusal(key, value) {
            return Err(pair.error(fault));
        }
        let option = fio_options::find(key);
        if canonical(key).is_some() && !needs_fio(key, pair.required_value()?, self.rw) {
            let value = self.fios_value(pair)?;
            sweep::refuse_in_job_file(key, &value).map_err(|fault| pair.error(fault))?;
            self.set_word(&pair.written, &value, pair);
        } else if option.is_some_and(|option| !option.harmless.contains(&value.unwrap_or("1"))) {
            self.wishes.push(FioWish::from_pair(pair)?);
        }
        Ok(())
    }

    fn set_word(&mut self, key: &str, value: &str, pair: &Pair) {
        self.words.set_word(key, value, &pair.origin);
    }

    fn take_engine(&mut self, pair: &Pair) -> Result<(), InputError> {
        self.engine = FioEngine::from_pair(pair)?;
        self.ioengine = Some(pair.clone());
        if self.engine == FioEngine::Other {
            self.wishes.push(FioWish::from_pair(pair)?);
        }
        Ok(())
    }

    /// Returns a value with zones as bytes, `%%` as `%`, and sizes of kb_base=1000 as of 1024.
    fn fios_value(&self, pair: &Pair) -> Result<String, InputError> {
        let value = pair.required_value()?;
        match pair.key {
            "size" | "offset" | "offset_increment" | "bs" => {}
            _ => return Ok(value.to_owned()),
        }
        if let Some(zones) = value.strip_suffix('z').and_then(|zones| zones.parse::<u64>().ok()) {
            let size = self.section.pairs.iter().find(|pair| pair.key == "zonesize");
            let size = size.and_then(|size| self.number(size.value.as_deref()?));
            let bytes = size.and_then(|size| size.checked_mul(zones));
            let hint = "write zonesize=SIZE, or bytes";
            let fault = Fault::hint(format!("\"{value}\" is in zones of an unknown size"), hint);
            return bytes.map(|bytes| bytes.to_string()).ok_or_else(|| pair.error(fault));
        }
        let value = value.replace("%%", "%");
        Ok(if self.kb_base_1000 { other_base(&value) } else { value })
    }

    fn number(&self, word: &str) -> Option<u64> {
        fio_number(&if self.kb_base_1000 { other_base(word) } else { word.to_owned() })
    }

    /// Returns the draft of the words, and adds every word that is refused to `faults`.
    fn draft(&mut self, faults: &mut Vec<InputError>) -> Option<JobDraft> {
        loop {
            match self.words.draft(Dialect::Fio) {
                Ok(draft) => return Some(draft),
                Err(error) => {
                    let known = error.key.as_ref().is_some_and(|key| self.words.remove_word(key));
                    faults.push(error);
                    if !known {
                        return None;
                    }
                }
            }
        }
    }

    fn job(mut self, mut draft: JobDraft) -> Result<FioJob, InputError> {
        draft.job.name.clone_from(&self.name);
        self.settle_rate(&mut draft.job)?;
        self.settle_zones(&mut draft.job)?;
        self.settle_region(&mut draft)?;
        self.settle_verify(&mut draft.job);
        if !draft.job.rw.writes_data() {
            draft.job.sync = WriteSync::None;
        }
        if !self.kb_base_1000 {
            self.words.thousands().for_each(|note| self.notes.add(note));
        }
        let verify = self.words.written_word("verify");
        let job = FioJob {
            section: self.section.name.clone(),
            draft,
            stonewall: self.stonewall,
            wait_for: self.wait_for,
            engine: self.engine,
            ioengine: self.ioengine,
            wishes: self.wishes,
            verify: verify.map(|(value, origin)| (value.to_owned(), origin.clone())),
            kb_base_1000: self.kb_base_1000,
            origin: self.section.origin.clone(),
        };
        Ok(job.like_fio(self.notes))
    }

    fn wish(&self, key: &str) -> Option<&FioWish> {
        self.wishes.iter().find(|wish| wish.key == key)
    }

    fn has_one_size(&self) -> bool {
        !["bs", "bssplit", "bsrange"].iter().any(|key| self.wish(key).is_some())
    }

    /// Turns `rate`, in bytes per second, into I/Os per second if these are a whole number and of
    /// one direction; leaves it to fio otherwise.
    fn settle_rate(&mut self, job: &mut Job) -> Result<(), InputError> {
        let Some(pair) = self.rate.take() else { return Ok(()) };
        let text = pair.required_value()?;
        let parts: Vec<Option<u64>> =
            text.split(',').map(|part| self.number(part.trim())).collect();
        let at = usize::from(!job.rw.reads()) + usize::from(job.rw.trims());
        let bytes = parts.get(at).or(parts.last()).copied().flatten();
        let bad = || Fault::hint(format!("\"{text}\" is no rate in bytes"), "write rate=20m");
        if parts.iter().all(Option::is_none) || parts.len() > 3 {
            return Err(pair.error(bad()));
        }
        let two_ways = job.rw.reads() && job.rw.writes() || job.rw.trims() && job.rw.writes_data();
        match bytes {
            Some(0) if !two_ways => {}
            Some(bytes)
                if !two_ways
                    && self.has_one_size()
                    && job.rate_iops.is_none()
                    && bytes % job.bs == 0
                    && bytes / job.bs <= MAX_RATE =>
            {
                job.rate_iops = Some(bytes / job.bs);
                self.notes.add(format!(
                    "{}: \"{}\": {} I/Os of its block size per second",
                    pair.origin.file_and_line(),
                    pair.text(),
                    bytes / job.bs
                ));
            }
            _ => self.wishes.push(FioWish::from_pair(&pair)?),
        }
        Ok(())
    }

    /// Makes a stride of the zones of a sequential job if they are whole blocks; leaves all other
    /// zones to fio.
    fn settle_zones(&mut self, job: &mut Job) -> Result<(), InputError> {
        let size = |key| self.wish(key).and_then(|wish| self.number(wish.value()));
        let (zone, range) = (size("zonesize"), size("zonerange"));
        let skip = size("zoneskip").unwrap_or(0);
        let mode = self.section.pairs.iter().find(|pair| pair.key == "zonemode");
        let mode = mode.and_then(|pair| pair.value.as_deref());
        let strided = mode == Some("strided") || mode.is_none() && zone.is_some();
        let whole = zone.filter(|zone| *zone > 0 && zone % job.bs == 0 && skip % job.bs == 0);
        let ours = strided
            && !job.rw.random()
            && self.has_one_size()
            && range.is_none_or(|range| Some(range) == zone);
        let none = matches!(mode, None | Some("none")) && !strided;
        match whole.filter(|_| ours) {
            Some(zone) => job.stride = Some(Stride { zone, skip }),
            None if none => {}
            None => return Ok(()),
        }
        self.wishes.retain(|wish| !wish.key.starts_with("zone"));
        Ok(())
    }

    /// Limits the region to `filesize` times `nrfiles`.
    fn settle_region(&mut self, draft: &mut JobDraft) -> Result<(), InputError> {
        let Some(pair) = &self.filesize else { return Ok(()) };
        let text = pair.required_value()?;
        let files = self.section.pairs.iter().find(|pair| pair.key == "nrfiles");
        let files = files.and_then(|pair| self.number(pair.value.as_deref()?)).unwrap_or(1);
        let bytes = self.number(text).and_then(|bytes| bytes.checked_mul(files));
        let Some(bytes) = bytes.filter(|bytes| *bytes > 0) else {
            let why = format!("\"{text}\" is no single size, and the target has one");
            return Err(pair.error(Fault::hint(why, "write filesize=SIZE")));
        };
        match draft.size {
            Some(Extent::Percent(_)) => {}
            Some(Extent::Bytes(size)) if size <= bytes => {}
            _ => {
                draft.size = Some(Extent::Bytes(bytes));
                draft.size_origin = Some(pair.origin.clone());
            }
        }
        Ok(())
    }

    /// Leaves out the keys of `verify` in a job that writes no stamps.
    fn settle_verify(&mut self, job: &mut Job) {
        let is_of_verify = |key: &str| key.contains("verify") && key != "trim_verify_zero";
        if job.rw.writes() && (job.verify || self.wish("verify").is_some()) {
            return;
        }
        job.verify = false;
        self.wishes.retain(|wish| !is_of_verify(wish.key));
        let unset = |pair: &&Pair| {
            is_of_verify(pair.key) && !matches!(pair.value.as_deref(), Some("0" | "null"))
        };
        let noted = |pair: &&Pair| NOTED.iter().any(|(key, _)| *key == pair.key);
        for pair in self.section.pairs.iter().filter(unset).filter(|pair| !noted(pair)) {
            self.notes.add(format!(
                "{}: \"{}\" has no effect here: a job verifies what it has written with verify",
                pair.origin.file_and_line(),
                pair.text()
            ));
        }
    }
}

/// Returns true for a value of one of iotax's own words that only fio honours.
fn needs_fio(key: &str, value: &str, rw: Rw) -> bool {
    let both = rw.reads() && rw.writes();
    match key {
        "bs" | "percentage_random" | "rate_iops" => {
            let parts: Vec<&str> = value.split(',').map(str::trim).collect();
            let part = |at: usize| parts.get(at).or(parts.last()).copied().and_then(fio_number);
            let (one, other) = match (both, rw.trims() && rw.writes_data()) {
                (true, _) => (part(0), part(1)),
                (_, true) => (part(1), part(2)),
                _ => return false,
            };
            parts.len() <= 3 && one != other && one.and(other).is_some()
        }
        "random_distribution" => {
            ["zoned", "zoned_abs", "normal", "sequence"]
                .contains(&value.split(':').next().unwrap_or_default())
                || value.matches(':').count() == 2
        }
        "iomem" => matches!(value, "shm" | "shmhuge"),
        "verify" => matches!(value, "pattern" | "pattern_hdr"),
        "continue_on_error" => value == "verify" || both && matches!(value, "read" | "write"),
        _ => false,
    }
}

/// Returns sizes in the notation of kb_base=1024 that fio reads as the same number under
/// kb_base=1000: `4k` is `4KiB`, and `4KiB` is `4k`.
fn other_base(sizes: &str) -> String {
    let other = |size: &str| {
        let lower = size.trim().to_ascii_lowercase();
        let letters = lower.trim_start_matches(|c: char| c.is_ascii_digit());
        let number = &lower[..lower.len() - letters.len()];
        match letters.strip_suffix("ib").or(letters.strip_suffix('b')).unwrap_or(letters) {
            letter if letter.len() != 1 || !"kmgtp".contains(letter) => size.to_owned(),
            letter if letters.ends_with("ib") => format!("{number}{letter}"),
            letter => format!("{number}{letter}ib"),
        }
    };
    sizes.split(',').map(other).collect::<Vec<_>>().join(",")
}

/// Returns the processors of a mask as a list: `3` is `0,1`.
fn cpus_of_mask(pair: &Pair) -> Result<String, InputError> {
    let mask = fio_number(pair.required_value()?).filter(|mask| *mask > 0);
    let fault = Fault::hint("is no mask of processors", "write cpus_allowed=0,2");
    let mask = mask.ok_or_else(|| pair.error(fault))?;
    let cpus = (0..u64::BITS).filter(|cpu| mask >> cpu & 1 == 1);
    Ok(cpus.map(|cpu| cpu.to_string()).collect::<Vec<_>>().join(","))
}
