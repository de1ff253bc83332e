//! Each rule on pages made up here: it finds, and it stays silent.

use super::fixture::{findings, ids};
use crate::finding::Severity;

fn silent(pages: &[&str]) {
    for page in pages {
        let found = findings(page);
        assert!(found.is_empty(), "{page}\n{found:#?}");
    }
}

fn one(page: &str, rule: &str, severity: Severity, words: &str) {
    let found = findings(page);
    assert_eq!(ids(&found), [rule], "{page}\n{found:#?}");
    assert_eq!(found[0].severity, severity, "{page}");
    assert!(found[0].message.contains(words), "{} has no {words}", found[0].message);
}

#[test]
fn nothing_crosses_a_link_that_cannot_carry_it() {
    let direct = "The drive sits behind PCIe 3.0 x4.\nfio --rw=read --bs=128k --direct=1\n";
    let fast = "fio: rw=read bs=131072 iodepth=32 numjobs=1 iops=38.0k bw=4750MiB/s\n";
    one(&format!("{direct}{fast}"), "P1", Severity::WrongFigure, "4981 MB/s cannot have crossed PCIe 3.0 x4");
    one(
        "SATA III disk\nfio --rw=read --direct=1\nfio: rw=read bs=131072 iops=6000 bw=750MiB/s\n",
        "P1",
        Severity::WrongFigure,
        "SATA 6 Gb/s",
    );
    one(
        &format!("The drive sits behind PCIe 3.0 x4.\n{fast}"),
        "P1",
        Severity::Ambiguous,
        "a cache answered",
    );
    one(&format!("{direct}In a VM:\n{fast}"), "P1", Severity::Ambiguous, "a cache answered");
    one(
        &format!("LnkSta: Speed 8GT/s, Width x4\nA PCIe 4.0 x4 drive.\nfio --rw=read --direct=1\n{fast}"),
        "P1",
        Severity::WrongFigure,
        "PCIe 3.0 x4",
    );
    let sound = "fio: rw=read bs=131072 iodepth=32 numjobs=1 iops=27.5k bw=3437MiB/s\n";
    silent(&[
        &format!("{direct}{sound}"),
        fast,
        &format!("A PCIe 4.0 x4 drive, PCIe 3.0 x4 before.\n{fast}"),
        &format!("{direct}RAID0 of all of them:\n{fast}"),
        &format!("{direct}4x Samsung 980 PRO 1TB\n{fast}"),
        &format!("PCIe 3.0\n{fast}"),
        &format!("A network of 1GbE\n{fast}"),
        &format!("NVMe against SATA III\n{fast}"),
    ]);
}

#[test]
fn networks_carry_so_much_one_way() {
    let table = "iSER | MB/s\n64k-75rdpct-80randompct | 5826 MB/s\n";
    one(
        &format!("40GbE\n{table}"),
        "P1",
        Severity::Ambiguous,
        "the busier way has 4370 MB/s and is 87 % of the link",
    );
    one(
        "10GbE\niSCSI | MB/s\n1m read | 2400 MB/s\n",
        "P1",
        Severity::Ambiguous,
        "a cache answered, or several links",
    );
    silent(&[
        &format!("100GbE\n{table}"),
        &format!("40GbE, bonded\n{table}"),
        &format!("2x40GbE network\n{table}"),
        "10GbE\nlocal | MB/s\n1m read | 2400 MB/s\n",
        "10GbE\niSCSI | MB/s\n1m read | 1150 MB/s\n",
    ]);
}

#[test]
fn no_one_device_is_above_all_links() {
    one(
        "fio: rw=read bs=4096 iops=20000k bw=78125MiB/s\n",
        "P1",
        Severity::Ambiguous,
        "more than any one device",
    );
    silent(&[
        "from the page cache\nfio: rw=read bs=4096 iops=20000k bw=78125MiB/s\n",
        "24 drives in a RAID\nfio: rw=read bs=4096 iops=20000k bw=78125MiB/s\n",
        "fio: rw=read bs=4096 iops=10000k bw=39062MiB/s\n",
    ]);
}

#[test]
fn a_limit_that_is_exceeded_is_none() {
    let limit = "The PCIe 3.0 x4 interface carries at most about 3500 MB/s.\n";
    let above = "fio: rw=read bs=131072 iops=27.5k bw=3437MiB/s\n";
    one(&format!("{limit}{above}"), "P2", Severity::Ambiguous, "line 2 has 3604 MB/s");
    let network = "We round down to 34 Gbits/sec (or 4.25 Gbytes/s).\n";
    one(&format!("{network}iSER | MB/s\n4M write | 4593.00 MB/s\n"), "P2", Severity::Ambiguous, "4593 MB/s");
    silent(&[
        &format!("{limit}fio: rw=read bs=131072 iops=27.0k bw=3380MiB/s\n"),
        &format!("{limit}A stripe of two.\n{above}"),
        &format!("{network}local disk | MB/s\n4M write | 4593.00 MB/s\n"),
        &format!("The SSD reads up to 3500 MB/s over its PCIe 4.0 x4 interface.\n{above}"),
    ]);
}

#[test]
fn a_cause_must_be_full() {
    let link = "Behind PCIe 3.0 x4.\nSequential and random reads are limited by the PCIe 3.0 x4 interface.\n";
    let sequential = "fio: rw=read bs=131072 iops=27.5k bw=3437MiB/s\n";
    let random = "fio: rw=randread bs=4096 iodepth=32 numjobs=4 iops=765k bw=2988MiB/s\n";
    one(
        &format!("{link}{sequential}{random}"),
        "P3",
        Severity::WrongConclusion,
        "random reads at 3133 MB/s are 87 % of 3604 MB/s",
    );
    silent(&[
        &format!("{link}{sequential}"),
        &format!("Behind PCIe 3.0 x4.\nRandom reads are limited by the CPU.\n{sequential}{random}"),
        &format!("Reads are limited by the PCIe 3.0 x4 interface.\nA PCIe 4.0 x4 drive.\n{random}"),
        &format!("{link}fio: rw=randread bs=4096 iops=860k bw=3360MiB/s\n"),
    ]);
}

#[test]
fn a_ceiling_is_not_compared_with_itself() {
    let link = "Behind PCIe 3.0 x4.\n";
    let table = "load | guest | host\n128k sequential read | 3559 MB/s | 3604 MB/s\n";
    one(&format!("{link}{table}"), "P4", Severity::Ambiguous, "98.8 %");
    one(
        &format!("{link}{table}\nSequential reads reach 99 % in the guest.\n"),
        "P4",
        Severity::WrongConclusion,
        "PCIe 3.0 x4",
    );
    let outputs = "guest\nfio: rw=read bs=131072 iops=27.1k bw=3394MiB/s\nhost\nfio: rw=read bs=131072 iops=27.5k bw=3437MiB/s\n";
    one(&format!("{link}{outputs}"), "P4", Severity::Ambiguous, "compares the ceiling with itself");
    let fabric = "40GbE\nLVM iSER | MB/s\n4M sequential read qd=32 | 4618.22 MB/s\n\nmd iSER | MB/s\n4M sequential read qd=32 | 4600.33 MB/s\n";
    one(fabric, "P4", Severity::Ambiguous, "40GbE");
    silent(&[
        table,
        &format!("{link}load | guest | host\n128k sequential read | 3300 MB/s | 3604 MB/s\n"),
        &format!("{link}load | guest | host\n128k sequential read | 1559 MB/s | 1560 MB/s\n"),
        &format!("{link}load | guest | host\n4k random read | 3559 MB/s\n128k sequential read | 3604 MB/s\n"),
        &fabric.replace("40GbE", "40GbE and 10GbE"),
    ]);
}

#[test]
fn drives_are_not_far_above_their_rating() {
    let table = "PM9A3 (0369) | bare\n4k random write qd=128 jobs=16 | 2807.00 MB/s\n4k random read qd=128 | 3000 MB/s\n";
    one(
        &format!("6xPM9A3 1.92TB\n{table}"),
        "P5",
        Severity::Ambiguous,
        "685k a second of 4k random writes is above what the Samsung PM9A3 is rated at (130k a second)",
    );
    let sustained = table.replace("bare", "steady state");
    one(&format!("6xPM9A3 1.92TB\n{sustained}"), "P5", Severity::WrongConclusion, "fresh drive");
    one(
        "A Samsung 980 PRO\nfio: rw=randread bs=4096 iops=1300k bw=5078MiB/s\n",
        "P5",
        Severity::Ambiguous,
        "1.30M a second",
    );
    one(
        "A Samsung 970 EVO Plus\nfio: rw=read bs=131072 iops=34.0k bw=4250MiB/s\n",
        "P5",
        Severity::Ambiguous,
        "sequential reads",
    );
    one(table, "P5", Severity::Ambiguous, "(200k a second)");
    silent(&[
        "A Samsung 980 PRO\nfio: rw=randread bs=4096 iops=1050k bw=4101MiB/s\n",
        "A Samsung 980 PRO and a Kingston NV2\nfio: rw=randread bs=4096 iops=1300k bw=5078MiB/s\n",
        "A Samsung 980 PRO, a Samsung 990 PRO\nfio: rw=randread bs=4096 iops=1300k bw=5078MiB/s\n",
        "2x Samsung 980 PRO\nfio: rw=randread bs=4096 iops=1300k bw=5078MiB/s\n",
        "A Samsung 980 PRO\nwith cache=writeback:\nfio: rw=randread bs=4096 iops=1300k bw=5078MiB/s\n",
        "A Samsung 980 PRO, in a RAID1\nfio: rw=randread bs=4096 iops=1300k bw=5078MiB/s\n",
        "A Samsung 980 PRO\nfio: rw=randread bs=512 iops=1300k bw=635MiB/s\n",
        "980 PRO | rated\n4k random read | 2000k IOPS\n",
    ]);
}

#[test]
fn reads_take_the_time_of_their_medium() {
    let table = "PM9A3 | bare\n4k random read qd=1 fsync=1 | 98.25 MB/s\n";
    one(
        table,
        "P6",
        Severity::Ambiguous,
        "41 us, one at a time, are not from the TLC of the Samsung PM9A3 (50 us",
    );
    one(
        "An Intel DC P4510 1TB\nfio: rw=randread bs=4096 iodepth=1 numjobs=4 iops=200k bw=781MiB/s lat=20.0us\n",
        "P6",
        Severity::Ambiguous,
        "20 us",
    );
    silent(&[
        &table.replace("qd=1 ", "qd=2 "),
        &table.replace("98.25", "60.25"),
        &table.replace("PM9A3", "990 PRO"),
        &table.replace("PM9A3", "some drive"),
        &table.replace("qd=1", "qd=1 jobs=4"),
        "An Intel DC P4510 1TB\nfio: rw=randread bs=4096 iodepth=1 numjobs=4 iops=48k bw=187MiB/s lat=82.0us\n",
        "An Intel Optane P4800X 375GB\nfio: rw=randread bs=4096 iodepth=1 numjobs=1 iops=90k bw=351MiB/s lat=11.0us\n",
    ]);
}

#[test]
fn guests_are_not_faster_than_what_is_beneath() {
    let table = |guest: &str| {
        format!(
            "load | physical host | VM\n4k random read | 195 IOPS | {guest}\n1m read | 1056MiB/s | 980MiB/s\n"
        )
    };
    one(
        &table("13.0k IOPS"),
        "P7",
        Severity::WrongConclusion,
        "66.7 times the 195 I/Os a second of the host",
    );
    one(&table("245 IOPS"), "P7", Severity::Ambiguous, "1.3 times");
    let rows = "system | 4k random read IOPS | 4k random write IOPS\n物理机 | 195 | 7349\n虚拟机 (cache=writeback) | 28.7k | 12.2k\n";
    one(rows, "P7", Severity::WrongConclusion, "28.7k I/Os");
    silent(&[
        &table("205 IOPS"),
        "load | host A | host B | VM\n4k random read | 195 IOPS | 200 IOPS | 900 IOPS\n",
        "score | physical host | VM\nDhrystone | 195 MB/s | 900 MB/s\n",
        "load | old drive | new drive\n4k random read | 195 IOPS | 900 IOPS\n",
    ]);
}

#[test]
fn hard_disks_have_few_random_ios() {
    let random = "fio: rw=randread bs=4096 iodepth=16 numjobs=1 iops=28.7k bw=112MiB/s\n";
    one(&format!("Disks: HDD, RAID10\n{random}"), "P8", Severity::WrongConclusion, "it takes 145 disks");
    one(&format!("12x Seagate Exos X16 16TB\n{random}"), "P8", Severity::WrongConclusion, "12 disks have");
    one(
        "12x Seagate Exos X16 16TB\nfio: rw=randread bs=4096 iops=5000 bw=19.5MiB/s\n",
        "P8",
        Severity::Ambiguous,
        "12 disks have",
    );
    silent(&[
        "Disks: HDD, RAID10\nfio: rw=randread bs=4096 iodepth=16 numjobs=1 iops=2000 bw=7.8MiB/s\n",
        &format!("Disks: HDD with an SSD in front\n{random}"),
        &format!("NVMe first, HDD: later\n{random}"),
        &format!("Much faster than an HDD would be.\n{random}"),
        &format!("Here 14200 IOPS, an HDD has 130: 109 times as many\n{random}"),
        &format!("4k随机读: 14200，hdd是130，约109倍\n{random}"),
        random,
        "12x Seagate Exos X16 16TB\nfio: rw=read bs=4096 iops=60k bw=234MiB/s\n",
        "12x Seagate Exos X16 16TB\nfio: rw=randread bs=4096 iops=2400 bw=9.4MiB/s\n",
    ]);
}

#[test]
fn rates_that_no_load_changes_are_those_of_the_path() {
    let table = |name: &str| {
        format!(
            "{name} - iSER | IOPS\n4k-50rdpct-80randompct | 131652.90\n8k-75rdpct-80randompct | 122509.10\n4k-0rdpct-100randompct | \
             137192.80\n4k-100rdpct-100randompct | 129386.40\n"
        )
    };
    let drives = "Drives: 6xPM9A3 1.92TB\n";
    one(
        &format!("{drives}{}", table("LVM")),
        "P10",
        Severity::Ambiguous,
        "6 drives are rated at 5.10M reads",
    );
    one(
        &format!("{drives}{}\n{}", table("LVM"), table("mdadm")),
        "P10",
        Severity::WrongConclusion,
        "123k to 137k",
    );
    silent(&[
        &table("LVM"),
        &format!("{drives}{}", table("LVM").replace("137192.80", "237192.80")),
        &format!("{drives}{}", table("LVM").replace("8k-75", "4k-50")),
        &format!("Drives: 4x Intel S3700 400GB\n{}", table("LVM")),
    ]);
}

#[test]
fn capacity_takes_enough_in_flight() {
    let run = |depth: u32, lat: &str| {
        format!("fio: rw=randread bs=4096 iodepth={depth} numjobs=4 iops=26.0k bw=102MiB/s lat={lat}\n")
    };
    let drive = "A Samsung 980 PRO under ESXi.\n";
    let loss = "After virtualisation reads have a loss of 21.5 %.\n";
    one(
        &format!("{drive}{}{loss}", run(1, "118us")),
        "P14",
        Severity::WrongConclusion,
        "with 4 I/Os in flight",
    );
    silent(&[
        &format!("{drive}{}", run(1, "118us")),
        &format!("{drive}{}{loss}", run(32, "118us")),
        &format!("{drive}{}After virtualisation reads have a latency loss of 21.5 %.\n", run(1, "118us")),
        &format!("Some drive.\n{}{loss}", run(1, "118us")),
        &format!("{drive}{}{}{loss}", run(1, "118us"), run(64, "300us")),
    ]);
    let commands =
        "fio --rw=randread --bs=4k --iodepth=16 --numjobs=1\nfio --rw=read --bs=1m --iodepth=1 --numjobs=1\n";
    one(
        &format!("{commands}The network was not saturated; the bottleneck is the software.\n"),
        "P14",
        Severity::WrongConclusion,
        "one client that waits",
    );
    one(
        &format!("{commands}The drives were not saturated.\n"),
        "P14",
        Severity::Ambiguous,
        "one client that waits",
    );
    silent(&[
        &format!(
            "{}The network was not saturated; the bottleneck is the software.\n",
            commands.replace("--iodepth=1 ", "--iodepth=32 ")
        ),
        &format!("{commands}The network was saturated.\n"),
        "The network was not saturated; the bottleneck is the software.\n",
    ]);
}

#[test]
fn an_io_costs_some_time() {
    let run = |engine: &str, usr: &str| {
        format!(
            "fio: rw=randread bs=4096 iodepth=32 numjobs=1 ioengine={engine} iops=700k bw=2734MiB/s usr={usr} sys=10.00%\n"
        )
    };
    one(&run("libaio", "5.00%"), "P15", Severity::Ambiguous, "0.21 us of CPU time");
    silent(&[
        &run("libaio", "45.00%"),
        &run("io_uring", "5.00%"),
        &run("libaio", "0.00%").replace("10.00", "0.00"),
    ]);
}

#[test]
fn an_empty_page_and_one_of_noise_say_nothing() {
    silent(&["", "\n\n", "PCIe 3.0 x4 980 PRO HDD 10 VMs 8 vCPU limited by 3500 MB/s"]);
}

proptest::proptest! {
    #[test]
    fn no_page_makes_it_panic(text in "(PCIe 3\\.0 x4|40GbE|iSER|980 PRO|6xPM9A3 1\\.92TB|HDD|VM|host|4k randread qd=1|\\||\n|fio: rw=read bs=4096 iops=9k bw=9GiB/s|99 %|MB/s|受限于|16 VMs|8 vCPU|RAID 4\\+1|效率|每个|10 drives|不|[ 0-9a-z.,é]){0,40}") {
        let _ = findings(&text);
    }
}
