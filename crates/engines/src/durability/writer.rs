//! Writes the blocks of a trial: batch after batch of stamped blocks, several under way at once,
//! and a flush after each batch. Only what was written before a flush that returned is
//! acknowledged.

use super::disk::{AlignedPage, BlockFile};
use super::stamp::{self, Stamp};
use anyhow::{Context, Result};
use iotax_wire::trial::{TrialSpec, Write};
use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, Mutex, PoisonError};

/// Writes until the trial's last batch, or until `acknowledge` says break. After each batch is
/// flushed, `acknowledge` gets the number of its last write. Returns the last such number.
///
/// # Errors
/// If a write or a flush failed.
pub fn write(
    disk: &dyn BlockFile,
    spec: &TrialSpec,
    acknowledge: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<u64> {
    let crew = WriterCrew::new(spec);
    std::thread::scope(|scope| {
        for lane in 0..crew.lanes {
            let crew = &crew;
            scope.spawn(move || crew.work(lane, disk, spec));
        }
        let written = lead(&crew, disk, spec, acknowledge);
        crew.dismiss();
        written
    })
}

fn lead(
    crew: &WriterCrew,
    disk: &dyn BlockFile,
    spec: &TrialSpec,
    acknowledge: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> Result<u64> {
    let mut acknowledged = 0;
    for batch in 0..spec.most_batches {
        crew.write_batch().with_context(|| format!("a write of batch {batch} failed"))?;
        disk.flush_blocks().with_context(|| format!("the flush of batch {batch} failed"))?;
        acknowledged = spec.last_of(batch);
        if acknowledge(acknowledged).is_break() {
            break;
        }
    }
    Ok(acknowledged)
}

/// Threads that write a batch together. All wait for the last of them before the flush.
struct WriterCrew {
    lanes: usize,
    gate: Barrier,
    over: AtomicBool,
    failed: Mutex<Option<io::Error>>,
}

impl WriterCrew {
    fn new(spec: &TrialSpec) -> WriterCrew {
        let lanes = spec.in_flight.clamp(1, spec.batch.max(1)) as usize;
        WriterCrew {
            lanes,
            gate: Barrier::new(lanes + 1),
            over: AtomicBool::new(false),
            failed: Mutex::new(None),
        }
    }

    fn write_batch(&self) -> io::Result<()> {
        self.gate.wait();
        self.gate.wait();
        match self.failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn dismiss(&self) {
        self.over.store(true, Ordering::SeqCst);
        self.gate.wait();
    }

    fn work(&self, lane: usize, disk: &dyn BlockFile, spec: &TrialSpec) {
        let mut page = AlignedPage::default();
        for batch in 0.. {
            self.gate.wait();
            if self.over.load(Ordering::SeqCst) {
                return;
            }
            for write in spec.writes_of(batch).iter().skip(lane).step_by(self.lanes) {
                if let Err(error) = write_one(disk, spec, write, &mut page) {
                    self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                }
            }
            self.gate.wait();
        }
    }
}

fn write_one(
    disk: &dyn BlockFile,
    spec: &TrialSpec,
    write: &Write,
    page: &mut AlignedPage,
) -> io::Result<()> {
    let stamp = Stamp { trial: spec.trial, block: write.block, sequence: write.sequence };
    stamp::fill(page.bytes(), &stamp);
    disk.write_block(write.block, page.bytes())
}
