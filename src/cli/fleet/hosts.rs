//! Which hosts a fleet has, as arguments.

use super::super::output::say_aside;
use anyhow::Result;
use iotax_fleet::engine::{kubernetes, slurm};
use iotax_fleet::inventory::{FleetHost, Inventory, limit_hosts, read_hosts};
use iotax_fleet::plan::{EngineChoice, PodSettings};
use iotax_units::count_noun;
use iotax_units::exit::Failed;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

/// Arguments that choose hosts.
#[derive(clap::Args, Debug)]
pub struct HostsArgs {
    /// A list of hosts, an Ansible inventory (.ini, .yaml, .json), slurm:PARTITION, or
    /// k8s:SELECTOR
    #[arg(long, value_name = "HOSTS")]
    pub hosts: String,
    /// Choose hosts and groups: "rack1,db*"; "!node7" leaves out
    #[arg(long, value_name = "PATTERN,...")]
    pub limit: Option<String>,
    /// Stop unless there are exactly N hosts. Required for slurm: and k8s:
    #[arg(long, value_name = "N")]
    pub expect: Option<usize>,
    /// Measure on at most N hosts at the same time; use 1 if they share storage or a network
    #[arg(long, value_name = "N", default_value_t = NonZeroUsize::MIN.saturating_add(31))]
    pub parallel: NonZeroUsize,
    /// Option for sbatch and srun, such as --sbatch=--account=x. Repeat for more (only with
    /// slurm:PARTITION)
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    pub sbatch: Vec<String>,
    /// Container image with iotax (only with k8s:SELECTOR)
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<String>,
    /// Namespace of the Jobs (only with k8s:SELECTOR)
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub namespace: String,
    /// When nodes pull the image: IfNotPresent, Always or Never
    #[arg(long, value_name = "POLICY", default_value = "IfNotPresent")]
    pub pull_policy: String,
}

/// How long a host that no longer answers is asked again.
#[derive(clap::Args, Debug)]
pub struct PatienceArgs {
    /// How long to retry a host that stops answering, before its state becomes unknown
    #[arg(long, value_name = "TIME", default_value = "2min", value_parser = iotax_units::parse_duration)]
    pub patience: Duration,
}

impl HostsArgs {
    /// Returns the hosts and what carries tasks to them.
    ///
    /// # Errors
    /// Bad input: the source cannot be read, nothing matches, or there are more or fewer hosts than
    /// were expected.
    pub fn chosen(&self) -> Result<(Vec<FleetHost>, EngineChoice)> {
        let (inventory, engine) = self.source()?;
        let hosts = match &self.limit {
            Some(patterns) => limit_hosts(inventory.hosts, patterns)?,
            None => inventory.hosts,
        };
        if self.expect.is_none() && engine != EngineChoice::Ssh {
            return Err(Failed::input(format!(
                "{} selects {}; hint: add --expect {} if that is what you mean",
                self.hosts,
                count_noun(hosts.len() as u64, "host", "hosts"),
                hosts.len()
            ))
            .into());
        }
        if let Some(expected) = self.expect.filter(|expected| *expected != hosts.len()) {
            return Err(Failed::input(format!(
                "{} has {} and you expected {expected}; nothing was started; hint: --limit chooses hosts",
                self.hosts,
                count_noun(hosts.len() as u64, "host", "hosts"),
            ))
            .into());
        }
        Ok((hosts, engine))
    }

    /// Returns all hosts of the source, and what carries tasks to them.
    fn source(&self) -> Result<(Inventory, EngineChoice)> {
        if let Some(partition) = self.hosts.strip_prefix("slurm:") {
            let hosts = slurm::nodes_of(partition)?;
            let engine = EngineChoice::Slurm {
                partition: partition.to_owned(),
                options: self.sbatch.clone(),
            };
            return Ok((Inventory { hosts, notes: Vec::new() }, engine));
        }
        if let Some(selector) = self.hosts.strip_prefix("k8s:") {
            let image = self.image.clone().ok_or_else(|| {
                Failed::input(
                    "k8s: runs an image; hint: --image REGISTRY/iotax:TAG, which `podman build -f Containerfile` makes",
                )
            })?;
            let hosts = kubernetes::nodes_of(selector)?;
            let (namespace, pull_policy) = (self.namespace.clone(), self.pull_policy.clone());
            let pods = PodSettings { namespace, image, pull_policy };
            return Ok((Inventory { hosts, notes: Vec::new() }, EngineChoice::Kubernetes(pods)));
        }
        let inventory = read_hosts(Path::new(&self.hosts))?;
        for note in &inventory.notes {
            say_aside(&format!("{}: {note}", self.hosts));
        }
        Ok((inventory, EngineChoice::Ssh))
    }
}
