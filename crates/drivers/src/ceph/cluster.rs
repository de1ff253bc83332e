//! Creates and destroys a cluster, reads its state and settings, ends OSDs and brings them back.
//! Refuses to create a cluster in a folder that exists already.

use super::Cluster;
use super::client::SOCKETS;
use crate::process::ProcessId;
use iotax_facts::cluster::ClusterStatus;

use crate::drives::Drives;
use crate::path_ref::PathRef;
use crate::plain_file::write_file;
use crate::process;
use crate::refusal::NothingMade;
use crate::settings::ThingSettings;
use crate::system::{RealSystem, StepProgress};
use crate::tool::{all_of, guid, run_with, tool};
use anyhow::{Context, Result, anyhow, bail, ensure};
use iotax_facts::array::ArrayState;
use iotax_sys::regular::{LAST_WORDS, tail};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt, FileExt, FileTypeExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// Cluster of a mon, a mgr, an OSD for each member, and a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeCeph {
    pub name: String,
    /// Folder in the run's folder, for all files but the OSDs' data.
    pub directory: PathBuf,
    pub members: Vec<PathRef>,
    pub size: u32,
    pub min_size: u32,
    pub pg: u32,
    pub memory: u64,
    /// `rbd_cache_policy` of its clients.
    pub cache_policy: String,
    /// Base-2 logarithm of the size of its images' objects, in bytes.
    pub order: u32,
    #[serde(default, skip_serializing_if = "Drives::is_empty")]
    pub drives: Drives,
}

impl MakeCeph {
    /// Returns the path of ceph.conf, by which daemons, tools and clients find the cluster.
    pub fn conf(&self) -> PathBuf {
        conf_in(&self.directory)
    }

    pub fn fsid(&self) -> String {
        guid(&self.name).to_ascii_lowercase()
    }

    pub fn uuid(&self, at: usize) -> String {
        guid(&format!("{} osd {at}", self.name)).to_ascii_lowercase()
    }
}

fn conf_in(directory: &Path) -> PathBuf {
    directory.join("ceph.conf")
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeCeph {
    /// ceph.conf of the cluster, which an earlier step wrote.
    pub made: PathRef,
    pub change: CephChange,
    /// Most bytes that recovery writes to an OSD that returns; 0 if unknown.
    #[serde(default)]
    pub bytes: u64,
}

/// Change of one OSD, whose number counts from 0, or wait for the whole cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CephChange {
    /// Ends the OSD's process; the cluster goes on without it.
    Ends(usize),
    /// Recreates the OSD on its member, empty as a new drive is. The other OSDs fill it.
    Returns(usize),
    /// Marks the OSD out (`ceph osd out`): its data moves to the others, and it serves that data
    /// until then.
    Out(usize),
    /// Makes the OSD a full member again: `ceph osd in`.
    In(usize),
    /// Waits until all OSDs are up and in and every placement group is clean, and still are 5 s
    /// later.
    AwaitHealthy,
}

/// Pause between two looks at the state. The mgr reports every 5 s.
const PAUSE: Duration = Duration::from_millis(500);
/// Longest wait until the cluster shows a change, long enough for a busy machine.
const UP_WITHIN: Duration = Duration::from_secs(300);
/// Wait for a healthy cluster, as messages describe it.
const BECOME_HEALTHY: AwaitedTask = AwaitedTask { who: "the cluster", task: "become healthy" };

/// What a wait is for, in messages: `who` did not `task` within some time.
#[derive(Clone, Copy)]
struct AwaitedTask<'a> {
    who: &'a str,
    task: &'a str,
}
/// Time after which a state is checked once more. Placement groups follow the map of OSDs within 5
/// s.
const SETTLES: Duration = Duration::from_secs(5);
/// First bytes of a device or file of an OSD. The OSD's UUID follows.
const LABEL: &str = "bluestore block device\n";
/// Bytes at the start of a member that hold the label and the superblock of BlueFS. Zeroed with it.
const LABEL_BYTES: usize = 64 << 10;

/// Daemons in the order in which they are ended: the mon is last, because an OSD that cannot reach
/// it takes 5 s longer.
const DAEMONS: [&str; 3] = ["ceph-osd", "ceph-mgr", "ceph-mon"];

fn daemon(conf: &Path, program: &str, id: &str) -> Result<Vec<String>> {
    let conf = conf.to_str().context("a run directory that is not UTF-8")?;
    Ok([program, "--conf", conf, "--id", id, "--foreground"].map(str::to_owned).to_vec())
}

fn start_daemon(
    system: &mut RealSystem,
    conf: &Path,
    program: &str,
    id: &str,
) -> Result<ProcessId> {
    system.spawn(&daemon(conf, program, id)?, &conf.with_file_name(format!("{program}.{id}.out")))
}

/// Returns the processes of this user that name this ceph.conf (`--conf`) and for whose command
/// line `is_one` is true: daemons, a `ceph-osd --mkfs`, or tools that a killed run left.
fn processes(conf: &Path, is_one: impl Fn(&[&str]) -> bool) -> Result<Vec<ProcessId>> {
    let conf = conf.to_str().context("a run directory that is not UTF-8")?;
    let is_on_it = |words: &[&str]| words.windows(2).any(|pair| pair == ["--conf", conf]);
    let all = process::processes(|words| is_on_it(words) && is_one(words))?;
    Ok(all.into_iter().filter(|process| process::carries(process, conf)).collect())
}

const PROGRAMS: [&str; 7] =
    ["ceph", "ceph-mon", "ceph-mgr", "ceph-osd", "ceph-authtool", "monmaptool", "rbd"];

/// Returns true if a command line runs one of [`PROGRAMS`]. A script comes after its interpreter.
fn is_of_ceph(words: &[&str]) -> bool {
    words.iter().take(2).any(|word| PROGRAMS.contains(&word.rsplit('/').next().unwrap_or_default()))
}

fn is_daemon(words: &[&str], program: &str, id: Option<&str>) -> bool {
    let runs = words.first().is_some_and(|word| word.rsplit('/').next() == Some(program));
    runs && id.is_none_or(|id| words.windows(2).any(|pair| pair == ["--id", id]))
}

/// Makes the cluster and its pool, and waits until it is healthy.
///
/// # Errors
/// If the folder exists already ([`NothingMade`]), a part cannot be made, or the cluster is not
/// healthy within 5 minutes or before the wait is interrupted.
pub fn create(asked: &MakeCeph, system: &mut RealSystem, run: &str) -> Result<()> {
    let (conf, folder) = (asked.conf(), &asked.directory);
    let cluster = Cluster { conf: &conf };
    if folder.symlink_metadata().is_ok() {
        return Err(anyhow!("{} already exists", folder.display()).context(NothingMade));
    }
    let failed = || format!("cannot make {}", folder.display());
    fs::DirBuilder::new().mode(0o700).create(folder).with_context(failed)?;
    for part in ["mon", "mgr"] {
        fs::create_dir(folder.join(part)).with_context(failed)?;
    }
    let port = free_port()?;
    write_file(&conf, config(asked, port)?.as_bytes())?;
    write_keys(asked)?;
    make_mon(&cluster, asked, port)?;
    start_daemon(system, &conf, "ceph-mon", "a")?;
    // Ceph otherwise makes a pool of its own. No mgr that would know the option is running yet.
    let devices =
        ["config", "set", "mgr", "mgr/devicehealth/enable_monitoring", "false", "--force"];
    cluster.ceph(&devices).with_context(|| last_words(&conf, "ceph-mon", "a"))?;
    start_daemon(system, &conf, "ceph-mgr", "x")?;
    for at in 0..asked.members.len() {
        cluster.ceph(&["osd", "new", &asked.uuid(at), &at.to_string()])?;
    }
    let members =
        asked.members.iter().map(|member| member.resolved_path()).collect::<Result<Vec<_>>>()?;
    let made = |at: usize| make_osd(&cluster, at, members[at], &asked.uuid(at));
    let all = thread::scope(|scope| {
        let threads: Vec<_> = (0..members.len()).map(|at| scope.spawn(move || made(at))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| bail!("a thread ended")))
            .collect()
    });
    all_of(all)?;
    for at in 0..asked.members.len() {
        start_daemon(system, &conf, "ceph-osd", &at.to_string())?;
    }
    let (pool, pg) = (asked.name.as_str(), asked.pg.to_string());
    cluster.ceph(&["osd", "pool", "create", pool, &pg, &pg, "replicated"])?;
    cluster.ceph(&["osd", "pool", "application", "enable", pool, "rbd"])?;
    cluster.ceph(&["osd", "pool", "application", "set", pool, "rbd", "iotax.run", run])?;
    let is_up = |status: &ClusterStatus| {
        status.is_healthy()
            && status.group_count() == u64::from(asked.pg)
            && status.osds as usize == asked.members.len()
    };
    wait(&cluster, system, UP_WITHIN, BECOME_HEALTHY, is_up).map(drop)
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("no port of 127.0.0.1 is free")?;
    Ok(listener.local_addr().context("no port of 127.0.0.1 is free")?.port())
}

/// Returns the text of ceph.conf. It moves into the cluster's folder all that Ceph keeps in system
/// folders by default. Refuses a folder whose path ceph.conf cannot quote.
fn config(asked: &MakeCeph, port: u16) -> Result<String> {
    let folder = asked.directory.to_str().context("a run directory that is not UTF-8")?;
    // ceph.conf cannot quote these.
    ensure!(
        !folder.contains(['$', '#', ';', '"', '\\', '\n']),
        "the path {folder} cannot be written in ceph.conf; hint: choose a --runs folder without $ # ; \" \\"
    );
    let MakeCeph { size, min_size, memory, cache_policy, order, .. } = asked;
    Ok(format!(
        "[global]
fsid = {fsid}
mon_host = v2:127.0.0.1:{port}
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
ms_bind_ipv6 = false
auth_allow_insecure_global_id_reclaim = false
run_dir = {folder}
admin_socket = {folder}/$name.asok
pid_file = {folder}/$name.pid
log_file = {folder}/$name.log
# What the mon writes of the whole cluster goes to /var/log/ceph otherwise.
mon_cluster_log_file = {folder}/$cluster.log
crash_dir = {folder}
mon_data = {folder}/mon
mgr_data = {folder}/mgr
osd_data = {folder}/osd.$id
keyring = {folder}/keyring
osd_objectstore = bluestore
osd_memory_target = {memory}
osd_crush_chooseleaf_type = 0
osd_pool_default_size = {size}
osd_pool_default_min_size = {min_size}
osd_pool_default_pg_autoscale_mode = off
mon_allow_pool_size_one = true
mon_allow_pool_delete = true
mon_osd_down_out_interval = 86400
# The disk of the run's folder is not what is measured.
mon_data_avail_warn = 2
mon_data_avail_crit = 1
osd_heartbeat_grace = 6
osd_heartbeat_interval = 1
mgr_initial_modules =
[client]
log_file = {folder}/client.log
admin_socket = {folder}/{SOCKETS}
rbd_default_order = {order}
rbd_cache_policy = {cache_policy}
",
        fsid = asked.fsid()
    ))
}

/// Writes the keys of all daemons and of client.admin into one file that only this user may read,
/// so that nobody else on this machine can use the cluster.
fn write_keys(asked: &MakeCeph) -> Result<()> {
    let keyring = asked.directory.join("keyring");
    write_file(&keyring, b"")?;
    fs::set_permissions(&keyring, fs::Permissions::from_mode(0o600))
        .context("cannot set mode 0600 on the keyring")?;
    let osds = (0..asked.members.len()).map(|at| {
        (
            format!("osd.{at}"),
            vec![("mon", "allow profile osd"), ("mgr", "allow profile osd"), ("osd", "allow *")],
        )
    });
    let all = [
        ("mon.".to_owned(), vec![("mon", "allow *")]),
        (
            "client.admin".to_owned(),
            vec![("mon", "allow *"), ("mgr", "allow *"), ("osd", "allow *")],
        ),
        ("mgr.x".to_owned(), vec![("mon", "allow profile mgr"), ("osd", "allow *")]),
    ];
    for (name, caps) in all.into_iter().chain(osds) {
        let mut command = tool("ceph-authtool", [keyring.as_os_str()]);
        command.args(["--gen-key", "-n", &name]).env_remove("CEPH_ARGS");
        command.args(caps.iter().flat_map(|(part, cap)| ["--cap", *part, *cap]));
        run_with(command, "").with_context(|| format!("cannot make a key for {name}"))?;
    }
    Ok(())
}

fn make_mon(cluster: &Cluster, asked: &MakeCeph, port: u16) -> Result<()> {
    let path = |name: &str| asked.directory.join(name).to_string_lossy().into_owned();
    let (map, keyring) = (path("monmap"), path("keyring"));
    let at = format!("[v2:127.0.0.1:{port}]");
    cluster.run_ceph_tool(
        "monmaptool",
        &["--create", "--fsid", &asked.fsid(), "--addv", "a", &at, &map],
    )?;
    cluster.run_ceph_tool(
        "ceph-mon",
        &["--id", "a", "--mkfs", "--monmap", &map, "--keyring", &keyring],
    )?;
    Ok(())
}

fn make_osd(cluster: &Cluster, at: usize, member: &Path, uuid: &str) -> Result<()> {
    let folder = cluster.folder().join(format!("osd.{at}"));
    let failed = || format!("cannot make {}", folder.display());
    fs::create_dir(&folder).with_context(failed)?;
    symlink(member, folder.join("block")).with_context(failed)?;
    let id = at.to_string();
    cluster
        .run_ceph_tool("ceph-osd", &["--id", &id, "--mkfs", "--osd-uuid", uuid])
        .with_context(|| format!("cannot make an OSD of {}", member.display()))?;
    Ok(())
}

fn last_words(conf: &Path, program: &str, id: &str) -> String {
    let said = tail(&conf.with_file_name(format!("{program}.{id}.out")), LAST_WORDS);
    let said: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
    match said.split_at(said.len().saturating_sub(3)).1 {
        [] => format!("{program} said nothing"),
        last => format!("{program} said: {}", last.join("; ")),
    }
}

/// Polls the status until `is_done` is true of it, and returns it. Reports the share that is
/// recovered. Fails after `limit`, or if the receiver of the reports says stop; the error names the
/// wait as `awaited` does.
fn wait(
    cluster: &Cluster,
    system: &mut RealSystem,
    limit: Duration,
    awaited: AwaitedTask,
    is_done: impl Fn(&ClusterStatus) -> bool,
) -> Result<ClusterStatus> {
    let AwaitedTask { who, task } = awaited;
    let start = Instant::now();
    loop {
        let status = cluster.status()?;
        if is_done(&status) {
            return Ok(status);
        }
        let share = status.overall_state().rebuilt_fraction().unwrap_or(0.0);
        if system.report_progress(StepProgress::Synced(share)).is_break() {
            bail!("interrupted while waiting for {who} to {task}");
        }
        ensure!(
            start.elapsed() < limit,
            "{who} did not {task} within {} s: {status}",
            limit.as_secs()
        );
        thread::sleep(PAUSE);
    }
}

/// Waits as [`wait`] does until `is_done` is true twice, [`SETTLES`] apart. `limit` is for all of
/// it.
fn wait_settled(
    cluster: &Cluster,
    system: &mut RealSystem,
    limit: Duration,
    awaited: AwaitedTask,
    is_done: impl Fn(&ClusterStatus) -> bool,
) -> Result<()> {
    let start = Instant::now();
    loop {
        wait(cluster, system, limit.saturating_sub(start.elapsed()), awaited, &is_done)?;
        thread::sleep(SETTLES);
        if is_done(&cluster.status()?) {
            return Ok(());
        }
    }
}

pub fn await_healthy(conf: &Path, system: &mut RealSystem, limit: Duration) -> Result<()> {
    wait_settled(&Cluster { conf }, system, limit, BECOME_HEALTHY, ClusterStatus::is_healthy)
}

/// Returns true if any part of the cluster exists: its folder, a process, or the label of one of
/// its OSDs on a member.
///
/// # Errors
/// If /proc cannot be read, or the folder's path is not UTF-8.
pub fn is_there(asked: &MakeCeph) -> Result<bool> {
    let labelled = asked.members.iter().enumerate().any(|(at, member)| {
        member.resolved_path().is_ok_and(|member| is_labelled(member, &asked.uuid(at)))
    });
    let folder = asked.directory.symlink_metadata().is_ok();
    Ok(folder || labelled || !processes(&asked.conf(), is_of_ceph)?.is_empty())
}

/// Ends the cluster's processes, wipes its labels off its members and removes its folder.
///
/// # Errors
/// If /proc cannot be read, a process does not end, or a label or the folder cannot be removed.
pub fn destroy(asked: &MakeCeph, system: &mut RealSystem) -> Result<()> {
    let conf = asked.conf();
    let word = conf.to_str().context("a run directory that is not UTF-8")?;
    let kind = |words: &[&str]| DAEMONS.iter().position(|program| is_daemon(words, program, None));
    // What a killed run left is ended first.
    for next in [None, Some(0), Some(1), Some(2)] {
        for process in processes(&conf, |words| is_of_ceph(words) && kind(words) == next)? {
            system.end_process(&process, word)?;
        }
    }
    for (at, member) in asked.members.iter().enumerate() {
        let Ok(member) = member.resolved_path() else { continue };
        if is_labelled(member, &asked.uuid(at)) {
            take_off_label(member)?;
        }
    }
    match fs::remove_dir_all(&asked.directory) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other.with_context(|| format!("cannot remove {}", asked.directory.display())),
    }
}

fn is_labelled(member: &Path, uuid: &str) -> bool {
    let is_device = fs::metadata(member).is_ok_and(|meta| meta.file_type().is_block_device());
    let label = format!("{LABEL}{uuid}");
    let mut found = vec![0; label.len()];
    let read = |found: &mut [u8]| fs::File::open(member)?.read_exact_at(found, 0);
    is_device && read(&mut found).is_ok() && found == label.as_bytes()
}

fn take_off_label(member: &Path) -> Result<()> {
    let write = || {
        let device = fs::File::options().write(true).open(member)?;
        device.write_all_at(&vec![0; LABEL_BYTES], 0)?;
        device.sync_data()
    };
    write().with_context(|| format!("cannot clear the OSD label on {}", member.display()))
}

pub fn cluster_state(conf: &Path) -> Result<ArrayState> {
    Ok(Cluster { conf }.status()?.overall_state())
}

/// Returns settings of the pool, the OSDs and each image in the pool, as Ceph reports them.
///
/// # Errors
/// If one of Ceph's commands fails or does not answer in time.
pub fn cluster_settings(conf: &Path, pool: &str) -> Result<ThingSettings> {
    let cluster = Cluster { conf };
    let mut settings = ThingSettings::new();
    let of_pool = cluster.run_json("ceph", &["osd", "pool", "get", pool, "all"])?;
    for name in ["size", "min_size", "pg_num", "crush_rule"] {
        settings.extend(json_word(&of_pool[name]).map(|value| (name.to_owned(), value)));
    }
    let osds = cluster.run_json("ceph", &["osd", "metadata"])?;
    for name in ["osd_objectstore", "ceph_version_short"] {
        let mut all: Vec<String> =
            osds.as_array().into_iter().flatten().filter_map(|osd| json_word(&osd[name])).collect();
        all.dedup();
        settings.insert(name.to_owned(), all.join(", "));
    }
    for image in cluster.run_json("rbd", &["ls", pool])?.as_array().into_iter().flatten() {
        let Some(image) = image.as_str() else { continue };
        let info = cluster.run_json("rbd", &["info", &format!("{pool}/{image}")])?;
        for name in ["size", "object_size", "features"] {
            settings.extend(json_word(&info[name]).map(|value| (format!("{image} {name}"), value)));
        }
    }
    Ok(settings)
}

pub(super) fn json_word(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(all) => Some(all.iter().filter_map(json_word).collect::<Vec<_>>().join(",")),
        other => Some(other.to_string()),
    }
}

/// Makes the change, and waits until the cluster shows it.
///
/// # Errors
/// If the path of ceph.conf is not known yet, Ceph refuses, a member no longer holds its OSD, the
/// cluster does not come into the state in time, or the wait is interrupted.
pub fn change(asked: &ChangeCeph, system: &mut RealSystem) -> Result<()> {
    let conf = asked.made.resolved_path()?;
    let cluster = Cluster { conf };
    match asked.change {
        CephChange::Ends(at) => {
            end_osd(conf, at, system)?;
            let is_noticed = |status: &ClusterStatus| {
                matches!(status.overall_state(), ArrayState::Degraded { .. })
            };
            wait(
                &cluster,
                system,
                UP_WITHIN,
                AwaitedTask { who: "the cluster", task: "notice that an OSD ended" },
                is_noticed,
            )
            .map(drop)
        }
        CephChange::Returns(at) => {
            let folder = cluster.folder().join(format!("osd.{at}"));
            let member = fs::read_link(folder.join("block"))
                .with_context(|| format!("there is no OSD {at}"))?;
            end_osd(conf, at, system)?;
            let uuid = fs::read_to_string(folder.join("fsid")).context("an OSD without a UUID")?;
            let uuid = uuid.trim();
            ensure!(is_labelled(&member, uuid), "{} no longer holds OSD {at}", member.display());
            take_off_label(&member)?;
            fs::remove_dir_all(&folder)
                .with_context(|| format!("cannot remove {}", folder.display()))?;
            make_osd(&cluster, at, &member, uuid)?;
            start_daemon(system, conf, "ceph-osd", &at.to_string())?;
            let is_back = |status: &ClusterStatus| {
                let all_up = status.up == status.osds && status.within == status.osds;
                all_up
                    && matches!(
                        status.overall_state(),
                        ArrayState::Rebuilding { .. } | ArrayState::Healthy
                    )
            };
            let awaited = AwaitedTask { who: &format!("OSD {at}"), task: "come back" };
            wait(&cluster, system, UP_WITHIN, awaited, is_back).map(drop)
        }
        CephChange::Out(at) => {
            cluster.ceph(&["osd", "out", &at.to_string()])?;
            // The map shows it at once; then the groups peer, and serve nothing until they have.
            let is_out =
                |status: &ClusterStatus| matches!(status.overall_state(), ArrayState::Out { .. });
            let awaited = AwaitedTask { who: &format!("OSD {at}"), task: "be marked out" };
            wait_settled(&cluster, system, UP_WITHIN, awaited, is_out)
        }
        CephChange::In(at) => {
            cluster.ceph(&["osd", "in", &at.to_string()])?;
            let is_in = |status: &ClusterStatus| status.within == status.osds;
            let awaited = AwaitedTask { who: &format!("OSD {at}"), task: "be marked in" };
            wait(&cluster, system, UP_WITHIN, awaited, is_in).map(drop)
        }
        CephChange::AwaitHealthy => await_healthy(conf, system, Duration::from_secs(24 * 3600)),
    }
}

pub fn osds(conf: &Path) -> Result<Vec<ProcessId>> {
    processes(conf, |words| is_daemon(words, "ceph-osd", None))
}

fn end_osd(conf: &Path, at: usize, system: &mut RealSystem) -> Result<()> {
    let (id, word) = (at.to_string(), conf.to_str().context("a run directory that is not UTF-8")?);
    let all = processes(conf, |words| is_daemon(words, "ceph-osd", Some(&id)))?;
    all.iter().try_for_each(|process| system.end_process(process, word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_programs_of_ceph_on_that_very_cluster_are_its_processes() {
        let conf = "/run/r/ceph0/ceph.conf";
        assert!(
            is_of_ceph(&["/usr/bin/ceph-osd", "--conf", conf])
                && is_of_ceph(&["rbd", "--conf", conf, "ls"])
        );
        assert!(is_of_ceph(&["/usr/bin/python3", "/usr/bin/ceph", "--conf", conf]));
        assert!(!is_of_ceph(&["less", conf]) && !is_of_ceph(&["vi", "/x/y", "/usr/bin/ceph"]));
        let osd = ["/usr/bin/ceph-osd", "--conf", conf, "--id", "1", "--foreground"];
        assert!(is_daemon(&osd, "ceph-osd", Some("1")) && is_daemon(&osd, "ceph-osd", None));
        assert!(!is_daemon(&osd, "ceph-osd", Some("11")) && !is_daemon(&osd, "ceph-mon", None));
        assert!(processes(Path::new(conf), |_| true).unwrap().is_empty());
    }

    #[test]
    fn all_that_a_cluster_writes_lies_in_its_folder() {
        let directory = Path::new("/runs/r/ceph0");
        let asked = MakeCeph {
            name: "iotax-r".into(),
            directory: directory.into(),
            members: Vec::new(),
            size: 1,
            min_size: 1,
            pg: 8,
            memory: 1 << 30,
            cache_policy: "writeback".into(),
            order: 22,
            drives: Default::default(),
        };
        let conf = config(&asked, 6789).unwrap();
        let values = || conf.lines().filter_map(|line| line.split_once(" = "));
        let paths: Vec<_> = values().filter(|(_, value)| value.starts_with('/')).collect();
        assert!(
            paths.iter().all(|(_, value)| Path::new(value).starts_with(directory)),
            "{paths:?}"
        );
        // Files that Ceph would otherwise write in /var.
        for key in [
            "log_file",
            "mon_cluster_log_file",
            "crash_dir",
            "run_dir",
            "admin_socket",
            "pid_file",
            "mon_data",
        ] {
            assert!(paths.iter().any(|(name, _)| *name == key), "{key}");
        }
    }

    #[test]
    fn a_file_is_never_taken_for_a_labelled_device() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x");
        fs::write(&file, format!("{LABEL}u-1\n")).unwrap();
        assert!(!is_labelled(&file, "u-1") && !is_labelled(Path::new("/dev/null"), "u-1"));
    }
}
