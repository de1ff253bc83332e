//! What `run` and `plan` are asked on the command line, turned into a checked scenario.

use crate::exit::Failed;
use crate::scenario::Scenario;
use crate::scenario::check::{Request, from_arguments};
use anyhow::Result;

/// Arguments that say what to measure.
#[derive(clap::Args, Debug, Default)]
pub struct Asked {
    /// A scenario (.toml), a fio job file (.fio), or stacks such as "file:/srv/x.img,size=4GiB | loop"
    #[arg(required = true, value_name = "SCENARIO|JOBFILE|STACK")]
    pub what: Vec<String>,
    /// Take one stack apart: measure every prefix of it, a line a layer
    #[arg(long)]
    pub bill: bool,
    /// Name of the stack that the others are compared with [default: the first]
    #[arg(long, value_name = "STACK")]
    pub baseline: Option<String>,
    /// null, sync, uring or fio [default: by what kernel and target do]
    #[arg(long)]
    pub engine: Option<String>,
    /// Length of a slice
    #[arg(long, value_name = "TIME")]
    pub slice: Option<String>,
    /// Wished half-width of the interval
    #[arg(long, value_name = "PERCENT")]
    pub precision: Option<String>,
    /// Measure a workload no longer than this
    #[arg(long, value_name = "TIME")]
    pub budget: Option<String>,
    /// Measure a workload at least this long
    #[arg(long, value_name = "TIME")]
    pub min_time: Option<String>,
    /// Visits where stacks cannot be up together
    #[arg(long)]
    pub visits: Option<u32>,
    /// Seed of every random choice
    #[arg(long)]
    pub seed: Option<u64>,
    /// The one device that may be written: serial=S[,wipe=SIGNATURE]; never a path
    #[arg(long, value_name = "serial=S,wipe=W")]
    pub destroy: Vec<String>,
    /// Write no drive more than this
    #[arg(long, value_name = "SIZE")]
    pub max_written: Option<String>,
    #[command(flatten)]
    words: FioWords,
}

impl Asked {
    /// Stacks with keys of `[measure]` and nothing else, as the demo asks.
    pub fn of(stacks: &[String], settings: &[(&str, &str)]) -> Asked {
        let get =
            |key: &str| settings.iter().find(|(name, _)| *name == key).map(|(_, value)| (*value).to_owned());
        Asked {
            what: stacks.to_vec(),
            bill: settings.contains(&("bill", "true")),
            slice: get("slice"),
            precision: get("precision"),
            budget: get("budget"),
            min_time: get("min_time"),
            ..Asked::default()
        }
    }

    /// The checked scenario.
    ///
    /// # Errors
    /// Bad input with its place, the reason and a hint.
    pub fn scenario(&self) -> Result<Scenario> {
        from_arguments(&self.what, &self.request()).map_err(|error| Failed::from(error).into())
    }

    fn request(&self) -> Request {
        let measure = [
            ("slice", self.slice.clone()),
            ("precision", self.precision.clone()),
            ("budget", self.budget.clone()),
            ("min_time", self.min_time.clone()),
            ("visits", self.visits.map(|visits| visits.to_string())),
            ("seed", self.seed.map(|seed| seed.to_string())),
        ];
        Request {
            bill: self.bill,
            baseline: self.baseline.clone(),
            words: self.words.given(),
            job_file: None,
            measure: measure.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect(),
            engine: self.engine.clone(),
            destroy: self.destroy.clone(),
            max_written: self.max_written.clone(),
        }
    }
}

/// fio's own words for the workload.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "Workload, in fio's words")]
struct FioWords {
    /// read, write, randread, randwrite, rw, randrw
    #[arg(long, alias = "readwrite")]
    rw: Option<String>,
    /// Percentage of reads in a mix
    #[arg(long)]
    rwmixread: Option<String>,
    /// Block size
    #[arg(long)]
    bs: Option<String>,
    /// I/Os in flight a job
    #[arg(long)]
    iodepth: Option<String>,
    /// Jobs at once
    #[arg(long)]
    numjobs: Option<String>,
    /// Bytes of the target in use
    #[arg(long)]
    size: Option<String>,
    /// First byte in use
    #[arg(long)]
    offset: Option<String>,
    /// Share of I/Os at a random offset
    #[arg(long, alias = "percentage-random")]
    percentage_random: Option<String>,
    /// fsync after so many writes
    #[arg(long)]
    fsync: Option<String>,
    /// fdatasync after so many writes
    #[arg(long)]
    fdatasync: Option<String>,
    /// fsync at the end of a slice
    #[arg(long, alias = "end-fsync")]
    end_fsync: Option<String>,
    /// O_DIRECT: 1 or 0
    #[arg(long)]
    direct: Option<String>,
    /// I/Os a second a job (open loop)
    #[arg(long, alias = "rate-iops")]
    rate_iops: Option<String>,
    /// How compressible the data written are
    #[arg(long, alias = "buffer-compress-percentage")]
    buffer_compress_percentage: Option<String>,
    /// Seed of offsets and data
    #[arg(long)]
    randseed: Option<String>,
}

impl FioWords {
    /// The words that were given, with fio's names.
    fn given(&self) -> Vec<(String, String)> {
        let all = [
            ("rw", &self.rw),
            ("rwmixread", &self.rwmixread),
            ("bs", &self.bs),
            ("iodepth", &self.iodepth),
            ("numjobs", &self.numjobs),
            ("size", &self.size),
            ("offset", &self.offset),
            ("percentage_random", &self.percentage_random),
            ("fsync", &self.fsync),
            ("fdatasync", &self.fdatasync),
            ("end_fsync", &self.end_fsync),
            ("direct", &self.direct),
            ("rate_iops", &self.rate_iops),
            ("buffer_compress_percentage", &self.buffer_compress_percentage),
            ("randseed", &self.randseed),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value.clone()?))).collect()
    }
}
