//! Links of drives and of machines, from the facts in `links.txt`.

use crate::number::Interval;
use std::sync::OnceLock;

/// Capacity of a link, in bytes per second: in one direction, or in both together if it is half
/// duplex.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Rate of the wire without the line code's bits, headers included.
    pub line: f64,
    /// Rate of payloads in practice: low with small packets, high with large ones.
    pub practical: Interval,
    /// Rate of payloads with the largest packets and nothing else on the link. No measurement of
    /// data that really crossed the link exceeds it.
    pub most: f64,
}

impl Rate {
    /// Returns the rate of this many such links side by side.
    #[must_use]
    pub fn side_by_side(self, links: f64) -> Rate {
        Rate {
            line: self.line * links,
            practical: self.practical.scaled(links),
            most: self.most * links,
        }
    }
}

/// A line of `links.txt`: a link of a family, with its Gb/s on the wire (of PCIe per lane) and the
/// number by which the family calls it. The rate is of one lane.
#[derive(Debug, PartialEq)]
struct KnownLink {
    family: &'static str,
    gigabits: f64,
    called: f64,
    name: &'static str,
    rate: Rate,
}

fn known() -> &'static [KnownLink] {
    static ALL: OnceLock<Vec<KnownLink>> = OnceLock::new();
    let read = |line: &'static str| {
        let fields: Vec<&str> = line.split(" | ").collect();
        let [family, gigabits, called, name, data, practical, most] = fields[..] else {
            return None;
        };
        let line = data.parse::<f64>().ok()? * 1e9 / 8.0;
        let share = |text: &str| Some(line * text.parse::<f64>().ok()?);
        let (low, high) = practical.split_once(' ')?;
        let practical = Interval { low: share(low)?, high: share(high)? };
        let rate = Rate { line, practical, most: share(most)? };
        Some(KnownLink {
            family,
            gigabits: gigabits.parse().ok()?,
            called: called.parse().ok()?,
            name,
            rate,
        })
    };
    ALL.get_or_init(|| include_str!("links.txt").lines().filter_map(read).collect())
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HardwareLink {
    known: &'static KnownLink,
    lanes: u8,
}

impl HardwareLink {
    /// Returns all links, each with one lane.
    pub fn all() -> impl DoubleEndedIterator<Item = HardwareLink> {
        known().iter().map(|known| HardwareLink { known, lanes: 1 })
    }

    /// Returns the link of a family (`pcie`, `sata`, `sas`, `usb`, `ethernet`, `infiniband`) with
    /// this many Gb/s on the wire, for PCIe per lane. `None` if no such link is known.
    pub fn of_speed(family: &str, gigabits: f64) -> Option<HardwareLink> {
        HardwareLink::all().rfind(|link| {
            link.known.family == family && (link.known.gigabits - gigabits).abs() < 1e-6
        })
    }

    /// Returns the link that a family calls by this number: the generation of PCIe, the revision of
    /// SATA, the Gb/s of others.
    pub fn called(family: &str, number: f64) -> Option<HardwareLink> {
        HardwareLink::all().find(|link| link.known.family == family && link.known.called == number)
    }

    /// Returns the link of an InfiniBand or Ethernet card for which the kernel reports this many
    /// Mb/s.
    pub fn of_card(infiniband: bool, megabits: u64) -> Option<HardwareLink> {
        HardwareLink::of_speed(
            if infiniband { "infiniband" } else { "ethernet" },
            megabits as f64 / 1000.0,
        )
    }

    /// Parses the name of a link exactly as [`HardwareLink::name`] writes it.
    pub fn parse_link_name(text: &str) -> Option<HardwareLink> {
        let (name, lanes) = text.rsplit_once(" x").unwrap_or((text, "1"));
        let link =
            HardwareLink::all().find(|link| link.known.name == name)?.lanes(lanes.parse().ok()?)?;
        (link.name() == text).then_some(link)
    }

    /// Returns the link with that many lanes. `None` if no such link exists: PCIe has 1, 2, 4, 8,
    /// 12, 16 or 32 lanes, all others have one.
    pub fn lanes(self, lanes: u8) -> Option<HardwareLink> {
        let known = if self.known.family == "pcie" {
            matches!(lanes, 1 | 2 | 4 | 8 | 12 | 16 | 32)
        } else {
            lanes == 1
        };
        known.then_some(HardwareLink { lanes, ..self })
    }

    /// Returns true if the link carries one direction at a time, as SATA and USB 2.0 do.
    pub fn is_half_duplex(self) -> bool {
        self.known.family == "sata" || (self.known.family == "usb" && self.known.called < 5.0)
    }

    /// Returns the capacity of one direction, or of both together if the link is half duplex.
    pub fn rate(self) -> Rate {
        self.known.rate.side_by_side(f64::from(self.lanes))
    }

    /// Returns the name in the standard: `PCIe 3.0 x4`, `SATA 6 Gb/s`, `40GbE`.
    pub fn name(self) -> String {
        let lanes =
            if self.known.family == "pcie" { format!(" x{}", self.lanes) } else { String::new() };
        format!("{}{lanes}", self.known.name)
    }

    pub fn is_network(self) -> bool {
        matches!(self.known.family, "ethernet" | "infiniband")
    }

    pub fn is_cable(self) -> bool {
        matches!(self.known.family, "sata" | "sas" | "usb")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_carry_what_their_standards_say() {
        for (name, megabytes) in [
            ("PCIe 1.0 x1", 250.0),
            ("PCIe 2.0 x4", 2000.0),
            ("PCIe 3.0 x4", 3938.0),
            ("PCIe 5.0 x16", 63015.0),
            ("SATA 6 Gb/s", 600.0),
            ("24G SAS", 2400.0),
            ("USB 2.0", 60.0),
            ("25GbE", 3125.0),
            ("InfiniBand FDR", 6818.0),
        ] {
            assert_eq!(
                (HardwareLink::parse_link_name(name).unwrap().rate().line / 1e6).round(),
                megabytes,
                "{name}"
            );
        }
        for none in ["PCIe 3.0 x5", "PCIe 7.0 x4", "PCIe 3.0", "SATA 6 Gb/s x2", "7GbE"] {
            assert_eq!(HardwareLink::parse_link_name(none), None, "{none}");
        }
        let names = |link: Option<HardwareLink>| link.map(HardwareLink::name).unwrap_or_default();
        assert_eq!(names(HardwareLink::of_card(true, 56_000)), "InfiniBand FDR");
        assert_eq!(
            (HardwareLink::of_card(false, 20_000), HardwareLink::of_card(true, 20)),
            (None, None),
            "a bond is no link"
        );
        assert_eq!(
            [HardwareLink::called("sata", 3.0), HardwareLink::called("sas", 24.0)].map(names),
            ["SATA 6 Gb/s", "24G SAS"]
        );
        assert_eq!(
            names(HardwareLink::of_speed("pcie", 8.0).and_then(|link| link.lanes(4))),
            "PCIe 3.0 x4"
        );
        let lines = include_str!("links.txt").lines().filter(|line| !line.starts_with('#'));
        assert_eq!(lines.count(), known().len(), "a line is not read");
        for rate in HardwareLink::all().map(HardwareLink::rate) {
            assert!(
                rate.practical.low > 0.0 && rate.practical.low < rate.practical.high,
                "{rate:?}"
            );
            assert!(rate.practical.high <= rate.most && rate.most < rate.line, "{rate:?}");
        }
    }
}
