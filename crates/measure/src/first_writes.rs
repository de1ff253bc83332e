//! Writes, before anything is measured, all devices that were never written. A read of them would
//! reach no disk and measure nothing. The data is written through the stack, by a worker where the
//! load runs, and is part of no figure.

use super::observer::RunEvent;
use super::places::Places;
use super::session::{PlannedVisit, Session};
use super::suspend;
use super::under_load::{LoadedMember, PREPARE_LIMIT, StackUnderLoad};
use anyhow::{Context, Result, ensure};
use iotax_layers::FirstWrites;
use iotax_load::{Job, Rw, SliceBound, SliceSpec, TargetSpec};
use iotax_model::record::{LaidOut, LayingOut, RunRecord};
use iotax_plan::set_plan::SetPlan;
use iotax_plan::unwritten::{BLOCK, UnwrittenStack, unwritten_of_set};
use iotax_steps::op::Op;
use iotax_units::exit::Failed;
use iotax_units::{MIB, show_bytes};
use iotax_wire::message::slice_limit;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes between two checks whether the user wants to stop.
const STRETCH: u64 = 64 * MIB;
/// I/Os in flight of writes in random order. Writes in sequence have one, since several would
/// overtake each other.
const AT_RANDOM_DEPTH: u32 = 16;

impl Session<'_> {
    /// Writes all devices of a set that were never written, and records when that begins and ends.
    pub(super) fn write_first(
        &mut self,
        places: &mut Places,
        planned: PlannedVisit,
        up: &SetPlan,
        ready: &[StackUnderLoad],
        region: u64,
    ) -> Result<()> {
        let all = unwritten_of_set(&up.targets, region, self.scenario);
        if !self.kept.steps.is_empty() && self.kept.written == all {
            return Ok(());
        }
        for what in &all {
            let ready = &ready[what.target];
            let mut written = 0;
            self.observer.notify(RunEvent::Phase {
                what: progress_words(&ready.stack, written, what.total_written()),
            });
            for member in &ready.members {
                let begun = LayingOut {
                    visit: planned.number,
                    set: planned.set as u32,
                    stack: ready.stack.clone(),
                    place: member.place.clone(),
                    bytes: what.bytes * what.order.passes() * member.targets.len() as u64,
                };
                self.store.append(&RunRecord::LayingOut(begun))?;
                self.store.sync()?;
                let observer = &mut *self.observer;
                let mut report = |bytes: u64| {
                    written += bytes;
                    observer.notify(RunEvent::Phase {
                        what: progress_words(&ready.stack, written, what.total_written()),
                    });
                };
                let done = write_unwritten(places, ready, member, what, self.stop, &mut report)?;
                let done = LaidOut { visit: planned.number, set: planned.set as u32, ..done };
                self.store.append(&RunRecord::LaidOut(done))?;
            }
        }
        if !all.is_empty() {
            self.forget_copies(up)?;
        }
        self.kept.written = all;
        Ok(())
    }

    /// Drops the qcow2 images of a set from this host's page cache. What was written a moment ago
    /// through the cache would be read from there, unlike a disk that needed no first writes.
    fn forget_copies(&self, up: &SetPlan) -> Result<()> {
        for step in &up.steps {
            let Op::MakeImage(image) = &step.op else { continue };
            let path = self.executor.path_of(&image.on)?;
            let file = std::fs::File::open(&path)
                .with_context(|| format!("cannot open {}", path.display()))?;
            // With cache=unsafe no flush of the guest came this far, and only clean pages are
            // dropped.
            file.sync_data().with_context(|| format!("cannot sync {}", path.display()))?;
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)
                .with_context(|| format!("cannot drop {} from the page cache", path.display()))?;
        }
        Ok(())
    }
}

fn progress_words(stack: &str, done: u64, all: u64) -> String {
    let (done, all) = (show_bytes(done), show_bytes(all));
    format!("setting up: writing for the first time through {stack}: {done} of {all}")
}

/// Writes the targets of a stack in one place, and returns the number of bytes and the time. `stop`
/// (Ctrl-C) ends it. After each stretch, `report` gets the stretch's number of bytes.
///
/// # Errors
/// A write failed, the place is lost, or `stop` is set.
pub fn write_unwritten(
    places: &mut Places,
    ready: &StackUnderLoad,
    member: &LoadedMember,
    what: &UnwrittenStack,
    stop: &AtomicBool,
    report: &mut dyn FnMut(u64),
) -> Result<LaidOut> {
    let mut done = LaidOut {
        stack: ready.stack.clone(),
        place: member.place.clone(),
        bytes: what.bytes * member.targets.len() as u64,
        ..LaidOut::default()
    };
    for job in jobs(what) {
        let pass =
            WritePass { member, bytes: what.bytes, job, stretch: STRETCH, of_each: what.bytes };
        let mut before = 0;
        let mut on_stretch = |writes: &FirstWritePass| {
            report(writes.bytes - before);
            before = writes.bytes;
            Ok(())
        };
        let writes = pass
            .write_targets(places, stop, &mut on_stretch)
            .map_err(|error| suspend::add_qemu_reason(places, &[&member.place], error))?;
        done.written += writes.bytes;
        done.took_ns += writes.took_ns;
        done.flush_ns += writes.flush_ns;
    }
    Ok(done)
}

/// Returns the jobs that write a device for the first time, one per pass.
fn jobs(what: &UnwrittenStack) -> Vec<Job> {
    let job = Job { name: "first writes".into(), rw: Rw::Write, bs: BLOCK, ..Job::default() };
    let in_order = job.writing(what.data);
    match what.order {
        FirstWrites::InOrder => vec![in_order],
        FirstWrites::AtRandom { block } => {
            let at_random =
                Job { rw: Rw::RandWrite, bs: block, iodepth: AT_RANDOM_DEPTH, ..in_order.clone() };
            vec![at_random, in_order]
        }
    }
}

/// Sums over all stretches of a pass so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FirstWritePass {
    /// Bytes written to all targets together.
    pub bytes: u64,
    /// Sum, over the stretches, of the nanoseconds from the first submission to the last
    /// acknowledgement.
    pub took_ns: u64,
    pub flush_ns: u64,
}

/// One job over all targets of a member, which are written at the same time.
pub(super) struct WritePass<'a> {
    pub member: &'a LoadedMember,
    /// Size of the region of each target that may be written, in bytes.
    pub bytes: u64,
    pub job: Job,
    /// Bytes between two checks whether the user wants to stop.
    pub stretch: u64,
    /// Bytes that the job writes to each target.
    pub of_each: u64,
}

impl WritePass<'_> {
    /// Writes all targets. After each stretch, which ends with a flush, calls `report` with the
    /// sums so far.
    ///
    /// # Errors
    /// A write failed, the place is lost, `stop` is set, or `report` failed.
    pub fn write_targets(
        &self,
        places: &mut Places,
        stop: &AtomicBool,
        report: &mut dyn FnMut(&FirstWritePass) -> Result<()>,
    ) -> Result<FirstWritePass> {
        const WORKER: u32 = 0;
        let writable = |target: &TargetSpec| TargetSpec {
            bytes: Some(self.bytes),
            writable: true,
            hold: Default::default(),
            ..target.clone()
        };
        let targets: Vec<TargetSpec> = self.member.targets.iter().map(writable).collect();
        // A slice divides its bytes among them.
        let bytes = self.of_each * targets.len() as u64;
        let (what, place) = (&self.job.name, &self.member.place);
        let peer = &mut places.get(place)?.peer;
        let job = std::slice::from_ref(&self.job);
        peer.prepare(WORKER, &targets, job, None, PREPARE_LIMIT).map_err(Failed::from)?;
        let mut done = FirstWritePass::default();
        while done.bytes < bytes {
            if stop.load(Ordering::Relaxed) {
                return Err(Failed::measurement(format!("interrupted during {what}")).into());
            }
            let bound = SliceBound::Bytes { bytes: self.stretch.min(bytes - done.bytes) };
            let spec = SliceSpec::starting_now(bound, 0, true);
            let result =
                peer.slice(WORKER, &spec, slice_limit(&spec)).map_err(Failed::from)?.result;
            let first = result.first_error.unwrap_or_else(|| "no words".into());
            let failed = || {
                Failed::measurement(format!("{what} on {place}: {} failed: {first}", result.errors))
            };
            ensure!(result.errors == 0 && result.write.bytes > 0, failed());
            done.bytes += result.write.bytes;
            done.took_ns += result.window_ns;
            done.flush_ns += result.flush_ns.unwrap_or(0);
            report(&done)?;
        }
        peer.end_worker(WORKER).map_err(Failed::from)?;
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_facts::place::Place;
    use iotax_host::guard::marker;
    use iotax_load::DataKind;
    use std::path::Path;

    fn all_of(path: &Path, order: FirstWrites, data: DataKind) -> (LaidOut, Vec<u8>) {
        let bytes = 3 * MIB;
        marker::create_marked_file(path, bytes + MIB, "r").unwrap();
        let mut places = Places::default();
        places.reach_host("r").unwrap();
        let target = TargetSpec {
            path: path.to_owned(),
            offset: 0,
            bytes: None,
            writable: false,
            hold: Default::default(),
        };
        let member = LoadedMember { place: Place::Host, targets: vec![target] };
        let ready = StackUnderLoad {
            index: 0,
            stack: "s".into(),
            members: vec![member.clone()],
            engine: None,
            owed: Vec::new(),
            others: Vec::new(),
            media: Vec::new(),
            far_end: None,
            serving: Default::default(),
        };
        let what = UnwrittenStack { target: 0, order, bytes, parts: 1, data };
        let mut told = 0;
        let mut tell = |bytes: u64| told += bytes;
        let done = write_unwritten(
            &mut places,
            &ready,
            &member,
            &what,
            &AtomicBool::new(false),
            &mut tell,
        )
        .unwrap();
        let stopped =
            write_unwritten(&mut places, &ready, &member, &what, &AtomicBool::new(true), &mut tell);
        assert_eq!(told, what.total_written(), "what is told while it goes on ends with all of it");
        assert!(stopped.unwrap_err().to_string().contains("interrupted"));
        (done, std::fs::read(path).unwrap())
    }

    #[test]
    fn every_block_is_written_and_none_behind_the_end() {
        let folder = tempfile::Builder::new().tempdir_in("/var/tmp").unwrap();
        for (name, order) in
            [("a", FirstWrites::InOrder), ("b", FirstWrites::AtRandom { block: 64 << 10 })]
        {
            let (done, content) = all_of(&folder.path().join(name), order, DataKind::default());
            assert_eq!((done.bytes, done.written), (3 * MIB, 3 * MIB * order.passes()));
            assert!(done.took_ns > 0 && done.stack == "s" && done.place.is_host());
            let (data, behind) = content.split_at(3 << 20);
            assert!(data.chunks(512).all(|sector| sector.iter().any(|byte| *byte != 0)));
            assert!(behind[..1 << 20].iter().all(|byte| *byte == 0));
        }
    }

    #[test]
    fn what_is_written_first_is_of_the_kind_that_the_load_writes() {
        let folder = tempfile::Builder::new().tempdir_in("/var/tmp").unwrap();
        let data = DataKind { compress_percent: 50, dedupe_percent: 40, unit: 4096 };
        let (_, content) = all_of(&folder.path().join("x"), FirstWrites::InOrder, data);
        let blocks: Vec<&[u8]> = content[..3 << 20].chunks(4096).collect();
        let zeros = blocks.iter().flat_map(|block| block.iter()).filter(|byte| **byte == 0).count();
        assert!(zeros.abs_diff(3 << 19) < 3 << 12, "{zeros} zeros");
        let new: std::collections::BTreeSet<_> = blocks.iter().collect();
        // Of 768 blocks: four standard deviations are 54.
        assert!(new.len().abs_diff(768 * 60 / 100) < 55, "{} new ones", new.len());
    }
}
