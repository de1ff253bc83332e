//! Tables that a scenario asks for: figures of the stacks under each load, each with its share of
//! one of the stacks, as this run found it and as it was published.

use crate::ceilings::masking;
use crate::compare::directions;
use crate::compare::ratio::RateComparison;
use crate::compare::rows;
use crate::compare::tails;
use crate::findings::ratios::{RatioCell, RatioColumn, RatioRow, RatioTable};
use crate::findings::{Interval, MeasuredFigure, SampleUnit, WorkloadFindings};
use crate::gather::pairing::RoundBasis;
use crate::gather::reading::WorkloadView;
use crate::gather::subject;
use crate::gather::subject::Quantity;
use iotax_model::scenario::{Metric, PublishedFigure, TableGroup, TableSpec};
use iotax_stats::Verdict;
use iotax_store::RunData;
use iotax_units::distinct;

pub fn tables(
    run: &RunData,
    readings: &[WorkloadView],
    workloads: &[WorkloadFindings],
) -> Vec<RatioTable> {
    let Some(spec) = &run.start.scenario.table else { return Vec::new() };
    spec.groups
        .iter()
        .map(|group| TableGroupCells { run, readings, workloads, spec, group }.ratio_table())
        .collect()
}

struct TableGroupCells<'a> {
    run: &'a RunData,
    readings: &'a [WorkloadView<'a>],
    workloads: &'a [WorkloadFindings],
    spec: &'a TableSpec,
    group: &'a TableGroup,
}

impl TableGroupCells<'_> {
    fn ratio_table(&self) -> RatioTable {
        let columns: Vec<RatioColumn> =
            self.spec.columns.iter().enumerate().map(|(at, head)| self.column(at, head)).collect();
        let emulated = distinct(columns.iter().filter_map(|column| column.emulated.clone()));
        RatioTable {
            name: self.group.name.clone(),
            percent_of: self.spec.percent_of.map(|at| self.spec.columns[at].clone()),
            rows: self.rows().iter().flat_map(|name| self.rows_of(name)).collect(),
            columns,
            emulated,
        }
    }

    fn rows(&self) -> &[String] {
        self.group.rows.as_ref().unwrap_or(&self.spec.rows)
    }

    fn column(&self, at: usize, head: &str) -> RatioColumn {
        let stack = self.column_stack(at);
        let emulated = stack.and_then(|stack| self.readings.first()?.emulated(stack));
        RatioColumn { head: head.to_owned(), stack: self.group.stacks[at].clone(), emulated }
    }

    fn column_stack(&self, column: usize) -> Option<usize> {
        let name = self.group.stacks[column].as_ref()?;
        self.run.start.scenario.stacks.iter().position(|stack| stack.name == *name)
    }

    /// Returns the rows of one load; a mix also has rows for its reads and writes.
    fn rows_of(&self, name: &str) -> Vec<RatioRow> {
        let Some(at) = self.workloads.iter().position(|workload| workload.name == name) else {
            return Vec::new();
        };
        let reading = &self.readings[at];
        let metric = self.group.metric.or(self.spec.metric).unwrap_or(Metric::Rate {
            bytes: subject::rate_unit(reading.workload) == "B/s",
            durable: false,
            way: None,
        });
        let row = |direction, metric: Metric| {
            let cells =
                (0..self.spec.columns.len()).map(|column| self.cell(reading, metric, column));
            let (workload, cells) = (name.to_owned(), cells.collect());
            RatioRow { workload, metric: metric.to_string(), direction, cells }
        };
        let directions = directions::of_whole(reading, metric);
        let directions = directions.into_iter().map(|(way, metric)| row(Some(way.word()), metric));
        std::iter::once(row(None, metric)).chain(directions).collect()
    }

    fn cell(&self, reading: &WorkloadView, metric: Metric, column: usize) -> RatioCell {
        let absent = || MeasuredFigure::missing("the table has no such stack");
        let stack = self.column_stack(column);
        let value = stack.map_or_else(absent, |at| metric_figure(reading, metric, at));
        let base = self
            .spec
            .percent_of
            .filter(|base| *base != column)
            .and_then(|base| self.column_stack(base));
        let Some((base, at)) = base.zip(stack) else {
            return RatioCell { value, share: None, verdict: None, masked: None, published: None };
        };
        let MetricShare { share, verdict, masked } = metric_share(reading, metric, [base, at]);
        let published = self.published(&reading.workload.name, metric, [base, at]);
        RatioCell { value, share: Some(share), verdict, masked, published }
    }

    /// Returns the share from two printed figures. If the rate was not printed in the unit of
    /// `metric`, it uses the rates in the other unit, bytes or I/Os.
    fn published(
        &self,
        workload: &str,
        metric: Metric,
        pair: [usize; 2],
    ) -> Option<MeasuredFigure> {
        let scenario = &self.run.start.scenario;
        let figures = &scenario.published.as_ref()?.figures;
        let of = |at: usize, metric: Metric| {
            let stack = &scenario.stacks[at].name;
            let ours = |one: &&PublishedFigure| {
                one.workload == workload
                    && one.stack == *stack
                    && one.metric == metric
                    && !one.share
                    && !one.is_bound()
            };
            figures.iter().find(ours).map(|one| one.value)
        };
        let other = match metric {
            Metric::Rate { bytes, durable, way } => Metric::Rate { bytes: !bytes, durable, way },
            latency => latency,
        };
        let [base, value] = [metric, other]
            .into_iter()
            .find_map(|metric| Some([of(pair[0], metric)?, of(pair[1], metric)?]))?;
        let interval =
            Interval::Missing { missing: "published figures have no interval".to_owned() };
        Some(MeasuredFigure::known_value(
            value / base,
            "1",
            (1, SampleUnit::PublishedFigures),
            interval,
        ))
    }
}

/// Returns the figure of a stack in this metric.
pub fn metric_figure(reading: &WorkloadView, metric: Metric, at: usize) -> MeasuredFigure {
    let quantity = if metric.is_durable() { Quantity::Durable } else { Quantity::Acknowledged };
    let way = directions::of_metric(reading, metric);
    match metric {
        Metric::Rate { .. } => rows::stack_rate(reading, at, metric.unit(), quantity, way),
        Metric::Latency { .. } if reading.sides[at].rounds.is_empty() => reading.absence(at),
        Metric::Latency { .. } => {
            let batches = reading.sides[at].of_way(directions::of_latency(reading, metric));
            rows::latency_at(batches, metric.quantile())
        }
    }
}

/// The figure of one stack over that of another.
pub struct MetricShare {
    pub share: MeasuredFigure,
    /// Conclusion from the share by itself; `None` for latencies.
    pub verdict: Option<Verdict>,
    /// Limit that both sides reached.
    pub masked: Option<String>,
}

/// Returns the figure of stack `pair[1]` over that of stack `pair[0]`.
pub fn metric_share(reading: &WorkloadView, metric: Metric, pair: [usize; 2]) -> MetricShare {
    let quantity = if metric.is_durable() { Quantity::Durable } else { Quantity::Acknowledged };
    let alone = |share| MetricShare { share, verdict: None, masked: None };
    if let Some(reason) = reading.incomparable(pair) {
        return alone(MeasuredFigure::missing(reason));
    }
    if let Metric::Latency { .. } = metric {
        let way = directions::of_latency(reading, metric);
        return alone(tails::latency_ratio(reading, pair, way, metric.quantile()));
    }
    let paired = reading.pair(&reading.sides[pair[0]], &reading.sides[pair[1]]);
    let basis = RoundBasis { quantity, ..reading.basis() };
    let found = RateComparison::estimate(reading, pair, &paired, basis);
    let is_of_bytes = metric.unit() == "B/s";
    let (share, verdict) = match directions::of_metric(reading, metric) {
        None if is_of_bytes == basis.by_bytes => (found.rate_ratio_figure(), found.verdict),
        // The same ratio unless I/Os differ in size.
        None => {
            let taken =
                directions::amount_ratio(reading, pair, &paired, None, quantity, is_of_bytes);
            (taken.ratio_figure(), found.verdict)
        }
        Some(way) => {
            let taken = directions::direction_ratio(reading, pair, &paired, way, quantity);
            let verdict = directions::conclude_direction(reading, &taken, Some(&found.verdict));
            (taken.ratio_figure(), verdict)
        }
    };
    let verdict = reading.writes.verdict(verdict, quantity, pair);
    let masked = masking::of_pair(reading, pair, &verdict).map(|masked| masked.words);
    MetricShare { share, verdict: Some(verdict), masked }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{findings, twin};

    #[test]
    fn shares_are_those_of_the_column_whatever_the_baseline_is() {
        let found = findings(&twin::tables());
        let [iser, nvmeof] = found.tables.as_slice() else { panic!("{:?}", found.tables) };
        // Latencies of 90 and 300 us, and of 80 us on both.
        let near = |table: &RatioTable, column: usize, truth: f64| {
            table.rows.iter().all(|row| {
                let share = row.cells[column].share.as_ref().unwrap();
                share.bounds().is_some() && (share.value().unwrap() - truth).abs() < 0.01
            })
        };
        assert!(near(iser, 2, 0.3) && near(nvmeof, 1, 1.0), "{:?}", found.tables);
        assert!(
            iser.rows.iter().all(|row| row.cells[0].share.is_none()),
            "the column itself has none"
        );
        let absent = &nvmeof.rows[0].cells[2];
        assert!(absent.share.is_none() && absent.value.value().is_none());
        let published = iser.rows[0].cells[1].published.as_ref().unwrap().value().unwrap();
        assert!((published - 124_615.4 / 131_652.9).abs() < 1e-9);
        assert!(nvmeof.rows[0].cells[1].published.is_none());
    }

    #[test]
    fn a_table_of_latencies_has_shares_of_latencies_and_a_group_may_show_something_else() {
        let mut run = twin::tables();
        let table = run.start.scenario.table.as_mut().unwrap();
        table.metric = Some(Metric::Latency { way: None, percentile: Some(90.0) });
        table.groups[1].metric = Some(Metric::Rate { bytes: false, durable: false, way: None });
        let found = findings(&run);
        let [iser, nvmeof] = found.tables.as_slice() else { panic!("{:?}", found.tables) };
        assert_eq!([iser, nvmeof].map(|table| table.rows[0].metric.as_str()), ["p90", "iops"]);
        let cell = &iser.rows[0].cells[2];
        let (value, share) = (cell.value.clone(), cell.share.as_ref().unwrap());
        assert!(matches!(value, MeasuredFigure::Known { unit: "ns", .. }), "{value:?}");
        let base = iser.rows[0].cells[0].value.value().unwrap();
        assert!((share.value().unwrap() - value.value().unwrap() / base).abs() < 0.05, "{share:?}");
        assert!(share.value().unwrap() > 2.0 && cell.is_resolved(), "300 us against 90 us");
        assert!(matches!(nvmeof.rows[0].cells[0].value, MeasuredFigure::Known { unit: "1/s", .. }));
    }

    #[test]
    fn a_mix_has_a_row_of_its_reads_and_one_of_its_writes() {
        let mut run = twin::mixed();
        let stacks: Vec<Option<String>> =
            run.start.scenario.stacks.iter().map(|stack| Some(stack.name.clone())).collect();
        let table = |metric: Option<Metric>| {
            Some(Box::new(TableSpec {
                columns: stacks.iter().flatten().cloned().collect(),
                percent_of: Some(0),
                rows: vec![run.start.scenario.workloads[0].name.clone()],
                metric,
                groups: vec![TableGroup {
                    name: None,
                    metric: None,
                    rows: None,
                    stacks: stacks.clone(),
                }],
            }))
        };
        let [whole, durable, reads] = [
            table(None),
            table(Some(Metric::Rate { bytes: true, durable: true, way: None })),
            table(Some("read iops".to_owned().try_into().unwrap())),
        ];
        let mut rows = |table: Option<Box<TableSpec>>| {
            run.start.scenario.table = table;
            findings(&run).tables.remove(0).rows
        };
        let of = |rows: &[RatioRow]| -> Vec<(String, Option<&str>)> {
            rows.iter().map(|row| (row.metric.clone(), row.direction)).collect()
        };
        let whole = rows(whole);
        let named = |text: &str, direction| (text.to_owned(), direction);
        assert_eq!(
            of(&whole),
            [
                named("iops", None),
                named("read iops", Some("read")),
                named("write iops", Some("write"))
            ]
        );
        for column in 0..3 {
            let [all, read, write] =
                [0, 1, 2].map(|row: usize| whole[row].cells[column].value.value().unwrap());
            assert!(((read + write) / all - 1.0).abs() < 1e-9, "{read} + {write} is not {all}");
        }
        // The file system makes a tenth less reads and a tenth more writes of the I/Os.
        let [all, read, write] = [0, 1, 2]
            .map(|row: usize| whole[row].cells[2].share.as_ref().unwrap().value().unwrap());
        assert!(
            (read / all - 0.9).abs() < 0.02 && (write / all - 1.1).abs() < 0.02,
            "{read} {write} {all}"
        );
        assert_eq!(
            of(&rows(durable)),
            [named("durable throughput", None), named("write durable throughput", Some("write"))]
        );
        assert_eq!(of(&rows(reads)), [named("read iops", None)], "what is asked of one direction");
    }

    #[test]
    fn nothing_follows_from_the_share_of_a_limit() {
        let mut run = twin::masked();
        let stacks: Vec<Option<String>> =
            run.start.scenario.stacks.iter().map(|stack| Some(stack.name.clone())).collect();
        run.start.scenario.table = Some(Box::new(TableSpec {
            columns: stacks.iter().flatten().cloned().collect(),
            percent_of: Some(0),
            rows: run
                .start
                .scenario
                .workloads
                .iter()
                .map(|workload| workload.name.clone())
                .collect(),
            metric: None,
            groups: vec![TableGroup { name: None, metric: None, rows: None, stacks }],
        }));
        let found = findings(&run);
        let cell = &found.tables[0].rows[0].cells[1];
        assert!(cell.masked.is_some() && cell.share.as_ref().unwrap().value().is_some());
        assert!(!cell.is_resolved());
    }
}
