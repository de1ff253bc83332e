//! A comparison for a wiki, an issue or a merge request: the same tables with all their columns.

use super::super::markdown::list;
use super::super::table::escape_markdown;
use super::{ComparisonRenderer, PageContext, sheet};
use iotax_analysis::findings::against::{RunComparison, WorkloadChange};

pub const RENDERER: ComparisonRenderer = ComparisonRenderer { name: "markdown", render };

fn render(against: &RunComparison, _page: &PageContext) -> String {
    let mut out = format!(
        "# iotax compare {} {}\n\n",
        escape_markdown(&against.old.id),
        escape_markdown(&against.new.id)
    );
    if let Some(result) = &against.result {
        out += &format!("**{}**\n\n", escape_markdown(result));
    }
    for line in &against.emulated {
        out += &format!("**Emulated: {}**\n\n", escape_markdown(line));
    }
    let [old, new] = sheet::runs(against);
    out += &list("", vec![old, new, sheet::time_apart(against)]);
    against.workloads.iter().for_each(|workload| out += &section(workload));
    out += &list("Limits", sheet::courses(against));
    out += &list("Not compared", against.only.iter().map(|one| one.to_sentence()).collect());
    out += &list(
        "Differences and warnings",
        against.warnings.iter().map(|one| one.to_sentence()).collect(),
    );
    out + &list("Not excluded", against.not_excluded.clone())
}

fn section(workload: &WorkloadChange) -> String {
    let mut out = format!("## {}\n\n", escape_markdown(&workload.subject));
    out += &list("", sheet::verdicts(workload));
    out += &format!(
        "{}\n{}\n\n",
        sheet::stacks(workload).markdown(),
        escape_markdown(&sheet::legend())
    );
    out += &list("", sheet::bases(workload));
    out + &list("", sheet::remarks(workload))
}
