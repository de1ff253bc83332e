//! S5: claims that nothing on the page is of.

use super::{SpeedOfSentences, is_quoted, spot};
use crate::finding::{Finding, Severity};
use crate::import::Said;
use crate::number::{Quantity, Unit};
use crate::page::{Page, Spot};
use crate::prose::{Clause, Manner};
use crate::rule::{Evidence, Rule, Sink};
use std::cell::OnceCell;
use std::collections::HashSet;

/// S5.
pub const RULE: Rule = Rule {
    id: "S5",
    name: "claims have data",
    severity: Severity::Ambiguous,
    holds: "a page that tells results of tests has a table or an output (once a page); a share that a sentence gives of a guest by its size (1c2g) or of \
            a state (degraded, rebuilding) has a table, heading, command or output of that",
    silent: "of clauses without a word of speed, of shares in quotation marks, of pages that tell no results of tests of their own, with fewer than two such claims besides those that tell what they compare, and of figures that another rule settled",
    check,
};

fn check(evidence: &Evidence, sink: &mut Sink) {
    let data = evidence
        .outputs
        .iter()
        .any(|output| !output.said.readings().is_empty() || matches!(output.said, Said::FioLog(_)));
    if data || evidence.tables.iter().any(|table| has_figures(evidence.page, table)) {
        states(evidence, sink);
    } else {
        nothing(evidence, sink);
    }
}

fn has_figures(page: &Page, table: &crate::table::Table) -> bool {
    let mut cells = table.rows.iter().flat_map(|row| row.cells.iter().flatten());
    cells.any(|cell| cell.figure.is_some() || has_settings(page.quote(cell.spot)))
}

/// Whether a cell has several figures by name: `IOPS=20.1k, lat=310us`.
fn has_settings(cell: &str) -> bool {
    let figure = |pair: &[u8]| pair[0] == b'=' && pair[1].is_ascii_digit();
    cell.as_bytes().windows(2).filter(|pair| figure(pair)).take(2).count() == 2
}

const RESULTS: [&str; 15] = [
    "test results",
    "benchmark results",
    "our tests",
    "our benchmark",
    "we measured",
    "we tested",
    "we benchmarked",
    "results of the test",
    "测试结果",
    "测试结论",
    "压测结果",
    "результаты теста",
    "результаты тестов",
    "результаты тестирования",
    "мы протестировали",
];

/// Whether a clause is a result.
fn claims(page: &Page, clause: &Clause, sentences: &SpeedOfSentences) -> bool {
    let line = page.line(clause.line);
    let bytes = |figure: &Quantity| figure.figure.spot.start as usize..figure.figure.spot.end as usize;
    let figures = || clause.figures.iter().filter(|figure| !is_quoted(line, bytes(figure)));
    let made = match clause.manner {
        Manner::Loss | Manner::Gain => figures().any(|figure| figure.unit == Unit::Percent),
        Manner::Times => figures().any(|figure| figure.unit == Unit::Times && figure.figure.value > 1.0),
        _ => false,
    };
    // `twice the value of another setting`, `2x the frequency` are no results.
    made && sentences.tell(page, clause)
}

fn nothing(evidence: &Evidence, sink: &mut Sink) {
    let page = evidence.page;
    let says = (0..page.len()).any(|line| {
        let text = page.line(line);
        text.len() < 4000 && {
            let lower = text.to_lowercase();
            RESULTS.iter().any(|word| lower.contains(word))
        }
    });
    let sentences = SpeedOfSentences::default();
    let claims = |clause: &&Clause| claims(page, clause, &sentences) && !has_operands(evidence, clause);
    let made: Vec<Spot> = evidence.clauses.iter().filter(claims).map(spot).collect();
    let Some(first) = made.first().filter(|_| says && made.len() >= 2 && !lists(page)) else { return };
    let message = format!(
        "the page tells results of tests, {} of them as ratios, and has no table and no output: nothing of it can be checked",
        made.len()
    );
    sink.finds(Finding::new("S5", Severity::Ambiguous, *first, message).against(made[1..].iter().copied()));
}

/// Whether the sentence of a claim has the figures that it compares: `twice as fast (20100 to 9900)`.
fn has_operands(evidence: &Evidence, clause: &Clause) -> bool {
    let first = evidence.clauses.partition_point(|other| other.line < clause.line);
    let figures = evidence.clauses[first..]
        .iter()
        .take_while(|other| other.line == clause.line)
        .filter(|other| other.sentence == clause.sentence)
        .flat_map(|other| &other.figures);
    let operand = |figure: &&Quantity| {
        !matches!(figure.unit, Unit::Percent | Unit::Times) && figure.figure.value >= 10.0
    };
    figures.filter(operand).take(2).count() == 2
}

/// Whether a page lists results line by line: `Random read: 20.1k IOPS`.
fn lists(page: &Page) -> bool {
    let result = |line: &usize| {
        let text = page.line(*line);
        text.len() < 80
            && text.contains([':', '：', '=', '|'])
            && crate::number::quantities(*line, text).iter().any(|figure| {
                matches!(
                    figure.unit,
                    Unit::PerSecond | Unit::BytesPerSecond | Unit::BitsPerSecond | Unit::Nanoseconds
                )
            })
    };
    (0..page.len()).filter(result).take(2).count() == 2
}

/// States that systems are measured in, by any of their words.
const STATES: [&[&str]; 2] =
    [&["degraded", "降级", "деградир", "деградац"], &["rebuild", "resync", "重建", "ребилд", "пересборк"]];

/// What a table or heading has that is of either state: a pool that is filled again is a degraded one.
const REPAIRS: [&str; 2] = ["resilver", "resync"];

/// `1c2g`: cores and memory of a guest.
fn sizes(lower: &str) -> Vec<&str> {
    let words = lower.split(|letter: char| !letter.is_ascii_alphanumeric());
    let is_size = |word: &&str| {
        let Some((cores, memory)) = word.split_once('c') else { return false };
        let digits = |text: &str| {
            !text.is_empty() && text.len() <= 3 && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        digits(cores) && memory.strip_suffix('g').is_some_and(digits)
    };
    words.filter(is_size).collect()
}

/// So many are told.
const MOST: usize = 20;
/// Longer lines are no sentences.
const LONGEST: usize = 2000;

fn states(evidence: &Evidence, sink: &mut Sink) {
    let page = evidence.page;
    let mut told: Vec<String> = Vec::new();
    let sentences = SpeedOfSentences::default();
    // Made where it is asked for: most pages have no such claim, and their outputs many figures.
    let settled: OnceCell<HashSet<Spot>> = OnceCell::new();
    let is_settled = |spot: &Spot, sink: &Sink| {
        settled.get_or_init(|| sink.checks.iter().map(|(spot, ..)| *spot).collect()).contains(spot)
    };
    let mut before = usize::MAX;
    for clause in evidence.clauses {
        if clause.line == before || told.len() >= MOST || page.line(clause.line).len() > LONGEST {
            continue;
        }
        let own = clause.text(page).to_lowercase();
        let states = STATES.iter().find(|words| words.iter().any(|word| own.contains(word)));
        let is_new = |words: &&&[&str]| !told.iter().any(|one| one == words[0]);
        let states = states.filter(|words| {
            is_new(words) && claims(page, clause, &sentences) && !is_settled(&spot(clause), sink)
        });
        if let Some(words) = states {
            // Looked for once: it is told, or there is data.
            told.push(words[0].to_owned());
            if words.iter().chain(&REPAIRS).any(|word| is_of_data(evidence, clause.line, word)) {
                continue;
            }
            let message = format!(
                "no table, heading or output of the page is of the {} state that this is told of",
                words[0]
            );
            sink.finds(Finding::new("S5", Severity::Ambiguous, spot(clause), message));
        }
        // A size of a guest, and a share in the same line.
        let line = page.line(clause.line).to_lowercase();
        let size = sizes(&line).first().copied().filter(|size| !told.iter().any(|one| one == size));
        let both = size.and_then(|size| Some((size, share(evidence, clause.line)?)));
        if let Some((size, share)) = both.filter(|(_, share)| !is_settled(share, sink)) {
            told.push(size.to_owned());
            before = clause.line;
            if is_of_data(evidence, clause.line, size) {
                continue;
            }
            let message = format!(
                "no table, heading or output of the page is of the guest of {size} that this is told of"
            );
            sink.finds(Finding::new("S5", Severity::Ambiguous, share, message));
        }
    }
}

/// The share of a line: a percentage, or a fraction like `1/4`.
fn share(evidence: &Evidence, line: usize) -> Option<Spot> {
    let of_line = evidence.clauses.iter().filter(|clause| clause.line == line);
    let percent = of_line.flat_map(Clause::percents).next().map(|figure| figure.figure.spot);
    percent.or_else(|| fraction(evidence.page, line))
}

/// `1/4` alone, of one digit each.
fn fraction(page: &Page, line: usize) -> Option<Spot> {
    let bytes = page.line(line).as_bytes();
    let part = |byte: Option<&u8>| {
        byte.is_some_and(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'-' | b'_' | b':')
        })
    };
    let at = (1..bytes.len().saturating_sub(1)).find(|at| {
        let (one, other) = (bytes[at - 1], bytes[at + 1]);
        let digits = one.is_ascii_digit() && other.is_ascii_digit() && one < other && one > b'0';
        bytes[*at] == b'/'
            && digits
            && !part(at.checked_sub(2).and_then(|before| bytes.get(before)))
            && !part(bytes.get(at + 2))
    })?;
    Some(Spot::new(line, at - 1..at + 2))
}

/// Whether a table, its title, an output, a heading or a short line with no figure of a result names a word, other than line `own`.
fn is_of_data(evidence: &Evidence, own: usize, word: &str) -> bool {
    let names = |text: &str| text.to_lowercase().contains(word);
    let page = evidence.page;
    let in_tables = evidence.tables.iter().any(|table| {
        table.title.as_deref().is_some_and(names) || table.lines.clone().any(|line| names(page.line(line)))
    });
    let in_outputs = || {
        evidence
            .outputs
            .iter()
            .any(|output| output.lines.clone().take(200).any(|line| names(page.line(line))))
    };
    let headings = || {
        (0..page.len()).any(|line| {
            let text = page.line(line);
            line != own
                && text.len() < 120
                && !text.trim_end().ends_with(['.', '。'])
                && names(text)
                && fraction(page, line).is_none()
        })
    };
    in_tables || in_outputs() || headings()
}

#[cfg(test)]
mod tests {
    use crate::rule::testing::found;

    #[test]
    fn results_without_data_are_told_once() {
        let page = "Test results\n\nReads are 4 times faster with it.\n\nWrites lost 30 % of their rate when scaled.\n";
        assert_eq!(found(page, "S5").len(), 1);
        assert_eq!(found(&page.replace("Test results", "What is new"), "S5"), []);
        let table = format!("{page}\n| load | IOPS |\n|---|---|\n| read | 20.1k |\n| write | 18.3k |\n");
        assert_eq!(found(&table, "S5"), []);
        let told = page.replace("with it.", "with it (20100 to 5010 a second).");
        assert_eq!(found(&told, "S5"), [], "it tells what it compares");
        let list = format!("{page}\n- Random read: 20.1k IOPS\n- Random write: 18.3k IOPS\n");
        assert_eq!(found(&list, "S5"), []);
    }

    #[test]
    fn what_is_no_result_needs_no_data() {
        let page =
            |first: &str, second: &str| found(&format!("Test results\n\n{first}\n\n{second}\n"), "S5").len();
        let fast = "Reads are 4 times faster with it.";
        assert_eq!(page(fast, "Writes lost 30 % of their rate when scaled."), 1);
        assert_eq!(
            page(fast, "Set the queue to be 3 times larger than the depth of the drive."),
            0,
            "a setting"
        );
        assert_eq!(page(fast, "Overtones stand at 3x the frequency of the tone."), 0);
        assert_eq!(page(fast, "Writes are said to be \"30 %\" slower."), 0, "quoted");
        assert_eq!(page(fast, "Writes are said to be “30 %” slower."), 0, "quoted");
        let table = "| load | with it |\n|---|---|\n| read | IOPS=871, BW=3484KiB/s,lat=1148.11usec |\n| write | IOPS=512, BW=2048KiB/s,lat=1953.20usec |\n";
        assert_eq!(page(fast, &format!("Writes lost 30 % of their rate when scaled.\n\n{table}")), 0);
    }

    #[test]
    fn states_without_data_are_told() {
        let table = "| load | IOPS |\n|---|---|\n| read | 20.1k |\n| write | 18.3k |\n";
        let page = |text: &str, table: &str| found(&format!("{text}\n\n{table}"), "S5").len();
        assert_eq!(page("In degraded mode it is 20 times faster there.", table), 1);
        assert_eq!(
            page("In degraded mode it is 20 times faster there.", &table.replace("write", "degraded")),
            0
        );
        assert_eq!(
            page("In degraded mode it is 20 times faster there.", &table.replace("write", "resilver")),
            0
        );
        assert_eq!(page("A 1c2g guest has 1/4 of the host's 900 MB/s.", table), 1);
        assert_eq!(page("A 1c2g guest has 1/4 of the host's 900 MB/s.", &table.replace("load", "1c2g")), 0);
        assert_eq!(page("A guest has 1/4 of the host's 900 MB/s.", table), 0);
    }
}
