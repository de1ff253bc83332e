//! Measurements as the statistics see them: rounds of slices, with the work and the time of each
//! slice. A round in which one of two stacks did not run makes no pair of them, and enters no
//! figure that compares them.

use std::collections::BTreeMap;

/// Purpose of a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RoundKind {
    /// A round of the comparison itself.
    #[default]
    Plain,
    /// A round with longer slices, for the check that the length does not matter.
    Long,
}

/// One slice of a round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundPart {
    /// Index of the stack that the slice ran on.
    pub stack: usize,
    /// Work done in the window: I/Os, or bytes where slices end on equal bytes.
    pub amount: f64,
    /// Length of the window, in seconds.
    pub seconds: f64,
}

/// A round: slices of every stack, in the order in which they ran.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Round {
    /// Purpose of the round.
    pub kind: RoundKind,
    /// Number of the set-up, a visit or an attach, that the round belongs to.
    pub visit: u32,
    /// Number of the stratum. Set-ups with the same number form one stratum; each stratum has a
    /// ratio of its own, and all have the same weight.
    pub stratum: u32,
    /// True if the slices are a series of short ones, in which every stack ran many times.
    pub in_series: bool,
    /// Slices in order of time.
    pub parts: Vec<RoundPart>,
}

/// Kind of value that a slice yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SliceValue {
    /// Work per second, for slices that end after a set time.
    Rate,
    /// Seconds per unit of work, for slices that end on equal work. Ratios are inverted at the end,
    /// so that they are always ratios of rates.
    Time,
}

impl SliceValue {
    /// Computes the value from the summed work (`amount`) and time. If the divisor is zero the
    /// value is not finite, and no estimate accepts it.
    pub fn of_totals(self, amount: f64, seconds: f64) -> f64 {
        match self {
            SliceValue::Rate => amount / seconds,
            SliceValue::Time => seconds / amount,
        }
    }
}

impl Round {
    /// Returns the value of one stack over the round; `None` if the stack was not in it.
    pub fn stack_value(&self, stack: usize, value: SliceValue) -> Option<f64> {
        let ours = self.parts.iter().filter(|part| part.stack == stack);
        let (n, amount, seconds) = ours.fold((0, 0.0, 0.0), |(n, amount, seconds), part| {
            (n + 1, amount + part.amount, seconds + part.seconds)
        });
        (n > 0).then(|| value.of_totals(amount, seconds))
    }
}

/// Returns the values `(A, B)` of the stacks `a` and `b` in each round of one kind in which both
/// ran, in order of time.
pub fn pairs(
    rounds: &[Round],
    kind: RoundKind,
    a: usize,
    b: usize,
    value: SliceValue,
) -> Vec<(f64, f64)> {
    let of_kind = rounds.iter().filter(|round| round.kind == kind);
    of_kind
        .filter_map(|round| Some((round.stack_value(a, value)?, round.stack_value(b, value)?)))
        .collect()
}

/// Returns the values `(A, B)` of the stacks `a` and `b` in each plain round in which both ran: one
/// list per stratum, in the order of the strata's numbers. The effect of a set-up is common to all
/// rounds of a stratum and absent from the others.
pub fn pairs_by_stratum(
    rounds: &[Round],
    a: usize,
    b: usize,
    value: SliceValue,
) -> Vec<Vec<(f64, f64)>> {
    let mut strata: BTreeMap<u32, Vec<(f64, f64)>> = BTreeMap::new();
    for round in rounds {
        let found = pairs(std::slice::from_ref(round), RoundKind::Plain, a, b, value);
        strata.entry(round.stratum).or_default().extend(found);
    }
    strata.into_values().filter(|stratum| !stratum.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(visit: u32, kind: RoundKind, parts: &[(usize, f64, f64)]) -> Round {
        let part = |(stack, amount, seconds): &(usize, f64, f64)| RoundPart {
            stack: *stack,
            amount: *amount,
            seconds: *seconds,
        };
        Round {
            kind,
            visit,
            stratum: visit % 2,
            in_series: false,
            parts: parts.iter().map(part).collect(),
        }
    }

    #[test]
    fn a_round_is_worth_its_totals() {
        let one = round(
            0,
            RoundKind::Plain,
            &[(0, 10.0, 1.0), (1, 6.0, 1.0), (1, 6.0, 2.0), (0, 20.0, 1.0)],
        );
        assert_eq!(
            (one.stack_value(0, SliceValue::Rate), one.stack_value(1, SliceValue::Rate)),
            (Some(15.0), Some(4.0))
        );
        assert_eq!(one.stack_value(1, SliceValue::Time), Some(0.25));
        assert_eq!(one.stack_value(2, SliceValue::Rate), None);
    }

    #[test]
    fn pairs_need_both_and_keep_strata_apart() {
        let whole = |visit| round(visit, RoundKind::Plain, &[(0, 1.0, 1.0), (1, 2.0, 1.0)]);
        let half = round(0, RoundKind::Plain, &[(0, 1.0, 1.0)]);
        let long = round(0, RoundKind::Long, &[(0, 1.0, 1.0), (1, 3.0, 1.0)]);
        let all = [whole(0), half, long, whole(0), whole(1), whole(2)];
        assert_eq!(pairs(&all, RoundKind::Plain, 0, 1, SliceValue::Rate), vec![(1.0, 2.0); 4]);
        assert_eq!(pairs(&all, RoundKind::Long, 0, 1, SliceValue::Rate), vec![(1.0, 3.0)]);
        let strata = pairs_by_stratum(&all, 0, 1, SliceValue::Rate);
        assert_eq!(strata.iter().map(Vec::len).collect::<Vec<_>>(), [3, 1]);
    }
}
