//! Variables of Ansible that say how a host is reached.

use super::FleetHost;
use std::collections::BTreeMap;

/// Values of variables by their names, with those of groups below those of the host.
pub(super) type Variables = BTreeMap<String, String>;

/// Variables that change how Ansible connects, in ways that iotax leaves to ssh's own
/// configuration.
const OF_SSH: [&str; 5] = [
    "ansible_ssh_common_args",
    "ansible_ssh_extra_args",
    "ansible_ssh_executable",
    "ansible_ssh_pass",
    "ansible_password",
];

/// Returns the host of that name with its variables.
///
/// # Errors
/// Says which variable has a value that iotax cannot use.
pub(super) fn host_with_variables(name: &str, variables: &Variables) -> Result<FleetHost, String> {
    let mut host = FleetHost::new(name)?;
    for (key, value) in variables.iter().filter(|(key, _)| key.starts_with("ansible_")) {
        if value.contains("{{") {
            let hint = "hint: ansible-inventory -i FILE --list > hosts.json fills in templates, and iotax reads hosts.json";
            return Err(format!("{key} of {name} is a template, {value}; {hint}"));
        }
        let unfit = |what: &str| {
            format!("{key} of {name} is \"{}\", which is not a valid {what}", value.escape_debug())
        };
        match key.as_str() {
            "ansible_host" | "ansible_ssh_host" => {
                host.address = Some(checked_word(value).ok_or_else(|| unfit("address"))?)
            }
            "ansible_user" | "ansible_ssh_user" => {
                host.user = Some(checked_word(value).ok_or_else(|| unfit("user"))?)
            }
            "ansible_port" | "ansible_ssh_port" => {
                let port = value.parse().ok().filter(|port| *port > 0);
                host.port = Some(port.ok_or_else(|| unfit("port"))?);
            }
            "ansible_ssh_private_key_file" | "ansible_private_key_file" => {
                host.key_file = Some(value.into())
            }
            "ansible_become" => host.sudo = parse_flag(value).ok_or_else(|| unfit("yes or no"))?,
            "ansible_connection" if !["ssh", "smart", "paramiko"].contains(&value.as_str()) => {
                let hint =
                    "hint: a fleet is reached by ssh; leave the host out with --limit '!HOST'";
                return Err(format!("{name} is reached by the connection \"{value}\"; {hint}"));
            }
            _ => {}
        }
    }
    Ok(host)
}

/// Returns a sentence on variables that are not used; `None` if there are none.
pub(super) fn unused_note<'a>(all: impl Iterator<Item = &'a Variables>) -> Option<String> {
    let names: std::collections::BTreeSet<&str> = all
        .flat_map(|variables| variables.keys())
        .map(String::as_str)
        .filter(|key| OF_SSH.contains(key))
        .collect();
    let names: Vec<&str> = names.into_iter().collect();
    let hint = "put such options into ~/.ssh/config";
    (!names.is_empty()).then(|| format!("iotax ignores {}; hint: {hint}", names.join(", ")))
}

fn checked_word(value: &str) -> Option<String> {
    let acts = |c: char| c.is_control() || c.is_whitespace();
    (!value.is_empty() && !value.starts_with('-') && !value.contains(acts))
        .then(|| value.to_owned())
}

/// Parses a flag as Ansible writes them.
fn parse_flag(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}
