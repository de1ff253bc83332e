//! Builds the small process (small/main.rs), which the crate carries in itself: a program without a
//! runtime, a few hundred bytes of code, for the machine that iotax is built for. Elsewhere than on
//! Linux on x86-64 and arm64 it is empty, and the probes that need it say so.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=small/main.rs");
    let variable = |name: &str| env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"));
    let program = Path::new(&variable("OUT_DIR")).join("small");
    let known = variable("CARGO_CFG_TARGET_OS") == "linux"
        && ["x86_64", "aarch64"].contains(&variable("CARGO_CFG_TARGET_ARCH").as_str());
    if !known {
        return fs::write(&program, b"").expect("the output folder can be written");
    }
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.args(["--edition", "2024", "--crate-name", "small", "--crate-type", "bin", "--target"]);
    rustc.arg(variable("TARGET")).args([
        "-C",
        "opt-level=2",
        "-C",
        "panic=abort",
        "-C",
        "relocation-model=static",
    ]);
    rustc.args([
        "-C",
        "target-feature=+crt-static",
        "-C",
        "link-args=-nostartfiles -nostdlib -static",
        "-C",
        "strip=symbols",
    ]);
    rustc.arg("small/main.rs").arg("-o").arg(&program);
    let status = rustc.status().expect("rustc runs");
    assert!(status.success(), "small/main.rs does not compile: {rustc:?}");
}
