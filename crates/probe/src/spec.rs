//! Specification of a probe, such as `copy(128MiB)`; definition of each kind of probe; and
//! interface of a prepared probe.

use crate::exchange::Exchange;
use iotax_load::{LoadError, SliceResult, SliceSpec};
use iotax_units as units;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Probe and the parameters that it works with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeSpec {
    pub name: String,
    /// Argument in its checked form: `128MiB` of `copy(128MiB)`; `None` if the probe takes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// Number of instances that run side by side (fio's `numjobs`); streams of a network probe.
    #[serde(default = "default_one", skip_serializing_if = "is_one")]
    pub numjobs: u32,
    /// Processors that the probe may run on, one for each thread in turn (fio's `cpus_allowed`);
    /// empty means those of the process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpus_allowed: Vec<u32>,
    /// Address at which the other end of a network probe listens; set when it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<SocketAddr>,
    /// Token that the other end requires: 32 hexadecimal digits ([`crate::net::ProbeServer::token`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// Bytes per second that a `udp` probe sends, all its streams of a direction together (fio's
    /// `rate`); `None` means as fast as possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<u64>,
    /// Steps in nanoseconds in which arrivals are recorded ([`crate::ExchangeDirection::course`]);
    /// `None` means that only their sum is recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub course_ns: Option<u64>,
    /// Folder of the tool on the host of the run ([`crate::tool::with_named_folder`]), for a place
    /// whose own environment names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
}

fn default_one() -> u32 {
    1
}

fn is_one(many: &u32) -> bool {
    *many == 1
}

/// Largest size that a probe takes, in bytes: the index of a cache line in this much memory has 31
/// bits.
pub const MOST_BYTES: u64 = 128 << 30;

/// Argument in the brackets after a probe's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    None,
    Bytes {
        default: u64,
        least: u64,
    },
    Time {
        default_ns: u64,
    },
    /// One of these words, each with its meaning; the first is the default.
    Word(&'static [(&'static str, &'static str)]),
    /// One of these tests of a tool, each with its unit and its meaning; the first is the default.
    Test(&'static [(&'static str, ProbeUnit, &'static str)]),
}

/// Unit of a probe's work, for tables and verdicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeUnit {
    /// Counted units, as a rate; more is better: `loads` per second.
    Count(&'static str),
    /// Moved bytes, as a rate; more is better.
    Bytes,
    /// Time that passes before the named event; less is better. The window of a slice is the sum of
    /// these times.
    Time(&'static str),
}

/// Prepared probe. Dropping it ends it.
pub trait Probe: Send {
    /// Returns the name for records: `integer`, `mbw 1.2.2`.
    fn name(&self) -> String;
    /// Returns the exact command of a slice, if the probe is a program.
    fn slice_command(&self) -> Option<Vec<String>> {
        None
    }
    /// Runs one slice. Units of work are in `read.ios`, bytes in `read.bytes`, the times of units,
    /// where each is timed, in `read.latency`. What `tcp` and `udp` send is in `write` instead, and
    /// so is the second direction of a tool.
    ///
    /// # Errors
    /// When it could not be run to its end.
    fn run_probe_slice(&mut self, spec: &SliceSpec) -> Result<SliceResult, ProbeError>;
    /// Returns further results of the last slice over a network; `None` for all other probes.
    fn last_exchange(&self) -> Option<Exchange> {
        None
    }
}

pub struct Definition {
    pub name: &'static str,
    pub argument: Argument,
    /// Unit of the probe's work, unless each of its tests has its own: [`ProbeSpec::unit`].
    pub unit: ProbeUnit,
    /// Subject of a verdict: `integer work`.
    pub subject: &'static str,
    /// Sentence that says what one unit does.
    pub about: &'static str,
    /// Related tool of the field and how it differs, or, for a tool, the related probe of iotax.
    pub relative: &'static str,
    /// Program that must be installed, and the package that has it.
    pub program: Option<(&'static str, &'static str)>,
    pub shortest_slice_ns: u64,
    /// True if the probe needs another place that answers.
    pub needs_peer: bool,
    pub prepare: fn(&ProbeSpec) -> Result<Box<dyn Probe>, ProbeError>,
}

/// Reason why a probe could not be prepared or a slice of it could not run.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The request cannot be fulfilled here; the words say why and what to do.
    #[error("{0}")]
    Unfit(String),
    #[error("{program} is not installed; hint: apt install {package}")]
    Missing { program: String, package: String },
    #[error("cannot {action}: {source}")]
    System { action: String, source: std::io::Error },
    /// A program or the other end did not do what it should: the words say what.
    #[error("{0}")]
    Failed(String),
    #[error(transparent)]
    Load(#[from] LoadError),
}

impl ProbeSpec {
    /// Returns true if the probe counts only arrivals from the other end, and nothing that goes
    /// there.
    pub fn receives(&self) -> bool {
        matches!(self.argument.as_deref(), Some("receive" | "small-receive" | "reverse"))
    }
}

/// Writes the form that [`ProbeSpec::parse`] reads: `copy(128MiB)`.
impl fmt::Display for ProbeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.argument {
            Some(argument) => write!(f, "{}({argument})", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl Argument {
    /// Checks a written argument and returns the form in which it is stored; the default if none is
    /// written, `None` if the probe takes none.
    pub(crate) fn check_argument(self, written: Option<&str>) -> Result<Option<String>, String> {
        match (self, written) {
            (Argument::None, None) => Ok(None),
            (Argument::None, Some(text)) => {
                Err(format!("takes nothing in brackets, got \"{text}\""))
            }
            (Argument::Bytes { default, least }, text) => {
                let bytes = text.map_or(Ok(default), units::parse_bytes)?;
                let size = units::show_size;
                match bytes {
                    _ if bytes < least => {
                        Err(format!("{} is less than {}", size(bytes), size(least)))
                    }
                    _ if bytes > MOST_BYTES => {
                        Err(format!("{} is more than {}", size(bytes), size(MOST_BYTES)))
                    }
                    _ => Ok(Some(format_whole_bytes(bytes))),
                }
            }
            (Argument::Time { default_ns }, text) => {
                let ns = text.map_or(Ok(default_ns), |text| {
                    units::parse_duration(text).map(|time| time.as_nanos() as u64)
                })?;
                match ns {
                    0 => Err("the time must be above 0".to_owned()),
                    _ => Ok(Some(format!("{}us", ns.div_ceil(1000)))),
                }
            }
            (Argument::Word(words), text) => one_of(words.iter().map(|(word, _)| *word), text),
            (Argument::Test(tests), text) => one_of(tests.iter().map(|(word, ..)| *word), text),
        }
    }
}

/// Returns the known word that is written, or the first one if none is.
fn one_of(
    words: impl Iterator<Item = &'static str> + Clone,
    written: Option<&str>,
) -> Result<Option<String>, String> {
    let Some(written) = written else { return Ok(words.clone().next().map(str::to_owned)) };
    match words.clone().find(|word| word.eq_ignore_ascii_case(written)) {
        Some(word) => Ok(Some(word.to_owned())),
        None => {
            let known = words.collect::<Vec<_>>().join(", ");
            Err(format!("unknown word \"{written}\"; known words: {known}"))
        }
    }
}

/// Writes bytes in the largest unit that keeps them whole, without a blank.
fn format_whole_bytes(bytes: u64) -> String {
    let unit = [("GiB", units::GIB), ("MiB", units::MIB), ("KiB", units::KIB)]
        .into_iter()
        .find(|(_, one)| bytes % one == 0);
    unit.map_or_else(|| format!("{bytes}B"), |(name, one)| format!("{}{name}", bytes / one))
}
