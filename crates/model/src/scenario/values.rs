//! Meaning of the values of fio's words, in two dialects: fio's own, where `4096` is bytes, and
//! iotax's, where a size has a unit. A value that would change the written load is refused.

use super::Engine;
use super::error::Fault;
use iotax_load::engine::ALL;
use iotax_load::{Distribution, Iomem, MAX_RATE, Rw, WriteSync};
use iotax_units::{self as units, fio};

/// Notation of numbers, and the defaults that apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// A scenario file or the command line: sizes have a unit, I/O is direct by default, and iotax
    /// chooses the engine.
    Ours,
    /// A job file: fio's suffixes and fio's defaults (direct=0, a synchronous engine).
    Fio,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    Bytes(u64),
    /// Percent of the target, which only a declared size turns into bytes.
    Percent(u8),
}

/// Parses the name of an iotax engine, `fio`, or `auto`, which is `None`. For fio's own engines,
/// such as `libaio`, the error suggests the iotax engine.
///
/// # Errors
/// Any other word.
pub fn parse_engine(word: &str) -> Result<Option<Engine>, Fault> {
    match word {
        "auto" => Ok(None),
        "fio" => Ok(Some(Engine::Fio)),
        word => match ALL.iter().find(|kind| kind.word == word) {
            Some(kind) => Ok(Some(Engine::Native(kind.name))),
            None => Err(unknown_engine(word)),
        },
    }
}

fn unknown_engine(word: &str) -> Fault {
    let meant = match word {
        "io_uring" => "uring",
        "libaio" => "aio",
        "psync" | "pvsync" | "pvsync2" | "vsync" => "sync",
        _ => {
            let known: Vec<&str> = ["auto"]
                .into_iter()
                .chain(ALL.iter().map(|kind| kind.word))
                .chain(["fio"])
                .collect();
            return Fault::unknown("engine", word, &known);
        }
    };
    Fault::hint(format!("unknown engine \"{word}\""), format!("did you mean \"{meant}\"?"))
}

pub(super) fn parse_rw(word: &str, _: Dialect) -> Result<Rw, Fault> {
    match word {
        "read" => Ok(Rw::Read),
        "write" => Ok(Rw::Write),
        "randread" => Ok(Rw::RandRead),
        "randwrite" => Ok(Rw::RandWrite),
        "rw" | "readwrite" => Ok(Rw::Rw),
        "randrw" => Ok(Rw::RandRw),
        "trim" => Ok(Rw::Trim),
        "randtrim" => Ok(Rw::RandTrim),
        "trimwrite" => Ok(Rw::TrimWrite),
        "randtrimwrite" => Ok(Rw::RandTrimWrite),
        other if other.contains(':') => Err(Fault::hint(
            format!(
                "\"{other}\": an order of offsets after \":\" is not issued, and without it the load would be another one"
            ),
            "write it without \":\", or use percentage_random",
        )),
        other => Err(Fault::unknown("rw", other, RW)),
    }
}

const RW: &[&str] = &[
    "read",
    "write",
    "randread",
    "randwrite",
    "rw",
    "randrw",
    "trim",
    "randtrim",
    "trimwrite",
    "randtrimwrite",
];

pub(super) fn parse_distribution(word: &str, _: Dialect) -> Result<Distribution, Fault> {
    word.parse().map_err(|clause: String| Fault::from_clause(&clause))
}

pub(super) fn parse_cpus(word: &str, _: Dialect) -> Result<Vec<u32>, Fault> {
    iotax_load::cpu_list(word)
        .map_err(|clause| Fault::hint(clause, "write numbers and ranges from 0 on, as 0-3,5"))
}

/// Parses `cpus_allowed_policy`; true if each thread has its own processor (`split`).
pub(super) fn parse_policy(word: &str, _: Dialect) -> Result<bool, Fault> {
    match word {
        "shared" => Ok(false),
        "split" => Ok(true),
        other => Err(Fault::unknown("policy", other, &["shared", "split"])),
    }
}

/// Parses an I/O priority class; a job file accepts numbers only.
pub(super) fn parse_class(word: &str, dialect: Dialect) -> Result<u8, Fault> {
    let named = ["none", "rt", "be", "idle"].iter().position(|name| *name == word);
    match (named.filter(|_| dialect == Dialect::Ours), word.parse::<u8>()) {
        (Some(class), _) => Ok(class as u8),
        (None, Ok(class @ 0..=3)) => Ok(class),
        _ => {
            let words = if dialect == Dialect::Ours { "none, rt, be, idle, or " } else { "" };
            Err(Fault::hint(
                format!("\"{word}\" is no class"),
                format!("{words}0 to 3: 1 real time, 2 best effort, 3 idle"),
            ))
        }
    }
}

pub(super) fn parse_level(word: &str, _: Dialect) -> Result<u8, Fault> {
    match word.parse::<u8>() {
        Ok(level @ 0..=7) => Ok(level),
        _ => Err(Fault::new(format!("\"{word}\" is not a level from 0 (highest) to 7"))),
    }
}

/// Parses fio's words for the memory of I/O buffers: `malloc` and `mmap`, which mean the same here,
/// and `mmaphuge`. The other kinds are refused.
pub(super) fn parse_iomem(word: &str, _: Dialect) -> Result<Iomem, Fault> {
    match word {
        "malloc" | "mmap" => Ok(Iomem::Malloc),
        "mmaphuge" => Ok(Iomem::MmapHuge),
        "shm" | "shmhuge" | "mmapshared" | "cudamalloc" => Err(Fault::hint(
            format!(
                "\"{word}\" is a kind of memory that is not here, and it would change what is measured"
            ),
            "write malloc, or mmaphuge for huge pages",
        )),
        other => Err(Fault::unknown("kind of memory", other, &["malloc", "mmaphuge"])),
    }
}

const LARGEST_BLOCK: u64 = 1 << 30;

pub(super) fn parse_bs(word: &str, dialect: Dialect) -> Result<u64, Fault> {
    match parse_size(word, dialect)? {
        0 => Err(Fault::new("a block of nothing")),
        bytes if bytes > LARGEST_BLOCK => {
            Err(Fault::new(format!("\"{word}\": a block has at most 1 GiB")))
        }
        bytes => Ok(bytes),
    }
}

pub(super) fn parse_extent(word: &str, dialect: Dialect) -> Result<Extent, Fault> {
    let Some(percent) = word.strip_suffix('%') else {
        return parse_size(word, dialect).map(Extent::Bytes);
    };
    parse_percent(percent, dialect).map(Extent::Percent)
}

pub(super) fn parse_percent(word: &str, dialect: Dialect) -> Result<u8, Fault> {
    let digits =
        if dialect == Dialect::Ours { word.strip_suffix('%').unwrap_or(word) } else { word };
    match digits.trim().parse::<u8>() {
        Ok(percent @ 0..=100) => Ok(percent),
        _ => Err(Fault::new(format!("\"{word}\" is not a whole percentage from 0 to 100"))),
    }
}

/// Parses a flag; a job file accepts 0 and 1 only.
pub(super) fn parse_flag(word: &str, dialect: Dialect) -> Result<bool, Fault> {
    match (word, dialect) {
        ("1", _) | ("true", Dialect::Ours) => Ok(true),
        ("0", _) | ("false", Dialect::Ours) => Ok(false),
        (_, Dialect::Fio) => {
            Err(Fault::hint(format!("\"{word}\" is not 0 or 1"), "fio takes 0 and 1 only"))
        }
        _ => Err(Fault::new(format!("\"{word}\" is not true, false, 0 or 1"))),
    }
}

/// Parses `sync`, the durability of each write; fio's flag 1 is `sync`.
pub(super) fn parse_sync(word: &str, _: Dialect) -> Result<WriteSync, Fault> {
    match word {
        "none" | "0" | "false" => Ok(WriteSync::None),
        "sync" | "1" | "true" => Ok(WriteSync::Sync),
        "dsync" => Ok(WriteSync::Dsync),
        other => Err(Fault::unknown("sync", other, &["none", "sync", "dsync"])),
    }
}

/// fio's checksums; with any of them iotax writes its own stamp.
const CHECKSUMS: &[&str] = &[
    "md5",
    "crc64",
    "crc32c",
    "crc32c-intel",
    "crc32",
    "crc16",
    "crc7",
    "xxhash",
    "sha512",
    "sha256",
    "sha1",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
    "meta",
];

/// Parses `verify`; true if written data are verified.
pub(super) fn parse_verify(word: &str, dialect: Dialect) -> Result<bool, Fault> {
    match (word, dialect) {
        (_, Dialect::Ours) => parse_flag(word, dialect).map_err(|fault| {
            let hint = "iotax has one stamp, with a CRC-32; write verify = true";
            if CHECKSUMS.contains(&word) { Fault::hint(fault.why, hint) } else { fault }
        }),
        // fio's null only pretends to verify.
        ("0" | "null", Dialect::Fio) => Ok(false),
        (word, Dialect::Fio) if CHECKSUMS.contains(&word) => Ok(true),
        ("pattern" | "pattern_hdr", Dialect::Fio) => Err(Fault::hint(
            format!(
                "\"{word}\" cannot be honoured: a pattern that is the same everywhere does not distinguish blocks"
            ),
            "write verify=crc32c: iotax puts a stamp of its own on what is written",
        )),
        _ => Err(Fault::unknown("verify", word, CHECKSUMS)),
    }
}

/// Parses a whole number; a job file accepts fio's suffixes here, too.
pub(super) fn parse_number(word: &str, dialect: Dialect) -> Result<u64, Fault> {
    let number = if dialect == Dialect::Fio { fio::fio_number(word) } else { word.parse().ok() };
    number.ok_or_else(|| Fault::new(format!("\"{word}\" is not a whole number")))
}

/// Parses I/Os per second per thread. Rates above the resolution of the clock are refused.
pub(super) fn parse_rate(word: &str, dialect: Dialect) -> Result<u64, Fault> {
    let rate = parse_number(word, dialect)?;
    if rate <= MAX_RATE {
        return Ok(rate);
    }
    let why = format!(
        "{rate} I/Os a second cannot be paced: the clock of a thread has {MAX_RATE} steps a second, one a nanosecond"
    );
    Err(Fault::hint(why, "write a rate that the stacks can reach, or none for as fast as they go"))
}

pub(super) fn parse_size(word: &str, dialect: Dialect) -> Result<u64, Fault> {
    if dialect == Dialect::Fio {
        return fio::fio_number(word).ok_or_else(|| {
            Fault::hint(
                format!("\"{word}\" is not a size as fio writes it"),
                "write a whole number with k, m or g, as 4k",
            )
        });
    }
    units::parse_bytes(word).map_err(|clause| {
        let fault = Fault::from_clause(&clause);
        let bare = word.bytes().all(|b| b.is_ascii_digit());
        if bare && !word.is_empty() {
            Fault::hint(fault.why, format!("write {}", with_unit(word)))
        } else {
            fault
        }
    })
}

/// Returns the spelling that somebody who writes bare bytes probably meant.
fn with_unit(digits: &str) -> String {
    match digits.parse::<u64>() {
        Ok(bytes) if bytes > 0 && bytes % 1024 == 0 => {
            format!("\"{digits}B\" or \"{}k\"", bytes / 1024)
        }
        Ok(bytes) if bytes < 512 => format!("\"{digits}k\" or \"{digits}KiB\""),
        _ => format!("\"{digits}B\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_the_two_dialects() {
        for (word, ours, fios) in [
            ("4k", Some(4096), Some(4096)),
            ("4K", Some(4096), Some(4096)),
            ("4KiB", Some(4096), Some(4000)),
            ("4Ki", Some(4096), Some(4096)),
            ("4kB", Some(4000), Some(4096)),
            ("4096", None, Some(4096)),
            ("4096B", Some(4096), Some(4096)),
            ("0x1000", None, Some(4096)),
            ("1.5k", Some(1536), None),
            ("4x", None, None),
            ("", None, None),
            ("99999999999999999999g", None, None),
            ("20000000000g", None, None),
        ] {
            assert_eq!(parse_size(word, Dialect::Ours).ok(), ours, "{word} ours");
            assert_eq!(parse_size(word, Dialect::Fio).ok(), fios, "{word} fio's");
        }
    }
}
