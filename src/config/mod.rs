//! The configuration file: nests every room's `Settings`.
//!
//! Owns finding, reading, interpolating and validating the file; the only room that reads the environment. Must not know what
//! the settings do.
//!
//! [`load()`] is the way in; [`parse`] is for a configuration that is in no file. A value goes through four steps: the text is
//! parsed as TOML, `${NAME}` is filled in inside string values (`interpolate.rs`), the tree becomes [`Settings`], and what
//! holds between rooms is validated. Every step reports [`Problem`]s that name file, line, column and a way to mend them.

mod builtin;
mod changes;
mod document;
mod environment;
mod interpolate;
mod load;
mod problem;
mod serde_message;
mod settings;
mod validate;

pub use builtin::onnx_runtime_path;
pub use changes::changed_keys;
pub use environment::{Environment, process_environment};
pub use load::{DEFAULT_FILE, FILE_VARIABLE, Loaded, Request, load, parse};
pub use problem::{ConfigError, Place, Problem};
pub use settings::Settings;

#[cfg(test)]
mod reference_tests;
