//! Reads back, before anything is measured, which settings of each guest disk QEMU and the guest
//! report.

use super::places::ReachedPlace;
use super::under_load::StackUnderLoad;
use anyhow::{Context, Result};
use iotax_drivers::process::started_process;
use iotax_drivers::{ceph, spdk};
use iotax_host::facts::{Device, Facts};
use iotax_layers::guest::GuestPlan;
use iotax_model::record::{GuestDisk, SpdkTarget};
use iotax_plan::set_plan::SetPlan;
use iotax_qemu::disk::{DiskServer, DiskSpec};
use iotax_qemu::qmp::Qmp;
use iotax_qemu::settings;
use iotax_qemu::settings::GuestSettings;
use iotax_units::exit::Failed;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// Limit for QEMU's answer. QEMU answers at once unless the machine is under load.
const ANSWER: Duration = Duration::from_secs(10);

/// Returns what QEMU and the guest report of the disks of a guest that stacks of the set are
/// measured on. `facts` are those of the guest with the devices of these disks.
///
/// # Errors
/// QEMU, or the process that serves a disk outside it, does not answer; or a guest has another
/// drive than it was given.
pub fn disks(
    place: &mut ReachedPlace,
    guest: &GuestPlan,
    up: &SetPlan,
    ready: &[StackUnderLoad],
    facts: &Facts,
) -> Result<Vec<GuestDisk>> {
    let mut found = Vec::new();
    for ((_, exposed), ready) in up.targets.iter().zip(ready) {
        let loaded = exposed.loaded();
        let here =
            loaded.iter().filter(|(place, _)| **place == guest.place).flat_map(|(_, paths)| paths);
        let members = ready.members.iter().filter(|member| member.place == guest.place);
        for (path, target) in here.zip(members.flat_map(|member| &member.targets)) {
            let Some(at) = guest.paths.iter().position(|seat| seat == *path) else { continue };
            let qemu = of_qemu(place, guest, at)?;
            let device = device(facts, &target.path);
            let disk = &guest.disks[at];
            found.push(GuestDisk {
                stack: ready.stack.clone(),
                path: target.path.clone(),
                attach: disk.way.name().to_owned(),
                differs: differing_settings(guest, disk, &qemu, device)?,
                qemu,
                guest: device.map(settings::of_guest).unwrap_or_default(),
            });
        }
    }
    Ok(found)
}

/// Describes the settings of a disk that differ from those asked for, or that cannot be read. Fails
/// if the guest has another drive than it was given.
fn differing_settings(
    guest: &GuestPlan,
    disk: &DiskSpec,
    qemu: &GuestSettings,
    device: Option<&Device>,
) -> Result<Vec<String>> {
    let seen = device.map(settings::of_guest).unwrap_or_default();
    let mut differ = settings::differences(disk, guest.vcpus, qemu, &seen);
    if let DiskServer::Drive(drive) = &disk.server {
        differ.extend(settings::other_drive(drive, device).map_err(|why| {
            let (place, address) = (&guest.place, &drive.address);
            Failed::measurement(format!(
                "guest {place} has another drive than that of {address}: {why}"
            ))
        })?);
    }
    Ok(differ)
}

fn of_qemu(place: &mut ReachedPlace, guest: &GuestPlan, at: usize) -> Result<GuestSettings> {
    let words = |error| Failed::measurement(format!("guest {}: {error}", guest.place));
    let daemon = guest.daemons.iter().find(|daemon| daemon.disk == at);
    let mut daemon =
        daemon.map(|daemon| Qmp::connect(&daemon.control, ANSWER)).transpose().map_err(words)?;
    let qemu = place.control()?;
    let mut reported =
        settings::of_qemu(qemu, daemon.as_mut(), at, &guest.disks[at]).map_err(words)?;
    let disk = &guest.disks[at];
    if let DiskServer::Spdk(disk) = &disk.server {
        reported.extend(spdk::read_back(&disk.rpc, &disk.name)?);
    }
    if let Some(rbd) = &disk.rbd {
        let tag = guest
            .daemons
            .iter()
            .find(|daemon| daemon.disk == at)
            .map_or(&guest.tag, |daemon| &daemon.tag);
        let process =
            started_process(tag)?.with_context(|| format!("guest {} has ended", guest.place))?;
        let cache = ceph::cache_reported(&disk.path, &rbd.pool, &rbd.image, process.pid);
        reported.extend(ceph::image_settings(&disk.path, &rbd.pool, &rbd.image)?);
        reported.insert(settings::RBD_CACHE.to_owned(), cache);
    }
    Ok(reported)
}

pub fn spdk_targets(guest: &GuestPlan) -> Result<Vec<SpdkTarget>> {
    let sockets = guest.disks.iter().filter_map(|disk| match &disk.server {
        DiskServer::Spdk(disk) => Some(disk.rpc.as_path()),
        _ => None,
    });
    sockets
        .collect::<BTreeSet<_>>()
        .into_iter()
        .map(|socket| Ok(spdk::SpdkConnection::connect(socket)?.facts))
        .collect()
}

fn device<'a>(facts: &'a Facts, path: &Path) -> Option<&'a Device> {
    facts.targets.iter().find(|target| target.path == path)?.devices.first()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_host::pci::PciDrive;
    use iotax_qemu::attach;
    use iotax_qemu::command_line::Memory;
    use iotax_qemu::testing::made_up_disk;

    #[test]
    fn a_guest_with_another_drive_measures_nothing_and_an_unread_one_is_told() {
        let guest = GuestPlan::made_up("vm0", Memory::plain_memory(256 << 20));
        let drive = PciDrive {
            address: "0000:01:00.0".into(),
            serial: Some("S".into()),
            ..PciDrive::default()
        };
        let server = DiskServer::Drive(Box::new(drive));
        let way = attach::by_name("vfio").unwrap();
        let disk = DiskSpec { way, server, iothreads: 0, ..made_up_disk() };
        let qemu: GuestSettings = [("host".to_owned(), "0000:01:00.0".to_owned())].into();
        let of_serial = |serial: &str| Device { serial: Some(serial.into()), ..Device::default() };
        let told = |qemu: &GuestSettings, device: Option<&Device>| {
            differing_settings(&guest, &disk, qemu, device)
        };
        assert_eq!(told(&qemu, Some(&of_serial("S"))).unwrap(), Vec::<String>::new());
        assert_eq!(told(&qemu, None).unwrap().len(), 1);
        let elsewhere = told(&GuestSettings::new(), Some(&of_serial("S"))).unwrap();
        assert_eq!(elsewhere, ["host=0000:01:00.0 was asked for, and QEMU does not report it"]);
        let error = told(&qemu, Some(&of_serial("T"))).unwrap_err();
        assert_eq!(iotax_units::exit::code_of(&error), iotax_units::exit::MEASUREMENT_FAILED);
        let expected = "guest vm0 has another drive than that of 0000:01:00.0: its serial is S on this host and T in the guest";
        assert_eq!(error.to_string(), expected);
    }
}
