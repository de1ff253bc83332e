//! Packs the agent's relative relocations where the C library that it is linked with can unpack
//! them: 0.3 MB of 5.

use std::process::Command;

/// The first glibc whose static programs do so, as (major, minor).
const UNPACKS: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if glibc().is_some_and(|version| version >= UNPACKS) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's glibc, as (major, minor).
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let (major, minor) =
        std::str::from_utf8(&output.stdout).ok()?.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
