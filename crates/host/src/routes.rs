//! IPv4 networks that this machine has routes to, and the choice of one that no route leads to.

use super::probe::Probe;
use std::fmt;
use std::net::Ipv4Addr;

/// The network of RFC 2544, which is reserved for benchmarks and routed nowhere: 512 networks of a
/// /24.
const OF_BENCHMARKS: Subnet = Subnet { first: u32::from_be_bytes([198, 18, 0, 0]), prefix: 15 };

/// A network of IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subnet {
    first: u32,
    prefix: u8,
}

impl Subnet {
    pub fn from_address(address: Ipv4Addr, prefix: u8) -> Subnet {
        Subnet { first: u32::from(address) & mask(prefix), prefix }
    }

    /// Returns the address with this index in the subnet.
    pub fn address(&self, at: u32) -> Ipv4Addr {
        Ipv4Addr::from(self.first | at)
    }

    pub fn prefix(&self) -> u8 {
        self.prefix
    }

    /// Returns true if the two subnets have an address in common.
    pub fn overlaps(&self, other: &Subnet) -> bool {
        (self.first ^ other.first) & mask(self.prefix.min(other.prefix)) == 0
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address(0), self.prefix)
    }
}

fn mask(prefix: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(prefix.min(32))).unwrap_or(0)
}

/// Reads the networks of the main routing table without the default route, each with its interface.
pub fn routes(probe: &Probe) -> Vec<(String, Subnet)> {
    let text = probe.read_trimmed("/proc/net/route").unwrap_or_default();
    text.lines().filter_map(route).filter(|(_, net)| net.prefix > 0).collect()
}

/// Parses a line of /proc/net/route: `eth0 000200C0 00000000 0001 0 0 0 00FFFFFF 0 0 0`. Addresses
/// are in network order, printed as this machine reads them.
fn route(line: &str) -> Option<(String, Subnet)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |at: usize| Some(u32::from_be(u32::from_str_radix(words.get(at)?, 16).ok()?));
    let prefix = number(7)?.leading_ones() as u8;
    Some(((*words.first()?).to_owned(), Subnet { first: number(1)? & mask(prefix), prefix }))
}

/// Finds a /24 for benchmarks that overlaps no route, from the one with the index `from` on; `None`
/// if all 512 are in use.
pub fn free_subnet(routes: &[(String, Subnet)], from: u32) -> Option<Subnet> {
    let all = 1 << (24 - u32::from(OF_BENCHMARKS.prefix));
    let subnet =
        |at: u32| Subnet { first: OF_BENCHMARKS.first | ((from + at) % all) << 8, prefix: 24 };
    (0..all).map(subnet).find(|subnet| !routes.iter().any(|(_, route)| route.overlaps(subnet)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::server;

    #[cfg(target_endian = "little")]
    const ROUTES: &str = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
        eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
        eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n\
        tun0\t000012C6\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n";

    #[cfg(target_endian = "little")]
    #[test]
    fn a_network_that_is_in_use_is_passed_over() {
        let machine = server();
        machine.put(&[("/proc/net/route", ROUTES)]);
        let known = routes(&machine.probe);
        let shown: Vec<String> = known.iter().map(|(name, net)| format!("{name} {net}")).collect();
        assert_eq!(
            shown,
            ["eth0 192.0.2.0/24", "tun0 198.18.0.0/16"],
            "the default route is left out"
        );
        assert_eq!(
            free_subnet(&known, 7).map(|net| net.to_string()).as_deref(),
            Some("198.19.0.0/24")
        );
        let free = free_subnet(&known, 300).unwrap();
        assert_eq!(
            (free.to_string().as_str(), free.address(2).to_string().as_str()),
            ("198.19.44.0/24", "198.19.44.2")
        );
        let all = [
            known,
            vec![("wg0".to_owned(), Subnet::from_address(Ipv4Addr::new(198, 19, 0, 0), 16))],
        ]
        .concat();
        assert_eq!(free_subnet(&all, 0), None);
        assert_eq!(
            free_subnet(&[], 511).map(|net| net.to_string()).as_deref(),
            Some("198.19.255.0/24")
        );
    }
}
