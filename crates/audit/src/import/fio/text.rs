//! fio's normal text.

use crate::import::{Format, Found};
use crate::page::Page;

/// The format's entry in the family.
pub const FORMAT: Format = Format {
    name: "fio text",
    help: "fio's normal output, 2.x to 3.4x: blocks, result lines alone, client mode",
    example: "",
    begins: |_| false,
    read,
};

fn read(_page: &Page, _line: usize) -> Option<Found> {
    None
}
