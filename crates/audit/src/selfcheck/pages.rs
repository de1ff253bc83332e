//! Documents that an honest author would publish: from a seed, out of the runs of the pool, every figure computed from them and
//! correctly rounded.

pub mod bounded;
mod compared;
mod tables;

use super::draft::{Draft, Dress, Item, Kind, Role, Tongue};
use super::guise::Guise;
use super::pool::{self, Run};
use super::random::Random;
use super::shapes::Shape;
use super::words;

/// The sound document of a seed, of one of these kinds.
pub fn sound(seed: u64, kinds: &[Kind]) -> Draft {
    let mut random = Random::new(seed);
    let kind = *random.pick(kinds);
    let tongue = *random.pick(&[Tongue::En, Tongue::En, Tongue::Zh, Tongue::Ru]);
    let mut draft = Draft::new(kind, tongue);
    // What else a page says of machines would bound figures, too.
    if kind != Kind::Bounded {
        opening(&mut draft, &mut random);
    }
    match kind {
        Kind::Tools => compared::tools(&mut draft, &mut random),
        Kind::Bounded => bounded::bounded(&mut draft, &mut random),
        Kind::Compared => compared::compared(&mut draft, &mut random),
        Kind::Raw => compared::raw(&mut draft, &mut random),
        Kind::Matrix => tables::matrix(&mut draft, &mut random),
        Kind::Lying => tables::lying(&mut draft, &mut random),
        Kind::Across => tables::across(&mut draft, &mut random),
        Kind::Replicas => tables::replicas(&mut draft, &mut random),
        Kind::Sizes => tables::sizes(&mut draft, &mut random),
        Kind::Overhead => tables::overhead(&mut draft, &mut random),
        Kind::Network => tables::network(&mut draft, &mut random),
        Kind::Settings => tables::settings(&mut draft, &mut random),
    }
    draft
}

fn opening(draft: &mut Draft, random: &mut Random) {
    let tongue = draft.tongue;
    draft.line(format!("# {}", words::heading(tongue, 0)));
    draft.line("");
    let mut noise = words::noise(tongue).to_vec();
    random.shuffle(&mut noise);
    for line in &noise[..2 + random.below(3)] {
        draft.line(*line);
        if random.one_in(2) {
            draft.line("");
        }
    }
    if random.one_in(2) {
        draft.line(words::spread(tongue));
    }
    if random.one_in(2) {
        draft.line(words::prepared(tongue));
    }
    if random.one_in(3) {
        for again in [false, true] {
            let (mark, _) = draft.plant(2.0, Guise::new(1.0, 0, " %"), Role::Margin);
            draft.line(words::margin(tongue, &mark, again));
        }
    }
    draft.line("");
}

/// A heading with a blank line behind.
fn heading(draft: &mut Draft, at: usize) {
    let text = words::heading(draft.tongue, at);
    draft.line("");
    draft.line(format!("## {text}"));
    draft.line("");
}

/// A guise for rates of I/Os that a column keeps to.
fn rates(tongue: Tongue, random: &mut Random) -> Guise {
    let plain = Guise::new(1.0, 0, "");
    let ru = tongue == Tongue::Ru;
    match random.below(6) {
        0 => Guise::new(1e3, 1, "k"),
        1 => Guise { comma: ru, ..Guise::new(1e3, 1, if ru { "k" } else { "K" }) },
        2 if ru => Guise { group: Some('\u{a0}'), ..plain },
        2 => Guise { group: Some(','), ..plain },
        3 => Guise::new(1.0, 0, " IOPS"),
        4 => Guise { comma: ru, ..Guise::new(1e3, 2, "k IOPS") },
        _ => plain,
    }
}

/// A guise for bandwidths.
fn bandwidths(tongue: Tongue, random: &mut Random) -> Guise {
    let ru = tongue == Tongue::Ru;
    let decimals = 1 + random.below(2);
    match (random.below(5), ru) {
        (0, true) => Guise { comma: true, ..Guise::new(1e6, decimals, " МБ/с") },
        (1, true) => Guise { comma: true, ..Guise::new(1_048_576.0, decimals, " МиБ/с") },
        (0, false) => Guise::new(1e6, decimals, " MB/s"),
        (1, false) => Guise::new(1_048_576.0, 0, "MiB/s"),
        (2, _) => Guise::new(1e6, decimals, "MB/s"),
        (3, _) => Guise::new(1_048_576.0, decimals, " MiB/s"),
        _ => Guise::new(1e6, 0, " MB/s"),
    }
}

/// A guise for percentages.
fn percents(tongue: Tongue, random: &mut Random) -> Guise {
    let unit = *random.pick(&["%", " %", "%"]);
    let decimals = *random.pick(&[0, 1, 1, 1, 2]);
    let wide = tongue == Tongue::Zh && random.one_in(6);
    let comma = tongue == Tongue::Ru && random.one_in(2);
    Guise { wide, comma, ..Guise::new(1.0, decimals, if wide { "%" } else { unit }) }
}

/// Two systems or more under a few loads.
struct Field {
    /// Names, the base first.
    systems: Vec<&'static str>,
    /// What is run.
    loads: Vec<(&'static str, u64)>,
    /// I/Os a second by load and system.
    iops: Vec<Vec<f64>>,
    /// Runs that have exactly these figures, by load and system.
    runs: Vec<Vec<&'static Run>>,
}

/// Which load a run is of.
fn load(run: &Run) -> (&'static str, u64) {
    (run.rw, run.bs)
}

/// The runs of one engine of each load: one way, one job, a depth of 8.
fn of_engine(engine: &str) -> Vec<&'static Run> {
    let plain = |run: &&Run| {
        run.engine == engine
            && run.ways.len() == 1
            && run.depth == 8
            && !pool::ALL[run.output].name.contains("long")
    };
    pool::runs().iter().filter(plain).collect()
}

/// Figures of so many systems under so many loads: the base's are of the pool, those of the others lose `loss` or so.
fn field(
    tongue: Tongue,
    systems: usize,
    loads: usize,
    loss: std::ops::Range<f64>,
    random: &mut Random,
) -> Field {
    let mut names = words::systems(tongue, random);
    names.truncate(systems);
    let mut runs = of_engine(if random.one_in(2) { "libaio" } else { "io_uring" });
    random.shuffle(&mut runs);
    runs.truncate(loads);
    let iops = runs
        .iter()
        .map(|run| {
            let base = run.iops(0);
            let other = |at: usize, random: &mut Random| {
                let lost = random.between(loss.start, loss.end) * (1.0 + 0.4 * (at as f64 - 1.0));
                (base * (1.0 - lost.min(0.95))).floor()
            };
            (0..names.len()).map(|at| if at == 0 { base } else { other(at, random) }).collect()
        })
        .collect();
    let loads = runs.iter().map(|run| load(run)).collect();
    Field { systems: names, loads, iops, runs: runs.into_iter().map(|run| vec![run]).collect() }
}

/// A shape that any table may have.
fn shape(random: &mut Random) -> Shape {
    *random.pick(&[
        Shape::Markdown,
        Shape::Markdown,
        Shape::MarkdownFirst,
        Shape::Bare,
        Shape::Spaced,
        Shape::Csv,
        Shape::Tabs,
        Shape::Html,
        Shape::HtmlCells,
        Shape::Stacked,
    ])
}

/// A result that is no copy.
fn value(rate: bool, bs: Option<u64>, cell: (usize, usize, usize)) -> Role {
    Role::Value { copied: None, rate, twin: None, bs, cell }
}

/// The command that a run was made by.
fn command(run: &Run) -> String {
    let size = words::size(run.bs, false);
    let seconds = (run.runtime_ms / 1e3).floor();
    format!(
        "fio --filename=/mnt/data --size=128m --direct=1 --ioengine={} --rw={} --bs={size} --iodepth={} --time_based --runtime={seconds} --name={}",
        run.engine, run.rw, run.depth, run.job
    )
}

/// Shows an output.
fn show(draft: &mut Draft, output: usize, dress: Dress) -> usize {
    let run = pool::runs().iter().find(|run| run.output == output);
    let text = pool::ALL[output].text;
    let tool = pool::ALL[output].name.split('-').next().unwrap_or("");
    let command = run.map_or_else(|| format!("./{tool}.sh"), command);
    // Numbers that melt with a tool's own from the first line on nobody can tell apart.
    let melts = tool.starts_with("dd") || tool.starts_with("mbw");
    let dress = if melts && dress == Dress::Numbered { Dress::Fenced } else { dress };
    let lines = text.trim_end().lines().map(str::to_owned).collect();
    draft.items.push(Item::Raw { run, command, lines, dress });
    draft.items.len() - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_document_and_every_figure_a_line() {
        for seed in 0..200 {
            let draft = sound(seed, &Kind::ALL);
            let written = draft.written();
            assert_eq!(written.text, sound(seed, &Kind::ALL).written().text);
            assert!(!written.text.contains(['\u{e000}', '\u{e001}']), "{}", written.text);
            for (figure, line) in draft.figures.iter().zip(&written.figures).filter(|(_, line)| **line > 0) {
                let text = written.text.lines().nth(*line as usize - 1).unwrap();
                assert!(text.contains(&figure.text), "{} in {text}", figure.text);
            }
        }
    }

    #[test]
    fn every_kind_and_tongue_comes() {
        let mut seen = std::collections::HashSet::new();
        for seed in 0..400 {
            let draft = sound(seed, &Kind::ALL);
            seen.insert((draft.kind, draft.tongue as u8));
        }
        assert_eq!(seen.len(), 3 * Kind::ALL.len());
    }
}
