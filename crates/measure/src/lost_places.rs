//! Handles the loss of a place while several load together. A host whose agent is gone is reached
//! again and the slice is run again. A place that stays lost is left out, by name, and the others
//! go on. The load on the other places is another load: its rounds are never counted with those of
//! all places.

use super::visit_workers::Bench;
use anyhow::{Context, Result};
use iotax_facts::place::Place;
use iotax_model::record::{LOST_PLACE, RunRecord, Warning};
use std::collections::BTreeSet;

/// Most times that a lost host is reached again. After that it is left out.
const MOST_RETURNS: u32 = 3;

impl Bench<'_> {
    /// Runs `work`, and after a loss runs it again, with the place reached again or without it.
    ///
    /// # Errors
    /// When it fails for another reason, or no place is left that could do it.
    pub(super) fn despite_losses<T>(
        &mut self,
        mut work: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<T> {
        loop {
            match work(self) {
                Err(error) => self.make_up_for(error)?,
                done => return done,
            }
        }
    }

    /// Returns the places of the stacks that are up which are lost.
    pub(super) fn lost_places(&self) -> BTreeSet<Place> {
        let members = self.ready.iter().flat_map(|ready| &ready.members);
        members
            .map(|member| &member.place)
            .filter(|place| self.places.is_lost(place))
            .cloned()
            .collect()
    }

    /// Reaches lost places again or leaves them out. Workers that had a part there must be prepared
    /// again. Returns `error` itself if no place is lost, or the loss cannot be made up for.
    fn make_up_for(&mut self, error: anyhow::Error) -> Result<()> {
        let mut gone = self.loaded();
        gone.retain(|place| !self.places.is_usable(place));
        // Data that a lost place wrote cannot be read back, so the whole cannot be verified.
        if gone.is_empty()
            || self.workload.verifies()
            || !gone.iter().all(|place| self.is_one_of_several(place))
        {
            return Err(error);
        }
        for place in gone {
            let said = format!("{error:#}");
            let why = match self.places.fate_of(&place) {
                Some(fate) => fate,
                // QEMU lives: the error says why its guest does not answer, and this is not a loss.
                None if place.is_guest() => return Err(error),
                None if said.contains(&place.to_string()) => said,
                None => "its agent does not answer".to_owned(),
            };
            match self.reach_again(&place) {
                Ok(()) => self.warn_of_loss(
                    &place,
                    &format!("{why}; iotax reached it again and repeats what was measured"),
                )?,
                Err(again) if self.can_do_without(&place) => {
                    self.places.give_up_place(&place);
                    let without = format!(
                        "{why} ({again:#}); from now on it is left out, and what was measured with it is counted \
                         separately"
                    );
                    self.warn_of_loss(&place, &without)?;
                }
                Err(again) => return Err(error.context(format!("{place} is lost ({again:#})"))),
            }
            self.release(&place);
        }
        Ok(())
    }

    /// Returns true if a stack is loaded in the place and elsewhere at one time.
    fn is_one_of_several(&self, place: &Place) -> bool {
        self.ready.iter().any(|ready| ready.members.len() > 1 && ready.is_in(place))
    }

    /// Returns true if every stack that is loaded there is loaded elsewhere, too.
    fn can_do_without(&self, place: &Place) -> bool {
        let elsewhere = |worker: usize| self.members(worker).any(|member| member.place != *place);
        (0..self.ready.len()).filter(|worker| self.ready[*worker].is_in(place)).all(elsewhere)
    }

    fn reach_again(&mut self, place: &Place) -> Result<()> {
        let times = self.places.returns(place);
        anyhow::ensure!(times < MOST_RETURNS, "it was lost {} times", times + 1);
        self.places.reach_again_over_ssh(place)
    }

    /// Ends the workers that had a part in the lost place also in their other places, since the
    /// share of each place may change.
    fn release(&mut self, place: &Place) {
        let theirs: Vec<usize> = self
            .prepared
            .iter()
            .copied()
            .filter(|worker| self.ready[*worker].is_in(place))
            .collect();
        for worker in theirs {
            self.prepared.remove(&worker);
            let others: Vec<Place> =
                self.members(worker).map(|member| member.place.clone()).collect();
            for other in others.iter().filter(|other| *other != place) {
                // If this place is lost, too, the next request will find out.
                let _ =
                    self.places.get(other).map(|reached| reached.peer.end_worker(worker as u32));
            }
        }
    }

    fn warn_of_loss(&mut self, place: &Place, what: &str) -> Result<()> {
        let text = format!(
            "{place} was lost in visit {} under {}: {what}",
            self.visit, self.workload.name
        );
        let warning = Warning { kind: LOST_PLACE.into(), subject: place.to_string(), text };
        self.store.append(&RunRecord::Warning(warning)).context("cannot store a warning")
    }
}
