//! Which generation of PCI Express servers and processors have at most: by their makers' specifications.

/// A platform that a text names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    /// As the text has it.
    pub name: String,
    /// Bytes of it in the text.
    pub bytes: std::ops::Range<usize>,
    /// Generation of PCI Express of its slots.
    pub pcie: u8,
    /// Where that is from.
    pub source: &'static str,
}

/// Servers by name. Those of Intel's Xeon E5 v3 and v4 and of the first two generations of Xeon Scalable have 3.0, of the third 4.0, of the fourth and
/// fifth 5.0; boards for EPYC 7001 keep 3.0 with later processors.
const SERVERS: &[(&str, u8, &str)] = &[
    ("nf5280m4", 3, "Inspur NF5280M4 specification"),
    ("nf5280m5", 3, "Inspur NF5280M5 specification"),
    ("nf5280m6", 4, "Inspur NF5280M6 specification"),
    ("dl360 gen9", 3, "HPE QuickSpecs DL360 Gen9"),
    ("dl380 gen9", 3, "HPE QuickSpecs DL380 Gen9"),
    ("dl360 gen10 plus", 4, "HPE QuickSpecs DL360 Gen10 Plus"),
    ("dl380 gen10 plus", 4, "HPE QuickSpecs DL380 Gen10 Plus"),
    ("dl360 gen10", 3, "HPE QuickSpecs DL360 Gen10"),
    ("dl380 gen10", 3, "HPE QuickSpecs DL380 Gen10"),
    ("dl360 gen11", 5, "HPE QuickSpecs DL360 Gen11"),
    ("dl380 gen11", 5, "HPE QuickSpecs DL380 Gen11"),
    ("r630", 3, "Dell PowerEdge R630 technical guide"),
    ("r730", 3, "Dell PowerEdge R730 technical guide"),
    ("r730xd", 3, "Dell PowerEdge R730xd technical guide"),
    ("r640", 3, "Dell PowerEdge R640 technical guide"),
    ("r740", 3, "Dell PowerEdge R740 technical guide"),
    ("r740xd", 3, "Dell PowerEdge R740xd technical guide"),
    ("r650", 4, "Dell PowerEdge R650 technical guide"),
    ("r750", 4, "Dell PowerEdge R750 technical guide"),
    ("r760", 5, "Dell PowerEdge R760 technical guide"),
    ("h11ssl-i", 3, "Supermicro H11SSL-i specification"),
    ("h11dsi", 3, "Supermicro H11DSi specification"),
    ("h12ssl-i", 4, "Supermicro H12SSL-i specification"),
    ("h13ssl-n", 5, "Supermicro H13SSL-N specification"),
];

/// Platforms in a text.
pub fn platforms(text: &str) -> Vec<Platform> {
    let lower = text.to_ascii_lowercase();
    let mut found: Vec<Platform> = Vec::new();
    for (name, pcie, source) in SERVERS {
        // `DL360 Gen10 Plus` is no `DL360 Gen10`.
        let is_new = |at: &usize| !found.iter().any(|other| other.bytes.contains(at));
        if let Some(at) = whole(&lower, name).filter(is_new) {
            let bytes = at..at + name.len();
            found.push(Platform { name: text[bytes.clone()].to_owned(), bytes, pcie: *pcie, source });
        }
    }
    found.extend(processors(text, &lower));
    found
}

/// Where a name stands with nothing of a word around it.
fn whole(lower: &str, name: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = lower[from..].find(name).map(|at| from + at) {
        let part = |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_alphanumeric());
        if !part(lower[..at].chars().next_back()) && !part(lower[at + name.len()..].chars().next()) {
            return Some(at);
        }
        from = at + name.len();
    }
    None
}

/// Processors by the digits of their names.
fn processors(text: &str, lower: &str) -> Vec<Platform> {
    let mut found = Vec::new();
    let mut add = |start: usize, end: usize, pcie: u8, source| {
        found.push(Platform { name: text[start..end].to_owned(), bytes: start..end, pcie, source });
    };
    for family in ["platinum ", "gold ", "silver ", "bronze "] {
        let Some(start) = lower.find(family) else { continue };
        let digits = &lower[start + family.len()..];
        let end = digits.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let number = &digits[..end];
        if number.len() < 4
            || !number.as_bytes()[..4].iter().all(u8::is_ascii_digit)
            || number[4..].bytes().any(|byte| byte.is_ascii_digit())
        {
            continue;
        }
        let pcie = match (number.as_bytes()[1], number[4..].starts_with('h')) {
            // The third generation for four sockets has the links of the second.
            (b'1' | b'2', _) | (b'3', true) => 3,
            (b'3', false) => 4,
            (b'4' | b'5', _) => 5,
            _ => continue,
        };
        add(start, start + family.len() + end, pcie, "Intel's specifications of Xeon Scalable processors");
    }
    for family in ["e5-26", "e5-16", "e5-46"] {
        let Some(start) = lower.find(family) else { continue };
        let rest = &lower[start..];
        let end = rest.find(" v").map_or(rest.len(), |at| at + 3).min(rest.len());
        if end <= 14 && rest.is_char_boundary(end) && rest[..end].ends_with(['3', '4']) {
            add(start, start + end, 3, "Intel's specifications of Xeon E5 processors");
        }
    }
    if let Some(start) = lower.find("epyc ") {
        let digits = &lower[start + 5..];
        let end = digits.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let pcie = match &digits.as_bytes()[..end] {
            [b'7', _, _, b'1', ..] => Some(3),
            [b'7', _, _, b'2' | b'3', ..] => Some(4),
            [b'8' | b'9', _, _, b'4' | b'5', ..] => Some(5),
            _ => None,
        };
        if let Some(pcie) = pcie {
            add(start, start + 5 + end, pcie, "AMD's specifications of EPYC processors");
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn platforms_have_their_generation() {
        let of = |text: &str| platforms(text).first().map(|one| one.pcie);
        for (text, pcie) in [
            ("HPE ProLiant DL360 Gen9", Some(3)),
            ("DL360 Gen10 Plus", Some(4)),
            ("Intel(R) Xeon(R) Gold 5218R CPU @ 2.10GHz", Some(3)),
            ("Xeon Gold 6330", Some(4)),
            ("Xeon Platinum 8380H", Some(3)),
            ("Xeon Platinum 8480+", Some(5)),
            ("Intel(R) Xeon(R) CPU E5-2678 v3 @ 2.50GHz", Some(3)),
            ("AMD EPYC 9534", Some(5)),
            ("EPYC 7302", Some(4)),
            ("EPYC 7501", Some(3)),
            ("PR730x", None),
            ("a gold medal", None),
            ("E5-2680", None),
            ("", None),
        ] {
            assert_eq!(of(text), pcie, "{text}");
        }
        assert_eq!(platforms("DL360 Gen10 Plus").len(), 1);
    }
}
