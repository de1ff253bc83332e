//! A script for each node of Slurm, and one that submits them. The emitted folder must be on a file
//! system that all nodes see.

use super::{EmitKind, EmittedFile};
use crate::engine::slurm::batch_script;
use crate::plan::{EngineChoice, FleetPlan};
use iotax_units::shell;
use std::path::Path;

pub(super) const SLURM: EmitKind = EmitKind {
    name: "slurm",
    about: "batch scripts",
    fits: |engine| matches!(engine, EngineChoice::Slurm { .. }),
    misfit: "batch scripts are for the nodes of a partition; hint: --hosts slurm:PARTITION",
    shares_folder: true,
    files,
    next,
};

fn files(plan: &FleetPlan, folder: &Path) -> Vec<EmittedFile> {
    let EngineChoice::Slurm { partition, options } = &plan.engine else { return Vec::new() };
    let mut files = Vec::new();
    let mut submit = String::from(
        "#!/bin/sh\n# Submits a job for each node: pinned, exclusive, never requeued.\nset -e\ncd \"$(dirname \"$0\")\"\n",
    );
    for planned in &plan.hosts {
        let host = &planned.host.name;
        let name = format!("iotax-{}-{host}", plan.id);
        let options: String = options.iter().map(|option| format!("#SBATCH {option}\n")).collect();
        let head = format!(
            "#SBATCH --partition={partition}\n#SBATCH --nodelist={host}\n#SBATCH --nodes=1 --ntasks=1\n#SBATCH --exclusive --no-requeue\n\
             #SBATCH --job-name={name}\n#SBATCH --output=/dev/null --chdir=/\n{options}"
        );
        let script = batch_script(&folder.join("program"), &folder.join("hosts").join(host), &name);
        let script = script.replacen("#!/bin/sh\n", &format!("#!/bin/sh\n{head}"), 1);
        files.push(EmittedFile::script(format!("jobs/{host}.sh"), script));
        submit += &format!("sbatch --parsable jobs/{host}.sh\n");
    }
    files.push(EmittedFile::script("submit.sh", submit));
    files
}

fn next(_plan: &FleetPlan, folder: &Path) -> Vec<String> {
    vec![
        shell::path(folder.join("submit.sh")),
        format!("iotax fleet gather {}", shell::path(folder)),
    ]
}
