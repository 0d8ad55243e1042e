//! Errors of certificate and key files.

/// Error of a certificate or key file. Names the configuration key, the file and the fix, but never the file's
/// contents.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{table}.{key}`: {file} {problem}")]
pub struct TlsError {
    pub(super) table: &'static str,
    pub(super) key: &'static str,
    pub(super) file: String,
    pub(super) problem: String,
}
