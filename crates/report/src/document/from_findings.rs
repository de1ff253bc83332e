//! The sections of a run's report in the order in which they are read: data that was wrong, tables
//! that were asked for, the bill, every load, what others measured, doubts, and how to repeat it.

use super::from_articles::named_tables;
use super::{Document, DocumentHead, DocumentSection, DocumentTable, SectionAudience};
use crate::sheet;
use crate::table::capital;
use crate::{
    disks, drives, durability, headline, imported, limits, matrix, number, published, ratios,
    sweep, verdicts, verification,
};
use iotax_analysis::Findings;
use iotax_analysis::findings::sweep::SweepFindings;
use iotax_analysis::findings::{JointBill, PlaceReport, WarningReport, WorkloadFindings};
use iotax_units::{count_noun, show_time};

/// Number of loads beyond which each one is folded, with its verdicts in its first line.
const MOST_OPEN: usize = 6;

impl Document {
    pub(crate) fn from_findings(findings: &Findings) -> Document {
        let mut sections = Vec::new();
        sections.extend(side_by_side(findings));
        sections.extend(read_back(findings));
        sections.extend(requested_tables(findings));
        sections.extend(findings.joint_bills.iter().map(joint_bill));
        sections.extend(findings.sweeps.iter().map(|one| sweep_section(findings, one)));
        sections.extend(loads(findings));
        sections.extend(drive_section(findings));
        sections.extend(durability_section(findings));
        sections.extend(limit_section(findings));
        sections.extend(imported_sections(findings));
        sections.extend(published_section(findings));
        sections.extend(named_tables(findings));
        sections.extend(doubts(findings));
        sections.push(reproduce(findings));
        sections.push(method(findings));
        sections.retain(|section| !section.blocks.is_empty());
        Document { title: sheet::title(findings), head: head(findings), sections }
    }
}

pub(crate) fn head(findings: &Findings) -> DocumentHead {
    let run = &findings.run;
    let emulated = findings.emulated.iter().map(|line| format!("EMULATED: {line}"));
    let cut = (!run.is_complete())
        .then(|| format!("state of this run: {}; the figures are of what it recorded", run.state));
    let failed = findings.warnings.iter().filter(|one| is_alarm(findings, one));
    let failed = failed.map(|one| one.to_sentence());
    let wrong = findings.verification.as_ref().and_then(|found| found.alarm());
    let answer = headline::short_headline(findings);
    let has_bill = findings.workloads.iter().any(|one| one.bill.is_some());
    DocumentHead {
        identity: identity(findings),
        alarms: emulated.chain(cut).chain(wrong).chain(failed).collect(),
        headline: match &findings.headline {
            // The bill says what each layer takes; the largest sum of layers would only confuse.
            Some(_) if answer.is_some() && has_bill => Err(None),
            Some(headline) => Ok(headline.clone()),
            None => Err(findings.no_headline.as_deref().map(capital)),
        },
        answer,
        ruler: findings.ruler.as_ref().map(|check| (check.sentence.clone(), check.holds)),
    }
}

const IO_ERRORS: &str = "io_errors";
const MACHINES: &str = "machines";

/// Returns true for warnings without which figures are misread. A figure of a stack with failed
/// I/Os must not be used before somebody knows why, and a difference of two machines is not the
/// cost of a layer. iotax did not set up imported runs, so their confounders and failed jobs count
/// too.
pub(crate) fn is_alarm(findings: &Findings, warning: &WarningReport) -> bool {
    let of_imported: &[&str] =
        if findings.imported.is_some() { &["confounder", "failed_job"] } else { &[] };
    [IO_ERRORS, MACHINES].iter().chain(of_imported).any(|kind| *kind == warning.kind)
}

pub(crate) fn identity(findings: &Findings) -> String {
    let run = &findings.run;
    let name = run.name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    format!("{name}iotax run {} of {}: {}", run.id, show_time(&run.at), run.state_said())
}

fn side_by_side(findings: &Findings) -> Option<DocumentSection> {
    if let Some((table, heat)) = matrix::network(findings) {
        let mut section = DocumentSection::new("From each place to every other");
        let table = DocumentTable::from(table).in_parts();
        section.table(DocumentTable { shades: Some(heat), ..table });
        return Some(section);
    }
    let mut section = DocumentSection::new("Side by side");
    section.table(DocumentTable::from(matrix::side_by_side_table(findings)?).in_parts());
    Some(section)
}

/// Returns the results of reading data back. They come before any figure.
fn read_back(findings: &Findings) -> Option<DocumentSection> {
    let table = verification::read_back_table(findings)?;
    let mut section = DocumentSection::new(verification::TITLE);
    section.verdicts(verification::read_back_sentences(findings));
    section.lines(verification::examples(findings));
    section.table(table);
    section.note(verification::LEGEND);
    Some(section)
}

/// Returns the tables that the scenario requests; none of their columns may be left out.
fn requested_tables(findings: &Findings) -> Option<DocumentSection> {
    let mut section = DocumentSection::new("Tables of the scenario");
    for (title, table, remarks) in ratios::tables(findings) {
        section.heading(title);
        section.table(DocumentTable::from(table).in_parts());
        section.lines(remarks);
    }
    if let Some(legend) = ratios::legend(findings) {
        section.note(format!("{legend}; {}", number::SPREADS));
    }
    Some(section)
}

fn joint_bill(joint: &JointBill) -> DocumentSection {
    let mut section = DocumentSection::new("The bill");
    section.paragraph(sheet::joint_title(joint));
    section.bill(&joint.bill, &joint.subject);
    section
}

/// Returns the section of a sweep: its conclusions, and a table for each stack and curve.
fn sweep_section(findings: &Findings, one: &SweepFindings) -> DocumentSection {
    let mut section = DocumentSection::new(format!("Sweep: {}", sweep::title(one)));
    section.lines(one.note.map(str::to_owned));
    for curve in &one.curves {
        section.lines(sweep::curve_sentences(curve).map(str::to_owned));
    }
    let chart = iotax_chart::sweep_chart(one, 100.0 * findings.run.zone);
    section.headed_chart("Rate, and rate against the baseline", chart);
    for curve in &one.curves {
        for stack in &curve.stacks {
            section.heading(sweep::curve_stack_name(one, curve, stack));
            section.table(sweep::points(one, stack));
        }
    }
    section.note(sweep::LEGEND);
    section
}

/// Returns the loads outside sweeps, a section each, then the points of every sweep in one section.
fn loads(findings: &Findings) -> Vec<DocumentSection> {
    let (points, alone): (Vec<_>, Vec<_>) =
        findings.workloads.iter().partition(|workload| workload.sweep.is_some());
    let is_folded = alone.len() > MOST_OPEN;
    let one = |(at, workload): (usize, &&WorkloadFindings)| {
        let section = DocumentSection::of_workload(findings, workload, at == 0);
        DocumentSection { folded: is_folded.then(|| verdicts::rates(workload)), ..section }
    };
    let mut all: Vec<DocumentSection> = alone.iter().enumerate().map(one).collect();
    for sweep in &findings.sweeps {
        let of_sweep = |workload: &&&WorkloadFindings| {
            workload.sweep.as_ref().is_some_and(|point| point.sweep == sweep.name)
        };
        let mut section = DocumentSection::new(format!("The {} points one by one", sweep.points));
        section.folded = Some(Vec::new());
        for (at, workload) in points.iter().filter(of_sweep).enumerate() {
            let point = DocumentSection::of_workload(findings, workload, at == 0);
            section.fold(point.heading, |inner| inner.blocks = point.blocks);
        }
        all.push(section);
    }
    all
}

fn durability_section(findings: &Findings) -> Option<DocumentSection> {
    let mut section = DocumentSection::new("Durability");
    let table = durability::trial_table(findings)?;
    section.verdicts(durability::trial_sentences(findings));
    section.table(table);
    section.note(durability::LEGEND);
    section.lines(durability::examples(findings));
    Some(section)
}

fn limit_section(findings: &Findings) -> Option<DocumentSection> {
    let table = limits::course_table(findings)?;
    let mut section = DocumentSection::new("Limits");
    section.verdicts(limits::course_sentences(findings, ""));
    let courses: Vec<_> = limits::courses(findings).iter().collect();
    section.headed_chart("Rate over time", iotax_chart::courses_chart(&courses));
    section.table(table);
    section.note(limits::LEGEND);
    Some(section)
}

fn imported_sections(findings: &Findings) -> Vec<DocumentSection> {
    let one = |found: imported::ImportedSection| {
        let mut section = DocumentSection::new(found.title);
        section.table(found.table);
        section.lines(found.lines);
        section
    };
    let mut all: Vec<DocumentSection> = imported::sections(findings).into_iter().map(one).collect();
    let mut files = DocumentSection::new(imported::FILES);
    files.lines(imported::files(findings));
    if let Some(legend) = imported::legend(findings) {
        files.note(legend);
    }
    all.push(files);
    all
}

/// Returns the outliers among stacks that differ only in their drive.
fn drive_section(findings: &Findings) -> Option<DocumentSection> {
    (!findings.drives.is_empty()).then_some(())?;
    let mut section = DocumentSection::new(drives::TITLE);
    for group in &findings.drives {
        let (title, table) = drives::group_table(findings, group);
        section.heading(title);
        section.table(DocumentTable::from(table).in_parts());
        section.lines(group.sentences.iter().cloned());
    }
    section.note(drives::LEGEND);
    Some(section)
}

fn published_section(findings: &Findings) -> Option<DocumentSection> {
    let found = findings.published.as_ref()?;
    let mut section = DocumentSection::new(published::TITLE);
    section.lines(published::origin(found));
    for (title, table) in published::tables(findings) {
        section.heading(title);
        section.table(table);
    }
    if let Some(legend) = published::legend(found) {
        section.note(legend);
    }
    if !found.claims.is_empty() {
        section.heading(published::CLAIMS.to_owned());
        section.table(published::claims_table(&found.claims));
        section.note(published::CLAIMS_LEGEND);
        section.lines(published::claim_words(&found.claims));
    }
    section.lines(found.sentences.iter().cloned());
    Some(section)
}

/// Returns what a reader has to know to trust the figures: how devices were prepared, whether all
/// I/O arrived, warnings, and what the run cannot exclude.
fn doubts(findings: &Findings) -> Vec<DocumentSection> {
    let section = |title: &str, lines: Vec<String>| {
        let mut section = DocumentSection::new(title);
        section.lines(lines);
        section
    };
    vec![
        section(
            "Warnings",
            findings.warnings.iter().map(|warning| warning.to_sentence()).collect(),
        ),
        section("What is not excluded", findings.not_excluded.clone()),
        section(sheet::PRECONDITIONED, sheet::preconditioning_lines(findings).collect()),
        section(sheet::TRAFFIC, sheet::traffic(findings).collect()),
    ]
}

fn reproduce(findings: &Findings) -> DocumentSection {
    let run = &findings.run;
    let mut section =
        DocumentSection::new(if run.imported { "How it was imported" } else { "Reproduce it" });
    section.lines([
        format!("started {}, {}", show_time(&run.at), run.state_said()),
        match run.imported {
            true => format!("iotax {}", run.iotax),
            false => format!("iotax {}, scenario: {}, seed {}", run.iotax, run.source, run.seed),
        },
    ]);
    section.lines((run.torn > 0).then(|| {
        count_noun(run.torn, "frame of the record is torn", "frames of the record are torn")
    }));
    section.blocks.push(super::Block::Commands(vec![run.command.clone()]));
    let stacks: Vec<(String, String)> = sheet::stacks_in_full(findings);
    if !stacks.is_empty() {
        section.heading(sheet::STACKS);
        section.lines(stacks.into_iter().map(|(name, text)| format!("{name}: {text}")));
    }
    if let Some(table) = disks::guest_disk_table(findings) {
        section.heading("Disks of guests");
        section.table(table);
        section.note(disks::LEGEND);
    }
    let layers = disks::layers(findings);
    if !layers.is_empty() {
        section.heading(disks::LAYERS);
        section.lines(layers);
    }
    findings.places.iter().for_each(|place| place_facts(&mut section, place));
    section
}

fn place_facts(section: &mut DocumentSection, place: &PlaceReport) {
    let emulated = if place.emulated.is_some() { " (emulated)" } else { "" };
    section.fold(format!("Facts and commands of {}{emulated}", place.place), |inner| {
        let all = sheet::fact_pairs(&place.facts);
        let (first, others): (Vec<_>, Vec<_>) =
            all.iter().cloned().partition(|fact| sheet::is_looked_for(&all, fact));
        inner.blocks.push(super::Block::Facts(first));
        if !others.is_empty() {
            let count = count_noun(others.len() as u64, "more attribute", "more attributes");
            inner.fold(format!("{count} of queues, alike on all devices"), |more| {
                more.blocks.push(super::Block::Facts(others));
            });
        }
        if !place.commands.is_empty() {
            inner.blocks.push(super::Block::Commands(place.commands.clone()));
        }
    });
}

const METHOD: &str = "Slices of all stacks alternate in random order, mirrored within each round, \
    so that the machine's own noise affects all alike. A ratio is the total of a stack over the \
    total of the baseline; its 95 % interval comes from how it varies from round to round, and no \
    verdict is given while batches of rounds still depend on each other. Measuring stops when the \
    interval is narrow enough, never because it looks significant. Latencies are compared where \
    all stacks get the same load; percentiles are read from merged histograms. Costs and gains in \
    throughput are held against all others of the run. METHOD.md of iotax has the formulas";

fn method(findings: &Findings) -> DocumentSection {
    let (title, text) = match findings.imported {
        None => ("Method", METHOD),
        Some(_) => ("Imported figures", imported::METHOD),
    };
    let mut section = DocumentSection::new(title).for_audience(SectionAudience::Page);
    section.paragraph(text.trim_end_matches('.'));
    section
}
