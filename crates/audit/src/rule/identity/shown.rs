//! Arithmetic that a page computes before the reader's eyes: `20k / 32k = 62.5%`, `128k + 64k = 192k`, `100 writes/s × 50 KB = 5 MB/s`.

use crate::evidence::{Evidence, Sink};
use crate::finding::{Finding, Severity};
use crate::number::{Base, Figure, Interval, Quantity, Unit, quantities};
use crate::page::Spot;
use crate::rule::table::like;

pub(in crate::rule) fn check(evidence: &Evidence, sink: &mut Sink) {
    for at in 0..evidence.page.len() {
        of_kinds(evidence, at, evidence.page.line(at), sink);
    }
    for at in evidence.text_lines() {
        let text = evidence.page.line(at);
        if !text.contains(['=', '≈']) {
            continue;
        }
        let figures = quantities(at, text);
        for end in 2..figures.len() {
            if let Some(start) = terms(text, &figures, end) {
                judge(evidence, &figures[start..=end], text, sink);
            }
        }
    }
}

/// sysbench's `qps: 4145.64 (r/w/o: 2902.18/829.08/414.37)`: all queries are the reads, the writes and the others.
fn of_kinds(evidence: &Evidence, at: usize, text: &str, sink: &mut Sink) {
    let Some(from) = text.find(" (r/w/o: ").map(|bracket| bracket + " (r/w/o: ".len()) else { return };
    let kinds = text[from..].split(')').next().unwrap_or("").replace('/', " ");
    let shift = |one: &Quantity| {
        let [start, end] = [one.figure.spot.start, one.figure.spot.end].map(|byte| byte as usize + from);
        Quantity { figure: Figure { spot: Spot::new(at, start..end), ..one.figure }, ..*one }
    };
    let parts: Vec<Quantity> = quantities(at, &kinds).iter().map(shift).collect();
    if let (Some(total), 3) = (quantities(at, &text[..from]).last(), parts.len()) {
        let sum = parts.iter().fold(Interval::exact(0.0), |sum, part| sum.plus(part.interval()));
        told(evidence, total, &parts, (sum, parts.iter().map(|part| part.figure.value).sum()), text, sink);
    }
}

fn between<'t>(text: &'t str, left: &Quantity, right: &Quantity) -> &'t str {
    let bare = text.get(left.figure.spot.end as usize..right.figure.spot.start as usize).unwrap_or("");
    bare.trim_matches([' ', '*', '`', '~'])
}

/// The operator between two figures; of `*` nothing is left by [`between`] but what marks it bold.
fn operator(text: &str, left: &Quantity, right: &Quantity) -> Option<char> {
    let between = text.get(left.figure.spot.end as usize..right.figure.spot.start as usize)?;
    // What stands far apart is no term of one sum.
    match between.trim() {
        _ if between.contains("  ") => None,
        // `8 x 550` is read as eight times.
        "" if left.unit == Unit::Times => Some('*'),
        "+" => Some('+'),
        "-" | "−" | "–" => Some('-'),
        "*" | "x" | "×" | "X" | "·" => Some('*'),
        "/" | "÷" => Some('/'),
        _ => None,
    }
}

/// The index of the first term of the sum or product before the figure with that index.
fn terms(text: &str, figures: &[Quantity], end: usize) -> Option<usize> {
    matches!(between(text, &figures[end - 1], &figures[end]), "=" | "==" | "≈" | "=>").then_some(())?;
    let mut start = end - 1;
    while start > 0 && operator(text, &figures[start - 1], &figures[start]).is_some() {
        start -= 1;
    }
    // More of it may stand before: `(8 - 2) x 4 = 24`.
    let before = text.get(..figures[start].figure.spot.start as usize)?.trim_end();
    let goes_on = before.ends_with(['+', '-', '*', '/', '×', '÷', '=', '^', ')']);
    let any = start + 1 < end && figures[start..end].iter().all(|one| one.figure.value > 0.0);
    (any && !goes_on).then_some(start)
}

/// Holds a result against its terms in every way in which people write it: prefixes of 1000 or of 1024, percent with or
/// without a factor of 100, the unit on the result only.
fn judge(evidence: &Evidence, figures: &[Quantity], text: &str, sink: &mut Sink) {
    let Some((printed, terms)) = figures.split_last() else { return };
    let Some(given) = computed(text, terms, printed.unit) else { return };
    let as_percent = |(all, central): (Interval, f64)| (all.scaled(100.0), 100.0 * central);
    let is_bare = |one: &Quantity| matches!(one.unit, Unit::Bare | Unit::Times) && one.scale == 1.0;
    let told_alone =
        terms.iter().all(is_bare) && !matches!(printed.unit, Unit::Bare | Unit::Percent | Unit::Times);
    // `16 x 250 = 4 GB/s` may be of MB/s.
    if told_alone {
        return;
    }
    let binary: Vec<Quantity> = terms.iter().map(of_1024).collect();
    let result = of_1024(printed);
    let ways = [(Some(given), printed), (computed(text, &binary, printed.unit), &result)];
    let holds = |(given, result): (Option<(Interval, f64)>, &Quantity)| {
        let meets = |(all, _): (Interval, f64)| all.wider(1e-9).meets(result.interval());
        let is_percent = printed.unit == Unit::Percent;
        given.is_some_and(|given| meets(given) || is_percent && meets(as_percent(given)))
    };
    if ways.into_iter().any(holds) {
        return sink.holds("X34", &printed.figure);
    }
    let is_percent = printed.unit == Unit::Percent && !terms.iter().any(|one| one.unit == Unit::Percent);
    told(evidence, printed, terms, if is_percent { as_percent(given) } else { given }, text, sink);
}

/// What the terms give, as an interval and of the printed values alone, is what is printed.
fn told(
    evidence: &Evidence,
    printed: &Quantity,
    terms: &[Quantity],
    (given, central): (Interval, f64),
    text: &str,
    sink: &mut Sink,
) {
    if given.wider(1e-9).meets(printed.interval()) {
        return sink.holds("X34", &printed.figure);
    }
    // Rounded or cut off on the way.
    let digit = printed.interval().high - printed.interval().low;
    if (central - printed.figure.value).abs() <= digit.max(0.01 * central.abs()) {
        return;
    }
    let quote = evidence.page.quote(printed.figure.spot);
    let (first, last) = (terms[0].figure.spot, terms[terms.len() - 1].figure.spot);
    let by = text.get(first.start as usize..last.end as usize).unwrap_or("").to_owned();
    let value = like(quote, printed, central);
    sink.corrects(printed.figure.spot, given, value.clone());
    sink.finds(
        Finding::new(
            "X34",
            Severity::WrongFigure,
            printed.figure.spot,
            format!("{by} is {value}, not {quote}"),
        )
        .recomputed(value)
        .by(by)
        .against(terms.iter().map(|term| term.figure.spot)),
    );
}

/// What terms give, products before sums: as an interval, and of the printed values alone. `None` where units do not fit.
fn computed(text: &str, terms: &[Quantity], unit: Unit) -> Option<(Interval, f64)> {
    let mut sums: Vec<(f64, Interval, f64)> = vec![(1.0, terms[0].interval(), terms[0].figure.value)];
    let mut units = vec![terms[0].unit];
    let mut products = false;
    for pair in terms.windows(2) {
        let own = (pair[1].interval(), pair[1].figure.value);
        let (_, all, central) = sums.last_mut()?;
        match operator(text, &pair[0], &pair[1])? {
            '*' => (*all, *central, products) = (all.times(own.0), *central * own.1, true),
            '/' => (*all, *central, products) = (all.over(own.0)?, *central / own.1, true),
            sign => {
                sums.push((if sign == '-' { -1.0 } else { 1.0 }, own.0, own.1));
                units.push(pair[1].unit);
            }
        }
    }
    let plain = |unit: Unit| !matches!(unit, Unit::Percent | Unit::Times);
    let alike =
        units.iter().all(|one| *one == units[0]) && (products || units[0] == unit || unit == Unit::Bare);
    (alike && (products || plain(units[0]))).then_some(())?;
    let part = |(sign, all, _): &(f64, Interval, f64)| match *sign < 0.0 {
        true => Interval { low: -all.high, high: -all.low },
        false => *all,
    };
    let sum = sums.iter().map(part).fold(Interval::exact(0.0), Interval::plus);
    Some((sum, sums.iter().map(|(sign, _, central)| sign * central).sum::<f64>()))
}

/// A figure whose prefix counts in 1024: `128k`, `4M`.
fn of_1024(one: &Quantity) -> Quantity {
    let power = (one.scale.log10() / 3.0).round() as i32;
    let factor = if one.base == Base::Binary { 1.0 } else { 1.024f64.powi(power.max(0)) };
    Quantity { figure: one.figure.scaled(factor), ..*one }
}

#[cfg(test)]
mod tests {
    use crate::rule::testing::found;

    #[test]
    fn what_is_computed_before_the_readers_eyes_is_right() {
        for (page, recomputed) in [
            ("20k / 32k = 65.2% of the space.", "62.5%"),
            ("In all 128k + 64k = 182k are written.", "192k"),
            ("The array gives 100 writes/s × 50 KB = 50 MB/s.", "5 MB/s"),
            ("[ 30s ] qps: 4945.64 (r/w/o: 2902.18/829.08/414.37) lat (ms,95%): 223.34", "4145.63"),
            ("Of 8 drives 8 x 550 MB/s = 4.8 GB/s", "4.4 GB/s"),
        ] {
            let told = found(&format!("{page}\n"), "X34");
            assert!(told.len() == 1 && told[0].recomputed == recomputed, "{page}: {told:#?}");
            assert_eq!(found(&format!("{}\n", page.replace(&told[0].printed, recomputed)), "X34"), []);
        }
        for sound in [
            "fio with bs=4k, iodepth = 32, jobs = 4",
            "3 x 4 drives = 12",
            "(8 - 2) x 4 = 24",
            "1 / 3 = 0.33",
            "It moves 16 x 250 = 4 GB/s.",
            "20 / 32 * 100 = 62.5 %",
            "Of 16M / 4k = 4096 blocks.",
            "128k x 8 = 1M at once",
        ] {
            assert_eq!(found(&format!("{sound}\n"), "X34"), [], "{sound}");
        }
    }
}
