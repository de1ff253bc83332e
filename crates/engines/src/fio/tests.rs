//! Tests the installed fio, where there is one, and how its output is read.

use super::here::version;
use super::report::{convert, parse};
use super::*;
use iotax_load::{Histogram, Hold, Rw, clock};
use std::path::PathBuf;

fn target(path: &Path, writable: bool) -> TargetSpec {
    TargetSpec { path: path.to_owned(), offset: 0, bytes: None, writable, hold: Hold::default() }
}

fn file_of(bytes: usize, name: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, vec![0xA5; bytes]).unwrap();
    (dir, path)
}

fn without_fio() -> bool {
    if version().is_err() {
        println!("skipped: needs fio");
    }
    version().is_err()
}

fn time(ms: u64) -> SliceSpec {
    SliceSpec {
        bound: SliceBound::Time { ns: ms * 1_000_000 },
        min_discard_ns: 30_000_000,
        flush: false,
        begin_ns: None,
    }
}

#[test]
fn the_real_fio_reads_a_slice() {
    if without_fio() {
        return;
    }
    let (_dir, path) = file_of(4 << 20, "with space:and$dollar");
    let jobs = [Job::default(), Job { iodepth: 8, numjobs: 2, bs: 16384, ..Job::default() }];
    let mut fio = Fio::prepare(Box::new(Here::default()), &[target(&path, false)], &jobs).unwrap();
    assert!(fio.name().starts_with("fio 3."), "{}", fio.name());
    let result = fio.run_slice(&time(200)).unwrap();
    assert!((200_000_000..400_000_000).contains(&result.window_ns), "{}", result.window_ns);
    assert!(result.read.ios > 100 && result.read.bytes > result.read.ios * 4096, "{result:?}");
    // At the end of its ramp, fio counts what is in flight on one side only: 1 + 8 * 2 at most.
    assert!(result.read.latency.count().abs_diff(result.read.ios) <= 17, "{result:?}");
    assert_eq!((result.write.ios, result.errors, result.flush_ns), (0, 0, None));
    assert!(result.cpu_system_ns > 0 && result.discarded_ns == 30_000_000);
    let end = result.window_start_ns + result.window_ns;
    assert!(end <= clock::monotonic_ns() && clock::monotonic_ns() - end < 20_000_000_000);
    let words = fio.slice_command().unwrap();
    assert!(words.iter().any(|word| word == "--readonly"), "{words:?}");
    assert_eq!(
        std::fs::read(&path).unwrap(),
        vec![0xA5; 4 << 20],
        "a reading job changed the file"
    );
}

#[test]
fn the_real_fio_writes_within_its_region_and_flushes() {
    if without_fio() {
        return;
    }
    // fio would split this name, so it writes through a descriptor of ours.
    let (_dir, path) = file_of(3 << 20, "x:y");
    let bounded = TargetSpec { offset: 1 << 19, bytes: Some(3 << 19), ..target(&path, true) };
    let job = Job {
        rw: Rw::RandWrite,
        iodepth: 4,
        numjobs: 2,
        offset: 1 << 19,
        fdatasync: 16,
        ..Job::default()
    };
    let mut fio = Fio::prepare(Box::new(Here::default()), &[bounded], &[job]).unwrap();
    let spec = SliceSpec {
        bound: SliceBound::Bytes { bytes: 2 << 20 },
        min_discard_ns: 0,
        flush: true,
        begin_ns: None,
    };
    let result = fio.run_slice(&spec).unwrap();
    assert_eq!((result.write.bytes, result.write.latency.count()), (2 << 20, 512));
    assert!(result.sync_latency.count() >= 16, "{}", result.sync_latency.count());
    assert!(result.flush_ns.is_some());
    let after = std::fs::read(&path).unwrap();
    assert_eq!(after.len(), 3 << 20);
    let touched = |range: std::ops::Range<usize>| after[range].iter().any(|byte| *byte != 0xA5);
    assert!(!touched(0..1 << 20) && touched(1 << 20..2 << 20) && !touched(2 << 20..3 << 20));
}

#[test]
fn every_member_has_a_section_of_its_own_for_every_job() {
    if without_fio() {
        return;
    }
    let ((_a, one), (_b, two)) = (file_of(1 << 20, "one"), file_of(2 << 20, "two"));
    let write = Job { rw: Rw::Write, numjobs: 2, ..Job::default() };
    let targets = [target(&one, true), target(&two, true)];
    let mut fio = Fio::prepare(
        Box::new(Here::default()),
        &targets,
        &[write, Job { bs: 8192, ..Job::default() }],
    )
    .unwrap();
    let spec = SliceSpec {
        bound: SliceBound::Bytes { bytes: 1 << 20 },
        min_discard_ns: 0,
        flush: true,
        begin_ns: None,
    };
    let text = fio.job_file(&spec);
    assert_eq!(text.matches("[job").count(), 4, "{text}");
    for path in [&one, &two] {
        assert_eq!(text.matches(&format!("filename={}\n", path.display())).count(), 2, "{text}");
    }
    // Four of the six threads write, from the start of their file.
    let share = (1u64 << 20).div_ceil(6).div_ceil(4096) * 4096;
    let result = fio.run_slice(&spec).unwrap();
    assert_eq!((result.write.bytes, result.write.latency.count()), (4 * share, 4 * share / 4096));
    assert!(result.read.ios > 0 && result.flush_ns.is_some());
    for path in [&one, &two] {
        let data = std::fs::read(path).unwrap();
        let written = data.chunks(4096).take_while(|block| block.iter().any(|byte| *byte != 0xA5));
        assert_eq!(written.count() as u64, share / 4096, "{}", path.display());
    }
}

#[test]
fn options_of_a_job_file_reach_the_real_fio_and_no_others_do() {
    if without_fio() {
        return;
    }
    let (_dir, path) = file_of(4 << 20, "x");
    let options = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let split = Job {
        rw: Rw::RandRead,
        direct: false,
        fio_options: options(&["ioengine=mmap", "bssplit=4k/50:16k/50"]),
        ..Job::default()
    };
    let mut fio =
        Fio::prepare(Box::new(Here::default()), &[target(&path, true)], &[split]).unwrap();
    assert!(fio.choice_reason().contains("mmap"), "{}", fio.choice_reason());
    let result = fio.run_slice(&time(100)).unwrap();
    let mean = result.read.bytes as f64 / result.read.ios as f64;
    assert!((6e3..15e3).contains(&mean), "{mean} bytes per read");
    let holes = Job {
        rw: Rw::RandTrim,
        direct: false,
        fio_options: options(&["ioengine=falloc"]),
        ..Job::default()
    };
    let mut fio =
        Fio::prepare(Box::new(Here::default()), &[target(&path, true)], &[holes]).unwrap();
    let result = fio.run_slice(&time(100)).unwrap();
    assert!(result.trim.ios > 0 && result.errors == 0 && result.read.ios == 0, "{result:?}");
    let other = Job { fio_options: options(&["filename=/etc/passwd"]), ..Job::default() };
    let refused = Fio::prepare(Box::new(Here::default()), &[target(&path, true)], &[other]);
    assert!(refused.err().unwrap().to_string().contains("no option that fio may get"));
}

#[test]
fn what_fio_verified_leaves_no_file_of_its_state() {
    if without_fio() {
        return;
    }
    let (_dir, path) = file_of(1 << 20, "x");
    let verified = Job {
        rw: Rw::RandWrite,
        direct: false,
        fio_options: vec!["verify=crc32c".to_owned()],
        ..Job::default()
    };
    let mut fio =
        Fio::prepare(Box::new(Here::default()), &[target(&path, true)], &[verified]).unwrap();
    let bound = SliceBound::Bytes { bytes: 1 << 20 };
    assert!(fio.run_slice(&SliceSpec { bound, ..time(100) }).unwrap().write.ios > 0);
    assert!(!Path::new("/local-job0-0-verify.state").exists());
}

#[test]
fn the_real_fio_says_which_values_it_does_not_know() {
    if without_fio() {
        return;
    }
    let with =
        |text: &str| check_known(&[Job { fio_options: vec![text.to_owned()], ..Job::default() }]);
    with("thinktime=10").unwrap();
    check_known(&[Job::default()]).unwrap();
    let why = with("random_distribution=nonsense:3").unwrap_err().to_string();
    assert!(why.contains("random_distribution"), "{why}");
}

#[test]
fn slices_draw_different_offsets() {
    if without_fio() {
        return;
    }
    let (_dir, path) = file_of(1 << 20, "x");
    let mut fio =
        Fio::prepare(Box::new(Here::default()), &[target(&path, false)], &[Job::default()])
            .unwrap();
    let first = fio.job_file(&time(50));
    fio.run_slice(&time(50)).unwrap();
    assert_ne!(first, fio.job_file(&time(50)));
}

#[test]
fn fio_words_come_through_when_it_fails() {
    if without_fio() {
        return;
    }
    let (_dir, path) = file_of(1 << 20, "x");
    let mut fio =
        Fio::prepare(Box::new(Here::default()), &[target(&path, false)], &[Job::default()])
            .unwrap();
    std::fs::remove_file(&path).unwrap();
    let error = fio.run_slice(&time(50)).unwrap_err();
    assert!(
        matches!(&error, EngineError::Fio { words, .. } if words.contains("No such file")),
        "{error}"
    );
    assert!(!path.exists(), "fio made the file");
}

#[test]
fn fio_is_ended_before_the_host_gives_up() {
    let bytes = SliceSpec { bound: SliceBound::Bytes { bytes: 1 << 30 }, ..time(0) };
    for spec in [time(1_000), time(60_000), bytes] {
        let (limit, host) = (limit_of(&spec), slice_limit(&spec));
        assert!(limit < host && limit > Duration::from_secs(60), "{spec:?}: {limit:?} of {host:?}");
    }
}

#[test]
fn what_does_not_fit_is_refused_before_fio_runs() {
    let (_dir, path) = file_of(1 << 20, "x");
    let refused = |job: Job, target: &TargetSpec| {
        let error = fit_jobs(&Here::default(), target, &[job]).unwrap_err();
        assert_eq!(error.code(), iotax_units::exit::BAD_INPUT);
        error.to_string()
    };
    let plain = target(&path, false);
    assert!(
        refused(Job { size: Some(2 << 20), ..Job::default() }, &plain)
            .contains("wants 2097152 bytes")
    );
    assert!(
        refused(Job { offset: 1 << 20, ..Job::default() }, &plain).contains("has 1048576 bytes")
    );
    assert!(refused(Job { rw: Rw::RandRw, ..Job::default() }, &plain).contains("not permitted"));
    assert!(refused(Job { bs: 0, ..Job::default() }, &plain).contains("at least 1"));
    let held = TargetSpec { hold: Hold { ns: 5, share_ppm: 0 }, ..plain };
    assert!(refused(Job::default(), &held).contains("cannot hold"));
    assert!(
        refused(Job::default(), &target(Path::new("/nonexistent/x"), false))
            .contains("cannot open /nonexistent/x")
    );
}

#[test]
fn its_absence_names_the_command() {
    let error = EngineError::Missing(missing());
    assert_eq!(error.code(), iotax_units::exit::UNMET_NEED);
    assert!(error.to_string().contains("apt-get install fio"), "{error}");
}

#[test]
fn errors_of_io_are_counted_and_garbage_is_refused() {
    let side = r#"{"io_bytes":4096,"total_ios":1,"runtime":100,"lat_ns":{"bins":{"1016":1}}}"#;
    let text = |err: u32| {
        format!(
            r#"fio: some warning
        {{"timestamp_ms":1,"jobs":[{{"read":{side},"write":{side},"sync":{{"lat_ns":{{}}}},"job_runtime":100,"usr_cpu":50.0,"sys_cpu":25.0,"total_err":{err},"first_error":{}}}]}} trailing"#,
            if err > 0 { 5 } else { 0 }
        )
    };
    let result = convert(&parse(&text(3)).unwrap()).unwrap();
    assert_eq!(
        (result.errors, result.window_ns, result.cpu_user_ns, result.cpu_system_ns),
        (3, 100_000_000, 50_000_000, 25_000_000)
    );
    assert!(result.first_error.unwrap().contains("Input/output error"));
    assert_eq!(result.read.latency.count(), 1);
    assert_eq!(convert(&parse(&text(0)).unwrap()).unwrap().first_error, None);
    for garbage in ["", "{", "fio: died", r#"{"jobs":[]}"#, r#"{"timestamp_ms":1,"jobs":[]}"#] {
        assert!(parse(garbage).is_err(), "{garbage}");
    }
    let nameless = text(0).replace("1016", "x");
    assert!(convert(&parse(&nameless).unwrap()).is_err());
}

/// Returns the middle of fio's bucket of a value, by which fio names it: there are 64 buckets to a
/// doubling.
fn fio_middle(ns: u64) -> u64 {
    if ns < 128 {
        return ns;
    }
    let shift = 63 - ns.leading_zeros() as u64 - 6;
    (ns >> shift << shift) + (1 << shift) / 2
}

proptest::proptest! {
    #[test]
    fn a_latency_is_off_by_less_than_the_stated_bound(ns in 1u64..17_000_000_000) {
        let mut histogram = Histogram::new();
        histogram.record(fio_middle(ns));
        let (low, high) = (histogram.min().unwrap() as f64, histogram.max().unwrap() as f64);
        let truth = ns as f64;
        proptest::prop_assert!((low - truth).abs() / truth < 0.016, "{} {}", low, truth);
        proptest::prop_assert!((high - truth).abs() / truth < 0.016, "{} {}", high, truth);
    }
}

/// The reports were recorded as `json+` with Debian's fio 3.33, built by mingw and run by Wine, on
/// the job files of the host without an agent.
#[test]
fn what_fio_exe_reports_is_understood() {
    let of = |text: &str| convert(&parse(text).unwrap()).unwrap();
    let read = of(include_str!("windows-read.json"));
    assert_eq!((read.read.ios, read.window_ns, read.errors), (3610, 1_002_000_000, 0));
    // I/Os in flight at the end have latencies, too.
    assert_eq!((read.read.latency.count(), read.write.ios), (3621, 0));
    let mean_ms = read.read.latency.mean().unwrap() / 1e6;
    assert!((mean_ms - 4.608).abs() < 0.05, "{mean_ms}");
    let written = of(include_str!("windows-write.json"));
    assert_eq!(
        (written.write.ios, written.write.bytes, written.sync_latency.count()),
        (2048, 8 << 20, 63)
    );
}
