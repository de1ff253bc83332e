//! Headings of a page: marked ones, numbered ones, and short lines that stand alone. They name the
//! systems of outputs, and distinguish tables that have the same heads.

use super::labels::{LabelMeaning, read_label};
use iotax_audit::audit::Audited;
use iotax_audit::number::quantities;
use iotax_audit::page::AuditedPage;
use std::cell::OnceCell;

/// Rank of a short line without a mark, below every marked heading.
const SHORT: u8 = 9;
/// Longest heading in characters.
const LONGEST: usize = 60;
/// Most headings that a place has.
const MOST: usize = 8;

#[derive(Debug)]
pub(super) struct PageHeading {
    /// Index of the line.
    pub line: usize,
    /// 1 for a title, more for those below.
    pub rank: u8,
    pub text: String,
    meaning: OnceCell<LabelMeaning>,
}

impl PageHeading {
    /// Returns what the heading says of system and load. It is read once.
    pub fn meaning(&self) -> &LabelMeaning {
        self.meaning.get_or_init(|| read_label(&self.text))
    }
}

pub(super) struct HeadingList {
    all: Vec<PageHeading>,
}

impl HeadingList {
    pub fn of_page(audited: &Audited) -> HeadingList {
        let (page, taken) = (&audited.page, taken_lines(audited));
        let mut is_fenced = false;
        let all = (0..page.len()).filter_map(|line| {
            let text = page.line_text(line).trim();
            is_fenced ^= text.starts_with("```");
            let (rank, text) = heading(text).filter(|_| !taken[line] && !is_fenced)?;
            Some(PageHeading { line, rank, text: text.to_owned(), meaning: OnceCell::new() })
        });
        HeadingList { all: all.collect() }
    }

    /// Returns the headings above a line, the nearest first, each of a higher rank than the one
    /// before it.
    pub fn above(&self, line: usize) -> impl Iterator<Item = &PageHeading> {
        let end = self.all.partition_point(|heading| heading.line < line);
        let mut rank = SHORT + 1;
        let higher = move |heading: &&PageHeading| {
            let is_higher = heading.rank < rank;
            rank = rank.min(heading.rank);
            is_higher
        };
        self.all[..end].iter().rev().take(2000).filter(higher).take(MOST)
    }

    /// Returns the headings and short lines above a line, the nearest first, whatever their rank.
    pub fn near(&self, line: usize) -> impl Iterator<Item = &PageHeading> {
        let end = self.all.partition_point(|heading| heading.line < line);
        self.all[..end].iter().rev().take(MOST)
    }
}

/// Returns true for each line that belongs to an output or a table.
pub(super) fn taken_lines(audited: &Audited) -> Vec<bool> {
    let mut taken = vec![false; audited.page.len()];
    let outputs = audited.outputs.iter().map(|output| output.lines.clone());
    for lines in outputs.chain(audited.tables.iter().map(|table| table.lines.clone())) {
        let end = lines.end.min(taken.len());
        taken[lines.start.min(end)..end].fill(true);
    }
    taken
}

/// Returns the title: that of the front matter, or the first line if it is short; else the name of
/// the file.
pub(super) fn page_title(page: &AuditedPage) -> &str {
    const FIRST_LINES: usize = 12;
    const LONGEST_TITLE: usize = 160;
    let lines = || (0..page.len().min(FIRST_LINES)).map(|line| page.line_text(line).trim());
    let is_plain = |text: &&str| {
        !text.is_empty() && text.chars().take(LONGEST_TITLE + 1).count() <= LONGEST_TITLE
    };
    let matter = lines().next().filter(|first| *first == "---").and_then(|_| {
        lines()
            .find_map(|line| line.strip_prefix("title:"))
            .map(|title| title.trim().trim_matches('"'))
    });
    let first = || {
        let first = lines().find(|line| !line.is_empty()).filter(|line| !is_command(line));
        first.map(|line| line.trim_start_matches(['#', ' ']))
    };
    matter.or_else(first).filter(is_plain).unwrap_or(file_name(page))
}

/// Returns the name of the page's file without its folder.
pub(super) fn file_name(page: &AuditedPage) -> &str {
    page.name.rsplit('/').next().unwrap_or(&page.name)
}

/// Returns rank and text of a line that is a heading.
fn heading(text: &str) -> Option<(u8, &str)> {
    let marks = text.bytes().take_while(|byte| *byte == b'#').count();
    if (1..=6).contains(&marks) && text[marks..].starts_with(' ') {
        return Some((marks as u8, text[marks..].trim().trim_end_matches('#').trim()));
    }
    let bare = text.trim_matches('*').trim_start_matches(['•', '-', '*', '>', ' ']).trim();
    let length = bare.chars().take(LONGEST + 1).count();
    if !(2..=LONGEST).contains(&length) || is_command(bare) {
        return None;
    }
    let numbers = bare.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let depth = bare[..numbers].split('.').filter(|part| !part.is_empty()).count();
    let after = &bare[numbers..];
    let is_numbered = depth > 0
        && bare[..numbers].len() <= 8
        && (bare[..numbers].contains('.') && after.starts_with(' ') || after.starts_with('、'));
    if is_numbered {
        let text = after.trim_matches([':', '：', '、', ' ']);
        return Some((2 + depth.min(5) as u8, text));
    }
    let is_sentence =
        bare.ends_with(['.', '。', ';', '；', ',', '，']) || bare.matches(['，', '。']).count() > 0;
    let has_result = quantities(0, bare).iter().any(|one| one.unit.is_of_results());
    let plain = !is_sentence && !has_result && bare.chars().any(char::is_alphabetic);
    plain.then(|| (SHORT, bare.trim_end_matches([':', '：'])))
}

/// Returns true for a line of a shell, a listing or an address.
fn is_command(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or("");
    const COMMANDS: &[&str] = &[
        "sudo", "fio", "dd", "cd", "ls", "vi", "git", "modprobe", "mdadm", "lvcreate", "vgcreate",
        "zpool", "zfs", "esxcli", "yum", "apt", "apt-get", "make", "wget", "screen", "set",
        "mkfs.xfs",
    ];
    text.starts_with(['$', '[', '<', '{', '|', '`', '/', '+', '&', '\\'])
        || text.contains(['=', '{', '`'])
        || text.contains("://")
        || text.contains(" -")
        || text.contains(".sh")
        || text.contains(".py")
        || text.starts_with("www.")
        || COMMANDS.contains(&first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_have_ranks_and_commands_are_none() {
        for (line, said) in [
            ("## Host ##", Some((2, "Host"))),
            ("2.1 MDADM", Some((4, "MDADM"))),
            ("2. iSER:", Some((3, "iSER"))),
            ("4、结果", Some((3, "结果"))),
            ("**VM:**", Some((9, "VM"))),
            ("• 虚拟机测试结果:", Some((9, "虚拟机测试结果"))),
            ("v1 (without dedup)", Some((9, "v1 (without dedup)"))),
            ("[root@x ~]# sudo fio a.fio", None),
            ("esxcli rdma iser add", None),
            ("The host is faster.", None),
            ("cache=none", None),
            ("34 Gbits/sec", None),
            ("", None),
        ] {
            assert_eq!(heading(line), said, "{line}");
        }
    }
}
