//! Writes the files of another host's /proc, /sys and /etc, which were read over ssh, to a folder,
//! and gathers facts from it with the code for this host. Refuses a name that leads out of the
//! folder.

use super::posix::by_name;
use anyhow::{Context, Result, ensure};
use iotax_host::facts::{self, Facts};
use iotax_host::probe::Probe;
use std::path::{Component, Path, PathBuf};

/// Gathers facts from sections of an answer that are named after the files they hold, and facts
/// about `paths`. Sections named `device` have the kernel's names of the devices of `paths`, in
/// their order.
pub(super) fn of_files(sections: &[(String, String)], paths: &[PathBuf]) -> Result<Facts> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    for (name, text) in by_name(sections).into_iter().filter(|(name, _)| name.starts_with('/')) {
        lay_out(folder.path(), name, text)?;
        if let Some(rest) = name.strip_prefix("/sys/class/block/") {
            lay_out(folder.path(), &format!("/sys/block/{rest}"), text)?;
        }
    }
    let probe = Probe::of_files(folder.path());
    let devices = sections.iter().filter(|(name, _)| name == "device").map(|(_, text)| text.trim());
    let is_device = |path: &Path| path.starts_with("/dev") && !path.starts_with("/dev/shm");
    let asked: Vec<PathBuf> = paths
        .iter()
        .zip(devices)
        .map(
            |(path, device)| {
                if is_device(path) { Path::new("/dev").join(device) } else { path.clone() }
            },
        )
        .collect();
    let mut found = facts::gather_from(&probe, &asked, &[]);
    // The device of a link is reported under the name that was asked for.
    for (target, path) in found.targets.iter_mut().zip(paths) {
        target.path.clone_from(path);
    }
    Ok(found)
}

fn lay_out(folder: &Path, name: &str, text: &str) -> Result<()> {
    let relative = Path::new(name.trim_start_matches('/'));
    let plain = relative.components().all(|part| matches!(part, Component::Normal(_)));
    ensure!(plain, "it reports a file \"{}\"", name.escape_debug());
    let path = folder.join(relative);
    let parent = path.parent().context("a file without a folder")?;
    std::fs::create_dir_all(parent)
        .and_then(|()| std::fs::write(&path, text))
        .with_context(|| format!("cannot write {}", path.display()))
}
