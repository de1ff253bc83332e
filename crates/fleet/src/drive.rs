//! Drives a fleet: its hosts side by side, a bounded number at a time.

use crate::consent::shared_drive;
use crate::engine::{FleetEngine, FleetRun, HostErrand};
use crate::host_look::HostLook;
use crate::host_state::{HostReport, HostState};
use crate::plan::{PlannedHost, Ticket, TicketPhase};
use iotax_units::exit::Failed;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Stack of a thread that waits for a host.
const STACK: usize = 512 << 10;
/// Interval at which a request to stop is looked for.
const LOOKS_EVERY: Duration = Duration::from_millis(200);

/// What is called with the name of a host and its new state.
pub type HostWatcher<'a> = &'a (dyn Fn(&str, &HostReport) + Sync);

/// Applies `work` to each host, at most `parallel` at the same time. Returns the results in the
/// order of the hosts.
fn side_by_side<'a, T: Send>(
    hosts: &[&'a PlannedHost],
    parallel: usize,
    work: impl Fn(&'a PlannedHost) -> T + Sync,
) -> Vec<T> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let worker = || {
        while let Some(host) = hosts.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = (host.host.name.as_str(), work(host));
            results.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(result);
        }
    };
    thread::scope(|scope| {
        let started = (0..parallel.clamp(1, hosts.len().max(1))).filter(|_| {
            thread::Builder::new().stack_size(STACK).spawn_scoped(scope, worker).is_ok()
        });
        if started.count() == 0 {
            worker();
        }
    });
    let mut results = results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    let order = |name: &str| hosts.iter().position(|host| host.host.name == name);
    results.sort_by_cached_key(|(name, _)| order(name));
    results.into_iter().map(|(_, result)| result).collect()
}

/// Looks at all hosts. Returns what each reports. Nothing is left there unless `stays`.
///
/// # Errors
/// Bad input: two names are one host, or one drive would be written by two hosts.
pub fn look_at_hosts(
    run: &FleetRun,
    engine: &dyn FleetEngine,
    hosts: &[&PlannedHost],
    stays: bool,
) -> Result<Vec<Result<HostLook, HostReport>>, Failed> {
    let looks = side_by_side(hosts, run.plan.parallel, |planned| engine.look(run, planned, stays));
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
                "{} and {} are one host (its name is {}); hint: leave one of them out: --limit '!{}'",
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
            "{one} and {other} reach one drive, {serial}, and both may write it; nothing was started; hint: remove it from the \
             row of one of them"
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
    let looks =
        look_at_hosts(run, engine, hosts, true).inspect_err(|_| remove_all(run, engine, hosts))?;
    let looks: Vec<_> = hosts.iter().map(|host| host.host.name.as_str()).zip(looks).collect();
    Ok(side_by_side(hosts, run.plan.parallel, |planned| {
        let name = planned.host.name.as_str();
        let look = looks.iter().find(|(own, _)| *own == name).map(|(_, look)| look);
        let report = match look {
            Some(Err(report)) => keep_report(run, planned, report),
            _ if run.stop.load(Ordering::Relaxed) => stopped(run, planned),
            _ => with_errand(
                run,
                planned,
                &|| watch(name, &HostReport::plain(HostState::Running)),
                |errand| engine.carry_out(errand),
            ),
        };
        watch(name, &report);
        report
    }))
}

/// Asks each host for its state now.
pub fn ask_hosts(
    run: &FleetRun,
    engine: &dyn FleetEngine,
    hosts: &[&PlannedHost],
) -> Vec<HostReport> {
    side_by_side(hosts, run.plan.parallel, |planned| {
        with_errand(run, planned, &|| {}, |errand| engine.status(errand))
    })
}

/// Has the tasks of these hosts end. Returns the report of each host that does not answer.
pub fn cancel_hosts(
    run: &FleetRun,
    engine: &dyn FleetEngine,
    hosts: &[&PlannedHost],
) -> Vec<Option<HostReport>> {
    side_by_side(hosts, run.plan.parallel, |planned| {
        let folder = run.folder.host(&planned.host.name).ok()?;
        let may_run = folder
            .report()
            .is_ok_and(|report| matches!(report.state, HostState::Running | HostState::Unknown));
        let errand = HostErrand { run, planned, folder, on_begin: &|| {} };
        may_run.then(|| engine.cancel(&errand).err()).flatten()
    })
}

/// Cleans these hosts. Returns the reason for each that is not clean.
pub fn clean_hosts(
    run: &FleetRun,
    engine: &dyn FleetEngine,
    hosts: &[&PlannedHost],
) -> Vec<Result<(), String>> {
    side_by_side(hosts, run.plan.parallel, |planned| clean_host(run, engine, planned))
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
        Err(error) => HostReport::new(
            HostState::NeverStarted,
            error.to_string(),
            format!("iotax fleet resume {}", run.plan.id),
        ),
    }
}

/// Stores the report of a host that cannot take a task, unless an attempt was sent there before.
fn keep_report(run: &FleetRun, planned: &PlannedHost, report: &HostReport) -> HostReport {
    let Ok(folder) = run.folder.host(&planned.host.name) else { return report.clone() };
    let before = folder.ticket().ok().flatten();
    if let Some(Ticket { phase: TicketPhase::Sent, .. }) = before {
        let why = report.why.clone().unwrap_or_default();
        let why = format!("it does not answer ({why}), and its task may still be running");
        return HostReport::new(
            HostState::Unknown,
            why,
            format!("iotax fleet status {}", run.plan.id),
        );
    }
    let ticket = Ticket {
        report: Some(report.clone()),
        phase: TicketPhase::Prepared,
        ..before.unwrap_or_else(|| Ticket::new(1))
    };
    match folder.write_ticket(&ticket) {
        Ok(()) => report.clone(),
        Err(error) => HostReport::new(
            HostState::NeverStarted,
            error.to_string(),
            format!("iotax fleet resume {}", run.plan.id),
        ),
    }
}

fn stopped(run: &FleetRun, planned: &PlannedHost) -> HostReport {
    let next = format!("iotax fleet resume {}", run.plan.id);
    keep_report(
        run,
        planned,
        &HostReport::new(
            HostState::NeverStarted,
            "the fleet was interrupted before its turn",
            next,
        ),
    )
}

/// Removes what the look left on the hosts of a fleet that is refused.
fn remove_all(run: &FleetRun, engine: &dyn FleetEngine, hosts: &[&PlannedHost]) {
    side_by_side(hosts, run.plan.parallel, |planned| {
        let Ok(folder) = run.folder.host(&planned.host.name) else { return };
        if folder.ticket().is_ok_and(|ticket| ticket.is_none()) {
            let _ = folder.write_ticket(&Ticket { leaves: true, ..Ticket::new(1) });
        }
        // The refusal is the error to report; `fleet clean` finds what this leaves.
        let _ = clean_host(run, engine, planned);
    });
}
