//! Resource limits that the caller has set (ulimit). If one stops the program, it ends with a
//! message and a documented exit code.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::atomic::{AtomicI32, Ordering};

/// Minimum address space in bytes, for the threads, their stacks and their heaps (glibc reserves
/// 128 MiB for each).
const LEAST_SPACE: u64 = 1 << 30;
/// Minimum number of open files: a place, its devices and the store need them.
const LEAST_FILES: u64 = 32;
/// Number of open files that is requested if permitted: a set of many stacks needs them.
const FILES: u64 = 4096;

static CODE: AtomicI32 = AtomicI32::new(1);

/// Raises the limit on open files to 4096, or as far as is permitted. From then on, a write beyond
/// the limit on file size fails instead of ending the program, and if memory runs out the program
/// ends with `code`.
///
/// # Errors
/// Says which limit is too low, and how to raise it.
pub fn respect(code: u8) -> Result<(), String> {
    CODE.store(code.into(), Ordering::Relaxed);
    // SAFETY: one handler is SIG_IGN; the other makes two calls that signal-safety(7) permits, and
    // does not return.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        libc::signal(libc::SIGABRT, exit_on_abort as *const () as libc::sighandler_t);
    }
    let files = getrlimit(Resource::Nofile);
    let wanted = files.maximum.map_or(FILES, |most| most.min(FILES));
    if files.current.is_some_and(|now| now < wanted) {
        // This is permitted up to the hard limit. If it fails, the check below reports it.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..files });
    }
    let least = [
        (Resource::As, LEAST_SPACE, 'v', "address space"),
        (Resource::Nofile, LEAST_FILES, 'n', "open files"),
    ];
    for (resource, least, letter, what) in least {
        if let Some(now) = getrlimit(resource).current.filter(|now| *now < least) {
            let shown = |count: u64| {
                if letter == 'v' { format!("{} MiB", count >> 20) } else { count.to_string() }
            };
            return Err(format!(
                "the limit on {what} (ulimit -{letter}) is {}, but iotax requires {}; hint: raise it, or start iotax where it is \
                 higher",
                shown(now),
                shown(least)
            ));
        }
    }
    Ok(())
}

/// Handles SIGABRT: prints a hint and ends the program with the code that [`respect`] was given.
/// The message that Rust printed before says what aborted.
extern "C" fn exit_on_abort(_: libc::c_int) {
    const SAID: &[u8] =
        b"iotax: aborted, most likely because memory ran out; hint: raise ulimit -v; iotax clean removes what is left\n";
    // SAFETY: the bytes are static, and both calls may be made in a handler.
    unsafe {
        libc::write(libc::STDERR_FILENO, SAID.as_ptr().cast(), SAID.len());
        libc::_exit(CODE.load(Ordering::Relaxed));
    }
}
