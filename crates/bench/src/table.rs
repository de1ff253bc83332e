//! The table of goals as text and as JSON. Values in, text out.

use crate::contest::goals::{GoalBound, GoalFigure, Ours};
use crate::contest::{Contender, Effort};
use iotax_load::{Iomem, Stamping};
use iotax_stats::round::three_digits;
use iotax_units::exit::{DONE, FINDING, UNMET_NEED};
use iotax_units::{show_bytes, show_ns};
use serde_json::json;
use std::fmt::Write as _;

/// Name of the format.
const FORMAT: &str = "iotax-selfcheck-engine";
/// Raised when a field changes its meaning or goes.
const VERSION: u32 = 1;

const OK: &str = "ok";
const MISSED: &str = "MISSED";
const NOT_RUN: &str = "not run";

pub(super) struct BenchTable {
    pub(super) effort: Effort,
    /// Goals that were named individually.
    pub(super) asked: Vec<u8>,
    /// Version of fio, or why there is none.
    pub(super) fio: Result<String, String>,
    pub(super) rows: Vec<BenchRow>,
}

pub(super) struct BenchRow {
    pub(super) goal: u8,
    pub(super) under: String,
    /// Processor that all ran on; `None` for any.
    pub(super) cpu: Option<usize>,
    pub(super) what: String,
    pub(super) unit: BenchUnit,
    pub(super) of: Option<GoalFigure>,
    pub(super) found: Result<BenchFigures, String>,
    pub(super) bound: GoalBound,
}

#[derive(Clone, Copy)]
pub(super) struct BenchFigures {
    pub(super) value: f64,
    /// Lowest and highest value of the rounds.
    pub(super) spread: Option<(f64, f64)>,
    pub(super) ours: f64,
    pub(super) theirs: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum BenchUnit {
    Ratio,
    Share,
    Ns,
    Bytes,
}

impl BenchUnit {
    fn show(self, value: f64) -> String {
        match self {
            BenchUnit::Ratio => format!("{value:.3}"),
            BenchUnit::Share => format!("{:.2} %", 100.0 * value),
            BenchUnit::Ns => show_ns(value),
            BenchUnit::Bytes => show_bytes(value as u64),
        }
    }

    fn word(self) -> &'static str {
        match self {
            BenchUnit::Ratio | BenchUnit::Share => "1",
            BenchUnit::Ns => "ns",
            BenchUnit::Bytes => "B",
        }
    }
}

pub(super) fn name(who: Contender) -> String {
    match who {
        Contender::Peer(peer) => peer.name().to_owned(),
        Contender::Ours(ours) => format!("ours{}", kind(ours)),
    }
}

fn kind(ours: Ours) -> &'static str {
    match (ours.stamps, ours.iomem) {
        (_, Iomem::MmapHuge) => ", huge pages",
        (Stamping::Each, _) => "",
        (Stamping::Batch, _) => ", a stamp a batch",
        (Stamping::Off, _) => ", no latencies",
    }
}

pub(super) fn iops(value: f64) -> String {
    match value {
        value if value >= 1e6 => format!("{}M", three_digits(value / 1e6)),
        value if value >= 1e4 => format!("{}k", three_digits(value / 1e3)),
        value => three_digits(value),
    }
}

/// Returns `IOPS over fio tuned`.
pub(super) fn what(of: GoalFigure, ours: Ours, against: Option<Contender>) -> String {
    let of = match of {
        GoalFigure::Iops => "IOPS",
        GoalFigure::UserNs => "user CPU per I/O",
        GoalFigure::CpuNs => "CPU per I/O",
        GoalFigure::KernelShare => "kernel's share of the CPU",
        GoalFigure::NsAnIo => "time an I/O",
    };
    let over = against.map(|who| format!(" over {}", name(who))).unwrap_or_default();
    format!("{of}{}{over}", kind(ours))
}

impl BenchRow {
    /// Returns true if the goal is met; `None` if it was not measured.
    fn holds(&self) -> Option<bool> {
        self.found.as_ref().ok().map(|found| self.bound.holds(found.value))
    }

    fn state(&self) -> &'static str {
        match self.holds() {
            Some(true) => OK,
            Some(false) => MISSED,
            None => NOT_RUN,
        }
    }

    fn bound(&self) -> String {
        match self.bound {
            GoalBound::AtLeast(least) => format!(">= {}", self.unit.show(least)),
            GoalBound::AtMost(most) => format!("<= {}", self.unit.show(most)),
        }
    }

    /// Returns both sides, if there are two.
    fn sides(&self, found: &BenchFigures) -> String {
        let Some(theirs) = found.theirs else { return String::new() };
        let show = |value: f64| match self.of {
            Some(GoalFigure::Iops) | None => iops(value),
            Some(_) => show_ns(value),
        };
        format!("{} / {}", show(found.ours), show(theirs))
    }

    fn text(&self) -> String {
        let head = format!("  {:>2}  {:<52}", self.goal, self.what);
        match &self.found {
            Err(why) => format!("{head}{:>10}  {:<24}{why}", self.state(), ""),
            Ok(found) => {
                let spread = found.spread.map(|(low, high)| {
                    format!("({} to {})", self.unit.show(low), self.unit.show(high))
                });
                format!(
                    "{head}{:>10}  {:<24}{:<12}{:<8}{}",
                    self.unit.show(found.value),
                    spread.unwrap_or_default(),
                    self.bound(),
                    self.state(),
                    self.sides(found)
                )
            }
        }
    }
}

impl BenchTable {
    /// Returns true if no measured row misses its goal; `None` if no row was measured.
    fn holds(&self) -> Option<bool> {
        self.rows.iter().filter_map(BenchRow::holds).reduce(|all, one| all && one)
    }

    /// Returns the exit code. A missed goal is a finding. If a named goal could not be measured, or
    /// none at all, this machine lacks what it takes.
    pub(super) fn code(&self) -> u8 {
        let looked_at =
            |goal: &u8| self.rows.iter().any(|row| row.goal == *goal && row.holds().is_some());
        match self.holds() {
            Some(false) => FINDING,
            Some(true) if self.asked.iter().all(looked_at) => DONE,
            _ => UNMET_NEED,
        }
    }

    fn count(&self, state: &str) -> usize {
        self.rows.iter().filter(|row| row.state() == state).count()
    }

    pub(super) fn text(&self) -> String {
        let Effort { seconds, runs, .. } = self.effort;
        let fio = match &self.fio {
            Ok(version) => version.clone(),
            Err(why) => format!("no fio ({why})"),
        };
        let mut out = format!(
            "iotax {} and {fio}: {runs} runs of {seconds} s each, in turn; medians, and in brackets the rounds\n",
            env!("CARGO_PKG_VERSION"),
        );
        for group in
            self.rows.chunk_by(|one, next| (&one.under, one.cpu) == (&next.under, next.cpu))
        {
            let cpu = group[0]
                .cpu
                .map_or_else(|| "any processor".to_owned(), |cpu| format!("processor {cpu}"));
            // Writing to a string does not fail.
            let _ = writeln!(out, "\n{}; on {cpu}", group[0].under);
            group.iter().for_each(|row| {
                let _ = writeln!(out, "{}", row.text().trim_end());
            });
        }
        let [ok, missed, not_run] = [OK, MISSED, NOT_RUN].map(|state| self.count(state));
        let _ = writeln!(out, "\n{ok} hold, {missed} missed, {not_run} not run");
        out
    }

    pub(super) fn json(&self) -> String {
        let rows: Vec<serde_json::Value> = self.rows.iter().map(row).collect();
        let document = json!({
            "format": FORMAT,
            "version": VERSION,
            "iotax": env!("CARGO_PKG_VERSION"),
            "fio": self.fio.as_ref().ok(),
            "seconds": self.effort.seconds,
            "runs": self.effort.runs,
            "seed": self.effort.seed,
            "holds": self.holds(),
            "ok": self.count(OK),
            "missed": self.count(MISSED),
            "not_run": self.count(NOT_RUN),
            "lines": rows,
        });
        format!("{document:#}\n")
    }
}

fn row(row: &BenchRow) -> serde_json::Value {
    let found = row.found.as_ref().ok();
    let bound = match row.bound {
        GoalBound::AtLeast(least) => json!({"at_least": least}),
        GoalBound::AtMost(most) => json!({"at_most": most}),
    };
    json!({
        "goal": row.goal,
        "under": row.under,
        "cpu": row.cpu,
        "what": row.what,
        "unit": row.unit.word(),
        "state": row.state().to_lowercase().replace(' ', "_"),
        "value": found.map(|found| found.value),
        "lowest": found.and_then(|found| found.spread).map(|(low, _)| low),
        "highest": found.and_then(|found| found.spread).map(|(_, high)| high),
        "ours": found.map(|found| found.ours),
        "theirs": found.and_then(|found| found.theirs),
        "bound": bound,
        "why": row.found.as_ref().err(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row_of(found: Result<BenchFigures, String>) -> BenchRow {
        BenchRow {
            goal: 2,
            under: "a page-cached file, uring, 4 KiB, iodepth 32".into(),
            cpu: Some(0),
            what: "IOPS over fio tuned".into(),
            unit: BenchUnit::Ratio,
            of: Some(GoalFigure::Iops),
            found,
            bound: GoalBound::AtLeast(1.33),
        }
    }

    fn table(rows: Vec<BenchRow>) -> BenchTable {
        let effort = Effort { seconds: 2.0, runs: 5, seed: 1 };
        BenchTable { effort, asked: Vec::new(), fio: Ok("fio 3.33".into()), rows }
    }

    fn figures(value: f64) -> BenchFigures {
        BenchFigures {
            value,
            spread: Some((value - 0.02, value + 0.03)),
            ours: value * 8e5,
            theirs: Some(8e5),
        }
    }

    #[test]
    fn what_was_not_run_is_no_failure_and_says_why() {
        let all = table(vec![row_of(Ok(figures(1.35))), row_of(Err("no zram".into()))]);
        assert_eq!((all.holds(), all.code()), (Some(true), DONE));
        let text = all.text();
        assert!(text.contains("1.350  (1.330 to 1.380)") && text.contains("ok"), "{text}");
        assert!(text.contains("not run") && text.contains("no zram"), "{text}");
        assert!(text.ends_with("1 hold, 0 missed, 1 not run\n"));
    }

    #[test]
    fn where_nothing_was_measured_nothing_holds() {
        let none = table(vec![row_of(Err("no fio".into()))]);
        let value: serde_json::Value = serde_json::from_str(&none.json()).unwrap();
        assert!(value["holds"].is_null(), "{value}");
        assert_eq!([&value["ok"], &value["missed"], &value["not_run"]], [0, 0, 1]);
        assert_eq!((none.code(), table(Vec::new()).code()), (UNMET_NEED, UNMET_NEED));
    }

    #[test]
    fn a_goal_that_was_named_must_have_been_looked_at() {
        let found = |asked: &[u8], rows| BenchTable { asked: asked.to_vec(), ..table(rows) }.code();
        let other = |found| BenchRow { goal: 4, ..row_of(found) };
        assert_eq!(
            found(&[2, 4], vec![row_of(Ok(figures(1.4))), other(Err("no zram".into()))]),
            UNMET_NEED
        );
        assert_eq!(
            found(&[2], vec![row_of(Ok(figures(1.4))), row_of(Err("no t/io_uring".into()))]),
            DONE
        );
        assert_eq!(
            found(&[2, 4], vec![row_of(Ok(figures(1.2))), other(Err("no zram".into()))]),
            FINDING
        );
    }

    #[test]
    fn the_processor_is_told_where_there_is_one() {
        let anywhere = BenchRow { cpu: None, ..row_of(Ok(figures(1.4))) };
        let text = table(vec![row_of(Ok(figures(1.4))), anywhere]).text();
        assert!(
            text.contains("iodepth 32; on processor 0\n")
                && text.contains("iodepth 32; on any processor\n"),
            "{text}"
        );
        assert!(!text.lines().next().unwrap().contains("processor"), "{text}");
    }

    #[test]
    fn a_missed_goal_is_told() {
        let all = table(vec![row_of(Ok(figures(1.2)))]);
        assert_eq!(all.code(), FINDING);
        assert!(all.text().contains("MISSED"));
        let value: serde_json::Value = serde_json::from_str(&all.json()).unwrap();
        assert_eq!(
            (&value["holds"], &value["lines"][0]["state"]),
            (&json!(false), &json!("missed"))
        );
    }
}
