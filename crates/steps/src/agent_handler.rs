//! What the agent can do on its machine: gather facts, perform steps, inspect paths and guard them
//! against writes, and wait until the machine is quiet.

use anyhow::{Context, Result, bail};
use iotax_drivers::disk_key::{self as disk, DiskKey};
use iotax_drivers::system::RealSystem;
use iotax_engines::serving::{Allowed, Handler, ProgressLine};
use iotax_facts::slice::{CpuTimes, DeviceReading, QuiesceGate, ThreadId};
use iotax_host::facts::{self, Facts};
use iotax_host::gauges::Gauges;
use iotax_host::guard::admit::{Admission, Admitted, Hold, admit, claim_device};
use iotax_host::guard::judge::Intent;
use iotax_host::guard::{fill, inspect, marker};
use iotax_host::kernel_threads::KernelThreads;
use iotax_load::{ReadMachine, TargetSpec};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Most dirty bytes with which the whole machine counts as quiet: other programs write, too. Used
/// where the dirty bytes of the paths alone are not known; those must be 0.
const QUIET_OF_ALL: u64 = 8 << 20;

/// Handler of requests for this machine. It permits no write before the host has said what may be
/// written.
#[derive(Default)]
pub struct HostHandler {
    system: RealSystem,
    gauges: Gauges,
    of_series: Arc<Gauges>,
    kernel_threads: Arc<Mutex<KernelThreads>>,
    allowed: Allowed,
    admitted: Admitted,
    /// Exclusive claims on the devices that workers write, so that nobody mounts them meanwhile.
    holds: BTreeMap<PathBuf, Hold>,
}

impl Handler for HostHandler {
    fn attach_progress_line(&mut self, line: ProgressLine) {
        self.system = RealSystem::watched(move |progress| line.report(serde_json::json!(progress)));
    }

    fn gather_facts(&mut self, devices: &[PathBuf], programs: &[String]) -> Result<Facts> {
        Ok(facts::gather(devices, programs))
    }

    fn handle_step(&mut self, payload: serde_json::Value) -> Result<serde_json::Value> {
        super::remote_executor::answer(&mut self.system, payload)
    }

    fn inspect_path(&mut self, path: &Path) -> Result<serde_json::Value> {
        // Where nothing is, a file may be made.
        match path.metadata() {
            Err(error) if marker::means_absent(&error) => Ok(serde_json::Value::Null),
            _ => Ok(serde_json::to_value(inspect::inspect(path)?)?),
        }
    }

    fn ask_guard(&mut self, payload: serde_json::Value) -> Result<serde_json::Value> {
        // The host sends this again before and after every visit: layers must be able to open what
        // workers held.
        self.holds.clear();
        self.gauges.forget();
        self.allowed =
            serde_json::from_value(payload).context("cannot understand what may be written")?;
        Ok(serde_json::Value::Null)
    }

    fn permit_write(&mut self, target: &TargetSpec) -> Result<()> {
        if !target.writable {
            bail!("{} may not be written in this run", target.path.display());
        }
        // A loop device of the run, a file of ours: made under the journal a moment ago.
        if self.allowed.made.contains(&target.path) || marker::read_marker(&target.path)?.is_some()
        {
            return Ok(());
        }
        if self.admitted.is_admitted(&target.path)?
            || self.allowed.admitted.is_admitted(&target.path)?
        {
            if !self.holds.contains_key(&target.path) {
                self.holds.insert(target.path.clone(), claim_device(&target.path)?);
            }
            return Ok(());
        }
        let Admission { inspection, hold, .. } =
            admit(&target.path, Intent::Write, &self.allowed.consent)?;
        self.admitted.add_device(&target.path, inspection.identity);
        self.holds.extend(hold.map(|hold| (target.path.clone(), hold)));
        Ok(())
    }

    fn find_block_device(&mut self, key: &DiskKey) -> Result<PathBuf> {
        disk::find_soon(key)
    }

    fn await_quiet(&mut self, paths: &[PathBuf], limit: Duration) -> Result<QuiesceGate> {
        let gauges = &mut self.gauges;
        let devices: Vec<String> =
            paths.iter().flat_map(|path| gauges.lower_devices(path)).collect();
        let start = Instant::now();
        loop {
            let owed = self
                .gauges
                .pending_bytes(paths)
                .context("/proc/meminfo does not report what is dirty")?;
            let gate = QuiesceGate {
                waited_ns: start.elapsed().as_nanos() as u64,
                dirty_bytes: owed.bytes,
                in_flight: self.gauges.in_flight(&devices),
                gave_up: start.elapsed() >= limit,
            };
            // Do not wait for what no device reports.
            let idle = gate.in_flight.is_none_or(|ios| ios == 0);
            let clean = owed.bytes <= if owed.of_all { QUIET_OF_ALL } else { 0 };
            if gate.gave_up || (idle && clean) {
                return Ok(gate);
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn unwritten_bytes(&mut self, path: &Path, end: u64) -> Option<u64> {
        let is_file = path.metadata().is_ok_and(|meta| meta.is_file());
        let ranges = is_file.then(|| fill::unwritten_ranges(path, end).ok())??;
        Some(ranges.iter().map(|range| range.end - range.start).sum())
    }

    fn device_reading(&mut self, paths: &[PathBuf]) -> DeviceReading {
        let devices = self.gauges.device_counts(paths);
        DeviceReading { at_ns: self.clock_ns(), devices }
    }

    fn thread_times(&mut self, threads: &[ThreadId]) -> Vec<Option<u64>> {
        threads.iter().map(|thread| self.gauges.thread_ns(*thread)).collect()
    }

    fn cpu_times(&mut self) -> Result<CpuTimes> {
        self.gauges.cpu_times().context("/proc/stat cannot be read")
    }

    fn machine_reader(&mut self) -> Option<ReadMachine> {
        let (gauges, threads) = (Arc::clone(&self.of_series), Arc::clone(&self.kernel_threads));
        lock(&threads).refresh_threads(gauges.probe());
        Some(Arc::new(move || {
            let times = gauges.cpu_times()?;
            let kernel_threads_ns = lock(&threads).sum_ns();
            Some(CpuTimes { kernel_threads_ns, ..times }.into())
        }))
    }
}

/// Locks the threads. A panic in one thread does not keep the others from reading.
fn lock(threads: &Mutex<KernelThreads>) -> MutexGuard<'_, KernelThreads> {
    threads.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_host::guard::inspect::Depth;
    use iotax_host::guard::rig::Loop;
    use iotax_load::Hold as Delay;

    fn writing(path: &Path) -> TargetSpec {
        TargetSpec {
            path: path.to_owned(),
            offset: 0,
            bytes: None,
            writable: true,
            hold: Delay::default(),
        }
    }

    fn told(machine: &mut HostHandler, allowed: &Allowed) {
        machine.ask_guard(serde_json::to_value(allowed).unwrap()).unwrap();
    }

    #[test]
    fn an_admitted_device_is_held_during_a_visit_and_free_between_visits() {
        let Some(device) = Loop::with_size(1 << 20) else { return };
        let mut machine = HostHandler::default();
        assert!(machine.permit_write(&writing(&device.path)).is_err(), "nothing was consented to");
        let mut admitted = Admitted::default();
        admitted.add_device(
            &device.path,
            inspect::inspect_as(&device.path, Depth::Quick).unwrap().identity,
        );
        let visit = Allowed { admitted, ..Allowed::default() };
        // What a layer of an earlier visit left: it must not make the run refuse its own device.
        std::fs::write(&device.path, vec![7; 1 << 20]).unwrap();
        for _ in 0..2 {
            told(&mut machine, &visit);
            machine.permit_write(&writing(&device.path)).unwrap();
            machine.permit_write(&writing(&device.path)).expect("a second worker of the run");
            assert!(claim_device(&device.path).is_err(), "held while workers may write it");
            told(&mut machine, &Allowed::default());
            drop(claimed_soon(&device.path));
        }
    }

    /// Free for the layers of the next visit. Another test that starts a program has all our files
    /// open in its child until that becomes the program.
    fn claimed_soon(path: &Path) -> Hold {
        let start = Instant::now();
        loop {
            match claim_device(path) {
                Ok(hold) => return hold,
                Err(error) if start.elapsed() > Duration::from_secs(5) => {
                    panic!("still held: {error:#}")
                }
                Err(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    #[test]
    fn another_device_under_the_name_is_not_admitted() {
        let Some(device) = Loop::with_size(1 << 20) else { return };
        let mut other = inspect::inspect_as(&device.path, Depth::Quick).unwrap().identity;
        other.transient = Some("boot-0-diskseq-0".into());
        let mut admitted = Admitted::default();
        admitted.add_device(&device.path, other);
        assert!(!admitted.is_admitted(&device.path).unwrap());
        let mut machine = HostHandler::default();
        told(&mut machine, &Allowed { admitted, ..Allowed::default() });
        assert!(machine.permit_write(&writing(&device.path)).is_err());
    }

    #[test]
    fn what_no_device_tells_is_not_zero_and_not_waited_for() {
        let mut machine = HostHandler::default();
        // A limit of nothing: others' dirty pages are not waited for either.
        let gate = machine.await_quiet(&[PathBuf::from("/proc/version")], Duration::ZERO).unwrap();
        assert_eq!(gate.in_flight, None);
    }
}
