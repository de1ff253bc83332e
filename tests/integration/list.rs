//! Stored runs, for real: found by every name, renamed, removed only when nothing of them is left,
//! and carried away in one file.

use crate::rig::{Rig, flat, says};
use serde_json::Value;

const QUICK: &[&str] = &["--slice", "2ms", "--min-time", "100ms", "--budget", "400ms"];

/// A run of a file and itself under `null`, with that name.
fn measured(rig: &Rig, name: &str) -> String {
    let file = rig.file("x.img", 64);
    let null = format!("{file} | null");
    rig.expect(0, &[&["run", "--name", name, &file, &null][..], QUICK].concat());
    rig.last_id()
}

fn listed(rig: &Rig, filter: &[&str]) -> Vec<Value> {
    let text = rig.expect(0, &[&["list", "--json"], filter].concat());
    serde_json::from_str::<Vec<Value>>(&text).unwrap()
}

#[test]
fn runs_are_found_renamed_carried_away_and_removed() {
    let _beside = crate::rig::beside();
    let rig = Rig::new();
    says(&rig.expect(0, &["list"]), &["no runs in ", "to make one: iotax run "]);
    assert!(listed(&rig, &[]).is_empty());
    let [first, second] = ["before the upgrade", "nightly"].map(|name| measured(&rig, name));
    for text in ["last~1", "before the upgrade", &first, &first[..18], &first[9..]] {
        let report = rig.json(&["report", text]);
        assert_eq!(report["run"]["id"], first.as_str(), "{text}");
    }
    let all = listed(&rig, &[]);
    let ids: Vec<&str> = all.iter().map(|run| run["id"].as_str().unwrap()).collect();
    assert_eq!(ids, [&first, &second], "the newest is the last");
    assert!(all[0]["host"].is_string() && all[0]["answer"].is_string(), "{all:?}");
    assert_eq!(all[1]["name"], "nightly");
    assert_eq!(listed(&rig, &["--stack", "NULL", "--state", "complete", "--since", "1h"]).len(), 2);
    assert!(listed(&rig, &["--stack", "xfs"]).is_empty());
    assert!(listed(&rig, &["--until", "1h"]).is_empty());
    says(
        &rig.expect(0, &["list", "--stack", "xfs"]),
        &["none of 2 runs fits", "stacks: ", "iotax list"],
    );
    // The year is the same, so its digits fit both.
    rig.complains(2, &["report", &first[..4]], &[&first, &second, "(nightly)"]);
    rig.complains(2, &["report", "weekly"], &["there is ", &first, &second]);

    let record = std::fs::read(rig.runs().join(&second).join("index.jsonl")).unwrap();
    rig.expect(0, &["name", "nightly", "after", "it"]);
    assert_eq!(std::fs::read(rig.runs().join(&second).join("index.jsonl")).unwrap(), record);
    assert_eq!(rig.json(&["report", "after it"])["run"]["name"], "after it");
    rig.complains(2, &["name", "last", "last~3"], &["is no name for a run"]);

    let history = rig.json(&["history", "null"]);
    assert_eq!(history["series"][0]["points"].as_array().unwrap().len(), 2, "{history}");
    rig.complains(
        2,
        &["history", "xfs"],
        &["no run measured a stack \"xfs\"", "stacks of the runs: "],
    );

    let whole = rig.json(&["report", "last"]);
    rig.expect(0, &["report", "last", "-o", "carried.iotax"]);
    rig.complains(2, &["rm", "last"], &["no terminal to ask", "--yes"]);
    says(&rig.expect(0, &["rm", "--yes", "after it"]), &["removed ", &second, "after it"]);
    assert!(rig.run_dirs() == [rig.runs().join(&first)]);
    assert_eq!(rig.json(&["report", "carried.iotax"]), whole);
    says(&flat(&rig.expect(0, &["report", "./carried.iotax"])), &["iotax report ./carried.iotax"]);
    rig.expect(0, &["compare", &first, "carried.iotax"]);
    let carried = listed(&rig, &["carried.iotax"]);
    assert_eq!(
        (carried[0]["id"].as_str(), carried[0]["folder"].as_str()),
        (Some(&*second), Some("carried.iotax"))
    );
    rig.complains(2, &["rm", "--yes", "./carried.iotax"], &["packed run"]);
    rig.complains(2, &["report", &first, "carried.iotax", "-o", "two.iotax"], &["holds one run"]);
    assert!(rig.run_dirs().len() == 1, "nothing was unpacked among the runs");
}

#[test]
fn a_run_that_left_something_is_not_removed() {
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let null = format!("{file} | null");
    rig.killed_at("4:before", &[&["run", &file, &null], QUICK].concat());
    let id = rig.last_id();
    let link = rig.runs().join("20000101-000000-0000");
    std::os::unix::fs::symlink(rig.runs().join(&id), &link).unwrap();
    rig.complains(2, &["rm", "--yes", &id], &["is still there", "iotax", "clean"]);
    says(&rig.expect(0, &["list"]), &["killed", "to remove it: ", " clean "]);
    rig.expect(0, &["clean", &id]);
    rig.complains(2, &["rm", "--yes", link.to_str().unwrap()], &["never a link"]);
    rig.expect(0, &["rm", "--yes", &id]);
    assert!(!rig.runs().join(&id).exists() && link.symlink_metadata().is_ok());
}

#[test]
fn the_hint_for_a_file_that_exists_asks_for_no_size() {
    let rig = Rig::new();
    let path = rig.path("x.img");
    let named = path.to_str().unwrap();
    let hint = |end: &str| format!("hint: write file:{named}{end} for a file");
    rig.complains(2, &["plan", named], &[&hint(",size=4GiB")]);
    std::fs::write(&path, vec![0u8; 1 << 20]).unwrap();
    rig.complains(2, &["plan", named], &[&hint("")]);
}
