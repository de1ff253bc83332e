//! Capabilities of hardware: line rates of links by their standards, ratings of drives by their data
//! sheets. These are facts with their sources; nothing is measured here. The audit's rules and the
//! reports compare figures with them. [`number`] reads figures in any notation, each with the
//! interval that it represents.
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

/// Formats bytes in MB or KB, with powers of 1000: `122 MB`, `4.2 MB`, `801 KB`.
fn short(bytes: f64) -> String {
    match bytes {
        many if many >= 9.95e6 => format!("{:.0} MB", many / 1e6),
        some if some >= 999_500.0 => format!("{:.1} MB", some / 1e6),
        few => format!("{:.0} KB", few / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_messages_are_short() {
        assert_eq!([rate_text(3.938e9), rate_text(6.3e10)], ["3938 MB/s", "63.0 GB/s"]);
        assert_eq!([rate_text(8.01e5), rate_text(2.54e6)], ["801 KB/s", "2.5 MB/s"]);
    }
}
