//! Capabilities of hardware: line rates of links by their standards, I/O rates of rotating disks,
//! ratings of drives by their data sheets. These are facts with their sources; nothing is measured
//! here. The audit's rules and the reports compare figures with them. [`number`] reads figures in
//! any notation, each with the interval that it represents.
#![forbid(unsafe_code)]

mod link;
pub mod media;
pub mod number;
pub mod ratings;
mod spot;

pub use link::{HardwareLink, Rate};
pub use spot::TextSpan;

/// Formats a rate in bytes per second with powers of 1000: `3938 MB/s`, `14.8 GB/s`, `801 KB/s`.
pub fn rate_text(bytes_per_second: f64) -> String {
    match bytes_per_second {
        many if many >= 1e10 => format!("{:.1} GB/s", many / 1e9),
        few => format!("{}/s", short(few)),
    }
}

/// Formats bytes with powers of 1000: `122 GB`, `4.2 MB`.
pub fn size_text(bytes: f64) -> String {
    match bytes {
        many if many >= 9.95e9 => format!("{:.0} GB", many / 1e9),
        some if some >= 9.995e8 => format!("{:.1} GB", some / 1e9),
        few => short(few),
    }
}

/// Formats bytes in MB or KB, with powers of 1000: `122 MB`, `4.2 MB`, `801 KB`.
fn short(bytes: f64) -> String {
    match bytes {
        many if many >= 9.95e6 => format!("{:.0} MB", many / 1e6),
        some if some >= 999_500.0 => format!("{:.1} MB", some / 1e6),
        few => format!("{:.0} KB", few / 1e3),
    }
}

/// Formats I/Os per second: `1.25M`, `685k`, `195`.
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
        assert_eq!(
            [1.22e11, 4.2e9, 4.23e6, 5.1e4].map(size_text),
            ["122 GB", "4.2 GB", "4.2 MB", "51 KB"]
        );
        assert_eq!(
            [iops_text(685_000.0), iops_text(195.0), iops_text(2.7e6)],
            ["685k", "195", "2.70M"]
        );
    }
}
