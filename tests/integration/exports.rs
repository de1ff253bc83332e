//! Exports of a run, read back by the programs that they are for. The reader has to find what the
//! report in JSON has. The programs come from several places, so they are installed by the long
//! suite.

use crate::rig::{Rig, can_run};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// A run of two stacks, and its rate of the baseline.
struct ExportedRun {
    rig: Rig,
    id: String,
    iops: f64,
}

impl ExportedRun {
    fn measure() -> ExportedRun {
        let rig = Rig::new();
        let file = rig.file("x.img", 16);
        let delayed = format!("{file} | delay(us=50)");
        rig.expect(
            0,
            &["run", &file, &delayed, "--slice", "20ms", "--min-time", "1s", "--budget", "4s"],
        );
        let report: Value = rig.json(&["report", "last"]);
        let row = &report["workloads"][0]["rows"][0];
        let iops = row["iops"]["value"].as_f64().unwrap();
        ExportedRun { id: rig.last_id(), rig, iops }
    }

    fn export(&self, name: &str) -> String {
        self.rig.expect(0, &["report", "last", "-o", name]);
        self.rig.path(name).to_string_lossy().into_owned()
    }

    /// Checks a rate that a reader printed alone on the last line.
    fn has_rate(&self, text: &str) {
        let rate: f64 = text.trim().lines().last().unwrap().trim().parse().expect(text);
        assert!((rate / self.iops - 1.0).abs() < 1e-6, "{rate} is not {}", self.iops);
    }
}

/// Runs a program that must succeed, and returns what it printed.
fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}\n{text}{}", crate::rig::words(&output));
    text
}

const RATE: &str = "SELECT value FROM figure WHERE kind = 'value' AND quantity = 'iops' \
    AND direction = '' AND scope = '' ORDER BY stack LIKE '%delay%' LIMIT 1";

#[test]
#[ignore = "needs programs that ./check --lab installs"]
fn exports_are_read_by_sqlite3() {
    if !can_run(&["sqlite3"]) {
        return;
    }
    let run = ExportedRun::measure();
    let file = run.export("x.sqlite");
    run.has_rate(&printed(Command::new("sqlite3").args([&file, RATE])));
    let check = printed(Command::new("sqlite3").args([&file, "PRAGMA integrity_check"]));
    assert_eq!(check.trim(), "ok");
}

/// A server of PostgreSQL in a folder, which listens on a socket there alone. It refuses to run as
/// root, so all is done as Debian's own user for it.
struct PostgresServer<'a> {
    folder: &'a Path,
    programs: String,
}

impl PostgresServer<'_> {
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new("runuser");
        let program = format!("{}/{program}", self.programs);
        command.args(["-u", "postgres", "--", &program]).current_dir(self.folder);
        command
    }

    fn psql(&self, args: &[&str]) -> String {
        printed(self.command("psql").arg("-h").arg(self.folder).args(["-At", "-q"]).args(args))
    }
}

impl Drop for PostgresServer<'_> {
    fn drop(&mut self) {
        let _ = self.command("pg_ctl").args(["-D", "data", "-m", "immediate", "stop"]).output();
    }
}

#[test]
#[ignore = "needs programs that ./check --lab installs"]
fn exports_are_read_by_psql() {
    if !can_run(&["psql", "runuser"]) {
        return;
    }
    let newest =
        printed(Command::new("sh").args(["-c", "ls -d /usr/lib/postgresql/*/bin | tail -n 1"]));
    let run = ExportedRun::measure();
    let file = run.export("x.sql");
    let folder = tempfile::tempdir().unwrap();
    printed(Command::new("chown").arg("postgres").arg(folder.path()));
    let text = std::fs::read(file).unwrap();
    std::fs::write(folder.path().join("x.sql"), text).unwrap();
    let server = PostgresServer { folder: folder.path(), programs: newest.trim().to_owned() };
    printed(server.command("initdb").args(["-D", "data", "--no-sync"]));
    let options =
        format!("-c listen_addresses= -c unix_socket_directories={}", folder.path().display());
    printed(
        server.command("pg_ctl").args(["-D", "data", "-w", "-l", "log", "-o", &options, "start"]),
    );
    server.psql(&["-d", "postgres", "-f", "x.sql"]);
    run.has_rate(&server.psql(&["-d", "postgres", "-c", RATE]));
    let again = server
        .command("psql")
        .arg("-h")
        .arg(server.folder)
        .args(["-f", "x.sql", "postgres"])
        .output();
    assert!(!again.unwrap().status.success(), "the same run twice is refused");
    let runs = server.psql(&["-d", "postgres", "-c", "SELECT count(*) FROM run"]);
    assert_eq!(runs.trim(), "1");
}

/// Runs Python with a module that must be there; `None` if it is not.
fn python(module: &str, code: &str, file: &str) -> Option<String> {
    let has = Command::new("python3").args(["-c", &format!("import {module}")]).output();
    if !crate::rig::can(&format!("Python's {module}"), has.is_ok_and(|one| one.status.success())) {
        return None;
    }
    Some(printed(Command::new("python3").args(["-c", code, file])))
}

#[test]
#[ignore = "needs programs that ./check --lab installs"]
fn exports_are_read_by_duckdb() {
    let run = ExportedRun::measure();
    let code = "import duckdb, sys
query = '''SELECT sum(value) / (SELECT sum(window_s)
    FROM (SELECT DISTINCT visit, round, slice, window_s FROM s
    WHERE purpose = 'plain' AND stack NOT LIKE '%delay%')) FROM s
    WHERE purpose = 'plain' AND stack NOT LIKE '%delay%' AND metric LIKE '%.ios\' '''
duckdb.sql(f\"CREATE VIEW s AS SELECT * FROM '{sys.argv[1]}'\")
print(duckdb.sql(query).fetchall()[0][0])";
    let Some(text) = python("duckdb", code, &run.export("x.parquet")) else { return };
    run.has_rate(&text);
}

#[test]
#[ignore = "needs programs that ./check --lab installs"]
fn exports_are_read_by_prometheus() {
    let run = ExportedRun::measure();
    let code = "import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
for family in parse(open(sys.argv[1]).read()):
    for one in family.samples:
        labels = one.labels
        if family.name == 'iotax_iops' and labels['bound'] == 'value':
            if 'delay' not in labels['stack'] and not labels['direction']:
                print(one.value)";
    let Some(text) = python("prometheus_client", code, &run.export("x.prom")) else { return };
    run.has_rate(&text);
}

#[test]
#[ignore = "needs programs that ./check --lab installs"]
fn exports_are_read_by_junitparser() {
    let run = ExportedRun::measure();
    let code = "import sys
from junitparser import JUnitXml
for suite in JUnitXml.fromfile(sys.argv[1]):
    print(suite.name, suite.tests, suite.failures, len(list(suite)))";
    let Some(text) = python("junitparser", code, &run.export("x.junit.xml")) else { return };
    assert_eq!(text.trim(), format!("{} 1 0 1", run.id));
}

#[test]
#[ignore = "needs programs that ./check --lab installs"]
fn exports_are_read_by_benchstat() {
    if !can_run(&["benchstat"]) {
        return;
    }
    let run = ExportedRun::measure();
    let file = run.export("x.bench");
    let text = printed(Command::new("benchstat").args(["-format", "csv", "-col", "/stack", &file]));
    let head = text.lines().find(|line| line.contains("IOPS")).expect(&text);
    assert!(head.contains("vs base"), "{text}");
    let row = text.lines().find(|line| line.starts_with("Load")).expect(&text);
    let median: f64 = row.split(',').nth(1).unwrap().parse().unwrap();
    // Its figure is the median of the rounds, ours their mean.
    assert!((median / run.iops - 1.0).abs() < 0.5, "{median} {}", run.iops);
}
