//! What media can do: the least time of a random read of 4 KiB, one at a time, and the I/Os that a turning disk has.

use serde::Serialize;

/// What data lie on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Medium {
    /// Turning disks.
    Hdd,
    /// Flash of four bits a cell.
    Qlc,
    /// Three.
    Tlc,
    /// Two.
    Mlc,
    /// One, or a part of others that is used so: a cache of writes.
    Slc,
    /// 3D `XPoint`.
    Optane,
    /// Memory.
    Dram,
}

impl Medium {
    /// All, with their names in `ratings.toml` and pages.
    pub const ALL: [(Medium, &'static str); 7] = [
        (Medium::Hdd, "HDD"),
        (Medium::Qlc, "QLC"),
        (Medium::Tlc, "TLC"),
        (Medium::Mlc, "MLC"),
        (Medium::Slc, "SLC"),
        (Medium::Optane, "Optane"),
        (Medium::Dram, "DRAM"),
    ];

    /// `TLC`.
    pub fn name(self) -> &'static str {
        Medium::ALL.iter().find(|(medium, _)| *medium == self).map_or("", |(_, name)| name)
    }

    /// Nanoseconds that no mean of random reads of 4 KiB, one at a time, falls below. Flash: sensing the cells (`tR` of data sheets
    /// and ISSCC papers: SLC 20 to 25 us, MLC and TLC 40 to 75, QLC 85 and more for the slower pages; the least over pages is taken)
    /// with transfer and command. Disks: a read that needs neither seek nor much of a turn, 2 ms a mean. Less is a cache, a read
    /// ahead, or blocks that were never written and are answered without the medium.
    pub fn read_floor_ns(self) -> f64 {
        match self {
            Medium::Hdd => 2e6,
            Medium::Qlc => 60e3,
            Medium::Tlc => 50e3,
            Medium::Mlc => 40e3,
            Medium::Slc => 20e3,
            Medium::Optane => 4e3,
            Medium::Dram => 50.0,
        }
    }
}

/// Speeds of turning disks, and their mean seek in milliseconds as data sheets have it.
pub const SPINDLES: [(u32, f64); 4] = [(5400, 11.0), (7200, 8.5), (10_000, 4.5), (15_000, 3.5)];

/// The most that deep queues add: the drive takes the I/O that is next (tagged queues, 32 deep and more).
pub const GAIN_OF_QUEUES: f64 = 2.5;

/// I/Os a second of a turning disk at random places over all of it, one at a time: a mean seek and half a turn. 79 of 7200 rpm.
pub fn hdd_iops(rpm: u32) -> f64 {
    let seek = SPINDLES.iter().min_by_key(|(speed, _)| speed.abs_diff(rpm)).map_or(8.5, |(_, seek)| *seek);
    let half_turn = 30_000.0 / f64::from(rpm.max(1));
    1000.0 / (seek + half_turn)
}

/// The same with a deep queue: about 200 of 7200 rpm, 330 of 10,000, 455 of 15,000.
pub fn hdd_iops_queued(rpm: u32) -> f64 {
    hdd_iops(rpm) * GAIN_OF_QUEUES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_do_what_their_data_sheets_say() {
        let rounded = |rpm| hdd_iops(rpm).round();
        assert_eq!([5400, 7200, 10_000, 15_000].map(rounded), [60.0, 79.0, 133.0, 182.0]);
        assert!((190.0..210.0).contains(&hdd_iops_queued(7200)));
        assert!(hdd_iops_queued(5900) < hdd_iops_queued(7200));
    }

    #[test]
    fn denser_cells_are_slower() {
        let floors =
            [Medium::Dram, Medium::Optane, Medium::Slc, Medium::Mlc, Medium::Tlc, Medium::Qlc, Medium::Hdd]
                .map(Medium::read_floor_ns);
        assert!(floors.is_sorted());
        for (medium, name) in Medium::ALL {
            assert_eq!(medium.name(), name);
        }
    }
}
