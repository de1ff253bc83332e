//! The kernel's NVMe target through configfs: a subsystem with one namespace, the hosts that may
//! connect to it, and one port at a named address. Any other host is refused, and none sees it in
//! the discovery.

use super::export::{self, CONFIGFS, echo_by_hand};

use super::settings::{self, ThingSettings};
use crate::path_ref::PathRef;
use crate::plain_file::write_sysfs;
use crate::refusal::NothingMade;
use anyhow::{Context, Result, anyhow};
use iotax_facts::one_or_more;
use iotax_host::probe::Probe;
use iotax_units::shell;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Subsystem with one namespace, the hosts that may connect, and a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportNvmf {
    pub device: PathRef,
    pub nqn: String,
    /// NQNs of the hosts that may connect.
    #[serde(alias = "host_nqn", with = "one_or_more")]
    pub host_nqns: Vec<String>,
    /// NQNs of those whose entries the machine had before, which stay; seen before the change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts_before: Vec<String>,
    /// Number of the port in configfs.
    pub port_id: u16,
    /// Transport: `tcp`, `rdma` or `loop`.
    pub transport: String,
    /// Address and port where it listens; `None` for `loop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<(IpAddr, u16)>,
    /// Most bytes of data that are sent with a command; `None` for the kernel's choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline_data_size: Option<u64>,
}

/// Iterates over the NQNs of the hosts whose entries the export makes.
pub fn own_hosts(subsystem: &ExportNvmf) -> impl Iterator<Item = &String> {
    subsystem.host_nqns.iter().filter(|nqn| !subsystem.hosts_before.contains(nqn))
}

/// Returns the hosts of an export whose entries are there.
pub fn hosts_there(subsystem: &ExportNvmf) -> Vec<String> {
    subsystem.host_nqns.iter().filter(|nqn| host(nqn).exists()).cloned().collect()
}

fn root() -> PathBuf {
    Path::new(CONFIGFS).join("nvmet")
}

pub fn folder(nqn: &str) -> PathBuf {
    root().join("subsystems").join(nqn)
}

fn host(nqn: &str) -> PathBuf {
    root().join("hosts").join(nqn)
}

fn port(number: u16) -> PathBuf {
    root().join("ports").join(number.to_string())
}

fn modules(transport: &str) -> Vec<&'static str> {
    let own = match transport {
        "tcp" => "nvmet-tcp",
        "rdma" => "nvmet-rdma",
        _ => "nvme-loop",
    };
    vec!["nvmet", own]
}

/// Makes the subsystem, the host that may connect and the port, and returns the subsystem's folder.
///
/// # Errors
/// If the device is in use, this machine lacks the address, the port is taken, one of the three
/// exists already ([`NothingMade`]), or the kernel has no such target or refuses a part.
pub fn export(subsystem: &ExportNvmf) -> Result<PathBuf> {
    export::check_free(subsystem.device.resolved_path()?)?;
    if let Some((address, service)) = subsystem.at {
        export::check_address(address, (subsystem.transport == "tcp").then_some(service))?;
    }
    export::load_configfs(&root(), &modules(&subsystem.transport))?;
    let folder = folder(&subsystem.nqn);
    let hosts = own_hosts(subsystem).map(|nqn| host(nqn));
    let mut taken = [folder.clone(), port(subsystem.port_id)].into_iter().chain(hosts);
    if let Some(there) = taken.find(|there| there.exists()) {
        return Err(anyhow!("there is a {} already", there.display()).context(NothingMade));
    }
    export::make_new(&folder)?;
    write_sysfs(&folder.join("attr_allow_any_host"), "0")?;
    own_hosts(subsystem).try_for_each(|nqn| export::make_new(&host(nqn)))?;
    for nqn in &subsystem.host_nqns {
        export::link(&host(nqn), &folder.join("allowed_hosts").join(nqn))?;
    }
    show(subsystem, &folder.join("namespaces/1"))?;
    listen(subsystem, &port(subsystem.port_id))?;
    Ok(folder)
}

/// Returns the commands that do what [`export`] does.
pub fn export_by_hand(subsystem: &ExportNvmf) -> Vec<String> {
    let folder = folder(&subsystem.nqn);
    let (namespace, port) = (folder.join("namespaces/1"), port(subsystem.port_id));
    let mut lines = export::load_by_hand(&modules(&subsystem.transport));
    let hosts: Vec<PathBuf> = subsystem.host_nqns.iter().map(|nqn| host(nqn)).collect();
    let folders = [&folder].into_iter().chain(&hosts).chain([&namespace, &port]);
    lines.extend([
        export::folders_by_hand(folders.map(PathBuf::as_path).collect::<Vec<_>>()),
        echo_by_hand("0", &folder.join("attr_allow_any_host")),
    ]);
    lines.extend(
        hosts
            .iter()
            .zip(&subsystem.host_nqns)
            .map(|(host, nqn)| export::link_by_hand(host, &folder.join("allowed_hosts").join(nqn))),
    );
    lines.extend([
        echo_by_hand(&subsystem.device.to_string(), &namespace.join("device_path")),
        echo_by_hand("1", &namespace.join("enable")),
        echo_by_hand(&subsystem.transport, &port.join("addr_trtype")),
    ]);
    if let Some((address, service)) = subsystem.at {
        lines.extend([
            echo_by_hand(export::family(address), &port.join("addr_adrfam")),
            echo_by_hand(&address.to_string(), &port.join("addr_traddr")),
            echo_by_hand(&service.to_string(), &port.join("addr_trsvcid")),
        ]);
    }
    let inline = subsystem.inline_data_size;
    lines.extend(
        inline.map(|bytes| echo_by_hand(&bytes.to_string(), &port.join("param_inline_data_size"))),
    );
    lines.push(export::link_by_hand(&folder, &port.join("subsystems").join(&subsystem.nqn)));
    lines
}

fn show(subsystem: &ExportNvmf, namespace: &Path) -> Result<()> {
    let device = subsystem.device.resolved_path()?.to_str().context("a path that is not UTF-8")?;
    export::make_new(namespace)?;
    write_sysfs(&namespace.join("device_path"), device)?;
    write_sysfs(&namespace.join("enable"), "1").with_context(|| {
        format!("nvmet does not serve {device}: the kernel's log (dmesg) says why")
    })
}

fn listen(subsystem: &ExportNvmf, port: &Path) -> Result<()> {
    export::make_new(port)?;
    write_sysfs(&port.join("addr_trtype"), &subsystem.transport)?;
    if let Some((address, service)) = subsystem.at {
        write_sysfs(&port.join("addr_adrfam"), export::family(address))?;
        write_sysfs(&port.join("addr_traddr"), &address.to_string())?;
        write_sysfs(&port.join("addr_trsvcid"), &service.to_string())?;
    }
    if let Some(bytes) = subsystem.inline_data_size {
        write_sysfs(&port.join("param_inline_data_size"), &bytes.to_string())?;
    }
    export::link(&folder(&subsystem.nqn), &port.join("subsystems").join(&subsystem.nqn))
        .with_context(|| {
            let at =
                subsystem.at.map(|(address, service)| format!(" at {address}, port {service}"));
            format!(
                "nvmet does not listen by {}{}; hint: the kernel's log (dmesg) says why",
                subsystem.transport,
                at.unwrap_or_default()
            )
        })
}

/// Returns true if the subsystem or one of its own hosts exists. The port is made after both and
/// removed first.
pub fn is_exported(subsystem: &ExportNvmf) -> bool {
    folder(&subsystem.nqn).exists() || own_hosts(subsystem).any(|nqn| host(nqn).exists())
}

/// Reads settings of the port, the subsystem and the namespace, by configfs's names. Leaves out
/// those that this kernel does not have.
pub fn settings_of(probe: &Probe, subsystem: &ExportNvmf) -> ThingSettings {
    let port = [
        "addr_trtype",
        "addr_traddr",
        "addr_trsvcid",
        "param_inline_data_size",
        "param_max_queue_size",
    ];
    let (folder, port_folder) = (folder(&subsystem.nqn), self::port(subsystem.port_id));
    let mut all = settings::files(probe, &port_folder, &port);
    all.extend(settings::files(probe, &folder, &["attr_qid_max", "attr_version"]));
    all.extend(settings::files(probe, &folder.join("namespaces/1"), &["buffered_io"]));
    all
}

/// Removes the port, the namespace, the subsystem and its own hosts, as far as they exist.
///
/// # Errors
/// When a part is still in use.
pub fn unexport(subsystem: &ExportNvmf) -> Result<()> {
    let (folder, port) = (folder(&subsystem.nqn), port(subsystem.port_id));
    export::unlink(&port.join("subsystems").join(&subsystem.nqn))?;
    export::remove(&port)?;
    let namespace = folder.join("namespaces/1");
    if namespace.exists() {
        write_sysfs(&namespace.join("enable"), "0")?;
    }
    export::remove(&namespace)?;
    for nqn in &subsystem.host_nqns {
        export::unlink(&folder.join("allowed_hosts").join(nqn))?;
    }
    export::remove(&folder)?;
    own_hosts(subsystem).try_for_each(|nqn| export::remove(&host(nqn)))
}

pub fn unexport_by_hand(subsystem: &ExportNvmf) -> String {
    let (nqn, port) = (&subsystem.nqn, subsystem.port_id);
    let allowed = subsystem.host_nqns.iter();
    let links = std::iter::once(format!("ports/{port}/subsystems/{nqn}"))
        .chain(allowed.map(|host| format!("subsystems/{nqn}/allowed_hosts/{host}")));
    let folders = [
        format!("ports/{port}"),
        format!("subsystems/{nqn}/namespaces/1"),
        format!("subsystems/{nqn}"),
    ];
    let folders =
        folders.into_iter().chain(own_hosts(subsystem).map(|host| format!("hosts/{host}")));
    format!(
        "cd {}; rm {}; rmdir {}",
        shell::path(root()),
        shell::quote_line(links),
        shell::quote_line(folders)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_hosts_that_were_there_before_stay() {
        let subsystem = ExportNvmf {
            device: PathRef::Path("/dev/nvme1n1".into()),
            nqn: "nqn.x:r".into(),
            host_nqns: vec!["nqn.x:theirs".into(), "nqn.x:new".into()],
            hosts_before: vec!["nqn.x:theirs".into()],
            port_id: 10_001,
            transport: "tcp".into(),
            at: None,
            inline_data_size: None,
        };
        assert_eq!(own_hosts(&subsystem).collect::<Vec<_>>(), ["nqn.x:new"]);
        let undo = unexport_by_hand(&subsystem);
        let (links, folders) = undo.split_once("; rmdir ").unwrap();
        assert!(links.contains("allowed_hosts/nqn.x:theirs"), "{undo}");
        assert!(folders.contains("hosts/nqn.x:new") && !folders.contains("theirs"), "{undo}");
    }
}
