//! Tests of the scenarios that come with iotax: each is accepted, and agrees with its article.

use super::*;
use crate::scenario::{DriveRatings, Metric, Published, PublishedFigure};
use std::collections::BTreeSet;

#[test]
fn ready_scenarios() {
    for name in
        ["file-loop-xfs", "file-vm", "ssh-host-vm", "ssh-windows", "known-delay", "sweep-iodepth"]
    {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
        let scenario =
            from_path(&Path::new(folder).join(format!("{name}.toml")), &ScenarioRequest::default());
        let mut scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        scenario.source = scenario.source.replace(folder, "scenarios");
        scenario.notes.iter_mut().for_each(|note| *note = note.replace(folder, "scenarios"));
        let layers = scenario.stacks.iter_mut().flat_map(|stack| stack.layers.iter_mut());
        layers.for_each(|layer| layer.origin = layer.origin.replace(folder, "scenarios"));
        insta::assert_json_snapshot!(name, scenario);
    }
}

#[test]
fn every_file_of_scenarios_is_taken() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "toml") {
            from_path(&path, &ScenarioRequest::default()).unwrap_or_else(|error| panic!("{error}"));
            seen += 1;
        }
    }
    assert!(seen >= 5);
}

/// Checks figures that somebody typed: bytes divided by the block size must be the I/Os beside
/// them.
#[test]
fn published_figures_of_ready_scenarios_do_not_contradict_each_other() {
    let mut shipped = Vec::new();
    for (scenario, published) in ready_with_figures() {
        let known = |stack: &str, workload: &str, word: &str| {
            let metric = Metric::try_from(word.to_owned()).unwrap();
            let ours = |one: &&PublishedFigure| {
                (one.stack.as_str(), one.workload.as_str(), one.metric) == (stack, workload, metric)
            };
            published.figures.iter().find(ours).filter(|one| !one.share)
        };
        for (stack, workload) in scenario
            .stacks
            .iter()
            .flat_map(|stack| scenario.workloads.iter().map(move |load| (stack, load)))
        {
            for [ios, bytes] in [["iops", "throughput"], ["durable iops", "durable throughput"]] {
                let [ios, bytes] =
                    [ios, bytes].map(|word| known(&stack.name, &workload.name, word));
                let Some((ios, bytes)) = ios.zip(bytes) else { continue };
                let bs = workload.jobs[0].bs as f64;
                // fio truncates IOPS and rounds bytes.
                assert!(
                    bytes.low / bs <= ios.high + 0.5 && ios.low <= bytes.high / bs,
                    "{ios:?} {bytes:?}"
                );
            }
        }
        shipped.push(published.figures.len());
    }
    assert!(shipped.len() >= 4 && shipped.iter().sum::<usize>() >= 105, "{shipped:?}");
}

/// Counts of iotax's own probes have units of their own, which nobody else has published.
#[test]
fn published_counts_are_those_of_the_tools_that_counted_them() {
    let mut of_tools = 0;
    for (scenario, published) in ready_with_figures() {
        for figure in &published.figures {
            let load = scenario.workloads.iter().find(|load| load.name == figure.workload).unwrap();
            let Some(probe) = &load.probe else { continue };
            let is_counted = matches!(figure.metric, Metric::Rate { bytes: false, .. });
            assert!(probe.is_tool() || !is_counted, "{:?}: {figure:?}", scenario.name);
            of_tools += usize::from(probe.is_tool());
        }
    }
    assert!(of_tools >= 8, "{of_tools}");
}

#[test]
fn the_private_cloud_in_one_run_has_what_its_parts_have() {
    let whole = shipped("e2-storage.toml");
    let all = whole.published.unwrap().figures;
    assert_eq!((whole.stacks.len(), all.len()), (9 + 4, 59 + 48 + 48));
    for part in ["e2-cache-queues.toml", "e2-windows.toml", "e2-ceph.toml"] {
        for figure in shipped(part).published.unwrap().figures {
            let stack = match part {
                "e2-ceph.toml" => figure.stack.replace("guest", "ceph"),
                _ => figure.stack.clone(),
            };
            let same = all.iter().find(|one| {
                (&one.workload, one.metric, &one.stack) == (&figure.workload, figure.metric, &stack)
            });
            assert_eq!(same.map(|one| &one.printed), Some(&figure.printed), "{figure:?}");
        }
    }
}

fn shipped(name: &str) -> Scenario {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios"));
    from_path(&folder.join(name), &ScenarioRequest::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the options of a layer in all stacks that have it.
fn options_of<'a>(scenario: &'a Scenario, layer: &str, option: &str) -> BTreeSet<Option<&'a str>> {
    let layers = scenario.stacks.iter().flat_map(|stack| &stack.layers);
    layers.filter(|spec| spec.name == layer).map(|spec| spec.option(option)).collect()
}

#[test]
fn the_passthrough_has_its_pages_engine_and_reads_what_was_written() {
    let scenario = shipped("e0-passthrough.toml");
    let engines: BTreeSet<_> =
        scenario.workloads.iter().map(|load| format!("{:?}", load.engine)).collect();
    assert_eq!(engines, [format!("{:?}", Some(Engine::Native(EngineName::Aio)))].into());
    assert_eq!(scenario.measure.precondition.passes, 1);
    let (rating, published) = (scenario.rating.unwrap(), scenario.published.unwrap());
    let of = |load: &str, stack: &str, rated: DriveRatings| {
        let bytes = matches!(rated, DriveRatings::Read | DriveRatings::Write);
        let metric = Metric::Rate { bytes, durable: false, way: None };
        let is_it = |one: &&PublishedFigure| {
            (&*one.workload, &*one.stack, one.metric) == (load, stack, metric)
        };
        1000.0 * published.figures.iter().find(is_it).unwrap().value
            / rating.rated_value(rated).unwrap()
    };
    // Of the page's last two columns, which cut some digits off, and round 53.96 % up.
    for (load, rated, host, vm) in [
        ("randwrite-4k", DriveRatings::RandwriteIops, 787.0, 740.0),
        ("randread-4k", DriveRatings::RandreadIops, 765.0, 700.0),
        ("write-128k", DriveRatings::Write, 540.0, 536.0),
        ("read-128k", DriveRatings::Read, 515.0, 508.0),
    ] {
        let shares =
            [("host", host), ("vm", vm)].map(|(stack, printed)| of(load, stack, rated) - printed);
        assert!(shares.iter().all(|off| off.abs() < 1.0), "{load}: {shares:?}");
    }
}

/// The title of the page: 21.5 % of reads and 18.4 % of writes, where its counts give 21.6 % for
/// both.
#[test]
fn the_losses_of_a_virtual_disk_are_cells_of_its_scenarios() {
    for name in ["e1-passthrough-vdisk.toml", "e1-lvm-xfs.toml"] {
        let published = shipped(name).published.unwrap();
        let loss = |metric: &str, note: &str| {
            let is_it = |one: &&PublishedFigure| {
                one.metric.to_string() == metric
                    && one.note.as_ref().is_some_and(|own| own.contains(note))
            };
            let [base, disk] = published.figures.iter().filter(is_it).collect::<Vec<_>>()[..]
            else {
                panic!("{name}: {metric} {note}")
            };
            assert!(base.stack == published.baseline && disk.is_of_row(base));
            (1000.0 * (1.0 - disk.value / base.value)).round() / 10.0
        };
        assert_eq!(
            (loss("read iops", "table"), loss("write iops", "table")),
            (21.5, 18.4),
            "{name}"
        );
        assert_eq!(
            (loss("read iops", "counts"), loss("write iops", "counts")),
            (21.6, 21.6),
            "{name}"
        );
    }
}

#[test]
fn the_private_cloud_has_its_pages_engine_and_guests() {
    let scenario = shipped("e2-cache-queues.toml");
    let engine = Some(Engine::Native(EngineName::PosixAio));
    assert!(
        scenario.workloads.len() == 6
            && scenario.workloads.iter().all(|load| load.engine == engine)
    );
    assert_eq!(options_of(&scenario, "vm", "memory"), [Some("4GiB")].into());
    assert_eq!(options_of(&scenario, "vm", "vcpus"), [Some("4")].into());
}

#[test]
fn the_table_of_ceph_is_of_guests_that_differ_in_cache_and_queues_on_one_cluster() {
    let scenario = shipped("e2-ceph.toml");
    assert_eq!(options_of(&scenario, "vm", "cache"), [Some("none"), Some("writeback")].into());
    assert_eq!(options_of(&scenario, "vm", "num-queues"), [Some("1"), Some("4")].into());
    let below: BTreeSet<_> = scenario.stacks.iter().map(|stack| stack.layers[0].key()).collect();
    assert_eq!((scenario.stacks.len(), below.len()), (4, 1));
    assert_eq!(scenario.published.unwrap().figures.len(), 48);
}

#[test]
fn the_guests_of_two_raids_are_as_large_as_on_their_page_and_eight_on_each() {
    let scenario = shipped("e3-many-guests.toml");
    assert_eq!(options_of(&scenario, "vm", "vcpus"), [Some("6"), Some("8")].into());
    assert_eq!(options_of(&scenario, "vm", "memory"), [Some("16GiB")].into());
    assert!(options_of(&scenario, "vm", "hugepages").iter().all(Option::is_some));
    assert_eq!(options_of(&scenario, "split", "parts"), [Some("8")].into());
    let lists: BTreeSet<usize> =
        scenario.stacks.iter().map(|stack| stack.medium.list_count()).collect();
    assert_eq!(lists, [1, 2].into());
    assert!(
        scenario
            .stacks
            .iter()
            .all(|stack| stack.medium.members().len() == 5 * stack.medium.list_count())
    );
    assert_eq!(scenario.measure.percentiles, [99.95]);
    assert_eq!(options_of(&scenario, "mdraid", "chunk"), [Some("64KiB")].into());
    let guests: BTreeSet<u32> = scenario.stacks.iter().map(Stack::guests).collect();
    assert_eq!(guests, [1, 16].into());
    let rating = scenario.rating.unwrap();
    let rated = [
        DriveRatings::RandreadIops,
        DriveRatings::RandwriteIops,
        DriveRatings::Read,
        DriveRatings::Write,
    ]
    .map(|one| rating.rated_value(one));
    assert_eq!(rated, [Some(2.7e6), Some(0.7e6), Some(14e9), Some(6.75e9)]);
}

#[test]
fn the_arrays_of_two_engines_are_alike_and_two_of_each() {
    let scenario = shipped("e3-xiraid.toml");
    assert_eq!(options_of(&scenario, "vm", "memory"), [Some("16GiB")].into());
    assert_eq!(options_of(&scenario, "vm", "hugepages"), [Some("1GiB")].into());
    assert_eq!(options_of(&scenario, "vm", "cpus"), [Some("auto")].into());
    assert_eq!(options_of(&scenario, "mdraid", "bitmap"), [Some("internal")].into());
    for engine in ["mdraid", "xiraid-opus"] {
        assert_eq!(options_of(&scenario, engine, "chunk"), [Some("64KiB")].into());
        let stacks = scenario.stacks.iter();
        let stacks = stacks.filter(|stack| stack.layers.iter().any(|layer| layer.name == engine));
        let arrays: BTreeSet<usize> = stacks.map(|stack| stack.medium.list_count()).collect();
        assert_eq!(arrays, [1, 2].into(), "{engine}");
    }
}

#[test]
fn backends_over_fabrics_have_as_much_in_flight_as_on_their_page_and_its_attributes() {
    let scenario = shipped("e4-backends-fabrics.toml");
    for (stack, load) in scenario
        .stacks
        .iter()
        .flat_map(|stack| scenario.workloads.iter().map(move |load| (stack, load)))
    {
        let of_a_disk: u32 = load.jobs.iter().map(|job| job.iodepth * job.numjobs).sum();
        assert_eq!(
            u64::from(of_a_disk) * stack.target_count(),
            64,
            "{} under {}",
            stack.name,
            load.name
        );
    }
    for file in ["e4-backends-fabrics.toml", "e4-one-vm.toml"] {
        let scenario = shipped(file);
        for attribute in ["emulate-3pc", "emulate-tpu", "emulate-caw", "emulate-tpws", "is-nonrot"]
        {
            assert_eq!(
                options_of(&scenario, "iscsi", attribute),
                [Some("true")].into(),
                "{file} {attribute}"
            );
        }
        assert_eq!(
            options_of(&scenario, "iscsi", "max-write-same-len"),
            [Some("65535")].into(),
            "{file}"
        );
    }
}

#[test]
fn the_six_loads_of_fio_are_those_of_their_page_on_one_guest_and_drive_by_drive() {
    let [one_vm, drives] = ["e4-one-vm.toml", "e4-drives.toml"].map(shipped);
    let loads = |scenario: &Scenario| {
        let said =
            scenario.workloads.iter().map(|load| format!("{}: {}", load.name, load.subject()));
        said.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(loads(&one_vm));
    assert_eq!(loads(&drives), loads(&one_vm));
    let tables = drives.table.unwrap();
    assert_eq!((tables.groups.len(), tables.percent_of), (7, Some(0)));
    assert!(tables.groups.iter().all(|group| group.stacks.iter().all(Option::is_some)));
    assert_eq!(drives.published.unwrap().figures.len(), 84);
}

/// Returns the files of scenarios/ that show published figures.
fn ready_with_figures() -> Vec<(Scenario, Published)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let tomls = files.filter(|path| path.extension().is_some_and(|end| end == "toml"));
    let scenarios = tomls.map(|path| from_path(&path, &ScenarioRequest::default()).unwrap());
    scenarios
        .filter_map(|scenario| scenario.published.clone().map(|published| (scenario, *published)))
        .collect()
}
