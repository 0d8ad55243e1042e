//! The model that comes with the program: a table of tokens' vectors, whose sum is a text's.
//!
//! The table is distilled from a larger model by `distil/`, which says from what and how. It needs no library and no download, and a text
//! takes microseconds.

mod embedder;
mod file;
mod words;

pub(super) use embedder::TableEmbedder;

#[cfg(test)]
mod shared_data_tests;
