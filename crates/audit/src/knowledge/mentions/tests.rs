use super::*;
use crate::knowledge::ratings::known;

fn of(text: &str) -> Mentions {
    let page = Page::new("p", text);
    Mentions::of(&page, 0..page.len(), known())
}

fn names(text: &str) -> Vec<String> {
    let shown = |named: &NamedLink| match (named.link, named.generation) {
        (Some(link), _) if named.count > 1 => format!("{} x {}", named.count, link.name()),
        (Some(link), _) => link.name(),
        (None, generation) => format!("{generation:?}"),
    };
    of(text).links.iter().map(shown).collect()
}

#[test]
fn links_are_read_as_people_write_them() {
    for (text, expected) in [
        ("a PCIe 3.0 x4 slot", "PCIe 3.0 x4"),
        ("硬件是PCIe 3.0", "Some(3)"),
        ("NVMe™ PCIe® 5.0 SSD", "Some(5)"),
        ("PCI Express 4.0 x4", "PCIe 4.0 x4"),
        ("PCIe Gen4 x4, NVMe 1.4", "PCIe 4.0 x4"),
        ("PCIe 4.0x4", "PCIe 4.0 x4"),
        ("PCI-E 3.0 x8", "PCIe 3.0 x8"),
        ("Gen4x4", "PCIe 4.0 x4"),
        ("LnkSta:\tSpeed 2.5GT/s (downgraded), Width x2 (ok)", "PCIe 1.0 x2"),
        ("SATA III", "SATA 6 Gb/s"),
        ("SATA 6Gb/s SSD", "SATA 6 Gb/s"),
        ("SAS 12Gb/s", "SAS 12 Gb/s"),
        ("12G SAS backplane", "SAS 12 Gb/s"),
        ("Network: 25 GbE", "25GbE"),
        ("10GBASE-T", "10GbE"),
        ("万兆网卡", "10GbE"),
        ("网卡：2x10G双光口存储网", "2 x 10GbE"),
        ("40GbE ConnectX-3 Pro x2", "40GbE"),
    ] {
        assert_eq!(names(text), [expected], "{text}");
    }
    assert_eq!(names("Сеть: 10GbE/25GbE ConnectX-4 LN EN"), ["10GbE", "25GbE"]);
    for other in ["Gen9 server", "x4 faster", "10G of data", "a 3.0 x4 thing", "SATA disks", "pcie"] {
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
    assert_eq!(only("NVMe against SATA III"), None, "which is whose?");
}

#[test]
fn drives_have_their_capacity_and_number() {
    for (text, name, capacity, count) in [
        ("Диски: 6xPM9A3 1.92TB (обновлены)", "Samsung PM9A3", Some(1920e9), 6),
        ("64GB x 4, Samsung 980 PRO 1TB", "Samsung 980 PRO", Some(1e12), 1),
        ("硬盘 :10 块 3.20 TB KIOXIA CM7 NVMe SSD(KCMYXVUG3T20)", "Kioxia CM7-V", Some(3200e9), 10),
        ("4 x Samsung SSD 980 PRO 2TB", "Samsung 980 PRO", Some(2e12), 4),
        ("三星 PCIe 4.0 NVMe SSD 980 PRO x2", "Samsung 980 PRO", None, 2),
    ] {
        let found = of(text).drives;
        let [one] = found.as_slice() else { panic!("{text}: {found:?}") };
        let own = &known().drives()[one.drive].name;
        assert_eq!((own.as_str(), one.capacity, one.count), (name, capacity, count), "{text}");
    }
    let large = of(&format!("PCIe 3.0 x4 {}\n", "x".repeat(5000)).repeat(300));
    assert!(large.too_large && large.links.is_empty(), "no article");
}
