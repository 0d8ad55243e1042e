//! Plans: which calls lead to what was asked for, and where each argument comes from.
//!
//! Owns what a plan is drawn from, how, and how far one under way is. Must not know turns, HTTP, nor who executes a call; models are asked
//! through `upstream` alone.

pub mod drawing;
pub mod producers;
pub mod progress;
mod settings;
pub mod when;

pub use settings::Settings;
