//! Kubernetes: one Job for each node, pinned, that is tried once. The task's folder is on a disk of
//! the node (hostPath), so it outlives pods, and a second start of the task finds it. Results come
//! by `kubectl exec` from the pod, which waits to be asked, or from a reader pod on the same node.

use super::fleet_engine::{FleetEngine, FleetRun, HostErrand};
use super::host_shell::{ScriptOutput, ShellAnswer, run_script};
use super::kube_manifest::{self, NodePods};
use super::task_link::{ANSWER_LIMIT, TaskAnswer, TaskLink};
use super::tools::{ENGINE_LIMIT, run_tool};
use crate::host_look::{HostLook, LookPurpose};
use crate::host_state::{HostReport, HostState};
use crate::inventory::FleetHost;
use crate::plan::{PlannedHost, PodSettings, Ticket, TicketPhase};
use crate::task::AttemptState;
use iotax_model::scenario::Scenario;
use iotax_units::exit::Failed;
use serde_json::Value;
use std::io::Read;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time for a pod that is scheduled to start.
const POD_LIMIT: Duration = Duration::from_secs(120);
const LOOKS_EVERY: Duration = Duration::from_millis(500);
/// Reasons why a container does not start, and never will.
const NEVER_STARTS: [&str; 7] = [
    "ErrImageNeverPull",
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
];

/// Fleets on the nodes of a Kubernetes cluster.
pub struct KubernetesEngine {
    pub pods: PodSettings,
}

/// Returns the nodes that a label selector selects; all for an empty one.
///
/// # Errors
/// Bad input: there is none. An unmet need: Kubernetes does not answer.
pub fn nodes_of(selector: &str) -> Result<Vec<FleetHost>, Failed> {
    let mut words = vec!["get", "nodes", "-o", "json", "--request-timeout=20s"];
    if !selector.is_empty() {
        words.extend(["-l", selector]);
    }
    let text = run_tool("kubectl", &words, None, ENGINE_LIMIT).map_err(|why| {
        Failed::need(format!(
            "cannot ask Kubernetes: {why}; hint: install kubectl, and set KUBECONFIG"
        ))
    })?;
    let listed: Value = serde_json::from_str(&text).unwrap_or_default();
    let nodes = listed["items"].as_array().cloned().unwrap_or_default();
    if nodes.is_empty() {
        return Err(Failed::input(format!(
            "the selector \"{}\" selects no node; hint: kubectl get nodes --show-labels",
            selector.escape_debug()
        )));
    }
    let name = |node: &Value| node["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    nodes.iter().map(|node| FleetHost::new(&name(node)).map_err(Failed::input)).collect()
}

impl KubernetesEngine {
    fn connect<'a>(&'a self, run: &'a FleetRun, planned: &'a PlannedHost) -> KubeHost<'a> {
        let scenario = run.plan.scenarios.get(planned.scenario);
        KubeHost {
            settings: &self.pods,
            run,
            planned,
            scenario,
            pods: NodePods::new(&run.plan.id, &planned.host.name),
            pod: Mutex::new(None),
        }
    }
}

/// A node that is being asked.
struct KubeHost<'a> {
    settings: &'a PodSettings,
    run: &'a FleetRun<'a>,
    planned: &'a PlannedHost,
    scenario: Option<&'a Scenario>,
    pods: NodePods,
    /// Pod that answers.
    pod: Mutex<Option<String>>,
}

/// What a pod does.
#[derive(Debug, PartialEq, Eq)]
enum PodState {
    /// There is none.
    Absent,
    /// It does not run yet; the reason, if there is one.
    Pending(String),
    Running(String),
    /// It has ended or is ending.
    Over,
}

impl KubeHost<'_> {
    fn kubectl(&self, words: &[&str], input: Option<&[u8]>) -> Result<String, String> {
        let namespace = ["-n", &self.settings.namespace, "--request-timeout=30s"];
        run_tool("kubectl", &[&namespace[..], words].concat(), input, ENGINE_LIMIT)
    }

    /// Returns the state of the pods with a label.
    fn pod_state(&self, label: &str) -> Result<PodState, String> {
        let text = self.kubectl(&["get", "pods", "-l", label, "-o", "json"], None)?;
        let listed: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        Ok(state_of_pods(listed["items"].as_array().map_or(&[], Vec::as_slice)))
    }

    fn node_fault(&self) -> Result<(), String> {
        let text = self.kubectl(&["get", "node", &self.planned.host.name, "-o", "json"], None)?;
        let node: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let conditions = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let ready = conditions.iter().find(|one| one["type"] == "Ready");
        match ready.and_then(|one| one["status"].as_str()) {
            Some("True") => Ok(()),
            state => Err(format!("the node is not ready (Ready={})", state.unwrap_or("unknown"))),
        }
    }

    /// Finds the pod of the task, or starts a reader pod on its node.
    ///
    /// # Errors
    /// Says why there is no way to the node.
    fn attach(&self) -> Result<(), String> {
        let keep =
            |name: String| *self.pod.lock().unwrap_or_else(PoisonError::into_inner) = Some(name);
        if let PodState::Running(name) = self.pod_state(&self.pods.task_label())? {
            keep(name);
            return Ok(());
        }
        self.node_fault()?;
        if self.pod_state(&self.pods.reader_label())? == PodState::Absent {
            let manifest =
                kube_manifest::reader(&self.pods, self.settings, self.planned, self.scenario);
            self.kubectl(&["create", "-f", "-"], Some(manifest.to_string().as_bytes()))?;
        }
        let begun = Instant::now();
        loop {
            match self.pod_state(&self.pods.reader_label())? {
                PodState::Running(name) => {
                    keep(name);
                    return Ok(());
                }
                PodState::Pending(why) if begun.elapsed() > POD_LIMIT || is_hopeless(&why) => {
                    return Err(format!("a pod on its node does not start: {why}"));
                }
                PodState::Absent | PodState::Over if begun.elapsed() > POD_LIMIT => {
                    return Err("the pod that reads results ended before it could be used".into());
                }
                _ => std::thread::sleep(LOOKS_EVERY),
            }
        }
    }

    /// Waits until the pod of the task runs.
    ///
    /// # Errors
    /// The report of a node on which it does not.
    fn await_pod(&self) -> Result<(), HostReport> {
        let begun = Instant::now();
        loop {
            match self.pod_state(&self.pods.task_label()) {
                Ok(PodState::Running(name)) => {
                    *self.pod.lock().unwrap_or_else(PoisonError::into_inner) = Some(name);
                    return Ok(());
                }
                // Its folder shows what it has done.
                Ok(PodState::Over) => return Ok(()),
                Ok(PodState::Pending(why)) if is_hopeless(&why) || begun.elapsed() > POD_LIMIT => {
                    // What is left is removed by `clean`; the reason counts here.
                    let _ = self.release();
                    let next = format!(
                        "kubectl describe node {}; then: {}",
                        self.planned.host.name,
                        self.run.resume()
                    );
                    let next = if is_hopeless(&why) {
                        format!(
                            "make the image {} available to the node (--image, --pull-policy), then: {}",
                            self.settings.image,
                            self.run.resume()
                        )
                    } else {
                        next
                    };
                    return Err(HostReport::new(
                        HostState::NeverStarted,
                        format!("the pod does not start: {why}"),
                        next,
                    ));
                }
                Ok(PodState::Absent) if begun.elapsed() > POD_LIMIT => {
                    let limit = POD_LIMIT.as_secs();
                    let why = format!("Kubernetes created no pod for the Job within {limit} s");
                    return Err(self.never_started(why));
                }
                Err(why) if begun.elapsed() > self.run.patience.max(POD_LIMIT) => {
                    return Err(self.run.unanswered(&why));
                }
                _ => std::thread::sleep(LOOKS_EVERY),
            }
        }
    }
}

fn is_hopeless(why: &str) -> bool {
    NEVER_STARTS.iter().any(|reason| why.starts_with(reason))
}

fn state_of_pods(pods: &[Value]) -> PodState {
    let Some(pod) = pods.iter().max_by_key(|pod| pod["metadata"]["creationTimestamp"].as_str())
    else {
        return PodState::Absent;
    };
    let name = pod["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    if !pod["metadata"]["deletionTimestamp"].is_null() {
        return PodState::Over;
    }
    let status = &pod["status"];
    match status["phase"].as_str() {
        Some("Running") if status["containerStatuses"][0]["state"]["running"].is_object() => {
            PodState::Running(name)
        }
        Some("Succeeded" | "Failed" | "Running") => PodState::Over,
        _ => {
            let waiting = &status["containerStatuses"][0]["state"]["waiting"];
            let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
            let unscheduled = conditions
                .iter()
                .find(|one| one["type"] == "PodScheduled" && one["status"] == "False");
            let source = if waiting.is_object() { waiting } else { unscheduled.unwrap_or(waiting) };
            let text = |key: &str| source[key].as_str().unwrap_or_default();
            PodState::Pending(
                format!("{}: {}", text("reason"), text("message"))
                    .trim_end_matches(": ")
                    .to_owned(),
            )
        }
    }
}

impl TaskLink for KubeHost<'_> {
    fn fleet_run(&self) -> &FleetRun<'_> {
        self.run
    }

    fn prepare(&self, ticket: &Ticket) -> Result<Option<i64>, HostReport> {
        let made =
            if ticket.phase == TicketPhase::Prepared { self.node_fault() } else { self.attach() };
        made.map(|()| None).map_err(|why| self.never_started(why))
    }

    fn ask_first(&self, ticket: &Ticket) -> Result<TaskAnswer, HostReport> {
        if ticket.phase == TicketPhase::Prepared {
            return Ok(TaskAnswer { attempt: 0, state: AttemptState::New, log: None });
        }
        let begun = Instant::now();
        loop {
            match self.ask("wait --seconds 0", None, ANSWER_LIMIT) {
                Ok(answer) => return Ok(answer),
                Err(fault) if begun.elapsed() > POD_LIMIT => return Err(self.unanswered(fault)),
                // A node that is just back still lists a pod that is gone.
                Err(_) => self.reach_again(),
            }
            std::thread::sleep(LOOKS_EVERY);
        }
    }

    fn program(
        &self,
        action: &str,
        input: Option<Box<dyn Read + Send>>,
        output: ScriptOutput,
        limit: Duration,
    ) -> std::io::Result<ShellAnswer> {
        let pod = self.pod.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let pod =
            pod.ok_or_else(|| std::io::Error::other("no pod of this fleet runs on the node"))?;
        let mut command = Command::new("kubectl");
        command.args(["-n", &self.settings.namespace, "exec"]);
        if input.is_some() {
            command.arg("-i");
        }
        command.args([pod.as_str(), "--", kube_manifest::PROGRAM, "fleet", "task"]);
        command.args(action.split(' ')).arg(self.pods.folder());
        run_script(&mut command, input, output, limit)
    }

    fn begin(&self, task: Vec<u8>) -> Result<TaskAnswer, HostReport> {
        let manifest =
            kube_manifest::task(&self.pods, self.settings, self.planned, self.scenario, &task);
        // A Job of an earlier attempt would be taken for this one.
        self.release().map_err(|why| self.never_started(why))?;
        self.kubectl(&["create", "-f", "-"], Some(manifest.to_string().as_bytes()))
            .map_err(|why| self.never_started(why))?;
        self.await_pod()?;
        let begun = Instant::now();
        loop {
            match self.ask("wait --seconds 0", None, ANSWER_LIMIT) {
                Ok(answer) if answer.state != AttemptState::New => return Ok(answer),
                Err(fault) if begun.elapsed() > POD_LIMIT => return Err(self.unanswered(fault)),
                Ok(_) if begun.elapsed() > POD_LIMIT => {
                    let log =
                        self.kubectl(&["logs", "-l", &self.pods.task_label(), "--tail=3"], None);
                    return Err(self.never_started(format!(
                        "the task did not begin: {}",
                        log.unwrap_or_default().trim()
                    )));
                }
                Ok(_) => {}
                Err(_) => self.reach_again(),
            }
            std::thread::sleep(LOOKS_EVERY);
        }
    }

    fn reach_again(&self) {
        // The question that follows shows whether it helped.
        let _ = self.attach();
    }

    fn release(&self) -> Result<(), String> {
        let label = self.pods.label();
        self.kubectl(
            &["delete", "job,pod,configmap", "-l", &label, "--wait=true", "--timeout=25s"],
            None,
        )
        .map(drop)
    }
}

impl FleetEngine for KubernetesEngine {
    fn look(
        &self,
        run: &FleetRun,
        planned: &PlannedHost,
        purpose: LookPurpose,
    ) -> Result<HostLook, HostReport> {
        let host = self.connect(run, planned);
        host.node_fault().map_err(|why| host.never_started(why))?;
        if planned.consent.is_empty() && purpose == LookPurpose::Start {
            return Ok(HostLook::default());
        }
        let attached = host.attach().map_err(|why| host.never_started(why));
        let look = attached.and_then(|()| host.ask_look(planned, purpose));
        // A reader pod that stays ends by itself.
        let _ = host.release();
        let mut look = look?;
        // The names of nodes are those of Kubernetes: no two of them are one node.
        look.machine.folder = None;
        Ok(look)
    }

    fn carry_out(&self, errand: &HostErrand, ticket: &mut Ticket) -> HostReport {
        let host = self.connect(errand.run, errand.planned);
        host.bring_to_end(errand, ticket).unwrap_or_else(|report| report)
    }

    fn status(&self, errand: &HostErrand, ticket: &Ticket) -> HostReport {
        let host = self.connect(errand.run, errand.planned);
        match host.attach() {
            Ok(()) => host.current_state(errand, ticket),
            Err(why) => errand.run.unanswered(&why),
        }
    }

    fn cancel(&self, errand: &HostErrand, _ticket: &Ticket) -> Result<(), HostReport> {
        let host = self.connect(errand.run, errand.planned);
        host.attach().map_err(|why| errand.run.unanswered(&why))?;
        host.ask("cancel", None, ANSWER_LIMIT).map(drop).map_err(|fault| host.unanswered(fault))
    }

    fn clean(&self, errand: &HostErrand, _ticket: &Ticket) -> Result<(), String> {
        let host = self.connect(errand.run, errand.planned);
        host.attach()?;
        if host.ask("wait --seconds 0", None, ANSWER_LIMIT).is_ok() {
            host.clean_up()?;
            host.remove()?;
        }
        host.release()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state_in(sample: &str) -> PodState {
        let list: Value = serde_json::from_str(sample).unwrap();
        let items = list["items"].as_array().unwrap();
        let pods: Vec<Value> = items.iter().filter(|item| item["kind"] == "Pod").cloned().collect();
        state_of_pods(&pods)
    }

    #[test]
    fn pods_of_a_real_cluster_are_read() {
        let pending = |sample: &str| match state_in(sample) {
            PodState::Pending(why) => why,
            other => panic!("{other:?}"),
        };
        assert!(matches!(state_in(include_str!("samples/running.json")), PodState::Running(_)));
        assert_eq!(state_in(include_str!("samples/failed-rc3.json")), PodState::Over);
        assert_eq!(state_in(include_str!("samples/evicted.json")), PodState::Absent);
        assert_eq!(state_in(include_str!("samples/node-killed.json")), PodState::Over);
        let missing = pending(include_str!("samples/image-missing-never.json"));
        assert!(is_hopeless(&missing), "{missing}");
        let cordoned = pending(include_str!("samples/pending-cordoned.json"));
        assert!(cordoned.starts_with("Unschedulable: ") && !is_hopeless(&cordoned), "{cordoned}");
    }
}
