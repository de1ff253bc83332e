//! Exports a LUN of the kernel's SCSI target (LIO) through vhost: a guest's QEMU opens it by its
//! WWN, and the kernel serves it out of the guest's memory.

use crate::lio::{self, Lun, Store};
use crate::operation::{Operation, Own, Undoing};
use crate::path_ref::PathRef;
use crate::resource::ManagedResource;
use crate::run_tag::RunTag;
use crate::step_output::StepOutput;
use crate::system::RealSystem;
use anyhow::Result;
use iotax_units::shell;
use serde::{Deserialize, Serialize};

/// Backstore, target port of the vhost fabric, and the LUN between them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportVhostScsi {
    /// File or device below.
    pub backing: PathRef,
    /// True if the backing is a block device.
    pub block: bool,
    /// Bytes of a file that are shown.
    pub bytes: u64,
    pub read_only: bool,
    /// Name of the backstore. It carries the run's id.
    pub name: String,
    /// WWN: `naa.` and 16 hexadecimal digits.
    pub wwn: String,
    /// Serial by which the guest finds the disk.
    pub serial: String,
}

impl ExportVhostScsi {
    fn lun(&self) -> Result<Lun<'_>> {
        let store = Store {
            backing: self.backing.path()?,
            block: self.block,
            bytes: self.bytes,
            read_only: self.read_only,
            name: &self.name,
            serial: &self.serial,
        };
        Ok(Lun { store, wwn: &self.wwn })
    }
}

impl Operation for ExportVhostScsi {
    fn describe(&self) -> String {
        let kind = if self.block { "iblock" } else { "fileio" };
        format!("export {} as LIO's {kind} {} to vhost-scsi {}", self.backing, self.name, self.wwn)
    }

    fn inputs(&mut self) -> Vec<&mut PathRef> {
        vec![&mut self.backing]
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        vec![Own::Named(&self.name), Own::Part(&self.wwn)]
    }

    fn undoing(&self, _: Option<&StepOutput>) -> Option<Undoing> {
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
    fn make(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        Ok(StepOutput { path: lio::export(&self.lun()?)?, ..StepOutput::default() })
    }

    fn find(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        // It is not known at this point if the fabric's folder was there before. Removing an empty
        // one harms nobody.
        Ok(lio::is_exported(&self.name, &self.wwn).then(|| StepOutput::found_at(lio::fabric())))
    }

    fn unmake(&self, _: &mut RealSystem, _: &RunTag, made: &StepOutput) -> Result<()> {
        lio::unexport(self.block, &self.name, &self.wwn, made.path.as_deref())
    }
}
