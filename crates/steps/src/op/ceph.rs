//! Makes a Ceph cluster over devices of this host, in a folder of the run, and images in its pool.
//! Ends members, brings them back and waits for them. The cluster is found again by its folder, by
//! processes whose command lines name its ceph.conf, and by UUIDs on its members. All of these
//! carry the run's id or are derived from it.

use super::drives::{Drives, held_is_lost, left_on, today};
use super::{
    ManagedResource, Observer, Operation, Own, PathRef, RealSystem, ResourceChange, RunTag,
    StepOutput, Undoing,
};
use crate::ceph::{self, Cluster};
use crate::settings::ThingSettings;
use crate::state::ArrayState;
use crate::threads::{self, ServingThread};
use crate::tool::guid;
use anyhow::{Context, Result};
use iotax_units::shell;
use iotax_units::{MIB, counted, show_bytes};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Cluster of a mon, a mgr, an OSD for each member, and a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeCeph {
    /// Name of the pool. It carries the run's id.
    pub name: String,
    /// Folder of everything but the data, within the run's folder.
    pub directory: PathBuf,
    /// Block devices, one OSD each.
    pub members: Vec<PathRef>,
    /// Number of copies of every object.
    pub size: u32,
    /// Number of copies that must be up for I/O to go on.
    pub min_size: u32,
    pub pg: u32,
    pub memory: u64,
    /// `rbd_cache_policy` of its clients.
    pub cache_policy: String,
    /// Base-2 logarithm of the bytes of an object of its images.
    pub order: u32,
    /// Identities of the members, recorded with the intent.
    #[serde(default, skip_serializing_if = "Drives::is_empty")]
    pub drives: Drives,
}

impl MakeCeph {
    /// Returns the path of the configuration through which everything reaches the cluster.
    pub fn conf(&self) -> PathBuf {
        conf_in(&self.directory)
    }

    pub fn fsid(&self) -> String {
        guid(&self.name).to_ascii_lowercase()
    }

    /// Returns the UUID of an OSD, which its member begins with.
    pub fn uuid(&self, at: usize) -> String {
        guid(&format!("{} osd {at}", self.name)).to_ascii_lowercase()
    }
}

/// Returns the path of the configuration of a cluster in that folder.
fn conf_in(directory: &Path) -> PathBuf {
    directory.join("ceph.conf")
}

impl Operation for MakeCeph {
    fn describe(&self) -> String {
        let members: Vec<String> = self.members.iter().map(ToString::to_string).collect();
        format!(
            "create a Ceph cluster in {}: 1 mon, 1 mgr, {} on {}; pool {} (size {}, min_size {}, pg_num {}, object \
             size {})",
            self.directory.display(),
            counted(self.members.len() as u64, "OSD", "OSDs"),
            members.join(", "),
            self.name,
            self.size,
            self.min_size,
            self.pg,
            show_bytes(1 << self.order)
        )
    }

    fn irreversible(&self) -> Option<String> {
        Some(held_is_lost(&self.members))
    }

    fn inputs(&mut self) -> Vec<&mut PathRef> {
        self.members.iter_mut().collect()
    }

    fn observe(&mut self, machine: &dyn Observer) {
        self.drives = Drives::about_to_write(machine, &self.inputs());
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        vec![Own::InFolder(&self.directory), Own::Named(&self.name)]
    }

    fn undoing(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        Some(Undoing::new("removed", format!("the Ceph cluster {}", self.name)))
    }

    fn cluster(&self) -> Option<PathBuf> {
        Some(self.conf())
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        let conf = self.conf().display().to_string();
        let members = shell::line(self.members.iter().map(ToString::to_string));
        let end = ["ceph-osd", "ceph-mgr", "ceph-mon"].map(|program| {
            format!("pkill -f {}", shell::word(&format!("{program} --conf {conf}")))
        });
        let folder = shell::path(&self.directory);
        Some(format!(
            "{}; wipefs --all --types ceph_bluestore {members}; rm -r {folder}",
            end.join("; ")
        ))
    }
}

impl ManagedResource for MakeCeph {
    /// Returns true: the folder and the labels of the members survive.
    fn survives(&self) -> bool {
        true
    }

    fn make(&self, system: &mut RealSystem, tag: &RunTag) -> Result<StepOutput> {
        ceph::create(self, system, &tag.run_id)?;
        Ok(StepOutput::found_at(self.conf()))
    }

    fn find(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        let (today, _) = today(self, &self.drives);
        Ok(ceph::is_there(&today)?.then(|| StepOutput::found_at(self.conf())))
    }

    fn unmake(&self, system: &mut RealSystem, _: &RunTag, _: &StepOutput) -> Result<()> {
        let (today, others) = today(self, &self.drives);
        ceph::destroy(&today, system)?;
        left_on(&others)
    }

    fn state(&self, _: &StepOutput) -> Result<Option<ArrayState>> {
        ceph::state(&self.conf()).map(Some)
    }

    fn threads(&self, _: &StepOutput) -> Result<Vec<ServingThread>> {
        let osds = ceph::osds(&self.conf())?;
        let threads = osds.iter().flat_map(|osd| threads::of_process(osd.pid));
        // An OSD has several hundred threads, with many names.
        Ok(threads.map(|thread| ServingThread { name: "ceph-osd".to_owned(), ..thread }).collect())
    }

    fn settings(&self, _: &StepOutput) -> Result<ThingSettings> {
        ceph::settings(&self.conf(), &self.name)
    }
}

/// Image in the pool of a cluster of ours. It is removed with the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeRbdImage {
    pub conf: PathRef,
    pub pool: String,
    pub image: String,
    pub bytes: u64,
    /// Run that the image is marked with.
    pub run: String,
}

impl Operation for MakeRbdImage {
    fn describe(&self) -> String {
        format!("rbd create {}/{} of {}", self.pool, self.image, show_bytes(self.bytes))
    }
}

impl ResourceChange for MakeRbdImage {
    fn make(&self, _: &mut RealSystem) -> Result<()> {
        let cluster = Cluster { conf: self.conf.path()? };
        let (image, mib) =
            (format!("{}/{}", self.pool, self.image), format!("{}M", self.bytes / MIB));
        cluster
            .run("rbd", &["create", "--size", &mib, &image])
            .with_context(|| format!("cannot create the image {image}"))?;
        cluster.run("rbd", &["image-meta", "set", &image, "iotax.run", &self.run]).map(drop)
    }
}

/// Change of a member of a cluster of ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeCeph {
    /// The cluster's ceph.conf, as a layer made it.
    pub made: PathRef,
    pub change: CephChange,
    /// Most bytes that are written to an OSD that returns; 0 if unknown.
    #[serde(default)]
    pub bytes: u64,
}

/// Change of an OSD, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CephChange {
    /// Ends the OSD's process; the cluster goes on without it.
    Ends(usize),
    /// Recreates the OSD on its member, empty as a new drive is. The other OSDs fill it.
    Returns(usize),
    /// Makes the OSD get no more data and give what it has to others, while it still serves it:
    /// `ceph osd out`.
    Out(usize),
    /// Makes the OSD a full member again: `ceph osd in`.
    In(usize),
    /// Waits until every placement group is clean, twice 5 s apart.
    AwaitHealthy,
}

impl Operation for ChangeCeph {
    fn describe(&self) -> String {
        match self.change {
            CephChange::Ends(at) => format!("stop osd.{at} (cluster {})", self.made),
            CephChange::Returns(at) => {
                format!("recreate osd.{at} empty and start it (cluster {})", self.made)
            }
            CephChange::Out(at) => format!("ceph osd out {at} (cluster {})", self.made),
            CephChange::In(at) => format!("ceph osd in {at} (cluster {})", self.made),
            CephChange::AwaitHealthy => {
                format!("wait until the cluster is healthy ({})", self.made)
            }
        }
    }
}

impl ResourceChange for ChangeCeph {
    fn make(&self, system: &mut RealSystem) -> Result<()> {
        ceph::change(self, system)
    }
}
