//! Number formats of spreadsheets: what a cell shows of the number that it stores.

/// How a cell shows its number.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Format {
    /// All digits.
    General,
    /// A date, with or without a time.
    Date,
    /// A time alone.
    Time,
    /// So many digits behind the point.
    Fixed {
        /// Digits behind the point.
        decimals: usize,
        /// How many of them are shown though they are zero.
        least: usize,
        /// Whether it is a hundred times as much, with a sign.
        percent: bool,
        /// Text before it.
        before: String,
        /// Text behind it: often a unit.
        behind: String,
    },
}

impl Format {
    /// The format that every spreadsheet has under that number.
    pub fn built_in(id: u32) -> Format {
        let code = match id {
            1 | 3 | 37 | 38 => "0",
            2 | 4 | 39 | 40 => "0.00",
            9 => "0%",
            10 => "0.00%",
            14..=17 | 22 => return Format::Date,
            18..=21 | 45..=47 => return Format::Time,
            _ => return Format::General,
        };
        Format::of(code)
    }

    /// The format that a code says: `0.00%`, `#,##0.0" MB/s"`, `yyyy-mm-dd`.
    pub fn of(code: &str) -> Format {
        let (mut before, mut behind) = (String::new(), String::new());
        let (mut digits, mut percent, mut point) = (0, false, false);
        let (mut decimals, mut least) = (0, 0);
        let mut letters = code.chars();
        while let Some(letter) = letters.next() {
            let literal = if digits == 0 { &mut before } else { &mut behind };
            match letter {
                ';' => break,
                '"' => literal.extend(letters.by_ref().take_while(|letter| *letter != '"')),
                '\\' => literal.extend(letters.next()),
                '_' | '*' => drop(letters.next()),
                '[' => {
                    let inside: String = letters.by_ref().take_while(|letter| *letter != ']').collect();
                    if matches!(inside.as_str(), "h" | "hh" | "m" | "mm" | "s" | "ss") {
                        return Format::Time;
                    }
                }
                '0' | '#' | '?' => {
                    digits += 1;
                    decimals += usize::from(point);
                    least += usize::from(point && letter == '0');
                }
                '.' if digits > 0 => point = true,
                '%' => {
                    percent = true;
                    behind.push('%');
                }
                // It divides by a thousand where no digit follows.
                ',' if !letters.as_str().starts_with(['0', '#', '?']) => return Format::General,
                ',' => {}
                'y' | 'Y' | 'd' | 'D' => return Format::Date,
                'h' | 'H' | 's' | 'S' => {
                    return if code.contains(['y', 'Y', 'd', 'D']) { Format::Date } else { Format::Time };
                }
                'm' | 'M' if digits == 0 => {
                    return if code.contains(['h', 'H', 's']) && !code.contains(['y', 'd']) {
                        Format::Time
                    } else {
                        Format::Date
                    };
                }
                'E' | 'e' | '/' | '@' | 'G' => return Format::General,
                other => literal.push(other),
            }
        }
        match digits {
            0 => Format::General,
            _ => Format::Fixed { decimals: decimals.min(30), least, percent, before, behind },
        }
    }

    /// What the cell shows.
    pub fn show(&self, value: f64) -> String {
        match self {
            Format::General => general(value),
            Format::Date => date(value),
            Format::Time => time(value.fract()),
            Format::Fixed { decimals, least, percent, before, behind } => {
                let shown = if *percent { value * 100.0 } else { value };
                let mut digits = format!("{shown:.decimals$}");
                for _ in *least..*decimals {
                    if digits.ends_with('0') {
                        digits.pop();
                    }
                }
                format!("{before}{}{behind}", digits.trim_end_matches('.'))
            }
        }
    }
}

/// The shortest digits that are that number.
fn general(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_string(),
        size if (1e-9..1e15).contains(&size) => format!("{value}"),
        _ => format!("{value:e}"),
    }
}

/// `2024-04-12`: days are counted from the end of 1899.
fn date(serial: f64) -> String {
    if !(1.0..2_958_466.0).contains(&serial) {
        return general(serial);
    }
    // From 1970, then by the rule of 400 years of the Gregorian calendar.
    let days = serial as i64 - 25_569 + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year + i64::from(month < 3);
    let clock = if serial.fract() > 0.0 { format!(" {}", time(serial.fract())) } else { String::new() };
    format!("{year:04}-{month:02}-{day:02}{clock}")
}

fn time(fraction: f64) -> String {
    let seconds = (fraction.abs() * 86_400.0).round() as u64;
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_shown_as_its_format_says() {
        for (code, value, shown) in [
            ("0.00%", 0.946_512, "94.65%"),
            ("0%", 0.94, "94%"),
            ("0.0", 26.04, "26.0"),
            ("#,##0.00", 4603.114, "4603.11"),
            ("0.00\" МБ/с\"", 4603.114, "4603.11 МБ/с"),
            ("0.##", 1.5, "1.5"),
            ("0.##", 2.0, "2"),
            ("#,##0 ;[Red](#,##0)", 1234.0, "1234 "),
            ("General", 0.1 + 0.2, "0.30000000000000004"),
            ("0.00E+00", 1.5e20, "1.5e20"),
            ("0,", 1_500_000.0, "1500000"),
            ("yyyy-mm-dd", 45_394.0, "2024-04-12"),
            ("dd/mm/yyyy hh:mm", 45_394.5, "2024-04-12 12:00:00"),
            ("hh:mm:ss", 0.25, "06:00:00"),
            ("[h]:mm", 0.5, "12:00:00"),
            ("@", 7.0, "7"),
            ("", 7.5, "7.5"),
        ] {
            assert_eq!(Format::of(code).show(value), shown, "{code}");
        }
        assert_eq!(Format::built_in(10).show(0.5), "50.00%");
        assert_eq!(Format::built_in(14).show(2.0), "1900-01-01");
    }
}
