//! The program as it is called: what it answers, and what it refuses.

use std::process::{Command, Output, Stdio};

fn agent(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iotax-agent"));
    command.args(words).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn it_says_its_build_and_refuses_what_is_no_work_of_an_agent() {
    let build = agent(&["--build"]);
    assert_eq!(String::from_utf8(build.stdout).unwrap().trim(), iotax_steps::agent_program::BUILD);
    assert!(agent(&["--version"]).status.success());
    let refused = agent(&["run", "/dev/x"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        String::from_utf8(refused.stderr).unwrap().starts_with("usage: iotax-agent agent --stdio")
    );
}

#[test]
fn without_anybody_at_the_other_end_it_ends() {
    assert!(agent(&["agent", "--stdio"]).status.code().is_some());
}
