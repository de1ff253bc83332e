//! What operations may do to a machine, as a trait with two members: the real one here, and the
//! simulated twin that tests undo from every prefix of a plan.
//!
//! Every undo checks that the thing is still the one that was made, and refuses otherwise.

use super::lio::{self, Lun};
use super::loops::{
    FileId, LoopOf, LoopRequest, dev_of, is_loop_of, loop_backing, loop_is_direct, loops, same_path,
};
use super::op::{ExportSpdk, MakeFilesystem, MakeImage, Mount};
use super::process::{carries, process_id, process_of_tag, runs};
use super::queue::{self, Settings};
use super::settings::ThingSettings;
use super::state::ArrayState;
use super::thing::{Change, Thing};
use super::tool::{await_orphans, output, said, tool};
use super::vfio::{self, TakenDrive};
use super::zfs::ArcLimit;
use super::{ProcessId, RunTag, Yield, image, iscsi, spdk};
use crate::guard::fill::{self, Filled};
use crate::guard::inspect::identity_of;
use crate::guard::marker;
use crate::host::block::Identity;
use crate::host::pci;
use crate::host::probe::Probe;
use anyhow::{Context, Result, bail};
use iotax_load::DataKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A thing that was made is somebody else's now: it was left alone, and nobody is told to remove it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotOurs(pub String);

/// The context of a failure before anything was changed: nothing is taken back, as what would be found is somebody else's.
#[derive(Debug, thiserror::Error)]
#[error("nothing was changed")]
pub struct NothingMade;

/// What an operation may do. Errors say what could not be done and why.
pub trait System {
    /// Identity of the present boot.
    fn boot_id(&self) -> Result<String>;
    /// Who a device is, where it can be told.
    fn identity(&self, _path: &Path) -> Option<Identity> {
        None
    }
    /// Makes a file of ours, or reuses one that carries our marker.
    fn make_file(&mut self, path: &Path, bytes: u64, run_id: &str) -> Result<Yield>;
    /// A file that this run made, wherever its making was interrupted.
    fn find_file(&self, path: &Path, run_id: &str) -> Result<Option<Yield>>;
    /// Which file a path leads to.
    fn file_id(&self, _path: &Path) -> Option<FileId> {
        None
    }
    /// Removes a file that this run made and that is still the same.
    fn remove_file(&mut self, path: &Path, made: &Yield, run_id: &str) -> Result<()>;
    /// Fills it with data of that kind; with incompressible data unless its marker says that it is.
    fn fill_file(&mut self, path: &Path, seed: u64, data: DataKind) -> Result<()>;
    /// Says in its marker that it is not filled: what is in it is about to be trimmed.
    fn forget_fill(&mut self, path: &Path) -> Result<()>;
    /// Attaches a loop device.
    fn attach_loop(&mut self, request: &LoopRequest) -> Result<PathBuf>;
    /// Loop devices that are so.
    fn loops_on(&self, of: &LoopOf) -> Result<Vec<PathBuf>>;
    /// Detaches one that is still so.
    fn detach_loop(&mut self, device: &Path, of: &LoopOf) -> Result<()>;
    /// Makes a file system, without discarding what is below.
    fn make_filesystem(&mut self, make: &MakeFilesystem) -> Result<()>;
    /// Waits for a mkfs of ours that goes on by itself: by the time that it opens its device, that may be another's.
    fn await_filesystem(&self, _make: &MakeFilesystem) -> Result<()> {
        Ok(())
    }
    /// Makes an image within a stretch of a file or device, its path resolved.
    fn make_image(&mut self, image: &MakeImage) -> Result<()>;
    /// Makes a directory with mode 0700.
    fn make_directory(&mut self, path: &Path) -> Result<()>;
    /// Removes an empty directory.
    fn remove_directory(&mut self, path: &Path) -> Result<()>;
    /// Whether a path is there.
    fn exists(&self, path: &Path) -> bool;
    /// Mounts a file system, its paths resolved.
    fn mount(&mut self, mount: &Mount) -> Result<()>;
    /// Whether something is mounted there.
    fn mounted(&self, directory: &Path) -> Result<bool>;
    /// Unmounts it.
    fn unmount(&mut self, directory: &Path) -> Result<()>;
    /// Starts a process whose command line carries `tag`, output into `log`.
    fn spawn(&mut self, argv: &[String], tag: &str, log: &Path) -> Result<ProcessId>;
    /// Waits until the process has made its socket.
    fn await_socket(&mut self, socket: &Path, process: &ProcessId, log: &Path) -> Result<()>;
    /// A process whose command line carries `tag`.
    fn find_process(&self, tag: &str) -> Result<Option<ProcessId>>;
    /// Ends it, if it is still that process and its command line carries `tag`.
    fn end_process(&mut self, process: &ProcessId, tag: &str) -> Result<()>;
    /// Ends an iscsid of ours, unless others have sessions by it.
    fn end_iscsid(&mut self, process: &ProcessId, tag: &str) -> Result<()> {
        self.end_process(process, tag)
    }
    /// Writes a plain file of the run directory.
    fn write_file(&mut self, path: &Path, make: &mut dyn FnMut() -> Result<Vec<u8>>) -> Result<()>;
    /// Removes a plain file of the run directory; one that is gone is fine.
    fn remove_plain(&mut self, path: &Path) -> Result<()>;
    /// Gives a PCI function to vfio-pci and tells the file of its IOMMU group.
    fn take_drive(&mut self, drive: &TakenDrive) -> Result<PathBuf>;
    /// Whether vfio-pci has a function, or is meant to have it.
    fn is_taken(&self, address: &str) -> Result<bool>;
    /// Gives it back to its driver and waits for its disk.
    fn give_back(&mut self, drive: &TakenDrive) -> Result<()>;
    /// Settings of the queue of a disk that a person could have made.
    fn queue_settings(&self, disk: &Path) -> Settings;
    /// Writes them back to the disks at that address of a PCI function; what cannot be is a note.
    fn restore_queue(&mut self, address: &str, was: &Settings);
    /// What making and undoing found that is worth a word and is no failure, since this was last asked.
    fn notes(&mut self) -> Vec<String> {
        Vec::new()
    }
    /// Exports a LUN of the kernel's SCSI target to vhost, and tells the fabric's folder if it was not there before.
    fn export_lun(&mut self, lun: &Lun) -> Result<Option<PathBuf>>;
    /// Whether any part of such an export is there.
    fn is_exported(&self, name: &str, wwn: &str) -> Result<bool>;
    /// Takes an export away, whole or in parts, and a fabric's folder that was made for it and has no other in it.
    fn unexport_lun(&mut self, block: bool, name: &str, wwn: &str, fabric: Option<&Path>) -> Result<()>;
    /// Makes a disk in a running SPDK target and tells its socket.
    fn export_spdk(&mut self, disk: &ExportSpdk) -> Result<PathBuf>;
    /// Whether any part of such a disk is there, with its socket if it has come to one.
    fn find_spdk(&self, disk: &ExportSpdk) -> Result<Option<Option<PathBuf>>>;
    /// Takes it away, whole or in parts.
    fn unexport_spdk(&mut self, disk: &ExportSpdk) -> Result<()>;
    /// What ZFS's cache may hold.
    fn arc(&self) -> ArcLimit;
    /// Limits it to so many bytes.
    fn limit_arc(&mut self, bytes: u64) -> Result<()>;
    /// Puts the limit back, if it still is the one that was written.
    fn restore_arc(&mut self, written: u64, was: ArcLimit) -> Result<()>;
    /// Makes what a tool of the system makes.
    fn make_thing(&mut self, thing: &dyn Thing, tag: &RunTag) -> Result<Yield>;
    /// It, or what there is of it.
    fn find_thing(&self, thing: &dyn Thing, tag: &RunTag) -> Result<Option<Yield>>;
    /// Takes it away, whole or in parts.
    fn unmake_thing(&mut self, thing: &dyn Thing, tag: &RunTag, made: &Yield) -> Result<()>;
    /// In which state it is.
    fn state_of_thing(&self, thing: &dyn Thing, made: &Yield) -> Result<Option<ArrayState>>;
    /// How it really is.
    fn settings_of_thing(&self, thing: &dyn Thing, made: &Yield) -> Result<ThingSettings>;
    /// Changes one that stands.
    fn change_thing(&mut self, change: &dyn Change) -> Result<()>;
}

/// How far something long is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// Bytes of a file that are filled.
    Filled(u64),
    /// Share of a sync that is done, 0 to 1.
    Synced(f64),
}

/// Whoever is told how far something is, and may stop it.
pub type Watcher = dyn FnMut(Progress) -> ControlFlow<()> + Send;

/// This machine.
#[derive(Default)]
pub struct RealSystem {
    children: Vec<Child>,
    /// Files under test, locked against other runs until they are removed or the run ends.
    held: BTreeMap<PathBuf, fs::File>,
    /// Called while a file is filled or a sync waited for; `Break` stops with an error.
    watcher: Option<Box<Watcher>>,
    /// Not told yet.
    notes: Vec<String>,
}

impl System for RealSystem {
    fn boot_id(&self) -> Result<String> {
        boot_id()
    }

    fn identity(&self, path: &Path) -> Option<Identity> {
        identity_of(path).ok()
    }

    fn make_file(&mut self, path: &Path, bytes: u64, run_id: &str) -> Result<Yield> {
        let reused = reusable(path, bytes)?;
        let made = match &reused {
            Some(marker) => Yield { reused: true, ..yield_of(path, marker) },
            None => yield_of(path, &marker::create(path, bytes, run_id)?),
        };
        self.held.insert(path.to_owned(), claim(path)?);
        Ok(made)
    }

    fn find_file(&self, path: &Path, run_id: &str) -> Result<Option<Yield>> {
        // Whoever may not look into a folder has made nothing there.
        let looked = path.symlink_metadata();
        if looked.is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied) {
            return Ok(None);
        }
        let Some(marker) = marker::read(path)? else { return Ok(None) };
        Ok((marker.run_id == run_id).then(|| yield_of(path, &marker)))
    }

    fn file_id(&self, path: &Path) -> Option<FileId> {
        let meta = fs::metadata(path).ok()?;
        Some(FileId { device: meta.dev(), inode: meta.ino() })
    }

    fn remove_file(&mut self, path: &Path, made: &Yield, run_id: &str) -> Result<()> {
        let inode = made.inode.context("no inode was recorded")?;
        // Where the kernel shows no devices, none of them is known to be attached.
        if let Some(device) = loops()
            .into_iter()
            .flatten()
            .find(|device| loop_backing(device).is_some_and(|of| same_path(&of, path)))
        {
            // Its name gone, nobody would find again what the device keeps of the disk.
            let device = dev_of(&device);
            bail!("{} is attached to {}; hint: losetup --detach {0}", device.display(), path.display());
        }
        // Our own hold would look like another run's.
        self.held.remove(path);
        match marker::remove_if_ours(path, inode, run_id)? {
            marker::Removal::Refused(why) => {
                Err(NotOurs(format!("did not remove {}: {why}", path.display())).into())
            }
            _ => Ok(()),
        }
    }

    fn fill_file(&mut self, path: &Path, seed: u64, data: DataKind) -> Result<()> {
        let Some(marker) = marker::read(path)? else {
            bail!("{} is not a file of ours: it is not filled", path.display());
        };
        if marker.filled && data.is_unique() {
            return Ok(());
        }
        match fill::fill(path, seed, data, &mut |bytes| self.tell(Progress::Filled(bytes)))? {
            Filled::Whole => Ok(()),
            Filled::Stopped(bytes) => bail!("interrupted after {}", crate::units::show_bytes(bytes)),
        }
    }

    fn forget_fill(&mut self, path: &Path) -> Result<()> {
        marker::set_filled(path, false)
    }

    fn attach_loop(&mut self, request: &LoopRequest) -> Result<PathBuf> {
        let mut command = tool("losetup", [""; 0]);
        command.arg("--find").arg("--show").arg("--sizelimit").arg(request.bytes.to_string());
        command.arg(format!("--direct-io={}", if request.direct_io { "on" } else { "off" }));
        if request.read_only {
            command.arg("--read-only");
        }
        let device = PathBuf::from(run(command.arg(request.backing))?.trim());
        if request.direct_io && !loop_is_direct(&device) {
            let of = LoopOf { backing: request.backing, file: None, bytes: request.bytes };
            let detached = self.detach_loop(&device, &of);
            let left = detached.err().map(|e| format!("; and {e:#}")).unwrap_or_default();
            bail!(
                "{} does not do direct I/O on {}: its file system refuses O_DIRECT{left}; \
                 hint: put the file on ext4 or xfs, or say loop(direct-io=false)",
                device.display(),
                request.backing.display()
            );
        }
        Ok(device)
    }

    fn loops_on(&self, of: &LoopOf) -> Result<Vec<PathBuf>> {
        // One that was begun and goes on by itself is not seen yet.
        let backing = of.backing.display().to_string();
        await_orphans(&["losetup"], &[&backing])?;
        Ok(loops()?.filter(|device| is_loop_of(device, of)).map(|device| dev_of(&device)).collect())
    }

    fn detach_loop(&mut self, device: &Path, of: &LoopOf) -> Result<()> {
        let name = device.file_name().filter(|_| device.parent() == Some(Path::new("/dev")));
        let name = name.with_context(|| format!("{} is no loop device", device.display()))?;
        let sysfs = Path::new("/sys/block").join(name);
        match loop_backing(&sysfs) {
            None => Ok(()),
            Some(_) if is_loop_of(&sysfs, of) => {
                run(tool("losetup", ["--detach"]).arg(device))?;
                wait_until(Duration::from_secs(10), || loop_backing(&sysfs).is_none())
                    .with_context(|| format!("{} is still attached: something holds it", device.display()))
            }
            Some(path) => Err(NotOurs(format!(
                "{} is now on {}, not on {} as it was made: not detached",
                device.display(),
                path.display(),
                of.backing.display()
            ))
            .into()),
        }
    }

    fn make_filesystem(&mut self, make: &MakeFilesystem) -> Result<()> {
        run(&mut mkfs_command(make)?).map(drop)
    }

    fn await_filesystem(&self, make: &MakeFilesystem) -> Result<()> {
        let devices = make.devices().map(|device| Ok(device.path()?.display().to_string()));
        let devices = devices.collect::<Result<Vec<_>>>()?;
        let devices: Vec<&str> = devices.iter().map(String::as_str).collect();
        await_orphans(&[&format!("mkfs.{}", make.kind)], &devices)
    }

    fn make_image(&mut self, image: &MakeImage) -> Result<()> {
        image::make(image)
    }

    fn make_directory(&mut self, path: &Path) -> Result<()> {
        fs::DirBuilder::new()
            .mode(0o700)
            .create(path)
            .with_context(|| format!("cannot make directory {}", path.display()))
    }

    fn remove_directory(&mut self, path: &Path) -> Result<()> {
        gone_is_fine(fs::remove_dir(path))
            .with_context(|| format!("cannot remove directory {}", path.display()))
    }

    fn exists(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok()
    }

    fn mount(&mut self, mount: &Mount) -> Result<()> {
        use rustix::mount::MountFlags;
        let atime = if mount.relatime { MountFlags::RELATIME } else { MountFlags::NOATIME };
        let flags = atime | MountFlags::NOSUID | MountFlags::NODEV;
        let data = CString::new(mount.data()?).context("a device's name with a zero byte")?;
        let (device, kind) = (mount.device.path()?, mount.kind.as_str());
        rustix::mount::mount(device, &mount.directory, kind, flags, data.as_c_str()).with_context(|| {
            format!("cannot mount {} ({kind}) at {}", device.display(), mount.directory.display())
        })
    }

    fn mounted(&self, directory: &Path) -> Result<bool> {
        let Ok(inside) = fs::metadata(directory) else { return Ok(false) };
        let parent = directory.parent().context("a mount point without a parent")?;
        Ok(fs::metadata(parent)?.dev() != inside.dev())
    }

    fn unmount(&mut self, directory: &Path) -> Result<()> {
        let mut last = None;
        for _ in 0..50 {
            match rustix::mount::unmount(directory, rustix::mount::UnmountFlags::NOFOLLOW) {
                Ok(()) => return Ok(()),
                // Something of ours may still be closing a file there.
                Err(error @ rustix::io::Errno::BUSY) => last = Some(error),
                Err(error) => {
                    return Err(error).with_context(|| format!("cannot unmount {}", directory.display()));
                }
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Err(last.map_or(anyhow::anyhow!("busy"), anyhow::Error::from)).with_context(|| {
            format!("cannot unmount {}: a process has a file open there", directory.display())
        })
    }

    fn spawn(&mut self, argv: &[String], _tag: &str, log: &Path) -> Result<ProcessId> {
        let out = fs::File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        let child = Command::new(&argv[0])
            .args(&argv[1..])
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            // Its own group: Ctrl-C is for iotax, which takes the guest down in order.
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {}", argv[0]))?;
        let process = process_id(child.id()).context("the process ended at once")?;
        self.children.push(child);
        Ok(process)
    }

    fn await_socket(&mut self, socket: &Path, process: &ProcessId, log: &Path) -> Result<()> {
        // Its own words are the reason, if it has ended.
        drop(wait_until(Duration::from_secs(20), || socket.exists() || !self.alive(process)));
        if socket.exists() {
            return Ok(());
        }
        let words = fs::read_to_string(log).unwrap_or_default();
        let how = if self.alive(process) { "made no socket within 20 s" } else { "ended at once" };
        bail!("the process that should listen on {} {how}: {}", socket.display(), words.trim())
    }

    fn find_process(&self, tag: &str) -> Result<Option<ProcessId>> {
        process_of_tag(tag)
    }

    fn end_process(&mut self, process: &ProcessId, tag: &str) -> Result<()> {
        // One that was started a moment ago may not show its command line yet.
        let carries = || wait_until(Duration::from_secs(2), || carries(process, tag)).is_ok();
        if self.alive(process) && !carries() && self.alive(process) {
            let pid = process.pid;
            return Err(NotOurs(format!(
                "process {pid} is not the run's (no word of it is {tag}): not ended"
            ))
            .into());
        }
        for signal in [rustix::process::Signal::TERM, rustix::process::Signal::KILL] {
            if !self.alive(process) {
                return Ok(());
            }
            if let Some(pid) = rustix::process::Pid::from_raw(process.pid as i32) {
                // It may have ended in between: the check below tells.
                let _ = rustix::process::kill_process(pid, signal);
            }
            if wait_until(Duration::from_secs(5), || !self.alive(process)).is_ok() {
                return Ok(());
            }
        }
        bail!("process {} does not end, even by SIGKILL", process.pid)
    }

    fn end_iscsid(&mut self, process: &ProcessId, tag: &str) -> Result<()> {
        match iscsi::targets(&here()).as_slice() {
            [] => self.end_process(process, tag),
            targets => {
                let (pid, targets) = (process.pid, targets.join(", "));
                self.notes.push(format!(
                    "iscsid (process {pid}), which the run started, is left: there are sessions with {targets}"
                ));
                Ok(())
            }
        }
    }

    fn write_file(&mut self, path: &Path, make: &mut dyn FnMut() -> Result<Vec<u8>>) -> Result<()> {
        fs::write(path, make()?).with_context(|| format!("cannot write {}", path.display()))
    }

    fn remove_plain(&mut self, path: &Path) -> Result<()> {
        gone_is_fine(fs::remove_file(path)).with_context(|| format!("cannot remove {}", path.display()))
    }

    fn take_drive(&mut self, drive: &TakenDrive) -> Result<PathBuf> {
        vfio::take(&here(), drive)
    }

    fn is_taken(&self, address: &str) -> Result<bool> {
        Ok(vfio::is_taken(&here(), address))
    }

    fn give_back(&mut self, drive: &TakenDrive) -> Result<()> {
        self.notes.extend(vfio::give_back(&here(), drive)?);
        Ok(())
    }

    fn queue_settings(&self, disk: &Path) -> Settings {
        let real = disk.canonicalize().ok();
        let name = real.as_ref().and_then(|disk| disk.file_name()?.to_str());
        name.map(|name| queue::settings(&here(), name)).unwrap_or_default()
    }

    fn restore_queue(&mut self, address: &str, was: &Settings) {
        let disks = pci::disks_at(&here(), address);
        let pause = || std::thread::sleep(Duration::from_millis(100));
        self.notes.extend(disks.iter().flat_map(|disk| queue::restore_for_good(&here(), disk, was, pause)));
    }

    fn notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    fn export_lun(&mut self, lun: &Lun) -> Result<Option<PathBuf>> {
        lio::export(lun)
    }

    fn is_exported(&self, name: &str, wwn: &str) -> Result<bool> {
        Ok(lio::is_exported(name, wwn))
    }

    fn unexport_lun(&mut self, block: bool, name: &str, wwn: &str, fabric: Option<&Path>) -> Result<()> {
        lio::unexport(block, name, wwn, fabric)
    }

    fn export_spdk(&mut self, disk: &ExportSpdk) -> Result<PathBuf> {
        spdk::export(disk)
    }

    fn find_spdk(&self, disk: &ExportSpdk) -> Result<Option<Option<PathBuf>>> {
        spdk::find(disk)
    }

    fn unexport_spdk(&mut self, disk: &ExportSpdk) -> Result<()> {
        spdk::unexport(disk)
    }

    fn arc(&self) -> ArcLimit {
        ArcLimit::here()
    }

    fn limit_arc(&mut self, bytes: u64) -> Result<()> {
        ArcLimit::set(bytes)
    }

    fn restore_arc(&mut self, written: u64, was: ArcLimit) -> Result<()> {
        self.notes.extend(was.restore(written)?);
        Ok(())
    }

    fn make_thing(&mut self, thing: &dyn Thing, tag: &RunTag) -> Result<Yield> {
        let made = thing.make(tag)?;
        self.notes.extend(thing.notes(&made));
        Ok(made)
    }

    fn find_thing(&self, thing: &dyn Thing, tag: &RunTag) -> Result<Option<Yield>> {
        thing.find(tag)
    }

    fn unmake_thing(&mut self, thing: &dyn Thing, tag: &RunTag, made: &Yield) -> Result<()> {
        thing.unmake(tag, made)
    }

    fn state_of_thing(&self, thing: &dyn Thing, made: &Yield) -> Result<Option<ArrayState>> {
        thing.state(made)
    }

    fn settings_of_thing(&self, thing: &dyn Thing, made: &Yield) -> Result<ThingSettings> {
        thing.settings(made)
    }

    fn change_thing(&mut self, change: &dyn Change) -> Result<()> {
        change.make(&mut |share| self.tell(Progress::Synced(share)))
    }
}

impl RealSystem {
    /// A machine whose fills and syncs tell how far they are and can be stopped.
    pub fn watched(watcher: impl FnMut(Progress) -> ControlFlow<()> + Send + 'static) -> RealSystem {
        RealSystem { watcher: Some(Box::new(watcher)), ..RealSystem::default() }
    }

    fn tell(&mut self, progress: Progress) -> ControlFlow<()> {
        self.watcher.as_mut().map_or(ControlFlow::Continue(()), |watcher| watcher(progress))
    }

    /// Whether that very process runs; an ended child of ours is reaped on the way.
    fn alive(&mut self, process: &ProcessId) -> bool {
        self.children.retain_mut(|child| !matches!(child.try_wait(), Ok(Some(_))));
        runs(process)
    }
}

fn here() -> Probe {
    Probe::of_files(Path::new("/"))
}

/// The kernel's random id of this boot.
///
/// # Errors
/// When /proc is not there.
pub fn boot_id() -> Result<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").context("cannot read the boot id")?;
    Ok(text.trim().to_owned())
}

fn reusable(path: &Path, bytes: u64) -> Result<Option<marker::Marker>> {
    if fs::symlink_metadata(path).is_err() {
        return Ok(None);
    }
    match marker::read(path)? {
        Some(marker) if marker.bytes == bytes => Ok(Some(marker)),
        Some(marker) => bail!(
            "{} is ours but holds {}, not {}; hint: remove it, or name its size",
            path.display(),
            crate::units::show_bytes(marker.bytes),
            crate::units::show_bytes(bytes)
        ),
        None => bail!(
            "{} exists and is not a file of ours; hint: name a file that does not exist",
            path.display()
        ),
    }
}

fn yield_of(path: &Path, marker: &marker::Marker) -> Yield {
    Yield {
        path: Some(path.to_owned()),
        inode: Some(marker.inode),
        bytes: Some(marker.bytes),
        ..Yield::default()
    }
}

/// Two runs must not measure, format or remove one file under each other.
fn claim(path: &Path) -> Result<fs::File> {
    let file = fs::File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    match marker::lock(&file).with_context(|| format!("cannot lock {}", path.display()))? {
        true => Ok(file),
        false => bail!(
            "{} is in use by another run of iotax; hint: wait for it, or name another file",
            path.display()
        ),
    }
}

/// mkfs would discard the whole device first: the loop driver turns that into holes in the
/// backing file, and later reads would measure nothing.
fn mkfs_command(make: &MakeFilesystem) -> Result<Command> {
    let label = make.label.as_str();
    let mut command = tool(&format!("mkfs.{}", make.kind), [""; 0]);
    match make.kind.as_str() {
        "xfs" => command.args(["-q", "-K", "-f", "-L", label]),
        // Lazy initialisation would write in the background while slices are measured.
        "ext4" => {
            command.args(["-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", "-L", label])
        }
        "btrfs" => command.args(["--quiet", "--nodiscard", "--force", "--label", label]),
        other => bail!("unknown file system \"{other}\""),
    };
    command.args(&make.options);
    for device in make.devices() {
        command.arg(device.path()?);
    }
    Ok(command)
}

/// Runs a command to its end and gives its standard output.
///
/// # Errors
/// When it cannot be run, does not end, or fails: its words.
pub(super) fn run(command: &mut Command) -> Result<String> {
    said(&format!("{command:?}"), output(command)?)
}

/// Writes a word to a file of the kernel's.
///
/// # Errors
/// When it does not take it.
pub(super) fn tell_kernel(file: &Path, text: &str) -> Result<()> {
    fs::write(file, text).with_context(|| format!("cannot write \"{}\" to {}", text.trim(), file.display()))
}

fn gone_is_fine(result: std::io::Result<()>) -> std::io::Result<()> {
    match result {
        Err(error) if marker::means_absent(&error) => Ok(()),
        other => other,
    }
}

/// Waits until something is so.
///
/// # Errors
/// When it is not within that time.
pub(crate) fn wait_until(limit: Duration, mut done: impl FnMut() -> bool) -> Result<()> {
    let start = Instant::now();
    while !done() {
        if start.elapsed() > limit {
            bail!("waited {} s", limit.as_secs());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_held_by_this_run_is_removed_and_one_held_by_another_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.img");
        let (mut ours, mut cleaner) = (RealSystem::default(), RealSystem::default());
        let made = ours.make_file(&path, 1 << 20, "r").unwrap();
        let refused = cleaner.remove_file(&path, &made, "r").unwrap_err();
        assert!(refused.downcast_ref::<NotOurs>().is_some(), "{refused}");
        assert!(refused.to_string().contains("in use by another run"), "{refused}");
        assert!(path.exists());
        ours.remove_file(&path, &made, "r").unwrap();
        assert!(!path.exists());
    }
}
