//! Settings of logging and spans (`[telemetry]`).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use callwright_types::Secret;

/// Format of log lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// Human-readable lines.
    #[default]
    Text,
    /// One JSON object per line, for collectors.
    Json,
}

/// Settings of logs, which go to standard error, and of OpenTelemetry spans (`[telemetry]`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Log filter: `error`, `warn`, `info`, `debug`, `trace`, or directives such as `info,callwright_upstream=debug`.
    pub log: String,
    /// `text` or `json`.
    pub format: LogFormat,
    /// Whether each turn has a log line at its end, at level `info`. Turns that end with status 429 or 5xx are logged
    /// at `warn` in any case.
    pub log_turns: bool,
    /// URL of a collector that accepts spans over OTLP (HTTP with protobuf), with or without a trailing `/v1/traces`;
    /// empty disables spans.
    pub otlp_endpoint: String,
    /// Headers for requests to the collector: name and value.
    pub otlp_headers: BTreeMap<String, Secret>,
    /// File of PEM certificates that are trusted in addition to the system's. Relative paths start at the configuration
    /// file.
    pub otlp_ca_file: String,
    /// Resource attributes of every span, in addition to or instead of `service.name`, whose default is `callwright`.
    pub otlp_resource: BTreeMap<String, String>,
    /// Share of turns with spans, 0 to 1, if the client's `traceparent` does not determine it.
    pub otlp_sample_ratio: f64,
    /// Timeout in seconds of a request to the collector.
    pub otlp_timeout_seconds: u64,
    /// Maximum number of queued spans; those of a turn that do not fit are dropped.
    pub otlp_queue_spans: usize,
    /// Maximum number of spans per request.
    pub otlp_batch_spans: usize,
    /// Maximum time in milliseconds that a span waits to be sent with others.
    pub otlp_batch_milliseconds: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            log: "info".to_owned(),
            format: LogFormat::Text,
            log_turns: true,
            otlp_endpoint: String::new(),
            otlp_headers: BTreeMap::new(),
            otlp_ca_file: String::new(),
            otlp_resource: BTreeMap::new(),
            otlp_sample_ratio: 1.0,
            otlp_timeout_seconds: 10,
            otlp_queue_spans: 8192,
            otlp_batch_spans: 512,
            otlp_batch_milliseconds: 1000,
        }
    }
}
