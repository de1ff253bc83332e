//! Acceleration of a guest: by KVM, or none.

/// What executes the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accel {
    Kvm,
    /// QEMU's translator. Its figures are not representative.
    Tcg,
}

impl Accel {
    pub fn word(self) -> &'static str {
        match self {
            Accel::Kvm => "kvm",
            Accel::Tcg => "tcg",
        }
    }
}
