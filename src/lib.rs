//! Callwright: an OpenAI-compatible proxy that makes an agent's tool calls come out right.
//!
//! Start with `pipeline/turn.rs`, the way of one request; `ARCHITECTURE.md` has the map of the rooms.

pub mod app;
pub mod cache;
pub mod catalog;
pub mod cli;
pub mod config;
pub mod demo;
pub mod domain;
pub mod embedding;
pub mod executor;
pub mod experience;
pub mod explain;
pub mod feedback;
pub mod http;
pub mod keys;
pub mod learning;
pub mod offline;
pub mod openai;
pub mod pipeline;
pub mod planner;
pub mod policy;
pub mod procedures;
pub mod repair;
pub mod representation;
pub mod retrieval;
pub mod scanner;
pub mod store;
pub mod telemetry;
pub mod upstream;
pub mod watch;
