//! Reads what `ceph -s` reports.

use iotax_facts::cluster::ClusterStatus;
use serde_json::Value;

/// Reads the output of `ceph -s --format json`. Returns `None` if something is missing.
pub(super) fn parse(answer: &Value) -> Option<ClusterStatus> {
    let count = |key: &str| u32::try_from(answer["osdmap"][key].as_u64()?).ok();
    let groups = answer["pgmap"]["pgs_by_state"].as_array()?.iter();
    // Ceph prints only figures that are not 0.
    let figure = |key: &str| answer["pgmap"][key].as_f64().unwrap_or(0.0);
    Some(ClusterStatus {
        health: answer["health"]["status"].as_str()?.to_owned(),
        checks: answer["health"]["checks"].as_object()?.keys().cloned().collect(),
        osds: count("num_osds")?,
        up: count("num_up_osds")?,
        within: count("num_in_osds")?,
        groups: groups
            .map(|group| Some((group["state_name"].as_str()?.to_owned(), group["count"].as_u64()?)))
            .collect::<Option<_>>()?,
        degraded: figure("degraded_ratio"),
        misplaced: figure("misplaced_ratio"),
        inactive: figure("inactive_pgs_ratio"),
        recovering: figure("recovering_bytes_per_sec"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_reading_has_all_that_is_printed_and_zero_for_what_is_not() {
        let mut told = json!({
            "health": {"status": "HEALTH_WARN", "checks": {"OSD_DOWN": {"severity": "HEALTH_WARN"}}},
            "osdmap": {"num_osds": 3, "num_up_osds": 2, "num_in_osds": 3},
            "pgmap": {"pgs_by_state": [{"state_name": "active+clean", "count": 16}], "num_pgs": 16,
                "inactive_pgs_ratio": 0.75, "recovering_bytes_per_sec": 1000},
        });
        let status = parse(&told).unwrap();
        assert_eq!((status.osds, status.up, status.within, status.group_count()), (3, 2, 3, 16));
        assert_eq!((status.degraded, status.inactive, status.recovering), (0.0, 0.75, 1000.0));
        assert_eq!(
            (status.health.as_str(), status.checks.as_slice()),
            ("HEALTH_WARN", &["OSD_DOWN".to_owned()][..])
        );
        told["osdmap"] = json!({});
        assert_eq!(parse(&told), None);
    }
}
