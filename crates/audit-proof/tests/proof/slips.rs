//! How many slips the audit finds: a digit changed, two digits swapped, a unit changed, in every
//! figure of real samples, one at a time. The samples are outputs of our own runs, what others
//! published, and tables, lists and sentences in the shapes in which people publish them. Which
//! figures something on the page gives is said by hand (`partners.tsv`), not by the audit; of
//! outputs, by what their tool prints twice over. The others are counted apart: nobody can tell
//! that they are wrong.

use iotax_audit::audit::{Audited, audit};
use iotax_audit::claim::{ClaimKind, Metric};
use iotax_audit::finding::Severity;
use iotax_audit::page::{AuditedPage, TextSpan};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// Where a figure is: `output`, `table`, `list` or `sentence`, and whether something on its page
/// gives it.
pub type Place = (&'static str, bool);

/// Slips that were made and those that were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub made: usize,
    /// Found, as a wrong figure or a wrong conclusion in its line or of its line.
    pub found: usize,
}

#[derive(Debug, Default)]
pub struct Measured {
    pub slips: BTreeMap<Place, Count>,
    /// Wrong figures and conclusions that the samples have as they are, by file and line: of each
    /// somebody must have looked.
    pub unslipped: Vec<String>,
    pub samples: usize,
}

/// Measures on all samples of a folder of fixtures.
///
/// # Panics
/// Where a sample cannot be read.
pub fn measure(fixtures: &Path) -> Measured {
    let mut measured = Measured::default();
    let partners = partners(&read(&fixtures.join("people/partners.tsv")));
    for folder in ["pool", "people", "published"] {
        for path in files(&fixtures.join(folder)) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !name.ends_with(".tsv") {
                sample(&name, &read(&path), folder, &partners, &mut measured);
            }
        }
    }
    measured
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries =
        std::fs::read_dir(folder).unwrap_or_else(|why| panic!("{}: {why}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
    files.sort();
    files
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// File, line, figure -> place.
type Partners = BTreeMap<(String, usize, String), &'static str>;

fn partners(text: &str) -> Partners {
    let fields = |line: &str| {
        let [file, place, line, figure]: [&str; 4] =
            line.split('\t').collect::<Vec<_>>().try_into().ok()?;
        let place = ["table", "list", "sentence"].into_iter().find(|known| *known == place)?;
        Some(((file.to_owned(), line.parse().ok()?, figure.to_owned()), place))
    };
    text.lines().filter_map(fields).collect()
}

/// What is wrong in a page: rule, line and printed figure, with the lines that it concerns.
fn wrong(audited: &Audited) -> BTreeMap<(&'static str, u32, String), BTreeSet<u32>> {
    let is_wrong = |severity| matches!(severity, Severity::WrongFigure | Severity::WrongConclusion);
    let wrong = audited.findings.iter().filter(|finding| is_wrong(finding.severity));
    wrong
        .map(|finding| {
            let lines =
                finding.operands.iter().chain([&finding.spot]).map(|spot| spot.line).collect();
            ((finding.rule, finding.spot.line, finding.printed.clone()), lines)
        })
        .collect()
}

fn sample(name: &str, text: &str, folder: &str, partners: &Partners, measured: &mut Measured) {
    let sound = audit(AuditedPage::new(name, text));
    let before = wrong(&sound);
    measured.samples += 1;
    measured.unslipped.extend(
        before.keys().map(|(rule, line, figure)| format!("{name}:{} {rule} {figure}", line + 1)),
    );
    for (spot, place) in figures(&sound, folder, partners) {
        let line = sound.page.line_text(spot.index());
        let printed = &line[spot.start as usize..spot.end as usize];
        for slipped in slips(printed) {
            let changed =
                format!("{}{slipped}{}", &line[..spot.start as usize], &line[spot.end as usize..]);
            let lines = (0..sound.page.len())
                .map(|at| if at == spot.index() { &changed } else { sound.page.line_text(at) });
            let after = wrong(&audit(AuditedPage::new(name, lines.collect::<Vec<_>>().join("\n"))));
            let new = after.iter().filter(|(key, _)| !before.contains_key(*key));
            let found = new.into_iter().any(|(_, lines)| lines.contains(&spot.line));
            let count = measured.slips.entry(place).or_default();
            count.made += 1;
            count.found += usize::from(found);
        }
    }
}

/// The figures of a sample with where they stand: of outputs each tenth, since a page of fio has a
/// hundred.
fn figures(sound: &Audited, folder: &str, partners: &Partners) -> Vec<(TextSpan, Place)> {
    let mut figures = BTreeMap::new();
    for (at, claim) in sound.claims.iter().enumerate() {
        let line = sound.page.line_text(claim.spot.index());
        let printed = &line[claim.spot.start as usize..claim.spot.end as usize];
        let digits: String = printed
            .trim_start_matches(['-', '−', '+'])
            .chars()
            .take_while(|letter| is_number(*letter))
            .collect();
        let label = (
            sound.page.name.clone(),
            claim.spot.index() + 1,
            digits.trim_end_matches(['.', ',']).to_owned(),
        );
        let place = match (claim.kind, partners.get(&label)) {
            (_, Some(place)) => (*place, true),
            (ClaimKind::Raw, _) if at % 10 != 0 => continue,
            (ClaimKind::Raw, _) => ("output", is_printed_twice(claim.metric)),
            // What others published is not labelled: its tables are measured by the pages of
            // `people`.
            _ if folder == "published" => continue,
            (ClaimKind::Prose, _) => ("sentence", false),
            _ => ("table", false),
        };
        figures.insert(claim.spot, place);
    }
    figures.into_iter().collect()
}

fn is_number(letter: char) -> bool {
    letter.is_ascii_digit() || matches!(letter, '.' | ',')
}

/// Whether tools print enough to compute a figure of this kind again.
fn is_printed_twice(metric: Metric) -> bool {
    matches!(
        metric,
        Metric::Iops | Metric::Bandwidth | Metric::Total | Metric::Issued | Metric::Runtime
    )
}

/// A figure with one digit changed, with two neighbours swapped, and in another unit; each by more
/// than three percent.
pub fn slips(printed: &str) -> Vec<String> {
    let value = |text: &str| text.replace(',', "").parse::<f64>().ok();
    let from = printed.find(|letter: char| letter.is_ascii_digit()).unwrap_or(0);
    let to =
        printed[from..].find(|letter| !is_number(letter)).map_or(printed.len(), |at| from + at);
    let (sign, number, unit) = (&printed[..from], &printed[from..to], &printed[to..]);
    let Some(old) = value(number).filter(|old| *old != 0.0) else { return Vec::new() };
    let far = |text: &String| value(text).is_some_and(|new| (new - old).abs() > 0.03 * old.abs());
    let digits: Vec<usize> = number
        .bytes()
        .enumerate()
        .filter(|(_, byte)| byte.is_ascii_digit())
        .map(|(at, _)| at)
        .collect();
    let changed = digits.iter().rev().map(|at| {
        let digit = (number.as_bytes()[*at] - b'0' + 5) % 10;
        format!("{}{digit}{}", &number[..*at], &number[at + 1..])
    });
    let swapped = digits.windows(2).map(|pair| {
        let mut bytes = number.as_bytes().to_vec();
        bytes.swap(pair[0], pair[1]);
        String::from_utf8(bytes).unwrap_or_default()
    });
    let numbers = [changed.into_iter().find(far), swapped.into_iter().find(far)];
    let mut all: Vec<String> =
        numbers.into_iter().flatten().map(|new| format!("{sign}{new}{unit}")).collect();
    const UNITS: [(&str, &str); 6] = [
        ("MB/s", "GB/s"),
        ("GB/s", "MB/s"),
        ("MiB/s", "KiB/s"),
        ("us", "ms"),
        ("ms", "us"),
        ("k", "M"),
    ];
    let other = UNITS.iter().find(|(one, _)| unit.trim_start().starts_with(one));
    all.extend(other.map(|(one, other)| format!("{sign}{number}{}", unit.replacen(one, other, 1))));
    all
}

impl Measured {
    /// As a table of Markdown.
    pub fn table(&self) -> String {
        let mut out = String::from(
            "| where | something gives it | slips | found | share |\n|---|---|---|---|---|\n",
        );
        for ((place, partner), Count { made, found }) in &self.slips {
            let share = 100.0 * *found as f64 / *made as f64;
            let partner = if *partner { "yes" } else { "no" };
            let _ = writeln!(out, "| {place} | {partner} | {made} | {found} | {share:.0} % |");
        }
        out
    }

    /// The slips of a place whose figures something gives.
    pub fn of(&self, place: &'static str) -> Count {
        self.slips.get(&(place, true)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_move_a_figure_and_keep_its_shape() {
        assert_eq!(slips("-15.7%"), ["-15.2%", "-51.7%"]);
        assert_eq!(slips("98.8 MB/s"), ["93.8 MB/s", "89.8 MB/s", "98.8 GB/s"].map(str::to_owned));
        assert_eq!(slips("412k"), ["462k", "142k", "412M"]);
    }
}
