//! Settings that differ between the two sides, as far as the outputs of both list their options.

use iotax_model::record::imported::ReportedLoad;
use std::collections::{BTreeMap, BTreeSet};

/// Returns the settings that differ, for each side, such as `direct=1` and `direct=0`; `None` if
/// none differs, or if one side lists no options.
pub(crate) fn differ(sides: [&[&ReportedLoad]; 2]) -> Option<[String; 2]> {
    let [here, there] = [values_by_option(sides[0])?, values_by_option(sides[1])?];
    let keys: BTreeSet<&str> = here.keys().chain(there.keys()).copied().collect();
    let other: Vec<&str> = keys.into_iter().filter(|key| here.get(key) != there.get(key)).collect();
    let said = |side: &BTreeMap<&str, Vec<&str>>| {
        let one = |key: &&str| match side.get(key) {
            Some(values) => format!("{key}={}", values.join(" and ")),
            None => format!("{key} not set"),
        };
        other.iter().map(one).collect::<Vec<_>>().join(", ")
    };
    (!other.is_empty()).then(|| [said(&here), said(&there)])
}

/// Returns the values by option; `None` if a load lists no options.
fn values_by_option<'a>(loads: &[&'a ReportedLoad]) -> Option<BTreeMap<&'a str, Vec<&'a str>>> {
    let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for load in loads {
        for (key, value) in load.settings.as_ref()?.iter().filter_map(|one| one.split_once('=')) {
            values.entry(key).or_default().push(value);
        }
    }
    values.values_mut().for_each(|of_one| {
        of_one.sort_unstable();
        of_one.dedup();
    });
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_both_tell_differs() {
        let load = |settings: &[&str]| ReportedLoad {
            settings: Some(settings.iter().map(|one| (*one).to_owned()).collect()),
            ..ReportedLoad::default()
        };
        let (direct, cached, untold) = (
            load(&["direct=1", "fsync=0"]),
            load(&["direct=0", "fsync=0"]),
            ReportedLoad::default(),
        );
        assert_eq!(
            differ([&[&direct], &[&cached]]),
            Some(["direct=1", "direct=0"].map(String::from))
        );
        assert_eq!(
            differ([&[&direct], &[&direct, &cached]]),
            Some(["direct=1", "direct=0 and 1"].map(String::from))
        );
        assert_eq!(differ([&[&direct], &[&direct]]), None);
        let set = load(&["direct=1", "fsync=0", "hipri=1"]);
        let found = ["hipri=1", "hipri not set"].map(String::from);
        assert_eq!(
            differ([&[&set], &[&direct]]),
            Some(found.clone()),
            "an option of one side is not silent"
        );
        assert_eq!(differ([&[&direct], &[&set]]), Some([found[1].clone(), found[0].clone()]));
        assert_eq!(differ([&[&direct], &[&untold]]), None, "a text tells no options");
    }
}
