//! S9: when it was: the order that sentences tell against the times that fio printed, the date of a page against its software's.

use crate::finding::{Finding, Severity};
use crate::import::fio::Fio;
use crate::knowledge::releases::{Date, RELEASES};
use crate::page::{Page, Spot};
use crate::rule::{Evidence, Rule, Sink};

/// S9.
pub const RULE: Rule = Rule {
    id: "S9",
    name: "what is told came in that order",
    severity: Severity::Ambiguous,
    holds: "of two systems of which a sentence says that one was measured first, that one's outputs end first; the date at the top of a page is not \
            before the releases of the software that it names (cosmetic: the page was changed since)",
    silent: "unless lines right above all outputs name one of host and guest, and all of one are before all of the other; of dates within a month",
    check,
};

fn check(evidence: &Evidence, sink: &mut Sink) {
    told_order(evidence, sink);
    dated(evidence.page, sink);
}

/// A system that lines name.
#[derive(Clone, Copy, PartialEq, Debug)]
enum System {
    Guest,
    Host,
}

const GUEST: [&str; 8] =
    ["虚拟机", "virtual machine", "in the guest", "the guest", "guest", "виртуальн", "гост", "в вм"];
const HOST: [&str; 8] =
    ["物理", "宿主机", "bare metal", "bare-metal", "the host", "host", "физическ", "хост"];

/// Where a text first names each.
fn names(lower: &str) -> [Option<usize>; 2] {
    [GUEST.as_slice(), HOST.as_slice()].map(|words| words.iter().filter_map(|word| lower.find(word)).min())
}

/// Whether it is the guest, or else the host, that a text names.
pub(crate) fn guest_or_host(text: &str) -> Option<bool> {
    named(text).map(|system| system == System::Guest)
}

/// The one that a text names.
fn named(text: &str) -> Option<System> {
    match names(&text.to_lowercase()) {
        [Some(_), None] => Some(System::Guest),
        [None, Some(_)] => Some(System::Host),
        _ => None,
    }
}

/// Whose an output is: by the nearest of the lines above it that names one.
fn system(page: &Page, start: usize) -> Option<System> {
    const ABOVE: usize = 4;
    let lines = (0..start).rev().filter(|line| !page.line(*line).trim().is_empty()).take(ABOVE);
    lines.filter(|line| page.line(*line).len() < 200).find_map(|line| {
        let text = page.line(line);
        match names(&text.to_lowercase()) {
            [None, None] => None,
            _ => Some(named(text)),
        }
    })?
}

/// The moments that outputs ended at.
fn moments(evidence: &Evidence) -> Option<Vec<(System, u64, usize)>> {
    let mut moments = Vec::new();
    for output in evidence.outputs {
        let crate::import::Said::Fio(fio) = &output.said else { continue };
        let Some(ended) = ended(fio) else { continue };
        moments.push((system(evidence.page, output.lines.start)?, ended, output.lines.start));
    }
    (moments.len() >= 2).then_some(moments)
}

fn ended(fio: &Fio) -> Option<u64> {
    fio.jobs.first()?.ended.as_deref().and_then(seconds)
}

/// Seconds of `Thu Nov 18 23:24:45 2021`, for the order only.
fn seconds(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let words: Vec<&str> = text.split_whitespace().collect();
    let at = words.iter().position(|word| MONTHS.contains(word))?;
    let month = MONTHS.iter().position(|name| *name == words[at])? as u64;
    let day: u64 = words.get(at + 1)?.parse().ok().filter(|day| *day <= 31)?;
    let mut clock =
        words.get(at + 2)?.split(':').map(|part| part.parse::<u64>().ok().filter(|part| *part < 61));
    let (hours, minutes, rest) = (clock.next()??, clock.next()??, clock.next()??);
    let year: u64 = words.get(at + 3)?.parse().ok().filter(|year| (2000..2200).contains(year))?;
    Some((((year * 12 + month) * 31 + day) * 24 + hours) * 3600 + minutes * 60 + rest)
}

/// Words before what came first, and before what came then.
const FIRST: [&str; 5] = ["先", "first", "сначала", "сперва", "首先"];
const THEN: [&str; 8] = ["然后", "再进行", "之后", "then", "afterwards", "затем", "потом", "после этого"];
const MEASURES: [&str; 7] = ["测试", "test", "measur", "benchmark", "fio", "тест", "измер"];

/// The order that a sentence tells: its first system.
fn first_of(text: &str) -> Option<System> {
    let lower = text.to_lowercase();
    let first = FIRST.iter().filter_map(|word| lower.find(word)).min()?;
    let then = THEN.iter().filter_map(|word| lower[first..].find(word).map(|at| first + at)).min()?;
    let (before, behind) = (&lower[first..then], &lower[then..]);
    let measures = |text: &str| MEASURES.iter().any(|word| text.contains(word));
    if !measures(before) || !measures(behind) {
        return None;
    }
    let one = named(before)?;
    // What is measured then may be told after the other was shut down.
    let other = match one {
        System::Guest => names(behind)[1],
        System::Host => names(behind)[0],
    };
    other.map(|_| one)
}

fn told_order(evidence: &Evidence, sink: &mut Sink) {
    let Some(moments) = moments(evidence) else { return };
    let page = evidence.page;
    for line in evidence.lines_outside_outputs() {
        let text = page.line(line);
        if text.len() > 1500 {
            continue;
        }
        let Some(first) = first_of(text) else { continue };
        let of = |own: bool| moments.iter().filter(move |(system, ..)| (*system == first) == own);
        let (Some(earliest), Some(latest)) =
            (of(true).min_by_key(|one| one.1), of(false).max_by_key(|one| one.1))
        else {
            continue;
        };
        if latest.1 >= earliest.1 {
            continue;
        }
        let which = if first == System::Guest { ["guest", "host"] } else { ["host", "guest"] };
        let message = format!(
            "the {} is said to have been measured first, but by fio's own times every run of the {} ended before (lines {} and {})",
            which[0],
            which[1],
            page.number(latest.2),
            page.number(earliest.2)
        );
        let spots = [latest.2, earliest.2].map(|at| Spot::new(at, 0..0));
        sink.finds(
            Finding::new("S9", Severity::Ambiguous, Spot::new(line, 0..text.len()), message).against(spots),
        );
        return;
    }
}

/// The date of a front matter or of a line that says that it is one.
fn date_of(page: &Page) -> Option<(Date, Spot)> {
    const KEYS: [&str; 6] = ["date:", "published:", "published on", "发布时间", "发布于", "опубликовано"];
    (0..page.len().min(20)).find_map(|line| {
        let text = page.line(line);
        let lower = text.trim().to_lowercase();
        if text.len() > 200 || !KEYS.iter().any(|key| lower.starts_with(key)) {
            return None;
        }
        let at = text.bytes().position(|byte| byte.is_ascii_digit())?;
        let date = text.get(at..at + 10).and_then(Date::read)?;
        Some((date, Spot::new(line, at..at + 10)))
    })
}

/// Days that a page may be written ahead of its release.
const AHEAD: i64 = 31;

fn dated(page: &Page, sink: &mut Sink) {
    let Some((date, spot)) = date_of(page) else { return };
    let mut latest: Option<(&str, Date, usize)> = None;
    for line in 0..page.len() {
        let text = page.line(line);
        if text.len() > 1000 {
            continue;
        }
        for (name, released) in RELEASES {
            let stands = text.find(name).is_some_and(|at| {
                let number =
                    |letter: Option<char>| letter.is_some_and(|letter| letter.is_ascii_alphanumeric());
                !number(text[..at].chars().next_back())
                    && !text[at + name.len()..].starts_with(|letter: char| letter.is_ascii_digit())
            });
            if stands && latest.is_none_or(|(_, before, _)| *released > before) {
                latest = Some((name, *released, line));
            }
        }
    }
    let Some((name, released, line)) =
        latest.filter(|(_, released, _)| released.days() - date.days() > AHEAD)
    else {
        return;
    };
    let message = format!(
        "the page is of {date}, but {name} in line {} is of {released}: what was measured later is not dated",
        page.number(line)
    );
    sink.finds(Finding::new("S9", Severity::Cosmetic, spot, message).against([Spot::new(line, 0..0)]));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rule::testing::found;

    fn output(day: u32) -> String {
        format!(
            "fio-3.16\ntest: (groupid=0, jobs=4): err= 0: pid=1155: Thu Nov {day} 23:24:45 2021\n  write: IOPS=629k, BW=2457MiB/s (2576MB/s)(144GiB/60025msec); 0 zone resets\n\n"
        )
    }

    #[test]
    fn moments_are_in_order() {
        let at = ["Wed Nov 17 00:38:52 2021", "Thu Nov 18 23:24:45 2021", "Sat Jan  1 00:00:00 2022"]
            .map(|text| seconds(text).unwrap());
        assert!(at.is_sorted());
        assert_eq!(["", "Nov", "Nov 99 1:1:1 2021", "Nov 1 1:1 2021"].map(seconds), [None; 4]);
    }

    #[test]
    fn another_order_than_fios_is_told() {
        let page = |guest: u32, host: u32| {
            format!(
                "First the tests ran in the guest, then the host was booted to test it.\n\nIn the guest:\n\n{}On the host:\n\n{}",
                output(guest),
                output(host)
            )
        };
        assert_eq!(found(&page(18, 17), "S9").len(), 1);
        assert_eq!(found(&page(17, 18), "S9"), []);
        assert_eq!(found(&page(18, 17).replace("First the", "The"), "S9"), []);
        assert_eq!(
            found(&page(18, 17).replace("On the host:", "And:"), "S9"),
            [],
            "whose it is nobody knows"
        );
    }

    #[test]
    fn software_of_after_the_page_is_told() {
        let page = |date: &str| {
            format!(
                "---\ntitle: x\ndate: {date}T10:00:00+08:00\n---\n\nOS: CentOS Linux release 7.9.2009 (Core)\n"
            )
        };
        let told = found(&page("2019-07-19"), "S9");
        assert!(
            told.len() == 1 && told[0].severity == Severity::Cosmetic && told[0].printed == "2019-07-19",
            "{told:#?}"
        );
        assert_eq!(found(&page("2021-02-01"), "S9"), []);
        assert_eq!(found(&page("none"), "S9"), []);
    }
}
