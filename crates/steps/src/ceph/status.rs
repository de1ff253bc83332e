//! What `ceph -s` tells, and the state of the cluster by all of it together: the health checks alone call a cluster that lacks an
//! OSD for good healthy, the map of OSDs is ahead of the placement groups, and these are up to 5 s old.

use crate::state::ArrayState;
use serde_json::Value;
use std::fmt;

/// A reading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Status {
    /// `HEALTH_OK`.
    pub health: String,
    /// Names of its checks.
    pub checks: Vec<String>,
    /// OSDs that there are, that are up and that are in.
    pub osds: [u32; 3],
    /// States of placement groups, and how many are in each.
    pub groups: Vec<(String, u64)>,
    /// Share of copies that are missing.
    pub degraded: f64,
    /// Share of copies that are in another place than they should be.
    pub misplaced: f64,
}

impl Status {
    /// Of what `ceph -s --format json` prints; `None`: something is missing.
    pub fn understood(told: &Value) -> Option<Status> {
        let count = |key: &str| u32::try_from(told["osdmap"][key].as_u64()?).ok();
        let groups = told["pgmap"]["pgs_by_state"].as_array()?.iter();
        // It prints those that are not 0.
        let ratio = |key: &str| told["pgmap"][key].as_f64().unwrap_or(0.0);
        Some(Status {
            health: told["health"]["status"].as_str()?.to_owned(),
            checks: told["health"]["checks"].as_object()?.keys().cloned().collect(),
            osds: [count("num_osds")?, count("num_up_osds")?, count("num_in_osds")?],
            groups: groups
                .map(|group| Some((group["state_name"].as_str()?.to_owned(), group["count"].as_u64()?)))
                .collect::<Option<_>>()?,
            degraded: ratio("degraded_ratio"),
            misplaced: ratio("misplaced_ratio"),
        })
    }

    /// Placement groups.
    pub fn group_count(&self) -> u64 {
        self.groups.iter().map(|(_, count)| count).sum()
    }

    /// Up, in and all are the same, and every placement group is exactly `active+clean`.
    pub fn is_healthy(&self) -> bool {
        self.lost() == 0
            && !self.groups.is_empty()
            && self.groups.iter().all(|(state, _)| state == "active+clean")
    }

    /// OSDs that are down or out.
    fn lost(&self) -> u32 {
        let [all, up, within] = self.osds;
        all - up.min(within).min(all)
    }

    /// The state in the words of every array.
    pub fn state(&self) -> ArrayState {
        let all =
            |is: fn(&str) -> bool| !self.groups.is_empty() && self.groups.iter().all(|(state, _)| is(state));
        let any = |is: &str| self.groups.iter().any(|(state, _)| state.contains(is));
        let serves = all(|state| {
            let words: Vec<&str> = state.split('+').collect();
            words.contains(&"active") && !words.contains(&"stale") && !words.contains(&"peering")
        });
        match self.lost() {
            _ if !serves => ArrayState::Down { word: self.to_string() },
            0 if self.is_healthy() => ArrayState::Healthy,
            0 => {
                // Of one that came back: an equal part of all copies was on it.
                let done = 1.0 - self.degraded.max(self.misplaced) * f64::from(self.osds[0]);
                ArrayState::Rebuilding { missing: 1, done: done.clamp(0.0, 1.0) }
            }
            // The map knows it before the groups do.
            _ if !any("undersized") => ArrayState::Down { word: self.to_string() },
            missing => ArrayState::Degraded { missing },
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [all, up, within] = self.osds;
        let groups: Vec<String> =
            self.groups.iter().map(|(state, count)| format!("{count} {state}")).collect();
        let groups = if groups.is_empty() { "no placement groups".to_owned() } else { groups.join(", ") };
        write!(f, "{}, {up} up and {within} in of {all} OSDs, {groups}", self.health)?;
        if !self.checks.is_empty() {
            write!(f, ", {}", self.checks.join(" "))?;
        }
        let ratios = [("degraded", self.degraded), ("misplaced", self.misplaced)];
        ratios
            .iter()
            .filter(|(_, ratio)| *ratio > 0.0)
            .try_for_each(|(name, ratio)| write!(f, ", {name} {:.1} %", 100.0 * ratio))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn status(osds: [u32; 3], groups: &[(&str, u64)], degraded: Option<f64>) -> Status {
        let groups: Vec<Value> =
            groups.iter().map(|(state, count)| json!({"state_name": state, "count": count})).collect();
        let mut told = json!({
            "health": {"status": "HEALTH_WARN", "checks": {"OSD_DOWN": {"severity": "HEALTH_WARN"}}},
            "osdmap": {"num_osds": osds[0], "num_up_osds": osds[1], "num_in_osds": osds[2]},
            "pgmap": {"pgs_by_state": groups, "num_pgs": 16},
        });
        if let Some(degraded) = degraded {
            told["pgmap"]["degraded_ratio"] = degraded.into();
        }
        Status::understood(&told).unwrap()
    }

    /// As Ceph 16.2.15 told it of three OSDs, one of which was ended and came back empty.
    #[test]
    fn a_state_is_that_of_all_that_is_told_together() {
        let shown =
            |osds, groups: &[(&str, u64)], degraded| status(osds, groups, degraded).state().to_string();
        assert_eq!(shown([3, 3, 3], &[("active+clean", 16)], None), "healthy");
        let stale = shown([3, 2, 3], &[("active+clean", 12), ("stale+active+clean", 4)], None);
        assert!(stale.starts_with("down (HEALTH_WARN, 2 up and 3 in of 3 OSDs, 12 active+clean"), "{stale}");
        assert!(
            shown([3, 2, 3], &[("active+clean", 16)], None).starts_with("down"),
            "the groups do not know yet"
        );
        assert!(shown([3, 3, 3], &[], None).contains("no placement groups"));
        let degraded = [("active+undersized+degraded", 16)];
        assert_eq!(shown([3, 2, 3], &degraded, Some(1.0 / 3.0)), "degraded, 1 missing");
        assert_eq!(shown([3, 3, 3], &degraded, Some(1.0 / 3.0)), "rebuilding, 0 % done");
        let waits = [("active+recovery_wait+degraded", 9), ("active+clean", 7)];
        assert_eq!(shown([3, 3, 3], &waits, Some(0.2125)), "rebuilding, 36 % done");
        let peering = shown([3, 3, 3], &[("peering", 1), ("active+clean", 15)], None);
        assert!(peering.starts_with("down"), "{peering}");
        // One that is out is no warning of Ceph's.
        assert!(!status([3, 3, 2], &[("active+clean+remapped", 16)], None).is_healthy());
        assert!(status([3, 3, 3], &[("active+clean", 16)], None).is_healthy());
        assert!(
            !status([3, 3, 3], &[("active+clean+scrubbing", 1), ("active+clean", 15)], None).is_healthy()
        );
        assert_eq!(Status::understood(&json!({"health": {"status": "HEALTH_OK"}})), None);
    }
}
