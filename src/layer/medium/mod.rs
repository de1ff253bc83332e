//! What lies at the bottom of a stack: a file of ours, a block device, something on another
//! host. Whether it may be written is the guard's question, asked before any plan is performed.

use super::{Exposed, PlanContext};
use crate::scenario::Medium;
use crate::step::op::{FillFile, MakeFile, Op};
use crate::step::{HOST, PathRef, ssh_place};
use anyhow::{Result, bail};
use iotax_load::Hold;
use std::path::{Path, PathBuf};

/// What the bottom of a stack is on this machine, found out before planning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Bytes of data.
    pub bytes: u64,
    /// Block device or file.
    pub block: bool,
    /// It is there and not to be made.
    pub exists: bool,
}

/// Plans the bottom; `sibling` numbers equal files that serve one stack each.
///
/// # Errors
/// When the medium is of a kind that no layer here joins.
pub fn plan(
    medium: &Medium,
    found: &Found,
    sibling: Option<usize>,
    context: &mut PlanContext,
) -> Result<Exposed> {
    match medium {
        Medium::File { path, keep, .. } => Ok(plan_file(&sibling_path(path, sibling), *keep, found, context)),
        Medium::Device { path } => Ok(exposed(path.clone(), found, HOST, context.writable)),
        Medium::Remote { host, path, .. } => {
            Ok(exposed(path.clone(), found, &ssh_place(host), context.writable))
        }
        Medium::Many { members } => bail!(
            "nothing here joins {} devices into one; hint: name one device, and compare several as stacks of their own",
            members.len()
        ),
    }
}

fn plan_file(path: &Path, keep: bool, found: &Found, context: &mut PlanContext) -> Exposed {
    if !found.exists {
        let file = MakeFile { path: path.to_owned(), bytes: found.bytes, keep, inside_mount: false };
        context.add("create the file under test", Op::MakeFile(file));
        let file = PathRef::Path(path.to_owned());
        let fill = FillFile { file, bytes: found.bytes, seed: context.data_seed(path) };
        context.add("fill the file under test", Op::FillFile(fill));
    }
    exposed(path.to_owned(), found, HOST, context.writable)
}

fn exposed(path: PathBuf, found: &Found, place: &str, writable: bool) -> Exposed {
    Exposed {
        path: PathRef::Path(path),
        bytes: found.bytes,
        block: found.block,
        place: place.to_owned(),
        hold: Hold::default(),
        writable,
        engine: None,
    }
}

/// `x.img` is `x.img` for one stack, `x.img.2` for the second that needs an equal file.
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
