//! Scenarios of groups whose hosts are loaded together: each medium becomes that of every host of
//! the group.

use crate::inventory::FleetHost;
use crate::plan::PlannedHost;
use iotax_model::scenario::Scenario;
use iotax_model::stack::{LoadIssuer, Medium};
use iotax_units::exit::Failed;
use std::collections::BTreeSet;

/// Returns the hosts of each named group; `all` has every host.
///
/// # Errors
/// Bad input: a group has fewer than two hosts.
pub fn groups_of_hosts(
    hosts: &[PlannedHost],
    names: &str,
) -> Result<Vec<(String, Vec<PlannedHost>)>, Failed> {
    let group = |name: &str| {
        let members: Vec<PlannedHost> = hosts
            .iter()
            .filter(|one| name == "all" || one.host.groups.contains(name))
            .cloned()
            .collect();
        match members.len() {
            0 | 1 => {
                let known: BTreeSet<&str> =
                    hosts.iter().flat_map(|one| &one.host.groups).map(String::as_str).collect();
                let known: Vec<&str> = known.into_iter().chain(["all"]).collect();
                let why = format!(
                    "--together: the group \"{}\" has {} hosts, and two are needed",
                    name.escape_debug(),
                    members.len()
                );
                Err(Failed::input(format!("{why}; groups: {}", known.join(", "))))
            }
            _ => Ok((name.to_owned(), members)),
        }
    };
    names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(group).collect()
}

/// Checks that groups that work at the same time have no host in common.
///
/// # Errors
/// Bad input: names the host and both groups.
pub fn check_apart(groups: &[(String, Vec<PlannedHost>)]) -> Result<(), Failed> {
    for (at, (name, members)) in groups.iter().enumerate() {
        for (other, theirs) in &groups[..at] {
            let shared =
                members.iter().find(|one| theirs.iter().any(|two| two.host.name == one.host.name));
            if let Some(shared) = shared {
                return Err(Failed::input(format!(
                    "{} is in {other} and in {name}, which would disturb each other; hint: --parallel 1",
                    shared.host.name
                )));
            }
        }
    }
    Ok(())
}

/// Returns the scenario of a group: the first host's, with the media of all.
///
/// # Errors
/// Bad input: a stack has layers that only one host can have, or a host is reached by more than a
/// name.
pub fn scenario_of_group(
    members: &[PlannedHost],
    scenarios: &[Scenario],
) -> Result<Scenario, Failed> {
    let of_host =
        |planned: &PlannedHost| scenarios.get(planned.scenario).cloned().unwrap_or_default();
    let mut whole = members.first().map(of_host).unwrap_or_default();
    for (at, stack) in whole.stacks.iter_mut().enumerate() {
        if let Some(layer) = stack.layers.iter().find(|layer| !layer.works_anywhere()) {
            return Err(Failed::input(format!(
                "{}: {} cannot be set up on several hosts for one load; hint: set it up by hand, or leave --together out",
                stack.text, layer.name
            )));
        }
        let media = members.iter().map(|planned| {
            let own = of_host(planned).stacks.get(at).map(|stack| stack.medium.clone());
            remote_medium(&planned.host, own, &stack.text)
        });
        let members = media.collect::<Result<Vec<Medium>, Failed>>()?;
        stack.text = format!("each of {}: {}", members.len(), stack.text);
        stack.medium = Medium::Many { members, groups: 1 };
    }
    whole.consent = members.iter().flat_map(|planned| planned.consent.clone()).collect();
    Ok(whole)
}

fn remote_medium(host: &FleetHost, medium: Option<Medium>, text: &str) -> Result<Medium, Failed> {
    if host.port.is_some() || host.key_file.is_some() || host.sudo {
        return Err(Failed::input(format!(
            "--together reaches {} by its name alone; hint: put its port and key into ~/.ssh/config, and log in as root",
            host.name
        )));
    }
    let (destination, agent) = (host.destination(), LoadIssuer::default());
    match medium {
        Some(Medium::File { path, size, keep }) => {
            Ok(Medium::Remote { host: destination, path, size, keep, agent })
        }
        Some(Medium::Device { path }) => {
            Ok(Medium::Remote { host: destination, path, size: None, keep: false, agent })
        }
        _ => Err(Failed::input(format!("{text}: --together loads files and devices of the hosts"))),
    }
}
