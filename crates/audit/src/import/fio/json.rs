//! fio's JSON and JSON+, 2.1 to 3.4x, of one machine and of clients. Before 2.99 latencies are in
//! microseconds, before 2.21 `io_bytes` is in KiB; divided values there are truncated, not rounded.

use super::options::{self, JobOptions};
use super::{
    Direction, Fio, FioCpu, FioForm, FioJobLine, FioLatency, FioReport, FioVersion, IssuedLine,
    Percentiles,
};
use super::{MOST_JOBS, index_of};
use crate::import::format::JsonFormat;
use crate::import::format::ToolReport;
use crate::import::printed::{PrintedFigures, WholeNumber};
use crate::import::workload::ResultDirection;
use crate::json::{JsonNode, JsonValue};
use crate::number::PrintedNumber;
use std::borrow::Cow;

pub(crate) const FORMAT: JsonFormat = JsonFormat {
    name: "fio JSON",
    example: include_str!("../../../fixtures/fio/randrw.json"),
    knows: |node| !outputs(node).is_empty(),
    read: |page, node| {
        let found = outputs(node);
        let version = found.iter().find_map(|output| {
            FioVersion::parse_fio_version(output.get("fio version")?.as_raw_text()?)
        });
        let printed = PrintedFigures::new(page, page.spot(node.bytes.clone()).index());
        let mut reader =
            FioJsonReader { printed, fio: Fio { form: FioForm::Json, version, ..Fio::default() } };
        found.into_iter().for_each(|output| reader.output(output));
        ToolReport::Fio(Box::new(reader.fio))
    },
};

const KIB: f64 = 1024.0;

/// Depth to which an output may be nested in another tool's JSON.
const DEEPEST: usize = 4;

/// Returns the outputs in a value: itself, or those that another tool wrapped.
fn outputs<'n, 'a>(node: &'n JsonNode<'a>) -> Vec<&'n JsonNode<'a>> {
    let mut found = Vec::new();
    gather(node, 0, &mut found);
    found
}

fn gather<'n, 'a>(node: &'n JsonNode<'a>, depth: usize, found: &mut Vec<&'n JsonNode<'a>>) {
    if is_output(node) || is_job(node) {
        found.push(node);
    } else if depth < DEEPEST {
        let members = node.members().iter().map(|(_, member)| member);
        members.chain(node.elements()).for_each(|inner| gather(inner, depth + 1, found));
    }
}

fn is_output(node: &JsonNode) -> bool {
    let jobs = || node.get("jobs").or_else(|| node.get("client_stats"));
    node.get("fio version").is_some()
        || jobs().is_some_and(|jobs| jobs.elements().first().is_some_and(is_job))
}

/// Returns true for the object of a job, which a page may show without the rest of the output.
fn is_job(node: &JsonNode) -> bool {
    let one_way = |way: &JsonNode| way.get("bw").is_some() || way.get("io_bytes").is_some();
    node.get("jobname").is_some() && WAYS.iter().any(|(key, _)| node.get(key).is_some_and(one_way))
}

const WAYS: [(&str, ResultDirection); 4] = [
    ("read", ResultDirection::Read),
    ("write", ResultDirection::Write),
    ("trim", ResultDirection::Trim),
    ("mixed", ResultDirection::Both),
];

fn elements<'n, 'a>(node: &'n JsonNode<'a>, key: &str) -> &'n [JsonNode<'a>] {
    node.get(key).map_or(&[], JsonNode::elements)
}

fn members<'n, 'a>(node: &'n JsonNode<'a>, key: &str) -> &'n [(&'a str, JsonNode<'a>)] {
    node.get(key).map_or(&[], JsonNode::members)
}

fn nothing(node: &JsonNode, keys: &[&str]) -> bool {
    keys.iter()
        .all(|key| node.get(key).and_then(JsonNode::as_number).is_none_or(|value| value == 0.0))
}

struct FioJsonReader<'p> {
    printed: PrintedFigures<'p>,
    fio: Fio,
}

impl FioJsonReader<'_> {
    fn output(&mut self, node: &JsonNode) {
        if is_job(node) && node.get("fio version").is_none() {
            return self.job(node, &JobOptions::new(), None, false);
        }
        let ended = node.get("time").and_then(JsonNode::as_raw_text);
        let global = node.get("global options");
        let first = self.fio.jobs.len();
        for job in elements(node, "jobs") {
            self.job(job, &options(global), ended, false);
        }
        for job in elements(node, "client_stats") {
            self.job(job, &options_of_client(global, job), ended, true);
        }
        let printed = node.get("timestamp_ms").and_then(JsonNode::as_integer);
        self.fio.jobs[first..].iter_mut().for_each(|job| job.printed_ms = printed);
    }

    fn job(&mut self, node: &JsonNode, global: &JobOptions, ended: Option<&str>, client: bool) {
        let said = |key: &str| node.get(key).and_then(JsonNode::text_value).map(Cow::into_owned);
        let whole = |key: &str| node.get(key).and_then(JsonNode::as_integer);
        let Some(name) = said("jobname") else { return };
        let mut job = FioReport {
            aggregate: client && name == "All clients",
            name,
            line: self.printed.line_of_byte(node.bytes.start),
            ended: ended.map(str::to_owned),
            host: said("hostname"),
            options: global.iter().cloned().chain(options(node.get("job options"))).collect(),
            group: whole("groupid"),
            began_ms: whole("job_start"),
            error: self.exact(node, "error"),
            ..FioReport::default()
        };
        let mut mixed = None;
        for (key, way) in WAYS {
            let Some(one) = node.get(key) else { continue };
            if way == ResultDirection::Both && !job.directions.is_empty() {
                // `unified_rw_reporting=both` prints `mixed` next to the directions that it mixes:
                // it becomes a job that sums.
                let (name, host, group) = (job.name.clone(), job.host.clone(), job.group);
                let mut sums =
                    FioReport { name, host, group, aggregate: true, ..FioReport::default() };
                self.direction(way, one, &mut sums);
                sums.line = sums.directions.first().map_or(0, |one| one.line);
                mixed = Some(sums).filter(|sums| !sums.directions.is_empty());
            } else {
                self.direction(way, one, &mut job);
            }
        }
        if let (Some(user), Some(system)) =
            (self.exact(node, "usr_cpu"), self.exact(node, "sys_cpu"))
        {
            job.cpu = Some(FioCpu { user, system, switches: self.exact(node, "ctx") });
        }
        let threads = self.exact(node, "job_runtime");
        job.jobs = threads.and_then(|threads| jobs_of(&job, threads.value));
        if job.options.iter().any(|(key, _)| !PLACE.contains(&key.as_str())) {
            self.record_settings(options::settings_from_options(&job.name, job.line, &job.options));
        }
        self.fio.jobs.push(job);
        self.fio.jobs.extend(mixed);
    }

    fn exact(&self, node: &JsonNode, key: &str) -> Option<PrintedNumber> {
        self.printed.exact(node.get(key), 1.0)
    }

    /// Adds one direction to a job; does nothing for a direction without I/O.
    fn direction(&self, way: ResultDirection, node: &JsonNode, job: &mut FioReport) {
        if nothing(node, &["io_bytes", "io_kbytes", "bw_bytes", "bw", "iops", "total_ios"]) {
            return;
        }
        let mut made = Direction::new(way, self.printed.line_of_byte(node.bytes.start));
        let bytes = self.printed.cut(node.get("bw_bytes"), 1.0);
        let kibibytes = self.printed.cut(node.get("bw"), KIB);
        (made.bandwidth, made.bandwidth_decimal) = (bytes.or(kibibytes), bytes.and(kibibytes));
        made.iops = self.printed.cut(node.get("iops"), 1.0);
        made.runtime_ms = self.exact(node, "runtime");
        made.io = match self.io_in_kibibytes(node) {
            Some(true) => self.printed.cut(node.get("io_bytes"), KIB),
            Some(false) => self.exact(node, "io_bytes"),
            None => None,
        };
        made.io_decimal = self.printed.cut(node.get("io_kbytes"), KIB);
        made.ios = self.exact(node, "total_ios");
        if made.ios.is_some() {
            let issued = job.issued.get_or_insert_with(IssuedLine::default);
            issued.total[index_of(way)] = made.ios;
            issued.short[index_of(way)] = self.exact(node, "short_ios");
            issued.dropped[index_of(way)] = self.exact(node, "drop_ios");
        }
        // Percentiles are those of completions if several latencies have them.
        let (clat, of_clat) = self.latency(node, "clat", "clat_ns");
        let (lat, of_lat) = self.latency(node, "lat", "lat_ns");
        let (slat, of_slat) = self.latency(node, "slat", "slat_ns");
        (made.slat, made.clat, made.lat) = (slat, clat, lat);
        made.percentiles = of_clat.or(of_lat).or(of_slat);
        made.histogram =
            made.percentiles.as_ref().map_or(Vec::new(), |chosen| bins(node, chosen.of));
        job.directions.push(made);
    }

    /// Returns true if `io_bytes` is in KiB, as before 2.21, and false if it is in bytes. `None` if
    /// neither the keys nor the version show it.
    fn io_in_kibibytes(&self, node: &JsonNode) -> Option<bool> {
        let new = ["io_kbytes", "bw_bytes", "clat_ns", "slat_ns", "lat_ns"];
        match self.fio.version {
            _ if new.iter().any(|key| node.get(key).is_some()) => Some(false),
            Some(version) if version.is_from(2, 99) => Some(false),
            Some(version) if !version.is_from(2, 21) => Some(true),
            _ => None,
        }
    }

    /// Reads a latency from `..._ns`, or from truncated microseconds in old versions, with its
    /// percentiles.
    fn latency(
        &self,
        node: &JsonNode,
        of: &'static str,
        key: &str,
    ) -> (Option<FioLatency>, Option<Percentiles>) {
        let nanoseconds = node.get(key).map(|node| (node, 1.0, WholeNumber::Exact));
        let latency_node = nanoseconds.or_else(|| Some((node.get(of)?, 1e3, WholeNumber::Cut)));
        let Some((node, unit, whole)) = latency_node else { return (None, None) };
        if node.get("N").and_then(JsonNode::as_number) == Some(0.0)
            || nothing(node, &["min", "max", "mean"])
        {
            return (None, None);
        }
        let point = |(percent, value): &(&str, JsonNode)| {
            let percent: f64 =
                percent.parse().ok().filter(|percent| (0.0..=100.0).contains(percent))?;
            Some((percent, self.printed.node_figure(Some(value), unit, whole)?))
        };
        // fio fills up a list of less than twenty with these.
        let listed = members(node, "percentile").iter().filter(|(percent, _)| *percent != "0.00");
        let points: Vec<(f64, PrintedNumber)> = listed.filter_map(point).collect();
        let figure = |key: &str| self.printed.node_figure(node.get(key), unit, whole);
        let all = || {
            let (min, max) = (figure("min")?, figure("max")?);
            Some(FioLatency { min, max, mean: figure("mean")?, deviation: figure("stddev")? })
        };
        (all(), (!points.is_empty()).then_some(Percentiles { of, points }))
    }

    /// Records the settings of a job. If jobs of one name have different settings, keeps only
    /// common ones.
    fn record_settings(&mut self, asked: FioJobLine) {
        let room = self.fio.asked.len() < MOST_JOBS;
        match self.fio.asked.iter_mut().find(|known| known.name == asked.name) {
            Some(known) => {
                known.rw.take_if(|rw| asked.rw.as_ref() != Some(rw));
                known.ioengine.take_if(|engine| asked.ioengine.as_ref() != Some(engine));
                known.iodepth.take_if(|depth| asked.iodepth != Some(*depth));
                if known.bs != asked.bs {
                    known.bs = [None; 3];
                }
            }
            None if room => self.fio.asked.push(asked),
            None => {}
        }
    }
}

/// Options that show where a client's job ran.
const PLACE: [&str; 2] = ["hostname", "port"];

fn options(node: Option<&JsonNode>) -> JobOptions {
    let members = node.map_or(&[][..], JsonNode::members).iter();
    members
        .filter_map(|(key, value)| Some(((*key).to_owned(), value.text_value()?.into_owned())))
        .collect()
}

/// Returns the global options for a job's client; with several clients, each has its own.
fn options_of_client(global: Option<&JsonNode>, job: &JsonNode) -> JobOptions {
    let each = global.map_or(&[][..], JsonNode::elements);
    let same = |one: &&JsonNode| {
        PLACE
            .iter()
            .all(|key| one.get(key).map(|node| &node.value) == job.get(key).map(|node| &node.value))
    };
    if each.is_empty() { options(global) } else { options(each.iter().find(same)) }
}

fn bins(node: &JsonNode, of: &str) -> Vec<(u64, u64)> {
    let nanoseconds = node.get(&format!("{of}_ns"));
    let unit = if nanoseconds.is_some() { 1 } else { 1000 };
    let one = |(value, count): &(&str, JsonNode)| {
        let JsonValue::Number(count) = count.value else { return None };
        Some((value.parse::<u64>().ok()?.checked_mul(unit)?, count.parse().ok()?))
    };
    let latency = nanoseconds.or(node.get(of));
    latency.map_or(&[][..], |latency| members(latency, "bins")).iter().filter_map(one).collect()
}

/// Returns how many jobs a report sums: 1 or `numjobs`, whichever matches the total time of all
/// threads divided by the runtime; `None` if neither does. fio does not print whether a report is
/// of a group, and a group may hold several sections.
fn jobs_of(job: &FioReport, threads_ms: f64) -> Option<u64> {
    let numjobs = job.option("numjobs").map_or(Some(1), |text| text.parse().ok());
    let runtimes = job.directions.iter().filter_map(|one| one.runtime_ms);
    let longest = runtimes.map(|runtime| runtime.value).fold(0.0, f64::max);
    let runs = threads_ms / longest;
    let like = |jobs: &u64| (runs / *jobs as f64 - 1.0).abs() < 0.02;
    [Some(1), numjobs].into_iter().flatten().find(like).filter(|_| !job.aggregate)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::find_outputs;
    use crate::page::AuditedPage;

    fn all(text: &str) -> Vec<Fio> {
        let fio = |said| if let ToolReport::Fio(fio) = said { Some(*fio) } else { None };
        find_outputs(&AuditedPage::new("p", text))
            .outputs
            .into_iter()
            .filter_map(|output| fio(output.said))
            .collect()
    }

    #[test]
    fn groups_may_hold_several_sections_and_no_more_jobs_are_asked_than_fio_runs() {
        let group = include_str!("../../../fixtures/fio/group.json");
        let other = all(&group.replace("\"numjobs\" : \"2\"", "\"numjobs\" : \"3\""));
        assert_eq!(other[0].jobs[0].jobs, None, "another section may be in it");
        let job = |at: usize| {
            format!(
                r#"{{ "jobname": "j{at}", "job options": {{ "rw": "read" }}, "read": {{ "iops": 2.0 }} }}"#
            )
        };
        let many: Vec<String> = (0..5000).map(job).collect();
        let many = format!(r#"{{ "fio version": "fio-3.1", "jobs": [ {} ] }}"#, many.join(","));
        assert_eq!(all(&many)[0].asked.len(), MOST_JOBS);
    }
}
