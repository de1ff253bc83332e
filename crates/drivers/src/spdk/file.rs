//! Makes a bdev over a file or device of this host. Refuses a bdev that is over another file than
//! was meant, or whose file the target opened through the page cache.

use super::look::{Bdevs, direct, filename, is_block};
use super::rpc::Rpc;

use crate::refusal::NotOurs;
use anyhow::{Context, Result, bail};
use iotax_host::facts::logical_block_below;
use serde_json::{Value, json};
use std::path::Path;

/// RPC methods for one kind of bdev over a file or device: libaio's or io_uring's.
pub struct SpdkKind {
    pub create: &'static str,
    pub delete: &'static str,
}

const AIO: SpdkKind = SpdkKind { create: "bdev_aio_create", delete: "bdev_aio_delete" };

const URING: SpdkKind = SpdkKind { create: "bdev_uring_create", delete: "bdev_uring_delete" };

pub fn kind(uring: bool) -> &'static SpdkKind {
    if uring { &URING } else { &AIO }
}

/// Bdev over a file or device.
pub struct Bdev<'a> {
    pub name: String,
    pub path: &'a Path,
    pub kind: &'static SpdkKind,
    pub read_only: bool,
}

impl Bdev<'_> {
    /// Makes the bdev, and checks that the target has this very file open with O_DIRECT. `process`
    /// is the target's pid; without it, or if its files are not visible, nothing is checked.
    ///
    /// # Errors
    /// If the target refuses, or has opened another file than this host would, or opened it through
    /// the page cache.
    pub fn create_file_bdev(&self, rpc: &mut Rpc, process: Option<u32>) -> Result<()> {
        rpc.call(self.kind.create, self.params()?)?;
        // Where a file cannot be opened directly, SPDK uses the page cache without a warning.
        match direct(self.path, process)? {
            Some(false) => bail!(
                "the SPDK target has opened {} through the page cache: its file system refuses O_DIRECT; hint: put the file on ext4 or xfs",
                self.path.display()
            ),
            _ => Ok(()),
        }
    }

    fn params(&self) -> Result<Value> {
        let filename = self.path.to_str().context("a path that is not UTF-8")?;
        let mut bdev = json!({"name": self.name, "filename": filename});
        // A device reports its own block size. For a file, direct I/O takes what the device below
        // it takes.
        if !is_block(self.path)? {
            bdev["block_size"] = logical_block_below(self.path).into();
        }
        if self.read_only {
            bdev["readonly"] = true.into();
        }
        Ok(bdev)
    }

    /// Checks that the bdev of this name, if there is one, is over the same file.
    ///
    /// # Errors
    /// [`NotOurs`] if it is over another one.
    pub fn check_ours(&self, bdevs: &Bdevs) -> Result<()> {
        let there = bdevs.find_bdev(&self.name).and_then(filename);
        match there.filter(|file| *file != self.path.as_os_str()) {
            None => Ok(()),
            Some(other) => Err(NotOurs(format!(
                "the SPDK target's bdev {} is over {other} and not over {}: left alone",
                self.name,
                self.path.display()
            ))
            .into()),
        }
    }

    /// Removes the bdev, if it exists.
    ///
    /// # Errors
    /// When the target refuses.
    pub fn delete_file_bdev(&self, rpc: &mut Rpc, bdevs: &Bdevs) -> Result<()> {
        if bdevs.find_bdev(&self.name).is_some() {
            rpc.call(self.kind.delete, json!({"name": self.name}))?;
        }
        Ok(())
    }
}
