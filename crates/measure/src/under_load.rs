//! A stack that is up, as the load sees it: places, targets, the other end of a network.

use iotax_drivers::threads::ServingThread;
use iotax_facts::place::Place;
use iotax_load::TargetSpec;
use iotax_model::scenario::Engine;
use iotax_model::stack::Medium;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Limit for preparing a worker. Preparing opens files and allocates; fio lays out nothing since
/// the files are full. Without an agent, the guard's look and fio's trials are a command over ssh
/// each.
pub(super) const PREPARE_LIMIT: Duration = Duration::from_secs(150);

#[derive(Clone, Debug)]
pub struct StackUnderLoad {
    pub index: usize,
    pub stack: String,
    /// Places where the load runs: one, or several that begin every slice at the same time.
    pub members: Vec<LoadedMember>,
    /// Load generator that the stack names; `None`: the workload's.
    pub engine: Option<Engine>,
    /// Paths on this host whose data must be on the disk before a slice that writes begins.
    pub owed: Vec<PathBuf>,
    /// Places below that work for the stack without load in them: the other ends of fabrics.
    pub others: Vec<Place>,
    pub media: Vec<(Place, Vec<PathBuf>)>,
    pub far_end: Option<FarEnd>,
    pub serving: BTreeMap<Place, Vec<ServingThread>>,
}

#[derive(Clone, Debug)]
pub struct LoadedMember {
    pub place: Place,
    /// Targets of the load in this place; all members of an `each([..])` are loaded at once.
    pub targets: Vec<TargetSpec>,
}

impl LoadedMember {
    pub(super) fn path(&self, target: usize) -> String {
        self.targets.get(target).map(|target| target.path.display().to_string()).unwrap_or_default()
    }
}

impl StackUnderLoad {
    pub fn is_in(&self, place: &Place) -> bool {
        self.members.iter().any(|member| member.place == *place)
    }

    pub fn targets(&self) -> impl Iterator<Item = &TargetSpec> {
        self.members.iter().flat_map(|member| &member.targets)
    }
}

/// The place that answers network probes.
#[derive(Clone, Debug)]
pub struct FarEnd {
    pub(super) place: Place,
    pub(super) address: Option<IpAddr>,
    pub(super) port: Option<u16>,
}

impl FarEnd {
    /// Returns the other end of a medium that is a network; `None` for any other medium.
    pub fn network_medium(medium: &Medium) -> Option<FarEnd> {
        let Medium::Net { to, address, port, .. } = medium else { return None };
        Some(FarEnd { place: to.clone(), address: *address, port: *port })
    }

    /// Returns the other end of a stack: this host, if the stack names none.
    pub(super) fn of_ready(ready: &StackUnderLoad) -> FarEnd {
        ready.far_end.clone().unwrap_or(FarEnd { place: Place::Host, address: None, port: None })
    }
}
