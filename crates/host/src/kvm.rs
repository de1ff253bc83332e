//! State of /dev/kvm, as a plain value: the guest's probe finds it out, doctor and needs read it.

use serde::{Deserialize, Serialize};

/// Ability of this machine to run guests on the CPU itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KvmState {
    /// Guests' instructions run on the CPU.
    Works,
    /// /dev/kvm answers, but emulates instructions: what was seen.
    Emulated(String),
    /// No usable /dev/kvm: why.
    Absent(String),
}

impl KvmState {
    /// Returns what was seen, or `None` when KVM works.
    pub fn trouble(&self) -> Option<String> {
        match self {
            KvmState::Works => None,
            KvmState::Emulated(seen) => Some(format!(
                "/dev/kvm only emulates: {seen}; hint: measure guests on a machine whose CPU runs them itself (in a VM: one with nested virtualisation)"
            )),
            KvmState::Absent(why) => Some(why.clone()),
        }
    }
}
