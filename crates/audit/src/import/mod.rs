//! Importers: they find the output of other tools in any text and read it into figures with their
//! spots. An importer claims the lines that it knows and no more; lines that look like its own but
//! cannot be read are listed.
//!
//! A new importer is one file with a `FORMAT` and one entry in [`ALL`] (JSON: in
//! [`json_formats::ALL`]).

pub mod command;
mod context;
mod cut;
pub mod dd;
pub mod diskspd;
pub mod fio;
pub mod format;
pub mod iperf3;
pub mod json_formats;
mod labels;
pub(crate) mod prefix;
mod printed;
pub mod sheet;
pub mod sysbench;
pub mod unixbench;
pub mod vdbench;
pub mod workload;

use crate::page::AuditedPage;
use format::{Format, PageOutputs, ToolOutput};

/// Formats that are recognised by lines. If two may begin at a line, the earlier one is tried
/// first.
pub const ALL: &[&Format] = &[
    &fio::text::FORMAT,
    &fio::terse::FORMAT,
    &iperf3::text::FORMAT,
    &command::FORMAT,
    &json_formats::FORMAT,
    &vdbench::FORMAT,
    &unixbench::FORMAT,
    &sysbench::FORMAT,
    &dd::FORMAT,
    &diskspd::FORMAT,
    &labels::RADOS,
    &labels::RBD,
];

pub fn find_outputs(page: &AuditedPage) -> PageOutputs {
    let mut imported = scan_lines(page);
    prefix::add_prefixed_outputs(page, &mut imported, scan_lines, |text| {
        ALL.iter().any(|format| (format.begins)(text))
    });
    context::attribute(&mut imported.outputs);
    imported
}

fn scan_lines(page: &AuditedPage) -> PageOutputs {
    let mut imported = PageOutputs::default();
    let mut at = 0;
    while at < page.len() {
        let bare = page.bare_line(at).0;
        let mut begun = ALL.iter().filter(|format| (format.begins)(bare));
        let found = begun.find_map(|format| Some((format.name, (format.read)(page, at)?)));
        match found {
            Some((format, found)) => {
                let end = found.end.max(at + 1);
                imported.outputs.push(ToolOutput { format, lines: at..end, said: found.said });
                imported.unread.extend(found.unread);
                at = end;
            }
            None => at += 1,
        }
    }
    imported
}
