//! Workbooks by their parts, so that what a fuzzer changes is no archive's checksum: each part begins behind a line `=== NAME`.

use crate::container;
use std::io::{Cursor, Write};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

pub(super) fn workbook(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let parts: Vec<(&str, &str)> =
        text.split("=== ").skip(1).filter_map(|part| part.split_once('\n')).take(16).collect();
    let archive = packed(&parts, CompressionMethod::Stored);
    let container = container::ALL.iter().find(|container| (container.knows)(&archive));
    if let Some(container) = container {
        super::bytes::container(container, &archive);
    }
}

/// An archive of parts; of several with one name the first.
pub(crate) fn packed(parts: &[(&str, &str)], method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in parts {
        if writer.start_file(*name, SimpleFileOptions::default().compression_method(method)).is_ok() {
            writer.write_all(text.as_bytes()).expect("memory takes it");
        }
    }
    writer.finish().expect("memory takes it").into_inner()
}
