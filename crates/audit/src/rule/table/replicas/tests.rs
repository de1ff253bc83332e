use super::bare_name;
use crate::finding::{Severity, Slip};
use crate::rule::testing::found;

fn drives(figures: &[&str]) -> String {
    let table = |(at, figure): (usize, &&str)| {
        format!(
            "PM9A3 (0{at}69) | bare | passthrough |\nrandom read 4k | 4601.00 MB/s | {figure} MB/s |\nrandom write 4k | 2806.00 MB/s | 2807.00 MB/s |\n\n"
        )
    };
    figures.iter().enumerate().map(table).collect()
}

#[test]
fn one_of_many_equal_drives_that_has_half_is_told() {
    let of = |fourth: &str, rule: &str| {
        found(&drives(&["4746.50", "4743.00", "4746.00", fourth, "4651.00"]), rule)
    };
    let told = of("2328.00", "T10");
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!((told[0].slip, told[0].severity), (Some(Slip::Half), Severity::WrongFigure));
    assert_eq!(of("3928.00", "T9")[0].severity, Severity::Ambiguous);
    let two = drives(&["4746.50", "2343.00", "4746.00", "2328.00", "4651.00"]);
    assert_eq!(found(&two, "T10"), [], "two of five");
    assert_eq!(found(&drives(&["4746.50", "4743.00", "2328.00"]), "T10"), [], "three");
}

#[test]
fn names_lose_their_numbers_only() {
    assert_eq!(bare_name("PM9A3 (0369)").as_deref(), Some("PM9A3"));
    assert_eq!(bare_name("VM12").as_deref(), Some("VM"));
    assert_eq!(bare_name("mdadm"), None);
}

#[test]
fn moments_of_repeated_runs_are_no_units() {
    let runs = |rows: &dyn Fn(&str) -> String| -> String {
        let run = |(at, first)| format!("Test ({at}) | started | finished |\n{}\n", rows(first));
        ["31", "32", "18", "31", "30"].into_iter().enumerate().map(run).collect()
    };
    let long = |label: &str| {
        runs(&|first| {
            format!(
                "1 | {first} MB/s | 30 MB/s |\n{label} | 62 MB/s | 61 MB/s |\n3 | 93 MB/s | 92 MB/s |\n4 | 125 MB/s | 124 MB/s |\n5 | 155 MB/s | 154 MB/s |\n"
            )
        })
    };
    assert_eq!(found(&long("2"), "T9"), [], "seconds");
    assert_eq!(found(&long("qd 2"), "T9").len(), 1, "loads");
    let short = runs(&|first| format!("0 | 1 MB/s | 1 MB/s |\n1 | {first} MB/s | 30 MB/s |\n"));
    assert_eq!(found(&short, "T9"), [], "cut short");
}

#[test]
fn small_counts_of_numbered_tables_are_states() {
    let page = |counts: [&str; 5]| -> String {
        let table = |(at, count): (usize, &str)| {
            format!("cluster ({at}) | epoch | lag |\nnode0 | {count} | 0 |\nnode1 | {count} | 0 |\n\n")
        };
        counts.into_iter().enumerate().map(table).collect()
    };
    assert_eq!(found(&page(["6", "6", "6", "3", "6"]), "T10"), []);
    assert_eq!(found(&page(["6000", "6010", "6005", "3002", "6001"]), "T10").len(), 2);
}

#[test]
fn tables_under_headings_of_other_loads_are_not_equal() {
    let page = |headings: [&str; 4]| -> String {
        let table = |(heading, figure): (&str, &str)| {
            format!(
                "## {heading}\n\n- Tool A 1.2\n- Tool B 0.7\n\n| | tool-a | tool-b |\n|---|---|---|\n| took | {figure} s | 812 s |\n\n"
            )
        };
        headings.into_iter().zip(["410", "412", "690", "409"]).map(table).collect()
    };
    let loads = page(["Write 2M keys, 1 to 900 clients", "Write 2M keys", "Write 6M keys", "Write 2M"]);
    let runs = page(["Run 1", "Run 2", "Run 3", "Run 4"]);
    assert_eq!((found(&loads, "T9").len(), found(&runs, "T9").len()), (0, 1));
    // Where a short line names the units, the headings above it count too.
    let named = |page: String| page.replace("\n- Tool A 1.2\n- Tool B 0.7\n", "\nResults (17)\n");
    assert_eq!((found(&named(loads), "T9").len(), found(&named(runs), "T9").len()), (0, 1));
}
