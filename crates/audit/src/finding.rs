//! What does not hold, and what is told of it.

use crate::page::Spot;
use serde::Serialize;

/// How bad it is, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// What is concluded does not follow.
    WrongConclusion,
    /// A figure is not what its operands give.
    WrongFigure,
    /// It may mislead; what is printed does not settle it.
    Ambiguous,
    /// Nothing that a reader decides by.
    Cosmetic,
}

impl Severity {
    /// All, the worst first.
    pub const ALL: [Severity; 4] =
        [Severity::WrongConclusion, Severity::WrongFigure, Severity::Ambiguous, Severity::Cosmetic];

    /// Its word: `wrong-figure`.
    pub fn word(self) -> &'static str {
        match self {
            Severity::WrongConclusion => "wrong-conclusion",
            Severity::WrongFigure => "wrong-figure",
            Severity::Ambiguous => "ambiguous",
            Severity::Cosmetic => "cosmetic",
        }
    }
}

/// What most likely happened.
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
    /// Rounded from what had been rounded.
    RoundedTwice,
    /// A percentage of the other operand: a loss told as `host / VM - 1`, a share the other way round.
    WrongBase,
    /// The figure of another cell, run or system.
    WrongCell,
    /// Half of what its siblings have: one of two was not counted.
    Half,
    /// It was computed from a figure that is wrong itself.
    FromWrongFigure,
}

impl Slip {
    /// As a sentence has it.
    pub fn words(self) -> &'static str {
        match self {
            Slip::FioCarry => "fio 2.20 to 3.25 loses a carry when it prints such figures",
            Slip::FactorTen => "a slip of the decimal point",
            Slip::ThousandFor1024 => "1000 was taken for 1024, or the other way",
            Slip::Truncated => "cut off, not rounded",
            Slip::RoundedTwice => "rounded from a rounded figure",
            Slip::WrongBase => "computed from the other base",
            Slip::WrongCell => "the figure of another cell",
            Slip::Half => "half of what its siblings have: one of two was not counted",
            Slip::FromWrongFigure => "computed from a figure that is wrong itself",
        }
    }
}

/// One thing that does not hold.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Id of the rule: `F4`.
    pub rule: &'static str,
    /// How bad.
    pub severity: Severity,
    /// Where: its line is told as the page counts it, which `line` is.
    #[serde(skip)]
    pub spot: Spot,
    /// What the figure is of, as words before it: `writes lose`; empty where it is not known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subject: String,
    /// As it stands there.
    pub printed: String,
    /// What it should be, in the same unit and digits; empty where nothing can be said.
    pub recomputed: String,
    /// One sentence: what does not hold, and why.
    pub message: String,
    /// By which arithmetic: `1 - 20.387k / 25.991k = 21.6 %`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arithmetic: Option<String>,
    /// The likely slip.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slip: Option<Slip>,
    /// Where what it was held against stands.
    #[serde(skip)]
    pub operands: Vec<Spot>,
}

impl Finding {
    /// A finding without arithmetic, slip and operands.
    pub fn new(rule: &'static str, severity: Severity, spot: Spot, message: impl Into<String>) -> Finding {
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

    /// What a reader does about it, in a few words.
    pub fn advice(&self) -> String {
        let known = !self.recomputed.is_empty();
        let said = match (self.slip, self.rule.as_bytes().first()) {
            (Some(Slip::FioCarry), _) => "read it as {}",
            (Some(Slip::FactorTen), _) => "move the decimal point: {}",
            (Some(Slip::ThousandFor1024), _) if known => "print {}, or MiB/s where 1024 is meant",
            (Some(Slip::ThousandFor1024), _) => "print MiB/s where 1024 is meant",
            (Some(Slip::Truncated), _) => "round it: {}",
            (Some(Slip::RoundedTwice), _) => "round once, from the exact figures: {}",
            (Some(Slip::WrongBase), _) => "print {}, or name the base",
            (Some(Slip::WrongCell), _) => "take the figure of its own row and column: {}",
            (Some(Slip::Half), _) => "count both: {}",
            (Some(Slip::FromWrongFigure), _) => "compute it again: {}",
            (None, Some(b'F' | b'N' | b'X')) if known => "read it as {}",
            (None, _) if known => "read it as {}, or ask for the raw output",
            (None, Some(b'P')) => "ask which drive, link and cache it was",
            (None, Some(b'M')) => "ask how it was measured",
            (None, Some(b'F' | b'X')) => "ask for the whole output, or for repeated runs",
            (None, Some(b'S')) => "do not conclude this from these figures",
            (None, _) => "ask for the raw output",
        };
        match known {
            true => said.replace("{}", &self.recomputed),
            false => said.replace(": {}", "").replace("{}", "what its operands give"),
        }
    }

    /// What it should be.
    #[must_use]
    pub fn recomputed(mut self, text: impl Into<String>) -> Finding {
        self.recomputed = text.into();
        self
    }

    /// By which arithmetic.
    #[must_use]
    pub fn by(mut self, arithmetic: impl Into<String>) -> Finding {
        self.arithmetic = Some(arithmetic.into());
        self
    }

    /// The likely slip.
    #[must_use]
    pub fn slip(mut self, slip: Slip) -> Finding {
        self.slip = Some(slip);
        self
    }

    /// What it was held against.
    #[must_use]
    pub fn against(mut self, operands: impl IntoIterator<Item = Spot>) -> Finding {
        self.operands.extend(operands);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finding_says_what_to_do() {
        let advised = |slip, recomputed: &str| {
            let one = Finding::new("T1", Severity::WrongFigure, Spot::default(), "").recomputed(recomputed);
            Finding { slip, ..one }.advice()
        };
        assert_eq!(advised(Some(Slip::FioCarry), "26.0k"), "read it as 26.0k");
        assert_eq!(advised(None, "26.0k"), "read it as 26.0k, or ask for the raw output");
        assert_eq!(advised(Some(Slip::Truncated), ""), "round it");
        for rule in crate::rule::ALL {
            let said = Finding::new(rule.id, rule.severity, Spot::default(), "").advice();
            assert!(!said.is_empty() && !said.contains('{'), "{}: {said}", rule.id);
        }
    }
}
