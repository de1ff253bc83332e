//! Unpacks what distributions pack: modules (.xz, .zst) and kernels. Bounded, so that a damaged
//! file cannot fill the memory.

use anyhow::{Result, ensure};
use std::io::Read;

/// Most bytes that are unpacked: far above the largest kernel (some 70 MB unpacked).
const MOST: u64 = 512 << 20;

/// Unpacks one .xz stream; what follows it (a bzImage's size field) is left alone.
///
/// # Errors
/// Damaged, cut off, or far too large.
pub fn unpack_xz(packed: &[u8]) -> Result<Vec<u8>> {
    bounded(lzma_rust2::XzReader::new(packed, false))
}

/// Unpacks one .zst frame; what follows it is left alone.
///
/// # Errors
/// Damaged, cut off, or far too large.
pub fn unpack_zst(packed: &[u8]) -> Result<Vec<u8>> {
    let decoder = ruzstd::decoding::StreamingDecoder::new(packed)
        .map_err(|error| anyhow::anyhow!("zstd: {error}"))?;
    bounded(decoder)
}

fn bounded(reader: impl Read) -> Result<Vec<u8>> {
    let mut unpacked = Vec::new();
    reader.take(MOST + 1).read_to_end(&mut unpacked)?;
    ensure!(unpacked.len() as u64 <= MOST, "more than {MOST} bytes unpacked");
    Ok(unpacked)
}
