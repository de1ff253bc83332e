//! Imported results: what is compared, what is not, and against whom.

use crate::against::{RunMismatch, compare_runs};
use crate::findings::against::RegressionLimits;
use crate::results::imported::{ImportedFindings, ImportedRow};
use crate::{RunData, findings, twin};
use iotax_load::Histogram;
use iotax_model::record::imported::Uncounted;
use iotax_stats::{Refusal, Verdict};

const LIMITS: RegressionLimits = RegressionLimits { rate: Some(0.05), latency: None, cpu: None };

fn found(run: &RunData) -> ImportedFindings {
    findings(run).imported.unwrap()
}

fn row<'a>(found: &'a ImportedFindings, subject: &str, system: &str) -> &'a ImportedRow {
    let load = found.workloads.iter().find(|one| one.subject.starts_with(subject)).unwrap();
    load.rows.iter().find(|row| row.system == system).unwrap()
}

/// The ids of two runs differ.
fn another(mut run: RunData) -> RunData {
    run.start.id = "20260101-130000-0007".into();
    run
}

#[test]
fn one_run_each_is_never_a_verdict() {
    let found = found(&twin::imported());
    let vm = row(&found, "4k randread", "vm").comparison.as_ref().unwrap();
    let Verdict::Unresolved { reason, .. } = &vm.verdict else { panic!("{vm:?}") };
    assert_eq!(*reason, Refusal::NoSpread { baseline: 1, other: 1 });
    assert_eq!(reason.to_string(), "one run each: no spread is known");
    assert!((vm.ratio.value().unwrap() - 0.8).abs() < 1e-9 && vm.ratio.bounds().is_none());
    let [low, high] = vm.rounding.unwrap();
    assert!(low < 0.8 && 0.8 < high && high - low < 0.005, "{low} to {high}");
}

#[test]
fn runs_that_show_their_spread_are_compared_and_copies_are_no_runs() {
    let run = twin::imported();
    let found = found(&run);
    let vm = row(&found, "4k randwrite", "vm");
    assert_eq!(vm.runs, 5, "the copy is none");
    let verdict = &vm.comparison.as_ref().unwrap().verdict;
    assert!(
        matches!(verdict, Verdict::Costs { cost, .. } if (cost - 0.2).abs() < 0.01),
        "{verdict:?}"
    );
    let copies = findings(&run).warnings.into_iter().filter(|one| one.kind == "copies").count();
    assert_eq!(copies, 2);
    // Three runs are too few, however alike they are.
    let mut few = twin::imported();
    let mut kept = 0;
    few.imported.retain(|one| {
        let counts = one.load.rw.as_deref() == Some("randwrite") && one.system == "vm";
        kept += u32::from(counts);
        !counts || kept <= 3
    });
    let few = self::found(&few);
    let vm = row(&few, "4k randwrite", "vm").comparison.as_ref().unwrap();
    assert!(matches!(
        &vm.verdict,
        Verdict::Unresolved { reason: Refusal::NoSpread { baseline: 5, other: 3 }, .. }
    ));
}

#[test]
fn what_the_outputs_do_not_date_is_taken_to_be_far_apart() {
    let width = |dated: bool| {
        let mut run = twin::imported();
        if !dated {
            run.imported.iter_mut().for_each(|one| one.ended = None);
        }
        let (low, high) = row(&found(&run), "4k randwrite", "vm")
            .comparison
            .as_ref()
            .unwrap()
            .ratio
            .bounds()
            .unwrap();
        (high / low).ln()
    };
    assert!(width(false) > 2.0 * width(true), "{} against {}", width(false), width(true));
}

#[test]
fn digits_that_were_rounded_away_widen_what_is_said() {
    let bounds = |half: f64| {
        let mut run = twin::imported();
        for one in run
            .imported
            .iter_mut()
            .flat_map(|one| &mut one.samples)
            .filter(|one| one.metric == "iops")
        {
            let value = one.value.unwrap();
            (one.low, one.high) = (Some(value - half), Some(value + half));
        }
        row(&found(&run), "4k randwrite", "vm").comparison.as_ref().unwrap().ratio.bounds().unwrap()
    };
    let (fine, coarse) = (bounds(0.5), bounds(500.0));
    assert!(coarse.0 < fine.0 - 0.02 && coarse.1 > fine.1 + 0.02, "{fine:?} {coarse:?}");
}

#[test]
fn percentiles_are_not_averaged_and_histograms_are_merged() {
    let mut run = twin::imported();
    let vm = row(&found(&run), "4k randwrite", "vm").percentiles[0];
    assert!(vm.least_ns < vm.most_ns && vm.from == "printed", "{vm:?}");
    for (result, offset) in run.imported.iter_mut().zip(0..) {
        if !result.samples.is_empty() {
            let mut sample = result.samples[0].clone();
            (sample.metric, sample.value, sample.histogram) =
                ("latency".into(), None, Some(offset));
            (sample.low, sample.high) = (None, None);
            result.samples.push(sample);
        }
    }
    run.histograms = iotax_store::SegmentSource::new(|_| {
        let mut one = Histogram::new();
        one.record_many(100_000, 98);
        one.record_many(900_000, 2);
        Some(one)
    });
    let found = found(&run);
    let merged = &row(&found, "4k randwrite", "vm").percentiles;
    assert!(merged.iter().all(|one| one.from == "histograms" && one.least_ns == one.most_ns));
    let at = |percent: f64| merged.iter().find(|one| one.percent == percent).unwrap().least_ns;
    assert!(
        (at(50.0) / 1e5 - 1.0).abs() < 0.01 && (at(99.0) / 9e5 - 1.0).abs() < 0.01,
        "{merged:?}"
    );
    // A single run's are as they were printed, whatever its histogram says.
    assert_eq!(row(&found, "4k randread", "vm").percentiles[0].from, "printed");
}

#[test]
fn parts_of_one_output_stand_apart() {
    let found = found(&twin::imported());
    let parts: Vec<&str> = found
        .workloads
        .iter()
        .map(|one| one.subject.as_str())
        .filter(|name| name.contains("in one output"))
        .collect();
    assert_eq!(
        parts,
        ["128k read, job 1 of 2 in one output", "128k read, job 2 of 2 in one output"]
    );
}

#[test]
fn scores_are_compared_with_more_or_less_as_the_better() {
    let found = found(&twin::imported());
    for other in &found.others {
        let vm = other.rows[1].comparison.as_ref().unwrap();
        assert!(
            (vm.ratio.value().unwrap() - 0.8).abs() < 1e-9,
            "{}: worse is below one: {vm:?}",
            other.name
        );
        assert!(!vm.verdict.is_resolved());
    }
    assert_eq!(found.others.len(), 2);
}

#[test]
fn two_imported_runs_are_compared_where_their_spread_is_known() {
    let mut later = another(twin::imported());
    for one in later
        .imported
        .iter_mut()
        .flat_map(|one| &mut one.samples)
        .filter(|one| one.metric == "iops")
    {
        let half = |value: f64| value * 0.5;
        (one.value, one.low, one.high) =
            (one.value.map(half), one.low.map(half), one.high.map(half));
    }
    let found = compare_runs(&twin::imported(), &later, LIMITS).unwrap();
    let rate = |subject: &str| {
        let load = found.workloads.iter().find(|one| one.subject.starts_with(subject)).unwrap();
        &load.stacks.iter().find(|one| one.stack == "vm").unwrap().rates[0]
    };
    assert!(
        matches!(rate("4k randwrite").verdict, Verdict::Costs { .. }),
        "{:?}",
        rate("4k randwrite")
    );
    assert!(
        rate("4k randread").sentence.contains("one run each: no spread is known"),
        "{:?}",
        rate("4k randread")
    );
    assert!(
        found.fails() && found.warnings.iter().filter(|one| one.kind == "imported").count() == 2
    );
}

#[test]
fn an_imported_run_is_compared_with_a_measured_one_of_the_same_load() {
    let measured = twin::bill();
    let mut imported = another(twin::imported());
    imported
        .imported
        .retain(|one| one.load.rw.as_deref() == Some("randread") && one.system == "host");
    for one in &mut imported.imported {
        one.system = "file".into();
        (one.load.iodepth, one.load.numjobs) = (Some(1), None);
    }
    let found = compare_runs(&measured, &imported, RegressionLimits::default()).unwrap();
    let stack = &found.workloads[0].stacks[0];
    assert_eq!((found.workloads.len(), stack.stack.as_str()), (1, "file"));
    assert!(
        stack.rates[0].sentence.contains("one imported run: no spread of it is known"),
        "{stack:?}"
    );
    assert!(
        stack.rates[0].change.direct.value().is_some() && stack.latency.direct.value().is_some()
    );
    assert!(
        found.only.iter().any(|one| one.run == "old" && one.what == "workload"),
        "the depth of 32"
    );

    imported.imported[0].load.bs = Some(8192);
    let none = compare_runs(&measured, &imported, RegressionLimits::default()).unwrap_err();
    assert!(matches!(none, RunMismatch::NothingInCommon { what: "workload", .. }), "{none}");
}

#[test]
fn systems_of_other_names_are_refused_with_what_names_them() {
    let mut other = another(twin::imported());
    other.imported.iter_mut().for_each(|one| one.system = format!("{}2", one.system));
    let none = compare_runs(&twin::imported(), &other, RegressionLimits::default())
        .unwrap_err()
        .to_string();
    assert!(none.contains("no system in common") && none.contains("--system NAME=PATH"), "{none}");
}

#[test]
fn what_keeps_two_sides_from_being_alike_is_told() {
    let texts = |run: &RunData, kind: &str| {
        let all = findings(run).warnings.into_iter().filter(|one| one.kind == kind);
        all.map(|one| format!("{}: {}", one.subject, one.text)).collect::<Vec<_>>()
    };
    let plain = twin::imported();
    for kind in ["copied_file", "confounder", "tools"] {
        assert_eq!(texts(&plain, kind), Vec::<String>::new());
    }
    let mut run = twin::imported();
    run.imported_files[1].sha256 = run.imported_files[0].sha256.clone();
    run.imported_files[1].snapshots = 3;
    let copied = texts(&run, "copied_file");
    assert!(
        copied[0].starts_with("host, vm: /srv/results/host/all.txt, /srv/results/vm/all.txt are"),
        "{copied:?}"
    );
    assert!(
        texts(&run, "snapshots")[0].starts_with("/srv/results/vm/all.txt: 3 outputs were printed")
    );
    for one in run.imported.iter_mut().filter(|one| one.load.rw.as_deref() == Some("randread")) {
        one.load.settings = Some(vec![format!("direct={}", u8::from(one.system == "host"))]);
    }
    let found = texts(&run, "confounder");
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with(
        "vm, 4k randread at iodepth 8 x 2 (libaio): direct=0 against direct=1 of host"
    ));
}

#[test]
fn failed_runs_are_no_runs_and_slips_are_told() {
    let mut run = twin::imported();
    for one in run.imported.iter_mut().filter(|one| one.system == "vm") {
        one.uncounted = Some(Uncounted::Failed("error 5, Input/output error".into()));
    }
    run.imported[0].slips =
        vec!["IOPS: 20.0k is printed, but 20993 follows from 1259580 I/Os in 60 s".into()];
    let all = found(&run);
    assert!(
        all.workloads.iter().all(|one| one.rows.len() == 1 && one.sentences.is_empty()),
        "no verdict"
    );
    assert!(all.others.iter().all(|one| one.rows.len() == 1));
    let warned = findings(&run).warnings;
    let of = |kind: &str| warned.iter().filter(|one| one.kind == kind).collect::<Vec<_>>();
    let failed = of("failed_job");
    let [one] = failed.as_slice() else { panic!("{failed:?}") };
    let text = "11 results of runs that ended with error 5, Input/output error are not counted, and no verdict \
                rests on them: /srv/results/vm/all.txt:1";
    assert_eq!((one.subject.as_str(), one.text.as_str()), ("vm", text));
    assert!(of("slip")[0].text.contains("20.0k is printed"));
}

#[test]
fn an_option_of_one_side_is_a_confounder_once_for_all_loads() {
    let mut run = twin::imported();
    for one in &mut run.imported {
        let invalidate = (one.system == "vm").then(|| "invalidate=0".to_owned());
        one.load.settings = Some(invalidate.into_iter().chain(["direct=1".to_owned()]).collect());
    }
    let found: Vec<_> =
        findings(&run).warnings.into_iter().filter(|one| one.kind == "confounder").collect();
    let [one] = found.as_slice() else { panic!("{found:?}") };
    assert!(one.text.starts_with("invalidate=0 against invalidate not set of host"), "{one:?}");
    assert!(one.subject.ends_with("and 3 more comparisons"), "{one:?}");
}

#[test]
fn tools_are_told_where_one_table_has_results_of_several() {
    let tools = |run: &RunData| {
        findings(run).warnings.into_iter().filter(|one| one.kind == "tools").count()
    };
    let mut run = twin::imported();
    let of = |rw: &'static str| {
        move |one: &&mut iotax_model::record::imported::ImportedResult| {
            one.load.rw.as_deref() == Some(rw)
        }
    };
    run.imported.iter_mut().filter(of("randread")).for_each(|one| one.tool = "fio JSON".into());
    assert_eq!(tools(&run), 0, "both rows are of JSON");
    run.imported
        .iter_mut()
        .filter(of("randwrite"))
        .take(1)
        .for_each(|one| one.tool = "fio JSON".into());
    assert_eq!(tools(&run), 1);
}

#[test]
fn a_capped_load_has_a_table_of_its_own() {
    let mut run = twin::imported();
    for one in run.imported.iter_mut().filter(|one| one.system == "vm") {
        one.load.caps = vec!["rate_iops=1000".into()];
    }
    let found = found(&run);
    let capped = found.workloads.iter().filter(|one| one.subject.contains(", rate_iops=1000"));
    assert_eq!(2 * capped.count(), found.workloads.len());
    assert!(found.workloads.iter().all(|one| one.rows.len() == 1), "nothing is compared");
}
