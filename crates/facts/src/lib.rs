//! Types for facts of places, machines, arrays, clusters and slices. `iotax_host` and the steps
//! gather the facts, records keep them, and the analysis reads them.
#![forbid(unsafe_code)]

pub mod array;
pub mod cluster;
pub mod guest;
pub mod limit;
pub mod machine;
pub mod need;
pub mod one_or_more;
pub mod place;
pub mod slice;
pub mod spdk;
pub mod tool;
pub mod trial;
pub mod vm;

use iotax_load::EngineName;
use serde::{Deserialize, Serialize};

/// Load generator: one of iotax's engines, or fio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    Fio,
    #[serde(untagged)]
    Native(EngineName),
}

/// User's explicit consent to the destruction of one device's data: `--destroy serial=X,wipe=gpt`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consent {
    pub serial: String,
    /// Signatures that may be destroyed, by libblkid's names (`gpt`, `ext4`, `LVM2_member`), or
    /// `data` for data without a signature.
    pub wipe: Vec<String>,
    /// Checks that are impossible on a host without an agent, and may be skipped (`open`,
    /// `exclusive`, `content`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<String>,
}
