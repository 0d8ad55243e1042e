//! Callwright: an OpenAI-compatible proxy that makes an agent's tool calls come out right.
//!
//! Start with `pipeline/turn.rs`, the way of one request; `ARCHITECTURE.md` has the map of the rooms.

pub mod app;
pub mod cli;
pub mod config;
pub mod http;
pub mod keys;
pub mod pipeline;
