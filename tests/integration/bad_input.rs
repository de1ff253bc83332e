//! Bad input: each gets its place, the reason and the next step; nothing is left behind.

use crate::rig::{Rig, flat};

/// Standard error names all of these, and nothing is left.
fn complains(rig: &Rig, code: i32, args: &[&str], parts: &[&str]) {
    rig.complains(code, args, parts);
    assert!(rig.run_dirs().is_empty(), "iotax {args:?} left a run");
}

#[test]
fn of_the_command_line() {
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    complains(
        &rig,
        2,
        &["run", &format!("{file} | lop")],
        &["unknown layer", "lop", "hint", "loop"],
    );
    complains(&rig, 2, &["run", &file.replace("MiB", "")], &["no unit", "64"]);
    complains(&rig, 2, &["run", &format!("{file} | fs(zfs)")], &["zfs", "xfs", "ext4"]);
    complains(&rig, 2, &["run", &file, "--bs", "5x"], &["bs", "5x"]);
    complains(&rig, 2, &["run", &file, "--rw", "sideways"], &["sideways"]);
    complains(&rig, 2, &["run", &file, "--size", "1g"], &["64 MiB"]);
    complains(
        &rig,
        2,
        &["run", "file:/no/such/folder/x.img,size=64MiB"],
        &["/no/such/folder", "mkdir -p"],
    );
    complains(&rig, 2, &["run", "file:/no/such.img"], &["does not exist", "size="]);
    complains(&rig, 2, &["run", "/dev/no-such-disk"], &["does not exist"]);
    complains(&rig, 2, &["run", "no-such.toml"], &["no-such.toml"]);
    for command in ["plan", "run"] {
        let guests = [format!("{file} | vm(accel=kvm)"), format!("{file} | vm(accel=tcg)")];
        complains(&rig, 2, &[command, &guests[0], &guests[1]], &["share one accelerator", "hint"]);
    }
    let words = ["selfcheck", "engine", "--goal", "1,4"];
    complains(&rig, 2, &words, &["no longer part", "tools/bench-fio --help"]);
    assert!(!rig.path("x.img").exists());
}

#[test]
fn run_and_plan_refuse_alike_and_the_stack_comes_first() {
    let rig = Rig::new();
    let file = rig.file("x.img", 64);
    for stack in [format!("{file} | vm(attach=vfio)"), format!("{file} | vm(spdk=/no.sock)")] {
        let said = ["plan", "run"].map(|command| rig.complaint(2, &[command, &file, &stack]));
        assert_eq!(said[0], said[1]);
        assert!(!said[0].contains("lacks") && !said[0].contains("x.img.2"), "{}", said[0]);
    }
    complains(
        &rig,
        2,
        &["run", &file, "--cache", "none"],
        &["one of the layers vm, librbd", "vm(cache=...)"],
    );
}

#[test]
fn a_plan_says_what_is_missing_once_and_all_else_and_a_run_refuses() {
    let rig = Rig::new();
    let path = rig.path("missing.toml");
    let text = "engine = \"aio\"\n[device.drive]\npath = \"/dev/no-such\"\n[stack.bare]\non = \"drive\"\n\
                [stack.volume]\ntext = \"[drive,/dev/nor-this] | lvm | split(8) | vm x8\"\n[[workload]]\nrw = \"randread\"\n\
                [measure]\nbudget = \"10min\"\n";
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap();
    let plan = rig.iotax(&["plan", path, "-v", "--commands"]);
    assert_eq!(plan.status.code(), Some(3));
    let said = flat(&String::from_utf8_lossy(&plan.stdout));
    for missing in
        ["missing.toml:3:8: key \"path\" of [device.drive]: /dev/no-such", "/dev/nor-this"]
    {
        assert_eq!(
            said.matches(&format!("{missing} does not exist")).count(),
            1,
            "{missing}: {said}"
        );
    }
    let all = [
        "turn 1 of 2: bare",
        "turn 2 of 2: volume",
        "vgcreate",
        "measure volume",
        "2 turns in random order, each set up 6 times",
        "engine: aio",
    ];
    assert!(all.iter().all(|part| said.contains(part)), "{said}");
    assert!(said.contains("at most 160 s in total"), "{said}");
    assert!(!said.contains("TiB"), "a size that nobody knows: {said}");
    complains(
        &rig,
        2,
        &["run", path],
        &["/dev/no-such does not exist", "/dev/nor-this does not exist"],
    );
}

#[test]
fn of_a_scenario_names_file_line_and_key() {
    let rig = Rig::new();
    let path = rig.path("s.toml");
    let text = format!(
        "[stack.a]\ntext = \"{}\"\n\n[[workload]]\nrw = \"randread\"\niodpeth = 4\n",
        rig.file("x.img", 64)
    );
    std::fs::write(&path, text).unwrap();
    complains(&rig, 2, &["run", path.to_str().unwrap()], &["s.toml:6", "iodpeth", "iodepth"]);
}

#[test]
fn of_a_job_file_names_file_line_and_key() {
    let rig = Rig::new();
    let path = rig.path("j.fio");
    std::fs::write(&path, "[global]\nbs=4k\n[a]\nrw=randread\nread_iolog=x\ngid=0\n").unwrap();
    complains(
        &rig,
        2,
        &["run", path.to_str().unwrap(), &rig.file("x.img", 64)],
        &["j.fio:5", "read_iolog", "j.fio:6", "gid"],
    );
}

#[test]
fn of_a_vdbench_file_says_what_it_is_and_what_to_write() {
    let rig = Rig::new();
    let path = rig.path("vdb-1vmdk-4k");
    std::fs::write(&path, "sd=sd1,lun=/x\nwd=w,sd=*\nrd=r,wd=w,iorate=max\n").unwrap();
    let said = ["a parameter file of vdbench", "fio job file", "vdbench-parameter-files.md"];
    complains(&rig, 2, &["run", path.to_str().unwrap(), &rig.file("x.img", 64)], &said);
    complains(&rig, 2, &["plan", path.to_str().unwrap()], &said);
}

#[test]
fn somebody_elses_file_is_neither_written_nor_removed() {
    let rig = Rig::new();
    let path = rig.path("theirs.img");
    let content = vec![7u8; 64 << 20];
    std::fs::write(&path, &content).unwrap();
    complains(
        &rig,
        2,
        &["run", &rig.file("theirs.img", 64)],
        &["theirs.img", "not a file of iotax"],
    );
    let named = format!("file:{}", path.display());
    complains(
        &rig,
        2,
        &["run", &named, "--rw", "randwrite"],
        &["theirs.img", "not a file of iotax"],
    );
    assert!(std::fs::read(&path).unwrap() == content);
}

#[test]
fn a_device_is_not_written_without_consent() {
    let rig = Rig::new();
    let disk = std::fs::read_dir("/sys/block")
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .find(|name| ["vd", "sd", "nvme"].iter().any(|start| name.starts_with(start)));
    let Some(disk) = disk else { return eprintln!("skipped: needs a disk in /sys/block") };
    complains(
        &rig,
        2,
        &["run", &format!("/dev/{disk}"), "--rw", "randwrite"],
        &["cannot write", &disk],
    );
}

#[test]
fn a_full_disk_leaves_nothing() {
    let rig = Rig::new();
    complains(&rig, 3, &["run", &rig.file("x.img", 1 << 30)], &["10 %", "free"]);
    assert!(!rig.path("x.img").exists());
}

#[test]
fn fio_is_not_looked_for_in_a_guest() {
    let rig = Rig::new();
    let stack = format!("{} | vm", rig.file("x.img", 64));
    for words in [vec!["--engine", "fio"], vec![]] {
        let stack = if words.is_empty() { format!("{stack} | engine(fio)") } else { stack.clone() };
        let args = [&["run", &stack][..], &words].concat();
        let output = rig.iotax(&args);
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{complaint}");
        assert!(complaint.contains("no fio in the guests"), "{complaint}");
        assert!(!rig.path("x.img").exists());
    }
}
