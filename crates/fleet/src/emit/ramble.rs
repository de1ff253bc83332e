//! An application of Ramble and a workspace with one experiment for each host. The emitted folder
//! must be on a file system that all hosts see.

use super::{EmitKind, EmittedFile, is_by_name};
use crate::plan::{EngineChoice, FleetPlan};
use iotax_units::shell;
use std::path::Path;

pub(super) const RAMBLE: EmitKind = EmitKind {
    name: "ramble",
    about: "an application and a workspace of Ramble",
    fits: is_by_name,
    misfit: "Ramble runs where Slurm or a shell does; hint: --hosts with a list, or slurm:PARTITION",
    shares_folder: true,
    files,
    next,
};

fn files(plan: &FleetPlan, folder: &Path) -> Vec<EmittedFile> {
    let submit = match &plan.engine {
        EngineChoice::Slurm { partition, options } => {
            let options: String = options.iter().map(|option| format!(" {option}")).collect();
            format!(
                "sbatch --wait -p {partition} -w {{host}} -N1 -n1 --exclusive --no-requeue{options} {{execute_experiment}}"
            )
        }
        _ => "{execute_experiment}".to_owned(),
    };
    let workspace = include_str!("ramble.yaml")
        .replace("@FOLDER@", &folder.display().to_string())
        .replace("@SUBMIT@", &submit)
        .replace("@HOSTS@", &python_list(plan));
    vec![
        EmittedFile::new("ramble/repo.yaml", "repo:\n  namespace: iotax\n".into()),
        EmittedFile::new(
            "ramble/applications/iotax/application.py",
            include_str!("ramble_application.py").into(),
        ),
        EmittedFile::new("ramble/workspace/ramble.yaml", workspace),
    ]
}

fn python_list(plan: &FleetPlan) -> String {
    let names: Vec<&str> = plan.hosts.iter().map(|planned| planned.host.name.as_str()).collect();
    format!("[{}]", names.join(", "))
}

fn next(_plan: &FleetPlan, folder: &Path) -> Vec<String> {
    let at = |path: &str| shell::path(folder.join(path));
    let workspace = at("ramble/runs");
    vec![
        format!("ramble repo add --scope user {}", at("ramble")),
        format!("ramble workspace create -d {workspace}"),
        format!("cp {} {workspace}/configs/", at("ramble/workspace/ramble.yaml")),
        format!("ramble -D {workspace} workspace setup && ramble -D {workspace} on"),
        format!("ramble -D {workspace} workspace analyze"),
        format!("iotax fleet gather {}", shell::path(folder)),
    ]
}
