use super::*;
use crate::knowledge::ratings::known;

fn of(text: &str) -> Mentions {
    Mentions::of(&Page::new("p", text), &[], &[], known())
}

fn names(text: &str) -> Vec<String> {
    let found = of(text).links;
    found
        .iter()
        .map(|named| match (named.link, named.generation, named.lanes) {
            (Some(link), ..) if named.count > 1 => format!("{} x {}", named.count, link.name()),
            (Some(link), ..) => link.name(),
            (None, Some(generation), _) => format!("gen {generation}"),
            (None, None, Some(lanes)) => format!("x{lanes}"),
            _ => String::new(),
        })
        .collect()
}

#[test]
fn links_are_read_as_people_write_them() {
    for (text, expected) in [
        ("a PCIe 3.0 x4 slot", "PCIe 3.0 x4"),
        ("硬件是PCIe 3.0", "gen 3"),
        ("受限于PCIe3.0接口", "gen 3"),
        ("NVMe™ PCIe® 5.0 SSD", "gen 5"),
        ("PCI Express 4.0 x4", "PCIe 4.0 x4"),
        ("PCIe Gen4 x4, NVMe 1.4", "PCIe 4.0 x4"),
        ("PCIe 4.0x4", "PCIe 4.0 x4"),
        ("PCIe Gen 5 x4", "PCIe 5.0 x4"),
        ("PCI-E 3.0 x8", "PCIe 3.0 x8"),
        ("Gen4x4", "PCIe 4.0 x4"),
        ("PCIEx4转NMVe", "x4"),
        ("\t\tLnkSta:\tSpeed 8GT/s (ok), Width x4 (ok)", "PCIe 3.0 x4"),
        ("LnkSta: Speed 2.5GT/s, Width x2 (downgraded)", "PCIe 1.0 x2"),
        ("SATA III", "SATA 6 Gb/s"),
        ("SATA 6Gb/s SSD", "SATA 6 Gb/s"),
        ("SAS 12Gb/s", "SAS 12 Gb/s"),
        ("12G SAS backplane", "SAS 12 Gb/s"),
        ("40GbE ConnectX-3 Pro", "40GbE"),
        ("Network: 25 GbE", "25GbE"),
        ("10GBASE-T", "10GbE"),
        ("网卡: 10000Mb/s", "10GbE"),
        ("万兆网卡", "10GbE"),
        ("InfiniBand FDR", "InfiniBand FDR"),
        ("32GFC HBA", "32GFC"),
    ] {
        assert_eq!(names(text), [expected], "{text}");
    }
    assert_eq!(names("网卡：2x10G双光口存储网"), ["2 x 10GbE"]);
    assert_eq!(names("40GbE ConnectX-3 Pro x2"), ["40GbE"]);
    assert_eq!(names("Сеть: 10GbE/25GbE ConnectX-4 LN EN"), ["10GbE", "25GbE"]);
    for other in
        ["Gen9 server", "x4 faster", "10G of data", "a 3.0 x4 thing", "SATA disks", "the SAS", "edr", "pcie"]
    {
        assert_eq!(names(other), Vec::<String>::new(), "{other}");
    }
}

#[test]
fn the_link_of_the_drive_is_told_only_where_nothing_else_can_be_meant() {
    let only = |text: &str| of(text).only_drive_link().map(|(link, _)| link.name());
    assert_eq!(only("a PCIe 3.0 server\nso the PCIe 3.0 x4 slot\nPCIe3.0").as_deref(), Some("PCIe 3.0 x4"));
    assert_eq!(only("a PCIe 4.0 x4 drive in a PCIe 3.0 x4 slot"), None);
    assert_eq!(only("PCIe 4.0 x4\nLnkSta: Speed 8GT/s, Width x4").as_deref(), Some("PCIe 3.0 x4"));
    assert_eq!(only("PCIe 3.0"), None, "of how many lanes?");
    assert_eq!(only("SATA III SSD, 10GbE").as_deref(), Some("SATA 6 Gb/s"));
    assert_eq!(only("SATA III and PCIe 3.0 x4"), None);
    assert_eq!(only("NVMe against SATA III"), None, "which is whose?");
}

#[test]
fn drives_have_their_capacity_and_number() {
    let only = |text: &str| {
        let found = of(text).drives;
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        let one = &found[0];
        (known().drives()[one.drive].name.clone(), one.capacity.map(|bytes| bytes / 1e9), one.count)
    };
    for (text, name, capacity, count) in [
        ("Диски: 6xPM9A3 1.92TB (обновлены)", "Samsung PM9A3", Some(1920.0), Some(6)),
        ("64GB x 4, Samsung 980 PRO 1TB", "Samsung 980 PRO", Some(1000.0), None),
        (
            "硬盘 :10 块 3.20 TB KIOXIA CM7 系列企业级 NVMe SSD(KCMYXVUG3T20)",
            "Kioxia CM7-V",
            Some(3200.0),
            Some(10),
        ),
        ("4 x Samsung SSD 980 PRO 2TB", "Samsung 980 PRO", Some(2000.0), Some(4)),
        ("三星 PCIe 4.0 NVMe SSD 980 PRO", "Samsung 980 PRO", None, None),
        ("a 480GB Intel DC S3500 and 64GB of memory", "Intel DC S3500", Some(480.0), None),
        ("2x Intel P4610 1.6TB", "Intel DC P4610", Some(1600.0), Some(2)),
    ] {
        assert_eq!(only(text), (name.to_owned(), capacity, count), "{text}");
    }
}

#[test]
fn limits_are_those_of_links() {
    let limits =
        |text: &str| of(text).limits.iter().map(|one| (one.rate.middle() / 1e6).round()).collect::<Vec<_>>();
    assert_eq!(limits("所以对于 PCIe 3.0 x4 接口,最高只支持大约 3500 MB/s 接口速率"), [3500.0]);
    assert_eq!(limits("the PCIe 3.0 x4 interface carries at most 3500 MB/s"), [3500.0]);
    assert_eq!(limits("34 Gbits/sec (или 4.25 Gbytes/s)"), [4250.0]);
    assert_eq!(limits("the 10GbE link is limited to 1.1 GB/s"), [1100.0]);
    for other in [
        "the SSD reads up to 7000 MB/s over PCIe 4.0 x4",
        "we measured 3500 MB/s over the PCIe 3.0 x4 interface",
        "up to 3500 MB/s",
        "34 Gbits/sec or 5 GB/s",
        "并发很高。所以 10GbE 网络成为瓶颈；单连接则达到了测试中最高的 800 MB/s",
        "NVMe™ PCIe® 5.0 SSD 高达 14GB/s 的顺序读取速度和 7GB/s",
    ] {
        assert_eq!(limits(other), Vec::<f64>::new(), "{other}");
    }
}

#[test]
fn causes_name_a_link() {
    assert_eq!(of("物理读写NVMe存储受限于PCIe3.0接口,只能获得顺序读写能力50%").causes.len(), 1);
    assert_eq!(of("reads are limited by the PCIe 3.0 x4 link").causes.len(), 1);
    assert_eq!(of("reads are limited by the CPU").causes.len(), 0);
    assert_eq!(of("it has a PCIe 3.0 x4 link").causes.len(), 0);
}

#[test]
fn commands_are_read_from_lines_and_job_files() {
    let found = of("$ fio --name=x --rw=randread --bs=4k --iodepth=16 --direct=1\n\n[global]\nioengine=libaio\nrw=randrw\nbs=4k\nnumjobs=4\n\n[job]\n\nprose rw=read").commands;
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].bs, found[0].in_flight(), found[0].direct), (Some(4096), 16, true));
    assert_eq!((found[1].rw.as_deref(), found[1].in_flight(), found[1].direct), (Some("randrw"), 4, false));
}

#[test]
fn headings_are_short_lines_with_signs_or_numbers() {
    for (text, depth) in [
        ("## Test", Some(2)),
        ("3. NVMe-oF:", Some(1)),
        ("3.1 MDADM", Some(2)),
        ("4、结果", None),
        ("2.5 GB/s", None),
        ("text", None),
        ("3.14 is a number that a sentence begins with,", None),
    ] {
        assert_eq!(heading(text), depth, "{text}");
    }
    let found = of("# A\ntext\n## B\nx\n## C\ny");
    assert_eq!(found.headings_over(5), [4, 0]);
}

#[test]
fn words_stand_alone_or_are_found_in_languages_without_spaces() {
    for (text, word) in [
        ("机械盘 20TB", Word::Hdd),
        ("全闪SSD", Word::Flash),
        ("(cache=writeback)", Word::Cached),
        ("虚拟机", Word::Guest),
        ("падения скорости", Word::Loss),
        ("iSER", Word::Fabric),
        ("未把网络打满", Word::Capacity),
        ("1ВМ на 4 ВМ", Word::Guest),
    ] {
        assert!(vocabulary::text_says(text, word), "{text}");
    }
    for (text, word) in [("arcane", Word::Cached), ("вместе", Word::Guest), ("raider", Word::Several)] {
        assert!(!vocabulary::text_says(text, word), "{text}");
    }
}

#[test]
fn a_page_that_is_no_article_is_left_alone() {
    let large = format!("PCIe 3.0 x4 {}\n", "x".repeat(5000)).repeat(1000);
    let found = of(&large);
    assert!(found.too_large && found.links.is_empty());
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(PCIe|Gen|x4|3\\.0|GbE|40|980 PRO|SATA|up to|MB/s|受限于|接口|fio rw=|\\[a\\]|LnkSta: Speed|8GT/s|[ 0-9a-zA-Z.,:=é块\n]){0,30}") {
        let page = Page::new("p", text);
        let found = Mentions::of(&page, &[], &[], known());
        for spot in found.links.iter().map(|one| one.spot).chain(found.drives.iter().map(|one| one.spot)) {
            proptest::prop_assert!(page.line(spot.index()).get(spot.start as usize..spot.end as usize).is_some());
        }
    }
}
