//! Domain-independent helpers: JSON, YAML and JSON Schema, HTML, text, digests, bounded caches, file watching, ordered
//! parallel work and supervised tasks.
//!
//! Owns the shared implementation of each of these. Must not depend on tools, calls or any other crate of the proxy.

pub mod cache;
pub mod digest;
pub mod errors;
pub mod html;
pub mod json;
pub mod limits;
pub mod parallel;
pub mod placeholder;
pub mod progress;
pub mod schema;
pub mod tasks;
pub mod text;
pub mod tokens;
pub mod watch;
pub mod yaml;
