//! The delay layer inside the generator: completions that wait for their time before they count.
//! Several may wait at once, and they come out in the order of their times.

use crate::Hold;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Polling sees a release a little late. The lateness of one release, up to this much, is taken
/// off the slot's next hold, so that it does not add to the known cost. More than this is not
/// polling but a thread that was not running, which a stack without a hold would have suffered too.
const MOST_CARRIED_NS: u64 = 1_000;

/// Completions held back, by slot.
pub(crate) struct Holder {
    hold: Hold,
    waiting: BinaryHeap<Reverse<(u64, u32)>>,
    carried_ns: Vec<u64>,
}

impl Holder {
    /// Room for `slots` completions; nothing is allocated later.
    pub(crate) fn new(hold: Hold, slots: u32) -> Holder {
        Holder {
            hold,
            waiting: BinaryHeap::with_capacity(slots as usize),
            carried_ns: vec![0; slots as usize],
        }
    }

    /// Whether completions pass at once.
    pub(crate) fn is_none(&self) -> bool {
        self.hold.is_none()
    }

    /// A slice begins: nothing is carried over.
    pub(crate) fn restart(&mut self) {
        self.carried_ns.fill(0);
    }

    /// Holds a completion back whose cycle began at `cycle_from_ns`.
    pub(crate) fn admit(&mut self, slot: u32, cycle_from_ns: u64, completed_ns: u64) {
        let held_ns = held_ns(self.hold, completed_ns.saturating_sub(cycle_from_ns));
        let due_ns = completed_ns.saturating_add(held_ns);
        let carried_ns = self.carried_ns[slot as usize];
        self.waiting
            .push(Reverse((due_ns - carried_ns.min(held_ns), slot)));
        self.carried_ns[slot as usize] = carried_ns.saturating_sub(held_ns);
    }

    /// When the next one is due.
    pub(crate) fn next_due_ns(&self) -> Option<u64> {
        self.waiting.peek().map(|Reverse((due_ns, _))| *due_ns)
    }

    /// Takes one that is due.
    pub(crate) fn release(&mut self, now_ns: u64) -> Option<u32> {
        let Reverse((due_ns, slot)) = *self.waiting.peek()?;
        if due_ns > now_ns {
            return None;
        }
        self.waiting.pop();
        let carried_ns = &mut self.carried_ns[slot as usize];
        *carried_ns = (*carried_ns + (now_ns - due_ns)).min(MOST_CARRIED_NS);
        Some(slot)
    }
}

fn held_ns(hold: Hold, cycle_ns: u64) -> u64 {
    let share = u128::from(cycle_ns) * u128::from(hold.share_ppm) / 1_000_000;
    hold.ns
        .saturating_add(u64::try_from(share).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TWO_PERCENT: Hold = Hold {
        ns: 0,
        share_ppm: 20_000,
    };

    #[test]
    fn fixed_and_share_add_up() {
        let hold = Hold {
            ns: 500,
            share_ppm: 100_000,
        };
        let mut holder = Holder::new(hold, 1);
        holder.admit(0, 1_000, 11_000);
        assert_eq!(holder.next_due_ns(), Some(12_500));
        assert_eq!(holder.release(12_499), None);
        assert_eq!(holder.release(12_500), Some(0));
        assert_eq!(holder.next_due_ns(), None);
    }

    #[test]
    fn they_come_out_by_time_not_by_arrival() {
        let mut holder = Holder::new(TWO_PERCENT, 3);
        holder.admit(0, 0, 100_000);
        holder.admit(1, 99_000, 100_000);
        holder.admit(2, 50_000, 100_000);
        let order = std::iter::from_fn(|| holder.release(u64::MAX)).collect::<Vec<_>>();
        assert_eq!(order, [1, 2, 0]);
    }

    #[test]
    fn being_off_the_processor_is_not_made_up_for() {
        let mut holder = Holder::new(TWO_PERCENT, 1);
        holder.admit(0, 0, 1_000_000);
        assert_eq!(holder.release(9_000_000), Some(0), "8 ms late");
        holder.admit(0, 9_000_000, 10_000_000);
        assert_eq!(holder.next_due_ns(), Some(10_020_000 - MOST_CARRIED_NS));
    }

    #[test]
    fn absurd_holds_saturate() {
        let hold = Hold {
            ns: u64::MAX,
            share_ppm: u32::MAX,
        };
        let mut holder = Holder::new(hold, 1);
        holder.admit(0, 0, u64::MAX / 2);
        assert_eq!(holder.next_due_ns(), Some(u64::MAX));
    }

    proptest! {
        /// At depth 1 the loss is exactly p / (1 + p), although each release is seen late.
        #[test]
        fn the_known_cost_is_exact(
            services in prop::collection::vec(60_000u64..200_000, 50..200),
            lateness in prop::collection::vec(0u64..60, 200),
            ppm in 1_000u32..200_000,
        ) {
            let mut holder = Holder::new(Hold { ns: 0, share_ppm: ppm }, 1);
            let mut now = 0;
            for (service, late) in services.iter().zip(&lateness) {
                holder.admit(0, now, now + service);
                now = holder.next_due_ns().unwrap().max(now + service) + late;
                prop_assert_eq!(holder.release(now), Some(0));
            }
            let device: u64 = services.iter().sum();
            let exact = device as f64 * (1.0 + f64::from(ppm) / 1e6);
            // What is left is the last carry and a nanosecond of rounding an I/O.
            let left = MOST_CARRIED_NS as f64 + services.len() as f64;
            prop_assert!((now as f64 - exact).abs() <= left, "{} against {}", now, exact);
        }
    }
}
