//! Identities: relations that figures next to each other must satisfy, in tables, lists and lines
//! alike. A ratio against its two ends is found by [`crate::link`] and judged in
//! [`super::table::ratios`].

mod columns;
pub mod little;
pub mod product;
