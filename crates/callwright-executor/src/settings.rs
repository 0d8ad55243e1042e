//! Settings for connections to tool APIs and for the limits on their responses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::address::AllowList;

/// Settings of the executor. Proxies from environment variables are not used for tool APIs, because the executor
/// could not check the address behind such a proxy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Addresses that may be called although they are private, loopback, link-local or reserved: IP addresses
    /// (`127.0.0.1`), networks (`10.1.0.0/16`, `fd00::/8`) and host names (`rooms.internal`: every address that this
    /// exact name resolves to).
    pub allowed_addresses: Vec<String>,
    /// Timeout in seconds to establish a connection, including name resolution, TCP and TLS.
    #[serde(skip)]
    pub connect_timeout_seconds: u64,
    /// Timeout in seconds for a whole execution, including redirects and the body of the response.
    pub timeout_seconds: u64,
    /// Maximum size of a response body in bytes, after decompression; the rest is truncated.
    pub max_answer_bytes: usize,
    /// Maximum number of consecutive redirects of a request: of a `GET` or `HEAD` on the same origin, or its upgrade
    /// from HTTP to HTTPS on the default ports; of other methods on the same origin, if the status is 307 or 308
    /// (repeats the request) or 303 (leads to a `GET`). Other redirects are failures.
    #[serde(skip)]
    pub max_redirects: u32,
    /// Maximum number of automatic retries of a request that got no response, within the timeout of its execution.
    /// Applies to `GET`, `HEAD`, requests with an idempotency key, and `PUT` and `DELETE` if `repeat_put_and_delete`
    /// is set. Other requests are never retried.
    #[serde(skip)]
    pub max_repeats: u32,
    /// Whether `PUT` and `DELETE` are sent again while the outcome of the first request is unknown. They are
    /// idempotent by RFC 9110 section 9.2.2, but not every API complies.
    pub repeat_put_and_delete: bool,
    /// Seconds for which an idle connection is kept for the next `GET` or `HEAD`.
    #[serde(skip)]
    pub pool_idle_timeout_seconds: u64,
    /// Maximum number of idle connections per host.
    #[serde(skip)]
    pub pool_max_idle_per_host: usize,
    /// Maximum number of concurrent requests to one host, at least one. Further requests wait, and their timeout
    /// runs.
    #[serde(skip)]
    pub max_requests_per_host: usize,
    /// Maximum number of retries of a repeatable call if the API requests them (`Retry-After` with status 429 or
    /// 503); 0 disables them.
    #[serde(skip)]
    pub retry_after_tries: u32,
    /// Maximum delay in seconds before such a retry. If the API requests a longer one, its response is final, and the
    /// model receives the time of the retry.
    #[serde(skip)]
    pub retry_after_max_seconds: u64,
    /// Maximum number of pages of a `GET` that are fetched if the API announces further ones, including the first.
    /// All pages together are limited by `max_answer_bytes` and `timeout_seconds`. With 1, only the first page is
    /// fetched, and the model receives the arguments for the next.
    pub max_pages: u32,
    /// File with PEM certificates that are trusted in addition to the system's; empty for none.
    pub ca_file: String,
}

impl Settings {
    /// Validates `allowed_addresses`.
    pub fn check(&self) -> Result<(), BuildError> {
        AllowList::parse(&self.allowed_addresses).map(drop)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            allowed_addresses: Vec::new(),
            connect_timeout_seconds: 5,
            timeout_seconds: 30,
            max_answer_bytes: 4 * 1024 * 1024,
            max_redirects: 3,
            max_repeats: 1,
            repeat_put_and_delete: true,
            pool_idle_timeout_seconds: 30,
            pool_max_idle_per_host: 16,
            max_requests_per_host: 16,
            retry_after_tries: 2,
            retry_after_max_seconds: 10,
            max_pages: 1,
            ca_file: String::new(),
        }
    }
}

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
