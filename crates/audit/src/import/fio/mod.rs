//! fio's output in one form, read from normal text, JSON and terse output. Figures are in I/Os per
//! second, bytes per second, bytes or percent, runtimes in milliseconds, latencies in nanoseconds.

pub mod json;
pub mod num2str;
pub mod options;
pub mod settings;
pub mod snapshots;
pub mod terse;
pub mod text;

use super::cut::as_count;
use super::workload::{OutputFigure, ResultDirection, ToolResult, Workload};
use crate::claim::Metric;
use crate::number::{NumberUnit, PrintedNumber};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FioVersion {
    pub major: u32,
    pub minor: u32,
}

impl FioVersion {
    /// Reads the version from `fio-3.16`, `fio-3.26-19-ge7e53`, `fio-2.2.10`.
    pub(crate) fn parse_fio_version(text: &str) -> Option<FioVersion> {
        let bare = text.trim().strip_prefix("fio-").unwrap_or(text.trim());
        let mut parts = bare.split(|letter: char| !letter.is_ascii_digit());
        let major = parts.next()?.parse().ok()?;
        let minor = parts.next()?.parse().ok()?;
        Some(FioVersion { major, minor })
    }

    pub(crate) fn is_from(self, major: u32, minor: u32) -> bool {
        self >= FioVersion { major, minor }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum FioForm {
    #[default]
    Text,
    Json,
    Terse,
    /// Result lines of normal text, pasted without the line of their job.
    Excerpt,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fio {
    pub(crate) form: FioForm,
    pub version: Option<FioVersion>,
    /// True if the output has its head: `Starting 4 processes`.
    pub(crate) started: bool,
    pub(crate) asked: Vec<FioJobLine>,
    pub(crate) eta: Option<FioEta>,
    pub jobs: Vec<FioReport>,
    pub(crate) statuses: Vec<GroupStatus>,
}

/// Settings of a job, as in `name: (g=0): rw=randrw, bs=(R) 4096B-4096B, ..., ioengine=libaio,
/// iodepth=1` or as its options state them.
#[derive(Clone, Debug, PartialEq)]
pub struct FioJobLine {
    pub name: String,
    pub line: usize,
    pub rw: Option<String>,
    /// Minimum and maximum size of an I/O in bytes, for reads, writes and trims.
    pub bs: [Option<(u64, u64)>; 3],
    pub ioengine: Option<String>,
    pub iodepth: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FioEta {
    pub(crate) bytes_per_second: [Option<PrintedNumber>; 3],
    pub(crate) done: Option<f64>,
}

/// A job or a group of jobs that reported together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FioReport {
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) group: Option<u64>,
    pub jobs: Option<u64>,
    pub(crate) error: Option<PrintedNumber>,
    pub ended: Option<String>,
    /// JSON's `timestamp_ms`: time of the report, in milliseconds since 1970.
    pub(crate) printed_ms: Option<u64>,
    /// JSON's `job_start` (from 3.36 on): time of the start, in milliseconds since 1970.
    pub(crate) began_ms: Option<u64>,
    pub(crate) pid: Option<u64>,
    /// Options of the job, which only JSON prints: the global ones, then `job options`.
    pub(crate) options: Vec<(String, String)>,
    pub(crate) directions: Vec<Direction>,
    pub(crate) cpu: Option<FioCpu>,
    pub(crate) issued: Option<IssuedLine>,
    pub(crate) host: Option<String>,
    /// True if the report sums other jobs of this output: `All clients`, or `mixed` next to the
    /// directions.
    pub(crate) aggregate: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct IssuedLine {
    pub(crate) total: [Option<PrintedNumber>; 3],
    pub(crate) short: [Option<PrintedNumber>; 3],
    pub(crate) dropped: [Option<PrintedNumber>; 3],
}

/// Line `cpu : usr=44.65%, sys=45.51%, ctx=703251`: shares of CPU time in percent, and the number
/// of context switches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FioCpu {
    pub(crate) user: PrintedNumber,
    pub(crate) system: PrintedNumber,
    pub(crate) switches: Option<PrintedNumber>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Direction {
    pub(crate) way: ResultDirection,
    pub(crate) line: usize,
    pub(crate) iops: Option<PrintedNumber>,
    /// Bytes per second, printed 1024-based; JSON's `bw_bytes`.
    pub(crate) bandwidth: Option<PrintedNumber>,
    /// Bytes per second, printed 1000-based next to `bandwidth`; JSON's `bw` in KiB/s next to
    /// `bw_bytes`.
    pub(crate) bandwidth_decimal: Option<PrintedNumber>,
    /// Total bytes, printed 1024-based; JSON's `io_bytes`.
    pub(crate) io: Option<PrintedNumber>,
    /// Total bytes, printed 1000-based in the run status; JSON's `io_kbytes` in KiB.
    pub(crate) io_decimal: Option<PrintedNumber>,
    pub(crate) runtime_ms: Option<PrintedNumber>,
    pub(crate) slat: Option<FioLatency>,
    pub(crate) clat: Option<FioLatency>,
    pub(crate) lat: Option<FioLatency>,
    /// Percentiles; those of completions if several latencies have them.
    pub(crate) percentiles: Option<Percentiles>,
    pub(crate) ios: Option<PrintedNumber>,
    /// JSON+'s histogram of the latency that `percentiles` describe: nanoseconds and count. Empty
    /// if it was not printed.
    pub(crate) histogram: Vec<(u64, u64)>,
}

/// Minimum, maximum, mean and standard deviation in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FioLatency {
    pub(crate) min: PrintedNumber,
    pub(crate) max: PrintedNumber,
    pub(crate) mean: PrintedNumber,
    pub(crate) deviation: PrintedNumber,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Percentiles {
    /// Name of the latency that they describe: `clat`, `lat` or `slat`.
    pub(crate) of: &'static str,
    pub(crate) points: Vec<(f64, PrintedNumber)>,
}

/// Line of the run status: `READ: bw=102MiB/s (107MB/s), 102MiB/s-102MiB/s (107MB/s-107MB/s),
/// io=29.8GiB (31.0GB), run=300001-300001msec`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GroupStatus {
    pub(crate) group: Option<u64>,
    pub(crate) way: ResultDirection,
    /// Bandwidth of all jobs together, 1024-based and 1000-based.
    pub(crate) bandwidth: [Option<PrintedNumber>; 2],
    pub(crate) slowest: [Option<PrintedNumber>; 2],
    pub(crate) fastest: [Option<PrintedNumber>; 2],
    pub(crate) io: [Option<PrintedNumber>; 2],
    /// Milliseconds of the shortest and of the longest run.
    pub(crate) runtime_ms: [Option<PrintedNumber>; 2],
}

pub(crate) fn index_of(way: ResultDirection) -> usize {
    match way {
        ResultDirection::Read | ResultDirection::Both => 0,
        ResultDirection::Write => 1,
        ResultDirection::Trim => 2,
    }
}

/// Largest number of jobs that fio runs (`REAL_MAX_JOBS`), and of settings that are kept: each job
/// is searched among all of them.
pub(crate) const MOST_JOBS: usize = 4096;

impl Fio {
    /// Returns the settings of a job by its name. If there is only one set of settings and all jobs
    /// share a name, returns that set: with `--output`, fio leaves out the first lines of all jobs
    /// but the last.
    pub(crate) fn asked_of(&self, job: &FioReport) -> Option<&FioJobLine> {
        let named = self.asked.iter().find(|asked| asked.name == job.name);
        let alone = || {
            let mut names = self.jobs.iter().filter(|job| !job.aggregate).map(|job| &job.name);
            let first = names.next();
            names.all(|name| Some(name) == first)
        };
        named.or(match self.asked.as_slice() {
            [only] if alone() => Some(only),
            _ => None,
        })
    }

    /// Returns the size in bytes of a job's I/Os in one direction, if it is fixed.
    pub(crate) fn block_size(&self, job: &FioReport, way: ResultDirection) -> Option<u64> {
        let (least, most) = self.asked_of(job)?.bs[index_of(way)]?;
        (least == most).then_some(least)
    }

    pub(crate) fn visit_output_figures(&self, add: &mut dyn FnMut(OutputFigure)) {
        let mut say = |metric, unit, figures: &[Option<PrintedNumber>]| {
            figures.iter().flatten().for_each(|figure| add((metric, unit, *figure)));
        };
        if let Some(eta) = &self.eta {
            say(Metric::Interval, NumberUnit::BytesPerSecond, &eta.bytes_per_second);
        }
        self.jobs.iter().for_each(|job| job.visit_job_figures(&mut say));
        for status in &self.statuses {
            for figures in [&status.bandwidth, &status.slowest, &status.fastest] {
                say(Metric::Bandwidth, NumberUnit::BytesPerSecond, figures);
            }
            say(Metric::Total, NumberUnit::Bytes, &status.io);
            say(Metric::Runtime, NumberUnit::Nanoseconds, &status.runtime_ms.map(of_ms));
        }
    }

    /// Returns the results in the form that all tools share. A job that sums others is left out if
    /// those are printed too.
    pub(crate) fn readings(&self) -> Vec<ToolResult> {
        let of_job = |job: &FioReport| -> Vec<ToolResult> {
            job.directions.iter().map(|direction| self.reading(job, direction)).collect()
        };
        let parts = self.jobs.iter().any(|job| !job.aggregate);
        self.jobs.iter().filter(|job| !(parts && job.aggregate)).flat_map(of_job).collect()
    }

    fn reading(&self, job: &FioReport, direction: &Direction) -> ToolResult {
        let asked = self.asked_of(job);
        let workload = Workload {
            rw: asked.and_then(|asked| asked.rw.clone()),
            bs: self.block_size(job, direction.way),
            iodepth: asked.and_then(|asked| asked.iodepth),
            numjobs: job.jobs.or_else(|| job.option("numjobs")?.parse().ok()),
            ioengine: asked.and_then(|asked| asked.ioengine.clone()),
            rwmixread: job.option("rwmixread").and_then(|share| share.parse().ok()),
            runtime_s: direction.runtime_ms.map(|figure| figure.value / 1e3),
            name: (!job.name.is_empty()).then(|| job.name.clone()),
        };
        let issued = job.issued.and_then(|issued| issued.total[index_of(direction.way)]);
        ToolResult {
            iops: direction.iops,
            bytes_per_second: direction.bandwidth.or(direction.bandwidth_decimal),
            ios: direction.ios.or(issued),
            bytes: direction.io,
            // fio itself divides by these whole milliseconds.
            runtime_ns: of_ms(direction.runtime_ms).map(as_count),
            mean_ns: direction.lat.or(direction.clat).map(|latency| latency.mean),
            percentiles_ns: direction
                .percentiles
                .as_ref()
                .map(|found| found.points.clone())
                .unwrap_or_default(),
            histogram_ns: direction.histogram.clone(),
            caps: settings::caps(job)
                .into_iter()
                .chain(asked.and_then(|asked| range(asked, direction.way)))
                .collect(),
            settings: settings::result_settings(job),
            failed: job.failure(),
            ..ToolResult::new(direction.line, workload, direction.way)
        }
    }
}

/// Returns `bsrange=4096-65536` if the size of an I/O varies.
fn range(asked: &FioJobLine, way: ResultDirection) -> Option<String> {
    let (least, most) = asked.bs[index_of(way)].filter(|(least, most)| least != most)?;
    Some(format!("bsrange={least}-{most}"))
}

fn of_ms(figure: Option<PrintedNumber>) -> Option<PrintedNumber> {
    figure.map(|figure| figure.scaled(1e6))
}

type FioMessage<'a> = dyn FnMut(Metric, NumberUnit, &[Option<PrintedNumber>]) + 'a;

impl FioReport {
    fn visit_job_figures(&self, say: &mut FioMessage) {
        say(Metric::Other, NumberUnit::Things, &[self.error]);
        self.directions.iter().for_each(|direction| direction.visit_direction_figures(say));
        if let Some(cpu) = &self.cpu {
            say(Metric::Cpu, NumberUnit::Percent, &[Some(cpu.user), Some(cpu.system)]);
        }
        if let Some(issued) = &self.issued {
            // JSON prints issued I/Os once; the direction has them too.
            let is_printed = |figure: &Option<PrintedNumber>| {
                self.directions.iter().any(|one| one.ios == *figure)
            };
            let total = issued.total.map(|figure| figure.filter(|_| !is_printed(&figure)));
            [total, issued.short, issued.dropped]
                .iter()
                .for_each(|all| say(Metric::Issued, NumberUnit::Things, all));
        }
    }

    /// Returns `error 5, Input/output error` for a job that failed.
    fn failure(&self) -> Option<String> {
        let code = self.error.map(|error| error.value as i32).filter(|code| *code != 0)?;
        let named = std::io::Error::from_raw_os_error(code.abs()).to_string();
        Some(format!("error {code}, {}", named.split(" (os error").next().unwrap_or_default()))
    }

    pub(crate) fn option(&self, key: &str) -> Option<&str> {
        self.options.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }
}

impl Direction {
    pub(crate) fn new(way: ResultDirection, line: usize) -> Direction {
        Direction { way, line, ..Direction::default() }
    }

    fn visit_direction_figures(&self, say: &mut FioMessage) {
        say(Metric::Iops, NumberUnit::PerSecond, &[self.iops]);
        say(
            Metric::Bandwidth,
            NumberUnit::BytesPerSecond,
            &[self.bandwidth, self.bandwidth_decimal],
        );
        say(Metric::Total, NumberUnit::Bytes, &[self.io, self.io_decimal]);
        say(Metric::Runtime, NumberUnit::Nanoseconds, &[of_ms(self.runtime_ms)]);
        say(Metric::Issued, NumberUnit::Things, &[self.ios]);
        for (metric, latency) in [
            (Metric::SubmissionLatency, self.slat),
            (Metric::CompletionLatency, self.clat),
            (Metric::Latency, self.lat),
        ] {
            let all = latency.map(|one| [one.min, one.max, one.mean, one.deviation].map(Some));
            say(metric, NumberUnit::Nanoseconds, &all.unwrap_or_default());
        }
        for (_, figure) in self.percentiles.iter().flat_map(|found| &found.points) {
            say(Metric::Percentile, NumberUnit::Nanoseconds, &[Some(*figure)]);
        }
    }
}
