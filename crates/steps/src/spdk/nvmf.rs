//! A bdev's NVMe-oF subsystem in a target: made, found and taken away by its NQN. The transport is
//! made where the target has none, and stays: SPDK has no call that removes one. Refuses a
//! subsystem that is there.

use super::look::{Bdevs, listed, running};
use super::rpc::{LIMIT, Rpc};
use crate::op::ExportSpdkNvmf;
use crate::system::{NotOurs, NothingMade};
use anyhow::{Result, anyhow};
use serde_json::{Value, json};

/// Of a namespace: there is one.
const NSID: u32 = 1;

/// Whether the target has that transport.
///
/// # Errors
/// When it does not answer.
pub fn has_transport(asked: &ExportSpdkNvmf) -> Result<bool> {
    let (socket, _) = asked.bdev.bdev()?;
    has(&mut Rpc::connect(socket, LIMIT)?, &asked.transport)
}

/// Of all, as to ask for one that is not there is an error.
fn has(rpc: &mut Rpc, transport: &str) -> Result<bool> {
    Ok(listed(rpc, "nvmf_get_transports", Value::Null)?
        .iter()
        .any(|one| one["trtype"] == transport))
}

/// Makes all of it.
///
/// # Errors
/// When the target refuses a part, or has such a subsystem already.
pub fn export(asked: &ExportSpdkNvmf) -> Result<()> {
    let (socket, bdev) = asked.bdev.bdev()?;
    let (mut rpc, nqn) = (Rpc::connect(socket, LIMIT)?, &asked.nqn);
    if subsystem(&mut rpc, nqn)?.is_some() {
        let why =
            anyhow!("the SPDK target has the subsystem {nqn} already, which this run did not make");
        return Err(why.context(NothingMade));
    }
    if !has(&mut rpc, &asked.transport)? {
        rpc.call("nvmf_create_transport", json!({"trtype": asked.transport}))?;
    }
    let new = json!({
        "nqn": nqn, "serial_number": asked.serial, "model_number": "iotax", "allow_any_host": false, "max_namespaces": 1,
    });
    rpc.call("nvmf_create_subsystem", new)?;
    rpc.call("nvmf_subsystem_add_host", json!({"nqn": nqn, "host": asked.host}))?;
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
    let all = listed(rpc, "nvmf_get_subsystems", Value::Null)?;
    Ok(all.into_iter().find(|one| one["nqn"] == *nqn))
}

/// Whether the subsystem is there, whole or in parts.
///
/// # Errors
/// When the target does not answer. One that is gone has nothing.
pub fn is_there(asked: &ExportSpdkNvmf) -> Result<bool> {
    let (socket, _) = asked.bdev.bdev()?;
    match running(socket)? {
        Some(mut rpc) => Ok(subsystem(&mut rpc, &asked.nqn)?.is_some()),
        None => Ok(false),
    }
}

/// Takes the subsystem away with all that is in it.
///
/// # Errors
/// [`NotOurs`] where it has another bdev; when the target refuses.
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
