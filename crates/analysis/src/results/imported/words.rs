//! Description of a load in words, as far as the output describes it.

use iotax_model::record::imported::{ImportedDirection, ImportedPart, ReportedLoad};
use iotax_model::scenario::block_size_word;

/// Returns the words `4k randread at iodepth 8 x 2 (libaio)`; for a mix also the direction.
pub(crate) fn subject(
    load: &ReportedLoad,
    way: ImportedDirection,
    part: Option<ImportedPart>,
) -> String {
    let engine = load.ioengine.as_ref().map(|engine| format!(" ({engine})")).unwrap_or_default();
    let engine = engine + &caps(load);
    let way = if is_one_way(load) { String::new() } else { format!(": {}", way.direction_words()) };
    let part = part
        .map(|ImportedPart { part, of }| format!(", job {part} of {of} in one output"))
        .unwrap_or_default();
    format!("{}{}{engine}{way}{part}", what(load), depth(load))
}

/// Returns the words `4k randread IOPS at iodepth 8 x 2`.
pub(crate) fn quantity(load: &ReportedLoad, way: ImportedDirection, unit: &str) -> String {
    let way =
        if is_one_way(load) { String::new() } else { format!(" of {}", way.direction_words()) };
    format!("{} {unit}{way}{}{}", what(load), depth(load), caps(load))
}

fn caps(load: &ReportedLoad) -> String {
    load.caps.iter().map(|cap| format!(", {cap}")).collect()
}

/// Returns the words `throughput by 4 jobs`, for a result other than I/O.
pub(crate) fn other_subject(
    metric: &str,
    load: &ReportedLoad,
    part: Option<ImportedPart>,
) -> String {
    let size = load.bs.map(|bs| format!(", blocks of {}", block_size_word(bs))).unwrap_or_default();
    let part = part
        .map(|ImportedPart { part, of }| format!(", {part} of {of} in one output"))
        .unwrap_or_default();
    format!("{metric}{}{size}{part}", depth(load))
}

fn is_one_way(load: &ReportedLoad) -> bool {
    matches!(
        load.rw.as_deref(),
        Some("read" | "randread" | "write" | "randwrite" | "trim" | "randtrim")
    )
}

fn what(load: &ReportedLoad) -> String {
    let size = load.bs.map(block_size_word);
    let mix = load.rwmixread.map(|share| format!("{share} % reads"));
    let known = [size, load.rw.clone(), mix].into_iter().flatten().collect::<Vec<_>>().join(" ");
    match (known.is_empty(), &load.name) {
        (false, _) => known,
        (true, Some(name)) => name.clone(),
        (true, None) => "a load that the output does not describe".to_owned(),
    }
}

fn depth(load: &ReportedLoad) -> String {
    match (load.iodepth, load.numjobs) {
        (Some(depth), None | Some(1)) => format!(" at iodepth {depth}"),
        (Some(depth), Some(jobs)) => format!(" at iodepth {depth} x {jobs}"),
        (None, Some(jobs)) if jobs > 1 => format!(" by {jobs} jobs"),
        (None, _) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_told_as_far_as_it_is_known() {
        let full = ReportedLoad {
            rw: Some("randrw".into()),
            bs: Some(4096),
            iodepth: Some(8),
            numjobs: Some(2),
            ioengine: Some("libaio".into()),
            rwmixread: None,
            name: Some("mixed".into()),
            ..ReportedLoad::default()
        };
        assert_eq!(
            subject(&full, ImportedDirection::Write, None),
            "4k randrw at iodepth 8 x 2 (libaio): writes"
        );
        let of = ImportedPart { part: 2, of: 4 };
        let reads = ReportedLoad { rw: Some("randread".into()), numjobs: None, ..full.clone() };
        assert_eq!(
            subject(&reads, ImportedDirection::Read, Some(of)),
            "4k randread at iodepth 8 (libaio), job 2 of 4 in one output"
        );
        assert_eq!(
            quantity(&full, ImportedDirection::Read, "IOPS"),
            "4k randrw IOPS of reads at iodepth 8 x 2"
        );
        let capped = ReportedLoad { caps: vec!["rate_iops=1000".into()], ..reads.clone() };
        assert_eq!(
            subject(&capped, ImportedDirection::Read, None),
            "4k randread at iodepth 8 (libaio), rate_iops=1000"
        );
        assert_ne!(capped.identity(), reads.identity());
        let direct = ReportedLoad { settings: Some(vec!["direct=1".into()]), ..reads.clone() };
        assert_eq!(direct.identity(), reads.identity(), "the same load, otherwise set");
        let named = ReportedLoad { name: Some("mixed".into()), ..ReportedLoad::default() };
        assert_eq!(subject(&named, ImportedDirection::Read, None), "mixed: reads");
        assert_eq!(
            subject(&ReportedLoad::default(), ImportedDirection::Both, None),
            "a load that the output does not describe: reads and writes together"
        );
    }
}
