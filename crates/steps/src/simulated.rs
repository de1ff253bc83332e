//! The simulated twin of a machine: enough of files, loops, mounts and processes to test that a
//! plan is undone from any prefix, without root. It refuses what the real one refuses: removing a
//! device in use, unmounting what is not mounted, making what exists.

use super::lio::{self, Lun};
use super::loops::{LoopOf, LoopRequest};
use super::op::{ExportSpdk, MakeFilesystem, MakeImage, Mount};
use super::queue::Settings;
use super::settings::ThingSettings;
use super::state::ArrayState;
use super::system::{NothingMade, System};
use super::thing::{Change, Thing};
use super::vfio::TakenDrive;
use super::zfs::ArcLimit;
use super::{ProcessId, RunTag, Yield};
use crate::host::block::Identity;
use anyhow::{Context, Result, anyhow, bail, ensure};
use iotax_load::DataKind;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A machine in memory. Two that are equal hold the same things.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SimulatedSystem {
    /// Files with the run that made them (`None`: another's).
    pub files: BTreeMap<PathBuf, Option<String>>,
    /// Loop devices and their backing files.
    pub loops: BTreeMap<PathBuf, PathBuf>,
    /// Directories.
    pub directories: BTreeSet<PathBuf>,
    /// Mount points and their devices.
    pub mounts: BTreeMap<PathBuf, PathBuf>,
    /// Processes and their tags.
    pub processes: BTreeMap<u32, String>,
    /// PCI functions that vfio-pci has.
    pub taken: BTreeSet<String>,
    /// Settings of the queues of drives, which are the driver's own after a while with vfio-pci.
    pub queue: Settings,
    /// LUNs of the kernel's target: name and what is below.
    pub luns: BTreeMap<String, PathBuf>,
    /// Disks of an SPDK target: name and what is below.
    pub bdevs: BTreeMap<String, PathBuf>,
    /// What ZFS's cache may hold.
    pub arc: ArcLimit,
    /// What tools made: its key, what it stands on, and whether a reboot leaves it.
    pub things: BTreeMap<String, (Vec<PathBuf>, bool)>,
    /// This boot.
    pub boot: u32,
    /// The operation with this number (from 0) does its work and then reports a failure.
    pub fail_at: Option<u32>,
    /// Changes so far.
    pub changes: u32,
}

impl SimulatedSystem {
    fn changed(&mut self) -> Result<()> {
        let now = self.changes;
        self.changes += 1;
        ensure!(self.fail_at != Some(now), "simulated failure of change {now}");
        Ok(())
    }

    /// Whether a process of ours runs, by the word that all of them carry.
    fn has_guest(&self) -> bool {
        self.processes.values().any(|tag| tag.starts_with("iotax-"))
    }

    /// What stands on a path.
    fn above(&self, path: &Path) -> Option<&str> {
        let stands_on =
            |(_, (below, _)): &(&String, &(Vec<PathBuf>, bool))| below.iter().any(|at| at == path);
        self.things.iter().find(stands_on).map(|(key, _)| key.as_str())
    }

    /// Whether a thing is there that is found at this path.
    fn stands(&self, path: &Path) -> bool {
        let is_there =
            |key: &String| device_of(key).path.as_deref() == Some(path) || path == Path::new(name_of(key));
        self.things.keys().any(is_there)
    }

    /// A reboot: what lives in the kernel is gone, files stay.
    pub fn reboot(&mut self) {
        let lost: Vec<PathBuf> = self.mounts.keys().cloned().collect();
        self.files.retain(|path, _| !lost.iter().any(|mount| path.starts_with(mount)));
        self.loops.clear();
        self.mounts.clear();
        self.processes.clear();
        self.taken.clear();
        self.luns.clear();
        self.directories.remove(&lio::fabric());
        self.bdevs.clear();
        self.arc = ArcLimit::default();
        self.things.retain(|_, (_, survives)| *survives);
        self.boot += 1;
    }

    /// The same without what only tests and counts need.
    pub fn state(&self) -> SimulatedSystem {
        SimulatedSystem { fail_at: None, changes: 0, boot: 0, ..self.clone() }
    }
}

impl System for SimulatedSystem {
    fn boot_id(&self) -> Result<String> {
        Ok(format!("boot-{}", self.boot))
    }

    fn identity(&self, path: &Path) -> Option<Identity> {
        let name = path.file_name()?.to_str().filter(|name| name.starts_with("nvme"))?;
        Some(Identity { serial: Some(format!("S-{name}")), ..Identity::default() })
    }

    fn make_file(&mut self, path: &Path, bytes: u64, run_id: &str) -> Result<Yield> {
        let reused = match self.files.get(path) {
            Some(None) => bail!("{} is not ours", path.display()),
            Some(Some(_)) => true,
            None => false,
        };
        if !reused {
            self.files.insert(path.to_owned(), Some(run_id.to_owned()));
        }
        self.changed()?;
        Ok(Yield {
            path: Some(path.to_owned()),
            inode: Some(1),
            bytes: Some(bytes),
            reused,
            ..Yield::default()
        })
    }

    fn find_file(&self, path: &Path, run_id: &str) -> Result<Option<Yield>> {
        let ours = self.files.get(path).is_some_and(|maker| maker.as_deref() == Some(run_id));
        Ok(ours.then(|| Yield { path: Some(path.to_owned()), inode: Some(1), ..Yield::default() }))
    }

    fn remove_file(&mut self, path: &Path, _: &Yield, _: &str) -> Result<()> {
        ensure!(
            !self.loops.values().any(|backing| backing == path),
            "{} backs a loop device",
            path.display()
        );
        self.files.remove(path);
        Ok(())
    }

    fn fill_file(&mut self, path: &Path, _: u64, _: DataKind) -> Result<()> {
        ensure!(self.files.contains_key(path), "{} does not exist", path.display());
        self.changed()
    }

    fn forget_fill(&mut self, path: &Path) -> Result<()> {
        ensure!(self.files.contains_key(path), "{} does not exist", path.display());
        self.changed()
    }

    fn attach_loop(&mut self, request: &LoopRequest) -> Result<PathBuf> {
        let device =
            (0..).map(|n| PathBuf::from(format!("/dev/loop{n}"))).find(|d| !self.loops.contains_key(d));
        let device = device.context("no loop device is free")?;
        self.loops.insert(device.clone(), request.backing.to_owned());
        self.changed()?;
        Ok(device)
    }

    fn loops_on(&self, of: &LoopOf) -> Result<Vec<PathBuf>> {
        Ok(self
            .loops
            .iter()
            .filter(|(_, file)| *file == of.backing)
            .map(|(device, _)| device.clone())
            .collect())
    }

    fn detach_loop(&mut self, device: &Path, of: &LoopOf) -> Result<()> {
        ensure!(!self.mounts.values().any(|mounted| mounted == device), "{} is mounted", device.display());
        ensure!(!self.luns.values().any(|below| below == device), "{} is exported", device.display());
        ensure!(!self.bdevs.values().any(|below| below == device), "SPDK has {} open", device.display());
        ensure!(self.above(device).is_none(), "something stands on {}", device.display());
        match self.loops.get(device) {
            Some(file) if file == of.backing => drop(self.loops.remove(device)),
            Some(_) => bail!("{} is on another file", device.display()),
            None => {}
        }
        Ok(())
    }

    fn make_filesystem(&mut self, make: &MakeFilesystem) -> Result<()> {
        for device in make.devices() {
            let device = device.path()?;
            ensure!(
                !self.mounts.values().any(|mounted| mounted == device),
                "{} is mounted",
                device.display()
            );
        }
        self.changed()
    }

    fn make_image(&mut self, image: &MakeImage) -> Result<()> {
        let on = image.on.path()?;
        ensure!(
            self.files.contains_key(on) || self.loops.contains_key(on),
            "{} does not exist",
            on.display()
        );
        ensure!(!self.mounts.values().any(|mounted| mounted == on), "{} is mounted", on.display());
        self.changed()
    }

    fn make_directory(&mut self, path: &Path) -> Result<()> {
        ensure!(self.directories.insert(path.to_owned()), "{} exists", path.display());
        self.changed()
    }

    fn remove_directory(&mut self, path: &Path) -> Result<()> {
        ensure!(!self.mounts.contains_key(path), "{} is a mount point", path.display());
        self.directories.remove(path);
        Ok(())
    }

    fn exists(&self, path: &Path) -> bool {
        self.directories.contains(path) || self.files.contains_key(path)
    }

    fn mount(&mut self, mount: &Mount) -> Result<()> {
        let (device, directory) = (mount.device.path()?, mount.directory.as_path());
        ensure!(self.directories.contains(directory), "{} does not exist", directory.display());
        ensure!(!self.mounts.contains_key(directory), "{} is mounted", directory.display());
        self.mounts.insert(directory.to_owned(), device.to_owned());
        self.changed()
    }

    fn mounted(&self, directory: &Path) -> Result<bool> {
        Ok(self.mounts.contains_key(directory))
    }

    fn unmount(&mut self, directory: &Path) -> Result<()> {
        ensure!(self.mounts.remove(directory).is_some(), "{} is not mounted", directory.display());
        self.files.retain(|path, _| !path.starts_with(directory));
        Ok(())
    }

    fn spawn(&mut self, _: &[String], tag: &str, _: &Path) -> Result<ProcessId> {
        let pid = self.processes.keys().max().map_or(100, |pid| pid + 1);
        self.processes.insert(pid, tag.to_owned());
        self.changed()?;
        Ok(ProcessId { pid, start_time: 1 })
    }

    fn await_socket(&mut self, _: &Path, _: &ProcessId, _: &Path) -> Result<()> {
        Ok(())
    }

    fn find_process(&self, tag: &str) -> Result<Option<ProcessId>> {
        let found = self.processes.iter().find(|(_, carried)| *carried == tag);
        Ok(found.map(|(pid, _)| ProcessId { pid: *pid, start_time: 1 }))
    }

    fn end_process(&mut self, process: &ProcessId, tag: &str) -> Result<()> {
        let carried = self.processes.get(&process.pid).is_none_or(|carried| carried == tag);
        ensure!(carried, "process {} does not carry {tag}", process.pid);
        self.processes.remove(&process.pid);
        Ok(())
    }

    fn write_file(&mut self, path: &Path, _: &mut dyn FnMut() -> Result<Vec<u8>>) -> Result<()> {
        self.files.insert(path.to_owned(), Some("scratch".into()));
        self.changed()
    }

    fn remove_plain(&mut self, path: &Path) -> Result<()> {
        self.files.remove(path);
        Ok(())
    }

    fn take_drive(&mut self, drive: &TakenDrive) -> Result<PathBuf> {
        if !self.taken.insert(drive.address.to_owned()) {
            return Err(anyhow!("{} is taken", drive.address).context(NothingMade));
        }
        self.queue.clear();
        self.changed()?;
        Ok("/dev/vfio/14".into())
    }

    fn queue_settings(&self, _: &Path) -> Settings {
        self.queue.clone()
    }

    fn restore_queue(&mut self, _: &str, was: &Settings) {
        self.queue.extend(was.clone());
    }

    fn is_taken(&self, address: &str) -> Result<bool> {
        Ok(self.taken.contains(address))
    }

    fn give_back(&mut self, drive: &TakenDrive) -> Result<()> {
        ensure!(!self.has_guest(), "a guest has {}", drive.address);
        self.taken.remove(drive.address);
        Ok(())
    }

    fn export_lun(&mut self, lun: &Lun) -> Result<Option<PathBuf>> {
        let store = &lun.store;
        ensure!(!self.luns.contains_key(store.name), "{} is exported", store.name);
        self.luns.insert(store.name.to_owned(), store.backing.to_owned());
        let made = self.directories.insert(lio::fabric());
        self.changed()?;
        Ok(made.then(lio::fabric))
    }

    fn is_exported(&self, name: &str, _: &str) -> Result<bool> {
        Ok(self.luns.contains_key(name))
    }

    fn unexport_lun(&mut self, _: bool, name: &str, _: &str, fabric: Option<&Path>) -> Result<()> {
        ensure!(!self.has_guest(), "a guest has {name}");
        self.luns.remove(name);
        if let Some(fabric) = fabric.filter(|_| self.luns.is_empty()) {
            self.directories.remove(fabric);
        }
        Ok(())
    }

    fn export_spdk(&mut self, disk: &ExportSpdk) -> Result<PathBuf> {
        ensure!(!self.bdevs.contains_key(&disk.name), "{} is there", disk.name);
        self.bdevs.insert(disk.name.clone(), below(disk));
        self.changed()?;
        Ok(Path::new("/var/tmp").join(&disk.name))
    }

    fn find_spdk(&self, disk: &ExportSpdk) -> Result<Option<Option<PathBuf>>> {
        let socket = || Some(Path::new("/var/tmp").join(&disk.name));
        Ok(self.bdevs.contains_key(&disk.name).then(socket))
    }

    fn unexport_spdk(&mut self, disk: &ExportSpdk) -> Result<()> {
        ensure!(!self.has_guest(), "a guest has {}", disk.name);
        match self.bdevs.get(&disk.name) {
            Some(other) if *other != below(disk) => bail!("{} is over {}", disk.name, other.display()),
            _ => drop(self.bdevs.remove(&disk.name)),
        }
        Ok(())
    }

    fn arc(&self) -> ArcLimit {
        self.arc
    }

    fn limit_arc(&mut self, bytes: u64) -> Result<()> {
        self.arc = ArcLimit { parameter: bytes, limit: bytes };
        self.changed()
    }

    fn restore_arc(&mut self, _: u64, was: ArcLimit) -> Result<()> {
        ensure!(!self.things.keys().any(|key| key.starts_with("zpool ")), "a pool uses the ARC");
        self.arc = was;
        Ok(())
    }

    fn make_thing(&mut self, thing: &dyn Thing, tag: &RunTag) -> Result<Yield> {
        let key = thing.key(tag);
        ensure!(!self.things.contains_key(&key), "{key} is there");
        let made = device_of(&key);
        self.things.insert(key, (thing.below(), thing.survives()));
        self.changed()?;
        Ok(made)
    }

    fn find_thing(&self, thing: &dyn Thing, tag: &RunTag) -> Result<Option<Yield>> {
        let key = thing.key(tag);
        Ok(self.things.contains_key(&key).then(|| device_of(&key)))
    }

    fn unmake_thing(&mut self, thing: &dyn Thing, tag: &RunTag, made: &Yield) -> Result<()> {
        let key = thing.key(tag);
        let above = made.path.as_deref().and_then(|path| self.above(path));
        ensure!(above.is_none() || !self.things.contains_key(&key), "{key} is in use");
        ensure!(!self.mounts.values().any(|device| Some(device) == made.path.as_ref()), "{key} is mounted");
        let name = name_of(&key);
        let stands_on = |below: &PathBuf| below.to_str().is_some_and(|below| below.starts_with(name));
        let mut others = self.things.values().flat_map(|(below, _)| below).chain(self.bdevs.values());
        ensure!(!others.any(stands_on), "something stands on {name}");
        self.things.remove(&key);
        Ok(())
    }

    fn state_of_thing(&self, _: &dyn Thing, made: &Yield) -> Result<Option<ArrayState>> {
        let there = made.path.as_deref().is_some_and(|path| self.stands(path));
        Ok(there.then_some(ArrayState::Healthy))
    }

    /// Of a thing that no tool made nothing is to be told but what it stands on.
    fn settings_of_thing(&self, thing: &dyn Thing, _: &Yield) -> Result<ThingSettings> {
        let below = thing.below().iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ");
        Ok(if below.is_empty() { ThingSettings::new() } else { [("below".to_owned(), below)].into() })
    }

    fn change_thing(&mut self, change: &dyn Change) -> Result<()> {
        let of = change.of()?;
        ensure!(self.stands(of), "{} is not there", of.display());
        self.changed()
    }
}

/// What a disk of an SPDK target is over: a file, or a bdev by its name.
fn below(disk: &ExportSpdk) -> PathBuf {
    disk.backing.path().map_or_else(|_| disk.bdev().into(), Path::to_owned)
}

/// The last word of a thing's key: what has no path goes by that.
fn name_of(key: &str) -> &str {
    key.rsplit(' ').next().unwrap_or_default()
}

/// Where a thing is found.
fn device_of(key: &str) -> Yield {
    Yield { path: Some(Path::new("/dev/simulated").join(key.replace(' ', "-"))), ..Yield::default() }
}
