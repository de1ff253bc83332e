//! Differences between two places apart from what was measured there: facts that the user stated
//! for both under one name, and the settings that libvirt, Proxmox VE or ESXi report of two virtual
//! machines and of their disks under load.

use crate::gather::reading::WorkloadView;
use iotax_facts::vm::{VmDisk, VmFacts};
use iotax_model::record::PlaceFacts;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MachineDifference {
    pub(crate) name: String,
    /// Value of the one, then of the other.
    pub(crate) values: [String; 2],
    /// True if it is a setting of the disks under load.
    pub(crate) of_disk: bool,
}

/// Keys that are not compared. Names of files, volumes and addresses differ by nature, and so do
/// processors; memory of two guests has a separate check.
const OWN: &[&str] = &["file", "volume", "device", "size", "memory", "memory_mb", "affinity"];

/// Returns the settings that are stated for both and differ.
fn setting_differences(
    one: &BTreeMap<String, String>,
    other: &BTreeMap<String, String>,
    of_disk: bool,
) -> Vec<MachineDifference> {
    let both = one.iter().filter_map(|(name, value)| Some((name, value, other.get(name)?)));
    both.filter(|(_, a, b)| a != b)
        .map(|(name, a, b)| MachineDifference {
            name: name.clone(),
            values: [a.clone(), b.clone()],
            of_disk,
        })
        .collect()
}

/// Returns the differences between what the user stated for two places.
pub(crate) fn user_differences(one: &PlaceFacts, other: &PlaceFacts) -> Vec<MachineDifference> {
    setting_differences(&one.facts.said, &other.facts.said, false)
}

/// Returns the differences between the settings of one virtual machine in two runs: its own, and
/// those of its disks, matched by name.
pub(crate) fn of_one(one: &VmFacts, other: &VmFacts) -> Vec<MachineDifference> {
    let mut all = setting_differences(&one.settings, &other.settings, false);
    for disk in &one.disks {
        let twin = other.disks.iter().find(|twin| twin.name == disk.name);
        let found = twin
            .map(|twin| setting_differences(&disk.settings, &twin.settings, true))
            .unwrap_or_default();
        all.extend(
            found.into_iter().map(|one| MachineDifference {
                name: format!("{} {}", disk.name, one.name),
                ..one
            }),
        );
    }
    all
}

/// Returns the differences between the settings of two virtual machines, and of their disks under
/// load. Empty if their managers (such as libvirt) differ, since the same word then differs in
/// meaning.
fn of_two(one: (&VmFacts, &Path), other: (&VmFacts, &Path)) -> Vec<MachineDifference> {
    if one.0.manager != other.0.manager {
        return Vec::new();
    }
    let mut all = setting_differences(&one.0.settings, &other.0.settings, false);
    if let (Some(a), Some(b)) = (measured_disk(one), measured_disk(other)) {
        all.extend(setting_differences(&a.settings, &b.settings, true));
    }
    let is_own = |name: &str| {
        OWN.contains(&name)
            || ["passthrough.", "cputune.vcpupin"].iter().any(|part| name.starts_with(part))
    };
    all.retain(|one| !is_own(&one.name));
    all
}

fn measured_disk<'a>((vm, path): (&'a VmFacts, &Path)) -> Option<&'a VmDisk> {
    vm.disks.iter().find(|disk| disk.measured.as_deref() == Some(path))
}

/// Returns the differences between the places of two stacks, as sentences.
pub(crate) fn place_differences(reading: &WorkloadView, base: usize, at: usize) -> Vec<String> {
    let of = |at: usize| Some((reading.place_of(at)?, &reading.worker(at)?.target));
    let (Some((there, there_path)), Some((here, here_path))) = (of(base), of(at)) else {
        return Vec::new();
    };
    if there.place == here.place {
        return Vec::new();
    }
    let places = format!("{} against {}", here.place, there.place);
    let facts = user_differences(here, there).into_iter().map(|one| {
        let [ours, theirs] = &one.values;
        format!("{} is {ours} against {theirs} ({places}): the places differ", one.name)
    });
    let machines = here.facts.vm.as_deref().zip(there.facts.vm.as_deref());
    let machines = machines
        .map(|(ours, theirs)| of_two((ours, here_path.as_ref()), (theirs, there_path.as_ref())));
    let settings = machines.into_iter().flatten().map(|one| {
        let (name, [ours, theirs]) = (&one.name, &one.values);
        let what = if one.of_disk { "the disks under load" } else { "the virtual machines" };
        format!("{name}={ours} against {name}={theirs} ({places}): {what} have different settings")
    });
    facts.chain(settings).collect()
}

#[cfg(test)]
mod tests {
    use crate::validity::confounders;
    use crate::{findings, twin};
    use iotax_facts::vm::{Manager, VmDisk, VmFacts};
    use std::collections::BTreeMap;

    fn words(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn vm(manager: Manager, cache: &str, measured: &str) -> Box<VmFacts> {
        let settings = words(&[("cache", cache), ("volume", cache)]);
        let disk = |name: &str, measured| VmDisk {
            name: name.into(),
            serial: None,
            measured,
            settings: settings.clone(),
        };
        let disks = vec![disk("vda", None), disk("vdb", Some(measured.into()))];
        Box::new(VmFacts {
            manager,
            name: cache.into(),
            settings: words(&[("vcpus", "4"), ("memory", cache)]),
            disks,
        })
    }

    /// Returns the differences between two stacks, each in its own place.
    fn found(said: [&[(&str, &str)]; 2], machines: [Option<(Manager, &str)>; 2]) -> Vec<String> {
        let mut run = twin::a_against_a();
        for (at, place) in ["ssh:vm1", "ssh:vm2"].into_iter().enumerate() {
            run.workers[at].place = place.into();
            let mut known = run.places[0].clone();
            known.place = place.into();
            known.facts.said = words(said[at]);
            known.facts.vm =
                machines[at].map(|(manager, cache)| vm(manager, cache, &run.workers[at].target));
            run.places.push(known);
        }
        let found = findings(&run).warnings.into_iter().filter(|one| one.kind == confounders::KIND);
        found.map(|one| one.text).collect()
    }

    #[test]
    fn what_is_said_of_both_places_is_compared() {
        let places = "(ssh:vm2 against ssh:vm1)";
        let said: [&[_]; 2] =
            [&[("switch", "SN2010"), ("rack", "1")], &[("switch", "SN2410"), ("room", "2")]];
        assert_eq!(
            found(said, [None, None]),
            [format!("switch is SN2410 against SN2010 {places}: the places differ")]
        );
        assert_eq!(found([said[0], said[0]], [None, None]), Vec::<String>::new());
    }

    #[test]
    fn cache_modes_of_the_disks_under_load_are_compared() {
        let libvirt = |cache| Some((Manager::Libvirt, cache));
        let places = "(ssh:vm2 against ssh:vm1)";
        assert_eq!(
            found([&[], &[]], [libvirt("none"), libvirt("writeback")]),
            [format!(
                "cache=writeback against cache=none {places}: the disks under load have different settings"
            )]
        );
        assert_eq!(found([&[], &[]], [libvirt("none"), libvirt("none")]), Vec::<String>::new());
        let other = Some((Manager::Proxmox, "writeback"));
        assert_eq!(
            found([&[], &[]], [libvirt("none"), other]),
            Vec::<String>::new(),
            "other words"
        );
    }
}
