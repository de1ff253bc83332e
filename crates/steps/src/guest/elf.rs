//! The little of ELF that a guest needs: a named section of a kernel module, and a program without its
//! debugging sections. Only 64-bit little-endian files; anything else is refused, never guessed at.

use anyhow::{Context, Result, ensure};

/// The bytes of a section; `None` when the file has no section of that name.
///
/// # Errors
/// Not ELF64 little-endian, or a table that points outside the file.
pub fn section<'a>(file: &'a [u8], name: &str) -> Result<Option<&'a [u8]>> {
    let header = Header::read(file)?;
    let names = header.section(file, u64::from(header.names_index))?;
    let names = slice(file, names.offset, names.bytes)?;
    for index in 0..u64::from(header.section_count) {
        let section = header.section(file, index)?;
        if text_at(names, section.name) == Some(name.as_bytes()) {
            return slice(file, section.offset, section.bytes).map(Some);
        }
    }
    Ok(None)
}

/// The program without what follows its last loadable segment (debug information, symbols, section
/// table), which is what the kernel maps. A tenth of the size for a build with debug information,
/// and a guest has to unpack it.
///
/// # Errors
/// Not ELF64 little-endian, dynamically linked, or a table that points outside the file.
pub fn loadable(file: &[u8]) -> Result<Vec<u8>> {
    let header = Header::read(file)?;
    let mut end = header.segments_end()?;
    for index in 0..u64::from(header.segment_count) {
        let at = header.segments_at.saturating_add(index * u64::from(header.segment_size));
        ensure!(
            u32_at(file, at)? != SEGMENT_INTERPRETER,
            "the program is dynamically linked: it needs a loader and libraries"
        );
        let (offset, bytes) = (u64_at(file, at.saturating_add(8))?, u64_at(file, at.saturating_add(32))?);
        end = end.max(offset.checked_add(bytes).context("a segment ends beyond 2^64")?);
    }
    let mut kept = slice(file, 0, end)?.to_vec();
    kept[SECTIONS_AT..SECTIONS_AT + 8].fill(0);
    kept[SECTION_COUNT..SECTION_COUNT + 4].fill(0); // the count and the index of the names
    Ok(kept)
}

/// Whether the section has a note of that owner and type.
///
/// # Errors
/// As [`section`].
pub fn has_note(file: &[u8], name: &str, owner: &str, kind: u32) -> Result<bool> {
    let Some(notes) = section(file, name)? else {
        return Ok(false);
    };
    let mut at = 0;
    while let (Ok(owner_bytes), Ok(content), Ok(own_kind)) =
        (u32_at(notes, at), u32_at(notes, at + 4), u32_at(notes, at + 8))
    {
        let own = slice(notes, at + 12, u64::from(owner_bytes))?;
        if own_kind == kind && own.strip_suffix(b"\0") == Some(owner.as_bytes()) {
            return Ok(true);
        }
        at += 12 + u64::from(owner_bytes).next_multiple_of(4) + u64::from(content).next_multiple_of(4);
    }
    Ok(false)
}

const SEGMENT_INTERPRETER: u32 = 3;
const SECTIONS_AT: usize = 40;
const SECTION_COUNT: usize = 60;

struct Header {
    segments_at: u64,
    segment_size: u16,
    segment_count: u16,
    sections_at: u64,
    section_size: u16,
    section_count: u16,
    names_index: u16,
}

struct Section {
    name: u32,
    offset: u64,
    bytes: u64,
}

impl Header {
    fn read(file: &[u8]) -> Result<Header> {
        ensure!(file.starts_with(b"\x7fELF\x02\x01"), "not a 64-bit little-endian ELF file");
        Ok(Header {
            segments_at: u64_at(file, 32)?,
            sections_at: u64_at(file, SECTIONS_AT as u64)?,
            segment_size: u16_at(file, 54)?,
            segment_count: u16_at(file, 56)?,
            section_size: u16_at(file, 58)?,
            section_count: u16_at(file, SECTION_COUNT as u64)?,
            names_index: u16_at(file, 62)?,
        })
    }

    fn segments_end(&self) -> Result<u64> {
        let bytes = u64::from(self.segment_size) * u64::from(self.segment_count);
        self.segments_at.checked_add(bytes).context("the segment table ends beyond 2^64")
    }

    fn section(&self, file: &[u8], index: u64) -> Result<Section> {
        let at = self
            .sections_at
            .checked_add(index * u64::from(self.section_size))
            .context("the section table ends beyond 2^64")?;
        let entry = slice(file, at, 64)?;
        Ok(Section { name: u32_at(entry, 0)?, offset: u64_at(entry, 24)?, bytes: u64_at(entry, 32)? })
    }
}

fn slice(file: &[u8], offset: u64, bytes: u64) -> Result<&[u8]> {
    let range =
        usize::try_from(offset).ok().zip(offset.checked_add(bytes).and_then(|end| usize::try_from(end).ok()));
    range
        .and_then(|(begin, end)| file.get(begin..end))
        .context("a table of the ELF file points outside of it")
}

fn array<const N: usize>(file: &[u8], offset: u64) -> Result<[u8; N]> {
    Ok(slice(file, offset, N as u64)?.try_into()?)
}

fn u16_at(file: &[u8], offset: u64) -> Result<u16> {
    array(file, offset).map(u16::from_le_bytes)
}

fn u32_at(file: &[u8], offset: u64) -> Result<u32> {
    array(file, offset).map(u32::from_le_bytes)
}

fn u64_at(file: &[u8], offset: u64) -> Result<u64> {
    array(file, offset).map(u64::from_le_bytes)
}

fn text_at(names: &[u8], offset: u32) -> Option<&[u8]> {
    let rest = names.get(usize::try_from(offset).ok()?..)?;
    rest.split(|byte| *byte == 0).next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn this_test_program_still_runs_without_its_sections() {
        use std::os::unix::fs::PermissionsExt;
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(section(&own, ".text").unwrap().is_some_and(|text| text.len() > 1000));
        assert!(section(&own, ".no-such").unwrap().is_none());
        let kept = loadable(&own).unwrap();
        assert!(kept.len() < own.len());
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("kept");
        std::fs::write(&path, kept).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).unwrap();
        let output = std::process::Command::new(&path).arg("--list").output().unwrap();
        assert!(output.status.success());
        assert!(String::from_utf8_lossy(&output.stdout).contains("this_test_program_still_runs"));
    }

    #[test]
    fn other_files_are_refused() {
        assert!(section(b"MZ", ".text").unwrap_err().to_string().contains("not a 64-bit"));
        if let Ok(shell) = std::fs::read("/bin/bash") {
            assert!(loadable(&shell).unwrap_err().to_string().contains("dynamically linked"));
        }
        assert!(loadable(b"\x7fELF\x02\x01").unwrap_err().to_string().contains("outside"));
    }

    proptest! {
        #[test]
        fn garbage_never_panics(tail in proptest::collection::vec(any::<u8>(), 0..300)) {
            let file = [b"\x7fELF\x02\x01".as_slice(), &tail].concat();
            let _ = section(&file, ".modinfo");
            let _ = loadable(&file);
            let _ = has_note(&file, "", "Xen", 18);
        }
    }
}
