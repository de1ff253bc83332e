//! Changes an existing virtual machine for a visit: it is shut down, changed and started, and
//! restored afterwards. The journal has its earlier settings, so that a killed run is undone, too.
//! It is changed or restored only if nobody else has edited it meanwhile.

use crate::observer::{MachineAnswer, MachineQuestion, Observer};
use crate::operation::{Operation, Undoing};
use crate::resource::ManagedResource;
use anyhow::{Context, Result, bail};
use iotax_drivers::refusal::NotOurs;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::settings::ThingSettings;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_drivers::tool;
use iotax_facts::vm::Vm;
use iotax_remote::hypervisor::{self, Hypervisor, ManagerSettings};
use iotax_remote::ssh::{self, SshOptions};
use iotax_units::exit::Failed;
use iotax_units::shell;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// Longest wait for a virtual machine to shut down in order.
const SHUTS_DOWN_WITHIN: Duration = Duration::from_secs(180);
/// Longest wait for a virtual machine to answer over ssh after its start.
const ANSWERS_WITHIN: Duration = Duration::from_secs(600);
/// Pause between two checks whether it runs or answers.
const LOOKS: Duration = Duration::from_millis(500);

/// Change of a virtual machine's settings. "Manager" here means libvirt, Proxmox VE or ESXi.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeMachine {
    pub vm: Vm,
    /// Name of the disk under load in the manager; `None` if not known yet.
    pub disk: Option<String>,
    pub settings: ManagerSettings,
    /// True if it may be switched off instead of shut down.
    pub force: bool,
    /// Name of the machine as an ssh host, whose answer is waited for after the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
}

impl ChangeMachine {
    fn manager(&self) -> &'static dyn Hypervisor {
        hypervisor::hypervisor_of(self.vm.manager)
    }

    fn ask_manager(&self, arguments: &[&str], input: Option<&str>) -> Result<String> {
        hypervisor::run_manager(&self.vm, arguments, input)
    }

    fn disk(&self) -> Result<&str> {
        self.disk.as_deref().ok_or_else(|| {
            let why = "iotax cannot determine which of its disks is under load, because none has the serial of the \
                measured device";
            Failed::input(format!("{}: {why}; hint: give that disk a serial", self.vm)).into()
        })
    }

    fn saved_settings(&self) -> Result<&str> {
        self.before
            .as_deref()
            .with_context(|| format!("{}: its settings could not be read", self.vm))
    }

    fn shown_changes(&self) -> String {
        self.settings
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect::<Vec<_>>()
            .join(",")
    }

    /// Returns the state of its saved settings: as before, as changed by the run, or edited by
    /// somebody else.
    fn compare_settings(&self) -> Result<SeenMachine> {
        let (manager, disk, before) = (self.manager(), self.disk()?, self.saved_settings()?);
        let wanted = manager.saved_with_settings(&self.vm, disk, before, &self.settings)?;
        let now = manager.comparable_part(
            disk,
            &manager.read_saved(&self.vm, disk, &|words, input| self.ask_manager(words, input))?,
        );
        Ok(match now {
            now if now == manager.comparable_part(disk, before) => SeenMachine::AsBefore,
            now if now == manager.comparable_part(disk, &wanted) => SeenMachine::Changed,
            _ => SeenMachine::Edited,
        })
    }

    /// Returns true if the machine had the wanted settings before.
    fn changes_nothing(&self) -> Result<bool> {
        let (manager, disk, before) = (self.manager(), self.disk()?, self.saved_settings()?);
        let wanted = manager.saved_with_settings(&self.vm, disk, before, &self.settings)?;
        Ok(manager.comparable_part(disk, &wanted) == manager.comparable_part(disk, before))
    }

    fn in_force_as_before(&self) -> Result<bool> {
        if self.changes_nothing()? {
            return Ok(true);
        }
        let facts = hypervisor::facts(&self.vm)?;
        let disk = facts.disks.iter().find(|disk| Some(&disk.name) == self.disk.as_ref());
        let word = |key: &str| match key {
            "latency" => facts.settings.get("latency_sensitivity").cloned(),
            "io" if self.vm.manager == iotax_facts::vm::Manager::Proxmox => {
                disk?.settings.get("aio").cloned()
            }
            key => disk?.settings.get(key).cloned(),
        };
        Ok(!self.settings.iter().all(|(key, value)| word(key).as_ref() == Some(value)))
    }

    fn shut_down(&self) -> Result<()> {
        let (manager, vm) = (self.manager(), &self.vm);
        let ask = |words: &[&str], input: Option<&str>| self.ask_manager(words, input);
        if !manager.is_machine_running(vm, &ask)? {
            return Ok(());
        }
        let within = |limit: Duration| -> Result<bool> {
            let start = Instant::now();
            while manager.is_machine_running(vm, &ask)? {
                if start.elapsed() > limit {
                    return Ok(false);
                }
                std::thread::sleep(LOOKS);
            }
            Ok(true)
        };
        manager.stop_machine(vm, self.force, &ask)?;
        if !within(SHUTS_DOWN_WITHIN)? {
            let hint =
                format!("shut it down by hand, or allow switching it off: --change {vm},force");
            bail!("{vm} does not shut down within {} s; hint: {hint}", SHUTS_DOWN_WITHIN.as_secs());
        }
        Ok(())
    }

    /// Starts the machine if it does not run, and waits until it answers over ssh, if its ssh host is
    /// known.
    fn start_and_await(&self) -> Result<()> {
        let ask = |words: &[&str], input: Option<&str>| self.ask_manager(words, input);
        if !self.manager().is_machine_running(&self.vm, &ask)? {
            self.manager().start_machine(&self.vm, &ask)?;
        }
        let Some(host) = &self.host else { return Ok(()) };
        let start = Instant::now();
        loop {
            let mut command = ssh::command(host, "exit 0", &SshOptions::from_env())?;
            match tool::output_within(&mut command, Duration::from_secs(30), None) {
                Ok(output) if output.status.success() => return Ok(()),
                _ if start.elapsed() > ANSWERS_WITHIN => {
                    bail!(
                        "{} was started, but ssh:{host} does not answer after {} s",
                        self.vm,
                        ANSWERS_WITHIN.as_secs()
                    )
                }
                _ => std::thread::sleep(LOOKS),
            }
        }
    }

    fn edited(&self) -> anyhow::Error {
        let how = "it was edited after the run changed it, so iotax leaves it as it is";
        let hint = format!(
            "the run set {} of its disk {}: restore that by hand",
            self.shown_changes(),
            self.disk.as_deref().unwrap_or("?")
        );
        NotOurs(format!("{}: {how}; hint: {hint}", self.vm)).into()
    }
}

enum SeenMachine {
    AsBefore,
    Changed,
    Edited,
}

impl Operation for ChangeMachine {
    fn describe(&self) -> String {
        let (disk, vm) = (self.disk.as_deref().unwrap_or("the disk under load"), &self.vm);
        let how = if self.force { "switch off" } else { "shut down" };
        format!(
            "{how} {vm}, set {} of {disk}, and start it; all of that is restored afterwards",
            self.shown_changes()
        )
    }

    fn observe(&mut self, machine: &dyn Observer) {
        let question = self.disk.as_deref().map(|disk| MachineQuestion::Vm(&self.vm, disk));
        self.before = match question.and_then(|question| machine.ask_machine(question)) {
            Some(MachineAnswer::Vm(settings)) => Some(settings),
            _ => None,
        };
    }

    fn undo_summary(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        Some(Undoing::new("put back", format!("{} of {}", self.shown_changes(), self.vm)))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        let uri = self.vm.uri.as_deref().map(|uri| ["-c", uri]);
        let words: Vec<&str> = match self.vm.manager {
            iotax_facts::vm::Manager::Libvirt => ["virsh"]
                .into_iter()
                .chain(uri.into_iter().flatten())
                .chain(["edit", &self.vm.name])
                .collect(),
            iotax_facts::vm::Manager::Proxmox => vec!["qm", "config", &self.vm.name],
            iotax_facts::vm::Manager::Esxi => vec!["govc", "vm.info", &self.vm.name],
        };
        Some(shell::quote_line(words))
    }
}

impl ManagedResource for ChangeMachine {
    fn outlives_reboot(&self) -> bool {
        true
    }

    fn make_resource(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        let (manager, vm, disk) = (self.manager(), &self.vm, self.disk()?);
        let ask = |words: &[&str], input: Option<&str>| self.ask_manager(words, input);
        if !manager.is_machine_running(vm, &ask)? {
            return Err(hypervisor::not_running(vm, "shut off"));
        }
        if let Some(why) = manager.change_objection(vm, &ask)? {
            let hint = "resolve that first; iotax changes a virtual machine only if it can restore it completely";
            return Err(Failed::input(format!("{vm} is not changed: {why}; hint: {hint}")).into());
        }
        if !matches!(self.compare_settings()?, SeenMachine::AsBefore) {
            bail!("{vm} was edited a moment ago; hint: run again when nobody else edits it");
        }
        if self.changes_nothing()? {
            return Ok(StepOutput::default());
        }
        let wanted =
            manager.saved_with_settings(vm, disk, self.saved_settings()?, &self.settings)?;
        self.shut_down()?;
        manager.write_saved(vm, disk, &wanted, &ask)?;
        if !matches!(self.compare_settings()?, SeenMachine::Changed) {
            bail!("{vm} does not accept {} for {disk}", self.shown_changes());
        }
        self.start_and_await()?;
        Ok(StepOutput::default())
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        // A machine whose manager did not answer was not changed.
        if self.before.is_none() || self.disk.is_none() {
            return Ok(None);
        }
        let ask = |words: &[&str], input: Option<&str>| self.ask_manager(words, input);
        let untouched = matches!(self.compare_settings()?, SeenMachine::AsBefore)
            && self.manager().is_machine_running(&self.vm, &ask)?
            && self.in_force_as_before()?;
        Ok((!untouched).then(StepOutput::default))
    }

    fn remove_resource(&self, _: &mut RealSystem, _: &RunTag, _: &StepOutput) -> Result<()> {
        let (manager, vm, disk) = (self.manager(), &self.vm, self.disk()?);
        let ask = |words: &[&str], input: Option<&str>| self.ask_manager(words, input);
        match self.compare_settings()? {
            SeenMachine::Edited => return Err(self.edited()),
            SeenMachine::AsBefore
                if manager.is_machine_running(vm, &ask)? && self.in_force_as_before()? =>
            {
                return Ok(());
            }
            SeenMachine::AsBefore => self.shut_down()?,
            SeenMachine::Changed => {
                self.shut_down()?;
                manager.write_saved(vm, disk, self.saved_settings()?, &ask)?;
                if !matches!(self.compare_settings()?, SeenMachine::AsBefore) {
                    bail!(
                        "{vm} could not be restored; hint: its earlier settings are in the run's journal"
                    );
                }
            }
        }
        self.start_and_await()
    }

    fn actual_settings(&self, _: &StepOutput) -> Result<ThingSettings> {
        let facts = hypervisor::facts(&self.vm)?;
        let mut settings = facts.settings;
        settings.retain(|key, _| key == "latency_sensitivity");
        let disk = facts.disks.into_iter().find(|disk| Some(&disk.name) == self.disk.as_ref());
        settings.extend(disk.map(|disk| disk.settings).unwrap_or_default());
        Ok(settings.into_iter().collect())
    }
}
