//! Reads the size, usage, watchers and settings of an image, as its cluster reports them.

use super::Cluster;
use super::cluster::json_word;
use crate::settings::ThingSettings;
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::Path;

const MOST_NAMES: usize = 10;

/// Size, usage and watchers of an image, which are checked before it is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    pub bytes: u64,
    /// Bytes of the objects that exist. `None` if the image lacks the feature fast-diff, without
    /// which every object must be checked.
    pub used: Option<u64>,
    pub watchers: Vec<String>,
}

impl Image {
    pub fn look_up(cluster: &Cluster, pool: &str, image: &str) -> Result<Image> {
        let name = format!("{pool}/{image}");
        let info = cluster.run_json("rbd", &["info", &name])?;
        let status = cluster.run_json("rbd", &["status", &name])?;
        let has_fast_diff =
            info["features"].as_array().is_some_and(|all| all.iter().any(|one| one == "fast-diff"));
        let usage = has_fast_diff.then(|| cluster.run_json("rbd", &["du", &name])).transpose()?;
        let watchers = status["watchers"].as_array().into_iter().flatten();
        Ok(Image {
            bytes: info["size"].as_u64().context("rbd info reports no size")?,
            used: usage.and_then(|usage| used_bytes(&usage)),
            watchers: watchers.filter_map(|one| json_word(&one["address"])).collect(),
        })
    }
}

/// Returns the bytes that the image itself uses, in the output of `rbd du`: its row comes after
/// those of its snapshots.
fn used_bytes(usage: &Value) -> Option<u64> {
    usage["images"].as_array()?.last()?["used_size"].as_u64()
}

/// Describes which part of a name a cluster lacks, and what it has instead: `there is no pool vms;
/// there are rbd, backup`. Returns `None` if it has both, or does not answer.
pub fn absent(cluster: &Cluster, pool: &str, image: &str) -> Option<String> {
    let list = |program: &str, words: &[&str]| -> Option<Vec<String>> {
        serde_json::from_value(cluster.run_json(program, words).ok()?).ok()
    };
    let pools = list("ceph", &["osd", "pool", "ls"])?;
    if !pools.iter().any(|one| one == pool) {
        return Some(not_among(&format!("there is no pool {pool}"), &pools));
    }
    let images = list("rbd", &["ls", pool])?;
    (!images.iter().any(|one| one == image))
        .then(|| not_among(&format!("the pool {pool} has no image {image}"), &images))
}

fn not_among(what: &str, there: &[String]) -> String {
    let shown: Vec<&str> = there.iter().take(MOST_NAMES).map(String::as_str).collect();
    let more = if there.len() > MOST_NAMES { ", ..." } else { "" };
    match shown.as_slice() {
        [] => format!(
            "{what}, nor any other; hint: create one first; iotax creates nothing in an existing cluster"
        ),
        all => format!("{what}; hint: name one of these: {}{more}", all.join(", ")),
    }
}

pub fn image_settings(conf: &Path, pool: &str, image: &str) -> Result<ThingSettings> {
    let cluster = Cluster { conf };
    let mut settings = ThingSettings::new();
    let info = cluster.run_json("rbd", &["info", &format!("{pool}/{image}")])?;
    for name in ["object_size", "features"] {
        settings.extend(json_word(&info[name]).map(|value| (name.to_owned(), value)));
    }
    settings.extend(pool_settings(conf, pool)?);
    Ok(settings)
}

pub fn pool_settings(conf: &Path, pool: &str) -> Result<ThingSettings> {
    let of_pool = Cluster { conf }.run_json("ceph", &["osd", "pool", "get", pool, "all"])?;
    let setting =
        |name: &&str| json_word(&of_pool[*name]).map(|value| (format!("pool {name}"), value));
    Ok(["size", "min_size", "pg_num"].iter().filter_map(setting).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_there_is_named_with_what_is() {
        let there: Vec<String> = (0..12).map(|at| format!("p{at}")).collect();
        let said = not_among("there is no pool vms", &there);
        assert!(
            said.starts_with("there is no pool vms; hint: name one of these: p0, p1")
                && said.ends_with("p9, ..."),
            "{said}"
        );
        assert!(
            not_among("the pool vms has no image i", &[])
                .contains("no image i, nor any other; hint: ")
        );
    }

    #[test]
    fn of_an_image_with_snapshots_its_own_row_counts() {
        let row = |used: u64| json!({"name": "i", "provisioned_size": 100, "used_size": used});
        assert_eq!(used_bytes(&json!({"images": [row(8), row(64)]})), Some(64));
        assert_eq!(used_bytes(&json!({"images": []})), None);
    }
}
