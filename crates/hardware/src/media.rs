//! Storage media, and the I/O rates of rotating disks.

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Medium {
    Hdd,
    Qlc,
    Tlc,
    Mlc,
    Slc,
    #[serde(rename = "Optane")]
    Optane,
}

/// Speeds of rotating disks in rpm, each with the mean seek time in milliseconds from data sheets.
const SPINDLES: [(u32, f64); 4] = [(5400, 11.0), (7200, 8.5), (10_000, 4.5), (15_000, 3.5)];

/// Largest factor by which a queue of 32 or more I/Os raises the rate: the drive serves the nearest
/// I/O first.
const GAIN_OF_QUEUES: f64 = 2.5;

/// Returns the most random I/Os per second of a rotating disk: one per mean seek and half a turn,
/// times the gain from a deep queue. About 200 at 7200 rpm, 330 at 10,000, 455 at 15,000.
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
