//! What a target is: its SPDK, the methods it has, its reactors and how they wait, the process that
//! it runs in. It only asks.

use super::rpc::{LIMIT, Rpc, RpcError};
use iotax_facts::spdk::{Reactor, SpdkTarget};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// A target that answers.
#[derive(Clone, Debug, PartialEq)]
pub struct SpdkConnection {
    /// What a run records of it.
    pub facts: SpdkTarget,
    /// Methods that can be called now.
    methods: BTreeSet<String>,
    /// Its process, where it is one of this host's that can be seen.
    pub process: Option<u32>,
}

/// What a guest's disk takes, whatever its bdev is.
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
    /// SPDK before 20.10 has polling reactors only.
    #[serde(default)]
    in_interrupt: bool,
}

impl SpdkConnection {
    /// Asks the target that listens there.
    ///
    /// # Errors
    /// [`RpcError`].
    pub fn connect(socket: &Path) -> Result<SpdkConnection, RpcError> {
        SpdkConnection::ask_target(&mut Rpc::connect(socket, LIMIT)?, socket)
    }

    /// Asks the target at the other end.
    ///
    /// # Errors
    /// [`RpcError`].
    pub fn ask_target(rpc: &mut Rpc, socket: &Path) -> Result<SpdkConnection, RpcError> {
        let version = rpc.call("spdk_get_version", Value::Null)?;
        let version = version["version"].as_str().unwrap_or("SPDK").trim().to_owned();
        let methods = rpc.call("rpc_get_methods", json!({"current": true}))?;
        let methods: BTreeSet<String> = serde_json::from_value(methods).unwrap_or_default();
        // One that waits for framework_start_init has no reactors to tell of yet.
        let framework = match methods.contains("framework_get_reactors") {
            true => rpc.call("framework_get_reactors", Value::Null)?,
            false => Value::Null,
        };
        let framework: Option<Framework> = serde_json::from_value(framework).ok();
        let told = framework.iter().flat_map(|framework| &framework.reactors);
        let reactors =
            told.map(|told| Reactor { core: told.lcore, polls: !told.in_interrupt }).collect();
        let facts = SpdkTarget { socket: socket.to_owned(), version, reactors };
        Ok(SpdkConnection {
            facts,
            methods,
            process: framework.and_then(|framework| framework.process()),
        })
    }

    /// What of these methods it has not.
    fn lacks<'a>(&self, asked: &[&'a str]) -> Vec<&'a str> {
        asked.iter().copied().filter(|method| !self.methods.contains(*method)).collect()
    }
}

impl Framework {
    /// The target tells its pid in its own namespace; it is the same here if its threads are, too.
    fn process(&self) -> Option<u32> {
        let pid = self.pid?;
        let here = |told: &TargetAnswer| {
            told.tid.is_some_and(|tid| Path::new(&format!("/proc/{pid}/task/{tid}")).exists())
        };
        (!self.reactors.is_empty() && self.reactors.iter().all(here)).then_some(pid)
    }
}

/// Whether a target that can serve disks of guests answers there, with these methods beside those
/// that all of them take.
///
/// # Errors
/// What is lacking, in words.
pub fn answers(socket: &Path, more: &[&str]) -> Result<(), String> {
    has(socket, &[METHODS, more].concat())
}

/// Whether a target answers there that has these methods.
///
/// # Errors
/// What is lacking, in words.
pub fn has(socket: &Path, methods: &[&str]) -> Result<(), String> {
    let target = SpdkConnection::connect(socket).map_err(|error| error.to_string())?;
    let lacks = target.lacks(methods);
    match lacks.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "the SPDK target behind {} ({}) has no {}: it is another of SPDK's programs, built without it, or not yet initialized",
            socket.display(),
            target.facts.version,
            lacks.join(", ")
        )),
    }
}
