use super::*;
use crate::volume::rig::over;
use iotax_drivers::run_tag::RunTag;
use iotax_facts::tool::{MadePath, StateQuery, ToolCommands};
use iotax_model::tool_spec::{Capacity, MemberShare, ToolOption};
use iotax_steps::step::Step;
use iotax_units::GIB;

fn tool() -> Tool {
    let argv =
        |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let option = |name: &str, kind: &str, default: Option<&str>| ToolOption {
        name: name.into(),
        kind: kind.into(),
        values: Vec::new(),
        default: default.map(str::to_owned),
    };
    Tool {
        name: "array".into(),
        note: None,
        options: vec![option("strip", "size", Some("64KiB")), option("size", "size", None)],
        positional: None,
        members: (2, 4),
        capacity: Capacity::Fixed(MemberShare::AllBut(1)),
        reserve: GIB,
        unwritten: true,
        files: false,
        short_names: false,
        commands: ToolCommands {
            make: vec![argv(&[
                "arrayctl",
                "create",
                "{name}",
                "-s",
                "{strip:KiB}",
                "--size={size:GiB}",
                "{members}",
            ])],
            undo: vec![argv(&["arrayctl", "delete", "{name}"])],
            find: vec![argv(&["arrayctl", "show", "{name}"])],
            absent: Vec::new(),
            fail: vec![argv(&["arrayctl", "fail", "{name}", "{number}"])],
            bring_back: vec![argv(&["arrayctl", "return", "{name}", "{number}", "{member}"])],
            state: Some(StateQuery {
                command: argv(&["arrayctl", "show", "{name}"]),
                healthy: vec!["online".into()],
                syncing: vec!["initing".into()],
                ..StateQuery::default()
            }),
            settings: None,
            member: None,
            separator: None,
            gives: EngineGives::Block,
            path: MadePath::Fixed("/dev/array/{name}".into()),
            limit: 60,
            long_limit: 600,
            survives: true,
            daemon: false,
        },
        made: None,
    }
}

fn spec(options: &[(&str, &str)], tool: Tool) -> LayerSpec {
    LayerSpec {
        name: tool.name.clone(),
        options: options
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        place: None,
        far: Vec::new(),
        copies: 1,
        tool: Some(Box::new(tool)),
        origin: "here".into(),
    }
}

fn planned(spec: &LayerSpec, below: &ExposedDevice) -> Result<(ExposedDevice, Vec<Step>)> {
    let mut context = PlanContext::new(RunTag::of_none(), None, 1);
    let exposed = ByTool.plan(spec, below, &mut context)?;
    Ok((exposed, context.steps))
}

#[test]
fn what_is_made_goes_through_its_states_by_its_own_commands() {
    let (spec, below) = (spec(&[("strip", "128KiB")], tool()), over(3, 10 * GIB));
    let (exposed, steps) = planned(&spec, &below).unwrap();
    assert_eq!(
        (exposed.bytes, exposed.block),
        (18 * GIB, true),
        "of two, without what is reserved"
    );
    let array = exposed.arrays[0].clone();
    let moves = [StateMove::Fail(1), StateMove::Return(1), StateMove::Await];
    let moved = moves
        .map(|step| ByTool.state_move_op(&array.spec, &array.made, &array.members, step).unwrap());
    let Op::MakeByTool(made) = &steps[0].op else { panic!("{steps:?}") };
    let shown = made.shown_commands();
    let lines =
        shown.iter().flat_map(|(key, lines)| lines.iter().map(move |words| (key, words.join(" "))));
    let later: Vec<String> = lines
        .filter(|(key, _)| **key != "make")
        .map(|(key, words)| format!("{key}: {words}"))
        .collect();
    assert_eq!(
        later,
        [
            "find: arrayctl show iotax-RUN-tool0",
            "undo: arrayctl delete iotax-RUN-tool0",
            "fail: arrayctl fail iotax-RUN-tool0 0",
            "fail: arrayctl fail iotax-RUN-tool0 1",
            "fail: arrayctl fail iotax-RUN-tool0 2",
            "return: arrayctl return iotax-RUN-tool0 0 /dev/nvme0n1",
            "return: arrayctl return iotax-RUN-tool0 1 /dev/nvme1n1",
            "return: arrayctl return iotax-RUN-tool0 2 /dev/nvme2n1",
            "state: arrayctl show iotax-RUN-tool0",
        ]
    );
    let ops = steps.into_iter().map(|step| step.op).chain(moved);
    let shown: Vec<String> = ops.map(|op| op.operation().describe()).collect();
    assert_eq!(
        shown,
        [
            "arrayctl create iotax-RUN-tool0 -s 128 /dev/nvme0n1 /dev/nvme1n1 /dev/nvme2n1",
            "wait until iotax-RUN-tool0 is healthy",
            "arrayctl fail iotax-RUN-tool0 1",
            "arrayctl return iotax-RUN-tool0 1 /dev/nvme1n1",
            "wait until iotax-RUN-tool0 is healthy",
        ]
    );
    assert!(ByTool.writes_below(&spec) && ByTool.claim(&spec) == Claim::Takes);
}

#[test]
fn what_makes_no_volume_is_refused_before_anything_is_made() {
    let refused = |options: &[(&str, &str)], below: &ExposedDevice| {
        planned(&spec(options, tool()), below).unwrap_err().to_string()
    };
    let cases = [
        (refused(&[], &over(1, 10 * GIB)), "array takes 2 to 4 members, and there is 1"),
        (refused(&[], &over(5, 10 * GIB)), "there are 5"),
        (refused(&[], &over(3, GIB)), "1 GiB of each are kept for \"array\" itself"),
        (
            refused(&[("size", "20GiB")], &over(3, 10 * GIB)),
            "size=20 GiB is more than its members have room for: 18 GiB",
        ),
        (
            refused(&[("size", "1000MiB")], &over(3, 10 * GIB)),
            "size=1000MiB is no whole number of 1 GiB, which array takes",
        ),
        (
            refused(&[], &ExposedDevice { block: false, ..over(2, 10 * GIB) }),
            "requires block devices",
        ),
    ];
    for (refused, wanted) in cases {
        assert!(refused.starts_with("here: ") && refused.contains(wanted), "{refused}");
    }
    let of_files = Tool { files: true, ..tool() };
    assert!(
        planned(&spec(&[], of_files), &ExposedDevice { block: false, ..over(2, 10 * GIB) }).is_ok()
    );
}

#[test]
fn every_program_of_its_commands_must_be_there() {
    let mut with = tool();
    with.commands.make.push(vec!["ls".into()]);
    with.commands.undo[0][0] = "/nowhere/arrayctl".into();
    let missing = ByTool.missing_on_host(&spec(&[], with));
    let what: Vec<&str> = missing.iter().map(|one| one.what.as_str()).collect();
    assert_eq!(what, ["/nowhere/arrayctl is not installed", "arrayctl is not installed"]);
    assert!(missing[0].why.contains("[tool.array]"));
}

#[test]
fn names_are_short_where_they_must_be() {
    let mut short = tool();
    short.short_names = true;
    let (_, steps) = planned(&spec(&[], short), &over(2, 10 * GIB)).unwrap();
    let Op::MakeByTool(made) = &steps[0].op else { panic!("{steps:?}") };
    assert_eq!(made.name, "ioRUNt0");
}
