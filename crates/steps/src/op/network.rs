//! Makes the network of the run's guests: a bridge with an address of this host, and a tap device
//! for each guest as a port of it. It leads nowhere else.

use crate::operation::{Operation, Own, Undoing};
use crate::resource::ManagedResource;
use anyhow::{Result, anyhow, ensure};
use iotax_drivers::refusal::{NotOurs, NothingMade};
use iotax_drivers::run_tag::{RunTag, short_id};
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_drivers::tool::{run_tool, tool};
use iotax_host::probe::Probe;
use iotax_host::routes::{Subnet, routes};
use iotax_units::shell;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

const INTERFACES: &str = "/sys/class/net";

/// Most guests of a network. One character numbers a tap, as the kernel's names have at most 15.
pub const MOST_TAPS: usize = TAPS.len();
/// Characters that number the taps: digits and letters.
const TAPS: &[u8] = b"0123456789abcdefghijklmopqrstuvwxyz";

pub fn bridge_name(run_id: &str) -> String {
    format!("ixn-{}", short_id(run_id))
}

/// Returns the name of the tap of guest number `at`, from 0, of a run; `None` from [`MOST_TAPS`]
/// on.
pub fn tap_name(run_id: &str, at: usize) -> Option<String> {
    Some(format!("ix{}-{}", char::from(*TAPS.get(at)?), short_id(run_id)))
}

/// Runs `ip link add NAME type bridge`, with an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeBridge {
    pub name: String,
    /// Address of this host on the bridge.
    pub address: Ipv4Addr,
    /// Length of the network's prefix, in bits.
    pub prefix: u8,
}

/// Runs `ip tuntap add dev NAME mode tap`, as a port of a bridge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeTap {
    pub name: String,
    pub bridge: String,
    pub multi_queue: bool,
}

impl MakeBridge {
    fn net(&self) -> String {
        format!("{}/{}", self.address, self.prefix)
    }

    fn check_free(&self) -> Result<()> {
        not_there(&self.name)?;
        let own = Subnet::from_address(self.address, self.prefix);
        let taken = routes(&Probe::of_files(Path::new("/")))
            .into_iter()
            .find(|(_, route)| route.overlaps(&own));
        match taken {
            None => Ok(()),
            Some((interface, route)) => Err(anyhow!(
                "the network of the guests, {own}, is in use: a route to {route} leads to {interface}; hint: run again, and \
                 another one is taken"
            )
            .context(NothingMade)),
        }
    }
}

impl Operation for MakeBridge {
    fn describe(&self) -> String {
        format!("ip link add {} type bridge, with {}", self.name, self.net())
    }

    fn commands_by_hand(&self, _: &str) -> Vec<String> {
        let name = shell::quote_word(&self.name);
        vec![
            format!("ip link add name {name} type bridge stp_state 0 forward_delay 0"),
            format!("ip addr add {} dev {name}", self.net()),
            format!("ip link set dev {name} up"),
        ]
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        vec![Own::Named(&self.name)]
    }

    fn undo_summary(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        Some(Undoing::new("removed", format!("the bridge {}", self.name)))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        Some(format!("ip link delete {}", shell::quote_word(&self.name)))
    }
}

impl ManagedResource for MakeBridge {
    fn make_resource(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        self.check_free()?;
        let name = self.name.as_str();
        // The spanning tree is off: it would keep a new port from passing anything for 15 s.
        let words =
            ["link", "add", "name", name, "type", "bridge", "stp_state", "0", "forward_delay", "0"];
        run_tool(&mut tool("ip", words))?;
        run_tool(&mut tool("ip", ["addr", "add", &self.net(), "dev", name]))?;
        run_tool(&mut tool("ip", ["link", "set", "dev", name, "up"]))?;
        Ok(StepOutput::found_at(folder(name)))
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        Ok(find_interface(&self.name, "bridge"))
    }

    fn remove_resource(&self, _: &mut RealSystem, _: &RunTag, _: &StepOutput) -> Result<()> {
        remove(&self.name, "bridge")
    }
}

impl Operation for MakeTap {
    fn describe(&self) -> String {
        let queues = if self.multi_queue { " multi_queue" } else { "" };
        format!(
            "ip tuntap add dev {} mode tap{queues}; ip link set {0} master {}",
            self.name, self.bridge
        )
    }

    fn commands_by_hand(&self, _: &str) -> Vec<String> {
        let (name, bridge) = (shell::quote_word(&self.name), shell::quote_word(&self.bridge));
        let queues = if self.multi_queue { " multi_queue" } else { "" };
        vec![
            format!("ip tuntap add dev {name} mode tap{queues}"),
            format!("ip link set dev {name} master {bridge} up"),
        ]
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        vec![Own::Named(&self.name)]
    }

    fn undo_summary(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        Some(Undoing::new("removed", format!("the tap device {}", self.name)))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        Some(format!("ip link delete {}", shell::quote_word(&self.name)))
    }
}

impl ManagedResource for MakeTap {
    fn make_resource(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        not_there(&self.name)?;
        let name = self.name.as_str();
        let queues: &[&str] = if self.multi_queue { &["multi_queue"] } else { &[] };
        run_tool(tool("ip", ["tuntap", "add", "dev", name, "mode", "tap"]).args(queues))?;
        run_tool(&mut tool("ip", ["link", "set", "dev", name, "master", &self.bridge, "up"]))?;
        Ok(StepOutput::found_at(folder(name)))
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        Ok(find_interface(&self.name, "tun_flags"))
    }

    fn remove_resource(&self, _: &mut RealSystem, _: &RunTag, _: &StepOutput) -> Result<()> {
        remove(&self.name, "tun_flags")
    }
}

fn folder(name: &str) -> PathBuf {
    Path::new(INTERFACES).join(name)
}

fn not_there(name: &str) -> Result<()> {
    match folder(name).exists() {
        true => Err(anyhow!("there is an interface {name} already").context(NothingMade)),
        false => Ok(()),
    }
}

/// Returns the interface of that name, if its folder in sysfs has the file `sign`, which only
/// interfaces of the wanted kind have.
fn find_interface(name: &str, sign: &str) -> Option<StepOutput> {
    folder(name).join(sign).exists().then(|| StepOutput::found_at(folder(name)))
}

fn remove(name: &str, sign: &str) -> Result<()> {
    match find_interface(name, sign) {
        Some(_) => run_tool(&mut tool("ip", ["link", "delete", name])).map(drop)?,
        None if folder(name).exists() => {
            return Err(NotOurs(format!("{name} is another interface by now: left alone")).into());
        }
        None => {}
    }
    ensure!(!folder(name).exists(), "{name} is still there");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Op;

    #[test]
    fn names_fit_the_kernel_and_carry_the_run() {
        let run = "20261126-101112-a1b2";
        let names: Vec<String> =
            (0..MOST_TAPS).filter_map(|at| tap_name(run, at)).chain([bridge_name(run)]).collect();
        let distinct: std::collections::BTreeSet<&String> = names.iter().collect();
        assert_eq!((distinct.len(), names.len()), (MOST_TAPS + 1, MOST_TAPS + 1));
        assert!(names.iter().all(|name| name.len() <= 15), "{names:?}");
        assert_eq!((names[0].as_str(), tap_name(run, MOST_TAPS)), ("ix0-101112-a1b2", None));
        let tag = RunTag { run_id: run.into(), run_dir: "/run/r".into() };
        let bridge = |name: &str| {
            let address = Ipv4Addr::new(198, 18, 0, 1);
            Op::MakeBridge(MakeBridge { name: name.into(), address, prefix: 24 })
        };
        let made = StepOutput::default();
        assert!(names.iter().all(|name| bridge(name).check_own_names(&tag, &made).is_ok()));
        assert!(bridge("br0").check_own_names(&tag, &made).is_err(), "a journal is not believed");
    }

    /// Where this may be done: a network that is made, in use for others, found again and removed.
    #[test]
    fn a_bridge_and_its_taps_come_and_go() {
        let has_ip = tool("ip", ["-V"]).output().is_ok_and(|output| output.status.success());
        if !rustix::process::geteuid().is_root() || !has_ip || !Path::new("/dev/net/tun").exists() {
            println!("skipped: needs root, ip and /dev/net/tun");
            return;
        }
        let id = format!("x-{:010}", std::process::id());
        let tag = RunTag { run_id: id.clone(), run_dir: "/run/r".into() };
        let system = &mut RealSystem::default();
        let subnet =
            iotax_host::routes::free_subnet(&routes(&Probe::of_files(Path::new("/"))), 77).unwrap();
        let bridge = MakeBridge {
            name: bridge_name(&id),
            address: subnet.address(1),
            prefix: subnet.prefix(),
        };
        let tap = |at, multi_queue| MakeTap {
            name: tap_name(&id, at).unwrap(),
            bridge: bridge.name.clone(),
            multi_queue,
        };
        assert_eq!(bridge.find_resource(&tag, &[]).unwrap(), None);
        let made = bridge.make_resource(system, &tag).unwrap();
        let taps = [tap(0, false), tap(1, true)];
        taps.iter().for_each(|tap| drop(tap.make_resource(system, &tag).unwrap()));
        let again = MakeBridge { name: format!("{}z", &bridge.name[..14]), ..bridge.clone() };
        let refused = again.make_resource(system, &tag).unwrap_err();
        assert!(
            refused.is::<NothingMade>() && format!("{refused:#}").contains("is in use"),
            "{refused:#}"
        );
        assert!(bridge.make_resource(system, &tag).unwrap_err().is::<NothingMade>());
        assert!(taps[0].make_resource(system, &tag).unwrap_err().is::<NothingMade>());
        let mistaken = MakeTap { name: bridge.name.clone(), ..taps[0].clone() };
        assert_eq!(mistaken.find_resource(&tag, &[]).unwrap(), None, "a bridge is no tap");
        assert!(mistaken.remove_resource(system, &tag, &made).unwrap_err().is::<NotOurs>());
        for tap in &taps {
            let found = tap.find_resource(&tag, &[]).unwrap().unwrap();
            tap.remove_resource(system, &tag, &found).unwrap();
            tap.remove_resource(system, &tag, &found).unwrap();
            assert_eq!(tap.find_resource(&tag, &[]).unwrap(), None);
        }
        bridge.remove_resource(system, &tag, &made).unwrap();
        assert_eq!(bridge.find_resource(&tag, &[]).unwrap(), None);
    }
}
