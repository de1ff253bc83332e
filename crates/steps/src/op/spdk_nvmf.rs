//! Exports a bdev of a running SPDK target as the only namespace of an NVMe-oF subsystem, which
//! listens on one address and lets one host in.

use super::spdk::rpc_py;
use crate::observer::{MachineAnswer, MachineQuestion, Observer};
use crate::operation::{Operation, Own, Undoing};
use crate::resource::ManagedResource;
use anyhow::Result;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::spdk;
use iotax_drivers::spdk::nvmf::ExportSpdkNvmf;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;

impl Operation for ExportSpdkNvmf {
    fn describe(&self) -> String {
        let transport = match self.has_transport {
            Some(true) => String::new(),
            _ => format!("nvmf_create_transport {} unless it is there, ", self.transport),
        };
        format!(
            "{transport}nvmf_create_subsystem {} (serial {}) with {} for host {}, on {} {} port {}",
            self.nqn,
            self.serial,
            self.bdev,
            self.hosts.join(" and "),
            self.transport,
            self.at.0,
            self.at.1
        )
    }

    fn irreversible_effect(&self) -> Option<String> {
        (self.has_transport != Some(true)).then(|| {
            format!(
                "an SPDK target keeps its {} transport, if it had none, until it ends: no call removes one",
                self.transport
            )
        })
    }

    fn observe(&mut self, machine: &dyn Observer) {
        self.has_transport = match machine.ask_machine(MachineQuestion::SpdkTransport(self)) {
            Some(MachineAnswer::SpdkTransport(has)) => Some(has),
            _ => None,
        };
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        vec![Own::Named(&self.nqn)]
    }

    fn undo_summary(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        let left = match self.has_transport {
            Some(false) => {
                format!(" (its {} transport stays until the target ends)", self.transport)
            }
            _ => String::new(),
        };
        Some(Undoing::new("withdrawn", format!("{} from the SPDK target{left}", self.nqn)))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        let (rpc, _) = self.bdev.bdev().ok()?;
        Some(rpc_py(rpc, "nvmf_delete_subsystem", &[&self.nqn]))
    }
}

impl ManagedResource for ExportSpdkNvmf {
    fn make_resource(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        spdk::nvmf::export(self)?;
        Ok(StepOutput::default())
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        Ok(spdk::nvmf::is_there(self)?.then(StepOutput::default))
    }

    fn remove_resource(&self, _: &mut RealSystem, _: &RunTag, _: &StepOutput) -> Result<()> {
        spdk::nvmf::unexport(self)
    }

    fn reader_notes(&self, _: &StepOutput) -> Vec<String> {
        let left = format!(
            "the SPDK target had no {} transport and keeps the one that was made until it ends: no call removes one",
            self.transport
        );
        (self.has_transport == Some(false)).then_some(left).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_drivers::path_ref::PathRef;

    #[test]
    fn what_stays_of_a_transport_is_said() {
        let asked = |has_transport| ExportSpdkNvmf {
            bdev: PathRef::Bdev { rpc: "/s".into(), name: "iotax-r-spdk0".into() },
            nqn: "nqn.2026-01.iotax:r".into(),
            serial: "iotax-r".into(),
            hosts: vec!["nqn.2026-01.iotax:host".into()],
            transport: "TCP".into(),
            at: ("127.0.0.1".parse().unwrap(), 4420),
            has_transport,
        };
        assert_eq!(asked(Some(true)).irreversible_effect(), None);
        assert!(
            asked(Some(false)).irreversible_effect().unwrap().contains("keeps its TCP transport")
        );
        let told = |has| asked(has).undo_summary(None).unwrap().to_string();
        assert!(told(Some(false)).ends_with("(its TCP transport stays until the target ends)"));
        assert!(told(Some(true)).ends_with("from the SPDK target"));
    }
}
