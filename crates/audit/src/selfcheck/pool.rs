//! Outputs of our own runs, committed below `fixtures/pool`, and what they say: read here by a way of its own, so that what is
//! measured does not vouch for itself.

use std::sync::OnceLock;

/// A committed output.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// Name of its file.
    pub name: &'static str,
    /// What was printed.
    pub text: &'static str,
}

macro_rules! pool {
    ($($name:literal),* $(,)?) => {
        &[$(Output { name: $name, text: include_str!(concat!("../../fixtures/pool/", $name)) }),*]
    };
}

/// All of them.
pub const ALL: &[Output] = pool![
    "dd-direct.txt",
    "dd-fdatasync.txt",
    "fio-long-randread-a.txt",
    "fio-long-randread-b.txt",
    "fio-long-randwrite-a.txt",
    "fio-long-randwrite-b.txt",
    "fio-randread-1m-io_uring.txt",
    "fio-randread-1m-libaio.txt",
    "fio-randread-4k-2-jobs-apart.txt",
    "fio-randread-4k-2-jobs.txt",
    "fio-randread-4k-io_uring.txt",
    "fio-randread-4k-libaio.json",
    "fio-randread-4k-libaio.txt",
    "fio-randread-4k-posixaio.txt",
    "fio-randread-4k-sync.txt",
    "fio-randread-64k-io_uring.txt",
    "fio-randread-64k-libaio.txt",
    "fio-randread-64k-posixaio.txt",
    "fio-randread-all-percentiles.txt",
    "fio-randread-bits.txt",
    "fio-randread-no-times.txt",
    "fio-randread-ramp.txt",
    "fio-randread-rate.txt",
    "fio-randread-six-figures.txt",
    "fio-randread-sizes-vary.txt",
    "fio-randrw-4k-4-jobs.txt",
    "fio-randrw-4k-io_uring.json",
    "fio-randrw-4k-io_uring.txt",
    "fio-randrw-4k-libaio.txt",
    "fio-randrw-4k-posixaio.txt",
    "fio-randrw-both.txt",
    "fio-randrw-two-sizes.txt",
    "fio-randwrite-1m-io_uring.txt",
    "fio-randwrite-1m-libaio.txt",
    "fio-randwrite-4k-io_uring.txt",
    "fio-randwrite-4k-libaio.txt",
    "fio-randwrite-4k-posixaio.txt",
    "fio-randwrite-64k-io_uring.txt",
    "fio-randwrite-64k-libaio.txt",
    "fio-randwrite-fsync.txt",
    "fio-read-1m-io_uring.txt",
    "fio-read-1m-libaio.txt",
    "fio-read-4k-io_uring.txt",
    "fio-read-4k-libaio.txt",
    "fio-read-4k-posixaio.txt",
    "fio-read-64k-io_uring.txt",
    "fio-read-64k-libaio.txt",
    "fio-write-1m-io_uring.txt",
    "fio-write-1m-libaio.txt",
    "fio-write-4k-io_uring.txt",
    "fio-write-4k-libaio.txt",
    "fio-write-4k-posixaio.txt",
    "fio-write-64k-io_uring.txt",
    "fio-write-64k-libaio.txt",
    "iperf3-one.txt",
    "iperf3-two.txt",
    "iperf3.json",
    "mbw-32.txt",
    "mbw-64.txt",
    "sysbench-cpu-1.txt",
    "sysbench-cpu-2.txt",
    "sysbench-memory-1.txt",
    "sysbench-memory-2.txt",
];

macro_rules! tools {
    ($($name:literal),* $(,)?) => {
        &[$(Output { name: $name, text: include_str!(concat!("../../fixtures/", $name)) }),*]
    };
}

/// Outputs of tools that the machine of the pool does not have, as their importers read them (fixtures/README-tools.md).
pub const TOOLS: &[Output] = tools![
    "diskspd/mixed.txt",
    "diskspd/write.txt",
    "elbencho/write-read.txt",
    "hcibench/fio-res.txt",
    "hcibench/vms.txt",
    "iperf3/tcpP.txt",
    "iperf3/udp.txt",
    "unixbench/four.txt",
    "vdbench/console.txt",
];

/// One way of a run.
#[derive(Clone, Debug)]
pub struct Way {
    /// `read` or `write`.
    pub name: &'static str,
    /// I/Os issued.
    pub issued: f64,
    /// As printed: `77.5k`.
    pub iops_text: &'static str,
    /// As printed, of 1024: `303MiB/s`.
    pub bandwidth_text: &'static str,
    /// As printed, of 1000: `318MB/s`.
    pub decimal_text: &'static str,
}

/// A run of fio with one job or one group, whose figures tables are made of.
#[derive(Clone, Debug)]
pub struct Run {
    /// Index of its output in [`ALL`].
    pub output: usize,
    /// Name of the job.
    pub job: &'static str,
    /// `randread`.
    pub rw: &'static str,
    /// Bytes of an I/O.
    pub bs: u64,
    /// `libaio`.
    pub engine: &'static str,
    /// I/Os in flight a job.
    pub depth: u64,
    /// Milliseconds.
    pub runtime_ms: f64,
    /// Reads, writes.
    pub ways: Vec<Way>,
}

impl Run {
    /// What it prints.
    pub fn text(&self) -> &'static str {
        ALL[self.output].text
    }

    /// I/Os a second of a way, a whole number as fio has it.
    pub fn iops(&self, way: usize) -> f64 {
        (1000.0 * self.ways[way].issued / self.runtime_ms).floor()
    }

    /// Bytes a second of a way.
    pub fn bandwidth(&self, way: usize) -> f64 {
        1000.0 * self.ways[way].issued * self.bs as f64 / self.runtime_ms
    }
}

/// Every run of the pool that tables can be made of.
pub fn runs() -> &'static [Run] {
    static RUNS: OnceLock<Vec<Run>> = OnceLock::new();
    RUNS.get_or_init(|| ALL.iter().enumerate().filter_map(|(at, output)| read(at, output)).collect())
}

/// What stands between two texts.
pub fn between<'a>(text: &'a str, before: &str, behind: &str) -> Option<&'a str> {
    let from = text.find(before)? + before.len();
    let end = text[from..].find(behind)?;
    Some(&text[from..from + end])
}

fn read(at: usize, output: &Output) -> Option<Run> {
    let text = output.text;
    // Those that print otherwise, of several jobs apart or of sizes that vary are shown, but no table is made of them.
    let plain = output.name.starts_with("fio-") && output.name.ends_with(".txt");
    let odd = [
        "bits",
        "vary",
        "two-sizes",
        "both",
        "fsync",
        "six",
        "apart",
        "no-times",
        "ramp",
        "percentiles",
        "rate",
    ];
    if !plain || odd.iter().any(|word| output.name.contains(word)) {
        return None;
    }
    let job = text.split(':').next()?;
    let issued = between(text, "issued rwts: total=", " ")?;
    let mut counts = issued.split(',').map(|count| count.parse::<f64>().unwrap_or(0.0));
    let mut ways = Vec::new();
    for name in ["read", "write"] {
        let issued = counts.next()?;
        if issued == 0.0 {
            continue;
        }
        let line = text.lines().find(|line| line.trim_start().starts_with(name) && line.contains("IOPS="))?;
        ways.push(Way {
            name,
            issued,
            iops_text: between(line, "IOPS=", ",")?,
            bandwidth_text: between(line, "BW=", " ")?,
            decimal_text: between(line, " (", ")")?,
        });
    }
    Some(Run {
        output: at,
        job,
        rw: between(text, "rw=", ",")?,
        bs: bytes(between(text, "bs=(R) ", "-")?)?,
        engine: between(text, "ioengine=", ",")?,
        depth: between(text, "iodepth=", "\n")?.parse().ok()?,
        runtime_ms: between(text, "run=", "-")?.parse().ok()?,
        ways,
    })
}

/// `4096B`, `64.0KiB`, `1024KiB`.
fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(|letter: char| letter.is_ascii_alphabetic())?);
    let scale = if unit.starts_with('K') { 1024.0 } else { 1.0 };
    Some((number.parse::<f64>().ok()? * scale) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_read_and_there_are_many() {
        assert!(runs().len() >= 30, "{}", runs().len());
        let first =
            runs().iter().find(|run| run.rw == "randread" && run.engine == "libaio" && run.bs == 4096);
        let first = first.unwrap();
        assert!(first.iops(0) > 1000.0 && first.bandwidth(0) > 1e6, "{first:?}");
        assert!(runs().iter().any(|run| run.rw == "randrw" && run.ways.len() == 2));
        let bytes: usize = ALL.iter().map(|output| output.text.len()).sum();
        assert!(bytes < 300_000, "{bytes}");
    }
}
