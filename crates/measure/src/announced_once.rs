//! Remembers what a run has reported already. Every visit, and every one of many guests, gives the
//! same findings again. Each finding is shown once, and recorded again only if it has changed.

use iotax_model::record::{Place, PlaceFacts, Serving, Warning};
use iotax_units::show_names;
use std::collections::{BTreeMap, BTreeSet};

/// What a run has reported so far. After a reboot it begins empty, and everything is reported
/// again.
#[derive(Debug, Default)]
pub struct AnnouncedOnce {
    warnings: BTreeSet<[String; 3]>,
    emulated: BTreeSet<(Place, String)>,
    places: BTreeMap<Place, PlaceFacts>,
    volumes: BTreeSet<usize>,
    serving: BTreeMap<(String, Place), Serving>,
}

impl AnnouncedOnce {
    /// Records a warning, and returns true if it is new.
    pub fn is_new(&mut self, warning: &Warning) -> bool {
        let Warning { kind, subject, text } = warning;
        self.warnings.insert([kind, subject, text].map(Clone::clone))
    }

    /// Returns true at the first call for a set. Its volumes are recorded then; each later visit
    /// makes equal ones.
    pub fn is_new_set(&mut self, set: usize) -> bool {
        self.volumes.insert(set)
    }

    /// Keeps the facts, and returns true if they differ from those kept last for the place.
    pub fn has_changed(&mut self, facts: &PlaceFacts) -> bool {
        self.places.insert(facts.place.clone(), facts.clone()).as_ref() != Some(facts)
    }

    /// Keeps the threads that serve a stack, and returns true if they differ from those kept last.
    pub fn is_served_otherwise(&mut self, serving: &Serving) -> bool {
        let known = (serving.stack.clone(), serving.place.clone());
        self.serving.insert(known, serving.clone()).as_ref() != Some(serving)
    }

    /// Returns one sentence per reason why places are emulated. Places that were reported already
    /// are left out.
    pub fn emulation_sentences(&mut self, places: &[(Place, Option<String>)]) -> Vec<String> {
        let mut by_reason: BTreeMap<&str, Vec<&Place>> = BTreeMap::new();
        for (place, why) in places {
            let Some(why) = why else { continue };
            if self.emulated.insert((place.clone(), why.clone())) {
                by_reason.entry(why).or_default().push(place);
            }
        }
        by_reason.into_iter().map(|(why, places)| places_words(&places, why)).collect()
    }
}

fn places_words(places: &[&Place], why: &str) -> String {
    let (are, their) = if places.len() == 1 { ("is", "its") } else { ("are", "their") };
    let places = show_names(places);
    // A guest's own reason includes both already.
    match why.strip_prefix("emulated: ") {
        Some(why) => format!("{places} {are} emulated, and {their} figures are {why}"),
        None => format!("{places} {are} emulated ({why}): {their} figures are not representative"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_host::facts::Facts;

    fn guests(names: &[&str], why: Option<&str>) -> Vec<(Place, Option<String>)> {
        names.iter().map(|name| (Place::from(*name), why.map(str::to_owned))).collect()
    }

    #[test]
    fn many_emulated_guests_are_one_sentence_once() {
        let mut told = AnnouncedOnce::default();
        let four = guests(&["vm0", "vm1", "vm2", "vm3"], Some("no KVM"));
        assert_eq!(
            told.emulation_sentences(&four),
            ["vm0 to vm3 are emulated (no KVM): their figures are not representative"]
        );
        let guest = guests(&["vm9"], Some("emulated: not representative of KVM (there is none)"));
        assert_eq!(
            told.emulation_sentences(&guest),
            ["vm9 is emulated, and its figures are not representative of KVM (there is none)"]
        );
        assert!(told.emulation_sentences(&four).is_empty(), "the next visit has the same guests");
        let more = [four, guests(&["vm4"], Some("no KVM")), guests(&["host"], None)].concat();
        assert_eq!(
            told.emulation_sentences(&more),
            ["vm4 is emulated (no KVM): its figures are not representative"]
        );
    }

    #[test]
    fn a_place_or_a_warning_is_new_once_and_when_it_changed() {
        let mut told = AnnouncedOnce::default();
        let warning = |text: &str| Warning {
            kind: "settings".into(),
            subject: "vm".into(),
            text: text.into(),
        };
        assert!(
            told.is_new(&warning("a")) && !told.is_new(&warning("a")) && told.is_new(&warning("b"))
        );
        let place = |kernel: &str| PlaceFacts {
            place: "vm0".into(),
            facts: Facts { kernel: Some(kernel.into()), ..Facts::default() },
            emulated: None,
            commands: Vec::new(),
            spdk: Vec::new(),
            disks: Vec::new(),
        };
        assert!(told.has_changed(&place("6.1")) && !told.has_changed(&place("6.1")));
        assert!(
            told.has_changed(&place("6.12")) && told.has_changed(&place("6.1")),
            "as it is now counts"
        );
    }
}
