//! Status of a Ceph cluster, as it reports itself, for the record of a run.

use crate::array::ArrayState;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Status of a Ceph cluster at one reading. No value alone shows the state: the health checks call
/// a cluster with an OSD out healthy, and the map of OSDs changes before the states of placement
/// groups, which are up to 5 s old.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClusterStatus {
    pub health: String,
    /// Names of the health checks that the cluster reports as failed: `OSD_DOWN`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<String>,
    /// Number of OSDs that the cluster knows.
    pub osds: u32,
    pub up: u32,
    /// Number of OSDs that are in.
    #[serde(rename = "in")]
    pub within: u32,
    /// States of placement groups, with the number of groups in each.
    pub groups: Vec<(String, u64)>,
    /// Fraction of copies that are missing, 0 to 1.
    pub degraded: f64,
    /// Fraction of copies that are not where they belong, 0 to 1.
    pub misplaced: f64,
    /// Fraction of placement groups that serve nothing, 0 to 1.
    pub inactive: f64,
    /// Bytes recovered or moved per second.
    pub recovering: f64,
}

impl ClusterStatus {
    pub fn group_count(&self) -> u64 {
        self.groups.iter().map(|(_, count)| count).sum()
    }

    /// Returns true if all OSDs are up and in, and there are placement groups, all exactly
    /// `active+clean`.
    pub fn is_healthy(&self) -> bool {
        self.unavailable_osds() == 0
            && !self.groups.is_empty()
            && self.groups.iter().all(|(state, _)| state == "active+clean")
    }

    /// Returns the names of health checks that report a full or nearly full OSD or pool.
    pub fn full_checks(&self) -> Vec<&str> {
        self.checks.iter().map(String::as_str).filter(|check| check.ends_with("FULL")).collect()
    }

    fn unavailable_osds(&self) -> u32 {
        self.osds - self.up.min(self.within).min(self.osds)
    }

    pub fn overall_state(&self) -> ArrayState {
        let all = |is: fn(&str) -> bool| {
            !self.groups.is_empty() && self.groups.iter().all(|(state, _)| is(state))
        };
        let any = |is: &str| self.groups.iter().any(|(state, _)| state.contains(is));
        let serves = all(|state| {
            let words: Vec<&str> = state.split('+').collect();
            words.contains(&"active") && !words.contains(&"stale") && !words.contains(&"peering")
        });
        match self.unavailable_osds() {
            _ if !serves => ArrayState::Down { word: self.to_string() },
            0 if self.is_healthy() => ArrayState::Healthy,
            0 => {
                // One OSD came back: an equal part of all copies was on it.
                let done = 1.0 - self.degraded.max(self.misplaced) * f64::from(self.osds);
                ArrayState::Rebuilding { missing: 1, done: done.clamp(0.0, 1.0) }
            }
            members if self.up >= self.osds && !any("undersized") => ArrayState::Out { members },
            // The map knows it before the groups do.
            _ if !any("undersized") => ArrayState::Down { word: self.to_string() },
            missing => ArrayState::Degraded { missing },
        }
    }
}

impl fmt::Display for ClusterStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ClusterStatus { health, osds, up, within, .. } = self;
        let groups: Vec<String> =
            self.groups.iter().map(|(state, count)| format!("{count} {state}")).collect();
        let groups =
            if groups.is_empty() { "no placement groups".to_owned() } else { groups.join(", ") };
        write!(f, "{health}, {osds} OSDs: {up} up, {within} in, {groups}")?;
        if !self.checks.is_empty() {
            write!(f, ", {}", self.checks.join(" "))?;
        }
        let ratios = [
            ("degraded", self.degraded),
            ("misplaced", self.misplaced),
            ("inactive", self.inactive),
        ];
        for (name, ratio) in ratios.iter().filter(|(_, ratio)| *ratio > 0.0) {
            write!(f, ", {name} {:.1} %", 100.0 * ratio)?;
        }
        match self.recovering > 0.0 {
            true => write!(f, ", recovering {:.1} MB/s", self.recovering / 1e6),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(
        [osds, up, within]: [u32; 3],
        groups: &[(&str, u64)],
        degraded: f64,
    ) -> ClusterStatus {
        let groups = groups.iter().map(|(state, count)| ((*state).to_owned(), *count)).collect();
        let (health, checks) = ("HEALTH_WARN".to_owned(), vec!["OSD_DOWN".to_owned()]);
        ClusterStatus {
            health,
            checks,
            osds,
            up,
            within,
            groups,
            degraded,
            ..ClusterStatus::default()
        }
    }

    /// Report of Ceph 16.2.15 on three OSDs, one of which was ended and came back empty.
    #[test]
    fn a_state_is_that_of_all_parts_together() {
        let shown = |osds, groups: &[(&str, u64)], degraded: f64| {
            status(osds, groups, degraded).overall_state().to_string()
        };
        assert_eq!(shown([3, 3, 3], &[("active+clean", 16)], 0.0), "healthy");
        let stale = shown([3, 2, 3], &[("active+clean", 12), ("stale+active+clean", 4)], 0.0);
        assert!(
            stale.starts_with("down (HEALTH_WARN, 3 OSDs: 2 up, 3 in, 12 active+clean"),
            "{stale}"
        );
        assert!(
            shown([3, 2, 3], &[("active+clean", 16)], 0.0).starts_with("down"),
            "the groups do not know yet"
        );
        assert!(shown([3, 3, 3], &[], 0.0).contains("no placement groups"));
        let degraded = [("active+undersized+degraded", 16)];
        assert_eq!(shown([3, 2, 3], &degraded, 1.0 / 3.0), "degraded, 1 missing");
        assert_eq!(shown([3, 3, 3], &degraded, 1.0 / 3.0), "rebuilding, 0 % done");
        let waits = [("active+recovery_wait+degraded", 9), ("active+clean", 7)];
        assert_eq!(shown([3, 3, 3], &waits, 0.2125), "rebuilding, 36 % done");
        let peering = shown([3, 3, 3], &[("peering", 1), ("active+clean", 15)], 0.0);
        assert!(peering.starts_with("down"), "{peering}");
        assert!(status([3, 3, 3], &[("active+clean", 16)], 0.0).is_healthy());
        let scrubs = [("active+clean+scrubbing", 1), ("active+clean", 15)];
        assert!(!status([3, 3, 3], &scrubs, 0.0).is_healthy());
    }

    #[test]
    fn one_that_is_out_is_no_warning_of_its_own_and_a_state_all_the_same() {
        let mut out = status([3, 3, 2], &[("active+clean+remapped", 16)], 0.0);
        (out.health, out.checks, out.misplaced) = ("HEALTH_OK".into(), Vec::new(), 1.0 / 3.0);
        assert!(!out.is_healthy());
        assert_eq!(out.overall_state(), ArrayState::Out { members: 1 });
        let shown = "HEALTH_OK, 3 OSDs: 3 up, 2 in, 16 active+clean+remapped, misplaced 33.3 %";
        assert_eq!(out.to_string(), shown);
        // Its data were moved to others, and it is still out.
        assert_eq!(
            status([5, 5, 4], &[("active+clean", 16)], 0.0).overall_state(),
            ArrayState::Out { members: 1 }
        );
        // Out and down is not the state that was asked for.
        let both = status([3, 2, 2], &[("active+undersized+degraded", 16)], 1.0 / 3.0);
        assert_eq!(both.overall_state(), ArrayState::Degraded { missing: 1 });
    }

    #[test]
    fn a_check_of_room_is_found_by_its_name_and_a_reading_is_kept_whole() {
        let mut low = status([1, 1, 1], &[("active+clean", 8)], 0.0);
        low.checks =
            ["OSD_NEARFULL", "POOL_NEARFULL", "POOL_NO_REDUNDANCY"].map(str::to_owned).to_vec();
        low.recovering = 2.5e6;
        assert_eq!(low.full_checks(), ["OSD_NEARFULL", "POOL_NEARFULL"]);
        assert!(low.to_string().ends_with("POOL_NO_REDUNDANCY, recovering 2.5 MB/s"));
        let kept = serde_json::to_string(&low).unwrap();
        assert_eq!(serde_json::from_str::<ClusterStatus>(&kept).unwrap(), low);
    }
}
