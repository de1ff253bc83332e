//! Answers requests for a host without an agent: facts, inspections for the guard, and workers that
//! are its fio. Refuses steps, probes and whatever else needs a program of ours there.

use super::site::AgentlessHost as Site;
use super::{Host, QUICK};
use crate::ssh::SharedSsh;
use anyhow::{Context, Result, bail};
use iotax_drivers::disk_key::DiskKey;
use iotax_engines::fio::Fio;
use iotax_engines::load_engine::LoadEngine;
use iotax_engines::serving::{Allowed, Handler};
use iotax_facts::Engine;
use iotax_facts::slice::{CpuTimes, QuiesceGate};
use iotax_host::block::Identity;
use iotax_host::facts::Facts;
use iotax_host::guard::found::{
    InspectedKind, Inspection, InspectionCheck, Signature, UncheckedPoint,
};
use iotax_host::guard::judge::{Intent, judge};
use iotax_host::guard::{sample, signature};
use iotax_load::{Job, TargetSpec};
use iotax_probe::ProbeSpec;
use iotax_units::exit::Failed;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest time for reading a sample of a device's content: some six megabytes in a thousand
/// pieces.
const SAMPLE_LIMIT: Duration = Duration::from_secs(45);

pub(super) struct AgentlessHandler {
    host: Host,
    /// Socket for the shared connection; `None` once that connection has been tried.
    socket: Option<PathBuf>,
    shared: Option<SharedSsh>,
    allowed: Allowed,
    /// Targets that the guard has admitted before their first write. From then on they hold the
    /// run's own data, so only their identity is checked again.
    admitted: Vec<(PathBuf, Identity)>,
}

impl AgentlessHandler {
    pub(super) fn new(host: Host, socket: &Path) -> AgentlessHandler {
        let (allowed, admitted) = (Allowed::default(), Vec::new());
        AgentlessHandler { host, socket: Some(socket.to_owned()), shared: None, allowed, admitted }
    }

    /// Returns the host. The first call makes the shared connection, which ends with the thread
    /// that calls.
    fn host(&mut self) -> &Host {
        if let Some(socket) = self.socket.take() {
            self.shared = SharedSsh::start(&self.host.name, &socket, &self.host.options);
            self.host.options.shared = self.shared.as_ref().map(|_| socket);
        }
        &self.host
    }
}

impl Host {
    /// Inspects what is at a path, but not its content; `None` if nothing is there.
    pub(super) fn inspect(&self, path: &Path) -> Result<Option<Inspection>> {
        let what = format!("inspect {}", path.display());
        let said = self.say(&what, &self.shell.inspect_request(path), QUICK)?;
        self.understood(&what, self.shell.parse_inspection(path, &said))
    }

    /// Inspects what is at a path and, of a device, the content of both ends and of blocks at
    /// random; `None` if nothing is there.
    fn inspect_in_full(&self, path: &Path) -> Result<Option<Inspection>> {
        let mut found = self.inspect(path)?;
        if let Some(found) = found
            .as_mut()
            .filter(|found| matches!(found.kind, InspectedKind::Disk | InspectedKind::Partition(_)))
        {
            if let Err(error) = self.read_content(found) {
                found.unchecked.push(UncheckedPoint {
                    check: InspectionCheck::Content,
                    why: format!("{error:#}"),
                });
            }
        }
        Ok(found)
    }

    fn read_content(&self, found: &mut Inspection) -> Result<()> {
        let positions = sample::positions(found.bytes).context("no random numbers")?;
        let blocks = runs(found.bytes, &positions);
        let Some(ask) = self.shell.blocks_request(&found.path, &blocks) else { return Ok(()) };
        let content = self.say("read its content", &ask, SAMPLE_LIMIT)?;
        let copy = copy_of(found.bytes, &blocks, &content)?;
        found.sample = Some(sample::of_positions(&copy, &positions, found.bytes));
        let (signatures, _) = signature::scan(&copy, 0, found.bytes, 512, "");
        for signature in signatures {
            if !found.signatures.iter().any(|known| known.name == signature.name) {
                found.signatures.push(signature);
            }
        }
        let nonzero = found.sample.as_ref().map_or(0, |sample| sample.nonzero);
        if nonzero > 0 && found.signatures.is_empty() {
            let place = format!("in {nonzero} blocks read");
            found.signatures.push(Signature { name: "data".into(), place });
        }
        Ok(())
    }
}

/// Returns the blocks at these positions, and those in which signatures are looked for, as runs of
/// neighbours: the first block of each and their number. `bytes` is the size of the device.
fn runs(bytes: u64, positions: &[u64]) -> Vec<(u64, u64)> {
    let block = sample::BLOCK;
    let mut numbers: Vec<u64> = positions.iter().map(|position| position / block).collect();
    numbers.extend(0..signature::HEAD.min(bytes).div_ceil(block));
    numbers.extend(bytes.saturating_sub(signature::TAIL) / block..bytes.div_ceil(block));
    numbers.sort_unstable();
    numbers.dedup();
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((first, count)) if *first + *count == number => *count += 1,
            _ => runs.push((number, 1)),
        }
    }
    runs
}

/// Returns a sparse file of the device's size that holds the content of the runs that were read.
fn copy_of(bytes: u64, runs: &[(u64, u64)], content: &[u8]) -> Result<std::fs::File> {
    let block = sample::BLOCK;
    let copy = tempfile::tempfile().context("cannot make a temporary file")?;
    copy.set_len(bytes).context("cannot make a temporary file of its size")?;
    let mut rest = content;
    for (first, count) in runs {
        let length = (count * block).min(bytes - first * block) as usize;
        let Some((run, after)) = rest.split_at_checked(length) else {
            bail!("only {} bytes of it could be read", content.len());
        };
        copy.write_all_at(run, first * block).context("cannot write a temporary file")?;
        rest = after;
    }
    if !rest.is_empty() {
        bail!("{} bytes more than were asked for came back", rest.len());
    }
    Ok(copy)
}

/// Returns the error for a request that needs a program of ours on the host.
fn no_agent<T>(what: &str) -> Result<T> {
    bail!(Failed::input(format!(
        "{what} needs iotax there, and the host is loaded by its fio (agent=fio)"
    )))
}

impl Handler for AgentlessHandler {
    fn gather_facts(&mut self, devices: &[PathBuf], _programs: &[String]) -> Result<Facts> {
        Ok(self.host().look_at_host(devices)?.facts)
    }

    fn handle_step(&mut self, _: serde_json::Value) -> Result<serde_json::Value> {
        no_agent("a step")
    }

    fn inspect_path(&mut self, path: &Path) -> Result<serde_json::Value> {
        Ok(serde_json::to_value(self.host().inspect_in_full(path)?)?)
    }

    fn ask_guard(&mut self, payload: serde_json::Value) -> Result<serde_json::Value> {
        self.allowed =
            serde_json::from_value(payload).context("cannot understand what may be written")?;
        Ok(serde_json::Value::Null)
    }

    fn permit_write(&mut self, target: &TargetSpec) -> Result<()> {
        let path = &target.path;
        if !target.writable {
            bail!("{} may not be written in this run", path.display());
        }
        let gone = || Failed::input(format!("{} is not there any more", path.display()));
        let quick = self.host().inspect(path)?.with_context(gone)?;
        let known = |(known, identity): &(PathBuf, Identity)| {
            known == path && identity.is_same_device(&quick.identity)
        };
        if quick.kind != InspectedKind::File && self.admitted.iter().any(known) {
            return Ok(());
        }
        let found = self.host().inspect_in_full(path)?.with_context(gone)?;
        judge(&found, Intent::Write, &self.allowed.consent).map_err(Failed::from)?;
        self.admitted.push((path.clone(), found.identity));
        Ok(())
    }

    fn find_block_device(&mut self, _: &DiskKey) -> Result<PathBuf> {
        no_agent("a guest's disk")
    }

    fn await_quiet(&mut self, _: &[PathBuf], _: Duration) -> Result<QuiesceGate> {
        no_agent("the quiesce gate")
    }

    fn cpu_times(&mut self) -> Result<CpuTimes> {
        no_agent("CPU time")
    }

    fn prepare_load_worker(
        &mut self,
        targets: &[TargetSpec],
        jobs: &[Job],
        engine: Option<Engine>,
        _: Option<&iotax_load::Worker>,
    ) -> Result<Box<dyn LoadEngine>> {
        if matches!(engine, Some(Engine::Native(_))) {
            return no_agent("an engine of iotax's");
        }
        let site = Site(self.host().clone());
        Ok(Box::new(Fio::prepare(Box::new(site), targets, jobs).map_err(Failed::from)?))
    }

    fn prepare_probe_worker(&mut self, _: &ProbeSpec) -> Result<Box<dyn LoadEngine>> {
        no_agent("a probe")
    }
}

#[cfg(test)]
#[path = "handler_tests.rs"]
mod tests;
