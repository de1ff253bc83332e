//! Slips in what sentences conclude, and in what they say of the method.

use super::Slip;
use super::edit::mistyped;
use super::tables::apart;
use crate::selfcheck::draft::{Draft, Form, Item, Kind, Role, Target};
use crate::selfcheck::random::Random;
use crate::selfcheck::words;

const CONCLUDING: &[Kind] = &[Kind::Compared, Kind::Lying];
const COMPARING: &[Kind] = &[Kind::Compared, Kind::Matrix, Kind::Network, Kind::Overhead, Kind::Across];

/// All of them.
pub(super) const ALL: &[Slip] = &[
    Slip {
        name: "said: a digit of a loss or gain",
        help: "one of the first two digits of a loss or gain in a sentence, by at least two points",
        kinds: CONCLUDING,
        rules: &["T1", "N6", "N7"],
        bound: 0.92,
        inject: |draft, random| digit(draft, random, &|form| form != Form::Share),
    },
    Slip {
        name: "said: a digit of a share",
        help: "the same of a share: \"reaches x % of\"",
        kinds: CONCLUDING,
        rules: &["T1", "N6", "N7"],
        bound: 0.0, // Nothing tells which of two systems a wrong share is of: the rule is silent.
        inject: |draft, random| digit(draft, random, &|form| form == Form::Share),
    },
    Slip {
        name: "said: a band too narrow",
        help: "\"within x %\" of less than two thirds of the widest difference",
        kinds: &[Kind::Sizes],
        rules: &["S1"],
        bound: 0.8,
        inject: |draft, random| {
            let id = pick(draft, random, &|role| matches!(role, Role::Band { widest } if *widest > 2.0))?;
            let Role::Band { widest } = draft.figures[id].role else { return None };
            draft.figures[id].text = draft.figures[id].guise.show((0.6 * widest).floor());
            Some(vec![Target::Figure(id)])
        },
    },
    Slip {
        name: "said: a loss that cells do not have",
        help: "\"lose about x %\" of a quarter of what they lose",
        kinds: &[Kind::Matrix],
        rules: &["S2"],
        bound: 0.75,
        inject: |draft, random| {
            let id = pick(draft, random, &|role| *role == Role::About)?;
            let about = (draft.figures[id].value / 4.0).floor();
            draft.figures[id].text = draft.figures[id].guise.show(about);
            (about >= 1.0).then(|| vec![Target::Figure(id)])
        },
    },
    Slip {
        name: "said: a setting that makes it worse",
        help: "\"speeds up\" of a setting whose rows have less",
        kinds: &[Kind::Settings],
        rules: &["S3"],
        bound: 0.95,
        inject: worse,
    },
    Slip {
        name: "said: two margins of error",
        help: "another margin of error further down",
        kinds: &Kind::ALL,
        rules: &["S7"],
        bound: 0.95,
        inject: |draft, _| {
            let last = draft.figures.iter().rposition(|figure| figure.role == Role::Margin)?;
            draft.figures[last].text = draft.figures[last].guise.show(5.0);
            Some(vec![Target::Figure(last)])
        },
    },
    Slip {
        name: "said: hard disks that are too fast",
        help: "four hard disks for a flash drive",
        kinds: &[Kind::Lying],
        rules: &["P8"],
        bound: 0.6, // Of loads in order and of large blocks hard disks are fast.
        inject: |draft, _| {
            let new = words::spinning(draft.tongue);
            replaced(draft, words::prepared(draft.tongue), new)
        },
    },
    Slip {
        name: "method: nothing of the spread",
        help: "the sentence on repeats and deviations is missing",
        kinds: COMPARING,
        rules: &["M1"],
        bound: 0.92,
        inject: |draft, _| replaced(draft, words::spread(draft.tongue), ""),
    },
    Slip {
        name: "method: the best of several",
        help: "the best of three runs for the median of five",
        kinds: COMPARING,
        rules: &["M2"],
        bound: 0.95,
        inject: |draft, _| {
            let best = words::best(draft.tongue);
            replaced(draft, words::spread(draft.tongue), best)
        },
    },
    Slip {
        name: "method: nothing of the drive's state",
        help: "a flash drive that is written to, without how it was prepared",
        kinds: &[Kind::Lying, Kind::Compared],
        rules: &["M3"],
        bound: 0.92,
        inject: |draft, _| replaced(draft, words::prepared(draft.tongue), "NVMe SSD"),
    },
];

fn digit(draft: &mut Draft, random: &mut Random, wanted: &dyn Fn(Form) -> bool) -> Option<Vec<Target>> {
    let id = pick(draft, random, &|role| matches!(role, Role::Said { form, .. } if wanted(*form)))?;
    let old = &draft.figures[id].text;
    let text = mistyped(old, 2, random).filter(|text| apart(text, old, 2.0))?;
    draft.figures[id].text = text;
    Some(vec![Target::Figure(id)])
}

fn pick(draft: &Draft, random: &mut Random, of: &dyn Fn(&Role) -> bool) -> Option<usize> {
    let ids: Vec<usize> = (0..draft.figures.len()).filter(|id| of(&draft.figures[*id].role)).collect();
    (!ids.is_empty()).then(|| *random.pick(&ids))
}

fn replaced(draft: &mut Draft, old: &str, new: &str) -> Option<Vec<Target>> {
    let at = draft.items.iter().position(|item| matches!(item, Item::Line(text) if text == old))?;
    draft.items[at] = Item::Line(new.to_owned());
    Some(vec![Target::Page])
}

/// What stood in the rows of the setting stands in those without it.
fn worse(draft: &mut Draft, _: &mut Random) -> Option<Vec<Target>> {
    let rows = |row: usize| -> Vec<usize> {
        let of = |role: &Role| matches!(role, Role::Value { cell: (0, at, _), .. } if *at == row);
        (0..draft.figures.len()).filter(|id| of(&draft.figures[*id].role)).collect()
    };
    let pairs: Vec<(usize, usize)> = [0, 2]
        .into_iter()
        .flat_map(|row| rows(row).into_iter().zip(rows(row + 1)).collect::<Vec<_>>())
        .collect();
    for (plain, cached) in &pairs {
        let text = std::mem::take(&mut draft.figures[*plain].text);
        draft.figures[*plain].text = std::mem::replace(&mut draft.figures[*cached].text, text);
    }
    (!pairs.is_empty()).then(|| vec![Target::Item(draft.items.len() - 1)])
}
