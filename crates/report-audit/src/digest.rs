//! Kept part of an audited page: the verdict, and findings with the lines that they quote. The page
//! itself may be large and is released.

use super::quote::{Quotes, ReleasedSpan};
use iotax_audit::audit::Audited;
use iotax_audit::claim::Status;
use iotax_audit::finding::{Finding, Severity};
use iotax_audit::page::UnreadRange;
use iotax_audit::verdict::{AuditVerdict, FindingBlock, count_with_noun, verdict};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Limit of operands kept per finding.
const OPERANDS: usize = 64;

#[derive(Clone, Debug)]
pub struct DigestDocument {
    /// A path, or `standard input`.
    pub name: String,
    pub lines: usize,
    /// Number of outputs of tools that were read, by the name of their format.
    pub outputs: BTreeMap<&'static str, usize>,
    pub tables: usize,
    /// Number of figures per status, in the order of `Status::ALL`.
    pub claims: [usize; Status::ALL.len()],
    pub verdict: AuditVerdict,
    pub findings: Vec<DigestEntry>,
    pub unread: Vec<UnreadRange>,
}

impl DigestDocument {
    pub fn count_severity(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|entry| entry.finding.severity == severity).count()
    }

    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|entry| entry.finding.severity).min()
    }

    /// Returns the root causes of severity `show` or worse.
    pub fn visible_blocks(&self, show: Severity) -> Vec<&FindingBlock> {
        self.verdict.blocks.iter().filter(|block| block.severity <= show).collect()
    }

    /// Returns the further findings of a root cause in groups: the group's heading and, per
    /// finding, its index and a line (`line 4: 21.6 %, not 18.4 % (T1)`). Empty groups are left
    /// out.
    pub fn members(
        &self,
        block: &FindingBlock,
    ) -> impl Iterator<Item = (&'static str, Vec<(usize, String)>)> {
        let root = &self.findings[block.root];
        let lines = |members: &[usize]| {
            members.iter().map(|at| (*at, self.findings[*at].line_below(root))).collect()
        };
        let members = [("consequences", lines(&block.consequences)), ("also", lines(&block.also))];
        members.into_iter().filter(|(_, members): &(_, Vec<_>)| !members.is_empty())
    }
}

#[derive(Clone, Debug)]
pub struct DigestEntry {
    pub finding: Finding,
    pub place: ReleasedSpan,
    /// Spots of the first few figures used for comparison.
    pub operands: Vec<ReleasedSpan>,
    pub more_operands: usize,
}

impl DigestEntry {
    /// Returns the lines to quote, with at most this many operands. Each line has its spots, with
    /// true for the figure itself, which comes first in its line.
    pub fn quoted_lines(&self, operands: usize) -> Vec<Vec<(&ReleasedSpan, bool)>> {
        let operands = self.operands.iter().take(operands).map(|place| (place, false));
        let mut places: Vec<(&ReleasedSpan, bool)> =
            operands.chain([(&self.place, true)]).collect();
        places.sort_by_key(|(place, own)| (place.line, !own));
        let same_line = |one: &(&ReleasedSpan, bool), next: &(&ReleasedSpan, bool)| {
            Arc::ptr_eq(&one.0.excerpt, &next.0.excerpt)
        };
        places.chunk_by(same_line).map(<[_]>::to_vec).collect()
    }

    /// Returns the notes below the message and its quotes, each with a heading. `operands` is the
    /// number of quoted operands.
    pub fn headed_notes(&self, operands: usize) -> impl Iterator<Item = (&'static str, String)> {
        let finding = &self.finding;
        let more = self.more_operands + self.operands.len().saturating_sub(operands);
        let notes = [
            ("recomputed", Some(finding.recomputed.clone()).filter(|text| !text.is_empty())),
            ("by", finding.arithmetic.clone()),
            ("and", (more > 0).then(|| count_with_noun(more, "more operand", "more operands"))),
            ("likely", finding.slip.map(|slip| slip.slip_words().to_owned())),
            ("help", Some(finding.advice())),
        ];
        notes.into_iter().filter_map(|(word, text)| Some((word, text?)))
    }

    fn line_below(&self, root: &DigestEntry) -> String {
        let (line, Finding { rule, printed, recomputed, message, .. }) =
            (self.place.line, &self.finding);
        match recomputed.as_str() {
            "" if *rule == root.finding.rule => format!("line {line}: {printed} ({rule})"),
            "" => format!("line {line}: {message} ({rule})"),
            recomputed => format!("line {line}: {recomputed}, not {printed} ({rule})"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    #[serde(rename = "document")]
    pub name: String,
    pub why: String,
}

pub fn digest(audited: Audited) -> DigestDocument {
    let mut outputs: BTreeMap<&'static str, usize> = BTreeMap::new();
    audited.outputs.iter().for_each(|output| *outputs.entry(output.format).or_default() += 1);
    let claims = Status::ALL.map(|status| audited.count_claims(status));
    let (verdict, tables) = (verdict(&audited), audited.tables.len());
    let Audited { page, findings, unread, .. } = audited;
    let mut quotes = Quotes::new(&page);
    let entry = |finding: Finding| {
        let others = || finding.operands.iter().filter(|spot| **spot != finding.spot);
        let operands = others().take(OPERANDS).map(|spot| quotes.quoted_spot(*spot)).collect();
        let more_operands = others().count().saturating_sub(OPERANDS);
        DigestEntry { place: quotes.quoted_spot(finding.spot), operands, more_operands, finding }
    };
    let findings = findings.into_iter().map(entry).collect();
    DigestDocument {
        lines: page.len(),
        outputs,
        tables,
        claims,
        verdict,
        findings,
        unread,
        name: page.name,
    }
}
