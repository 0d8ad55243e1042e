//! Files that TLS cannot be spoken with.

/// A certificate or key cannot be used. Names the key of the configuration, the file, and what mends it; never what the file holds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{table}.{key}`: {file} {problem}")]
pub struct TlsError {
    pub(super) table: &'static str,
    pub(super) key: &'static str,
    pub(super) file: String,
    pub(super) problem: String,
}
