//! What holds of every importer: it is found, it knows where its figures stand, and no damage makes it panic or read what is
//! not there.

use iotax_audit::import::*;
use iotax_audit::page::Page;
use iotax_audit_proof::laws::{damaged, figures_stand_where_they_say};

macro_rules! fixtures {
    ($($name:literal),+ $(,)?) => {
        &[$(($name, include_str!(concat!("../../audit/fixtures/", $name)))),+]
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
        let parsed = iotax_audit::json::parse(page.text(), from).unwrap();
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
        let text = damaged(text.as_bytes(), &damages);
        let page = Page::new(name, String::from_utf8_lossy(&text));
        figures_stand_where_they_say(&page, &scan(&page));
    }

    #[test]
    fn examples_stand_damage(
        which in 0..ALL.len(),
        damages in proptest::collection::vec((0u8..6, 0usize..2_000, 0usize..2_000), 1..6),
    ) {
        let text = damaged(ALL[which].example.as_bytes(), &damages);
        let page = Page::new("example", String::from_utf8_lossy(&text));
        figures_stand_where_they_say(&page, &scan(&page));
    }
}
