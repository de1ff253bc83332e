//! Drives a fleet: its hosts side by side, a bounded number at a time.

use crate::consent::shared_drive;
use crate::engine::{FleetEngine, FleetRun, HostErrand, INTERRUPTED};
use crate::host_look::{HostLook, LookPurpose};
use crate::host_state::{HostReport, HostState};
use crate::plan::{PlannedHost, Ticket, TicketPhase};
use iotax_units::exit::Failed;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Stack of a thread that waits for a host.
const STACK: usize = 512 << 10;
/// Interval at which a request to stop is looked for.
const LOOKS_EVERY: Duration = Duration::from_millis(200);

/// Callback for each new state of a host, with its name.
pub type HostWatcher<'a> = &'a (dyn Fn(&str, &HostReport) + Sync);

/// Applies `work` to the index of each host and the host, at most `parallel` at the same time.
/// Returns the results in the order of the hosts.
fn side_by_side<'a, T: Send>(
    hosts: &[&'a PlannedHost],
    parallel: usize,
    work: impl Fn(usize, &'a PlannedHost) -> T + Sync,
) -> Vec<T> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let worker = || loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let Some(host) = hosts.get(at) else { return };
        let result = (at, work(at, host));
        results.lock().unwrap_or_else(PoisonError::into_inner).push(result);
    };
    thread::scope(|scope| {
        let started = (0..parallel.clamp(1, hosts.len().max(1))).filter(|_| {
            thread::Builder::new().stack_size(STACK).spawn_scoped(scope, worker).is_ok()
        });
        if started.count() == 0 {
            worker();
        }
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(at, _)| *at);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Looks at all hosts. Returns what each reports. Nothing is left there unless a task follows.
///
/// # Errors
/// Bad input: two names are one host, or one drive would be written by two hosts.
pub fn look_at_hosts(
    run: &FleetRun,
    engine: &dyn FleetEngine,
    hosts: &[&PlannedHost],
    purpose: LookPurpose,
) -> Result<Vec<Result<HostLook, HostReport>>, Failed> {
    let looks =
        side_by_side(hosts, run.plan.parallel, |_, planned| engine.look(run, planned, purpose));
    let seen: Vec<(&PlannedHost, &HostLook)> = hosts
        .iter()
        .zip(&looks)
        .filter_map(|(planned, look)| Some((*planned, look.as_ref().ok()?)))
        .collect();
    for (at, (planned, look)) in seen.iter().enumerate() {
        let same =
            |(_, other): &&(&PlannedHost, &HostLook)| other.machine.is_same_host(&look.machine);
        if let Some((other, _)) = seen[..at].iter().find(same) {
            return Err(Failed::input(format!(
                "{} and {} are the same host, {}; hint: leave one out: --limit '!{}'",
                other.host.name,
                planned.host.name,
                look.machine.hostname.as_deref().unwrap_or("unknown"),
                planned.host.name
            )));
        }
    }
    let with_drives: Vec<_> = seen
        .iter()
        .map(|(planned, look)| {
            (planned.host.name.clone(), planned.consent.clone(), (*look).clone())
        })
        .collect();
    match shared_drive(&with_drives) {
        None => Ok(looks),
        Some((one, other, serial)) => Err(Failed::input(format!(
            "{one} and {other} both see the drive {serial}, and both rows allow writing it; nothing was started; hint: remove \
             it from one row"
        ))),
    }
}

/// Carries the fleet out on these hosts: looks at all, then brings each to its end. Returns how
/// each ended.
///
/// # Errors
/// As [`look_at_hosts`].
pub fn carry_out(
    run: &FleetRun,
    engine: &dyn FleetEngine,
    hosts: &[&PlannedHost],
    watch: HostWatcher,
) -> Result<Vec<HostReport>, Failed> {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                if run.folder.is_stop_requested() {
                    run.stop.store(true, Ordering::Relaxed);
                }
                thread::sleep(LOOKS_EVERY);
            }
        });
        let ended = carry_out_hosts(run, engine, hosts, watch);
        over.store(true, Ordering::Relaxed);
        ended
    })
}

fn carry_out_hosts(
    run: &FleetRun,
    engine: &dyn FleetEngine,
    hosts: &[&PlannedHost],
    watch: HostWatcher,
) -> Result<Vec<HostReport>, Failed> {
    let looks = look_at_hosts(run, engine, hosts, LookPurpose::Start)
        .inspect_err(|_| remove_all(run, engine, hosts))?;
    Ok(side_by_side(hosts, run.plan.parallel, |at, planned| {
        let name = planned.host.name.as_str();
        let report = match &looks[at] {
            Err(report) => keep_report(run, planned, report),
            Ok(_) if run.stop.load(Ordering::Relaxed) => {
                keep_report(run, planned, &run.never_started(INTERRUPTED))
            }
            Ok(_) => with_errand(
                run,
                planned,
                &|| watch(name, &HostReport::plain(HostState::Running)),
                |errand| carry_out_errand(engine, errand),
            ),
        };
        watch(name, &report);
        report
    }))
}

/// Brings a host to its end, and stores how that was.
fn carry_out_errand(engine: &dyn FleetEngine, errand: &HostErrand) -> HostReport {
    let mut ticket = match errand.folder.ticket() {
        Ok(ticket) => ticket.unwrap_or_else(|| Ticket::new(1)),
        Err(error) => return errand.run.unknown(error.to_string()),
    };
    let report = engine.carry_out(errand, &mut ticket);
    // A host that may still be running is asked again, whatever a later look says.
    if ticket.phase == TicketPhase::Sent && report.state != HostState::Unknown {
        ticket.phase = TicketPhase::Over;
    }
    ticket.report = Some(report.clone());
    match errand.folder.write_ticket(&ticket) {
        Ok(()) => report,
        Err(error) => errand.run.unknown(error.to_string()),
    }
}

/// Asks each host for its state now.
pub fn ask_hosts(
    run: &FleetRun,
    engine: &dyn FleetEngine,
    hosts: &[&PlannedHost],
) -> Vec<HostReport> {
    let asked = |errand: &HostErrand| match under_way(errand) {
        Ok(ticket) => engine.status(errand, &ticket),
        Err(report) => report,
    };
    side_by_side(hosts, run.plan.parallel, |_, planned| with_errand(run, planned, &|| {}, asked))
}

/// Has the tasks of these hosts end. Returns the report of each host that does not answer.
pub fn cancel_hosts(
    run: &FleetRun,
    engine: &dyn FleetEngine,
    hosts: &[&PlannedHost],
) -> Vec<Option<HostReport>> {
    side_by_side(hosts, run.plan.parallel, |_, planned| {
        let folder = run.folder.host(&planned.host.name).ok()?;
        let errand = HostErrand { run, planned, folder, on_begin: &|| {} };
        let ticket = under_way(&errand).ok()?;
        engine.cancel(&errand, &ticket).err()
    })
}

/// Returns the ticket of a host whose task may be running.
///
/// # Errors
/// The stored report of another host.
fn under_way(errand: &HostErrand) -> Result<Ticket, HostReport> {
    let stored = |error: iotax_store::StoreError| errand.run.unknown(error.to_string());
    let report = errand.folder.report().map_err(stored)?;
    let may_run = matches!(report.state, HostState::Unknown | HostState::Running);
    match errand.folder.ticket().map_err(stored)? {
        Some(ticket) if may_run && ticket.phase != TicketPhase::Prepared => Ok(ticket),
        _ => Err(report),
    }
}

/// Cleans these hosts. Returns the reason for each that is not clean.
pub fn clean_hosts(
    run: &FleetRun,
    engine: &dyn FleetEngine,
    hosts: &[&PlannedHost],
) -> Vec<Result<(), String>> {
    side_by_side(hosts, run.plan.parallel, |_, planned| clean_host(run, engine, planned))
}

fn clean_host(
    run: &FleetRun,
    engine: &dyn FleetEngine,
    planned: &PlannedHost,
) -> Result<(), String> {
    let words = |error: iotax_store::StoreError| error.to_string();
    let folder = run.folder.host(&planned.host.name).map_err(words)?;
    let ticket = folder.ticket().map_err(words)?;
    let Some(ticket) = ticket.filter(|ticket| ticket.leaves) else { return Ok(()) };
    let errand = HostErrand { run, planned, folder, on_begin: &|| {} };
    engine.clean(&errand, &ticket)?;
    errand.folder.write_ticket(&Ticket { leaves: false, ..ticket }).map_err(words)
}

fn with_errand(
    run: &FleetRun,
    planned: &PlannedHost,
    on_begin: &(dyn Fn() + Sync),
    work: impl Fn(&HostErrand) -> HostReport,
) -> HostReport {
    match run.folder.host(&planned.host.name) {
        Ok(folder) => work(&HostErrand { run, planned, folder, on_begin }),
        Err(error) => run.never_started(error.to_string()),
    }
}

/// Stores the report of a host that cannot take a task, unless an attempt was sent there before.
fn keep_report(run: &FleetRun, planned: &PlannedHost, report: &HostReport) -> HostReport {
    let stored = || -> Result<HostReport, iotax_store::StoreError> {
        let folder = run.folder.host(&planned.host.name)?;
        let before = folder.ticket()?.unwrap_or_else(|| Ticket::new(1));
        if before.phase == TicketPhase::Sent {
            return Ok(run.unanswered(report.why.as_deref().unwrap_or_default()));
        }
        folder.write_ticket(&Ticket { report: Some(report.clone()), ..before })?;
        Ok(report.clone())
    };
    stored().unwrap_or_else(|error| run.never_started(error.to_string()))
}

/// Removes what the look left on the hosts of a fleet that is refused.
fn remove_all(run: &FleetRun, engine: &dyn FleetEngine, hosts: &[&PlannedHost]) {
    side_by_side(hosts, run.plan.parallel, |_, planned| {
        let Ok(folder) = run.folder.host(&planned.host.name) else { return };
        if folder.ticket().is_ok_and(|ticket| ticket.is_none()) {
            let _ = folder.write_ticket(&Ticket { leaves: true, ..Ticket::new(1) });
        }
        // The refusal is the error to report; `fleet clean` finds what this leaves.
        let _ = clean_host(run, engine, planned);
    });
}
