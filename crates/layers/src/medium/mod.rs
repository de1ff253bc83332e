//! Plans the medium at the bottom of a stack: a file of ours, a block device, something on another
//! host, or several of these. The guard decides if it may be written; it is asked before any plan
//! is performed.

use super::{ExposedDevice, PlanContext, guest};
use anyhow::{Context, Result, bail, ensure};
use iotax_drivers::path_ref::{PathRef, RbdImage};
use iotax_facts::place::Place;
use iotax_load::Hold;
use iotax_model::scenario::Engine;
use iotax_model::stack::{LoadIssuer, Medium};
use iotax_steps::op::{ForgetFill, MakeFile, MakeFileAfar, Op};
use std::path::{Path, PathBuf};

/// Facts about a medium at the bottom of a stack, gathered before planning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundMedium {
    pub bytes: u64,
    /// True for a block device, false for a file.
    pub block: bool,
    pub exists: bool,
    /// Signatures on the medium, by libblkid's names.
    pub signatures: Vec<String>,
    /// Name of a virtual machine's disk in the machine's manager; `None` for any other medium.
    pub disk: Option<String>,
}

impl FoundMedium {
    /// Returns the facts of a medium without a signature.
    pub fn without_signature(bytes: u64, block: bool, exists: bool) -> FoundMedium {
        FoundMedium { bytes, block, exists, signatures: Vec::new(), disk: None }
    }
}

/// Returns the device that a medium shows. `found` has the facts of each member; `sibling` is the
/// index of this stack's file if several stacks need an equal one each. As many bytes of each
/// member are used as the smallest has. Adds no steps: [`plan_member`] does.
///
/// # Errors
/// There is no member, `found` does not have one entry for each, or a member is a list itself.
pub fn plan_bottom(
    medium: &Medium,
    found: &[FoundMedium],
    sibling: Option<usize>,
    context: &PlanContext,
) -> Result<ExposedDevice> {
    let members = medium.members();
    ensure!(members.len() == found.len(), "{} was not looked at as a whole", medium.medium_text());
    let shown = members
        .iter()
        .zip(found)
        .map(|(member, found)| member_device(member, found, sibling, context));
    let mut all = shown.collect::<Result<Vec<_>>>()?.into_iter();
    let first = all.next().with_context(|| format!("{} has no member", medium.medium_text()))?;
    Ok(all.fold(first, join_exposed))
}

/// Prepares one medium, or one of several, and returns the device that it shows; see
/// [`plan_bottom`].
///
/// # Errors
/// The member is a list itself.
pub fn plan_member(
    member: &Medium,
    found: &FoundMedium,
    sibling: Option<usize>,
    context: &mut PlanContext,
) -> Result<ExposedDevice> {
    let shown = member_device(member, found, sibling, context)?;
    match member {
        Medium::File { path, keep, .. } if !found.exists => {
            make_file(&Place::Host, &sibling_path(path, sibling), *keep, found.bytes, context);
        }
        Medium::Remote { path, keep, agent: LoadIssuer::Iotax, .. } if !found.exists => {
            make_file(&shown.place, path, *keep, found.bytes, context);
        }
        Medium::Remote { host, path, .. } if !found.exists => {
            let file = MakeFileAfar { host: host.clone(), path: path.clone(), bytes: found.bytes };
            context.add_step("create the file under test there", Op::MakeFileAfar(file));
        }
        // Only files of ours are written at all, and their marker must not say that they are full.
        Medium::File { .. } | Medium::Remote { .. } if context.trims && !found.block => {
            for file in &shown.paths {
                let forget = ForgetFill { file: file.clone() };
                context.add_in(
                    &shown.place,
                    "say that the file is trimmed",
                    Op::ForgetFill(forget),
                );
            }
        }
        _ => {}
    }
    Ok(shown)
}

/// Returns the place and path of a file that iotax creates, or has created, in a place with an
/// agent; `None` if the medium is not such a file.
pub fn made_file(member: &Medium, sibling: Option<usize>) -> Option<(Place, PathBuf)> {
    match member {
        Medium::File { path, size: Some(_), .. } => {
            Some((Place::Host, sibling_path(path, sibling)))
        }
        Medium::Remote { host, path, size: Some(_), agent: LoadIssuer::Iotax, .. } => {
            Some((Place::Ssh(host.clone()), path.clone()))
        }
        _ => None,
    }
}

fn member_device(
    member: &Medium,
    found: &FoundMedium,
    sibling: Option<usize>,
    context: &PlanContext,
) -> Result<ExposedDevice> {
    match member {
        Medium::File { path, .. } => {
            Ok(exposed(sibling_path(path, sibling), found, Place::Host, context.writable))
        }
        Medium::Device { path } | Medium::VhostUser { path } => {
            Ok(exposed(path.clone(), found, Place::Host, context.writable))
        }
        Medium::Remote { host, path, agent, .. } => {
            let there = exposed(path.clone(), found, Place::Ssh(host.clone()), context.writable);
            Ok(ExposedDevice {
                engine: (*agent == LoadIssuer::Fio).then_some(Engine::Fio),
                ..there
            })
        }
        Medium::Drive { place, name } => {
            Ok(exposed(guest::lab::link_of(name), found, place.clone(), context.writable))
        }
        Medium::Cpu { place } | Medium::Net { place, .. } => {
            let there = exposed(PathBuf::new(), found, place.clone(), false);
            Ok(ExposedDevice { paths: vec![PathRef::Nothing], ..there })
        }
        Medium::Rbd { pool, image, conf } => {
            let (conf, pool, image) = (conf.clone(), pool.clone(), image.clone());
            let there = exposed(PathBuf::new(), found, Place::Host, context.writable);
            let image = RbdImage { conf, pool, image };
            Ok(ExposedDevice { paths: vec![PathRef::Rbd(Box::new(image))], ..there })
        }
        Medium::Many { .. } => bail!("{} is a list within a list", member.medium_text()),
    }
}

fn join_exposed(mut all: ExposedDevice, one: ExposedDevice) -> ExposedDevice {
    match one.place == all.place {
        true => all.paths.extend(one.paths),
        false => all.copies.extend(one.paths.into_iter().map(|path| (one.place.clone(), path))),
    }
    all.uneven |= all.bytes != one.bytes || one.uneven;
    all.bytes = all.bytes.min(one.bytes);
    all.block &= one.block;
    all
}

fn make_file(place: &Place, path: &Path, keep: bool, bytes: u64, context: &mut PlanContext) {
    let file = MakeFile { path: path.to_owned(), bytes, keep, inside_mount: false };
    context.add_in(place, "create the file under test", Op::MakeFile(file));
    let fill = context.fill_of(place, path, bytes);
    context.add_in(place, "fill the file under test", Op::FillFile(fill));
}

fn exposed(path: PathBuf, found: &FoundMedium, place: Place, writable: bool) -> ExposedDevice {
    ExposedDevice {
        paths: vec![PathRef::Path(path)],
        bytes: found.bytes,
        block: found.block,
        place,
        copies: Vec::new(),
        overlaid: false,
        apart: true,
        hold: Hold::default(),
        writable,
        unwritten: None,
        split: false,
        uneven: false,
        engine: None,
        arrays: Vec::new(),
        write_unit: None,
        read_back: Vec::new(),
    }
}

/// Returns the path of the equal file with the index `sibling`: `x.img` is the first one or the
/// only one, `x.img.2` the second.
pub fn sibling_path(path: &Path, sibling: Option<usize>) -> PathBuf {
    match sibling {
        None | Some(0) => path.to_owned(),
        Some(number) => {
            let mut name = path.as_os_str().to_owned();
            name.push(format!(".{}", number + 1));
            PathBuf::from(name)
        }
    }
}
