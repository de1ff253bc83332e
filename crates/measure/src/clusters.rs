//! Reads the status of the Ceph clusters below the stacks of a visit. Readings are between slices:
//! none is taken during a slice, and each slice has one before and one after it.

use super::observer::{Observer, RunEvent};
use super::visit_workers::Bench;
use anyhow::{Result, ensure};
use iotax_drivers::ceph::Cluster;
use iotax_facts::cluster::ClusterStatus;
use iotax_load::clock;
use iotax_model::record::{ClusterReading, RunRecord};
use iotax_model::scenario::Scenario;
use iotax_model::stack::Medium;
use iotax_plan::foreign_image;
use iotax_plan::set_plan::SetPlan;
use iotax_units::exit::Failed;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Largest age of a reading when a slice begins. A reading takes half a second, and placement
/// groups are reported every 5 s.
const AGE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub struct WatchedCluster {
    conf: PathBuf,
    stacks: Vec<usize>,
    read: Option<Instant>,
    silent: bool,
}

/// Returns the Ceph clusters below the `ready` stacks: existing ones whose image is the medium, and
/// those that a step makes.
pub fn clusters_below(scenario: &Scenario, up: &SetPlan, ready: &[usize]) -> Vec<WatchedCluster> {
    let mut all: Vec<WatchedCluster> = Vec::new();
    for index in ready {
        let confs =
            scenario.stacks[*index].medium.members().iter().filter_map(|member| match member {
                Medium::Rbd { conf, .. } => Some(conf.clone()),
                _ => None,
            });
        let of = scenario.stacks[*index].state.as_ref().map_or(*index, |state| state.of);
        let made = up.steps.iter().filter(|step| up.stacks_on(step.id).any(|stack| stack == of));
        for conf in confs.chain(made.filter_map(|step| step.op.operation().cluster_conf())) {
            match all.iter_mut().find(|known| known.conf == conf) {
                Some(known) if known.stacks.contains(index) => {}
                Some(known) => known.stacks.push(*index),
                None => all.push(WatchedCluster {
                    conf,
                    stacks: vec![*index],
                    read: None,
                    silent: false,
                }),
            }
        }
    }
    all
}

impl Bench<'_> {
    /// Reads the clusters below a worker's stack whose last reading is 10 s old, and warns of one
    /// that no longer answers.
    ///
    /// # Errors
    /// As [`Bench::note_cluster`].
    pub(super) fn read_clusters(
        &mut self,
        worker: usize,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let index = self.ready[worker].index;
        for at in 0..self.clusters.len() {
            let one = &self.clusters[at];
            let is_recent = one.read.is_some_and(|read| read.elapsed() < AGE);
            if one.stacks.contains(&index) && !is_recent {
                let was_silent = self.clusters[at].silent;
                self.read_cluster(at)?;
                let one = &self.clusters[at];
                if one.silent && !was_silent {
                    let text = format!(
                        "the cluster of {} does not answer; the load goes on; hint: check that its mons run",
                        one.conf.display()
                    );
                    observer.notify(RunEvent::Warning { text });
                }
            }
        }
        Ok(())
    }

    pub fn read_all_clusters(&mut self) -> Result<()> {
        (0..self.clusters.len()).try_for_each(|at| self.read_cluster(at))
    }

    fn read_cluster(&mut self, at: usize) -> Result<()> {
        let read = Cluster { conf: &self.clusters[at].conf }.status();
        self.note_cluster(at, read.map_err(|why| format!("{why:#}")))
    }

    /// Records a reading that was taken to check if a stack kept its state.
    ///
    /// # Errors
    /// As [`Bench::note_cluster`].
    pub(super) fn note_status(&mut self, conf: &Path, status: ClusterStatus) -> Result<()> {
        let at = self.clusters.iter().position(|one| one.conf == conf);
        at.map_or(Ok(()), |at| self.note_cluster(at, Ok(status)))
    }

    /// Records a reading, also one without an answer (`Err`), which by itself says nothing about
    /// the load on the cluster.
    ///
    /// # Errors
    /// When the record cannot be written; when the load writes and the cluster has no room.
    fn note_cluster(&mut self, at: usize, read: Result<ClusterStatus, String>) -> Result<()> {
        let one = &mut self.clusters[at];
        (one.read, one.silent) = (Some(Instant::now()), read.is_err());
        let its = self.ready.iter().filter(|ready| one.stacks.contains(&ready.index));
        let stacks: Vec<String> = its.map(|ready| ready.stack.clone()).collect();
        let (status, unknown) = match read {
            Ok(status) => (Some(status), None),
            Err(why) => (None, Some(why)),
        };
        let conf = one.conf.clone();
        let full = status
            .as_ref()
            .filter(|_| self.workload.writes())
            .map(|status| status.full_checks().join(", "));
        self.store.append(&RunRecord::Cluster(ClusterReading {
            visit: self.visit,
            set: self.set,
            workload: self.workload.name.clone(),
            stacks,
            at_ns: clock::monotonic_ns(),
            status,
            unknown,
        }))?;
        let full = full.unwrap_or_default();
        ensure!(full.is_empty(), Failed::measurement(foreign_image::no_room(&conf, &full)));
        Ok(())
    }
}
