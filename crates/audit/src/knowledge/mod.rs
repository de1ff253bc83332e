//! What hardware can do: line rates by their standards and arithmetic, floors of media, ratings of drives by their data sheets.
//! Facts with their source, nothing measured here. Rules hold published figures against them; reports may as well.

pub mod media;
pub mod mentions;
pub mod network;
pub mod pcie;
pub mod ratings;
pub mod sata_sas;
pub mod words;

use crate::number::Interval;

/// What a link carries one way, in bytes a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// After the line code, before any header: what the wire moves.
    pub line: f64,
    /// What payloads get in practice, from small packets to large ones.
    pub practical: Interval,
    /// What payloads get with the largest packets and nothing else on the link: no measurement of what really crossed it is above.
    pub most: f64,
}

impl Rate {
    /// Of a line rate, the shares that payloads get in practice, and the share of the largest packets.
    pub fn of(line: f64, practical: [f64; 2], most: f64) -> Rate {
        let [low, high] = practical;
        Rate { line, practical: Interval { low: line * low, high: line * high }, most: line * most }
    }

    /// Of so many such links side by side.
    #[must_use]
    pub fn times(self, links: f64) -> Rate {
        Rate { line: self.line * links, practical: self.practical.scaled(links), most: self.most * links }
    }
}

/// A link that a page can name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Link {
    /// PCI Express.
    Pcie(pcie::Pcie),
    /// SATA, SAS, USB: cables of drives.
    Cable(sata_sas::Cable),
    /// Ethernet, InfiniBand.
    Network(network::Network),
}

impl Link {
    /// What it carries one way.
    pub fn rate(self) -> Rate {
        match self {
            Link::Pcie(pcie) => pcie.rate(),
            Link::Cable(cable) => cable.rate(),
            Link::Network(network) => network.rate(),
        }
    }

    /// As its standard calls it: `PCIe 3.0 x4`, `SATA 6 Gb/s`, `40GbE`.
    pub fn name(self) -> String {
        match self {
            Link::Pcie(pcie) => pcie.name(),
            Link::Cable(cable) => cable.name().to_owned(),
            Link::Network(network) => network.name(),
        }
    }

    /// Whether other machines are behind it.
    pub fn is_network(self) -> bool {
        matches!(self, Link::Network(_))
    }
}

/// `3938 MB/s`, `14.8 GB/s`, `801 KB/s`: a rate in bytes a second, of 1000.
pub fn rate_text(bytes_per_second: f64) -> String {
    match bytes_per_second {
        many if many >= 1e10 => format!("{:.1} GB/s", many / 1e9),
        few => format!("{}/s", short(few)),
    }
}

/// `122 GB`, `4.2 MB`: bytes, of 1000.
pub fn size_text(bytes: f64) -> String {
    match bytes {
        many if many >= 9.95e9 => format!("{:.0} GB", many / 1e9),
        some if some >= 9.995e8 => format!("{:.1} GB", some / 1e9),
        few => short(few),
    }
}

/// With two digits at least.
fn short(bytes: f64) -> String {
    match bytes {
        many if many >= 9.95e6 => format!("{:.0} MB", many / 1e6),
        some if some >= 999_500.0 => format!("{:.1} MB", some / 1e6),
        few => format!("{:.0} KB", few / 1e3),
    }
}

/// `685k`, `195`: I/Os a second.
pub fn iops_text(iops: f64) -> String {
    match iops {
        large if large >= 999_500.0 => format!("{:.2}M", large / 1e6),
        some if some >= 10_000.0 => format!("{:.0}k", some / 1e3),
        few => format!("{few:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_messages_are_short() {
        assert_eq!([rate_text(3.938e9), rate_text(6.3e10)], ["3938 MB/s", "63.0 GB/s"]);
        assert_eq!([rate_text(8.01e5), rate_text(2.54e6)], ["801 KB/s", "2.5 MB/s"]);
        assert_eq!([1.22e11, 4.2e9, 4.23e6, 5.1e4].map(size_text), ["122 GB", "4.2 GB", "4.2 MB", "51 KB"]);
        assert_eq!([iops_text(685_000.0), iops_text(195.0), iops_text(2.7e6)], ["685k", "195", "2.70M"]);
    }

    #[test]
    fn every_link_has_an_order_of_ceilings() {
        let pcie = (1..=6).map(|generation| Link::Pcie(pcie::Pcie::new(generation, 4).unwrap()));
        let ethernet = network::ETHERNET.into_iter().map(network::Network::Ethernet);
        let infiniband = (0..network::INFINIBAND.len()).map(network::Network::Infiniband);
        let networks = ethernet.chain(infiniband).map(Link::Network);
        for link in sata_sas::Cable::all().map(Link::Cable).chain(pcie).chain(networks) {
            let (rate, name) = (link.rate(), link.name());
            assert!(rate.practical.low > 0.0 && rate.practical.low < rate.practical.high, "{name}");
            assert!(rate.practical.high <= rate.most && rate.most < rate.line, "{name}: {rate:?}");
        }
    }
}
