//! Why a figure cannot be checked, as exactly as structure tells.

use super::{Claim, Kind, Metric, Status};
use crate::audit::Audited;
use crate::number::Unit;
use crate::page::Spot;
use std::collections::{HashMap, HashSet};

/// What is known of all figures of a page.
pub(super) struct Whys {
    /// Derived figures, and whether their operands give anything.
    derived: HashMap<Spot, bool>,
    operands: HashSet<Spot>,
    any_output: bool,
    /// First lines of outputs, and of which figures of theirs rules held some.
    outputs: Vec<u32>,
    held: HashSet<(usize, Metric)>,
}

impl Whys {
    pub fn of(audited: &Audited) -> Whys {
        let links = &audited.links;
        let made = audited.pinned.made.iter().map(|(_, made)| made.total.figure.spot);
        let derived = links.iter().map(|link| (link.derived.figure.spot, link.recomputed().is_some()));
        let outputs: Vec<u32> = audited.outputs.iter().map(|output| output.lines.start as u32).collect();
        let settled = audited.claims.iter().filter(|claim| claim.status != Status::CannotBeChecked);
        let raw = settled.filter(|claim| claim.kind == Kind::Raw);
        Whys {
            derived: derived.chain(made.map(|spot| (spot, true))).collect(),
            operands: links
                .iter()
                .flat_map(|link| [link.numerator.figure.spot, link.denominator.figure.spot])
                .collect(),
            any_output: audited.outputs.iter().any(|output| !output.said.readings().is_empty()),
            held: raw.map(|claim| (output_of(&outputs, claim.spot), claim.metric)).collect(),
            outputs,
        }
    }

    /// Why none of the rules settled a claim.
    pub fn why(&self, claim: &Claim) -> &'static str {
        let ratio = matches!(claim.unit, Unit::Percent | Unit::Times);
        match (claim.kind, self.derived.get(&claim.spot)) {
            (_, Some(true)) => "the rule that would hold it against its operands was not asked for",
            (_, Some(false)) => "what it is divided by may be nothing",
            (Kind::Cell | Kind::Derived | Kind::Prose, None) if self.operands.contains(&claim.spot) => {
                "others are computed from it; nothing on the page gives it"
            }
            (Kind::Derived | Kind::Prose, None) if ratio => "nothing ties it to its operands",
            (Kind::Prose, None) => "nothing ties it to a figure of a table or an output",
            (Kind::Raw, None)
                if self.held.contains(&(output_of(&self.outputs, claim.spot), claim.metric)) =>
            {
                "its output does not print what it would be held against"
            }
            (Kind::Raw, None) => "no rule held a figure of this kind in its output",
            (Kind::Cell | Kind::Derived, None) if self.any_output => {
                "no output of the page has it, and no other figure gives it"
            }
            (Kind::Cell | Kind::Derived, None) => "its operands are not on the page",
        }
    }
}

fn output_of(outputs: &[u32], spot: Spot) -> usize {
    outputs.partition_point(|start| *start <= spot.line)
}
