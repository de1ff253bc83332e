//! What a page says.
