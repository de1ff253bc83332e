//! A run in one file, to carry it to another machine: a tar, compressed with xz, of the run's
//! record without the journal and the lock, which are about this machine. Such a file may come from
//! an enemy: it is unpacked into a private folder, with limits, and only files of known names.

use super::private::{self, Purpose};
use super::{INDEX, NAME, SEGMENT, StoreError, is_id, run_id_of};
use lzma_rust2::{XzOptions, XzReader, XzWriter};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{File, Permissions};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tar::{Archive, Builder, EntryType, Header};
use tempfile::TempDir;

/// Ending of the name of a packed run.
pub const EXTENSION: &str = "iotax";
/// Version of the packed form; the record in it has its own.
const VERSION: u32 = 1;
/// First file of a packed run.
const MANIFEST: &str = "packed.json";
/// Files of a run that are packed. The segment follows the index, which refers to it.
const FILES: [&str; 3] = [INDEX, SEGMENT, NAME];

/// Preset of xz: a third of the time of the usual one, for a tenth more bytes.
const PRESET: u32 = 3;
/// Memory in KiB that unpacking may take: enough for every preset of xz.
const MEMORY_KIB: u32 = 128 << 10;
/// Largest unpacked size in bytes, above that of a run of a million slices.
const MOST: u64 = 8 << 30;
/// Unpacked size that needs no packed bytes to justify it.
const ALWAYS: u64 = 64 << 20;
/// Unpacked bytes for each packed one. Records of real runs have 5 to 20.
const RATIO: u64 = 200;
const MOST_OF_MANIFEST: u64 = 64 << 10;

#[derive(Serialize, Deserialize)]
struct PackedManifest {
    version: u32,
    id: String,
    iotax: String,
}

/// Writes the run in this folder to `out` as one packed file.
///
/// # Errors
/// The run cannot be read, or `out` cannot be written.
pub fn pack_run(folder: &Path, out: &mut dyn Write) -> io::Result<()> {
    let packer = XzWriter::new(out, XzOptions::with_preset(PRESET))?;
    let mut archive = Builder::new(packer);
    let iotax = env!("CARGO_PKG_VERSION").to_owned();
    let manifest = PackedManifest { version: VERSION, id: run_id_of(folder), iotax };
    let manifest = serde_json::to_vec(&manifest)?;
    append(&mut archive, MANIFEST, manifest.len() as u64, manifest.as_slice())?;
    for name in FILES {
        if let Some(file) = private::open(folder, name, Purpose::Show).map_err(io::Error::other)? {
            append(&mut archive, name, file.metadata()?.len(), file)?;
        }
    }
    archive.into_inner()?.finish().map(drop)
}

/// Appends a file as it is now, even if it grows meanwhile.
fn append(
    archive: &mut Builder<impl Write>,
    name: &str,
    bytes: u64,
    from: impl Read,
) -> io::Result<()> {
    let mut header = Header::new_ustar();
    header.set_mode(0o600);
    header.set_size(bytes);
    archive.append_data(&mut header, name, from.take(bytes))
}

/// Unpacks a run into a private temporary folder. Returns the run's folder in it, and the temporary
/// one, which is removed when it is dropped.
///
/// # Errors
/// [`StoreError::NotPacked`] if the file is not sound or breaks a limit, [`StoreError::System`].
pub(super) fn unpack_run(path: &Path) -> Result<(PathBuf, TempDir), StoreError> {
    let system = |error| StoreError::system("open", path, error);
    let file = File::open(path).map_err(system)?;
    let packed = file.metadata().map_err(system)?.len();
    let limit = (ALWAYS + packed.saturating_mul(RATIO)).min(MOST);
    let temporary = tempfile::Builder::new()
        .prefix("iotax-run-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir()
        .map_err(|error| StoreError::system("make", std::env::temp_dir(), error))?;
    let folder = unpack_from(file, limit, temporary.path())
        .map_err(|error| StoreError::NotPacked { path: path.to_owned(), why: error.to_string() })?;
    Ok((folder, temporary))
}

fn unpack_from(packed: impl Read, limit: u64, into: &Path) -> io::Result<PathBuf> {
    let unpacker = XzReader::new_mem_limit(BufReader::new(packed), false, MEMORY_KIB);
    let mut archive = Archive::new(BoundedReader { from: unpacker, left: limit });
    let mut folder = None;
    let mut seen = BTreeSet::new();
    // Raw: no entry that names or describes another one, such as a long name of any length.
    for entry in archive.entries()?.raw(true) {
        let mut entry = entry?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        if entry.header().entry_type() != EntryType::Regular {
            return Err(refusal(&name, "is not a regular file"));
        }
        if !seen.insert(name.clone()) {
            return Err(refusal(&name, "is there twice"));
        }
        match &folder {
            None if name == MANIFEST => folder = Some(make_folder(into, &mut entry)?),
            Some(folder) if FILES.contains(&name.as_str()) => {
                let mut file = File::options()
                    .write(true)
                    .create_new(true)
                    .mode(0o600)
                    .open(folder.join(&name))?;
                io::copy(&mut entry, &mut file)?;
            }
            None => return Err(refusal(&name, "comes before packed.json")),
            Some(_) => return Err(refusal(&name, "is no file of a run")),
        }
    }
    // The checksums are at the end.
    io::copy(&mut archive.into_inner(), &mut io::sink())?;
    match folder {
        Some(folder) if seen.contains(INDEX) => Ok(folder),
        _ => Err(refusal(INDEX, "is missing")),
    }
}

fn make_folder(into: &Path, manifest: &mut impl Read) -> io::Result<PathBuf> {
    let mut text = Vec::new();
    manifest.take(MOST_OF_MANIFEST).read_to_end(&mut text)?;
    let manifest: PackedManifest = serde_json::from_slice(&text)?;
    if manifest.version > VERSION {
        let why = format!("is of version {}, this iotax reads up to {VERSION}", manifest.version);
        return Err(refusal("it", &why));
    }
    if !is_id(&manifest.id) {
        return Err(refusal(&manifest.id, "is no id of a run"));
    }
    let folder = into.join(manifest.id);
    std::fs::DirBuilder::new().mode(0o700).create(&folder)?;
    Ok(folder)
}

fn refusal(name: &str, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{} {why}", name.escape_debug()))
}

/// Reader that fails where more follows than the limit allows.
struct BoundedReader<R> {
    from: R,
    left: u64,
}

impl<R: Read> Read for BoundedReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(into)?;
        match self.left.checked_sub(read as u64) {
            Some(left) => self.left = left,
            None => return Err(refusal("it", "holds more than a run of its size could")),
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format_tests::start;
    use crate::{JOURNAL, LOCK, Store, load_run, open_run, rename_run};
    use iotax_load::Histogram;
    use iotax_model::record::RunRecord;
    use std::os::unix::fs::MetadataExt;

    const ID: &str = "20260102-030405-a1b2";
    const LIMIT: u64 = 1 << 20;

    fn stored(runs: &Path) -> PathBuf {
        let mut writer = Store::create(runs, ID).unwrap();
        let mut latency = Histogram::new();
        latency.record(77);
        writer.append(&RunRecord::Run(start())).unwrap();
        assert_eq!(writer.histogram(&latency).unwrap(), 0);
        std::fs::write(writer.folder().join(JOURNAL), "secrets of this host").unwrap();
        std::fs::write(writer.folder().join(LOCK), "").unwrap();
        writer.folder().to_owned()
    }

    fn packed(folder: &Path) -> Vec<u8> {
        let mut bytes = Vec::new();
        pack_run(folder, &mut bytes).unwrap();
        bytes
    }

    /// Packs entries as an enemy may.
    fn forged(entries: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
        let mut archive = Builder::new(Vec::new());
        for (name, kind, content) in entries {
            let mut header = Header::new_gnu();
            // Not by `set_path`, which refuses what this is about.
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_entry_type(*kind);
            header.set_size(content.len() as u64);
            header.set_mode(0o4777);
            header.set_cksum();
            archive.append(&header, *content).unwrap();
        }
        compressed(&archive.into_inner().unwrap())
    }

    fn compressed(tar: &[u8]) -> Vec<u8> {
        let mut packer = XzWriter::new(Vec::new(), XzOptions::with_preset(PRESET)).unwrap();
        packer.write_all(tar).unwrap();
        packer.finish().unwrap()
    }

    fn manifest(id: &str, version: u32) -> Vec<u8> {
        let manifest = PackedManifest { version, id: id.to_owned(), iotax: "0.1.0".to_owned() };
        serde_json::to_vec(&manifest).unwrap()
    }

    fn unpacked(bytes: &[u8]) -> Result<(PathBuf, TempDir), String> {
        let dir = tempfile::tempdir().unwrap();
        unpack_from(bytes, LIMIT, dir.path())
            .map(|folder| (folder, dir))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_run_that_was_carried_away_reads_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let folder = stored(dir.path());
        rename_run(&folder, "carried").unwrap();
        let file = dir.path().join("x.iotax");
        std::fs::write(&file, packed(&folder)).unwrap();
        assert_eq!(packed(&folder), packed(&folder), "the same run is the same bytes");
        let opened = open_run(&dir.path().join("none"), file.to_str().unwrap()).unwrap();
        let [here, there] = [&folder, opened.folder()].map(|folder| load_run(folder).unwrap());
        assert_eq!(
            (&here.start, there.start.scenario.name.as_deref()),
            (&there.start, Some("carried"))
        );
        assert_eq!(here.histograms.read_at(0), there.histograms.read_at(0));
        assert!(
            here.histograms.read_at(0).is_some() && opened.packed_file() == Some(file.as_path())
        );
        for not in [JOURNAL, LOCK] {
            assert!(!opened.folder().join(not).exists(), "{not}");
        }
        let temporary = opened.folder().parent().unwrap().to_owned();
        assert_eq!(std::fs::metadata(&temporary).unwrap().mode() & 0o777, 0o700);
        drop(opened);
        assert!(!temporary.exists());
    }

    #[test]
    fn files_of_an_enemy_are_refused() {
        use EntryType as Is;
        let first = manifest(ID, VERSION);
        let own: (&str, EntryType, &[u8]) = (MANIFEST, Is::Regular, &first);
        let refused =
            |entries: &[(&str, EntryType, &[u8])]| unpacked(&forged(entries)).unwrap_err();
        for name in ["../index.jsonl", "/etc/passwd", "a/index.jsonl", "journal.jsonl", "lock", ""]
        {
            let why = refused(&[own, (name, Is::Regular, b"x")]);
            assert!(why.contains("is no file of a run"), "{name}: {why}");
        }
        for kind in [
            Is::Symlink,
            Is::Link,
            Is::Directory,
            Is::Char,
            Is::Fifo,
            Is::GNULongName,
            Is::XHeader,
            Is::GNUSparse,
        ] {
            let why = refused(&[own, (INDEX, kind, b"")]);
            assert!(why.contains("is not a regular file"), "{kind:?}: {why}");
        }
        assert!(
            refused(&[own, (INDEX, Is::Regular, b"x"), (INDEX, Is::Regular, b"y")])
                .contains("twice")
        );
        assert!(refused(&[(INDEX, Is::Regular, b"x"), own]).contains("comes before"));
        assert!(refused(&[own]).contains("index.jsonl is missing"));
        for id in ["../x", "", "-x", "a/b", "."] {
            let why = refused(&[
                (MANIFEST, Is::Regular, &manifest(id, VERSION)),
                (INDEX, Is::Regular, b"x"),
            ]);
            assert!(why.contains("is no id of a run"), "{id}: {why}");
        }
        assert!(refused(&[(MANIFEST, Is::Regular, &manifest(ID, 2))]).contains("is of version 2"));
        unpacked(&forged(&[own, (INDEX, Is::Regular, b"x")])).unwrap();
    }

    #[test]
    fn a_bomb_stops_at_the_limit_and_damage_is_seen() {
        let zeros = vec![0u8; LIMIT as usize + 1];
        let bomb = forged(&[
            (MANIFEST, EntryType::Regular, &manifest(ID, VERSION)),
            (INDEX, EntryType::Regular, &zeros),
        ]);
        assert!(bomb.len() < 4 << 10);
        assert!(unpacked(&bomb).unwrap_err().contains("holds more than a run of its size could"));
        // Behind the end of the tar, where nobody looks.
        let mut tail = vec![0u8; 1024];
        tail.extend(&zeros);
        assert!(unpacked(&compressed(&tail)).unwrap_err().contains("more than"));
        let dir = tempfile::tempdir().unwrap();
        let whole = packed(&stored(dir.path()));
        unpacked(&whole).unwrap();
        for cut in [0, 1, 20, whole.len() / 2, whole.len() - 1] {
            assert!(unpacked(&whole[..cut]).is_err(), "cut at {cut}");
        }
        for at in (0..whole.len()).step_by(23) {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            assert!(unpacked(&damaged).is_err(), "damaged at {at} of {}", whole.len());
        }
        assert!(unpacked(b"hello").is_err());
    }
}
