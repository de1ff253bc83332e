//! Manifests for Kubernetes. Results stay on the nodes until they are gathered.

use super::{EmitKind, EmittedFile};
use crate::engine::kube_manifest::{self, NodePods};
use crate::plan::{EngineChoice, FleetPlan};
use iotax_units::shell;
use serde_json::{Value, json};
use std::path::Path;

pub(super) const KUBERNETES: EmitKind = EmitKind {
    name: "k8s",
    about: "manifests",
    fits: |engine| matches!(engine, EngineChoice::Kubernetes(_)),
    misfit: "manifests are for the nodes of a cluster; hint: --hosts k8s:SELECTOR --image IMAGE",
    shares_folder: false,
    files,
    next,
};

fn files(plan: &FleetPlan, _folder: &Path) -> Vec<EmittedFile> {
    let EngineChoice::Kubernetes(settings) = &plan.engine else { return Vec::new() };
    let mut items: Vec<Value> = Vec::new();
    for planned in &plan.hosts {
        let pods = NodePods::new(&plan.id, &planned.host.name);
        let task = serde_json::to_vec(&plan.task(planned, 1)).unwrap_or_default();
        let mut list = kube_manifest::task(
            &pods,
            settings,
            planned,
            plan.scenarios.get(planned.scenario),
            &task,
        );
        items.extend(list["items"].as_array_mut().map(std::mem::take).unwrap_or_default());
    }
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    vec![EmittedFile::new("manifests.json", format!("{list:#}\n"))]
}

fn next(_plan: &FleetPlan, folder: &Path) -> Vec<String> {
    let manifests = shell::path(folder.join("manifests.json"));
    vec![
        format!("kubectl apply -f {manifests}"),
        format!("iotax fleet gather {}", shell::path(folder)),
    ]
}
