//! Environment variables, as a function, so that nothing but [`process_environment`] depends on the process.

use std::ffi::OsString;

/// Looks a variable up by name; `None` where it is not set.
pub type Environment<'a> = dyn Fn(&str) -> Option<OsString> + 'a;

/// The variables of this process.
pub fn process_environment(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

#[cfg(test)]
pub(super) fn variables<'a>(pairs: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<OsString> + 'a {
    move |name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value))
}
