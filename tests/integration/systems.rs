//! Guests with a system of their own: a Debian with cloud-init, which tools/cloud-image builds and
//! `./check --lab` names.

use crate::rig::{Rig, can, can_boot, traces};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Said aloud where there is none.
fn image() -> Option<PathBuf> {
    let named =
        std::env::var_os("IOTAX_CLOUD_IMAGE").map(PathBuf::from).filter(|path| path.is_file());
    let able = can("IOTAX_CLOUD_IMAGE, a file that tools/cloud-image builds", named.is_some())
        && can_boot();
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
    let args = ["run", &file, &guest, "--rw", "randread", "--iodepth", "4"];
    let report = rig.json(&[&args[..], &quick].concat());
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

/// A reset in its QEMU leaves the guest a file system that nobody unmounted, below it the same
/// overlay; a new QEMU a fresh one.
#[test]
#[ignore = "boots somebody else's system, which takes minutes in the translator: ./check --lab runs it by name"]
fn the_disk_of_an_image_with_its_own_system_keeps_what_it_acknowledged() {
    let _alone = crate::rig::alone();
    let Some(image) = image() else { return };
    let before = changed(&image);
    let rig = Rig::new();
    let guest = format!("{} | vm(image={},vcpus=1)", rig.file("x.img", 64), image.display());
    let trials = "--durability=trials=1,min_load=200ms,max_load=500ms";
    let report = rig.json(&["run", trials, &guest]);
    let rows = report["durability"]["rows"].as_array().unwrap();
    let killed: Vec<&Value> = rows.iter().map(|row| &row["kill"]).collect();
    assert_eq!(killed, ["guest", "qemu"]);
    for row in rows {
        assert!(row["blocks"].as_u64() > Some(0) && row["kept"] == row["blocks"], "{row}");
    }
    assert_eq!(changed(&image), before);
    assert_eq!(traces(&rig.path("")), Vec::<String>::new());
}

#[test]
fn an_image_that_cannot_be_booted_is_told_before_anything_is_made() {
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    std::fs::write(rig.path("empty"), vec![0; 4096]).unwrap();
    for (name, why) in [("none", "No such file"), ("empty", "no boot sector"), ("", "a directory")]
    {
        let stack = format!("{file} | vm(image={})", rig.path(name).display());
        let said = rig.complaint(2, &["plan", &stack]);
        assert!(said.contains(why), "{said}");
    }
    assert!(!rig.path("x.img").exists());
}

/// A disk with this code in its boot sector, and what is said of a guest from it.
fn given_up(code: &[u8], firmware: &str) -> String {
    let rig = Rig::new();
    let image = rig.path("image");
    let mut disk = vec![0; 4 << 20];
    disk[..code.len()].copy_from_slice(code);
    disk[510..512].copy_from_slice(&[0x55, 0xaa]);
    std::fs::write(&image, disk).unwrap();
    let stack = format!(
        "{} | vm(image={},firmware={firmware},vcpus=1)",
        rig.file("x.img", 16),
        image.display()
    );
    let said = rig.complaint(4, &["run", &stack, "--rw", "randread", "--budget", "8s"]);
    assert_eq!(traces(&rig.path("")), Vec::<String>::new());
    assert!(said.contains("does not start; hint: has it "), "{said}");
    said
}

/// What a boot sector does that finds no system, and one that no firmware of the other kind starts.
#[test]
fn an_image_that_the_firmware_gives_up_is_given_up_with_its_words() {
    let _alone = crate::rig::alone();
    if !can_boot() {
        return;
    }
    const INT_18: [u8; 2] = [0xcd, 0x18];
    let said = given_up(&INT_18, "direct");
    assert!(
        said.contains("the firmware said \"No bootable device.") && said.contains("firmware=ovmf"),
        "{said}"
    );
    if can("ovmf", Path::new("/usr/share/OVMF").exists()) {
        let said = given_up(&INT_18, "ovmf");
        assert!(
            said.contains("the firmware said \"") && said.contains("firmware=direct"),
            "{said}"
        );
    }
}

#[test]
#[ignore = "waits for a minute in which nothing happens; ./check --lab runs it by name"]
fn an_image_whose_boot_sector_leads_nowhere_is_given_up() {
    let _alone = crate::rig::alone();
    if !can_boot() {
        return;
    }
    const JUMP_TO_ITSELF: [u8; 2] = [0xeb, 0xfe];
    let said = given_up(&JUMP_TO_ITSELF, "direct");
    assert!(said.contains("512 bytes of the image were read, and for 60s nothing more"), "{said}");
}
