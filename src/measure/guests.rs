//! Disks of guests read back before anything is measured: what QEMU and the guest say of them, stack by stack.

use super::bench::Ready;
use super::places::Place;
use super::plan::SetPlan;
use crate::exit::Failed;
use crate::host::facts::{Device, Facts};
use crate::layer::guest::GuestPlan;
use crate::layer::guest::qemu::Server;
use crate::layer::guest::qmp::Qmp;
use crate::layer::guest::settings::{self, Settings};
use crate::step::spdk;
use crate::store::record::{GuestDisk, SpdkTarget};
use anyhow::Result;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// QEMU answers at once, but for a machine under load.
const ANSWER: Duration = Duration::from_secs(10);

/// The disks of a guest that stacks of the set are measured on; `facts` are those of the guest with their devices.
///
/// # Errors
/// When QEMU, or what serves a disk beside it, does not answer.
pub fn disks(
    place: &mut Place,
    guest: &GuestPlan,
    up: &SetPlan,
    ready: &[Ready],
    facts: &Facts,
) -> Result<Vec<GuestDisk>> {
    let mut found = Vec::new();
    for ((_, exposed), ready) in up.targets.iter().zip(ready) {
        let first = exposed.paths.first().map(|path| (&exposed.place, path));
        let all = first.into_iter().chain(exposed.copies.iter().map(|(place, path)| (place, path)));
        let here = all.filter(|(place, _)| **place == guest.place).map(|(_, path)| path).next();
        let seat = here.and_then(|path| guest.paths.iter().position(|seat| seat == path));
        let member = ready.members.iter().find(|member| member.place == guest.place);
        let (Some(at), Some(target)) = (seat, member.and_then(|member| member.targets.first())) else {
            continue;
        };
        let qemu = of_qemu(place, guest, at)?;
        let seen = device(facts, &target.path).map(settings::of_guest).unwrap_or_default();
        let disk = &guest.disks[at];
        found.push(GuestDisk {
            stack: ready.stack.clone(),
            path: target.path.clone(),
            attach: disk.way.name().to_owned(),
            differs: match (&disk.server, device(facts, &target.path)) {
                (Server::Drive(drive), Some(device)) => settings::other_drive(drive, device),
                _ => settings::differences(disk, guest.vcpus, &qemu, &seen),
            },
            qemu,
            guest: seen,
        });
    }
    Ok(found)
}

fn of_qemu(place: &mut Place, guest: &GuestPlan, at: usize) -> Result<Settings> {
    let words = |error| Failed::measurement(format!("guest {}: {error}", guest.place));
    let daemon = guest.daemons.iter().find(|daemon| daemon.disk == at);
    let mut daemon = daemon.map(|daemon| Qmp::connect(&daemon.control, ANSWER)).transpose().map_err(words)?;
    let qemu = place.control()?;
    let mut told = settings::of_qemu(qemu, daemon.as_mut(), at, &guest.disks[at]).map_err(words)?;
    if let Server::Spdk(disk) = &guest.disks[at].server {
        told.extend(spdk::read_back(&disk.rpc, &disk.name)?);
    }
    Ok(told)
}

/// The SPDK targets that serve disks of a guest.
///
/// # Errors
/// When one of them does not answer.
pub fn spdk_targets(guest: &GuestPlan) -> Result<Vec<SpdkTarget>> {
    let sockets = guest.disks.iter().filter_map(|disk| match &disk.server {
        Server::Spdk(disk) => Some(disk.rpc.as_path()),
        _ => None,
    });
    sockets.collect::<BTreeSet<_>>().into_iter().map(|socket| Ok(spdk::Target::at(socket)?.facts)).collect()
}

fn device<'a>(facts: &'a Facts, path: &Path) -> Option<&'a Device> {
    facts.targets.iter().find(|target| target.path == path)?.devices.first()
}
