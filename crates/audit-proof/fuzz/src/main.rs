//! One program for all targets of `iotax_audit_proof::laws`; which, the environment says
//! (`IOTAX_FUZZ=fio-text`). `tools/fuzz` runs it.

#![no_main]

use iotax_audit_proof::laws::{Target, damaged, targets};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use std::sync::LazyLock;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let wanted = std::env::var("IOTAX_FUZZ").unwrap_or_default();
    let names: Vec<String> = targets().into_iter().map(|target| target.name).collect();
    targets().into_iter().find(|target| target.name == wanted).unwrap_or_else(|| {
        println!("{}", names.join("\n"));
        std::process::exit(if wanted.is_empty() { 0 } else { 2 });
    })
});

fuzz_target!(
    init: {
        LazyLock::force(&TARGET);
    },
    |bytes: &[u8]| TARGET.hold(bytes)
);

// Every other change is one of lines, which the fuzzer's own, of bytes, rarely hit on.
fuzz_mutator!(|bytes: &mut [u8], size: usize, most: usize, seed: u32| {
    let random = seed as usize;
    if random % 2 == 0 || size == 0 {
        return fuzzer_mutate(bytes, size, most);
    }
    let damage = ((random >> 1 & 7) as u8, random >> 4 & 0x3fff, random >> 18);
    let changed = damaged(&bytes[..size], &[damage]);
    let size = changed.len().min(most);
    bytes[..size].copy_from_slice(&changed[..size]);
    size
});
