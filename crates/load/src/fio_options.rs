//! Options of fio that only the installed fio honours. [`ALL`] is the list of those that a job may
//! carry. All others are refused: some name files or programs, let a file grow, or change the
//! report that is read. So are values with characters by which fio names files (`'`), replaces text
//! (`$`, upon which it runs a shell) or ends a line.

use crate::Job;

/// An option that fio runs, with the values at which it changes nothing, and what it changes
/// otherwise.
#[derive(Clone, Copy, Debug)]
pub struct FioOption {
    /// Name without aliases.
    pub key: &'static str,
    /// Values that are fio's default.
    pub harmless: &'static [&'static str],
    /// Reason why the generator of iotax does not honour it, as a clause.
    pub why: &'static str,
}

const fn option(
    key: &'static str,
    harmless: &'static [&'static str],
    why: &'static str,
) -> FioOption {
    FioOption { key, harmless, why }
}

const BLOCKS: &str = "iotax issues blocks of one size";
const BATCHES: &str = "iotax issues and reaps I/Os one by one";
const CACHE: &str = "it changes what the page cache holds";
const ZONES: &str = "iotax has no zones or regions of this kind";
const PACE: &str = "iotax has no pace of this kind";
const DATA: &str = "iotax has no write data of this kind";
const STAMP: &str = "iotax has one kind of stamp";
const TRIM: &str = "iotax does not trim what it has just written";
const CPU: &str = "iotax does not place threads or memory so";
const SYSTEM_CALLS: &str = "iotax issues with other flags";
const PRIORITY: &str = "iotax gives all I/Os of a job one priority";

/// Options that a job may carry.
pub const ALL: &[FioOption] = &[
    option("ioengine", &[], "iotax issues I/O in another way"),
    option("rw", &[], "iotax issues other orders of offsets"),
    option("rw_sequencer", &["sequential"], "it acts on rw=...:N"),
    option("bs", &[], BLOCKS),
    option("bssplit", &[], BLOCKS),
    option("bsrange", &[], BLOCKS),
    option("bs_unaligned", &["0"], BLOCKS),
    option("bs_is_seq_rand", &["0"], BLOCKS),
    option("blockalign", &[], "iotax aligns I/Os to their size"),
    option("percentage_random", &[], "iotax has one percentage for both directions"),
    option("percentage_sequential", &[], "iotax has one percentage for both directions"),
    option("random_distribution", &[], "iotax draws random, zipf and pareto"),
    option("rate", &["0"], PACE),
    option("rate_iops", &["0"], PACE),
    option("rate_process", &["linear"], PACE),
    option("rate_ignore_thinktime", &["0"], PACE),
    option("thinktime", &["0"], PACE),
    option("thinktime_spin", &["0"], PACE),
    option("thinktime_blocks", &["1"], PACE),
    option("thinktime_blocks_type", &["complete"], PACE),
    option("thinktime_iotime", &["0"], PACE),
    option("latency_target", &["0"], PACE),
    option("latency_window", &["0"], PACE),
    option("latency_percentile", &["100"], PACE),
    option("latency_run", &["0"], PACE),
    option("flow", &["0"], PACE),
    option("flow_id", &["0"], PACE),
    option("flow_sleep", &["0"], PACE),
    option("flow_watermark", &[], PACE),
    option("serialize_overlap", &["0"], PACE),
    option("iodepth_batch", &["1"], BATCHES),
    option("iodepth_batch_complete_min", &["1"], BATCHES),
    option("iodepth_batch_complete_max", &["1"], BATCHES),
    option("iodepth_low", &[], BATCHES),
    option("zonemode", &["none"], ZONES),
    option("zonesize", &["0"], ZONES),
    option("zonerange", &["0"], ZONES),
    option("zoneskip", &["0"], ZONES),
    option("zonecapacity", &["0"], ZONES),
    option("read_beyond_wp", &["0"], ZONES),
    option("max_open_zones", &["0"], ZONES),
    option("job_max_open_zones", &["0"], ZONES),
    option("ignore_zone_limits", &["0"], ZONES),
    option("zone_reset_threshold", &["0"], ZONES),
    option("zone_reset_frequency", &["0"], ZONES),
    option("hipri", &["0"], SYSTEM_CALLS),
    option("sqthread_poll", &["0"], SYSTEM_CALLS),
    option("nowait", &["0"], SYSTEM_CALLS),
    option("atomic", &["0"], SYSTEM_CALLS),
    option("write_hint", &["none"], SYSTEM_CALLS),
    option("write_barrier", &["0"], SYSTEM_CALLS),
    option("sync_file_range", &[], SYSTEM_CALLS),
    option("sg_write_mode", &["write"], SYSTEM_CALLS),
    option("readfua", &["0"], SYSTEM_CALLS),
    option("writefua", &["0"], SYSTEM_CALLS),
    option("cmdprio_percentage", &["0"], PRIORITY),
    option("cmdprio_class", &[], PRIORITY),
    option("cmdprio", &[], PRIORITY),
    option("cmdprio_hint", &[], PRIORITY),
    option("cmdprio_bssplit", &[], PRIORITY),
    option("fadvise_hint", &[], CACHE),
    option("pre_read", &["0"], CACHE),
    option("sprandom", &["0"], ZONES),
    option("spr_op", &[], ZONES),
    option("spr_cs", &[], ZONES),
    option("spr_num_regions", &[], ZONES),
    option("random_sequence_stride", &[], "iotax draws random, zipf and pareto"),
    option("thinkcycles", &["0"], PACE),
    option("fdp", &["0"], SYSTEM_CALLS),
    option("fdp_pli", &[], SYSTEM_CALLS),
    option("iomem", &[], "iotax has no memory of this kind"),
    option("buffer_pattern", &[], DATA),
    option("buffer_compress_chunk", &[], DATA),
    option("dedupe_mode", &["repeat"], DATA),
    option("dedupe_working_set_percentage", &[], DATA),
    option("dedupe_global", &["0"], DATA),
    option("verify", &[], STAMP),
    option("do_verify", &[], STAMP),
    option("verify_pattern", &[], STAMP),
    option("verify_pattern_interval", &[], STAMP),
    option("verify_interval", &[], STAMP),
    option("verify_offset", &["0"], STAMP),
    option("verify_header_seed", &["1"], STAMP),
    option("verify_backlog", &["0"], "iotax reads back at the end"),
    option("verify_backlog_batch", &["0"], "iotax reads back at the end"),
    option("experimental_verify", &["0"], STAMP),
    option("trim_percentage", &["0"], TRIM),
    option("trim_backlog", &["0"], TRIM),
    option("trim_backlog_batch", &["0"], TRIM),
    option("trim_verify_zero", &["0"], TRIM),
    option("numa_cpu_nodes", &[], CPU),
    option("numa_mem_policy", &[], CPU),
    option("nice", &["0"], CPU),
    option("continue_on_error", &[], "iotax counts failed I/Os of all kinds alike"),
    option("ignore_error", &[], "iotax counts failed I/Os of all kinds alike"),
    option("kb_base", &["1024"], "the options of fio beside it are read with it"),
];

/// Ioengines of fio that work on the file or device that they are given, and on nothing else.
pub const IOENGINES: &[&str] = &[
    "psync",
    "sync",
    "vsync",
    "pvsync",
    "pvsync2",
    "libaio",
    "io_uring",
    "posixaio",
    "windowsaio",
    "solarisaio",
    "mmap",
    "splice",
    "falloc",
    "sg",
    "null",
];

const LONGEST: usize = 512;

/// Returns the entry of an option by its name.
pub fn find(key: &str) -> Option<&'static FioOption> {
    ALL.iter().find(|option| option.key == key)
}

/// Checks that fio would take a value as it is written: no quotes, no variables, no second line.
///
/// # Errors
/// A clause that names the character.
pub fn check_value(value: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "./:,-_+%\"".contains(c);
    match value.chars().find(|c| !plain(*c)) {
        Some(odd) => Err(format!("fio might read {odd:?} as a name or a command")),
        None if value.len() > LONGEST => {
            Err(format!("its value has more than {LONGEST} characters"))
        }
        None => Ok(()),
    }
}

/// Checks the options of a job, which may come from anywhere.
///
/// # Errors
/// A sentence with the first option that fio may not get, and the reason.
pub fn check(job: &Job) -> Result<(), String> {
    job.fio_options.iter().try_for_each(|text| {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        let refuse = |why: String| Err(format!("job \"{}\": {text:?}: {why}", job.name));
        let base = value.split(':').next().unwrap_or_default();
        match key {
            _ if find(key).is_none() => refuse("no option that fio may get from iotax".into()),
            "ioengine" if !IOENGINES.contains(&value) => {
                refuse("an ioengine that may use more than its target".into())
            }
            "rw" if base != job.rw.word() => refuse("another rw than the job's".into()),
            "iomem" if value.contains(['/', ':']) => refuse("it names a file".into()),
            _ => check_value(value).or_else(refuse),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rw;

    #[test]
    fn options_that_reach_beyond_the_target_are_refused() {
        let with = |text: &str| {
            check(&Job { rw: Rw::Read, fio_options: vec![text.to_owned()], ..Job::default() })
        };
        for good in ["bssplit=4k/60:64k/40", "rw=read:-8k", "ioengine=mmap", "rate=1m,,2m"] {
            assert_eq!(with(good), Ok(()));
        }
        for bad in [
            "filename=/etc/passwd",
            "exec_prerun=id",
            "ioengine=external:/tmp/x.so",
            "rw=write",
            "rw=write:8k",
            "iomem=mmapshared:/tmp/x",
            "verify_pattern='/etc/shadow'",
            "bssplit=$pagesize/1",
            "rate=1\nfilename=/x",
            "write_bw_log=x",
            "file_append=1",
        ] {
            assert!(with(bad).is_err(), "{bad}");
        }
        assert!(check_value(&"1".repeat(LONGEST + 1)).is_err());
    }

    #[test]
    fn every_option_is_listed_once() {
        for option in ALL {
            assert_eq!(ALL.iter().filter(|one| one.key == option.key).count(), 1, "{}", option.key);
        }
    }
}
