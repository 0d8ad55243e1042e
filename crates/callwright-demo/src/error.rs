//! What can go wrong while a demo starts or plays.

use std::path::PathBuf;

/// A demo could not be started or played to its end.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// A sample server could not listen on loopback.
    #[error("no sample server can listen on 127.0.0.1: {0}")]
    Listen(#[source] std::io::Error),
    /// A document or policy of the demo could not be written.
    #[error("cannot write {path}: {source}; the demo keeps its documents there while it runs")]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// Why.
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
        /// Whole URL.
        url: String,
        /// What happened.
        reason: String,
    },
}
