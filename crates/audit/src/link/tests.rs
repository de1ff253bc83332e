use super::*;
use crate::number::quantities;
use crate::table::{PageTable, TableCell, TableRow};

/// A table of texts: the first row is the head, the first column the labels.
pub(crate) fn table(line: usize, rows: &[&[&str]]) -> PageTable {
    let cell = |line: usize, from: usize, text: &str| {
        let found = quantities(line, &format!("{}{text}", " ".repeat(from)));
        let bracketed = |one: &&Quantity| one.unit == NumberUnit::Percent && text.contains('(');
        let share = found.iter().find(bracketed).copied();
        let figure = found.iter().find(|one| Some(**one) != share).copied();
        figure.map(|figure| TableCell {
            spot: figure.figure.spot,
            figure: Some(figure),
            share: share.map(Box::new),
            more: Box::default(),
        })
    };
    let row = |(at, texts): (usize, &&[&str])| TableRow {
        label: texts[0].to_owned(),
        line: line + at + 1,
        cells: texts[1..]
            .iter()
            .enumerate()
            .map(|(column, text)| cell(line + at + 1, 40 * column, text))
            .collect(),
    };
    PageTable {
        lines: line..line + rows.len(),
        title: None,
        corner: rows[0][0].to_owned(),
        heads: rows[0][1..].iter().map(|head| (*head).to_owned()).collect(),
        rows: rows[1..].iter().enumerate().map(row).collect(),
    }
}

fn of(tables: &[PageTable]) -> Vec<DerivedLink> {
    links(&AuditedPage::new("p", ""), &grid::grids(&AuditedPage::new("p", ""), tables, &[]), &[])
}

#[test]
fn a_column_of_ratios_is_linked_by_the_form_that_holds() {
    let vm = table(
        0,
        &[
            &["", "VM", "host", "VM/host", "rated", "host/rated"],
            &["a", "629k", "669k", "94%", "850k", "78.7%"],
            &["b", "700k", "765k", "91.5%", "1000k", "76.5%"],
            &["c", "2732MB/s", "2752MB/s", "89.3%", "5100MB/s", "54%"],
            &["d", "3559MB/s", "3604MB/s", "98.8%", "7000MB/s", "51.5%"],
        ],
    );
    let links = of(&[vm]);
    assert_eq!(links.len(), 8);
    let wrong: Vec<&DerivedLink> = links.iter().filter(|link| !link.gives_printed()).collect();
    assert_eq!(wrong.len(), 1, "{wrong:#?}");
    assert_eq!(
        (wrong[0].derived.figure.value, wrong[0].why, wrong[0].form),
        (89.3, LinkReason::Named, LinkForm::Share)
    );
}

#[test]
fn how_busy_something_was_is_no_ratio_of_what_stands_beside_it() {
    let with = |label: &str| {
        of(&[table(
            0,
            &[
                &["", "received", "sent", label],
                &["one", "252 MB", "1.5 GB", "491.83 %"],
                &["two", "256 MB", "1.5 GB", "477.67 %"],
                &["three", "254 MB", "1.5 GB", "504.67 %"],
                &["four", "329 MB", "1.6 GB", "540.00 %"],
            ],
        )])
    };
    assert_eq!(with("SERVER-MAX-CPU-USAGE").len(), 0);
    assert_eq!(with("sent / received - 1").len(), 4, "it is the word that tells");
}

#[test]
fn of_very_many_columns_those_near_a_ratio_are_tried() {
    let labels: Vec<String> = (0..2000).map(|at| format!("host/vm speedup {at}")).collect();
    let cells: Vec<String> =
        (0..2000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 20).to_string()).collect();
    let rows: Vec<Vec<&str>> = (0..2000)
        .map(|at| {
            (0..7)
                .map(|up| {
                    if up == 0 { labels[at].as_str() } else { cells[(7 * at + up) % 2000].as_str() }
                })
                .collect()
        })
        .collect();
    let head = vec!["", "a", "b", "c", "d", "e", "f"];
    let all: Vec<&[&str]> =
        std::iter::once(head.as_slice()).chain(rows.iter().map(Vec::as_slice)).collect();
    // Without that it takes hours.
    assert_eq!(of(&[table(0, &all)]).len(), 0);
}

#[test]
fn counts_of_one_digit_fit_any_ratio_and_link_none() {
    let copies = |cell: [&str; 4]| {
        table(
            0,
            &[
                &["", "spare", "least", "space"],
                &["two copies", "1", "2", cell[0]],
                &["three copies", "2", "3", cell[1]],
                &["code 2+1", "1", "3", cell[2]],
                &["code 2+2", "2", "4", cell[3]],
            ],
        )
    };
    assert_eq!(of(&[copies(["2.0x", "3.0x", "1.5x", "2.0x"])]), []);
}

#[test]
fn one_row_is_linked_by_the_head_that_names_both() {
    let memory = table(
        0,
        &[
            &["", "物理机", "虚拟机", "虚拟化开销（物理机-虚拟机/物理机）"],
            &["copy", "7578.348 MiB/s", "6254.520 MiB/s", "1.7%"],
        ],
    );
    let links = of(&[memory]);
    assert_eq!(links.len(), 1);
    assert_eq!((links[0].form, links[0].why), (LinkForm::Loss, LinkReason::Named));
    assert!((links[0].central().unwrap() - 17.468).abs() < 1e-3 && !links[0].gives_printed());
    let unnamed = table(
        0,
        &[&["", "a1", "b2", "share"], &["copy", "7578.348 MiB/s", "6254.520 MiB/s", "1.7%"]],
    );
    assert_eq!(of(&[unnamed]), []);
}

#[test]
fn shares_in_brackets_are_of_the_cell_that_is_all() {
    let net = table(
        0,
        &[
            &["", "host", "VM"],
            &["host", "8.35 Gbps (100%)", "8.40 Gbps (101%)"],
            &["VM", "8.41 Gbps (101%)", "8.33 Gbps (96.7%)"],
        ],
    );
    let links = of(&[net]);
    let others = links.iter().filter(|link| link.derived.figure.value != 100.0);
    assert_eq!(others.map(|link| link.gives_printed()).collect::<Vec<_>>(), [true, true, false]);
}

#[test]
fn a_share_that_rounds_to_the_whole_is_no_base() {
    let net = table(
        0,
        &[
            &["", "host", "VM", "other"],
            &["host", "39.60 Gbps (100%)", "36.08 Gbps (91%)", "28.13 Gbps (71%)"],
            &["VM", "38.42 Gbps (97%)", "39.80 Gbps (100%)", "38.52 Gbps (97%)"],
            &["other", "30.43 Gbps (77%)", "26.74 Gbps (68%)", "33.83 Gbps (85%)"],
        ],
    );
    let links = of(&[net]);
    assert_eq!(links.len(), 8);
    assert!(links.iter().all(|link| link.gives_printed()), "{links:#?}");
}

#[test]
fn the_base_is_no_ratio_of_two_that_are_near_each_other() {
    let rows = table(
        0,
        &[
            &["", "host", "of host", "a", "of a", "b", "of b"],
            &["x", "19413", "100%", "14457", "74.5%", "14461", "74.5%"],
            &["y", "1110", "100%", "960", "86.5%", "961", "86.6%"],
            &["z", "7003", "100.0%", "6001", "85.7%", "6002", "85.7%"],
            &["w", "5003", "100.0%", "3001", "60.0%", "4202", "84.0%"],
        ],
    );
    let links = of(&[rows]);
    assert_eq!(links.len(), 8);
    assert!(links.iter().all(|link| link.gives_printed()), "{links:#?}");
}

#[test]
fn figures_without_structure_stay_unlinked() {
    let loose = table(
        0,
        &[
            &["", "a", "b", "note"],
            &["x", "10", "20", "35%"],
            &["y", "30", "70", "81%"],
            &["z", "5", "9", "12%"],
        ],
    );
    assert_eq!(of(&[loose]), []);
}

#[test]
fn ratios_of_one_of_equal_counts_link_none() {
    let counts = table(
        0,
        &[
            &["kind", "loaded", "compiled", "geomean"],
            &["a", "206", "206", "1.002x"],
            &["b", "129", "129", "1.002x"],
            &["c", "86", "86", "1.004x"],
            &["d", "82", "82", "1.005x"],
            &["e", "51", "41", "1.003x"],
        ],
    );
    assert_eq!(of(&[counts]), []);
}

#[test]
fn multiples_of_one_digit_tell_no_form() {
    let speeds = |times: [&str; 4]| {
        let rows: [&[&str]; 5] = [
            &["what", "size", "made", "speed"],
            &["a", "13GB", "6.5GB", times[0]],
            &["b", "13GB", "3.4GB", times[1]],
            &["c", "13GB", "1.8GB", times[2]],
            &["d", "1.5GB", "1.2GB", times[3]],
        ];
        of(&[table(0, &rows)]).len()
    };
    assert_eq!(speeds(["2x", "4x", "7x", "1.5x"]), 0);
    assert_eq!(speeds(["2.00x", "3.82x", "7.22x", "1.5x"]), 4);
}

#[test]
fn shares_in_brackets_may_be_of_their_own_row() {
    let held = |first: &str| {
        let rows: [&[&str]; 4] = [
            &["type", "size", "free"],
            &["images", "8.692GB", first],
            &["caches", "1.400MB", "0.700MB (50%)"],
            &["volumes", "20.48kB", "20.48kB (100%)"],
        ];
        of(&[table(0, &rows)]).iter().map(|link| link.gives_printed()).collect::<Vec<_>>()
    };
    assert_eq!(held("0.599GB (7%)"), [true, true, true]);
}
