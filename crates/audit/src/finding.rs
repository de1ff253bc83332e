//! Rules, and their findings: figures and statements of a page that do not hold.

use crate::page::TextSpan;
use serde::Serialize;
use std::sync::OnceLock;

/// Severity of a finding, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    WrongConclusion,
    WrongFigure,
    /// The text may mislead a reader, but does not show whether it is wrong.
    Ambiguous,
    Cosmetic,
}

impl Severity {
    pub const ALL: [Severity; 4] =
        [Severity::WrongConclusion, Severity::WrongFigure, Severity::Ambiguous, Severity::Cosmetic];

    pub fn severity_word(self) -> &'static str {
        match self {
            Severity::WrongConclusion => "wrong-conclusion",
            Severity::WrongFigure => "wrong-figure",
            Severity::Ambiguous => "ambiguous",
            Severity::Cosmetic => "cosmetic",
        }
    }
}

pub struct Rule {
    /// Id in `rules.txt`: `F4`.
    pub id: &'static str,
    /// Name in a few words: `IOPS times block size is the bandwidth`.
    pub name: &'static str,
    pub severity: Severity,
    /// Comparison that the rule makes, with its tolerance.
    pub holds: &'static str,
    pub silent: &'static str,
}

/// Returns the rules in `rules.txt`, in the order of the file.
pub fn all_rules() -> &'static [Rule] {
    static ALL: OnceLock<Vec<Rule>> = OnceLock::new();
    ALL.get_or_init(|| {
        include_str!("rule/rules.txt").split("\n\n").filter_map(parse_rule).collect()
    })
}

fn parse_rule(text: &'static str) -> Option<Rule> {
    let (head, rest) = text.split_once(": ")?;
    let (name, rest) = rest.split_once("\nholds: ")?;
    let (holds, silent) = rest.split_once("\nsilent: ")?;
    let (id, severity) = head.split_once(' ')?;
    let severity = Severity::ALL.into_iter().find(|one| one.severity_word() == severity)?;
    Some(Rule { id, name, severity, holds, silent: silent.trim_end() })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Slip {
    /// fio 2.20 to 3.25 lost a carry when it printed the figure.
    FioCarry,
    /// The figure is too large or too small by a factor of ten, a hundred or a thousand.
    FactorTen,
    /// A prefix of 1000 was used for 1024, or the other way round.
    #[serde(rename = "thousand-for-1024")]
    ThousandFor1024,
    /// The figure was cut off instead of rounded.
    Truncated,
    /// The figure is a percentage of the other operand: a loss given as `host / VM - 1`, an
    /// inverted share.
    WrongBase,
    FromWrongFigure,
}

impl Slip {
    pub fn slip_words(self) -> &'static str {
        self.words_and_advice()[0]
    }

    fn words_and_advice(self) -> [&'static str; 2] {
        look_up_advice(&format!("{self:?}")).unwrap_or_default()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    pub rule: &'static str,
    pub severity: Severity,
    /// Spot of the figure. Its line is an index; reports print the line's number in the file
    /// instead.
    #[serde(skip)]
    pub spot: TextSpan,
    pub printed: String,
    /// Correct value, in the unit and with the digits of `printed`; empty if it is unknown.
    pub recomputed: String,
    /// One sentence: what is wrong, and why.
    pub message: String,
    /// Arithmetic of the correct value: `1 - 20.387k / 25.991k = 21.6 %`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arithmetic: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slip: Option<Slip>,
    /// Spots of the figures used for comparison.
    #[serde(skip)]
    pub operands: Vec<TextSpan>,
}

impl Finding {
    /// Creates a finding that has only a message; printed text, recomputed value, arithmetic, slip
    /// and operands are empty.
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
            printed: String::new(),
            recomputed: String::new(),
            message: message.into(),
            arithmetic: None,
            slip: None,
            operands: Vec::new(),
        }
    }

    /// Returns the topic of the finding in a few words: `no spread`.
    pub fn topic(&self) -> &'static str {
        let name =
            || all_rules().iter().find(|rule| rule.id == self.rule).map_or("", |rule| rule.name);
        look_up_advice(self.rule).map_or_else(name, |[topic, _]| topic)
    }

    pub fn advice(&self) -> String {
        let own = look_up_advice(self.rule).map_or("ask for the raw output", |[_, advice]| advice);
        let otherwise = if self.recomputed.is_empty() { own } else { "read it as {}" };
        let said = self.slip.map_or(otherwise, |slip| slip.words_and_advice()[1]);
        match self.recomputed.as_str() {
            // Only advice that needs no figure.
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
    pub fn with_arithmetic(mut self, arithmetic: impl Into<String>) -> Finding {
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

/// Returns the description and the advice for a rule id or the name of a slip; `None` if
/// `advice.txt` has none.
fn look_up_advice(id: &str) -> Option<[&'static str; 2]> {
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
            assert!(!slip.slip_words().is_empty() && advised(Some(slip), "7").contains('7'))
        });
        for rule in all_rules() {
            let one = Finding::new(rule.id, rule.severity, TextSpan::default(), "");
            assert!(!one.advice().contains('{') && !one.topic().is_empty(), "{}", rule.id);
            let is_opinion =
                matches!(rule.severity, Severity::Ambiguous | Severity::WrongConclusion);
            assert!(
                !is_opinion || look_up_advice(rule.id).is_some() || rule.id == "N10",
                "{} has no advice",
                rule.id
            );
        }
    }
}
