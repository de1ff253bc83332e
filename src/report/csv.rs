//! One figure a line, for a spreadsheet: what it is about, value, unit, interval, n; a figure that is missing
//! or failed has an empty value and its reason, never a zero.

use super::{Page, Renderer};
use crate::bill::Findings;
use crate::bill::findings::{Figure, Interval, Row, WorkloadFindings};

/// Its entry.
pub const RENDERER: Renderer =
    Renderer { name: "csv", help: "one figure a line, for a spreadsheet", extension: "csv", render };

const HEAD: [&str; 14] = [
    "run", "workload", "stack", "against", "metric", "state", "value", "unit", "low", "high", "n", "of",
    "note", "emulated",
];

fn render(findings: &[Findings], _page: &Page) -> String {
    let mut lines = Lines { run: "", writer: ::csv::Writer::from_writer(Vec::new()) };
    lines.record(&HEAD.map(String::from));
    for one in findings {
        lines.run = &one.run.id;
        one.workloads.iter().for_each(|workload| lines.workload(workload));
    }
    // Writing to memory cannot fail, and all of it came from strings.
    String::from_utf8(lines.writer.into_inner().unwrap_or_default()).unwrap_or_default()
}

struct Lines<'a> {
    run: &'a str,
    writer: ::csv::Writer<Vec<u8>>,
}

impl Lines<'_> {
    fn record(&mut self, fields: &[String; HEAD.len()]) {
        // Every record has the same number of fields and goes to memory.
        let _ = self.writer.write_record(fields);
    }

    fn workload(&mut self, workload: &WorkloadFindings) {
        let name = &workload.name;
        for row in &workload.rows {
            self.row(name, row);
        }
        for one in &workload.comparisons {
            let (stack, against) = (&one.stack, &one.against);
            let mut add = |metric: &str, figure: &Figure| {
                self.figure([name, stack, against, metric], figure, one.emulated.as_deref());
            };
            add(&format!("ratio of {}", one.quantity), &one.ratio);
            for (direction, q, ratio) in &one.latency_ratios {
                add(&format!("ratio of {direction} latency p{}", percentile(*q)), ratio);
            }
        }
        for line in workload.bill.iter().flat_map(|bill| super::sheet::bill_lines(bill)) {
            let mut add = |metric: &str, figure: &Figure| {
                self.figure([name, &line.layer, &line.on, metric], figure, line.emulated.as_deref());
            };
            add("bill ratio", &line.ratio);
            add("bill added latency", &line.added_latency);
            add("bill added cpu per io", &line.added_cpu);
        }
    }

    fn row(&mut self, workload: &str, row: &Row) {
        let mut add = |metric: &str, figure: &Figure| {
            self.figure([workload, &row.stack, "", metric], figure, row.emulated.as_deref());
        };
        add("iops", &row.iops);
        add("throughput", &row.bytes_per_s);
        row.durable_bytes_per_s.iter().for_each(|figure| add("durable throughput", figure));
        for latency in &row.latency {
            let way = latency.direction;
            add(&format!("{way} latency mean"), &latency.mean);
            add(&format!("{way} latency p50"), &latency.p50);
            add(&format!("{way} latency p99"), &latency.p99);
            add(&format!("{way} latency p99.9"), &latency.p999);
        }
        add("cpu per io of the place", &row.cpu_place);
        add("cpu per io of the generator", &row.cpu_generator);
    }

    /// `about`: workload, stack, against, metric.
    fn figure(&mut self, about: [&str; 4], figure: &Figure, emulated: Option<&str>) {
        let [state, value, unit, low, high, n, of, note] = fields(figure);
        let [workload, stack, against, metric] = about.map(String::from);
        let emulated = emulated.unwrap_or_default().to_owned();
        let run = self.run.to_owned();
        self.record(&[
            run, workload, stack, against, metric, state, value, unit, low, high, n, of, note, emulated,
        ]);
    }
}

fn percentile(q: f64) -> String {
    format!("{:.6}", 100.0 * q).trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn fields(figure: &Figure) -> [String; 8] {
    let absent = |state: &str, reason: &str| {
        let mut fields: [String; 8] = Default::default();
        fields[0] = state.into();
        fields[7] = reason.into();
        fields
    };
    match figure {
        Figure::Known { value, unit, n, of, interval, caution } => {
            let (low, high, missing) = match interval {
                Interval::Bounds { low, high } => (low.to_string(), high.to_string(), None),
                Interval::Missing { missing } => (String::new(), String::new(), Some(missing.clone())),
            };
            let note = missing.or_else(|| caution.clone()).unwrap_or_default();
            ["known".into(), value.to_string(), (*unit).into(), low, high, n.to_string(), (*of).into(), note]
        }
        Figure::Failed { reason } => absent("failed", reason),
        Figure::Missing { reason } => absent("missing", reason),
    }
}
