//! The kernel's NVMe host over a fabric, driven through /dev/nvme-fabrics: one controller of a
//! subsystem, known by the subsystem's NQN. Controllers of any other NQN are never touched.

use super::settings::{self, ThingSettings};
use super::tool::{load_modules, settle};
use crate::plain_file::write_sysfs;
use crate::wait::wait_until;
use anyhow::{Context, Result, ensure};
use iotax_host::probe::Probe;
use iotax_units::shell;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{Read, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectNvmf {
    pub nqn: String,
    pub transport: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<(IpAddr, u16)>,
    pub host_nqn: String,
    pub host_id: String,
    /// Further options as /dev/nvme-fabrics takes them: `nr_io_queues=4`.
    pub options: Vec<String>,
}

/// Longest wait for the block device after the connection, while the kernel scans for namespaces.
const SHOWS_WITHIN: Duration = Duration::from_secs(30);

/// Returns the options that, written to /dev/nvme-fabrics, make the connection.
fn connect_words(connection: &ConnectNvmf) -> String {
    let ConnectNvmf { nqn, transport, host_nqn, host_id, .. } = connection;
    let mut words = vec![format!("nqn={nqn}"), format!("transport={transport}")];
    if let Some((address, service)) = connection.at {
        words.push(format!("traddr={address}"));
        words.push(format!("trsvcid={service}"));
    }
    words.push(format!("hostnqn={host_nqn}"));
    words.push(format!("hostid={host_id}"));
    words.extend(connection.options.iter().cloned());
    words.join(",")
}

/// Connects and returns the namespace's block device.
///
/// # Errors
/// If the module does not load, the kernel does not connect, or no namespace appears within 30 s.
pub fn connect(connection: &ConnectNvmf) -> Result<PathBuf> {
    let module = format!("nvme-{}", connection.transport);
    load_modules(&[module.as_str()])?;
    let words = connect_words(connection);
    ask_kernel(&words).with_context(|| {
        let nqn = &connection.nqn;
        match connection.at {
            Some((address, service)) => {
                format!("cannot connect to {nqn} at {address}, port {service}: the kernel's log (dmesg) says why; hint: a firewall, or an address that is reached another way")
            }
            None => format!("cannot connect to {nqn}: the kernel's log (dmesg) says why"),
        }
    })?;
    let probe = Probe::of_files(Path::new("/"));
    let shown = || device(&probe, &connection.nqn).filter(|device| device.exists());
    wait_until(SHOWS_WITHIN, || shown().is_some())
        .with_context(|| format!("{} shows no namespace", connection.nqn))?;
    settle();
    shown().context("the namespace went away")
}

/// Returns the commands of nvme-cli that connect, and that assign the namespace's block device to
/// the shell variable `out`.
pub fn connect_by_hand(connection: &ConnectNvmf, out: &str) -> Vec<String> {
    let ConnectNvmf { nqn, transport, host_nqn, host_id, .. } = connection;
    let mut words = ["nvme", "connect", "-n", nqn, "-t", transport].map(str::to_owned).to_vec();
    if let Some((address, service)) = connection.at {
        words.extend(["-a".to_owned(), address.to_string(), "-s".to_owned(), service.to_string()]);
    }
    words.extend(["--hostnqn", host_nqn, "--hostid", host_id].map(str::to_owned));
    // nvme-cli's options are the kernel's, with dashes.
    words.extend(connection.options.iter().map(|option| match option.split_once('=') {
        Some((name, value)) => format!("--{}={value}", name.replace('_', "-")),
        None => format!("--{}", option.replace('_', "-")),
    }));
    let name = shell::quote_word(nqn);
    vec![
        format!("modprobe {}", shell::quote_word(&format!("nvme-{transport}"))),
        shell::quote_line(words),
        "udevadm settle".to_owned(),
        format!(
            "{out}=/dev/$(basename $(dirname $(grep -lx {name} /sys/class/nvme-subsystem/*/subsysnqn))/nvme*n*)"
        ),
    ]
}

fn ask_kernel(words: &str) -> Result<()> {
    let mut fabrics = fs::OpenOptions::new().read(true).write(true).open("/dev/nvme-fabrics")?;
    fabrics.write_all(words.as_bytes()).with_context(|| format!("\"{words}\""))?;
    // The answer is the number of the new controller, which the NQN identifies just as well;
    // whoever does not read it has not connected.
    let length = fabrics.read(&mut [0; 256])?;
    ensure!(length > 0, "the kernel reports no controller");
    Ok(())
}

pub fn device(probe: &Probe, nqn: &str) -> Option<PathBuf> {
    // The subsystem's own where several ways to it are one device, else the controller's
    // (nvme_core.multipath=N).
    let folders = of_nqn(probe, "/sys/class/nvme-subsystem", nqn).chain(of_nqn(
        probe,
        "/sys/class/nvme",
        nqn,
    ));
    let mut names =
        folders.flat_map(|folder| probe.folder_names(folder)).filter(|name| is_namespace(name));
    names.next().map(|name| Path::new("/dev").join(name))
}

/// Returns true for `nvme3n1`, and false for the controller `nvme3` and for the hidden path
/// `nvme3c3n1`.
fn is_namespace(name: &str) -> bool {
    let numbers = name.strip_prefix("nvme").and_then(|rest| rest.split_once('n'));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|(subsystem, namespace)| digits(subsystem) && digits(namespace))
}

pub fn controllers(probe: &Probe, nqn: &str) -> Vec<PathBuf> {
    of_nqn(probe, "/sys/class/nvme", nqn).collect()
}

/// Reads settings of the first controller that is connected to a subsystem, by the kernel's names:
/// what both ends agreed on, which may be less than was asked for. Empty if there is no controller.
pub fn settings_of(probe: &Probe, nqn: &str) -> ThingSettings {
    let names = ["transport", "address", "queue_count", "sqsize", "kato", "reconnect_delay"];
    let first = controllers(probe, nqn).into_iter().next();
    first.map(|controller| settings::files(probe, &controller, &names)).unwrap_or_default()
}

/// Describes each of the options `nr_io_queues` and `queue_size` of which the target granted less
/// than was requested.
pub fn falls_short(probe: &Probe, nqn: &str, options: &[String]) -> Vec<String> {
    let settings = settings_of(probe, nqn);
    // One queue is for administration, and a queue's size is counted from 0.
    let given = |name: &str| -> Option<u64> {
        match name {
            "nr_io_queues" => settings.get("queue_count")?.parse::<u64>().ok()?.checked_sub(1),
            "queue_size" => Some(settings.get("sqsize")?.parse::<u64>().ok()? + 1),
            _ => None,
        }
    };
    let asked = options.iter().filter_map(|option| option.split_once('='));
    let short =
        asked.filter_map(|(name, asked)| Some((name, asked.parse::<u64>().ok()?, given(name)?)));
    short
        .filter(|(_, asked, given)| given < asked)
        .map(|(name, asked, given)| {
            format!("{nqn}: {name} {asked} was asked for, and it is {given}")
        })
        .collect()
}

fn of_nqn<'a>(
    probe: &'a Probe,
    class: &'static str,
    nqn: &'a str,
) -> impl Iterator<Item = PathBuf> + 'a {
    let folders =
        probe.folder_names(class).into_iter().map(move |name| Path::new(class).join(name));
    folders
        .filter(move |folder| probe.read_trimmed(folder.join("subsysnqn")).as_deref() == Some(nqn))
}

/// Deletes all controllers that are connected to a subsystem.
///
/// # Errors
/// If the kernel refuses, or a controller is still there after 30 s.
pub fn disconnect(nqn: &str) -> Result<()> {
    let probe = Probe::of_files(Path::new("/"));
    for controller in controllers(&probe, nqn) {
        let deleted = write_sysfs(&controller.join("delete_controller"), "1");
        // It may have gone by itself meanwhile.
        if controller.exists() {
            deleted?;
        }
    }
    wait_until(Duration::from_secs(30), || controllers(&probe, nqn).is_empty())
        .with_context(|| format!("a controller of {nqn} stays"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_host::made_up::server;

    #[test]
    fn the_kernel_is_told_whom_to_connect_to() {
        let connection = ConnectNvmf {
            nqn: "nqn.x:run-nvmf0".into(),
            transport: "tcp".into(),
            at: Some(("10.0.0.1".parse().unwrap(), 4420)),
            host_nqn: "nqn.h".into(),
            host_id: "1-2".into(),
            options: vec!["nr_io_queues=2".to_owned(), "hdr_digest".to_owned()],
        };
        let expected = "nqn=nqn.x:run-nvmf0,transport=tcp,traddr=10.0.0.1,trsvcid=4420,hostnqn=nqn.h,hostid=1-2,nr_io_queues=2,hdr_digest";
        assert_eq!(connect_words(&connection), expected);
        let inside =
            ConnectNvmf { transport: "loop".into(), at: None, options: Vec::new(), ..connection };
        assert_eq!(
            connect_words(&inside),
            "nqn=nqn.x:run-nvmf0,transport=loop,hostnqn=nqn.h,hostid=1-2"
        );
    }

    #[test]
    fn fewer_queues_than_were_asked_for_are_told() {
        let machine = server();
        let controller = "/sys/class/nvme/nvme3";
        for (name, value) in [
            ("subsysnqn", "nqn.x:run"),
            ("transport", "tcp"),
            ("queue_count", "3"),
            ("sqsize", "127"),
        ] {
            machine.put(&[(&format!("{controller}/{name}"), &format!("{value}\n"))]);
        }
        let short = |options: &[&str]| {
            let options: Vec<String> = options.iter().map(|option| (*option).to_owned()).collect();
            falls_short(&machine.probe, "nqn.x:run", &options)
        };
        assert_eq!(
            short(&["nr_io_queues=4"]),
            ["nqn.x:run: nr_io_queues 4 was asked for, and it is 2"]
        );
        assert_eq!(
            short(&["queue_size=1024"]),
            ["nqn.x:run: queue_size 1024 was asked for, and it is 128"]
        );
        assert!(short(&["nr_io_queues=2", "queue_size=128", "hdr_digest"]).is_empty());
        assert_eq!(settings_of(&machine.probe, "nqn.x:run")["transport"], "tcp");
        assert!(settings_of(&machine.probe, "nqn.x:other").is_empty());
    }

    /// As a kernel 6.1 showed it.
    #[test]
    fn a_namespace_is_found_by_the_nqn_of_its_subsystem() {
        let machine = server();
        let (subsystem, controller) =
            ("/sys/class/nvme-subsystem/nvme-subsys3", "/sys/class/nvme/nvme3");
        for folder in [subsystem, controller] {
            machine.put(&[(&format!("{folder}/subsysnqn"), "nqn.x:run-nvmf0\n")]);
        }
        machine.put(&[("/sys/class/nvme/nvme0/subsysnqn", "nqn.2019-08.org.qemu:nvme0\n")]);
        machine.put(&[("/sys/class/nvme/nvme0/nvme0n1/size", "8\n")]);
        let found = |nqn: &str| device(&machine.probe, nqn);
        assert_eq!(found("nqn.x:run-nvmf0"), None, "it has none yet");
        machine.put(&[
            (&format!("{controller}/nvme3c3n1/size"), "8\n"),
            (&format!("{subsystem}/ng3n1/dev"), "1:1\n"),
        ]);
        assert_eq!(found("nqn.x:run-nvmf0"), None);
        machine.put(&[(&format!("{subsystem}/nvme3n1/size"), "8\n")]);
        assert_eq!(found("nqn.x:run-nvmf0"), Some("/dev/nvme3n1".into()));
        assert_eq!(
            found("nqn.2019-08.org.qemu:nvme0"),
            Some("/dev/nvme0n1".into()),
            "without multipath"
        );
        assert_eq!(found("nqn.x:run-nvmf"), None);
        assert_eq!(controllers(&machine.probe, "nqn.x:run-nvmf0"), [PathBuf::from(controller)]);
        assert!(
            is_namespace("nvme12n34")
                && !is_namespace("nvme3")
                && !is_namespace("nvmen1")
                && !is_namespace("nvme1n1p1")
        );
    }
}
