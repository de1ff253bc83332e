//! Tests of steps that a person performs.

use crate::scenario::Scenario;
use crate::scenario::check::{ScenarioRequest, from_path};
use std::fmt::Write as _;

/// Reads a scenario with one stack, whose table has `operator` as its step.
fn read_step(stack: &str, operator: &str) -> Result<Scenario, String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.toml");
    let text = format!("[stack.a]\ntext = '{stack}'\noperator = {{ {operator} }}\n");
    std::fs::write(&file, text).unwrap();
    let prefix = format!("{}/", folder.path().display());
    from_path(&file, &ScenarioRequest::default())
        .map_err(|error| error.to_string().replace(&prefix, ""))
}

const EXPORT: &str = "/dev/sda @ssh:st | lvm | iscsi(address=10.0.0.1) @ssh:st";

#[test]
fn disks_of_a_person_are_what_is_loaded() {
    let operator = "text = 'x', undo = 'y', size = '1GiB', initiators = ['iqn.1998-01.com.vmware:esx1'], \
                    disks = { 'ssh:vm1:/dev/sdb' = 'S1', 'ssh:vm1:/dev/sdc' = 'S2', \
                    'ssh:vm2:/dev/sdb' = 'S3', 'ssh:vm2:/dev/sdc' = 'S4' }";
    let scenario = read_step(EXPORT, operator).unwrap();
    let stack = &scenario.stacks[0];
    assert_eq!((stack.clients(), stack.loaded_at_once(), stack.target_count()), (2, Some(2), 4));
    let places: Vec<String> = stack.places().iter().map(ToString::to_string).collect();
    assert_eq!(places, ["ssh:st", "ssh:vm1", "ssh:vm2"]);
    assert_eq!(stack.by_hand[3].to_string(), "/dev/sdc on vm2");
    let stored = serde_json::to_string(&scenario).unwrap();
    assert_eq!(serde_json::from_str::<Scenario>(&stored).unwrap().stacks, scenario.stacks);
}

#[test]
fn steps_that_no_person_can_perform_are_refused() {
    let disk = "undo = 'y', disks = { 'ssh:vm1:/dev/sdb' = 'S1' }";
    let theirs = "initiators = ['iqn.1998-01.com.vmware:esx1']";
    let cases = [
        ("/dev/sda", "text = 'x', size = '1GiB'".to_owned()),
        ("/dev/sda", format!("text = 'x', size = '1GiB', serial = 'S', {disk}")),
        ("/dev/sda", "text = ' ', size = '1GiB', serial = 'S'".to_owned()),
        ("/dev/sda", "text = 'x', size = '1GiB', serial = 'S', undo = 'y'".to_owned()),
        ("/dev/sda", format!("text = 'x', size = '1GiB', serial = 'S', {theirs}")),
        ("/dev/sda", "text = 'x', size = 'big', serial = 'S'".to_owned()),
        ("/dev/sda", "text = 'x', size = '1GiB', disks = { '/srv/x' = 'S' }".to_owned()),
        ("/dev/sda", "text = 'x', size = '1GiB', disks = { '/dev/../etc/x' = 'S' }".to_owned()),
        ("/dev/sda", "text = 'x', size = '1GiB', disks = { '/dev/sdb' = ' ' }".to_owned()),
        ("/dev/sda", "text = 'x', size = '1GiB', disks = { '/dev/sdb' = 'S' }".to_owned()),
        ("/dev/sda", "text = 'x', undo = 'y', size = '1GiB', disks = { '/dev/sdb' = 'S', '/dev/sdc' = 'S' }".to_owned()),
        ("/dev/sda", "text = 'x', undo = 'y', size = '1GiB', disks = { '/dev/sdb' = 'S', 'ssh:a:/dev/sdc' = 'T', 'ssh:a:/dev/sdd' = 'U' }".to_owned()),
        ("/dev/sda", format!("text = 'x', size = '1GiB', {disk}, {theirs}")),
        (EXPORT, format!("text = 'x', size = '1GiB', {disk}")),
        (EXPORT, format!("text = 'x', size = '1GiB', {disk}, initiators = ['../../x']")),
        (EXPORT, format!("text = 'x', size = '1GiB', {disk}, initiators = ['iqn.a', 'iqn.a']")),
        (EXPORT, format!("text = 'x', size = '1GiB', {disk}, {theirs}, adapter = 'a; reboot'")),
        ("[/dev/sda,/dev/sdb] | mdraid(level=0)", "text = 'x', size = '1GiB', serial = 'S'".to_owned()),
    ];
    let mut all = String::new();
    for (stack, operator) in &cases {
        let refused = read_step(stack, operator).unwrap_err();
        let _ = writeln!(all, "{stack}: {operator}\n  {}", refused.replace('\n', "\n  "));
    }
    insta::assert_snapshot!(all);
}
