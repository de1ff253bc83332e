//! Errors that say what a failure has left.

/// A resource that was created belongs to somebody else now, or a program that still runs is using
/// it. It was left alone, and the user is not asked to remove it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotOurs(pub String);

/// The context of a failure before anything was changed: nothing is undone, as what would be found
/// is somebody else's.
#[derive(Debug, thiserror::Error)]
#[error("nothing was changed")]
pub struct NothingMade;
