//! The table of what each host may write, and of the devices that differ by host:
//!
//! ```toml
//! [node1]
//! destroy = ["serial=S1", "serial=S2,wipe=gpt"]
//! device = ["drive=/dev/disk/by-id/nvme-Example_S1"]
//! ```

use crate::host_look::{HostDrive, HostLook};
use crate::inventory::first_names;
use iotax_model::scenario::Consent;
use iotax_model::scenario::check::parse_consent;
use iotax_sys::regular::read_text;
use iotax_units::exit::{Failed, unreadable};
use iotax_units::show_bytes;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What a host may write, and its devices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ConsentRow {
    /// Consents, as `--destroy` takes them.
    pub destroy: Vec<String>,
    /// `NAME=MEDIUM`, as `--device` takes them.
    pub device: Vec<String>,
}

/// Rows by the names of hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConsentTable {
    /// File that it is from.
    path: PathBuf,
    pub rows: BTreeMap<String, ConsentRow>,
}

impl ConsentTable {
    /// Reads a table.
    ///
    /// # Errors
    /// Bad input, with file, line and key.
    pub fn read(path: &Path) -> Result<ConsentTable, Failed> {
        let shown = path.display();
        let text = read_text(path).map_err(|error| {
            let hint = "hint: iotax fleet drives makes such a table";
            let why = unreadable(&error)
                .map_or_else(|| error.to_string(), |why| format!("{why}; {hint}"));
            Failed::input(format!("cannot read the consents {shown}: {why}"))
        })?;
        let rows: BTreeMap<String, ConsentRow> = toml::from_str(&text).map_err(|error| {
            let at = error
                .span()
                .map_or(0, |span| text[..span.start.min(text.len())].matches('\n').count());
            let hint = "hint: [HOST] with destroy = [\"serial=S\"] and device = [\"NAME=MEDIUM\"]";
            Failed::input(format!("{shown}:{}: {}; {hint}", at + 1, error.message()))
        })?;
        let table = ConsentTable { path: path.to_owned(), rows };
        table.check().map_err(|why| Failed::input(format!("{shown}: {why}")))?;
        Ok(table)
    }

    /// Checks every consent, and that no drive is named for two hosts.
    fn check(&self) -> Result<(), String> {
        let mut owners: BTreeMap<String, &str> = BTreeMap::new();
        for (host, row) in &self.rows {
            for text in &row.destroy {
                let consent = parse_consent(text).map_err(|fault| match fault.hint {
                    Some(hint) => format!("[{host}] destroy: {}; hint: {hint}", fault.why),
                    None => format!("[{host}] destroy: {}", fault.why),
                })?;
                let serial = iotax_host::block::bare_wwn(&consent.serial).to_owned();
                if let Some(other) = owners.insert(serial, host).filter(|other| other != host) {
                    return Err(format!(
                        "the drive {} is named for {other} and for {host}: a drive is written by one host only; hint: remove it \
                         from one of them",
                        consent.serial
                    ));
                }
            }
        }
        Ok(())
    }

    /// Checks that the table and the fleet have the same hosts.
    ///
    /// # Errors
    /// Bad input: names the hosts that only one of them has.
    pub fn check_hosts<'a>(&self, hosts: impl Iterator<Item = &'a str>) -> Result<(), Failed> {
        let hosts: BTreeSet<&str> = hosts.collect();
        let own: BTreeSet<&str> = self.rows.keys().map(String::as_str).collect();
        let unknown: Vec<&str> = own.difference(&hosts).copied().collect();
        let without: Vec<&str> = hosts.difference(&own).copied().collect();
        if !unknown.is_empty() {
            return Err(Failed::input(format!(
                "{} has rows for hosts that are not chosen: {}; hint: remove the rows, or choose the hosts with --hosts and --limit",
                self.path.display(),
                first_names(unknown)
            )));
        }
        if !without.is_empty() {
            let hint = "hint: add a row for each, [HOST] without drives if it may write none, or leave it out with --limit";
            let table = self.path.display();
            return Err(Failed::input(format!(
                "{table} has no row for {}; {hint}",
                first_names(without)
            )));
        }
        Ok(())
    }
}

/// Returns the row of a host with all of its drives commented out.
pub fn row_of_drives(host: &str, drives: &[HostDrive]) -> String {
    let (mut destroy, mut device) = (String::new(), String::new());
    for (at, drive) in drives.iter().enumerate() {
        let is_shared = drives.iter().filter(|other| other.serial == drive.serial).count() > 1;
        let own = drive.serial.as_deref().filter(|_| !is_shared || drive.wwn.is_none());
        let serial = format!("serial={}", own.or(drive.wwn.as_deref()).unwrap_or_default());
        let model = drive.model.as_deref().unwrap_or("unknown model");
        let in_use = drive.in_use.as_ref().map(|why| format!(", IN USE {why}"));
        let in_use = in_use.unwrap_or_default();
        let size = show_bytes(drive.bytes);
        destroy += &format!("  # {serial:?},  # {}, {model}, {size}{in_use}\n", drive.path);
        let path = drive.by_id.as_ref().unwrap_or(&drive.path);
        device += &format!("  # {:?},\n", format!("drive{}={path}", at + 1));
    }
    format!("[{host}]\ndestroy = [\n{destroy}]\ndevice = [\n{device}]\n")
}

/// Consents of two hosts that mean one drive, found when both hosts reported their drives.
pub fn shared_drive(
    looks: &[(String, Vec<Consent>, HostLook)],
) -> Option<(String, String, String)> {
    let mut owners: BTreeMap<String, (String, String)> = BTreeMap::new();
    for (host, consents, look) in looks {
        for consent in consents {
            let drive = look.drives.iter().find(|drive| drive.is_named(&consent.serial));
            let Some(wwn) = drive.and_then(|drive| drive.wwn.as_deref()) else { continue };
            let wwn = iotax_host::block::bare_wwn(wwn).to_owned();
            let own = (host.clone(), consent.serial.clone());
            if let Some((other, serial)) =
                owners.insert(wwn, own).filter(|(other, _)| other != host)
            {
                return Some((other, host.clone(), serial));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host_look::MachineIdentity;

    fn consent(serial: &str) -> Consent {
        Consent { serial: serial.into(), wipe: Vec::new(), unseen: Vec::new() }
    }

    fn look(serial: &str, wwn: &str) -> HostLook {
        let drive = HostDrive {
            path: "/dev/sdb".into(),
            serial: Some(serial.into()),
            wwn: Some(wwn.into()),
            ..HostDrive::default()
        };
        HostLook { drives: vec![drive], ..HostLook::default() }
    }

    #[test]
    fn a_drive_with_two_paths_is_found_by_its_wwn() {
        // A dual-ported drive, whose serial one host reads otherwise.
        let of_host =
            |host: &str, named: &str, look: HostLook| (host.to_owned(), vec![consent(named)], look);
        let one = || of_host("n1", "S1", look("S1", "naa.5000c500a1b2c3d4"));
        let other = of_host("n2", "0x5000c500a1b2c3d4", look("S1B", "naa.5000c500a1b2c3d4"));
        let found = shared_drive(&[one(), other]).unwrap();
        assert_eq!((found.0.as_str(), found.1.as_str()), ("n1", "n2"));
        assert_eq!(
            shared_drive(&[one(), of_host("n2", "S2", look("S2", "naa.5000c500a1b2c3d5"))]),
            None
        );
        // One host may see a drive that another one writes.
        let seen = ("n2".to_owned(), Vec::new(), look("S1", "naa.5000c500a1b2c3d4"));
        assert_eq!(shared_drive(&[one(), seen]), None);
    }

    #[test]
    fn a_consent_names_a_drive_of_the_host_by_serial_or_wwn() {
        let look = look("S1", "naa.5000c500a1b2c3d4");
        let consents = ["S1", "naa.5000c500a1b2c3d4", "S2"].map(consent);
        assert_eq!(look.missing_drives(&consents), ["S2"]);
    }

    #[test]
    fn a_row_of_drives_is_a_row_of_the_table() {
        let drives = [
            HostDrive {
                model: Some("Example \"X\"".into()),
                by_id: Some("/dev/disk/by-id/nvme-Example_S1".into()),
                in_use: Some("mounted at /srv".into()),
                bytes: 4 << 40,
                ..look("S1", "naa.5000c500a1b2c3d4").drives[0].clone()
            },
            HostDrive {
                serial: Some("S2".into()),
                path: "/dev/sdc".into(),
                ..HostDrive::default()
            },
        ];
        let row = row_of_drives("n1", &drives);
        assert!(
            row.contains("# /dev/sdb, Example \"X\", 4 TiB, IN USE mounted at /srv\n"),
            "{row}"
        );
        let read = |text: &str| toml::from_str::<BTreeMap<String, ConsentRow>>(text).unwrap();
        assert_eq!(read(&row)["n1"], ConsentRow::default());
        let given = read(&row.replace("  # \"", "  \""));
        assert_eq!(given["n1"].destroy, ["serial=S1", "serial=S2"]);
        let devices = ["drive1=/dev/disk/by-id/nvme-Example_S1", "drive2=/dev/sdc"];
        assert_eq!(given["n1"].device, devices);
    }

    #[test]
    fn one_boot_and_one_folder_are_one_host() {
        let identity = |boot: &str, inode: u64| MachineIdentity {
            boot_id: Some(boot.into()),
            folder: Some((1, inode)),
            ..MachineIdentity::default()
        };
        assert!(identity("a", 7).is_same_host(&identity("a", 7)));
        assert!(!identity("a", 7).is_same_host(&identity("b", 7)), "a home that two hosts share");
        assert!(!identity("a", 7).is_same_host(&identity("a", 8)));
        let elsewhere = MachineIdentity { folder_path: Some("/b".into()), ..identity("a", 7) };
        assert!(!elsewhere.is_same_host(&identity("a", 7)), "an inode that was used again");
        assert!(!MachineIdentity::default().is_same_host(&MachineIdentity::default()));
    }
}
