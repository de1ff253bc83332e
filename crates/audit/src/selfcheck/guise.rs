//! The guises that people print numbers in.

/// What a number counts, and how much a printed 1 is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guise {
    /// How much a printed 1 is.
    pub scale: f64,
    /// Digits behind the point.
    pub decimals: usize,
    /// What stands behind the number, with its space: ` MiB/s`.
    pub unit: &'static str,
    /// Decimal comma.
    pub comma: bool,
    /// What groups thousands.
    pub group: Option<char>,
    /// Full-width digits.
    pub wide: bool,
}

impl Guise {
    /// A number with a unit.
    pub const fn new(scale: f64, decimals: usize, unit: &'static str) -> Guise {
        Guise { scale, decimals, unit, comma: false, group: None, wide: false }
    }

    /// A value as it is printed.
    pub fn show(&self, value: f64) -> String {
        self.dress(&format!("{:.*}", self.decimals, value / self.scale))
    }

    /// A value that is cut off instead of rounded.
    pub fn cut(&self, value: f64) -> String {
        let tens = 10f64.powi(self.decimals as i32);
        self.dress(&format!("{:.*}", self.decimals, (value / self.scale * tens).trunc() / tens))
    }

    /// A plain number with commas, groups and unit.
    fn dress(&self, plain: &str) -> String {
        let (whole, fraction) = plain.split_once('.').unwrap_or((plain, ""));
        let mut text = String::new();
        let digits = whole.trim_start_matches('-');
        if digits.len() < whole.len() {
            text.push('-');
        }
        for (at, digit) in digits.chars().enumerate() {
            let left = digits.len() - at;
            match self.group {
                Some(sign) if at > 0 && left % 3 == 0 => text.extend([sign, digit]),
                _ => text.push(digit),
            }
        }
        if !fraction.is_empty() {
            text.push(if self.comma { ',' } else { '.' });
            text.push_str(fraction);
        }
        text.push_str(self.unit);
        if self.wide { text.chars().map(wide).collect() } else { text }
    }
}

fn wide(letter: char) -> char {
    match letter {
        '0'..='9' | '.' | '%' => char::from_u32(letter as u32 + 0xfee0).unwrap_or(letter),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_in_many_guises() {
        let share = Guise::new(1.0, 1, " %");
        assert_eq!((share.show(94.16), share.cut(94.16)), ("94.2 %".into(), "94.1 %".into()));
        assert_eq!(Guise { comma: true, ..share }.show(-3.26), "-3,3 %");
        assert_eq!(Guise { wide: true, ..Guise::new(1.0, 1, "%") }.show(94.2), "９４．２％");
        assert_eq!(Guise { group: Some(','), ..Guise::new(1.0, 0, "") }.show(1_077_543.2), "1,077,543");
        assert_eq!(Guise::new(1_048_576.0, 0, " MiB/s").show(317_509_632.0), "303 MiB/s");
    }
}
