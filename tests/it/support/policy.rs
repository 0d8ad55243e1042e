//! Policy files for the tests. This is the only module with their common keys.

/// Returns a configuration that loads policies from the folder `policies`, with `default` as the default policy and
/// reloading enabled.
pub(crate) fn table(default: &str) -> String {
    format!("[policies]\ndirectory = \"policies\"\ndefault = \"{default}\"\n")
}

/// Returns a policy file with these rules (YAML at the top level).
pub(crate) fn file(name: &str, rules: &str) -> String {
    format!("name: {name}\ndescription: For a test.\n{rules}\n")
}
