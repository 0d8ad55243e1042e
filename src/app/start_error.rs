//! Error that prevents the proxy from starting.

use std::io;
use std::num::NonZeroUsize;

use super::own_listeners::OwnListener;
use crate::http::{ServeError, TlsError};
use callwright_common::watch::FileError;
use callwright_executor as executor;
use callwright_memory::representation::RepresentationError;
use callwright_openapi::LoadError;
use callwright_policy::PolicyError;
use callwright_search::embedding;
use callwright_store::{SealKeyError, StoreInUse};
use callwright_telemetry::OtlpError;
use callwright_upstream as upstream;

/// Error that prevents the proxy from starting. Each message names the file or key, and the fix.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A listener cannot be opened.
    #[error(transparent)]
    Listen(#[from] ServeError),
    /// The local address of a listener cannot be read.
    #[error("cannot read the local address of a listener: {0}")]
    Address(io::Error),
    /// An upstream leads back to the proxy.
    #[error("{0}")]
    OwnListener(OwnListener),
    /// The system starts no further thread.
    #[error(
        "cannot start {count} threads for client connections: {source}; lower `server.workers` or raise the limit of threads"
    )]
    Workers {
        /// Number of workers.
        count: NonZeroUsize,
        /// The I/O error.
        source: io::Error,
    },
    /// Another process serves the SQLite file.
    #[error(transparent)]
    StoreInUse(#[from] StoreInUse),
    /// A certificate or its private key is invalid.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The OTLP exporter cannot be built from the settings.
    #[error(transparent)]
    Otlp(#[from] OtlpError),
    /// The webhook of approvals cannot be used.
    #[error("{0}")]
    Webhook(String),
    /// An upstream's settings are invalid.
    #[error(transparent)]
    Upstream(#[from] upstream::BuildError),
    /// A toolset's document cannot be read.
    #[error(transparent)]
    Catalog(#[from] LoadError),
    /// The embedding model cannot be loaded.
    #[error(transparent)]
    Embedding(#[from] embedding::BuildError),
    /// A representation file is invalid.
    #[error(transparent)]
    Representation(#[from] RepresentationError),
    /// The planner's edges file is invalid.
    #[error(transparent)]
    File(#[from] FileError),
    /// The configured key for sealing tokens is invalid.
    #[error(transparent)]
    SealKey(#[from] SealKeyError),
    /// The executor's settings are invalid.
    #[error(transparent)]
    Executor(#[from] executor::BuildError),
    /// A policy file is invalid.
    #[error(transparent)]
    Policy(#[from] PolicyError),
}
