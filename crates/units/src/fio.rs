//! Parses the words of fio's job files, for code that runs them and code that reads them on pages.

/// Returns the section's name if the line is a section header: `global` for `[global]`. It may be
/// empty.
pub fn section(line: &str) -> Option<&str> {
    line.trim().strip_prefix('[')?.strip_suffix(']').map(str::trim)
}

/// Splits a line into an option's key and value: `bs=4k`. A bare `time_based` has no value.
pub fn option(line: &str) -> (&str, Option<&str>) {
    line.split_once('=')
        .map_or((line.trim(), None), |(key, value)| (key.trim(), Some(value.trim())))
}

/// Parses a number as fio 3 reads it with kb_base=1024: `4k`, `4kb`, `4Ki` are 4096, and `4KiB` is
/// 4000 (checked with fio 3.33). `0x` begins a hexadecimal number. `None` for any other text (a
/// fraction, say) and for a number beyond 64 bits.
pub fn fio_number(word: &str) -> Option<u64> {
    let lower = word.to_ascii_lowercase();
    if let Some(hex) = lower.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok();
    }
    let end = lower.find(|c: char| !c.is_ascii_digit()).unwrap_or(lower.len());
    let number: u64 = lower[..end].parse().ok()?;
    let (letter, rest) = match lower[end..].chars().next() {
        None => return Some(number),
        Some('b') if lower.len() == end + 1 => return Some(number),
        Some(letter) => (letter, &lower[end + letter.len_utf8()..]),
    };
    let base: u64 = match rest {
        "" | "b" | "i" => 1024,
        "ib" => 1000,
        _ => return None,
    };
    let power = u32::try_from("kmgtp".find(letter)? + 1).ok()?;
    number.checked_mul(base.checked_pow(power)?)
}

/// Parses a size into bytes as fio prints it and people write it: `4k`, `128K`, `64.0K`, `1m`,
/// `4096`. A letter is a power of 1024. `None` for a size with an i (`4KiB`), which some versions
/// of fio read by 1000 and others by 1024, for a part of a byte, and from 1e15 bytes on.
pub fn printed_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let number: f64 = text.get(..digits)?.parse().ok()?;
    let unit = text[digits..].to_ascii_lowercase();
    let unit = unit.strip_suffix('b').unwrap_or(&unit);
    let power = ["", "k", "m", "g", "t", "p"].iter().position(|prefix| *prefix == unit)?;
    let bytes = number * 1024f64.powi(power as i32);
    (bytes.fract() == 0.0 && bytes < 1e15).then_some(bytes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_fio_reads_them() {
        assert_eq!(
            ["4K", "128kb", "512", "64.0K"].map(printed_size),
            [Some(4096), Some(131_072), Some(512), Some(65_536)]
        );
        let none = ["4KiB", "", "k", "4x", "99999999999999999999", "9999999p9"];
        assert_eq!(none.map(printed_size), [None; 6]);
        assert_eq!(
            ["4K", "4Ki", "4KiB", "0x1000", "1.5k", "20000000000g"].map(fio_number),
            [Some(4096), Some(4096), Some(4000), Some(4096), None, None]
        );
    }

    #[test]
    fn sections_and_options_are_told() {
        assert_eq!(
            [section(" [ a b ] "), section("[]"), section("[a")],
            [Some("a b"), Some(""), None]
        );
        assert_eq!(
            (option("bs = 4k "), option(" stonewall")),
            (("bs", Some("4k")), ("stonewall", None))
        );
    }
}
