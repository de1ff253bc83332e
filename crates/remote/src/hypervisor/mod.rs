//! Existing virtual machines of libvirt, Proxmox VE or ESXi: what their manager reports about them,
//! asked by its own program on this host or on another. A manager is a file and an entry in
//! [`hypervisor_of`].

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

/// Time limit of a manager's answer: one that does not answer by then is down.
const ANSWERS_WITHIN: Duration = Duration::from_secs(60);

/// The value of a setting that was not set.
pub(crate) const DEFAULT: &str = "default";

/// Runs the manager's program with these arguments and that input, and returns what it writes.
pub(crate) type ManagerRequest<'a> = &'a dyn Fn(&[&str], Option<&str>) -> Result<String>;

/// A manager of virtual machines.
pub trait Hypervisor: Sync {
    /// Returns the package that has its program, for a hint.
    fn package_name(&self) -> &'static str;

    /// Returns what to do about a failure with these words.
    fn failure_hint(&self, _words: &str) -> Option<&'static str> {
        None
    }

    /// Returns the arguments of the commands that query a machine's settings, without the program.
    fn query_arguments<'a>(&self, vm: &'a Vm) -> [Vec<&'a str>; 2];

    /// Reads the settings of a machine.
    ///
    /// # Errors
    /// There is no machine of that name, it does not run, or the answer cannot be parsed.
    fn read_machine_facts(&self, vm: &Vm, ask: ManagerRequest) -> Result<VmFacts>;

    /// Returns the settings that can be changed for a visit.
    fn changeable_settings(&self) -> &'static [&'static str];

    /// Returns true if it runs.
    ///
    /// # Errors
    /// If there is no machine of that name: it is gone, or was migrated.
    fn is_machine_running(&self, vm: &Vm, ask: ManagerRequest) -> Result<bool>;

    /// Returns why the machine must be left alone: snapshots, a saved state, changes that wait for
    /// a restart. `None`: it may be changed.
    ///
    /// # Errors
    /// When that cannot be asked.
    fn change_objection(&self, vm: &Vm, ask: ManagerRequest) -> Result<Option<String>>;

    /// Reads its settings for the next start, with all that is needed to restore them.
    ///
    /// # Errors
    /// If there is no such disk, or the manager does not answer.
    fn read_saved(&self, vm: &Vm, disk: &str, ask: ManagerRequest) -> Result<String>;

    /// Returns the saved text with other settings.
    ///
    /// # Errors
    /// When the saved text cannot be parsed.
    fn saved_with_settings(
        &self,
        vm: &Vm,
        disk: &str,
        saved: &str,
        settings: &ManagerSettings,
    ) -> Result<String>;

    /// Returns the part of a saved text that is compared: two are equal if the machine was not
    /// edited.
    fn comparable_part(&self, disk: &str, saved: &str) -> String;

    /// Writes these settings for its next start. The machine does not run.
    ///
    /// # Errors
    /// The manager refuses.
    fn write_saved(&self, vm: &Vm, disk: &str, saved: &str, ask: ManagerRequest) -> Result<()>;

    /// Asks its system to shut down, or switches it off.
    ///
    /// # Errors
    /// The manager refuses.
    fn stop_machine(&self, vm: &Vm, force: bool, ask: ManagerRequest) -> Result<()>;

    fn start_machine(&self, vm: &Vm, ask: ManagerRequest) -> Result<()>;
}

/// Settings by their words in a stack.
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
/// An unmet need: its program is not there. There is no such machine, it does not run, its manager
/// does not answer.
pub fn facts(vm: &Vm) -> Result<VmFacts> {
    hypervisor_of(vm.manager)
        .read_machine_facts(vm, &|arguments, input| run_manager(vm, arguments, input))
}

/// Returns the commands that query a machine's manager for its settings, as they are run in the
/// manager's place.
pub fn queries(vm: &Vm) -> Vec<String> {
    let line =
        |words: Vec<&str>| shell::quote_line(std::iter::once(&vm.manager.program()).chain(&words));
    hypervisor_of(vm.manager).query_arguments(vm).map(line).to_vec()
}

/// Returns the manager's program, where it would be run on this host and is not installed.
pub fn missing(vm: &Vm) -> Option<Missing> {
    let program = vm.manager.program();
    (vm.on.is_host() && program_path(program).is_none()).then(|| Missing {
        what: program.to_owned(),
        why: format!("to query {vm}"),
        command: hypervisor_of(vm.manager).package_name().to_owned(),
        reboot: false,
    })
}

/// Runs the manager's program where it is, to its end, and returns what it writes.
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

/// Returns the error for a machine that does not run and so cannot be a place.
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

/// Splits `KEY=VALUE,KEY=VALUE`, with what has no key apart.
pub(crate) fn words_of(text: &str) -> (Vec<&str>, BTreeMap<&str, &str>) {
    let (keyed, bare): (Vec<&str>, Vec<&str>) =
        text.split(',').partition(|word| word.contains('='));
    (bare, keyed.into_iter().filter_map(|word| word.split_once('=')).collect())
}

/// Finds the disks that the measured devices are, by their serials. Returns a reason for each
/// measured path that is none of them for certain.
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

/// Returns true if a guest shows an id of the manager's like that: guests see the UUID of a VMDK
/// without its dashes, and 20 signs of the serial of a virtio disk.
fn is_shown_as(own: &str, seen: &str) -> bool {
    let plain = |serial: &str| serial.trim().replace('-', "").to_ascii_lowercase();
    let cut = own.trim().get(..20).is_some_and(|first| first.trim() == seen.trim());
    !seen.trim().is_empty() && (plain(own) == plain(seen) || cut)
}

pub(crate) use iotax_facts::vm::VmDisk as Disk;

/// The prefix of the keys of passed-through devices among the settings.
pub(crate) const PASSED: &str = "passthrough.";

#[cfg(test)]
mod tests;
