//! Ceph by its own programs: a cluster of ours in one folder (a mon, a mgr, an OSD for each member; nothing in /etc/ceph or
//! /var/lib/ceph, no systemd), what it is asked, and the images in a pool of it. Its processes are known by the path of its
//! ceph.conf in their command lines.

mod client;
mod cluster;
mod image;
mod mapping;
mod status;

pub use client::{cache_by_conf, cache_told, longest_socket};
pub use cluster::{await_healthy, change, create, destroy, is_there, osds, settings, state};
pub use image::{Image, absent, image_settings, pool_settings};
pub use mapping::{Before, client_options, mapped};
pub use status::ClusterStatus;

use super::tool::{output_within, run_within, tool};
use anyhow::{Context, Result};
use iotax_host::probe::program_path;
use iotax_sys::child;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A mon that does not answer is given up after so many seconds.
const CONNECTS_WITHIN: &str = "30";
/// Its tools give up a little later by themselves.
const ANSWERS_WITHIN: Duration = Duration::from_secs(90);

/// Whether the tools of a client are installed.
pub fn has_tools() -> bool {
    ["ceph", "rbd"].into_iter().all(|program| program_path(program).is_some())
}

/// Whether QEMU has the driver, which distributions have in a separate package: asks about an image that does not
/// exist.
///
/// # Errors
/// What is missing, in words.
pub fn qemu_has_driver() -> Result<(), String> {
    let image = "driver=rbd,pool=none,image=none,conf=/dev/null/none";
    let mut command = tool("qemu-img", ["info", "--image-opts", image]);
    let said = output_within(&mut command, ANSWERS_WITHIN, None).map_err(|why| format!("{why:#}"))?;
    let said = String::from_utf8_lossy(&said.stderr);
    match said.contains("Unknown driver") || said.contains("failed to open module") {
        true => Err("QEMU's rbd block driver is not installed".to_owned()),
        false => Ok(()),
    }
}

/// A cluster by its configuration.
#[derive(Clone, Copy, Debug)]
pub struct Cluster<'a> {
    /// Its ceph.conf.
    pub conf: &'a Path,
}

impl Cluster<'_> {
    /// One of Ceph's programs on it, within a time.
    ///
    /// # Errors
    /// When it cannot be run, does not end, or fails: its words.
    pub fn run(&self, program: &str, words: &[&str]) -> Result<String> {
        let conf: [&OsStr; 2] = ["--conf".as_ref(), self.conf.as_os_str()];
        let mut command = tool(program, conf);
        command.args(words).env_remove("CEPH_ARGS");
        child::inherits_nothing(&mut command);
        run_within(command, ANSWERS_WITHIN)
    }

    /// `ceph`, asked for what it answers.
    ///
    /// # Errors
    /// As [`Cluster::run`].
    pub fn ceph(&self, words: &[&str]) -> Result<String> {
        self.run("ceph", &[&["--connect-timeout", CONNECTS_WITHIN], words].concat())
    }

    /// The same in JSON.
    ///
    /// # Errors
    /// As [`Cluster::run`]; when the output is not JSON.
    pub fn told(&self, program: &str, words: &[&str]) -> Result<Value> {
        let words = [words, &["--format", "json"]].concat();
        let text = if program == "ceph" { self.ceph(&words)? } else { self.run(program, &words)? };
        serde_json::from_str(text.trim())
            .with_context(|| format!("cannot parse the output of {program} {}", words.join(" ")))
    }

    /// In which state it is.
    ///
    /// # Errors
    /// As [`Cluster::told`]; when it reports too little.
    pub fn status(&self) -> Result<ClusterStatus> {
        status::parse(&self.told("ceph", &["-s"])?).context("the output of ceph -s is incomplete")
    }

    /// The folder of a cluster of ours.
    fn folder(&self) -> PathBuf {
        self.conf.parent().map(Path::to_owned).unwrap_or_default()
    }
}
