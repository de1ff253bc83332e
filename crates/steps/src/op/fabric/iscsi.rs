//! Exports by iSCSI or iSER with a target of LIO, known by its IQN, and logs in to it with
//! open-iscsi. Both carry the run's id.

use crate::operation::{Operation, Own, Undoing};
use crate::resource::ManagedResource;
use anyhow::Result;
use iotax_drivers::iscsi::{self, ConnectIscsi};
use iotax_drivers::lio::Store;
use iotax_drivers::lio::iscsi::{self as target, IscsiTarget};
use iotax_drivers::path_ref::PathRef;
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::settings::ThingSettings;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_facts::one_or_more;
use iotax_host::probe::Probe;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::Path;

/// Backstore of LIO, and a target with one portal and the initiators that may use its LUN.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportIscsi {
    pub backing: PathRef,
    /// True if the backing is a block device.
    pub block: bool,
    /// Size of the LUN in bytes, if the backing is a file.
    pub bytes: u64,
    pub read_only: bool,
    pub name: String,
    pub serial: String,
    /// Attributes of the backstore, by LIO's names.
    pub attributes: Vec<(String, String)>,
    pub iqn: String,
    /// Names of the initiators that may use the LUN.
    #[serde(alias = "initiator", with = "one_or_more")]
    pub initiators: Vec<String>,
    pub portal: SocketAddr,
    pub iser: bool,
}

impl ExportIscsi {
    fn target<'a>(&'a self, backing: &'a Path) -> IscsiTarget<'a> {
        let store = Store {
            backing,
            block: self.block,
            bytes: self.bytes,
            read_only: self.read_only,
            name: &self.name,
            serial: &self.serial,
        };
        let Self { attributes, iqn, initiators, .. } = self;
        IscsiTarget { store, attributes, iqn, initiators, portal: self.portal, iser: self.iser }
    }
}

impl Operation for ExportIscsi {
    fn describe(&self) -> String {
        let kind = if self.block { "iblock" } else { "fileio" };
        let transport = if self.iser { "iser" } else { "iscsi" };
        let attributes: String =
            self.attributes.iter().map(|(name, value)| format!(", {name}={value}")).collect();
        let Self { backing, name, iqn, initiators, portal, .. } = self;
        let initiators = initiators.join(" and ");
        format!(
            "export {backing} as LIO's {kind} {name}{attributes} by {transport} {iqn} at {portal}, to {initiators} alone"
        )
    }

    fn commands_by_hand(&self, _: &str) -> Vec<String> {
        let backing = self.backing.to_string();
        target::export_by_hand(&self.target(Path::new(&backing)))
    }

    fn input_paths(&mut self) -> Vec<&mut PathRef> {
        vec![&mut self.backing]
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        let initiators = self.initiators.iter().map(|initiator| Own::Part(initiator));
        [Own::Named(&self.name), Own::Named(&self.iqn)].into_iter().chain(initiators).collect()
    }

    fn undo_summary(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        Some(Undoing::new("withdrawn", format!("{} from iscsi {}", self.backing, self.iqn)))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        Some(target::unexport_by_hand(&self.target(Path::new(""))))
    }
}

impl ManagedResource for ExportIscsi {
    fn make_resource(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        Ok(StepOutput {
            path: target::export(&self.target(self.backing.resolved_path()?))?,
            ..StepOutput::default()
        })
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        // It is not known at this point if the fabric's folder was there before. Removing an empty
        // one harms nobody.
        let made = || StepOutput::found_at(target::fabric());
        Ok(target::is_exported(&self.name, &self.iqn).then(made))
    }

    fn actual_settings(&self, _: &StepOutput) -> Result<ThingSettings> {
        Ok(target::settings_of(&Probe::of_files(Path::new("/")), &self.target(Path::new(""))))
    }

    fn remove_resource(&self, _: &mut RealSystem, _: &RunTag, made: &StepOutput) -> Result<()> {
        target::unexport(&self.target(Path::new("")), made.path.as_deref())
    }
}

impl Operation for ConnectIscsi {
    fn describe(&self) -> String {
        let Self { iqn, portal, iface, initiator, .. } = self;
        let transport = if self.iser { "iser" } else { "tcp" };
        let settings: String =
            self.settings.iter().map(|(name, value)| format!(", {name}={value}")).collect();
        format!(
            "iscsiadm: log in to {iqn} at {portal} by {transport} as {initiator} (iface {iface}){settings}"
        )
    }

    fn commands_by_hand(&self, out: &str) -> Vec<String> {
        iscsi::login_by_hand(self, out)
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        vec![Own::Named(&self.iqn)]
    }

    fn undo_summary(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        Some(Undoing::new("logged out of", &self.iqn))
    }

    fn undo_by_hand(&self, _: &RunTag, _: &StepOutput) -> Option<String> {
        Some(iscsi::logout_by_hand(self))
    }
}

impl ManagedResource for ConnectIscsi {
    /// Returns true: the session does not survive, but its records are files.
    fn outlives_reboot(&self) -> bool {
        true
    }

    fn make_resource(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        Ok(StepOutput::found_at(iscsi::login(self)?))
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        let probe = Probe::of_files(Path::new("/"));
        let made = || StepOutput { path: iscsi::disk(&probe, &self.iqn), ..StepOutput::default() };
        Ok(iscsi::is_known(self)?.then(made))
    }

    fn actual_settings(&self, _: &StepOutput) -> Result<ThingSettings> {
        Ok(iscsi::settings_of(&Probe::of_files(Path::new("/")), &self.iqn))
    }

    fn remove_resource(&self, _: &mut RealSystem, _: &RunTag, _: &StepOutput) -> Result<()> {
        iscsi::logout(self)
    }
}
