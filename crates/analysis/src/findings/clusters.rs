//! Clusters of storage, as they were while they were measured.

use iotax_model::record::ClusterStatus;
use serde::Serialize;

/// One cluster under one load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClusterFindings {
    pub stacks: Vec<String>,
    /// How often it was read.
    pub readings: u64,
    /// Of these, how often it was healthy: all OSDs up and in, all placement groups `active+clean`.
    pub healthy: u64,
    /// How often it did not answer.
    pub unknown: u64,
    /// Slices of these stacks that figures are made of.
    pub slices: u64,
    /// Of these, how many had no healthy reading before them and after them.
    pub slices_not_healthy: u64,
    /// Whether it was in several states, of which figures are then made together.
    pub changed: bool,
    /// Largest share of copies that were missing.
    pub most_degraded: f64,
    /// Largest share of copies that were in another place than they should be.
    pub most_misplaced: f64,
    /// Largest share of placement groups that served nothing.
    pub most_inactive: f64,
    /// Most bytes a second that were recovered or moved.
    pub most_recovering: f64,
    /// The first reading, and each that differs from the one before it.
    pub course: Vec<ClusterChange>,
    pub sentence: String,
}

/// How a cluster was from some moment on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClusterChange {
    /// Seconds after the first reading of this load.
    pub after_s: f64,
    /// The reading; `None`: it did not answer.
    pub status: Option<ClusterStatus>,
}
