//! The histogram segment: frames found by their offset. A frame that is cut off or damaged counts
//! as absent.

use super::StoreError;
use super::private::{self, Purpose};
use iotax_load::{Histogram, ShortSlice};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

const MAGIC: &[u8; 4] = b"IOTH";
const VERSION: u16 = 1;
const LAYOUT: u16 = 1;
const SERIES_MAGIC: &[u8; 4] = b"IOTS";
/// Layout of a frame of short slices, with five LEB128 numbers per slice.
const SERIES_LAYOUT: u16 = 1;
const HEADER_LEN: usize = 16;
const PAYLOAD_LIMIT: usize = 16 << 20;
/// Least bytes of a read. Slices are read in the order in which they were written, so most frames
/// are in the block read last.
const READ_AHEAD: usize = 1 << 20;

pub(super) fn encode(histogram: &Histogram) -> Vec<u8> {
    frame_of(MAGIC, LAYOUT, &histogram.encode())
}

/// Returns the bytes of a frame of short slices. Each slice has its worker, the time since the
/// start of the previous slice (for the first: its start), the length of its window, its I/Os and
/// the time that it took, as LEB128 numbers: some 12 bytes in all.
pub(super) fn encode_series(slices: &[ShortSlice]) -> Vec<u8> {
    let (mut payload, mut before_ns) = (Vec::with_capacity(12 * slices.len()), 0);
    for slice in slices {
        let since_ns = slice.start_ns.saturating_sub(before_ns);
        for number in [slice.worker as u64, since_ns, slice.window_ns, slice.ios, slice.took_ns] {
            put_number(&mut payload, number);
        }
        before_ns = slice.start_ns.max(before_ns);
    }
    frame_of(SERIES_MAGIC, SERIES_LAYOUT, &payload)
}

fn decode_series(mut payload: &[u8]) -> Option<Vec<ShortSlice>> {
    let (mut slices, mut start_ns) = (Vec::new(), 0u64);
    while !payload.is_empty() {
        let mut number = || take_number(&mut payload);
        let worker = usize::try_from(number()?).ok()?;
        start_ns = start_ns.saturating_add(number()?);
        slices.push(ShortSlice {
            worker,
            start_ns,
            window_ns: number()?,
            ios: number()?,
            took_ns: number()?,
        });
    }
    Some(slices)
}

fn put_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn frame_of(magic: &[u8; 4], layout: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::with_capacity(HEADER_LEN + payload.len());
    frame.extend_from_slice(magic);
    frame.extend_from_slice(&VERSION.to_le_bytes());
    frame.extend_from_slice(&layout.to_le_bytes());
    frame.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    let crc = crc_of(&frame, payload);
    frame.extend_from_slice(&crc.to_le_bytes());
    frame.extend_from_slice(payload);
    frame
}

fn crc_of(header: &[u8], payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(header);
    hasher.update(payload);
    hasher.finalize()
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stored {
    Whole(Histogram),
    Torn,
}

#[derive(Debug)]
pub struct Histograms {
    /// Open file; `None` if it does not exist, so that all frames count as torn.
    file: Option<File>,
    path: PathBuf,
    block: Mutex<Block>,
}

#[derive(Debug, Default)]
struct Block {
    start: u64,
    bytes: Vec<u8>,
}

impl Histograms {
    /// Opens a segment of a run's folder; one that does not exist has no frames.
    ///
    /// # Errors
    /// As [`private::open`].
    pub(crate) fn open(folder: &Path, name: &str) -> Result<Histograms, StoreError> {
        let (file, path) = (private::open(folder, name, Purpose::Show)?, folder.join(name));
        Ok(Histograms { file, path, block: Mutex::default() })
    }

    /// Returns the histogram at `offset`; `None` if it is torn, or of a version or layout that this
    /// iotax cannot read.
    pub fn get(&self, offset: u64) -> Option<Histogram> {
        match self.read_at(offset) {
            Ok(Stored::Whole(histogram)) => Some(histogram),
            Ok(Stored::Torn) | Err(_) => None,
        }
    }

    /// Reads the histogram at `offset`.
    ///
    /// # Errors
    /// [`StoreError::Newer`], [`StoreError::Malformed`] for a sound frame of an unknown layout or
    /// that does not decode, [`StoreError::System`].
    pub fn read_at(&self, offset: u64) -> Result<Stored, StoreError> {
        self.frame(offset, MAGIC, LAYOUT, |payload| {
            Histogram::decode(payload).map_err(|error| error.to_string())
        })
        .map(|histogram| histogram.map_or(Stored::Torn, Stored::Whole))
    }

    /// Returns the short slices at `offset`; `None` as in [`Histograms::get`].
    pub fn series(&self, offset: u64) -> Option<Vec<ShortSlice>> {
        let decode =
            |payload: &[u8]| decode_series(payload).ok_or_else(|| "a number is cut off".to_owned());
        self.frame(offset, SERIES_MAGIC, SERIES_LAYOUT, decode).ok().flatten()
    }

    /// Reads the frame at `offset` with `decode`; `None` if it is torn or of another kind. Fails as
    /// [`Histograms::read_at`].
    fn frame<T>(
        &self,
        offset: u64,
        magic: &[u8; 4],
        layout: u16,
        decode: impl Fn(&[u8]) -> Result<T, String>,
    ) -> Result<Option<T>, StoreError> {
        let mut block = self.block.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(header) = self.frame_bytes(&mut block, offset, HEADER_LEN)? else {
            return Ok(None);
        };
        let mut fixed = [0u8; HEADER_LEN];
        fixed.copy_from_slice(header);
        let length = u32::from_le_bytes([fixed[8], fixed[9], fixed[10], fixed[11]]) as usize;
        if &fixed[..4] != magic || length > PAYLOAD_LIMIT {
            return Ok(None);
        }
        let at = offset.saturating_add(HEADER_LEN as u64);
        let Some(payload) = self.frame_bytes(&mut block, at, length)? else { return Ok(None) };
        if crc_of(&fixed[..12], payload).to_le_bytes() != fixed[12..] {
            return Ok(None);
        }
        self.check_layout(&fixed, layout)
            .and_then(|()| decode(payload).map_err(|cause| self.malformed(cause)))
            .map(Some)
    }

    fn malformed(&self, cause: String) -> StoreError {
        StoreError::Malformed { path: self.path.clone(), line: 0, kind: "histogram".into(), cause }
    }

    fn check_layout(&self, header: &[u8; HEADER_LEN], known: u16) -> Result<(), StoreError> {
        let version = u16::from_le_bytes([header[4], header[5]]);
        if version > VERSION {
            return Err(StoreError::Newer { path: self.path.clone(), theirs: u32::from(version) });
        }
        let layout = u16::from_le_bytes([header[6], header[7]]);
        if layout != known {
            return Err(self.malformed(format!("bucket layout {layout} is unknown")));
        }
        Ok(())
    }

    /// Returns the `length` bytes from `offset`; `None` if the file ends before.
    fn frame_bytes<'b>(
        &self,
        block: &'b mut Block,
        offset: u64,
        length: usize,
    ) -> Result<Option<&'b [u8]>, StoreError> {
        if !block.holds(offset, length) {
            let Some(file) = &self.file else {
                return Ok(None);
            };
            block
                .fill(file, offset, length.max(READ_AHEAD))
                .map_err(|error| StoreError::system("read", &self.path, error))?;
        }
        Ok(block.buffered_bytes(offset, length))
    }
}

impl Block {
    fn holds(&self, offset: u64, length: usize) -> bool {
        self.buffered_bytes(offset, length).is_some()
    }

    fn buffered_bytes(&self, offset: u64, length: usize) -> Option<&[u8]> {
        let from = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        self.bytes.get(from..from.checked_add(length)?)
    }

    fn fill(&mut self, file: &File, offset: u64, length: usize) -> io::Result<()> {
        self.start = offset;
        self.bytes.resize(length, 0);
        let mut filled = 0;
        while filled < length {
            match file.read_at(&mut self.bytes[filled..], offset.saturating_add(filled as u64)) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Offsets beyond the size limit of files come from a damaged index.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => break,
                Err(error) => return Err(error),
            }
        }
        self.bytes.truncate(filled);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn some(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    fn stored(bytes: &[u8]) -> (tempfile::TempDir, Histograms) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        std::fs::write(&path, bytes).unwrap();
        let histograms = Histograms::open(dir.path(), "s").unwrap();
        (dir, histograms)
    }

    #[test]
    fn frames_are_found_in_any_order_and_beyond_the_block() {
        let frames: Vec<Histogram> = (0..400)
            .map(|i| some(&(0..500).map(|j| (j * 7919 + i) * 37).collect::<Vec<_>>()))
            .collect();
        let mut bytes = Vec::new();
        let offsets: Vec<u64> = frames
            .iter()
            .map(|frame| {
                let at = bytes.len() as u64;
                bytes.extend(encode(frame));
                at
            })
            .collect();
        assert!(bytes.len() > 300 << 10);
        let (_dir, histograms) = stored(&bytes);
        for at in (0..400).rev().chain(0..400) {
            assert_eq!(histograms.read_at(offsets[at]).unwrap(), Stored::Whole(frames[at].clone()));
        }
    }

    #[test]
    fn torn_newer_and_foreign() {
        let good = encode(&some(&[5, 1000]));
        let (_dir, cut) = stored(&good[..good.len() - 1]);
        assert_eq!(cut.read_at(0).unwrap(), Stored::Torn);
        for beyond in [1, 9999, u64::MAX, u64::MAX / 2 + 3] {
            assert_eq!(cut.read_at(beyond).unwrap(), Stored::Torn, "{beyond}");
        }
        let empty = tempfile::tempdir().unwrap();
        let missing = Histograms::open(empty.path(), "s").unwrap();
        assert_eq!(missing.read_at(0).unwrap(), Stored::Torn);
        let with = |at: usize| {
            let mut bytes = good.clone();
            bytes[at] = 2;
            let crc = crc_of(&bytes[..12], &bytes[16..]);
            bytes[12..16].copy_from_slice(&crc.to_le_bytes());
            let (_dir, histograms) = stored(&bytes);
            histograms.read_at(0).unwrap_err().to_string()
        };
        assert!(with(4).contains("format 2"), "{}", with(4));
        assert!(with(6).contains("layout 2"), "{}", with(6));
    }

    #[test]
    fn short_slices_take_few_bytes_and_come_back() {
        let slice = |i: u64| ShortSlice {
            worker: (i % 4) as usize,
            start_ns: 81_234_567_890 + i * 1_212_345,
            window_ns: 1_000_000 + i * 37 % 60_000,
            ios: 20,
            took_ns: 1_200_000,
        };
        let slices: Vec<ShortSlice> = (0..500).map(slice).collect();
        let bytes = encode_series(&slices);
        assert!(bytes.len() < 500 * 16, "{}", bytes.len());
        let (_dir, stored_there) = stored(&bytes);
        assert_eq!(stored_there.series(0).unwrap(), slices);
        assert_eq!((stored_there.get(0), stored_there.series(1)), (None, None), "no histogram");
        let (_dir, cut) = stored(&bytes[..bytes.len() - 1]);
        assert_eq!(cut.series(0), None);
        let widest =
            ShortSlice { start_ns: u64::MAX, window_ns: u64::MAX, ios: u64::MAX, ..slice(0) };
        let (_dir, wide) = stored(&encode_series(&[widest]));
        assert_eq!(wide.series(0).unwrap(), [widest]);
    }

    proptest! {
        #[test]
        fn a_flipped_bit_is_never_a_result(bit in any::<prop::sample::Index>()) {
            let mut bytes = encode(&some(&[1, 90_000, 7_000_000]));
            let bit = bit.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            let (_dir, histograms) = stored(&bytes);
            prop_assert_eq!(histograms.read_at(0).unwrap(), Stored::Torn);
        }
    }
}
