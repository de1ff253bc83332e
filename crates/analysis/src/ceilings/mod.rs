//! What the hardware and set limits allow: whether a figure is of the stack or of a ceiling.

pub(crate) mod at_limit;
pub(crate) mod efficiency;
pub(crate) mod masking;
