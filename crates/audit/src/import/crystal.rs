//! CrystalDiskMark's text, versions 3 to 8: a line a test, `SEQ 1MiB (Q=  8, T= 1):  3497.230 MB/s [   3335.2 IOPS] <  2395.08 us>`
//! below `[Read]` and `[Write]`, or `Sequential Read (Q= 32,T= 1) :   560.1 MB/s`. Its MB are of 1,000,000.

use super::cut::{Line, size, walk};
use super::sheet::*;
use super::{Format, Found, Way, Workload};
use crate::claim::Metric;
use crate::page::Page;

pub(crate) const FORMAT: Format = Format {
    name: "CrystalDiskMark",
    example: include_str!("../../fixtures/crystal/eight.txt"),
    begins: |line| {
        let line = line.trim();
        matches!(line, "[Read]" | "[Write]")
            || (KINDS.iter().any(|kind| line.starts_with(kind)) && line.contains("MB/s"))
    },
    read,
};

const KINDS: [&str; 4] = ["SEQ", "RND", "Sequential ", "Random "];

fn read(page: &Page, line: usize) -> Option<Found> {
    let (mut sheets, mut section) = (Vec::<Sheet>::new(), None);
    let end = walk(page, line, page.len(), |here, at| {
        let heads = [("", section), ("[Read]", Some(Way::Read)), ("[Write]", Some(Way::Write))];
        if let Some((_, way)) = heads.into_iter().find(|(head, _)| *head == here.text.trim()) {
            section = way;
            // A page of nothing but heads is read once.
            return (!sheets.is_empty() || at <= line + 1).then_some(false);
        }
        sheets.push(test(here, at, section)?);
        Some(true)
    });
    Found::sheets(sheets, end)
}

fn test(line: &Line, at: usize, section: Option<Way>) -> Option<Sheet> {
    let (head, rest) = line.text.split_once(':')?;
    let kind = KINDS.iter().find(|kind| head.trim_start().starts_with(*kind))?;
    let way = match () {
        () if head.contains("Read") => Way::Read,
        () if head.contains("Write") => Way::Write,
        () if head.contains("Mix") => Way::Both,
        () => section?,
    };
    let mut sheet = Sheet::new(at, Some(way));
    let (bandwidth, rest) = line.number(rest, 1e6)?;
    sheet.add(Metric::Bandwidth, named(BANDWIDTH, "MB/s", bandwidth));
    let rest = rest.trim_start().strip_prefix("MB/s")?;
    let scale = if rest.contains("kIOPS") { 1e3 } else { 1.0 };
    if let Some((iops, _)) = rest.split_once('[').and_then(|(_, rest)| line.number(rest, scale)) {
        sheet.add(Metric::Iops, named(IOPS, "IOPS", iops));
    }
    if let Some((mean, _)) = rest.split_once('<').and_then(|(_, rest)| line.number(rest, 1e3)) {
        sheet.add(Metric::Latency, named(MEAN, "us", mean));
    }
    let number = |keys: [&str; 2]| {
        let rest = keys.iter().find_map(|key| Some(head.split_once(key)?.1))?;
        rest.trim_start().split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
    };
    let random = matches!(*kind, "RND" | "Random ");
    let word = match way {
        Way::Read => "read",
        Way::Write => "write",
        _ => "rw",
    };
    let name = head.split_whitespace().collect::<Vec<_>>().join(" ");
    sheet.workload = Workload {
        rw: Some(if random { format!("rand{word}") } else { word.to_owned() }),
        bs: head.split([' ', '(']).filter(|word| word.ends_with('B')).find_map(size),
        iodepth: number(["Q=", "QD="]).or(Some(1)),
        numjobs: number(["T=", "T ="]).or(Some(1)),
        name: Some(name),
        ..Workload::default()
    };
    Some(sheet)
}

#[cfg(test)]
mod tests {
    use crate::rule::testing::found;

    #[test]
    fn thousands_of_ios_are_read_as_such() {
        let page = include_str!("../../fixtures/crystal/eight.txt");
        assert_eq!(found(page, "X29"), []);
        assert!(!found(&page.replace(" IOPS]", " kIOPS]"), "X29").is_empty());
    }
}
