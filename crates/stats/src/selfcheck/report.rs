//! Prints the check as text and as JSON: the table of requirements by figure, then the details that
//! it rests on. Values in, text out.

use super::details::Detail;
use super::lines::{FULL, LineBound, LineState, LineUnit, SelfcheckLine, allowance};
use serde::Serialize;
use std::fmt::Write as _;

/// Findings of one run of the check.
#[derive(Clone, Debug, Serialize)]
pub struct Findings {
    /// Version of iotax that ran.
    pub iotax: &'static str,
    /// Number of repetitions of every cell.
    pub reps: u64,
    /// Seed of the simulations.
    pub seed: u64,
    /// Number of Monte-Carlo errors by which a figure may exceed its bound.
    pub allowance: f64,
    /// True if every line holds.
    pub holds: bool,
    /// Names of the user's own series, which were replayed beside those that come with iotax.
    pub local: Vec<String>,
    /// Requirements, one per line.
    #[serde(skip)]
    pub lines: Vec<SelfcheckLine>,
    /// Details that the lines rest on.
    pub details: Vec<Detail>,
}

const FORMAT: &str = "iotax-selfcheck";
/// Raised when a field changes its meaning or is removed.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct SelfcheckDocument<'a> {
    format: &'static str,
    version: u32,
    #[serde(flatten)]
    findings: &'a Findings,
    lines: Vec<Standing<'a>>,
}

#[derive(Serialize)]
struct Standing<'a> {
    #[serde(flatten)]
    line: &'a SelfcheckLine,
    state: LineState,
}

impl Findings {
    /// Collects the lines and details of a check with `reps` repetitions of each cell.
    pub fn new(
        reps: u64,
        seed: u64,
        local: Vec<String>,
        lines: Vec<SelfcheckLine>,
        details: Vec<Detail>,
    ) -> Findings {
        let holds = lines.iter().all(|line| line.holds);
        let iotax = env!("CARGO_PKG_VERSION");
        Findings { iotax, reps, seed, allowance: allowance(reps), holds, local, lines, details }
    }

    /// Returns the findings as JSON.
    pub fn json(&self) -> String {
        let lines = self.lines.iter().map(|line| Standing { line, state: line.state() }).collect();
        let document =
            SelfcheckDocument { format: FORMAT, version: VERSION, findings: self, lines };
        // The document holds plain figures, words and lists. A value that is not a number becomes
        // null.
        serde_json::to_string_pretty(&document)
            .map_or_else(|why| format!("{why}\n"), |text| text + "\n")
    }

    /// Returns the findings as text for a terminal of `columns` columns.
    pub fn table(&self, columns: usize) -> String {
        let mut out = String::new();
        self.head(&mut out);
        for group in self.lines.chunk_by(|one, next| one.figure == next.figure) {
            write_line(&mut out, &group[0].figure);
            group.iter().for_each(|one| write_line(&mut out, &print_line(one)));
            out.push('\n');
        }
        write_line(&mut out, "Details by kind of noise");
        for kind in self.details.chunk_by(|one, next| one.kind == next.kind) {
            kind_lines(&mut out, kind, columns);
        }
        self.foot(&mut out);
        out
    }

    fn head(&self, out: &mut String) {
        let cells = self.details.len();
        write_line(
            out,
            &format!(
                "iotax {}: {cells} cells of {} repetitions, seed {}",
                self.iotax, self.reps, self.seed
            ),
        );
        let allowed = self.allowance;
        write_line(
            out,
            &format!(
                "A bound allows for Monte-Carlo errors: {allowed} (3 below {FULL} repetitions)."
            ),
        );
        if !self.local.is_empty() {
            write_line(out, &format!("With series of this machine: {}", self.local.join(", ")));
        }
        out.push('\n');
    }

    fn foot(&self, out: &mut String) {
        let of = |state| self.lines.iter().filter(|line| line.state() == state).count();
        let held = of(LineState::Ok) + of(LineState::WithinError);
        let within = match of(LineState::WithinError) {
            0 => String::new(),
            some => format!(", {some} of them within their error"),
        };
        write_line(
            out,
            &format!(
                "\n{held} lines hold{within}, {} shown, {} fail",
                of(LineState::Shown),
                of(LineState::Fails)
            ),
        );
    }
}

/// Writes a line without trailing blanks.
fn write_line(out: &mut String, text: &str) {
    // Writing to a string does not fail.
    let _ = writeln!(out, "{}", text.trim_end());
}

/// Width of the name column, in characters.
const NAME: usize = 24;

fn print_line(line: &SelfcheckLine) -> String {
    let state = match line.state() {
        LineState::Ok => "ok",
        LineState::WithinError => "ok within its error",
        LineState::Fails => "FAILS",
        LineState::Shown => "shown, no bound",
    };
    let (value, error) = (print_value(line.value, line.unit), print_value(line.error, line.unit));
    let figures = format!("{value:>8} +- {error:<7} {:<15}{state}", bound(line));
    match line.of.len() <= NAME {
        true => format!("  {:<NAME$}{figures}", line.of),
        // Names of the user's own series may be longer than the column.
        false => format!("  {}\n  {:<NAME$}{figures}", line.of, ""),
    }
}

fn bound(line: &SelfcheckLine) -> String {
    let plain = |value| trimmed(&print_value(value, line.unit));
    match line.bound {
        LineBound::AtMost(most) => format!("<= {}", plain(most)),
        LineBound::AtLeast(least) => format!(">= {}", plain(least)),
        LineBound::Between(least, most) => {
            let least = plain(least);
            format!("{} .. {}", least.split(' ').next().unwrap_or_default(), plain(most))
        }
        LineBound::Shown => String::new(),
    }
}

fn print_value(value: f64, unit: LineUnit) -> String {
    match unit {
        LineUnit::Share => format!("{:.2} %", 100.0 * value),
        LineUnit::Seconds => format!("{value:.2} s"),
        LineUnit::Ratio => format!("{value:.4}"),
        LineUnit::Points => format!("{:.3} pt", 100.0 * value),
        LineUnit::Micros => format!("{:.3} us", 1e6 * value),
    }
}

/// Trims trailing zeros: `6.50 %` becomes `6.5 %`, `30.00 s` becomes `30 s`.
fn trimmed(figure: &str) -> String {
    let (number, unit) = figure.split_at(figure.find(' ').unwrap_or(figure.len()));
    format!("{}{unit}", number.trim_end_matches('0').trim_end_matches('.'))
}

/// Width, in characters, from which the description of a kind is printed beside its name.
const WIDE: usize = 120;

/// Prints a kind of noise: its name and description, then two lines per cell, or one where there is
/// room.
fn kind_lines(out: &mut String, kind: &[Detail], columns: usize) {
    if columns >= WIDE {
        write_line(out, &format!("  {:<25}{}", kind[0].kind, kind[0].help));
    } else {
        write_line(out, &format!("  {}", kind[0].kind));
        wrapped(&kind[0].help, columns.saturating_sub(4))
            .iter()
            .for_each(|part| write_line(out, &format!("    {part}")));
    }
    for cell in kind {
        let (figures, choices) = (figures(cell), choices(cell));
        if figures.len() + choices.len() + 8 <= columns {
            write_line(out, &format!("    {figures}  {choices}"));
        } else {
            write_line(out, &format!("    {figures}"));
            wrapped(&choices, columns.saturating_sub(6))
                .iter()
                .for_each(|part| write_line(out, &format!("      {part}")));
        }
    }
}

fn figures(cell: &Detail) -> String {
    let purpose =
        if cell.purpose.is_empty() { String::new() } else { format!(" ({})", cell.purpose) };
    format!(
        "{:>2.0} %{purpose}: {:.1} s, +- {:.2} %, bias {:+.3} %",
        100.0 * cell.cost,
        cell.mean_s,
        100.0 * cell.half_width,
        100.0 * cell.bias
    )
}

/// Lists the designs that the pilots chose, with those rarer than one in a hundred together, and
/// the refusals.
fn choices(cell: &Detail) -> String {
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let (often, rare): (Vec<_>, Vec<_>) =
        cell.designs.iter().partition(|(_, share)| *share >= 0.01);
    let mut said: Vec<String> =
        often.iter().map(|(design, share)| format!("{design} {}", percent(*share))).collect();
    let rare: f64 = rare.iter().map(|(_, share)| share).sum();
    if rare >= 0.005 {
        said.push(format!("others {}", percent(rare)));
    }
    let refused =
        cell.refused.iter().map(|(why, share)| format!("refused as {why} {:.1} %", 100.0 * share));
    said.extend(refused);
    said.join(", ")
}

/// Wraps text at word boundaries into lines of at most `columns` bytes; a longer word has a line of
/// its own.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(last) if last.len() + 1 + word.len() <= columns => {
                last.push(' ');
                last.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::cell::repeat;
    use super::super::kinds::NoiseSource;
    use super::super::lines::Plan;
    use super::super::series::{SHIPPED, parse};
    use super::*;
    use std::ops::ControlFlow;
    use std::sync::Arc;

    fn made_up(value: f64, error: f64, bound: LineBound, holds: bool) -> SelfcheckLine {
        let (figure, of) = ("A/A false positives".into(), "iid".into());
        SelfcheckLine { figure, of, value, error, unit: LineUnit::Share, bound, n: 100, holds }
    }

    fn found() -> Findings {
        let lines = vec![
            made_up(0.05, 0.01, LineBound::AtMost(0.065), true),
            made_up(0.07, 0.01, LineBound::AtMost(0.065), true),
            made_up(0.2, 0.01, LineBound::AtMost(0.065), false),
            made_up(0.2, 0.01, LineBound::Shown, true),
            made_up(f64::NAN, f64::NAN, LineBound::Between(0.935, 0.98), false),
        ];
        let detail = Detail {
            kind: "iid".into(),
            help: "white noise that goes on for so long that its line does not fit into eighty columns"
                .into(),
            purpose: "at least 60 s",
            cost: 0.02,
            n: 100,
            mean_s: 29.4,
            pilot_s: 4.3,
            half_width: 0.0095,
            bias: -0.0001,
            said: [0.97, 0.0, 0.01, 0.02],
            refused: [("carry_over", 0.01)].into(),
            designs: vec![("ABBA of 0.05 s".into(), 0.8), ("ABBA of 0.20 s".into(), 0.196)],
        };
        Findings::new(100, 7, vec!["x.csv".into()], lines, vec![detail])
    }

    #[test]
    fn lines_say_how_they_stand() {
        let text = found().table(80);
        for expected in [
            "seed 7",
            "allows for Monte-Carlo errors: 3",
            "x.csv",
            "5.00 % +- 1.00 %  <= 6.5 %       ok\n",
            "ok within its error",
            "FAILS",
            "shown, no bound",
            "93.5 .. 98 %",
            "refused as carry_over 1.0 %",
            "2 lines hold, 1 of them within their error, 1 shown, 2 fail",
        ] {
            assert!(text.contains(expected), "{expected:?} in\n{text}");
        }
        assert!(!found().holds);
    }

    #[test]
    fn it_fits_its_columns() {
        for columns in [80, 160] {
            let text = found().table(columns);
            assert!(
                text.lines().all(|line| line.len() <= columns && line == line.trim_end()),
                "{text}"
            );
        }
        assert!(found().table(160).lines().count() < found().table(80).lines().count());
    }

    #[test]
    fn json_is_json_even_without_a_number() {
        let json: serde_json::Value = serde_json::from_str(&found().json()).unwrap();
        assert_eq!((&json["seed"], &json["holds"]), (&7.into(), &false.into()));
        assert!(json["lines"][4]["value"].is_null());
        assert_eq!(json["details"][0]["refused"]["carry_over"], 0.01);
        assert_eq!((&json["format"], &json["version"]), (&FORMAT.into(), &VERSION.into()));
        let states: Vec<&str> = json["lines"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|line| line["state"].as_str())
            .collect();
        assert!(states.contains(&"fails") && states.contains(&"within_error"), "{states:?}");
    }

    #[test]
    fn what_is_ended_early_gives_nothing() {
        let source = |(name, text): &(&str, &str)| {
            NoiseSource::Recorded(Arc::new(parse(name, text).unwrap()))
        };
        let plan = Plan::new(&[source(&SHIPPED[3])], &[]);
        assert!(repeat(&plan.cells, 2, 5, &|| ControlFlow::Break(())).is_none());
    }

    #[test]
    fn own_series_stand_beside_the_others_and_change_none_of_them() {
        let source = |(name, text): &(&str, &str)| {
            NoiseSource::Recorded(Arc::new(parse(name, text).unwrap()))
        };
        let local = parse("mine", SHIPPED[3].1).unwrap();
        let lines = |local: &[NoiseSource]| {
            let plan = Plan::new(&[source(&SHIPPED[3])], local);
            let outcomes = repeat(&plan.cells, 2, 5, &|| ControlFlow::Continue(())).unwrap();
            plan.lines(&outcomes, 2)
        };
        let (without, with) = (lines(&[]), lines(&[NoiseSource::Recorded(Arc::new(local))]));
        let mine: Vec<&SelfcheckLine> =
            with.iter().filter(|line| line.of == "replay mine").collect();
        assert_eq!(mine.len(), 6, "false positives, four coverages, a time: {mine:?}");
        assert!(
            mine.iter()
                .any(|line| line.unit == LineUnit::Seconds && line.bound == LineBound::Shown)
        );
        assert_eq!(mine.iter().filter(|line| line.bound != LineBound::Shown).count(), 5);
        let others: Vec<SelfcheckLine> =
            with.into_iter().filter(|line| line.of != "replay mine").collect();
        // Compared as text, since a value that is not a number equals nothing.
        assert_eq!(format!("{others:?}"), format!("{without:?}"));
    }
}
