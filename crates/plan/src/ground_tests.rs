//! Plans stacks on several media.

use super::*;
use crate::sets::layout;
use crate::survey;
use iotax_host::facts::cpu;
use iotax_host::made_up::{MadeUpMachine, server};
use iotax_host::pci;
use iotax_host::routes::Subnet;
use iotax_layers::Layer;
use iotax_layers::medium::FoundMedium;
use iotax_layers::volume::Loop;
use iotax_model::scenario::check::{ScenarioRequest, from_arguments, from_path};
use iotax_qemu::pin;
use std::fmt::Write as _;
use std::path::Path;

fn scenario(stacks: &[&str], rw: &str) -> Scenario {
    let stacks: Vec<String> = stacks.iter().map(|text| (*text).to_owned()).collect();
    let words = vec![("rw".to_owned(), rw.to_owned())];
    from_arguments(&stacks, &ScenarioRequest { words, ..ScenarioRequest::default() }).unwrap()
}

/// Runs `then` with media of the declared sizes; devices have 1 TiB.
fn with_ground<T>(scenario: &Scenario, then: impl FnOnce(&PlanGround) -> T) -> T {
    with_guests(scenario, None, then)
}

/// Runs `then` with media of the declared sizes, on a machine with these parts for guests.
fn with_guests<T>(
    scenario: &Scenario,
    guests: Option<guest::GuestParts>,
    then: impl FnOnce(&PlanGround) -> T,
) -> T {
    with_devices_of(1 << 40, scenario, guests, then)
}

fn with_devices_of<T>(
    bytes: u64,
    scenario: &Scenario,
    guests: Option<guest::GuestParts>,
    then: impl FnOnce(&PlanGround) -> T,
) -> T {
    iotax_layers::fabric::fix_names();
    let found_of = |medium: &Medium| match medium {
        Medium::File { size, .. } => FoundMedium::without_signature(size.unwrap(), false, false),
        _ => FoundMedium::without_signature(bytes, true, true),
    };
    let found: Vec<Vec<FoundMedium>> = scenario
        .stacks
        .iter()
        .map(|stack| stack.medium.members().iter().map(found_of).collect())
        .collect();
    let layout = layout(scenario);
    let tag = RunTag { run_id: "RUN".into(), run_dir: "/run-dir".into() };
    then(&PlanGround { scenario, layout: &layout, found: &found, guest_parts: guests, tag })
}

/// Formats every visit's targets, after the files and steps that make them.
fn show(ground: &PlanGround) -> String {
    let mut text = String::new();
    let mut steps = |head: &str, steps: &[Step]| {
        let _ = writeln!(text, "{head}");
        steps.iter().for_each(|step| {
            let _ = writeln!(text, "  {}", step.op.operation().describe());
        });
    };
    steps("files under test", &ground.media().unwrap());
    let mut targets = String::new();
    for (number, set) in ground.layout.sets.iter().enumerate() {
        for visit in 0..ground.layout.siblings() as u32 {
            let plan = ground.plan_set(set, visit).unwrap();
            steps(&format!("set {number}, visit {visit}"), &plan.steps);
            for (index, shown) in &plan.targets {
                let paths: Vec<String> = shown.paths.iter().map(ToString::to_string).collect();
                let ExposedDevice { bytes, block, place, hold, writable, .. } = shown;
                let _ = writeln!(
                    targets,
                    "set {number}, visit {visit}, {}: {} ({bytes} bytes, block {block}, on {place}, held {} ns, writable {writable})",
                    ground.scenario.stacks[*index].text,
                    paths.join(" + "),
                    hold.ns
                );
            }
        }
    }
    text + &targets
}

const EACH: &str = "each([file:/srv/a.img,size=1GiB,file:/srv/b.img,size=2GiB])";

#[test]
fn readers_of_several_files_share_them() {
    let delayed = format!("{EACH} | delay(50)");
    let scenario = scenario(&[EACH, "file:/srv/b.img,size=2GiB | loop", &delayed], "randread");
    with_ground(&scenario, |ground| {
        insta::assert_snapshot!(show(ground));
        assert_eq!(ground.bounds().unwrap().region, 1 << 30, "of the smallest member");
    });
}

#[test]
fn writers_go_round_equal_files_of_all_members() {
    let scenario = scenario(&[EACH, "file:/srv/b.img,size=2GiB | loop"], "randwrite");
    with_ground(&scenario, |ground| insta::assert_snapshot!(show(ground)));
}

#[test]
fn writers_of_several_devices_are_visited() {
    let scenario = scenario(&["each([/dev/sda,/dev/sdb])", "/dev/sdb | loop"], "randwrite");
    with_ground(&scenario, |ground| insta::assert_snapshot!(show(ground)));
}

/// Found there, as `file:` without a size and `ssh:` are; once here and once there, though two
/// stacks have each.
#[test]
fn trims_of_files_that_are_there_are_told_to_their_markers_first() {
    let stacks = ["file:/srv/a.img", "file:/srv/a.img | loop", "ssh:db1:/srv/b.img", "/dev/sda"];
    let steps = |rw: &str| {
        let mut scenario = scenario(&stacks, rw);
        // The made-up drive belongs to nobody.
        scenario.consent.clear();
        let found = [(false, 1 << 30), (false, 1 << 30), (false, 1 << 30), (true, 1 << 40)]
            .map(|(block, bytes)| vec![FoundMedium::without_signature(bytes, block, true)]);
        let layout = layout(&scenario);
        let tag = RunTag { run_id: "RUN".into(), run_dir: "/run-dir".into() };
        let ground = PlanGround {
            scenario: &scenario,
            layout: &layout,
            found: &found,
            guest_parts: None,
            tag,
        };
        let told = |step: &Step| format!("{}: {}", step.place, step.op.operation().describe());
        let again =
            ground.layout.sets.iter().flat_map(|set| ground.plan_set(set, 0).unwrap().steps);
        let again = again.filter(|step| matches!(step.op, Op::ForgetFill(_))).count();
        assert_eq!(again, 0, "once is enough");
        ground.media().unwrap().iter().map(told).collect::<Vec<_>>()
    };
    assert_eq!(
        steps("randtrim"),
        [
            "host: say in the marker of /srv/a.img that it is not filled, as it is trimmed",
            "ssh:db1: say in the marker of /srv/b.img that it is not filled, as it is trimmed"
        ]
    );
    assert_eq!(steps("randwrite"), Vec::<String>::new());
}

#[test]
fn a_job_must_fit_the_smallest_member() {
    let mut scenario = scenario(&["each([/dev/sda,file:/srv/b.img,size=1GiB])"], "randread");
    scenario.workloads[0].jobs[0].size = Some(2 << 30);
    let error = with_ground(&scenario, |ground| ground.bounds().unwrap_err().to_string());
    assert!(
        error.contains("wants 2 GiB, but the smallest of the compared stacks offers 1 GiB"),
        "{error}"
    );
}

/// The check of scenarios comes first. A layer that is planned on several devices nevertheless must
/// not take the first.
#[test]
fn a_layer_that_joins_nothing_stands_on_one() {
    let scenario = scenario(&["each([/dev/sda,/dev/sdb])"], "randread");
    with_ground(&scenario, |ground| {
        let below = ground.plan_set(&ground.layout.sets[0], 0).unwrap().targets.remove(0).1;
        let name = "loop".to_owned();
        let spec = LayerSpec {
            name,
            options: BTreeMap::new(),
            place: None,
            far: Vec::new(),
            copies: 1,
            tool: None,
            origin: "here".into(),
        };
        let error = Loop.plan(&spec, &below, &mut ground.context().unwrap()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "here: loop takes one device, and there are 2 below it; hint: name one medium"
        );
    });
}

#[test]
fn what_was_not_looked_at_is_not_planned() {
    let scenario = scenario(&[EACH], "randread");
    with_ground(&scenario, |ground| {
        let stack = &scenario.stacks[0];
        let known = &ground.found[0][..1];
        let error = medium::plan_bottom(&stack.medium, known, None, &ground.context().unwrap())
            .unwrap_err();
        assert!(error.to_string().contains("was not looked at as a whole"), "{error}");
    });
}

/// Returns the parts of the server of host::made_up, which has an IOMMU and a drive in a group of
/// its own.
fn parts_of(machine: &MadeUpMachine) -> guest::GuestParts {
    guest::GuestParts { drives: pci::drives(&machine.probe), ..guest::GuestParts::made_up() }
}

#[test]
fn a_drive_is_taken_by_guests_in_turn_and_given_back() {
    let guest = "vm(attach=vfio,firmware=ovmf,cpus=1-3";
    let scenario = scenario(
        &[
            "/dev/nvme0n1",
            &format!("/dev/nvme0n1 | {guest},vcpus=2,memory=16GiB)"),
            &format!("/dev/nvme0n1 | {guest},vcpus=1,memory=2GiB)"),
        ],
        "randread",
    );
    let machine = server();
    insta::assert_snapshot!(with_guests(&scenario, Some(parts_of(&machine)), show));
}

/// Guests that are named and one that a layer makes, each with its own name; one that has no card
/// is on no bridge.
#[test]
fn guests_with_a_card_are_ports_of_one_bridge() {
    let stacks = [
        "net:vm1",
        "net:vm0 @vm1",
        "net:host | vm(net=tap,vhost=on,net-queues=2)",
        "net:host | vm(vcpus=1,net=tap)",
    ];
    let request = ScenarioRequest {
        probe: Some("tcp".into()),
        vm: Some("memory=256MiB".into()),
        ..ScenarioRequest::default()
    };
    let scenario = from_arguments(&stacks.map(str::to_owned), &request).unwrap();
    let shown = with_guests(&scenario, Some(guest::GuestParts::made_up()), show);
    let ours =
        |line: &&str| ["ip ", "netdev", "set 0, visit 0,"].iter().any(|word| line.contains(word));
    let brief = |line: &str| match line.split_once("-netdev ") {
        Some((line, card)) => {
            let name = line.split("guest=").nth(1).unwrap().split(',').next().unwrap();
            format!("  {name}: {card}")
        }
        None => line.to_owned(),
    };
    insta::assert_snapshot!(shown.lines().filter(ours).map(brief).collect::<Vec<_>>().join("\n"));
    let taken = vec![("tun0".to_owned(), Subnet::from_address([198, 18, 0, 0].into(), 15))];
    let full = guest::GuestParts { routes: taken, ..guest::GuestParts::made_up() };
    let why = |scenario: &Scenario| {
        with_guests(scenario, Some(full.clone()), |ground| {
            format!("{:#}", ground.bounds().unwrap_err())
        })
    };
    assert!(why(&scenario).contains("routes to all of 198.18.0.0/15"), "{}", why(&scenario));
    let lab = self::scenario(&["nvme0 @lab | nvmf @lab>@host"], "randread");
    assert!(why(&lab).starts_with("@lab: no network is left"), "{}", why(&lab));
}

#[test]
fn the_kernel_serves_what_only_a_step_will_know() {
    let scenario =
        scenario(&["file:/srv/x.img,size=1GiB | loop | vm(attach=vhost-scsi)"], "randread");
    let shown = with_guests(&scenario, Some(guest::GuestParts::made_up()), show);
    let export = shown.lines().find(|line| line.contains("LIO")).unwrap();
    let expected = "  export <device of step 1> as LIO's iblock iotax-RUN-iotax-vm0-0 to vhost-scsi naa.5001405";
    assert!(export.starts_with(expected), "{shown}");
    assert!(shown.contains("vhost-scsi-pci,id=disk0-device,wwpn=naa.5001405"), "{shown}");
}

#[test]
fn a_running_target_serves_a_part_to_each_guest() {
    let vm = "vm(attach=vhost-user-blk,spdk=/run/spdk.sock,cpumask=0x2,vcpus=1)";
    let stacks = [
        format!("file:/srv/x.img,size=1GiB | {vm} x2"),
        "/dev/nvme0n1 | vm(attach=vhost-user-blk,spdk=/run/spdk.sock,num-queues=4,queue-size=256)"
            .to_owned(),
    ];
    let stacks: Vec<&str> = stacks.iter().map(String::as_str).collect();
    let shown =
        with_guests(&scenario(&stacks, "randread"), Some(guest::GuestParts::made_up()), show);
    let ours = |line: &&str| ["SPDK", "vhost-user-blk"].iter().any(|word| line.contains(word));
    let lines: Vec<String> = shown.lines().filter(ours).map(only_disks).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[test]
fn members_become_a_bdev_that_guests_share_or_have_a_part_of_each() {
    let files = "[file:/srv/a.img,size=1GiB,file:/srv/b.img,size=1025MiB]";
    let vm = "vm(attach=vhost-user-blk,vcpus=1)";
    let both = |layer: &str| {
        vec![format!("{files} | {layer} | {vm}"), format!("{files} | {layer} | {vm} x2")]
    };
    let planned = |stacks: Vec<String>, rw: &str| {
        let stacks: Vec<&str> = stacks.iter().map(String::as_str).collect();
        let shown = with_guests(&scenario(&stacks, rw), Some(guest::GuestParts::made_up()), show);
        let ours =
            |line: &&str| ["SPDK", "bdev", "vhost-user-blk"].iter().any(|word| line.contains(word));
        shown.lines().filter(ours).map(only_disks).collect::<Vec<_>>().join("\n")
    };
    let alone = format!("/dev/nvme0n1 | spdk(rpc=/run/spdk.sock,aio=io_uring) | {vm}");
    let three = format!("[/dev/sda,/dev/sdb,/dev/sdc] | spdk(raid=raid5f,strip-size=32KiB) | {vm}");
    let all = [
        planned(both("spdk(raid=raid1)"), "randread"),
        planned(both("spdk(raid=raid0,lvol=thin)"), "randread"),
        planned(vec![alone], "randwrite"),
        planned(vec![three], "randread"),
    ];
    insta::assert_snapshot!(all.join("\n\n"));
}

/// A rebuild writes to members that the load only reads.
#[test]
fn members_of_an_array_that_is_rebuilt_are_written() {
    use iotax_host::guard::judge::Intent;
    let text = "[/dev/sda,/dev/sdb] | spdk(raid=raid1) | vm(attach=vhost-user-blk)";
    let words = vec![("rw".to_owned(), "randread".to_owned())];
    let planned = |states: Option<&str>| {
        let states = states.map(str::to_owned);
        let request =
            ScenarioRequest { words: words.clone(), states, ..ScenarioRequest::default() };
        let scenario = from_arguments(&[text.to_owned()], &request).unwrap();
        let shown = with_guests(&scenario, Some(guest::GuestParts::made_up()), show);
        (survey::intent(&scenario, &scenario.stacks[0]), shown)
    };
    let (intent, shown) = planned(None);
    assert_eq!(
        (intent, shown.contains("/dev/sda, /dev/sdb, read-only")),
        (Intent::Read, true),
        "{shown}"
    );
    let (intent, shown) = planned(Some("healthy,failed(1),rebuilding,healthy"));
    assert_eq!(
        (intent, shown.contains("/dev/sda, /dev/sdb, read-only")),
        (Intent::Write, false),
        "{shown}"
    );
}

#[test]
fn the_target_that_has_a_bdev_serves_it_over_nvme() {
    let below = "[/dev/sda,/dev/sdb] | spdk(raid=raid1,rpc=/run/spdk.sock)";
    let served = |words: &str| format!("{below} | nvmf({words}target=spdk)");
    let planned = |stack: &str| {
        with_ground(&scenario(&[stack], "randread"), |ground| match ground.bounds() {
            Ok(_) => show(ground),
            Err(error) => error.to_string() + "\n",
        })
    };
    let all = [
        planned(&served("")),
        planned(&(served("rdma,queues=2,") + " | fs(xfs)")),
        planned(&served("loop,")),
        planned(&served("inline-data-size=8KiB,")),
        planned("/dev/sda | nvmf(target=spdk)"),
        planned("/dev/sda | nvmf(spdk=/run/spdk.sock)"),
        planned("[/dev/sda,/dev/sdb,/dev/sdc] | spdk(raid=raid5f) | nvmf(target=spdk) | fs(xfs)"),
    ];
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn what_cannot_be_made_of_members_is_refused() {
    let refused_as = |stack: &str, words: &[(&str, &str)]| {
        let words =
            words.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let request = ScenarioRequest { words, ..ScenarioRequest::default() };
        let scenario = from_arguments(&[stack.to_owned()], &request).unwrap();
        with_guests(&scenario, Some(guest::GuestParts::made_up()), |ground| match ground.bounds() {
            Ok(bounds) => format!("{} bytes", bounds.region),
            Err(error) => error.to_string(),
        })
    };
    let with = |words: &str| {
        format!("[/dev/sda,/dev/sdb,/dev/sdc] | spdk({words}) | vm(attach=vhost-user-blk)")
    };
    let refused = |words: &str| refused_as(&with(words), &[("rw", "randread")]);
    let writing =
        |words: &str, bs: &str| refused_as(&with(words), &[("rw", "randwrite"), ("bs", bs)]);
    let one = |words: &str| {
        format!("file:/srv/x.img,size=1GiB | spdk({words}) | vm(attach=vhost-user-blk)")
    };
    let all = [
        refused("raid=none"),
        refused_as(&one("raid=raid1"), &[("rw", "randread")]),
        refused_as(
            "[/dev/sda,/dev/sdb] | spdk(raid=raid5f) | vm(attach=vhost-user-blk)",
            &[("rw", "randread")],
        ),
        refused("raid=raid1,strip-size=64KiB"),
        refused("raid=raid0,strip-size=96KiB"),
        refused("raid=raid0,size=1GiB"),
        refused("raid=raid5f,lvol=thin"),
        refused("raid=raid0,aio=io_uring"),
        refused_as(&one("lvol=thin,size=2GiB"), &[("rw", "randread")]),
        refused_as(&one("lvol=thick,size=512MiB"), &[("rw", "randread")]),
        refused_as(&one("lvol=thick,cluster-size=64KiB"), &[("rw", "randread")]),
        writing("raid=raid5f", "4k"),
        writing("raid=raid5f", "128k"),
        refused_as(
            &(with("raid=raid5f,strip-size=1MiB") + " x3"),
            &[("rw", "randwrite"), ("bs", "2M")],
        ),
    ];
    insta::assert_snapshot!(all.join("\n"));
}

/// Returns the words of a long command line that belong to disks.
fn only_disks(line: &str) -> String {
    let words =
        line.split(" -").filter(|word| word.contains("memory-backend") || word.contains("disk"));
    if line.contains(" -chardev ") { words.collect::<Vec<_>>().join(" -") } else { line.to_owned() }
}

#[test]
fn words_of_spdk_are_refused_where_it_has_no_part() {
    let refused = |words: &str, load: &str| {
        let stack = format!("file:/srv/x.img,size=1GiB | vm({words})");
        let guests = Some(guest::GuestParts::made_up());
        with_guests(&scenario(&[&stack], load), guests, |ground| {
            ground.bounds().unwrap_err().to_string()
        })
    };
    let spdk = |more: &str| format!("attach=vhost-user-blk,spdk=/run/spdk.sock,{more}");
    let all = [
        refused("spdk=/run/spdk.sock", "randread"),
        refused("attach=vhost-scsi,spdk=/run/spdk.sock", "randread"),
        refused("attach=vhost-user-blk,cpumask=0x1", "randread"),
        refused(&spdk("cache=none"), "randread"),
        refused(&spdk("iothread=true"), "randread"),
        refused(&spdk("discard=unmap"), "randread"),
        refused(&spdk("format=qcow2"), "randread"),
        refused(&spdk("aio=threads"), "randread"),
        refused(&spdk("aio=io_uring"), "randread"),
    ];
    insta::assert_snapshot!(all.join("\n"));
}

/// The scenario as it ships, on a machine of two L3 groups whose drive has the name in it.
#[test]
fn the_passthrough_of_a_drive_as_it_ships() {
    let file =
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/e0-passthrough.toml"));
    let scenario = from_path(file, &ScenarioRequest::default()).unwrap();
    let machine = server();
    machine.link("/dev/disk/by-id/nvme-Made-up_S4EVNF0M", "/dev/nvme0n1");
    let mut parts = parts_of(&machine);
    parts.drives[0].paths.push("/dev/nvme1n1".into());
    parts.room.groups = pin::groups(&cpu(&machine.probe));
    let shown = with_guests(&scenario, Some(parts), |ground| {
        let pins: Vec<String> = (0..ground.layout.sets.len())
            .flat_map(|set| ground.plan_set(&ground.layout.sets[set], 0).unwrap().guests)
            .map(|guest| format!("{} with {:?} on {:?}", guest.place, guest.memory, guest.pin))
            .collect();
        show(ground) + &pins.join("\n")
    });
    insta::assert_snapshot!(shown);
}

#[test]
fn huge_pages_that_are_lacking_are_those_of_the_set_with_most_guests() {
    let vm = |more: &str| format!("/dev/vda | vm(memory=1GiB,hugepages=1GiB){more}");
    let stacks = [vm(""), vm(" x8"), vm(" x2")];
    let scenario = scenario(&stacks.each_ref().map(String::as_str), "randwrite");
    let mut parts = guest::GuestParts::made_up();
    parts.room.huge_pages = Vec::new();
    let refused = with_guests(&scenario, Some(parts), |ground| ground.bounds().unwrap_err());
    assert_eq!(iotax_units::exit::code_of(&refused), iotax_units::exit::UNMET_NEED);
    assert!(
        format!("{refused:#}").contains("need 8 huge pages of 1 GiB, and 0 are free"),
        "{refused:#}"
    );
}

#[test]
fn a_guests_processors_and_its_memory_are_on_one_node() {
    let guest_of = |words: &str| {
        let mut parts = guest::GuestParts::made_up();
        parts.room.groups = pin::groups(&cpu(&server().probe));
        let stack = format!("file:/srv/x.img,size=1GiB | vm(vcpus=1,{words})");
        with_guests(&scenario(&[&stack], "randread"), Some(parts), |ground| {
            let guest = ground.plan_set(&ground.layout.sets[0], 0).unwrap().guests.remove(0);
            (guest.pin.unwrap().others, guest.memory.node)
        })
    };
    assert_eq!(guest_of("cpus=auto"), (vec![0], Some(0)));
    assert_eq!(guest_of("cpus=auto,numa=1"), (vec![1], Some(1)));
    assert_eq!(
        guest_of("cpus=1"),
        (vec![1], Some(1)),
        "before anything in the guest touches its memory"
    );
    assert_eq!(guest_of("cpus=\"0,1\"").1, None, "a list over two nodes");
    assert_eq!(guest_of("cpus=0,numa=1"), (vec![0], Some(1)), "as it was asked for");
}

#[test]
fn a_drive_that_cannot_be_taken_is_refused_with_its_reason() {
    let machine = server();
    let refused = |stacks: &[&str]| {
        let guests = Some(parts_of(&machine));
        with_guests(&scenario(stacks, "randread"), guests, |ground| {
            ground.bounds().unwrap_err().to_string()
        })
    };
    let mut all = vec![
        refused(&["/dev/sda | vm(attach=vfio)"]),
        refused(&["/dev/mapper/x | vm(attach=vfio)"]),
        refused(&["file:/srv/x.img,size=1GiB | vm(attach=vfio)"]),
        refused(&["/dev/nvme0n1 | loop | vm(attach=vfio)"]),
        refused(&["/dev/nvme0n1 | vm(attach=vfio) x2"]),
        refused(&["/dev/nvme0n1 | vm(attach=vfio,cache=none)"]),
    ];
    machine.put(&[
        ("/sys/bus/pci/devices/0000:02:00.0/class", "0x020000"),
        ("/sys/kernel/iommu_groups/14/devices/0000:02:00.0/x", ""),
    ]);
    machine.link("/sys/bus/pci/devices/0000:02:00.0/driver", "/sys/bus/pci/drivers/ixgbe");
    all.push(refused(&["/dev/nvme0n1 | vm(attach=vfio)"]));
    machine.block(
        "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/nvme/nvme0/nvme0n2",
        "259:1",
        &[],
    );
    all.push(refused(&["/dev/nvme0n1 | vm(attach=vfio)"]));
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn stacks_on_one_image_share_its_guest_and_no_kernel_of_ours_is_in_it() {
    let vm =
        |options: &str| format!("file:/srv/x.img,size=1GiB | vm(image=/srv/debian.qcow2{options})");
    let stacks = [vm(""), vm(",cache=directsync"), vm(",firmware=ovmf")];
    let scenario = scenario(&stacks.each_ref().map(String::as_str), "randread");
    let parts = with_image(guest::GuestParts::made_up());
    with_guests(&scenario, Some(parts), |ground| insta::assert_snapshot!(show(ground)));
}

#[test]
fn drives_that_are_away_together_are_named_by_names_that_stay() {
    let machine = server();
    let port = "/sys/devices/pci0000:00/0000:00:02.0/0000:02:00.0";
    machine.put(&[
        (&format!("{port}/class"), "0x010802"),
        ("/sys/kernel/iommu_groups/15/devices/0000:02:00.0/class", "0x010802"),
    ]);
    machine.link(&format!("{port}/driver"), "/sys/bus/pci/drivers/nvme");
    machine.link(&format!("{port}/iommu_group"), "/sys/kernel/iommu_groups/15");
    machine.link("/sys/bus/pci/devices/0000:02:00.0", port);
    machine.block(&format!("{port}/nvme/nvme1/nvme1n1"), "259:9", &[("device/serial", "S5")]);
    machine.link("/dev/disk/by-id/nvme-Made-up_S4EVNF0M", "/dev/nvme0n1");
    machine.link("/dev/disk/by-id/nvme-Made-up_S5", "/dev/nvme1n1");
    let planned = |stacks: &[&str]| {
        with_guests(&scenario(stacks, "randread"), Some(parts_of(&machine)), |ground| {
            ground.bounds().map(drop).map_err(|error| error.to_string())
        })
    };
    let refused = planned(&[
        "/dev/disk/by-id/nvme-Made-up_S4EVNF0M | vm(attach=vfio)",
        "/dev/nvme1n1 | vm(attach=vfio)",
    ]);
    assert_eq!(
        refused.unwrap_err(),
        "/dev/nvme1n1 | vm(attach=vfio): guests have 2 drives at one time, and when they come back the kernel may give \
         /dev/nvme1n1 to another; hint: /dev/disk/by-id/nvme-Made-up_S5"
    );
    let named = ["S4EVNF0M", "S5"]
        .map(|serial| format!("/dev/disk/by-id/nvme-Made-up_{serial} | vm(attach=vfio)"));
    assert_eq!(planned(&named.each_ref().map(String::as_str)), Ok(()));
    assert_eq!(
        planned(&["/dev/nvme1n1", "/dev/nvme1n1 | vm(attach=vfio)"]),
        Ok(()),
        "one alone gets its name back"
    );
}

/// A disk of 256 TiB, of which no machine that tests has room for a copy.
#[test]
fn overlays_that_have_no_room_are_refused() {
    let planned = |stack: &str, rw: &str, size: Option<u64>| {
        let mut scenario = scenario(&[stack], rw);
        scenario.workloads[0].jobs[0].size = size;
        with_devices_of(1 << 48, &scenario, Some(guest::GuestParts::made_up()), |ground| {
            ground.bounds().map(drop).map_err(|error| format!("{error:#}"))
        })
    };
    for stack in ["/dev/sda | vm(snapshot=on)", "/dev/sda | vm(snapshot=on) x2"] {
        let refused = planned(stack, "randwrite", None).unwrap_err();
        assert!(refused.contains("for the overlays of snapshot=on; hint: TMPDIR="), "{refused}");
        assert!(refused.contains("10 % stay free"), "{refused}");
        assert_eq!(planned(stack, "randread", None), Ok(()), "nothing is written");
        assert_eq!(
            planned(stack, "randwrite", Some(1 << 20)),
            Ok(()),
            "no more than that is written"
        );
    }
    assert_eq!(planned("/dev/sda | vm", "randwrite", None), Ok(()), "no overlay");
}

/// Returns parts of a machine with that image.
fn with_image(parts: guest::GuestParts) -> guest::GuestParts {
    use iotax_layers::guest::system_image::{Format, SystemImage};
    let path = std::path::PathBuf::from("/srv/debian.qcow2");
    let image = SystemImage { path: path.clone(), format: Format::Qcow2 };
    guest::GuestParts { images: [(path, image)].into(), ..parts }
}

/// The system in an image may mount, assemble or repair what it finds, whatever the load does.
#[test]
fn a_system_that_nothing_keeps_from_writing_is_one_that_writes() {
    use iotax_host::guard::judge::Intent;
    let intent = |stack: &str| {
        let scenario = scenario(&[stack], "randread");
        survey::intent(&scenario, &scenario.stacks[0])
    };
    assert_eq!(intent("/dev/nvme0n1 | vm(attach=vfio)"), Intent::Take);
    assert_eq!(intent("/dev/nvme0n1 | vm(attach=vfio,image=/srv/debian.qcow2)"), Intent::Write);
    assert_eq!(intent("/dev/nvme0n1 | vm(image=/srv/debian.qcow2)"), Intent::Read);
    let plan = |stack: &str, rw: &str| {
        let parts = with_image(parts_of(&server()));
        with_guests(&scenario(&[stack], rw), Some(parts), |ground| {
            ground.bounds().map(drop).map_err(|error| error.to_string())
        })
    };
    let served = "vm(attach=vhost-scsi,image=/srv/debian.qcow2)";
    let refused = plan(&format!("file:/srv/x.img,size=1GiB | {served}"), "randread").unwrap_err();
    assert!(refused.contains("attach=vhost-scsi cannot serve a file read-only"), "{refused}");
    assert!(refused.contains("hint: a loop device between"), "{refused}");
    assert_eq!(plan(&format!("file:/srv/x.img,size=1GiB | {served}"), "randwrite"), Ok(()));
    assert_eq!(plan(&format!("file:/srv/x.img,size=1GiB | loop | {served}"), "randread"), Ok(()));
    assert_eq!(plan("file:/srv/x.img,size=1GiB | vm(attach=vhost-scsi)", "randread"), Ok(()));
    assert_eq!(plan("/dev/nvme0n1 | vm(attach=vfio,image=/srv/debian.qcow2)", "randread"), Ok(()));
}

/// Returns the steps, without the command lines of the guests.
fn images_of(stacks: &[&str], rw: &str) -> String {
    with_guests(&scenario(stacks, rw), Some(guest::GuestParts::made_up()), |ground| {
        let region = ground.bounds().unwrap().region;
        let mut text = format!("region {region}\n");
        for set in &ground.layout.sets {
            let plan = ground.plan_set(set, 0).unwrap();
            for step in plan.steps.iter().filter(|step| matches!(step.op, Op::MakeImage(_))) {
                let operation = step.op.operation();
                let _ = writeln!(text, "{}: {}", step.why, operation.describe());
                assert!(operation.irreversible_effect().is_some());
            }
            for first in unwritten_of_set(&plan.targets, region, ground.scenario) {
                let stack = &ground.scenario.stacks[plan.targets[first.target].0].text;
                let _ = writeln!(text, "written first: {} through {stack}", first.total_written());
            }
        }
        text
    })
}

#[test]
fn images_lie_within_what_is_below() {
    let file = "file:/srv/x.img,size=1GiB";
    let vm = |options: &str| format!("{file} | vm(format=qcow2{options})");
    let stacks = [
        file.to_owned(),
        vm(""),
        vm(",preallocation=full"),
        vm(",backing=2"),
        vm(",first-writes=random"),
    ];
    let stacks: Vec<&str> = stacks.iter().map(String::as_str).collect();
    let reading = images_of(&stacks, "randread");
    let writing = images_of(&[&vm(",backing=1"), &vm(",cluster-size=2MiB")], "randwrite");
    let many = images_of(&[&(vm("") + " x3"), &(vm("") + " | delay(50)"), &vm("")], "randread");
    let device = images_of(&["/dev/sda | vm(format=qcow2,preallocation=metadata)"], "randread");
    insta::assert_snapshot!(format!("{reading}\n{writing}\n{many}\n{device}"));
}

#[test]
fn a_run_directory_that_is_too_long_for_sockets_is_refused() {
    let planned = |way: &str, length: usize| {
        let stack = format!("file:/srv/x.img,size=1GiB | vm(attach={way})");
        let scenario = scenario(&[&stack], "randread");
        with_guests(&scenario, Some(guest::GuestParts::made_up()), |ground| {
            let run_dir = format!("/{}", "d".repeat(length - 1)).into();
            let tag = RunTag { run_dir, ..ground.tag.clone() };
            let parts = ground.guest_parts.clone();
            let ground = PlanGround { tag, guest_parts: parts, ..*ground };
            ground.plan_set(&ground.layout.sets[0], 0).map(drop).map_err(|error| error.to_string())
        })
    };
    // The names `/vm0.port` and `/vm0-disk0.vhost` follow; Linux takes 107 bytes.
    assert_eq!(planned("virtio-blk", 98), Ok(()));
    assert_eq!(planned("vhost-user-blk", 91), Ok(()));
    for (way, length, name) in
        [("virtio-blk", 99, "vm0.port"), ("vhost-user-blk", 92, "vm0-disk0.vhost")]
    {
        let refused = planned(way, length).unwrap_err();
        assert!(
            refused.contains(&format!("/{name}, has 108 bytes, and Linux takes 107; hint: ")),
            "{refused}"
        );
    }
}

#[test]
fn images_that_make_no_sense_are_refused() {
    let refused = |options: &str, size: &str| {
        let stack = format!("file:/srv/x.img,size={size} | vm({options})");
        with_guests(
            &scenario(&[&stack], "randread"),
            Some(guest::GuestParts::made_up()),
            |ground| ground.bounds().unwrap_err().to_string(),
        )
    };
    let vfio = with_guests(
        &scenario(&["/dev/nvme0n1 | vm(attach=vfio,format=raw)"], "randread"),
        Some(parts_of(&server())),
        |ground| ground.bounds().unwrap_err().to_string(),
    );
    let all = [
        refused("preallocation=metadata", "1GiB"),
        refused("format=raw,backing=1", "1GiB"),
        refused("format=qcow2,backing=9", "1GiB"),
        refused("format=qcow2,cluster-size=5KiB", "1GiB"),
        refused("format=qcow2,cluster-size=4MiB", "1GiB"),
        refused("format=qcow2,backing=1,preallocation=full", "1GiB"),
        refused("format=qcow2,backing=1,first-writes=random", "1GiB"),
        refused("format=qcow2,preallocation=falloc,first-writes=random", "1GiB"),
        refused("format=qcow2,backing=3", "4MiB"),
        // LIO would serve the container as if it were the disk.
        refused("attach=vhost-scsi,format=qcow2", "1GiB"),
        refused("attach=vhost-scsi,format=qcow2,backing=1", "1GiB"),
        vfio,
    ];
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn what_is_written_first_counts_towards_what_may_be_written() {
    let mut scenario = scenario(&["file:/srv/x.img,size=1GiB | vm(format=qcow2)"], "randread");
    let left = |scenario: &Scenario| {
        with_guests(scenario, Some(guest::GuestParts::made_up()), |ground| {
            ground.bounds().map(|bounds| bounds.left_to_write).map_err(|error| error.to_string())
        })
    };
    scenario.max_written = Some(3 << 30);
    // The file's GiB, and the region of the image, which is a MiB shorter.
    assert_eq!(left(&scenario), Ok(Some((1 << 30) + (1 << 20))));
    scenario.max_written = Some(1 << 30);
    assert!(left(&scenario).unwrap_err().contains("setting up alone writes"));
}

/// The scenario as it ships: each back end is made and written once for both of its exports.
#[test]
fn a_back_end_stays_up_for_the_exports_that_take_turns_on_it() {
    let file = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/e4-clients.toml"));
    let scenario = from_path(file, &ScenarioRequest::default()).unwrap();
    with_ground(&scenario, |ground| {
        assert_eq!(ground.followers().unwrap(), [0, 1, 2, 3, 0, 1, 2, 3]);
        let plan = |set: usize| ground.plan_set(&ground.layout.sets[set], 0).unwrap();
        let (iser, nvmeof) = (plan(0), plan(4));
        let kept = ground.kept_steps(&iser, &nvmeof);
        let words = |plan: &SetPlan| {
            let steps = plan.steps[..kept].iter();
            steps.map(|step| step.why.clone()).collect::<Vec<_>>().join("; ")
        };
        assert!(words(&iser).ends_with("make part 8 of 8"), "{}", words(&iser));
        assert_eq!(words(&iser), words(&nvmeof));
        assert_eq!(ground.kept_steps(&iser, &plan(1)), 0);
        // Eight disks of 100 GB, of which four are each client's.
        let region = ground.region().unwrap().0;
        let first = unwritten_of_set(&iser.targets, region, &scenario);
        assert_eq!(first[0].total_written().div_ceil(1_000_000_000), 801);
        assert_eq!(first, unwritten_of_set(&nvmeof.targets, region, &scenario));
        let loaded = iser.targets[0].1.loaded();
        let disks: Vec<usize> = loaded.iter().map(|(_, paths)| paths.len()).collect();
        assert_eq!(disks, [4, 4]);
    });
}

#[test]
fn what_begins_cold_or_changes_what_was_written_is_made_anew() {
    let made_anew = [
        ["/dev/a", "/dev/b", "lvm(cache)", "nvmf", "iscsi"],
        ["/dev/a", "/dev/b", "bcache", "nvmf", "iscsi"],
        ["/dev/a", "/dev/b", "mdraid(level=0)", "nvmf | fs(xfs)", "iscsi | fs(xfs)"],
        // The thin volume on the array is another volume, which was not written yet.
        ["/dev/a", "/dev/b", "mdraid(level=0)", "nvmf", "lvm(type=thin) | nvmf"],
        ["/dev/a", "/dev/b", "mdraid(level=0)", "null", "split(2)"],
    ];
    for [a, b, volume, one, other] in made_anew {
        let texts = [one, other].map(|above| format!("[{a},{b}] | {volume} | {above}"));
        let scenario = scenario(&[&texts[0], &texts[1]], "randrw");
        let followed = with_ground(&scenario, |ground| ground.followers().unwrap());
        assert_eq!(followed, [0, 1], "{texts:?}");
    }
}

#[path = "ground_volume_tests.rs"]
mod volumes;
