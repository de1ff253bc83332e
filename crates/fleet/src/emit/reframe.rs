//! A check of ReFrame with one test for each host. The emitted folder must be on a file system that
//! all hosts see.

use super::{EmitKind, EmittedFile, is_by_name, python_names};
use crate::plan::FleetPlan;
use iotax_units::shell;
use std::path::Path;

pub(super) const REFRAME: EmitKind = EmitKind {
    name: "reframe",
    about: "a check of ReFrame",
    fits: is_by_name,
    misfit: "ReFrame runs where Slurm or a shell does; hint: --hosts with a list, or slurm:PARTITION",
    shares_folder: true,
    files,
    next,
};

fn files(plan: &FleetPlan, folder: &Path) -> Vec<EmittedFile> {
    let text = include_str!("reframe_check.py")
        .replace("@FOLDER@", &format!("{:?}", folder.display().to_string()))
        .replace("@HOSTS@", &python_names(plan));
    vec![EmittedFile::new("iotax_check.py", text)]
}

fn next(_plan: &FleetPlan, folder: &Path) -> Vec<String> {
    let check = shell::path(folder.join("iotax_check.py"));
    vec![
        format!("reframe -c {check} -r --performance-report"),
        format!("iotax fleet gather {}", shell::path(folder)),
    ]
}
