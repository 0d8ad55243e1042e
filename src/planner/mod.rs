//! Plans: which calls lead to what was asked for, and where each argument comes from.
//!
//! Owns what a plan is drawn from and how. Must not know turns, HTTP, nor who executes a call; models are asked through `upstream` alone.

pub mod drawing;
pub mod producers;
mod settings;

pub use settings::Settings;
