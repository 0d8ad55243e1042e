//! Callwright: an OpenAI-compatible proxy that validates, repairs and executes an agent's tool calls.
//!
//! Start with `pipeline/turn.rs`, the path of one request. `ARCHITECTURE.md` maps the crates and modules.

pub mod app;
pub mod cli;
pub mod config;
pub mod http;
pub mod keys;
pub mod pipeline;
pub mod webhook;
