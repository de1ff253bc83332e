//! Makes, finds and removes a bdev's NVMe-oF subsystem in a target by its NQN. The transport is
//! made where the target lacks it, and stays: SPDK has no call that removes one. Refuses a
//! subsystem that exists already.

use super::look::{Bdevs, list_objects, running};
use super::rpc::{LIMIT, Rpc};

use crate::path_ref::PathRef;
use crate::refusal::{NotOurs, NothingMade};
use anyhow::{Result, anyhow};
use iotax_facts::one_or_more;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::net::IpAddr;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportSpdkNvmf {
    pub bdev: PathRef,
    /// NQN of the subsystem. It carries the run's id.
    pub nqn: String,
    /// Serial of at most 20 characters, by which the initiator finds the drive.
    pub serial: String,
    /// NQNs of the hosts that may connect.
    #[serde(alias = "host", with = "one_or_more")]
    pub hosts: Vec<String>,
    /// SPDK's word for the transport: `TCP`, `RDMA`.
    pub transport: String,
    pub at: (IpAddr, u16),
    /// True if the target had the transport before; `None` if nobody has looked yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_transport: Option<bool>,
}

pub const METHODS: [&str; 9] = [
    "bdev_get_bdevs",
    "nvmf_create_subsystem",
    "nvmf_create_transport",
    "nvmf_delete_subsystem",
    "nvmf_get_subsystems",
    "nvmf_get_transports",
    "nvmf_subsystem_add_host",
    "nvmf_subsystem_add_listener",
    "nvmf_subsystem_add_ns",
];

const NSID: u32 = 1;

pub fn has_transport(asked: &ExportSpdkNvmf) -> Result<bool> {
    let (socket, _) = asked.bdev.bdev()?;
    lists_transport(&mut Rpc::connect(socket, LIMIT)?, &asked.transport)
}

/// Returns true if the target lists that transport. It lists all of them, since asking for one that
/// does not exist is an error.
fn lists_transport(rpc: &mut Rpc, transport: &str) -> Result<bool> {
    Ok(list_objects(rpc, "nvmf_get_transports", Value::Null)?
        .iter()
        .any(|one| one["trtype"] == transport))
}

/// Makes the subsystem, and the transport if the target lacks it.
///
/// # Errors
/// [`NothingMade`] if the target has such a subsystem already. Fails too if the target is not there
/// or refuses a part.
pub fn export(asked: &ExportSpdkNvmf) -> Result<()> {
    let (socket, bdev) = asked.bdev.bdev()?;
    let (mut rpc, nqn) = (Rpc::connect(socket, LIMIT)?, &asked.nqn);
    if subsystem(&mut rpc, nqn)?.is_some() {
        let why =
            anyhow!("the SPDK target has the subsystem {nqn} already, which this run did not make");
        return Err(why.context(NothingMade));
    }
    if !lists_transport(&mut rpc, &asked.transport)? {
        rpc.call("nvmf_create_transport", json!({"trtype": asked.transport}))?;
    }
    let new = json!({
        "nqn": nqn, "serial_number": asked.serial, "model_number": "iotax", "allow_any_host": false, "max_namespaces": 1,
    });
    rpc.call("nvmf_create_subsystem", new)?;
    for host in &asked.hosts {
        rpc.call("nvmf_subsystem_add_host", json!({"nqn": nqn, "host": host}))?;
    }
    let bdevs = Bdevs::look_up(&mut rpc)?;
    let namespace = json!({"bdev_name": bdevs.real_name(bdev)?, "nsid": NSID});
    rpc.call("nvmf_subsystem_add_ns", json!({"nqn": nqn, "namespace": namespace}))?;
    rpc.call("nvmf_subsystem_add_listener", json!({"nqn": nqn, "listen_address": listener(asked)}))
        .map(drop)?;
    Ok(())
}

fn listener(asked: &ExportSpdkNvmf) -> Value {
    let (address, port) = asked.at;
    let family = if address.is_ipv4() { "IPv4" } else { "IPv6" };
    json!({
        "trtype": asked.transport, "adrfam": family, "traddr": address.to_string(), "trsvcid": port.to_string(),
    })
}

fn subsystem(rpc: &mut Rpc, nqn: &str) -> Result<Option<Value>> {
    let all = list_objects(rpc, "nvmf_get_subsystems", Value::Null)?;
    Ok(all.into_iter().find(|one| one["nqn"] == *nqn))
}

/// Returns true if the subsystem exists, whole or in parts. A target that is gone has nothing.
///
/// # Errors
/// If the target is there and does not answer, or the export's `bdev` is not a bdev.
pub fn is_there(asked: &ExportSpdkNvmf) -> Result<bool> {
    let (socket, _) = asked.bdev.bdev()?;
    match running(socket)? {
        Some(mut rpc) => Ok(subsystem(&mut rpc, &asked.nqn)?.is_some()),
        None => Ok(false),
    }
}

/// Removes the subsystem with all that is in it.
///
/// # Errors
/// [`NotOurs`] if it has another bdev. Fails too if the target refuses.
pub fn unexport(asked: &ExportSpdkNvmf) -> Result<()> {
    let (socket, bdev) = asked.bdev.bdev()?;
    let Some(mut rpc) = running(socket)? else { return Ok(()) };
    let Some(found) = subsystem(&mut rpc, &asked.nqn)? else { return Ok(()) };
    let bdevs = Bdevs::look_up(&mut rpc)?;
    let namespaces = found["namespaces"].as_array().into_iter().flatten();
    let mut served = namespaces.filter_map(|namespace| namespace["bdev_name"].as_str());
    if let Some(other) = served.find(|served| !bdevs.are_one(served, bdev)) {
        let why = format!(
            "the SPDK target's subsystem {} serves {other}, not {bdev}: left alone",
            asked.nqn
        );
        return Err(NotOurs(why).into());
    }
    rpc.call("nvmf_delete_subsystem", json!({"nqn": asked.nqn})).map(drop)?;
    Ok(())
}
