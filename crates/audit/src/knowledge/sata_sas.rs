//! SATA (Serial ATA revision 3.x), SAS (SAS-1 to SAS-4) and USB (2.0 to 4), by their standards.

use super::Rate;

/// Shares of the line that payloads get in practice, and the most that they get.
type Shares = ([f64; 2], f64);

/// Frames of SATA carry up to 8 KiB after 4 bytes of header, 4 of CRC and their marks; practice has
/// 550 to 565 MB/s of 600.
const SATA: Shares = ([0.88, 0.945], 0.99);
/// Frames of SSP carry up to 1 KiB after a header of 24 bytes, with 4 of CRC and 8 of marks: 0.966.
const SAS: Shares = ([0.90, 0.96], 0.97);
/// Bulk transfers of USB 3: packets of 1 KiB with 20 bytes around, bursts, the drive's own protocol.
const USB3: Shares = ([0.75, 0.93], 0.98);
/// Of USB 2: 13 packets of 512 bytes in a microframe of 125 us are 53.2 MB/s of 60.
const USB2: Shares = ([0.50, 0.75], 0.888);

/// Name, Gb/s on the wire, bits of data in them (8b/10b; 128b/150b of 24G SAS with its error
/// correction; 128b/132b of USB from 10 Gb/s, 64b/66b of USB4; USB 2.0 has no code), shares.
const CABLES: [(&str, f64, f64, Shares); 12] = [
    ("SATA 1.5 Gb/s", 1.5, 0.8, SATA),
    ("SATA 3 Gb/s", 3.0, 0.8, SATA),
    ("SATA 6 Gb/s", 6.0, 0.8, SATA),
    ("SAS 3 Gb/s", 3.0, 0.8, SAS),
    ("SAS 6 Gb/s", 6.0, 0.8, SAS),
    ("SAS 12 Gb/s", 12.0, 0.8, SAS),
    ("24G SAS", 22.5, 128.0 / 150.0, SAS),
    ("USB 2.0", 0.48, 1.0, USB2),
    ("USB 5 Gb/s", 5.0, 0.8, USB3),
    ("USB 10 Gb/s", 10.0, 128.0 / 132.0, USB3),
    ("USB 20 Gb/s", 20.0, 128.0 / 132.0, USB3),
    ("USB4 40 Gb/s", 40.0, 64.0 / 66.0, USB3),
];

/// A cable of a drive: its place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cable(usize);

impl Cable {
    /// All.
    pub fn all() -> impl Iterator<Item = Cable> {
        (0..CABLES.len()).map(Cable)
    }

    fn of(family: &str, gigabits: f64) -> Option<Cable> {
        Cable::all().find(|cable| cable.name().contains(family) && CABLES[cable.0].1 == gigabits)
    }

    /// What it carries one way (USB 2.0: both together).
    pub fn rate(self) -> Rate {
        let (_, gigabits, code, (practical, most)) = CABLES[self.0];
        Rate::of(gigabits * 1e9 * code / 8.0, practical, most)
    }

    /// `SATA 6 Gb/s`.
    pub fn name(self) -> &'static str {
        CABLES[self.0].0
    }

    /// SATA by its rate in Gb/s or its revision (`SATA 3`, `SATA III`): 3 without a unit is the revision.
    pub fn sata(number: f64, is_rate: bool) -> Option<Cable> {
        let revisions = [(1.0, 1.5), (2.0, 3.0), (3.0, 6.0)];
        let rate = revisions.into_iter().find(|(revision, _)| *revision == number).map(|(_, rate)| rate);
        Cable::of("SATA", if is_rate { number } else { rate? })
    }

    /// SAS by its rate in Gb/s.
    pub fn sas(gigabits: f64) -> Option<Cable> {
        Cable::of("SAS", if gigabits == 24.0 { 22.5 } else { gigabits })
    }

    /// USB by its rate in Gb/s.
    pub fn usb(gigabits: f64) -> Option<Cable> {
        Cable::of("USB", gigabits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_standards() {
        let megabytes = |cable: Option<Cable>| (cable.unwrap().rate().line / 1e6).round();
        let sata =
            [(1.5, true), (3.0, true), (3.0, false)].map(|(number, is_rate)| Cable::sata(number, is_rate));
        assert_eq!(sata.map(megabytes), [150.0, 300.0, 600.0]);
        let others = [Cable::sas(12.0), Cable::sas(24.0), Cable::usb(0.48), Cable::usb(5.0)];
        assert_eq!(others.map(megabytes), [1200.0, 2400.0, 60.0, 500.0]);
        assert!(Cable::sata(6.0, true).unwrap().rate().practical.has(560e6));
        assert_eq!([Cable::sata(4.0, false), Cable::sas(5.0), Cable::usb(1.0)], [None; 3]);
    }
}
