use crate::finding::{Severity, Slip};
use crate::rule::testing::{found, wrong};

const TABLE: &str = "\
| test | host | VM | overhead (host-VM)/host |
|---|---|---|---|
| Dhrystone | 34839728.4 lps | 33964545.0 lps | 2.5% |
| Whetstone | 4368.3 MWIPS | 4244.3 MWIPS | 2.8% |
| copy | 1825548.4 KBps | 1788048.3 KBps | 2.1% |
| memory | 7578.348 MiB/s | 6254.520 MiB/s | 17.5% |
";

#[test]
fn ratios_are_what_their_operands_give() {
    assert_eq!(wrong(TABLE), [""; 0]);
    for (from, to, expected) in [
        ("17.5%", "1.75%", "N6 1.75% -> 17.47%"),
        ("17.5%", "15.7%", "T1 15.7% -> 17.5%"),
        ("2.8%", "28%", "N6 28% -> 3%"),
        ("1788048.3", "1708048.3", "T1 2.1% -> 6.4%"),
    ] {
        assert_eq!(wrong(&TABLE.replace(from, to)), [expected], "{from} -> {to}");
    }
}

#[test]
fn what_is_cut_off_is_cosmetic() {
    let cut = TABLE.replace("17.5%", "17.4%");
    let told = found(&cut, "N4");
    assert_eq!(told.len(), 1);
    assert_eq!(
        (told[0].severity, told[0].slip, told[0].recomputed.as_str()),
        (Severity::Cosmetic, Some(Slip::Truncated), "17.5%")
    );
    assert_eq!(wrong(&cut), [""; 0]);
}

#[test]
fn a_thousand_for_1024_is_told() {
    let table = "\
| load | host | VM | VM/host |
|---|---|---|---|
| a | 782KiB/s | 54.5MiB/s | 6969% |
| b | 28.7MiB/s | 23.8MiB/s | 83% |
| c | 86.3MiB/s | 36.9MiB/s | 43% |
| d | 95.8MiB/s | 24.5MiB/s | 26% |
";
    assert_eq!(wrong(table), ["N7 6969% -> 7137%"]);
    assert_eq!(found(table, "N7")[0].slip, Some(Slip::ThousandFor1024));
}

#[test]
fn both_ratios_of_a_run_are_the_same() {
    let table = |share: &str| {
        format!(
            "| case | 4KB IOPS | 4KB Throughput |\n|---|---|---|\n| host | 7349 (100%) | 28.7MiB/s (100%) |\n\
             | VM | 6096 (83%) | 23.8MiB/s ({share}) |\n| VM2 | 7483 (102%) | 29.2MiB/s (102%) |\n"
        )
    };
    assert_eq!(wrong(&table("83%")), [""; 0]);
    // Two rows beside the base are too few to see the form: the pair still must be equal.
    assert_eq!(found(&table("93%"), "T2").len() + found(&table("93%"), "T1").len(), 1);
}

#[test]
fn a_ratio_of_a_figure_that_lost_its_carry_is_told_from_what_was_meant() {
    let page = "\
fio-3.7
w: (groupid=0, jobs=4): err= 0: pid=1: Fri Apr 12 13:55:32 2024
  write: IOPS=25.0k, BW=102MiB/s (106MB/s)(29.7GiB/300001msec)
     issued rwts: total=0,7797520,0,0 short=0,0,0,0 dropped=0,0,0,0

w: (groupid=0, jobs=4): err= 0: pid=1: Fri Apr 12 14:43:21 2024
  write: IOPS=20.4k, BW=79.6MiB/s (83.5MB/s)(23.3GiB/300001msec)
     issued rwts: total=0,6116013,0,0 short=0,0,0,0 dropped=0,0,0,0

| | write | bandwidth |
|---|---|---|
| passthrough | 25.0k | 102MiB/s |
| virtual | 20.4k | 79.6MiB/s |

Virtual disks lose 18.4% of writes.
";
    let told = found(page, "N10");
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!((told[0].printed.as_str(), told[0].recomputed.as_str()), ("18.4%", "21.6%"));
    assert_eq!((told[0].severity, told[0].spot.line), (Severity::WrongConclusion, 14));
    assert_eq!(told[0].arithmetic.as_deref(), Some("1 - 20.4k / 26.0k"));
    assert_eq!(found(page, "T4").len(), 1);
}

#[test]
fn operands_that_may_have_been_cut_off_and_means_of_ratios_are_no_wrong_ratios() {
    let page = |ratio: &str| {
        format!(
            "| name | old | new | delta |\n|---|---|---|---|\n| a | 1000 | 750 | -25.00% |\n| b | 2000 | 1000 | -50.00% |\n| c | 4000 | 1000 | -75.00% |\n| d | 439 | 76 | {ratio} |\n"
        )
    };
    assert_eq!(crate::rule::testing::wrong(&page("-82.55%")), [""; 0], "76.6 was cut off");
    assert_eq!(crate::rule::testing::wrong(&page("-82.15%")).len(), 1);
    let page = |label: &str, ratio: &str| {
        format!(
            "| pod | IOPS | stdev | stdev/IOPS % |\n|---|---|---|---|\n| a | 1000 | 100 | 10.0 |\n| b | 2000 | 100 | 5.0 |\n| c | 4000 | 400 | 10.0 |\n| d | 1000 | 150 | 15.0 |\n| {label} | 8000 | 187.5 | {ratio} |\n"
        )
    };
    assert_eq!(crate::rule::testing::wrong(&page("TOTAL / AVG", "10.0")), [""; 0], "the mean of the ratios");
    assert_eq!(crate::rule::testing::wrong(&page("e", "10.0")).len(), 1);
}

#[test]
fn ratios_that_are_printed_as_plain_numbers_are_what_their_operands_give() {
    let page = |head: &str, cells: [&str; 4]| {
        let [a, b, c, d] = cells;
        format!(
            "| load | host IOPS | VM IOPS | {head} |\n|---|---|---|---|\n| a | 8,412 | 6,530 | {a} |\n| b | 62,310 | 44,120 | {b} |\n\
             | c | 184,200 | 121,600 | {c} |\n| d | 10,230 | 7,710 | {d} |\n"
        )
    };
    let shares = ["0.776", "0.708", "0.660", "0.754"];
    for head in ["VM/host", "VM / host", "ratio", "Faktor", "во сколько раз"] {
        assert_eq!(wrong(&page(head, shares)), [""; 0], "{head}");
        let slipped = page(head, ["0.776", "0.708", "0.606", "0.754"]);
        assert_eq!(wrong(&slipped), ["T1 0.606 -> 0.660"], "{head}");
    }
    let other_way = ["1.29", "1.41", "1.15", "1.33"];
    for head in ["host:VM", "speedup"] {
        assert_eq!(wrong(&page(head, other_way)), ["T1 1.15 -> 1.51"], "{head}");
    }
    // Of something else, or two that do not fit: no ratio of these.
    assert_eq!(wrong(&page("stdev", ["0.776", "0.708", "0.606", "0.754"])), [""; 0]);
    assert_eq!(wrong(&page("ratio", ["0.776", "0.708", "0.606", "0.745"])), [""; 0]);
    assert_eq!(wrong(&page("scale factor", ["1", "1", "3", "1"])), [""; 0]);
}

/// A table of a host and its guest, under a head of ratios.
fn compared(head: &str, unit: &str, rows: [[&str; 3]; 3]) -> String {
    let row = |[host, vm, ratio]: [&str; 3]| format!("| case {host} | {host} | {vm} | {ratio} |\n");
    format!("| load | host {unit} | VM {unit} | {head} |\n|---|---|---|---|\n{}", rows.map(row).concat())
}

#[test]
fn a_percentage_of_the_other_base_is_told_as_that() {
    let of = |head: &str, ratios: [&str; 3]| {
        let rows = [
            ["8,412", "6,530", ratios[0]],
            ["184,200", "121,600", ratios[1]],
            ["151,300", "98,700", ratios[2]],
        ];
        let told = found(&compared(head, "IOPS", rows), "T1");
        assert_eq!(told.len(), 1, "{head}: {told:?}");
        (told[0].slip, told[0].recomputed.clone(), told[0].message.contains("from the other base"))
    };
    let named = |recomputed: &str| (Some(Slip::WrongBase), recomputed.to_owned(), true);
    assert_eq!(of("loss (host-VM)/host", ["22.4 %", "51.5 %", "34.8 %"]), named("34.0 %"));
    assert_eq!(of("VM/host", ["77.6 %", "151.5 %", "65.2 %"]), named("66.0 %"));
    assert_eq!(of("VM/host", ["0.776", "1.515", "0.652"]), named("0.660"));
    assert_eq!(of("VM/host", ["77.6 %", "61.5 %", "65.2 %"]).0, None);
}

#[test]
fn only_bytes_have_two_bases() {
    let rows =
        [["8,412", "6,530", "77.6 %"], ["184,200", "121,600", "69.2 %"], ["151,300", "98,700", "65.2 %"]];
    assert_eq!(wrong(&compared("VM/host", "IOPS", rows)), ["T1 69.2 % -> 66.0 %"]);
    assert_eq!(wrong(&compared("VM/host", "MB/s", rows)), ["N7 69.2 % -> 66.0 %"]);
}

#[test]
fn an_operand_that_is_ten_times_too_large_makes_no_share_wrong() {
    let of = |head: &str, vm: &str, ratios: [&str; 3]| {
        let rows =
            [["8,412", "6,530", ratios[0]], ["184,200", vm, ratios[1]], ["151,300", "98,700", ratios[2]]];
        let told = found(&compared(head, "IOPS", rows), "N6");
        assert_eq!(told.len(), 1, "{head}: {told:?}");
        (told[0].recomputed.clone(), told[0].message.contains("or an operand is"))
    };
    let open = (String::new(), true);
    assert_eq!(of("VM/host", "1,216,000", ["77.6 %", "66.0 %", "65.2 %"]), open);
    assert_eq!(of("VM/host", "12,160", ["77.6 %", "66.0 %", "65.2 %"]), open);
    assert_eq!(of("loss (host-VM)/host", "1,216,000", ["22.4 %", "34.0 %", "34.8 %"]), open);
    assert_eq!(of("VM/host", "121,600", ["77.6 %", "6.60 %", "65.2 %"]), ("66.02 %".to_owned(), false));
}

#[test]
fn a_latency_whose_ratio_is_turned_round_among_others_is_no_slip() {
    let page = |label: &str, latency: &str| {
        format!(
            "| metric | old | new | speedup |\n|---|---|---|---|\n| read IOPS | 8412 | 10530 | 1.25x |\n| write IOPS | 6231 | 9412 | 1.51x |\n\
             | mixed IOPS | 5120 | 8710 | 1.70x |\n| {label} | 391 | 305 | {latency} |\n"
        )
    };
    assert_eq!(wrong(&page("p99 latency, us", "1.28x")), [""; 0]);
    assert_eq!(wrong(&page("p99 latency, us", "1.82x")), ["T1 1.82x -> 1.28x"]);
}

#[test]
fn a_ratio_of_counts_that_is_cut_off_or_by_chance_off_by_1024_is_told_as_what_it_is() {
    let page = |last: &str| {
        format!(
            "| team | passes | completed | accuracy |\n|---|---|---|---|\n| a | 1076 | 828 | 76.9% |\n| b | 1565 | 1223 | 78.1% |\n| c | 1298 | 1082 | 83.3% |\n| d | 4317 | 3820 | {last} |\n"
        )
    };
    assert_eq!(wrong(&page("88.4%")), [""; 0], "88.487 is cut off");
    assert_eq!(wrong(&page("90.6%")), ["T1 90.6% -> 88.5%"], "counts are no bytes");
    assert_eq!(wrong(&page("0.0%")), ["T1 0.0% -> 88.5%"], "nothing is no tenth of it");
}

#[test]
fn what_is_below_nothing_is_cut_off_towards_it() {
    let page = |last: &str, cut: &str| {
        format!(
            "| name | old | new | delta |\n|---|---|---|---|\n| a | 1000 | 750 | -25.0% |\n| b | 2000 | 1000 | -50.0% |\n| c | 4000 | 1000 | -75.0% |\n| d | 2150 | 1502 | {last} |\n| e | 8000 | 1346 | {cut} |\n"
        )
    };
    assert_eq!(found(&page("-30.1%", "-83.1%"), "N4").len(), 1, "-83.175 rounds to -83.2");
    assert_eq!(found(&page("-30.2%", "-83.2%"), "N4"), [], "-30.14 may be it, and is not cut off");
}
