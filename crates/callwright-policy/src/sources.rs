//! Texts of the policies: the files of a directory, or the built-in ones.

use std::path::PathBuf;

use callwright_common::watch::{Folder, FolderFile};

/// Limits on the number of files of a directory and on the bytes of a file: far above realistic policies, but small
/// in memory.
const MAX_FILES: usize = 200;
pub(super) const MAX_FILE_BYTES: usize = 256 * 1024;

/// Policies that ship with the proxy.
const BUILTIN: [(&str, &str); 3] = [
    ("default.yaml", include_str!("../../../policies/default.yaml")),
    ("shadow.yaml", include_str!("../../../policies/shadow.yaml")),
    ("strict.yaml", include_str!("../../../policies/strict.yaml")),
];

/// Returns the built-in policies, sorted by name.
pub(super) fn builtin() -> Vec<FolderFile> {
    BUILTIN.map(|(name, text)| FolderFile { path: PathBuf::from(name), text: text.to_owned() }).to_vec()
}

/// Returns the folder of policy files.
pub(super) fn folder(path: PathBuf) -> Folder {
    Folder { path, files: "policy files", max_files: MAX_FILES, max_bytes: MAX_FILE_BYTES }
}
