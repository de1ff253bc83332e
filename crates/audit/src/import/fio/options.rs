//! The meaning of fio's options on a command line and in JSON. Parsing is tolerant, as published
//! text may be cut or retyped.

use super::FioJobLine;
use iotax_units::fio::printed_size;

/// Options as key and value, in order; if a key appears twice, the last one counts.
pub type JobOptions = Vec<(String, String)>;

/// Returns the settings of a job, as far as its options state them.
pub(crate) fn settings_from_options(name: &str, line: usize, options: &JobOptions) -> FioJobLine {
    let of = |keys: &[&str]| {
        let known = options.iter().rev().find(|(key, _)| keys.contains(&key.as_str()));
        known.map(|(_, value)| value.trim())
    };
    // `randrw:8` also gives the number of I/Os in a row, which is dropped.
    let rw =
        of(&["rw", "readwrite"]).map(|rw| rw.split([':', ',']).next().unwrap_or(rw).to_owned());
    FioJobLine {
        name: name.to_owned(),
        line,
        rw,
        bs: if of(&["bssplit"]).is_some() || of(&["kb_base"]).is_some_and(|base| base != "1024") {
            [None; 3]
        } else {
            sizes(of(&["bs", "blocksize"]), of(&["bsrange", "blocksize_range"]))
        },
        ioengine: of(&["ioengine"]).map(str::to_owned),
        iodepth: of(&["iodepth"]).and_then(|depth| depth.parse().ok()),
    }
}

/// Returns the minimum and maximum sizes, in bytes, of reads, writes and trims from `4k`, `4k,8k`,
/// `4k-64k`. `range` counts before `fixed`.
pub(super) fn sizes(fixed: Option<&str>, range: Option<&str>) -> [Option<(u64, u64)>; 3] {
    let Some(text) = range.or(fixed) else { return [None; 3] };
    let mut parts = text.split(',').map(|part| {
        let (least, most) = part.split_once('-').unwrap_or((part, part));
        Some((printed_size(least)?, printed_size(most)?))
    });
    // A size that is not given equals the one before it.
    let reads = parts.next().flatten();
    let writes = parts.next().unwrap_or(reads);
    let trims = parts.next().unwrap_or(writes);
    [reads, writes, trims]
}

pub(crate) fn is_flag(key: &str) -> bool {
    FLAGS.split(' ').any(|flag| flag == key)
}

/// Options that may have no value, including those of older versions and of the command line.
const FLAGS: &str = "bs_unaligned norandommap time_based verify_only exitall exitall_on_error stonewall wait_for_previous \
                     new_group thread group_reporting zero_buffers refill_buffers unlink overwrite invalidate direct minimal \
                     append-terse version help showcmd readonly parse-only warnings-fatal cmdhelp enghelp";
