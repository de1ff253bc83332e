//! fio's JSON and JSON+, 2.1 to 3.4x, of one machine and of clients. Up to 2.21 latencies are in microseconds and `io_bytes`
//! in KiB; what is divided there is cut off, not rounded.

use super::job_file::{self, Options};
use super::{Asked, Cpu, Direction, Disk, Fio, Form, Issued, Job, Latency, Percentiles, Samples, Version};
use crate::import::Said;
use crate::import::json_formats::JsonFormat;
use crate::import::printed::Printed;
use crate::import::workload::Way;
use crate::json::{Node, Value};
use crate::number::Figure;
use crate::page::{Page, Unread};
use std::borrow::Cow;

/// The format's entry in the family.
pub const FORMAT: JsonFormat = JsonFormat {
    name: "fio JSON",
    help: "fio's --output-format=json and json+, 2.1 to 3.4x: one machine and clients, also within other JSON",
    example: include_str!("../../../fixtures/fio/randrw.json"),
    knows: |node| !outputs(node).is_empty(),
    read,
};

const KIB: f64 = 1024.0;
const MILLION: f64 = 1e6;

/// How deep in another tool's JSON an output may lie.
const DEEPEST: usize = 4;

/// The outputs in a value: itself, or what another tool wrapped.
fn outputs<'n, 'a>(node: &'n Node<'a>) -> Vec<&'n Node<'a>> {
    let mut found = Vec::new();
    gather(node, 0, &mut found);
    found
}

fn gather<'n, 'a>(node: &'n Node<'a>, depth: usize, found: &mut Vec<&'n Node<'a>>) {
    if is_output(node) || is_job(node) {
        found.push(node);
    } else if depth < DEEPEST {
        let members = node.members().iter().map(|(_, member)| member);
        for inner in members.chain(node.elements()) {
            gather(inner, depth + 1, found);
        }
    }
}

fn is_output(node: &Node) -> bool {
    let jobs = || node.get("jobs").or_else(|| node.get("client_stats"));
    node.get("fio version").is_some()
        || jobs().is_some_and(|jobs| jobs.elements().first().is_some_and(is_job))
}

/// A job of its own, where a page shows no more.
fn is_job(node: &Node) -> bool {
    let one_way = |way: &Node| way.get("bw").is_some() || way.get("io_bytes").is_some();
    node.get("jobname").is_some() && WAYS.iter().any(|(key, _)| node.get(key).is_some_and(one_way))
}

const WAYS: [(&str, Way); 4] =
    [("read", Way::Read), ("write", Way::Write), ("trim", Way::Trim), ("mixed", Way::Both)];

fn read(page: &Page, node: &Node, _unread: &mut Vec<Unread>) -> Option<Said> {
    let found = outputs(node);
    let version = found.iter().find_map(|output| Version::read(output.get("fio version")?.text()?));
    let line = page.spot(node.bytes.clone()).index();
    let mut reader =
        Reader { printed: Printed::new(page, line), version, fio: Fio::new(Form::Json, version) };
    for output in found {
        reader.output(output);
    }
    Some(Said::Fio(Box::new(reader.fio)))
}

struct Reader<'p> {
    printed: Printed<'p>,
    version: Option<Version>,
    fio: Fio,
}

impl Reader<'_> {
    fn output(&mut self, node: &Node) {
        if is_job(node) && node.get("fio version").is_none() {
            return self.job(node, &Vec::new(), None, false);
        }
        let ended = node.get("time").and_then(Node::text);
        let global = node.get("global options");
        let first = self.fio.jobs.len();
        for job in node.get("jobs").map_or(&[][..], Node::elements) {
            self.job(job, &options(global), ended, false);
        }
        for job in node.get("client_stats").map_or(&[][..], Node::elements) {
            self.job(job, &options_of_client(global, job), ended, true);
        }
        let printed = node.get("timestamp_ms").and_then(Node::whole);
        self.fio.jobs[first..].iter_mut().for_each(|job| job.printed_ms = printed);
        for disk in node.get("disk_util").map_or(&[][..], Node::elements) {
            self.disk(disk);
        }
    }

    fn job(&mut self, node: &Node, global: &Options, ended: Option<&str>, client: bool) {
        let Some(name) = node.get("jobname").and_then(Node::said) else { return };
        let mut options = global.clone();
        options.extend(self::options(node.get("job options")));
        let mut job = Job {
            aggregate: client && name == "All clients",
            name: name.into_owned(),
            line: self.printed.line(node.bytes.start),
            ended: ended.map(str::to_owned),
            host: node.get("hostname").and_then(Node::said).map(Cow::into_owned),
            options,
            ..Job::default()
        };
        job.group = node.get("groupid").and_then(Node::whole);
        job.began_ms = node.get("job_start").and_then(Node::whole);
        job.error = self.printed.exact(node.get("error"), 1.0);
        let mut issued = Issued::default();
        let mut mixed = None;
        for (key, way) in WAYS {
            let Some(one) = node.get(key) else { continue };
            if way == Way::Both && !job.directions.is_empty() {
                mixed = self.mixed_beside_parts(&job, one);
            } else {
                job.directions.extend(self.direction(way, one, &mut issued));
            }
        }
        job.issued = issued.told();
        self.of_all_ways(node, &mut job);
        let threads = self.printed.exact(node.get("job_runtime"), 1.0);
        job.jobs = threads.and_then(|threads| jobs_of(&job, threads.value));
        if job.options.iter().any(|(key, _)| !PLACE.contains(&key.as_str())) {
            self.asked(job_file::asked(&job.name, job.line, &job.options));
        }
        self.fio.jobs.push(job);
        self.fio.jobs.extend(mixed);
    }

    /// `unified_rw_reporting=both` prints `mixed` beside the ways that it mixes: it becomes a job that sums.
    fn mixed_beside_parts(&mut self, job: &Job, node: &Node) -> Option<Job> {
        let mut issued = Issued::default();
        let mixed = self.direction(Way::Both, node, &mut issued)?;
        Some(Job {
            name: job.name.clone(),
            host: job.host.clone(),
            line: mixed.line,
            group: job.group,
            directions: vec![mixed],
            issued: issued.told(),
            aggregate: true,
            ..Job::default()
        })
    }

    /// What is told of a job as a whole.
    fn of_all_ways(&mut self, node: &Node, job: &mut Job) {
        let user = self.printed.exact(node.get("usr_cpu"), 1.0);
        let system = self.printed.exact(node.get("sys_cpu"), 1.0);
        if let (Some(user), Some(system)) = (user, system) {
            let switches = self.printed.exact(node.get("ctx"), 1.0);
            job.cpu = Some(Cpu { user, system, switches });
        }
        for (depth, share) in node.get("iodepth_level").map_or(&[][..], Node::members) {
            let depth = depth.trim_start_matches(">=").parse::<u64>();
            if let (Ok(depth), Some(share)) = (depth, self.share(share, LEAST_DEPTH)) {
                job.depths.push((depth, share));
            }
        }
        for (key, unit) in [("latency_ns", 1.0), ("latency_us", 1e3), ("latency_ms", MILLION)] {
            for (edge, share) in node.get(key).map_or(&[][..], Node::members) {
                let edge = if edge.starts_with('>') { Ok(f64::INFINITY) } else { edge.parse::<f64>() };
                let share = self.share(share, LEAST_BUCKET).filter(|share| share.value > 0.0);
                if let (Ok(edge), Some(share)) = (edge, share) {
                    job.buckets.push((edge * unit, share));
                }
            }
        }
        job.target_depth = self.printed.exact(node.get("latency_depth"), 1.0);
    }

    /// A share in percent. fio prints what is not nothing as no less than `least`.
    fn share(&mut self, node: &Node, least: f64) -> Option<Figure> {
        let mut share = self.printed.exact(Some(node), 1.0)?;
        if share.value == least {
            share.low = 0.0;
        }
        Some(share)
    }

    /// `None` for a way that nothing went.
    fn direction(&mut self, way: Way, node: &Node, issued: &mut Issued) -> Option<Direction> {
        let nothing = |key: &str| node.get(key).and_then(Node::number).is_none_or(|value| value == 0.0);
        if ["io_bytes", "io_kbytes", "bw_bytes", "bw", "iops", "total_ios"].into_iter().all(nothing) {
            return None;
        }
        let mut made = Direction::new(way, self.printed.line(node.bytes.start));
        self.totals(node, &mut made);
        for (key, told) in [
            ("total_ios", &mut issued.total),
            ("short_ios", &mut issued.short),
            ("drop_ios", &mut issued.dropped),
        ] {
            told[super::index_of(way)] = self.printed.exact(node.get(key), 1.0);
        }
        made.ios = issued.total[super::index_of(way)];
        // Percentiles are those of the completions, where several latencies have them.
        let mut percentiles = Vec::new();
        made.slat = self.latency(node, ["slat", "slat_ns"], &mut percentiles);
        made.clat = self.latency(node, ["clat", "clat_ns"], &mut percentiles);
        made.lat = self.latency(node, ["lat", "lat_ns"], &mut percentiles);
        percentiles.sort_by_key(|one| ["clat", "lat", "slat"].iter().position(|of| *of == one.of));
        made.percentiles = percentiles.into_iter().next();
        made.histogram = made.percentiles.as_ref().map_or(Vec::new(), |chosen| bins(node, chosen.of));
        made.bandwidth_samples = self.samples(node, BANDWIDTH_SAMPLES, KIB);
        made.iops_samples = self.samples(node, IOPS_SAMPLES, 1.0);
        Some(made)
    }

    fn totals(&mut self, node: &Node, made: &mut Direction) {
        let bytes = self.printed.cut(node.get("bw_bytes"), 1.0);
        let kibibytes = self.printed.cut(node.get("bw"), KIB);
        (made.bandwidth, made.bandwidth_decimal) =
            if bytes.is_some() { (bytes, kibibytes) } else { (kibibytes, None) };
        made.iops = self.printed.cut(node.get("iops"), 1.0);
        made.runtime_ms = self.printed.exact(node.get("runtime"), 1.0);
        made.io = match self.io_in_kibibytes(node) {
            Some(true) => self.printed.cut(node.get("io_bytes"), KIB),
            Some(false) => self.printed.exact(node.get("io_bytes"), 1.0),
            None => None,
        };
        made.io_decimal = self.printed.cut(node.get("io_kbytes"), KIB);
    }

    /// Up to 2.20 `io_bytes` holds KiB; since then `io_kbytes` stands beside it.
    fn io_in_kibibytes(&self, node: &Node) -> Option<bool> {
        let keys = |keys: &[&str]| keys.iter().any(|key| node.get(key).is_some());
        if keys(&["io_kbytes", "bw_bytes", "clat_ns", "slat_ns", "lat_ns"]) {
            return Some(false);
        }
        match self.version {
            Some(version) if version.is_from(2, 99) => Some(false),
            Some(version) if !version.is_from(2, 21) => Some(true),
            _ => None,
        }
    }

    /// A latency of `..._ns`, or of the microseconds of old; its percentiles are added.
    fn latency(
        &mut self,
        node: &Node,
        [of, key]: [&'static str; 2],
        percentiles: &mut Vec<Percentiles>,
    ) -> Option<Latency> {
        let (node, unit) = match (node.get(key), node.get(of)) {
            (Some(nanoseconds), _) => (nanoseconds, 1.0),
            (None, Some(microseconds)) => (microseconds, 1e3),
            (None, None) => return None,
        };
        let number = |key: &str| node.get(key).and_then(Node::number);
        if number("N") == Some(0.0) || ["min", "max", "mean"].into_iter().all(|key| number(key) == Some(0.0))
        {
            return None;
        }
        let points: Vec<(f64, Figure)> = node
            .get("percentile")
            .map_or(&[][..], Node::members)
            .iter()
            // A list of less than twenty is filled up with these.
            .filter(|(percent, _)| *percent != "0.00")
            .filter_map(|(percent, value)| {
                Some((percent.parse().ok()?, self.printed.exact(Some(value), unit)?))
            })
            .filter(|(percent, _): &(f64, Figure)| (0.0..=100.0).contains(percent))
            .collect();
        if !points.is_empty() {
            percentiles.push(Percentiles { of, points });
        }
        let mut whole = |key: &str| {
            let node = node.get(key);
            if unit == 1.0 { self.printed.exact(node, unit) } else { self.printed.cut(node, unit) }
        };
        let (min, max) = (whole("min")?, whole("max")?);
        let mean = self.printed.exact(node.get("mean"), unit)?;
        let deviation = self.printed.exact(node.get("stddev"), unit)?;
        Some(Latency { min, max, mean, deviation })
    }

    fn samples(&mut self, node: &Node, keys: [&str; 5], unit: f64) -> Option<Samples> {
        let [min, max, mean, deviation, count] = keys;
        let number = |key: &str| node.get(key).and_then(Node::number);
        if number(count) == Some(0.0) || [min, max, mean].into_iter().all(|key| number(key) == Some(0.0)) {
            return None;
        }
        Some(Samples {
            min: self.printed.cut(node.get(min), unit)?,
            max: self.printed.cut(node.get(max), unit)?,
            mean: self.printed.exact(node.get(mean), unit)?,
            deviation: self.printed.exact(node.get(deviation), unit),
            count: self.printed.exact(node.get(count), 1.0),
        })
    }

    fn disk(&mut self, node: &Node) {
        let Some(name) = node.get("name").and_then(Node::said) else { return };
        let line = self.printed.line(node.bytes.start);
        let mut both = |keys: [&str; 2]| keys.map(|key| self.printed.exact(node.get(key), 1.0));
        let disk = Disk {
            name: name.into_owned(),
            line,
            ios: both(["read_ios", "write_ios"]),
            ticks: both(["read_ticks", "write_ticks"]),
            aggregates: node.get("aggr_read_ios").is_some(),
        };
        self.fio.disks.push(disk);
    }

    /// Notes what a job was asked; where jobs of one name were asked different things, what they agree in.
    fn asked(&mut self, asked: Asked) {
        let Some(known) = self.fio.asked.iter_mut().find(|known| known.name == asked.name) else {
            return self.fio.add_asked(asked);
        };
        if known.rw != asked.rw {
            known.rw = None;
        }
        if known.bs != asked.bs {
            known.bs = [None; 3];
        }
        if known.ioengine != asked.ioengine {
            known.ioengine = None;
        }
        if known.iodepth != asked.iodepth {
            known.iodepth = None;
        }
    }
}

/// fio prints less than this as this, of depths and of buckets.
const LEAST_DEPTH: f64 = 0.1;
const LEAST_BUCKET: f64 = 0.01;

const BANDWIDTH_SAMPLES: [&str; 5] = ["bw_min", "bw_max", "bw_mean", "bw_dev", "bw_samples"];
const IOPS_SAMPLES: [&str; 5] = ["iops_min", "iops_max", "iops_mean", "iops_stddev", "iops_samples"];

/// Where a client's job ran stands among its options.
const PLACE: [&str; 2] = ["hostname", "port"];

fn options(node: Option<&Node>) -> Options {
    let text = |value: &Node| value.said().map(Cow::into_owned);
    let members = node.map_or(&[][..], Node::members).iter();
    members.filter_map(|(key, value)| Some(((*key).to_owned(), text(value)?))).collect()
}

/// With several clients the global options are told for each.
fn options_of_client(global: Option<&Node>, job: &Node) -> Options {
    let each = global.map_or(&[][..], Node::elements);
    let same = |one: &&Node| {
        PLACE.iter().all(|key| one.get(key).map(|node| &node.value) == job.get(key).map(|node| &node.value))
    };
    if each.is_empty() { options(global) } else { options(each.iter().find(same)) }
}

/// The histogram of JSON+.
fn bins(node: &Node, of: &str) -> Vec<(u64, u64)> {
    let (latency, unit) = match node.get(&format!("{of}_ns")) {
        Some(latency) => (Some(latency), 1),
        None => (node.get(of), 1000),
    };
    let members = latency.and_then(|latency| latency.get("bins")).map_or(&[][..], Node::members);
    let one = |(value, count): &(&str, Node)| {
        let Value::Number(count) = count.value else { return None };
        Some((value.parse::<u64>().ok()?.checked_mul(unit)?, count.parse().ok()?))
    };
    members.iter().filter_map(one).collect()
}

/// How many jobs reported in one, by how many runs the time of all threads is long: one or `numjobs`. Whether it is a group fio
/// does not print, and a group may hold several sections.
fn jobs_of(job: &Job, threads_ms: f64) -> Option<u64> {
    let numjobs = job.option("numjobs").map_or(Some(1), |text| text.parse().ok());
    let runtimes = job.directions.iter().filter_map(|one| one.runtime_ms);
    let longest = runtimes.map(|runtime| runtime.value).fold(0.0, f64::max);
    let runs = threads_ms / longest;
    let like = |jobs: &u64| (runs / *jobs as f64 - 1.0).abs() < 0.02;
    [Some(1), numjobs].into_iter().flatten().find(like).filter(|_| !job.aggregate)
}

#[cfg(test)]
mod tests;
