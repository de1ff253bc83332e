//! Parameters of the I/O to issue, in fio's own terms. The file or device is not a part of them.

use crate::data::DataKind;
use crate::distribution::Distribution;
use serde::{Deserialize, Serialize};

/// Direction and order of the I/Os (fio's `rw`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rw {
    /// Sequential reads (fio's `rw=read`).
    Read,
    /// Sequential writes (fio's `rw=write`).
    Write,
    /// Random reads (fio's `rw=randread`).
    RandRead,
    /// Random writes (fio's `rw=randwrite`).
    RandWrite,
    /// Sequential mix of reads and writes (fio's `rw` and `readwrite`).
    #[serde(alias = "readwrite")]
    Rw,
    /// Random mix of reads and writes (fio's `rw=randrw`).
    RandRw,
    /// Sequential trims, which give up the data of the blocks (fio's `rw=trim`).
    Trim,
    /// Random trims (fio's `rw=randtrim`).
    RandTrim,
    /// Sequential, each block trimmed and then written.
    TrimWrite,
    /// Random, each block trimmed and then written.
    RandTrimWrite,
}

impl Rw {
    /// Returns true if the job changes the target by writes or trims, so that its data may be lost.
    pub fn writes(self) -> bool {
        !matches!(self, Rw::Read | Rw::RandRead)
    }

    /// Returns true if the job issues reads.
    pub fn reads(self) -> bool {
        matches!(self, Rw::Read | Rw::RandRead | Rw::Rw | Rw::RandRw)
    }

    /// Returns true if the job issues trims.
    pub fn trims(self) -> bool {
        matches!(self, Rw::Trim | Rw::RandTrim | Rw::TrimWrite | Rw::RandTrimWrite)
    }

    /// Returns true if the job writes data; this excludes jobs that only trim.
    pub fn writes_data(self) -> bool {
        self.writes() && !matches!(self, Rw::Trim | Rw::RandTrim)
    }

    /// Returns true for the random orders (`rand*`), whose offsets are all random unless
    /// `percentage_random` says otherwise.
    pub fn random(self) -> bool {
        matches!(self, Rw::RandRead | Rw::RandWrite | Rw::RandRw | Rw::RandTrim | Rw::RandTrimWrite)
    }

    /// Returns the value of fio's `rw` option.
    pub fn word(self) -> &'static str {
        match self {
            Rw::Read => "read",
            Rw::Write => "write",
            Rw::RandRead => "randread",
            Rw::RandWrite => "randwrite",
            Rw::Rw => "rw",
            Rw::RandRw => "randrw",
            Rw::Trim => "trim",
            Rw::RandTrim => "randtrim",
            Rw::TrimWrite => "trimwrite",
            Rw::RandTrimWrite => "randtrimwrite",
        }
    }
}

/// One fio job: `numjobs` threads, each with `iodepth` I/Os in flight. All threads work on the same
/// region, unless `offset_increment` moves them apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Section name in the job file, or a generated one.
    pub name: String,
    /// Direction and order of the I/Os.
    pub rw: Rw,
    /// Percentage of reads in a mix, 0..=100.
    pub rwmixread: u8,
    /// Block size in bytes.
    pub bs: u64,
    /// Number of I/Os in flight per thread.
    pub iodepth: u32,
    /// Number of threads on each target (fio's `numjobs`).
    pub numjobs: u32,
    /// First byte of the region, or of the first thread's region.
    pub offset: u64,
    /// Distance in bytes between the starts of the regions of successive threads of numjobs (as in
    /// fio); 0 if all threads share one region.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub offset_increment: u64,
    /// Size of the region in bytes, of which whole blocks are used; `None` means up to the end of
    /// the target.
    pub size: Option<u64>,
    /// Percentage of I/Os at a random offset, 0..=100 (fio: 100 for rand*, 0 for sequential). As in
    /// fio, a sequential `rw` ignores it. Every thread of a sequential job starts at the region's
    /// first block, and a pass continues from slice to slice.
    pub percentage_random: u8,
    /// Distribution of the I/Os at a random offset over the blocks. Hot blocks lie all over the
    /// region, and are the same for all threads of the job.
    #[serde(default, skip_serializing_if = "Distribution::is_random")]
    pub random_distribution: Distribution,
    /// True if I/Os at a random offset hit each block once before any block again (fio's random
    /// map, the opposite of its `norandommap`). Reads and writes share the map. Each thread has its
    /// own order, which continues from slice to slice.
    #[serde(default, skip_serializing_if = "is_false")]
    pub random_map: bool,
    /// Number of writes between two fsyncs; 0 means never. As in fio, the fsync takes a place in
    /// the queue and does not wait for other writes in flight. If `fdatasync` is due too, only the
    /// fsync is issued.
    pub fsync: u32,
    /// Number of writes between two fdatasyncs; 0 means never.
    pub fdatasync: u32,
    /// True if all targets are flushed by an fsync when the slice ends, within its durable time.
    /// Ignored in a job that only reads.
    pub end_fsync: bool,
    /// True if the target is opened with O_DIRECT.
    pub direct: bool,
    /// Durability of each write when it returns (fio's `sync`).
    #[serde(default, skip_serializing_if = "WriteSync::is_none")]
    pub sync: WriteSync,
    /// Parts of the region that a sequential job leaves out (fio's `zonemode=strided`); `None`
    /// means none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stride: Option<Stride>,
    /// Rate of an open loop: I/Os per second and thread, reads and writes together. `None` means a
    /// closed loop. Latency counts from the intended start, so a stall shows in every I/O that it
    /// delays.
    pub rate_iops: Option<u64>,
    /// Percentage of each sector of write data that is zeros, 0 (incompressible, the default) ..=
    /// 100.
    pub buffer_compress_percentage: u8,
    /// Chance in percent, 0 (the default) ..= 100, that a unit of write data repeats the thread's
    /// last new unit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dedupe_percentage: u8,
    /// Size in bytes of the units that are new or repeated as a whole; `None` means a block, the
    /// largest unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dedupe_unit: Option<u64>,
    /// True if every written sector gets a stamp, reads of it are checked, and all of it is read
    /// back at the end ([`Worker::verify`](crate::Worker::verify)). This takes 8 bytes of memory
    /// per block, and CPU time that slices count.
    #[serde(default, skip_serializing_if = "is_false")]
    pub verify: bool,
    /// Clock reading at which the latency of an I/O begins.
    #[serde(default, skip_serializing_if = "Stamping::is_default")]
    pub stamps: Stamping,
    /// Kind of memory for the I/O buffers.
    #[serde(default, skip_serializing_if = "Iomem::is_default")]
    pub iomem: Iomem,
    /// True if a run continues after failed I/Os: they are counted, and no throughput or latency
    /// includes them. This is for the caller, who decides whether to run further slices. A target
    /// that only fails still ends a slice.
    #[serde(default, skip_serializing_if = "is_false")]
    pub continue_on_error: bool,
    /// Processors, in the place where the load runs, that the job's threads may use; empty means
    /// any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus_allowed: Vec<u32>,
    /// True if each thread gets one of the processors of `cpus_allowed`, in turn (fio's
    /// `cpus_allowed_policy=split`). Otherwise all threads share all of them.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cpus_split: bool,
    /// Priority class of the I/Os: 1 real time, 2 best effort, 3 idle; 0 is 2, as in fio. `None` is
    /// 2 if `prio` is given, and else leaves the thread's priority as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prioclass: Option<u8>,
    /// Priority level within the class, 0 (the highest) ..= 7. `None` is 0 if a class is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prio: Option<u8>,
    /// Seed of offsets, mix and write data; each thread draws its own random numbers from it.
    pub randseed: u64,
    /// Further options, `key=value`, of a job that only the installed fio can run; see
    /// [`fio_options`](crate::fio_options). The engines of iotax refuse a job that has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fio_options: Vec<String>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_nothing(bytes: &u64) -> bool {
    *bytes == 0
}

fn is_zero(percent: &u8) -> bool {
    *percent == 0
}

impl Job {
    /// Returns the kind of data that the job writes.
    pub fn data(&self) -> DataKind {
        DataKind {
            compress_percent: self.buffer_compress_percentage,
            dedupe_percent: self.dedupe_percentage,
            unit: self.dedupe_unit.unwrap_or(self.bs),
        }
    }

    /// Returns the first byte of the region of a thread, counted from 0 to numjobs - 1. The result
    /// saturates at the largest number.
    pub fn offset_of(&self, thread: u32) -> u64 {
        self.offset.saturating_add(self.offset_increment.saturating_mul(u64::from(thread)))
    }

    /// Returns the first byte of the last thread's region.
    pub fn last_offset(&self) -> u64 {
        self.offset_of(self.numjobs.saturating_sub(1))
    }

    /// Splits the job into jobs without `offset_increment` that issue the same load: one for each
    /// thread if regions differ.
    pub fn apart(&self) -> Vec<Job> {
        match (self.offset_increment, self.numjobs) {
            (0, _) | (_, 0 | 1) => vec![Job { offset_increment: 0, ..self.clone() }],
            (_, threads) => {
                let alone = |thread| Job {
                    offset: self.offset_of(thread),
                    offset_increment: 0,
                    numjobs: 1,
                    ..self.clone()
                };
                (0..threads).map(alone).collect()
            }
        }
    }

    /// Returns this job with data of the given kind.
    #[must_use]
    pub fn writing(self, data: DataKind) -> Job {
        Job {
            buffer_compress_percentage: data.compress_percent,
            dedupe_percentage: data.dedupe_percent,
            dedupe_unit: Some(data.unit).filter(|unit| *unit > 0 && data.dedupe_percent > 0),
            ..self
        }
    }
}

impl Default for Job {
    fn default() -> Self {
        Job {
            name: "4k-randread".into(),
            rw: Rw::RandRead,
            rwmixread: 50,
            bs: 4096,
            iodepth: 1,
            numjobs: 1,
            offset: 0,
            offset_increment: 0,
            size: None,
            percentage_random: 100,
            random_distribution: Distribution::Random,
            random_map: false,
            fsync: 0,
            fdatasync: 0,
            end_fsync: false,
            direct: true,
            sync: WriteSync::default(),
            stride: None,
            rate_iops: None,
            buffer_compress_percentage: 0,
            dedupe_percentage: 0,
            dedupe_unit: None,
            verify: false,
            stamps: Stamping::default(),
            iomem: Iomem::default(),
            continue_on_error: false,
            cpus_allowed: Vec::new(),
            cpus_split: false,
            prioclass: None,
            prio: None,
            randseed: 1,
            fio_options: Vec::new(),
        }
    }
}

/// Durability of each write when it returns, by a flag of the open file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WriteSync {
    /// A write may return before it is durable.
    #[default]
    None,
    /// O_DSYNC: the data are durable, and what is needed to read them.
    Dsync,
    /// O_SYNC: the data and all metadata are durable.
    Sync,
}

impl WriteSync {
    /// Returns true if writes may return before they are durable.
    pub fn is_none(&self) -> bool {
        *self == WriteSync::None
    }

    /// Returns the value of fio's `sync` option.
    pub fn word(self) -> &'static str {
        match self {
            WriteSync::None => "none",
            WriteSync::Dsync => "dsync",
            WriteSync::Sync => "sync",
        }
    }
}

/// Zones of a sequential job: the first begins with the region, and the job goes on in the next one
/// when all of a zone is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stride {
    /// Size of a zone in bytes, a multiple of the block size above 0 (fio's `zonesize`).
    pub zone: u64,
    /// Bytes between the end of a zone and the next one, a multiple of the block size (fio's
    /// `zoneskip`).
    pub skip: u64,
}

/// Clock reading at which the latency of an I/O begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stamping {
    /// Reads the clock for each I/O, just before it is handed to the engine.
    #[default]
    Each,
    /// Uses the clock reading of the last look at the queue for all I/Os issued after it. This
    /// saves a reading for each I/O, and makes latencies longer by the time it takes to issue those
    /// before it.
    Batch,
    /// Records no latencies; shows what recording them costs.
    Off,
}

impl Stamping {
    fn is_default(&self) -> bool {
        *self == Stamping::default()
    }
}

/// Memory of the I/O buffers: the part of fio's `iomem` that is supported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Iomem {
    /// Pages of the usual size.
    #[default]
    Malloc,
    /// Huge pages: reserved ones (`vm.nr_hugepages`), or else those that the kernel makes on
    /// request (madvise). Large O_DIRECT I/Os take much less time with them, so this changes what
    /// is measured.
    MmapHuge,
}

impl Iomem {
    fn is_default(&self) -> bool {
        *self == Iomem::default()
    }
}

/// Delay of a completion before it counts and its slot is used again: the `delay` layer, a stack of
/// known cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// Nanoseconds added to each completion.
    pub ns: u64,
    /// Additional delay in parts per million of the I/O's own cycle, which runs from the slot's
    /// last release, or the slice's start, to this completion. At depth 1 a share p then costs
    /// exactly p / (1 + p) of the throughput, however the device drifts. In an open loop, where a
    /// slot may rest, the cycle begins at the submission.
    pub share_ppm: u32,
}

impl Hold {
    /// Returns true if completions are not held back.
    pub fn is_none(self) -> bool {
        self == Hold::default()
    }
}
