//! Devices of the device mapper's `linear` target, made with dmsetup. Ours are recognised by their
//! name and by a UUID, which is `IOTAX-` and the name.

use crate::step_output::StepOutput;
use iotax_units::size_word;

use super::tool::{load_modules, run_with, settle, tool};
use crate::path_ref::PathRef;
use crate::refusal::{NotOurs, NothingMade};
use crate::tool::run_tool;
use anyhow::{Context, Result, bail, ensure};
use iotax_host::block::sys_block;
use iotax_host::probe::Probe;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::path::Path;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeLinear {
    pub name: String,
    pub stretches: Vec<Stretch>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    pub device: PathRef,
    pub offset: u64,
    pub bytes: u64,
}

/// Unit of offsets and lengths in the device mapper's tables, in bytes, whatever the devices' block
/// size is.
const SECTOR: u64 = 512;

/// Makes the device and returns its path.
///
/// # Errors
/// If the name is taken or the module does not load ([`NothingMade`]), a stretch is not whole
/// sectors or its device is not there, dmsetup fails, or no device appears.
pub fn create(linear: &MakeLinear) -> Result<StepOutput> {
    check_stretches(linear).context(NothingMade)?;
    let table = device_table(&linear.stretches)?;
    let mut command = tool("dmsetup", ["create", &linear.name, "--uuid", &uuid(&linear.name)]);
    if linear.read_only {
        command.arg("--readonly");
    }
    run_with(command, &table)?;
    settle();
    find_linear(&linear.name)
        .filter(|made| made.path.is_some())
        .context("dmsetup has made it, and it is not there")
}

fn check_stretches(linear: &MakeLinear) -> Result<()> {
    if !Path::new("/sys/module/dm_mod").exists() {
        load_modules(&["dm_mod"])?;
    }
    ensure!(
        find_device(&host_probe(), &linear.name).is_none(),
        "the device mapper has a {} already",
        linear.name
    );
    Ok(())
}

pub fn find_linear(name: &str) -> Option<StepOutput> {
    let (device, id) = find_device(&host_probe(), name)?;
    let path = Path::new("/dev").join(device);
    (id == uuid(name)).then(|| StepOutput::found_at(path))
}

/// Removes the device, if it exists.
///
/// # Errors
/// [`NotOurs`] if a device of that name is not ours. Fails too if the device is in use.
pub fn remove(name: &str) -> Result<()> {
    match find_device(&host_probe(), name) {
        None => return Ok(()),
        Some((device, id)) if id != uuid(name) => {
            return Err(NotOurs(format!(
                "/dev/{device} is called {name} and is not ours: left alone"
            ))
            .into());
        }
        Some(_) => settle(),
    }
    run_tool(&mut tool("dmsetup", ["remove", "--retry", name]))?;
    settle();
    match find_device(&host_probe(), name) {
        None => Ok(()),
        Some((device, _)) => bail!("/dev/{device} ({name}) is still there"),
    }
}

fn find_device(probe: &Probe, name: &str) -> Option<(String, String)> {
    let of =
        |device: &String, file: &str| probe.read_trimmed(sys_block(device).join("dm").join(file));
    let named = |device: &String| of(device, "name").as_deref() == Some(name);
    let device = probe.folder_names("/sys/block").into_iter().find(named)?;
    let uuid = of(&device, "uuid").unwrap_or_default();
    Some((device, uuid))
}

fn uuid(name: &str) -> String {
    format!("IOTAX-{name}")
}

/// Returns the rows of the device's table for people, with devices as they are named.
pub fn table_rows(stretches: &[Stretch]) -> Vec<String> {
    let mut at = 0_u64;
    let mut row = |stretch: &Stretch| {
        let sectors = |bytes: u64| size_word(bytes, bytes / SECTOR);
        let (start, length) = (sectors(at), sectors(stretch.bytes));
        at = at.saturating_add(stretch.bytes);
        format!("{start} {length} linear {} {}", stretch.device, sectors(stretch.offset))
    };
    stretches.iter().map(&mut row).collect()
}

fn device_table(stretches: &[Stretch]) -> Result<String> {
    let (mut text, mut at) = (String::new(), 0);
    for Stretch { device, offset, bytes } in stretches {
        ensure!(
            offset % SECTOR == 0 && bytes % SECTOR == 0,
            "a stretch of {bytes} bytes at {offset} is no number of sectors"
        );
        let device = device
            .resolved_path()?
            .canonicalize()
            .with_context(|| format!("cannot find {device}"))?;
        let sectors = bytes / SECTOR;
        let _ = writeln!(text, "{at} {sectors} linear {} {}", device.display(), offset / SECTOR);
        at += sectors;
    }
    Ok(text)
}

fn host_probe() -> Probe {
    Probe::of_files(Path::new("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path_ref::PathRef;
    use iotax_host::made_up::server;

    fn stretch(device: &str, offset: u64, bytes: u64) -> Stretch {
        Stretch { device: PathRef::Path(device.into()), offset, bytes }
    }

    #[test]
    fn a_table_has_its_stretches_one_behind_the_other() {
        let parts = [stretch("/dev/null", 1 << 20, 4 << 20), stretch("/dev/zero", 0, 512)];
        assert_eq!(
            device_table(&parts).unwrap(),
            "0 8192 linear /dev/null 2048\n8192 1 linear /dev/zero 0\n"
        );
        let error = device_table(&[stretch("/dev/null", 100, 512)]).unwrap_err().to_string();
        assert!(error.contains("no number of sectors"), "{error}");
    }

    #[test]
    fn a_device_is_found_by_its_name_and_ours_by_its_uuid() {
        let machine = server();
        machine.put(&[
            ("/sys/block/dm-7/dm/name", "iotax-r-dm0\n"),
            ("/sys/block/dm-7/dm/uuid", "IOTAX-iotax-r-dm0\n"),
        ]);
        let ours = find_device(&machine.probe, "iotax-r-dm0").unwrap();
        assert_eq!(ours, ("dm-7".to_owned(), uuid("iotax-r-dm0")));
        assert_eq!(find_device(&machine.probe, "iotax-r-dm1"), None);
    }
}
