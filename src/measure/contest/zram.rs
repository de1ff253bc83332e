//! A compressed disk in memory of our own, made for the contest and taken away behind it. Nothing is ever written to it, so that it
//! answers with zeros at once: a block device without a device. Those of others are never touched: it is the kernel that gives us a
//! new one, with a number that is written down before it gets its size.

use std::path::{Path, PathBuf};

/// Where the kernel gives and takes them.
const CONTROL: &str = "/sys/class/zram-control";

/// A disk of ours.
pub(super) struct Zram {
    number: u32,
    /// Bears its number while it exists.
    note: PathBuf,
}

impl Zram {
    /// Asks the kernel for a new one of so many bytes.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn make(bytes: u64, notes: &Path) -> Result<Zram, String> {
        clear(notes);
        let number = std::fs::read_to_string(Path::new(CONTROL).join("hot_add"))
            .map_err(|error| format!("no zram device can be had ({error}); hint: modprobe zram, as root"))?;
        let number: u32 = number.trim().parse().map_err(|_| format!("hot_add of zram says \"{number}\""))?;
        let note = notes.join(number.to_string());
        let zram = Zram { number, note };
        let failed = |what: &str, error: std::io::Error| format!("cannot {what} zram{number}: {error}");
        std::fs::create_dir_all(notes)
            .and_then(|()| std::fs::write(&zram.note, ""))
            .map_err(|error| failed("write down the number of", error))?;
        std::fs::write(zram.attribute("disksize"), bytes.to_string())
            .map_err(|error| failed("give a size to", error))?;
        Ok(zram)
    }

    /// `/dev/zram1`
    pub(super) fn path(&self) -> PathBuf {
        format!("/dev/zram{}", self.number).into()
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

/// Takes away those that a kill left.
pub(super) fn clear(notes: &Path) {
    let Ok(entries) = std::fs::read_dir(notes) else { return };
    for entry in entries.flatten() {
        let Some(number) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        if !Path::new(&format!("/sys/block/zram{number}")).exists() || remove(number).is_ok() {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// The kernel refuses one that is in use.
fn remove(number: u32) -> std::io::Result<()> {
    std::fs::write(format!("/sys/block/zram{number}/reset"), "1")?;
    std::fs::write(Path::new(CONTROL).join("hot_remove"), number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_had_and_given_back_also_behind_a_kill() {
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
        // As if this process had been killed.
        std::mem::forget(zram);
        assert!(notes.path().join(number.to_string()).exists());
        clear(notes.path());
        assert!(!Path::new(&format!("/sys/block/zram{number}")).exists());
        assert_eq!(std::fs::read_dir(notes.path()).unwrap().count(), 0);
        let again = make().unwrap();
        let sys = format!("/sys/block/zram{}", again.number);
        drop(again);
        assert!(!Path::new(&sys).exists());
        assert_eq!(std::fs::read_dir(notes.path()).unwrap().count(), 0);
    }
}
