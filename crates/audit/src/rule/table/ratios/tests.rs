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
    let cut = TABLE.replace("17.5%", "17.4%");
    let told = found(&cut, "N4");
    assert_eq!((told[0].severity, told[0].slip), (Severity::Cosmetic, Some(Slip::Truncated)));
    assert_eq!((told.len(), told[0].recomputed.as_str(), wrong(&cut).len()), (1, "17.5%", 0));
}

#[test]
fn both_ratios_of_a_run_are_the_same() {
    let table = |share: &str| {
        format!(
            "| case | 4KB IOPS | 4KB Throughput |\n|---|---|---|\n| host | 7349 (100%) | 28.7MiB/s (100%) |\n\
             | VM | 6096 (83%) | 23.8MiB/s ({share}) |\n| VM2 | 7483 (102%) | 29.2MiB/s (102%) |\n"
        )
    };
    assert_eq!((wrong(&table("83%")).len(), found(&table("93%"), "T1").len()), (0, 1));
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
}

/// A table of changes, of which the last cells are given.
fn changes(rows: &[[&str; 4]]) -> Vec<String> {
    let head = "| name | old | new | delta |\n|---|---|---|---|\n| a | 1000 | 750 | -25.00% |\n| b | 2000 | 1000 | -50.00% |\n| c | 4000 | 1000 | -75.00% |\n";
    let rows = rows.iter().map(|row| format!("| {} |\n", row.join(" | ")));
    let told = crate::rule::testing::findings(&(head.to_owned() + &rows.collect::<String>()));
    told.into_iter().map(|one| format!("{} {}", one.rule, one.printed)).collect()
}

#[test]
fn what_may_have_been_cut_off_is_no_wrong_ratio() {
    let told = |ratio| changes(&[["d", "439", "76", ratio]]);
    assert!(!told("-82.55%").contains(&"T1 -82.55%".to_owned()), "76.6 was cut off");
    assert!(told("-82.15%").contains(&"T1 -82.15%".to_owned()));
    let told = |ratio| changes(&[["d", "2150", "1502", "-30.1%"], ["e", "8000", "1346", ratio]]);
    assert!(told("-83.1%").contains(&"N4 -83.1%".to_owned()), "-83.175 rounds to -83.2");
    assert!(!told("-83.2%").contains(&"N4 -83.2%".to_owned()));
}

#[test]
fn a_row_of_means_has_the_mean_of_the_ratios() {
    let told = |label: &str| {
        wrong(&format!(
            "| pod | IOPS | stdev | stdev/IOPS % |\n|---|---|---|---|\n| a | 1000 | 100 | 10.0 |\n| b | 2000 | 100 | 5.0 |\n| c | 4000 | 400 | 10.0 |\n| d | 1000 | 150 | 15.0 |\n| {label} | 8000 | 187.5 | 10.0 |\n"
        ))
        .len()
    };
    assert_eq!([told("TOTAL / AVG"), told("e")], [0, 1]);
}

/// What is wrong in a table of a host and its guest under a head of ratios, with its slip.
fn compared(head: &str, unit: &str, vm: &str, ratios: [&str; 3]) -> (String, Option<Slip>) {
    let row = |(host, vm, ratio)| format!("| case {host} | {host} | {vm} | {ratio} |\n");
    let rows = [("8,412", "6,530", ratios[0]), ("184,200", vm, ratios[1]), ("151,300", "98,700", ratios[2])]
        .map(row);
    let page = format!("| load | host {unit} | VM {unit} | {head} |\n|---|---|---|---|\n{}", rows.concat());
    let told =
        crate::rule::testing::findings(&page).into_iter().find(|one| one.severity <= Severity::WrongFigure);
    told.map_or_else(Default::default, |one| (format!("{} {}", one.rule, one.recomputed), one.slip))
}

#[test]
fn ratios_that_are_printed_as_plain_numbers_are_what_their_operands_give() {
    let page = |head: &str, cells: [&str; 4]| {
        let [a, b, c, d] = cells;
        wrong(&format!(
            "| load | host IOPS | VM IOPS | {head} |\n|---|---|---|---|\n| a | 8,412 | 6,530 | {a} |\n| b | 62,310 | 44,120 | {b} |\n\
             | c | 184,200 | 121,600 | {c} |\n| d | 10,230 | 7,710 | {d} |\n"
        ))
    };
    for head in ["VM/host", "VM / host", "ratio", "Faktor", "во сколько раз"] {
        assert_eq!(page(head, ["0.776", "0.708", "0.660", "0.754"]), [""; 0], "{head}");
        assert_eq!(page(head, ["0.776", "0.708", "0.606", "0.754"]), ["T1 0.606 -> 0.660"], "{head}");
    }
    assert_eq!(page("speedup", ["1.29", "1.41", "1.15", "1.33"]), ["T1 1.15 -> 1.51"]);
    // Of something else, or two that do not fit: no ratio of these.
    assert_eq!(page("stdev", ["0.776", "0.708", "0.606", "0.754"]), [""; 0]);
    assert_eq!(page("ratio", ["0.776", "0.708", "0.606", "0.745"]), [""; 0]);
    assert_eq!(page("scale factor", ["1", "1", "3", "1"]), [""; 0]);
}

#[test]
fn the_likely_slip_is_told() {
    const VM: &str = "121,600";
    let (tens, thousand, base) = (Some(Slip::FactorTen), Some(Slip::ThousandFor1024), Some(Slip::WrongBase));
    for (head, unit, vm, ratios, told) in [
        ("loss (host-VM)/host", "IOPS", VM, ["22.4 %", "51.5 %", "34.8 %"], ("T1 34.0 %", base)),
        ("VM/host", "IOPS", VM, ["77.6 %", "151.5 %", "65.2 %"], ("T1 66.0 %", base)),
        ("VM/host", "IOPS", VM, ["0.776", "1.515", "0.652"], ("T1 0.660", base)),
        ("VM/host", "IOPS", VM, ["77.6 %", "61.5 %", "65.2 %"], ("T1 66.0 %", None)),
        // Only bytes have two bases.
        ("VM/host", "IOPS", VM, ["77.6 %", "69.2 %", "65.2 %"], ("T1 66.0 %", None)),
        ("VM/host", "MB/s", VM, ["77.6 %", "69.2 %", "65.2 %"], ("N7 66.0 %", thousand)),
        // The ratio, or an operand that is in line with it.
        ("VM/host", "IOPS", VM, ["77.6 %", "6.60 %", "65.2 %"], ("N6 66.02 %", tens)),
        ("VM/host", "IOPS", "1,216,000", ["77.6 %", "66.0 %", "65.2 %"], ("N6 ", tens)),
        ("VM/host", "IOPS", "12,160", ["77.6 %", "66.0 %", "65.2 %"], ("N6 ", tens)),
        ("loss (host-VM)/host", "IOPS", "1,216,000", ["22.4 %", "34.0 %", "34.8 %"], ("N6 ", tens)),
    ] {
        assert_eq!(compared(head, unit, vm, ratios), (told.0.to_owned(), told.1), "{head} {ratios:?}");
    }
}

#[test]
fn a_latency_whose_ratio_is_turned_round_among_others_is_no_slip() {
    let page = |label: &str, latency: &str| {
        wrong(&format!(
            "| metric | host | VM | VM/host |\n|---|---|---|---|\n| read IOPS | 8412 | 6530 | 77.6 % |\n| write IOPS | 184200 | 121600 | 66.0 % |\n\
             | mixed IOPS | 151300 | 98700 | 65.2 % |\n| {label} | 391 | 305 | {latency} |\n"
        ))
    };
    assert_eq!(page("p99 latency, us", "128 %"), [""; 0]);
    assert_eq!(page("p99 latency, us", "182 %"), ["T1 182 % -> 78 %"]);
    assert_eq!(page("trim IOPS", "128 %"), ["T1 128 % -> 78 %"]);
}

#[test]
fn a_share_of_what_stands_behind_it_is_of_no_line_above() {
    let page = "```\nDuration: 30.12s, Total samples = 32.06s (106.44%)\nShowing nodes accounting for 30.57s, 95.35% of 32.06s total\n```\n";
    assert_eq!(wrong(page), [""; 0]);
}

#[test]
fn a_list_of_two_is_held_against_its_leader() {
    let page = |second: &str| {
        format!(
            "1. One: 10,694 TPS\n2. Two: 9,374 TPS (-12% vs leader)\n3. Three: 8,345 TPS ({second} vs leader)\n"
        )
    };
    assert_eq!(wrong(&page("-22%")), [""; 0]);
    assert_eq!(wrong(&page("-92%")).len(), 1);
}
