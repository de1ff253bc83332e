//! Tests of how the cells of an article's table are written.

use super::*;

fn choice(keys: &[(&str, &str)]) -> CellChoice {
    let mut choice = CellChoice::default();
    for (key, word) in keys {
        assert!(choice.set_key(key, word).unwrap(), "{key}");
    }
    choice
}

#[test]
fn figures_are_written_as_the_articles_print_them() {
    let fio = [("digits", "fio")];
    for (value, base, keys, printed) in [
        (629_000.0, "1/s", &fio[..], "629k"),
        (195.0, "1/s", &fio, "195"),
        (7_349.0, "1/s", &fio, "7349"),
        (22_100.0, "1/s", &fio, "22.1k"),
        (782.0 * 1024.0, "B/s", &[("digits", "fio"), ("unit", "MiB/s")], "782KiB/s"),
        (9_935.0 * 1024.0, "B/s", &[("digits", "fio"), ("unit", "MiB/s")], "9935KiB/s"),
        (28.7 * 1_048_576.0, "B/s", &[("digits", "fio"), ("unit", "MiB/s")], "28.7MiB/s"),
        (1_056.0 * 1_048_576.0, "B/s", &[("digits", "fio"), ("unit", "MiB/s")], "1056MiB/s"),
        (2_732e6, "B/s", &[("digits", "fio"), ("unit", "MB/s")], "2732MB/s"),
        (4_603.11e6, "B/s", &[("digits", "2"), ("unit", "МБ/с")], "4603.11 МБ/с"),
        (124_615.4, "1/s", &[("digits", "2"), ("bare", "true")], "124615.40"),
        (1_043_750_000.0, "B/s", &[("digits", "2"), ("unit", "Gbps")], "8.35 Gbps"),
        (0.940_2, "1", &[("digits", "1"), ("trim", "true"), ("tight", "true")], "94%"),
        (0.915_03, "1", &[("digits", "1"), ("trim", "true"), ("tight", "true")], "91.5%"),
        (1.256_4, "1", &[("digits", "0")], "126 %"),
        (202_450.0, "ns", &[("digits", "2"), ("unit", "us")], "202.45 us"),
        (629_400.0, "1/s", &[("unit", "k"), ("digits", "0"), ("bare", "true")], "629k"),
        (4_368.3e6, "1/s", &[("unit", "MWIPS"), ("digits", "1")], "4368.3 MWIPS"),
    ] {
        let choice = choice(keys);
        assert_eq!(choice.figure_text(value, &choice.unit_of(base)), printed);
    }
}

#[test]
fn words_that_no_key_has_are_refused_with_those_that_it_has() {
    for (key, word, part) in [
        ("metric", "ipos", "did you mean \"iops\"?"),
        ("unit", "MB", "unknown unit \"MB\""),
        ("unit", "Mib/s2", "did you mean \"MiB/s\"?"),
        ("digits", "7", "write 0 to 6"),
        ("show", "ratd", "did you mean \"rated\"?"),
        ("run", "0", "write 1 or more"),
        ("trim", "yes", "write true or false"),
    ] {
        let fault = CellChoice::default().set_key(key, word).unwrap_err();
        let said = format!("{}; {}", fault.why, fault.hint.unwrap_or_default());
        assert!(said.contains(part), "{key} = {word}: {said}");
    }
    assert!(!CellChoice::default().set_key("colour", "red").unwrap());
}

#[test]
fn a_stored_table_is_the_table_that_was_stored() {
    let cells = choice(&[
        ("metric", "read p99.95"),
        ("unit", "MiB/s"),
        ("digits", "fio"),
        ("also", "%"),
        ("show", "published"),
        ("run", "2"),
    ]);
    let row = TableHead { cells, percent_of: Some(0), ..TableHead::new("a row") };
    let table = ArticleTable {
        name: "x".into(),
        title: None,
        corner: String::new(),
        cells: choice(&[("metric", "cpu per I/O")]),
        shares: choice(&[("brackets", "true")]),
        rows: vec![row],
        columns: vec![TableHead::new("a column")],
    };
    let stored = serde_json::to_string(&table).unwrap();
    assert_eq!(serde_json::from_str::<ArticleTable>(&stored).unwrap(), table);
}
