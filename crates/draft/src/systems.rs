//! Names the systems of a page. One that a heading and a table call alike, with figures that agree,
//! is one system. Tables that give one name different figures are of several: corners, titles and
//! headings tell them apart.

use super::PageLimits;
use super::figures::{DraftKind, FigurePlace, PageFigure};
use super::headings::HeadingList;
use super::labels::{PageMetric, ascii_name, read_label};
use iotax_audit::audit::Audited;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A system of one kind: a stack of the draft.
pub(super) struct PageSystem {
    /// Name of the stack, unique in the draft.
    pub name: String,
    /// Name on the page.
    pub text: String,
    pub kind: DraftKind,
    /// First and last line with a figure of it.
    pub lines: (u32, u32),
}

/// Name of a system that the page does not name.
const UNNAMED: &str = "system";

/// Figures of one cell of the draft.
type CellKey = (String, usize, (u8, u64), u8);

fn cell_key(figure: &PageFigure) -> CellKey {
    let metric = match figure.metric {
        PageMetric::Iops => (0, 0),
        PageMetric::Throughput => (1, 0),
        PageMetric::Mean => (2, 0),
        PageMetric::Percentile(percent) => (3, percent.to_bits()),
    };
    (figure.system.clone(), figure.load, metric, figure.way.map_or(0, |way| way as u8 + 1))
}

/// Settles the names in `figures`, and returns the systems in the order of the page.
pub(super) fn settle_systems(
    audited: &Audited,
    headings: &HeadingList,
    limits: &mut PageLimits,
    figures: &mut [PageFigure],
) -> Vec<PageSystem> {
    figures
        .iter_mut()
        .filter(|one| one.system.is_empty())
        .for_each(|one| one.system = UNNAMED.to_owned());
    join_spellings(figures);
    limits.check_systems(count_names(figures));
    if limits.is_over() {
        return Vec::new();
    }
    join_outputs(figures);
    tell_tables_apart(audited, headings, figures);
    limits.check_systems(count_names(figures));
    if limits.is_over() { Vec::new() } else { list_systems(figures) }
}

fn count_names(figures: &[PageFigure]) -> usize {
    figures.iter().map(|figure| figure.system.as_str()).collect::<HashSet<_>>().len()
}

/// Returns a name without blanks, signs and capitals: `直通 (DirectPath)` is `直通directpath`.
fn letters(name: &str) -> String {
    name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Gives names that differ only in blanks, signs and capitals their first spelling.
fn join_spellings(figures: &mut [PageFigure]) {
    let mut first: HashMap<String, String> = HashMap::new();
    for figure in figures {
        let known = first.entry(letters(&figure.system)).or_insert_with(|| figure.system.clone());
        figure.system.clone_from(known);
    }
}

/// Gives outputs the name that a table has for their system: one of the two names contains the
/// other, and a figure agrees.
fn join_outputs(figures: &mut [PageFigure]) {
    let names = |is_of_table: bool| -> Vec<(String, String)> {
        let own = figures.iter().filter(|figure| figure.is_of_table() == is_of_table);
        let names: HashSet<&String> = own.map(|figure| &figure.system).collect();
        names.into_iter().map(|name| (name.clone(), letters(name))).collect()
    };
    let (of_outputs, of_tables) = (names(false), names(true));
    let mut renamed: HashMap<String, String> = HashMap::new();
    for (name, own) in
        of_outputs.iter().filter(|(name, _)| !of_tables.iter().any(|(other, _)| other == name))
    {
        let alike = of_tables
            .iter()
            .filter(|(_, other)| own.contains(other.as_str()) || other.contains(own.as_str()));
        let agreeing: Vec<&String> =
            alike.map(|(other, _)| other).filter(|other| agree(figures, name, other)).collect();
        if let [only] = agreeing.as_slice() {
            renamed.insert(name.clone(), (*only).clone());
        }
    }
    for figure in figures.iter_mut().filter(|figure| !figure.is_of_table()) {
        if let Some(name) = renamed.get(&figure.system) {
            figure.system.clone_from(name);
        }
    }
}

/// Returns true if a figure of an output under one name agrees with one of a table under another.
fn agree(figures: &[PageFigure], of_outputs: &str, of_tables: &str) -> bool {
    let mut of_load: HashMap<usize, Vec<&PageFigure>> = HashMap::new();
    for figure in figures.iter().filter(|one| one.is_of_table() && one.system == of_tables) {
        of_load.entry(figure.load).or_default().push(figure);
    }
    figures.iter().filter(|one| !one.is_of_table() && one.system == of_outputs).any(|one| {
        let tabled = of_load.get(&one.load).into_iter().flatten();
        tabled.into_iter().any(|other| other.metric == one.metric && other.agrees_with(one))
    })
}

/// Adds to the names of systems that several tables give different figures what tells the tables
/// apart.
fn tell_tables_apart(audited: &Audited, headings: &HeadingList, figures: &mut [PageFigure]) {
    let mut known: HashMap<CellKey, Vec<usize>> = HashMap::new();
    let mut several: HashSet<String> = HashSet::new();
    for (at, figure) in figures.iter().enumerate().filter(|(_, figure)| figure.is_of_table()) {
        let before = known.entry(cell_key(figure)).or_default();
        let differs = |other: &usize| {
            figures[*other].place != figure.place && !figures[*other].agrees_with(figure)
        };
        if before.iter().any(differs) {
            several.insert(figure.system.clone());
        } else if before.len() < 2 {
            before.push(at);
        }
    }
    // Tables by the name that they share, each with its new one.
    let mut tables: BTreeMap<(String, usize), String> = BTreeMap::new();
    for figure in figures.iter().filter(|figure| several.contains(&figure.system)) {
        if let FigurePlace::Table(table) = figure.place {
            tables.insert((figure.system.clone(), table), String::new());
        }
    }
    for name in &several {
        let of_name: Vec<usize> = tables
            .range((name.clone(), 0)..=(name.clone(), usize::MAX))
            .map(|((_, table), _)| *table)
            .collect();
        let words = distinct_words(audited, headings, &of_name);
        for (table, words) in of_name.iter().zip(words) {
            tables.insert((name.clone(), *table), words);
        }
    }
    for figure in figures {
        let FigurePlace::Table(table) = figure.place else { continue };
        if let Some(words) =
            tables.get(&(figure.system.clone(), table)).filter(|words| !words.is_empty())
        {
            // What the name begins with need not be said again.
            let own = letters(&figure.system);
            figure.system = match letters(words).contains(&own) {
                true => words.clone(),
                false => format!("{} {words}", figure.system),
            };
        }
    }
}

/// Returns for each table the words that tell it apart from the others: its corner, its title, the
/// headings above it, or its line.
fn distinct_words(audited: &Audited, headings: &HeadingList, tables: &[usize]) -> Vec<String> {
    let choices: Vec<Vec<String>> = tables
        .iter()
        .map(|index| {
            let table = &audited.tables[*index];
            let marked = headings.above(table.lines.start).map(|heading| heading.text.clone());
            let near = headings.near(table.lines.start).next().map(|heading| heading.text.clone());
            let texts = [Some(table.corner.clone()), table.title.clone(), near];
            let texts = texts.into_iter().map(Option::unwrap_or_default);
            // Headings from the highest, which mostly tell parts of a page apart.
            let mut marked: Vec<String> = marked.collect();
            marked.reverse();
            texts.chain(marked).map(|text| read_label(&text).name).collect()
        })
        .collect();
    let most = choices.iter().map(Vec::len).max().unwrap_or(0);
    let mut words = vec![String::new(); tables.len()];
    let distinct = |words: &[String]| words.iter().collect::<HashSet<_>>().len();
    for at in 0..most {
        let text = |choice: &Vec<String>| choice.get(at).cloned().unwrap_or_default();
        let more: Vec<String> = words
            .iter()
            .zip(&choices)
            .map(|(words, choice)| format!("{words} {}", text(choice)).trim().to_owned())
            .collect();
        if distinct(&more) > distinct(&words) {
            words = more;
        }
    }
    if distinct(&words) < tables.len() {
        let line = |index: &usize| audited.page.line_number(audited.tables[*index].lines.start);
        let numbered =
            words.iter().zip(tables).map(|(words, table)| format!("{words} line {}", line(table)));
        words = numbered.map(|words| words.trim().to_owned()).collect();
    }
    words
}

fn list_systems(figures: &[PageFigure]) -> Vec<PageSystem> {
    let mut systems: Vec<PageSystem> = Vec::new();
    let mut known: HashMap<(DraftKind, &str), usize> = HashMap::new();
    let mut taken: HashSet<(DraftKind, String)> = HashSet::new();
    for figure in figures {
        let key = (figure.kind, figure.system.as_str());
        if let Some(at) = known.get(&key) {
            let lines = &mut systems[*at].lines;
            *lines = (lines.0.min(figure.line), lines.1.max(figure.line));
            continue;
        }
        known.insert(key, systems.len());
        let ascii = ascii_name(&figure.system);
        let ascii = if ascii.is_empty() { UNNAMED.to_owned() } else { ascii };
        let numbered = (2..).map(|number| format!("{ascii}-{number}"));
        let is_free = |name: &String| !taken.contains(&(figure.kind, name.clone()));
        let name = std::iter::once(ascii.clone()).chain(numbered).find(is_free).unwrap_or(ascii);
        taken.insert((figure.kind, name.clone()));
        let (text, kind) = (figure.system.clone(), figure.kind);
        systems.push(PageSystem { name, text, kind, lines: (figure.line, figure.line) });
    }
    systems
}
