//! The built-in model: a table of token vectors whose sum is the vector of a text.
//!
//! `distil/` distils the table from a larger model and documents the process. It needs no library and no download, and
//! a text takes microseconds.

mod embedder;
mod file;
mod words;

pub(super) use embedder::TableEmbedder;

#[cfg(test)]
mod shared_data_tests;
