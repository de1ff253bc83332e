//! iotax: what every layer of a storage stack charges. See ARCHITECTURE.md for the way of the data.
//!
//! The library exists for the binary and its tests; it promises no stable interface.

pub mod cli;

pub use iotax_analysis as bill;
pub use iotax_host as host;
pub use iotax_host::guard;
pub use iotax_import as import;
pub use iotax_import::folder;
pub use iotax_layers as layer;
pub use iotax_layers::lab;
pub use iotax_measure as measure;
pub use iotax_model::scenario;
pub use iotax_report as report;
pub use iotax_stats as stats;
pub use iotax_stats::selfcheck;
pub use iotax_steps as step;
pub use iotax_store as store;
pub use iotax_units as units;
pub use iotax_units::{exit, shell};
