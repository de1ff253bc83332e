//! Actual settings of what a step made, as its own tools or the kernel report them. They may differ
//! from what the step asked for: by a version's default, a rounded size, or an offer that the other
//! end declined.

use anyhow::{Context, Result};
use iotax_host::probe::Probe;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Values by their names, both as their source spells them; sizes are plain numbers of bytes.
pub type ThingSettings = BTreeMap<String, String>;

/// Reads the named files of a kernel folder, without those that are missing or empty.
pub fn files(probe: &Probe, folder: &Path, names: &[&str]) -> ThingSettings {
    let setting = |name: &&str| {
        let value = probe.read_trimmed(folder.join(name)).filter(|value| !value.is_empty())?;
        Some(((*name).to_owned(), value))
    };
    names.iter().filter_map(setting).collect()
}

/// Parses the output of `zfs get` or `zpool get` with `-H -p -o property,value`: on each line a
/// property, a tab and its value. Leaves out properties without a value (`-`).
pub fn properties(text: &str) -> ThingSettings {
    let lines = text.lines().filter_map(|line| line.split_once('\t'));
    let set = lines.filter(|(_, value)| *value != "-");
    set.map(|(name, value)| (name.to_owned(), value.trim_end().to_owned())).collect()
}

/// Report of `lvs --reportformat json` on all volumes in one group.
#[derive(Deserialize)]
struct Lvs {
    report: Vec<SettingPart>,
}

#[derive(Deserialize)]
struct SettingPart {
    lv: Vec<BTreeMap<String, String>>,
}

/// Parses a JSON report of `lvs`. Fields of the volume `main` have their own names as keys, those
/// of other volumes the volume's name before it: `pool chunk_size`. Leaves out values that are
/// empty, 0 or unknown, since those fields do not apply.
///
/// # Errors
/// If the text is not such a report.
pub fn volumes(text: &str, main: &str) -> Result<ThingSettings> {
    let parsed: Lvs =
        serde_json::from_str(text).context("cannot understand what lvm lvs reports")?;
    let rows = parsed.report.into_iter().flat_map(|part| part.lv);
    let of_row = |mut row: BTreeMap<String, String>| {
        // A volume that nobody may use is in brackets.
        let name = row.remove("lv_name").unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let set =
            row.into_iter().filter(|(_, value)| !["", "0", "unknown"].contains(&value.as_str()));
        let key = move |field: String| if name == main { field } else { format!("{name} {field}") };
        set.map(move |(field, value)| (key(field), value)).collect::<Vec<_>>()
    };
    Ok(rows.flat_map(of_row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use iotax_host::made_up::server;

    fn told(settings: &ThingSettings) -> String {
        settings.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
    }

    /// As LVM 2.03.16 reported a thin volume over two stripes.
    #[test]
    fn volumes_beside_the_main_one_are_told_behind_their_names() {
        let row = |name: &str, rest: &str| {
            format!(r#"{{"lv_name":"{name}","cache_mode":"","cache_policy":"",{rest}}}"#)
        };
        let plain = r#""zero":"unknown","discards":"","chunk_size":"0""#;
        let rows = [
            row(
                "[pool_tdata]",
                &format!(r#""segtype":"striped","stripes":"2","stripe_size":"65536",{plain}"#),
            ),
            row(
                "pool",
                r#""segtype":"thin-pool","stripes":"1","stripe_size":"0","zero":"zero","discards":"passdown","chunk_size":"65536""#,
            ),
            row("vol", &format!(r#""segtype":"thin","stripes":"0","stripe_size":"0",{plain}"#)),
        ];
        let report = format!(r#"{{"report":[{{"lv":[{}]}}]}}"#, rows.join(","));
        let all = volumes(&report, "vol").unwrap();
        assert_eq!(
            told(&all),
            "pool chunk_size=65536 pool discards=passdown pool segtype=thin-pool pool stripes=1 pool zero=zero \
             pool_tdata segtype=striped pool_tdata stripe_size=65536 pool_tdata stripes=2 segtype=thin"
        );
        assert!(
            volumes("no such thing", "vol").unwrap_err().to_string().contains("lvm lvs reports")
        );
    }

    #[test]
    fn a_property_without_a_value_is_left_out() {
        let all = properties("volblocksize\t16384\nrecordsize\t-\ncompression\tlz4\n");
        assert_eq!(told(&all), "compression=lz4 volblocksize=16384");
    }

    #[test]
    fn a_file_that_is_not_there_or_empty_tells_nothing() {
        let machine = server();
        machine.put(&[
            ("/sys/class/nvme/nvme9/sqsize", "127\n"),
            ("/sys/class/nvme/nvme9/kato", "\n"),
        ]);
        let all = files(
            &machine.probe,
            Path::new("/sys/class/nvme/nvme9"),
            &["sqsize", "kato", "address"],
        );
        assert_eq!(told(&all), "sqsize=127");
    }
}
