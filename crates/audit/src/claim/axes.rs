//! What the labels and heads of a table tell of its cells: systems along one of its directions, workloads along the other. Where
//! its words do not tell which is which, neither is told.

use crate::link::{Link, parts};
use crate::number::{Quantity, Unit};
use crate::prose::topic;
use crate::rule::hardware::Load;
use crate::rule::table::sums::said;
use crate::table::Table;
use std::collections::HashSet;
use std::sync::Arc;

/// What a direction of a table goes through.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Axis {
    /// Workloads: `4k random read`.
    Loads,
    /// Metrics and units alone: `IOPS`, `MB/s`.
    Metrics,
    /// Names of systems, as something else of the page says.
    Systems,
    /// Names of what may be systems, tests, runs.
    Names,
}

/// A table's systems and workloads by row and column.
pub(super) struct Axes {
    rows: Vec<Label>,
    columns: Vec<Label>,
    /// What its corner or title tells of all cells.
    whole: Label,
}

/// What a label, a head or a title tells.
#[derive(Clone, Debug, Default)]
struct Label {
    system: Option<Arc<str>>,
    workload: Option<Arc<str>>,
}

/// Heads of labels that are workloads, and that are systems.
const OF_LOADS: [&str; 13] = [
    "workload",
    "load",
    "test",
    "tests",
    "benchmark",
    "case",
    "scenario",
    "测试",
    "负载",
    "场景",
    "тест",
    "нагрузка",
    "сценарий",
];
const OF_SYSTEMS: [&str; 16] = [
    "system",
    "systems",
    "platform",
    "configuration",
    "config",
    "setup",
    "stack",
    "hypervisor",
    "系统",
    "平台",
    "配置",
    "система",
    "системы",
    "платформа",
    "конфигурация",
    "стек",
];
/// Words of heads that say what is measured, of nothing.
const METRICS: [&str; 62] = [
    "iops",
    "kiops",
    "io",
    "ops",
    "tps",
    "bw",
    "bandwidth",
    "throughput",
    "rate",
    "speed",
    "latency",
    "lat",
    "clat",
    "slat",
    "score",
    "index",
    "result",
    "results",
    "value",
    "time",
    "runtime",
    "cpu",
    "usr",
    "sys",
    "percent",
    "avg",
    "average",
    "mean",
    "median",
    "max",
    "min",
    "stdev",
    "mb",
    "mib",
    "gb",
    "gib",
    "kb",
    "kib",
    "mbps",
    "gbps",
    "gbit",
    "mbit",
    "bit",
    "bits",
    "bytes",
    "sec",
    "us",
    "ms",
    "ns",
    "mwips",
    "lps",
    "吞吐",
    "吐量",
    "带宽",
    "延迟",
    "时延",
    "平均",
    "мб",
    "гбит",
    "скорость",
    "задержка",
    "среднее",
];
/// What is done several times is of one system.
const RUNS: [&str; 9] =
    ["run", "pass", "round", "trial", "iteration", "repeat", "прогон", "запуск", "проход"];

/// Whether a text tells a workload.
pub(super) fn tells_load(text: &str) -> bool {
    Load::read(text) != Load::default() || !topic(text).is_empty()
}

fn is_of(words: &[&str], text: &str) -> bool {
    let lower = text.trim().trim_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase();
    words.contains(&lower.as_str())
}

fn is_percentile(word: &str) -> bool {
    let bare = word.strip_prefix('p').or(word.strip_suffix("th"));
    bare.is_some_and(|bare| !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a text names something: more than a metric, a unit, a number.
fn names(text: &str) -> bool {
    let words = parts(text);
    let run = |word: &String| {
        RUNS.iter().any(|run| {
            word.strip_prefix(run).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
        })
    };
    said(text).is_none()
        && !words.iter().any(run)
        && words.iter().any(|word| !METRICS.contains(&word.as_str()) && !is_percentile(word))
}

fn axis(texts: &[&str], systems: &HashSet<&str>) -> Axis {
    let told: Vec<&str> =
        texts.iter().copied().filter(|text| !text.trim().is_empty() && said(text).is_none()).collect();
    let count = |is: &dyn Fn(&str) -> bool| told.iter().filter(|text| is(text)).count();
    let loads = count(&|text| tells_load(text));
    let named = count(&|text| names(text) && !tells_load(text));
    match told.len() {
        0 => Axis::Metrics,
        _ if count(&|text| systems.contains(text)) >= 2 => Axis::Systems,
        // One that names no workload among several is a metric of its own, or an odd test.
        all if 2 * loads > all => Axis::Loads,
        _ if loads == 0 && named > 0 => Axis::Names,
        _ if named == 0 => Axis::Metrics,
        _ => Axis::Names,
    }
}

impl Axes {
    /// Of a table; `systems` are what links say to be ones.
    pub fn of(table: &Table, systems: &HashSet<&str>) -> Axes {
        let labels: Vec<&str> = table.rows.iter().map(|row| row.label.as_str()).collect();
        let heads: Vec<&str> = table.columns.iter().map(|column| column.head.as_str()).collect();
        let of_values: Vec<&str> =
            (0..heads.len()).filter(|at| !is_of_ratios(table, *at)).map(|at| heads[at]).collect();
        let (down, across) = settled(table, axis(&labels, systems), axis(&of_values, systems));
        let rows = labels.iter().map(|text| Label::of(text, down)).collect();
        // A ratio is of two systems: which, its link tells.
        let columns = (0..heads.len()).map(|at| Label {
            system: Label::of(heads[at], across).system.filter(|_| !is_of_ratios(table, at)),
            ..Label::of(heads[at], across)
        });
        let columns = columns.collect();
        let title = table.title.as_deref().filter(|title| tells_load(title));
        // A table of one system has its name where others have that of the labels.
        let corner = Some(table.corner.as_str())
            .filter(|corner| systems.contains(corner) && down != Axis::Systems && across != Axis::Systems);
        Axes { rows, columns, whole: Label { system: corner.map(Arc::from), workload: title.map(Arc::from) } }
    }

    /// The names of its systems.
    pub fn systems(&self) -> impl Iterator<Item = &Arc<str>> {
        self.rows.iter().chain(&self.columns).chain([&self.whole]).filter_map(|label| label.system.as_ref())
    }

    /// Of the cell of a row and a column.
    pub fn system(&self, row: usize, column: usize) -> Option<Arc<str>> {
        let of = |labels: &[Label], at: usize| labels.get(at).and_then(|label| label.system.clone());
        of(&self.rows, row).or_else(|| of(&self.columns, column)).or_else(|| self.whole.system.clone())
    }

    /// Of the cell of a row and a column: what title, label and head tell together.
    pub fn workload(&self, row: usize, column: usize) -> Option<Arc<str>> {
        let labels = [Some(&self.whole), self.rows.get(row), self.columns.get(column)];
        let told: Vec<&Arc<str>> =
            labels.into_iter().flatten().filter_map(|label| label.workload.as_ref()).collect();
        match told.as_slice() {
            [] => None,
            [one] => Some(Arc::clone(one)),
            several => Some(several.iter().map(|one| &***one).collect::<Vec<_>>().join(", ").into()),
        }
    }
}

/// What both directions go through, each in the light of the other.
fn settled(table: &Table, down: Axis, across: Axis) -> (Axis, Axis) {
    let titled = table.title.as_deref().is_some_and(tells_load);
    match (down, across) {
        (Axis::Names, other) if other != Axis::Loads && is_of(&OF_LOADS, &table.corner) => {
            (Axis::Loads, if other == Axis::Names { Axis::Systems } else { other })
        }
        (Axis::Names, other) if is_of(&OF_SYSTEMS, &table.corner) => (Axis::Systems, other),
        // What workloads are told of along one direction are systems along the other.
        (Axis::Loads, Axis::Names) => (Axis::Loads, Axis::Systems),
        (Axis::Names, Axis::Loads) => (Axis::Systems, Axis::Loads),
        (Axis::Names, Axis::Metrics) if titled => (Axis::Systems, Axis::Metrics),
        (Axis::Metrics, Axis::Names) if titled => (Axis::Metrics, Axis::Systems),
        both => both,
    }
}

impl Label {
    fn of(text: &str, axis: Axis) -> Label {
        let text = text.trim();
        let is_name = !text.is_empty() && said(text).is_none();
        let whole = |yes: bool| yes.then(|| Arc::from(text));
        Label {
            system: whole(axis == Axis::Systems && is_name && names(text)),
            workload: whole(is_name && (axis == Axis::Loads || (axis != Axis::Systems && tells_load(text)))),
        }
    }
}

fn is_ratio(quantity: &Quantity) -> bool {
    matches!(quantity.unit, Unit::Percent | Unit::Times)
}

/// Whether all figures of a column are ratios.
fn is_of_ratios(table: &Table, column: usize) -> bool {
    let cell = |row: &crate::table::Row| row.cells.get(column)?.as_ref()?.figure;
    let mut figures = table.rows.iter().filter_map(cell).peekable();
    figures.peek().is_some() && figures.all(|figure| is_ratio(&figure))
}

/// What the operands of links are called: systems, where structure tells.
pub(super) fn named_by(links: &[Link]) -> HashSet<&str> {
    let named = links.iter().flat_map(|link| &link.names).map(String::as_str);
    named.filter(|name| !name.trim().is_empty() && !tells_load(name)).collect()
}
