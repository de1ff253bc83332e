//! Reads the named files, folders (in the order of names) and standard input into pages. One file
//! is in memory at a time. A file that is not a page is reported with the reason.

use iotax_audit::container;
use iotax_audit::page::AuditedPage;
use iotax_import::LARGEST;
use iotax_import::folder::{self, FolderEntryKind};
use iotax_sys::regular::{read_regular, read_to_limit};
use iotax_units::exit::contained;
use std::io::Result;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

pub(super) const STANDARD_INPUT: &str = "-";

/// Content of a file or of standard input.
pub(super) enum Content {
    Page(AuditedPage),
    /// The file is not a page; holds the reason.
    NoPage(String),
    /// The file cannot be read; holds the reason.
    Refused(String),
}

type PageHandler<'a> = &'a mut dyn FnMut(&str, Content) -> Result<()>;

/// Calls `handle` with the name and content of each source: a file, `-` for standard input, or
/// every file below a folder that is not hidden.
///
/// # Errors
/// Returns the errors of `handle`.
pub(super) fn each(sources: &[PathBuf], handle: PageHandler) -> Result<()> {
    for path in sources {
        let name = path.display().to_string();
        if name == STANDARD_INPUT {
            let read = read_to_limit(std::io::stdin().lock(), 0, LARGEST);
            handle("standard input", content("standard input", read))?;
            continue;
        }
        match std::fs::metadata(path) {
            Ok(meta) if meta.is_dir() => folder(path, handle)?,
            // A device may have no end.
            Ok(meta) if meta.file_type().is_block_device() || meta.file_type().is_char_device() => {
                let why = "it is a device, no page; hint: - reads standard input";
                handle(&name, Content::Refused(why.to_owned()))?;
            }
            Ok(_) => handle(&name, content(&name, read_regular(path, LARGEST)))?,
            Err(error) => handle(&name, Content::Refused(error_said(&error)))?,
        }
    }
    Ok(())
}

fn folder(top: &Path, handle: PageHandler) -> Result<()> {
    let mut any = false;
    for (path, kind) in folder::walk_below(top) {
        any = true;
        let name = path.display().to_string();
        let content = match kind {
            FolderEntryKind::File => content(&name, read_regular(&path, LARGEST)),
            FolderEntryKind::Passed(why) => Content::NoPage(why.to_owned()),
            FolderEntryKind::Unreadable(error) => Content::Refused(error_said(&error)),
        };
        handle(&name, content)?;
    }
    let none = || Content::Refused("there is no file in this folder that is not hidden".to_owned());
    if any { Ok(()) } else { handle(&top.display().to_string(), none()) }
}

fn error_said(error: &std::io::Error) -> String {
    let known = iotax_units::exit::unreadable(error).map(str::to_owned);
    known.unwrap_or_else(|| format!("it cannot be read: {error}"))
}

fn content(name: &str, read: Result<Vec<u8>>) -> Content {
    let bytes = match read {
        Ok(bytes) => bytes,
        Err(error) => return Content::Refused(error_said(&error)),
    };
    match no_text(&bytes) {
        Some(why) if !container::is_html(&bytes) => Content::NoPage(why),
        _ => match contained(|| container::page(name, bytes)) {
            Err(why) => Content::Refused(why),
            Ok(page) => Content::Page(page),
        },
    }
}

/// First bytes of a file, what they mean, and a command that makes text of it.
const MAGIC: &[(&[u8], &str)] = &[
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF-", "a PDF; hint: pdftotext -layout FILE - | iotax audit"),
    (b"\x7fELF", "a program"),
    (b"\x1f\x8b", "compressed by gzip; hint: zcat FILE | iotax audit"),
    (b"\xfd7zXZ", "compressed by xz; hint: xzcat FILE | iotax audit"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd; hint: zstdcat FILE | iotax audit"),
    (b"BZh", "compressed by bzip2; hint: bzcat FILE | iotax audit"),
    (b"PK\x03\x04", "a ZIP archive; hint: unzip it and name the folder"),
];

/// Number of bytes at the start of a file that are examined.
const LOOKED_AT: usize = 1 << 16;
/// A file is text if at most one in this many of its bytes cannot be text, such as a console's
/// escapes, or zeros that a crash left.
const ONE_OF: usize = 32;

/// Returns why bytes are not text in any encoding; `None` if they may be.
fn no_text(bytes: &[u8]) -> Option<String> {
    if let Some((_, what)) = MAGIC.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Some((*what).to_owned());
    }
    let utf16 = container::is_utf16(bytes);
    let head = &bytes[..bytes.len().min(LOOKED_AT)];
    let of_no_text =
        |byte: &&u8| matches!(**byte, 0..=6 | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f) && !utf16;
    let count = head.iter().filter(of_no_text).count();
    (count * ONE_OF > head.len())
        .then(|| format!("binary data: {count} of the first {} bytes are of no text", head.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_any_encoding_is_text_and_other_things_are_named() {
        let utf16: Vec<u8> = "\u{feff}94 %\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let gbk = b"\xd0\xb4\xcb\xf0\xca\xa7 18.4 %";
        for text in [&b""[..], b"\x1b[31m94 %\x1b[0m\r\n\tx\x08", &utf16, &utf16[2..], gbk] {
            assert_eq!(no_text(text), None);
        }
        let noise: Vec<u8> =
            (0..40_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        assert!(no_text(&noise).unwrap().starts_with("binary data: "));
        assert!(MAGIC.iter().all(|(magic, what)| no_text(magic).as_deref() == Some(*what)));
    }
}
