//! Saves and restores the settings of a disk's queue that a person can change (scheduler,
//! nr_requests, read_ahead_kb, ...), because a driver that gets a disk back starts with its own.
//! The settings of a scheduler (iosched/) are not saved.

use anyhow::{Context, Result, bail};
use iotax_host::block::sys_block;
use iotax_host::probe::Probe;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Values by the names of their files in the disk's `queue` folder.
pub type QueueSettings = BTreeMap<String, String>;

/// Name of the setting that is restored first, as it decides which values others may have.
const SCHEDULER: &str = "scheduler";

/// Reads the writable settings of a disk's queue.
pub fn queue_settings(probe: &Probe, disk: &str) -> QueueSettings {
    let folder = sys_block(disk).join("queue");
    let can_be_written = |name: &String| {
        let meta = fs::metadata(probe.path_below(folder.join(name)));
        meta.is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o600 == 0o600)
    };
    let names = probe.folder_names(&folder).into_iter().filter(can_be_written);
    names
        .filter_map(|name| Some((name.clone(), chosen(&probe.read_trimmed(folder.join(name))?))))
        .collect()
}

/// Returns the word in brackets of `[none] mq-deadline kyber`, or all of a text without brackets
/// (`write back`).
pub fn chosen(text: &str) -> String {
    let word = text.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
    word.unwrap_or(text).to_owned()
}

const READ_AHEAD: &str = "read_ahead_kb";

/// Returns how far the kernel reads ahead on a disk, in KiB; `None` for a device without a queue of
/// its own, such as a partition.
pub fn read_ahead_kib(probe: &Probe, disk: &str) -> Option<u64> {
    probe.read_trimmed(sys_block(disk).join("queue").join(READ_AHEAD))?.parse().ok()
}

/// Sets how far the kernel reads ahead on a disk, in KiB.
///
/// # Errors
/// The kernel refuses the value, or keeps another.
pub fn set_read_ahead(probe: &Probe, disk: &str, kib: u64) -> Result<()> {
    let (file, was) = (sys_block(disk).join("queue").join(READ_AHEAD), read_ahead_kib(probe, disk));
    fs::write(probe.path_below(&file), kib.to_string())
        .with_context(|| format!("cannot write {kib} to {}", file.display()))?;
    let kept = read_ahead_kib(probe, disk);
    if kept != Some(kib) {
        // What the kernel made of it must not stay.
        let back = was.map(|was| fs::write(probe.path_below(&file), was.to_string()));
        bail!(
            "{} keeps {} KiB, not {kib}{}; hint: a multiple of the kernel's page",
            file.display(),
            kept.unwrap_or(0),
            if matches!(back, Some(Ok(()))) { ", and was restored" } else { "" }
        );
    }
    Ok(())
}

/// How often settings are checked and restored again. The kernel shows a disk that it adds before
/// it has set all of them (`disk_update_readahead` comes last in `device_add_disk`).
const LOOKS: usize = 3;

/// Restores the settings that differ from `was`, and does so again after each of three calls of
/// `pause`, in which the kernel may have changed them. Returns a message for each that could not be
/// written the last time.
pub fn restore_for_good(
    probe: &Probe,
    disk: &str,
    was: &QueueSettings,
    mut pause: impl FnMut(),
) -> Vec<String> {
    let mut notes = restore(probe, disk, was);
    for _ in 0..LOOKS {
        pause();
        notes = restore(probe, disk, was);
    }
    notes
}

fn restore(probe: &Probe, disk: &str, was: &QueueSettings) -> Vec<String> {
    let (first, others): (Vec<_>, Vec<_>) = was.iter().partition(|(name, _)| *name == SCHEDULER);
    let mut notes = Vec::new();
    for (name, value) in first.into_iter().chain(others) {
        let file = sys_block(disk).join("queue").join(name);
        let now = probe.read_trimmed(&file).map(|text| chosen(&text));
        if now.as_ref() == Some(value) {
            continue;
        }
        if let Err(error) = fs::write(probe.path_below(&file), value) {
            let now = now.as_deref().unwrap_or("nothing");
            notes.push(format!(
                "{} was {value} and is {now}: cannot write it back: {error}",
                file.display()
            ));
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_host::made_up::server;

    #[test]
    fn what_can_be_written_is_kept_and_written_back_where_it_differs() {
        let machine = server();
        let queue = "/sys/block/nvme0n1/queue";
        let file = |name: &str| format!("{queue}/{name}");
        machine.put(&[
            (&file("scheduler"), "none [mq-deadline] kyber\n"),
            (&file("nr_requests"), "64\n"),
            (&file("write_cache"), "write back\n"),
            (&file("max_hw_sectors_kb"), "1024\n"),
            (&file("iosched/fifo_batch"), "16\n"),
        ]);
        let read_only = std::fs::Permissions::from_mode(0o444);
        for name in ["max_hw_sectors_kb", "logical_block_size", "rotational"] {
            fs::set_permissions(machine.probe.path_below(file(name)), read_only.clone()).unwrap();
        }
        let was = queue_settings(&machine.probe, "nvme0n1");
        let expected =
            [("nr_requests", "64"), ("scheduler", "mq-deadline"), ("write_cache", "write back")];
        assert_eq!(was, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
        machine.put(&[
            (&file("scheduler"), "[none] mq-deadline kyber\n"),
            (&file("nr_requests"), "1023\n"),
            (&file("write_cache"), "write back \n"),
        ]);
        assert_eq!(restore(&machine.probe, "nvme0n1", &was), Vec::<String>::new());
        let now = |name| fs::read_to_string(machine.probe.path_below(file(name))).unwrap();
        assert_eq!((now("scheduler"), now("nr_requests")), ("mq-deadline".into(), "64".into()));
        assert_eq!(now("write_cache"), "write back \n", "as it was: not written");
    }

    #[test]
    fn what_the_kernel_sets_once_more_is_written_back_again() {
        let machine = server();
        let file = "/sys/block/nvme0n1/queue/read_ahead_kb";
        machine.put(&[(file, "128\n")]);
        let was = [("read_ahead_kb".to_owned(), "64".to_owned())].into();
        let mut pauses = 0;
        let notes = restore_for_good(&machine.probe, "nvme0n1", &was, || {
            pauses += 1;
            if pauses == 1 {
                machine.put(&[(file, "128\n")]);
            }
        });
        assert_eq!((notes, pauses), (Vec::new(), LOOKS));
        assert_eq!(fs::read_to_string(machine.probe.path_below(file)).unwrap(), "64");
    }

    #[test]
    fn read_ahead_is_set_where_there_is_a_queue() {
        let machine = server();
        machine.put(&[("/sys/block/nvme0n1/queue/read_ahead_kb", "128\n")]);
        let read = |disk: &str| read_ahead_kib(&machine.probe, disk);
        assert_eq!((read("nvme0n1"), read("nvme9n1")), (Some(128), None));
        set_read_ahead(&machine.probe, "nvme0n1", 4096).unwrap();
        assert_eq!(read("nvme0n1"), Some(4096));
        let why = set_read_ahead(&machine.probe, "nvme9n1", 4096).unwrap_err().to_string();
        assert_eq!(why, "cannot write 4096 to /sys/block/nvme9n1/queue/read_ahead_kb");
    }

    #[test]
    fn what_cannot_be_written_back_is_told() {
        let machine = server();
        let was = [("nr_requests".to_owned(), "64".to_owned())].into();
        let gone = restore(&machine.probe, "nvme9n1", &was);
        assert_eq!(gone.len(), 1);
        let start =
            "/sys/block/nvme9n1/queue/nr_requests was 64 and is nothing: cannot write it back: ";
        assert!(gone[0].starts_with(start), "{gone:?}");
    }
}
