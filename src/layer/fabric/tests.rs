//! Plans of fabrics.
