//! What is known of places, machines, arrays, clusters and slices: types only. `iotax_host` and the
//! steps gather them, records keep them, the analysis reads them.
#![forbid(unsafe_code)]

pub mod array;
pub mod cluster;
pub mod guest;
pub mod limit;
pub mod machine;
pub mod need;
pub mod place;
pub mod slice;
pub mod spdk;
pub mod tool;
pub mod trial;
pub mod vm;

use iotax_load::EngineName;
use serde::{Deserialize, Serialize};

/// The generator: one of our engines, or fio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    Fio,
    #[serde(untagged)]
    Native(EngineName),
}

/// `--destroy serial=X,wipe=gpt`: the user's explicit word for one device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consent {
    pub serial: String,
    /// Signatures that may be destroyed, by libblkid's names (`gpt`, `ext4`, `LVM2_member`,
    /// `data`).
    pub wipe: Vec<String>,
    /// Checks that cannot be made on a host without an agent, and need not be (`open`, `exclusive`,
    /// `content`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<String>,
}
