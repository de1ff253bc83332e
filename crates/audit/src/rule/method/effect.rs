//! M9: parameters that change nothing.

use super::loads::{Load, commands, loads};
use crate::finding::{Finding, Severity};
use crate::page::Spot;
use crate::prose::topic;
use crate::rule::{Evidence, Rule, Sink};

/// M9.
pub const RULE: Rule = Rule {
    id: "M9",
    name: "every parameter has an effect",
    severity: Severity::Ambiguous,
    holds: "no fsync on reads, no iodepth above 1 with an engine that has one I/O in flight (ambiguous: the load is another than its \
            parameters say), no recordsize where what is measured is a zvol",
    silent: "of scripts, where reads are mixed with writes, where the engine is not named and an output may tell it, of posixaio off Linux, \
             and of recordsize where a file system is made as well",
    check,
};

fn check(evidence: &Evidence, sink: &mut Sink) {
    let loads = loads(evidence);
    for load in loads.iter().filter(|load| !load.is_template()) {
        syncs(load, sink);
    }
    depth(evidence, &loads, sink);
    record_size(evidence, sink);
    labels(evidence, sink);
}

/// fsync on a load that only reads.
fn syncs(load: &Load, sink: &mut Sink) {
    if load.reads_only() != Some(true) {
        return;
    }
    let entry = load.entry(&["fsync", "fdatasync", "end_fsync", "fsync_on_close"]);
    if let Some(entry) = entry.filter(|entry| entry.value.as_deref() != Some("0")) {
        let message = format!("{} has no effect on a load that only reads", entry.key);
        sink.finds(Finding::new("M9", Severity::Cosmetic, entry.spot, message));
    }
}

/// Engines whose calls come back when the I/O is done.
const ONE_AT_A_TIME: [&str; 7] = ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "libpmem"];

/// A depth that the engine cannot have: once for each engine.
fn depth(evidence: &Evidence, loads: &[Load], sink: &mut Sink) {
    let mut told: Vec<&str> = Vec::new();
    let posix = loads.iter().any(|load| load.option(&["ioengine"]) == Some("posixaio")) && on_linux(evidence);
    for load in loads.iter().filter(|load| !load.is_template()) {
        let (Some(engine), Some(depth)) = (load.option(&["ioengine"]), load.number(&["iodepth"])) else {
            continue;
        };
        let Some(entry) = load.entry(&["iodepth"]).filter(|_| depth > 1 && !told.contains(&engine)) else {
            continue;
        };
        let why = if ONE_AT_A_TIME.contains(&engine) {
            format!(
                "the engine {engine} has one I/O in flight a job, whatever iodepth says: {depth} has no effect"
            )
        } else if engine == "posixaio" && posix {
            format!(
                "glibc serves the requests of posixaio for one file one after another: of iodepth {depth} one I/O reaches the device at a time"
            )
        } else {
            continue;
        };
        told.push(engine);
        let others = loads
            .iter()
            .filter(|other| other.option(&["ioengine"]) == Some(engine) && other.spot != load.spot);
        sink.finds(
            Finding::new("M9", Severity::Ambiguous, entry.spot, why).against(others.map(|other| other.spot)),
        );
    }
}

/// Whether a page names a Linux, and no other system whose posixaio is another.
fn on_linux(evidence: &Evidence) -> bool {
    const LINUX: [&str; 10] =
        ["linux", "centos", "ubuntu", "debian", "rhel", "red hat", "fedora", "rocky", "proxmox", "suse"];
    const OTHERS: [&str; 5] = ["freebsd", "macos", "mac os", "illumos", "truenas core"];
    let (mut linux, mut others) = (false, false);
    for at in 0..evidence.page.len() {
        let text = evidence.page.line(at);
        if text.len() < 2000 {
            let lower = text.to_lowercase();
            linux |= LINUX.iter().any(|name| lower.contains(name));
            others |= OTHERS.iter().any(|name| lower.contains(name));
        }
    }
    linux && !others
}

/// recordsize is of file systems: a zvol has volblocksize.
fn record_size(evidence: &Evidence, sink: &mut Sink) {
    let commands = commands(evidence);
    let creates = |program: &'static str| {
        commands.iter().filter(move |(_, one)| {
            one.program == program && one.words.first().is_some_and(|word| word.text == "create")
        })
    };
    let volume = |words: &[crate::import::command::Word]| words.iter().any(|word| word.text == "-V");
    let volumes = creates("zfs").filter(|(_, one)| volume(&one.words)).count();
    if volumes == 0 || creates("zfs").count() > volumes {
        return;
    }
    let set = commands.iter().filter(|(_, one)| matches!(one.program.as_str(), "zpool" | "zfs"));
    let first = set.flat_map(|(_, one)| &one.words).find(|word| word.text.starts_with("recordsize="));
    if let Some(word) = first {
        let message =
            "recordsize is of file systems: what is measured is a zvol, whose blocks are of volblocksize";
        sink.finds(Finding::new("M9", Severity::Cosmetic, word.spot, message));
    }
}

/// Labels of tables: `random read 4k qd=1 fsync=1`. Told once.
fn labels(evidence: &Evidence, sink: &mut Sink) {
    let rows = evidence.tables.iter().flat_map(|table| &table.rows);
    let of_reads = |label: &str| {
        let about = topic(label);
        let lower = label.to_lowercase();
        about.read
            && !about.write
            && ["fsync=1", "fdatasync=1", "end_fsync=1"].iter().any(|word| lower.contains(word))
    };
    let mut found = rows.filter(|row| of_reads(&row.label));
    let Some(first) = found.next() else { return };
    let spot = |row: &crate::table::Row| {
        let line = evidence.page.line(row.line);
        let at = line
            .to_lowercase()
            .find("fsync=1")
            .filter(|at| line.is_char_boundary(*at) && line.len() >= at + 7);
        at.map_or(Spot::new(row.line, 0..line.len()), |at| Spot::new(row.line, at..at + 7))
    };
    let message =
        "fsync has no effect on reads: the label tells of a load that does not differ from one without it";
    sink.finds(
        Finding::new("M9", Severity::Cosmetic, spot(first), message).against(found.map(spot).take(50)),
    );
}

#[cfg(test)]
mod tests {
    use crate::finding::Severity;
    use crate::rule::testing::found;

    #[test]
    fn fsync_on_reads_does_nothing() {
        assert_eq!(
            found("fio --name=a --rw=randread --bs=4k --fsync=1 --filename=/dev/sdb\n", "M9").len(),
            1
        );
        for options in [
            "--rw=randwrite --fsync=1",
            "--rw=randrw --fsync=1",
            "--rw=randread --fsync=0",
            "--rw=$RW --fsync=1",
        ] {
            assert_eq!(
                found(&format!("fio --name=a {options} --filename=/dev/sdb\n"), "M9"),
                [],
                "{options}"
            );
        }
        let table = "| Test | IOPS |\n|---|---|\n| random read 4k qd=1 fsync=1 | 6100 |\n| random write 4k qd=1 fsync=1 | 9100 |\n";
        let told = found(table, "M9");
        assert!(told.len() == 1 && told[0].printed == "fsync=1", "{told:#?}");
        assert_eq!(found(&table.replace("read 4k qd=1 fsync=1", "read 4k qd=1"), "M9"), []);
    }

    #[test]
    fn a_depth_that_the_engine_does_not_have_is_told() {
        let told =
            found("fio --name=a --rw=randread --ioengine=psync --iodepth=32 --filename=/dev/sdb\n", "M9");
        assert!(told.len() == 1 && told[0].severity == Severity::Ambiguous);
        for options in [
            "--ioengine=libaio --iodepth=32",
            "--ioengine=psync --iodepth=1",
            "--ioengine=posixaio --iodepth=8",
        ] {
            assert_eq!(
                found(&format!("fio --name=a --rw=randread {options} --filename=/dev/sdb\n"), "M9"),
                [],
                "{options}"
            );
        }
        let linux = "On CentOS 7:\n\nfio --name=a --rw=randread --ioengine=posixaio --iodepth=8 --filename=/dev/sdb\n";
        assert_eq!(found(linux, "M9").len(), 1);
        assert_eq!(found(&linux.replace("CentOS 7", "FreeBSD, not Linux"), "M9"), []);
    }

    #[test]
    fn record_sizes_are_not_of_volumes() {
        let volume = "zpool create -O recordsize=128k tank /dev/sda /dev/sdb\nzfs create -V 10G -o volblocksize=16k tank/vol\n";
        assert_eq!(found(volume, "M9").len(), 1);
        let both = format!("{volume}zfs create -o compression=lz4 tank/files\n");
        assert_eq!(found(&both, "M9"), []);
    }
}
