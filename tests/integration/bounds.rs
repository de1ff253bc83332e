//! Limits on what others wrote or print, and resource limits that the caller of iotax has set.

use crate::rig::{Rig, can_loop, can_run, program, words};
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::{Duration, Instant};

/// Runs iotax under the limits of a shell (`-n 16`), and returns its output and exit code.
fn limited(rig: &Rig, limits: &str, args: &[&str]) -> std::process::Output {
    let mut command = Command::new("bash");
    command.args(["-c", &format!("ulimit {limits} && exec \"$@\""), "bash"]).arg(program());
    command.arg("--runs").arg(rig.runs()).args(args).current_dir(rig.path(""));
    command.output().unwrap()
}

#[test]
fn a_device_without_end_and_a_pipe_without_a_writer_are_refused_whatever_they_are_named_as() {
    let rig = Rig::new();
    assert!(Command::new("mkfifo").arg(rig.path("pipe")).status().unwrap().success());
    let page = rig.path("page.md");
    std::fs::write(&page, "4k random reads: 100k IOPS\n").unwrap();
    let medium = rig.file("x.img", 16);
    for target in ["/dev/zero", "pipe"] {
        let named = |ending: &str| {
            let link = rig.path(&format!("{}.{ending}", target.replace('/', "")));
            symlink(if target == "pipe" { rig.path("pipe") } else { target.into() }, &link)
                .unwrap();
            link.to_str().unwrap().to_owned()
        };
        let (toml, job, other) = (named("toml"), named("fio"), named("md"));
        let scenario = rig.path("scenario.toml");
        std::fs::write(
            &scenario,
            format!("tools = [\"{toml}\"]\n[stack.a]\ntext = \"{medium}\"\n"),
        )
        .unwrap();
        let cases: [&[&str]; 5] = [
            &["plan", &toml],
            &["plan", &job],
            &["plan", &medium, &job],
            &["plan", scenario.to_str().unwrap()],
            &["audit", &other],
        ];
        for args in cases {
            let start = Instant::now();
            // 1.5 GiB: reading an endless file would fill it.
            let output = limited(&rig, "-v 1500000", args);
            let said = words(&output);
            assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
            let why = said.contains("it is not a regular file; hint: ")
                || said.contains("it is a device, no page");
            assert!(why && !said.contains("memory"), "{args:?}: {said}");
            assert!(start.elapsed() < Duration::from_secs(60), "{args:?}");
        }
        rig.complains(2, &["import", &other], &["is no file; hint: write - for standard input"]);
    }
}

#[test]
fn a_file_larger_than_any_text_is_refused_without_being_read() {
    let rig = Rig::new();
    for name in ["huge.toml", "huge.fio"] {
        let path = rig.path(name);
        std::fs::File::create(&path).and_then(|file| file.set_len(1 << 40)).unwrap();
        rig.complains(2, &["plan", path.to_str().unwrap()], &["it is larger than 16 MiB"]);
    }
}

/// Without the limit, the run took 2.9 GB in 8 s, and so did every later `clean`.
#[test]
fn a_program_that_prints_without_end_is_ended_by_a_run_and_by_clean_after_it() {
    if !can_loop() || !can_run(&["yes"]) {
        return;
    }
    let rig = Rig::new();
    let file = rig.file("t.img", 16);
    let text = format!(
        "[tool.slow]\ngives = \"file\"\nunwritten = false\npath = \"{{run}}/{{name}}\"\n\
         make = [[\"touch\", \"{{run}}/{{name}}\"]]\nundo = [[\"rm\", \"-f\", \"{{run}}/{{name}}\"]]\n\
         find = [[\"yes\", \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"]]\n[stack.a]\ntext = \"{file}\"\n\
         [stack.b]\ntext = \"{file} | loop | slow\"\nown = true\n[measure]\nbudget = \"1s\"\n"
    );
    let scenario = rig.path("endless.toml");
    std::fs::write(&scenario, text).unwrap();
    let ended = limited(&rig, "-v 1500000", &["run", scenario.to_str().unwrap()]);
    let cleaned = limited(&rig, "-v 1500000", &["clean"]);
    for output in [&ended, &cleaned] {
        let said = words(output);
        let code = output.status.code();
        assert!(code.is_some_and(|code| code <= 5) && !said.contains("memory"), "{code:?}: {said}");
    }
    let said = words(&ended);
    assert!(said.contains("wrote more than 16 MiB and was killed; hint: "), "{said}");
}

#[test]
fn a_limit_of_the_shell_is_named_and_no_run_ends_by_a_panic_or_a_signal() {
    let rig = Rig::new();
    let file = rig.file("x.img", 16);
    let run = ["run", &file, &format!("{file} | null"), "--budget", "1s"];
    for limits in ["-v 100000", "-v 600000", "-n 8", "-n 16"] {
        let output = limited(&rig, limits, &run);
        let said = words(&output);
        assert_eq!(output.status.code(), Some(3), "{limits}: {said}");
        let letter = &limits[..2];
        assert!(
            said.contains(&format!("(ulimit {letter}) is ")) && said.contains("; hint: raise it"),
            "{said}"
        );
    }
    let output = limited(&rig, "-f 1000", &run);
    let said = words(&output);
    assert!(
        output.status.code().is_some_and(|code| (2..=5).contains(&code)),
        "{:?}: {said}",
        output.status
    );
    assert!(said.contains("file size limit") && !said.contains("panicked"), "{said}");
    for limits in ["-n 32", "-n 40", "-f 1", "-f 100"] {
        let output = limited(&rig, limits, &run);
        let said = words(&output);
        assert!(
            output.status.code().is_some_and(|code| code <= 5),
            "{limits}: {:?}: {said}",
            output.status
        );
        assert!(!said.contains("panicked"), "{limits}: {said}");
    }
    rig.expect(0, &["clean"]);
}
