//! Tasks on a host whose runs are made up.

use super::*;
use crate::outcome::{receive_attempt, send_attempt};
use crate::task::{AttemptState, ERR, FIGURES, scenario_sum};
use iotax_model::scenario::{Consent, Scenario};
use iotax_units::exit::{BAD_INPUT, DONE};
use proptest::prelude::*;
use tempfile::TempDir;

/// Ends each run with a code, after it has printed an error.
struct MadeUpRunner {
    code: u8,
    began: u32,
}

impl TaskRunner for MadeUpRunner {
    fn measure(&mut self, _task: &Task, runs: &Path, attempt: &Path) -> u8 {
        self.began += 1;
        let run = runs.join("20260101-000000-abcd");
        std::fs::create_dir_all(&run).unwrap();
        std::fs::write(run.join("index.jsonl"), "").unwrap();
        std::fs::write(attempt.join(ERR), "measuring\niotax: the drive is gone;\n  hint: look\n")
            .unwrap();
        self.code
    }

    fn write_figures(&mut self, _run: &Path, attempt: &Path) -> anyhow::Result<()> {
        Ok(std::fs::write(attempt.join(FIGURES), "{}")?)
    }

    fn remove_runs(&mut self, runs: &Path) {
        std::fs::remove_dir_all(runs).unwrap();
    }
}

fn task(attempt: u32) -> Task {
    let scenario = Scenario::default();
    Task {
        format: FORMAT,
        fleet: "20260101-000000-ffff".into(),
        host: "n1".into(),
        attempt,
        iotax: env!("CARGO_PKG_VERSION").into(),
        made_at: now(),
        scenario_sha256: scenario_sum(&scenario),
        scenario,
        runs: None,
    }
}

fn folder_with(task: &Task) -> (TempDir, TaskFolder) {
    let fleet = tempfile::tempdir().unwrap();
    let folder = TaskFolder::open(fleet.path()).unwrap();
    folder.write_task(task).unwrap();
    (fleet, folder)
}

#[test]
fn an_attempt_begins_once() {
    let (_fleet, folder) = folder_with(&task(1));
    let mut runner = MadeUpRunner { code: DONE, began: 0 };
    let outcome = perform_task(&folder, &mut runner).unwrap();
    assert!(
        outcome.is_done() && outcome.files.iter().any(|file| file.name == FIGURES),
        "{outcome:?}"
    );
    let again = perform_task(&folder, &mut runner).unwrap_err();
    assert!(again.message.contains("never started twice"), "{}", again.message);
    // As after a kill: the mark is there, and no outcome.
    std::fs::remove_file(folder.attempt(1).join("outcome.json")).unwrap();
    assert!(perform_task(&folder, &mut runner).is_err());
    assert_eq!((runner.began, folder.state_of(1)), (1, AttemptState::Gone));
    folder.write_task(&task(2)).unwrap();
    perform_task(&folder, &mut runner).unwrap();
    assert_eq!((runner.began, folder.newest_attempt()), (2, 2));
}

#[test]
fn a_running_task_is_not_begun_beside_itself() {
    let (_fleet, folder) = folder_with(&task(1));
    let lock = folder.lock().unwrap();
    let mut runner = MadeUpRunner { code: DONE, began: 0 };
    let refused = perform_task(&folder, &mut runner).unwrap_err();
    assert!(refused.message.contains("being carried out already") && lock.is_some());
    assert_eq!((runner.began, folder.state_of(1)), (0, AttemptState::Running));
}

#[test]
fn what_is_refused_spends_nothing() {
    let of_another = Task { iotax: "9.9.9".into(), ..task(1) };
    let changed = Task { scenario: Scenario { bill: true, ..Scenario::default() }, ..task(1) };
    let mut with_drive = task(1);
    with_drive.scenario.consent =
        vec![Consent { serial: "NONE-SUCH".into(), wipe: Vec::new(), unseen: Vec::new() }];
    let stack = iotax_model::testing::stack("file:/srv/x.img,size=1MiB");
    with_drive.scenario.stacks.push(stack);
    with_drive.scenario_sha256 = scenario_sum(&with_drive.scenario);
    for (task, part) in
        [(of_another, "iotax 9.9.9"), (changed, "SHA-256"), (with_drive, "NONE-SUCH")]
    {
        let (_fleet, folder) = folder_with(&task);
        let mut runner = MadeUpRunner { code: DONE, began: 0 };
        let outcome = perform_task(&folder, &mut runner).unwrap();
        let why = outcome.why.clone().unwrap_or_default();
        assert!(outcome.refused && why.contains(part), "{part}: {outcome:?}");
        assert_eq!((runner.began, folder.start_mark(1).unwrap()), (0, None), "{part}");
    }
}

#[test]
fn a_failed_run_keeps_its_error() {
    let (_fleet, folder) = folder_with(&task(1));
    let outcome = perform_task(&folder, &mut MadeUpRunner { code: 4, began: 0 }).unwrap();
    assert_eq!(outcome.why.as_deref(), Some("the drive is gone; hint: look"));
    assert!(!outcome.is_done() && !outcome.refused);
    let report = crate::host_state::HostReport::from_outcome(&outcome);
    assert_eq!(report.why.as_deref(), Some("exit code 4: the drive is gone; hint: look"));
    let refused = perform_with_code(BAD_INPUT);
    assert_eq!(refused.state, crate::host_state::HostState::Refused);
}

fn perform_with_code(code: u8) -> crate::host_state::HostReport {
    let (_fleet, folder) = folder_with(&task(1));
    let outcome = perform_task(&folder, &mut MadeUpRunner { code, began: 0 }).unwrap();
    crate::host_state::HostReport::from_outcome(&outcome)
}

#[test]
fn runs_beside_the_folder_are_removed_at_the_end() {
    let runs = tempfile::tempdir().unwrap();
    let beside = runs.path().join("iotax-n1");
    let (_fleet, folder) = folder_with(&Task { runs: Some(beside.clone()), ..task(1) });
    perform_task(&folder, &mut MadeUpRunner { code: DONE, began: 0 }).unwrap();
    assert!(!beside.exists() && folder.attempt(1).join(RUN).exists());
}

#[test]
fn a_result_travels_whole_or_not_at_all() {
    let (_fleet, folder) = folder_with(&task(1));
    perform_task(&folder, &mut MadeUpRunner { code: DONE, began: 0 }).unwrap();
    let mut stream = Vec::new();
    send_attempt(&folder.attempt(1), &mut stream).unwrap();
    let here = tempfile::tempdir().unwrap();
    assert!(receive_attempt(&stream[..], here.path(), 2).is_err(), "another attempt");
    for cut in [0, 100, 600, stream.len() / 2, stream.len() - 1025] {
        assert!(receive_attempt(&stream[..cut], here.path(), 1).is_err(), "{cut}");
    }
    let at = stream.windows(3).position(|bytes| bytes == b"hint".get(..3).unwrap()).unwrap();
    let mut changed = stream.clone();
    changed[at] ^= 1;
    assert!(receive_attempt(&changed[..], here.path(), 1).is_err(), "another text");
    assert_eq!(std::fs::read_dir(here.path()).unwrap().count(), 0, "nothing is left");
    let outcome = receive_attempt(&stream[..], here.path(), 1).unwrap();
    outcome.check_files(&here.path().join("attempt-1")).unwrap();
}

proptest! {
    #[test]
    fn arbitrary_streams_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let here = tempfile::tempdir().unwrap();
        prop_assert!(receive_attempt(&bytes[..], here.path(), 1).is_err());
        prop_assert_eq!(std::fs::read_dir(here.path()).unwrap().count(), 0);
    }
}
