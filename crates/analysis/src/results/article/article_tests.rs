//! Tests of tables in the form of an article.
