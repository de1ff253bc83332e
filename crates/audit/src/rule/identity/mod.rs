//! Identities: relations that figures next to each other must satisfy, in tables, lists and lines
//! alike. Ratios and their operands are found by [`crate::link`] and checked in
//! [`super::table::ratios`].

mod columns;
pub mod little;
pub mod product;
