//! Buffers of one thread's I/Os: page-aligned, mapped and touched before the first slice. Write
//! buffers get data that are as compressible and as repetitive as the job asks.

use crate::data::{DataKind, Repeats, SECTOR, fill_new, kept_bytes, kept_of};
use crate::random::Random;
use crate::{Iomem, Job};
use rustix::mm::{MapFlags, ProtFlags};
use std::io;
use std::ptr::NonNull;

/// Alignment of every buffer in bytes; no device asks for more.
const ALIGN: usize = 4096;

/// Size in bytes up to which a block (or its dedupe unit) changes all its random bytes before each
/// write. In larger ones only one cache line of each sector changes: no compressor's window holds
/// two of them, and changing everything would cost as much memory traffic as the write.
const REFRESH_WHOLE: usize = 128 * 1024;

/// Maximum number of bytes changed in each sector of what is larger than [`REFRESH_WHOLE`].
const REFRESH_LINE: usize = 64;

#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferNeeds {
    /// Number of I/Os in flight.
    pub(crate) slots: u32,
    pub(crate) bs: usize,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) data: DataKind,
    pub(crate) iomem: Iomem,
}

impl BufferNeeds {
    /// Returns the needs of a thread that keeps `slots` I/Os of the job in flight.
    pub(crate) fn from_job(job: &Job, slots: u32) -> BufferNeeds {
        let (reads, writes) = (job.rw.reads(), job.rw.writes_data());
        BufferNeeds {
            slots,
            bs: job.bs as usize,
            reads,
            writes,
            data: job.data(),
            iomem: job.iomem,
        }
    }

    /// Returns the number of bytes that the buffers of one direction, reads or writes, need. `None`
    /// if it exceeds the address space.
    fn bytes_one_way(&self) -> Option<usize> {
        self.bs.checked_next_multiple_of(ALIGN)?.checked_mul(self.slots as usize)
    }

    /// Returns the bytes that will be mapped; `None` if they exceed the address space.
    pub(crate) fn mapped(&self) -> Option<usize> {
        let used = self
            .bytes_one_way()?
            .checked_mul(usize::from(self.reads) + usize::from(self.writes))?;
        let page = if self.iomem == Iomem::MmapHuge { HUGE } else { ALIGN };
        used.max(1).checked_next_multiple_of(page)
    }
}

/// Mapping that holds for each slot a buffer for reads, one for writes, or both. A read buffer is
/// never written to the target, since it may hold zeros.
pub(crate) struct Buffers {
    base: NonNull<u8>,
    mapped: usize,
    stride: usize,
    write_base: usize,
    bs: usize,
    kept: usize,
    /// Size in bytes of the units that are new or repeated as a whole.
    unit: usize,
    random: Random,
    repeats: Repeats,
    abandoned: bool,
}

impl Buffers {
    /// Maps and touches the buffers, and fills those for writes.
    ///
    /// # Errors
    /// When there is not enough memory or, for [`Iomem::MmapHuge`], there are not enough huge
    /// pages.
    pub(crate) fn new(needs: BufferNeeds, random: Random) -> io::Result<Buffers> {
        let stride = needs.bs.next_multiple_of(ALIGN);
        let mapped = needs.mapped().ok_or(io::ErrorKind::OutOfMemory)?;
        let base = match needs.iomem {
            Iomem::Malloc => map(mapped)?,
            Iomem::MmapHuge => map_huge(mapped)?,
        };
        let mut buffers = Buffers {
            base,
            mapped,
            stride,
            write_base: if needs.reads { stride * needs.slots as usize } else { 0 },
            bs: needs.bs,
            kept: kept_bytes(needs.data.compress_percent),
            unit: if needs.data.dedupe_percent > 0 {
                needs.data.unit_of(needs.bs)
            } else {
                needs.bs
            },
            repeats: Repeats::new(&needs.data, Random::new(random.clone().next(), 1)),
            random,
            abandoned: false,
        };
        if needs.writes {
            buffers.fill(needs.slots);
        }
        Ok(buffers)
    }

    #[inline]
    pub(crate) fn read_buffer(&self, slot: u32) -> *mut u8 {
        self.pointer_at(slot as usize * self.stride)
    }

    /// Makes the data of a slot's next write, and returns their buffer. They differ from the slot's
    /// last write, except for units that repeat another on purpose and for bytes that stay zero.
    #[inline]
    pub(crate) fn write_buffer(&mut self, slot: u32) -> *mut u8 {
        let start = self.pointer_at(self.write_base + slot as usize * self.stride);
        // SAFETY: `pointer_at` gives the start of a mapped stretch of `stride` >= `bs` bytes, and
        // the caller asks only for slots that have no I/O in flight, so nobody else touches it.
        let data = unsafe { std::slice::from_raw_parts_mut(start, self.bs) };
        let (kept, random) = (self.kept, &mut self.random);
        for unit in data.chunks_mut(self.unit) {
            self.repeats.next(unit, |unit| refresh(unit, kept, random.next()));
        }
        start
    }

    /// Returns the data that a slot is about to write.
    #[inline]
    pub(crate) fn pending_write(&mut self, slot: u32) -> &mut [u8] {
        // SAFETY: as in `write_buffer`.
        unsafe {
            std::slice::from_raw_parts_mut(
                self.pointer_at(self.write_base + slot as usize * self.stride),
                self.bs,
            )
        }
    }

    /// Returns the data that a slot has read, after its completion.
    #[inline]
    pub(crate) fn read_data(&self, slot: u32) -> &[u8] {
        // SAFETY: as in `write_buffer`, for the part that holds the read buffers.
        unsafe { std::slice::from_raw_parts(self.read_buffer(slot), self.bs) }
    }

    /// Returns the start of the whole mapping and its length in bytes, by which io_uring registers
    /// it.
    pub(crate) fn extent(&self) -> (*mut u8, usize) {
        (self.base.as_ptr(), self.mapped)
    }

    /// Keeps the memory mapped when this value is dropped, because the kernel may still write to
    /// it.
    pub(crate) fn abandon(&mut self) {
        self.abandoned = true;
    }

    fn pointer_at(&self, byte: usize) -> *mut u8 {
        debug_assert!(byte + self.stride <= self.mapped);
        // SAFETY: `byte` is the start of a slot inside the mapping.
        unsafe { self.base.as_ptr().add(byte) }
    }

    fn fill(&mut self, slots: u32) {
        for slot in 0..slots as usize {
            let start = self.pointer_at(self.write_base + slot * self.stride);
            // SAFETY: as in `write_buffer`; no I/O exists yet.
            let data = unsafe { std::slice::from_raw_parts_mut(start, self.bs) };
            fill_new(data, self.kept, &mut self.random);
        }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        if self.abandoned {
            return;
        }
        // SAFETY: the mapping is ours, no I/O is in flight (else it was abandoned), and nobody
        // holds a slice of it.
        let unmapped = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.mapped) };
        debug_assert!(unmapped.is_ok());
    }
}

// SAFETY: the mapping belongs to this value alone; it may move to the thread that uses it.
unsafe impl Send for Buffers {}

fn map(length: usize) -> io::Result<NonNull<u8>> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    let flags = MapFlags::PRIVATE | MapFlags::POPULATE;
    // SAFETY: a new anonymous mapping at an address of the kernel's choice aliases nothing.
    let base = unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), length, access, flags)? };
    NonNull::new(base.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

/// Bytes of a huge page on x86-64, and on ARM with pages of 4 KiB.
const HUGE: usize = 2 << 20;

/// Maps whole huge pages: reserved ones if there are enough, or else pages that the kernel makes of
/// an aligned stretch. Other pages are refused: they would measure something else than the user
/// asked for.
fn map_huge(mapped: usize) -> io::Result<NonNull<u8>> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    let reserved = MapFlags::PRIVATE | MapFlags::POPULATE | MapFlags::HUGETLB | MapFlags::HUGE_2MB;
    // SAFETY: a new anonymous mapping at an address of the kernel's choice aliases nothing.
    let base =
        unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), mapped, access, reserved) };
    let base = match base {
        Ok(base) => base.cast(),
        Err(_) => made_on_request(mapped)?,
    };
    NonNull::new(base).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

/// Maps an aligned stretch and asks the kernel to make huge pages of it. Fails, and unmaps the
/// stretch, if any part of it is not on a huge page.
fn made_on_request(mapped: usize) -> io::Result<*mut u8> {
    let access = ProtFlags::READ | ProtFlags::WRITE;
    let room = mapped.checked_add(HUGE).ok_or(io::ErrorKind::OutOfMemory)?;
    // SAFETY: as in `map`.
    let whole: *mut u8 = unsafe {
        rustix::mm::mmap_anonymous(std::ptr::null_mut(), room, access, MapFlags::PRIVATE)?
    }
    .cast();
    let before = whole.align_offset(HUGE);
    // SAFETY: `before` is less than a huge page, so `mapped` bytes of the room follow it.
    let (base, after) = unsafe { (whole.add(before), whole.add(before + mapped)) };
    for (start, length) in [(whole, before), (after, HUGE - before)] {
        // SAFETY: nobody uses these ends of the mapping made above, and they are whole pages.
        let given_back = length == 0 || unsafe { rustix::mm::munmap(start.cast(), length) }.is_ok();
        debug_assert!(given_back);
    }
    // SAFETY: the stretch is ours, and advice does not change its contents. A kernel without huge
    // pages returns an error here.
    let advised =
        unsafe { rustix::mm::madvise(base.cast(), mapped, rustix::mm::Advice::LinuxHugepage) };
    for page in (0..mapped).step_by(ALIGN) {
        // SAFETY: the byte lies in the stretch. Each page is touched so that no I/O is the first to
        // do so.
        unsafe { base.add(page).write_volatile(0) };
    }
    let huge = huge_bytes(base as usize..base as usize + mapped)?;
    if advised.is_ok() && huge >= mapped {
        return Ok(base);
    }
    // SAFETY: the stretch is ours, and nobody else has a pointer to it.
    let given_back = unsafe { rustix::mm::munmap(base.cast(), mapped) };
    debug_assert!(given_back.is_ok());
    Err(io::Error::other(format!(
        "iomem=mmaphuge: of a thread's {mapped} bytes of buffers {huge} are on huge pages; hint: sysctl vm.nr_hugepages={} for each thread, or \
         transparent huge pages on \"madvise\"",
        mapped / HUGE
    )))
}

/// Returns how many bytes of this address range are on transparent huge pages (AnonHugePages of
/// /proc/self/smaps). Of a mapping that reaches beyond the range, at most the overlap counts.
fn huge_bytes(within: std::ops::Range<usize>) -> io::Result<usize> {
    let text = std::fs::read_to_string("/proc/self/smaps")?;
    let (mut overlap, mut huge) = (0, 0);
    for line in text.lines() {
        if let Some(range) = line.split(' ').next().and_then(addresses) {
            overlap = range.end.min(within.end).saturating_sub(range.start.max(within.start));
        } else if let Some(rest) = line.strip_prefix("AnonHugePages:") {
            let kib: usize = rest.trim().trim_end_matches(" kB").parse().unwrap_or(0);
            huge += (kib << 10).min(overlap);
        }
    }
    Ok(huge)
}

/// Parses a hexadecimal address range such as `7f00-7f80`; `None` if it is none.
fn addresses(word: &str) -> Option<std::ops::Range<usize>> {
    let (start, end) = word.split_once('-')?;
    Some(usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?)
}

/// Xors the random bytes of a block or dedupe unit with a key; if it is larger than
/// [`REFRESH_WHOLE`], only the first [`REFRESH_LINE`] bytes of each sector. `kept` is the number of
/// random bytes in a full sector. The bytes stay random.
fn refresh(data: &mut [u8], kept: usize, key: u64) {
    if kept == SECTOR && data.len() <= REFRESH_WHOLE {
        return xor(data, key);
    }
    let most = if data.len() <= REFRESH_WHOLE { SECTOR } else { REFRESH_LINE };
    for sector in data.chunks_mut(SECTOR) {
        let changed = kept_of(sector.len(), kept).min(most);
        xor(&mut sector[..changed], key);
    }
}

fn xor(data: &mut [u8], key: u64) {
    let bytes = key.to_ne_bytes();
    let mut words = data.chunks_exact_mut(8);
    for word in &mut words {
        for (byte, change) in word.iter_mut().zip(bytes) {
            *byte ^= change;
        }
    }
    let rest = words.into_remainder().iter_mut();
    rest.zip(bytes).for_each(|(byte, change)| *byte ^= change);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::tests::{compressed_away, duplicates, kind};
    use std::collections::HashSet;

    fn needs(bs: usize, compress_percent: u8) -> BufferNeeds {
        let data = DataKind { compress_percent, ..DataKind::default() };
        BufferNeeds { slots: 3, bs, reads: true, writes: true, data, iomem: Iomem::Malloc }
    }

    fn written(buffers: &mut Buffers, slot: u32, bs: usize) -> Vec<u8> {
        let start = buffers.write_buffer(slot);
        // SAFETY: the slot's buffer has `bs` bytes and no I/O is in flight in this test.
        unsafe { std::slice::from_raw_parts(start, bs) }.to_vec()
    }

    fn zeros(data: &[u8]) -> usize {
        data.iter().filter(|byte| **byte == 0).count()
    }

    #[test]
    fn slots_are_aligned_and_apart() {
        let mut buffers = Buffers::new(needs(5000, 0), Random::new(1, 0)).unwrap();
        let mut starts = Vec::new();
        for slot in 0..3 {
            starts.push(buffers.read_buffer(slot) as usize);
            starts.push(buffers.write_buffer(slot) as usize);
        }
        assert!(starts.iter().all(|start| start % ALIGN == 0));
        starts.sort_unstable();
        assert!(starts.windows(2).all(|pair| pair[1] - pair[0] >= 5000));
        let (base, length) = buffers.extent();
        assert!(starts[5] + 5000 <= base as usize + length);
    }

    #[test]
    fn no_sector_is_written_twice() {
        for bs in [4096, 5000, 256 * 1024] {
            let mut buffers = Buffers::new(needs(bs, 0), Random::new(1, 0)).unwrap();
            let mut seen = HashSet::new();
            for turn in 0..20 {
                for sector in written(&mut buffers, turn % 3, bs).chunks(512) {
                    assert!(seen.insert(sector.to_vec()), "block size {bs}, turn {turn}");
                }
            }
        }
    }

    #[test]
    fn no_word_of_a_block_comes_back_in_the_next() {
        let mut buffers = Buffers::new(needs(4096, 0), Random::new(9, 4)).unwrap();
        let mut seen = HashSet::new();
        for _ in 0..50 {
            for word in written(&mut buffers, 0, 4096).chunks(8) {
                assert!(seen.insert(word.to_vec()));
            }
        }
    }

    #[test]
    fn the_wished_share_is_zeros() {
        for (percent, expected) in [(0, 16), (50, 2048), (80, 3272), (100, 4096)] {
            let mut buffers = Buffers::new(needs(4096, percent), Random::new(1, 0)).unwrap();
            for _ in 0..5 {
                let zeros = zeros(&written(&mut buffers, 1, 4096));
                assert!(zeros.abs_diff(expected) <= 30, "{zeros} at {percent} %");
            }
        }
    }

    /// All that is written by three slots in turn.
    fn all_written(bs: usize, data: DataKind, writes: u32) -> Vec<u8> {
        let needs = BufferNeeds { data, ..needs(bs, 0) };
        let mut buffers = Buffers::new(needs, Random::new(3, 1)).unwrap();
        (0..writes).flat_map(|turn| written(&mut buffers, turn % 3, bs)).collect()
    }

    #[test]
    fn what_is_written_compresses_and_repeats_as_stated() {
        for (zeros, repeated) in [(0, 0), (50, 0), (0, 40), (70, 25), (30, 100)] {
            let data = all_written(8192, kind(zeros, repeated, 0), 3000);
            let (away, found) = (compressed_away(&data, 8192), duplicates(&data, 8192));
            assert!((away - f64::from(zeros)).abs() < 2.0, "{away} of {zeros} %");
            // 3000 writes: four standard deviations are at most 3.7 points.
            assert!((found - f64::from(repeated)).abs() < 3.7, "{found} of {repeated} %");
        }
    }

    #[test]
    fn units_within_a_large_write_repeat_as_stated() {
        let data = all_written(1 << 20, kind(50, 30, 16 << 10), 40);
        let (away, found) = (compressed_away(&data, 16 << 10), duplicates(&data, 16 << 10));
        assert!((away - 50.0).abs() < 2.0 && (found - 30.0).abs() < 3.7, "{away} {found}");
    }

    #[test]
    fn huge_pages_hold_the_same_and_begin_at_one() {
        for bs in [4096, 1 << 20, (1 << 20) + 4096] {
            let needs = BufferNeeds { iomem: Iomem::MmapHuge, ..needs(bs, 0) };
            let mut buffers = match Buffers::new(needs, Random::new(1, 0)) {
                Err(error) if error.to_string().contains("on huge pages; hint: ") => {
                    println!("skipped: needs huge pages ({error})");
                    return;
                }
                buffers => buffers.unwrap(),
            };
            let (base, length) = buffers.extent();
            assert_eq!((base as usize % HUGE, length % HUGE), (0, 0));
            let starts: Vec<usize> = (0..3)
                .flat_map(|slot| {
                    [buffers.read_buffer(slot) as usize, buffers.write_buffer(slot) as usize]
                })
                .collect();
            assert!(starts.iter().all(|start| start + bs <= base as usize + length));
            assert_eq!(starts.iter().collect::<HashSet<_>>().len(), 6);
            assert!(zeros(&written(&mut buffers, 2, bs)) < bs / 64);
        }
    }

    #[test]
    fn pages_that_are_huge_are_told_from_others() {
        let small = map(HUGE).unwrap().as_ptr() as usize;
        let allowed = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled")
            .unwrap_or_default();
        if !allowed.contains("[always]") {
            assert_eq!(huge_bytes(small..small + HUGE).unwrap(), 0);
        }
        assert_eq!(addresses("7f00-7f80"), Some(0x7f00..0x7f80));
        assert_eq!(addresses("AnonHugePages:"), None);
        match made_on_request(2 * HUGE) {
            Ok(base) => {
                assert!(huge_bytes(base as usize..base as usize + 2 * HUGE).unwrap() >= 2 * HUGE)
            }
            Err(error) => println!("skipped: needs transparent huge pages ({error})"),
        }
    }

    #[test]
    fn trims_need_no_memory() {
        let trims =
            BufferNeeds { reads: false, writes: false, bs: 1 << 30, slots: 1024, ..needs(4096, 0) };
        assert_eq!(trims.mapped(), Some(ALIGN));
        let half = BufferNeeds { bs: 512, ..needs(4096, 0) };
        assert_eq!(half.mapped(), needs(4096, 0).mapped(), "a slot begins at a page");
    }

    #[test]
    fn too_much_memory_is_an_error() {
        for iomem in [Iomem::Malloc, Iomem::MmapHuge] {
            let needs = BufferNeeds { slots: u32::MAX, iomem, ..needs(usize::MAX / 8192, 0) };
            assert!(Buffers::new(needs, Random::new(1, 0)).is_err());
        }
    }
}
