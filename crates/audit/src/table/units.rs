//! Units in heads and labels: `МБ/с`, `Throughput (MB/s)`, `Скорость, МБ/с`, `Read IOPS`, `IOPS
//! (k)`.

use crate::number::{Measure, NumberUnit, PrefixBase, Quantity, cyrillic, measure};

/// Returns the unit that a head gives its cells; `None` if it gives none, or an unknown one.
pub(crate) fn of_head(head: &str) -> Option<Measure> {
    let head = head.trim().trim_matches(['*', '`', '_', '|', ' ']);
    if head.is_empty() || head.len() > 120 {
        return None;
    }
    if let Some((before, inside)) = bracket(head).filter(|_| trusted(head, true).is_none()) {
        let outer = last_word(before.trim_end());
        let Some(factor) = multiple(inside) else {
            // `drive(s)` does not mean seconds.
            let plural =
                inside == "s" && before.ends_with(|letter: char| letter.is_ascii_alphabetic());
            return trusted(inside, true).filter(|_| !plural).or(outer);
        };
        // In `IOPS (k)` the bracket is the multiple.
        let outer = outer.unwrap_or(Measure {
            unit: NumberUnit::Bare,
            scale: 1.0,
            base: PrefixBase::Decimal,
        });
        return (outer.scale == 1.0).then_some(Measure {
            scale: factor,
            base: PrefixBase::Decimal,
            ..outer
        });
    }
    let percent = || {
        let of =
            head.strip_prefix('%').is_some_and(|rest| rest.starts_with(' ') && !rest.contains('%'));
        of.then_some(Measure { unit: NumberUnit::Percent, scale: 1.0, base: PrefixBase::None })
    };
    let after =
        || head.rsplit_once([',', '，']).and_then(|(_, after)| trusted(after.trim(), false));
    trusted(head, true).or_else(after).or_else(percent).or_else(|| last_word(head))
}

/// Gives a figure without a unit that of its head.
pub(crate) fn give(quantity: &mut Quantity, measure: Measure) {
    if quantity.unit != NumberUnit::Bare {
        return;
    }
    quantity.unit = measure.unit;
    // `26.0k` under `IOPS (k)` does not mean millions.
    if quantity.scale == 1.0 {
        quantity.figure = quantity.figure.scaled(measure.scale);
        quantity.scale = measure.scale;
        quantity.base = measure.base;
    }
}

/// Splits `Throughput (MB/s)`, `带宽（MB/s）`, `BW [MB/s]` into the text before the last bracket and
/// the text in it.
fn bracket(head: &str) -> Option<(&str, &str)> {
    let (open, body) = [('(', ')'), ('（', '）'), ('[', ']')]
        .into_iter()
        .find_map(|(open, close)| Some((open, head.strip_suffix(close)?)))?;
    let (before, inside) = body.rsplit_once(open)?;
    Some((before, inside.trim()))
}

/// Returns the factor that a text such as `k`, `тыс.` or `in thousands` states without a unit.
fn multiple(text: &str) -> Option<f64> {
    let factor = match text {
        "k" | "K" | "千" | "x1000" | "×1000" | "x 1000" | "× 1000" | "'000" | "000s"
        | "thousands" | "thousand" | "тыс." | "тыс" | "in thousands" => 1e3,
        "万" => 1e4,
        "M" | "millions" | "million" | "млн" | "млн." | "百万" => 1e6,
        _ => return None,
    };
    Some(factor)
}

/// Returns the unit at the end of a head, if its last word clearly is one: `Read IOPS`,
/// `4K随机写IOPS`, `lat us`.
fn last_word(head: &str) -> Option<Measure> {
    let part =
        |letter: char| letter.is_ascii_alphabetic() || cyrillic(letter) || "/%µμ".contains(letter);
    let before = head.trim_end_matches(part);
    // `p99%` is a percentile, `4k` a size, `nvme-us` a name.
    if before.ends_with(|letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter)) {
        return None;
    }
    let read = trusted(&head[before.len()..], false)?;
    // `reads, k IOPS`, `万IOPS`.
    let before = before.trim_end();
    let word = before.rsplit([' ', ',', '(']).next().unwrap_or(before);
    match multiple(word).or_else(|| before.ends_with('万').then_some(1e4)) {
        Some(factor) if read.scale == 1.0 => {
            Some(Measure { scale: factor, base: PrefixBase::Decimal, ..read })
        }
        Some(_) => None,
        None => Some(read),
    }
}

/// Returns the unit that a text is, unless it may mean something else. Short units count only if
/// the text is `alone` in a head or in brackets.
fn trusted(text: &str, alone: bool) -> Option<Measure> {
    let read = measure(text)?;
    // `min` means the least of something; `B`, `x` and `M` are names.
    let trusted = match read.unit {
        NumberUnit::Percent => true,
        NumberUnit::Nanoseconds => text != "min" && (alone || text.chars().count() > 1),
        NumberUnit::Bytes => alone && read.scale > 1.0,
        NumberUnit::Times => alone && !text.eq_ignore_ascii_case("x"),
        unit => unit.is_rate(),
    };
    trusted.then_some(read)
}
