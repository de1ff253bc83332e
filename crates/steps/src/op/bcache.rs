//! Puts a cache of the kernel's bcache on one drive in front of another drive. Ours is recognised
//! by the UUID of the cache set in the superblocks of both, which is derived from a name that
//! carries the run's id.

use super::members::{about_to_write, today};
use crate::observer::Observer;
use crate::operation::{Operation, Own, Undoing};
use crate::resource::ManagedResource;
use anyhow::{Context, Result, anyhow};
use iotax_drivers::drives::{Drives, left_on};
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::plain_file::write_sysfs;
use iotax_drivers::queue;
use iotax_drivers::refusal::NothingMade;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::settings::{self, ThingSettings};
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_drivers::tool::{all_of, guid, load_modules, run_tool, settle, tool};
use iotax_drivers::wait::wait_until;
use iotax_host::probe::Probe;
use iotax_units::{KIB, shell};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Offset of the magic number in a member's superblock, in bytes. The UUID of the member and then
/// that of the set follow it.
const MAGIC_AT: u64 = 4120;
const MAGIC: [u8; 16] = *b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81";
const SETS: &str = "/sys/fs/bcache";
/// Longest wait for the kernel and udev to handle a change of a device.
const PATIENCE: Duration = Duration::from_secs(30);
/// Longest wait for a large cache to be written back to a slow drive.
const FLUSHED_WITHIN: Duration = Duration::from_secs(4 * 3600);

/// Arguments of `make-bcache`, and the settings that are written after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeBcache {
    pub name: String,
    /// Drive that holds the data.
    pub slow: PathRef,
    /// Drive or part of a drive that is the cache.
    pub fast: PathRef,
    /// Whole drive, if `fast` is a part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<PathRef>,
    /// `writethrough`, `writeback` or `writearound`.
    pub mode: String,
    /// Smallest write to the cache, in bytes.
    pub block: u64,
    pub bucket: u64,
    /// Length of sequential I/O, in bytes, beyond which it bypasses the cache.
    pub sequential_cutoff: u64,
    /// Latencies of a cache read and a cache write that count as congestion, in microseconds; 0 for
    /// never.
    pub congested_us: [u64; 2],
    #[serde(default, skip_serializing_if = "Drives::is_empty")]
    pub drives: Drives,
}

impl MakeBcache {
    fn uuid(&self) -> String {
        guid(&self.name).to_ascii_lowercase()
    }

    fn make_bcache_args(&self) -> Vec<String> {
        let kib =
            |bytes: u64| if bytes < KIB { bytes.to_string() } else { format!("{}k", bytes / KIB) };
        let words = [
            "--cset-uuid",
            &self.uuid(),
            "--block",
            &kib(self.block),
            "--bucket",
            &kib(self.bucket),
        ];
        words.map(str::to_owned).to_vec()
    }

    /// Returns the settings that are written after the cache is made, each with its file in the
    /// kernel's folder of the slow drive (true) or of the cache set (false).
    fn settings_written(&self) -> [(bool, &'static str, String); 4] {
        let [read, write] = self.congested_us;
        [
            (true, "cache_mode", self.mode.clone()),
            (true, "sequential_cutoff", self.sequential_cutoff.to_string()),
            (false, "congested_read_threshold_us", read.to_string()),
            (false, "congested_write_threshold_us", write.to_string()),
        ]
    }

    /// Returns the kernel's folder of the cache set, which exists while the set is up.
    fn set(&self) -> PathBuf {
        Path::new(SETS).join(self.uuid())
    }

    /// Returns the members, by the kernel's names, that carry a superblock of ours. Looks for the
    /// fast one's on the whole drive, too: after a reboot, a part of a drive does not exist any
    /// more.
    fn labelled_members(&self) -> Result<Vec<PathBuf>> {
        let first_of = |names: &[&PathRef]| -> Result<Option<PathBuf>> {
            for member in
                names.iter().filter_map(|name| name.resolved_path().ok()?.canonicalize().ok())
            {
                if is_of_set(&member, &self.uuid())? {
                    return Ok(Some(member));
                }
            }
            Ok(None)
        };
        let fast: Vec<&PathRef> = [&self.fast].into_iter().chain(&self.drive).collect();
        Ok([first_of(&[&self.slow])?, first_of(&fast)?].into_iter().flatten().collect())
    }

    /// Waits until all of the cache is written back, and stops the cache and its set.
    fn stop(&self, ours: &[PathBuf]) -> Result<()> {
        let probe = host_probe();
        for folder in ours.iter().filter_map(|member| folder_of(&probe, member)) {
            let is_dirty =
                || probe.read_trimmed(folder.join("state")).is_some_and(|state| state == "dirty");
            if is_dirty() {
                write_sysfs(&folder.join("cache_mode"), "writethrough")?;
                // Writes back as fast as the drives go.
                write_sysfs(&folder.join("writeback_percent"), "0")?;
                wait_until(FLUSHED_WITHIN, || !is_dirty()).with_context(|| {
                    format!("{} does not write back what it has cached", self.name)
                })?;
            }
            write_sysfs(&folder.join("stop"), "1")?;
            wait_until(PATIENCE, || !folder.exists()).with_context(|| {
                format!("{} does not stop; hint: is its device in use?", self.name)
            })?;
        }
        if self.set().exists() {
            write_sysfs(&self.set().join("stop"), "1")?;
            wait_until(PATIENCE, || !self.set().exists())
                .with_context(|| format!("the cache set of {} does not stop", self.name))?;
        }
        Ok(())
    }

    fn unmake_once(&self) -> Result<()> {
        settle();
        let ours = self.labelled_members()?;
        self.stop(&ours)?;
        let wiped = ours.iter().map(|member| {
            run_tool(tool("wipefs", ["--all", "--types", "bcache"]).arg(member)).map(drop)
        });
        all_of(wiped.collect())?;
        settle();
        Ok(())
    }
}

impl ManagedResource for MakeBcache {
    fn outlives_reboot(&self) -> bool {
        // The superblocks survive, and udev registers them again.
        true
    }

    fn make_resource(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        load_modules(&["bcache"]).context(NothingMade)?;
        if self.set().exists() {
            return Err(
                anyhow!("there is a cache set {} already", self.uuid()).context(NothingMade)
            );
        }
        let [slow, fast] = [self.slow.resolved_path()?, self.fast.resolved_path()?].map(|member| {
            member.canonicalize().with_context(|| format!("cannot look at {}", member.display()))
        });
        let (slow, fast) = (slow?, fast?);
        run_tool(
            tool("make-bcache", self.make_bcache_args())
                .arg("--cache")
                .arg(&fast)
                .arg("--bdev")
                .arg(&slow),
        )?;
        for member in [&slow, &fast] {
            // `register_quiet` does not complain about a member that udev has registered meanwhile.
            write_sysfs(&Path::new(SETS).join("register_quiet"), &member.display().to_string())?;
        }
        let attached =
            || folder_of(&host_probe(), &slow).filter(|folder| folder.join("cache").exists());
        wait_until(PATIENCE, || attached().is_some()).with_context(|| {
            format!("{} does not get its cache; hint: the kernel's log (dmesg) says why", self.name)
        })?;
        let folder = attached().with_context(|| format!("{} is gone", self.name))?;
        for (of_slow, file, value) in self.settings_written() {
            write_sysfs(&if of_slow { folder.join(file) } else { self.set().join(file) }, &value)?;
        }
        settle();
        let path = device_of(&folder).with_context(|| format!("{} has no device", self.name))?;
        Ok(StepOutput::found_at(path))
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        let (today, _) = today(self, &self.drives);
        let ours = today.labelled_members()?;
        let path = ours.iter().find_map(|member| device_of(&folder_of(&host_probe(), member)?));
        Ok((!ours.is_empty()).then_some(StepOutput { path, ..StepOutput::default() }))
    }

    fn remove_resource(&self, _: &mut RealSystem, _: &RunTag, _: &StepOutput) -> Result<()> {
        let (today, others) = today(self, &self.drives);
        let start = Instant::now();
        loop {
            match today.unmake_once() {
                Ok(()) => return left_on(&others),
                Err(error) if start.elapsed() > PATIENCE => return Err(error),
                // Something is looking at a member, or udev has just registered one whose
                // superblock was still there.
                Err(_) => std::thread::sleep(Duration::from_millis(200)),
            }
        }
    }

    fn actual_settings(&self, _: &StepOutput) -> Result<ThingSettings> {
        let probe = host_probe();
        let slow = self.slow.resolved_path()?.canonicalize().context("the slow drive is gone")?;
        let folder = folder_of(&probe, &slow).context("it is not up")?;
        Ok(settings_in(&probe, &folder, &self.set()))
    }
}

/// Reads the actual settings from the kernel's folders of the slow drive and the set. Their names
/// are those of the kernel's files. Of a list of choices, returns the one in brackets.
fn settings_in(probe: &Probe, slow: &Path, set: &Path) -> ThingSettings {
    const OF_SLOW: &[&str] = &["cache_mode", "sequential_cutoff", "writeback_percent", "state"];
    const OF_SET: &[&str] = &[
        "block_size",
        "bucket_size",
        "congested_read_threshold_us",
        "congested_write_threshold_us",
    ];
    let all = settings::files(probe, slow, OF_SLOW)
        .into_iter()
        .chain(settings::files(probe, set, OF_SET));
    all.map(|(name, value)| (name, queue::chosen(&value))).collect()
}

fn is_of_set(device: &Path, uuid: &str) -> Result<bool> {
    let mut found = [0; 48];
    let read = File::open(device).and_then(|file| file.read_exact_at(&mut found, MAGIC_AT));
    read.with_context(|| format!("cannot read {}", device.display()))?;
    let set: String = found[32..].iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(found[..16] == MAGIC && set == uuid.replace('-', ""))
}

/// Returns the kernel's folder of a slow drive that is registered; `None` for another device.
fn folder_of(probe: &Probe, member: &Path) -> Option<PathBuf> {
    let folder = Path::new("/sys/class/block").join(member.file_name()?).join("bcache");
    // The folder of a cache has no mode.
    probe.path_below(folder.join("cache_mode")).exists().then_some(folder)
}

/// Returns the device that the kernel has made over a slow drive. `folder` is the one that
/// [`folder_of`] returns for the drive.
fn device_of(folder: &Path) -> Option<PathBuf> {
    let device = folder.join("dev").canonicalize().ok()?;
    Some(Path::new("/dev").join(device.file_name()?))
}

fn host_probe() -> Probe {
    Probe::of_files(Path::new("/"))
}

impl Operation for MakeBcache {
    fn describe(&self) -> String {
        let settings = self.settings_written().map(|(_, file, value)| format!("{file}={value}"));
        let (words, settings) = (self.make_bcache_args().join(" "), settings.join(" "));
        format!("make-bcache {words} --cache {} --bdev {}; {settings}", self.fast, self.slow)
    }

    fn commands_by_hand(&self, out: &str) -> Vec<String> {
        let (slow, fast) = (self.slow.to_string(), self.fast.to_string());
        let set = self.set();
        let words = ["make-bcache".to_owned()].into_iter().chain(self.make_bcache_args());
        let words = words.chain(["--cache", &fast, "--bdev", &slow].map(str::to_owned));
        let mut lines = vec![shell::quote_line(words)];
        lines.extend(self.settings_written().iter().map(|(on_slow, file, value)| {
            let folder = if *on_slow { set.join("bdev0") } else { set.clone() };
            format!("echo {} > {}", shell::quote_word(value), shell::path(folder.join(file)))
        }));
        lines.push(format!("{out}=/dev/$(ls {}/bdev0/dev | head -n 1)", shell::path(&set)));
        lines
    }

    fn irreversible_effect(&self) -> Option<String> {
        Some(format!("all data on {} and {} is lost", self.slow, self.fast))
    }

    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        [&mut self.slow, &mut self.fast].into_iter().chain(&mut self.drive).collect()
    }

    fn observe(&mut self, machine: &dyn Observer) {
        self.drives = about_to_write(machine, &self.input_paths());
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        vec![Own::Named(&self.name)]
    }

    fn undo_summary(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        Some(Undoing::new("removed", format!("the cache {}", self.name)))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        let set = self.set().display().to_string();
        let members = shell::quote_line([&self.slow, &self.fast].map(ToString::to_string));
        Some(format!("echo 1 > {set}/stop; wipefs --all --types bcache {members}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_host::made_up::server;

    fn cache(slow: &Path) -> MakeBcache {
        MakeBcache {
            name: "iotax-r-bcache0".into(),
            slow: PathRef::Path(slow.to_owned()),
            fast: PathRef::Path("/dev/null/gone".into()),
            drive: None,
            mode: "writeback".into(),
            block: 4 << 10,
            bucket: 512 << 10,
            sequential_cutoff: 4 << 20,
            congested_us: [2000, 20_000],
            drives: Drives::default(),
        }
    }

    /// Writes a file that is a superblock of the set with this UUID.
    fn superblock(path: &Path, uuid: &str) {
        let digits = uuid.replace('-', "");
        let byte = |at: usize| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap();
        let set: Vec<u8> = (0..16).map(byte).collect();
        let bytes =
            [vec![0; MAGIC_AT as usize], MAGIC.to_vec(), vec![7; 16], set, vec![0; 64]].concat();
        std::fs::write(path, bytes).unwrap();
    }

    #[test]
    fn ours_is_known_by_the_set_in_its_superblock() {
        let folder = tempfile::tempdir().unwrap();
        let slow = folder.path().join("slow");
        let cache = cache(&slow);
        assert_eq!(cache.labelled_members().unwrap(), Vec::<PathBuf>::new(), "neither is there");
        superblock(&slow, &cache.uuid());
        assert_eq!(cache.labelled_members().unwrap(), [slow.canonicalize().unwrap()]);
        assert_eq!(
            cache.find_resource(&RunTag::of_none(), &[]).unwrap(),
            Some(StepOutput::default()),
            "it is not registered"
        );
        let part = MakeBcache {
            drive: Some(cache.slow.clone()),
            slow: cache.fast.clone(),
            ..cache.clone()
        };
        assert_eq!(
            part.labelled_members().unwrap().len(),
            1,
            "the drive below a part that is gone"
        );
        superblock(&slow, &guid("another"));
        assert_eq!(cache.find_resource(&RunTag::of_none(), &[]).unwrap(), None);
        cache
            .remove_resource(&mut RealSystem::default(), &RunTag::of_none(), &StepOutput::default())
            .unwrap();
        assert!(
            is_of_set(&slow, &guid("another").to_ascii_lowercase()).unwrap(),
            "another's is left alone"
        );
    }

    #[test]
    fn settings_are_the_kernels_and_of_a_choice_what_is_chosen() {
        let machine = server();
        let (slow, set) = ("/sys/class/block/sda/bcache", "/sys/fs/bcache/x");
        machine.put(&[
            (&format!("{slow}/cache_mode"), "writethrough [writeback] writearound none\n"),
            (&format!("{slow}/sequential_cutoff"), "4.0M\n"),
            (&format!("{slow}/state"), "dirty\n"),
            (&format!("{set}/bucket_size"), "512.0k\n"),
            (&format!("{set}/congested_read_threshold_us"), "2000\n"),
        ]);
        let told = settings_in(&machine.probe, Path::new(slow), Path::new(set));
        let told: Vec<String> =
            told.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let all = [
            "bucket_size=512.0k",
            "cache_mode=writeback",
            "congested_read_threshold_us=2000",
            "sequential_cutoff=4.0M",
            "state=dirty",
        ];
        assert_eq!(told, all);
    }
}
