//! Makes files under test on a host without an agent: new, marked and filled like those of this
//! host. Removes a file only if it has our marker and is the file that was made.

use super::{Host, QUICK};
use crate::ssh::SshOptions;
use anyhow::{Context, Result};
use iotax_drivers::refusal::NotOurs;
use iotax_drivers::step_output::StepOutput;
use iotax_host::guard::found::{InspectedKind, Inspection};
use iotax_host::guard::marker::{self, Marker};
use iotax_units::exit::Failed;
use iotax_units::{MIB, show_bytes};
use std::path::Path;
use std::time::Duration;

/// Rate in bytes per second below which filling a file counts as hanging.
const SLOWEST: u64 = 10_000_000;

fn host(name: &str, path: &Path) -> Host {
    Host::new(name, path, SshOptions::from_env())
}

fn describe(found: &Inspection) -> String {
    match (&found.kind, &found.marker) {
        (InspectedKind::File, Some(marker)) => {
            format!(
                "exists already, made by iotax run {} with {}",
                marker.run_id,
                show_bytes(marker.bytes)
            )
        }
        _ => "exists already and is not a file of iotax, so it is never written".into(),
    }
}

/// Makes the file and fills it, or takes over one of ours that has this size.
///
/// # Errors
/// If the size is not whole MiB, something else is there, the file system has no room, or the host
/// does not answer or fails.
pub fn make(name: &str, path: &Path, bytes: u64, run_id: &str) -> Result<StepOutput> {
    let host = host(name, path);
    let refuse =
        |why: String| Failed::input(format!("cannot create {} on {name}: {why}", path.display()));
    if bytes == 0 || bytes % MIB != 0 {
        return Err(
            refuse("its size is not a positive multiple of 1 MiB; hint: size=1GiB".into()).into()
        );
    }
    if let Some(found) = host.inspect(path)? {
        let ours = found.marker.clone().filter(|marker| marker.bytes == bytes && !found.symlink);
        let marker = ours
            .ok_or_else(|| refuse(format!("it {}; hint: name another path", describe(&found))))?;
        if !marker.filled {
            fill(&host, path, &marker)?;
        }
        return Ok(StepOutput { reused: true, ..yield_of(path, &marker) });
    }
    let made = host.say("create a file", &host.shell.create_request(path), QUICK)?;
    let made = host.understood("create a file", host.shell.parse_created(&made))?;
    let marker = Marker {
        run_id: run_id.into(),
        inode: made.inode,
        device: 0,
        born_ns: None,
        bytes,
        filled: false,
    };
    if bytes.saturating_add(marker::TRAILER)
        > made.free.saturating_sub(made.total / marker::KEPT_FREE)
    {
        host.act("remove a file", &host.shell.remove_request(path, made.inode), QUICK)?;
        let (free, total) = (show_bytes(made.free), show_bytes(made.total));
        let text =
            format!("{free} of {total} are free there, and 10 % stay free; hint: a smaller size");
        return Err(
            Failed::need(format!("cannot create {} on {name}: {text}", path.display())).into()
        );
    }
    // The marker is written first, so that what a kill leaves is known as ours.
    mark(&host, path, &marker)?;
    fill(&host, path, &marker)?;
    Ok(yield_of(path, &marker))
}

fn mark(host: &Host, path: &Path, marker: &Marker) -> Result<()> {
    host.act(
        "mark a file",
        &host.shell.mark_request(path, marker.bytes, &marker::trailer(marker)),
        QUICK,
    )
}

fn fill(host: &Host, path: &Path, marker: &Marker) -> Result<()> {
    let limit = QUICK + Duration::from_secs(marker.bytes / SLOWEST);
    host.act("fill a file", &host.shell.fill_request(path, marker.bytes), limit)?;
    mark(host, path, &Marker { filled: true, ..marker.clone() })
}

fn yield_of(path: &Path, marker: &Marker) -> StepOutput {
    StepOutput {
        path: Some(path.to_owned()),
        inode: Some(marker.inode),
        bytes: Some(marker.bytes),
        ..StepOutput::default()
    }
}

/// Finds the file that this run made, if it got as far as the marker.
///
/// # Errors
/// If the host cannot be asked, or its answer is not understood.
pub fn find(name: &str, path: &Path, run_id: &str) -> Result<Option<StepOutput>> {
    let marker = host(name, path).inspect(path)?.and_then(|found| found.marker);
    Ok(marker.filter(|marker| marker.run_id == run_id).map(|marker| yield_of(path, &marker)))
}

/// Removes the file, if it is still the one that was made. It is no error if it is gone.
///
/// # Errors
/// [`NotOurs`] if another file is there. Fails too if the host cannot be asked or does not remove
/// it.
pub fn remove(name: &str, path: &Path, made: &StepOutput, run_id: &str) -> Result<()> {
    let host = host(name, path);
    let inode = made.inode.context("no inode was recorded")?;
    let Some(found) = host.inspect(path)? else { return Ok(()) };
    if found.marker.is_none_or(|marker| marker.inode != inode || marker.run_id != run_id) {
        let text = format!(
            "did not remove {} on {name}: it is not the file that was made",
            path.display()
        );
        return Err(NotOurs(text).into());
    }
    host.act("remove a file", &host.shell.remove_request(path, inode), QUICK)
}
