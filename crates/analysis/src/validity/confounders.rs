//! Settings that must be the same on both sides of a comparison of something else: chunk of an
//! array, number of drives, redundancy, transport, cache mode. One concept has many names, one for
//! each layer; the catalog of layers knows which names mean the same. Reports nothing where the
//! setting is what is compared.

use crate::ceilings::efficiency;
use crate::ceilings::efficiency::{Layout, LayoutSpread};
use crate::gather::reading::WorkloadView;
use crate::validity::machines;
use iotax_model::layer::comparable::{Concept, Setting};
use iotax_model::stack::{LayerSpec, Stack};
use iotax_units::show_bytes;
use std::collections::BTreeSet;

/// Function that returns a setting of a stack; `None` if the stack has no such setting, or if it is
/// not known.
type OfStack = fn(&Stack) -> Option<Setting>;

/// Settings that follow from how a stack lays data over its drives, each with the words for a
/// difference.
const OF_LAYOUT: &[(&str, OfStack)] = &[
    ("not the same stripe unit", stripe_unit),
    ("not the same number of drives", drives),
    ("not the same redundancy", redundancy),
];

pub const KIND: &str = "confounder";

pub fn other_differences(reading: &WorkloadView, at: usize) -> Vec<String> {
    let stacks = &reading.run.start.scenario.stacks;
    let against = |base: usize| {
        let pair = [&stacks[base], &stacks[at]];
        // Places differ in more than a stack says about them.
        let places = machines::place_differences(reading, base, at);
        if is_on_purpose(pair) {
            return places;
        }
        let both = |of: &dyn Fn(&Stack) -> Option<Setting>, why| {
            let [there, here] = pair.map(of);
            Some((here?, there?, why))
        };
        let of_layout = OF_LAYOUT.iter().filter_map(|(why, of)| both(of, *why));
        let of_layers = Concept::all_with_consequences()
            .filter_map(|(one, why)| both(&|stack| one.setting_in(stack), why));
        let found = of_layout.chain(of_layers);
        let found = found.chain(memory(reading, [base, at])).chain(commands(reading, [base, at]));
        let differs = found.filter(|(here, there, _)| here.value != there.value);
        differs
            .map(|(here, there, why)| {
                format!("{} against {} of {}: {why}", here.said, there.said, stacks[base].name)
            })
            .chain(places)
            .collect()
    };
    bases(reading, at).into_iter().flat_map(against).collect()
}

/// Returns the stacks with which a stack is compared: the baseline, and the stack of which its
/// table gives shares.
pub(crate) fn bases(reading: &WorkloadView, at: usize) -> Vec<usize> {
    let scenario = &reading.run.start.scenario;
    let mut bases = vec![scenario.baseline];
    if let Some((table, column)) =
        scenario.table.as_ref().and_then(|table| Some((table, table.percent_of?)))
    {
        let name = Some(&scenario.stacks[at].name);
        let groups = table
            .groups
            .iter()
            .filter(|group| group.stacks.iter().any(|stack| stack.as_ref() == name));
        let named = groups.filter_map(|group| group.stacks.get(column)?.as_ref());
        bases.extend(
            named.filter_map(|base| scenario.stacks.iter().position(|stack| stack.name == *base)),
        );
    }
    bases.retain(|base| *base != at);
    bases.dedup();
    bases
}

/// Returns true if two stacks differ in one thing, which is then what is compared: in the layers
/// that one has on top, in one option of one layer, or in the drives below. An option that is
/// written as its default is the default.
fn is_on_purpose([a, b]: [&Stack; 2]) -> bool {
    let other_medium = usize::from(a.medium != b.medium);
    let differ: usize = a.layers.iter().zip(&b.layers).map(|(a, b)| differences(a, b)).sum();
    let same_names =
        a.layers.iter().map(|layer| &layer.name).eq(b.layers.iter().map(|layer| &layer.name));
    match a.layers.len() == b.layers.len() {
        true => same_names && other_medium + differ <= 1,
        false => other_medium + differ == 0,
    }
}

fn differences(a: &LayerSpec, b: &LayerSpec) -> usize {
    let names: BTreeSet<&String> = a.options.keys().chain(b.options.keys()).collect();
    let options = names.into_iter().filter(|name| a.option(name) != b.option(name)).count();
    let rest = [a.name != b.name, a.place != b.place, a.far != b.far, a.copies != b.copies];
    options + rest.into_iter().filter(|differs| *differs).count()
}

fn stripe_unit(stack: &Stack) -> Option<Setting> {
    let (option, bytes) = efficiency::stripe_unit(stack)?;
    Setting::some_setting(format!("{option} {}", show_bytes(bytes)), bytes)
}

fn drives(stack: &Stack) -> Option<Setting> {
    efficiency::joining(stack)?;
    let drives = stack.medium.members().len();
    Setting::some_setting(format!("{drives} drives"), drives)
}

fn redundancy(stack: &Stack) -> Option<Setting> {
    efficiency::joining(stack)?;
    let layout = Layout::from_stack(stack).ok()?;
    let kept = match layout.spread {
        LayoutSpread::Striped { .. } | LayoutSpread::Linear { .. } => "no redundancy".to_owned(),
        LayoutSpread::Mirrored { copies, .. } => format!("{copies} copies"),
        LayoutSpread::Parity { parity, .. } | LayoutSpread::Raidz { parity, .. } => {
            format!("{parity} of parity")
        }
    };
    Setting::some_setting(format!("{} ({kept})", layout.name), kept.clone())
}

/// Largest difference of two memory sizes, as a fraction, that is not reported.
const SAME_MEMORY: f64 = 0.05;

/// Returns the memory of two places if it differs; `None` also if one place is this host, since a
/// host and a guest on it differ by nature.
fn memory(reading: &WorkloadView, pair: [usize; 2]) -> Option<(Setting, Setting, &'static str)> {
    let of = |at: usize| {
        reading.worker(at).filter(|worker| !worker.place.is_host())?;
        reading.place_of(at)?.facts.memory_bytes
    };
    let [there, here] = pair.map(of);
    let (there, here) = (there?, here?);
    let apart = there.abs_diff(here) as f64 > SAME_MEMORY * there.max(here) as f64;
    let said = |bytes: u64| Setting {
        said: format!("memory {}", show_bytes(bytes)),
        value: bytes.to_string(),
    };
    apart.then(|| (said(here), said(there), "not the same memory for caches"))
}

/// Number of commands that an initiator has at its target at one time: per disk of an iSCSI
/// session, or per NVMe queue.
struct TargetDepth {
    said: String,
    commands: u64,
    /// Queues that each hold this many; `None`: one per processor.
    queues: Option<u64>,
}

fn depth(stack: &Stack) -> Option<TargetDepth> {
    let has_one = |layer| Some((layer, LayerSpec::catalog_entry(layer)?.in_flight?));
    let (layer, in_flight) = stack.layers.iter().rev().find_map(has_one)?;
    let commands = layer.option_number(in_flight.option)?;
    let queues = in_flight.queues.map_or(Some(1), |option| layer.option_number(option));
    let of = match queues {
        Some(1) => String::new(),
        Some(queues) => format!(" on each of {queues} queues"),
        None => " on a queue a processor".to_owned(),
    };
    Some(TargetDepth {
        said: format!("{} {commands} of {}{of}", in_flight.option, layer.name),
        commands,
        queues,
    })
}

/// Returns the depths of two initiators, if the load has more in flight than the smaller one holds:
/// the rest waits before it is sent. Otherwise `None`.
fn commands(reading: &WorkloadView, pair: [usize; 2]) -> Option<(Setting, Setting, &'static str)> {
    let [there, here] = pair.map(|at| depth(&reading.run.start.scenario.stacks[at]));
    let (there, here) = (there?, here?);
    let in_flight = |at: usize| {
        let jobs = reading.workload.jobs.iter();
        let one: u64 = jobs.map(|job| u64::from(job.iodepth) * u64::from(job.numjobs)).sum();
        one * reading.members(at) as u64
    };
    // The number of queues with one per processor is not known; one thread has one of them.
    let least = |depth: &TargetDepth| depth.commands * depth.queues.unwrap_or(1);
    let binds =
        pair.into_iter().zip([&there, &here]).any(|(at, depth)| in_flight(at) > least(depth));
    let setting = |depth: TargetDepth| {
        let queues =
            depth.queues.map_or_else(|| "processors".to_owned(), |queues| queues.to_string());
        Setting { value: format!("{} x {queues}", depth.commands), said: depth.said }
    };
    binds.then(|| (setting(here), setting(there), "not as many commands at a time under this load"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::twin::{drives as many, layer};
    use crate::{RunData, findings, twin};
    use iotax_model::stack::Medium;

    type Layers = Vec<LayerSpec>;

    fn mdraid(level: &str, chunk: &str) -> LayerSpec {
        layer("mdraid", &[("level", level), ("chunk", chunk)])
    }

    fn lvm(kind: &str) -> LayerSpec {
        layer("lvm", &[("type", kind), ("stripe-size", "64KiB")])
    }

    fn zfs(options: &[(&str, &str)]) -> LayerSpec {
        let usual = [
            ("vdev", "stripe"),
            ("volblocksize", "64KiB"),
            ("compression", "off"),
            ("thin", "false"),
        ];
        layer("zfs", &[&usual[..], options].concat())
    }

    /// Returns the differences reported for the second of two stacks; the first is the baseline.
    fn told_of(
        media: [Medium; 2],
        layers: [Layers; 2],
        change: impl FnOnce(&mut RunData),
    ) -> Vec<String> {
        let mut run = twin::a_against_a();
        for (stack, (medium, layers)) in
            run.start.scenario.stacks.iter_mut().zip(media.into_iter().zip(layers))
        {
            (stack.medium, stack.layers) = (medium, layers);
        }
        change(&mut run);
        let found = findings(&run).warnings.into_iter().filter(|one| one.kind == KIND);
        found.map(|one| one.text.replace(" of file", "")).collect()
    }

    fn told(there: Layers, here: Layers) -> Vec<String> {
        told_of([many(6), many(6)], [there, here], |_| {})
    }

    fn quiet() -> Vec<String> {
        Vec::new()
    }

    #[test]
    fn stripe_units_of_other_names_are_one_concept() {
        let found = told(vec![lvm("striped")], vec![mdraid("0", "512KiB")]);
        assert_eq!(found, ["chunk 512 KiB against stripe-size 64 KiB: not the same stripe unit"]);
        assert_eq!(told(vec![lvm("striped")], vec![mdraid("0", "64KiB")]), quiet());
        assert_eq!(told(vec![lvm("striped")], vec![zfs(&[])]), quiet());
        let found =
            told(vec![lvm("striped")], vec![zfs(&[("kind", "dataset"), ("recordsize", "1MiB")])]);
        assert_eq!(
            found,
            ["recordsize 1 MiB against stripe-size 64 KiB: not the same stripe unit"]
        );
        let spdk = layer("spdk", &[("raid", "raid0"), ("strip-size", "128KiB")]);
        let found = told(vec![spdk], vec![lvm("striped")]);
        assert_eq!(
            found,
            ["stripe-size 64 KiB against strip-size 128 KiB: not the same stripe unit"]
        );
        assert_eq!(
            told(vec![lvm("linear")], vec![mdraid("0", "512KiB")]),
            quiet(),
            "one has no stripe"
        );
    }

    #[test]
    fn what_nobody_wrote_is_what_the_program_takes() {
        let bare = |name: &str, word: &str, value: &str| layer(name, &[(word, value)]);
        let found = told(vec![bare("lvm", "type", "striped")], vec![bare("mdraid", "level", "0")]);
        assert_eq!(found, ["chunk 512 KiB against stripe-size 64 KiB: not the same stripe unit"]);
    }

    #[test]
    fn redundancy_and_drives_are_told() {
        let found = told(vec![lvm("striped")], vec![mdraid("5", "64KiB")]);
        assert_eq!(
            found,
            ["RAID5 (1 of parity) against LVM stripe (no redundancy): not the same redundancy"]
        );
        assert_eq!(told(vec![mdraid("5", "64KiB")], vec![zfs(&[("vdev", "raidz")])]), quiet());
        let of_five =
            told_of([many(6), many(5)], [vec![lvm("striped")], vec![mdraid("0", "64KiB")]], |_| {});
        assert_eq!(of_five, ["5 drives against 6 drives: not the same number of drives"]);
    }

    #[test]
    fn one_setting_that_differs_is_what_is_compared() {
        assert_eq!(told(vec![mdraid("0", "64KiB")], vec![mdraid("0", "512KiB")]), quiet());
        assert_eq!(told(vec![zfs(&[])], vec![zfs(&[("dedup", "on")])]), quiet());
        assert_eq!(
            told_of([many(6), many(5)], [vec![lvm("striped")], vec![lvm("striped")]], |_| {}),
            quiet()
        );
        assert_eq!(
            told(vec![], vec![mdraid("5", "64KiB"), layer("vm", &[("format", "qcow2")])]),
            quiet(),
            "layers on top"
        );
        assert_eq!(
            told(
                vec![mdraid("0", "64KiB"), zfs(&[("compression", "lz4")])],
                vec![mdraid("0", "64KiB")]
            ),
            quiet()
        );
        let vm = |cache: &str| layer("vm", &[("cache", cache)]);
        let both = told(
            vec![mdraid("0", "64KiB"), vm("none")],
            vec![mdraid("0", "512KiB"), vm("writeback")],
        );
        assert_eq!(
            both,
            [
                "chunk 512 KiB against chunk 64 KiB: not the same stripe unit",
                "cache=writeback against cache=none: not the same cache mode"
            ]
        );
    }

    #[test]
    fn several_options_of_one_layer_are_told_and_defaults_are_none() {
        let vm = |options: &[(&str, &str)]| vec![layer("vm", options)];
        assert_eq!(
            told(vm(&[]), vm(&[("cache", "writeback"), ("vcpus", "2")])),
            quiet(),
            "one, and a default"
        );
        let found = told(vm(&[]), vm(&[("cache", "writeback"), ("vcpus", "4")]));
        assert_eq!(
            found,
            [
                "cache=writeback against cache=none: not the same cache mode",
                "vcpus=4 against vcpus=2: not the same number of vCPUs"
            ]
        );
    }

    #[test]
    fn what_is_promised_kept_and_checked_must_be_the_same() {
        let zfs = |options: &[(&str, &str)]| vec![zfs(options)];
        assert_eq!(
            told(vec![lvm("striped")], zfs(&[("sync", "disabled")])),
            [
                "sync=disabled against flushes as they are asked for: not the same promise of what is acknowledged"
            ]
        );
        let found = told(zfs(&[]), zfs(&[("sync", "always"), ("primarycache", "metadata")]));
        assert_eq!(
            found,
            [
                "sync=always against flushes as they are asked for: not the same promise of what is acknowledged",
                "primarycache=metadata against primarycache=all: not the same reads come to the drives"
            ]
        );
        let cache = |mode: &str| vec![layer("lvm", &[("type", "cache"), ("cache-mode", mode)])];
        assert_eq!(told(vec![lvm("linear")], cache("writethrough")), quiet());
        assert_eq!(
            told(vec![lvm("linear")], cache("writeback")),
            [
                "cache-mode=writeback against no cache that writes back: writes are not acknowledged by the same drives"
            ]
        );
        let md = |option: (&str, &str)| {
            vec![layer("mdraid", &[("level", "5"), ("chunk", "64KiB"), option])]
        };
        let raidz = || zfs(&[("vdev", "raidz")]);
        assert_eq!(
            told(raidz(), md(("bitmap", "internal"))),
            ["bitmap=internal against no bitmap: only one keeps account of what is being written"]
        );
        for word in ["skip", "background"] {
            let found = told(raidz(), md(("sync", word)));
            let why =
                "against nothing left to sync: parity or copies are not in sync on both sides";
            assert_eq!(found, [format!("sync={word} {why}")]);
        }
        let nvmf = vec![layer(
            "nvmf",
            &[("transport", "tcp"), ("hdr-digest", "true"), ("data-digest", "true")],
        )];
        assert_eq!(
            told(vec![layer("iscsi", &[])], nvmf),
            [
                "hdr-digest and data-digest of nvmf against no digest of iscsi: only one checks what it sends"
            ]
        );
    }

    #[test]
    fn transports_are_the_same_by_what_carries_them() {
        let over =
            |layer_name: &str, transport: &str| layer(layer_name, &[("transport", transport)]);
        assert_eq!(told(vec![over("iscsi", "iser")], vec![over("nvmf", "rdma")]), quiet());
        let found = told(vec![over("iscsi", "iser")], vec![over("nvmf", "tcp")]);
        assert_eq!(found, ["nvmf over tcp against iscsi over iser: not the same transport"]);
        assert_eq!(told(vec![layer("nbd", &[])], vec![over("nvmf", "tcp")]), quiet());
    }

    #[test]
    fn initiators_that_hold_unlike_many_commands_are_told_where_the_load_has_more() {
        let iscsi = |options: &[(&str, &str)]| {
            vec![layer("iscsi", &[&[("transport", "iser")], options].concat())]
        };
        let nvmf = |options: &[(&str, &str)]| {
            vec![layer("nvmf", &[&[("transport", "rdma")], options].concat())]
        };
        let told_at = |there: Layers, here: Layers, iodepth: u32| {
            told_of([many(6), many(6)], [there, here], |run| {
                run.start.scenario.workloads[0].jobs[0].iodepth = iodepth;
            })
        };
        let found = told_at(iscsi(&[]), nvmf(&[]), 64);
        let words = "queue-size 128 of nvmf on a queue a processor against queue-depth 32 of iscsi";
        assert_eq!(found, [format!("{words}: not as many commands at a time under this load")]);
        assert_eq!(told_at(iscsi(&[]), nvmf(&[]), 32), quiet(), "both hold all of the load");
        let written = [("queue-size", "64"), ("nr-io-queues", "1")];
        assert_eq!(
            told_at(iscsi(&[("queue-depth", "64")]), nvmf(&written), 128),
            quiet(),
            "both hold as many"
        );
        let found =
            told_at(nvmf(&[("queue-size", "32"), ("nr-io-queues", "4")]), nvmf(&written), 256);
        let two = [
            "nr-io-queues=1 against nr-io-queues=4: not the same number of queues",
            "queue-size 64 of nvmf against queue-size 32 of nvmf on each of 4 queues: not as many commands at a time under this load",
        ];
        assert_eq!(found, two, "two options of one layer are two things");
        let on = |layers: Layers| [vec![mdraid("0", "64KiB")], layers].concat();
        let other = |layers: Layers| [vec![lvm("striped")], layers].concat();
        let few = on(nvmf(&[("queue-size", "32"), ("nr-io-queues", "4")]));
        assert_eq!(told_at(few, other(nvmf(&written)), 256), two);
    }

    #[test]
    fn what_one_side_saves_or_gives_no_place_is_told() {
        let found =
            told(vec![lvm("striped")], vec![zfs(&[("compression", "lz4"), ("dedup", "on")])]);
        assert_eq!(
            found,
            [
                "compression=lz4 against no compression: not the same bytes come to the drives, unless the load's data do not compress",
                "dedup=on against no dedup: only one looks for blocks that are there already"
            ]
        );
        let found = told(vec![lvm("striped")], vec![zfs(&[("thin", "true")])]);
        assert_eq!(
            found,
            ["thin zvol against none that is thin: one is allocated when it is first written"]
        );
        let found = told(vec![mdraid("0", "64KiB")], vec![lvm("thin")]);
        assert_eq!(
            found,
            ["thin volume against none that is thin: one is allocated when it is first written"]
        );
    }

    #[test]
    fn memory_of_two_guests_is_told_and_that_of_a_host_is_not() {
        let guests = |places: [&'static str; 2]| {
            move |run: &mut RunData| {
                for (worker, place) in run.workers.iter_mut().zip(places) {
                    worker.place = place.into();
                }
                for (place, gib) in places.into_iter().zip([64u64, 128]) {
                    let mut known = run.places[0].clone();
                    (known.place, known.facts.memory_bytes) = (place.into(), Some(gib << 30));
                    run.places.push(known);
                }
            }
        };
        let layers = || [vec![lvm("striped")], vec![mdraid("0", "64KiB")]];
        let found = told_of([many(6), many(6)], layers(), guests(["lab", "lab2"]));
        assert_eq!(found, ["memory 128 GiB against memory 64 GiB: not the same memory for caches"]);
        assert_eq!(told_of([many(6), many(6)], layers(), guests(["host", "lab"])), quiet());
    }
}
