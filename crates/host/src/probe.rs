//! Source of facts and needs: this machine, or a made-up one in a folder (tests). It only reads;
//! what cannot be read is `None`, never an empty word or a zero.

use super::kvm::KvmState;
use iotax_sys::child::{ANSWERS_WITHIN, output_of};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A machine, as facts and needs are read from it.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Prefix of `/proc`, `/sys`, `/etc`, `/boot`, `/lib`, `/dev`: `/` for this machine.
    pub root: PathBuf,
    /// Effective user id; 0 is root.
    pub euid: u32,
    /// Folder for files and runs.
    pub dir: PathBuf,
    /// `Ok` if this user may create files in that folder, else why not.
    pub folder: Result<(), String>,
    pub space: Option<Space>,
    /// `Ok` if io_uring answers, else why not.
    pub io_uring: Result<(), String>,
    pub guest: GuestProbe,
    pub programs: Programs,
}

/// Checks about guests, supplied by the code that knows what guests require. They are functions,
/// not values, so that only a need that uses one runs it: looking for a kernel may ask apt, and
/// io_uring is tried with a QEMU.
#[derive(Clone, Copy, Debug)]
pub struct GuestProbe {
    pub kvm: fn() -> KvmState,
    pub qemu: fn() -> Result<(), String>,
    /// Looks for a kernel that exists or can be fetched, or says why there is not one.
    pub kernel: fn() -> Result<(), String>,
    /// Looks for a usable storage daemon of QEMU's, or says why there is not one.
    pub storage_daemon: fn() -> Result<(), String>,
    /// Tries whether QEMU opens files with io_uring, or says why not.
    pub io_uring: fn() -> Result<(), String>,
    /// Tries whether QEMU's storage daemon opens files with io_uring, or says why not.
    pub daemon_io_uring: fn() -> Result<(), String>,
    /// Looks for UEFI for guests, or says why there is not any.
    pub ovmf: fn() -> Result<(), String>,
    /// Looks for an SPDK target at its default socket, or says why there is not one.
    pub spdk: fn() -> Result<(), String>,
    /// Looks for a root image of the lab that is built, or says why there is not one.
    pub lab: fn() -> Result<(), String>,
}

impl GuestProbe {
    /// Checks for callers that ask nothing about guests: each answers "not asked".
    pub const NOT_ASKED: GuestProbe = GuestProbe {
        kvm: || KvmState::Absent("not asked".into()),
        qemu: || Err("not asked".into()),
        kernel: || Err("not asked".into()),
        storage_daemon: || Err("not asked".into()),
        io_uring: || Err("not asked".into()),
        daemon_io_uring: || Err("not asked".into()),
        ovmf: || Err("not asked".into()),
        spdk: || Err("not asked".into()),
        lab: || Err("not asked".into()),
    };
}

/// Room on a file system, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    pub total: u64,
    /// Bytes that this user may still use.
    pub free: u64,
}

/// Programs of this machine, or those of a made-up one with their versions.
#[derive(Clone, Debug)]
pub enum Programs {
    /// Those in `PATH` and in the folders of system programs.
    Installed,
    /// Those of a made-up machine: name, and the line with the version.
    Given(BTreeMap<String, String>),
}

impl Probe {
    /// Creates a probe of this machine, which tries `dir` (the folder for files and runs) and
    /// io_uring at once.
    pub fn this_machine(dir: &Path, guest: GuestProbe) -> Probe {
        Probe {
            root: PathBuf::from("/"),
            euid: rustix::process::geteuid().as_raw(),
            dir: dir.to_owned(),
            folder: folder_of(dir),
            space: space_of(dir),
            io_uring: iotax_sys::uring::probe().map_err(|error| error.to_string()),
            guest,
            programs: Programs::Installed,
        }
    }

    /// Creates a probe of the files below `root`, with no programs and no checks about guests.
    /// Serves where only files are read, in a guest, and for a machine made up for a test.
    pub fn of_files(root: &Path) -> Probe {
        Probe {
            root: root.to_owned(),
            euid: 0,
            dir: PathBuf::from("/run/iotax"),
            folder: Ok(()),
            space: None,
            io_uring: Ok(()),
            guest: GuestProbe::NOT_ASKED,
            programs: Programs::Given(BTreeMap::new()),
        }
    }

    /// Returns the path on disk of an absolute path of the machine.
    pub fn path_below(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Reads a text file without surrounding white space; `None` if unreadable or empty.
    pub fn read_trimmed(&self, path: impl AsRef<Path>) -> Option<String> {
        let bytes = std::fs::read(self.path_below(path)).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Reads a file that holds one decimal number.
    pub fn read_number(&self, path: impl AsRef<Path>) -> Option<u64> {
        self.read_trimmed(path)?.parse().ok()
    }

    /// Returns the names in a folder, numbers in numeric order; empty if there is no folder.
    pub fn folder_names(&self, path: impl AsRef<Path>) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.path_below(path))
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort_by_key(|name| numeric_order(name));
        names
    }

    /// Returns the last part of a symbolic link's target: `virtio_blk` for `device/driver`. `None`
    /// if it is no link.
    pub fn link_name(&self, path: impl AsRef<Path>) -> Option<String> {
        let target = std::fs::read_link(self.path_below(path)).ok()?;
        Some(target.file_name()?.to_str()?.to_owned())
    }

    /// Returns the path of a program, if it is installed.
    pub fn program(&self, name: &str) -> Option<PathBuf> {
        match &self.programs {
            Programs::Installed => program_path(name),
            Programs::Given(known) => known.contains_key(name).then(|| PathBuf::from(name)),
        }
    }

    /// Returns the line with the version that a program prints; `None` if it is not installed or
    /// prints none.
    pub fn program_version(&self, name: &str) -> Option<String> {
        match &self.programs {
            Programs::Installed => version_of(&program_path(name)?, name),
            Programs::Given(known) => known.get(name).cloned(),
        }
    }
}

/// Finds a program in the absolute folders of `PATH`, then in /usr/sbin, /sbin, /usr/bin and /bin:
/// a user's `PATH` often lacks the first two.
pub fn program_path(name: impl AsRef<Path>) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from))
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(&name))
        .find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(file)
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Programs with a version option other than `--version`.
const ASKED_BY: &[(&str, &str)] = &[
    ("lvm", "version"),
    ("mkfs.btrfs", "-V"),
    ("mkfs.ext4", "-V"),
    ("mkfs.xfs", "-V"),
    ("nbd-client", "-V"),
    ("ssh", "-V"),
];
/// Programs that print their version to standard error. Other programs print only complaints there.
const ANSWER_ON_STDERR: &[&str] = &["mdadm", "mkfs.ext4", "nbd-client", "ssh"];

fn version_of(program: &Path, name: &str) -> Option<String> {
    let word =
        ASKED_BY.iter().find(|(known, _)| *known == name).map_or("--version", |(_, word)| word);
    let mut command = Command::new(program);
    command.arg(word).env("LC_ALL", "C").envs(QUIET_LVM);
    let output = output_of(&mut command, ANSWERS_WITHIN).ok()?;
    let answer = version_in(&output.stdout);
    answer.or_else(|| ANSWER_ON_STDERR.contains(&name).then(|| version_in(&output.stderr))?)
}

/// Environment variable that silences LVM's complaints about inherited open files.
pub const QUIET_LVM: [(&str, &str); 1] = [("LVM_SUPPRESS_FD_WARNINGS", "1")];

/// Returns the first line with a number of several parts (`LVM version: 2.03.16(2)`); `None` if
/// there is none.
fn version_in(said: &[u8]) -> Option<String> {
    let is_version = |word: &str| {
        word.split_once('.').is_some_and(|(major, minor)| {
            major.ends_with(|c: char| c.is_ascii_digit())
                && minor.starts_with(|c: char| c.is_ascii_digit())
        })
    };
    let text = String::from_utf8_lossy(said);
    let line = text.lines().find(|line| line.split_whitespace().any(is_version))?;
    Some(line.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn folder_of(dir: &Path) -> Result<(), String> {
    use rustix::fs::{Access, access};
    match dir.is_dir() {
        false => Err(format!("folder {} does not exist", dir.display())),
        true => access(dir, Access::WRITE_OK | Access::EXEC_OK)
            .map_err(|error| format!("folder {} cannot be written: {error}", dir.display())),
    }
}

fn space_of(dir: &Path) -> Option<Space> {
    // A folder that is still to be made lies on its nearest parent's file system.
    let there = dir.ancestors().find(|ancestor| ancestor.exists())?;
    let stat = rustix::fs::statvfs(there).ok()?;
    Some(Space {
        total: stat.f_blocks.checked_mul(stat.f_frsize)?,
        free: stat.f_bavail.checked_mul(stat.f_frsize)?,
    })
}

/// Returns a key under which `cpu10` sorts after `cpu9`.
fn numeric_order(name: &str) -> (String, u64, String) {
    let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (stem, number) = name.split_at(name.len() - digits);
    (stem.to_owned(), number.parse().unwrap_or(0), name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_by_number() {
        let mut names = ["cpu10", "cpu9", "cpu", "online"];
        names.sort_by_key(|name| numeric_order(name));
        assert_eq!(names, ["cpu", "cpu9", "cpu10", "online"]);
    }

    #[test]
    fn finds_programs_outside_path_and_their_versions() {
        assert!(program_path("sh").is_some());
        assert_eq!(program_path("no-such-program-here"), None);
    }

    #[test]
    fn a_version_is_what_a_program_answers_and_not_what_it_complains_of() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("temporary folder");
        let of = |name: &str, script: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("write");
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("mode");
            version_of(&path, name)
        };
        let leaked = "test -n \"$LVM_SUPPRESS_FD_WARNINGS\" || echo quiet 0.0; echo 'File descriptor 10 (/srv/v1.2) leaked' >&2";
        let lvm =
            "test \"$1\" = version || exit 3; echo '  LVM version:     2.03.16(2) (2022-05-18)'";
        assert_eq!(
            of("lvm", &format!("{leaked}; {lvm}")).as_deref(),
            Some("LVM version: 2.03.16(2) (2022-05-18)")
        );
        assert_eq!(of("zfs", leaked), None, "it answered nothing");
        let mdadm = of("mdadm", "echo 'mdadm: warning' >&2; echo 'mdadm - v4.2 - 2021-12-30' >&2");
        assert_eq!(mdadm.as_deref(), Some("mdadm - v4.2 - 2021-12-30"));
        assert_eq!(
            of("qemu-img", "echo WARNING; echo qemu-img version 7.2.9").unwrap(),
            "qemu-img version 7.2.9"
        );
        assert_eq!(
            of("ssh", "echo OpenSSH_9.2p1 Debian-2, OpenSSL 3.0.11 >&2").unwrap().split(' ').next(),
            Some("OpenSSH_9.2p1")
        );
        if program_path("lvm").is_some() {
            let lvm =
                version_of(&program_path("lvm").unwrap(), "lvm").expect("lvm tells its version");
            assert!(lvm.starts_with("LVM version: "), "{lvm}");
        } else {
            println!("skipped: needs lvm");
        }
    }

    #[test]
    fn an_empty_file_is_unknown() {
        let dir = tempfile::tempdir().expect("temporary folder");
        std::fs::write(dir.path().join("empty"), " \n\0").expect("write");
        let probe = Probe::of_files(dir.path());
        assert_eq!(probe.read_trimmed("/empty"), None);
        assert_eq!(probe.read_trimmed("/absent"), None);
    }
}
