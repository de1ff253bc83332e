//! Probe of KVM: does it run a guest's instructions on the processor, or emulate them one by one?
//! `/dev/kvm` does not show it: a nested KVM may offer the whole interface and take a microsecond
//! per instruction, so that a kernel never finishes unpacking itself. So a loop of known length is
//! timed.

use kvm_bindings::{kvm_regs, kvm_segment, kvm_sregs, kvm_userspace_memory_region};
use kvm_ioctls::{Kvm, VcpuExit, VcpuFd, VmFd};
use std::os::unix::thread::JoinHandleExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KvmProbe {
    /// Guests run on the processor.
    Works {
        /// Nanoseconds of the probe's loop, the best of three.
        loop_ns: u64,
    },
    /// Guests run in an emulator behind KVM's interface, or kvm_pvm is loaded, which emulates part
    /// of their instructions.
    Emulated { loop_ns: u64, why: String },
    Absent {
        /// Cause, in some cases with a hint.
        why: String,
    },
}

/// Steps of the timed loop (two instructions each).
pub const LOOP_STEPS: u32 = 10_000;

/// Time of the loop in nanoseconds above which KVM counts as an emulator. A real processor takes 3
/// to 20 us for the loop, and 2 to 50 us for entry and exit, nested ones included; emulators took
/// 3.5 to 26 ms. The limit lies between the two on a logarithmic scale.
pub const EMULATED_ABOVE_NS: u64 = 500_000;

/// Time limit for the loop in a vCPU. One that has not ended by then never will.
const TIME_LIMIT: Duration = Duration::from_secs(3);

/// Time limit for a vCPU's thread to end after it is signalled. A thread that still hangs in the
/// kernel is left there; it owns all that it uses.
const KICK_LIMIT: Duration = Duration::from_millis(500);

/// Checks whether KVM runs guests on the processor: times a loop in three new vCPUs and judges the
/// shortest time. Takes milliseconds, and at most four seconds if KVM hangs. Without read and write
/// permission for `/dev/kvm`, KVM counts as absent.
pub fn probe_kvm() -> KvmProbe {
    let mut best = u64::MAX;
    for _ in 0..3 {
        match time_code(&LOOP_CODE, TIME_LIMIT) {
            Ok(ns) => best = best.min(ns),
            Err(why) => return KvmProbe::Absent { why },
        }
    }
    judge(best, std::path::Path::new("/sys/module/kvm_pvm").exists())
}

fn judge(loop_ns: u64, pvm_loaded: bool) -> KvmProbe {
    let slow = loop_ns > EMULATED_ABOVE_NS;
    let why = match (slow, pvm_loaded) {
        (false, false) => return KvmProbe::Works { loop_ns },
        (_, true) => format!(
            "KVM is provided by kvm_pvm, which emulates what it cannot run: a loop of {LOOP_STEPS} steps took {} us",
            loop_ns / 1000
        ),
        (true, false) => format!(
            "a loop of {LOOP_STEPS} steps took {} us in a vCPU, where a processor needs less than {}",
            loop_ns / 1000,
            EMULATED_ABOVE_NS / 1000
        ),
    };
    KvmProbe::Emulated { loop_ns, why }
}

// mov ecx, LOOP_STEPS; 1: dec ecx; jnz 1b; mov al, 0x42; out 0xe9, al; hlt
const LOOP_CODE: [u8; 14] = {
    let n = LOOP_STEPS.to_le_bytes();
    [0xb9, n[0], n[1], n[2], n[3], 0xff, 0xc9, 0x75, 0xfc, 0xb0, 0x42, 0xe6, 0xe9, 0xf4]
};

const MEMORY_BYTES: usize = 2 << 20;
const CODE_AT: usize = 0x1000;
const STACK_AT: u64 = 0x8000;
const PAGE_TABLES_AT: usize = 0x10000;
const DONE_PORT: u16 = 0xe9;

/// Runs code in a new vCPU on a thread of its own, and returns the nanoseconds until it writes to
/// port 0xe9.
fn time_code(code: &[u8], limit: Duration) -> Result<u64, String> {
    let guest = Guest::new(code)?;
    let stop = Arc::new(AtomicBool::new(false));
    let (sender, receiver) = mpsc::channel();
    let seen = Arc::clone(&stop);
    let thread = std::thread::Builder::new()
        .name("kvm-probe".into())
        .spawn(move || {
            // Ignore the error: the receiver may have given up, and nobody else waits for the
            // result.
            let _ = sender.send(run_vcpu(guest, &seen));
        })
        .map_err(|error| format!("cannot start the probe's thread: {error}"))?;
    match receiver.recv_timeout(limit) {
        Ok(outcome) => outcome,
        Err(RecvTimeoutError::Disconnected) => Err("the probe's thread died".into()),
        Err(RecvTimeoutError::Timeout) => {
            stop.store(true, Ordering::SeqCst);
            kick(&thread, &receiver);
            Err(format!(
                "a vCPU did not come back from a loop of {LOOP_STEPS} steps within {limit:?}"
            ))
        }
    }
}

const MOST_ASKED: u32 = 100;

fn run_vcpu(mut guest: Guest, stop: &AtomicBool) -> Result<u64, String> {
    let begin = Instant::now();
    loop {
        match guest.vcpu.run() {
            Ok(VcpuExit::IoOut(DONE_PORT, _)) => {
                return Ok(u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX).max(1));
            }
            // Any signal that reached this thread; only ours ends it.
            Ok(VcpuExit::Intr) if !stop.load(Ordering::SeqCst) => {}
            Err(error) if error.errno() == libc::EINTR && !stop.load(Ordering::SeqCst) => {}
            Ok(exit) => {
                return Err(format!("a vCPU ended with {exit:?} instead of running a loop"));
            }
            Err(error) => return Err(format!("KVM_RUN failed: {error}")),
        }
    }
}

extern "C" fn ignore_signal(_: libc::c_int) {}

/// Sends a vCPU's thread a signal that makes KVM_RUN return EINTR. Repeats it until the thread has
/// answered or [`KICK_LIMIT`] is over, since a signal that arrives just before KVM_RUN is lost.
fn kick(thread: &JoinHandle<()>, receiver: &Receiver<Result<u64, String>>) {
    let signal = libc::SIGRTMIN() + 7;
    // SAFETY: a zeroed sigaction is valid (empty mask, no flags); the handler only returns, so it
    // is async-signal-safe; both pointers live through the calls.
    let old = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = ignore_signal as *const () as usize;
        let mut old: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(signal, &action, &mut old) != 0 {
            return;
        }
        old
    };
    let until = Instant::now() + KICK_LIMIT;
    let mut answered = false;
    while !answered && Instant::now() < until {
        // SAFETY: the JoinHandle is neither joined nor detached, so the pthread_t stays valid even
        // when the thread has ended.
        unsafe { libc::pthread_kill(thread.as_pthread_t(), signal) };
        answered = receiver.recv_timeout(Duration::from_millis(5)).is_ok();
    }
    if answered {
        // SAFETY: `old` was filled in by sigaction above. Restored only when the thread has
        // answered: a signal still pending on a hung thread would otherwise meet the default action
        // and kill us.
        unsafe { libc::sigaction(signal, &old, std::ptr::null_mut()) };
    }
}

/// A guest with one vCPU in 64-bit mode over 2 MiB of memory. Fields are dropped in this order: the
/// vCPU and the VM before the memory that they map.
struct Guest {
    vcpu: VcpuFd,
    _vm: VmFd,
    _memory: Memory,
}

impl Guest {
    fn new(code: &[u8]) -> Result<Guest, String> {
        let kvm = Kvm::new().map_err(|error| open_failure(error.errno()))?;
        let vm = undisturbed(|| kvm.create_vm())
            .map_err(|error| format!("KVM_CREATE_VM failed: {error}"))?;
        let mut memory = Memory::new()?;
        fill(memory.bytes(), code);
        // Needed by Intel processors without unrestricted guests; where it is not known it is not
        // needed.
        let _ = vm.set_tss_address(0xfffb_d000);
        let region = kvm_userspace_memory_region {
            slot: 0,
            flags: 0,
            guest_phys_addr: 0,
            memory_size: MEMORY_BYTES as u64,
            userspace_addr: memory.start as u64,
        };
        // SAFETY: the region is a whole mapping of our own, that long, and outlives the VM: see
        // `Guest`.
        undisturbed(|| unsafe { vm.set_user_memory_region(region) })
            .map_err(|error| format!("KVM_SET_USER_MEMORY_REGION failed: {error}"))?;
        let vcpu = undisturbed(|| vm.create_vcpu(0))
            .map_err(|error| format!("KVM_CREATE_VCPU failed: {error}"))?;
        enter_long_mode(&vcpu)
            .map_err(|error| format!("cannot set a vCPU's registers: {error}"))?;
        Ok(Guest { vcpu, _vm: vm, _memory: memory })
    }
}

/// Repeats a request that a signal interrupted, up to 100 times, as QEMU does: the kernel aborts
/// the creation of a VM for any pending signal, and pending work of io_uring counts as one.
fn undisturbed<T>(
    mut ask: impl FnMut() -> Result<T, kvm_ioctls::Error>,
) -> Result<T, kvm_ioctls::Error> {
    let mut asked = 1;
    loop {
        match ask() {
            Err(error) if error.errno() == libc::EINTR && asked < MOST_ASKED => asked += 1,
            other => return other,
        }
    }
}

fn open_failure(errno: i32) -> String {
    match errno {
        libc::ENOENT | libc::ENXIO | libc::ENODEV => {
            "there is no /dev/kvm; hint: load kvm_intel or kvm_amd, and switch \
             virtualisation on in the firmware (or nested virtualisation in the hypervisor)"
                .into()
        }
        libc::EACCES | libc::EPERM => {
            "no permission to open /dev/kvm; hint: usermod -aG kvm USER, then log in again".into()
        }
        _ => format!("cannot open /dev/kvm: {}", std::io::Error::from_raw_os_error(errno)),
    }
}

/// Writes the code, and page tables that map the first 2 MiB to themselves with one large page.
fn fill(memory: &mut [u8], code: &[u8]) {
    memory[CODE_AT..CODE_AT + code.len()].copy_from_slice(code);
    let tables =
        [(0x0000, PAGE_TABLES_AT + 0x1003), (0x1000, PAGE_TABLES_AT + 0x2003), (0x2000, 0x83)];
    for (offset, entry) in tables {
        let at = PAGE_TABLES_AT + offset;
        memory[at..at + 8].copy_from_slice(&(entry as u64).to_le_bytes());
    }
}

/// Sets the vCPU to 64-bit mode. On old Intel processors KVM emulates real mode, so a loop in it
/// would show nothing.
fn enter_long_mode(vcpu: &VcpuFd) -> Result<(), kvm_ioctls::Error> {
    let mut sregs: kvm_sregs = vcpu.get_sregs()?;
    let segment = |selector, type_, l, db| kvm_segment {
        base: 0,
        limit: 0xffff_ffff,
        selector,
        type_,
        present: 1,
        dpl: 0,
        db,
        s: 1,
        l,
        g: 1,
        ..Default::default()
    };
    sregs.cs = segment(8, 11, 1, 0);
    let data = segment(16, 3, 0, 1);
    (sregs.ds, sregs.es, sregs.fs, sregs.gs, sregs.ss) = (data, data, data, data, data);
    sregs.cr3 = PAGE_TABLES_AT as u64;
    sregs.cr4 = 1 << 5; // PAE
    sregs.cr0 = 0x8005_0033; // PG, AM, WP, NE, ET, MP, PE
    sregs.efer = 0x500; // LME, LMA
    vcpu.set_sregs(&sregs)?;
    vcpu.set_regs(&kvm_regs { rip: CODE_AT as u64, rsp: STACK_AT, rflags: 2, ..Default::default() })
}

struct Memory {
    start: *mut libc::c_void,
}

// SAFETY: the mapping belongs to this value alone and is not tied to a thread.
unsafe impl Send for Memory {}

impl Memory {
    fn new() -> Result<Memory, String> {
        // SAFETY: an anonymous mapping at an address of the kernel's choice touches nothing that
        // exists.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                MEMORY_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(format!(
                "cannot map the probe's memory: {}",
                std::io::Error::last_os_error()
            ));
        }
        Ok(Memory { start })
    }

    /// Returns the memory. Call this only before the vCPU runs: afterwards the guest writes to it,
    /// too.
    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is MEMORY_BYTES long, readable, writable and zeroed, and borrowed
        // mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.cast(), MEMORY_BYTES) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this length and unmapped nowhere else.
        unsafe { libc::munmap(self.start, MEMORY_BYTES) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kvm_opens() -> bool {
        let opens = Kvm::new().is_ok();
        if !opens {
            println!("skipped: needs /dev/kvm");
        }
        opens
    }

    #[test]
    fn what_a_signal_disturbs_is_asked_again_and_nothing_else_is() {
        let eintr = || kvm_ioctls::Error::new(libc::EINTR);
        let mut left = 3;
        let third = undisturbed(|| {
            left -= 1;
            if left == 0 { Ok(7) } else { Err(eintr()) }
        });
        assert_eq!(third.unwrap(), 7);
        let mut asked = 0;
        let never: Result<(), _> = undisturbed(|| {
            asked += 1;
            Err(eintr())
        });
        assert_eq!((never.unwrap_err().errno(), asked), (libc::EINTR, MOST_ASKED));
        let refused: Result<(), _> = undisturbed(|| Err(kvm_ioctls::Error::new(libc::EPERM)));
        assert_eq!(refused.unwrap_err().errno(), libc::EPERM);
    }

    #[test]
    fn judged_by_time_and_by_module() {
        assert_eq!(judge(20_000, false), KvmProbe::Works { loop_ns: 20_000 });
        assert!(
            matches!(judge(3_500_000, false), KvmProbe::Emulated { loop_ns: 3_500_000, why } if why.contains("3500 us"))
        );
        assert!(
            matches!(judge(20_000, true), KvmProbe::Emulated { why, .. } if why.contains("kvm_pvm"))
        );
    }

    #[test]
    fn a_missing_device_names_the_next_step() {
        assert!(open_failure(libc::ENOENT).contains("hint: load kvm_intel"));
        assert!(open_failure(libc::EACCES).contains("usermod -aG kvm"));
    }

    #[test]
    fn the_probe_agrees_with_the_device() {
        let begin = Instant::now();
        let probe = probe_kvm();
        println!("{probe:?} in {:?}", begin.elapsed());
        if !kvm_opens() {
            assert!(matches!(probe, KvmProbe::Absent { .. }));
            return;
        }
        match probe {
            KvmProbe::Works { loop_ns } => assert!((1..=EMULATED_ABOVE_NS).contains(&loop_ns)),
            KvmProbe::Emulated { loop_ns, why } => assert!(loop_ns > 0 && !why.is_empty()),
            KvmProbe::Absent { why } => panic!("/dev/kvm opens, yet: {why}"),
        }
    }

    #[test]
    fn a_vcpu_that_never_ends_is_given_up() {
        if !kvm_opens() {
            return;
        }
        let spin = [0xeb, 0xfe]; // jmp to itself
        let begin = Instant::now();
        let failure = time_code(&spin, Duration::from_millis(200)).unwrap_err();
        assert!(failure.contains("did not come back"), "{failure}");
        assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    }

    #[test]
    fn a_vcpu_that_crashes_is_told() {
        if !kvm_opens() {
            return;
        }
        let failure = time_code(&[0xf4], Duration::from_secs(2)).unwrap_err();
        assert!(failure.contains("Hlt"), "{failure}");
    }
}
