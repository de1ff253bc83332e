//! Common helpers of the rules' tests.

use crate::audit::audit;
use crate::claim::Status;
use crate::finding::{Finding, Severity};
use crate::page::AuditedPage;

/// Returns everything that is found on a page.
pub(crate) fn findings(text: &str) -> Vec<Finding> {
    audit(AuditedPage::new("p", text)).findings
}

pub(crate) fn found(text: &str, rule: &str) -> Vec<Finding> {
    findings(text).into_iter().filter(|finding| finding.rule == rule).collect()
}

/// Returns the findings of errors, as `rule printed -> recomputed`.
pub(crate) fn wrong(text: &str) -> Vec<String> {
    let wrong = findings(text).into_iter().filter(|one| one.severity <= Severity::WrongFigure);
    wrong.map(|one| format!("{} {} -> {}", one.rule, one.printed, one.recomputed)).collect()
}

/// Returns the findings of a case's rules (`F1,F7: words`) on its page, and the number of figures
/// that hold if `holds` is requested.
fn shown(case: &str, text: &str) -> String {
    let asked: Vec<&str> = case.split(':').next().unwrap_or_default().split(',').collect();
    let is_asked = |one: &Finding| {
        asked.contains(&one.rule)
            || asked.contains(&"wrong") && one.severity <= Severity::WrongFigure
    };
    let audited = audit(AuditedPage::new("p", text));
    let held =
        asked.contains(&"holds").then(|| format!("{} hold\n", audited.count_claims(Status::Holds)));
    let told = audited.findings.into_iter().filter(is_asked).map(|one| {
        let (line, severity) = (one.spot.line + 1, one.severity.severity_word());
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
