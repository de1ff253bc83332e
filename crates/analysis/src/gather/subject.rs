//! Subject of a verdict in words: `4k random-read IOPS at iodepth 32 x 4`.

pub use crate::findings::Quantity;
use crate::gather::rounds::IoDirection;
use iotax_load::Job;
use iotax_model::scenario::{
    Regime, Workload, block_word, detail_words, order_words, probes, rate_words,
};
use iotax_probe::ProbeUnit;

/// Smallest block size for which throughput is shown instead of IOPS.
const THROUGHPUT_FROM: u64 = 64 << 10;

/// Returns the words for a compared rate, of all I/Os or of one direction of a mix. Loads that
/// write name the figure (acknowledged or durable) and the regime, reads of a mix only the regime.
/// `regime` is `None` if it differs between two runs.
pub fn quantity(
    workload: &Workload,
    which: Quantity,
    regime: Option<Regime>,
    way: Option<IoDirection>,
) -> String {
    if let Some(probe) = &workload.probe {
        return probes::quantity(probe);
    }
    let words =
        [(way != Some(IoDirection::Read)).then(|| which.word()), regime.map(Regime::regime_word)];
    let figure = match words.into_iter().flatten().collect::<Vec<_>>().join(", ").as_str() {
        words if workload.writes() && !words.is_empty() => format!(" ({words})"),
        _ => String::new(),
    };
    let way = way.map(|way| format!("{} ", way.word())).unwrap_or_default();
    match workload.jobs.as_slice() {
        [job] => job_words(job, &way, &figure),
        _ => format!("{way}IOPS{figure} of {}", workload.subject()),
    }
}

/// Returns the unit in which rates of a workload are given: bytes for one job with large blocks,
/// else I/Os; a probe has its own.
pub fn rate_unit(workload: &Workload) -> &'static str {
    match workload.probe_unit() {
        Some(ProbeUnit::Bytes) => return "B/s",
        Some(ProbeUnit::Count(_)) => return "1/s",
        Some(ProbeUnit::Time(_)) => return "ns",
        None => {}
    }
    match workload.jobs.as_slice() {
        [job] if is_throughput(job) => "B/s",
        _ => "1/s",
    }
}

fn is_throughput(job: &Job) -> bool {
    job.bs >= THROUGHPUT_FROM
}

fn job_words(job: &Job, way: &str, figure: &str) -> String {
    let unit = if is_throughput(job) { "throughput" } else { "IOPS" };
    let jobs = if job.numjobs > 1 { format!(" x {}", job.numjobs) } else { String::new() };
    let depth = job.iodepth;
    let (rate, details) = (rate_words(job), detail_words(job));
    format!(
        "{} {} {way}{unit}{figure} at iodepth {depth}{jobs}{rate}{details}",
        block_word(job),
        job_kind(job)
    )
}

fn job_kind(job: &Job) -> String {
    let order = order_words(job);
    if job.rw.trims() {
        return format!("{order}-{}", if job.rw.writes_data() { "trim-and-write" } else { "trim" });
    }
    match (job.rw.reads(), job.rw.writes()) {
        (true, true) => format!("{order} {}/{} mixed", job.rwmixread, 100 - job.rwmixread.min(100)),
        (_, true) => format!("{order}-write"),
        _ => format!("{order}-read"),
    }
}

/// Marks the name of something emulated with ` ~`; the banner gives the reason once.
pub fn mark_emulated(name: &str, emulated: bool) -> String {
    format!("{name}{}", if emulated { " ~" } else { "" })
}

/// Returns the subject of a comparison's sentence: `loop against file`, marked if it is emulated.
pub fn comparison_subject(stack: &str, against: &str, emulated: bool) -> String {
    mark_emulated(&format!("{stack} against {against}"), emulated)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_load::Rw;

    fn workload(jobs: Vec<Job>) -> Workload {
        Workload { name: "w".into(), jobs, probe: None, engine: None, sweep: None }
    }

    #[test]
    fn quantities() {
        let read = Job { iodepth: 32, numjobs: 4, ..Job::default() };
        let write = Job { rw: Rw::Write, bs: 1 << 20, ..Job::default() };
        let mix = Job { rw: Rw::RandRw, rwmixread: 70, ..Job::default() };
        let said =
            |jobs| quantity(&workload(jobs), Quantity::Acknowledged, Some(Regime::Burst), None);
        assert_eq!(said(vec![read.clone()]), "4k random-read IOPS at iodepth 32 x 4");
        assert_eq!(
            said(vec![write.clone()]),
            "1M sequential-write throughput (acknowledged, burst) at iodepth 1"
        );
        let paced = Job { rate_iops: Some(900), ..Job::default() };
        assert_eq!(said(vec![paced]), "4k random-read IOPS at iodepth 1, rate_iops 900");
        let of = |way| {
            quantity(
                &workload(vec![mix.clone()]),
                Quantity::Acknowledged,
                Some(Regime::Burst),
                Some(way),
            )
        };
        assert_eq!(of(IoDirection::Read), "4k random 70/30 mixed read IOPS (burst) at iodepth 1");
        assert_eq!(
            of(IoDirection::Write),
            "4k random 70/30 mixed write IOPS (acknowledged, burst) at iodepth 1"
        );
        assert_eq!(
            said(vec![mix]),
            "4k random 70/30 mixed IOPS (acknowledged, burst) at iodepth 1"
        );
        assert_eq!(
            said(vec![read, write.clone()]),
            "IOPS (acknowledged, burst) of 4k random reads at iodepth 32 x 4 with 1M sequential writes at iodepth 1"
        );
        let verified = Job { rw: Rw::RandWrite, verify: true, prio: Some(3), ..Job::default() };
        assert_eq!(
            said(vec![verified]),
            "4k random-write IOPS (acknowledged, burst) at iodepth 1, prio 3, verified"
        );
        let durable =
            quantity(&workload(vec![write]), Quantity::Durable, Some(Regime::Steady), None);
        assert_eq!(durable, "1M sequential-write throughput (durable, steady) at iodepth 1");
    }
}
