//! What a layer needs of a machine, as data: whoever looks at machines knows how each is found.

/// Something a machine may lack.
#[derive(Clone, Copy, Debug)]
pub struct Requirement {
    /// Stable name, for `doctor --require`.
    pub id: &'static str,
    /// What for, a clause: `for the layer loop`.
    pub why: &'static str,
    /// What supplies it, by distribution; the last one holds for those not named.
    pub supply: &'static [Supply],
    /// All that must be found.
    pub finds: &'static [Find],
}

/// What is found or not.
#[derive(Clone, Copy, Debug)]
pub enum Find {
    /// A program.
    Program(&'static str),
    /// A module of the kernel, by the name of its file.
    Module(&'static str),
    /// A file.
    File(&'static str),
}

/// A command (or an act) that supplies a need.
#[derive(Clone, Copy, Debug)]
pub struct Supply {
    /// `ID` or a word of `ID_LIKE` in os-release; empty for every other.
    pub distribution: &'static str,
    /// The command.
    pub command: &'static str,
}

/// Of every distribution that is not named before.
pub const fn everywhere(command: &'static str) -> Supply {
    Supply { distribution: "", command }
}

/// Of Debian and its like.
pub const fn debian(command: &'static str) -> Supply {
    Supply { distribution: "debian", command }
}

/// Of Fedora and its like.
pub const fn fedora(command: &'static str) -> Supply {
    Supply { distribution: "fedora", command }
}

/// A module of the kernel, by the name of its file and of the kernel's option.
macro_rules! module {
    ($id:literal, $file:literal, $config:literal, $why:literal) => {
        $crate::layer::words::need::Requirement {
            id: $id,
            why: $why,
            supply: &[$crate::layer::words::need::everywhere(concat!(
                "boot a kernel with CONFIG_",
                $config,
                " (grep ",
                $config,
                " /boot/config-* tells which has it), or install its package of further modules"
            ))],
            finds: &[$crate::layer::words::need::Find::Module($file)],
        }
    };
}
pub(crate) use module;

/// A program by which its need is called, or others, with its package in Debian, in Fedora, and in words for everybody else.
macro_rules! program {
    ($name:literal, $why:literal, $debian:literal, $fedora:literal, $other:literal) => {
        $crate::layer::words::need::program!($name, [$name], $why, $debian, $fedora, $other)
    };
    ($id:literal, [$($name:literal),+], $why:literal, $debian:literal, $fedora:literal, $other:literal) => {
        $crate::layer::words::need::Requirement {
            id: $id,
            why: $why,
            supply: &[
                $crate::layer::words::need::debian(concat!("apt-get install ", $debian)),
                $crate::layer::words::need::fedora(concat!("dnf install ", $fedora)),
                $crate::layer::words::need::everywhere(concat!("install ", $other)),
            ],
            finds: &[$($crate::layer::words::need::Find::Program($name)),+],
        }
    };
}
pub(crate) use program;
