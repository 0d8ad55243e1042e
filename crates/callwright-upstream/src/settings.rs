//! The configuration of one upstream, and its validation.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use super::client_headers::CREDENTIALS;
use super::{ToolCalls, client_headers};
use callwright_types::{Protocol, SchemaDialect, Secret};

/// One `[upstreams.NAME]` table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Base URL of the provider's API, including `/v1` if it has one.
    pub base_url: String,
    /// The provider's key. If empty, the default upstream receives the client's own credentials.
    pub api_key: Secret,
    /// Header that carries `api_key`: `authorization` sends `Bearer KEY`; any other, such as Azure's `api-key`, sends
    /// the bare key.
    pub api_key_header: String,
    /// Value of `OpenAI-Organization`; if empty, see `api_key`.
    pub organization: String,
    /// Value of `OpenAI-Project`; if empty, see `api_key`.
    pub project: String,
    /// Additional headers for every request, which replace the client's. Their values are treated as secrets.
    pub headers: BTreeMap<String, Secret>,
    /// Further header fields of clients that are forwarded if the upstream has a credential of its own: exact names in
    /// lower case. Without them, those of common clients and providers are forwarded.
    pub forward_headers: Vec<String>,
    /// File of PEM certificates that are trusted in addition to the system's. Relative paths start at the working
    /// directory.
    pub ca_file: String,
    /// Timeout in seconds for connecting, including TLS.
    pub connect_timeout_seconds: u64,
    /// Timeout in seconds from the sent request to the head of the response; 0 for none. A model that does not stream
    /// generates its whole answer in this time. Without it, a turn fails over from a silent upstream only if the
    /// connection breaks.
    pub first_byte_timeout_seconds: u64,
    /// Timeout in seconds between two chunks of the response body; 0 for none.
    pub idle_timeout_seconds: u64,
    /// Maximum number of retries after a failed connection, in which case nothing was sent.
    pub connect_retries: u32,
    /// Maximum number of retries after a response with one of `retry_statuses`.
    pub retries: u32,
    /// Status codes that cause a retry; 408 and 409 only if the provider permits it (`x-should-retry: true`).
    #[serde(skip)]
    pub retry_statuses: Vec<u16>,
    /// Maximum delay in seconds before a retry; there is no retry if a provider requests a longer one.
    #[serde(skip)]
    pub retry_max_wait_seconds: u64,
    /// Maximum number of concurrent requests, each until the last byte of its response; 0 for unlimited.
    pub max_concurrent: usize,
    /// Maximum number of requests that wait for a slot.
    pub max_queued: usize,
    /// Maximum wait for a slot in milliseconds.
    pub queue_milliseconds: u64,
    /// Number of failures within 30 seconds that opens the circuit; 0 for never.
    pub circuit_failures: u32,
    /// Percentage of the requests in that window that must also have failed.
    pub circuit_failure_percent: u32,
    /// Seconds for which the circuit stays open.
    pub circuit_open_seconds: u64,
    /// Maximum number of concurrent probe requests after that; as many must succeed to close the circuit.
    #[serde(skip)]
    pub circuit_probes: u32,
    /// Protocols that the provider serves: `chat` (`/chat/completions`), `responses`, `messages`. A request of a protocol
    /// that no upstream serves passes through unguarded.
    pub protocols: Vec<Protocol>,
    /// Delivery of calls by the upstream: as `tool_calls`, as text, or learned for each model.
    pub tool_calls: ToolCalls,
    /// Whether to request the token usage of a stream if the client does not (`stream_options.include_usage`).
    pub stream_usage: StreamUsage,
    /// Whether the proxy's further requests of a turn keep the client's `metadata` in chat completions, as they always do in
    /// other protocols. For a gateway that uses it for budgets, tags or logs: OpenAI refuses `metadata` without `store`,
    /// which these requests do not have.
    pub keep_metadata: bool,
    /// Subset of JSON Schema for the catalog's tools. Tools sent by a client are never changed.
    pub schema_dialect: SchemaDialect,
    /// Maximum number of tools per request that the provider accepts; 0 for unlimited. If there are more, those most
    /// relevant to the conversation are offered.
    pub max_tools: usize,
    /// Maximum size in bytes of an evaluated response, decoded; a larger one is an error.
    pub max_answer_bytes: usize,
    /// Maximum size in bytes of one server-sent event; a larger one is an error.
    pub max_event_bytes: usize,
    /// Seconds for which an unused connection is kept. It must be less than the provider's own limit, so that no
    /// request uses a closing connection: common servers close theirs after 5 s (Node.js, uvicorn), some after 2 s.
    #[serde(skip)]
    pub pool_idle_timeout_seconds: u64,
    /// Maximum number of unused connections.
    #[serde(skip)]
    pub pool_max_idle: usize,
}

/// Condition for requesting the token usage of streams.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StreamUsage {
    /// After the upstream has reported it to a client that requested it, and until it rejects the request.
    #[default]
    Auto,
    /// Until the upstream rejects the request.
    On,
    /// Never.
    Off,
}

impl Settings {
    /// Whether it has a credential of its own and does not need the clients'.
    pub fn has_credential(&self) -> bool {
        !self.api_key.is_empty() || self.headers.iter().any(|(name, value)| is_credential(name) && !value.is_empty())
    }

    /// Whether the provider serves a protocol.
    pub fn serves(&self, protocol: Protocol) -> bool {
        self.protocols.contains(&protocol)
    }

    /// Returns the likely base URL if this one has no path: OpenAI-compatible servers usually have their API below
    /// `/v1`.
    pub fn base_url_with_version(&self) -> Option<String> {
        let url = Url::parse(&self.base_url).ok()?;
        (matches!(url.path(), "" | "/") && url.query().is_none())
            .then(|| format!("{}/v1", self.base_url.trim_end_matches('/')))
    }

    /// Validates the settings of the upstream with this name.
    pub fn validate(&self, upstream: &str) -> Result<(), BuildError> {
        self.check(upstream).map(drop)
    }

    /// Validates the settings. Returns `base_url`.
    pub(super) fn check(&self, upstream: &str) -> Result<Url, BuildError> {
        let url = check_base_url(upstream, self.base_url.trim_end_matches('/'))?;
        client_headers::further(&self.forward_headers)
            .map_err(|why| BuildError::setting(upstream, "forward_headers", why))?;
        check_times(upstream, self)?;
        check_circuit(upstream, self)?;
        Ok(url)
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            base_url: "https://api.openai.com/v1".to_owned(),
            api_key: Secret::default(),
            api_key_header: "authorization".to_owned(),
            organization: String::new(),
            project: String::new(),
            headers: BTreeMap::new(),
            forward_headers: Vec::new(),
            ca_file: String::new(),
            connect_timeout_seconds: 10,
            first_byte_timeout_seconds: 0,
            idle_timeout_seconds: 0,
            connect_retries: 2,
            retries: 2,
            retry_statuses: vec![408, 409, 429, 502, 503, 504],
            retry_max_wait_seconds: 5,
            max_concurrent: 0,
            max_queued: 100,
            queue_milliseconds: 5_000,
            circuit_failures: 10,
            circuit_failure_percent: 75,
            circuit_open_seconds: 10,
            circuit_probes: 2,
            protocols: Protocol::ALL.to_vec(),
            tool_calls: ToolCalls::Auto,
            stream_usage: StreamUsage::Auto,
            keep_metadata: false,
            schema_dialect: SchemaDialect::Openai,
            max_tools: 128,
            max_answer_bytes: 64 * 1024 * 1024,
            max_event_bytes: 8 * 1024 * 1024,
            pool_idle_timeout_seconds: 4,
            pool_max_idle: 256,
        }
    }
}

/// An upstream that cannot be built from its settings.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The default upstream is not configured.
    #[error("the default upstream `{name}` is not configured: add [upstreams.{name}] or name another default")]
    NoDefault {
        /// Name of the missing upstream.
        name: String,
    },
    /// A setting has an invalid value.
    #[error("upstreams.{upstream}.{key}: {message}")]
    Setting {
        /// Name of the upstream.
        upstream: String,
        /// Configuration key.
        key: &'static str,
        /// Description of the problem and its fix; never quotes a secret.
        message: String,
    },
    /// The HTTP client could not be created.
    #[error("upstreams.{upstream}: {message}")]
    Client {
        /// Name of the upstream.
        upstream: String,
        /// Message of the HTTP client.
        message: String,
    },
}

impl BuildError {
    pub(super) fn setting(upstream: &str, key: &'static str, message: impl Into<String>) -> Self {
        Self::Setting { upstream: upstream.to_owned(), key, message: message.into() }
    }
}

/// Whether the header with this name identifies a provider's customer.
fn is_credential(name: &str) -> bool {
    CREDENTIALS.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Paths of endpoints, which are sometimes copied together with the base URL.
const ENDPOINTS: [&str; 6] = ["/chat/completions", "/completions", "/responses", "/messages", "/models", "/embeddings"];

fn check_base_url(upstream: &str, base: &str) -> Result<Url, BuildError> {
    let url = Url::parse(base).map_err(|error| {
        BuildError::setting(upstream, "base_url", format!("not a URL ({error}); write https://host/v1"))
    })?;
    let message = if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        "must begin with https:// or http://"
    } else if !url.username().is_empty() || url.password().is_some() {
        "must not hold credentials; put the key into api_key"
    } else if url.query().is_some() || url.fragment().is_some() {
        "must end with its path: no ? and no #"
    } else if let Some(endpoint) = ENDPOINTS.iter().find(|endpoint| base.ends_with(**endpoint)) {
        let meant = base.strip_suffix(endpoint).unwrap_or_default();
        let message =
            format!("ends with the path of an endpoint, which the proxy appends itself; did you mean `{meant}`?");
        return Err(BuildError::setting(upstream, "base_url", message));
    } else {
        return Ok(url);
    };
    Err(BuildError::setting(upstream, "base_url", message))
}

fn check_times(upstream: &str, settings: &Settings) -> Result<(), BuildError> {
    match settings.connect_timeout_seconds {
        0 => Err(BuildError::setting(upstream, "connect_timeout_seconds", "must be at least 1")),
        _ => Ok(()),
    }
}

/// Returns the timeout of a setting; `None` for 0.
pub(super) fn timeout_of(seconds: u64) -> Option<Duration> {
    (seconds > 0).then(|| Duration::from_secs(seconds))
}

fn check_circuit(upstream: &str, settings: &Settings) -> Result<(), BuildError> {
    if !(1..=100).contains(&settings.circuit_failure_percent) {
        return Err(BuildError::setting(
            upstream,
            "circuit_failure_percent",
            "must be 1 to 100; `circuit_failures = 0` disables the circuit",
        ));
    }
    if settings.circuit_open_seconds == 0 {
        return Err(BuildError::setting(upstream, "circuit_open_seconds", "must be at least 1"));
    }
    Ok(())
}
