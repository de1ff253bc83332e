//! The kernel's RAID (md), by mdadm and sysfs: making an array, removing it with its superblocks,
//! failing a member, rebuilding it, and waiting for a sync. Ours are recognised by their name,
//! which is in the superblock of every member. A member that is in an array, or carries a
//! superblock of one, is refused, since it is somebody else's.

use crate::step_output::StepOutput;

use super::tool::{all_of, load_modules, output, settle, tool};
use crate::drives::Drives;
use crate::path_ref::PathRef;
use crate::plain_file::write_sysfs;
use crate::refusal::{NotOurs, NothingMade};
use crate::system::ProgressFn;
use crate::tool::run_tool;
use crate::wait::wait_until;
use anyhow::{Context, Result, anyhow, bail, ensure};
use iotax_facts::array::ArrayState;
use iotax_host::block::{self, BlockNode, node_path, sys_block};
use iotax_host::probe::Probe;
use iotax_units::{KIB, show_bytes, size_word};
use serde::{Deserialize, Serialize};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateArray {
    /// Block devices, in the order of their roles.
    pub members: Vec<PathRef>,
    /// Name of the array, at most 28 bytes. It carries the run's id.
    pub name: String,
    pub level: u8,
    /// Bytes of a chunk; `None` for RAID 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk: Option<u64>,
    /// Layout of parity or copies; `None` for mdadm's choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// Format of the superblock, such as `1.2`.
    pub metadata: String,
    /// True if the array has a write-intent bitmap on its members.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bitmap: bool,
    /// Bytes of each member that hold data; `None` for all, as RAID 0 uses them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_offset: Option<u64>,
    /// True if the members may differ in size.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uneven: bool,
    /// True if the first sync is skipped: parity and copies are not computed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub assume_clean: bool,
    /// Bounds on the speed of syncs and rebuilds while the array exists.
    #[serde(default, skip_serializing_if = "SyncBounds::are_none")]
    pub sync_speed: SyncBounds,
    /// Settings of an array with parity.
    #[serde(default, skip_serializing_if = "StripeSettings::are_none")]
    pub stripes: StripeSettings,
    /// Least size of the array, in bytes, that the plan needs.
    pub bytes: u64,
    #[serde(default, skip_serializing_if = "Drives::is_empty")]
    pub drives: Drives,
}

impl CreateArray {
    /// Returns the bytes that the first sync writes: parity, or every copy but the first. 0 if
    /// there is none, or the size of the members is not set.
    pub fn first_sync_bytes(&self) -> u64 {
        let (members, each) = (self.members.len() as u64, self.size.unwrap_or(0));
        let copies =
            || self.layout.as_ref().and_then(|layout| layout[1..].parse().ok()).unwrap_or(2u64);
        match self.level {
            _ if self.assume_clean => 0,
            1 => each * members.saturating_sub(1),
            5 => each,
            6 => 2 * each,
            10 => each * members / copies().max(1) * (copies() - 1),
            _ => 0,
        }
    }
}

/// Least and most speed of a sync, in bytes per second; `None` for the system's bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncBounds {
    /// Speed that is reached even when others want the drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<u64>,
    /// Speed that is not exceeded even when nobody else wants the drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u64>,
}

impl SyncBounds {
    fn are_none(&self) -> bool {
        *self == SyncBounds::default()
    }
}

/// How an array with parity handles its stripes; `None` for the kernel's own value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StripeSettings {
    /// Number of threads of each NUMA node that handle stripes; 0: the array's own thread does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group_thread_cnt: Option<u64>,
    /// Number of pages of each member in the cache of stripes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stripe_cache_size: Option<u64>,
}

impl StripeSettings {
    fn are_none(&self) -> bool {
        *self == StripeSettings::default()
    }
}

/// Longest wait for a process that only inspects a device, mostly udev's, to close it.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time after which a sync that is due but does not run counts as failed.
const IDLE_LIMIT: Duration = Duration::from_secs(60);
/// Speed limit in KiB per second for a sync that nothing is to slow down: more than any drive does,
/// and still a value that the kernel accepts.
const UNBOUND: &str = "100000000";

pub fn create_words(array: &CreateArray) -> Vec<String> {
    let kib = |bytes: u64| (bytes / KIB).to_string();
    let mut words = vec![
        "--create".to_owned(),
        format!("/dev/md/{}", array.name),
        // It would ask about members of unequal size, and about booting from metadata that begins a
        // drive.
        "--run".to_owned(),
        format!("--name={}", array.name),
        "--homehost=any".to_owned(),
        format!("--metadata={}", array.metadata),
        format!("--level={}", array.level),
        format!("--raid-devices={}", array.members.len()),
    ];
    words.extend(array.chunk.map(|bytes| format!("--chunk={}", kib(bytes))));
    words.extend(array.layout.as_ref().map(|layout| format!("--layout={layout}")));
    words.extend(array.size.map(|bytes| format!("--size={}", size_word(bytes, kib(bytes)))));
    words.extend(array.data_offset.map(|bytes| format!("--data-offset={}", kib(bytes))));
    if array.level > 0 {
        words.push(format!("--bitmap={}", if array.bitmap { "internal" } else { "none" }));
    }
    if array.assume_clean {
        words.push("--assume-clean".to_owned());
    }
    words
}

/// Makes the array and returns its device.
///
/// # Errors
/// [`NothingMade`] if a member cannot be used, the name is taken or the RAID module does not load.
/// Fails too if mdadm does, or the array is smaller than the plan needs.
pub fn create(array: &CreateArray) -> Result<StepOutput> {
    let members = check_array_members(array).context(NothingMade)?;
    run_tool(tool("mdadm", create_words(array)).args(members.iter().map(node_path)))?;
    settle();
    let device =
        arrays_of(array)?.pop().context("mdadm has made it, and no array of that name is there")?;
    set_up_sysfs(array, &device)?;
    let there = block::disk_by_name(&host_probe(), &device).context("the array has no size")?.bytes;
    ensure!(
        there >= array.bytes,
        "the array has {}, and the plan counts on {}",
        show_bytes(there),
        show_bytes(array.bytes)
    );
    Ok(yield_of(&device))
}

/// Finds the array, even if udev has assembled it from only some members. Returns an empty output
/// if only superblocks of it are left on members, and `None` if there is nothing of it.
///
/// # Errors
/// If mdadm cannot be run, or no array is found and a member cannot be examined.
pub fn find_array(array: &CreateArray) -> Result<Option<StepOutput>> {
    if let Some(device) = arrays_of(array)?.pop() {
        return Ok(Some(yield_of(&device)));
    }
    let members = members_there(array);
    let has = members.iter().map(|member| has_superblock(array, member));
    Ok(any_of(has.collect())?.then(StepOutput::default))
}

/// Returns true if any result is true, whatever the others are. Fails if none is and some are
/// errors.
fn any_of(known: Vec<Result<bool>>) -> Result<bool> {
    let any = known.iter().any(|known| matches!(known, Ok(true)));
    if any {
        Ok(true)
    } else {
        all_of(known.into_iter().map(|known| known.map(drop)).collect()).map(|()| false)
    }
}

fn has_superblock(array: &CreateArray, member: &BlockNode) -> Result<bool> {
    Ok(superblock(&node_path(member))?.is_some_and(|of| of.has_name(&array.name)))
}

/// Stops the array and zeroes its superblock on each member, even on one that failed. Tries again
/// for 20 s, as others may look at it or udev may assemble it again.
///
/// # Errors
/// [`NotOurs`] if a member is in use by something else by now. Fails too if the array is still in
/// use, or mdadm fails, after that time.
pub fn remove_array(array: &CreateArray) -> Result<()> {
    let start = Instant::now();
    loop {
        match unmake_once(array) {
            Ok(()) if find_array(array)?.is_none() => return not_anothers(array),
            Err(error) if start.elapsed() > PATIENCE => return Err(error),
            Ok(()) if start.elapsed() > PATIENCE => {
                bail!("array {} comes back whenever it is stopped", array.name)
            }
            // Somebody looks at it, or udev has just made an array again of superblocks that were
            // still there.
            _ => std::thread::sleep(Duration::from_millis(200)),
        }
    }
}

fn unmake_once(array: &CreateArray) -> Result<()> {
    settle();
    for device in arrays_of(array)? {
        run_tool(&mut tool("mdadm", ["--stop", &format!("/dev/{device}")]))?;
    }
    // One that cannot be read keeps nobody from cleaning the others.
    let cleaned =
        members_there(array).into_iter().map(|member| match has_superblock(array, &member)? {
            true => {
                run_tool(tool("mdadm", ["--zero-superblock"]).arg(node_path(&member))).map(drop)
            }
            false => Ok(()),
        });
    let cleaned = all_of(cleaned.collect());
    settle();
    cleaned
}

fn not_anothers(array: &CreateArray) -> Result<()> {
    for member in members_there(array) {
        if let Some(other) = holders(&host_probe(), &member.name).into_iter().next() {
            return Err(NotOurs(format!(
                "/dev/{} is held by {other} now: left alone",
                member.name
            ))
            .into());
        }
    }
    Ok(())
}

/// Marks a member as failed and removes it from the array.
///
/// # Errors
/// If it is not in the array, mdadm fails, or the array does not release it within 20 s.
pub fn fail(array: &Path, member: &Path) -> Result<()> {
    let (array, member) = (node(array)?, node(member)?);
    let role = sys_block(&array.name).join("md").join(format!("dev-{}", member.name));
    let (array, member) = (node_path(&array), node_path(&member));
    ensure!(
        host_probe().path_below(&role).exists(),
        "{} is no member of {}",
        member.display(),
        array.display()
    );
    let manage = |what: &str| run_tool(tool("mdadm", [&array]).arg(what).arg(&member)).map(drop);
    manage("--fail")?;
    // What was under way on it ends first.
    let mut last = Ok(());
    let gone = wait_until(PATIENCE, || {
        last = manage("--remove");
        !host_probe().path_below(&role).exists()
    });
    settle();
    gone.or(last)
        .with_context(|| format!("{} does not leave {}", member.display(), array.display()))
}

/// Adds a former member to the array as a new drive: its superblock is zeroed first, so that all of
/// it is rebuilt.
///
/// # Errors
/// If it carries the superblock of another array, or mdadm fails, as when the drive is in use.
pub fn rebuild(array: &Path, member: &Path) -> Result<()> {
    let array = node(array)?;
    let member = node(member)?;
    let (array_path, path) = (node_path(&array), node_path(&member));
    let name = of_export(&run_tool(tool("mdadm", ["--detail", "--export"]).arg(&array_path))?)
        .with_context(|| format!("{} has no name", array_path.display()))?
        .name;
    if let Some(of) = superblock(&path)? {
        ensure!(of.has_name(&name), "{} carries a superblock of array {}", path.display(), of.name);
        run_tool(tool("mdadm", ["--zero-superblock"]).arg(&path))?;
        settle();
    }
    run_tool(tool("mdadm", ["--manage"]).arg(&array_path).arg("--add").arg(&path)).map(drop)
}

/// Waits until every member is in sync, and meanwhile lifts the bounds on the sync's speed. Passes
/// `progress` the share that is done; it may end the wait.
///
/// # Errors
/// If the array is gone or down, its sync does nothing for 60 s, a bound cannot be written, or
/// `progress` says stop.
pub fn await_sync(array: &Path, progress: ProgressFn<'_>) -> Result<()> {
    let array = node(array)?;
    let folder = sys_block(&array.name).join("md");
    let was: Vec<(PathBuf, String)> = ["sync_speed_max", "sync_speed_min"]
        .map(|file| folder.join(file))
        .into_iter()
        .filter_map(|file| {
            Some((file.clone(), set_value(&host_probe().read_trimmed(&file)?).to_owned()))
        })
        .collect();
    let lifted = was.iter().try_for_each(|(file, _)| write_sysfs(file, UNBOUND));
    let waited = lifted.and_then(|()| wait_for_sync(&array.name, progress));
    // All bounds go back, whatever failed before.
    let restored: Vec<_> = was.iter().rev().map(|(file, value)| write_sysfs(file, value)).collect();
    waited.and(restored.into_iter().collect())
}

/// Returns the value that restores a bound, from the way sysfs shows it: `system` for `1000
/// (system)`, which follows the system's bound again, else the number.
fn set_value(shown: &str) -> &str {
    match shown.split_once(' ') {
        Some((_, "(system)")) => "system",
        Some((value, _)) => value,
        None => shown,
    }
}

fn wait_for_sync(name: &str, progress: ProgressFn<'_>) -> Result<()> {
    let mut idle_since = Instant::now();
    let mut last = None;
    loop {
        let now = position(&host_probe(), name);
        if now.moves_on_from(last.as_ref()) {
            idle_since = Instant::now();
        }
        last = Some(now);
        let done =
            match observe(&host_probe(), name).with_context(|| format!("/dev/{name} is gone"))? {
                ArrayState::Healthy => return Ok(()),
                ArrayState::Rebuilding { done, .. } | ArrayState::Syncing { done } => done,
                ArrayState::Down { word } => bail!("/dev/{name} is {word}"),
                ArrayState::Degraded { .. } | ArrayState::Out { .. } => 0.0,
            };
        ensure!(
            idle_since.elapsed() < IDLE_LIMIT,
            "/dev/{name} does not sync: nothing of it was done within {} s; hint: the kernel's log (dmesg) says why",
            IDLE_LIMIT.as_secs()
        );
        ensure!(progress(done).is_continue(), "interrupted while /dev/{name} syncs");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Position of a sync, to see whether it goes on.
#[derive(Debug, PartialEq, Eq)]
enum Position {
    /// The sync waits until that of an array on the same drives is done.
    Waits,
    /// Blocks done and in all, such as `(82000/131072)`; `None` if no sync runs.
    At(Option<String>),
}

impl Position {
    fn moves_on_from(&self, last: Option<&Position>) -> bool {
        *self == Position::Waits || (last != Some(self) && *self != Position::At(None))
    }
}

/// Reads the position from /proc/mdstat, as the value of `sync_completed` may be five minutes old.
fn position(probe: &Probe, name: &str) -> Position {
    if probe.read_trimmed(sys_block(name).join("md/sync_completed")).as_deref() == Some("delayed") {
        return Position::Waits;
    }
    let text = std::fs::read_to_string(probe.path_below("/proc/mdstat")).unwrap_or_default();
    let lines = text.lines().skip_while(|line| !line.starts_with(&format!("{name} : "))).skip(1);
    let blocks = |line: &str| {
        let (_, rest) = line.split_once(" = ")?;
        rest.split_whitespace().find(|word| word.starts_with('(')).map(str::to_owned)
    };
    Position::At(lines.take_while(|line| line.starts_with(' ')).find_map(blocks))
}

pub fn state_of(device: &Path) -> Option<ArrayState> {
    observe(&host_probe(), device.file_name()?.to_str()?)
}

/// Reads the state of an array from sysfs, by its kernel name (`md127`); `None` if there is no such
/// array.
pub fn observe(probe: &Probe, name: &str) -> Option<ArrayState> {
    let folder = sys_block(name).join("md");
    let word = |file: &str| probe.read_trimmed(folder.join(file));
    let state = word("array_state")?;
    if ["clear", "inactive", "broken"].contains(&state.as_str()) {
        return Some(ArrayState::Down { word: state });
    }
    // RAID 0 has neither of these.
    let missing = probe.read_number(folder.join("degraded")).unwrap_or(0) as u32;
    let action = word("sync_action").unwrap_or_default();
    let done = word("sync_completed").and_then(|text| share(&text)).unwrap_or(0.0);
    let waits =
        || probe.folder_names(&folder).iter().any(|file| is_spare(probe, &folder.join(file)));
    Some(match (missing, action.as_str()) {
        (0, "" | "idle" | "frozen") => match word("resync_start").is_none_or(|from| from == "none")
        {
            true => ArrayState::Healthy,
            false => ArrayState::Syncing { done },
        },
        (0, _) => ArrayState::Syncing { done },
        (_, "recover") => ArrayState::Rebuilding { missing, done },
        (_, "idle") if waits() => ArrayState::Rebuilding { missing, done: 0.0 },
        _ => ArrayState::Degraded { missing },
    })
}

/// Returns true if a member is present but not in sync yet.
fn is_spare(probe: &Probe, member: &Path) -> bool {
    let is_member =
        member.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"dev-"));
    is_member
        && probe
            .read_trimmed(member.join("state"))
            .is_some_and(|words| words.split(',').any(|word| word == "spare"))
}

/// Parses `82000 / 131072` into the share that is done, 0 to 1; `None` for `none` and `delayed`.
fn share(text: &str) -> Option<f64> {
    let (done, of) = text.split_once('/')?;
    let (done, of): (f64, f64) = (done.trim().parse().ok()?, of.trim().parse().ok()?);
    (of > 0.0).then(|| (done / of).clamp(0.0, 1.0))
}

struct ArrayReport {
    name: String,
    uuid: String,
}

impl ArrayReport {
    /// Returns true if the array has this name, apart from the home host that mdadm may write
    /// before a name (`HOST:NAME`).
    fn has_name(&self, name: &str) -> bool {
        bare(&self.name) == bare(name)
    }
}

fn bare(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, name)| name)
}

fn of_export(text: &str) -> Option<ArrayReport> {
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    let uuid = value("MD_UUID").or(value("MD_METADATA"))?.to_owned();
    Some(ArrayReport { name: value("MD_NAME").unwrap_or_default().to_owned(), uuid })
}

fn superblock(member: &Path) -> Result<Option<ArrayReport>> {
    let mut command = tool("mdadm", ["--examine", "--export"]);
    let output = output(command.arg(member))?;
    // It ends with 1 both without a superblock and where it cannot open the device.
    let words = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(of_export(&String::from_utf8_lossy(&output.stdout))),
        false if words.contains("No md superblock") => Ok(None),
        false => bail!("{command:?} failed ({}): {}", output.status, words.trim()),
    }
}

/// Returns the kernel's names (`md127`) of the arrays that have the name of `array` and hold one of
/// its members or are at /dev/md/NAME.
fn arrays_of(array: &CreateArray) -> Result<Vec<String>> {
    let probe = host_probe();
    let by_name = Path::new("/dev/md").join(&array.name).canonicalize().ok();
    let by_name = by_name.and_then(|path| Some(path.file_name()?.to_str()?.to_owned()));
    let holding = members_there(array).into_iter().flat_map(|member| holders(&probe, &member.name));
    let mut candidates: Vec<String> = holding.chain(by_name).collect();
    candidates.sort();
    candidates.dedup();
    let is_md = |name: &String| probe.path_below(sys_block(name).join("md")).exists();
    let mut found = Vec::new();
    for name in candidates.into_iter().filter(is_md) {
        if read_array_report(&name)?.is_some_and(|said| said.has_name(&array.name)) {
            found.push(name);
        }
    }
    Ok(found)
}

/// Asks mdadm for the name and UUID of an array (`md127`); `None` if it has no superblock or is
/// gone.
fn read_array_report(array: &str) -> Result<Option<ArrayReport>> {
    let mut command = tool("mdadm", ["--detail", "--export"]);
    let output = output(command.arg(format!("/dev/{array}")))?;
    Ok(of_export(&String::from_utf8_lossy(&output.stdout)))
}

/// Returns the members. Loads the RAID module, and checks that the members are different devices,
/// free and (unless `uneven`) of one size, and that the array's name is not taken.
fn check_array_members(array: &CreateArray) -> Result<Vec<BlockNode>> {
    let probe = host_probe();
    let module = match array.level {
        0 => "raid0",
        1 => "raid1",
        10 => "raid10",
        _ => "raid456",
    };
    if !probe.path_below(Path::new("/sys/module").join(module)).exists() {
        load_modules(&[module])?;
    }
    let paths =
        array.members.iter().map(|member| member.resolved_path()).collect::<Result<Vec<_>>>()?;
    let members = paths.iter().map(|path| node(path)).collect::<Result<Vec<_>>>()?;
    for (at, member) in members.iter().enumerate() {
        if let Some(twin) = members[..at].iter().position(|other| other.devnum == member.devnum) {
            bail!("{} and {} are one device", paths[twin].display(), paths[at].display());
        }
        is_free(&probe, member)?;
    }
    if !array.uneven {
        are_even(&members)?;
    }
    let link = Path::new("/dev/md").join(&array.name);
    ensure!(!link.exists(), "there is an array {} already", link.display());
    Ok(members)
}

fn is_free(probe: &Probe, member: &BlockNode) -> Result<()> {
    let path = node_path(member);
    if let Some(holder) = holders(probe, &member.name).first() {
        bail!(
            "{} is in use by /dev/{holder} already; hint: name another drive, or take it out of that (mdadm --stop, dmsetup remove)",
            path.display()
        );
    }
    if let Some(of) = superblock(&path)? {
        bail!(
            "{} carries a superblock of array {} ({}), which may be stale; hint: if nobody needs that array, mdadm --zero-superblock {}",
            path.display(),
            if of.name.is_empty() { "without a name" } else { &of.name },
            of.uuid,
            path.display()
        );
    }
    Ok(())
}

fn are_even(members: &[BlockNode]) -> Result<()> {
    let least = members.iter().min_by_key(|member| member.bytes);
    let most = members.iter().max_by_key(|member| member.bytes);
    let (Some(least), Some(most)) = (least, most) else { bail!("an array without members") };
    ensure!(
        least.bytes == most.bytes,
        "members are of unequal size: /dev/{} has {}, /dev/{} has {}; hint: {}",
        least.name,
        show_bytes(least.bytes),
        most.name,
        show_bytes(most.bytes),
        UNEVEN_HINT
    );
    Ok(())
}

pub const UNEVEN_HINT: &str =
    "name drives of one size, or say how much of each is used: mdraid(...,size=SIZE)";

/// Returns the files of an array in sysfs that are written once it is made, with their values.
pub fn sysfs_settings(array: &CreateArray) -> Vec<(&'static str, u64)> {
    let (speed, stripes) = (array.sync_speed, array.stripes);
    let all = [
        ("sync_speed_max", speed.most.map(|bytes| bytes / KIB)),
        ("sync_speed_min", speed.least.map(|bytes| bytes / KIB)),
        ("group_thread_cnt", stripes.group_thread_cnt),
        ("stripe_cache_size", stripes.stripe_cache_size),
    ];
    all.into_iter().filter_map(|(file, value)| Some((file, value?))).collect()
}

fn set_up_sysfs(array: &CreateArray, device: &str) -> Result<()> {
    let folder = sys_block(device).join("md");
    for (file, value) in sysfs_settings(array) {
        let (path, value) = (folder.join(file), value.to_string());
        write_sysfs(&path, &value)?;
        let shown = host_probe().read_trimmed(&path).unwrap_or_default();
        let is = set_value(&shown);
        ensure!(is == value, "{} is {is} after {value} was written to it", path.display());
    }
    Ok(())
}

fn members_there(array: &CreateArray) -> Vec<BlockNode> {
    array.members.iter().filter_map(|member| node(member.resolved_path().ok()?).ok()).collect()
}

fn node(path: &Path) -> Result<BlockNode> {
    let meta =
        std::fs::metadata(path).with_context(|| format!("cannot look at {}", path.display()))?;
    block::node_by_number(&host_probe(), meta.rdev())
        .ok_or_else(|| anyhow!("{} is no block device", path.display()))
}

fn holders(probe: &Probe, name: &str) -> Vec<String> {
    probe.folder_names(Path::new("/sys/class/block").join(name).join("holders"))
}

fn yield_of(device: &str) -> StepOutput {
    StepOutput::found_at(Path::new("/dev").join(device))
}

fn host_probe() -> Probe {
    Probe::of_files(Path::new("/"))
}

#[cfg(test)]
#[path = "md_tests.rs"]
mod tests;
