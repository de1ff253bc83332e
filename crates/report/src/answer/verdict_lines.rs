//! The sentences of an answer that its table does not have: lost or wrong data, service levels,
//! limits, the baseline beside the other stacks, and why verdicts are unresolved.

use crate::verdicts::{self, VerdictSentence};
use crate::{durability, limits, sheet, verification};
use iotax_analysis::Findings;
use iotax_analysis::findings::{Comparison, ComparisonRole, WorkloadFindings};
use iotax_stats::{Refusal, Verdict};
use iotax_units::show_names;

/// Returns the sentences, the most important first.
pub(super) fn verdict_lines(findings: &Findings) -> Vec<VerdictSentence> {
    let headline = findings.headline.as_deref().unwrap_or_default();
    let mut all = durability::trial_sentences(findings);
    all.extend(verification::read_back_sentences(findings));
    all.sort_by_key(|one| one.class != "cost");
    all.extend(limits::course_sentences(findings, headline));
    let measured = || findings.workloads.iter().filter(|workload| !sheet::is_empty(workload));
    all.extend(measured().flat_map(verdicts::service_levels_in_brief));
    all.extend(measured().filter_map(interference_line));
    all.extend(open_questions(findings));
    all.retain(|one| one.class != "absent" && !headline.contains(one.text.as_str()));
    all
}

/// Returns all conclusions of a run, differences first, then cases without one, then unresolved
/// ones.
pub fn verdict_sentences(findings: &Findings) -> Vec<String> {
    let mut all = durability::trial_sentences(findings);
    all.extend(verification::read_back_sentences(findings));
    let measured = findings.workloads.iter().filter(|workload| !sheet::is_empty(workload));
    all.extend(measured.flat_map(verdicts::workload_sentences));
    let order = |class: &str| ["cost", "gain", "none", "open"].iter().position(|one| *one == class);
    all.retain(|one| one.class != "absent");
    all.sort_by_key(|one| order(one.class));
    all.into_iter().map(|one| one.text).collect()
}

/// Returns the sentence on the baseline beside the other stacks, if it differs from the baseline
/// alone.
fn interference_line(workload: &WorkloadFindings) -> Option<VerdictSentence> {
    let one = workload.beside.as_ref()?;
    let differs = matches!(one.verdict, Verdict::Costs { .. } | Verdict::Gains { .. });
    let text = one.sentence.clone();
    differs.then(|| VerdictSentence { class: verdicts::class_of(&one.verdict), text })
}

/// Returns why verdicts on rates are unresolved, with what would settle them: a line for each
/// reason, with the stacks that it is about.
fn open_questions(findings: &Findings) -> Vec<VerdictSentence> {
    let mut kinds: Vec<(&Refusal, Option<&str>, Vec<String>)> = Vec::new();
    for workload in &findings.workloads {
        let base = workload.comparisons.first().map(|one| one.against.as_str());
        let comparisons = workload.all_comparisons();
        for one in comparisons.filter(|one| one.role == ComparisonRole::Stack) {
            let Some(reason) = one.rate.verdict.reason() else { continue };
            let remedy = remedy_of(one);
            // The table has only comparisons with the baseline.
            let name = match base == Some(one.against.as_str()) {
                true => one.stack.clone(),
                false => format!("{} against {}", one.stack, one.against),
            };
            let same = |known: &&mut (&Refusal, Option<&str>, Vec<String>)| {
                known.0.word() == reason.word() && known.1 == remedy
            };
            match kinds.iter_mut().find(same) {
                Some((_, _, names)) if names.contains(&name) => {}
                Some((_, _, names)) => names.push(name),
                None => kinds.push((reason, remedy, vec![name])),
            }
        }
    }
    let line = |(reason, remedy, names): (&Refusal, Option<&str>, Vec<String>)| {
        let settle = remedy.map(|remedy| format!("; to settle it: {remedy}")).unwrap_or_default();
        let text = format!("{}: {reason}{settle}", show_names(names));
        VerdictSentence { class: "open", text }
    };
    kinds.into_iter().map(line).collect()
}

fn remedy_of(one: &Comparison) -> Option<&str> {
    one.rate.remedy.as_deref()
}
