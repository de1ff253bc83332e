//! Makes a partition table with one partition, by sfdisk. Ours is recognised by its id. A device
//! that has a table already is refused, whoever wrote it. Removing ours wipes only what marks it as
//! a table.

use crate::step_output::StepOutput;
use iotax_units::shell;

use super::tool::{guid, output, run_with, settle, tool};
use crate::drives::Drives;
use crate::path_ref::PathRef;
use crate::refusal::{NotOurs, NothingMade};
use crate::tool::run_tool;
use crate::wait::wait_until;
use anyhow::{Context, Result, anyhow, bail, ensure};
use iotax_host::block::{self, BlockNode, node_path};
use iotax_host::probe::Probe;
use serde::{Deserialize, Serialize};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakePartition {
    pub device: PathRef,
    pub table: String,
    /// Id of the table, as sfdisk writes it.
    pub id: String,
    /// Name of the partition in a GPT. It carries the run's id.
    pub name: String,
    /// First byte of the partition.
    pub start: u64,
    pub bytes: u64,
    #[serde(default, skip_serializing_if = "Drives::is_empty")]
    pub drives: Drives,
}

/// Time that the kernel may take to show or forget a partition.
const PATIENCE: Duration = Duration::from_secs(20);

/// Returns the id for a table of type `table` as sfdisk writes it, derived from the name of the
/// partition. No other run has that name.
pub fn id_from(table: &str, name: &str) -> String {
    let id = guid(name);
    if table == "gpt" { id } else { format!("0x{}", id[..8].to_lowercase()) }
}

/// Writes the table and returns the partition.
///
/// # Errors
/// [`NothingMade`] if the device has a table already or can have none. Fails too if the partition
/// is not whole logical blocks, sfdisk fails, or the kernel does not show the partition as planned.
pub fn create(wanted: &MakePartition) -> Result<StepOutput> {
    let disk = check_partitionable(wanted).context(NothingMade)?;
    let script = script(wanted, disk.logical_block_bytes)?;
    // Nothing but the table is written: what else lies there was the guard's to judge.
    let quiet = ["--quiet", "--wipe", "never", "--wipe-partitions", "never"];
    run_with(with_disk(tool("sfdisk", quiet), &disk), &script)?;
    settle();
    if the_one(&disk).is_none() {
        // A loop device without partscan is not looked at again by itself.
        run_tool(&mut with_disk(tool("partx", ["--add", "--nr", "1"]), &disk))?;
    }
    wait_until(PATIENCE, || the_one(&disk).is_some()).context("the kernel shows no partition")?;
    settle();
    let made = the_one(&disk).context("the partition is gone again")?;
    ensure!(
        (made.start, made.bytes) == (wanted.start, wanted.bytes),
        "/dev/{} begins at byte {} and has {} bytes, not {} and {}",
        made.name,
        made.start,
        made.bytes,
        wanted.start,
        wanted.bytes
    );
    Ok(yield_of(&made))
}

/// Finds our table. Returns its partition, an empty output if the kernel does not show that, and
/// `None` if the device or our table is not there.
///
/// # Errors
/// If sfdisk fails to read the device.
pub fn find_own_table(wanted: &MakePartition) -> Result<Option<StepOutput>> {
    let Ok(disk) = disk_of(wanted) else { return Ok(None) };
    let ours = id_on(&disk)?.is_some_and(|id| id.eq_ignore_ascii_case(&wanted.id));
    Ok(ours.then(|| the_one(&disk).map_or_else(StepOutput::default, |made| yield_of(&made))))
}

/// Removes our table, if it is there.
///
/// # Errors
/// [`NotOurs`] if the device has another table by now, or the id is not the one of the name. Fails
/// too if the partition is in use or a tool fails.
pub fn remove(wanted: &MakePartition) -> Result<()> {
    let Ok(disk) = disk_of(wanted) else { return Ok(()) };
    if wanted.id != id_from(&wanted.table, &wanted.name) {
        let words =
            format!("the partition table {} is not of {}: left alone", wanted.id, wanted.name);
        return Err(NotOurs(words).into());
    }
    match id_on(&disk)? {
        // The kernel may know the partition still of a table that was written over.
        None if !is_known(wanted, &disk) => return Ok(()),
        Some(id) if !id.eq_ignore_ascii_case(&wanted.id) => {
            return Err(NotOurs(format!(
                "/dev/{} has the partition table {id} now: left alone",
                disk.name
            ))
            .into());
        }
        _ => settle(),
    }
    if the_one(&disk).is_some() {
        let gone = wait_until(PATIENCE, || {
            let _ = run_tool(&mut with_disk(tool("partx", ["--delete", "--nr", "1"]), &disk));
            the_one(&disk).is_none()
        });
        gone.with_context(|| format!("the partition on /dev/{} is in use", disk.name))?;
    }
    let types = if wanted.table == "gpt" { "gpt,PMBR" } else { "dos" };
    run_tool(&mut with_disk(tool("wipefs", ["--all", "--quiet", "--types", types]), &disk))?;
    settle();
    match id_on(&disk)? {
        None => Ok(()),
        Some(id) => bail!("/dev/{} has a partition table still ({id})", disk.name),
    }
}

fn check_partitionable(wanted: &MakePartition) -> Result<BlockNode> {
    let disk = disk_of(wanted)?;
    ensure!(
        disk.parent.is_none() && !disk.name.starts_with("dm-"),
        "/dev/{} can have no partitions: the kernel makes them on whole disks, not on a part or on a device of the device mapper",
        disk.name
    );
    if let Some(id) = id_on(&disk)? {
        bail!(
            "/dev/{name} has a partition table already ({id}); hint: name another drive, or if nobody needs what is on it, \
             wipefs --all /dev/{name}",
            name = disk.name
        );
    }
    Ok(disk)
}

fn is_known(wanted: &MakePartition, disk: &BlockNode) -> bool {
    the_one(disk).is_some_and(|known| (known.start, known.bytes) == (wanted.start, wanted.bytes))
}

/// Returns the script for sfdisk, with numbers of sectors: sizes with a unit would be aligned.
/// Refuses a partition that is not whole sectors.
/// Returns the commands that write the table, in blocks of 512 bytes, and that assign the partition
/// to the shell variable `out`.
pub fn create_by_hand(wanted: &MakePartition, out: &str) -> Vec<String> {
    let device = shell::quote_word(&wanted.device.to_string());
    let script = script(wanted, 512).unwrap_or_default();
    let lines: Vec<String> = script.lines().map(shell::quote_word).collect();
    vec![
        format!("printf '%s\\n' {} | sfdisk --quiet --wipe never {device}", lines.join(" ")),
        format!("partx --add --nr 1 {device}; udevadm settle"),
        format!("{out}=$(lsblk -lnpo NAME,TYPE {device} | awk '$2 == \"part\" {{ print $1 }}')"),
    ]
}

fn script(wanted: &MakePartition, sector: u64) -> Result<String> {
    let MakePartition { table, id, name, start, bytes, .. } = wanted;
    ensure!(
        start % sector == 0 && bytes % sector == 0,
        "a partition of {bytes} bytes at byte {start} does not fit logical blocks of {sector} bytes; hint: align=1MiB"
    );
    let (start, size) = (start / sector, bytes / sector);
    Ok(match table.as_str() {
        "gpt" => format!(
            "label: gpt\nlabel-id: {id}\nfirst-lba: {start}\n\nstart={start}, size={size}, name=\"{name}\"\n"
        ),
        _ => format!("label: dos\nlabel-id: {id}\n\nstart={start}, size={size}, type=83\n"),
    })
}

fn id_on(disk: &BlockNode) -> Result<Option<String>> {
    let mut command = with_disk(tool("sfdisk", ["--json"]), disk);
    let output = output(&mut command)?;
    let words = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => id_of(&String::from_utf8_lossy(&output.stdout)).map(Some),
        false if words.contains("does not contain a recognized partition table") => Ok(None),
        false => bail!("{command:?} failed ({}): {}", output.status, words.trim()),
    }
}

fn id_of(json: &str) -> Result<String> {
    let parsed: serde_json::Value =
        serde_json::from_str(json).context("cannot understand sfdisk")?;
    let table = &parsed["partitiontable"];
    // A table without an id is somebody's too.
    Ok(table["id"].as_str().or(table["label"].as_str()).unwrap_or("without an id").to_owned())
}

fn the_one(disk: &BlockNode) -> Option<BlockNode> {
    block::partitions(&host_probe(), disk).into_iter().next()
}

fn disk_of(wanted: &MakePartition) -> Result<BlockNode> {
    let path = wanted.device.resolved_path()?;
    let meta =
        std::fs::metadata(path).with_context(|| format!("cannot look at {}", path.display()))?;
    block::node_by_number(&host_probe(), meta.rdev())
        .ok_or_else(|| anyhow!("{} is no block device", path.display()))
}

fn with_disk(mut command: std::process::Command, disk: &BlockNode) -> std::process::Command {
    command.arg(node_path(disk));
    command
}

fn yield_of(partition: &BlockNode) -> StepOutput {
    StepOutput::found_at(node_path(partition))
}

fn host_probe() -> Probe {
    Probe::of_files(Path::new("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drives::Drives;
    use crate::path_ref::PathRef;

    fn wanted(table: &str) -> MakePartition {
        MakePartition {
            device: PathRef::Path("/dev/nvme0n1".into()),
            table: table.into(),
            id: "0x1a2b3c4d".into(),
            name: "iotax-r-part0".into(),
            start: 1 << 20,
            bytes: 126 << 20,
            drives: Drives::default(),
        }
    }

    #[test]
    fn a_table_is_written_in_the_devices_own_blocks() {
        let gpt = "label: gpt\nlabel-id: 0x1a2b3c4d\nfirst-lba: 2048\n\nstart=2048, size=258048, name=\"iotax-r-part0\"\n";
        assert_eq!(script(&wanted("gpt"), 512).unwrap(), gpt);
        let dos = "label: dos\nlabel-id: 0x1a2b3c4d\n\nstart=256, size=32256, type=83\n";
        assert_eq!(script(&wanted("dos"), 4096).unwrap(), dos);
        let odd = MakePartition { start: 63 * 512, ..wanted("gpt") };
        assert!(script(&odd, 512).is_ok());
        let error = script(&odd, 4096).unwrap_err().to_string();
        assert!(error.contains("does not fit logical blocks of 4096 bytes; hint: "), "{error}");
    }

    #[test]
    fn a_table_is_told_by_its_id() {
        let told = r#"{"partitiontable": {"label":"gpt","id":"7C4E","device":"/dev/loop0","unit":"sectors"}}"#;
        assert_eq!(id_of(told).unwrap(), "7C4E");
        assert_eq!(id_of(r#"{"partitiontable": {"label":"sgi"}}"#).unwrap(), "sgi");
        assert!(id_of("not json").is_err());
    }
}
