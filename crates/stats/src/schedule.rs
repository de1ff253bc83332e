//! The order of slices and visits: random and balanced. Every stack is at mirrored positions of a
//! round, so a steady drift over the round affects all alike. The order is drawn again each round,
//! so that no periodic noise can stay in step with it (a fixed ABBA finds false costs there).

use super::pilot::Pattern;
use iotax_units::random::Random;

/// Draws orders; the same seed gives the same orders in every version of iotax.
#[derive(Clone, Debug)]
pub struct Schedule {
    random: Random,
}

impl Schedule {
    /// Starts from the run's seed. Every use, such as a workload, needs a `stream` of its own, or
    /// its orders repeat another's.
    pub fn new(seed: u64, stream: u64) -> Schedule {
        let state = Random::from_state(seed)
            .next()
            .wrapping_add(stream.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Schedule { random: Random::from_state(state) }
    }

    /// Draws one round: a random permutation of `0..stacks`, then its mirror image. For two stacks
    /// that is ABBA or BAAB with equal probability.
    pub fn round(&mut self, stacks: usize) -> Vec<usize> {
        let order = self.permutation(stacks);
        order.iter().chain(order.iter().rev()).copied().collect()
    }

    /// Draws one round in the order of a pattern: the stack, out of `0..stacks`, of each slice.
    pub fn patterned(&mut self, stacks: usize, pattern: Pattern) -> Vec<usize> {
        let mut order = self.round(stacks);
        if pattern == Pattern::Double {
            // ABBA, then BAAB.
            let again: Vec<usize> =
                order[stacks..].iter().chain(&order[..stacks]).copied().collect();
            order.extend(again);
        }
        order
    }

    /// Draws an order of visits to sets, `visits` to each: random orders, each followed by its
    /// mirror image. If `visits` is odd, the last order has no mirror image. `groups` has a number
    /// for each set; in each order, the sets of one number follow each other.
    pub fn visits(&mut self, groups: &[usize], visits: usize) -> Vec<usize> {
        let sets = groups.len();
        let mut order = Vec::with_capacity(sets * visits);
        for pass in 0..visits {
            if pass % 2 == 1 {
                let mirrored: Vec<usize> =
                    order[order.len() - sets..].iter().rev().copied().collect();
                order.extend(mirrored);
                continue;
            }
            let mut drawn = self.permutation(sets);
            let place: Vec<usize> = drawn.iter().map(|set| groups[*set]).collect();
            let first = |group: usize| place.iter().position(|other| *other == group);
            drawn.sort_by_key(|set| first(groups[*set]));
            order.extend(drawn);
        }
        order
    }

    /// Draws a random permutation of `0..n` (Fisher and Yates).
    fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for last in (1..n).rev() {
            order.swap(last, self.uniform_below(last as u64 + 1) as usize);
        }
        order
    }

    /// Returns a uniform number below `bound` (not zero), by multiply-shift with rejection
    /// (Lemire).
    fn uniform_below(&mut self, bound: u64) -> u64 {
        loop {
            let wide = u128::from(self.random.next()) * u128::from(bound);
            if wide as u64 >= bound.wrapping_neg() % bound {
                return (wide >> 64) as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    #[test]
    fn orders_of_a_seed_stay_what_they_are() {
        let mut schedule = Schedule::new(1, 0);
        let rounds: Vec<String> = (0..4).map(|_| word(&schedule.round(3))).collect();
        assert_eq!(rounds.join(" "), "ACBBCA CBAABC CBAABC CABBAC");
        assert_ne!(word(&Schedule::new(1, 0).round(9)), word(&Schedule::new(1, 1).round(9)));
        assert_ne!(word(&Schedule::new(1, 0).round(9)), word(&Schedule::new(2, 0).round(9)));
    }

    fn word(order: &[usize]) -> String {
        order.iter().map(|stack| char::from(b'A' + *stack as u8)).collect()
    }

    #[test]
    fn a_double_round_goes_on_the_other_way_round() {
        let words: Vec<String> = (0..20)
            .map(|seed| word(&Schedule::new(seed, 0).patterned(2, Pattern::Double)))
            .collect();
        assert!(
            words.iter().all(|word| ["ABBABAAB", "BAABABBA"].contains(&word.as_str())),
            "{words:?}"
        );
        assert_eq!(word(&Schedule::new(1, 0).patterned(3, Pattern::Double)), "ACBBCABCAACB");
        let mirror = Schedule::new(5, 0).patterned(4, Pattern::Mirror);
        assert_eq!(mirror, Schedule::new(5, 0).round(4));
    }

    #[test]
    fn two_stacks_are_a_fair_coin() {
        let mut schedule = Schedule::new(7, 0);
        let abba = (0..10_000).filter(|_| word(&schedule.round(2)) == "ABBA").count();
        assert!((4_800..5_200).contains(&abba), "{abba}");
    }

    #[test]
    fn every_permutation_comes_alike_often() {
        let mut schedule = Schedule::new(3, 0);
        let mut seen: HashMap<String, u32> = HashMap::new();
        for _ in 0..12_000 {
            *seen.entry(word(&schedule.round(3)[..3])).or_default() += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|count| (1_800..2_200).contains(count)), "{seen:?}");
    }

    proptest! {
        #[test]
        fn positions_are_balanced_within_every_round(seed: u64, stacks in 1usize..12) {
            let order = Schedule::new(seed, 0).round(stacks);
            for stack in 0..stacks {
                let places: Vec<usize> = (0..order.len()).filter(|at| order[*at] == stack).collect();
                prop_assert_eq!(places.len(), 2);
                prop_assert_eq!(places.iter().sum::<usize>(), 2 * stacks - 1);
            }
        }

        #[test]
        fn every_set_is_visited_as_often_as_asked_and_groups_stay_together(
            seed: u64, sets in 1usize..6, groups in 1usize..6, visits in 0usize..9,
        ) {
            let groups: Vec<usize> = (0..sets).map(|set| set % groups).collect();
            let order = Schedule::new(seed, 0).visits(&groups, visits);
            for set in 0..sets {
                prop_assert_eq!(order.iter().filter(|at| **at == set).count(), visits);
            }
            for pass in order.chunks(sets) {
                let changes = pass.windows(2).filter(|pair| groups[pair[0]] != groups[pair[1]]);
                let distinct: std::collections::BTreeSet<&usize> = groups.iter().collect();
                prop_assert_eq!(changes.count() + 1, distinct.len());
            }
        }
    }
}
