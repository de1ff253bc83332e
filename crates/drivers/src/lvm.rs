//! Makes and removes one LVM volume group of a run: its physical volumes, the group and the volumes
//! in it. LVM's commands see no other devices than the members, nothing is written to its devices
//! file, its backups or its archive, no daemon monitors the group, and no other boot activates it.
//! Ours is recognised by the UUIDs of its physical volumes, which are derived from the run's id.

use super::settings::{self, ThingSettings};
use super::tool::{output, tool};
use crate::refusal::{NotOurs, NothingMade};
use crate::tool::run_tool;
use crate::wait::wait_until;
use anyhow::{Context, Result, anyhow};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub const VOLUME: &str = "data";

/// Settings for every command of LVM: logical volumes may be members, nothing is discarded on the
/// devices below, no backup or archive is left, and dmeventd is not started.
const CONFIG: &str = "devices { scan_lvs=1 issue_discards=0 } backup { backup=0 archive=0 } activation { monitoring=0 }";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeGroup<'a> {
    pub run_id: &'a str,
    pub name: &'a str,
    pub members: Vec<&'a Path>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Physical {
    device: PathBuf,
    /// Name of its volume group; empty if it is in none.
    group: String,
}

impl VolumeGroup<'_> {
    /// Returns the UUID of a physical volume, which is derived from the run's id, the group's name
    /// and the number of the volume.
    pub fn uuid(&self, number: usize) -> String {
        let part = |salt: usize| {
            let text = format!("{salt} {} {} {number}", self.run_id, self.name);
            format!("{:08x}", crc32fast::hash(text.as_bytes()))
        };
        let all = format!("iotaxP{}", (0..4).map(part).collect::<String>());
        let cuts = [(0, 6), (6, 10), (10, 14), (14, 18), (18, 22), (22, 26), (26, 32)];
        cuts.map(|(from, to)| &all[from..to]).join("-")
    }

    /// Makes physical volumes of `bytes` each and the group, and runs the commands `volumes`, each
    /// the arguments of one `lvm` call. Returns the device of the volume [`VOLUME`].
    ///
    /// # Errors
    /// [`NothingMade`] if the group's name is taken or LVM has no `--devices`. Fails too if a
    /// member is not there, a command fails, or the device does not appear.
    pub fn make_group(&self, bytes: u64, volumes: &[Vec<String>]) -> Result<PathBuf> {
        let node = self.node();
        if node.parent().is_some_and(Path::exists) {
            return Err(
                anyhow!("there is a volume group {} already", self.name).context(NothingMade)
            );
        }
        sees_named_devices()?;
        let devices = self.present();
        for (number, member) in self.members.iter().enumerate() {
            let device = member
                .canonicalize()
                .with_context(|| format!("cannot look at {}", member.display()))?;
            self.run_lvm(&devices, &physical_words(&self.uuid(number), bytes, &device))
                .map_err(with_hint)?;
        }
        let names = devices.iter().map(|device| device.display().to_string());
        let group =
            ["vgcreate", "--setautoactivation", "n", "--physicalextentsize", "4m", self.name];
        self.run_lvm(
            &devices,
            &group.into_iter().map(str::to_owned).chain(names).collect::<Vec<_>>(),
        )?;
        for words in volumes {
            self.run_lvm(&devices, words)?;
        }
        wait_until(Duration::from_secs(30), || node.exists())
            .with_context(|| format!("{} does not appear", node.display()))?;
        node.canonicalize().with_context(|| format!("cannot look at {}", node.display()))
    }

    /// Returns `Some` if a physical volume of the group exists, with the device of the volume
    /// [`VOLUME`] if that exists.
    ///
    /// # Errors
    /// If `lvm pvs` fails.
    pub fn find_volume(&self) -> Result<Option<Option<PathBuf>>> {
        Ok((!self.labelled_volumes()?.is_empty()).then(|| self.node().canonicalize().ok()))
    }

    /// Removes the group, even if parts of it are missing, and its physical volumes.
    ///
    /// # Errors
    /// [`NotOurs`] if one of the physical volumes is in another group. Fails too if LVM does, as
    /// when a volume is in use.
    pub fn remove_group(&self) -> Result<()> {
        let ours = self.labelled_volumes()?;
        let all = self.present();
        if let Some(other) = ours.iter().find(|one| !one.group.is_empty() && one.group != self.name)
        {
            return Err(NotOurs(format!(
                "{} is in the volume group {} now: left alone",
                other.device.display(),
                other.group
            ))
            .into());
        }
        let words = |words: &[&str]| {
            words.iter().chain(&[self.name]).map(|word| (*word).to_owned()).collect()
        };
        let within = ours.iter().filter(|one| one.group == self.name).count();
        if within > 0 {
            if within < self.members.len() {
                let rest: Vec<String> = words(&["vgreduce", "--removemissing", "--force"]);
                self.run_lvm(&all, &rest)?;
            }
            let remove: Vec<String> = words(&["vgremove", "--force", "--force"]);
            self.run_lvm(&all, &remove)?;
        }
        if ours.is_empty() {
            return Ok(());
        }
        let devices = ours.iter().map(|one| one.device.display().to_string());
        self.run_lvm(
            &all,
            &std::iter::once("pvremove".to_owned()).chain(devices).collect::<Vec<_>>(),
        )
    }

    pub fn node(&self) -> PathBuf {
        Path::new("/dev").join(self.name).join(VOLUME)
    }

    fn present(&self) -> Vec<PathBuf> {
        present(&self.members)
    }

    fn labelled_volumes(&self) -> Result<Vec<Physical>> {
        let devices = self.present();
        if devices.is_empty() {
            return Ok(Vec::new());
        }
        let known: Vec<String> = (0..self.members.len()).map(|number| self.uuid(number)).collect();
        let words = ["pvs", "--reportformat", "json", "-o", "pv_name,pv_uuid,vg_name"];
        match run_tool(&mut command(&devices, &words.map(str::to_owned))) {
            Ok(text) => physical_of(&text, &known),
            // Then nothing was made either.
            Err(error) if is_too_old(&format!("{error:#}")) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    fn run_lvm(&self, devices: &[PathBuf], words: &[String]) -> Result<()> {
        run_tool(&mut command(devices, words)).map(drop)
    }
}

/// Returns the members that exist, by the kernel's names. After a reboot, loop devices do not.
fn present(members: &[&Path]) -> Vec<PathBuf> {
    members.iter().filter_map(|member| member.canonicalize().ok()).collect()
}

/// Reads settings of the volumes of a group on these members, by the names of `lvs`'s fields.
///
/// # Errors
/// If `lvm lvs` fails, or its report is not understood.
pub fn settings_of(group: &str, members: &[&Path]) -> Result<ThingSettings> {
    let fields =
        "lv_name,segtype,stripes,stripe_size,chunk_size,zero,discards,cache_mode,cache_policy";
    let words = [
        "lvs",
        "--all",
        "--reportformat",
        "json",
        "--units",
        "b",
        "--nosuffix",
        "-o",
        fields,
        group,
    ];
    settings::volumes(
        &run_tool(&mut command(&present(members), &words.map(str::to_owned)))?,
        VOLUME,
    )
}

/// Returns the arguments of `lvm` that make a physical volume of `bytes` on a device.
fn physical_words(uuid: &str, bytes: u64, device: &Path) -> Vec<String> {
    let words = ["pvcreate", "--norestorefile", "--uuid", uuid, "--setphysicalvolumesize"];
    let rest = [format!("{bytes}b"), device.display().to_string()];
    words.into_iter().map(str::to_owned).chain(rest).collect()
}

/// Checks that LVM can be limited to named devices, before anything is written.
fn sees_named_devices() -> Result<()> {
    let help = output(&mut tool("lvm", ["help", "pvcreate"]))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if has_devices_option(&(text(&help.stdout) + &text(&help.stderr))) {
        return Ok(());
    }
    let old = anyhow!(
        "this LVM cannot be limited to named devices (it has no --devices) and would look at all devices; hint: LVM 2.03.12 or newer, \
         as of Debian 12, Ubuntu 24.04 and RHEL 9"
    );
    Err(old.context(NothingMade))
}

fn has_devices_option(help: &str) -> bool {
    help.split_whitespace().any(|word| word == "--devices")
}

fn is_too_old(words: &str) -> bool {
    ["unrecognised option", "unrecognized option"].iter().any(|complaint| words.contains(complaint))
}

fn command(devices: &[PathBuf], words: &[String]) -> Command {
    let seen: Vec<String> = devices.iter().map(|device| device.display().to_string()).collect();
    let mut command = tool("lvm", [""; 0]);
    command.env("LVM_SUPPRESS_FD_WARNINGS", "1");
    command.args(words.first()).args(["--yes", "--config", CONFIG, "--devices", &seen.join(",")]);
    command.args(words.iter().skip(1));
    command
}

/// Adds a hint to LVM's error if the member is in a volume group or LVM is too old: LVM does not
/// say what to do then.
fn with_hint(error: anyhow::Error) -> anyhow::Error {
    let text = format!("{error:#}");
    let hint = match () {
        () if text.contains("without -ff") => {
            "it is in a volume group, which is never forced: vgremove or vgreduce that one first"
        }
        () if is_too_old(&text) => "LVM 2.03.12 or newer",
        () => return error,
    };
    anyhow!("{text}; hint: {hint}")
}

#[derive(Deserialize)]
struct Report {
    report: Vec<LvmField>,
}

#[derive(Deserialize)]
struct LvmField {
    pv: Vec<LvmRow>,
}

#[derive(Deserialize)]
struct LvmRow {
    pv_name: PathBuf,
    pv_uuid: String,
    vg_name: String,
}

/// Parses a report of `pvs` and returns the physical volumes with a known UUID. Leaves out missing
/// ones, which have a word (`[unknown]`) in place of a device.
fn physical_of(text: &str, known: &[String]) -> Result<Vec<Physical>> {
    let report: Report =
        serde_json::from_str(text).context("cannot understand what lvm pvs reports")?;
    let rows = report.report.into_iter().flat_map(|part| part.pv);
    let ours = rows.filter(|row| known.contains(&row.pv_uuid) && row.pv_name.is_absolute());
    Ok(ours.map(|row| Physical { device: row.pv_name, group: row.vg_name }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group() -> VolumeGroup<'static> {
        VolumeGroup {
            run_id: "r",
            name: "iotax-r-lvm0",
            members: vec![Path::new("/dev/a"), Path::new("/dev/b")],
        }
    }

    #[test]
    fn uuids_are_lvms_and_each_of_one_run_group_and_number() {
        let of = |run_id, name| VolumeGroup { run_id, name, members: Vec::new() };
        let all = [
            group().uuid(0),
            group().uuid(1),
            of("s", "iotax-r-lvm0").uuid(0),
            of("r", "x").uuid(0),
        ];
        for uuid in &all {
            let parts: Vec<usize> = uuid.split('-').map(str::len).collect();
            assert_eq!(parts, [6, 4, 4, 4, 4, 4, 6], "{uuid}");
            assert!(uuid.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{uuid}");
        }
        let different: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len());
        assert_eq!(group().uuid(1), all[1], "the same after a kill");
    }

    #[test]
    fn every_command_sees_the_members_only_and_leaves_nothing_elsewhere() {
        let devices = ["/dev/nvme0n1", "/dev/nvme1n1"].map(PathBuf::from);
        let words = physical_words("UUID", 1 << 27, &devices[0]);
        let command = command(&devices, &words);
        let words: Vec<_> = command.get_args().map(|word| word.to_str().unwrap()).collect();
        assert_eq!(
            words,
            [
                "pvcreate",
                "--yes",
                "--config",
                CONFIG,
                "--devices",
                "/dev/nvme0n1,/dev/nvme1n1",
                "--norestorefile",
                "--uuid",
                "UUID",
                "--setphysicalvolumesize",
                "134217728b",
                "/dev/nvme0n1"
            ]
        );
        for setting in ["issue_discards=0", "backup=0", "archive=0", "monitoring=0"] {
            assert!(CONFIG.contains(setting), "{setting}");
        }
    }

    /// As LVM 2.03.16 reported it in a lab.
    #[test]
    fn of_all_physical_volumes_those_with_our_uuids_are_ours() {
        let text = r#"
  {
      "report": [
          {
              "pv": [
                  {"pv_name":"/dev/nvme0n1", "pv_uuid":"iotax0-run1-aaaa-bbbb-cccc-dddd-eeee00", "vg_name":"iotax-r-lvm0"},
                  {"pv_name":"/dev/nvme1n1", "pv_uuid":"iotax0-run1-aaaa-bbbb-cccc-dddd-eeee01", "vg_name":""},
                  {"pv_name":"/dev/nvme2n1", "pv_uuid":"h8RSvz-6gPd-IB5A-P6Ct-RUZy-bJ1B-Xk9Nqw", "vg_name":"system"}
              ]
          }
      ]
  }
"#;
        let known =
            ["iotax0-run1-aaaa-bbbb-cccc-dddd-eeee00", "iotax0-run1-aaaa-bbbb-cccc-dddd-eeee01"];
        let ours = physical_of(text, &known.map(str::to_owned)).unwrap();
        let of =
            |device: &str, group: &str| Physical { device: device.into(), group: group.into() };
        assert_eq!(ours, [of("/dev/nvme0n1", "iotax-r-lvm0"), of("/dev/nvme1n1", "")]);
        assert_eq!(physical_of(r#"{"report":[{"pv":[]}]}"#, &[]).unwrap(), []);
        assert!(physical_of("lvm is not itself", &[]).is_err());
    }

    #[test]
    fn a_physical_volume_that_is_missing_is_none_that_is_there() {
        let text = r#"{"report":[{"pv":[
            {"pv_name":"/dev/nvme0n1", "pv_uuid":"A", "vg_name":"iotax-r-lvm0"},
            {"pv_name":"[unknown]", "pv_uuid":"B", "vg_name":"iotax-r-lvm0"}]}]}"#;
        let ours = physical_of(text, &["A", "B"].map(str::to_owned)).unwrap();
        assert_eq!(
            ours.iter().map(|one| one.device.as_path()).collect::<Vec<_>>(),
            [Path::new("/dev/nvme0n1")]
        );
    }

    #[test]
    fn an_lvm_that_cannot_be_told_its_devices_is_known_before_and_after() {
        // As those of Debian 11 and 12 say.
        assert!(!has_devices_option(
            "\t[    --dataalignment Size[k|UNIT] ]\n\t[    --devicesfile String ]\n"
        ));
        assert!(has_devices_option("\t[    --commandprofile String ]\n\t[    --devices PV ]\n"));
        assert!(is_too_old(
            "pvs: unrecognized option '--devices'\n  Error during parsing of command line."
        ));
    }

    #[test]
    fn a_member_that_another_group_has_is_never_forced() {
        let error = with_hint(anyhow!(
            "failed: Can't initialize physical volume \"/dev/a\" of volume group \"system\" without -ff"
        ));
        assert!(error.to_string().contains("hint: it is in a volume group"), "{error}");
        assert_eq!(with_hint(anyhow!("x")).to_string(), "x");
    }

    #[test]
    fn members_that_are_gone_took_all_of_it_along() {
        // Neither of the two is there, so LVM is not even asked.
        assert_eq!(group().find_volume().unwrap(), None);
        group().remove_group().unwrap();
        assert_eq!(group().node(), Path::new("/dev/iotax-r-lvm0/data"));
    }
}
