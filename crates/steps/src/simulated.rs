//! The simulated twin of a machine: which resources are there, what they stand on, and what a person has set. That is enough
//! to test that a plan is undone from any prefix, without root. It refuses what the real one refuses: taking away what another
//! stands on, making what exists, changing what is not there.

use super::hand::PlaceExecutor;
use super::loops::FileId;
use super::op::{Act, ExportSpdkNvmf, Op};
use super::queue::Settings;
use super::settings::ThingSettings;
use super::state::ArrayState;
use super::system::{NotOurs, NothingMade, Observer};
use super::thing::{KnownBy, ManagedResource};
use super::zfs::ArcLimit;
use super::{ProcessId, RunTag, StepOutput};
use crate::guest::DiskKey;
use anyhow::{Result, anyhow, bail, ensure};
use iotax_host::Missing;
use iotax_host::block::Identity;
use iotax_host::needs::Need;
use std::path::{Path, PathBuf};

/// A machine in memory. Two that are equal hold the same things.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SimulatedSystem {
    /// What is there.
    pub resources: Vec<Simulated>,
    /// What a person has set until the next boot; a resource may change it.
    pub settings: Settings,
    /// This boot.
    pub boot: u32,
    /// The operation with this number (from 0) does its work and then reports a failure.
    pub fail_at: Option<u32>,
    /// Changes so far.
    pub changes: u32,
}

/// A resource on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulated {
    /// What no other is called, its name as the last word.
    pub key: String,
    /// The run that made it; `None`: somebody else did.
    pub run: Option<String>,
    /// What its step yielded.
    pub made: StepOutput,
    /// What it stands on.
    pub below: Vec<PathBuf>,
    /// Whether a reboot leaves it.
    pub survives: bool,
}

impl Simulated {
    /// What has no path goes by that.
    fn name(&self) -> &str {
        name_of(&self.key)
    }

    fn is_at(&self, path: &Path) -> bool {
        self.made.path.as_deref() == Some(path) || Path::new(self.name()) == path
    }

    fn stands_on(&self, other: &Simulated) -> bool {
        let is_other = |below: &PathBuf| {
            other.made.path.as_ref() == Some(below)
                || below.to_str().is_some_and(|below| below.starts_with(other.name()))
        };
        self.below.iter().any(is_other)
    }
}

/// The last word of a resource's key.
fn name_of(key: &str) -> &str {
    key.rsplit(' ').next().unwrap_or_default()
}

impl SimulatedSystem {
    /// Puts something there that is somebody else's, gone with the next boot.
    pub fn put(&mut self, key: &str, path: &str, below: &[&str]) {
        let below = below.iter().map(PathBuf::from).collect();
        self.resources.push(Simulated {
            key: key.into(),
            run: None,
            made: StepOutput::at(path),
            below,
            survives: false,
        });
    }

    /// A reboot: what lives in the kernel is gone, files stay.
    pub fn reboot(&mut self) {
        self.resources.retain(|resource| resource.survives);
        self.settings.clear();
        self.boot += 1;
    }

    /// The same without what only tests and counts need.
    pub fn contents(&self) -> SimulatedSystem {
        SimulatedSystem { fail_at: None, changes: 0, boot: 0, ..self.clone() }
    }

    /// Whether something is there that has this path or name.
    fn has(&self, path: &Path) -> bool {
        self.resources.iter().any(|resource| resource.is_at(path))
    }

    /// What the step yields that makes such a resource.
    fn yield_of(&self, resource: &dyn ManagedResource, key: &str) -> StepOutput {
        let (kind, name) = (key.split(' ').next().unwrap_or_default(), Path::new(name_of(key)));
        let numbered = || (0..).map(|number| PathBuf::from(format!("/dev/{kind}{number}")));
        match resource.known_by() {
            KnownBy::Number => {
                StepOutput { path: numbered().find(|path| !self.has(path)), ..StepOutput::default() }
            }
            KnownBy::Process => {
                StepOutput { process: Some(ProcessId { pid: 100, start_time: 1 }), ..StepOutput::default() }
            }
            KnownBy::Name if name.is_absolute() => StepOutput::at(name),
            KnownBy::Name => StepOutput::at(Path::new("/dev/simulated").join(key.replace(' ', "-"))),
        }
    }

    fn make(&mut self, resource: &dyn ManagedResource, tag: &RunTag) -> Result<StepOutput> {
        let (key, is_numbered) = (resource.key(), resource.known_by() == KnownBy::Number);
        if let Some(there) = self.resources.iter().find(|there| there.key == key && !is_numbered) {
            if !(resource.reuses() && there.run.is_some()) {
                return Err(anyhow!("{key} is there").context(NothingMade));
            }
            return Ok(StepOutput { reused: true, ..there.made.clone() });
        }
        let made = self.yield_of(resource, &key);
        let (run, below, survives) = (Some(tag.run_id.clone()), resource.below(), resource.survives());
        self.resources.push(Simulated { key, run, made: made.clone(), below, survives });
        let lost = resource.puts_back();
        self.settings.retain(|name, _| !lost.contains_key(name));
        Ok(made)
    }

    fn unmake(&mut self, resource: &dyn ManagedResource, made: &StepOutput) -> Result<()> {
        let (key, is_numbered) = (resource.key(), resource.known_by() == KnownBy::Number);
        let is_it = |there: &Simulated| there.key == key && (!is_numbered || there.made.path == made.path);
        if let Some(at) = self.resources.iter().position(is_it) {
            let it = &self.resources[at];
            if it.below != resource.below() {
                bail!(NotOurs(format!("{key} stands on something else by now")));
            }
            let above = self.resources.iter().find(|other| other.key != key && other.stands_on(it));
            if let Some(above) = above {
                bail!("{key} is in use by {}", above.key);
            }
            self.resources.remove(at);
        }
        self.settings.extend(resource.puts_back());
        Ok(())
    }
}

impl Observer for SimulatedSystem {
    fn identity(&self, path: &Path) -> Option<Identity> {
        let name = path.file_name()?.to_str().filter(|name| name.starts_with("nvme"))?;
        Some(Identity { serial: Some(format!("S-{name}")), ..Identity::default() })
    }

    fn file_id(&self, _: &Path) -> Option<FileId> {
        None
    }

    fn queue_settings(&self, _: &Path) -> Settings {
        self.settings.clone()
    }

    fn arc(&self) -> ArcLimit {
        let parameter = self.settings.get("zfs_arc_max").and_then(|bytes| bytes.parse().ok());
        ArcLimit { parameter: parameter.unwrap_or(0), limit: 0 }
    }

    fn has_spdk_transport(&self, _: &ExportSpdkNvmf) -> Option<bool> {
        Some(false)
    }
}

impl PlaceExecutor for SimulatedSystem {
    fn boot_id(&mut self) -> Result<String> {
        Ok(format!("boot-{}", self.boot))
    }

    fn locate(&mut self, key: &DiskKey) -> Result<PathBuf> {
        bail!("no disk here has {key}")
    }

    fn observed(&mut self, op: Op) -> Result<Op> {
        Ok(op.observed(self))
    }

    fn perform(&mut self, op: &Op, tag: &RunTag) -> Result<StepOutput> {
        let made = match op.act() {
            Act::Make(resource) => self.make(resource, tag)?,
            Act::Change(change) => {
                let of = change.of()?;
                ensure!(self.has(of), "{} is not there", of.display());
                StepOutput::default()
            }
        };
        let now = self.changes;
        self.changes += 1;
        ensure!(self.fail_at != Some(now), "simulated failure of change {now}");
        Ok(made)
    }

    fn find(&mut self, op: &Op, tag: &RunTag, others: &[StepOutput]) -> Result<Option<StepOutput>> {
        let Act::Make(resource) = op.act() else { return Ok(None) };
        let key = resource.key();
        // Nothing but the steps of the run says whose a numbered one is.
        let is_its = |there: &&Simulated| match resource.known_by() {
            KnownBy::Number => !others.iter().any(|other| other.path == there.made.path),
            _ => there.run.as_ref() == Some(&tag.run_id),
        };
        let found = self.resources.iter().filter(|there| there.key == key).find(is_its);
        Ok(found.map(|there| there.made.clone()))
    }

    fn undo(&mut self, op: &Op, _: &RunTag, made: &StepOutput) -> Result<()> {
        match op.act() {
            Act::Make(resource) if !resource.stays(made) => self.unmake(resource, made),
            _ => Ok(()),
        }
    }

    fn state(&mut self, _: &Op, made: &StepOutput) -> Result<Option<ArrayState>> {
        let is_there = made.path.as_deref().is_some_and(|path| self.has(path));
        Ok(is_there.then_some(ArrayState::Healthy))
    }

    fn settings(&mut self, _: &Op, _: &StepOutput) -> Result<ThingSettings> {
        Ok(ThingSettings::new())
    }

    fn notes(&mut self) -> Vec<String> {
        Vec::new()
    }

    fn missing(&mut self, _: &[Need]) -> Result<Vec<Missing>> {
        Ok(Vec::new())
    }
}
