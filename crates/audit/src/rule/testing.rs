//! What tests of rules share: what is found on a page.

use crate::audit::audit;
use crate::finding::Finding;
use crate::page::Page;

/// Everything that is found on a page.
pub(crate) fn findings(text: &str) -> Vec<Finding> {
    audit(Page::new("p", text)).findings
}

/// What one rule finds.
pub(crate) fn found(text: &str, rule: &str) -> Vec<Finding> {
    findings(text).into_iter().filter(|finding| finding.rule == rule).collect()
}

/// The findings that say that something is wrong, as `rule printed -> recomputed`.
pub(crate) fn wrong(text: &str) -> Vec<String> {
    let wrong =
        findings(text).into_iter().filter(|one| one.severity <= crate::finding::Severity::WrongFigure);
    wrong.map(|one| format!("{} {} -> {}", one.rule, one.printed, one.recomputed)).collect()
}
