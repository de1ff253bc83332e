//! Exports a LUN of the kernel's SCSI target (LIO) through vhost: a guest's QEMU opens it by its
//! WWN, and the kernel serves it directly from the guest's memory.

use crate::operation::{Operation, Own, Undoing};
use crate::resource::ManagedResource;
use anyhow::Result;
use iotax_drivers::lio::ExportVhostScsi;
use iotax_drivers::lio::{self};
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_units::shell;
use std::path::Path;

impl Operation for ExportVhostScsi {
    fn describe(&self) -> String {
        let kind = if self.block { "iblock" } else { "fileio" };
        format!("export {} as LIO's {kind} {} to vhost-scsi {}", self.backing, self.name, self.wwn)
    }

    fn commands_by_hand(&self, _: &str) -> Vec<String> {
        let backing = self.backing.to_string();
        lio::export_by_hand(&self.lun_on(Path::new(&backing)))
    }

    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        vec![&mut self.backing]
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        vec![Own::Named(&self.name), Own::Part(&self.wwn)]
    }

    fn undo_summary(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        Some(Undoing::new("withdrawn", format!("{} from vhost-scsi {}", self.backing, self.wwn)))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        let (port, store) = (lio::port(&self.wwn), lio::backstore(self.block, &self.name));
        let group = port.join("tpgt_1");
        let lun = group.join("lun/lun_0");
        let folders = [&lun, &group, &port, &store].map(shell::path).join(" ");
        Some(format!("rm {}; rmdir {folders}", shell::path(lun.join(lio::LINK))))
    }
}

impl ManagedResource for ExportVhostScsi {
    fn make_resource(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        Ok(StepOutput { path: lio::export(&self.lun()?)?, ..StepOutput::default() })
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        // It is not known at this point if the fabric's folder was there before. Removing an empty
        // one harms nobody.
        Ok(lio::is_exported(&self.name, &self.wwn).then(|| StepOutput::found_at(lio::fabric())))
    }

    fn remove_resource(&self, _: &mut RealSystem, _: &RunTag, made: &StepOutput) -> Result<()> {
        lio::unexport(self.block, &self.name, &self.wwn, made.path.as_deref())
    }
}
