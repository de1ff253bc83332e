//! Makes what fio accesses as a client of a Ceph cluster: objects in its pool, or an image. A file
//! in the run's folder describes the target to fio. The objects are removed with the pool.

use crate::operation::{Operation, Own, Undoing};
use crate::resource::ManagedResource;
use anyhow::{Context, Result, anyhow};
use iotax_drivers::ceph;
use iotax_drivers::plain_file::{remove_file, write_file};
use iotax_drivers::run_tag::RunTag;
use iotax_drivers::settings::ThingSettings;
use iotax_drivers::step_output::StepOutput;
use iotax_drivers::system::RealSystem;
use iotax_engines::fio::{Client, PoolPart, fill};
use iotax_sys::regular::read_text;
use iotax_units::show_bytes;
use serde::{Deserialize, Serialize};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// File that describes a target in a Ceph cluster to fio.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MakeFioTarget {
    pub file: PathBuf,
    pub conf: PathBuf,
    /// The target, with the path of the configuration that fio reads: the cluster's, or a copy of
    /// it beside `file`.
    pub client: Client,
    /// Setting of librbd's cache in the copy of the configuration; `None` if there is no copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<bool>,
    /// True if the target is new, and is to be written once before it is measured.
    pub fill: bool,
}

impl MakeFioTarget {
    fn copy(&self) -> Option<&Path> {
        (self.client.conf != self.conf).then_some(self.client.conf.as_path())
    }
}

impl Operation for MakeFioTarget {
    fn describe(&self) -> String {
        let Client { pool, of, bytes, .. } = &self.client;
        let what = match of {
            PoolPart::Image { name } => format!("the image {pool}/{name}, {}", show_bytes(*bytes)),
            PoolPart::Objects { object_bytes, .. } => {
                format!(
                    "{} in objects of {} in {pool}",
                    show_bytes(*bytes),
                    show_bytes(*object_bytes)
                )
            }
        };
        let cache = match self.cache {
            Some(true) => ", librbd's cache on",
            Some(false) => ", librbd's cache off",
            None => "",
        };
        let fill = if self.fill { ", written once" } else { "" };
        format!(
            "{} for fio's engine {}: {what}{cache}{fill}",
            self.file.display(),
            self.client.ioengine()
        )
    }

    fn own_resources<'a>(&'a self, _: &'a StepOutput) -> Vec<Own<'a>> {
        let mut own = vec![Own::InFolder(&self.file)];
        own.extend(self.copy().map(Own::InFolder));
        own
    }

    fn undo_summary(&self, _: Option<&StepOutput>) -> Option<Undoing> {
        Some(Undoing::new("removed", self.file.display()))
    }
}

impl ManagedResource for MakeFioTarget {
    fn outlives_reboot(&self) -> bool {
        true
    }

    fn make_resource(&self, _: &mut RealSystem, _: &RunTag) -> Result<StepOutput> {
        self.client.check().map_err(|why| anyhow!(why))?;
        if let Some(copy) = self.copy() {
            let text = read_text(&self.conf)
                .with_context(|| format!("cannot read {}", self.conf.display()))?;
            // Ceph uses the last setting of a section.
            let cache = self.cache.unwrap_or_default();
            private_file(copy, &format!("{text}\n[client]\nrbd_cache = {cache}\n"))?;
        }
        private_file(&self.file, &serde_json::to_string(&self.client)?)?;
        if self.fill {
            fill(&self.client)
                .with_context(|| format!("cannot write {} once", self.file.display()))?;
        }
        Ok(StepOutput::found_at(self.file.clone()))
    }

    fn find_resource(&self, _: &RunTag, _: &[StepOutput]) -> Result<Option<StepOutput>> {
        let is_there =
            [Some(self.file.as_path()), self.copy()].into_iter().flatten().any(Path::exists);
        Ok(is_there.then(|| StepOutput::found_at(self.file.clone())))
    }

    fn remove_resource(&self, _: &mut RealSystem, _: &RunTag, _: &StepOutput) -> Result<()> {
        self.copy().map_or(Ok(()), remove_file)?;
        remove_file(&self.file)
    }

    fn actual_settings(&self, _: &StepOutput) -> Result<ThingSettings> {
        let Client { conf, pool, of, .. } = &self.client;
        match of {
            PoolPart::Image { name } => {
                let mut settings = ceph::image_settings(conf, pool, name)?;
                settings.insert("rbd_cache".to_owned(), ceph::cache_by_conf(conf, pool, name));
                Ok(settings)
            }
            PoolPart::Objects { object_bytes, .. } => {
                let mut settings = ceph::pool_settings(conf, pool)?;
                settings.insert("object_size".to_owned(), object_bytes.to_string());
                Ok(settings)
            }
        }
    }
}

/// Writes a file that only this user may read (mode 0600).
fn private_file(path: &Path, text: &str) -> Result<()> {
    write_file(path, b"")?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))
        .with_context(|| format!("cannot close {}", path.display()))?;
    write_file(path, text.as_bytes())
}
