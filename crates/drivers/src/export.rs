//! Common parts of exports to other machines: configfs, through which the kernel's targets are set
//! up, and checks of the device and the address before anything is made.

use super::tool::{load_modules, tool};
use crate::tool::run_tool;
use anyhow::{Context, Result, anyhow, bail};
use iotax_units::shell;
use std::fs;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

pub const CONFIGFS: &str = "/sys/kernel/config";

/// Loads the modules, mounts configfs if it is not mounted, and checks that `folder`, which one of
/// the modules makes, is there.
///
/// # Errors
/// If a module does not load, configfs cannot be mounted, or the folder is not there.
pub(super) fn load_configfs(folder: &Path, modules: &[&str]) -> Result<()> {
    load_modules(modules)?;
    if fs::read_dir(CONFIGFS).is_ok_and(|mut entries| entries.next().is_none()) {
        run_tool(&mut tool("mount", ["-t", "configfs", "configfs", CONFIGFS]))?;
    }
    match folder.exists() {
        true => Ok(()),
        false => bail!("the kernel shows no {}", folder.display()),
    }
}

/// Returns the commands that load the modules and mount configfs.
pub(super) fn load_by_hand(modules: &[&str]) -> Vec<String> {
    let mount = format!("mountpoint -q {CONFIGFS} || mount -t configfs configfs {CONFIGFS}");
    vec![format!("modprobe -a {}", modules.join(" ")), mount]
}

pub(super) fn echo_by_hand(value: &str, file: &Path) -> String {
    format!("echo {} > {}", shell::quote_word(value), shell::path(file))
}

pub(super) fn link_by_hand(to: &Path, name: &Path) -> String {
    format!("ln -s {} {}", shell::path(to), shell::path(name))
}

pub(super) fn folders_by_hand<'a>(folders: impl IntoIterator<Item = &'a Path>) -> String {
    let folders: Vec<String> = folders.into_iter().map(shell::path).collect();
    format!("mkdir -p {}", folders.join(" "))
}

/// Makes a folder, and returns true if it was not there before.
///
/// # Errors
/// When it cannot be made.
pub(super) fn make_folder(folder: &Path) -> Result<bool> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        other => other.map(|()| true).with_context(|| format!("cannot make {}", folder.display())),
    }
}

pub(super) fn make_new(folder: &Path) -> Result<()> {
    fs::create_dir(folder).with_context(|| format!("cannot make {}", folder.display()))
}

/// Creates the link `name` in configfs, which points to `to`.
///
/// # Errors
/// When the kernel refuses.
pub(super) fn link(to: &Path, name: &Path) -> Result<()> {
    std::os::unix::fs::symlink(to, name).with_context(|| format!("cannot make {}", name.display()))
}

/// Removes a folder, if it exists.
///
/// # Errors
/// If the kernel refuses, as while the folder is in use.
pub(super) fn remove(folder: &Path) -> Result<()> {
    ignore_missing(fs::remove_dir(folder), folder)
}

pub(super) fn unlink(link: &Path) -> Result<()> {
    ignore_missing(fs::remove_file(link), link)
}

fn ignore_missing(result: std::io::Result<()>, what: &Path) -> Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other.with_context(|| format!("cannot remove {}", what.display())),
    }
}

/// Refuses a block device that is in use, since not every target claims its device exclusively.
/// Accepts every file.
///
/// # Errors
/// If the device is in use or cannot be opened, or nothing is at the path.
pub fn check_free(device: &Path) -> Result<()> {
    let shown = device.display();
    if !fs::metadata(device)
        .with_context(|| format!("cannot look at {shown}"))?
        .file_type()
        .is_block_device()
    {
        return Ok(());
    }
    let exclusive = rustix::fs::OFlags::EXCL.bits() as i32;
    match fs::OpenOptions::new().read(true).custom_flags(exclusive).open(device) {
        Ok(_) => Ok(()),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::BUSY.raw_os_error()) => {
            bail!(
                "{shown} is in use (a mount, swap, md, LVM, another export); hint: stop what uses it, or name another device"
            )
        }
        Err(error) => Err(error).with_context(|| format!("cannot open {shown}")),
    }
}

/// Refuses an address that this machine does not have and, if a TCP port is given, a port on which
/// somebody listens.
///
/// # Errors
/// If this machine lacks the address, the port is taken, or binding to them fails for another
/// reason.
pub fn check_address(address: IpAddr, tcp_port: Option<u16>) -> Result<()> {
    let tried = match tcp_port {
        Some(port) => TcpListener::bind(SocketAddr::new(address, port)).map(drop),
        None => UdpSocket::bind(SocketAddr::new(address, 0)).map(drop),
    };
    let Err(error) = tried else { return Ok(()) };
    Err(match error.kind() {
        ErrorKind::AddrNotAvailable => anyhow!(
            "this machine does not have the address {address}; hint: name one of its own (ip address), by which the other end reaches it"
        ),
        ErrorKind::AddrInUse => {
            let port = tcp_port.unwrap_or(0);
            anyhow!(
                "somebody listens on port {port} of {address} already; hint: name another one, port=..."
            )
        }
        _ => anyhow::Error::new(error).context(format!("cannot listen at {address}")),
    })
}

pub(super) fn family(address: IpAddr) -> &'static str {
    if address.is_ipv4() { "ipv4" } else { "ipv6" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_host::guard::rig::Loop;

    #[test]
    fn an_address_of_nobody_and_a_port_of_somebody_are_refused() {
        let here: IpAddr = "127.0.0.1".parse().unwrap();
        let taken = TcpListener::bind((here, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        let why = check_address(here, Some(port)).unwrap_err().to_string();
        assert!(
            why.contains(&format!("listens on port {port}")) && why.contains("hint: name another"),
            "{why}"
        );
        drop(taken);
        // A child that another test has just forked may hold it a little longer.
        let is_free = || {
            let pause = std::time::Duration::from_millis(10);
            (0..500).any(|_| {
                check_address(here, Some(port)).is_ok() || (std::thread::sleep(pause), false).1
            })
        };
        assert!(is_free() && check_address(here, None).is_ok());
        // TEST-NET-1 is nobody's (RFC 5737).
        let nobodys: IpAddr = "192.0.2.1".parse().unwrap();
        for tcp_port in [Some(port), None] {
            let why = check_address(nobodys, tcp_port).unwrap_err().to_string();
            assert!(why.contains("does not have the address 192.0.2.1"), "{why}");
        }
    }

    #[test]
    fn a_device_that_somebody_holds_is_not_exported() {
        let Some(device) = Loop::with_size(1 << 20) else { return };
        check_free(&device.path).unwrap();
        let exclusive = rustix::fs::OFlags::EXCL.bits() as i32;
        let held =
            fs::OpenOptions::new().read(true).custom_flags(exclusive).open(&device.path).unwrap();
        let why = check_free(&device.path).unwrap_err().to_string();
        assert!(why.contains("is in use") && why.contains("hint: stop what uses it"), "{why}");
        drop(held);
        assert!(check_free(Path::new("/proc/self/exe")).is_ok(), "a file has no such claim");
    }
}
