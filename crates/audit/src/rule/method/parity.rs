//! Whether what is compared differs in the compared thing alone: M4, M14.

use super::loads::commands;
use super::settings::{Block, Key, blocks};
use crate::finding::{Finding, Severity};
use crate::import::command::Command;
use crate::import::fio::job_file::size;
use crate::link::{mentions, parts};
use crate::number::{Unit, quantities};
use crate::page::Spot;
use crate::rule::{Evidence, Rule, Sink};
use crate::table::Table;

/// M4.
pub const PARITY: Rule = Rule {
    id: "M4",
    name: "compared systems differ in what is compared alone",
    severity: Severity::Ambiguous,
    holds: "operating system, kernel, memory, vCPUs, chunk, cache mode, engine and driver that a page lists of two systems of one table are the \
            same; a setting has no exception in brackets for one of them; arrays that are compared have chunks of one size",
    silent: "where the names of the systems hold that setting (it is what is compared), and unless each list stands under a line that names one of \
             two systems of the next table",
    check: parity,
};

/// M14.
pub const HARDWARE: Rule = Rule {
    id: "M14",
    name: "tables that are read together are of the same hardware",
    severity: Severity::Ambiguous,
    holds: "lists of settings under the same line in two sections of a page have the same CPU",
    silent: "unless a table of the same unit follows each, and where the headings name the CPUs",
    check: hardware,
};

fn parity(evidence: &Evidence, sink: &mut Sink) {
    let blocks = blocks(evidence);
    for (at, one) in blocks.iter().enumerate() {
        for other in blocks[at + 1..].iter().take_while(|other| other.section == one.section).take(8) {
            of_pair(evidence, one, other, sink);
        }
    }
    exceptions(evidence, &blocks, sink);
    chunks(evidence, sink);
}

/// Settings that may differ between two systems.
const KEYS: [Key; 8] =
    [Key::Os, Key::Kernel, Key::Memory, Key::VirtualCpus, Key::Chunk, Key::Cache, Key::Engine, Key::Driver];

fn of_pair(evidence: &Evidence, one: &Block, other: &Block, sink: &mut Sink) {
    let last = other.settings.last().map_or(0, |setting| setting.spot.index());
    let Some(table) = evidence.tables.iter().find(|table| table.lines.start > last) else { return };
    if !compares(table, one.head, other.head) {
        return;
    }
    let mut differ = Vec::new();
    for key in KEYS {
        let (Some(left), Some(right)) = (one.get(key), other.get(key)) else { continue };
        if same(left.value, right.value) || factor(&[one.head, other.head], &[left.value, right.value]) {
            continue;
        }
        differ.push((key, left, right));
    }
    let Some((_, left, right)) = differ.first() else { return };
    let list: Vec<String> = differ
        .iter()
        .map(|(key, left, right)| format!("{} ({} against {})", key.word(), left.value, right.value))
        .collect();
    let message = format!(
        "{} and {} are compared and differ in more than that: {}",
        name(one.head),
        name(other.head),
        list.join(", ")
    );
    let spots: Vec<Spot> = std::iter::once(left.spot)
        .chain(differ.iter().skip(1).flat_map(|(_, left, right)| [left.spot, right.spot]))
        .collect();
    sink.finds(Finding::new("M4", Severity::Ambiguous, right.spot, message).against(spots));
}

fn name(head: &str) -> &str {
    head.trim_matches(|letter: char| !letter.is_alphanumeric())
}

/// Whether a table has a system that each of two heads names and the other does not.
fn compares(table: &Table, one: &str, other: &str) -> bool {
    let labels = table.rows.iter().map(|row| row.label.as_str());
    let heads = table.columns.iter().map(|column| column.head.as_str());
    let names: Vec<&str> = labels.chain(heads).take(200).collect();
    let only = |mine: &str, theirs: &str| names.iter().any(|name| mentions(name, mine, theirs));
    !parts(one).is_empty() && !parts(other).is_empty() && only(one, other) && only(other, one)
}

fn same(left: &str, right: &str) -> bool {
    let plain = |text: &str| {
        text.to_lowercase()
            .chars()
            .filter(|letter| letter.is_alphanumeric() || *letter == '.')
            .collect::<String>()
    };
    let (left, right) = (plain(left), plain(right));
    // `256G` and `256GB` are one.
    left == right || left.trim_end_matches('b') == right.trim_end_matches('b')
}

/// Whether the heads tell the systems apart by words of the values.
fn factor(heads: &[&str; 2], values: &[&str; 2]) -> bool {
    let words = |text: &str| parts(text);
    let pairs = [(heads[0], values[0], values[1]), (heads[1], values[1], values[0])];
    pairs.iter().any(|(head, own, other)| {
        words(head)
            .iter()
            .any(|word| word.is_ascii() && words(own).contains(word) && !words(other).contains(word))
    })
}

/// `RAM: 64GB (128GB for ZFS)`.
fn exceptions(evidence: &Evidence, blocks: &[Block], sink: &mut Sink) {
    let names: Vec<&str> = evidence
        .tables
        .iter()
        .filter(|table| table.columns.len() >= 2)
        .flat_map(|table| {
            table.columns.iter().map(|column| column.head.as_str()).chain([table.corner.as_str()])
        })
        .take(500)
        .collect();
    for setting in blocks.iter().flat_map(|block| &block.settings).filter(|setting| setting.key != Key::Cpu) {
        let Some((before, inside)) = setting.value.split_once(['(', '（']) else { continue };
        let inside = inside.split([')', '）']).next().unwrap_or(inside);
        let sizes = |text: &str| {
            quantities(0, text).into_iter().find(|one| one.unit == Unit::Bytes).map(|one| one.figure.value)
        };
        let (Some(usual), Some(other)) = (sizes(before), sizes(inside)) else { continue };
        let said = parts(inside);
        // What is a system's name, not a word of the language.
        let named = names
            .iter()
            .find_map(|name| parts(name).into_iter().find(|part| said.contains(part) && part.is_ascii()));
        let Some(named) = named.filter(|_| usual != other) else { continue };
        let message = format!(
            "{} is another for {named}, which is compared with the others: {}",
            setting.key.word(),
            setting.value
        );
        sink.finds(Finding::new("M4", Severity::Ambiguous, setting.spot, message));
    }
}

/// Bytes of a chunk as a command makes it, and whether it says so.
fn chunk(command: &Command) -> Option<(u64, bool)> {
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let value = |names: &[&str]| {
        words.iter().enumerate().find_map(|(at, word)| {
            names.iter().find_map(|name| {
                let rest = word.strip_prefix(name)?;
                let rest = rest.trim_start_matches('=');
                Some(if rest.is_empty() { *words.get(at + 1)? } else { rest })
            })
        })
    };
    // Both take KiB where no unit is told.
    let bytes = |text: &str| {
        if text.bytes().all(|byte| byte.is_ascii_digit()) { size(&format!("{text}k")) } else { size(text) }
    };
    match command.program.as_str() {
        "mdadm" if words.iter().any(|word| ["--create", "-C"].contains(word)) => {
            let level = value(&["--level", "-l"])?;
            let striped =
                ["0", "raid0", "stripe", "5", "raid5", "6", "raid6", "10", "raid10"].contains(&level);
            match value(&["--chunk", "-c"]) {
                _ if !striped => None,
                Some(text) => Some((bytes(text)?, true)),
                None => Some((512 << 10, false)),
            }
        }
        "lvcreate" => {
            let striped = words.iter().any(|word| word.starts_with("-i") || word.starts_with("--stripes"));
            match value(&["-I", "--stripesize"]) {
                Some(text) => Some((bytes(text)?, true)),
                None => striped.then_some((64 << 10, false)),
            }
        }
        _ => None,
    }
}

/// Arrays of other chunks whose tables are compared. Told once.
fn chunks(evidence: &Evidence, sink: &mut Sink) {
    let made: Vec<(&Command, u64, bool)> = commands(evidence)
        .into_iter()
        .filter_map(|(_, one)| chunk(one).map(|(bytes, told)| (one, bytes, told)))
        .take(100)
        .collect();
    let behind = |at: usize| {
        let end = made.get(at + 1).map_or(usize::MAX, |(next, ..)| next.line);
        let first = evidence.tables.partition_point(|table| table.lines.start <= made[at].0.line);
        evidence.tables.get(first).filter(|table| table.lines.start < end)
    };
    let tables: Vec<Option<&Table>> = (0..made.len()).map(behind).collect();
    let labels = |table: &Table| table.rows.iter().map(|row| row.label.clone()).collect::<Vec<_>>();
    for (at, (one, bytes, told)) in made.iter().enumerate() {
        for (index, (other, other_bytes, other_told)) in made.iter().enumerate().skip(at + 1) {
            let (Some(left), Some(right)) = (tables[at], tables[index]) else { continue };
            // A page that varies the chunk compares just that.
            let varied = one.program == other.program;
            if bytes == other_bytes || varied || labels(left) != labels(right) || left.rows.len() < 2 {
                continue;
            }
            let by = |told: bool, program: &str| {
                if told { program.to_owned() } else { format!("{program}, by default") }
            };
            let message = format!(
                "the compared arrays have chunks of {}k ({}) and of {}k ({}): what is told of the layers may be of the chunks",
                bytes >> 10,
                by(*told, &one.program),
                other_bytes >> 10,
                by(*other_told, &other.program)
            );
            sink.finds(Finding::new("M4", Severity::Ambiguous, other.spot, message).against([one.spot]));
            return;
        }
    }
}

fn hardware(evidence: &Evidence, sink: &mut Sink) {
    let blocks = blocks(evidence);
    let unit = |table: &Table| {
        let figures =
            table.rows.iter().flat_map(|row| row.cells.iter().flatten()).filter_map(|cell| cell.figure);
        figures
            .map(|figure| figure.unit)
            .find(|unit| !matches!(unit, Unit::Percent | Unit::Times | Unit::Bare))
    };
    let behind = |block: &Block| {
        let last = block.settings.last()?.spot.index();
        let table = evidence.tables.iter().find(|table| table.lines.start > last)?;
        let next =
            blocks.iter().find(|other| other.settings[0].spot.index() > last && other.head == block.head);
        let before = next.is_none_or(|next| next.settings[0].spot.index() > table.lines.start);
        before.then_some((table, unit(table)))
    };
    let plain = |text: &str| {
        text.to_lowercase().split('@').next().unwrap_or("").split_whitespace().collect::<String>()
    };
    // A heading without a sign of its own stands right above the head.
    let section = |block: &Block| {
        let heading = block.section.map_or("", |line| evidence.page.line(line));
        let first = block.settings[0].spot.index();
        let above =
            (0..first).rev().map(|line| evidence.page.line(line)).filter(|text| !text.trim().is_empty());
        let near = above.take(3).find(|text| text.trim() != block.head && text.len() < 100).unwrap_or("");
        format!("{heading} {near}")
    };
    let mut told: Vec<&str> = Vec::new();
    for (at, one) in blocks.iter().enumerate() {
        for other in &blocks[at + 1..] {
            let (Some(left), Some(right)) = (one.get(Key::Cpu), other.get(Key::Cpu)) else { continue };
            let heads = one.head == other.head && parts(one.head).len() >= 2 && one.section != other.section;
            if !heads || plain(left.value) == plain(right.value) || told.contains(&one.head) {
                continue;
            }
            let named = factor(&[&section(one), &section(other)], &[left.value, right.value]);
            let (Some((_, one_unit)), Some((_, other_unit))) = (behind(one), behind(other)) else { continue };
            // Gbps in a head leaves cells bare.
            let alike = one_unit == other_unit || one_unit.is_none() || other_unit.is_none();
            if named || !alike {
                continue;
            }
            told.push(one.head);
            let message = format!(
                "{} is {} here and {} in line {}: figures of both tables are of different hardware",
                name(one.head),
                right.value,
                left.value,
                evidence.page.number(left.spot.index())
            );
            sink.finds(Finding::new("M14", Severity::Ambiguous, right.spot, message).against([left.spot]));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::rule::testing::found;

    fn page(guest: &str) -> String {
        format!(
            "#### Environment\n\n* Host\n\n    OS: Debian 12\n    Kernel: 6.1.0-18\n    RAM: 256GB\n\n* Virtual machine\n\n    {guest}\n\n\
             #### Results\n\n| system | IOPS |\n|---|---|\n| host | 20.1k |\n| virtual machine | 18.3k |\n"
        )
    }

    #[test]
    fn systems_that_differ_in_more_are_told() {
        let told = found(&page("OS: Debian 12\n    Kernel: 5.10.0-28"), "M4");
        assert!(told.len() == 1 && told[0].message.contains("kernel"), "{told:#?}");
        assert_eq!(found(&page("OS: Debian 12\n    Kernel: 6.1.0-18\n    RAM: 256 GB"), "M4"), []);
        assert_eq!(found(&page("Disk: virtio"), "M4"), []);
        let other = page("Kernel: 5.10.0-28").replace("| virtual machine |", "| another |");
        assert_eq!(found(&other, "M4"), [], "it is not compared");
        let factor = page("OS: Windows Server 2022")
            .replace("* Virtual machine", "* Windows")
            .replace("| virtual machine |", "| Windows |");
        assert_eq!(found(&factor, "M4"), [], "it is what is compared");
    }

    #[test]
    fn exceptions_for_one_system_are_told() {
        let page = |value: &str| {
            format!(
                "Storage VM:\n\nvCPU: 8\nRAM: {value}\n\n| load | LVM | ZFS |\n|---|---|---|\n| read | 400 | 300 |\n"
            )
        };
        assert_eq!(found(&page("64GB (for ZFS 128GB)"), "M4").len(), 1);
        assert_eq!(found(&page("64GB (4x 16GB)"), "M4"), []);
        assert_eq!(found(&page("64GB (ZFS too)"), "M4"), []);
    }

    #[test]
    fn arrays_of_other_chunks_are_told() {
        let table = "| load | MB/s |\n|---|---|\n| read | 400.1 |\n| write | 300.1 |\n";
        let page = |md: &str| {
            format!(
                "mdadm --create /dev/md0 --level=0 {md}--raid-devices=2 /dev/sdb /dev/sdc\n\n{table}\n\nlvcreate -i2 -I64 -l 100%VG -n one group\n\n{table}"
            )
        };
        assert_eq!(found(&page(""), "M4").len(), 1);
        assert_eq!(found(&page("--chunk=64 "), "M4"), []);
        assert_eq!(found(&page("").replace("--level=0", "--level=1"), "M4"), []);
    }

    #[test]
    fn other_hardware_in_another_section_is_told() {
        let page = |cpu: &str| {
            format!(
                "# Old network\n\n1. Host machines:\n\n    CPU: Xeon E5-2680 v4\n\n| from | to |\n|---|---|\n| a | 8.1 Gbps |\n| b | 8.2 Gbps |\n\n\
                 # New network\n\n1. Host machines:\n\n    CPU: {cpu}\n\n| from | to |\n|---|---|\n| a | 9.1 Gbps |\n| b | 9.2 Gbps |\n"
            )
        };
        assert_eq!(found(&page("Xeon Gold 6330"), "M14").len(), 1);
        assert_eq!(found(&page("Xeon E5-2680 v4 @ 2.40GHz"), "M14"), []);
        assert_eq!(
            found(&page("Xeon Gold 6330").replace("New network", "New network on Gold 6330"), "M14"),
            []
        );
        let near = page("EPYC 9354").replace("1. Host", "* Tests: EPYC CPU\n\n1. Host");
        assert_eq!(found(&near, "M14"), [], "what stands above the list names it");
    }
}
