//! The document of a comparison of two runs: the result, a line for each stack under each load, and
//! the details of every load.

use super::{Document, DocumentHead, DocumentSection, DocumentTable, TableFit};
use crate::against::sheet;
use crate::number::change_in_percent;
use crate::table::TextTable;
use crate::verdicts::{VerdictSentence, class_of};
use iotax_analysis::findings::against::{
    RateChange, RunComparison, StackChange, VerdictBasis, WorkloadChange,
};

impl Document {
    pub(crate) fn from_comparison(against: &RunComparison) -> Document {
        let mut sections = vec![lines(against)];
        sections.extend(against.workloads.iter().map(load));
        sections.push(list("Limits", sheet::courses(against)));
        sections
            .push(list("Not compared", against.only.iter().map(|one| one.to_sentence()).collect()));
        let warnings = against.warnings.iter().map(|one| one.to_sentence());
        sections.push(list("Differences and warnings", warnings.collect()));
        sections.push(list("Not excluded", against.not_excluded.clone()));
        sections.retain(|section| !section.blocks.is_empty());
        let [old, new] = sheet::runs(against);
        Document {
            title: format!("{} against {}", against.new.id, against.old.id),
            head: DocumentHead {
                identity: format!("{new}; {old}; {}", sheet::time_apart(against)),
                alarms: against.emulated.iter().map(|line| format!("EMULATED: {line}")).collect(),
                answer: None,
                headline: against.result.clone().ok_or(None),
                ruler: None,
            },
            sections,
        }
    }
}

fn list(heading: &str, lines: Vec<String>) -> DocumentSection {
    let mut section = DocumentSection::new(heading);
    section.lines(lines);
    section
}

/// Returns a line for each stack under each load: the change that is judged.
fn lines(against: &RunComparison) -> DocumentSection {
    let mut section = DocumentSection::new("New against old");
    let several = against.workloads.len() > 1;
    let rows: Vec<(&WorkloadChange, &StackChange, &RateChange)> = against
        .workloads
        .iter()
        .flat_map(|workload| workload.stacks.iter().map(move |stack| (workload, stack)))
        .flat_map(|(workload, stack)| stack.rates.iter().map(move |rate| (workload, stack, rate)))
        .collect();
    if rows.is_empty() {
        return section;
    }
    let mut table = TextTable::default();
    table.push(
        "stack",
        0,
        rows.iter().map(|(_, stack, _)| sheet::marked_stack_name(stack)).collect(),
    );
    if several {
        table.push("load", 0, rows.iter().map(|(load, ..)| load.name.clone()).collect());
    }
    let change = |(_, _, rate): &(&WorkloadChange, &StackChange, &RateChange)| {
        let judged = match rate.judged {
            VerdictBasis::Direct => &rate.change.direct,
            VerdictBasis::AgainstOwnBaseline => &rate.change.against_own_baseline,
        };
        change_in_percent(judged).judged_cell(rate.verdict.is_resolved())
    };
    table.push("rate", 0, rows.iter().map(change).collect());
    let judged = |(_, _, rate): &(&WorkloadChange, &StackChange, &RateChange)| match rate.judged {
        VerdictBasis::Direct => "by itself".to_owned(),
        VerdictBasis::AgainstOwnBaseline => "over its baseline".to_owned(),
    };
    table.push("judged", 2, rows.iter().map(judged).collect());
    let mut cells = |head: &str, rank, pick: fn(&StackChange) -> String| {
        table.push_known(head, rank, rows.iter().map(|(_, stack, _)| pick(stack)).collect());
    };
    cells("mean latency", 1, |stack| change_in_percent(&stack.latency.direct).cell());
    cells("CPU per I/O", 3, |stack| change_in_percent(&stack.cpu.direct).cell());
    section.table(DocumentTable { fit: TableFit::Ranked, ..table.into() });
    section
}

fn load(workload: &WorkloadChange) -> DocumentSection {
    let mut section = DocumentSection::new(workload.subject.clone());
    let classes = workload.stacks.iter().flat_map(|stack| &stack.rates);
    let mut classes = classes.map(|rate| class_of(&rate.verdict));
    let sentences = sheet::verdicts(workload).into_iter();
    let verdicts = sentences
        .map(|text| VerdictSentence { class: classes.next().unwrap_or("none"), text })
        .collect();
    section.verdicts(verdicts);
    section.table(sheet::stacks(workload));
    section.note(sheet::legend());
    section.lines(sheet::bases(workload));
    section.lines(sheet::remarks(workload));
    section
}
