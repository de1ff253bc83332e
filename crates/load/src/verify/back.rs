//! Reads back all blocks that were written, in large sequential steps, by all threads that wrote
//! them.

use super::found::VerifiedBlocks;
use super::ledger::Ledger;
use crate::Iomem;
use crate::buffer::{BufferNeeds, Buffers};
use crate::data::DataKind;
use crate::random::Random;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Maximum number of bytes read at once, unless a block is larger.
const STEP: u64 = 1 << 20;

/// Largest gap in bytes between written blocks that is read with them.
const GAP: u64 = 64 << 10;

#[derive(Clone)]
pub(crate) struct BackOrder {
    /// Next block of this thread's ledger that no thread has taken.
    pub(crate) next: Arc<AtomicU64>,
    /// Number of finished blocks of all ledgers.
    pub(crate) done: Arc<AtomicU64>,
    /// True if the blocks that are left are not to be read.
    pub(crate) stop: Arc<AtomicBool>,
}

/// Results of one thread: of the load's reads, and of reading back.
#[derive(Debug, Default)]
pub(crate) struct ReadBackPass {
    pub(crate) load: VerifiedBlocks,
    pub(crate) back: VerifiedBlocks,
}

impl Ledger {
    /// Reads and judges this thread's part of the written blocks, and calls `beat` before each
    /// read.
    ///
    /// # Errors
    /// When there is no memory for it. Blocks that cannot be read are counted.
    pub(crate) fn read_back(
        &self,
        file: &File,
        order: &BackOrder,
        beat: &dyn Fn(),
    ) -> io::Result<VerifiedBlocks> {
        let mut found = VerifiedBlocks::default();
        let blocks_at_once = (STEP / self.bs).max(1);
        let mut memory = None;
        while !order.stop.load(Ordering::Relaxed) {
            let first = order.next.fetch_add(blocks_at_once, Ordering::Relaxed);
            let end = (first + blocks_at_once).min(self.blocks());
            if first >= end {
                break;
            }
            let mut at = first;
            while let Some((from, to)) = self.stretch(at, end) {
                let memory = match &mut memory {
                    Some(memory) => memory,
                    none => none.insert(room((blocks_at_once * self.bs) as usize)?),
                };
                beat();
                // SAFETY: the one slot's buffer has that many bytes, and nobody else knows of it.
                let data = unsafe {
                    std::slice::from_raw_parts_mut(
                        memory.read_buffer(0),
                        ((to - from) * self.bs) as usize,
                    )
                };
                self.read_stretch(file, from, to, data, beat, &mut found);
                at = to;
            }
            order.done.fetch_add(end - first, Ordering::Relaxed);
        }
        Ok(found)
    }

    /// Returns the next range of written blocks in `at..end`, as its first block and the one after
    /// its last. Unwritten blocks of up to [`GAP`] bytes may be between them. `None` if none is
    /// left.
    fn stretch(&self, at: u64, end: u64) -> Option<(u64, u64)> {
        let is_written = |block: &u64| self.block_state(*block).issued() > 0;
        let from = (at..end).find(is_written)?;
        let mut to = from + 1;
        while let Some(next) =
            (to..end).find(is_written).filter(|next| (next - to) * self.bs <= GAP)
        {
            to = next + 1;
        }
        Some((from, to))
    }

    fn read_stretch(
        &self,
        file: &File,
        from: u64,
        to: u64,
        data: &mut [u8],
        beat: &dyn Fn(),
        found: &mut VerifiedBlocks,
    ) {
        let whole = file.read_exact_at(data, self.offset_of(from)).is_ok();
        for (block, data) in (from..to).zip(data.chunks_exact_mut(self.bs as usize)) {
            let state = self.block_state(block);
            if state.issued() == 0 {
                continue;
            }
            if !whole {
                // Most blocks of a stretch that cannot be read may still be readable.
                beat();
                if let Err(error) = file.read_exact_at(data, self.offset_of(block)) {
                    self.unreadable(block, &error, found);
                    continue;
                }
            }
            match state.is_moving() {
                true => found.unjudged += 1,
                false => self.judge(block, data, state, state, found),
            }
        }
    }
}

fn room(bytes: usize) -> io::Result<Buffers> {
    let needs = BufferNeeds {
        slots: 1,
        bs: bytes,
        reads: true,
        writes: false,
        data: DataKind::default(),
        iomem: Iomem::default(),
    };
    Buffers::new(needs, Random::new(0, 0))
}
