//! Reaches the places where load runs: this host (in process), guests (over their virtio-serial
//! port), and hosts over SSH. The guard in each place gets the list of what may be written there.

use anyhow::{Context, Result, bail};
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::process::{runs, started_process};
use iotax_drivers::system::StepProgress;
use iotax_engines::serving;
use iotax_engines::serving::Allowed;
use iotax_facts::place::Place;
use iotax_host::facts::Facts;
use iotax_layers::guest::{self, GuestPlan};
use iotax_model::layer as catalog;
use iotax_model::record::ClockReading;
use iotax_qemu::qmp::Qmp;
use iotax_remote::{agentless, ssh};
use iotax_steps::agent_handler::HostHandler;
use iotax_steps::agent_program::ssh_options;
use iotax_steps::place_executor::{PlaceExecutor, PlaceExecutors};
use iotax_steps::remote_executor::RemoteExecutor;
use iotax_units::exit::Failed;
use iotax_wire::message::{Response, WireRequest};
use iotax_wire::peer::Peer;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Limit for an answer while a place is set up. An agent's program is then still being read for the
/// first time, which took 30 s in an emulated guest on an emulated machine, and all of sysfs is
/// read. An agent that is dead is noticed earlier, by its silence.
const SET_UP_LIMIT: Duration = Duration::from_secs(180);

/// Reason why figures of a lab count nowhere else.
const LAB_DRIVES: &str = "emulated: not representative of drives (those of a lab are files behind a controller that QEMU emulates)";

#[derive(Default)]
pub struct Places {
    reached: BTreeMap<Place, ReachedPlace>,
    /// Places that were reached and are gone for good.
    lost: BTreeSet<Place>,
    /// Number of times that each place was reached again after its agent was gone.
    returns: BTreeMap<Place, u32>,
}

pub struct ReachedPlace {
    pub peer: Peer,
    /// Clock of the place minus clock of this host, in nanoseconds.
    pub clock_offset_ns: i64,
    /// Last comparison of the clocks, if the place was not stopped since.
    clock: Option<ClockReading>,
    /// Reason why the place's figures are not representative, if they are not.
    pub emulated: Option<String>,
    /// True if the place reports what its kernel has yet to write. A place without an agent does
    /// not.
    pub reports_dirty_data: bool,
    allowed: Allowed,
    /// Id of our copy of the program on a host over SSH.
    copied_as: Option<String>,
    /// QEMU's control connection, which stops a guest and continues it.
    control: Option<Qmp>,
    /// Socket of a shared ssh connection, which is removed with this value: ssh may have no time to
    /// remove it.
    _socket: Option<Socket>,
}

/// A socket file that is removed when this value is dropped.
struct Socket(PathBuf);

impl Drop for Socket {
    fn drop(&mut self) {
        // The file is usually gone already.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Places {
    /// Reaches this host, in process.
    ///
    /// # Errors
    /// When no socket pair can be made.
    pub fn reach_host(&mut self, run_id: &str) -> Result<&mut ReachedPlace> {
        let peer = serving::in_process("this host", Box::new(HostHandler::default()))
            .context("cannot start the worker's end")?;
        self.add(&Place::Host, peer, run_id, None, SET_UP_LIMIT)
    }

    /// Reaches a guest whose QEMU was started a moment ago.
    ///
    /// # Errors
    /// The guest does not come up (with the tail of its console and QEMU's last words), cannot be
    /// pinned, or does not answer; or `stop` is set before it is up.
    pub fn reach_guest(
        &mut self,
        plan: &GuestPlan,
        run_id: &str,
        stop: &AtomicBool,
    ) -> Result<&mut ReachedPlace> {
        let (peer, emulated, mut control) = guest::reach(plan, None, stop)?;
        guest::put_on_processors(plan, &mut control)?;
        self.add_guest(plan, (peer, emulated, control), run_id)
    }

    fn add_guest(
        &mut self,
        plan: &GuestPlan,
        (peer, emulated, control): (Peer, Option<String>, Qmp),
        run_id: &str,
    ) -> Result<&mut ReachedPlace> {
        let reached = self.add(&plan.place, peer, run_id, emulated, SET_UP_LIMIT)?;
        reached.control = Some(control);
        if let Some(card) = &plan.address {
            reached.peer.give_address(card, SET_UP_LIMIT).map_err(Failed::from)?;
        }
        Ok(reached)
    }

    /// Reaches a lab, which is up for the whole run: it is a place of loads, and the returned
    /// executor performs steps in it.
    ///
    /// # Errors
    /// As [`Places::reach_guest`].
    pub fn reach_lab(
        &mut self,
        plan: &GuestPlan,
        run_id: &str,
        stop: &AtomicBool,
    ) -> Result<Box<dyn PlaceExecutor>> {
        let reached = self.reach_guest(plan, run_id, stop)?;
        // A lab is never stopped: what is below a stack in another place may be in it.
        reached.control = None;
        // Drives of a lab are files with any accelerator, KVM included.
        reached.emulated = Some(LAB_DRIVES.into());
        executor_in_guest(plan, run_id)
    }

    /// Reaches a guest again that was reset in its QEMU, whose control connection is `control`.
    ///
    /// # Errors
    /// As [`Places::reach_guest`].
    pub fn reach_again(
        &mut self,
        plan: &GuestPlan,
        control: Qmp,
        run_id: &str,
        stop: &AtomicBool,
    ) -> Result<&mut ReachedPlace> {
        let reached = guest::reach(plan, Some(control), stop)?;
        self.add_guest(plan, reached, run_id)
    }

    /// Removes a place that is gone, or about to be, without a message to its agent. Returns the
    /// connection to the agent and, for a guest, to QEMU.
    ///
    /// # Errors
    /// The place was not reached.
    pub fn take_connections(&mut self, place: &Place) -> Result<(Peer, Option<Qmp>)> {
        let reached =
            self.reached.remove(place).with_context(|| format!("{place} was not reached"))?;
        Ok((reached.peer, reached.control))
    }

    /// Reaches a host over SSH. The caller has journaled that our binary goes there.
    ///
    /// # Errors
    /// The host cannot be reached or the agent does not start there, with what ssh printed.
    pub fn reach_ssh(&mut self, host: &str, run_id: &str) -> Result<&mut ReachedPlace> {
        // This is the wire's own error: the caller checks whether the host was ever reached.
        let peer = ssh::connect(host, run_id, &ssh_options())?;
        let reached = self.keep(&Place::Ssh(host.to_owned()), peer, None)?;
        reached.copied_as = Some(run_id.to_owned());
        Ok(reached)
    }

    /// Reaches a host over SSH again whose agent is gone, and allows the same targets there.
    ///
    /// # Errors
    /// The place was not reached, or is not such a host; or the connection fails, with what ssh
    /// printed. The place is no longer reached then.
    pub fn reach_again_over_ssh(&mut self, place: &Place) -> Result<()> {
        let before =
            self.reached.remove(place).with_context(|| format!("{place} was not reached"))?;
        let (Some(host), Some(run_id)) = (place.ssh_host(), &before.copied_as) else {
            bail!("it cannot be reached again")
        };
        let peer = ssh::reconnect(host, run_id, &ssh_options())?;
        let reached = self.keep(place, peer, None)?;
        reached.copied_as = before.copied_as;
        reached.allow(&before.allowed)?;
        *self.returns.entry(place.clone()).or_default() += 1;
        Ok(())
    }

    pub fn returns(&self, place: &Place) -> u32 {
        self.returns.get(place).copied().unwrap_or(0)
    }

    pub fn give_up_place(&mut self, place: &Place) {
        self.reached.remove(place);
        self.lost.insert(place.clone());
    }

    pub fn is_lost(&self, place: &Place) -> bool {
        self.lost.contains(place)
    }

    /// Returns true if a place is reached and may still answer.
    pub fn is_usable(&self, place: &Place) -> bool {
        self.reached.get(place).is_some_and(|reached| reached.peer.is_usable())
    }

    pub fn fate_of(&self, place: &Place) -> Option<String> {
        self.reached.get(place)?.peer.fate()
    }

    /// Reaches a host over SSH whose fio issues the load. `path` is any path on it, and `socket` is
    /// the socket of the connection that is kept.
    ///
    /// # Errors
    /// The host cannot be reached, with what ssh printed; or it has no suitable fio.
    pub fn reach_afar(
        &mut self,
        host: &str,
        path: &Path,
        socket: &Path,
    ) -> Result<&mut ReachedPlace> {
        let peer = agentless::connect(host, path, socket)?;
        let reached = self.keep(&Place::Ssh(host.to_owned()), peer, None)?;
        reached.reports_dirty_data = false;
        reached._socket = Some(Socket(socket.to_owned()));
        Ok(reached)
    }

    fn add(
        &mut self,
        place: &Place,
        mut peer: Peer,
        run_id: &str,
        emulated: Option<String>,
        limit: Duration,
    ) -> Result<&mut ReachedPlace> {
        peer.hello(run_id, limit).map_err(Failed::from)?;
        self.keep(place, peer, emulated)
    }

    fn keep(
        &mut self,
        place: &Place,
        mut peer: Peer,
        emulated: Option<String>,
    ) -> Result<&mut ReachedPlace> {
        let clock = reading(&mut peer)?;
        let reached = ReachedPlace {
            peer,
            clock_offset_ns: clock.offset_ns,
            clock: Some(clock),
            emulated,
            reports_dirty_data: true,
            allowed: Allowed::default(),
            copied_as: None,
            control: None,
            _socket: None,
        };
        self.reached.insert(place.clone(), reached);
        self.lost.remove(place);
        self.get(place)
    }

    /// Adds a simulated place, with a simulated QEMU if it is a guest.
    #[cfg(test)]
    pub(super) fn simulated(&mut self, place: &Place, peer: Peer, control: Option<Qmp>) {
        let reached = ReachedPlace {
            peer,
            clock_offset_ns: 0,
            clock: None,
            emulated: None,
            reports_dirty_data: true,
            allowed: Allowed::default(),
            copied_as: None,
            control,
            _socket: None,
        };
        self.reached.insert(place.clone(), reached);
    }

    pub fn get(&mut self, place: &Place) -> Result<&mut ReachedPlace> {
        self.reached.get_mut(place).with_context(|| format!("{place} was not reached"))
    }

    /// Returns several places at once, in the order asked for.
    ///
    /// # Errors
    /// When one was not reached.
    pub fn get_several(&mut self, places: &[&Place]) -> Result<Vec<&mut ReachedPlace>> {
        let mut found: BTreeMap<&Place, &mut ReachedPlace> = self.reached.iter_mut().collect();
        let mut take =
            |place| found.remove(place).with_context(|| format!("{place} was not reached"));
        places.iter().map(|place| take(*place)).collect()
    }

    /// Returns true if our own agent, or this process, loads in the place.
    pub fn has_agent(&self, place: &Place) -> bool {
        self.reached.get(place).is_some_and(|reached| reached.reports_dirty_data)
    }

    pub fn is_reached(&self, place: &Place) -> bool {
        self.reached.contains_key(place)
    }

    /// Ends the connection to a place, and notifies its agent. An agent that is gone already is no
    /// error: its clean-up comes next.
    pub fn leave(&mut self, place: &Place) {
        if let Some(reached) = self.reached.remove(place) {
            drop(reached.peer.bye());
        }
    }

    /// Ends all loads and closes all targets, so that everything can be removed. Places that do not
    /// answer are given up. The others stay reached: the agent of a guest ends by itself, and there
    /// may be things to undo in it first.
    pub fn put_down(&mut self) {
        for (place, mut reached) in std::mem::take(&mut self.reached) {
            if reached.put_down().is_ok() {
                self.reached.insert(place, reached);
            }
        }
    }

    /// Returns the places that can be stopped: our guests, but not labs.
    pub fn stoppable(&self) -> Vec<Place> {
        let can_stop = |(place, reached): (&Place, &ReachedPlace)| {
            reached.control.is_some().then(|| place.clone())
        };
        self.reached.iter().filter_map(can_stop).collect()
    }

    /// Stops the CPUs of these guests. They answer nothing until they continue.
    ///
    /// # Errors
    /// When QEMU refuses or is gone.
    pub fn stop_running(&mut self, guests: &[Place]) -> Result<()> {
        guests.iter().try_for_each(|guest| {
            let reached = self.get(guest)?;
            reached.clock = None;
            reached.command(guest, "stop")
        })
    }

    /// Lets these guests continue. The clock of a guest may have stood still meanwhile, and is
    /// compared again.
    ///
    /// # Errors
    /// When QEMU refuses or is gone, or the guest does not answer.
    pub fn go_on(&mut self, guests: &[Place]) -> Result<()> {
        guests.iter().try_for_each(|guest| {
            let reached = self.get(guest)?;
            reached.command(guest, "cont")?;
            reached.compare_clock(guest).map(drop)
        })
    }

    pub fn reached_places(&self) -> Vec<Place> {
        self.reached.keys().cloned().collect()
    }
}

impl ReachedPlace {
    fn put_down(&mut self) -> Result<()> {
        if let (Some(control), true) = (&mut self.control, self.peer.is_usable()) {
            // The guest may be stopped; a running one just continues.
            control.execute("cont", serde_json::Value::Null)?;
        }
        self.send_request(WireRequest::EndAll, SET_UP_LIMIT)?;
        self.allow(&Allowed::default())
    }

    /// Returns QEMU's control connection of one of our guests.
    ///
    /// # Errors
    /// When the place has no QEMU of ours.
    pub fn control(&mut self) -> Result<&mut Qmp> {
        self.control.as_mut().context("a place without a QEMU")
    }

    /// Compares the place's clock with this host's.
    ///
    /// # Errors
    /// The place does not answer, or its clock has drifted too far since the last comparison.
    pub fn compare_clock(&mut self, place: &Place) -> Result<ClockReading> {
        let (now, apart) = self.read_clock()?;
        apart.map_or(Ok(now), |apart| Err(runs_apart(place, apart).into()))
    }

    /// Compares the place's clock with the host's. The second part is the fraction by which it ran
    /// faster since the last comparison (negative: slower); `None` if that is small, or there is no
    /// earlier comparison.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn read_clock(&mut self) -> Result<(ClockReading, Option<f64>)> {
        let now = reading(&mut self.peer)?;
        self.clock_offset_ns = now.offset_ns;
        let from = self.clock.replace(now);
        Ok((now, from.and_then(|from| now.too_far_apart_since(&from))))
    }

    fn command(&mut self, guest: &Place, command: &str) -> Result<()> {
        let control = self.control()?;
        match control.execute(command, serde_json::Value::Null) {
            Ok(_) => Ok(()),
            Err(error) => {
                let why = self.peer.fate().unwrap_or_else(|| error.to_string());
                let text =
                    format!("guest {guest}: QEMU does not take the command {command}: {why}");
                Err(Failed::measurement(text).into())
            }
        }
    }

    pub fn facts(&mut self, devices: &[PathBuf]) -> Result<Facts> {
        let asked = WireRequest::Facts { devices: devices.to_vec(), programs: catalog::programs() };
        match self.send_request(asked, SET_UP_LIMIT)? {
            Response::Facts { facts } => Ok(facts),
            other => Err(Failed::from(self.peer.unexpected("facts", &other)).into()),
        }
    }

    /// Gives the guard in the place the list of targets that may be written.
    ///
    /// # Errors
    /// When the place does not answer.
    pub fn allow(&mut self, allowed: &Allowed) -> Result<()> {
        self.allowed = allowed.clone();
        self.send_request(
            WireRequest::Judge { payload: serde_json::to_value(allowed)? },
            SET_UP_LIMIT,
        )
        .map(drop)
    }

    /// Sends a request and returns the response.
    ///
    /// # Errors
    /// The agent's refusal or the wire's fault, with its exit code.
    pub fn send_request(&mut self, request: WireRequest, limit: Duration) -> Result<Response> {
        Ok(self.peer.call(request, limit).map_err(Failed::from)?)
    }

    /// Returns the path of a target in this place: a disk of a guest by its serial or PCI address,
    /// any other by `yields`, which resolves what a step made.
    ///
    /// # Errors
    /// The place does not answer or does not have the disk, or `yields` fails.
    pub fn locate(
        &mut self,
        target: &PathRef,
        yields: &dyn Fn(&PathRef) -> Result<PathBuf>,
    ) -> Result<PathBuf> {
        let request = match target {
            PathRef::Serial(serial) => WireRequest::DiskBySerial { serial: serial.clone() },
            PathRef::Pci(address) => WireRequest::DiskAtPci { address: address.clone() },
            _ => return yields(target),
        };
        let name = request.name();
        match self.send_request(request, SET_UP_LIMIT)? {
            Response::Disk { path } => Ok(path),
            other => Err(Failed::from(self.peer.unexpected(name, &other)).into()),
        }
    }
}

/// Returns the executor in a guest that has an agent for steps.
///
/// # Errors
/// As [`guest::lab::reach_steps`].
pub fn executor_in_guest(plan: &GuestPlan, run_id: &str) -> Result<Box<dyn PlaceExecutor>> {
    let mut peer = guest::lab::reach_steps(plan)?;
    peer.hello(run_id, SET_UP_LIMIT).map_err(Failed::from)?;
    let process = started_process(&plan.tag)?
        .with_context(|| format!("QEMU of guest {} has ended", plan.place))?;
    Ok(Box::new(RemoteExecutor::new(peer, Box::new(move || !runs(&process)))))
}

/// Returns the executor on a host over SSH, on a connection of its own under `id`.
///
/// # Errors
/// The place is no host over SSH; or the connection fails, with what ssh printed.
pub fn executor_over_ssh(place: &Place, id: &str) -> Result<Box<dyn PlaceExecutor>> {
    let host = place.ssh_host().with_context(|| format!("{place} was not reached"))?;
    let peer = ssh::connect(host, id, &ssh_options())?;
    // Steps that were made on a host stay when the connection goes.
    Ok(Box::new(RemoteExecutor::new(peer, Box::new(|| false))))
}

/// Returns executors for the places in which a run left something. Hosts over SSH are reached when
/// their executor is first used; `watcher` gets the progress of each step.
pub fn executors_to_clean(
    run_id: &str,
    watcher: impl FnMut(StepProgress) -> ControlFlow<()> + Send + 'static,
) -> PlaceExecutors {
    let run_id = run_id.to_owned();
    let reach = move |place: &Place| {
        let host = place.ssh_host().with_context(|| format!("{place} was not reached"))?;
        let (id, options) = (format!("{run_id}-clean"), ssh::SshOptions::from_env());
        ssh::await_agents(host, &run_id, &options)?;
        // An earlier clean that was cut short may have left a copy.
        ssh::remove_remote(host, &id, &options)?;
        executor_over_ssh(place, &id)
    };
    PlaceExecutors::watched(watcher).reaching_by(Box::new(reach))
}

/// Returns the error for a clock that ran faster than this host's by the fraction `apart`
/// (negative: slower). A guest's kernel may have measured its clock wrong while it booted; other
/// machines stood still.
pub(super) fn runs_apart(place: &Place, apart: f64) -> Failed {
    let why = match place {
        Place::Host | Place::Guest(_) => {
            "a kernel that gets no processor while it boots may take its clock for slower than it is"
        }
        Place::Ssh(_) => "it or this host may have stood still meanwhile (suspended, paused)",
    };
    Failed::measurement(format!(
        "the clock of {place} ran {:.2} times as fast as this host's: no time that it reported is right; hint: measure it again; {why}",
        1.0 + apart
    ))
}

fn reading(peer: &mut Peer) -> Result<ClockReading> {
    let clock = peer.clock_offset().map_err(Failed::from)?;
    let at_ns = iotax_load::clock::monotonic_ns();
    Ok(ClockReading { at_ns, offset_ns: clock.offset_ns, round_trip_ns: clock.round_trip_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_whose_clock_runs_apart_measures_nothing() {
        let mut places = Places::default();
        places.reach_host("test").unwrap();
        let place = places.get(&Place::Host).unwrap();
        let at_ns = iotax_load::clock::monotonic_ns() - 1_000_000_000;
        let since =
            |offset_ns, round_trip_ns| Some(ClockReading { at_ns, offset_ns, round_trip_ns });
        place.clock = since(0, 1_000_000);
        assert_eq!(place.compare_clock(&"vm8".into()).unwrap().offset_ns / 10_000_000, 0);
        // A second ago it was six seconds late.
        place.clock = since(-6_000_000_000, 1_000_000);
        let why = place.compare_clock(&"vm8".into()).unwrap_err().to_string();
        assert!(
            why.starts_with("the clock of vm8 ran ")
                && why.contains(" times as fast as this host's"),
            "{why}"
        );
        assert!(why.contains("while it boots"), "{why}");
        place.clock = since(-6_000_000_000, 1_000_000);
        let why = place.compare_clock(&"ssh:b".into()).unwrap_err().to_string();
        assert!(why.contains("stood still"), "{why}");
        assert!(
            place.compare_clock(&"vm8".into()).is_ok(),
            "it is held against the comparison before"
        );
        // A difference within the round trips does not matter.
        place.clock = since(-100_000_000, 300_000_000);
        assert!(place.compare_clock(&"vm8".into()).is_ok());
    }
}
