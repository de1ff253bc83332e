//! P1, P2, P3: what a link carries, what a sentence says it carries, and what it is blamed for.

use super::measured::Measured;
use super::{Hardware, worst};
use crate::finding::{Finding, Severity};
use crate::import::Way;
use crate::knowledge::mentions::{Cause, Limit, Word, text_has};
use crate::knowledge::pcie::Pcie;
use crate::knowledge::{Link, rate_text};
use crate::page::{Page, Spot};
use crate::rule::{Evidence, Rule, Sink};

/// P1.
pub const ABOVE: Rule = Rule {
    id: "P1",
    name: "no payload is above its link",
    severity: Severity::WrongFigure,
    holds: "bytes a second one way against the most that the named link carries in its largest packets",
    silent: "where the page names no link or not in full, names several drives as one (unless the figure's own table names one), names \
             several links as one; wrong-figure only for the one link of the page (told by lspci, or with one drive at the most), with direct I/O and no cache, \
             guest or network on it; networks of 1 Gb/s",
    check: above,
};

/// P2.
pub const STATED: Rule = Rule {
    id: "P2",
    name: "a limit that a page states holds for its own figures",
    severity: Severity::Ambiguous,
    holds: "bytes a second one way against the limit of a link that a sentence states; `about` allows 2 %",
    silent: "where the sentence names no link or network, is about a drive or its rating, or the figure is not on that path",
    check: stated,
};

/// P3.
pub const CAUSE: Rule = Rule {
    id: "P3",
    name: "a link that is given as the cause is full",
    severity: Severity::WrongConclusion,
    holds: "the best figure of each load that the sentence names is at least 95 % of what the link carries at the least, or of the best \
            figure the same way on it",
    silent: "where the page names no link of the drive in full, or another, or several drives as one",
    check: cause,
};

/// A figure at so much of a ceiling is held by it.
pub(super) const BOUND: f64 = 0.95;

/// Whether a figure is of one drive behind the page's link.
pub(super) fn on_drive_link(hardware: &Hardware, measured: &Measured) -> bool {
    // I/Os a second stand beside bytes a second, or are of small blocks.
    if measured.bandwidth.is_none() {
        return false;
    }
    let several =
        measured.says(Word::Several) || (measured.drive.is_none() && hardware.mentions.has(Word::Several));
    !measured.says(Word::Fabric) && !several && !many_drives(hardware, measured)
}

fn many_drives(hardware: &Hardware, measured: &Measured) -> bool {
    measured.drive.is_none() && hardware.mentions.drives.iter().any(|named| named.count.unwrap_or(1) > 1)
}

fn above(evidence: &Evidence, sink: &mut Sink) {
    let hardware = sink.hardware(evidence);
    for finding in
        above_drive_link(&hardware).into_iter().chain(above_network(&hardware)).chain(above_all(&hardware))
    {
        sink.finds(finding);
    }
}

fn above_drive_link(hardware: &Hardware) -> Vec<Finding> {
    let mentions = &hardware.mentions;
    let only = mentions.only_drive_link();
    let Some((link, named)) = only.or_else(|| mentions.fastest_drive_link()) else { return Vec::new() };
    if mentions.has(Word::Bonded) {
        return Vec::new();
    }
    let most = link.rate().most;
    let over = hardware.measured.iter().filter(|one| on_drive_link(hardware, one));
    let over: Vec<&Measured> = over.filter(|one| one.one_way().is_some_and(|rate| rate.low > most)).collect();
    let direct = mentions.has(Word::Direct) || mentions.commands.iter().any(|command| command.direct);
    let doubt = [Word::Cached, Word::Guest, Word::Fabric].into_iter().any(|word| mentions.has(word));
    // Of two drives one may be behind another link, which the page does not name.
    let negotiated = mentions.links.iter().any(|named| named.negotiated);
    let one =
        mentions.drives.windows(2).all(|pair| pair[0].drive == pair[1].drive) && mentions.makers.len() <= 1;
    let certain = only.is_some() && direct && !doubt && (negotiated || one);
    let told = |one: &&Measured| {
        let rate = one.told_one_way();
        let severity = if certain { Severity::WrongFigure } else { Severity::Ambiguous };
        let why =
            if certain { "no direct I/O gets past it" } else { "a cache answered, or another link was used" };
        let message = format!("{} cannot have crossed {}: {why}", rate_text(rate), link.name());
        Finding::new("P1", severity, one.spot, message).by(arithmetic(link)).against([named])
    };
    match certain {
        true => over.iter().map(told).collect(),
        false => {
            let Some(first) = worst(&over, |one| one.one_way().map(|rate| rate.low)) else {
                return Vec::new();
            };
            let others = over.iter().filter(|one| one.spot != first.spot).map(|one| one.spot);
            vec![told(&first).against(others)]
        }
    }
}

/// `PCIe 3.0 x4: 3938 MB/s on the wire, 3151 to 3584 MB/s in practice, 3784 MB/s at the most`.
fn arithmetic(link: Link) -> String {
    let rate = link.rate();
    let [line, low, high, most] =
        [rate.line, rate.practical.low, rate.practical.high, rate.most].map(rate_text);
    format!("{}: {line} on the wire, {low} to {high} in practice, {most} at the most", link.name())
}

/// Over a network a client's cache may answer, and both ways may be added: never more than ambiguous.
fn above_network(hardware: &Hardware) -> Option<Finding> {
    if hardware.mentions.has(Word::Bonded) {
        return None;
    }
    let (link, named) = hardware.mentions.fastest_network()?;
    let rate = link.rate();
    let fabric: Vec<&Measured> =
        hardware.measured.iter().filter(|one| one.says(Word::Fabric) && one.bandwidth.is_some()).collect();
    let all = |one: &Measured| one.bytes().map(|bytes| bytes.low);
    let over: Vec<&Measured> =
        fabric.into_iter().filter(|one| all(one).is_some_and(|low| low > rate.line)).collect();
    let first = worst(&over, |one| all(one))?;
    let (sum, busier) = (first.told_bytes(), first.told_one_way());
    let message = match busier > rate.most {
        true => format!(
            "{} is more than {} carries: a cache answered, or several links were used",
            rate_text(busier),
            link.name()
        ),
        false => format!(
            "{} is more than {} carries one way: reads and writes are added, the busier way has {} and is {:.0} % of the link",
            rate_text(sum),
            link.name(),
            rate_text(busier),
            100.0 * busier / rate.line
        ),
    };
    let others = over.iter().filter(|one| one.spot != first.spot).map(|one| one.spot);
    Some(
        Finding::new("P1", Severity::Ambiguous, first.spot, message)
            .by(arithmetic(link))
            .against([named])
            .against(others),
    )
}

/// Above every link of one device, where none is named.
fn above_all(hardware: &Hardware) -> Option<Finding> {
    let mentions = &hardware.mentions;
    let doubt = [Word::Several, Word::Cached, Word::Bonded].into_iter().any(|word| mentions.has(word));
    if doubt
        || mentions.links.iter().any(|named| named.link.is_some())
        || mentions.drives.iter().any(|named| named.count > Some(1))
    {
        return None;
    }
    let link = Link::Pcie(Pcie::new(5, 16)?);
    let most = link.rate().most;
    let over: Vec<&Measured> =
        hardware.measured.iter().filter(|one| one.one_way().is_some_and(|rate| rate.low > most)).collect();
    let first = worst(&over, |one| one.one_way().map(|rate| rate.low))?;
    let rate = first.one_way()?.low;
    let message = format!(
        "{} is more than any one device has ({}): a cache answered, or several devices",
        rate_text(rate),
        link.name()
    );
    Some(Finding::new("P1", Severity::Ambiguous, first.spot, message).by(arithmetic(link)))
}

fn stated(evidence: &Evidence, sink: &mut Sink) {
    let hardware = sink.hardware(evidence);
    for limit in &hardware.mentions.limits {
        if let Some(finding) = exceeded(&hardware, limit, evidence.page) {
            sink.finds(finding);
        }
    }
}

/// The figures that a limit is of.
pub(super) fn under<'a>(hardware: &'a Hardware, limit: &Limit) -> Vec<&'a Measured> {
    let mine = |one: &&Measured| match limit.network {
        true => one.says(Word::Fabric) && one.bandwidth.is_some() && !hardware.mentions.has(Word::Bonded),
        false => on_drive_link(hardware, one) && limit_is_of_the_only_link(hardware, limit),
    };
    hardware.measured.iter().filter(mine).collect()
}

fn limit_is_of_the_only_link(hardware: &Hardware, limit: &Limit) -> bool {
    match (hardware.mentions.only_drive_link(), limit.link) {
        (Some((only, _)), Some(own)) => only == own,
        (Some(_), None) => true,
        (None, _) => false,
    }
}

fn exceeded(hardware: &Hardware, limit: &Limit, page: &Page) -> Option<Finding> {
    let over: Vec<&Measured> = under(hardware, limit)
        .into_iter()
        .filter(|one| one.one_way().is_some_and(|rate| rate.low > limit.rate.high))
        .collect();
    let first = worst(&over, |one| one.one_way().map(|rate| rate.low))?;
    let way = match first.load.way {
        Some(Way::Read | Way::Write) => "",
        _ => " one way",
    };
    let message = format!(
        "{} is given as the limit, but line {} has {}{way}: the limit is not one, or not of this path",
        page.quote(limit.spot),
        page.number(first.spot.index()),
        rate_text(first.told_one_way()),
    );
    Some(
        Finding::new("P2", Severity::Ambiguous, limit.spot, message).against(over.iter().map(|one| one.spot)),
    )
}

fn cause(evidence: &Evidence, sink: &mut Sink) {
    let hardware = sink.hardware(evidence);
    for cause in &hardware.mentions.causes {
        if let Some(finding) = unexplained(&hardware, cause, evidence.page.line(cause.spot.index())) {
            sink.finds(finding);
        }
    }
}

/// The loads that a sentence names: random, sequential; without either none.
fn named_loads(sentence: &str) -> Vec<bool> {
    let random = text_has(sentence, &["random", "randread", "randwrite", "随机", "случайн"]);
    let sequential = text_has(sentence, &["sequential", "seq", "顺序", "连续", "последоват"]);
    [(random, true), (sequential, false)]
        .into_iter()
        .filter(|(named, _)| *named)
        .map(|(_, random)| random)
        .collect()
}

fn unexplained(hardware: &Hardware, cause: &Cause, sentence: &str) -> Option<Finding> {
    let (link, named) = hardware.mentions.only_drive_link()?;
    if cause.link.is_some_and(|own| own != link) {
        return None;
    }
    let path: Vec<&Measured> =
        hardware.measured.iter().filter(|one| on_drive_link(hardware, one) && one.way().is_some()).collect();
    let best = |way: Way, random: Option<bool>| {
        let mine = path
            .iter()
            .filter(|one| one.way() == Some(way) && (random.is_none() || one.load.random == random));
        mine.filter(|one| one.bytes().is_some())
            .map(|one| (one.told_bytes(), one.spot))
            .max_by(|one, other| one.0.total_cmp(&other.0))
    };
    let loads = named_loads(sentence);
    let mut short: Vec<(String, Spot)> = Vec::new();
    for random in loads {
        for (way, word) in [(Way::Read, "reads"), (Way::Write, "writes")] {
            let (Some((rate, spot)), Some((top, _))) = (best(way, Some(random)), best(way, None)) else {
                continue;
            };
            let carried = top.max(link.rate().practical.low);
            if rate < BOUND * carried {
                let kind = if random { "random" } else { "sequential" };
                let share = 100.0 * rate / carried;
                short.push((
                    format!(
                        "{kind} {word} at {} are {share:.0} % of {}",
                        rate_text(rate),
                        rate_text(carried)
                    ),
                    spot,
                ));
            }
        }
    }
    if short.is_empty() {
        return None;
    }
    let told: Vec<&str> = short.iter().map(|(told, _)| told.as_str()).collect();
    let message =
        format!("{} does not hold back what it is given as the cause of: {}", link.name(), told.join("; "));
    let finding = Finding::new("P3", Severity::WrongConclusion, cause.spot, message).by(arithmetic(link));
    Some(finding.against(short.iter().map(|(_, spot)| *spot)).against([named]))
}
