//! Signs that an image will never boot, so that its guest is given up early: the last message of a
//! firmware, boot loader or kernel, repeated resets, or an image that is not read. Slowness alone
//! is no sign: a system that goes on reading or printing is waited for.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

/// Messages on the console after which nothing follows, each with its source: SeaBIOS, OVMF (which
/// starts its shell if it has one), GRUB, Linux, the initramfs of Debian and Ubuntu, systemd.
const LAST_WORDS: &[(Speaker, &str)] = &[
    (Speaker::Firmware, "No bootable device"),
    (Speaker::Firmware, "No bootable option or device was found"),
    (Speaker::Firmware, "UEFI Interactive Shell"),
    (Speaker::Loader, "grub rescue>"),
    (Speaker::Kernel, "Kernel panic - not syncing"),
    (Speaker::System, "(initramfs)"),
    (Speaker::System, "You are in emergency mode"),
];

/// Time that must pass after a sign before it counts: the agent may have been started before the
/// message appeared.
const GRACE: Duration = Duration::from_secs(5);
/// Largest number of resets of a guest before it is given up. A system may restart once or twice
/// while it boots, and SeaBIOS adds a reset each time.
const MOST_RESETS: u32 = 8;
/// Bytes read of an image from which on its boot loader counts as read. Every boot loader is
/// larger; a boot sector without one is 512 bytes.
const LEAST_READ: u64 = 64 << 10;
/// Most bytes of the console that are read at once.
const MOST_CONSOLE: u64 = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    Firmware,
    Loader,
    Kernel,
    System,
}

impl Speaker {
    fn word(self) -> &'static str {
        match self {
            Speaker::Firmware => "the firmware",
            Speaker::Loader => "its boot loader",
            Speaker::Kernel => "its kernel",
            Speaker::System => "its system",
        }
    }
}

/// Reason to give up a guest that boots.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Sign {
    #[error("{} said \"{said}\"", speaker.word())]
    LastWords { speaker: Speaker, said: String },
    #[error("it started over {0} times")]
    StartsOver(u32),
    #[error("{read} bytes of the image were read, and for {idle:?} nothing more was read or said")]
    Idle { read: u64, idle: Duration },
}

impl Sign {
    pub fn hint(&self, uefi: bool) -> &'static str {
        match (self, uefi) {
            (
                Sign::LastWords {
                    speaker: Speaker::Kernel | Speaker::System | Speaker::Loader,
                    ..
                },
                _,
            ) => "does it start in QEMU by itself, with its disk as virtio-blk?",
            (_, true) => {
                "has it an EFI system partition with a boot loader? one that starts with a BIOS takes firmware=direct"
            }
            (_, false) => {
                "has it a boot loader for a BIOS? one that starts with UEFI takes firmware=ovmf"
            }
        }
    }
}

#[derive(Debug)]
pub struct Signs {
    /// Time without progress after which the guest is given up, before its boot loader is read.
    idle: Duration,
    looked: u64,
    found: Option<(Sign, Instant)>,
    resets: u32,
    /// Length of the console in bytes, bytes read of the image, and when one of these last changed.
    progress: (u64, u64, Instant),
}

impl Signs {
    /// Begins to watch a guest that starts now. The first `looked` bytes on its console are of an
    /// earlier start and are skipped. `idle` is the limit without progress.
    pub fn new(looked: u64, idle: Duration) -> Signs {
        Signs { idle, looked, found: None, resets: 0, progress: (looked, 0, Instant::now()) }
    }

    /// Counts a reset of the guest.
    ///
    /// # Errors
    /// The guest was reset more often than a boot ever needs.
    pub fn reset(&mut self) -> Result<(), Sign> {
        self.resets += 1;
        if self.resets > MOST_RESETS { Err(Sign::StartsOver(self.resets)) } else { Ok(()) }
    }

    /// Looks for signs on the console and in the number of bytes read of the image, if known.
    ///
    /// # Errors
    /// A sign that has lasted long enough.
    pub fn check_console(&mut self, console: &Path, read: Option<u64>) -> Result<(), Sign> {
        self.listen(console);
        if let Some((sign, _)) = self.found.as_ref().filter(|(_, since)| since.elapsed() >= GRACE) {
            return Err(sign.clone());
        }
        let Some(read) = read else { return Ok(()) };
        let (said, before, since) = self.progress;
        if (said, before) != (self.looked, read) {
            self.progress = (self.looked, read, Instant::now());
        } else if read < LEAST_READ && said > 0 && since.elapsed() >= self.idle {
            return Err(Sign::Idle { read, idle: self.idle });
        }
        Ok(())
    }

    fn listen(&mut self, console: &Path) {
        let length = length(console);
        if self.found.is_some() || length <= self.looked {
            return;
        }
        // Words may lie across the end of the last look.
        let longest = LAST_WORDS.iter().map(|(_, words)| words.len() as u64).max().unwrap_or(0);
        let from = self.looked.saturating_sub(longest).max(length.saturating_sub(MOST_CONSOLE));
        self.looked = length;
        self.found = last_words(&read_text_from(console, from)).map(|sign| (sign, Instant::now()));
    }
}

fn last_words(console: &str) -> Option<Sign> {
    let said = |(speaker, words): &(Speaker, &str)| {
        let line = console.lines().find(|line| line.contains(words))?;
        Some(Sign::LastWords {
            speaker: *speaker,
            said: line[line.find(words)?..].trim_end().to_owned(),
        })
    };
    LAST_WORDS.iter().find_map(said)
}

/// Returns the length of a console's log in bytes; 0 if there is none.
pub fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Reads up to 1 MiB of a console's log from an offset on, without control characters. Empty if it
/// cannot be read; bytes that are not UTF-8 are replaced.
fn read_text_from(path: &Path, from: u64) -> String {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|mut file| {
        file.seek(SeekFrom::Start(from))?;
        file.take(MOST_CONSOLE).read_to_end(&mut bytes)
    });
    read.map_or_else(|_| String::new(), |_| without_controls(&String::from_utf8_lossy(&bytes)))
}

/// Removes control characters except line ends, so that no guest can control the user's terminal.
pub fn without_controls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            // A control sequence ends with its first letter or one of @ [ \ ] ^ _ ` { | } ~.
            '\u{1b}' if letters.peek() == Some(&'[') => {
                letters.next();
                while letters.next().is_some_and(|letter| !('@'..='~').contains(&letter)) {}
            }
            '\n' => out.push('\n'),
            // Firmware sends a line's start, not its end, before it goes on somewhere else.
            '\r' if letters.peek() != Some(&'\n') => out.push('\n'),
            letter if letter.is_control() => {}
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    /// A console with these words, looked at piece by piece; what was found at once, before its
    /// grace.
    fn heard(pieces: &[&str]) -> Option<Sign> {
        let folder = tempfile::tempdir().unwrap();
        let console = folder.path().join("console");
        let mut signs = Signs::new(0, LONG);
        let mut all = String::new();
        for piece in pieces {
            all += piece;
            std::fs::write(&console, &all).unwrap();
            signs.check_console(&console, None).unwrap();
        }
        signs.found.map(|(sign, _)| sign)
    }

    #[test]
    fn last_words_are_heard_whoever_says_them() {
        let seabios = "SeaBIOS (version 1.16.2)\r\nBooting from Hard Disk...\r\nBoot failed: not a bootable disk\r\n\r\n";
        assert_eq!(heard(&[seabios]), None, "it goes on to the next disk");
        let last = heard(&[seabios, "No bootab", "le device.\r\n"]).unwrap();
        assert_eq!(last.to_string(), "the firmware said \"No bootable device.\"");
        assert!(
            last.hint(false).contains("firmware=ovmf")
                && last.hint(true).contains("firmware=direct")
        );
        let ovmf = "\u{1b}[2J\u{1b}[01;01HBdsDxe: failed to load Boot0001\r\n\u{1b}[0mBdsDxe: No bootable option or device was found.\r\n";
        assert_eq!(
            heard(&[ovmf]).unwrap().to_string(),
            "the firmware said \"No bootable option or device was found.\""
        );
        let panic =
            heard(&["[    1.2] Kernel panic - not syncing: VFS: Unable to mount root fs\n"])
                .unwrap();
        assert!(
            panic.to_string().starts_with("its kernel said \"Kernel panic - not syncing: VFS"),
            "{panic}"
        );
        assert!(panic.hint(false).contains("by itself"));
        assert_eq!(
            heard(&["GRUB loading.\n", "[    0.0] Linux version 6.1\n", "Started cloud-init\n"]),
            None
        );
    }

    #[test]
    fn words_count_after_their_grace_and_not_those_of_an_earlier_start() {
        let folder = tempfile::tempdir().unwrap();
        let console = folder.path().join("console");
        std::fs::write(&console, "No bootable device.\n").unwrap();
        let mut again = Signs::new(length(&console), LONG);
        again.check_console(&console, None).unwrap();
        assert_eq!(again.found, None);
        let mut signs = Signs { looked: 0, ..again };
        signs.check_console(&console, None).unwrap();
        signs.found = signs.found.map(|(sign, since)| (sign, since - GRACE));
        assert!(matches!(
            signs.check_console(&console, None),
            Err(Sign::LastWords { speaker: Speaker::Firmware, .. })
        ));
    }

    #[test]
    fn an_image_that_is_not_read_is_given_up_and_a_slow_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let console = folder.path().join("console");
        let mut signs = Signs::new(0, Duration::ZERO);
        signs.check_console(&console, Some(0)).unwrap();
        signs.check_console(&console, Some(0)).unwrap();
        std::fs::write(&console, "Booting from Hard Disk...\n").unwrap();
        signs.check_console(&console, Some(512)).unwrap();
        let idle = Sign::Idle { read: 512, idle: Duration::ZERO };
        assert_eq!(signs.check_console(&console, Some(512)), Err(idle));
        signs.check_console(&console, Some(1 << 20)).unwrap();
        signs.check_console(&console, Some(1 << 20)).unwrap();
        assert_eq!((0..MOST_RESETS).map(|_| signs.reset()).find(Result::is_err), None);
        assert_eq!(signs.reset(), Err(Sign::StartsOver(MOST_RESETS + 1)));
    }

    #[test]
    fn what_steers_a_terminal_is_left_out() {
        assert_eq!(
            without_controls("\u{1b}[2J\u{1b}[01;01Ha\u{1b}[0;37;40mb\r\nc\u{7}\rd\u{1b}"),
            "ab\nc\nd"
        );
    }
}
