//! What drives are rated at, in reports of runs: a stored run of a drive whose model the place
//! told.

use crate::rig::Rig;
use iotax_store::line;
use serde_json::{Value, json};
use std::path::PathBuf;

const OWN: &str = "[[drive]]\nname = \"Own 1\"\nmodels = [\"OWN1000*\"]\ninterface = \"PCIe 4.0 x4\"\nmedia = \"TLC\"\n\
    writes = \"sustained\"\nsource = \"Own, data sheet, 2024\"\nsizes = [{ capacity = \"1TB\", randread_iops = \"100k\" }]\n";

/// The golden run, on a drive of a model; `ratings` are those that it was given when it was
/// measured.
fn stored(rig: &Rig, model: &str, ratings: &[&str]) -> PathBuf {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/run-v3");
    let folder = rig.path("20260102-030405-a1b2");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::set_permissions(&folder, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    std::fs::copy(format!("{golden}/histograms.seg"), folder.join("histograms.seg")).unwrap();
    let device = json!({"name": "nvme0n1", "model": model, "bytes": 1_000_204_886_016_u64, "rotational": false});
    let index = std::fs::read_to_string(format!("{golden}/index.jsonl")).unwrap();
    let mut lines = Vec::new();
    for text in index.lines() {
        let Ok(mut line) = serde_json::from_str::<Value>(text) else { continue };
        let record = &mut line["rec"];
        match record["record"].as_str() {
            Some("place") => {
                record["facts"]["targets"] = json!([{"path": "/srv/x.img", "devices": [device]}])
            }
            Some("run") if !ratings.is_empty() => record["ratings"] = json!(ratings),
            _ => {}
        }
        lines.extend(line::enclose(record.to_string().as_bytes()));
    }
    std::fs::write(folder.join("index.jsonl"), lines).unwrap();
    folder
}

fn rated(rig: &Rig, args: &[&str]) -> Vec<(String, f64)> {
    let found = rig.json(args);
    let all = found["workloads"][0]["efficiency"].as_array().cloned().unwrap_or_default();
    let one = |one: &Value| {
        (one["drive"].as_str().unwrap().to_owned(), one["could"]["value"].as_f64().unwrap())
    };
    all.iter().map(one).collect()
}

#[test]
fn a_report_holds_a_run_against_what_is_known_of_its_drive_and_what_is_given() {
    let rig = Rig::new();
    let own = rig.path("own.toml");
    std::fs::write(&own, OWN).unwrap();
    let own = own.to_str().unwrap();
    let run = stored(&rig, "Samsung SSD 980 PRO 1TB", &[]);
    let report = ["report", run.to_str().unwrap()];
    assert_eq!(rated(&rig, &report), [("Samsung 980 PRO".to_owned(), 1e6)]);
    stored(&rig, "OWN1000GTX", &[]);
    assert_eq!(rated(&rig, &report), []);
    assert_eq!(
        rated(&rig, &[&report[..], &["--ratings", own]].concat()),
        [("Own 1".to_owned(), 1e5)]
    );
    // What it was given when it was measured counts without the file, and a later file over it.
    stored(&rig, "OWN1000GTX", &[OWN]);
    assert_eq!(rated(&rig, &report), [("Own 1".to_owned(), 1e5)]);
    std::fs::write(own, OWN.replace("100k", "90k")).unwrap();
    assert_eq!(
        rated(&rig, &[&report[..], &["--ratings", own]].concat()),
        [("Own 1".to_owned(), 9e4)]
    );
}

#[test]
fn ratings_at_fault_are_told_before_anything_is_measured() {
    let rig = Rig::new();
    let own = rig.path("own.toml");
    std::fs::write(&own, OWN.replace("source = \"Own, data sheet, 2024\"\n", "")).unwrap();
    let file = format!("file:{},size=16MiB", rig.path("x.img").display());
    let refused = rig.iotax(&["run", &file, "--ratings", own.to_str().unwrap()]);
    let told = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{told}");
    assert!(
        told.contains("own.toml:1: key \"source\": is missing; hint: write which data sheet"),
        "{told}"
    );
    assert!(!rig.path("x.img").exists());
    for absent in [".", "none.toml", "/dev/zero"] {
        let told = rig.complaint(2, &["run", &file, "--ratings", absent]);
        assert!(
            told.contains("cannot read the ratings: ") && told.contains("docs/audit.md"),
            "{absent}: {told}"
        );
    }
}
