//! Runs on disk: append-only, readable while they are written and after a kill.

pub mod record;
