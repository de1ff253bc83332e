//! What the value of one of vdbench's keys means: its numbers, ranges and names. A value that would not be the load
//! that was written is refused.

use super::super::error::{Fault, InputError};
use super::super::sweep::MOST_POINTS;
use super::lines::Param;

/// A number as vdbench writes it: `k`, `m`, `g` and `t` are powers of 1024, with or without a `b` behind.
pub(super) fn number(text: &str) -> Result<f64, Fault> {
    let lower = text.to_ascii_lowercase();
    let end = lower.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(lower.len());
    let scale = match &lower[end..] {
        "" => Some(1.0),
        "k" | "kb" => Some(1024.0),
        "m" | "mb" => Some(1024.0 * 1024.0),
        "g" | "gb" => Some(1024.0 * 1024.0 * 1024.0),
        "t" | "tb" => Some(1024.0 * 1024.0 * 1024.0 * 1024.0),
        _ => None,
    };
    let number = lower[..end].parse::<f64>().ok().zip(scale).map(|(number, scale)| number * scale);
    number.filter(|number| number.is_finite()).ok_or_else(|| {
        let why = format!("\"{text}\" is not a number as vdbench writes it");
        Fault::hint(why, "write a number, with k, m, g or t for powers of 1024")
    })
}

/// Above it a float has no exact whole numbers.
const LARGEST: f64 = 9_007_199_254_740_992.0;

/// A whole number from `least` to `most`.
pub(super) fn whole(number: f64, least: u64, most: u64) -> Result<u64, Fault> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked: whole, 0 to 2^53")]
    let exact = (number.fract() == 0.0 && (0.0..=LARGEST).contains(&number)).then_some(number as u64);
    match exact {
        Some(exact) if (least..=most).contains(&exact) => Ok(exact),
        Some(exact) => Err(Fault::new(format!("{exact} is not between {least} and {most}"))),
        None => Err(Fault::new(format!("{number} is not a whole number"))),
    }
}

/// A block: as much as iotax issues.
pub(super) fn block(number: f64) -> Result<u64, Fault> {
    whole(number, 1, 1 << 30)
}

/// A whole percentage.
pub(super) fn percent(number: f64) -> Result<u8, Fault> {
    let fault = || Fault::hint(format!("{number} is not a whole percentage from 0 to 100"), "round it");
    whole(number, 0, 100).ok().and_then(|percent| u8::try_from(percent).ok()).ok_or_else(fault)
}

/// The one number of a parameter.
pub(super) fn one(param: &Param) -> Result<f64, InputError> {
    number(param.one()?).map_err(|fault| param.error(fault))
}

/// Numbers of a list with its ranges: `(1-64,d)` doubles, `(64-1,d)` halves, `(10-50,10)` adds.
pub(super) fn numbers(param: &Param) -> Result<Vec<f64>, InputError> {
    let mut texts = param.values().into_iter();
    let mut numbers = Vec::new();
    while let Some(text) = texts.next() {
        let range = if param.list.is_some() { text.split_once('-') } else { None };
        let more = match range {
            None => number(text).map(|number| vec![number]),
            Some((from, to)) => range_of(from, to, texts.next()),
        };
        numbers.extend(more.map_err(|fault| param.error(fault))?);
        if numbers.len() > MOST_POINTS {
            let why = format!("more than {MOST_POINTS} values");
            let fault = Fault::hint(why, "leave values out: each takes its own budget of time");
            return Err(param.error(fault));
        }
    }
    Ok(numbers)
}

fn range_of(from: &str, to: &str, step: Option<&str>) -> Result<Vec<f64>, Fault> {
    let hint = "write (FROM-TO,d) to double, or (FROM-TO,STEP)";
    let (from_number, to_number) = (number(from)?, number(to)?);
    let next: Box<dyn Fn(f64) -> f64> = match step {
        None => return Err(Fault::hint(format!("{from}-{to} without a step"), hint)),
        Some("d") if to_number < from_number => Box::new(|value| value / 2.0),
        Some("d") => Box::new(|value| value * 2.0),
        Some(step) => {
            let step = number(step)?;
            Box::new(move |value| value + step)
        }
    };
    let falls = next(from_number) < from_number;
    let lies_within = |value: &f64| if falls { *value >= to_number } else { *value <= to_number };
    let values: Vec<f64> = std::iter::successors(Some(from_number), |value| Some(next(*value)))
        .take_while(lies_within)
        .take(MOST_POINTS + 1)
        .collect();
    match values.is_empty() || next(from_number) == from_number {
        true => Err(Fault::hint(format!("{from}-{to} is not a range that ends"), hint)),
        false => Ok(values),
    }
}

/// Names that end in numbers may be a range, as in `(sd1-sd4)`.
pub(super) fn names(param: &Param) -> Result<Vec<String>, InputError> {
    let mut names = Vec::new();
    for text in param.values() {
        match text.split_once('-').filter(|_| param.list.is_some()) {
            None => names.push(text.to_owned()),
            Some((from, to)) => names.extend(names_between(from, to).map_err(|fault| param.error(fault))?),
        }
    }
    Ok(names)
}

/// A range of names has at most so many.
const MOST_NAMES: u64 = 4096;

fn names_between(from: &str, to: &str) -> Result<Vec<String>, Fault> {
    let fault = || Fault::hint(format!("{from}-{to} is not a range of names"), "write it as (sd1-sd4)");
    let ((front, first), (back, last)) = (numbered(from).ok_or_else(fault)?, numbered(to).ok_or_else(fault)?);
    if front != back || first >= last || last - first > MOST_NAMES {
        return Err(fault());
    }
    // vdbench keeps the first as it was written and counts on without leading zeros.
    Ok(std::iter::once(from.to_owned()).chain((first + 1..=last).map(|n| format!("{front}{n}"))).collect())
}

fn numbered(name: &str) -> Option<(&str, u64)> {
    let front = name.trim_end_matches(|c: char| c.is_ascii_digit());
    Some((front, name[front.len()..].parse().ok()?))
}

/// `sd*` means every name that begins so.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => pattern == name,
    }
}
