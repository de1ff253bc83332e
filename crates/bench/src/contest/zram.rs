//! A compressed disk in memory, made for the contest and removed after it. Nothing is ever written
//! to it, so that it answers with zeros at once: a block device without a device. Disks of others
//! are never touched. The kernel gives us a new one, whose number is written down before it gets
//! its size. The next contest removes a disk that a kill left, under three conditions: this system
//! has not booted since, no process locks its note, and nothing was ever stored on it, as that
//! would be another's disk.

use iotax_store::Store;
use iotax_store::private::{self, Purpose};
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Folder in which the kernel adds and removes devices.
const CONTROL: &str = "/sys/class/zram-control";

/// A disk made by iotax.
pub(super) struct Zram {
    number: u32,
    /// File that holds its number while it exists.
    note: PathBuf,
    /// The note, locked while this process lives.
    held: Option<File>,
}

impl Zram {
    /// Asks the kernel for a new device of this size.
    ///
    /// # Errors
    /// Returns why there is no device.
    pub(super) fn make(bytes: u64, notes: &Path) -> Result<Zram, String> {
        // This may be the first call that makes the folder of runs, which must be ours alone.
        let notes = Store::open(notes).map_err(|error| error.to_string())?.runs_dir().to_owned();
        clear(&notes);
        let number =
            std::fs::read_to_string(Path::new(CONTROL).join("hot_add")).map_err(|error| {
                format!("no zram device can be had ({error}); hint: modprobe zram, as root")
            })?;
        let number: u32 =
            number.trim().parse().map_err(|_| format!("hot_add of zram says \"{number}\""))?;
        let note = notes.join(number.to_string());
        let mut zram = Zram { number, note, held: None };
        let failed =
            |what: &str, error: std::io::Error| format!("cannot {what} zram{number}: {error}");
        zram.held =
            Some(noted(&zram.note).map_err(|error| failed("write down the number of", error))?);
        std::fs::write(zram.attribute("disksize"), bytes.to_string())
            .map_err(|error| failed("give a size to", error))?;
        Ok(zram)
    }

    pub(super) fn path(&self) -> PathBuf {
        path_of(self.number)
    }

    fn attribute(&self, name: &str) -> PathBuf {
        format!("/sys/block/zram{}/{name}", self.number).into()
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        if remove(self.number).is_ok() {
            // If it stays, the next contest finds no such device and forgets it.
            let _ = std::fs::remove_file(&self.note);
        }
    }
}

/// Makes a new note with the id of the current boot, and locks it.
fn noted(note: &Path) -> std::io::Result<File> {
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(note)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    file.write_all(boot().as_bytes())?;
    file.sync_all()?;
    Ok(file)
}

fn boot() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Removes disks that a kill left, whose notes nobody locks. Notes of disks that are no longer ours
/// are forgotten; a disk in use stays for the next contest.
fn clear(notes: &Path) {
    for note in held_by_nobody(notes) {
        if !note.is_ours() || remove(note.number).is_ok() {
            // If it stays, the next contest finds no such device and forgets it.
            let _ = std::fs::remove_file(&note.path);
        }
    }
}

/// Note of a disk whose process is gone.
struct Note {
    number: u32,
    path: PathBuf,
    /// Lock that keeps others off while the disk is examined.
    held: File,
}

impl Note {
    fn is_ours(&self) -> bool {
        let mut told = [0; 64];
        let read = self.held.read_at(&mut told, 0).unwrap_or(0);
        told[..read] == *boot().as_bytes() && is_empty(self.number)
    }
}

fn held_by_nobody(notes: &Path) -> Vec<Note> {
    let note = |entry: std::fs::DirEntry| {
        let number = entry.file_name().to_str()?.parse().ok()?;
        let held = private::open(notes, entry.file_name().to_str()?, Purpose::Act).ok()??;
        flock(&held, FlockOperation::NonBlockingLockExclusive).ok()?;
        Some(Note { number, path: entry.path(), held })
    };
    let entries = std::fs::read_dir(notes).into_iter().flatten().flatten();
    let mut found: Vec<Note> = entries.filter_map(note).collect();
    found.sort_by_key(|note| note.number);
    found
}

fn path_of(number: u32) -> PathBuf {
    format!("/dev/zram{number}").into()
}

/// Returns true if the device exists and nothing was ever stored on it (`orig_data_size`, the first
/// figure of mm_stat).
fn is_empty(number: u32) -> bool {
    let told =
        std::fs::read_to_string(format!("/sys/block/zram{number}/mm_stat")).unwrap_or_default();
    told.split_whitespace().next() == Some("0")
}

/// Removes a disk; the kernel refuses one that is in use.
fn remove(number: u32) -> std::io::Result<()> {
    std::fs::write(format!("/sys/block/zram{number}/reset"), "1")?;
    std::fs::write(Path::new(CONTROL).join("hot_remove"), number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Mutex, PoisonError};

    /// Held by each test that makes a device: the kernel gives a number that became free to the
    /// next who asks.
    static MAKES_A_DEVICE: Mutex<()> = Mutex::new(());

    #[test]
    fn the_folder_of_runs_is_ours_alone_where_a_note_is_the_first_in_it() {
        use std::os::unix::fs::PermissionsExt;
        let _alone = MAKES_A_DEVICE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().unwrap();
        let runs = folder.path().join("runs");
        // Also where no device can be had.
        drop(Zram::make(4 << 20, &runs.join(".zram")));
        assert_eq!(runs.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_note_that_is_no_file_of_ours_holds_nobody_up() {
        let notes = tempfile::tempdir().unwrap();
        let fifo = notes.path().join("7");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        std::os::unix::fs::symlink("/dev/zero", notes.path().join("8")).unwrap();
        clear(notes.path());
        assert!(fifo.exists() && notes.path().join("8").is_symlink(), "neither is a note");
    }

    #[test]
    fn one_is_had_and_given_back_also_behind_a_kill() {
        let _alone = MAKES_A_DEVICE.lock().unwrap_or_else(PoisonError::into_inner);
        let notes = tempfile::tempdir().unwrap();
        let make = || Zram::make(4 << 20, notes.path());
        let zram = match make() {
            Ok(zram) => zram,
            Err(why) => {
                println!("skipped: {why}");
                return;
            }
        };
        let (path, number) = (zram.path(), zram.number);
        assert_eq!(std::fs::read(&path).unwrap(), vec![0; 4 << 20]);
        let note = notes.path().join(number.to_string());
        clear(notes.path());
        assert!(path.exists() && note.exists(), "its process lives");
        // As if it had been killed.
        let mut zram = std::mem::ManuallyDrop::new(zram);
        zram.held = None;
        let boot = std::fs::read_to_string(&note).unwrap();
        std::fs::write(&note, "of another boot").unwrap();
        clear(notes.path());
        assert!(path.exists() && !note.exists(), "that number may be anybody's");
        std::fs::write(&note, boot).unwrap();
        let in_use = File::open(&path).unwrap();
        clear(notes.path());
        assert!(path.exists() && note.exists(), "it is tried again");
        drop(in_use);
        // Other programs look at new devices too, and hold them open meanwhile.
        for _ in 0..100 {
            clear(notes.path());
            if !note.exists() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        assert!(!Path::new(&format!("/sys/block/zram{number}")).exists());
        assert_eq!(std::fs::read_dir(notes.path()).unwrap().count(), 0);
        let again = make().unwrap();
        let sys = format!("/sys/block/zram{}", again.number);
        drop(again);
        assert!(!Path::new(&sys).exists());
        assert_eq!(std::fs::read_dir(notes.path()).unwrap().count(), 0);
    }
}
