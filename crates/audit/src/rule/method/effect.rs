//! M9: parameters that change nothing.

use super::loads::{Load, commands, loads};
use crate::finding::{Finding, Severity};
use crate::import::command::Command;
use crate::knowledge::words::{says, spellings};
use crate::page::Spot;
use crate::prose::topic;
use crate::rule::{Evidence, Rule, Sink};

pub const RULE: Rule = Rule {
    id: "M9",
    name: "every parameter has an effect",
    severity: Severity::Ambiguous,
    holds: "no fsync on reads, no iodepth above 1 with an engine that has one I/O in flight, no recordsize where a zvol is measured",
    silent: "of scripts, of mixed reads and writes, of engines that are not named, of posixaio off Linux, and where a file system is made",
    check,
};

fn check(evidence: &Evidence, sink: &mut Sink) {
    let mut loads = loads(evidence);
    loads.retain(|load| !load.is_template());
    loads.iter().filter_map(syncs).for_each(|finding| sink.finds(finding));
    depth(evidence, &loads, sink);
    let commands: Vec<&Command> = commands(evidence).into_iter().map(|(_, command)| command).collect();
    record_size(&commands).into_iter().for_each(|finding| sink.finds(finding));
    labels(evidence).into_iter().for_each(|finding| sink.finds(finding));
}

/// fsync on a load that only reads.
fn syncs(load: &Load) -> Option<Finding> {
    let entry = load.entry(&["fsync", "fdatasync", "end_fsync", "fsync_on_close"])?;
    let reads = matches!(load.rw()?, "read" | "randread") && entry.value.as_deref() != Some("0");
    let message = format!("{} has no effect on a load that only reads", entry.key);
    reads.then(|| Finding::new("M9", Severity::Cosmetic, entry.spot, message))
}

/// A depth that the engine cannot have: once for each engine.
fn depth(evidence: &Evidence, loads: &[Load], sink: &mut Sink) {
    let mut told: Vec<&str> = Vec::new();
    for load in loads {
        let (engine, entry) = (load.option(&["ioengine"]), load.entry(&["iodepth"]));
        let (Some(engine), Some(entry), Some(depth)) = (engine, entry, load.number(&["iodepth"])) else {
            continue;
        };
        if depth < 2 || told.contains(&engine) {
            continue;
        }
        let why = match engine {
            _ if spellings("one at a time").contains(&engine) => format!(
                "the engine {engine} has one I/O in flight a job, whatever iodepth says: {depth} has no effect"
            ),
            "posixaio" if on_linux(evidence) => format!(
                "glibc serves the requests of posixaio for one file one after another: of iodepth {depth} one I/O reaches the device at a time"
            ),
            _ => continue,
        };
        told.push(engine);
        let alike = |other: &&Load| other.option(&["ioengine"]) == Some(engine) && other.spot != load.spot;
        let others = loads.iter().filter(alike).map(|other| other.spot);
        sink.finds(Finding::new("M9", Severity::Ambiguous, entry.spot, why).against(others));
    }
}

/// Whether a page names a Linux, and no other system whose posixaio is another.
fn on_linux(evidence: &Evidence) -> bool {
    let lower = evidence.page.text().to_lowercase();
    says(&lower, "linux") && !says(&lower, "no linux")
}

/// recordsize on a pool all of whose data sets are volumes.
fn record_size(commands: &[&Command]) -> Option<Finding> {
    let made =
        |one: &&&Command| one.program == "zfs" && one.words.first().is_some_and(|word| word.text == "create");
    let is_volume = |one: &&Command| one.words.iter().any(|word| word.text == "-V");
    let mut volumes = commands.iter().filter(made).peekable();
    volumes.peek()?;
    let set = commands.iter().filter(|one| matches!(one.program.as_str(), "zpool" | "zfs"));
    let word = set.flat_map(|one| &one.words).find(|word| word.text.starts_with("recordsize="))?;
    let message =
        "recordsize is of file systems: what is measured is a zvol, whose blocks are of volblocksize";
    volumes.all(is_volume).then(|| Finding::new("M9", Severity::Cosmetic, word.spot, message))
}

/// Labels of tables: `random read 4k qd=1 fsync=1`. Told once.
fn labels(evidence: &Evidence) -> Option<Finding> {
    let rows = evidence.tables.iter().flat_map(|table| &table.rows);
    let mut spots = rows.filter_map(|row| {
        let label = row.label.to_lowercase();
        let syncs = ["fsync=1", "fdatasync=1"].iter().any(|word| label.contains(word));
        let about = Some(topic(&row.label)).filter(|about| syncs && about.read && !about.write);
        let line = evidence.page.line(row.line);
        let at = line.to_ascii_lowercase().find("fsync=1").map_or(0..line.len(), |at| at..at + 7);
        about.map(|_| Spot::new(row.line, at))
    });
    let message =
        "fsync has no effect on reads: the label tells of a load that does not differ from one without it";
    let finding = Finding::new("M9", Severity::Cosmetic, spots.next()?, message);
    Some(finding.against(spots.take(50)))
}

#[cfg(test)]
mod tests {
    use crate::finding::Severity;
    use crate::rule::testing::found;

    fn fio(options: &str) -> usize {
        found(&format!("fio --name=a {options} --bs=4k --filename=/dev/sdb\n"), "M9").len()
    }

    #[test]
    fn parameters_without_an_effect_are_told() {
        for (options, count) in [
            ("--rw=randread --fsync=1", 1),
            ("--rw=randwrite --fsync=1", 0),
            ("--rw=randread --fsync=0", 0),
            ("--rw=$RW --fsync=1", 0),
            ("--rw=randread --ioengine=psync --iodepth=32", 1),
            ("--rw=randread --ioengine=libaio --iodepth=32", 0),
            ("--rw=randread --ioengine=psync --iodepth=1", 0),
            ("--rw=randread --ioengine=posixaio --iodepth=8", 0),
        ] {
            assert_eq!(fio(options), count, "{options}");
        }
        let table = "| Test | IOPS |\n|---|---|\n| random read 4k qd=1 fsync=1 | 6100 |\n| random write 4k qd=1 fsync=1 | 9100 |\n";
        let told = found(table, "M9");
        assert!(told.len() == 1 && told[0].printed == "fsync=1", "{told:#?}");
        let linux = "On CentOS 7:\n\nfio --name=a --rw=randread --ioengine=posixaio --iodepth=8 --filename=/dev/sdb\n";
        assert_eq!(found(linux, "M9")[0].severity, Severity::Ambiguous);
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
