//! PCI Express, by the base specifications 1.1 to 6.0.

use super::Rate;

/// Transfers a second a lane in giga, by generation.
const SPEEDS: [f64; 6] = [2.5, 5.0, 8.0, 16.0, 32.0, 64.0];

/// Shares of the line that payloads of NVMe drives get in practice, with a largest payload of 128 to 256 bytes: headers,
/// acknowledgements, credits and commands.
const PRACTICAL: [f64; 2] = [0.80, 0.91];

/// A link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pcie {
    generation: u8,
    lanes: u8,
}

impl Pcie {
    /// A link of a generation from 1 to 6; lanes are 1, 2, 4, 8, 12, 16 or 32.
    pub fn new(generation: u8, lanes: u8) -> Option<Pcie> {
        let known = (1..=6).contains(&generation) && matches!(lanes, 1 | 2 | 4 | 8 | 12 | 16 | 32);
        known.then_some(Pcie { generation, lanes })
    }

    /// Of what `lspci` calls `Speed 8GT/s, Width x4`.
    pub fn of_speed(gigatransfers: f64, lanes: u8) -> Option<Pcie> {
        let at = SPEEDS.iter().position(|speed| (speed - gigatransfers).abs() < 0.01)?;
        Pcie::new(u8::try_from(at + 1).ok()?, lanes)
    }

    /// Bytes a second after the line code: 3.938 GB/s of `PCIe 3.0 x4`. Generation 6 moves flits of 256 bytes, 236 of them packets.
    fn line(self) -> f64 {
        let code = match self.generation {
            1 | 2 => 8.0 / 10.0,
            3..=5 => 128.0 / 130.0,
            _ => 236.0 / 256.0,
        };
        SPEEDS[usize::from(self.generation - 1)] * 1e9 * code / 8.0 * f64::from(self.lanes)
    }

    /// What it carries one way. Nothing is above packets of 512 bytes with the shortest header, 12
    /// bytes, and 8 for framing, the sequence number and the CRC of the link; flits have the header only.
    pub fn rate(self) -> Rate {
        let overhead = if self.generation >= 6 { 12.0 } else { 20.0 };
        Rate::of(self.line(), PRACTICAL, 512.0 / (512.0 + overhead))
    }

    /// `PCIe 3.0 x4`.
    pub fn name(self) -> String {
        format!("PCIe {}.0 x{}", self.generation, self.lanes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_rates_are_those_of_the_specifications() {
        let megabytes = |(generation, lanes)| (Pcie::new(generation, lanes).unwrap().line() / 1e6).round();
        let links = [(1, 1), (2, 4), (3, 4), (4, 4), (5, 4), (5, 16)];
        assert_eq!(links.map(megabytes), [250.0, 2000.0, 3938.0, 7877.0, 15754.0, 63015.0]);
        assert_eq!(Pcie::of_speed(8.0, 4), Pcie::new(3, 4));
        assert_eq!(Pcie::of_speed(2.5, 8).map(Pcie::name).as_deref(), Some("PCIe 1.0 x8"));
        assert_eq!([Pcie::new(7, 4), Pcie::new(0, 4), Pcie::new(3, 5), Pcie::of_speed(9.0, 4)], [None; 4]);
    }
}
