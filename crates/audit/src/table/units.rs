//! Units in heads and labels: `МБ/с`, `Throughput (MB/s)`, `Скорость, МБ/с`, `Read IOPS`, `IOPS (k)`.

use crate::number::{Base, Measure, Quantity, Unit, measure};

/// The unit that a head says its cells have; `None` where it says none, or what is not understood.
pub(crate) fn of_head(head: &str) -> Option<Measure> {
    let head = head.trim().trim_matches(['*', '`', '_', '|', ' ']);
    if head.is_empty() || head.len() > 120 {
        return None;
    }
    if let Some(whole) = trusted(head, true) {
        return Some(whole);
    }
    if let Some((before, inside)) = bracket(head) {
        let outer = last_word(before.trim_end());
        return match multiple(inside) {
            // `IOPS (k)`: the bracket is how much of it.
            Some(factor) => {
                let base = Base::Decimal;
                let outer = outer.unwrap_or(Measure { unit: Unit::Bare, scale: 1.0, base });
                (outer.scale == 1.0).then_some(Measure { scale: factor, base, ..outer })
            }
            None => trusted(inside, true).filter(|_| !plural(before, inside)).or(outer),
        };
    }
    let behind = head.rsplit_once([',', '，']).and_then(|(_, behind)| trusted(behind.trim(), false));
    if behind.is_some() {
        return behind;
    }
    if head.strip_prefix('%').is_some_and(|rest| rest.starts_with(' ') && !rest.contains('%')) {
        return Some(Measure { unit: Unit::Percent, scale: 1.0, base: Base::None });
    }
    last_word(head)
}

/// Gives a figure without a unit that of its head; what it has itself stays.
pub(crate) fn give(quantity: &mut Quantity, measure: Measure) {
    if quantity.unit != Unit::Bare {
        return;
    }
    quantity.unit = measure.unit;
    // `26.0k` under `IOPS (k)` is not meant to be millions.
    if quantity.scale == 1.0 {
        quantity.figure = quantity.figure.scaled(measure.scale);
        quantity.scale = measure.scale;
        quantity.base = measure.base;
    }
}

/// `Throughput (MB/s)`, `带宽（MB/s）`, `BW [MB/s]`: what is before and in the bracket at the end.
fn bracket(head: &str) -> Option<(&str, &str)> {
    let close = head.chars().next_back()?;
    let open = match close {
        ')' => '(',
        '）' => '（',
        ']' => '[',
        _ => return None,
    };
    let at = head.rfind(open)?;
    Some((&head[..at], head[at + open.len_utf8()..head.len() - close.len_utf8()].trim()))
}

/// `drive(s)` is no seconds.
fn plural(before: &str, inside: &str) -> bool {
    inside == "s" && before.ends_with(|letter: char| letter.is_ascii_alphabetic())
}

/// How much of a unit a printed 1 is, said alone.
fn multiple(text: &str) -> Option<f64> {
    let factor = match text {
        "k" | "K" | "千" | "x1000" | "×1000" | "x 1000" | "× 1000" | "'000" | "000s" | "thousands"
        | "thousand" | "тыс." | "тыс" | "in thousands" => 1e3,
        "万" => 1e4,
        "M" | "millions" | "million" | "млн" | "млн." | "百万" => 1e6,
        _ => return None,
    };
    Some(factor)
}

/// The last word of a head where it is a unit beyond doubt: `Read IOPS`, `4K随机写IOPS`, `lat us`.
fn last_word(head: &str) -> Option<Measure> {
    let part = |letter: char| {
        letter.is_ascii_alphabetic()
            || matches!(letter, '/' | '%' | 'µ' | 'μ')
            || ('а'..='я').contains(&letter)
            || ('А'..='Я').contains(&letter)
    };
    let start = head.char_indices().rev().take_while(|(_, letter)| part(*letter)).last()?.0;
    // `p99%` is a percentile, `4k` a size, `nvme-us` a name.
    if head[..start]
        .ends_with(|letter: char| letter.is_alphanumeric() && letter.is_ascii() || "-_.".contains(letter))
    {
        return None;
    }
    let before = head[..start].trim_end();
    let read = trusted(&head[start..], false)?;
    // `reads, k IOPS`, `万IOPS`.
    let word = before.rsplit([' ', ',', '(']).next().unwrap_or(before);
    match multiple(word).or_else(|| before.ends_with('万').then_some(1e4)) {
        Some(factor) if read.scale == 1.0 => Some(Measure { scale: factor, base: Base::Decimal, ..read }),
        Some(_) => None,
        None => Some(read),
    }
}

/// A unit that a head can have; alone or in a bracket also the short ones.
fn trusted(text: &str, alone: bool) -> Option<Measure> {
    let read = measure(text)?;
    let rate = matches!(
        read.unit,
        Unit::PerSecond | Unit::BytesPerSecond | Unit::BitsPerSecond | Unit::Percent | Unit::Mwips
    );
    // `min` is the least of something, `B`, `x` and `M` are names.
    let time = read.unit == Unit::Nanoseconds && text != "min" && (alone || text.chars().count() > 1);
    let size = read.unit == Unit::Bytes && alone && read.scale > 1.0;
    let times = read.unit == Unit::Times && alone && text != "x" && text != "X";
    (rate || time || size || times).then_some(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(head: &str) -> Option<(Unit, f64)> {
        of_head(head).map(|read| (read.unit, read.scale))
    }

    #[test]
    fn heads_say_their_units_in_many_ways() {
        for (head, unit, scale) in [
            ("МБ/с", Unit::BytesPerSecond, 1e6),
            ("性能 (Gbps)", Unit::BitsPerSecond, 1e9),
            ("带宽（MB/s）", Unit::BytesPerSecond, 1e6),
            ("Throughput [MiB/s]", Unit::BytesPerSecond, 1_048_576.0),
            ("Скорость, МБ/с", Unit::BytesPerSecond, 1e6),
            ("Скорость МБ/с", Unit::BytesPerSecond, 1e6),
            ("IOPS (k)", Unit::PerSecond, 1e3),
            ("IOPS（万）", Unit::PerSecond, 1e4),
            ("kIOPS", Unit::PerSecond, 1e3),
            ("Random read, K IOps", Unit::PerSecond, 1e3),
            ("Random read k IOPS", Unit::PerSecond, 1e3),
            ("随机读万IOPS", Unit::PerSecond, 1e4),
            ("Speed MB/sec", Unit::BytesPerSecond, 1e6),
            ("4K随机写IOPS", Unit::PerSecond, 1.0),
            ("Read IOPS (4k)", Unit::PerSecond, 1.0),
            ("**IOPS**", Unit::PerSecond, 1.0),
            ("p99.9 (us)", Unit::Nanoseconds, 1e3),
            ("Time (s)", Unit::Nanoseconds, 1e9),
            ("avg lat ms", Unit::Nanoseconds, 1e6),
            ("开销(%)", Unit::Percent, 1.0),
            ("% of host", Unit::Percent, 1.0),
            ("CPU %", Unit::Percent, 1.0),
        ] {
            assert_eq!(of(head), Some((unit, scale)), "{head}");
        }
    }

    #[test]
    fn names_are_no_units() {
        for head in [
            "Read",
            "Drive B",
            "Model X",
            "min",
            "lat min",
            "drive(s)",
            "Group M",
            "p99%",
            "4k",
            "写入 (Write)",
            "",
            "% pvscsi=100%",
            "Host/VM",
            "bs",
            "raid-us",
            "虚拟/物理",
        ] {
            assert_eq!(of(head), None, "{head}");
        }
    }

    #[test]
    fn a_cell_keeps_the_unit_that_it_has() {
        let cell = |text: &str, head: &str| {
            let mut read = crate::number::quantity(0, text).unwrap();
            give(&mut read, of_head(head).unwrap());
            (read.figure.value, read.unit)
        };
        assert_eq!(cell("9.5", "Gbps"), (9.5e9, Unit::BitsPerSecond));
        assert_eq!(cell("26.0k", "IOPS (k)"), (26_000.0, Unit::PerSecond));
        assert_eq!(cell("26", "IOPS (k)"), (26_000.0, Unit::PerSecond));
        assert_eq!(cell("94 %", "MB/s"), (94.0, Unit::Percent));
        assert_eq!(cell("5 MiB/s", "MB/s"), (5.0 * 1_048_576.0, Unit::BytesPerSecond));
    }
}
