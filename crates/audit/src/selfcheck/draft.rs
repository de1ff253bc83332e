//! A document before it is written out: lines, raw blocks and tables whose figures are known, so that a slip can change one and all
//! else stays as an author would have it.

use super::guise::Guise;
use super::pool::Run;
use super::shapes::{Grid, Shape, lay_out};

/// What kind of page it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Two systems with their raw outputs, a table and conclusions.
    Compared,
    /// Many systems in a table, each cell with its share of the base.
    Matrix,
    /// Two systems as rows, metrics as columns, losses in sentences.
    Lying,
    /// A table each of several systems, and one of ratios.
    Across,
    /// Tables of drives that are nominally equal.
    Replicas,
    /// Block sizes with IOPS and bandwidth.
    Sizes,
    /// Scores, two systems and an overhead.
    Overhead,
    /// Everyone with everyone, shares in brackets.
    Network,
    /// Rows that differ in a setting, and what it is said to do.
    Settings,
    /// Outputs of tools with a few words.
    Raw,
    /// Outputs of tools that are seldom seen.
    Tools,
    /// What is measured on, and a figure that it bounds.
    Bounded,
}

impl Kind {
    /// All.
    pub const ALL: [Kind; 12] = [
        Kind::Compared,
        Kind::Matrix,
        Kind::Lying,
        Kind::Across,
        Kind::Replicas,
        Kind::Sizes,
        Kind::Overhead,
        Kind::Network,
        Kind::Settings,
        Kind::Raw,
        Kind::Tools,
        Kind::Bounded,
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Compared => "compared",
            Kind::Matrix => "matrix",
            Kind::Lying => "lying",
            Kind::Across => "across",
            Kind::Replicas => "replicas",
            Kind::Sizes => "sizes",
            Kind::Overhead => "overhead",
            Kind::Network => "network",
            Kind::Settings => "settings",
            Kind::Raw => "raw",
            Kind::Tools => "tools",
            Kind::Bounded => "bounded",
        }
    }
}

/// Language of the sentences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tongue {
    /// English.
    En,
    /// Chinese.
    Zh,
    /// Russian.
    Ru,
}

/// How a ratio is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// a / b.
    Share,
    /// 1 - a / b.
    Loss,
    /// a / b - 1.
    Gain,
}

impl Form {
    /// In percent.
    pub fn of(self, above: f64, below: f64) -> f64 {
        match self {
            Form::Share => 100.0 * above / below,
            Form::Loss => 100.0 * (1.0 - above / below),
            Form::Gain => 100.0 * (above / below - 1.0),
        }
    }
}

/// What a figure of a document is.
#[derive(Clone, Debug, PartialEq)]
pub enum Role {
    /// A result; where it is the rate or bandwidth of a run that the document shows, which way of which block.
    Value {
        /// Index of the item that it was copied from, and of the way.
        copied: Option<(usize, usize)>,
        /// Whether it is a rate of I/Os.
        rate: bool,
        /// The same cell's other metric: of a rate its bandwidth.
        twin: Option<usize>,
        /// Bytes of an I/O.
        bs: Option<u64>,
        /// Which table, row and column, for what is nominally equal.
        cell: (usize, usize, usize),
    },
    /// A ratio in a table.
    Ratio {
        /// How.
        form: Form,
        /// Ids of the figures.
        above: usize,
        /// Ids of the figures.
        below: usize,
    },
    /// A ratio in a sentence.
    Said {
        /// How.
        form: Form,
        /// Ids of the figures.
        above: usize,
        /// Ids of the figures.
        below: usize,
    },
    /// `within x %`: no more apart.
    Band {
        /// How far apart they really are.
        widest: f64,
    },
    /// `about x %`.
    About,
    /// A margin of error.
    Margin,
    /// What a machine or a command bounds: which case of [`super::pages::bounded`].
    Bounded(usize),
}

/// A figure of a document.
#[derive(Clone, Debug)]
pub struct Planted {
    /// As it stands there.
    pub text: String,
    /// In the base of its unit.
    pub value: f64,
    /// How it is printed.
    pub guise: Guise,
    /// What it is.
    pub role: Role,
}

/// How raw lines are dressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dress {
    /// As they are, blank lines around.
    Plain,
    /// With line numbers against them.
    Numbered,
    /// In a fenced block.
    Fenced,
    /// Behind a prompt with the command, fenced.
    Prompt,
}

/// A piece of a document.
#[derive(Clone, Debug)]
pub enum Item {
    /// Lines; figures as marks.
    Line(String),
    /// An output.
    Raw {
        /// The run, where tables are made of it.
        run: Option<&'static Run>,
        /// Its command.
        command: String,
        /// Its lines.
        lines: Vec<String>,
        /// How they are dressed.
        dress: Dress,
    },
    /// A table.
    Table {
        /// What is in it.
        grid: Grid,
        /// How it is drawn.
        shape: Shape,
    },
}

/// A document.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Which kind.
    pub kind: Kind,
    /// Language.
    pub tongue: Tongue,
    /// In order.
    pub items: Vec<Item>,
    /// Figures by id.
    pub figures: Vec<Planted>,
}

/// Where something stands that a slip changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The line of a figure.
    Figure(usize),
    /// A line of a raw block.
    Raw(usize, usize),
    /// The first line of an item.
    Item(usize),
    /// Anywhere: what is missing stands nowhere.
    Page,
}

/// A document written out.
#[derive(Clone, Debug)]
pub struct Written {
    /// Its text.
    pub text: String,
    /// Number of the line of every figure, from 1; 0 of those that are not printed.
    pub figures: Vec<u32>,
    /// Number of the first line of every item.
    items: Vec<u32>,
}

impl Written {
    /// The line of a target, from 1; `None` of the whole page.
    pub fn line(&self, target: Target) -> Option<u32> {
        match target {
            Target::Figure(id) => self.figures.get(id).copied(),
            Target::Raw(item, line) => Some(self.items.get(item)? + line as u32),
            Target::Item(item) => self.items.get(item).copied(),
            Target::Page => None,
        }
    }
}

/// Stands before the id of a figure in a line, and behind it.
const MARK: char = '\u{e000}';
const END: char = '\u{e001}';

impl Draft {
    /// An empty one.
    pub fn new(kind: Kind, tongue: Tongue) -> Draft {
        Draft { kind, tongue, items: Vec::new(), figures: Vec::new() }
    }

    /// Adds a figure; gives the mark by which lines and cells have it, and its id.
    pub fn plant(&mut self, value: f64, guise: Guise, role: Role) -> (String, usize) {
        let text = guise.show(value);
        self.plant_text(text, value, guise, role)
    }

    /// The same of a figure whose text is known: copied from an output.
    pub fn plant_text(&mut self, text: String, value: f64, guise: Guise, role: Role) -> (String, usize) {
        let id = self.figures.len();
        self.figures.push(Planted { text, value, guise, role });
        (format!("{MARK}{id}{END}"), id)
    }

    /// Adds a line.
    pub fn line(&mut self, text: impl Into<String>) {
        self.items.push(Item::Line(text.into()));
    }

    /// A text with its figures.
    pub fn filled(&self, text: &str) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some(at) = rest.find(MARK) {
            filled.push_str(&rest[..at]);
            let behind = &rest[at + MARK.len_utf8()..];
            let end = behind.find(END).unwrap_or(behind.len());
            let id: usize = behind[..end].parse().unwrap_or(usize::MAX);
            filled.push_str(self.figures.get(id).map_or("", |figure| figure.text.as_str()));
            rest = behind.get(end + END.len_utf8()..).unwrap_or("");
        }
        filled.push_str(rest);
        filled
    }

    /// The ids in a text.
    fn ids(text: &str) -> impl Iterator<Item = usize> + '_ {
        text.split(MARK).skip(1).filter_map(|part| part.split(END).next()?.parse().ok())
    }

    /// Writes it out.
    pub fn written(&self) -> Written {
        let mut lines: Vec<String> = Vec::new();
        let mut figures = vec![0; self.figures.len()];
        let mut items = Vec::new();
        for item in &self.items {
            let mut raw_from = 0;
            let made = match item {
                Item::Line(text) => vec![text.clone()],
                Item::Table { grid, shape } => lay_out(self, grid, *shape),
                Item::Raw { lines, dress, command, .. } => {
                    let (made, from) = dressed(lines, *dress, command);
                    raw_from = from;
                    made
                }
            };
            items.push((lines.len() + raw_from + 1) as u32);
            for line in made {
                let number = lines.len() as u32 + 1;
                Draft::ids(&line).for_each(|id| figures[id] = number);
                lines.push(self.filled(&line));
            }
        }
        Written { text: lines.join("\n") + "\n", figures, items }
    }
}

/// Lines as they are dressed, and how many stand before the first.
fn dressed(lines: &[String], dress: Dress, command: &str) -> (Vec<String>, usize) {
    let own = lines.iter().cloned();
    match dress {
        Dress::Plain => ([String::new()].into_iter().chain(own).chain([String::new()]).collect(), 1),
        Dress::Fenced => (["```".to_owned()].into_iter().chain(own).chain(["```".to_owned()]).collect(), 1),
        Dress::Prompt => {
            let head = ["```".to_owned(), format!("[root@node1 ~]# {command}")];
            (head.into_iter().chain(own).chain(["```".to_owned()]).collect(), 2)
        }
        Dress::Numbered => {
            let numbered = lines.iter().enumerate().map(|(at, line)| format!("{:>2}{line}", at + 1));
            ([String::new()].into_iter().chain(numbered).chain([String::new()]).collect(), 1)
        }
    }
}
