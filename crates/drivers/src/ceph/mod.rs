//! Runs Ceph by its own programs: a cluster of ours in one folder (a mon, a mgr, an OSD for each
//! member; nothing in /etc/ceph or /var/lib/ceph, no systemd), queries of it, and the images in its
//! pool. Its processes are known by the path of its ceph.conf in their command lines.

mod client;
pub mod cluster;
mod image;
mod mapping;
mod status;

pub use client::{cache_by_conf, cache_reported, longest_socket};
pub use cluster::{
    await_healthy, change, cluster_settings, cluster_state, create, destroy, is_there, osds,
};
pub use image::{Image, absent, image_settings, pool_settings};
pub use iotax_facts::cluster::ClusterStatus;
pub use mapping::{Before, client_options, mapped_image_devices};

use super::tool::{nobody_else_can_write, output_within, run_within, tool};
use anyhow::{Context, Result};
use iotax_host::probe::program_path;
use iotax_sys::child;
use iotax_units::exit::Failed;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Seconds after which a client gives up on a mon that does not answer.
const CONNECTS_WITHIN: &str = "30";
const SOON: &str = "10";
/// Longest time that one of Ceph's tools may take to answer.
const ANSWERS_WITHIN: Duration = Duration::from_secs(90);

pub fn has_tools() -> bool {
    ["ceph", "rbd"].into_iter().all(|program| program_path(program).is_some())
}

/// Checks that QEMU has its rbd driver, which distributions put into a separate package, by asking
/// `qemu-img` about an image that does not exist.
///
/// # Errors
/// A sentence that the driver is not installed, or why `qemu-img` did not run.
pub fn qemu_has_driver() -> Result<(), String> {
    let image = "driver=rbd,pool=none,image=none,conf=/dev/null/none";
    let mut command = tool("qemu-img", ["info", "--image-opts", image]);
    let said =
        output_within(&mut command, ANSWERS_WITHIN, None).map_err(|why| format!("{why:#}"))?;
    let said = String::from_utf8_lossy(&said.stderr);
    match said.contains("Unknown driver") || said.contains("failed to open module") {
        true => Err("QEMU's rbd block driver is not installed".to_owned()),
        false => Ok(()),
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Cluster<'a> {
    pub conf: &'a Path,
}

impl Cluster<'_> {
    /// Runs one of Ceph's programs on the cluster, for at most 90 s, and returns its output.
    ///
    /// # Errors
    /// If another user can write the configuration, or the program cannot be run, does not end in
    /// time, or fails: then with its standard error.
    pub fn run_ceph_tool(&self, program: &str, words: &[&str]) -> Result<String> {
        self.check_conf()?;
        let conf: [&OsStr; 2] = ["--conf".as_ref(), self.conf.as_os_str()];
        let mut command = tool(program, conf);
        command.args(words).env_remove("CEPH_ARGS");
        child::inherits_nothing(&mut command);
        run_within(command, ANSWERS_WITHIN)
    }

    /// Checks that only root and this user can have written the configuration and the keys of
    /// client.admin. The configuration names files that every client creates, and modules that
    /// every client loads.
    ///
    /// # Errors
    /// When another user can have written them, or Ceph does not report where the keys are.
    pub fn check_writers(&self) -> Result<()> {
        self.check_conf()?;
        let words = ["--name", "client.admin", "--show-config-value", "keyring"];
        let keys = self.run_ceph_tool("ceph-conf", &words)?;
        let mut keys = keys.split([',', ';', ' ', '\n']).map(Path::new).filter(|key| key.exists());
        keys.try_for_each(|key| nobody_else_can_write(key, "is not used", "changed it"))
    }

    fn check_conf(&self) -> Result<()> {
        nobody_else_can_write(self.conf, "is not used", "named a file or a module to write or load")
    }

    pub fn ceph(&self, words: &[&str]) -> Result<String> {
        self.run_ceph_tool("ceph", &[&["--connect-timeout", CONNECTS_WITHIN], words].concat())
    }

    /// Runs a program with `--format json` and parses its output.
    ///
    /// # Errors
    /// As [`Cluster::run_ceph_tool`], and if the output is not JSON.
    pub fn run_json(&self, program: &str, words: &[&str]) -> Result<Value> {
        let words = [words, &["--format", "json"]].concat();
        let text = if program == "ceph" {
            self.ceph(&words)?
        } else {
            self.run_ceph_tool(program, &words)?
        };
        serde_json::from_str(text.trim())
            .with_context(|| format!("cannot parse the output of {program} {}", words.join(" ")))
    }

    /// Describes the state of the cluster in a clause, for the error of an I/O in `pool` that did
    /// not complete.
    pub fn how_it_is(&self, pool: &str) -> String {
        let asked =
            self.run_ceph_tool("ceph", &["--connect-timeout", SOON, "-s", "--format", "json"]);
        let read = |text: String| status::parse(&serde_json::from_str(text.trim()).ok()?);
        let how = match asked.map(read) {
            Ok(Some(status)) => format!("reports {status}"),
            Ok(None) => "reports an incomplete status".to_owned(),
            Err(_) => format!("does not answer within {SOON} s"),
        };
        format!(
            "the cluster of the pool {pool} {how}; hint: check that its mons and OSDs run (ceph -s)"
        )
    }

    /// Explains, from the error `words` of one of Ceph's programs, why the cluster does not answer:
    /// a configuration or key on this host is wrong (faulty input), or no mon answers (an unmet
    /// need).
    pub fn silence(&self, words: &str) -> Failed {
        let conf = self.conf.display();
        // The command before the program's own words is cut off.
        let own = words.split_once(" failed (").and_then(|(_, rest)| rest.split_once("): "));
        let own = own.map_or(words, |(_, own)| own);
        let last =
            own.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("no error message");
        let has = |word: &str| own.contains(word);
        let keyring = own.lines().find_map(|line| line.split_once("unable to find a keyring on "));
        match () {
            () if has("calling conf_read_file") => Failed::input(format!(
                "cannot read {conf} as the configuration of a cluster: {last}; hint: ceph-conf --conf {conf} --lookup mon_host"
            )),
            // Ceph complains about a key even where none is needed.
            () if has("timed out") || has("did not end within") => Failed::need(format!(
                "the cluster of {conf} does not answer: none of its mons can be reached; hint: check mon_host in {conf}, and \
                 that the mons run and have a quorum"
            )),
            () if keyring.is_some() => Failed::input(format!(
                "cannot read the key of client.admin from {}; hint: copy the keyring of the cluster there, or set keyring = \
                 /its/path in {conf}",
                keyring.map_or("its keyring", |(_, path)| path)
            )),
            () if has("permission denied") || has("errno 13") => Failed::input(format!(
                "the cluster of {conf} refuses client.admin: {last}; hint: compare the key in its keyring with the output of \
                 `ceph auth get client.admin`"
            )),
            () => Failed::need(format!(
                "the cluster of {conf} does not answer: {last}; hint: ceph --conf {conf} -s"
            )),
        }
    }

    pub fn status(&self) -> Result<ClusterStatus> {
        status::parse(&self.run_json("ceph", &["-s"])?)
            .context("the output of ceph -s is incomplete")
    }

    fn folder(&self) -> PathBuf {
        self.conf.parent().map(Path::to_owned).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_units::exit::{BAD_INPUT, UNMET_NEED};

    #[test]
    fn a_configuration_or_key_that_another_user_could_have_written_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (conf, log, key) =
            (folder.path().join("c.conf"), folder.path().join("log"), folder.path().join("key"));
        let text = format!("[global]\nlog_file = {}\nkeyring = {}\n", log.display(), key.display());
        std::fs::write(&conf, text).unwrap();
        std::fs::write(&key, "").unwrap();
        let mode = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        let told = || Cluster { conf: &conf }.check_writers().map_err(|why| why.to_string());
        mode(&conf, 0o666);
        let why = told().unwrap_err();
        assert!(
            why.contains("c.conf is not used: another user could have named a file or a module"),
            "{why}"
        );
        assert!(
            Cluster { conf: &conf }.run_ceph_tool("ceph", &["-s"]).is_err() && !log.exists(),
            "nothing was run"
        );
        if program_path("ceph-conf").is_none() {
            return println!("skipped: needs ceph-conf");
        }
        mode(&conf, 0o644);
        mode(&key, 0o644);
        told().unwrap();
        mode(&key, 0o666);
        let why = told().unwrap_err();
        assert!(why.contains("key is not used: another user could have changed it"), "{why}");
    }

    /// What ceph 16.2 wrote here.
    #[test]
    fn a_wrong_configuration_a_missing_key_and_a_cluster_that_is_away_are_told_apart() {
        let of = |words: &str| {
            let failed = Cluster { conf: Path::new("/c.conf") }
                .silence(&format!("\"/usr/bin/ceph\" \"-s\" failed (exit status: 1): {words}"));
            assert!(
                failed.message.contains("; hint: ") && !failed.message.contains("exit status"),
                "{failed:?}"
            );
            (failed.code, failed.message)
        };
        let conf = of(
            "Error initializing cluster client: InvalidArgumentError('RADOS invalid argument (error calling conf_read_file)')",
        );
        assert!(
            conf.0 == BAD_INPUT && conf.1.starts_with("cannot read /c.conf as the configuration"),
            "{conf:?}"
        );
        let key = of(
            "2026-11-26 7f -1 auth: unable to find a keyring on /k: (2) No such file or directory\n\
             2026-11-26 7f -1 AuthRegistry(0x7f) no keyring found at /k, disabling cephx\n\
             [errno 2] RADOS object not found (error connecting to the cluster)",
        );
        assert!(
            key.0 == BAD_INPUT
                && key.1.contains("of client.admin from /k: (2) No such file or directory;"),
            "{key:?}"
        );
        let refused = of(
            "2026-11-26 7f -1 monclient(hunting): handle_auth_bad_method server allowed_methods [1]\n\
             [errno 13] RADOS permission denied (error connecting to the cluster)",
        );
        assert!(
            refused.0 == BAD_INPUT && refused.1.contains("refuses client.admin: [errno 13]"),
            "{refused:?}"
        );
        let away = of(
            "2026-11-26 7f -1 auth: unable to find a keyring on /k: (2) No such file or directory\ntimed out",
        );
        assert!(
            away.0 == UNMET_NEED && away.1.contains("/c.conf does not answer: none of its mons"),
            "{away:?}"
        );
        assert_eq!(of("something else").0, UNMET_NEED);
    }
}
