use super::*;

/// Returns name, rw, size, depth, jobs and metric of a label in one text.
fn meaning_text(text: &str) -> String {
    let LabelMeaning { load, metric, name, .. } = read_label(text);
    let metric = metric.map_or(String::new(), |metric| format!(" {metric:?}"));
    format!(
        "{name}|{}{metric}",
        if load.is_named() || load.bs.is_some() { load.name() } else { String::new() }
    )
}

#[test]
fn a_label_is_taken_apart_into_name_load_and_metric() {
    for (text, said) in [
        ("4K随机写IOPS", "|randwrite-4k Iops"),
        ("顺序读吞吐量", "|read Throughput"),
        ("IOMMU虚拟机 随机写IOPS", "IOMMU虚拟机|randwrite Iops"),
        ("Случайное чтение 4k qd=128 jobs=16", "|randread-4k-qd128-x16"),
        ("Случайная запись 4k qd=1 fsync=1", "|randwrite-4k-qd1-fsync1"),
        ("4k-50rdpct-80randompct", "|randrw50-4k-random80"),
        ("4k-0rdpct-100randompct", "|randwrite-4k"),
        (
            "VDbench - 4k - 80% rng - 50/50 r/w - 8 thread per disk",
            "VDbench per disk|randrw50-4k-random80-x8",
        ),
        ("VDbench - 64k - 80% seq - 75/25 r/w", "VDbench|randrw75-64k-random20"),
        ("混合随机 I/O,读写比为 70:30(4KiB)", "I/O|randrw70-4k"),
        ("4KB 随机读 Throughput", "|randread-4k Throughput"),
        ("Linux 虚拟机 (cache=none,queues=4)", "Linux 虚拟机 (cache=none,queues=4)|"),
        ("Read latency p99.9 (us)", "|read Percentile(99.9)"),
        ("99.95th latency", "| Percentile(99.95)"),
        ("randread-4k-qd32 IOPS", "|randread-4k-qd32 Iops"),
        ("SCSI controller (pvscsi)", "SCSI controller (pvscsi)|"),
        ("ZFS dedup - iSER", "ZFS dedup iSER|"),
        ("NVMe-oF ZFS (dedup)", "NVMe-oF ZFS (dedup)|"),
        ("МБ/с", "| Throughput"),
        ("性能 (Gbps)", "| Throughput"),
        ("MEMCPY AVG", "|mbw-memcpy"),
        ("带宽 (Bandwidth)", "| Throughput"),
        ("PM9A3 (0369)", "PM9A3 (0369)|"),
        ("cache=writeback", "cache=writeback|"),
        ("reader of threads", "reader threads|"),
    ] {
        assert_eq!(meaning_text(text), said, "{text}");
    }
    assert!(read_label("PM9A1标称").is_rated);
}

#[test]
fn names_are_ascii_words() {
    for (text, name) in [
        ("IOMMU虚拟机", "iommu-vm"),
        ("Физический PM9A3 (0369)", "host-pm9a3-0369"),
        ("Linux 虚拟机 (cache=none,queues=4)", "linux-vm-cache-none-queues-4"),
        ("物理机到物理机", "host-to-host"),
        ("\"x\"\n[a]\u{202e}", "x-a"),
        ("测量", ""),
    ] {
        assert_eq!(ascii_name(text), name);
    }
}

#[test]
fn any_text_is_read() {
    for text in [
        "İ4KİB",
        "\u{1}\u{1}",
        "4k\u{fe0f}%",
        "１２％随机",
        "99.99.99.99th",
        "0/100 p0 p100 p",
        "=4k",
        "qd=99999999999999999999",
    ] {
        read_label(text);
        ascii_name(text);
    }
    read_label(&"写".repeat(1000));
}
