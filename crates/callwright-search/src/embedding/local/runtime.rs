//! Detection and loading of ONNX Runtime, a shared library of the system.
//!
//! The library is searched for at run time, so that the proxy also starts and works without it.

use std::cmp::Reverse;
use std::fmt;
use std::path::{Path, PathBuf};

/// File name of the library on the platform.
#[cfg(target_os = "windows")]
const FILE: &str = "onnxruntime.dll";
#[cfg(target_os = "macos")]
const FILE: &str = "libonnxruntime.dylib";
#[cfg(not(any(target_os = "windows", target_os = "macos")))]
const FILE: &str = "libonnxruntime.so";

/// Usual installation folders.
const FOLDERS: [&str; 7] = [
    "/usr/local/lib", "/opt/onnxruntime/lib", "/usr/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64", "/opt/homebrew/lib",
];

/// No usable ONNX Runtime was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct RuntimeAbsent {
    /// Paths that were tried, and the failure of each.
    tried: Vec<(PathBuf, String)>,
    /// Whether the operator specified the path.
    named: bool,
}

impl fmt::Display for RuntimeAbsent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no ONNX Runtime of version 1.{} or later was found", ort::MINOR_VERSION)?;
        for (path, reason) in &self.tried {
            write!(f, "; {}: {reason}", path.display())?;
        }
        let where_else = if self.named {
            "set the library file of a matching version"
        } else {
            "these and the usual installation folders were searched; install it (the Python package `onnxruntime` contains it, too) \
             and set its library file"
        };
        write!(f, "; {where_else} in `embedding.fastembed.onnx_runtime` or in the environment variable ORT_DYLIB_PATH")
    }
}

/// Loads the library: the named one, otherwise the newest in the usual folders, otherwise the one that the system's
/// loader finds. The first success is kept for the lifetime of the process.
///
/// The version is compared before any function is called, because a library that is too old has a different function
/// table.
///
/// # Errors
/// [`RuntimeAbsent`], which lists the paths tried.
pub(in crate::embedding) fn load(named: Option<&Path>) -> Result<(), RuntimeAbsent> {
    let candidates = named.map_or_else(usual_libraries, |path| vec![path.to_owned()]);
    let mut tried = Vec::new();
    for path in candidates {
        // The prepared environment is not used: fastembed creates its own.
        match ort::init_from(&path) {
            Ok(_) => return Ok(()),
            Err(error) => tried.push((path, reason(&error))),
        }
    }
    Err(RuntimeAbsent { tried, named: named.is_some() })
}

fn reason(error: &ort::LoadDynamicError) -> String {
    use ort::LoadDynamicError::{BadVersion, Dlopen, InvalidVersionString, MissingApi};
    match error {
        Dlopen { error, .. } => format!("cannot be loaded ({error})"),
        MissingApi { .. } => "is a different library".to_owned(),
        InvalidVersionString => "does not report its version".to_owned(),
        BadVersion { version_str, .. } => format!("is version {version_str}"),
    }
}

/// Returns the libraries in the usual folders, newest first in each, and last the bare file name.
fn usual_libraries() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = FOLDERS.iter().flat_map(|folder| libraries_in(Path::new(folder))).collect();
    found.push(PathBuf::from(FILE));
    found
}

/// Returns the files named `libonnxruntime.so`, `libonnxruntime.so.1.31.1` and similar, newest first.
fn libraries_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| is_library(path)).collect();
    found.sort_by_key(|path| Reverse(version(path)));
    found
}

fn is_library(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    let version = name.as_ref().and_then(|name| name.strip_prefix(FILE));
    version.is_some_and(|version| version.is_empty() || version.starts_with('.'))
}

/// Returns the numbers after the file name, for comparison.
fn version(path: &Path) -> Vec<u32> {
    let name = path.to_string_lossy();
    let numbers = name.rsplit_once(FILE).map_or("", |(_, numbers)| numbers);
    numbers.split('.').filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_library_of_a_folder_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["", ".1.9.0", ".1.31.1", ".1", "_providers_shared.so", ".1.31.1.bak"] {
            std::fs::write(folder.path().join(format!("{FILE}{name}")), "").unwrap();
        }
        std::fs::write(folder.path().join("libother.so"), "").unwrap();
        let found = libraries_in(folder.path());
        let names: Vec<String> =
            found.iter().map(|path| path.file_name().unwrap().to_string_lossy().replacen(FILE, "", 1)).collect();
        assert_eq!(names.len(), 5, "{names:?}");
        assert_eq!(names[0].trim_end_matches(".bak"), ".1.31.1");
        assert_eq!(names[2..], [".1.9.0", ".1", ""]);
    }

    #[test]
    fn invalid_runtimes_are_named_with_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("libonnxruntime.so");
        std::fs::write(&file, "no library").unwrap();
        // Another test of this process may have loaded a valid one, which is kept.
        if let Err(absent) = load(Some(&file)) {
            let message = absent.to_string();
            assert!(message.contains(&file.display().to_string()), "{message}");
            assert!(message.contains("ORT_DYLIB_PATH") && message.contains("cannot be loaded"), "{message}");
        }
    }
}
