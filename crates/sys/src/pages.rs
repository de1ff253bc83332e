//! Huge pages for the memory of this process.

use std::mem::MaybeUninit;

/// Bytes of a huge page of x86-64, and of ARM with pages of 4 KiB.
pub const HUGE: usize = 2 << 20;

/// Asks the kernel for huge pages for memory that was allocated but not yet touched. This is only
/// advice: a kernel without huge pages uses small ones.
pub fn ask_for_huge<T>(memory: &mut [MaybeUninit<T>]) {
    let bytes = std::mem::size_of_val(memory);
    let start: *mut u8 = memory.as_mut_ptr().cast();
    let before = start.align_offset(HUGE).min(bytes);
    let whole = (bytes - before) / HUGE * HUGE;
    if whole > 0 {
        // SAFETY: the stretch lies within memory that is borrowed alone, and advice changes nothing
        // of what is in it.
        let _ = unsafe { libc::madvise(start.add(before).cast(), whole, libc::MADV_HUGEPAGE) };
    }
}
