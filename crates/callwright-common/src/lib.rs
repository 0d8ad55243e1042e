//! Helpers that know nothing of tools or calls: JSON, YAML and JSON Schema, digests, bounded caches and file watching.

pub mod cache;
pub mod digest;
pub mod json;
pub mod nearest;
pub mod schema;
pub mod text;
pub mod tokens;
pub mod watch;
pub mod yaml;
