//! A comparison in the terminal: fits 80 columns, and uses more if available. Sentences and table
//! by workload.

use super::super::table::{LeftOut, wrap_words};
use super::super::terminal::{NARROWEST, list};
use super::{ComparisonRenderer, PageContext, sheet};
use iotax_analysis::findings::against::{RunComparison, WorkloadChange};

pub const RENDERER: ComparisonRenderer = ComparisonRenderer { name: "terminal", render };

fn render(against: &RunComparison, page: &PageContext) -> String {
    let width = page.width.max(NARROWEST);
    let mut out: String =
        sheet::runs(against).iter().map(|line| wrap_words(line, width, "  ")).collect();
    out += &wrap_words(&sheet::time_apart(against), width, "  ");
    for line in &against.emulated {
        out += &wrap_words(&format!("EMULATED: {line}"), width, "  ");
    }
    let mut left_out = LeftOut::default();
    against.workloads.iter().for_each(|workload| out += &section(workload, width, &mut left_out));
    out += &list("Limits", sheet::courses(against).into_iter(), width);
    if !against.workloads.is_empty() {
        out += &format!("\n{}", wrap_words(&sheet::legend(), width, "  "));
    }
    if let Some(said) = left_out.to_sentence(width) {
        out += &format!("\n{}", wrap_words(&said, width, "  "));
    }
    out += &list("Not compared", against.only.iter().map(|one| one.to_sentence()), width);
    out += &list(
        "Differences and warnings",
        against.warnings.iter().map(|one| one.to_sentence()),
        width,
    );
    out += &list("Not excluded", against.not_excluded.iter().cloned(), width);
    if let Some(result) = &against.result {
        out += &format!("\n{}", wrap_words(result, width, "  "));
    }
    out
}

fn section(workload: &WorkloadChange, width: usize, left_out: &mut LeftOut) -> String {
    let mut out = format!("\n{}", wrap_words(&workload.subject, width, "  "));
    out += &format!("\n{}", sheet::stacks(workload).to_text(width, left_out));
    out += &list("", sheet::verdicts(workload).into_iter(), width);
    out += &list("", sheet::bases(workload).into_iter(), width);
    out += &list("", sheet::remarks(workload).into_iter(), width);
    out
}
