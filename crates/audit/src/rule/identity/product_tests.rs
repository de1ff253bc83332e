use crate::finding::Slip;
use crate::prose::size_of;
use crate::rule::testing::{found, wrong};

fn table(unit: &str, rows: &[(&str, &str, &str)]) -> String {
    let row = |(label, bandwidth, iops): &(&str, &str, &str)| {
        format!("{label} | {bandwidth} {unit} | {iops} |\n")
    };
    format!("LVM | {unit} | IOPS |\n{}", rows.iter().map(row).collect::<String>())
}

const ROWS: [(&str, &str, &str); 5] = [
    ("4k-50rdpct", "514.27", "131652.90"),
    ("8k-75rdpct", "957.10", "122509.10"),
    ("64k-75rdpct", "3710.36", "59365.80"),
    ("4k-0rdpct", "535.9", "137192.80"),
    ("4k-100rdpct", "505.42", "129386.40"),
];

#[test]
fn numbers_of_1024_under_a_label_of_1000_are_told_once() {
    assert_eq!(wrong(&table("MiB/s", &ROWS)), [""; 0]);
    let told = found(&table("МБ/с", &ROWS), "N8");
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].slip, Some(Slip::ThousandFor1024));
    assert!(told[0].message.contains("5 of 5 rows"), "{}", told[0].message);
}

#[test]
fn a_bandwidth_is_of_one_rate_only() {
    // Under heads that do not tell which way it is, the second figure is not held against the
    // third.
    let page = "bs=1M | IOPS | BW | IOPS | BW |\n1M | 1089 | 1142 MB/s | 957 | 1003 MB/s |\n1M | 797 | 836 MB/s | 702 | 736 MB/s |\n";
    assert_eq!(wrong(page), [""; 0]);
}

#[test]
fn a_row_that_does_not_agree_is_found() {
    let mut rows = ROWS;
    rows[2].1 = "3170.36";
    assert_eq!(wrong(&table("MiB/s", &rows)), ["F4 3170.36 MiB/s -> 3710.36 MiB/s"]);
    rows[2].1 = "371.036";
    assert_eq!(found(&table("MiB/s", &rows), "F4")[0].slip, Some(Slip::FactorTen));
}

#[test]
fn a_row_of_the_other_base_is_told_with_its_unit_and_one_reason() {
    let page = "\
| block size | IOPS | bandwidth (MiB/s) |
|---|---|---|
| 4k | 184200 | 754.5 |
| 8k | 120500 | 941.4 |
| 64k | 31200 | 1950 |
";
    let told = found(page, "F4");
    assert_eq!(
        told.iter().map(|one| one.message.as_str()).collect::<Vec<_>>(),
        [
            "754.5 MiB/s is not what 184200 * 4096 B gives, 719.5 MiB/s: 1000 was taken for 1024, or the other way"
        ]
    );
}

#[test]
fn a_rate_that_lost_its_carry_is_told_by_its_bandwidth() {
    let page = "\
| | 4KB read | 4KB read | 4KB write | 4KB write |
| | IOPS | Throughput | IOPS | Throughput |
|---|---|---|---|---|
| none | 12.4k | 48.5MiB/s | 8360 | 32.7MiB/s |
| writeback | 13.0k | 54.5MiB/s | 8976 | 35.1MiB/s |
";
    assert_eq!(wrong(page), ["N3 13.0k -> 14.0k"]);
}

#[test]
fn columns_of_different_loads_are_no_pair() {
    let page = "\
| | 4KB read IOPS | 4KB write Throughput |
|---|---|---|
| a | 12.4k | 8.5MiB/s |
| b | 13.0k | 4.5MiB/s |
";
    assert_eq!(wrong(page), [""; 0]);
}

#[test]
fn sizes_are_read_of_labels() {
    for (text, size) in [
        ("4KB random read", Some(4096.0)),
        ("4k-50rdpct-80randompct", Some(4096.0)),
        ("Sequential 4M qd=32", Some(4_194_304.0)),
        ("1 MiB reads", Some(1_048_576.0)),
        ("4k and 64k", None),
        ("629k", Some(629.0 * 1024.0)),
        ("100 MB/s", None),
        ("qd=32 x 4", None),
        ("4kqd1", Some(4096.0)),
        ("4KQ32T1", Some(4096.0)),
        ("2048kHz", None),
    ] {
        assert_eq!(size_of(text), size, "{text}");
    }
}

#[test]
fn the_unit_of_the_head_is_named() {
    let page = "\
| block | IOPS | Bandwidth (KB/s) |
|---|---|---|
| 4k | 26000 | 104000 |
| 4k | 25000 | 100000 |
";
    let found = crate::rule::testing::found(page, "N8");
    assert!(found[0].message.starts_with("the label says KB/s"), "{}", found[0].message);
}

#[test]
fn a_lost_carry_is_told_of_decimal_commas_too() {
    let page = "\
| size | IOPS | МБ/с |
|---|---|---|
| 4k | 82,0k | 339,91 |
| 4k | 70,1k | 287,13 |
| 4k | 60,2k | 246,58 |
";
    assert_eq!(wrong(page), ["N3 82,0k -> 83,0k"]);
}

#[test]
fn a_size_of_mb_gives_mb_as_it_is_written() {
    let page = |size: &str| {
        format!(
            "### Bench ({size} blocks)\n\n| disk | MB/s | IOPS |\n|---|---|---|\n| a | 35.4 | 8.84 |\n| b | 29.3 | 7.32 |\n| c | 27.5 | 6.88 |\n"
        )
    };
    assert_eq!(found(&page("4 MB"), "N8"), []);
    assert_eq!(found(&page("4 MiB"), "N8").len(), 1);
    let mixed = "| 4 KB | IOPS | MB/s |\n|---|---|---|\n| 4 KB read | 26000 | 101.6 |\n| 4 KB write | 25000 | 97.7 |\n";
    assert_eq!(found(mixed, "N8").len(), 1, "KB of 1000 do not give it");
}

#[test]
fn kilobytes_beside_a_size_of_k_are_a_matter_of_writing() {
    let page = |size: &str, unit: &str, rows: [(&str, &str); 3]| {
        let row = |(iops, rate): (&str, &str)| format!("| drive {iops} | {iops} | {rate} |\n");
        format!(
            "| drive | {size} reads IOPS | {size} reads {unit} |\n|---|---|---|\n{}",
            rows.map(row).concat()
        )
    };
    let kilo = [("2611.25", "10445.00"), ("871.50", "3486.00"), ("3120.75", "12483.00")];
    let told = |page: &str| found(page, "N8").first().map(|one| one.severity);
    assert_eq!(told(&page("4K", "KB/s", kilo)), Some(crate::finding::Severity::Cosmetic));
    let mega = [("26112.5", "102.00"), ("87150.0", "340.43"), ("31207.5", "121.90")];
    assert_eq!(told(&page("4K", "MB/s", mega)), Some(crate::finding::Severity::WrongFigure));
}

#[test]
fn three_rows_of_an_unusual_size_tell_it() {
    let page = |third: &str| {
        format!(
            "| run | IOPS | KiB/s |\n|---|---|---|\n| a | 5120 | 51200 |\n| b | 7312 | 73120 |\n| c | 8844 | 88440 |\n| d | 9171 | {third} |\n"
        )
    };
    assert_eq!(wrong(&page("91710")), [""; 0]);
    assert_eq!(wrong(&page("97110")), ["F4 97110 -> 91710"]);
}

#[test]
fn a_line_of_size_rate_and_bandwidth_is_held() {
    for (line, rule) in [
        ("- Random 4KB(QD 1):26.985 MB / s [9588.1 IOPS]", "F4"),
        ("### on raw pmem 4kqd1 145MB/s 30,558 iops 32us", "F4"),
        ("512KB Read: 2893MB/s IOPS=5967\n512KB Write: 3636MB/s IOPS=7272", "F4"),
    ] {
        assert_eq!(found(&format!("{line}\n"), rule).len(), 1, "{line}");
    }
    for line in [
        "- Random 4KB(QD 1):26.985 MB / s [6588.1 IOPS]",
        "Con 4 KiB y 20,000 IOPS son 60 MiB/s.\nCon 1 MiB y 2,000 IOPS son 2 GiB/s.",
        "Avec 4 KiB et 20 000 IOPS, ça fait 50 MiB/s.",
        "Avec 4 KiB et 20 000 IOPS, ça fait 78 MiB/s.",
        "4k random, iodepth 64\n- 21.5 MiB/s read (~5.5k IOPS), 9.2 MiB/s write (~2.36k IOPS)",
        "4k random, iodepth 64\n- 21.5 MiB/s read (~5.5k IOPS), 9.2 MiB/s write (~2.66k IOPS)",
        "4k random, iodepth 64\n- 30 MiB/s read (~5.5k IOPS), 9.2 MiB/s write (~2.66k IOPS)",
    ] {
        assert_eq!(found(&format!("{line}\n"), "F4"), [], "{line}");
    }
}

#[test]
fn parts_of_a_log_tell_a_size_together() {
    let line = |(rate, bandwidth): (&str, &str)| {
        format!("Dur(s): 1.0, Mode: GET, MB/s: {bandwidth}, IO/s: {rate}\n")
    };
    let part = |lines: [(&str, &str); 3]| lines.map(line).concat() + "\nNext\n\n";
    let page = |bandwidth: &str| {
        part([("1286", "12.56"), ("1339", "13.08"), ("720", "7.03")])
            + &part([("677", "6.61"), ("629", bandwidth), ("504", "4.92")])
    };
    assert_eq!(found(&page("6.14"), "F4"), []);
    assert_eq!(found(&page("9.14"), "F4").len(), 1);
}
