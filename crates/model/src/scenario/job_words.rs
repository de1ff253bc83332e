//! Descriptions of jobs for verdicts and reports. Two loads that differ must not have equal
//! descriptions.

use iotax_load::{Distribution, Iomem, Job, Stride, WriteSync};
use iotax_units as units;

/// Describes the order of offsets: `random`, `sequential`, `80 % random`, `zipf:1.1 random`.
pub fn order_words(job: &Job) -> String {
    let random = match job.random_distribution {
        Distribution::Random => "random".to_owned(),
        skewed => format!("{skewed} random"),
    };
    match (job.rw.random(), job.percentage_random) {
        (false, _) | (true, 0) => "sequential".to_owned(),
        (true, 1..=99) => format!("{} % {random}", job.percentage_random),
        (true, _) => random,
    }
}

/// Describes a job: `4k random reads at iodepth 32 x 4`. Keys of fio in `swept`, which have several
/// values, are left out.
pub(super) fn subject(job: &Job, swept: &[&str]) -> String {
    let order = match swept.contains(&"percentage_random") {
        true => "random".to_owned(),
        false => order_words(job),
    };
    let kind = match (job.rw.reads(), job.rw.writes()) {
        _ if job.rw.trims() && job.rw.writes_data() => format!("{order} trims, each with a write"),
        _ if job.rw.trims() => format!("{order} trims"),
        (true, true) => format!("{order} {}/{} mix", job.rwmixread, 100 - job.rwmixread),
        (_, true) => format!("{order} writes"),
        _ => format!("{order} reads"),
    };
    let said = |word: &str, text: String| if swept.contains(&word) { String::new() } else { text };
    let bs = said("bs", format!("{} ", block_word(job)));
    let depth = said("iodepth", format!(" at iodepth {}", job.iodepth));
    let jobs = match job.numjobs {
        1 => String::new(),
        threads if depth.is_empty() => said("numjobs", format!(" on {threads} threads")),
        threads => said("numjobs", format!(" x {threads}")),
    };
    let rate = said("rate_iops", rate_words(job));
    // Some points of a sweep over threads have several.
    let threads = if swept.contains(&"numjobs") { u32::MAX } else { job.numjobs };
    let details = detail_words(&Job { numjobs: threads, ..job.clone() });
    format!("{bs}{kind}{depth}{jobs}{rate}{details}")
}

/// Describes the rate of an open loop: `, rate_iops 1000`. Empty without a rate.
pub fn rate_words(job: &Job) -> String {
    job.rate_iops.map(|rate| format!(", rate_iops {rate}")).unwrap_or_default()
}

/// Describes everything that distinguishes the load from the plain one of its kind, block, depth
/// and rate: `, random map`, `, verified`. Only non-default values have words.
pub fn detail_words(job: &Job) -> String {
    let flag = |is_so: bool, words: &str| if is_so { words.to_owned() } else { String::new() };
    [
        flag(job.random_map, ", random map"),
        sync_words(job),
        stride_words(job),
        data_words(job),
        flag(
            job.offset_increment > 0 && job.numjobs > 1,
            &format!(", regions of threads {} apart", units::show_bytes(job.offset_increment)),
        ),
        flag(job.iomem == Iomem::MmapHuge, ", on huge pages"),
        priority_words(job),
        processor_words(job),
        flag(job.verify, ", verified"),
        flag(!job.fio_options.is_empty(), &format!(", fio's {}", job.fio_options.join(" "))),
    ]
    .concat()
}

/// Describes flushes: `, fsync every 32 writes`.
fn sync_words(job: &Job) -> String {
    let said = |what: &str, every: u32| match every {
        0 => String::new(),
        1 => format!(", {what} every write"),
        many => format!(", {what} every {many} writes"),
    };
    let each = match job.sync {
        WriteSync::None => "",
        WriteSync::Dsync => ", O_DSYNC",
        WriteSync::Sync => ", O_SYNC",
    };
    said("fsync", job.fsync) + &said("fdatasync", job.fdatasync) + each
}

/// Describes zones: `, 256 MiB of every 2.25 GiB`.
fn stride_words(job: &Job) -> String {
    let every = |stride: Stride| units::show_bytes(stride.zone.saturating_add(stride.skip));
    let words =
        job.stride.map(|it| format!(", {} of every {}", units::show_bytes(it.zone), every(it)));
    words.unwrap_or_default()
}

/// Describes the data of writes that are not all new and random: `, 50 % compressible, 30 %
/// duplicates`.
fn data_words(job: &Job) -> String {
    let said = |percent: u8, what: &str| {
        let stated = job.rw.writes_data() && percent > 0;
        if stated { format!(", {percent} % {what}") } else { String::new() }
    };
    said(job.buffer_compress_percentage, "compressible")
        + &said(job.dedupe_percentage, "duplicates")
}

/// Describes the priority: `, prioclass 1 prio 3`; a missing value is 0, as in fio.
fn priority_words(job: &Job) -> String {
    match (job.prioclass, job.prio) {
        (None, None) => String::new(),
        (None, Some(level)) => format!(", prio {level}"),
        (Some(class), level) => format!(", prioclass {class} prio {}", level.unwrap_or(0)),
    }
}

/// Describes the processors: `, on processors 0-3,5`.
fn processor_words(job: &Job) -> String {
    let each = if job.cpus_split { ", one a thread" } else { "" };
    match job.cpus_allowed.as_slice() {
        [] => String::new(),
        [one] => format!(", on processor {one}"),
        several => format!(", on processors {}{each}", list_word(several)),
    }
}

pub(super) fn list_word(numbers: &[u32]) -> String {
    let runs = numbers.chunk_by(|a, b| a.checked_add(1) == Some(*b));
    let run = |run: &[u32]| match run {
        [first, .., last] => format!("{first}-{last}"),
        run => run.iter().map(u32::to_string).collect(),
    };
    runs.map(run).collect::<Vec<_>>().join(",")
}

/// Describes the block size of a job: `4k`, or `mixed-size` if an option of fio's has several.
pub fn block_word(job: &Job) -> String {
    let mut keys = job.fio_options.iter().filter_map(|option| option.split('=').next());
    match keys.any(|key| ["bs", "bssplit", "bsrange"].contains(&key)) {
        true => "mixed-size".to_owned(),
        false => block_size_word(job.bs),
    }
}

/// Formats a block size in fio's short form: 4096 is `4k`, 1 MiB is `1M`.
pub fn block_size_word(bytes: u64) -> String {
    match bytes {
        b if b >= 1 << 20 && b % (1 << 20) == 0 => format!("{}M", b >> 20),
        b if b >= 1 << 10 && b % (1 << 10) == 0 => format!("{}k", b >> 10),
        b => format!("{b}B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_load::Rw;

    #[test]
    fn no_word_that_makes_another_load_is_left_out() {
        let plain = Job { rw: Rw::RandWrite, numjobs: 2, ..Job::default() };
        let others = [
            (Job { random_map: true, ..plain.clone() }, ", random map"),
            (Job { fsync: 1, ..plain.clone() }, ", fsync every write"),
            (Job { fdatasync: 32, ..plain.clone() }, ", fdatasync every 32 writes"),
            (Job { sync: WriteSync::Sync, ..plain.clone() }, ", O_SYNC"),
            (Job { sync: WriteSync::Dsync, ..plain.clone() }, ", O_DSYNC"),
            (
                Job { stride: Some(Stride { zone: 1 << 20, skip: 3 << 20 }), ..plain.clone() },
                ", 1 MiB of every 4 MiB",
            ),
            (
                Job { fio_options: vec!["thinktime=9".into()], ..plain.clone() },
                ", fio's thinktime=9",
            ),
            (Job { dedupe_percentage: 30, ..plain.clone() }, ", 30 % duplicates"),
            (
                Job { offset_increment: 1 << 30, ..plain.clone() },
                ", regions of threads 1 GiB apart",
            ),
            (Job { iomem: Iomem::MmapHuge, ..plain.clone() }, ", on huge pages"),
            (Job { prioclass: Some(1), prio: Some(3), ..plain.clone() }, ", prioclass 1 prio 3"),
            (Job { prioclass: Some(3), ..plain.clone() }, ", prioclass 3 prio 0"),
            (Job { prio: Some(7), ..plain.clone() }, ", prio 7"),
            (Job { cpus_allowed: vec![0, 1, 2, 5], ..plain.clone() }, ", on processors 0-2,5"),
            (
                Job { cpus_allowed: vec![0, 2], cpus_split: true, ..plain.clone() },
                ", on processors 0,2, one a thread",
            ),
            (Job { verify: true, ..plain.clone() }, ", verified"),
        ];
        let bare = "4k random writes at iodepth 1 x 2";
        assert_eq!(subject(&plain, &[]), bare);
        for (job, words) in others {
            assert_eq!(subject(&job, &[]), format!("{bare}{words}"));
        }
        let moved = Job { offset_increment: 1 << 20, ..Job::default() };
        assert_eq!(detail_words(&moved), "", "one thread has one region");
        assert!(subject(&moved, &["numjobs"]).ends_with(", regions of threads 1 MiB apart"));
    }
}
