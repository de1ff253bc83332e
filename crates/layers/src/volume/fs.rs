//! `fs(xfs)`, `fs(ext4)`, `fs(btrfs)`: a file system made on a block device of ours (btrfs: on
//! several), mounted, with one file on it that is filled before it is measured.

use super::{file_on, options_of};
use crate::{Claim, ExposedDevice, Layer, PlanContext, needs, optional_bytes, required_word};
use anyhow::{Result, ensure};
use iotax_facts::place::Place;
use iotax_model::layer::LayerHelp;
use iotax_model::layer::fs::HELP;
use iotax_model::stack::LayerSpec;
use iotax_steps::op::{MakeFilesystem, Mount, Op};
use iotax_units::{KIB, MIB, show_bytes};

/// Options, each with the types of file system that it applies to.
const TYPES: &[(&str, &[&str])] =
    &[("block-size", &["xfs", "ext4"]), ("data", &["btrfs"]), ("metadata", &["btrfs"])];

/// Least bytes of all devices together. mkfs.xfs refuses less than 300 MB, and a 64 MiB log has to
/// leave room for the file.
const LEAST_BYTES: u64 = 512 * MIB;

/// Bytes for metadata: xfs's smallest log is 64 MiB; the rest is for inodes and allocation groups.
const METADATA_BYTES: u64 = 96 * MIB;

/// Largest block size. The kernel mounts no file system with a block larger than a page of memory.
const LARGEST_BLOCK: u64 = 4 * KIB;

/// A file system made by mkfs, mounted, with one file.
pub struct FileSystem;

impl Layer for FileSystem {
    fn help(&self) -> &'static LayerHelp {
        &HELP
    }

    fn needs(&self, spec: &LayerSpec) -> Vec<&'static str> {
        required_word(spec, "type").ok().and_then(mkfs_need).into_iter().chain(["root"]).collect()
    }

    fn claim(&self, _: &LayerSpec) -> Claim {
        Claim::Writes
    }

    fn writes_below(&self, _: &LayerSpec) -> bool {
        true
    }

    fn plan(
        &self,
        spec: &LayerSpec,
        below: &ExposedDevice,
        context: &mut PlanContext,
    ) -> Result<ExposedDevice> {
        let kind = required_word(spec, "type")?;
        ensure!(
            mkfs_need(kind).is_some(),
            "{}: fs({kind}): no program is known that makes it",
            spec.origin
        );
        ensure!(
            below.block,
            "{}: fs({kind}) needs a block device below it; hint: put loop between",
            spec.origin
        );
        let members = below.paths.len() as u64;
        let (device, others) = match kind {
            "btrfs" => (&below.paths[0], &below.paths[1..]),
            _ => (below.only_path(spec)?, &[][..]),
        };
        let all = below.bytes.saturating_mul(members);
        ensure!(
            all >= LEAST_BYTES,
            "{}: fs({kind}) needs at least {} below it, there are {}; hint: {}",
            spec.origin,
            show_bytes(LEAST_BYTES),
            show_bytes(all),
            larger(&below.place)
        );
        let options = mkfs_options(spec, members)?;
        let bytes = file_bytes(all, spec);
        let make = MakeFilesystem {
            kind: kind.into(),
            device: device.clone(),
            others: others.to_vec(),
            label: label_of(&context.tag.run_id),
            options,
        };
        context.add_step(format!("make the {kind} file system"), Op::MakeFilesystem(make));
        let instance = context.instance("fs");
        let mount = Mount::without_atime(device.clone(), context.directory().join(instance), kind);
        let relatime = required_word(spec, "mount")? == "relatime";
        let path = file_on(context, Mount { relatime, others: others.to_vec(), ..mount }, bytes);
        Ok(ExposedDevice {
            paths: vec![path],
            bytes,
            block: false,
            writable: context.writable,
            unwritten: None,
            ..below.clone()
        })
    }
}

/// Returns the id of the need of the program that makes a type of file system. `None` for a type
/// without one, which is refused.
fn mkfs_need(kind: &str) -> Option<&'static str> {
    needs::by_id(&format!("mkfs.{kind}")).map(|need| need.id)
}

/// Returns the hint for a device that is too small. In a lab, it names the setting for drives.
fn larger(place: &Place) -> &'static str {
    match place {
        Place::Host | Place::Ssh(_) => "a larger drive or file at the bottom",
        Place::Guest(_) => {
            "larger drives at the bottom; those of a lab by --lab drive_size=1GiB, or drive_size in [place.NAME]"
        }
    }
}

fn mkfs_options(spec: &LayerSpec, members: u64) -> Result<Vec<String>> {
    options_of(spec, "type", TYPES)?;
    let kind = required_word(spec, "type")?;
    let mut words: Vec<String> = Vec::new();
    if let Some(bytes) = block_size(spec)? {
        let word = if kind == "xfs" { format!("size={bytes}") } else { bytes.to_string() };
        words.extend(["-b".to_owned(), word]);
    }
    if kind == "btrfs" {
        let metadata = spec.option("metadata").unwrap_or(if members > 1 { "raid1" } else { "dup" });
        for (name, profile) in [("data", required_word(spec, "data")?), ("metadata", metadata)] {
            let least = least_members(profile);
            ensure!(
                members >= least,
                "{}: {name}={profile} takes {least} devices or more, got {members}; hint: name more media, or {name}=single",
                spec.origin
            );
            words.extend([format!("--{name}"), profile.to_owned()]);
        }
    }
    Ok(words)
}

fn block_size(spec: &LayerSpec) -> Result<Option<u64>> {
    let Some(bytes) = optional_bytes(spec, "block-size")? else { return Ok(None) };
    ensure!(
        bytes.is_power_of_two() && (KIB..=LARGEST_BLOCK).contains(&bytes),
        "{}: block-size={} is not a power of two from {} to {}",
        spec.origin,
        required_word(spec, "block-size")?,
        show_bytes(KIB),
        show_bytes(LARGEST_BLOCK)
    );
    Ok(Some(bytes))
}

fn least_members(profile: &str) -> u64 {
    match profile {
        "raid0" | "raid1" => 2,
        "raid10" => 4,
        _ => 1,
    }
}

/// Returns the size of the file in bytes: what log and metadata leave, less the tenth that stays
/// free (guard::marker) and the twentieth that ext4 reserves for root. For btrfs it is half of
/// that, since btrfs writes overwritten data to a new place and keeps the old data until the whole
/// extent is overwritten; with two copies of data, it is a quarter.
fn file_bytes(below: u64, spec: &LayerSpec) -> u64 {
    let whole = (below - METADATA_BYTES) / 100 * 85;
    let copies = if matches!(spec.option("data"), Some("raid1" | "raid10")) { 2 } else { 1 };
    let room = if spec.option("type") == Some("btrfs") { whole / 2 / copies } else { whole };
    room / MIB * MIB
}

/// Returns the label of a file system, which ends with the last six characters of the run's id: xfs
/// takes 12 bytes.
fn label_of(run_id: &str) -> String {
    let tail: String = run_id.chars().rev().take(6).collect::<Vec<_>>().into_iter().rev().collect();
    format!("iotax-{tail}")
}

#[cfg(test)]
mod tests {
    use super::super::rig::{over, planned, refused};
    use super::*;
    use iotax_model::layer::OptionKind;
    use iotax_units::GIB;

    fn fs(kind: &str) -> LayerSpec {
        LayerSpec {
            name: "fs".into(),
            options: [("type".to_owned(), kind.to_owned())].into(),
            place: None,
            far: Vec::new(),
            copies: 1,
            tool: None,
            origin: "here".into(),
        }
    }

    #[test]
    fn every_type_of_the_catalog_has_its_own_need() {
        let OptionKind::Word(kinds) = HELP.option("type").unwrap().kind else {
            panic!("types are words");
        };
        for kind in kinds {
            assert_eq!(FileSystem.needs(&fs(kind)), [format!("mkfs.{kind}").as_str(), "root"]);
        }
        assert_eq!(FileSystem.needs(&fs("none")), ["root"]);
    }

    #[test]
    fn what_is_made_of_devices_and_words() {
        let shown = |members, options| {
            let (exposed, steps) = planned(&FileSystem, &over(members, GIB), options).unwrap();
            let steps: Vec<String> =
                steps.iter().map(|step| step.op.operation().describe()).collect();
            format!("{} MiB\n{}", exposed.bytes / MIB, steps.join("\n"))
        };
        let all = [
            shown(1, "xfs,block-size=1KiB"),
            shown(1, "ext4,block-size=2KiB,mount=relatime"),
            shown(1, "btrfs"),
            shown(2, "btrfs,data=raid0"),
            shown(4, "btrfs,data=raid10,metadata=raid10"),
        ];
        insta::assert_snapshot!(all.join("\n\n"));
    }

    #[test]
    fn a_drive_of_a_lab_has_room_for_a_file_system_on_a_volume() {
        let drive = over(1, iotax_model::scenario::LabSpec::default().drive_size);
        for (layer, options) in [(&super::super::Lvm as &dyn Layer, ""), (&super::super::Zfs, "")] {
            let (volume, _) = planned(layer, &drive, options).unwrap();
            planned(&FileSystem, &volume, "xfs").unwrap();
        }
    }

    #[test]
    fn what_does_not_go_together_is_refused_before_anything_is_made() {
        let of = |members, options| refused(&FileSystem, &over(members, GIB), options);
        let all = [
            of(2, "xfs"),
            of(1, "xfs,data=single"),
            of(1, "ext4,block-size=8KiB"),
            of(1, "btrfs,block-size=4KiB"),
            of(1, "btrfs,data=raid0"),
            of(3, "btrfs,data=raid10"),
            of(1, "btrfs,metadata=raid1"),
            refused(&FileSystem, &over(3, 128 * MIB), "btrfs"),
            refused(
                &FileSystem,
                &ExposedDevice { place: "lab".into(), ..over(1, 508 * MIB) },
                "xfs",
            ),
        ];
        insta::assert_snapshot!(all.join("\n"));
    }
}
