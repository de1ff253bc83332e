//! What carries a task to a host. Each engine is a file and an entry; what has happened on a host
//! is decided by the task's folder there, never by what an engine believes.

mod fleet_engine;
mod here;
mod host_shell;
pub(crate) mod kube_manifest;
pub mod kubernetes;
pub mod slurm;
pub mod ssh;
mod task_link;
mod tools;

pub(crate) use fleet_engine::INTERRUPTED;
pub use fleet_engine::{FleetEngine, FleetRun, HostErrand};

use crate::plan::{EngineChoice, FleetPlan};
use iotax_units::exit::Failed;

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
        EngineChoice::Kubernetes(pods) => {
            Ok(Box::new(kubernetes::KubernetesEngine { pods: pods.clone() }))
        }
        EngineChoice::Here => Ok(Box::new(here::HereEngine)),
        EngineChoice::Emitted => Err(Failed::input(
            "another tool runs this fleet; hint: cancel or repeat its tasks there, then: iotax fleet gather",
        )),
    }
}
