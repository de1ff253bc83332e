//! Decompresses modules and kernels (.xz, .zst) of distributions, up to a limit, so that a damaged
//! file cannot fill the memory.

use anyhow::{Result, ensure};
use std::io::Read;

/// Largest decompressed size in bytes: far above the largest kernel, which has some 70 MB.
const MOST: u64 = 512 << 20;

/// Decompresses one .xz stream and ignores what follows it, such as the size field of a bzImage.
///
/// # Errors
/// The stream is damaged, cut off, or larger than 512 MiB decompressed.
pub fn unpack_xz(packed: &[u8]) -> Result<Vec<u8>> {
    bounded(lzma_rust2::XzReader::new(packed, false))
}

/// Decompresses one .zst frame and ignores what follows it.
///
/// # Errors
/// The frame is damaged, cut off, or larger than 512 MiB decompressed.
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
