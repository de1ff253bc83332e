//! Changes the members of a pool and reads its state. A member is taken offline, as a drive that
//! died would be; it comes back as a new drive, all of which is resilvered. The state is what
//! `zpool status` reports.

use super::{Label, label_of, partition_of_zpools};
use crate::settings::{self, ThingSettings};
use crate::system::ProgressFn;
use crate::tool::{run_tool, tool};
use anyhow::{Context, Result, bail, ensure};
use iotax_facts::array::ArrayState;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Properties of a volume or a file system that affect measurements. Those that one of them does
/// not have are left out.
const PROPERTIES: &str = "volblocksize,recordsize,compression,dedup,sync,primarycache,secondarycache,logbias,checksum,copies,\
    redundant_metadata,atime";

/// Returns the pool that `made` is in: the device of a volume, or the name of a file system
/// (`POOL/data`).
///
/// # Errors
/// If no volume has that device.
pub fn pool_of(made: &Path) -> Result<String> {
    let pool = match made.is_absolute() {
        false => made.iter().next().map(PathBuf::from),
        true => volumes().into_iter().find(|(_, device)| device == made).map(|(pool, _)| pool),
    };
    let pool = pool.with_context(|| format!("{} is of no pool", made.display()))?;
    Ok(pool.display().to_string())
}

fn volumes() -> Vec<(PathBuf, PathBuf)> {
    let entries =
        |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().collect::<Vec<_>>();
    let pools = entries(Path::new("/dev/zvol"));
    let of = |pool: &fs::DirEntry| {
        let links = entries(&pool.path()).into_iter();
        let devices = links.filter_map(|link| link.path().canonicalize().ok());
        devices.map(|device| (PathBuf::from(pool.file_name()), device)).collect::<Vec<_>>()
    };
    pools.iter().flat_map(of).collect()
}

/// Returns the actual settings of a pool and of what is in it (`POOL/vol`), by ZFS's names.
///
/// # Errors
/// If zpool or zfs fails.
pub fn settings_of(pool: &str, content: &str) -> Result<ThingSettings> {
    let of = |program: &str, properties: &str, of: &str| {
        run_tool(&mut tool(program, ["get", "-H", "-p", "-o", "property,value", properties, of]))
    };
    let pool = settings::properties(&of("zpool", "ashift,autotrim", pool)?);
    Ok(pool.into_iter().chain(settings::properties(&of("zfs", PROPERTIES, content)?)).collect())
}

/// Takes a member offline.
///
/// # Errors
/// If the pool or the member is not there, or zpool refuses, as when the pool cannot do without it.
pub fn offline(made: &Path, member: &Path) -> Result<()> {
    let (pool, member) = (pool_of(made)?, real(member)?);
    run_tool(tool("zpool", ["offline", &pool]).arg(member)).map(drop)
}

/// Brings a member back as a drive that ZFS knows nothing about. The resilver goes on by itself.
///
/// # Errors
/// If the pool or the member is not there, the member carries another label, or zpool refuses it.
pub fn replace(made: &Path, member: &Path) -> Result<()> {
    let (pool, member) = (pool_of(made)?, real(member)?);
    let labelled = partition_of_zpools(&member)?.unwrap_or_else(|| member.clone());
    match label_of(&labelled)? {
        Label::None => {}
        // With the label, ZFS would know what the drive has, and write only the rest. The drive is
        // offline, so nobody has it open.
        Label::Of(of) if of == pool => {
            run_tool(tool("zpool", ["labelclear", "-f"]).arg(&labelled)).map(drop)?
        }
        Label::Of(of) => bail!("{} carries the label of the pool {of}", labelled.display()),
        Label::Nameless => {
            bail!("{} carries the label of a spare or cache of a pool", labelled.display())
        }
    }
    run_tool(tool("zpool", ["replace", "-f", &pool]).arg(&member)).map(drop)
}

/// Waits until every member is whole. `progress` receives the share that is done, and may end the
/// wait.
///
/// # Errors
/// If the pool is gone, members are missing and nothing is resilvered, or `progress` says stop.
pub fn await_resilver(made: &Path, progress: ProgressFn<'_>) -> Result<()> {
    let pool = pool_of(made)?;
    loop {
        let now = state_of(&pool)?.with_context(|| format!("the pool {pool} is gone"))?;
        let done = match now {
            ArrayState::Healthy => return Ok(()),
            ArrayState::Rebuilding { done, .. } | ArrayState::Syncing { done } => done,
            ArrayState::Degraded { .. } | ArrayState::Out { .. } | ArrayState::Down { .. } => {
                bail!(
                    "the pool {pool} is {now}, and nothing is resilvered; hint: zpool status {pool}"
                )
            }
        };
        ensure!(progress(done).is_continue(), "interrupted while the pool {pool} resilvers");
        std::thread::sleep(Duration::from_millis(250));
    }
}

fn real(member: &Path) -> Result<PathBuf> {
    member.canonicalize().with_context(|| format!("cannot look at {}", member.display()))
}

/// Returns the state of a pool, or `None` if there is no such pool.
///
/// # Errors
/// If zpool fails for another reason, or its output is not understood.
pub fn state_of(pool: &str) -> Result<Option<ArrayState>> {
    match run_tool(&mut tool("zpool", ["status", "-P", pool])) {
        Ok(text) => of_status(&text)
            .map(Some)
            .with_context(|| format!("cannot understand zpool status {pool}")),
        Err(error) if format!("{error:#}").contains("no such pool") => Ok(None),
        Err(error) => Err(error),
    }
}

struct PoolRow<'a> {
    depth: usize,
    name: &'a str,
    state: &'a str,
    resilvering: bool,
}

fn of_status(text: &str) -> Result<ArrayState> {
    let rows = device_rows(text);
    let pool = rows.first().context("it names no pool")?;
    if !["ONLINE", "DEGRADED"].contains(&pool.state) {
        return Ok(ArrayState::Down { word: pool.state.to_lowercase() });
    }
    let replaced = rows.iter().filter(|row| row.name.starts_with("replacing-")).count();
    let missing = (replaced + missing(&rows)) as u32;
    let resilvers = text.contains("scan: resilver in progress") || replaced > 0;
    Ok(match (missing, resilvers) {
        (0, false) => ArrayState::Healthy,
        (0, true) => ArrayState::Syncing { done: share_done(text) },
        (missing, true) => ArrayState::Rebuilding { missing, done: share_done(text) },
        (missing, false) => ArrayState::Degraded { missing },
    })
}

/// Counts the devices that are not whole, except those within a replacement.
fn missing(rows: &[PoolRow]) -> usize {
    let mut within = None;
    let mut missing = 0;
    for (at, row) in rows.iter().enumerate().skip(1) {
        if within.is_some_and(|depth| row.depth > depth) {
            continue;
        }
        within = row.name.starts_with("replacing-").then_some(row.depth);
        let leaf = rows.get(at + 1).is_none_or(|next| next.depth <= row.depth);
        let whole = row.state == "ONLINE" && !row.resilvering;
        missing += usize::from(leaf && !whole);
    }
    missing
}

/// Returns the rows of the table under `config:`, without its header and headings such as `spares`.
/// Each line begins with a tab, then two spaces for each level below the pool.
fn device_rows(text: &str) -> Vec<PoolRow<'_>> {
    let table = text.lines().skip_while(|line| line.trim() != "config:").skip(1);
    table
        .filter_map(|line| row(line.strip_prefix('\t')?))
        .filter(|row| row.name != "NAME")
        .collect()
}

fn row(line: &str) -> Option<PoolRow<'_>> {
    let mut words = line.split_whitespace();
    let depth = line.len() - line.trim_start().len();
    let (name, state) = (words.next()?, words.next()?);
    Some(PoolRow { depth, name, state, resilvering: line.ends_with("(resilvering)") })
}

/// Returns the share that is done, 0 to 1, in `1.16M resilvered, 9.04% done, no estimated
/// completion time`; 0 if the text has none.
fn share_done(text: &str) -> f64 {
    let before = text.split("% done").next().filter(|before| before.len() < text.len());
    let number = before.and_then(|before| before.rsplit([' ', '\t']).next()?.parse::<f64>().ok());
    number.map_or(0.0, |percent| percent / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As zfs 2.1 told in a lab.
    const RESILVERING: &str = "  pool: pz
 state: DEGRADED
status: One or more devices is currently being resilvered.  The pool will
\tcontinue to function, possibly in a degraded state.
action: Wait for the resilver to complete.
  scan: resilver in progress since Mon Nov 23 02:45:24 2026
\t152M scanned at 76.1M/s, 39.3M issued at 19.7M/s, 152M total
\t1.16M resilvered, 25.83% done, 00:00:05 to go
config:

\tNAME                      STATE     READ WRITE CKSUM
\tpz                        DEGRADED     0     0     0
\t  raidz1-0                DEGRADED     0     0     0
\t    /dev/nvme0n1p1        ONLINE       0     0     0
\t    replacing-1           DEGRADED     0     0     0
\t      /dev/nvme1n1p1/old  OFFLINE      0     0     0
\t      /dev/nvme1n1p1      ONLINE       0     0     0  (resilvering)
\t    /dev/nvme2n1p1        ONLINE       0     0     0
\t    /dev/nvme3n1p1        ONLINE       0     0     0

errors: No known data errors
";

    const HEALTHY: &str = "  pool: pz
 state: ONLINE
  scan: resilvered 38.7M in 00:00:09 with 0 errors on Mon Nov 23 02:45:33 2026
config:

\tNAME                STATE     READ WRITE CKSUM
\tpz                  ONLINE       0     0     0
\t  raidz1-0          ONLINE       0     0     0
\t    /dev/nvme0n1p1  ONLINE       0     0     0
\t    /dev/nvme1n1p1  ONLINE       0     0     0
\t    /dev/nvme2n1p1  ONLINE       0     0     0

errors: No known data errors
";

    #[test]
    fn the_state_of_a_pool_is_that_of_its_members() {
        let of = |text: &str| of_status(text).unwrap();
        assert_eq!(of(HEALTHY), ArrayState::Healthy);
        let offline = HEALTHY.replace("/dev/nvme1n1p1  ONLINE ", "/dev/nvme1n1p1  OFFLINE");
        let offline =
            offline.replace("pz                  ONLINE ", "pz                  DEGRADED");
        assert_eq!(of(&offline), ArrayState::Degraded { missing: 1 });
        let two = offline.replace("/dev/nvme0n1p1  ONLINE ", "/dev/nvme0n1p1  REMOVED");
        assert_eq!(of(&two), ArrayState::Degraded { missing: 2 });
        assert_eq!(of(RESILVERING), ArrayState::Rebuilding { missing: 1, done: 0.2583 });
        let two =
            RESILVERING.replace("/dev/nvme0n1p1        ONLINE ", "/dev/nvme0n1p1        OFFLINE");
        assert_eq!(of(&two), ArrayState::Rebuilding { missing: 2, done: 0.2583 });
        // The moment before the resilver that a replacement asks for, and the one after it.
        let waits = RESILVERING.replace("scan: resilver in progress since", "scan: none requested");
        let waits = waits.replace("25.83% done", "");
        assert_eq!(of(&waits), ArrayState::Rebuilding { missing: 1, done: 0.0 });
    }

    #[test]
    fn what_came_back_as_it_was_is_not_whole_before_its_resilver() {
        let online = HEALTHY.replace("resilvered 38.7M in", "resilver in progress since").replace(
            "/dev/nvme1n1p1  ONLINE       0     0     0",
            "/dev/nvme1n1p1  ONLINE       0     0     0  (resilvering)",
        );
        assert_eq!(of_status(&online).unwrap(), ArrayState::Rebuilding { missing: 1, done: 0.0 });
    }

    #[test]
    fn a_pool_that_gives_no_data_is_down() {
        let suspended =
            HEALTHY.replace("pz                  ONLINE ", "pz                  SUSPENDED");
        assert_eq!(of_status(&suspended).unwrap(), ArrayState::Down { word: "suspended".into() });
        assert!(of_status("no pools available\n").is_err());
    }

    #[test]
    fn a_file_system_is_named_by_its_pool() {
        assert_eq!(pool_of(Path::new("iotax-r-zfs0/data")).unwrap(), "iotax-r-zfs0");
        let error = pool_of(Path::new("/dev/zd-none")).unwrap_err().to_string();
        assert_eq!(error, "/dev/zd-none is of no pool");
    }
}
