//! From the record to rounds: the sides of each workload, which rounds pair, and which regime
//! of writes they belong to.

pub(crate) mod pairing;
pub mod precondition;
pub(crate) mod reading;
pub(crate) mod rounds;
pub(crate) mod steady;
pub(crate) mod subject;
pub(crate) mod timeline;
