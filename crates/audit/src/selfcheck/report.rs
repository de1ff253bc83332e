//! What was measured as text and as Markdown. Values in, text out.

use super::measure::{Alarm, Measured, Recall};
use std::collections::BTreeMap;
use std::fmt::Write as _;

impl Measured {
    /// As a table of plain text.
    pub fn text(&self) -> String {
        let mut out = String::new();
        let mut line = |text: String| {
            // Writing to a string does not fail.
            let _ = writeln!(out, "{}", text.trim_end());
        };
        line(format!(
            "{} sound documents, {} with one slip, seed {}",
            self.plan.sound, self.plan.slipped, self.plan.seed
        ));
        line(String::new());
        line("Slips, and how many of them are found".into());
        for slip in &self.slips {
            line(format!(
                "  {:<42} {:>3}/{:<3} {:>6}  >= {:>4}  {}  {}",
                slip.slip,
                slip.found,
                slip.documents,
                percent(slip.share()),
                percent(slip.bound),
                if slip.holds() { "ok   " } else { "FAILS" },
                by(slip)
            ));
            if let Some(seed) = slip.missed {
                line(format!("       missed: seed {seed}"));
            }
        }
        for (title, alarms) in
            [("Wrong findings of nothing", &self.wrong), ("Ambiguous findings", &self.ambiguous)]
        {
            line(String::new());
            line(format!("{title}, by rule: in sound documents, in others beside the slip"));
            if alarms.is_empty() {
                line("  none".into());
            }
            for (rule, alarm) in alarms {
                line(format!("  {rule:<4} {:>5} {:>5}", alarm.sound, alarm.slipped));
                // Of ambiguous ones one says enough.
                let told = if title.starts_with('W') { alarm.examples.len() } else { 1 };
                alarm.examples.iter().take(told).for_each(|example| line(format!("       {example}")));
            }
        }
        line(String::new());
        line(self.summary());
        out
    }

    /// As Markdown.
    pub fn markdown(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(
            out,
            "{} sound documents, {} with one slip, seed {}.\n\n| slip | found | of | share | least | by |\n|---|---|---|---|---|---|",
            self.plan.sound, self.plan.slipped, self.plan.seed
        );
        for slip in &self.slips {
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} |",
                slip.slip,
                slip.found,
                slip.documents,
                percent(slip.share()),
                percent(slip.bound),
                by(slip)
            );
        }
        let _ =
            writeln!(out, "\n| rule | severity | in sound documents | beside a slip |\n|---|---|---|---|");
        let rows = |alarms: &BTreeMap<&'static str, Alarm>, word: &str| -> String {
            let row = |(rule, alarm): (&&str, &Alarm)| {
                format!("| {rule} | {word} | {} | {} |\n", alarm.sound, alarm.slipped)
            };
            alarms.iter().map(row).collect()
        };
        let _ = writeln!(
            out,
            "{}{}\n{}",
            rows(&self.wrong, "wrong"),
            rows(&self.ambiguous, "ambiguous"),
            self.summary()
        );
        out
    }

    fn summary(&self) -> String {
        let found: u64 = self.slips.iter().map(|slip| slip.found).sum();
        let all: u64 = self.slips.iter().map(|slip| slip.documents).sum();
        let fails = self.slips.iter().filter(|slip| !slip.holds()).count();
        format!(
            "{found} of {all} slips found; {} of {} sound documents with a wrong finding; {} of {} of their figures held against \
             others; {}",
            self.alarmed,
            self.plan.sound,
            self.checked[0],
            self.checked[1],
            match (self.holds(), fails) {
                (true, _) => "all bounds hold".to_owned(),
                (false, 0) => "a bound is broken".to_owned(),
                (false, fails) => format!("{fails} slips are found too seldom"),
            }
        )
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

fn by(slip: &Recall) -> String {
    let by: Vec<String> = slip.by.iter().map(|(rule, count)| format!("{rule} {count}")).collect();
    by.join(", ")
}
