//! A playbook for Ansible. Results come back to the folder of the playbook.

use super::{EmitKind, EmittedFile, yaml_names};
use crate::inventory::FleetHost;
use crate::plan::{EngineChoice, FleetPlan};
use crate::task::{FILES, OUTCOME};
use iotax_units::shell;
use std::path::Path;

pub(super) const ANSIBLE: EmitKind = EmitKind {
    name: "ansible",
    about: "a playbook",
    fits: |engine| matches!(engine, EngineChoice::Ssh),
    misfit: "a playbook of ansible is for hosts that ssh reaches; hint: --hosts with a list or an inventory",
    shares_folder: false,
    files,
    next,
};

fn files(plan: &FleetPlan, _folder: &Path) -> Vec<EmittedFile> {
    let names: Vec<&str> = FILES.iter().copied().chain([OUTCOME]).collect();
    let text = include_str!("playbook.yml")
        .replace("@FLEET@", &plan.id)
        .replace("@PARALLEL@", &plan.parallel.to_string())
        .replace("@FILES@", &names.join(", "))
        .replace("@HOSTS@\n", &yaml_names(plan, 4));
    let inventory: String =
        plan.hosts.iter().map(|planned| inventory_line(&planned.host)).collect();
    vec![
        EmittedFile::new("playbook.yml", text),
        EmittedFile::new("inventory.ini", format!("[iotax]\n{inventory}")),
    ]
}

/// Returns the line of a host with how ssh reaches it.
fn inventory_line(host: &FleetHost) -> String {
    let variables = [
        ("ansible_host", host.address.clone()),
        ("ansible_user", host.user.clone()),
        ("ansible_port", host.port.map(|port| port.to_string())),
        (
            "ansible_ssh_private_key_file",
            host.key_file.as_ref().map(|path| path.display().to_string()),
        ),
        ("ansible_become", host.sudo.then(|| "true".to_owned())),
    ];
    let words =
        variables.into_iter().filter_map(|(name, value)| Some(format!(" {name}={:?}", value?)));
    format!("{}{}\n", host.name, words.collect::<String>())
}

fn next(plan: &FleetPlan, folder: &Path) -> Vec<String> {
    let playbook = shell::path(folder.join("playbook.yml"));
    let own = shell::path(folder.join("inventory.ini"));
    // The user's inventory has all variables; a list is no inventory.
    let is_inventory = [".ini", ".yaml", ".yml"].iter().any(|ending| plan.source.ends_with(ending));
    let given = std::path::absolute(&plan.source).unwrap_or_else(|_| plan.source.clone().into());
    let inventory = if is_inventory { shell::path(given) } else { own };
    vec![
        format!("ansible-playbook -i {inventory} {playbook}"),
        format!("iotax fleet gather {}", shell::path(folder)),
    ]
}
