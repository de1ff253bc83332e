//! Verification on real files: what was changed after the worker's back is found and named, and
//! writes that overlap are never accused.

mod common;

use iotax_load::verify::{BlockFault, VerifiedBlocks};
use iotax_load::{
    EngineName, Hold, Job, LoadError, Rw, SliceBound, SliceSpec, TargetSpec, VerifiedWorker, Worker,
};
use std::fs::File;
use std::ops::ControlFlow;
use std::os::unix::fs::FileExt;
use std::path::Path;

const KIB: u64 = 1024;
const BLOCK: u64 = 4 * KIB;

fn file_of(bytes: u64) -> tempfile::NamedTempFile {
    // Not on a tmpfs, which has no O_DIRECT in older kernels.
    let file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
    std::fs::write(file.path(), vec![7; bytes as usize]).unwrap();
    file.as_file().sync_all().unwrap();
    file
}

fn target(path: &Path) -> TargetSpec {
    TargetSpec { path: path.into(), offset: 0, bytes: None, writable: true, hold: Hold::default() }
}

fn job(rw: Rw) -> Job {
    Job { rw, direct: false, verify: true, ..Job::default() }
}

fn prepared(path: &Path, jobs: &[Job], engine: EngineName) -> Option<Worker> {
    match Worker::prepare(&[target(path)], jobs, Some(engine)) {
        Err(error) if engine == EngineName::Uring && common::has_no_uring(&error) => None,
        worker => Some(worker.unwrap()),
    }
}

fn worker(path: &Path, jobs: &[Job]) -> Worker {
    prepared(path, jobs, EngineName::Sync).unwrap()
}

fn refusal(path: &Path, jobs: &[Job], engine: EngineName) -> String {
    match Worker::prepare(&[target(path)], jobs, Some(engine)) {
        Err(LoadError::Unfit(words)) => words,
        Err(error) => panic!("another error: {error}"),
        Ok(_) => panic!("not refused"),
    }
}

fn run(worker: &mut Worker, bytes: u64) {
    let result = worker
        .measure_slice(&SliceSpec::starting_now(SliceBound::Bytes { bytes }, 0, true))
        .unwrap();
    assert_eq!((result.errors, &result.first_error), (0, &None));
}

fn read_back(worker: &mut Worker) -> VerifiedWorker {
    worker.verify(true, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// The one wrong block.
fn only(found: &VerifiedBlocks) -> (BlockFault, u64, &str) {
    assert_eq!((found.wrong(), found.examples.len()), (1, 1), "{found:?}");
    let example = &found.examples[0];
    (example.kind, example.offset / BLOCK, &example.found)
}

#[test]
fn what_was_written_is_read_back_with_every_engine_and_block_size() {
    let engines = [(EngineName::Sync, 2), (EngineName::Aio, 8), (EngineName::Uring, 8)];
    for (engine, iodepth) in engines {
        for (direct, bs) in [
            (true, 4096),
            (false, 4096),
            (false, 512),
            (false, 1000),
            (false, 100),
            (true, 2 << 20),
        ] {
            let file = file_of(8 << 20);
            let write =
                Job { rw: Rw::RandWrite, bs, iodepth, numjobs: 2, direct, ..job(Rw::RandWrite) };
            let Some(mut worker) = prepared(file.path(), &[write], engine) else { continue };
            assert!(worker.verifies());
            run(&mut worker, (200 * bs).min(64 << 20));
            let verified = read_back(&mut worker);
            assert_eq!(
                (verified.wrong(), verified.whole),
                (0, true),
                "{engine} {bs}: {verified:?}"
            );
            assert_eq!(verified.back.bytes, verified.back.blocks * bs);
            let all = (8 << 20) / bs;
            assert!(
                verified.back.blocks > 0 && verified.back.blocks <= all.min(400),
                "{engine} {bs}"
            );
            assert_eq!((verified.sizes.as_slice(), verified.back.unjudged), ([bs].as_slice(), 0));
        }
    }
}

#[test]
fn syncs_between_writes_behind_an_offset_are_nobodys_blocks() {
    let file = file_of(1 << 20);
    let synced = Job {
        fsync: 3,
        fdatasync: 2,
        end_fsync: true,
        offset: 512 * KIB,
        iodepth: 2,
        ..job(Rw::RandRw)
    };
    let Some(mut worker) = prepared(file.path(), &[synced], EngineName::Aio) else { return };
    run(&mut worker, 1 << 20);
    let verified = read_back(&mut worker);
    assert!(verified.wrong() == 0 && verified.back.blocks > 50, "{verified:?}");
}

#[test]
fn a_whole_pass_is_read_back_whole() {
    let file = file_of(4 << 20);
    let mut worker = worker(file.path(), &[job(Rw::Write)]);
    run(&mut worker, 4 << 20);
    assert_eq!(read_back(&mut worker).back.blocks, 1024);
    // And once more: nothing is forgotten by reading.
    assert_eq!(read_back(&mut worker).back.blocks, 1024);
}

#[test]
fn whatever_is_changed_behind_its_back_is_found_and_named() {
    for direct in [true, false] {
        let file = file_of(1 << 20);
        let mut worker = worker(file.path(), &[Job { direct, ..job(Rw::Write) }]);
        let disk = File::options().read(true).write(true).open(file.path()).unwrap();
        let block = |at: u64| {
            let mut data = vec![0; BLOCK as usize];
            disk.read_exact_at(&mut data, at * BLOCK).unwrap();
            data
        };
        let put = |at: u64, data: &[u8]| {
            disk.write_all_at(data, at * BLOCK).unwrap();
            disk.sync_all().unwrap();
        };
        run(&mut worker, 1 << 20);
        let older = block(5);
        run(&mut worker, 1 << 20);
        assert_eq!(read_back(&mut worker).wrong(), 0);
        let right = block(5);
        let mut flipped = right.clone();
        flipped[2000] ^= 1;
        let mut half = right.clone();
        half[2048..].copy_from_slice(&older[2048..]);
        let cases: [(&[u8], BlockFault, &str); 6] = [
            (&older, BlockFault::Lost, "sector 0: the older write 1"),
            (&half, BlockFault::Lost, "sector 4: the older write 1"),
            (&flipped, BlockFault::Torn, "sector 3: a wrong checksum"),
            (
                &block(6),
                BlockFault::Misplaced,
                "sector 0: what was written to byte 24576, as write 2 there",
            ),
            (
                &[7; 4096],
                BlockFault::Foreign,
                "sector 0: what this worker did not write, or nothing that it can be known by",
            ),
            (&[0; 4096], BlockFault::Foreign, "sector 0: zeros"),
        ];
        for (data, kind, words) in cases {
            put(5, data);
            let verified = read_back(&mut worker);
            assert_eq!(only(&verified.back), (kind, 5, words));
            assert_eq!(verified.back.examples[0].expected, (2, 2));
            assert_eq!(verified.back.blocks, 256);
        }
        put(5, &right);
        assert_eq!(read_back(&mut worker).wrong(), 0, "as it was");
    }
}

#[test]
fn another_workers_blocks_are_not_taken_for_ones_own() {
    let (one, two) = (file_of(256 * KIB), file_of(256 * KIB));
    let jobs = [job(Rw::Write)];
    let mut both = Worker::prepare(&[target(one.path()), target(two.path())], &jobs, None).unwrap();
    run(&mut both, 512 * KIB);
    assert_eq!((read_back(&mut both).back.blocks, read_back(&mut both).wrong()), (128, 0));
    // Members that are taken for each other, at the same place and as the same write.
    let data = std::fs::read(one.path()).unwrap();
    File::options()
        .write(true)
        .open(two.path())
        .unwrap()
        .write_all_at(&data[8192..12288], 8192)
        .unwrap();
    let verified = read_back(&mut both);
    assert_eq!(
        only(&verified.back),
        (BlockFault::Foreign, 2, "sector 0: what another worker or another run wrote")
    );
    assert_eq!(verified.back.examples[0].target, two.path());
    // The next worker on the file knows nothing of what the first wrote, and does not ask for it.
    let mut next = worker(one.path(), &[Job { size: Some(64 * KIB), ..job(Rw::Write) }]);
    run(&mut next, 64 * KIB);
    assert_eq!((read_back(&mut next).back.blocks, read_back(&mut next).wrong()), (16, 0));
    assert_eq!(read_back(&mut both).back.foreign, 16 + 1);
}

#[test]
fn a_file_that_became_shorter_has_blocks_that_cannot_be_read() {
    let file = file_of(256 * KIB);
    let mut worker = worker(file.path(), &[job(Rw::Write)]);
    run(&mut worker, 256 * KIB);
    file.as_file().set_len(252 * KIB).unwrap();
    let verified = read_back(&mut worker);
    assert_eq!((verified.back.blocks, verified.back.unreadable, verified.wrong()), (64, 1, 1));
    assert!(verified.back.examples[0].found.starts_with("it cannot be read: "), "{verified:?}");
}

#[test]
fn reads_of_the_load_are_checked_as_they_come_back() {
    let file = file_of(1 << 20);
    let mix = Job { rwmixread: 50, numjobs: 2, iodepth: 4, direct: true, ..job(Rw::RandRw) };
    let Some(mut worker) = prepared(file.path(), &[mix], EngineName::Aio) else { return };
    run(&mut worker, 256 * KIB);
    let first = worker.verify(false, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(first.load.unjudged > 0, "reads of what was not written yet: {first:?}");
    assert_eq!((first.whole, first.back.blocks), (false, 0));
    run(&mut worker, 16 << 20);
    let second = worker.verify(false, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(second.load.blocks > 1000 && second.wrong() == 0, "{second:?}");
    // All of the file goes back to what it was before the last round of writes.
    let old = std::fs::read(file.path()).unwrap();
    run(&mut worker, 16 << 20);
    File::options().write(true).open(file.path()).unwrap().write_all_at(&old, 0).unwrap();
    file.as_file().sync_all().unwrap();
    run(&mut worker, 64 * KIB);
    let third = worker.verify(false, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(third.load.lost > 0 && third.load.wrong() == third.load.lost, "{third:?}");
    assert!(read_back(&mut worker).back.lost > 100);
}

#[test]
fn writes_that_overlap_are_never_accused() {
    for (engine, direct) in [
        (EngineName::Sync, true),
        (EngineName::Sync, false),
        (EngineName::Aio, true),
        (EngineName::Uring, true),
        (EngineName::Uring, false),
    ] {
        for (bs, blocks) in [(4096, 3), (4096, 64), (64 * KIB, 2)] {
            let file = file_of(bs * blocks);
            let mix = Job { bs, numjobs: 4, iodepth: 16, rwmixread: 40, direct, ..job(Rw::RandRw) };
            let Some(mut worker) = prepared(file.path(), &[mix], engine) else { continue };
            for _ in 0..3 {
                run(&mut worker, 4000 * bs);
                let verified = read_back(&mut worker);
                assert_eq!(
                    (verified.wrong(), verified.whole),
                    (0, true),
                    "{engine} {bs} {verified:?}"
                );
                assert!(verified.back.blocks > 0 && verified.load.blocks > 0);
            }
        }
    }
}

#[test]
fn reading_back_stops_when_nobody_wants_the_rest() {
    let file = file_of(1 << 20);
    let mut worker = worker(file.path(), &[job(Rw::Write)]);
    run(&mut worker, 1 << 20);
    let stopped = worker.verify(false, &mut |_| ControlFlow::Break(())).unwrap();
    assert_eq!((stopped.whole, stopped.back.blocks), (false, 0));
    assert_eq!(read_back(&mut worker).back.blocks, 256, "and can be asked again");
}

#[test]
fn what_could_not_be_told_right_from_wrong_is_refused() {
    let file = file_of(1 << 20);
    let refused = |jobs: &[Job]| refusal(file.path(), jobs, EngineName::Sync);
    let write = job(Rw::Write);
    let plain = Job { name: "other".into(), verify: false, ..write.clone() };
    assert!(
        refused(&[write.clone(), plain.clone()])
            .contains("job \"other\" writes to the same region without verify")
    );
    let larger = Job { name: "other".into(), bs: 8192, ..write.clone() };
    assert!(
        refused(&[write.clone(), larger.clone()]).contains("has other blocks on the same region")
    );
    let shifted = Job { offset: 512, name: "other".into(), ..write.clone() };
    assert!(refused(&[write.clone(), shifted]).contains("multiples of it"));
    let direct = Job { direct: true, name: "other".into(), ..write.clone() };
    assert!(refused(&[write.clone(), direct]).contains("with another direct"));
    assert!(
        refused(&[job(Rw::RandRead)]).contains("rw=randread reads what none of these jobs writes")
    );
    assert!(
        refused(&[Job { dedupe_percentage: 10, ..write.clone() }])
            .contains("blocks with stamps are all different")
    );
    assert!(
        refused(&[Job { buffer_compress_percentage: 94, ..write.clone() }]).contains("93 at most")
    );
    assert!(refused(&[Job { bs: 24, ..write.clone() }]).contains("a larger bs"));
    let null = refusal(file.path(), std::slice::from_ref(&write), EngineName::Null);
    assert!(null.contains("the engine null writes nothing"), "{null}");
    // What lies apart, or only reads, is nobody's trouble.
    let apart = Job { offset: 512 * KIB, size: Some(512 * KIB), ..larger };
    let here = Job { size: Some(512 * KIB), ..write };
    let reads = Job { rw: Rw::RandRead, ..plain };
    let checked = Job { rw: Rw::RandRead, size: Some(256 * KIB), ..here.clone() };
    let mut worker = worker(file.path(), &[here, apart, reads, checked]);
    run(&mut worker, 4 << 20);
    run(&mut worker, 4 << 20);
    let verified = read_back(&mut worker);
    assert_eq!((verified.wrong(), verified.sizes.as_slice()), (0, [4096, 8192].as_slice()));
    assert!(verified.load.blocks > 0, "reads of another job's writes");
}

#[test]
fn stamps_leave_compressible_data_as_compressible() {
    let file = file_of(4 << 20);
    let half = Job { buffer_compress_percentage: 50, ..job(Rw::Write) };
    let mut worker = worker(file.path(), &[half]);
    run(&mut worker, 4 << 20);
    let data = std::fs::read(file.path()).unwrap();
    let length = |block: &[u8]| lz4_flex::block::compress(block).len();
    let share = data.chunks(64 << 10).map(length).sum::<usize>() as f64 / data.len() as f64;
    assert!((share - 0.5).abs() < 0.02, "{share}");
    assert_eq!((read_back(&mut worker).back.blocks, read_back(&mut worker).wrong()), (1024, 0));
}
