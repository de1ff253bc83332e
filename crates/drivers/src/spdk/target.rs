//! Reads what a target is: its SPDK version, its methods, its reactors and how they wait, and its
//! process. It changes nothing.

use super::rpc::{LIMIT, Rpc, RpcError};
use iotax_facts::spdk::{Reactor, SpdkTarget};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// Facts about a running target, the methods that it has, and its process.
#[derive(Clone, Debug, PartialEq)]
pub struct SpdkConnection {
    pub facts: SpdkTarget,
    methods: BTreeSet<String>,
    /// Pid of the target; `None` if its process is not visible from here.
    pub process: Option<u32>,
}

/// Methods that every guest's disk needs, whatever its bdev is.
const METHODS: &[&str] = &[
    "bdev_get_bdevs",
    "bdev_split_create",
    "bdev_split_delete",
    "framework_get_reactors",
    "vhost_create_blk_controller",
    "vhost_delete_controller",
    "vhost_get_controllers",
];

#[derive(Deserialize)]
struct Framework {
    pid: Option<u32>,
    reactors: Vec<TargetAnswer>,
}

#[derive(Deserialize)]
struct TargetAnswer {
    lcore: u32,
    tid: Option<u32>,
    /// True if the reactor waits for interrupts. SPDK before 20.10 has polling reactors only.
    #[serde(default)]
    in_interrupt: bool,
}

impl SpdkConnection {
    pub fn connect(socket: &Path) -> Result<SpdkConnection, RpcError> {
        SpdkConnection::ask_target(&mut Rpc::connect(socket, LIMIT)?, socket)
    }

    pub fn ask_target(rpc: &mut Rpc, socket: &Path) -> Result<SpdkConnection, RpcError> {
        let version = rpc.call("spdk_get_version", Value::Null)?;
        let version = version["version"].as_str().unwrap_or("SPDK").trim().to_owned();
        let methods = rpc.call("rpc_get_methods", json!({"current": true}))?;
        let methods: BTreeSet<String> = serde_json::from_value(methods).unwrap_or_default();
        // A target that waits for framework_start_init has no reactors to report yet.
        let framework = match methods.contains("framework_get_reactors") {
            true => rpc.call("framework_get_reactors", Value::Null)?,
            false => Value::Null,
        };
        let framework: Option<Framework> = serde_json::from_value(framework).ok();
        let answers = framework.iter().flat_map(|framework| &framework.reactors);
        let reactors =
            answers.map(|one| Reactor { core: one.lcore, polls: !one.in_interrupt }).collect();
        let facts = SpdkTarget { socket: socket.to_owned(), version, reactors };
        Ok(SpdkConnection {
            facts,
            methods,
            process: framework.and_then(|framework| framework.process()),
        })
    }

    fn lacking_methods<'a>(&self, asked: &[&'a str]) -> Vec<&'a str> {
        asked.iter().copied().filter(|method| !self.methods.contains(*method)).collect()
    }
}

impl Framework {
    /// Returns the target's pid. The target reports it as its own PID namespace numbers it, and it
    /// is the same here only if the ids of its reactors' threads are, too; `None` if they are not.
    fn process(&self) -> Option<u32> {
        let pid = self.pid?;
        let here = |answer: &TargetAnswer| {
            answer.tid.is_some_and(|tid| Path::new(&format!("/proc/{pid}/task/{tid}")).exists())
        };
        (!self.reactors.is_empty() && self.reactors.iter().all(here)).then_some(pid)
    }
}

/// Checks that a target answers at a socket, and has the methods that every guest's disk needs and
/// those in `more`.
///
/// # Errors
/// A sentence that names the methods it lacks, or says why it does not answer.
pub fn answers(socket: &Path, more: &[&str]) -> Result<(), String> {
    check_target_methods(socket, &[METHODS, more].concat())
}

/// Checks that a target answers at a socket and has these methods.
///
/// # Errors
/// A sentence that names the methods it lacks, or says why it does not answer.
pub fn check_target_methods(socket: &Path, methods: &[&str]) -> Result<(), String> {
    let target = SpdkConnection::connect(socket).map_err(|error| error.to_string())?;
    let lacks = target.lacking_methods(methods);
    match lacks.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "the SPDK target at {} ({}) has no {}: it is another of SPDK's programs, built without it, or not yet initialized",
            socket.display(),
            target.facts.version,
            lacks.join(", ")
        )),
    }
}
