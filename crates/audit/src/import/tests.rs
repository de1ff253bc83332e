//! What holds of every importer: it is found, it knows where its figures stand, and no damage makes it panic or read what is
//! not there.

use super::*;
use crate::page::Page;

/// How much a printed 1 may be of a figure's unit.
fn scales() -> Vec<f64> {
    let powers = |base: f64| (0..=4).map(move |power| base.powi(power));
    let bits = powers(1024.0).map(|bytes| bytes * 8.0);
    powers(1024.0).chain(powers(1000.0)).chain(bits).collect()
}

/// Asserts that each figure of all outputs is what stands at its spot.
pub(crate) fn figures_stand_where_they_say(page: &Page, imported: &Imported) -> usize {
    let scales = scales();
    let mut count = 0;
    for output in &imported.outputs {
        assert!(output.lines.start < output.lines.end && output.lines.end <= page.len());
        output.said.figures(&mut |(_, _, figure)| {
            let quoted = page.quote(figure.spot);
            let read = crate::number::leading(quoted);
            let (printed, ..) = read.unwrap_or_else(|| panic!("{quoted:?} at {:?}", figure.spot));
            let is = |scale: &f64| (printed * scale - figure.value).abs() <= 1e-9 * figure.value.abs();
            // `1m3.241s` is a time of two parts.
            let parts = quoted.split(|letter: char| letter.is_ascii_digit() || letter == '.');
            let of_two = parts.filter(|part| !part.is_empty()).count() > 1;
            assert!(of_two || scales.iter().any(is), "{quoted} is no {}", figure.value);
            assert!(figure.low <= figure.value && figure.value <= figure.high, "{figure:?}");
            count += 1;
        });
    }
    for unread in &imported.unread {
        assert!(unread.line <= unread.last && unread.last as usize <= page.len().max(1));
    }
    count
}

/// One damage: what is done, and where.
pub(crate) type Damage = (u8, usize, usize);

/// A text with damages: cut, lines swapped, lost, doubled, bytes flipped, lines joined.
pub(crate) fn damaged(text: &str, damages: &[Damage]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for (kind, first, second) in damages {
        let lines: Vec<Vec<u8>> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        if bytes.is_empty() {
            break;
        }
        let (at, line, other) = (first % bytes.len(), first % lines.len(), second % lines.len());
        let mut changed = lines.clone();
        match kind % 6 {
            0 => bytes.truncate(at),
            1 => bytes[at] = b" 0123456789.,;:[]{}\"-%xG"[second % 24],
            2 => {
                changed.swap(line, other);
                bytes = changed.join(&b'\n');
            }
            3 => {
                changed.remove(line);
                bytes = changed.join(&b'\n');
            }
            4 => {
                changed.insert(other, lines[line].clone());
                bytes = changed.join(&b'\n');
            }
            _ => {
                bytes.remove(at);
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

macro_rules! fixtures {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../fixtures/", $name)))),+]
    };
}

/// Outputs of runs of our own; `fixtures/README.md` says of which.
pub(crate) const FIXTURES: &[(&str, &str)] = fixtures![
    "fio/randrw.json",
    "fio/randread.json+",
    "fio/group.json",
    "fio/unified.json",
    "fio/steady.json",
    "fio/clients.json",
    "fio/old-2.1.json",
    "fio/terse-2.txt",
    "fio/terse-3.txt",
    "fio/terse-4.txt",
    "fio/terse-5.txt",
    "fio/terse-old.txt",
    "iperf3/tcp.txt",
    "iperf3/tcpP.txt",
    "iperf3/rev.txt",
    "iperf3/bidir.txt",
    "iperf3/udp.txt",
    "iperf3/udpP.txt",
    "iperf3/udpbidir.txt",
    "iperf3/omit.txt",
    "iperf3/verbose.txt",
    "iperf3/fm.txt",
    "iperf3/server.txt",
    "iperf3/tcp.json",
    "iperf3/tcpP.json",
    "iperf3/bidir.json",
    "iperf3/udp.json",
];

#[test]
fn every_format_has_a_name_of_its_own_and_finds_and_reads_its_example() {
    let mut names: Vec<&str> = ALL.iter().map(|format| format.name).collect();
    names.extend(json_formats::ALL.iter().map(|format| format.name));
    for (at, name) in names.iter().enumerate() {
        assert!(!name.is_empty() && !names[..at].contains(name), "{name}");
    }
    // Its reader is being written elsewhere; the day that it has an example it is held to it.
    let unwritten = |format: &&&Format| format.name == "fio text" && format.example.is_empty();
    for format in ALL.iter().filter(|format| !unwritten(format)) {
        assert!(!format.help.is_empty() && !format.example.is_empty(), "{}", format.name);
        let page = Page::new("example", format.example);
        let reads = |at: &usize| {
            (format.begins)(page.bare(*at).0)
                && (format.read)(&page, *at).is_some_and(|found| found.end > *at)
        };
        assert!((0..page.len()).any(|at| reads(&at)), "{}", format.name);
        let imported = scan(&page);
        assert!(imported.outputs.iter().any(|output| output.format == format.name), "{}", format.name);
        figures_stand_where_they_say(&page, &imported);
    }
    for format in json_formats::ALL {
        let page = Page::new("example", format.example);
        let from = format.example.find('{').unwrap();
        let parsed = crate::json::parse(page.text(), from).unwrap();
        assert!(!format.help.is_empty() && parsed.broken.is_none(), "{}", format.name);
        let knowing: Vec<&str> =
            json_formats::ALL.iter().filter(|one| (one.knows)(&parsed.node)).map(|one| one.name).collect();
        assert_eq!(knowing, [format.name]);
        let imported = scan(&page);
        assert_eq!((imported.outputs.len(), imported.unread.len()), (1, 0), "{}", format.name);
        assert!(figures_stand_where_they_say(&page, &imported) > 0, "{}", format.name);
    }
}

#[test]
fn outputs_of_our_runs_are_read_whole_and_their_figures_stand_where_they_say() {
    for (name, text) in FIXTURES {
        let page = Page::new(*name, *text);
        let imported = scan(&page);
        assert!(!imported.outputs.is_empty(), "{name}");
        assert!(imported.unread.is_empty(), "{name}: {:?}", imported.unread);
        assert!(figures_stand_where_they_say(&page, &imported) > 4, "{name}");
        let taken: usize = imported.outputs.iter().map(|output| output.lines.len()).sum();
        assert!(taken * 10 >= page.len() * 7, "{name}: {taken} of {} lines", page.len());
        assert!(imported.outputs.iter().any(|output| !output.said.readings().is_empty()), "{name}");
    }
}

#[test]
fn what_is_left_of_a_cut_output_is_what_the_whole_has() {
    for (name, text) in FIXTURES {
        let all = |page: &Page| {
            let mut figures = Vec::new();
            for output in scan(page).outputs {
                output.said.figures(&mut |(_, unit, figure)| {
                    figures.push((figure.spot, unit, figure.value.to_bits()))
                });
            }
            figures
        };
        let whole: std::collections::HashSet<_> = all(&Page::new(*name, *text)).into_iter().collect();
        for cut in (0..text.len()).step_by(1 + text.len() / 40) {
            let page = Page::new(*name, &text[..cut]);
            for figure in all(&page) {
                assert!(whole.contains(&figure), "{name} cut at {cut}: {} {figure:?}", page.quote(figure.0));
            }
        }
    }
}

#[test]
fn a_cut_json_says_at_which_line_it_ends() {
    for (name, text) in FIXTURES.iter().filter(|(name, _)| name.contains(".json")) {
        let page = Page::new(*name, &text[..text.len() / 2]);
        let imported = scan(&page);
        assert_eq!(imported.outputs.len(), 1, "{name}");
        assert_eq!(imported.unread.len(), 1, "{name}");
        assert_eq!(imported.unread[0].last as usize, page.len(), "{name}: {:?}", imported.unread);
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 256, ..Default::default() })]

    #[test]
    fn no_damage_makes_a_reader_panic_or_read_what_is_not_there(
        which in 0..FIXTURES.len(),
        damages in proptest::collection::vec((0u8..6, 0usize..20_000, 0usize..20_000), 1..6),
    ) {
        let (name, text) = FIXTURES[which];
        let page = Page::new(name, damaged(text, &damages));
        figures_stand_where_they_say(&page, &scan(&page));
    }

    #[test]
    fn examples_stand_damage(
        which in 0..ALL.len(),
        damages in proptest::collection::vec((0u8..6, 0usize..2_000, 0usize..2_000), 1..6),
    ) {
        let page = Page::new("example", damaged(ALL[which].example, &damages));
        figures_stand_where_they_say(&page, &scan(&page));
    }
}
