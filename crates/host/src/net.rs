//! IPv4 networks that this machine has routes to, with the speed that the network card negotiated.
//! Only hardware cards have a speed.

use super::probe::Probe;
use iotax_facts::machine::Network;
use std::net::Ipv4Addr;
use std::path::Path;

/// Most networks that are recorded. A longer table is left out as a whole: it belongs to guests or
/// containers, and says nothing about a measurement.
const MANY: usize = 64;
/// Types of interfaces (linux/if_arp.h).
const ETHERNET: u64 = 1;
const INFINIBAND: u64 = 32;

/// Returns the networks of the routing table; empty if no card reports its speed, or there are more
/// than 64.
pub(super) fn networks(probe: &Probe) -> Vec<Network> {
    let table = probe.read_trimmed("/proc/net/route").unwrap_or_default();
    let all: Vec<Network> = table.lines().skip(1).filter_map(|line| network(probe, line)).collect();
    let of_use = all.len() <= MANY && all.iter().any(|one| one.megabits.is_some());
    if of_use { all } else { Vec::new() }
}

/// Parses a line of /proc/net/route: interface, destination, gateway, flags, two counts, metric,
/// mask. Addresses are 32-bit words in memory order.
fn network(probe: &Probe, line: &str) -> Option<Network> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let address = |at: usize| {
        let word = u32::from_str_radix(fields.get(at)?, 16).ok()?;
        Some(Ipv4Addr::from(word.to_ne_bytes()))
    };
    let card = (*fields.first()?).to_owned();
    let dir = Path::new("/sys/class/net").join(&card);
    let kind = probe.read_number(dir.join("type"));
    let is_card = probe.path_below(dir.join("device")).exists()
        && matches!(kind, Some(ETHERNET | INFINIBAND));
    // -1 is unknown.
    let megabits = probe.read_number(dir.join("speed")).filter(|speed| is_card && *speed > 0);
    Some(Network {
        address: address(1)?,
        bits: u32::from(address(7)?).count_ones() as u8,
        card,
        megabits,
        infiniband: kind == Some(INFINIBAND),
    })
}

#[cfg(test)]
mod tests {
    use super::super::made_up::server;
    use super::*;
    use iotax_facts::machine::network_toward;

    /// As `/proc/net/route` of a little-endian machine has them.
    const TABLE: &str = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n\
        eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
        eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n\
        eth1\t0000010A\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n\
        br0\t0005010A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";

    #[test]
    fn an_address_is_reached_by_the_card_whose_network_is_nearest() {
        let machine = server();
        machine.put(&[("/proc/net/route", TABLE)]);
        assert_eq!(networks(&machine.probe), [], "no card tells its speed");
        for (card, speed, kind) in
            [("eth0", "-1\n", "1\n"), ("eth1", "25000\n", "1\n"), ("br0", "10000\n", "1\n")]
        {
            let at = |file: &str| format!("/sys/class/net/{card}/{file}");
            machine.put(&[(&at("speed"), speed), (&at("type"), kind)]);
            if card != "br0" {
                machine.put(&[(&at("device/vendor"), "0x15b3\n")]);
            }
        }
        let all = networks(&machine.probe);
        let by = |address: [u8; 4]| {
            let found = network_toward(&all, address.into()).unwrap();
            (found.card.as_str(), found.megabits)
        };
        assert_eq!(by([10, 1, 2, 3]), ("eth1", Some(25_000)));
        // A bridge is no card, whatever speed it reports.
        assert_eq!(by([10, 1, 5, 3]), ("br0", None));
        assert_eq!((by([192, 0, 2, 9]), by([8, 8, 8, 8])), (("eth0", None), ("eth0", None)));
        assert_eq!(network_toward(&all[1..], Ipv4Addr::new(8, 8, 8, 8)), None);
        let text = serde_json::to_string(&all).unwrap();
        assert_eq!(serde_json::from_str::<Vec<Network>>(&text).unwrap(), all);
        let many: String =
            (0..MANY).map(|at| format!("eth1\t{at:08X}\t0\t1\t0\t0\t0\tFFFFFFFF\n")).collect();
        machine.put(&[("/proc/net/route", &(TABLE.to_owned() + &many))]);
        assert_eq!(networks(&machine.probe), []);
    }
}
