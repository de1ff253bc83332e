//! M13: both sides of a comparison have figures.

use crate::finding::{Finding, Severity};
use crate::page::Spot;
use crate::rule::{Evidence, Rule, Sink};

/// M13.
pub const RULE: Rule = Rule {
    id: "M13",
    name: "both sides of a comparison have figures",
    severity: Severity::Ambiguous,
    holds: "a sentence that calls one version of a system faster than another has figures of both on the page",
    silent: "unless it names two versions of one product, and where a table, heading or command names both, or the sentence has the figures",
    check,
};

/// Things of which pages compare versions.
const PRODUCTS: [&str; 17] = [
    "ubuntu",
    "debian",
    "centos",
    "rhel",
    "rocky",
    "fedora",
    "kernel",
    "ядром",
    "ядра",
    "ядро",
    "内核",
    "esxi",
    "proxmox",
    "windows server",
    "spdk",
    "qemu",
    "zfs",
];

const BETTER: [&str; 22] = [
    "faster",
    "slower",
    "better performance",
    "higher performance",
    "performed better",
    "outperform",
    "more throughput",
    "lower latency",
    "быстрее",
    "медленнее",
    "выше производительность",
    "производительность выше",
    "лучше",
    "хуже",
    "更快",
    "更慢",
    "更高",
    "更好",
    "优于",
    "快于",
    "高于",
    "慢于",
];

/// So many sentences are looked into.
const MOST: usize = 50;
/// Longer lines are no sentences.
const LONGEST: usize = 1000;

/// Versions that stand behind a product's name.
fn versions<'a>(lower: &'a str, product: &str) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    let mut from = 0;
    while let Some(at) = lower[from..].find(product).map(|at| from + at + product.len()) {
        let rest = lower[at..].trim_start();
        let end = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        let version = rest[..end].trim_end_matches('.');
        if version.contains('.') && !found.contains(&version) {
            found.push(version);
        }
        from = at;
    }
    found
}

fn check(evidence: &Evidence, sink: &mut Sink) {
    let page = evidence.page;
    if evidence.tables.is_empty() && evidence.outputs.is_empty() {
        return;
    }
    let (mut told_lines, mut looked) = (0, 0);
    for line in evidence.text_lines() {
        let text = page.line(line);
        if text.len() > LONGEST {
            continue;
        }
        // A version has a point between digits.
        let versioned = text
            .as_bytes()
            .windows(3)
            .any(|part| part[0].is_ascii_digit() && part[1] == b'.' && part[2].is_ascii_digit());
        if !versioned {
            continue;
        }
        let lower = text.to_lowercase();
        if told_lines >= 5 || !BETTER.iter().any(|word| lower.contains(word)) || has_result(evidence, line) {
            continue;
        }
        for product in PRODUCTS {
            let versions = versions(&lower, product);
            let [one, other] = versions.as_slice() else { continue };
            if looked >= MOST {
                return;
            }
            looked += 1;
            if !told(evidence, line, one) && !told(evidence, line, other) {
                let message = format!(
                    "{product} {one} and {other} are compared, and no table, output or heading tells which figures are of which"
                );
                told_lines += 1;
                sink.finds(Finding::new("M13", Severity::Ambiguous, Spot::new(line, 0..text.len()), message));
                break;
            }
        }
    }
}

/// Whether the sentences of a line have results.
fn has_result(evidence: &Evidence, line: usize) -> bool {
    let clauses = evidence.clauses.iter().filter(|clause| clause.line == line);
    clauses.flat_map(|clause| &clause.figures).any(|figure| {
        use crate::number::Unit;
        matches!(
            figure.unit,
            Unit::Percent | Unit::Times | Unit::PerSecond | Unit::BytesPerSecond | Unit::BitsPerSecond
        )
    })
}

/// Whether a table, its title, or a short line (a heading, a list of the systems) other than `line` names a version.
fn told(evidence: &Evidence, line: usize, version: &str) -> bool {
    let names = |text: &str| text.contains(version);
    let in_tables = evidence.tables.iter().any(|table| {
        table.title.as_deref().is_some_and(names)
            || names(&table.corner)
            || table.rows.iter().any(|row| names(&row.label))
            || table.columns.iter().any(|column| names(&column.head))
    });
    let heading = |at: &usize| {
        let text = evidence.page.line(*at);
        *at != line && crate::knowledge::mentions::heading(text).is_some() && names(text)
    };
    in_tables || (0..evidence.page.len()).any(|at| heading(&at))
}

#[cfg(test)]
mod tests {
    use crate::rule::testing::found;

    #[test]
    fn a_side_without_figures_is_told() {
        let page = |label: &str| {
            format!(
                "Ubuntu 20.04 was tried as well, but Ubuntu 22.04 was faster.\n\n| {label} | IOPS |\n|---|---|\n| read | 20.1k |\n| write | 18.3k |\n"
            )
        };
        assert_eq!(found(&page("load"), "M13").len(), 1);
        assert_eq!(found(&page("Ubuntu 20.04"), "M13"), []);
        assert_eq!(found(&page("load").replace("was faster", "was used"), "M13"), []);
        assert_eq!(
            found(&page("load").replace("was faster", "was 12 % faster"), "M13"),
            [],
            "it has a figure"
        );
        assert_eq!(found(&page("load").replace("Ubuntu 20.04", "Debian"), "M13"), []);
    }
}
