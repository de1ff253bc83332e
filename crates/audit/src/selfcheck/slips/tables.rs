//! Slips in tables.

use super::Slip;
use super::edit::{mistyped, shifted, swapped};
use crate::selfcheck::draft::{Draft, Form, Kind, Role, Target};
use crate::selfcheck::guise::Guise;
use crate::selfcheck::random::Random;

const COLUMNS: &[Kind] = &[Kind::Compared, Kind::Overhead];
const SHARES: &[Kind] = &[Kind::Matrix, Kind::Network];
const RATIOS: &[Kind] = &[Kind::Compared, Kind::Overhead, Kind::Matrix, Kind::Network, Kind::Across];
const PAIRS: &[Kind] = &[Kind::Sizes, Kind::Replicas, Kind::Lying];

/// Rules that tell of a ratio.
const OF_RATIOS: &[&str] = &["T1", "T2", "N6", "N7", "N4"];

/// All of them.
pub(super) const ALL: &[Slip] = &[
    Slip {
        name: "table: a ratio rounded twice",
        help: "a ratio of the cells as printed, where outputs of the page give another digit",
        kinds: &[Kind::Compared],
        rules: &["N5"],
        bound: 0.45, // Of bandwidths what may be in flight at the end leaves the digit open.
        inject: rounded_twice,
    },
    Slip {
        name: "table: a digit of a ratio in a column",
        help: "one of the first two digits, by at least a point",
        kinds: COLUMNS,
        rules: OF_RATIOS,
        bound: 0.85,
        inject: digit_of_ratio,
    },
    Slip {
        name: "table: a digit of a share of the base",
        help: "the same of shares in brackets or in rows of their own",
        kinds: SHARES,
        rules: OF_RATIOS,
        bound: 0.82,
        inject: digit_of_ratio,
    },
    Slip {
        name: "table: a digit of a ratio of other tables",
        help: "the same where operands stand in other tables",
        kinds: &[Kind::Across],
        rules: OF_RATIOS,
        bound: 0.95,
        inject: digit_of_ratio,
    },
    Slip {
        name: "table: digits of a ratio swapped",
        help: "two neighbouring digits in the wrong order, by at least a point",
        kinds: RATIOS,
        rules: OF_RATIOS,
        bound: 0.87,
        inject: |draft, random| {
            ratio(draft, random, &|draft, id, random| {
                let figure = &draft.figures[id];
                swapped(&figure.text, random).filter(|text| apart(text, &figure.text, 1.0))
            })
        },
    },
    Slip {
        name: "table: the point of a ratio",
        help: "the point one place further left or right",
        kinds: RATIOS,
        rules: &["N6", "T1", "T2"],
        bound: 0.87,
        inject: |draft, random| {
            ratio(draft, random, &|draft, id, _| {
                let figure = &draft.figures[id];
                shifted(&figure.text).filter(|text| apart(text, &figure.text, 1.0))
            })
        },
    },
    Slip {
        name: "table: a ratio of 1000 and 1024",
        help: "a share 1.0486 times as large, as MB by MiB gives it",
        kinds: RATIOS,
        rules: &["N7", "T1", "T2"],
        bound: 0.82,
        inject: |draft, random| {
            ratio(draft, random, &|draft, id, _| {
                let figure = &draft.figures[id];
                let share =
                    matches!(figure.role, Role::Ratio { form: Form::Share, .. }) && figure.guise.decimals > 0;
                share.then(|| figure.guise.show(figure.value * 1.048_576))
            })
        },
    },
    Slip {
        name: "table: a ratio cut off",
        help: "cut off where it is to be rounded up",
        kinds: RATIOS,
        rules: &["N4", "T1"],
        bound: 0.65, // Where operands have few digits a cut ratio is one that they give.
        inject: |draft, random| {
            ratio(draft, random, &|draft, id, _| {
                let figure = &draft.figures[id];
                Some(figure.guise.cut(figure.value)).filter(|text| *text != figure.text)
            })
        },
    },
    Slip {
        name: "table: operands swapped",
        help: "b / a for a / b, by at least a point",
        kinds: RATIOS,
        rules: OF_RATIOS,
        bound: 0.87,
        inject: |draft, random| {
            ratio(draft, random, &|draft, id, _| {
                let figure = &draft.figures[id];
                let Role::Ratio { form, above, below } = figure.role else { return None };
                let value = form.of(draft.figures[below].value, draft.figures[above].value);
                Some(figure.guise.show(value)).filter(|text| apart(text, &figure.text, 1.0))
            })
        },
    },
    Slip {
        name: "table: the ratio of another row",
        help: "the ratio of another row, by at least a point",
        kinds: RATIOS,
        rules: OF_RATIOS,
        bound: 0.9,
        inject: |draft, random| {
            ratio(draft, random, &|draft, id, random| {
                let text = &draft.figures[id].text;
                let others: Vec<&String> = draft
                    .figures
                    .iter()
                    .filter(|other| matches!(other.role, Role::Ratio { .. }) && apart(&other.text, text, 1.0))
                    .map(|other| &other.text)
                    .collect();
                (!others.is_empty()).then(|| (*random.pick(&others)).clone())
            })
        },
    },
    Slip {
        name: "table: a digit of an operand",
        help: "one of the first two digits of a value that a ratio is of",
        kinds: RATIOS,
        rules: &["T1", "T2", "N6", "N7", "N4", "F4", "N3"],
        bound: 0.87,
        inject: operand,
    },
    Slip {
        name: "table: a digit of a bandwidth",
        help: "one of the first two digits of a bandwidth beside its IOPS",
        kinds: PAIRS,
        rules: &["F4", "N3"],
        bound: 0.87,
        inject: |draft, random| paired(draft, random, &|text, _, random| mistyped(text, 2, random)),
    },
    Slip {
        name: "table: the bandwidth of another row",
        help: "a bandwidth beside IOPS is that of another row",
        kinds: PAIRS,
        rules: &["F4", "N3"],
        bound: 0.85,
        inject: |draft, random| {
            paired(draft, random, &|text, others, random| {
                let others: Vec<&String> =
                    others.iter().filter(|other| apart_by(other, text, 0.02)).collect();
                (!others.is_empty()).then(|| (*random.pick(&others)).clone())
            })
        },
    },
    Slip {
        name: "table: a column of another unit",
        help: "bandwidths of 1024 under a label of 1000",
        kinds: &[Kind::Sizes],
        rules: &["N8"],
        bound: 0.82,
        inject: other_unit,
    },
    Slip {
        name: "table: a lost carry",
        help: "IOPS whose carry was lost beside a bandwidth that is right",
        kinds: &[Kind::Sizes, Kind::Replicas],
        rules: &["N3", "F4"],
        bound: 0.85,
        inject: carry,
    },
    Slip {
        name: "table: a drive unlike the others",
        help: "one of at least four equal drives has half as much again",
        kinds: &[Kind::Replicas],
        rules: &["T9"],
        bound: 0.95,
        inject: |draft, random| outlier(draft, random, 1.5),
    },
    Slip {
        name: "table: a drive with half",
        help: "one of at least four equal drives has half",
        kinds: &[Kind::Replicas],
        rules: &["T10"],
        bound: 0.92,
        inject: |draft, random| outlier(draft, random, 0.5),
    },
];

/// The number in a text; full-width digits and commas too.
pub(super) fn number(text: &str) -> Option<f64> {
    let narrow = |letter: char| match letter {
        '０'..='９' | '．' => char::from_u32(letter as u32 - 0xfee0).unwrap_or(letter),
        ',' => '.',
        other => other,
    };
    let digits: String = text
        .chars()
        .map(narrow)
        .take_while(|letter| letter.is_ascii_digit() || ".-".contains(*letter))
        .collect();
    digits.parse().ok()
}

/// Whether two texts are so many points apart.
pub(super) fn apart(left: &str, right: &str, points: f64) -> bool {
    matches!((number(left), number(right)), (Some(left), Some(right)) if (left - right).abs() >= points)
}

/// The same by a share.
fn apart_by(left: &str, right: &str, share: f64) -> bool {
    matches!((number(left), number(right)), (Some(left), Some(right)) if (left / right - 1.0).abs() >= share)
}

type Change<'a> = &'a dyn Fn(&Draft, usize, &mut Random) -> Option<String>;

/// Changes one of the ratios; not that of the base itself.
fn ratio(draft: &mut Draft, random: &mut Random, to: Change) -> Option<Vec<Target>> {
    let of = |role: &Role| matches!(role, Role::Ratio { above, below, .. } if above != below);
    let mut ids: Vec<usize> = (0..draft.figures.len()).filter(|id| of(&draft.figures[*id].role)).collect();
    random.shuffle(&mut ids);
    let (id, text) = ids.into_iter().find_map(|id| Some((id, to(draft, id, random)?)))?;
    draft.figures[id].text = text;
    Some(vec![Target::Figure(id)])
}

/// The ratio of what two copied cells print, where it is shown otherwise than that of the runs.
fn rounded_twice(draft: &mut Draft, random: &mut Random) -> Option<Vec<Target>> {
    ratio(draft, random, &|draft, id, _| {
        let Role::Ratio { form, above, below } = draft.figures[id].role else { return None };
        let printed = |id: usize| {
            let figure = &draft.figures[id];
            let copied = matches!(figure.role, Role::Value { copied: Some(_), .. });
            let number = figure.text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
            let unit = &figure.text[number.len()..];
            let scale = match unit {
                "" => 1.0,
                "k" => 1e3,
                "M" => 1e6,
                "KiB/s" => 1024.0,
                "MiB/s" => 1_048_576.0,
                "GiB/s" => 1_073_741_824.0,
                _ => return None,
            };
            Some(number.parse::<f64>().ok()? * scale).filter(|_| copied)
        };
        let figure = &draft.figures[id];
        let text = figure.guise.show(form.of(printed(above)?, printed(below)?));
        (text != figure.text).then_some(text)
    })
}

fn digit_of_ratio(draft: &mut Draft, random: &mut Random) -> Option<Vec<Target>> {
    ratio(draft, random, &|draft, id, random| {
        let figure = &draft.figures[id];
        mistyped(&figure.text, 2, random).filter(|text| apart(text, &figure.text, 1.0))
    })
}

fn operand(draft: &mut Draft, random: &mut Random) -> Option<Vec<Target>> {
    let uses = |draft: &Draft, id: usize| -> Vec<usize> {
        let of = |role: &Role| matches!(role, Role::Ratio { above, below, .. } if (*above == id) != (*below == id));
        (0..draft.figures.len()).filter(|other| of(&draft.figures[*other].role)).collect()
    };
    let ids: Vec<usize> = (0..draft.figures.len()).filter(|id| !uses(draft, *id).is_empty()).collect();
    let id = *(!ids.is_empty()).then(|| random.pick(&ids))?;
    let text = mistyped(&draft.figures[id].text, 2, random)
        .filter(|text| apart_by(text, &draft.figures[id].text, 0.02))?;
    draft.figures[id].text = text;
    Some([id].into_iter().chain(uses(draft, id)).map(Target::Figure).collect())
}

type Pairs<'a> = &'a dyn Fn(&str, &[String], &mut Random) -> Option<String>;

/// Changes one of the bandwidths that stand beside their IOPS.
fn paired(draft: &mut Draft, random: &mut Random, to: Pairs) -> Option<Vec<Target>> {
    let of = |role: &Role| matches!(role, Role::Value { rate: false, twin: Some(_), .. });
    let ids: Vec<usize> = (0..draft.figures.len()).filter(|id| of(&draft.figures[*id].role)).collect();
    let id = *(!ids.is_empty()).then(|| random.pick(&ids))?;
    let others: Vec<String> = ids.iter().map(|other| draft.figures[*other].text.clone()).collect();
    let old = draft.figures[id].text.clone();
    draft.figures[id].text = to(&old, &others, random).filter(|text| apart_by(text, &old, 0.02))?;
    Some(vec![Target::Figure(id)])
}

fn other_unit(draft: &mut Draft, _: &mut Random) -> Option<Vec<Target>> {
    let mut found = Vec::new();
    for (id, figure) in draft.figures.iter_mut().enumerate() {
        if matches!(figure.role, Role::Value { rate: false, twin: Some(_), cell: (0, ..), .. }) {
            if figure.guise.scale != 1e6 {
                return None;
            }
            figure.text = Guise { scale: 1_048_576.0, ..figure.guise }.show(figure.value);
            found.push(Target::Figure(id));
        }
    }
    Some(found).filter(|found| !found.is_empty())
}

fn carry(draft: &mut Draft, random: &mut Random) -> Option<Vec<Target>> {
    let of = |id: &usize| {
        let figure = &draft.figures[*id];
        let one =
            figure.guise.scale == 1e3 && figure.guise.decimals == 1 && (11e3..99e3).contains(&figure.value);
        matches!(figure.role, Role::Value { rate: true, twin: Some(_), .. }) && one
    };
    let ids: Vec<usize> = (0..draft.figures.len()).filter(of).collect();
    let id = *(!ids.is_empty()).then(|| random.pick(&ids))?;
    let Role::Value { twin: Some(twin), bs: Some(bs), .. } = draft.figures[id].role else { return None };
    let exact = (draft.figures[id].value / 1e3).round() * 1e3 - random.between(2.0, 40.0).floor();
    draft.figures[id].value = exact;
    draft.figures[id].text = draft.figures[id].guise.show((exact / 1e3).floor() * 1e3);
    draft.figures[twin].value = exact * bs as f64;
    draft.figures[twin].text = draft.figures[twin].guise.show(exact * bs as f64);
    // A bandwidth of two or three digits does not tell 76.0k from 77.0k.
    let digits = draft.figures[twin].text.chars().filter(char::is_ascii_digit).count();
    (digits >= 4).then(|| vec![Target::Figure(id)])
}

fn outlier(draft: &mut Draft, random: &mut Random, factor: f64) -> Option<Vec<Target>> {
    let of = |role: &Role| matches!(role, Role::Value { rate: true, twin: Some(_), .. });
    let ids: Vec<usize> = (0..draft.figures.len()).filter(|id| of(&draft.figures[*id].role)).collect();
    let id = *(!ids.is_empty()).then(|| random.pick(&ids))?;
    let Role::Value { twin: Some(twin), .. } = draft.figures[id].role else { return None };
    for one in [id, twin] {
        draft.figures[one].value *= factor;
        draft.figures[one].text = draft.figures[one].guise.show(draft.figures[one].value);
    }
    Some([id, twin].map(Target::Figure).to_vec())
}
