//! Plans: the calls that serve a request and the source of each argument.
//!
//! Owns the inputs of a plan, its generation and its progress. Must not depend on turns, HTTP or the executor of a
//! call. Requests to models go through `upstream` only.

pub mod generation;
mod keys;
pub mod producers;
pub mod progress;
mod settings;
mod tools;
pub mod when;

pub use settings::Settings;
