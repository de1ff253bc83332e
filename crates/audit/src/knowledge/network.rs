//! Networks: Ethernet (IEEE 802.3), InfiniBand (IBTA). Rates are of data,
//! after the line code.

use super::Rate;

/// Rates of Ethernet in Gb/s: what its name says is what its data have (10GbE sends 10.3125 Gb/s of
/// 64b/66b).
pub(super) const ETHERNET: [f64; 11] = [0.1, 1.0, 2.5, 5.0, 10.0, 25.0, 40.0, 50.0, 100.0, 200.0, 400.0];

/// Generations of InfiniBand, the bits of data a second of four lanes (SDR to QDR of 8b/10b, FDR and
/// EDR of 64b/66b, from HDR with error correction), and the Mb/s that the kernel reports of a card,
/// which are of signals; of two with one number the faster has it.
pub(super) const INFINIBAND: [(&str, f64, u64); 8] = [
    ("SDR", 8e9, 10_000),
    ("DDR", 16e9, 20_000),
    ("QDR", 32e9, 40_000),
    ("FDR10", 40e9, 40_000),
    ("FDR", 56.25e9 * 64.0 / 66.0, 56_000),
    ("EDR", 100e9, 100_000),
    ("HDR", 200e9, 200_000),
    ("NDR", 400e9, 400_000),
];

/// Bytes around the payload of an Ethernet frame: preamble 8, header 14, checksum 4, gap 12.
const FRAME: f64 = 38.0;
/// Headers of IPv4 and of TCP with time stamps.
const TCP: f64 = 20.0 + 32.0;
/// Headers of `RoCEv2`: IPv4 20, UDP 8, transport 12, its checksum 4.
const ROCE: f64 = 20.0 + 8.0 + 12.0 + 4.0;

/// A network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Network {
    /// Ethernet of so many Gb/s.
    Ethernet(f64),
    /// InfiniBand, four lanes, by its place in the table of generations.
    Infiniband(usize),
}

impl Network {
    /// Ethernet, if there is one of that rate in Gb/s.
    pub fn ethernet(gigabits: f64) -> Option<Network> {
        ETHERNET.contains(&gigabits).then_some(Network::Ethernet(gigabits))
    }

    /// That of a card by the Mb/s that the kernel reports of it (InfiniBand's 56000 are FDR).
    pub fn of_card(infiniband: bool, megabits: u64) -> Option<Network> {
        match infiniband {
            true => INFINIBAND.iter().rposition(|one| one.2 == megabits).map(Network::Infiniband),
            false => Network::ethernet(megabits as f64 / 1000.0),
        }
    }

    /// What it carries one way. Storage over it (iSER and NVMe over fabrics add 48 to 96 bytes of header
    /// an I/O, NVMe/TCP 24 a packet of data) has what TCP and RoCE leave; the most is TCP in frames of
    /// 9000 bytes.
    pub fn rate(self) -> Rate {
        match self {
            Network::Ethernet(gigabits) => {
                Rate::of(gigabits * 1e9 / 8.0, [roce_share(1024.0), roce_share(4096.0)], tcp_share(9000.0))
            }
            // Headers 8 + 12 (+ 16 of the first), checksums 4 + 2, marks 2, of packets of 2 to 4 KiB.
            Network::Infiniband(at) => {
                Rate::of(INFINIBAND[at].1 / 8.0, [0.95, 0.985], 4096.0 / (4096.0 + 28.0))
            }
        }
    }

    /// `40GbE`.
    pub fn name(self) -> String {
        match self {
            Network::Ethernet(gigabits) => format!("{gigabits}GbE"),
            Network::Infiniband(at) => format!("InfiniBand {}", INFINIBAND[at].0),
        }
    }
}

/// Share of Ethernet's rate that payloads of TCP over IPv4 get with frames of an MTU: 0.941 of 1500,
/// 0.990 of 9000.
fn tcp_share(mtu: f64) -> f64 {
    (mtu - TCP) / (mtu + FRAME)
}

/// Share of Ethernet's rate that payloads of `RoCEv2` get with packets of 1024, 2048 or 4096 bytes:
/// 0.926, 0.962, 0.980. What fits into frames of 1500 is 1024.
fn roce_share(payload: f64) -> f64 {
    payload / (payload + ROCE + FRAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_names() {
        let rounded = |share: f64| (share * 1000.0).round() / 1000.0;
        assert_eq!([1500.0, 9000.0].map(|mtu| rounded(tcp_share(mtu))), [0.941, 0.990]);
        assert_eq!([1024.0, 4096.0].map(|size| rounded(roce_share(size))), [0.926, 0.980]);
        let fdr = Network::of_card(true, 56_000).unwrap();
        assert!((fdr.rate().line / 1e9 - 6.818).abs() < 0.001);
        assert_eq!(Network::ethernet(7.0), None);
        let card = |infiniband, megabits| Network::of_card(infiniband, megabits).map(Network::name);
        assert_eq!(card(false, 25_000).as_deref(), Some("25GbE"));
        assert_eq!(card(true, 56_000).as_deref(), Some("InfiniBand FDR"));
        assert_eq!((card(false, 20_000), card(true, 20)), (None, None), "a bond is no link");
    }
}
