//! Makes, finds and removes one ZFS pool of a run. `state` handles changes of its members, and
//! `arc` the limit of ZFS's cache. The pool is in no cache file, so that no other boot imports it,
//! and carries the run's id as a property. On a whole disk, zpool first makes a partition table:
//! that is removed with the labels, so that the member is free again.

mod arc;
pub mod state;

pub use arc::{ArcLimit, arc_limit_here, check_dedup_table, usual_limit};

use super::tool::{all_of, checked_output, load_modules, output, settle, tool};
use crate::refusal::{NotOurs, NothingMade};
use crate::tool::run_tool;
use crate::wait::wait_until;
use anyhow::{Context, Result, anyhow, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

pub const PROPERTY: &str = "iotax:run";
/// Type of the partition that zpool makes on a whole disk.
const PARTITION_TYPE: &str = "6a898cc3-1dd2-11b2-99a6-080020736631";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool<'a> {
    pub run_id: &'a str,
    pub name: &'a str,
    pub members: Vec<&'a Path>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Trace {
    device: PathBuf,
    /// Device or partition with a label of ours.
    labelled: Vec<PathBuf>,
    /// True if the device has a partition table as zpool makes them, whose first partition carries
    /// our label or none.
    partitioned: bool,
}

impl Pool<'_> {
    /// Makes the pool and its contents with these commands, each a program and its arguments.
    /// Returns the device of `volume`, if one is named.
    ///
    /// # Errors
    /// [`NothingMade`] if the module does not load, or the pool's name is taken. Fails too if a
    /// command does, or the device does not appear.
    pub fn create_pool(
        &self,
        commands: &[Vec<String>],
        volume: Option<&str>,
    ) -> Result<Option<PathBuf>> {
        load().context(NothingMade)?;
        if self.is_imported()? {
            return Err(anyhow!("there is a pool {} already", self.name).context(NothingMade));
        }
        for words in commands {
            let [program, rest @ ..] = words.as_slice() else { continue };
            run_tool(&mut tool(program, rest))?;
        }
        volume.map(|volume| self.device(volume)).transpose()
    }

    /// Returns the volume's device. udev makes the link some time after the device.
    fn device(&self, volume: &str) -> Result<PathBuf> {
        let link = self.link(volume);
        // Without udev there is no link either, and the error says so.
        settle();
        wait_until(Duration::from_secs(10), || link.exists())
            .with_context(|| format!("{} does not appear; hint: udev makes it", link.display()))?;
        link.canonicalize().with_context(|| format!("cannot look at {}", link.display()))
    }

    fn link(&self, volume: &str) -> PathBuf {
        Path::new("/dev/zvol").join(self.name).join(volume)
    }

    /// Returns `Some` if the pool is imported or a member carries its label, with the device of
    /// `volume` if that exists.
    ///
    /// # Errors
    /// If zpool cannot be asked, or a member cannot be examined and none of the others is ours.
    pub fn find_pool(&self, volume: Option<&str>) -> Result<Option<Option<PathBuf>>> {
        let there = self.is_imported()? || any_is_ours(self.traces())?;
        Ok(there.then(|| volume.and_then(|volume| self.link(volume).canonicalize().ok())))
    }

    /// Destroys the pool, and wipes what is left of it on the members. It is no error if the pool
    /// is gone.
    ///
    /// # Errors
    /// [`NotOurs`] if a pool of that name is not of this run. Fails too if zpool does, as when
    /// something is in use, or if a member cannot be examined or wiped.
    pub fn destroy_pool(&self) -> Result<()> {
        if self.is_imported()? {
            self.must_be_ours()?;
            let mut last = None;
            // A process that looks at new devices (udev) may have one open for a moment.
            let destroyed = wait_until(Duration::from_secs(10), || {
                last = run_tool(&mut tool("zpool", ["destroy", self.name])).err();
                last.is_none()
            });
            destroyed.map_err(|_| {
                last.unwrap_or_else(|| anyhow!("cannot destroy the pool {}", self.name))
            })?;
        }
        // A member that cannot be read does not keep the others from being cleaned.
        let wiped = self.traces().into_iter().map(|trace| match trace? {
            trace if trace.is_ours() => trace.wipe(),
            _ => Ok(()),
        });
        all_of(wiped.collect::<Vec<_>>())
    }

    fn must_be_ours(&self) -> Result<()> {
        let owner = run_tool(&mut tool("zfs", ["get", "-H", "-o", "value", PROPERTY, self.name]))?;
        match owner.trim() == self.run_id {
            true => Ok(()),
            false => Err(NotOurs(format!(
                "the pool {} is not of the run {}: it says {}; left alone",
                self.name,
                self.run_id,
                owner.trim()
            ))
            .into()),
        }
    }

    /// Returns true if a pool of this name is imported. No pool is while ZFS's module is not
    /// loaded.
    fn is_imported(&self) -> Result<bool> {
        if !Path::new("/sys/module/zfs").exists() {
            return Ok(false);
        }
        let names = run_tool(&mut tool("zpool", ["list", "-H", "-o", "name"]))?;
        Ok(names.lines().any(|name| name == self.name))
    }

    /// Returns what of this pool is on each member that exists. After a reboot, a loop device does
    /// not, and what was on it is gone.
    fn traces(&self) -> Vec<Result<Trace>> {
        self.members
            .iter()
            .filter_map(|member| member.canonicalize().ok())
            .map(|real| self.trace(real))
            .collect()
    }

    fn trace(&self, device: PathBuf) -> Result<Trace> {
        let first = partition_of_zpools(&device)?;
        let at = first.clone().unwrap_or_else(|| device.clone());
        let label = label_of(&at)?;
        let ours = label == Label::Of(self.name.to_owned());
        Ok(Trace {
            labelled: ours.then_some(at).into_iter().collect(),
            partitioned: first.is_some() && (ours || label == Label::None),
            device,
        })
    }
}

impl Trace {
    fn is_ours(&self) -> bool {
        self.partitioned || !self.labelled.is_empty()
    }

    fn wipe(&self) -> Result<()> {
        if !self.labelled.is_empty() {
            load()?;
        }
        for device in &self.labelled {
            run_tool(tool("zpool", ["labelclear", "-f"]).arg(device))?;
        }
        if self.partitioned {
            run_tool(
                tool("wipefs", ["--all", "--quiet", "--types", "gpt,PMBR"]).arg(&self.device),
            )?;
        }
        Ok(())
    }
}

/// Loads ZFS's module, which zpool does not do everywhere, and waits for /dev/zfs.
fn load() -> Result<()> {
    load_modules(&["zfs"])?;
    wait_until(Duration::from_secs(10), || Path::new("/dev/zfs").exists())
        .context("/dev/zfs does not appear")
}

fn first_partition(device: &Path) -> Option<PathBuf> {
    let name = device.file_name()?;
    let parts = fs::read_dir(Path::new("/sys/class/block").join(name)).ok()?.flatten();
    let is_first = |part: &fs::DirEntry| {
        fs::read_to_string(part.path().join("partition")).is_ok_and(|number| number.trim() == "1")
    };
    let mut first = parts.filter(is_first);
    first.next().map(|part| Path::new("/dev").join(part.file_name()))
}

/// Returns the partition that zpool makes on a whole disk, if there is one.
fn partition_of_zpools(device: &Path) -> Result<Option<PathBuf>> {
    let Some(part) = first_partition(device) else { return Ok(None) };
    Ok(is_zpools(&said_by_blkid(&part)?).then_some(part))
}

fn said_by_blkid(part: &Path) -> Result<String> {
    let mut command = tool("blkid", ["-p", "-o", "export"]);
    let ended = output(command.arg(part))?;
    // blkid prints nothing about what it does not know, and ends with 2.
    match ended.status.code() {
        Some(2) => Ok(String::new()),
        _ => checked_output(&format!("{command:?}"), ended),
    }
}

fn is_zpools(blkid: &str) -> bool {
    let has =
        |wanted: &str| blkid.lines().any(|line| line.to_ascii_lowercase().starts_with(wanted));
    has("part_entry_name=zfs-") && has(&format!("part_entry_type={PARTITION_TYPE}"))
}

/// Label of a device as `zdb` finds it, which does not go through the kernel's ZFS: `Of` has the
/// name of the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Label {
    None,
    Of(String),
    /// Label that names no pool: that of a spare or a cache device.
    Nameless,
}

fn label_of(device: &Path) -> Result<Label> {
    let mut command = tool("zdb", ["-l"]);
    let ended = output(command.arg(device))?;
    parse_label(&ended).with_context(|| format!("{command:?}"))
}

/// Reads the label from zdb's output. zdb ends with 2 both if none of the four labels is valid and
/// if none could be read: only its words show which.
fn parse_label(ended: &Output) -> Result<Label> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, error) = (text(&ended.stdout), text(&ended.stderr));
    if let Some(pool) = pool_of_label(&out) {
        return Ok(Label::Of(pool));
    }
    let words = format!("{out}\n{error}");
    let mut lines = words.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    ensure!(lines.peek().is_some(), "it failed ({}) and says nothing", ended.status);
    match ended.status.code() {
        Some(0) => Ok(Label::Nameless),
        Some(2) if lines.all(|line| line.starts_with("failed to unpack label")) => Ok(Label::None),
        _ => bail!("it failed ({}): {}", ended.status, words.trim()),
    }
}

fn any_is_ours(traces: Vec<Result<Trace>>) -> Result<bool> {
    let mut failed = Vec::new();
    for trace in traces {
        match trace {
            // Undo will meet the others.
            Ok(trace) if trace.is_ours() => return Ok(true),
            Ok(_) => {}
            Err(error) => failed.push(Err(error)),
        }
    }
    all_of(failed).map(|()| false)
}

fn pool_of_label(text: &str) -> Option<String> {
    let name =
        text.lines().find_map(|line| line.trim().strip_prefix("name: '")?.strip_suffix('\''));
    name.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As blkid 2.38 told of a partition of a pool's member, after its label was cleared.
    const PARTITION: &str = "DEVNAME=/dev/nvme0n1p1\nPART_ENTRY_SCHEME=gpt\nPART_ENTRY_NAME=zfs-616c279aa4584a9b\n\
                             PART_ENTRY_UUID=2c576a51-66a5-9a42-837b-b4511118772e\n\
                             PART_ENTRY_TYPE=6a898cc3-1dd2-11b2-99a6-080020736631\nPART_ENTRY_NUMBER=1\n";

    #[test]
    fn the_partition_of_a_whole_disk_is_known_by_its_name_and_type() {
        assert!(is_zpools(PARTITION));
        assert!(!is_zpools(&PARTITION.replace("NAME=zfs-", "NAME=home")));
        assert!(!is_zpools(&PARTITION.replace("6a898cc3", "0fc63daf")));
        assert!(!is_zpools(""));
    }

    /// As zdb 2.1 told of a pool that was destroyed.
    #[test]
    fn a_label_names_its_pool() {
        let label = "------------------------------------\nLABEL 0 \n------------------------------------\n    version: 5000\n    \
                     name: 'iotax-r-zfs0'\n    state: 2\n    txg: 50\n    hostname: '(none)'\n";
        assert_eq!(pool_of_label(label).as_deref(), Some("iotax-r-zfs0"));
        assert_eq!(pool_of_label("failed to unpack label 0\n"), None);
    }

    /// As zdb 2.1.11 told of files: of zeros, of 4 KiB, and of none.
    #[test]
    fn what_zdb_could_not_read_is_no_member_without_a_label() {
        use std::os::unix::process::ExitStatusExt;
        let told = |code: i32, out: &str, error: &str| {
            let status = std::process::ExitStatus::from_raw(code << 8);
            parse_label(&Output { status, stdout: out.into(), stderr: error.into() })
        };
        let four = |what: &str| {
            (0..4).map(|at| format!("failed to {what} label {at}\n")).collect::<String>()
        };
        assert_eq!(told(2, "", &four("unpack")).unwrap(), Label::None);
        assert_eq!(told(2, &four("unpack"), "").unwrap(), Label::None);
        assert!(
            told(2, "", &four("read")).unwrap_err().to_string().contains("failed to read label 0")
        );
        assert!(told(2, "", &(four("unpack") + "failed to read label 3\n")).is_err());
        assert!(told(1, "", "cannot open '/dev/x': No such file or directory\n").is_err());
        assert!(told(2, "", "").is_err());
        assert_eq!(told(0, "    name: 'tank'\n", "").unwrap(), Label::Of("tank".into()));
        // A drive of another pool's cache is no member without a label either.
        assert_eq!(told(0, "    version: 5000\n    state: 4\n", "").unwrap(), Label::Nameless);
    }

    #[test]
    fn a_member_that_cannot_be_looked_at_does_not_hide_what_is_ours() {
        let trace =
            |partitioned| Ok(Trace { device: "/dev/a".into(), labelled: Vec::new(), partitioned });
        assert!(any_is_ours(vec![Err(anyhow!("unreadable")), trace(true)]).unwrap());
        assert!(any_is_ours(vec![trace(false), Err(anyhow!("unreadable"))]).is_err());
        assert!(!any_is_ours(vec![trace(false)]).unwrap());
    }

    #[test]
    fn a_pool_of_members_that_are_gone_is_gone() {
        if Path::new("/sys/module/zfs").exists() {
            return iotax_host::guard::rig::skip("a machine without ZFS");
        }
        let pool =
            Pool { run_id: "r", name: "iotax-r-zfs0", members: vec![Path::new("/dev/no-such")] };
        assert_eq!(pool.find_pool(Some("vol")).unwrap(), None);
        pool.destroy_pool().unwrap();
    }
}
