//! Keys of fio's job files: which name is an alias, which keys have no effect here, and which are
//! refused. Keys that the generator of iotax honours are in words.rs, and those that the installed
//! fio runs in `iotax_load::fio_options`.

use super::error::Fault;
use super::fio::{Pair, Pairs};
use super::jobfile::{
    COMMANDS, CPU, Noted, OFFSETS, REPLAY, REPORTS, Shaping, TARGET, TIMING, VERIFY,
};
use super::words::{canonical, known_words};
use iotax_load::fio_options;

/// Other names of keys, each with the name that fio itself uses.
const ALIASES: &[(&str, &str)] = &[
    ("wait_for_previous", "stonewall"),
    ("iodepth_batch_submit", "iodepth_batch"),
    ("iodepth_batch_complete", "iodepth_batch_complete_min"),
    ("io_limit", "io_size"),
    ("fill_fs", "fill_device"),
    ("ba", "blockalign"),
    ("blocksize_range", "bsrange"),
    ("blocksize_unaligned", "bs_unaligned"),
    ("nr_files", "nrfiles"),
    ("timeout", "runtime"),
    ("mem_align", "iomem_align"),
    ("ratemin", "rate_min"),
    ("ratecycle", "rate_cycle"),
    ("disable_bw_measurement", "disable_bw"),
    ("threads", "thread"),
    ("ss", "steadystate"),
    ("ss_dur", "steadystate_duration"),
    ("ss_ramp", "steadystate_ramp_time"),
];

/// Keys that the reader of job files honours by itself.
pub(super) const OWN: &[&str] =
    &["stonewall", "wait_for", "name", "include", "cpumask", "zero_buffers", "filesize"];

/// Returns fio's own name of a key; `"?"` for one that is in no table.
pub(super) fn canonical_key(key: &str) -> &'static str {
    let own = ALIASES.iter().find(|(alias, _)| *alias == key).map_or(key, |(_, own)| own);
    let known = canonical(own).or_else(|| fio_options::find(own).map(|option| option.key));
    known.or_else(|| known_keys().into_iter().find(|known| *known == own)).unwrap_or("?")
}

/// Returns the last line of each key, in the order of writing: fio lets the last one count.
pub(super) fn merged(pairs: impl Iterator<Item = Pair>) -> Pairs {
    let mut last: Pairs = Vec::new();
    for pair in pairs {
        last.retain(|known| known.key != pair.key || pair.key == "?");
        last.push(pair);
    }
    last
}

/// Returns every key that is not unknown, aliases included.
pub(super) fn known_keys() -> Vec<&'static str> {
    let noted = NOTED.iter().map(|(key, _)| *key);
    let refused = REFUSED.iter().map(|(key, ..)| *key);
    let by_fio = fio_options::ALL.iter().map(|option| option.key);
    let aliases = ALIASES.iter().map(|(alias, _)| *alias);
    known_words()
        .into_iter()
        .chain(OWN.iter().copied())
        .chain(noted)
        .chain(refused)
        .chain(by_fio)
        .chain(aliases)
        .collect()
}

/// Returns the reason why a refused key cannot be honoured. `None`: it is not refused, or its value
/// changes nothing.
pub(super) fn refusal(key: &str, value: Option<&str>) -> Option<Fault> {
    let (_, harmless, why, hint) = REFUSED.iter().find(|(refused, ..)| *refused == key)?;
    if harmless.contains(&value.unwrap_or("1")) {
        return None;
    }
    let hint =
        if hint.is_empty() { "remove the line if the load may be another one" } else { *hint };
    Some(Fault::hint(format!("cannot be honoured: {why}"), hint))
}

const CHECKED: &str =
    "what is wrong with verify is counted and shown, to the end of the run, and sets its exit code";
const BACK: &str =
    "what is written with verify is read back in order, by all threads that wrote it";
const ENGINE: &str = "iotax sets its own engine up";
const ENDS: &str = "it ends a job that is too slow; iotax goes on and shows its rate";

/// Keys that do not shape the load, with the reason why they have no effect.
pub(super) const NOTED: &[Noted] = &[
    ("description", "it is a comment"),
    ("group_reporting", "jobs of a workload are reported together"),
    ("new_group", REPORTS),
    ("thread", "iotax always uses threads"),
    ("filename", TARGET),
    ("directory", TARGET),
    ("filename_format", TARGET),
    ("unique_filename", TARGET),
    ("opendir", TARGET),
    ("lockfile", TARGET),
    ("nrfiles", "the target is one file or device, the stack's"),
    ("openfiles", TARGET),
    ("file_service_type", TARGET),
    ("fallocate", TARGET),
    ("create_serialize", TARGET),
    ("create_fsync", TARGET),
    ("create_on_open", TARGET),
    ("allow_file_create", TARGET),
    ("unlink", TARGET),
    ("overwrite", "the file is always written in full before measuring"),
    ("runtime", TIMING),
    ("time_based", TIMING),
    ("ramp_time", "the start of each slice is discarded"),
    ("loops", TIMING),
    ("io_size", TIMING),
    ("number_ios", TIMING),
    ("steadystate", TIMING),
    ("steadystate_duration", TIMING),
    ("steadystate_ramp_time", TIMING),
    ("exitall", TIMING),
    ("softrandommap", "the random map of iotax takes no memory that might be lacking"),
    ("randrepeat", "offsets follow randseed"),
    ("allrandrepeat", "offsets follow randseed"),
    (
        "random_generator",
        "offsets come from iotax's generator; whether blocks come again is said by norandommap",
    ),
    (
        "refill_buffers",
        "write data are incompressible unless buffer_compress_percentage says otherwise",
    ),
    (
        "scramble_buffers",
        "write data are incompressible unless buffer_compress_percentage says otherwise",
    ),
    ("rwmixcycle", "fio itself ignores it"),
    ("userspace_reap", ENGINE),
    ("fixedbufs", ENGINE),
    ("registerfiles", ENGINE),
    ("nonvectored", ENGINE),
    ("invalidate", "iotax never drops the page cache; direct=1 goes past it"),
    ("clocksource", REPORTS),
    ("gtod_reduce", REPORTS),
    ("gtod_cpu", REPORTS),
    ("disable_lat", REPORTS),
    ("disable_clat", REPORTS),
    ("disable_slat", REPORTS),
    ("disable_bw", REPORTS),
    ("disk_util", REPORTS),
    ("unified_rw_reporting", REPORTS),
    ("per_job_logs", REPORTS),
    ("stats", REPORTS),
    ("write_bw_log", REPORTS),
    ("write_lat_log", REPORTS),
    ("write_iops_log", REPORTS),
    ("write_hist_log", REPORTS),
    ("log_avg_msec", REPORTS),
    ("log_hist_msec", REPORTS),
    ("log_hist_coarseness", REPORTS),
    ("log_max_value", REPORTS),
    ("log_offset", REPORTS),
    ("log_unix_epoch", REPORTS),
    ("bwavgtime", REPORTS),
    ("iopsavgtime", REPORTS),
    ("clat_percentiles", REPORTS),
    ("lat_percentiles", REPORTS),
    ("slat_percentiles", REPORTS),
    ("percentile_list", REPORTS),
    ("significant_figures", REPORTS),
    ("unit_base", REPORTS),
    ("log_entries", REPORTS),
    ("log_prio", REPORTS),
    ("log_compression", REPORTS),
    ("log_compression_cpus", REPORTS),
    ("log_store_compressed", REPORTS),
    ("log_alternate_epoch", REPORTS),
    ("log_alternate_epoch_clock_id", REPORTS),
    ("block_error_percentiles", REPORTS),
    ("error_dump", REPORTS),
    ("unlink_each_loop", TARGET),
    ("exit_what", TIMING),
    ("exitall_on_error", TIMING),
    ("verify_fatal", CHECKED),
    ("verify_dump", CHECKED),
    ("verify_async", BACK),
    ("verify_async_cpus", BACK),
    ("verifysort", BACK),
    ("verifysort_nr", BACK),
    ("fill_device", "the region is the whole target unless size says otherwise"),
    ("startdelay", "jobs of a workload begin together, as each slice has all of them"),
    ("rate_min", ENDS),
    ("rate_iops_min", ENDS),
    ("rate_cycle", ENDS),
    ("max_latency", ENDS),
    (
        "io_submit_mode",
        "a load with a rate is an open loop: latency counts from the intended start",
    ),
    ("iomem_align", "the memory of iotax is aligned to pages"),
    ("steadystate_check_interval", TIMING),
    ("ramp_size", TIMING),
    ("log_window_value", REPORTS),
    ("log_issue_time", REPORTS),
    ("job_start_clock_id", REPORTS),
    ("verify_write_sequence", "iotax checks that the last write of a block is there"),
    ("verify_state_load", "what is verified is read back by the run that wrote it"),
    ("verify_state_save", "what is verified is read back by the run that wrote it"),
];

/// Keys that are refused, each with the values at which it changes nothing, the reason, and a hint.
pub(super) const REFUSED: &[Shaping] = &[
    ("file_append", &["0"], "it lets the target grow", ""),
    ("offset_align", &["0"], OFFSETS, "write offset in bytes"),
    ("fsync_on_close", &["0"], "a slice closes no file", "write end_fsync=1"),
    (
        "verify_only",
        &["0"],
        VERIFY,
        "durability trials read back what outlived a crash: --durability",
    ),
    ("read_iolog", &[], REPLAY, ""),
    ("write_iolog", &[], "this version does not record offsets", ""),
    ("profile", &[], "a profile of fio names files and threads of its own", ""),
    ("exec_prerun", &[], COMMANDS, "run it yourself before"),
    ("exec_postrun", &[], COMMANDS, "run it yourself afterwards"),
    (
        "ioscheduler",
        &[],
        "it changes the device's scheduler",
        "set it before the run; it is recorded",
    ),
    ("cgroup", &[], CPU, ""),
    ("cgroup_weight", &[], CPU, ""),
    ("cgroup_nodelete", &["0"], CPU, ""),
    ("uid", &[], CPU, ""),
    ("gid", &[], CPU, ""),
    ("lockmem", &["0"], "it takes memory away from the machine", ""),
    ("hugepage-size", &[], "the kind of memory changes what is measured", "write iomem=mmaphuge"),
    ("gpu_dev_id", &[], "iotax uses no memory of a GPU", ""),
    ("create_only", &["0"], "it does no I/O", ""),
    ("read_iolog_chunked", &["0"], REPLAY, ""),
    ("replay_no_stall", &["0"], REPLAY, ""),
    ("replay_redirect", &[], REPLAY, ""),
    ("replay_scale", &[], REPLAY, ""),
    ("replay_align", &[], REPLAY, ""),
    ("replay_time_scale", &[], REPLAY, ""),
    ("replay_skip", &[], REPLAY, ""),
    ("merge_blktrace_file", &[], REPLAY, ""),
    ("merge_blktrace_scalars", &[], REPLAY, ""),
    ("merge_blktrace_iters", &[], REPLAY, ""),
    ("allow_mounted_write", &["0"], "a mounted device is never written", ""),
];
