//! Rules on iperf3: X24 its own arithmetic, M10 what its streams say, T5 the sum that a page makes of them.

use super::ledger::{Ledger, Named, named};
use super::{Evidence, Rule, Sink};
use crate::finding::{Finding, Severity};
use crate::import::Said;
use crate::import::iperf3::{End, Iperf3, Row, Stream, Test};
use crate::knowledge::words::spellings;
use crate::number::{Figure, Interval, Unit, quantities};
use crate::page::Spot;

pub const ARITHMETIC: Rule = Rule {
    id: "X24",
    name: "iperf3's sums and rates are those of its streams",
    severity: Severity::WrongFigure,
    holds: "a sum has the bytes, the rate and the retransmits of its streams; a rate is 8 * bytes / seconds of its row, but for 0.5 %",
    silent: "of intervals under 0.1 s, of UDP's receivers, where a stream's row is missing or its time is 5 % off its sum's",
    check: |evidence, sink| {
        for test in outputs(evidence).flat_map(|(_, said)| &said.tests) {
            let mut ledger = Ledger::new(evidence.page, "X24");
            test.ends.iter().chain(&test.intervals).for_each(|row| rate(row, &mut ledger));
            [&test.ends, &test.intervals].iter().for_each(|rows| sums(test, rows, &mut ledger));
            ledger.settle(sink);
        }
    },
};

pub const STREAMS: Rule = Rule {
    id: "M10",
    name: "streams went one way and lost little",
    severity: Severity::Ambiguous,
    holds: "after a command with bidir the output has rows of both ways; fewer than 10 segments a second were sent again",
    silent: "of outputs without retransmits; once a page each",
    check: streams,
};

fn outputs<'a>(evidence: &Evidence<'a>) -> impl Iterator<Item = (usize, &'a Iperf3)> {
    evidence.outputs.iter().enumerate().filter_map(|(at, output)| match &output.said {
        Said::Iperf3(said) => Some((at, &**said)),
        _ => None,
    })
}

/// What streams that end at slightly other times leave open.
const SLACK: f64 = 0.005;

fn rate(row: &Row, ledger: &mut Ledger) {
    let (Some(bytes), Some(rate), [Some(from), Some(to)]) = (row.bytes, row.rate, row.time) else { return };
    let seconds = to.value - from.value;
    // UDP's receivers count what arrived in the sender's time or in theirs, by version.
    if seconds < 0.1 || (row.datagrams.is_some() && row.end.is_some()) {
        return;
    }
    let time = Interval { low: to.low - from.high, high: to.high - from.low };
    let Some(expected) = bytes.interval().scaled(8.0).over(time) else { return };
    let operands = [named("the bytes", "", bytes)];
    ledger.given(named("the rate", "", rate), expected.wider(SLACK), &operands, || {
        format!("8 * {} / {seconds:.2} s = {:.4} Gbits/s", bytes.value, 8.0 * bytes.value / seconds / 1e9)
    });
}

/// What rows of streams and their sum have in common: way, end, whether omitted, and when they began, in tenths of a second.
fn group(row: &Row) -> impl PartialEq {
    (row.role, row.end, row.omitted, row.time[0].map(|time| (time.value * 10.0).round()))
}

fn sums(test: &Test, rows: &[Row], ledger: &mut Ledger) {
    let mut from = 0;
    for (at, sum) in rows.iter().enumerate().filter(|(_, row)| row.stream == Stream::Sum) {
        // Streams stand before their sum, behind the one before: an interval's of its own time.
        let near = &rows[from.max(at.saturating_sub(600))..at];
        let parts = near.iter().filter(|row| row.stream != Stream::Sum && group(row) == group(sum));
        let parts: Vec<&Row> = parts.collect();
        if sum.end.is_none() {
            from = at;
        }
        let mut streams: Vec<Stream> = parts.iter().map(|row| row.stream).collect();
        streams.sort_unstable();
        streams.dedup();
        let of_udp = sum.datagrams.is_some() || parts.iter().any(|row| row.datagrams.is_some());
        let complete = test.streams.is_none_or(|count| count as usize == parts.len());
        if parts.len() < 2 || !complete || streams.len() < parts.len() || of_udp {
            continue;
        }
        let mut field = |of: fn(&Row) -> Option<Figure>, name: &'static str, slack: f64| {
            let name = |figure| named(name, "", figure);
            let figures: Option<Vec<Named>> = parts.iter().map(|row| of(row).map(name)).collect();
            if let (Some(total), Some(figures)) = (of(sum), figures) {
                ledger.sum(name(total), &figures, slack);
            }
        };
        field(|row| row.bytes, "the bytes", 1e-3);
        // A rate is over the time of its own row: of streams that ended at other times than the sum nothing is said.
        if let Some(apart) = apart(sum, &parts).filter(|apart| *apart <= 0.05) {
            field(|row| row.rate, "the rate", SLACK + apart);
        }
        field(|row| row.retransmits, "the retransmits", 0.0);
    }
}

/// By how much of it the times of streams differ from that of their sum.
fn apart(sum: &Row, parts: &[&Row]) -> Option<f64> {
    let long = |row: &Row| Some(row.time[1]?.value - row.time[0]?.value).filter(|seconds| *seconds > 0.0);
    let whole = long(sum)?;
    parts.iter().try_fold(0.0f64, |most, row| Some(most.max((long(row)? / whole - 1.0).abs())))
}

/// Segments a second that are sent again of a stream that is held back by it.
const OFTEN: f64 = 10.0;

/// The rows of single streams that one end counted in the end.
fn ends(said: &Iperf3, end: End) -> impl Iterator<Item = &Row> {
    let rows = said.tests.iter().flat_map(|test| &test.ends);
    rows.filter(move |row| row.end == Some(end) && row.stream != Stream::Sum)
}

fn streams(evidence: &Evidence, sink: &mut Sink) {
    let mut tell = |spot, message| sink.finds(Finding::new("M10", Severity::Ambiguous, spot, message));
    let ways = outputs(evidence).find_map(|(at, said)| {
        let both = |test: &Test| test.bidirectional || test.ends.iter().any(|row| row.role.is_some());
        bidir_before(evidence, at).filter(|_| !said.tests.iter().any(both))
    });
    if let Some((spot, dash)) = ways {
        let why = if dash { ": with one dash iperf3 reads it as -b, a bit rate" } else { "" };
        tell(
            spot,
            format!(
                "a test both ways is told, but no row of the output is of the other way{why}: its sum is of one way, as without it"
            ),
        );
    }
    let lossy: Vec<(Spot, f64)> = outputs(evidence)
        .flat_map(|(_, said)| ends(said, End::Sender))
        .filter_map(|row| {
            let (again, to) = (row.retransmits?, row.time[1]?.value);
            let often = again.value / to.max(1.0);
            (often >= OFTEN && to >= 5.0).then_some((again.spot, often))
        })
        .collect();
    let low = lossy.iter().map(|(_, often)| often.round()).fold(f64::INFINITY, f64::min);
    let high = lossy.iter().map(|(_, often)| often.round()).fold(0.0, f64::max);
    if let Some((spot, _)) = lossy.first() {
        let often = if low == high { low.to_string() } else { format!("{low} to {high}") };
        let who = if lossy.len() == 1 { "one stream".to_owned() } else { format!("{} streams", lossy.len()) };
        tell(
            *spot,
            format!("{who} sent {often} segments a second again: loss holds the rate below that of the link"),
        );
    }
}

/// Where `bidir` stands in the command or the line right before an output, and whether with one dash.
fn bidir_before(evidence: &Evidence, at: usize) -> Option<(Spot, bool)> {
    let mut lines = (0..evidence.outputs[at].lines.start).rev();
    let line = lines.find(|line| !evidence.page.line(*line).trim().is_empty())?;
    let text = evidence.page.line(line);
    let found = text.find("bidir").filter(|_| text.len() <= 500)?;
    let from = text[..found].trim_end_matches(['-', '–', '—']).len();
    (from < found).then(|| (Spot::new(line, from..found + 5), &text[from..found] == "-"))
}

/// T5 of streams: `total 34.29 Gbits/sec` in the line behind them.
pub(super) fn totals(evidence: &Evidence, sink: &mut Sink) {
    outputs(evidence).for_each(|(at, said)| {
        let _ = total(evidence, evidence.outputs[at].lines.end, said, sink);
    });
}

fn total(evidence: &Evidence, end: usize, said: &Iperf3, sink: &mut Sink) -> Option<()> {
    let line = (end..end + 3).find(|line| !evidence.page.line(*line).trim().is_empty())?;
    let text = evidence.page.line(line);
    let lower = text.trim().to_lowercase();
    let is_total = text.len() <= 120 && spellings("total").iter().any(|word| lower.starts_with(word));
    let figures = if is_total { quantities(line, text) } else { Vec::new() };
    let [total] = figures.as_slice() else { return None };
    let bits = match total.unit {
        Unit::BitsPerSecond => 1.0,
        Unit::BytesPerSecond => 8.0,
        _ => return None,
    };
    let rates = |end| ends(said, end).map(|row| row.rate).collect::<Option<Vec<Figure>>>();
    let sets: Vec<Vec<Figure>> =
        [End::Sender, End::Receiver].into_iter().filter_map(rates).filter(|rates| rates.len() >= 2).collect();
    let sum = |rates: &Vec<Figure>| {
        rates.iter().fold(Interval::exact(0.0), |sum, rate| sum.plus(rate.interval())).scaled(1.0 / bits)
    };
    if sets.iter().any(|rates| sum(rates).meets(total.interval())) {
        sink.holds("T5", &total.figure);
        return None;
    }
    let (rates, spot) = (sets.first()?, total.figure.spot);
    let (given, printed) = (sum(rates), evidence.page.quote(spot));
    let value = super::table::like(printed, total, given.middle());
    let arithmetic: Vec<&str> = rates.iter().map(|rate| evidence.page.quote(rate.spot)).collect();
    let message = format!("the sum of {} streams is printed as {printed}, but it is {value}", rates.len());
    sink.corrects(spot, given, value.clone());
    let finding = Finding::new("T5", Severity::WrongFigure, spot, message).recomputed(value);
    sink.finds(finding.by(arithmetic.join(" + ")).against(rates.iter().map(|rate| rate.spot)));
    Some(())
}

#[cfg(test)]
mod tests {
    use crate::rule::testing::{found, wrong};

    const PARALLEL: &str = include_str!("../../fixtures/iperf3/tcpP.txt");

    #[test]
    fn sound_outputs_hold() {
        for text in [
            PARALLEL,
            include_str!("../../fixtures/iperf3/udpbidir.txt"),
            include_str!("../../fixtures/iperf3/omit.txt"),
            include_str!("../../fixtures/iperf3/server.txt"),
            include_str!("../../fixtures/iperf3/tcpP.json"),
            include_str!("../../fixtures/iperf3/bidir.json"),
        ] {
            assert_eq!(wrong(text), Vec::<String>::new());
        }
    }

    #[test]
    fn a_wrong_figure_is_told() {
        for (from, to) in [
            ("5.24 GBytes  22.5", "5.24 GBytes  25.2"),
            ("5.24 GBytes", "5.42 GBytes"),
            ("2.64 GBytes  11.3", "2.64 GBytes  13.1"),
        ] {
            let changed = PARALLEL.replacen(from, to, 1);
            assert_ne!(changed, PARALLEL);
            assert_ne!(found(&changed, "X24"), [], "{from} -> {to}");
        }
    }

    #[test]
    fn streams_that_end_at_other_times_than_their_sum_have_rates_of_their_own() {
        let text = "\
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec  2.00 GBytes  17.2 Gbits/sec    0   1.19 MBytes
[  7]   0.00-1.30   sec  3.00 GBytes  19.8 Gbits/sec    0   1.06 MBytes
[SUM]   0.00-1.00   sec  5.00 GBytes  42.9 Gbits/sec    0
- - - - - - - - - - - - - - - - - - - - - - - - -
";
        assert_eq!(found(text, "X24"), []);
        assert_ne!(found(&text.replace("0.00-1.30", "0.00-1.00"), "X24"), []);
    }

    #[test]
    fn a_total_is_the_sum_of_its_streams() {
        let told = |total: &str| found(&format!("{PARALLEL}\n{total}\n"), "T5").len();
        assert_eq!(told("Total 22.5 Gbits/sec"), 0);
        assert_eq!(told("Total 25.2 Gbits/sec"), 1);
        assert_eq!(told("That is 25.2 Gbits/sec in all runs"), 0);
    }

    #[test]
    fn losses_and_ways_are_told() {
        let often = PARALLEL
            .replace("0.00-2.00 ", "0.00-10.00")
            .replace("    8             sender", "  800             sender");
        let told = found(&often, "M10");
        assert!(told.len() == 1 && told[0].message.starts_with("one stream sent 80 segments"), "{told:#?}");
        assert_eq!(found(PARALLEL, "M10"), []);
        let told = found(&format!("And with -bidir\n{PARALLEL}"), "M10");
        assert!(told.len() == 1 && told[0].message.contains("one dash"), "{told:#?}");
        let both = include_str!("../../fixtures/iperf3/bidir.txt");
        assert_eq!(found(&format!("And with --bidir\n{both}"), "M10"), []);
    }
}
