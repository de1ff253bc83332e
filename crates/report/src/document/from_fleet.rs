//! The document of a fleet: the figures over all hosts, hosts that differ and those without a
//! result, likely causes, and drift.

use super::{Document, DocumentHead, DocumentSection, DocumentTable, SectionAudience, TableFit};
use crate::fleet::{fleet_title, sheet, table};
use crate::html::histogram::draw_histogram;
use crate::look::TerminalLook;
use crate::number::SPREADS;
use crate::verdicts::VerdictSentence;
use iotax_analysis::findings::fleet::{
    ChangedHost, ComparedHost, FigureDrift, FleetDrift, FleetFindings,
};

/// Number of hosts up to which all are shown; of more only outliers are, and the others' bins.
pub(crate) const FEW_HOSTS: usize = 40;

/// Most outliers in a table that is not folded.
const SHOWN_OUTLIERS: usize = 60;

/// Most hosts in the folded table of a page.
const PAGE_HOSTS: usize = 2_000;

/// Most hosts whose changes are shown.
const SHOWN_CHANGES: usize = 60;

/// Most facts and causes in a table.
const SHOWN_FACTS: usize = 60;

impl Document {
    pub(crate) fn from_fleet(found: &FleetFindings) -> Document {
        let title = fleet_title(found);
        let mut sections = vec![hosts_that_differ(found), figure_section(found)];
        sections.push(distribution_section(found, SectionAudience::Text));
        sections.push(distribution_section(found, SectionAudience::Page));
        sections.push(missing_section(found));
        sections.push(cause_section(found));
        sections.extend(found.drift.as_ref().map(|one| drift_section(found, one)));
        sections.push(all_hosts_section(found));
        sections.push(verdicts_of_outliers(found));
        let mut limits = DocumentSection::new("Not excluded");
        limits.lines(found.not_excluded.iter().cloned());
        limits.note(SPREADS);
        sections.push(limits);
        sections.retain(|section| !section.blocks.is_empty());
        let sentence = &found.answer.sentence;
        Document {
            head: DocumentHead {
                identity: sheet::fleet_identity(found),
                alarms: found.alarms.clone(),
                answer: Some(VerdictSentence { class: found.answer.class, text: title.clone() }),
                headline: sentence.strip_prefix(&title).and_then(without_brackets).ok_or(None),
                ruler: None,
            },
            title,
            sections,
        }
    }
}

/// Returns a text that begins with ` (...)` without these brackets.
fn without_brackets(text: &str) -> Option<String> {
    let inner = text.strip_prefix(" (")?;
    let mut depth = 1;
    let end = inner.find(|letter| {
        depth += match letter {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        depth == 0
    })?;
    Some(format!("{}{}", &inner[..end], &inner[end + 1..]))
}

fn figure_section(found: &FleetFindings) -> DocumentSection {
    let mut section = DocumentSection::new("Figures over all hosts");
    if found.figures.is_empty() {
        return section;
    }
    let loads = iotax_units::distinct(
        found.figures.iter().map(|one| (one.key.workload.as_str(), one.subject.as_str())),
    );
    match loads.as_slice() {
        [(_, subject)] => section.paragraph(*subject),
        several => {
            section.lines(several.iter().map(|(name, subject)| format!("{name}: {subject}")))
        }
    }
    section.table(DocumentTable {
        fit: TableFit::UpToRank(1),
        ..DocumentTable::from(table::figure_table(found))
    });
    section.note(sheet::LEGEND);
    section
}

/// Returns the matrix of all hosts if they are few, otherwise of the outliers.
fn hosts_that_differ(found: &FleetFindings) -> DocumentSection {
    let is_few = found.hosts.len() <= FEW_HOSTS;
    let heading = if is_few { "Host by host" } else { "Hosts that differ" };
    let mut section = DocumentSection::new(heading);
    let shown: Vec<&ComparedHost> = match is_few {
        true => found.hosts.iter().collect(),
        false => found.hosts.iter().filter(|host| host.is_outlier()).take(SHOWN_OUTLIERS).collect(),
    };
    if !shown.is_empty() {
        section.paragraph(sheet::outlier_count(found));
        section.table(matrix_table(found, &shown));
        section.note(sheet::MATRIX_LEGEND);
        section.fold("values", |inner| inner.table(table::value_table(found, &shown)));
        let uncompared = sheet::uncompared_lines(found);
        section.lines(uncompared.into_iter().map(|one| format!("not compared: {one}")));
    }
    section
}

fn matrix_table(found: &FleetFindings, hosts: &[&ComparedHost]) -> DocumentTable {
    let (table, shades) = table::host_matrix(found, hosts);
    DocumentTable { shades: Some(shades), ..DocumentTable::from(table).in_parts() }
}

/// Returns the bins of each figure if there are many hosts: text has a line, a page a drawing.
fn distribution_section(found: &FleetFindings, audience: SectionAudience) -> DocumentSection {
    let mut section = DocumentSection::new("Distribution over hosts").for_audience(audience);
    if found.hosts.len() <= FEW_HOSTS {
        return section;
    }
    let binned = found.figures.iter().filter_map(|one| Some((one, one.bins.as_ref()?)));
    let look = TerminalLook { ascii: true, ..TerminalLook::default() };
    match audience {
        SectionAudience::Page => {
            for (figure, bins) in binned {
                section.chart(draw_histogram(&sheet::figure_name(found, figure), bins));
            }
        }
        _ => section.lines(binned.map(|(figure, bins)| {
            // Roots, so that single hosts can be seen beside hundreds.
            let counts = bins.counts.iter().map(|count| (*count as f64).sqrt());
            let (line, ends) = (look.sparkline(counts), sheet::bin_ends(bins));
            format!("{line}  {ends}  {}", sheet::figure_name(found, figure))
        })),
    }
    if !section.blocks.is_empty() {
        section.note(
            "hosts by their deviation from the others; the first and the last bin also hold what \
             lies beyond",
        );
    }
    section
}

fn missing_section(found: &FleetFindings) -> DocumentSection {
    let mut section = DocumentSection::new("Hosts without a result");
    if found.missing.is_empty() {
        return section;
    }
    section.paragraph(format!(
        "missing from every figure: {} of {} hosts",
        found.missing.len(),
        found.asked
    ));
    section.lines(sheet::missing_lines(found));
    let mut all = DocumentSection::new("").for_audience(SectionAudience::Page);
    all.table(table::missing_table(found));
    section.fold("all of them", |inner| inner.blocks.append(&mut all.blocks));
    section
}

fn cause_section(found: &FleetFindings) -> DocumentSection {
    let mut section = DocumentSection::new("Likely causes");
    if !found.causes.is_empty() {
        section.paragraph(
            "facts that outliers have and nearly no other host; whether they are the cause was not \
             tested",
        );
        let kept: Vec<usize> = (0..found.causes.len().min(SHOWN_FACTS)).collect();
        section.table(table::cause_table(found).of_rows(&kept));
    }
    if !found.facts.is_empty() {
        let kept: Vec<usize> = (0..found.facts.len().min(SHOWN_FACTS)).collect();
        section.fold("Facts in which hosts differ", |inner| {
            inner.table(table::fact_table(found).of_rows(&kept));
        });
    }
    if found.causes.is_empty() {
        section.heading = "Facts".into();
    }
    section
}

fn drift_section(found: &FleetFindings, drift: &FleetDrift) -> DocumentSection {
    let mut section = DocumentSection::new(format!("Since fleet {}", drift.earlier));
    section.paragraph(drift.sentence.clone());
    let changed: Vec<(&FigureDrift, &ChangedHost)> = drift
        .figures
        .iter()
        .flat_map(|figure| figure.changed.iter().map(move |one| (figure, one)))
        .take(SHOWN_CHANGES)
        .collect();
    if !changed.is_empty() {
        section.table(table::changed_table(&changed));
    }
    if !drift.figures.is_empty() {
        section.table(table::drift_table(found, &drift.figures));
    }
    section.lines(drift.not_compared.iter().map(|one| format!("not compared: {one}")));
    section
}

/// Returns the matrix of all hosts of a large fleet, folded and on the page only.
fn all_hosts_section(found: &FleetFindings) -> DocumentSection {
    let mut section = DocumentSection::new("All hosts").for_audience(SectionAudience::Page);
    if found.hosts.len() <= FEW_HOSTS {
        return section;
    }
    section.folded = Some(Vec::new());
    let shown: Vec<&ComparedHost> = found.hosts.iter().take(PAGE_HOSTS).collect();
    if shown.len() < found.hosts.len() {
        let all = found.hosts.len();
        section.note(format!("the first {PAGE_HOSTS} of {all} hosts; CSV and Parquet have all"));
    }
    section.table(matrix_table(found, &shown));
    section
}

fn verdicts_of_outliers(found: &FleetFindings) -> DocumentSection {
    let mut section = DocumentSection::new("Verdicts on hosts that differ");
    let outliers = found.hosts.iter().filter(|host| host.is_outlier());
    let lines: Vec<String> = outliers
        .take(8)
        .flat_map(|host| host.verdicts.iter().map(move |one| format!("{}: {one}", host.host)))
        .collect();
    if !lines.is_empty() {
        section.fold("from their own runs", |inner| inner.lines(lines));
    }
    section
}
