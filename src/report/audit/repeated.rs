//! Findings that page after page of a folder has alike: told of the first pages, and counted behind the last.

use super::{Severity, Told};
use std::collections::{HashMap, HashSet};

/// Pages that are told each of one finding.
const PAGES: usize = 3;

/// What was found so far, by rule and message, figures and all: findings that differ in a figure are each told.
#[derive(Default)]
pub struct Repeated {
    kinds: HashMap<(&'static str, String), Kind>,
}

struct Kind {
    /// Which of the kinds it is, in the order in which they were found.
    at: usize,
    severity: Severity,
    pages: usize,
}

/// A finding that more pages have than it was told of.
pub struct More {
    pub rule: &'static str,
    pub severity: Severity,
    pub message: String,
    /// Pages that it was not told of.
    pub pages: usize,
}

impl Repeated {
    /// What of the findings of the next page is to be told: what fewer pages before it had.
    pub fn news<'a>(&mut self, mut found: Vec<&'a Told>) -> Vec<&'a Told> {
        let mut here = HashSet::new();
        for finding in found.iter().map(|told| &told.finding) {
            if here.insert((finding.rule, finding.message.as_str())) {
                let at = self.kinds.len();
                let key = (finding.rule, finding.message.clone());
                let new = Kind { at, severity: finding.severity, pages: 0 };
                self.kinds.entry(key).or_insert(new).pages += 1;
            }
        }
        let told = |told: &&Told| {
            let key = (told.finding.rule, told.finding.message.clone());
            self.kinds.get(&key).is_none_or(|kind| kind.pages <= PAGES)
        };
        found.retain(told);
        found
    }

    /// What was not told of every page that has it, in the order in which it was found.
    pub fn more(self) -> Vec<More> {
        let mut kinds: Vec<_> = self.kinds.into_iter().filter(|(_, kind)| kind.pages > PAGES).collect();
        kinds.sort_by_key(|(_, kind)| kind.at);
        let more = |((rule, message), kind): ((&'static str, String), Kind)| More {
            rule,
            severity: kind.severity,
            message,
            pages: kind.pages - PAGES,
        };
        kinds.into_iter().map(more).collect()
    }
}
