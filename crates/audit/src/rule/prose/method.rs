//! What a page does not say of its method: M1 repeats and spread, M2 the best of several, M3 preconditioning.

use super::SpeedOfSentences;
use crate::finding::{Finding, Severity};
use crate::number::{Quantity, Unit};
use crate::page::Spot;
use crate::prose::{Clause, Manner, tells_speed};
use crate::rule::{Evidence, Rule, Sink};
use crate::table::{Row, Table};
use std::cell::{Cell, OnceCell};

/// M1: spread.
pub const SPREAD: Rule = Rule {
    id: "M1",
    name: "figures that are compared have a spread",
    severity: Severity::Ambiguous,
    holds: "a page that compares states how its figures spread over repeated runs",
    silent: "where nothing is compared or measured (a ratio of counts is not, nor what has no unit or word of speed or time near it), in release notes without results, and where a table has a spread (`+-`, stdev, a confidence interval)",
    check: spread,
};

/// M2: selection.
pub const SELECTION: Rule = Rule {
    id: "M2",
    name: "figures are not the best of several",
    severity: Severity::Ambiguous,
    holds: "no sentence says that the best of several runs was taken: a maximum is biased, the more runs the more",
    silent: "where no count of runs stands behind it (before or behind it in Chinese and Russian), and of a quotation that is asked about",
    check: selection,
};

/// M3: preconditioning.
pub const PRECONDITIONING: Rule = Rule {
    id: "M3",
    name: "writes to a flash drive start from a steady state",
    severity: Severity::Ambiguous,
    holds: "a page that shows writes to a flash drive says how the drive was preconditioned",
    silent: "where no flash drive is named, nothing is written to it (requests to a service and counters of writes are not), or preconditioning, filling or steady state is spoken of",
    check: preconditioning,
};

/// Whether a page has one of these words outside its outputs, in lower case.
fn says(evidence: &Evidence, words: &[&str]) -> bool {
    evidence.lines_outside_outputs().any(|line| {
        let lower = evidence.page.line(line).to_lowercase();
        words.iter().any(|word| lower.contains(word))
    })
}

/// Whether a figure is a rate or a time that somebody measured.
fn is_measured(figure: &Quantity) -> bool {
    use Unit::{BitsPerSecond, BytesPerSecond, Mwips, Nanoseconds, PerSecond};
    matches!(figure.unit, PerSecond | BytesPerSecond | BitsPerSecond | Mwips | Nanoseconds)
}

/// Whether a page shows anything that was measured: results of a tool, of a table, rates in sentences.
pub(super) fn measures(evidence: &Evidence) -> bool {
    let rated = || evidence.clauses.iter().flat_map(|clause| &clause.figures).any(is_rate);
    shows_results(evidence) || rated() && !tells_releases(evidence)
}

/// A time in a sentence, or one of a table of settings, mostly says how something is done.
fn is_rate(figure: &Quantity) -> bool {
    is_measured(figure) && figure.unit != Unit::Nanoseconds
}

/// Whether outputs or tables of a page have results.
fn shows_results(evidence: &Evidence) -> bool {
    let of_table = |table: &crate::table::Table| {
        let cells = || table.rows.iter().flat_map(|row| row.cells.iter().flatten());
        let figures = || cells().filter_map(|cell| cell.figure.as_ref());
        figures().any(is_rate) || figures().filter(|figure| is_measured(figure)).take(TIMES).count() == TIMES
    };
    evidence.outputs.iter().any(|output| !output.said.readings().is_empty())
        || evidence.tables.iter().any(of_table)
}

/// So many times of a table are results.
const TIMES: usize = 3;

/// Whether a page tells what is new in releases: by its headings, or by several that are versions.
fn tells_releases(evidence: &Evidence) -> bool {
    const NAMED: [&str; 8] = [
        "release notes",
        "changelog",
        "change log",
        "what's new",
        "更新日志",
        "发布说明",
        "примечания к выпуску",
        "список изменений",
    ];
    let mut versions = 0;
    for line in evidence.lines_outside_outputs() {
        let text = evidence.page.line(line);
        let heading = text.trim().trim_start_matches(['#', '=', '*', '[', ' ']);
        if heading.len() > 72 {
            continue;
        }
        let lower = heading.to_lowercase();
        if NAMED.iter().any(|name| lower.contains(name)) {
            return true;
        }
        versions += usize::from(text.starts_with(['#', '*', '=', '[', 'v', 'V', 'R']) && is_version(&lower));
    }
    versions > 1
}

/// `2.4.1 - 2024-05-01`, `v1.2`, `version 3.0`, `release 2.4.1`.
fn is_version(lower: &str) -> bool {
    let behind =
        ["version ", "release ", "v"].iter().find_map(|word| lower.strip_prefix(word)).unwrap_or(lower);
    let number = behind.split([' ', ']', ':', '(']).next().unwrap_or("");
    let plain = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = number.split('.');
    parts.next().is_some_and(plain)
        && parts.next().is_some_and(|part| part.starts_with(|next: char| next.is_ascii_digit()))
}

/// The first line that has something to compare.
fn compared(evidence: &Evidence) -> Option<Spot> {
    let near = NearResults::default();
    let measured = OnceCell::new();
    // Ratios of mere counts (votes, lines of code, prices) have no runs to spread over.
    let of_results = |link: &&crate::link::Link| {
        let operands = [&link.numerator, &link.denominator];
        // How much of a size is free compares no runs.
        let change = link.form != crate::link::Form::Share;
        operands.iter().any(|operand| is_measured(operand) || (change && operand.unit == Unit::Bytes))
            || near.has(evidence, link.derived.figure.spot.index())
            || operands.iter().any(|operand| is_broken(operand))
                && *measured.get_or_init(|| measures(evidence))
    };
    // A change that one sentence states with its ends may be a note of a release.
    let mut of_several = evidence.links.iter().filter(|link| link.why != crate::link::Why::Told);
    let linked = of_several.find(of_results).map(|link| link.derived.figure.spot);
    let claimed = || {
        let compares = |clause: &Clause| match clause.manner {
            Manner::Loss | Manner::Gain => true,
            Manner::Times => says_more(evidence.page, clause),
            _ => false,
        };
        let claims: Vec<&Clause> = evidence.clauses.iter().filter(|clause| compares(clause)).collect();
        // A multiple of a setting is no result.
        let sentences = SpeedOfSentences::default();
        let of_speed = |clause: &&&Clause| {
            clause.figures.iter().any(is_measured) || sentences.tell(evidence.page, clause)
        };
        let mut of_speed = claims.iter().filter(of_speed);
        // Where rates stand in sentences only, one claim of speed among others may tell of no test.
        let (first, again) = (of_speed.next()?, of_speed.next().is_some());
        let enough = claims.len() >= 2 && (again || shows_results(evidence));
        (enough && measures(evidence)).then(|| super::spot(first))
    };
    linked.or_else(claimed)
}

/// Whether a clause with a multiple compares: `4x faster`, `12 times`, and not `x2 (4x)`, `expected 3, actual 6 (2.00x)`.
fn says_more(page: &crate::page::Page, clause: &Clause) -> bool {
    let lower = clause.text(page).to_lowercase();
    let called = |figure: &Quantity| {
        figure.unit == Unit::Times && !page.quote(figure.figure.spot).ends_with(['x', 'X', '×'])
    };
    clause.figures.iter().any(called)
        || ["than", "as", "speedup", "speed-up"].iter().any(|word| crate::prose::has(&lower, word))
        || crate::prose::tells_more(&lower)
}

/// Whether a number without a unit has a fraction: no count.
fn is_broken(figure: &Quantity) -> bool {
    figure.unit == Unit::Bare && figure.figure.value.fract() != 0.0
}

/// Whether a line, or the table that it is of, has a word or a unit of speed: its figures without a unit are results all the same.
#[derive(Default)]
struct NearResults {
    /// The last table that was looked at: many ratios are of one.
    last: Cell<Option<(usize, bool)>>,
}

impl NearResults {
    fn has(&self, evidence: &Evidence, line: usize) -> bool {
        let at = evidence.tables.partition_point(|table| table.lines.end <= line);
        let Some(table) = evidence.tables.get(at).filter(|table| table.lines.contains(&line)) else {
            return tells_speed(evidence.page.line(line));
        };
        let known = self.last.get().filter(|(last, _)| *last == at);
        let (_, has) = known.unwrap_or_else(|| (at, has_results(table)));
        self.last.set(Some((at, has)));
        has
    }
}

/// Whether heads, labels or cells of a table have a word or a unit of speed.
fn has_results(table: &Table) -> bool {
    let heads = table.columns.iter().map(|column| column.head.as_str());
    let labels = table.rows.iter().map(|row| row.label.as_str());
    let mut texts =
        table.title.as_deref().into_iter().chain([table.corner.as_str()]).chain(heads).chain(labels);
    let measured = |cell: &crate::table::Cell| cell.figure.as_ref().is_some_and(is_measured);
    texts.any(tells_speed) || table.rows.iter().flat_map(|row| row.cells.iter().flatten()).any(measured)
}

const SPREAD_WORDS: [&str; 14] = [
    "stdev",
    "std dev",
    "standard deviation",
    "confidence interval",
    "95% ci",
    "95 % ci",
    "interquartile",
    "标准差",
    "置信区间",
    "方差",
    "стандартное отклонение",
    "среднеквадрат",
    "доверительн",
    "error bars",
];

fn spread(evidence: &Evidence, sink: &mut Sink) {
    let Some(spot) = compared(evidence) else { return };
    let in_tables = evidence.tables.iter().any(|table| {
        let head = |text: &str| {
            let lower = text.to_lowercase();
            SPREAD_WORDS.iter().any(|word| lower.contains(word)) || lower.contains('±') || lower.contains('σ')
        };
        let cell =
            |line: usize| evidence.page.line(line).contains(['±']) || evidence.page.line(line).contains("+-");
        table.columns.iter().any(|column| head(&column.head)) || table.lines.clone().any(cell)
    });
    if in_tables || says(evidence, &SPREAD_WORDS) {
        return;
    }
    let message = "figures are compared without a word of how they spread over repeated runs: a difference may be chance";
    sink.finds(Finding::new("M1", Severity::Ambiguous, spot, message));
}

const BEST: [&str; 9] = [
    "best of",
    "best result of",
    "took the best",
    "highest of",
    "取最好",
    "取最高",
    "取最大",
    "лучший из",
    "лучшее из",
];

fn selection(evidence: &Evidence, sink: &mut Sink) {
    for line in evidence.lines_outside_outputs() {
        let text = evidence.page.line(line);
        let lower = text.to_lowercase();
        if text.len() < 2000 && tells_best(&lower) && !is_asked(&lower) {
            let message = "the best of several runs is biased: the more runs, the better; the median or the mean with its spread is not";
            sink.finds(Finding::new("M2", Severity::Ambiguous, Spot::new(line, 0..text.len()), message));
        }
    }
}

/// Whether the best of several stands in a quotation, with a question behind it: an exercise for the reader.
fn is_asked(lower: &str) -> bool {
    BEST.iter().filter_map(|word| Some((lower.find(word)?, word.len()))).any(|(at, long)| {
        let behind = &lower[at + long..];
        let asked = behind.find(['"', '\'', '”', '’', '»', '」', '“']).map(|close| &behind[close..]);
        let single = || {
            let opens = |at: usize| at == 0 || lower[..at].ends_with([' ', '(', '"']);
            lower[..at].match_indices('\'').any(|(at, _)| opens(at))
        };
        asked.is_some_and(|asked| asked.contains(['?', '？']))
            && (super::is_quoted(lower, at..at + long) || single())
    })
}

/// Whether a sentence takes the best of so many runs.
fn tells_best(lower: &str) -> bool {
    BEST.iter().filter_map(|word| Some((*word, lower.split_once(word)?.1))).any(|(word, behind)| {
        // Where words bend or stand together the count may stand before it.
        if word.is_ascii() && word != "took the best" { counted(behind) } else { counts(lower) }
    })
}

/// Whether a text begins with a count, of runs as far as it says: `the three runs` and not `both worlds`.
fn counted(behind: &str) -> bool {
    let mut words = behind
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .skip_while(|word| ["the", "our", "its", "these", "all", "at", "least"].contains(word));
    let number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit()) || COUNTS.contains(&word);
    words.next().is_some_and(number)
        && words
            .next()
            .is_none_or(|what| !["worlds", "series", "games", "sets", "maps", "last"].contains(&what))
}

const COUNTS: [&str; 15] = [
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "several", "multiple", "many",
    "n", "x", "k",
];

/// Whether a sentence counts runs.
fn counts(lower: &str) -> bool {
    let words = ["次", "两", "三", "五", "двух", "трёх", "трех", "пяти", "нескольк"];
    lower.contains(|letter: char| letter.is_ascii_digit())
        || words.iter().chain(&COUNTS[..10]).any(|word| lower.contains(word))
}

const STEADY_WORDS: [&str; 16] = [
    "precondition",
    "pre-condition",
    "steady state",
    "steady-state",
    "purge",
    "prefill",
    "pre-fill",
    "filled",
    "prepare virtual disk",
    "secure erase",
    "预处理",
    "稳态",
    "写满",
    "прогрев",
    "предварительн",
    "заполнен",
];

fn preconditioning(evidence: &Evidence, sink: &mut Sink) {
    let flash = says(evidence, &["ssd", "nvme", "flash", "固态"]);
    let write = evidence.outputs.iter().find_map(|output| {
        let written =
            output.said.readings().into_iter().find(|reading| reading.way == crate::import::Way::Write)?;
        Some(written.iops.or(written.bytes_per_second)?.spot)
    });
    let in_tables = || {
        let writes = |text: &str| crate::prose::topic(text).write && !is_of_requests(text);
        evidence.tables.iter().find_map(|table| {
            let bare = names_rates(table);
            let measured = |label: &str, cell: &crate::table::Cell| {
                let figure = cell.figure.filter(|figure| figure.figure.value > 0.0)?;
                let rate = matches!(figure.unit, Unit::BytesPerSecond | Unit::PerSecond);
                (rate || (bare && figure.unit == Unit::Bare && !is_counter(label))).then_some(cell.spot)
            };
            let of_row = |row: &Row| row.cells.iter().flatten().find_map(|cell| measured(&row.label, cell));
            let of_column = || {
                let at = table.columns.iter().position(|column| writes(&column.head))?;
                let mut cells = table.rows.iter().filter_map(|row| row.cells.get(at)?.as_ref());
                cells.find_map(|cell| measured(&table.columns[at].head, cell))
            };
            table.rows.iter().filter(|row| writes(&row.label)).find_map(of_row).or_else(of_column)
        })
    };
    let Some(spot) = write.or_else(in_tables).filter(|_| flash) else { return };
    if says(evidence, &STEADY_WORDS) {
        return;
    }
    let message = "writes to a flash drive without a word of preconditioning: a fresh drive writes faster than it goes on to";
    sink.finds(Finding::new("M3", Severity::Ambiguous, spot, message));
}

/// Whether a label is of a counter of writes, which tells no rate: `writes completed`, `total writes`.
fn is_counter(text: &str) -> bool {
    let lower = text.to_lowercase();
    [
        "completed",
        "delta",
        "sum",
        "total",
        "count",
        "counter",
        "counts",
        "merged",
        "number of",
        "总数",
        "次数",
        "всего",
    ]
    .iter()
    .any(|word| crate::prose::has(&lower, word))
}

/// Whether what is written are requests to a service: most of it is not the drive's.
fn is_of_requests(text: &str) -> bool {
    let lower = text.to_lowercase();
    ["qps", "tps", "rps", "request", "queries", "query", "transaction", "ops/s", "quorum"]
        .iter()
        .any(|word| lower.contains(word))
}

/// Whether the words of a table say that it has rates of drives, whatever its cells say.
fn names_rates(table: &crate::table::Table) -> bool {
    const RATES: [&str; 17] = [
        "mb/s",
        "mib/s",
        "gb/s",
        "gib/s",
        "kb/s",
        "mbps",
        "iops",
        "bandwidth",
        "throughput",
        "speed",
        "мб/с",
        "带宽",
        "吞吐",
        "速度",
        "скорость",
        "dd",
        "fio",
    ];
    let heads = table.columns.iter().map(|column| column.head.as_str());
    let labels = table.rows.iter().map(|row| row.label.as_str());
    let mut texts =
        table.title.as_deref().into_iter().chain([table.corner.as_str()]).chain(heads).chain(labels);
    texts.any(|text| {
        let lower = text.to_lowercase();
        RATES.iter().any(|word| crate::prose::has(&lower, word))
    })
}

#[cfg(test)]
mod tests;
