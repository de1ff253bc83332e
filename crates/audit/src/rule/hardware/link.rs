//! P1, P2, P4: what a link carries, what a sentence says it carries, and two systems that run into it.

use super::measured::Measured;
use super::{Hardware, worst};
use crate::evidence::{Evidence, Sink};
use crate::finding::{Finding, Severity};
use crate::knowledge::mentions::links;
use crate::knowledge::words::says;
use crate::knowledge::{Link, rate_text};
use crate::number::{Hedge, Interval, Quantity, Unit};
use crate::page::{Page, Spot};
use crate::prose::{Clause, Manner};
use crate::rule::method::loads::{Load, loads};

pub(super) fn check(hardware: &Hardware, evidence: &Evidence, sink: &mut Sink) {
    let found = [false, true].into_iter().filter_map(|network| above(hardware, evidence, network));
    found.for_each(|finding| sink.finds(finding));
    stated(hardware, evidence, sink);
    shared(hardware, evidence, sink);
}
/// A figure at so much of a ceiling is held by it.
const BOUND: f64 = 0.95;
/// Systems that differ by less are alike, and what is about a figure may be so much more.
const ALIKE: f64 = 0.02;
/// More limits are data, and more figures at one ceiling no comparison that anybody reads.
const MOST: usize = 400;

/// The figures of the path over the drive's link (of one drive, as far as the page says), or over the network.
fn figures<'a>(hardware: &'a Hardware, network: bool) -> Vec<&'a Measured> {
    let mentions = &hardware.mentions;
    let several = mentions.has("several") || mentions.drives.iter().any(|one| one.count > 1);
    let mine = |one: &&Measured| match network {
        true => one.says("fabric"),
        false => !one.says("fabric") && !one.says("several") && (one.drive.is_some() || !several),
    };
    let printed = hardware.measured.iter().filter(|one| one.bandwidth.is_some() && !mentions.has("bonded"));
    printed.filter(mine).collect()
}

/// What is above the link of the drive one way, or above a network even where both ways were added.
fn above(hardware: &Hardware, evidence: &Evidence, network: bool) -> Option<Finding> {
    let mentions = &hardware.mentions;
    let only = mentions.only_drive_link().filter(|_| !network);
    let (link, named) = only.or_else(|| mentions.fastest(network))?;
    let (rate, name) = (link.rate(), link.name());
    let value = if network { Measured::bytes } else { Measured::one_way };
    let most = if network { rate.line } else { rate.most };
    let mut over = figures(hardware, network);
    over.retain(|one| value(one).is_some_and(|rate| rate.low > most));
    // A network of 1 Gb/s or less is that of management.
    let first = worst(&over, value).filter(|_| !network || rate.line > 0.2e9)?;
    let certain = only.is_some() && is_certain(hardware, evidence);
    let (all, busier) = (first.bytes()?.value, first.one_way()?.value);
    let (whole, one_way, share) = (rate_text(all), rate_text(busier), 100.0 * busier / rate.line);
    let message = match (network && busier <= rate.most, certain) {
        (true, _) => format!(
            "{whole} is more than {name} carries one way: reads and writes are added, the busier way has {one_way} and is {share:.0} % of the link"
        ),
        (_, true) => format!("{one_way} cannot have crossed {name}: no direct I/O gets past it"),
        _ => format!(
            "{one_way} cannot have crossed {name}: a cache answered, or another link or several were used"
        ),
    };
    let severity = if certain { Severity::WrongFigure } else { Severity::Ambiguous };
    let others = over.iter().map(|one| one.spot).filter(|spot| *spot != first.spot);
    let finding = Finding::new("P1", severity, first.spot, message).by(arithmetic(link));
    Some(finding.against([named]).against(others))
}

/// Whether every I/O of the page went over its one link of drives.
fn is_certain(hardware: &Hardware, evidence: &Evidence) -> bool {
    let mentions = &hardware.mentions;
    let direct = |load: &Load| load.option(&["direct"]) == Some("1");
    let doubt = ["cached", "guest", "fabric"].into_iter().any(|word| mentions.has(word));
    // Of two drives one may be behind another link, which the page does not name.
    let negotiated = mentions.links.iter().any(|named| named.negotiated);
    let alike = mentions.drives.windows(2).all(|pair| pair[0].drive == pair[1].drive);
    let settled = negotiated || (alike && mentions.makers.len() <= 1);
    settled && !doubt && (mentions.has("direct") || loads(evidence).iter().any(direct))
}

/// `PCIe 3.0 x4: 3938 MB/s on the wire, 3151 to 3584 MB/s in practice, 3784 MB/s at the most`.
fn arithmetic(link: Link) -> String {
    let rate = link.rate();
    let [line, low, high, most] =
        [rate.line, rate.practical.low, rate.practical.high, rate.most].map(rate_text);
    format!("{}: {line} on the wire, {low} to {high} in practice, {most} at the most", link.name())
}

/// What a path carries: its link, or a limit that a sentence states.
struct Ceiling {
    words: String,
    spot: Spot,
    /// Bytes a second, of a limit with what `about` allows.
    rate: Interval,
    network: bool,
}

/// The limits of the one link of drives, and of networks, that sentences state.
fn limits(hardware: &Hardware, evidence: &Evidence) -> Vec<Ceiling> {
    let only = hardware.mentions.only_drive_link().map(|(link, _)| link);
    evidence.clauses.iter().filter_map(|clause| limit(only, evidence.page, clause)).take(MOST).collect()
}

/// The limit that a clause states: by its link, or as bits that are converted to bytes, which are of a network.
fn limit(only: Option<Link>, page: &Page, clause: &Clause) -> Option<Ceiling> {
    let ceiling = |figure: &Quantity, rate, network| {
        let spot = figure.figure.spot;
        let words = format!("the limit that the page states, {}", page.quote(spot));
        Ceiling { words, spot, rate, network }
    };
    let rate = |quantity: &Quantity| match (quantity.unit, quantity.hedge) {
        (Unit::BytesPerSecond, Hedge::About) => Some((*quantity, quantity.interval().wider(ALIKE))),
        (Unit::BytesPerSecond, _) => Some((*quantity, quantity.interval())),
        (Unit::BitsPerSecond, _) => Some((*quantity, quantity.interval().scaled(1.0 / 8.0))),
        _ => None,
    };
    let rates: Vec<(Quantity, Interval)> = clause.figures.iter().filter_map(rate).collect();
    match rates.as_slice() {
        // Who converts a link's rate is about to hold figures of storage against it.
        [(bits, one), (bytes, other)] if bits.unit != bytes.unit => {
            let rate = Interval { low: one.low.min(other.low), high: one.high.max(other.high) };
            one.meets(*other).then(|| ceiling(bits, rate, true))
        }
        [(figure, rate)] if clause.manner == Manner::Limit => {
            let sentence = clause.sentence(page).to_lowercase();
            let link = links(0, &sentence.to_ascii_lowercase()).into_iter().find_map(|named| named.link)?;
            let network = link.is_network();
            let of_path = network || (only == Some(link) && says(&sentence, "path"));
            let of_drive = says(&sentence, "drive") && !says(&sentence, "bound");
            let other = of_drive || says(&sentence, "rating") || says(&sentence, "reached");
            (of_path && !other).then(|| ceiling(figure, *rate, network))
        }
        _ => None,
    }
}

fn stated(hardware: &Hardware, evidence: &Evidence, sink: &mut Sink) {
    for limit in limits(hardware, evidence) {
        let mut over = figures(hardware, limit.network);
        over.retain(|one| one.one_way().is_some_and(|rate| rate.low > limit.rate.high));
        let Some(first) = worst(&over, Measured::one_way) else { continue };
        let message = format!(
            "{} is given as the limit, but line {} has {} one way: the limit is not one, or not of this path",
            evidence.page.quote(limit.spot),
            evidence.page.number(first.spot.index()),
            rate_text(first.one_way().map_or(0.0, |rate| rate.value)),
        );
        let finding = Finding::new("P2", Severity::Ambiguous, limit.spot, message);
        sink.finds(finding.against(over.iter().map(|one| one.spot)));
    }
}

fn shared(hardware: &Hardware, evidence: &Evidence, sink: &mut Sink) {
    let mut ceilings = limits(hardware, evidence);
    ceilings.extend(hardware.mentions.only_drive_link().map(|(link, spot)| {
        let rate = Interval::exact(link.rate().practical.middle());
        Ceiling { words: link.name(), spot, rate, network: false }
    }));
    let mut told: Vec<Spot> = Vec::new();
    for ceiling in ceilings {
        let mut high = figures(hardware, ceiling.network);
        high.retain(|one| one.one_way().is_some_and(|rate| rate.low >= BOUND * ceiling.rate.low));
        high.truncate(MOST);
        for (at, one) in high.iter().enumerate().filter(|(_, one)| one.load.way.is_some()) {
            let mut others = high[at + 1..].iter().filter(|other| compared(evidence, one, other));
            let Some(other) = others.next().filter(|_| !told.contains(&one.spot)) else { continue };
            told.push(one.spot);
            sink.finds(at_ceiling(&ceiling, one, other));
        }
    }
}

/// Whether two figures are of one load on what the page compares: in a row of a table, in two outputs, or in two tables of one form.
fn compared(evidence: &Evidence, one: &Measured, other: &Measured) -> bool {
    let ratio = one.bandwidth.zip(other.bandwidth).map(|(one, other)| one.value / other.value);
    if one.load != other.load || ratio.is_none_or(|ratio| (ratio - 1.0).abs() > ALIKE) {
        return false;
    }
    let (Some((row, column)), Some((other_row, other_column))) = (one.cell, other.cell) else {
        return one.cell == other.cell && one.source != other.source;
    };
    if one.source == other.source {
        return row == other_row;
    }
    let [left, right] = [one, other].map(|one| &evidence.tables[one.source - evidence.outputs.len()]);
    let (label, other_label) = (&left.rows[row].label, &right.rows[other_row].label);
    let alike = column == other_column && left.columns.len() == right.columns.len();
    alike && label == other_label && !label.is_empty()
}

fn at_ceiling(ceiling: &Ceiling, one: &Measured, other: &Measured) -> Finding {
    let [left, right] = [one, other].map(|one| one.bytes().map_or(0.0, |bytes| bytes.value));
    let message = format!(
        "{} and {} are both at {}: the ratio of {:.1} % compares the ceiling with itself, not the systems",
        rate_text(left),
        rate_text(right),
        ceiling.words,
        100.0 * left.min(right) / left.max(right)
    );
    let share = |one: &Measured| 100.0 * one.one_way().map_or(0.0, |rate| rate.value) / ceiling.rate.low;
    let arithmetic =
        format!("one way {:.0} % and {:.0} % of {}", share(one), share(other), rate_text(ceiling.rate.low));
    Finding::new("P4", Severity::Ambiguous, one.spot, message)
        .by(arithmetic)
        .against([other.spot, ceiling.spot])
}
