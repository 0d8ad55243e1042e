//! Ranked search over texts: BM25.
//!
//! Owns tokenising and ranking. Must not know what the texts are.

mod bm25;
mod tokens;

pub use bm25::{Bm25, Hit, Score, Scores, Weights};
pub use tokens::{is_stop_word, stem, tokens};
