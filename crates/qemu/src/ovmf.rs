//! Where distributions install OVMF, the UEFI firmware for guests.

use crate::command_line::Firmware;
use std::path::Path;

/// Paths of OVMF's code and of the template of its variables on Debian and Ubuntu, Fedora, Arch and
/// openSUSE, without secure boot.
const PLACES: &[(&str, &str)] = &[
    ("/usr/share/OVMF/OVMF_CODE_4M.fd", "/usr/share/OVMF/OVMF_VARS_4M.fd"),
    ("/usr/share/OVMF/OVMF_CODE.fd", "/usr/share/OVMF/OVMF_VARS.fd"),
    ("/usr/share/edk2/ovmf/OVMF_CODE.fd", "/usr/share/edk2/ovmf/OVMF_VARS.fd"),
    ("/usr/share/edk2/x64/OVMF_CODE.4m.fd", "/usr/share/edk2/x64/OVMF_VARS.4m.fd"),
    ("/usr/share/qemu/ovmf-x86_64-code.bin", "/usr/share/qemu/ovmf-x86_64-vars.bin"),
];

pub fn installed() -> Option<Firmware> {
    let there = |(code, variables): &&(&str, &str)| {
        Path::new(code).is_file() && Path::new(variables).is_file()
    };
    PLACES.iter().find(there).map(firmware)
}

impl Firmware {
    /// Returns the firmware's paths on Debian, for plans where it is not installed.
    pub fn usual() -> Firmware {
        firmware(&PLACES[0])
    }
}

fn firmware((code, variables): &(&str, &str)) -> Firmware {
    Firmware { code: code.into(), variables: variables.into() }
}
