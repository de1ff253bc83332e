//! Exports a device by NVMe over fabrics with a subsystem of the kernel's target, and connects to
//! it. Both are known by the subsystem's NQN, which carries the run's id.

use crate::observer::{MachineAnswer, MachineQuestion, Observer};
use crate::operation::{Operation, Own, Undoing};
use crate::resource::ManagedResource;
use anyhow::Result;
use iotax_drivers::nvmet::ExportNvmf;
use iotax_drivers::nvmf::ConnectNvmf;
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::settings::ThingSettings;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_drivers::{nvmet, nvmf};
use iotax_host::probe::Probe;
use iotax_units::shell;
use std::net::IpAddr;
use std::path::Path;

fn address_words(at: Option<(IpAddr, u16)>) -> String {
    at.map(|(address, port)| format!(" at {address}, port {port}")).unwrap_or_default()
}

impl Operation for ExportNvmf {
    fn describe(&self) -> String {
        let Self { device, nqn, host_nqns, port_id, transport, .. } = self;
        let (at, hosts) = (address_words(self.at), host_nqns.join(" and "));
        format!(
            "nvmet: export {device} as {nqn} by {transport}{at} (ports/{port_id}), to {hosts} alone"
        )
    }

    fn commands_by_hand(&self, _: &str) -> Vec<String> {
        nvmet::export_by_hand(self)
    }

    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        vec![&mut self.device]
    }

    fn observe(&mut self, machine: &dyn Observer) {
        if let Some(MachineAnswer::NvmetHosts(there)) =
            machine.ask_machine(MachineQuestion::NvmetHosts(self))
        {
            self.hosts_before = there;
        }
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        let hosts = nvmet::own_hosts(self).map(|host| Own::Part(host));
        std::iter::once(Own::Named(&self.nqn)).chain(hosts).collect()
    }

    fn undo_summary(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        Some(Undoing::new("withdrawn", format!("{} from nvmet", self.device)))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        Some(nvmet::unexport_by_hand(self))
    }
}

impl ManagedResource for ExportNvmf {
    fn make_resource(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        Ok(StepOutput { path: Some(nvmet::export(self)?), ..StepOutput::default() })
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        let made = || StepOutput::found_at(nvmet::folder(&self.nqn));
        Ok(nvmet::is_exported(self).then(made))
    }

    fn actual_settings(&self, _: &StepOutput) -> Result<ThingSettings> {
        Ok(nvmet::settings_of(&Probe::of_files(Path::new("/")), self))
    }

    fn remove_resource(&self, _: &mut RealSystem, _: &RunTag, _: &StepOutput) -> Result<()> {
        nvmet::unexport(self)
    }
}

impl Operation for ConnectNvmf {
    fn describe(&self) -> String {
        let Self { nqn, transport, host_nqn, .. } = self;
        let options: String = self.options.iter().map(|option| format!(", {option}")).collect();
        format!(
            "nvme: connect to {nqn} by {transport}{} as {host_nqn}{options}",
            address_words(self.at)
        )
    }

    fn commands_by_hand(&self, out: &str) -> Vec<String> {
        nvmf::connect_by_hand(self, out)
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        vec![Own::Named(&self.nqn)]
    }

    fn undo_summary(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        Some(Undoing::new("disconnected", &self.nqn))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        Some(format!("nvme disconnect -n {}", shell::quote_word(&self.nqn)))
    }
}

impl ManagedResource for ConnectNvmf {
    fn make_resource(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        Ok(StepOutput::found_at(nvmf::connect(self)?))
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        let probe = Probe::of_files(Path::new("/"));
        let made = || StepOutput { path: nvmf::device(&probe, &self.nqn), ..StepOutput::default() };
        Ok((!nvmf::controllers(&probe, &self.nqn).is_empty()).then(made))
    }

    fn reader_notes(&self, _: &StepOutput) -> Vec<String> {
        nvmf::falls_short(&Probe::of_files(Path::new("/")), &self.nqn, &self.options)
    }

    fn actual_settings(&self, _: &StepOutput) -> Result<ThingSettings> {
        Ok(nvmf::settings_of(&Probe::of_files(Path::new("/")), &self.nqn))
    }

    fn remove_resource(&self, _: &mut RealSystem, _: &RunTag, _: &StepOutput) -> Result<()> {
        nvmf::disconnect(&self.nqn)
    }
}
