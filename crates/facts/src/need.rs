//! Needs of a layer on a machine, as data. `iotax_host` does the checks.

use serde::{Deserialize, Serialize};

/// A requirement that a machine may not meet.
#[derive(Clone, Copy, Debug)]
pub struct Requirement {
    /// Name of the requirement for `doctor --require`, which never changes.
    pub id: &'static str,
    /// Purpose, as a clause: `for the layer loop`.
    pub why: &'static str,
    /// Commands that meet the requirement, by distribution; the last one applies to all
    /// distributions not named.
    pub supply: &'static [Supply],
    pub finds: &'static [SearchedThing],
}

/// Program, kernel module or file to look for. Its name is a `String` when it is sent to another
/// place.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchedThing<S = &'static str> {
    Program(S),
    Module(S),
    File(S),
}

impl From<SearchedThing> for SearchedThing<String> {
    fn from(find: SearchedThing) -> SearchedThing<String> {
        match find {
            SearchedThing::Program(name) => SearchedThing::Program(name.to_owned()),
            SearchedThing::Module(name) => SearchedThing::Module(name.to_owned()),
            SearchedThing::File(path) => SearchedThing::File(path.to_owned()),
        }
    }
}

/// A command, or another action, that meets a requirement.
#[derive(Clone, Copy, Debug)]
pub struct Supply {
    /// Value of `ID` or a word of `ID_LIKE` in os-release; empty for all other distributions.
    pub distribution: &'static str,
    pub command: &'static str,
}

/// Creates the last supply of a list, which is for all distributions that are not named before it.
pub const fn everywhere(command: &'static str) -> Supply {
    Supply { distribution: "", command }
}

pub const fn debian(command: &'static str) -> Supply {
    Supply { distribution: "debian", command }
}

pub const fn fedora(command: &'static str) -> Supply {
    Supply { distribution: "fedora", command }
}

/// Expands to the requirement of a kernel module: id, name of the module, kernel option without
/// `CONFIG_`, purpose.
#[doc(hidden)]
#[macro_export]
macro_rules! need_module {
    ($id:literal, $file:literal, $config:literal, $why:literal) => {
        $crate::need::Requirement {
            id: $id,
            why: $why,
            supply: &[$crate::need::everywhere(concat!(
                "boot a kernel with CONFIG_",
                $config,
                " (grep ",
                $config,
                " /boot/config-* shows which have it), or install the kernel's package of extra modules"
            ))],
            finds: &[$crate::need::SearchedThing::Module($file)],
        }
    };
}
pub use need_module as module;

/// Expands to the requirement of one program, whose name is its id, or of several with an id of
/// their own: purpose, then the package on Debian, on Fedora and elsewhere.
#[doc(hidden)]
#[macro_export]
macro_rules! need_program {
    ($name:literal, $why:literal, $debian:literal, $fedora:literal, $other:literal) => {
        $crate::need_program!($name, [$name], $why, $debian, $fedora, $other)
    };
    ($id:literal, [$($name:literal),+], $why:literal, $debian:literal, $fedora:literal, $other:literal) => {
        $crate::need::Requirement {
            id: $id,
            why: $why,
            supply: &[
                $crate::need::debian(concat!("apt-get install ", $debian)),
                $crate::need::fedora(concat!("dnf install ", $fedora)),
                $crate::need::everywhere(concat!("install ", $other)),
            ],
            finds: &[$($crate::need::SearchedThing::Program($name)),+],
        }
    };
}
pub use need_program as program;
