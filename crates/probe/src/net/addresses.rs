//! Addresses at which a place can be reached, as its kernel lists them.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};

/// Returns the IPv4 addresses of this place in the kernel's order, with loopback addresses last.
pub fn addresses() -> Vec<IpAddr> {
    listed_addresses(&fs::read_to_string("/proc/net/fib_trie").unwrap_or_default())
}

/// Parses the leaves of the kernel's route tables. Each leaf is an address above the line that
/// routes to it: `/32 host LOCAL` for one of this place.
fn listed_addresses(tables: &str) -> Vec<IpAddr> {
    let mut all: Vec<Ipv4Addr> = Vec::new();
    let mut leaf = None;
    for line in tables.lines().map(str::trim) {
        if let Some(address) = line.strip_prefix("|-- ") {
            leaf = address.parse::<Ipv4Addr>().ok();
        } else if line == "/32 host LOCAL" {
            all.extend(leaf.filter(|address| !all.contains(address)));
        }
    }
    all.sort_by_key(Ipv4Addr::is_loopback);
    all.into_iter().map(IpAddr::V4).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_addresses_are_told_from_routes() {
        let tables = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n     +-- 10.0.0.0/8 2 0 2\n        \
                      |-- 10.0.0.0\n           /24 link UNICAST\n        |-- 10.0.0.7\n           /32 host LOCAL\n     \
                      +-- 127.0.0.0/8 2 0 2\n        |-- 127.0.0.0\n           /8 host LOCAL\n        |-- 127.0.0.1\n           \
                      /32 host LOCAL\n        |-- 192.168.1.2\n           /32 host LOCAL\nLocal:\n        |-- 10.0.0.7\n           \
                      /32 host LOCAL\n";
        let found: Vec<String> = listed_addresses(tables).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["10.0.0.7", "192.168.1.2", "127.0.0.1"]);
    }

    #[test]
    fn this_place_has_some() {
        assert!(addresses().iter().any(IpAddr::is_loopback), "{:?}", addresses());
    }
}
