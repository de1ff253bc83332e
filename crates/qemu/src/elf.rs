//! Reads what guests need of ELF files: a section of a kernel module, a note, a program without its
//! debug information. Only 64-bit little-endian files; all others are refused.

use anyhow::{Context, Result, ensure};
use elf::ElfBytes;
use elf::abi::PT_INTERP;
use elf::endian::LittleEndian;
use elf::file::Class;
use elf::note::{Note, NoteIterator};

const DAMAGED: &str = "the ELF file is damaged, or a table of it points outside of it";

fn parsed(file: &[u8]) -> Result<ElfBytes<'_, LittleEndian>> {
    ensure!(file.starts_with(b"\x7fELF\x02\x01"), "not a 64-bit little-endian ELF file");
    ElfBytes::minimal_parse(file).context(DAMAGED)
}

/// Returns the bytes of a section; `None` when the file has no section of that name.
///
/// # Errors
/// Not ELF64 little-endian, or a table that points outside the file.
pub fn section<'a>(file: &'a [u8], name: &str) -> Result<Option<&'a [u8]>> {
    let file = parsed(file)?;
    let found = file.section_header_by_name(name).context(DAMAGED)?;
    found.map(|header| Ok(file.section_data(&header).context(DAMAGED)?.0)).transpose()
}

/// Returns the file up to the end of its last segment, which is all that the kernel maps: without
/// debug information, symbols and section table. A build with debug information shrinks to a tenth;
/// a guest has to unpack what is left.
///
/// # Errors
/// Not ELF64 little-endian, dynamically linked, or a table or segment that ends outside the file.
pub fn loadable(file: &[u8]) -> Result<Vec<u8>> {
    let parsed = parsed(file)?;
    let header = &parsed.ehdr;
    let table = u64::from(header.e_phentsize) * u64::from(header.e_phnum);
    let mut end = header.e_phoff.saturating_add(table).max(HEADER);
    for segment in parsed.segments().into_iter().flat_map(|segments| segments.iter()) {
        ensure!(
            segment.p_type != PT_INTERP,
            "the program is dynamically linked: it needs a loader and libraries"
        );
        end = end.max(segment.p_offset.saturating_add(segment.p_filesz));
    }
    let kept = usize::try_from(end).ok().and_then(|end| file.get(..end)).context(DAMAGED)?;
    let mut kept = kept.to_vec();
    kept[SECTIONS_AT..SECTIONS_AT + 8].fill(0);
    kept[SECTION_COUNT..SECTION_COUNT + 4].fill(0); // the count and the index of the names
    Ok(kept)
}

/// Returns true if the section exists and has a note of that owner and type.
///
/// # Errors
/// Fails like [`section`].
pub fn has_note(file: &[u8], name: &str, owner: &str, kind: u32) -> Result<bool> {
    // The kernel's notes lie at every fourth byte, whatever the section says of itself.
    let mut notes =
        NoteIterator::new(LittleEndian, Class::ELF64, 4, section(file, name)?.unwrap_or_default());
    let own = |note: Note| match note {
        Note::Unknown(note) => {
            note.n_type == u64::from(kind)
                && note.name.strip_suffix(b"\0") == Some(owner.as_bytes())
        }
        _ => false,
    };
    Ok(notes.any(own))
}

/// Size of an ELF file's header, in bytes.
const HEADER: u64 = 64;
const SECTIONS_AT: usize = 40;
const SECTION_COUNT: usize = 60;

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
        // A child that another test has just forked may still hold the file open for writing.
        let started = || std::process::Command::new(&path).arg("--list").output();
        let is_busy = |one: &std::io::Result<_>| {
            one.as_ref().is_err_and(|error| error.kind() == std::io::ErrorKind::ExecutableFileBusy)
        };
        let output = (0..100)
            .map(|_| {
                let one = started();
                if is_busy(&one) {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                one
            })
            .find(|one| !is_busy(one))
            .unwrap()
            .unwrap();
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
