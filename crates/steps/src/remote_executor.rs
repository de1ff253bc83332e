//! Steps in another place: the requests to the agent there (the payload of `step`, docs/wire.md),
//! its answers, and the executor here that sends the requests. Its connection is for steps only, so
//! that a step that takes minutes holds up nothing else.

use crate::op::Op;
use crate::place_executor::{Lacking, PlaceExecutor, SharedWatcher, report_progress};
use anyhow::{Context, Result, anyhow};
use iotax_drivers::disk_key::DiskKey;
use iotax_drivers::refusal::{NotOurs, NothingMade};
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::settings::ThingSettings;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::threads::ServingThread;
use iotax_drivers::wait::wait_until;
use iotax_facts::array::ArrayState;
use iotax_host::needs::AskedNeed;
use iotax_host::probe::Probe;
use iotax_units::exit::{Failed, code_of};
use iotax_wire::message::{Response, WireRequest};
use iotax_wire::peer::Peer;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest wait for the end of a guest's QEMU after the guest's stream has ended.
const END_GRACE: Duration = Duration::from_secs(5);

/// Time limit for finding a disk in a place that is busy.
const LOOK_LIMIT: Duration = Duration::from_secs(60);

/// Request about steps to the agent in a place.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum StepRequest {
    BootId,
    /// Asks to add to an operation what must be recorded before it changes anything.
    Observe {
        op: Op,
    },
    Perform {
        op: Op,
        run: RunOfStep,
    },
    /// Asks for what an interrupted attempt made.
    Find {
        op: Op,
        run: RunOfStep,
        /// Outputs of other steps in that place, which are not what is searched for.
        others: Vec<StepOutput>,
    },
    Undo {
        op: Op,
        run: RunOfStep,
        made: StepOutput,
    },
    State {
        op: Op,
        made: StepOutput,
    },
    Settings {
        op: Op,
        made: StepOutput,
    },
    Threads {
        op: Op,
        made: StepOutput,
    },
    Notes,
    /// Asks which of these needs the place does not meet.
    Missing {
        needs: Vec<AskedNeed>,
    },
}

/// Run that a step belongs to, with the run's folder in that place.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunOfStep {
    pub id: String,
    pub dir: PathBuf,
}

impl RunOfStep {
    fn tag(&self) -> RunTag {
        RunTag { run_id: self.id.clone(), run_dir: self.dir.clone() }
    }

    fn from_tag(tag: &RunTag) -> RunOfStep {
        RunOfStep { id: tag.run_id.clone(), dir: tag.run_dir.clone() }
    }
}

/// Answer of the agent to a request about steps.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "told", rename_all = "snake_case")]
pub enum StepAnswer {
    Boot {
        id: String,
    },
    Observed {
        op: Op,
    },
    Made {
        /// Output of the step; `None` after an undo, or if nothing was found.
        made: Option<StepOutput>,
    },
    State {
        /// State; `None` if the thing has no such state.
        now: Option<ArrayState>,
    },
    Settings {
        settings: ThingSettings,
    },
    Threads {
        threads: Vec<ServingThread>,
    },
    Notes {
        notes: Vec<String>,
    },
    Missing {
        /// Index in the request of each need that is not met, and what is missing.
        lacking: Vec<(usize, String)>,
        /// Ids of the place's distribution, by which packages are named.
        distribution: Vec<String>,
    },
    Refused {
        /// The error with all of its causes.
        why: String,
        /// Exit code of the error.
        code: u8,
        /// True for [`NotOurs`]: the thing is left alone.
        #[serde(default)]
        not_ours: bool,
        #[serde(default)]
        nothing_made: bool,
    },
}

/// Answers a request, on the agent's side. A step that fails is an answer, too.
///
/// # Errors
/// If the request is not understood.
pub fn answer(
    executor: &mut dyn PlaceExecutor,
    payload: serde_json::Value,
) -> Result<serde_json::Value> {
    let asked: StepRequest =
        serde_json::from_value(payload).context("cannot understand the step")?;
    let reply = act(executor, asked).unwrap_or_else(|error| StepAnswer::Refused {
        not_ours: error.is::<NotOurs>(),
        nothing_made: error.is::<NothingMade>(),
        code: code_of(&error),
        why: format!("{error:#}"),
    });
    Ok(serde_json::to_value(reply)?)
}

fn act(executor: &mut dyn PlaceExecutor, asked: StepRequest) -> Result<StepAnswer> {
    Ok(match asked {
        StepRequest::BootId => StepAnswer::Boot { id: executor.boot_id()? },
        StepRequest::Observe { op } => StepAnswer::Observed { op: executor.with_observations(op)? },
        StepRequest::Perform { op, run } => {
            StepAnswer::Made { made: Some(executor.perform_operation(&op, &run.tag())?) }
        }
        StepRequest::Find { op, run, others } => {
            StepAnswer::Made { made: executor.find_interrupted(&op, &run.tag(), &others)? }
        }
        StepRequest::Undo { op, run, made } => {
            executor.undo_operation(&op, &run.tag(), &made)?;
            StepAnswer::Made { made: None }
        }
        StepRequest::State { op, made } => {
            StepAnswer::State { now: executor.read_array_state(&op, &made)? }
        }
        StepRequest::Settings { op, made } => {
            StepAnswer::Settings { settings: executor.read_thing_settings(&op, &made)? }
        }
        StepRequest::Threads { op, made } => {
            StepAnswer::Threads { threads: executor.list_serving_threads(&op, &made)? }
        }
        StepRequest::Notes => StepAnswer::Notes { notes: executor.take_remarks() },
        StepRequest::Missing { needs } => {
            let probe = Probe::this_machine(Path::new("/"), iotax_qemu::findings::FINDINGS);
            let Lacking { lacking, distribution } = Lacking::on_machine(&probe, &needs);
            StepAnswer::Missing { lacking, distribution }
        }
    })
}

/// Function that returns true once a place has ended.
pub type Gone = Box<dyn FnMut() -> bool + Send>;

/// Executor in a place that an agent serves.
pub struct RemoteExecutor {
    peer: Peer,
    gone: Gone,
    watcher: Option<SharedWatcher>,
    /// True after the wait for the end of a place whose stream has ended.
    waited: bool,
}

impl RemoteExecutor {
    /// Creates the executor on a connection that has said hello and that nobody else uses. `gone`
    /// returns true once the place has ended, with all that is in it.
    pub fn new(peer: Peer, gone: Gone) -> RemoteExecutor {
        RemoteExecutor { peer, gone, watcher: None, waited: false }
    }

    fn call_agent(&mut self, asked: &StepRequest) -> Result<StepAnswer> {
        let request = WireRequest::Step { payload: serde_json::to_value(asked)? };
        let mut report = |far: serde_json::Value| match (&self.watcher, serde_json::from_value(far))
        {
            (Some(watcher), Ok(progress)) => report_progress(watcher, progress),
            // What is not understood is not shown.
            _ => ControlFlow::Continue(()),
        };
        let payload = match self.peer.call_long(request, &mut report).map_err(Failed::from)? {
            Response::Step { payload } => payload,
            other => return Err(Failed::from(self.peer.unexpected("step", &other)).into()),
        };
        match serde_json::from_value(payload).context("cannot understand the agent's answer")? {
            StepAnswer::Refused { why, not_ours: true, .. } => Err(NotOurs(why).into()),
            StepAnswer::Refused { why, nothing_made: true, .. } => {
                Err(anyhow!(why).context(NothingMade))
            }
            StepAnswer::Refused { why, code, .. } => Err(Failed { code, message: why }.into()),
            answer => Ok(answer),
        }
    }

    fn made_output(&mut self, asked: &StepRequest) -> Result<Option<StepOutput>> {
        match self.call_agent(asked)? {
            StepAnswer::Made { made } => Ok(made),
            other => Err(self.strange(&other)),
        }
    }

    fn strange(&self, answer: &StepAnswer) -> anyhow::Error {
        anyhow!("{} answered a question that was not asked: {answer:?}", self.peer.name())
    }
}

impl PlaceExecutor for RemoteExecutor {
    fn boot_id(&mut self) -> Result<String> {
        match self.call_agent(&StepRequest::BootId)? {
            StepAnswer::Boot { id } => Ok(id),
            other => Err(self.strange(&other)),
        }
    }

    fn locate_disk(&mut self, key: &DiskKey) -> Result<PathBuf> {
        let request = match key {
            DiskKey::Serial(serial) => WireRequest::DiskBySerial { serial: serial.clone() },
            DiskKey::Pci(address) => WireRequest::DiskAtPci { address: address.clone() },
        };
        match self.peer.call(request, LOOK_LIMIT).map_err(Failed::from)? {
            Response::Disk { path } => Ok(path),
            other => Err(Failed::from(self.peer.unexpected("disk", &other)).into()),
        }
    }

    fn with_observations(&mut self, op: Op) -> Result<Op> {
        match self.call_agent(&StepRequest::Observe { op })? {
            StepAnswer::Observed { op } => Ok(op),
            other => Err(self.strange(&other)),
        }
    }

    fn perform_operation(&mut self, op: &Op, tag: &RunTag) -> Result<StepOutput> {
        let made = self
            .made_output(&StepRequest::Perform { op: op.clone(), run: RunOfStep::from_tag(tag) })?;
        made.with_context(|| format!("{} did not report what it made", self.peer.name()))
    }

    fn find_interrupted(
        &mut self,
        op: &Op,
        tag: &RunTag,
        others: &[StepOutput],
    ) -> Result<Option<StepOutput>> {
        self.made_output(&StepRequest::Find {
            op: op.clone(),
            run: RunOfStep::from_tag(tag),
            others: others.to_vec(),
        })
    }

    fn undo_operation(&mut self, op: &Op, tag: &RunTag, made: &StepOutput) -> Result<()> {
        self.made_output(&StepRequest::Undo {
            op: op.clone(),
            run: RunOfStep::from_tag(tag),
            made: made.clone(),
        })
        .map(drop)
    }

    fn read_array_state(&mut self, op: &Op, made: &StepOutput) -> Result<Option<ArrayState>> {
        match self.call_agent(&StepRequest::State { op: op.clone(), made: made.clone() })? {
            StepAnswer::State { now } => Ok(now),
            other => Err(self.strange(&other)),
        }
    }

    fn read_thing_settings(&mut self, op: &Op, made: &StepOutput) -> Result<ThingSettings> {
        match self.call_agent(&StepRequest::Settings { op: op.clone(), made: made.clone() })? {
            StepAnswer::Settings { settings } => Ok(settings),
            other => Err(self.strange(&other)),
        }
    }

    fn list_serving_threads(&mut self, op: &Op, made: &StepOutput) -> Result<Vec<ServingThread>> {
        match self.call_agent(&StepRequest::Threads { op: op.clone(), made: made.clone() })? {
            StepAnswer::Threads { threads } => Ok(threads),
            other => Err(self.strange(&other)),
        }
    }

    fn take_remarks(&mut self) -> Vec<String> {
        match self.call_agent(&StepRequest::Notes) {
            Ok(StepAnswer::Notes { notes }) => notes,
            // Ignore other answers: undoing has reported whatever is the matter.
            _ => Vec::new(),
        }
    }

    fn lacking_needs(&mut self, asked: &[AskedNeed]) -> Result<Lacking> {
        match self.call_agent(&StepRequest::Missing { needs: asked.to_vec() })? {
            StepAnswer::Missing { lacking, distribution } => Ok(Lacking { lacking, distribution }),
            other => Err(self.strange(&other)),
        }
    }

    fn watched_by(&mut self, watcher: SharedWatcher) {
        self.watcher = Some(watcher);
    }

    fn is_gone(&mut self) -> bool {
        if !self.peer.is_usable() && !std::mem::replace(&mut self.waited, true) {
            // The stream of a guest ends a moment before its QEMU does.
            let _ = wait_until(END_GRACE, || (self.gone)());
        }
        (self.gone)()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent_handler::HostHandler;
    use crate::op::MakeDirectory;
    use iotax_engines::serving;
    use iotax_facts::need::{Requirement, SearchedThing, Supply, everywhere};
    use iotax_host::needs::{self, Need, OWN};

    fn executor() -> RemoteExecutor {
        let mut peer = serving::in_process("elsewhere", Box::new(HostHandler::default())).unwrap();
        peer.hello("r1", Duration::from_secs(5)).unwrap();
        RemoteExecutor::new(peer, Box::new(|| false))
    }

    #[test]
    fn a_step_is_performed_found_and_undone_by_an_agent() {
        let folder = tempfile::tempdir().unwrap();
        let tag = RunTag { run_id: "r1".into(), run_dir: folder.path().to_owned() };
        let path = folder.path().join("made");
        let op = Op::MakeDirectory(MakeDirectory { path: path.clone() });
        let mut executor = executor();
        assert_eq!(executor.boot_id().unwrap(), iotax_drivers::system::boot_id().unwrap());
        assert_eq!(executor.with_observations(op.clone()).unwrap(), op);
        assert_eq!(executor.find_interrupted(&op, &tag, &[]).unwrap(), None);
        let made = executor.perform_operation(&op, &tag).unwrap();
        assert!(path.is_dir());
        assert_eq!(
            executor.read_array_state(&op, &made).unwrap(),
            None,
            "a folder is there, and that is all"
        );
        let again = format!("{:#}", executor.perform_operation(&op, &tag).unwrap_err());
        assert!(again.contains("cannot make directory"), "{again}");
        executor.undo_operation(&op, &tag, &made).unwrap();
        assert!(!path.exists());
        assert!(executor.take_remarks().is_empty());
    }

    #[test]
    fn an_agent_tells_what_its_machine_lacks() {
        // Every Linux has /proc; what no machine has is a need that no table knows.
        const SUPPLY: &[Supply] = &[everywhere("make one")];
        let nowhere = Requirement {
            id: "nowhere",
            why: "for a test",
            supply: SUPPLY,
            finds: &[SearchedThing::File("/nowhere/at/all")],
        };
        let own = OWN.iter().filter(|need| matches!(need.id, "io_uring" | "root")).copied();
        let needs: Vec<Need> = own.chain([Need::requiring(nowhere)]).collect();
        let missing = executor().unmet_needs(&needs).unwrap();
        assert_eq!(
            missing,
            needs::missing_from_host(&needs, Path::new("/"), iotax_qemu::findings::FINDINGS)
        );
        assert_eq!(
            missing.last().map(|one| one.what.as_str()),
            Some("there is no /nowhere/at/all")
        );
    }

    #[test]
    fn what_is_somebody_elses_stays_so_over_the_wire() {
        let refused = StepAnswer::Refused {
            why: "it is".into(),
            code: 4,
            not_ours: true,
            nothing_made: false,
        };
        let text = serde_json::to_value(&refused).unwrap();
        assert_eq!(text["not_ours"], true);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.img");
        std::fs::write(&path, "somebody's").unwrap();
        let tag = RunTag { run_id: "r1".into(), run_dir: folder.path().to_owned() };
        let file = crate::op::MakeFile { path, bytes: 1 << 20, keep: false, inside_mount: false };
        let made = StepOutput { inode: Some(1), bytes: Some(1 << 20), ..StepOutput::default() };
        let error = executor().undo_operation(&Op::MakeFile(file), &tag, &made).unwrap_err();
        assert!(error.is::<NotOurs>(), "{error:#}");
    }
}
