//! fio's options that keep results from having the same load, or from being comparable. JSON lists
//! them; normal text does not.

use super::FioReport;
use iotax_units::fio::printed_size;

/// Options that are fields of `Workload`.
const OF_WORKLOAD: &str = "rw bs bsrange iodepth numjobs ioengine rwmixread rwmixwrite";

/// Options that change the load: they limit it, prolong it or mix its sizes. An unset one is `0`.
const OF_LOAD: &str = "rate rate_iops rate_min rate_iops_min rate_process thinktime thinktime_blocks thinktime_spin \
                       latency_target latency_window latency_percentile max_latency bssplit";

/// Options that name things or change only the report. They are never compared.
const REPORTING: &str = "name description filename directory filename_format hostname port \
                         group_reporting unified_rw_reporting per_job_logs write_bw_log write_lat_log write_iops_log \
                         write_hist_log log_avg_msec log_window_value log_hist_msec log_hist_coarseness log_max_value \
                         log_offset log_prio log_issue_time log_entries log_compression log_compression_cpus \
                         log_store_compressed log_unix_epoch log_alternate_epoch log_alternate_epoch_clock_id bwavgtime \
                         iopsavgtime percentile_list clat_percentiles lat_percentiles slat_percentiles \
                         significant_figures kb_base unit_base disk_util error_dump";

/// Options that are always listed for a job, with their defaults.
const ALWAYS: &str = "direct=0 sync=0 fsync=0 fdatasync=0 end_fsync=0 percentage_random=100 norandommap=0 \
                      random_distribution=random buffer_compress_percentage=0 ramp_time=0 size=not-told";

/// Defaults of other options.
const DEFAULTS: &str = "invalidate=1 nrfiles=1 openfiles=1 offset=0 offset_increment=0 verify=0 zonemode=none zonesize=0 \
                        zoneskip=0 dedupe_percentage=0 iodepth_batch=1 iodepth_batch_complete_min=1 hipri=0 \
                        sqthread_poll=0 fixedbufs=0 registerfiles=0 nonvectored=0 create_on_open=0 fallocate=native \
                        thread=0 time_based=0 loops=1 overwrite=0 zero_buffers=0 refill_buffers=0 scramble_buffers=1 \
                        randrepeat=1 softrandommap=0 unlink=0 stonewall=0 startdelay=0 gtod_reduce=0 file_append=0 \
                        create_fsync=1 create_serialize=1 fsync_on_close=0 nice=0 lockmem=0 experimental_verify=0";

const ALIASES: &str = "readwrite=rw blocksize=bs blocksize_range=bsrange nr_files=nrfiles io_limit=io_size timeout=runtime \
                       iodepth_batch_submit=iodepth_batch iodepth_batch_complete=iodepth_batch_complete_min mem=iomem \
                       ba=blockalign fadvise=fadvise_hint";

/// Returns each option that changes the load, as `rate_iops=1000`, in a fixed order.
pub(crate) fn caps(job: &FioReport) -> Vec<String> {
    let options = plain_options(job);
    let value =
        |key: &str| options.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
    let assignment = |key| Some(format!("{key}={}", value(key).filter(|value| *value != "0")?));
    // `randread:8` continues for eight blocks in a row; `4k,64k` has a size for each direction.
    let sequence = value("rw").filter(|rw| rw.contains(':')).map(|rw| format!("rw={rw}"));
    let sizes = value("bs").filter(|bs| bs.contains(',')).map(|bs| format!("bs={bs}"));
    OF_LOAD.split_whitespace().filter_map(assignment).chain(sequence).chain(sizes).collect()
}

/// Returns each option that may change the result, as `direct=1`, in a fixed order: those of
/// `ALWAYS`, and all others that differ from their default. `None` if the output prints no options.
pub(crate) fn result_settings(job: &FioReport) -> Option<Vec<String>> {
    let options = plain_options(job);
    let set =
        |key: &str| options.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone());
    let always = pairs(ALWAYS).map(|(key, default)| {
        format!("{key}={}", set(key).unwrap_or_else(|| default.replace('-', " ")))
    });
    let listed = |key: &str| {
        let lists = [OF_WORKLOAD, OF_LOAD, REPORTING];
        lists.iter().flat_map(|list| list.split_whitespace()).any(|one| one == key)
            || pairs(ALWAYS).any(|(one, _)| one == key)
    };
    let is_default = |key: &str, value: &str| pairs(DEFAULTS).any(|pair| pair == (key, value));
    let mut others: Vec<String> = options
        .iter()
        .filter(|(key, value)| !listed(key) && !is_default(key, value))
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    others.sort_unstable();
    (!job.options.is_empty()).then(|| always.chain(others).collect())
}

fn pairs(list: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    list.split_whitespace().filter_map(|pair| pair.split_once('='))
}

/// Returns the options in force, each once, with normalised names and values.
fn plain_options(job: &FioReport) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for (key, value) in job.options.iter().rev() {
        let key =
            pairs(ALIASES).find(|(alias, _)| alias == key).map_or(key.as_str(), |(_, name)| name);
        let value = plain_value(key, value.trim().to_ascii_lowercase());
        let (key, value) = match (key, value.as_str()) {
            ("buffered", "0") => ("direct", "1".to_owned()),
            ("buffered", _) => ("direct", "0".to_owned()),
            _ => (key, value),
        };
        if all.iter().all(|(known, _)| known != key) {
            all.push((key.to_owned(), value));
        }
    }
    all
}

/// Normalises a value: `4K` is 4096, a bare flag is `1`, no sync is `0`.
fn plain_value(key: &str, text: String) -> String {
    match (key, text.as_str()) {
        (_, "") | ("sync", "sync") => "1".to_owned(),
        ("sync" | "verify", "none" | "null") => "0".to_owned(),
        ("runtime" | "ramp_time" | "startdelay", _) => {
            text.strip_suffix('s').map_or(text.clone(), str::to_owned)
        }
        _ => printed_size(&text).map_or(text, |bytes| bytes.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(options: &[(&str, &str)]) -> FioReport {
        let options =
            options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        FioReport { options, ..FioReport::default() }
    }

    #[test]
    fn what_caps_a_load_is_told_apart_from_what_else_is_set() {
        let capped =
            job(&[("rate_iops", "1000"), ("rw", "randread"), ("thinktime", "0"), ("direct", "1")]);
        assert_eq!(
            (caps(&capped), result_settings(&capped).unwrap().swap_remove(0)),
            (vec!["rate_iops=1000".to_owned()], "direct=1".to_owned())
        );
        assert_eq!(result_settings(&job(&[])), None, "a text tells none");
        let a = job(&[("size", "64M"), ("norandommap", ""), ("sync", "none")]);
        let b = job(&[("size", "67108864"), ("norandommap", "1"), ("direct", "0")]);
        assert_eq!(result_settings(&a), result_settings(&b), "what means the same is the same");
        assert_ne!(result_settings(&a), result_settings(&job(&[("size", "64M"), ("direct", "1")])));
        assert_eq!(
            result_settings(&job(&[("buffered", "0")])),
            result_settings(&job(&[("direct", "1")]))
        );
        assert_eq!(
            result_settings(&job(&[("buffered", "1")])),
            result_settings(&job(&[("rw", "read"), ("group_reporting", "")]))
        );
    }

    #[test]
    fn no_option_is_silent_but_those_that_name_or_report() {
        let of = |key: &str, value: &str| {
            let set = job(&[(key, value)]);
            (caps(&set), result_settings(&set))
        };
        let plain = of("rw", "randread");
        let differ = "offset zonemode verify dedupe_percentage buffer_pattern iodepth_batch iodepth_batch_complete_min \
                      sqthread_poll hipri nrfiles cpus_allowed an_option_of_tomorrow thinktime bssplit";
        for key in differ.split_whitespace() {
            assert_ne!(of(key, "7"), plain, "{key}");
        }
        assert_ne!(of("invalidate", "0"), plain);
        assert_eq!(of("rw", "randread:8").0, ["rw=randread:8"]);
        assert_eq!(of("readwrite", "randread"), plain);
        for (key, value) in [
            ("log_avg_msec", "500"),
            ("filename", "/dev/sdb"),
            ("invalidate", "1"),
            ("offset", "0"),
        ] {
            assert_eq!(of(key, value), plain, "{key}");
        }
    }
}
