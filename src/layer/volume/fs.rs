//! `fs(xfs)`, `fs(ext4)`: a file system made on a block device of ours, mounted, with one file on
//! it that is filled before it is measured.

use crate::host::needs;
use crate::layer::{Claim, Exposed, Layer, PlanContext, word};
use crate::scenario::LayerSpec;
use crate::step::PathRef;
use crate::step::op::{FillFile, MakeDirectory, MakeFile, MakeFilesystem, Mount, Op};
use crate::units::{MIB, show_bytes};
use anyhow::{Result, ensure};

/// mkfs.xfs refuses less than 300 MB, and a 64 MiB log has to leave room for the file.
const LEAST_BYTES: u64 = 512 * MIB;

/// xfs's smallest log is 64 MiB; the rest is for inodes and allocation groups.
const METADATA_BYTES: u64 = 96 * MIB;

/// mkfs, mount, one file.
pub struct FileSystem;

impl Layer for FileSystem {
    fn name(&self) -> &'static str {
        "fs"
    }

    fn needs(&self, spec: &LayerSpec) -> Vec<&'static str> {
        word(spec, "type").ok().and_then(mkfs_need).into_iter().chain(["root"]).collect()
    }

    fn claim(&self, _: &LayerSpec) -> Claim {
        Claim::Writes
    }

    fn writes_below(&self, _: &LayerSpec) -> bool {
        true
    }

    fn plan(&self, spec: &LayerSpec, below: &Exposed, context: &mut PlanContext) -> Result<Exposed> {
        let kind = word(spec, "type")?;
        ensure!(mkfs_need(kind).is_some(), "{}: fs({kind}): no program is known that makes it", spec.origin);
        ensure!(
            below.block,
            "{}: fs({kind}) needs a block device below it; hint: put loop between",
            spec.origin
        );
        ensure!(
            below.bytes >= LEAST_BYTES,
            "{}: fs({kind}) needs at least {} below it, there are {}",
            spec.origin,
            show_bytes(LEAST_BYTES),
            show_bytes(below.bytes)
        );
        let device = below.path(spec)?;
        let name = context.instance("fs");
        let directory = context.directory().join(&name);
        let label = label_of(&context.tag.run_id);
        let make = MakeFilesystem { kind: kind.into(), device: device.clone(), label };
        context.add(format!("make the {kind} file system"), Op::MakeFilesystem(make));
        context.add("make the mount point", Op::MakeDirectory(MakeDirectory { path: directory.clone() }));
        let mount = Mount { device: device.clone(), directory: directory.clone(), kind: kind.into() };
        context.add("mount the file system", Op::Mount(mount));
        let bytes = file_bytes(below.bytes);
        let path = directory.join("iotax.data");
        let file = MakeFile { path: path.clone(), bytes, keep: false, inside_mount: true };
        context.add("create the file on it", Op::MakeFile(file));
        let fill = FillFile { file: PathRef::Path(path.clone()), bytes, seed: context.data_seed(&path) };
        context.add("fill the file on it", Op::FillFile(fill));
        Ok(Exposed {
            paths: vec![PathRef::Path(path)],
            bytes,
            block: false,
            writable: context.writable,
            unwritten: None,
            ..below.clone()
        })
    }
}

/// The need of the program that makes it. A type without one is refused: another's need would be met in vain.
fn mkfs_need(kind: &str) -> Option<&'static str> {
    needs::by_id(&format!("mkfs.{kind}")).map(|need| need.id)
}

/// What log and metadata leave, less the tenth that stays free (guard::marker) and the twentieth that
/// ext4 keeps for root.
fn file_bytes(below: u64) -> u64 {
    (below - METADATA_BYTES) / 100 * 85 / MIB * MIB
}

/// xfs takes 12 bytes.
fn label_of(run_id: &str) -> String {
    let tail: String = run_id.chars().rev().take(6).collect::<Vec<_>>().into_iter().rev().collect();
    format!("iotax-{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::catalog::{self, OptionKind};

    fn fs(kind: &str) -> LayerSpec {
        LayerSpec {
            name: "fs".into(),
            options: [("type".to_owned(), kind.to_owned())].into(),
            place: None,
            far: None,
            copies: 1,
            origin: "here".into(),
        }
    }

    #[test]
    fn every_type_of_the_catalog_has_its_own_need() {
        let OptionKind::Word(kinds) = catalog::find("fs").unwrap().option("type").unwrap().kind else {
            panic!("types are words");
        };
        for kind in kinds {
            assert_eq!(FileSystem.needs(&fs(kind)), [format!("mkfs.{kind}").as_str(), "root"]);
        }
        assert_eq!(FileSystem.needs(&fs("none")), ["root"]);
    }
}
