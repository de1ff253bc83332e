//! The terminal's report: fits 80 columns, uses more where there are more. Sentences first, tables below.

use super::number::SPREADS;
use super::table::{Table, wrapped};
use super::{Page, Renderer, crowd, disks, durability, grouped, matrix, published, sheet, sweep, verdicts};
use crate::bill::Findings;
use crate::bill::findings::{Bill, RunIdentity, WorkloadFindings};
use crate::bill::sweep::{Curve, SweepFindings};

/// Its entry.
pub const RENDERER: Renderer = Renderer {
    name: "terminal",
    help: "tables and sentences for a terminal of any width",
    extension: "txt",
    render,
};

/// Narrower than this nothing can be laid out.
pub(super) const NARROWEST: usize = 40;

fn render(findings: &[Findings], page: &Page) -> String {
    findings.iter().map(|one| render_one(one, page)).collect::<Vec<_>>().join("\n")
}

fn render_one(findings: &Findings, page: &Page) -> String {
    let width = page.width.max(NARROWEST);
    let mut out = wrapped(&identity(&findings.run), width, "  ");
    for line in &findings.emulated {
        out += &wrapped(&format!("EMULATED: {line}"), width, "  ");
    }
    match (&findings.headline, &findings.no_headline) {
        (Some(headline), _) => out += &format!("\n{}", wrapped(headline, width, "  ")),
        (None, Some(reason)) => {
            out += &format!("\n{}", wrapped(&format!("no headline: {reason}"), width, "  "))
        }
        (None, None) => {}
    }
    if let Some(table) = matrix::table(findings) {
        out += &format!("\n{}", table.in_parts(width));
    }
    findings.sweeps.iter().for_each(|one| out += &swept(one, width));
    for joint in &findings.joint_bills {
        out += &bill(&sheet::joint_title(joint), &joint.bill, width);
    }
    findings.workloads.iter().for_each(|workload| out += &section(findings, workload, width));
    out += &trials(findings, width);
    out += &beside(findings, width);
    if let Some(table) = disks::table(findings) {
        out += &format!("\n{}{}", table.text(width), indented(disks::LEGEND, width));
    }
    if !findings.workloads.is_empty() {
        let legend = format!("* baseline; {SPREADS}; latencies from merged histograms");
        out += &format!("\n{}", wrapped(&legend, width, "  "));
    }
    let warnings = findings.warnings.iter().map(|warning| warning.said());
    out += &list("Warnings", warnings, width);
    out += &list("Not excluded", findings.not_excluded.iter().cloned(), width);
    out
}

/// Durability trials, where there were some.
fn trials(findings: &Findings, width: usize) -> String {
    let Some(table) = durability::table(findings) else { return String::new() };
    let said = durability::sentences(findings).into_iter().map(|said| said.text);
    let examples = list("", durability::examples(findings).into_iter(), width);
    format!(
        "{}\n{}{}{examples}",
        list("", said, width),
        table.text(width),
        indented(durability::LEGEND, width)
    )
}

fn identity(run: &RunIdentity) -> String {
    format!("iotax run {} of {}: {}", run.id, run.at, run.state)
}

fn section(findings: &Findings, workload: &WorkloadFindings, width: usize) -> String {
    let mut out = format!("\n{}", wrapped(&workload.subject, width, "  "));
    out += &wrapped(&format!("  {}", sheet::effort(workload)), width, "  ");
    out += &workload.design.iter().map(|design| indented(&design.sentence, width)).collect::<String>();
    out += &format!("\n{}", sheet::stacks(workload).text(width));
    if let Some((direction, table)) = sheet::second_latencies(workload) {
        out += &format!("\n  latency of {direction}s\n{}", table.text(width));
    }
    if let Some(matched) = &workload.matched {
        out += &format!("\n{}", indented(&verdicts::matched_title(matched), width));
        out += &verdicts::matched(matched).text(width);
    }
    out += &list("", sheet::debts(workload).into_iter(), width);
    out += &list("", verdicts::sentences(workload).into_iter().map(|said| said.text), width);
    if let Some(table) = verdicts::table(workload) {
        out += &format!("\n{}", three_figures(&table, width));
    }
    if let Some(table) = crowd::table(workload) {
        out += &format!("\n{}{}", table.text(width), list("", crowd::sentences(workload), width));
    }
    if let Some(own) = sheet::own_bill(findings, workload) {
        out += &bill("bill: each layer against the stack below it; factors multiply", own, width);
    }
    out += &list("", sheet::remarks(workload).into_iter(), width);
    out
}

/// Sentences about many stacks leave their figures to the table, which then loses none of the three.
fn three_figures(table: &Table, width: usize) -> String {
    const FIGURES: u8 = 1;
    if table.rows() < grouped::FEW { table.text(width) } else { table.text_with(FIGURES, width) }
}

fn bill(title: &str, bill: &Bill, width: usize) -> String {
    let table = sheet::bill(bill).text(width);
    format!("\n{}{table}{}", indented(title, width), list("", sheet::reserves(bill).into_iter(), width))
}

/// What was published beside what was measured.
fn beside(findings: &Findings, width: usize) -> String {
    let Some(found) = &findings.published else { return String::new() };
    let mut out = list(published::TITLE, published::origin(found).into_iter(), width);
    for (title, table) in published::tables(findings) {
        out += &format!("\n{}{}", indented(&title, width), table.text(width));
    }
    let said = published::legend(found).map(str::to_owned).into_iter().chain(found.sentences.iter().cloned());
    out + &list("", said, width)
}

/// The whole sweep; its points follow one by one, as workloads.
fn swept(one: &SweepFindings, width: usize) -> String {
    let mut out = format!("\n{}", wrapped(&format!("Sweep: {}", sweep::title(one)), width, "  "));
    out += &list("", one.note.map(str::to_owned).into_iter(), width);
    one.curves.iter().for_each(|curve| out += &along(one, curve, width));
    out + &list("", std::iter::once(sweep::LEGEND.to_owned()), width)
}

fn along(one: &SweepFindings, curve: &Curve, width: usize) -> String {
    let mut out = list("", sweep::sentences(curve).map(str::to_owned), width);
    for stack in &curve.stacks {
        out += &format!("\n{}", indented(&sweep::name(one, curve, stack), width));
        out += &sweep::points(one, stack).text(width);
    }
    out
}

/// Lines below a title, if there are any.
pub(super) fn list(title: &str, lines: impl Iterator<Item = String>, width: usize) -> String {
    let lines: Vec<String> = lines.map(|line| indented(&line, width)).collect();
    match (lines.is_empty(), title) {
        (true, _) => String::new(),
        (false, "") => format!("\n{}", lines.concat()),
        (false, title) => format!("\n{title}\n{}", lines.concat()),
    }
}

fn indented(line: &str, width: usize) -> String {
    format!("  {}", wrapped(line, width - 2, "    "))
}
