//! Acceleration of a guest: KVM or QEMU's emulator (TCG).

/// What executes the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accel {
    Kvm,
    /// QEMU's emulator. Results with it are not representative of KVM.
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
