//! Plans fabrics: the place of each step, and what cannot be planned.

use super::*;
use crate::{Layer, layer_of};
use iotax_drivers::run_tag::RunTag;
use iotax_facts::place::Place;
use iotax_load::Hold;
use iotax_model::scenario::Scenario;
use iotax_model::scenario::check::{ScenarioRequest, from_arguments};
use iotax_model::stack::Stack;
use iotax_steps::step::Step;
use std::fmt::Write as _;

fn scenario(text: &str) -> Scenario {
    from_arguments(&[text.to_owned()], &ScenarioRequest::default()).unwrap()
}

/// Plans the layers of a stack over a device of 1 GiB.
fn planned(stack: &Stack, context: &mut PlanContext) -> Result<ExposedDevice, String> {
    let path = PathRef::Path("/dev/nvme1n1".into());
    let mut exposed = ExposedDevice {
        paths: vec![path],
        bytes: 1 << 30,
        block: true,
        place: stack.medium.place(),
        copies: Vec::new(),
        overlaid: false,
        apart: true,
        hold: Hold::default(),
        writable: context.writable,
        unwritten: None,
        engine: None,
        split: false,
        uneven: false,
        arrays: Vec::new(),
        write_unit: None,
        read_back: Vec::new(),
    };
    for spec in &stack.layers {
        context.place = exposed.place.clone();
        let layer = layer_of(spec).unwrap();
        exposed = layer.plan(spec, &exposed, context).map_err(|error| format!("{error:#}"))?;
    }
    Ok(exposed)
}

fn context(writable: bool) -> PlanContext {
    let tag = RunTag { run_id: "20260101-120000-abcd".into(), run_dir: "/run-dir".into() };
    let mut context = PlanContext::new(tag, None, 1);
    context.writable = writable;
    context
}

fn show(steps: &[Step], exposed: &ExposedDevice) -> String {
    let mut text = String::new();
    for (number, step) in steps.iter().enumerate() {
        let _ =
            writeln!(text, "{} @{}: {}", number + 1, step.place, step.op.operation().describe());
    }
    let ExposedDevice { bytes, block, writable, .. } = exposed;
    for (place, paths) in exposed.loaded() {
        let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
        let _ = writeln!(
            text,
            "@{place}: {} ({bytes} bytes, block {block}, writable {writable})",
            paths.join(" and ")
        );
    }
    text
}

/// Formats every stack, with its steps and the device that it shows.
fn plans(stacks: &[&str], writable: bool) -> String {
    let mut text = String::new();
    for stack in stacks {
        let (scenario, mut context) = (scenario(stack), context(writable));
        let exposed = planned(&scenario.stacks[0], &mut context).unwrap();
        let _ = writeln!(text, "{stack}\n{}", show(&context.steps, &exposed));
    }
    text
}

fn refused(stack: &str) -> String {
    planned(&scenario(stack).stacks[0], &mut context(false)).unwrap_err()
}

#[test]
fn both_ends_stand_in_one_place() {
    let stacks = [
        "/dev/nvme1n1 | nvmf",
        "/dev/nvme1n1 | nvmf(loop,queues=2)",
        "/dev/nvme1n1 | nvmf(rdma,nr-io-queues=4,queue-size=64,inline-data-size=16KiB)",
        "/dev/nvme1n1 | nvmf(tcp,hdr-digest,data-digest,address=10.0.0.1,port=4500)",
        "/dev/nvme1n1 | iscsi(emulate-tpu=true,emulate_3pc=false,max-write-same-len=65535,queue-depth=200)",
        "/dev/nvme1n1 | iscsi(iser,address=10.0.0.1)",
        "/dev/nvme1n1 | nbd(connections=4)",
        "/dev/nvme1n1 | nbd(unix)",
    ];
    insta::assert_snapshot!(plans(&stacks, false));
}

#[test]
fn a_fabric_leads_from_one_place_to_another() {
    let stacks = [
        "/dev/nvme1n1 @ssh:storage | nvmf(rdma,address=10.0.0.1) @ssh:storage>@host",
        "/dev/nvme1n1 @ssh:storage | iscsi(iser,address=\"fd00::1\") @ssh:storage>@ssh:client",
        "/dev/nvme1n1 @ssh:storage | nbd(address=10.0.0.1) @ssh:storage>@host",
        "nvme0 @lab | nvmf @lab | iscsi(address=10.0.0.1) @lab>@host",
    ];
    insta::assert_snapshot!(plans(&stacks, true));
}

#[test]
fn clients_share_out_the_parts_of_a_device_or_the_device_itself() {
    let stacks = [
        "/dev/nvme1n1 @ssh:st | split(4) | iscsi(address=10.0.0.1,port=3300) @ssh:st>@[ssh:c1,ssh:c2]",
        "/dev/nvme1n1 @ssh:st | nvmf(rdma,address=10.0.0.1) @ssh:st>@[ssh:c1,...,ssh:c3]",
        "/dev/nvme1n1 @ssh:st | nbd(address=10.0.0.1,connections=2) @ssh:st>@[ssh:c1,host]",
        "/dev/nvme1n1 @ssh:st | iscsi(iser,address=10.0.0.1) @ssh:st>@[ssh:c1,ssh:c2]",
        "/dev/nvme1n1 @ssh:st | split(2) | nvmf(rdma,address=\"10.0.0.1,10.0.1.1\") @ssh:st>@[ssh:c1,ssh:c2]",
        "/dev/nvme1n1 @ssh:st | spdk | nvmf(rdma,target=spdk,address=10.0.0.1) @ssh:st>@[ssh:c1,ssh:c2]",
    ];
    insta::assert_snapshot!(plans(&stacks, true));
}

#[test]
fn a_person_connects_to_each_export_at_an_address_that_leads_there() {
    let plan = |layers: &str| {
        let mut context = context(true);
        context.initiators = vec!["nqn.2014-08.com.vmware:esx1".into()];
        let stack = format!("/dev/nvme1n1 @ssh:st | {layers} @ssh:st");
        let exposed = planned(&scenario(&stack).stacks[0], &mut context);
        exposed.map(|exposed| show(&context.steps, &exposed))
    };
    insta::assert_snapshot!(plan("split(4) | nvmf(address=\"10.0.0.1,10.0.1.1\")").unwrap());
    for (layers, why) in [
        ("nvmf", "leads from @ssh:st to the initiators, and no address of @ssh:st is named"),
        ("nvmf(loop)", "leads from @ssh:st to the initiators; hint: transport=tcp"),
        ("nvmf(address=127.0.0.1)", "does not leave @ssh:st, and the initiators must reach it"),
        ("nvmf(address=\"10.0.0.1,10.0.1.1\")", "2 addresses for 1 device exported to 1 client"),
        ("iscsi(address=10.0.0.1)", "nqn.2014-08.com.vmware:esx1 is no initiator of iscsi"),
    ] {
        let refused = plan(layers).unwrap_err();
        assert!(refused.contains(why), "{layers}: {refused}");
    }
}

#[test]
fn what_cannot_lead_anywhere_is_refused_with_what_would_do() {
    for (stack, why) in [
        (
            "/dev/nvme1n1 @ssh:storage | nvmf @ssh:storage>@host",
            "no address of @ssh:storage is named; hint: nvmf(address=IP), where",
        ),
        ("/dev/nvme1n1 @ssh:storage | nvmf(loop) @ssh:storage>@host", "hint: transport=tcp"),
        (
            "/dev/nvme1n1 @ssh:storage | nbd(unix) @ssh:storage>@host",
            "nbd(transport=unix) does not leave",
        ),
        ("/dev/nvme1n1 | nvmf(loop,address=127.0.0.1)", "has no address; hint: leave it out"),
        ("/dev/nvme1n1 | nbd(unix,port=1)", "has no port"),
        (
            "/dev/nvme1n1 @ssh:st | nvmf(address=\"10.0.0.1,10.0.1.1\") @ssh:st>@[ssh:c1,ssh:c2]",
            "2 addresses for 1 device exported to 2 clients; hint: split(N) below",
        ),
        (
            "/dev/nvme1n1 @ssh:storage | nvmf(address=127.0.0.1) @ssh:storage>@host",
            "127.0.0.1 does not leave @ssh:storage",
        ),
        ("/dev/nvme1n1 | nvmf(rdma,address=127.0.0.1)", "the loopback device has no RDMA"),
        ("/dev/nvme1n1 | nvmf(rdma,hdr-digest)", "hdr-digest is of transport=tcp only"),
        ("/dev/nvme1n1 | nvmf(queue-size=8)", "the kernel takes 16 to 1024"),
        ("/dev/nvme1n1 | nvmf(loop,inline-data-size=4KiB)", "inline-data-size is of what leaves"),
        ("/dev/nvme1n1 | nvmf(inline-data-size=2TiB)", "is too much"),
        ("/dev/nvme1n1 | iscsi(queue-depth=2000)", "open-iscsi takes 1 to 1024"),
        ("/dev/nvme1n1 | nbd(connections=17)", "at most 16"),
    ] {
        let told = refused(stack);
        assert!(told.contains(why), "{stack}: {told}");
    }
}

#[test]
fn a_wildcard_is_refused_where_it_is_written() {
    for layer in ["nvmf(address=0.0.0.0)", "iscsi(address=\"::\")", "nbd(address=0.0.0.0)"] {
        let text = format!("/dev/nvme1n1 | {layer}");
        let error = from_arguments(&[text], &ScenarioRequest::default()).unwrap_err().to_string();
        assert!(error.contains("is every address of a machine"), "{error}");
    }
}

#[test]
fn exports_that_are_up_together_listen_on_ports_of_their_own() {
    let mut context = context(false);
    let mut plan = |stack: &str| planned(&scenario(stack).stacks[0], &mut context).map(drop);
    plan("/dev/nvme1n1 | nvmf").unwrap();
    plan("/dev/nvme2n1 | nvmf").unwrap();
    plan("/dev/nvme3n1 | nvmf(address=10.0.0.1)").unwrap();
    let why = plan("/dev/nvme4n1 | nvmf(port=4421)").unwrap_err();
    assert!(why.contains("another export listens on port 4421 of 127.0.0.1"), "{why}");
    let ports: Vec<u16> =
        context.steps.iter().filter_map(|step| listens(&step.op)).map(|(_, port)| port).collect();
    assert_eq!(ports, [4420, 4421, 4420]);
    let mut ids: Vec<u16> = context
        .steps
        .iter()
        .filter_map(|step| match &step.op {
            Op::ExportNvmf(export) => Some(export.port_id),
            _ => None,
        })
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 3, "and in configfs");
}

#[test]
fn one_daemon_serves_all_sessions_of_a_place() {
    let mut context = context(false);
    for stack in ["/dev/nvme1n1 | iscsi", "/dev/nvme2n1 | iscsi"] {
        planned(&scenario(stack).stacks[0], &mut context).unwrap();
    }
    let daemons = context.steps.iter().filter(|step| matches!(step.op, Op::StartIscsid(_))).count();
    assert_eq!(daemons, 1);
}

#[test]
fn names_are_of_this_run_and_as_long_as_they_may_be() {
    let context = context(false);
    let uuid = uuid(&context, "nvmf0");
    let shape: Vec<usize> = uuid.split('-').map(str::len).collect();
    assert_eq!((shape, &uuid[14..15]), (vec![8, 4, 4, 4, 12], "4"), "{uuid}");
    assert!(matches!(&uuid[19..20], "8" | "9" | "a" | "b"), "{uuid}");
    assert_ne!(uuid, super::uuid(&context, "nvmf1"));
    let iqn = qualified("iqn", "iscsi0-initiator", &context);
    assert!(
        iqn.starts_with("iqn.2026-01.invalid.iotax:20260101-120000-abcd-iscsi0-initiator-"),
        "{iqn}"
    );
    // This is the limit of iSCSI and NVMe.
    assert!(iqn.len() <= 223 && iqn.to_ascii_lowercase() == iqn);
}

#[test]
fn every_need_of_either_end_is_known() {
    for layer in ALL {
        let spec = &scenario(&format!("/dev/x | {}", layer.name())).stacks[0].layers[0];
        let ids = [layer.needs(spec), layer.needs_far(spec)].concat();
        assert!(ids.iter().all(|id| crate::needs::by_id(id).is_some()), "{ids:?}");
    }
}

#[test]
fn an_export_writes_nothing_and_a_file_below_it_is_shown_without_its_marker() {
    let spec = |text: &str| scenario(text).stacks[0].layers[0].clone();
    assert!(
        !Nvmf.writes_below(&spec("/dev/x | nvmf"))
            && Nvmf.opens_for_writing(&spec("/dev/x | nvmf"))
    );
    assert!(
        !Iscsi.opens_for_writing(&spec("/dev/x | iscsi"))
            && !Nbd.opens_for_writing(&spec("/dev/x | nbd"))
    );
    let refused =
        from_arguments(&["file:/srv/x.img,size=1GiB | nvmf".into()], &ScenarioRequest::default())
            .unwrap_err();
    assert!(refused.to_string().contains("put \"loop\" between them"), "{refused}");
    let file = ExposedDevice {
        paths: vec![PathRef::Path("/srv/a,b.img".into())],
        block: false,
        ..planned(&scenario("/dev/x | null").stacks[0], &mut context(false)).unwrap()
    };
    let mut context = context(true);
    let exposed = Nbd.plan(&spec("/dev/x | nbd(unix)"), &file, &mut context).unwrap();
    let told = show(&context.steps, &exposed);
    assert!(
        told.contains(
            "driver=raw,offset=0,size=1073741824,file.driver=file,file.filename=/srv/a,,b.img"
        ),
        "{told}"
    );
    assert!(!told.contains("--read-only"), "{told}");
    assert_eq!(exposed.place, Place::Host);
}
