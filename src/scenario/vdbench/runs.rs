//! An rd as workloads: its wds as jobs, a workload for every point of its lists (points.rs). What
//! vdbench shares out among wds and SDs (threads, rates) is shared out here in the same way, or refused.

use super::super::draft::{Draft, JobDraft, Keys};
use super::super::error::{Fault, InputError, Origin};
use super::super::jobfile::Notes;
use super::super::values::{Extent, paced};
use super::lines::Param;
use super::points::{Point, Value, is_negative, points, ratio, seeks, threads_of};
use super::values::{block, matches, names, number, one, percent, whole};
use super::{Entry, Parameters, Setting};
use iotax_load::{Job, Rw};
use std::borrow::Cow;
use std::collections::BTreeSet;

/// The workloads of an rd.
pub(super) fn drafts(file: &Parameters, rd: &Entry, notes: &mut Notes) -> Result<Vec<Draft>, InputError> {
    let run = Run { file, rd, teams: teams(file, rd)? };
    run.note_targets(notes);
    points(rd)?.iter().map(|point| run.draft(point, notes)).collect()
}

/// A wd with the SDs that it is for.
struct Team<'a> {
    wd: Cow<'a, Entry>,
    sds: Vec<&'a Entry>,
}

fn teams<'a>(file: &'a Parameters, rd: &'a Entry) -> Result<Vec<Team<'a>>, InputError> {
    let chosen = rd.param("sd");
    let wds: Vec<Cow<Entry>> = match (rd.param("wd"), chosen) {
        (Some(wd), _) => found(wd, &file.wds.entries)?.into_iter().map(Cow::Borrowed).collect(),
        // As vdbench does: the SDs are loaded as wd=default says.
        (None, Some(_)) => {
            let (name, origin) = (rd.name.clone(), rd.origin.clone());
            vec![Cow::Owned(Entry { name, origin, ..file.wds.default.clone() })]
        }
        (None, None) => {
            let fault = Fault::hint("no wd= and no sd=", "write which wd= it runs");
            return Err(rd.origin().error("rd", fault));
        }
    };
    let with_sds = |wd: Cow<'a, Entry>| {
        let param = chosen.or_else(|| wd.param("sd")).ok_or_else(|| {
            let why = format!("wd={} names no sd=", wd.name);
            wd.origin().error("wd", Fault::hint(why, "write sd=* for all of them"))
        })?;
        let sds = found(param, &file.sds.entries)?;
        Ok(Team { sds, wd })
    };
    wds.into_iter().map(with_sds).collect()
}

/// The entries that a list of names and wildcards means, in their order.
fn found<'a>(param: &Param, entries: &'a [Entry]) -> Result<Vec<&'a Entry>, InputError> {
    let mut found: Vec<&Entry> = Vec::new();
    for name in names(param)? {
        let before = found.len();
        for entry in entries.iter().filter(|entry| matches(&name, &entry.name)) {
            if found.iter().any(|other| other.name == entry.name) {
                return Err(param.error(Fault::hint(format!("\"{}\" twice", entry.name), "name it once")));
            }
            found.push(entry);
        }
        if found.len() == before {
            let known: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
            return Err(param.error(Fault::unknown(&param.key, &name, &known)));
        }
    }
    Ok(found)
}

/// An rd with what it runs.
struct Run<'a> {
    file: &'a Parameters,
    rd: &'a Entry,
    teams: Vec<Team<'a>>,
}

/// How wds divide SDs among them.
#[derive(Clone, Copy, PartialEq)]
enum Sharing {
    /// Each has its own.
    Apart,
    /// All have the same: threads are an SD's, and take the I/Os of every wd.
    Together,
}

impl Run<'_> {
    fn draft(&self, point: &Point, notes: &mut Notes) -> Result<Draft, InputError> {
        let rates = self.rates(point, notes)?;
        let mut jobs = Vec::new();
        for (team, rate) in self.teams.iter().zip(rates) {
            jobs.push(self.job(team, point, rate, notes)?);
        }
        let differs = |job: &&JobDraft| job.job.direct != jobs[0].job.direct;
        match jobs.iter().find(differs) {
            Some(other) if self.sharing()? == Sharing::Together => {
                let why = format!(
                    "wd={} and wd={} differ in openflags, and vdbench opens an SD once",
                    jobs[0].job.name, other.job.name
                );
                let fault = Fault::hint(why, "write openflags= of the sd or the rd");
                return Err(self.rd.origin().error("rd", fault));
            }
            _ => {}
        }
        let name = format!("{}{}", self.rd.name, point.suffix);
        Ok(Draft { name, jobs, engine: None, sweep: None })
    }

    fn job(
        &self,
        team: &Team,
        point: &Point,
        rate: Option<u64>,
        notes: &mut Notes,
    ) -> Result<JobDraft, InputError> {
        let xfersize = match point.find(|value| if let Value::Xfersize(b) = value { Some(b) } else { None }) {
            Some(bytes) => bytes,
            None => team.wd.param("xfersize").map_or(Ok(4096), xfersize)?,
        };
        let rdpct =
            match point.find(|value| if let Value::Rdpct(percent) = value { Some(percent) } else { None }) {
                Some(percent) => percent,
                None => team.wd.get("rdpct").map_or(Ok(100), rdpct)?,
            };
        let seekpct = self.seekpct(team, point, rdpct, notes)?;
        let (size, offset) = self.region(team, xfersize)?;
        let named = |slot: &str| self.rd.param(slot).or_else(|| team.wd.param(slot));
        let region = self.region_param(team, "range");
        let draft = JobDraft {
            size_origin: region.or_else(|| self.region_param(team, "size")).map(|param| param.origin.clone()),
            offset_origin: self.region_param(team, "offset").map(|param| param.origin.clone()),
            rw_origin: None,
            increment: None,
            increment_origin: None,
            bs_origin: Some(named("xfersize").map_or_else(|| self.rd.origin(), |param| param.origin.clone())),
            iodepth_origin: Some(self.threads_origin(team)),
            keys: Keys {
                bs: "xfersize",
                size: if region.is_some() { "range" } else { "size" },
                offset: "offset",
                iodepth: "threads",
                buffered: "no openflags=",
            },
            job: Job {
                name: team.wd.name.clone(),
                rw: direction(rdpct, seekpct),
                rwmixread: rdpct,
                bs: xfersize,
                // As many in flight as vdbench has threads, which share one sequential pass through the region:
                // threads of iotax, as fio's, would each make a pass of their own.
                iodepth: self.threads(team, point, rate, notes)?,
                numjobs: 1,
                percentage_random: seekpct,
                direct: self.direct(team, notes)?,
                rate_iops: rate,
                buffer_compress_percentage: self.compressible(point, notes)?,
                ..Job::default()
            },
            size,
            offset,
        };
        draft.check_block()?;
        Ok(draft)
    }

    fn seekpct(&self, team: &Team, point: &Point, rdpct: u8, notes: &mut Notes) -> Result<u8, InputError> {
        let param = self.rd.param("seekpct").or_else(|| team.wd.param("seekpct"));
        let looped =
            point.find(|value| if let Value::Seekpct(percent) = value { Some(percent) } else { None });
        let Some(param) = param else { return Ok(100) };
        let seekpct = match looped {
            Some(percent) => percent,
            None => seeks(param, param.values().as_slice())?,
        };
        let at = format!("{}: \"{}\"", param.origin.line(), param.text());
        if param.values().iter().any(|word| *word == "eof" || is_negative(word)) {
            notes.add(format!("{at}: the pass begins again at its end, where vdbench ends the run: how long is measured is said by [measure]"));
        }
        match seekpct {
            1..=99 => notes.add(format!(
                "{at}: sequential I/Os go on behind the last read or write, as fio's do; vdbench's go on where the last sequential one ended"
            )),
            0 if !matches!(rdpct, 0 | 100) => notes.add(format!(
                "{at}: job \"{}\": reads and writes make a sequential pass each, as fio's do; vdbench's make one together",
                team.wd.name
            )),
            _ => {}
        }
        Ok(seekpct)
    }

    /// Flags of the rd go before those of the wd, and those before the SD's.
    fn direct(&self, team: &Team, notes: &mut Notes) -> Result<bool, InputError> {
        let own = self.rd.param("openflags").or_else(|| team.wd.param("openflags"));
        let flags = match own {
            Some(param) => Some(param),
            None => alike(team, "openflags")?,
        };
        for flag in flags.iter().flat_map(|param| param.values().into_iter().map(move |flag| (param, flag))) {
            check_flag(flag.0, flag.1)?;
        }
        let direct = flags.is_some();
        if !direct {
            notes.page_cache(&self.rd.origin(), &team.wd.name, "no openflags=o_direct");
        }
        Ok(direct)
    }

    fn compressible(&self, point: &Point, notes: &mut Notes) -> Result<u8, InputError> {
        let general = self.file.general.get("compratio");
        let Some(setting) = self.rd.get("compratio").or(general) else { return Ok(0) };
        let param = &setting.param;
        let looped = point.find(|value| if let Value::Compratio(ratio) = value { Some(ratio) } else { None });
        let ratio = match looped {
            Some(ratio) => ratio,
            None => ratio(setting.full.word, one(param)?).map_err(|fault| param.error(fault))?,
        };
        let exact = 100.0 * (1.0 - 1.0 / ratio);
        let rounded = percent(exact.round()).map_err(|fault| param.error(fault))?;
        if (exact - f64::from(rounded)).abs() > 1e-6 {
            let at = param.origin.line();
            notes.add(format!(
                "{at}: \"{}\": {ratio} to 1 is {exact:.2} % less, rounded to {rounded} %",
                param.text()
            ));
        }
        Ok(rounded)
    }

    fn sharing(&self) -> Result<Sharing, InputError> {
        let names = |team: &Team| -> BTreeSet<String> { team.sds.iter().map(|sd| sd.name.clone()).collect() };
        let sets: Vec<BTreeSet<String>> = self.teams.iter().map(names).collect();
        let pairs =
            || sets.iter().enumerate().flat_map(|(n, one)| sets[..n].iter().map(move |other| (one, other)));
        if pairs().all(|(one, other)| one.is_disjoint(other)) {
            return Ok(Sharing::Apart);
        }
        if pairs().all(|(one, other)| one == other) {
            return Ok(Sharing::Together);
        }
        let fault = Fault::hint(
            "its wds have some SDs in common and others not, so that threads are shared in part",
            "give all of them the same SDs, or each its own",
        );
        Err(self.rd.origin().error("rd", fault))
    }

    fn threads_origin(&self, team: &Team) -> Origin {
        let sds = team.sds.iter().find_map(|sd| sd.param("threads"));
        self.rd.param("threads").or(sds).map_or_else(|| self.rd.origin(), |param| param.origin.clone())
    }

    /// In flight for this wd on one SD: the SD's threads, which several wds share.
    fn threads(
        &self,
        team: &Team,
        point: &Point,
        rate: Option<u64>,
        notes: &mut Notes,
    ) -> Result<u32, InputError> {
        let looped =
            point.find(|value| if let Value::Threads(threads) = value { Some(threads) } else { None });
        let all = match (looped, alike(team, "threads")) {
            (Some(threads), _) => threads,
            (None, param) => match param? {
                Some(param) => threads_of(one(param)?).map_err(|fault| param.error(fault))?,
                None => 8,
            },
        };
        let wds = u32::try_from(self.teams.len()).unwrap_or(u32::MAX);
        if wds < 2 || self.sharing()? == Sharing::Apart {
            return Ok(all);
        }
        let line = self.rd.origin().line();
        if rate.is_some() {
            notes.add(format!(
                "{line}: {wds} wds share {all} threads of an SD in vdbench; here each has up to {all} I/Os in flight to keep its rate"
            ));
            return Ok(all);
        }
        if all % wds != 0 {
            let why = format!("{wds} wds share {all} threads of an SD, which does not come out even");
            let hint = format!("write threads= as a multiple of {wds}");
            return Err(self.threads_origin(team).error("threads", Fault::hint(why, hint)));
        }
        notes.add(format!(
            "{line}: {wds} wds share {all} threads of an SD: here each has {} I/Os in flight; in vdbench a free thread takes whichever is next, so shares of the rate may differ",
            all / wds
        ));
        Ok(all / wds)
    }

    /// I/Os a second of each wd on one SD; `None`: as fast as it goes.
    fn rates(&self, point: &Point, notes: &mut Notes) -> Result<Vec<Option<u64>>, InputError> {
        let rate =
            point.find(|value| if let Value::Rate(rate) = value { Some(rate) } else { None }).flatten();
        let skews = self.teams.iter().map(|team| team.wd.param("skew").map(one).transpose());
        // A share of 0 is none that is named.
        let skews = skews.map(|skew| skew.map(|skew| skew.filter(|skew| *skew > 0.0)));
        let skews = skews.collect::<Result<Vec<Option<f64>>, InputError>>()?;
        let skewed = self.teams.iter().find_map(|team| team.wd.param("skew"));
        let shares = shares(&skews).map_err(|fault| match skewed {
            Some(param) => param.error(fault),
            None => self.rd.origin().error("rd", fault),
        })?;
        let Some(rate) = rate else {
            return match skewed {
                Some(param) if self.teams.len() > 1 => Err(param.error(Fault::hint(
                    "cannot be honoured at iorate=max: jobs that run as fast as they go keep no shares",
                    "write iorate=N of the rd with distribution=deterministic",
                ))),
                _ => {
                    self.note_distribution(notes);
                    Ok(vec![None; self.teams.len()])
                }
            };
        };
        self.check_distribution()?;
        let each = |(team, share): (&Team, f64)| self.rate_of(team, rate * share / 100.0, notes).map(Some);
        self.teams.iter().zip(shares).map(each).collect()
    }

    fn rate_of(&self, team: &Team, rate: f64, notes: &mut Notes) -> Result<u64, InputError> {
        let param = self.rd.param("iorate");
        let origin = param.map_or_else(|| self.rd.origin(), |param| param.origin.clone());
        let sds = u32::try_from(team.sds.len()).unwrap_or(u32::MAX);
        let exact = rate / f64::from(sds);
        if exact.round() < 1.0 {
            let why = format!("{exact} I/Os a second for wd={} on one SD", team.wd.name);
            return Err(origin.error("iorate", Fault::hint(why, "write a larger rate")));
        }
        let rounded = paced(exact.round() as u64).map_err(|fault| origin.error("iorate", fault))?;
        let (line, wd) = (origin.line(), &team.wd.name);
        if sds > 1 {
            notes.add(format!(
                "{line}: job \"{wd}\": {rate} I/Os a second over {sds} SDs are {rounded} here, on one target"
            ));
        } else if (exact - exact.round()).abs() > 1e-6 {
            notes.add(format!("{line}: job \"{wd}\": {exact} I/Os a second are rounded to {rounded}"));
        }
        Ok(rounded)
    }

    fn note_distribution(&self, notes: &mut Notes) {
        if let Some(param) = self.rd.param("distribution") {
            let (at, text) = (param.origin.line(), param.text());
            notes.add(format!(
                "{at}: \"{text}\" has no effect here: it acts only on rates, not on iorate=max"
            ));
        }
    }

    /// iotax's schedule is even.
    fn check_distribution(&self) -> Result<(), InputError> {
        let param = self.rd.param("distribution");
        let words = param.map(Param::values).unwrap_or_default();
        match words.as_slice() {
            [word] if "deterministic".starts_with(&word.to_lowercase()) => return Ok(()),
            _ => {}
        }
        let hint = "write distribution=deterministic if they may begin at even intervals, as iotax's do";
        let fault = |why: &str| Fault::hint(why, hint);
        Err(match (param, self.rd.param("iorate")) {
            (Some(param), _) => param.error(fault("cannot be honoured: it changes when I/Os are issued")),
            (None, Some(rate)) => rate.error(fault(
                "I/Os of a rate begin at exponential intervals in vdbench, where nothing else is said",
            )),
            (None, None) => self.rd.origin().error("rd", fault("no iorate=")),
        })
    }

    fn region_param<'b>(&'b self, team: &'b Team, slot: &str) -> Option<&'b Param> {
        let own = team.wd.param(slot).filter(|_| slot == "range");
        own.or_else(|| team.sds.iter().find_map(|sd| sd.param(slot)))
    }

    /// Size and offset of the region, as vdbench makes them of range, size and offset.
    fn region(&self, team: &Team, bs: u64) -> Result<(Option<Extent>, Option<Extent>), InputError> {
        let bytes = |param: Option<&Param>| -> Result<Option<u64>, InputError> {
            let Some(param) = param else { return Ok(None) };
            let number = one(param)?;
            whole(number, 0, u64::MAX).map(Some).map_err(|fault| param.error(fault))
        };
        let (size_param, offset_param) = (alike(team, "size")?, alike(team, "offset")?);
        let (size, offset) = (bytes(size_param)?, bytes(offset_param)?.unwrap_or(0));
        let own = team.wd.param("range");
        let range_param = match own {
            Some(param) => Some(param),
            None => alike(team, "range")?,
        };
        let range = range_param.map(range).transpose()?;
        if let (Some(param), false) = (offset_param, offset % 512 == 0) {
            return Err(param.error(Fault::new(format!("{offset} is not a multiple of 512"))));
        }
        let down = |bytes: u64| bytes - bytes % bs;
        let (low, high) = match (range, size) {
            (None, None) if offset == 0 => return Ok((None, None)),
            (None, None) => return Ok((None, Some(Extent::Bytes(offset)))),
            (None, Some(size)) => (0, size),
            (Some(Range::Bytes(low, high)), size) if size.is_none_or(|size| high <= size) => (low, high),
            (Some(Range::Bytes(..)), _) => {
                let param = range_param.map_or_else(|| self.rd.origin(), |param| param.origin.clone());
                return Err(
                    param.error("range", Fault::hint("it ends behind size= of the sd", "make it smaller"))
                );
            }
            (Some(Range::Percent(low, high)), Some(size)) => (share(size, low), share(size, high)),
            (Some(Range::Percent(low, high)), None) if offset == 0 => {
                return Ok((Some(Extent::Percent(high - low)), Some(Extent::Percent(low))));
            }
            (Some(Range::Percent(0, 100)), None) => return Ok((None, Some(Extent::Bytes(offset)))),
            (Some(Range::Percent(..)), None) => {
                let fault =
                    Fault::hint("a percentage beside offset=", "write both in bytes, or size= of the sd");
                return Err(range_param
                    .map_or_else(|| self.rd.origin(), |p| p.origin.clone())
                    .error("range", fault));
            }
        };
        let (from, to) = (down(low) + offset, down(high));
        if from + bs > to {
            let param = range_param.or(size_param).or(offset_param);
            let fault = Fault::hint(format!("the region holds no block of {bs} bytes"), "make it larger");
            return Err(param.map_or_else(
                || self.rd.origin().error("rd", fault.clone()),
                |param| param.error(fault.clone()),
            ));
        }
        Ok((Some(Extent::Bytes(to - from)), Some(Extent::Bytes(from))))
    }

    /// What becomes of SDs: all jobs run on the one target that a stack is.
    fn note_targets(&self, notes: &mut Notes) {
        for team in self.teams.iter().filter(|team| team.sds.len() > 1) {
            notes.add(format!(
                "{}: job \"{}\" is for {} SDs: here it runs as on one of them, on the stack's target; each([..]) runs it on several at once",
                self.rd.origin().line(),
                team.wd.name,
                team.sds.len()
            ));
        }
        if self.teams.len() > 1 && self.sharing().is_ok_and(|sharing| sharing == Sharing::Apart) {
            notes.add(format!(
                "{}: its wds have SDs of their own; here all of them run on one target, the stack's",
                self.rd.origin().line()
            ));
        }
    }
}

fn direction(rdpct: u8, seekpct: u8) -> Rw {
    match (rdpct, seekpct) {
        (100, 0) => Rw::Read,
        (0, 0) => Rw::Write,
        (_, 0) => Rw::Rw,
        (100, _) => Rw::RandRead,
        (0, _) => Rw::RandWrite,
        _ => Rw::RandRw,
    }
}

/// One size; a list is a distribution, of which only `(4k,100)` is one size.
fn xfersize(param: &Param) -> Result<u64, InputError> {
    let size = |text: &str| number(text).and_then(block).map_err(|fault| param.error(fault));
    match param.values().as_slice() {
        [one] => size(one),
        [one, "100"] => size(one),
        _ => {
            let why = "cannot be honoured: several sizes of blocks in one job";
            let hint = "write a wd= for each size, or forxfersize= of the rd for one run each";
            Err(param.error(Fault::hint(why, hint)))
        }
    }
}

fn rdpct(setting: &Setting) -> Result<u8, InputError> {
    let given = percent(one(&setting.param)?).map_err(|fault| setting.param.error(fault))?;
    Ok(if setting.full.word.starts_with('w') { 100 - given } else { given })
}

fn check_flag(param: &Param, flag: &str) -> Result<(), InputError> {
    let (why, hint) = match flag.to_ascii_lowercase().as_str() {
        "o_direct" | "directio" => return Ok(()),
        "o_dsync" | "o_sync" | "o_rsync" => (
            "each write would be durable when it returns",
            "write fdatasync=1 in a workload of a scenario file, which flushes behind each write",
        ),
        "fsync" => (
            "files would be flushed when they are closed",
            "write end_fsync=1 in a workload of a scenario file",
        ),
        _ => ("it changes what I/O is issued", "write openflags=o_direct, or none"),
    };
    Err(param.error(Fault::hint(format!("\"{flag}\" cannot be honoured: {why}"), hint)))
}

/// What all SDs of a wd say; if they differ, no one job is all of theirs.
fn alike<'a>(team: &'a Team, slot: &str) -> Result<Option<&'a Param>, InputError> {
    let Some((first, rest)) = team.sds.split_first() else { return Ok(None) };
    let value = |sd: &Entry| sd.param(slot).map(|param| param.value.clone());
    let Some(other) = rest.iter().find(|sd| value(sd) != value(first)) else { return Ok(first.param(slot)) };
    let why = format!("sd={} and sd={} differ in it, and a job is one for both", first.name, other.name);
    let param = other.param(slot).or_else(|| first.param(slot));
    let origin = param.map_or_else(|| other.origin(), |param| param.origin.clone());
    Err(origin.error(slot, Fault::hint(why, "write a wd= for each kind of SD")))
}

/// Percent of all I/Os of each wd: those that name none share what is left.
fn shares(skews: &[Option<f64>]) -> Result<Vec<f64>, Fault> {
    let named: f64 = skews.iter().flatten().sum();
    let unnamed = skews.iter().filter(|skew| skew.is_none()).count();
    let rest = (100.0 - named) / f64::from(u32::try_from(unnamed.max(1)).unwrap_or(u32::MAX));
    let shares: Vec<f64> = skews.iter().map(|skew| skew.unwrap_or(rest)).collect();
    match (shares.iter().sum::<f64>() - 100.0).abs() < 1e-4 && shares.iter().all(|share| *share > 0.0) {
        true => Ok(shares),
        false => {
            Err(Fault::hint(format!("shares add up to {named} %"), "make skew= of all wds of the rd 100"))
        }
    }
}

/// A part of an SD.
#[derive(Clone, Copy)]
enum Range {
    Percent(u8, u8),
    Bytes(u64, u64),
}

/// Up to 100 both are percentages; above, bytes.
fn range(param: &Param) -> Result<Range, InputError> {
    let [low, high] = param.values()[..] else {
        return Err(param.error(Fault::hint("a range has two values", "write range=(10,20)")));
    };
    let read = |text: &str| number(text).map_err(|fault| param.error(fault));
    let (low, high) = (read(low)?, read(high)?);
    let refuse = |why: &str, hint: &str| Err(param.error(Fault::hint(why, hint)));
    if high <= low {
        return refuse("the second value is not above the first", "write range=(10,20)");
    }
    if high > 200.0 && (low > 100.0 || low == 0.0) {
        let bytes = |value| whole(value, 0, u64::MAX).map_err(|fault| param.error(fault));
        return Ok(Range::Bytes(bytes(low)?, bytes(high)?));
    }
    if high > 100.0 {
        return refuse(
            "cannot be honoured: a range that goes on at the front, or is half percent and half bytes",
            "write range= from 0 to 100 percent, or in bytes",
        );
    }
    let whole = |value| percent(value).map_err(|fault| param.error(fault));
    Ok(Range::Percent(whole(low)?, whole(high)?))
}

fn share(bytes: u64, percent: u8) -> u64 {
    u64::try_from(u128::from(bytes) * u128::from(percent) / 100).unwrap_or(bytes)
}
