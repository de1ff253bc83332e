//! Existing virtual machines of libvirt, Proxmox VE or ESXi: settings that their manager reports,
//! and changes by it. It is asked by its own program, on this host or on another. Each manager is a
//! file and an entry in [`hypervisor_of`].

pub(crate) mod esxi;
pub(crate) mod libvirt;
pub(crate) mod proxmox;

use crate::ssh::{self, SshOptions};
use anyhow::{Context, Result, bail};
use iotax_drivers::tool;
use iotax_facts::machine::Facts;
use iotax_facts::vm::{Manager, Vm, VmFacts, transport_of};
use iotax_host::Missing;
use iotax_host::probe::program_path;
use iotax_units::exit::Failed;
use iotax_units::shell;
use std::collections::BTreeMap;
use std::time::Duration;

/// Time limit of a manager's answer. One that takes longer is taken to be down.
const ANSWERS_WITHIN: Duration = Duration::from_secs(60);

/// Value that is reported for a setting that was not set.
pub(crate) const DEFAULT: &str = "default";

/// Function that runs the manager's program with these arguments and this standard input, and
/// returns its standard output.
pub(crate) type ManagerRequest<'a> = &'a dyn Fn(&[&str], Option<&str>) -> Result<String>;

/// Manager of virtual machines: libvirt, Proxmox VE or ESXi.
pub trait Hypervisor: Sync {
    /// Returns how to get the manager's program, for a hint.
    fn package_name(&self) -> &'static str;

    /// Returns what to do about a failure of the program whose standard error is `words`, if that
    /// is known.
    fn failure_hint(&self, _words: &str) -> Option<&'static str> {
        None
    }

    /// Returns the arguments of two commands that query a machine's state and settings, without the
    /// program.
    fn query_arguments<'a>(&self, vm: &'a Vm) -> [Vec<&'a str>; 2];

    /// Reads the settings and disks of a running machine.
    ///
    /// # Errors
    /// If there is no machine of that name, it does not run, or the manager does not answer or its
    /// answer is not understood.
    fn read_machine_facts(&self, vm: &Vm, ask: ManagerRequest) -> Result<VmFacts>;

    /// Returns the settings that can be changed for a visit, by their words in a stack.
    fn changeable_settings(&self) -> &'static [&'static str];

    /// Returns true if the machine runs.
    ///
    /// # Errors
    /// If the manager does not answer, or there is no machine of that name: it is gone, or was
    /// migrated.
    fn is_machine_running(&self, vm: &Vm, ask: ManagerRequest) -> Result<bool>;

    /// Returns why the machine must not be changed: it has snapshots, a saved state, or changes
    /// that wait for a restart, or is locked or transient. `None` if it may be changed.
    ///
    /// # Errors
    /// If the manager does not answer.
    fn change_objection(&self, vm: &Vm, ask: ManagerRequest) -> Result<Option<String>>;

    /// Reads the machine's settings for its next start, as text with all that is needed to restore
    /// them.
    ///
    /// # Errors
    /// If there is no such disk, or the manager does not answer.
    fn read_saved(&self, vm: &Vm, disk: &str, ask: ManagerRequest) -> Result<String>;

    /// Returns the saved text with other settings of a disk and of the machine.
    ///
    /// # Errors
    /// If the saved text cannot be parsed, or has no such disk.
    fn saved_with_settings(
        &self,
        vm: &Vm,
        disk: &str,
        saved: &str,
        settings: &ManagerSettings,
    ) -> Result<String>;

    /// Returns the part of a saved text that is compared: it is equal in two texts if nobody has
    /// edited the machine between them.
    fn comparable_part(&self, disk: &str, saved: &str) -> String;

    /// Writes saved settings for the next start of a machine that does not run.
    ///
    /// # Errors
    /// If the manager refuses or does not answer, or the text has no such disk.
    fn write_saved(&self, vm: &Vm, disk: &str, saved: &str, ask: ManagerRequest) -> Result<()>;

    /// Asks the machine's system to shut down, or, with `force`, switches the machine off.
    ///
    /// # Errors
    /// If the manager refuses or does not answer.
    fn stop_machine(&self, vm: &Vm, force: bool, ask: ManagerRequest) -> Result<()>;

    fn start_machine(&self, vm: &Vm, ask: ManagerRequest) -> Result<()>;
}

/// Settings to change, by their words in a stack.
pub type ManagerSettings = BTreeMap<String, String>;

pub fn changeable(manager: Manager) -> &'static [&'static str] {
    hypervisor_of(manager).changeable_settings()
}

/// Returns the value of a key in lines of `KEY: VALUE`.
pub(crate) fn line_of<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).map(str::trim)
}

pub fn hypervisor_of(manager: Manager) -> &'static dyn Hypervisor {
    match manager {
        Manager::Libvirt => &libvirt::Libvirt,
        Manager::Proxmox => &proxmox::Proxmox,
        Manager::Esxi => &esxi::Esxi,
    }
}

/// Returns what the manager of a virtual machine reports about it.
///
/// # Errors
/// An unmet need if the manager's program is not installed. Fails too if there is no such machine,
/// it does not run, or its manager does not answer.
pub fn facts(vm: &Vm) -> Result<VmFacts> {
    hypervisor_of(vm.manager)
        .read_machine_facts(vm, &|arguments, input| run_manager(vm, arguments, input))
}

/// Returns the command lines by which the manager is asked for a machine's settings, as they are
/// run in the manager's place.
pub fn queries(vm: &Vm) -> Vec<String> {
    let line =
        |words: Vec<&str>| shell::quote_line(std::iter::once(&vm.manager.program()).chain(&words));
    hypervisor_of(vm.manager).query_arguments(vm).map(line).to_vec()
}

/// Returns the manager's program as missing, if it would run on this host and is not installed.
pub fn missing(vm: &Vm) -> Option<Missing> {
    let program = vm.manager.program();
    (vm.on.is_host() && program_path(program).is_none()).then(|| Missing {
        what: program.to_owned(),
        why: format!("to query {vm}"),
        command: hypervisor_of(vm.manager).package_name().to_owned(),
        reboot: false,
    })
}

/// Runs the manager's program in its place, at most 60 s, and returns its standard output.
pub fn run_manager(vm: &Vm, arguments: &[&str], input: Option<&str>) -> Result<String> {
    let program = vm.manager.program();
    // An old journal may have a URI that was not checked.
    let transport = vm.uri.as_deref().map(transport_of).transpose();
    let transport =
        transport.map_err(|why| Failed::input(format!("cannot query {vm} by its URI: {why}")))?;
    let mut command = match vm.on.ssh_host() {
        None => {
            if let Some(Missing { what, command, .. }) = missing(vm) {
                let why = format!("cannot query {vm}: {what} is not installed; hint: {command}");
                return Err(Failed::need(why).into());
            }
            if transport == Some("ssh") {
                tool::trusted_program("ssh")?;
            }
            tool::tool(tool::trusted_program(program)?, arguments)
        }
        Some(host) => {
            let line = shell::quote_line(["env", "LC_ALL=C", program].iter().chain(arguments));
            ssh::command(host, &line, &SshOptions::from_env())?
        }
    };
    let shown = shell::quote_line([program].iter().chain(arguments));
    let output = tool::output_within(&mut command, ANSWERS_WITHIN, input)
        .with_context(|| format!("cannot query {vm} on {}", vm.on))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> =
            words.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let hint = hypervisor_of(vm.manager)
            .failure_hint(&words)
            .map_or_else(String::new, |hint| format!("; hint: {hint}"));
        bail!(
            "{vm}: `{shown}` on {} failed ({}): {}{hint}",
            vm.on,
            output.status,
            lines.join("; ")
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the error for a machine that does not run, so that nothing can be measured in it.
pub fn not_running(vm: &Vm, state: &str) -> anyhow::Error {
    let hint = "start it, or name the right virtual machine";
    Failed::input(format!(
        "{vm} does not run (it is {state}), so nothing can be measured in it; hint: {hint}"
    ))
    .into()
}

/// Returns the error for an answer that does not match the manager's documentation.
pub(crate) fn not_understood(vm: &Vm, why: impl std::fmt::Display) -> anyhow::Error {
    let program = vm.manager.program();
    Failed::measurement(format!("{vm}: cannot parse the output of {program}: {why}")).into()
}

/// Splits `WORD,KEY=VALUE,KEY=VALUE` into the words without a key and the values by their keys.
pub(crate) fn words_of(text: &str) -> (Vec<&str>, BTreeMap<&str, &str>) {
    let (keyed, bare): (Vec<&str>, Vec<&str>) =
        text.split(',').partition(|word| word.contains('='));
    (bare, keyed.into_iter().filter_map(|word| word.split_once('=')).collect())
}

/// Marks the disks of a machine that are its measured devices, by their serials. Returns a message
/// for each measured path that is not one of them for certain.
pub fn match_disks(vm: &mut VmFacts, facts: &Facts) -> Vec<String> {
    let name = format!("{}:{}", vm.manager.manager_word(), vm.name);
    let has_passed = vm.settings.keys().any(|key| key.starts_with(PASSED));
    let mut unmatched = Vec::new();
    for target in facts.targets.iter().filter(|target| !target.devices.is_empty()) {
        let path = target.path.display();
        let serials: Vec<&str> =
            target.devices.iter().filter_map(|device| device.serial.as_deref()).collect();
        let is_it = |disk: &&mut Disk| {
            let own = disk.serial.as_deref();
            own.is_some_and(|own| serials.iter().any(|seen| is_shown_as(own, seen)))
        };
        let mut found: Vec<&mut Disk> = vm.disks.iter_mut().filter(is_it).collect();
        let shown = serials.join(", ");
        unmatched.push(match found.as_mut_slice() {
            [disk] => {
                disk.measured = Some(target.path.clone());
                continue;
            }
            [] if serials.is_empty() => format!(
                "{path} has no serial, so iotax cannot determine which disk of {name} it is, nor its cache and queues; \
                 hint: give that disk a serial"
            ),
            [] if has_passed => format!(
                "no disk of {name} has the serial of {path} ({shown}): it may be a passed-through device, whose \
                 serial the manager does not report"
            ),
            [] => format!(
                "no disk of {name} has the serial of {path} ({shown}), so its cache and queues there are unknown; \
                 hint: give that disk this serial, or name the right virtual machine"
            ),
            _ => format!(
                "several disks of {name} have the serial of {path} ({shown}), so iotax cannot determine which one it is; \
                 hint: give each its own serial"
            ),
        });
    }
    unmatched
}

/// Returns true if the id `own`, as the manager reports it, is the serial `seen` in the guest:
/// guests see the UUID of a VMDK without dashes, and the first 20 characters of a virtio disk's
/// serial.
fn is_shown_as(own: &str, seen: &str) -> bool {
    let plain = |serial: &str| serial.trim().replace('-', "").to_ascii_lowercase();
    let cut = own.trim().get(..20).is_some_and(|first| first.trim() == seen.trim());
    !seen.trim().is_empty() && (plain(own) == plain(seen) || cut)
}

pub(crate) use iotax_facts::vm::VmDisk as Disk;

/// Prefix of the keys of passed-through devices among the settings.
pub(crate) const PASSED: &str = "passthrough.";

#[cfg(test)]
mod tests;
