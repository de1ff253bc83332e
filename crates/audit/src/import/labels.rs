//! Tools whose outputs consist only of lines of figures after labels, as listed in `patterns.txt`.

use super::cut::{UnnumberedLine, walk};
use super::format::{Format, ImportedOutputs, ToolReport};
use super::sheet::{BANDWIDTH, IOPS, Sheet, TIME, fitting, patterns};
use crate::page::AuditedPage;

pub(crate) const RADOS: Format = Format {
    name: "rados bench",
    example: include_str!("../../fixtures/ceph/rados-write.txt"),
    begins: |line| line.starts_with("Total time run"),
    read: |page, line| read(page, line, RADOS.name),
};

pub(crate) const RBD: Format = Format {
    name: "rbd bench",
    example: include_str!("../../fixtures/ceph/rbd-new.txt"),
    begins: |line| {
        line.starts_with("elapsed: ") || (line.starts_with("bench") && line.contains(" io_size "))
    },
    read: |page, line| read(page, line, RBD.name),
};

/// Reads an output of one result whose lines all match patterns of the tool. It ends at the pattern
/// marked as last, before a line whose figure it already has, or before a line of no pattern.
fn read(page: &AuditedPage, line: usize, tool: &str) -> Option<ImportedOutputs> {
    let patterns = patterns(tool);
    let find = |at: usize| fitting(patterns, &UnnumberedLine::from_page(page, at));
    let bare = |at: usize| find(at).is_some_and(|(pattern, _)| !pattern.has_figures());
    // Only the first of several lines without figures counts.
    if line > 0 && bare(line) && bare(line - 1) {
        return None;
    }
    let (mut sheet, mut over) = (Sheet::new(line, None), false);
    let end = walk(page, line, 1, |here, at| {
        if over || here.text.trim().is_empty() {
            return (!over).then_some(false);
        }
        let (pattern, figures) = find(at)?;
        if pattern.first_name().is_some_and(|name| sheet.get(name).is_some()) {
            return None;
        }
        sheet.line = if sheet.figures.is_empty() { at } else { sheet.line };
        sheet.add_pattern_figures(pattern, figures);
        over = pattern.is_last();
        Some(true)
    });
    let size = sheet.figure_by_name("the size of an I/O").map(|size| size.value as u64);
    sheet.workload.bs = sheet.workload.bs.or(size);
    sheet.workload.runtime_s = sheet.figure_by_name(TIME).map(|time| time.value / 1e9);
    let is_result =
        sheet.way.is_some() && (sheet.get(BANDWIDTH).is_some() || sheet.get(IOPS).is_some());
    is_result.then(|| ImportedOutputs::single_output(ToolReport::Sheets(vec![sheet]), end))
}
