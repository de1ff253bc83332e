//! The figure that a choice means in a run: measured, published, rated, or a share of what the
//! drives allow.

use super::ArticleRun;
use crate::compare::ratio;
use crate::compare::rows;
use crate::findings::article::CellOrigin;
use crate::findings::{MeasuredFigure, SampleUnit, WorkloadFindings};
use crate::gather::reading::WorkloadView;
use crate::gather::subject;
use crate::gather::subject::Quantity;
use crate::results::ratios;
use iotax_load::Job;
use iotax_model::scenario::article::{CellChoice, ShownFigure, TableMetric};
use iotax_model::scenario::{DriveRatings, Metric};
use iotax_probe::ProbeUnit;

/// A figure and where it is from.
pub struct ChosenFigure<'a> {
    pub figure: MeasuredFigure,
    pub origin: CellOrigin,
    /// Measured figure of a stack in a metric; `None` for others.
    pub measured: Option<MeasuredSpot<'a>>,
    /// Text of a figure that is written as it was printed.
    pub printed: Option<&'a str>,
}

#[derive(Clone, Copy)]
pub struct MeasuredSpot<'a> {
    pub reading: &'a WorkloadView<'a>,
    pub stack: usize,
    pub metric: Metric,
}

impl<'a> ChosenFigure<'a> {
    pub fn missing(reason: impl ToString) -> ChosenFigure<'a> {
        let figure = MeasuredFigure::missing(reason);
        ChosenFigure { figure, origin: CellOrigin::Given, measured: None, printed: None }
    }

    fn given(figure: MeasuredFigure, printed: Option<&'a str>) -> ChosenFigure<'a> {
        ChosenFigure { figure, origin: CellOrigin::Given, measured: None, printed }
    }
}

/// Returns the figure that a choice means in one run, or why there is none.
pub fn figure_of_run<'a>(one: &ArticleRun<'a>, choice: &CellChoice) -> ChosenFigure<'a> {
    let scenario = &one.run.start.scenario;
    let named = |load: &WorkloadFindings| choice.load.as_ref().is_none_or(|it| load.name == *it);
    let Some(load) = one.workloads.iter().position(named) else {
        return ChosenFigure::missing("this load was not measured");
    };
    let reading = &one.readings[load];
    let usual = Metric::Rate {
        bytes: subject::rate_unit(reading.workload) == "B/s",
        durable: false,
        way: None,
    };
    let metric = choice.metric.unwrap_or(TableMetric::Figure(usual));
    let metric = match metric {
        TableMetric::Figure(metric) => match metric.on_workload(reading.workload) {
            Ok(metric) => TableMetric::Figure(metric),
            Err(fault) => return ChosenFigure::missing(fault.why),
        },
        other => other,
    };
    if choice.show == Some(ShownFigure::Rated) {
        return rated(one, reading, metric);
    }
    let stack = match choice.stack_among(scenario.stacks.iter()) {
        Ok(stack) => stack,
        Err(fault) => return ChosenFigure::missing(fault.why),
    };
    match (choice.show, metric) {
        (Some(ShownFigure::Published), TableMetric::Figure(metric)) => {
            published(one, reading, stack, metric)
        }
        (Some(ShownFigure::Efficiency), _) => efficiency(&one.workloads[load], reading, stack),
        _ => measured(&one.workloads[load], reading, stack, metric, choice),
    }
}

fn measured<'a>(
    found: &WorkloadFindings,
    reading: &'a WorkloadView<'a>,
    stack: usize,
    metric: TableMetric,
    choice: &CellChoice,
) -> ChosenFigure<'a> {
    let part = match (&choice.guest, &choice.drive) {
        (Some(guest), _) => Some(of_guest(found, reading.name(stack), guest, metric)),
        (None, Some(drive)) => Some(of_drive(found, stack, drive, metric)),
        (None, None) => None,
    };
    let whole = match metric {
        TableMetric::Figure(metric) if part.is_none() => {
            Some(MeasuredSpot { reading, stack, metric })
        }
        _ => None,
    };
    let figure = part.unwrap_or_else(|| of_stack(found, reading, stack, metric));
    ChosenFigure { figure, origin: CellOrigin::Measured, measured: whole, printed: None }
}

fn of_stack(
    found: &WorkloadFindings,
    reading: &WorkloadView,
    stack: usize,
    metric: TableMetric,
) -> MeasuredFigure {
    match metric {
        TableMetric::Figure(metric) => {
            let is_time = matches!(reading.workload.probe_unit(), Some(ProbeUnit::Time(_)));
            match metric {
                Metric::Latency { percentile: None, .. } if is_time => {
                    rows::mean_time(reading, stack)
                }
                _ => ratios::metric_figure(reading, metric, stack),
            }
        }
        TableMetric::Cpu => match reading.cpu_lacking([stack, stack]) {
            Some(reason) => MeasuredFigure::missing(reason),
            None => rows::figure_of_rounds(reading, stack, "1", |round| {
                let seconds = ratio::time(round, Quantity::Acknowledged).ok()?;
                Some((seconds, round.cpu_ns? / 1e9))
            }),
        },
        TableMetric::CpuPerIo => found.rows[stack].cpu.clone(),
        TableMetric::IopsPerCore => rows::iops_per_core(&found.rows[stack]),
    }
}

fn of_guest(
    found: &WorkloadFindings,
    stack: &str,
    guest: &str,
    metric: TableMetric,
) -> MeasuredFigure {
    let crowd = found.crowds.iter().find(|crowd| crowd.stack == stack);
    let row = crowd.and_then(|crowd| crowd.rows.iter().find(|row| row.place == guest));
    let Some(row) = row else { return MeasuredFigure::missing("no such guest loaded it") };
    let none = || MeasuredFigure::missing(format!("{metric} of single guests is not known"));
    match metric.to_string().as_str() {
        "iops" => row.iops.clone(),
        "throughput" => row.bytes_per_s.clone(),
        "read iops" => row.read_iops.clone().unwrap_or_else(none),
        "write iops" => row.write_iops.clone().unwrap_or_else(none),
        "read p99" | "write p99" => row.p99.clone(),
        _ => none(),
    }
}

fn of_drive(
    found: &WorkloadFindings,
    stack: usize,
    drive: &str,
    metric: TableMetric,
) -> MeasuredFigure {
    let row = found.rows[stack].targets.iter().find(|row| row.path == drive);
    match (row, metric.to_string().as_str()) {
        (None, _) => MeasuredFigure::missing("the load had no such target by itself"),
        (Some(row), "iops") => row.iops.clone(),
        (Some(_), _) => MeasuredFigure::missing(format!("{metric} of single drives is not known")),
    }
}

fn published<'a>(
    one: &ArticleRun<'a>,
    reading: &WorkloadView,
    stack: usize,
    metric: Metric,
) -> ChosenFigure<'a> {
    let stack = reading.name(stack);
    let figures = one.run.start.scenario.published.iter().flat_map(|all| &all.figures);
    let mut ours = figures.filter(|figure| {
        figure.workload == reading.workload.name && figure.stack == stack && figure.metric == metric
    });
    match ours.next() {
        None => ChosenFigure::missing("not published"),
        Some(found) => {
            let unit = if found.share { "1" } else { metric.unit() };
            // A bound has no value to write.
            let is_bound = found.is_bound() || found.share;
            ChosenFigure::given(
                given_figure(found.value, unit, SampleUnit::PublishedFigures),
                is_bound.then_some(found.printed.as_str()),
            )
        }
    }
}

fn rated<'a>(one: &ArticleRun, reading: &WorkloadView, metric: TableMetric) -> ChosenFigure<'a> {
    let rating = one.run.start.scenario.rating.as_ref();
    let named = match (reading.workload.jobs.as_slice(), metric) {
        ([job], TableMetric::Figure(metric)) => rating_of(job, metric),
        _ => None,
    };
    let value = named.zip(rating).and_then(|(named, rating)| rating.rated_value(named));
    match value {
        Some(value) => {
            ChosenFigure::given(given_figure(value, metric.base_unit(), SampleUnit::Ratings), None)
        }
        None => ChosenFigure::missing("[rating] has no figure for this load and metric"),
    }
}

/// Returns the rating that a data sheet has for a load in this metric.
fn rating_of(job: &Job, metric: Metric) -> Option<DriveRatings> {
    let is_random = job.percentage_random > 0 && job.rw.random();
    let (is_read, is_mixed) = (!job.rw.writes(), job.rw.reads() && job.rw.writes());
    match metric {
        _ if is_mixed => None,
        Metric::Rate { bytes: false, .. } if is_random => {
            Some(if is_read { DriveRatings::RandreadIops } else { DriveRatings::RandwriteIops })
        }
        Metric::Rate { bytes: true, .. } if !is_random => {
            Some(if is_read { DriveRatings::Read } else { DriveRatings::Write })
        }
        Metric::Latency { percentile: None, .. } if is_random => Some(match is_read {
            true => DriveRatings::RandreadLatency,
            false => DriveRatings::RandwriteLatency,
        }),
        _ => None,
    }
}

pub fn given_figure(value: f64, unit: &'static str, of: SampleUnit) -> MeasuredFigure {
    MeasuredFigure::bare(value, unit, (1, of), "printed figures have no interval")
}

fn efficiency<'a>(
    found: &WorkloadFindings,
    reading: &WorkloadView,
    stack: usize,
) -> ChosenFigure<'a> {
    let name = reading.name(stack);
    match found.efficiency.iter().find(|one| one.stack == name) {
        None => ChosenFigure::missing("what the drives allow is not known"),
        Some(one) => ChosenFigure {
            figure: one.of_all.as_ref().unwrap_or(&one.share).clone(),
            origin: CellOrigin::Measured,
            measured: None,
            printed: None,
        },
    }
}
