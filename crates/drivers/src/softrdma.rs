//! RDMA devices for a fabric: the one that the network card has, or one in software (rdma_rxe) on
//! that card or on a pair of virtual cards of our own. A note names the device, as software is not
//! representative of RDMA hardware.

use super::export;
use super::tool::{load_modules, tool};
use crate::tool::run_tool;
use anyhow::{Context, Result, anyhow, bail, ensure};
use iotax_host::probe::Probe;
use iotax_units::shell;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

const DEVICES: &str = "/sys/class/infiniband";
const CARDS: &str = "/sys/class/net";

/// Names of the RDMA device and the two virtual cards that a run makes. The kernel allows 15 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RdmaNames {
    pub rdma: String,
    pub card: String,
    pub peer: String,
}

pub fn names(short: &str) -> RdmaNames {
    RdmaNames {
        rdma: format!("ixr{short}"),
        card: format!("ixa{short}"),
        peer: format!("ixb{short}"),
    }
}

/// Makes a pair of virtual cards, gives one the address (with a prefix of `prefix` bits) and an
/// RDMA device in software, and returns the folder of that device in sysfs.
///
/// # Errors
/// If an address of that network or a name is taken, or a tool fails.
pub fn make_own(names: &RdmaNames, address: IpAddr, prefix: u8) -> Result<PathBuf> {
    let net = format!("{address}/{prefix}");
    let taken = run_tool(&mut tool("ip", ["-o", "addr", "show", "to", &net]))?;
    ensure!(
        taken.trim().is_empty(),
        "{net} is in use: {}; hint: name an address of this machine, address=...",
        taken.trim()
    );
    load()?;
    run_tool(&mut tool(
        "ip",
        ["link", "add", &names.card, "type", "veth", "peer", "name", &names.peer],
    ))?;
    run_tool(&mut tool("ip", ["addr", "add", &net, "dev", &names.card]))?;
    for card in [&names.card, &names.peer] {
        run_tool(&mut tool("ip", ["link", "set", card, "up"]))?;
    }
    add_rdma_link(names, &names.card)
}

/// Returns the folder in sysfs of the RDMA device on the network card that has an address. Makes
/// one in software if the card has none.
///
/// # Errors
/// If no card has the address, the card is the loopback device, or a tool fails.
pub fn device_at(names: &RdmaNames, address: IpAddr) -> Result<PathBuf> {
    export::check_address(address, None)?;
    let addresses = run_tool(&mut tool("ip", ["-o", "addr", "show", "to", &address.to_string()]))?;
    let card = card_with(&addresses)
        .ok_or_else(|| anyhow!("no network card has {address}: {}", addresses.trim()))?;
    device_on_card(names, card)
}

/// Returns the folder in sysfs of the RDMA device on the network card through which an address is
/// reached. Makes one in software if the card has none.
///
/// # Errors
/// If the address is not reached, the card is the loopback device, or a tool fails.
pub fn toward(names: &RdmaNames, address: IpAddr) -> Result<PathBuf> {
    let route = run_tool(&mut tool("ip", ["-o", "route", "get", &address.to_string()]))
        .with_context(|| format!("{address} is not reached from here"))?;
    let card = card_to(&route)
        .ok_or_else(|| anyhow!("no network card leads to {address}: {}", route.trim()))?;
    device_on_card(names, card)
}

fn device_on_card(names: &RdmaNames, card: &str) -> Result<PathBuf> {
    ensure!(
        card != "lo",
        "the loopback device has no RDMA; hint: leave address out, or name that of a network card"
    );
    match device_of(&Probe::of_files(Path::new("/")), card) {
        Some(found) => Ok(found),
        None => load().and_then(|()| add_rdma_link(names, card)),
    }
}

/// Loads rdma_rxe. It uses crc32, which some kernels have in modules that it does not load itself.
fn load() -> Result<()> {
    for module in ["crc32_generic", "crc32_pclmul"] {
        // A module that is not there is built in, or not of this machine.
        drop(run_tool(&mut tool("modprobe", ["-q", module])));
    }
    load_modules(&["rdma_rxe"])
}

fn add_rdma_link(names: &RdmaNames, card: &str) -> Result<PathBuf> {
    run_tool(&mut tool("rdma", ["link", "add", &names.rdma, "type", "rxe", "netdev", card]))?;
    Ok(Path::new(DEVICES).join(&names.rdma))
}

/// Returns the card's name from `3: eth0    inet 10.0.0.1/24 brd ...`: `eth0`.
fn card_with(addresses: &str) -> Option<&str> {
    let name = addresses.lines().next()?.split_whitespace().nth(1)?;
    // A virtual card is shown with what it is on: `eth0.5@eth0`.
    name.split('@').next()
}

/// Returns the card's name from `10.0.0.1 via 10.1.0.1 dev eth0 src ...`: `eth0`.
fn card_to(route: &str) -> Option<&str> {
    let mut words = route.split_whitespace().skip_while(|word| *word != "dev");
    words.nth(1)
}

fn device_of(probe: &Probe, card: &str) -> Option<PathBuf> {
    let devices = probe.folder_names(DEVICES).into_iter().map(|name| Path::new(DEVICES).join(name));
    devices.into_iter().find(|device| cards_of(probe, device).iter().any(|name| name == card))
}

fn cards_of(probe: &Probe, device: &Path) -> Vec<String> {
    let ports = probe.folder_names(device.join("ports")).into_iter();
    let folders = ports.map(|port| device.join("ports").join(port).join("gid_attrs/ndevs"));
    let of = |folder: PathBuf| {
        probe
            .folder_names(&folder)
            .into_iter()
            .filter_map(move |gid| probe.read_trimmed(folder.join(gid)))
    };
    let mut cards: Vec<String> = folders.flat_map(of).collect();
    cards.dedup();
    cards
}

/// Returns the note about an RDMA device, given its folder in sysfs: its driver and network card,
/// or that it is software and not representative.
pub fn note(probe: &Probe, device: &Path) -> String {
    let name = device.file_name().unwrap_or_default().to_string_lossy();
    let cards = cards_of(probe, device);
    let is_own = cards.iter().any(|card| card.starts_with("ixa"));
    let on = match cards.first() {
        _ if is_own => " on a veth".to_owned(),
        Some(card) => format!(" on {card}"),
        None => String::new(),
    };
    match probe.link_name(device.join("device/driver")) {
        Some(driver) => format!("RDMA by {name} ({driver}){on}"),
        // A device in software is on no device of its own.
        None => format!("RDMA by software (rdma_rxe{on}): not representative of RDMA hardware"),
    }
}

pub fn is_there(names: &RdmaNames) -> bool {
    Path::new(DEVICES).join(&names.rdma).exists()
        || [&names.card, &names.peer].into_iter().any(|card| card_exists(card))
}

fn card_exists(card: &str) -> bool {
    Path::new(CARDS).join(card).exists()
}

/// Removes the RDMA device and the virtual cards of these names, as far as they exist. A device
/// that was there before the run has another name.
///
/// # Errors
/// When a tool fails, or something stays.
pub fn remove_rdma(names: &RdmaNames) -> Result<()> {
    if Path::new(DEVICES).join(&names.rdma).exists() {
        run_tool(&mut tool("rdma", ["link", "delete", &names.rdma]))?;
    }
    // Both ends go together.
    if let Some(card) = [&names.card, &names.peer].into_iter().find(|card| card_exists(card)) {
        run_tool(&mut tool("ip", ["link", "delete", card]))?;
    }
    match is_there(names) {
        true => bail!("{} or {} is still there", names.rdma, names.card),
        false => Ok(()),
    }
}

pub fn unmake_by_hand(names: &RdmaNames) -> String {
    format!(
        "rdma link delete {}; ip link delete {}",
        shell::quote_word(&names.rdma),
        shell::quote_word(&names.card)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_host::made_up::server;

    #[test]
    fn names_fit_the_kernel() {
        let names = names("0123abcd");
        assert!(
            [&names.rdma, &names.card, &names.peer].into_iter().all(|name| name.len() <= 15),
            "{names:?}"
        );
    }

    /// Output of iproute2 6.1.
    #[test]
    fn the_card_of_an_address_and_that_toward_one_are_read() {
        let own = "4: ixadeadbeef    inet 169.254.9.1/30 scope global ixadeadbeef\\       valid_lft forever preferred_lft forever\n";
        assert_eq!(card_with(own), Some("ixadeadbeef"));
        assert_eq!(
            card_with(
                "7: eth0.5@eth0    inet 10.0.0.1/24 scope global eth0.5\\ valid_lft forever\n"
            ),
            Some("eth0.5")
        );
        assert_eq!(card_with(""), None);
        assert_eq!(
            card_to("169.254.9.2 dev ixadeadbeef src 169.254.9.1 uid 0 \\    cache \n"),
            Some("ixadeadbeef")
        );
        assert_eq!(
            card_to("10.0.0.1 via 10.1.0.254 dev eth0 src 10.1.0.2 uid 0 \\ cache \n"),
            Some("eth0")
        );
        assert_eq!(
            card_to("local 10.0.0.1 dev lo src 10.0.0.1 uid 0 \\ cache <local> \n"),
            Some("lo")
        );
        assert_eq!(card_to("unreachable"), None);
    }

    #[test]
    fn software_is_told_from_hardware() {
        let machine = server();
        let device = |name: &str| Path::new(DEVICES).join(name);
        machine.put(&[
            ("/sys/class/infiniband/ixr01/ports/1/gid_attrs/ndevs/0", "ixa01\n"),
            ("/sys/class/infiniband/rxe0/ports/1/gid_attrs/ndevs/1", "eth0\n"),
            ("/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0", "ens1\n"),
        ]);
        machine
            .link("/sys/class/infiniband/mlx5_0/device/driver", "/sys/bus/pci/drivers/mlx5_core");
        let note = |name: &str| note(&machine.probe, &device(name));
        assert_eq!(
            note("ixr01"),
            "RDMA by software (rdma_rxe on a veth): not representative of RDMA hardware"
        );
        assert_eq!(
            note("rxe0"),
            "RDMA by software (rdma_rxe on eth0): not representative of RDMA hardware"
        );
        assert_eq!(note("mlx5_0"), "RDMA by mlx5_0 (mlx5_core) on ens1");
        assert_eq!(device_of(&machine.probe, "eth0"), Some(device("rxe0")));
        assert_eq!(device_of(&machine.probe, "eth1"), None);
    }
}
