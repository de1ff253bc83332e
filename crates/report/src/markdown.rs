//! Markdown for a wiki or an issue: the same tables with all their columns.

use super::number::SPREADS;
use super::table::capital;
use super::table::escape_markdown;
use super::{
    PageContext, ReportRenderer, crowd, disks, durability, efficiency, generator, imported, limits,
    matrix, probes, published, ratios, sheet, states, sweep, verdicts, verification,
};
use iotax_analysis::Findings;
use iotax_analysis::findings::sweep::SweepFindings;
use iotax_analysis::findings::{Bill, PlaceReport, WorkloadFindings};
use iotax_units::{count_noun, show_time};

pub const RENDERER: ReportRenderer =
    ReportRenderer { name: "markdown", endings: &["md", "markdown"], render };

fn render(findings: &[Findings], _page: &PageContext) -> String {
    findings.iter().map(render_one).collect::<Vec<_>>().join("\n")
}

fn render_one(findings: &Findings) -> String {
    let run = &findings.run;
    let mut out = format!(
        "# {}: iotax run {}\n\n",
        escape_markdown(&sheet::title(findings)),
        escape_markdown(&run.id)
    );
    for line in &findings.emulated {
        out += &format!("**Emulated: {}**\n\n", escape_markdown(line));
    }
    match (&findings.headline, &findings.no_headline) {
        (Some(headline), _) => out += &format!("**{}**\n\n", escape_markdown(headline)),
        (None, Some(reason)) => out += &format!("{}.\n\n", escape_markdown(&capital(reason))),
        (None, None) => {}
    }
    out += &findings
        .ruler
        .as_ref()
        .map(|check| format!("{}.\n\n", escape_markdown(&check.sentence)))
        .unwrap_or_default();
    out += &matrix::side_by_side_table(findings)
        .map(|table| format!("{}\n", table.markdown()))
        .unwrap_or_default();
    out += &read_back(findings);
    out += &ratio_lines(findings);
    findings.sweeps.iter().for_each(|one| out += &sweep_paragraph(one));
    for joint in &findings.joint_bills {
        out += &format!("## The bill\n\n{}", bill(&sheet::joint_title(joint), &joint.bill));
    }
    findings.workloads.iter().for_each(|workload| out += &section(findings, workload));
    out += &trial_lines(findings);
    out += &course_lines(findings);
    out += &of_others(findings);
    out += &published_section(findings);
    out += &list(sheet::PRECONDITIONED, sheet::preconditioning_lines(findings).collect());
    out += &list(sheet::TRAFFIC, sheet::traffic(findings).collect());
    let warnings = findings.warnings.iter().map(|one| one.to_sentence());
    out += &list("Warnings", warnings.collect());
    out += &list("Not excluded", findings.not_excluded.clone());
    out += "## Run\n\n";
    out += &list(
        "",
        vec![
            format!("started {}, {}", show_time(&run.at), run.state_said()),
            match run.imported {
                true => format!("iotax {}", run.iotax),
                false => {
                    format!("iotax {}, scenario: {}, seed {}", run.iotax, run.source, run.seed)
                }
            },
        ],
    );
    out += &fenced(std::slice::from_ref(&run.command));
    let stacks =
        sheet::stacks_in_full(findings).into_iter().map(|(name, text)| format!("{name}: {text}"));
    let stacks: Vec<String> = stacks.collect();
    if !stacks.is_empty() {
        out += &format!("{}:\n\n{}", sheet::STACKS, list("", stacks));
    }
    if let Some(table) = disks::guest_disk_table(findings) {
        out += &format!("{}\n{}.\n\n", table.markdown(), escape_markdown(disks::LEGEND));
    }
    let layers = disks::layers(findings);
    if !layers.is_empty() {
        out += &format!("{}:\n\n{}", disks::LAYERS, list("", layers));
    }
    findings.places.iter().for_each(|one| out += &place(one));
    out
}

fn ratio_lines(findings: &Findings) -> String {
    let mut out = String::new();
    for (title, table, remarks) in ratios::tables(findings) {
        out +=
            &format!("{}:\n\n{}\n{}", escape_markdown(&title), table.markdown(), list("", remarks));
    }
    out + &ratios::legend(findings)
        .map(|legend| format!("{}; {SPREADS}.\n\n", escape_markdown(legend)))
        .unwrap_or_default()
}

fn course_lines(findings: &Findings) -> String {
    let Some(table) = limits::course_table(findings) else { return String::new() };
    let said = limits::course_sentences(findings, "").into_iter().map(|said| said.text).collect();
    format!(
        "## Limits\n\n{}{}\n{}.\n\n",
        list("", said),
        table.markdown(),
        escape_markdown(limits::LEGEND)
    )
}

fn trial_lines(findings: &Findings) -> String {
    let Some(table) = durability::trial_table(findings) else { return String::new() };
    let said = durability::trial_sentences(findings).into_iter().map(|said| said.text).collect();
    format!(
        "## Durability\n\n{}{}\n{}.\n\n{}",
        list("", said),
        table.markdown(),
        escape_markdown(durability::LEGEND),
        list("", durability::examples(findings))
    )
}

fn of_others(findings: &Findings) -> String {
    let section = |one: imported::ImportedSection| {
        format!(
            "## {}\n\n{}\n{}",
            escape_markdown(&one.title),
            one.table.markdown(),
            list("", one.lines)
        )
    };
    let mut out: String = imported::sections(findings).into_iter().map(section).collect();
    out += &imported::legend(findings)
        .map(|legend| format!("{}.\n\n", escape_markdown(&legend)))
        .unwrap_or_default();
    out + &list(imported::FILES, imported::files(findings))
}

/// Returns the results of reading data back, if that was requested. They come before any figure.
fn read_back(findings: &Findings) -> String {
    let Some(table) = verification::read_back_table(findings) else { return String::new() };
    let said = verification::read_back_sentences(findings).into_iter().map(|said| said.text);
    format!(
        "## {}\n\n{}\n{}\n{}.\n\n",
        verification::TITLE,
        list("", said.chain(verification::examples(findings)).collect()),
        table.markdown(),
        escape_markdown(verification::LEGEND),
    )
}

fn section(findings: &Findings, workload: &WorkloadFindings) -> String {
    let mut out = format!(
        "## {}\n\n{}\n\n",
        escape_markdown(&workload.subject),
        escape_markdown(&sheet::effort(workload))
    );
    if sheet::is_empty(workload) {
        return out + &list("", vec![sheet::EMPTY.to_owned()]);
    }
    let starts = workload.design.iter().filter_map(|design| design.starts_in_words());
    let designs = workload.design.iter().map(|design| design.sentence.clone());
    out += &designs
        .chain(starts)
        .map(|one| format!("{}\n\n", escape_markdown(&one)))
        .collect::<String>();
    out += &list(
        "",
        verdicts::workload_sentences(workload).into_iter().map(|said| said.text).collect(),
    );
    out += &verdicts::three_figures_table(workload)
        .map(|table| format!("{}\n", table.markdown()))
        .unwrap_or_default();
    out += &format!(
        "{}\n`*` baseline; latencies from merged histograms; {SPREADS}.\n\n",
        sheet::stacks(workload).markdown()
    );
    for one in probes::sections(workload) {
        out += &format!(
            "{}:\n\n{}\n{}.\n\n",
            one.title,
            one.table.markdown(),
            escape_markdown(one.legend)
        );
    }
    for array in &workload.arrays {
        let said = states::state_sentences(array).into_iter().map(|said| said.text);
        out += &format!("### {} in its states\n\n", escape_markdown(&array.stack));
        out += &list("", std::iter::once(array.sentence.clone()).chain(said).collect());
        out += &states::state_table(array)
            .map(|table| format!("{}\n", table.markdown()))
            .unwrap_or_default();
    }
    out += &list("", workload.clusters.iter().map(|one| one.sentence.clone()).collect());
    if let Some(table) = crowd::crowd_table(workload) {
        out += &format!(
            "{}\n{}",
            table.markdown(),
            list("", crowd::crowd_sentences(workload).collect())
        );
        for crowd in &workload.crowds {
            let (title, table) = crowd::places(crowd, true);
            out += &format!("{}:\n\n{}\n", capital(&escape_markdown(&title)), table.markdown());
            let (all, whole) = crowd::places(crowd, false);
            if all != title {
                let (all, whole) = (capital(&escape_markdown(&all)), whole.markdown());
                out += &format!("<details><summary>{all}</summary>\n\n{whole}\n</details>\n\n");
            }
        }
    }
    if let Some(table) = sheet::targets(workload) {
        let (title, table) = (sheet::TARGETS, table.markdown());
        out += &format!("<details><summary>{title}</summary>\n\n{table}\n</details>\n\n");
    }
    if let Some(table) = efficiency::efficiency_table(workload) {
        out += &format!(
            "{}:\n\n{}\n{}.\n\n",
            efficiency::TITLE,
            table.markdown(),
            efficiency::legend(workload)
        );
        out += &list("", efficiency::efficiency_sentences(workload).collect());
    }
    for (title, table, note) in sheet::apart_tables(workload) {
        out += &format!("{}:\n\n{}\n", capital(&title), table.markdown());
        out += &note.map(|note| format!("{}.\n\n", escape_markdown(note))).unwrap_or_default();
    }
    if let Some(table) = sheet::latency_ratios(&workload.comparisons) {
        out += &format!("{}:\n\n{}\n", sheet::LATENCY_CHANGES, table.markdown());
        out += &list("", verdicts::tails(workload));
    }
    if let Some(matched) = &workload.matched {
        let title = escape_markdown(&verdicts::matched_title(matched));
        out += &format!("{title}:\n\n{}\n", verdicts::matched_table(matched).markdown());
    }
    if let Some(own) = sheet::own_bill(findings, workload) {
        out += &format!(
            "### Bill\n\n{}",
            bill("Each layer against the stack below it; points add up", own)
        );
    }
    if let Some(table) = generator::generator_table(workload) {
        let (title, legend) = (generator::TITLE, escape_markdown(generator::LEGEND));
        out += &format!(
            "<details><summary>{title}</summary>\n\n{}\n{legend}.\n\n</details>\n\n",
            table.markdown()
        );
    }
    out += &list("", workload.round_trips.iter().chain(&workload.on_baseline).cloned().collect());
    out += &list("", sheet::debts(workload));
    out += &list("", sheet::remarks(workload));
    out
}

fn bill(title: &str, bill: &Bill) -> String {
    format!(
        "{}.\n\n{}\n{}",
        escape_markdown(title),
        sheet::bill(bill).markdown(),
        list("", sheet::reserves(bill))
    )
}

fn published_section(findings: &Findings) -> String {
    let Some(found) = &findings.published else { return String::new() };
    let mut out = list(published::TITLE, published::origin(found));
    for (title, table) in published::tables(findings) {
        out += &format!("{}:\n\n{}\n", escape_markdown(&title), table.markdown());
    }
    out += &published::legend(found)
        .map(|legend| format!("{}.\n\n", escape_markdown(legend)))
        .unwrap_or_default();
    out + &list("", found.sentences.clone())
}

/// Returns the section of a sweep: its conclusions, and a table per stack and curve. Its points
/// also have sections of their own, as workloads.
fn sweep_paragraph(one: &SweepFindings) -> String {
    let mut out = format!("## Sweep: {}\n\n", escape_markdown(&sweep::title(one)));
    out += &list("", one.note.map(str::to_owned).into_iter().collect());
    for curve in &one.curves {
        out += &list("", sweep::curve_sentences(curve).map(str::to_owned).collect());
        for stack in &curve.stacks {
            let name = escape_markdown(&sweep::curve_stack_name(one, curve, stack));
            out += &format!("{name}:\n\n{}\n", sweep::points(one, stack).markdown());
        }
    }
    out + &format!("{}.\n\n", escape_markdown(sweep::LEGEND))
}

/// Returns a list below a title, if there is anything.
pub(super) fn list(title: &str, lines: Vec<String>) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let head = if title.is_empty() { String::new() } else { format!("## {title}\n\n") };
    let items: String = lines.iter().map(|line| format!("- {}\n", escape_markdown(line))).collect();
    format!("{head}{items}\n")
}

/// Encloses commands in four backticks: a command may hold three.
fn fenced(commands: &[String]) -> String {
    if commands.is_empty() {
        return String::new();
    }
    format!("````sh\n{}\n````\n\n", commands.join("\n"))
}

fn place(place: &PlaceReport) -> String {
    let all = sheet::fact_pairs(&place.facts);
    let lines = |looked_for: bool| {
        let some = all.iter().filter(|fact| sheet::is_looked_for(&all, fact) == looked_for);
        some.map(|(key, value)| format!("{key}: {value}")).collect::<Vec<_>>()
    };
    let others = lines(false);
    let mut out =
        format!("### {}\n\n{}", escape_markdown(&place.place.to_string()), list("", lines(true)));
    if !others.is_empty() {
        let counted = count_noun(others.len() as u64, "more attribute", "more attributes");
        out += &format!(
            "<details><summary>{counted} of queues, alike on all devices</summary>\n\n{}</details>\n\n",
            list("", others)
        );
    }
    out + &fenced(&place.commands)
}
