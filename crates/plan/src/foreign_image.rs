//! Checks an image of an existing Ceph cluster before anything is planned. The image is reached by
//! the cluster's configuration, only read unless the user consents to writes, and refused while
//! another client has it open. iotax creates nothing in such a cluster.

use super::survey;
use anyhow::Result;
use iotax_drivers::ceph;
use iotax_drivers::ceph::{Before, Cluster, Image};
use iotax_facts::cluster::ClusterStatus;
use iotax_host::guard::judge::Intent;
use iotax_model::scenario::Scenario;
use iotax_model::stack::Stack;
use iotax_units::exit::Failed;
use iotax_units::{UNKNOWN_BYTES, show_bytes};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Time until the watch of a killed client expires, which is 30 s, with some to spare.
const WATCHES_FOR: Duration = Duration::from_secs(35);
const SOON: Duration = Duration::from_secs(2);

pub struct SeenImage {
    pub bytes: u64,
    pub warnings: Vec<String>,
}

/// Looks at an image, by configuration, pool and name; `report` gets a sentence if that takes long.
/// Without Ceph's programs, the size is unknown.
///
/// # Errors
/// Bad input: the configuration or image does not exist, another user could have written the
/// configuration, another client has the image open, or its cluster is in HEALTH_ERR or has no room
/// for writes. An unmet need: its cluster does not answer.
pub fn inspect_foreign_image(
    conf: &Path,
    pool: &str,
    image: &str,
    scenario: &Scenario,
    stack: &Stack,
    report: &mut dyn FnMut(String),
) -> Result<SeenImage> {
    let name = format!("rbd:{pool}/{image}");
    let refuse = |why: String| Failed::input(format!("{}: {why}", stack.text));
    if !conf.is_file() {
        let shown = conf.display();
        return Err(refuse(format!(
            "{shown} does not exist; hint: {name}@/path/ceph.conf, the configuration of the cluster"
        ))
        .into());
    }
    // Missing programs are listed with all other needs.
    if !ceph::has_tools() {
        return Ok(SeenImage { bytes: UNKNOWN_BYTES, warnings: Vec::new() });
    }
    let cluster = Cluster { conf };
    cluster.check_writers().map_err(|why| refuse(format!("{why:#}")))?;
    let waits =
        || report(format!("waiting up to 30 s for the cluster of {} to answer", conf.display()));
    let status = unless_soon(|| cluster.status(), waits).map_err(|why| {
        let why = cluster.silence(&format!("{why:#}"));
        Failed { message: format!("{}: {}", stack.text, why.message), ..why }
    })?;
    let writes = survey::intent(scenario, stack) == Intent::Write;
    if let Some(why) = unfit(&status, conf, writes) {
        return Err(refuse(why).into());
    }
    let begun = Instant::now();
    let mut is_reported = false;
    let seen = loop {
        let seen = Image::look_up(&cluster, pool, image).map_err(|why| {
            let shown = conf.display();
            match ceph::absent(&cluster, pool, image) {
                Some(absent) => Failed::input(format!("{shown}: {absent}")),
                None => refuse(format!(
                    "cannot inspect {name}: {why:#}; hint: rbd --conf {shown} ls {pool}"
                )),
            }
        })?;
        match seen.watchers.as_slice() {
            [] => break seen,
            watchers if begun.elapsed() < WATCHES_FOR => {
                if !is_reported {
                    is_reported = true;
                    let (seconds, watchers) = (WATCHES_FOR.as_secs(), watchers.join(", "));
                    report(format!(
                        "{name} is open at {watchers}; waiting up to {seconds} s, in case that client was killed"
                    ));
                }
                thread::sleep(Duration::from_secs(1));
            }
            watchers => {
                return Err(refuse(format!(
                    "{name} is in use by the client at {}; hint: stop that client, or use another image",
                    watchers.join(", ")
                ))
                .into());
            }
        }
    };
    // A client that maps an image read-only does not watch it.
    let before = Before::look_up(conf, pool, image).map_err(|why| refuse(format!("{why:#}")))?;
    if let Some(device) = before.mapped.first() {
        let device = device.display();
        return Err(refuse(format!(
            "{name} is mapped on this host as {device}; hint: rbd device unmap {device} if nobody uses it, or use \
             another image"
        ))
        .into());
    }
    let mut warnings = Vec::new();
    if !status.is_healthy() {
        warnings.push(format!("{name}: its cluster is not healthy: {status}"));
    }
    warnings.extend(not_filled(conf, pool, image, &seen));
    Ok(SeenImage { bytes: seen.bytes, warnings })
}

/// Runs `work` and returns its result; calls `waits` if that takes longer than [`SOON`].
fn unless_soon<T: Send>(work: impl FnOnce() -> T + Send, waits: impl FnOnce()) -> T {
    let (done, ended) = channel::<()>();
    thread::scope(|scope| {
        let working = scope.spawn(move || {
            let result = work();
            drop(done);
            result
        });
        // The thread sends nothing: at its end the channel is closed.
        if ended.recv_timeout(SOON) == Err(RecvTimeoutError::Timeout) {
            waits();
        }
        // A panic while asking is a bug and is resumed.
        working.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Returns why no load may go to a cluster in that state; `None` if it may.
fn unfit(status: &ClusterStatus, conf: &Path, writes: bool) -> Option<String> {
    let (shown, full) = (conf.display(), status.full_checks());
    match status.health.as_str() {
        "HEALTH_ERR" => Some(format!(
            "the cluster of {shown} reports {status}; hint: repair it first, see ceph --conf {shown} health detail"
        )),
        _ if writes && !full.is_empty() => Some(no_room(conf, &full.join(", "))),
        _ => None,
    }
}

fn not_filled(conf: &Path, pool: &str, image: &str, seen: &Image) -> Option<String> {
    let name = format!("rbd:{pool}/{image}");
    match seen.used {
        Some(used) if used >= seen.bytes => None,
        Some(used) => Some(format!(
            "{name}: only {} of {} was ever written; reads of the rest never reach a disk; hint: if you do not \
             need its data, write the whole image once: CEPH_CONF={} fio --name=fill --ioengine=rbd --clientname=admin --pool={pool} \
             --rbdname={image} --rw=write --bs=1M --iodepth=8 --refill_buffers",
            show_bytes(used),
            show_bytes(seen.bytes),
            conf.display()
        )),
        None => Some(format!(
            "{name} has no fast-diff, so iotax cannot determine whether all of it was ever written"
        )),
    }
}

/// Returns why nothing may be written to a cluster with these health checks.
pub fn no_room(conf: &Path, checks: &str) -> String {
    let conf = conf.display();
    format!(
        "the cluster of {conf} has no room to be written to ({checks}), and a full one stops for all its users; hint: \
         ceph --conf {conf} osd df; then add OSDs, remove data, or use a load that only reads"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_model::scenario::check::{ScenarioRequest, from_arguments};

    #[test]
    fn an_image_that_is_nowhere_is_refused_before_anything_is_asked_and_a_consent_is_missing_besides()
     {
        let folder = tempfile::tempdir().unwrap();
        let conf = folder.path().join("ceph.conf");
        let of = |rw: &str| {
            let stack = format!("rbd:p/i@{} | librbd", conf.display());
            let words = vec![("rw".to_owned(), rw.to_owned())];
            from_arguments(&[stack], &ScenarioRequest { words, ..ScenarioRequest::default() })
                .unwrap()
        };
        let reads = of("randread");
        let refused = inspect_foreign_image(&conf, "p", "i", &reads, &reads.stacks[0], &mut |_| {})
            .err()
            .unwrap()
            .to_string();
        assert!(
            refused.contains("ceph.conf does not exist; hint: rbd:p/i@/path/ceph.conf"),
            "{refused}"
        );
        if ceph::has_tools() {
            use std::os::unix::fs::PermissionsExt;
            std::fs::write(&conf, "[global]\nmon_host = 127.0.0.1\n").unwrap();
            std::fs::set_permissions(&conf, std::fs::Permissions::from_mode(0o666)).unwrap();
            let foreign =
                inspect_foreign_image(&conf, "p", "i", &reads, &reads.stacks[0], &mut |_| {})
                    .err()
                    .unwrap();
            assert!(
                foreign.to_string().contains("another user could have named a file or a module"),
                "{foreign}"
            );
        }
        let lacking =
            |scenario: &Scenario| survey::consent_lacking("rbd:p/i", scenario, &scenario.stacks[0]);
        assert_eq!(lacking(&reads), None);
        assert!(lacking(&of("randwrite")).unwrap().contains("hint: --destroy serial=rbd:p/i if"));
    }

    #[test]
    fn what_takes_long_is_announced_and_what_is_soon_there_is_not() {
        let told = |pause| {
            let mut told = false;
            assert_eq!(
                unless_soon(
                    || {
                        thread::sleep(pause);
                        7
                    },
                    || told = true
                ),
                7
            );
            told
        };
        assert!(!told(Duration::ZERO) && told(SOON + Duration::from_millis(500)));
    }

    #[test]
    fn a_cluster_in_an_error_is_refused_and_one_without_room_is_only_read() {
        let refused = |health: &str, checks: &[&str], writes| {
            let (health, checks) =
                (health.to_owned(), checks.iter().map(|one| (*one).to_owned()).collect());
            let status = ClusterStatus { health, checks, ..ClusterStatus::default() };
            unfit(&status, Path::new("/c.conf"), writes)
        };
        let why = refused("HEALTH_ERR", &["PG_DAMAGED"], false).unwrap();
        assert!(
            why.contains("reports HEALTH_ERR")
                && why.contains("PG_DAMAGED")
                && why.contains("; hint: ")
        );
        for check in ["OSD_NEARFULL", "POOL_FULL", "OSD_BACKFILLFULL"] {
            let why = refused("HEALTH_WARN", &["OSD_DOWN", check], true).unwrap();
            assert!(why.contains(&format!("no room to be written to ({check})")), "{why}");
            assert_eq!(refused("HEALTH_WARN", &[check], false), None, "reads need no room");
        }
        assert_eq!(refused("HEALTH_WARN", &["OSD_DOWN"], true), None);
    }

    #[test]
    fn what_was_never_written_is_warned_of() {
        let image = |used| Image { bytes: 1 << 30, used, watchers: Vec::new() };
        assert_eq!(not_filled(Path::new("/c.conf"), "p", "i", &image(Some(1 << 30))), None);
        let some = not_filled(Path::new("/c.conf"), "p", "i", &image(Some(4 << 20))).unwrap();
        assert!(some.contains("only 4 MiB of 1 GiB was ever written"), "{some}");
        assert!(
            not_filled(Path::new("/c.conf"), "p", "i", &image(None))
                .unwrap()
                .contains("no fast-diff")
        );
    }
}
