//! Errors by which undo knows whether it may touch what a failed step left.

/// Refusal to touch something: it belongs to somebody else by now, a program that still runs uses
/// it, or another user could have changed it. It was left alone, and the user is not asked to
/// remove it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotOurs(pub String);

/// Context of an error that occurred before anything was changed. Nothing is undone then, since
/// whatever undo found would be somebody else's.
#[derive(Debug, thiserror::Error)]
#[error("nothing was changed")]
pub struct NothingMade;
