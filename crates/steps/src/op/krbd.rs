//! Maps a Ceph image as a block device of this host, by the kernel's own client. It is found again
//! in sysfs by cluster, pool and name. An image that was mapped here before is refused, so what is
//! found is ours.

use crate::observer::{MachineAnswer, MachineQuestion, Observer};
use crate::operation::{Operation, Undoing};
use crate::resource::ManagedResource;
use anyhow::{Context, Result, anyhow, ensure};
use iotax_drivers::ceph::{self, Before, Cluster};
use iotax_drivers::refusal::NothingMade;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::settings::ThingSettings;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_drivers::tool::{load_modules, settle};
use iotax_host::probe::Probe;
use iotax_units::shell;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Number of attempts to unmap, 1 s apart. It fails while udev or another program has the device
/// open.
const TRIES: u32 = 10;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapRbd {
    pub conf: PathBuf,
    pub pool: String,
    pub image: String,
    pub read_only: bool,
    pub queue_depth: u32,
    /// Which copy of an object is read: the kernel's option `read_from_replica`, such as `no`.
    pub read_from_replica: String,
    /// Protocol for mons and OSDs: the kernel's option `ms_mode`, such as `legacy`.
    pub ms_mode: String,
    /// Cluster of the image, and the devices to which the image was mapped already. The journal
    /// records both before the image is mapped. `None` if the cluster did not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Before>,
}

impl MapRbd {
    fn rbd_map_args(&self, with_udev: bool) -> Vec<String> {
        let mut options = vec![format!("queue_depth={}", self.queue_depth)];
        // The kernel's own choice is left out, since an older kernel has no such option.
        let more = [
            ("ms_mode", &self.ms_mode, "legacy"),
            ("read_from_replica", &self.read_from_replica, "no"),
        ];
        let chosen = more.into_iter().filter(|(_, value, usual)| value != usual);
        options.extend(chosen.map(|(name, value, _)| format!("{name}={value}")));
        options.extend((!with_udev).then(|| "noudev".to_owned()));
        let mut words: Vec<String> = ["device", "map", "--options"].map(str::to_owned).into();
        words.push(options.join(","));
        words.extend(self.read_only.then(|| "--read-only".to_owned()));
        words.push(self.image_spec());
        words
    }

    fn image_spec(&self) -> String {
        format!("{}/{}", self.pool, self.image)
    }

    fn mapped_devices(&self) -> Vec<PathBuf> {
        // An image that was mapped before is not mapped by us.
        let before = self.before.as_ref().filter(|before| before.mapped.is_empty());
        let find = |before: &Before| {
            ceph::mapped_image_devices(&host_probe(), &before.fsid, &self.pool, &self.image)
        };
        before.map(find).unwrap_or_default()
    }

    fn cluster(&self) -> Cluster<'_> {
        Cluster { conf: &self.conf }
    }
}

fn host_probe() -> Probe {
    Probe::of_files(Path::new("/"))
}

/// Returns true if udev runs. If not, `rbd` must be told not to wait for it (`noudev`).
fn has_udev() -> bool {
    Path::new("/run/udev/control").exists()
}

impl Operation for MapRbd {
    fn describe(&self) -> String {
        format!("rbd {}", self.rbd_map_args(true).join(" "))
    }

    fn commands_by_hand(&self, out: &str) -> Vec<String> {
        let words = ["rbd".to_owned()].into_iter().chain(self.rbd_map_args(true));
        vec![format!("{out}=$({})", shell::quote_line(words))]
    }

    fn observe(&mut self, machine: &dyn Observer) {
        let Self { conf, pool, image, .. } = &*self;
        self.before = match machine.ask_machine(MachineQuestion::CephImage { conf, pool, image }) {
            Some(MachineAnswer::CephImage(before)) => Some(before),
            _ => None,
        };
    }

    fn undo_summary(&self, made: Option<&StepOutput>) -> Option<Undoing> {
        let device = made.and_then(|made| made.path.as_ref());
        let device =
            device.map_or_else(String::new, |device| format!(" from {}", device.display()));
        Some(Undoing::new("unmapped", format!("rbd:{}{device}", self.image_spec())))
    }

    fn undo_by_hand(&self, _: &RunTag, made: &StepOutput) -> Option<String> {
        made.path.as_ref().map(|device| format!("rbd device unmap {}", shell::path(device)))
    }
}

impl ManagedResource for MapRbd {
    fn make_resource(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        let (name, conf) = (self.image_spec(), self.conf.display());
        let Some(before) = &self.before else {
            return Err(anyhow!(
                "the cluster of {conf} does not answer; hint: ceph --conf {conf} -s"
            )
            .context(NothingMade));
        };
        if let Some(device) = before.mapped.first() {
            let device = device.display();
            return Err(anyhow!(
                "rbd:{name} is mapped on this host as {device}; hint: rbd device unmap {device} if nobody uses \
                 it, or take another image"
            )
            .context(NothingMade));
        }
        load_modules(&["rbd"]).context(NothingMade)?;
        let words = self.rbd_map_args(has_udev());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let device = self.cluster().run_ceph_tool("rbd", &words).with_context(|| {
            format!(
                "cannot map rbd:{name}; hint: dmesg shows the kernel's reason, such as an image feature that it does not \
                 support; kernels before 5.11 require ms-mode=legacy"
            )
        })?;
        let device = PathBuf::from(device.trim());
        settle();
        ensure!(
            self.mapped_devices().contains(&device),
            "{} is not mapped to rbd:{name}",
            device.display()
        );
        Ok(StepOutput::found_at(device))
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        Ok(self.mapped_devices().into_iter().next().map(StepOutput::found_at))
    }

    fn remove_resource(&self, _: &mut RealSystem, _: &RunTag, _: &StepOutput) -> Result<()> {
        // Unmaps what is mapped now, not what was: a number may be used again.
        for device in self.mapped_devices() {
            let device = device.to_str().context("a device that is not UTF-8")?;
            let options: &[&str] = if has_udev() { &[] } else { &["--options", "noudev"] };
            let words = [&["device", "unmap"], options, &[device]].concat();
            let mut tries = 0;
            while let Err(why) = self.cluster().run_ceph_tool("rbd", &words) {
                tries += 1;
                if tries == TRIES {
                    return Err(why);
                }
                settle();
                thread::sleep(Duration::from_secs(1));
            }
        }
        Ok(())
    }

    fn actual_settings(&self, made: &StepOutput) -> Result<ThingSettings> {
        let device = made.path.as_ref().context("no device was recorded")?;
        ensure!(
            self.mapped_devices().contains(device),
            "{} is no longer mapped to rbd:{}",
            device.display(),
            self.image_spec()
        );
        let mut settings = ceph::image_settings(&self.conf, &self.pool, &self.image)?;
        let (probe, name) =
            (host_probe(), device.file_name().unwrap_or_default().to_string_lossy());
        let queue = |what: &str| probe.read_trimmed(format!("/sys/block/{name}/{what}"));
        let reported = [
            ("client options", ceph::client_options(&probe, device)),
            ("nr_requests", queue("queue/nr_requests")),
            ("scheduler", queue("queue/scheduler")),
            ("read only", queue("ro")),
        ];
        settings.extend(
            reported
                .into_iter()
                .filter_map(|(what, value)| Some((what.to_owned(), value?.trim().to_owned()))),
        );
        Ok(settings)
    }
}
