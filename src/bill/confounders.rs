//! Settings that must be the same on both sides of a comparison of something else: chunk of an array, number of drives,
//! redundancy, transport, cache mode. One concept has many names, a layer's own each; [`CONCEPTS`] knows which are the same.
//! Quiet where the setting is what is compared.

use super::efficiency::{self, Layout, Spread};
use super::reading::Reading;
use crate::scenario::{LayerSpec, Stack};
use crate::store::record::HOST;
use crate::units::show_bytes;

/// How one side has it.
#[derive(Clone, Debug, PartialEq)]
struct Setting {
    /// In the layer's own words.
    said: String,
    /// What is the same where it is the same.
    value: String,
}

impl Setting {
    fn of(said: impl Into<String>, value: impl ToString) -> Option<Setting> {
        Some(Setting { said: said.into(), value: value.to_string() })
    }
}

/// What must be the same.
struct Concept {
    /// What follows where it is not.
    why: &'static str,
    /// How a stack has it; `None`: it has no such thing, or nobody knows.
    of: fn(&Stack) -> Option<Setting>,
}

/// All of them.
const CONCEPTS: &[Concept] = &[
    Concept { why: "not the same stripe unit", of: stripe_unit },
    Concept { why: "not the same number of drives", of: drives },
    Concept { why: "not the same redundancy", of: redundancy },
    Concept { why: "not the same transport", of: transport },
    Concept { why: "not the same cache mode", of: |stack| setting(stack, "vm", "cache") },
    Concept { why: "not the same number of queues", of: |stack| setting(stack, "vm", "num-queues") },
    Concept { why: "not the same number of queues", of: |stack| setting(stack, "nvmf", "nr-io-queues") },
    Concept { why: "not the same number of vCPUs", of: |stack| setting(stack, "vm", "vcpus") },
    Concept { why: "one is allocated when it is first written", of: provisioning },
    Concept {
        why: "not the same bytes come to the drives, unless the load's data do not compress",
        of: compression,
    },
    Concept { why: "only one looks for blocks that are there already", of: deduplication },
];

/// Kind of these doubts.
pub const KIND: &str = "confounder";

/// What else differs between a stack and what it is compared with, as sentences.
pub fn of(reading: &Reading, at: usize) -> Vec<String> {
    let stacks = &reading.run.start.scenario.stacks;
    let against = |base: usize| {
        let pair = [&stacks[base], &stacks[at]];
        if is_on_purpose(pair) {
            return Vec::new();
        }
        let found = CONCEPTS.iter().filter_map(|concept| {
            let [there, here] = pair.map(|stack| (concept.of)(stack));
            Some((here?, there?, concept.why))
        });
        let found = found.chain(memory(reading, [base, at])).chain(commands(reading, [base, at]));
        let differs = found.filter(|(here, there, _)| here.value != there.value);
        differs
            .map(|(here, there, why)| {
                format!("{} against {} of {}: {why}", here.said, there.said, stacks[base].name)
            })
            .collect()
    };
    bases(reading, at).into_iter().flat_map(against).collect()
}

/// What a stack is compared with: the baseline, and the column that its table takes shares of.
pub(super) fn bases(reading: &Reading, at: usize) -> Vec<usize> {
    let scenario = &reading.run.start.scenario;
    let mut bases = vec![scenario.baseline];
    if let Some((table, column)) = scenario.table.as_ref().and_then(|table| Some((table, table.percent_of?)))
    {
        let name = Some(&scenario.stacks[at].name);
        let groups =
            table.groups.iter().filter(|group| group.stacks.iter().any(|stack| stack.as_ref() == name));
        let named = groups.filter_map(|group| group.stacks.get(column)?.as_ref());
        bases.extend(named.filter_map(|base| scenario.stacks.iter().position(|stack| stack.name == *base)));
    }
    bases.retain(|base| *base != at);
    bases.dedup();
    bases
}

/// Whether the two differ in one thing, which is then what is compared: in the layers that one has on top, in one layer's
/// options, or in the drives below.
fn is_on_purpose([a, b]: [&Stack; 2]) -> bool {
    let other_medium = usize::from(a.medium != b.medium);
    let differ = a.layers.iter().zip(&b.layers).filter(|(a, b)| a.key() != b.key()).count();
    let same_names = a.layers.iter().map(|layer| &layer.name).eq(b.layers.iter().map(|layer| &layer.name));
    match a.layers.len() == b.layers.len() {
        true => same_names && other_medium + differ <= 1,
        false => other_medium + differ == 0,
    }
}

fn stripe_unit(stack: &Stack) -> Option<Setting> {
    let layer = efficiency::joining(stack)?;
    let striped = |spread: Spread| !matches!(spread, Spread::Linear | Spread::Mirrored { .. });
    let is_raid10 = layer.name == "mdraid" && layer.option("level") == Some("10");
    Layout::of(stack).ok().filter(|layout| striped(layout.spread) || is_raid10)?;
    let of = |option: &str, usual: u64| (option.to_owned(), efficiency::size(layer, option, usual));
    let (option, bytes) = match layer.name.as_str() {
        "mdraid" => of("chunk", efficiency::MD_CHUNK),
        "lvm" => of("stripe-size", efficiency::LVM_STRIPE),
        "spdk" => of("strip-size", efficiency::SPDK_STRIP),
        "zfs" => {
            let option = if layer.option("kind") == Some("dataset") { "recordsize" } else { "volblocksize" };
            (option.to_owned(), efficiency::zfs_block(layer))
        }
        _ => return None,
    };
    Setting::of(format!("{option} {}", show_bytes(bytes)), bytes)
}

fn drives(stack: &Stack) -> Option<Setting> {
    efficiency::joining(stack)?;
    let drives = stack.medium.members().len();
    Setting::of(format!("{drives} drives"), drives)
}

fn redundancy(stack: &Stack) -> Option<Setting> {
    efficiency::joining(stack)?;
    let layout = Layout::of(stack).ok()?;
    let kept = match layout.spread {
        Spread::Striped { .. } | Spread::Linear => "no redundancy".to_owned(),
        Spread::Mirrored { copies } => format!("{copies} copies"),
        Spread::Parity { parity, .. } | Spread::Raidz { parity, .. } => format!("{parity} of parity"),
    };
    Setting::of(format!("{} ({kept})", layout.name), kept.clone())
}

/// Layers that take a stack to another place, from the last.
fn transport(stack: &Stack) -> Option<Setting> {
    let exported = |layer: &&LayerSpec| ["nvmf", "iscsi", "nbd"].contains(&layer.name.as_str());
    let layer = stack.layers.iter().rev().find(exported)?;
    let word = layer.option("transport").unwrap_or("tcp");
    let below = if word == "iser" { "rdma" } else { word };
    Setting::of(format!("{} over {word}", layer.name), below)
}

fn setting(stack: &Stack, name: &str, option: &str) -> Option<Setting> {
    let layer = stack.layers.iter().rev().find(|layer| layer.name == name)?;
    let value = layer.option(option)?;
    Setting::of(format!("{option}={value}"), value)
}

fn provisioning(stack: &Stack) -> Option<Setting> {
    let thin = |layer: &LayerSpec| match layer.name.as_str() {
        "lvm" if layer.option("type") == Some("thin") => Some("thin volume"),
        "zfs" if layer.option("kind") != Some("dataset") && layer.option("thin") != Some("false") => {
            Some("thin zvol")
        }
        "spdk" if layer.option("lvol") == Some("thin") => Some("thin lvol"),
        "vm" if layer.option("format") == Some("qcow2") => {
            layer.option("preallocation").is_none_or(|word| word == "off").then_some("thin image")
        }
        _ => None,
    };
    match stack.layers.iter().find_map(thin) {
        Some(what) => Setting::of(what, "thin"),
        None => Setting::of("none that is thin", "thick"),
    }
}

fn zfs(stack: &Stack) -> Option<&LayerSpec> {
    stack.layers.iter().find(|layer| layer.name == "zfs")
}

/// Versions of ZFS differ in what they compress where nobody says.
fn compression(stack: &Stack) -> Option<Setting> {
    let Some(layer) = zfs(stack) else { return Setting::of("no compression", "off") };
    match layer.option("compression")? {
        "off" => Setting::of("no compression", "off"),
        word => Setting::of(format!("compression={word}"), word),
    }
}

fn deduplication(stack: &Stack) -> Option<Setting> {
    let word = zfs(stack).and_then(|layer| layer.option("dedup")).unwrap_or("off");
    let is_off = ["off", "false"].contains(&word);
    if is_off { Setting::of("no dedup", "off") } else { Setting::of(format!("dedup={word}"), word) }
}

/// Sizes that differ by less are the same on the label.
const SAME_MEMORY: f64 = 0.05;

/// Memory of two places that were made for the comparison; this host and a guest on it differ by nature.
fn memory(reading: &Reading, pair: [usize; 2]) -> Option<(Setting, Setting, &'static str)> {
    let of = |at: usize| {
        reading.worker(at).filter(|worker| worker.place != HOST)?;
        reading.place_of(at)?.facts.memory_bytes
    };
    let [there, here] = pair.map(of);
    let (there, here) = (there?, here?);
    let apart = there.abs_diff(here) as f64 > SAME_MEMORY * there.max(here) as f64;
    let said =
        |bytes: u64| Setting { said: format!("memory {}", show_bytes(bytes)), value: bytes.to_string() };
    apart.then(|| (said(here), said(there), "not the same memory for caches"))
}

/// Commands that an initiator has at its target at one time: of the disk of an iSCSI session, of a queue of NVMe's.
struct Depth {
    said: String,
    commands: u64,
    /// Queues that each hold so many; `None`: one a processor.
    queues: Option<u64>,
}

/// What open-iscsi has where nobody says: node.session.queue_depth, within a cmds_max of 128.
const ISCSI_DEPTH: u64 = 32;
/// The kernel's queue_size where nobody says.
const NVMF_DEPTH: u64 = 128;

fn depth(stack: &Stack) -> Option<Depth> {
    let layer = stack.layers.iter().rev().find(|layer| ["iscsi", "nvmf"].contains(&layer.name.as_str()))?;
    let (option, usual) =
        if layer.name == "iscsi" { ("queue-depth", ISCSI_DEPTH) } else { ("queue-size", NVMF_DEPTH) };
    let commands = efficiency::number(layer, option).unwrap_or(usual);
    let queues = if layer.name == "iscsi" { Some(1) } else { efficiency::number(layer, "nr-io-queues") };
    let of = match (layer.name.as_str(), queues) {
        ("iscsi", _) | (_, Some(1)) => String::new(),
        (_, Some(queues)) => format!(" on each of {queues} queues"),
        (_, None) => " on a queue a processor".to_owned(),
    };
    Some(Depth { said: format!("{option} {commands} of {}{of}", layer.name), commands, queues })
}

/// Depths of two initiators, where the load has more in flight than the smaller one holds: what is beyond waits before it is sent.
fn commands(reading: &Reading, pair: [usize; 2]) -> Option<(Setting, Setting, &'static str)> {
    let [there, here] = pair.map(|at| depth(&reading.run.start.scenario.stacks[at]));
    let (there, here) = (there?, here?);
    let in_flight = |at: usize| {
        let jobs = reading.workload.jobs.iter();
        let one: u64 = jobs.map(|job| u64::from(job.iodepth) * u64::from(job.numjobs)).sum();
        one * reading.members(at) as u64
    };
    // How many queues a processor each are is not known; one thread has one of them.
    let least = |depth: &Depth| depth.commands * depth.queues.unwrap_or(1);
    let binds = pair.into_iter().zip([&there, &here]).any(|(at, depth)| in_flight(at) > least(depth));
    let setting = |depth: Depth| {
        let queues = depth.queues.map_or_else(|| "processors".to_owned(), |queues| queues.to_string());
        Setting { value: format!("{} x {queues}", depth.commands), said: depth.said }
    };
    binds.then(|| (setting(here), setting(there), "not as many commands at a time under this load"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bill::twin::{drives as many, layer};
    use crate::bill::{RunData, findings, twin};
    use crate::scenario::Medium;

    type Layers = Vec<LayerSpec>;

    fn mdraid(level: &str, chunk: &str) -> LayerSpec {
        layer("mdraid", &[("level", level), ("chunk", chunk)])
    }

    fn lvm(kind: &str) -> LayerSpec {
        layer("lvm", &[("type", kind), ("stripe-size", "64KiB")])
    }

    fn zfs(options: &[(&str, &str)]) -> LayerSpec {
        let usual =
            [("vdev", "stripe"), ("volblocksize", "64KiB"), ("compression", "off"), ("thin", "false")];
        layer("zfs", &[&usual[..], options].concat())
    }

    /// What is told of the second of two stacks, the first of which is the baseline.
    fn told_of(media: [Medium; 2], layers: [Layers; 2], change: impl FnOnce(&mut RunData)) -> Vec<String> {
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
        let found = told(vec![lvm("striped")], vec![zfs(&[("kind", "dataset"), ("recordsize", "1MiB")])]);
        assert_eq!(found, ["recordsize 1 MiB against stripe-size 64 KiB: not the same stripe unit"]);
        let spdk = layer("spdk", &[("raid", "raid0"), ("strip-size", "128KiB")]);
        let found = told(vec![spdk], vec![lvm("striped")]);
        assert_eq!(found, ["stripe-size 64 KiB against strip-size 128 KiB: not the same stripe unit"]);
        assert_eq!(told(vec![lvm("linear")], vec![mdraid("0", "512KiB")]), quiet(), "one has no stripe");
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
        let of_five = told_of([many(6), many(5)], [vec![lvm("striped")], vec![mdraid("0", "64KiB")]], |_| {});
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
            told(vec![mdraid("0", "64KiB"), zfs(&[("compression", "lz4")])], vec![mdraid("0", "64KiB")]),
            quiet()
        );
        let vm = |cache: &str| layer("vm", &[("cache", cache)]);
        let both = told(vec![mdraid("0", "64KiB"), vm("none")], vec![mdraid("0", "512KiB"), vm("writeback")]);
        assert_eq!(
            both,
            [
                "chunk 512 KiB against chunk 64 KiB: not the same stripe unit",
                "cache=writeback against cache=none: not the same cache mode"
            ]
        );
    }

    #[test]
    fn transports_are_the_same_by_what_carries_them() {
        let over = |layer_name: &str, transport: &str| layer(layer_name, &[("transport", transport)]);
        assert_eq!(told(vec![over("iscsi", "iser")], vec![over("nvmf", "rdma")]), quiet());
        let found = told(vec![over("iscsi", "iser")], vec![over("nvmf", "tcp")]);
        assert_eq!(found, ["nvmf over tcp against iscsi over iser: not the same transport"]);
        assert_eq!(told(vec![layer("nbd", &[])], vec![over("nvmf", "tcp")]), quiet());
    }

    #[test]
    fn initiators_that_hold_unlike_many_commands_are_told_where_the_load_has_more() {
        let iscsi =
            |options: &[(&str, &str)]| vec![layer("iscsi", &[&[("transport", "iser")], options].concat())];
        let nvmf =
            |options: &[(&str, &str)]| vec![layer("nvmf", &[&[("transport", "rdma")], options].concat())];
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
        let found = told_at(nvmf(&[("queue-size", "32"), ("nr-io-queues", "4")]), nvmf(&written), 256);
        let two = [
            "nr-io-queues=1 against nr-io-queues=4: not the same number of queues",
            "queue-size 64 of nvmf against queue-size 32 of nvmf on each of 4 queues: not as many commands at a time under this load",
        ];
        assert_eq!(found, quiet(), "options of one layer are what is compared");
        let on = |layers: Layers| [vec![mdraid("0", "64KiB")], layers].concat();
        let other = |layers: Layers| [vec![lvm("striped")], layers].concat();
        let few = on(nvmf(&[("queue-size", "32"), ("nr-io-queues", "4")]));
        assert_eq!(told_at(few, other(nvmf(&written)), 256), two);
    }

    #[test]
    fn what_one_side_saves_or_gives_no_place_is_told() {
        let found = told(vec![lvm("striped")], vec![zfs(&[("compression", "lz4"), ("dedup", "on")])]);
        assert_eq!(
            found,
            [
                "compression=lz4 against no compression: not the same bytes come to the drives, unless the load's data do not compress",
                "dedup=on against no dedup: only one looks for blocks that are there already"
            ]
        );
        let found = told(vec![lvm("striped")], vec![zfs(&[("thin", "true")])]);
        assert_eq!(found, ["thin zvol against none that is thin: one is allocated when it is first written"]);
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
