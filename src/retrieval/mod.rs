//! Ranked search over texts: BM25.
//!
//! Owns tokenising and ranking. Must not know what the texts are.
