//! Runs one read load on one target and prints one line of JSON: rate, CPU time per I/O, latency.
//! `cargo run --release -p iotax-load --example generator -- filename=/dev/zero ioengine=uring`.
//! `tools/bench-fio` runs it against fio. It only reads.

use iotax_load::{
    EngineName, Histogram, Hold, Iomem, Job, Rw, SliceBound, SliceSpec, Stamping, TargetSpec,
    Worker,
};
use std::error::Error;
use std::time::Duration;

const USAGE: &str = "usage: generator filename=PATH [OPTION=VALUE ...], options as in fio:
  size=BYTES        bytes of the target that are read [all]
  ioengine=WORD     uring, aio, sync, posixaio or null [chosen by the target]
  rw=WORD           read or randread [randread]
  bs=BYTES          block size [4k]
  iodepth=N         I/Os in flight per thread [1]
  numjobs=N         threads [1]
  direct=0|1        O_DIRECT [0]
  rate_iops=N       I/Os per second and thread [as fast as it goes]
  runtime=TIME      length of the window [2s]; 50 ms before it are discarded
  iomem=WORD        malloc or mmaphuge, memory of the I/Os [malloc]
  stamps=WORD       each: a clock reading per I/O, batch: per batch, off: no latencies [each]";

/// Time discarded at the start, for the processor's caches.
const DISCARD: Duration = Duration::from_millis(50);

struct Load {
    target: TargetSpec,
    job: Job,
    engine: Option<EngineName>,
    window: Duration,
}

impl Load {
    fn parse(words: impl Iterator<Item = String>) -> Result<Load, Box<dyn Error>> {
        let target = TargetSpec {
            path: "".into(),
            offset: 0,
            bytes: None,
            writable: false,
            hold: Hold::default(),
        };
        let job = Job { rw: Rw::RandRead, direct: false, ..Job::default() };
        let mut load = Load { target, job, engine: None, window: Duration::from_secs(2) };
        for word in words {
            let (option, value) = word.split_once('=').ok_or(USAGE)?;
            load.set(option.trim_start_matches('-'), value)
                .map_err(|error| format!("{word}: {error}"))?;
        }
        if load.target.path.as_os_str().is_empty() {
            return Err(USAGE.into());
        }
        load.job.percentage_random = if load.job.rw.random() { 100 } else { 0 };
        Ok(load)
    }

    fn set(&mut self, option: &str, value: &str) -> Result<(), Box<dyn Error>> {
        let job = &mut self.job;
        match (option, value) {
            ("filename", path) => self.target.path = path.into(),
            ("size", size) => self.target.bytes = Some(iotax_units::parse_bytes(size)?),
            ("ioengine", word) => self.engine = Some(word.parse()?),
            ("rw", "read") => job.rw = Rw::Read,
            ("rw", "randread") => job.rw = Rw::RandRead,
            ("bs", size) => job.bs = iotax_units::parse_bytes(size)?,
            ("iodepth", number) => job.iodepth = number.parse()?,
            ("numjobs", number) => job.numjobs = number.parse()?,
            ("direct", flag @ ("0" | "1")) => job.direct = flag == "1",
            ("rate_iops", number) => job.rate_iops = Some(number.parse()?),
            ("runtime", time) => self.window = iotax_units::parse_duration(time)?,
            ("iomem", "malloc") => job.iomem = Iomem::Malloc,
            ("iomem", "mmaphuge") => job.iomem = Iomem::MmapHuge,
            ("stamps", "each") => job.stamps = Stamping::Each,
            ("stamps", "batch") => job.stamps = Stamping::Batch,
            ("stamps", "off") => job.stamps = Stamping::Off,
            _ => return Err(format!("unknown\n{USAGE}").into()),
        }
        Ok(())
    }

    fn run(&self) -> Result<String, Box<dyn Error>> {
        let before = private_kib()?;
        let mut worker = Worker::prepare(
            std::slice::from_ref(&self.target),
            std::slice::from_ref(&self.job),
            self.engine,
        )?;
        let bound = SliceBound::Time { ns: self.window.as_nanos() as u64 };
        let result = worker.measure_slice(&SliceSpec::starting_now(
            bound,
            DISCARD.as_nanos() as u64,
            false,
        ))?;
        let memory_kib = private_kib()?.saturating_sub(before);
        if result.errors > 0 {
            let first = result.first_error.unwrap_or_default();
            return Err(format!("{} I/Os failed: {first}", result.errors).into());
        }
        let all = (result.read.ios + result.discarded_ios).max(1) as f64;
        let law = result.littles_law_error().map_or("null".to_owned(), |error| error.to_string());
        Ok(format!(
            "{{\"engine\": \"{}\", \"iops\": {:.1}, \"cpu_user_ns_per_io\": {:.2}, \
             \"cpu_kernel_ns_per_io\": {:.2}, \"latency_ns\": {}, \"reap_gap_ns\": {}, \
             \"littles_law_error\": {law}, \"memory_kib\": {memory_kib}}}",
            worker.engine().name,
            result.read.ios as f64 / (result.window_ns as f64 / 1e9),
            result.cpu_user_ns as f64 / all,
            result.cpu_system_ns as f64 / all,
            latencies(&result.read.latency),
            latencies(&result.reap_gap),
        ))
    }
}

/// Returns the latencies as a JSON object, or `null` if none was recorded.
fn latencies(of: &Histogram) -> String {
    let Some(mean) = of.mean() else { return "null".to_owned() };
    let percentile = |q| of.percentile(q).unwrap_or_default();
    format!(
        "{{\"mean\": {mean:.1}, \"p50\": {}, \"p99\": {}, \"p99.9\": {}, \"max\": {}, \"n\": {}}}",
        percentile(0.5),
        percentile(0.99),
        percentile(0.999),
        of.max().unwrap_or_default(),
        of.count(),
    )
}

/// Reads the anonymous memory of this process in KiB.
fn private_kib() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let words = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    Ok(words.and_then(|words| words.trim().strip_suffix(" kB")).ok_or("no RssAnon")?.parse()?)
}

fn main() {
    match Load::parse(std::env::args().skip(1)).and_then(|load| load.run()) {
        Ok(line) => println!("{line}"),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
    }
}
