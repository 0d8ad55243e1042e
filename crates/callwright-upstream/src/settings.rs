//! The configuration of one upstream.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ToolCalls;
use super::headers::is_credential;
use callwright_types::{SchemaDialect, Secret};

/// One `[upstreams.NAME]` table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Where the provider's API begins, `/v1` included where it has one.
    pub base_url: String,
    /// The provider's key. Empty: the client's own credentials are forwarded, by the default upstream alone.
    pub api_key: Secret,
    /// The header that carries `api_key`: `authorization` sends `Bearer KEY`; any other, such as Azure's `api-key`, the bare key.
    pub api_key_header: String,
    /// `OpenAI-Organization` to send; empty: see `api_key`.
    pub organization: String,
    /// `OpenAI-Project` to send; empty: see `api_key`.
    pub project: String,
    /// Further headers to send with every request; they replace the client's. Their values are taken for secrets.
    pub headers: BTreeMap<String, Secret>,
    /// A file of PEM certificates that are trusted besides the system's. Relative paths start at the working directory.
    pub ca_file: String,
    /// Seconds to make a connection, TLS included.
    pub connect_timeout_seconds: u64,
    /// Seconds from the sent request to the head of the answer: a model that does not stream thinks all that time.
    pub first_byte_timeout_seconds: u64,
    /// Seconds between two pieces of the answer's body.
    pub idle_timeout_seconds: u64,
    /// How often a connection that could not be made is tried again: nothing was sent then.
    pub connect_retries: u32,
    /// How often a request is made again that was answered with one of `retry_statuses`.
    pub retries: u32,
    /// Statuses that ask for the request to be made again; 408 and 409 only where the provider says so (`x-should-retry: true`).
    pub retry_statuses: Vec<u16>,
    /// Seconds to wait at most before a request is made again; a provider that asks for more is not asked again.
    pub retry_max_wait_seconds: u64,
    /// Repeat requests that a client repeats itself, too (`x-stainless-retry-count` above 0).
    pub repeat_clients_retries: bool,
    /// Requests under way at a time, each until the last byte of its answer; 0: any number.
    pub max_concurrent: usize,
    /// Requests that may wait for one of these to end.
    pub max_queued: usize,
    /// Milliseconds that they wait at most.
    pub queue_milliseconds: u64,
    /// Failures within `circuit_window_seconds` from which on the upstream is left alone; 0: never.
    pub circuit_failures: u32,
    /// Percent of the requests in that time that must have failed as well.
    pub circuit_failure_percent: u32,
    /// Seconds over which is counted.
    pub circuit_window_seconds: u64,
    /// Seconds for which the upstream is left alone.
    pub circuit_open_seconds: u64,
    /// Requests at a time that are then let through to find out whether it is well; as many have to succeed.
    pub circuit_probes: u32,
    /// How it delivers calls: as `tool_calls`, as text, or learned for each model.
    pub tool_calls: ToolCalls,
    /// Whether it is asked for the tokens of a stream where the client does not ask (`stream_options.include_usage`).
    pub stream_usage: StreamUsage,
    /// The subset of JSON Schema that the catalog's tools are written in. Tools that a client sends are never changed.
    pub schema_dialect: SchemaDialect,
    /// Tools that the provider takes in one request; 0: any number. Of more, those that suit the conversation best are offered.
    pub max_tools: usize,
    /// Bytes of a judged answer, decoded; a longer one is an error.
    pub max_answer_bytes: usize,
    /// Bytes of one server-sent event; a longer one is an error.
    pub max_event_bytes: usize,
    /// Seconds that an unused connection is kept. Less than the provider's own limit, so that no request meets a closing connection:
    /// common servers close theirs after 5 s (Node.js, uvicorn), some after 2 s.
    pub pool_idle_timeout_seconds: u64,
    /// Unused connections kept.
    pub pool_max_idle: usize,
}

/// Whether an upstream is asked for the tokens of streams.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StreamUsage {
    /// Once it has told them to a client that asked, and until it refuses.
    #[default]
    Auto,
    /// Until it refuses.
    On,
    /// Never.
    Off,
}

impl Settings {
    /// Has it a credential of its own, so that it needs none of its clients'?
    pub fn has_credential(&self) -> bool {
        let is_credential = |(name, value): (&String, &Secret)| is_credential(name) && !value.is_empty();
        !self.api_key.is_empty() || self.headers.iter().any(is_credential)
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
            ca_file: String::new(),
            connect_timeout_seconds: 10,
            first_byte_timeout_seconds: 600,
            idle_timeout_seconds: 300,
            connect_retries: 2,
            retries: 2,
            retry_statuses: vec![408, 409, 429, 502, 503, 504],
            retry_max_wait_seconds: 5,
            repeat_clients_retries: false,
            max_concurrent: 0,
            max_queued: 100,
            queue_milliseconds: 5_000,
            circuit_failures: 10,
            circuit_failure_percent: 75,
            circuit_window_seconds: 30,
            circuit_open_seconds: 10,
            circuit_probes: 2,
            tool_calls: ToolCalls::Auto,
            stream_usage: StreamUsage::Auto,
            schema_dialect: SchemaDialect::Openai,
            max_tools: 128,
            max_answer_bytes: 64 * 1024 * 1024,
            max_event_bytes: 8 * 1024 * 1024,
            pool_idle_timeout_seconds: 4,
            pool_max_idle: 256,
        }
    }
}
