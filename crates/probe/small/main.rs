//! Helper process with little memory, which forks, starts programs and answers over pipes: in a
//! process with much memory a fork would copy large page tables, too. `small serve` reads orders of
//! 16 bytes (operation, number of times) and answers 8 bytes: how often it was done, less than
//! asked for if the kernel refused. `small echo` sends back every 4 bytes. Without an argument it
//! ends at once: it is the program that it starts itself.
#![no_std]
#![no_main]

use core::arch::{asm, global_asm};

#[cfg(target_arch = "x86_64")]
mod calls {
    pub const READ: usize = 0;
    pub const WRITE: usize = 1;
    pub const CLONE: usize = 56;
    pub const EXECVE: usize = 59;
    pub const WAIT4: usize = 61;
    pub const EXIT: usize = 231;
}

#[cfg(target_arch = "aarch64")]
mod calls {
    pub const READ: usize = 63;
    pub const WRITE: usize = 64;
    pub const CLONE: usize = 220;
    pub const EXECVE: usize = 221;
    pub const WAIT4: usize = 260;
    pub const EXIT: usize = 94;
}

const SIGCHLD: usize = 17;
const FORK: u64 = 0;
const EXEC: u64 = 1;
const ITSELF: &[u8] = b"/proc/self/exe\0";

#[cfg(target_arch = "x86_64")]
global_asm!(".globl _start", "_start:", "mov rdi, rsp", "and rsp, -16", "call {begin}", begin = sym begin);

#[cfg(target_arch = "aarch64")]
global_asm!(".globl _start", "_start:", "mov x0, sp", "bl {begin}", begin = sym begin);

/// Makes the system call with this number, and returns its result: below zero if it failed.
#[cfg(target_arch = "x86_64")]
fn call(number: usize, [a, b, c, d, e]: [usize; 5]) -> isize {
    let result;
    // SAFETY: each caller gives addresses of its own memory that live for the call.
    unsafe {
        asm!("syscall", inlateout("rax") number => result, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e,
            lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result
}

/// Makes the system call with this number, and returns its result: below zero if it failed.
#[cfg(target_arch = "aarch64")]
fn call(number: usize, [a, b, c, d, e]: [usize; 5]) -> isize {
    let result;
    // SAFETY: each caller gives addresses of its own memory that live for the call.
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") a => result, in("x1") b, in("x2") c, in("x3") d, in("x4") e,
            options(nostack));
    }
    result
}

fn exit(code: usize) -> ! {
    loop {
        call(calls::EXIT, [code, 0, 0, 0, 0]);
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    exit(101)
}

/// Entry point; `stack` points to the number of arguments, followed by the arguments.
extern "C" fn begin(stack: *const usize) -> ! {
    // SAFETY: the kernel starts a program with this on its stack.
    let (words, second) = unsafe { (*stack, *stack.add(2)) };
    if words < 2 {
        exit(0);
    }
    // SAFETY: with two words the second is a text of at least its final zero.
    match unsafe { *(second as *const u8) } {
        b'e' => echo(),
        _ => serve(),
    }
}

fn echo() -> ! {
    let mut bytes = [0u8; 4];
    let at = bytes.as_mut_ptr() as usize;
    while call(calls::READ, [0, at, 4, 0, 0]) == 4 && call(calls::WRITE, [1, at, 4, 0, 0]) == 4 {}
    exit(0)
}

fn serve() -> ! {
    let mut order = [0u64; 2];
    while call(calls::READ, [0, order.as_mut_ptr() as usize, 16, 0, 0]) == 16 {
        let mut done = 0u64;
        while done < order[1] && once(order[0]) {
            done += 1;
        }
        if call(calls::WRITE, [1, &raw const done as usize, 8, 0, 0]) != 8 {
            exit(1);
        }
    }
    exit(0)
}

/// Forks a child and waits for its end. For [`EXEC`] the child first starts this program again.
/// Returns false if any of this failed.
fn once(what: u64) -> bool {
    let child = call(calls::CLONE, [SIGCHLD, 0, 0, 0, 0]);
    if child == 0 {
        if what == EXEC {
            let path = ITSELF.as_ptr() as usize;
            let words = [path, 0];
            call(calls::EXECVE, [path, words.as_ptr() as usize, words.as_ptr() as usize + 8, 0, 0]);
            exit(1);
        }
        exit(usize::from(what != FORK));
    }
    let mut status = 0u32;
    child > 0
        && call(calls::WAIT4, [child as usize, &raw mut status as usize, 0, 0, 0]) == child
        && status == 0
}
