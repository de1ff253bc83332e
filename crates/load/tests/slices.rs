//! Slices on real files: what is counted, what is written and where, what is refused. O_DIRECT is
//! used where the file system of the temporary folder has it.

mod common;

use iotax_load::{
    EngineName, Hold, Job, LoadError, ReadMachine, Rw, SeriesSpec, ShortLength, SliceBound,
    SliceResult, SliceSpec, TargetSpec, Worker, run_series,
};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const KIB: u64 = 1024;
const MS: u64 = 1_000_000;

const TIMED: SliceSpec = SliceSpec {
    bound: SliceBound::Time { ns: 20 * MS },
    min_discard_ns: 5 * MS,
    flush: false,
    begin_ns: None,
};

/// Latencies longer than the discarded start count where they begin and not where they end; so many
/// at most have room in a slice.
fn most_long(slots: u64, spec: &SliceSpec) -> u64 {
    let SliceBound::Time { ns } = spec.bound else { return 0 };
    slots * (1 + ns.div_ceil(spec.min_discard_ns))
}

fn by_bytes(bytes: u64) -> SliceSpec {
    SliceSpec {
        bound: SliceBound::Bytes { bytes },
        min_discard_ns: 5 * MS,
        flush: false,
        begin_ns: None,
    }
}

/// A file of zeros that are really there, so that no read meets a hole.
fn file_of(bytes: u64) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![0; bytes as usize]).unwrap();
    file.as_file().sync_all().unwrap();
    file
}

fn target(path: &Path) -> TargetSpec {
    TargetSpec { path: path.into(), offset: 0, bytes: None, writable: true, hold: Hold::default() }
}

fn buffered(rw: Rw) -> Job {
    Job { rw, direct: false, ..Job::default() }
}

fn worker(path: &Path, jobs: &[Job], engine: EngineName) -> Option<Worker> {
    match Worker::prepare(&[target(path)], jobs, Some(engine)) {
        Err(error) if engine == EngineName::Uring && common::has_no_uring(&error) => None,
        worker => Some(worker.unwrap()),
    }
}

fn run(path: &Path, jobs: &[Job], engine: EngineName, spec: &SliceSpec) -> Option<SliceResult> {
    Some(worker(path, jobs, engine)?.measure_slice(spec).unwrap())
}

fn refusal(target: &TargetSpec, jobs: &[Job]) -> String {
    match Worker::prepare(std::slice::from_ref(target), jobs, Some(EngineName::Sync)) {
        Err(LoadError::Unfit(words)) => words,
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("not refused"),
    }
}

/// Shannon's bits per byte: 8 for random data.
fn entropy(data: &[u8]) -> f64 {
    let mut counts = [0u32; 256];
    data.iter().for_each(|byte| counts[*byte as usize] += 1);
    let share = |count: &u32| f64::from(*count) / data.len() as f64;
    let used = counts.iter().filter(|count| **count > 0).map(share);
    -used.map(|share| share * share.log2()).sum::<f64>()
}

#[test]
fn a_timed_slice_counts_its_window_with_every_engine() {
    let file = file_of(1024 * KIB);
    // Long enough that a busy machine does not keep both threads off the processor for all of it.
    let bound = SliceBound::Time { ns: 200 * MS };
    let spec = SliceSpec { bound, min_discard_ns: 100 * MS, flush: false, begin_ns: None };
    for engine in [
        EngineName::Null,
        EngineName::Sync,
        EngineName::Aio,
        EngineName::Uring,
        EngineName::PosixAio,
    ] {
        let job = Job { iodepth: 4, numjobs: 2, ..buffered(Rw::RandRead) };
        let Some(result) = run(file.path(), &[job], engine, &spec) else {
            continue;
        };
        assert_eq!(result.window_ns, 200 * MS, "{engine}");
        assert_eq!(result.discarded_ns, 100 * MS);
        assert!(result.read.ios > 0 && result.discarded_ios > 0, "{engine}");
        assert!(
            result.read.latency.count().abs_diff(result.read.ios) <= most_long(8, &spec),
            "{engine}"
        );
        assert_eq!(result.read.bytes, result.read.ios * 4096);
        assert_eq!((result.write.ios, result.errors), (0, 0));
        assert_eq!((result.flush_ns, &result.first_error), (None, &None));
        assert!(result.cpu_user_ns + result.cpu_system_ns > 0);
    }
}

#[test]
fn the_next_slice_discards_twice_the_last_drain() {
    let file = file_of(64 * KIB);
    // Each completion is held 30 ms, so that the queue drains well after the window's end.
    let mut target = target(file.path());
    target.hold.ns = 30 * MS;
    let jobs = [buffered(Rw::RandRead)];
    let mut worker = Worker::prepare(&[target], &jobs, Some(EngineName::Sync)).unwrap();
    let first = worker.measure_slice(&TIMED).unwrap();
    assert!(first.drain_ns > 0);
    let second = worker.measure_slice(&TIMED).unwrap();
    assert_eq!(second.discarded_ns, (2 * first.drain_ns).max(5 * MS));
    assert!(second.window_start_ns > first.window_start_ns + 20 * MS);
}

#[test]
fn a_slice_by_bytes_issues_exactly_these() {
    let file = file_of(1024 * KIB);
    for engine in [
        EngineName::Null,
        EngineName::Sync,
        EngineName::Aio,
        EngineName::Uring,
        EngineName::PosixAio,
    ] {
        let jobs = [
            Job { numjobs: 3, iodepth: 2, ..buffered(Rw::Write) },
            Job { bs: 16 * KIB, ..buffered(Rw::RandRw) },
        ];
        let Some(result) = run(file.path(), &jobs, engine, &by_bytes(800 * KIB)) else {
            continue;
        };
        assert_eq!(result.read.bytes + result.write.bytes, 800 * KIB, "{engine}");
        assert_eq!(result.write.latency.count(), result.write.ios);
        assert_eq!((result.discarded_ios, result.discarded_ns), (0, 0));
        assert_eq!((result.drain_ns, result.errors), (0, 0));
        assert!(result.window_ns > 0 && result.window_start_ns > 0);
    }
}

#[test]
fn writes_stay_in_the_region_and_are_incompressible() {
    for (engine, iodepth) in [
        (EngineName::Sync, 1),
        (EngineName::Aio, 8),
        (EngineName::Uring, 8),
        (EngineName::PosixAio, 8),
    ] {
        let file = file_of(512 * KIB);
        let job = Job { iodepth, offset: 128 * KIB, size: Some(256 * KIB), ..buffered(Rw::Write) };
        let spec = SliceSpec { flush: true, ..by_bytes(512 * KIB) };
        let Some(result) = run(file.path(), &[job], engine, &spec) else {
            continue;
        };
        assert_eq!(result.write.ios, 128);
        assert!(result.flush_ns.is_some());
        let mut data = Vec::new();
        File::open(file.path()).unwrap().read_to_end(&mut data).unwrap();
        let (kib128, kib384) = (128 << 10, 384 << 10);
        assert!(data[..kib128].iter().all(|byte| *byte == 0), "before the region");
        assert!(data[kib384..].iter().all(|byte| *byte == 0), "behind the region");
        let written = &data[kib128..kib384];
        assert!(entropy(written) > 7.99, "{}", entropy(written));
        // Blocks that were written from the same buffer have no word in common at its place.
        let blocks: Vec<&[u8]> = written.chunks(4096).collect();
        for (index, block) in blocks.iter().enumerate() {
            for other in &blocks[..index] {
                let same = block.chunks(8).zip(other.chunks(8)).filter(|(a, b)| a == b);
                assert_eq!(same.count(), 0, "block {index}");
            }
        }
    }
}

#[test]
fn what_is_asked_to_compress_does() {
    let file = file_of(256 * KIB);
    let job = Job { buffer_compress_percentage: 75, ..buffered(Rw::Write) };
    run(file.path(), &[job], EngineName::Sync, &by_bytes(256 * KIB)).unwrap();
    let data = std::fs::read(file.path()).unwrap();
    let zeros = data.iter().filter(|byte| **byte == 0).count() as f64 / data.len() as f64;
    // Three quarters, and one in 256 of the random bytes.
    assert!((zeros - 0.751).abs() < 0.003, "{zeros}");
}

#[test]
fn o_direct_works_where_the_file_system_has_it() {
    let folder = tempfile::tempdir_in(std::env::current_dir().unwrap()).unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, vec![0; 1 << 20]).unwrap();
    for (engine, iodepth) in [
        (EngineName::Sync, 1),
        (EngineName::Aio, 8),
        (EngineName::Uring, 8),
        (EngineName::PosixAio, 8),
    ] {
        let job = Job { rw: Rw::RandRw, iodepth, ..Job::default() };
        let mut worker = match Worker::prepare(&[target(&path)], &[job], Some(engine)) {
            Ok(worker) => worker,
            Err(error) => {
                let words = error.to_string();
                let lacking = ["io_uring:", "O_DIRECT"].map(|needed| words.contains(needed));
                assert!(lacking.contains(&true), "{words}");
                println!("skipped: needs O_DIRECT and {engine} ({words})");
                continue;
            }
        };
        let result = worker.measure_slice(&by_bytes(1 << 20)).unwrap();
        assert_eq!(result.read.ios + result.write.ios, 256);
        assert_eq!(result.errors, 0, "{:?}", result.first_error);
    }
}

#[test]
fn a_sequential_pass_goes_on_in_the_next_slice() {
    let file = file_of(64 * KIB);
    let jobs = [buffered(Rw::Write)];
    let mut worker = worker(file.path(), &jobs, EngineName::Sync).unwrap();
    let written = |file: &File| {
        let mut data = vec![0; 64 << 10];
        file.read_exact_at(&mut data, 0).unwrap();
        let blocks = data.chunks(4096);
        blocks.map(|block| block.iter().any(|byte| *byte != 0)).collect::<Vec<_>>()
    };
    for turn in 1..=4 {
        worker.measure_slice(&by_bytes(16 * KIB)).unwrap();
        let expected: Vec<bool> = (0..16).map(|block| block < turn * 4).collect();
        assert_eq!(written(file.as_file()), expected, "slice {turn}");
    }
}

#[test]
fn depth_by_threads_goes_through_a_region_once() {
    let file = file_of(64 * KIB);
    let job = Job { iodepth: 4, ..buffered(Rw::Write) };
    let mut worker = worker(file.path(), &[job], EngineName::Sync).unwrap();
    assert_eq!(worker.threads(), 4);
    assert!(worker.engine().why.contains("4 threads"), "{}", worker.engine().why);
    worker.measure_slice(&by_bytes(64 * KIB)).unwrap();
    let data = std::fs::read(file.path()).unwrap();
    assert!(data.chunks(4096).all(|block| block.iter().any(|byte| *byte != 0)));
}

#[test]
fn syncs_come_after_every_nth_write_and_the_last_flush_is_apart() {
    let file = file_of(256 * KIB);
    for (engine, iodepth) in [(EngineName::Sync, 1), (EngineName::Aio, 4), (EngineName::Uring, 4)] {
        let job =
            Job { fsync: 8, fdatasync: 4, end_fsync: true, iodepth, ..buffered(Rw::RandWrite) };
        let Some(result) = run(file.path(), &[job], engine, &by_bytes(128 * KIB)) else {
            continue;
        };
        assert_eq!(result.write.ios, 32);
        assert_eq!(result.sync_latency.count(), 8, "4 fsync and 4 fdatasync");
        assert!(result.flush_ns.is_some());
    }
}

#[test]
fn a_rate_is_not_exceeded() {
    let file = file_of(256 * KIB);
    for (engine, iodepth) in [(EngineName::Sync, 2), (EngineName::Aio, 4), (EngineName::Uring, 4)] {
        let job = Job { rate_iops: Some(2_000), iodepth, ..buffered(Rw::RandRead) };
        let Some(result) = run(file.path(), &[job], engine, &by_bytes(404 * KIB)) else {
            continue;
        };
        assert_eq!(result.read.ios, 101);
        // The 101st is meant to start 50 ms after the slice did. The window begins with the first
        // submission, which on a busy machine is late: then its latency says by how much.
        let lateness_ns = result.read.latency.max().unwrap();
        assert!(result.window_ns + lateness_ns >= 50 * MS, "{}", result.window_ns);
    }
}

#[test]
fn a_hold_counts_as_latency_with_every_engine() {
    let file = file_of(256 * KIB);
    for (engine, iodepth) in
        [(EngineName::Null, 4), (EngineName::Sync, 1), (EngineName::Aio, 4), (EngineName::Uring, 4)]
    {
        let mut target = target(file.path());
        target.hold = Hold { ns: 3 * MS, share_ppm: 0 };
        let job = Job { iodepth, ..buffered(Rw::RandRead) };
        let mut worker = match Worker::prepare(&[target.clone()], &[job], Some(engine)) {
            Ok(worker) => worker,
            Err(error) if common::has_no_uring(&error) => continue,
            Err(error) => panic!("{error}"),
        };
        let result = worker.measure_slice(&by_bytes(80 * KIB)).unwrap();
        assert_eq!(result.read.ios, 20);
        // A hold that was released late gives back up to a quarter of itself with the slot's next
        // one: on a busy machine single latencies are shorter, the time of a slot's row of holds
        // never is.
        assert!(result.read.latency.min().unwrap() >= 22 * MS / 10, "{engine}");
        let turns = 20 / u64::from(iodepth);
        assert!(result.window_ns >= turns * 3 * MS - 2_000 * turns, "{engine}");
    }
}

#[test]
fn a_file_that_is_cut_gives_short_reads_that_do_not_count() {
    for (engine, iodepth) in [(EngineName::Sync, 1), (EngineName::Aio, 4), (EngineName::Uring, 4)] {
        let file = file_of(64 * KIB);
        let job = Job { iodepth, ..buffered(Rw::Read) };
        let Some(mut worker) = worker(file.path(), &[job], engine) else {
            continue;
        };
        file.as_file().set_len(32 * KIB).unwrap();
        let result = worker.measure_slice(&by_bytes(64 * KIB)).unwrap();
        assert_eq!((result.read.ios, result.errors), (8, 8));
        assert_eq!(result.read.latency.count(), 8);
        let first = result.first_error.unwrap();
        assert!(first.starts_with("short read: 0 of 4096 bytes at "), "{first}");
    }
}

#[test]
fn a_target_that_only_fails_ends_the_slice_with_the_reason() {
    let file = file_of(64 * KIB);
    let job = Job { numjobs: 2, ..buffered(Rw::RandRead) };
    let mut worker = worker(file.path(), &[job], EngineName::Sync).unwrap();
    file.as_file().set_len(0).unwrap();
    // An hour, were it not ended.
    let hour = SliceSpec { bound: SliceBound::Time { ns: 3_600_000 * MS }, ..TIMED };
    match worker.measure_slice(&hour) {
        Err(LoadError::Failing { errors, first }) => {
            assert!(errors >= 1000);
            assert!(first.starts_with("short read: 0 of 4096"), "{first}");
        }
        other => panic!("{other:?}"),
    }
    std::fs::write(file.path(), vec![1; 64 << 10]).unwrap();
    let result = worker.measure_slice(&TIMED).unwrap();
    assert!(result.read.ios > 0 && result.errors == 0, "it can be asked again");
}

/// Two files and their targets.
fn two(bytes: u64) -> ([tempfile::NamedTempFile; 2], [TargetSpec; 2]) {
    let files = [file_of(bytes), file_of(bytes)];
    let targets = [target(files[0].path()), target(files[1].path())];
    (files, targets)
}

/// Prepared on several, or not where io_uring is lacking.
fn on_all(targets: &[TargetSpec], jobs: &[Job], engine: EngineName) -> Option<Worker> {
    match Worker::prepare(targets, jobs, Some(engine)) {
        Err(error) if engine == EngineName::Uring && common::has_no_uring(&error) => None,
        worker => Some(worker.unwrap()),
    }
}

fn blocks_written(file: &tempfile::NamedTempFile) -> usize {
    let data = std::fs::read(file.path()).unwrap();
    data.chunks(4096).filter(|block| block.iter().any(|byte| *byte != 0)).count()
}

#[test]
fn every_target_gets_every_job_and_an_equal_part_of_the_bytes() {
    for (engine, threads) in [(EngineName::Sync, 8), (EngineName::Uring, 4)] {
        let (files, targets) = two(512 * KIB);
        let jobs = [Job { iodepth: 2, numjobs: 2, ..buffered(Rw::Write) }];
        let Some(mut worker) = on_all(&targets, &jobs, engine) else {
            continue;
        };
        assert_eq!(worker.threads(), threads, "{engine}: numjobs on each of two");
        // 64 blocks on each, by two jobs that both begin at its first block.
        let result =
            worker.measure_slice(&SliceSpec { flush: true, ..by_bytes(512 * KIB) }).unwrap();
        assert_eq!((result.write.ios, result.write.bytes, result.errors), (128, 512 * KIB, 0));
        assert_eq!(result.write.latency.count(), 128);
        assert!(result.flush_ns.is_some());
        assert_eq!(files.each_ref().map(blocks_written), [32, 32], "{engine}");
    }
}

#[test]
fn bytes_that_do_not_divide_differ_by_a_block_between_targets() {
    let (files, targets) = two(64 * KIB);
    let mut worker = on_all(&targets, &[buffered(Rw::Write)], EngineName::Sync).unwrap();
    let result = worker.measure_slice(&by_bytes(28 * KIB)).unwrap();
    assert_eq!(result.write.bytes, 28 * KIB);
    assert_eq!(files.each_ref().map(blocks_written), [4, 3]);
}

#[test]
fn a_timed_slice_reads_all_targets_in_one_window() {
    let (files, targets) = two(64 * KIB);
    let jobs = [Job { iodepth: 2, ..buffered(Rw::RandRead) }];
    for engine in [EngineName::Sync, EngineName::Aio, EngineName::Uring] {
        let Some(mut worker) = on_all(&targets, &jobs, engine) else {
            continue;
        };
        let result = worker.measure_slice(&TIMED).unwrap();
        assert_eq!((result.window_ns, result.errors), (20 * MS, 0));
        assert!(
            result.read.latency.count().abs_diff(result.read.ios) <= most_long(4, &TIMED),
            "{engine}"
        );
        // What each gave shows when one of them gives nothing any more.
        files[1].as_file().set_len(0).unwrap();
        let half = worker.measure_slice(&by_bytes(64 * KIB)).unwrap();
        assert_eq!((half.read.ios, half.errors), (8, 8), "{engine}: half of 16 blocks fails");
        let first = half.first_error.unwrap();
        let named = format!("{}: short read: 0 of 4096 bytes", files[1].path().display());
        assert!(first.starts_with(&named), "{first}");
        std::fs::write(files[1].path(), vec![0; 64 << 10]).unwrap();
    }
}

#[test]
fn each_target_is_held_back_by_its_own_delay() {
    let (_files, mut targets) = two(64 * KIB);
    targets[1].hold.ns = 20 * MS;
    let mut worker = on_all(&targets, &[buffered(Rw::RandRead)], EngineName::Sync).unwrap();
    let result = worker.measure_slice(&by_bytes(80 * KIB)).unwrap();
    // A hold that was released late gives back up to a quarter of the next one.
    let long =
        |(bucket, _): &(u32, u64)| iotax_load::histogram::bounds(*bucket as usize).1 >= 15 * MS;
    let held: u64 = result.read.latency.sparse().filter(long).map(|(_, count)| count).sum();
    assert!(held >= 10, "{held} of {}", result.read.ios);
    assert!(result.read.latency.min().unwrap() < 15 * MS, "the other is not held");
    assert!(result.window_ns >= 10 * 15 * MS);
}

#[test]
fn a_regions_end_is_that_of_each_target() {
    let (files, mut targets) = two(64 * KIB);
    targets[0].bytes = Some(16 * KIB);
    let mut worker = on_all(&targets, &[buffered(Rw::Write)], EngineName::Sync).unwrap();
    worker.measure_slice(&by_bytes(64 * KIB)).unwrap();
    assert_eq!(files.each_ref().map(blocks_written), [4, 8]);
}

#[test]
fn one_member_that_does_not_fit_refuses_all() {
    let (files, mut targets) = two(64 * KIB);
    let refused = |targets: &[TargetSpec], job: Job| match Worker::prepare(targets, &[job], None) {
        Err(LoadError::Unfit(words)) => words,
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("not refused"),
    };
    let second = files[1].path().display().to_string();
    let large = Job { size: Some(64 * KIB), ..buffered(Rw::RandRead) };
    targets[1].bytes = Some(32 * KIB);
    let words = refused(&targets, large);
    assert!(words.contains(&second) && words.contains("beyond the 32768 bytes"), "{words}");
    targets[1].writable = false;
    let words = refused(&targets, buffered(Rw::RandWrite));
    assert!(words.contains(&second) && words.contains("not permitted"), "{words}");
    let twice = [targets[0].clone(), targets[0].clone()];
    let words = refused(&twice, buffered(Rw::RandRead));
    assert!(words.contains("are the same file or device; hint: "), "{words}");
    assert_eq!(refused(&[], buffered(Rw::RandRead)), "there is no target");
    let many = Job { numjobs: 2500, ..buffered(Rw::RandRead) };
    targets[1].bytes = None;
    assert!(refused(&targets, many).contains("5000 threads"));
}

#[test]
fn a_slice_of_no_length_is_refused() {
    let file = file_of(64 * KIB);
    let mut worker = worker(file.path(), &[buffered(Rw::Read)], EngineName::Null).unwrap();
    let nothing = SliceSpec { bound: SliceBound::Time { ns: 0 }, ..TIMED };
    assert!(matches!(worker.measure_slice(&nothing), Err(LoadError::Unfit(_))));
    assert!(matches!(worker.measure_slice(&by_bytes(0)), Err(LoadError::Unfit(_))));
}

#[test]
fn jobs_that_make_no_sense_are_refused_by_name() {
    let file = file_of(64 * KIB);
    let target = target(file.path());
    let job = || buffered(Rw::RandRead);
    let cases = [
        (Job { bs: 0, ..job() }, "bs=0"),
        (Job { iodepth: 0, ..job() }, "iodepth=0"),
        (Job { numjobs: 0, ..job() }, "numjobs=0"),
        (Job { rwmixread: 101, ..job() }, "rwmixread=101"),
        (Job { rate_iops: Some(0), ..job() }, "rate_iops=0"),
        (Job { size: Some(65 * KIB), ..job() }, "beyond the 65536 bytes"),
        (Job { numjobs: 5000, ..job() }, "5000 threads"),
        (Job { direct: true, bs: 100, ..job() }, "bs=100 is no multiple"),
    ];
    for (job, expected) in cases {
        let words = refusal(&target, &[job]);
        assert!(words.contains(expected), "{words}");
    }
    assert_eq!(refusal(&target, &[]), "there is no job");
}

#[test]
fn nothing_is_written_without_permission() {
    let file = file_of(64 * KIB);
    let mut target = target(file.path());
    target.writable = false;
    let words = refusal(&target, &[buffered(Rw::RandRw)]);
    assert!(words.contains("rw=randrw writes, and writing was not permitted"), "{words}");
}

#[test]
fn more_memory_than_there_is_is_refused() {
    let file = file_of(64 * KIB);
    let job = Job { bs: 64 * KIB, iodepth: 32_768, numjobs: 1000, ..buffered(Rw::RandRead) };
    let prepared = Worker::prepare(&[target(file.path())], &[job], Some(EngineName::Null));
    let words = prepared.err().expect("refused").to_string();
    assert!(words.contains("more than half of this machine's memory"), "{words}");
}

#[test]
fn workers_that_begin_at_one_time_have_one_window() {
    let files = [file_of(64 * KIB), file_of(64 * KIB)];
    let begin_ns = iotax_load::clock::monotonic_ns() + 60 * MS;
    let spec = SliceSpec { begin_ns: Some(begin_ns), ..TIMED };
    let windows: Vec<(u64, u64)> = std::thread::scope(|scope| {
        let slice = |file: &tempfile::NamedTempFile| {
            let result = run(file.path(), &[buffered(Rw::Read)], EngineName::Sync, &spec).unwrap();
            (result.window_start_ns, result.window_ns)
        };
        let running: Vec<_> = files.iter().map(|file| scope.spawn(move || slice(file))).collect();
        running.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(windows, [(begin_ns + 5 * MS, 20 * MS); 2]);
}

#[test]
fn a_worker_that_is_a_little_late_keeps_its_window_and_one_that_is_later_has_its_own() {
    let file = file_of(64 * KIB);
    let begun = |job: Job, ago_ns: u64| {
        let mut worker = worker(file.path(), &[job], EngineName::Sync).unwrap();
        let begin_ns = iotax_load::clock::monotonic_ns() - ago_ns;
        // So long a start that no pause of this machine eats half of it.
        let spec = SliceSpec { begin_ns: Some(begin_ns), min_discard_ns: 2_000 * MS, ..TIMED };
        worker.measure_slice(&spec).unwrap().window_start_ns - begin_ns
    };
    let (plain, paced) = (buffered(Rw::Read), Job { rate_iops: Some(1000), ..buffered(Rw::Read) });
    assert_eq!(begun(plain.clone(), 10 * MS), 2_000 * MS);
    assert!(begun(plain, 1_500 * MS) >= 3_500 * MS);
    // What was due while it was late has to be worked off in what is left of the start.
    assert_eq!(begun(paced.clone(), 10 * MS), 2_000 * MS);
    assert!(begun(paced, 600 * MS) >= 2_600 * MS);
}

/// Which blocks of 4 KiB a file holds data in.
fn written_blocks(path: &Path) -> Vec<usize> {
    let data = std::fs::read(path).unwrap();
    let blocks = data.chunks(4096).enumerate();
    blocks.filter(|(_, block)| block.iter().any(|byte| *byte != 0)).map(|(at, _)| at).collect()
}

#[test]
fn with_a_map_slices_together_meet_every_block_once() {
    for (engine, iodepth) in [(EngineName::Sync, 4), (EngineName::Aio, 4), (EngineName::Uring, 4)] {
        let file = file_of(400 * KIB);
        let job = Job { iodepth, random_map: true, ..buffered(Rw::RandWrite) };
        let Some(mut worker) = worker(file.path(), &[job], engine) else { continue };
        worker.measure_slice(&by_bytes(160 * KIB)).unwrap();
        assert_eq!(written_blocks(file.path()).len(), 40, "{engine}");
        worker.measure_slice(&by_bytes(240 * KIB)).unwrap();
        assert_eq!(written_blocks(file.path()).len(), 100, "{engine}");
    }
}

#[test]
fn each_thread_writes_its_own_region() {
    let file = file_of(400 * KIB);
    let job = Job {
        numjobs: 3,
        offset: 40 * KIB,
        offset_increment: 120 * KIB,
        size: Some(40 * KIB),
        ..buffered(Rw::Write)
    };
    run(file.path(), &[job], EngineName::Sync, &by_bytes(120 * KIB)).unwrap();
    let expected: Vec<usize> = [10..20, 40..50, 70..80].into_iter().flatten().collect();
    assert_eq!(written_blocks(file.path()), expected);
}

#[test]
fn trims_punch_holes_where_they_are_meant_to_and_are_counted_apart() {
    for iodepth in [1, 4] {
        let file = file_of(0);
        std::fs::write(file.path(), vec![7; 400 << 10]).unwrap();
        let job = Job {
            iodepth,
            offset: 40 * KIB,
            size: Some(80 * KIB),
            random_map: true,
            ..buffered(Rw::RandTrim)
        };
        let result = run(file.path(), &[job], EngineName::Sync, &by_bytes(80 * KIB)).unwrap();
        assert_eq!(
            (result.trim.ios, result.trim.bytes, result.write.ios, result.errors),
            (20, 80 * KIB, 0, 0)
        );
        assert_eq!(result.trim.latency.count(), 20);
        let kept: Vec<usize> = (0..10).chain(30..100).collect();
        assert_eq!(written_blocks(file.path()), kept);
    }
}

#[test]
fn what_is_trimmed_and_written_is_there_again() {
    let file = file_of(0);
    std::fs::write(file.path(), vec![7; 400 << 10]).unwrap();
    let result =
        run(file.path(), &[buffered(Rw::TrimWrite)], EngineName::Sync, &by_bytes(800 * KIB))
            .unwrap();
    assert_eq!((result.trim.ios, result.write.ios, result.write.bytes), (100, 100, 400 * KIB));
    let data = std::fs::read(file.path()).unwrap();
    assert!(entropy(&data) > 7.99 && result.errors == 0);
}

#[test]
fn trims_need_permission_and_the_sync_engine() {
    let file = file_of(64 * KIB);
    let job = buffered(Rw::Trim);
    let reading = TargetSpec { writable: false, ..target(file.path()) };
    assert!(
        refusal(&reading, std::slice::from_ref(&job))
            .contains("rw=trim writes, and writing was not")
    );
    let other = Worker::prepare(&[target(file.path())], &[job], Some(EngineName::Aio));
    assert!(other.err().unwrap().to_string().contains("hint: engine sync"));
}

/// A file system of so many KiB in memory, unmounted at the end. `None`: mounting is root's.
struct SmallFileSystem(tempfile::TempDir);

impl SmallFileSystem {
    fn of(kib: u64) -> Option<SmallFileSystem> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={kib}k"), "iotax-test"])
            .arg(folder.path())
            .output();
        match mounted {
            Ok(done) if done.status.success() => Some(SmallFileSystem(folder)),
            other => {
                println!("skipped: needs root, to mount a file system ({other:?})");
                None
            }
        }
    }
}

impl Drop for SmallFileSystem {
    fn drop(&mut self) {
        // A ring releases its files some time after it is gone.
        let _ = std::process::Command::new("umount").arg("--lazy").arg(self.0.path()).output();
    }
}

#[test]
fn a_full_file_system_fails_writes_with_offset_and_cause_and_the_others_count() {
    let Some(small) = SmallFileSystem::of(256) else { return };
    let path = small.0.path().join("sparse");
    // The first block is there, the others are holes: there is room for some sixty of them.
    std::fs::write(&path, [7; 4096]).unwrap();
    File::options().write(true).open(&path).unwrap().set_len(400 << 10).unwrap();
    for engine in [EngineName::Sync, EngineName::PosixAio, EngineName::Uring] {
        let Some(result) = run(&path, &[buffered(Rw::Write)], engine, &by_bytes(400 * KIB)) else {
            continue;
        };
        assert!(result.errors > 0 && result.write.ios > 0, "{engine} {result:?}");
        assert_eq!(result.errors + result.write.ios, 100, "{engine}");
        let first = result.first_error.unwrap();
        assert!(
            first.starts_with("write of 4096 bytes at ") && first.contains("No space left"),
            "{first}"
        );
    }
}

#[test]
fn a_device_whose_file_has_no_room_fails_writes_and_what_is_there_is_read() {
    let Some(small) = SmallFileSystem::of(1024) else { return };
    let path = small.0.path().join("backing");
    File::create(&path).unwrap().set_len(4 << 20).unwrap();
    let made = std::process::Command::new("losetup").args(["--find", "--show"]).arg(&path).output();
    let device = match made {
        Ok(done) if done.status.success() => {
            String::from_utf8(done.stdout).unwrap().trim().to_owned()
        }
        other => return println!("skipped: needs a loop device ({other:?})"),
    };
    let write = Job { rw: Rw::Write, direct: true, ..Job::default() };
    let read = Job { direct: true, ..buffered(Rw::Read) };
    let ran = [write, read].map(|job| {
        let worker = worker(Path::new(&device), &[job], EngineName::Sync);
        let mut worker = worker.expect("the sync engine is everywhere");
        worker.measure_slice(&by_bytes(4096 * KIB))
    });
    let _ = std::process::Command::new("losetup").args(["--detach", &device]).output();
    let [written, Ok(read)] = ran else { panic!("{ran:?}") };
    let first = match written {
        Ok(written) => {
            assert_eq!(written.errors + written.write.ios, 1024);
            assert!(written.errors > 0 && written.write.ios > 0);
            written.first_error.unwrap()
        }
        // A machine that is busy for a second between the failures.
        Err(LoadError::Failing { first, .. }) => first,
        Err(other) => panic!("{other}"),
    };
    let cause = ["Input/output error", "No space left"].iter().any(|cause| first.contains(cause));
    assert!(cause, "{first}");
    assert_eq!((read.read.ios, read.errors), (1024, 0), "holes are read as zeros");
}

#[test]
fn trims_of_a_device_reach_the_file_below() {
    let Some(small) = SmallFileSystem::of(2048) else { return };
    let path = small.0.path().join("backing");
    std::fs::write(&path, vec![7; 1 << 20]).unwrap();
    let made = std::process::Command::new("losetup").args(["--find", "--show"]).arg(&path).output();
    let device = match made {
        Ok(done) if done.status.success() => {
            String::from_utf8(done.stdout).unwrap().trim().to_owned()
        }
        other => return println!("skipped: needs a loop device ({other:?})"),
    };
    let half = Job { offset: 512 * KIB, ..buffered(Rw::Trim) };
    let odd = Job { bs: 512, ..buffered(Rw::Trim) };
    let refused = refusal(&target(Path::new(&device)), &[odd]);
    let result = run(Path::new(&device), &[half], EngineName::Sync, &by_bytes(512 * KIB)).unwrap();
    let kept = written_blocks(&path);
    let _ = std::process::Command::new("losetup").args(["--detach", &device]).output();
    assert_eq!((result.trim.ios, result.errors), (128, 0));
    assert_eq!(kept, (0..128).collect::<Vec<_>>());
    assert!(refused.contains("discard_granularity"), "{refused}");
}

#[test]
fn workers_take_turns_in_a_series_and_share_their_threads() {
    let (first, second) = (file_of(1024 * KIB), file_of(1024 * KIB));
    let reads = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&reads);
    let machine: ReadMachine =
        Arc::new(move || Some([counted.fetch_add(1, Ordering::Relaxed), 0, 0, 0, 7, 0]));
    let threads_here = || std::fs::read_dir("/proc/self/task").unwrap().count();
    for engine in [EngineName::Null, EngineName::Sync, EngineName::Uring] {
        let jobs = [Job { numjobs: 2, iodepth: 4, ..buffered(Rw::RandRead) }];
        let Some(a) = worker(first.path(), &jobs, engine) else { continue };
        let before = threads_here();
        let b = Worker::prepare_beside(Some(&a), &[target(second.path())], &jobs, Some(engine))
            .unwrap();
        assert!(engine != EngineName::Sync || threads_here() <= before, "no thread of its own");
        let length = ShortLength { discard_ns: MS / 5, window_ns: MS };
        let order = [0, 1, 1, 0, 1, 0, 0, 1].repeat(4);
        let spec = SeriesSpec {
            order: order.clone(),
            lengths: vec![length; 2],
            begins_ns: vec![],
            bin_ns: MS / 20,
            flush: false,
        };
        let done = run_series(&[&a, &b], &spec, Some(&machine)).unwrap();
        assert_eq!(done.slices.iter().map(|slice| slice.worker).collect::<Vec<_>>(), order);
        // By one between the two readings of a slice, and nothing between slices counts.
        assert_eq!(done.machine, [Some([16, 0, 0, 0, 0, 0]); 2]);
        for (number, (sum, transient)) in done.sums.iter().zip(&done.transients).enumerate() {
            let ours: Vec<_> = done.slices.iter().filter(|slice| slice.worker == number).collect();
            assert_eq!(sum.read.ios, ours.iter().map(|slice| slice.ios).sum::<u64>());
            assert!(sum.read.latency.count().abs_diff(sum.read.ios) <= 16 * 8 + sum.discarded_ios);
            assert!(
                ours.iter().all(|slice| slice.ios > 0 && slice.took_ns >= slice.window_ns),
                "{ours:?}"
            );
            assert_eq!((sum.errors, transient.slices), (0, (a.threads() * ours.len()) as u64));
            assert!(transient.ios[4] > 0, "{engine}: {transient:?}");
        }
        let pairs = done.slices.windows(2);
        assert!(
            pairs.clone().all(|pair| pair[1].start_ns >= pair[0].start_ns + pair[0].took_ns),
            "one at a time"
        );
        // A slice of the usual kind, and the end of one worker, leave the other as it was.
        drop(a);
        let mut b = b;
        assert!(b.measure_slice(&TIMED).unwrap().read.ios > 0);
        let alone = SeriesSpec { order: vec![0; 3], lengths: vec![length], ..spec };
        assert!(run_series(&[&b], &alone, None).unwrap().sums[0].read.ios > 0);
    }
}

#[test]
fn windows_of_a_series_hold_whole_cycles_at_depth_1() {
    // An I/O takes 400 us and more: a window of 1 ms that was cut by the clock would hold two of
    // them, and time for half of another.
    let file = file_of(1024 * KIB);
    let slow = TargetSpec { hold: Hold { ns: 400_000, ..Hold::default() }, ..target(file.path()) };
    let jobs = [Job { iodepth: 1, ..buffered(Rw::RandRead) }];
    let worker = Worker::prepare(&[slow], &jobs, Some(EngineName::Null)).unwrap();
    let length = ShortLength { discard_ns: 0, window_ns: MS };
    let spec = SeriesSpec {
        order: vec![0; 100],
        lengths: vec![length],
        begins_ns: vec![],
        bin_ns: MS / 10,
        flush: false,
    };
    let done = run_series(&[&worker], &spec, None).unwrap();
    assert!(done.slices.iter().all(|slice| slice.window_ns >= MS && slice.ios >= 1));
    let (sum, transient) = (&done.sums[0], &done.transients[0]);
    let served = sum.served_ns as f64 / sum.window_ns as f64;
    assert!((0.95..=1.0).contains(&served), "{served} of the windows are I/Os");
    let (sum_ns, number) = transient.cycles[2];
    // On a busy machine some slices have fewer I/Os.
    assert!(number >= 50 && sum_ns / number >= 350_000, "{sum_ns} {number}");
}

#[test]
fn a_series_refuses_what_it_cannot_run() {
    let file = file_of(64 * KIB);
    let paced = Job { rate_iops: Some(1000), ..buffered(Rw::RandRead) };
    let (paced, plain) = (
        worker(file.path(), &[paced], EngineName::Null).unwrap(),
        worker(file.path(), &[buffered(Rw::RandRead)], EngineName::Null).unwrap(),
    );
    let length = ShortLength { discard_ns: 0, window_ns: MS };
    let spec = SeriesSpec {
        order: vec![0],
        lengths: vec![length],
        begins_ns: vec![],
        bin_ns: MS,
        flush: false,
    };
    let why = |workers: &[&Worker], spec: &SeriesSpec| {
        run_series(workers, spec, None).unwrap_err().to_string()
    };
    assert!(why(&[&paced], &spec).contains("at a rate"));
    assert!(why(&[&plain], &SeriesSpec { order: vec![1], ..spec.clone() }).contains("not there"));
    let none = ShortLength { window_ns: 0, ..length };
    assert!(
        why(&[&plain], &SeriesSpec { lengths: vec![none], ..spec.clone() }).contains("no length")
    );
    let later = SeriesSpec { begins_ns: vec![9, 8], order: vec![0, 0], ..spec };
    assert!(why(&[&plain], &later).contains("at other times"));
    assert!(why(&[&plain], &SeriesSpec { begins_ns: vec![8], ..later }).contains("at other times"));
}

#[test]
fn slices_of_a_series_begin_at_their_times_or_at_once_if_they_are_late() {
    let file = file_of(64 * KIB);
    let jobs = [Job { numjobs: 2, ..buffered(Rw::RandRead) }];
    let worker = worker(file.path(), &jobs, EngineName::Null).unwrap();
    let length = ShortLength { discard_ns: MS / 5, window_ns: MS };
    let first_ns = iotax_load::clock::monotonic_ns() + 20 * MS;
    let begins_ns: Vec<u64> = [0, 20, 20, 60].iter().map(|ms| first_ns + ms * MS).collect();
    let spec = SeriesSpec {
        order: vec![0; 4],
        lengths: vec![length],
        begins_ns: begins_ns.clone(),
        bin_ns: MS,
        flush: false,
    };
    let done = run_series(&[&worker], &spec, None).unwrap();
    for (slice, begin_ns) in done.slices.iter().zip(&begins_ns) {
        assert!(slice.start_ns >= *begin_ns && slice.ios > 0, "{slice:?} before {begin_ns}");
    }
    assert!(
        done.slices[2].start_ns >= done.slices[1].start_ns + done.slices[1].took_ns,
        "{done:?}"
    );
    assert_eq!(
        done.sums[0].drain_ns,
        done.slices.iter().map(|one| one.took_ns - one.window_ns - MS / 5).sum()
    );
}

#[test]
fn sync_opens_the_target_so_that_each_write_is_durable() {
    use iotax_load::WriteSync;
    let file = file_of(64 * KIB);
    // Flags of <asm-generic/fcntl.h>: O_SYNC includes O_DSYNC.
    let (dsync, sync) = (0o10_000, 0o4_010_000);
    for (asked, flags) in [(WriteSync::None, 0), (WriteSync::Dsync, dsync), (WriteSync::Sync, sync)]
    {
        let job = Job { sync: asked, ..buffered(Rw::Write) };
        let mut worker = worker(file.path(), &[job], EngineName::Sync).unwrap();
        worker.measure_slice(&by_bytes(16 * KIB)).unwrap();
        let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
        let ours =
            open.filter(|fd| std::fs::read_link(fd.path()).is_ok_and(|path| path == file.path()));
        let found = ours.filter_map(|fd| {
            let info = std::fs::read_to_string(Path::new("/proc/self/fdinfo").join(fd.file_name()));
            let info = info.ok()?;
            let line = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
            u32::from_str_radix(line.trim(), 8).ok()
        });
        let most = found.map(|flags| flags & sync).max().unwrap();
        assert_eq!(most, flags, "{asked:?}");
    }
}
