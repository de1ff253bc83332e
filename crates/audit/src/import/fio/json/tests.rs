use super::*;
use crate::import::scan;

macro_rules! fixture {
    ($name:literal) => {
        only(include_str!(concat!("../../../../fixtures/fio/", $name)))
    };
}

fn all(text: &str) -> Vec<Fio> {
    let fio = |said| match said {
        Said::Fio(fio) => Some(*fio),
        _ => None,
    };
    scan(&Page::new("p", text)).outputs.into_iter().filter_map(|output| fio(output.said)).collect()
}

fn only(text: &str) -> Fio {
    let mut found = all(text);
    assert_eq!(found.len(), 1);
    found.remove(0)
}

fn way(job: &Job, way: Way) -> &Direction {
    job.directions.iter().find(|one| one.way == way).unwrap()
}

/// IOPS are I/Os a second of the runtime, bandwidth is bytes a second of it: in all eras.
fn holds(direction: &Direction) {
    let seconds = direction.runtime_ms.unwrap().value / 1e3;
    let rate = direction.io.unwrap().interval().scaled(1.0 / seconds);
    assert!(rate.wider(1e-3).meets(direction.bandwidth.unwrap().interval()), "{direction:?}");
    if let (Some(ios), Some(iops)) = (direction.ios, direction.iops) {
        assert!(ios.interval().scaled(1.0 / seconds).wider(1e-6).meets(iops.interval()), "{direction:?}");
    }
    if let (Some(first), Some(second)) = (direction.bandwidth, direction.bandwidth_decimal) {
        assert!(first.interval().meets(second.interval()));
    }
    if let (Some(first), Some(second)) = (direction.io, direction.io_decimal) {
        assert!(first.interval().meets(second.interval()));
    }
    if let Some(clat) = direction.clat {
        assert!(clat.min.value <= clat.mean.value && clat.mean.value <= clat.max.value);
        let (_, median) =
            direction.percentiles.as_ref().unwrap().points.iter().find(|one| one.0 == 50.0).unwrap();
        assert!((clat.min.low * 0.98..=clat.max.high).contains(&median.value));
    }
}

#[test]
fn a_run_of_reads_and_writes_is_read() {
    let fio = fixture!("randrw.json");
    assert_eq!((fio.form, fio.version), (Form::Json, Some(Version { major: 3, minor: 33 })));
    let [job] = fio.jobs.as_slice() else { panic!("{}", fio.jobs.len()) };
    assert_eq!((job.name.as_str(), job.group, job.aggregate), ("mix", Some(0), false));
    assert_eq!(job.directions.len(), 2, "nothing was trimmed");
    job.directions.iter().for_each(holds);
    assert!(way(job, Way::Read).slat.is_none(), "psync has none");
    assert_eq!(way(job, Way::Read).percentiles.as_ref().unwrap().points.len(), 17);
    assert_eq!(fio.block_size(job, Way::Write), Some(4096));
    assert_eq!((job.option("rw"), job.depths.len()), (Some("randrw"), 7));
    assert_eq!(job.issued.unwrap().total[0], way(job, Way::Read).ios);
    let shares: f64 = job.buckets.iter().map(|(_, share)| share.value).sum();
    assert!((shares - 100.0).abs() < 0.2, "{shares}");
    assert_eq!(fio.disks[0].name, "vda");
    let readings = fio.readings();
    assert_eq!(readings[1].workload.rw.as_deref(), Some("randrw"));
    let mut spots = Vec::new();
    fio.figures(&mut |(_, _, figure)| spots.push(figure.spot));
    let count = spots.len();
    spots.sort();
    spots.dedup();
    assert_eq!(spots.len(), count, "no figure is told twice");
}

#[test]
fn histograms_and_percentiles_of_other_latencies_are_read() {
    let fio = fixture!("randread.json+");
    let read = way(&fio.jobs[0], Way::Read);
    let percentiles = read.percentiles.as_ref().unwrap();
    assert_eq!(percentiles.of, "clat");
    assert_eq!(percentiles.points.iter().map(|(percent, _)| *percent).collect::<Vec<_>>(), [50.0, 99.0]);
    let counted: u64 = read.histogram.iter().map(|(_, count)| count).sum();
    assert_eq!(counted as f64, read.ios.unwrap().value);
}

#[test]
fn a_group_is_as_many_jobs_as_ran_that_long() {
    assert_eq!(fixture!("steady.json").jobs[0].jobs, Some(1));
    let job = &fixture!("group.json").jobs[0];
    assert_eq!((job.jobs, job.option("numjobs")), (Some(2), Some("2")));
    holds(&job.directions[0]);
    let other = include_str!("../../../../fixtures/fio/group.json")
        .replace("\"numjobs\" : \"2\"", "\"numjobs\" : \"3\"");
    assert_eq!(only(&other).jobs[0].jobs, None, "another section may be in it");
}

#[test]
fn what_sums_other_jobs_is_marked_and_counted_once() {
    let fio = fixture!("clients.json");
    let marks: Vec<(&str, bool)> = fio.jobs.iter().map(|job| (job.name.as_str(), job.aggregate)).collect();
    assert_eq!(marks, [("a", false), ("b", false), ("All clients", true)]);
    assert_eq!(fio.jobs[0].host.as_deref(), Some("127.0.0.1"));
    assert_eq!(fio.jobs[1].option("size"), Some("2m"));
    assert_eq!(fio.readings().len(), 2);
    let fio = fixture!("unified.json");
    let marks: Vec<(usize, bool)> =
        fio.jobs.iter().map(|job| (job.directions.len(), job.aggregate)).collect();
    assert_eq!(marks, [(2, false), (1, true)]);
    assert_eq!(fio.jobs[1].directions[0].way, Way::Both);
    assert_eq!(fio.readings().len(), 2);
}

#[test]
fn the_era_of_microseconds_has_its_units() {
    let fio = fixture!("old-2.1.json");
    let job = &fio.jobs[0];
    assert_eq!(job.directions.len(), 1);
    let write = way(job, Way::Write);
    holds(write);
    assert_eq!(write.io.unwrap().value, 204_800.0 * 1024.0);
    assert_eq!((write.iops.unwrap().low, write.iops.unwrap().high), (100.0, 101.0), "cut off");
    assert_eq!(write.clat.unwrap().mean.value, 9_900_750.0);
    assert_eq!(write.percentiles.as_ref().unwrap().points.len(), 3, "without what fills the list up");
    assert_eq!((job.jobs, job.issued), (None, None));
    assert_eq!(job.buckets.iter().map(|(edge, _)| *edge).collect::<Vec<_>>(), [2e6, 1e7, 2e7, 1e8]);
    assert_eq!((job.buckets[0].1.low, job.buckets[0].1.high), (0.0, 0.015), "no less is printed");
}

#[test]
fn outputs_stand_anywhere_with_anything_between() {
    let one = include_str!("../../../../fixtures/fio/randrw.json");
    let text =
        format!("$ fio x.fio\nfio: warning\nJobs: 1 (f=1): [r(1)]\n{one}\nJobs: 1 (f=1)\n\n{one}and so on\n");
    let found = all(&text);
    assert_eq!(found.len(), 2);
    assert_eq!(found[1].jobs[0].directions.len(), 2);
    let wrapped = format!("{{ \"host\": \"a\", \"result\": [ {one} ] }}");
    assert_eq!(all(&wrapped)[0].jobs.len(), 1);
    let start = one.find("    {\n      \"jobname\"").unwrap();
    let end = one.find("  ],\n  \"disk_util\"").unwrap();
    let excerpt = only(&one[start..end]);
    assert_eq!((excerpt.jobs.len(), excerpt.version), (1, None));
    holds(&excerpt.jobs[0].directions[0]);
    assert!(all("{ \"jobs\": [ { \"name\": \"build\" } ], \"read\": { \"bw\": 3 } }").is_empty());
}

#[test]
fn same_named_jobs_that_were_asked_different_things_agree_in_what_they_share() {
    let job = |bs: &str| {
        format!(
            "{{ \"jobname\": \"a\", \"job options\": {{ \"rw\": \"read\", \"bs\": \"{bs}\" }}, \
             \"read\": {{ \"io_kbytes\": 8, \"io_bytes\": 8192, \"bw\": 8, \"iops\": 2.000000, \"runtime\": 1000 }} }}"
        )
    };
    let text = format!("{{ \"fio version\": \"fio-3.1\", \"jobs\": [ {}, {} ] }}", job("4k"), job("8k"));
    let fio = only(&text);
    assert_eq!((fio.jobs.len(), fio.block_size(&fio.jobs[0], Way::Read)), (2, None));
    assert_eq!(fio.asked_of(&fio.jobs[1]).unwrap().rw.as_deref(), Some("read"));
}

#[test]
fn no_more_is_asked_than_fio_runs_jobs() {
    let job = |at: usize| {
        format!(
            r#"{{ "jobname" : "j{at}", "groupid" : {at}, "error" : 0, "job options" : {{ "rw" : "read" }}, "read" : {{ "total_ios" : 1, "iops" : 1.0 }} }}"#
        )
    };
    let jobs: Vec<String> = (0..5000).map(job).collect();
    let text = format!(r#"{{ "fio version" : "fio-3.33", "jobs" : [ {} ] }}"#, jobs.join(","));
    let scanned = crate::import::scan(&crate::page::Page::new("p", text));
    let crate::import::Said::Fio(fio) = &scanned.outputs[0].said else { panic!("no fio") };
    assert_eq!((fio.jobs.len(), fio.asked.len()), (5000, crate::import::fio::MOST_JOBS));
}
