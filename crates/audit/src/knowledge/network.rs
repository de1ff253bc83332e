//! Networks: Ethernet (IEEE 802.3), InfiniBand (IBTA), Fibre Channel (INCITS T11). Rates are of data, after the line code.

use super::Rate;

/// Rates of Ethernet in Gb/s: what its name says is what its data have (10GbE sends 10.3125 Gb/s of 64b/66b).
pub const ETHERNET: [f64; 11] = [0.1, 1.0, 2.5, 5.0, 10.0, 25.0, 40.0, 50.0, 100.0, 200.0, 400.0];

/// Fibre Channel by its name in GFC, and bytes a second one way of a link's frames: 8GFC sends 8.5 Gb/s of 8b/10b, 16GFC 14.025 of
/// 64b/66b, 32GFC 28.05 and 64GFC 57.8 (two bits a symbol) of 256b/257b with error correction.
pub const FIBRE_CHANNEL: [(u8, f64); 6] =
    [(2, 212.5e6), (4, 425e6), (8, 850e6), (16, 1.7e9), (32, 3.4e9), (64, 6.8e9)];

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
    /// InfiniBand, four lanes.
    Infiniband(Infiniband),
    /// Fibre Channel, by its place in [`FIBRE_CHANNEL`].
    FibreChannel(usize),
}

/// Generations of InfiniBand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Infiniband {
    /// 10 Gb/s of 8b/10b.
    Sdr,
    /// 20.
    Ddr,
    /// 40.
    Qdr,
    /// 41.25 of 64b/66b.
    Fdr10,
    /// 56.25 of 64b/66b.
    Fdr,
    /// 103.125 of 64b/66b.
    Edr,
    /// 212.5, with error correction: 200 of data.
    Hdr,
    /// 425: 400 of data.
    Ndr,
}

impl Infiniband {
    /// All.
    pub const ALL: [Infiniband; 8] = [
        Infiniband::Sdr,
        Infiniband::Ddr,
        Infiniband::Qdr,
        Infiniband::Fdr10,
        Infiniband::Fdr,
        Infiniband::Edr,
        Infiniband::Hdr,
        Infiniband::Ndr,
    ];

    /// `FDR`.
    pub fn name(self) -> &'static str {
        match self {
            Infiniband::Sdr => "SDR",
            Infiniband::Ddr => "DDR",
            Infiniband::Qdr => "QDR",
            Infiniband::Fdr10 => "FDR10",
            Infiniband::Fdr => "FDR",
            Infiniband::Edr => "EDR",
            Infiniband::Hdr => "HDR",
            Infiniband::Ndr => "NDR",
        }
    }

    /// Bits of data a second of four lanes.
    fn bits(self) -> f64 {
        match self {
            Infiniband::Sdr => 8e9,
            Infiniband::Ddr => 16e9,
            Infiniband::Qdr => 32e9,
            Infiniband::Fdr10 => 40e9,
            Infiniband::Fdr => 56.25e9 * 64.0 / 66.0,
            Infiniband::Edr => 100e9,
            Infiniband::Hdr => 200e9,
            Infiniband::Ndr => 400e9,
        }
    }
}

impl Network {
    /// Ethernet, if there is one of that rate in Gb/s.
    pub fn ethernet(gigabits: f64) -> Option<Network> {
        ETHERNET.contains(&gigabits).then_some(Network::Ethernet(gigabits))
    }

    /// That of a card by the megabits a second that the kernel tells of it; of InfiniBand the name's signals (56000: FDR), and of two
    /// with one number the faster.
    pub fn of_card(infiniband: bool, megabits: u64) -> Option<Network> {
        if !infiniband {
            return Network::ethernet(megabits as f64 / 1000.0);
        }
        let one = match megabits {
            10_000 => Infiniband::Sdr,
            20_000 => Infiniband::Ddr,
            40_000 => Infiniband::Fdr10,
            56_000 => Infiniband::Fdr,
            100_000 => Infiniband::Edr,
            200_000 => Infiniband::Hdr,
            400_000 => Infiniband::Ndr,
            _ => return None,
        };
        Some(Network::Infiniband(one))
    }

    /// Fibre Channel by its name: 16 of 16GFC.
    pub fn fibre_channel(gigabits: u8) -> Option<Network> {
        let at = FIBRE_CHANNEL.iter().position(|(name, _)| *name == gigabits)?;
        Some(Network::FibreChannel(at))
    }

    /// What it carries one way. Storage over it (iSER and NVMe over fabrics add 48 to 96 bytes of header an I/O, NVMe/TCP 24 a
    /// packet of data) has what [`tcp_share`] and [`roce_share`] leave; the most is TCP in frames of 9000 bytes.
    pub fn rate(self) -> Rate {
        match self {
            Network::Ethernet(gigabits) => {
                Rate::of(gigabits * 1e9 / 8.0, [roce_share(1024.0), roce_share(4096.0)], tcp_share(9000.0))
            }
            // Headers 8 + 12 (+ 16 of the first), checksums 4 + 2, marks 2, of packets of 2 to 4 KiB.
            Network::Infiniband(one) => Rate::of(one.bits() / 8.0, [0.95, 0.985], 4096.0 / (4096.0 + 28.0)),
            // Frames carry 2112 of 2148 bytes, with 24 between them.
            Network::FibreChannel(at) => {
                Rate::of(FIBRE_CHANNEL[at].1, [0.90, 0.95], 2112.0 / (2148.0 + 24.0))
            }
        }
    }

    /// `40GbE`.
    pub fn name(self) -> String {
        match self {
            Network::Ethernet(gigabits) => format!("{gigabits}GbE"),
            Network::Infiniband(one) => format!("InfiniBand {}", one.name()),
            Network::FibreChannel(at) => format!("{}GFC", FIBRE_CHANNEL[at].0),
        }
    }
}

/// Share of Ethernet's rate that payloads of TCP over IPv4 get with frames of an MTU: 0.941 of 1500, 0.990 of 9000.
pub fn tcp_share(mtu: f64) -> f64 {
    (mtu - TCP) / (mtu + FRAME)
}

/// Share of Ethernet's rate that payloads of `RoCEv2` get with packets of 1024, 2048 or 4096 bytes: 0.926, 0.962, 0.980. What fits
/// into frames of 1500 is 1024.
pub fn roce_share(payload: f64) -> f64 {
    payload / (payload + ROCE + FRAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_what_headers_leave() {
        let rounded = |share: f64| (share * 1000.0).round() / 1000.0;
        assert_eq!([1500.0, 9000.0].map(|mtu| rounded(tcp_share(mtu))), [0.941, 0.990]);
        assert_eq!([1024.0, 2048.0, 4096.0].map(|size| rounded(roce_share(size))), [0.926, 0.962, 0.980]);
    }

    #[test]
    fn rates_are_those_of_the_names() {
        assert!((Network::ethernet(40.0).unwrap().rate().line - 5e9).abs() < 1.0);
        assert!((Network::Infiniband(Infiniband::Fdr).rate().line / 1e9 - 6.818).abs() < 0.001);
        assert_eq!(Network::ethernet(7.0), None);
        let card = |infiniband, megabits| Network::of_card(infiniband, megabits).map(Network::name);
        assert_eq!(card(false, 25_000).as_deref(), Some("25GbE"));
        assert_eq!(card(true, 56_000).as_deref(), Some("InfiniBand FDR"));
        assert_eq!((card(false, 20_000), card(true, 20)), (None, None), "a bond is no link");
        assert_eq!(Network::fibre_channel(16).map(Network::name).as_deref(), Some("16GFC"));
        assert_eq!([Network::Ethernet(2.5).name(), Network::Ethernet(100.0).name()], ["2.5GbE", "100GbE"]);
    }
}
