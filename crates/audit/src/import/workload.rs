//! Results in the form that all tools share: the load, the direction, the rates and the duration.

use crate::claim::Metric;
use crate::number::{NumberUnit, PrintedNumber};

/// A figure of an output: what it measures, its unit, and its value.
pub type OutputFigure = (Metric, NumberUnit, PrintedNumber);

/// Direction of I/O: reads, writes, trims, or both if the output does not separate them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ResultDirection {
    Read,
    Write,
    Trim,
    #[default]
    Both,
}

/// The load in fio's words, as far as the output or its command states it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workload {
    pub rw: Option<String>,
    /// Bytes per I/O; `None` if they vary or are not stated.
    pub bs: Option<u64>,
    pub iodepth: Option<u64>,
    pub numjobs: Option<u64>,
    pub ioengine: Option<String>,
    pub rwmixread: Option<f64>,
    pub runtime_s: Option<f64>,
    pub name: Option<String>,
}

/// One result: one direction of a job, group, virtual machine or test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolResult {
    /// Index of the line at which the result begins.
    pub line: usize,
    pub workload: Workload,
    pub way: ResultDirection,
    pub iops: Option<PrintedNumber>,
    pub bytes_per_second: Option<PrintedNumber>,
    pub ios: Option<PrintedNumber>,
    pub bytes: Option<PrintedNumber>,
    pub runtime_ns: Option<PrintedNumber>,
    pub mean_ns: Option<PrintedNumber>,
    pub percentiles_ns: Vec<(f64, PrintedNumber)>,
    /// Histogram of latencies: nanoseconds and number of I/Os per bin. Empty if it is not printed.
    pub histogram_ns: Vec<(u64, u64)>,
    /// Further results that are not I/O.
    pub others: Vec<OtherToolResult>,
    /// Options that change the load: `rate_iops=1000`, `rw=randread:8`, `bsrange=4096-65536`.
    pub caps: Vec<String>,
    /// Other options that may change the result: `direct=1`. `None` if the output prints no
    /// options.
    pub settings: Option<Vec<String>>,
    /// Reason why the run failed: `error 5, Input/output error`.
    pub failed: Option<String>,
    /// Identity of the run, from which one that is printed twice is recognised: the time of its
    /// average, the ports of its connection.
    pub run: Option<String>,
}

/// A result other than I/O: a score, a rate of copies, a network's throughput.
#[derive(Clone, Debug, PartialEq)]
pub struct OtherToolResult {
    /// Name as printed: `Dhrystone 2 using register variables`.
    pub name: String,
    pub unit: String,
    pub more_is_better: bool,
    /// The figure, in the unit that is printed.
    pub figure: PrintedNumber,
}

impl ToolResult {
    pub fn new(line: usize, workload: Workload, way: ResultDirection) -> ToolResult {
        ToolResult { line, workload, way, ..ToolResult::default() }
    }
}
