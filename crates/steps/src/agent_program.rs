//! The program that is copied into guests and to hosts as the agent.

use iotax_remote::ssh::SshOptions;
use iotax_sys::child::{ANSWERS_WITHIN, output_of};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

pub const NAME: &str = "iotax-agent";

/// Identity of the sources that an agent is built of. Both ends must have the same, as the wire
/// protocol has no versions within one release.
pub const BUILD: &str = env!("IOTAX_AGENT_BUILD");

/// Returns the program that is copied into guests and to hosts: `iotax-agent` beside this program
/// if it is of the same build and nobody else can change it, else this program itself, by a link
/// that stays valid after a new build replaces it.
pub fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| agent_beside().unwrap_or_else(|| PathBuf::from("/proc/self/exe")))
}

fn agent_beside() -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?.with_file_name(NAME);
    is_trusted(&path)?;
    let asked = output_of(Command::new(&path).arg("--build"), ANSWERS_WITHIN).ok()?;
    (asked.status.success() && asked.stdout.trim_ascii() == BUILD.as_bytes()).then_some(path)
}

/// Returns `Some` for a regular file that root or this user owns and nobody else can write.
fn is_trusted(path: &Path) -> Option<()> {
    let meta = std::fs::symlink_metadata(path).ok()?;
    let own = [0, rustix::process::geteuid().as_raw()].contains(&meta.uid());
    (meta.is_file() && own && meta.mode() & 0o022 == 0).then_some(())
}

/// Returns the options for SSH connections, with [`program`] as the binary that is copied.
pub fn ssh_options() -> SshOptions {
    let mut options = SshOptions::from_env();
    options.binary = Some(program().to_owned());
    options
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn an_agent_that_others_could_have_put_there_is_not_copied() {
        let dir = tempfile::tempdir().unwrap();
        let [file, link] = ["agent", "link"].map(|name| dir.path().join(name));
        assert_eq!(is_trusted(&file), None, "it is not there");
        std::fs::write(&file, "").unwrap();
        symlink(&file, &link).unwrap();
        for (mode, trusted) in [(0o755, true), (0o700, true), (0o775, false), (0o757, false)] {
            std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
            assert_eq!(is_trusted(&file).is_some(), trusted, "{mode:o}");
        }
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(is_trusted(&link), None, "a link may lead elsewhere tomorrow");
    }
}
