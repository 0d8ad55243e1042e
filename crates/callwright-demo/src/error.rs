//! Errors of starting and playing a demo.

use std::path::PathBuf;

/// Error that ends a demo.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// A sample server could not listen on loopback.
    #[error("no sample server can listen on 127.0.0.1: {0}")]
    Listen(#[source] std::io::Error),
    /// A document or policy of the demo could not be written.
    #[error("cannot write {path}: {source}; the demo keeps its documents there while it runs")]
    Write {
        /// File or directory.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The transcript could not be written.
    #[error("cannot write the transcript: {0}")]
    Output(#[source] std::io::Error),
    /// A request of the demo got no usable answer.
    #[error("{method} {url}: {reason}")]
    Request {
        /// HTTP method.
        method: String,
        /// Full URL.
        url: String,
        /// Cause.
        reason: String,
    },
}
