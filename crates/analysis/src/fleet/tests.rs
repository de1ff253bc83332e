//! Made-up fleets with a known truth.

use super::made_up_fleet::MadeUpFleet;
use super::{FleetHostResult, FleetInput, HostFigure, HostFigures, fleet_findings};
use crate::findings::fleet::{FleetFindings, FleetQuantity};
use crate::{findings, twin};

fn outliers(found: &FleetFindings) -> Vec<&str> {
    found.hosts.iter().filter(|one| one.is_outlier()).map(|one| one.host.as_str()).collect()
}

#[test]
fn the_one_slow_host_of_twelve_is_named_in_20_of_20() {
    for seed in 0..20 {
        let slow = 1 + seed as usize % 12;
        let fleet = MadeUpFleet { slow: vec![(slow, 0.8)], ..MadeUpFleet::of_hosts(12, seed) };
        let found = fleet_findings(&fleet.build());
        assert_eq!(outliers(&found), [format!("n{slow}")], "seed {seed}");
        let sentence = &found.answer.sentence;
        assert!(sentence.starts_with(&format!("n{slow} is ")), "{sentence}");
        let end = "% slower than the other 11 hosts (4k random reads at iodepth 32, IOPS of \
                   file); likely: PCIe link 8.0 GT/s x2 (most others: 16.0 GT/s x4)";
        assert!(
            sentence.contains(&end.replace("file", "loop")) || sentence.contains(end),
            "{sentence}"
        );
        assert_eq!(found.hosts[0].host, format!("n{slow}"), "outliers are first");
    }
}

#[test]
fn no_host_of_20_equal_fleets_is_named() {
    for seed in 100..120 {
        let found = fleet_findings(&MadeUpFleet::of_hosts(12, seed).build());
        assert_eq!(outliers(&found), [""; 0], "seed {seed}");
        assert!(found.answer.sentence.starts_with("no host differs"), "{:?}", found.answer);
        assert!(found.causes.is_empty());
    }
}

#[test]
fn hosts_that_are_surely_alike_are_called_so() {
    let alike = MadeUpFleet { spread: 0.0, error: 0.002, ..MadeUpFleet::of_hosts(12, 3) };
    let found = fleet_findings(&alike.build());
    let expected = "no host differs from the other 11 by more than 2.0 %";
    assert_eq!((found.answer.class, found.answer.sentence.as_str()), ("none", expected));
    let few = fleet_findings(&MadeUpFleet::of_hosts(3, 4).build());
    let expected = "unresolved: 3 hosts have figures, and 4 are needed to find one that differs";
    assert_eq!(few.answer.sentence, expected);
    let none = fleet_findings(&FleetInput::default());
    assert_eq!(none.answer.sentence, "unresolved: no host has a figure");
}

#[test]
fn several_outliers_with_a_fact_in_common_are_said_together() {
    let fleet = MadeUpFleet {
        slow: vec![(3, 0.87), (7, 0.86), (9, 0.88)],
        slow_facts: vec![["drive", "firmware", "GDC5302Q"]],
        ..MadeUpFleet::of_hosts(24, 5)
    };
    let found = fleet_findings(&fleet.build());
    let mut named = outliers(&found);
    named.sort();
    assert_eq!(named, ["n3", "n7", "n9"]);
    let sentence = &found.answer.sentence;
    let end = "; likely, on all of them: firmware GDC5302Q (most others: GDC5902Q)";
    assert!(sentence.ends_with(end) && sentence.contains("the other 21 hosts"), "{sentence}");
    assert_eq!(found.causes[0].hosts.len(), 3);
    // The kernel differs among hosts that are no outliers, too.
    assert!(found.causes.iter().all(|cause| cause.key != "kernel"), "{:?}", found.causes);
    assert!(found.facts.iter().any(|fact| fact.key == "kernel"));
}

#[test]
fn outliers_with_a_fact_in_common_but_in_other_figures_are_said_apart() {
    let fleet = MadeUpFleet { slow: vec![(3, 0.8)], ..MadeUpFleet::of_hosts(24, 5) };
    let mut input = fleet.build();
    let link = input.hosts[2].figures.as_ref().unwrap().facts[7].clone();
    for (at, times) in [(2, 0.8), (8, 2.2)] {
        let own = input.hosts[at].figures.as_mut().unwrap();
        own.facts[7] = link.clone();
        let p99 = own.figures.iter_mut().find(|one| one.key.quantity == FleetQuantity::LatencyP99);
        p99.unwrap().value *= times;
    }
    let found = fleet_findings(&input);
    let sentence = &found.answer.sentence;
    assert!(sentence.contains("n3 is ") && sentence.contains("n9 has a p99 latency"), "{sentence}");
    assert_eq!(sentence.matches("the other 23 hosts").count(), 2, "{sentence}");
}

#[test]
fn hosts_without_a_figure_or_its_interval_are_in_no_mean_and_said_to_be_missing() {
    let mut input = MadeUpFleet::of_hosts(12, 11).build();
    let mut own: Vec<&mut HostFigures> =
        input.hosts.iter_mut().filter_map(|host| host.figures.as_mut()).collect();
    own[0].figures[0].value = 0.0;
    own[1].figures[0].log_error = None;
    own[2].figures[0].freedom = Some(f64::NAN);
    own[3].figures.remove(0);
    let found = fleet_findings(&input);
    let file = found.figures.iter().find(|one| one.key.to_words(one.unit) == "IOPS of file");
    let file = file.unwrap();
    assert!(file.mean.value().is_some_and(|mean| (mean / 400e3 - 1.0).abs() < 0.02), "{file:?}");
    let expected = "figures that not all of the 12 hosts have, or not with an interval: \
                    randread-4k-x32: IOPS of file (8)";
    assert_eq!(found.not_excluded, [expected]);
}

#[test]
fn states_that_are_not_known_are_counted_one_by_one() {
    let mut input = MadeUpFleet::of_hosts(4, 1).build();
    input.hosts[1].state = "paused".into();
    input.hosts[2].state = "moved".into();
    assert_eq!(fleet_findings(&input).counted, "2 of 4 hosts done; 1 moved; 1 paused");
}

#[test]
fn a_hot_drive_is_a_cause_and_a_slow_one_without_is_said_to_have_none() {
    let fleet = MadeUpFleet {
        slow: vec![(2, 0.7)],
        slow_facts: vec![["drive", "temperature", "78 °C"]],
        ..MadeUpFleet::of_hosts(12, 6)
    };
    let sentence = fleet_findings(&fleet.build()).answer.sentence;
    assert!(sentence.contains("likely: temperature 78 °C (most others: 3"), "{sentence}");
    let bare = MadeUpFleet { slow_facts: Vec::new(), ..fleet };
    let sentence = fleet_findings(&bare.build()).answer.sentence;
    assert!(sentence.contains("no recorded fact sets it apart"), "{sentence}");
}

#[test]
fn lost_hosts_other_versions_and_clocks_are_named() {
    let fleet = MadeUpFleet { lost: vec![4], ..MadeUpFleet::of_hosts(12, 7) };
    let mut input = fleet.build();
    input.hosts[1].clock_ahead_s = Some(3600.2);
    input.hosts[2].figures.as_mut().unwrap().iotax = "0.8.0".into();
    input.hosts[5].figures.as_mut().unwrap().scenario_sha256 = "beef".into();
    let found = fleet_findings(&input);
    assert_eq!(found.counted, "11 of 12 hosts done; 1 lost");
    let missing: Vec<&str> = found.missing.iter().map(|one| one.host.as_str()).collect();
    assert_eq!(missing, ["n4", "n6"]);
    assert_eq!(found.missing[0].why.as_deref(), Some("ssh: no route to host"));
    assert_eq!(found.figures[0].mean.value().map(|_| found.hosts.len()), Some(10));
    let alarms = found.alarms.join("\n");
    assert!(alarms.contains("n3 ran iotax 0.8.0 (most others: 0.9.0)"), "{alarms}");
    assert!(alarms.contains("n6 ran another scenario, SHA-256 beef"), "{alarms}");
    assert!(alarms.contains("clocks are off: n2 3600 s ahead"), "{alarms}");
    assert!(found.not_excluded[0].starts_with("2 of 12 hosts are missing"));
}

#[test]
fn probes_of_a_run_are_figures_of_hosts() {
    let mut run = twin::networks();
    for (load, probe) in run.start.scenario.workloads.iter_mut().zip(["integer", "rr"]) {
        load.probe = iotax_probe::ProbeSpec::parse(probe).ok();
    }
    let own = HostFigures::from_run(&run, &findings(&run), "abcd");
    let names = run.start.scenario.workloads.iter().map(|load| load.name.as_str());
    let names: Vec<&str> = names.collect();
    let [of_rate, of_time] = [names[0], names[1]].map(|name| {
        let of_load = own.figures.iter().filter(|one| one.key.workload == name);
        of_load.collect::<Vec<_>>()
    });
    let first = |all: &[&HostFigure]| {
        assert!(all.iter().all(|one| one.log().is_some_and(|log| log.error > 0.0)), "{all:?}");
        let quantities = all.iter().map(|one| one.key.quantity).collect::<Vec<_>>();
        (quantities, all[0].key.to_words(&all[0].unit), all[0].subject.clone())
    };
    use FleetQuantity::{LatencyP99, ProbeRate, ProbeTime, RateRatio};
    let all = vec![ProbeRate, ProbeRate, RateRatio, LatencyP99, LatencyP99];
    let expected = (all, "rate of host to ssh:b".into(), "integer work in passes/s".into());
    assert_eq!(first(&of_rate), expected);
    let all = vec![ProbeTime, ProbeTime, RateRatio, LatencyP99, LatencyP99];
    let expected = (all, "mean time of host to ssh:b".into(), "network round trip (tcp)".into());
    assert_eq!(first(&of_time), expected);
    // Hosts differ by up to 1 %, and round trips of n3 take three times as long.
    let hosts = (0..12).map(|at| {
        let mut own = own.clone();
        for (figure, one) in own.figures.iter_mut().enumerate() {
            let is_slow = at == 2 && one.key.quantity == ProbeTime;
            let times = if is_slow { 3.0 } else { 1.0 };
            one.value *= times + 0.002 * ((at * (figure + 1)) % 5) as f64;
        }
        FleetHostResult { host: format!("n{}", at + 1), figures: Some(own), ..Default::default() }
    });
    let found = fleet_findings(&FleetInput { hosts: hosts.collect(), ..FleetInput::default() });
    assert_eq!((outliers(&found), found.answer.class), (vec!["n3"], "cost"));
    let sentence = &found.answer.sentence;
    let expected = "n3 has a mean time 3.0 times that of the other 11 hosts (network round trip \
                    (tcp), host to ssh:";
    assert!(sentence.starts_with(expected), "{sentence}");
}

#[test]
fn a_host_that_became_slower_drifted() {
    let before = MadeUpFleet { id: "before".into(), ..MadeUpFleet::of_hosts(12, 8) };
    let mut now = before.build();
    now.id = "now".into();
    let worn = now.hosts[4].figures.as_mut().unwrap();
    worn.figures.iter_mut().take(2).for_each(|one| one.value *= 0.8);
    worn.facts.iter_mut().find(|fact| fact.key == "firmware").unwrap().value = "GDC5302Q".into();
    now.earlier = Some(Box::new(before.build()));
    now.hosts[11].host = "n99".into();
    let drift = fleet_findings(&now).drift.unwrap();
    assert_eq!((drift.matched, drift.earlier.as_str()), (11, "before"));
    let expected = "1 of 11 hosts changed beyond chance; largest: n5 is 20 % slower than in its \
                    earlier run (4k random reads at iodepth 32, IOPS of file); what differs: drive \
                    firmware GDC5302Q (was GDC5902Q)";
    assert_eq!(drift.sentence, expected);
    assert_eq!(drift.not_compared, ["n99: there is no earlier run"]);
}

#[test]
fn a_run_is_reduced_to_some_kilobytes_that_are_read_again() {
    let run = twin::drive_by_drive();
    let figures = HostFigures::from_run(&run, &findings(&run), "abcd");
    let text = serde_json::to_vec(&figures).unwrap();
    assert!(text.len() < 64 << 10, "{} bytes", text.len());
    let again = HostFigures::from_json(&text).unwrap();
    assert_eq!((again.figures.len(), &again.facts), (figures.figures.len(), &figures.facts));
    let named =
        |key: &str| figures.figures.iter().filter(|one| one.key.quantity.key() == key).count();
    assert!(named("rate") >= 7 && named("rate_ratio") >= 6, "{:?}", figures.figures);
    let rate = figures.figures.iter().find(|one| one.key.quantity.key() == "rate").unwrap();
    assert!(rate.log().is_some_and(|log| log.error > 0.0 && log.freedom > 3.0), "{rate:?}");
    let link = figures.facts.iter().find(|fact| fact.key == "PCIe link").unwrap();
    assert_eq!((link.subject.as_str(), link.value.as_str()), ("drive", "16.0 GT/s x4"));
    let mut newer = figures;
    newer.format += 1;
    let refused = HostFigures::from_json(&serde_json::to_vec(&newer).unwrap()).unwrap_err();
    assert!(refused.starts_with("its format is 2"), "{refused}");
}

#[test]
fn a_host_without_an_interval_is_named_and_so_is_the_nearest_to_an_outlier() {
    let fleet = MadeUpFleet::of_hosts(12, 3);
    let mut input = fleet.build();
    let slow = input.hosts[2].figures.as_mut().unwrap();
    for one in slow.figures.iter_mut().filter(|one| one.key.quantity == FleetQuantity::Rate) {
        one.value = 25e3;
        (one.log_error, one.no_error) =
            (None, Some("10 whole rounds, an interval needs 16".into()));
    }
    let found = fleet_findings(&input);
    let [alarm] = found.alarms.as_slice() else { panic!("{:?}", found.alarms) };
    let start = "n3 not compared, IOPS of file: 25.0k against 39";
    let end = "it has no interval (10 whole rounds, an interval needs 16); hint: raise --budget";
    assert!(alarm.starts_with(start) && alarm.ends_with(end), "{alarm}");
    // A few standard deviations off, which chance explains too often.
    let nearly = fleet_findings(&MadeUpFleet { slow: vec![(4, 0.95)], ..fleet }.build());
    assert_eq!(nearly.answer.class, "open");
    let words = "no host differs beyond chance; nearest to it, n4 is ";
    assert!(nearly.answer.sentence.starts_with(words), "{}", nearly.answer.sentence);
}

#[test]
fn a_warning_that_only_the_outlier_has_is_an_alarm() {
    let fleet = MadeUpFleet { slow: vec![(4, 0.6)], ..MadeUpFleet::of_hosts(12, 1) };
    let mut input = fleet.build();
    let warning = |kind: &str| super::HostWarning {
        kind: kind.into(),
        text: "other work took 94 % of the CPU time".into(),
    };
    for (at, host) in input.hosts.iter_mut().enumerate() {
        let own = &mut host.figures.as_mut().unwrap().warnings;
        own.push(warning("governor"));
        own.extend((at == 3).then(|| warning("busy")));
    }
    let found = fleet_findings(&input);
    let text = "other work took 94 % of the CPU time";
    assert_eq!(found.alarms, [format!("n4 was measured with a warning, busy: {text}")]);
    assert!(found.not_excluded.contains(&format!("busy on n4: {text}")));
    let governor = found.not_excluded.iter().find(|one| one.starts_with("governor on n4, n1"));
    assert!(governor.is_some(), "{:?}", found.not_excluded);
}
