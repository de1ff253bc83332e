//! SATA (Serial ATA revision 3.x), SAS (SAS-1 to SAS-4) and USB (2.0 to 4), by their standards.

use super::Rate;

/// A cable of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cable {
    /// SATA 1.5 Gb/s.
    Sata1,
    /// SATA 3 Gb/s.
    Sata2,
    /// SATA 6 Gb/s.
    Sata3,
    /// SAS 3 Gb/s, one lane.
    Sas3,
    /// SAS 6 Gb/s.
    Sas6,
    /// SAS 12 Gb/s.
    Sas12,
    /// 24G SAS: 22.5 Gb/s.
    Sas24,
    /// USB 2.0: 480 Mb/s.
    Usb2,
    /// USB 3.2 Gen 1: 5 Gb/s.
    Usb5,
    /// USB 3.2 Gen 2: 10 Gb/s.
    Usb10,
    /// USB 3.2 Gen 2x2: 20 Gb/s.
    Usb20,
    /// USB4: 40 Gb/s.
    Usb40,
}

/// Frames of SATA carry up to 8 KiB behind 4 bytes of header, 4 of CRC and their marks; practice has 550 to 565 MB/s of 600.
const SATA: ([f64; 2], f64) = ([0.88, 0.945], 0.99);
/// Frames of SSP carry up to 1 KiB behind a header of 24 bytes, with 4 of CRC and 8 of marks: 0.966.
const SAS: ([f64; 2], f64) = ([0.90, 0.96], 0.97);
/// Bulk transfers of USB 3: packets of 1 KiB with 20 bytes around, bursts, the drive's own protocol.
const USB3: ([f64; 2], f64) = ([0.75, 0.93], 0.98);
/// Of USB 2: 13 packets of 512 bytes in a microframe of 125 us are 53.2 MB/s of 60.
const USB2: ([f64; 2], f64) = ([0.50, 0.75], 0.888);

impl Cable {
    /// All.
    pub const ALL: [Cable; 12] = [
        Cable::Sata1,
        Cable::Sata2,
        Cable::Sata3,
        Cable::Sas3,
        Cable::Sas6,
        Cable::Sas12,
        Cable::Sas24,
        Cable::Usb2,
        Cable::Usb5,
        Cable::Usb10,
        Cable::Usb20,
        Cable::Usb40,
    ];

    /// Bits a second on the wire in giga, and bits of data in them: 8b/10b, 128b/150b of 24G SAS (with its error correction),
    /// 128b/132b of USB from 10 Gb/s, 64b/66b of USB4; USB 2.0 has none.
    fn wire(self) -> (f64, f64) {
        match self {
            Cable::Sata1 => (1.5, 0.8),
            Cable::Sata2 | Cable::Sas3 => (3.0, 0.8),
            Cable::Sata3 | Cable::Sas6 => (6.0, 0.8),
            Cable::Sas12 => (12.0, 0.8),
            Cable::Sas24 => (22.5, 128.0 / 150.0),
            Cable::Usb2 => (0.48, 1.0),
            Cable::Usb5 => (5.0, 0.8),
            Cable::Usb10 => (10.0, 128.0 / 132.0),
            Cable::Usb20 => (20.0, 128.0 / 132.0),
            Cable::Usb40 => (40.0, 64.0 / 66.0),
        }
    }

    /// What it carries one way (USB 2.0: both together).
    pub fn rate(self) -> Rate {
        let (gigabits, code) = self.wire();
        let (practical, most) = match self {
            Cable::Sata1 | Cable::Sata2 | Cable::Sata3 => SATA,
            Cable::Sas3 | Cable::Sas6 | Cable::Sas12 | Cable::Sas24 => SAS,
            Cable::Usb2 => USB2,
            Cable::Usb5 | Cable::Usb10 | Cable::Usb20 | Cable::Usb40 => USB3,
        };
        Rate::of(gigabits * 1e9 * code / 8.0, practical, most)
    }

    /// `SATA 6 Gb/s`.
    pub fn name(self) -> &'static str {
        match self {
            Cable::Sata1 => "SATA 1.5 Gb/s",
            Cable::Sata2 => "SATA 3 Gb/s",
            Cable::Sata3 => "SATA 6 Gb/s",
            Cable::Sas3 => "SAS 3 Gb/s",
            Cable::Sas6 => "SAS 6 Gb/s",
            Cable::Sas12 => "SAS 12 Gb/s",
            Cable::Sas24 => "24G SAS",
            Cable::Usb2 => "USB 2.0",
            Cable::Usb5 => "USB 5 Gb/s",
            Cable::Usb10 => "USB 10 Gb/s",
            Cable::Usb20 => "USB 20 Gb/s",
            Cable::Usb40 => "USB4 40 Gb/s",
        }
    }

    /// SATA by its rate in Gb/s or its revision (`SATA 3`, `SATA III`): 3 without a unit is the revision.
    pub fn sata(number: f64, is_rate: bool) -> Option<Cable> {
        match (number, is_rate) {
            (1.5, true) | (1.0, false) => Some(Cable::Sata1),
            (3.0, true) | (2.0, false) => Some(Cable::Sata2),
            (6.0, true) | (3.0, false) => Some(Cable::Sata3),
            _ => None,
        }
    }

    /// SAS by its rate in Gb/s.
    pub fn sas(gigabits: f64) -> Option<Cable> {
        match gigabits {
            3.0 => Some(Cable::Sas3),
            6.0 => Some(Cable::Sas6),
            12.0 => Some(Cable::Sas12),
            22.5 | 24.0 => Some(Cable::Sas24),
            _ => None,
        }
    }

    /// USB by its rate in Gb/s.
    pub fn usb(gigabits: f64) -> Option<Cable> {
        [
            (0.48, Cable::Usb2),
            (5.0, Cable::Usb5),
            (10.0, Cable::Usb10),
            (20.0, Cable::Usb20),
            (40.0, Cable::Usb40),
        ]
        .into_iter()
        .find_map(|(rate, cable)| (rate == gigabits).then_some(cable))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_standards() {
        for (cable, megabytes) in [
            (Cable::Sata1, 150.0),
            (Cable::Sata3, 600.0),
            (Cable::Sas12, 1200.0),
            (Cable::Sas24, 2400.0),
            (Cable::Usb2, 60.0),
            (Cable::Usb5, 500.0),
        ] {
            assert!((cable.rate().line / 1e6 - megabytes).abs() < 1e-6, "{}", cable.name());
        }
        assert!(Cable::Sata3.rate().practical.has(560e6));
        assert_eq!([Cable::sata(6.0, true), Cable::sata(3.0, false)], [Some(Cable::Sata3); 2]);
        assert_eq!((Cable::sata(3.0, true), Cable::sas(5.0)), (Some(Cable::Sata2), None));
        assert_eq!((Cable::usb(0.48), Cable::usb(1.0)), (Some(Cable::Usb2), None));
    }
}
