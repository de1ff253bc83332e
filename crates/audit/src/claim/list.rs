//! The figures of a page as a list: what each is of, whether it holds, and why. Made only where somebody asks for it.

use super::whose::{self, Whose};
use super::why::Whys;
use super::{Claim, Status};
use crate::audit::Audited;
use std::collections::HashMap;
use std::sync::Arc;

/// A figure with what is told of it.
#[derive(Clone, Debug)]
pub struct Listed<'a> {
    /// The figure.
    pub claim: &'a Claim,
    /// Number of its line.
    pub line: u32,
    /// Its columns from 1 in characters, the second behind its last; `None` where the lines of the page are not those of the file.
    pub columns: Option<(usize, usize)>,
    /// As it is printed.
    pub printed: &'a str,
    /// Which system it is of, as the page calls it; of a ratio both. `None` where nothing tells.
    pub system: Option<Arc<str>>,
    /// Which workload.
    pub workload: Option<Arc<str>>,
    /// The rule that settled it, or why none could.
    pub why: &'static str,
}

/// All figures, in the order of the page.
pub fn listed(audited: &Audited) -> Vec<Listed<'_>> {
    let (page, whys) = (&audited.page, Whys::of(audited));
    let whose: HashMap<_, Whose> = whose::of(audited);
    let mut claims: Vec<&Claim> = audited.claims.iter().collect();
    claims.sort_by_key(|claim| claim.spot);
    let mut ruler = Ruler { line: u32::MAX, byte: 0, characters: 0 };
    let mut listed = Vec::with_capacity(claims.len());
    for claim in claims {
        let Whose { system, workload } = whose.get(&claim.spot).cloned().unwrap_or_default();
        let printed = page.quote(claim.spot);
        let start = ruler.before(page.line(claim.spot.index()), claim.spot.line, claim.spot.start as usize);
        listed.push(Listed {
            claim,
            line: page.number(claim.spot.index()),
            columns: (!page.is_rendered()).then(|| (start + 1, start + 1 + printed.chars().count())),
            printed,
            system,
            workload,
            why: if claim.status == Status::CannotBeChecked { whys.why(claim) } else { claim.why },
        });
    }
    listed
}

/// Counts the characters before a byte, going on from the last: thousands of figures may stand in one line.
struct Ruler {
    line: u32,
    byte: usize,
    characters: usize,
}

impl Ruler {
    fn before(&mut self, text: &str, line: u32, byte: usize) -> usize {
        if line != self.line || byte < self.byte {
            *self = Ruler { line, byte: 0, characters: 0 };
        }
        // A spot that begins within a character is of that character.
        let to = (0..=byte.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        self.characters += text.get(self.byte..to).map_or(0, |part| part.chars().count());
        self.byte = to.max(self.byte);
        self.characters
    }
}
