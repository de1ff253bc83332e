//! What tests of rules share: what is found on a page.

use crate::audit::audit;
use crate::claim::Status;
use crate::finding::{Finding, Severity};
use crate::page::AuditedPage;

/// Everything that is found on a page.
pub(crate) fn findings(text: &str) -> Vec<Finding> {
    audit(AuditedPage::new("p", text)).findings
}

pub(crate) fn found(text: &str, rule: &str) -> Vec<Finding> {
    findings(text).into_iter().filter(|finding| finding.rule == rule).collect()
}

/// The findings that say that something is wrong, as `rule printed -> recomputed`.
pub(crate) fn wrong(text: &str) -> Vec<String> {
    let wrong = findings(text).into_iter().filter(|one| one.severity <= Severity::WrongFigure);
    wrong.map(|one| format!("{} {} -> {}", one.rule, one.printed, one.recomputed)).collect()
}

/// What the rules of a case (`F1,F7: words`) find on its page, and how many figures hold where
/// `holds` is asked.
fn shown(case: &str, text: &str) -> String {
    let asked: Vec<&str> = case.split(':').next().unwrap_or_default().split(',').collect();
    let is_asked = |one: &Finding| {
        asked.contains(&one.rule)
            || asked.contains(&"wrong") && one.severity <= Severity::WrongFigure
    };
    let audited = audit(AuditedPage::new("p", text));
    let held = asked.contains(&"holds").then(|| format!("{} hold\n", audited.count(Status::Holds)));
    let told = audited.findings.into_iter().filter(is_asked).map(|one| {
        let (line, severity) = (one.spot.line + 1, one.severity.word());
        let slip = one.slip.map(|slip| format!(" ({slip:?})")).unwrap_or_default();
        format!(
            "{line} {severity}[{}] {} -> {}{slip}: {}\n",
            one.rule, one.printed, one.recomputed, one.message
        )
    });
    held.into_iter().chain(told).collect()
}

#[test]
fn pages_and_what_is_found_on_them() {
    for file in ["fio", "tables", "tools"] {
        crate::testing::hold_named(&format!("rules/{file}.txt"), shown);
    }
}
