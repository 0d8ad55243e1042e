//! Policy files for the tests. The only place that knows their frame.

/// Configuration that reads policies from the folder `policies` and takes `default` where none matches. Reloading is on.
pub(crate) fn table(default: &str) -> String {
    format!("[policies]\ndirectory = \"policies\"\ndefault = \"{default}\"\nreload = true\n")
}

/// A policy file with these rules (YAML at the top level).
pub(crate) fn file(name: &str, rules: &str) -> String {
    format!("name: {name}\ndescription: For a test.\n{rules}\n")
}
