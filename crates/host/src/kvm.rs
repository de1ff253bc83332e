//! State of /dev/kvm, as a value: the code that knows guests determines it; `doctor` and the needs
//! report it.

use serde::{Deserialize, Serialize};

/// Ability of this machine to run guests with KVM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KvmState {
    /// Instructions of guests run on the CPU itself.
    Works,
    /// /dev/kvm answers, but emulates instructions; holds the evidence.
    Emulated(String),
    /// There is no usable /dev/kvm; holds the reason.
    Absent(String),
}

impl KvmState {
    /// Describes why guests cannot run at the CPU's own speed; `None` if KVM works.
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
