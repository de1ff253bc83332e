//! Plans partitions, parts, devices put together, and arrays, and checks the bytes that their
//! stacks are measured on.

use super::*;
use iotax_drivers::path_ref::StepId;
use iotax_host::guard::judge::Intent;
use iotax_host::pci::PciDrive;
use iotax_layers::medium::FoundMedium;
use iotax_layers::readback_owner;
use iotax_qemu::pin::CacheGroup;
use iotax_steps::op::Op;

#[test]
fn an_array_is_made_once_for_all_that_stand_on_it() {
    let array = "[/dev/sda,/dev/sdb,/dev/sdc] | mdraid(level=5,chunk=64KiB,size=1GiB)";
    let stacks = [
        array,
        &format!("{array} | split(2)"),
        &format!("{array} | partition(align=31.5KiB) | loop"),
    ];
    let scenario = scenario(&stacks, "randread");
    with_ground(&scenario, |ground| insta::assert_snapshot!(show(ground)));
}

/// The commands of shipped descriptions under guests, of drives that are consented to.
#[test]
fn a_scenario_with_a_described_engine_plans_its_commands() {
    for name in ["e3-xiraid", "e3-spdk-raid"] {
        let file =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../scenarios/{name}.toml"));
        let scenario = from_path(&file, &ScenarioRequest::default()).unwrap();
        let drive = |at: usize| PciDrive {
            address: format!("0000:0{at}:00.0"),
            paths: vec![format!("/dev/nvme{at}n1").into()],
            driver: Some("nvme".into()),
            ..PciDrive::default()
        };
        let parts = guest::GuestParts {
            drives: (0..10).map(drive).collect(),
            ..guest::GuestParts::made_up()
        };
        with_guests(&scenario, Some(parts), |ground| {
            let changes = |set: &StackSet| {
                let up = ground.plan_set(&ground.layout.sets[set.after.unwrap_or(0)], 0).unwrap();
                let steps: Vec<Step> = match set.after {
                    None => ground.plan_set(set, 0).unwrap().steps,
                    Some(_) => {
                        let into =
                            crate::transitions::steps_into(&scenario, &up, &set.stacks).unwrap();
                        into.into_iter().flat_map(|(_, steps)| steps).collect()
                    }
                };
                let of_tools = steps.iter().map(|step| &step.op);
                let of_tools =
                    of_tools.filter(|op| matches!(op, Op::MakeByTool(_) | Op::ChangeByTool(_)));
                of_tools
                    .map(|op| op.operation().describe().replace(" && ", "\n  && "))
                    .collect::<Vec<_>>()
            };
            let all: Vec<String> = ground.layout.sets.iter().flat_map(changes).collect();
            insta::assert_snapshot!(name, all.join("\n"));
        });
        assert!(
            scenario.stacks.iter().all(|stack| survey::intent(&scenario, stack) == Intent::Write)
        );
        let is_warned = scenario.notes.iter().any(|note| note.contains("have never run"));
        assert_eq!(is_warned, name == "e3-xiraid", "{:?}", scenario.notes);
    }
}

#[test]
fn drives_put_together_and_their_members_are_measured_in_visits_when_the_load_writes() {
    let stacks = [
        "each([/dev/sda,/dev/sdb])",
        "[/dev/sda,/dev/sdb] | linear",
        "[/dev/sda,/dev/sdb] | mdraid(level=0)",
    ];
    let scenario = scenario(&stacks, "randwrite");
    with_ground(&scenario, |ground| insta::assert_snapshot!(show(ground)));
}

#[test]
fn parts_share_the_region_of_what_they_are_parts_of() {
    let scenario = scenario(&["/dev/sda", "/dev/sda | split(4)"], "randread");
    with_ground(&scenario, |ground| {
        let plan = ground.plan_set(&ground.layout.sets[0], 0).unwrap();
        let parts = &plan.targets[1].1;
        assert_eq!((parts.paths.len(), parts.part_count(), parts.bytes), (4, 4, 1 << 38));
        assert_eq!(ground.bounds().unwrap().region, 1 << 40);
    });
}

#[test]
fn volumes_of_one_kind_have_each_its_own_stacks() {
    let striped = "[/dev/sda,/dev/sdb] | lvm(striped)";
    let stacks = [striped, "[/dev/sdc,/dev/sdd] | lvm", &format!("{striped} | partition")];
    let scenario = scenario(&stacks, "randread");
    with_ground(&scenario, |ground| {
        let mut found = Vec::new();
        for set in &ground.layout.sets {
            let plan = ground.plan_set(set, 0).unwrap();
            for step in plan.steps.iter().filter(|step| readback_owner(&step.op).is_some()) {
                let members = step.op.operation().describe();
                let of_first = members.contains("/dev/sda");
                found.push((of_first, plan.stacks_on(step.id).collect::<Vec<_>>()));
            }
        }
        assert!(
            found.iter().any(|(of_first, stacks)| *of_first && stacks.contains(&0)),
            "{found:?}"
        );
        assert!(
            found.iter().all(|(of_first, stacks)| stacks.contains(&1) != *of_first),
            "{found:?}"
        );
        assert!(found.iter().all(|(_, stacks)| !stacks.is_empty()), "{found:?}");
    });
}

#[test]
fn a_rate_is_shared_out_among_what_is_loaded_at_once() {
    let stacks = [
        "/dev/sda | split(8)",
        "[/dev/sda,/dev/sdb,/dev/sdc] | mdraid(level=5)",
        "each([/dev/sda,/dev/sdb,/dev/sdc])",
        "/dev/sda | split(2) | vm x2",
    ];
    let targets: Vec<u64> =
        scenario(&stacks, "randread").stacks.iter().map(Stack::target_count).collect();
    assert_eq!(targets, [8, 1, 3, 2]);
}

#[test]
fn a_table_of_deduplication_that_a_lab_has_no_memory_for_is_said_before_the_run() {
    let obstacles = |options: &str| {
        let stack = format!("[nvme0,nvme1] @lab | zfs(stripe,volblocksize=16KiB,{options})");
        let mut scenario = scenario(&[&stack], "randread");
        let lab = scenario.labs.values_mut().next().unwrap();
        (lab.drive_size, lab.memory) = (200 << 30, 2 << 30);
        with_ground(&scenario, |ground| ground.dedup_obstacles().unwrap())
    };
    assert_eq!(obstacles("dedup=off"), [""; 0]);
    assert_eq!(obstacles("dedup=on,size=16GiB"), [""; 0]);
    let [large] = obstacles("dedup=on,size=64GiB").try_into().unwrap();
    assert!(large.starts_with("lab: dedup=on: the table of 4194304 blocks"), "{large}");
    assert!(large.contains("the ARC may hold 1 GiB"), "{large}");
    assert_eq!(obstacles("dedup=on,size=64GiB,arc-max=1536MiB"), [""; 0]);
}

#[test]
fn only_what_the_loads_use_is_written_first_and_the_same_of_all_volumes() {
    let stacks = [
        "[/dev/sda,/dev/sdb] | lvm(striped) | split(4)",
        "[/dev/sda,/dev/sdb] | mdraid(level=0) | split(4)",
    ];
    let mut scenario = scenario(&stacks, "randread");
    scenario.workloads[0].jobs[0].size = Some((100 << 20) + 4096);
    let written = |scenario: &Scenario| {
        with_ground(scenario, |ground| {
            let region = ground.bounds().unwrap().region;
            let of_set = |set| {
                let plan = ground.plan_set(set, 0).unwrap();
                let first = unwritten_of_set(&plan.targets, region, ground.scenario);
                first.iter().map(UnwrittenStack::total_written).sum::<u64>()
            };
            ground.layout.sets.iter().map(of_set).collect::<Vec<_>>()
        })
    };
    assert_eq!(written(&scenario), [4 * (101 << 20); 2], "whole blocks of each part");
    let other = scenario.workloads[0].clone();
    scenario.workloads.push(other);
    scenario.workloads[1].jobs[0].size = None;
    let all = written(&scenario);
    assert!(all[0] == all[1] && all[0] > 1 << 30, "a load that uses all: {all:?}");
}

#[test]
fn what_is_written_first_of_parts_of_an_array_is_all_of_it() {
    let scenario =
        scenario(&["[/dev/sda,/dev/sdb] | mdraid(level=1,size=4GiB) | split(4)"], "randread");
    with_ground(&scenario, |ground| {
        let plan = ground.plan_set(&ground.layout.sets[0], 0).unwrap();
        let first =
            unwritten_of_set(&plan.targets, ground.bounds().unwrap().region, ground.scenario);
        assert_eq!(first.len(), 1);
        assert_eq!(
            (first[0].bytes, first[0].parts, first[0].total_written()),
            (1 << 30, 4, 4 << 30)
        );
        let writable = |step: &Step| matches!(&step.op, Op::MakeLinear(part) if !part.read_only);
        assert_eq!(
            plan.steps.iter().filter(|step| writable(step)).count(),
            4,
            "written through them"
        );
    });
}

#[test]
fn each_guest_has_a_part_of_its_own() {
    let scenario = scenario(&["/dev/sda | split(2) | vm x2", "/dev/sda | vm x2"], "randread");
    with_guests(&scenario, Some(guest::GuestParts::made_up()), |ground| {
        let plan = ground.plan_set(&ground.layout.sets[0], 0).unwrap();
        let below = |stack: usize| {
            let shown = &plan.targets[stack].1;
            let disks = plan
                .guests
                .iter()
                .filter(|guest| shown.is_in(&guest.place))
                .flat_map(|guest| &guest.disks);
            disks.map(|disk| (disk.offset, disk.bytes, disk.shared_out)).collect::<Vec<_>>()
        };
        let own: Vec<_> = below(0).into_iter().filter(|(_, _, shared_out)| !shared_out).collect();
        assert_eq!(own, [(0, Some(1 << 39), false); 2]);
        let shared: Vec<_> =
            below(0).into_iter().filter(|(_, _, shared_out)| *shared_out).collect();
        assert_eq!(shared, [(0, Some(1 << 39), true), (1 << 39, Some(1 << 39), true)]);
        assert_eq!(plan.targets[0].1.part_count(), 2);
        assert_eq!(ground.bounds().unwrap().region, 1 << 40);
    });
}

#[test]
fn an_array_of_unequal_drives_is_refused_where_its_size_is_not_said() {
    let asked = |options: &str| {
        let stack = format!("[/dev/sda,/dev/sdb] | mdraid(level=1{options})");
        let scenario = scenario(&[&stack], "randread");
        let found = [1u64 << 30, 2 << 30]
            .map(|bytes| FoundMedium::without_signature(bytes, true, true))
            .to_vec();
        let layout = layout(&scenario);
        let tag = RunTag::of_none();
        let ground = PlanGround {
            scenario: &scenario,
            layout: &layout,
            found: &[found],
            guest_parts: None,
            tag,
        };
        ground.bounds().map(|bounds| bounds.region)
    };
    let error = asked("").unwrap_err();
    assert!(format!("{error:#}").contains("members are of unequal size; hint: "), "{error:#}");
    assert_eq!(iotax_units::exit::code_of(&error), iotax_units::exit::BAD_INPUT);
    assert_eq!(asked(",size=512MiB").unwrap(), 512 << 20);
}

#[test]
fn what_was_given_up_of_a_member_is_taken_off_it_where_a_layer_is_set_up_and_only_there() {
    let wiped = |stacks: &[&str]| {
        let scenario = scenario(stacks, "randread");
        let mut found = [
            FoundMedium::without_signature(1 << 30, true, true),
            FoundMedium::without_signature(1 << 30, true, true),
        ]
        .to_vec();
        found[1].signatures = vec!["gpt".into(), "linux_raid_member".into()];
        let found: Vec<_> = stacks.iter().map(|_| found.clone()).collect();
        let layout = layout(&scenario);
        let tag = RunTag::of_none();
        let ground = PlanGround {
            scenario: &scenario,
            layout: &layout,
            found: &found,
            guest_parts: None,
            tag,
        };
        let steps = layout.sets.iter().flat_map(|set| ground.plan_set(set, 0).unwrap().steps);
        steps.map(|step| step.op.operation().describe()).collect::<Vec<_>>()
    };
    let mirror = "[/dev/sda,/dev/sdb] | mdraid(level=1)";
    let told = wiped(&[mirror]);
    assert_eq!(
        told[0],
        "wipefs --all --types gpt,linux_raid_member,PMBR /dev/sdb, its partitions first"
    );
    assert!(told[1].starts_with("mdadm"), "{told:?}");
    let joined = wiped(&["[/dev/sda,/dev/sdb] | linear"]);
    assert!(!joined.iter().any(|step| step.starts_with("wipefs")), "{joined:?}");
}

#[test]
fn an_array_that_two_stacks_stand_on_changes_its_state_once() {
    let array = "[/dev/sda,/dev/sdb] | mdraid(level=1)";
    let stacks = [array.to_owned(), format!("{array} | engine(fio)")];
    let words = vec![("rw".to_owned(), "randread".to_owned())];
    let states = Some("healthy,failed(1),rebuilding".to_owned());
    let scenario =
        from_arguments(&stacks, &ScenarioRequest { words, states, ..ScenarioRequest::default() })
            .unwrap();
    with_ground(&scenario, |ground| {
        let sets = &ground.layout.sets;
        let up = ground.plan_set(&sets[0], 0).unwrap();
        let further: Vec<_> = sets.iter().filter(|set| set.after.is_some()).collect();
        assert_eq!((sets.len(), further.len()), (3, 2));
        for set in further {
            assert_eq!(set.stacks.len(), 2);
            let steps = crate::transitions::steps_into(&scenario, &up, &set.stacks).unwrap();
            assert_eq!(steps.len(), 1, "{steps:?}");
        }
    });
}

#[test]
fn what_syncs_and_rebuilds_write_counts_as_written() {
    let left = |stack: &str, states: Option<&str>, most: u64| {
        let words = vec![("rw".to_owned(), "randread".to_owned())];
        let request = ScenarioRequest {
            words,
            states: states.map(str::to_owned),
            ..ScenarioRequest::default()
        };
        let mut scenario = from_arguments(&[stack.to_owned()], &request).unwrap();
        scenario.max_written = Some(most);
        with_ground(&scenario, |ground| {
            let visits = u64::from(ground.layout.visits_of_a_set(&scenario.measure));
            let left = ground.bounds().map(|bounds| bounds.left_to_write.unwrap());
            (left.map_err(|error| error.to_string()), visits)
        })
    };
    const TIB: u64 = 1 << 40;
    let of = |options: &str| {
        format!("[/dev/sda,/dev/sdb,/dev/sdc,/dev/sdd] | mdraid({options},size=1GiB)")
    };
    // Everything that a load reads is written first, once.
    for (options, first, sync) in [
        ("level=5", 3u64, 1u64),
        ("level=6", 2, 2),
        ("level=1", 1, 3),
        ("level=10", 2, 2),
        ("level=5,sync=skip", 3, 0),
        ("level=5,sync=background", 3, 1),
    ] {
        let (found, visits) = left(&of(options), None, TIB);
        assert_eq!(found, Ok(TIB - visits * ((first + sync) << 30)), "{options}");
    }
    let cycle = Some("healthy,failed(1),rebuilding,healthy");
    let (found, visits) = left(&of("level=5"), cycle, TIB);
    assert_eq!(found, Ok(TIB - visits * (5 << 30)), "one member is rebuilt");
    let (found, visits) = left(&of("level=6"), Some("healthy,failed(2),rebuilding,healthy"), TIB);
    assert_eq!(found, Ok(TIB - visits * (6 << 30)), "two are");
    assert!(left(&of("level=5"), None, 1 << 30).0.unwrap_err().contains("setting up alone writes"));
    // A pool's resilver writes the contents of the pool, and no more than a member holds.
    let zfs = "[/dev/sda,/dev/sdb] | zfs(mirror,size=1GiB)";
    let (found, visits) = left(zfs, cycle, TIB);
    assert_eq!(found, Ok(TIB - visits * (2 << 30)));
}

/// Returns offset and size of every disk of every guest, in order.
fn disks(plan: &SetPlan) -> Vec<Vec<(u64, Option<u64>)>> {
    let of = |guest: &guest::GuestPlan| {
        guest.disks.iter().map(|disk| (disk.offset, disk.bytes)).collect()
    };
    plan.guests.iter().map(of).collect()
}

#[test]
fn guests_are_spread_over_two_arrays_each_of_which_is_made_of_its_own_list() {
    let arrays = "each([[/dev/sda,/dev/sdb,/dev/sdc],[/dev/sdd,/dev/sde,/dev/sdf]]) | mdraid(level=5,size=1GiB)";
    let spread = format!("{arrays} | split(2) | vm x4");
    let words = [("rw".to_owned(), "randread".to_owned())].to_vec();
    let asked = ScenarioRequest {
        words,
        states: Some("healthy,failed(1)".into()),
        ..ScenarioRequest::default()
    };
    let scenario = from_arguments(&[spread], &asked).unwrap();
    with_guests(&scenario, Some(guest::GuestParts::made_up()), |ground| {
        let plan = ground.plan_set(&ground.layout.sets[0], 0).unwrap();
        let describe = |steps: &[Step]| -> Vec<String> {
            steps.iter().map(|step| step.op.operation().describe()).collect()
        };
        let made: Vec<String> =
            describe(&plan.steps).into_iter().filter(|step| step.contains("--create")).collect();
        let of = |list: &str| made.iter().filter(|step| step.contains(list)).count();
        assert_eq!(
            (made.len(), of("sda /dev/sdb /dev/sdc"), of("sdd /dev/sde /dev/sdf")),
            (2, 1, 1),
            "{made:?}"
        );
        let shown = &plan.targets[0].1;
        assert_eq!((shown.arrays.len(), shown.part_count(), plan.guests.len()), (2, 4, 4));
        assert_eq!(disks(&plan), vec![vec![(0, Some(1 << 30))]; 4], "a part of its own for each");
        assert_eq!(ground.bounds().unwrap().region, 4 << 30, "of both arrays together");
        // One member of each array fails, each in a step with a number of its own.
        let into = ground.into_state(&ground.layout.sets[1], 0).unwrap();
        let steps: Vec<Step> = into.into_iter().flat_map(|(_, steps)| steps).collect();
        let ids: std::collections::BTreeSet<StepId> = steps.iter().map(|step| step.id).collect();
        let failed = describe(&steps);
        assert_eq!((ids.len(), failed.len()), (2, 2), "{failed:?}");
        assert!(failed[0].contains("/dev/sd") && failed[0] != failed[1], "{failed:?}");
        // Both arrays and all guests serve the first stack.
        assert!(plan.steps_serving(0).len() > 2 + plan.guests.len());
    });
}

/// The published comparison has an array on the drives of each NUMA node, and guests on the same
/// node.
#[test]
fn guests_run_on_the_node_of_the_drives_of_their_array() {
    let nodes_of = |first: u64, second: u64, stack: &str| {
        let drive = |at: u64| PciDrive {
            paths: vec![format!("/dev/nvme{at}n1").into()],
            numa_node: Some([first, second][at as usize / 2]),
            ..PciDrive::default()
        };
        let mut parts = guest::GuestParts {
            drives: (0..4).map(drive).collect(),
            ..guest::GuestParts::made_up()
        };
        parts.room.groups =
            vec![CacheGroup::single(0..4, Some(0)), CacheGroup::single(4..8, Some(1))];
        let scenario = scenario(&[stack], "randread");
        with_guests(&scenario, Some(parts), |ground| {
            let plan = ground.plan_set(&ground.layout.sets[0], 0).unwrap();
            let of = |guest: &guest::GuestPlan| {
                (guest.pin.as_ref().unwrap().vcpus[0][0] / 4, guest.memory.node)
            };
            plan.guests.iter().map(of).collect::<Vec<_>>()
        })
    };
    let arrays = "each([[/dev/nvme0n1,/dev/nvme1n1],[/dev/nvme2n1,/dev/nvme3n1]]) | mdraid(level=1,size=1GiB) | split(2) \
                  | vm(vcpus=1,cpus=auto) x4";
    let (node0, node1) = ((0, Some(0)), (1, Some(1)));
    assert_eq!(nodes_of(1, 0, arrays), [node1, node1, node0, node0]);
    assert_eq!(nodes_of(1, 1, arrays), [node1; 4]);
    assert_eq!(nodes_of(0, 1, "/dev/nvme3n1 | vm(vcpus=1,cpus=auto) x2"), [node1; 2]);
    // On drives of both nodes guests go round as if nothing were known, and what is written wins.
    let both = "[/dev/nvme0n1,/dev/nvme3n1] | mdraid(level=1,size=1GiB) | vm(vcpus=1,cpus=auto) x2";
    assert_eq!(nodes_of(0, 1, both), [node0, node1]);
    assert_eq!(nodes_of(0, 1, "/dev/nvme3n1 | vm(vcpus=1,cpus=auto,numa=0)"), [node0]);
}

#[test]
fn a_guest_has_several_disks_and_several_guests_share_an_array() {
    let stacks = [
        "/dev/sda | split(4) | vm x2",
        "each([/dev/sdb,/dev/sdc]) | vm(vcpus=1)",
        "each([[/dev/sdd,/dev/sde],[/dev/sdf,/dev/sdg]]) | mdraid(level=1,size=1GiB) | vm(memory=1GiB) x4",
    ];
    let scenario = scenario(&stacks, "randread");
    with_guests(&scenario, Some(guest::GuestParts::made_up()), |ground| {
        let (quarter, half) = (1 << 38, Some(1 << 29));
        let expected = [
            vec![vec![(0, Some(quarter)); 2]; 2],
            vec![vec![(0, Some(1 << 40)); 2]],
            vec![vec![(0, half)], vec![(1 << 29, half)], vec![(0, half)], vec![(1 << 29, half)]],
        ];
        for set in &ground.layout.sets {
            let plan = ground.plan_set(set, 0).unwrap();
            for (index, shown) in &plan.targets {
                let own = |guest: &&guest::GuestPlan| shown.is_in(&guest.place);
                let guests: Vec<_> = plan.guests.iter().filter(own).collect();
                let of = |guest: &&guest::GuestPlan| {
                    guest.disks.iter().map(|disk| (disk.offset, disk.bytes)).collect::<Vec<_>>()
                };
                assert_eq!(
                    guests.iter().map(of).collect::<Vec<_>>(),
                    expected[*index],
                    "{}",
                    stacks[*index]
                );
                // All disks of a guest are loaded at once, in its one place.
                let loaded = shown.loaded();
                assert_eq!(loaded.len(), guests.len());
                assert!(loaded.iter().all(|(_, paths)| paths.len() == expected[*index][0].len()));
            }
        }
    });
}
