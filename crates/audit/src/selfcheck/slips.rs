//! The slips: one figure of a sound document changed the way people and tools get it wrong. Each says which rules count as having
//! found it and in how many documents at least one must.

mod bounded;
mod edit;
mod raw;
mod said;
mod states;
mod tables;
mod tools;
mod without;

use super::draft::{Draft, Kind, Target};
use super::random::Random;

pub use without::WITHOUT;

/// A kind of slip.
pub struct Slip {
    /// `a digit of IOPS`.
    pub name: &'static str,
    /// What is done.
    pub help: &'static str,
    /// Documents that can have it.
    pub kinds: &'static [Kind],
    /// Rules that count as having found it.
    pub rules: &'static [&'static str],
    /// Share of documents in which one of them must.
    pub bound: f64,
    /// Does it; where it can be found. `None` where the document has nothing that it can be done to.
    pub inject: fn(&mut Draft, &mut Random) -> Option<Vec<Target>>,
}

/// All of them.
pub fn all() -> impl Iterator<Item = &'static Slip> {
    raw::ALL
        .iter()
        .chain(states::ALL)
        .chain(tools::ALL)
        .chain(tables::ALL)
        .chain(said::ALL)
        .chain(bounded::ALL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slip_has_a_name_of_its_own_and_changes_something() {
        let names: std::collections::HashSet<&str> = all().map(|slip| slip.name).collect();
        assert_eq!(names.len(), all().count());
        for slip in all() {
            let (seed, slipped) = crate::selfcheck::measure::slipped(slip, 5)
                .unwrap_or_else(|| panic!("no document for {}", slip.name));
            assert_ne!(slipped.written.text, slipped.sound.written().text, "{} seed {seed}", slip.name);
            assert!((0.0..=1.0).contains(&slip.bound) && !slip.rules.is_empty());
        }
    }

    #[test]
    fn every_rule_has_a_slip_or_a_reason_why_none() {
        for rule in crate::rule::ALL {
            let slips = all().any(|slip| slip.rules.contains(&rule.id));
            let reason = WITHOUT.iter().any(|(id, _)| *id == rule.id);
            assert!(slips != reason, "{}: a slip {slips}, a reason {reason}", rule.id);
        }
        assert!(WITHOUT.iter().all(|(id, _)| crate::rule::ALL.iter().any(|rule| rule.id == *id)));
    }

    #[test]
    fn rules_that_find_them_exist() {
        // N2 and its like are told by rules of other names.
        let told = ["N2", "N3", "N4", "N5", "N6", "N7", "T10"];
        for rule in all().flat_map(|slip| slip.rules) {
            let known = crate::rule::ALL.iter().any(|known| known.id == *rule) || told.contains(rule);
            assert!(known, "{rule}");
        }
    }
}
