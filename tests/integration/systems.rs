//! Guests with a system of their own: a Debian with cloud-init, which tools/cloud-image builds and `./check --lab` names.

use crate::rig::{Rig, can, has, traces};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Said aloud where there is none.
fn image() -> Option<PathBuf> {
    let named = std::env::var_os("IOTAX_CLOUD_IMAGE").map(PathBuf::from).filter(|path| path.is_file());
    let able = can("IOTAX_CLOUD_IMAGE, a file that tools/cloud-image builds", named.is_some())
        && can("qemu-system-x86_64", has("qemu-system-x86_64"));
    named.filter(|_| able)
}

fn changed(path: &Path) -> (u64, SystemTime) {
    let is = std::fs::metadata(path).unwrap();
    (is.len(), is.modified().unwrap())
}

/// Both kinds of firmware, and with them two guests on one image at one time.
#[test]
#[ignore = "boots somebody else's system, which takes minutes in the translator: ./check --lab runs it by name"]
fn an_image_with_its_own_system_is_a_place() {
    let _alone = crate::rig::alone();
    let Some(image) = image() else { return };
    let before = changed(&image);
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    let firmware =
        if can("ovmf", Path::new("/usr/share/OVMF").exists()) { "[direct,ovmf]" } else { "direct" };
    let guest = format!("{file} | vm(image={},firmware={firmware},vcpus=1)", image.display());
    let quick = ["--slice", "100ms", "--min-time", "2s", "--budget", "8s", "--matched-rate", "off"];
    let args = ["run", &file, &guest, "--rw", "randread", "--iodepth", "4", "--format", "json"];
    let report: Value = serde_json::from_str(&rig.expect(0, &[&args[..], &quick].concat())).unwrap();
    let rows = report["workloads"][0]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), if firmware == "direct" { 2 } else { 3 });
    for row in rows {
        assert!(row["iops"]["value"].as_f64().unwrap() > 0.0 && row["errors"] == 0, "{row}");
    }
    let places = report["places"].as_array().unwrap();
    let guests: Vec<&Value> = places.iter().filter(|place| place["place"] != "host").collect();
    assert_eq!(guests.len(), rows.len() - 1);
    for guest in guests {
        // The kernel is the image's own, and its disk is what was asked for.
        assert!(guest["facts"]["kernel"].as_str().unwrap().contains("cloud"), "{guest}");
        assert_eq!(guest["disks"][0]["differs"], Value::Array(Vec::new()), "{guest}");
    }
    assert_eq!(changed(&image), before);
    assert_eq!(traces(&rig.path("")), Vec::<String>::new());
}

#[test]
fn an_image_that_cannot_be_booted_is_told_before_anything_is_made() {
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    std::fs::write(rig.path("empty"), vec![0; 4096]).unwrap();
    for (name, why) in [("none", "No such file"), ("empty", "no boot sector"), ("", "a directory")] {
        let stack = format!("{file} | vm(image={})", rig.path(name).display());
        let said = rig.complaint(2, &["plan", &stack]);
        assert!(said.contains(why), "{said}");
    }
    assert!(!rig.path("x.img").exists());
}
