//! JUnit XML for the test reports of CI systems. A case fails for lost or wrong data, for a broken
//! service level, and in a comparison of two runs for a figure beyond its limit. A cost alone is no
//! failure. What is unresolved is skipped, with its reason.

use crate::exporter::{ExportedRun, Exporter};
use iotax_analysis::Findings;
use iotax_analysis::findings::against::{LimitCall, LimitLine, RunComparison, WorkloadChange};
use iotax_analysis::findings::{RateFinding, WorkloadFindings};
use iotax_report::PageContext;
use iotax_report::against::ComparisonRenderer;
use iotax_stats::Verdict;
use iotax_stats::exceedance::ServiceVerdict;
use iotax_units::harmless::escape_line;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use std::io::{Error, Result, Write};

pub const EXPORTER: Exporter = Exporter { name: "junit", endings: &["junit.xml", "xml"], write };

pub const COMPARISON: ComparisonRenderer =
    ComparisonRenderer { name: "junit", render: comparison_text };

/// Result of one case.
enum CaseResult {
    Passes,
    Fails,
    /// Nothing certain can be said.
    Unresolved,
}

struct JunitCase {
    /// Load, or another group of cases.
    class: String,
    name: String,
    result: CaseResult,
    sentence: String,
}

impl JunitCase {
    fn new(class: &str, name: String, result: CaseResult, sentence: &str) -> JunitCase {
        let sentence = escape_line(sentence);
        JunitCase { class: escape_line(class), name: escape_line(&name), result, sentence }
    }

    fn to_case(&self) -> TestCase {
        let mut status = match self.result {
            CaseResult::Passes => TestCaseStatus::success(),
            CaseResult::Fails => TestCaseStatus::non_success(NonSuccessKind::Failure),
            CaseResult::Unresolved => TestCaseStatus::skipped(),
        };
        if !matches!(self.result, CaseResult::Passes) {
            status.set_message(self.sentence.as_str());
        }
        let mut case = TestCase::new(self.name.as_str(), status);
        case.set_classname(self.class.as_str()).set_system_out(self.sentence.as_str());
        case
    }
}

fn write(runs: &[ExportedRun], out: &mut dyn Write) -> Result<()> {
    let mut report = Report::new("iotax");
    for run in runs {
        report.add_test_suite(suite(&run.findings.run.id, &run_cases(&run.findings)));
    }
    report.serialize(out).map_err(Error::other)
}

fn comparison_text(against: &RunComparison, _page: &PageContext) -> String {
    let mut report = Report::new("iotax");
    let name = format!("{} against {}", against.new.id, against.old.id);
    let cases: Vec<JunitCase> = against.workloads.iter().flat_map(change_cases).collect();
    report.add_test_suite(suite(&name, &cases));
    // Writing to memory cannot fail, and the names are text.
    report.to_string().unwrap_or_default()
}

fn suite(name: &str, cases: &[JunitCase]) -> TestSuite {
    let mut suite = TestSuite::new(escape_line(name));
    suite.add_test_cases(cases.iter().map(JunitCase::to_case));
    suite
}

fn run_cases(findings: &Findings) -> Vec<JunitCase> {
    let mut cases: Vec<JunitCase> = findings.workloads.iter().flat_map(load_cases).collect();
    for row in findings.verification.iter().flat_map(|found| &found.rows) {
        let result = match (row.wrong(), row.is_empty()) {
            (0, true) => CaseResult::Unresolved,
            (0, false) => CaseResult::Passes,
            _ => CaseResult::Fails,
        };
        let name = format!("{}: data as written", row.stack);
        cases.push(JunitCase::new(&row.workload, name, result, &row.sentence));
    }
    for row in findings.durability.iter().flat_map(|found| &found.rows) {
        let result = match (row.is_broken(), row.kills) {
            (true, _) => CaseResult::Fails,
            (false, 0) => CaseResult::Unresolved,
            (false, _) => CaseResult::Passes,
        };
        let name = format!("{}: acknowledged writes survive a kill of the {}", row.stack, row.kill);
        cases.push(JunitCase::new("durability", name, result, &row.sentence));
    }
    cases
}

fn load_cases(load: &WorkloadFindings) -> Vec<JunitCase> {
    let rate_case = |name: String, rate: &RateFinding| {
        let result = match rate.verdict {
            Verdict::Unresolved { .. } => CaseResult::Unresolved,
            _ => CaseResult::Passes,
        };
        JunitCase::new(&load.subject, name, result, &rate.sentence)
    };
    let rates = load.all_comparisons().map(|one| {
        let word = one.write_word();
        let rate = if word.is_empty() { "rate".to_owned() } else { format!("{word} rate") };
        rate_case(format!("{} against {}: {rate}", one.stack, one.against), &one.rate)
    });
    let levels = load.slo.iter().map(|one| {
        let result = match one.verdict {
            ServiceVerdict::Kept => CaseResult::Passes,
            ServiceVerdict::Broken => CaseResult::Fails,
            ServiceVerdict::Unresolved => CaseResult::Unresolved,
        };
        let name = format!("{}: {}", one.stack, one.level);
        JunitCase::new(&load.subject, name, result, &one.sentence)
    });
    rates.chain(levels).collect()
}

fn change_cases(load: &WorkloadChange) -> Vec<JunitCase> {
    let mut cases = Vec::new();
    let mut add = |name: String, result: CaseResult, sentence: &str| {
        cases.push(JunitCase::new(&load.subject, name, result, sentence));
    };
    for stack in &load.stacks {
        for rate in &stack.rates {
            let name = format!("{}: {}", stack.stack, rate.quantity);
            match &rate.limit {
                Some(limit) => add(name, call_result(limit), &joined(&rate.sentence, limit)),
                None if matches!(rate.verdict, Verdict::Unresolved { .. }) => {
                    add(name, CaseResult::Unresolved, &rate.sentence)
                }
                None => add(name, CaseResult::Passes, &rate.sentence),
            }
        }
        for one in &stack.charges {
            let name = format!("{}: {}", stack.stack, one.figure);
            add(name, call_result(&one.limit), &joined(&one.sentence, &one.limit));
        }
        for one in &stack.slo {
            add(format!("{}: {}", stack.stack, one.level), result_of(one.call), &one.sentence);
        }
    }
    cases
}

fn joined(sentence: &str, limit: &LimitLine) -> String {
    format!("{sentence}; {}", limit.sentence)
}

fn call_result(limit: &LimitLine) -> CaseResult {
    result_of(limit.call)
}

fn result_of(call: LimitCall) -> CaseResult {
    match call {
        LimitCall::Fails => CaseResult::Fails,
        LimitCall::Passes => CaseResult::Passes,
        LimitCall::Undetermined => CaseResult::Unresolved,
    }
}
