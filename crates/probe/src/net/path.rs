//! Facts about the path between this place and an address: the route that the kernel takes, its
//! interface, and the capabilities of that interface.

use super::netlink::{self, NetworkInterface, Route};
use crate::ProbeError;
use iotax_sys::child::output_of;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Distance of the other end, as the kernel's route shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathKind {
    SameHost,
    /// Address on the link of an interface, without a router: a switch, a bridge, a tunnel.
    SameSubnet,
    /// Address in a private network that a router leads to.
    Routed,
    /// Public address that a router leads to.
    Public,
}

/// Path to another end and the interface that it begins at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathFacts {
    /// Address that this place sends from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local: Option<IpAddr>,
    pub peer: IpAddr,
    pub kind: PathKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gateway: Option<IpAddr>,
    pub interface: String,
    /// MTU of the route, or of the interface, in bytes.
    pub mtu: u32,
    /// Kind of a virtual interface: `loopback`, `veth`, `bridge`, `tun`, or the driver of a virtual
    /// machine's card, `virtio_net`; `None` for hardware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtual_kind: Option<String>,
    /// Speed that the interface reports, in megabits per second. `None` if it does not know it, and
    /// for an interface made by the kernel, whose figure means nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_mbit: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplex: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rx_queues: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tx_queues: Option<u32>,
    /// State of the offloads of the card or the kernel's network stack, by ethtool's names; `None`
    /// if ethtool is not installed or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offloads: Option<BTreeMap<String, bool>>,
}

/// Writes a line such as `10.0.0.2 over eth0 (virtio_net, mtu 1500, 2 receive and 2 send queues),
/// on the same link, offloads: tcp-segmentation-offload`.
impl fmt::Display for PathFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.virtual_kind.as_ref().or(self.driver.as_ref());
        let kind = kind.map(|kind| format!("{kind}, ")).unwrap_or_default();
        let speed = self.speed_mbit.map(|speed| format!(", {speed} Mbit/s")).unwrap_or_default();
        let queues = self.rx_queues.zip(self.tx_queues);
        let queues = queues
            .map(|(rx, tx)| format!(", {rx} receive and {tx} send queues"))
            .unwrap_or_default();
        let way = match self.kind {
            PathKind::SameHost => "on the same host",
            PathKind::SameSubnet => "on the same link",
            PathKind::Routed => "through a router",
            PathKind::Public => "at a public address, through a router",
        };
        write!(
            f,
            "{} over {} ({kind}mtu {}{speed}{queues}), {way}",
            self.peer, self.interface, self.mtu
        )?;
        let Some(offloads) = &self.offloads else { return Ok(()) };
        let on: Vec<&str> =
            offloads.iter().filter(|(_, on)| **on).map(|(name, _)| name.as_str()).collect();
        if on.is_empty() {
            write!(f, ", no offloads")
        } else {
            write!(f, ", offloads: {}", on.join(", "))
        }
    }
}

/// Offloads that are recorded, because they change the CPU time that a byte takes.
const OFFLOADS: [&str; 9] = [
    "rx-checksumming",
    "tx-checksumming",
    "scatter-gather",
    "tcp-segmentation-offload",
    "generic-segmentation-offload",
    "generic-receive-offload",
    "large-receive-offload",
    "tx-udp-segmentation",
    "rx-gro-hw",
];
/// Drivers of network cards that only virtual machines have.
const OF_HYPERVISORS: [&str; 9] =
    ["virtio_net", "vmxnet3", "hv_netvsc", "mana", "ena", "gve", "xen_netfront", "vif", "iavf"];
const ETHTOOL_WITHIN: Duration = Duration::from_secs(5);
const SYS: &str = "/sys/class/net";

/// Reads the facts of the path to an address, as this place sees it now.
///
/// # Errors
/// When no route leads there, or the kernel does not report the route or its interface.
pub fn facts(peer: IpAddr) -> Result<PathFacts, ProbeError> {
    let route = netlink::route(peer).map_err(|source| match source.kind() {
        std::io::ErrorKind::NetworkUnreachable | std::io::ErrorKind::HostUnreachable => {
            ProbeError::Unfit(format!(
                "there is no route to {peer}; hint: ip route shows the routes of this machine"
            ))
        }
        _ => ProbeError::System { action: format!("find the route to {peer}"), source },
    })?;
    let link = netlink::link(route.interface).map_err(|source| ProbeError::System {
        action: "look at the interface of a route".into(),
        source,
    })?;
    let offloads = ethtool(&link.name);
    Ok(combine(peer, &route, &link, Path::new(SYS), offloads.as_deref()))
}

/// Returns the output of `ethtool -k`; `None` if it is not installed, does not know the interface,
/// or does not end in time.
fn ethtool(interface: &str) -> Option<String> {
    let mut command = Command::new("ethtool");
    command.args(["-k", interface]).env("LC_ALL", "C");
    let output = output_of(&mut command, ETHTOOL_WITHIN).ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn combine(
    peer: IpAddr,
    route: &Route,
    link: &NetworkInterface,
    sys: &Path,
    ethtool: Option<&str>,
) -> PathFacts {
    let folder = sys.join(&link.name);
    let read =
        |name: &str| fs::read_to_string(folder.join(name)).ok().map(|text| text.trim().to_owned());
    let driver = fs::read_link(folder.join("device/driver"))
        .ok()
        .and_then(|driver| Some(driver.file_name()?.to_string_lossy().into_owned()));
    let of_hypervisor = driver.clone().filter(|driver| OF_HYPERVISORS.contains(&driver.as_str()));
    let is_loopback = route.is_local && link.kind.is_none() && driver.is_none();
    let kernel_made =
        || (driver.is_none() && folder.join("tun_flags").exists()).then(|| "tun".to_owned());
    PathFacts {
        local: route.source,
        peer,
        kind: path_kind(peer, route),
        gateway: route.gateway,
        interface: link.name.clone(),
        mtu: route.mtu.unwrap_or(link.mtu),
        virtual_kind: match is_loopback {
            true => Some("loopback".into()),
            false => link.kind.clone().or(of_hypervisor).or_else(kernel_made),
        },
        // The speed is -1 if the interface does not know it. For an interface that the kernel makes
        // (bridge, tap, veth) the figure means nothing.
        speed_mbit: read("speed")
            .and_then(|speed| speed.parse().ok())
            .filter(|speed| *speed > 0 && link.kind.is_none()),
        duplex: read("duplex").filter(|duplex| matches!(duplex.as_str(), "full" | "half")),
        driver,
        rx_queues: queues(&folder, "rx-"),
        tx_queues: queues(&folder, "tx-"),
        offloads: ethtool.map(offloads),
    }
}

fn path_kind(peer: IpAddr, route: &Route) -> PathKind {
    match (route.is_local, route.gateway) {
        (true, _) => PathKind::SameHost,
        (false, None) => PathKind::SameSubnet,
        (false, Some(_)) if is_public(peer) => PathKind::Public,
        (false, Some(_)) => PathKind::Routed,
    }
}

/// Returns true if the address is outside the ranges reserved for private networks, providers' own,
/// links and examples.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => {
            let [a, b, ..] = address.octets();
            let is_shared = a == 100 && (64..128).contains(&b);
            let is_for_tests = a == 198 && (18..20).contains(&b);
            !(address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_documentation()
                || address.is_unspecified()
                || is_shared
                || is_for_tests)
        }
        IpAddr::V6(address) => {
            let first = address.segments()[0];
            // 2000::/3 without 2001:db8::/32.
            first & 0xe000 == 0x2000 && !(first == 0x2001 && address.segments()[1] == 0x0db8)
        }
    }
}

fn queues(folder: &Path, begins: &str) -> Option<u32> {
    let entries = fs::read_dir(folder.join("queues")).ok()?;
    let is_one = |name: &str| name.starts_with(begins);
    let number =
        entries.flatten().filter(|entry| is_one(&entry.file_name().to_string_lossy())).count();
    (number > 0).then_some(number as u32)
}

/// Returns the state of each of [`OFFLOADS`] from lines such as `scatter-gather: on [fixed]`. An
/// offload without such a line is left out.
fn offloads(text: &str) -> BTreeMap<String, bool> {
    let one = |line: &str| {
        let (name, state) = line.trim().split_once(':')?;
        let state = match state.split_whitespace().next()? {
            "on" => true,
            "off" => false,
            _ => return None,
        };
        OFFLOADS.contains(&name).then(|| (name.to_owned(), state))
    };
    text.lines().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn to(peer: &str, gateway: Option<&str>) -> PathKind {
        path_kind(ip(peer), &Route { gateway: gateway.map(ip), ..Route::default() })
    }

    #[test]
    fn paths_are_told_apart_by_route_and_address() {
        assert_eq!(
            path_kind(ip("10.0.0.1"), &Route { is_local: true, ..Route::default() }),
            PathKind::SameHost
        );
        assert_eq!(to("10.0.0.2", None), PathKind::SameSubnet);
        assert_eq!(
            to("8.8.8.8", None),
            PathKind::SameSubnet,
            "hosters give public addresses to one switch"
        );
        let routed = [
            "10.1.0.2",
            "192.168.9.9",
            "172.16.0.1",
            "100.64.3.2",
            "169.254.1.1",
            "192.0.2.7",
            "fd00::9",
            "fe80::1",
            "2001:db8::1",
        ];
        for peer in routed {
            assert_eq!(to(peer, Some("10.0.0.1")), PathKind::Routed, "{peer}");
        }
        for peer in
            ["8.8.8.8", "100.128.0.1", "172.32.0.1", "198.20.0.1", "2a01:4f8::1", "2001:4860::1"]
        {
            assert_eq!(to(peer, Some("10.0.0.1")), PathKind::Public, "{peer}");
        }
    }

    const ETHTOOL: &str = "Features for eth0:\nrx-checksumming: on [fixed]\ntx-checksumming: on\n\ttx-checksum-ipv4: off [fixed]\n\
        tcp-segmentation-offload: on\n\ttx-tcp-segmentation: on\ngeneric-receive-offload: off\nlarge-receive-offload: off [fixed]\n\
        highdma: on [fixed]\n";

    fn interface(
        files: &[(&str, &str)],
        driver: Option<&str>,
        queues: &[&str],
    ) -> tempfile::TempDir {
        let sys = tempfile::tempdir().unwrap();
        let folder = sys.path().join("eth0");
        fs::create_dir_all(folder.join("device")).unwrap();
        files.iter().for_each(|(name, text)| fs::write(folder.join(name), text).unwrap());
        if let Some(driver) = driver {
            symlink(format!("/sys/bus/virtio/drivers/{driver}"), folder.join("device/driver"))
                .unwrap();
        }
        queues
            .iter()
            .for_each(|name| fs::create_dir_all(folder.join("queues").join(name)).unwrap());
        sys
    }

    fn facts_of(
        sys: &tempfile::TempDir,
        link_kind: Option<&str>,
        ethtool: Option<&str>,
    ) -> PathFacts {
        let route = Route { interface: 2, source: Some(ip("10.0.0.1")), ..Route::default() };
        let link =
            NetworkInterface { name: "eth0".into(), mtu: 1500, kind: link_kind.map(str::to_owned) };
        combine(ip("10.0.0.2"), &route, &link, sys.path(), ethtool)
    }

    #[test]
    fn a_card_of_hardware_has_speed_queues_and_offloads() {
        let files = [("speed", "25000\n"), ("duplex", "full\n")];
        let sys = interface(&files, Some("mlx5_core"), &["rx-0", "rx-1", "tx-0", "tx-1", "tx-2"]);
        let facts = facts_of(&sys, None, Some(ETHTOOL));
        assert_eq!((facts.speed_mbit, facts.duplex.as_deref()), (Some(25_000), Some("full")));
        assert_eq!((facts.rx_queues, facts.tx_queues), (Some(2), Some(3)));
        assert_eq!(
            (facts.driver.as_deref(), facts.virtual_kind.as_deref()),
            (Some("mlx5_core"), None)
        );
        let offloads = facts.offloads.clone().unwrap();
        assert_eq!((offloads.len(), offloads["tcp-segmentation-offload"]), (5, true));
        assert_eq!(
            (offloads["generic-receive-offload"], offloads["rx-checksumming"]),
            (false, true)
        );
        assert_eq!(
            serde_json::from_str::<PathFacts>(&serde_json::to_string(&facts).unwrap()).unwrap(),
            facts
        );
    }

    #[test]
    fn what_is_virtual_says_so() {
        let unknown = [("speed", "-1\n"), ("duplex", "unknown\n")];
        let guest =
            facts_of(&interface(&unknown, Some("virtio_net"), &["rx-0", "tx-0"]), None, None);
        assert_eq!((guest.virtual_kind.as_deref(), guest.speed_mbit), (Some("virtio_net"), None));
        assert_eq!((guest.duplex, guest.offloads), (None, None));
        let veth = facts_of(&interface(&[("speed", "10000\n")], None, &[]), Some("veth"), None);
        assert_eq!((veth.virtual_kind.as_deref(), veth.rx_queues), (Some("veth"), None));
        assert_eq!(veth.speed_mbit, None, "10 Gbit/s is what veth says, whatever it does");
        let tun = facts_of(&interface(&[("tun_flags", "0x1001\n")], None, &[]), None, None);
        assert_eq!(tun.virtual_kind.as_deref(), Some("tun"));
    }

    #[test]
    fn this_machines_own_address_is_on_the_loopback() {
        let facts = facts(ip("127.0.0.1")).unwrap();
        assert_eq!((facts.kind, facts.interface.as_str()), (PathKind::SameHost, "lo"));
        assert_eq!(facts.virtual_kind.as_deref(), Some("loopback"));
        assert!(facts.mtu >= 1280 && facts.gateway.is_none());
    }
}
