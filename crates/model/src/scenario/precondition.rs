//! Treatment of drives before anything is measured, in the terms of SNIA's Solid State Storage
//! Performance Test Specification: passes over the whole of each drive, whatever the load, and
//! rounds of the load itself until its pace is steady. Words that ask for nothing are refused.

use super::error::Fault;
use serde::{Deserialize, Serialize};

/// Largest number of passes; more are surely a typing error, since the specification asks for two.
const MOST_PASSES: u32 = 10;
/// Largest number of rounds; nobody waits for more.
const MOST_ROUNDS: u32 = 1000;

/// `precondition`, `steady_round` and `steady_limit` of `[measure]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Precondition {
    /// Number of times that the whole of each drive is written in order before the visits begin.
    pub passes: u32,
    /// True if each load that writes then runs until its pace is steady, before it is measured.
    pub steady: bool,
    /// Length of a round of one stack in nanoseconds.
    pub round_ns: u64,
    pub limit: SteadyLimit,
}

/// When rounds end whose pace does not become steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SteadyLimit {
    Rounds(u32),
    /// Time in nanoseconds, for all stacks of a set together.
    TimeNs(u64),
}

impl Default for Precondition {
    // The rounds and the limit are those of the specification.
    fn default() -> Precondition {
        Precondition {
            passes: 0,
            steady: false,
            round_ns: 60_000_000_000,
            limit: SteadyLimit::Rounds(25),
        }
    }
}

impl Precondition {
    pub fn is_off(&self) -> bool {
        self.passes == 0 && !self.steady
    }

    /// Returns the word in scenarios: `off`, `2x`, `2x,steady`.
    pub fn precondition_word(&self) -> String {
        match (self.passes, self.steady) {
            (0, false) => "off".to_owned(),
            (0, true) => "steady".to_owned(),
            (passes, false) => format!("{passes}x"),
            (passes, true) => format!("{passes}x,steady"),
        }
    }

    /// Sets the passes and the steadiness from a word; rounds and limit have their own keys.
    ///
    /// # Errors
    /// A part is unknown or occurs twice, or the passes are out of bounds.
    pub(super) fn set_from_word(&mut self, word: &str) -> Result<(), Fault> {
        let (mut passes, mut steady) = (None, false);
        for part in word.split(',').map(str::trim) {
            match (part, part.strip_suffix('x')) {
                ("off", _) if word.trim() == "off" => {}
                ("steady", _) if !steady => steady = true,
                (_, Some(number)) if passes.is_none() => passes = Some(passes_of(part, number)?),
                _ => {
                    let why = format!("\"{word}\" is no preconditioning");
                    let hint = "write off, 2x (all of each drive written twice), steady (the load until its pace is steady), or 2x,steady";
                    return Err(Fault::hint(why, hint));
                }
            }
        }
        (self.passes, self.steady) = (passes.unwrap_or(0), steady);
        Ok(())
    }
}

fn passes_of(part: &str, number: &str) -> Result<u32, Fault> {
    match number.parse() {
        Ok(passes @ 1..=MOST_PASSES) => Ok(passes),
        _ => Err(Fault::hint(
            format!("\"{part}\" is not 1x to {MOST_PASSES}x"),
            "write 2x, as SNIA's specification asks for",
        )),
    }
}

/// Parses a limit: `25` rounds, or a time, which `duration` reads.
///
/// # Errors
/// The rounds are fewer than [`LEAST_ROUNDS`] or more than [`MOST_ROUNDS`], or `duration` fails.
pub(super) fn limit(
    word: &str,
    duration: impl Fn(&str) -> Result<u64, Fault>,
) -> Result<SteadyLimit, Fault> {
    if !word.chars().all(|digit| digit.is_ascii_digit()) {
        return duration(word).map(SteadyLimit::TimeNs);
    }
    match word.parse() {
        Ok(rounds @ LEAST_ROUNDS..=MOST_ROUNDS) => Ok(SteadyLimit::Rounds(rounds)),
        _ => Err(Fault::hint(
            format!("\"{word}\" is not {LEAST_ROUNDS} to {MOST_ROUNDS} rounds"),
            format!(
                "write 25, or a time such as 30min; a steady pace takes at least {LEAST_ROUNDS} rounds"
            ),
        )),
    }
}

/// Number of rounds that decide whether a pace is steady.
pub const LEAST_ROUNDS: u32 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(word: &str) -> Result<Precondition, String> {
        let mut found = Precondition::default();
        found.set_from_word(word).map(|()| found).map_err(|fault| format!("{fault:?}"))
    }

    #[test]
    fn words_are_read_and_said_again() {
        for (word, passes, steady) in
            [("off", 0, false), ("2x", 2, false), ("steady", 0, true), ("10x,steady", 10, true)]
        {
            let found = read(word).unwrap();
            assert_eq!(
                (found.passes, found.steady, found.precondition_word()),
                (passes, steady, word.to_owned())
            );
            assert_eq!(found.is_off(), word == "off");
        }
        assert_eq!(read("steady, 3x").unwrap().precondition_word(), "3x,steady");
        for word in
            ["", "2", "x", "0x", "11x", "2x,2x", "steady,steady", "off,steady", "2x,", "twice"]
        {
            assert!(read(word).unwrap_err().contains("2x"), "{word}");
        }
    }

    #[test]
    fn a_limit_is_rounds_or_a_time() {
        let limit = |word| {
            limit(word, |word| match word {
                "30min" => Ok(7),
                _ => Err(Fault::new("no time")),
            })
        };
        assert_eq!(limit("25").ok(), Some(SteadyLimit::Rounds(25)));
        assert_eq!(limit("30min").ok(), Some(SteadyLimit::TimeNs(7)));
        for word in ["4", "1001", "rounds"] {
            assert!(limit(word).is_err(), "{word}");
        }
    }
}
