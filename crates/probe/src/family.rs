//! Table of all probes: finds the definition of a probe by its name, and prepares the probe.

use crate::exchange::Exchange;
use crate::spec::{Argument, Definition, Probe, ProbeError, ProbeSpec, ProbeUnit};
use crate::tool::removed::{self, RemovedTool};
use crate::{net, own, tool};
use iotax_load::{SliceResult, SliceSpec};
use iotax_units as units;

pub fn all_definitions() -> impl Iterator<Item = &'static Definition> {
    own::ALL.iter().chain(net::ALL).chain(tool::ALL).copied()
}

pub fn definition(name: &str) -> Option<&'static Definition> {
    all_definitions().find(|definition| definition.name == name)
}

/// Prepares a probe in this place.
///
/// # Errors
/// When the probe or its parameters do not fit this place or version, a program is missing, or the
/// system or the other end refuses.
pub fn prepare(spec: &ProbeSpec) -> Result<Box<dyn Probe>, ProbeError> {
    let probe = (spec.definition()?.prepare)(spec)?;
    Ok(match spec.unit()? {
        ProbeUnit::Time(_) => Box::new(Timed(probe)),
        ProbeUnit::Count(_) | ProbeUnit::Bytes => probe,
    })
}

/// Probe whose unit is a time. The window of its slices is the sum of all measured times, so that
/// units per window are one over the mean time, for any number of threads, streams or copies of a
/// tool.
struct Timed(Box<dyn Probe>);

impl Probe for Timed {
    fn name(&self) -> String {
        self.0.name()
    }

    fn slice_command(&self) -> Option<Vec<String>> {
        self.0.slice_command()
    }

    fn last_exchange(&self) -> Option<Exchange> {
        self.0.last_exchange()
    }

    fn run_probe_slice(&mut self, spec: &SliceSpec) -> Result<SliceResult, ProbeError> {
        let result = self.0.run_probe_slice(spec)?;
        let mean_ns = result.read.latency.mean();
        let window_ns = mean_ns
            .map_or(result.window_ns, |mean| (mean * result.read.ios as f64).max(1.0) as u64);
        Ok(SliceResult { window_ns, ..result })
    }
}

impl ProbeSpec {
    /// Parses a probe as it is written: `integer`, `copy(128MiB)`, `mbw(memcpy)`.
    ///
    /// # Errors
    /// A clause that says what is wrong, and which probes or words are known.
    pub fn parse(text: &str) -> Result<ProbeSpec, String> {
        let text = text.trim();
        let (name, argument) = match text.split_once('(') {
            None => (text, None),
            Some((name, rest)) => {
                let argument = rest
                    .strip_suffix(')')
                    .ok_or_else(|| format!("\"{text}\" has no \")\" at its end"))?;
                (name.trim(), Some(argument.trim()).filter(|argument| !argument.is_empty()))
            }
        };
        let known = || all_definitions().map(|one| one.name).collect::<Vec<_>>().join(", ");
        let found =
            definition(name).ok_or_else(|| match removed::find_removed(name, argument) {
                Some(tool) => {
                    format!("iotax no longer runs the tool of \"{text}\"; hint: {}", tool.instead)
                }
                None => format!("unknown probe \"{name}\"; known probes: {}", known()),
            })?;
        let argument = found
            .argument
            .check_argument(argument)
            .map_err(|why| format!("probe \"{name}\": {why}"))?;
        Ok(ProbeSpec {
            name: name.to_owned(),
            argument,
            numjobs: 1,
            cpus_allowed: Vec::new(),
            peer: None,
            token: None,
            rate: None,
            course_ns: None,
            folder: None,
        })
    }

    /// Looks up the definition of the probe.
    ///
    /// # Errors
    /// [`ProbeError::Unfit`] for a probe that only a later or an earlier version has.
    pub fn definition(&self) -> Result<&'static Definition, ProbeError> {
        definition(&self.name).ok_or_else(|| {
            let why = format!("this version of iotax has no probe called \"{}\"", self.name);
            ProbeError::Unfit(match self.removed() {
                Some(tool) => format!("{why}; hint: {}", tool.instead),
                None => why,
            })
        })
    }

    fn removed(&self) -> Option<&'static RemovedTool> {
        removed::find_removed(&self.name, self.argument.as_deref())
    }

    /// Returns true for a tool of the field, which runs as a program once per slice, or for one
    /// that only earlier versions ran.
    pub fn is_tool(&self) -> bool {
        tool::ALL.iter().any(|tool| tool.name == self.name) || self.removed().is_some()
    }

    /// Returns the unit of the probe's work, also of a tool that only earlier versions ran.
    ///
    /// # Errors
    /// The errors of [`ProbeSpec::definition`].
    pub fn unit(&self) -> Result<ProbeUnit, ProbeError> {
        if let Some(tool) = self.removed() {
            return Ok(tool.unit);
        }
        let definition = self.definition()?;
        let Argument::Test(tests) = definition.argument else { return Ok(definition.unit) };
        let test = tests.iter().find(|(word, ..)| Some(*word) == self.argument.as_deref());
        Ok(test.map_or(definition.unit, |(_, unit, _)| *unit))
    }

    /// Returns the size of a datagram of the probe `udp` in bytes, without headers, on a path whose
    /// segments are not smaller.
    pub fn datagram_bytes(&self) -> u64 {
        let is_small = self.argument.as_deref().is_some_and(|word| word.starts_with("small"));
        u64::from(if is_small { net::SMALL_DATAGRAM } else { net::LONGEST_DATAGRAM })
    }

    /// Returns the bytes of memory that the buffers of all threads take, two for each thread of
    /// `copy`. 0 for a probe whose argument is not a size.
    pub fn memory(&self) -> u64 {
        let is_sized =
            self.definition().is_ok_and(|known| matches!(known.argument, Argument::Bytes { .. }));
        let ends = if self.name == "copy" { 2 } else { 1 };
        self.amount()
            .filter(|_| is_sized)
            .unwrap_or(0)
            .saturating_mul(ends * u64::from(self.numjobs))
    }

    /// Returns the argument as bytes or nanoseconds; `None` if it is neither a size nor a time.
    pub fn amount(&self) -> Option<u64> {
        let text = self.argument.as_deref()?;
        match self.definition().ok()?.argument {
            Argument::Bytes { .. } => units::parse_bytes(text).ok(),
            Argument::Time { .. } => {
                units::parse_duration(text).ok().map(|time| time.as_nanos() as u64)
            }
            Argument::None | Argument::Word(_) | Argument::Test(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_every_default_is_read_back() {
        let mut names = BTreeSet::new();
        for one in all_definitions() {
            assert!(names.insert(one.name), "{} is there twice", one.name);
            let spec = ProbeSpec::parse(one.name).unwrap();
            assert_eq!(ProbeSpec::parse(&spec.to_string()).unwrap(), spec);
        }
    }

    #[test]
    fn bad_words_are_refused() {
        assert!(ProbeSpec::parse("intger").unwrap_err().contains("known probes: integer, "));
        assert!(ProbeSpec::parse("copy(128MiB").unwrap_err().contains("no \")\""));
        assert!(ProbeSpec::parse("copy(1B)").unwrap_err().contains("is less than"));
        assert!(ProbeSpec::parse("chase(1TiB)").unwrap_err().contains("is more than 128 GiB"));
        assert!(ProbeSpec::parse("integer(5)").unwrap_err().contains("takes nothing"));
    }
}
