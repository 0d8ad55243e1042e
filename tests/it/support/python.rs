//! Python environments of the clients and validators for the tests, and the browser.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns a Python that has the module `module` of the package `package`. Returns `None` with a message if none exists
/// and none is required.
#[allow(clippy::print_stdout, reason = "a test says what it left out")]
pub(crate) fn python_with(module: &str, package: &str) -> Option<PathBuf> {
    let named = std::env::var_os("CALLWRIGHT_PYTHON").map(PathBuf::from);
    let python = named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target/venv/bin/python"));
    let import = format!("import {module}");
    let usable = Command::new(&python).args(["-c", &import]).output().is_ok_and(|output| output.status.success());
    if usable {
        return Some(python);
    }
    let advice = format!(
        "{} cannot import `{module}` ({package}): python3 -m venv target/venv && target/venv/bin/pip install -r tests/clients/requirements.txt",
        python.display()
    );
    let required = std::env::var("CALLWRIGHT_REQUIRE_CLIENTS").is_ok_and(|value| value == "1");
    assert!(!required, "{advice}");
    println!("passed by: {advice}");
    None
}

/// Returns the browser, or `None` with a message if none exists and none is required.
#[allow(clippy::print_stdout, reason = "a test says what it left out")]
pub(crate) fn chromium() -> Option<PathBuf> {
    let named = std::env::var_os("CALLWRIGHT_CHROMIUM").map(PathBuf::from);
    let usual = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].map(PathBuf::from);
    let found = named.into_iter().chain(usual).find(|path| path.exists());
    if found.is_none() {
        let required = std::env::var("CALLWRIGHT_REQUIRE_CHROMIUM").is_ok_and(|value| value == "1");
        assert!(!required, "there is no Chromium; install it, or name it in CALLWRIGHT_CHROMIUM");
        println!("passed by: there is no Chromium (Debian's package `chromium`)");
    }
    found
}
