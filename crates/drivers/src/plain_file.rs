//! Writes and removes files, with errors that name the path.

use anyhow::{Context, Result};
use iotax_host::guard::marker;
use std::fs;
use std::path::Path;

pub fn write_file(path: &Path, content: &[u8]) -> Result<()> {
    fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}

pub fn remove_file(path: &Path) -> Result<()> {
    gone_is_fine(fs::remove_file(path)).with_context(|| format!("cannot remove {}", path.display()))
}

pub fn gone_is_fine(result: std::io::Result<()>) -> std::io::Result<()> {
    match result {
        Err(error) if marker::means_absent(&error) => Ok(()),
        other => other,
    }
}

pub fn write_sysfs(file: &Path, text: &str) -> Result<()> {
    fs::write(file, text)
        .with_context(|| format!("cannot write \"{}\" to {}", text.trim(), file.display()))
}
