//! The way of a request; start with `turn.rs`.
//!
//! Owns the sequence of stages, the dialogue that decides ask / run / answer, the snapshot a turn sees. Must not know HTTP servers,
//! SQL, or OpenAI JSON.

mod dialogue;
mod settings;

pub use settings::{AliasSettings, Settings};
