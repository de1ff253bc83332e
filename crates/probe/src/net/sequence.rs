//! Record of the numbers of a sequence that have arrived: new ones, late ones, and duplicates.

/// Maximum distance from the highest number at which the arrival of a number is remembered.
const REACH: u64 = 1 << 14;

/// Numbers that arrived, in memory of fixed size. A number further back than [`REACH`] counts as
/// new.
pub(super) struct Sequence {
    bits: Vec<u64>,
    /// Number after the highest that has arrived.
    next: u64,
    pub(super) distinct: u64,
    /// Number of `distinct` that arrived after a higher one.
    pub(super) reordered: u64,
    pub(super) duplicates: u64,
}

impl Sequence {
    pub(super) fn new() -> Sequence {
        Sequence {
            bits: vec![0; (REACH / 64) as usize],
            next: 0,
            distinct: 0,
            reordered: 0,
            duplicates: 0,
        }
    }

    /// Notes an arrival, and returns true if it is the first of its number, or if that is too far
    /// back to be known.
    pub(super) fn note_arrival(&mut self, number: u64) -> bool {
        if number >= self.next {
            let passed = (number - self.next).min(REACH);
            for skipped in number - passed..number {
                self.set_bit(skipped, false);
            }
            self.set_bit(number, true);
            self.next = number.saturating_add(1);
            self.distinct += 1;
            return true;
        }
        let within = self.next - number <= REACH;
        if within && self.is_set(number) {
            self.duplicates += 1;
            return false;
        }
        if within {
            self.set_bit(number, true);
        }
        self.distinct += 1;
        self.reordered += 1;
        true
    }

    fn set_bit(&mut self, number: u64, to: bool) {
        let (word, bit) = bit_position(number);
        self.bits[word] = self.bits[word] & !bit | if to { bit } else { 0 };
    }

    fn is_set(&self, number: u64) -> bool {
        let (word, bit) = bit_position(number);
        self.bits[word] & bit != 0
    }
}

fn bit_position(number: u64) -> (usize, u64) {
    let at = number % REACH;
    ((at / 64) as usize, 1 << (at % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn counts_are_those_of_a_set(numbers in prop::collection::vec(0..2000_u64, 0..600), base in 0..1_u64 << 60) {
            let (mut sequence, mut seen, mut highest) = (Sequence::new(), BTreeSet::new(), None);
            let (mut reordered, mut duplicates) = (0, 0);
            for number in numbers.iter().map(|number| base + number) {
                let is_new = seen.insert(number);
                prop_assert_eq!(sequence.note_arrival(number), is_new);
                duplicates += u64::from(!is_new);
                reordered += u64::from(is_new && highest.is_some_and(|highest| number < highest));
                highest = highest.max(Some(number));
            }
            prop_assert_eq!(
                (sequence.distinct, sequence.reordered, sequence.duplicates),
                (seen.len() as u64, reordered, duplicates)
            );
        }
    }

    #[test]
    fn a_far_jump_forgets_and_the_end_of_all_numbers_is_no_trouble() {
        let mut sequence = Sequence::new();
        assert!(
            sequence.note_arrival(5)
                && sequence.note_arrival(5 + 3 * REACH)
                && sequence.note_arrival(u64::MAX)
        );
        assert!(sequence.note_arrival(5 + REACH), "too far back to know, and it did not come");
        assert_eq!((sequence.distinct, sequence.duplicates), (4, 0));
    }
}
