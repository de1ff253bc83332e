//! One figure per line, for a spreadsheet: subject, value, unit, interval, n. A missing or failed
//! figure has an empty value and its reason, never a zero.

use super::{PageContext, ReportRenderer};
use iotax_analysis::Findings;
use iotax_analysis::findings::clusters::ClusterFindings;
use iotax_analysis::findings::crowd::Crowd;
use iotax_analysis::findings::drives::DriveFigure;
use iotax_analysis::findings::durability::DurabilityRow;
use iotax_analysis::findings::efficiency::Efficiency;
use iotax_analysis::findings::imported::{
    ImportedComparison, ImportedFigure, ImportedRow, OtherResult,
};
use iotax_analysis::findings::limits::CourseFinding;
use iotax_analysis::findings::published::{Agreement, ClaimFinding, PublishedFinding, RatioBeside};
use iotax_analysis::findings::ratios::RatioTable;
use iotax_analysis::findings::sweep::KneePosition;
use iotax_analysis::findings::sweep::{PointCost, StackCurve, SweepFindings};
use iotax_analysis::findings::verification::VerifiedRow;
use iotax_analysis::findings::{
    Bill, BillLine, Charges, Interval, LatencyFigures, MatchedFindings, MeasuredFigure, Quantity,
    SampleUnit, StackRow, WorkloadFindings, percentile_name,
};
use iotax_stats::Verdict;
use iotax_units::harmless::escape_line;
use std::collections::{HashMap, HashSet};

pub const RENDERER: ReportRenderer = ReportRenderer { name: "csv", endings: &["csv"], render };

const FIRST_COLUMNS: [&str; 14] = [
    "run", "workload", "stack", "against", "metric", "state", "value", "unit", "low", "high", "n",
    "of", "note", "emulated",
];
/// Columns after these: the sweep, and the value of each word that is swept.
const SWEEP_COLUMNS: [&str; 5] = ["sweep", "iodepth", "numjobs", "bs", "rate_iops"];
/// Last columns: the parts of the metric, each a short word to filter by.
const PARTS: [&str; 5] = ["kind", "quantity", "direction", "statistic", "scope"];

#[derive(Clone, Default)]
struct MetricParts {
    /// `value`, `ratio` (over that of `against`), `added` (to that of `against`), `share`,
    /// `of_baseline` (in a bill), `published`, `published ratio`, `published share`, or `beside
    /// published` and `beside published ratio` for the measured counterparts. Those of claims:
    /// `claimed`, `claimed ratio`, `beside claimed`, `beside claimed ratio`.
    kind: &'static str,
    /// Quantity of the figure, such as `iops`, `throughput`, `latency` or `cpu per io`.
    quantity: String,
    /// `read` or `write`; empty for all I/Os.
    direction: String,
    /// Statistic of the figure, such as `mean`, `p50` or `p99`; empty for a rate.
    statistic: String,
    /// Empty for the workload's own load with an interval of its own. Otherwise a short phrase:
    /// `all at once` (the interval holds together with those of all comparisons, or of all reads
    /// and writes), `matched rate`, `bill`, `place NAME`, `slo LEVEL`, `disk PATH on PLACE`, or the
    /// source of what the drives could do.
    scope: String,
}

impl MetricParts {
    fn for_quantity(kind: &'static str, quantity: &str) -> MetricParts {
        MetricParts { kind, quantity: quantity.to_owned(), ..MetricParts::default() }
    }

    /// Splits the name that a scenario gives a metric: `write iops`, `read p99`, `mean`.
    fn from_metric_name(kind: &'static str, metric: &str) -> MetricParts {
        let (way, rest) = match metric.split_once(' ') {
            Some((way @ ("read" | "write"), rest)) => (way, rest),
            _ => ("", metric),
        };
        let is_percentile = rest.strip_prefix('p').is_some_and(|rest| rest.parse::<f64>().is_ok());
        match rest == "mean" || is_percentile {
            true => {
                MetricParts::for_quantity(kind, "latency").with_statistic(rest).with_direction(way)
            }
            false => MetricParts::for_quantity(kind, rest).with_direction(way),
        }
    }

    fn with_direction(self, direction: &str) -> MetricParts {
        MetricParts { direction: direction.to_owned(), ..self }
    }

    fn with_statistic(self, statistic: &str) -> MetricParts {
        MetricParts { statistic: statistic.to_owned(), ..self }
    }

    fn with_scope(self, scope: &str) -> MetricParts {
        MetricParts { scope: scope.to_owned(), ..self }
    }
}

/// Scope of figures at the same offered rate on all stacks.
const MATCHED: &str = "matched rate";
const AT_ONCE: &str = "all at once";

/// Returns the heads of the columns.
pub fn columns() -> Vec<&'static str> {
    FIRST_COLUMNS.into_iter().chain(SWEEP_COLUMNS).chain(PARTS).collect()
}

fn render(findings: &[Findings], _page: &PageContext) -> String {
    let mut table = ::csv::Writer::from_writer(Vec::new());
    let heads = columns().into_iter().map(str::to_owned).collect();
    for record in std::iter::once(heads).chain(figure_records(findings)) {
        // Every record has the same number of fields and goes to memory.
        let _ = table.write_record(record.iter().map(|field| safe_cell(field)));
    }
    // Writing to memory cannot fail, and the input was strings.
    String::from_utf8(table.into_inner().unwrap_or_default()).unwrap_or_default()
}

/// Returns a record for each figure, with a field for each of the [`columns`].
pub fn figure_records(findings: &[Findings]) -> Vec<Vec<String>> {
    let mut lines = CsvLines { run: "", sweep_point: Default::default(), records: Vec::new() };
    for one in findings {
        lines.run = &one.run.id;
        one.workloads.iter().for_each(|workload| lines.add_workload(workload));
        lines.sweep_point = Default::default();
        one.durability.iter().flat_map(|found| &found.rows).for_each(|row| lines.add_trials(row));
        if let Some(found) = &one.limits {
            found.courses.iter().for_each(|course| lines.add_course(&found.stack, course));
        }
        one.verification
            .iter()
            .flat_map(|found| &found.rows)
            .for_each(|row| lines.add_verified_row(row));
        if let Some(found) = &one.imported {
            found.workloads.iter().for_each(|one| {
                one.rows.iter().for_each(|row| lines.add_imported_row(&one.subject, row))
            });
            found.others.iter().for_each(|other| lines.add_other_result(other));
        }
        for joint in &one.joint_bills {
            lines.add_bill(&format!("{} and {}", joint.shallow, joint.deep), &joint.bill);
        }
        one.sweeps.iter().for_each(|sweep| lines.add_sweep(sweep, &one.workloads));
        lines.sweep_point = Default::default();
        one.tables.iter().for_each(|table| lines.add_ratio_table(table));
        one.published
            .iter()
            .flat_map(|found| &found.figures)
            .for_each(|figure| lines.add_published(figure));
        one.workloads.iter().for_each(|load| {
            load.drives.iter().for_each(|drive| lines.add_drive(&load.name, drive));
        });
        let claims = one.published.iter().flat_map(|found| &found.claims);
        claims.for_each(|claim| lines.add_claim(claim));
    }
    lines.records
}

struct CsvLines<'a> {
    run: &'a str,
    sweep_point: [String; SWEEP_COLUMNS.len()],
    records: Vec<Vec<String>>,
}

impl CsvLines<'_> {
    fn add_record(
        &mut self,
        fields: &[String; FIRST_COLUMNS.len()],
        parts: &[String; PARTS.len()],
    ) {
        let fields = fields.iter().chain(&self.sweep_point).chain(parts);
        self.records.push(fields.cloned().collect());
    }

    /// Adds each point's power, its ratios with intervals that hold for all points at once, and the
    /// knee of each stack along each curve.
    fn add_sweep(&mut self, sweep: &SweepFindings, workloads: &[WorkloadFindings]) {
        let places: HashMap<&str, [String; SWEEP_COLUMNS.len()]> = workloads
            .iter()
            .map(|workload| (workload.name.as_str(), sweep_point(workload)))
            .collect();
        for curve in &sweep.curves {
            for stack in &curve.stacks {
                for point in &stack.points {
                    self.sweep_point =
                        places.get(point.workload.as_str()).cloned().unwrap_or_default();
                    let emulated = stack.emulated.as_deref();
                    self.add_figure(
                        [&point.workload, &stack.stack, "", "power"],
                        &point.power,
                        emulated,
                    );
                    point
                        .costs
                        .iter()
                        .for_each(|cost| self.at_once(&point.workload, stack, "", cost));
                    for one in &point.directions {
                        let mut add =
                            |cost| self.at_once(&point.workload, stack, one.direction, cost);
                        one.costs.iter().for_each(&mut add);
                    }
                }
                // Rows of the whole curve have no value for the word along the axis.
                let axis = SWEEP_COLUMNS.iter().position(|word| *word == sweep.axis);
                axis.into_iter().for_each(|axis| self.sweep_point[axis].clear());
                let metric = format!("knee over {}", sweep.axis);
                self.add_figure(
                    ["", &stack.stack, "", &metric],
                    &knee_figure(sweep, stack),
                    stack.emulated.as_deref(),
                );
            }
        }
    }

    fn at_once(&mut self, workload: &str, stack: &StackCurve, direction: &str, cost: &PointCost) {
        let metric = format!("{direction} ratio for all points at once {}", cost.quantity);
        let figure = cost.ratio.with_interval(cost.simultaneous.as_ref());
        let rate = if cost.quantity == "durable" { "durable rate" } else { "rate" };
        let parts =
            MetricParts::for_quantity("ratio", rate).with_direction(direction).with_scope(AT_ONCE);
        self.add_parted_figure(
            [workload, &stack.stack, "", metric.trim()],
            parts,
            &figure,
            stack.emulated.as_deref(),
        );
    }

    fn add_workload(&mut self, workload: &WorkloadFindings) {
        let name = &workload.name;
        self.sweep_point = sweep_point(workload);
        for row in &workload.rows {
            self.add_stack_row(name, row);
        }
        for one in &workload.slo {
            let share = with_caution(&one.share, Some(one.verdict.word().to_owned()));
            let parts = MetricParts::for_quantity("value", "share of I/Os")
                .with_scope(&format!("slo {}", one.level));
            let metric = format!("share of I/Os beyond {}", one.level);
            self.add_parted_figure([name, &one.stack, "", &metric], parts, &share, None);
        }
        let mut waited: HashSet<(&str, &str)> = HashSet::new();
        for one in workload.all_comparisons() {
            let (stack, against) = (&one.stack, &one.against);
            let mut add = |metric: &str, parts: MetricParts, figure: &MeasuredFigure| {
                self.add_parted_figure(
                    [name, stack, against, metric],
                    parts,
                    figure,
                    one.emulated.as_deref(),
                );
            };
            let figure = if workload.rate_unit == "B/s" { "throughput" } else { "iops" };
            let durable = if one.of_write == Some(Quantity::Durable) { "durable " } else { "" };
            let parts = MetricParts::for_quantity("ratio", &format!("{durable}{figure}"));
            let directions =
                one.directions.iter().map(|it| (&it.rate, it.direction, "reads and writes apart"));
            for (rate, way, family) in
                std::iter::once((&one.rate, "", "comparisons")).chain(directions)
            {
                let parts = parts.clone().with_direction(way);
                let metric = format!("ratio of {}", rate.quantity);
                let masked = one.masked.as_ref().map(|masked| masked.words.clone());
                let with_reserve =
                    with_caution(&rate.ratio, masked.or_else(|| unresolved_reason(&rate.verdict)));
                add(&metric, parts.clone(), &with_reserve);
                if rate.simultaneous.is_some() {
                    let metric = format!("{metric}, with all {family} at once");
                    add(&metric, parts.with_scope(AT_ONCE), &rate.at_once());
                }
            }
            // Both quantities of a write share their latencies.
            let is_first = waited.insert((stack, against));
            let latencies = one.latency_ratios.iter().filter(|_| is_first);
            for (direction, q, ratio) in latencies {
                let name = percentile_name(*q);
                let parts = MetricParts::for_quantity("ratio", "latency")
                    .with_direction(direction)
                    .with_statistic(&name);
                add(&format!("ratio of {direction} latency {name}"), parts, ratio);
            }
            for tail in one.tails.iter().filter(|_| is_first) {
                let (way, name) = (tail.direction, percentile_name(tail.quantile));
                let parts = MetricParts::for_quantity("value", "share of I/Os")
                    .with_direction(way)
                    .with_statistic(&name);
                let metric = format!("share of {way}s beyond {against}'s {name}");
                add(&metric, parts, &tail.share);
                let parts = MetricParts::for_quantity("added", "latency")
                    .with_direction(way)
                    .with_statistic(&name);
                add(&format!("added {way} latency {name}"), parts, &tail.added);
            }
        }
        workload.all_charges().for_each(|one| self.add_charges(name, one));
        workload.matched.iter().for_each(|one| self.add_matched(name, one));
        workload.clusters.iter().for_each(|one| self.add_cluster(name, one));
        if let Some(beside) = &workload.beside {
            let base =
                workload.rows.iter().find(|row| row.baseline).map_or("", |row| row.stack.as_str());
            let metric = "rate beside the other stacks over rate alone";
            self.add_figure([name, base, "", metric], &beside.ratio, None);
        }
        workload.crowds.iter().for_each(|one| self.add_crowd(name, one));
        workload.efficiency.iter().for_each(|one| self.add_efficiency(name, one));
        workload.bill.iter().for_each(|bill| self.add_bill(name, bill));
    }

    /// Adds how evenly several places share, how their total compares with fewer places, and each
    /// place.
    fn add_crowd(&mut self, workload: &str, one: &Crowd) {
        let emulated = one.emulated.as_deref();
        let mut add = |against: &str, way: &str, metric: &str, figure: &MeasuredFigure| {
            let parts = MetricParts::for_quantity("value", metric).with_direction(way);
            let of = if way.is_empty() { String::new() } else { format!(", {way}s") };
            let metric = format!("{metric}{of}");
            self.add_parted_figure(
                [workload, &one.stack, against, &metric],
                parts,
                figure,
                emulated,
            );
        };
        add("", "", "slowest of fastest place", &one.spread);
        add("", "", "fairness (Jain) of places", &one.jain);
        add("", "", "iops per busy core", &one.per_core);
        for direction in &one.directions {
            add("", direction.direction, "slowest of fastest place", &direction.spread);
            add("", direction.direction, "fairness (Jain) of places", &direction.jain);
        }
        if let Some(scaling) = &one.scaling {
            let whole = ("", Some(&scaling.ratio), Some(&scaling.efficiency));
            let directions = one.directions.iter();
            let directions =
                directions.map(|it| (it.direction, it.ratio.as_ref(), it.efficiency.as_ref()));
            for (way, ratio, efficiency) in std::iter::once(whole).chain(directions) {
                for (metric, figure) in
                    [("ratio to fewer places", ratio), ("share of linear", efficiency)]
                {
                    let figure = figure.map(|figure| with_caution(figure, scaling.caution.clone()));
                    figure.iter().for_each(|figure| add(&scaling.against, way, metric, figure));
                }
            }
        }
        for row in &one.rows {
            let figures = [
                ("iops", Some(&row.iops)),
                ("throughput", Some(&row.bytes_per_s)),
                ("share of the mean", Some(&row.of_mean)),
                ("p99", Some(&row.p99)),
                ("read iops", row.read_iops.as_ref()),
                ("write iops", row.write_iops.as_ref()),
            ];
            for (metric, figure) in
                figures.into_iter().filter_map(|(metric, one)| Some((metric, one?)))
            {
                let parts = MetricParts::from_metric_name("value", metric);
                let parts = parts.with_scope(&format!("place {}", row.place));
                let metric = format!("{metric} of place {}", row.place);
                self.add_parted_figure(
                    [workload, &one.stack, "", &metric],
                    parts,
                    figure,
                    emulated,
                );
            }
        }
    }

    /// Adds what the drives could do, and how much of it is reached.
    fn add_efficiency(&mut self, workload: &str, one: &Efficiency) {
        let notes = [Some(one.rule.as_str()).filter(|rule| !rule.is_empty()), one.unless];
        let note = notes.into_iter().flatten().collect::<Vec<_>>().join("; ");
        let with_note = |figure: &MeasuredFigure| match note.as_str() {
            "" => figure.clone(),
            note => with_note(&with_caution(figure, Some(note.to_owned())), note),
        };
        let mut add = |way: &str, metric: &str, figure: &MeasuredFigure| {
            let parts = MetricParts::for_quantity("value", metric)
                .with_direction(way)
                .with_scope(one.by.word());
            let of = if way.is_empty() { String::new() } else { format!(" of {way}s alone") };
            let metric = format!("{metric}{of}, {}", one.by.word());
            let about = [workload, &one.stack, one.by.bound_words(), &metric];
            // The arithmetic in words is that of the whole load.
            let figure = if way.is_empty() { with_note(figure) } else { figure.clone() };
            self.add_parted_figure(about, parts, &figure, one.emulated.as_deref());
        };
        let mut all = |way: &str,
                       could: &MeasuredFigure,
                       share: &MeasuredFigure,
                       of_all: Option<&MeasuredFigure>| {
            add(way, "what the drives could do", could);
            add(way, "share of what the drives could do", share);
            of_all.into_iter().for_each(|figure| {
                add(way, "share of all that the drives do by themselves", figure)
            });
        };
        all("", &one.could, &one.share, one.of_all.as_ref());
        for it in &one.directions {
            all(it.direction, &it.could, &it.share, it.of_all.as_ref());
        }
        if let Some(figure) = &one.published {
            add("", "published share of what the drives could do", figure);
        }
    }

    /// Adds the shares of the tables that the scenario requests; the figures themselves are those
    /// of the stacks.
    fn add_ratio_table(&mut self, table: &RatioTable) {
        let base =
            table.columns.iter().find(|column| table.percent_of.as_ref() == Some(&column.head));
        let against = base.and_then(|column| column.stack.clone()).unwrap_or_default();
        for row in &table.rows {
            for (cell, column) in row.cells.iter().zip(&table.columns) {
                let Some(stack) = &column.stack else { continue };
                let mut add =
                    |what: &'static str, figure: &MeasuredFigure, emulated: Option<&str>| {
                        let metric = format!("{what} of {}", row.metric);
                        let parts = MetricParts::from_metric_name(what, &row.metric);
                        self.add_parted_figure(
                            [&row.workload, stack, &against, &metric],
                            parts,
                            figure,
                            emulated,
                        );
                    };
                let weak = cell
                    .masked
                    .clone()
                    .or_else(|| cell.verdict.as_ref().and_then(unresolved_reason));
                if let Some(share) = &cell.share {
                    add("share", &with_caution(share, weak), column.emulated.as_deref());
                }
                cell.published.iter().for_each(|share| add("published share", share, None));
            }
        }
    }

    /// Adds durability trials. Counts of blocks and kills have no interval; the share of kills that
    /// lost something has one.
    fn add_trials(&mut self, row: &DurabilityRow) {
        let mut add = |metric: &str, figure: &MeasuredFigure| {
            let metric = format!("{} killed: {metric}", row.kill);
            self.add_figure(["", &row.stack, "", &metric], figure, row.emulated.as_deref());
        };
        let counts = [
            ("kills", row.kills),
            ("kills with nothing under way", row.idle),
            ("acknowledged writes", row.acknowledged),
            ("blocks", row.found.blocks),
            ("blocks kept", row.found.kept),
            ("blocks with a later write", row.found.later),
            ("blocks lost", row.found.lost),
            ("blocks torn", row.found.torn),
            ("blocks not readable", row.found.unreadable),
            ("blocks under way", row.found.under_way),
            ("blocks under way torn", row.found.under_way_torn),
        ];
        for (metric, count) in counts {
            add(metric, &counted_figure(count, (row.kills, SampleUnit::Kills)));
        }
        add("share of kills with loss", &row.share);
    }

    fn add_course(&mut self, stack: &str, course: &CourseFinding) {
        for (metric, figure) in [("rate", course.rate_figure()), ("burst", course.burst())] {
            self.add_figure([&course.load, stack, "", metric], &figure, None);
        }
    }

    /// Adds an imported row; the uncertainty from rounding is in the note.
    fn add_imported_row(&mut self, subject: &str, row: &ImportedRow) {
        let mut add = |metric: &str, one: &ImportedFigure| {
            let note = one
                .rounded
                .filter(|[low, high]| low < high)
                .map(|[low, high]| format!("printed as {low} to {high}"));
            let figure =
                note.map_or_else(|| one.figure.clone(), |note| with_note(&one.figure, &note));
            let (quantity, statistic) = metric.split_once(' ').unwrap_or((metric, ""));
            let parts = MetricParts::for_quantity("value", quantity).with_statistic(statistic);
            self.add_parted_figure([subject, &row.system, "", metric], parts, &figure, None);
        };
        add("iops", &row.iops);
        add("throughput", &row.bytes_per_s);
        add("latency mean", &row.mean);
        for one in &row.percentiles {
            for (word, ns) in [("", one.least_ns), (" of the slowest run", one.most_ns)] {
                if word.is_empty() || one.least_ns < one.most_ns {
                    let figure =
                        MeasuredFigure::bare(ns, "ns", (row.runs, SampleUnit::Runs), one.from);
                    let statistic = format!("p{}{word}", one.percent);
                    let parts =
                        MetricParts::for_quantity("value", "latency").with_statistic(&statistic);
                    let metric = format!("latency {statistic}");
                    self.add_parted_figure(
                        [subject, &row.system, "", &metric],
                        parts,
                        &figure,
                        None,
                    );
                }
            }
        }
        row.comparison.iter().for_each(|one| self.add_imported_ratio(subject, &row.system, one));
    }

    fn add_imported_ratio(&mut self, subject: &str, system: &str, one: &ImportedComparison) {
        let metric = format!("ratio of {}", one.quantity);
        self.add_parted_figure(
            [subject, system, &one.against, &metric],
            MetricParts::for_quantity("ratio", &one.quantity.to_string()),
            &with_caution(&one.ratio, unresolved_reason(&one.verdict)),
            None,
        );
    }

    /// Adds a result that is not I/O; its unit is as printed.
    fn add_other_result(&mut self, other: &OtherResult) {
        for row in &other.rows {
            let (low, high) = row
                .interval
                .map_or_else(Default::default, |[low, high]| (low.to_string(), high.to_string()));
            let (value, n) = (row.value.to_string(), row.runs.to_string());
            let name = other.name.as_str();
            let fields = [
                self.run,
                "",
                &row.system,
                "",
                name,
                "known",
                &value,
                &other.unit,
                &low,
                &high,
                &n,
                "runs",
                "",
                "",
            ];
            let parts = ["value", name, "", "", ""];
            self.add_record(&fields.map(str::to_owned), &parts.map(str::to_owned));
            row.comparison.iter().for_each(|one| self.add_imported_ratio("", &row.system, one));
        }
    }

    /// Adds the blocks read back and the reads of the load, all of them and the wrong ones by kind.
    fn add_verified_row(&mut self, row: &VerifiedRow) {
        for (what, of, found) in [
            ("read back", SampleUnit::Blocks, &row.back),
            ("read by the load", SampleUnit::Reads, &row.load),
        ] {
            let counts = [
                ("blocks", found.blocks),
                ("blocks wrong", found.wrong()),
                ("blocks lost", found.lost),
                ("blocks misplaced", found.misplaced),
                ("blocks foreign", found.foreign),
                ("blocks torn", found.torn),
                ("blocks not readable", found.unreadable),
                ("blocks not judged", found.unjudged),
            ];
            for (metric, count) in counts {
                let metric = format!("{what}: {metric}");
                let figure = counted_figure(count, (found.blocks, of));
                self.add_figure([&row.workload, &row.stack, "", &metric], &figure, None);
            }
        }
    }

    fn add_cluster(&mut self, workload: &str, one: &ClusterFindings) {
        let figures = [
            ("cluster: readings", one.readings as f64, "1"),
            ("cluster: readings healthy", one.healthy as f64, "1"),
            ("cluster: readings without an answer", one.unknown as f64, "1"),
            ("cluster: slices not healthy", one.slices_not_healthy as f64, "1"),
            ("cluster: largest degraded ratio", one.most_degraded, "1"),
            ("cluster: largest misplaced ratio", one.most_misplaced, "1"),
            ("cluster: largest inactive ratio", one.most_inactive, "1"),
            ("cluster: largest recovery", one.most_recovering, "B/s"),
        ];
        for (metric, value, unit) in figures {
            let n = (one.readings, SampleUnit::Readings);
            let figure = MeasuredFigure::bare(value, unit, n, "as it was reported");
            self.add_figure([workload, &one.stacks.join(", "), "", metric], &figure, None);
        }
    }

    fn add_charges(&mut self, workload: &str, one: &Charges) {
        let mut add = |metric: &str, parts: MetricParts, figure: &MeasuredFigure| {
            self.add_parted_figure(
                [workload, &one.stack, &one.against, metric],
                parts,
                figure,
                one.emulated.as_deref(),
            );
        };
        let latency =
            MetricParts::for_quantity("", "latency").with_statistic("mean").with_scope(MATCHED);
        let directions = one.directions.iter();
        let directions =
            directions.map(|it| (&it.latency, latency.clone().with_direction(it.direction)));
        let whole = [
            (&one.latency, latency.clone()),
            (&one.cpu, MetricParts::for_quantity("", "cpu per io")),
        ];
        for (charge, parts) in whole.into_iter().chain(directions) {
            let reason = charge.verdict.reason().map(|reason| format!("unresolved: {reason}"));
            let both =
                [("ratio", "ratio of", &charge.ratio), ("added", "added:", &charge.difference)];
            for (kind, word, figure) in both {
                let metric = format!("{word} {}", charge.quantity);
                add(
                    &metric,
                    MetricParts { kind, ..parts.clone() },
                    &with_caution(figure, reason.clone()),
                );
            }
        }
        for (direction, q, ratio) in &one.percentiles {
            let name = percentile_name(*q);
            let parts = MetricParts::for_quantity("ratio", "latency")
                .with_direction(direction)
                .with_statistic(&name)
                .with_scope(MATCHED);
            add(&format!("ratio of {direction} latency {name} at the matched rate"), parts, ratio);
        }
    }

    fn add_matched(&mut self, workload: &str, matched: &MatchedFindings) {
        let load = if matched.rate_iops.is_some() { "at the matched rate" } else { "at iodepth 1" };
        for row in &matched.rows {
            let late = (row.kept_up == Some(false)).then(|| "not kept up".to_owned());
            let mut add = |metric: &str, parts: MetricParts, figure: &MeasuredFigure| {
                let metric = format!("{metric} {load}");
                self.add_parted_figure(
                    [workload, &row.stack, "", &metric],
                    parts.with_scope(MATCHED),
                    &with_caution(figure, late.clone()),
                    row.emulated.as_deref(),
                );
            };
            add("iops", MetricParts::for_quantity("value", "iops"), &row.iops);
            add_latencies(&row.latency, &mut add);
            add_latency_parts("service time", row.service.as_ref(), &mut add);
        }
    }

    fn add_bill(&mut self, workload: &str, bill: &Bill) {
        for line in super::sheet::bill_lines(bill) {
            let mut add = |metric: &str, parts: MetricParts, figure: &MeasuredFigure| {
                let about = [workload, &line.layer, &line.on, metric];
                self.add_parted_figure(
                    about,
                    parts.with_scope("bill"),
                    figure,
                    line.emulated.as_deref(),
                );
            };
            let whole = ("", &line.ratio, &line.added_latency);
            let directions = line.directions.iter();
            let directions = directions.map(|it| (it.direction, &it.ratio, &it.added_latency));
            for (way, ratio, latency) in std::iter::once(whole).chain(directions) {
                let parts = MetricParts::for_quantity("ratio", "rate").with_direction(way);
                let of = if way.is_empty() { String::new() } else { format!(" of {way}s") };
                add(&format!("bill ratio{of}"), parts, &with_caution(ratio, bill_line_note(line)));
                if way.is_empty() {
                    let parts = MetricParts::for_quantity("of_baseline", "rate");
                    add("bill of baseline", parts, &line.of_baseline);
                }
                let parts = MetricParts::for_quantity("added", "latency").with_statistic("mean");
                let metric = format!("bill added {way} latency").replace("  ", " ");
                add(&metric, parts.with_direction(way), latency);
            }
            add(
                "bill added cpu per io",
                MetricParts::for_quantity("added", "cpu per io"),
                &line.added_cpu,
            );
        }
    }

    fn add_stack_row(&mut self, workload: &str, row: &StackRow) {
        let mut add = |metric: &str, parts: MetricParts, figure: &MeasuredFigure| {
            self.add_parted_figure(
                [workload, &row.stack, "", metric],
                parts,
                figure,
                row.emulated.as_deref(),
            );
        };
        let named = |metric: &str| MetricParts::for_quantity("value", metric);
        let whole = ("", &row.iops, &row.bytes_per_s, &row.durable_bytes_per_s);
        let directions = row.directions.iter();
        let directions =
            directions.map(|it| (it.direction, &it.iops, &it.bytes_per_s, &it.durable_bytes_per_s));
        for (way, iops, bytes, durable) in std::iter::once(whole).chain(directions) {
            let durable = durable.iter().map(|figure| ("durable throughput", figure));
            for (metric, figure) in
                [("iops", iops), ("throughput", bytes)].into_iter().chain(durable)
            {
                let parts = named(metric).with_direction(way);
                add(format!("{way} {metric}").trim_start(), parts, figure);
            }
        }
        add_latencies(&row.latency, &mut add);
        for (metric, figure) in [
            ("cpu per io of host and guest", &row.cpu),
            ("cpu per io of the place", &row.cpu_place),
        ] {
            add(metric, named(metric), figure);
        }
        if let Some(network) = &row.network {
            let all = [
                ("datagrams sent", &network.sent),
                ("share lost", &network.lost),
                ("segments sent again per GiB", &network.sent_again_per_gib),
                ("cpu per KiB of this end", &network.cpu_here_per_kib),
                ("cpu per KiB of the other end", &network.cpu_there_per_kib),
            ];
            let known =
                all.into_iter().filter_map(|(metric, figure)| Some((metric, figure.as_ref()?)));
            known.for_each(|(metric, figure)| add(metric, named(metric), figure));
        }
        if let Some(one) = &row.runs {
            for (statistic, value) in
                [("best", one.best), ("median", one.median), ("mean", one.mean)]
            {
                let counted = (one.runs, SampleUnit::Runs);
                let figure =
                    MeasuredFigure::bare(value, one.unit, counted, "single runs have no interval");
                let parts = named("single runs").with_statistic(statistic);
                add(&format!("{statistic} of single runs"), parts, &figure);
            }
        }
        for one in &row.targets {
            let metric = format!("iops of {} on {}", one.path, one.place);
            add(
                &metric,
                named("iops").with_scope(&format!("disk {} on {}", one.path, one.place)),
                &one.iops,
            );
        }
        let engine = row.serving.iter().flat_map(|engine| {
            [
                ("cpu per io of the engine", &engine.cpu),
                ("iops per busy core of the engine", &engine.iops_per_core),
            ]
        });
        let own = [
            ("cpu per io of the generator", &row.cpu_generator),
            ("cpu per io of the generator in its own code", &row.generator.cpu_user),
            ("cpu per io of the generator in the kernel", &row.generator.cpu_kernel),
        ];
        engine.chain(own).for_each(|(metric, figure)| add(metric, named(metric), figure));
        add_latency_parts("service time", row.generator.service.as_ref(), &mut add);
        add_latency_parts("flush latency", row.flush.as_ref(), &mut add);
        add_latency_parts("time between looks", row.generator.reap_gap.as_ref(), &mut add);
    }

    /// Adds a published figure, its ratio, and the measured figures that it is compared with: some
    /// are percentiles that no other line has.
    fn add_published(&mut self, one: &PublishedFinding) {
        let emulated = one.emulated.as_deref();
        let mut add = |against: &str, kind: &'static str, figure: &MeasuredFigure| {
            let of = if against.is_empty() { "" } else { " of" };
            let metric = format!("{kind}{of} {}", one.metric_said());
            let parts = MetricParts::from_metric_name(kind, &one.metric.to_string());
            self.add_parted_figure(
                [&one.workload, &one.stack, against, &metric],
                parts,
                figure,
                emulated,
            );
        };
        add("", "published", &with_note(&one.published, &format!("printed {}", one.printed)));
        add("", "beside published", &one.measured);
        let (Some(against), Some(ratio)) = (&one.against, &one.ratio) else { return };
        add(against, "published ratio", &with_agreement(ratio));
        add(against, "beside published ratio", &ratio.measured);
    }

    /// Adds the rate of a drive over the median of the others.
    fn add_drive(&mut self, load: &str, one: &DriveFigure) {
        let parts = MetricParts::for_quantity("ratio", "rate").with_scope("median of other drives");
        let metric = "rate over the median of the other drives";
        let about = [load, &one.stack, "", metric];
        self.add_parted_figure(about, parts, &one.of_median, one.emulated.as_deref());
    }

    /// Adds a published claim and the measured figure beside it.
    fn add_claim(&mut self, one: &ClaimFinding) {
        let against = one.against.as_deref().unwrap_or_default();
        let kinds = match one.against {
            Some(_) => ["claimed ratio", "beside claimed ratio"],
            None => ["claimed", "beside claimed"],
        };
        let noted = with_note(&with_agreement(&one.beside), &format!("printed {}", one.printed));
        for (kind, figure) in kinds.into_iter().zip([&noted, &one.beside.measured]) {
            let metric = format!("{kind} of {}", one.metric);
            let parts = MetricParts::from_metric_name(kind, &one.metric);
            let about = [&one.workload, &one.stack, against, &metric];
            self.add_parted_figure(about, parts, figure, one.emulated.as_deref());
        }
    }

    /// Adds a figure. `about` holds workload, stack, against and metric; the metric is also its
    /// quantity.
    fn add_figure(&mut self, about: [&str; 4], figure: &MeasuredFigure, emulated: Option<&str>) {
        self.add_parted_figure(
            about,
            MetricParts::for_quantity("value", about[3]),
            figure,
            emulated,
        );
    }

    fn add_parted_figure(
        &mut self,
        about: [&str; 4],
        parts: MetricParts,
        figure: &MeasuredFigure,
        emulated: Option<&str>,
    ) {
        let [state, value, unit, low, high, n, of, note] = figure_fields(figure);
        let [workload, stack, against, metric] = about.map(String::from);
        let emulated = emulated.unwrap_or_default().to_owned();
        let run = self.run.to_owned();
        let MetricParts { kind, quantity, direction, statistic, scope } = parts;
        self.add_record(
            &[
                run, workload, stack, against, metric, state, value, unit, low, high, n, of, note,
                emulated,
            ],
            &[kind.to_owned(), quantity, direction, statistic, scope],
        );
    }
}

/// Makes text from others safe for a spreadsheet: control characters are escaped, and a formula
/// gets a `'` in front, so that it is shown.
pub fn safe_cell(text: &str) -> String {
    let text = escape_line(text);
    if is_formula(text.trim_start()) { format!("'{text}") } else { text }
}

/// Returns true if a text begins like a formula. Text after a sign is one unless it begins with a
/// digit and has only letters, digits and plain punctuation: `-5 %` is not, `-2+3+cmd|' /C
/// calc'!A0` is.
fn is_formula(text: &str) -> bool {
    let plain = |letter: char| {
        letter.is_alphanumeric() || matches!(letter, ' ' | '\u{a0}' | '.' | ',' | '%' | '/')
    };
    match text.chars().next() {
        Some('=' | '@' | '＝' | '＠') => true,
        Some('+' | '-' | '＋' | '－') => {
            let mut rest = text.chars().skip(1);
            !(rest.next().is_some_and(|first| first.is_ascii_digit()) && rest.all(plain))
        }
        _ => false,
    }
}

/// Function that adds a metric with its parts.
type Add<'a> = dyn FnMut(&str, MetricParts, &MeasuredFigure) + 'a;

fn add_latencies(latencies: &[LatencyFigures], add: &mut Add) {
    for latency in latencies {
        let way = latency.direction;
        for (name, figure) in latency.figures() {
            let parts = MetricParts::for_quantity("value", "latency")
                .with_direction(way)
                .with_statistic(&name);
            add(&format!("{way} latency {name}"), parts, figure);
        }
    }
}

fn add_latency_parts(name: &str, times: Option<&LatencyFigures>, add: &mut Add) {
    for (part, figure) in times.iter().flat_map(|times| times.figures()) {
        add(
            &format!("{name} {part}"),
            MetricParts::for_quantity("value", name).with_statistic(&part),
            figure,
        );
    }
}

fn counted_figure(count: u64, n: (u64, SampleUnit)) -> MeasuredFigure {
    MeasuredFigure::bare(count as f64, "1", n, "a count")
}

/// Puts a caution into the note of a figure; one without a value is unchanged.
fn with_caution(figure: &MeasuredFigure, note: Option<String>) -> MeasuredFigure {
    match (note, figure) {
        (Some(note), MeasuredFigure::Known { .. }) => figure.clone().cautioned(Some(note)),
        _ => figure.clone(),
    }
}

/// Puts a note before the reason why a figure has no interval. Any other figure is unchanged.
fn with_note(figure: &MeasuredFigure, note: &str) -> MeasuredFigure {
    match figure {
        MeasuredFigure::Known { interval: Interval::Missing { missing }, .. } => {
            let missing = format!("{note}; {missing}");
            figure.with_interval(Some(&Interval::Missing { missing }))
        }
        other => other.clone(),
    }
}

/// Returns a published ratio with a note: whether it agrees, and the range of its rounding.
fn with_agreement(beside: &RatioBeside) -> MeasuredFigure {
    let rounding =
        beside.rounding.map(|[low, high]| format!("; rounding leaves {low:.4} to {high:.4}"));
    let note = match &beside.agreement {
        Agreement::Unresolved { reason } => format!("unresolved: {reason}"),
        agreement => agreement.word().to_owned(),
    };
    with_note(&beside.published, &format!("{note}{}", rounding.unwrap_or_default()))
}

fn unresolved_reason(verdict: &Verdict) -> Option<String> {
    match verdict {
        Verdict::Unresolved { reason, .. } => Some(format!("unresolved: {reason}")),
        _ => None,
    }
}

fn bill_line_note(line: &BillLine) -> Option<String> {
    line.masked
        .as_ref()
        .map(|masked| masked.words.clone())
        .or_else(|| unresolved_reason(&line.verdict))
}

fn sweep_point(workload: &WorkloadFindings) -> [String; SWEEP_COLUMNS.len()] {
    let Some(sweep) = &workload.sweep else { return Default::default() };
    SWEEP_COLUMNS.map(|column| match sweep.at.iter().find(|at| at.word == column) {
        Some(at) => at.value.to_string(),
        None if column == "sweep" => sweep.sweep.clone(),
        None => String::new(),
    })
}

/// Returns the knee as a figure, missing if none lies inside the curve. Its bounds are those of the
/// points that cannot be distinguished from it.
fn knee_figure(sweep: &SweepFindings, stack: &StackCurve) -> MeasuredFigure {
    match &stack.knee.place {
        KneePosition::Inside { at, not_told_apart, .. } => {
            let all = || not_told_apart.iter().chain([at]).map(|at| at.value as f64);
            let interval = Interval::from_bounds(
                all().fold(f64::INFINITY, f64::min),
                all().fold(0.0, f64::max),
            );
            let n = stack.points.len() as u64;
            MeasuredFigure::known_value(
                at.value as f64,
                sweep.unit,
                (n, SampleUnit::Points),
                interval,
            )
        }
        KneePosition::Edge { .. } | KneePosition::None { .. } => {
            MeasuredFigure::missing(&stack.knee.sentence)
        }
    }
}

/// Returns state, value, unit, bounds, n, its unit and the note of a figure.
pub(super) fn figure_fields(figure: &MeasuredFigure) -> [String; 8] {
    let absent = |state: &str, reason: &str| {
        let mut fields: [String; 8] = Default::default();
        fields[0] = state.into();
        fields[7] = reason.into();
        fields
    };
    match figure {
        MeasuredFigure::Known { value, unit, n, of, interval, caution } => {
            let (low, high, missing) = match interval {
                Interval::Bounds { low, high, .. } => (low.to_string(), high.to_string(), None),
                Interval::Missing { missing } => {
                    (String::new(), String::new(), Some(missing.clone()))
                }
            };
            let note = missing.or_else(|| caution.clone()).unwrap_or_default();
            [
                "known".into(),
                value.to_string(),
                (*unit).into(),
                low,
                high,
                n.to_string(),
                of.word().into(),
                note,
            ]
        }
        MeasuredFigure::Failed { reason } => absent("failed", reason),
        MeasuredFigure::Missing { reason } => absent("missing", reason),
    }
}
