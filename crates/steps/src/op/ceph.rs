//! Makes a Ceph cluster over devices of this host, in a folder of the run, and images in its pool.
//! Ends OSDs, brings them back and waits for them. The cluster is found again by its folder, by
//! processes whose command lines name its ceph.conf, and by UUIDs on its members. All of these
//! carry the run's id or are derived from it.

use super::members::{about_to_write, today};
use crate::observer::Observer;
use crate::operation::{Operation, Own, Undoing};
use crate::resource::{ManagedResource, ResourceChange};
use anyhow::{Context, Result};
use iotax_drivers::ceph::cluster::{CephChange, ChangeCeph, MakeCeph};
use iotax_drivers::ceph::{self, Cluster};
use iotax_drivers::drives::{held_is_lost, left_on};
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::settings::ThingSettings;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_drivers::threads::{self, ServingThread};
use iotax_facts::array::ArrayState;
use iotax_units::{MIB, count_noun, shell, show_bytes};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

impl Operation for MakeCeph {
    fn describe(&self) -> String {
        let members: Vec<String> = self.members.iter().map(ToString::to_string).collect();
        format!(
            "create a Ceph cluster in {}: 1 mon, 1 mgr, {} on {}; pool {} (size {}, min_size {}, pg_num {}, object \
             size {})",
            self.directory.display(),
            count_noun(self.members.len() as u64, "OSD", "OSDs"),
            members.join(", "),
            self.name,
            self.size,
            self.min_size,
            self.pg,
            show_bytes(1 << self.order)
        )
    }

    fn irreversible_effect(&self) -> Option<String> {
        Some(held_is_lost(&self.members))
    }

    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        self.members.iter_mut().collect()
    }

    fn observe(&mut self, machine: &dyn Observer) {
        self.drives = about_to_write(machine, &self.input_paths());
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        vec![Own::InFolder(&self.directory), Own::Named(&self.name)]
    }

    fn undo_summary(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        Some(Undoing::new("removed", format!("the Ceph cluster {}", self.name)))
    }

    fn cluster_conf(&self) -> Option<PathBuf> {
        Some(self.conf())
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        let conf = self.conf().display().to_string();
        let members = shell::quote_line(self.members.iter().map(ToString::to_string));
        let end = ["ceph-osd", "ceph-mgr", "ceph-mon"].map(|program| {
            format!("pkill -f {}", shell::quote_word(&format!("{program} --conf {conf}")))
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
    fn outlives_reboot(&self) -> bool {
        true
    }

    fn make_resource(&self, system: &mut RealSystem, tag: &RunTag) -> Result<StepOutput> {
        ceph::create(self, system, &tag.run_id)?;
        Ok(StepOutput::found_at(self.conf()))
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        let (today, _) = today(self, &self.drives);
        Ok(ceph::is_there(&today)?.then(|| StepOutput::found_at(self.conf())))
    }

    fn remove_resource(&self, system: &mut RealSystem, _: &RunTag, _: &StepOutput) -> Result<()> {
        let (today, others) = today(self, &self.drives);
        ceph::destroy(&today, system)?;
        left_on(&others)
    }

    fn resource_state(&self, _: &StepOutput) -> Result<Option<ArrayState>> {
        ceph::cluster_state(&self.conf()).map(Some)
    }

    fn io_threads(&self, _: &StepOutput) -> Result<Vec<ServingThread>> {
        let osds = ceph::osds(&self.conf())?;
        let threads = osds.iter().flat_map(|osd| threads::of_process(osd.pid));
        // An OSD has several hundred threads, with many names.
        Ok(threads.map(|thread| ServingThread { name: "ceph-osd".to_owned(), ..thread }).collect())
    }

    fn actual_settings(&self, _: &StepOutput) -> Result<ThingSettings> {
        ceph::cluster_settings(&self.conf(), &self.name)
    }
}

/// Image in the pool of a cluster of ours. It is removed with the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeRbdImage {
    pub conf: PathRef,
    pub pool: String,
    pub image: String,
    pub bytes: u64,
    /// Id of the run, which the image is marked with.
    pub run: String,
}

impl Operation for MakeRbdImage {
    fn describe(&self) -> String {
        format!("rbd create {}/{} of {}", self.pool, self.image, show_bytes(self.bytes))
    }
}

impl ResourceChange for MakeRbdImage {
    fn apply_change(&self, _: &mut RealSystem) -> Result<()> {
        let cluster = Cluster { conf: self.conf.resolved_path()? };
        let (image, mib) =
            (format!("{}/{}", self.pool, self.image), format!("{}M", self.bytes / MIB));
        cluster
            .run_ceph_tool("rbd", &["create", "--size", &mib, &image])
            .with_context(|| format!("cannot create the image {image}"))?;
        cluster
            .run_ceph_tool("rbd", &["image-meta", "set", &image, "iotax.run", &self.run])
            .map(drop)
    }
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
    fn apply_change(&self, system: &mut RealSystem) -> Result<()> {
        ceph::change(self, system)
    }
}
