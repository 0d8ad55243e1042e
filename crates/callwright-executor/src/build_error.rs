//! Errors when an executor is built from its settings.

/// Error for settings from which no executor can be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// An entry of `allowed_addresses` is neither an address, nor a network, nor a host name.
    #[error(
        "executor.allowed_addresses: `{entry}` is {why}; write an IP address, a network such as `10.0.0.0/8`, or a host name"
    )]
    AllowedAddress {
        /// The entry as configured.
        entry: String,
        /// Reason why it is invalid.
        why: &'static str,
    },
    /// The certificates cannot be read.
    #[error("executor.ca_file: cannot read PEM certificates from `{file}`: {why}")]
    CaFile {
        /// The file as configured.
        file: String,
        /// Reason why the certificates cannot be read.
        why: String,
    },
    /// The HTTP client cannot be built.
    #[error("the HTTP client for tool APIs cannot be built: {0}")]
    Client(String),
}
