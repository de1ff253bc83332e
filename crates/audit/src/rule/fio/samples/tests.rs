use crate::finding::Severity;
use crate::rule::fio::testing::{MIXED, READ, found, speaks};

#[test]
fn samples_that_are_not_of_the_run_are_told() {
    speaks(
        READ,
        &[
            ("per=100.00%, avg=251772.39", "per=100.00%, avg=201772.39", "F14"),
            ("per=100.00%", "per=65.00%", "F15"),
            ("samples=61\n   iops", "samples=31\n   iops", "F16"),
            ("avg=62943.10", "avg=52943.10", "F17"),
        ],
    );
}

#[test]
fn samples_off_the_run_are_ambiguous_and_wrong_where_per_and_iops_contradict_them() {
    let severity = |changes: &[(&str, &str)]| {
        let mut text = READ.to_owned();
        for (from, to) in changes {
            assert!(text.contains(from), "{from}");
            text = text.replace(from, to);
        }
        found(&text, "F14").iter().map(|one| one.severity).collect::<Vec<_>>()
    };
    let lagged =
        [("per=100.00%, avg=251772.39", "per=80.58%, avg=201772.39"), ("avg=62943.10", "avg=50443.10")];
    assert_eq!(severity(&lagged), [Severity::Ambiguous], "as a sampler that lags has it");
    assert_eq!(
        severity(&[("avg=251772.39", "avg=351772.39")]),
        [Severity::Ambiguous],
        "what stood still is in no sample"
    );
    let edited =
        [("per=100.00%, avg=251772.39", "per=80.58%, avg=301772.39"), ("avg=62943.10", "avg=50443.10")];
    assert_eq!(severity(&edited), [Severity::WrongFigure]);
    let other =
        [("per=100.00%, avg=251772.39", "per=80.58%, avg=301772.39"), ("avg=62943.10", "avg=75443.10")];
    assert_eq!(severity(&other), [Severity::Ambiguous], "IOPS are with avg");
    let text = READ.replace("per=100.00%", "per=120.00%");
    assert!(found(&text, "F15")[0].message.ends_with("is in no sample"));
}

#[test]
fn short_runs_have_no_samples_to_speak_of() {
    let off = MIXED.replace("avg=179654.00", "avg=149654.00");
    assert_eq!(found(&off, "F14"), []);
}

#[test]
fn sums_over_jobs_are_told_once_a_page() {
    assert_eq!(found(MIXED, "F18").len(), 1);
    assert_eq!(found(READ, "F18"), [], "one job");
    assert_eq!(
        found(&MIXED.replace("fio-3.33", "fio-3.12"), "F18"),
        [],
        "before 3.13 each job's samples counted"
    );
}

#[test]
fn a_rate_that_varies_is_told() {
    assert_eq!(found(READ, "F27").len(), 1, "31 % beside builds");
    assert_eq!(found(&READ.replace("stdev=77995.08", "stdev=7799.08"), "F27"), []);
}
