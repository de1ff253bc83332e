//! Answers questions about this machine and performs operations on it. Tests use a simulated
//! machine to check undo after every prefix of a plan.

use crate::observer::{MachineAnswer, MachineQuestion, Observer};
use crate::op::{Act, Op};
use crate::place_executor::{Lacking, PlaceExecutor, SharedWatcher, report_progress};
use anyhow::Result;
use iotax_drivers::ceph::Before;
use iotax_drivers::disk_key::{self, DiskKey};
use iotax_drivers::loops::FileId;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::settings::ThingSettings;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::{RealSystem, boot_id, host_probe};
use iotax_drivers::threads::ServingThread;
use iotax_drivers::zfs::ArcLimit;
use iotax_drivers::{nvmet, queue, spdk};
use iotax_facts::array::ArrayState;
use iotax_host::guard::inspect::identity_of;
use iotax_host::needs::AskedNeed;
use iotax_host::probe::{GuestProbe, Probe};
use iotax_remote::hypervisor;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

impl Observer for RealSystem {
    fn ask_machine(&self, question: MachineQuestion<'_>) -> Option<MachineAnswer> {
        Some(match question {
            MachineQuestion::Identity(path) => MachineAnswer::Identity(identity_of(path).ok()?),
            MachineQuestion::File(path) => {
                let meta = fs::metadata(path).ok()?;
                MachineAnswer::File(FileId { device: meta.dev(), inode: meta.ino() })
            }
            MachineQuestion::Queue(disk) => {
                let real = disk.canonicalize().ok()?;
                MachineAnswer::Queue(queue::queue_settings(
                    &host_probe(),
                    real.file_name()?.to_str()?,
                ))
            }
            MachineQuestion::Arc => MachineAnswer::Arc(ArcLimit::current_limit()),
            // A target that does not answer refuses what follows in its own words.
            MachineQuestion::SpdkTransport(export) => {
                MachineAnswer::SpdkTransport(spdk::nvmf::has_transport(export).ok()?)
            }
            MachineQuestion::NvmetHosts(export) => {
                MachineAnswer::NvmetHosts(nvmet::hosts_there(export))
            }
            // For a manager that cannot be asked, the change itself is refused.
            MachineQuestion::Vm(vm, disk) => {
                let manager = hypervisor::hypervisor_of(vm.manager);
                let saved = manager.read_saved(vm, disk, &|words, input| {
                    hypervisor::run_manager(vm, words, input)
                });
                MachineAnswer::Vm(saved.ok()?)
            }
            MachineQuestion::CephImage { conf, pool, image } => {
                MachineAnswer::CephImage(Before::look_up(conf, pool, image).ok()?)
            }
        })
    }
}

impl PlaceExecutor for RealSystem {
    fn boot_id(&mut self) -> Result<String> {
        boot_id()
    }

    fn locate_disk(&mut self, key: &DiskKey) -> Result<PathBuf> {
        disk_key::find_soon(key)
    }

    fn with_observations(&mut self, op: Op) -> Result<Op> {
        Ok(op.with_machine_facts(self))
    }

    fn perform_operation(&mut self, op: &Op, tag: &RunTag) -> Result<StepOutput> {
        self.change(tag, |system| match op.act() {
            Act::Make(resource) => {
                let made = resource.make_resource(system, tag)?;
                resource.reader_notes(&made).into_iter().for_each(|note| system.note(note));
                Ok(made)
            }
            Act::Change(change) => change.apply_change(system).map(|()| StepOutput::default()),
        })
    }

    fn find_interrupted(
        &mut self,
        op: &Op,
        tag: &RunTag,
        others: &[StepOutput],
    ) -> Result<Option<StepOutput>> {
        self.settle(tag)?;
        match op.act() {
            Act::Make(resource) => resource.find_resource(tag, others),
            Act::Change(_) => Ok(None),
        }
    }

    fn undo_operation(&mut self, op: &Op, tag: &RunTag, made: &StepOutput) -> Result<()> {
        self.settle(tag)?;
        match op.act() {
            Act::Make(resource) if !resource.stays_after_undo(made) => {
                resource.remove_resource(self, tag, made)
            }
            _ => Ok(()),
        }
    }

    fn read_array_state(&mut self, op: &Op, made: &StepOutput) -> Result<Option<ArrayState>> {
        match op.act() {
            Act::Make(resource) => resource.resource_state(made),
            Act::Change(_) => Ok(None),
        }
    }

    fn read_thing_settings(&mut self, op: &Op, made: &StepOutput) -> Result<ThingSettings> {
        match op.act() {
            Act::Make(resource) => resource.actual_settings(made),
            Act::Change(_) => Ok(ThingSettings::new()),
        }
    }

    fn list_serving_threads(&mut self, op: &Op, made: &StepOutput) -> Result<Vec<ServingThread>> {
        match op.act() {
            Act::Make(resource) => resource.io_threads(made),
            Act::Change(_) => Ok(Vec::new()),
        }
    }

    fn take_remarks(&mut self) -> Vec<String> {
        self.take_notes()
    }

    fn lacking_needs(&mut self, asked: &[AskedNeed]) -> Result<Lacking> {
        Ok(Lacking::on_machine(&Probe::this_machine(Path::new("/"), GuestProbe::NOT_ASKED), asked))
    }

    fn watched_by(&mut self, watcher: SharedWatcher) {
        self.watch(move |progress| report_progress(&watcher, progress));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::MakeDirectory;
    use iotax_drivers::leftover::input_of;
    use iotax_drivers::refusal::NotOurs;
    use iotax_drivers::system::StepProgress;
    use iotax_drivers::wait::wait_until;
    use std::ops::ControlFlow;
    use std::os::unix::process::CommandExt;
    use std::process::Command;
    use std::time::Duration;

    #[test]
    fn what_is_whole_is_not_undone_while_a_program_of_a_killed_undo_goes_on() {
        let run_id = format!("undo-{}", std::process::id());
        let tag = RunTag { run_id: run_id.clone(), run_dir: PathBuf::new() };
        let mut left = Command::new("sleep");
        let mut left =
            left.arg("60").process_group(0).stdin(input_of(&run_id, "").unwrap()).spawn().unwrap();
        let waits = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let seen = std::sync::Arc::clone(&waits);
        let mut system = RealSystem::watched(move |progress| {
            seen.lock().unwrap().push(progress);
            ControlFlow::Break(())
        });
        system.give_up_soon();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made");
        fs::create_dir(&path).unwrap();
        let (op, made) =
            (Op::MakeDirectory(MakeDirectory { path: path.clone() }), StepOutput::found_at(&path));
        let error = system.undo_operation(&op, &tag, &made).unwrap_err();
        assert!(error.is::<NotOurs>() && path.exists(), "nobody is told to undo it by hand");
        let process = format!("process {} (sleep)", left.id());
        let why = format!(
            "{process}, which the run started, still runs, so this is left alone; hint: clean again"
        );
        assert!(error.to_string().starts_with(&why), "{error}");
        let wait = format!("waiting until {process} of the run ends (at most 120 s)");
        assert_eq!(*waits.lock().unwrap(), [StepProgress::Waits(wait)]);
        left.kill().unwrap();
        left.wait().unwrap();
        // A program that another test starts meanwhile is marked with the same run.
        wait_until(Duration::from_secs(60), || system.undo_operation(&op, &tag, &made).is_ok())
            .unwrap();
        assert!(!path.exists());
    }
}
