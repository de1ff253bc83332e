//! fio's options that make a load another one, or that keep two results from being of the same, as its JSON tells them. Normal
//! text does not print them.

use super::Job;

/// Options that cap a load or stretch it: with another of them it is another load. Nothing of it is `0`.
const CAPS: &str = "rate rate_iops rate_min rate_iops_min rate_process thinktime thinktime_blocks thinktime_spin \
                    latency_target latency_window latency_percentile max_latency";

/// Options that change what a result is of, and what they are where they are not told; the same load all the same.
const SETTINGS: &str = "direct=0 sync=0 fsync=0 fdatasync=0 end_fsync=0 percentage_random=100 norandommap=0 \
                        random_distribution=random buffer_compress_percentage=0 ramp_time=0 size=not-told";

/// `rate_iops=1000` of each option that caps a job's load, in one order.
pub(crate) fn caps(job: &Job) -> Vec<String> {
    let told = |key| Some(format!("{key}={}", value(job, key).filter(|value| value != "0")?));
    CAPS.split(' ').filter_map(told).collect()
}

/// `direct=1` of each option that changes what a result is of, in one order; `None` of an output that tells no options.
pub(crate) fn settings(job: &Job) -> Option<Vec<String>> {
    let told = |setting: &str| {
        let (key, default) = setting.split_once('=')?;
        Some(format!("{key}={}", value(job, key).unwrap_or_else(|| default.replace('-', " "))))
    };
    (!job.options.is_empty()).then(|| SETTINGS.split(' ').filter_map(told).collect())
}

/// As it is written, but for what is another way to write the same: `4K` is 4096, a bare flag is `1`, no sync is `0`.
fn value(job: &Job, key: &str) -> Option<String> {
    let text = job.option(key)?.trim().to_ascii_lowercase();
    Some(match (key, text.as_str()) {
        (_, "") => "1".to_owned(),
        ("sync", "none") => "0".to_owned(),
        ("sync", "sync") => "1".to_owned(),
        ("size", _) => iotax_units::fio::printed_size(&text).map_or(text, |bytes| bytes.to_string()),
        _ => text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(options: &[(&str, &str)]) -> Job {
        let options = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Job { options, ..Job::default() }
    }

    #[test]
    fn what_caps_a_load_is_told_apart_from_what_else_is_set() {
        let capped = job(&[("rate_iops", "1000"), ("rw", "randread"), ("thinktime", "0"), ("direct", "1")]);
        assert_eq!(
            (caps(&capped), settings(&capped).unwrap().swap_remove(0)),
            (vec!["rate_iops=1000".to_owned()], "direct=1".to_owned())
        );
        assert_eq!(settings(&job(&[])), None, "a text tells none");
        let a = job(&[("size", "64M"), ("norandommap", ""), ("sync", "none")]);
        let b = job(&[("size", "67108864"), ("norandommap", "1"), ("direct", "0")]);
        assert_eq!(settings(&a), settings(&b), "what means the same is the same");
        assert_ne!(settings(&a), settings(&job(&[("size", "64M"), ("direct", "1")])));
    }
}
