//! Files for people who run fleets with their own tools. Each kind is a file and an entry. The
//! emitted folder is the folder of a fleet: results arrive in it, and `iotax fleet gather` and
//! `report` read it, whoever ran the tasks.

mod ansible;
mod kubernetes;
mod ramble;
mod reframe;
mod slurm;

use crate::committed::make_folder;
use crate::plan::{EngineChoice, FleetFolder, FleetPlan, Ticket, TicketPhase};
use crate::task::TaskFolder;
use iotax_store::StoreError;
use iotax_units::exit::Failed;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A kind of files.
pub struct EmitKind {
    pub name: &'static str,
    pub about: &'static str,
    /// Engines of which a fleet may be; the others have no use for the files.
    fits: fn(&EngineChoice) -> bool,
    /// Why a fleet of another engine is refused.
    misfit: &'static str,
    /// True if a task's folder is in the emitted folder, on a file system that all hosts see.
    shares_folder: bool,
    files: fn(&FleetPlan, &Path) -> Vec<EmittedFile>,
    /// Commands that run the tasks.
    next: fn(&FleetPlan, &Path) -> Vec<String>,
}

pub const ALL: &[&EmitKind] = &[
    &ansible::ANSIBLE,
    &slurm::SLURM,
    &kubernetes::KUBERNETES,
    &ramble::RAMBLE,
    &reframe::REFRAME,
];

/// A file that is emitted.
#[derive(Clone, Debug, PartialEq, Eq)]
struct EmittedFile {
    path: PathBuf,
    text: String,
    is_script: bool,
}

impl EmittedFile {
    fn new(path: impl Into<PathBuf>, text: String) -> EmittedFile {
        EmittedFile { path: path.into(), text, is_script: false }
    }

    fn script(path: impl Into<PathBuf>, text: String) -> EmittedFile {
        EmittedFile { path: path.into(), text, is_script: true }
    }
}

/// Returns the kind of that name.
pub fn kind_by_name(name: &str) -> Option<&'static EmitKind> {
    ALL.iter().copied().find(|kind| kind.name == name)
}

/// Writes the files of a kind, the tasks and the program into a new folder. Returns the commands
/// that run them.
///
/// # Errors
/// Bad input: the folder has files, or the fleet is for another engine. Or it cannot be written.
pub fn emit_files(
    kind: &EmitKind,
    plan: &mut FleetPlan,
    folder: &Path,
) -> Result<Vec<String>, Failed> {
    if !(kind.fits)(&plan.engine) {
        return Err(Failed::input(kind.misfit));
    }
    if folder.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Failed::input(format!(
            "{} has files; hint: name a new folder",
            folder.display()
        )));
    }
    let is_run_by_others = matches!(plan.engine, EngineChoice::Ssh);
    if is_run_by_others {
        plan.engine = EngineChoice::Emitted;
    }
    let own = FleetFolder::create_at(folder, plan)?;
    let folder = own.path().to_owned();
    let written = |error: std::io::Error| Failed::from(StoreError::system("write", &folder, error));
    std::fs::copy("/proc/self/exe", folder.join("program")).map_err(written)?;
    std::fs::set_permissions(folder.join("program"), Permissions::from_mode(0o755))
        .map_err(written)?;
    for planned in &plan.hosts {
        let host = own.host(&planned.host.name)?;
        let mut task = plan.task(planned, 1);
        if kind.shares_folder {
            task.runs = Some(
                Path::new("/var/tmp").join(format!("iotax-{}-{}", plan.id, planned.host.name)),
            );
        }
        TaskFolder::open(host.path())?.write_task(&task)?;
        if !is_run_by_others {
            host.write_ticket(&Ticket {
                phase: TicketPhase::Sent,
                leaves: true,
                ..Ticket::new(1)
            })?;
        }
    }
    for file in (kind.files)(plan, &folder) {
        let path = folder.join(&file.path);
        if let Some(parent) = path.parent() {
            make_folder(parent)?;
        }
        std::fs::write(&path, file.text).map_err(written)?;
        let mode = if file.is_script { 0o755 } else { 0o644 };
        std::fs::set_permissions(&path, Permissions::from_mode(mode)).map_err(written)?;
    }
    Ok((kind.next)(plan, &folder))
}

/// Returns the names of the hosts as lines of a YAML list.
fn yaml_names(plan: &FleetPlan, indent: usize) -> String {
    let line = |name: &str| format!("{:indent$}- {name}\n", "");
    plan.hosts.iter().map(|planned| line(&planned.host.name)).collect()
}

/// Returns the names of the hosts as a list of Python.
fn python_names(plan: &FleetPlan) -> String {
    let names: Vec<String> =
        plan.hosts.iter().map(|planned| format!("\"{}\"", planned.host.name)).collect();
    format!("[{}]", names.join(", "))
}

/// Returns true for fleets whose hosts are known by name only, so that any tool can reach them.
fn is_by_name(engine: &EngineChoice) -> bool {
    matches!(engine, EngineChoice::Ssh | EngineChoice::Slurm { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::FleetHost;
    use crate::plan::PlannedHost;
    use crate::plan::PodSettings;
    use crate::task::FORMAT;
    use iotax_model::scenario::Scenario;

    fn plan(engine: EngineChoice) -> FleetPlan {
        let host = |name: &str| PlannedHost {
            host: FleetHost::new(name).unwrap(),
            scenario: 0,
            consent: Vec::new(),
        };
        FleetPlan {
            format: FORMAT,
            id: "20261129-000000-abcd".into(),
            made_at: "2026-11-29T00:00:00Z".into(),
            iotax: "0.1.0".into(),
            source: "hosts".into(),
            engine,
            parallel: 32,
            scenarios: vec![Scenario::default()],
            hosts: vec![host("n1"), host("n2")],
        }
    }

    fn engine_for(kind: &EmitKind) -> EngineChoice {
        let engines = [
            EngineChoice::Ssh,
            EngineChoice::Slurm { partition: "all".into(), options: vec!["--account=x".into()] },
            EngineChoice::Kubernetes(PodSettings {
                namespace: "default".into(),
                image: "registry.example/iotax:1".into(),
                pull_policy: "IfNotPresent".into(),
            }),
        ];
        engines.into_iter().find(|engine| (kind.fits)(engine)).unwrap()
    }

    #[test]
    fn each_kind_has_its_files() {
        for kind in ALL {
            let plan = plan(engine_for(kind));
            let folder = Path::new("/shared/fleet");
            let shown = |file: &EmittedFile| format!("== {}\n{}", file.path.display(), file.text);
            let files: Vec<String> = (kind.files)(&plan, folder).iter().map(shown).collect();
            let next = (kind.next)(&plan, folder).join("\n");
            insta::assert_snapshot!(kind.name, format!("{}\n== then\n{next}", files.join("\n")));
        }
    }

    #[test]
    fn a_folder_with_files_and_a_fleet_of_another_engine_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("x"), "").unwrap();
        let kind = kind_by_name("ansible").unwrap();
        let refused =
            |plan: &mut FleetPlan| emit_files(kind, plan, folder.path()).unwrap_err().message;
        assert!(refused(&mut plan(EngineChoice::Ssh)).contains("has files"));
        assert!(refused(&mut plan(engine_for(kind_by_name("k8s").unwrap()))).contains("ansible"));
    }
}
