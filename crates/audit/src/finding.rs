//! What does not hold, and what is told of it.

use crate::page::TextSpan;
use serde::Serialize;
use std::sync::OnceLock;

/// How bad it is, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    WrongConclusion,
    /// A figure is not what its operands give.
    WrongFigure,
    /// It may mislead; what is printed does not settle it.
    Ambiguous,
    Cosmetic,
}

impl Severity {
    pub const ALL: [Severity; 4] =
        [Severity::WrongConclusion, Severity::WrongFigure, Severity::Ambiguous, Severity::Cosmetic];

    pub fn word(self) -> &'static str {
        match self {
            Severity::WrongConclusion => "wrong-conclusion",
            Severity::WrongFigure => "wrong-figure",
            Severity::Ambiguous => "ambiguous",
            Severity::Cosmetic => "cosmetic",
        }
    }
}

pub struct Rule {
    /// `F4`, as the catalogue has it.
    pub id: &'static str,
    /// A few words: `IOPS times block size is the bandwidth`.
    pub name: &'static str,
    pub severity: Severity,
    /// What it holds against what, with its tolerance.
    pub holds: &'static str,
    pub silent: &'static str,
}

/// All rules, as `rules.txt` has them.
pub fn all() -> &'static [Rule] {
    static ALL: OnceLock<Vec<Rule>> = OnceLock::new();
    ALL.get_or_init(|| include_str!("rule/rules.txt").split("\n\n").filter_map(described).collect())
}

fn described(text: &'static str) -> Option<Rule> {
    let (head, rest) = text.split_once(": ")?;
    let (name, rest) = rest.split_once("\nholds: ")?;
    let (holds, silent) = rest.split_once("\nsilent: ")?;
    let (id, severity) = head.split_once(' ')?;
    let severity = Severity::ALL.into_iter().find(|one| one.word() == severity)?;
    Some(Rule { id, name, severity, holds, silent: silent.trim_end() })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Slip {
    /// fio 2.20 to 3.25 lost a carry when it printed the figure.
    FioCarry,
    /// Ten, a hundred or a thousand times too much or too little.
    FactorTen,
    /// A prefix of 1000 where 1024 was meant, or the other way.
    #[serde(rename = "thousand-for-1024")]
    ThousandFor1024,
    /// Cut off where it should be rounded.
    Truncated,
    /// A percentage of the other operand: a loss told as `host / VM - 1`, a share the other way
    /// round.
    WrongBase,
    /// It was computed from a figure that is wrong itself.
    FromWrongFigure,
}

impl Slip {
    pub fn words(self) -> &'static str {
        self.known()[0]
    }

    fn known(self) -> [&'static str; 2] {
        known(&format!("{self:?}")).unwrap_or_default()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Id of the rule: `F4`.
    pub rule: &'static str,
    pub severity: Severity,
    /// Where: its line is told as the page counts it, which `line` is.
    #[serde(skip)]
    pub spot: TextSpan,
    /// What the figure is of, as words before it: `writes lose`; empty where it is not known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subject: String,
    pub printed: String,
    /// What it should be, in the same unit and digits; empty where nothing can be said.
    pub recomputed: String,
    /// One sentence: what does not hold, and why.
    pub message: String,
    /// By which arithmetic: `1 - 20.387k / 25.991k = 21.6 %`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arithmetic: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slip: Option<Slip>,
    /// Where what it was held against stands.
    #[serde(skip)]
    pub operands: Vec<TextSpan>,
}

impl Finding {
    /// A finding without arithmetic, slip and operands.
    pub fn new(
        rule: &'static str,
        severity: Severity,
        spot: TextSpan,
        message: impl Into<String>,
    ) -> Finding {
        Finding {
            rule,
            severity,
            spot,
            subject: String::new(),
            printed: String::new(),
            recomputed: String::new(),
            message: message.into(),
            arithmetic: None,
            slip: None,
            operands: Vec::new(),
        }
    }

    /// What it remarks, in a few words: `no spread`.
    pub fn topic(&self) -> &'static str {
        let name = || all().iter().find(|rule| rule.id == self.rule).map_or("", |rule| rule.name);
        known(self.rule).map_or_else(name, |[topic, _]| topic)
    }

    /// What a reader does about it, in a few words.
    pub fn advice(&self) -> String {
        let own = known(self.rule).map_or("ask for the raw output", |[_, advice]| advice);
        let otherwise = if self.recomputed.is_empty() { own } else { "read it as {}" };
        let said = self.slip.map_or(otherwise, |slip| slip.known()[1]);
        match self.recomputed.as_str() {
            // Only what needs no figure.
            "" => {
                let said = said.replace(": {}", "");
                let kept = said
                    .split(" or ")
                    .filter(|part| !part.contains("{}"))
                    .collect::<Vec<_>>()
                    .join(" or ");
                if kept.is_empty() { own.to_owned() } else { kept }
            }
            recomputed => said.replace("{}", recomputed),
        }
    }

    #[must_use]
    pub fn recomputed(mut self, text: impl Into<String>) -> Finding {
        self.recomputed = text.into();
        self
    }

    #[must_use]
    pub fn by(mut self, arithmetic: impl Into<String>) -> Finding {
        self.arithmetic = Some(arithmetic.into());
        self
    }

    #[must_use]
    pub fn slip(mut self, slip: Slip) -> Finding {
        self.slip = Some(slip);
        self
    }

    #[must_use]
    pub fn against(mut self, operands: impl IntoIterator<Item = TextSpan>) -> Finding {
        self.operands.extend(operands);
        self
    }
}

/// What is known by the id of a rule, or the name of a slip: what it is, and the advice.
fn known(id: &str) -> Option<[&'static str; 2]> {
    let lines = include_str!("rule/advice.txt").lines();
    let mut own = lines.filter_map(|line| line.strip_prefix(id)?.strip_prefix(": "));
    own.next()?.split_once(" | ").map(<[_; 2]>::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Slip::*;

    #[test]
    fn every_finding_says_what_to_do() {
        let advised = |slip, recomputed: &str| {
            let one = Finding::new("T1", Severity::WrongFigure, TextSpan::default(), "")
                .recomputed(recomputed);
            Finding { slip, ..one }.advice()
        };
        assert_eq!(advised(Some(FioCarry), "26.0k"), "read it as 26.0k");
        assert_eq!(advised(Some(Truncated), ""), "round it");
        assert_eq!(advised(Some(ThousandFor1024), ""), "label it MiB/s");
        assert_eq!(advised(None, ""), "ask for the raw output");
        let slips = [FioCarry, FactorTen, ThousandFor1024, Truncated, WrongBase];
        let slips = slips.into_iter().chain([FromWrongFigure]);
        slips.for_each(|slip| {
            assert!(!slip.words().is_empty() && advised(Some(slip), "7").contains('7'))
        });
        for rule in all() {
            let one = Finding::new(rule.id, rule.severity, TextSpan::default(), "");
            assert!(!one.advice().contains('{') && !one.topic().is_empty(), "{}", rule.id);
            let is_opinion =
                matches!(rule.severity, Severity::Ambiguous | Severity::WrongConclusion);
            assert!(
                !is_opinion || known(rule.id).is_some() || rule.id == "N10",
                "{} has no advice",
                rule.id
            );
        }
    }
}
