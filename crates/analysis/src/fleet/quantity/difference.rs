//! How hosts differ from others, in words.

/// From this ratio on, hosts have a multiple of what the others have.
const MULTIPLE: f64 = 2.0;

/// Difference of one host, or of several in the same direction, from others.
pub struct Difference {
    is_several: bool,
    is_less: bool,
    is_multiple: bool,
    /// `38 %`, `30 to 38 %`, `2.1 times`.
    size: String,
    others: String,
}

impl Difference {
    /// Creates the difference of hosts, given as logarithms, from the `others` in words.
    pub fn new(logs: impl IntoIterator<Item = f64>, others: impl Into<String>) -> Difference {
        let mut logs: Vec<f64> = logs.into_iter().collect();
        logs.sort_by(|one, other| one.abs().total_cmp(&other.abs()));
        let (least, most) = logs.first().zip(logs.last()).map_or((0.0, 0.0), |(a, b)| (*a, *b));
        let is_multiple = least >= MULTIPLE.ln();
        let words = |log: f64| match is_multiple {
            true => significant(log.exp()),
            false => percent_words(log.exp_m1().abs()),
        };
        let (low, high) = (words(least), words(most));
        let unit = if is_multiple { "times" } else { "%" };
        let size =
            if low == high { format!("{high} {unit}") } else { format!("{low} to {high} {unit}") };
        let (is_several, is_less) = (logs.len() > 1, most < 0.0);
        Difference { is_several, is_less, is_multiple, size, others: others.into() }
    }

    /// Returns `is 38 % slower than the other 11 hosts`, `are 2.5 times as fast as ...`.
    pub(super) fn in_speed(&self) -> String {
        let how = match (self.is_multiple, self.is_less) {
            (true, _) => "as fast as",
            (_, true) => "slower than",
            (_, false) => "faster than",
        };
        let is = if self.is_several { "are" } else { "is" };
        format!("{is} {} {how} {}", self.size, self.others)
    }

    /// Returns `uses 78 % less CPU per I/O than the other 11 hosts`, `uses 2.1 times the ... of ...`.
    pub(super) fn in_use(&self, what: &str) -> String {
        let uses = if self.is_several { "use" } else { "uses" };
        let Difference { size, others, .. } = self;
        match (self.is_multiple, self.is_less) {
            (true, _) => format!("{uses} {size} the {what} of {others}"),
            (_, true) => format!("{uses} {size} less {what} than {others}"),
            (_, false) => format!("{uses} {size} more {what} than {others}"),
        }
    }

    /// Returns `has a p99 latency 35 % lower than the other 11 hosts`, `has a ... 2.1 times that of
    /// ...`.
    pub(super) fn in_level(&self, what: &str) -> String {
        let has = if self.is_several { "have" } else { "has" };
        let how = match (self.is_multiple, self.is_less) {
            (true, _) => "that of",
            (_, true) => "lower than",
            (_, false) => "higher than",
        };
        format!("{has} a {what} {} {how} {}", self.size, self.others)
    }
}

/// Returns a relative size in percent without its unit: `38`, `3.8`.
pub fn percent_words(size: f64) -> String {
    let percent = 100.0 * size;
    if percent >= 9.95 { format!("{percent:.0}") } else { format!("{percent:.1}") }
}

/// Returns a multiple with the digits that matter: `2.1`, `11`.
fn significant(times: f64) -> String {
    if times >= 9.95 { format!("{times:.0}") } else { format!("{times:.1}") }
}
