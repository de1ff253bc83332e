//! Manifests of the pods of a fleet: a Job with its task in a ConfigMap, and a reader.

use crate::committed::sum_of;
use crate::plan::{PlannedHost, PodSettings};
use iotax_model::scenario::Scenario;
use iotax_model::stack::Medium;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The program in the image.
pub(crate) const PROGRAM: &str = "/usr/bin/iotax";
/// Folder of fleets on the disk of a node, at the same path in its pods.
const NODE_FOLDER: &str = "/var/lib/iotax";
/// Seconds that a task waits for its result to be fetched, before its pod ends.
const HOLDS_S: u32 = 600;
/// Seconds after which a reader pod ends.
const READER_S: u32 = 3600;
/// Seconds that a task has to undo what it made, when its pod is deleted.
const GRACE_S: u32 = 300;
/// Longest name of a Job: it is a label of its pods.
const LONGEST_NAME: usize = 63;

/// Names of what a fleet has in Kubernetes for one node.
pub(crate) struct NodePods {
    fleet: String,
    host: String,
    name: String,
}

impl NodePods {
    pub(crate) fn new(fleet: &str, host: &str) -> NodePods {
        let plain = format!("iotax-{fleet}-{}", host.to_ascii_lowercase().replace(['.', '_'], "-"));
        let is_own = plain.len() <= LONGEST_NAME
            && !host.contains(['.', '_'])
            && host == host.to_ascii_lowercase();
        let name = match is_own {
            true => plain,
            false => format!("iotax-{fleet}-{}", &sum_of(host.as_bytes())[..12]),
        };
        NodePods { fleet: fleet.to_owned(), host: host.to_owned(), name }
    }

    /// Selects all of this node and fleet.
    pub(super) fn label(&self) -> String {
        format!("iotax/name={}", self.name)
    }

    pub(super) fn task_label(&self) -> String {
        format!("{},iotax/role=task", self.label())
    }

    pub(super) fn reader_label(&self) -> String {
        format!("{},iotax/role=reader", self.label())
    }

    /// Returns the folder of the task on the node.
    pub(super) fn folder(&self) -> PathBuf {
        Path::new(NODE_FOLDER).join("fleet").join(&self.fleet).join(&self.host)
    }

    fn labels(&self, role: &str) -> Value {
        json!({"app": "iotax", "iotax/fleet": self.fleet, "iotax/name": self.name, "iotax/role": role})
    }
}

/// Returns the ConfigMap and the Job of a node's task.
pub(crate) fn task(
    pods: &NodePods,
    settings: &PodSettings,
    planned: &PlannedHost,
    scenario: Option<&Scenario>,
    task: &[u8],
) -> Value {
    let folder = pods.folder().display().to_string();
    let words = [
        "fleet",
        "task",
        "perform",
        &folder,
        "--task",
        "/task/task.json",
        "--hold",
        &HOLDS_S.to_string(),
    ];
    let mut pod = pod_spec(pods, settings, planned, scenario, &words);
    add_volume(&mut pod, "task", Path::new("/task"), ("configMap", json!({"name": pods.name})));
    // Two tasks on one node would disturb each other.
    pod["affinity"]["podAntiAffinity"] = json!({"requiredDuringSchedulingIgnoredDuringExecution": [{
        "labelSelector": {"matchLabels": {"app": "iotax", "iotax/role": "task"}},
        "topologyKey": "kubernetes.io/hostname",
        "namespaceSelector": {},
    }]});
    let job = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": pods.name, "namespace": settings.namespace, "labels": pods.labels("task")},
        "spec": {
            "completions": 1,
            // Never retried: a retry would write the drives again.
            "backoffLimit": 0,
            "podReplacementPolicy": "Failed",
            "template": {"metadata": {"labels": pods.labels("task")}, "spec": pod},
        },
    });
    let map = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": pods.name, "namespace": settings.namespace, "labels": pods.labels("task")},
        "data": {"task.json": String::from_utf8_lossy(task)},
    });
    json!({"apiVersion": "v1", "kind": "List", "items": [map, job]})
}

/// Returns a pod that reads what a task has left on its node, and undoes what a killed one made. It
/// sees what the task saw.
pub(super) fn reader(
    pods: &NodePods,
    settings: &PodSettings,
    planned: &PlannedHost,
    scenario: Option<&Scenario>,
) -> Value {
    let folder = pods.folder().display().to_string();
    let words = ["fleet", "task", "hold", &folder, "--hold", &READER_S.to_string()];
    let name = format!("{}-r", pods.name.get(..61).unwrap_or(&pods.name));
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": settings.namespace, "labels": pods.labels("reader")},
        "spec": pod_spec(pods, settings, planned, scenario, &words),
    })
}

/// Adds a volume of one source, mounted at a path.
fn add_volume(pod: &mut Value, name: &str, at: &Path, source: (&str, Value)) {
    if let Some(mounts) = pod["containers"][0]["volumeMounts"].as_array_mut() {
        mounts.push(json!({"name": name, "mountPath": at}));
    }
    if let Some(volumes) = pod["volumes"].as_array_mut() {
        volumes.push(json!({"name": name, source.0: source.1}));
    }
}

fn pod_spec(
    pods: &NodePods,
    settings: &PodSettings,
    planned: &PlannedHost,
    scenario: Option<&Scenario>,
    words: &[&str],
) -> Value {
    let node = json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [planned.host.name]}]}]);
    let command: Vec<&str> = std::iter::once(PROGRAM).chain(words.iter().copied()).collect();
    let mut pod = json!({
        "restartPolicy": "Never",
        // Processes and networks of the node are what the guard and the facts are about.
        "hostPID": true,
        "hostNetwork": true,
        "automountServiceAccountToken": false,
        "terminationGracePeriodSeconds": GRACE_S,
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": node}}},
        "containers": [{
            "name": "iotax",
            "image": settings.image,
            "imagePullPolicy": settings.pull_policy,
            "command": command,
            "env": [{"name": "IOTAX_FLEET_HOST", "value": pods.host}],
            "volumeMounts": [
                {"name": "iotax", "mountPath": NODE_FOLDER},
                {"name": "temporary", "mountPath": "/tmp"},
            ],
        }],
        "volumes": [
            {"name": "iotax", "hostPath": {"path": NODE_FOLDER, "type": "DirectoryOrCreate"}},
            {"name": "temporary", "emptyDir": {}},
        ],
    });
    let needs = scenario.map(NodeNeeds::of_scenario).unwrap_or_default();
    for (at, path) in needs.folders.iter().enumerate() {
        // A folder of files must be there; nothing is made on the node.
        let kind = if path == Path::new("/dev") { "" } else { "Directory" };
        let source = ("hostPath", json!({"path": path, "type": kind}));
        add_volume(&mut pod, &format!("path-{at}"), path, source);
    }
    if needs.privileged {
        pod["containers"][0]["securityContext"] = json!({"privileged": true});
    }
    pod
}

/// What a scenario needs of its node.
#[derive(Debug, Default, PartialEq, Eq)]
struct NodeNeeds {
    /// Folders of the node that the pod sees at the same paths.
    folders: BTreeSet<PathBuf>,
    /// True for devices, and for layers, which make them.
    privileged: bool,
}

impl NodeNeeds {
    fn of_scenario(scenario: &Scenario) -> NodeNeeds {
        let mut needs = NodeNeeds::default();
        for stack in &scenario.stacks {
            needs.privileged |= !stack.layers.is_empty();
            needs.add_medium(&stack.medium);
        }
        if needs.privileged {
            needs.folders.insert("/dev".into());
        }
        needs
    }

    fn add_medium(&mut self, medium: &Medium) {
        match medium {
            Medium::File { path, .. } => self.folders.extend(path.parent().map(Path::to_owned)),
            Medium::Device { .. } => self.privileged = true,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::FleetHost;

    #[test]
    fn the_job_of_a_node() {
        let settings = PodSettings {
            namespace: "default".into(),
            image: "registry.example/iotax:1".into(),
            pull_policy: "IfNotPresent".into(),
        };
        let host = FleetHost::new("node1.example").unwrap();
        let planned = PlannedHost { host, scenario: 0, consent: Vec::new() };
        let pods = NodePods::new("20261129-000000-abcd", "node1.example");
        let manifest = task(&pods, &settings, &planned, None, b"{}");
        insta::assert_json_snapshot!(manifest);
    }

    /// Returns where a value does not fit a part of the schema: enough of JSON Schema for
    /// job-schema.json, which was made from the OpenAPI of Kubernetes 1.34.
    fn misfits(schema: &Value, part: &Value, value: &Value, at: &str) -> Vec<String> {
        if let Some(name) = part["$ref"].as_str() {
            let name = name.trim_start_matches("#/definitions/");
            return misfits(schema, &schema["definitions"][name], value, at);
        }
        let is_of = |kind: &str| match kind {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            _ => false,
        };
        let kinds: Vec<&str> = match &part["type"] {
            Value::String(kind) => vec![kind],
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let mut all = Vec::new();
        if !kinds.is_empty() && !kinds.into_iter().any(is_of) {
            all.push(format!("{at}: another type"));
        }
        for (key, inner) in value.as_object().into_iter().flatten() {
            let at = format!("{at}.{key}");
            match (&part["properties"][key], &part["additionalProperties"]) {
                (Value::Null, Value::Object(_)) => {
                    all.extend(misfits(schema, &part["additionalProperties"], inner, &at))
                }
                (Value::Null, _) => all.push(format!("{at}: unknown")),
                (known, _) => all.extend(misfits(schema, known, inner, &at)),
            }
        }
        for (index, inner) in value.as_array().into_iter().flatten().enumerate() {
            all.extend(misfits(schema, &part["items"], inner, &format!("{at}[{index}]")));
        }
        let required = part["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        all.extend(
            required.filter(|key| value[*key].is_null()).map(|key| format!("{at}.{key}: missing")),
        );
        all
    }

    #[test]
    fn the_server_s_schema_knows_every_field_of_a_job() {
        let schema: Value = serde_json::from_str(include_str!("../emit/job-schema.json")).unwrap();
        let settings =
            PodSettings { namespace: "a".into(), image: "b".into(), pull_policy: "Never".into() };
        let host = FleetHost::new("n1").unwrap();
        let planned = PlannedHost { host, scenario: 0, consent: Vec::new() };
        let mut manifest = task(&NodePods::new("f", "n1"), &settings, &planned, None, b"{}");
        let job = &mut manifest["items"][1];
        assert_eq!(misfits(&schema, &schema, job, "job"), Vec::<String>::new());
        job["spec"]["template"]["spec"]["backoffLimit"] = json!("none");
        job["spec"]["backoffLimit"] = json!("none");
        let found = misfits(&schema, &schema, job, "job");
        assert_eq!(
            found,
            ["job.spec.backoffLimit: another type", "job.spec.template.spec.backoffLimit: unknown"]
        );
    }

    #[test]
    fn names_are_short_and_differ() {
        let name = |host: &str| NodePods::new("20261129-000000-abcd", host).name;
        assert_eq!(name("k1"), "iotax-20261129-000000-abcd-k1");
        assert_ne!(name("a.b"), name("a-b"));
        assert!(name(&"n".repeat(200)).len() <= LONGEST_NAME);
    }
}
