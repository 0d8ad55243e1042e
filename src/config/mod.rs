//! The configuration file, which nests the `Settings` of every module.
//!
//! Owns finding, reading, interpolating and validating the file, and its JSON Schema for editors (`schema.rs`); the only
//! module that reads the environment. Must not depend on what the settings do.
//!
//! [`load()`] is the entry point; [`parse`] is for a configuration without a file. Loading has four steps: the text is
//! parsed as TOML, `${NAME}` is interpolated in string values (`interpolate.rs`), the tree becomes [`Settings`], and
//! constraints between modules are validated. Every step reports [`ConfigProblem`]s that name file, line, column and
//! fix.

mod builtin;
mod changes;
mod document;
mod interpolate;
mod load;
mod problem;
mod removed;
mod schema;
mod serde_message;
mod settings;
mod toml_text;
mod validate;

use std::ffi::OsString;

pub use builtin::onnx_runtime_path;
pub use changes::changed_keys;
pub use load::{ConfigRequest, DEFAULT_FILE, FILE_VARIABLE, LoadedConfig, load, parse};
pub use problem::{ConfigError, ConfigProblem, FilePosition};
pub use schema::{config_schema, schema_of};
pub use settings::Settings;
pub use toml_text::{toml_key, toml_string};

/// Looks up a variable by name; `None` if it is not set.
pub type Environment<'a> = dyn Fn(&str) -> Option<OsString> + 'a;

/// Reads a variable of this process.
pub fn process_environment(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

#[cfg(test)]
mod reference_tests;

#[cfg(test)]
fn variables<'a>(pairs: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<OsString> + 'a {
    move |name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
}
