//! Passes over drives before the visits begin: the whole of each is written in order so often,
//! whatever the load and whatever layers will stand on it (SNIA's workload independent
//! preconditioning). They are part of no figure, and what of them a drive kept is not written again
//! by a resumed run. Rounds of the load itself are `steady_rounds`' business.

use super::first_writes::{FirstWritePass, WritePass};
use super::observer::RunEvent;
use super::places::Places;
use super::plan::PlanGround;
use super::session::Session;
use super::sets::{SetLayout, StackSet};
use super::suspend;
use super::visit_workers::LoadedMember;
use anyhow::Result;
use iotax_layers::{PlanContext, medium};
use iotax_load::{Job, Rw, TargetSpec};
use iotax_model::record::RunRecord;
use iotax_model::record::precondition::{PassedDrive, Passes};
use iotax_model::scenario::{LoadIssuer, Medium};
use iotax_steps::Place;
use iotax_steps::agent_handler::Allowed;
use iotax_units::{GIB, KIB, MIB, is_unknown, show_bytes, show_names};
use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::time::Instant;

/// What is written at once: SNIA's sequential block.
pub const BLOCK: u64 = 128 * KIB;
/// So many in flight on each drive, or a fast one would be waited for.
const IODEPTH: u32 = 32;
/// Of each drive between two looks whether the user wants to stop.
const STRETCH: u64 = 64 * MIB;
/// The same where no agent is, and every stretch is a command.
const STRETCH_AFAR: u64 = GIB;
/// A record at least after so much of each drive, and after every hundredth of all.
const RECORD_EVERY: u64 = GIB;

/// Drives of one place and size that are written at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    pub place: Place,
    agent: LoadIssuer,
    /// Bytes of each, in whole blocks; `UNKNOWN_BYTES` of a drive that nobody has looked at yet.
    pub bytes: u64,
    /// Bytes of each that an earlier part of the run has written, of all passes.
    pub done: u64,
    whose: DriveOwner,
    pub paths: Vec<PathBuf>,
}

/// Whose what is written over is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DriveOwner {
    /// A file with our marker after its data.
    File,
    /// A drive of a lab, which the run made.
    Drive,
    /// Somebody's, who consents to its destruction.
    Device,
}

impl Batch {
    /// Whether nobody misses what is on them.
    pub fn is_ours(&self) -> bool {
        self.whose != DriveOwner::Device
    }

    /// Whether the two are the same but for their paths.
    fn is_like(&self, other: &Batch) -> bool {
        (self.agent, self.bytes, self.done, &self.whose, &self.place)
            == (other.agent, other.bytes, other.done, &other.whose, &other.place)
    }

    /// Their names, as a list.
    pub fn names(&self) -> String {
        show_names(self.paths.iter().map(|path| path.display()))
    }

    /// Bytes that so many passes write, all drives together; `None`: a size is not known yet.
    pub fn written(&self, passes: u32) -> Option<u64> {
        (!is_unknown(self.bytes)).then(|| {
            self.bytes.saturating_mul(passes.into()).saturating_mul(self.paths.len() as u64)
        })
    }
}

/// The drives and files at the bottom of all stacks, each once; `done` tells how far an earlier
/// part of the run was with one.
///
/// # Errors
/// When a list of media has a list in it.
pub fn batches(ground: &PlanGround, done: impl Fn(&Place, &str) -> u64) -> Result<Vec<Batch>> {
    let mut context = PlanContext::new(ground.tag.clone(), None, 0);
    let (mut all, mut seen): (Vec<Batch>, BTreeSet<(Place, PathBuf)>) =
        (Vec::new(), BTreeSet::new());
    let mut known = HashSet::new();
    for (index, stack) in ground.scenario.stacks.iter().enumerate() {
        let members = stack.medium.members().iter().zip(&ground.found[index]);
        // All stacks of a member have the same equal files.
        let fresh: Vec<_> = members.filter(|(member, _)| known.insert(*member)).collect();
        if fresh.is_empty() {
            continue;
        }
        for sibling in ground.layout.siblings_of(index) {
            for (member, found) in &fresh {
                let shown = medium::plan_member(member, found, sibling, &mut context)?;
                let path = shown.paths[0].path()?.to_owned();
                if !seen.insert((shown.place.clone(), path.clone())) {
                    continue;
                }
                let batch = Batch {
                    agent: member.agent(),
                    bytes: shown.bytes / BLOCK * BLOCK,
                    done: done(&shown.place, &path.to_string_lossy()),
                    whose: whose(member),
                    place: shown.place,
                    paths: Vec::new(),
                };
                match all.iter_mut().find(|known| known.is_like(&batch)) {
                    Some(known) => known.paths.push(path),
                    None => all.push(Batch { paths: vec![path], ..batch }),
                }
            }
        }
    }
    Ok(all)
}

fn whose(medium: &Medium) -> DriveOwner {
    match medium {
        Medium::Drive { .. } => DriveOwner::Drive,
        Medium::File { .. } | Medium::Remote { size: Some(_), .. } => DriveOwner::File,
        _ => DriveOwner::Device,
    }
}

/// Bytes that the passes of a run write, as far as sizes are known.
///
/// # Errors
/// As [`batches`].
pub fn written(ground: &PlanGround) -> Result<u64> {
    let passes = ground.scenario.measure.precondition.passes;
    let batches = if passes > 0 { batches(ground, |_, _| 0)? } else { Vec::new() };
    Ok(batches.iter().filter_map(|batch| batch.written(passes)).sum())
}

impl Session<'_> {
    /// Writes the whole of every drive as often as was asked for.
    ///
    /// # Errors
    /// The guard refuses a drive, a write fails, a place is lost, or Ctrl-C.
    pub(super) fn precondition(&mut self, layout: &SetLayout, places: &mut Places) -> Result<()> {
        if self.scenario.measure.precondition.passes == 0 {
            return Ok(());
        }
        let ground = self.ground(layout);
        let done = |place: &Place, path: &str| {
            let drive =
                PassedDrive { path: path.to_owned(), serial: self.survey.serial_of(place, path) };
            self.past.passed(place, &drive).map_or(0, |passes| passes.written)
        };
        let batches = batches(&ground, done)?;
        let all = StackSet { stacks: (0..self.scenario.stacks.len()).collect(), after: None };
        self.look_again(places, &all)?;
        let written_in: BTreeSet<Place> = batches.iter().map(|batch| batch.place.clone()).collect();
        for place in &written_in {
            let made = batches
                .iter()
                .filter(|batch| batch.whose == DriveOwner::Drive && batch.place == *place);
            let made = made.flat_map(|batch| batch.paths.clone()).collect();
            let admitted = self.admitted.clone();
            places.get(place)?.allow(&Allowed {
                consent: self.scenario.consent.clone(),
                made,
                admitted,
            })?;
        }
        // What is smaller than a block has none.
        for batch in batches.iter().filter(|batch| batch.bytes > 0) {
            self.write_over(places, batch)?;
        }
        // The layers above must be able to open what was held meanwhile.
        written_in.iter().try_for_each(|place| places.get(place)?.allow(&Allowed::default()))
    }

    /// All passes over a batch, from where an earlier part of the run left it.
    fn write_over(&mut self, places: &mut Places, batch: &Batch) -> Result<()> {
        let drive = |path: &PathBuf| {
            let path = path.display().to_string();
            PassedDrive { serial: self.survey.serial_of(&batch.place, &path), path }
        };
        let target = |path: &PathBuf| TargetSpec {
            path: path.clone(),
            bytes: Some(batch.bytes),
            writable: true,
            hold: Default::default(),
        };
        let member = LoadedMember {
            place: batch.place.clone(),
            targets: batch.paths.iter().map(target).collect(),
        };
        let drives: Vec<PassedDrive> = batch.paths.iter().map(drive).collect();
        let before =
            drives.first().and_then(|drive| self.past.passed(&batch.place, drive)).cloned();
        let mut passes = Passes {
            place: batch.place.clone(),
            drives,
            bytes: batch.bytes,
            passes: self.scenario.measure.precondition.passes,
            written: batch.done,
            ..before.clone().unwrap_or_default()
        };
        if passes.is_done() {
            let text =
                format!("{} was preconditioned by an earlier part of this run", batch.names());
            self.observer.tell(RunEvent::Preconditioned { text });
            return Ok(());
        }
        let clock = Clock { from: batch.done, since: Instant::now() };
        let mut result = Ok(());
        while result.is_ok() && !passes.is_done() {
            self.record_passes(&mut passes)?;
            result = self.pass(places, batch, &member, &mut passes, &clock);
        }
        self.record_passes(&mut passes)?;
        if result.is_ok() {
            let text = format!(
                "preconditioned {}: {}",
                batch.names(),
                passes_words(&passes, before.as_ref())
            );
            self.observer.tell(RunEvent::Preconditioned { text });
        }
        result.map_err(|error| suspend::blame(places, &[&batch.place], error))
    }

    /// To the end of a pass; where no agent is, as far as one command goes.
    fn pass(
        &mut self,
        places: &mut Places,
        batch: &Batch,
        member: &LoadedMember,
        passes: &mut Passes,
        clock: &Clock,
    ) -> Result<()> {
        let offset = passes.written % batch.bytes;
        let rest = batch.bytes - offset;
        let (stretch, of_each) = match batch.agent {
            LoadIssuer::Iotax => (STRETCH, rest),
            LoadIssuer::Fio => (STRETCH_AFAR, rest.min(STRETCH_AFAR)),
        };
        let job = Job {
            name: "preconditioning".into(),
            rw: Rw::Write,
            bs: BLOCK,
            iodepth: IODEPTH,
            offset,
            size: Some(of_each),
            // No pass writes what the one before it wrote.
            randseed: self.scenario.measure.seed.wrapping_add(passes.written),
            ..Job::default()
        };
        let before = passes.clone();
        let drives = batch.paths.len() as u64;
        let stretch = stretch * drives;
        let pass = WritePass {
            member,
            bytes: batch.bytes,
            job: job.writing(self.scenario.data()),
            stretch,
            of_each,
        };
        let stop = self.stop;
        let mut told = |done: &FirstWritePass| {
            passes.written = before.written + done.bytes / drives;
            passes.took_ns = before.took_ns + done.took_ns;
            passes.flush_ns = before.flush_ns + done.flush_ns;
            let what = format!("preconditioning {}: {}", batch.names(), clock.left(passes, batch));
            self.observer.tell(RunEvent::Phase { what });
            if passes.written.saturating_add(stretch / drives) >= passes.begun {
                self.record_passes(passes)?;
            }
            Ok(())
        };
        pass.write(places, stop, &mut told).map(drop)
    }

    /// On disk, with what may be written until the next one.
    fn record_passes(&mut self, passes: &mut Passes) -> Result<()> {
        let every = RECORD_EVERY.max(passes.whole() / 100);
        passes.begun = passes.written.saturating_add(every).min(passes.whole());
        self.store.append(&RunRecord::Passes(passes.clone()))?;
        Ok(self.store.sync()?)
    }
}

/// Since when this part of the run writes, and from where.
struct Clock {
    from: u64,
    since: Instant,
}

impl Clock {
    /// Bytes a second of all drives together.
    fn rate(&self, passes: &Passes, batch: &Batch) -> f64 {
        let bytes = (passes.written - self.from) * batch.paths.len() as u64;
        bytes as f64 / self.since.elapsed().as_secs_f64().max(1e-9)
    }

    fn left(&self, passes: &Passes, batch: &Batch) -> String {
        let drives = batch.paths.len() as u64;
        progress(passes, drives, self.rate(passes, batch))
    }
}

/// `400 GiB written in 210.0 s, 2045.2 MB/s`: what this part of the run wrote, in the time that the
/// report counts.
fn passes_words(passes: &Passes, before: Option<&Passes>) -> String {
    let of = |passes: &Passes| (passes.written, passes.took_ns + passes.flush_ns);
    let ((now, until), (from, since)) = (of(passes), before.map(of).unwrap_or_default());
    let bytes = (now - from) * passes.drives.len() as u64;
    let seconds = (until - since) as f64 / 1e9;
    let rate = bytes as f64 / 1e6 / seconds.max(1e-9);
    format!("{} written in {seconds:.1} s, {rate:.1} MB/s", show_bytes(bytes))
}

/// `pass 1 of 2, 12 GiB of 200 GiB, 1200.0 MB/s, about 157 s left`
fn progress(passes: &Passes, drives: u64, rate: f64) -> String {
    let pass = (passes.written / passes.bytes + 1).min(passes.passes.into());
    let left_s = ((passes.whole() - passes.written) * drives) as f64 / rate.max(1.0);
    format!(
        "pass {pass} of {}, {} of {}, {:.1} MB/s, about {left_s:.0} s left",
        passes.passes,
        show_bytes(passes.written * drives),
        show_bytes(passes.whole() * drives),
        rate / 1e6
    )
}

#[cfg(test)]
#[path = "preconditioning_tests.rs"]
mod tests;
