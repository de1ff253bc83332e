//! Summary of an audited page, for all report formats: one sentence, one block per root cause, and
//! one line about what was not checked.

use crate::audit::Audited;
use crate::claim::{Claim, ClaimKind, Status};
use crate::finding::{Finding, Severity};
use crate::number::{NumberUnit, quantities};
use crate::page::TextSpan;
use crate::table::TableCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

#[derive(Clone, Debug)]
pub struct AuditVerdict {
    /// Number of checked figures, then the result: `8 of 19 figures checked, all 8 hold; not
    /// checked: ...`, `102 of 342 figures checked, 3 do not hold, 1 conclusion changes: 21.6 %, not
    /// 18.4 % (line 4)`.
    pub line: String,
    pub blocks: Vec<FindingBlock>,
    /// Figures that were not checked, by kind: `not checked: 5 percentages in sentences, 6 figures
    /// without operands`. Empty if all were checked, or if `line` says it.
    pub coverage: String,
    pub counts: FigureCounts,
}

/// Root cause and everything that follows from it, as indices into the page's findings.
#[derive(Clone, Debug, PartialEq)]
pub struct FindingBlock {
    pub root: usize,
    /// Findings of the same fault elsewhere on the page, and others about the same figures.
    pub also: Vec<usize>,
    /// Findings about figures that were computed from a wrong figure of this block or repeat it.
    pub consequences: Vec<usize>,
    pub severity: Severity,
}

impl FindingBlock {
    pub fn findings(&self) -> impl Iterator<Item = usize> + '_ {
        [self.root].into_iter().chain(self.also.iter().chain(&self.consequences).copied())
    }
}

/// Numbers of figures on one page or on several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FigureCounts {
    /// Figures with findings, per severity of their worst finding, in the order of `Severity::ALL`.
    pub found: [usize; Severity::ALL.len()],
    /// Wrong conclusions with a known correct value.
    pub changed: usize,
    pub checked: usize,
    /// Checked figures that are only plausible: within their bounds, but not given exactly.
    pub plausible: usize,
    /// Percentages and multiples in sentences that were compared with nothing.
    pub ratios_in_sentences: usize,
    /// Other figures in sentences that were compared with nothing.
    pub in_sentences: usize,
    pub figures: usize,
}

impl FigureCounts {
    #[must_use]
    pub fn merge_counts(mut self, other: &FigureCounts) -> FigureCounts {
        self.found.iter_mut().zip(other.found).for_each(|(own, other)| *own += other);
        self.changed += other.changed;
        self.checked += other.checked;
        self.plausible += other.plausible;
        self.ratios_in_sentences += other.ratios_in_sentences;
        self.in_sentences += other.in_sentences;
        self.figures += other.figures;
        self
    }

    pub fn count_of(&self, severity: Severity) -> usize {
        self.found[severity as usize]
    }

    /// Returns `3 do not hold, 1 conclusion changes`; `None` if nothing is wrong.
    pub fn wrong(&self) -> Option<String> {
        let (figures, conclusions) =
            (self.count_of(Severity::WrongFigure), self.count_of(Severity::WrongConclusion));
        let said = [
            (figures, "does not hold", "do not hold"),
            (self.changed, "conclusion changes", "conclusions change"),
            (conclusions - self.changed, "conclusion does not follow", "conclusions do not follow"),
        ];
        let said = said.iter().filter(|(count, ..)| *count > 0);
        let said: Vec<String> =
            said.map(|(count, one, many)| count_with_noun(*count, one, many)).collect();
        (!said.is_empty()).then(|| said.join(", "))
    }

    /// Returns `8 of 19 figures checked`.
    pub fn scope(&self) -> String {
        match (self.checked, self.figures) {
            (_, 0) => "no figure to check".to_owned(),
            (0, all) => format!("none of {} checked", count_with_noun(all, "figure", "figures")),
            (checked, all) if checked == all => {
                format!("all {} checked", count_with_noun(all, "figure", "figures"))
            }
            _ => format!("{} figures checked", self.share()),
        }
    }

    /// Returns the result for the checked figures: `all 8 hold`, `5 hold, 3 are plausible`.
    pub fn outcome(&self) -> String {
        let wrong = self.count_of(Severity::WrongFigure) + self.count_of(Severity::WrongConclusion);
        let hold = self.checked.saturating_sub(self.plausible + wrong);
        match (hold, self.plausible) {
            (1, 0) if wrong == 0 => "it holds".to_owned(),
            (hold, 0) if wrong == 0 => format!("all {} hold", grouped(hold)),
            (0, plausible) => format!("{} are plausible", grouped(plausible)),
            (hold, plausible) => {
                format!("{} hold, {} are plausible", grouped(hold), grouped(plausible))
            }
        }
    }

    /// Returns `not checked: 5 percentages in sentences, 6 figures without operands`; empty if all
    /// were checked.
    pub fn not_checked(&self) -> String {
        let sentences = self.ratios_in_sentences + self.in_sentences;
        let others = (self.figures - self.checked).saturating_sub(sentences);
        let kinds = [
            (self.ratios_in_sentences, "percentage in a sentence", "percentages in sentences"),
            (self.in_sentences, "figure in a sentence", "figures in sentences"),
            (others, "figure without operands", "figures without operands"),
        ];
        let kinds = kinds.iter().filter(|(count, ..)| *count > 0);
        let kinds: Vec<String> =
            kinds.map(|(count, one, many)| count_with_noun(*count, one, many)).collect();
        if kinds.is_empty() { String::new() } else { format!("not checked: {}", kinds.join(", ")) }
    }

    pub fn share(&self) -> String {
        format!("{} of {}", grouped(self.checked), grouped(self.figures))
    }
}

/// Returns `1 figure`, `44,400 figures`.
pub fn count_with_noun(count: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

pub fn grouped(count: usize) -> String {
    iotax_units::grouped(count as f64)
}

/// Cuts a text to at most `most` columns and marks the cut with an ellipsis. The cut is between
/// words, and not within a figure or before its unit, unless that would lose over half of the room.
/// `width` returns the columns of a character.
pub fn cut(text: &str, most: usize, width: fn(char) -> usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    let ends = chars.iter().scan(0, |end, c| {
        *end += width(*c);
        Some(*end)
    });
    let ends: Vec<usize> = ends.collect();
    if ends.last().is_none_or(|end| *end <= most) {
        return text.to_owned();
    }
    let room = ends.partition_point(|end| *end < most);
    let is_word = |c: char| c.is_ascii_graphic();
    let between_words = |at: &usize| match (&chars[..*at], chars[*at]) {
        ([.., digit, ' '], _) | ([.., digit], ' ') if digit.is_ascii_digit() => false,
        ([.., before], next) => !(is_word(*before) && is_word(next) || before.is_ascii_digit()),
        ([], _) => false,
    };
    let end = (room / 2..=room).rev().find(between_words).unwrap_or(room);
    let kept: String = chars[..end].iter().collect();
    format!("{}\u{2026}", kept.trim_end_matches([' ', ',', ';', ':']))
}

pub fn verdict(audited: &Audited) -> AuditVerdict {
    let figures = FiguresBySpot::from_all(&audited.findings);
    let blocks = group_findings(&audited.findings, &figures);
    let unchecked = audited.count_claims(Status::CannotBeChecked);
    let all = audited.claims.len();
    let plausible = audited.count_claims(Status::Plausible);
    let mut counts = FigureCounts {
        checked: all - unchecked,
        plausible,
        figures: all,
        ..FigureCounts::default()
    };
    let open =
        |claim: &&Claim| claim.kind == ClaimKind::Prose && claim.status == Status::CannotBeChecked;
    for claim in audited.claims.iter().filter(open) {
        let is_ratio = matches!(claim.unit, NumberUnit::Percent | NumberUnit::Times);
        *if is_ratio { &mut counts.ratios_in_sentences } else { &mut counts.in_sentences } += 1;
    }
    for figure in 0..figures.found.len() {
        let found =
            || figures.of_figure(figure).map(|one| (one.severity, one.recomputed.is_empty()));
        let Some((severity, unknown)) = found().min() else { continue };
        counts.found[severity as usize] += 1;
        counts.changed += usize::from(severity == Severity::WrongConclusion && !unknown);
    }
    // Figures in lines that are not results may be wrong too.
    if all == 0 {
        (counts.checked, counts.figures) = (figures.found.len(), figures.found.len());
    }
    let line = verdict_line(audited, &blocks, &counts);
    let coverage =
        Some(counts.not_checked()).filter(|text| !line.contains(text)).unwrap_or_default();
    AuditVerdict { line, coverage, blocks, counts }
}

/// Approximate length of [`AuditVerdict::line`], in columns.
const LINE: usize = 105;

fn verdict_line(audited: &Audited, blocks: &[FindingBlock], counts: &FigureCounts) -> String {
    if let (Some(wrong), Some(first)) = (counts.wrong(), blocks.first()) {
        let said = format!("{}, {wrong}", counts.scope());
        let room = LINE.saturating_sub(said.chars().count() + 2).max(LINE / 2);
        return format!("{said}: {}", lead(audited, first, room));
    }
    let mut said = match (counts.checked, counts.count_of(Severity::Cosmetic)) {
        (0, _) => format!("{}: {}", counts.scope(), why_nothing(audited)),
        (_, 0) => format!("{}, {}", counts.scope(), counts.outcome()),
        (_, slips) => {
            format!("{}, {}, {} cosmetic", counts.scope(), counts.outcome(), grouped(slips))
        }
    };
    if counts.checked > 0 && counts.checked < counts.figures {
        said += &format!("; {}", counts.not_checked());
    }
    match counts.count_of(Severity::Ambiguous) {
        0 => said,
        remarks => format!("{said}; {}", count_with_noun(remarks, "remark", "remarks")),
    }
}

/// Summarises the worst finding of a block in about `room` columns at most: `writes lose 21.6 %,
/// not 18.4 % (line 4)`.
fn lead(audited: &Audited, block: &FindingBlock, room: usize) -> String {
    let worst = block
        .findings()
        .map(|at| &audited.findings[at])
        .filter(|one| one.severity == block.severity);
    let Some(finding) = worst.min_by_key(|one| one.recomputed.is_empty()) else {
        return String::new();
    };
    let place = format!(" (line {})", audited.page.line_number(finding.spot.index()));
    let room = room.saturating_sub(place.len());
    let clause = finding.message.split(": ").next().unwrap_or_default();
    let length = |text: &str| text.chars().count();
    if finding.recomputed.is_empty() {
        let said = if length(clause) <= room { clause } else { finding.topic() };
        return cut(said, room, |_| 1) + &place;
    }
    let short = |text: &str| cut(text, LINE / 3, |_| 1);
    let change = format!("{}, not {}", short(&finding.recomputed), short(&finding.printed));
    let subject = subject(audited, finding);
    // If row and column have no room, only the column is shown.
    let subjects = [subject.as_str(), subject.rsplit(", ").next().unwrap_or_default()];
    let named = subjects.iter().filter(|subject| !subject.is_empty());
    let named = named.map(|subject| format!("{subject} {change}"));
    let message = Some(clause.to_owned()).filter(|clause| clause.contains(&finding.recomputed));
    let mut said = named.chain(message).filter(|said| length(said) <= room);
    said.next().unwrap_or(change) + &place
}

/// Returns the subject of a figure: row and column of its cell, or the words before it in its
/// clause.
fn subject(audited: &Audited, finding: &Finding) -> String {
    let (spot, line) = (finding.spot, audited.page.line_text(finding.spot.index()));
    if let Some(table) = audited.tables.iter().find(|table| table.lines.contains(&spot.index())) {
        let is_here = |cell: &TableCell| {
            let figures = cell.figure.iter().chain(cell.share.as_deref()).chain(&cell.more);
            let mut spots = figures.map(|quantity| quantity.figure.spot).chain([cell.spot]);
            spots.any(|own| own.line == spot.line && (own.start..own.end).contains(&spot.start))
        };
        let names = table.rows.iter().find_map(|row| {
            let at = row.cells.iter().position(|cell| cell.as_ref().is_some_and(is_here))?;
            Some([row.label.trim(), table.heads.get(at)?.trim()])
        });
        let names: Vec<&str> =
            names.into_iter().flatten().filter(|name| !name.is_empty()).collect();
        return if names.is_empty() { String::new() } else { names.join(", ") + ":" };
    }
    let before = line.get(..spot.start as usize).unwrap_or_default();
    let ends = |(at, c): (usize, char)| match c {
        '(' | ')' | ';' | '\u{ff0c}' | '\u{3002}' | '\u{ff1b}' | '\u{ff08}' | '\u{3001}' => true,
        ',' | '.' => !before[at + 1..].starts_with(|next: char| next.is_ascii_alphanumeric()),
        _ => false,
    };
    let start =
        before.char_indices().rfind(|one| ends(*one)).map_or(0, |(at, c)| at + c.len_utf8());
    let not_words = |c: char| c.is_whitespace() || "=:*_`>#|-+~\u{ff1a}\"".contains(c);
    let colon = if before.trim_end().ends_with([':', '\u{ff1a}']) { ":" } else { "" };
    match before[start..].trim_matches(not_words) {
        "" => String::new(),
        words => format!("{words}{colon}"),
    }
}

fn why_nothing(audited: &Audited) -> &'static str {
    match (audited.claims.len(), audited.tables.len() + audited.outputs.len()) {
        (0, _) => "it has no results in a table, an output of a known tool or a sentence",
        (_, 0) => "it has no table and no output of a known tool",
        _ => "no rule found what they are computed from; ask for the raw outputs",
    }
}

/// Findings by figure. The start of a spot identifies the figure, since some rules include the unit
/// in the spot and others do not.
struct FiguresBySpot<'a> {
    all: &'a [Finding],
    at: HashMap<(u32, u32), usize>,
    /// Indices of the findings of each figure. Figures and findings are in the order of `all`.
    found: Vec<Vec<usize>>,
}

impl<'a> FiguresBySpot<'a> {
    fn from_all(all: &'a [Finding]) -> FiguresBySpot<'a> {
        let mut figures = FiguresBySpot { all, at: HashMap::new(), found: Vec::new() };
        for (index, finding) in all.iter().enumerate() {
            let next = figures.found.len();
            let figure = *figures.at.entry(key(finding.spot)).or_insert(next);
            if figure == next {
                figures.found.push(Vec::new());
            }
            figures.found[figure].push(index);
        }
        figures
    }

    fn of_figure(&self, figure: usize) -> impl Iterator<Item = &'a Finding> + '_ {
        self.found[figure].iter().map(|index| &self.all[*index])
    }

    /// Returns true if the figure itself is wrong, not only a conclusion from it.
    fn is_wrong(&self, figure: usize) -> bool {
        let corrects = |one: &Finding| match one.severity {
            Severity::WrongConclusion => !one.recomputed.is_empty(),
            severity => severity == Severity::WrongFigure,
        };
        self.of_figure(figure).any(corrects)
    }

    /// Returns the index of the first wrong figure among the operands of a finding, if there is
    /// one.
    fn cause(&self, finding: &Finding) -> Option<usize> {
        let operands = finding.operands.iter().filter(|spot| key(**spot) != key(finding.spot));
        let mut figures = operands.filter_map(|spot| self.at.get(&key(*spot)).copied());
        figures.find(|figure| self.is_wrong(*figure))
    }

    /// Returns, for each figure, the index of the figure that caused its error: itself if no
    /// operand is wrong. If figures are operands of each other, the cause is the first of them.
    fn roots(&self) -> Vec<usize> {
        let cause = |figure: usize| self.of_figure(figure).find_map(|one| self.cause(one));
        let causes: Vec<Option<usize>> = (0..self.found.len()).map(cause).collect();
        let root = |figure: usize| {
            let mut path = vec![figure];
            while let Some(next) = causes[path[path.len() - 1]].filter(|_| path.len() < FAR) {
                if let Some(ring) = path.iter().position(|one| *one == next) {
                    return path[ring..].iter().copied().min().unwrap_or(next);
                }
                path.push(next);
            }
            path[path.len() - 1]
        };
        (0..causes.len()).map(root).collect()
    }
}

/// Limit of steps from a figure to the cause of its error.
const FAR: usize = 100;

fn key(spot: TextSpan) -> (u32, u32) {
    (spot.line, spot.start)
}

fn group_findings(findings: &[Finding], figures: &FiguresBySpot) -> Vec<FindingBlock> {
    let mut of_root: BTreeMap<usize, FindingBlock> = BTreeMap::new();
    for (figure, root) in figures.roots().into_iter().enumerate() {
        let block = of_root.entry(root).or_insert_with(|| {
            let found = figures.found[root].iter().copied();
            let first = found.min_by_key(|index| findings[*index].severity).unwrap_or_default();
            FindingBlock {
                root: first,
                also: vec![],
                consequences: vec![],
                severity: findings[first].severity,
            }
        });
        for index in figures.found[figure].iter().copied().filter(|index| *index != block.root) {
            let follows = figure != root && figures.cause(&findings[index]).is_some();
            let members = if follows { &mut block.consequences } else { &mut block.also };
            members.push(index);
            block.severity = block.severity.min(findings[index].severity);
        }
    }
    let mut blocks = alike_together(findings, of_root.into_values());
    // Shares are not negative, so their bits sort in the same order.
    blocks.sort_by_cached_key(|block| {
        let error = error(findings, block).to_bits();
        (block.severity, Reverse(block.consequences.len()), Reverse(error), block.root)
    });
    blocks
}

/// Merges blocks of one rule whose messages differ only in figures, and blocks of a wrong figure
/// that is printed again.
fn alike_together(
    findings: &[Finding],
    separate: impl Iterator<Item = FindingBlock>,
) -> Vec<FindingBlock> {
    let mut kinds: HashMap<(&str, Severity, String), usize> = HashMap::new();
    let mut figures: HashMap<(&str, &str), usize> = HashMap::new();
    let mut blocks: Vec<FindingBlock> = Vec::new();
    for block in separate {
        let root = &findings[block.root];
        let kind = (root.rule, root.severity, shape(&root.message));
        let figure = is_telling(root).then_some((root.printed.as_str(), root.recomputed.as_str()));
        let alike = kinds.get(&kind).copied();
        let again = figure.and_then(|figure| figures.get(&figure).copied());
        let into = alike.or(again).unwrap_or(blocks.len());
        kinds.entry(kind).or_insert(into);
        figure.map(|figure| figures.entry(figure).or_insert(into));
        let Some(first) = blocks.get_mut(into) else {
            blocks.push(block);
            continue;
        };
        let members = if alike.is_some() { &mut first.also } else { &mut first.consequences };
        members.push(block.root);
        first.also.extend(block.also);
        first.consequences.extend(block.consequences);
        first.severity = first.severity.min(block.severity);
    }
    for block in &mut blocks {
        block.also.sort_unstable();
        block.consequences.sort_unstable();
    }
    blocks
}

/// Returns true if a wrong figure has a known correct value, and enough digits not to equal another
/// figure by chance.
fn is_telling(finding: &Finding) -> bool {
    let digits = finding.printed.chars().filter(char::is_ascii_digit).count();
    finding.severity <= Severity::WrongFigure && !finding.recomputed.is_empty() && digits >= 3
}

/// Returns a message with `0` for each figure and its unit, so that those with `916MiB/s` and
/// `960MB/s` are equal.
fn shape(message: &str) -> String {
    let mut shape = String::with_capacity(message.len());
    for c in message.chars() {
        let c = if c.is_ascii_digit() { '0' } else { c };
        let of_figure = matches!(c, '0' | '.' | ',' | '/' | '%') || c.is_ascii_alphabetic();
        if !(of_figure && shape.ends_with('0')) {
            shape.push(c);
        }
    }
    shape
}

/// Returns the largest relative error of a printed figure in the block; 0 if no correct value is
/// known.
fn error(findings: &[Finding], block: &FindingBlock) -> f64 {
    let size = |text: &str| quantities(0, text).first().map(|quantity| quantity.figure.value);
    let off = |finding: &Finding| {
        let (printed, recomputed) = (size(&finding.printed)?, size(&finding.recomputed)?);
        Some(
            (printed - recomputed).abs()
                / printed.abs().max(recomputed.abs()).max(f64::MIN_POSITIVE),
        )
    };
    block.findings().filter_map(|index| off(&findings[index])).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests;
