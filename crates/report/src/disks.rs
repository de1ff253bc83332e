//! Disks of guests, and layers as they were set up, as read back before measuring.

use super::table::TextTable;
use iotax_analysis::Findings;
use iotax_analysis::findings::GuestDisk;
use std::collections::BTreeMap;

pub(super) fn guest_disk_table(findings: &Findings) -> Option<TextTable> {
    let mut disks: Vec<&GuestDisk> = Vec::new();
    for disk in findings.places.iter().flat_map(|place| &place.disks) {
        // Every visit reads them again.
        if !disks.iter().any(|known| known.stack == disk.stack) {
            disks.push(disk);
        }
    }
    if disks.is_empty() {
        return None;
    }
    let mut table = TextTable::default();
    table.push("disk of a guest", 0, disks.iter().map(|disk| disk.stack.clone()).collect());
    table.push("attach", 0, disks.iter().map(|disk| disk.attach.clone()).collect());
    if disks.iter().any(|disk| disk.qemu.contains_key("server")) {
        table.push(
            "served by",
            1,
            disks.iter().map(|disk| setting_words(&disk.qemu, "server")).collect(),
        );
    }
    table.push("there", 3, disks.iter().map(|disk| disk.path.display().to_string()).collect());
    if disks.iter().any(|disk| disk.qemu.get("format").is_some_and(|format| format != "raw")) {
        table.push("format", 0, disks.iter().map(format).collect());
    }
    for (head, rank, option) in [
        ("direct", 0, "cache.direct"),
        ("no-flush", 1, "cache.no-flush"),
        ("write-cache", 2, "write-cache"),
    ] {
        table.push(
            head,
            rank,
            disks.iter().map(|disk| setting_words(&disk.qemu, option)).collect(),
        );
    }
    table.push("guest sees", 0, disks.iter().map(|disk| guest_cache(&disk.guest)).collect());
    let queues = |disk: &&GuestDisk| {
        format!(
            "{} / {}",
            setting_words(&disk.qemu, "num-queues"),
            setting_words(&disk.guest, "num-queues")
        )
    };
    table.push("queues", 0, disks.iter().map(queues).collect());
    table.push(
        "scheduler",
        2,
        disks.iter().map(|disk| setting_words(&disk.guest, "scheduler")).collect(),
    );
    Some(table)
}

/// Returns the layers as they were set up and read back, one line each.
pub(super) fn layers(findings: &Findings) -> Vec<String> {
    findings.layers.iter().map(|one| one.sentence.clone()).collect()
}

pub(super) const LAYERS: &str = "Layers, as read back before measuring";

/// Returns `qcow2, 2 below`: for a chain, also the number of images under the top one.
fn format(disk: &&GuestDisk) -> String {
    let format = setting_words(&disk.qemu, "format");
    match disk.qemu.get("backing").map(String::as_str) {
        None | Some("0") => format,
        Some(below) => format!("{format}, {below} below"),
    }
}

/// Returns the cache as the guest sees it. For a read-only disk that means nothing: virtio-scsi and
/// virtio-blk report different ones.
fn guest_cache(guest: &BTreeMap<String, String>) -> String {
    match setting_words(guest, "read-only").as_str() {
        "on" => "read only".to_owned(),
        _ => setting_words(guest, "write-cache"),
    }
}

fn setting_words(settings: &BTreeMap<String, String>, option: &str) -> String {
    settings.get(option).cloned().unwrap_or_else(|| "-".to_owned())
}

pub(super) const LEGEND: &str = "as read back before measuring: QEMU's settings, what the guest's kernel sees, queues of QEMU / in use by the guest";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_a_guest_cannot_write_has_no_cache_for_it() {
        let guest = |read_only: &str| {
            let words = [("read-only", read_only), ("write-cache", "write through")];
            guest_cache(&words.map(|(key, word)| (key.to_owned(), word.to_owned())).into())
        };
        assert_eq!(
            (guest("on"), guest("off")),
            ("read only".to_owned(), "write through".to_owned())
        );
        assert_eq!(guest_cache(&BTreeMap::new()), "-");
    }
}
