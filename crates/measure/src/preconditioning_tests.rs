//! Runs passes over real files in a session of its own, which is cut short and resumed.

use super::*;
use crate::announced_once::AnnouncedOnce;
use crate::observer::Observer;
use crate::resume_state::ResumeState;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::system::RealSystem;
use iotax_host::guard::marker;
use iotax_layers::medium::FoundMedium;
use iotax_model::record::RunStart;
use iotax_model::scenario::Scenario;
use iotax_model::scenario::check::{ScenarioRequest, from_arguments};
use iotax_plan::sets::layout;
use iotax_plan::survey::Survey;
use iotax_steps::executor::Executor;
use iotax_steps::journal::Journal;
use iotax_steps::place_executor::PlaceExecutors;
use iotax_store::Store;
use iotax_units::exit::code_of;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

const SIZE: u64 = 192 * MIB;

fn scenario(stacks: &[String], measure: &[(&str, &str)]) -> Scenario {
    let words = vec![("rw".to_owned(), "randread".to_owned())];
    let measure =
        measure.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    from_arguments(stacks, &ScenarioRequest { words, measure, ..ScenarioRequest::default() })
        .unwrap()
}

/// Presses Ctrl-C after this many reports of progress.
struct Watcher<'a> {
    stop: &'a AtomicBool,
    patience: usize,
    said: Vec<RunEvent>,
}

impl Observer for Watcher<'_> {
    fn notify(&mut self, event: RunEvent) {
        self.patience =
            self.patience.saturating_sub(usize::from(matches!(event, RunEvent::Phase { .. })));
        self.stop.fetch_or(self.patience == 0, Ordering::Relaxed);
        self.said.push(event);
    }
}

/// Runs one part of a run. Returns its result, and the events that it reported.
fn part(scenario: &Scenario, folder: &Path, patience: usize) -> (Result<()>, Vec<RunEvent>) {
    let stop = AtomicBool::new(false);
    let mut observer = Watcher { stop: &stop, patience, said: Vec::new() };
    let dir = folder.join("run");
    let past = match dir.exists() {
        true => ResumeState::from_data(&iotax_store::load_run(&dir).unwrap(), &dir).unwrap(),
        false => ResumeState::default(),
    };
    let store = match dir.exists() {
        true => Store::append(&dir).unwrap(),
        false => {
            let mut store = Store::create(folder, "run").unwrap();
            store.append(&RunRecord::Run(start(scenario))).unwrap();
            store
        }
    };
    let found = FoundMedium::without_signature(SIZE, false, true);
    let mut survey = Survey::default();
    survey.found = vec![vec![found]; scenario.stacks.len()];
    let tag = RunTag { run_id: "run".into(), run_dir: dir.clone() };
    let hands = PlaceExecutors::with_host(Box::new(RealSystem::default()));
    let mut session = Session {
        scenario,
        survey,
        guest_parts: None,
        executor: Executor::new(hands, Journal::open(&dir).unwrap(), tag),
        store,
        observer: &mut observer,
        stop: &stop,
        past,
        announced: AnnouncedOnce::default(),
        admitted: Default::default(),
        undo_by_hand: None,
        kept: Default::default(),
        allowance: None,
    };
    let mut places = Places::default();
    places.reach_host("run").unwrap();
    let done = session.precondition(&layout(scenario), &mut places);
    drop(session);
    (done, observer.said)
}

fn start(scenario: &Scenario) -> RunStart {
    RunStart {
        id: "run".into(),
        at: "2026-01-02T03:04:05Z".into(),
        iotax: "0".into(),
        argv: Vec::new(),
        scenario: scenario.clone(),
        boot_id: "boot".into(),
        siblings: 1,
        write_caches: Vec::new(),
        imported: None,
        ratings: Vec::new(),
    }
}

fn recorded(folder: &Path) -> Vec<Passes> {
    iotax_store::load_run(&folder.join("run")).unwrap().passes
}

fn lines(said: &[RunEvent]) -> Vec<&str> {
    let line = |event: &'_ RunEvent| match event {
        RunEvent::Preconditioned { text } => Some(text.clone().leak() as &str),
        _ => None,
    };
    said.iter().filter_map(line).collect()
}

#[test]
fn all_of_a_file_is_written_so_often_and_not_again_by_a_resumed_run() {
    let folder = tempfile::Builder::new().tempdir_in("/var/tmp").unwrap();
    let path = folder.path().join("x.img");
    marker::create_marked_file(&path, SIZE + MIB, "run").unwrap();
    let stack = format!("file:{},size=192MiB,keep=true", path.display());
    let scenario = scenario(&[stack.clone(), format!("{stack} | loop")], &[("precondition", "2x")]);
    // Ctrl-C in the second pass: three stretches of 64 MiB are one.
    let (cut_short, _) = part(&scenario, folder.path(), 4);
    assert!(cut_short.unwrap_err().to_string().contains("interrupted"));
    let records = recorded(folder.path());
    let last = records.last().unwrap();
    assert_eq!((records[0].written, records[0].begun, last.written), (0, 2 * SIZE, 256 * MIB));
    assert_eq!(
        (last.bytes, last.passes, last.drives.len()),
        (SIZE, 2, 1),
        "one file of two stacks"
    );
    let content = std::fs::read(&path).unwrap();
    let (data, behind) = content.split_at(SIZE as usize);
    assert!(data.chunks(512).all(|sector| sector.iter().any(|byte| *byte != 0)), "all of it");
    assert!(behind[..MIB as usize].iter().all(|byte| *byte == 0), "and none behind its end");

    let (done, said) = part(&scenario, folder.path(), usize::MAX);
    done.unwrap();
    let last = recorded(folder.path()).pop().unwrap();
    assert!(last.is_done() && last.took_ns > records.last().unwrap().took_ns, "{last:?}");
    assert!(lines(&said)[0].contains(": 128 MiB written in "), "{said:?}");
    let again = std::fs::read(&path).unwrap();
    assert!(again[..64 << 20] == content[..64 << 20], "where the second pass was before");
    assert!(
        again[64 << 20..65 << 20] != content[64 << 20..65 << 20],
        "each pass writes something else"
    );

    let (_, said) = part(&scenario, folder.path(), usize::MAX);
    assert!(
        lines(&said)[0].ends_with("was preconditioned by an earlier part of this run"),
        "{said:?}"
    );
    assert!(std::fs::read(&path).unwrap() == again, "nothing more");
}

#[test]
fn a_file_that_was_removed_is_written_anew() {
    let folder = tempfile::Builder::new().tempdir_in("/var/tmp").unwrap();
    let path = folder.path().join("x.img");
    marker::create_marked_file(&path, SIZE + MIB, "run").unwrap();
    let scenario =
        scenario(&[format!("file:{},size=192MiB", path.display())], &[("precondition", "1x")]);
    part(&scenario, folder.path(), 2).0.unwrap_err();
    let dir = folder.path().join("run");
    let past = ResumeState::from_data(&iotax_store::load_run(&dir).unwrap(), &dir).unwrap();
    assert_eq!(
        past.written, SIZE,
        "what may have been written counts, since it is to be written again"
    );
    part(&scenario, folder.path(), usize::MAX).0.unwrap();
    let records = recorded(folder.path());
    assert!(records.iter().filter(|passes| passes.written == 0).count() == 2, "{records:?}");
    assert!(records.last().unwrap().is_done());
}

#[test]
fn a_device_that_is_not_consented_to_is_refused_before_anything_begins() {
    let Some(device) = iotax_host::guard::rig::Loop::with_size(1 << 20) else { return };
    let stack = device.path.display().to_string();
    let asked = |measure: &[(&str, &str)]| {
        let scenario = scenario(std::slice::from_ref(&stack), measure);
        iotax_plan::ready::ready(&scenario, &mut |_| {}).map(drop)
    };
    asked(&[("precondition", "steady")]).unwrap();
    let error = asked(&[("precondition", "2x")]).unwrap_err();
    let text = format!("{error:#}");
    assert_eq!(code_of(&error), iotax_units::exit::BAD_INPUT);
    // Without full root the guard does not even come to asking for --destroy.
    assert!(
        text.contains("cannot write") && text.contains("precondition writes the whole of it"),
        "{text}"
    );
}

#[test]
fn progress_says_how_much_of_how_much_how_fast_and_how_long() {
    let passes = Passes { bytes: 100 << 30, passes: 2, written: 150 << 30, ..Passes::default() };
    assert_eq!(
        progress(&passes, 2, 1e9),
        "pass 2 of 2, 300 GiB of 400 GiB, 1000.0 MB/s, about 107 s left"
    );
}
