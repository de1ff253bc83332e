//! The section of one load: verdicts, the bill, figures and latencies.

use super::{DocumentSection, DocumentTable, TableFit};
use crate::html::forest;
use crate::number::SPREADS;
use crate::table::{TextTable, capital};
use crate::{crowd, efficiency, generator, grouped, probes, sheet, states, trace, verdicts};
use iotax_analysis::Findings;
use iotax_analysis::findings::states::ArrayStates;
use iotax_analysis::findings::{Bill, WorkloadFindings};
use iotax_chart::{ChartQuantity, bill_chart, latency_chart, overtime_chart};

impl DocumentSection {
    /// Returns the section of a load; the marks of its figures are explained if it is the first.
    pub(super) fn of_workload(
        findings: &Findings,
        workload: &WorkloadFindings,
        is_first: bool,
    ) -> DocumentSection {
        let mut section = DocumentSection::new(workload.subject.clone());
        section.note(sheet::effort(workload));
        if sheet::is_empty(workload) {
            section.paragraph(sheet::EMPTY);
            return section;
        }
        if let Some(found) = &workload.trace {
            section.heading("Rate over time");
            section.table(trace::level_table(found));
            section.note(trace::NOTE);
        }
        let zone = 100.0 * findings.run.zone;
        let (absent, said): (Vec<_>, Vec<_>) = verdicts::workload_sentences(workload)
            .into_iter()
            .partition(|sentence| sentence.class == "absent");
        section.verdicts(said);
        if let Some(bill) = sheet::own_bill(findings, workload) {
            section.heading("The bill: each layer against the stack below it; points add up");
            section.bill(bill, &workload.subject);
        }
        section.chart(forest::rates(workload, zone));
        section.chart(forest::charges(workload, zone));
        if let Some(table) = verdicts::three_figures_table(workload) {
            section.heading("Comparison");
            section.three_figures(table);
            section.note(THREE_FIGURES);
        }
        workload.arrays.iter().for_each(|array| section.states(array, zone));
        section.lines(workload.clusters.iter().map(|one| one.sentence.clone()));
        section.figures(workload, is_first);
        section.latencies(workload);
        section.over_time(findings, workload);
        section.others(findings, workload);
        section.lines(workload.round_trips.iter().chain(&workload.on_baseline).cloned());
        section.lines(absent.into_iter().map(|sentence| sentence.text));
        section.lines(sheet::debts(workload));
        section.lines(sheet::remarks(workload));
        let starts = workload.design.iter().filter_map(|design| design.starts_in_words());
        section.lines(workload.design.iter().map(|one| one.sentence.clone()).chain(starts));
        section
    }

    /// Adds a bill as a chart and a table, with the reasons for lines without a verdict.
    pub(super) fn bill(&mut self, bill: &Bill, subject: &str) {
        let chart = bill_chart(bill, subject, ChartQuantity::Rate);
        chart.into_iter().for_each(|chart| self.chart(chart.to_page()));
        let table = DocumentTable::from(sheet::bill(bill));
        self.table(DocumentTable { total: Some(sheet::total_of(bill)), ..table });
        self.lines(sheet::reserves(bill));
    }

    /// Adds the table of rates, latencies and CPU times. Sentences about many stacks leave their
    /// figures to the table, which then drops none of the three, however narrow it is.
    fn three_figures(&mut self, table: TextTable) {
        const FIGURES: u8 = 1;
        let is_long = table.row_count() >= grouped::FEW;
        let fit = if is_long { TableFit::UpToRank(FIGURES) } else { TableFit::Ranked };
        self.table(DocumentTable { fit, ..table.into() });
    }

    fn states(&mut self, array: &ArrayStates, zone: f64) {
        self.heading(format!("{} in its states", array.stack));
        self.paragraph(array.sentence.clone());
        self.verdicts(states::state_sentences(array));
        self.chart(forest::states(array, zone));
        if let Some(table) = states::state_table(array) {
            self.three_figures(table);
        }
    }

    fn figures(&mut self, workload: &WorkloadFindings, is_first: bool) {
        self.heading("Figures");
        self.table(sheet::stacks(workload));
        if is_first {
            self.note(format!("* baseline; {SPREADS}; {FIGURES}"));
        }
        for (title, table, note) in sheet::apart_tables(workload) {
            self.heading(capital(&title));
            self.table(table);
            note.into_iter().for_each(|note| self.note(note));
        }
        for one in probes::sections(workload) {
            self.heading(one.title);
            self.table(one.table);
            self.note(one.legend);
        }
    }

    fn latencies(&mut self, workload: &WorkloadFindings) {
        self.headed_chart("Latency by percentile", latency_chart(workload));
        if let Some(table) = sheet::latency_ratios(&workload.comparisons) {
            self.heading(sheet::LATENCY_CHANGES);
            self.table(table);
            self.lines(verdicts::tails(workload));
        }
        if let Some(matched) = &workload.matched {
            self.heading(format!("Latency: {}", verdicts::matched_title(matched)));
            self.table(verdicts::matched_table(matched));
        }
    }

    /// Adds the rates over time, unless there are too many loads for a chart of each.
    fn over_time(&mut self, findings: &Findings, workload: &WorkloadFindings) {
        let most_points = MOST_POINTS / findings.workloads.len().max(1);
        if workload.sweep.is_none() && most_points >= LEAST_POINTS {
            let chart = overtime_chart(workload, 100.0 * findings.run.zone, most_points);
            self.headed_chart("Over time", chart);
        }
    }

    /// Adds guests at once, disks one by one, the drives' ceilings and the generator's own part.
    fn others(&mut self, findings: &Findings, workload: &WorkloadFindings) {
        if let Some(table) = crowd::crowd_table(workload) {
            self.heading("Guests at once");
            self.table(table);
            self.lines(crowd::crowd_sentences(workload));
            for (title, table) in workload.crowds.iter().map(|one| crowd::places(one, false)) {
                self.fold(capital(&title), |inner| inner.table(table));
            }
        }
        if let Some(table) = sheet::targets(workload) {
            self.fold(sheet::TARGETS, |inner| inner.table(table));
        }
        if let Some(table) = efficiency::efficiency_table(workload) {
            self.heading(efficiency::TITLE);
            self.table(table);
            self.note(efficiency::legend(workload));
            self.lines(efficiency::efficiency_sentences(workload));
        }
        if let Some(table) = generator::generator_table(workload) {
            let fill = |inner: &mut DocumentSection| {
                inner.table(table);
                inner.note(generator::LEGEND);
            };
            match generator::is_doubted(findings) {
                true => {
                    self.heading(capital(generator::TITLE));
                    fill(self);
                }
                false => self.fold(capital(generator::TITLE), fill),
            }
        }
    }
}

/// Most points of all charts over time, which bounds the size of the page.
const MOST_POINTS: usize = 3000;
/// Fewer points than these show no course.
const LEAST_POINTS: usize = 100;

const FIGURES: &str = "latencies from merged histograms; CPU/IO: user and system time of the \
    whole place, with its host's if that is a guest; n: whole rounds";

const THREE_FIGURES: &str = "changes against the baseline; intervals of rates hold for all of \
    them in the run together, as do those of latencies and those of CPU times; latencies are \
    under the same offered load; added CPU/IO is that of host and guest together";
