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
        line(String::new());
        line(
            "Rules: slips that it is asked to find and finds, findings in sound documents (wrong, ambiguous)"
                .into(),
        );
        for rule in self.rules() {
            let sound = format!("{}, {}", rule.sound[0], rule.sound[1]);
            match rule.why {
                Some(why) => line(format!("  {:<4} {:>9}  {sound:>7}  no slip: {why}", rule.id, "")),
                None => line(format!("  {:<4} {:>4}/{:<4}  {sound:>7}", rule.id, rule.found, rule.asked)),
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

    /// Every rule: of how many documents with a slip that it is for it told, or why there is none.
    fn rules(&self) -> Vec<OfRule> {
        let of = |rule: &&'static crate::rule::Rule| {
            let slips = || self.slips.iter().filter(|slip| slip.rules.contains(&rule.id));
            let sound =
                |alarms: &BTreeMap<&'static str, Alarm>| alarms.get(rule.id).map_or(0, |one| one.sound);
            OfRule {
                id: rule.id,
                found: slips().filter_map(|slip| slip.by.get(rule.id)).sum(),
                asked: slips()
                    .filter(|slip| slip.by.contains_key(rule.id) || slip.rules.len() == 1)
                    .map(|slip| slip.documents)
                    .sum(),
                sound: [sound(&self.wrong), sound(&self.ambiguous)],
                why: super::slips::WITHOUT.iter().find(|(id, _)| *id == rule.id).map(|(_, why)| *why),
            }
        };
        crate::rule::ALL.iter().map(of).collect()
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

/// What is told of a rule.
struct OfRule {
    id: &'static str,
    found: u64,
    asked: u64,
    sound: [u64; 2],
    why: Option<&'static str>,
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

fn by(slip: &Recall) -> String {
    let by: Vec<String> = slip.by.iter().map(|(rule, count)| format!("{rule} {count}")).collect();
    by.join(", ")
}
