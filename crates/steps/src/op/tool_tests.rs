//! Tests engines whose program is a file of this test: it prints and does what each case wants.

use super::*;
use crate::op::Op;
use crate::place_executor::PlaceExecutor;
use iotax_drivers::system::StepProgress;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};

const NAME_HERE: &str = "iotax-r-tool0";

/// Program of an engine, and the folder of a run.
struct Rig {
    folder: tempfile::TempDir,
}

impl Rig {
    /// Creates a rig whose program runs `create` for that command; by default it makes what it
    /// should.
    fn new(create: &str) -> Rig {
        let folder = tempfile::tempdir().unwrap();
        let rig = Rig { folder };
        let list = rig.path("list");
        let script = format!(
            "#!/bin/sh\nlist={}; name=$2; run={}\nmakes() {{ echo \"$name\" >> $list; truncate -s 2M $run/$name.img; }}\n\
             case $1 in\ncreate) {create} ;;\nshow) cat $list 2>/dev/null; exit 0 ;;\n\
             delete) rm -f $run/$name.img; grep -v -x \"$name\" $list > $list.new; mv $list.new $list ;;\n\
             state) echo '{{\"raid\":[{{\"state\":[\"online\",\"reconstructing\"],\"done\":\"25%\",\"strip\":64}}]}}' ;;\nesac\n",
            list.display(),
            rig.path("").display()
        );
        rig.program("arrayctl", &script);
        rig
    }

    fn program(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn tag(&self) -> RunTag {
        RunTag { run_id: "r".into(), run_dir: self.folder.path().to_owned() }
    }

    fn op(&self) -> MakeByTool {
        let program = self.path("arrayctl").display().to_string();
        let argv = |words: &[&str]| -> Argv {
            std::iter::once(program.clone())
                .chain(words.iter().map(|word| (*word).to_owned()))
                .collect()
        };
        let run = self.folder.path().display().to_string();
        MakeByTool {
            tool: "array".into(),
            name: NAME_HERE.into(),
            members: vec![PathRef::Path("/dev/a".into()), PathRef::Path("/dev/b".into())],
            pci: Vec::new(),
            slots: [(RUN.to_owned(), run)].into(),
            bytes: 2 << 20,
            commands: Box::new(ToolCommands {
                make: vec![argv(&["create", "{name}", "{members}"])],
                undo: vec![argv(&["delete", "{name}"])],
                find: vec![argv(&["show", "{name}"])],
                absent: vec![4],
                fail: Vec::new(),
                bring_back: Vec::new(),
                state: Some(StateQuery {
                    command: argv(&["state"]),
                    pointer: Some("/raid/0/state".into()),
                    healthy: vec!["online".into()],
                    rebuilding: vec!["reconstructing".into()],
                    progress: Some("/raid/0/done".into()),
                    ..StateQuery::default()
                }),
                settings: Some(iotax_facts::tool::SettingsQuery {
                    command: argv(&["state"]),
                    pointers: [("strip".to_owned(), "/raid/0/strip".to_owned())].into(),
                }),
                member: None,
                separator: None,
                gives: EngineGives::File,
                path: MadePath::Fixed("{run}/{name}.img".into()),
                limit: 1,
                long_limit: 1,
                survives: true,
                daemon: false,
            }),
        }
    }

    fn make(&self, op: &MakeByTool) -> Result<StepOutput> {
        op.make_resource(&mut RealSystem::default(), &self.tag())
    }

    /// Returns true if nothing is left of it.
    fn is_bare(&self) -> bool {
        let list = fs::read_to_string(self.path("list")).unwrap_or_default();
        !list.contains(NAME_HERE) && !self.path(&format!("{NAME_HERE}.img")).exists()
    }
}

#[test]
fn the_threads_of_an_engine_are_those_of_whoever_listens_on_its_socket() {
    let rig = Rig::new("makes");
    let socket = rig.path(NAME_HERE);
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let mut op = rig.op();
    op.commands.path = MadePath::Fixed(socket.display().to_string());
    let own = |op: &MakeByTool| {
        let threads = op.io_threads(&StepOutput::default()).unwrap();
        threads.iter().filter(|thread| thread.id.pid == std::process::id()).count()
    };
    assert_eq!(own(&op), 0, "a file is served by nobody");
    op.commands.gives = EngineGives::VhostUser;
    assert!(own(&op) > 0);
}

#[test]
fn what_is_made_is_found_read_back_and_taken_away_from_its_journal_entry_alone() {
    let rig = Rig::new("makes");
    let op = rig.op();
    assert!(op.find_resource(&rig.tag(), &[]).unwrap().is_none());
    let made = rig.make(&op).unwrap();
    assert_eq!(made.path, Some(rig.path("iotax-r-tool0.img")));
    assert_eq!(
        op.resource_state(&made).unwrap(),
        Some(ArrayState::Rebuilding { missing: 1, done: 0.25 })
    );
    assert_eq!(op.actual_settings(&made).unwrap(), [("strip".to_owned(), "64".to_owned())].into());
    let kept = serde_json::to_string(&Op::MakeByTool(op.clone())).unwrap();
    let Op::MakeByTool(read) = serde_json::from_str(&kept).unwrap() else { panic!("{kept}") };
    assert_eq!(read, op);
    let found = read.find_resource(&rig.tag(), &[]).unwrap().expect("it is there");
    read.remove_resource(&mut RealSystem::default(), &rig.tag(), &found).unwrap();
    assert!(rig.is_bare() && read.find_resource(&rig.tag(), &[]).unwrap().is_none());
    let mut system = RealSystem::default();
    read.remove_resource(&mut system, &rig.tag(), &found).expect("gone is fine");
    assert_eq!(system.take_remarks(), ["iotax-r-tool0 of array was gone already"]);
}

/// Program's action for `create`, the change of its description, and the text of the error.
type Case = (&'static str, fn(&mut MakeByTool), &'static str);

#[test]
fn whatever_a_program_does_wrong_is_named_and_nothing_is_left() {
    let cases: &[Case] = &[
        ("makes; sleep 60", |_| {}, "make: "),
        ("makes; sleep 60", |_| {}, "did not end within 1 s and was killed"),
        (
            "makes; echo 'drive 2 is busy' >&2; exit 3",
            |_| {},
            "failed (exit status: 3): drive 2 is busy",
        ),
        ("makes; echo 'no licence'; exit 1", |_| {}, "failed (exit status: 1): no licence"),
        (
            "exit 0",
            |_| {},
            "make succeeded, but find does not print iotax-r-tool0; hint: find must print {name}",
        ),
        ("truncate -s 2M $run/$name.img", |_| {}, "find does not print iotax-r-tool0"),
        (
            "makes",
            |op| op.bytes = 3 << 20,
            "iotax-r-tool0.img has 2 MiB, less than the expected capacity of 3 MiB; hint: ",
        ),
        ("echo $name >> $list; mkdir $run/$name.img", |_| {}, "is not a file in the run's folder"),
        (
            "echo $name >> $list; ln -s /etc/passwd $run/$name.img",
            |_| {},
            "is not a file in the run's folder",
        ),
        ("makes", |op| op.commands.gives = EngineGives::Block, "is not a block device"),
        (
            "makes",
            |op| op.commands.path = MadePath::Pointer("/0/device".into()),
            "the output is not JSON: iotax-r-tool0",
        ),
    ];
    for (create, change, wanted) in cases {
        let rig = Rig::new(create);
        let mut op = rig.op();
        change(&mut op);
        let error = format!("{:#}", rig.make(&op).unwrap_err());
        assert!(error.contains(wanted) && error.contains("[tool.array]"), "{create}: {error}");
        assert!(error.ends_with("; what it had created was undone"), "{create}: {error}");
        let _ = fs::remove_dir(rig.path("iotax-r-tool0.img"));
        assert!(rig.is_bare(), "{create}: {error}");
    }
}

#[test]
fn there_is_no_node_for_what_was_made() {
    let rig = Rig::new("echo $name >> $list");
    let error = format!("{:#}", rig.make(&rig.op()).unwrap_err());
    assert!(error.contains("there is no /") && error.contains("iotax-r-tool0.img"), "{error}");
    assert!(rig.is_bare());
}

#[test]
fn what_was_there_before_is_left_alone() {
    let rig = Rig::new("makes");
    fs::write(rig.path("list"), "iotax-r-tool0\n").unwrap();
    let error = rig.make(&rig.op()).unwrap_err();
    assert!(
        error.is::<NothingMade>()
            && format!("{error:#}").contains("already exists, and this run did not create it")
    );
    assert!(!rig.is_bare());
    fs::write(rig.path("list"), "iotax-r-tool01\n").unwrap();
    fs::write(rig.path("iotax-r-tool0.img"), "theirs").unwrap();
    let error = rig.make(&rig.op()).unwrap_err();
    assert!(
        error.is::<NothingMade>() && format!("{error:#}").contains("already exists"),
        "{error:#}"
    );
    assert_eq!(fs::read(rig.path("iotax-r-tool0.img")).unwrap(), b"theirs");
}

#[test]
fn a_journal_is_believed_no_further_than_the_name_of_its_run() {
    let rig = Rig::new("makes");
    let refused = |op: &MakeByTool| {
        let error = op.find_resource(&rig.tag(), &[]).unwrap_err();
        let undo =
            op.remove_resource(&mut RealSystem::default(), &rig.tag(), &StepOutput::default());
        (error.is::<NotOurs>(), undo.is_err_and(|error| error.is::<NotOurs>()))
    };
    rig.make(&rig.op()).unwrap();
    let mut others = rig.op();
    others.commands.undo[0][2] = "their-array".into();
    assert_eq!(refused(&others), (true, true), "it names something else");
    let mut longer = rig.op();
    longer.commands.undo[0][2] = "{name}1".into();
    assert_eq!(refused(&longer), (true, true), "tool01 is another");
    let mut other_run = rig.op();
    other_run.name = "iotax-q-tool0".into();
    assert!(other_run.find_resource(&rig.tag(), &[]).unwrap_err().is::<NotOurs>());
    let own = Op::MakeByTool(other_run).check_own_names(&rig.tag(), &StepOutput::default());
    assert!(own.unwrap_err().is::<NotOurs>());
    assert!(!rig.is_bare(), "nothing was run");
}

#[test]
fn a_program_that_somebody_else_may_have_written_is_not_run() {
    let rig = Rig::new("makes");
    let op = rig.op();
    fs::set_permissions(rig.path("arrayctl"), fs::Permissions::from_mode(0o777)).unwrap();
    let error = format!("{:#}", rig.make(&op).unwrap_err());
    assert!(error.contains("is not run") && error.contains("mode 0777"), "{error}");
    assert!(rig.is_bare());
    fs::set_permissions(rig.path("arrayctl"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut missing = op;
    missing.commands.make[0][0] = "no-such-engine-cli".into();
    let error = format!("{:#}", rig.make(&missing).unwrap_err());
    assert!(error.contains("no-such-engine-cli is not installed"), "{error}");
}

#[test]
fn a_find_that_fails_is_no_answer() {
    let rig = Rig::new("makes");
    let op = rig.op();
    let made = rig.make(&op).unwrap();
    rig.program("arrayctl", "#!/bin/sh\necho 'no daemon' >&2; exit 7\n");
    let error = format!(
        "{:#}",
        op.remove_resource(&mut RealSystem::default(), &rig.tag(), &made).unwrap_err()
    );
    assert!(
        error.contains("no daemon; iotax cannot determine whether iotax-r-tool0 exists"),
        "{error}"
    );
    let by_hand = op.undo_by_hand(&rig.tag(), &made).unwrap();
    assert!(by_hand.ends_with("arrayctl delete iotax-r-tool0"), "{by_hand}");
    rig.program("arrayctl", "#!/bin/sh\nexit 4\n");
    op.remove_resource(&mut RealSystem::default(), &rig.tag(), &made)
        .expect("4 means that there is nothing");
}

#[test]
fn an_undo_that_leaves_it_there_says_so() {
    let rig = Rig::new("makes");
    let mut op = rig.op();
    let made = rig.make(&op).unwrap();
    op.commands.undo[0][1] = "show".into();
    let waits = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&waits);
    let mut system = RealSystem::watched(move |progress| {
        heard.lock().unwrap().push(progress);
        ControlFlow::Continue(())
    });
    let error = format!("{:#}", op.remove_resource(&mut system, &rig.tag(), &made).unwrap_err());
    let wait = "waiting until find of [tool.array] no longer prints iotax-r-tool0 (at most 1 s)";
    assert_eq!(waits.lock().unwrap().first(), Some(&StepProgress::Waits(wait.into())));
    assert!(
        error.contains("iotax-r-tool0 still exists, although every undo command succeeded"),
        "{error}"
    );
}

#[test]
fn states_are_told_by_words() {
    let query = StateQuery {
        healthy: vec!["online".into()],
        degraded: vec!["degraded".into()],
        rebuilding: vec!["reconstructing".into()],
        syncing: vec!["initing".into()],
        ..StateQuery::default()
    };
    let of = |text: &str| state_of(&query, text, &str::to_owned).unwrap();
    assert_eq!(of("state: Online, initialized"), ArrayState::Healthy);
    assert_eq!(of("online degraded"), ArrayState::Degraded { missing: 1 });
    assert_eq!(
        of("online degraded reconstructing"),
        ArrayState::Rebuilding { missing: 1, done: 0.0 }
    );
    assert_eq!(of("online initing"), ArrayState::Syncing { done: 0.0 });
    assert_eq!(of("not-online"), ArrayState::Down { word: "not-online".into() });
    let pointed = StateQuery { pointer: Some("/x".into()), missing: Some("/lost".into()), ..query };
    let of =
        |text: &str| state_of(&pointed, text, &str::to_owned).map_err(|error| format!("{error:#}"));
    assert_eq!(of(r#"{"x":"degraded","lost":2}"#), Ok(ArrayState::Degraded { missing: 2 }));
    assert!(of(r#"{"y":1}"#).unwrap_err().contains("has no /x"));
    assert!(
        of(r#"{"x":"degraded","lost":"two"}"#).unwrap_err().contains("/lost is not a number: two")
    );
    assert!(of("offline").unwrap_err().contains("not JSON: offline"));
}
