//! When software that pages name was released: by its makers' announcements. Names that nothing else has.

/// A day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

impl Date {
    const fn new(year: u16, month: u8, day: u8) -> Date {
        Date { year, month, day }
    }

    /// Of `2019-07-19` or `2019/07/19`.
    pub fn read(text: &str) -> Option<Date> {
        let mut parts = text.split(['-', '/']);
        let year = parts.next()?.parse().ok().filter(|year| (1990..2200).contains(year))?;
        let month = parts.next()?.parse().ok().filter(|month| (1..=12).contains(month))?;
        let day = parts.next()?.parse().ok().filter(|day| (1..=31).contains(day))?;
        parts.next().is_none().then_some(Date { year, month, day })
    }

    /// Days, for differences.
    pub fn days(self) -> i64 {
        let (year, month) = (i64::from(self.year), i64::from(self.month));
        // Months count from March: the leap day is the last (Howard Hinnant, days_from_civil).
        let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
        365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + i64::from(self.day)
    }
}

impl std::fmt::Display for Date {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(out, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// Names and when they were released. CentOS: the announcements; Debian and Ubuntu: their release notes; kernels: kernel.org; fio: its tags.
pub const RELEASES: &[(&str, Date)] = &[
    ("7.6.1810", Date::new(2018, 12, 3)),
    ("7.7.1908", Date::new(2019, 9, 17)),
    ("7.8.2003", Date::new(2020, 4, 27)),
    ("7.9.2009", Date::new(2020, 11, 12)),
    ("8.3.2011", Date::new(2020, 12, 7)),
    ("8.4.2105", Date::new(2021, 6, 3)),
    ("8.5.2111", Date::new(2021, 11, 16)),
    ("Ubuntu 18.04", Date::new(2018, 4, 26)),
    ("Ubuntu 20.04", Date::new(2020, 4, 23)),
    ("Ubuntu 22.04", Date::new(2022, 4, 21)),
    ("Ubuntu 24.04", Date::new(2024, 4, 25)),
    ("Debian 10", Date::new(2019, 7, 6)),
    ("Debian 11", Date::new(2021, 8, 14)),
    ("Debian 12", Date::new(2023, 6, 10)),
    ("fio-3.16", Date::new(2019, 9, 20)),
    ("fio-3.33", Date::new(2022, 11, 7)),
    ("Windows Server 2019", Date::new(2018, 10, 2)),
    ("Windows Server 2022", Date::new(2021, 8, 18)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_days() {
        let days = |text: &str| Date::read(text).unwrap().days();
        assert_eq!(days("2020-03-01") - days("2020-02-28"), 2);
        assert_eq!(days("2021-03-01") - days("2021-02-28"), 1);
        assert_eq!(days("2021/01/01") - days("2020/01/01"), 366);
        assert_eq!(["2021-13-01", "x", "2021-01", "2021-01-01-01"].map(Date::read), [None; 4]);
        assert_eq!(Date::read("2021-1-2").unwrap().to_string(), "2021-01-02");
    }
}
