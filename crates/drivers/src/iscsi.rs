//! Logins by open-iscsi's iscsiadm: an interface record of our own, whose initiator name is not the
//! system's, a node record, and the session. Records and sessions of others are never touched; the
//! session is known by the target's name.

use super::settings::{self, ThingSettings};
use super::tool::{checked_output, load_modules, output, settle, tool};
use crate::tool::run_tool;
use crate::wait::wait_until;
use anyhow::{Context, Result, bail};
use iotax_host::probe::Probe;
use iotax_units::shell;
use serde::{Deserialize, Serialize};
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectIscsi {
    pub iqn: String,
    pub portal: SocketAddr,
    pub iface: String,
    pub initiator: String,
    pub iser: bool,
    /// Settings of the node record, by open-iscsi's names.
    pub settings: Vec<(String, String)>,
}

/// Socket on which iscsid listens, in the abstract namespace.
const DAEMON: &str = "@ISCSIADM_ABSTRACT_NAMESPACE";
const STARTS_WITHIN: Duration = Duration::from_secs(15);
/// Longest wait for the disk after the login, while the kernel scans for LUNs, and for the end of
/// the session after the logout.
const SHOWS_WITHIN: Duration = Duration::from_secs(30);

fn module(iser: bool) -> &'static str {
    if iser { "ib_iser" } else { "iscsi_tcp" }
}

/// Prepares this machine for iscsid: loads the kernel's module and makes the folder of iscsiadm's
/// lock. Returns true if an iscsid listens already.
///
/// # Errors
/// If the module does not load, or the folder cannot be made.
pub fn before_daemon(iser: bool) -> Result<bool> {
    load_modules(&[module(iser)])?;
    // Folder of iscsiadm's lock; it makes no folder above it.
    fs::create_dir_all("/run/lock/iscsi").context("cannot make /run/lock/iscsi")?;
    Ok(has_daemon(&Probe::of_files(Path::new("/"))))
}

fn has_daemon(probe: &Probe) -> bool {
    let sockets = probe.read_trimmed("/proc/net/unix").unwrap_or_default();
    sockets.lines().any(|line| line.split_whitespace().last() == Some(DAEMON))
}

/// Logs in and returns the disk of the session. Waits up to 15 s for an iscsid that was just
/// started.
///
/// # Errors
/// If no iscsid listens, iscsiadm fails, or the kernel shows no disk within 30 s.
pub fn login(login: &ConnectIscsi) -> Result<PathBuf> {
    let probe = Probe::of_files(Path::new("/"));
    wait_until(STARTS_WITHIN, || has_daemon(&probe))
        .context("no iscsid listens; hint: its words are in the run's folder")?;
    commands(login).iter().try_for_each(|words| iscsiadm(words).map(drop))?;
    let shown = || disk(&probe, &login.iqn).filter(|disk| disk.exists());
    wait_until(SHOWS_WITHIN, || shown().is_some())
        .with_context(|| format!("{} shows no disk", &login.iqn))?;
    settle();
    shown().context("the disk went away")
}

/// Returns the arguments of each call of iscsiadm, from the interface record to the login. The node
/// is set to manual startup, so that the system does not log in again after a reboot.
fn commands(login: &ConnectIscsi) -> Vec<Vec<String>> {
    let iface = |words: &[&str]| strings(&[&["-m", "iface", "-I", &login.iface], words].concat());
    let set = |name: &str, value: &str| strings(&["-o", "update", "-n", name, "-v", value]);
    let of_node = |words: Vec<String>| [node(login), words].concat();
    let transport = if login.iser { "iser" } else { "tcp" };
    let mut all = vec![
        iface(&["-o", "new"]),
        [iface(&[]), set("iface.initiatorname", &login.initiator)].concat(),
        [iface(&[]), set("iface.transport_name", transport)].concat(),
        of_node(strings(&["-o", "new"])),
        of_node(set("node.startup", "manual")),
        // Two tries: iscsid's default of eight takes minutes in which nobody learns why.
        of_node(set("node.session.initial_login_retry_max", "2")),
    ];
    all.extend(login.settings.iter().map(|(name, value)| of_node(set(name, value))));
    all.push(of_node(strings(&["--login"])));
    all
}

/// Returns the commands that do what [`login`] does, and that assign the disk to the shell variable
/// `out`.
pub fn login_by_hand(login: &ConnectIscsi, out: &str) -> Vec<String> {
    let mut lines = vec![format!("modprobe {}", module(login.iser))];
    lines.extend(
        commands(login).iter().map(|words| format!("iscsiadm {}", shell::quote_line(words))),
    );
    let disk = format!("ip-{}-iscsi-{}-lun-0", login.portal, login.iqn);
    lines.push("udevadm settle".to_owned());
    lines.push(format!("{out}={}", shell::path(Path::new("/dev/disk/by-path").join(disk))));
    lines
}

fn node(login: &ConnectIscsi) -> Vec<String> {
    strings(&["-m", "node", "-T", &login.iqn, "-p", &login.portal.to_string(), "-I", &login.iface])
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn iscsiadm(words: &[String]) -> Result<String> {
    run_tool(&mut tool("iscsiadm", words))
}

pub fn disk(probe: &Probe, iqn: &str) -> Option<PathBuf> {
    sessions(probe, iqn).into_iter().find_map(|session| {
        let device = session.join("device");
        let targets =
            probe.folder_names(&device).into_iter().filter(|name| name.starts_with("target"));
        let luns = targets.flat_map(|target| {
            let folder = device.join(target);
            probe.folder_names(&folder).into_iter().map(move |lun| folder.join(lun).join("block"))
        });
        luns.flat_map(|block| probe.folder_names(block))
            .next()
            .map(|name| Path::new("/dev").join(name))
    })
}

fn sessions(probe: &Probe, iqn: &str) -> Vec<PathBuf> {
    let class = Path::new("/sys/class/iscsi_session");
    let folders = probe.folder_names(class).into_iter().map(|name| class.join(name));
    folders
        .filter(|folder| probe.read_trimmed(folder.join("targetname")).as_deref() == Some(iqn))
        .collect()
}

/// Reads settings of the session with a target, of its first connection, its disk and its SCSI
/// host, by the kernel's names. They show what both ends agreed on. Empty if there is no session.
pub fn settings_of(probe: &Probe, iqn: &str) -> ThingSettings {
    let session = [
        "initial_r2t",
        "immediate_data",
        "first_burst_len",
        "max_burst_len",
        "max_outstanding_r2t",
        "erl",
    ];
    let connection =
        ["header_digest", "data_digest", "max_recv_dlength", "max_xmit_dlength", "address", "port"];
    let host = ["can_queue", "cmd_per_lun", "sg_tablesize", "nr_hw_queues"];
    let Some(folder) = sessions(probe, iqn).into_iter().next() else { return ThingSettings::new() };
    let mut all = settings::files(probe, &folder, &session);
    let number = folder
        .file_name()
        .and_then(|name| name.to_str()?.strip_prefix("session").map(str::to_owned));
    let named = number.map(|number| format!("/sys/class/iscsi_connection/connection{number}:0"));
    all.extend(
        named
            .map(|named| settings::files(probe, Path::new(&named), &connection))
            .unwrap_or_default(),
    );
    if let Some(disk) = disk(probe, iqn).and_then(|disk| Some(disk.file_name()?.to_owned())) {
        let device = Path::new("/sys/class/block").join(disk).join("device");
        all.extend(settings::files(probe, &device, &["queue_depth"]));
    }
    // The host of the session is above it: /sys/.../hostN/sessionM.
    if let Some(name) = session_host(probe, &folder) {
        all.extend(settings::files(probe, &Path::new("/sys/class/scsi_host").join(name), &host));
    }
    all
}

/// Returns the name of the session's SCSI host: `host6` if the session has a folder `target6:0:0`.
fn session_host(probe: &Probe, session: &Path) -> Option<String> {
    let names = probe.folder_names(session.join("device"));
    let number =
        |name: &String| Some(format!("host{}", name.strip_prefix("target")?.split_once(':')?.0));
    names.iter().find_map(number)
}

pub fn targets(probe: &Probe) -> Vec<String> {
    let class = Path::new("/sys/class/iscsi_session");
    let name = |session: String| probe.read_trimmed(class.join(session).join("targetname"));
    probe.folder_names(class).into_iter().filter_map(name).collect()
}

/// Returns true if any part of the login is there: the session, the node record or the interface
/// record.
///
/// # Errors
/// If iscsiadm fails in another way than by finding no record.
pub fn is_known(login: &ConnectIscsi) -> Result<bool> {
    let has_session = !sessions(&Probe::of_files(Path::new("/")), &login.iqn).is_empty();
    Ok(has_session || has_node(login)? || has_iface(login)?)
}

/// Returns true if the node record is there. Looks for the interface record first: without it
/// iscsiadm fails in another way than for a missing node record.
fn has_node(login: &ConnectIscsi) -> Result<bool> {
    Ok(has_iface(login)? && has_record(&node(login))?)
}

fn has_iface(login: &ConnectIscsi) -> Result<bool> {
    has_record(&strings(&["-m", "iface", "-I", &login.iface]))
}

fn has_record(words: &[String]) -> Result<bool> {
    let mut command = tool("iscsiadm", words);
    let ended = output(&mut command)?;
    match is_no_record(&ended) {
        true => Ok(false),
        false => checked_output(&format!("{command:?}"), ended).map(|_| true),
    }
}

/// Returns true if iscsiadm found no record: it ends with 21 (no objects found), or with 6 if an
/// interface has no file (seen in 2.1.8).
fn is_no_record(ended: &Output) -> bool {
    let words = || String::from_utf8_lossy(&ended.stderr).into_owned();
    match ended.status.code() {
        Some(21) => true,
        Some(6) => words().contains("No such file or directory"),
        _ => false,
    }
}

/// Ends the session and deletes the node record and the interface record, as far as they exist.
///
/// # Errors
/// If iscsiadm fails, or a part is still there.
pub fn logout(login: &ConnectIscsi) -> Result<()> {
    let probe = Probe::of_files(Path::new("/"));
    if !sessions(&probe, &login.iqn).is_empty() {
        iscsiadm(&[node(login), strings(&["--logout"])].concat())?;
        wait_until(SHOWS_WITHIN, || sessions(&probe, &login.iqn).is_empty())
            .with_context(|| format!("the session with {} stays", &login.iqn))?;
    }
    if has_node(login)? {
        iscsiadm(&[node(login), strings(&["-o", "delete"])].concat())?;
    }
    if has_iface(login)? {
        iscsiadm(&strings(&["-m", "iface", "-I", &login.iface, "-o", "delete"]))?;
    }
    match is_known(login)? {
        true => bail!("open-iscsi still knows {}", &login.iqn),
        false => Ok(()),
    }
}

pub fn logout_by_hand(login: &ConnectIscsi) -> String {
    let node = shell::quote_line(node(login));
    format!(
        "iscsiadm {node} --logout; iscsiadm {node} -o delete; iscsiadm -m iface -I {} -o delete",
        shell::quote_word(&login.iface)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_host::made_up::server;

    #[test]
    fn an_interface_of_our_own_logs_in() {
        let login = ConnectIscsi {
            iqn: "iqn.x:run-iscsi0".into(),
            portal: "[fd00::1]:3260".parse().unwrap(),
            iface: "iotax-run-iscsi0".into(),
            initiator: "iqn.x:run-initiator".into(),
            iser: true,
            settings: vec![("node.session.queue_depth".to_owned(), "64".to_owned())],
        };
        let all: Vec<String> = commands(&login).iter().map(|words| words.join(" ")).collect();
        insta::assert_snapshot!(all.join("\n"));
    }

    /// As a kernel 6.1 showed it.
    #[test]
    fn a_disk_is_found_by_the_name_of_its_target() {
        let machine = server();
        let session = "/sys/class/iscsi_session/session1";
        assert_eq!(disk(&machine.probe, "iqn.x:run"), None);
        machine.put(&[(&format!("{session}/targetname"), "iqn.x:run\n")]);
        assert_eq!(
            (disk(&machine.probe, "iqn.x:run"), sessions(&machine.probe, "iqn.x:run").len()),
            (None, 1)
        );
        machine.put(&[(&format!("{session}/device/target6:0:0/6:0:0:0/block/sda/size"), "8\n")]);
        assert_eq!(disk(&machine.probe, "iqn.x:run"), Some("/dev/sda".into()));
        machine.put(&[
            (&format!("{session}/first_burst_len"), "262144\n"),
            ("/sys/class/iscsi_connection/connection1:0/header_digest", "None\n"),
            ("/sys/class/block/sda/device/queue_depth", "32\n"),
            ("/sys/class/scsi_host/host6/can_queue", "128\n"),
        ]);
        let told: Vec<(String, String)> =
            settings_of(&machine.probe, "iqn.x:run").into_iter().collect();
        let told: Vec<String> =
            told.iter().map(|(name, value)| format!("{name} {value}")).collect();
        assert_eq!(
            told,
            ["can_queue 128", "first_burst_len 262144", "header_digest None", "queue_depth 32"]
        );
        assert_eq!(disk(&machine.probe, "iqn.x:ru"), None);
    }

    /// Answers of open-iscsi 2.1.8 about records that were there and were not.
    #[test]
    fn only_what_iscsiadm_says_is_not_there_is_not_there() {
        use std::os::unix::process::ExitStatusExt;
        let told = |code: i32, error: &str| Output {
            status: std::process::ExitStatus::from_raw(code << 8),
            stdout: Vec::new(),
            stderr: error.into(),
        };
        assert!(is_no_record(&told(21, "iscsiadm: No records found\n")));
        let no_file = "iSCSI ERROR: Failed to open /etc/iscsi/ifaces/x using read mode: 2 No such file or directory\n";
        assert!(is_no_record(&told(6, no_file)));
        assert!(!is_no_record(&told(
            6,
            "iscsiadm: Could not lock discovery DB: database locked\n"
        )));
        assert!(
            !is_no_record(&told(7, ""))
                && !is_no_record(&told(1, no_file))
                && !is_no_record(&told(0, ""))
        );
    }

    #[test]
    fn an_iscsid_is_told_by_the_socket_that_it_listens_on() {
        let machine = server();
        assert!(!has_daemon(&machine.probe));
        let head = "Num       RefCount Protocol Flags    Type St Inode Path\n";
        let line = "00000000a6d79cfc: 00000002 00000000 00010000 0001 01 15082 @ISCSIADM_ABSTRACT_NAMESPACE\n";
        machine.put(&[("/proc/net/unix", &format!("{head}{line}"))]);
        assert!(has_daemon(&machine.probe));
    }
}
