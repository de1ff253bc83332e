//! Of imported results.
