use crate::link::Form;
use crate::page::Page;

/// What is printed, its form, what is divided by what, and whether it holds.
type Found = (String, Form, String, bool);

fn of(text: &str) -> Vec<Found> {
    let page = Page::new("p", text);
    let tables = crate::table::tables(&page, &[]);
    let clauses = crate::prose::clauses(&page, &[]);
    let links = crate::link::links(&page, &tables, &clauses);
    let quote = |one: &crate::number::Quantity| page.quote(one.figure.spot).to_owned();
    let found = links.iter().map(|link| {
        let by = format!("{} / {}", quote(&link.numerator), quote(&link.denominator));
        (quote(&link.derived), link.form, by, link.holds())
    });
    found.collect()
}

fn table(head: &str, rows: &[&str]) -> String {
    let rule = "|---".repeat(head.matches('|').count() + 1);
    let lines = rows.iter().map(|row| format!("| {row} |\n"));
    format!("| {head} |\n{rule}|\n{}", lines.collect::<String>())
}

fn holding(found: &[Found]) -> Vec<bool> {
    found.iter().map(|one| one.3).collect()
}

const TIMES: [&str; 5] = [
    "plain | 731.0 ms | 1.00x",
    "a | 402.5 ms | 1.82x",
    "b | 1.21 s | 0.60x",
    "c | 95.3 ms | 7.67x",
    "d | 310 ms | 3.36x",
];

#[test]
fn a_speedup_of_times_is_the_base_over_each() {
    let found = of(&table("what | time | speedup", &TIMES));
    let by = |at: usize| (found[at].1, found[at].2.as_str());
    assert_eq!(holding(&found), [true, true, true, false]);
    assert_eq!(by(1), (Form::Share, "731.0 ms / 1.21 s"));
    let page = Page::new("p", table("what | time | speedup", &TIMES));
    let audited = crate::audit::audit(page);
    let of_ratios = audited.findings.iter().filter(|one| one.rule == "T1");
    let told: Vec<_> = of_ratios.map(|one| (one.rule, one.recomputed.as_str())).collect();
    assert_eq!(told, [("T1", "2.36x")]);
}

#[test]
fn a_change_is_against_the_row_that_the_head_names() {
    let rows = [
        "guest | 51.2 MB/s | -25.3 %",
        "host | 68.5 MB/s | -",
        "bare | 88.4 MB/s | +29.1 %",
        "old | 31.7 MB/s | -53.7 %",
        "new | 97.9 MB/s | +24.9 %",
    ];
    let found = of(&table("what | rate | vs host", &rows));
    assert_eq!(holding(&found), [true, true, true, false]);
    assert_eq!((found[3].1, found[3].2.as_str()), (Form::Gain, "97.9 MB/s / 68.5 MB/s"));
    assert_eq!(of(&table("what | rate | vs bare", &rows)), [], "its row is not the base");
}

#[test]
fn a_base_may_be_said_by_a_word() {
    let rows = ["a | 41.3 | 1.62×", "b | 25.5 | baseline", "c | 77.9 | 3.05×", "d | 13.1 | 0.51×"];
    assert_eq!(holding(&of(&table("what | cost | ratio", &rows))), [true; 3]);
}

#[test]
fn plain_numbers_are_ratios_where_the_head_says_so() {
    let rows = ["a | 25.53 | 1.00", "b | 41.31 | 1.62", "c | 77.94 | 3.05", "d | 13.12 | 0.57"];
    let relative = of(&table("what | mean | Relative", &rows));
    assert_eq!(holding(&relative), [true, true, false]);
    let more = [&rows[..], &["e | 58.07 | 2.27"]].concat();
    assert_eq!(holding(&of(&table("what | mean | Relative", &more))), [true, true, false, true]);
    assert_eq!(of(&table("what | mean | note", &more)), []);
}

#[test]
fn what_stands_behind_a_ratio_widens_it() {
    let rows = |last: &str| {
        let last = format!("d | 47.25 ± 0.30 | {last}");
        let rows =
            ["a | 12.71 ± 0.20 | 1.00", "b | 19.34 ± 0.10 | 1.52 ± 0.02", "c | 31.90 ± 0.30 | 2.51 ± 0.02"];
        table("what | mean [s] | Relative", &[&rows[..], &[&last, "e | 88.11 ± 0.90 | 6.93 ± 0.03"]].concat())
    };
    assert_eq!(holding(&of(&rows("3.69 ± 0.04"))), [true; 4]);
    assert_eq!(holding(&of(&rows("3.69"))), [true, true, false, true]);
}

#[test]
fn a_ratio_may_be_of_the_figures_that_rows_are_called_by() {
    let rows = [
        "9,412,877 | 47.1 % | 15.07 | a",
        "6,230,051 | 31.2 % | 9.97 | b",
        "3,914,466 | 19.6 % | 6.97 | c",
        "12,803,190 | 64.1 % | 20.50 | d",
        "19,981,264 | 100.0 % | 32.00 | copy",
    ];
    let found = of(&table("size | ratio % | bits | what", &rows));
    assert_eq!(holding(&found), [true; 4], "the bits of c are wrong, not its ratio");
    assert_eq!(found[2].2, "3,914,466 / 19,981,264");
}

#[test]
fn each_block_has_its_own_base() {
    let rows = |last: &str| {
        let last = format!("b | large | 8.17 s | {last}");
        table(
            "what | load | time | ratio",
            &[
                "a | small | 31.3 ms | 1.00",
                "b | small | 45.7 ms | 1.46",
                "c | small | 93.1 ms | 2.97",
                "a | large | 5.53 s | 1.00",
                "c | large | 12.61 s | 2.28",
                &last,
            ],
        )
    };
    assert_eq!(holding(&of(&rows("1.48"))), [true; 4]);
    assert_eq!(of(&rows("1.28")), [], "which rows are bases is only seen where all hold");
}

#[test]
fn a_few_are_linked_where_every_column_has_the_same() {
    let rows = |cycles: &str| {
        let last = format!("c | {cycles} | 88.1 ms | 0.09x");
        let rows = ["a — baseline | 731,204 | 4.06 ms | 1.00x", "b | 402,557 | 2.24 ms | 1.82x"];
        of(&table("what | cycles | time | Speedup vs. baseline", &[&rows[..], &[&last]].concat()))
    };
    assert_eq!(holding(&rows("15,862,041")), [true, false]);
    assert_eq!(rows("8,124,490"), [], "it may be of cycles");
    let single = |ratio: &str| {
        let other = format!("b | 402.5 ms | {ratio}");
        of(&table("what | time | speedup", &["a | 731.0 ms | 1.00x", &other]))
    };
    assert_eq!(holding(&single("1.82x")), [true]);
    assert_eq!(holding(&single("1.28x")), [false]);
    assert_eq!(single("0.55x").len(), 1, "turned round it holds");
}

#[test]
fn what_may_be_of_something_else_is_let_be() {
    let steps =
        ["1 | 1.00x", "2 | 2.00x", "4 | 4.00x", "8 | 8.00x", "16 | 15.2x"].map(|row| format!("a | {row}"));
    assert_eq!(of(&table("what | lanes | speedup", &steps.each_ref().map(String::as_str))), []);
    let loads = [
        "a | 10.22k | 100 %",
        "b | 7.66k | 75 %",
        "c | 5.11k | 50 %",
        "d | 2.55k | 25 %",
        "e | 1.33k | 10 %",
    ];
    assert_eq!(of(&table("what | rate | load", &loads)), []);
    assert_eq!(holding(&of(&table("what | rate | of a: share", &loads))), [true, true, true, false]);
    let plain = loads.map(|row| row.replace("10 %", "13 %"));
    assert_eq!(
        of(&table("what | rate | load", &plain.each_ref().map(String::as_str))),
        [],
        "no word of a ratio"
    );
    let parts = ["a | 172 | 21.5 %", "b | 411 | 51.4 %", "c | 217 | 27.1 %", "total | 800 | 100 %"];
    assert_eq!(of(&table("what | votes | share", &parts)), []);
    let unsigned = TIMES.map(|row| row.replace("3.36x", "0.42x"));
    let found = of(&table("what | time | speedup", &unsigned.each_ref().map(String::as_str)));
    assert_eq!(holding(&found), [true; 3], "turned round it holds");
    let means = TIMES.map(|row| row.replace("3.36x", "2.31x")).map(|row| row.replacen("|", "| 0.2 ms |", 1));
    let means = means.each_ref().map(String::as_str);
    assert_eq!(holding(&of(&table("what | StdDev | time | speedup", &means))), [true; 3], "a mean of ratios");
    assert_eq!(holding(&of(&table("what | least | time | speedup", &means))), [true, true, true, false]);
    let overall = TIMES.map(|row| row.replace("d |", "average |"));
    let overall = overall.each_ref().map(String::as_str);
    assert_eq!(holding(&of(&table("what | time | speedup", &overall))), [true; 3]);
}

#[test]
fn a_row_of_ratios_is_against_a_column() {
    let rows = ["time | 731.0 ms | 402.5 ms | 95.3 ms | 310.0 ms", "speedup | 1.00x | 1.82x | 7.67x | 3.36x"];
    assert_eq!(holding(&of(&table("what | plain | a | b | c", &rows))), [true, true, false]);
}
