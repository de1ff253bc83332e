//! Our own reports under our own rules: what is about to be printed is audited as if somebody else had published it. Every renderer
//! says the same, so the Markdown form stands for all.

use super::{Page, by_name};
use crate::bill::Findings;
use iotax_audit::audit::{Audited, audit};
use iotax_audit::finding::Severity;

/// What of a report would be found wrong, a sentence each; nothing, unless iotax is at fault.
pub fn doubts(findings: &[Findings]) -> Vec<String> {
    let Some(markdown) = by_name("markdown") else { return Vec::new() };
    wrong(&(markdown.render)(findings, &Page::default()))
}

/// What is wrong in a text, with what is quoted.
fn wrong(markdown: &str) -> Vec<String> {
    let audited: Audited = audit(iotax_audit::page::Page::new("report", markdown));
    let wrong = audited.findings.iter().filter(|finding| finding.severity <= Severity::WrongFigure);
    wrong.map(|finding| format!("{} ({}): {}", finding.rule, finding.printed, finding.message)).collect()
}

#[cfg(test)]
mod tests {
    use super::wrong;

    #[test]
    fn every_report_that_a_snapshot_holds_passes_our_own_audit() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/report/snapshots");
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            // Behind the head of the snapshot.
            let body = text.splitn(3, "---\n").nth(2).unwrap_or("");
            if !path.to_string_lossy().contains("json") && !path.to_string_lossy().contains("html") {
                assert_eq!(wrong(body), [""; 0], "{}", path.display());
                count += 1;
            }
        }
        assert!(count > 20, "{count} snapshots");
    }

    #[test]
    fn a_report_with_a_slip_does_not_pass() {
        let report = "| stack | 4k IOPS | 4k MB/s | share |\n|---|---|---|---|\n| a | 1000 | 4.10 MB/s | 100% |\n| b | 500 | 2.05 MB/s | 50% |\n\
             | c | 250 | 1.02 MB/s | 25% |\n| d | 125 | 5.12 MB/s | 12.5% |\n";
        assert_eq!(wrong(report).len(), 1, "{:?}", wrong(report));
    }
}
