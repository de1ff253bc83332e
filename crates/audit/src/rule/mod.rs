//! Rules examine the content of a page. A rule reports what does not hold, and which figures it
//! found to hold; it decides itself when to stay silent. Later rules see the corrections of earlier
//! ones.
//!
//! A new rule is a check, called from [`CHECKS`] or by a check that is there, and a paragraph of
//! `rules.txt`.

mod fio;
pub mod identity;
mod ledger;
mod table;
#[cfg(test)]
pub(crate) mod testing;
mod tools;

use crate::evidence::{Evidence, EvidenceSink, SettledFigure};
use crate::finding::Finding;
pub use crate::finding::{Rule, all_rules};

/// Rules in the order in which they run: raw outputs, then tables, then figures derived from both.
const CHECKS: &[fn(&Evidence, &mut EvidenceSink)] = &[
    fio::check,
    tools::check,
    identity::product::check,
    identity::little::check,
    table::copies::check,
    table::ratios::check,
];

/// Runs every rule, and passes each settled figure to `settles`. Findings are in the order of the
/// page; of equal ones only the first is kept.
pub fn check(evidence: &Evidence, settles: &mut dyn FnMut(SettledFigure)) -> Vec<Finding> {
    let mut sink = EvidenceSink::handing_on(settles);
    CHECKS.iter().for_each(|check| check(evidence, &mut sink));
    for finding in &mut sink.findings {
        let known = all_rules().iter().any(|rule| rule.id == finding.rule);
        debug_assert!(known, "{} is no rule of the family", finding.rule);
        if finding.printed.is_empty() {
            evidence.page.quote(finding.spot).clone_into(&mut finding.printed);
        }
    }
    sink.findings.sort_by_key(|finding| (finding.spot, finding.severity));
    sink.findings.dedup_by(|later, earlier| {
        later.rule == earlier.rule && later.spot == earlier.spot && later.message == earlier.message
    });
    sink.findings
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_rule_says_what_it_holds_and_when_it_is_silent() {
        let paragraphs = include_str!("rules.txt").split("\n\n").skip(1);
        let mut ids: Vec<&str> = super::all_rules().iter().map(|rule| rule.id).collect();
        assert_eq!(ids.len(), paragraphs.count(), "a paragraph is not read");
        ids.sort_unstable();
        assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "an id comes twice: {ids:?}");
        for rule in super::all_rules() {
            let texts = [rule.name, rule.holds, rule.silent];
            assert!(
                texts.iter().all(|text| !text.is_empty() && !text.ends_with('.')),
                "{}: {texts:?}",
                rule.id
            );
        }
    }
}
