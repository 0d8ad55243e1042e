//! Python environments of the clients and validators for the tests, and the browser.

use std::path::{Path, PathBuf};

/// Returns the Python interpreter with the packages of tests/clients/requirements.txt.
pub(crate) fn python() -> PathBuf {
    let named = std::env::var_os("CALLWRIGHT_PYTHON").map(PathBuf::from);
    named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("target/venv/bin/python"))
}

/// Returns the path of Chromium.
pub(crate) fn chromium() -> PathBuf {
    let named = std::env::var_os("CALLWRIGHT_CHROMIUM").map(PathBuf::from);
    let usual = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].map(PathBuf::from);
    let found = named.into_iter().chain(usual).find(|path| path.exists());
    found.expect("install Chromium, or name it in CALLWRIGHT_CHROMIUM")
}
