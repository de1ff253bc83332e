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
