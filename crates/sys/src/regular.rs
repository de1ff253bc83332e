//! Reads files that somebody else wrote or named: only regular files, and only up to a limit. Such
//! a name may lead to an endless device, or to a pipe without a writer.

use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Maximum size of a file that people write by hand, or that a program wrote as its log.
pub const LONGEST_TEXT: u64 = 16 << 20;

/// Most bytes of the end of a log that an error may show.
pub const LAST_WORDS: u64 = 16 << 10;

/// Opens a regular file for reading. Opening never blocks, neither for the writer of a pipe nor for
/// a device.
///
/// # Errors
/// The file cannot be opened, or is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
    // Opening a device may have an effect, so the type is checked first.
    let is_regular = |meta: std::fs::Metadata| match meta.is_file() {
        true => Ok(()),
        false if meta.is_dir() => Err(io::Error::from(Errno::ISDIR)),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file; hint: copy its content to a file, and name that",
        )),
    };
    is_regular(std::fs::metadata(path)?)?;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    is_regular(file.metadata()?)?;
    Ok(file)
}

/// Reads a regular file of at most `limit` bytes.
///
/// # Errors
/// Fails like [`open_regular`], and if the file cannot be read or is larger.
pub fn read_regular(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    let size = file.metadata()?.len();
    read_to_limit(file, size, limit)
}

/// Reads a regular text file of at most [`LONGEST_TEXT`] bytes.
///
/// # Errors
/// Fails like [`read_regular`], and if the file is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_regular(path, LONGEST_TEXT)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not text (UTF-8)"))
}

/// Reads a stream to its end. `expected` is its length in bytes, or 0 if unknown.
///
/// # Errors
/// The stream cannot be read, there is no memory for it, or it or `expected` is larger than `limit`
/// bytes.
pub fn read_to_limit(stream: impl Read, expected: u64, limit: u64) -> io::Result<Vec<u8>> {
    let too_large = || {
        io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it is larger than {} MiB", limit >> 20),
        )
    };
    if expected > limit {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    // A failed allocation is an error like any other, and does not end this process.
    bytes.try_reserve_exact(usize::try_from(expected).unwrap_or(usize::MAX).saturating_add(1))?;
    // This also bounds a file that grows while it is read, or that reports no size.
    stream.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(too_large()) } else { Ok(bytes) }
}

/// Returns the last `most` bytes of a program's log, or all of it; empty if it cannot be read.
pub fn tail(path: &Path, most: u64) -> String {
    use std::io::{Seek, SeekFrom};
    let read = open_regular(path).and_then(|mut file| {
        let size = file.metadata()?.len();
        file.seek(SeekFrom::Start(size.saturating_sub(most)))?;
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes)?;
        Ok(bytes)
    });
    String::from_utf8_lossy(&read.unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_a_regular_file_is_read_and_no_more_of_it_than_the_limit() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("text"), "words\n").expect("write");
        symlink(at("text"), at("link")).expect("link");
        symlink("/dev/zero", at("endless")).expect("link");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            at("pipe"),
            rustix::fs::FileType::Fifo,
            0o600.into(),
            0,
        )
        .expect("a FIFO");
        let said = |name: &str| read_text(&at(name)).map_err(|error| error.to_string());
        assert_eq!(said("text").as_deref(), Ok("words\n"));
        assert_eq!(said("link").as_deref(), Ok("words\n"));
        for name in ["endless", "pipe"] {
            assert!(
                said(name).is_err_and(|why| why.starts_with("it is not a regular file; hint: ")),
                "{name}"
            );
        }
        assert_eq!(read_text(folder.path()).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        assert_eq!(read_text(&at("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
        // A sparse file takes no space on a disk, but would take memory.
        File::create(at("holes")).and_then(|file| file.set_len(1 << 40)).expect("a large file");
        assert_eq!(said("holes"), Err("it is larger than 16 MiB".into()));
        assert_eq!(read_regular(&at("text"), 6).expect("exactly the limit"), b"words\n");
        assert!(read_regular(&at("text"), 5).is_err());
        // Files of the kernel report no size.
        assert!(read_text(Path::new("/proc/self/status")).is_ok_and(|text| text.contains("VmHWM")));
        std::fs::write(at("binary"), [0xff, 0xfe]).expect("write");
        assert_eq!(said("binary"), Err("it is not text (UTF-8)".into()));
    }

    #[test]
    fn the_end_of_a_log_is_what_was_written_last() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let log = folder.path().join("log");
        assert_eq!(tail(&log, 5), "");
        std::fs::write(&log, "one\ntwo\n").expect("write");
        assert_eq!((tail(&log, 4).as_str(), tail(&log, 99).as_str()), ("two\n", "one\ntwo\n"));
    }
}
