//! The terminal's report: fits 80 columns, and uses more if available. Sentences first, tables
//! below.

use super::number::SPREADS;
use super::table::capital;
use super::table::{LeftOut, TextTable, wrap_words};
use super::{
    PageContext, ReportRenderer, crowd, disks, durability, efficiency, generator, grouped,
    imported, limits, matrix, probes, published, ratios, sheet, states, sweep, verdicts,
    verification,
};
use iotax_analysis::Findings;
use iotax_analysis::findings::sweep::{Curve, SweepFindings};
use iotax_analysis::findings::{Bill, RunIdentity, WorkloadFindings};
use iotax_units::show_time;

pub const RENDERER: ReportRenderer = ReportRenderer { name: "terminal", endings: &["txt"], render };

/// Least width, in columns, that is laid out for; a narrower terminal gets lines that are too long.
pub const NARROWEST: usize = 40;

fn render(findings: &[Findings], page: &PageContext) -> String {
    findings.iter().map(|one| render_one(one, page)).collect::<Vec<_>>().join("\n")
}

fn render_one(findings: &Findings, page: &PageContext) -> String {
    let width = page.width.max(NARROWEST);
    let mut left_out = LeftOut::default();
    let mut out = wrap_words(&identity(&findings.run), width, "  ");
    for line in &findings.emulated {
        out += &wrap_words(&format!("EMULATED: {line}"), width, "  ");
    }
    out += &format!("\n{}", head(findings, width));
    if let Some(table) = matrix::side_by_side_table(findings) {
        out += &format!("\n{}", table.in_parts(width));
    }
    out += &read_back(findings, width, &mut left_out);
    out += &ratio_text(findings, width);
    findings.sweeps.iter().for_each(|one| out += &sweep_text(one, width, &mut left_out));
    for joint in &findings.joint_bills {
        out += &bill(&sheet::joint_title(joint), &joint.bill, width, &mut left_out);
    }
    for workload in &findings.workloads {
        out += &section(findings, workload, width, &mut left_out);
    }
    out += &trial_text(findings, width, &mut left_out);
    out += &course_text(findings, width, &mut left_out);
    out += &of_others(findings, width, &mut left_out);
    out += &published_lines(findings, width, &mut left_out);
    let stacks =
        sheet::stacks_in_full(findings).into_iter().map(|(name, text)| format!("{name}: {text}"));
    out += &list(sheet::STACKS, stacks, width);
    if let Some(table) = disks::guest_disk_table(findings) {
        out +=
            &format!("\n{}{}", table.to_text(width, &mut left_out), indented(disks::LEGEND, width));
    }
    out += &list(disks::LAYERS, disks::layers(findings).into_iter(), width);
    if findings.workloads.iter().any(|workload| !sheet::is_empty(workload)) {
        let legend = format!("* baseline; {SPREADS}; latencies from merged histograms");
        out += &format!("\n{}", wrap_words(&legend, width, "  "));
    }
    if let Some(said) = left_out.to_sentence(width) {
        out += &format!("\n{}", wrap_words(&said, width, "  "));
    }
    out += &list(sheet::PRECONDITIONED, sheet::preconditioning_lines(findings), width);
    out += &list(sheet::TRAFFIC, sheet::traffic(findings), width);
    let warnings = findings.warnings.iter().map(|warning| warning.to_sentence());
    out += &list("Warnings", warnings, width);
    out += &list("Not excluded", findings.not_excluded.iter().cloned(), width);
    out
}

/// Returns the headline, or why there is none, and the check of the ruler (a stack that only checks
/// the measuring).
pub(super) fn head(findings: &Findings, width: usize) -> String {
    let said = findings.headline.clone().or_else(|| findings.no_headline.as_deref().map(capital));
    let said: String = said.map(|line| wrap_words(&line, width, "  ")).unwrap_or_default();
    said + &ruler(findings, width)
}

pub(super) fn ruler(findings: &Findings, width: usize) -> String {
    findings
        .ruler
        .as_ref()
        .map(|check| wrap_words(&check.sentence, width, "  "))
        .unwrap_or_default()
}

/// Returns the tables that the scenario requests; none of their columns may be left out.
fn ratio_text(findings: &Findings, width: usize) -> String {
    let mut out = String::new();
    for (title, table, remarks) in ratios::tables(findings) {
        out += &format!("\n{}{}", indented(&title, width), table.in_parts(width));
        out += &list("", remarks.into_iter(), width);
    }
    out + &list("", ratios::legend(findings).map(str::to_owned).into_iter(), width)
}

fn course_text(findings: &Findings, width: usize, left_out: &mut LeftOut) -> String {
    let Some(table) = limits::course_table(findings) else { return String::new() };
    let said = limits::course_sentences(findings, "").into_iter().map(|said| said.text);
    format!(
        "{}\n{}{}",
        list("", said, width),
        table.to_text(width, left_out),
        indented(limits::LEGEND, width)
    )
}

fn trial_text(findings: &Findings, width: usize, left_out: &mut LeftOut) -> String {
    let Some(table) = durability::trial_table(findings) else { return String::new() };
    let said = durability::trial_sentences(findings).into_iter().map(|said| said.text);
    let examples = list("", durability::examples(findings).into_iter(), width);
    format!(
        "{}\n{}{}{examples}",
        list("", said, width),
        table.to_text(width, left_out),
        indented(durability::LEGEND, width)
    )
}

fn of_others(findings: &Findings, width: usize, left_out: &mut LeftOut) -> String {
    let mut out = String::new();
    for section in imported::sections(findings) {
        out += &format!(
            "\n{}\n{}",
            wrap_words(&section.title, width, "  "),
            section.table.to_text(width, left_out)
        );
        out += &list("", section.lines.into_iter(), width);
    }
    if let Some(legend) = imported::legend(findings) {
        out += &format!("\n{}", wrap_words(&legend, width, "  "));
    }
    out + &list(imported::FILES, imported::files(findings).into_iter(), width)
}

/// Returns the results of reading data back, if that was requested. They come before any figure.
fn read_back(findings: &Findings, width: usize, left_out: &mut LeftOut) -> String {
    let Some(table) = verification::read_back_table(findings) else { return String::new() };
    let said = verification::read_back_sentences(findings).into_iter().map(|said| said.text);
    let examples = list("", verification::examples(findings).into_iter(), width);
    format!(
        "{}{examples}\n{}{}",
        list(verification::TITLE, said, width),
        table.to_text(width, left_out),
        indented(verification::LEGEND, width)
    )
}

pub(super) fn identity(run: &RunIdentity) -> String {
    let name = run.name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    format!("{name}iotax run {} of {}: {}", run.id, show_time(&run.at), run.state_said())
}

fn section(
    findings: &Findings,
    workload: &WorkloadFindings,
    width: usize,
    left_out: &mut LeftOut,
) -> String {
    let mut out = format!("\n{}", wrap_words(&workload.subject, width, "  "));
    out += &wrap_words(&format!("  {}", sheet::effort(workload)), width, "  ");
    if sheet::is_empty(workload) {
        return out + &list("", std::iter::once(sheet::EMPTY.to_owned()), width);
    }
    let starts = workload.design.iter().filter_map(|design| design.starts_in_words());
    let designs = workload.design.iter().map(|design| design.sentence.clone());
    out += &designs.chain(starts).map(|sentence| indented(&sentence, width)).collect::<String>();
    out += &format!("\n{}", sheet::stacks(workload).to_text(width, left_out));
    for one in probes::sections(workload) {
        out += &format!("\n  {}\n{}", one.title, one.table.to_text(width, left_out));
        out += &indented(one.legend, width);
    }
    for (title, table, note) in sheet::apart_tables(workload) {
        out += &format!("\n  {title}\n{}", table.to_text(width, left_out));
        out += &note.map(|note| indented(note, width)).unwrap_or_default();
    }
    if let Some(table) = sheet::latency_ratios(&workload.comparisons) {
        out += &format!("\n  {}\n{}", sheet::LATENCY_CHANGES, table.to_text(width, left_out));
        out += &list("", verdicts::tails(workload).into_iter(), width);
    }
    if let Some(matched) = &workload.matched {
        out += &format!("\n{}", indented(&verdicts::matched_title(matched), width));
        out += &verdicts::matched_table(matched).to_text(width, left_out);
    }
    out += &list("", sheet::debts(workload).into_iter(), width);
    out +=
        &list("", verdicts::workload_sentences(workload).into_iter().map(|said| said.text), width);
    if let Some(table) = verdicts::three_figures_table(workload) {
        out += &format!("\n{}", three_figures(&table, width, left_out));
    }
    out += &in_states(workload, width, left_out);
    if let Some(table) = crowd::crowd_table(workload) {
        out += &format!(
            "\n{}{}",
            table.to_text(width, left_out),
            list("", crowd::crowd_sentences(workload), width)
        );
        for (title, table) in workload.crowds.iter().map(|crowd| crowd::places(crowd, true)) {
            out += &format!("\n{}{}", indented(&title, width), table.to_text(width, left_out));
        }
    }
    if let Some(table) = sheet::targets(workload) {
        out += &format!("\n  {}\n{}", sheet::TARGETS, table.to_text(width, left_out));
    }
    if let Some(table) = efficiency::efficiency_table(workload) {
        out += &format!("\n  {}\n{}", efficiency::TITLE, table.to_text(width, left_out));
        out += &indented(&efficiency::legend(workload), width);
        out += &list("", efficiency::efficiency_sentences(workload), width);
    }
    if let Some(own) = sheet::own_bill(findings, workload) {
        out += &bill(
            "bill: each layer against the stack below it; points add up",
            own,
            width,
            left_out,
        );
    }
    if let Some(table) =
        generator::generator_table(workload).filter(|_| generator::is_doubted(findings))
    {
        out += &format!("\n{}", table.to_text(width, left_out));
    }
    out += &list("", workload.round_trips.iter().chain(&workload.on_baseline).cloned(), width);
    out += &list("", sheet::remarks(workload).into_iter(), width);
    out
}

fn in_states(workload: &WorkloadFindings, width: usize, left_out: &mut LeftOut) -> String {
    let mut out = String::new();
    for array in &workload.arrays {
        let said = std::iter::once(array.sentence.clone());
        out += &list(
            "",
            said.chain(states::state_sentences(array).into_iter().map(|said| said.text)),
            width,
        );
        if let Some(table) = states::state_table(array) {
            out += &format!("\n{}", three_figures(&table, width, left_out));
        }
    }
    out + &list("", workload.clusters.iter().map(|one| one.sentence.clone()), width)
}

/// Returns the table of rates, latencies and CPU times. Sentences about many stacks leave their
/// figures to the table, which then drops none of the three, however narrow it is.
fn three_figures(table: &TextTable, width: usize, left_out: &mut LeftOut) -> String {
    const FIGURES: u8 = 1;
    if table.row_count() < grouped::FEW {
        table.to_text(width, left_out)
    } else {
        table.text_with(FIGURES, width, left_out)
    }
}

fn bill(title: &str, bill: &Bill, width: usize, left_out: &mut LeftOut) -> String {
    let table = sheet::bill(bill).to_text(width, left_out);
    format!(
        "\n{}{table}{}",
        indented(title, width),
        list("", sheet::reserves(bill).into_iter(), width)
    )
}

fn published_lines(findings: &Findings, width: usize, left_out: &mut LeftOut) -> String {
    let Some(found) = &findings.published else { return String::new() };
    let mut out = list(published::TITLE, published::origin(found).into_iter(), width);
    for (title, table) in published::tables(findings) {
        out += &format!("\n{}{}", indented(&title, width), table.to_text(width, left_out));
    }
    let said = published::legend(found)
        .map(str::to_owned)
        .into_iter()
        .chain(found.sentences.iter().cloned());
    out + &list("", said, width)
}

/// Returns the section of a sweep: its conclusions, and a table per stack and curve. Its points
/// also have sections of their own, as workloads.
fn sweep_text(one: &SweepFindings, width: usize, left_out: &mut LeftOut) -> String {
    let mut out =
        format!("\n{}", wrap_words(&format!("Sweep: {}", sweep::title(one)), width, "  "));
    out += &list("", one.note.map(str::to_owned).into_iter(), width);
    one.curves.iter().for_each(|curve| out += &along(one, curve, width, left_out));
    out + &list("", std::iter::once(sweep::LEGEND.to_owned()), width)
}

fn along(one: &SweepFindings, curve: &Curve, width: usize, left_out: &mut LeftOut) -> String {
    let mut out = list("", sweep::curve_sentences(curve).map(str::to_owned), width);
    for stack in &curve.stacks {
        out += &format!("\n{}", indented(&sweep::curve_stack_name(one, curve, stack), width));
        out += &sweep::points(one, stack).to_text(width, left_out);
    }
    out
}

/// Returns lines below a title, if there are any.
pub(super) fn list(title: &str, lines: impl Iterator<Item = String>, width: usize) -> String {
    let lines: Vec<String> = lines.map(|line| indented(&line, width)).collect();
    match (lines.is_empty(), title) {
        (true, _) => String::new(),
        (false, "") => format!("\n{}", lines.concat()),
        (false, title) => format!("\n{title}\n{}", lines.concat()),
    }
}

fn indented(line: &str, width: usize) -> String {
    format!("  {}", wrap_words(line, width - 2, "    "))
}
