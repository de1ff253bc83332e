//! What the agent's end of the wire can do, in any place: the machine's facts, its steps, the
//! guard's look at a path, the quiesce gate.

use super::wire::Handler;
use crate::guard::admit::{Admission, Hold, admit, claim};
use crate::guard::inspect::{self, Depth};
use crate::guard::judge::Intent;
use crate::guard::marker;
use crate::host::block::Identity;
use crate::host::facts::{self, Facts};
use crate::host::gauges::Gauges;
use crate::layer::guest::disk;
use crate::scenario::Consent;
use crate::step::op::Op;
use crate::step::system::{RealSystem, System};
use crate::step::{RunTag, Yield};
use crate::store::record::{CpuTimes, Gate};
use anyhow::{Context, Result, bail};
use iotax_load::TargetSpec;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The whole machine's dirty pages, which others make too: so much is quiet.
const QUIET_DIRTY_BYTES: u64 = 8 << 20;

/// A step, or its undo, for another place.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RemoteStep {
    /// The run.
    pub run_id: String,
    /// Its folder, on the host that drives it.
    pub run_dir: PathBuf,
    /// What.
    pub op: Op,
    /// `None`: perform; else what it made, to be undone.
    pub undo: Option<Yield>,
}

/// What may be written in a place; sent before the first worker is prepared there.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Allowed {
    /// `--destroy`, by serial or WWN.
    pub consent: Vec<Consent>,
    /// Paths that the run itself made, under its journal: loop devices, disks of our guests.
    pub made: Vec<PathBuf>,
}

/// The handler for this machine. Until it is told otherwise nothing may be written.
#[derive(Default)]
pub struct Machine {
    system: RealSystem,
    gauges: Gauges,
    allowed: Allowed,
    admitted: Vec<Admitted>,
}

/// A device that the guard has let the run write.
struct Admitted {
    path: PathBuf,
    identity: Identity,
    hold: Option<Hold>,
}

impl Handler for Machine {
    fn facts(&mut self, devices: &[PathBuf]) -> Result<Facts> {
        Ok(facts::gather(devices))
    }

    fn step(&mut self, payload: serde_json::Value) -> Result<serde_json::Value> {
        let step: RemoteStep = serde_json::from_value(payload).context("cannot understand the step")?;
        let tag = RunTag { run_id: step.run_id, run_dir: step.run_dir };
        let operation = step.op.operation();
        let made = match &step.undo {
            None => operation.perform(&mut self.system as &mut dyn System, &tag)?,
            Some(made) => operation.undo(&mut self.system, &tag, made).map(|()| Yield::default())?,
        };
        self.allowed.made.extend(made.path.clone());
        Ok(serde_json::to_value(made)?)
    }

    fn inspect(&mut self, path: &Path) -> Result<serde_json::Value> {
        Ok(serde_json::to_value(inspect::inspect(path)?)?)
    }

    fn judge(&mut self, payload: serde_json::Value) -> Result<serde_json::Value> {
        // Told anew with every visit: layers must be able to open what an earlier one held.
        self.admitted.iter_mut().for_each(|known| known.hold = None);
        self.allowed = serde_json::from_value(payload).context("cannot understand what may be written")?;
        Ok(serde_json::Value::Null)
    }

    fn permit(&mut self, target: &TargetSpec) -> Result<()> {
        if !target.writable {
            bail!("{} may not be written in this run", target.path.display());
        }
        // A loop device of the run, a file of ours: made under the journal a moment ago.
        if self.allowed.made.contains(&target.path) || marker::read(&target.path)?.is_some() {
            return Ok(());
        }
        // Its own writes must not make the run refuse the device later; another device under the same
        // name is judged anew.
        let identity = inspect::inspect_as(&target.path, Depth::Quick)?.identity;
        if let Some(known) =
            self.admitted.iter_mut().find(|known| known.path == target.path && known.identity == identity)
        {
            if known.hold.is_none() {
                known.hold = Some(claim(&target.path)?);
            }
            return Ok(());
        }
        // Held while it may be written, so that nobody mounts it meanwhile.
        let Admission { inspection, hold, .. } = admit(&target.path, Intent::Write, &self.allowed.consent)?;
        self.admitted.push(Admitted { path: target.path.clone(), identity: inspection.identity, hold });
        Ok(())
    }

    fn disk_by_serial(&mut self, serial: &str) -> Result<PathBuf> {
        // The disk may appear a moment after the agent.
        let start = Instant::now();
        loop {
            match disk::disk_by_serial(serial) {
                Some(path) => return Ok(path),
                None if start.elapsed() > Duration::from_secs(5) => bail!("no disk here has serial {serial}"),
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }

    fn gate(&mut self, paths: &[PathBuf], limit: Duration) -> Result<Gate> {
        let devices: Vec<String> = paths.iter().flat_map(|path| self.gauges.lower_devices(path)).collect();
        let start = Instant::now();
        loop {
            let gate = Gate {
                waited_ns: start.elapsed().as_nanos() as u64,
                dirty_bytes: self
                    .gauges
                    .dirty_bytes()
                    .context("/proc/meminfo does not tell what is dirty")?,
                in_flight: self.gauges.in_flight(&devices),
                gave_up: start.elapsed() >= limit,
            };
            // What no device tells cannot be waited for.
            let idle = gate.in_flight.is_none_or(|ios| ios == 0);
            if gate.gave_up || (idle && gate.dirty_bytes <= QUIET_DIRTY_BYTES) {
                return Ok(gate);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn cpu_times(&mut self) -> Result<CpuTimes> {
        self.gauges.cpu_times().context("/proc/stat cannot be read")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_device_tells_is_not_zero_and_not_waited_for() {
        let mut machine = Machine::default();
        // A limit of nothing: others' dirty pages are not waited for either.
        let gate = machine.gate(&[PathBuf::from("/proc/version")], Duration::ZERO).unwrap();
        assert_eq!(gate.in_flight, None);
    }
}
