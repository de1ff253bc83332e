//! Writes passes over drives before the visits begin: the whole of each drive is written in order
//! as often as asked for, whatever the load and the layers above (SNIA's workload independent
//! preconditioning). The passes are part of no figure, and a resumed run does not write again what
//! a drive kept of them. Rounds of the load itself are in `steady_rounds`.

use super::first_writes::{FirstWritePass, WritePass};
use super::observer::RunEvent;
use super::places::Places;
use super::session::Session;
use super::suspend;
use super::under_load::LoadedMember;
use anyhow::Result;
use iotax_engines::serving::Allowed;
use iotax_facts::place::Place;
use iotax_load::{Job, Rw, TargetSpec};
use iotax_model::record::RunRecord;
use iotax_model::record::precondition::{PassedDrive, Passes};
use iotax_model::stack::LoadIssuer;
use iotax_plan::passes::{BLOCK, Batch, DriveOwner, batches};
use iotax_plan::sets::{SetLayout, StackSet};
use iotax_units::{GIB, MIB, show_bytes};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Instant;

/// I/Os in flight on each drive. Fewer would not use a fast drive in full.
const IODEPTH: u32 = 32;
/// Bytes of each drive between two checks whether the user wants to stop.
const STRETCH: u64 = 64 * MIB;
/// Bytes of each drive between two checks whether the user wants to stop, where there is no agent:
/// each stretch is a command over ssh.
const STRETCH_AFAR: u64 = GIB;
/// Least bytes of each drive between two records of progress; a hundredth of all bytes of its
/// passes, if that is more.
const RECORD_EVERY: u64 = GIB;

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
            self.past.passes_over(place, &drive).map_or(0, |passes| passes.written)
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
        // A drive smaller than a block has no blocks to write.
        for batch in batches.iter().filter(|batch| batch.bytes > 0) {
            self.write_over(places, batch)?;
        }
        // The layers above must be able to open what was held meanwhile.
        written_in.iter().try_for_each(|place| places.get(place)?.allow(&Allowed::default()))
    }

    /// Writes all passes over the drives of a batch, from where an earlier part of the run left
    /// them.
    fn write_over(&mut self, places: &mut Places, batch: &Batch) -> Result<()> {
        let drive = |path: &PathBuf| {
            let path = path.display().to_string();
            PassedDrive { serial: self.survey.serial_of(&batch.place, &path), path }
        };
        let target = |path: &PathBuf| TargetSpec {
            path: path.clone(),
            offset: 0,
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
            drives.first().and_then(|drive| self.past.passes_over(&batch.place, drive)).cloned();
        let mut passes = Passes {
            place: batch.place.clone(),
            drives,
            bytes: batch.bytes,
            passes: self.scenario.measure.precondition.passes,
            written: batch.done,
            ..before.clone().unwrap_or_default()
        };
        if passes.is_done() {
            let text = format!(
                "{} was preconditioned by an earlier part of this run",
                batch.drive_names()
            );
            self.observer.notify(RunEvent::Preconditioned { text });
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
                batch.drive_names(),
                passes_words(&passes, before.as_ref())
            );
            self.observer.notify(RunEvent::Preconditioned { text });
        }
        result.map_err(|error| suspend::add_qemu_reason(places, &[&batch.place], error))
    }

    /// Writes to the end of a pass or, if there is no agent, as far as one command goes.
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
            // Each pass writes other data than the one before it.
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
        let mut report = |done: &FirstWritePass| {
            passes.written = before.written + done.bytes / drives;
            passes.took_ns = before.took_ns + done.took_ns;
            passes.flush_ns = before.flush_ns + done.flush_ns;
            let what = format!(
                "preconditioning {}: {}",
                batch.drive_names(),
                clock.batch_progress(passes, batch)
            );
            self.observer.notify(RunEvent::Phase { what });
            if passes.written.saturating_add(stretch / drives) >= passes.begun {
                self.record_passes(passes)?;
            }
            Ok(())
        };
        pass.write_targets(places, stop, &mut report).map(drop)
    }

    /// Records the passes on disk, with the bytes that may be written until the next record.
    fn record_passes(&mut self, passes: &mut Passes) -> Result<()> {
        let every = RECORD_EVERY.max(passes.total_bytes() / 100);
        passes.begun = passes.written.saturating_add(every).min(passes.total_bytes());
        self.store.append(&RunRecord::Passes(passes.clone()))?;
        Ok(self.store.sync()?)
    }
}

/// When this part of the run began a batch, and how many bytes of each drive were written before.
struct Clock {
    from: u64,
    since: Instant,
}

impl Clock {
    /// Returns the rate of all drives of the batch together, in bytes per second.
    fn write_rate(&self, passes: &Passes, batch: &Batch) -> f64 {
        let bytes = (passes.written - self.from) * batch.paths.len() as u64;
        bytes as f64 / self.since.elapsed().as_secs_f64().max(1e-9)
    }

    fn batch_progress(&self, passes: &Passes, batch: &Batch) -> String {
        let drives = batch.paths.len() as u64;
        progress(passes, drives, self.write_rate(passes, batch))
    }
}

/// Formats what this part of the run wrote and how fast: `400 GiB written in 210.0 s, 2045.2 MB/s`.
fn passes_words(passes: &Passes, before: Option<&Passes>) -> String {
    let of = |passes: &Passes| (passes.written, passes.took_ns + passes.flush_ns);
    let ((now, until), (from, since)) = (of(passes), before.map(of).unwrap_or_default());
    let bytes = (now - from) * passes.drives.len() as u64;
    let seconds = (until - since) as f64 / 1e9;
    let rate = bytes as f64 / 1e6 / seconds.max(1e-9);
    format!("{} written in {seconds:.1} s, {rate:.1} MB/s", show_bytes(bytes))
}

/// Formats the progress: `pass 1 of 2, 12 GiB of 200 GiB, 1200.0 MB/s, about 157 s left`
fn progress(passes: &Passes, drives: u64, rate: f64) -> String {
    let pass = (passes.written / passes.bytes + 1).min(passes.passes.into());
    let left_s = ((passes.total_bytes() - passes.written) * drives) as f64 / rate.max(1.0);
    format!(
        "pass {pass} of {}, {} of {}, {:.1} MB/s, about {left_s:.0} s left",
        passes.passes,
        show_bytes(passes.written * drives),
        show_bytes(passes.total_bytes() * drives),
        rate / 1e6
    )
}

#[cfg(test)]
#[path = "preconditioning_tests.rs"]
mod tests;
