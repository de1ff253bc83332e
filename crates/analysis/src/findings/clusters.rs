//! State of storage clusters while stacks on them were measured.

use iotax_model::record::ClusterStatus;
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClusterFindings {
    pub stacks: Vec<String>,
    pub readings: u64,
    /// Number of readings with a healthy cluster: all OSDs up and in, all placement groups
    /// `active+clean`.
    pub healthy: u64,
    /// Number of readings without an answer.
    pub unknown: u64,
    /// Number of slices of these stacks that count for figures.
    pub slices: u64,
    /// Number of these slices without a healthy reading before them, or with another one after
    /// them.
    pub slices_not_healthy: u64,
    /// True if the cluster was in several states; the figures then combine them.
    pub changed: bool,
    /// Largest share of copies that were missing.
    pub most_degraded: f64,
    /// Largest share of copies that were in another place than they should be.
    pub most_misplaced: f64,
    /// Largest share of placement groups that served nothing.
    pub most_inactive: f64,
    /// Most bytes per second that were recovered or moved.
    pub most_recovering: f64,
    /// The first reading, and each one that differs from the one before it.
    pub course: Vec<ClusterChange>,
    pub sentence: String,
}

/// State of a cluster from some moment on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClusterChange {
    /// Seconds after the first reading of this load.
    pub after_s: f64,
    /// Status that was read; `None`: the cluster did not answer.
    pub status: Option<ClusterStatus>,
}
