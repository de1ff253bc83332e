//! The kernel's NBD client by nbd-client: a connection to a named export, known by the process that
//! holds it, whose command line carries that name.

use super::process;
use super::tool::{load_modules, run_within, settle, tool};
use crate::process::ProcessId;
use crate::tool::run_tool;
use crate::wait::wait_until;
use anyhow::{Context, Result, bail};
use iotax_host::probe::Probe;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NbdAddress<'a> {
    Tcp(std::net::SocketAddr),
    Unix(&'a Path),
}

const LISTENS_WITHIN: Duration = Duration::from_secs(10);

/// Time limit for nbd-client to connect. A server that accepts the connection and sends nothing
/// would hold it for ever.
const CONNECTS_WITHIN: Duration = Duration::from_secs(30);

/// Connects and returns the block device. Tries again for 10 s, since the server may just have been
/// started.
///
/// # Errors
/// If the module does not load, all NBD devices are in use, the server does not answer, or no
/// device of the export appears.
pub fn connect(export: &str, server: NbdAddress, connections: u32) -> Result<PathBuf> {
    load_modules(&["nbd"])?;
    let probe = Probe::of_files(Path::new("/"));
    let start = Instant::now();
    loop {
        let device =
            free(&probe).context("all NBD devices are in use; hint: modprobe nbd nbds_max=64")?;
        match run_within(
            tool("nbd-client", nbd_client_args(export, server, connections, &device)),
            CONNECTS_WITHIN,
        ) {
            Ok(_) => break,
            Err(error) if start.elapsed() > LISTENS_WITHIN => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(200)),
        }
    }
    let shown = || device_of(&probe, export).filter(|device| size(&probe, device) > 0);
    wait_until(LISTENS_WITHIN, || shown().is_some())
        .with_context(|| format!("{export} shows no device"))?;
    settle();
    shown().context("the device went away")
}

/// Returns the arguments of nbd-client. With `-nonetlink` a process whose command line has the
/// export's name holds the connection; a connection that is made over netlink has no process.
pub fn nbd_client_args(
    export: &str,
    server: NbdAddress,
    connections: u32,
    device: &Path,
) -> Vec<String> {
    let mut words: Vec<String> = match server {
        NbdAddress::Tcp(at) => vec![at.ip().to_string(), at.port().to_string()],
        NbdAddress::Unix(socket) => vec!["-unix".into(), socket.display().to_string()],
    };
    words.push(device.display().to_string());
    words.extend(["-nonetlink".into(), "-connections".into(), connections.to_string()]);
    words.extend(["-name".into(), export.to_owned()]);
    words
}

fn devices(probe: &Probe) -> impl Iterator<Item = PathBuf> + '_ {
    let names = probe.folder_names("/sys/block").into_iter();
    let of_driver =
        |name: &String| name.strip_prefix("nbd").is_some_and(|rest| rest.parse::<u32>().is_ok());
    names.filter(of_driver).map(|name| Path::new("/dev").join(name))
}

fn attribute(device: &Path, name: &str) -> PathBuf {
    Path::new("/sys/block").join(device.file_name().unwrap_or_default()).join(name)
}

fn size(probe: &Probe, device: &Path) -> u64 {
    probe.read_number(attribute(device, "size")).unwrap_or(0)
}

/// Finds an NBD device that is not in use: it has no process, and its size is 0.
fn free(probe: &Probe) -> Option<PathBuf> {
    let is_free = |device: &PathBuf| {
        size(probe, device) == 0 && !probe.path_below(attribute(device, "pid")).exists()
    };
    devices(probe).find(is_free)
}

pub fn device_of(probe: &Probe, export: &str) -> Option<PathBuf> {
    let is_of = |device: &PathBuf| {
        let pid = probe.read_number(attribute(device, "pid"));
        let command = pid
            .and_then(|pid| std::fs::read(probe.path_below(format!("/proc/{pid}/cmdline"))).ok());
        command.is_some_and(|command| {
            command.split(|byte| *byte == 0).any(|word| word == export.as_bytes())
        })
    };
    devices(probe).find(is_of)
}

/// Returns true if the export has a device, or a process of nbd-client that is still connecting.
///
/// # Errors
/// When /proc cannot be read.
pub fn is_connected(export: &str) -> Result<bool> {
    let probe = Probe::of_files(Path::new("/"));
    Ok(device_of(&probe, export).is_some() || !clients(export)?.is_empty())
}

/// Finds the processes of nbd-client for an export. The name alone does not show them: the export's
/// server may have it in its command line, too.
fn clients(export: &str) -> Result<Vec<ProcessId>> {
    process::processes(|words| is_client(words, export))
}

fn is_client(words: &[&str], export: &str) -> bool {
    let program = words.first().and_then(|path| path.rsplit('/').next());
    program == Some("nbd-client") && words.contains(&export)
}

pub fn disconnect(export: &str) -> Result<()> {
    let probe = Probe::of_files(Path::new("/"));
    if let Some(device) = device_of(&probe, export) {
        run_tool(&mut tool("nbd-client", [OsStr::new("-d"), device.as_os_str()]))?;
    }
    let gone = || matches!(is_connected(export), Ok(false));
    if wait_until(Duration::from_secs(5), gone).is_ok() {
        return Ok(());
    }
    // A client may not have come to a device yet.
    clients(export)?.iter().try_for_each(process::kill)?;
    match device_of(&probe, export) {
        Some(device) => bail!("{} is still connected to {export}", device.display()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_host::made_up::server;

    #[test]
    fn the_client_is_told_where_and_what() {
        let told =
            |server| nbd_client_args("iotax-r-nbd0", server, 2, Path::new("/dev/nbd3")).join(" ");
        let at = NbdAddress::Tcp("127.0.0.1:10809".parse().unwrap());
        assert_eq!(
            told(at),
            "127.0.0.1 10809 /dev/nbd3 -nonetlink -connections 2 -name iotax-r-nbd0"
        );
        let socket = NbdAddress::Unix(Path::new("/run/x/nbd0"));
        assert_eq!(
            told(socket),
            "-unix /run/x/nbd0 /dev/nbd3 -nonetlink -connections 2 -name iotax-r-nbd0"
        );
    }

    #[test]
    fn nobody_but_a_client_is_killed_for_the_name_of_its_export() {
        assert!(is_client(
            &["/usr/sbin/nbd-client", "h", "10809", "-name", "iotax-r-nbd0"],
            "iotax-r-nbd0"
        ));
        assert!(!is_client(&["nbd-client", "h", "-name", "iotax-r-nbd01"], "iotax-r-nbd0"));
        assert!(!is_client(&["qemu-nbd", "-x", "iotax-r-nbd0"], "iotax-r-nbd0"));
        assert!(!is_client(&["grep", "nbd-client", "iotax-r-nbd0"], "iotax-r-nbd0"));
    }

    #[test]
    fn a_device_is_known_by_the_process_that_holds_it() {
        let machine = server();
        assert_eq!(free(&machine.probe), None, "the driver is not there");
        for (name, size) in
            [("nbd0", "8\n"), ("nbd1", "0\n"), ("nbd2", "0\n"), ("nbd10", "0\n"), ("nbdx", "0\n")]
        {
            machine.put(&[(&format!("/sys/block/{name}/size"), size)]);
        }
        machine.put(&[("/sys/block/nbd0/pid", "77\n"), ("/sys/block/nbd1/pid", "78\n")]);
        machine.put(&[
            ("/proc/77/cmdline", "nbd-client\0-name\0theirs\0"),
            ("/proc/78/cmdline", "nbd-client\0-name\0iotax-r-nbd0\0"),
        ]);
        assert_eq!(free(&machine.probe), Some("/dev/nbd2".into()));
        assert_eq!(device_of(&machine.probe, "iotax-r-nbd0"), Some("/dev/nbd1".into()));
        assert_eq!(device_of(&machine.probe, "iotax-r-nbd"), None);
    }
}
