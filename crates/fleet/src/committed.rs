//! Files that are there completely or not at all, in folders that are ours alone.

use iotax_store::{StoreError, private};
use rustix::fs::{OFlags, fsync};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Largest file of JSON that is read: a fleet of 10,000 hosts has some 20 MB.
const MOST_JSON: u64 = 512 << 20;

/// Makes a folder that only this user enters, with those above it.
///
/// # Errors
/// [`StoreError::System`].
pub fn make_folder(path: &Path) -> Result<(), StoreError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|error| StoreError::system("make", path, error))
}

/// Writes a file of JSON: under another name, synced, then renamed.
///
/// # Errors
/// [`StoreError::System`]; an earlier file of that name is then as it was.
pub fn write_json(folder: &Path, name: &str, value: &impl Serialize) -> Result<(), StoreError> {
    let text = serde_json::to_vec(value).map_err(StoreError::Unwritable)?;
    let (part, path) = (folder.join(format!("{name}.part")), folder.join(name));
    let written = (|| {
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .custom_flags(OFlags::NOFOLLOW.bits() as i32)
            .open(&part)?;
        file.write_all(&text)?;
        file.sync_all()?;
        std::fs::rename(&part, &path)?;
        sync_folder(folder)
    })();
    written.map_err(|error| {
        // What is left of it is overwritten by the next try.
        let _ = std::fs::remove_file(&part);
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                StoreError::Full { path: path.clone(), source: error }
            }
            _ => StoreError::system("write", &path, error),
        }
    })
}

/// Makes a file that must not exist yet, and syncs it. Returns false if it exists.
///
/// # Errors
/// [`StoreError::System`].
pub fn create_json_once(
    folder: &Path,
    name: &str,
    value: &impl Serialize,
) -> Result<bool, StoreError> {
    let text = serde_json::to_vec(value).map_err(StoreError::Unwritable)?;
    let path = folder.join(name);
    let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    let mut file = match created {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
        Err(error) => return Err(StoreError::system("make", &path, error)),
    };
    let written =
        file.write_all(&text).and_then(|()| file.sync_all()).and_then(|()| sync_folder(folder));
    written.map(|()| true).map_err(|error| StoreError::system("write", &path, error))
}

/// Reads a file of JSON in a folder that is ours alone; `None` if it does not exist.
///
/// # Errors
/// [`StoreError`] if another user could have written it, or it is not what it should be.
pub fn read_json<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<Option<T>, StoreError> {
    read_json_for(folder, name, private::Purpose::Act)
}

/// Reads a file of JSON that is only shown, so that its owner may be another user.
///
/// # Errors
/// As [`read_json`].
pub fn read_shown_json<T: DeserializeOwned>(
    folder: &Path,
    name: &str,
) -> Result<Option<T>, StoreError> {
    read_json_for(folder, name, private::Purpose::Show)
}

fn read_json_for<T: DeserializeOwned>(
    folder: &Path,
    name: &str,
    purpose: private::Purpose,
) -> Result<Option<T>, StoreError> {
    let Some(file) = private::open(folder, name, purpose)? else { return Ok(None) };
    let path = folder.join(name);
    let mut text = Vec::new();
    file.take(MOST_JSON)
        .read_to_end(&mut text)
        .map_err(|error| StoreError::system("read", &path, error))?;
    let malformed = |error: serde_json::Error| StoreError::Malformed {
        path: path.clone(),
        line: error.line() as u64,
        kind: name.trim_end_matches(".json").to_owned(),
        cause: error.to_string(),
    };
    serde_json::from_slice(&text).map(Some).map_err(malformed)
}

/// Returns the SHA-256 of a file in hex, and its length.
///
/// # Errors
/// The file cannot be read.
pub fn sum_of_file(path: &Path) -> io::Result<(String, u64)> {
    let (mut file, mut digest, mut bytes) = (File::open(path)?, Sha256::new(), 0u64);
    let mut piece = vec![0u8; 256 << 10];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok((hex_text(&digest.finalize()), bytes)),
            read => {
                digest.update(&piece[..read]);
                bytes += read as u64;
            }
        }
    }
}

/// Returns the SHA-256 of bytes in hex.
pub fn sum_of(bytes: &[u8]) -> String {
    hex_text(&Sha256::digest(bytes))
}

fn hex_text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    Ok(fsync(File::open(folder)?)?)
}
