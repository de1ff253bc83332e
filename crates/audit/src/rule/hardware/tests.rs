//! Each rule on pages made up here: it finds, and it stays silent.

use crate::finding::Severity::{self, Ambiguous, WrongConclusion, WrongFigure};
use crate::rule::testing::{findings, found};

/// fio's output of one direction.
fn fio(rw: &str, bs: &str, [iodepth, jobs]: [u32; 2], rates: &str, lat: &str) -> String {
    let way = if rw.ends_with("write") { "write" } else { " read" };
    format!(
        "\na: (g=0): rw={rw}, bs=(R) {bs}-{bs}, (W) {bs}-{bs}, (T) {bs}-{bs}, ioengine=libaio, iodepth={iodepth}\n...\nfio-3.33\n\
         Starting {jobs} processes\na: (groupid=0, jobs={jobs}): err= 0: pid=11: Tue Mar  5 10:00:00 2024\n  {way}: {rates}(9GiB/60002msec)\n\
         \x20    lat (usec): min=9, max=9999, avg={lat}, stdev= 9.00\n\n"
    )
}

fn sequential(rates: &str) -> String {
    fio("read", "128KiB", [32, 1], rates, "99.00")
}

fn random(rates: &str) -> String {
    fio("randread", "4096B", [16, 1], rates, "99.00")
}

#[track_caller]
fn one(page: &str, rule: &str, severity: Severity, words: &str) {
    let found = found(page, rule);
    assert_eq!(found.len(), 1, "{page}\n{:#?}", findings(page));
    assert_eq!(found[0].severity, severity, "{page}");
    assert!(found[0].message.contains(words), "{} has no {words}", found[0].message);
}

#[track_caller]
fn silent(rule: &str, page: &str) {
    assert_eq!(found(page, rule), [], "{page}");
}

#[test]
fn nothing_crosses_a_link_that_cannot_carry_it() {
    let direct = "The drive sits behind PCIe 3.0 x4, with direct=1.\n";
    let fast = sequential("IOPS=38.0k, BW=4750MiB/s (4981MB/s)");
    let sound = sequential("IOPS=27.5k, BW=3437MiB/s (3604MB/s)");
    one(&format!("{direct}{fast}"), "P1", WrongFigure, "4981 MB/s cannot have crossed PCIe 3.0 x4");
    one(&format!("{}{fast}", direct.replace("direct=1", "care")), "P1", Ambiguous, "a cache answered");
    one(&format!("{direct}In a VM:\n{fast}"), "P1", Ambiguous, "a cache answered");
    let negotiated = "LnkSta: Speed 8GT/s, Width x4\nA PCIe 4.0 x4 drive.\n\nfio --rw=read --direct=1\n\n";
    one(&format!("{negotiated}{fast}"), "P1", WrongFigure, "PCIe 3.0 x4");
    silent("P1", &format!("{direct}{sound}"));
    silent("P1", &fast);
    silent("P1", &format!("A PCIe 4.0 x4 drive, PCIe 3.0 x4 before.\n{fast}"));
    silent("P1", &format!("{direct}RAID0 of all of them:\n{fast}"));
    silent("P1", &format!("{direct}4x Samsung 980 PRO 1TB\n{fast}"));
    silent("P1", &format!("PCIe 3.0\n{fast}"));
    silent("P1", &format!("NVMe against SATA III\n{fast}"));
}

#[test]
fn networks_carry_so_much_one_way() {
    let table = |system: &str, load: &str, rate: &str| {
        format!("\n| {system} | MB/s |\n|---|---|\n| {load} | {rate} MB/s |\n| 8k read | 99.5 MB/s |\n")
    };
    let mixed = table("iSER", "64k-75rdpct-80randompct", "5826");
    one(&format!("40GbE\n{mixed}"), "P1", Ambiguous, "the busier way has 4370 MB/s and is 87 % of the link");
    let read = table("iSCSI", "1m read", "2400");
    one(&format!("10GbE\n{read}"), "P1", Ambiguous, "a cache answered, or another link or several");
    silent("P1", &format!("100GbE\n{mixed}"));
    silent("P1", &format!("40GbE, bonded\n{mixed}"));
    silent("P1", &format!("2x40GbE network\n{mixed}"));
    silent("P1", &format!("10GbE\n{}", read.replace("iSCSI", "local")));
}

#[test]
fn a_limit_that_is_exceeded_is_none() {
    let limit = "The PCIe 3.0 x4 interface carries at most about 3500 MB/s.\n";
    let above = sequential("IOPS=27.5k, BW=3437MiB/s (3604MB/s)");
    one(&format!("{limit}{above}"), "P2", Ambiguous, "has 3604 MB/s");
    let network = "We round down to 34 Gbits/sec (or 4.25 Gbytes/s).\n";
    let table = "\n| iSER | MB/s |\n|---|---|\n| 4M write | 4593.00 MB/s |\n| 8k write | 99.50 MB/s |\n";
    one(&format!("{network}{table}"), "P2", Ambiguous, "4593 MB/s");
    silent("P2", &format!("{limit}{}", sequential("IOPS=27.0k, BW=3380MiB/s (3544MB/s)")));
    silent("P2", &format!("{limit}A stripe of two.\n{above}"));
    silent("P2", &format!("{network}{}", table.replace("iSER", "local disk")));
    silent("P2", &format!("The SSD reads up to 3500 MB/s over its PCIe 3.0 x4 interface.\n{above}"));
    silent("P2", &format!("We measured at most 3500 MB/s over the PCIe 3.0 x4 interface.\n{above}"));
}

#[test]
fn a_ceiling_is_not_compared_with_itself() {
    let table = |guest: &str, host: &str| {
        format!(
            "\n| load | guest | host |\n|---|---|---|\n| 128k sequential read | {guest} MB/s | {host} MB/s |\n\
             | 4k random write | 301.5 MB/s | 402.5 MB/s |\n\nSequential reads reach 99 % in the guest.\n"
        )
    };
    let link = "Behind PCIe 3.0 x4.\n";
    one(&format!("{link}{}", table("3559", "3604")), "P4", Ambiguous, "98.8 %");
    let runs = ["IOPS=27.1k, BW=3394MiB/s (3559MB/s)", "IOPS=27.5k, BW=3437MiB/s (3604MB/s)"].map(sequential);
    one(&format!("{link}{}", runs.concat()), "P4", Ambiguous, "compares the ceiling with itself");
    let fabric = |name: &str| {
        format!(
            "\n| {name} iSER | MB/s |\n|---|---|\n| 4M sequential read qd=32 | 4218.22 MB/s |\n| 4k read | 99.50 MB/s |\n"
        )
    };
    let both = format!("34 Gbits/sec (or 4.25 Gbytes/s)\n{}{}", fabric("LVM"), fabric("md"));
    one(&both, "P4", Ambiguous, "34 Gbits/sec");
    silent("P4", &table("3559", "3604"));
    silent("P4", &format!("{link}{}", table("3300", "3604")));
    silent("P4", &format!("{link}{}", table("1559", "1560")));
    silent("P4", &both.replace("4.25 Gb", "5.25 Gb"));
}

#[test]
fn drives_are_not_far_above_their_rating() {
    let table = |how: &str| {
        format!(
            "\n| PM9A3 (0369) | {how} |\n|---|---|\n| 4k random write qd=128 | 2807.00 MB/s |\n| 4k random read | 3000.00 MB/s |\n"
        )
    };
    let drives = "6xPM9A3 1.92TB\n";
    let words =
        "685k a second of 4k random writes is above what the Samsung PM9A3 is rated at (130k a second)";
    one(&format!("{drives}{}", table("bare")), "P5", Ambiguous, words);
    one(&format!("{drives}{}", table("steady state")), "P5", WrongConclusion, "fresh drive");
    one(&table("bare"), "P5", Ambiguous, "(200k a second)");
    let fast = random("IOPS=1300k, BW=5078MiB/s (5325MB/s)");
    one(&format!("A Samsung 980 PRO\n{fast}"), "P5", Ambiguous, "1.30M a second");
    silent("P5", &format!("A Samsung 980 PRO\n{}", random("IOPS=1050k, BW=4101MiB/s (4301MB/s)")));
    silent("P5", &format!("A Samsung 980 PRO and a Kingston NV2\n{fast}"));
    silent("P5", &format!("2x Samsung 980 PRO\n{fast}"));
    silent("P5", &format!("A Samsung 980 PRO\nwith cache=writeback:\n{fast}"));
    silent("P5", &format!("A Samsung 980 PRO, in a RAID1\n{fast}"));
    silent("P5", &table("rated"));
}

#[test]
fn hard_disks_have_few_random_ios() {
    let fast = random("IOPS=28.7k, BW=112MiB/s (118MB/s)");
    let listed = |iops: &str| format!("12x Seagate Exos X16 16TB\n{}", random(iops));
    one(&format!("Disks: HDD, RAID10\n{fast}"), "P8", Ambiguous, "it takes 145 disks");
    one(&listed("IOPS=28.7k, BW=112MiB/s (118MB/s)"), "P8", WrongConclusion, "12 disks have");
    one(&listed("IOPS=5000, BW=19.5MiB/s (20.5MB/s)"), "P8", Ambiguous, "12 disks have");
    silent("P8", &format!("Disks: HDD, RAID10\n{}", random("IOPS=2000, BW=7.8MiB/s (8.2MB/s)")));
    silent("P8", &format!("Disks: HDD with an SSD in front\n{fast}"));
    silent("P8", &format!("Much faster than an HDD would be.\n{fast}"));
    silent("P8", &format!("4k随机读: 14200，hdd是130，约109倍\n{fast}"));
    silent("P8", &fast);
    silent("P8", &listed("IOPS=2400, BW=9.4MiB/s (9.8MB/s)"));
}

#[test]
fn capacity_takes_enough_in_flight() {
    let run = |depth, lat| fio("randread", "4096B", [depth, 4], "IOPS=26.0k, BW=102MiB/s (107MB/s)", lat);
    let drive = "A Samsung 980 PRO under ESXi.\n";
    let loss = "After virtualisation reads have a loss of 21.5 %.\n";
    one(&format!("{drive}{}{loss}", run(1, "118.00")), "P14", Ambiguous, "with 4 I/Os in flight");
    silent("P14", &format!("{drive}{}", run(1, "118.00")));
    silent("P14", &format!("{drive}{}{loss}", run(32, "118.00")));
    silent("P14", &format!("{drive}{}After it reads have a latency loss of 21.5 %.\n", run(1, "118.00")));
    silent("P14", &format!("Some drive.\n{}{loss}", run(1, "118.00")));
    silent("P14", &format!("{drive}{}{}{loss}", run(1, "118.00"), run(64, "300.00")));
}
