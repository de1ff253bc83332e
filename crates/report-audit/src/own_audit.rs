//! Audits our own reports by our own rules, as if somebody else had published what is about to be
//! printed. Every renderer says the same, so the Markdown form represents all.

use iotax_analysis::Findings;
use iotax_audit::audit::{Audited, audit};
use iotax_audit::finding::Severity;
use iotax_report::{PageContext, by_name};

/// Returns the errors that an audit finds in a report of iotax, one sentence each. Any error is a
/// bug of iotax.
pub fn doubts(findings: &[Findings]) -> Vec<String> {
    let Some(markdown) = by_name("markdown") else { return Vec::new() };
    wrong(&(markdown.render)(findings, &PageContext::default()))
}

/// Returns the errors in the Markdown form of a report, each with its quote.
pub fn wrong(markdown: &str) -> Vec<String> {
    let audited: Audited = audit(iotax_audit::page::AuditedPage::new("report", markdown));
    let wrong = audited.findings.iter().filter(|finding| finding.severity <= Severity::WrongFigure);
    wrong
        .map(|finding| format!("{} ({}): {}", finding.rule, finding.printed, finding.message))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::wrong;
    use iotax_analysis::findings;
    use iotax_analysis::twin::FIXTURES;
    use iotax_report::{PageContext, ReportPlaces, brief, by_name};

    #[test]
    fn every_report_passes_our_own_audit() {
        for (name, run) in FIXTURES {
            let found = [findings(&run())];
            let form = |form: &str, width| {
                (by_name(form).unwrap().render)(&found, &PageContext::of_width(width))
            };
            let elsewhere = ReportPlaces { command: "iotax report", page: None };
            let brief = |width| brief(&found[0], &elsewhere, &PageContext::of_width(width));
            let texts = [
                form("markdown", 80),
                form("csv", 80),
                form("terminal", 80),
                form("terminal", 160),
                brief(80),
                brief(160),
            ];
            for text in texts {
                assert_eq!(wrong(&text), [""; 0], "{name}: {text}");
            }
        }
    }

    #[test]
    fn a_report_with_a_slip_does_not_pass() {
        let report = "| stack | 4k IOPS | 4k MB/s | share |\n|---|---|---|---|\n| a | 1000 | 4.10 MB/s | 100% |\n| b | 500 | 2.05 MB/s | 50% |\n\
             | c | 250 | 1.02 MB/s | 25% |\n| d | 125 | 5.12 MB/s | 12.5% |\n";
        assert_eq!(wrong(report).len(), 1, "{:?}", wrong(report));
    }
}
