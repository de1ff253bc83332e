//! What carries a task to a host. Each engine is a file and an entry; what has happened on a host
//! is decided by the task's folder there, never by what an engine believes.

mod here;
mod host_shell;
pub(crate) mod kube_manifest;
pub mod kubernetes;
pub mod slurm;
pub mod ssh;
mod task_link;
mod tools;

use crate::host_look::HostLook;
use crate::host_state::HostReport;
use crate::plan::{EngineChoice, FleetFolder, FleetPlan, HostFolder, PlannedHost, Ticket};
use iotax_units::exit::Failed;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// A fleet that is carried out.
pub struct FleetRun<'a> {
    pub plan: &'a FleetPlan,
    pub folder: &'a FleetFolder,
    /// Set when the user wants to stop: tasks are cancelled, and their partial results gathered.
    pub stop: &'a AtomicBool,
    /// True if the consents were given anew, so that a host that began to write may begin again.
    pub consent_renewed: bool,
    /// Time for which a host that no longer answers is asked again.
    pub patience: Duration,
}

/// One host of a fleet that is carried out.
pub struct HostErrand<'a> {
    pub run: &'a FleetRun<'a>,
    pub planned: &'a PlannedHost,
    pub folder: HostFolder,
    /// Called when the task has begun on the host.
    pub on_begin: &'a (dyn Fn() + Sync),
}

/// What carries tasks to hosts.
pub trait FleetEngine: Sync {
    /// Asks a host which machine it is, and for its drives. Removes its means again unless `stays`:
    /// a task follows.
    ///
    /// # Errors
    /// The report of a host that cannot take a task.
    fn look(
        &self,
        run: &FleetRun,
        planned: &PlannedHost,
        stays: bool,
    ) -> Result<HostLook, HostReport>;

    /// Brings the host to its end from wherever it is: starts its task, waits for it, gathers the
    /// result, and removes what is there. Returns how it ended.
    fn carry_out(&self, errand: &HostErrand) -> HostReport;

    /// Returns the state of a host now; gathers a result that is there.
    fn status(&self, errand: &HostErrand) -> HostReport;

    /// Has the host's task end. It undoes what it made, and has an outcome afterwards.
    ///
    /// # Errors
    /// The report of a host that does not answer.
    fn cancel(&self, errand: &HostErrand) -> Result<(), HostReport>;

    /// Undoes by the journal of the host what a killed task left there, and removes all of the
    /// fleet from it. Called only for a host on which something may be left.
    ///
    /// # Errors
    /// Says why, and what to do.
    fn clean(&self, errand: &HostErrand, ticket: &Ticket) -> Result<(), String>;
}

/// Returns the engine of a fleet.
///
/// # Errors
/// Bad input: the fleet is carried out by somebody else.
pub fn engine_of(plan: &FleetPlan) -> Result<Box<dyn FleetEngine>, Failed> {
    match &plan.engine {
        EngineChoice::Ssh => Ok(Box::new(ssh::SshEngine::new()?)),
        EngineChoice::Slurm { partition, options } => {
            Ok(Box::new(slurm::SlurmEngine::new(partition, options)))
        }
        EngineChoice::Kubernetes(kubernetes) => Ok(Box::new(kubernetes.clone())),
        EngineChoice::Here => Ok(Box::new(here::HereEngine)),
        EngineChoice::Emitted => Err(Failed::input(
            "the tasks of this fleet are run by somebody else; hint: iotax fleet gather takes their results",
        )),
    }
}
