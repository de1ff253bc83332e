//! What I/O to issue, in fio's own words. A job says nothing about where: that is the target.

use crate::data::DataKind;
use crate::distribution::Distribution;
use serde::{Deserialize, Serialize};

/// fio's `rw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rw {
    /// Sequential reads.
    Read,
    /// Sequential writes.
    Write,
    /// Random reads.
    RandRead,
    /// Random writes.
    RandWrite,
    /// Sequential mix of reads and writes (fio's `rw` and `readwrite`).
    #[serde(alias = "readwrite")]
    Rw,
    /// Random mix of reads and writes.
    RandRw,
    /// Sequential trims: what is there is given up.
    Trim,
    /// Random trims.
    RandTrim,
    /// Sequential, each block trimmed and then written.
    TrimWrite,
    /// Random, each block trimmed and then written.
    RandTrimWrite,
}

impl Rw {
    /// Whether the target is changed, by writes or by trims: what is there may be lost.
    pub fn writes(self) -> bool {
        !matches!(self, Rw::Read | Rw::RandRead)
    }

    /// Whether any read is issued.
    pub fn reads(self) -> bool {
        matches!(self, Rw::Read | Rw::RandRead | Rw::Rw | Rw::RandRw)
    }

    /// Whether any trim is issued.
    pub fn trims(self) -> bool {
        matches!(self, Rw::Trim | Rw::RandTrim | Rw::TrimWrite | Rw::RandTrimWrite)
    }

    /// Whether any data is written: of what changes the target all but trims alone.
    pub fn writes_data(self) -> bool {
        self.writes() && !matches!(self, Rw::Trim | Rw::RandTrim)
    }

    /// Whether offsets are random by default.
    pub fn random(self) -> bool {
        matches!(self, Rw::RandRead | Rw::RandWrite | Rw::RandRw | Rw::RandTrim | Rw::RandTrimWrite)
    }

    /// fio's word.
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

/// One fio job: `numjobs` threads, each with `iodepth` I/Os in flight on the same region.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Section name of the job file, or a made-up one.
    pub name: String,
    /// Direction and order.
    pub rw: Rw,
    /// Percentage of reads in a mix, 0..=100.
    pub rwmixread: u8,
    /// Block size in bytes.
    pub bs: u64,
    /// I/Os in flight a thread.
    pub iodepth: u32,
    /// Threads.
    pub numjobs: u32,
    /// First byte of the region.
    pub offset: u64,
    /// By how many bytes the region of each thread begins after that of the thread before (fio's,
    /// of numjobs).
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub offset_increment: u64,
    /// Bytes of the region, of which whole blocks are used; `None` up to the end of the target.
    pub size: Option<u64>,
    /// Share of I/Os at a random offset, 0..=100 (fio: 100 for rand*, 0 for sequential). As in
    /// fio, a sequential `rw` takes no notice of it, and every thread of a sequential job starts
    /// at the region's first block; a pass goes on from slice to slice.
    pub percentage_random: u8,
    /// How often which blocks are hit by I/Os at a random offset. Hot blocks lie all over the
    /// region, and are the same for all threads of the job.
    #[serde(default, skip_serializing_if = "Distribution::is_random")]
    pub random_distribution: Distribution,
    /// Each block once before any is hit again (fio's random map, the opposite of its
    /// `norandommap`), of I/Os at a random offset: reads and writes together, each thread in an
    /// order of its own, on from slice to slice.
    #[serde(default, skip_serializing_if = "is_false")]
    pub random_map: bool,
    /// fsync after so many writes; 0 never. As in fio it takes a place in the queue and does not
    /// wait for other writes in flight; where `fdatasync` is due too, only this is issued.
    pub fsync: u32,
    /// fdatasync after so many writes; 0 never.
    pub fdatasync: u32,
    /// fsync when the slice ends, within its durable time.
    pub end_fsync: bool,
    /// O_DIRECT.
    pub direct: bool,
    /// Open loop: I/Os a second a thread, reads and writes together; `None` closed loop. Latency
    /// counts from the intended start, so a stall shows in every I/O that it put off.
    pub rate_iops: Option<u64>,
    /// How compressible write data are, 0 (incompressible, the default) ..=100.
    pub buffer_compress_percentage: u8,
    /// Percentage of write data that repeat the thread's last new block, 0 (none, the default)
    /// ..=100.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub dedupe_percentage: u8,
    /// Bytes that are new or repeated as a whole, where they are fewer than a block's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dedupe_unit: Option<u64>,
    /// Put a stamp on every sector that is written, check what is read of it, and read all of it
    /// back at the end ([`Worker::verify`](crate::Worker::verify)). Takes 8 bytes of memory a
    /// block, and CPU time that slices count.
    #[serde(default, skip_serializing_if = "is_false")]
    pub verify: bool,
    /// When the latency of an I/O begins.
    #[serde(default, skip_serializing_if = "Stamping::is_default")]
    pub stamps: Stamping,
    /// The memory of the I/Os.
    #[serde(default, skip_serializing_if = "Iomem::is_default")]
    pub iomem: Iomem,
    /// Whether a run goes on where its I/Os fail: they are counted, and are in no figure. Whoever
    /// runs slices decides by it; a target that does nothing but fail ends a slice all the same.
    #[serde(default, skip_serializing_if = "is_false")]
    pub continue_on_error: bool,
    /// Processors of the place where the load runs on which its threads may run; none: any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus_allowed: Vec<u32>,
    /// Each thread has one of them, in turn (fio's `cpus_allowed_policy=split`); else all share
    /// all.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cpus_split: bool,
    /// Class of the priority of its I/Os: 1 real time, 2 best effort, 3 idle; 0 is 2, as in fio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prioclass: Option<u8>,
    /// Level within the class, 0 (the highest, and the default where a class is given) ..= 7.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prio: Option<u8>,
    /// Seed of offsets, mix and buffers; thread i uses seed and i.
    pub randseed: u64,
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
    /// What it writes.
    pub fn data(&self) -> DataKind {
        DataKind {
            compress_percent: self.buffer_compress_percentage,
            dedupe_percent: self.dedupe_percentage,
            unit: self.dedupe_unit.unwrap_or(self.bs),
        }
    }

    /// Where the region of a thread of numjobs begins, from 0; beyond what a number holds at its
    /// end.
    pub fn offset_of(&self, thread: u32) -> u64 {
        self.offset.saturating_add(self.offset_increment.saturating_mul(u64::from(thread)))
    }

    /// Where the last region begins.
    pub fn last_offset(&self) -> u64 {
        self.offset_of(self.numjobs.saturating_sub(1))
    }

    /// The same load as jobs that need no increment: one for each thread where regions differ.
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

    /// The same job with data of that kind.
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
        }
    }
}

/// Which readings of the clock I/Os begin with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stamping {
    /// Each with one of its own, just before it is handed to the engine.
    #[default]
    Each,
    /// All that are issued after one look at the queue with that look: a reading less for each,
    /// and latencies that are longer by what it takes to issue those before it.
    Batch,
    /// None: latencies are not recorded. For finding out what recording them costs.
    Off,
}

impl Stamping {
    fn is_default(&self) -> bool {
        *self == Stamping::default()
    }
}

/// fio's `iomem`, as far as it is here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Iomem {
    /// Pages of the usual size.
    #[default]
    Malloc,
    /// Huge pages: reserved ones (`vm.nr_hugepages`), else those that the kernel makes when asked
    /// (madvise). Large O_DIRECT I/Os take much less time with them: it changes what is measured.
    MmapHuge,
}

impl Iomem {
    fn is_default(&self) -> bool {
        *self == Iomem::default()
    }
}

/// How long a completion is held back before it counts and its slot is used again:
/// the `delay` layer, a stack of known cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// Nanoseconds added to each completion.
    pub ns: u64,
    /// Parts per million of the I/O's own cycle (from the slot's last release, or the slice's
    /// start, to this completion) added on top. At depth 1 the cost is then exactly
    /// p / (1 + p) of the throughput, however the device drifts. In an open loop, where a slot
    /// may rest, the cycle begins at the submission.
    pub share_ppm: u32,
}

impl Hold {
    /// Whether nothing is held.
    pub fn is_none(self) -> bool {
        self == Hold::default()
    }
}
