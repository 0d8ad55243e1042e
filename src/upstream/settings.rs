//! The configuration of one upstream.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ToolCalls;
use crate::domain::{SchemaDialect, Secret};

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
    /// How often a connection that could not be made is tried again. Nothing else is: a request that was sent may have been served.
    pub connect_retries: u32,
    /// Does it deliver calls as `tool_calls`?
    pub tool_calls: ToolCalls,
    /// The subset of JSON Schema that the catalog's tools are written in. Tools that a client sends are never changed.
    pub schema_dialect: SchemaDialect,
    /// Tools that the provider takes in one request; 0: any number. Of more, those that suit the conversation best are offered.
    pub max_tools: usize,
    /// Bytes of a judged answer, decoded; a longer one is an error.
    pub max_answer_bytes: usize,
    /// Bytes of one server-sent event; a longer one is an error.
    pub max_event_bytes: usize,
    /// Seconds that an unused connection is kept. Less than the provider's own limit, so that no request meets a closing connection.
    pub pool_idle_timeout_seconds: u64,
    /// Unused connections kept.
    pub pool_max_idle: usize,
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
            tool_calls: ToolCalls::Auto,
            schema_dialect: SchemaDialect::Openai,
            max_tools: 128,
            max_answer_bytes: 64 * 1024 * 1024,
            max_event_bytes: 8 * 1024 * 1024,
            pool_idle_timeout_seconds: 30,
            pool_max_idle: 256,
        }
    }
}
