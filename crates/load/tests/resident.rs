//! What a resident worker does to its process: no allocation in the loop, and nothing left when it
//! is dropped. A binary of its own, since both are counted for the whole process.

mod common;

use iotax_load::{EngineName, Hold, Job, Rw, SliceBound, SliceSpec, TargetSpec, Worker};
use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The system's allocator, counted.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

/// Tests of one binary run at once; these count and must not.
static ALONE: Mutex<()> = Mutex::new(());

// SAFETY: every call is handed to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn prepare(path: &Path, engine: EngineName, job: &Job, hold: Hold) -> Option<Worker> {
    let target = TargetSpec { path: path.into(), offset: 0, bytes: None, writable: true, hold };
    match Worker::prepare(&[target], std::slice::from_ref(job), Some(engine)) {
        Err(error) if engine == EngineName::Uring && common::has_no_uring(&error) => None,
        worker => Some(worker.unwrap()),
    }
}

fn file() -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![0; 1 << 20]).unwrap();
    file
}

/// I/Os of a slice by bytes, and the allocations while it ran.
fn allocations(worker: &mut Worker, bytes: u64) -> (u64, u64) {
    let spec = SliceSpec {
        bound: SliceBound::Bytes { bytes },
        min_discard_ns: 0,
        flush: false,
        begin_ns: None,
    };
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    let result = worker.measure_slice(&spec).unwrap();
    let after = ALLOCATIONS.load(Ordering::Relaxed);
    (result.read.ios + result.write.ios, after - before)
}

#[test]
fn the_loop_does_not_allocate() {
    let _alone = ALONE.lock().unwrap();
    let file = file();
    let share = Hold { ns: 1_000, share_ppm: 20_000 };
    for (engine, hold, rate_iops, verify) in [
        (EngineName::Null, Hold::default(), None, false),
        (EngineName::Sync, Hold::default(), None, false),
        (EngineName::Aio, Hold::default(), None, false),
        (EngineName::Uring, Hold::default(), None, false),
        (EngineName::PosixAio, Hold::default(), None, false),
        (EngineName::Sync, share, None, false),
        (EngineName::Aio, share, None, false),
        (EngineName::Uring, share, None, false),
        (EngineName::Uring, Hold::default(), Some(100_000), false),
        (EngineName::Sync, Hold::default(), None, true),
        (EngineName::Uring, share, None, true),
    ] {
        let job =
            Job { rw: Rw::RandRw, direct: false, iodepth: 8, rate_iops, verify, ..Job::default() };
        let Some(mut worker) = prepare(file.path(), engine, &job, hold) else {
            continue;
        };
        let (few, short) = allocations(&mut worker, 100 << 12);
        let (many, long) = allocations(&mut worker, 10_000 << 12);
        assert_eq!((few, many), (100, 10_000));
        // A slice allocates for its orders and results: some tens a thread, whatever its length
        // (the channels take a block for every 31 messages; a thread has 3 histograms, which grow
        // a few times when merged).
        assert!(long <= short + 100, "{engine}: {short} for 100 I/Os, {long} for 10,000");
    }
}

#[test]
fn drawing_by_a_law_or_each_block_once_allocates_nothing() {
    let _alone = ALONE.lock().unwrap();
    let file = file();
    for (law, random_map) in [("zipf:1.1", false), ("pareto:0.2", false), ("random", true)] {
        let random_distribution = law.parse().unwrap();
        let job = Job { direct: false, random_distribution, random_map, ..Job::default() };
        let mut worker = prepare(file.path(), EngineName::Null, &job, Hold::default()).unwrap();
        // 256 blocks: some forty passes.
        let ((_, short), (_, long)) =
            (allocations(&mut worker, 100 << 12), allocations(&mut worker, 10_000 << 12));
        assert!(long <= short + 100, "{law}: {short} for 100 I/Os, {long} for 10,000");
    }
}

#[test]
fn nothing_is_left_when_a_worker_is_dropped() {
    let _alone = ALONE.lock().unwrap();
    let file = file();
    let count = |folder: &str| std::fs::read_dir(folder).unwrap().count();
    let load_threads = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
        let names = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
        names.filter(|name| name.starts_with("iotax-load")).count()
    };
    let mapped = || std::fs::read_to_string("/proc/self/maps").unwrap().lines().count();
    let engines = [
        EngineName::Null,
        EngineName::Sync,
        EngineName::Aio,
        EngineName::Uring,
        EngineName::PosixAio,
    ];
    for engine in engines {
        let job = Job { rw: Rw::RandRw, direct: false, iodepth: 2, numjobs: 3, ..Job::default() };
        // The first of them may leave what the C library keeps for later threads.
        drop(prepare(file.path(), engine, &job, Hold::default()));
        let (files, maps) = (count("/proc/self/fd"), mapped());
        for _ in 0..5 {
            let Some(mut worker) = prepare(file.path(), engine, &job, Hold::default()) else {
                continue;
            };
            assert!(load_threads() >= 3);
            allocations(&mut worker, 1 << 16);
        }
        // The kernel lists a thread for a moment after it was joined.
        let gone = (0..2000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(1));
            load_threads() == 0
        });
        assert!(gone, "{engine}: {} threads", load_threads());
        assert_eq!(count("/proc/self/fd"), files, "{engine}");
        assert!(mapped() <= maps + 8, "{engine}: {} after {maps}", mapped());
    }
}
