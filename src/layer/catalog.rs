//! What each layer is called, takes and means: the data half of the family, read by the checks of
//! scenarios, by the help and by the docs. How a layer is built is not said here.

use super::fabric;
use super::guest::qemu::SMALLEST_MEMORY;
use super::guest::{attach, pin};
use super::volume::{self, fs, lvm, zfs};
use crate::scenario::error::{Fault, nearest};
use crate::units;
use iotax_load::engine;
use std::net::{IpAddr, Ipv4Addr};

/// One option of a layer.
#[derive(Debug)]
pub struct OptionDef {
    /// Its word.
    pub name: &'static str,
    /// Other words for it; never recorded.
    pub aliases: &'static [&'static str],
    /// What may stand behind it.
    pub kind: OptionKind,
    /// What holds when it is not written; `None`: nothing, or what the program below decides.
    pub default: Option<&'static str>,
    /// One line.
    pub help: &'static str,
}

/// What may stand behind an option.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OptionKind {
    /// `4KiB`: a unit is a must.
    Size,
    /// Memory of a guest: whole MiB.
    Memory,
    /// A whole number from 1.
    Count,
    /// A whole number from 0.
    Number,
    /// `auto`, or processors as `0-3,8`.
    Cpus,
    /// Processors as SPDK writes them, a hexadecimal number: `0x3`.
    CpuMask,
    /// A number; without a unit it means microseconds.
    Microseconds,
    /// A number; `2` and `2%` are the same.
    Percent,
    /// A file of this host, named from the root.
    Path,
    /// An IP address that one machine has; no wildcard.
    Address,
    /// A port of TCP or RDMA, from 1 to 65535.
    Port,
    /// `true` or `false`; the lone word means `true`.
    Flag,
    /// One of these.
    Word(&'static [&'static str]),
}

/// What a layer stands on, and what it gives to the one above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Face {
    /// A block device.
    Block,
    /// A file.
    File,
    /// A bdev of an SPDK target, which no kernel has.
    Bdev,
    /// Needs: device or file. Gives: what it got.
    Any,
}

/// One layer.
#[derive(Debug)]
pub struct LayerHelp {
    /// Its word.
    pub name: &'static str,
    /// One line.
    pub help: &'static str,
    /// A stack with it that parses.
    pub example: &'static str,
    /// All of its options.
    pub options: &'static [OptionDef],
    /// The option that a lone word sets, as `fs(xfs)`.
    pub positional: Option<&'static str>,
    /// Exactly one of these is written, unless empty.
    pub one_of: &'static [&'static str],
    /// What it stands on.
    pub below: Face,
    /// What it gives.
    pub gives: Face,
    /// It lives in the load generator, so it works in a guest and over ssh too.
    pub anywhere: bool,
    /// It makes one device of several.
    pub joins: bool,
    /// It has two ends, which may be in two places.
    pub fabric: bool,
    /// The option, with its value, by which it can stand on a bdev of an SPDK target, too.
    pub over_bdev: Option<(&'static str, &'static str)>,
    /// The option that says in how many devices, loaded at once, it makes of one.
    pub splits: Option<&'static str>,
    /// What a reader of a report must know of a choice: option, value, a clause.
    pub notes: &'static [(&'static str, &'static str, &'static str)],
    /// Choices by which it acknowledges a flush and does nothing: option, value.
    pub drops_flushes: &'static [(&'static str, &'static str)],
}

impl LayerHelp {
    /// What a layer is that says nothing else: on one block device, giving one, in one place.
    pub const PLAIN: LayerHelp = LayerHelp {
        name: "",
        help: "",
        example: "",
        options: &[],
        positional: None,
        one_of: &[],
        below: Face::Block,
        gives: Face::Block,
        anywhere: false,
        joins: false,
        fabric: false,
        over_bdev: None,
        splits: None,
        notes: &[],
        drops_flushes: &[],
    };
}

/// Every layer of this version.
pub const ALL: &[LayerHelp] = &[
    LOOP,
    volume::PARTITION_HELP,
    volume::SPLIT_HELP,
    volume::LINEAR_HELP,
    volume::MDRAID_HELP,
    lvm::HELP,
    zfs::HELP,
    fs::HELP,
    volume::SPDK_HELP,
    DELAY,
    VM,
    NULL,
    ENGINE,
    fabric::NVMF_HELP,
    fabric::ISCSI_HELP,
    fabric::NBD_HELP,
];

const LOOP: LayerHelp = LayerHelp {
    name: "loop",
    help: "a loop device over a file or a device",
    example: "file:/srv/x.img,size=4GiB | loop",
    options: &[OptionDef {
        name: "direct-io",
        aliases: &["direct_io"],
        kind: OptionKind::Flag,
        default: Some("true"),
        help: "the loop device opens its file with O_DIRECT",
    }],
    positional: None,
    one_of: &[],
    below: Face::Any,
    gives: Face::Block,
    anywhere: false,
    ..LayerHelp::PLAIN
};

const DELAY: LayerHelp = LayerHelp {
    name: "delay",
    help: "holds each completion back in the load generator: a layer of known cost",
    example: "file:/srv/x.img,size=4GiB | delay(us=50)",
    options: &[
        OptionDef {
            name: "us",
            aliases: &[],
            kind: OptionKind::Microseconds,
            default: None,
            help: "microseconds added to each I/O",
        },
        OptionDef {
            name: "percent",
            aliases: &[],
            kind: OptionKind::Percent,
            default: None,
            help: "percent of the I/O's own cycle added on top of it",
        },
    ],
    positional: Some("us"),
    one_of: &["us", "percent"],
    below: Face::Any,
    gives: Face::Any,
    anywhere: true,
    ..LayerHelp::PLAIN
};

const VM: LayerHelp = LayerHelp {
    name: "vm",
    help: "a QEMU guest with a disk over what is below; the load runs inside",
    example: "file:/srv/x.img,size=4GiB | vm(cache=none,queues=2)",
    options: VM_OPTIONS,
    positional: None,
    one_of: &[],
    below: Face::Any,
    gives: Face::Block,
    anywhere: false,
    over_bdev: Some(("attach", "vhost-user-blk")),
    notes: &[
        (
            "cache",
            "unsafe",
            "QEMU ignores flushes (cache=unsafe), so nothing that is acknowledged is durable, and there is no durable figure",
        ),
        (
            "snapshot",
            "on",
            "writes go to an overlay that is gone with QEMU and ignores flushes (snapshot=on), so there is no durable figure",
        ),
    ],
    drops_flushes: &[("cache", "unsafe"), ("snapshot", "on")],
    ..LayerHelp::PLAIN
};

const VM_OPTIONS: &[OptionDef] = &[
    OptionDef {
        name: "attach",
        aliases: &[],
        kind: OptionKind::Word(attach::NAMES),
        default: Some("virtio-blk"),
        help: "how the disk reaches the guest",
    },
    OptionDef {
        name: "spdk",
        aliases: &[],
        kind: OptionKind::Path,
        default: None,
        help: "JSON-RPC socket of a running SPDK target that serves the disk (attach=vhost-user-blk); not written: that of the bdev below, else a qemu-storage-daemon does",
    },
    OptionDef {
        name: "cpumask",
        aliases: &[],
        kind: OptionKind::CpuMask,
        default: None,
        help: "on which reactors of the SPDK target the disk is served; not written: the target's choice",
    },
    OptionDef {
        name: "cache",
        aliases: &[],
        kind: OptionKind::Word(&["none", "writeback", "writethrough", "directsync", "unsafe"]),
        default: Some("none"),
        help: "QEMU's cache mode of the disk",
    },
    OptionDef {
        name: "aio",
        aliases: &[],
        kind: OptionKind::Word(&["native", "threads", "io_uring"]),
        default: None,
        help: "how QEMU issues its I/O; not written: native, or threads where the cache mode is without O_DIRECT",
    },
    OptionDef {
        name: "iothread",
        aliases: &[],
        kind: OptionKind::Flag,
        default: None,
        help: "a thread of its own for the disk; not written: true where the way has one",
    },
    OptionDef {
        name: "iothreads",
        aliases: &[],
        kind: OptionKind::Count,
        default: None,
        help: "threads that share the queues of the disk (virtio-blk, QEMU 9.0)",
    },
    OptionDef {
        name: "num-queues",
        aliases: &["queues", "num_queues"],
        kind: OptionKind::Count,
        default: None,
        help: "request queues of the disk; QEMU's own choice when not written",
    },
    OptionDef {
        name: "queue-size",
        aliases: &["queue_size"],
        kind: OptionKind::Count,
        default: None,
        help: "requests that fit a queue; QEMU's own choice when not written",
    },
    OptionDef {
        name: "discard",
        aliases: &[],
        kind: OptionKind::Word(&["ignore", "unmap"]),
        default: Some("ignore"),
        help: "what becomes of the guest's discards",
    },
    OptionDef {
        name: "detect-zeroes",
        aliases: &["detect_zeroes"],
        kind: OptionKind::Word(&["off", "on", "unmap"]),
        default: Some("off"),
        help: "what becomes of writes of zeroes",
    },
    OptionDef {
        name: "snapshot",
        aliases: &[],
        kind: OptionKind::Word(&["off", "on"]),
        default: Some("off"),
        help: "on: writes go to a temporary overlay that is thrown away with QEMU",
    },
    OptionDef {
        name: "format",
        aliases: &[],
        kind: OptionKind::Word(&["raw", "qcow2"]),
        default: Some("raw"),
        help: "what the disk is in what is below: all of it, or a qcow2 image",
    },
    OptionDef {
        name: "preallocation",
        aliases: &[],
        kind: OptionKind::Word(&["off", "metadata", "falloc", "full"]),
        default: None,
        help: "when clusters of the image get their places; not written: off, a thin image",
    },
    OptionDef {
        name: "first-writes",
        aliases: &["first_writes"],
        kind: OptionKind::Word(&["sequential", "random"]),
        default: None,
        help: "the order in which a thin image is written before it is measured; not written: sequential",
    },
    OptionDef {
        name: "cluster-size",
        aliases: &["cluster_size"],
        kind: OptionKind::Size,
        default: None,
        help: "bytes of a cluster of the image; not written: 64KiB, as QEMU",
    },
    OptionDef {
        name: "backing",
        aliases: &[],
        kind: OptionKind::Number,
        default: None,
        help: "images under the top one, up to 8: a base with the data, and empty ones between",
    },
    OptionDef {
        name: "lazy-refcounts",
        aliases: &["lazy_refcounts"],
        kind: OptionKind::Flag,
        default: None,
        help: "refcounts of the image are not kept up to date with every write; not written: false",
    },
    OptionDef {
        name: "l2-cache-size",
        aliases: &["l2_cache_size"],
        kind: OptionKind::Size,
        default: None,
        help: "L2 tables of the image that QEMU keeps in memory; QEMU's own choice when not written",
    },
    OptionDef {
        name: "image",
        aliases: &[],
        kind: OptionKind::Path,
        default: None,
        help: "a disk image with its own kernel, system and cloud-init that the guest boots from; it is only read",
    },
    OptionDef {
        name: "vcpus",
        aliases: &[],
        kind: OptionKind::Count,
        default: Some("2"),
        help: "virtual CPUs of the guest",
    },
    OptionDef {
        name: "memory",
        aliases: &[],
        kind: OptionKind::Memory,
        default: Some("512MiB"),
        help: "memory of the guest",
    },
    OptionDef {
        name: "hugepages",
        aliases: &[],
        kind: OptionKind::Word(&["2MiB", "1GiB"]),
        default: None,
        help: "the guest's memory is made of the host's huge pages of that size",
    },
    OptionDef {
        name: "numa",
        aliases: &[],
        kind: OptionKind::Number,
        default: None,
        help: "the host's NUMA node that the guest's memory is bound to",
    },
    OptionDef {
        name: "cpus",
        aliases: &[],
        kind: OptionKind::Cpus,
        default: None,
        help: "the host's processors that the guest and its I/O threads run on: a list, or auto for an L3 group's",
    },
    OptionDef {
        name: "machine",
        aliases: &[],
        kind: OptionKind::Word(&["q35", "pc"]),
        default: Some("q35"),
        help: "QEMU's board",
    },
    OptionDef {
        name: "firmware",
        aliases: &[],
        kind: OptionKind::Word(&["direct", "ovmf"]),
        default: Some("direct"),
        help: "direct: the kernel at once; ovmf: UEFI before it",
    },
    OptionDef {
        name: "accel",
        aliases: &[],
        kind: OptionKind::Word(&["auto", "kvm", "tcg"]),
        default: Some("auto"),
        help: "auto takes KVM where it really works, else emulation, which is said in every output",
    },
];

const NULL: LayerHelp = LayerHelp {
    name: "null",
    help: "does nothing: A against A, which measures the ruler",
    example: "file:/srv/x.img,size=4GiB | null",
    options: &[],
    positional: None,
    one_of: &[],
    below: Face::Any,
    gives: Face::Any,
    anywhere: true,
    ..LayerHelp::PLAIN
};

/// fio, and every engine of ours in its table's order.
const GENERATORS: [&str; engine::ALL.len() + 1] = {
    let mut words = ["fio"; engine::ALL.len() + 1];
    let mut at = 0;
    while at < engine::ALL.len() {
        words[at + 1] = engine::ALL[at].word;
        at += 1;
    }
    words
};

const ENGINE: LayerHelp = LayerHelp {
    name: "engine",
    help: "another load generator on the same target: measures the generators against each other",
    example: "file:/srv/x.img,size=4GiB | engine(fio)",
    options: &[OptionDef {
        name: "name",
        aliases: &[],
        kind: OptionKind::Word(&GENERATORS),
        default: None,
        help: "fio, or one of iotax's own engines",
    }],
    positional: Some("name"),
    one_of: &["name"],
    below: Face::Any,
    gives: Face::Any,
    anywhere: true,
    ..LayerHelp::PLAIN
};

/// The layer of that name.
pub fn find(name: &str) -> Option<&'static LayerHelp> {
    ALL.iter().find(|layer| layer.name == name)
}

/// The names of all layers, in the order of the table.
pub fn names() -> Vec<&'static str> {
    ALL.iter().map(|layer| layer.name).collect()
}

impl LayerHelp {
    /// The option of that name or alias.
    pub fn option(&self, word: &str) -> Option<&'static OptionDef> {
        self.options.iter().find(|option| option.name == word || option.aliases.contains(&word))
    }
}

impl OptionDef {
    /// The value as it is recorded.
    ///
    /// # Errors
    /// Why the value does not fit its kind.
    pub fn check(&self, value: &str) -> Result<String, Fault> {
        match self.kind {
            OptionKind::Size => check_size(value),
            OptionKind::Memory => check_memory(value),
            OptionKind::Count => check_count(value),
            OptionKind::Number => check_number(value),
            OptionKind::Cpus => check_cpus(value),
            OptionKind::CpuMask => check_cpu_mask(value),
            OptionKind::Path => check_path(value),
            OptionKind::Address => check_address(value),
            OptionKind::Port => check_port(value),
            OptionKind::Microseconds => microseconds_as_ns(value).map(|_| plain_number(value, "us")),
            OptionKind::Percent => percent_as_ppm(value).map(|_| plain_number(value, "%")),
            OptionKind::Flag => check_word(value, &["true", "false"]),
            OptionKind::Word(words) => check_word(value, words),
        }
    }
}

fn check_size(value: &str) -> Result<String, Fault> {
    match units::parse_bytes(value) {
        Ok(bytes) if bytes > 0 => Ok(value.to_owned()),
        Err(clause) if value.parse() != Ok(0.0) => Err(Fault::from_clause(&clause)),
        _ => Err(Fault::hint(
            format!("size \"{value}\" is nothing"),
            "write a size such as 64KiB, or leave the option out",
        )),
    }
}

fn check_memory(value: &str) -> Result<String, Fault> {
    let bytes = units::parse_bytes(value).map_err(|clause| Fault::from_clause(&clause))?;
    if bytes < SMALLEST_MEMORY {
        let least = units::show_bytes(SMALLEST_MEMORY);
        return Err(Fault::new(format!("{value} is less than the {least} that a guest boots in")));
    }
    match bytes % units::MIB {
        0 => Ok(value.to_owned()),
        _ => Err(Fault::hint(format!("{value} is no whole number of MiB"), "write a size such as 512MiB")),
    }
}

fn check_count(value: &str) -> Result<String, Fault> {
    match value.parse::<u32>() {
        Ok(count @ 1..) => Ok(count.to_string()),
        _ => {
            Err(Fault::hint(format!("\"{value}\" is not a whole number from 1"), "write a number such as 2"))
        }
    }
}

fn check_number(value: &str) -> Result<String, Fault> {
    let number = value.parse::<u32>().map(|number| number.to_string());
    number.map_err(|_| {
        Fault::hint(format!("\"{value}\" is not a whole number from 0"), "write a number such as 0")
    })
}

fn check_cpus(value: &str) -> Result<String, Fault> {
    match value {
        "auto" => Ok(value.to_owned()),
        _ => pin::list(value)
            .map(|_| value.to_owned())
            .map_err(|why| Fault::hint(why, "write auto, 2 or \"0-3,8\"")),
    }
}

fn check_cpu_mask(value: &str) -> Result<String, Fault> {
    let digits = value.strip_prefix("0x").unwrap_or_default();
    let hex = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    match hex && digits.bytes().any(|digit| digit != b'0') {
        true => Ok(value.to_owned()),
        false => Err(Fault::hint(
            format!("\"{value}\" is no mask of processors"),
            "write 0x1 for core 0, 0x6 for 1 and 2",
        )),
    }
}

fn check_path(value: &str) -> Result<String, Fault> {
    if value.starts_with('/') {
        return Ok(value.to_owned());
    }
    Err(Fault::hint(format!("\"{value}\" is not an absolute path"), "write it from the root"))
}

/// What listens everywhere would be seen by whoever reaches the machine.
fn check_address(value: &str) -> Result<String, Fault> {
    match value.parse::<IpAddr>() {
        Ok(address) if address.is_unspecified() => Err(Fault::hint(
            format!("{value} is every address of a machine, and an export listens at one that is named"),
            "write an address of the target's place by which the initiator reaches it",
        )),
        Ok(address) if address.is_multicast() || address == Ipv4Addr::BROADCAST => {
            Err(Fault::new(format!("{value} is no address of one machine")))
        }
        Ok(address) => Ok(address.to_string()),
        Err(_) => Err(Fault::hint(
            format!("\"{value}\" is no IP address"),
            "write one such as 192.168.1.10; names are not looked up",
        )),
    }
}

fn check_port(value: &str) -> Result<String, Fault> {
    match value.parse::<u16>() {
        Ok(port @ 1..) => Ok(port.to_string()),
        _ => Err(Fault::new(format!("\"{value}\" is no port, a whole number from 1 to 65535"))),
    }
}

fn check_word(value: &str, words: &[&str]) -> Result<String, Fault> {
    if words.contains(&value) {
        return Ok(value.to_owned());
    }
    let hint = meant(value, words).map(|near| format!("did you mean \"{near}\"?"));
    Err(Fault { why: format!("\"{value}\" is not one of {}", words.join(", ")), hint })
}

/// Of numbers, near ones are others: only letters before one are a slip, as of `raid5`.
fn meant<'a>(value: &str, words: &[&'a str]) -> Option<&'a str> {
    if !words.iter().all(|word| word.parse::<f64>().is_ok()) {
        return nearest(value, words);
    }
    let number = value.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '-');
    words.iter().find(|word| **word == number).copied()
}

fn plain_number(value: &str, unit: &str) -> String {
    value.trim_end_matches(unit).trim().to_owned()
}

/// Nanoseconds of a checked [`OptionKind::Microseconds`]: `50`, `50us`, `0.5`.
///
/// # Errors
/// Why it is none.
pub fn microseconds_as_ns(value: &str) -> Result<u64, Fault> {
    let number = decimal(value, "us")
        .ok_or_else(|| Fault::hint(format!("\"{value}\" is no number of microseconds"), "write us=50"))?;
    bounded(number * 1e3, 60e9)
        .ok_or_else(|| Fault::new(format!("\"{value}\" is not between 0.001 and 60000000 microseconds")))
}

/// Parts per million of a checked [`OptionKind::Percent`]: `2`, `0.5`, `10%`.
///
/// # Errors
/// Why it is none.
pub fn percent_as_ppm(value: &str) -> Result<u32, Fault> {
    let number = decimal(value, "%")
        .ok_or_else(|| Fault::hint(format!("\"{value}\" is no number of percent"), "write percent=2"))?;
    bounded(number * 1e4, 100e6)
        .and_then(|ppm| u32::try_from(ppm).ok())
        .ok_or_else(|| Fault::new(format!("\"{value}\" is not between 0.0001 and 10000 percent")))
}

/// Digits and at most one point; `f64`'s own parser would take `inf` and `1e9`.
fn decimal(value: &str, unit: &str) -> Option<f64> {
    let digits = value.strip_suffix(unit).unwrap_or(value).trim();
    let plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    plain.then(|| digits.parse().ok()).flatten()
}

/// A value below the resolution would be recorded as a delay and be none.
fn bounded(number: f64, most: f64) -> Option<u64> {
    let whole = number.round();
    (1.0..=most).contains(&whole).then_some(whole as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_table_is_sound() {
        let names: BTreeSet<_> = names().into_iter().collect();
        assert_eq!(names.len(), ALL.len(), "names are unique");
        for layer in ALL {
            assert!(!layer.help.is_empty() && !layer.help.contains('\n'), "{}", layer.name);
            assert!(layer.example.contains(&format!("| {}", layer.name)), "{}", layer.name);
            assert!(layer.positional.is_none_or(|name| layer.option(name).is_some()), "{}", layer.name);
            assert!(layer.one_of.iter().all(|name| layer.option(name).is_some()), "{}", layer.name);
            assert_eq!(layer.gives == Face::Any, layer.anywhere, "{} passes its target on", layer.name);
            for (option, value, note) in layer.notes {
                assert!(
                    layer.option(option).is_some_and(|known| known.check(value).is_ok()),
                    "{option}={value}"
                );
                assert!(!note.is_empty(), "{} {option}={value}", layer.name);
            }
            for (option, value) in layer.drops_flushes {
                let known = layer.option(option).is_some_and(|known| known.check(value).is_ok());
                assert!(known, "{option}={value}");
                let is_noted = layer.notes.iter().any(|note| (&note.0, &note.1) == (option, value));
                assert!(is_noted, "{} {option}={value} is nowhere told", layer.name);
            }
            assert!(layer.splits.is_none_or(|name| layer.option(name).is_some()), "{}", layer.name);
            for option in layer.options {
                assert!(!option.help.is_empty(), "{} {}", layer.name, option.name);
                assert_eq!(layer.option(option.name).map(|found| found.help), Some(option.help));
                if let Some(default) = option.default {
                    assert_eq!(
                        option.check(default).as_deref(),
                        Ok(default),
                        "{} {}",
                        layer.name,
                        option.name
                    );
                }
            }
        }
    }

    #[test]
    fn an_export_listens_at_an_address_that_one_machine_has() {
        for (good, plain) in [("10.0.0.1", "10.0.0.1"), ("FD00::1", "fd00::1"), ("127.0.0.1", "127.0.0.1")] {
            assert_eq!(check_address(good), Ok(plain.to_owned()));
        }
        for (bad, why) in [
            ("0.0.0.0", "every address"),
            ("::", "every address"),
            ("224.0.0.1", "no address of one machine"),
            ("255.255.255.255", "no address of one machine"),
            ("host1", "no IP address"),
        ] {
            let fault = check_address(bad).unwrap_err();
            assert!(fault.why.contains(why), "{bad}: {fault:?}");
        }
        assert_eq!(check_port("4420"), Ok("4420".into()));
        assert!(["0", "65536", "-1", "x"].into_iter().all(|bad| check_port(bad).is_err()));
    }

    #[test]
    fn a_word_that_is_a_number_has_no_near_one() {
        let levels = &["0", "1", "5", "6", "10"];
        assert_eq!(check_word("7", levels).unwrap_err().hint, None);
        assert_eq!(check_word("raid10", levels).unwrap_err().hint.as_deref(), Some("did you mean \"10\"?"));
        let why = check_word("raid4", levels).unwrap_err();
        assert_eq!((why.hint, why.why.as_str()), (None, "\"raid4\" is not one of 0, 1, 5, 6, 10"));
    }

    #[test]
    fn numbers_of_delay() {
        assert_eq!(microseconds_as_ns("50"), Ok(50_000));
        assert_eq!(microseconds_as_ns("0.5us"), Ok(500));
        assert_eq!(percent_as_ppm("2"), Ok(20_000));
        assert_eq!(percent_as_ppm("0.5%"), Ok(5_000));
        for wrong in ["", "0", "-1", "inf", "1e3", "x", ".", "99999999999"] {
            assert!(microseconds_as_ns(wrong).is_err(), "{wrong}");
            assert!(percent_as_ppm(wrong).is_err(), "{wrong}");
        }
    }
}
