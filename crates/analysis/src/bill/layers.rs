//! Results of building the layers, as the tools and the kernel of their place reported them, in
//! words: level and chunk of an array, properties of a pool, settings that both ends of a
//! connection agreed on.

use crate::findings::layers::LayerReport;
use iotax_facts::machine::Device;
use iotax_model::record::LayerUp;
use iotax_store::RunData;
use iotax_units::show_bytes;

/// Returns all recorded layers. A resumed run has recorded some again; each appears once.
pub fn layers(run: &RunData) -> Vec<LayerReport> {
    let mut all: Vec<LayerReport> = Vec::new();
    for one in &run.layers {
        let known = |known: &&mut LayerReport| {
            (&known.stacks, &known.layer, &known.part, &known.place)
                == (&one.stacks, &one.layer, &one.part, &one.place)
        };
        let report = LayerReport {
            stacks: one.stacks.clone(),
            layer: one.layer.clone(),
            part: one.part.clone(),
            place: one.place.clone(),
            device: one.device.clone(),
            settings: one.settings.clone(),
            sentence: sentence(one),
        };
        match all.iter_mut().find(known) {
            Some(known) => *known = report,
            None => all.push(report),
        }
    }
    all
}

/// Returns the sentence: `STACKS: nvmf host nvme1n1 of lab: ...`
fn sentence(one: &LayerUp) -> String {
    let name = one.device.as_ref().map_or("", |device| &device.name);
    let layer = if one.device.is_some() && one.part.is_empty() { "" } else { &one.layer };
    let what: Vec<&str> =
        [layer, &one.part, name].into_iter().filter(|word| !word.is_empty()).collect();
    let device = one.device.as_ref().and_then(device_words);
    let settings = one.settings.iter().map(|(key, word)| format!("{key} {}", with_unit(key, word)));
    let words: Vec<String> = device.into_iter().chain(settings).collect();
    let words = if words.is_empty() { "no details are known".to_owned() } else { words.join(", ") };
    format!("{}: {} of {}: {words}", one.stacks.join(", "), what.join(" "), one.place)
}

/// Keys of md that [`device_words`] puts into words of its own; others appear under their kernel
/// names.
const SAID: &[&str] =
    &["level", "raid_disks", "chunk_size", "layout", "metadata_version", "bitmap/location"];

/// Describes an array: `raid5 of 4, chunk 64 KiB, left-symmetric, metadata 1.2, no bitmap, ...`.
/// For any other device it describes the block sizes.
fn device_words(device: &Device) -> Option<String> {
    let md = |key: &str| device.md.get(key).map(String::as_str);
    let Some(level) = md("level") else { return blocks(device) };
    let size = |word: &str| word.parse().map_or_else(|_| word.to_owned(), show_bytes);
    let bitmap = |word: &str| match word {
        "none" => "no bitmap".to_owned(),
        "file" => "bitmap in a file".to_owned(),
        _ => "internal bitmap".to_owned(),
    };
    let mut words = vec![match md("raid_disks") {
        Some(disks) => format!("{level} of {disks}"),
        None => level.to_owned(),
    }];
    words.extend(
        md("chunk_size").filter(|word| *word != "0").map(|word| format!("chunk {}", size(word))),
    );
    words.extend(md("layout").and_then(|word| layout(level, word.parse().ok()?)));
    words.extend(md("metadata_version").map(|word| format!("metadata {word}")));
    words.extend(md("bitmap/location").map(bitmap));
    let others = device.md.iter().filter(|(key, _)| !SAID.contains(&key.as_str()));
    words.extend(others.map(|(key, word)| format!("{key} {}", with_unit(key, word))));
    Some(words.join(", "))
}

/// Settings that are in bytes, by the last word of their key: it follows the name of the volume for
/// volumes other than the main one.
const BYTES: &[&str] = &[
    "stripe_size",
    "chunk_size",
    "volblocksize",
    "recordsize",
    "param_inline_data_size",
    "first_burst_len",
    "max_burst_len",
    "max_recv_dlength",
    "max_xmit_dlength",
    "block_size",
];

/// Adds the unit to a setting: sizes are in bytes; md's speeds, such as `4096 (local)`, are in
/// KiB/s.
fn with_unit(key: &str, word: &str) -> String {
    let last = key.rsplit(' ').next().unwrap_or_default();
    match (word.split_once(' '), word.parse()) {
        (Some((number, whose)), _) if key.starts_with("sync_speed") => {
            format!("{number} KiB/s {whose}")
        }
        (_, Ok(bytes)) if BYTES.contains(&last) => show_bytes(bytes),
        _ => word.to_owned(),
    }
}

/// Returns mdadm's name for the kernel's layout number (drivers/md/raid5.h, raid10.c: near copies,
/// far copies, and whether these are offset).
fn layout(level: &str, number: u64) -> Option<String> {
    match level {
        "raid4" | "raid5" | "raid6" => {
            let names =
                ["left-asymmetric", "right-asymmetric", "left-symmetric", "right-symmetric"];
            names.get(usize::try_from(number).ok()?).map(|name| (*name).to_owned())
        }
        "raid10" => {
            let (near, far, offset) = (number & 0xff, number >> 8 & 0xff, number >> 16 & 1);
            Some(match (far, offset) {
                (..=1, _) => format!("n{near}"),
                (far, 0) => format!("f{far}"),
                (far, _) => format!("o{far}"),
            })
        }
        _ => None,
    }
}

/// Describes a device by the block sizes that the kernel reports. Of a striped volume
/// `minimum_io_size` is the stripe unit and `optimal_io_size` the whole stripe; of a ZFS volume
/// they are its block size.
fn blocks(device: &Device) -> Option<String> {
    let keys = ["minimum_io_size", "optimal_io_size", "physical_block_size"];
    let size = |key: &str| {
        let bytes: u64 = device.queue.get(key)?.parse().ok()?;
        (bytes > 0).then(|| format!("{key} {}", show_bytes(bytes)))
    };
    let words: Vec<String> = keys.into_iter().filter_map(size).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{findings, twin};

    #[test]
    fn an_array_is_told_in_mdadms_words() {
        let run = twin::states();
        let found = findings(&run).layers;
        let [array] = found.as_slice() else { panic!("one array: {found:?}") };
        assert_eq!(
            array.sentence,
            "mdraid(level=5): md127 of lab: raid5 of 4, chunk 64 KiB, left-symmetric, metadata 1.2, no bitmap, stripe_cache_size 256, sync_speed_max 4096 KiB/s (local)"
        );
        assert_eq!(layout("raid10", 0x102).as_deref(), Some("n2"));
        assert_eq!(layout("raid10", 0x201).as_deref(), Some("f2"));
        assert_eq!(layout("raid10", 0x10301).as_deref(), Some("o3"));
        assert_eq!((layout("raid0", 0), layout("raid5", 9)), (None, None));
    }

    #[test]
    fn a_volume_is_told_by_its_blocks_and_the_last_time_counts() {
        let mut run = twin::states();
        let mut again = run.layers[0].clone();
        let device = again.device.as_mut().unwrap();
        device.md.clear();
        device.queue.extend([("minimum_io_size".to_owned(), "65536".to_owned())]);
        run.layers.push(again.clone());
        let found = layers(&run);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].sentence.ends_with("of lab: minimum_io_size 64 KiB"),
            "{}",
            found[0].sentence
        );
        again.device.as_mut().unwrap().queue.clear();
        assert_eq!(sentence(&again), "mdraid(level=5): md127 of lab: no details are known");
    }

    #[test]
    fn both_ends_of_an_export_are_told_and_a_pool_by_its_properties() {
        let mut run = twin::states();
        let layer =
            |layer: &str, part: &str, device: Option<&str>, settings: &[(&str, &str)]| LayerUp {
                stacks: vec!["S".into()],
                layer: layer.into(),
                part: part.into(),
                place: "lab".into(),
                device: device.map(|name| Device { name: name.into(), ..Device::default() }),
                settings: settings
                    .iter()
                    .map(|(key, word)| ((*key).into(), (*word).into()))
                    .collect(),
            };
        run.layers = vec![
            layer(
                "nvmf",
                "target",
                None,
                &[("addr_trtype", "tcp"), ("param_inline_data_size", "16384")],
            ),
            layer("nvmf", "host", Some("nvme1n1"), &[("queue_count", "3"), ("sqsize", "127")]),
            layer("zfs", "", Some("zd0"), &[("compression", "lz4"), ("volblocksize", "16384")]),
            layer("lvm", "", Some("dm-3"), &[("pool chunk_size", "65536"), ("segtype", "thin")]),
        ];
        let sentences: Vec<String> = layers(&run).into_iter().map(|one| one.sentence).collect();
        assert_eq!(
            sentences,
            [
                "S: nvmf target of lab: addr_trtype tcp, param_inline_data_size 16 KiB",
                "S: nvmf host nvme1n1 of lab: queue_count 3, sqsize 127",
                "S: zd0 of lab: compression lz4, volblocksize 16 KiB",
                "S: dm-3 of lab: pool chunk_size 64 KiB, segtype thin",
            ]
        );
    }
}
