//! What data lie on, and the I/Os that a turning disk has.

/// What data lie on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Medium {
    Hdd,
    /// Flash of four bits a cell.
    Qlc,
    Tlc,
    Mlc,
    Slc,
    #[serde(rename = "Optane")]
    Optane,
}

/// Speeds of turning disks, and their mean seek in milliseconds by their data sheets.
const SPINDLES: [(u32, f64); 4] = [(5400, 11.0), (7200, 8.5), (10_000, 4.5), (15_000, 3.5)];

/// The most that deep queues add: the drive takes the I/O that is next (32 deep and more).
const GAIN_OF_QUEUES: f64 = 2.5;

/// I/Os a second of a turning disk at random places with a deep queue, one each mean seek and half
/// a turn: about 200 of 7200 rpm, 330 of 10,000, 455 of 15,000.
pub fn hdd_iops(rpm: u32) -> f64 {
    let seek =
        SPINDLES.iter().min_by_key(|(speed, _)| speed.abs_diff(rpm)).map_or(8.5, |(_, seek)| *seek);
    let half_turn = 30_000.0 / f64::from(rpm.max(1));
    1000.0 / (seek + half_turn) * GAIN_OF_QUEUES
}

#[cfg(test)]
mod tests {
    #[test]
    fn disks_do_what_their_data_sheets_say() {
        let rounded = |rpm| super::hdd_iops(rpm).round();
        assert_eq!([5400, 7200, 10_000, 15_000].map(rounded), [151.0, 197.0, 333.0, 455.0]);
    }
}
