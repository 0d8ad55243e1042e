//! Environment variables as a function, so that only [`process_environment`] depends on the process.

use std::ffi::OsString;

/// Looks up a variable by name; `None` if it is not set.
pub type Environment<'a> = dyn Fn(&str) -> Option<OsString> + 'a;

/// Reads a variable of this process.
pub fn process_environment(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

#[cfg(test)]
pub(super) fn variables<'a>(pairs: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<OsString> + 'a {
    move |name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
}
