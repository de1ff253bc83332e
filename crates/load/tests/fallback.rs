//! What older kernels and forbidding containers refuse is done without: the calls are forbidden to
//! a thread by a seccomp filter, which the load threads that it starts inherit.

use iotax_load::{
    Chosen, EngineName, Hold, Job, LoadError, Rw, SliceBound, SliceSpec, TargetSpec, Worker,
};
use std::path::Path;

/// `BPF_LD | BPF_W | BPF_ABS`, `BPF_JMP | BPF_JEQ | BPF_K`, `BPF_RET | BPF_K` of
/// linux/bpf_common.h.
const LOAD: u16 = 0x20;
const EQUALS: u16 = 0x15;
const RETURN: u16 = 0x06;

/// From here on these calls are unknown to this thread, as to a kernel that lacks them.
fn forbid(calls: &[libc::c_long]) {
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    // The number of the call is the first field of seccomp_data.
    let mut filter = vec![step(LOAD, 0, 0, 0)];
    for call in calls {
        filter.push(step(EQUALS, 0, 1, *call as u32));
        filter.push(step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32));
    }
    filter.push(step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW));
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the calls read integers, and the program with its filter, which live until they
    // return.
    let done = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    };
    assert!(done, "{}", std::io::Error::last_os_error());
}

/// What is chosen where those calls are lacking, and that it reads all it is asked to.
fn chosen_without(
    calls: &'static [libc::c_long],
    engine: Option<EngineName>,
    direct: bool,
) -> Result<Chosen, LoadError> {
    // On a disk: O_DIRECT is asked for.
    let file = tempfile::NamedTempFile::new_in(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    std::fs::write(file.path(), vec![7; 1 << 20]).unwrap();
    let target = TargetSpec {
        path: file.path().into(),
        offset: 0,
        bytes: None,
        writable: false,
        hold: Hold::default(),
    };
    let thread = std::thread::spawn(move || {
        forbid(calls);
        let job = Job { rw: Rw::RandRead, iodepth: 8, direct, ..Job::default() };
        let mut worker = Worker::prepare(&[target], &[job], engine)?;
        let result = worker
            .measure_slice(&SliceSpec::starting_now(
                SliceBound::Bytes { bytes: 256 << 10 },
                0,
                false,
            ))
            .unwrap();
        assert_eq!((result.read.ios, result.errors), (64, 0), "{:?}", result.first_error);
        Ok(worker.engine().clone())
    });
    thread.join().unwrap()
}

/// Without any of io_uring.
const NO_URING: &[libc::c_long] = &[libc::SYS_io_uring_setup];

#[test]
fn without_io_uring_aio_keeps_the_depth_of_o_direct() {
    let chosen = chosen_without(NO_URING, None, true).unwrap();
    assert_eq!(chosen.name, EngineName::Aio, "{}", chosen.why);
    assert!(
        chosen.why.contains("io_uring is refused here") && chosen.why.contains("os error 38"),
        "{}",
        chosen.why
    );
}

#[test]
fn without_io_uring_threads_keep_the_depth_of_a_page_cache() {
    let chosen = chosen_without(NO_URING, None, false).unwrap();
    assert_eq!(chosen.name, EngineName::Sync, "{}", chosen.why);
    assert!(chosen.why.contains("8 threads"), "{}", chosen.why);
}

#[test]
fn without_both_threads_keep_it_everywhere() {
    let chosen =
        chosen_without(&[libc::SYS_io_uring_setup, libc::SYS_io_setup], None, true).unwrap();
    assert_eq!(chosen.name, EngineName::Sync, "{}", chosen.why);
    assert!(chosen.why.contains("libaio's calls are refused"), "{}", chosen.why);
}

#[test]
fn a_named_engine_that_is_not_there_is_an_error() {
    let told = |calls, engine| chosen_without(calls, Some(engine), true).unwrap_err().to_string();
    assert!(told(NO_URING, EngineName::Uring).contains("io_uring: "));
    assert!(told(&[libc::SYS_io_setup], EngineName::Aio).contains("os error 38"));
}

#[test]
fn what_a_ring_has_to_do_without_is_told() {
    match chosen_without(&[libc::SYS_io_uring_register], Some(EngineName::Uring), true) {
        Ok(chosen) => {
            for what in ["a registered file", "registered buffers", "a registered ring"] {
                assert!(chosen.why.contains(&format!("without {what}")), "{}", chosen.why);
            }
        }
        Err(error) if error.to_string().contains("(os error 1)") => {
            println!("skipped: needs io_uring ({error})")
        }
        Err(error) => panic!("{error}"),
    }
}
