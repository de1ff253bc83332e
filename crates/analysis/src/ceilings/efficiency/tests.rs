//! The bounds on runs of known truth: the twin's drives read and write alike.

use super::*;
use crate::{RunData, findings, twin};
use iotax_facts::machine::TargetFacts;
use iotax_model::scenario::{Metric, Published, PublishedFigure, Rating, rating};
use proptest::prelude::*;

fn of<'a>(found: &'a crate::Findings, load: &str, stack: &str, by: &str) -> &'a Efficiency {
    let workload = found.workloads.iter().find(|workload| workload.name.contains(load)).unwrap();
    let ours = |one: &&Efficiency| one.stack == stack && one.by.word() == by;
    workload.efficiency.iter().find(ours).unwrap_or_else(|| panic!("{stack} {load} {by}"))
}

fn covers(figure: &MeasuredFigure, truth: f64, percent: f64) {
    let (low, high) = figure.bounds().unwrap_or_else(|| panic!("{figure:?}"));
    assert!(low <= truth && truth <= high, "{figure:?}, not {truth}");
    assert!(high / low - 1.0 < percent / 50.0, "{figure:?} is wide");
}

#[test]
fn stacks_are_held_against_all_drives_at_once() {
    let found = findings(&twin::arrays());
    // Twice the latency of the drives.
    covers(&of(&found, "randread", "raid5", "measured").share, 0.5, 3.0);
    covers(&of(&found, "randread", "lvm", "measured").share, 0.5, 3.0);
    covers(&of(&found, "randwrite", "lvm", "measured").share, 0.5, 3.0);
    // A twelfth of the drives' writes, of which each takes two reads and two writes.
    let raid5 = of(&found, "randwrite", "raid5", "measured");
    covers(&raid5.share, 4.0 / 12.0, 30.0);
    assert_eq!(raid5.rule, "read-modify-write bound: 4 I/Os a write");
    assert!(
        raid5.sentence.starts_with("raid5: reaches ")
            && raid5.sentence.ends_with(
                " of what 5 drives can do at RAID5 4k random writes (read-modify-write bound: 4 I/Os a write; measured: each)"
            ),
        "{}",
        raid5.sentence
    );
    // Half reads of one drive each, half writes of four: (1 + 4) / 2.
    covers(&of(&found, "randrw", "raid5", "measured").share, 2.5 / 8.0, 30.0);
    let could = of(&found, "randwrite", "raid5", "measured").could.value().unwrap();
    let each = found.workloads[1].rows[0].iops.value().unwrap();
    assert!((could / (each / 4.0) - 1.0).abs() < 0.1, "{could} of {each}");
    assert!(
        found.workloads[0]
            .efficiency
            .iter()
            .all(|one| (one.stack != "each") || one.by.word() == "rated")
    );
}

#[test]
fn a_bound_from_two_loads_has_the_drift_between_them_in_its_interval() {
    let found = findings(&twin::arrays());
    let width =
        |figure: &MeasuredFigure| figure.bounds().map(|(low, high)| high / low - 1.0).unwrap();
    let paired = width(&of(&found, "randread", "raid5", "measured").share);
    let crossed = width(&of(&found, "randwrite", "raid5", "measured").share);
    assert!(crossed > 2.0 * paired, "{crossed} {paired}");
}

#[test]
fn what_is_rated_bounds_by_the_same_arithmetic() {
    let run = twin::arrays();
    let found = findings(&run);
    let could = |load: &str, stack: &str| of(&found, load, stack, "rated").could.value().unwrap();
    assert!((could("randread", "each") - 100e3).abs() < 1e-3);
    assert!((could("randread", "raid5") - 100e3).abs() < 1e-3);
    assert!((could("randwrite", "raid5") - 5.0 / (2.0 / 20e3 + 2.0 / 10e3)).abs() < 1e-3);
    // 16 KiB blocks on four of five.
    assert!((could("randread", "zfs") - 100e3 / 4.0).abs() < 1e-3);
    let raid5 = of(&found, "randread", "raid5", "rated");
    let reached = found.workloads[0].rows[1].iops.value().unwrap();
    assert!((raid5.share.value().unwrap() - reached / 100e3).abs() < 1e-12);
    let write = of(&found, "randwrite", "raid5", "rated");
    let reached = found.workloads[1].rows[1].iops.value().unwrap();
    assert!((write.of_all.as_ref().unwrap().value().unwrap() - reached / 50e3).abs() < 1e-12);
    assert!(raid5.share.bounds().is_some(), "the interval is the stack's own");
    assert!(
        raid5.sentence.ends_with("(rated: data sheet of a drive that never was, 2026)"),
        "{}",
        raid5.sentence
    );
}

fn directions(one: &Efficiency) -> [&DirectionEfficiency; 2] {
    let [read, write] = one.directions.as_slice() else { panic!("{one:?}") };
    assert_eq!([read.direction, write.direction], ["read", "write"]);
    [read, write]
}

#[test]
fn reads_and_writes_of_a_mix_are_held_against_what_is_possible_of_each_alone() {
    let found = findings(&twin::arrays());
    let rated = of(&found, "randrw", "raid5", "rated");
    let [read, write] = directions(rated);
    // Five drives of 20k reads; five of which each write takes two reads and two writes of 10k.
    assert!((read.could.value().unwrap() - 100e3).abs() < 1e-6);
    assert!((write.could.value().unwrap() - 5.0 / (2.0 / 20e3 + 2.0 / 10e3)).abs() < 1e-6);
    // They share the drives' time: what the two reach of it is what the whole reaches.
    let [reads, writes, whole] = [read, write]
        .map(|one| one.share.value().unwrap())
        .into_iter()
        .chain(rated.share.value())
        .collect::<Vec<_>>()[..]
    else {
        panic!("{rated:?}")
    };
    assert!(((reads + writes) / whole - 1.0).abs() < 0.02, "{reads} + {writes} is not {whole}");
    let rows = &found.workloads[2].rows.iter().find(|row| row.stack == "raid5").unwrap().directions;
    assert!((reads - rows[0].iops.value().unwrap() / 100e3).abs() < 1e-12);
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    for (one, share) in [("reads", reads), ("writes", writes)] {
        let words = format!(" of the limit of {one} alone");
        let said = rated.sentence.split("; ").find(|part| part.contains(&words)).unwrap();
        assert!(said.starts_with(&format!("{one} reach ")), "{said}, of {}", percent(share));
    }
    // An eighth of the drives' I/Os: half reads of one of a drive each, half writes of four.
    let [read, write] = directions(of(&found, "randrw", "raid5", "measured"));
    covers(&read.share, 0.5 / 8.0, 30.0);
    covers(&write.share, 4.0 * 0.5 / 8.0, 30.0);
    covers(write.of_all.as_ref().unwrap(), 0.5 / 8.0, 30.0);
    let each = |load: usize| found.workloads[load].rows[0].iops.value().unwrap();
    assert!((read.could.value().unwrap() / each(0) - 1.0).abs() < 1e-9);
    let could = 1.0 / (2.0 / each(0) + 2.0 / each(1));
    assert!((write.could.value().unwrap() / could - 1.0).abs() < 1e-9);
    assert!(
        found.workloads[..2]
            .iter()
            .flat_map(|load| &load.efficiency)
            .all(|one| one.directions.is_empty())
    );
}

#[test]
fn a_rate_of_a_mix_that_cannot_be_split_is_not() {
    let found = without_rating(|run| run.start.scenario.workloads[1].jobs[0].bs = 8192);
    let lvm = of(&found, "randrw", "lvm", "measured");
    covers(&lvm.share, 0.5, 3.0);
    let [read, write] = directions(lvm);
    covers(&read.share, 0.25, 30.0);
    let why = "writes alone were not measured on the drives at this bs, iodepth and numjobs, and the rate of a mix cannot be \
               split into reads and writes";
    assert!(
        lvm.sentence.ends_with(&format!("; no share of writes alone: {why}")),
        "{}",
        lvm.sentence
    );
    assert!(matches!(&write.could, MeasuredFigure::Missing { reason } if reason == why));
    // A rating of reads says nothing of the mix, and something of its reads.
    let mix = Job { rw: Rw::RandRw, iodepth: 4, ..Job::default() };
    let reads = rated(&[("randread_iops", "20k")], mix);
    assert!(reads.could.value().is_none());
    let [read, write] = directions(&reads);
    assert!((read.could.value().unwrap() - 100e3).abs() < 1e-6);
    assert!(
        matches!(&write.could, MeasuredFigure::Missing { reason } if reason == "the rating says nothing of random writes of this size")
    );
}

#[test]
fn several_arrays_at_once_can_do_the_sum_of_each() {
    let mut run = twin::arrays();
    let Medium::Many { members, .. } = twin::drives(10) else { panic!("several drives") };
    let medium = Medium::Many { members, groups: 2 };
    run.start.scenario.stacks.iter_mut().for_each(|stack| stack.medium = medium.clone());
    let found = findings(&run);
    let rated = of(&found, "randwrite", "raid5", "rated");
    assert_eq!((rated.layout.as_str(), rated.drives), ("2 x RAID5", 10));
    assert!((could(rated) - 2.0 * 5.0 / (2.0 / 20e3 + 2.0 / 10e3)).abs() < 1e-6);
    assert!(
        rated.sentence.contains(" of what 10 drives can do at 2 x RAID5 4k random writes "),
        "{}",
        rated.sentence
    );
    assert!((could(of(&found, "randread", "raid5", "rated")) - 10.0 * 20e3).abs() < 1e-6);
    // All ten at once, of which each write takes four.
    covers(&of(&found, "randwrite", "raid5", "measured").share, 4.0 / 12.0, 30.0);
    // One of each is lost.
    run.start.scenario.stacks[1].state =
        serde_json::from_str(r#"{"position":1,"state":"failed(1)","of":1}"#).unwrap();
    let lost = findings(&run);
    let lost = of(&lost, "randread", "raid5", "rated");
    assert_eq!(lost.layout, "2 x RAID5 with 1 drive lost");
    // A fifth of the reads of each array takes all four drives that are left.
    assert!((could(lost) - 2.0 * 4.0 * 20e3 / (0.8 + 0.2 * 4.0)).abs() < 1e-6);
}

#[test]
fn more_than_all_is_told_as_a_doubt() {
    let found = findings(&twin::arrays());
    let told = |subject: &str| {
        let of_it = found
            .warnings
            .iter()
            .filter(|one| one.kind == "faster" && one.subject.contains(subject));
        of_it.map(|one| one.text.as_str()).collect::<Vec<_>>()
    };
    assert!(of(&found, "randread", "zfs", "measured").share.value().unwrap() > 1.0);
    assert!(
        told("zfs")
            .iter()
            .any(|text| text.contains("of what its drives could do by each: something is cached")),
        "{:?}",
        told("zfs")
    );
    assert!(told("lvm").is_empty(), "{:?}", told("lvm"));
}

/// A rating of `figures`, and the first load as `job`.
fn rated(figures: &[(&str, &str)], job: Job) -> Efficiency {
    let mut run = twin::arrays();
    let mut rating = Rating { source: "a page".into(), ..Rating::default() };
    figures.iter().for_each(|(key, text)| rating::set_rating_key(&mut rating, key, text).unwrap());
    run.start.scenario.rating = Some(Box::new(rating));
    run.start.scenario.workloads[0].jobs[0] = job;
    let found = findings(&run);
    let of_raid5 = |one: &&Efficiency| one.stack == "raid5" && one.by.word() == "rated";
    found.workloads[0].efficiency.iter().find(of_raid5).cloned().unwrap()
}

fn could(found: &Efficiency) -> f64 {
    found.could.value().unwrap_or_else(|| panic!("{found:?}"))
}

/// Five drives of a lab one after the other, and a load on the first bytes of them.
#[test]
fn a_region_on_the_first_of_linear_drives_is_held_against_that_one() {
    let could = |drive_size: Option<u64>| {
        let mut run = twin::arrays();
        run.start.scenario.stacks[2].layers = vec![twin::layer("lvm", &[("type", "linear")])];
        if let Some(drive_size) = drive_size {
            let lab = iotax_model::scenario::LabSpec { drive_size, ..Default::default() };
            run.start.scenario.labs.insert("lab".into(), lab);
        }
        of(&findings(&run), "randread", "lvm", "rated").clone()
    };
    // The workers have 4 GiB.
    let bound = |found: &Efficiency| found.could.value().unwrap();
    assert!((bound(&could(Some(4 << 30))) - 20e3).abs() < 1e-3, "all of it is on the first");
    assert!((bound(&could(Some(2 << 30))) - 40e3).abs() < 1e-3);
    assert_eq!(could(Some(4 << 30)).rule, "the region is on 1 of 5 drives");
    let unknown = could(None).sentence;
    assert!(unknown.ends_with("their size is not recorded"), "{unknown}");
}

#[test]
fn a_rating_bounds_what_it_says_something_of() {
    let sequential =
        Job { rw: iotax_load::Rw::Read, bs: 1 << 20, percentage_random: 0, ..Job::default() };
    // Data of four of five drives, in bytes a second.
    assert!((could(&rated(&[("read", "7000MB/s")], sequential.clone())) - 4.0 * 7e9).abs() < 1.0);
    let large = Job { bs: 64 << 10, ..Job::default() };
    let both = [("randread_iops", "1000k"), ("read", "7000MB/s")];
    assert!(
        (could(&rated(&both, large.clone())) - 5.0 * 7e9).abs() < 1.0,
        "bytes are what is short"
    );
    let why = |found: Efficiency| match found.could {
        MeasuredFigure::Missing { reason } => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        why(rated(&both[..1], large)),
        "the rating says nothing of random reads of this size"
    );
    assert_eq!(why(rated(&both[..1], sequential)), "the rating says nothing of sequential reads");
    let write = Job { rw: iotax_load::Rw::RandWrite, ..Job::default() };
    assert_eq!(why(rated(&both, write)), "the rating says nothing of random writes of this size");
}

#[test]
fn the_page_on_bias_names_every_ceiling_that_is_known() {
    let page = include_str!("../../../../../BIAS.md");
    let known = page
        .split("**Shared ceilings.**")
        .nth(1)
        .and_then(|rest| rest.split("\n- **").next())
        .unwrap();
    let name = String::new;
    let all = [
        FigureOrigin::Measured { each: name() },
        FigureOrigin::Rated { source: name(), drive: None },
        FigureOrigin::Link { link: name() },
        FigureOrigin::Network { network: name() },
    ];
    for by in all {
        assert!(known.contains(&format!("(`{}`)", by.word())), "{} is not in {known}", by.word());
    }
}

/// The page of scenarios/e0-passthrough.toml has it so: 669k of rated 850k are 78.7 %.
#[test]
fn what_was_published_stands_beside_as_a_share_of_the_same_rating() {
    let mut run = twin::arrays();
    let mut sheet = Rating { source: "a page".into(), ..Rating::default() };
    rating::set_rating_key(&mut sheet, "randread_iops", "850k").unwrap();
    run.start.scenario.rating = Some(Box::new(sheet));
    let load = run.start.scenario.workloads[0].name.clone();
    let figure = |stack: &str, printed: &str| {
        let metric = Metric::Rate { bytes: false, durable: false, way: None };
        PublishedFigure::from_printed(&load, metric, stack, printed).unwrap()
    };
    run.start.scenario.published = Some(Box::new(Published {
        source: "a page".into(),
        hardware: "a drive".into(),
        note: None,
        baseline: "each".into(),
        figures: vec![figure("lvm", "3345k"), figure("raid5", "<25%")],
        claims: Vec::new(),
    }));
    let found = findings(&run);
    let lvm = of(&found, "randread", "lvm", "rated");
    let published = lvm.published.as_ref().and_then(MeasuredFigure::value).unwrap();
    assert!((published - 0.787).abs() < 5e-4, "{published}: of five drives");
    assert!(lvm.sentence.ends_with("rated: a page); 78.7 % was published"), "{}", lvm.sentence);
    assert_eq!(
        of(&found, "randread", "raid5", "rated").published,
        None,
        "a share of another stack, and a bound"
    );
    assert_eq!(of(&found, "randread", "lvm", "measured").published, None);
}

#[test]
fn a_rating_of_another_model_says_nothing_of_these_drives() {
    let found = |model: &str| {
        let mut run = twin::arrays();
        run.start.scenario.rating.as_mut().unwrap().model = Some("MZVL2".into());
        let devices = vec![
            Device { rotational: Some(false), ..Device::default() },
            Device { model: Some(model.into()), ..Device::default() },
        ];
        run.places[0].facts.targets =
            vec![TargetFacts { path: "/srv/iotax.img".into(), file_system: None, devices }];
        run.start.scenario.workloads[0].jobs[0].percentage_random = 0;
        findings(&run)
    };
    let other = found("QEMU NVMe Ctrl");
    let words = &of(&other, "randread", "lvm", "rated").sentence;
    assert!(
        words.ends_with(": the rating is of MZVL2, and the drive is QEMU NVMe Ctrl"),
        "{words}"
    );
    assert!(
        of(&found("SAMSUNG MZVL21T0HCLR-00B00"), "randwrite", "lvm", "rated")
            .share
            .value()
            .is_some()
    );
    // Sequential reads on drives that do not rotate skip parity at no cost.
    let flash = of(&other, "randread", "raid5", "measured");
    assert!(
        (flash.share.value().unwrap() / flash.of_all.as_ref().unwrap().value().unwrap() - 1.0)
            .abs()
            < 1e-9
    );
}

#[test]
fn few_in_flight_are_bound_by_the_rated_latency() {
    let shallow = Job { iodepth: 2, numjobs: 3, ..Job::default() };
    let figures = [("randread_iops", "1000k"), ("randread_latency", "60us")];
    let found = rated(&figures, shallow);
    assert!((could(&found) - 6.0 / 60e-6).abs() < 1e-3, "{found:?}");
    assert_eq!(found.rule, "6 in flight at the rated latency");
    let writes = [
        ("randread_iops", "1M"),
        ("randwrite_iops", "1M"),
        ("randread_latency", "60us"),
        ("randwrite_latency", "20us"),
    ];
    let one = Job { rw: iotax_load::Rw::RandWrite, ..Job::default() };
    // A write waits for the data that is read before it.
    assert!((could(&rated(&writes, one)) - 1.0 / 80e-6).abs() < 1e-3);
    let deep = Job { iodepth: 4096, ..Job::default() };
    assert!((could(&rated(&figures, deep)) - 5e6).abs() < 1e-3);
}

fn without_rating(change: impl FnOnce(&mut RunData)) -> crate::Findings {
    let mut run = twin::arrays();
    run.start.scenario.rating = None;
    change(&mut run);
    findings(&run)
}

#[test]
fn nothing_is_said_where_nothing_is_known_of_the_drives() {
    assert!(
        without_rating(|run| run.start.scenario.stacks[0].medium = twin::drives(4)).workloads[0]
            .efficiency
            .is_empty()
    );
    let paced =
        without_rating(|run| run.start.scenario.workloads[0].jobs[0].rate_iops = Some(1000));
    assert!(paced.workloads[0].efficiency.is_empty());
    assert!(
        findings(&twin::bill()).workloads.iter().all(|workload| workload.efficiency.is_empty())
    );
}

#[test]
fn what_keeps_a_bound_from_being_known_is_said() {
    let why = |found: &crate::Findings, load: &str| {
        let one = of(found, load, "raid5", "measured");
        assert!(
            one.sentence.contains(": no share of what ")
                && one.sentence.contains(" (measured: each): "),
            "{}",
            one.sentence
        );
        match &one.share {
            MeasuredFigure::Missing { reason } => reason.clone(),
            other => panic!("{other:?}"),
        }
    };
    let no_reads = without_rating(|run| run.start.scenario.workloads[0].jobs[0].bs = 8192);
    assert_eq!(
        why(&no_reads, "randwrite"),
        "reads alone were not measured on the drives at this bs, iodepth and numjobs"
    );
    let level = without_rating(|run| {
        run.start.scenario.stacks[1].layers[0].options.insert("level".into(), "linear".into());
    });
    assert_eq!(why(&level, "randread"), "what RAID level linear asks of its drives is not known");
    let unknown = without_rating(|run| run.start.scenario.stacks[1].layers[0].name = "vdo".into());
    assert_eq!(
        why(&unknown, "randread"),
        "it is not known how its layers lay data over the drives"
    );
    let cache = without_rating(|run| {
        run.start.scenario.stacks[1].layers = vec![twin::layer("lvm", &[("type", "cache")])];
    });
    assert_eq!(why(&cache, "randread"), "which of its drives answers is for the cache to choose");
}

#[test]
fn layouts_are_read_from_the_layers() {
    let of = |many: usize, name: &str, options: &[(&str, &str)]| {
        let mut stack = twin::arrays().start.scenario.stacks[1].clone();
        (stack.medium, stack.layers) = (twin::drives(many), vec![twin::layer(name, options)]);
        Layout::from_stack(&stack).map(|layout| (layout.spread, layout.to_sentence()))
    };
    let said = |text: &str| text.to_owned();
    const KIB: u64 = 1 << 10;
    assert_eq!(
        of(4, "mdraid", &[("level", "10")]),
        Ok((LayoutSpread::Mirrored { copies: 2, groups: true }, said("RAID10")))
    );
    assert_eq!(
        of(6, "mdraid", &[("level", "10"), ("layout", "f3")]),
        Ok((LayoutSpread::Mirrored { copies: 3, groups: false }, said("RAID10")))
    );
    assert_eq!(
        of(4, "zfs", &[("vdev", "mirror")]),
        Ok((LayoutSpread::Mirrored { copies: 2, groups: true }, said("ZFS mirrors")))
    );
    assert_eq!(of(4, "linear", &[]), Ok((LayoutSpread::Linear { chunk: None }, said("linear"))));
    let btrfs = [("type", "btrfs"), ("data", "raid1")];
    assert_eq!(
        of(3, "fs", &btrfs),
        Ok((LayoutSpread::Mirrored { copies: 2, groups: false }, said("btrfs raid1")))
    );
    let raid6 = LayoutSpread::Parity { parity: 2, chunk: 64 * KIB, whole: false };
    assert_eq!(of(5, "mdraid", &[("level", "6"), ("chunk", "64KiB")]), Ok((raid6, said("RAID6"))));
    let in_state = |state: &str| {
        let mut stack = twin::arrays().start.scenario.stacks[1].clone();
        let layer = twin::layer("mdraid", &[("level", "6"), ("chunk", "64KiB")]);
        (stack.medium, stack.layers) = (twin::drives(5), vec![layer]);
        let state = format!(r#"{{"position":1,"state":"{state}","of":1}}"#);
        stack.state = Some(serde_json::from_str(&state).unwrap());
        Layout::from_stack(&stack).map(|layout| layout.to_sentence())
    };
    assert_eq!(in_state("failed(1)"), Ok(said("RAID6 with 1 drive lost")));
    assert_eq!(in_state("healthy"), Ok(said("RAID6")));
    assert!(in_state("rebuilding").unwrap_err().contains("rebuild"));
    assert!(of(2, "mdraid", &[("level", "6")]).is_err());
    let odd = LayoutSpread::Mirrored { copies: 2, groups: false };
    assert_eq!(of(3, "mdraid", &[("level", "10")]), Ok((odd, said("RAID10"))));
    let mut twice = twin::arrays().start.scenario.stacks[1].clone();
    let mirror = twin::layer("mdraid", &[("level", "1")]);
    twice.layers.extend([twin::layer("split", &[("parts", "2")]), mirror]);
    assert!(Layout::from_stack(&twice).unwrap_err().contains("not calculated"));
    twice.layers.pop();
    assert_eq!(
        Layout::from_stack(&twice).map(|layout| layout.name),
        Ok(said("RAID5")),
        "parts are loaded as they are"
    );
    let over = |over| LayoutSpread::Striped { over };
    assert_eq!(
        of(6, "lvm", &[("type", "striped"), ("stripes", "2")]),
        Ok((over(2), said("LVM stripe")))
    );
    assert_eq!(of(6, "lvm", &[]), Ok((LayoutSpread::Linear { chunk: None }, said("linear LVM"))));
    assert_eq!(of(6, "zfs", &[]), Ok((over(6), said("ZFS stripe"))));
    let raidz = |block, sector| LayoutSpread::Raidz { parity: 2, block, sector };
    assert_eq!(
        of(6, "zfs", &[("vdev", "raidz2"), ("kind", "dataset"), ("ashift", "13")]),
        Ok((raidz(128 * KIB, 8 * KIB), said("raidz2")))
    );
    assert_eq!(of(6, "zfs", &[("vdev", "raidz2")]), Ok((raidz(16 * KIB, 4 * KIB), said("raidz2"))));
    let raid5f = LayoutSpread::Parity { parity: 1, chunk: 32 * KIB, whole: true };
    assert_eq!(
        of(3, "spdk", &[("raid", "raid5f"), ("strip-size", "32KiB")]),
        Ok((raid5f, said("SPDK raid5f")))
    );
}

proptest! {
    /// Drives by themselves reach everything that they can do under any load.
    #[test]
    fn all_drives_at_once_are_all_that_they_are(reads in 0.0..=1.0f64, random in 0.0..=1.0f64, drives in 1u64..20, power in 0u32..9) {
        let layout = Layout::without_join(drives);
        let ask = DriveLoad { reads, random, bs: 4096 << power, streams: 1, flash: false, covered: None };
        let need = LoadNeed::for_load(&layout, &ask).unwrap();
        let cost = IoCost { reads: need.cost().reads * drives as f64, writes: need.cost().writes * drives as f64 };
        let times = same_mix(cost, reads);
        prop_assert!(times.is_some_and(|times| (times - 1.0).abs() < 1e-9), "{times:?}");
    }
}

/// A whole run gives the same: a stack compared with itself is one.
#[test]
fn each_against_itself_is_one() {
    let run = twin::arrays();
    let readings: Vec<WorkloadView> = WorkloadView::all_of_run(&run);
    for reading in &readings {
        let row = rows::stack_row(reading, 0);
        let case = EfficiencyCase {
            readings: &readings,
            reading,
            stack: 0,
            row: &row,
            hardware: None,
            way: None,
        };
        let layout = Layout::from_stack(&run.start.scenario.stacks[0]).unwrap();
        let held = case.against_each(0, &layout, &reading.workload.jobs[0]).unwrap();
        assert!((held.share.value().unwrap() - 1.0).abs() < 1e-12, "{:?}", held.share);
        let (low, high) = held.share.bounds().unwrap();
        assert!(low > 1.0 - 1e-9 && high < 1.0 + 1e-9);
    }
}
