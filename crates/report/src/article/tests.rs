//! Tests of the writers of tables in the form of an article.
