//! Fleets under test, whatever their engine: commands, states and results.

use crate::rig::Rig;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub struct FleetRig {
    pub rig: Rig,
    /// Variables of every command.
    environment: Vec<(&'static str, PathBuf)>,
}

impl FleetRig {
    pub fn new(rig: Rig, environment: &[(&'static str, PathBuf)]) -> FleetRig {
        let fleets = ("IOTAX_FLEETS", rig.path("fleets"));
        FleetRig { environment: [&[fleets], environment].concat(), rig }
    }

    /// Returns `iotax fleet` with words that are separated by spaces.
    fn command(&self, words: &str) -> Command {
        let all: Vec<&str> = std::iter::once("fleet").chain(words.split_whitespace()).collect();
        let mut command = self.rig.command(&all);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs a command, which must end with `code`. Returns standard output and standard error.
    pub fn run(&self, code: i32, words: &str) -> (String, String) {
        let output = self.command(words).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let (out, err) = (text(output.stdout), text(output.stderr));
        assert_eq!(output.status.code(), Some(code), "iotax fleet {words}\n{out}\n{err}");
        (out, err)
    }

    pub fn spawn(&self, words: &str) -> Child {
        self.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Returns state and reason of each host of the newest fleet.
    pub fn states(&self) -> Vec<(String, String)> {
        self.listed().iter().map(state_and_reason).collect()
    }

    pub fn state_of(&self, host: &str) -> (String, String) {
        state_and_reason(self.listed().iter().find(|one| one["host"] == host).unwrap())
    }

    fn listed(&self) -> Vec<Value> {
        serde_json::from_str(&self.run(0, "status last --json").0).unwrap()
    }

    /// Returns the folder of the newest fleet.
    pub fn newest(&self) -> PathBuf {
        let entries = std::fs::read_dir(self.rig.path("fleets")).unwrap();
        entries.map(|entry| entry.unwrap().path()).max().unwrap()
    }

    /// Returns the folder of a host of the newest fleet.
    pub fn host(&self, host: &str) -> PathBuf {
        self.newest().join("hosts").join(host)
    }

    /// Returns the number of attempts whose results a host of the newest fleet has.
    pub fn attempts(&self, host: &str) -> usize {
        let names = std::fs::read_dir(self.host(host)).unwrap().flatten();
        names.filter(|name| name.file_name().to_string_lossy().starts_with("attempt")).count()
    }

    /// Reads the first run of a host of the newest fleet, which has measured a rate.
    pub fn check_run(&self, host: &str) -> Value {
        let run = self.host(host).join("attempt-1/run.iotax");
        let found = self.rig.json(&["report", run.to_str().unwrap()]);
        assert!(found["workloads"][0]["rows"][0]["iops"]["value"].as_f64().unwrap() > 0.0);
        found
    }
}

fn state_and_reason(host: &Value) -> (String, String) {
    let word = |key: &str| host[key].as_str().unwrap_or_default().to_owned();
    (word("state"), word("why"))
}

/// Waits for a command that was spawned, which must end with `code`. Returns its standard output.
pub fn ended(child: Child, code: i32) -> String {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(code), "{text}");
    text
}

/// Runs a program that must end well. Returns all that it wrote.
pub fn run_tool(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{text}");
    text
}

/// Runs a verb of the script of a lab on the folder of the lab.
pub fn run_lab(script: &str, folder: &Path, words: &str, environment: &[(&'static str, PathBuf)]) {
    let (verb, rest) = words.split_once(' ').unwrap_or((words, ""));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/labs").join(script);
    let mut command = Command::new("bash");
    command.arg(script).arg(verb).arg(folder).args(rest.split_whitespace());
    run_tool(command.envs(environment.iter().map(|(name, value)| (name, value))));
}
