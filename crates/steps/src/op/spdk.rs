//! Makes a disk for a guest in a running SPDK target: a bdev over the device below, the part of it
//! that the guest gets, and a vhost-user-blk controller. If a bdev is below already, makes only the
//! controller. All of them are in the target, under a name that carries the run's id.

use crate::operation::{Operation, Own, Undoing};
use crate::resource::ManagedResource;
use anyhow::Result;
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::plain_file::remove_file;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::spdk;
use iotax_drivers::spdk::export::ExportSpdk;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_drivers::threads::ServingThread;
use iotax_units::shell;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Returns the command line of SPDK's rpc.py for one call, with arguments `rest`.
pub(super) fn rpc_py(rpc: &Path, method: &str, rest: &[&str]) -> String {
    format!("rpc.py -s {} {method} {}", shell::path(rpc), shell::quote_line(rest.iter().copied()))
}

impl Operation for ExportSpdk {
    fn describe(&self) -> String {
        let part = self.part.map(|part| format!(", part {} of {} MiB each", part.at, part.mib));
        let mode = if self.read_only { ", read-only" } else { "" };
        if self.is_over_a_bdev() {
            return format!(
                "vhost_create_blk_controller {} over {}{mode} in the SPDK target at {}",
                self.name,
                self.backing,
                self.rpc.display()
            );
        }
        format!(
            "{} {} over {}{mode}{}, vhost_create_blk_controller {} in the SPDK target at {}",
            self.kind().create,
            self.name,
            self.backing,
            part.unwrap_or_default(),
            self.name,
            self.rpc.display()
        )
    }

    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        vec![&mut self.backing]
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        vec![Own::Named(&self.name)]
    }

    fn undo_summary(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        let what = format!("{} from the SPDK target at {}", self.backing, self.rpc.display());
        Some(Undoing::new("withdrawn", what))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        let call = |method: &str| rpc_py(&self.rpc, method, &[&self.name]);
        let split = self.part.map(|_| call("bdev_split_delete"));
        let bdev = (!self.is_over_a_bdev()).then(|| call(self.kind().delete));
        let calls = [Some(call("vhost_delete_controller")), split, bdev];
        Some(calls.into_iter().flatten().collect::<Vec<_>>().join("; "))
    }
}

impl ManagedResource for ExportSpdk {
    fn make_resource(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        Ok(StepOutput::found_at(spdk::export(self)?))
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        Ok(spdk::find_export(self)?.map(|path| StepOutput { path, ..StepOutput::default() }))
    }

    fn io_threads(&self, _: &StepOutput) -> Result<Vec<ServingThread>> {
        spdk::threads(&self.rpc)
    }

    fn remove_resource(&self, _: &mut RealSystem, _: &RunTag, made: &StepOutput) -> Result<()> {
        spdk::unexport(self)?;
        // A target that was killed leaves its sockets.
        let is_socket = |path: &&PathBuf| {
            path.symlink_metadata().is_ok_and(|meta| meta.file_type().is_socket())
        };
        let socket = made.path.as_ref().filter(is_socket);
        let socket = socket.filter(|path| path.file_name().is_some_and(|name| *name == *self.name));
        socket.map_or(Ok(()), |socket| remove_file(socket))
    }
}
